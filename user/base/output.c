/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/system.h"

/*
 * Bytes of the target's name in its temporary name: leaves room for the dots, our name and the
 * digits.
 */
#define NAME_KEPT 200

/* For a descriptor's number. */
#define MOST_DIGITS 8

/* For temporary names: that many collisions are no coincidence. */
#define MOST_TRIES 8

/* How long a FIFO waits for its reader once the end was asked for, and between two looks. */
#define FIFO_PATIENCE_NS (2 * NSEC_PER_SEC)
#define FIFO_PAUSE_NS	 (NSEC_PER_SEC / 20)

#define FILE_FLAGS (O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY)

static mode_t file_mode = 0600;
static volatile sig_atomic_t is_hurried;

/* For output_leave(). */
static struct {
	const char *volatile temporary;
	struct place place;
} unfinished;

void output_set_mode(mode_t mode)
{
	file_mode = mode;
}

mode_t output_mode(void)
{
	return file_mode;
}

void output_hurry(void)
{
	is_hurried = true;
}

int output_descriptor(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		size_t n = strlen(folders[i]), n_digits;

		if (strncmp(path, folders[i], n) != 0)
			continue;
		n_digits = strspn(path + n, "0123456789");
		if (n_digits && n_digits < MOST_DIGITS && !path[n + n_digits])
			return atoi(path + n);
	}
	return -1;
}

/* Targets */

/* Accepts descriptors that we were started with: ours are closed at exec. */
static int check_descriptor(int fd)
{
	int flags = fcntl(fd, F_GETFL), own = fcntl(fd, F_GETFD);

	return flags < 0 || own & FD_CLOEXEC || (flags & O_ACCMODE) == O_RDONLY ? -EBADF : 0;
}

/* Whether only the owners of the file and of the folder can replace the file, as in /tmp. */
static bool is_kept(const struct stat *folder, const struct stat *file, bool as_owner)
{
	uid_t uid = owner_uid(as_owner);

	return folder->st_mode & S_ISVTX && uid != 0 && file->st_uid != uid &&
	       folder->st_uid != uid;
}

/*
 * Whether @file in @folder may be replaced, or written in place. A file that may not be written is
 * not replaced either, even if its folder would allow that; but files that root left in the owner's
 * folder are, since root called us.
 */
static int check_file(const struct place *place, const char *name, const struct stat *folder,
		      const struct stat *file)
{
	bool is_regular = S_ISREG(file->st_mode), as_owner = place->as_owner;
	bool is_trusted = owner_trusts(file->st_uid, as_owner);

	if (S_ISLNK(file->st_mode))
		return -OUTPUT_ELINK;
	if (S_ISDIR(file->st_mode))
		return -EISDIR;
	if (geteuid() == 0 && place_is_shared(folder, as_owner) &&
	    !(is_regular ? file->st_uid == owner_uid(as_owner) : is_trusted))
		return -OUTPUT_EOTHERS;
	/* Whoever made the FIFO reads what is written to it. */
	if (geteuid() == 0 && S_ISFIFO(file->st_mode) && !is_trusted)
		return -OUTPUT_EOTHERS;
	if (is_regular && is_kept(folder, file, as_owner))
		return -OUTPUT_EOTHERS;
	if (is_regular && as_owner && file->st_uid == 0)
		return 0;
	return faccessat(place->fd, name, W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* A place_check_fn: @data is a struct output_target with the name. */
static int check_target(const struct place *place, void *data)
{
	struct output_target *target = data;
	struct stat folder, file;
	int r;

	if (fstat(place->fd, &folder) < 0)
		return -errno;
	target->is_direct = false;
	if (fstatat(place->fd, target->name, &file, AT_SYMLINK_NOFOLLOW) == 0) {
		r = check_file(place, target->name, &folder, &file);
		if (r < 0)
			return r;
		target->is_direct = !S_ISREG(file.st_mode);
		target->is_fifo = S_ISFIFO(file.st_mode);
		target->device = file.st_dev;
		target->inode = file.st_ino;
	} else if (errno != ENOENT) {
		return -errno;
	}
	return target->is_direct ? 0 : place_check_writable(place, NULL);
}

/* Splits at the last slash; the caller frees both parts. */
static int split(const char *path, char **ret_folder, char **ret_name)
{
	const char *name = basename(path);
	char *folder, *copy;

	if (!*name)
		return *path ? -EISDIR : -ENOENT;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EISDIR;
	folder = strndup(path, name - path);
	copy = strdup(name);
	if (!folder || !copy) {
		free(folder);
		free(copy);
		return -ENOMEM;
	}
	*ret_folder = folder;
	*ret_name = copy;
	return 0;
}

int output_find(const char *path, struct output_target *ret)
{
	struct output_target target = {.descriptor = output_descriptor(path)};
	char *folder;
	int r;

	if (target.descriptor >= 0) {
		r = check_descriptor(target.descriptor);
		target.is_descriptor = true;
	} else {
		r = split(path, &folder, &target.name);
		if (r < 0)
			return r;
		r = place_open(folder, PLACE_FIND, check_target, &target, &target.place);
		free(folder);
	}
	if (r < 0)
		free(target.name);
	else
		*ret = target;
	return r;
}

static int check_as_owner(struct output_target *target)
{
	bool as_owner = target->place.as_owner;
	int r = owner_enter(as_owner);

	if (r < 0)
		return r;
	r = check_target(&target->place, target);
	owner_leave(as_owner);
	return r;
}

int output_find_in(const struct place *place, const char *name, struct output_target *ret)
{
	struct output_target target = {
		.name = strdup(name),
		.place = {fcntl(place->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), place->as_owner},
	};
	int r;

	if (!target.name)
		r = -ENOMEM;
	else if (target.place.fd < 0)
		r = -errno;
	else
		r = check_as_owner(&target);
	if (r < 0) {
		place_close(&target.place);
		free(target.name);
	} else {
		*ret = target;
	}
	return r;
}

void output_target_done(struct output_target *target)
{
	if (target->name)
		place_close(&target->place);
	free(target->name);
	*target = (struct output_target){};
}

/* Opening */

static int open_descriptor(int fd, struct output *output)
{
	int copy, r = check_descriptor(fd);

	if (r < 0)
		return r;
	if (fd == STDOUT_FILENO) {
		output->stream = stdout;
		return 0;
	}
	copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	output->stream = copy < 0 ? NULL : fdopen(copy, "w");
	r = output->stream ? 0 : -errno;
	if (r < 0)
		closep(&copy);
	return r;
}

static int temporary_name(const char *name, char **ret)
{
	uint64_t digits;
	int r = random_bytes(&digits, sizeof digits);

	if (r < 0)
		return r;
	return asprintf(ret, ".%.*s" OUTPUT_MARK "%016" PRIx64, NAME_KEPT, name, digits) < 0
		       ? -ENOMEM
		       : 0;
}

/* Gives the file a new temporary name through @make, which returns 0 or -errno. */
static int make_temporary(struct output *output, int (*make)(struct output *output))
{
	int r = -EEXIST;

	for (int i = 0; i < MOST_TRIES && r == -EEXIST; i++) {
		r = temporary_name(output->target->name, &output->temporary);
		if (r < 0)
			return r;
		unfinished.place = output->target->place;
		unfinished.temporary = output->temporary;
		r = make(output);
		if (r < 0) {
			unfinished.temporary = NULL;
			free(output->temporary);
			output->temporary = NULL;
		}
	}
	return r;
}

/* For file systems where files have names from the start. */
static int make_named(struct output *output)
{
	int fd = openat(output->target->place.fd, output->temporary, FILE_FLAGS | O_CREAT | O_EXCL,
			0600);

	if (fd < 0)
		return -errno;
	output->stream = fdopen(fd, "w");
	if (output->stream)
		return 0;
	close(fd);
	unlinkat(output->target->place.fd, output->temporary, 0);
	return -ENOMEM;
}

#define DESCRIPTOR_SIZE 32

static void descriptor_path(int fd, char path[static DESCRIPTOR_SIZE])
{
	snprintf(path, DESCRIPTOR_SIZE, "/proc/self/fd/%d", fd);
}

/* False: the file system can't, or there is no /proc to name it through. */
static bool make_unnamed(struct output *output)
{
	int fd = openat(output->target->place.fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	char path[DESCRIPTOR_SIZE];

	descriptor_path(fd, path);
	output->stream = copy < 0 || access(path, F_OK) < 0 ? NULL : fdopen(copy, "w");
	if (output->stream) {
		output->unnamed = fd;
		return true;
	}
	closep(&copy);
	closep(&fd);
	return false;
}

/* Waits until somebody reads it, if it is a FIFO. Returns the descriptor. */
static int open_in_place(const struct output_target *target)
{
	const struct timespec pause = {.tv_nsec = FIFO_PAUSE_NS};
	int flags = FILE_FLAGS | (target->is_fifo ? O_NONBLOCK : 0), fd;
	uint64_t waited_ns = 0;

	while ((fd = openat(target->place.fd, target->name, flags)) < 0) {
		if (errno != ENXIO || !target->is_fifo)
			return errno == ELOOP ? -OUTPUT_ELINK : -errno;
		if (is_hurried && waited_ns >= FIFO_PATIENCE_NS)
			return -OUTPUT_EUNREAD;
		nanosleep(&pause, NULL);
		waited_ns += FIFO_PAUSE_NS;
	}
	if (target->is_fifo)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

static int open_direct(struct output *output)
{
	const struct output_target *target = output->target;
	int fd = open_in_place(target);
	struct stat file;

	if (fd < 0)
		return fd;
	if (fstat(fd, &file) < 0 || file.st_dev != target->device || file.st_ino != target->inode) {
		close(fd);
		return -OUTPUT_EOTHERS;
	}
	output->stream = fdopen(fd, "w");
	if (!output->stream)
		close(fd);
	return output->stream ? 0 : -ENOMEM;
}

static int open_target(struct output *output)
{
	const struct output_target *target = output->target;
	struct stat folder;

	if (target->is_direct)
		return open_direct(output);
	if (fstat(target->place.fd, &folder) < 0 || folder.st_nlink == 0)
		return -ENOENT;
	if (!make_unnamed(output)) {
		int r = make_temporary(output, make_named);

		if (r < 0)
			return r;
	}
	return fchmod(fileno(output->stream), file_mode) < 0 ? -errno : 0;
}

/* Runs @run with the target's rights. */
static int run_as_owner(struct output *output, int (*run)(struct output *output))
{
	bool as_owner = output->target->place.as_owner;
	int r = owner_enter(as_owner);

	if (r < 0)
		return r;
	r = run(output);
	owner_leave(as_owner);
	return r;
}

int output_open(const struct output_target *target, struct output *ret)
{
	struct output output = {.target = target, .unnamed = -1};
	int r = target->is_descriptor ? open_descriptor(target->descriptor, &output)
				      : run_as_owner(&output, open_target);

	if (r < 0)
		output_abort(&output);
	else
		*ret = output;
	return r;
}

/* Ends */

int output_flush(FILE *stream)
{
	if (fflush(stream) != 0)
		return -errno;
	if (!ferror(stream))
		return 0;
	return write(fileno(stream), "\n", 1) < 0 ? -errno : -EIO;
}

static int link_as(const struct output *output, const char *name)
{
	char path[DESCRIPTOR_SIZE];

	descriptor_path(output->unnamed, path);
	return linkat(AT_FDCWD, path, output->target->place.fd, name, AT_SYMLINK_FOLLOW) < 0
		       ? -errno
		       : 0;
}

static int link_temporary(struct output *output)
{
	return link_as(output, output->temporary);
}

static void forget_temporary(struct output *output)
{
	if (output->temporary)
		unfinished.temporary = NULL;
	free(output->temporary);
	output->temporary = NULL;
}

/* linkat() replaces nothing. */
static int give_name(struct output *output)
{
	const struct output_target *target = output->target;
	int folder = target->place.fd;

	if (output->unnamed >= 0) {
		int r = link_as(output, target->name);

		if (r != -EEXIST)
			return r;
		r = make_temporary(output, link_temporary);
		if (r < 0)
			return r;
	}
	if (renameat(folder, output->temporary, folder, target->name) < 0)
		return -errno;
	forget_temporary(output);
	return 0;
}

int output_commit(struct output *output)
{
	int r = output_flush(output->stream);
	bool has_name = output->unnamed < 0 && !output->temporary;

	if (output->stream != stdout && fclose(output->stream) != 0 && r == 0)
		r = -errno;
	output->stream = NULL;
	if (r == 0 && !has_name)
		r = run_as_owner(output, give_name);
	output_abort(output);
	return r;
}

void output_abort(struct output *output)
{
	if (!output->target)
		return;
	if (output->stream && output->stream != stdout)
		fclose(output->stream);
	closep(&output->unnamed);
	if (output->temporary && owner_enter(output->target->place.as_owner) == 0) {
		unlinkat(output->target->place.fd, output->temporary, 0);
		owner_leave(output->target->place.as_owner);
	}
	forget_temporary(output);
	*output = (struct output){};
}

void output_leave(void)
{
	const char *temporary = unfinished.temporary;

	if (temporary && owner_enter(unfinished.place.as_owner) == 0)
		unlinkat(unfinished.place.fd, temporary, 0);
}

/* Errors */

const char *output_error(int error)
{
	switch (-error) {
	case OUTPUT_ELINK: return "it is a symbolic link";
	case OUTPUT_EOTHERS: return "what is there belongs to somebody else";
	case OUTPUT_EUNREAD: return "nobody reads it";
	case PLACE_ESHARED: return "others can write to its folder";
	case PLACE_ELED: return "a link or folder on the way there belongs to somebody else";
	case EOVERFLOW: return "a value in it is above 2^63 - 1, the most that its format holds";
	default: return strerror(-error);
	}
}

int output_fail(struct failure *failure, int error, const char *what, const char *path)
{
	failure_set(failure, error, "cannot %s %s: %s", what, path, output_error(error));
	switch (-error) {
	case OUTPUT_ELINK:
		return failure_fix(failure, error, "remove it, or name the file it leads to");
	case PLACE_ESHARED:
		return failure_fix(failure, error,
				   "chmod go-w or +t that, or name another: -o, --out-dir, --dir");
	case OUTPUT_EOTHERS:
	case PLACE_ELED:
		return failure_fix(failure, error,
				   "name a folder of your own: -o, --out-dir, --dir");
	case EFBIG:
		return failure_fix(failure, error,
				   "the size of files is limited: ulimit -f unlimited");
	default: return error;
	}
}

int output_write(const struct output_target *target, output_write_fn write, void *data)
{
	struct output output = {};
	int r = output_open(target, &output);

	if (r < 0)
		return r;
	r = write(data, output.stream);
	if (r < 0) {
		output_abort(&output);
		return r;
	}
	return output_commit(&output);
}
