/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope: frames are numbered for the whole file. Each has its source file or, if that is
 * unknown, its module, by which speedscope colours. A profile's stacks come sorted, so the view
 * in order of time is in order of names.
 *
 * On-CPU weights are samples: the schema has no such unit, so theirs is "none".
 *
 * The schema allows extra keys, and speedscope ignores them. They make the file readable as the
 * profile it was written from: an object of facts, each frame's kind, and each sample's inlined
 * frames.
 */
#include <string.h>

#include "base/json.h"
#include "core/facts.h"
#include "export/export.h"
#include "export/groups.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* NULL: user code. */
static const char *kind_name(uint8_t kind)
{
	switch (kind) {
	case FRAME_USER: return NULL;
	case FRAME_KERNEL: return "kernel";
	case FRAME_JIT: return "jit";
	case FRAME_INTERPRETED: return "interpreted";
	default: return "note";
	}
}

static void write_frame(struct json *json, const struct groups *groups,
			const struct group_frame *frame)
{
	uint32_t file = frame->file ? frame->file : frame->module;

	json_open(json, NULL, '{');
	json_text(json, "name", groups_text(groups, frame->name));
	if (file)
		json_text(json, "file", groups_text(groups, file));
	if (file && !frame->file)
		json_text(json, "module", groups_text(groups, file));
	if (frame->line)
		json_count(json, "line", frame->line);
	if (kind_name(frame->kind))
		json_text(json, "kind", kind_name(frame->kind));
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

static bool has_inlined(const struct groups *groups, const struct group *group)
{
	for (uint32_t i = 0; i < group->n; i++) {
		struct group_stack stack = group_stack(groups, group, i);

		for (uint32_t k = 0; k < stack.n; k++)
			if (group_stack_is_inlined(&stack, k))
				return true;
	}
	return false;
}

/* For each sample, the indexes of its frames that are inlined functions. */
static void write_inlined(struct json *json, const struct groups *groups, const struct group *group)
{
	if (!has_inlined(groups, group))
		return;
	json_open(json, "inlined", '[');
	for (uint32_t i = 0; i < group->n; i++) {
		struct group_stack stack = group_stack(groups, group, i);

		json_open(json, NULL, '[');
		for (uint32_t k = 0; k < stack.n; k++)
			if (group_stack_is_inlined(&stack, k))
				json_count(json, NULL, k);
		json_close(json, ']');
	}
	json_close(json, ']');
}

static void write_group(struct json *json, const struct groups *groups, const struct group *group)
{
	bool is_time = groups->stacks.facts[SIDE_NEW].mode != PROFILE_ONCPU;
	bool is_bytes = strcmp(stacks_unit(&groups->stacks), "bytes") == 0;

	json_open(json, NULL, '{');
	json_text(json, "type", "sampled");
	json_text(json, "name", groups_text(groups, group->name));
	json_text(json, "unit", is_time ? "nanoseconds" : is_bytes ? "bytes" : "none");
	json_count(json, "startValue", 0);
	json_count(json, "endValue", group->weight);
	write_samples(json, groups, group);
	write_inlined(json, groups, group);
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
	json_open(json, FACTS_LABEL, '{');
	groups_facts(groups, json, json_text);
	json_close(json, '}');
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
