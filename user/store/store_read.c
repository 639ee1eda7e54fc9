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

struct store_reading {
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
static int merge_fresh(struct store_reading *reading)
{
	struct intervals *all = &reading->covered, *fresh = &reading->fresh;
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
static bool is_wanted(const struct store_reading *reading, enum store_level level,
		      const struct segment_block *block)
{
	const struct store_question *question = reading->question;
	uint64_t begin = block->start, end = block->start + block->span;
	uint64_t middle = begin + block->span / 2;

	if (reading->around)
		return begin <= reading->around && reading->around < end;
	if (level == LEVEL_FINEST) {
		if (middle < question->from || middle >= question->to)
			return false;
	} else if (begin < question->from || end > question->to) {
		return false;
	}
	return !overlaps(&reading->covered, begin, end);
}

/* How many blocks of a file are to be read: up to the last one that is wanted. */
static int count_blocks(const struct store_reading *reading, const struct store_file *file,
			struct segment_reader *reader, size_t *ret)
{
	struct segment_block block;
	int r;

	*ret = 0;
	for (size_t n = 1; (r = segment_peek(reader, &block)) > 0; n++) {
		if (is_wanted(reading, file->level, &block))
			*ret = n;
		segment_pass(reader, &block);
	}
	segment_rewind(reader);
	return r;
}

static int note_window(struct store_reading *reading, const struct store_file *file,
		       const struct store_window *window)
{
	struct store_answer *answer = reading->answer;
	struct intervals *fresh = &reading->fresh;
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

static int read_blocks(struct store_reading *reading, const struct store_file *file,
		       struct segment_reader *reader, size_t n)
{
	const struct store_question *question = reading->question;
	bool is_first = true;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct segment_block block;
		struct store_window window;

		bool wanted;

		if (segment_peek(reader, &block) <= 0)
			break;
		wanted = is_wanted(reading, file->level, &block);
		r = wanted ? segment_read(reader, &block, &window)
			   : segment_read_names(reader, &block);
		if (r == -EBADMSG) {
			r = 0;
			continue;
		}
		if (r < 0 || !wanted)
			continue;
		r = note_window(reading, file, &window);
		r = r < 0 ? r
			  : question->on_window(question->context, &reader->ledger, &window,
						is_first);
		is_first = false;
	}
	return r;
}

static int read_file(struct store_reading *reading, struct store_file *file)
{
	struct segment_reader reader;
	int r = store_file_open(&reading->files, file);
	size_t n;

	r = r < 0 ? r : segment_open(&reader, r);
	if (r == -ENOENT) /* it was too old meanwhile */
		return 0;
	if (r < 0 && store_is_of_file(r)) { /* somebody exchanged it */
		file->damaged = file->bytes - file->rest;
		return 0;
	}
	if (r < 0)
		return r;
	r = count_blocks(reading, file, &reader, &n);
	r = r < 0 ? r : read_blocks(reading, file, &reader, n);
	file->damaged = reader.damaged;
	segment_reader_done(&reader);
	return r;
}

static int read_level(struct store_reading *reading, enum store_level level)
{
	const struct store_question *question = reading->question;
	int r = 0;

	for (size_t i = 0; i < reading->files.n && r == 0; i++) {
		struct store_file *file = &reading->files.items[i];

		if (file->level == level && file->begin < question->to &&
		    file->end > question->from &&
		    !contains(&reading->covered, file->begin, file->end))
			r = read_file(reading, file);
	}
	return r < 0 ? r : merge_fresh(reading);
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

static int read_levels(struct store_reading *reading)
{
	enum store_level best = level_for(reading->question);
	int r = 0;

	if (reading->question->is_series && !reading->question->is_finest)
		r = read_level(reading, LEVEL_SERIES);
	if (reading->question->is_series)
		best = LEVEL_FINEST;
	for (int level = best; level >= LEVEL_FINEST && r == 0; level--)
		r = read_level(reading, level);
	for (int level = best + 1; level < N_LEVELS && r == 0 && !reading->question->is_finest;
	     level++)
		r = read_level(reading, level);
	return r;
}

/* A range without a window of its own may lie within one; coarser ones can have gaps. */
static int read_around(struct store_reading *reading)
{
	const struct store_question *question = reading->question;

	reading->around = question->from + (question->to - question->from) / 2;
	return read_level(reading, LEVEL_FINEST);
}

static void note_ends(struct store_reading *reading)
{
	struct store_answer *answer = reading->answer;

	for (size_t i = 0; i < reading->files.n; i++) {
		const struct store_file *file = &reading->files.items[i];

		if (!file->n_blocks)
			continue;
		if (!answer->oldest || file->begin < answer->oldest)
			answer->oldest = file->begin;
		if (file->end > answer->newest)
			answer->newest = file->end;
	}
}

/* Counts what was passed over, and pieces of blocks at the end of files that are not the last. */
static void note_damage(struct store_reading *reading)
{
	const struct store_files *files = &reading->files;
	struct store_answer *answer = reading->answer;

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

int store_read(const struct store_question *question, struct store_answer *ret,
	       struct failure *failure)
{
	struct store_reading reading = {.question = question, .answer = ret};
	int r;

	*ret = (struct store_answer){};
	r = find_files(question->path, &reading.files, failure);
	r = r < 0 ? r : read_levels(&reading);
	if (r == 0 && !ret->end && !question->is_series)
		r = read_around(&reading);
	note_ends(&reading);
	if (r == 0)
		note_damage(&reading);
	else
		store_fail(r, question->path, failure);
	store_files_done(&reading.files);
	free(reading.covered.items);
	free(reading.fresh.items);
	return r;
}
