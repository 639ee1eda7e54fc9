/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/run_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"

/* The readable formats, those with most detail first. */
static const char *const endings[] = {".pb.gz", ".firefox.json", ".speedscope.json", ".folded"};

/* The index of its ending, with *@ret_stem the length before it; -1: not a profile. */
static int ending_of(const char *name, size_t *ret_stem)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t n_ending = strlen(endings[i]);

		if (n > n_ending && strcmp(name + n - n_ending, endings[i]) == 0) {
			*ret_stem = n - n_ending;
			return i;
		}
	}
	return -1;
}

/* Temporary files begin with a dot. */
static int is_profile(const struct dirent *entry)
{
	size_t stem;

	return entry->d_name[0] != '.' && ending_of(entry->d_name, &stem) >= 0;
}

/* Whether the same run exists in a better format. */
static bool has_better(struct dirent *const *entries, int n, const char *name)
{
	size_t stem, other_stem;
	int ending = ending_of(name, &stem);

	for (int i = 0; i < n; i++) {
		int other = ending_of(entries[i]->d_name, &other_stem);

		if (other < ending && other_stem == stem &&
		    strncmp(entries[i]->d_name, name, stem) == 0)
			return true;
	}
	return false;
}

static int add_path(struct run_files *files, char *path)
{
	int r = path ? array_reserve(files->paths, files->capacity, files->n, 1) : -ENOMEM;

	if (r < 0)
		free(path);
	else
		files->paths[files->n++] = path;
	return r;
}

static int add_profiles(struct run_files *files, const char *folder, struct dirent *const *entries,
			int n)
{
	for (int i = 0; i < n; i++) {
		char *path;
		int r;

		if (has_better(entries, n, entries[i]->d_name))
			continue;
		if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
			return -ENOMEM;
		r = add_path(files, path);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_folder(struct run_files *files, const char *folder, struct failure *failure)
{
	struct dirent **entries;
	size_t before = files->n;
	int n = scandir(folder, &entries, is_profile, alphasort), r;

	if (n < 0)
		return failure_set(failure, -errno, "cannot read %s: %s", folder, strerror(errno));
	r = add_profiles(files, folder, entries, n);
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	if (r < 0 || files->n > before)
		return r;
	return failure_set(failure, -ENOENT, "%s has no profiles in it: no .pb.gz, no .folded …",
			   folder);
}

int run_files_add(struct run_files *files, const char *path, struct failure *failure)
{
	struct stat status;

	if (strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return add_folder(files, path, failure);
	return add_path(files, strdup(path));
}

void run_files_done(struct run_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->paths[i]);
	free(files->paths);
	*files = (struct run_files){};
}
