/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"
#include "core/matcher.h"

#define MAX_FRAMES (UINT32_MAX - 2) /* tree.h uses two numbers itself */

/* The frame that a name was last seen as. Most names have only one. */
struct known_frame {
	uint32_t mapping, frame;
	uint8_t kind;
	bool is_waker, is_set;
};

/* One profile while it is added to the stacks. */
struct added_profile {
	struct stacks *stacks;
	struct profile *profile;
	enum stacks_side side;
	struct known_frame *known; /* by the profile's string id */
	size_t n_known, known_capacity;
	struct matcher base;
	uint32_t *ids; /* of the latest sample, as unfolded */
	size_t ids_capacity;
	bool leaves_idle_out;
};

int stacks_init(struct stacks *stacks, const struct stacks_options *options)
{
	*stacks = (struct stacks){.options = *options};
	return strings_init(&stacks->strings);
}

void stacks_done(struct stacks *stacks)
{
	strings_done(&stacks->strings);
	free(stacks->frames);
	table_done(&stacks->frame_index);
	free(stacks->ids);
	free(stacks->entries);
	*stacks = (struct stacks){};
}

static bool frame_equal(const void *items, uint32_t position, const void *key)
{
	const struct stacks_frame *a = (const struct stacks_frame *)items + position, *b = key;

	return a->name == b->name && a->module == b->module && a->kind == b->kind &&
	       a->is_waker == b->is_waker;
}

static int add_frame(struct stacks *stacks, const struct stacks_frame *frame, uint32_t *ret)
{
	uint64_t hash = hash_mix((uint64_t)frame->name << 32 | frame->module,
				 frame->kind << 1 | frame->is_waker);
	int r = table_intern(&stacks->frame_index, hash, frame_equal, stacks->frames,
			     stacks->frames_capacity, stacks->n_frames, frame, ret);

	if (r < 0)
		return r;
	return *ret < MAX_FRAMES ? 0 : -E2BIG;
}

/* A mapping's name as the module of its code; "" if unknown. */
static const char *module_name(const struct profile *profile, uint32_t mapping)
{
	const char *path, *slash;

	if (mapping == MAPPING_NONE)
		return "";
	switch (profile->mappings[mapping].kind) {
	case MAPPING_KERNEL: return "[kernel]";
	case MAPPING_VDSO: return "[vdso]";
	case MAPPING_ANON: return "[anon]";
	default: break;
	}
	path = strings_get(&profile->strings, profile->mappings[mapping].path);
	slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static int name_frame(struct added_profile *added, const struct named_frame *named, uint32_t *ret)
{
	struct stacks *stacks = added->stacks;
	const struct strings *names = &added->profile->strings;
	struct stacks_frame frame = {.kind = named->kind, .is_waker = named->is_waker};
	const char *name = named->name ? strings_get(names, named->name) : "[unknown]";
	const char *module =
		stacks->options.merge_modules ? "" : module_name(added->profile, named->mapping);
	/* Others have a suffix, or are marks. */
	int r = (named->kind == FRAME_USER ? marks_add_function : strings_add)(&stacks->strings,
									       name, &frame.name);

	if (r < 0)
		return r;
	r = strings_add(&stacks->strings, module, &frame.module);
	if (r < 0)
		return r;
	return add_frame(stacks, &frame, ret);
}

/* Extends @known: reading adds names to the profile. */
static int know_more(struct added_profile *added)
{
	size_t n = added->n_known, wanted = added->profile->strings.n_strings;
	int r = array_reserve(added->known, added->known_capacity, n, wanted - n);

	if (r < 0)
		return r;
	memset(added->known + n, 0, (wanted - n) * sizeof *added->known);
	added->n_known = wanted;
	return 0;
}

static int find_frame(struct added_profile *added, const struct named_frame *named, uint32_t *ret)
{
	const struct known_frame *known = &added->known[named->name];
	uint32_t frame;
	int r;

	if (named->name < added->n_known && known->is_set && known->mapping == named->mapping &&
	    known->kind == named->kind && known->is_waker == named->is_waker) {
		*ret = known->frame;
		return 0;
	}
	r = name_frame(added, named, &frame);
	if (r < 0)
		return r;
	if (named->name >= added->n_known) {
		r = know_more(added);
		if (r < 0)
			return r;
	}
	added->known[named->name] =
		(struct known_frame){named->mapping, frame, named->kind, named->is_waker, true};
	*ret = frame;
	return 0;
}

/* Where the part of the stack to show begins: an index, or an error. */
static int find_base(struct added_profile *added, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; added->base.is_set && i < n; i++) {
		int r = matcher_test(&added->base, ids[i], stacks_name(added->stacks, ids[i]));

		if (r != 0)
			return r < 0 ? r : (int)i;
	}
	return 0;
}

static void reverse(uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t id = ids[i];

		ids[i] = ids[n - 1 - i];
		ids[n - 1 - i] = id;
	}
}

static size_t merge_neighbours(uint32_t *ids, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (kept == 0 || ids[kept - 1] != ids[i])
			ids[kept++] = ids[i];
	return kept;
}

static enum stacks_side side_of(const struct added_profile *added,
				const struct profile_sample *sample)
{
	if (added->profile->mode == PROFILE_WALL && !added->stacks->is_comparison)
		return sample->reason == REASON_ONCPU || sample->reason == REASON_NONE
			       ? SIDE_RUNNING
			       : SIDE_WAITING;
	return added->side;
}

static uint64_t weight_of(const struct profile *profile, const struct profile_sample *sample)
{
	bool by_samples = profile->mode == PROFILE_ONCPU && !profile_is_counted(profile);

	return by_samples ? sample->count : sample->nanoseconds;
}

/*
 * Samples come by chance, each alone; a counted event's weight comes by as many chances. Of a
 * stack's waits, the number and the sum are known: for exponential lengths, the sum of their
 * squares is this.
 */
static double variance_of(const struct profile *profile, const struct profile_sample *sample)
{
	double time = sample->nanoseconds; /* or events */

	if (profile_is_unsampled(profile))
		return 0;
	if (profile_is_counted(profile))
		return time * time / (sample->count ? sample->count : 1);
	if (profile->mode == PROFILE_ONCPU)
		return sample->count;
	return 2 * time * time / ((sample->count ? sample->count : 1) + 1.0);
}

/* What a new name is looked up in is fetched for all of a stack first, see table_fetch(). */
static void fetch_names(const struct added_profile *added, const struct unfolder *unfolder)
{
	const struct strings *names = &added->profile->strings;

	for (size_t i = unfolder->n_same; i < unfolder->n; i++) {
		uint32_t name = unfolder->frames[i].name;

		if (name < added->n_known && !added->known[name].is_set)
			strings_fetch(&added->stacks->strings, strings_get(names, name),
				      strings_length(names, name));
	}
}

/* Frames shared with the previous sample are known already. */
static int find_frames(struct added_profile *added, const struct unfolder *unfolder)
{
	int r = array_reserve(added->ids, added->ids_capacity, 0, unfolder->n);

	if (r < 0)
		return r;
	fetch_names(added, unfolder);
	for (size_t i = unfolder->n_same; i < unfolder->n; i++) {
		r = find_frame(added, &unfolder->frames[i], &added->ids[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Adds the latest ids as the options require. */
static int add_ids(struct added_profile *added, size_t n, size_t n_kept, uint32_t *ret_n)
{
	struct stacks *stacks = added->stacks;
	const struct stacks_options *options = &stacks->options;
	uint32_t *ids;
	int r = array_reserve(stacks->ids, stacks->ids_capacity, stacks->n_ids, n), base;

	if (r < 0)
		return r;
	base = find_base(added, added->ids, n);
	if (base < 0)
		return base;
	ids = stacks->ids + stacks->n_ids;
	n -= base;
	if (n)
		memcpy(ids, added->ids + base, n * sizeof *ids);
	if (base)
		n_kept = 0;
	if (options->merge_recursion)
		n = merge_neighbours(ids, n);
	if (options->reverse)
		reverse(ids + n_kept, n - n_kept);
	*ret_n = n;
	return 0;
}

static int add_sample(struct added_profile *added, const struct profile_sample *sample,
		      struct unfolder *unfolder)
{
	struct stacks *stacks = added->stacks;
	/* [idle] comes first. */
	size_t n_kept = stacks->options.unfold.fold_idle && sample->is_idle;
	struct stacks_entry entry = {.first = stacks->n_ids,
				     .side = side_of(added, sample),
				     .weight = weight_of(added->profile, sample),
				     .variance = variance_of(added->profile, sample)};
	uint64_t sum;
	int r = unfolder_next(unfolder, sample);

	if (r < 0)
		return r;
	r = find_frames(added, unfolder);
	/* The next sample may share frames with this one, even if it is not added. */
	if (r < 0 || !entry.weight)
		return r;
	if (__builtin_add_overflow(stacks->totals[0] + stacks->totals[1], entry.weight, &sum))
		return -EOVERFLOW;
	r = array_reserve(stacks->entries, stacks->entries_capacity, stacks->n_entries, 1);
	if (r < 0)
		return r;
	r = add_ids(added, unfolder->n, n_kept, &entry.n);
	if (r < 0)
		return r;
	stacks->n_ids += entry.n;
	stacks->entries[stacks->n_entries++] = entry;
	stacks->totals[entry.side] += entry.weight;
	return 0;
}

/* Whether to leave @sample out; counts it if so. */
static bool leave_out(const struct added_profile *added, const struct profile_sample *sample)
{
	if (!added->leaves_idle_out || !sample->is_idle)
		return false;
	added->stacks->idle += weight_of(added->profile, sample);
	return true;
}

/* Whether anything would be left. */
static bool has_others(const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_samples; i++)
		if (!profile->samples[i].is_idle)
			return true;
	return false;
}

static int add_samples(struct added_profile *added)
{
	struct profile *profile = added->profile;
	struct unfolder unfolder = {.profile = profile, .options = &added->stacks->options.unfold};
	int r = 0;

	added->leaves_idle_out = added->stacks->options.no_idle && has_others(profile);
	for (size_t i = 0; i < profile->n_samples && r == 0; i++)
		if (!leave_out(added, &profile->samples[i]))
			r = add_sample(added, &profile->samples[i], &unfolder);
	unfolder_done(&unfolder);
	return r;
}

/* The first profile of a side sets the facts; later ones add their time. */
static int add_side_facts(struct added_profile *added)
{
	const struct profile *profile = added->profile;
	struct stacks *stacks = added->stacks;
	struct stacks_facts *facts = &stacks->facts[added->side];
	const struct profile_event *event = profile_event(profile);
	const struct {
		uint32_t from, *to;
	} texts[] = {
		{profile->command_line, &facts->command_line},
		{profile->host, &facts->host},
		{profile->kernel, &facts->kernel},
		{event ? event->name : 0, &facts->event},
		{event ? event->unit : 0, &facts->unit},
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		int r = *texts[i].to ? 0
				     : strings_add(&stacks->strings,
						   strings_get(&profile->strings, texts[i].from),
						   texts[i].to);

		if (r < 0)
			return r;
	}
	facts->mode = profile->mode;
	facts->is_counted = profile_is_counted(profile);
	facts->is_unsampled |= facts->is_counted && event->is_unsampled;
	facts->period = event ? event->period : 0;
	facts->by_thread = unfold_threads(profile, &stacks->options.unfold);
	if (!facts->start_realtime_ns)
		facts->start_realtime_ns = profile->start_realtime_ns;
	facts->duration_ns += profile->duration_ns;
	if (profile->frequency > 0)
		facts->frequency = profile->frequency;
	return 0;
}

const char *stacks_unit(const struct stacks *stacks)
{
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];

	if (facts->mode != PROFILE_ONCPU)
		return "nanoseconds";
	if (!facts->is_counted)
		return "samples";
	return strings_get(&stacks->strings, facts->unit ? facts->unit : facts->event);
}

bool stacks_is_time(const struct stacks *stacks)
{
	return strcmp(stacks_unit(stacks), "nanoseconds") == 0;
}

static int add_profile(struct added_profile *added)
{
	int r = know_more(added);

	if (r < 0)
		return r;
	r = add_side_facts(added);
	if (r < 0)
		return r;
	return add_samples(added);
}

int stacks_add(struct stacks *stacks, struct profile *profile, enum stacks_side side)
{
	struct added_profile added = {.stacks = stacks, .profile = profile, .side = side};
	int r;

	if (side == SIDE_BASE)
		stacks->is_comparison = true;
	r = matcher_init(&added.base, stacks->options.base);
	if (r < 0)
		return r;
	r = add_profile(&added);
	free(added.known);
	free(added.ids);
	matcher_done(&added.base);
	return r;
}

/* The keys that frames are sorted by. */
struct order_keys {
	const struct stacks *stacks;
	char *text; /* of all frames as in folded lines, each with its `;`: "name_[k];" */
	size_t *at; /* by frame: where its text begins */
};

static int make_order_keys(const struct stacks *stacks, struct order_keys *ret)
{
	size_t n = stacks->n_frames, size = 1, at = 0;
	struct order_keys keys = {stacks};

	for (size_t i = 0; i < n; i++)
		size += strings_length(&stacks->strings, stacks->frames[i].name) + sizeof "_[k];";
	keys.text = malloc(size);
	keys.at = calloc(n + 1, sizeof *keys.at);
	if (!keys.text || !keys.at) {
		free(keys.text);
		free(keys.at);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		char *end = stpcpy(keys.text + at, stacks_name(stacks, i));

		keys.at[i] = at;
		end = stpcpy(end, frame_kind_suffix(stacks->frames[i].kind));
		at = stpcpy(end, ";") + 1 - keys.text;
	}
	*ret = keys;
	return 0;
}

/*
 * Files of folded lines are sorted: the numbers are in this order already, and there is nothing to
 * do.
 */
static int compare_frames(const void *a, const void *b, void *data)
{
	const struct order_keys *keys = data;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct stacks_frame *x = &keys->stacks->frames[i], *y = &keys->stacks->frames[k];
	int order = strcmp(keys->text + keys->at[i], keys->text + keys->at[k]);

	if (order != 0)
		return order;
	if (x->kind != y->kind || x->is_waker != y->is_waker)
		return (x->kind << 1 | x->is_waker) - (y->kind << 1 | y->is_waker);
	return strcmp(strings_get(&keys->stacks->strings, x->module),
		      strings_get(&keys->stacks->strings, y->module));
}

/* Numbers frames by their place in the order, so that readers only compare numbers. */
static int number_frames(struct stacks *stacks)
{
	size_t n = stacks->n_frames;
	_cleanup_free_ struct stacks_frame *frames = calloc(n + 1, sizeof *frames);
	_cleanup_free_ uint32_t *order = calloc(n + 1, sizeof *order);
	_cleanup_free_ uint32_t *numbers = calloc(n + 1, sizeof *numbers);
	struct order_keys keys;
	int r;

	if (!frames || !order || !numbers)
		return -ENOMEM;
	r = make_order_keys(stacks, &keys);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof *order, compare_frames, &keys);
	free(keys.text);
	free(keys.at);
	for (size_t i = 0; i < n; i++) {
		numbers[order[i]] = i;
		frames[i] = stacks->frames[order[i]];
	}
	for (size_t i = 0; i < stacks->n_ids; i++)
		stacks->ids[i] = numbers[stacks->ids[i]];
	free(stacks->frames);
	stacks->frames = frames;
	stacks->frames_capacity = n + 1;
	frames = NULL;
	/* It holds the old numbers, and nothing is added after this. */
	table_done(&stacks->frame_index);
	return 0;
}

/* Floor of @weight × 2^52 / @total, exact. */
static uint64_t scaled(uint64_t weight, uint64_t total)
{
	return (unsigned __int128)weight * STACKS_SIDE_WIDTH / total;
}

static void set_widths(struct stacks *stacks, enum stacks_scale scale)
{
	bool is_scaled = stacks->is_comparison && scale == SCALE_NORMALIZED;

	stacks->scale = scale;
	for (size_t i = 0; i < stacks->n_entries; i++) {
		struct stacks_entry *entry = &stacks->entries[i];

		entry->width = is_scaled ? scaled(entry->weight, stacks->totals[entry->side])
					 : entry->weight;
		stacks->width += entry->width;
	}
}

int stacks_finish(struct stacks *stacks, enum stacks_scale scale)
{
	const uint32_t *ranks[2];
	uint32_t *identity;
	int r = number_frames(stacks);

	if (r < 0)
		return r;
	set_widths(stacks, scale);
	if (stacks->options.in_order)
		return 0;
	identity = calloc(stacks->n_frames + 1, sizeof *identity);
	if (!identity)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->n_frames; i++)
		identity[i] = i;
	ranks[0] = ranks[1] = identity;
	stacks_sort(stacks, ranks);
	free(identity);
	return 0;
}

bool stacks_is_mark(const struct stacks *stacks, uint32_t frame, enum mark mark)
{
	return stacks->frames[frame].kind == FRAME_NOTE && !stacks->frames[frame].is_waker &&
	       strcmp(stacks_name(stacks, frame), mark_text(mark)) == 0;
}
