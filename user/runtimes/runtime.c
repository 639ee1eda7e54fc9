/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtimes/runtime.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

// clang-format off
static const struct runtime *const runtimes[] = {
	&runtime_cpython,
	&runtime_ruby,
	&runtime_php,
	&runtime_hotspot,
	&runtime_v8,
	&runtime_perl,
	&runtime_beam,
	&runtime_luajit,
	&runtime_dotnet,
	&runtime_pcre2,
};
// clang-format on
#define N_RUNTIMES (sizeof runtimes / sizeof *runtimes)

_Static_assert(N_RUNTIMES < RUNTIME_ROWS && RUNTIME_ROWS <= BF_FRAME_OWNERS, "numbers");

static const struct runtime *runtime_of(const struct runtime_facts *facts)
{
	return runtimes[facts->runtime - 1];
}

int runtime_examine(struct elf_file *elf, struct runtime_facts *ret)
{
	for (uint32_t i = 0; i < N_RUNTIMES; i++) {
		int r;

		*ret = (struct runtime_facts){.runtime = i + 1};
		r = runtimes[i]->examine(elf, ret);
		if (r < 0)
			return r;
		if (!ret->runtime)
			continue;
		if (!runtime_is_sound(ret))
			ret->problem = RUNTIME_BUILD;
		return 0;
	}
	return 0;
}

int runtime_complete(struct runtime_facts *facts, const struct runtime_memory *memory)
{
	bool wants_more = facts->is_partial || facts->is_early;
	int r = wants_more ? runtime_of(facts)->complete(facts, memory) : 0;

	if (r < 0)
		return r;
	if (!runtime_is_sound(facts))
		facts->problem = RUNTIME_LAYOUT;
	return 0;
}

bool runtime_is_sound(const struct runtime_facts *facts)
{
	if (!facts->runtime || facts->runtime > N_RUNTIMES || facts->version > UINT16_MAX ||
	    facts->problem >= N_RUNTIME_PROBLEMS)
		return false;
	if ((facts->is_partial || facts->is_early) && !runtime_of(facts)->complete)
		return false;
	return facts->problem != RUNTIME_FINE || runtime_of(facts)->is_sound(facts);
}

void runtime_name(const struct runtime_facts *facts, char *to, size_t size)
{
	const struct runtime *runtime = runtime_of(facts);
	int n = snprintf(to, size, "%s %" PRIu32, runtime->name, facts->version >> 8);

	if (!runtime->has_one_number && n > 0 && (size_t)n < size)
		snprintf(to + n, size - n, ".%" PRIu32, facts->version & 255);
}

const char *runtime_problem_text(const struct runtime_facts *facts)
{
	static const char *const texts[N_RUNTIME_PROBLEMS] = {
		[RUNTIME_FINE] = "",
		[RUNTIME_VERSION] = "this version is not known",
		[RUNTIME_BUILD] = "this kind of build is not known",
		[RUNTIME_LAYOUT] = "what it says of its structures makes no sense",
	};

	return texts[facts->problem];
}

/* Whether somebody has looked at their offsets. */
static bool is_usable(const struct runtime_facts *facts)
{
	return !facts->is_partial && facts->problem == RUNTIME_FINE;
}

bool runtime_has_ranges(const struct runtime_facts *facts)
{
	return runtime_of(facts)->write_range && facts->problem == RUNTIME_FINE;
}

bool runtime_has_only_ranges(const struct runtime_facts *facts)
{
	return !runtime_of(facts)->write_chain;
}

bool runtime_moves_objects(const struct runtime_facts *facts)
{
	return runtime_of(facts)->moves_objects;
}

bool runtime_has_late_anchors(const struct runtime_facts *facts, uint32_t *ret_function)
{
	*ret_function = runtime_of(facts)->function_kind;
	return runtime_of(facts)->has_late_anchors;
}

bool runtime_gives_way(const struct runtime_facts *facts)
{
	return runtime_of(facts)->gives_way;
}

int runtime_write(const struct runtime_facts *facts, enum bf_hook hook, struct bf_text *ret)
{
	const struct runtime *runtime = runtime_of(facts);
	int (*write)(const struct runtime_facts *facts, struct bf_text *ret) =
		hook == BF_HOOK_RANGE ? runtime->write_range : runtime->write_chain;

	if (!write)
		return -ENOENT;
	return is_usable(facts) ? write(facts, ret) : -EINVAL;
}

/* Limits what is read for one frame: its memory may be anything. */
#define MOST_READS 1024 /* of 4096 bytes */

struct limited_memory {
	const struct runtime_memory *memory;
	uint32_t left;
};

static int read_limited(void *context, const struct runtime_piece *pieces, size_t n)
{
	struct limited_memory *limited = context;
	uint32_t cost = 1;

	for (size_t i = 0; i < n; i++)
		cost += pieces[i].n / 4096;
	if (cost > limited->left)
		return -E2BIG;
	limited->left -= cost;
	return limited->memory->read(limited->memory->context, pieces, n);
}

int runtime_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		     const struct runtime_frame *frame, struct runtime_code *ret)
{
	struct limited_memory limited = {memory, MOST_READS};
	const struct runtime_memory reading = {read_limited, &limited, memory->bias};
	int r;

	*ret = (struct runtime_code){};
	if (!is_usable(facts))
		return -EINVAL;
	r = runtime_of(facts)->describe(facts, &reading, frame, ret);
	if (r < 0)
		return r;
	if (!*ret->name) {
		runtime_code_done(ret);
		return -ESTALE;
	}
	return 0;
}

void runtime_code_done(struct runtime_code *code)
{
	free(code->lines);
	runtime_inlined_free(code->inlined, code->n_inlined);
	*code = (struct runtime_code){};
}

void runtime_inlined_free(struct runtime_inlined *inlined, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		free(inlined[i].name);
		free(inlined[i].file);
	}
	free(inlined);
}

uint32_t runtime_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		      uint32_t first_line, uint32_t detail)
{
	const struct runtime *runtime = runtime_of(facts);

	if (!lines)
		return 0;
	if (runtime->line)
		return runtime->line(facts, lines, n_lines, first_line, detail);
	return detail > INT32_MAX ? 0 : detail;
}

void runtime_nameless(const struct runtime_facts *facts, uint32_t check, char *to, size_t size)
{
	snprintf(to, size, "[%s 0x%" PRIx32 "]", facts ? runtime_of(facts)->language : "runtime",
		 check);
}
