/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/groups.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"
#include "core/facts.h"
#include "core/marks.h"

/* Where a frame's function comes from; string ids of the stacks. */
struct source {
	uint32_t function, file, line;
};

struct groups_builder {
	struct groups *groups;
	struct profile *profile;
	struct source *sources; /* by string id of the stacks */
	size_t n_sources, sources_capacity;
	struct table frame_index;
};

/* Stacks */

/* Notes the names of a location; those in the stacks hold no file. */
static int add_source(struct groups_builder *builder, const struct profile_frame *frame)
{
	const struct unfold_options *unfold = &builder->groups->stacks.options.unfold;
	struct strings *strings = &builder->groups->stacks.strings;
	const struct strings *from = &builder->profile->strings;
	struct source source = {.line = unfold->lines ? frame->line : 0};
	uint32_t name;
	size_t n = builder->n_sources;
	int (*add)(struct strings * strings, const char *name, uint32_t *ret) =
		frame->kind == FRAME_USER ? marks_add_function : strings_add;
	int r = profile_name_frame(builder->profile, unfold, frame, &name);

	if (r < 0)
		return r;
	r = add(strings, strings_get(from, name), &name);
	if (r < 0)
		return r;
	r = add(strings, strings_get(from, frame->function), &source.function);
	if (r < 0)
		return r;
	r = strings_add(strings, strings_get(from, frame->file), &source.file);
	if (r < 0)
		return r;
	if (strings->n_strings > n) {
		r = array_reserve(builder->sources, builder->sources_capacity, n,
				  strings->n_strings - n);
		if (r < 0)
			return r;
		memset(builder->sources + n, 0,
		       (strings->n_strings - n) * sizeof *builder->sources);
		builder->n_sources = strings->n_strings;
	}
	if (!builder->sources[name].file)
		builder->sources[name] = source;
	return 0;
}

static int add_sources(struct groups_builder *builder)
{
	const struct profile *profile = builder->profile;

	for (size_t i = 0; i < profile->n_frames; i++) {
		const struct profile_frame *frame = &profile->frames[i];
		int r = frame->file ? add_source(builder, frame) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static bool frame_equal(const void *items, uint32_t position, const void *key)
{
	const struct group_frame *a = (const struct group_frame *)items + position, *b = key;

	return a->name == b->name && a->file == b->file && a->module == b->module &&
	       a->line == b->line && a->kind == b->kind;
}

static int find_frame(struct groups_builder *builder, const struct group_frame *frame,
		      uint32_t *ret)
{
	struct groups *groups = builder->groups;
	uint64_t hash = hash_mix((uint64_t)frame->name << 32 | frame->file,
				 (uint64_t)frame->module << 32 | frame->line);

	return table_intern(&builder->frame_index, hash_mix(hash, frame->kind), frame_equal,
			    groups->frames, groups->frames_capacity, groups->n_frames, frame, ret);
}

static enum frame_kind group_frame_kind(const struct stacks *stacks,
					const struct stacks_frame *frame)
{
	if (frame->kind != FRAME_INLINED)
		return frame->kind;
	return strcmp(strings_get(&stacks->strings, frame->module), "[kernel]") == 0 ? FRAME_KERNEL
										     : FRAME_USER;
}

static int make_frame(struct groups_builder *builder, const struct stacks_frame *from,
		      uint32_t *ret)
{
	struct group_frame frame = {.name = from->name,
				    .module = from->module,
				    .kind = group_frame_kind(&builder->groups->stacks, from)};
	struct source source = {0};

	if (from->kind < FRAME_NOTE && from->name < builder->n_sources)
		source = builder->sources[from->name];
	if (source.file) {
		frame.name = source.function ? source.function : frame.name;
		frame.file = source.file;
		frame.line = source.line;
		frame.module = 0;
	}
	return find_frame(builder, &frame, ret);
}

static int make_frames(struct groups_builder *builder)
{
	struct groups *groups = builder->groups;
	const struct stacks *stacks = &groups->stacks;

	groups->frame_of = calloc(stacks->n_frames + 1, sizeof *groups->frame_of);
	if (!groups->frame_of)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->n_frames; i++) {
		int r = make_frame(builder, &stacks->frames[i], &groups->frame_of[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Groups */

static bool is_idle(const struct stacks *stacks, const struct stacks_entry *entry)
{
	const uint32_t *ids = stacks->ids + entry->first;

	return stacks->options.unfold.fold_idle && entry->n > 1 &&
	       stacks->frames[ids[0]].kind == FRAME_NOTE &&
	       strcmp(stacks_name(stacks, ids[0]), "[idle]") == 0;
}

static uint32_t command_of(const struct stacks *stacks, const struct stacks_entry *entry)
{
	return stacks->ids[entry->first + is_idle(stacks, entry)];
}

/* Numbers the commands in order of appearance; @numbers: by the stacks' frames, + 1. */
static void count_groups(struct groups *groups, uint32_t *numbers)
{
	const struct stacks *stacks = &groups->stacks;

	for (size_t i = 0; i < stacks->n_entries; i++) {
		uint32_t command = command_of(stacks, &stacks->entries[i]);
		struct group *group;

		if (!numbers[command]) {
			numbers[command] = ++groups->n;
			groups->items[groups->n - 1].name = stacks->frames[command].name;
		}
		group = &groups->items[numbers[command] - 1];
		group->n++;
		group->weight += stacks->entries[i].weight;
	}
}

static void sort_entries(struct groups *groups, const uint32_t *numbers)
{
	const struct stacks *stacks = &groups->stacks;
	uint32_t first = 0;

	for (size_t i = 0; i < groups->n; i++) {
		groups->items[i].first = first;
		first += groups->items[i].n;
		groups->items[i].n = 0;
	}
	for (size_t i = 0; i < stacks->n_entries; i++) {
		struct group *group =
			&groups->items[numbers[command_of(stacks, &stacks->entries[i])] - 1];

		groups->entries[group->first + group->n++] = i;
	}
}

/* Heaviest first; equal weights in order of appearance. */
static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->first > y->first) - (x->first < y->first);
}

static int make_groups(struct groups *groups)
{
	const struct stacks *stacks = &groups->stacks;
	_cleanup_free_ uint32_t *numbers = calloc(stacks->n_frames + 1, sizeof *numbers);

	groups->items = calloc(stacks->n_frames + 1, sizeof *groups->items);
	groups->entries = calloc(stacks->n_entries + 1, sizeof *groups->entries);
	if (!numbers || !groups->items || !groups->entries)
		return -ENOMEM;
	if (stacks->n_entries > UINT32_MAX)
		return -E2BIG;
	count_groups(groups, numbers);
	sort_entries(groups, numbers);
	qsort(groups->items, groups->n, sizeof *groups->items, compare_groups);
	return 0;
}

static int build(struct groups_builder *builder, const struct stacks_options *options)
{
	struct stacks *stacks = &builder->groups->stacks;
	int r = stacks_init(stacks, options);

	if (r < 0)
		return r;
	r = stacks_add(stacks, builder->profile, SIDE_NEW);
	if (r < 0)
		return r;
	r = stacks_finish(stacks, SCALE_ABSOLUTE);
	if (r < 0)
		return r;
	r = add_sources(builder);
	if (r < 0)
		return r;
	r = make_frames(builder);
	if (r < 0)
		return r;
	return make_groups(builder->groups);
}

int groups_init(struct groups *groups, struct profile *profile, const struct unfold_options *unfold)
{
	struct stacks_options options = {.unfold = *unfold, .in_order = profile->in_order};
	struct groups_builder builder = {.groups = groups, .profile = profile};
	int r;

	*groups = (struct groups){0};
	r = build(&builder, &options);
	free(builder.sources);
	table_done(&builder.frame_index);
	return r;
}

void groups_done(struct groups *groups)
{
	stacks_done(&groups->stacks);
	free(groups->items);
	free(groups->entries);
	free(groups->frames);
	free(groups->frame_of);
}

struct group_stack group_stack(const struct groups *groups, const struct group *group, uint32_t i)
{
	const struct stacks_entry *entry =
		&groups->stacks.entries[groups->entries[group->first + i]];

	return (struct group_stack){.groups = groups,
				    .entry = entry,
				    .n = entry->n > 1 ? entry->n - 1 : entry->n,
				    .is_idle = is_idle(&groups->stacks, entry)};
}

/* Facts */

void groups_facts(const struct groups *groups, struct json *json, groups_fact_fn add)
{
	const struct stacks_facts *facts = &groups->stacks.facts[SIDE_NEW];
	char start[24] = "", duration[24] = "", frequency[32] = "", period[24] = "";
	const char *const texts[N_FACTS] = {[FACT_MODE] = profile_mode_name(facts->mode),
					    [FACT_ROOTS] = facts->by_thread ? FACT_BY_THREAD : "",
					    [FACT_COMMAND] =
						    groups_text(groups, facts->command_line),
					    [FACT_HOST] = groups_text(groups, facts->host),
					    [FACT_KERNEL] = groups_text(groups, facts->kernel),
					    [FACT_START] = start,
					    [FACT_DURATION] = duration,
					    [FACT_FREQUENCY] = frequency,
					    [FACT_EVENT] = groups_text(groups, facts->event),
					    [FACT_WEIGHT] = facts->is_unsampled ? FACT_BY_VALUES
							    : facts->is_counted ? FACT_BY_EVENTS
										: "",
					    [FACT_UNIT] = groups_text(groups, facts->unit),
					    [FACT_PERIOD] = period};

	if (facts->start_realtime_ns)
		snprintf(start, sizeof start, "%" PRIu64, facts->start_realtime_ns);
	if (facts->duration_ns)
		snprintf(duration, sizeof duration, "%" PRIu64, facts->duration_ns);
	/* Enough digits to distinguish every number from the next one. */
	if (facts->frequency > 0)
		snprintf(frequency, sizeof frequency, "%.17g", facts->frequency);
	if (facts->period)
		snprintf(period, sizeof period, "%" PRIu64, facts->period);
	for (int i = 0; i < N_FACTS; i++)
		if (*texts[i])
			add(json, fact_key(i), texts[i]);
}
