/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reads the windows that ledger_code.c writes. */
#include "store/ledger_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/ledger_offsets.h"

#define MAX_MOMENT     (1ULL << 62) /* so that sums of two do not wrap */
#define OLD_START_UNIT 1000000	    /* ns */

struct ledger_input {
	const uint8_t *at, *end;
	struct ledger *ledger;
	unsigned int layout;
	int error; /* sticky */
};

static void refuse(struct ledger_input *from)
{
	if (from->error == 0)
		from->error = -EBADMSG;
	from->at = from->end;
}

static uint64_t get_long(struct ledger_input *from)
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
static inline uint64_t get(struct ledger_input *from)
{
	if (from->at < from->end && *from->at < 0x80)
		return *from->at++;
	return get_long(from);
}

/* A number below @limit. */
static uint32_t get_below(struct ledger_input *from, uint64_t limit)
{
	uint64_t value = get(from);

	if (value >= limit) {
		refuse(from);
		return 0;
	}
	return value;
}

/* A number below @limit, as its difference from the one before. */
static uint64_t get_step(struct ledger_input *from, uint64_t *value, uint64_t limit)
{
	uint64_t step = get(from);

	*value += (step >> 1) ^ -(step & 1);
	if (*value >= limit) {
		refuse(from);
		*value = 0;
	}
	return *value;
}

/* A number below @limit, as what it is above the one before. */
static uint32_t get_sum(struct ledger_input *from, uint64_t *value, uint64_t limit)
{
	*value += get_below(from, limit);
	if (*value >= limit) {
		refuse(from);
		*value = 0;
	}
	return *value;
}

/* How many items follow, of at least @least bytes each. */
static size_t get_count(struct ledger_input *from, size_t least)
{
	uint64_t n = get(from);

	if (n > (size_t)(from->end - from->at) / least) {
		refuse(from);
		return 0;
	}
	return n;
}

static uint32_t get_string(struct ledger_input *from)
{
	return get_below(from, from->ledger->strings.n_strings);
}

/*
 * How many items are missing before those of a dictionary that follow, of which it has @n. Writers
 * begin another file long before LEDGER_MAX_ITEMS.
 */
static size_t get_missing(struct ledger_input *from, size_t n)
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

static void get_text(struct ledger_input *from, size_t length)
{
	const char *text = (const char *)from->at;

	if (!length || length > (size_t)(from->end - from->at) || memchr(text, 0, length))
		return refuse(from);
	from->error = strings_append(&from->ledger->strings, text, length);
	from->at += length;
}

/* Before these, each text followed its length. */
static void get_old_strings(struct ledger_input *from, size_t n)
{
	while (n-- > 0 && from->error == 0)
		get_text(from, get(from));
}

/* Passes over @n numbers. Returns how many are 0. */
static size_t pass_over(struct ledger_input *from, size_t n)
{
	size_t zeros = 0;

	while (n-- > 0)
		zeros += get(from) == 0;
	return zeros;
}

/* The columns of strings, each of which is read as if it were alone. */
struct string_columns {
	struct ledger_input lengths, paths, high;
	const uint8_t *low;
	size_t n_bytes; /* of texts that are made */
};

static void get_offset(struct ledger_input *from, struct string_columns *columns)
{
	struct ledger_offset offset = {.path = get(&columns->paths)};
	struct strings *strings = &from->ledger->strings;
	char text[LEDGER_OFFSET_SIZE];
	size_t n;

	offset.offset = get(&columns->high) << 16 | columns->low[1] << 8 | columns->low[0];
	columns->low += 2;
	n = offset.path < strings->n_strings ? ledger_offset_text(strings, &offset, text) : 0;
	columns->n_bytes += n;
	if (!n || columns->n_bytes > LEDGER_MAX_BYTES)
		return refuse(from);
	from->error = strings_append(strings, text, n);
}

static void get_new_strings(struct ledger_input *from, size_t n)
{
	struct string_columns columns = {.lengths = *from};
	size_t n_offsets = pass_over(from, n);

	columns.paths = *from;
	pass_over(from, n_offsets);
	columns.high = *from;
	pass_over(from, n_offsets);
	columns.low = from->at;
	if (n_offsets > (size_t)(from->end - from->at) / 2)
		return refuse(from);
	from->at += 2 * n_offsets;
	while (n-- > 0 && from->error == 0) {
		size_t length = get(&columns.lengths);

		if (length)
			get_text(from, length);
		else
			get_offset(from, &columns);
	}
}

static void get_strings(struct ledger_input *from)
{
	struct strings *strings = &from->ledger->strings;
	size_t missing = get_missing(from, strings->n_strings);
	size_t n = get_count(from, 2);

	while (missing-- > 0 && from->error == 0)
		from->error =
			strings_append(strings, LEDGER_DAMAGED_TEXT, strlen(LEDGER_DAMAGED_TEXT));
	if (from->layout == LEDGER_OLD_LAYOUT)
		get_old_strings(from, n);
	else
		get_new_strings(from, n);
}

static void get_modules(struct ledger_input *from)
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

static void get_frames(struct ledger_input *from)
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

static void get_nodes(struct ledger_input *from)
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

static void get_texts(struct ledger_input *from, struct ledger_process *processes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		processes[i].comm = get_string(from);
	for (size_t i = 0; i < n; i++)
		processes[i].exe = get_string(from);
	for (size_t i = 0; i < n; i++)
		processes[i].cgroup = get_string(from);
}

/* The texts of each kind, and which one each process is of. */
static void get_kinds(struct ledger_input *from, struct ledger_process *processes, size_t n)
{
	struct ledger_process *kinds;
	uint32_t n_kinds = 0;

	/* The number of its kind is in the place of the first text. */
	for (size_t i = 0; i < n; i++) {
		processes[i].comm = get_below(from, n_kinds + 1);
		n_kinds += processes[i].comm == n_kinds;
	}
	if (from->error < 0 || !n)
		return;
	kinds = calloc(n_kinds, sizeof *kinds);
	if (!kinds) {
		from->error = -ENOMEM;
		return;
	}
	get_texts(from, kinds, n_kinds);
	for (size_t i = 0; i < n; i++) {
		const struct ledger_process *kind = &kinds[processes[i].comm];

		processes[i].comm = kind->comm;
		processes[i].exe = kind->exe;
		processes[i].cgroup = kind->cgroup;
	}
	free(kinds);
}

static void get_processes(struct ledger_input *from)
{
	struct ledger *ledger = from->ledger;
	bool is_old = from->layout == LEDGER_OLD_LAYOUT;
	uint64_t unit = is_old ? OLD_START_UNIT : LEDGER_START_UNIT;
	struct ledger_process *processes;
	size_t n;

	if (!FILL(from, processes, ledger->processes[0], 3, &n))
		return;
	processes = ledger->processes + ledger->n_processes;
	for (uint64_t i = 0, value = 0; i < n; i++)
		processes[i].pid = get_step(from, &value, 1ULL << 32);
	for (uint64_t i = 0, value = 0; i < n; i++)
		processes[i].start = get_step(from, &value, MAX_MOMENT / unit) * unit;
	if (is_old)
		get_texts(from, processes, n);
	else
		get_kinds(from, processes, n);
	ledger->n_processes += n;
}

/* Which processes and nodes rows are of: sorted by the one that comes first. */
static void get_places(struct ledger_input *from, struct ledger_row *rows, size_t n)
{
	const struct ledger *ledger = from->ledger;
	uint64_t process = 0, node = 0;

	for (size_t i = 0; i < n && from->layout == LEDGER_OLD_LAYOUT; i++)
		rows[i].process = get_sum(from, &process, ledger->n_processes);
	for (size_t i = 0; i < n && from->layout == LEDGER_OLD_LAYOUT; i++)
		rows[i].node = get_step(from, &node, ledger->n_nodes);
	for (size_t i = 0; i < n && from->layout == LEDGER_LAYOUT; i++)
		rows[i].node = get_sum(from, &node, ledger->n_nodes);
	for (size_t i = 0; i < n && from->layout == LEDGER_LAYOUT; i++)
		rows[i].process = get_step(from, &process, ledger->n_processes);
}

static void get_rows(struct ledger_input *from)
{
	struct ledger *ledger = from->ledger;
	struct ledger_row *rows;
	size_t n = get_count(from, 6);

	if (!MAKE_ROOM(from, rows, n) || !n)
		return;
	rows = ledger->rows;
	memset(rows, 0, n * sizeof *rows);
	get_places(from, rows, n);
	if (from->error < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = from->at < from->end ? *from->at++ : N_OFF_REASONS;

		rows[i].reason = byte & ~LEDGER_IDLE;
		rows[i].is_idle = byte & LEDGER_IDLE;
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
static void get_window(struct ledger_input *from, struct store_window *ret)
{
	uint64_t fields[LEDGER_FIELDS] = {};
	size_t n = get_count(from, 1);

	for (size_t i = 0; i < n; i++) {
		uint64_t value = get(from);

		if (i < LEDGER_FIELDS)
			fields[i] = value;
	}
	*ret = (struct store_window){fields[0], fields[1], fields[2], fields[3], fields[4],
				     fields[5], fields[6], fields[7], fields[8], fields[9]};
	if (n < LEDGER_FIELDS || ret->start > MAX_MOMENT || ret->span > MAX_MOMENT ||
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

/* All that comes before the rows. */
static void get_names(struct ledger_input *from, struct store_window *ret)
{
	get_window(from, ret);
	get_strings(from);
	get_modules(from);
	get_frames(from);
	get_nodes(from);
	get_processes(from);
}

int ledger_decode(struct ledger *ledger, const uint8_t *bytes, size_t n, unsigned int layout,
		  struct store_window *ret_window)
{
	struct ledger_input from = {bytes, bytes + n, ledger, layout, 0};
	const struct ledger before = *ledger; /* for its sizes */
	struct store_window window;

	ledger->n_rows = 0;
	get_names(&from, &window);
	get_rows(&from);
	if (from.error == 0 && from.at != from.end)
		from.error = -EBADMSG;
	if (from.error == 0)
		*ret_window = window;
	else
		cut_back(ledger, &before);
	return from.error;
}

int ledger_decode_names(struct ledger *ledger, const uint8_t *bytes, size_t n, unsigned int layout)
{
	struct ledger_input from = {bytes, bytes + n, ledger, layout, 0};
	const struct ledger before = *ledger;
	struct store_window window;

	ledger->n_rows = 0;
	get_names(&from, &window);
	if (from.error < 0)
		cut_back(ledger, &before);
	return from.error;
}
