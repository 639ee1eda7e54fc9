/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files: what is mapped executable, each file kept open from the moment it is first seen, so that
 * it can be read after its process has ended or its name is gone. Whoever refers to a file holds a
 * reference; the last one that is put closes it.
 *
 * A file is found by what the kernel says of the mapping: device and inode. While it is open its
 * inode is not used again, but its content can change: size, time stamps and link count are
 * compared at each mapping, and what was written over is another file from then on.
 *
 * Memory without a file has an entry, too, by the kernel's name of it: "[vdso]", or "" for all that
 * has none. So has memory that only looks like a file to the kernel, as memfds and shared anonymous
 * memory do.
 *
 * The root folders of processes that live in another one than ours are kept with their files: that
 * is where what belongs to these can be found.
 */
#ifndef COLLECT_FILES_H
#define COLLECT_FILES_H

#include <sys/types.h>

#include "base/budgets.h"
#include "base/table.h"
#include "collect/folders.h"
#include "collect/maps.h"

/* The file on disk, and when it was written last. */
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
	bool is_ambiguous; /* the kernel's device and inode may be another file's, too */
	bool is_replaced;  /* its content is; mappings from now on are of the file that has it */
	char *path;
	uint32_t root; /* in files.roots: of a process that mapped it; UINT32_MAX: ours */
	dev_t mapped_device;
	ino_t mapped_inode; /* as the kernel names them */
	struct file_identity identity;
	uint32_t budget; /* in files.budgets: of its owner; BUDGETS_UNLIMITED while it is not open */
	uint32_t version;	  /* of its content: how many came before */
	uint32_t profile_mapping; /* UINT32_MAX: none yet */
	struct file_table *table; /* the unwinder's, or NULL */
};

struct files {
	struct file *files;
	struct pool pool;
	struct table by_name;
	uint64_t n_unopened;  /* or written over, so that they name other code than ran */
	struct folders roots; /* all but ours */
	struct budgets budgets;
	dev_t own_root_device;
	ino_t own_root_inode;
	/* Is given the table of a file that is closed. */
	void (*release_table)(void *context, struct file_table *table);
	void *release_context;
};

void files_init(struct files *files);
void files_done(struct files *files);

/*
 * Finds the file mapped by process @pid at [@start, @end), opened when it is first seen, or again
 * when that failed. The caller has a reference then. Errors: -ENOMEM.
 */
int files_get(struct files *files, const struct file_name *name, uint32_t pid, uint64_t start,
	      uint64_t end, uint32_t *ret_file);

/* One reference more, and one less. */
void files_hold(struct files *files, uint32_t file);
void files_put(struct files *files, uint32_t file);

/* Whether what is read of @file now is what was mapped. */
bool file_is_unchanged(const struct file *file);

#endif
