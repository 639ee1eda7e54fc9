/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/json.h"
#include "cmd/time_table.h"

/* One kind of loss: what it is called, and what avoids it. */
struct loss {
	const char *key, *text, *advice;
	uint64_t n;
	bool counts; /* whole samples are missing or nameless: held against --max-loss */
};

#define N_LOSSES 13

static void list_losses(const struct summary *summary, struct loss losses[N_LOSSES])
{
	const struct collect_stats *stats = &summary->stats;
	bool oncpu = summary->options->collect.mode == PROFILE_ONCPU;
	const char *fewer = oncpu ? "a lower -F; or filter with -p, --comm"
				  : "a longer --offcpu-period, or -m 1ms; or filter with -p, "
				    "--comm";

	memcpy(losses,
	       (struct loss[N_LOSSES]){
		       {"map_full", "samples lost, count map full", fewer, stats->counts_full,
			true},
		       {"ring_full", "events lost, ring buffer full", fewer, stats->events_full,
			false},
		       {"lost_stacks", "samples whose frames were lost, ring buffer full", fewer,
			stats->lost_stacks, true},
		       {"snapshots", "stacks cut off, ring buffer full", fewer,
			stats->snapshots_full, false},
		       {"unwind_tables", "files whose unwind information is damaged",
			"reinstall them", stats->tables_failed, false},
		       {"thread_storage", "off-CPU periods lost, no memory for a thread",
			"filter with -p, --comm", stats->storage_failed, true},
		       {"children", "children not followed, target map full", "-a with --comm",
			stats->targets_full, false},
		       {"records", "mmap/exec records lost, ring buffer full",
			"filter with -p: fewer processes to follow", stats->lost_records, false},
		       {"unknown_processes", "samples of processes whose mappings are not known",
			"filter with -p: fewer processes to follow", stats->unknown_processes,
			false},
		       {"lost_wakers", "kept waits whose waker was lost, ring buffer full", fewer,
			stats->lost_wakers, false},
		       {"unknown_wakers", "kept waits of which the waker was not seen",
			"a longer -d: they had begun before it", stats->unknown_wakers, false},
		       {"throttled", "times the kernel throttled sampling", "a lower -F",
			stats->throttled, false},
		       {"unreadable_files", "mapped files that could not be read or are damaged",
			"run bpfflame where the files can be seen: as root, outside containers",
			stats->unopened_files + summary->symbols.unreadable_files +
				summary->symbols.damaged_files,
			false},
	       },
	       sizeof(struct loss[N_LOSSES]));
}

double summary_loss_percent(const struct summary *summary)
{
	struct loss losses[N_LOSSES];
	double lost = 0, seen = summary->stats.samples;

	list_losses(summary, losses);
	for (size_t i = 0; i < N_LOSSES; i++)
		if (losses[i].counts)
			lost += losses[i].n;
	seen += summary->stats.counts_full + summary->stats.storage_failed;
	return seen > 0 ? 100 * lost / seen : 0;
}

/* Totals over the profile. */
struct totals {
	uint64_t running, waiting; /* samples; parts of off-CPU periods */
	uint64_t weight;
	uint64_t ends[N_STACK_ENDS];	 /* weight by how far the stack could be unwound */
	uint64_t frames, unnamed_frames; /* weighted by samples */
};

static bool is_unnamed(const struct profile *profile, const struct profile_location *location)
{
	const char *name;

	if (!location->n_frames)
		return true;
	name = strings_get(&profile->strings, profile->frames[location->first_frame].function);
	return name[0] == '[';
}

static struct totals add_up(const struct profile *profile)
{
	struct totals totals = {};

	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const struct profile_stack *stack = &profile->stacks[sample->stack];
		uint64_t weight = profile_sample_weight(profile, sample);

		if (sample->reason == REASON_NONE || sample->reason == REASON_ONCPU)
			totals.running += sample->count;
		else
			totals.waiting += sample->count;
		totals.weight += weight;
		totals.ends[stack->end] += weight;
		for (uint32_t k = 0; k < stack->n; k++) {
			const struct profile_location *location =
				&profile->locations[profile->stack_locations[stack->first + k]];

			totals.frames += sample->count;
			totals.unnamed_frames += is_unnamed(profile, location) ? sample->count : 0;
		}
	}
	return totals;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static double own_cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Not ru_maxrss: that remembers what the program that started us needed before the exec. */
static uint64_t peak_memory_bytes(void)
{
	char status[2048];
	const char *line;

	if (read_text_file("/proc/self/status", status, sizeof status) < 0)
		return 0;
	line = strstr(status, "\nVmHWM:");
	return line ? strtoull(line + strlen("\nVmHWM:"), NULL, 10) * 1024 : 0;
}

static void print_losses(const struct summary *summary, FILE *stream)
{
	struct loss losses[N_LOSSES];
	bool any = false;

	list_losses(summary, losses);
	for (size_t i = 0; i < N_LOSSES; i++) {
		if (!losses[i].n)
			continue;
		fprintf(stream, "  %-10s%" PRIu64 " %s (avoid: %s)\n", any ? "" : "losses",
			losses[i].n, losses[i].text, losses[i].advice);
		any = true;
	}
	if (!any)
		fputs("  losses    0: none by full maps, full rings, throttling or unreadable "
		      "files\n",
		      stream);
}

/* Why stacks are not complete, as a key of JSON and in words. */
static const struct {
	const char *key, *text;
} end_texts[N_STACK_ENDS] = {
	[STACK_TRUNCATED] = {"other", "for no known reason"},
	[STACK_DEPTH] = {"depth", "deeper than 127 frames"},
	[STACK_MEMORY] = {"memory",
			  "stack memory not readable (swapped out, or the thread is ending)"},
	[STACK_BROKEN] = {"broken", "no chain of frames on the stack"},
	[STACK_UNSUPPORTED] = {"unsupported", "unwind information of a kind that is not supported"},
	[STACK_NO_ROWS] = {"no_rows", "code without unwind information or frame pointers (java: "
				      "-XX:+PreserveFramePointer)"},
	[STACK_UNMAPPED] = {"unmapped", "led to memory that is not mapped"},
	[STACK_BUDGET] = {"budget", "unwind tables had no room (avoid: a larger --unwind-memory)"},
	[STACK_LOST] = {"lost", "no user stack: the process was ending or in exec, or had no room"},
};

static void print_truncated(const struct totals *totals, FILE *stream)
{
	for (enum stack_end end = STACK_TRUNCATED; end < N_STACK_ENDS; end++)
		if (percent(totals->ends[end], totals->weight) >= 0.005)
			fprintf(stream, "            [truncated] %.2f %%: %s\n",
				percent(totals->ends[end], totals->weight), end_texts[end].text);
}

static void json_truncated(const struct totals *totals, struct json *json)
{
	json_open(json, "truncated_percent", '{');
	for (enum stack_end end = STACK_TRUNCATED; end < N_STACK_ENDS; end++)
		json_number(json, end_texts[end].key, percent(totals->ends[end], totals->weight),
			    3);
	json_close(json, '}');
}

static void print_unwinding(const struct collect_stats *stats, FILE *stream)
{
	if (stats->tables_built)
		fprintf(stream,
			"  unwinding %" PRIu64 " tables, %.1f MB; %" PRIu64 " evictions%s\n",
			stats->tables_built, stats->unwind_bytes / 1e6, stats->evictions,
			stats->evictions ? " (avoid: a larger --unwind-memory)" : "");
}

static void print_quality(const struct summary *summary, const struct totals *totals, FILE *stream)
{
	fprintf(stream,
		"  stacks    %zu distinct; %.1f %% complete; %.1f %% of frames without a symbol\n",
		summary->stats.distinct_stacks,
		percent(totals->ends[STACK_COMPLETE], totals->weight),
		percent(totals->unnamed_frames, totals->frames));
	print_truncated(totals, stream);
	print_unwinding(&summary->stats, stream);
	if (summary->symbols.kernel_hidden)
		fputs("            kernel symbols are hidden: sysctl kernel.kptr_restrict=0, or "
		      "CAP_SYSLOG\n",
		      stream);
}

static void print_periods(const struct summary *summary, FILE *stream)
{
	const struct collect_stats *stats = &summary->stats;
	bool chosen = summary->options->collect.offcpu_period_ns == PERIOD_AUTO;
	char text[TIME_TEXT_SIZE];

	fprintf(stream, "  periods   %" PRIu64 " off-CPU seen; ", stats->periods);
	if (!stats->offcpu_period_ns)
		fputs("every period kept: exact\n", stream);
	else
		fprintf(stream,
			"%" PRIu64 " kept, by one point in each %s of a thread's time "
			"(--offcpu-period, %s)\n",
			stats->kept, time_text(text, stats->offcpu_period_ns),
			chosen ? "chosen" : "given");
}

static void print_time(const struct summary *summary, const struct totals *totals,
		       const struct time_table *table, FILE *stream)
{
	const struct collect_stats *stats = &summary->stats;
	char text[TIME_TEXT_SIZE];

	if (summary->profile->mode == PROFILE_WALL)
		fprintf(stream, "  on-CPU    %s, exact; divided by %" PRIu64 " samples\n",
			time_text(text, time_table_running_ns(table)), totals->running);
	fprintf(stream, "  off-CPU   %s", time_text(text, time_table_waiting_ns(table)));
	if (stats->offcpu_period_ns) {
		fprintf(stream, " \u00b1 %s (95 %%)", time_text(text, stats->offcpu_interval_ns));
		fprintf(stream, "; measured: %s", time_text(text, stats->offcpu_measured_ns));
	}
	fputc('\n', stream);
	time_table_print(table, stream);
}

static void print_what(const struct summary *summary, const struct totals *totals, FILE *stream)
{
	const struct collect_options *collect = &summary->options->collect;
	double seconds = summary->profile->duration_ns / 1e9;
	struct time_table table;

	if (collect->mode == PROFILE_ONCPU) {
		fprintf(stream, "bpfflame: on-CPU, %s at %u Hz, %.2f s\n", summary->source,
			collect->frequency, seconds);
		fprintf(stream, "  samples   %" PRIu64 "\n", totals->running);
		return;
	}
	time_table_make(summary->profile, &table);
	if (collect->mode == PROFILE_WALL)
		fprintf(stream, "bpfflame: wall-clock, %s at %u Hz and stacks at %s, %.2f s\n",
			summary->source, collect->frequency, summary->hook, seconds);
	else
		fprintf(stream, "bpfflame: off-CPU, stacks at %s, %.2f s\n", summary->hook,
			seconds);
	print_periods(summary, stream);
	print_time(summary, totals, &table, stream);
}

static void print_kernel_memory(const struct collect_stats *stats, FILE *stream)
{
	if (!stats->kernel_bytes)
		return;
	fprintf(stream, "  kernel    %.1f MB of memory", stats->kernel_bytes / 1e6);
	if (stats->threads)
		fprintf(stream, ", that of %" PRIu64 " threads included", stats->threads);
	fputc('\n', stream);
}

static void print_command(const struct command *command, FILE *stream)
{
	if (!command->pid)
		return;
	if (!command->ended)
		fputs("  command   still running\n", stream);
	else if (WIFSIGNALED(command->status))
		fprintf(stream, "  command   killed by signal %d (%s)\n", WTERMSIG(command->status),
			strsignal(WTERMSIG(command->status)));
	else
		fprintf(stream, "  command   exit status %d\n", WEXITSTATUS(command->status));
}

void summary_print(const struct summary *summary, FILE *stream)
{
	struct totals totals = add_up(summary->profile);

	print_what(summary, &totals, stream);
	if (totals.running + totals.waiting)
		print_quality(summary, &totals, stream);
	else
		fputs("            nothing was recorded: the target did not run, or every filter "
		      "excluded it\n",
		      stream);
	print_losses(summary, stream);
	print_command(&summary->command, stream);
	print_kernel_memory(&summary->stats, stream);
	fprintf(stream,
		"  own cost  %.3f s CPU, %.1f MB peak memory; ready after %.3f s, written in %.3f "
		"s\n",
		own_cpu_seconds(), peak_memory_bytes() / 1e6, summary->startup_seconds,
		summary->write_seconds);
	for (size_t i = 0; i < summary->files->n; i++)
		fprintf(stream, "  %-10s%s\n", i ? "" : "written", summary->files->files[i].path);
}

static void json_losses(const struct summary *summary, struct json *json)
{
	struct loss losses[N_LOSSES];

	list_losses(summary, losses);
	json_open(json, "losses", '{');
	for (size_t i = 0; i < N_LOSSES; i++)
		json_count(json, losses[i].key, losses[i].n);
	json_close(json, '}');
	json_number(json, "loss_percent", summary_loss_percent(summary), 4);
}

static void json_unwinding(const struct collect_stats *stats, struct json *json)
{
	json_open(json, "unwinding", '{');
	json_count(json, "memory_bytes", stats->unwind_bytes);
	json_count(json, "tables", stats->tables_built);
	json_count(json, "damaged_tables", stats->tables_failed);
	json_count(json, "evictions", stats->evictions);
	json_count(json, "snapshots", stats->snapshots);
	json_close(json, '}');
}

static void json_command(const struct command *command, struct json *json)
{
	if (!command->pid)
		return;
	json_open(json, "command", '{');
	json_count(json, "pid", command->pid);
	json_bool(json, "ended", command->ended);
	if (command->ended && WIFSIGNALED(command->status))
		json_count(json, "signal", WTERMSIG(command->status));
	else if (command->ended)
		json_count(json, "exit_status", WEXITSTATUS(command->status));
	json_close(json, '}');
}

static void json_time(const struct summary *summary, struct json *json)
{
	const struct collect_stats *stats = &summary->stats;
	bool wall = summary->options->collect.mode == PROFILE_WALL;
	struct time_table table;
	double waiting;

	time_table_make(summary->profile, &table);
	waiting = time_table_waiting_ns(&table) / 1e9;
	json_count(json, "periods", stats->periods);
	json_number(json, "offcpu_seconds", waiting, 6);
	if (wall)
		json_number(json, "oncpu_seconds", time_table_running_ns(&table) / 1e9, 6);
	json_open(json, "offcpu", '{');
	json_number(json, "period_us", stats->offcpu_period_ns / 1e3, 3);
	json_bool(json, "period_chosen", summary->options->collect.offcpu_period_ns == PERIOD_AUTO);
	json_count(json, "events_seen", stats->periods);
	json_count(json, "events_kept", stats->kept);
	json_number(json, "seconds", waiting, 6);
	json_number(json, "interval95_seconds", stats->offcpu_interval_ns / 1e9, 6);
	json_number(json, "measured_seconds", stats->offcpu_measured_ns / 1e9, 6);
	json_close(json, '}');
	time_table_json(&table, wall, json);
}

void summary_print_json(const struct summary *summary, FILE *stream)
{
	const struct collect_options *collect = &summary->options->collect;
	bool oncpu = collect->mode == PROFILE_ONCPU;
	struct totals totals = add_up(summary->profile);
	struct json json = {.stream = stream};

	json_open(&json, NULL, '{');
	json_text(&json, "version", BPFFLAME_VERSION);
	json_text(&json, "mode", profile_mode_name(collect->mode));
	if (!oncpu)
		json_text(&json, "hook", summary->hook);
	if (collect->mode != PROFILE_OFFCPU) {
		json_text(&json, "event", summary->source);
		json_count(&json, "frequency", collect->frequency);
	}
	json_number(&json, "start_unix_seconds", summary->profile->start_realtime_ns / 1e9, 6);
	json_number(&json, "duration_seconds", summary->profile->duration_ns / 1e9, 6);
	json_count(&json, "samples",
		   collect->mode == PROFILE_OFFCPU ? totals.waiting : totals.running);
	if (!oncpu)
		json_time(summary, &json);
	json_count(&json, "distinct_stacks", summary->stats.distinct_stacks);
	json_number(&json, "complete_stacks_percent",
		    percent(totals.ends[STACK_COMPLETE], totals.weight), 3);
	json_truncated(&totals, &json);
	json_number(&json, "unnamed_frames_percent", percent(totals.unnamed_frames, totals.frames),
		    3);
	json_losses(summary, &json);
	json_count(&json, "drains", summary->stats.drains);
	json_count(&json, "processes", summary->stats.processes);
	json_unwinding(&summary->stats, &json);
	json_count(&json, "threads", summary->stats.threads);
	json_count(&json, "kernel_memory_bytes", summary->stats.kernel_bytes);
	json_command(&summary->command, &json);
	json_number(&json, "cpu_seconds", own_cpu_seconds(), 6);
	json_count(&json, "peak_memory_bytes", peak_memory_bytes());
	json_number(&json, "startup_seconds", summary->startup_seconds, 6);
	json_number(&json, "write_seconds", summary->write_seconds, 6);
	json_open(&json, "files", '[');
	for (size_t i = 0; i < summary->files->n; i++)
		json_text(&json, NULL, summary->files->files[i].path);
	json_close(&json, ']');
	json_close(&json, '}');
	fputc('\n', stream);
}
