/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int init(struct profile *profile)
{
	int r = strings_init(&profile->strings);

	if (r < 0)
		return r;
	/* Waker 0 means none. */
	r = array_add(profile->wakers, profile->wakers_capacity, profile->n_wakers,
		      (struct profile_waker){0});
	if (r < 0)
		return r;
	/* Allocate even when empty: callers do pointer arithmetic on these arrays. */
	r = array_reserve(profile->stack_locations, profile->stack_locations_capacity, 0, 1);
	if (r < 0)
		return r;
	return array_reserve(profile->frames, profile->frames_capacity, 0, 1);
}

int profile_new(enum profile_mode mode, struct profile **ret)
{
	struct profile *profile = calloc(1, sizeof *profile);
	int r;

	if (!profile)
		return -ENOMEM;
	profile->mode = mode;
	r = init(profile);
	if (r < 0) {
		profile_free(profile);
		return r;
	}
	*ret = profile;
	return 0;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	strings_done(&profile->strings);
	free(profile->mappings);
	free(profile->frames);
	free(profile->locations);
	free(profile->stack_locations);
	free(profile->stacks);
	free(profile->samples);
	free(profile->wakers);
	extras_done(&profile->extras);
	table_done(&profile->mapping_index);
	table_done(&profile->location_index);
	table_done(&profile->stack_index);
	table_done(&profile->sample_index);
	table_done(&profile->waker_index);
	free(profile);
}

static bool mapping_equal(const void *items, uint32_t position, const void *key)
{
	const struct profile_mapping *a = (const struct profile_mapping *)items + position,
				     *b = key;

	return a->kind == b->kind && a->path == b->path && a->build_id == b->build_id &&
	       a->device == b->device && a->inode == b->inode && a->version == b->version &&
	       a->start == b->start && a->limit == b->limit && a->offset == b->offset &&
	       a->pid == b->pid && a->exec_id == b->exec_id &&
	       a->process_start == b->process_start && a->file == b->file;
}

int profile_add_mapping(struct profile *profile, const struct profile_mapping *mapping,
			uint32_t *ret_mapping)
{
	uint64_t hash = mapping->kind;

	hash = hash_mix(hash, (uint64_t)mapping->path << 32 | mapping->build_id);
	hash = hash_mix(hash, mapping->device);
	hash = hash_mix(hash, mapping->inode);
	hash = hash_mix(hash, mapping->version);
	hash = hash_mix(hash, mapping->start);
	hash = hash_mix(hash, mapping->limit);
	hash = hash_mix(hash, mapping->offset);
	hash = hash_mix(hash, (uint64_t)mapping->pid << 32 | mapping->exec_id);
	hash = hash_mix(hash, mapping->process_start);
	return table_intern(&profile->mapping_index, hash, mapping_equal, profile->mappings,
			    profile->mappings_capacity, profile->n_mappings, mapping, ret_mapping);
}

static bool location_equal(const void *items, uint32_t position, const void *key)
{
	const struct profile_location *a = (const struct profile_location *)items + position;
	const struct profile_location *b = key;

	return a->mapping == b->mapping && a->address == b->address &&
	       a->is_return == b->is_return && !a->is_named;
}

static int append_location(struct profile *profile, const struct profile_location *location,
			   uint64_t hash, uint32_t *ret_location)
{
	int r;

	if (profile->n_locations >= TABLE_NONE)
		return -E2BIG;
	r = array_reserve(profile->locations, profile->locations_capacity, profile->n_locations, 1);
	if (r < 0)
		return r;
	r = table_add(&profile->location_index, hash, profile->n_locations);
	if (r < 0)
		return r;
	*ret_location = profile->n_locations;
	profile->locations[profile->n_locations++] = *location;
	return 0;
}

int profile_add_location(struct profile *profile, uint32_t mapping, uint64_t address,
			 bool is_return, uint32_t *ret_location)
{
	struct profile_location location = {
		.mapping = mapping, .address = address, .is_return = is_return};
	uint64_t hash = hash_mix(hash_mix(mapping, address), is_return);
	uint32_t found;
	int r;

	found = table_find(&profile->location_index, hash, location_equal, profile->locations,
			   &location);
	if (found == TABLE_NONE) {
		r = append_location(profile, &location, hash, &found);
		if (r < 0)
			return r;
	}
	*ret_location = found;
	return 0;
}

struct named_key {
	const struct profile *profile;
	const struct profile_frame *frames;
	uint32_t mapping, n;
};

static bool named_equal(const void *items, uint32_t position, const void *key)
{
	const struct profile_location *location = (const struct profile_location *)items + position;
	const struct named_key *k = key;

	if (!location->is_named || location->mapping != k->mapping || location->n_frames != k->n)
		return false;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct profile_frame *a = &k->profile->frames[location->first_frame + i];
		const struct profile_frame *b = &k->frames[i];

		if (a->kind != b->kind || a->function != b->function || a->file != b->file ||
		    a->line != b->line || a->detail != b->detail)
			return false;
	}
	return true;
}

static int append_named(struct profile *profile, const struct named_key *key, uint64_t hash,
			uint32_t *ret_location)
{
	struct profile_location location = {.mapping = key->mapping, .is_named = true};
	uint32_t id;
	int r = array_reserve(profile->frames, profile->frames_capacity, profile->n_frames, key->n);

	if (r < 0)
		return r;
	if (profile->n_frames + key->n > TABLE_NONE)
		return -E2BIG;
	r = append_location(profile, &location, hash, &id);
	if (r < 0)
		return r;
	/* Can't fail: the room is reserved. */
	profile_set_frames(profile, id, key->frames, key->n);
	*ret_location = id;
	return 0;
}

int profile_add_named(struct profile *profile, uint32_t mapping, const struct profile_frame *frames,
		      uint32_t n, uint32_t *ret_location)
{
	struct named_key key = {profile, frames, mapping, n};
	uint64_t hash = hash_mix(mapping, n);
	uint32_t found;

	for (uint32_t i = 0; i < n; i++) {
		hash = hash_mix(hash, (uint64_t)frames[i].function << 32 | frames[i].kind);
		hash = hash_mix(hash, (uint64_t)frames[i].file << 32 | frames[i].line);
	}
	found = table_find(&profile->location_index, hash, named_equal, profile->locations, &key);
	if (found == TABLE_NONE)
		return append_named(profile, &key, hash, ret_location);
	*ret_location = found;
	return 0;
}

struct stack_key {
	const struct profile *profile;
	const uint32_t *locations;
	uint32_t n;
	enum stack_end end;
};

static bool stack_equal(const void *items, uint32_t position, const void *key)
{
	const struct profile_stack *stack = (const struct profile_stack *)items + position;
	const struct stack_key *k = key;

	return stack->n == k->n && stack->end == k->end &&
	       (k->n == 0 || memcmp(k->profile->stack_locations + stack->first, k->locations,
				    k->n * sizeof *k->locations) == 0);
}

static uint64_t hash_stack(const uint32_t *locations, uint32_t n, enum stack_end end)
{
	return hash_mix(n ? hash_bytes(locations, n * sizeof *locations) : 0, end);
}

int profile_append_stack(struct profile *profile, const uint32_t *locations, uint32_t n,
			 enum stack_end end, uint32_t *ret_stack)
{
	int r;

	if (profile->n_stacks >= TABLE_NONE)
		return -E2BIG;
	r = array_reserve(profile->stacks, profile->stacks_capacity, profile->n_stacks, 1);
	if (r < 0)
		return r;
	r = array_reserve(profile->stack_locations, profile->stack_locations_capacity,
			  profile->n_stack_locations, n);
	if (r < 0)
		return r;
	if (n)
		memcpy(profile->stack_locations + profile->n_stack_locations, locations,
		       n * sizeof *locations);
	*ret_stack = profile->n_stacks;
	profile->stacks[profile->n_stacks++] =
		(struct profile_stack){.first = profile->n_stack_locations, .n = n, .end = end};
	profile->n_stack_locations += n;
	return 0;
}

/* Indexes stacks that were appended without a lookup. */
static int index_stacks(struct profile *profile)
{
	struct table *index = &profile->stack_index;

	while (index->n_used < profile->n_stacks) {
		const struct profile_stack *stack = &profile->stacks[index->n_used];
		uint64_t hash =
			hash_stack(profile->stack_locations + stack->first, stack->n, stack->end);
		int r = table_add(index, hash, index->n_used);

		if (r < 0)
			return r;
	}
	return 0;
}

int profile_add_stack(struct profile *profile, const uint32_t *locations, uint32_t n,
		      enum stack_end end, uint32_t *ret_stack)
{
	struct stack_key key = {profile, locations, n, end};
	uint64_t hash = hash_stack(locations, n, end);
	uint32_t found;
	int r = index_stacks(profile);

	if (r < 0)
		return r;
	found = table_find(&profile->stack_index, hash, stack_equal, profile->stacks, &key);
	if (found == TABLE_NONE) {
		r = profile_append_stack(profile, locations, n, end, &found);
		if (r < 0)
			return r;
		r = table_add(&profile->stack_index, hash, found);
		if (r < 0) {
			profile->n_stacks--;
			profile->n_stack_locations -= n;
			return r;
		}
	}
	*ret_stack = found;
	return 0;
}

static bool waker_equal(const void *items, uint32_t position, const void *key)
{
	const struct profile_waker *a = (const struct profile_waker *)items + position, *b = key;

	return a->stack == b->stack && a->comm == b->comm && a->pid == b->pid && a->tid == b->tid &&
	       a->is_interrupt == b->is_interrupt && a->next == b->next;
}

int profile_add_waker(struct profile *profile, const struct profile_waker *waker,
		      uint32_t *ret_waker)
{
	uint64_t hash = waker->is_interrupt;

	hash = hash_mix(hash, (uint64_t)waker->stack << 32 | waker->comm);
	hash = hash_mix(hash, (uint64_t)waker->pid << 32 | waker->tid);
	hash = hash_mix(hash, waker->next);
	return table_intern(&profile->waker_index, hash, waker_equal, profile->wakers,
			    profile->wakers_capacity, profile->n_wakers, waker, ret_waker);
}

static bool sample_equal(const void *items, uint32_t position, const void *key)
{
	const struct profile_sample *a = (const struct profile_sample *)items + position, *b = key;

	return a->stack == b->stack && a->comm == b->comm && a->pid == b->pid && a->tid == b->tid &&
	       a->reason == b->reason && a->waker == b->waker && a->is_idle == b->is_idle &&
	       a->labels == b->labels && a->event == b->event;
}

static uint64_t hash_sample(const struct profile_sample *sample)
{
	uint64_t hash = sample->event << 8 | sample->reason << 1 | sample->is_idle;

	hash = hash_mix(hash, (uint64_t)sample->stack << 32 | sample->comm);
	hash = hash_mix(hash, (uint64_t)sample->pid << 32 | sample->tid);
	return hash_mix(hash, (uint64_t)sample->labels << 32 | sample->waker);
}

/*
 * Most stacks have one sample. It is found through its stack, without a lookup in a table that is
 * larger than any cache.
 */
static uint32_t find_sample(const struct profile *profile, const struct profile_sample *sample,
			    uint64_t hash)
{
	uint32_t first = profile->stacks[sample->stack].sample;
	size_t n = profile->n_samples;

	if (profile->in_order)
		return n && sample_equal(profile->samples, n - 1, sample) ? n - 1 : TABLE_NONE;
	if (!first || sample_equal(profile->samples, first - 1, sample))
		return first ? first - 1 : TABLE_NONE;
	return table_find(&profile->sample_index, hash, sample_equal, profile->samples, sample);
}

static int index_sample(struct profile *profile, uint64_t hash, uint32_t stack, uint32_t position)
{
	if (profile->in_order)
		return 0;
	if (profile->stacks[stack].sample)
		return table_add(&profile->sample_index, hash, position);
	profile->stacks[stack].sample = position + 1;
	return 0;
}

/* Keeps extra values only if both samples have them. */
static void add_up_values(struct profile *profile, struct profile_sample *to,
			  const struct profile_sample *sample)
{
	if (to->values && sample->values)
		extras_add_up(&profile->extras, to->values, sample->values);
	else
		to->values = 0;
}

int profile_add_sample(struct profile *profile, const struct profile_sample *sample)
{
	uint64_t hash = hash_sample(sample);
	uint32_t found = find_sample(profile, sample, hash);
	int r;

	if (found != TABLE_NONE) {
		profile->samples[found].count += sample->count;
		profile->samples[found].nanoseconds += sample->nanoseconds;
		profile->samples[found].waits += sample->waits;
		add_up_values(profile, &profile->samples[found], sample);
		return 0;
	}
	if (profile->n_samples >= TABLE_NONE)
		return -E2BIG;
	r = array_reserve(profile->samples, profile->samples_capacity, profile->n_samples, 1);
	if (r < 0)
		return r;
	r = index_sample(profile, hash, sample->stack, profile->n_samples);
	if (r < 0)
		return r;
	profile->samples[profile->n_samples++] = *sample;
	return 0;
}

int profile_index_samples(struct profile *profile)
{
	table_done(&profile->sample_index);
	for (size_t i = 0; i < profile->n_stacks; i++)
		profile->stacks[i].sample = 0;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		int r = index_sample(profile, hash_sample(sample), sample->stack, i);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Moves the hidden samples back next to the others. */
static void join_hidden(struct profile *profile)
{
	if (profile->n_hidden)
		memmove(profile->samples + profile->n_samples,
			profile->samples + profile->hidden_samples,
			profile->n_hidden * sizeof *profile->samples);
	profile->n_samples += profile->n_hidden;
	profile->n_hidden = 0;
}

void profile_show_event(struct profile *profile, uint32_t event)
{
	size_t shown = 0;

	join_hidden(profile);
	for (size_t i = 0; i < profile->n_samples; i++) {
		struct profile_sample sample = profile->samples[i];

		if (sample.event != event)
			continue;
		profile->samples[i] = profile->samples[shown];
		profile->samples[shown++] = sample;
	}
	profile->hidden_samples = shown;
	profile->n_hidden = profile->n_samples - shown;
	profile->n_samples = shown;
	profile->event = event;
	if (profile->n_events)
		profile->frequency = profile->events[event].frequency;
}

const struct profile_event *profile_event(const struct profile *profile)
{
	return profile->n_events ? &profile->events[profile->event] : NULL;
}

int profile_set_frames(struct profile *profile, uint32_t location,
		       const struct profile_frame *frames, uint32_t n)
{
	int r = array_reserve(profile->frames, profile->frames_capacity, profile->n_frames, n);

	if (r < 0)
		return r;
	if (profile->n_frames + n > TABLE_NONE)
		return -E2BIG;
	memcpy(profile->frames + profile->n_frames, frames, n * sizeof *frames);
	profile->locations[location].first_frame = profile->n_frames;
	profile->locations[location].n_frames = n;
	profile->n_frames += n;
	return 0;
}
