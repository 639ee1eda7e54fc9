/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/filter.h"
#include "collect/locate.h"
#include "collect/timeline.h"

static void globs_match_as_fnmatch_does(void **state)
{
	static const char *const patterns[] = {
		"python3", "py*",  "*",	    "?",      "*on*", "p?t*3",	   "[a-p]ython*", "[!p]*",
		"**a**",   "a*b*", "*.so*", "\\*lit", "",     "kworker/*", "[]x]y",	  "a[b-]c",
	};
	static const char *const texts[] = {
		"python3", "python",	  "p",	 "",	     "*lit", "xlit", "kworker/0:1", "aXbYb",
		"ab",	   "libfoo.so.1", "zon", "qython33", "]y",   "xy",   "a-c",	    "abc",
	};

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		struct bf_glob glob;

		assert_int_equal(glob_compile(patterns[i], &glob), 0);
		for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
			if (glob_matches(&glob, texts[k]) !=
			    (fnmatch(patterns[i], texts[k], 0) == 0))
				fail_msg("'%s' against '%s'", patterns[i], texts[k]);
		}
	}
}

static void bad_globs_are_refused(void **state)
{
	struct bf_glob glob;

	assert_int_equal(glob_compile("[abc", &glob), -EINVAL);
	/* The kernel keeps 15 bytes of a name. */
	assert_int_equal(glob_compile("containerd-shim-runc-v2", &glob), -E2BIG);
	assert_int_equal(glob_compile("containerd-shim-", &glob), -E2BIG);
	assert_int_equal(glob_compile("containerd-shi[ln]?", &glob), -E2BIG);
	assert_int_equal(glob_compile("containerd-sh[il]*", &glob), 0);
	assert_int_equal(glob_compile("containerd-shim", &glob), 0);
	assert_true(glob_matches(&glob, "containerd-shim"));
}

/* Maps memory under a name of its own, as if it were file @number. */
static struct mapping make_mapping(struct processes *processes, uint64_t start, uint64_t end,
				   uint64_t offset, uint32_t number)
{
	struct mapping mapping = {.start = start, .end = end, .offset = offset};
	char path[32];
	const struct file_name name = {.path = path};

	snprintf(path, sizeof path, "[%u]", number);
	assert_int_equal(files_get(&processes->files, &name, 1, start, end, &mapping.file), 0);
	return mapping;
}

static uint32_t number_of(const struct processes *processes, const struct mapping *mapping)
{
	return mapping ? strtoul(processes->files.files[mapping->file].path + 1, NULL, 10) : 0;
}

/* Counts files that are still referred to. */
static size_t count_files(const struct processes *processes)
{
	return processes->files.pool.n - processes->files.pool.n_free;
}

static size_t count_images(const struct processes *processes)
{
	return processes->pool.n - processes->pool.n_free;
}

static const struct mapping *find(const struct processes *processes, uint32_t pid, uint64_t address)
{
	return mapping_find(processes->processes[processes_latest(processes, pid)].mappings,
			    address);
}

static void mappings_replace_what_they_cover(void **state)
{
	struct processes processes;
	struct mapping mapping;
	uint32_t process;
	uint64_t version;

	processes_init(&processes);
	assert_int_equal(processes_add(&processes, 7, 100, 0, &process), 0);
	mapping = make_mapping(&processes, 0x1000, 0x9000, 0, 1);
	assert_int_equal(processes_map(&processes, 7, &mapping, 0), 0);
	mapping = make_mapping(&processes, 0x3000, 0x5000, 0x700, 2);
	assert_int_equal(processes_map(&processes, 7, &mapping, 0), 0);
	assert_int_equal(processes.processes[process].mappings->n, 3);
	assert_int_equal(number_of(&processes, find(&processes, 7, 0x2fff)), 1);
	assert_int_equal(number_of(&processes, find(&processes, 7, 0x3000)), 2);
	assert_int_equal(number_of(&processes, find(&processes, 7, 0x5000)), 1);
	assert_int_equal(find(&processes, 7, 0x5000)->offset, 0x4000);
	assert_null(find(&processes, 7, 0x9000));
	assert_null(find(&processes, 7, 0xfff));
	/* The same mapping again changes nothing; one that covers all others removes them. */
	version = processes.processes[process].mappings->version;
	mapping = make_mapping(&processes, 0x3000, 0x5000, 0x700, 2);
	assert_int_equal(processes_map(&processes, 7, &mapping, 0), 0);
	assert_int_equal(processes.processes[process].mappings->version, version);
	mapping = make_mapping(&processes, 0, 0x10000, 0, 3);
	assert_int_equal(processes_map(&processes, 7, &mapping, 0), 0);
	assert_int_equal(processes.processes[process].mappings->n, 1);
	assert_int_equal(count_files(&processes), 1);
	processes_done(&processes);
}

/* Random maps, compared with an array of pages. */
static void mappings_agree_with_a_page_table(void **state)
{
	enum { PAGES = 64 };
	struct {
		uint32_t file;
		uint64_t offset;
	} pages[PAGES] = {};
	struct processes processes;
	uint32_t process;

	srand(1);
	processes_init(&processes);
	assert_int_equal(processes_add(&processes, 1, 1, 0, &process), 0);
	for (uint32_t round = 1; round < 2000; round++) {
		uint64_t start = rand() % PAGES, end = start + 1 + rand() % (PAGES - start);
		struct mapping mapping = make_mapping(&processes, start << 12, end << 12,
						      (uint64_t)rand() << 12, round);

		assert_int_equal(processes_map(&processes, 1, &mapping, 0), 0);
		for (uint64_t i = start; i < end; i++) {
			pages[i].file = round;
			pages[i].offset = mapping.offset + ((i - start) << 12);
		}
		for (uint64_t i = 0; i < PAGES; i++) {
			const struct mapping *found = find(&processes, 1, (i << 12) + 5);

			assert_int_equal(number_of(&processes, found), pages[i].file);
			if (found)
				assert_int_equal((i << 12) - found->start + found->offset,
						 pages[i].offset);
		}
		assert_true(count_files(&processes) <= PAGES);
	}
	processes_done(&processes);
}

/* A child sees its parent's mappings, whichever of the two changes first. */
static void forked_processes_share_mappings_until_one_changes(void **state)
{
	struct processes processes;
	struct process *parent, *child;
	struct mapping mapping;
	uint32_t process;

	processes_init(&processes);
	assert_int_equal(processes_add(&processes, 7, 100, 0, &process), 0);
	mapping = make_mapping(&processes, 0x1000, 0x2000, 0, 1);
	assert_int_equal(processes_map(&processes, 7, &mapping, 0), 0);
	assert_int_equal(processes_fork(&processes, 7, 8, 200, 0), 0);
	assert_int_equal(processes_fork(&processes, 7, 9, 300, 0), 0);
	parent = &processes.processes[processes_latest(&processes, 7)];
	child = &processes.processes[processes_latest(&processes, 8)];
	assert_ptr_equal(parent->mappings, child->mappings);

	mapping = make_mapping(&processes, 0x1000, 0x2000, 0, 2);
	assert_int_equal(processes_map(&processes, 7, &mapping, 0), 0);
	mapping = make_mapping(&processes, 0x3000, 0x4000, 0, 3);
	assert_int_equal(processes_map(&processes, 8, &mapping, 0), 0);
	assert_int_equal(number_of(&processes, find(&processes, 7, 0x1000)), 2);
	assert_null(find(&processes, 7, 0x3000));
	assert_int_equal(number_of(&processes, find(&processes, 8, 0x1000)), 1);
	assert_int_equal(number_of(&processes, find(&processes, 8, 0x3000)), 3);
	assert_int_equal(number_of(&processes, find(&processes, 9, 0x1000)), 1);
	assert_null(find(&processes, 9, 0x3000));
	assert_true(parent->mappings->version != child->mappings->version);
	processes_done(&processes);
}

static int snapshots_seen;

/* The mappings as of the snapshot's place in the order. */
static int on_snapshot(void *context, const struct bf_snapshot_event *event)
{
	const struct processes *processes = context;

	assert_non_null(find(processes, event->pid, 0x3000));
	assert_null(find(processes, event->pid, 0x5000));
	snapshots_seen++;
	return 0;
}

static void events_apply_in_the_order_of_time(void **state)
{
	static const struct bf_snapshot_event snapshot = {
		.type = BF_EVENT_SNAPSHOT, .pid = 20, .time = 25};
	struct processes processes;
	struct timeline timeline = {};
	struct record map = {.type = RECORD_MAP, .pid = 20, .mapped.name.path = "//anon"};
	struct record exec = {.type = RECORD_EXEC, .pid = 20, .time = 30};
	struct bf_process_event fork = {.type = BF_EVENT_FORK,
					.pid = 20,
					.parent_pid = 10,
					.exec_id = 5,
					.start = 77,
					.time = 10};
	struct mapping of_parent;
	uint32_t parent, before, after;

	processes_init(&processes);
	of_parent = make_mapping(&processes, 0x1000, 0x2000, 0, 1);
	assert_int_equal(processes_add(&processes, 10, 1, 5, &parent), 0);
	assert_int_equal(processes_map(&processes, 10, &of_parent, 0), 0);
	/* Records out of order: a map after the exec, the exec, a map before it, the fork. */
	map.mapped.start = 0x5000, map.mapped.end = 0x6000, map.time = 40;
	assert_int_equal(timeline_add_record(&timeline, &processes, &map), 0);
	assert_int_equal(timeline_add_record(&timeline, &processes, &exec), 0);
	map.mapped.start = 0x3000, map.mapped.end = 0x4000, map.time = 20;
	assert_int_equal(timeline_add_record(&timeline, &processes, &map), 0);
	assert_int_equal(timeline_add_process(&timeline, &fork), 0);
	assert_int_equal(timeline_add_snapshot(&timeline, &snapshot), 0);
	assert_true(timeline_awaits_image(&timeline, 20));
	assert_int_equal(timeline_apply(&timeline, &processes, 25, on_snapshot, &processes), 0);
	assert_true(timeline_awaits_image(&timeline, 20)); /* the exec */
	assert_int_equal(snapshots_seen, 0);
	assert_int_equal(timeline.n_snapshots, 1);
	before = processes_find(&processes, 20, 77, 5);
	assert_int_not_equal(before, TABLE_NONE);
	assert_int_equal(processes.processes[before].mappings->n, 2); /* inherited, mapped */
	assert_int_equal(processes_find(&processes, 20, 77, 6), TABLE_NONE);

	assert_int_equal(timeline_apply(&timeline, &processes, 100, on_snapshot, &processes), 0);
	assert_false(timeline_awaits_image(&timeline, 20));
	assert_int_equal(snapshots_seen, 1);
	assert_int_equal(timeline.n_snapshots, 0);
	after = processes_find(&processes, 20, 77, 6);
	assert_int_not_equal(after, TABLE_NONE);
	assert_int_equal(processes_latest(&processes, 20), after);
	assert_int_equal(processes.processes[after].mappings->n, 1);
	assert_true(processes.processes[before].ended);
	assert_int_equal(timeline.n_events, 0);
	timeline_done(&timeline);
	processes_done(&processes);
}

/* The first that is heard of the parent is that it has a child. */
static void a_child_of_one_from_before_the_records_begins_with_its_mappings(void **state)
{
	struct processes processes;
	struct timeline timeline = {};
	struct bf_process_event fork = {.type = BF_EVENT_FORK,
					.pid = UINT32_MAX,
					.parent_pid = getpid(),
					.exec_id = 5,
					.start = 77,
					.time = 10,
					.parent_start = 66,
					.parent_exec_id = 5};
	uint32_t parent, child;

	processes_init(&processes);
	assert_int_equal(timeline_add_process(&timeline, &fork), 0);
	assert_int_equal(timeline_apply(&timeline, &processes, 100, on_snapshot, &processes), 0);
	parent = processes_find(&processes, getpid(), 66, 5);
	child = processes_find(&processes, UINT32_MAX, 77, 5);
	assert_int_not_equal(parent, TABLE_NONE);
	assert_int_not_equal(child, TABLE_NONE);
	assert_int_not_equal(processes.processes[parent].mappings->n, 0);
	assert_ptr_equal(processes.processes[parent].mappings, processes.processes[child].mappings);
	timeline_done(&timeline);
	processes_done(&processes);
}

/* Listed after its fork and its exec, both of which are also recorded; then one more exec. */
/* A stack from before an exec that the listing has seen: records still belong to the listed image. */
static void an_older_image_is_not_the_latest(void **state)
{
	struct processes processes;
	struct timeline timeline = {};
	struct record exec = {.type = RECORD_EXEC, .pid = getpid(), .time = 20};
	struct record map = {.type = RECORD_MAP, .pid = getpid(), .mapped.name.path = "//anon"};
	uint32_t listed, older;

	processes_init(&processes);
	assert_int_equal(processes_add(&processes, getpid(), 77, 6, &listed), 0);
	processes.processes[listed].listed_at = 50;
	assert_int_equal(processes_see(&processes, getpid(), 77, 5, &older), 0);
	assert_int_equal(processes_latest(&processes, getpid()), listed);
	assert_int_equal(processes.processes[older].mappings->n, 0);
	assert_true(processes.processes[older].ended);
	assert_int_equal(timeline_add_record(&timeline, &processes, &exec), 0);
	map.mapped.start = 0x3000, map.mapped.end = 0x4000, map.time = 60;
	assert_int_equal(timeline_add_record(&timeline, &processes, &map), 0);
	assert_int_equal(timeline_apply(&timeline, &processes, 100, on_snapshot, &processes), 0);
	assert_int_equal(processes_latest(&processes, getpid()), listed);
	assert_int_equal(processes.processes[listed].mappings->n, 1);
	assert_false(processes.processes[listed].ended);
	timeline_done(&timeline);
	processes_done(&processes);
}

static void a_listing_holds_what_came_before(void **state)
{
	struct processes processes;
	struct timeline timeline = {};
	struct record map = {.type = RECORD_MAP, .pid = 20, .mapped.name.path = "//anon"};
	struct record exec = {.type = RECORD_EXEC, .pid = 20, .time = 20};
	struct bf_process_event fork = {
		.type = BF_EVENT_FORK, .pid = 20, .exec_id = 5, .start = 77, .time = 10};
	uint32_t listed;

	processes_init(&processes);
	assert_int_equal(processes_add(&processes, 20, 77, 6, &listed), 0);
	processes.processes[listed].listed_at = 50;
	assert_int_equal(timeline_add_process(&timeline, &fork), 0);
	assert_int_equal(timeline_add_record(&timeline, &processes, &exec), 0);
	map.mapped.start = 0x5000, map.mapped.end = 0x6000,
	map.time = 40; /* unmapped before the listing */
	assert_int_equal(timeline_add_record(&timeline, &processes, &map), 0);
	map.mapped.start = 0x3000, map.mapped.end = 0x4000, map.time = 60;
	assert_int_equal(timeline_add_record(&timeline, &processes, &map), 0);
	assert_int_equal(timeline_apply(&timeline, &processes, 100, on_snapshot, &processes), 0);
	assert_int_equal(processes_latest(&processes, 20), listed);
	assert_int_equal(count_images(&processes), 1);
	assert_false(processes.processes[listed].ended);
	assert_int_equal(processes.processes[listed].mappings->n, 1);
	assert_non_null(find(&processes, 20, 0x3000));

	exec.time = 120;
	assert_int_equal(timeline_add_record(&timeline, &processes, &exec), 0);
	assert_int_equal(timeline_apply(&timeline, &processes, 200, on_snapshot, &processes), 0);
	assert_int_not_equal(processes_find(&processes, 20, 77, 7), TABLE_NONE);
	assert_true(processes.processes[listed].ended);
	timeline_done(&timeline);
	processes_done(&processes);
}

static void ended_processes_are_forgotten(void **state)
{
	struct processes processes;
	struct mapping mapping;
	uint32_t process, held = TABLE_NONE;

	processes_init(&processes);
	for (uint32_t pid = 1; pid <= 2000; pid++) {
		assert_int_equal(processes_add(&processes, pid, pid, 0, &process), 0);
		mapping = make_mapping(&processes, 0x1000, 0x2000, 0, pid);
		assert_int_equal(processes_map(&processes, pid, &mapping, 0), 0);
		if (pid == 1)
			processes_hold(&processes, held = process);
		if (pid % 10)
			assert_int_equal(processes_exit(&processes, pid), 0);
		while ((process = processes_take_changed(&processes)) != TABLE_NONE)
			processes_put(&processes, process);
		assert_int_equal(processes_sweep(&processes), 0);
	}
	/*
	 * Keeps processes that live, that ended lately, and the one that is held, with their files.
	 */
	assert_in_range(count_images(&processes), 201, 210);
	assert_int_equal(count_files(&processes), count_images(&processes));
	assert_int_not_equal(processes_find(&processes, 10, 10, 0), TABLE_NONE);
	assert_int_not_equal(processes_latest(&processes, 2000), TABLE_NONE);
	assert_int_equal(processes_find(&processes, 2, 2, 0), TABLE_NONE);
	assert_int_equal(processes_latest(&processes, 2), TABLE_NONE);
	assert_int_equal(processes_find(&processes, 1, 1, 0), held);
	assert_int_equal(number_of(&processes, find(&processes, 1, 0x1000)), 1);
	processes_put(&processes, held);
	assert_int_equal(processes_find(&processes, 1, 1, 0), TABLE_NONE);
	processes_done(&processes);
}

static void own_maps_are_read(void **state)
{
	struct processes processes;
	const struct mapping *mapping;
	uint32_t process;

	processes_init(&processes);
	assert_int_equal(processes_add(&processes, getpid(), 1, 0, &process), 0);
	assert_int_equal(processes_read_maps(&processes, process), 0);
	mapping = find(&processes, getpid(), (uintptr_t)own_maps_are_read);
	assert_non_null(mapping);
	assert_true(processes.files.files[mapping->file].fd >= 0);
	/* A second read finds the same files, opened only once. */
	size_t n_files = count_files(&processes);

	assert_int_equal(processes_read_maps(&processes, process), 0);
	assert_int_equal(count_files(&processes), n_files);
	processes_done(&processes);
}

struct scene {
	struct processes processes;
	struct raw_stacks stacks;
	struct wakers wakers;
	struct profile *profile;
	struct locator locator;
};

static void scene_init(struct scene *scene)
{
	const struct file_name name = {.path = "//anon"};
	struct mapping anon = {.start = 0x1000, .end = 0x2000};
	uint32_t process;

	memset(scene, 0, sizeof *scene);
	processes_init(&scene->processes);
	assert_int_equal(files_get(&scene->processes.files, &name, 9, 0x1000, 0x2000, &anon.file),
			 0);
	assert_int_equal(processes_add(&scene->processes, 9, 5, 0, &process), 0);
	assert_int_equal(processes_map(&scene->processes, 9, &anon, 0), 0);
	assert_int_equal(profile_new(PROFILE_OFFCPU, &scene->profile), 0);
	locator_init(&scene->locator, &scene->processes, &scene->stacks, &scene->wakers,
		     scene->profile, true);
}

static void scene_done(struct scene *scene)
{
	locator_done(&scene->locator);
	profile_free(scene->profile);
	raw_stacks_done(&scene->stacks);
	wakers_done(&scene->wakers);
	processes_done(&scene->processes);
}

static void rows_become_samples(void **state)
{
	struct bf_count_key key = {.kernel_stack = 11,
				   .user_stack = 12,
				   .process_start = 5,
				   .pid = 9,
				   .reason = BF_REASON_DISK,
				   .comm = "sixteen-bytes-xy"};
	struct bf_count count = {.samples = 3, .nanoseconds = 900};
	__u64 kernel[] = {0xffffffff81000010, 0xffffffff81000020}, user[] = {0x1100, 0x1200, 0x7};
	struct scene scene;

	scene_init(&scene);
	assert_int_equal(raw_stacks_add(&scene.stacks, 11, 0, kernel, 2, BF_END_ENTRY), 0);
	assert_int_equal(raw_stacks_add(&scene.stacks, 12, 0, user, 3, BF_END_ENTRY), 0);
	assert_int_equal(locate(&scene.locator, &key, &count), 0);
	assert_int_equal(locate(&scene.locator, &key, &count), 0);

	struct profile *profile = scene.profile;

	assert_int_equal(profile->n_samples, 1);
	assert_int_equal(profile->samples[0].count, 6);
	assert_int_equal(profile->samples[0].nanoseconds, 1800);
	assert_int_equal(profile->samples[0].reason, REASON_DISK);
	assert_string_equal(strings_get(&profile->strings, profile->samples[0].comm),
			    "sixteen-bytes-xy");
	/* The last address is in no mapping and gets an invented frame. */
	assert_int_equal(profile->stacks[0].n, 4);
	assert_int_equal(profile->stacks[0].end, STACK_UNMAPPED);
	const enum mapping_kind kinds[] = {MAPPING_KERNEL, MAPPING_KERNEL, MAPPING_ANON,
					   MAPPING_ANON};

	for (int i = 0; i < 4; i++) {
		const struct profile_location *location =
			&profile->locations[profile->stack_locations[i]];

		assert_int_equal(profile->mappings[location->mapping].kind, kinds[i]);
		assert_int_equal(location->is_return, i != 0 && i != 2);
	}
	assert_int_equal(scene.locator.lost_stacks, 0);
	scene_done(&scene);
}

static void lost_frames_are_counted(void **state)
{
	struct bf_count_key key = {.user_stack = 12, .process_start = 5, .pid = 9};
	struct bf_count count = {.samples = 4, .nanoseconds = 1};
	__u64 user[] = {0x1100};
	struct scene scene;

	scene_init(&scene);
	assert_int_equal(locate(&scene.locator, &key, &count), 0);
	assert_int_equal(scene.locator.lost_stacks, 4);
	assert_int_equal(scene.profile->stacks[0].end, STACK_LOST);
	/* The frames arrive late; from then on the stack is whole. */
	assert_int_equal(raw_stacks_add(&scene.stacks, 12, 0, user, 1, BF_END_ENTRY), 0);
	assert_int_equal(locate(&scene.locator, &key, &count), 0);
	assert_int_equal(scene.locator.lost_stacks, 4);
	assert_int_equal(scene.profile->n_stacks, 2);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs_match_as_fnmatch_does),
		cmocka_unit_test(bad_globs_are_refused),
		cmocka_unit_test(mappings_replace_what_they_cover),
		cmocka_unit_test(mappings_agree_with_a_page_table),
		cmocka_unit_test(forked_processes_share_mappings_until_one_changes),
		cmocka_unit_test(events_apply_in_the_order_of_time),
		cmocka_unit_test(a_child_of_one_from_before_the_records_begins_with_its_mappings),
		cmocka_unit_test(a_listing_holds_what_came_before),
		cmocka_unit_test(an_older_image_is_not_the_latest),
		cmocka_unit_test(ended_processes_are_forgotten),
		cmocka_unit_test(own_maps_are_read),
		cmocka_unit_test(rows_become_samples),
		cmocka_unit_test(lost_frames_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
