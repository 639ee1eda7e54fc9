/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/set_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/owner.h"
#include "base/system.h"
#include "store/lock_file.h"
#include "store/set_lines.h"

/* Nobody needs a longer list, and rewriting it is expensive. */
#define MOST_INDEX_BYTES (1ULL << 30)

/* Our pages contain this in their first bytes. */
#define PAGE_MARK      "name=\"generator\" content=\"bpfflame "
#define PAGE_MARK_SIZE 1024

/* Whether we may rewrite this file in place; root must not if others could have put it there. */
static bool is_writable_here(int fd, bool as_owner)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       (geteuid() != 0 || (st.st_nlink == 1 && owner_trusts(st.st_uid, as_owner)));
}

/* Reads a file's first bytes. Returns 0 if it is missing or empty. */
static ssize_t read_start(const struct place *place, const char *name, char *bytes, size_t size)
{
	_cleanup_close_ int fd =
		openat(place->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!is_writable_here(fd, place->as_owner))
		return -EEXIST;
	n = read(fd, bytes, size);
	return n < 0 ? -errno : n;
}

/* The file may also be only a beginning of ours: the writer died. */
static bool index_is_ours(const struct place *place)
{
	char bytes[sizeof SET_LINE_START - 1];
	ssize_t n = read_start(place, SETS_INDEX, bytes, sizeof bytes);

	return n >= 0 && memcmp(bytes, SET_LINE_START, n) == 0;
}

static bool page_is_ours(const struct place *place)
{
	char bytes[PAGE_MARK_SIZE];
	ssize_t n = read_start(place, SETS_PAGE, bytes, sizeof bytes);

	return n == 0 || (n > 0 && memmem(bytes, n, PAGE_MARK, strlen(PAGE_MARK)));
}

static int check_files(const char *path, const struct place *place, struct failure *failure)
{
	const char *name = !index_is_ours(place)  ? SETS_INDEX
			   : !page_is_ours(place) ? SETS_PAGE
						  : NULL;

	if (!name)
		return 0;
	failure_set(failure, -EEXIST, "%s/%s exists and was not made by bpfflame", path, name);
	return failure_fix(failure, -EEXIST, "give another --out-dir");
}

int set_folder_open(const char *path, bool make, struct set_folder *ret, struct failure *failure)
{
	struct set_folder folder = {path, PLACE_NONE, -1};
	int r = place_open(path, make ? PLACE_MAKE_LAST : PLACE_FIND, place_check_writable, NULL,
			   &folder.place);

	if (r < 0)
		return output_fail(failure, r, "write into the folder", path);
	r = check_files(path, &folder.place, failure);
	if (r < 0)
		set_folder_close(&folder);
	else
		*ret = folder;
	return r;
}

void set_folder_close(struct set_folder *folder)
{
	lock_file_release(&folder->place, folder->lock);
	folder->lock = -1;
	place_close(&folder->place);
}

int set_folder_lock(struct set_folder *folder)
{
	return lock_file_take(&folder->place, true, &folder->lock);
}

int set_folder_try_lock(struct set_folder *folder)
{
	return lock_file_take(&folder->place, false, &folder->lock);
}

int set_folder_lock_failed(const struct set_folder *folder, int error, struct failure *failure)
{
	char path[300];

	snprintf(path, sizeof path, "%.250s/" LOCK_FILE, folder->path);
	return output_fail(failure, error, "lock", path);
}

/* Reading */

static int read_text(int folder, char **ret_text, size_t *ret_n)
{
	_cleanup_close_ int fd = openat(folder, SETS_INDEX, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t n = 0, size;
	struct stat st;
	char *text;

	if (fd < 0 && errno != ENOENT)
		return -errno;
	if (fd >= 0 && fstat(fd, &st) < 0)
		return -errno;
	size = fd < 0 ? 0 : st.st_size;
	if (size > MOST_INDEX_BYTES)
		return -EFBIG;
	text = malloc(size + 1);
	if (!text)
		return -ENOMEM;
	while (n < size) {
		ssize_t now = read(fd, text + n, size - n);

		if (now < 0) {
			free(text);
			return -errno;
		}
		if (now == 0)
			break;
		n += now;
	}
	*ret_text = text;
	*ret_n = n;
	return 0;
}

static int read_lines(struct set_index *index)
{
	size_t start = 0;

	while (start < index->n_text) {
		char *line = index->text + start;
		char *end = memchr(line, '\n', index->n_text - start);
		size_t n;
		int r;

		if (!end)
			break;
		n = end - line;
		r = array_reserve(index->lines, index->lines_capacity, index->sets.n, 1);
		if (r < 0)
			return r;
		*end = '\0';
		r = set_line_read(line, &index->sets);
		*end = '\n';
		if (r < 0 && r != -EINVAL)
			return r;
		if (r == 0)
			index->lines[index->sets.n - 1] = (struct set_line){start, n + 1};
		else
			index->n_damaged++;
		start += n + 1;
	}
	index->n_text = start;
	return 0;
}

static int read_index(int folder, struct set_index *index)
{
	int r = sets_init(&index->sets);

	if (r < 0)
		return r;
	r = read_text(folder, &index->text, &index->n_text);
	if (r < 0)
		return r;
	return read_lines(index);
}

int set_folder_read(const struct set_folder *folder, struct set_index *ret)
{
	struct set_index index = {};
	int r = read_index(folder->place.fd, &index);

	if (r < 0)
		set_index_done(&index);
	else
		*ret = index;
	return r;
}

void set_index_done(struct set_index *index)
{
	sets_done(&index->sets);
	free(index->text);
	free(index->lines);
	*index = (struct set_index){};
}

uint64_t set_folder_index_bytes(const struct set_folder *folder)
{
	struct stat st;

	return fstatat(folder->place.fd, SETS_INDEX, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size
										    : 0;
}

bool set_folder_has(const struct set_folder *folder, const char *name)
{
	return faccessat(folder->place.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool set_folder_has_any(const struct set_folder *folder, const struct sets *sets,
			const struct set *set)
{
	for (size_t i = 0; i < set->files.n; i++) {
		uint32_t name = sets->files[set->files.first + i].name;

		if (set_folder_has(folder, strings_get(&sets->strings, name)))
			return true;
	}
	return false;
}

/* Writing */

/* The end of the last whole line within @size bytes. */
static off_t end_of_lines(int fd, off_t size)
{
	char bytes[4096];

	while (size > 0) {
		size_t n = size < (off_t)sizeof bytes ? size : (off_t)sizeof bytes;
		ssize_t got = pread(fd, bytes, n, size - n);
		const char *newline = got == (ssize_t)n ? memrchr(bytes, '\n', n) : NULL;

		if (got != (ssize_t)n)
			return -EIO;
		if (newline)
			return size - n + (newline - bytes) + 1;
		size -= n;
	}
	return 0;
}

static int append_text(int fd, const char *text, size_t n)
{
	struct stat st;
	off_t end;
	ssize_t done;

	if (fstat(fd, &st) < 0)
		return -errno;
	end = end_of_lines(fd, st.st_size);
	if (end < 0)
		return end;
	if (end < st.st_size && ftruncate(fd, end) < 0)
		return -errno;
	done = write(fd, text, n);
	if (done == (ssize_t)n)
		return 0;
	if (done < 0 || ftruncate(fd, end) < 0)
		return -errno;
	return -ENOSPC;
}

/* Opens the list for appending; returns a file descriptor. */
static int open_index(const struct place *place)
{
	const int flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int r = owner_enter(place->as_owner), fd;

	if (r < 0)
		return r;
	fd = openat(place->fd, SETS_INDEX, flags, 0600);
	r = fd < 0 ? -errno : fd;
	if (fd >= 0)
		(void)!fchmod(fd, output_mode());
	owner_leave(place->as_owner);
	if (fd >= 0 && !is_writable_here(fd, place->as_owner)) {
		close(fd);
		r = -OUTPUT_EOTHERS;
	}
	return r;
}

int set_folder_append(const struct set_folder *folder, const struct sets *sets)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	size_t n = 0;
	FILE *stream = open_memstream(&text, &n);
	bool is_whole;

	if (!stream)
		return -ENOMEM;
	for (size_t i = 0; i < sets->n; i++)
		set_line_write(sets, &sets->items[i], stream);
	is_whole = !ferror(stream);
	if (fclose(stream) != 0 || !is_whole)
		return -ENOMEM;
	fd = open_index(&folder->place);
	if (fd < 0)
		return fd;
	return append_text(fd, text, n);
}

int set_folder_write(const struct set_folder *folder, const char *name, output_write_fn write,
		     void *data)
{
	struct output_target target;
	int r = output_find_in(&folder->place, name, &target);

	if (r < 0)
		return r;
	r = output_write(&target, write, data);
	output_target_done(&target);
	return r;
}

struct shorter_list {
	const struct set_index *index;
	const bool *gone;
};

/* Writes the list without the removed lines. */
static int write_shorter(void *data, FILE *stream)
{
	const struct shorter_list *list = data;
	const struct set_index *index = list->index;
	size_t from = 0;

	for (size_t i = 0; i < index->sets.n; i++) {
		const struct set_line *line = &index->lines[i];

		if (!list->gone[i])
			continue;
		fwrite_unlocked(index->text + from /* ours */, 1, line->start - from, stream);
		from = line->start + line->n;
	}
	fwrite_unlocked(index->text + from /* ours */, 1, index->n_text - from, stream);
	return 0;
}

void set_folder_unlink(const struct set_folder *folder, const char *name)
{
	if (set_name_is_ours(name))
		unlinkat(folder->place.fd, name, 0);
}

int set_folder_remove(const struct set_folder *folder, const struct set_index *index,
		      const bool *gone)
{
	struct shorter_list list = {index, gone};
	const struct sets *sets = &index->sets;
	bool any = false;

	for (size_t i = 0; i < sets->n; i++) {
		const struct set_range *files = &sets->items[i].files;

		for (size_t k = 0; gone[i] && k < files->n; k++) {
			uint32_t name = sets->files[files->first + k].name;

			set_folder_unlink(folder, strings_get(&sets->strings, name));
		}
		any |= gone[i];
	}
	return any ? set_folder_write(folder, SETS_INDEX, write_shorter, &list) : 0;
}

void set_folder_sweep(const struct set_folder *folder)
{
	int fd = openat(folder->place.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!entries) {
		closep(&fd);
		return;
	}
	while ((entry = readdir(entries)))
		if (set_name_is_temporary(entry->d_name))
			unlinkat(folder->place.fd, entry->d_name, 0);
	closedir(entries);
}
