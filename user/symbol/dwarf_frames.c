/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/dwarf_frames.h"

#include <stdlib.h>

#include "base/array.h"
#include "symbol/dwarf_lines.h"
#include "symbol/dwarf_names.h"
#include "symbol/dwarf_scopes.h"

struct work {
	struct dwarf *dwarf;
	const struct lookups *lookups;
	struct strings *strings;
	struct dwarf_scopes scopes;
	uint32_t *names, *call_files; /* per scope */
	bool *wanted;
	struct dwarf_place *places; /* per lookup */
};

/* Marks the scopes whose names will be shown. */
static void mark_wanted(struct work *work)
{
	const struct dwarf_scope *scopes = work->scopes.scopes;

	for (size_t i = 0; i < work->lookups->n; i++) {
		uint32_t scope = work->scopes.innermost[i];

		for (; scope; scope = scopes[scope].parent)
			if (scopes[scope].parent || !work->lookups->names[i])
				work->wanted[scope] = true;
	}
}

int dwarf_frames_add(struct dwarf_frames *frames, struct dwarf_frame frame)
{
	if (frames->n_frames == UINT32_MAX)
		return -E2BIG;
	return array_add(frames->frames, frames->frames_capacity, frames->n_frames, frame);
}

/* Adds the frames of lookup @i: each function is at the place where its inner one is called. */
static int add_frames(const struct work *work, size_t i, struct dwarf_frames *frames)
{
	uint32_t file = work->places[i].file, line = work->places[i].line;
	uint32_t scope = work->scopes.innermost[i];
	int r = 0;

	frames->first[i] = frames->n_frames;
	if (!scope && file)
		r = dwarf_frames_add(frames, (struct dwarf_frame){0, file, line});
	if (r < 0)
		return r;
	for (; scope; scope = work->scopes.scopes[scope].parent) {
		const struct dwarf_scope *found = &work->scopes.scopes[scope];

		r = dwarf_frames_add(frames, (struct dwarf_frame){work->names[scope], file, line});
		if (r < 0)
			return r;
		file = work->call_files[scope];
		line = file ? found->call_line : 0;
	}
	frames->n[i] = frames->n_frames - frames->first[i];
	return 0;
}

static int fill(struct work *work, bool lines, struct dwarf_frames *ret, bool *damaged)
{
	struct dwarf_scopes *scopes = &work->scopes;
	size_t n = work->lookups->n;
	bool lines_damaged;
	int r;

	work->names = calloc(scopes->n_scopes, sizeof *work->names);
	work->call_files = calloc(scopes->n_scopes, sizeof *work->call_files);
	work->wanted = calloc(scopes->n_scopes, sizeof *work->wanted);
	work->places = calloc(n + 1, sizeof *work->places);
	ret->first = calloc(n + 1, sizeof *ret->first);
	ret->n = calloc(n + 1, sizeof *ret->n);
	if (!work->names || !work->call_files || !work->wanted || !work->places || !ret->first ||
	    !ret->n)
		return -ENOMEM;
	mark_wanted(work);
	r = dwarf_names_find(work->dwarf, scopes, work->wanted, work->strings, work->names);
	if (r < 0)
		return r;
	if (lines) {
		r = dwarf_lines_find(work->dwarf, work->lookups, scopes, work->strings,
				     work->places, work->call_files, &lines_damaged);
		if (r < 0)
			return r;
		*damaged |= lines_damaged;
	}
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_frames(work, i, ret);
	return r;
}

int dwarf_frames_find(struct dwarf *dwarf, const struct lookups *lookups, bool lines,
		      struct strings *strings, struct dwarf_frames *ret, bool *ret_damaged)
{
	struct work work = {.dwarf = dwarf, .lookups = lookups, .strings = strings};
	struct dwarf_frames frames = {};
	int r = dwarf_scopes_find(dwarf, lookups, &work.scopes, ret_damaged);

	if (r < 0)
		return r;
	r = fill(&work, lines, &frames, ret_damaged);
	if (r < 0)
		dwarf_frames_done(&frames);
	else
		*ret = frames;
	dwarf_scopes_done(&work.scopes);
	free(work.names);
	free(work.call_files);
	free(work.wanted);
	free(work.places);
	return r;
}

void dwarf_frames_done(struct dwarf_frames *frames)
{
	free(frames->frames);
	free(frames->first);
	free(frames->n);
	*frames = (struct dwarf_frames){};
}
