/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Baselines in folders: whatever is saved is listed, even while processes die and files are
 * damaged.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "store/baselines.h"
#include "unit/made_files.h"

static struct failure failure;

static int write_text(void *data, FILE *stream)
{
	fputs(data, stream);
	return 0;
}

static struct baseline facts_of(const char *name, const char *commit, const char *branch,
				uint64_t saved_ns)
{
	struct baseline facts = {.saved_ns = saved_ns, .mode = PROFILE_ONCPU, .frequency = 99};

	baseline_copy(facts.name, name);
	baseline_copy(facts.commit, commit);
	baseline_copy(facts.branch, branch);
	baseline_copy(facts.version, "1.2.3");
	machine_read("", &facts.machine);
	return facts;
}

/* Saves two runs. */
static int save_at(const char *name, const char *commit, const char *branch, uint64_t saved_ns,
		   bool replace)
{
	struct baseline facts = facts_of(name, commit, branch, saved_ns);
	struct baseline_run runs[2] = {{.samples = 5, .source = "one"},
				       {.samples = 7, .source = "other"}};
	struct baselines_saving saving = BASELINES_SAVING_NONE;
	int r;

	facts.runs = runs;
	facts.n_runs = 2;
	failure = (struct failure){};
	r = baselines_saving_begin(made_path("store"), name, commit, replace, &saving, &failure);
	for (int i = 0; i < 2 && r == 0; i++)
		r = baselines_saving_add(&saving, write_text, i ? "second" : "first",
					 &runs[i].bytes, &failure);
	r = r < 0 ? r : baselines_saving_commit(&saving, &facts, &failure);
	baselines_saving_abort(&saving);
	return r;
}

static int save(const char *name, const char *commit)
{
	return save_at(name, commit, "main", 1000000000, false);
}

static struct baselines_list list_of(const char *name)
{
	struct baselines_list list;

	assert_int_equal(baselines_list(made_path("store"), name, &list, &failure), 0);
	return list;
}

/* The commits of a name, in order, as "b a"; damaged ones have a "!". */
static void expect_list(const char *name, const char *expected)
{
	struct baselines_list list = list_of(name);
	char text[512] = "";

	for (size_t i = 0; i < list.n; i++)
		sprintf(text + strlen(text), "%s%s%s", i ? " " : "", list.items[i].commit,
			*list.items[i].damage ? "!" : "");
	assert_string_equal(text, expected);
	baselines_list_done(&list);
}

static void expect_content(const char *name, const char *content)
{
	assert_true(made_try("test \"$(cat '%s')\" = '%s'", name, content));
}

static void saved_is_listed(void **state)
{
	struct baseline facts = facts_of("bench", "abc", "main", 1500000000);
	struct baselines_list list;
	const struct baseline *baseline;
	char **paths;

	expect_list(NULL, "");
	assert_int_equal(save_at("bench", "abc", "main", 1500000000, false), 0);
	list = list_of(NULL);
	assert_int_equal(list.n, 1);
	baseline = &list.items[0];
	assert_string_equal(baseline->damage, "");
	assert_string_equal(baseline->name, "bench");
	assert_string_equal(baseline->commit, "abc");
	assert_string_equal(baseline->branch, "main");
	assert_string_equal(baseline->version, "1.2.3");
	assert_int_equal(baseline->saved_ns, 1500000000);
	assert_int_equal(baseline->mode, PROFILE_ONCPU);
	assert_true(baseline->frequency == 99);
	assert_memory_equal(&baseline->machine, &facts.machine, sizeof facts.machine);
	assert_int_equal(baseline->n_runs, 2);
	assert_int_equal(baseline->runs[1].samples, 7);
	assert_int_equal(baseline->runs[1].bytes, 6);
	assert_string_equal(baseline->runs[1].source, "other");
	assert_int_equal(baseline_total(baseline), 12);
	assert_int_equal(baselines_run_paths(made_path("store"), baseline, &paths), 0);
	assert_string_equal(paths[1], made_path("store/bench/abc/run-2.pb.gz"));
	free(paths[0]);
	free(paths[1]);
	free(paths);
	baselines_list_done(&list);
	expect_content("store/bench/abc/run-1.pb.gz", "first");
	assert_true(made_try("test \"$(ls -A store/bench)\" = abc"));
}

/* Facts of any bytes come back unchanged where the format can hold them. */
static void facts_come_back(void **state)
{
	struct baseline_run run = {.bytes = 1,
				   .samples = 1ULL << 60,
				   .nanoseconds = UINT64_MAX,
				   .start_realtime_ns = 1700000000ULL * 1000000000,
				   .duration_ns = 1500000000,
				   .source = "a \"quoted\" \\ name\n\x1b[31m \xff"};
	struct baseline facts = facts_of("n", "c", "b\u202e", 1), read = {};
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	facts.mode = PROFILE_WALL;
	facts.machine.is_virtual = VIRTUAL_NO;
	facts.machine.max_kilohertz = 3500000;
	baseline_copy(facts.note, "line\ttab");
	baseline_copy(facts.event, "cycles");
	facts.runs = &run;
	facts.n_runs = 1;
	baseline_write(&facts, stream);
	fclose(stream);
	assert_null(strchr(text, '\x1b'));
	assert_int_equal(baseline_read(text, &read), 0);
	assert_int_equal(read.mode, PROFILE_WALL);
	assert_int_equal(read.machine.is_virtual, VIRTUAL_NO);
	assert_int_equal(read.machine.max_kilohertz, 3500000);
	assert_string_equal(read.branch, "b\u202e");
	assert_string_equal(read.note, "line\ttab");
	assert_string_equal(read.event, "cycles");
	assert_int_equal(read.runs[0].samples, 1ULL << 60);
	assert_int_equal(read.runs[0].nanoseconds, UINT64_MAX);
	assert_int_equal(read.runs[0].duration_ns, 1500000000);
	assert_string_equal(read.runs[0].source, "a \"quoted\" \\ name\n\x1b[31m \ufffd");
	baseline_done(&read);
	free(text);
}

static void texts_are_cut_between_characters(void **state)
{
	char text[6];

	baseline_copy(text, "abcdefgh");
	assert_string_equal(text, "abcde");
	baseline_copy(text, "abcdé");
	assert_string_equal(text, "abcd");
	baseline_copy(text, "abc\xc3\xa9");
	assert_string_equal(text, "abcé");
}

static void expect_key(const char *key, bool is_good)
{
	int r = baselines_check_key("name", key, &failure);

	if ((r == 0) != is_good)
		print_error("'%s': %d\n", key, r);
	assert_int_equal(r, is_good ? 0 : -EINVAL);
	/* Control characters for a terminal are not repeated. */
	for (const char *p = failure.what; !is_good && *p; p++)
		assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
}

static void hostile_names(void **state)
{
	static const char *const bad[] = {
		"",	"/",	"a/b",	"..",	".",  "../x", "/etc", ".hidden",   "-o",
		"a@b",	"a\nb", "\x1b", "\x7f", "a*", "a?",   "a:b",  "a|b",	   "a\\b",
		"a\"b", "<a>",	" a",	"a ",	"a.", "\xff", "\xc3", "\xc2\x85x",
	};
	static const char *const good[] = {"a",		 "bench", "a.b-c_d",	 "größe",
					   "test suite", "a..b",  "1.0~rc1+dfsg"};
	char longest[102];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		expect_key(bad[i], false);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		expect_key(good[i], true);
		assert_int_equal(save(good[i], good[i]), 0);
	}
	memset(longest, 'x', 101);
	longest[101] = '\0';
	expect_key(longest, false);
	longest[100] = '\0';
	expect_key(longest, true);
	assert_int_equal(save(longest, longest), 0);
	expect_list(longest, longest);
}

static void second_one_is_refused(void **state)
{
	assert_int_equal(save("bench", "abc"), 0);
	assert_int_equal(save_at("bench", "abc", "other", 5, false), -EEXIST);
	assert_non_null(strstr(failure.what, "bench/abc is already there"));
	assert_non_null(strstr(failure.fix, "--replace"));
	expect_list("bench", "abc");
	assert_true(made_try("test \"$(ls -A store/bench)\" = abc"));
}

static void replaced_in_one_step(void **state)
{
	struct baselines_list list;

	assert_int_equal(save("bench", "abc"), 0);
	made("cp store/bench/abc/run-1.pb.gz store/bench/abc/run-9.pb.gz");
	assert_int_equal(save_at("bench", "abc", "other", 5, true), 0);
	list = list_of("bench");
	assert_int_equal(list.n, 1);
	assert_string_equal(list.items[0].branch, "other");
	baselines_list_done(&list);
	assert_true(made_try("test \"$(ls -A store/bench)\" = abc"));
	assert_true(made_try("test ! -e store/bench/abc/run-9.pb.gz"));
	/* Whatever is in its place. */
	made("rm -r store/bench/abc && echo x >store/bench/abc");
	assert_int_equal(save("bench", "abc"), -EEXIST);
	assert_int_equal(save_at("bench", "abc", "main", 5, true), 0);
	expect_list("bench", "abc");
	assert_true(made_try("test \"$(ls -A store/bench)\" = abc"));
}

static void given_up_leaves_nothing(void **state)
{
	struct baselines_saving saving;
	uint64_t bytes;

	assert_int_equal(baselines_saving_begin(made_path("store"), "bench", "abc", false, &saving,
						&failure),
			 0);
	assert_int_equal(baselines_saving_add(&saving, write_text, "x", &bytes, &failure), 0);
	expect_list(NULL, "");
	baselines_saving_abort(&saving);
	baselines_saving_abort(&saving);
	assert_true(made_try("test -z \"$(ls -A store)\""));
	/* Another file is in the way. */
	assert_int_equal(save("bench", "old"), 0);
	assert_int_equal(baselines_saving_begin(made_path("store"), "bench", "abc", false, &saving,
						&failure),
			 0);
	baselines_saving_abort(&saving);
	expect_list("bench", "old");
	assert_true(made_try("test \"$(ls -A store/bench)\" = old"));
}

/* A process that dies while it is saving. */
static void die_saving(bool replace)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct baselines_saving saving;
		uint64_t bytes;

		if (baselines_saving_begin(made_path("store"), "bench", "abc", replace, &saving,
					   &failure) == 0 &&
		    baselines_saving_add(&saving, write_text, "x", &bytes, &failure) == 0)
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void killed_one_leaves_what_was(void **state)
{
	die_saving(false);
	expect_list(NULL, "");
	assert_int_equal(save("bench", "abc"), 0);
	assert_true(made_try("test \"$(ls -A store/bench)\" = abc"));
	die_saving(true);
	assert_true(made_try("test \"$(ls -A store/bench | wc -l)\" = 2"));
	expect_list("bench", "abc");
	expect_content("store/bench/abc/run-1.pb.gz", "first");
	/* The next change cleans up, but leaves files that a process is still writing. */
	struct baselines_saving saving;

	assert_int_equal(
		baselines_saving_begin(made_path("store"), "bench", "x", false, &saving, &failure),
		0);
	assert_int_equal(save("bench", "other"), 0);
	assert_true(made_try("test \"$(ls -A store/bench | wc -l)\" = 3"));
	baselines_saving_abort(&saving);
	assert_true(made_try("test \"$(ls -A store/bench | wc -l)\" = 2"));
}

/* Simulates a full disk with a limit on file size. */
static void full_disk_leaves_what_was(void **state)
{
	struct rlimit before, limit;
	struct baselines_saving saving;
	uint64_t bytes = 0;
	char *large = malloc(100001);
	int r;

	memset(large, 'x', 100000);
	large[100000] = '\0';
	assert_int_equal(save("bench", "abc"), 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 20000;
	assert_int_equal(
		baselines_saving_begin(made_path("store"), "bench", "abc", true, &saving, &failure),
		0);
	setrlimit(RLIMIT_FSIZE, &limit);
	r = baselines_saving_add(&saving, write_text, large, &bytes, &failure);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(r, -EFBIG);
	assert_non_null(strstr(failure.what, "store/bench: File too large"));
	baselines_saving_abort(&saving);
	expect_list("bench", "abc");
	expect_content("store/bench/abc/run-1.pb.gz", "first");
	assert_true(made_try("test \"$(ls -A store/bench)\" = abc"));
	free(large);
}

static void folders_that_cannot_be(void **state)
{
	struct baselines_list list = {};

	made("echo x >store");
	assert_int_equal(save("bench", "abc"), -ENOTDIR);
	assert_non_null(strstr(failure.what, "store/bench: Not a directory"));
	assert_int_equal(baselines_list(made_path("store"), NULL, &list, &failure), -ENOTDIR);
	made("rm store && mkdir store && ln -s nowhere store/bench");
	assert_true(save("bench", "abc") < 0);
	expect_list(NULL, "");
}

static void order_and_rotation(void **state)
{
	struct baseline saved = facts_of("bench", "c", "main", 0);
	size_t n = 99;

	assert_int_equal(save_at("bench", "a", "main", 3000000000, false), 0);
	assert_int_equal(save_at("bench", "b", "main", 9000000000, false), 0);
	assert_int_equal(save_at("bench", "c", "main", 1000000000, false), 0);
	assert_int_equal(save_at("bench", "d", "topic", 2000000000, false), 0);
	assert_int_equal(save_at("other", "e", "main", 500000000, false), 0);
	made("mkdir store/bench/broken");
	expect_list(NULL, "b a d c e broken!");
	/* The saved one stays, even if the clock makes it the oldest. */
	assert_int_equal(baselines_rotate(made_path("store"), &saved, 2, &n, &failure), 0);
	assert_int_equal(n, 1);
	expect_list(NULL, "b d c e broken!");
	assert_int_equal(baselines_rotate(made_path("store"), &saved, 1, &n, &failure), 0);
	expect_list(NULL, "d c e broken!");
	assert_int_equal(baselines_rotate(made_path("store"), &saved, 1, &n, &failure), 0);
	assert_int_equal(n, 0);
}

static void removed(void **state)
{
	struct baseline one = facts_of("bench", "a", "", 0), other = facts_of("bench", "b", "", 0);

	assert_int_equal(save("bench", "a"), 0);
	assert_int_equal(save("bench", "b"), 0);
	die_saving(false);
	assert_int_equal(baselines_remove(made_path("store"), &one, &failure), 0);
	assert_int_equal(baselines_remove(made_path("store"), &one, &failure), 0);
	assert_true(made_try("test \"$(ls -A store/bench)\" = b"));
	assert_int_equal(baselines_remove(made_path("store"), &other, &failure), 0);
	assert_true(made_try("test -z \"$(ls -A store)\""));
	assert_int_equal(baselines_remove(made_path("store"), &other, &failure), 0);
	/* Files that a user put there are not removed. */
	assert_int_equal(save("bench", "a"), 0);
	made("mkdir store/bench/a/theirs && echo x >store/bench/theirs");
	assert_true(baselines_remove(made_path("store"), &one, &failure) < 0);
	assert_true(made_try("find store -name theirs -type d | grep -q ."));
}

static void expect_damage(const char *command, const char *damage)
{
	struct baselines_list list;

	made("rm -rf store");
	assert_int_equal(save("bench", "abc"), 0);
	made("cd store/bench/abc && %s", command);
	list = list_of(NULL);
	assert_int_equal(list.n, 1);
	if (!strstr(list.items[0].damage, damage) || !*damage)
		assert_string_equal(list.items[0].damage, damage);
	baselines_list_done(&list);
}

static void damaged_ones(void **state)
{
	expect_damage("true", "");
	expect_damage("rm baseline.json", "baseline.json: No such file");
	expect_damage("rm run-2.pb.gz", "run-2.pb.gz: No such file");
	expect_damage("echo x >>run-1.pb.gz", "run-1.pb.gz is not as large");
	expect_damage(": >run-1.pb.gz", "run-1.pb.gz is not as large");
	expect_damage(": >baseline.json",
		      "damaged JSON at byte 0: the file ends where an object should be");
	expect_damage("truncate -s 300 baseline.json", "damaged JSON at byte 300: the file ends");
	expect_damage("head -c 1000 /dev/urandom >baseline.json", "damaged JSON at byte ");
	expect_damage("truncate -s 5M baseline.json", "baseline.json: File too large");
	expect_damage("sed -i 's/\"bytes\":6/\"bytes\":-6/' baseline.json", "not a whole number");
	expect_damage("sed -i 's/\"format\":1/\"format\":2/' baseline.json", "newer bpfflame");
	expect_damage("sed -i '/\"format\"/d' baseline.json", "has no \"format\"");
	expect_damage("echo '{\"format\":1}' >baseline.json", "names no runs");
	expect_damage("echo '{\"format\":1,\"runs\":[{}]}' >baseline.json", "no bytes");
	expect_damage("sed -i 's/oncpu/sideways/' baseline.json", "this word is not known here");
	expect_damage("(printf '{\"format\":1,\"runs\":['; yes '{\"bytes\":1},' | head -n 2000;"
		      " echo '{}]}') >baseline.json",
		      "more than 1000 runs");
	expect_damage("rm run-1.pb.gz && ln -s /etc/passwd run-1.pb.gz", "is not a file");
	expect_damage("rm baseline.json && ln -s /etc/passwd baseline.json", "baseline.json: ");
	expect_damage("rm baseline.json && mkfifo baseline.json", "baseline.json: ");
	/* A newer version may know more facts. */
	expect_damage("sed -i 's/\"format\":1,/\"format\":1,\"new\":{\"a\":[1]},/' baseline.json",
		      "");
	/* It may have been renamed: the folder's name counts. */
	expect_damage("mv ../abc ../def; cd ../def", "");
	expect_list("bench", "def");
}

static void other_peoples_files(void **state)
{
	assert_int_equal(save("bench", "abc"), 0);
	made("cd store && echo x >README && mkdir .git empty 'a:b' && mkdir -p ./-x/abc && "
	     "echo x >bench/README && ln -s abc bench/link && ln -s / rootlink");
	expect_list("bench", "abc");
	expect_list("empty", "");
}

/* Finding */

static void expect_found(const char *name, const char *which, const char *branch,
			 const char *commit)
{
	struct baselines_wanted wanted = {.name = name, .which = which, .branch = branch};
	struct baselines_list list = list_of(name);
	const struct baseline *found;
	size_t n_skipped;

	assert_int_equal(baselines_find(&list, &wanted, &found, &n_skipped, &failure), 0);
	assert_string_equal(found->commit, commit);
	baselines_list_done(&list);
}

static void expect_not_found(const char *name, const char *which, const char *branch, bool is_to_go,
			     int error, const char *what)
{
	struct baselines_wanted wanted = {name, which, branch, is_to_go};
	struct baselines_list list = list_of(name);
	const struct baseline *found;
	size_t n_skipped;

	assert_int_equal(baselines_find(&list, &wanted, &found, &n_skipped, &failure), error);
	if (!strstr(failure.what, what))
		assert_string_equal(failure.what, what);
	baselines_list_done(&list);
}

static void found(void **state)
{
	assert_int_equal(save_at("bench", "abc111", "main", 1000000000, false), 0);
	assert_int_equal(save_at("bench", "abc222", "main", 3000000000, false), 0);
	assert_int_equal(save_at("bench", "def333", "topic", 4000000000, false), 0);
	assert_int_equal(save_at("bench", "def", "de", 2000000000, false), 0);
	assert_int_equal(save_at("bench", "zzz", "broken", 9000000000, false), 0);
	made("rm store/bench/zzz/run-1.pb.gz");
	expect_found("bench", NULL, NULL, "def333");
	expect_found("bench", "abc1", NULL, "abc111");
	expect_found("bench", "abc222", NULL, "abc222");
	/* The complete commit, even if others begin with the same digits. */
	expect_found("bench", "def", NULL, "def");
	expect_found("bench", "main", NULL, "abc222");
	expect_found("bench", NULL, "main", "abc222");
	expect_not_found("bench", "abc", NULL, false, -EINVAL, "begin with 'abc'");
	/* Commits take precedence over branches. */
	expect_not_found("bench", "de", NULL, false, -EINVAL, "begin with 'de'");
	expect_not_found("bench", "", NULL, false, -ENOENT, "no baseline 'bench@'");
	expect_not_found("bench", "fff", NULL, false, -ENOENT, "no baseline 'bench@fff'");
	expect_not_found("bench", NULL, "gone", false, -ENOENT, "no baseline 'bench'");
	expect_not_found("nothing", NULL, NULL, false, -ENOENT, "no baseline 'nothing'");
	expect_not_found("bench", "zz", NULL, false, -EINVAL, "bench@zzz is damaged: run-1.pb.gz");
	expect_not_found("bench", NULL, "broken", false, -ENOENT, "no baseline");
	/* Only commits can be removed. */
	expect_not_found("bench", "main", NULL, true, -ENOENT, "no baseline");
}

/* Concurrent processes */

static void save_many(int number)
{
	char commit[32];

	for (int i = 0; i < 12; i++) {
		snprintf(commit, sizeof commit, "own-%d-%d", number, i);
		if (save("bench", commit) < 0 || save_at("bench", "shared", "main", i, true) < 0)
			_exit(1);
		if (i % 3 == 0) {
			struct baseline mine = facts_of("bench", commit, "", 0);

			if (baselines_remove(made_path("store"), &mine, &failure) < 0)
				_exit(2);
		}
	}
	_exit(0);
}

/* Waits for all @n children before it reports one, so that none still runs in the next test. */
static void wait_for_children(int n)
{
	int status, n_failed = 0;

	for (int i = 0; i < n; i++) {
		assert_true(wait(&status) > 0);
		n_failed += status != 0;
	}
	assert_int_equal(n_failed, 0);
}

/*
 * A reader never sees half a baseline: while others save, remove and replace, none looks damaged.
 */
static void several_at_a_time(void **state)
{
	char damage[BASELINE_TEXT_SIZE] = "";
	struct baselines_list list;
	siginfo_t child;
	size_t n_whole = 0;

	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			save_many(i);
	/* Until the first one has finished. */
	do {
		list = list_of("bench");
		for (size_t i = 0; i < list.n; i++)
			if (*list.items[i].damage)
				baseline_copy(damage, list.items[i].damage);
		baselines_list_done(&list);
		child.si_pid = 0;
		assert_int_equal(waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT), 0);
	} while (!child.si_pid);
	wait_for_children(4);
	assert_string_equal(damage, "");
	list = list_of("bench");
	for (size_t i = 0; i < list.n; i++)
		n_whole += !*list.items[i].damage;
	assert_int_equal(n_whole, 4 * 8 + 1);
	assert_int_equal(list.n, n_whole);
	baselines_list_done(&list);
	assert_true(made_try("test \"$(ls -A store/bench | wc -l)\" = 33"));
}

/* Other processes keep creating and removing the name's folder. */
static void last_one_goes_while_others_come(void **state)
{
	for (int i = 0; i < 3; i++) {
		char commit[16];

		snprintf(commit, sizeof commit, "c%d", i);
		if (fork() == 0) {
			struct baseline mine = facts_of("bench", commit, "", 0);

			for (int j = 0; j < 40; j++)
				if (save("bench", commit) < 0 ||
				    baselines_remove(made_path("store"), &mine, &failure) < 0)
					_exit(1);
			_exit(0);
		}
	}
	wait_for_children(3);
	expect_list(NULL, "");
	assert_true(made_try("test -z \"$(ls -A store)\""));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, made_setup, made_done)
	const struct CMUnitTest tests[] = {
		TEST(saved_is_listed),
		TEST(facts_come_back),
		TEST(texts_are_cut_between_characters),
		TEST(hostile_names),
		TEST(second_one_is_refused),
		TEST(replaced_in_one_step),
		TEST(given_up_leaves_nothing),
		TEST(killed_one_leaves_what_was),
		TEST(full_disk_leaves_what_was),
		TEST(folders_that_cannot_be),
		TEST(order_and_rotation),
		TEST(removed),
		TEST(damaged_ones),
		TEST(other_peoples_files),
		TEST(found),
		TEST(several_at_a_time),
		TEST(last_one_goes_while_others_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
