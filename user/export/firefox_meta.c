/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox_meta: facts about the whole. The profiler shows those of a recording in a section of
 * their own, "extra"; with them the file can be read back as the profile it was written from.
 */
#include "core/facts.h"
#include "export/firefox.h"

#define PROCESSED_VERSION 47
#define GECKO_VERSION	  27 /* of Firefox's own format at that time */

static const struct {
	const char *name, *color;
// clang-format off
} categories[N_CATEGORIES] = {
	[CATEGORY_OTHER]    = {"Other",    "grey"},
	[CATEGORY_USER]     = {"User",     "yellow"},
	[CATEGORY_KERNEL]   = {"Kernel",   "orange"},
	[CATEGORY_JIT]      = {"JIT",      "green"},
	[CATEGORY_WAITING]  = {"Waiting",  "blue"},
	[CATEGORY_RUNNABLE] = {"Runnable", "purple"},
	[CATEGORY_IDLE]     = {"Idle",     "transparent"},
	[CATEGORY_INTERPRETED] = {"Interpreted", "lightgreen"},
};
// clang-format on

void firefox_write_libs(const struct firefox_writer *writer)
{
	struct json *json = writer->json;

	json_open(json, "libs", '[');
	for (size_t i = 0; i < writer->n_libs; i++) {
		const char *name = groups_text(&writer->groups, writer->libs[i]);

		json_open(json, NULL, '{');
		json_text(json, "arch", "");
		json_text(json, "name", name);
		json_text(json, "path", name);
		json_text(json, "debugName", name);
		json_text(json, "debugPath", name);
		json_text(json, "breakpadId", "");
		json_null(json, "codeId");
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_categories(struct json *json)
{
	json_open(json, "categories", '[');
	for (int i = 0; i < N_CATEGORIES; i++) {
		json_open(json, NULL, '{');
		json_text(json, "name", categories[i].name);
		json_text(json, "color", categories[i].color);
		json_open(json, "subcategories", '[');
		json_text(json, NULL, "Other");
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_fact(struct json *json, const char *key, const char *text)
{
	json_open(json, NULL, '{');
	json_text(json, "label", key);
	json_text(json, "format", "string");
	json_text(json, "value", text);
	json_close(json, '}');
}

static void write_extra(const struct groups *groups, struct json *json)
{
	json_open(json, "extra", '[');
	json_open(json, NULL, '{');
	json_text(json, "label", FACTS_LABEL);
	json_open(json, "entries", '[');
	groups_facts(groups, json, write_fact);
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, ']');
}

void firefox_write_meta(const struct firefox_writer *writer)
{
	const struct groups *groups = &writer->groups;
	const struct stacks_facts *facts = &groups->stacks.facts[SIDE_NEW];
	struct json *json = writer->json;

	json_open(json, "meta", '{');
	json_count(json, "version", GECKO_VERSION);
	json_count(json, "preprocessedProfileVersion", PROCESSED_VERSION);
	json_number(json, "interval", firefox_interval(facts), 6);
	json_number(json, "startTime", firefox_milliseconds(facts->start_realtime_ns), 3);
	json_count(json, "processType", 0);
	json_count(json, "stackwalk", 1);
	json_bool(json, "debug", false);
	json_text(json, "product",
		  facts->command_line ? groups_text(groups, facts->command_line)
				      : profile_mode_name(facts->mode));
	json_text(json, "importedFrom", "bpfflame " BPFFLAME_VERSION);
	json_text(json, "platform", "Linux");
	json_text(json, "oscpu", groups_text(groups, facts->kernel));
	json_bool(json, "symbolicated", true);
	json_bool(json, "symbolicationNotSupported", true);
	json_bool(json, "usesOnlyOneStackType", true);
	json_bool(json, "doesNotUseFrameImplementation", true);
	json_bool(json, "sourceCodeIsNotOnSearchfox", true);
	json_bool(json, "keepProfileThreadOrder", true);
	json_open(json, "markerSchema", '[');
	json_close(json, ']');
	write_categories(json);
	write_extra(groups, json);
	json_close(json, '}');
}
