/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/timeline.h"

#include <string.h>

#include "base/array.h"
#include "base/system.h"

/* Of those that wait: more only where they come faster than we go. */
#define MOST_SNAPSHOT_BYTES (64 << 20)
#define MOST_RECORD_BYTES   (32 << 20)

enum timeline_type { TIMELINE_FORK, TIMELINE_EXIT, TIMELINE_EXEC, TIMELINE_MAP, TIMELINE_SNAPSHOT };

struct timeline_event {
	uint64_t time;
	enum timeline_type type;
	uint32_t pid, parent_pid, exec_id, parent_exec_id;
	uint64_t start, parent_start;
	struct maps_entry mapped;	    /* its path is owned */
	struct bf_snapshot_event *snapshot; /* owned */
};

static void event_done(struct timeline_event *event)
{
	if (event->type == TIMELINE_MAP)
		free((char *)event->mapped.name.path);
	free(event->snapshot);
}

void timeline_done(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->n_events; i++)
		event_done(&timeline->events[i]);
	free(timeline->events);
	record_share_done(&timeline->share);
	*timeline = (struct timeline){};
}

static int add_event(struct timeline *timeline, const struct timeline_event *event)
{
	return array_add(timeline->events, timeline->events_capacity, timeline->n_events, *event);
}

static size_t record_bytes(const struct maps_entry *mapped)
{
	return sizeof(struct timeline_event) + strlen(mapped->name.path) + 1;
}

/* Whether a mapping may be noted. */
static bool may_note(struct timeline *timeline, struct processes *processes,
		     const struct record *record)
{
	size_t bytes = record_bytes(&record->mapped);

	if (timeline->record_bytes + bytes > MOST_RECORD_BYTES)
		timeline->n_dropped++;
	else if (record_share_take(&timeline->share, &processes->files.budgets, record->pid, bytes,
				   monotonic_ns()))
		return true;
	processes_fall_behind(processes, record->pid);
	return false;
}

int timeline_add_record(struct timeline *timeline, struct processes *processes,
			const struct record *record)
{
	struct timeline_event event = {
		.time = record->time,
		.pid = record->pid,
		.type = record->type == RECORD_MAP ? TIMELINE_MAP : TIMELINE_EXEC,
		.mapped = record->mapped,
	};
	int r;

	if (event.type == TIMELINE_MAP) {
		if (!may_note(timeline, processes, record))
			return 0;
		event.mapped.name.path = strdup(record->mapped.name.path);
		if (!event.mapped.name.path)
			return -ENOMEM;
	}
	r = add_event(timeline, &event);
	if (r < 0)
		event_done(&event);
	else if (event.type == TIMELINE_MAP)
		timeline->record_bytes += record_bytes(&event.mapped);
	return r;
}

int timeline_add_process(struct timeline *timeline, const struct bf_process_event *event)
{
	return add_event(timeline, &(struct timeline_event){
					   .time = event->time,
					   .type = event->type == BF_EVENT_FORK ? TIMELINE_FORK
										: TIMELINE_EXIT,
					   .pid = event->pid,
					   .parent_pid = event->parent_pid,
					   .exec_id = event->exec_id,
					   .start = event->start,
					   .parent_start = event->parent_start,
					   .parent_exec_id = event->parent_exec_id,
				   });
}

/* Restores the return addresses that probes have replaced by their trampoline. */
static void restore_returns(struct bf_snapshot_event *event)
{
	for (uint64_t i = 0; i < event->n_returns && i < BF_SNAPSHOT_RETURNS; i++) {
		uint64_t at = event->returns[i].at - event->memory_start;

		if (at < event->memory_bytes &&
		    event->memory_bytes - at >= sizeof event->returns[i].to)
			memcpy(event->memory + at, &event->returns[i].to,
			       sizeof event->returns[i].to);
	}
}

int timeline_add_snapshot(struct timeline *timeline, const struct bf_snapshot_event *event)
{
	struct timeline_event new = {.time = event->time, .type = TIMELINE_SNAPSHOT};
	size_t bytes = sizeof *event + event->memory_bytes;
	int r;

	if (timeline->snapshot_bytes + bytes > MOST_SNAPSHOT_BYTES) {
		bytes = sizeof *event;
		timeline->n_cut++;
	}
	new.snapshot = malloc(bytes);
	if (!new.snapshot)
		return -ENOMEM;
	memcpy(new.snapshot, event, bytes);
	if (bytes == sizeof *event)
		new.snapshot->memory_bytes = new.snapshot->memory_unread = 0;
	restore_returns(new.snapshot);
	r = add_event(timeline, &new);
	if (r < 0) {
		free(new.snapshot);
		return r;
	}
	timeline->n_snapshots++;
	timeline->snapshot_bytes += bytes;
	return 0;
}

bool timeline_awaits_image(const struct timeline *timeline, uint32_t pid)
{
	for (size_t i = 0; i < timeline->n_events; i++) {
		const struct timeline_event *event = &timeline->events[i];

		if (event->pid == pid &&
		    (event->type == TIMELINE_FORK || event->type == TIMELINE_EXEC))
			return true;
	}
	return false;
}

static int earlier_first(const void *a, const void *b)
{
	const struct timeline_event *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Whether @event is older than the listing of its process. */
static bool is_in_listing(const struct processes *processes, const struct timeline_event *event)
{
	uint32_t process = processes_latest(processes, event->pid);

	return process != TABLE_NONE && event->time < processes->processes[process].listed_at;
}

static int apply_map(struct processes *processes, const struct timeline_event *event)
{
	const struct maps_entry *mapped = &event->mapped;
	struct mapping mapping = {mapped->start, mapped->end, mapped->offset};
	int r;

	if (processes_latest(processes, event->pid) == TABLE_NONE)
		return 0; /* not recorded */
	r = files_get_at(&processes->files, &mapped->name, event->pid, mapping.start, mapping.end,
			 event->time, &mapping.file);
	if (r < 0)
		return r;
	return processes_map(processes, event->pid, &mapping, event->time);
}

/* A process from before the records is read once it has a child, which begins with its mappings. */
static int apply_fork(struct processes *processes, const struct timeline_event *event)
{
	uint32_t parent = processes_latest(processes, event->parent_pid);

	if (parent == TABLE_NONE && event->parent_pid) {
		int r = processes_see(processes, event->parent_pid, event->parent_start,
				      event->parent_exec_id, &parent);

		if (r < 0)
			return r;
	}
	return processes_fork(processes, event->parent_pid, event->pid, event->start,
			      event->exec_id);
}

static int apply(struct processes *processes, const struct timeline_event *event)
{
	if (event->type != TIMELINE_EXIT && is_in_listing(processes, event))
		return 0;
	switch (event->type) {
	case TIMELINE_FORK: return apply_fork(processes, event);
	case TIMELINE_EXEC: return processes_exec(processes, event->pid, event->time);
	case TIMELINE_MAP: return apply_map(processes, event);
	case TIMELINE_EXIT: return processes_exit(processes, event->pid);
	case TIMELINE_SNAPSHOT: break;
	}
	return 0;
}

static void forget_event(struct timeline *timeline, struct timeline_event *event)
{
	if (event->snapshot) {
		timeline->n_snapshots--;
		timeline->snapshot_bytes -= sizeof *event->snapshot + event->snapshot->memory_bytes;
	}
	if (event->type == TIMELINE_MAP)
		timeline->record_bytes -= record_bytes(&event->mapped);
	event_done(event);
}

int timeline_catch_up(struct timeline *timeline, struct processes *processes)
{
	uint64_t now = monotonic_ns();

	for (size_t i = 0; processes->n_behind && i < processes->pool.n; i++) {
		const struct process *process = &processes->processes[i];
		int r;

		if (!process->n_references || !process->is_behind ||
		    !record_share_take_all(&timeline->share, &processes->files.budgets,
					   process->pid, now))
			continue;
		r = processes_catch_up(processes, i, now);
		if (r < 0)
			return r;
	}
	return 0;
}

int timeline_apply(struct timeline *timeline, struct processes *processes, uint64_t until,
		   snapshot_fn on_snapshot, void *context)
{
	size_t n = 0, known = timeline->n_events;
	int r = 0;

	if (!known)
		return 0;
	qsort(timeline->events, known, sizeof *timeline->events, earlier_first);
	for (; n < known && timeline->events[n].time < until && r >= 0; n++) {
		/* A copy: more events may be noted meanwhile. */
		struct timeline_event event = timeline->events[n];

		r = event.snapshot ? on_snapshot(context, event.snapshot)
				   : apply(processes, &event);
		forget_event(timeline, &event);
	}
	timeline->n_events -= n;
	memmove(timeline->events, timeline->events + n,
		timeline->n_events * sizeof *timeline->events);
	return r;
}
