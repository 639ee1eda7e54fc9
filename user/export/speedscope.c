/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope: frames are numbered for the whole file, and each has what is known of its place: the
 * source file, or else the module, which speedscope colours by. Stacks of a profile come sorted:
 * its view in the order of time is one in the order of names.
 *
 * On-CPU weights are samples, and the schema's only unit that is not one of time or size is "none".
 */
#include "base/json.h"
#include "export/export.h"
#include "export/groups.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

static void write_frame(struct json *json, const struct groups *groups,
			const struct group_frame *frame)
{
	uint32_t file = frame->file ? frame->file : frame->module;

	json_open(json, NULL, '{');
	json_text(json, "name", groups_text(groups, frame->name));
	if (file)
		json_text(json, "file", groups_text(groups, file));
	if (frame->line)
		json_count(json, "line", frame->line);
	json_close(json, '}');
}

static void write_samples(struct json *json, const struct groups *groups, const struct group *group)
{
	json_open(json, "samples", '[');
	for (uint32_t i = 0; i < group->n; i++) {
		struct group_stack stack = group_stack(groups, group, i);

		json_open(json, NULL, '[');
		for (uint32_t k = 0; k < stack.n; k++)
			json_count(json, NULL, group_stack_frame(&stack, k));
		json_close(json, ']');
	}
	json_close(json, ']');
	json_open(json, "weights", '[');
	for (uint32_t i = 0; i < group->n; i++)
		json_count(json, NULL, group_stack(groups, group, i).entry->weight);
	json_close(json, ']');
}

static void write_group(struct json *json, const struct groups *groups, const struct group *group)
{
	bool is_time = groups->stacks.facts[SIDE_NEW].mode != PROFILE_ONCPU;

	json_open(json, NULL, '{');
	json_text(json, "type", "sampled");
	json_text(json, "name", groups_text(groups, group->name));
	json_text(json, "unit", is_time ? "nanoseconds" : "none");
	json_count(json, "startValue", 0);
	json_count(json, "endValue", group->weight);
	write_samples(json, groups, group);
	json_close(json, '}');
}

static void write_all(struct json *json, const struct groups *groups)
{
	const struct stacks_facts *facts = &groups->stacks.facts[SIDE_NEW];

	json_open(json, NULL, '{');
	json_text(json, "$schema", SCHEMA);
	json_text(json, "exporter", "bpfflame " BPFFLAME_VERSION);
	json_text(json, "name",
		  facts->command_line ? groups_text(groups, facts->command_line)
				      : profile_mode_name(facts->mode));
	json_count(json, "activeProfileIndex", 0);
	json_open(json, "shared", '{');
	json_open(json, "frames", '[');
	for (size_t i = 0; i < groups->n_frames; i++)
		write_frame(json, groups, &groups->frames[i]);
	json_close(json, ']');
	json_close(json, '}');
	json_open(json, "profiles", '[');
	for (size_t i = 0; i < groups->n; i++)
		write_group(json, groups, &groups->items[i]);
	json_close(json, ']');
	json_close(json, '}');
	putc_unlocked('\n', json->stream);
}

int export_speedscope(struct profile *profile, const struct unfold_options *unfold, FILE *stream)
{
	struct json json = {.stream = stream};
	struct groups groups;
	int r = groups_init(&groups, profile, unfold);

	if (r == 0)
		write_all(&json, &groups);
	groups_done(&groups);
	return r;
}
