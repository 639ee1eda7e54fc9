/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitdump: one pass over the heads of the records finds, for each lookup, the last record that puts
 * code there; only these are read again, for name and lines. The code itself is never read.
 *
 * A record's token is its offset in the file. For code with line numbers it is the offset of its
 * DEBUG_INFO record, which according to the specification precedes the LOAD. Moved code has the
 * token of its MOVE, which gives the load by its index only: that takes a second pass, only for
 * files with moved code among the lookups.
 */
#include "symbol/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "symbol/jit_ranges.h"
#include "symbol/jitdump_lines.h"

#define MAGIC	  0x4a695444
#define BYTES_MAX (4ULL << 30)

enum record_type { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO };

/* On disk: the file's header. */
struct header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};

/* On disk: the beginning of all records. */
struct prefix {
	uint32_t type, size;
	uint64_t time;
};

/* On disk; name and code follow. */
struct load {
	struct prefix prefix;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

/* On disk. */
struct move {
	struct prefix prefix;
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

/* On disk; the entries follow. */
struct debug_info {
	struct prefix prefix;
	uint64_t address, n_entries;
};

/* A record in the file. */
struct record {
	uint64_t offset;
	union {
		struct prefix prefix;
		struct load load;
		struct move move;
		struct debug_info debug_info;
	} as;
};

/* Iterates over the records. */
struct walk {
	struct jit_reader *reader;
	uint64_t next;	/* offset */
	uint64_t debug; /* of the DEBUG_INFO that may belong to the next LOAD; 0: none */
	uint64_t debug_address;
};

/* Copies a record's head of @size bytes. */
static bool read_head(struct jit_reader *reader, uint64_t offset, void *to, size_t size)
{
	size_t n;
	const char *bytes = jit_reader_at(reader, offset, size, &n);

	if (bytes)
		memcpy(to, bytes, size);
	return bytes;
}

static size_t head_size(uint32_t type)
{
	switch (type) {
	case CODE_LOAD: return sizeof(struct load);
	case CODE_MOVE: return sizeof(struct move);
	case CODE_DEBUG_INFO: return sizeof(struct debug_info);
	default: return sizeof(struct prefix);
	}
}

/* Reads the record at @offset. Returns false if it is not complete. */
static bool read_record(struct jit_reader *reader, uint64_t offset, struct record *ret)
{
	struct prefix *prefix = &ret->as.prefix;

	if (!read_head(reader, offset, prefix, sizeof *prefix) || prefix->size < sizeof *prefix ||
	    prefix->size > reader->size - offset)
		return false;
	ret->offset = offset;
	if (prefix->size < head_size(prefix->type)) {
		prefix->type = UINT32_MAX; /* too short for its type: ignore it */
		return true;
	}
	return read_head(reader, offset, &ret->as, head_size(prefix->type));
}

/* The next record, and the token of its code. Returns false at the end. */
static bool walk_next(struct walk *walk, struct record *ret, uint64_t *ret_token)
{
	if (walk->next > BYTES_MAX || !read_record(walk->reader, walk->next, ret))
		return false;
	walk->next += ret->as.prefix.size;
	*ret_token = ret->offset;
	switch (ret->as.prefix.type) {
	case CODE_DEBUG_INFO:
		walk->debug = ret->offset;
		walk->debug_address = ret->as.debug_info.address;
		break;
	case CODE_LOAD:
		if (walk->debug && walk->debug_address == ret->as.load.address)
			*ret_token = walk->debug;
		walk->debug = 0;
		break;
	case CODE_MOVE: walk->debug = 0; break; /* tokens must ascend */
	}
	return true;
}

static int walk_init(struct walk *walk, struct jit_reader *reader)
{
	struct header header;

	if (!read_head(reader, 0, &header, sizeof header) || header.magic != MAGIC ||
	    header.size < sizeof header)
		return -ENOEXEC;
	*walk = (struct walk){.reader = reader, .next = header.size};
	return 0;
}

static void scan(struct walk walk, struct jit_ranges *ranges)
{
	struct record record;
	uint64_t token;

	while (walk_next(&walk, &record, &token)) {
		const struct load *load = &record.as.load;
		const struct move *move = &record.as.move;

		if (record.as.prefix.type == CODE_LOAD)
			jit_ranges_add(ranges, load->address, load->size, token);
		else if (record.as.prefix.type == CODE_MOVE)
			jit_ranges_add(ranges, move->to, move->size, token);
	}
}

/* The lookups in one piece of code. */
struct piece {
	const struct jit_winner *winners;
	size_t n;
	uint64_t load;	/* token; 0: none found */
	uint64_t move;	/* offset; 0: not moved */
	uint64_t to;	/* its new address */
	uint64_t index; /* of moved code: its load's index, from the MOVE */
};

static int piece_compare(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return a->move < b->move ? -1 : a->move > b->move;
}

/* The first of the sorted moved @pieces that @load at @offset may be the load of. */
static struct piece *first_moved(struct piece *pieces, size_t n, const struct load *load,
				 uint64_t offset)
{
	const struct piece key = {.index = load->index, .move = offset};
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (piece_compare(&pieces[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && pieces[low].index == load->index ? &pieces[low] : NULL;
}

/* Finds the loads of @n moved pieces: the last load of that index before the move. */
static void find_loads(struct walk walk, struct piece *pieces, size_t n)
{
	struct record record;
	uint64_t token;

	qsort(pieces, n, sizeof *pieces, piece_compare);
	while (walk_next(&walk, &record, &token)) {
		struct piece *piece =
			record.as.prefix.type == CODE_LOAD
				? first_moved(pieces, n, &record.as.load, record.offset)
				: NULL;

		if (piece)
			piece->load = token;
	}
	for (size_t i = 1; i < n; i++)
		if (!pieces[i].load && pieces[i].index == pieces[i - 1].index)
			pieces[i].load = pieces[i - 1].load;
}

/* Shared state of naming. */
struct jitdump_namer {
	struct jit_reader *reader;
	struct lookups *lookups;
	struct strings *strings;
	struct jit_line *lines; /* NULL: not wanted */
	uint64_t *addresses;	/* buffer for the lookups of one piece */
	struct jit_line *found;
};

/* Makes pieces of @winners: *ret_n at the front, the *ret_n_moved moved ones after them. */
static void find_pieces(struct jit_reader *reader, const struct jit_winner *winners, size_t n,
			struct piece *pieces, size_t *ret_n, size_t *ret_n_moved)
{
	size_t n_pieces = 0, first_moved = n, end;

	for (size_t i = 0; i < n; i = end) {
		struct piece piece = {.winners = winners + i, .load = winners[i].token};
		struct record record;

		for (end = i; end < n && winners[end].token == winners[i].token; end++)
			;
		piece.n = end - i;
		if (!read_record(reader, piece.load, &record))
			continue;
		if (record.as.prefix.type != CODE_MOVE) {
			pieces[n_pieces++] = piece;
			continue;
		}
		piece.load = 0;
		piece.move = record.offset;
		piece.to = record.as.move.to;
		piece.index = record.as.move.index;
		pieces[--first_moved] = piece;
	}
	memmove(pieces + n_pieces, pieces + first_moved, (n - first_moved) * sizeof *pieces);
	*ret_n = n_pieces;
	*ret_n_moved = n - first_moved;
}

/* Reads the load of @piece; *ret_debug is the offset of its DEBUG_INFO, or 0. */
static bool read_load(struct jit_reader *reader, const struct piece *piece, struct load *ret,
		      uint64_t *ret_offset, uint64_t *ret_debug)
{
	struct walk walk = {.reader = reader, .next = piece->load};
	struct record record;
	uint64_t token;

	do {
		if (!piece->load || !walk_next(&walk, &record, &token))
			return false;
	} while (record.as.prefix.type != CODE_LOAD && record.as.prefix.type != CODE_MOVE);
	if (record.as.prefix.type != CODE_LOAD || token != piece->load)
		return false; /* the file was rewritten */
	*ret = record.as.load;
	*ret_offset = record.offset;
	*ret_debug = token != record.offset ? token : 0;
	return true;
}

/* Sets the lines of the @n lookups of @piece; namer->addresses has them as loaded. */
static int set_lines(struct jitdump_namer *namer, const struct piece *piece, uint64_t debug)
{
	struct jitdump_entries entries;
	struct record record;
	int r;

	if (!read_record(namer->reader, debug, &record) || record.as.prefix.type != CODE_DEBUG_INFO)
		return 0;
	entries = (struct jitdump_entries){
		.offset = debug + sizeof(struct debug_info),
		.end = debug + record.as.prefix.size,
		.n = record.as.debug_info.n_entries,
		.address = record.as.debug_info.address,
	};
	memset(namer->found, 0, piece->n * sizeof *namer->found);
	r = jitdump_lines_resolve(namer->reader, &entries, namer->addresses, piece->n,
				  namer->strings, namer->found);
	for (size_t i = 0; i < piece->n; i++)
		namer->lines[piece->winners[i].lookup] = namer->found[i];
	return r;
}

static int name_piece(struct jitdump_namer *namer, const struct piece *piece)
{
	uint64_t offset, debug, size;
	struct load load;
	uint32_t name;
	int r;

	if (!read_load(namer->reader, piece, &load, &offset, &debug))
		return 0;
	size = load.prefix.size - sizeof load;
	if (load.size < size)
		size -= load.size; /* the code itself */
	r = jit_reader_name(namer->reader, offset + sizeof load, size, '\0', namer->strings, &name);
	if (r < 0)
		return r;
	for (size_t i = 0; i < piece->n; i++) {
		size_t lookup = piece->winners[i].lookup;

		namer->lookups->names[lookup] = name;
		namer->addresses[i] = namer->lookups->addresses[lookup] +
				      (piece->move ? load.address - piece->to : 0);
	}
	if (!name || !debug || !namer->lines)
		return 0;
	return set_lines(namer, piece, debug);
}

static int name_winners(struct jitdump_namer *namer, struct walk start,
			const struct jit_winner *winners, size_t n)
{
	_cleanup_free_ struct piece *pieces = calloc(n + 1, sizeof *pieces);
	_cleanup_free_ uint64_t *addresses = malloc((n + 1) * sizeof *addresses);
	_cleanup_free_ struct jit_line *found = malloc((n + 1) * sizeof *found);
	size_t n_pieces, n_moved;
	int r = 0;

	if (!pieces || !addresses || !found)
		return -ENOMEM;
	namer->addresses = addresses;
	namer->found = found;
	find_pieces(namer->reader, winners, n, pieces, &n_pieces, &n_moved);
	if (n_moved)
		find_loads(start, pieces + n_pieces, n_moved);
	for (size_t i = 0; i < n_pieces + n_moved && r == 0; i++)
		r = name_piece(namer, &pieces[i]);
	return r;
}

static int resolve(struct jitdump_namer *namer)
{
	struct jit_winner *winners;
	struct jit_ranges ranges;
	struct walk start;
	size_t n;
	int r = walk_init(&start, namer->reader);

	if (r < 0)
		return r;
	r = jit_ranges_init(&ranges, namer->lookups);
	if (r < 0)
		return r;
	scan(start, &ranges);
	r = jit_ranges_winners(&ranges, &winners, &n);
	jit_ranges_done(&ranges);
	if (r < 0)
		return r;
	r = name_winners(namer, start, winners, n);
	free(winners);
	return r;
}

int jitdump_resolve(int fd, struct lookups *lookups, struct strings *strings,
		    struct jit_line *lines)
{
	struct jit_reader reader;
	struct jitdump_namer namer = {
		.reader = &reader, .lookups = lookups, .strings = strings, .lines = lines};
	int r = jit_reader_init(&reader, fd);

	if (r < 0)
		return r;
	if (reader.size) /* else the JIT has written nothing yet */
		r = resolve(&namer);
	jit_reader_done(&reader);
	return r;
}
