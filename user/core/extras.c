/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/extras.h"

#include <string.h>

#include "base/array.h"

void extras_done(struct extras *extras)
{
	free(extras->labels);
	free(extras->details);
	table_done(&extras->label_index);
	table_done(&extras->detail_index);
	free(extras->values);
	free(extras->comments);
	*extras = (struct extras){0};
}

static bool label_equal(const void *items, uint32_t position, const void *key)
{
	const struct extras_label *a = (const struct extras_label *)items + position, *b = key;

	return a->key == b->key && a->text == b->text && a->unit == b->unit &&
	       a->number == b->number && a->next == b->next;
}

int extras_add_label(struct extras *extras, const struct extras_label *label, uint32_t *ret)
{
	uint64_t hash = hash_mix((uint64_t)label->key << 32 | label->text,
				 (uint64_t)label->unit << 32 | label->next);
	uint32_t found;
	int r;

	hash = hash_mix(hash, label->number);
	found = table_find(&extras->label_index, hash, label_equal, extras->labels, label);
	if (found == TABLE_NONE) {
		/* Number 0 means none. */
		found = extras->n_labels ? extras->n_labels : 1;
		if (found >= TABLE_NONE - 1)
			return -E2BIG;
		r = array_reserve(extras->labels, extras->labels_capacity, found, 1);
		if (r < 0)
			return r;
		r = table_add(&extras->label_index, hash, found);
		if (r < 0)
			return r;
		extras->labels[0] = (struct extras_label){0};
		extras->labels[found] = *label;
		extras->n_labels = found + 1;
	}
	*ret = found;
	return 0;
}

static bool detail_equal(const void *items, uint32_t position, const void *key)
{
	const struct extras_detail *a = (const struct extras_detail *)items + position, *b = key;

	return a->system_name == b->system_name && a->start_line == b->start_line;
}

int extras_add_detail(struct extras *extras, const struct extras_detail *detail, uint32_t *ret)
{
	uint64_t hash = hash_mix(detail->system_name, detail->start_line);
	uint32_t found =
		table_find(&extras->detail_index, hash, detail_equal, extras->details, detail);
	int r;

	if (found == TABLE_NONE) {
		found = extras->n_details ? extras->n_details : 1;
		if (found >= TABLE_NONE - 1)
			return -E2BIG;
		r = array_reserve(extras->details, extras->details_capacity, found, 1);
		if (r < 0)
			return r;
		r = table_add(&extras->detail_index, hash, found);
		if (r < 0)
			return r;
		extras->details[0] = (struct extras_detail){0};
		extras->details[found] = *detail;
		extras->n_details = found + 1;
	}
	*ret = found;
	return 0;
}

int extras_add_row(struct extras *extras, const uint64_t *values, uint32_t *ret)
{
	size_t n = extras->n_types, row = extras->n_rows ? extras->n_rows : 1;
	int r;

	if (row >= TABLE_NONE)
		return -E2BIG;
	r = array_reserve(extras->values, extras->values_capacity, row * n, n);
	if (r < 0)
		return r;
	if (row == 1)
		memset(extras->values, 0, n * sizeof *values);
	memcpy(extras->values + row * n, values, n * sizeof *values);
	extras->n_rows = row + 1;
	*ret = row;
	return 0;
}

void extras_add_up(struct extras *extras, uint32_t to, uint32_t from)
{
	uint64_t *sum = extras_row(extras, to), *values = extras_row(extras, from);

	for (size_t i = 0; i < extras->n_types; i++)
		sum[i] += values[i];
}

int extras_add_comment(struct extras *extras, uint32_t text)
{
	return array_add(extras->comments, extras->comments_capacity, extras->n_comments, text);
}
