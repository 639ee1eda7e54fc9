/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/gate_rules.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"

#define MAX_WORDS 8

/* A line while it becomes a rule. */
struct rule_line {
	const char *name; /* of the file */
	unsigned int line;
	char *words[MAX_WORDS];
	char quotes[MAX_WORDS]; /* what quoted the word: " or / or 0 */
	size_t n_words;
	struct failure *failure;
};

static int complain(const struct rule_line *parsed, const char *what, const char *word)
{
	failure_set(parsed->failure, -EINVAL, "%s:%u: %s%s%s%s", parsed->name, parsed->line, what,
		    word ? " '" : "", word ? word : "", word ? "'" : "");
	return failure_fix(parsed->failure, -EINVAL,
			   "a rule is: function|module PATTERN fail-over PERCENT [weight "
			   "self|total|both], total "
			   "fail-over PERCENT, or ignore function|module PATTERN");
}

static void rule_free(struct gate_rule *rule)
{
	if (!rule)
		return;
	if (rule->kind == PATTERN_REGEX)
		regfree(&rule->regex);
	free(rule->pattern);
	free(rule);
}

void gate_rules_done(struct gate_rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		rule_free(rules->rules[i]);
	free(rules->rules);
	*rules = (struct gate_rules){};
}

/* Takes over *@like, except for its address. */
static int append_rule(struct gate_rules *rules, const struct gate_rule *like,
		       struct gate_rule **ret)
{
	struct gate_rule *rule = malloc(sizeof *rule);
	int r = rule ? array_reserve(rules->rules, rules->capacity, rules->n, 1) : -ENOMEM;

	if (r < 0) {
		free(rule);
		return r;
	}
	*rule = *like;
	rules->rules[rules->n++] = rule;
	*ret = rule;
	return 0;
}

int gate_rules_add(struct gate_rules *rules, enum gate_by by, unsigned int weights,
		   double fail_over)
{
	struct gate_rule *rule;

	return append_rule(
		rules, &(struct gate_rule){.by = by, .weights = weights, .fail_over = fail_over},
		&rule);
}

/* Takes the word between two @quote characters; *@text is at the first. */
static int take_quoted(struct rule_line *parsed, char **text, char quote)
{
	char *from = *text + 1, *to = from;

	parsed->quotes[parsed->n_words] = quote;
	parsed->words[parsed->n_words++] = to;
	for (; *from && *from != quote; from++) {
		/* A regular expression keeps its backslashes, except those before slashes. */
		bool is_escape = *from == '\\' && from[1] &&
				 (from[1] == quote || (quote == '"' && from[1] == '\\'));

		if (is_escape)
			from++;
		else if (quote == '/' && *from == '\\' && from[1])
			*to++ = *from++;
		*to++ = *from;
	}
	if (!*from)
		return complain(parsed,
				quote == '"' ? "a double quote is not closed"
					     : "a regular expression has no second /",
				NULL);
	*to = '\0';
	*text = from + 1;
	if (**text && !strchr(" \t\r\n", **text))
		return complain(parsed, "there is no space after a closing", (char[]){quote, 0});
	return 0;
}

static int split_words(struct rule_line *parsed, char *text)
{
	parsed->n_words = 0;
	for (;;) {
		text += strspn(text, " \t\r\n");
		if (!*text || *text == '#')
			return 0;
		if (parsed->n_words == MAX_WORDS)
			return complain(parsed, "too many words", NULL);
		/* Only a pattern, the second or third word, is quoted. */
		if (parsed->n_words && (*text == '"' || *text == '/')) {
			int r = take_quoted(parsed, &text, *text);

			if (r < 0)
				return r;
			continue;
		}
		parsed->quotes[parsed->n_words] = 0;
		parsed->words[parsed->n_words++] = text;
		text += strcspn(text, " \t\r\n");
		if (*text)
			*text++ = '\0';
	}
}

/* Takes word *@at if it is @wanted. */
static bool take_word(const struct rule_line *parsed, size_t *at, const char *wanted)
{
	if (*at >= parsed->n_words || parsed->quotes[*at] ||
	    strcmp(parsed->words[*at], wanted) != 0)
		return false;
	++*at;
	return true;
}

static int take_kind(const struct rule_line *parsed, size_t *at, struct gate_rule *rule)
{
	for (int by = 0; by < N_GATE_BY; by++) {
		if (take_word(parsed, at, gate_by_names[by])) {
			rule->by = by;
			return 0;
		}
	}
	return complain(parsed,
			*at < parsed->n_words ? "neither function, module, total nor ignore:"
					      : "function or module is missing after ignore",
			*at < parsed->n_words ? parsed->words[*at] : NULL);
}

static int take_pattern(const struct rule_line *parsed, size_t *at, struct gate_rule *rule)
{
	char quote;

	if (rule->by == GATE_ALL)
		return 0;
	if (*at >= parsed->n_words || !*parsed->words[*at])
		return complain(parsed, "a pattern is missing", NULL);
	quote = parsed->quotes[*at];
	rule->pattern = strdup(parsed->words[(*at)++]);
	if (!rule->pattern)
		return -ENOMEM;
	rule->kind = quote == '"' ? PATTERN_NAME : PATTERN_GLOB;
	if (quote != '/')
		return 0;
	if (regcomp(&rule->regex, rule->pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return complain(parsed, "not a regular expression:", rule->pattern);
	rule->kind = PATTERN_REGEX;
	return 0;
}

static int take_percent(const struct rule_line *parsed, size_t *at, struct gate_rule *rule)
{
	const char *word;
	char *end;

	if (!take_word(parsed, at, "fail-over"))
		return complain(parsed, "fail-over is missing", NULL);
	if (*at >= parsed->n_words)
		return complain(parsed, "a percentage is missing after fail-over", NULL);
	word = parsed->words[(*at)++];
	rule->fail_over = strtod(word, &end);
	if (end != word && *end == '%')
		end++;
	if (end == word || *end || !isfinite(rule->fail_over) || rule->fail_over < 0)
		return complain(parsed, "not a percentage:", word);
	return 0;
}

static int take_weight(const struct rule_line *parsed, size_t *at, struct gate_rule *rule)
{
	if (!take_word(parsed, at, "weight"))
		return 0;
	if (take_word(parsed, at, "self"))
		rule->weights = GATE_BIT(GATE_SELF);
	else if (take_word(parsed, at, "total"))
		rule->weights = GATE_BIT(GATE_TOTAL);
	else if (take_word(parsed, at, "both"))
		rule->weights = GATE_BOTH;
	else
		return complain(parsed, "weight is self, total or both", NULL);
	return 0;
}

static int parse_rule(const struct rule_line *parsed, struct gate_rule *rule)
{
	size_t at = 0;
	int r;

	rule->ignore = take_word(parsed, &at, "ignore");
	r = take_kind(parsed, &at, rule);
	if (r < 0)
		return r;
	r = take_pattern(parsed, &at, rule);
	if (r < 0)
		return r;
	if (!rule->ignore) {
		r = take_percent(parsed, &at, rule);
		if (r < 0)
			return r;
		r = take_weight(parsed, &at, rule);
		if (r < 0)
			return r;
	}
	if (at < parsed->n_words)
		return complain(parsed, "unexpected:", parsed->words[at]);
	return 0;
}

static int add_line(struct gate_rules *rules, struct rule_line *parsed, char *text,
		    unsigned int weights)
{
	struct gate_rule *rule;
	int r = split_words(parsed, text);

	if (r < 0 || !parsed->n_words)
		return r;
	r = append_rule(rules, &(struct gate_rule){.line = parsed->line, .weights = weights},
			&rule);
	if (r < 0)
		return r;
	return parse_rule(parsed, rule);
}

int gate_rules_read(struct gate_rules *rules, FILE *stream, const char *name, unsigned int weights,
		    struct failure *failure)
{
	struct rule_line parsed = {.name = name, .failure = failure};
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	ssize_t n;
	int r;

	while ((n = getline(&text, &size, stream)) >= 0) {
		parsed.line++;
		if (memchr(text, '\0', n))
			return complain(&parsed, "this is not a text file", NULL);
		r = add_line(rules, &parsed, text, weights);
		if (r < 0)
			return r;
	}
	if (ferror(stream))
		return failure_set(failure, -EIO, "cannot read %s", name);
	return 0;
}

static bool matches(const struct gate_rule *rule, const char *name)
{
	switch (rule->kind) {
	case PATTERN_ANY: return true;
	case PATTERN_NAME: return strcmp(rule->pattern, name) == 0;
	case PATTERN_REGEX: return regexec(&rule->regex, name, 0, NULL, 0) == 0;
	default: break;
	}
	/* A name that contains a glob's characters also matches itself. */
	return strcmp(rule->pattern, name) == 0 || fnmatch(rule->pattern, name, 0) == 0;
}

bool gate_rule_matches(const struct gate_rule *rule, const struct gate_sums *sums,
		       const struct gate_item *item)
{
	if (rule->by != item->by)
		return false;
	if (matches(rule, gate_name(sums, item->name)))
		return true;
	/* Also match a module with its version. */
	return item->by == GATE_MODULE && matches(rule, gate_name(sums, item->module));
}

const struct gate_rule *gate_rules_find(const struct gate_rules *rules,
					const struct gate_sums *sums, const struct gate_item *item)
{
	for (size_t i = rules->n; i-- > 0;)
		if (gate_rule_matches(rules->rules[i], sums, item))
			return rules->rules[i]->ignore ? NULL : rules->rules[i];
	return NULL;
}
