/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/baselines.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/system.h"
#include "base/utf8.h"
#include "store/lock_file.h"

#define NEW	   ".new-"
#define OLD	   ".old-"
#define MOST_TRIES 8	 /* of random names */
#define MAX_TRIES  10000 /* for a folder that others keep removing */

/* Characters that file systems, also of other systems, and artifact stores refuse in names. */
static const char refused[] = "/\\:*?\"<>|@";

/* Returns what is wrong with a key; NULL: nothing. */
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
			return "contains a control character";
	if (strpbrk(key, refused))
		return "contains one of / \\ : * ? \" < > | @";
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
	/* Don't repeat characters that a terminal might obey. */
	if (utf8_span(key) != strlen(key) || strstr(fault, "control") || strlen(key) > 200)
		return failure_set(failure, -EINVAL, "the %s %s", what, fault);
	return failure_set(failure, -EINVAL, "the %s '%s' %s", what, key, fault);
}

static char *path_of(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* Folders */

/* Removes the folder @name in @at and the files in it; it has no subfolders. */
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

/* Makes a folder with a new name `@prefix…` in @at, with the rights of @at. */
static int make_unique(int at, const char *prefix, char name[static BASELINE_ENTRY_SIZE])
{
	for (int i = 0; i < MOST_TRIES; i++) {
		uint64_t digits;
		int r = random_bytes(&digits, sizeof digits);

		if (r < 0)
			return r;
		snprintf(name, BASELINE_ENTRY_SIZE, "%s%016" PRIx64, prefix, digits);
		if (mkdirat(at, name, place_folder_mode()) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Opens FOLDER/NAME and locks it. Errors: -ENOENT, those of place_open(), lock_file_take(). */
static int open_locked(const char *path, enum place_make make, struct place *ret, int *ret_lock)
{
	struct place place;
	int r = place_open(path, make, place_check_writable, NULL, &place);

	if (r < 0)
		return r;
	r = lock_file_take(&place, true, ret_lock);
	if (r < 0)
		place_close(&place);
	else
		*ret = place;
	return r;
}

/* The same, but makes it if it is missing, again if somebody removed it meanwhile. */
static int make_locked(const char *path, bool *ret_made, struct place *ret, int *ret_lock)
{
	int r = -ENOENT;

	for (int i = 0; i < MAX_TRIES && r == -ENOENT; i++) {
		*ret_made = access(path, F_OK) < 0;
		r = open_locked(path, PLACE_MAKE_ALL, ret, ret_lock);
	}
	return r;
}

/* Removes the leftovers of dead processes. @at is locked. */
static void remove_abandoned(int at)
{
	int listed = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = listed < 0 ? NULL : fdopendir(listed);
	struct dirent *entry;

	if (!folder) {
		closep(&listed);
		return;
	}
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

/* Runs @act with the rights of the folder's owner. */
static int with_rights(struct baselines_saving *saving, int (*act)(struct baselines_saving *saving),
		       struct failure *failure)
{
	int r = owner_enter(saving->place.as_owner);

	if (r == 0) {
		r = act(saving);
		owner_leave(saving->place.as_owner);
	}
	return r < 0 ? output_fail(failure, r, "write in", saving->name_path) : 0;
}

static int refuse_second(const struct baselines_saving *saving, struct failure *failure)
{
	failure_set(failure, -EEXIST, "%s/%s is already there", saving->name_path, saving->target);
	return failure_fix(failure, -EEXIST, "add --replace to save it anew");
}

/* Runs in the locked folder of the name, with its rights. */
static int begin_entry(struct baselines_saving *saving)
{
	int at = saving->place.fd, r;

	remove_abandoned(at);
	r = make_unique(at, NEW, saving->entry);
	if (r < 0) {
		saving->entry[0] = '\0';
		return r;
	}
	saving->lock = openat(at, saving->entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (saving->lock < 0)
		return -errno;
	(void)!flock(saving->lock, LOCK_EX | LOCK_NB);
	return 0;
}

int baselines_saving_begin(const char *folder, const char *name, const char *commit, bool replace,
			   struct baselines_saving *ret, struct failure *failure)
{
	struct baselines_saving saving = {.place = PLACE_NONE, .lock = -1, .replace = replace};
	int r, lock = -1;

	saving.name_path = path_of(folder, name);
	saving.target = strdup(commit);
	if (!saving.name_path || !saving.target) {
		baselines_saving_abort(&saving);
		return -ENOMEM;
	}
	r = make_locked(saving.name_path, &saving.made_name, &saving.place, &lock);
	if (r < 0)
		output_fail(failure, r, "write in", saving.name_path);
	else if (!replace && is_there(saving.place.fd, commit))
		r = refuse_second(&saving, failure);
	else
		r = with_rights(&saving, begin_entry, failure);
	lock_file_release(&saving.place, lock);
	if (r < 0) {
		baselines_saving_abort(&saving);
		return r;
	}
	*ret = saving;
	return 0;
}

/* *@ret_bytes: the file's size. */
static int write_file(const struct baselines_saving *saving, const char *name,
		      output_write_fn write, void *data, uint64_t *ret_bytes,
		      struct failure *failure)
{
	struct place new = {saving->lock, saving->place.as_owner};
	struct output_target target;
	struct stat status;
	int r = output_find_in(&new, name, &target);

	if (r == 0) {
		r = output_write(&target, write, data);
		output_target_done(&target);
	}
	if (r == 0 && fstatat(saving->lock, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r < 0)
		return output_fail(failure, r, "write in", saving->name_path);
	*ret_bytes = status.st_size;
	return 0;
}

int baselines_saving_add(struct baselines_saving *saving, output_write_fn write, void *data,
			 uint64_t *ret_bytes, struct failure *failure)
{
	char name[32];
	int r;

	snprintf(name, sizeof name, "run-%zu.pb.gz", saving->n_runs + 1);
	r = write_file(saving, name, write, data, ret_bytes, failure);
	saving->n_runs += r == 0;
	return r;
}

static int write_facts(void *data, FILE *stream)
{
	baseline_write(data, stream);
	return 0;
}

/* Renames a folder out of the way, then removes it. @at is locked. */
static int discard(int at, const char *name)
{
	char old[BASELINE_ENTRY_SIZE];
	int r = make_unique(at, OLD, old);

	/* A folder can be renamed onto an empty folder. */
	if (r == 0 && renameat(at, name, at, old) == 0)
		return remove_folder(at, old);
	if (r == 0)
		unlinkat(at, old, AT_REMOVEDIR);
	return remove_folder(at, name);
}

/* Runs in the locked folder of the name, with its rights. */
static int put_in_place(struct baselines_saving *saving)
{
	const char *name = saving->entry;
	int at = saving->place.fd;

	if (is_there(at, saving->target)) {
		int r;

		if (renameat2(at, name, at, saving->target, RENAME_EXCHANGE) == 0) {
			remove_folder(at, name);
			return 0;
		}
		/* File systems without exchange, such as NFS, have none for a moment. */
		r = discard(at, saving->target);
		if (r < 0)
			return r;
	}
	return renameat(at, name, at, saving->target) < 0 ? -errno : 0;
}

int baselines_saving_commit(struct baselines_saving *saving, const struct baseline *facts,
			    struct failure *failure)
{
	uint64_t bytes;
	int lock, r;

	r = write_file(saving, "baseline.json", write_facts, (void *)facts, &bytes, failure);
	if (r < 0)
		return r;
	r = lock_file_take(&saving->place, true, &lock);
	if (r < 0)
		return output_fail(failure, r, "write in", saving->name_path);
	if (!saving->replace && is_there(saving->place.fd, saving->target))
		r = refuse_second(saving, failure);
	else
		r = with_rights(saving, put_in_place, failure);
	lock_file_release(&saving->place, lock);
	if (r < 0)
		return r;
	saving->entry[0] = '\0';
	baselines_saving_abort(saving);
	return 0;
}

/* Removes the folder of a name, unless somebody has put something into it. */
static void remove_name(const char *name_path)
{
	const char *name = strrchr(name_path, '/') + 1;
	_cleanup_free_ char *folder = strndup(name_path, name - name_path);
	struct place place;

	if (!folder || place_open(folder, PLACE_FIND, place_check_writable, NULL, &place) < 0)
		return;
	if (owner_enter(place.as_owner) == 0) {
		unlinkat(place.fd, name, AT_REMOVEDIR);
		owner_leave(place.as_owner);
	}
	place_close(&place);
}

void baselines_saving_abort(struct baselines_saving *saving)
{
	bool is_begun = saving->target && saving->entry[0];

	if (is_begun && owner_enter(saving->place.as_owner) == 0) {
		remove_folder(saving->place.fd, saving->entry);
		owner_leave(saving->place.as_owner);
	}
	if (is_begun && saving->made_name)
		remove_name(saving->name_path);
	if (saving->target) {
		closep(&saving->lock);
		place_close(&saving->place);
	}
	free(saving->name_path);
	free(saving->target);
	*saving = BASELINES_SAVING_NONE;
}

static int remove_locked(const struct place *place, const char *commit)
{
	int r = owner_enter(place->as_owner);

	if (r < 0)
		return r;
	remove_abandoned(place->fd);
	r = discard(place->fd, commit);
	owner_leave(place->as_owner);
	return r;
}

int baselines_remove(const char *folder, const struct baseline *baseline, struct failure *failure)
{
	_cleanup_free_ char *path = path_of(folder, baseline->name);
	struct place place;
	int lock, r = path ? open_locked(path, PLACE_FIND, &place, &lock) : -ENOMEM;

	if (r == -ENOENT)
		return 0;
	if (r == 0) {
		r = remove_locked(&place, baseline->commit);
		lock_file_release(&place, lock);
		place_close(&place);
	}
	if (r < 0 && r != -ENOENT)
		return failure_set(failure, r, "cannot remove %s/%s/%s: %s", folder, baseline->name,
				   baseline->commit, output_error(r));
	remove_name(path);
	return 0;
}
