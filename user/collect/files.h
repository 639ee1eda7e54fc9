/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files: executable mapped files. Each is kept open from when it is first seen, so that it can be
 * read after its process has ended or its name is gone. Users of a file hold a reference; putting
 * the last one closes it.
 *
 * A file is identified by the kernel's device and inode of the mapping. While it is open its inode
 * is not reused, but its content can change: size, time stamps and link count are compared at each
 * mapping, and an overwritten file is another file from then on.
 *
 * Memory without a file has an entry, too, by the kernel's name for it: "[vdso]", or "" for all
 * without one. So has memory that only looks like a file to the kernel, such as memfds and shared
 * anonymous memory.
 *
 * The root folders of processes that live in another one than ours are kept with their files: debug
 * files are found there.
 */
#ifndef COLLECT_FILES_H
#define COLLECT_FILES_H

#include <sys/types.h>

#include "base/budgets.h"
#include "base/table.h"
#include "collect/folders.h"
#include "collect/maps.h"

/* The file on disk, and its last change. */
struct file_identity {
	dev_t device;
	ino_t inode;
	int64_t size, modified_ns, changed_ns;
	nlink_t n_links;
};

struct file_table;

struct file {
	uint32_t n_references; /* 0: unused */
	int fd;		       /* -1: could not be opened, or memory */
	bool is_memory;
	bool is_made; /* of one mapping: files_add_made() */
	bool is_ambiguous; /* the kernel's device and inode may be another file's, too */
	bool is_replaced;  /* its content changed; later mappings belong to a new entry */
	char *path;
	uint32_t root; /* in files.roots: of a process that mapped it; UINT32_MAX: ours */
	dev_t mapped_device;
	ino_t mapped_inode; /* by the kernel's names */
	struct file_identity identity;
	uint64_t looked_at; /* when it was last seen to have that content: monotonic ns */
	/* In files.budgets; BUDGETS_UNLIMITED while not open. */
	uint32_t budget;	  /* for reading it: its owner's */
	uint32_t opener;	  /* for its descriptor: of whoever mapped it, or its owner's */
	uint32_t version;	  /* of its content: the number of earlier ones */
	uint32_t profile_mapping; /* UINT32_MAX: none yet */
	struct file_table *table; /* the unwinder's, or NULL */
};

struct files {
	struct file *files;
	struct pool pool;
	struct table by_name;
	uint64_t n_unopened;  /* or overwritten, so that they name other code than ran */
	uint64_t n_refused;   /* attempts to open one that ended with EACCES */
	struct folders roots; /* all but ours */
	struct budgets budgets;
	struct budgets memory_budgets; /* for reading the memory of a user's processes */
	dev_t own_root_device;
	ino_t own_root_inode;
	/* The process whose root folder was last looked for, a thread that has one, and until when
	 * (monotonic ns) that counts. */
	struct {
		uint32_t pid, thread;
		int fd; /* -1: none */
		uint64_t until;
	} last_root;
	/* Called with the table of a file that is closed. */
	void (*release_table)(void *context, struct file_table *table);
	void *release_context;
};

void files_init(struct files *files);
void files_done(struct files *files);

/* Call at an exec: a process may have changed its root folder just before it. */
void files_forget_root(struct files *files);

/*
 * Finds the file mapped by process @pid at [@start, @end). Opens it when it is first seen, or again
 * if that failed. The caller then holds a reference. Errors: -ENOMEM.
 */
int files_get(struct files *files, const struct file_name *name, uint32_t pid, uint64_t start,
	      uint64_t end, uint32_t *ret_file);

/* The same for what was mapped at @time: a file that was looked at since is not looked at again. */
int files_get_at(struct files *files, const struct file_name *name, uint32_t pid, uint64_t start,
		 uint64_t end, uint64_t time, uint32_t *ret_file);

/* Whether @file is all memory without a name. */
bool files_is_plain_memory(const struct files *files, uint32_t file);

/*
 * Adds memory of one mapping of process @pid, whose code is also in @fd, which is taken over; -1:
 * in none. The caller then holds a reference. Errors: -ENOMEM.
 */
int files_add_made(struct files *files, int fd, uint32_t pid, uint32_t *ret_file);

/* Take and put a reference. */
void files_hold(struct files *files, uint32_t file);
void files_put(struct files *files, uint32_t file);

/* Whether reading @file now gives what was mapped. */
bool file_is_unchanged(const struct file *file);

#endif
