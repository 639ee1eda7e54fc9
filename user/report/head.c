/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/head.h"

#include <time.h>

#define LABEL_COLUMNS 10

double head_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

const char *head_unit(const struct stacks *stacks)
{
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];

	if (stacks_is_time(stacks))
		return "time";
	return facts->unit ? stacks_unit(stacks) : facts->is_counted ? "events" : "samples";
}

void head_figure(char text[static TEXT_FIGURE_SIZE], const struct stacks *stacks, uint64_t weight)
{
	if (stacks_is_time(stacks))
		text_time(text, weight);
	else
		text_count(text, weight);
}

void head_fact(struct page *page, const char *label, enum page_style style, const char *text)
{
	page_text(page, STYLE_DIM, label);
	page_spaces(page, LABEL_COLUMNS - text_columns(label));
	page_name(page, style, text, "", page->columns - LABEL_COLUMNS);
	page_line(page);
}

static void recorded_oncpu(const struct stacks *stacks, const char *weight, const char *duration,
			   char text[static 256])
{
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];
	double frequency = facts->frequency;
	const char *unit = stacks_is_time(stacks) ? "" : stacks_unit(stacks);
	int n = snprintf(text, 256, "%s%s%.64s%s%.64s%s", weight, *unit ? " " : "", unit,
			 !facts->is_counted ? " on-CPU"
			 : facts->unit	    ? " of "
					    : "",
			 facts->unit ? strings_get(&stacks->strings, facts->event) : "", duration);

	if (frequency > 0)
		snprintf(text + n, 256 - n, " at %g Hz", frequency);
}

static void recorded_wall(const struct report_source *source, const char *weight,
			  const char *duration, char text[static 256])
{
	const struct stacks *stacks = source->stacks;
	double running = head_percent(stacks->totals[SIDE_RUNNING], source->whole);
	int n = snprintf(text, 256, "%s of threads' time%s", weight, duration);

	if (source->whole)
		snprintf(text + n, 256 - n, ": %.1f %% on-CPU, %.1f %% off-CPU", running,
			 100 - running);
}

static void print_recorded(struct page *page, const struct report_source *source)
{
	const struct stacks *stacks = source->stacks;
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];
	char weight[TEXT_FIGURE_SIZE], time[TEXT_FIGURE_SIZE];
	char duration[TEXT_FIGURE_SIZE + 8] = "", text[256];

	head_figure(weight, stacks, source->whole);
	if (facts->duration_ns) {
		text_time(time, facts->duration_ns);
		snprintf(duration, sizeof duration, " in %s", time);
	}
	if (facts->mode == PROFILE_ONCPU)
		recorded_oncpu(stacks, weight, duration, text);
	else if (facts->mode == PROFILE_WALL)
		recorded_wall(source, weight, duration, text);
	else
		snprintf(text, sizeof text, "%s off-CPU%s", weight, duration);
	head_fact(page, "recorded", STYLE_STRONG, text);
}

static void print_idle(struct page *page, const struct report_source *source)
{
	char weight[TEXT_FIGURE_SIZE], text[256];

	if (!source->idle)
		return;
	head_figure(weight, source->stacks, source->idle);
	snprintf(text, sizeof text, "%s of it, %.1f %%: waits for work", weight,
		 head_percent(source->idle, source->whole));
	head_fact(page, "idle", STYLE_PLAIN, text);
}

static void print_place(struct page *page, const struct stacks *stacks)
{
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];
	const char *host = strings_get(&stacks->strings, facts->host);
	const char *kernel = strings_get(&stacks->strings, facts->kernel);
	char text[512];

	snprintf(text, sizeof text, "%s%s%s%s", host, *host && *kernel ? ", " : "",
		 *kernel ? "Linux " : "", kernel);
	if (*text)
		head_fact(page, "host", STYLE_PLAIN, text);
}

static void print_start(struct page *page, const struct stacks_facts *facts)
{
	time_t start = facts->start_realtime_ns / 1000000000;
	char text[64];
	struct tm tm;

	if (start && localtime_r(&start, &tm) &&
	    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &tm))
		head_fact(page, "begun", STYLE_PLAIN, text);
}

static int add_count(char *text, size_t size, const char *before, size_t count, const char *what)
{
	char figure[TEXT_FIGURE_SIZE];

	text_count(figure, count);
	return snprintf(text, size, "%s%s%s%s", before, figure, what, count == 1 ? "" : "s");
}

static void print_stacks(struct page *page, const struct report_source *source, size_t n_functions,
			 size_t n_threads)
{
	char figure[TEXT_FIGURE_SIZE], text[256];
	int n;

	text_count(figure, source->n_distinct);
	n = snprintf(text, sizeof text, "%s distinct", figure);
	if (n_threads)
		n += add_count(text + n, sizeof text - n, ", of ", n_threads, " thread");
	if (n_functions != SIZE_MAX)
		add_count(text + n, sizeof text - n, ", with ", n_functions, " function");
	head_fact(page, "stacks", STYLE_PLAIN, text);
}

void head_print(struct page *page, const struct report_source *source, size_t n_functions,
		size_t n_threads)
{
	const struct stacks *stacks = source->stacks;
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];
	const char *command = strings_get(&stacks->strings, facts->command_line);

	print_recorded(page, source);
	print_idle(page, source);
	if (*command)
		head_fact(page, "command", STYLE_PLAIN, command);
	print_place(page, stacks);
	print_start(page, facts);
	print_stacks(page, source, n_functions, n_threads);
}
