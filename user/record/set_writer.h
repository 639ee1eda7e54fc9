/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * set_writer: writes a window of a recording with --every as sets of files, one per event, and adds
 * them to the folder's list. Runs in a separate process, see snapshots.h.
 */
#ifndef RECORD_SET_WRITER_H
#define RECORD_SET_WRITER_H

#include "record/windows.h"
#include "store/set_folder.h"

/* Its result; in memory shared by both processes, so without pointers. */
struct set_report {
	struct totals totals;	   /* of the window: at first, what needs no names */
	volatile bool names_ended; /* set while it writes: end the search for names */
	volatile bool is_complete; /* all else here is; who wrote it may go on to read files */
	bool is_listed;		   /* the sets are complete */
	uint64_t removed;	   /* sets */
	int error;		   /* -errno: of the sets or, if these are listed, of the lists */
	struct failure failure;
	char stamp[SET_STAMP_SIZE + 8]; /* "": no file was begun */
};

/*
 * Writes files, line and page, and removes expired sets. @source: what is sampled, if no event was
 * named. Fills @report, whose totals are those of totals_begin().
 */
void set_write(const struct window_origin *origin, struct collect_window *window,
	       const char *source, struct set_report *report);

/* After a writer that died: removes all files of unlisted sets. */
void set_clean(const struct record_options *options, const struct set_report *report);

/*
 * Before the first window: makes the folder, removes leftovers of writers that died, and removes
 * sets without files from the list. Errors: those of set_folder_open().
 */
int set_prepare(const struct record_options *options, struct failure *failure);

/* The folder of sets. */
const char *set_folder_path(const struct record_options *options);

#endif
