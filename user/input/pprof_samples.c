/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/pprof_samples.h"

#include <string.h>

#include "base/array.h"
#include "base/huge_pages.h"
#include "core/pprof_fields.h"
#include "input/pprof_wire.h"

#define BLOCK_LOCATIONS ((size_t)1 << 20)

/* The values of a sample that is being read. */
struct values {
	uint64_t items[PPROF_MAX_VALUES];
	size_t n;
};

int pprof_samples_init(struct pprof_samples *samples, bool in_order)
{
	int r;

	*samples = (struct pprof_samples){.in_order = in_order};
	r = strings_init(&samples->labels);
	if (r < 0)
		return r;
	/* Keeps the pointers valid even if there are none. */
	r = array_reserve(samples->locations, samples->locations_capacity, 0, 1);
	if (r < 0)
		return r;
	return array_reserve(samples->label_bytes, samples->label_bytes_capacity, 0, 1);
}

void pprof_samples_done(struct pprof_samples *samples)
{
	pprof_samples_close(samples);
	pprof_ids_done(&samples->location_ids);
	for (size_t i = 0; i < samples->n_blocks; i++)
		free(samples->blocks[i].locations);
	free(samples->blocks);
	free(samples->stacks);
	strings_done(&samples->labels);
	free(samples->items);
	free(samples->values);
}

void pprof_samples_close(struct pprof_samples *samples)
{
	table_done(&samples->stack_index);
	table_done(&samples->index);
	table_done(&samples->labels.index);
	free(samples->locations);
	free(samples->label_bytes);
	samples->locations = NULL;
	samples->label_bytes = NULL;
}

void pprof_samples_release(struct pprof_samples *samples, size_t i)
{
	struct pprof_block *block =
		&samples->blocks[samples->stacks[samples->items[i].stack].block];

	if (--block->n_left)
		return;
	free(block->locations);
	block->locations = NULL;
}

/* Reading one sample */

static int add_location(struct pprof_samples *samples, uint64_t id, uint64_t at,
			const char **ret_fault)
{
	uint32_t number = pprof_ids_find(&samples->location_ids, id);
	int r = 0;

	if (number == PPROF_UNSET) {
		if (!id) {
			*ret_fault = "a sample refers to location 0, which is not a valid id";
			return -EINVAL;
		}
		r = pprof_ids_add(&samples->location_ids, id, at, &number);
		if (r < 0)
			return r;
	}
	if (samples->n_locations == samples->locations_capacity)
		r = array_reserve(samples->locations, samples->locations_capacity,
				  samples->n_locations, 1);
	if (r < 0)
		return r;
	samples->locations[samples->n_locations++] = number;
	return 0;
}

/* @field: one number, or several packed ones. */
static int add_locations(struct pprof_samples *samples, const struct wire_field *field, uint64_t at,
			 const char **ret_fault)
{
	struct wire wire = {field->bytes, field->bytes + field->value};
	uint64_t id;
	int r = 0;

	if (field->type == WIRE_NUMBER)
		return add_location(samples, field->value, at, ret_fault);
	while (wire.at < wire.end && r == 0) {
		if (!wire_varint(&wire, &id)) {
			*ret_fault = "a location of a sample is not a number";
			return -EINVAL;
		}
		r = add_location(samples, id, at, ret_fault);
	}
	return r;
}

static int add_value(struct values *values, uint64_t value, const char **ret_fault)
{
	if (values->n == PPROF_MAX_VALUES) {
		*ret_fault = "a sample has more than 64 values";
		return -EINVAL;
	}
	values->items[values->n++] = value;
	return 0;
}

static int add_values(struct values *values, const struct wire_field *field, const char **ret_fault)
{
	struct wire wire = {field->bytes, field->bytes + field->value};
	uint64_t value;
	int r = 0;

	if (field->type == WIRE_NUMBER)
		return add_value(values, field->value, ret_fault);
	while (wire.at < wire.end && r == 0) {
		if (!wire_varint(&wire, &value)) {
			*ret_fault = "a value of a sample is not a number";
			return -EINVAL;
		}
		r = add_value(values, value, ret_fault);
	}
	return r;
}

/* Keeps labels undecoded, field by field. */
static int add_label(struct pprof_samples *samples, const struct wire_field *field)
{
	size_t n = field->bytes + field->value - field->start;
	int r = array_reserve(samples->label_bytes, samples->label_bytes_capacity,
			      samples->n_label_bytes, n);

	if (r < 0)
		return r;
	memcpy(samples->label_bytes + samples->n_label_bytes, field->start, n);
	samples->n_label_bytes += n;
	return 0;
}

static int read_field(struct pprof_samples *samples, const struct wire_field *field, uint64_t at,
		      struct values *values, const char **ret_fault)
{
	bool is_numbers = field->type == WIRE_NUMBER || field->type == WIRE_BYTES;

	switch (field->number) {
	case SAMPLE_LOCATION_ID:
		if (is_numbers)
			return add_locations(samples, field, at, ret_fault);
		break;
	case SAMPLE_VALUE:
		if (is_numbers)
			return add_values(values, field, ret_fault);
		break;
	case SAMPLE_LABEL:
		if (field->type == WIRE_BYTES)
			return add_label(samples, field);
		break;
	default: return 0;
	}
	*ret_fault = "a field of a sample has the wrong type";
	return -EINVAL;
}

static int read_sample(struct pprof_samples *samples, struct wire *wire, uint64_t at,
		       struct values *values, const char **ret_fault)
{
	struct wire_field field;
	int r;

	samples->n_locations = 0;
	samples->n_label_bytes = 0;
	while ((r = wire_next(wire, &field)) > 0) {
		r = read_field(samples, &field, at, values, ret_fault);
		if (r < 0)
			return r;
	}
	if (r == 0 && samples->n_locations <= PPROF_MAX_DEPTH)
		return 0;
	*ret_fault =
		r < 0 ? "a sample is not a message" : "a stack has more than 1048576 locations";
	return -EINVAL;
}

/* Keeping it */

struct stack_key {
	const uint32_t *locations;
	size_t n;
};

static bool stack_equal(const void *items, uint32_t position, const void *key)
{
	const struct pprof_stack *stack = (const struct pprof_stack *)items + position;
	const struct stack_key *k = key;

	return stack->n == k->n &&
	       (!k->n || memcmp(stack->locations, k->locations, k->n * sizeof *k->locations) == 0);
}

/* The last block, with room for @n locations. */
static int reserve_block(struct pprof_samples *samples, size_t n, struct pprof_block **ret)
{
	struct pprof_block *block =
		samples->n_blocks ? &samples->blocks[samples->n_blocks - 1] : NULL;
	int r;

	if (!block || n > block->capacity - block->n) {
		size_t capacity = n > BLOCK_LOCATIONS ? n : BLOCK_LOCATIONS;

		r = array_reserve(samples->blocks, samples->blocks_capacity, samples->n_blocks, 1);
		if (r < 0)
			return r;
		block = &samples->blocks[samples->n_blocks];
		*block = (struct pprof_block){.capacity = capacity};
		block->locations = huge_pages_malloc(capacity * sizeof *block->locations);
		if (!block->locations)
			return -ENOMEM;
		samples->n_blocks++;
	}
	*ret = block;
	return 0;
}

static int add_stack(struct pprof_samples *samples, uint64_t hash, uint32_t *ret_stack)
{
	struct pprof_block *block;
	uint32_t *locations;
	size_t n = samples->n_locations;
	int r;

	if (samples->n_stacks >= TABLE_NONE)
		return -E2BIG;
	r = array_reserve(samples->stacks, samples->stacks_capacity, samples->n_stacks, 1);
	if (r < 0)
		return r;
	r = reserve_block(samples, n, &block);
	if (r < 0)
		return r;
	r = table_add(&samples->stack_index, hash, samples->n_stacks);
	if (r < 0)
		return r;
	locations = block->locations + block->n;
	if (n)
		memcpy(locations, samples->locations, n * sizeof *locations);
	block->n += n;
	*ret_stack = samples->n_stacks;
	samples->stacks[samples->n_stacks++] = (struct pprof_stack){
		.locations = locations, .n = n, .block = samples->n_blocks - 1};
	return 0;
}

/* Returns whether it is new, or an error. */
static int find_stack(struct pprof_samples *samples, uint32_t *ret_stack)
{
	struct stack_key key = {samples->locations, samples->n_locations};
	uint64_t hash = hash_bytes(key.locations, key.n * sizeof *key.locations);

	*ret_stack = table_find(&samples->stack_index, hash, stack_equal, samples->stacks, &key);
	if (*ret_stack == TABLE_NONE) {
		int r = add_stack(samples, hash, ret_stack);

		return r < 0 ? r : 1;
	}
	return 0;
}

static bool sample_equal(const void *items, uint32_t position, const void *key)
{
	const struct pprof_sample *a = (const struct pprof_sample *)items + position, *b = key;

	return a->stack == b->stack && a->labels == b->labels;
}

static uint32_t find_sample(const struct pprof_samples *samples, const struct pprof_sample *sample,
			    uint64_t hash)
{
	uint32_t first = samples->stacks[sample->stack].sample;
	size_t n = samples->n;

	if (samples->in_order)
		return n && sample_equal(samples->items, n - 1, sample) ? n - 1 : TABLE_NONE;
	if (first && sample_equal(samples->items, first - 1, sample))
		return first - 1;
	return table_find(&samples->index, hash, sample_equal, samples->items, sample);
}

static int index_sample(struct pprof_samples *samples, uint32_t stack, uint64_t hash)
{
	if (samples->in_order)
		return 0;
	if (samples->stacks[stack].sample)
		return table_add(&samples->index, hash, samples->n);
	samples->stacks[stack].sample = samples->n + 1;
	return 0;
}

static int add_up(uint64_t *to, const struct values *values, const char **ret_fault)
{
	for (size_t i = 0; i < values->n; i++) {
		int64_t sum;

		if (__builtin_add_overflow((int64_t)to[i], (int64_t)values->items[i], &sum)) {
			*ret_fault = "the values are too large to be added up";
			return -EINVAL;
		}
		to[i] = sum;
	}
	return 0;
}

static int append_sample(struct pprof_samples *samples, const struct pprof_sample *sample,
			 const struct values *values, uint64_t hash)
{
	size_t n = samples->n;
	int r;

	if (n >= TABLE_NONE)
		return -E2BIG;
	r = array_reserve(samples->items, samples->capacity, n, 1);
	if (r < 0)
		return r;
	r = array_reserve(samples->values, samples->values_capacity, n * values->n, values->n);
	if (r < 0)
		return r;
	r = index_sample(samples, sample->stack, hash);
	if (r < 0)
		return r;
	samples->items[samples->n++] = *sample;
	memcpy(samples->values + n * values->n, values->items, values->n * sizeof *samples->values);
	samples->blocks[samples->stacks[sample->stack].block].n_left++;
	return 0;
}

static int keep_sample(struct pprof_samples *samples, struct pprof_sample *sample,
		       const struct values *values, const char **ret_fault)
{
	int is_new = find_stack(samples, &sample->stack);
	uint32_t found = TABLE_NONE;
	uint64_t hash;
	int r;

	if (is_new < 0)
		return is_new;
	r = strings_add_bytes(&samples->labels, (const char *)samples->label_bytes,
			      samples->n_label_bytes, &sample->labels);
	if (r < 0)
		return r;
	hash = hash_mix(0, (uint64_t)sample->stack << 32 | sample->labels);
	if (!is_new)
		found = find_sample(samples, sample, hash);
	if (found != TABLE_NONE)
		return add_up(samples->values + found * values->n, values, ret_fault);
	return append_sample(samples, sample, values, hash);
}

int pprof_samples_add(struct pprof_samples *samples, const uint8_t *bytes, size_t n, uint64_t at,
		      const char **ret_fault)
{
	struct wire wire = {bytes, bytes + n};
	struct pprof_sample sample = {.at = at};
	struct values values;
	int r;

	values.n = 0;
	r = read_sample(samples, &wire, at, &values, ret_fault);
	if (r < 0)
		return r;
	if (!values.n || (samples->n && values.n != samples->n_values)) {
		*ret_fault = values.n ? "a sample has another number of values than the first one"
				      : "a sample has no values";
		return -EINVAL;
	}
	samples->n_values = values.n;
	return keep_sample(samples, &sample, &values, ret_fault);
}
