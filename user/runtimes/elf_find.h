/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_find: what a runtime is recognized by: symbols that even a stripped file keeps for its
 * libraries (.dynsym), and the bytes at them.
 */
#ifndef RUNTIMES_ELF_FIND_H
#define RUNTIMES_ELF_FIND_H

#include "base/elf_file.h"

struct elf_wanted {
	const char *name;
	bool is_needed;	  /* without it, nobody asks for the others */
	uint64_t address; /* 0: the file does not define it */
	uint64_t size;
};

/*
 * Looks for @n symbols. Returns 1 if the file defines all that are needed, else 0: the others may
 * be left out then.
 */
int elf_find_symbols(struct elf_file *elf, struct elf_wanted *wanted, size_t n);
/* The same for what a file keeps to itself: its .symtab, which stripped ones lack. */
void elf_find_hidden(struct elf_file *elf, struct elf_wanted *wanted, size_t n);

/* Reads @n bytes at @address, as they are before the program starts. Errors: -ENOEXEC. */
int elf_find_bytes(const struct elf_file *elf, uint64_t address, void *to, size_t n);
/* The same, with the relocations applied that need no symbol. */
int elf_find_relocated(const struct elf_file *elf, uint64_t address, void *to, size_t n);

/* Copies what follows the first @text in data that can't be written, as a string of @size bytes.
 * Errors: -ENOENT: there is none. */
int elf_find_text(const struct elf_file *elf, const char *text, char *to, size_t size);
/* The same in data that can be written. */
int elf_find_variable_text(const struct elf_file *elf, const char *text, char *to, size_t size);

/* Code that is known by its instructions. */
struct elf_code {
	const char *shape; /* bytes: two hexadecimal digits each, or two dots where any may be */
	uint64_t address;  /* of the only code that is so; 0: none is, or several are */
};

/* Looks for @n shapes of up to 64 bytes in the file's code. Errors: -ENOMEM. */
int elf_find_code(const struct elf_file *elf, struct elf_code *wanted, size_t n);
/* What the distance of 4 bytes at @address leads to, which an instruction ends with; 0: no code is
 * there. */
uint64_t elf_find_target(const struct elf_file *elf, uint64_t address);

/*
 * Variables of which each thread has its own (x86-64): the address of a word that holds the number
 * of this file as a module, once it is loaded; 0: its code does not ask for it. And how many bytes
 * it has of them, as many as are right below the thread pointer if it is the program; 0: none.
 */
uint64_t elf_find_own_module(const struct elf_file *elf);
uint64_t elf_find_own_size(const struct elf_file *elf);

/* Bytes of the function that begins at @address, by .eh_frame_hdr (LSB: Eh_Frame); 0: none does. */
uint64_t elf_find_function_size(const struct elf_file *elf, uint64_t address);
/* The same of the function that @address lies in, and where it begins. */
uint64_t elf_find_function_around(const struct elf_file *elf, uint64_t address,
				  uint64_t *ret_start);

/*
 * Compilers put what is seldom run of a function elsewhere, as a function of its own that only
 * conditional jumps of the first one lead to (x86-64). Returns where that is for the one of @size
 * bytes at @address, and @ret_size; 0: there is none.
 */
uint64_t elf_find_cold_part(const struct elf_file *elf, uint64_t address, uint64_t size,
			    uint64_t *ret_size);

/* Address less file offset of the code; 0: there is none. */
int64_t elf_find_code_shift(const struct elf_file *elf);

#endif
