/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/go_names.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/go_open.h"
#include "symbol/demangle.h"

#define MAX_DEPTH 256 /* functions inlined into each other: beyond what compilers do */

struct go_names {
	struct go_table table;
	bool lines;
	struct strings *strings;
	struct dwarf_frames frames;
	bool damaged;
	char text[PATH_MAX > SYMBOL_NAME_MAX ? PATH_MAX : SYMBOL_NAME_MAX + 1];
};

/* A damaged table names nothing, and is no error. */
static int forgive(struct go_names *names, int r)
{
	if (r == -ENOMEM || r == -E2BIG)
		return r;
	names->damaged |= r < 0 && r != -ENOENT;
	return 0;
}

/*
 * Types in brackets give way to `...`, as in Go's tracebacks (funcNameForPrint() in its sources):
 * of what was not inlined, the linker has left them out already.
 */
static void leave_types_out(char *name)
{
	static const char dots[] = "[...]";
	char *from = strchr(name, '['), *to = from ? strrchr(from, ']') : NULL;

	if (!to)
		return;
	memmove(from + strlen(dots), to + 1, strlen(to + 1) + 1);
	memcpy(from, dots, strlen(dots));
}

/* The string id of the name at @name; 0: it has none. */
static int find_name(struct go_names *names, int32_t name, uint32_t *ret)
{
	int r = go_table_name(&names->table, name, names->text, sizeof names->text - 3);

	*ret = 0;
	if (r < 0)
		return forgive(names, r);
	leave_types_out(names->text);
	return strings_add(names->strings, names->text, ret);
}

static int find_line(struct go_names *names, const struct go_function *function, uint64_t at,
		     struct dwarf_frame *ret)
{
	struct go_table *table = &names->table;
	int32_t file, line;
	int r = go_values_find(table, function, function->files, at, &file);

	if (r < 0)
		return forgive(names, r);
	r = go_table_path(table, function, file, names->text, sizeof names->text);
	if (r < 0)
		return forgive(names, r);
	r = go_values_find(table, function, function->lines, at, &line);
	if (r < 0)
		return forgive(names, r);
	ret->line = line > 0 ? line : 0;
	return strings_add(names->strings, names->text, &ret->file);
}

/* The function inlined at @at, if any: see *@ret_is. */
static int find_inlined(struct go_names *names, const struct go_function *function, uint64_t at,
			struct go_inlined *ret, bool *ret_is)
{
	int32_t number = -1;
	int r = 0;

	*ret_is = false;
	if (!function->tree)
		return 0;
	r = go_values_find(&names->table, function, function->inlined, at, &number);
	if (r == 0 && number >= 0) {
		r = go_table_inlined(&names->table, function, number, ret);
		*ret_is = r == 0;
	}
	return forgive(names, r);
}

static int add_frame(struct go_names *names, const struct go_function *function, uint64_t at,
		     uint32_t name)
{
	struct dwarf_frame frame = {.function = name};
	int r = names->lines ? find_line(names, function, at, &frame) : 0;

	if (r < 0)
		return r;
	return dwarf_frames_add(&names->frames, frame);
}

/* The frames at @at in @function, whose name is @outermost: each is where the one before is called.
 */
static int add_frames(struct go_names *names, const struct go_function *function, uint64_t at,
		      uint32_t outermost)
{
	bool is_inlined = true;
	int r = 0;

	for (size_t depth = 0; is_inlined; depth++) {
		struct go_inlined inlined = {};
		uint32_t name = outermost;

		is_inlined = false;
		if (depth < MAX_DEPTH)
			r = find_inlined(names, function, at, &inlined, &is_inlined);
		if (r < 0)
			return r;
		if (is_inlined)
			r = find_name(names, inlined.name, &name);
		if (r < 0)
			return r;
		r = add_frame(names, function, at, name);
		if (r < 0)
			return r;
		at = function->start + inlined.called_at;
	}
	return 0;
}

static int name_address(struct go_names *names, uint64_t address, uint32_t *ret_name)
{
	struct go_function function;
	uint32_t name;
	int r = go_table_find(&names->table, address, &function);

	if (r < 0)
		return forgive(names, r);
	r = find_name(names, function.name, &name);
	if (r < 0 || !name)
		return r;
	*ret_name = name;
	return add_frames(names, &function, address, name);
}

static int name_all(struct go_names *names, const struct lookups *lookups)
{
	struct dwarf_frames *frames = &names->frames;
	int r;

	frames->first = calloc(lookups->n + 1, sizeof *frames->first);
	frames->n = calloc(lookups->n + 1, sizeof *frames->n);
	if (!frames->first || !frames->n)
		return -ENOMEM;
	for (size_t i = 0; i < lookups->n; i++) {
		frames->first[i] = frames->n_frames;
		r = name_address(names, lookups->addresses[i], &lookups->names[i]);
		if (r < 0)
			return r;
		frames->n[i] = frames->n_frames - frames->first[i];
	}
	return 0;
}

int go_names_find(struct elf_file *file, const struct lookups *lookups, bool lines,
		  struct strings *strings, struct dwarf_frames *ret, bool *ret_damaged)
{
	struct go_names names = {.lines = lines, .strings = strings};
	int r = go_table_open(&names.table, file);

	if (r < 0) {
		*ret_damaged |= r == -ENOEXEC;
		return r == -ENOMEM ? r : -ENOENT;
	}
	r = name_all(&names, lookups);
	*ret_damaged |= names.damaged;
	go_table_done(&names.table);
	if (r < 0)
		dwarf_frames_done(&names.frames);
	else
		*ret = names.frames;
	return r;
}
