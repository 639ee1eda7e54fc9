/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as a whole recording: the kernel's records of processes that fork, exec, map
 * files and end, in any order and at any time, and the counted stacks between them. Recorded
 * programs choose names, addresses and times. Must not crash, hang or leak. Mappings of a process
 * never overlap, samples add up, and the resulting folded file is read back with the same total.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/locate.h"
#include "collect/timeline.h"
#include "export/export.h"
#include "input/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Above all possible ids, so that /proc knows nothing about them. */
#define FIRST_PID 0x7f000000u
#define N_PIDS	  8
#define MAX_OPS	  4096

struct bytes {
	const uint8_t *next, *end;
};

/* Returns 0 when the input is used up. */
static uint64_t take(struct bytes *bytes, size_t n)
{
	uint64_t value = 0;

	for (; n && bytes->next < bytes->end; n--)
		value = value << 8 | *bytes->next++;
	return value;
}

struct scene {
	struct processes processes;
	struct timeline timeline;
	struct raw_stacks stacks;
	struct wakers wakers;
	struct locator locator;
	uint64_t n_samples;
};

static int on_snapshot(void *context, const struct bf_snapshot_event *event)
{
	for (uint64_t i = 0; i < event->memory_bytes; i++)
		if (event->memory[i] > 0xff)
			abort();
	return 0;
}

static uint32_t take_pid(struct bytes *bytes)
{
	return FIRST_PID + take(bytes, 1) % N_PIDS;
}

static void add_record(struct scene *scene, struct bytes *bytes)
{
	static const char *const paths[] = {"//anon", "", "[vdso]", "/no/such/file", "[heap]",
					    "/memfd:x (deleted)", "/SYSV00000000",
					    "/a;b\n\x1b[31m</script>"};
	struct record record = {.type = take(bytes, 1) % N_RECORD_TYPES, .pid = take_pid(bytes)};

	record.time = take(bytes, 2);
	record.mapped.start = take(bytes, 2) << 12;
	record.mapped.end = record.mapped.start + (take(bytes, 1) << 12);
	record.mapped.offset = take(bytes, 1) << 12;
	record.mapped.is_executable = true;
	record.mapped.name.path = paths[take(bytes, 1) % 8];
	record.mapped.name.inode = take(bytes, 1);
	if (timeline_add_record(&scene->timeline, &scene->processes, &record) < 0)
		abort();
}

static void add_process(struct scene *scene, struct bytes *bytes)
{
	const struct bf_process_event event = {
		.type = take(bytes, 1) & 1 ? BF_EVENT_FORK : BF_EVENT_EXIT,
		.pid = take_pid(bytes),
		.parent_pid = take_pid(bytes),
		.exec_id = take(bytes, 1) % 4,
		.start = take(bytes, 1) % 4,
		.time = take(bytes, 2),
	};

	if (timeline_add_process(&scene->timeline, &event) < 0)
		abort();
}

static void add_snapshot(struct scene *scene, struct bytes *bytes)
{
	size_t n = take(bytes, 1);
	struct bf_snapshot_event *event = calloc(1, sizeof *event + n);

	*event = (struct bf_snapshot_event){.type = BF_EVENT_SNAPSHOT,
					    .pid = take_pid(bytes),
					    .time = take(bytes, 2),
					    .memory_start = take(bytes, 8),
					    .memory_bytes = n,
					    .n_returns = take(bytes, 8)};
	for (size_t i = 0; i < BF_SNAPSHOT_RETURNS; i++)
		event->returns[i].at = event->memory_start + (int8_t)take(bytes, 1);
	if (timeline_add_snapshot(&scene->timeline, event) < 0)
		abort();
	free(event);
}

static void add_stack(struct scene *scene, struct bytes *bytes)
{
	__u64 frames[BF_MAX_FRAMES];
	uint64_t id = take(bytes, 1), n = take(bytes, 1) % (BF_MAX_FRAMES + 1);

	for (uint64_t i = 0; i < n; i++)
		frames[i] = take(bytes, 3);
	if (raw_stacks_add(&scene->stacks, id, take(bytes, 2), frames, n, take(bytes, 1) % 4) < 0)
		abort();
}

static void add_row(struct scene *scene, struct bytes *bytes)
{
	struct bf_count_key key = {.pid = take_pid(bytes),
				   .process_start = take(bytes, 1) % 4,
				   .exec_id = take(bytes, 1) % 4,
				   .user_stack = take(bytes, 1),
				   .kernel_stack = take(bytes, 1),
				   .kernel_thread = take(bytes, 1) & 1};
	const struct bf_count count = {.samples = take(bytes, 2), .nanoseconds = 1};

	for (size_t i = 0; i + 1 < sizeof key.comm; i++)
		key.comm[i] = take(bytes, 1);
	if (locate(&scene->locator, &key, &count) < 0)
		abort();
	scene->n_samples += count.samples;
}

static void check_mappings(const struct processes *processes)
{
	for (uint32_t pid = FIRST_PID; pid < FIRST_PID + N_PIDS; pid++) {
		uint32_t process = processes_latest(processes, pid);
		const struct mapping_list *list;

		if (process == TABLE_NONE)
			continue;
		list = processes->processes[process].mappings;
		for (size_t i = 1; i < list->n; i++)
			if (list->items[i].start < list->items[i - 1].end ||
			    list->items[i].start >= list->items[i].end)
				abort();
	}
}

static void do_one(struct scene *scene, struct bytes *bytes)
{
	switch (take(bytes, 1) % 8) {
	case 0:
	case 1: add_record(scene, bytes); break;
	case 2: add_process(scene, bytes); break;
	case 3: add_snapshot(scene, bytes); break;
	case 4: add_stack(scene, bytes); break;
	case 5: add_row(scene, bytes); break;
	case 6:
		if (timeline_apply(&scene->timeline, &scene->processes, take(bytes, 2), on_snapshot,
				   scene) < 0)
			abort();
		check_mappings(&scene->processes);
		break;
	default:
		if (processes_sweep(&scene->processes) < 0)
			abort();
		raw_stacks_age(&scene->stacks);
		break;
	}
}

/* Its samples add up to the number counted. */
static void check_total(const struct profile *profile, uint64_t n_samples)
{
	uint64_t total = 0;

	for (size_t i = 0; i < profile->n_samples; i++)
		total += profile->samples[i].count;
	if (total != n_samples)
		abort();
}

static void check_folded(struct profile *profile, uint64_t n_samples)
{
	const struct stacks_options options = {};
	struct input_options reading = {};
	struct failure failure = {};
	struct input input;
	char path[] = "/dev/shm/fuzz_recording_XXXXXX";
	int fd = mkstemp(path);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");

	if (!stream || export_folded(profile, &options, stream) < 0 || fclose(stream) != 0 ||
	    input_init(&input, &reading) < 0)
		abort();
	/* A profile without samples has no lines. */
	if (n_samples) {
		if (input_read(&input, path, &failure) < 0)
			abort();
		check_total(input.profile, n_samples);
	}
	input_done(&input);
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct bytes bytes = {data, data + n};
	struct profile *profile;
	struct scene scene = {};
	uint32_t first;

	if (profile_new(PROFILE_ONCPU, &profile) < 0)
		abort();
	processes_init(&scene.processes);
	if (processes_add(&scene.processes, FIRST_PID, 0, 0, &first) < 0)
		abort();
	locator_init(&scene.locator, &scene.processes, &scene.stacks, &scene.wakers, profile, true);
	for (size_t i = 0; i < MAX_OPS && bytes.next < bytes.end; i++)
		do_one(&scene, &bytes);
	check_total(profile, scene.n_samples);
	check_folded(profile, scene.n_samples);
	timeline_done(&scene.timeline);
	locator_done(&scene.locator);
	profile_free(profile);
	raw_stacks_done(&scene.stacks);
	wakers_done(&scene.wakers);
	processes_done(&scene.processes);
	return 0;
}
