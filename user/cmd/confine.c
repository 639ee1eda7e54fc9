/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/confine.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/confined.h"
#include "base/system.h"
#include "cli/cli.h"
#include "cli/store_input.h"
#include "cmd/cmd.h"

/* A signal that was meant for us, or a closed pipe, also ends us. */
static void end_by(int number)
{
	const int shared[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
		if (shared[i] == number) {
			signal(number, SIG_DFL);
			raise(number);
		}
}

static int report_death(const struct confine_files *files, int error, int number)
{
	const char *input = files->inputs[0].n ? files->inputs[0].paths[0]
			    : files->store     ? files->store
					       : "the input";
	struct failure failure = {};

	if (error == -ECHILD) {
		end_by(number);
		failure_set(&failure, error, "cannot go on with %s: the process that reads it %s",
			    input,
			    number == SIGKILL ? "was killed, maybe for lack of memory"
					      : "crashed, which is a bug in bpfflame");
	} else {
		failure_set(&failure, error, "cannot start a process to read %s: %s", input,
			    strerror(-error));
	}
	return cli_fail(&failure, EXIT_FAILED);
}

/* The stores that the work may read. */
struct stores {
	struct confined_folder *folders;
	size_t n, capacity;
};

static void stores_done(struct stores *stores)
{
	for (size_t i = 0; i < stores->n; i++) {
		listing_done(&stores->folders[i].files);
		free(stores->folders[i].path);
	}
	free(stores->folders);
}

static bool has_store(const struct stores *stores, const char *path)
{
	for (size_t i = 0; i < stores->n; i++)
		if (strcmp(stores->folders[i].path, path) == 0)
			return true;
	return false;
}

/* Takes over @path. */
static int add_store(struct stores *stores, char *path, struct failure *failure)
{
	_cleanup_free_ char *owned = path;
	struct confined_folder folder = {path};
	int r;

	if (!path || array_reserve(stores->folders, stores->capacity, stores->n, 1) < 0)
		return store_fail(-ENOMEM, path ? path : "", failure);
	if (has_store(stores, path))
		return 0;
	r = listing_read(path, store_is_segment, &folder.files);
	if (r < 0)
		return store_fail(r, path, failure);
	stores->folders[stores->n++] = folder;
	owned = NULL;
	return 0;
}

static int find_stores(const struct confine_files *files, struct stores *stores,
		       struct failure *failure)
{
	int r = files->store ? add_store(stores, strdup(files->store), failure) : 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < CONFINED_LISTS; i++)
		for (size_t k = 0; k < files->inputs[i].n; k++) {
			const char *path = files->inputs[i].paths[k];

			if (!store_input_is(path))
				continue;
			r = add_store(stores, store_input_folder(path), failure);
			if (r < 0)
				return r;
		}
	return 0;
}

static int run_confined(const struct confine_files *files, const struct stores *stores,
			int (*work)(void *data), void *data)
{
	struct confined confined = {
		.folders = stores->folders,
		.n_folders = stores->n,
		.serve = files->outputs ? output_files_serve : NULL,
		.context = files->outputs,
	};
	int code, number = 0;

	for (size_t i = 0; i < CONFINED_LISTS; i++) {
		confined.inputs[i].paths = files->inputs[i].paths;
		confined.inputs[i].n = files->inputs[i].n;
	}
	code = confined_run(&confined, work, data, &number);
	if (files->outputs)
		output_files_abort(files->outputs);
	return code < 0 ? report_death(files, code, number) : code;
}

int cmd_confine(const struct confine_files *files, int (*work)(void *data), void *data)
{
	struct failure failure = {};
	struct stores stores = {};
	int code = find_stores(files, &stores, &failure) < 0
			   ? cli_fail(&failure, EXIT_FAILED)
			   : run_confined(files, &stores, work, data);

	stores_done(&stores);
	return code;
}
