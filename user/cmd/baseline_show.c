/* SPDX-License-Identifier: GPL-2.0-or-later */
/* baseline_show: lists baselines, and shows the contents of one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/system.h"
#include "base/text.h"
#include "cmd/baseline.h"
#include "cli/inputs.h"
#include "cli/run_files.h"
#include "cli/terminal.h"
#include "cli/view_options.h"
#include "report/head.h"
#include "report/report.h"

#define SHORT_COMMIT	12
#define SHOWN_FUNCTIONS 10

static void open_page(struct page *page)
{
	struct terminal terminal = terminal_of(stdout);

	page_init(page, stdout, terminal.has_colour, terminal.columns);
}

/* `3 h`: in the largest unit that gives at least one. */
static void write_age(char text[static 24], uint64_t since_ns)
{
	static const struct {
		const char *name;
		uint64_t seconds;
	} units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
	uint64_t now = realtime_ns(),
		 seconds = now > since_ns ? (now - since_ns) / NSEC_PER_SEC : 0;
	size_t i = 0;

	while (i < 3 && seconds < units[i].seconds)
		i++;
	snprintf(text, 24, "%llu %s", (unsigned long long)(seconds / units[i].seconds),
		 units[i].name);
}

static void write_total(char text[static TEXT_FIGURE_SIZE + 16], const struct baseline *baseline,
			uint64_t total)
{
	char figure[TEXT_FIGURE_SIZE];

	if (baseline->mode == PROFILE_ONCPU)
		text_count(figure, total);
	else
		text_time(figure, total);
	snprintf(text, TEXT_FIGURE_SIZE + 16, "%s%s", figure,
		 baseline->mode == PROFILE_ONCPU ? " samples" : "");
}

/* List */

/* Columns of a table; longer texts are cut. */
enum { NAME_MOST = 24, BRANCH_MOST = 20, TOTAL_MOST = 40, AGE = 6, RUNS = 4, GAP = 2 };

struct widths {
	size_t name, commit, branch, total;
};

static void widen(size_t *width, const char *text, size_t most)
{
	size_t columns = text_columns(text);

	columns = columns < most ? columns : most;
	*width = *width > columns ? *width : columns;
}

static struct widths measure(const struct baselines_list *list)
{
	struct widths widths = {strlen("NAME"), strlen("COMMIT"), strlen("BRANCH"),
				strlen("TOTAL")};
	char total[TEXT_FIGURE_SIZE + 16];

	for (size_t i = 0; i < list->n; i++) {
		widen(&widths.name, list->items[i].name, NAME_MOST);
		widen(&widths.commit, list->items[i].commit, SHORT_COMMIT);
		widen(&widths.branch, list->items[i].branch, BRANCH_MOST);
		write_total(total, &list->items[i], baseline_total(&list->items[i]));
		widen(&widths.total, total, TOTAL_MOST);
	}
	return widths;
}

static void put_cell(struct page *page, enum page_style style, const char *text, size_t columns)
{
	size_t used = page_name(page, style, text, "", columns);

	page_spaces(page, columns - used + GAP);
}

/* Shows the beginning of a commit. */
static void put_commit(struct page *page, const char *commit, size_t columns)
{
	char text[BASELINE_KEY_SIZE];

	if (strspn(commit, "0123456789abcdefABCDEF") == strlen(commit) &&
	    strlen(commit) > SHORT_COMMIT)
		snprintf(text, sizeof text, "%.*s", SHORT_COMMIT, commit);
	else
		snprintf(text, sizeof text, "%s", commit);
	put_cell(page, STYLE_STRONG, text, columns);
}

static void put_heading(struct page *page, const struct widths *widths)
{
	put_cell(page, STYLE_DIM, "NAME", widths->name);
	put_cell(page, STYLE_DIM, "COMMIT", widths->commit);
	put_cell(page, STYLE_DIM, "BRANCH", widths->branch);
	page_right(page, STYLE_DIM, "AGE", AGE);
	page_right(page, STYLE_DIM, "RUNS", GAP + RUNS);
	page_right(page, STYLE_DIM, "TOTAL", GAP + widths->total);
	page_spaces(page, GAP);
	page_text(page, STYLE_DIM, "MACHINE");
	page_line(page);
}

static void put_row(struct page *page, const struct baseline *baseline, const struct widths *widths)
{
	size_t before = widths->name + widths->commit + widths->branch + widths->total + AGE +
			RUNS + 6 * GAP;
	size_t left = page->columns > before + 10 ? page->columns - before : 10;
	char age[24], runs[24], total[TEXT_FIGURE_SIZE + 16], machine[BASELINE_MACHINE_SIZE];

	put_cell(page, STYLE_PLAIN, baseline->name, widths->name);
	put_commit(page, baseline->commit, widths->commit);
	if (*baseline->damage) {
		char text[BASELINE_TEXT_SIZE + 16];

		snprintf(text, sizeof text, "damaged: %s", baseline->damage);
		page_name(page, STYLE_RUNNABLE, text, "", left + before - widths->name);
		page_line(page);
		return;
	}
	write_age(age, baseline->saved_ns);
	snprintf(runs, sizeof runs, "%zu", baseline->n_runs);
	write_total(total, baseline, baseline_total(baseline));
	baseline_machine_text(&baseline->machine, machine);
	put_cell(page, STYLE_PLAIN, baseline->branch, widths->branch);
	page_right(page, STYLE_PLAIN, age, AGE);
	page_right(page, STYLE_PLAIN, runs, GAP + RUNS);
	page_right(page, STYLE_PLAIN, total, GAP + widths->total);
	page_spaces(page, GAP);
	page_name(page, STYLE_PLAIN, machine, "", left);
	page_line(page);
}

static int print_table(const struct baselines_list *list)
{
	struct widths widths = measure(list);
	struct page page;
	int r;

	open_page(&page);
	put_heading(&page, &widths);
	for (size_t i = 0; i < list->n; i++)
		put_row(&page, &list->items[i], &widths);
	r = page.error;
	page_done(&page);
	return r;
}

static void put_json(const struct baseline_options *options, const struct baseline *baseline,
		     struct json *json, const char *key)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s/%s", options->folder, baseline->name, baseline->commit);
	json_open(json, key, '{');
	json_text(json, "path", path);
	if (*baseline->damage)
		json_text(json, "damaged", baseline->damage);
	else
		json_null(json, "damaged");
	if (*baseline->damage) {
		json_text(json, "name", baseline->name);
		json_text(json, "commit", baseline->commit);
	} else {
		baseline_put(baseline, json, false);
	}
	json_close(json, '}');
}

static void print_list_json(const struct baseline_options *options,
			    const struct baselines_list *list)
{
	struct json json = {.stream = stdout};

	json_open(&json, NULL, '[');
	for (size_t i = 0; i < list->n; i++)
		put_json(options, &list->items[i], &json, NULL);
	json_close(&json, ']');
	putchar('\n');
}

int baseline_list(const struct baseline_options *options)
{
	const char *name = options->n_arguments ? options->arguments[0] : NULL;
	struct baselines_list list;
	struct failure failure = {};
	int r = name ? baselines_check_key("name", name, &failure) : 0;

	if (r < 0)
		return cli_fail(&failure, EXIT_USAGE);
	if (baselines_list(options->folder, name, &list, &failure) < 0)
		return cli_fail(&failure, EXIT_FAILED);
	if (options->json)
		print_list_json(options, &list);
	else if (list.n)
		r = print_table(&list);
	else if (!options->quiet)
		text_print(stderr, "bpfflame: no baselines%s%s%s in %s\n", name ? " of '" : "",
			   name ? name : "", name ? "'" : "", options->folder);
	baselines_list_done(&list);
	return r < 0 ? cli_fail(&failure, EXIT_FAILED) : EXIT_DONE;
}

/* Show */

static void put_saved(struct page *page, const struct baseline *baseline)
{
	time_t seconds = baseline->saved_ns / NSEC_PER_SEC;
	char when[40] = "", age[24], text[160];
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S %z", &tm);
	write_age(age, baseline->saved_ns);
	snprintf(text, sizeof text, "%s, %s ago, by bpfflame %s", when, age, baseline->version);
	head_fact(page, "saved", STYLE_PLAIN, text);
}

static void put_machine(struct page *page, const struct machine *machine)
{
	char text[BASELINE_MACHINE_SIZE + 160], facts[BASELINE_MACHINE_SIZE];
	static const char *const kinds[N_MACHINE_VIRTUALS] = {"", ", not virtual", ", virtual"};

	baseline_machine_text(machine, facts);
	snprintf(text, sizeof text, "%s%s%s", facts, kinds[machine->is_virtual],
		 *facts ? "" : "not known");
	head_fact(page, "machine", STYLE_PLAIN, text);
	snprintf(text, sizeof text, "%s%s%s%s", machine->host,
		 *machine->host && *machine->product ? ", " : "", machine->product,
		 *machine->host || *machine->product ? "" : "not known");
	head_fact(page, "host", STYLE_PLAIN, text);
	if (machine->memory) {
		snprintf(text, sizeof text, "%.1f GiB", machine->memory / (double)(1 << 30));
		head_fact(page, "memory", STYLE_PLAIN, text);
	}
	if (machine->max_kilohertz) {
		snprintf(text, sizeof text, "up to %.0f MHz, governor %s",
			 machine->max_kilohertz / 1e3,
			 *machine->governor ? machine->governor : "not known");
		head_fact(page, "frequency", STYLE_PLAIN, text);
	}
}

static void put_run(struct page *page, const struct baseline *baseline, size_t i)
{
	const struct baseline_run *run = &baseline->runs[i];
	char total[TEXT_FIGURE_SIZE + 16], time[TEXT_FIGURE_SIZE + 8] = "";
	char label[32], text[BASELINE_TEXT_SIZE + 160], figure[TEXT_FIGURE_SIZE];

	write_total(total, baseline,
		    baseline->mode == PROFILE_ONCPU ? run->samples : run->nanoseconds);
	if (run->duration_ns) {
		text_time(figure, run->duration_ns);
		snprintf(time, sizeof time, " in %s", figure);
	}
	snprintf(label, sizeof label, "run %zu", i + 1);
	snprintf(text, sizeof text, "%s%s, of %s", total, time, run->source);
	head_fact(page, label, STYLE_PLAIN, text);
}

static void put_facts(struct page *page, const struct baseline *baseline)
{
	char key[2 * BASELINE_KEY_SIZE];

	snprintf(key, sizeof key, "%s@%s", baseline->name, baseline->commit);
	head_fact(page, "baseline", STYLE_STRONG, key);
	if (*baseline->branch)
		head_fact(page, "branch", STYLE_PLAIN, baseline->branch);
	put_saved(page, baseline);
	if (*baseline->note)
		head_fact(page, "note", STYLE_PLAIN, baseline->note);
	put_machine(page, &baseline->machine);
	if (*baseline->event)
		head_fact(page, "event", STYLE_PLAIN, baseline->event);
	for (size_t i = 0; i < baseline->n_runs; i++)
		put_run(page, baseline, i);
	page_line(page);
}

static int make_stacks(struct profile *profile, const struct stacks_options *options,
		       struct stacks *stacks)
{
	int r = stacks_init(stacks, options);

	if (r < 0)
		return r;
	r = stacks_add(stacks, profile, SIDE_NEW);
	if (r < 0)
		return r;
	return stacks_finish(stacks, SCALE_ABSOLUTE);
}

/* All runs added up. */
static int read_runs(const struct baseline_options *options, const struct baseline *baseline,
		     struct stacks *stacks, struct failure *failure)
{
	struct view_options view = VIEW_OPTIONS_OF_FILES;
	struct run_files runs = {.n = baseline->n_runs};
	struct input input;
	int r = baselines_run_paths(options->folder, baseline, &runs.paths);

	if (r < 0)
		return r;
	r = inputs_read(runs.paths, runs.n, &view.stacks, options->quiet, &input, failure);
	run_files_done(&runs);
	if (r < 0)
		return r;
	view.stacks.unfold.no_threads = true;
	r = make_stacks(input.profile, &view.stacks, stacks);
	input_done(&input);
	return r;
}

static int print_text(const struct baseline *baseline, const struct stacks *stacks)
{
	struct report_options report = {.by[REPORT_FUNCTIONS] = true, .limit = SHOWN_FUNCTIONS};
	struct page page;
	int r;

	open_page(&page);
	put_facts(&page, baseline);
	r = page.error;
	report.colour = page.colour;
	report.columns = page.columns;
	page_done(&page);
	if (r < 0)
		return r;
	return report_text(stacks, &report, stdout);
}

static int print_json(const struct baseline_options *options, const struct baseline *baseline,
		      const struct stacks *stacks)
{
	const struct report_options report = {.by[REPORT_FUNCTIONS] = true};
	struct json json = {.stream = stdout};
	int r;

	json_open(&json, NULL, '{');
	put_json(options, baseline, &json, "baseline");
	/* The report is an object and a newline. */
	fputs(",\"report\":", stdout);
	r = report_json(stacks, &report, stdout);
	json_close(&json, '}');
	putchar('\n');
	return r;
}

static int print_baseline(const struct baseline_options *options, const struct baseline *baseline,
			  struct failure *failure)
{
	struct stacks stacks = {};
	int r = read_runs(options, baseline, &stacks, failure);

	if (r == 0)
		r = options->json ? print_json(options, baseline, &stacks)
				  : print_text(baseline, &stacks);
	stacks_done(&stacks);
	return r;
}

int baseline_show(const struct baseline_options *options)
{
	const struct baseline *baseline;
	struct baseline_choice choice;
	struct failure failure = {};
	struct baselines_list list = {};
	int r = baseline_parse_choice(options, options->arguments[0], &choice, &failure);

	if (r < 0)
		return cli_fail(&failure, EXIT_USAGE);
	r = baseline_choose(options, &choice, &list, &baseline, &failure);
	if (r == 0)
		r = print_baseline(options, baseline, &failure);
	baselines_list_done(&list);
	return r < 0 ? cli_fail(&failure, EXIT_FAILED) : EXIT_DONE;
}
