/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff_gate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

#define MAX_NAMED    10
#define LEAST_DOUBT  1e-6
#define PERCENT_SIZE 32

const char *diff_gate_name(const struct diff *diff, const struct gate_answer *answer)
{
	return gate_name(diff->options.sums, answer->item->name);
}

const char *diff_gate_suffix(const struct gate_answer *answer)
{
	return frame_kind_suffix(answer->item->is_kernel ? FRAME_KERNEL : FRAME_USER);
}

const char *diff_gate_weight(const struct gate_answer *answer)
{
	return answer->item->by != GATE_ALL && answer->weight == GATE_SELF ? "self" : "total";
}

const char *diff_gate_module(const struct diff *diff, const struct gate_answer *answer)
{
	return answer->item->by == GATE_FUNCTION
		       ? gate_name(diff->options.sums, answer->item->module)
		       : "";
}

/* Figures */

static void write_percent(double ratio, char text[static PERCENT_SIZE])
{
	double percent = ratio * 100;

	if (isinf(percent))
		snprintf(text, PERCENT_SIZE, "new");
	else
		snprintf(text, PERCENT_SIZE, "%+.*f %%", fabs(percent) < 1000 ? 1 : 0, percent);
}

static void write_weight(const struct diff *diff, const struct gate_answer *answer, double weight,
			 char text[static DIFF_CELL_SIZE])
{
	if (answer->item->by != GATE_ALL && diff->judgement.compare.scale == SCALE_NORMALIZED)
		snprintf(text, DIFF_CELL_SIZE, "%.2f %%", weight * 100);
	else
		diff_figure(diff, weight + 0.5, text);
}

static void write_interval(const struct gate_answer *answer, char text[static DIFF_CELL_SIZE])
{
	char low[PERCENT_SIZE], high[PERCENT_SIZE];

	if (isinf(answer->growth) || answer->growth <= -1) {
		strcpy(text, "-");
		return;
	}
	write_percent(answer->low, low);
	write_percent(answer->high, high);
	low[strcspn(low, " ")] = '\0';
	snprintf(text, DIFF_CELL_SIZE, "%s to %s", low, high);
}

/* Rounds down: the number of digits follows the remaining doubt. */
static void write_sureness(double doubt, char text[static DIFF_CELL_SIZE])
{
	int digits = doubt > 0 && doubt < 0.1 ? (int)floor(-log10(doubt)) : 0;
	double unit = pow(10, digits);

	if (doubt < LEAST_DOUBT)
		strcpy(text, "> 99.9999 %");
	else
		snprintf(text, DIFF_CELL_SIZE, "%.*f %%", digits,
			 floor((1 - doubt) * 100 * unit) / unit);
}

void diff_gate_heading(const struct diff *diff, enum gate_column column,
		       char text[static DIFF_CELL_SIZE])
{
	// clang-format off
	static const char *const names[N_GATE_COLUMNS] = {
		[GATE_BASE]     = "base",
		[GATE_NEW]      = "new",
		[GATE_CHANGE]   = "change",
		[GATE_INTERVAL] = "interval",
		[GATE_SURE]     = "sure",
		[GATE_LIMIT]    = "limit",
	};
	// clang-format on

	if (column == GATE_INTERVAL)
		snprintf(text, DIFF_CELL_SIZE, "%.10g %% interval", diff->options.gate->confidence);
	else
		strcpy(text, names[column]);
}

void diff_gate_cell(const struct diff *diff, const struct gate_answer *answer,
		    enum gate_column column, char text[static DIFF_CELL_SIZE])
{
	switch (column) {
	case GATE_BASE: write_weight(diff, answer, answer->base, text); return;
	case GATE_NEW: write_weight(diff, answer, answer->new_, text); return;
	case GATE_CHANGE: write_percent(answer->growth, text); return;
	case GATE_INTERVAL: write_interval(answer, text); return;
	case GATE_SURE: write_sureness(answer->doubt, text); return;
	default: snprintf(text, DIFF_CELL_SIZE, "%.10g %%", answer->rule->fail_over); return;
	}
}

/* Sentences */

static bool has_limit(const struct gate_rule *rule)
{
	return !rule->ignore;
}

/* The limit that all rules share; < 0: they differ. */
static double common_limit(const struct gate_rules *rules)
{
	double limit = -1;

	for (size_t i = 0; i < rules->n; i++) {
		if (!has_limit(rules->rules[i]))
			continue;
		if (limit >= 0 && rules->rules[i]->fail_over != limit)
			return -1;
		limit = rules->rules[i]->fail_over;
	}
	return limit;
}

static void write_limit(const struct diff *diff, const struct words *words)
{
	double limit = common_limit(diff->options.rules);

	if (limit >= 0)
		words_say(words, " by more than %.10g %%", limit);
	else
		words_say(words, " by more than the rules allow");
}

/* Whether the same thing was listed before with its other weight. */
static bool is_told(const struct gate *gate, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (gate->answers[k].item == gate->answers[i].item)
			return true;
	return false;
}

static void write_failed(const struct gate *gate, const struct words *words)
{
	size_t n[N_GATE_BY] = {0};
	const char *separator = "";

	for (size_t i = 0; i < gate->n_failed; i++)
		n[gate->answers[i].item->by] += !is_told(gate, i);
	if (n[GATE_ALL]) {
		words_say(words, "the total");
		separator = " and ";
	}
	for (int by = 0; by < GATE_ALL; by++) {
		if (!n[by])
			continue;
		words_say(words, "%s%zu %s%s", separator, n[by], gate_by_names[by],
			  n[by] == 1 ? "" : "s");
		separator = " and ";
	}
	words_say(words, " grew");
}

/* The limit of a row: its rule's, or the lowest of all. */
static double limit_of(const struct diff *diff, const struct diff_row *row)
{
	const struct gate_rules *rules = diff->options.rules;
	const struct gate_item *item =
		judgement_function(&diff->judgement, row->name, row->kind == FRAME_KERNEL);
	const struct gate_rule *rule =
		item ? gate_rules_find(rules, diff->options.sums, item) : NULL;
	double limit = INFINITY;

	if (rule)
		return rule->fail_over;
	for (size_t i = 0; i < rules->n; i++)
		if (has_limit(rules->rules[i]))
			limit = fmin(limit, rules->rules[i]->fail_over);
	return limit;
}

static bool grew_too_much(const struct diff *diff, const struct diff_row *row,
			  enum diff_weight weight)
{
	const struct change *change = &row->changes[weight];
	double whole = diff->judgement.compare.scale == SCALE_NORMALIZED ? 1 : diff->all.base;
	double limit = limit_of(diff, row);

	if (change->kind == CHANGE_NEW)
		return change->new_ * 100 > limit * whole;
	return change->kind == CHANGE_GREW && change->ratio * 100 > limit;
}

size_t diff_gate_besides(const struct diff *diff)
{
	size_t n = 0;

	for (int weight = 0; weight < N_DIFF_WEIGHTS; weight++) {
		const struct diff_list *list = &diff->tables[DIFF_FUNCTIONS].changed[weight];

		for (size_t i = 0; i < list->n; i++)
			n += grew_too_much(diff, list->rows[i], weight) &&
			     !(weight == DIFF_TOTAL &&
			       grew_too_much(diff, list->rows[i], DIFF_SELF));
	}
	return n;
}

void diff_write_gate(const struct diff *diff, const struct words *words)
{
	const struct gate *gate = diff->options.gate;
	size_t n_besides = gate->n_failed ? 0 : diff_gate_besides(diff);

	words_say(words, "gate: ");
	if (!gate->n_answers)
		words_say(words, "there is nothing to judge");
	else if (gate->n_failed)
		write_failed(gate, words);
	else
		words_say(words, gate->n_unsure ? "nothing surely grew" : "nothing grew");
	if (gate->n_answers)
		write_limit(diff, words);
	if (gate->n_unsure)
		words_say(words, "; %zu %s that may be noise", gate->n_unsure,
			  gate->n_failed	? "more did by a change"
			  : gate->n_unsure == 1 ? "did by a change"
						: "did by changes");
	if (n_besides)
		words_say(words, "; in the tables %zu function%s did", n_besides,
			  n_besides == 1 ? "" : "s");
}

void diff_write_runs(const struct diff *diff, const struct words *words)
{
	size_t base = diff->options.sums->sides[SIDE_BASE].n_runs;

	words_say(words, "%zu run%s against %zu", base, base == 1 ? "" : "s",
		  diff->options.sums->sides[SIDE_NEW].n_runs);
}

void diff_write_gate_method(const struct diff *diff, const struct words *words)
{
	const struct gate *gate = diff->options.gate;
	enum gate_by by = gate->n_answers ? gate->answers[0].item->by : GATE_FUNCTION;

	words_say(words, "the gate: %zu judged, at %.10g %% confidence for all together; ",
		  gate->n_answers, gate->confidence);
	diff_write_runs(diff, words);
	words_say(words, ", which differ by %.1f %% beyond chance, as %s",
		  sqrt(gate->noise[by].square) * 100,
		  gate->has_runs ? "measured" : "assumed: several runs would show it");
}

void diff_write_answer(const struct diff *diff, const struct gate_answer *answer,
		       const struct words *words)
{
	char cells[N_GATE_COLUMNS][DIFF_CELL_SIZE];

	for (int column = 0; column < N_GATE_COLUMNS; column++)
		diff_gate_cell(diff, answer, column, cells[column]);
	words_say(words, "%s %s → %s (%s", diff_gate_weight(answer), cells[GATE_BASE],
		  cells[GATE_NEW], cells[GATE_CHANGE]);
	if (strcmp(cells[GATE_INTERVAL], "-") != 0)
		words_say(words, ", %s at %.10g %%", cells[GATE_INTERVAL],
			  diff->options.gate->confidence);
	words_say(words, "; %s sure; limit %s", cells[GATE_SURE], cells[GATE_LIMIT]);
	if (answer->rule->line)
		words_say(words, " of line %u", answer->rule->line);
	words_say(words, "; ");
	diff_write_runs(diff, words);
	words_say(words, ")");
}

static void write_subject(const struct diff *diff, const struct gate_answer *answer,
			  const struct words *words)
{
	const char *module = diff_gate_module(diff, answer);

	if (answer->item->by == GATE_ALL)
		words_say(words, "all");
	if (answer->item->by == GATE_MODULE)
		words_say(words, "module ");
	words_name(words, diff_gate_name(diff, answer));
	words_say(words, "%s", diff_gate_suffix(answer));
	if (*module && !answer->item->is_kernel) {
		words_say(words, " in ");
		words_name(words, module);
	}
}

void diff_write_offenders(const struct diff *diff, const char *prefix, FILE *stream)
{
	const struct gate *gate = diff->options.gate;
	struct words words = words_terminal(stream);

	for (size_t i = 0; i < gate->n_failed && i < MAX_NAMED; i++) {
		words_say(&words, "%sgrew too much: ", prefix);
		write_subject(diff, &gate->answers[i], &words);
		words_say(&words, ": ");
		diff_write_answer(diff, &gate->answers[i], &words);
		words_separate(&words);
	}
	if (gate->n_failed > MAX_NAMED)
		text_print(stream, "%sgrew too much: and %zu more\n", prefix,
			   gate->n_failed - MAX_NAMED);
}

/* Rules */

void diff_write_rule(const struct gate_rule *rule, const struct words *words)
{
	const char *quote = rule->kind == PATTERN_REGEX	 ? "/"
			    : rule->kind == PATTERN_NAME ? "\""
							 : "";

	words_say(words, "%s", gate_by_names[rule->by]);
	if (!rule->pattern)
		return;
	words_say(words, " %s", quote);
	words_name(words, rule->pattern);
	words_say(words, "%s", quote);
}

bool diff_is_unused(const struct diff *diff, const struct gate_rule *rule)
{
	const struct gate_sums *sums = diff->options.sums;

	if (!rule->line || rule->ignore)
		return false;
	for (size_t i = 0; i < sums->n_items; i++)
		if (gate_rule_matches(rule, sums, &sums->items[i]))
			return false;
	return true;
}

void diff_write_unused_rules(const struct diff *diff, const char *prefix, FILE *stream)
{
	const struct gate_rules *rules = diff->options.rules;
	struct words words = words_terminal(stream);

	for (size_t i = 0; i < rules->n; i++) {
		if (!diff_is_unused(diff, rules->rules[i]))
			continue;
		words_say(&words,
			  "%sline %u of the rules matches nothing that was recorded: ", prefix,
			  rules->rules[i]->line);
		diff_write_rule(rules->rules[i], &words);
		words_separate(&words);
	}
}

/* Lists differences that may come from the machine, not the program. */
void diff_write_machines(const struct diff *diff, const char *prefix, FILE *stream)
{
	const struct stacks_facts *facts = diff->stacks->facts;
	const struct strings *strings = &diff->stacks->strings;
	const char *const *remarks = diff->options.remarks;
	struct words words = words_terminal(stream);
	const struct {
		const char *what;
		uint32_t base, new_;
	} rows[] = {
		{"machines", facts[SIDE_BASE].host, facts[SIDE_NEW].host},
		{"kernels", facts[SIDE_BASE].kernel, facts[SIDE_NEW].kernel},
	};

	for (; remarks && *remarks; remarks++) {
		words_say(&words, "%s", prefix);
		words_name(&words, *remarks);
		words_separate(&words);
	}
	if (diff->options.remarks)
		return;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!rows[i].base || !rows[i].new_ || rows[i].base == rows[i].new_)
			continue;
		words_say(&words, "%srecorded on different %s: ", prefix, rows[i].what);
		words_name(&words, strings_get(strings, rows[i].base));
		words_say(&words, " and ");
		words_name(&words, strings_get(strings, rows[i].new_));
		words_separate(&words);
	}
	if (facts[0].frequency > 0 && facts[1].frequency > 0 &&
	    facts[0].frequency != facts[1].frequency)
		text_print(stream, "%srecorded at different frequencies: %.10g Hz and %.10g Hz\n",
			   prefix, facts[SIDE_BASE].frequency, facts[SIDE_NEW].frequency);
}
