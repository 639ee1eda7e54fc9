/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshots: the windows of a recording with --every as sets of files in a folder.
 *
 * A set is written by a process of its own, forked from the recording: it has the window and all
 * that names it as of that moment (copy on write) and needs nothing from the recording any more,
 * which goes on draining its maps. So what symbolizing and drawing take, however long, disturbs no
 * recording, and what might go wrong there ends nothing but that set. There is one such process at
 * a time; while it is busy no window is taken, and the collector joins those that are over.
 *
 * What files said of their addresses outlives it (symbol/names_cache.h). Files that take long to
 * read are read by the same process once its set is written; nobody waits for that.
 */
#ifndef RECORD_SNAPSHOTS_H
#define RECORD_SNAPSHOTS_H

#include "record/windows.h"
#include "symbol/names_cache.h"

struct signals;
struct snapshots;

struct snapshots_counts {
	uint64_t written, removed, failed; /* sets; of several events, one each */
	bool has_failed;		   /* a set, or a list of them */
	/* Of the processes that wrote: CPU time of all, memory of the largest. */
	double cpu_seconds;
	uint64_t peak_memory_bytes;
	struct names_cache_stats names;
};

/*
 * Makes the folder if only the last part of its name is missing, and checks that sets can be
 * written there. @origin must stay. @has_progress: the terminal shows a progress line, which is
 * cleared before other output. Call it before the recording changes its own priority. Errors:
 * -EINVAL, -errno; the folder named.
 */
int snapshots_open(const struct window_origin *origin, bool has_progress, struct snapshots **ret,
		   struct failure *failure);
/* Waits for the set that is being written. NULL is fine. */
void snapshots_free(struct snapshots *snapshots);

/* Readable when the writing process has ended; -1: none. NULL is fine. */
int snapshots_fd(const struct snapshots *snapshots);

/*
 * Takes the result of a process that has ended; reports, once, why it failed. Never waits. Returns
 * whether nobody writes now.
 */
bool snapshots_poll(struct snapshots *snapshots);

/*
 * Starts writing the set of @window, which may then be freed. Nobody may be writing. @source: the
 * event.
 */
void snapshots_write(struct snapshots *snapshots, struct collect_window *window,
		     const char *source);

/*
 * Waits until nobody writes. The first signal that asks to stop ends the search for names, the
 * second gives up the current set. Errors: -EINTR then.
 */
int snapshots_wait(struct snapshots *snapshots, struct signals *signals);

/* The totals of all windows so far, and of their sets. */
const struct totals *snapshots_totals(const struct snapshots *snapshots);
const struct snapshots_counts *snapshots_counts(const struct snapshots *snapshots);
/* The files that list the sets, index.html and index.jsonl, if there are any. */
const struct window_files *snapshots_lists(const struct snapshots *snapshots);

#endif
