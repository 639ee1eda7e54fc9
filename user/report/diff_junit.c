/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_junit: writes the gate as JUnit XML, in the form of the schema of Jenkins' xunit plugin: one
 * <testsuite> with <properties>, then <testcase>s with <failure> or <skipped>.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/diff_gate.h"

struct suite {
	const struct diff *diff;
	FILE *stream;
	size_t n_shown, n_unused;
};

static void write_text(void *stream, const char *text)
{
	text_write(stream, text, SIZE_MAX);
}

static struct words words_xml(FILE *stream)
{
	return (struct words){stream, write_text, write_text, NULL};
}

static void write_property(FILE *stream, const char *name, const char *value)
{
	fputs("      <property name=\"", stream);
	write_text(stream, name);
	fputs("\" value=\"", stream);
	write_text(stream, value);
	fputs("\"/>\n", stream);
}

static void write_number(FILE *stream, const char *name, double value)
{
	char text[64];

	snprintf(text, sizeof text, "%.10g", value);
	write_property(stream, name, text);
}

static void write_properties(const struct suite *suite)
{
	const struct diff_options *options = &suite->diff->options;

	fputs("    <properties>\n", suite->stream);
	if (options->base_name)
		write_property(suite->stream, "base", options->base_name);
	if (options->new_name)
		write_property(suite->stream, "new", options->new_name);
	write_number(suite->stream, "base runs", options->sums->sides[SIDE_BASE].n_runs);
	write_number(suite->stream, "new runs", options->sums->sides[SIDE_NEW].n_runs);
	write_number(suite->stream, "confidence percent", options->gate->confidence);
	write_number(suite->stream, "checked", options->gate->n_answers);
	fputs("    </properties>\n", suite->stream);
}

static void write_failure(const struct suite *suite, const struct gate_answer *answer)
{
	struct words words = words_xml(suite->stream);

	fputs(">\n      <failure type=\"regression\" message=\"", suite->stream);
	diff_write_answer(suite->diff, answer, &words);
	fputs("\">grew too much: ", suite->stream);
	diff_write_answer(suite->diff, answer, &words);
	fputs("</failure>\n    </testcase>\n", suite->stream);
}

static void write_answer(const struct suite *suite, const struct gate_answer *answer)
{
	const struct diff *diff = suite->diff;
	const char *module = diff_gate_module(diff, answer);

	fputs("    <testcase classname=\"bpfflame.", suite->stream);
	write_text(suite->stream, gate_by_names[answer->item->by]);
	fputs("\" name=\"", suite->stream);
	if (answer->item->by == GATE_ALL)
		fputs("total", suite->stream);
	write_text(suite->stream, diff_gate_name(diff, answer));
	write_text(suite->stream, diff_gate_suffix(answer));
	if (*module && !answer->item->is_kernel) {
		fputs(" in ", suite->stream);
		write_text(suite->stream, module);
	}
	fputs("\" time=\"0\"", suite->stream);
	if (answer->state == GATE_FAILED)
		write_failure(suite, answer);
	else
		fputs("/>\n", suite->stream);
}

static void write_unused(const struct suite *suite, const struct gate_rule *rule)
{
	struct words words = words_xml(suite->stream);

	fprintf(suite->stream,
		"    <testcase classname=\"bpfflame.rules\" name=\"line %u: ", rule->line);
	diff_write_rule(rule, &words);
	fputs("\" time=\"0\">\n      <skipped message=\"it matches nothing that was recorded\"/>\n"
	      "    </testcase>\n",
	      suite->stream);
}

int diff_junit(const struct diff *diff, FILE *stream)
{
	const struct gate *gate = diff->options.gate;
	const struct gate_rules *rules = diff->options.rules;
	struct suite suite = {.diff = diff, .stream = stream};

	suite.n_shown = gate->n_answers;
	if (suite.n_shown > DIFF_JUNIT_CASES)
		suite.n_shown =
			gate->n_failed > DIFF_JUNIT_CASES ? gate->n_failed : DIFF_JUNIT_CASES;
	for (size_t i = 0; i < rules->n; i++)
		suite.n_unused += diff_is_unused(diff, rules->rules[i]);
	fprintf(stream,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
		"  <testsuite name=\"bpfflame diff\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
		"skipped=\"%zu\" time=\"0\">\n",
		suite.n_shown + suite.n_unused, gate->n_failed, suite.n_unused);
	write_properties(&suite);
	for (size_t i = 0; i < suite.n_shown; i++)
		write_answer(&suite, &gate->answers[i]);
	for (size_t i = 0; i < rules->n; i++)
		if (diff_is_unused(diff, rules->rules[i]))
			write_unused(&suite, rules->rules[i]);
	fputs("  </testsuite>\n</testsuites>\n", stream);
	return 0;
}
