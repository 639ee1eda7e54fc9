/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/ledger_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/ledger_offsets.h"

#define LEAST_APART 512 /* bytes: what is smaller is packed with what follows */

static void put_bytes(struct ledger_bytes *to, const void *bytes, size_t n)
{
	if (to->error == 0)
		to->error = array_reserve(to->bytes, to->capacity, to->n, n);
	if (to->error == 0 && to->n + n > LEDGER_MAX_BYTES)
		to->error = -E2BIG;
	if (to->error < 0)
		return;
	memcpy(to->bytes + to->n, bytes, n);
	to->n += n;
}

/* Seven bits a byte, lowest first; the last byte has no high bit. */
static void put(struct ledger_bytes *to, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = value | 0x80;
	bytes[n++] = value;
	put_bytes(to, bytes, n);
}

/* What follows is of another kind. */
static void cut(struct ledger_bytes *to)
{
	size_t last = to->n_cuts ? to->cuts[to->n_cuts - 1] : 0;

	if (to->n - last >= LEAST_APART && to->n_cuts < LEDGER_MAX_CUTS)
		to->cuts[to->n_cuts++] = to->n;
}

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static int compare_rows(const void *left, const void *right)
{
	const struct ledger_row *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->reason != b->reason)
		return a->reason < b->reason ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	if (a->is_idle != b->is_idle)
		return a->is_idle < b->is_idle ? -1 : 1;
	return (a->process > b->process) - (a->process < b->process);
}

static void put_window(struct ledger_bytes *to, const struct store_window *window)
{
	const uint64_t fields[LEDGER_FIELDS] = {
		window->start,	    window->span, window->covered, window->boot,   window->windows,
		window->millihertz, window->lost, window->own_ns,  window->effort, window->gap};

	put(to, LEDGER_FIELDS);
	for (size_t i = 0; i < LEDGER_FIELDS; i++)
		put(to, fields[i]);
}

/* Which items of a dictionary follow. */
static void put_span(struct ledger_bytes *to, size_t first, size_t end)
{
	put(to, first);
	put(to, end - first);
}

/* A column: what @value says of item i, from @first on. */
#define PUT_COLUMN(to, i, first, end, value)                                                       \
	do {                                                                                       \
		for (size_t i = (first); i < (end); i++)                                           \
			put(to, value);                                                            \
	} while (0)

/* Each as the difference from the one before. */
#define PUT_STEPS(to, i, first, end, value)                                                        \
	do {                                                                                       \
		int64_t _before = 0;                                                               \
		for (size_t i = (first); i < (end); i++) {                                         \
			int64_t _value = (value);                                                  \
			put(to, zigzag(_value - _before));                                         \
			_before = _value;                                                          \
		}                                                                                  \
	} while (0)

/* Those that are an offset have the length 0. */
static void put_strings(struct ledger_bytes *to, const struct ledger *ledger, size_t first)
{
	const struct strings *strings = &ledger->strings;
	size_t n = strings->n_strings - first;
	struct ledger_offset *offsets;
	int r = ledger_offsets_find(ledger, first, &offsets);

	if (r < 0) {
		to->error = to->error < 0 ? to->error : r;
		return;
	}
	put_span(to, first, strings->n_strings);
	PUT_COLUMN(to, i, 0, n, offsets[i].path ? 0 : strings_length(strings, first + i));
	for (size_t i = 0; i < n; i++)
		if (offsets[i].path)
			put(to, offsets[i].path);
	for (size_t i = 0; i < n; i++)
		if (offsets[i].path)
			put(to, offsets[i].offset >> 16);
	cut(to);
	for (size_t i = 0; i < n; i++)
		if (offsets[i].path)
			put_bytes(to, (uint8_t[]){offsets[i].offset, offsets[i].offset >> 8}, 2);
	cut(to);
	for (size_t i = 0; i < n; i++)
		if (!offsets[i].path)
			put_bytes(to, strings_get(strings, first + i),
				  strings_length(strings, first + i));
	free(offsets);
}

static void put_frames(struct ledger_bytes *to, const struct ledger *ledger, size_t first)
{
	const struct ledger_frame *frames = ledger->frames;
	size_t end = ledger->n_frames;

	put_span(to, first, end);
	PUT_COLUMN(to, i, first, end, frames[i].kind);
	PUT_COLUMN(to, i, first, end, frames[i].module);
	PUT_STEPS(to, i, first, end, frames[i].function);
	PUT_STEPS(to, i, first, end, frames[i].file);
	PUT_COLUMN(to, i, first, end, frames[i].line);
}

static void put_nodes(struct ledger_bytes *to, const struct ledger *ledger, size_t first)
{
	put_span(to, first, ledger->n_nodes);
	PUT_COLUMN(to, i, first, ledger->n_nodes, i - ledger->nodes[i].parent);
	cut(to);
	PUT_STEPS(to, i, first, ledger->n_nodes, ledger->nodes[i].frame);
}

/* Processes that are alike but for their pid and start, by the first one of each kind. */
struct process_kinds {
	uint32_t *firsts;
	size_t n, capacity;
	const struct ledger_process *processes;
	struct table index;
};

static bool kind_equal(const void *items, uint32_t position, const void *key)
{
	const struct process_kinds *kinds = items;
	const struct ledger_process *a = &kinds->processes[kinds->firsts[position]], *b = key;

	return a->comm == b->comm && a->exe == b->exe && a->cgroup == b->cgroup;
}

static uint32_t find_kind(struct process_kinds *kinds, uint32_t process, int *error)
{
	const struct ledger_process *key = &kinds->processes[process];
	uint64_t hash = hash_mix(hash_mix(key->comm, key->exe), key->cgroup);
	uint32_t at = table_find(&kinds->index, hash, kind_equal, kinds, key);

	if (at != TABLE_NONE || *error < 0)
		return at;
	*error = array_reserve(kinds->firsts, kinds->capacity, kinds->n, 1);
	if (*error == 0)
		*error = table_add(&kinds->index, hash, kinds->n);
	if (*error == 0)
		kinds->firsts[kinds->n++] = process;
	return kinds->n - 1;
}

static void put_processes(struct ledger_bytes *to, const struct ledger *ledger, size_t first)
{
	const struct ledger_process *processes = ledger->processes;
	struct process_kinds kinds = {.processes = processes};
	size_t end = ledger->n_processes;

	put_span(to, first, end);
	PUT_STEPS(to, i, first, end, processes[i].pid);
	cut(to);
	PUT_STEPS(to, i, first, end, processes[i].start / LEDGER_START_UNIT);
	cut(to);
	PUT_COLUMN(to, i, first, end, find_kind(&kinds, i, &to->error));
	PUT_COLUMN(to, i, 0, kinds.n, processes[kinds.firsts[i]].comm);
	PUT_COLUMN(to, i, 0, kinds.n, processes[kinds.firsts[i]].exe);
	PUT_COLUMN(to, i, 0, kinds.n, processes[kinds.firsts[i]].cgroup);
	free(kinds.firsts);
	table_done(&kinds.index);
}

static void put_dictionaries(struct ledger_bytes *to, const struct ledger *ledger,
			     const struct ledger_marks *marks)
{
	put_strings(to, ledger, marks->strings);
	cut(to);
	put_span(to, marks->modules, ledger->n_modules);
	PUT_COLUMN(to, i, marks->modules, ledger->n_modules, ledger->modules[i].kind);
	PUT_COLUMN(to, i, marks->modules, ledger->n_modules, ledger->modules[i].path);
	PUT_COLUMN(to, i, marks->modules, ledger->n_modules, ledger->modules[i].build_id);
	put_frames(to, ledger, marks->frames);
	cut(to);
	put_nodes(to, ledger, marks->nodes);
	cut(to);
	put_processes(to, ledger, marks->processes);
	cut(to);
}

static void put_rows(struct ledger_bytes *to, const struct ledger *ledger)
{
	const struct ledger_row *rows = ledger->rows;
	uint32_t before = 0;

	put(to, ledger->n_rows);
	for (size_t i = 0; i < ledger->n_rows; before = rows[i++].node)
		put(to, rows[i].node - before);
	cut(to);
	PUT_STEPS(to, i, 0, ledger->n_rows, rows[i].process);
	cut(to);
	for (size_t i = 0; i < ledger->n_rows; i++)
		put_bytes(to, &(uint8_t){rows[i].reason | (rows[i].is_idle ? LEDGER_IDLE : 0)}, 1);
	for (size_t i = 0; i < ledger->n_rows; i++)
		put_bytes(to, &rows[i].end, 1);
	cut(to);
	for (size_t i = 0; i < ledger->n_rows; i++)
		put(to, rows[i].count);
	cut(to);
	for (size_t i = 0; i < ledger->n_rows; i++)
		put(to, rows[i].microseconds);
}

int ledger_encode(struct ledger *ledger, const struct store_window *window,
		  struct ledger_marks *marks, struct ledger_bytes *ret)
{
	struct ledger_bytes to = {};

	if (ledger->n_rows)
		qsort(ledger->rows, ledger->n_rows, sizeof *ledger->rows, compare_rows);
	table_done(&ledger->row_index); /* they are not where it says any more */
	put_window(&to, window);
	put_dictionaries(&to, ledger, marks);
	put_rows(&to, ledger);
	if (to.error < 0) {
		free(to.bytes);
		return to.error;
	}
	*marks = (struct ledger_marks){ledger->strings.n_strings, ledger->n_modules,
				       ledger->n_frames, ledger->n_nodes, ledger->n_processes};
	*ret = to;
	return 0;
}
