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
	PUT_STEPS(to, i, first, ledger->n_nodes, ledger->nodes[i].frame);
}

static void put_processes(struct ledger_bytes *to, const struct ledger *ledger, size_t first)
{
	const struct ledger_process *processes = ledger->processes;
	size_t end = ledger->n_processes;

	put_span(to, first, end);
	PUT_STEPS(to, i, first, end, processes[i].pid);
	PUT_STEPS(to, i, first, end, processes[i].start / LEDGER_START_UNIT);
	PUT_COLUMN(to, i, first, end, processes[i].comm);
	PUT_COLUMN(to, i, first, end, processes[i].exe);
	PUT_COLUMN(to, i, first, end, processes[i].cgroup);
}

static void put_dictionaries(struct ledger_bytes *to, const struct ledger *ledger,
			     const struct ledger_marks *marks)
{
	const struct strings *strings = &ledger->strings;

	put_span(to, marks->strings, strings->n_strings);
	for (size_t i = marks->strings; i < strings->n_strings; i++) {
		put(to, strings_length(strings, i));
		put_bytes(to, strings_get(strings, i), strings_length(strings, i));
	}
	put_span(to, marks->modules, ledger->n_modules);
	PUT_COLUMN(to, i, marks->modules, ledger->n_modules, ledger->modules[i].kind);
	PUT_COLUMN(to, i, marks->modules, ledger->n_modules, ledger->modules[i].path);
	PUT_COLUMN(to, i, marks->modules, ledger->n_modules, ledger->modules[i].build_id);
	put_frames(to, ledger, marks->frames);
	put_nodes(to, ledger, marks->nodes);
	put_processes(to, ledger, marks->processes);
}

static void put_rows(struct ledger_bytes *to, const struct ledger *ledger)
{
	const struct ledger_row *rows = ledger->rows;
	uint32_t before = 0;

	put(to, ledger->n_rows);
	for (size_t i = 0; i < ledger->n_rows; before = rows[i++].process)
		put(to, rows[i].process - before);
	PUT_STEPS(to, i, 0, ledger->n_rows, rows[i].node);
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

static uint64_t get_long(struct ledger_reading *from)
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

/* Most numbers are of one byte. */
static inline uint64_t get(struct ledger_reading *from)
{
	if (from->at < from->end && *from->at < 0x80)
		return *from->at++;
	return get_long(from);
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

/* A number below @limit, as its difference from the one before. */
static uint64_t get_step(struct ledger_reading *from, uint64_t *value, uint64_t limit)
{
	uint64_t step = get(from);

	*value += (step >> 1) ^ -(step & 1);
	if (*value >= limit) {
		refuse(from);
		*value = 0;
	}
	return *value;
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

/*
 * How many items are missing before those of a dictionary that follow, of which it has @n. Writers
 * begin another file long before LEDGER_MAX_ITEMS.
 */
static size_t get_missing(struct ledger_reading *from, size_t n)
{
	uint64_t first = get(from);

	if (first < n || first > LEDGER_MAX_ITEMS) {
		refuse(from);
		return 0;
	}
	return first - n;
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

/* Puts @item in the place of the missing ones, makes room for those that follow: *@ret_n. */
#define FILL(from, items, item, least, ret_n)                                                      \
	({                                                                                         \
		struct ledger *_filled = (from)->ledger;                                           \
		size_t _missing = get_missing(from, _filled->n_##items);                           \
		*(ret_n) = get_count(from, least);                                                 \
		bool _has_room = MAKE_ROOM(from, items, _missing + *(ret_n));                      \
		while (_has_room && _missing-- > 0)                                                \
			_filled->items[_filled->n_##items++] = (item);                             \
		_has_room;                                                                         \
	})

static void get_strings(struct ledger_reading *from)
{
	struct strings *strings = &from->ledger->strings;
	size_t missing = get_missing(from, strings->n_strings);
	size_t n = get_count(from, 2);

	while (missing-- > 0 && from->error == 0)
		from->error =
			strings_append(strings, LEDGER_DAMAGED_TEXT, strlen(LEDGER_DAMAGED_TEXT));
	while (n-- > 0 && from->error == 0) {
		size_t length = get_count(from, 1);
		const char *text = (const char *)from->at;

		if (!length || memchr(text, 0, length)) {
			refuse(from);
			return;
		}
		from->error = strings_append(strings, text, length);
		from->at += length;
	}
}

static void get_modules(struct ledger_reading *from)
{
	struct ledger *ledger = from->ledger;
	const struct ledger_module damaged = {.path = LEDGER_DAMAGED};
	struct ledger_module *modules;
	size_t n;

	if (!FILL(from, modules, damaged, 3, &n))
		return;
	modules = ledger->modules + ledger->n_modules;
	for (size_t i = 0; i < n; i++)
		modules[i].kind = get_below(from, N_MAPPING_KINDS);
	for (size_t i = 0; i < n; i++)
		modules[i].path = get_string(from);
	for (size_t i = 0; i < n; i++)
		modules[i].build_id = get_string(from);
	ledger->n_modules += n;
}

static void get_frames(struct ledger_reading *from)
{
	struct ledger *ledger = from->ledger;
	struct ledger_frame *frames;
	size_t n;

	if (!FILL(from, frames, ledger->frames[0], 5, &n))
		return;
	frames = ledger->frames + ledger->n_frames;
	for (size_t i = 0; i < n; i++)
		frames[i].kind = get_below(from, N_FRAME_KINDS);
	for (size_t i = 0; i < n; i++)
		frames[i].module = get_below(from, ledger->n_modules);
	for (uint64_t i = 0, value = 0; i < n; i++)
		frames[i].function = get_step(from, &value, ledger->strings.n_strings);
	for (uint64_t i = 0, value = 0; i < n; i++)
		frames[i].file = get_step(from, &value, ledger->strings.n_strings);
	for (size_t i = 0; i < n; i++)
		frames[i].line = get_below(from, 1ULL << 32);
	ledger->n_frames += n;
}

static void get_nodes(struct ledger_reading *from)
{
	struct ledger *ledger = from->ledger;
	const struct ledger_node damaged = {};
	size_t n;

	if (!FILL(from, nodes, damaged, 2, &n))
		return;
	for (size_t i = ledger->n_nodes; i < ledger->n_nodes + n; i++) {
		uint32_t back = get_below(from, i + 1);

		if (!back)
			return refuse(from);
		ledger->nodes[i].parent = i - back;
	}
	for (uint64_t i = ledger->n_nodes, value = 0; i < ledger->n_nodes + n; i++)
		ledger->nodes[i].frame = get_step(from, &value, ledger->n_frames);
	ledger->n_nodes += n;
}

static void get_processes(struct ledger_reading *from)
{
	struct ledger *ledger = from->ledger;
	struct ledger_process *processes;
	size_t n;

	if (!FILL(from, processes, ledger->processes[0], 5, &n))
		return;
	processes = ledger->processes + ledger->n_processes;
	for (uint64_t i = 0, value = 0; i < n; i++)
		processes[i].pid = get_step(from, &value, 1ULL << 32);
	for (uint64_t i = 0, value = 0; i < n; i++)
		processes[i].start =
			get_step(from, &value, MAX_MOMENT / LEDGER_START_UNIT) * LEDGER_START_UNIT;
	for (size_t i = 0; i < n; i++)
		processes[i].comm = get_string(from);
	for (size_t i = 0; i < n; i++)
		processes[i].exe = get_string(from);
	for (size_t i = 0; i < n; i++)
		processes[i].cgroup = get_string(from);
	ledger->n_processes += n;
}

static void get_rows(struct ledger_reading *from)
{
	struct ledger *ledger = from->ledger;
	struct ledger_row *rows;
	uint64_t value = 0;
	size_t n = get_count(from, 6);

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
	for (size_t i = 0; i < n; i++)
		rows[i].node = get_step(from, &value, ledger->n_nodes);
	if (from->error < 0)
		return;
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

/* Nothing that was appended stays. */
static void cut_back(struct ledger *ledger, const struct ledger *before)
{
	strings_cut(&ledger->strings, before->strings.n_strings, before->strings.n_bytes);
	ledger->n_modules = before->n_modules;
	ledger->n_frames = before->n_frames;
	ledger->n_nodes = before->n_nodes;
	ledger->n_processes = before->n_processes;
	ledger->n_rows = 0;
}

int ledger_decode(struct ledger *ledger, const uint8_t *bytes, size_t n,
		  struct store_window *ret_window)
{
	struct ledger_reading from = {bytes, bytes + n, ledger, 0};
	const struct ledger before = *ledger; /* for its sizes */
	struct store_window window;

	ledger->n_rows = 0;
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
	else
		cut_back(ledger, &before);
	return from.error;
}
