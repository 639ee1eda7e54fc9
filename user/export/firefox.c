/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox: the Firefox Profiler's processed format, frozen at version 47, which every later one
 * reads: https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md
 *
 * One thread for each command or thread. Its stacks are a table of (prefix, frame): those of a
 * group come sorted, so a stack's new entries are what it does not share with the one before. Each
 * column of a table is an array of its own in the file, and is made by a sweep of its own: nothing
 * of the table is kept.
 *
 * The format knows weights of samples and of milliseconds (tracing-ms). The time of a sample, which
 * it must have, is the sum of those before it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/system.h"
#include "export/export.h"
#include "export/groups.h"

#define PROCESSED_VERSION 47
#define GECKO_VERSION	  27 /* of Firefox's own format, at that time */
#define NO_STACK	  UINT32_MAX

/* One has to be grey: what frames of no category belong to. */
enum category {
	CATEGORY_OTHER,
	CATEGORY_USER,
	CATEGORY_KERNEL,
	CATEGORY_JIT,
	CATEGORY_WAITING,
	CATEGORY_RUNNABLE,
	CATEGORY_IDLE,
	N_CATEGORIES
};

static const struct {
	const char *name, *color;
} categories[N_CATEGORIES] = {
	[CATEGORY_OTHER] = {"Other", "grey"},	   [CATEGORY_USER] = {"User", "yellow"},
	[CATEGORY_KERNEL] = {"Kernel", "orange"},  [CATEGORY_JIT] = {"JIT", "green"},
	[CATEGORY_WAITING] = {"Waiting", "blue"},  [CATEGORY_RUNNABLE] = {"Runnable", "purple"},
	[CATEGORY_IDLE] = {"Idle", "transparent"},
};

struct writing {
	struct json *json;
	struct groups groups;
	bool threads;
	/* Modules of all threads, string ids; by string id, +1. */
	uint32_t *libs, *lib_of;
	size_t n_libs;
	/* Of the thread in hand: its frames, and by frame of the groups, +1. */
	uint32_t *frames, *number_of;
	size_t n_frames;
	/* Of the stack in hand: the entries of the table that it is, root first. */
	uint32_t *path;
	size_t path_capacity;
};

static enum category category_of(const struct writing *writing, const struct group_frame *frame)
{
	switch (frame->kind) {
	case FRAME_USER:
	case FRAME_INLINED:
	case FRAME_RUNNING: return CATEGORY_USER;
	case FRAME_KERNEL: return CATEGORY_KERNEL;
	case FRAME_JIT: return CATEGORY_JIT;
	case FRAME_WAITING: return CATEGORY_WAITING;
	case FRAME_RUNNABLE: return CATEGORY_RUNNABLE;
	default:
		return strcmp(groups_text(&writing->groups, frame->name), "[idle]") == 0
			       ? CATEGORY_IDLE
			       : CATEGORY_OTHER;
	}
}

enum same { SAME_ZERO, SAME_ONE, SAME_MINUS_ONE, SAME_NULL, SAME_FALSE };

/* An array that says the same of every item. */
static void write_same(struct json *json, const char *key, size_t n, enum same what)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < n; i++)
		switch (what) {
		case SAME_NULL: json_null(json, NULL); break;
		case SAME_FALSE: json_bool(json, NULL, false); break;
		case SAME_MINUS_ONE: json_number(json, NULL, -1, 0); break;
		default: json_count(json, NULL, what);
		}
	json_close(json, ']');
}

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

/* What one sweep over a thread's stacks writes. */
typedef void (*column_fn)(const struct writing *writing, uint32_t prefix,
			  const struct group_frame *frame, uint32_t number);

static void write_prefix(const struct writing *writing, uint32_t prefix,
			 const struct group_frame *frame, uint32_t number)
{
	if (prefix == NO_STACK)
		json_null(writing->json, NULL);
	else
		json_count(writing->json, NULL, prefix);
}

static void write_frame_number(const struct writing *writing, uint32_t prefix,
			       const struct group_frame *frame, uint32_t number)
{
	json_count(writing->json, NULL, number);
}

static void write_category(const struct writing *writing, uint32_t prefix,
			   const struct group_frame *frame, uint32_t number)
{
	json_count(writing->json, NULL, category_of(writing, frame));
}

static void write_leaf(const struct writing *writing, uint32_t prefix,
		       const struct group_frame *frame, uint32_t number)
{
	json_count(writing->json, NULL, prefix);
}

static uint32_t common_frames(const struct group_stack *a, const struct group_stack *b)
{
	uint32_t n = 0;

	while (n < a->n && n < b->n && group_stack_frame(a, n) == group_stack_frame(b, n))
		n++;
	return n;
}

/*
 * Calls @write, if there is one, for each entry of the table of stacks, and @write_end for each
 * sample with the entry that it is (as the prefix). Returns the number of entries.
 */
static int sweep(struct writing *writing, const struct group *group, column_fn write,
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
				      writing->number_of[frame] - 1);
			writing->path[k] = n++;
		}
		if (write_end)
			write_end(writing, writing->path[stack.n - 1], NULL, 0);
		before = stack;
	}
	*ret_n = n;
	return 0;
}

static int write_column(struct writing *writing, const char *key, const struct group *group,
			column_fn write, column_fn write_end)
{
	uint32_t n;
	int r;

	json_open(writing->json, key, '[');
	r = sweep(writing, group, write, write_end, &n);
	json_close(writing->json, ']');
	return r;
}

static int write_stacks(struct writing *writing, const struct group *group)
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
	write_same(writing->json, "subcategory", n, SAME_ZERO);
	json_close(writing->json, '}');
	return r;
}

/* Samples */

static double milliseconds(uint64_t nanoseconds)
{
	return nanoseconds / 1e6;
}

/* Between two samples of one thread. */
static double interval_of(const struct stacks_facts *facts)
{
	return facts->mode == PROFILE_ONCPU && facts->frequency > 0 ? 1000 / facts->frequency : 1;
}

static double time_of(const struct stacks_facts *facts, uint64_t weight)
{
	return facts->mode == PROFILE_ONCPU ? weight * interval_of(facts) : milliseconds(weight);
}

static void write_times(struct writing *writing, const struct group *group)
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

static void write_weights(struct writing *writing, const struct group *group)
{
	bool is_time = writing->groups.stacks.facts[SIDE_NEW].mode != PROFILE_ONCPU;

	json_text(writing->json, "weightType", is_time ? "tracing-ms" : "samples");
	json_open(writing->json, "weight", '[');
	for (uint32_t i = 0; i < group->n; i++) {
		uint64_t weight = group_stack(&writing->groups, group, i).entry->weight;

		if (is_time)
			json_number(writing->json, NULL, milliseconds(weight), 6);
		else
			json_count(writing->json, NULL, weight);
	}
	json_close(writing->json, ']');
}

static int write_samples(struct writing *writing, const struct group *group)
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

/* Frames. Each is a function of its own: addresses and lines of callers are not told here. */

/* Numbers those of @group. */
static void find_frames(struct writing *writing, const struct group *group)
{
	for (size_t i = 0; i < writing->n_frames; i++)
		writing->number_of[writing->frames[i]] = 0;
	writing->n_frames = 0;
	for (uint32_t i = 0; i < group->n; i++) {
		struct group_stack stack = group_stack(&writing->groups, group, i);

		for (uint32_t k = 0; k < stack.n; k++) {
			uint32_t frame = group_stack_frame(&stack, k);

			if (writing->number_of[frame])
				continue;
			writing->frames[writing->n_frames++] = frame;
			writing->number_of[frame] = writing->n_frames;
		}
	}
}

static const struct group_frame *frame_at(const struct writing *writing, size_t i)
{
	return &writing->groups.frames[writing->frames[i]];
}

static void write_lines(const struct writing *writing, const char *key)
{
	json_open(writing->json, key, '[');
	for (size_t i = 0; i < writing->n_frames; i++) {
		uint32_t line = frame_at(writing, i)->line;

		if (line)
			json_count(writing->json, NULL, line);
		else
			json_null(writing->json, NULL);
	}
	json_close(writing->json, ']');
}

static void write_frames(const struct writing *writing)
{
	struct json *json = writing->json;
	size_t n = writing->n_frames;

	json_open(json, "frameTable", '{');
	json_count(json, "length", n);
	write_same(json, "address", n, SAME_MINUS_ONE);
	write_same(json, "inlineDepth", n, SAME_ZERO);
	json_open(json, "category", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, category_of(writing, frame_at(writing, i)));
	json_close(json, ']');
	write_same(json, "subcategory", n, SAME_ZERO);
	json_open(json, "func", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, i);
	json_close(json, ']');
	write_same(json, "nativeSymbol", n, SAME_NULL);
	write_same(json, "innerWindowID", n, SAME_NULL);
	write_same(json, "implementation", n, SAME_NULL);
	write_lines(writing, "line");
	write_same(json, "column", n, SAME_NULL);
	json_close(json, '}');
}

/* The thread's strings: the frames' names, the modules', and then the names of files. */
static void write_strings(const struct writing *writing)
{
	const struct groups *groups = &writing->groups;

	json_open(writing->json, "stringArray", '[');
	for (size_t i = 0; i < writing->n_frames; i++)
		json_text(writing->json, NULL, groups_text(groups, frame_at(writing, i)->name));
	for (size_t i = 0; i < writing->n_libs; i++)
		json_text(writing->json, NULL, groups_text(groups, writing->libs[i]));
	for (size_t i = 0; i < writing->n_frames; i++)
		if (frame_at(writing, i)->file)
			json_text(writing->json, NULL,
				  groups_text(groups, frame_at(writing, i)->file));
	json_close(writing->json, ']');
}

static void write_functions(const struct writing *writing)
{
	struct json *json = writing->json;
	size_t n = writing->n_frames, file = n + writing->n_libs;

	json_open(json, "funcTable", '{');
	json_count(json, "length", n);
	json_open(json, "name", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, i);
	json_close(json, ']');
	write_same(json, "isJS", n, SAME_FALSE);
	write_same(json, "relevantForJS", n, SAME_FALSE);
	json_open(json, "resource", '[');
	for (size_t i = 0; i < n; i++) {
		uint32_t module = frame_at(writing, i)->module;

		json_number(json, NULL, module ? (double)writing->lib_of[module] - 1 : -1, 0);
	}
	json_close(json, ']');
	json_open(json, "fileName", '[');
	for (size_t i = 0; i < n; i++) {
		if (frame_at(writing, i)->file)
			json_count(json, NULL, file++);
		else
			json_null(json, NULL);
	}
	json_close(json, ']');
	write_same(json, "lineNumber", n, SAME_NULL);
	write_same(json, "columnNumber", n, SAME_NULL);
	json_close(json, '}');
}

/* One for each module of the profile. */
static void write_resources(const struct writing *writing)
{
	struct json *json = writing->json;
	size_t n = writing->n_libs;

	json_open(json, "resourceTable", '{');
	json_count(json, "length", n);
	json_open(json, "lib", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, i);
	json_close(json, ']');
	json_open(json, "name", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, writing->n_frames + i);
	json_close(json, ']');
	write_same(json, "host", n, SAME_NULL);
	write_same(json, "type", n, SAME_ONE); /* a library */
	json_close(json, '}');
}

/* Threads */

/* `comm-PID/TID`, as --threads names them; others are processes of their own, numbered. */
static void write_ids(const struct writing *writing, const char *name, size_t number)
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

static void write_about_thread(const struct writing *writing, const struct group *group,
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

static int write_thread(struct writing *writing, const struct group *group, size_t number)
{
	static const char *const markers[] = {"data",  "name",	   "startTime", "endTime",
					      "phase", "category", NULL};
	static const char *const symbols[] = {"libIndex", "address", "name", "functionSize", NULL};
	int r;

	find_frames(writing, group);
	json_open(writing->json, NULL, '{');
	write_about_thread(writing, group, number);
	r = write_samples(writing, group);
	write_empty_table(writing->json, "markers", markers);
	r = r < 0 ? r : write_stacks(writing, group);
	write_frames(writing);
	write_functions(writing);
	write_resources(writing);
	write_empty_table(writing->json, "nativeSymbols", symbols);
	write_strings(writing);
	json_close(writing->json, '}');
	return r;
}

/* The whole */

static void write_libs(const struct writing *writing)
{
	struct json *json = writing->json;

	json_open(json, "libs", '[');
	for (size_t i = 0; i < writing->n_libs; i++) {
		const char *name = groups_text(&writing->groups, writing->libs[i]);

		json_open(json, NULL, '{');
		json_text(json, "arch", "");
		json_text(json, "name", name);
		json_text(json, "path", name);
		json_text(json, "debugName", name);
		json_text(json, "debugPath", name);
		json_text(json, "breakpadId", "");
		json_null(json, "codeId");
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_categories(struct json *json)
{
	json_open(json, "categories", '[');
	for (int i = 0; i < N_CATEGORIES; i++) {
		json_open(json, NULL, '{');
		json_text(json, "name", categories[i].name);
		json_text(json, "color", categories[i].color);
		json_open(json, "subcategories", '[');
		json_text(json, NULL, "Other");
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_meta(const struct writing *writing)
{
	const struct groups *groups = &writing->groups;
	const struct stacks_facts *facts = &groups->stacks.facts[SIDE_NEW];
	struct json *json = writing->json;

	json_open(json, "meta", '{');
	json_count(json, "version", GECKO_VERSION);
	json_count(json, "preprocessedProfileVersion", PROCESSED_VERSION);
	json_number(json, "interval", interval_of(facts), 6);
	json_number(json, "startTime", milliseconds(facts->start_realtime_ns), 3);
	json_count(json, "processType", 0);
	json_count(json, "stackwalk", 1);
	json_bool(json, "debug", false);
	json_text(json, "product",
		  facts->command_line ? groups_text(groups, facts->command_line)
				      : profile_mode_name(facts->mode));
	json_text(json, "importedFrom", "bpfflame " BPFFLAME_VERSION);
	json_text(json, "platform", "Linux");
	json_text(json, "oscpu", groups_text(groups, facts->kernel));
	json_bool(json, "symbolicated", true);
	json_bool(json, "symbolicationNotSupported", true);
	json_bool(json, "usesOnlyOneStackType", true);
	json_bool(json, "doesNotUseFrameImplementation", true);
	json_bool(json, "sourceCodeIsNotOnSearchfox", true);
	json_bool(json, "keepProfileThreadOrder", true);
	json_open(json, "markerSchema", '[');
	json_close(json, ']');
	write_categories(json);
	json_close(json, '}');
}

static int write_all(struct writing *writing)
{
	const struct groups *groups = &writing->groups;
	struct json *json = writing->json;
	int r = 0;

	json_open(json, NULL, '{');
	write_meta(writing);
	write_libs(writing);
	json_open(json, "threads", '[');
	for (size_t i = 0; i < groups->n && r == 0; i++)
		r = write_thread(writing, &groups->items[i], i);
	json_close(json, ']');
	json_close(json, '}');
	putc_unlocked('\n', json->stream);
	return r;
}

static int find_libs(struct writing *writing)
{
	const struct groups *groups = &writing->groups;

	writing->libs = calloc(groups->n_frames + 1, sizeof *writing->libs);
	writing->lib_of = calloc(groups->stacks.strings.n_strings, sizeof *writing->lib_of);
	writing->frames = calloc(groups->n_frames + 1, sizeof *writing->frames);
	writing->number_of = calloc(groups->n_frames + 1, sizeof *writing->number_of);
	if (!writing->libs || !writing->lib_of || !writing->frames || !writing->number_of)
		return -ENOMEM;
	for (size_t i = 0; i < groups->n_frames; i++) {
		uint32_t module = groups->frames[i].module;

		if (!module || writing->lib_of[module])
			continue;
		writing->libs[writing->n_libs++] = module;
		writing->lib_of[module] = writing->n_libs;
	}
	return 0;
}

int export_firefox(struct profile *profile, const struct unfold_options *unfold, FILE *stream)
{
	struct json json = {.stream = stream};
	struct writing writing = {.json = &json, .threads = unfold_threads(profile, unfold)};
	int r = groups_init(&writing.groups, profile, unfold);

	r = r < 0 ? r : find_libs(&writing);
	r = r < 0 ? r : write_all(&writing);
	groups_done(&writing.groups);
	free(writing.libs);
	free(writing.lib_of);
	free(writing.frames);
	free(writing.number_of);
	free(writing.path);
	return r;
}
