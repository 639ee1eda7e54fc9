/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/losses.h"

#include <string.h>

void losses_list(const struct totals *totals, enum profile_mode mode, struct loss ret[N_LOSSES])
{
	const struct collect_stats *stats = &totals->stats;
	bool oncpu = mode == PROFILE_ONCPU;
	const char *fewer = oncpu ? "a lower -F, a larger PERIOD of -e; or filter with -p, --comm"
				  : "a longer --offcpu-period, or -m 1ms; or filter with -p, "
				    "--comm";

	memcpy(ret,
	       (struct loss[N_LOSSES]){
		       {"map_full", "sample~ lost, count map full", fewer, stats->counts_full,
			true},
		       {"ring_full", "event~ lost, ring buffer full or busy", fewer,
			stats->events_full, false},
		       {"nested_events", "event~ lost, in the middle of handling another one",
			"fewer -e, a larger PERIOD; or filter with -p, --comm",
			stats->nested_events, true},
		       {"lost_stacks", "sample~ whose frames were lost, ring buffer full or busy",
			fewer, stats->lost_stacks, true},
		       {"snapshots", "stack~ cut off, ring buffer full or busy", fewer,
			stats->snapshots_full, false},
		       {"unwind_tables", "file~ whose unwind information is damaged",
			"reinstall them", stats->tables_failed, false},
		       {"unread_files", "file~ that took too long to read, or killed the reader",
			"leave their programs out with -p, --comm",
			stats->tables_unread + totals->symbols.unread_files, false},
		       {"over_budget",
			"file~ or mapping~ passed over, as others of the same user had cost too "
			"much",
			"leave that user's programs out with -p, --comm, -G",
			stats->refused.n + totals->symbols.refused.n, false},
		       {"unwind_room", "mapping~ of files or processes not unwound, no room",
			"a larger --unwind-memory; or filter with -p, --comm",
			stats->tables_refused, false},
		       {"thread_storage", "off-CPU period~ lost, no memory for a thread",
			"filter with -p, --comm", stats->storage_failed, true},
		       {"children", "descendant~ not followed, target map full", "-a with --comm",
			stats->targets_full, false},
		       {"records", "mmap/exec record~ lost, ring buffer full",
			"filter with -p: fewer processes to follow", stats->lost_records, false},
		       {"unknown_processes", "sample~ of processes whose mappings are not known",
			"filter with -p: fewer processes to follow", stats->unknown_processes,
			false},
		       {"lost_wakers", "kept wait~ whose waker was lost, ring buffer full or busy",
			fewer, stats->lost_wakers, false},
		       {"unknown_wakers", "kept wait~ of which the waker was not seen",
			"a longer -d: they had begun before it", stats->unknown_wakers, false},
		       {"throttled", "time~ the kernel throttled sampling", "a lower -F",
			stats->throttled, false},
		       {"unreadable_files", "mapped file~ not readable, damaged or written over",
			"run bpfflame where the files can be seen: as root, outside containers",
			stats->unopened_files + totals->symbols.unreadable_files +
				totals->symbols.damaged_files,
			false},
	       },
	       sizeof(struct loss[N_LOSSES]));
}

double losses_percent(const struct totals *totals, enum profile_mode mode)
{
	struct loss losses[N_LOSSES];
	double lost = 0, seen = totals->stats.samples;

	losses_list(totals, mode, losses);
	for (size_t i = 0; i < N_LOSSES; i++)
		if (losses[i].counts)
			lost += losses[i].n;
	seen += totals->stats.counts_full + totals->stats.storage_failed +
		totals->stats.nested_events;
	return seen > 0 ? 100 * lost / seen : 0;
}
