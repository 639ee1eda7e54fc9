/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * baselines: baselines in a folder, which a CI cache or an artifact store may carry around.
 *
 *	FOLDER/NAME/COMMIT/baseline.json	the facts, see baseline.h
 *	                   run-1.pb.gz …	the runs, pprof
 *	FOLDER/NAME/.new-…			one that is being saved, or was when somebody died
 *	            .old-…			one that is being removed
 *
 * There is no index: what is there is what can be read, and two stores merge by copying one over
 * the other. A baseline is written under another name and then renamed, so it is there whole or not
 * at all, and one that is replaced is exchanged for the other in one step where the file system
 * can.
 *
 * Whoever changes what is in a folder NAME has it locked (lock_file.h) for that short time; whoever
 * writes a `.new-…` has that one locked (flock) for as long as it lives. So one that nobody holds is from
 * somebody who died, and goes with the next change. Readers lock nothing.
 */
#ifndef STORE_BASELINES_H
#define STORE_BASELINES_H

#include "base/output.h"
#include "store/baseline.h"

/*
 * Names and commits are names of folders on any system that a cache may be restored on: no control
 * characters, none of `/ \ : * ? " < > | @`, no dot or dash at the beginning, no space at either
 * end, 100 bytes of UTF-8. @what: how the failure calls it. Errors: -EINVAL.
 */
int baselines_check_key(const char *what, const char *key, struct failure *failure);

/*
 * FOLDER/NAME/COMMIT/run-1.pb.gz …: as many as it has runs. *ret_paths, and each of them, is
 * malloc'ed. Errors: -ENOMEM.
 */
int baselines_run_paths(const char *folder, const struct baseline *baseline, char ***ret_paths);

#define BASELINE_ENTRY_SIZE 32

/* One that is being saved. */
struct baselines_saving {
	char *name_path;		 /* FOLDER/NAME */
	struct place place;		 /* the same */
	char entry[BASELINE_ENTRY_SIZE]; /* .new-… in there; "": there is none */
	int lock;			 /* that one, open and locked; -1: it is not */
	char *target;			 /* the commit */
	bool replace;	 /* what is there under the name */
	bool made_name;	 /* the folder NAME was not there */
	size_t n_runs;
};

#define BASELINES_SAVING_NONE ((struct baselines_saving){.place = PLACE_NONE, .lock = -1})

/*
 * Makes room for a new one. Names must have been checked. Errors: -EEXIST, if there is one already
 * and @replace is not set; -ENOMEM, -errno; all named in *failure. baselines_saving_abort() is due
 * after success.
 */
int baselines_saving_begin(const char *folder, const char *name, const char *commit, bool replace,
			   struct baselines_saving *ret, struct failure *failure);

/* Writes one run; @data is the caller's. Errors: -ENOMEM, -errno. */
typedef int (*baselines_write_fn)(void *data, FILE *stream);
/* Adds the next run. *@ret_bytes: its size. Errors: those of @write, and of files, named. */
int baselines_saving_add(struct baselines_saving *saving, baselines_write_fn write, void *data,
			 uint64_t *ret_bytes, struct failure *failure);

/*
 * Writes the facts, and puts it where it belongs. Errors: as of baselines_saving_begin(); what was
 * there before is there still.
 */
int baselines_saving_commit(struct baselines_saving *saving, const struct baseline *facts,
			    struct failure *failure);
/* Leaves nothing of one that was not committed. Fine on a zeroed one, and twice. */
void baselines_saving_abort(struct baselines_saving *saving);

struct baselines_list {
	struct baseline *items;
	size_t n, capacity;
};

/*
 * All of @name, or of all names (NULL): the newest first, damaged ones last, whose @damage says
 * why. A folder that is not there holds none. Errors: -ENOMEM; -errno of the folder, named.
 */
int baselines_list(const char *folder, const char *name, struct baselines_list *ret,
		   struct failure *failure);
void baselines_list_done(struct baselines_list *list);

/* Which one. */
struct baselines_wanted {
	const char *name;
	const char *which;  /* a commit, what one begins with, or a branch; NULL: the newest */
	const char *branch; /* the newest of it; NULL: of any */
	bool is_to_go;	    /* a commit, damaged or not, and no branch */
};

/*
 * The one of @list that is wanted; it stays the list's. *ret_n_skipped: damaged ones that it might
 * have been. Errors: -ENOENT; -EINVAL if several commits begin so, or the one that is named is
 * damaged; both named.
 */
int baselines_find(const struct baselines_list *list, const struct baselines_wanted *wanted,
		   const struct baseline **ret, size_t *ret_n_skipped, struct failure *failure);

/*
 * Removes the baseline, and the folder of its name if it was the last. One that somebody else
 * removed meanwhile is no error. Errors: -errno, named.
 */
int baselines_remove(const char *folder, const struct baseline *baseline, struct failure *failure);

/*
 * Leaves the newest @keep of the name and branch of @saved, itself among them; other branches and
 * damaged ones stay. *ret_n: how many were removed. Errors: those of baselines_list(),
 * baselines_remove().
 */
int baselines_rotate(const char *folder, const struct baseline *saved, size_t keep, size_t *ret_n,
		     struct failure *failure);

#endif
