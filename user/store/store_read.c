/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/store_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/output.h"
#include "base/system.h"

#define HOUR	 (3600 * NSEC_PER_SEC)
#define TOUCH_NS (NSEC_PER_SEC / 1000) /* windows that overlap by less lie side by side */

struct interval {
	uint64_t begin, end;
};

/* Of time that was read: sorted, apart from each other. */
struct intervals {
	struct interval *items;
	size_t n, capacity;
};

struct store_search {
	const struct store_question *question;
	struct store_answer *answer;
	struct store_files files;
	struct intervals covered; /* by other levels than the one at hand … */
	struct intervals fresh;	  /* … and by that one */
	uint64_t around;	  /* 0; or only what holds this moment is wanted */
};

/* The first one that ends after @moment; NULL: none does. */
static const struct interval *find_after(const struct intervals *intervals, uint64_t moment)
{
	size_t low = 0, high = intervals->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (intervals->items[middle].end <= moment)
			low = middle + 1;
		else
			high = middle;
	}
	return low < intervals->n ? &intervals->items[low] : NULL;
}

static bool overlaps(const struct intervals *intervals, uint64_t begin, uint64_t end)
{
	const struct interval *found = find_after(intervals, begin + TOUCH_NS);

	return found && found->begin + TOUCH_NS < end;
}

static bool contains(const struct intervals *intervals, uint64_t begin, uint64_t end)
{
	const struct interval *found = find_after(intervals, begin);

	return found && found->begin <= begin && end <= found->end;
}

static int compare_intervals(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Adds what the level at hand has. */
static int merge_fresh(struct store_search *search)
{
	struct intervals *all = &search->covered, *fresh = &search->fresh;
	int r = array_reserve(all->items, all->capacity, all->n, fresh->n + 1);
	size_t n = 0;

	if (r < 0)
		return r;
	if (fresh->n)
		memcpy(all->items + all->n, fresh->items, fresh->n * sizeof *all->items);
	all->n += fresh->n;
	fresh->n = 0;
	if (all->n)
		qsort(all->items, all->n, sizeof *all->items, compare_intervals);
	for (size_t i = 0; i < all->n; i++) {
		if (n && all->items[i].begin <= all->items[n - 1].end + TOUCH_NS) {
			if (all->items[i].end > all->items[n - 1].end)
				all->items[n - 1].end = all->items[i].end;
		} else {
			all->items[n++] = all->items[i];
		}
	}
	all->n = n;
	return 0;
}

/* Windows as they were recorded count if most of them is in the range; coarse ones lie in it. */
static bool is_wanted(const struct store_search *search, enum store_level level,
		      const struct segment_block *block)
{
	const struct store_question *question = search->question;
	uint64_t begin = block->start, end = block->start + block->span;
	uint64_t middle = begin + block->span / 2;

	if (search->around)
		return begin <= search->around && search->around < end;
	if (level == LEVEL_FINEST) {
		if (middle < question->from || middle >= question->to)
			return false;
	} else if (begin < question->from || end > question->to) {
		return false;
	}
	return !overlaps(&search->covered, begin, end);
}

/* How many blocks of a file are to be read: up to the last one that is wanted. */
static int count_blocks(const struct store_search *search, const struct store_file *file,
			struct segment_reader *reader, size_t *ret)
{
	struct segment_block block;
	int r;

	*ret = 0;
	for (size_t n = 1; (r = segment_peek(reader, &block)) > 0; n++) {
		if (is_wanted(search, file->level, &block))
			*ret = n;
		segment_pass(reader, &block);
	}
	segment_rewind(reader);
	return r;
}

static int note_window(struct store_search *search, const struct store_file *file,
		       const struct store_window *window)
{
	struct store_answer *answer = search->answer;
	struct intervals *fresh = &search->fresh;
	uint64_t end = window->start + window->span;
	int r = array_reserve(fresh->items, fresh->capacity, fresh->n, 1);

	if (r < 0)
		return r;
	fresh->items[fresh->n++] = (struct interval){window->start, end};
	if (!answer->end || window->start < answer->begin)
		answer->begin = window->start;
	if (end > answer->end)
		answer->end = end;
	answer->covered += window->covered;
	answer->windows[file->level]++;
	answer->level_ns[file->level] = file->header.level;
	return 0;
}

static int read_blocks(struct store_search *search, const struct store_file *file,
		       struct segment_reader *reader)
{
	const struct store_question *question = search->question;
	bool is_first = true;
	size_t n;
	int r = count_blocks(search, file, reader, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		struct segment_block block;
		struct store_window window;
		bool wanted;

		if (segment_peek(reader, &block) <= 0)
			break;
		wanted = is_wanted(search, file->level, &block);
		r = wanted ? segment_read(reader, &block, &window)
			   : segment_read_names(reader, &block);
		if (r < 0 && r != -EBADMSG)
			return r;
		if (r < 0 || !wanted)
			continue;
		r = note_window(search, file, &window);
		if (r < 0)
			return r;
		r = question->on_window(question->context, &reader->ledger, &window, is_first);
		if (r < 0)
			return r;
		is_first = false;
	}
	return 0;
}

static int read_file(struct store_search *search, struct store_file *file)
{
	struct segment_reader reader;
	int r = store_segment_open(&search->files, file, &reader);

	if (r == -ENOENT) /* it was too old meanwhile */
		return 0;
	if (r < 0 && store_is_of_file(r)) { /* somebody exchanged it */
		file->damaged = file->bytes - file->rest;
		return 0;
	}
	if (r < 0)
		return r;
	r = read_blocks(search, file, &reader);
	file->damaged = reader.damaged;
	segment_reader_done(&reader);
	return r;
}

static int read_level(struct store_search *search, enum store_level level)
{
	const struct store_question *question = search->question;

	for (size_t i = 0; i < search->files.n; i++) {
		struct store_file *file = &search->files.items[i];
		int r;

		if (file->level != level || file->begin >= question->to ||
		    file->end <= question->from ||
		    contains(&search->covered, file->begin, file->end))
			continue;
		r = read_file(search, file);
		if (r < 0)
			return r;
	}
	return merge_fresh(search);
}

static enum store_level level_for(const struct store_question *question)
{
	uint64_t length = question->to - question->from, step = question->step_ns;
	enum store_level level = question->is_finest	    ? LEVEL_FINEST
				 : question->wants_pids	    ? LEVEL_FINEST
				 : length <= 2 * HOUR	    ? LEVEL_FINEST
				 : length <= 12 * HOUR	    ? LEVEL_MINUTE
				 : length <= 14 * 24 * HOUR ? LEVEL_HOUR
							    : LEVEL_DAY;

	while (level > LEVEL_FINEST && step % store_level_ns(level))
		level--;
	return level;
}

static int read_levels(struct store_search *search)
{
	const struct store_question *question = search->question;
	enum store_level best = question->is_series ? LEVEL_FINEST : level_for(question);
	int r;

	if (question->is_series && !question->is_finest) {
		r = read_level(search, LEVEL_SERIES);
		if (r < 0)
			return r;
	}
	for (int level = best; level >= LEVEL_FINEST; level--) {
		r = read_level(search, level);
		if (r < 0)
			return r;
	}
	for (int level = best + 1; level < N_LEVELS && !question->is_finest; level++) {
		r = read_level(search, level);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A range without a window of its own may lie within one; coarser ones can have gaps. */
static int read_around(struct store_search *search)
{
	const struct store_question *question = search->question;

	search->around = question->from + (question->to - question->from) / 2;
	return read_level(search, LEVEL_FINEST);
}

/* 1: a window of @file reaches into the range. */
static int reaches_into(struct store_search *search, const struct store_file *file)
{
	const struct store_question *question = search->question;
	struct segment_reader reader;
	struct segment_block block;
	bool found = false;
	int r = store_segment_open(&search->files, file, &reader);

	if (r < 0)
		return r == -ENOENT || store_is_of_file(r) ? 0 : r;
	while (!found && (r = segment_peek(&reader, &block)) > 0) {
		found = block.start < question->to && block.start + block.span > question->from;
		segment_pass(&reader, &block);
	}
	segment_reader_done(&reader);
	return r < 0 ? r : found;
}

/* Whether windows as they were recorded are kept of times as early as that. */
static bool has_finest_since(const struct store_search *search, uint64_t moment)
{
	for (size_t i = 0; i < search->files.n; i++) {
		const struct store_file *file = &search->files.items[i];

		if (file->level == LEVEL_FINEST && file->n_blocks && file->begin <= moment)
			return true;
	}
	return false;
}

/* A range without a window can be one of which only longer ones are kept. */
static int note_coarser(struct store_search *search)
{
	const struct store_question *question = search->question;
	struct store_answer *answer = search->answer;

	if (has_finest_since(search, question->from))
		return 0;
	for (size_t i = 0; i < search->files.n; i++) {
		const struct store_file *file = &search->files.items[i];
		uint64_t level = file->header.level;
		int r;

		if (file->level == LEVEL_FINEST || file->begin >= question->to ||
		    file->end <= question->from ||
		    (file->level == LEVEL_SERIES && !question->is_series) ||
		    (answer->coarser_ns && answer->coarser_ns <= level))
			continue;
		r = reaches_into(search, file);
		if (r < 0)
			return r;
		if (r > 0)
			answer->coarser_ns = level;
	}
	return 0;
}

static void note_ends(struct store_search *search)
{
	struct store_answer *answer = search->answer;

	for (size_t i = 0; i < search->files.n; i++) {
		const struct store_file *file = &search->files.items[i];

		if (!file->n_blocks)
			continue;
		if (!answer->oldest || file->begin < answer->oldest)
			answer->oldest = file->begin;
		if (file->end > answer->newest)
			answer->newest = file->end;
	}
}

/* Counts what was passed over, and pieces of blocks at the end of files that are not the last. */
static void note_damage(struct store_search *search)
{
	const struct store_files *files = &search->files;
	struct store_answer *answer = search->answer;

	for (size_t i = 0; i < files->n; i++) {
		const struct store_file *file = &files->items[i];
		bool is_over = i + 1 < files->n && file[1].level == file->level;
		uint64_t bytes = file->damaged + (is_over ? file->rest : 0);

		if (bytes && !answer->n_damaged++)
			snprintf(answer->damaged, sizeof answer->damaged, "%s",
				 file->name /* escaped later */);
		answer->damaged_bytes += bytes;
	}
	if (files->n_damaged && !answer->n_damaged)
		snprintf(answer->damaged, sizeof answer->damaged, "%s",
			 files->damaged /* escaped later */);
	answer->n_damaged += files->n_damaged;
	answer->n_unknown = files->n_unknown;
	snprintf(answer->unknown, sizeof answer->unknown, "%s", files->unknown /* escaped later */);
	answer->n_unread = files->n_unread;
	snprintf(answer->unread, sizeof answer->unread, "%s", files->unread /* escaped later */);
}

int store_fail(int error, const char *path, struct failure *failure)
{
	if (failure->what[0])
		return error;
	failure_set(failure, error, "cannot read the store %s: %s", path, strerror(-error));
	if (error == -ENOENT)
		failure_fix(failure, error,
			    "bpfflame daemon fills it; or name another one by --store");
	if (error == -EACCES)
		failure_fix(failure, error, "run it as root, or as the user who writes the store");
	return error;
}

/* Lists the files. Nothing to be read is an error. */
static int find_files(const char *path, struct store_files *files, struct failure *failure)
{
	int r = store_files_read(path, files);

	if (r < 0 || files->n || files->n_unknown)
		return r;
	if (files->error)
		return files->error;
	return files->n_damaged ? 0
				: failure_set(failure, -ENODATA, "%s holds no recordings", path);
}

static int read_all(struct store_search *search, struct failure *failure)
{
	int r = find_files(search->question->path, &search->files, failure);

	if (r < 0)
		return r;
	r = read_levels(search);
	if (r < 0 || search->answer->end)
		return r;
	r = read_around(search);
	if (r < 0 || search->answer->end)
		return r;
	return note_coarser(search);
}

int store_read(const struct store_question *question, struct store_answer *ret,
	       struct failure *failure)
{
	struct store_search search = {.question = question, .answer = ret};
	int r;

	*ret = (struct store_answer){};
	r = read_all(&search, failure);
	note_ends(&search);
	if (r == 0)
		note_damage(&search);
	else
		store_fail(r, question->path, failure);
	store_files_done(&search.files);
	free(search.covered.items);
	free(search.fresh.items);
	return r;
}
