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

#include "base/array.h"
#include "base/system.h"
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
typedef void (*column_fn)(const struct firefox_writing *writing, uint32_t prefix,
			  const struct group_frame *frame, uint32_t number);

static void write_prefix(const struct firefox_writing *writing, uint32_t prefix,
			 const struct group_frame *frame, uint32_t number)
{
	if (prefix == NO_STACK)
		json_null(writing->json, NULL);
	else
		json_count(writing->json, NULL, prefix);
}

static void write_frame_number(const struct firefox_writing *writing, uint32_t prefix,
			       const struct group_frame *frame, uint32_t number)
{
	json_count(writing->json, NULL, number);
}

static void write_category(const struct firefox_writing *writing, uint32_t prefix,
			   const struct group_frame *frame, uint32_t number)
{
	json_count(writing->json, NULL, firefox_category(writing, frame));
}

static void write_leaf(const struct firefox_writing *writing, uint32_t prefix,
		       const struct group_frame *frame, uint32_t number)
{
	json_count(writing->json, NULL, prefix);
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
static int sweep(struct firefox_writing *writing, const struct group *group, column_fn write,
		 column_fn write_end, uint32_t *ret_n)
{
	struct group_stack before = {0};
	uint32_t n = 0;

	for (uint32_t i = 0; i < group->n; i++) {
		struct group_stack stack = group_stack(&writing->groups, group, i);
		uint32_t common = i ? common_frames(&before, &stack) : 0;
		int r = array_reserve(writing->path, writing->path_capacity, common,
				      stack.n - common + 1);

		if (r < 0)
			return r;
		for (uint32_t k = common; k < stack.n; k++) {
			uint32_t frame = group_stack_frame(&stack, k);

			if (write)
				write(writing, k ? writing->path[k - 1] : NO_STACK,
				      &writing->groups.frames[frame],
				      firefox_frame(writing, &stack, k));
			writing->path[k] = n++;
		}
		if (write_end)
			write_end(writing, writing->path[stack.n - 1], NULL, 0);
		before = stack;
	}
	*ret_n = n;
	return 0;
}

static int write_column(struct firefox_writing *writing, const char *key, const struct group *group,
			column_fn write, column_fn write_end)
{
	uint32_t n;
	int r;

	json_open(writing->json, key, '[');
	r = sweep(writing, group, write, write_end, &n);
	json_close(writing->json, ']');
	return r;
}

static int write_stacks(struct firefox_writing *writing, const struct group *group)
{
	uint32_t n;
	int r = sweep(writing, group, NULL, NULL, &n);

	if (r < 0)
		return r;
	json_open(writing->json, "stackTable", '{');
	json_count(writing->json, "length", n);
	r = write_column(writing, "prefix", group, write_prefix, NULL);
	r = r < 0 ? r : write_column(writing, "frame", group, write_frame_number, NULL);
	r = r < 0 ? r : write_column(writing, "category", group, write_category, NULL);
	firefox_write_same(writing->json, "subcategory", n, SAME_ZERO);
	json_close(writing->json, '}');
	return r;
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

static void write_times(struct firefox_writing *writing, const struct group *group)
{
	const struct stacks_facts *facts = &writing->groups.stacks.facts[SIDE_NEW];
	uint64_t sum = 0;

	json_open(writing->json, "time", '[');
	for (uint32_t i = 0; i < group->n; i++) {
		json_number(writing->json, NULL, time_of(facts, sum), 6);
		sum += group_stack(&writing->groups, group, i).entry->weight;
	}
	json_close(writing->json, ']');
}

static void write_weights(struct firefox_writing *writing, const struct group *group)
{
	bool is_time = writing->groups.stacks.facts[SIDE_NEW].mode != PROFILE_ONCPU;

	json_text(writing->json, "weightType", is_time ? "tracing-ms" : "samples");
	json_open(writing->json, "weight", '[');
	for (uint32_t i = 0; i < group->n; i++) {
		uint64_t weight = group_stack(&writing->groups, group, i).entry->weight;

		if (is_time)
			json_number(writing->json, NULL, firefox_milliseconds(weight), 6);
		else
			json_count(writing->json, NULL, weight);
	}
	json_close(writing->json, ']');
}

static int write_samples(struct firefox_writing *writing, const struct group *group)
{
	int r;

	json_open(writing->json, "samples", '{');
	json_count(writing->json, "length", group->n);
	r = write_column(writing, "stack", group, NULL, write_leaf);
	write_times(writing, group);
	write_weights(writing, group);
	json_close(writing->json, '}');
	return r;
}

/* Threads */

/* `comm-PID/TID`, as --threads names them. Other names become processes of their own, numbered. */
static void write_ids(const struct firefox_writing *writing, const char *name, size_t number)
{
	const char *dash = strrchr(name, '-'), *slash = strrchr(name, '/');
	bool is_thread = writing->threads && dash && slash && dash < slash;
	uint64_t pid = is_thread ? strtoull(dash + 1, NULL, 10) : number + 1;
	uint64_t tid = is_thread ? strtoull(slash + 1, NULL, 10) : number + 1;
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)pid);
	json_bool(writing->json, "isMainThread", pid == tid);
	json_text(writing->json, "pid", text);
	json_count(writing->json, "tid", tid);
}

static void write_about_thread(const struct firefox_writing *writing, const struct group *group,
			       size_t number)
{
	const char *name = groups_text(&writing->groups, group->name);
	struct json *json = writing->json;

	json_text(json, "processType", "default");
	json_count(json, "processStartupTime", 0);
	json_null(json, "processShutdownTime");
	json_count(json, "registerTime", 0);
	json_null(json, "unregisterTime");
	json_open(json, "pausedRanges", '[');
	json_close(json, ']');
	json_text(json, "name", name);
	json_text(json, "processName", name);
	write_ids(writing, name, number);
}

static int write_thread(struct firefox_writing *writing, const struct group *group, size_t number)
{
	static const char *const markers[] = {"data",  "name",	   "startTime", "endTime",
					      "phase", "category", NULL};
	static const char *const symbols[] = {"libIndex", "address", "name", "functionSize", NULL};
	int r;

	firefox_find_frames(writing, group);
	json_open(writing->json, NULL, '{');
	write_about_thread(writing, group, number);
	r = write_samples(writing, group);
	write_empty_table(writing->json, "markers", markers);
	r = r < 0 ? r : write_stacks(writing, group);
	firefox_write_tables(writing);
	write_empty_table(writing->json, "nativeSymbols", symbols);
	firefox_write_strings(writing);
	json_close(writing->json, '}');
	return r;
}

/* The whole file */

static int write_all(struct firefox_writing *writing)
{
	const struct groups *groups = &writing->groups;
	struct json *json = writing->json;
	int r = 0;

	json_open(json, NULL, '{');
	firefox_write_meta(writing);
	firefox_write_libs(writing);
	json_open(json, "threads", '[');
	for (size_t i = 0; i < groups->n && r == 0; i++)
		r = write_thread(writing, &groups->items[i], i);
	json_close(json, ']');
	json_close(json, '}');
	putc_unlocked('\n', json->stream);
	return r;
}

int export_firefox(struct profile *profile, const struct unfold_options *unfold, FILE *stream)
{
	struct json json = {.stream = stream};
	struct firefox_writing writing = {.json = &json,
					  .threads = unfold_threads(profile, unfold)};
	int r = groups_init(&writing.groups, profile, unfold);

	r = r < 0 ? r : firefox_tables_init(&writing);
	r = r < 0 ? r : write_all(&writing);
	groups_done(&writing.groups);
	firefox_tables_done(&writing);
	free(writing.path);
	return r;
}
