/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/checkout.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/system.h"

#define MAX_REFERENCES 8 /* in a chain */
#define HEADS	       "refs/heads/"

/* The folders of the files. @common differs from @own if a repository has several work trees. */
struct repository {
	char own[PATH_MAX], common[PATH_MAX];
};

static bool is_commit(const char *text)
{
	size_t n = strspn(text, "0123456789abcdef");

	return (n == 40 || n == 64) && !text[n];
}

/* Joins @name to @folder, unless it is absolute. */
static int join(const char *folder, const char *name, char path[static PATH_MAX])
{
	int n = *name == '/' ? snprintf(path, PATH_MAX, "%s", name)
			     : snprintf(path, PATH_MAX, "%s/%s", folder, name);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int read_in(const char *folder, const char *name, char *text, size_t size)
{
	char path[PATH_MAX];
	int r = join(folder, name, path);

	return r < 0 ? r : read_text_file(path, text, size);
}

/* In additional work trees and submodules, `.git` is a file that names the folder. */
static int follow_file(const char *folder, const char *path, char own[static PATH_MAX])
{
	static const char key[] = "gitdir: ";
	char text[PATH_MAX];
	int r = read_text_file(path, text, sizeof text);

	if (r < 0)
		return r;
	if (strncmp(text, key, strlen(key)) != 0)
		return -ENOENT;
	return join(folder, text + strlen(key), own);
}

/* Returns 0, or -ENOENT if @folder is not the top of a work tree. */
static int open_repository(const char *folder, struct repository *repository)
{
	char path[PATH_MAX], common[PATH_MAX];
	struct stat status;
	int r = join(folder, ".git", path);

	if (r < 0)
		return r;
	if (stat(path, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		strcpy(repository->own, path);
	else if ((r = follow_file(folder, path, repository->own)) < 0)
		return r;
	if (read_in(repository->own, "commondir", common, sizeof common) == 0)
		return join(repository->own, common, repository->common);
	strcpy(repository->common, repository->own);
	return 0;
}

static int find_repository(const char *folder, struct repository *repository)
{
	_cleanup_free_ char *at = realpath(folder, NULL);
	char *slash;

	if (!at)
		return -errno;
	for (;;) {
		int r = open_repository(at, repository);

		if (r == 0 || (r != -ENOENT && r != -ENOTDIR && r != -EACCES))
			return r;
		slash = strrchr(at, '/');
		if (!slash)
			return -ENOENT;
		*slash = '\0';
	}
}

/* Reads the line `COMMIT NAME` of @name in packed-refs. */
static int read_packed(const struct repository *repository, const char *name,
		       char commit[static PATH_MAX])
{
	char path[PATH_MAX], *line = NULL;
	int r = join(repository->common, "packed-refs", path);
	size_t size = 0;
	FILE *stream;

	if (r < 0)
		return r;
	stream = fopen(path, "re");
	if (!stream)
		return errno == ENOENT ? -ENODATA : -errno;
	r = -ENODATA;
	while (r < 0 && getline(&line, &size, stream) > 0) {
		char *space = strchr(line, ' ');

		line[strcspn(line, "\n")] = '\0';
		if (!space || *line == '#' || *line == '^' || strcmp(space + 1, name) != 0)
			continue;
		*space = '\0';
		snprintf(commit, PATH_MAX, "%s", line);
		r = 0;
	}
	free(line);
	fclose(stream);
	return r;
}

/* A reference must not lead to files outside refs/. */
static bool is_reference(const char *name)
{
	return strncmp(name, "refs/", 5) == 0 && !strstr(name, "..");
}

static int read_reference(const struct repository *repository, const char *name,
			  char text[static PATH_MAX])
{
	int r;

	if (!is_reference(name))
		return -ENODATA;
	r = read_in(repository->own, name, text, PATH_MAX);
	if (r < 0)
		r = read_in(repository->common, name, text, PATH_MAX);
	return r < 0 ? read_packed(repository, name, text) : 0;
}

int checkout_read(const char *folder, struct checkout *ret)
{
	static const char key[] = "ref: ";
	struct repository repository;
	struct checkout checkout = {};
	char text[PATH_MAX];
	int r = find_repository(folder, &repository);

	r = r < 0 ? r : read_in(repository.own, "HEAD", text, sizeof text);
	for (int i = 0; i < MAX_REFERENCES && r == 0; i++) {
		char name[PATH_MAX];

		if (is_commit(text)) {
			strcpy(checkout.commit, text);
			*ret = checkout;
			return 0;
		}
		if (strncmp(text, key, strlen(key)) != 0)
			break;
		strcpy(name, text + strlen(key));
		if (i == 0 && strncmp(name, HEADS, strlen(HEADS)) == 0 &&
		    strlen(name) - strlen(HEADS) < sizeof checkout.branch)
			strcpy(checkout.branch, name + strlen(HEADS));
		r = read_reference(&repository, name, text);
	}
	return r < 0 ? r : -ENODATA;
}
