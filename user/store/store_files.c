/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/store_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/confined.h"
#include "base/system.h"

#define MINUTE (60 * NSEC_PER_SEC)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

uint64_t store_level_ns(enum store_level level)
{
	static const uint64_t lengths[N_STORE_LEVELS] = {0, MINUTE, HOUR, DAY, MINUTE};

	return lengths[level];
}

void store_level_name(uint64_t level_ns, enum segment_kind kind, char text[static 32])
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = {{DAY, "d"}, {HOUR, "h"}, {MINUTE, "m"}, {NSEC_PER_SEC, "s"}};

	if (kind == SEGMENT_SERIES) {
		strcpy(text, "series");
		return;
	}
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (level_ns % units[i].ns == 0) {
			snprintf(text, 32, "%" PRIu64 "%s", level_ns / units[i].ns,
				 units[i].unit /* ours */);
			return;
		}
	snprintf(text, 32, "%" PRIu64 "ms", (uint64_t)(level_ns / (NSEC_PER_SEC / 1000)));
}

static enum store_level level_of(const struct segment_header *header)
{
	if (header->kind == SEGMENT_SERIES)
		return LEVEL_SERIES;
	for (int level = LEVEL_MINUTE; level <= LEVEL_DAY; level++)
		if (store_level_ns(level) == header->level)
			return level;
	return LEVEL_FINEST;
}

bool store_is_segment(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && n < SEGMENT_NAME_SIZE && name[0] != '.' &&
	       strcmp(name + n - 4, ".bfs") == 0;
}

/* Looks at each block's head. */
static int scan(struct segment_reader *reader, struct store_file *file)
{
	struct segment_block block;
	int r;

	while ((r = segment_peek(reader, &block)) > 0) {
		if (!file->n_blocks++ || block.start < file->begin)
			file->begin = block.start;
		if (block.start + block.span > file->end)
			file->end = block.start + block.span;
		file->last = reader->at;
		segment_pass(reader, &block);
	}
	if (!file->n_blocks)
		file->begin = file->end = file->header.start;
	file->rest = segment_rest(reader);
	return r;
}

static int open_number(const struct store_files *files, size_t number)
{
	return files->path ? confined_open_listed(files->path, &files->listing, number)
			   : listing_open(&files->listing, number);
}

bool store_is_of_file(int error)
{
	return error != -ENOMEM && error != -EMFILE && error != -ENFILE && error != -EPIPE;
}

/* Counts a file, and keeps the name of the first. */
static void note(size_t *n, char first[static SEGMENT_NAME_SIZE], const char *name)
{
	if (!(*n)++)
		snprintf(first, SEGMENT_NAME_SIZE, "%s", name /* escaped later */);
}

static int add_segment(struct store_files *files, size_t number, struct segment_reader *reader)
{
	int r = array_reserve(files->items, files->capacity, files->n, 1);
	struct store_file *file;

	if (r < 0)
		return r;
	file = &files->items[files->n];
	*file = (struct store_file){.level = level_of(&reader->header),
				    .number = number,
				    .header = reader->header,
				    .bytes = reader->bytes};
	snprintf(file->name, sizeof file->name, "%s",
		 files->listing.names[number] /* escaped later */);
	r = scan(reader, file);
	files->n += r == 0;
	return r;
}

/* Takes over @fd. */
static int add_open_file(struct store_files *files, size_t number, int fd)
{
	struct segment_reader reader;
	int r = segment_open(&reader, fd);

	if (r == -ENODATA) /* whoever made it has not come further */
		return 0;
	if (r == -EPROTONOSUPPORT) {
		note(&files->n_unknown, files->unknown, files->listing.names[number]);
		return 0;
	}
	if (r < 0)
		return r;
	r = add_segment(files, number, &reader);
	segment_reader_done(&reader);
	return r;
}

static int add_file(struct store_files *files, size_t number)
{
	const char *name = files->listing.names[number];
	int r = open_number(files, number);

	if (r == -ENOENT) /* it went meanwhile */
		return 0;
	if (r < 0 && store_is_of_file(r) && !files->error)
		files->error = r;
	if (r == -EACCES || r == -EPERM) {
		note(&files->n_unread, files->unread, name);
		return 0;
	}
	if (r >= 0)
		r = add_open_file(files, number, r);
	if (r == 0 || !store_is_of_file(r))
		return r;
	note(&files->n_damaged, files->damaged, name);
	return 0;
}

static int compare_files(const void *left, const void *right)
{
	const struct store_file *a = left, *b = right;

	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	if (a->header.start != b->header.start)
		return a->header.start < b->header.start ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int read_heads(struct store_files *files)
{
	for (size_t i = 0; i < files->listing.n; i++) {
		int r = add_file(files, i);

		if (r < 0)
			return r;
	}
	if (files->n)
		qsort(files->items, files->n, sizeof *files->items, compare_files);
	return 0;
}

int store_files_read(const char *path, struct store_files *ret)
{
	int r;

	*ret = (struct store_files){.listing = LISTING_NONE};
	ret->path = strdup(path);
	if (!ret->path)
		return -ENOMEM;
	r = confined_list(path, store_is_segment, &ret->listing);
	if (r < 0)
		return r;
	return read_heads(ret);
}

int store_files_list(int folder, struct store_files *ret)
{
	int r;

	*ret = (struct store_files){.listing = LISTING_NONE};
	r = listing_read_folder(folder, store_is_segment, &ret->listing);
	if (r < 0)
		return r;
	return read_heads(ret);
}

void store_files_done(struct store_files *files)
{
	listing_done(&files->listing);
	free(files->path);
	free(files->items);
	*files = (struct store_files){.listing = LISTING_NONE};
}

static enum store_level level_of_name(const char *name)
{
	for (int level = LEVEL_MINUTE; level < N_STORE_LEVELS; level++) {
		char begin[32];
		size_t n;

		store_level_name(store_level_ns(level),
				 level == LEVEL_SERIES ? SEGMENT_SERIES : SEGMENT_STACKS, begin);
		n = strlen(begin);
		if (strncmp(name, begin, n) == 0 && name[n] == '-')
			return level;
	}
	return LEVEL_FINEST;
}

void store_files_sizes(int folder, uint64_t ret[static N_STORE_LEVELS])
{
	struct listing listing;
	struct stat st;

	memset(ret, 0, N_STORE_LEVELS * sizeof *ret);
	if (listing_read_folder(folder, store_is_segment, &listing) < 0)
		return;
	for (size_t i = 0; i < listing.n; i++)
		if (fstatat(folder, listing.names[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			ret[level_of_name(listing.names[i])] += st.st_size;
	listing_done(&listing);
}

int store_file_open(const struct store_files *files, const struct store_file *file)
{
	return open_number(files, file->number);
}

int store_segment_open(const struct store_files *files, const struct store_file *file,
		       struct segment_reader *ret)
{
	int fd = store_file_open(files, file);

	if (fd < 0)
		return fd;
	return segment_open(ret, fd);
}
