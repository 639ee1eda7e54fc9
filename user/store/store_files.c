/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/store_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
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
		segment_pass(reader, &block);
	}
	if (!file->n_blocks)
		file->begin = file->end = file->header.start;
	file->rest = segment_rest(reader);
	return r;
}

static int add_file(struct store_files *files, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), r;
	struct store_file *file;
	struct segment_reader reader;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno; /* it went meanwhile */
	r = segment_open(&reader, fd);
	if (r == -ENODATA) /* whoever made it has not come further */
		return 0;
	if (r == -EPROTONOSUPPORT) {
		if (!files->n_unknown++)
			snprintf(files->unknown, sizeof files->unknown, "%s",
				 name /* escaped later */);
		return 0;
	}
	if (r == -EBADMSG) {
		if (!files->n_damaged++)
			snprintf(files->damaged, sizeof files->damaged, "%s",
				 name /* escaped later */);
		return 0;
	}
	if (r < 0)
		return r;
	r = array_reserve(files->items, files->capacity, files->n, 1);
	if (r == 0) {
		file = &files->items[files->n];
		*file = (struct store_file){.level = level_of(&reader.header),
					    .header = reader.header,
					    .bytes = reader.bytes};
		snprintf(file->name, sizeof file->name, "%s", name /* escaped later */);
		r = scan(&reader, file);
		files->n += r == 0;
	}
	segment_reader_done(&reader);
	return r;
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

int store_files_list(int folder, struct store_files *ret)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	*ret = (struct store_files){};
	if (!stream) {
		r = -errno;
		closep(&fd);
		return r;
	}
	while (r == 0 && (entry = readdir(stream)))
		if (store_is_segment(entry->d_name))
			r = add_file(ret, folder, entry->d_name);
	closedir(stream);
	if (ret->n)
		qsort(ret->items, ret->n, sizeof *ret->items, compare_files);
	return r;
}

void store_files_done(struct store_files *files)
{
	free(files->items);
	*files = (struct store_files){};
}
