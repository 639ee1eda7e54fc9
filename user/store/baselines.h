/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * baselines: baselines in a folder, which a CI cache or an artifact store may carry around.
 *
 *	FOLDER/NAME/COMMIT/baseline.json	the facts, see baseline.h
 *	                   run-1.pb.gz …	the runs, pprof
 *	FOLDER/NAME/.new-…			one being saved, or left by a process that died
 *	            .old-…			one being removed
 *
 * There is no index: the files are the list, and copying one store over another merges them. A
 * baseline is written under another name and then renamed, so it is there whole or not at all. A
 * replacement is exchanged with the old one in one step, if the file system can.
 *
 * A change in a folder NAME locks it (lock_file.h) for a short time. A process that writes a
 * `.new-…` locks that one (flock) for as long as it lives: an unlocked one is abandoned, and the
 * next change removes it. Readers lock nothing.
 */
#ifndef STORE_BASELINES_H
#define STORE_BASELINES_H

#include "base/output.h"
#include "store/baseline.h"

/*
 * Checks a name or a commit, which must be a valid folder name wherever a cache may be restored: no
 * control characters, none of `/ \\ : * ? " < > | @`, no dot or dash at the beginning, no space at
 * either end, at most 100 bytes of UTF-8. @what: its name in the failure. Errors: -EINVAL.
 */
int baselines_check_key(const char *what, const char *key, struct failure *failure);

/*
 * The paths of its runs, FOLDER/NAME/COMMIT/run-1.pb.gz …. *ret_paths, and each path, is malloc'ed.
 * Errors: -ENOMEM.
 */
int baselines_run_paths(const char *folder, const struct baseline *baseline, char ***ret_paths);

#define BASELINE_ENTRY_SIZE 32

/* A baseline while it is saved. */
struct baselines_saving {
	char *name_path;		 /* FOLDER/NAME */
	struct place place;		 /* the same, opened */
	char entry[BASELINE_ENTRY_SIZE]; /* .new-… in NAME; "": none */
	int lock;			 /* of the entry, open and locked; -1: none */
	char *target;			 /* the commit */
	bool replace;			 /* overwrite an existing one */
	bool made_name;			 /* the folder NAME is new */
	size_t n_runs;
};

#define BASELINES_SAVING_NONE ((struct baselines_saving){.place = PLACE_NONE, .lock = -1})

/*
 * Begins a new baseline. The names must be checked. After success, call baselines_saving_abort() in
 * any case. Errors, named in *failure: -EEXIST, if it exists and @replace is not set; -ENOMEM,
 * -errno.
 */
int baselines_saving_begin(const char *folder, const char *name, const char *commit, bool replace,
			   struct baselines_saving *ret, struct failure *failure);

/* Writes one run; @data is the caller's. Errors: -ENOMEM, -errno. */
/* Adds the next run. *@ret_bytes: its size. Errors: those of @write, and of files, named. */
int baselines_saving_add(struct baselines_saving *saving, output_write_fn write, void *data,
			 uint64_t *ret_bytes, struct failure *failure);

/*
 * Writes the facts and moves the baseline into place. Errors: as of baselines_saving_begin(); the
 * earlier baseline then remains.
 */
int baselines_saving_commit(struct baselines_saving *saving, const struct baseline *facts,
			    struct failure *failure);
/* Removes what was not committed. Fine on a zeroed struct, and twice. */
void baselines_saving_abort(struct baselines_saving *saving);

struct baselines_list {
	struct baseline *items;
	size_t n, capacity;
};

/*
 * Lists the baselines of @name, or of all names (NULL), newest first. Damaged ones are last, with
 * the reason in @damage. A missing folder is empty. Errors: -ENOMEM; -errno of the folder, named.
 */
int baselines_list(const char *folder, const char *name, struct baselines_list *ret,
		   struct failure *failure);
void baselines_list_done(struct baselines_list *list);

/* Describes the wanted baseline. */
struct baselines_wanted {
	const char *name;
	const char *which;  /* a commit, its beginning, or a branch; NULL: the newest */
	const char *branch; /* the newest of this branch; NULL: of any */
	bool is_to_go;	    /* for removal: a commit, damaged or not, but no branch */
};

/*
 * Finds the wanted baseline; @list still owns it. *ret_n_skipped: damaged ones that might have
 * matched. Errors, named: -ENOENT; -EINVAL if several commits begin so, or the named one is
 * damaged.
 */
int baselines_find(const struct baselines_list *list, const struct baselines_wanted *wanted,
		   const struct baseline **ret, size_t *ret_n_skipped, struct failure *failure);

/*
 * Removes the baseline, and the folder of its name if it was the last. It is no error if somebody
 * else removes it meanwhile. Errors: -errno, named.
 */
int baselines_remove(const char *folder, const struct baseline *baseline, struct failure *failure);

/*
 * Keeps the newest @keep baselines of the name and branch of @saved, including it; other branches
 * and damaged ones stay. *ret_n: the number removed. Errors: those of baselines_list(),
 * baselines_remove().
 */
int baselines_rotate(const char *folder, const struct baseline *saved, size_t keep, size_t *ret_n,
		     struct failure *failure);

#endif
