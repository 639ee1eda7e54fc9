/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes through all tasks; reads the processes that exist when a recording begins. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "collect/collector.h"
#include "collect/rights.h"
#include "collect/targets.h"
#include "profiler.skel.h"

struct bpf_program *collector_loaded_one(struct bpf_program *a, struct bpf_program *b)
{
	return bpf_program__autoload(a) ? a : b;
}

static int read_iterator(const struct bpf_link *link,
			 int (*fn)(struct collector *collector, const char *bytes, size_t n),
			 struct collector *collector)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(link));
	char bytes[4096];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, bytes, sizeof bytes)) != 0) {
		int r = 0;

		if (n > 0)
			r = fn(collector, bytes, n);
		else if (errno != EAGAIN && errno != EINTR)
			r = -errno;
		if (r < 0)
			return r;
	}
	return 0;
}

int collector_iterate(struct bpf_program *program,
		      int (*fn)(struct collector *collector, const char *bytes, size_t n),
		      struct collector *collector)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	int r;

	if (!link)
		return -errno;
	r = read_iterator(link, fn, collector);
	bpf_link__destroy(link);
	return r;
}

/* BPF has found it to be a child of a target. */
static bool is_followed(const struct collector *collector, uint32_t pid)
{
	int targets = bpf_map__fd(collector->skel->maps.target_pids);
	uint8_t one;

	return collector->options.n_pids && !collector->options.n_tids &&
	       bpf_map_lookup_elem(targets, &pid, &one) == 0;
}

static int list_process(struct collector *collector, const struct bf_process_event *event)
{
	uint32_t process;
	int r = processes_add(&collector->processes, event->pid, event->start, event->exec_id,
			      &process);

	if (r < 0)
		return r;
	collector->processes.processes[process].listed_at = event->time;
	return 0;
}

static int on_process(struct collector *collector, const char *bytes, size_t n)
{
	for (; n >= sizeof(struct bf_process_event); n -= sizeof(struct bf_process_event)) {
		struct bf_process_event event;
		int r;

		memcpy(&event, bytes, sizeof event);
		bytes += sizeof event;
		if (!targets_have_process(&collector->options, event.pid) &&
		    !is_followed(collector, event.pid))
			continue;
		r = list_process(collector, &event);
		if (r < 0)
			return r;
	}
	return 0;
}

/* For processes named by options, everything is ready when the window opens. */
static int prepare_unwinding(struct collector *collector)
{
	if (collector->options.no_user || !targets_are_named(&collector->options))
		return 0;
	for (size_t i = 0; i < collector->processes.pool.n; i++) {
		int r;

		if (!targets_have_name(&collector->options, collector->processes.processes[i].pid))
			continue;
		r = unwinder_prepare(&collector->unwinder, i);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Reads the current mappings; later ones arrive as records, which already flow. Runs before the
 * window opens, so that no recorded process can have ended unread.
 */
static int read_and_prepare(struct collector *collector)
{
	for (size_t i = 0; i < collector->processes.pool.n; i++) {
		int r = processes_read_maps(&collector->processes, i);

		if (r < 0)
			return r;
	}
	return prepare_unwinding(collector);
}

int collector_read_existing(struct collector *collector, struct failure *failure)
{
	int r = collector_iterate(
		collector_loaded_one(collector->skel->progs.on_each_task_at_start,
				     collector->skel->progs.on_each_task_at_start_stacks),
		on_process, collector);

	if (r < 0) {
		failure_set(failure, r, "cannot list the tasks: %s", strerror(-r));
		rights_explain_files(r, failure);
		return r;
	}
	r = read_and_prepare(collector);
	if (r < 0)
		return failure_set(failure, r, "cannot read the mappings: %s", strerror(-r));
	return 0;
}
