/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/store_unrolled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

/* Reads on; raises *@newest to the latest end (boot-time ns). Errors: -EBADMSG, some is damaged. */
static int read_ends(struct segment_reader *reader, uint64_t *newest)
{
	struct segment_block block;
	struct store_window window;
	int r, damaged = 0;

	while ((r = segment_peek(reader, &block)) > 0) {
		r = segment_read(reader, &block, &window);
		if (r < 0 && r != -EBADMSG)
			return r;
		if (r < 0)
			damaged = r;
		else if (window.boot > *newest)
			*newest = window.boot;
	}
	return r < 0 ? r : damaged;
}

/* When the last window of @file ended (boot-time ns); 0: none can be read. Errors: -ENOMEM. */
static int newest_end(const struct store_files *files, const struct store_file *file, uint64_t *ret)
{
	struct segment_reader reader;
	int r;

	*ret = 0;
	if (!file->n_blocks || store_segment_open(files, file, &reader) < 0)
		return 0;
	reader.at = reader.searched = file->last;
	r = read_ends(&reader, ret);
	if (r == -EBADMSG) {
		segment_rewind(&reader);
		r = read_ends(&reader, ret);
	}
	segment_reader_done(&reader);
	return r == -ENOMEM ? r : 0;
}

static int compare_boots(const struct store_file *a, const struct store_file *b)
{
	return memcmp(a->header.boot_id, b->header.boot_id, sizeof a->header.boot_id);
}

static int compare_order(const void *left, const void *right)
{
	const struct store_unrolled *a = left, *b = right;
	int order = compare_boots(a->file, b->file);

	return order ? order : (a->end > b->end) - (a->end < b->end);
}

/* All files of @level. */
static int list_level(const struct store_files *files, enum store_level level,
		      struct store_unrolled *items, size_t *ret_n)
{
	size_t n = 0;

	for (size_t i = 0; i < files->n; i++) {
		int r;

		if (files->items[i].level != level)
			continue;
		items[n].file = &files->items[i];
		r = newest_end(files, items[n].file, &items[n].end);
		if (r < 0)
			return r;
		n++;
	}
	if (n)
		qsort(items, n, sizeof *items, compare_order);
	*ret_n = n;
	return 0;
}

/* Until when windows of the same boot as those of @file are in @level (boot-time ns). */
static int rolled_until(const struct store_files *files, enum store_level level,
			const struct store_file *file, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < files->n; i++) {
		uint64_t end;
		int r;

		if (files->items[i].level != level || compare_boots(&files->items[i], file) != 0)
			continue;
		r = newest_end(files, &files->items[i], &end);
		if (r < 0)
			return r;
		if (end > *ret)
			*ret = end;
	}
	return 0;
}

int store_unrolled_list(const struct store_files *files, enum store_level from, enum store_level to,
			struct store_unrolled **ret, size_t *ret_n)
{
	_cleanup_free_ struct store_unrolled *items = calloc(files->n + 1, sizeof *items);
	const struct store_file *before = NULL;
	uint64_t until = 0;
	size_t n, n_kept = 0;
	int r;

	if (!items)
		return -ENOMEM;
	r = list_level(files, from, items, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		struct store_unrolled item = items[i];

		if (!before || compare_boots(before, item.file) != 0) {
			r = rolled_until(files, to, item.file, &until);
			if (r < 0)
				return r;
		}
		before = item.file;
		item.until = until;
		if (item.end > until)
			items[n_kept++] = item;
	}
	*ret = items;
	*ret_n = n_kept;
	items = NULL;
	return 0;
}
