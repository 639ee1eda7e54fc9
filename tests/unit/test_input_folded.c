/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded lines: ours come back byte for byte, whatever they contain; those of other tools keep
 * their meaning.
 */
#include "unit/made_input.h"

#include "input/pieces.h"
#include "input/values.h"
#include "made_profile.h"

static const struct input_options plain;

static void expect_same(const char *text, enum profile_mode mode)
{
	made_expect(text, plain, mode, text);
}

/* Which samples the lines become */

static void oncpu(void **state)
{
	struct input input = made_input(plain);
	const struct profile_stack *stack;
	const struct profile_location *location;

	assert_int_equal(made_read(&input, "sh;main;read;vfs_read_[k] 7\n"), 0);
	assert_int_equal(input.profile->n_samples, 1);
	assert_int_equal(input.profile->samples[0].count, 7);
	assert_int_equal(input.profile->samples[0].nanoseconds, 0);
	assert_string_equal(strings_get(&input.profile->strings, input.profile->samples[0].comm),
			    "sh");
	stack = &input.profile->stacks[input.profile->samples[0].stack];
	assert_int_equal(stack->n, 3);
	assert_int_equal(stack->end, STACK_COMPLETE);
	/* Leaf first. */
	location = &input.profile->locations[input.profile->stack_locations[stack->first]];
	assert_true(location->is_named);
	assert_int_equal(location->n_frames, 1);
	assert_int_equal(input.profile->frames[location->first_frame].kind, FRAME_KERNEL);
	assert_string_equal(strings_get(&input.profile->strings,
					input.profile->frames[location->first_frame].function),
			    "vfs_read");
	assert_int_equal(input.profile->mappings[location->mapping].kind, MAPPING_KERNEL);
	input_done(&input);
}

/* What a program calls itself can't make its file, where it may come first, one of another kind. */
static void commands_like_other_files(void **state)
{
	expect_same("<!DOCTYPE html>;main 1\nsh;main 2\n", PROFILE_ONCPU);
	expect_same("<?xml version=\";main 1\n", PROFILE_ONCPU);
	expect_same("<svg width=\"9\";main 1\nsh;main 2\n", PROFILE_ONCPU);
	expect_same("{\"shared\":{};main 1\n", PROFILE_ONCPU);
}

static void modes(void **state)
{
	expect_same("sh;main 1\n", PROFILE_ONCPU);
	expect_same("sh;main;[sleep] 1\n", PROFILE_OFFCPU);
	expect_same("sh;main;[on-cpu] 1\n", PROFILE_WALL);
	expect_same("sh;main;[on-cpu] 1\nsh;main;[page fault] 1\n", PROFILE_WALL);
	/* Not in a reason's place. */
	made_expect("[sleep] 1\n", plain, PROFILE_ONCPU, "(sleep) 1\n");
	expect_same("sh;[sleep];main 1\n", PROFILE_ONCPU);
	expect_same("sh;main;[sleep]_[k] 1\n", PROFILE_ONCPU);
}

static void times(void **state)
{
	struct input input = made_input(plain);

	assert_int_equal(made_read(&input, "sh;f 5\nsh;f;[sleep] 2000\nsh;f;[sleep] 1\n"), 0);
	assert_int_equal(input.profile->samples[0].nanoseconds, 5000);
	assert_int_equal(input.profile->samples[0].count, 1);
	assert_int_equal(input.profile->samples[1].nanoseconds, 2001000);
	assert_int_equal(input.profile->samples[1].count, 2);
	assert_int_equal(input.profile->samples[1].reason, REASON_SLEEP);
	input_done(&input);
}

static void every_reason(void **state)
{
	for (int reason = REASON_ONCPU; reason < N_OFF_REASONS; reason++) {
		struct input input = made_input(plain);
		char text[64];

		snprintf(text, sizeof text, "sh;main;%s 3\n", off_reason_text(reason));
		assert_int_equal(made_read(&input, text), 0);
		assert_int_equal(input.profile->samples[0].reason, reason);
		assert_int_equal(input.profile->stacks[input.profile->samples[0].stack].n, 1);
		made_expect_profile(input.profile, &made_all, text);
		input_done(&input);
	}
}

static void truncated(void **state)
{
	struct input input = made_input(plain);
	const struct profile_stack *stack;

	assert_int_equal(made_read(&input, "sh;[truncated];f;[truncated] 3\n"), 0);
	stack = &input.profile->stacks[input.profile->samples[0].stack];
	assert_int_equal(stack->end, STACK_TRUNCATED);
	assert_int_equal(stack->n, 2);
	input_done(&input);
	made_expect("[truncated];f 1\nsh;[truncated] 2\n", plain, PROFILE_ONCPU,
		    "(truncated);f 1\nsh;[truncated] 2\n");
}

static void idle(void **state)
{
	struct input input = made_input(plain);

	assert_int_equal(made_read(&input, "[idle] 1\n[idle];sh 2\n[idle];sh;f;[poll] 3\n"), 0);
	assert_false(input.profile->samples[0].is_idle);
	assert_true(input.profile->samples[1].is_idle);
	assert_true(input.profile->samples[2].is_idle);
	assert_int_equal(input.profile->samples[2].reason, REASON_POLL);
	input_done(&input);
}

static void wakers(void **state)
{
	static const char text[] = "db;main;lock;[futex];--;wake;unlock;[truncated];client-71;--;"
				   "irq_[k];[interrupt];--;sh 5\n";
	struct input input = made_input(plain);
	const struct profile_waker *waker;

	assert_int_equal(made_read(&input, text), 0);
	waker = &input.profile->wakers[input.profile->samples[0].waker];
	assert_string_equal(strings_get(&input.profile->strings, waker->comm), "client");
	assert_int_equal(waker->tid, 71);
	assert_false(waker->is_interrupt);
	assert_int_equal(input.profile->stacks[waker->stack].n, 2);
	assert_int_equal(input.profile->stacks[waker->stack].end, STACK_TRUNCATED);
	waker = &input.profile->wakers[waker->next];
	assert_true(waker->is_interrupt);
	assert_int_equal(input.profile->stacks[waker->stack].n, 1);
	waker = &input.profile->wakers[waker->next];
	assert_string_equal(strings_get(&input.profile->strings, waker->comm), "sh");
	assert_int_equal(waker->tid, 0);
	assert_int_equal(waker->next, 0);
	made_expect_profile(input.profile, &made_all, text);
	input_done(&input);
}

/* Frames that are called `--`. */
static void no_wakers(void **state)
{
	static const char *const texts[] = {
		"sh;-- 1\n",
		"sh;f;--;--;g 1\n",
		"sh;f;--;g;-- 1\n",
		"sh;f;[runqueue];--;g;sh 1\n",
		"sh;f;--;1;--;2;--;3;--;4;--;5;--;6;--;7;--;8;--;9 1\n",
		"sh;--_[k];f 1\n",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct input input = made_input(plain);

		assert_int_equal(made_read(&input, texts[i]), 0);
		assert_int_equal(input.profile->samples[0].waker, 0);
		made_expect_profile(input.profile, &made_all, texts[i]);
		input_done(&input);
	}
}

/* @text has one command, the first frame. */
static void expect_commands(const char *text)
{
	struct input input = made_input(plain);

	assert_int_equal(made_read(&input, text), 0);
	assert_false(input.profile->by_thread);
	assert_int_equal(input.profile->samples[0].pid, 0);
	made_expect_profile(input.profile, &made_all, text);
	input_done(&input);
}

static void threads(void **state)
{
	static const char text[] = "[idle];a-b-1/3;f 9\na-b-1/2;f 1\nx-1/0 4\n[unknown]-9/9;g 5\n";
	struct unfold_options unfold = made_all;
	struct input input = made_input(plain);

	unfold.threads = true;
	assert_int_equal(made_read(&input, text), 0);
	assert_string_equal(strings_get(&input.profile->strings, input.profile->samples[1].comm),
			    "a-b");
	assert_int_equal(input.profile->samples[1].pid, 1);
	assert_int_equal(input.profile->samples[1].tid, 2);
	made_expect_profile(input.profile, &unfold,
			    "[idle];a-b-1/3;f 9\n[unknown]-9/9;g 5\na-b-1/2;f 1\nx-1/0 4\n");
	/* Modes as recorded, unless an option says otherwise. */
	made_expect_profile(input.profile, &made_all,
			    "[idle];a-b-1/3;f 9\n[unknown]-9/9;g 5\na-b-1/2;f 1\nx-1/0 4\n");
	unfold = made_all;
	unfold.no_threads = true;
	made_expect_profile(input.profile, &unfold,
			    "[idle];a-b;f 9\n[unknown];g 5\na-b;f 1\nx 4\n");
	unfold.no_threads = false;
	/* Samples are found under their new mode. */
	assert_int_equal(made_read(&input, "a-b-1/2;f 10\n"), 0);
	made_expect_profile(input.profile, &unfold,
			    "[idle];a-b-1/3;f 9\n[unknown]-9/9;g 5\na-b-1/2;f 11\nx-1/0 4\n");
	/* With one kind set by command, all are. */
	assert_int_equal(made_read(&input, "x 3\n"), 0);
	made_expect_profile(input.profile, &unfold,
			    "[idle];a-b;f 9\n[unknown];g 5\na-b;f 11\nx 7\n");
	input_done(&input);
	/* One invalid sample, so none of the others counts either. */
	expect_same("a-1/2;f 1\nkworker/u8:2-1;f 3\n", PROFILE_ONCPU);
	expect_same("a-1/02;f 1\n", PROFILE_ONCPU);
	/* Threads have names: this is a command. */
	expect_commands("-1/2;f 1\n");
	expect_same("a-1/4294967296;f 1\n", PROFILE_ONCPU);
}

static void expect_mapping(const char *frame, enum mapping_kind kind, const char *path)
{
	struct input input = made_input(plain);
	const struct profile_mapping *mapping;
	char text[256];

	snprintf(text, sizeof text, "sh;%s 1\n", frame);
	assert_int_equal(made_read(&input, text), 0);
	mapping = &input.profile->mappings[input.profile->locations[0].mapping];
	assert_int_equal(mapping->kind, kind);
	assert_string_equal(strings_get(&input.profile->strings, mapping->path), path);
	input_done(&input);
}

static void modules(void **state)
{
	expect_mapping("main", MAPPING_UNKNOWN, "");
	expect_mapping("[libc.so.6+0x1a2b]", MAPPING_FILE, "libc.so.6");
	expect_mapping("[a+b+0x1]", MAPPING_FILE, "a+b");
	expect_mapping("[nf_tables+0x1]_[k]", MAPPING_KERNEL, "nf_tables");
	expect_mapping("[kernel+0xffffffff81000000]_[k]", MAPPING_KERNEL, "");
	expect_mapping("[vdso+0x1]", MAPPING_VDSO, "");
	expect_mapping("[libc.so.6+0x]", MAPPING_UNKNOWN, "");
	expect_mapping("[libc.so.6+0x1g]", MAPPING_UNKNOWN, "");
	expect_mapping("[+0x1]", MAPPING_UNKNOWN, "");
	expect_mapping("[libc.so.6]", MAPPING_UNKNOWN, "");
}

static void without_inlined(void **state)
{
	made_expect("sh;main;inner_[i];read_[k] 1\nsh;main;read_[k] 2\n",
		    (struct input_options){.no_inline = true}, PROFILE_ONCPU,
		    "sh;main;read_[k] 3\n");
}

/* Files of other tools */

static void foreign(void **state)
{
	made_expect("a;operator new(unsigned long);std::vector<int, x> > 3\r\n"
		    "a;b c\t 4\r\n"
		    "\r\n"
		    "# made by hand\n"
		    "#a;b 1\n"
		    "a;b 1  \n"
		    "a;;b 2\n"
		    "lib`f;g 7",
		    plain, PROFILE_ONCPU,
		    "#a;b 1\n"
		    "a;[unknown];b 2\n"
		    "a;b 1\n"
		    "a;b c? 4\n"
		    "a;operator new(unsigned long);std::vector<int, x> > 3\n"
		    "lib`f;g 7\n");
}

static void counts_of_lines(void **state)
{
	struct input input = made_input(plain);

	assert_int_equal(made_read(&input, "a 1\n\n# x 5\n#\n#y\na;b 2.5\na;c 3.4\na;d 1.\na;e 0\n"
					   "a;f 0.2\n"),
			 0);
	assert_int_equal(input.stats.lines, 10);
	assert_int_equal(input.stats.comments, 4);
	assert_int_equal(input.stats.skipped, 0);
	assert_int_equal(input.stats.rounded, 3);
	made_expect_profile(input.profile, &made_all, "a 1\na;b 3\na;c 3\na;d 1\n");
	input_done(&input);
}

static void duplicates(void **state)
{
	made_expect("a;b 1\na;c 2\na;b 3\na;b 4\n", plain, PROFILE_ONCPU, "a;b 8\na;c 2\n");
}

static void two_columns(void **state)
{
	struct input input = made_input(plain);

	assert_int_equal(made_read(&input, "# old new\na;b 1 2\na;c 0 5\na;d 7 0\na;e 0 0\n"), 0);
	made_expect_profile(input.base, &made_all, "a;b 1\na;d 7\n");
	made_expect_profile(input.profile, &made_all, "a;b 2\na;c 5\n");
	/* Both modes are one. */
	input_done(&input);
	input = made_input(plain);
	assert_int_equal(made_read(&input, "a;[truncated];b;[sleep] 1 2\n"
					   "x;y;[futex];--;z-1;w-2 3 4\n"),
			 0);
	assert_int_equal(input.base->mode, PROFILE_OFFCPU);
	assert_int_equal(input.profile->mode, PROFILE_OFFCPU);
	made_expect_profile(input.base, &made_all,
			    "a;[truncated];b;[sleep] 1\nx;y;[futex];--;z-1;w-2 3\n");
	made_expect_profile(input.profile, &made_all,
			    "a;[truncated];b;[sleep] 2\nx;y;[futex];--;z-1;w-2 4\n");
	/* Those of a third file count as new. */
	assert_int_equal(made_read(&input, "a;[truncated];b;[sleep] 10\n"), 0);
	made_expect_profile(input.base, &made_all,
			    "a;[truncated];b;[sleep] 1\nx;y;[futex];--;z-1;w-2 3\n");
	made_expect_profile(input.profile, &made_all,
			    "a;[truncated];b;[sleep] 12\nx;y;[futex];--;z-1;w-2 4\n");
	input_done(&input);
	/* Reads into a profile that has strings already. */
	input = made_input(plain);
	assert_int_equal(made_read(&input, "a;q 10\na;b 1\n"), 0);
	assert_int_equal(made_read(&input, "b;a 1 2\na;b 3 4\n"), 0);
	made_expect_profile(input.base, &made_all, "a;b 3\nb;a 1\n");
	made_expect_profile(input.profile, &made_all, "a;b 5\na;q 10\nb;a 2\n");
	input_done(&input);
}

static void one_column_if_any_has_one(void **state)
{
	expect_same("a;b 1 2\na;c 3\n", PROFILE_ONCPU);
	expect_same("a;b 3\na;b 4 5\n", PROFILE_ONCPU);
}

/* In a long file, more than the first lines are examined. */
static void columns_end(void **state)
{
	size_t n = 0, room = 2 << 20;
	char *text = malloc(room);
	struct input input = made_input(plain);
	uint64_t lines = 0;

	for (; n < room - 100; lines++)
		n += sprintf(text + n, "a;b%zu 1 2\n", n);
	strcpy(text + n, "a;c 3\n");
	assert_int_equal(made_read(&input, text), -EINVAL);
	snprintf(text, room, ":%llu: one value, where the lines before it have two",
		 (unsigned long long)lines + 1);
	assert_string_equal(made_failure.what, text);
	input_done(&input);
	free(text);
}

/* Refusals */

#define EXPECT_FAILURE(text, what) made_expect_failure(text, sizeof(text) - 1, -EINVAL, what)

static void no_value(void **state)
{
	static const char *const lines[] = {
		"a;b",	  "a;b x",   "a;b -1", "a;b 1e5", "a;b 0x1f", "12",
		"a;b .5", "a;b 1,5", "a;b 1;", "a;b12",	  "#;b",
	};

	for (size_t i = 0; i < COUNT(lines) - 1; i++) {
		struct input input = made_input(plain);
		char text[64];

		snprintf(text, sizeof text, "a;b 1\n\n%s\n", lines[i]);
		assert_int_equal(made_read(&input, text), -EINVAL);
		assert_string_equal(made_failure.what, ":3: no value at the end of the line");
		input_done(&input);
	}
}

static void too_large(void **state)
{
#define TOO_LARGE "the values are too large to be added up"
	EXPECT_FAILURE("a;b 18446744073709551616\n", ":1: " TOO_LARGE);
	EXPECT_FAILURE("a;b 18446744073709551615.5\n", ":1: " TOO_LARGE);
	EXPECT_FAILURE("a;b 18446744073709551615\na 1\n", ":2: " TOO_LARGE);
	expect_same("a;b 18446744073709551614\na;c 1\n", PROFILE_ONCPU);
	/* Read as nanoseconds. */
	EXPECT_FAILURE("a 1\na;b 18446744073709552\na;[sleep] 1\n", ":2: " TOO_LARGE);
	expect_same("a;b 18446744073709550\na;b;[sleep] 1\n", PROFILE_OFFCPU);
}

static void too_large_together(void **state)
{
	struct input input = made_input(plain);

	assert_int_equal(made_read(&input, "a 18446744073709551615\n"), 0);
	assert_int_equal(made_read(&input, "b 1\n"), -EINVAL);
	assert_string_equal(made_failure.what, ":1: " TOO_LARGE);
	input_done(&input);
	input = made_input(plain);
	assert_int_equal(made_read(&input, "a;[sleep] 18446744073709551\n"), 0);
	assert_int_equal(made_read(&input, "a;[sleep] 1\n"), -EINVAL);
	assert_string_equal(made_failure.what, ":1: " TOO_LARGE);
	input_done(&input);
}

static void nul_bytes(void **state)
{
	char text[4000];

	memset(text, 'x', sizeof text);
	memcpy(text, "a;b 1\n", 6);
	memcpy(text + 2000, "\na;b\0c 1\n", 9);
	memcpy(text + 1990, " 1", 2);
	memset(text + 1992, ' ', 8);
	EXPECT_FAILURE(
		"a;bc 1\na;\0 2\n",
		": neither folded lines, nor pprof, nor JSON, nor the text of perf script: byte 9 is 0");
	made_expect_failure(text, sizeof text, -EINVAL, ":3: a NUL byte; this is not a text file");
}

/* Numbers */

static void values(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t number;
		size_t n;
		bool was_rounded;
	} cases[] = {
		{"a 0", 1, 0, 1},
		{"a 18446744073709551615", 1, UINT64_MAX, 1},
		{"a 18446744073709551616", -ERANGE},
		{"a 000000000000000000000000000001", 1, 1, 1},
		{"a  5", 1, 5, 2},
		{" 5", 1, 5, 0},
		{"a\t5", 1, 5, 1},
		{"5", 0},
		{"", 0},
		{"a 1.49999", 1, 1, 1, true},
		{"a 1.5", 1, 2, 1, true},
		{"a 1.", 1, 1, 1, false},
		{"a 5.00", 1, 5, 1, false},
		{"a 1.05", 1, 1, 1, true},
		{"a .1", 0},
		{"a 1.2.3", 0},
		{"a 0.99999999999999999999999999", 1, 1, 1, true},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct value value;
		size_t n = strlen(cases[i].text);

		assert_int_equal(value_read(cases[i].text, n, &value), cases[i].r);
		if (cases[i].r <= 0)
			continue;
		assert_int_equal(value.number, cases[i].number);
		assert_int_equal(value.n, cases[i].n);
		assert_int_equal(value.was_rounded, cases[i].was_rounded);
	}
}

/* Every length, and every position of the `;` in a word, compared with a slow implementation. */
static void cutting(void **state)
{
	uint64_t random = 3;

	for (uint32_t n = 0; n < 100; n++)
		for (int round = 0; round < 50; round++) {
			char text[200];
			struct cut cut, again;

			for (size_t i = 0; i < sizeof text; i++)
				text[i] = ":<;\xbb\x3a\x80\xff\1"[made_random(&random) % 8];
			for (uint32_t i = 0; i < n; i++)
				if (text[i] == ';')
					text[i] = ':';
			text[n] = ';';
			cut = cut_at(text);
			assert_int_equal(cut.n, n);
			/* The rest doesn't matter. */
			memset(text + n + 1, 'x', sizeof text - n - 1);
			again = cut_at(text);
			assert_int_equal(again.hash, cut.hash);
			if (n) {
				text[made_random(&random) % n] ^= 0x40;
				assert_int_not_equal(cut_at(text).hash, cut.hash);
			}
		}
}

/* Round trips */

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Makes a copy in which commands that look like marks are as they were before writing. */
static char *with_marks(const char *text)
{
	char *copy = strdup(text), *to = copy;

	for (const char *from = text; *from; from++) {
		if (strncmp(from, "(--)", 4) == 0) {
			*to++ = '-';
			*to++ = '-';
			from += 3;
		} else {
			*to++ = *from == '(' ? '[' : *from == ')' ? ']' : *from;
		}
	}
	*to = '\0';
	return copy;
}

/* Sorts the lines of @text, so that their order does not matter. */
static char *sorted(const char *text)
{
	char *copy = with_marks(text), *rest = copy, **lines = calloc(strlen(text) + 1, sizeof *lines);
	char *joined = calloc(strlen(text) + 2, 1), *end = joined;
	size_t n = 0;

	for (char *line; (line = strsep(&rest, "\n"));)
		lines[n++] = line;
	qsort(lines, n, sizeof *lines, compare_lines);
	for (size_t i = 0; i < n; i++)
		end += sprintf(end, "%s\n", lines[i]);
	free(lines);
	free(copy);
	return joined;
}

/* Reads @text, writes it, and does both once more. */
static void expect_round_trip(const char *text, bool threads)
{
	struct unfold_options unfold = made_all;
	char *first, *second, *a, *b;
	struct input input = made_input(plain);

	unfold.threads = threads;
	if (made_read(&input, text) < 0)
		print_error("%s\n", made_failure.what);
	first = made_folded(input.profile, &unfold);
	input_done(&input);
	a = sorted(text);
	b = sorted(first);
	assert_string_equal(a, b);
	input = made_input(plain);
	assert_int_equal(made_read(&input, first), 0);
	second = made_folded(input.profile, &unfold);
	assert_string_equal(first, second);
	input_done(&input);
	free(a);
	free(b);
	free(first);
	free(second);
}

static const char *const words[] = {
	"a",
	"b c",
	"--",
	"[truncated]",
	"[idle]",
	"[sleep]",
	"[on-cpu]",
	"[runqueue]",
	"[preempted]",
	"[throttled]",
	"[interrupt]",
	"[page fault]",
	"x-12",
	"x-0",
	"x-012",
	"y-4294967295",
	"y-4294967296",
	"c-1/2",
	"_[k]",
	"f_[k]",
	"g_[i]",
	"h_[j]",
	"f_[k]_[k]",
	"[unknown]",
	"[unknown]_[k]",
	"[lib.so+0x1f]",
	"[kernel+0xff]",
	"[nf+0x1]_[k]",
	"#x",
	"12",
	" lead",
	"trail ",
	"1 2",
	"3.5",
	"--_[k]",
	"\xe6\xbc\xa2",
	"a_long_name_of_more_than_sixteen_bytes",
	"a_long_name_of_more_than_sixteen_byteS",
	"std::vector<int, std::allocator<int> >::push_back(int const&)",
	"[sleep]_[i]",
	"[futex]",
};

/* Lines are distinct: the last name but one contains the number of the round. */
static size_t random_line(char *text, uint64_t *random, int round, bool threads)
{
	int n_words = 1 + made_random(random) % 14;
	size_t n = 0;

	if (threads)
		n += sprintf(text + n, "%st%d-%d/%d", made_random(random) % 4 ? "" : "[idle];",
			     (int)(made_random(random) % 3), (int)(made_random(random) % 3), round);
	for (int i = threads; i < n_words; i++) {
		uint64_t pick = made_random(random);

		/* Most have something of our format in the right place. */
		n += sprintf(text + n, "%s%s", n ? ";" : "",
			     i && pick % 5 == 0 ? "--" : words[pick / 8 % COUNT(words)]);
	}
	return n;
}

static void random_lines(void **state)
{
	uint64_t random = 11;

	for (int round = 0; round < 400; round++) {
		bool threads = round % 4 == 3;
		char *text = malloc(1 << 20), *seen = malloc(1 << 20);
		size_t n = 0;

		/* With one column, and no threads. */
		if (!threads)
			n = sprintf(text, "root;end of it 7\n");
		*seen = '\0';
		for (int i = 0; i < 40; i++) {
			char line[4096], key[4100];
			size_t n_line = random_line(line, &random, i, threads);

			line[n_line] = '\0';
			snprintf(key, sizeof key, "\n%s\n", line);
			if (strstr(seen, key))
				continue;
			strcat(seen, key);
			n += sprintf(text + n, "%s %llu\n", line,
				     1 + (unsigned long long)made_random(&random) % 1000);
		}
		expect_round_trip(text, threads);
		free(text);
		free(seen);
	}
}

/* Profiles as they are recorded, written to a file and read back. */
static void random_profiles(void **state)
{
	static const char *const stacks[] = {"", "main", "main;f;g_[i];r_[k]", "main;a;b;c_[j]",
					     "main;a;read;vfs_read_[k]"};
	uint64_t random = 5;

	for (int round = 0; round < 200; round++) {
		enum profile_mode mode = round % 3;
		bool threads = round % 2;
		struct unfold_options unfold = made_all;
		struct profile *profile = made_profile(mode, NULL, 0);
		char *before, *after;
		struct input input = made_input(plain);

		unfold.threads = threads;
		for (int i = 0; i < 60; i++) {
			struct made_sample sample = {
				made_hostile_names[made_random(&random) % N_MADE_HOSTILE],
				stacks[made_random(&random) % COUNT(stacks)],
				(1 + made_random(&random) % 500) * (mode ? 1000 : 1),
				mode ? REASON_ONCPU + made_random(&random) % 15 : REASON_NONE,
				.pid = made_random(&random) % 3,
				.tid = made_random(&random) % 5,
				.truncated = made_random(&random) % 4 == 0,
				.is_idle = mode && made_random(&random) % 4 == 0};

			if (mode == PROFILE_OFFCPU && sample.reason == REASON_ONCPU)
				sample.reason = REASON_DISK;
			if (mode == PROFILE_WALL && i == 0)
				sample.reason = REASON_ONCPU;
			for (int k = 0; mode && k < (int)(made_random(&random) % MADE_CHAIN); k++)
				sample.wakers[k] = (struct made_waker){
					made_hostile_names[made_random(&random) % N_MADE_HOSTILE],
					stacks[made_random(&random) % COUNT(stacks)],
					.tid = made_random(&random) % 3,
					.truncated = made_random(&random) % 3 == 0,
					.is_interrupt = made_random(&random) % 4 == 0};
			made_add(profile, &sample);
		}
		before = made_folded(profile, &unfold);
		profile_free(profile);
		assert_int_equal(made_read(&input, before), 0);
		assert_true(mode == input.profile->mode);
		after = made_folded(input.profile, &unfold);
		assert_string_equal(before, after);
		input_done(&input);
		free(before);
		free(after);
	}
}

/* Lines that cross the boundaries of blocks, sorted and unsorted. */
static void long_files(void **state)
{
	for (int shuffled = 0; shuffled < 2; shuffled++) {
		size_t n = 0, n_lines = 20000;
		char *text = malloc(n_lines * 2100);
		uint64_t total = 0, sum = 0;
		struct input input = made_input(plain);

		for (size_t i = 0; i < n_lines; i++) {
			size_t k = shuffled ? i * 7919 % n_lines : i;

			n += sprintf(text + n, "root%zu;", k / 5000);
			for (size_t depth = 0; depth < 10; depth++)
				n += sprintf(text + n, "function_%zu_of_level_%zu;",
					     k >> (10 - depth), depth);
			/* A few lines are far longer than others. */
			if (i % 1000 == 999) {
				memset(text + n, 'y', 1500);
				n += 1500;
			}
			n += sprintf(text + n, "leaf%zu %zu\n", k, k % 9 + 1);
			total += k % 9 + 1;
		}
		assert_true(n > 4 << 20);
		assert_int_equal(made_read_bytes(&input, text, n), 0);
		assert_int_equal(input.profile->n_samples, n_lines);
		for (size_t i = 0; i < n_lines; i++)
			sum += input.profile->samples[i].count;
		assert_int_equal(sum, total);
		if (!shuffled)
			expect_round_trip(text, false);
		else {
			char *out = made_folded(input.profile, &made_all), *a = sorted(text),
			     *b = sorted(out);

			assert_string_equal(a, b);
			free(out);
			free(a);
			free(b);
		}
		input_done(&input);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oncpu),	   cmocka_unit_test(modes),
		cmocka_unit_test(times),	   cmocka_unit_test(every_reason),
		cmocka_unit_test(truncated),	   cmocka_unit_test(idle),
		cmocka_unit_test(wakers),	   cmocka_unit_test(no_wakers),
		cmocka_unit_test(threads),	   cmocka_unit_test(modules),
		cmocka_unit_test(without_inlined), cmocka_unit_test(foreign),
		cmocka_unit_test(counts_of_lines), cmocka_unit_test(duplicates),
		cmocka_unit_test(two_columns),	   cmocka_unit_test(one_column_if_any_has_one),
		cmocka_unit_test(columns_end),	   cmocka_unit_test(no_value),
		cmocka_unit_test(too_large),	   cmocka_unit_test(too_large_together),
		cmocka_unit_test(nul_bytes),	   cmocka_unit_test(values),
		cmocka_unit_test(cutting),	   cmocka_unit_test(random_lines),
		cmocka_unit_test(random_profiles), cmocka_unit_test(long_files),
		cmocka_unit_test(commands_like_other_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
