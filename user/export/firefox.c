/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox: writes the Firefox Profiler's processed format, frozen at version 47, which every
 * later one reads:
 * https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md
 *
 * Each command, or thread, becomes a thread. Its stacks are a table of (prefix, frame). The
 * stacks of a group come sorted, so a stack adds entries only for what it does not share with
 * the one before. Each column of a table is an array of its own in the file, and one sweep
 * writes it: nothing of the table is kept.
 *
 * A frame's category gives its kind, and its depth whether it is an inlined function. The
 * profiler needs neither; both let the file be read back unchanged.
 *
 * The format knows weights of samples and of milliseconds (tracing-ms). It requires a time for
 * each sample: the sum of those before it.
 */
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/firefox.h"

#define NO_STACK UINT32_MAX

static void write_empty_table(struct json *json, const char *key, const char *const *columns)
{
	json_open(json, key, '{');
	json_count(json, "length", 0);
	for (; *columns; columns++) {
		json_open(json, *columns, '[');
		json_close(json, ']');
	}
	json_close(json, '}');
}

/* Stacks */

/* Writes one column during a sweep over a thread's stacks. */
typedef void (*column_fn)(const struct firefox_writer *writer, uint32_t prefix,
			  const struct group_frame *frame, uint32_t number);

static void write_prefix(const struct firefox_writer *writer, uint32_t prefix,
			 const struct group_frame *frame, uint32_t number)
{
	if (prefix == NO_STACK)
		json_null(writer->json, NULL);
	else
		json_count(writer->json, NULL, prefix);
}

static void write_frame_number(const struct firefox_writer *writer, uint32_t prefix,
			       const struct group_frame *frame, uint32_t number)
{
	json_count(writer->json, NULL, number);
}

static void write_category(const struct firefox_writer *writer, uint32_t prefix,
			   const struct group_frame *frame, uint32_t number)
{
	json_count(writer->json, NULL, firefox_category(writer, frame));
}

static void write_leaf(const struct firefox_writer *writer, uint32_t prefix,
		       const struct group_frame *frame, uint32_t number)
{
	json_count(writer->json, NULL, prefix);
}

static uint32_t common_frames(const struct group_stack *a, const struct group_stack *b)
{
	uint32_t n = 0;

	while (n < a->n && n < b->n && group_stack_frame(a, n) == group_stack_frame(b, n) &&
	       group_stack_is_inlined(a, n) == group_stack_is_inlined(b, n))
		n++;
	return n;
}

/*
 * Calls @write, if given, for each entry of the table of stacks, and @write_end for each sample,
 * with its entry as the prefix. Returns the number of entries.
 */
static uint32_t sweep(struct firefox_writer *writer, const struct group *group, column_fn write,
		      column_fn write_end)
{
	struct group_stack before = {0};
	uint32_t n = 0;

	for (uint32_t i = 0; i < group->n; i++) {
		struct group_stack stack = group_stack(&writer->groups, group, i);
		uint32_t common = i ? common_frames(&before, &stack) : 0;

		for (uint32_t k = common; k < stack.n; k++) {
			uint32_t frame = group_stack_frame(&stack, k);

			if (write)
				write(writer, k ? writer->path[k - 1] : NO_STACK,
				      &writer->groups.frames[frame],
				      firefox_frame(writer, &stack, k));
			writer->path[k] = n++;
		}
		if (write_end)
			write_end(writer, writer->path[stack.n - 1], NULL, 0);
		before = stack;
	}
	return n;
}

static void write_column(struct firefox_writer *writer, const char *key, const struct group *group,
			 column_fn write, column_fn write_end)
{
	json_open(writer->json, key, '[');
	sweep(writer, group, write, write_end);
	json_close(writer->json, ']');
}

static void write_stacks(struct firefox_writer *writer, const struct group *group)
{
	uint32_t n = sweep(writer, group, NULL, NULL);

	json_open(writer->json, "stackTable", '{');
	json_count(writer->json, "length", n);
	write_column(writer, "prefix", group, write_prefix, NULL);
	write_column(writer, "frame", group, write_frame_number, NULL);
	write_column(writer, "category", group, write_category, NULL);
	firefox_write_same(writer->json, "subcategory", n, SAME_ZERO);
	json_close(writer->json, '}');
}

/* Samples */

double firefox_interval(const struct stacks_facts *facts)
{
	return facts->mode == PROFILE_ONCPU && facts->frequency > 0 ? 1000 / facts->frequency : 1;
}

static double time_of(const struct stacks_facts *facts, uint64_t weight)
{
	return facts->mode == PROFILE_ONCPU ? weight * firefox_interval(facts)
					    : firefox_milliseconds(weight);
}

static void write_times(struct firefox_writer *writer, const struct group *group)
{
	const struct stacks_facts *facts = &writer->groups.stacks.facts[SIDE_NEW];
	uint64_t sum = 0;

	json_open(writer->json, "time", '[');
	for (uint32_t i = 0; i < group->n; i++) {
		json_number(writer->json, NULL, time_of(facts, sum), 6);
		sum += group_stack(&writer->groups, group, i).entry->weight;
	}
	json_close(writer->json, ']');
}

static void write_weights(struct firefox_writer *writer, const struct group *group)
{
	bool is_time = writer->groups.stacks.facts[SIDE_NEW].mode != PROFILE_ONCPU;

	json_text(writer->json, "weightType", is_time ? "tracing-ms" : "samples");
	json_open(writer->json, "weight", '[');
	for (uint32_t i = 0; i < group->n; i++) {
		uint64_t weight = group_stack(&writer->groups, group, i).entry->weight;

		if (is_time)
			json_number(writer->json, NULL, firefox_milliseconds(weight), 6);
		else
			json_count(writer->json, NULL, weight);
	}
	json_close(writer->json, ']');
}

static void write_samples(struct firefox_writer *writer, const struct group *group)
{
	json_open(writer->json, "samples", '{');
	json_count(writer->json, "length", group->n);
	write_column(writer, "stack", group, NULL, write_leaf);
	write_times(writer, group);
	write_weights(writer, group);
	json_close(writer->json, '}');
}

/* Threads */

/* `comm-PID/TID`, as --threads names them. Other names become processes of their own, numbered. */
static void write_ids(const struct firefox_writer *writer, const char *name, size_t number)
{
	const char *dash = strrchr(name, '-'), *slash = strrchr(name, '/');
	bool is_thread = writer->threads && dash && slash && dash < slash;
	uint64_t pid = is_thread ? strtoull(dash + 1, NULL, 10) : number + 1;
	uint64_t tid = is_thread ? strtoull(slash + 1, NULL, 10) : number + 1;
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)pid);
	json_bool(writer->json, "isMainThread", pid == tid);
	json_text(writer->json, "pid", text);
	json_count(writer->json, "tid", tid);
}

static void write_about_thread(const struct firefox_writer *writer, const struct group *group,
			       size_t number)
{
	const char *name = groups_text(&writer->groups, group->name);
	struct json *json = writer->json;

	json_text(json, "processType", "default");
	json_count(json, "processStartupTime", 0);
	json_null(json, "processShutdownTime");
	json_count(json, "registerTime", 0);
	json_null(json, "unregisterTime");
	json_open(json, "pausedRanges", '[');
	json_close(json, ']');
	json_text(json, "name", name);
	json_text(json, "processName", name);
	write_ids(writer, name, number);
}

static void write_thread(struct firefox_writer *writer, const struct group *group, size_t number)
{
	static const char *const markers[] = {"data",  "name",	   "startTime", "endTime",
					      "phase", "category", NULL};
	static const char *const symbols[] = {"libIndex", "address", "name", "functionSize", NULL};

	firefox_find_frames(writer, group);
	json_open(writer->json, NULL, '{');
	write_about_thread(writer, group, number);
	write_samples(writer, group);
	write_empty_table(writer->json, "markers", markers);
	write_stacks(writer, group);
	firefox_write_tables(writer);
	write_empty_table(writer->json, "nativeSymbols", symbols);
	firefox_write_strings(writer);
	json_close(writer->json, '}');
}

/* The whole file */

static int write_all(struct firefox_writer *writer)
{
	const struct groups *groups = &writer->groups;
	struct json *json = writer->json;
	int r = firefox_tables_init(writer);

	if (r < 0)
		return r;
	json_open(json, NULL, '{');
	firefox_write_meta(writer);
	firefox_write_libs(writer);
	json_open(json, "threads", '[');
	for (size_t i = 0; i < groups->n; i++)
		write_thread(writer, &groups->items[i], i);
	json_close(json, ']');
	json_close(json, '}');
	putc_unlocked('\n', json->stream);
	return 0;
}

int export_firefox(struct profile *profile, const struct unfold_options *unfold, FILE *stream)
{
	struct json json = {.stream = stream};
	struct firefox_writer writer = {.json = &json, .threads = unfold_threads(profile, unfold)};
	int r = groups_init(&writer.groups, profile, unfold);

	if (r == 0)
		r = write_all(&writer);
	groups_done(&writer.groups);
	firefox_tables_done(&writer);
	return r;
}
