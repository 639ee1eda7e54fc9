/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/frame_programs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

void frame_programs_init(struct frame_programs *programs, int texts_fd, int runtimes_fd)
{
	*programs = (struct frame_programs){.texts_fd = texts_fd, .runtimes_fd = runtimes_fd};
}

void frame_programs_done(struct frame_programs *programs)
{
	free(programs->items);
	free(programs->problem);
	*programs = (struct frame_programs){};
}

/* Gives BPF the text. Returns the entry's number, 0 if it can't have it. */
static uint32_t install(struct frame_programs *programs, const struct runtime_facts *facts,
			enum bf_hook hook, const struct bf_text *text)
{
	uint32_t number = programs->n + 1;
	struct bf_runtime runtime = {.text = number, .hook = hook, .owner = facts->runtime};

	if (number >= BF_MAX_TEXTS || number >= BF_MAX_RUNTIMES ||
	    bpf_map_update_elem(programs->texts_fd, &number, text, BPF_ANY) < 0 ||
	    bpf_map_update_elem(programs->runtimes_fd, &number, &runtime, BPF_ANY) < 0) {
		programs->n_refused++;
		return 0;
	}
	return number;
}

static int note_problem(struct frame_programs *programs, const struct runtime_facts *facts,
			uint32_t pid, const char *path)
{
	char name[64];

	if (programs->n_problems++)
		return 0;
	runtime_name(facts, name, sizeof name);
	if (asprintf(&programs->problem, "%s (%s, process %" PRIu32 "): %s", name, path, pid,
		     facts->problem ? runtime_problem_text(facts) : "no room for one more") < 0) {
		programs->problem = NULL;
		return -ENOMEM;
	}
	return 0;
}

int frame_programs_number(struct frame_programs *programs, const struct runtime_facts *facts,
			  enum bf_hook hook, uint32_t pid, const char *path, uint32_t *ret)
{
	struct bf_text text;
	int r, written;

	for (size_t i = 0; i < programs->n; i++)
		if (programs->items[i].hook == hook &&
		    memcmp(&programs->items[i].facts, facts, sizeof *facts) == 0) {
			*ret = programs->items[i].number;
			return 0;
		}
	*ret = 0;
	written = runtime_write(facts, hook, &text);
	if (written == -ENOENT)
		return 0;
	if (programs->n >= BF_MAX_RUNTIMES) { /* processes say what they like of themselves */
		programs->n_refused++;
		return 0;
	}
	r = array_reserve(programs->items, programs->capacity, programs->n, 1);
	if (r < 0)
		return r;
	if (!facts->problem && written == 0)
		*ret = install(programs, facts, hook, &text);
	programs->items[programs->n++] = (struct frame_program){*facts, hook, *ret};
	return *ret ? 0 : note_problem(programs, facts, pid, path);
}
