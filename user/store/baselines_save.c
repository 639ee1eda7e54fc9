/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/baselines.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system.h"
#include "base/utf8.h"

#define NEW	  ".new-"
#define OLD	  ".old-"
#define MAX_TRIES 10000 /* of names that others have */

/* What file systems, those of other systems too, and stores of artifacts refuse in names. */
static const char refused[] = "/\\:*?\"<>|@";

/* What is wrong with a key; NULL: nothing. */
static const char *fault_of_key(const char *key)
{
	size_t n = strlen(key);

	if (n == 0)
		return "is empty";
	if (n >= BASELINE_KEY_SIZE)
		return "is longer than 100 bytes";
	if (utf8_span(key) != n)
		return "is not UTF-8";
	for (const unsigned char *p = (const unsigned char *)key; *p; p++)
		if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0))
			return "has a control character in it";
	if (strpbrk(key, refused))
		return "has one of / \\ : * ? \" < > | @ in it";
	if (*key == '.' || *key == '-')
		return "begins with a dot or a dash";
	if (*key == ' ' || key[n - 1] == ' ' || key[n - 1] == '.')
		return "begins or ends with a space, or ends with a dot";
	return NULL;
}

int baselines_check_key(const char *what, const char *key, struct failure *failure)
{
	const char *fault = fault_of_key(key);

	if (!fault)
		return 0;
	/* What a terminal might obey is not repeated. */
	if (utf8_span(key) != strlen(key) || strstr(fault, "control") || strlen(key) > 200)
		return failure_set(failure, -EINVAL, "the %s %s", what, fault);
	return failure_set(failure, -EINVAL, "the %s '%s' %s", what, key, fault);
}

static char *path_of(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static int fail(struct failure *failure, int error, const char *what, const char *path)
{
	return failure_set(failure, error, "cannot %s %s: %s", what, path, strerror(-error));
}

/* Folders */

/* Makes the folder and those above it. */
static int make_folders(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *slash = copy + 1; *copy && (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		if (mkdir(copy, 0777) < 0 && errno != EEXIST)
			return -errno;
	}
	return mkdir(copy, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

/* Removes a folder @name of the folder @at, with the files in it: nothing else is in there. */
static int remove_folder(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *entry;
	DIR *folder;

	if (fd < 0)
		return unlinkat(at, name, 0) < 0 ? -errno : 0;
	folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)!unlinkat(fd, entry->d_name, 0);
	closedir(folder);
	return unlinkat(at, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* A folder `@prefix…` of the folder @at that nobody has: its name goes behind @path. */
static int make_unique(int at, const char *prefix, char name[static 40])
{
	for (int i = 0; i < MAX_TRIES; i++) {
		snprintf(name, 40, "%s%d-%d", prefix, getpid(), i);
		if (mkdirat(at, name, 0777) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/*
 * Opens the folder and locks it: *ret_fd holds both. Waits for whoever has it, which is not for
 * long. File systems that know no locks are used without. Errors: -ENOENT.
 */
static int lock_folder(const char *path, int *ret_fd)
{
	for (;;) {
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
		struct stat locked, there;

		if (fd < 0)
			return -errno;
		while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
			;
		/* Meanwhile it may have been removed, and made again. */
		r = fstat(fd, &locked) < 0 || stat(path, &there) < 0 ? -errno : 0;
		if (r == 0 && locked.st_ino == there.st_ino && locked.st_dev == there.st_dev) {
			*ret_fd = fd;
			return 0;
		}
		close(fd);
		if (r < 0)
			return r;
	}
}

/* The same for one that is made if it is not there. */
static int make_locked(const char *path, bool *ret_made, int *ret_fd)
{
	int r = -ENOENT;

	for (int i = 0; i < MAX_TRIES && r == -ENOENT; i++) {
		*ret_made = access(path, F_OK) < 0;
		r = make_folders(path);
		r = r < 0 ? r : lock_folder(path, ret_fd);
	}
	return r;
}

/* What dead processes left. @at is locked. */
static void remove_abandoned(int at)
{
	DIR *folder = fdopendir(fcntl(at, F_DUPFD_CLOEXEC, 0));
	struct dirent *entry;

	if (!folder)
		return;
	rewinddir(folder);
	while ((entry = readdir(folder))) {
		bool is_ours = strncmp(entry->d_name, NEW, strlen(NEW)) == 0 ||
			       strncmp(entry->d_name, OLD, strlen(OLD)) == 0;
		int fd = -1;

		if (is_ours)
			fd = openat(at, entry->d_name,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			remove_folder(at, entry->d_name);
		close(fd);
	}
	closedir(folder);
}

/* Saving */

static bool is_there(int at, const char *name)
{
	struct stat status;

	return fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static int refuse_second(const struct baselines_saving *saving, struct failure *failure)
{
	failure_set(failure, -EEXIST, "%s/%s is already there", saving->name_path, saving->target);
	return failure_mend(failure, -EEXIST, "add --replace to save it anew");
}

/* @at: the folder of the name, locked. */
static int begin(struct baselines_saving *saving, int at, struct failure *failure)
{
	char name[40];
	int r;

	if (!saving->replace && is_there(at, saving->target))
		return refuse_second(saving, failure);
	remove_abandoned(at);
	r = make_unique(at, NEW, name);
	if (r < 0)
		return fail(failure, r, "write in", saving->name_path);
	saving->path = path_of(saving->name_path, name);
	if (!saving->path) {
		unlinkat(at, name, AT_REMOVEDIR);
		return -ENOMEM;
	}
	saving->lock = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (saving->lock >= 0)
		(void)!flock(saving->lock, LOCK_EX | LOCK_NB);
	return 0;
}

int baselines_saving_begin(const char *folder, const char *name, const char *commit, bool replace,
			   struct baselines_saving *ret, struct failure *failure)
{
	struct baselines_saving saving = {.lock = -1, .replace = replace};
	_cleanup_close_ int at = -1;
	int r;

	saving.name_path = path_of(folder, name);
	saving.target = strdup(commit);
	if (!saving.name_path || !saving.target) {
		baselines_saving_abort(&saving);
		return -ENOMEM;
	}
	r = make_locked(saving.name_path, &saving.made_name, &at);
	if (r < 0)
		fail(failure, r, "make", saving.name_path);
	r = r < 0 ? r : begin(&saving, at, failure);
	if (r < 0) {
		baselines_saving_abort(&saving);
		return r;
	}
	*ret = saving;
	return 0;
}

static int write_file(const struct baselines_saving *saving, const char *path,
		      baselines_write_fn write, void *data, struct failure *failure)
{
	struct output output = {};
	int r = output_open(path, &output);

	r = r < 0 ? r : write(data, output.stream);
	r = r < 0 ? r : output_commit(&output);
	output_abort(&output);
	return r < 0 ? fail(failure, r, "write in", saving->name_path) : 0;
}

int baselines_saving_add(struct baselines_saving *saving, baselines_write_fn write, void *data,
			 uint64_t *ret_bytes, struct failure *failure)
{
	_cleanup_free_ char *path = NULL;
	char name[32];
	struct stat status;
	int r;

	snprintf(name, sizeof name, "run-%zu.pb.gz", saving->n_runs + 1);
	path = path_of(saving->path, name);
	if (!path)
		return -ENOMEM;
	r = write_file(saving, path, write, data, failure);
	if (r < 0)
		return r;
	if (stat(path, &status) < 0)
		return fail(failure, -errno, "read", path);
	saving->n_runs++;
	*ret_bytes = status.st_size;
	return 0;
}

static int write_facts(void *data, FILE *stream)
{
	baseline_write(data, stream);
	return 0;
}

/* Takes a folder out of sight and then away. @at is locked. */
static int discard(int at, const char *name)
{
	char old[40];
	int r = make_unique(at, OLD, old);

	/* Onto an empty folder, a folder can be renamed. */
	if (r == 0 && renameat(at, name, at, old) == 0)
		return remove_folder(at, old);
	if (r == 0)
		unlinkat(at, old, AT_REMOVEDIR);
	return remove_folder(at, name);
}

static int put_in_place(struct baselines_saving *saving, int at)
{
	const char *name = strrchr(saving->path, '/') + 1;
	int r = 0;

	if (is_there(at, saving->target)) {
		if (renameat2(at, name, at, saving->target, RENAME_EXCHANGE) == 0) {
			remove_folder(at, name);
			return 0;
		}
		/* A file system that can't, such as NFS: for a moment there is none. */
		r = discard(at, saving->target);
	}
	if (r == 0 && renameat(at, name, at, saving->target) < 0)
		r = -errno;
	return r;
}

int baselines_saving_commit(struct baselines_saving *saving, const struct baseline *facts,
			    struct failure *failure)
{
	_cleanup_free_ char *path = path_of(saving->path, "baseline.json");
	_cleanup_close_ int at = -1;
	int r = -ENOMEM;

	if (path)
		r = write_file(saving, path, write_facts, (void *)facts, failure);
	if (r < 0)
		return r;
	r = lock_folder(saving->name_path, &at);
	if (r == 0 && !saving->replace && is_there(at, saving->target))
		return refuse_second(saving, failure);
	r = r < 0 ? r : put_in_place(saving, at);
	if (r < 0)
		return fail(failure, r, "write in", saving->name_path);
	free(saving->path);
	saving->path = NULL;
	baselines_saving_abort(saving);
	return 0;
}

/* Unless somebody else has put something in there. */
static void remove_name(const char *path)
{
	_cleanup_close_ int at = -1;

	if (lock_folder(path, &at) == 0)
		rmdir(path);
}

void baselines_saving_abort(struct baselines_saving *saving)
{
	if (saving->path)
		remove_folder(AT_FDCWD, saving->path);
	if (saving->made_name && saving->path)
		remove_name(saving->name_path);
	if (saving->target && saving->lock >= 0)
		close(saving->lock);
	free(saving->name_path);
	free(saving->path);
	free(saving->target);
	*saving = (struct baselines_saving){.lock = -1};
}

int baselines_remove(const char *folder, const struct baseline *baseline, struct failure *failure)
{
	_cleanup_free_ char *path = path_of(folder, baseline->name);
	_cleanup_close_ int at = -1;
	int r = path ? lock_folder(path, &at) : -ENOMEM;

	if (r == -ENOENT)
		return 0;
	if (r == 0) {
		remove_abandoned(at);
		r = discard(at, baseline->commit);
	}
	if (r < 0 && r != -ENOENT)
		return failure_set(failure, r, "cannot remove %s/%s/%s: %s", folder, baseline->name,
				   baseline->commit, strerror(-r));
	rmdir(path);
	return 0;
}
