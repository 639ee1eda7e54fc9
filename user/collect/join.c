/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/join.h"

#include <errno.h>
#include <stdlib.h>

/* The index in @to of each index in @from. */
struct joint {
	struct profile *to;
	const struct profile *from;
	uint32_t *mappings;
	uint32_t *locations, *stacks, *wakers;
	uint32_t *scratch; /* for one stack's locations */
};

static int join_string(struct joint *joint, uint32_t *id)
{
	const struct strings *strings = &joint->from->strings;

	return strings_add_bytes(&joint->to->strings, strings_get(strings, *id),
				 strings_length(strings, *id), id);
}

static int join_mappings(struct joint *joint)
{
	for (size_t i = 0; i < joint->from->n_mappings; i++) {
		struct profile_mapping mapping = joint->from->mappings[i];
		int r = join_string(joint, &mapping.path);

		if (r < 0)
			return r;
		r = join_string(joint, &mapping.build_id);
		if (r < 0)
			return r;
		r = profile_add_mapping(joint->to, &mapping, &joint->mappings[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int join_locations(struct joint *joint)
{
	for (size_t i = 0; i < joint->from->n_locations; i++) {
		const struct profile_location *location = &joint->from->locations[i];
		int r = profile_add_location(joint->to, joint->mappings[location->mapping],
					     location->address, location->is_return,
					     &joint->locations[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int join_stacks(struct joint *joint)
{
	for (size_t i = 0; i < joint->from->n_stacks; i++) {
		const struct profile_stack *stack = &joint->from->stacks[i];
		int r;

		for (uint32_t k = 0; k < stack->n; k++)
			joint->scratch[k] =
				joint->locations[joint->from->stack_locations[stack->first + k]];
		r = profile_add_stack(joint->to, joint->scratch, stack->n, stack->end,
				      &joint->stacks[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A waker's next has a lower index: chains grow from their far end. */
static int join_wakers(struct joint *joint)
{
	joint->wakers[0] = 0;
	for (size_t i = 1; i < joint->from->n_wakers; i++) {
		struct profile_waker waker = joint->from->wakers[i];
		int r = join_string(joint, &waker.comm);

		if (r < 0)
			return r;
		waker.stack = joint->stacks[waker.stack];
		waker.next = joint->wakers[waker.next];
		r = profile_add_waker(joint->to, &waker, &joint->wakers[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int join_samples(struct joint *joint)
{
	for (size_t i = 0; i < joint->from->n_samples; i++) {
		struct profile_sample sample = joint->from->samples[i];
		int r = join_string(joint, &sample.comm);

		if (r < 0)
			return r;
		sample.stack = joint->stacks[sample.stack];
		sample.waker = joint->wakers[sample.waker];
		r = profile_add_sample(joint->to, &sample);
		if (r < 0)
			return r;
	}
	return 0;
}

static int join_all(struct joint *joint)
{
	int r = join_mappings(joint);

	if (r < 0)
		return r;
	r = join_locations(joint);
	if (r < 0)
		return r;
	r = join_stacks(joint);
	if (r < 0)
		return r;
	r = join_wakers(joint);
	if (r < 0)
		return r;
	return join_samples(joint);
}

int profile_join(struct profile *to, const struct profile *from, uint32_t *mappings)
{
	struct joint joint = {
		.to = to,
		.from = from,
		.mappings = mappings,
		.locations = calloc(from->n_locations + 1, sizeof(uint32_t)),
		.stacks = calloc(from->n_stacks + 1, sizeof(uint32_t)),
		.wakers = calloc(from->n_wakers + 1, sizeof(uint32_t)),
		.scratch = calloc(from->n_stack_locations + 1, sizeof(uint32_t)),
	};
	int r = joint.locations && joint.stacks && joint.wakers && joint.scratch ? join_all(&joint)
										 : -ENOMEM;

	free(joint.locations);
	free(joint.stacks);
	free(joint.wakers);
	free(joint.scratch);
	if (r < 0)
		return r;
	to->duration_ns += from->duration_ns;
	return 0;
}
