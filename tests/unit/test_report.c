/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of profiles made by hand: golden ones in tests/golden, and properties of all. */
#include "report/report.h"

#include <errno.h>

#include "base/text.h"
#include "report/ranking.h"
#include "unit/cmocka_all.h"
#include "unit/made_stacks.h"

static const struct report_options usual = {
	.limit = 20, .group_limit = 10, .tree_percent = 1, .columns = 80};

/* A frame in a file, with the name that symbols give it. */
struct made_frame {
	const char *name, *file;
	enum frame_kind kind;
};

static uint32_t location_in(struct profile *profile, const struct made_frame *frame)
{
	struct profile_mapping mapping = {.kind = frame->kind == FRAME_KERNEL ? MAPPING_KERNEL
									      : MAPPING_FILE,
					  .path = made_string(profile, frame->file)};
	struct profile_frame named = {.kind = frame->kind,
				      .function = made_string(profile, frame->name)};
	uint32_t index, location;

	made_check(profile_add_mapping(profile, &mapping, &index), "profile_add_mapping");
	made_check(profile_add_location(profile, index, named.function, false, &location),
		   "profile_add_location");
	made_check(profile_set_frames(profile, location, &named, 1), "profile_set_frames");
	return location;
}

static const struct made_frame server_frames[] = {
	{"main", "/usr/sbin/served"},
	{"served::Loop::run()", "/usr/sbin/served"},
	{"served::handle(served::Request const&, served::Response&)", "/usr/sbin/served"},
	{"std::map<std::string, std::vector<served::Header, std::allocator<served::Header>>, "
	 "std::less<std::string>>::find(std::string const&)",
	 "/usr/sbin/served", FRAME_INLINED},
	{"deflate_slow", "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13"},
	{"longest_match", "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13"},
	{"write", "/usr/lib/x86_64-linux-gnu/libc.so.6"},
	{"ksys_write", "", FRAME_KERNEL},
	{"tcp_sendmsg", "", FRAME_KERNEL},
	{"render_page", "/tmp/jit.so", FRAME_JIT},
};

/* Stacks as indexes into the frames above, root first. */
static const struct {
	const char *comm, *stack;
	uint64_t weight;
	uint32_t tid;
} server_stacks[] = {
	{"served", "0123", 1234, 21},  {"served", "01245", 4321, 21}, {"served", "0124", 765, 22},
	{"served", "01678", 2100, 22}, {"served", "0129", 950, 23},   {"served", "0122", 37, 23},
	{"logger", "0678", 420, 31},   {"logger", "06", 9, 31},
};

static void add_server_stack(struct profile *profile, size_t i)
{
	const char *stack = server_stacks[i].stack;
	struct made_sample sample = {server_stacks[i].comm, "", server_stacks[i].weight,
				     .pid = server_stacks[i].tid / 10 * 10,
				     .tid = server_stacks[i].tid};
	uint32_t locations[16], n = strlen(stack);

	for (uint32_t k = 0; k < n; k++)
		locations[n - 1 - k] = location_in(profile, &server_frames[stack[k] - '0']);
	made_add_locations(profile, &sample, locations, n);
}

static struct profile *server(void)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);

	for (size_t i = 0; i < COUNT(server_stacks); i++)
		add_server_stack(profile, i);
	profile->command_line = made_string(profile, "bpfflame -p 20,30 -d 30");
	profile->host = made_string(profile, "host");
	profile->kernel = made_string(profile, "6.12.0");
	profile->start_realtime_ns = 1795266301ull * 1000000000;
	profile->duration_ns = 30000 * MS;
	profile->frequency = 99;
	return profile;
}

static void stacks_of(struct profile *profile, const struct unfold_options *unfold,
		      struct stacks *stacks)
{
	struct stacks_options options = {.unfold = *unfold};

	made_check(stacks_init(stacks, &options), "stacks_init");
	made_check(stacks_add(stacks, profile, SIDE_NEW), "stacks_add");
	made_check(stacks_finish(stacks, SCALE_ABSOLUTE), "stacks_finish");
}

typedef int (*report_fn)(const struct stacks *stacks, const struct report_options *options,
			 FILE *stream);

/* The caller frees the result. Frees @profile. */
static char *report(report_fn write, struct profile *profile, const struct unfold_options *unfold,
		    const struct report_options *options)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct stacks stacks;

	stacks_of(profile, unfold, &stacks);
	profile_free(profile);
	assert_int_equal(write(&stacks, options, stream), 0);
	fclose(stream);
	assert_int_equal(strlen(text), size);
	stacks_done(&stacks);
	return text;
}

static void expect_golden(const char *path, char *text)
{
	static char golden[1 << 16];
	const char *how = getenv("GOLDEN");
	bool write = how && strcmp(how, "write") == 0;
	FILE *file = fopen(path, write ? "w" : "r");

	assert_non_null(file);
	if (write)
		fputs(text, file);
	else
		golden[fread(golden, 1, sizeof golden - 1, file)] = '\0';
	fclose(file);
	if (!write && strcmp(golden, text) != 0)
		fail_msg("%s differs; GOLDEN=write makes it anew", path);
	free(text);
}

static void golden_tables(void **state)
{
	struct report_options options = usual;

	expect_golden("tests/golden/report-oncpu.txt",
		      report(report_text, server(), &plain, &options));
	options.columns = 40;
	expect_golden("tests/golden/report-40.txt",
		      report(report_text, server(), &plain, &options));
	options.columns = 200;
	options.by_total = true;
	options.colour = true;
	expect_golden(
		"tests/golden/report-200-total-colour.txt",
		report(report_text, server(), &(struct unfold_options){.threads = true}, &options));
	options = usual;
	options.limit = options.group_limit = 2;
	expect_golden("tests/golden/report-limit.txt",
		      report(report_text, server(), &plain, &options));
}

static const struct unfold_options with_wakers = {.waker_depth = 8};

static void golden_wall(void **state)
{
	expect_golden("tests/golden/report-wall.txt",
		      report(report_text, MADE(PROFILE_WALL, both), &with_wakers, &usual));
	expect_golden("tests/golden/report-wall-idle.txt",
		      report(report_text, MADE(PROFILE_WALL, both),
			     &(struct unfold_options){.waker_depth = 8, .fold_idle = true},
			     &usual));
}

static void golden_trees(void **state)
{
	struct report_options options = usual;

	options.tree = true;
	expect_golden("tests/golden/report-tree.txt",
		      report(report_text, server(), &plain, &options));
	options.tree_percent = 10;
	expect_golden("tests/golden/report-tree-wall.txt",
		      report(report_text, MADE(PROFILE_WALL, both), &with_wakers, &options));
	options = usual;
	options.callers = "tcp_|longest_match";
	expect_golden("tests/golden/report-callers.txt",
		      report(report_text, server(), &plain, &options));
}

static void golden_json(void **state)
{
	struct report_options options = {.tree = true, .callers = "write$"};

	expect_golden("tests/golden/report-oncpu.json",
		      report(report_json, server(), &plain, &options));
	options = (struct report_options){.limit = 1, .group_limit = 1};
	expect_golden("tests/golden/report-wall.json",
		      report(report_json, MADE(PROFILE_WALL, both), &with_wakers, &options));
}

/* Every line of @text fits into @columns, and no byte of it moves the cursor. */
static void expect_plain(char *text, size_t columns)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		for (const char *p = line; *p; p++)
			assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
		/* C1 controls, in UTF-8. */
		for (const char *p = line; (p = strchr(p, '\xc2')); p++)
			assert_true((unsigned char)p[1] >= 0xa0);
		assert_null(strstr(line, "\u202e"));
		if (text_columns(line) > columns)
			fail_msg("more than %zu columns: %s", columns, line);
	}
	free(text);
}

static struct profile *hostile(enum profile_mode mode)
{
	static char long_name[10001], long_template[10001];
	struct profile *profile = made_hostile(mode);
	struct made_sample sample = {"\033[31mred\033[0m", "", 5000000, .pid = 1, .tid = 1};
	uint32_t locations[4];

	for (size_t i = 0; i < sizeof long_name - 1; i++) {
		long_name[i] = 'a' + i % 26;
		long_template[i] = "a<b<c>>(d)"[i % 10];
	}
	locations[0] = made_location(profile, FRAME_USER, long_name);
	locations[1] = made_location(profile, FRAME_KERNEL, long_template);
	locations[2] = made_location(profile, FRAME_USER,
				     "\033]0;title\007\033[2J\xc2\x9b"
				     "31m");
	locations[3] = made_location(profile, FRAME_JIT, "\u202egnp.exe");
	made_add_locations(profile, &sample, locations, 4);
	return profile;
}

/* Values of an event that another tool named, with their unit. */
static struct profile *hostile_event(void)
{
	struct profile *profile = hostile(PROFILE_ONCPU);

	profile->n_events = 1;
	profile->events[0] =
		(struct profile_event){.name = made_string(profile, "\033[2J\xc2\x9b\n@team"),
				       .unit = made_string(profile, "\u202e\033]0;title\007"),
				       .is_counted = true};
	for (size_t i = 0; i < profile->n_samples; i++)
		profile->samples[i].nanoseconds = profile->samples[i].count;
	return profile;
}

static void hostile_names(void **state)
{
	static const unsigned int widths[] = {1, 40, 59, 60, 80, 200};
	static const enum profile_mode modes[] = {PROFILE_ONCPU, PROFILE_WALL};

	for (size_t i = 0; i < COUNT(widths) * COUNT(modes); i++) {
		enum profile_mode mode = modes[i % COUNT(modes)];
		struct report_options options = usual;
		size_t columns;

		options.columns = widths[i / COUNT(modes)];
		options.limit = 0;
		columns = options.columns < 40 ? 40 : options.columns;
		expect_plain(report(report_text, hostile(mode), &plain, &options), columns);
		options.tree = true;
		expect_plain(report(report_text, hostile(mode), &plain, &options), columns);
		options.callers = ".";
		expect_plain(report(report_text, hostile(mode), &plain, &options), columns);
		expect_plain(report(report_json, hostile(mode), &plain, &options), SIZE_MAX);
		options.callers = NULL;
		expect_plain(report(report_text, hostile_event(), &plain, &options), SIZE_MAX);
		options.tree = false;
		expect_plain(report(report_text, hostile_event(), &plain, &options), SIZE_MAX);
	}
}

/* Deep trees with many branches stay within the page too. */
static void deep_trees(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	struct report_options options = usual;
	char stack[2 * 120] = "f";

	for (int depth = 1; depth < 100; depth++) {
		struct made_sample sample = {"deep", stack, 1, .pid = 1, .tid = 1};

		made_add(profile, &sample);
		strcat(stack, depth % 2 ? ";f" : ";g");
		sample.stack = strcat(stack, ";h");
		made_add(profile, &sample);
		stack[strlen(stack) - 2] = '\0';
	}
	options.tree = true;
	options.tree_percent = 0;
	expect_plain(report(report_text, profile, &plain, &options), 80);
}

static void empty(void **state)
{
	struct report_options options = usual;
	char *text = report(report_text, made_profile(PROFILE_ONCPU, NULL, 0), &plain, &options);

	assert_string_equal(text, "recorded  0 samples on-CPU\n"
				  "stacks    0 distinct, with 0 functions\n");
	free(text);
	options.tree = true;
	free(report(report_text, made_profile(PROFILE_WALL, NULL, 0), &plain, &options));
	options.callers = "x";
	free(report(report_text, made_profile(PROFILE_OFFCPU, NULL, 0), &plain, &options));
	free(report(report_json, made_profile(PROFILE_OFFCPU, NULL, 0), &plain, &options));
}

static void refusals(void **state)
{
	struct report_options options = {.callers = "("};
	struct profile *profile = MADE(PROFILE_ONCPU, mixed);
	struct stacks stacks;
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	stacks_of(profile, &plain, &stacks);
	assert_int_equal(report_text(&stacks, &options, stream), -EINVAL);
	assert_int_equal(report_json(&stacks, &options, stream), -EINVAL);
	stacks.is_comparison = true;
	assert_int_equal(report_text(&stacks, &usual, stream), -EINVAL);
	fclose(stream);
	assert_int_equal(size, 0);
	free(text);
	stacks_done(&stacks);
	profile_free(profile);
}

/* In every table the self values add up to the total, whatever the stacks. */
static void expect_whole(struct profile *profile, const struct unfold_options *unfold)
{
	struct report_source source;
	struct stacks stacks;

	stacks_of(profile, unfold, &stacks);
	assert_int_equal(report_source_init(&source, &stacks), 0);
	for (int by = 0; by < N_REPORT_BY; by++) {
		struct ranking ranking;
		uint64_t sum = 0;

		assert_int_equal(ranking_make(&source, by, by % 2, &ranking), 0);
		for (size_t i = 0; i < ranking.n_rows; i++) {
			assert_true(ranking.rows[i].total >= ranking.rows[i].self);
			assert_true(ranking.rows[i].total <= source.whole);
			assert_true(ranking.rows[i].total_running <= ranking.rows[i].total);
			sum += ranking.rows[i].self;
		}
		if (by == REPORT_WAITS)
			assert_true(sum <= source.whole);
		else if (ranking.n_rows)
			assert_int_equal(sum, source.whole);
		ranking_done(&ranking);
	}
	report_source_done(&source);
	stacks_done(&stacks);
	profile_free(profile);
}

static void tables_add_up(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++)
		expect_whole(random_profile(seed), &plain);
	expect_whole(MADE(PROFILE_WALL, both), &with_wakers);
	expect_whole(MADE(PROFILE_WALL, both),
		     &(struct unfold_options){.waker_depth = 8, .fold_idle = true});
	expect_whole(MADE(PROFILE_ONCPU, mixed), &(struct unfold_options){.threads = true});
	expect_whole(server(), &(struct unfold_options){.threads = true});
	expect_whole(hostile(PROFILE_OFFCPU), &plain);
}

static void expect_row(const struct ranking *ranking, size_t i, const char *name, uint64_t self,
		       uint64_t total)
{
	assert_true(i < ranking->n_rows);
	assert_string_equal(ranking->rows[i].name, name);
	assert_int_equal(ranking->rows[i].self, self);
	assert_int_equal(ranking->rows[i].total, total);
}

static void rank(const struct stacks *stacks, enum report_by by, bool by_total,
		 struct ranking *ranking)
{
	struct report_source source;

	assert_int_equal(report_source_init(&source, stacks), 0);
	assert_int_equal(ranking_make(&source, by, by_total, ranking), 0);
	report_source_done(&source);
}

/* A waker's frames are not what a thread waited for, so no table counts them. */
static void wakers_are_in_no_table(void **state)
{
	struct profile *profile = MADE(PROFILE_WALL, both);
	struct ranking ranking;
	struct stacks stacks;

	stacks_of(profile, &with_wakers, &stacks);
	rank(&stacks, REPORT_FUNCTIONS, false, &ranking);
	expect_row(&ranking, 0, "nanosleep", 9000 * MS, 9000 * MS);
	expect_row(&ranking, 1, "epoll_wait", 6000 * MS, 6000 * MS);
	expect_row(&ranking, 2, "futex_wait", 4250 * MS, 4250 * MS);
	for (size_t i = 0; i < ranking.n_rows; i++)
		assert_string_not_equal(ranking.rows[i].name, "unlock");
	expect_row(&ranking, 8, "query", 0, 6500 * MS);
	assert_int_equal(ranking.rows[8].total_running, 5000 * MS);
	ranking_done(&ranking);
	rank(&stacks, REPORT_COMMANDS, false, &ranking);
	assert_int_equal(ranking.n_rows, 2);
	expect_row(&ranking, 0, "db", 16750 * MS, 16750 * MS);
	assert_int_equal(ranking.rows[0].self_running, 5000 * MS);
	expect_row(&ranking, 1, "cron", 9000 * MS, 9000 * MS);
	ranking_done(&ranking);
	rank(&stacks, REPORT_REASONS, false, &ranking);
	expect_row(&ranking, 2, "[on-cpu]", 5000 * MS, 5000 * MS);
	assert_int_equal(ranking.n_rows, 6);
	ranking_done(&ranking);
	rank(&stacks, REPORT_THREADS, false, &ranking);
	assert_int_equal(ranking.n_rows, 0);
	ranking_done(&ranking);
	stacks_done(&stacks);
	profile_free(profile);
}

static void modules_and_threads(void **state)
{
	struct profile *profile = server();
	struct ranking ranking;
	struct stacks stacks;

	stacks_of(profile, &(struct unfold_options){.threads = true}, &stacks);
	rank(&stacks, REPORT_MODULES, true, &ranking);
	expect_row(&ranking, 0, "served", 1271, 9836);
	expect_row(&ranking, 1, "libz.so.1.2.13", 5086, 5086);
	expect_row(&ranking, 2, "libc.so.6", 9, 2529);
	expect_row(&ranking, 3, "[kernel]", 2520, 2520);
	expect_row(&ranking, 4, "jit.so", 950, 950);
	ranking_done(&ranking);
	rank(&stacks, REPORT_THREADS, false, &ranking);
	assert_int_equal(ranking.n_rows, 4);
	expect_row(&ranking, 0, "served-20/21", 5555, 5555);
	ranking_done(&ranking);
	/* Commands are the same as without --threads. */
	rank(&stacks, REPORT_COMMANDS, false, &ranking);
	assert_int_equal(ranking.n_rows, 2);
	expect_row(&ranking, 0, "served", 9407, 9407);
	expect_row(&ranking, 1, "logger", 429, 429);
	ranking_done(&ranking);
	stacks_done(&stacks);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_tables),
		cmocka_unit_test(golden_wall),
		cmocka_unit_test(golden_trees),
		cmocka_unit_test(golden_json),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(deep_trees),
		cmocka_unit_test(empty),
		cmocka_unit_test(refusals),
		cmocka_unit_test(tables_add_up),
		cmocka_unit_test(wakers_are_in_no_table),
		cmocka_unit_test(modules_and_threads),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
