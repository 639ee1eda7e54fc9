/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a comparison, and how they are written. */
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/diff.h"
#include "unit/made_stacks.h"

/* A finished comparison with everything it was made from. */
struct made {
	struct stacks stacks;
	struct gate_sums sums;
	struct gate_rules rules;
	struct gate gate;
	struct diff diff;
};

static double fail_over = -1; /* of the gate; below 0: no gate */
static const struct gate_options judged = {.noise = -1};

static void add(struct stacks *stacks, struct profile *profile, enum stacks_side side)
{
	assert_int_equal(stacks_add(stacks, profile, side), 0);
	profile_free(profile);
}

static void add_run(struct made *made, struct profile *profile, enum stacks_side side)
{
	struct stacks run;

	assert_int_equal(stacks_init(&run, &(struct stacks_options){}), 0);
	assert_int_equal(stacks_add(&run, profile, SIDE_NEW), 0);
	assert_int_equal(gate_sums_add(&made->sums, &run, side), 0);
	stacks_done(&run);
}

/* One rule for all functions; and one for the total, if weights are compared absolutely. */
static void judge(struct made *made, struct profile *base, struct profile *new_,
		  struct diff_options *options)
{
	struct gate_options as = judged;

	as.scale = options->scale;
	add_run(made, base, SIDE_BASE);
	add_run(made, new_, SIDE_NEW);
	assert_int_equal(
		gate_rules_add(&made->rules, GATE_FUNCTION, GATE_BIT(GATE_SELF), fail_over), 0);
	if (as.scale == SCALE_ABSOLUTE)
		assert_int_equal(
			gate_rules_add(&made->rules, GATE_ALL, GATE_BIT(GATE_TOTAL), fail_over), 0);
	assert_int_equal(gate_judge(&made->sums, &made->rules, &as, &made->gate), 0);
	options->sums = &made->sums;
	options->rules = &made->rules;
	options->gate = &made->gate;
	options->judged = &judged;
}

/* Frees both profiles. */
static void make_as(struct made *made, struct profile *base, struct profile *new_,
		    const struct diff_options *options, const struct stacks_options *reading)
{
	struct diff_options with_gate = *options;

	*made = (struct made){};
	assert_int_equal(gate_sums_init(&made->sums), 0);
	if (fail_over >= 0)
		judge(made, base, new_, &with_gate);
	assert_int_equal(stacks_init(&made->stacks, reading), 0);
	add(&made->stacks, base, SIDE_BASE);
	add(&made->stacks, new_, SIDE_NEW);
	assert_int_equal(stacks_finish(&made->stacks, options->scale), 0);
	assert_int_equal(diff_make(&made->stacks, &with_gate, &made->diff), 0);
}

static void make(struct made *made, struct profile *base, struct profile *new_,
		 const struct diff_options *options)
{
	make_as(made, base, new_, options, &(struct stacks_options){.merge_modules = true});
}

static void done(struct made *made)
{
	diff_done(&made->diff);
	gate_done(&made->gate);
	gate_rules_done(&made->rules);
	gate_sums_done(&made->sums);
	stacks_done(&made->stacks);
	fail_over = -1;
}

typedef int (*write_fn)(const struct diff *diff, FILE *stream);

static char *written(const struct made *made, write_fn write)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_int_equal(write(&made->diff, stream), 0);
	fclose(stream);
	assert_int_equal(strlen(text), size);
	return text;
}

static const struct diff_row *row_of(const struct made *made, enum diff_by by, const char *name)
{
	const struct diff_table *table = &made->diff.tables[by];
	const struct diff_row *found = NULL;

	for (size_t i = 0; i < table->n_rows; i++) {
		if (strcmp(table->rows[i].name, name) == 0) {
			assert_null(found);
			found = &table->rows[i];
		}
	}
	return found;
}

static enum change_kind kind_of(const struct made *made, const char *name, enum diff_weight weight)
{
	const struct diff_row *row = row_of(made, DIFF_FUNCTIONS, name);

	assert_non_null(row);
	return row->changes[weight].kind;
}

static const struct diff_options plain_options = {.limit = 20};
static const struct diff_options absolute_options = {.limit = 20, .scale = SCALE_ABSOLUTE};

static const struct made_sample before[] = {
	{"app", "main;parse", 1000},	{"app", "main;parse;scan", 2000},
	{"app", "main;compress", 3000}, {"app", "main;legacy", 200},
	{"app", "main;quiet", 50},	{"app", "main;run;read;vfs_read_[k]", 700},
	{"cron", "main;wake", 40},
};

static const struct made_sample after[] = {
	{"app", "main;parse", 1500},	{"app", "main;parse;scan", 2010},
	{"app", "main;compress", 2500}, {"app", "main;modern", 230},
	{"app", "main;quiet", 52},	{"app", "main;run;read;vfs_read_[k]", 690},
	{"cron", "main;wake", 43},
};

static void kinds_of_change(void **state)
{
	struct made made;
	const struct diff_row *row;

	make(&made, MADE(PROFILE_ONCPU, before), MADE(PROFILE_ONCPU, after), &plain_options);
	assert_int_equal(kind_of(&made, "parse", DIFF_SELF), CHANGE_GREW);
	assert_int_equal(kind_of(&made, "parse", DIFF_TOTAL), CHANGE_GREW);
	assert_int_equal(kind_of(&made, "scan", DIFF_SELF), CHANGE_NONE);
	assert_int_equal(kind_of(&made, "compress", DIFF_SELF), CHANGE_SHRANK);
	assert_int_equal(kind_of(&made, "legacy", DIFF_SELF), CHANGE_GONE);
	assert_int_equal(kind_of(&made, "modern", DIFF_TOTAL), CHANGE_NEW);
	assert_int_equal(kind_of(&made, "quiet", DIFF_SELF), CHANGE_NONE);
	row = row_of(&made, DIFF_FUNCTIONS, "parse");
	assert_int_equal(row->sides[SIDE_BASE].self, 1000);
	assert_int_equal(row->sides[SIDE_NEW].total, 3510);
	assert_null(row_of(&made, DIFF_FUNCTIONS, "app"));
	assert_non_null(row_of(&made, DIFF_COMMANDS, "app"));
	assert_non_null(row_of(&made, DIFF_COMMANDS, "cron"));
	assert_int_equal(made.diff.tables[DIFF_REASONS].n_rows, 0);
	assert_int_equal(made.diff.tables[DIFF_FUNCTIONS].n_by_kind[CHANGE_GREW], 1);
	assert_int_equal(made.diff.tables[DIFF_FUNCTIONS].n_by_kind[CHANGE_NEW], 1);
	assert_int_equal(made.diff.tables[DIFF_FUNCTIONS].n_by_kind[CHANGE_GONE], 1);
	done(&made);
}

/* inferno#295: movement below a frame is no change of that frame. */
static void inner_frames_have_their_own_change(void **state)
{
	static const struct made_sample base[] = {{"app", "main;loop;a", 4000},
						  {"app", "main;loop;b", 1000},
						  {"app", "main;other", 5000}};
	static const struct made_sample new_[] = {{"app", "main;loop;a", 1000},
						  {"app", "main;loop;b", 4000},
						  {"app", "main;other", 5000}};
	struct made made;

	make(&made, MADE(PROFILE_ONCPU, base), MADE(PROFILE_ONCPU, new_), &plain_options);
	assert_int_equal(kind_of(&made, "a", DIFF_TOTAL), CHANGE_SHRANK);
	assert_int_equal(kind_of(&made, "b", DIFF_TOTAL), CHANGE_GREW);
	assert_int_equal(kind_of(&made, "loop", DIFF_TOTAL), CHANGE_NONE);
	assert_true(row_of(&made, DIFF_FUNCTIONS, "loop")->changes[DIFF_TOTAL].difference == 0);
	assert_true(row_of(&made, DIFF_FUNCTIONS, "main")->changes[DIFF_TOTAL].difference == 0);
	done(&made);
}

/*
 * Inlined by one compiler and called by the other: the same function. In the kernel: another one.
 */
static void rows_are_names(void **state)
{
	static const struct made_sample base[] = {{"app", "main;work_[i]", 1000},
						  {"app", "main;read;read_[k]", 300}};
	static const struct made_sample new_[] = {{"app", "main;work", 1000},
						  {"app", "main;read;read_[k]", 300}};
	const struct diff_table *table;
	struct made made;
	size_t n = 0;

	make(&made, MADE(PROFILE_ONCPU, base), MADE(PROFILE_ONCPU, new_), &plain_options);
	assert_true(row_of(&made, DIFF_FUNCTIONS, "work")->changes[DIFF_SELF].difference == 0);
	table = &made.diff.tables[DIFF_FUNCTIONS];
	for (size_t i = 0; i < table->n_rows; i++)
		n += strcmp(table->rows[i].name, "read") == 0;
	assert_int_equal(n, 2);
	assert_int_equal(table->n_rows, 4);
	assert_int_equal(table->n_by_kind[CHANGE_NONE], 0);
	done(&made);
}

/* A reason is not code: self weight belongs to the function that waited. Wakers are separate. */
static void reasons_are_apart(void **state)
{
	static const struct made_sample base[] = {
		{"db", "main;lock", 4000 * MS, REASON_FUTEX, 7, 7,
		 .wakers = {{"db", "main;unlock", .tid = 8}}},
	};
	struct stacks_options reading = {.merge_modules = true, .unfold = {.waker_depth = 8}};
	struct made made;

	make_as(&made, MADE(PROFILE_OFFCPU, base), MADE(PROFILE_OFFCPU, base), &plain_options,
		&reading);
	assert_int_equal(row_of(&made, DIFF_FUNCTIONS, "lock")->sides[SIDE_NEW].self, 4000 * MS);
	assert_null(row_of(&made, DIFF_FUNCTIONS, "unlock"));
	assert_int_equal(row_of(&made, DIFF_REASONS, "[futex]")->sides[SIDE_BASE].total, 4000 * MS);
	assert_int_equal(made.diff.tables[DIFF_COMMANDS].n_rows, 1);
	done(&made);
}

static void lists_are_sorted(void **state)
{
	const enum diff_weight weights[] = {DIFF_SELF, DIFF_TOTAL};
	struct diff_options options = plain_options;
	struct made made;
	const struct diff_list *list;
	size_t n;

	make(&made, MADE(PROFILE_ONCPU, before), MADE(PROFILE_ONCPU, after), &options);
	for (int i = 0; i < 2; i++) {
		list = &made.diff.tables[DIFF_FUNCTIONS].changed[weights[i]];
		assert_true(list->n >= 3);
		for (size_t k = 1; k < list->n; k++)
			assert_true(fabs(list->rows[k - 1]->changes[weights[i]].difference) >=
				    fabs(list->rows[k]->changes[weights[i]].difference));
	}
	list = &made.diff.tables[DIFF_FUNCTIONS].changed[DIFF_SELF];
	assert_string_equal(list->rows[0]->name, "compress");
	assert_string_equal(list->rows[1]->name, "parse");
	n = list->n;
	done(&made);

	options.threshold = 5;
	make(&made, MADE(PROFILE_ONCPU, before), MADE(PROFILE_ONCPU, after), &options);
	list = &made.diff.tables[DIFF_FUNCTIONS].changed[DIFF_SELF];
	assert_int_equal(list->n, 2);
	assert_true(list->n < n);
	done(&made);
}

static const struct gate_answer *failed(const struct made *made, size_t i)
{
	assert_true(i < made->gate.n_failed);
	return &made->gate.answers[i];
}

static void the_gate(void **state)
{
	struct made made;

	fail_over = 40;
	make(&made, MADE(PROFILE_ONCPU, before), MADE(PROFILE_ONCPU, after), &plain_options);
	/* parse: self +49 %, total +16 %. modern is new, with 3 %. */
	assert_int_equal(made.gate.n_failed, 1);
	assert_string_equal(gate_name(&made.sums, failed(&made, 0)->item->name), "parse");
	assert_true(fabs(failed(&made, 0)->growth - 0.4923) < 0.01);
	done(&made);

	fail_over = 60;
	make(&made, MADE(PROFILE_ONCPU, before), MADE(PROFILE_ONCPU, after), &plain_options);
	assert_int_equal(made.gate.n_failed, 0);
	done(&made);

	fail_over = 3;
	make(&made, MADE(PROFILE_ONCPU, before), MADE(PROFILE_ONCPU, after), &plain_options);
	assert_int_equal(made.gate.n_failed, 2);
	assert_string_equal(gate_name(&made.sums, failed(&made, 0)->item->name), "modern");
	done(&made);
}

static void the_gate_of_all(void **state)
{
	static const struct made_sample base[] = {{"a", "f", 5000}, {"a", "g", 5000}};
	static const struct made_sample new_[] = {{"a", "f", 6500}, {"a", "g", 6500}};
	struct diff_options options = absolute_options;
	struct made made;

	fail_over = 10;
	make(&made, MADE(PROFILE_ONCPU, base), MADE(PROFILE_ONCPU, new_), &options);
	assert_int_equal(made.gate.n_failed, 3);
	assert_int_equal(failed(&made, 0)->item->by, GATE_ALL);
	assert_true(fabs(failed(&made, 0)->growth - 0.3) < 1e-9);
	done(&made);

	fail_over = 10;
	options.scale = SCALE_NORMALIZED;
	make(&made, MADE(PROFILE_ONCPU, base), MADE(PROFILE_ONCPU, new_), &options);
	assert_int_equal(made.gate.n_failed, 0);
	done(&made);
}

static const char example_text[] =
	"total on-CPU samples 6,990 → 7,025 (+0.5 %); 1 function grew, 1 shrank, 1 new, 1 gone; "
	"6 changes are within noise\n"
	"base: old.folded, new: new.folded\n"
	"shares of each side's total compared; at 99 % confidence for all 13 comparisons together, "
	"less is noise\n"
	"\n"
	"Self: the function's own code\n"
	"   base      new  points   change    sure        samples  function\n"
	"42.92 %  35.59 %   -7.33  -17.1 %   8.9 σ  3,000 → 2,500  compress\n"
	"14.31 %  21.35 %   +7.05  +49.3 %  10.9 σ  1,000 → 1,500  parse\n"
	" 0.00 %   3.27 %   +3.27      new  17.7 σ        0 → 230  modern\n"
	" 2.86 %   0.00 %   -2.86     gone  16.5 σ        200 → 0  legacy\n"
	"\n"
	"Total: the function and all that it calls\n"
	"   base      new  points   change    sure        samples  function\n"
	"42.92 %  35.59 %   -7.33  -17.1 %   8.9 σ  3,000 → 2,500  compress\n"
	"42.92 %  49.96 %   +7.05  +16.4 %   8.3 σ  3,000 → 3,510  parse\n"
	" 0.00 %   3.27 %   +3.27      new  17.7 σ        0 → 230  modern\n"
	" 2.86 %   0.00 %   -2.86     gone  16.5 σ        200 → 0  legacy\n";

static void text_example(void **state)
{
	struct diff_options options = plain_options;
	struct made made;
	char *text;

	options.base_name = "old.folded";
	options.new_name = "new.folded";
	make(&made, MADE(PROFILE_ONCPU, before), MADE(PROFILE_ONCPU, after), &options);
	text = written(&made, diff_text);
	assert_string_equal(text, example_text);
	free(text);
	done(&made);
}

static const char example_markdown[] =
	"**❌ gate: 1 function grew by more than 40 %**\n"
	"\n"
	"| base | new | change | 99 % interval | sure | limit | what |\n"
	"|---:|---:|---:|---:|---:|---:|:---|\n"
	"| 14.31 % | 21.35 % | +49.3 % | +34.5 to +65.6 % | &#62; 99.9999 % | 40 % | function "
	"<code>parse</code> (self) |\n"
	"\n"
	"total on-CPU samples 6,990 → 7,025 (+0.5 %); 1 function grew, 1 shrank, 1 new, 1 gone; "
	"6 changes are within noise\n"
	"\n"
	"| base | new | points | change | sure | samples | function (self) |\n"
	"|---:|---:|---:|---:|---:|---:|:---|\n"
	"| 42.92 % | 35.59 % | -7.33 | -17.1 % | 8.9 σ | 3,000 → 2,500 | <code>compress</code> |\n"
	"| 14.31 % | 21.35 % | +7.05 | +49.3 % | 10.9 σ | 1,000 → 1,500 | <code>parse</code> |\n"
	"\n"
	"and 2 more\n"
	"\n"
	"<details><summary>Functions with all that they call: 4</summary>\n"
	"\n"
	"| base | new | points | change | sure | samples | function (total) |\n"
	"|---:|---:|---:|---:|---:|---:|:---|\n"
	"| 42.92 % | 35.59 % | -7.33 | -17.1 % | 8.9 σ | 3,000 → 2,500 | <code>compress</code> |\n"
	"| 42.92 % | 49.96 % | +7.05 | +16.4 % | 8.3 σ | 3,000 → 3,510 | <code>parse</code> |\n"
	"\n"
	"and 2 more\n"
	"\n"
	"</details>\n"
	"\n"
	"<sub>shares of each side's total compared; at 99 % confidence for all 13 comparisons "
	"together, less is noise; the gate: 8 judged, at 99 % confidence for all together; 1 "
	"run "
	"against 1, which differ by 1.0 % beyond chance, as assumed: several runs would "
	"show it</sub>\n";

static void markdown_example(void **state)
{
	struct diff_options options = plain_options;
	struct made made;
	char *text;

	options.limit = 2;
	fail_over = 40;
	make(&made, MADE(PROFILE_ONCPU, before), MADE(PROFILE_ONCPU, after), &options);
	text = written(&made, diff_markdown);
	assert_string_equal(text, example_markdown);
	free(text);
	done(&made);
}

static void absolute_text(void **state)
{
	static const struct made_sample base[] = {{"a", "f", 5000}, {"a", "g", 5000}};
	static const struct made_sample new_[] = {{"a", "f", 5000}, {"a", "g", 7000}};
	struct made made;
	char *text;

	make(&made, MADE(PROFILE_ONCPU, base), MADE(PROFILE_ONCPU, new_), &absolute_options);
	text = written(&made, diff_text);
	assert_non_null(strstr(text, "total on-CPU samples 10,000 → 12,000 (+20.0 %); 1 function "
				     "grew\nvalues as they are compared;"));
	assert_non_null(strstr(text, "\n5,000 → 7,000      +2,000  +40.0 %  18.3 σ  g\n"));
	free(text);
	done(&made);
}

static void narrow_pages_keep_names(void **state)
{
	struct diff_options options = plain_options;
	struct made made;
	char *text, *rest;

	options.columns = 60;
	options.colour = true;
	make(&made, MADE(PROFILE_ONCPU, before), MADE(PROFILE_ONCPU, after), &options);
	text = written(&made, diff_text);
	assert_non_null(strstr(text, "compress"));
	assert_non_null(strstr(text, "\033["));
	assert_null(strstr(text, "3,000 → 2,500"));
	free(text);
	made.diff.options.colour = false;
	text = rest = written(&made, diff_text);
	assert_null(strchr(text, '\033'));
	rest = strstr(text, "\n\nSelf");
	for (char *line; (line = strsep(&rest, "\n"));)
		assert_true(text_columns(line) <= 60);
	free(text);
	done(&made);
}

static struct profile *nothing(void)
{
	return made_profile(PROFILE_ONCPU, NULL, 0);
}

static void expect_numbers(const struct made *made)
{
	const write_fn writes[] = {diff_text, diff_markdown, diff_json};

	for (int i = 0; i < 3; i++) {
		char *text = written(made, writes[i]);

		assert_null(strcasestr(text, "nan"));
		assert_null(strstr(text, "inf %"));
		assert_null(strstr(text, ":inf"));
		assert_null(strstr(text, "-0.00 "));
		free(text);
	}
}

static void empty_sides(void **state)
{
	const struct diff_options *each[] = {&plain_options, &absolute_options};
	struct made made;
	char *text;

	for (int i = 0; i < 2; i++) {
		struct diff_options options = *each[i];

		fail_over = 5;
		make(&made, nothing(), nothing(), &options);
		assert_int_equal(made.gate.n_failed, 0);
		expect_numbers(&made);
		done(&made);
		make(&made, MADE(PROFILE_ONCPU, before), nothing(), &options);
		expect_numbers(&made);
		assert_int_equal(made.gate.n_failed, 0);
		assert_int_equal(kind_of(&made, "parse", DIFF_SELF), i ? CHANGE_GONE : CHANGE_NONE);
		done(&made);
		make(&made, nothing(), MADE(PROFILE_ONCPU, before), &options);
		expect_numbers(&made);
		assert_int_equal(kind_of(&made, "parse", DIFF_SELF), i ? CHANGE_NEW : CHANGE_NONE);
		text = written(&made, diff_text);
		assert_int_equal(strstr(text, "; nothing to compare\n") != NULL, i == 0);
		assert_true(diff_is_empty(&made.diff));
		free(text);
		done(&made);
	}
}

static void identical_sides(void **state)
{
	struct made made;
	char *text;

	make(&made, MADE(PROFILE_ONCPU, before), MADE(PROFILE_ONCPU, before), &plain_options);
	expect_numbers(&made);
	text = written(&made, diff_markdown);
	assert_non_null(strstr(text, "**total on-CPU samples 6,990 → 6,990 (+0.0 %); no function "
				     "changed**\n"));
	assert_null(strchr(text, '|'));
	free(text);
	done(&made);
}

static void times_of_unknown_periods(void **state)
{
	static const struct made_sample base[] = {{"a", "f", 1000 * MS, REASON_SLEEP},
						  {"a", "g", 1000 * MS, REASON_DISK}};
	static const struct made_sample new_[] = {{"a", "f", 1000 * MS, REASON_SLEEP},
						  {"a", "g", 9000 * MS, REASON_DISK}};
	struct made made;
	char *text;

	make(&made, MADE(PROFILE_OFFCPU, base), MADE(PROFILE_OFFCPU, new_), &plain_options);
	text = written(&made, diff_text);
	assert_non_null(strstr(text, "total off-CPU time 2.00 s → 10.0 s (+400.0 %); no function "
				     "changed; 2 changes are within noise"));
	assert_non_null(strstr(text, "\nevery stack's time counts as one wait"));
	free(text);
	text = written(&made, diff_json);
	assert_non_null(strstr(text, "\"unit\":\"seconds\""));
	assert_non_null(strstr(text, "\"base\":1.000000000,\"new\":9.000000000"));
	free(text);
	done(&made);
}

/* Names with a meaning for whatever reads the output. */

static const char *const markdown_names[] = {
	"a|b",
	"`tick`",
	"``two``",
	"*bold* _under_ __main__",
	"[link](http://x)",
	"@team #12 :+1:",
	"<b>x</b>",
	"&lt;",
	"~~gone~~",
	"\\`",
	"\n\n# heading",
	"- item",
	"</code></details>",
	"$math$",
	"www.example.org",
};

static const char hostile_event[] = "@team #12 /merge\n/close https://example.org <img src=x "
				    "onerror=y> `|**\033[2J\xc2\x9b\u202e";

/* Values of an event that another tool named; a comparison needs the same event on both sides. */
static void count_hostile(struct profile *profile)
{
	profile->n_events = 1;
	profile->events[0] = (struct profile_event){.name = made_string(profile, hostile_event),
						    .is_counted = true};
	for (size_t i = 0; i < profile->n_samples; i++)
		profile->samples[i].nanoseconds = profile->samples[i].count;
}

/* Each on one side only, so that all are in the tables. */
static void make_hostile(struct made *made, bool is_counted)
{
	struct profile *base = nothing(), *new_ = made_hostile(PROFILE_ONCPU);
	struct diff_options options = plain_options;

	made_add(base, &(struct made_sample){"all", "known", 100000000});
	for (size_t i = 0; i < COUNT(markdown_names); i++) {
		uint32_t location = made_location(new_, FRAME_USER, markdown_names[i]);

		made_add_locations(new_, &(struct made_sample){"all", "", 1000000}, &location, 1);
	}
	if (is_counted) {
		count_hostile(base);
		count_hostile(new_);
	}
	options.limit = 0;
	fail_over = 0;
	options.base_name = "<b>|`\n.folded";
	options.new_name = "\"\033[31mnew";
	make(made, base, new_, &options);
}

static bool is_ours(const char *tag)
{
	static const char *const tags[] = {"<code>",	"</code>",    "<details>", "</details>",
					   "<summary>", "</summary>", "<sub>",	   "</sub>"};

	for (size_t i = 0; i < COUNT(tags); i++)
		if (strncmp(tag, tags[i], strlen(tags[i])) == 0)
			return true;
	return false;
}

/* Text between <code> and </code> must not contain anything that Markdown or HTML interprets. */
static void expect_inert(const char *code, size_t n)
{
	assert_true(n < 1000);
	for (size_t i = 0; i < n; i++) {
		assert_null(code[i] && strchr("<>|`*~[]\\@$\"\n\r\t\033", code[i]) ? &code[i]
										   : NULL);
		if (code[i] == '&')
			assert_true(code[i + 1] == '#' && strspn(code + i + 2, "0123456789") > 0);
		/* Digits after it are part of a reference. */
		if (code[i] == '#')
			assert_true(i > 0 && code[i - 1] == '&');
	}
	assert_true(strncmp(code, "__main__", 8) != 0);
}

/* Outside of <code>, this would become a mention, a command or a link. */
static void expect_no_names(const char *text)
{
	for (const char *end; *text; text = end) {
		const char *next = strstr(text, "<code>");
		char *piece = strndup(text, next ? (size_t)(next - text) : strlen(text));

		end = next ? strstr(next, "</code>") : text + strlen(text);
		assert_null(strpbrk(piece, "@`[]\\"));
		assert_null(strstr(piece, "://"));
		assert_null(strstr(piece, "\n/"));
		assert_null(strstr(piece, "team"));
		free(piece);
	}
}

static void expect_hostile_markdown(bool is_counted)
{
	struct made made;
	char *text, *rest, *code = NULL;
	size_t n_rows = 0, n_names = 0;

	make_hostile(&made, is_counted);
	text = rest = written(&made, diff_markdown);
	assert_true(strlen(text) < 65536);
	for (char *at = text; (at = strchr(at, '<')); at++) {
		assert_true(is_ours(at));
		if (strncmp(at, "<code>", 6) == 0) {
			code = at + 6;
			n_names++;
			expect_inert(code, strstr(code, "</code>") - code);
		}
	}
	assert_true(n_names > 2 * COUNT(markdown_names));
	expect_no_names(text);
	for (char *line; (line = strsep(&rest, "\n"));) {
		size_t bars = 0;

		for (char *at = line; *at; at++)
			bars += *at == '|';
		assert_true(bars == 0 || bars == 8);
		n_rows += bars == 8;
	}
	assert_true(n_rows > 40);
	free(text);
	done(&made);
}

static void hostile_markdown(void **state)
{
	expect_hostile_markdown(false);
	expect_hostile_markdown(true);
}

static void expect_hostile_text_and_json(bool is_counted)
{
	const write_fn writes[] = {diff_text, diff_json};
	struct made made;

	make_hostile(&made, is_counted);
	for (int i = 0; i < 2; i++) {
		char *text = written(&made, writes[i]), *newline;
		size_t lines = 0;

		for (const char *at = text; *at; at++) {
			assert_true((unsigned char)*at >= 0x20 || *at == '\n');
			assert_true(*at != 0x7f);
		}
		assert_null(strstr(text, "\xc2\x9b"));
		assert_null(strstr(text, "\u202e"));
		for (newline = text; (newline = strchr(newline, '\n')); newline++)
			lines++;
		/* JSON is a single line; in text all line ends are ours. */
		if (i == 1)
			assert_int_equal(lines, 1);
		else
			assert_null(strstr(text, "\n# heading"));
		assert_null(strstr(text, "\n/close"));
		free(text);
	}
	done(&made);
}

static void hostile_text_and_json(void **state)
{
	expect_hostile_text_and_json(false);
	expect_hostile_text_and_json(true);
}

/* A comment holds at most 65,536 bytes, whatever there is to say. */
static void markdown_is_bounded(void **state)
{
	struct profile *base = nothing(), *new_ = nothing();
	struct diff_options options = plain_options;
	struct made made;
	char name[2048], *text;

	options.limit = 0;
	fail_over = 0;
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "%04d", i);
		memset(name + 4, '<', sizeof name - 5);
		name[sizeof name - 1] = '\0';
		made_add(i % 2 ? base : new_, &(struct made_sample){"a", name, 1000});
	}
	make(&made, base, new_, &options);
	text = written(&made, diff_markdown);
	assert_true(strlen(text) > 30000);
	assert_true(strlen(text) < 65536);
	assert_non_null(strstr(text, "more\n\n</details>"));
	free(text);
	done(&made);
}

/* Does not depend on the order of the input. */
static void output_is_deterministic(void **state)
{
	const write_fn writes[] = {diff_text, diff_markdown, diff_json};

	for (int i = 0; i < 3; i++) {
		struct profile *base = nothing(), *new_ = nothing();
		struct made made;
		char *one, *other;

		make(&made, MADE(PROFILE_ONCPU, before), MADE(PROFILE_ONCPU, after),
		     &plain_options);
		one = written(&made, writes[i]);
		done(&made);
		for (size_t k = COUNT(before); k-- > 0;) {
			made_add(base, &before[k]);
			made_add(new_, &after[k]);
		}
		make(&made, base, new_, &plain_options);
		other = written(&made, writes[i]);
		assert_string_equal(one, other);
		free(one);
		free(other);
		done(&made);
	}
}

static void offenders_in_a_log(void **state)
{
	struct made made;
	char *text;
	size_t size, lines = 0;
	FILE *stream;

	make_hostile(&made, true);
	stream = open_memstream(&text, &size);
	diff_write_offenders(&made.diff, "gate: ", stream);
	fclose(stream);
	for (char *rest = text, *line; (line = strsep(&rest, "\n")) && *line; lines++)
		assert_true(strncmp(line, "gate: ", 6) == 0);
	assert_int_equal(lines, 11);
	free(text);
	done(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_of_change),
		cmocka_unit_test(inner_frames_have_their_own_change),
		cmocka_unit_test(rows_are_names),
		cmocka_unit_test(reasons_are_apart),
		cmocka_unit_test(lists_are_sorted),
		cmocka_unit_test(the_gate),
		cmocka_unit_test(the_gate_of_all),
		cmocka_unit_test(text_example),
		cmocka_unit_test(markdown_example),
		cmocka_unit_test(absolute_text),
		cmocka_unit_test(narrow_pages_keep_names),
		cmocka_unit_test(empty_sides),
		cmocka_unit_test(identical_sides),
		cmocka_unit_test(times_of_unknown_periods),
		cmocka_unit_test(hostile_markdown),
		cmocka_unit_test(hostile_text_and_json),
		cmocka_unit_test(markdown_is_bounded),
		cmocka_unit_test(output_is_deterministic),
		cmocka_unit_test(offenders_in_a_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
