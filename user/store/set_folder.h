/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * set_folder: a folder of sets and the list of them.
 *
 *	DIR/20261121T130501Z-oncpu.svg …	the files of a set
 *	DIR/index.jsonl				a line for each set, in the order of writing
 *	DIR/index.html				the same as a page, see render/sets_page.h
 *
 * A set is there once its line is: its files are written first, each under another name and then
 * renamed, and the line is appended by one write. So whoever dies at any moment leaves sets that
 * are whole, files that are listed nowhere at worst, and at the end of the list a piece of a line,
 * which readers skip and the next writer cuts off. Sets go the other way: files first, then lines.
 *
 * Writers lock the folder (lock_file.h) from choosing names until the list is whole again. So several
 * may record into one folder, and what looks like a file being written while one has the lock is
 * from somebody who died. Readers lock nothing.
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
 * Opens the folder; @make: makes it if it is missing and its parent is not. Refuses one whose
 * index.jsonl or index.html is somebody else's. @path must stay. Errors: those of place_open(),
 * named; -EEXIST for somebody else's files.
 */
int set_folder_open(const char *path, bool make, struct set_folder *ret, struct failure *failure);
void set_folder_close(struct set_folder *folder);

/* Waits for the lock; it lasts until the folder is closed. Errors: those of lock_file_take(). */
int set_folder_lock(struct set_folder *folder);
/* Does not wait. */
int set_folder_try_lock(struct set_folder *folder);

/* Says that locking failed with @error. Returns it. */
int set_folder_lock_failed(const struct set_folder *folder, int error, struct failure *failure);

/* The list, and where its lines are in the text. */
struct set_index {
	struct sets sets;
	char *text;
	size_t n_text; /* without a piece of a line at its end */
	struct set_line {
		size_t start, n; /* with the newline */
	} * lines;		 /* one for each set */
	size_t lines_capacity;
	size_t n_damaged; /* lines that are none; they stay, and count nothing */
};

/* A folder without a list has no sets. Errors: -ENOMEM, -EFBIG, -errno. */
int set_folder_read(const struct set_folder *folder, struct set_index *ret);
void set_index_done(struct set_index *index);

/* Bytes of the list; 0 if there is none. */
uint64_t set_folder_index_bytes(const struct set_folder *folder);

/* Whether there is a file of this name. */
bool set_folder_has(const struct set_folder *folder, const char *name);
/* Whether there is any file of a set. */
bool set_folder_has_any(const struct set_folder *folder, const struct sets *sets,
			const struct set *set);

/* The rest wants the lock. */

/*
 * Appends the lines of @sets, all or none. Errors: -ENOMEM, -errno (-ENOSPC); the list is what it
 * was then.
 */
int set_folder_append(const struct set_folder *folder, const struct sets *sets);

/*
 * Removes the sets @gone of the list, which was read under the same lock: files that are gone
 * already are no matter. Errors: -errno; a set whose files are gone may still be listed then.
 */
int set_folder_remove(const struct set_folder *folder, const struct set_index *index,
		      const bool *gone);

/* Writes a file of the folder. Errors: -ENOMEM, those of @write, -errno. */
typedef int (*set_folder_write_fn)(void *data, FILE *stream);
int set_folder_write(const struct set_folder *folder, const char *name, set_folder_write_fn write,
		     void *data);

/* Removes one file of a set that is not listed. Nothing that is not called as one is. */
void set_folder_unlink(const struct set_folder *folder, const char *name);

/* Removes what somebody who died was writing. */
void set_folder_sweep(const struct set_folder *folder);

#endif
