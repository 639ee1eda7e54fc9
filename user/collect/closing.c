/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns a window into a profile that can be taken. At its end:
 *
 * - the task iterator counts what threads wait for, up to the boundary;
 * - both count maps are emptied: a program may have read its clock before the boundary, and its map
 *   after the switch from the first. Rows of the next window are set aside;
 * - CPU times are distributed, and the profile waits with its sources and stats;
 * - the next profile begins with the rows set aside; unneeded data is freed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/collector.h"
#include "collect/window.h"
#include "profiler.skel.h"

#define ENDED_US		50000
#define ADJUST_PERIOD_NS	NSEC_PER_SEC	    /* of the clock … */
#define POLLED_ADJUST_PERIOD_NS (60 * NSEC_PER_SEC) /* … while switches are not measured */

/* Opens @file for reading its names. Content that was overwritten names other code. */
static void file_source(struct files *files, const struct file *file, struct mapping_source *source)
{
	if (file->root != UINT32_MAX)
		source->root = files->roots.items[file->root].fd;
	if (file->fd < 0)
		return;
	if (file_is_unchanged(file))
		source->file = file->fd;
	else
		files->n_unopened++;
}

static struct mapping_source *list_sources(struct collector *collector)
{
	struct files *files = &collector->processes.files;
	const struct locator *locator = &collector->locator;
	const struct profile *profile = collector->profile;
	struct jit_files *jit_files = &collector->processes.jit_files;
	struct mapping_source *sources = malloc((profile->n_mappings + 1) * sizeof *sources);

	if (!sources)
		return NULL;
	for (size_t i = 0; i < profile->n_mappings; i++)
		sources[i] = MAPPING_SOURCE_NONE;
	for (size_t i = 0; i < locator->n_files; i++) {
		const struct file *file = &files->files[locator->files[i]];

		file_source(files, file, &sources[file->profile_mapping]);
	}
	jit_files_retry(jit_files);
	for (size_t i = 0; i < profile->n_mappings; i++) {
		const struct profile_mapping *mapping = &profile->mappings[i];
		const struct jit_image image = {mapping->pid, mapping->exec_id,
						mapping->process_start};

		if (mapping->kind == MAPPING_ANON)
			jit_files_source(jit_files, files, &image, &sources[i]);
	}
	return sources;
}

/* The window outlives our descriptors: it needs its own. */
static void own_fds(struct mapping_source *sources, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int *fds[] = {&sources[i].file, &sources[i].root, &sources[i].perf_map,
			      &sources[i].jitdump};

		for (size_t k = 0; k < sizeof fds / sizeof *fds; k++)
			if (*fds[k] >= 0)
				*fds[k] = fcntl(*fds[k], F_DUPFD_CLOEXEC, 0);
	}
}

static void read_totals(const struct collector *collector, struct collect_stats *ret)
{
	*ret = (struct collect_stats){
		.samples = collector->locator.samples,
		.counts_full = stats_total(collector->skel, BF_STAT_COUNTS_FULL),
		.events_full = stats_total(collector->skel, BF_STAT_EVENTS_FULL),
		.storage_failed = stats_total(collector->skel, BF_STAT_STORAGE_FAILED),
		.targets_full = stats_total(collector->skel, BF_STAT_TARGETS_FULL),
		.lost_stacks = collector->locator.lost_stacks,
		.nested_events = stats_total(collector->skel, BF_STAT_EVENTS_NESTED) +
				 events_missed(collector->skel),
		.lost_records = collector->sampler.losses.lost + collector->timeline.n_dropped +
				collector->timeline.share.n_refused,
		.throttled = collector->sampler.losses.throttled,
		.ended_ns = stats_total(collector->skel, BF_STAT_ENDED_NS),
		.unknown_processes = collector->locator.unknown_processes,
		.unopened_files = collector->processes.files.n_unopened,
		.refused_files = collector->processes.files.n_refused,
		.drains = collector->n_drains,
		.processes = collector->processes.by_image.n_used,
		.snapshots = stats_total(collector->skel, BF_STAT_SNAPSHOTS),
		.snapshots_full = stats_total(collector->skel, BF_STAT_SNAPSHOTS_FULL) +
				  collector->timeline.n_cut,
		.tables_built = collector->unwinder.tables.n_built,
		.tables_failed = collector->unwinder.tables.n_damaged,
		.tables_unread = collector->unwinder.tables.n_unread,
		.unread = collector->unwinder.tables.unread,
		.refused = budgets_refused(&collector->processes.files.budgets),
		.tables_refused =
			collector->unwinder.tables.n_refused + collector->unwinder.n_refused,
		.unwind_bytes = segments_bytes(&collector->unwinder.segments),
		.evictions = collector->unwinder.segments.n_evicted,
		.lost_wakers = collector->locator.lost_wakers,
		.kernel_bytes = stats_kernel_bytes(collector->skel),
		.chains = stats_total(collector->skel, BF_STAT_CHAINS),
		.chains_empty = stats_total(collector->skel, BF_STAT_CHAINS_EMPTY),
		.chains_unread = stats_total(collector->skel, BF_STAT_CHAINS_UNREAD),
		.chains_deep = stats_total(collector->skel, BF_STAT_CHAINS_DEEP),
		.nameless_code = collector->code_names.n_nameless,
		.runtimes_unknown = collector->unwinder.programs.n_problems,
		.runtime_problem = collector->unwinder.programs.problem,
	};
}

static void read_offcpu_totals(const struct collector *collector, struct stats_mark *mark)
{
	const struct profiler *skel = collector->skel;
	const struct stats_open *open = &collector->open;
	struct collect_stats *totals = &mark->totals;

	totals->periods = stats_total(skel, BF_STAT_PERIODS) + open->periods;
	totals->kept = stats_total(skel, BF_STAT_KEPT);
	totals->unknown_wakers = stats_total(skel, BF_STAT_UNKNOWN_WAKERS);
	totals->taken_ns = stats_taken_ns(&collector->loaded);
	totals->offcpu_period_ns = skel->bss->control.offcpu_period;
	totals->threads = stats_total(skel, BF_STAT_THREADS);
	mark->residue_ns = stats_total(skel, BF_STAT_RESIDUE_NS) + open->residue_ns;
	mark->ended_variance_us2 = stats_total(skel, BF_STAT_VARIANCE_US2);
	mark->open_variance_us2 = open->variance_us2;
}

static void mark(const struct collector *collector, struct stats_mark *ret)
{
	*ret = (struct stats_mark){};
	read_totals(collector, &ret->totals);
	if (collector->options.mode != PROFILE_ONCPU)
		read_offcpu_totals(collector, ret);
}

int closing_describe(struct collector *collector)
{
	if (!collector->sampled.n)
		collector->profile->frequency =
			collector->options.frequency / (double)collector->sampler.divisor;
	return events_describe(&collector->sampled, collector->profile);
}

/* Sets the beginning and length of the profile's windows. */
static void set_time(struct collector *collector)
{
	const struct windows *windows = &collector->windows;
	const struct bf_control *control = &collector->skel->bss->control;
	uint64_t begin = windows->begin_ns, end = control->window_end;

	if (windows->every_ns && windows_begin(windows, windows->last + 1) < end)
		end = windows_begin(windows, windows->last + 1);
	collector->profile->start_realtime_ns =
		collector->start_realtime_ns + (begin - control->window_start);
	collector->profile->duration_ns = end - begin;
}

/* Hands the profile over to the waiting ones. */
static int put_aside(struct collector *collector, bool is_last)
{
	const struct windows *windows = &collector->windows;
	struct closed_window *closed = calloc(1, sizeof *closed);

	if (!closed)
		return -ENOMEM;
	closed->window = (struct collect_window){
		.sources = list_sources(collector),
		.number = windows->number,
		.end_ns = windows->begin_ns + collector->profile->duration_ns,
		.n = windows->last - windows->number + 1,
		.is_last = is_last,
	};
	if (!closed->window.sources) {
		closed_window_free(closed);
		return -ENOMEM;
	}
	closed->owns_fds = !is_last;
	if (closed->owns_fds)
		own_fds(closed->window.sources, collector->profile->n_mappings);
	closed->window.profile = collector->profile;
	collector->profile = NULL;
	closed->begin = collector->begin;
	mark(collector, &closed->end);
	collector->begin = closed->end;
	stats_between(&closed->begin, &closed->end, closed->window.profile, &closed->window.stats);
	return windows_add(&collector->windows, closed);
}

static int finish(struct collector *collector, bool is_last)
{
	if (collector->options.mode == PROFILE_WALL) {
		int r = cpu_times_distribute(&collector->cpu_times, collector->profile);

		if (r < 0)
			return r;
	}
	set_time(collector);
	return put_aside(collector, is_last);
}

/* Adds the rows that were set aside for the window that is now open. */
static int add_later_rows(struct collector *collector)
{
	struct windows *windows = &collector->windows;
	size_t n = windows->n_later;

	windows->n_later = 0;
	for (size_t i = 0; i < n; i++) {
		const struct row row = windows->later[i];
		int r = collector_add_row(collector, &row.key, &row.count);

		if (r < 0)
			return r;
	}
	return 0;
}

static int begin_next(struct collector *collector)
{
	int r = profile_new(collector->options.mode, &collector->profile);

	if (r < 0)
		return r;
	locator_begin(&collector->locator, collector->profile);
	cpu_times_done(&collector->cpu_times);
	collector->windows.number = ++collector->windows.last;
	collector->windows.begin_ns = windows_begin(&collector->windows, collector->windows.number);
	r = closing_describe(collector);
	if (r < 0)
		return r;
	r = add_later_rows(collector);
	if (r < 0)
		return r;
	return collector_tidy(collector);
}

static int after_blocked_step(struct collector *collector, const char *bytes, size_t n)
{
	return collector->skel->bss->control.drain_wanted ? collector_read_rows(collector)
							  : collector_read_events(collector);
}

int collector_visit_threads(struct collector *collector)
{
	struct profiler *skel = collector->skel;
	struct bpf_program *program =
		collector->polling.is_on
			? skel->progs.on_each_task_polled
			: collector_loaded_one(skel->progs.on_each_task_at_end,
					       skel->progs.on_each_task_at_end_kernel_only);

	return collector_iterate(program, after_blocked_step, collector);
}

/* Visits the threads in their state at the boundary. */
static int visit_threads(struct collector *collector)
{
	struct stats_open before = stats_read_open(collector->skel);
	int r;

	if (collector->options.mode == PROFILE_ONCPU)
		return 0;
	/* Programs that were running at the boundary have counted by now. */
	load_wait_for_programs(collector->skel);
	r = collector_visit_threads(collector);
	collector->open = stats_open_since(collector->skel, &before);
	return r;
}

/* Reads everything counted by now: late rows are in the second map. */
static int read_all_rows(struct collector *collector)
{
	int r = collector_read_rows(collector);

	if (r < 0)
		return r;
	return collector_read_rows(collector);
}

static int visit_threads_at(struct collector *collector, uint64_t number)
{
	collector->windows.last = number - 1;
	if (collector->options.mode != PROFILE_ONCPU)
		window_advance(&collector->skel->bss->control, number, collector->windows.every_ns);
	return visit_threads(collector);
}

static void adjust_window(struct collector *collector)
{
	const struct windows *windows = &collector->windows;

	window_adjust(&collector->skel->bss->control,
		      windows->every_ns ? windows_begin(windows, windows->number + 1) : 0);
}

/* It takes the program at switches, which is not always there. */
void closing_adjust_clock(struct collector *collector)
{
	bool polls = collector->polling.is_on;
	uint64_t since = monotonic_ns() - collector->last_adjusted_ns;

	if (collector->options.mode == PROFILE_ONCPU ||
	    since < (polls ? POLLED_ADJUST_PERIOD_NS : ADJUST_PERIOD_NS))
		return;
	if (!polls || load_attach_hook(&collector->loaded) == 0)
		adjust_window(collector);
	if (polls)
		load_detach_hook(&collector->loaded);
	collector->last_adjusted_ns = monotonic_ns();
}

/*
 * If the next boundary comes during the visit, a thread not yet visited that runs again has counted
 * up to that boundary: both windows then become one.
 */
int closing_close_before(struct collector *collector, uint64_t number)
{
	bool offcpu = collector->options.mode != PROFILE_ONCPU;
	int r = visit_threads_at(collector, number);

	if (r < 0)
		return r;
	if (offcpu && collector_window_now(collector) > number) {
		r = visit_threads_at(collector, collector_window_now(collector));
		if (r < 0)
			return r;
	}
	r = read_all_rows(collector);
	if (r < 0)
		return r;
	r = finish(collector, false);
	if (r < 0)
		return r;
	r = begin_next(collector);
	if (r < 0)
		return r;
	if (offcpu)
		adjust_window(collector);
	return 0;
}

/* The kernel frees threads that have ended after a grace period, and only then they count in full.
 */
static void wait_for_the_ended(const struct collector *collector)
{
	if (collector->skel->rodata->config.ends_at_free)
		usleep(ENDED_US);
}

int closing_close_last(struct collector *collector)
{
	int r;

	window_close_last(&collector->skel->bss->control, collector->windows.last);
	wait_for_the_ended(collector);
	r = visit_threads(collector);
	if (r < 0)
		return r;
	r = read_all_rows(collector);
	if (r < 0)
		return r;
	return finish(collector, true);
}

int collect_take(struct collector *collector, struct collect_window *ret, struct failure *failure)
{
	int r = windows_take(&collector->windows, ret);

	if (r < 0)
		return failure_set(failure, r, "cannot finish a window: %s", strerror(-r));
	return r;
}

void collect_window_done(struct collect_window *window)
{
	profile_free(window->profile);
	free(window->sources);
	*window = (struct collect_window){};
}
