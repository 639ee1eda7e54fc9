/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files: every file that was seen mapped executable, each kept open from the moment it is met, so
 * that it can be read after its process has ended or its name is gone.
 *
 * A file is named by what the kernel says of the mapping (device, inode, generation). Two such
 * names that lead to the same file on disk share one entry. Memory that only looks like a file to
 * the kernel, as memfds and shared anonymous memory do, has none.
 *
 * The root folders of processes that live in another one than ours are kept as well: that is where
 * their files, and what belongs to these, can be found.
 */
#ifndef COLLECT_FILES_H
#define COLLECT_FILES_H

#include <sys/types.h>

#include "base/strings.h"
#include "collect/folders.h"

/* Kernel's name of a mapped file. Inode 0: no file; then the path tells ("[vdso]", "//anon"). */
struct file_name {
	uint32_t device_major, device_minor;
	uint64_t inode;
	uint64_t generation; /* 0 when unknown (/proc/PID/maps) */
	uint32_t path;	     /* string id in files.strings */
};

struct file {
	int fd; /* -1: could not be opened */
	uint32_t path;
	uint32_t root; /* in files.roots: of a process that mapped it; UINT32_MAX: ours */
	dev_t device;
	ino_t inode;
	int64_t mtime_ns, size;
	uint32_t profile_mapping; /* UINT32_MAX: none yet */
};

struct files {
	struct strings strings;
	struct file *files;
	size_t n_files, files_capacity;
	struct known_name *names;
	size_t n_names, names_capacity;
	struct table by_name, by_identity;
	size_t n_unopened;
	size_t n_after, n_strings_after; /* files and strings, when some were last forgotten */
	struct folders roots;		 /* all but ours */
	dev_t own_root_device;
	ino_t own_root_inode;
};

int files_init(struct files *files);
void files_done(struct files *files);

/*
 * The entry of the file mapped by process @pid at [@start, @end), opened when met for the first
 * time, or again when that failed. *ret_file is UINT32_MAX for memory without a file.
 * Errors: -ENOMEM.
 */
int files_get(struct files *files, const struct file_name *name, uint32_t pid, uint64_t start,
	      uint64_t end, uint32_t *ret_file);

/* Whether there are many more files or strings than when some were last forgotten. */
bool files_are_many(const struct files *files);

/* Gives a string id, which @files has, its new value. Errors: -ENOMEM, -E2BIG. */
typedef int (*files_rename_fn)(void *context, uint32_t *id);

/*
 * Keeps the files of which @numbers says so (not 0), closes the others, and forgets names that were
 * not met since the last call. Each of @numbers then is the file's new index, or UINT32_MAX.
 * Every string id that is kept goes through @rename. Errors: -ENOMEM, -E2BIG.
 */
int files_forget(struct files *files, uint32_t *numbers, files_rename_fn rename, void *context);

#endif
