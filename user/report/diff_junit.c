/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_junit: the gate as JUnit XML, in the form that Jenkins' xunit plugin publishes a schema of:
 * one <testsuite> with <properties>, then <testcase>s with <failure> or <skipped>.
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

static void write_attribute(FILE *stream, const char *name, const char *value)
{
	fprintf(stream, " %s=\"", name);
	text_write(stream, value, SIZE_MAX);
	fputc('"', stream);
}

static void write_property(FILE *stream, const char *name, const char *value)
{
	fputs("      <property", stream);
	write_attribute(stream, "name", name);
	write_attribute(stream, "value", value);
	fputs("/>\n", stream);
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
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	diff_write_answer(suite->diff, answer, stream);
	fclose(stream);
	fputs(">\n      <failure type=\"regression\"", suite->stream);
	write_attribute(suite->stream, "message", text);
	fputs(">grew too much: ", suite->stream);
	text_write(suite->stream, text, SIZE_MAX);
	fputs("</failure>\n    </testcase>\n", suite->stream);
	free(text);
}

static void write_answer(const struct suite *suite, const struct gate_answer *answer)
{
	const struct diff *diff = suite->diff;
	const char *module = diff_gate_module(diff, answer);

	fprintf(suite->stream, "    <testcase classname=\"bpfflame.%s\" name=\"",
		gate_by_names[answer->item->by]);
	if (answer->item->by == GATE_ALL)
		fputs("total", suite->stream);
	text_write(suite->stream, diff_gate_name(diff, answer), SIZE_MAX);
	fputs(diff_gate_suffix(answer), suite->stream);
	if (*module && !answer->item->is_kernel) {
		fputs(" in ", suite->stream);
		text_write(suite->stream, module, SIZE_MAX);
	}
	fputs("\" time=\"0\"", suite->stream);
	if (answer->state == GATE_FAILED)
		write_failure(suite, answer);
	else
		fputs("/>\n", suite->stream);
}

static void write_unused(const struct suite *suite, const struct gate_rule *rule)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	fprintf(stream, "line %u: ", rule->line);
	diff_write_rule(rule, stream);
	fclose(stream);
	fputs("    <testcase classname=\"bpfflame.rules\"", suite->stream);
	write_attribute(suite->stream, "name", text);
	fputs(" time=\"0\">\n      <skipped message=\"it matches nothing that was recorded\"/>\n"
	      "    </testcase>\n",
	      suite->stream);
	free(text);
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
