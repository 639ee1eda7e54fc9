/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/json.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "record/losses.h"
#include "record/time_table.h"
#include "collect/event_find.h"
#include "report/top.h"

#define LABEL_WIDTH    12
#define LEAST_COMPLETE 99.0 /* %: below it, the summary says where stacks are cut off */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static double own_cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return rusage_seconds(&usage);
}

/* Of tables and names, what is more. */
static struct budgets_refused over_budget(const struct summary *summary)
{
	struct budgets_refused tables = summary->totals.stats.refused,
			       names = summary->totals.symbols.refused;

	return tables.n > names.n ? tables : names;
}

/* `3 stacks cut off`: the number, and @text with an s for each `~` unless there is one of them. */
static void print_counted(FILE *stream, uint64_t n, const char *text)
{
	fprintf(stream, "%" PRIu64 " ", n);
	for (; *text; text++)
		if (*text != '~')
			fputc(*text, stream);
		else if (n != 1)
			fputc('s', stream);
}

static void print_counted_line(FILE *stream, uint64_t n, const char *text)
{
	fprintf(stream, "%*s", LABEL_WIDTH, "");
	print_counted(stream, n, text);
	fputc('\n', stream);
}

static void print_losses(const struct summary *summary, FILE *stream)
{
	struct loss losses[N_LOSSES];
	bool any = false;

	losses_list(&summary->totals, summary->options->collect.mode, losses);
	for (size_t i = 0; i < N_LOSSES; i++) {
		if (!losses[i].n)
			continue;
		fprintf(stream, "  %-10s", any ? "" : "losses");
		print_counted(stream, losses[i].n, losses[i].text);
		fprintf(stream, " (avoid: %s)\n", losses[i].advice /* ours */);
		any = true;
	}
	if (summary->totals.stats.unread || *summary->totals.symbols.unread)
		text_print(stream, "            the first unread: %s\n",
			   summary->totals.stats.unread ?: summary->totals.symbols.unread);
	if (over_budget(summary).n)
		fprintf(stream, "            over budget: most of the files are of user %u\n",
			over_budget(summary).user);
	if (summary->options->no_sandbox)
		fputs("  sandbox   none: files of others were read with all rights\n", stream);
	if (!any)
		fputs("  losses    none\n", stream);
	if (!summary->totals.stats.unopened_files)
		return;
	if (*summary->files_fix)
		text_print(stream, "            files of others can be read with: %s\n",
			   summary->files_fix);
	else if (summary->totals.stats.refused_files)
		fputs("            a FUSE filesystem (of an AppImage, say) refuses root; mount it "
		      "with allow_other, or: echo Y "
		      ">/sys/module/fuse/parameters/allow_sys_admin_access\n",
		      stream);
}

/* Why stacks are not complete, as a key of JSON and in words. */
static const struct {
	const char *key, *text;
} end_texts[N_STACK_ENDS] = {
	[STACK_TRUNCATED] = {"other", "for no known reason"},
	[STACK_DEPTH] = {"depth", "deeper than 2047 frames (each of an interpreter counts as two), "
				  "or in the kernel than "
				  "kernel.perf_event_max_stack"},
	[STACK_MEMORY] = {"memory",
			  "stack memory not readable (swapped out, the thread is ending, or "
			  "above the 64 KB that are copied while its program is new)"},
	[STACK_BROKEN] = {"broken", "no chain of frames on the stack"},
	[STACK_UNSUPPORTED] = {"unsupported", "unwind information of a kind that is not supported"},
	[STACK_NO_ROWS] = {"no_rows", "code without unwind information or frame pointers"},
	[STACK_UNMAPPED] = {"unmapped", "led to memory that is not mapped"},
	[STACK_32_BIT] = {"32_bit", "32-bit programs, which are not unwound"},
	[STACK_BUDGET] = {"budget", "unwind tables had no room (avoid: a larger --unwind-memory)"},
	[STACK_LOST] = {"lost", "no user stack: the process was ending or in exec, or had no room"},
	[STACK_UNSAMPLED] = {"unsampled", "ran too short to be sampled (avoid: a higher -F)"},
};

/* Whether any frame is in @module, a file's name. */
static bool runs_module(const struct stacks *stacks, const char *module)
{
	for (size_t i = 0; stacks && i < stacks->n_frames; i++)
		if (strcmp(strings_get(&stacks->strings, stacks->frames[i].module), module) == 0)
			return true;
	return false;
}

/* What gives code of a runtime frame pointers. */
static const char *frame_pointers_advice(const struct stacks *stacks, enum stack_end end)
{
	return end == STACK_NO_ROWS && runs_module(stacks, "libjvm.so")
		       ? " (java other than 17, 21, 25 to 27: -XX:+PreserveFramePointer)"
		       : "";
}

static void print_truncated(const struct stacks *stacks, const struct sample_totals *totals,
			    FILE *stream)
{
	for (enum stack_end end = STACK_TRUNCATED; end < N_STACK_ENDS; end++)
		if (percent(totals->ends[end], totals->weight) >= 0.005)
			text_print(stream, "            [truncated] %.2f %%: %s%s\n",
				   percent(totals->ends[end], totals->weight), end_texts[end].text,
				   frame_pointers_advice(stacks, end));
}

static void json_truncated(const struct sample_totals *totals, struct json *json)
{
	json_open(json, "truncated_percent", '{');
	for (enum stack_end end = STACK_TRUNCATED; end < N_STACK_ENDS; end++)
		json_number(json, end_texts[end].key, percent(totals->ends[end], totals->weight),
			    3);
	json_close(json, '}');
}

/* Where stacks were cut off most: the outermost function that is known, by command. */
static void print_cut(const struct stacks *stacks, FILE *stream)
{
	const struct stacks_entry *most = NULL;
	uint64_t *weights = calloc(stacks->n_frames + 1, sizeof *weights), best = 0;

	for (size_t i = 0; weights && i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];
		const uint32_t *ids = stacks->ids + entry->first;
		uint64_t *weight;

		if (entry->n < 3 || !stacks_is_mark(stacks, ids[1], MARK_TRUNCATED))
			continue;
		weight = &weights[ids[2]];
		*weight += entry->weight;
		if (*weight > best) {
			best = *weight;
			most = entry;
		}
	}
	free(weights);
	if (most) {
		const uint32_t *ids = stacks->ids + most->first;
		const char *module = strings_get(&stacks->strings, stacks->frames[ids[2]].module);

		text_print(stream, "            most in %s: %s%s%s%s\n",
			   stacks_name(stacks, ids[0]), stacks_name(stacks, ids[2]),
			   *module ? " (" : "", module, *module ? ")" : "");
	}
}

static void print_unwinding(const struct summary *summary, FILE *stream)
{
	const struct collect_stats *stats = &summary->totals.stats;

	if (stats->tables_built && (stats->evictions || summary->options->verbose))
		text_print(stream,
			   "  unwinding %" PRIu64 " tables, %.1f MB; %" PRIu64 " evictions%s\n",
			   stats->tables_built, stats->unwind_bytes / 1e6, stats->evictions,
			   stats->evictions ? " (avoid: a larger --unwind-memory)" : "");
}

/* What frames without a name need, by process. */
static void print_unnamed(const struct unnamed *unnamed, FILE *stream)
{
	for (size_t i = 0; i < unnamed->n; i++) {
		const struct unnamed_process *process = &unnamed->processes[i];

		text_print(stream, "            %.0f %% unnamed in %s ",
			   percent(process->unnamed, process->frames), process->comm);
		if (process->n_alike == 1)
			text_print(stream, "(%" PRIu32 "): %s\n", process->pid, process->advice);
		else
			text_print(stream, "×%" PRIu32 ": %s\n", process->n_alike, process->advice);
	}
}

static void json_unnamed(const struct unnamed *unnamed, struct json *json)
{
	json_open(json, "unnamed", '[');
	for (size_t i = 0; i < unnamed->n; i++) {
		const struct unnamed_process *process = &unnamed->processes[i];

		json_open(json, NULL, '{');
		json_text(json, "command", process->comm);
		json_count(json, "pid", process->pid);
		json_count(json, "processes", process->n_alike);
		json_number(json, "percent", percent(process->unnamed, process->frames), 3);
		json_text(json, "advice", process->advice);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Threads of a runtime that don't run its language are nothing to speak of; if all are, … */
#define MANY_EMPTY 20

static void print_runtimes(const struct collect_stats *stats, FILE *stream)
{
	if (stats->chains_unread + stats->chains_deep)
		print_counted_line(stream, stats->chains_unread + stats->chains_deep,
				   "stack~ with some of the interpreter's frames only: deep, or "
				   "not in memory");
	if (stats->nameless_code)
		print_counted_line(stream, stats->nameless_code,
				   "function~ of interpreters without a name: memory gone, or "
				   "changed");
	if (stats->runtime_problem)
		text_print(stream, "  native    frames only: %s\n", stats->runtime_problem);
	if (stats->runtimes_unknown > 1)
		print_counted_line(stream, stats->runtimes_unknown - 1, "other runtime~");
	if (!stats->chains && stats->chains_empty >= MANY_EMPTY)
		fprintf(stream, "  native    frames only: an interpreter was there, but the state "
				"of none of "
				"its threads was found (another C library than glibc?)\n");
}

static void print_quality(const struct summary *summary, const struct sample_totals *totals,
			  FILE *stream)
{
	text_print(stream,
		   "  stacks    %zu distinct%s; %.1f %% complete; %.1f %% of frames without a "
		   "symbol\n",
		   summary->totals.stats.distinct_stacks,
		   summary->totals.windows > 1 ? " at most in a window" : "",
		   percent(totals->ends[STACK_COMPLETE], totals->weight),
		   percent(totals->unnamed_frames, totals->frames));
	print_unnamed(summary->unnamed, stream);
	print_truncated(summary->top, totals, stream);
	if (summary->top && percent(totals->ends[STACK_COMPLETE], totals->weight) < LEAST_COMPLETE)
		print_cut(summary->top, stream);
	print_unwinding(summary, stream);
	print_runtimes(&summary->totals.stats, stream);
	if (summary->totals.symbols.unsearched_files)
		print_counted_line(stream, summary->totals.symbols.unsearched_files,
				   "file~ named by their own symbols only: the search for names "
				   "was ended early");
	if (summary->totals.symbols.kernel_refused)
		text_print(stream, "            the kernel does not name its functions: %s\n",
			   strerror(-summary->totals.symbols.kernel_refused));
	if (summary->options->symbolize.addresses && !summary->options->collect.no_kernel &&
	    read_number_file("/proc/sys/kernel/kptr_restrict", 0))
		fputs("            the files hold addresses of the kernel, which "
		      "kernel.kptr_restrict keeps from others\n",
		      stream);
}

static void print_periods(const struct summary *summary, FILE *stream)
{
	const struct collect_stats *stats = &summary->totals.stats;
	char text[TIME_TEXT_SIZE], seen[TEXT_FIGURE_SIZE], kept[TEXT_FIGURE_SIZE];

	text_count(seen, stats->periods);
	text_count(kept, stats->kept);
	if (!stats->offcpu_period_ns)
		text_print(stream, "  waits     %s; stacks of all\n", seen);
	else
		text_print(stream,
			   "  waits     %s; stacks of %s, one per %s of a thread "
			   "(--offcpu-period 0: all)\n",
			   seen, kept, time_text(text, stats->offcpu_period_ns));
}

static void print_time(const struct summary *summary, const struct sample_totals *totals,
		       const struct time_table *table, FILE *stream)
{
	const struct collect_stats *stats = &summary->totals.stats;
	char text[TIME_TEXT_SIZE];

	if (summary->options->collect.mode == PROFILE_WALL)
		text_print(stream, "  on-CPU    %s, exact; divided by %" PRIu64 " samples\n",
			   time_text(text, time_table_running_ns(table)), totals->running);
	text_print(stream, "  off-CPU   %s", time_text(text, time_table_waiting_ns(table)));
	if (stats->offcpu_period_ns) {
		text_print(stream, " \u00b1 %s (95 %%)",
			   time_text(text, stats->offcpu_interval_ns));
		if (summary->options->verbose)
			text_print(stream, "; measured: %s",
				   time_text(text, stats->offcpu_measured_ns));
	}
	fputc('\n', stream);
	if (stats->taken_ns)
		text_print(stream,
			   "            up to %s of it interrupts and the hypervisor took from "
			   "threads "
			   "that ran\n",
			   time_text(text, stats->taken_ns));
	time_table_print(table, summary->options->view.stacks.no_idle, stream);
}

/* The events of which "losses none" does not mean all. */
static void print_uncounted(const struct collect_options *collect, FILE *stream)
{
	const char *separator = "  uncounted what came of ";

	for (size_t i = 0; i < collect->n_events; i++) {
		if (event_counts_misses(collect->events[i].kind))
			continue;
		text_print(stream, "%s%s", separator, collect->events[i].name);
		separator = ", ";
	}
	if (*separator == ',')
		fputs(" while other BPF programs ran on its CPU\n", stream);
}

/* What each event came to. */
static void print_events(const struct summary *summary, FILE *stream)
{
	const struct collect_options *collect = &summary->options->collect;
	const char *label = "events";

	text_print(stream, "bpfflame: %s, %.2f s\n", summary->source,
		   summary->totals.duration_ns / 1e9);
	for (size_t i = 0; i < collect->n_events; i++, label = "") {
		const struct event_request *event = &collect->events[i];
		const struct sample_totals *totals = &summary->totals.events[i];
		uint64_t period = event_period(event);

		text_print(stream, "  %-10s", label);
		if (event_is_counted(event))
			text_print(stream, "%" PRIu64 " %s in ", totals->weight, event->name);
		fprintf(stream, "%" PRIu64 " samples", totals->running);
		if (!event_is_counted(event))
			text_print(stream, " of %s", event->name);
		if (!period)
			fprintf(stream, ", at %u Hz", collect->frequency);
		else if (period > 1)
			fprintf(stream, ", one for each %" PRIu64, period);
		if (summary->event_paths[i])
			text_print(stream, ", in %s", summary->event_paths[i]);
		fputc('\n', stream);
	}
	print_uncounted(collect, stream);
}

static void print_what(const struct summary *summary, const struct sample_totals *totals,
		       FILE *stream)
{
	const struct collect_options *collect = &summary->options->collect;
	double seconds = summary->totals.duration_ns / 1e9;

	if (collect->n_events) {
		print_events(summary, stream);
		return;
	}
	if (collect->mode == PROFILE_ONCPU) {
		text_print(stream, "bpfflame: on-CPU, %s at %u Hz, %.2f s\n", summary->source,
			   collect->frequency, seconds);
		fprintf(stream, "  samples   %" PRIu64 "\n", totals->running);
		return;
	}
	if (collect->mode == PROFILE_WALL)
		text_print(stream, "bpfflame: wall-clock, %s at %u Hz and stacks at %s, %.2f s\n",
			   summary->source, collect->frequency, summary->hook, seconds);
	else
		text_print(stream, "bpfflame: off-CPU, stacks at %s, %.2f s\n", summary->hook,
			   seconds);
	print_periods(summary, stream);
	print_time(summary, totals, &summary->totals.times, stream);
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

void summary_print_command(const struct command *command, FILE *stream)
{
	if (!command->pid)
		return;
	if (!command->ended)
		fprintf(stream, "  command   still running: process %d\n", command->pid);
	else if (WIFSIGNALED(command->status))
		text_print(stream, "  command   killed by signal %d (%s)\n",
			   WTERMSIG(command->status), strsignal(WTERMSIG(command->status)));
	else
		fprintf(stream, "  command   exit status %d\n", WEXITSTATUS(command->status));
}

static void print_sets(const struct summary *summary, FILE *stream)
{
	const struct snapshots_counts *sets = summary->sets;

	if (!sets)
		return;
	fprintf(stream,
		"  sets      %" PRIu64 " written of %" PRIu64 " windows; %" PRIu64
		" old ones removed, %" PRIu64 " failed\n",
		sets->written, summary->totals.windows, sets->removed, sets->failed);
	if (summary->totals.joined)
		print_counted_line(stream, summary->totals.joined,
				   "window~ joined with the one before: writing took "
				   "longer than --every");
}

static double cpu_seconds(const struct summary *summary)
{
	return own_cpu_seconds() + summary->reader->cpu_seconds + summary->files->cpu_seconds +
	       (summary->sets ? summary->sets->cpu_seconds : 0);
}

static uint64_t memory_bytes(const struct summary *summary)
{
	uint64_t own = process_peak_bytes(getpid());

	/* Who draws is a copy of us. */
	if (summary->files->peak_bytes > own)
		own = summary->files->peak_bytes;
	own += summary->reader->peak_bytes;
	return summary->sets && summary->sets->peak_memory_bytes > own
		       ? summary->sets->peak_memory_bytes
		       : own;
}

static void print_files(const struct window_files *files, FILE *stream)
{
	const char *label = "written";

	for (size_t event = 0; event < files->n; event++) {
		for (size_t i = 0; i < files->events[event].n; i++) {
			text_print(stream, "  %-10s%s\n", label,
				   files->events[event].files[i].path);
			label = "";
		}
	}
}

#define MOST_UNSEEN 3 /* that are named */

static void print_unseen(const struct unseen *unseen, FILE *stream)
{
	for (size_t i = 0; i < unseen->n && i < MOST_UNSEEN; i++) {
		const struct unseen_process *process = &unseen->processes[i];

		if (process->pid)
			text_print(stream, "  unseen    %s (%" PRIu32 ")", process->comm,
				   process->pid);
		else
			fputs("  unseen    processes that began and ended meanwhile", stream);
		fprintf(stream, " ran %.2f s: %" PRIu64 " samples, %" PRIu64 " expected\n",
			process->cpu_ns / 1e9, process->n_samples, process->n_expected);
	}
	if (unseen->n > MOST_UNSEEN)
		fprintf(stream, "            and %zu more\n", unseen->n - MOST_UNSEEN);
	if (unseen->n)
		fputs("            they sleep at each tick, or a hypervisor took the time "
		      "(--wall counts all of it)\n",
		      stream);
}

#define LATE_SECONDS 1.0 /* of waiting for a CPU before it records: worth a line */

static void print_start(const struct summary *summary, FILE *stream)
{
	if (summary->start_delay_seconds < LATE_SECONDS)
		return;
	fprintf(stream,
		"            it began late: for %.1f s of that, real-time threads or many others "
		"had "
		"the CPUs\n",
		summary->start_delay_seconds);
}

static const char *why_nothing(const struct summary *summary)
{
	const struct collect_options *collect = &summary->options->collect;

	if (summary->came_too_late)
		return "the target had ended before bpfflame was ready";
	if (summary->command.pid && collect->mode == PROFILE_ONCPU && !collect->n_events &&
	    !collect->comm && !collect->cgroup && !collect->cpus)
		return "COMMAND used too little CPU time to be sampled (avoid: a higher -F, or "
		       "--wall)";
	return "the target did not run, or every filter excluded it";
}

void summary_print(const struct summary *summary, FILE *stream)
{
	const struct sample_totals *totals = &summary->totals.samples;

	print_what(summary, totals, stream);
	if (totals->weight + totals->running + totals->waiting)
		print_quality(summary, totals, stream);
	else
		fprintf(stream, "            nothing was recorded: %s\n",
			why_nothing(summary) /* ours */);
	print_losses(summary, stream);
	print_unseen(summary->unseen, stream);
	print_sets(summary, stream);
	summary_print_command(&summary->command, stream);
	if (summary->options->verbose)
		print_kernel_memory(&summary->totals.stats, stream);
	fprintf(stream,
		"  own cost  %.3f s CPU, %.1f MB peak memory; ready after %.3f s, written in %.3f "
		"s\n",
		cpu_seconds(summary), memory_bytes(summary) / 1e6, summary->startup_seconds,
		summary->write_seconds);
	print_start(summary, stream);
	print_files(summary->files, stream);
	if (summary->top)
		top_text(summary->top, summary->options->top, terminal_of(stream).columns, stream);
}

static void json_unseen(const struct unseen *unseen, struct json *json)
{
	json_open(json, "unseen", '[');
	for (size_t i = 0; i < unseen->n; i++) {
		json_open(json, NULL, '{');
		json_text(json, "command", unseen->processes[i].comm);
		json_count(json, "pid", unseen->processes[i].pid);
		json_number(json, "cpu_seconds", unseen->processes[i].cpu_ns / 1e9, 2);
		json_count(json, "samples", unseen->processes[i].n_samples);
		json_count(json, "expected", unseen->processes[i].n_expected);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_losses(const struct summary *summary, struct json *json)
{
	struct loss losses[N_LOSSES];

	losses_list(&summary->totals, summary->options->collect.mode, losses);
	json_open(json, "losses", '{');
	for (size_t i = 0; i < N_LOSSES; i++)
		json_count(json, losses[i].key, losses[i].n);
	json_close(json, '}');
	if (over_budget(summary).n)
		json_count(json, "over_budget_user", over_budget(summary).user);
	json_number(json, "loss_percent",
		    losses_percent(&summary->totals, summary->options->collect.mode), 4);
}

static void json_sets(const struct summary *summary, struct json *json)
{
	const struct snapshots_counts *sets = summary->sets;

	if (!sets)
		return;
	json_open(json, "sets", '{');
	json_count(json, "written", sets->written);
	json_count(json, "removed", sets->removed);
	json_count(json, "failed", sets->failed);
	json_count(json, "joined_windows", summary->totals.joined);
	json_number(json, "cpu_seconds", sets->cpu_seconds, 6);
	json_count(json, "peak_memory_bytes", sets->peak_memory_bytes);
	json_open(json, "names", '{');
	json_count(json, "hits", sets->names.hits);
	json_count(json, "misses", sets->names.misses);
	json_count(json, "evictions", sets->names.evictions);
	json_count(json, "given_up", sets->names.n_given_up);
	json_close(json, '}');
	json_close(json, '}');
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
	json_open(json, "runtimes", '{');
	json_count(json, "stacks", stats->chains);
	json_count(json, "cut", stats->chains_unread + stats->chains_deep);
	json_count(json, "nameless_code", stats->nameless_code);
	json_count(json, "unknown", stats->runtimes_unknown);
	if (stats->runtime_problem)
		json_text(json, "problem", stats->runtime_problem);
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
	const struct collect_stats *stats = &summary->totals.stats;
	bool wall = summary->options->collect.mode == PROFILE_WALL;
	const struct time_table *table = &summary->totals.times;
	double waiting = time_table_waiting_ns(table) / 1e9;

	json_count(json, "periods", stats->periods);
	json_number(json, "offcpu_seconds", waiting, 6);
	if (wall)
		json_number(json, "oncpu_seconds", time_table_running_ns(table) / 1e9, 6);
	json_open(json, "offcpu", '{');
	json_number(json, "period_us", stats->offcpu_period_ns / 1e3, 3);
	json_bool(json, "period_chosen", summary->options->collect.offcpu_period_ns == PERIOD_AUTO);
	json_count(json, "events_seen", stats->periods);
	json_count(json, "events_kept", stats->kept);
	json_number(json, "seconds", waiting, 6);
	json_number(json, "interval95_seconds", stats->offcpu_interval_ns / 1e9, 6);
	json_number(json, "measured_seconds", stats->offcpu_measured_ns / 1e9, 6);
	json_number(json, "taken_seconds", stats->taken_ns / 1e9, 6);
	json_close(json, '}');
	time_table_json(table, wall, json);
}

static void json_events(const struct summary *summary, struct json *json)
{
	const struct collect_options *collect = &summary->options->collect;

	if (!collect->n_events)
		return;
	json_open(json, "events", '[');
	for (size_t i = 0; i < collect->n_events; i++) {
		const struct event_request *event = &collect->events[i];

		json_open(json, NULL, '{');
		json_text(json, "name", event->name);
		json_text(json, "kind", event_kind_name(event->kind));
		if (summary->event_paths[i])
			json_text(json, "path", summary->event_paths[i]);
		json_text(json, "unit", event_is_counted(event) ? "events" : "samples");
		json_bool(json, "counts_misses", event_counts_misses(event->kind));
		json_count(json, "period", event_period(event));
		json_count(json, "samples", summary->totals.events[i].running);
		json_count(json, "total", summary->totals.events[i].weight);
		json_number(json, "complete_stacks_percent",
			    percent(summary->totals.events[i].ends[STACK_COMPLETE],
				    summary->totals.events[i].weight),
			    3);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void summary_print_json(const struct summary *summary, FILE *stream)
{
	const struct collect_options *collect = &summary->options->collect;
	bool oncpu = collect->mode == PROFILE_ONCPU;
	const struct sample_totals *totals = &summary->totals.samples;
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
	json_events(summary, &json);
	json_number(&json, "start_unix_seconds", summary->totals.start_realtime_ns / 1e9, 6);
	json_number(&json, "duration_seconds", summary->totals.duration_ns / 1e9, 6);
	json_count(&json, "samples",
		   collect->mode == PROFILE_OFFCPU ? totals->waiting : totals->running);
	if (!oncpu)
		json_time(summary, &json);
	json_count(&json, "distinct_stacks", summary->totals.stats.distinct_stacks);
	json_number(&json, "complete_stacks_percent",
		    percent(totals->ends[STACK_COMPLETE], totals->weight), 3);
	json_truncated(totals, &json);
	json_number(&json, "unnamed_frames_percent",
		    percent(totals->unnamed_frames, totals->frames), 3);
	json_unnamed(summary->unnamed, &json);
	json_count(&json, "unsearched_files", summary->totals.symbols.unsearched_files);
	json_losses(summary, &json);
	json_unseen(summary->unseen, &json);
	if (summary->top)
		top_json(summary->top, summary->options->top, &json);
	json_count(&json, "windows", summary->totals.windows);
	json_sets(summary, &json);
	json_count(&json, "drains", summary->totals.stats.drains);
	json_count(&json, "processes", summary->totals.stats.processes);
	json_unwinding(&summary->totals.stats, &json);
	json_count(&json, "threads", summary->totals.stats.threads);
	json_count(&json, "kernel_memory_bytes", summary->totals.stats.kernel_bytes);
	json_command(&summary->command, &json);
	json_number(&json, "cpu_seconds", cpu_seconds(summary), 6);
	json_count(&json, "peak_memory_bytes", memory_bytes(summary));
	json_number(&json, "startup_seconds", summary->startup_seconds, 6);
	json_number(&json, "startup_delay_seconds", summary->start_delay_seconds, 6);
	json_number(&json, "write_seconds", summary->write_seconds, 6);
	json_open(&json, "files", '[');
	for (size_t event = 0; event < summary->files->n; event++)
		for (size_t i = 0; i < summary->files->events[event].n; i++)
			json_text(&json, NULL, summary->files->events[event].files[i].path);
	json_close(&json, ']');
	json_close(&json, '}');
	fputc('\n', stream);
}
