/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * set_writer: a window of a recording with --every as sets of files, one for each event, and their
 * place in the folder's list. What runs in a process of its own, see snapshots.h.
 */
#ifndef RECORD_SET_WRITER_H
#define RECORD_SET_WRITER_H

#include "record/windows.h"
#include "store/set_folder.h"

/* What came of it; in memory that both processes see, so it holds no pointers. */
struct set_report {
	struct totals totals; /* of the window: from the start what needs no names of functions */
	volatile bool names_ended; /* set while it writes: no more searching for names */
	volatile bool is_complete; /* all else here is; who wrote it may go on to read files */
	bool is_listed;		   /* the sets are complete */
	uint64_t removed;	   /* sets */
	int error;		   /* -errno: of the sets, or, if these are listed, of the lists */
	struct failure failure;
	char stamp[SET_STAMP_SIZE + 8]; /* "": no file was begun */
};

/*
 * Writes files, line and page, and removes the sets that go. @source: what is sampled, where no
 * event was named. Fills @report, whose totals are those of totals_begin().
 */
void set_write(const struct window_origin *origin, struct collect_window *window,
	       const char *source, struct set_report *report);

/* After a writer that died: nothing of sets that are not listed stays. */
void set_clean(const struct record_options *options, const struct set_report *report);

/*
 * Before the first window: makes the folder, removes what somebody who died was writing, and from
 * the list sets that have no file any more. Errors: those of set_folder_open().
 */
int set_prepare(const struct record_options *options, struct failure *failure);

/* Where sets go. */
const char *set_folder_path(const struct record_options *options);

#endif
