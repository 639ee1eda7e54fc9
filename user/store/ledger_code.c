/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/ledger_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define N_FIELDS   10 /* of a window */
#define IDLE	   0x80
#define MAX_MOMENT (1ULL << 62) /* so that sums of two do not wrap */

/* Writing */

struct ledger_bytes {
	uint8_t *bytes;
	size_t n, capacity;
	int error; /* sticky */
};

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

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static int compare_rows(const void *left, const void *right)
{
	const struct ledger_row *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->reason != b->reason)
		return a->reason < b->reason ? -1 : 1;
	return (a->end > b->end) - (a->end < b->end);
}

static void put_window(struct ledger_bytes *to, const struct store_window *window)
{
	const uint64_t fields[N_FIELDS] = {
		window->start,	    window->span, window->covered, window->boot,   window->windows,
		window->millihertz, window->lost, window->own_ns,  window->effort, window->gap};

	put(to, N_FIELDS);
	for (size_t i = 0; i < N_FIELDS; i++)
		put(to, fields[i]);
}

static void put_dictionaries(struct ledger_bytes *to, const struct ledger *ledger,
			     const struct ledger_marks *marks)
{
	const struct strings *strings = &ledger->strings;

	put(to, strings->n_strings - marks->strings);
	for (size_t i = marks->strings; i < strings->n_strings; i++) {
		put(to, strings_length(strings, i));
		put_bytes(to, strings_get(strings, i), strings_length(strings, i));
	}
	put(to, ledger->n_modules - marks->modules);
	for (size_t i = marks->modules; i < ledger->n_modules; i++) {
		put(to, ledger->modules[i].kind);
		put(to, ledger->modules[i].path);
		put(to, ledger->modules[i].build_id);
	}
	put(to, ledger->n_frames - marks->frames);
	for (size_t i = marks->frames; i < ledger->n_frames; i++) {
		const struct ledger_frame *frame = &ledger->frames[i];

		put(to, frame->kind);
		put(to, frame->module);
		put(to, frame->function);
		put(to, frame->file);
		put(to, frame->line);
	}
	put(to, ledger->n_nodes - marks->nodes);
	for (size_t i = marks->nodes; i < ledger->n_nodes; i++) {
		put(to, i - ledger->nodes[i].parent);
		put(to, ledger->nodes[i].frame);
	}
	put(to, ledger->n_processes - marks->processes);
	for (size_t i = marks->processes; i < ledger->n_processes; i++) {
		const struct ledger_process *process = &ledger->processes[i];

		put(to, process->pid);
		put(to, process->start);
		put(to, process->comm);
		put(to, process->exe);
		put(to, process->cgroup);
	}
}

static void put_rows(struct ledger_bytes *to, const struct ledger *ledger)
{
	const struct ledger_row *rows = ledger->rows;
	uint32_t before = 0;

	put(to, ledger->n_rows);
	for (size_t i = 0; i < ledger->n_rows; before = rows[i++].process)
		put(to, rows[i].process - before);
	before = 0;
	for (size_t i = 0; i < ledger->n_rows; before = rows[i++].node)
		put(to, zigzag((int64_t)rows[i].node - before));
	for (size_t i = 0; i < ledger->n_rows; i++)
		put_bytes(to, &(uint8_t){rows[i].reason | (rows[i].is_idle ? IDLE : 0)}, 1);
	for (size_t i = 0; i < ledger->n_rows; i++)
		put_bytes(to, &rows[i].end, 1);
	for (size_t i = 0; i < ledger->n_rows; i++)
		put(to, rows[i].count);
	for (size_t i = 0; i < ledger->n_rows; i++)
		put(to, rows[i].microseconds);
}

int ledger_encode(struct ledger *ledger, const struct store_window *window,
		  struct ledger_marks *marks, uint8_t **ret, size_t *ret_n)
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
	*ret = to.bytes;
	*ret_n = to.n;
	return 0;
}

/* Reading */

struct ledger_reading {
	const uint8_t *at, *end;
	struct ledger *ledger;
	int error; /* sticky */
};

static void refuse(struct ledger_reading *from)
{
	if (from->error == 0)
		from->error = -EBADMSG;
	from->at = from->end;
}

static uint64_t get(struct ledger_reading *from)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (from->at == from->end)
			break;
		byte = *from->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	refuse(from);
	return 0;
}

/* A number below @limit. */
static uint32_t get_below(struct ledger_reading *from, uint64_t limit)
{
	uint64_t value = get(from);

	if (value >= limit) {
		refuse(from);
		return 0;
	}
	return value;
}

/* How many items follow, of at least @least bytes each. */
static size_t get_count(struct ledger_reading *from, size_t least)
{
	uint64_t n = get(from);

	if (n > (size_t)(from->end - from->at) / least) {
		refuse(from);
		return 0;
	}
	return n;
}

static uint32_t get_string(struct ledger_reading *from)
{
	return get_below(from, from->ledger->strings.n_strings);
}

/* Whether there is room for @n more items, and they can be numbered. */
#define MAKE_ROOM(from, items, n)                                                                  \
	({                                                                                         \
		struct ledger *_ledger = (from)->ledger;                                           \
		if ((from)->error == 0 && _ledger->n_##items + (n) >= TABLE_NONE)                  \
			refuse(from);                                                              \
		if ((from)->error == 0)                                                            \
			(from)->error = array_reserve(_ledger->items, _ledger->items##_capacity,   \
						      _ledger->n_##items, n);                      \
		(from)->error == 0;                                                                \
	})

static void get_strings(struct ledger_reading *from)
{
	struct strings *strings = &from->ledger->strings;
	size_t n = get_count(from, 2);

	while (n-- > 0 && from->error == 0) {
		size_t length = get_count(from, 1);
		uint32_t expected = strings->n_strings, id = 0;
		const char *text = (const char *)from->at;

		if (!length || memchr(text, 0, length)) {
			refuse(from);
			return;
		}
		from->error = strings_add_bytes(strings, text, length, &id);
		from->at += length;
		if (from->error == 0 && id != expected)
			refuse(from);
	}
}

static void get_modules(struct ledger_reading *from)
{
	struct ledger *ledger = from->ledger;
	size_t n = get_count(from, 3);

	if (!MAKE_ROOM(from, modules, n))
		return;
	while (n-- > 0) {
		struct ledger_module module = {.kind = get_below(from, N_MAPPING_KINDS)};

		module.path = get_string(from);
		module.build_id = get_string(from);
		ledger->modules[ledger->n_modules++] = module;
	}
}

static void get_frames(struct ledger_reading *from)
{
	struct ledger *ledger = from->ledger;
	size_t n = get_count(from, 5);

	if (!MAKE_ROOM(from, frames, n))
		return;
	while (n-- > 0) {
		struct ledger_frame frame = {.kind = get_below(from, N_FRAME_KINDS)};

		frame.module = get_below(from, ledger->n_modules);
		frame.function = get_string(from);
		frame.file = get_string(from);
		frame.line = get_below(from, 1ULL << 32);
		ledger->frames[ledger->n_frames++] = frame;
	}
}

static void get_nodes(struct ledger_reading *from)
{
	struct ledger *ledger = from->ledger;
	size_t n = get_count(from, 2);

	if (!MAKE_ROOM(from, nodes, n))
		return;
	while (n-- > 0) {
		uint32_t back = get_below(from, ledger->n_nodes + 1);
		struct ledger_node node = {.parent = ledger->n_nodes - back,
					   .frame = get_below(from, ledger->n_frames)};

		if (!back || from->error < 0)
			return refuse(from);
		ledger->nodes[ledger->n_nodes++] = node;
	}
}

static void get_processes(struct ledger_reading *from)
{
	struct ledger *ledger = from->ledger;
	size_t n = get_count(from, 5);

	if (!MAKE_ROOM(from, processes, n))
		return;
	while (n-- > 0) {
		struct ledger_process process = {.pid = get_below(from, 1ULL << 32)};

		process.start = get(from);
		process.comm = get_string(from);
		process.exe = get_string(from);
		process.cgroup = get_string(from);
		ledger->processes[ledger->n_processes++] = process;
	}
}

static void get_rows(struct ledger_reading *from)
{
	struct ledger *ledger = from->ledger;
	struct ledger_row *rows;
	uint64_t value = 0;
	size_t n = get_count(from, 6);

	ledger->n_rows = 0;
	if (!MAKE_ROOM(from, rows, n) || !n)
		return;
	rows = ledger->rows;
	memset(rows, 0, n * sizeof *rows);
	for (size_t i = 0; i < n; i++) {
		value += get_below(from, ledger->n_processes);
		if (value >= ledger->n_processes)
			return refuse(from);
		rows[i].process = value;
	}
	value = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t step = get(from);

		value += (step >> 1) ^ -(step & 1);
		if (value >= ledger->n_nodes)
			return refuse(from);
		rows[i].node = value;
	}
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = from->at < from->end ? *from->at++ : N_OFF_REASONS;

		rows[i].reason = byte & ~IDLE;
		rows[i].is_idle = byte & IDLE;
		if (rows[i].reason >= N_OFF_REASONS)
			return refuse(from);
	}
	for (size_t i = 0; i < n; i++) {
		rows[i].end = from->at < from->end ? *from->at++ : N_STACK_ENDS;
		if (rows[i].end >= N_STACK_ENDS)
			return refuse(from);
	}
	for (size_t i = 0; i < n; i++)
		rows[i].count = get(from);
	for (size_t i = 0; i < n; i++)
		rows[i].microseconds = get(from);
	for (size_t i = 0; i < n; i++)
		if (rows[i].count > UINT32_MAX || rows[i].microseconds > UINT64_MAX >> 20)
			return refuse(from);
	ledger->n_rows = n;
}

/* Fields of later versions that are not known here are passed over. */
static void get_window(struct ledger_reading *from, struct store_window *ret)
{
	uint64_t fields[N_FIELDS] = {};
	size_t n = get_count(from, 1);

	for (size_t i = 0; i < n; i++) {
		uint64_t value = get(from);

		if (i < N_FIELDS)
			fields[i] = value;
	}
	*ret = (struct store_window){fields[0], fields[1], fields[2], fields[3], fields[4],
				     fields[5], fields[6], fields[7], fields[8], fields[9]};
	if (n < N_FIELDS || ret->start > MAX_MOMENT || ret->span > MAX_MOMENT ||
	    ret->covered > ret->span || fields[9] >= N_STORE_GAPS)
		refuse(from);
}

int ledger_decode(struct ledger *ledger, const uint8_t *bytes, size_t n,
		  struct store_window *ret_window)
{
	struct ledger_reading from = {bytes, bytes + n, ledger, 0};
	struct store_window window;

	get_window(&from, &window);
	get_strings(&from);
	get_modules(&from);
	get_frames(&from);
	get_nodes(&from);
	get_processes(&from);
	get_rows(&from);
	if (from.error == 0 && from.at != from.end)
		from.error = -EBADMSG;
	if (from.error == 0)
		*ret_window = window;
	return from.error;
}
