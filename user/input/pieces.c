/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"

#define MIN_SLOTS 4096

/* frame_kind_suffix() inline: the lengths are constant. */
static const char suffixes[][MARK_SUFFIX + 1] = {[FRAME_KERNEL] = "_[k]",
						 [FRAME_INLINED] = "_[i]",
						 [FRAME_JIT] = "_[j]",
						 [FRAME_INTERPRETED] = "_[0]"};

/* The longest command name to which unfolder_next() can append numbers. */
#define MAX_NUMBERED 240

/* The table */

int pieces_init(struct pieces *pieces, struct profile *first, struct profile *second)
{
	*pieces = (struct pieces){.profiles = {first, second}};
	pieces->slots = malloc(MIN_SLOTS * sizeof *pieces->slots);
	if (!pieces->slots)
		return -ENOMEM;
	memset(pieces->slots, 0xff, MIN_SLOTS * sizeof *pieces->slots);
	pieces->n_slots = MIN_SLOTS;
	return 0;
}

void pieces_done(struct pieces *pieces)
{
	free(pieces->items);
	free(pieces->slots);
	*pieces = (struct pieces){};
}

static void place(struct piece_slot *slots, size_t n_slots, struct piece_slot slot)
{
	size_t i = slot.hash & (n_slots - 1);

	while (slots[i].piece != PIECE_UNSET)
		i = (i + 1) & (n_slots - 1);
	slots[i] = slot;
}

static int grow_slots(struct pieces *pieces)
{
	size_t n_slots = pieces->n_slots * 2;
	struct piece_slot *slots = malloc(n_slots * sizeof *slots);

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, n_slots * sizeof *slots);
	for (size_t i = 0; i < pieces->n_slots; i++)
		if (pieces->slots[i].piece != PIECE_UNSET)
			place(slots, n_slots, pieces->slots[i]);
	free(pieces->slots);
	pieces->slots = slots;
	pieces->n_slots = n_slots;
	return 0;
}

/* Compares like memcmp(), up to 8 bytes further: most texts are short. */
static inline bool is_equal(const char *a, const char *b, size_t n)
{
	if (n < 8)
		return memcmp(a, b, n) == 0;
	for (size_t i = 0; i < n - 8; i += 8)
		if (cut_word(a + i) != cut_word(b + i))
			return false;
	return cut_word(a + n - 8) == cut_word(b + n - 8);
}

static inline bool is_piece(const struct pieces *pieces, const struct piece *piece,
			    const char *text, size_t n)
{
	const char *name = pieces->profiles[0]->strings.bytes + piece->text;

	if (piece->n + (piece->kind == FRAME_USER ? 0 : MARK_SUFFIX) != n ||
	    !is_equal(name, text, piece->n))
		return false;
	return piece->kind == FRAME_USER ||
	       memcmp(text + piece->n, suffixes[piece->kind], MARK_SUFFIX) == 0;
}

static uint32_t search(const struct pieces *pieces, const char *text, struct cut cut)
{
	for (size_t i = cut.hash & (pieces->n_slots - 1);; i = (i + 1) & (pieces->n_slots - 1)) {
		struct piece_slot slot = pieces->slots[i];

		if (slot.piece == PIECE_UNSET ||
		    (slot.hash == cut.hash &&
		     is_piece(pieces, &pieces->items[slot.piece], text, cut.n)))
			return slot.piece;
	}
}

/* Classifying a new piece */

static bool is_text(const char *text, size_t n, const char *other)
{
	return n == strlen(other) && memcmp(text, other, n) == 0;
}

void piece_set_mark(struct piece *piece, const char *text, size_t n)
{
	enum off_reason reason = REASON_NONE;

	piece->mark = mark_find(text, n, &reason);
	piece->reason = reason;
}

static int add_piece(struct pieces *pieces, const char *text, struct cut cut, uint32_t *ret_piece)
{
	struct strings *strings = &pieces->profiles[0]->strings;
	struct piece piece = {.kind = mark_suffix(text, cut.n),
			      .locations = {PIECE_UNSET, PIECE_UNSET},
			      .commands = {PIECE_UNSET, PIECE_UNSET}};
	uint32_t string;
	int r;

	if (memchr(text, '\0', cut.n))
		return -EINVAL;
	if (pieces->n_items >= PIECE_UNSET || cut.n > UINT32_MAX)
		return -E2BIG;
	piece.n = cut.n - (piece.kind == FRAME_USER ? 0 : MARK_SUFFIX);
	piece_set_mark(&piece, text, cut.n);
	r = array_reserve(pieces->items, pieces->capacity, pieces->n_items, 1);
	if (r < 0)
		return r;
	if (pieces->n_items * 2 >= pieces->n_slots)
		r = grow_slots(pieces);
	if (r < 0)
		return r;
	r = strings_add_bytes(strings, text, piece.n, &string);
	if (r < 0)
		return r;
	piece.text = strings->offsets[string];
	place(pieces->slots, pieces->n_slots, (struct piece_slot){cut.hash, pieces->n_items});
	*ret_piece = pieces->n_items;
	pieces->items[pieces->n_items++] = piece;
	return 0;
}

int pieces_find(struct pieces *pieces, const char *text, struct cut cut, uint32_t expected,
		uint32_t *ret_piece)
{
	uint32_t found = expected;

	if (found == PIECE_UNSET || !is_piece(pieces, &pieces->items[found], text, cut.n)) {
		found = search(pieces, text, cut);
		if (found == PIECE_UNSET)
			return add_piece(pieces, text, cut, ret_piece);
	}
	*ret_piece = found;
	return 0;
}

/* Pieces as frames and commands */

/* Returns the length of the module's name in `[module+0xOFFSET]`; 0: it is something else. */
static size_t module_length(const char *name, size_t n)
{
	const char *plus;
	size_t i;

	if (n < 6 || name[0] != '[' || name[n - 1] != ']')
		return 0;
	plus = memrchr(name, '+', n);
	if (!plus || plus == name + 1 || plus[1] != '0' || plus[2] != 'x')
		return 0;
	i = plus + 3 - name;
	if (i == n - 1)
		return 0;
	for (; i < n - 1; i++)
		if (!strchr("0123456789abcdef", name[i]))
			return 0;
	return plus - name - 1;
}

static int pieces_add_mapping(struct profile *profile, enum frame_kind kind, const char *name,
			      size_t n, const char *module, uint32_t *ret_mapping)
{
	struct profile_mapping mapping = {.kind = kind == FRAME_KERNEL ? MAPPING_KERNEL
								       : MAPPING_UNKNOWN};
	size_t n_module = module_length(name, n);
	int r = 0;

	if (is_text(name + 1, n_module, "vdso"))
		mapping.kind = MAPPING_VDSO;
	else if (n_module && !is_text(name + 1, n_module, "kernel"))
		r = strings_add_bytes(&profile->strings, name + 1, n_module, &mapping.path);
	else if (*module && kind != FRAME_KERNEL)
		r = strings_add(&profile->strings, module, &mapping.path);
	if (mapping.path && kind != FRAME_KERNEL)
		mapping.kind = MAPPING_FILE;
	if (r < 0)
		return r;
	return profile_add_mapping(profile, &mapping, ret_mapping);
}

/* Copies the text: adding strings may move the original. */
static int copy_text(const struct pieces *pieces, const struct piece *piece, char **ret)
{
	char *copy = malloc((size_t)piece->n + MARK_SUFFIX + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, pieces->profiles[0]->strings.bytes + piece->text, piece->n);
	strcpy(copy + piece->n, frame_kind_suffix(piece->kind));
	*ret = copy;
	return 0;
}

int pieces_make_location(struct pieces *pieces, uint32_t id, int side)
{
	struct piece *piece = &pieces->items[id];
	struct profile *profile = pieces->profiles[side];
	/* A mark in the wrong place may not be code; keep it as it is. */
	struct profile_frame frame = {.kind = piece->mark == MARK_NONE ? piece->kind : FRAME_NOTE};
	_cleanup_free_ char *name = NULL, *module = NULL;
	uint32_t mapping;
	int r = copy_text(pieces, piece, &name);

	if (r < 0)
		return r;
	module = strdup(piece->module ? strings_get(&pieces->profiles[0]->strings, piece->module)
				      : "");
	if (!module)
		return -ENOMEM;
	r = strings_add_bytes(&profile->strings, name, piece->n, &frame.function);
	if (r < 0)
		return r;
	r = pieces_add_mapping(profile, piece->kind, name, piece->n, module, &mapping);
	if (r < 0)
		return r;
	return profile_add_named(profile, mapping, &frame, 1, &piece->locations[side]);
}

int pieces_set_module(struct pieces *pieces, const char *text, struct cut cut, const char *module,
		      size_t n)
{
	uint32_t id;
	int r = pieces_find(pieces, text, cut, PIECE_UNSET, &id);

	if (r < 0 || pieces->items[id].module || pieces->items[id].mark != MARK_NONE)
		return r;
	return strings_add_bytes(&pieces->profiles[0]->strings, module, n,
				 &pieces->items[id].module);
}

static int make_command(struct pieces *pieces, struct piece *piece, int side)
{
	uint32_t pid, tid;
	size_t n;
	char *text;
	int r = copy_text(pieces, piece, &text);

	if (r < 0)
		return r;
	r = strings_add(&pieces->profiles[side]->strings, text, &piece->commands[side]);
	piece->is_thread = piece_split_thread(text, strlen(text), &n, &pid, &tid);
	free(text);
	return r;
}

int pieces_command(struct pieces *pieces, uint32_t id, int side, uint32_t *ret_string)
{
	struct piece *piece = &pieces->items[id];
	int r = piece->commands[side] == PIECE_UNSET ? make_command(pieces, piece, side) : 0;

	if (r == 0)
		*ret_string = piece->commands[side];
	return r;
}

/* Numbers at the end */

/*
 * Cuts the number at the end of @text, after @mark, if it looks like printf("%u") output. Sets *@n
 * to the mark's place.
 */
static bool cut_number(const char *text, size_t *n, char mark, uint32_t *ret_number)
{
	size_t i = *n;
	uint64_t number = 0, digit = 1;

	for (; i && text[i - 1] >= '0' && text[i - 1] <= '9' && *n - i < 10; i--, digit *= 10)
		number += (text[i - 1] - '0') * digit;
	if (i == *n || !i || text[i - 1] != mark || number > UINT32_MAX ||
	    (text[i] == '0' && *n - i > 1))
		return false;
	*n = i - 1;
	*ret_number = number;
	return true;
}

bool piece_split_waker(const char *text, size_t n, size_t *ret_n, uint32_t *ret_tid)
{
	*ret_n = n;
	return n < MAX_NUMBERED && cut_number(text, ret_n, '-', ret_tid) && *ret_n && *ret_tid;
}

bool piece_split_thread(const char *text, size_t n, size_t *ret_n, uint32_t *ret_pid,
			uint32_t *ret_tid)
{
	*ret_n = n;
	return n < MAX_NUMBERED && cut_number(text, ret_n, '/', ret_tid) &&
	       cut_number(text, ret_n, '-', ret_pid) && *ret_n;
}
