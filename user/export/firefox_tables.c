/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox_tables: a thread's frames and what they refer to. A frame is a function, called or
 * inlined: addresses and call lines are not distinguished here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/firefox.h"

enum category firefox_category(const struct firefox_writer *writer, const struct group_frame *frame)
{
	switch (frame->kind) {
	case FRAME_USER:
	case FRAME_INLINED:
	case FRAME_RUNNING: return CATEGORY_USER;
	case FRAME_KERNEL: return CATEGORY_KERNEL;
	case FRAME_JIT: return CATEGORY_JIT;
	case FRAME_INTERPRETED: return CATEGORY_INTERPRETED;
	case FRAME_WAITING: return CATEGORY_WAITING;
	case FRAME_RUNNABLE: return CATEGORY_RUNNABLE;
	default:
		return strcmp(groups_text(&writer->groups, frame->name), "[idle]") == 0
			       ? CATEGORY_IDLE
			       : CATEGORY_OTHER;
	}
}

void firefox_write_same(struct json *json, const char *key, size_t n, enum same what)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < n; i++)
		switch (what) {
		case SAME_NULL: json_null(json, NULL); break;
		case SAME_FALSE: json_bool(json, NULL, false); break;
		case SAME_MINUS_ONE: json_number(json, NULL, -1, 0); break;
		default: json_count(json, NULL, what);
		}
	json_close(json, ']');
}

/* Numbers */

static uint32_t longest_stack(const struct stacks *stacks)
{
	uint32_t longest = 0;

	for (size_t i = 0; i < stacks->n_entries; i++)
		if (stacks->entries[i].n > longest)
			longest = stacks->entries[i].n;
	return longest;
}

int firefox_tables_init(struct firefox_writer *writer)
{
	const struct groups *groups = &writer->groups;
	size_t n = groups->n_frames + 1;

	writer->libs = calloc(n, sizeof *writer->libs);
	writer->lib_of = calloc(groups->stacks.strings.n_strings, sizeof *writer->lib_of);
	writer->functions = calloc(n, sizeof *writer->functions);
	writer->function_of = calloc(n, sizeof *writer->function_of);
	writer->frames = calloc(n, 2 * sizeof *writer->frames);
	writer->frame_of = calloc(n, 2 * sizeof *writer->frame_of);
	writer->path = calloc((size_t)longest_stack(&groups->stacks) + 1, sizeof *writer->path);
	if (!writer->libs || !writer->lib_of || !writer->functions || !writer->function_of ||
	    !writer->frames || !writer->frame_of || !writer->path)
		return -ENOMEM;
	for (size_t i = 0; i < groups->n_frames; i++) {
		uint32_t module = groups->frames[i].module;

		if (!module || writer->lib_of[module])
			continue;
		writer->libs[writer->n_libs++] = module;
		writer->lib_of[module] = writer->n_libs;
	}
	return 0;
}

void firefox_tables_done(struct firefox_writer *writer)
{
	free(writer->libs);
	free(writer->lib_of);
	free(writer->functions);
	free(writer->function_of);
	free(writer->frames);
	free(writer->frame_of);
	free(writer->path);
}

static void add_frame(struct firefox_writer *writer, uint32_t function, bool is_inlined)
{
	uint32_t frame = function * 2 + is_inlined;

	if (writer->frame_of[frame])
		return;
	writer->frames[writer->n_frames++] = frame;
	writer->frame_of[frame] = writer->n_frames;
	if (writer->function_of[function])
		return;
	writer->functions[writer->n_functions++] = function;
	writer->function_of[function] = writer->n_functions;
}

void firefox_find_frames(struct firefox_writer *writer, const struct group *group)
{
	for (size_t i = 0; i < writer->n_frames; i++)
		writer->frame_of[writer->frames[i]] = 0;
	for (size_t i = 0; i < writer->n_functions; i++)
		writer->function_of[writer->functions[i]] = 0;
	writer->n_frames = writer->n_functions = 0;
	for (uint32_t i = 0; i < group->n; i++) {
		struct group_stack stack = group_stack(&writer->groups, group, i);

		for (uint32_t k = 0; k < stack.n; k++)
			add_frame(writer, group_stack_frame(&stack, k),
				  group_stack_is_inlined(&stack, k));
	}
}

static const struct group_frame *function_at(const struct firefox_writer *writer, size_t i)
{
	return &writer->groups.frames[writer->functions[i]];
}

static const struct group_frame *frame_at(const struct firefox_writer *writer, size_t i)
{
	return &writer->groups.frames[writer->frames[i] / 2];
}

/* Tables */

static void write_lines(const struct firefox_writer *writer, const char *key)
{
	json_open(writer->json, key, '[');
	for (size_t i = 0; i < writer->n_frames; i++) {
		uint32_t line = frame_at(writer, i)->line;

		if (line)
			json_count(writer->json, NULL, line);
		else
			json_null(writer->json, NULL);
	}
	json_close(writer->json, ']');
}

static void write_frames(const struct firefox_writer *writer)
{
	struct json *json = writer->json;
	size_t n = writer->n_frames;

	json_open(json, "frameTable", '{');
	json_count(json, "length", n);
	firefox_write_same(json, "address", n, SAME_MINUS_ONE);
	json_open(json, "inlineDepth", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, writer->frames[i] % 2);
	json_close(json, ']');
	json_open(json, "category", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, firefox_category(writer, frame_at(writer, i)));
	json_close(json, ']');
	firefox_write_same(json, "subcategory", n, SAME_ZERO);
	json_open(json, "func", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, writer->function_of[writer->frames[i] / 2] - 1);
	json_close(json, ']');
	firefox_write_same(json, "nativeSymbol", n, SAME_NULL);
	firefox_write_same(json, "innerWindowID", n, SAME_NULL);
	firefox_write_same(json, "implementation", n, SAME_NULL);
	write_lines(writer, "line");
	firefox_write_same(json, "column", n, SAME_NULL);
	json_close(json, '}');
}

/* The thread's strings: names of functions, then of modules, then of source files. */
void firefox_write_strings(const struct firefox_writer *writer)
{
	const struct groups *groups = &writer->groups;

	json_open(writer->json, "stringArray", '[');
	for (size_t i = 0; i < writer->n_functions; i++)
		json_text(writer->json, NULL, groups_text(groups, function_at(writer, i)->name));
	for (size_t i = 0; i < writer->n_libs; i++)
		json_text(writer->json, NULL, groups_text(groups, writer->libs[i]));
	for (size_t i = 0; i < writer->n_functions; i++)
		if (function_at(writer, i)->file)
			json_text(writer->json, NULL,
				  groups_text(groups, function_at(writer, i)->file));
	json_close(writer->json, ']');
}

static void write_functions(const struct firefox_writer *writer)
{
	struct json *json = writer->json;
	size_t n = writer->n_functions, file = n + writer->n_libs;

	json_open(json, "funcTable", '{');
	json_count(json, "length", n);
	json_open(json, "name", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, i);
	json_close(json, ']');
	firefox_write_same(json, "isJS", n, SAME_FALSE);
	firefox_write_same(json, "relevantForJS", n, SAME_FALSE);
	json_open(json, "resource", '[');
	for (size_t i = 0; i < n; i++) {
		uint32_t module = function_at(writer, i)->module;

		json_number(json, NULL, module ? (double)writer->lib_of[module] - 1 : -1, 0);
	}
	json_close(json, ']');
	json_open(json, "fileName", '[');
	for (size_t i = 0; i < n; i++) {
		if (function_at(writer, i)->file)
			json_count(json, NULL, file++);
		else
			json_null(json, NULL);
	}
	json_close(json, ']');
	firefox_write_same(json, "lineNumber", n, SAME_NULL);
	firefox_write_same(json, "columnNumber", n, SAME_NULL);
	json_close(json, '}');
}

/* One per module of the profile. */
static void write_resources(const struct firefox_writer *writer)
{
	struct json *json = writer->json;
	size_t n = writer->n_libs;

	json_open(json, "resourceTable", '{');
	json_count(json, "length", n);
	json_open(json, "lib", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, i);
	json_close(json, ']');
	json_open(json, "name", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, writer->n_functions + i);
	json_close(json, ']');
	firefox_write_same(json, "host", n, SAME_NULL);
	firefox_write_same(json, "type", n, SAME_ONE); /* a library */
	json_close(json, '}');
}

void firefox_write_tables(const struct firefox_writer *writer)
{
	write_frames(writer);
	write_functions(writer);
	write_resources(writer);
}
