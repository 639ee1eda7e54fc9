/* SPDX-License-Identifier: GPL-2.0-or-later */
/* debug_links: reads a file's references to its debug files. */
#ifndef SYMBOL_DEBUG_LINKS_H
#define SYMBOL_DEBUG_LINKS_H

#include <limits.h>

#include "base/elf_file.h"

struct build_id {
	uint8_t bytes[ELF_BUILD_ID_MAX];
	size_t n; /* 0: none */
};

/* A file's build-id. */
struct build_id build_id_of(const struct elf_file *file);
bool build_id_equal(const struct build_id *a, const struct build_id *b);
/* In lower-case hex. */
void build_id_text(const struct build_id *id, char text[static 2 * ELF_BUILD_ID_MAX + 1]);

/* .gnu_debuglink: the name of the debug file, which has no folders, and the CRC-32 of its bytes. */
struct debug_link {
	char name[NAME_MAX + 1];
	uint32_t crc;
};

/* Errors: -ENODATA none; -ENOEXEC damaged, or a name with folders; read errors. */
int debug_link_read(struct elf_file *file, struct debug_link *ret);

/*
 * .gnu_debugaltlink or .debug_sup: the path and the build-id of the file with parts that dwz moved.
 */
struct debug_alternate_link {
	char path[PATH_MAX];
	struct build_id id;
};

/* Errors: -ENODATA none; -ENOEXEC damaged; read errors. */
int debug_alternate_link_read(struct elf_file *file, struct debug_alternate_link *ret);

/*
 * .gnu_debugdata, MiniDebugInfo: an ELF file packed with xz that has only symbols. Gives it
 * unpacked, malloc'ed. Errors: -ENODATA none; -ENOEXEC damaged; -EFBIG; -ENOMEM; read errors.
 */
int debug_data_unpack(struct elf_file *file, uint8_t **ret, size_t *ret_n);

/* Computes the CRC-32 that links hold. Errors: -EFBIG for a file that is too large; read errors. */
int debug_crc(const struct elf_file *file, uint32_t *ret);

#endif
