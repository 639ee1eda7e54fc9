/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * set_folder: a folder of sets and the list of them.
 *
 *	DIR/20261121T130501Z-oncpu.svg …	the files of a set
 *	DIR/index.jsonl				a line for each set, in the order of writing
 *	DIR/index.html				the same as a page, see render/sets_page.h
 *
 * A set exists once its line does. Its files are written first, each under another name and then
 * renamed; one write appends the line. A process that dies at any moment leaves whole sets, at
 * worst unlisted files, and at the end of the list a partial line, which readers skip and the next
 * writer cuts off. Removal goes the other way: files first, then lines.
 *
 * Writers hold the folder's lock (lock_file.h) from choosing names until the list is complete. So
 * several may record into one folder, and a file that looks half-written while one holds the lock
 * is a leftover. Readers lock nothing.
 */
#ifndef STORE_SET_FOLDER_H
#define STORE_SET_FOLDER_H

#include "base/failure.h"
#include "base/output.h"
#include "core/sets.h"
#include "store/set_names.h"
#include "store/set_rotation.h"

struct set_folder {
	const char *path;
	struct place place;
	int lock; /* -1: not locked */
};

#define SET_FOLDER_NONE ((struct set_folder){.place = PLACE_NONE, .lock = -1})

/*
 * Opens the folder. @make: make it if only it, not its parent, is missing. Refuses a folder whose
 * index.jsonl or index.html is somebody else's. @path must stay. Errors: those of place_open(),
 * named; -EEXIST for somebody else's files.
 */
int set_folder_open(const char *path, bool make, struct set_folder *ret, struct failure *failure);
void set_folder_close(struct set_folder *folder);

/*
 * Waits for the lock, and holds it until the folder is closed. Errors: those of lock_file_take().
 */
int set_folder_lock(struct set_folder *folder);
/* Does not wait. */
int set_folder_try_lock(struct set_folder *folder);

/* Sets *failure to a failed locking with @error. Returns @error. */
int set_folder_lock_failed(const struct set_folder *folder, int error, struct failure *failure);

/* The list, and the places of its lines in the text. */
struct set_index {
	struct sets sets;
	char *text;
	size_t n_text; /* without a partial line at its end */
	struct set_line {
		size_t start, n; /* with the newline */
	} * lines;		 /* one per set */
	size_t lines_capacity;
	size_t n_damaged; /* lines that are not sets; they stay, and don't count */
};

/* Reads the list; a folder without one has no sets. Errors: -ENOMEM, -EFBIG, -errno. */
int set_folder_read(const struct set_folder *folder, struct set_index *ret);
void set_index_done(struct set_index *index);

/* The size of the list in bytes; 0: none. */
uint64_t set_folder_index_bytes(const struct set_folder *folder);

/* Whether the folder has a file of this name. */
bool set_folder_has(const struct set_folder *folder, const char *name);
/* Whether the folder has any file of the set. */
bool set_folder_has_any(const struct set_folder *folder, const struct sets *sets,
			const struct set *set);

/* The functions below need the lock. */

/*
 * Appends the lines of @sets, all or none. Errors: -ENOMEM, -errno (-ENOSPC); the list is unchanged
 * then.
 */
int set_folder_append(const struct set_folder *folder, const struct sets *sets);

/*
 * Removes the sets @gone of the list, which must have been read under the same lock. Missing files
 * don't matter. Errors: -errno; a set without files may then still be listed.
 */
int set_folder_remove(const struct set_folder *folder, const struct set_index *index,
		      const bool *gone);

/* Writes a file of the folder. Errors: -ENOMEM, those of @write, -errno. */
int set_folder_write(const struct set_folder *folder, const char *name, output_write_fn write,
		     void *data);

/* Removes a file of an unlisted set, if its name is one that sets have. */
void set_folder_unlink(const struct set_folder *folder, const char *name);

/* Removes leftovers of writers that died. */
void set_folder_sweep(const struct set_folder *folder);

#endif
