/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a target's name in its temporary name: leaves room for the dots, our name and a pid. */
#define NAME_KEPT 200

static bool is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* The file that @path means, symbolic links followed, so that a link stays one. */
static int resolve(const char *path, char **ret_path)
{
	char *resolved = realpath(path, NULL);

	if (!resolved && errno == ENOENT)
		resolved = strdup(path);
	if (!resolved)
		return -errno;
	*ret_path = resolved;
	return 0;
}

/* Splits at the last slash: @ret_folder is the caller's to free. */
static int split(const char *path, char **ret_folder, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char *folder;

	if (!*name)
		return *path ? -EISDIR : -ENOENT;
	folder = slash ? strndup(path, slash - path + 1) : strdup("./");
	if (!folder)
		return -ENOMEM;
	*ret_folder = folder;
	*ret_name = name;
	return 0;
}

static int check_access(const char *path, int how)
{
	return faccessat(AT_FDCWD, path, how, AT_EACCESS) == 0 ? 0 : -errno;
}

/*
 * Says whether a file may be made at @path, which is resolved. @ret_mode is the mode of what is
 * there, 0 for nothing. A file that may not be written is not replaced either, though its folder
 * would allow that.
 */
static int check_target(const char *path, mode_t *ret_mode)
{
	struct stat target = {0};
	const char *name;
	char *folder;
	int r;

	if (stat(path, &target) == 0) {
		if (S_ISDIR(target.st_mode))
			return -EISDIR;
		r = check_access(path, W_OK);
		if (r < 0)
			return r;
	} else if (errno != ENOENT) {
		return -errno;
	}
	*ret_mode = target.st_mode;
	if (target.st_mode && !S_ISREG(target.st_mode))
		return 0;

	r = split(path, &folder, &name);
	if (r < 0)
		return r;
	r = check_access(folder, W_OK | X_OK);
	free(folder);
	return r;
}

int output_check(const char *path)
{
	char *resolved;
	mode_t mode;
	int r;

	if (is_stdout(path))
		return 0;
	r = resolve(path, &resolved);
	if (r < 0)
		return r;
	r = check_target(resolved, &mode);
	free(resolved);
	return r;
}

static int temporary_name(const char *path, char **ret)
{
	const char *name;
	char *folder;
	int r = split(path, &folder, &name);

	if (r < 0)
		return r;
	if (asprintf(ret, "%s.%.*s.bpfflame-%d", folder, NAME_KEPT, name, getpid()) < 0)
		r = -ENOMEM;
	free(folder);
	return r;
}

/* An empty file nobody else has; one that a dead process of our pid left behind is removed. */
static int create(const char *path)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = open(path, flags, 0666);

	if (fd < 0 && errno == EEXIST && unlink(path) == 0)
		fd = open(path, flags, 0666);
	return fd < 0 ? -errno : fd;
}

/* Fills in @output, whose path is set, for a target of @mode. */
static int open_target(struct output *output, mode_t mode)
{
	int r, fd;

	if (mode && !S_ISREG(mode)) {
		output->stream = fopen(output->path, "we");
		return output->stream ? 0 : -errno;
	}
	r = temporary_name(output->path, &output->temporary);
	if (r < 0)
		return r;
	fd = create(output->temporary);
	if (fd < 0) {
		free(output->temporary);
		output->temporary = NULL;
		return fd;
	}
	if (mode)
		(void)!fchmod(fd, mode & 0777);
	output->stream = fdopen(fd, "w");
	if (!output->stream) {
		close(fd);
		return -ENOMEM;
	}
	return 0;
}

int output_open(const char *path, struct output *ret)
{
	struct output output = {0};
	mode_t mode;
	int r;

	if (is_stdout(path)) {
		*ret = (struct output){.stream = stdout};
		return 0;
	}
	r = resolve(path, &output.path);
	if (r < 0)
		return r;
	r = check_target(output.path, &mode);
	if (r == 0)
		r = open_target(&output, mode);
	if (r < 0) {
		output_abort(&output);
		return r;
	}
	*ret = output;
	return 0;
}

/*
 * What writing to @stream failed with, or 0. The stream keeps only that a write failed; where
 * flushing what is left succeeds, one more byte (in a file that is given up) asks why.
 */
static int stream_error(FILE *stream)
{
	if (fflush(stream) != 0)
		return -errno;
	if (!ferror(stream))
		return 0;
	return write(fileno(stream), "\n", 1) < 0 ? -errno : -EIO;
}

int output_commit(struct output *output)
{
	int r = stream_error(output->stream);

	if (output->stream != stdout && fclose(output->stream) != 0 && r == 0)
		r = -errno;
	output->stream = NULL;
	if (r == 0 && output->temporary) {
		if (rename(output->temporary, output->path) == 0) {
			free(output->temporary);
			output->temporary = NULL;
		} else {
			r = -errno;
		}
	}
	output_abort(output);
	return r;
}

void output_abort(struct output *output)
{
	if (output->stream && output->stream != stdout)
		fclose(output->stream);
	if (output->temporary)
		unlink(output->temporary);
	free(output->temporary);
	free(output->path);
	*output = (struct output){0};
}
