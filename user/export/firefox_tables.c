/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox_tables: a thread's frames and what they refer to. A frame is a function, called or
 * inlined: addresses and call lines are not distinguished here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/firefox.h"

enum category firefox_category(const struct firefox_writing *writing,
			       const struct group_frame *frame)
{
	switch (frame->kind) {
	case FRAME_USER:
	case FRAME_INLINED:
	case FRAME_RUNNING: return CATEGORY_USER;
	case FRAME_KERNEL: return CATEGORY_KERNEL;
	case FRAME_JIT: return CATEGORY_JIT;
	case FRAME_WAITING: return CATEGORY_WAITING;
	case FRAME_RUNNABLE: return CATEGORY_RUNNABLE;
	default:
		return strcmp(groups_text(&writing->groups, frame->name), "[idle]") == 0
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

int firefox_tables_init(struct firefox_writing *writing)
{
	const struct groups *groups = &writing->groups;
	size_t n = groups->n_frames + 1;

	writing->libs = calloc(n, sizeof *writing->libs);
	writing->lib_of = calloc(groups->stacks.strings.n_strings, sizeof *writing->lib_of);
	writing->functions = calloc(n, sizeof *writing->functions);
	writing->function_of = calloc(n, sizeof *writing->function_of);
	writing->frames = calloc(n, 2 * sizeof *writing->frames);
	writing->frame_of = calloc(n, 2 * sizeof *writing->frame_of);
	if (!writing->libs || !writing->lib_of || !writing->functions || !writing->function_of ||
	    !writing->frames || !writing->frame_of)
		return -ENOMEM;
	for (size_t i = 0; i < groups->n_frames; i++) {
		uint32_t module = groups->frames[i].module;

		if (!module || writing->lib_of[module])
			continue;
		writing->libs[writing->n_libs++] = module;
		writing->lib_of[module] = writing->n_libs;
	}
	return 0;
}

void firefox_tables_done(struct firefox_writing *writing)
{
	free(writing->libs);
	free(writing->lib_of);
	free(writing->functions);
	free(writing->function_of);
	free(writing->frames);
	free(writing->frame_of);
}

static void add_frame(struct firefox_writing *writing, uint32_t function, bool is_inlined)
{
	uint32_t frame = function * 2 + is_inlined;

	if (writing->frame_of[frame])
		return;
	writing->frames[writing->n_frames++] = frame;
	writing->frame_of[frame] = writing->n_frames;
	if (writing->function_of[function])
		return;
	writing->functions[writing->n_functions++] = function;
	writing->function_of[function] = writing->n_functions;
}

void firefox_find_frames(struct firefox_writing *writing, const struct group *group)
{
	for (size_t i = 0; i < writing->n_frames; i++)
		writing->frame_of[writing->frames[i]] = 0;
	for (size_t i = 0; i < writing->n_functions; i++)
		writing->function_of[writing->functions[i]] = 0;
	writing->n_frames = writing->n_functions = 0;
	for (uint32_t i = 0; i < group->n; i++) {
		struct group_stack stack = group_stack(&writing->groups, group, i);

		for (uint32_t k = 0; k < stack.n; k++)
			add_frame(writing, group_stack_frame(&stack, k),
				  group_stack_is_inlined(&stack, k));
	}
}

static const struct group_frame *function_at(const struct firefox_writing *writing, size_t i)
{
	return &writing->groups.frames[writing->functions[i]];
}

static const struct group_frame *frame_at(const struct firefox_writing *writing, size_t i)
{
	return &writing->groups.frames[writing->frames[i] / 2];
}

/* Tables */

static void write_lines(const struct firefox_writing *writing, const char *key)
{
	json_open(writing->json, key, '[');
	for (size_t i = 0; i < writing->n_frames; i++) {
		uint32_t line = frame_at(writing, i)->line;

		if (line)
			json_count(writing->json, NULL, line);
		else
			json_null(writing->json, NULL);
	}
	json_close(writing->json, ']');
}

static void write_frames(const struct firefox_writing *writing)
{
	struct json *json = writing->json;
	size_t n = writing->n_frames;

	json_open(json, "frameTable", '{');
	json_count(json, "length", n);
	firefox_write_same(json, "address", n, SAME_MINUS_ONE);
	json_open(json, "inlineDepth", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, writing->frames[i] % 2);
	json_close(json, ']');
	json_open(json, "category", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, firefox_category(writing, frame_at(writing, i)));
	json_close(json, ']');
	firefox_write_same(json, "subcategory", n, SAME_ZERO);
	json_open(json, "func", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, writing->function_of[writing->frames[i] / 2] - 1);
	json_close(json, ']');
	firefox_write_same(json, "nativeSymbol", n, SAME_NULL);
	firefox_write_same(json, "innerWindowID", n, SAME_NULL);
	firefox_write_same(json, "implementation", n, SAME_NULL);
	write_lines(writing, "line");
	firefox_write_same(json, "column", n, SAME_NULL);
	json_close(json, '}');
}

/* The thread's strings: names of functions, then of modules, then of source files. */
void firefox_write_strings(const struct firefox_writing *writing)
{
	const struct groups *groups = &writing->groups;

	json_open(writing->json, "stringArray", '[');
	for (size_t i = 0; i < writing->n_functions; i++)
		json_text(writing->json, NULL, groups_text(groups, function_at(writing, i)->name));
	for (size_t i = 0; i < writing->n_libs; i++)
		json_text(writing->json, NULL, groups_text(groups, writing->libs[i]));
	for (size_t i = 0; i < writing->n_functions; i++)
		if (function_at(writing, i)->file)
			json_text(writing->json, NULL,
				  groups_text(groups, function_at(writing, i)->file));
	json_close(writing->json, ']');
}

static void write_functions(const struct firefox_writing *writing)
{
	struct json *json = writing->json;
	size_t n = writing->n_functions, file = n + writing->n_libs;

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
		uint32_t module = function_at(writing, i)->module;

		json_number(json, NULL, module ? (double)writing->lib_of[module] - 1 : -1, 0);
	}
	json_close(json, ']');
	json_open(json, "fileName", '[');
	for (size_t i = 0; i < n; i++) {
		if (function_at(writing, i)->file)
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
static void write_resources(const struct firefox_writing *writing)
{
	struct json *json = writing->json;
	size_t n = writing->n_libs;

	json_open(json, "resourceTable", '{');
	json_count(json, "length", n);
	json_open(json, "lib", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, i);
	json_close(json, ']');
	json_open(json, "name", '[');
	for (size_t i = 0; i < n; i++)
		json_count(json, NULL, writing->n_functions + i);
	json_close(json, ']');
	firefox_write_same(json, "host", n, SAME_NULL);
	firefox_write_same(json, "type", n, SAME_ONE); /* a library */
	json_close(json, '}');
}

void firefox_write_tables(const struct firefox_writing *writing)
{
	write_frames(writing);
	write_functions(writing);
	write_resources(writing);
}
