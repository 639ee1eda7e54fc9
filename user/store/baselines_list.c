/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/baselines.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system.h"

#define MAX_FACTS (4 << 20) /* bytes of baseline.json: more than the most runs take */
#define SHORT	  12	    /* digits of a commit in a message */

/* Called for each name in the folder that may be a key; a failure ends the listing. */
typedef int (*take_fn)(void *data, int at, const char *name);

static int each_key(int at, const char *path, take_fn take, void *data)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	struct failure ignored;
	struct dirent *entry;
	DIR *folder;

	if (fd < 0)
		return -errno;
	folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (entry = readdir(folder)))
		if (baselines_check_key("", entry->d_name, &ignored) == 0)
			r = take(data, fd, entry->d_name);
	closedir(folder);
	return r;
}

/* State while listing one name. */
struct listed_name {
	struct baselines_list *list;
	const char *name;
};

static void damage(struct baseline *baseline, const char *what, int error)
{
	snprintf(baseline->damage, sizeof baseline->damage, "%s: %s", what, strerror(-error));
}

/* Reads a regular file only: a cache may have restored anything. */
static int read_facts_file(int at, char **ret)
{
	_cleanup_close_ int fd =
		openat(at, "baseline.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	size_t n = 0;
	char *text;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if (status.st_size > MAX_FACTS)
		return -EFBIG;
	text = malloc(status.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (n < (size_t)status.st_size) {
		ssize_t got = read(fd, text + n, status.st_size - n);

		if (got <= 0)
			break;
		n += got;
	}
	text[n] = '\0';
	*ret = text;
	return 0;
}

static void check_runs(int at, struct baseline *baseline)
{
	for (size_t i = 0; i < baseline->n_runs; i++) {
		struct stat status;
		char name[32];

		snprintf(name, sizeof name, "run-%zu.pb.gz", i + 1);
		if (fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			damage(baseline, name, -errno);
		else if (!S_ISREG(status.st_mode))
			snprintf(baseline->damage, sizeof baseline->damage, "%s is not a file",
				 name);
		else if ((uint64_t)status.st_size != baseline->runs[i].bytes)
			snprintf(baseline->damage, sizeof baseline->damage,
				 "%s is not as large as baseline.json says", name);
		else
			continue;
		return;
	}
}

static int read_baseline(int at, struct baseline *baseline)
{
	_cleanup_free_ char *text = NULL;
	int r = read_facts_file(at, &text);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		damage(baseline, "baseline.json", r);
		return 0;
	}
	r = baseline_read(text, baseline);
	if (r == 0)
		check_runs(at, baseline);
	return r == -ENOMEM ? r : 0;
}

/* Whether @fd is still the folder called @name. */
static bool is_still(int fd, int at, const char *name)
{
	struct stat open, there;

	return fstat(fd, &open) == 0 && fstatat(at, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       open.st_ino == there.st_ino && open.st_dev == there.st_dev;
}

/*
 * Returns 0 with *@baseline read, damaged or not; -EAGAIN if it was replaced or removed meanwhile,
 * which makes the result invalid; -ENOENT if there is none; -ENOMEM.
 */
static int try_commit(struct baseline *baseline, int at)
{
	const char *commit = baseline->commit;
	_cleanup_close_ int fd =
		openat(at, commit, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return -ENOENT;
	if (fd < 0) {
		damage(baseline, "its folder", -errno);
		return 0;
	}
	r = read_baseline(fd, baseline);
	if (r < 0 || (*baseline->damage && !is_still(fd, at, commit))) {
		baseline_done(baseline);
		return r < 0 ? r : -EAGAIN;
	}
	return 0;
}

static int take_commit(void *data, int at, const char *commit)
{
	struct listed_name *listed = data;
	struct baselines_list *list = listed->list;
	struct baseline baseline;
	int r;

	do {
		baseline = (struct baseline){};
		baseline_copy(baseline.name, listed->name);
		baseline_copy(baseline.commit, commit);
		r = try_commit(&baseline, at);
	} while (r == -EAGAIN);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	r = array_add(list->items, list->capacity, list->n, baseline);
	if (r < 0)
		baseline_done(&baseline);
	return r;
}

/* If all names are listed, skips one that can't be read; a single name fails. */
static int take_name(void *data, int at, const char *name)
{
	struct listed_name listed = {.list = data, .name = name};
	int r = each_key(at, name, take_commit, &listed);

	return r == -ENOMEM ? r : 0;
}

static int take_only_name(struct baselines_list *list, int at, const char *name)
{
	struct listed_name listed = {.list = list, .name = name};
	int r = each_key(at, name, take_commit, &listed);

	return r == -ENOTDIR || r == -ELOOP ? -ENOENT : r;
}

static int by_age(const void *a, const void *b)
{
	const struct baseline *one = a, *other = b;
	bool is_damaged = *one->damage;
	int r;

	if (is_damaged != (*other->damage != '\0'))
		return is_damaged ? 1 : -1;
	if (one->saved_ns != other->saved_ns)
		return one->saved_ns < other->saved_ns ? 1 : -1;
	r = strcmp(one->name, other->name);
	return r ? r : strcmp(one->commit, other->commit);
}

int baselines_list(const char *folder, const char *name, struct baselines_list *ret,
		   struct failure *failure)
{
	struct baselines_list list = {};
	_cleanup_close_ int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (at < 0)
		r = -errno;
	else if (name)
		r = take_only_name(&list, at, name);
	else
		r = each_key(at, ".", take_name, &list);
	if (r < 0 && r != -ENOENT) {
		baselines_list_done(&list);
		return failure_set(failure, r, "cannot read %s%s%s: %s", folder, name ? "/" : "",
				   name ? name : "", strerror(-r));
	}
	if (list.n)
		qsort(list.items, list.n, sizeof *list.items, by_age);
	*ret = list;
	return 0;
}

void baselines_list_done(struct baselines_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		baseline_done(&list->items[i]);
	free(list->items);
	*list = (struct baselines_list){};
}

int baselines_run_paths(const char *folder, const struct baseline *baseline, char ***ret_paths)
{
	char **paths = calloc(baseline->n_runs, sizeof *paths);

	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < baseline->n_runs; i++) {
		if (asprintf(&paths[i], "%s/%s/%s/run-%zu.pb.gz", folder, baseline->name,
			     baseline->commit, i + 1) >= 0)
			continue;
		while (i-- > 0)
			free(paths[i]);
		free(paths);
		return -ENOMEM;
	}
	*ret_paths = paths;
	return 0;
}

/* Finding */

/* How well a baseline matches; commits win over branches, whole commits over beginnings. */
enum fit {
	FIT_NOT,
	FIT_NEWEST, /* matches several: take the newest */
	FIT_PART,   /* must be the only match */
	FIT_COMMIT,
};

static enum fit fit_of(const struct baseline *baseline, const struct baselines_wanted *wanted)
{
	const char *which = wanted->which;

	if (strcmp(baseline->name, wanted->name) != 0)
		return FIT_NOT;
	if (wanted->branch && strcmp(baseline->branch, wanted->branch) != 0)
		return FIT_NOT;
	if (!which)
		return FIT_NEWEST;
	if (strcmp(baseline->commit, which) == 0)
		return FIT_COMMIT;
	if (*which && strncmp(baseline->commit, which, strlen(which)) == 0)
		return FIT_PART;
	if (wanted->is_to_go || !*baseline->branch || strcmp(baseline->branch, which) != 0)
		return FIT_NOT;
	return FIT_NEWEST;
}

static int refuse_several(const struct baseline *one, const struct baseline *other,
			  const struct baselines_wanted *wanted, struct failure *failure)
{
	failure_set(failure, -EINVAL, "several commits of '%s' begin with '%s': %.*s, %.*s …",
		    wanted->name, wanted->which, SHORT + (int)strlen(wanted->which), one->commit,
		    SHORT + (int)strlen(wanted->which), other->commit);
	return failure_fix(failure, -EINVAL, "give more of it");
}

int baselines_find(const struct baselines_list *list, const struct baselines_wanted *wanted,
		   const struct baseline **ret, size_t *ret_n_skipped, struct failure *failure)
{
	const struct baseline *best = NULL, *second = NULL;
	enum fit best_fit = FIT_NOT;
	size_t n_skipped = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct baseline *baseline = &list->items[i];
		enum fit fit = fit_of(baseline, wanted);

		if (fit == FIT_NEWEST && *baseline->damage) {
			n_skipped++;
		} else if (fit > best_fit) {
			best = baseline;
			second = NULL;
			best_fit = fit;
		} else if (fit == FIT_PART && best_fit == FIT_PART) {
			second = second ? second : baseline;
		}
	}
	if (!best)
		return failure_set(failure, -ENOENT, "no baseline '%s%s%s'", wanted->name,
				   wanted->which ? "@" : "", wanted->which ? wanted->which : "");
	if (second)
		return refuse_several(best, second, wanted, failure);
	if (*best->damage && !wanted->is_to_go)
		return failure_set(failure, -EINVAL, "the baseline %s@%s is damaged: %s",
				   best->name, best->commit, best->damage);
	*ret = best;
	*ret_n_skipped = n_skipped;
	return 0;
}

int baselines_rotate(const char *folder, const struct baseline *saved, size_t keep, size_t *ret_n,
		     struct failure *failure)
{
	struct baselines_list list;
	size_t n = 1, n_removed = 0;
	int r = baselines_list(folder, saved->name, &list, failure);

	if (r < 0)
		return r;
	for (size_t i = 0; i < list.n; i++) {
		const struct baseline *baseline = &list.items[i];

		if (*baseline->damage || strcmp(baseline->branch, saved->branch) != 0 ||
		    strcmp(baseline->commit, saved->commit) == 0 || n++ < keep)
			continue;
		r = baselines_remove(folder, baseline, failure);
		if (r < 0)
			break;
		n_removed++;
	}
	baselines_list_done(&list);
	if (r == 0)
		*ret_n = n_removed;
	return r;
}
