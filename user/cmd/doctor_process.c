/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign.h"
#include "base/reader.h"
#include "base/system.h"
#include "collect/maps.h"
#include "collect/targets.h"
#include "record/unnamed.h"
#include "runtimes/runtime.h"
#include "symbol/names_job.h"
#include "unwind/table_job.h"

#define N_ADDRESSES 64 /* addresses to look up in each file */
#define PATIENCE_NS (5 * NSEC_PER_SEC)
#define MOST_FILES  1000

struct examination {
	uint32_t pid;
	int root; /* of the process */
	struct reader reader;
	struct findings *findings;
};

static bool wait_for_reader(void *context, uint64_t quiet_ns)
{
	(void)context;
	return quiet_ns < PATIENCE_NS;
}

/* Findings about a file's functions, at addresses inside one. */
struct census {
	int error;
	unsigned int n, n_named;
};

/*
 * An unnamed address is in a function if another address is returned for it: the function's start.
 * All are in one segment: virtual addresses have the same distance from offsets.
 */
static struct census take_census(const struct names_question *question,
				 const struct file_names *names)
{
	struct census census = {.error = names->error};
	int64_t bias = INT64_MIN;

	for (size_t i = 0; i < names->n; i++)
		if ((int64_t)(names->items[i].address - question->addresses[i]) > bias)
			bias = names->items[i].address - question->addresses[i];
	for (size_t i = 0; i < names->n; i++) {
		bool is_named = names->items[i].name;

		census.n_named += is_named;
		census.n += is_named ||
			    names->items[i].address != question->addresses[i] + (uint64_t)bias;
	}
	return census;
}

static struct census count_named(struct examination *examination, const struct maps_entry *entry,
				 int fd)
{
	struct debug_places places = {.file = fd, .root = examination->root, .symfs = -1};
	uint64_t addresses[N_ADDRESSES], step = (entry->end - entry->start) / N_ADDRESSES;
	const struct names_question question = {
		.addresses = addresses, .n = N_ADDRESSES, .no_inline = true};
	struct census census = {};
	struct file_names names = {};
	struct strings strings = {};
	struct debug_place place;
	char real[PATH_MAX];
	int r;

	for (size_t i = 0; i < N_ADDRESSES; i++)
		addresses[i] = entry->offset + i * step;
	debug_place_init(&places, entry->name.path, real, &place);
	r = strings_init(&strings);
	if (r == 0)
		r = names_job_file(&examination->reader, &question, &place, wait_for_reader, NULL,
				   &strings, &names);
	census = r < 0 ? (struct census){.error = r} : take_census(&question, &names);
	file_names_done(&names);
	strings_done(&strings);
	return census;
}

/* Whether the functions that a runtime runs will be seen. */
static void add_runtime(struct examination *examination, const struct maps_entry *entry,
			const struct table_result *result)
{
	struct runtime_facts facts;
	char name[64];

	if (result->n_extra != sizeof facts)
		return;
	memcpy(&facts, result->extra, sizeof facts);
	if (!runtime_is_sound(&facts))
		return;
	runtime_name(&facts, name, sizeof name);
	findings_add(examination->findings, facts.problem ? FINDING_WARN : FINDING_OK, "runtime",
		     facts.problem ? "%s: %s: native frames only, %s"
				   : "%s: %s: its functions are in stacks%s",
		     entry->name.path, name, runtime_problem_text(&facts));
}

/* Whether stacks go through it. Errors: the reason if not. */
static int check_unwinding(struct examination *examination, const struct maps_entry *entry, int fd)
{
	const struct table_question question = {
		.file = fd,
		.path = entry->name.path,
		.root = examination->root,
		.debug = &names_job_debug,
		.wait = wait_for_reader,
	};
	struct table_result result = {};
	int r = table_job_call(&examination->reader, &question, &result);

	if (r == 0) {
		add_runtime(examination, entry, &result);
		r = result.error;
	}
	unwind_table_done(&result.table);
	return r;
}

static void add_file(struct examination *examination, const struct maps_entry *entry,
		     struct census census, int unwinding)
{
	const char *name = basename(entry->name.path);
	bool has_names = 2 * census.n_named > census.n, can_unwind = unwinding == 0;
	struct finding *finding = findings_add(
		examination->findings, has_names && can_unwind ? FINDING_OK : FINDING_WARN, name,
		"%s: %s; %s", entry->name.path,
		census.error < 0 ? "could not be read"
		: has_names	 ? "functions have names"
		: census.n_named ? "few functions have names"
				 : "functions have no names",
		can_unwind ? "stacks go through it"
			   : "no unwind information: frame pointers, or stacks end");

	if (finding && !census.error && !has_names && unnamed_is_microsofts(entry->name.path))
		snprintf(finding->fix, sizeof finding->fix,
			 "none: Microsoft builds it, no distribution has its symbols");
	else if (finding && !census.error && !has_names)
		snprintf(finding->fix, sizeof finding->fix,
			 "its debug symbols: NAME-dbgsym or -debuginfo of its package (dpkg -S "
			 "%.128s names it), or DEBUGINFOD_URLS",
			 entry->name.path);
}

static int open_mapped(const struct examination *examination, const struct maps_entry *entry)
{
	_cleanup_close_ int place = foreign_find_mapped(examination->pid, entry->start, entry->end);

	if (place < 0)
		return place;
	return foreign_open_found(place);
}

static void examine(struct examination *examination, const struct maps_entry *entry)
{
	_cleanup_close_ int fd = open_mapped(examination, entry);

	if (fd < 0) {
		findings_add(examination->findings, FINDING_WARN, "file", "%s: can't be opened: %s",
			     entry->name.path, strerror(-fd));
		return;
	}
	add_file(examination, entry, count_named(examination, entry, fd),
		 check_unwinding(examination, entry, fd));
}

/* Whether @a is an earlier entry of the list for the same file. */
static bool is_same_file(const struct maps_entry *a, const struct maps_entry *b)
{
	return a->name.inode == b->name.inode && a->name.device_major == b->name.device_major &&
	       a->name.device_minor == b->name.device_minor;
}

int doctor_process(uint32_t pid, struct findings *findings, struct failure *failure)
{
	struct examination examination = {
		.pid = maps_thread(pid), .reader = READER_NONE, .findings = findings};
	_cleanup_free_ struct maps_entry *seen = calloc(MOST_FILES, sizeof *seen);
	_cleanup_free_ char *text = NULL;
	char path[64], *line, *rest;
	size_t size, n = 0;
	int r = targets_check(&(struct collect_options){.pids = &pid, .n_pids = 1}, failure);

	if (r < 0)
		return r;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", examination.pid);
	r = seen ? read_whole_file(path, &text, &size) : -ENOMEM;
	if (r < 0)
		return failure_set(failure, r, "cannot look at process %" PRIu32 ": %s", pid,
				   strerror(-r));
	examination.root = foreign_find_root(examination.pid);
	for (rest = text; n < MOST_FILES && (line = strsep(&rest, "\n"));) {
		struct maps_entry *entry = &seen[n];
		size_t i = 0;

		if (!maps_parse(line, entry) || !entry->is_executable || !entry->name.inode)
			continue;
		while (i < n && !is_same_file(&seen[i], entry))
			i++;
		if (i == n)
			examine(&examination, &seen[n++]);
	}
	reader_stop(&examination.reader);
	closep(&examination.root);
	return 0;
}
