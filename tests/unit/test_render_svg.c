/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures of profiles made by hand. Golden files are compared byte by byte;
 * `GOLDEN=write build/unit/test_render_svg` makes them anew, for `git diff` to show what changed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/palette.h"
#include "render/render.h"
#include "unit/made_stacks.h"
#include "unit/xml_scan.h"

static const struct svg_options default_svg = {.min_width = -1};

static char *svg_of(struct profile *profile, const struct unfold_options *unfold,
		    const struct svg_options *options)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	const char *bad;

	assert_int_equal(render_svg(profile, unfold, options, stream), 0);
	fclose(stream);
	bad = xml_scan(text);
	if (bad)
		fail_msg("not well-formed at byte %td: %.60s", bad - text, bad);
	return text;
}

static char *svg(struct profile *profile, const struct svg_options *options)
{
	return svg_of(profile, &plain, options);
}

static size_t n_occurrences(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* Colours */

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

/* Every fill of a frame that a part of this kind can have. */
static void expect_readable(const struct palette *palette, bool is_waker)
{
	double ink = luminance(strtoul(PALETTE_INK + 1, NULL, 16)) + 0.05;

	assert_non_null(palette);
	for (int kind = 0; kind < N_FRAME_KINDS; kind++)
		for (unsigned int shade = 0; shade < PALETTE_SHADES; shade++) {
			if (is_waker ? kind > FRAME_SEPARATOR : kind == FRAME_SEPARATOR)
				continue;
			assert_true((luminance(palette_fill(palette, kind, shade)) + 0.05) / ink >=
				    4.5);
		}
}

static void every_fill_is_readable(void **state)
{
	for (size_t i = 0; svg_palettes[i]; i++) {
		expect_readable(palette_find(svg_palettes[i], PROFILE_ONCPU, PART_PLAIN), false);
		expect_readable(palette_find(svg_palettes[i], PROFILE_WALL, PART_RUNNING), false);
		expect_readable(palette_find(svg_palettes[i], PROFILE_WALL, PART_WAKER), true);
	}
	expect_readable(palette_find(NULL, PROFILE_WALL, PART_RUNNING), false);
}

static void palettes_are_found(void **state)
{
	const struct palette *io = palette_find("io", PROFILE_ONCPU, PART_PLAIN);
	const struct palette *hot = palette_find("hot", PROFILE_OFFCPU, PART_PLAIN);
	const struct palette *waker = palette_find(NULL, PROFILE_OFFCPU, PART_WAKER);
	const struct palette *running = palette_find(NULL, PROFILE_WALL, PART_RUNNING);

	assert_null(palette_find("plaid", PROFILE_ONCPU, PART_PLAIN));
	assert_ptr_equal(palette_find(NULL, PROFILE_ONCPU, PART_PLAIN), hot);
	assert_ptr_equal(palette_find(NULL, PROFILE_OFFCPU, PART_PLAIN), io);
	assert_ptr_equal(palette_find(NULL, PROFILE_WALL, PART_PLAIN), io);
	assert_true(running != io && waker != io && waker != running);
	/* A palette that was asked for is that of all but the wakers. */
	assert_ptr_equal(palette_find("hot", PROFILE_WALL, PART_RUNNING), hot);
	assert_ptr_equal(palette_find("hot", PROFILE_WALL, PART_WAKER), waker);
}


/* Pictures */

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

/* The letter of the look of the first frame whose tooltip begins with @name. */
static char look_of(const char *text, const char *name)
{
	char title[128];
	const char *found;

	snprintf(title, sizeof title, "<title>%s (", name);
	found = strstr(text, title);
	if (!found)
		fail_msg("%s is not drawn", name);
	while (strncmp(found, "<rect class=\"", 13) != 0)
		found--;
	return found[13];
}

static void svg_tells_running_waiting_and_wakers_apart(void **state)
{
	static const struct unfold_options options = {.waker_depth = 8, .fold_idle = true};
	static const struct {
		const char *name;
		char look;
	} frames[] = {
	    {"[idle]", 'n'},	  {"db", 'n'},	      {"query", 'a'},	  {"scan", 'a'},
	    {"pread", 'a'},	  {"copy_page", 'b'}, {"[on-cpu]", 'r'},  {"io_schedule", 'k'},
	    {"[disk]", 'w'},	  {"lock", 'u'},      {"[futex]", 'w'},	  {"[runqueue]", 'q'},
	    {"--", 's'},	  {"unlock", 'e'},    {"nvme_irq", 'f'},  {"futex_wake", 'f'},
	    {"[interrupt]", 'm'}, {"db-7", 'm'},      {"[timer]", 'w'},	  {"nanosleep", 'k'},
	    {"client", 'm'},	  {"send", 'e'},
	};
	struct profile *profile = MADE(PROFILE_WALL, both);
	char *text = svg_of(profile, &options, &default_svg);

	for (size_t i = 0; i < COUNT(frames); i++)
		if (look_of(text, frames[i].name) != frames[i].look)
			fail_msg("%s looks like %c", frames[i].name,
				 look_of(text, frames[i].name));
	assert_non_null(strstr(text, "<title>Wall-Clock Flame Graph</title>"));
	assert_non_null(strstr(text, "<title>[idle] (15.0 s, 58.25%)</title>"));
	assert_non_null(strstr(text, "25.8 s of threads, 5.00 s of it on-CPU"));
	assert_non_null(strstr(text, ">running</text>"));
	assert_non_null(strstr(text, ">waiting</text>"));
	assert_non_null(strstr(text, ">waker</text>"));
	assert_null(strstr(text, ">user</text>"));
	free(text);
	profile_free(profile);
}

/* Fills are written for the looks that are drawn, and for no others. */
static void svg_has_the_fills_it_needs(void **state)
{
	struct profile *profile = MADE(PROFILE_OFFCPU, both);
	char *text = svg(profile, &default_svg);

	assert_non_null(strstr(text, ".u11{fill:"));
	assert_non_null(strstr(text, ".w0{fill:"));
	assert_null(strstr(text, ".s0{fill:"));
	assert_null(strstr(text, ".e0{fill:"));
	assert_null(strstr(text, ".a0{fill:"));
	assert_null(strstr(text, ".j0{fill:"));
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
	profile = MADE(PROFILE_WALL, both);
	describe(profile);
	expect_golden("tests/golden/wall.svg",
		      svg_of(profile,
			     &(struct unfold_options){.waker_depth = 8, .fold_idle = true},
			     &default_svg));
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_fill_is_readable),
	    cmocka_unit_test(palettes_are_found),
	    cmocka_unit_test(svg_shows_names_figures_and_kinds),
	    cmocka_unit_test(svg_says_time_offcpu),
	    cmocka_unit_test(svg_tells_running_waiting_and_wakers_apart),
	    cmocka_unit_test(svg_has_the_fills_it_needs),
	    cmocka_unit_test(svg_options_are_heeded),
	    cmocka_unit_test(svg_survives_hostile_names),
	    cmocka_unit_test(svg_of_nothing),
	    cmocka_unit_test(svg_of_random_profiles),
	    cmocka_unit_test(golden_pictures),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
