/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles as JSON of speedscope and of the Firefox Profiler. tests/e2e/test_formats.py shows that
 * both load it.
 */
#include "unit/made_pprof.h"

#include <ctype.h>

typedef int (*export_fn)(struct profile *, const struct unfold_options *, FILE *);

static const export_fn exports[] = {export_speedscope, export_firefox};
static const struct unfold_options plain;

static char *exported(export_fn export, struct profile *profile,
		      const struct unfold_options *unfold)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_int_equal(export(profile, unfold, stream), 0);
	fclose(stream);
	assert_int_equal(strlen(text), size);
	assert_int_equal(utf8_span(text), size);
	return text;
}

/* Parses one JSON value (RFC 8259) at @p; returns the rest. */

static const char *after_string(const char *p)
{
	assert_true(*p++ == '"');
	for (; *p != '"'; p++) {
		assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
		if (*p == '\\') {
			p++;
			assert_non_null(strchr("\"\\/bfnrtu", *p));
			for (int i = 0; *p == 'u' && i < 4; i++)
				assert_true(isxdigit(p[1 + i]));
		}
	}
	return p + 1;
}

static const char *after_value(const char *p)
{
	static const char *const words[] = {"true", "false", "null"};
	char close = *p == '{' ? '}' : ']';

	if (*p == '"')
		return after_string(p);
	if (*p == '{' || *p == '[') {
		for (p++; *p != close;) {
			if (close == '}') {
				p = after_string(p);
				assert_true(*p++ == ':');
			}
			p = after_value(p);
			assert_true(*p == ',' || *p == close);
			if (*p == ',')
				assert_true(*++p != close);
		}
		return p + 1;
	}
	for (size_t i = 0; i < COUNT(words); i++)
		if (strncmp(p, words[i], strlen(words[i])) == 0)
			return p + strlen(words[i]);
	assert_true(*p == '-' || isdigit(*p));
	return p + strspn(p, "-0123456789.");
}

static void check(const char *text)
{
	assert_string_equal(after_value(text), "\n");
}

static void expect(export_fn export, enum profile_mode mode, const struct made_sample *samples,
		   size_t n, const struct unfold_options *unfold, const char *expected)
{
	struct profile *profile = made_profile(mode, samples, n);
	char *text = exported(export, profile, unfold);

	check(text);
	if (!strstr(text, expected))
		assert_string_equal(text, expected);
	free(text);
	profile_free(profile);
}

/* speedscope */

static void heaviest_command_first(void **state)
{
	static const struct made_sample samples[] = {
		{"a", "main;read_[k]", 2}, {"b", "main;f", 5}, {"a", "main", 1}, {"c", "", 1}};

	expect(export_speedscope, PROFILE_ONCPU, samples, COUNT(samples), &plain,
	       "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
	       "\"exporter\":\"bpfflame " BPFFLAME_VERSION "\",\"name\":\"oncpu\","
	       "\"activeProfileIndex\":0,\"bpfflame\":{\"mode\":\"oncpu\"},\"shared\":{\"frames\":["
	       "{\"name\":\"a\",\"kind\":\"note\"},{\"name\":\"b\",\"kind\":\"note\"},"
	       "{\"name\":\"c\",\"kind\":\"note\"},{\"name\":\"f\"},{\"name\":\"main\"},"
	       "{\"name\":\"read\",\"file\":\"[kernel]\",\"module\":\"[kernel]\","
	       "\"kind\":\"kernel\"}]},\"profiles\":[{\"type\":\"sampled\",\"name\":\"b\",\"unit\":"
	       "\"none\",\"startValue\":0,\"endValue\":5,\"samples\":[[4,3]],\"weights\":[5]},"
	       "{\"type\":\"sampled\",\"name\":\"a\",\"unit\":\"none\",\"startValue\":0,"
	       "\"endValue\":3,\"samples\":[[4],[4,5]],\"weights\":[1,2]},{\"type\":\"sampled\","
	       "\"name\":\"c\",\"unit\":\"none\",\"startValue\":0,\"endValue\":1,\"samples\":[[2]],"
	       "\"weights\":[1]}]}\n");
}

static void times_are_nanoseconds(void **state)
{
	static const struct made_sample samples[] = {
		{"db", "main", 1500, REASON_FUTEX, 7, 8},
		{"db", "main", 2500, REASON_POLL, 7, 9, .is_idle = true}};
	static const struct unfold_options threads = {.threads = true, .fold_idle = true};

	expect(export_speedscope, PROFILE_OFFCPU, samples, COUNT(samples), &plain,
	       "\"profiles\":[{\"type\":\"sampled\",\"name\":\"db\",\"unit\":\"nanoseconds\","
	       "\"startValue\":0,\"endValue\":4000,\"samples\":[[3,0],[3,1]],"
	       "\"weights\":[1500,2500]}]}\n");
	expect(export_speedscope, PROFILE_OFFCPU, samples, COUNT(samples), &threads,
	       "\"name\":\"db-7/9\",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":2500,"
	       "\"samples\":[[1,5,2]],\"weights\":[2500]},{\"type\":\"sampled\","
	       "\"name\":\"db-7/8\"");
}

/* One function, inlined and called, in one file; with lines. */
static struct profile *profile_with_files(void)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	uint32_t file = made_string(profile, "/src/a.c"), locations[2], mapping;
	struct profile_mapping none = {.kind = MAPPING_FILE,
				       .path = made_string(profile, "/bin/a")};
	struct profile_frame frames[2][2] = {{{FRAME_INLINED, made_string(profile, "f"), file, 3},
					      {FRAME_USER, made_string(profile, "main"), file, 9}},
					     {{FRAME_USER, made_string(profile, "f"), file, 4}}};

	made_check(profile_add_mapping(profile, &none, &mapping), "profile_add_mapping");
	for (int i = 0; i < 2; i++)
		made_check(profile_add_named(profile, mapping, frames[i], 2 - i, &locations[i]),
			   "profile_add_named");
	made_add_locations(profile, &(struct made_sample){"a", "", 1}, locations, 1);
	made_add_locations(profile, &(struct made_sample){"a", "", 2}, locations, 2);
	made_add_locations(profile, &(struct made_sample){"a", "", 3}, locations + 1, 1);
	return profile;
}

static void files_and_lines(void **state)
{
	struct profile *profile = profile_with_files();
	char *text = exported(export_speedscope, profile, &plain);

	check(text);
	assert_non_null(strstr(text, "\"frames\":[{\"name\":\"a\",\"kind\":\"note\"},"
				     "{\"name\":\"f\",\"file\":\"/src/"
				     "a.c\"},{\"name\":\"main\",\"file\":\"/src/a.c\"}]}"));
	assert_non_null(strstr(text, "\"samples\":[[1],[1,2,1],[2,1]]"));
	assert_non_null(strstr(text, "\"inlined\":[[],[2],[1]]"));
	free(text);
	text = exported(export_speedscope, profile, &(struct unfold_options){.lines = true});
	check(text);
	assert_non_null(strstr(text, "{\"name\":\"f\",\"file\":\"/src/a.c\",\"line\":3}"));
	assert_non_null(strstr(text, "{\"name\":\"f\",\"file\":\"/src/a.c\",\"line\":4}"));
	free(text);
	profile_free(profile);
}

/* Firefox */

static void threads_of_firefox(void **state)
{
	static const struct made_sample samples[] = {{"a", "main;f", 2},
						     {"a", "main;f;g_[k]", 3},
						     {"a", "main", 1},
						     {"b", "main;j_[j]", 1}};

	expect(export_firefox, PROFILE_ONCPU, samples, COUNT(samples), &plain,
	       "\"samples\":{\"length\":3,\"stack\":[0,1,2],\"time\":[0.000000,1.000000,3.000000],"
	       "\"weightType\":\"samples\",\"weight\":[1,2,3]}");
	expect(export_firefox, PROFILE_ONCPU, samples, COUNT(samples), &plain,
	       "\"stackTable\":{\"length\":3,\"prefix\":[null,0,1],\"frame\":[0,1,2],"
	       "\"category\":[1,1,2],\"subcategory\":[0,0,0]}");
	expect(export_firefox, PROFILE_ONCPU, samples, COUNT(samples), &plain,
	       "\"stringArray\":[\"main\",\"f\",\"g\",\"[kernel]\"]}");
	expect(export_firefox, PROFILE_ONCPU, samples, COUNT(samples), &plain,
	       "\"name\":\"b\",\"processName\":\"b\",\"isMainThread\":true,\"pid\":\"2\",\"tid\":2,"
	       "\"samples\":{\"length\":1,\"stack\":[1]");
	expect(export_firefox, PROFILE_ONCPU, samples, COUNT(samples), &plain,
	       "\"preprocessedProfileVersion\":47,");
}

static void times_of_firefox(void **state)
{
	static const struct made_sample samples[] = {{"db", "main", 1500, REASON_FUTEX, 7, 8},
						     {"db", "main", 2500, REASON_POLL, 7, 7}};
	static const struct unfold_options threads = {.threads = true};

	expect(export_firefox, PROFILE_OFFCPU, samples, COUNT(samples), &plain,
	       "\"time\":[0.000000,0.001500],\"weightType\":\"tracing-ms\","
	       "\"weight\":[0.001500,0.002500]}");
	expect(export_firefox, PROFILE_OFFCPU, samples, COUNT(samples), &plain,
	       "\"category\":[1,4,4]");
	expect(export_firefox, PROFILE_OFFCPU, samples, COUNT(samples), &threads,
	       "\"name\":\"db-7/7\",\"processName\":\"db-7/7\",\"isMainThread\":true,"
	       "\"pid\":\"7\",\"tid\":7,");
	expect(export_firefox, PROFILE_OFFCPU, samples, COUNT(samples), &threads,
	       "\"name\":\"db-7/8\",\"processName\":\"db-7/8\",\"isMainThread\":false,"
	       "\"pid\":\"7\",\"tid\":8,");
}

static void files_of_firefox(void **state)
{
	struct profile *profile = profile_with_files();
	char *text = exported(export_firefox, profile, &(struct unfold_options){.lines = true});

	check(text);
	assert_non_null(strstr(text, "\"line\":[4,9,3]"));
	assert_non_null(strstr(text, "\"fileName\":[3,4,5]"));
	assert_non_null(strstr(text, "\"stringArray\":[\"f\",\"main\",\"f\",\"/src/a.c\","
				     "\"/src/a.c\",\"/src/a.c\"]"));
	free(text);
	profile_free(profile);
}

/* Both formats */

static void hostile_names(void **state)
{
	for (size_t i = 0; i < COUNT(exports); i++)
		for (int mode = 0; mode < N_PROFILE_MODES; mode++) {
			struct profile *profile = made_hostile(mode);
			char *text = exported(exports[i], profile, &plain);

			check(text);
			assert_non_null(strstr(text, "\"\\\"><img src=x onerror=alert(1)>\""));
			assert_non_null(strstr(text, "new\\u000aline"));
			assert_non_null(strstr(text, "invalid \\ufffd\\ufffd\\ufffd utf8"));
			free(text);
			profile_free(profile);
		}
}

static void long_names(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	char *name = malloc(10001);
	uint32_t location;

	memset(name, '"', 10000);
	name[10000] = '\0';
	location = made_location(profile, FRAME_USER, name);
	made_add_locations(profile, &(struct made_sample){"a", "", 1}, &location, 1);
	for (size_t i = 0; i < COUNT(exports); i++) {
		char *text = exported(exports[i], profile, &plain);

		check(text);
		assert_true(strlen(text) > 20000);
		free(text);
	}
	free(name);
	profile_free(profile);
}

static void empty_profiles(void **state)
{
	for (size_t i = 0; i < COUNT(exports); i++)
		expect(exports[i], PROFILE_OFFCPU, NULL, 0, &plain,
		       i ? "\"threads\":[]}" : "\"profiles\":[]}");
}

static void random_profiles(void **state)
{
	for (int i = 0; i < 60; i++) {
		struct unfold_options options = {.no_inline = i & 1,
						 .no_kernel = i >> 1 & 1,
						 .no_reason = i >> 2 & 1,
						 .fold_idle = i >> 3 & 1,
						 .waker_depth = i % 4,
						 .threads = i % 5 == 0,
						 .lines = i % 7 == 0};
		struct profile *profile = made_random_profile(i % N_PROFILE_MODES, i);
		char *text = exported(exports[i / 2 % 2], profile, &options);
		char *again = exported(exports[i / 2 % 2], profile, &options);

		check(text);
		assert_string_equal(text, again);
		free(text);
		free(again);
		profile_free(profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heaviest_command_first), cmocka_unit_test(times_are_nanoseconds),
		cmocka_unit_test(files_and_lines),	  cmocka_unit_test(threads_of_firefox),
		cmocka_unit_test(times_of_firefox),	  cmocka_unit_test(files_of_firefox),
		cmocka_unit_test(hostile_names),	  cmocka_unit_test(long_names),
		cmocka_unit_test(empty_profiles),	  cmocka_unit_test(random_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
