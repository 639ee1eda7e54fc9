/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is written from profiles made by hand. Golden files are compared byte by byte;
 * `GOLDEN=write build/unit/test_render` makes them anew, for `git diff` to show what changed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "made_profile.h"
#include "render/layout.h"
#include "render/palette.h"
#include "render/render.h"
#include "render/text.h"
#include "render/tree.h"
#include "unit/xml_scan.h"

#define COUNT(array)	    (sizeof(array) / sizeof *(array))
#define MADE(mode, samples) made_profile(mode, samples, COUNT(samples))

static const struct unfold_options plain;
static const struct svg_options default_svg = {.min_width = -1};

static char *folded(struct profile *profile, const struct unfold_options *unfold)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_int_equal(render_folded(profile, unfold, stream), 0);
	fclose(stream);
	return text;
}

static char *svg(struct profile *profile, const struct svg_options *options)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	const char *bad;

	assert_int_equal(render_svg(profile, &plain, options, stream), 0);
	fclose(stream);
	bad = xml_scan(text);
	if (bad)
		fail_msg("not well-formed at byte %td: %.60s", bad - text, bad);
	return text;
}

static size_t n_occurrences(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* Frees @profile. */
static void expect_folded(struct profile *profile, const struct unfold_options *unfold,
			  const char *expected)
{
	char *text = folded(profile, unfold);

	assert_string_equal(text, expected);
	free(text);
	profile_free(profile);
}

/* Folded lines */

static const struct made_sample mixed[] = {
    {"sh", "main;read;vfs_read_[k]", 3, .pid = 7, .tid = 7},
    {"sh", "main;read;vfs_read_[k]", 4, .pid = 7, .tid = 8},
    {"sh", "main;inner_[i];run_[j]", 1, .pid = 7, .tid = 7},
    {"sh", "loop", 5, .pid = 7, .tid = 7, .truncated = true},
    {"sh", "", 2, .pid = 7, .tid = 7},
    {"sh", "main;never", 0, .pid = 7, .tid = 7},
    {"", "", 6, .pid = 9, .tid = 9},
};

static void folded_oncpu(void **state)
{
	expect_folded(MADE(PROFILE_ONCPU, mixed), &plain,
		      "[unknown] 6\n"
		      "sh 2\n"
		      "sh;[truncated];loop 5\n"
		      "sh;main;inner_[i];run_[j] 1\n"
		      "sh;main;read;vfs_read_[k] 7\n");
}

static void folded_options(void **state)
{
	expect_folded(MADE(PROFILE_ONCPU, mixed),
		      &(struct unfold_options){.threads = true, .no_inline = true},
		      "-9/9 6\n"
		      "sh-7/7 2\n"
		      "sh-7/7;[truncated];loop 5\n"
		      "sh-7/7;main;read;vfs_read_[k] 3\n"
		      "sh-7/7;main;run_[j] 1\n"
		      "sh-7/8;main;read;vfs_read_[k] 4\n");
}

static void folded_offcpu(void **state)
{
	static const struct made_sample samples[] = {
	    {"a", "f", 400, REASON_SLEEP, 1, 1}, /* three times 0.4 us are 1.2 us */
	    {"a", "f", 400, REASON_SLEEP, 1, 2},       {"a", "f", 400, REASON_SLEEP, 1, 3},
	    {"a", "f", 1500, REASON_DISK, 1, 1},       {"a", "f", 499, REASON_STOPPED, 1, 1},
	    {"a", "", 2000000, REASON_RUNQUEUE, 1, 1}, {"a", "g", 3000, REASON_PREEMPTED, 1, 1},
	};

	expect_folded(MADE(PROFILE_OFFCPU, samples), &plain,
		      "a;[runqueue] 2000\n"
		      "a;f;[disk] 2\n"
		      "a;f;[sleep] 1\n"
		      "a;g;[preempted] 3\n");
	expect_folded(MADE(PROFILE_OFFCPU, samples), &(struct unfold_options){.no_reason = true},
		      "a 2000\n"
		      "a;f 3\n"
		      "a;g 3\n");
}

static void folded_names(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	struct made_sample sample = {"a;b\n", "", 1};
	uint32_t locations[2] = {made_location(profile, FRAME_KERNEL, "x;y\t\x7f"),
				 made_location(profile, FRAME_USER, "n\xc3\xa9 \xff")};

	made_add_locations(profile, &sample, locations, 2);
	/* Different names, equal text. */
	sample.comm = "a:b?";
	locations[0] = made_location(profile, FRAME_USER, "x:y??_[k]");
	made_add_locations(profile, &sample, locations, 2);
	expect_folded(profile, &plain, "a:b?;n\xc3\xa9 \xff;x:y??_[k] 2\n");
}

/* What follows a frame's name sorts by its byte, `;` or not. */
static void folded_order(void **state)
{
	static const struct made_sample samples[] = {
	    {"a", "", 1},  {"a", "z", 1},  {"a b", "x", 1},  {"a b", "", 1},	   {"a!", "y", 1},
	    {"ab", "", 1}, {"a<", "q", 1}, {"a b c", "", 1}, {"a\xc3\xa9", "", 1},
	};

	expect_folded(MADE(PROFILE_ONCPU, samples), &plain,
		      "a 1\n"
		      "a b 1\n"
		      "a b c 1\n"
		      "a b;x 1\n"
		      "a!;y 1\n"
		      "a;z 1\n"
		      "a<;q 1\n"
		      "ab 1\n"
		      "a\xc3\xa9 1\n");
}

static void folded_empty(void **state)
{
	expect_folded(made_profile(PROFILE_ONCPU, NULL, 0), &plain, "");
}

/* Trees */

static struct profile *random_profile(uint64_t seed)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	uint64_t random = seed;
	uint32_t locations[16];
	char name[4] = "";

	for (int i = 0; i < 300; i++) {
		struct made_sample sample = {"a", "", made_random(&random) % 50};
		uint32_t n = made_random(&random) % COUNT(locations);

		for (uint32_t k = 0; k < n; k++) {
			for (int c = 0; c < 2; c++)
				name[c] = "a b;z"[made_random(&random) % 5];
			locations[k] =
			    made_location(profile, made_random(&random) % FRAME_NOTE, name);
		}
		made_add_locations(profile, &sample, locations, n);
	}
	return profile;
}

static void expect_good_node(const struct tree *tree, const struct strings *strings, uint32_t index)
{
	const struct tree_node *node = &tree->nodes[index], *before = NULL;
	uint64_t start = node->start, children = 0;

	for (uint32_t i = node->first_child; i != TREE_NONE; i = tree->nodes[i].next) {
		const struct tree_node *child = &tree->nodes[i];

		assert_int_equal(child->parent, index);
		assert_int_equal(child->depth, node->depth + 1);
		assert_int_equal(child->start, start);
		start += child->total;
		children += child->total;
		if (before) {
			int order = strcmp(strings_get(strings, before->name),
					   strings_get(strings, child->name));

			assert_true(order < 0 || (order == 0 && before->kind < child->kind));
		}
		before = child;
	}
	assert_int_equal(children + node->self, node->total);
}

static void tree_is_consistent(void **state)
{
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct profile *profile = random_profile(seed);
		uint64_t sum = 0, n = 0;
		struct tree tree;

		for (size_t i = 0; i < profile->n_samples; i++)
			sum += profile->samples[i].count;
		assert_int_equal(tree_build(profile, &plain, seed % 2, &tree), 0);
		assert_int_equal(tree.nodes[0].total, sum);
		for (uint32_t i = 0; i < tree.n_nodes; i++)
			expect_good_node(&tree, &profile->strings, i);
		for (uint32_t i = 0; i != TREE_NONE; i = tree_walk(&tree, i, true))
			n++;
		assert_int_equal(n, tree.n_nodes);
		tree_done(&tree);
		profile_free(profile);
	}
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Of each line, without its value. */
static void folded_is_sorted_and_distinct(void **state)
{
	for (uint64_t seed = 1; seed < 10; seed++) {
		struct profile *profile = random_profile(seed);
		char *text = folded(profile, &plain), *rest = text, *before = NULL;
		uint64_t sum = 0, expected = 0;

		for (size_t i = 0; i < profile->n_samples; i++)
			expected += profile->samples[i].count;
		for (char *line; (line = strsep(&rest, "\n")) && *line; before = line) {
			char *space = strrchr(line, ' ');

			sum += strtoull(space + 1, NULL, 10);
			*space = '\0';
			assert_true(!before || compare_lines(&before, &line) < 0);
		}
		assert_int_equal(sum, expected);
		free(text);
		profile_free(profile);
	}
}

static void tree_merges_from_leaves(void **state)
{
	static const struct made_sample samples[] = {{"a", "x;leaf", 2}, {"b", "y;leaf", 3}};
	struct profile *profile = MADE(PROFILE_ONCPU, samples);
	struct tree tree;
	uint32_t leaf;

	assert_int_equal(tree_build(profile, &plain, true, &tree), 0);
	leaf = tree.nodes[0].first_child;
	assert_string_equal(strings_get(&profile->strings, tree.nodes[leaf].name), "leaf");
	assert_int_equal(tree.nodes[leaf].total, 5);
	assert_int_equal(tree.nodes[leaf].next, TREE_NONE);
	tree_done(&tree);
	profile_free(profile);
}

static void tree_refuses_overflow(void **state)
{
	struct named_frame frame = {FRAME_USER, 0};
	struct tree tree;

	assert_int_equal(tree_init(&tree), 0);
	assert_int_equal(tree_add(&tree, &frame, 1, UINT64_MAX), 0);
	assert_int_equal(tree_add(&tree, &frame, 1, 1), -EOVERFLOW);
	tree_done(&tree);
}

static void layout_leaves_narrow_out(void **state)
{
	static const struct made_sample samples[] = {
	    {"a", "wide;x", 995}, {"a", "narrow;y;z", 4}, {"b", "", 1}};
	struct profile *profile = MADE(PROFILE_ONCPU, samples);
	struct layout layout;
	struct tree tree;

	assert_int_equal(tree_build(profile, &plain, false, &tree), 0);
	assert_int_equal(layout_make(&tree, 1000, 5, &layout), 0);
	assert_int_equal(layout.n_rows, 4);
	for (size_t d = 0; d <= layout.n_rows; d++)
		assert_int_equal(layout.rows[d], d);
	layout_done(&layout);
	assert_int_equal(layout_make(&tree, 1000, 0, &layout), 0);
	assert_int_equal(layout.n_rows, 5);
	assert_int_equal(layout.rows[layout.n_rows], tree.n_nodes);
	layout_done(&layout);
	tree_done(&tree);
	profile_free(profile);
}

/* Text */

static void expect_text(const char *name, size_t columns, const char *expected)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	text_write(stream, name, columns);
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
}

#define R "\xef\xbf\xbd"

static void text_is_escaped(void **state)
{
	expect_text("<a href=\"x\">&'", SIZE_MAX, "&lt;a href=&quot;x&quot;&gt;&amp;'");
	expect_text("a\nb\tc\x01", SIZE_MAX, "a b c" R);
	expect_text("\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x94\xa5", SIZE_MAX,
		    "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x94\xa5");
	expect_text("\xff\xc0\xaf\xed\xa0\x80", SIZE_MAX, R R R R);
	expect_text("\xef\xbf\xbe\xef\xbf\xbf\xe2\x80\xae", SIZE_MAX, R R R);
	expect_text("\xe2\x82", SIZE_MAX, R R);
	expect_text("\xf4\x90\x80\x80", SIZE_MAX, R R R R);
}

static void text_is_cut(void **state)
{
	expect_text("abcdef", 6, "abcdef");
	expect_text("abcdef", 5, "abcd\u2026");
	expect_text("&&&&", 3, "&amp;&amp;\u2026");
	expect_text("\xe6\xbc\xa2\xe5\xad\x97", 4, "\xe6\xbc\xa2\xe5\xad\x97");
	expect_text("\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2\u2026");
	expect_text("abc", 0, "");
}

static void figures_for_people(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
	    {0, "0 ns"},	   {999, "999 ns"},	    {1000, "1.00 µs"},
	    {12345, "12.3 µs"},	   {999999, "999 µs"},	    {4560000, "4.56 ms"},
	    {999700000, "999 ms"}, {61000000000, "61.0 s"}, {1234567000000, "1,235 s"},
	};
	char text[TEXT_FIGURE_SIZE];

	for (size_t i = 0; i < COUNT(times); i++) {
		text_time(text, times[i].ns);
		assert_string_equal(text, times[i].text);
	}
	text_count(text, 999);
	assert_string_equal(text, "999");
	text_count(text, UINT64_MAX);
	assert_string_equal(text, "18,446,744,073,709,551,615");
}

/* x^2.4 without libm: x² times the fifth root of x², by Newton's method. 0 < x ≤ 1. */
static double power_2_4(double x)
{
	double root = 1;

	for (int i = 0; i < 40; i++)
		root = (4 * root + x * x / (root * root * root * root)) / 5;
	return x * x * root;
}

/* Relative luminance, https://www.w3.org/TR/WCAG21/#dfn-relative-luminance */
static double luminance(uint32_t color)
{
	static const double shares[] = {0.0722, 0.7152, 0.2126};
	double sum = 0;

	for (int i = 0; i < 3; i++, color >>= 8) {
		double part = (color & 0xff) / 255.0;

		sum += shares[i] *
		       (part <= 0.03928 ? part / 12.92 : power_2_4((part + 0.055) / 1.055));
	}
	return sum;
}

static void every_fill_is_readable(void **state)
{
	double ink = luminance(strtoul(PALETTE_INK + 1, NULL, 16)) + 0.05;

	for (size_t i = 0; svg_palettes[i]; i++) {
		const struct palette *palette = palette_find(svg_palettes[i], PROFILE_ONCPU);

		assert_non_null(palette);
		for (int kind = 0; kind < N_FRAME_KINDS; kind++)
			for (unsigned int shade = 0; shade < PALETTE_SHADES; shade++) {
				uint32_t fill = palette_fill(palette, kind, shade);

				assert_true((luminance(fill) + 0.05) / ink >= 4.5);
			}
	}
	assert_null(palette_find("plaid", PROFILE_ONCPU));
	assert_ptr_equal(palette_find(NULL, PROFILE_OFFCPU), palette_find("io", PROFILE_ONCPU));
	assert_ptr_equal(palette_find(NULL, PROFILE_ONCPU), palette_find("hot", PROFILE_ONCPU));
}

/* SVG */

static void svg_shows_names_figures_and_kinds(void **state)
{
	struct profile *profile = MADE(PROFILE_ONCPU, mixed);
	char *text = svg(profile, &default_svg);

	assert_non_null(strstr(text, "<title>On-CPU Flame Graph</title>"));
	assert_non_null(strstr(text, "<title>vfs_read (7 samples, 33.33%)</title>"));
	assert_non_null(strstr(text, "<title>inner (1 sample, 4.76%)</title>"));
	assert_non_null(strstr(text, "<title>all (21 samples, 100.00%)</title>"));
	assert_non_null(strstr(text, ">kernel</text>"));
	assert_null(strstr(text, "_[k]"));
	assert_int_equal(n_occurrences(text, "http"), n_occurrences(text, "http://www.w3.org/"));
	free(text);
	profile_free(profile);
}

static void svg_says_time_offcpu(void **state)
{
	static const struct made_sample samples[] = {{"a", "f", 1500000, REASON_DISK, 1, 1},
						     {"a", "f", 500000, REASON_SLEEP, 1, 1}};
	struct profile *profile = MADE(PROFILE_OFFCPU, samples);
	char *text = svg(profile, &default_svg);

	assert_non_null(strstr(text, "<title>Off-CPU Flame Graph</title>"));
	assert_non_null(strstr(text, "<title>[disk] (1.50 ms, 75.00%)</title>"));
	assert_non_null(strstr(text, "2.00 ms off-CPU"));
	free(text);
	profile_free(profile);
}

static void svg_options_are_heeded(void **state)
{
	struct profile *profile = MADE(PROFILE_ONCPU, mixed);
	struct svg_options options = {.title = "T<1>",
				      .subtitle = "S&2",
				      .width = 640,
				      .min_width = -1,
				      .colors = "blue",
				      .inverted = true};
	char *text = svg(profile, &options);
	FILE *none = fopen("/dev/null", "w");

	assert_non_null(strstr(text, "T&lt;1&gt;"));
	assert_non_null(strstr(text, "S&amp;2"));
	assert_non_null(strstr(text, " width=\"640\""));
	assert_non_null(strstr(text, "data-inverted"));
	options.colors = "plaid";
	assert_int_equal(render_svg(profile, &plain, &options, none), -EINVAL);
	fclose(none);
	free(text);
	profile_free(profile);
}

static void svg_survives_hostile_names(void **state)
{
	for (int mode = 0; mode < N_PROFILE_MODES; mode++) {
		struct profile *profile = made_hostile(mode);
		char *text = svg(profile, &default_svg);

		assert_int_equal(n_occurrences(text, "<script>"), 1);
		assert_int_equal(n_occurrences(text, "<img"), 0);
		free(text);
		profile_free(profile);
	}
}

static void svg_of_nothing(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	char *text = svg(profile, &default_svg);

	assert_non_null(strstr(text, "Nothing was recorded."));
	free(text);
	profile_free(profile);
}

static void svg_of_random_profiles(void **state)
{
	for (uint64_t seed = 1; seed < 10; seed++) {
		struct profile *profile = random_profile(seed);
		struct svg_options options = {.width = 100 * seed,
					      .min_width = seed / 2.0 - 1,
					      .reverse = seed % 2,
					      .inverted = seed % 3};

		free(svg(profile, &options));
		profile_free(profile);
	}
}

/* @text without the script, which has tests of its own. */
static void expect_golden(const char *path, char *text)
{
	static char golden[1 << 20];
	const char *how = getenv("GOLDEN");
	bool write = how && strcmp(how, "write") == 0;
	FILE *file = fopen(path, write ? "w" : "r");

	assert_non_null(file);
	strcpy(strstr(text, "<script>"), "</svg>\n");
	if (write)
		fputs(text, file);
	else
		golden[fread(golden, 1, sizeof golden - 1, file)] = '\0';
	fclose(file);
	if (!write && strcmp(golden, text) != 0)
		fail_msg("%s differs; GOLDEN=write makes it anew", path);
	free(text);
}

static void describe(struct profile *profile)
{
	profile->command_line = made_string(profile, "bpfflame -p 7 -d 10");
	profile->host = made_string(profile, "example");
	profile->kernel = made_string(profile, "6.12.0");
	profile->start_realtime_ns = 1700000000123456789;
	profile->duration_ns = 10000000000;
	profile->frequency = 99;
}

static void golden_pictures(void **state)
{
	static const struct made_sample blocked[] = {
	    {"db", "main;commit;fsync;schedule_[k]", 7654321000, REASON_DISK, 1, 1},
	    {"db", "main;wait;futex_wait_[k];schedule_[k]", 912345678, REASON_SLEEP, 1, 2},
	    {"db", "main;wait", 1234567, REASON_RUNQUEUE, 1, 2},
	};
	struct profile *profile = MADE(PROFILE_ONCPU, mixed);

	describe(profile);
	expect_golden("tests/golden/oncpu.svg", svg(profile, &default_svg));
	profile_free(profile);
	profile = MADE(PROFILE_OFFCPU, blocked);
	describe(profile);
	expect_golden("tests/golden/offcpu.svg", svg(profile, &default_svg));
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(folded_oncpu),
	    cmocka_unit_test(folded_options),
	    cmocka_unit_test(folded_offcpu),
	    cmocka_unit_test(folded_names),
	    cmocka_unit_test(folded_order),
	    cmocka_unit_test(folded_empty),
	    cmocka_unit_test(folded_is_sorted_and_distinct),
	    cmocka_unit_test(tree_is_consistent),
	    cmocka_unit_test(tree_merges_from_leaves),
	    cmocka_unit_test(tree_refuses_overflow),
	    cmocka_unit_test(layout_leaves_narrow_out),
	    cmocka_unit_test(text_is_escaped),
	    cmocka_unit_test(text_is_cut),
	    cmocka_unit_test(figures_for_people),
	    cmocka_unit_test(every_fill_is_readable),
	    cmocka_unit_test(svg_shows_names_figures_and_kinds),
	    cmocka_unit_test(svg_says_time_offcpu),
	    cmocka_unit_test(svg_options_are_heeded),
	    cmocka_unit_test(svg_survives_hostile_names),
	    cmocka_unit_test(svg_of_nothing),
	    cmocka_unit_test(svg_of_random_profiles),
	    cmocka_unit_test(golden_pictures),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
