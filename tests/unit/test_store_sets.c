/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of files in a folder: their names, the lines of their list with arbitrary contents, and
 * which sets are removed. Never touches anything outside the folder, or files in it that belong to
 * no set.
 */
#include "cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system.h"
#include "store/set_folder.h"
#include "store/set_lines.h"

static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[512];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/bpfflame-sets-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(in_folder(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static char *get(const char *name)
{
	size_t n;
	char *text;

	assert_int_equal(read_whole_file(in_folder(name), &text, &n), 0);
	return text;
}

static bool is_there(const char *name)
{
	return access(in_folder(name), F_OK) == 0;
}

static struct set_folder open_folder(void)
{
	struct set_folder opened;
	struct failure failure = {};

	if (set_folder_open(folder, true, &opened, &failure) < 0)
		fail_msg("%s", failure.what);
	assert_int_equal(set_folder_lock(&opened), 0);
	return opened;
}

/* The shortest valid line. */
#define LINE(name, file)                                                                           \
	SET_LINE_START ":\"1\",\"set\":\"" name "\",\"mode\":\"oncpu\",\"event\":\"cycles\","      \
		       "\"files\":[{\"name\":\"" file "\",\"bytes\":10}]}\n"

static void stamps(void **state)
{
	char text[SET_STAMP_SIZE], time[SET_TIME_SIZE];

	set_stamp(1795266301250999999, false, text);
	assert_string_equal(text, "20261121T130501Z");
	set_stamp(1795266301250999999, true, text);
	assert_string_equal(text, "20261121T130501.250Z");
	set_time(1795266301250999999, time);
	assert_string_equal(time, "2026-11-21T13:05:01.250999Z");
	set_stamp(0, false, text);
	assert_string_equal(text, "19700101T000000Z");
	set_stamp(UINT64_MAX, true, text);
	assert_true(strlen(text) < SET_STAMP_SIZE);
}

static void names(void **state)
{
	static const char *const ours[] = {
		"20261121T130501Z-oncpu.svg",	   "20261121T130501.250Z-offcpu.folded",
		"20261121T130501Z-2-wall.pb.gz",   "20261121T130501Z-page-faults.svg",
		"20261121T130501Z-sched-switch.x",
	};
	static const char *const others[] = {
		"",
		".",
		"..",
		"x",
		"index.html",
		"index.jsonl",
		"oncpu.svg",
		"../20261121T130501Z-oncpu.svg",
		"/tmp/20261121T130501Z-oncpu.svg",
		"20261121T130501Z-x/../../etc/passwd",
		"20261121T130501Z-/",
		"20261121T130501Z-",
		"20261121T130501Z",
		"20261121T130501.25Z-oncpu.svg",
		"20261121T130501.2500Z-oncpu.svg",
		"20261121t130501Z-oncpu.svg",
		"2026112T1130501Z-oncpu.svg",
		".20261121T130501Z-oncpu.svg",
		" 20261121T130501Z-oncpu.svg",
		"20261121T130501Z-oncpu.svg/",
	};
	char longest[300];

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (!set_name_is_ours(ours[i]))
			fail_msg("%s is one", ours[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (set_name_is_ours(others[i]))
			fail_msg("'%s' is none", others[i]);
	snprintf(longest, sizeof longest, "20261121T130501Z-%0*d", 256 - 17, 0);
	assert_false(set_name_is_ours(longest));
	longest[255] = '\0';
	assert_true(set_name_is_ours(longest));
}

static void temporary_names(void **state)
{
	assert_true(set_name_is_temporary(".20261121T130501Z-oncpu.svg.bpfflame-12"));
	assert_true(set_name_is_temporary(".index.jsonl.bpfflame-12"));
	assert_true(set_name_is_temporary(".index.html.bpfflame-12"));
	assert_false(set_name_is_temporary(".index.html"));
	assert_false(set_name_is_temporary("20261121T130501Z-oncpu.svg.bpfflame-12"));
	assert_false(set_name_is_temporary(".20261121T130501Z-oncpu.svg.bpfflame-"));
	assert_false(set_name_is_temporary(".20261121T130501Z-oncpu.svg.bpfflame-1x"));
	assert_false(set_name_is_temporary(".other.svg.bpfflame-12"));
	assert_false(set_name_is_temporary(".bpfflame-12"));
}

static void fill(struct sets *sets, struct set *set)
{
	struct strings *strings = &sets->strings;

	*set = (struct set){
		.mode = PROFILE_OFFCPU,
		.start_realtime_ns = 1795266301250000000,
		.duration_ns = 1500000000,
		.windows = 2,
		.samples = 12,
		.total = 3000,
		.frequency = 99,
		.complete_percent = 98.5,
		.loss_percent = 0.25,
	};
	assert_int_equal(strings_add(strings, "20261121T130501Z-offcpu", &set->name), 0);
	assert_int_equal(strings_add(strings, "sched \"x\"\n</script>", &set->event), 0);
	assert_int_equal(strings_add(strings, "microseconds", &set->unit), 0);
	assert_int_equal(strings_add(strings, "0.1.0", &set->version), 0);
	assert_int_equal(strings_add(strings, "h\303\266st", &set->host), 0);
	assert_int_equal(sets_add(sets, set), 0);
	assert_int_equal(sets_add_function(sets, "f<T, 'a'>\t\\", "lib.so", 1500), 0);
	assert_int_equal(sets_add_function(sets, "g", "", 750), 0);
	assert_int_equal(sets_add_loss(sets, "map_full", 3), 0);
	assert_int_equal(sets_add_file(sets, "20261121T130501Z-offcpu.svg", 1000), 0);
	assert_int_equal(sets_add_file(sets, "20261121T130501Z-offcpu.folded", 234), 0);
}

static const char *text_of(const struct sets *sets, uint32_t id)
{
	return strings_get(&sets->strings, id);
}

static void a_line_comes_back(void **state)
{
	struct set_folder opened = open_folder();
	struct set_index index;
	struct sets sets;
	struct set set;
	const struct set *read;

	assert_int_equal(sets_init(&sets), 0);
	fill(&sets, &set);
	assert_int_equal(set_folder_append(&opened, &sets), 0);
	assert_int_equal(set_folder_read(&opened, &index), 0);
	assert_int_equal(index.sets.n, 1);
	assert_int_equal(index.n_damaged, 0);
	read = &index.sets.items[0];
	assert_int_equal(read->mode, set.mode);
	/* Seconds with six decimals. */
	assert_true(llabs((long long)(read->start_realtime_ns - set.start_realtime_ns)) < 1000);
	assert_int_equal(read->duration_ns, set.duration_ns);
	assert_int_equal(read->windows, 2);
	assert_int_equal(read->samples, 12);
	assert_int_equal(read->total, 3000);
	assert_true(read->complete_percent == 98.5 && read->loss_percent == 0.25);
	assert_string_equal(text_of(&index.sets, read->name), "20261121T130501Z-offcpu");
	assert_string_equal(text_of(&index.sets, read->event), "sched \"x\"\n</script>");
	assert_string_equal(text_of(&index.sets, read->host), "h\303\266st");
	assert_int_equal(read->functions.n, 2);
	assert_string_equal(text_of(&index.sets, index.sets.functions[0].name), "f<T, 'a'>\t\\");
	assert_int_equal(index.sets.functions[1].self, 750);
	assert_int_equal(read->losses.n, 1);
	assert_int_equal(index.sets.losses[0].n, 3);
	assert_int_equal(read->files.n, 2);
	assert_int_equal(set_bytes(&index.sets, read), 1234);
	set_index_done(&index);
	sets_done(&sets);
	set_folder_close(&opened);
}

static void lines_that_are_none(void **state)
{
	static const char *const lines[] = {
		"",
		"x",
		"{",
		"[]",
		"null",
		"{}",
		"{\"bpfflame\":1}",
		"{\"set\":\"20261121T130501Z-oncpu\",\"mode\":\"oncpu\",\"files\":[{\"name\":"
		"\"20261121T130501Z-a\"}]}",
		SET_LINE_START ":\"1\",\"set\":\"20261121T130501Z-oncpu\",\"mode\":\"oncpu\"}",
		SET_LINE_START ":\"1\",\"set\":\"20261121T130501Z-oncpu\",\"files\":[]}",
		SET_LINE_START
		":\"1\",\"set\":\"oncpu\",\"files\":[{\"name\":\"20261121T130501Z-a\"}]}",
		LINE("20261121T130501Z-oncpu", "../x"),
		LINE("20261121T130501Z-oncpu", "/etc/passwd"),
		LINE("20261121T130501Z-oncpu", "index.html"),
		LINE("20261121T130501Z-oncpu", "20261121T130501Z-a/../../x"),
		LINE("20261121T130501Z-oncpu", "20261121T130501Z-a\\u0000/../../x") "x",
		LINE("20261121T130501Z-oncpu", "20261121T130501Z-oncpu.svg\"},{\"name\":\"x"),
		SET_LINE_START ":\"1\",\"mode\":\"other\"}",
		SET_LINE_START ":\"1\",\"start_unix_seconds\":1e300}",
		SET_LINE_START ":\"1\",\"duration_seconds\":-1}",
		SET_LINE_START ":\"1\",\"total\":-1}",
		SET_LINE_START ":\"1\",\"total\":99999999999999999999999}",
		SET_LINE_START ":\"1\",\"complete_percent\":101}",
		SET_LINE_START ":\"1\",\"losses\":[]}",
		SET_LINE_START ":\"1\",\"set\":\"20261121T130501Z-oncpu\",\"losses\":{\"\xff\":1},"
			       "\"files\":[{\"name\":\"20261121T130501Z-oncpu.svg\"}]}",
		SET_LINE_START ":\"1\",\"functions\":{}}",
		SET_LINE_START ":\"1\",\"files\":[1]}",
	};
	struct sets sets;

	assert_int_equal(sets_init(&sets), 0);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (set_line_read(lines[i], &sets) != -EINVAL)
			fail_msg("taken: %s", lines[i]);
	assert_int_equal(sets.n, 0);
	assert_int_equal(sets.n_files, 0);
	/* A newer version may add keys, which are ignored. */
	assert_int_equal(
		set_line_read(SET_LINE_START
			      ":\"9\",\"new\":{\"a\":[1,{}]},\"set\":\"20261121T130501Z-x\","
			      "\"files\":[{\"new\":1,\"name\":\"20261121T130501Z-x.svg\"}"
			      "]}",
			      &sets),
		0);
	assert_int_equal(sets.items[0].windows, 1);
	sets_done(&sets);
}

/* What a list can contain after a run was killed or somebody edited it. */
static const char damaged[] =
	LINE("20261121T130501Z-oncpu", "20261121T130501Z-oncpu.svg") "garbage\n" LINE(
		"20261121T130601Z-oncpu", "../outside.svg")
		LINE("20261121T130701Z-oncpu", "20261121T130701Z-oncpu.svg") SET_LINE_START
	":\"0.1.0\",\"set\":\"2026";

static void damage_is_skipped_and_repaired(void **state)
{
	struct set_folder opened;
	struct set_index index;
	struct sets sets;
	struct set set;
	char *text;

	put(SETS_INDEX, damaged);
	opened = open_folder();
	assert_int_equal(set_folder_read(&opened, &index), 0);
	assert_int_equal(index.sets.n, 2);
	assert_int_equal(index.n_damaged, 2);
	set_index_done(&index);

	assert_int_equal(sets_init(&sets), 0);
	fill(&sets, &set);
	assert_int_equal(set_folder_append(&opened, &sets), 0);
	sets_done(&sets);
	assert_int_equal(set_folder_read(&opened, &index), 0);
	assert_int_equal(index.sets.n, 3);
	assert_int_equal(index.n_damaged, 2);
	set_index_done(&index);
	text = get(SETS_INDEX);
	assert_int_equal(strncmp(text, damaged, strrchr(damaged, '\n') + 1 - damaged), 0);
	assert_null(strstr(text, "\"2026{"));
	free(text);
	set_folder_close(&opened);
}

static void only_a_piece_of_a_line(void **state)
{
	struct set_folder opened;
	struct sets sets;
	struct set set;
	char *text;

	put(SETS_INDEX, "{\"bpf");
	opened = open_folder();
	assert_int_equal(sets_init(&sets), 0);
	fill(&sets, &set);
	assert_int_equal(set_folder_append(&opened, &sets), 0);
	sets_done(&sets);
	text = get(SETS_INDEX);
	assert_int_equal(strncmp(text, SET_LINE_START ":\"0.1.0", 18), 0);
	free(text);
	set_folder_close(&opened);
}

static void removal(void **state)
{
	bool gone[2] = {true, false};
	struct set_folder opened;
	struct set_index index;
	char *text;

	put(SETS_INDEX, damaged);
	put("20261121T130501Z-oncpu.svg", "old");
	put("20261121T130701Z-oncpu.svg", "new");
	put("20261121T130501Z-oncpu.folded", "not listed");
	opened = open_folder();
	assert_int_equal(set_folder_read(&opened, &index), 0);
	assert_int_equal(set_folder_remove(&opened, &index, gone), 0);
	set_index_done(&index);
	assert_false(is_there("20261121T130501Z-oncpu.svg"));
	assert_true(is_there("20261121T130701Z-oncpu.svg"));
	assert_true(is_there("20261121T130501Z-oncpu.folded"));
	assert_int_equal(set_folder_read(&opened, &index), 0);
	assert_int_equal(index.sets.n, 1);
	assert_string_equal(text_of(&index.sets, index.sets.items[0].name),
			    "20261121T130701Z-oncpu");
	set_index_done(&index);
	/* Unknown lines stay; a partial line at the end does not. */
	text = get(SETS_INDEX);
	assert_int_equal(strncmp(text, "garbage\n{", 9), 0);
	assert_int_equal(text[strlen(text) - 1], '\n');
	free(text);
	set_folder_close(&opened);
}

/* Whatever the list says: folders are not removed, and of a link only the link. */
static void what_is_called_like_a_file(void **state)
{
	bool gone[2] = {true, true};
	struct set_folder opened;
	struct set_index index;

	put(SETS_INDEX, damaged);
	put("precious", "mine");
	assert_int_equal(symlink("precious", in_folder("20261121T130501Z-oncpu.svg")), 0);
	assert_int_equal(mkdir(in_folder("20261121T130701Z-oncpu.svg"), 0755), 0);
	opened = open_folder();
	assert_int_equal(set_folder_read(&opened, &index), 0);
	assert_int_equal(set_folder_remove(&opened, &index, gone), 0);
	set_index_done(&index);
	assert_true(is_there("precious"));
	assert_true(is_there("20261121T130701Z-oncpu.svg"));
	set_folder_close(&opened);
}

static void sweeping(void **state)
{
	struct set_folder opened;

	put(".20261121T130501Z-oncpu.svg.bpfflame-1", "half");
	put(".index.html.bpfflame-1", "half");
	put(".other.bpfflame-1", "somebody's");
	put("20261121T130501Z-oncpu.svg", "whole");
	opened = open_folder();
	set_folder_sweep(&opened);
	assert_false(is_there(".20261121T130501Z-oncpu.svg.bpfflame-1"));
	assert_false(is_there(".index.html.bpfflame-1"));
	assert_true(is_there(".other.bpfflame-1"));
	assert_true(is_there("20261121T130501Z-oncpu.svg"));
	set_folder_close(&opened);
}

static void expect_refused(const char *named)
{
	struct set_folder opened;
	struct failure failure = {};

	assert_int_equal(set_folder_open(folder, true, &opened, &failure), -EEXIST);
	assert_non_null(strstr(failure.what, named));
	assert_true(*failure.fix);
}

static void files_of_others(void **state)
{
	struct set_folder opened;

	put(SETS_PAGE, "<!DOCTYPE html><title>My site</title>");
	expect_refused(SETS_PAGE);
	unlink(in_folder(SETS_PAGE));
	put(SETS_INDEX, "{\"id\": 1}\n");
	expect_refused(SETS_INDEX);
	unlink(in_folder(SETS_INDEX));
	put("elsewhere", "");
	assert_int_equal(symlink("elsewhere", in_folder(SETS_INDEX)), 0);
	expect_refused(SETS_INDEX);
	unlink(in_folder(SETS_INDEX));
	assert_int_equal(mkdir(in_folder(SETS_PAGE), 0755), 0);
	expect_refused(SETS_PAGE);
	rmdir(in_folder(SETS_PAGE));
	put(SETS_INDEX, "");
	opened = open_folder();
	set_folder_close(&opened);
}

static void one_at_a_time(void **state)
{
	struct set_folder first = open_folder(), second;
	struct failure failure;

	assert_int_equal(set_folder_open(folder, false, &second, &failure), 0);
	assert_int_equal(set_folder_try_lock(&second), -EWOULDBLOCK);
	set_folder_close(&first);
	assert_int_equal(set_folder_try_lock(&second), 0);
	set_folder_close(&second);
}

static void making_the_folder(void **state)
{
	struct set_folder opened;
	struct failure failure = {};
	char path[128];

	snprintf(path, sizeof path, "%s/new", folder);
	assert_int_equal(set_folder_open(path, false, &opened, &failure), -ENOENT);
	assert_int_equal(set_folder_open(path, true, &opened, &failure), 0);
	set_folder_close(&opened);
	assert_int_equal(set_folder_open(path, true, &opened, &failure), 0);
	set_folder_close(&opened);
	snprintf(path, sizeof path, "%s/missing/new", folder);
	assert_int_equal(set_folder_open(path, true, &opened, &failure), -ENOENT);
	assert_non_null(strstr(failure.what, path));
	put("file", "");
	snprintf(path, sizeof path, "%s/file", folder);
	assert_int_equal(set_folder_open(path, true, &opened, &failure), -ENOTDIR);
}

/* Rotation */

#define HOUR (3600 * NSEC_PER_SEC)
#define NOW  (1000000 * HOUR)

/* Sets that ended this many hours ago, of ten bytes each; 'f' is off-CPU time. */
struct made {
	char kind;
	int hours_ago;
};

static void make_sets(struct sets *sets, const struct made *made, size_t n)
{
	assert_int_equal(sets_init(sets), 0);
	for (size_t i = 0; i < n; i++) {
		struct set set = {
			.mode = made[i].kind == 'f' ? PROFILE_OFFCPU : PROFILE_ONCPU,
			.start_realtime_ns = NOW - made[i].hours_ago * HOUR - HOUR,
			.duration_ns = HOUR,
		};

		assert_int_equal(sets_add(sets, &set), 0);
		assert_int_equal(sets_add_file(sets, "20261121T130501Z-a", 4), 0);
		assert_int_equal(sets_add_file(sets, "20261121T130501Z-b", 6), 0);
	}
}

/* @wanted: one letter per set, x for those to remove. */
static void expect_gone(const struct sets *sets, struct set_limits limits, size_t n_newest,
			const char *wanted)
{
	bool gone[16];
	char got[17] = "";
	size_t n = sets_rotate(sets, &limits, n_newest, NOW, gone), n_wanted = 0;

	for (size_t i = 0; i < sets->n; i++) {
		got[i] = gone[i] ? 'x' : '.';
		n_wanted += wanted[i] == 'x';
	}
	assert_string_equal(got, wanted);
	assert_int_equal(n, n_wanted);
}

static void rotation(void **state)
{
	static const struct made made[] = {{'n', 9}, {'n', 7}, {'n', 5}, {'n', 3}, {'n', 1}};
	struct sets sets;

	make_sets(&sets, made, 5);
	expect_gone(&sets, (struct set_limits){}, 1, ".....");
	expect_gone(&sets, (struct set_limits){.sets = 5}, 1, ".....");
	expect_gone(&sets, (struct set_limits){.sets = 3}, 1, "xx...");
	expect_gone(&sets, (struct set_limits){.sets = 1}, 1, "xxxx.");
	expect_gone(&sets, (struct set_limits){.sets = 1}, 2, "xxx..");
	expect_gone(&sets, (struct set_limits){.age_ns = 6 * HOUR}, 1, "xx...");
	expect_gone(&sets, (struct set_limits){.age_ns = 1}, 1, "xxxx.");
	expect_gone(&sets, (struct set_limits){.bytes = 30}, 1, "xx...");
	expect_gone(&sets, (struct set_limits){.bytes = 29}, 1, "xxx..");
	expect_gone(&sets, (struct set_limits){.bytes = 1}, 1, "xxxx.");
	expect_gone(&sets, (struct set_limits){.sets = 4, .bytes = 30}, 1, "xx...");
	sets_done(&sets);
	make_sets(&sets, made, 0);
	expect_gone(&sets, (struct set_limits){.sets = 1}, 1, "");
	sets_done(&sets);
}

static void rotation_of_several_series(void **state)
{
	static const struct made made[] = {{'n', 9}, {'f', 8}, {'n', 7}, {'n', 5}, {'f', 1}};
	struct sets sets;

	make_sets(&sets, made, 5);
	expect_gone(&sets, (struct set_limits){.sets = 2}, 1, "x....");
	expect_gone(&sets, (struct set_limits){.sets = 1}, 1, "xxx..");
	/* Age and size apply to the whole folder. */
	expect_gone(&sets, (struct set_limits){.age_ns = 6 * HOUR}, 1, "xxx..");
	expect_gone(&sets, (struct set_limits){.bytes = 20}, 1, "xxx..");
	sets_done(&sets);
}

/* The clock was set back or is wrong: whatever was written last is the newest. */
static void rotation_and_clocks(void **state)
{
	static const struct made made[] = {{'n', -50}, {'n', -40}, {'n', 9}, {'n', 8}};
	struct sets sets;

	make_sets(&sets, made, 4);
	expect_gone(&sets, (struct set_limits){.sets = 2}, 1, "xx..");
	expect_gone(&sets, (struct set_limits){.age_ns = 5 * HOUR}, 1, "..x.");
	sets_done(&sets);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stamps),
		cmocka_unit_test(names),
		cmocka_unit_test(temporary_names),
		cmocka_unit_test(lines_that_are_none),
		IN_FOLDER(a_line_comes_back),
		IN_FOLDER(damage_is_skipped_and_repaired),
		IN_FOLDER(only_a_piece_of_a_line),
		IN_FOLDER(removal),
		IN_FOLDER(what_is_called_like_a_file),
		IN_FOLDER(sweeping),
		IN_FOLDER(files_of_others),
		IN_FOLDER(one_at_a_time),
		IN_FOLDER(making_the_folder),
		cmocka_unit_test(rotation),
		cmocka_unit_test(rotation_of_several_series),
		cmocka_unit_test(rotation_and_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
