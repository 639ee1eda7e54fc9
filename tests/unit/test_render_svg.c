/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures of profiles made by hand. Golden files are compared byte by byte; `GOLDEN=write
 * build/unit/test_render_svg` rewrites them, so that `git diff` shows what changed.
 */
#include "unit/made_svg.h"

#include <errno.h>

#include "render/language.h"
#include "render/palette.h"
#include "render/tone.h"

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

static void expect_legible(uint32_t fill, const char *what)
{
	double ink = luminance(strtoul(PALETTE_INK + 1, NULL, 16)) + 0.05;

	if ((luminance(fill) + 0.05) / ink < 4.5)
		fail_msg("%s: #%06x is too dark", what, fill);
}

/* Every fill that a frame of this kind can have. */
static void expect_readable(const char *name, enum profile_mode mode, enum palette_part part)
{
	const struct palette *palette = palette_find(name, mode, part);

	assert_non_null(palette);
	for (int kind = 0; kind < N_FRAME_KINDS; kind++) {
		if (part == PART_WAKER ? kind > FRAME_SEPARATOR : kind == FRAME_SEPARATOR)
			continue;
		assert_true(palette_n_shades(palette, kind) <= PALETTE_MOST_SHADES);
		for (unsigned int shade = 0; shade < palette_n_shades(palette, kind); shade++)
			expect_legible(palette_fill(palette, kind, shade), name ? name : "own");
	}
}

static void every_fill_is_readable(void **state)
{
	for (size_t i = 0; picture_palettes[i]; i++) {
		expect_readable(picture_palettes[i], PROFILE_ONCPU, PART_PLAIN);
		expect_readable(picture_palettes[i], PROFILE_WALL, PART_RUNNING);
		expect_readable(picture_palettes[i], PROFILE_WALL, PART_WAKER);
	}
	expect_readable(NULL, PROFILE_WALL, PART_RUNNING);
	for (enum tone tone = 0; tone < N_TONES; tone++)
		for (int negate = 0; negate < 2; negate++)
			expect_legible(tone_fill(tone, negate), "tone");
	for (enum tone tone = 0; tone < N_TONES; tone++)
		if (tone_is_hatched(tone))
			for (int negate = 0; negate < 2; negate++)
				expect_legible(tone_hatch(tone, negate), "hatch");
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
	/* The requested palette applies to all frames except wakers. */
	assert_ptr_equal(palette_find("hot", PROFILE_WALL, PART_RUNNING), hot);
	assert_ptr_equal(palette_find("hot", PROFILE_WALL, PART_WAKER), waker);
}

static void languages_are_recognized(void **state)
{
	static const struct {
		const char *name, *module;
		enum frame_kind kind;
		enum language language;
		bool is_library;
	} frames[] = {
		{"main", "app", FRAME_USER, LANGUAGE_C},
		{"__libc_start_call_main", "libc.so.6", FRAME_USER, LANGUAGE_C},
		{"[libfoo.so.1+0x1a2b]", "libfoo.so.1", FRAME_USER, LANGUAGE_C},
		{"foo.isra.0", "", FRAME_USER, LANGUAGE_C},
		{"foo.constprop.0", "", FRAME_USER, LANGUAGE_C},
		{"memcpy@GLIBC_2.14", "", FRAME_USER, LANGUAGE_C},
		{"std::vector<int, std::allocator<int> >::push_back(int&&)", "", FRAME_USER,
		 LANGUAGE_CPP, true},
		{"render::Scene::draw(render::Canvas&) const", "", FRAME_USER, LANGUAGE_CPP},
		{"std::thread::_State_impl<int>::_M_run()", "", FRAME_USER, LANGUAGE_CPP, true},
		{"operator new(unsigned long)", "", FRAME_USER, LANGUAGE_CPP},
		{"_ZN3foo3barEv", "", FRAME_USER, LANGUAGE_CPP},
		{"app::poll::h0123456789abcdef", "", FRAME_USER, LANGUAGE_RUST},
		{"core::ops::function::FnOnce::call_once", "", FRAME_USER, LANGUAGE_RUST, true},
		{"std::sys::thread::Thread::new", "", FRAME_USER, LANGUAGE_RUST, true},
		{"<alloc::vec::Vec<T> as core::clone::Clone>::clone", "", FRAME_USER, LANGUAGE_RUST,
		 true},
		{"<app::Server as tower::Service>::call", "", FRAME_USER, LANGUAGE_RUST},
		{"app::serve::{{closure}}", "", FRAME_INLINED, LANGUAGE_RUST},
		{"runtime.mallocgc", "proxy", FRAME_USER, LANGUAGE_GO, true},
		{"main.main", "proxy", FRAME_USER, LANGUAGE_GO},
		{"github.com/example/proxy.(*Conn).serve", "proxy", FRAME_USER, LANGUAGE_GO},
		{"golang.org/x/net/http2.Serve", "proxy", FRAME_USER, LANGUAGE_GO},
		{"java.util.HashMap.get", "", FRAME_JIT, LANGUAGE_JAVA, true},
		{"Ljava/lang/String;::hashCode", "", FRAME_JIT, LANGUAGE_JAVA, true},
		{"com.example.shop.Cart::total", "", FRAME_JIT, LANGUAGE_JAVA},
		{"org/example/Main.run", "", FRAME_JIT, LANGUAGE_JAVA},
		{"Interpreter", "", FRAME_JIT, LANGUAGE_JAVA},
		{"*render /srv/app/server.js:12", "node", FRAME_JIT, LANGUAGE_JAVASCRIPT},
		{"~handle server.mjs:41", "node", FRAME_JIT, LANGUAGE_JAVASCRIPT},
		{"JS:~emit node:events:465:44", "node", FRAME_JIT, LANGUAGE_JAVASCRIPT, true},
		{"node::LoadEnvironment(node::Environment*, node::Realm*)", "node", FRAME_USER,
		 LANGUAGE_CPP},
		{"Builtins_StringAdd", "node", FRAME_USER, LANGUAGE_JAVASCRIPT, true},
		{"py::handle:/srv/views.py", "", FRAME_JIT, LANGUAGE_PYTHON},
		{"loads /usr/lib/python3.11/json/__init__.py:299", "", FRAME_USER, LANGUAGE_PYTHON,
		 true},
		{"<module>", "", FRAME_USER, LANGUAGE_PYTHON},
		{"Perl_runops_standard", "perl", FRAME_USER, LANGUAGE_PERL, true},
		{"Foo::bar lib/Foo.pm:12", "", FRAME_USER, LANGUAGE_PERL},
		{"Shop::Cart#add", "cart.rb", FRAME_INTERPRETED, LANGUAGE_RUBY},
		{"Array#each", "<internal:C>", FRAME_INTERPRETED, LANGUAGE_RUBY},
		{"add (cart.php:12)", "", FRAME_INTERPRETED, LANGUAGE_PHP},
		{"lists:map/2", "lists.erl", FRAME_JIT, LANGUAGE_ERLANG},
		{"", "", FRAME_USER, LANGUAGE_C},
	};

	for (size_t i = 0; i < COUNT(frames); i++) {
		enum language language =
			language_of(frames[i].kind, frames[i].name, frames[i].module);

		if (language != frames[i].language)
			fail_msg("%s is taken for %s", frames[i].name, language_text(language));
		if (language_has(language, frames[i].name) != frames[i].is_library)
			fail_msg("%s: whose library?", frames[i].name);
	}
}

/* A module keeps its hue in all versions. */
static void modules_keep_their_hue(void **state)
{
	const struct palette *palette = palette_find("module", PROFILE_ONCPU, PART_PLAIN);
	unsigned int range = palette_range(palette);
	unsigned int shade = palette_shade(palette, FRAME_USER, "malloc", "libc.so.6");

	assert_int_equal(palette_shade(palette, FRAME_USER, "malloc", "libc.so.7"), shade);
	assert_int_equal(palette_shade(palette, FRAME_USER, "free", "libc.so.6") / range,
			 shade / range);
	assert_int_not_equal(palette_shade(palette, FRAME_USER, "malloc", "libm.so.6") / range,
			     shade / range);
	assert_string_equal(palette_text(palette, FRAME_USER, shade), "other modules");
	assert_null(palette_text(palette, FRAME_KERNEL, 0));
}

/* A sample in @module, woken by code in @waker's. */
static void add_in_modules(struct profile *profile, const char *module, const char *waker)
{
	const char *names[] = {module, waker};
	uint32_t stacks[2], woken_by;

	for (int i = 0; i < 2; i++) {
		struct profile_mapping mapping = {.kind = MAPPING_FILE,
						  .path = made_string(profile, names[i])};
		struct profile_frame frame = {.function = made_string(profile, "run")};
		uint32_t index, location;

		assert_int_equal(profile_add_mapping(profile, &mapping, &index), 0);
		assert_int_equal(profile_add_location(profile, index, 1, false, &location), 0);
		assert_int_equal(profile_set_frames(profile, location, &frame, 1), 0);
		assert_int_equal(profile_add_stack(profile, &location, 1, false, &stacks[i]), 0);
	}
	assert_int_equal(
		profile_add_waker(profile,
				  &(struct profile_waker){.comm = made_string(profile, "x"),
							  .stack = stacks[1]},
				  &woken_by),
		0);
	assert_int_equal(
		profile_add_sample(profile,
				   &(struct profile_sample){.stack = stacks[0],
							    .comm = made_string(profile, "a"),
							    .reason = REASON_FUTEX,
							    .waker = woken_by,
							    .count = 1,
							    .nanoseconds = 1000}),
		0);
}

/* The modules whose colours are in the picture: wakers have others. */
static void the_legend_names_modules(void **state)
{
	struct profile *profile = made_profile(PROFILE_OFFCPU, NULL, 0);
	struct picture_options options = default_svg;
	char *text;

	options.colors = "module";
	add_in_modules(profile, "a<&>b", "libwaker.so");
	text = svg_of(profile, &(struct stacks_options){.unfold.waker_depth = 8}, &options);
	assert_non_null(strstr(text, ">a&lt;&amp;&gt;b</text></g>"));
	assert_non_null(strstr(text, ">waker</text></g>"));
	assert_null(strstr(text, ">libwaker.so</text></g>"));
	assert_null(strstr(text, ">other modules</text></g>"));
	free(text);
}

/* The swatch of the other modules is none of those that have a name. */
static void other_modules_have_another_colour(void **state)
{
	static const char end[] = "</text></g>\n<g transform=\"translate(";
	struct profile *profile = made_profile(PROFILE_OFFCPU, NULL, 0);
	struct picture_options options = default_svg;
	char *text, *legend, *others, class[sizeof "class=\"u99\""];

	options.colors = "module";
	for (char name[] = "a"; *name <= 'z'; ++*name)
		add_in_modules(profile, name, "waker");
	text = svg(profile, &options);
	legend = strstr(text, "<g class=\"legend\">");
	others = strstr(legend, ">other modules</text></g>");
	assert_non_null(others);
	*others = '\0';
	/* Eight modules, before the other ones. */
	assert_int_equal(n_occurrences(legend, end), 8);
	snprintf(class, sizeof class, "%.11s", strstr(strrchr(legend, '\n'), "class="));
	assert_int_equal(n_occurrences(legend, class), 1);
	free(text);
}

static void tones_say_how_much(void **state)
{
	static const struct {
		struct change change;
		enum tone tone;
	} changes[] = {
		{{CHANGE_NONE, .base = 0.5, .new_ = 0.1, .difference = -0.4}, TONE_SAME},
		{{CHANGE_GREW, .base = 0.1, .new_ = 0.2, .difference = 0.1}, TONE_GREW_MUCH},
		{{CHANGE_GREW, .base = 0.5, .new_ = 0.55, .difference = 0.05}, TONE_GREW},
		{{CHANGE_GREW, .base = 0.002, .new_ = 0.006, .difference = 0.004}, TONE_GREW},
		{{CHANGE_GREW, .base = 0.5, .new_ = 0.502, .difference = 0.002}, TONE_GREW_LITTLE},
		{{CHANGE_GREW, .base = 1e-5, .new_ = 1e-4, .difference = 9e-5}, TONE_GREW_LITTLE},
		{{CHANGE_SHRANK, .base = 0.2, .new_ = 0.1, .difference = -0.1}, TONE_SHRANK_MUCH},
		{{CHANGE_NEW, .new_ = 1e-4, .difference = 1e-4}, TONE_NEW},
		{{CHANGE_GONE, .base = 1e-4, .difference = -1e-4}, TONE_GONE},
	};

	for (size_t i = 0; i < COUNT(changes); i++)
		assert_int_equal(tone_of(&changes[i].change, 1), changes[i].tone);
	/* Weights, as shares of the total. */
	assert_int_equal(
		tone_of(&(struct change){CHANGE_GREW, .base = 100, .new_ = 200, .difference = 100},
			1000000),
		TONE_GREW_LITTLE);
	assert_true(tone_fill(TONE_GREW, false) == tone_fill(TONE_GREW, false));
	assert_true(tone_fill(TONE_GREW, true) != tone_fill(TONE_GREW, false));
	assert_int_equal(tone_fill(TONE_SAME, true), tone_fill(TONE_SAME, false));
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

static void svg_distinguishes_running_waiting_and_wakers(void **state)
{
	static const struct stacks_options options = {
		.unfold = {.waker_depth = 8, .fold_idle = true}};
	static const struct {
		const char *name;
		char look;
	} frames[] = {
		{"[idle]", 'n'},      {"db", 'n'},	  {"query", 'a'},    {"scan", 'a'},
		{"pread", 'a'},	      {"copy_page", 'b'}, {"[on-cpu]", 'r'}, {"io_schedule", 'k'},
		{"[disk]", 'w'},      {"lock", 'u'},	  {"[futex]", 'w'},  {"[runqueue]", 'q'},
		{"--", 's'},	      {"unlock", 'e'},	  {"nvme_irq", 'f'}, {"futex_wake", 'f'},
		{"[interrupt]", 'm'}, {"db-7", 'm'},	  {"[timer]", 'w'},  {"nanosleep", 'k'},
		{"client", 'm'},      {"send", 'e'},
	};
	struct profile *profile = MADE(PROFILE_WALL, both);
	char *text = svg_of(profile, &options, &default_svg);

	for (size_t i = 0; i < COUNT(frames); i++)
		if (look_of(text, frames[i].name) != frames[i].look)
			fail_msg("%s looks like %c", frames[i].name, look_of(text, frames[i].name));
	assert_non_null(strstr(text, "<title>Wall-Clock Flame Graph</title>"));
	assert_non_null(strstr(text, "<title>[idle] (15.0 s, 58.25%)</title>"));
	assert_non_null(strstr(text, "25.8 s of threads · 5.00 s of it on-CPU"));
	assert_non_null(strstr(text, ">running</text>"));
	assert_non_null(strstr(text, ">waiting</text>"));
	assert_non_null(strstr(text, ">waker</text>"));
	assert_null(strstr(text, ">user</text>"));
	free(text);
}

/* Writes fills for the looks that occur, and for no others. */
static void svg_has_the_fills_it_needs(void **state)
{
	struct profile *profile = MADE(PROFILE_OFFCPU, both);
	char *text = svg(profile, &default_svg);

	assert_non_null(strstr(text, ".u6{fill:"));
	assert_non_null(strstr(text, ".w6{fill:"));
	assert_null(strstr(text, ".s6{fill:"));
	assert_null(strstr(text, ".e6{fill:"));
	assert_null(strstr(text, ".a6{fill:"));
	assert_null(strstr(text, ".j6{fill:"));
	free(text);
}

static void svg_options_are_heeded(void **state)
{
	struct picture_options options = {.title = "T<1>",
					  .subtitle = "S&2",
					  .notes = "N\"3",
					  .name_type = "Name<4>",
					  .count_name = "misses&5",
					  .factor = 0.5,
					  .total = 42,
					  .width = 640,
					  .frame_height = 24,
					  .min_width = -1,
					  .font_type = "A \"B\"};x{,'C'",
					  .font_size = 14,
					  .font_width = 0.5,
					  .cut_left = true,
					  .colors = "blue",
					  .background = "#123456",
					  .search_color = "#abcdef",
					  .inverted = true};
	char *text = svg(MADE(PROFILE_ONCPU, mixed), &options);

	assert_non_null(strstr(text, "T&lt;1&gt;"));
	assert_non_null(strstr(text, "S&amp;2"));
	assert_non_null(strstr(text, ">N&quot;3</text>"));
	assert_non_null(strstr(text, "<desc>N&quot;3</desc>"));
	assert_non_null(strstr(text, " data-type=\"Name&lt;4&gt;\""));
	assert_non_null(strstr(text, " data-count=\"misses&amp;5\""));
	assert_non_null(strstr(text, "<title>vfs_read (3.5 misses&amp;5, 16.67%)</title>"));
	assert_non_null(strstr(text, "<title>all (21 misses&amp;5, 100.00%)</title>"));
	assert_non_null(strstr(text, ">10.5 misses&amp;5 "));
	assert_non_null(strstr(text, " width=\"640\""));
	assert_non_null(strstr(text, " height=\"23\""));
	assert_non_null(strstr(text, ".labels{font:14px A Bx,C,monospace"));
	assert_non_null(strstr(text, " data-column=\"7\""));
	assert_non_null(strstr(text, "#abcdef"));
	assert_non_null(strstr(text, ".paper,.sheet{fill:#123456}"));
	assert_null(strstr(text, "prefers-color-scheme"));
	assert_non_null(strstr(text, "data-inverted"));
	free(text);
}

static void svg_without_script(void **state)
{
	struct picture_options options = {.no_script = true, .min_width = -1};
	char *text = svg(MADE(PROFILE_ONCPU, mixed), &options);

	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "<metadata"));
	assert_non_null(strstr(text, "<title>vfs_read (7 samples, 33.33%)</title>"));
	free(text);
}

static void missing_choices_are_refused(void **state)
{
	static const struct picture_options wrong[] = {
		{.colors = "plaid"},	      {.background = "plaid"}, {.background = "#12345"},
		{.background = "#12345g"},    {.background = ""},      {.search_color = "red"},
		{.search_color = "#1234567"},
	};
	struct stacks stacks;
	FILE *none = fopen("/dev/null", "w");

	made_stacks(&stacks, &(struct stacks_options){}, MADE(PROFILE_ONCPU, mixed), NULL,
		    SCALE_NORMALIZED);
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_int_equal(render_svg(&stacks, &wrong[i], none), -EINVAL);
	for (size_t i = 0; picture_palettes[i]; i++)
		assert_int_equal(
			render_svg(&stacks,
				   &(struct picture_options){.colors = picture_palettes[i]}, none),
			0);
	for (size_t i = 0; picture_backgrounds[i]; i++)
		assert_int_equal(
			render_svg(&stacks,
				   &(struct picture_options){.background = picture_backgrounds[i]},
				   none),
			0);
	fclose(none);
	stacks_done(&stacks);
}

static void extreme_sizes_are_bounded(void **state)
{
	static const struct picture_options extreme[] = {
		{.width = 1, .frame_height = 1, .font_size = 0.001, .min_width = 0},
		{.width = UINT32_MAX, .frame_height = UINT32_MAX, .font_size = 1e9},
		{.min_width = 1e300, .max_frames = 1, .total = 1e300, .factor = 1e300},
		{.min_width = 5, .max_frames = SIZE_MAX, .total = -5, .factor = -1},
	};

	for (size_t i = 0; i < COUNT(extreme); i++)
		free(svg(MADE(PROFILE_OFFCPU, both), &extreme[i]));
}

static void comparisons_show_both_sides(void **state)
{
	static const struct made_sample before[] = {{"a", "main;same", 1000},
						    {"a", "main;gone;x", 500},
						    {"a", "main;less", 400},
						    {"a", "main;noise", 30}};
	static const struct made_sample after[] = {{"a", "main;same", 1010},
						   {"a", "main;added;x", 300},
						   {"a", "main;less", 100},
						   {"a", "main;noise", 33}};
	struct stacks stacks;
	char *text;

	for (int scale = 0; scale < 2; scale++) {
		made_stacks(&stacks, &(struct stacks_options){}, MADE(PROFILE_ONCPU, after),
			    MADE(PROFILE_ONCPU, before), scale);
		text = svg_of_stacks(&stacks, &default_svg);
		assert_non_null(strstr(text, "<title>Differential Flame Graph</title>"));
		if (scale == SCALE_NORMALIZED) {
			assert_non_null(strstr(text, "data-compared=\"shares\""));
			assert_non_null(strstr(text,
					       "<title>gone (total 25.91% → 0.00% (−25.91 points, "
					       "−100.0%, gone), 500 samples → 0 samples; self "
					       "none)</title>"));
			assert_non_null(strstr(text, "<title>added (total 0.00% → 20.79% "
						     "(+20.79 points, new), 0 samples → 300 "
						     "samples; self none)</title>"));
		} else {
			assert_non_null(strstr(text, "data-compared=\"weights\""));
			assert_non_null(strstr(text, "<title>less (total 400 samples → 100 samples "
						     "(−300 samples, −75.0%); self all of "
						     "it)</title>"));
		}
		assert_non_null(strstr(text, ", within noise"));
		assert_non_null(strstr(text, "url(#hatch8)"));
		free(text);
		stacks_done(&stacks);
	}
}

/* Files with samples of one side only, and of neither. */
static void comparisons_of_nothing(void **state)
{
	static const struct made_sample some[] = {{"a", "main;f", 100}};
	static const struct {
		size_t n, n_base;
	} sides[] = {{1, 0}, {0, 1}, {0, 0}};

	for (size_t i = 0; i < COUNT(sides); i++)
		for (int scale = 0; scale < 2; scale++) {
			struct stacks stacks;

			made_stacks(&stacks, &(struct stacks_options){},
				    made_profile(PROFILE_ONCPU, some, sides[i].n),
				    made_profile(PROFILE_ONCPU, some, sides[i].n_base), scale);
			free(svg_of_stacks(&stacks, &default_svg));
			stacks_done(&stacks);
		}
}

/* 10 kB each: cut but still distinct, and the file stays small. */
static void long_names_are_bounded(void **state)
{
	enum { N = 3000, LENGTH = 10000 };
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	static char name[LENGTH + 1];
	char *text;

	for (int i = 0; i < N; i++) {
		struct made_sample sample = {"a", "", 1};
		uint32_t location;

		memset(name, 'a' + i % 26, LENGTH);
		memcpy(name, "beginning_", 10);
		name[snprintf(name + 10, 8, "%d", i) + 10] = '_';
		location = made_location(profile, FRAME_USER, name);
		made_add_locations(profile, &sample, &location, 1);
	}
	text = svg(profile, &(struct picture_options){.width = 6000, .min_width = 0});
	assert_in_range(strlen(text), 1000000, 3000000);
	assert_non_null(strstr(text, "beginning_2999_"));
	free(text);

	/* Only a few of them stay as they are, in places that nothing interprets. */
	profile = made_profile(PROFILE_ONCPU, NULL, 0);
	memset(name, 'x', LENGTH);
	for (int i = 0; i < 3; i++) {
		struct made_sample sample = {"a", "", 1};
		uint32_t location;

		name[700] = '\0';
		name[0] = 'a' + i;
		location = made_location(profile, FRAME_USER, name);
		made_add_locations(profile, &sample, &location, 1);
	}
	text = svg(profile, &default_svg);
	assert_non_null(strstr(text, name));
	free(text);
}

static void svg_survives_hostile_names(void **state)
{
	for (int mode = 0; mode < N_PROFILE_MODES; mode++) {
		struct profile *profile = made_hostile(mode);
		char *text = svg(profile, &default_svg);

		assert_int_equal(n_occurrences(text, "<script>"), 1);
		assert_int_equal(n_occurrences(text, "<img"), 0);
		free(text);
	}
}

static void svg_of_nothing(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	char *text = svg(profile, &default_svg);

	assert_non_null(strstr(text, "Nothing was recorded."));
	free(text);
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

static struct profile *described(struct profile *profile)
{
	describe(profile);
	return profile;
}

static void golden_pictures(void **state)
{
	static const struct made_sample blocked[] = {
		{"db", "main;commit;fsync;schedule_[k]", 7654321000, REASON_DISK, 1, 1},
		{"db", "main;wait;futex_wait_[k];schedule_[k]", 912345678, REASON_SLEEP, 1, 2},
		{"db", "main;wait", 1234567, REASON_RUNQUEUE, 1, 2},
	};
	static const struct stacks_options wall = {.unfold = {.waker_depth = 8, .fold_idle = true}};

	expect_golden("tests/golden/oncpu.svg",
		      svg(described(MADE(PROFILE_ONCPU, mixed)), &default_svg));
	expect_golden("tests/golden/offcpu.svg",
		      svg(described(MADE(PROFILE_OFFCPU, blocked)), &default_svg));
	expect_golden("tests/golden/wall.svg",
		      svg_of(described(MADE(PROFILE_WALL, both)), &wall, &default_svg));
}

static void golden_comparison(void **state)
{
	static const struct made_sample before[] = {
		{"app", "main;parse;scan", 500}, {"app", "main;parse", 90},
		{"app", "main;draw;clip", 300},	 {"app", "main;draw;old_cache", 60},
		{"app", "main;read_[k]", 41},
	};
	static const struct made_sample after[] = {
		{"app", "main;parse;scan", 300}, {"app", "main;parse", 260},
		{"app", "main;draw;clip", 310},	 {"app", "main;draw;new_cache", 75},
		{"app", "main;read_[k]", 44},
	};
	struct picture_options options = default_svg;
	struct stacks stacks;

	options.max_frames = 9;
	made_stacks(&stacks, &(struct stacks_options){}, described(MADE(PROFILE_ONCPU, after)),
		    described(MADE(PROFILE_ONCPU, before)), SCALE_NORMALIZED);
	expect_golden("tests/golden/compare.svg", svg_of_stacks(&stacks, &options));
	stacks_done(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fill_is_readable),
		cmocka_unit_test(palettes_are_found),
		cmocka_unit_test(languages_are_recognized),
		cmocka_unit_test(modules_keep_their_hue),
		cmocka_unit_test(the_legend_names_modules),
		cmocka_unit_test(other_modules_have_another_colour),
		cmocka_unit_test(tones_say_how_much),
		cmocka_unit_test(svg_shows_names_figures_and_kinds),
		cmocka_unit_test(svg_says_time_offcpu),
		cmocka_unit_test(svg_distinguishes_running_waiting_and_wakers),
		cmocka_unit_test(svg_has_the_fills_it_needs),
		cmocka_unit_test(svg_options_are_heeded),
		cmocka_unit_test(svg_without_script),
		cmocka_unit_test(missing_choices_are_refused),
		cmocka_unit_test(extreme_sizes_are_bounded),
		cmocka_unit_test(comparisons_show_both_sides),
		cmocka_unit_test(comparisons_of_nothing),
		cmocka_unit_test(long_names_are_bounded),
		cmocka_unit_test(svg_survives_hostile_names),
		cmocka_unit_test(svg_of_nothing),
		cmocka_unit_test(golden_pictures),
		cmocka_unit_test(golden_comparison),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
