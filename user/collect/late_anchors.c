/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/late_anchors.h"

#include <stdbool.h>
#include <string.h>

/* Where a stack's parts end. */
struct ends {
	uint32_t native; /* … the last native frame */
	uint32_t late;	 /* … the activation at the root, which has no anchor */
};

static bool is_owned(uint64_t word, const struct late_anchors *code)
{
	return word & BF_FRAME_RUNTIME &&
	       (word >> BF_FRAME_OWNER_SHIFT & (BF_FRAME_OWNERS - 1)) == code->owner;
}

static bool is_function(uint64_t word, const struct late_anchors *code)
{
	return (word >> BF_FRAME_KIND_SHIFT & (BF_FRAME_KINDS - 1)) == code->function;
}

static uint32_t words_of(uint64_t word)
{
	return word & BF_FRAME_RUNTIME ? 2 : 1;
}

static struct ends find_ends(const uint64_t *words, uint32_t n, const struct late_anchors *code)
{
	struct ends ends = {};

	for (uint32_t i = 0; i < n; i += words_of(words[i])) {
		if (!(words[i] & BF_FRAME_RUNTIME))
			ends = (struct ends){i + 1, i + 1};
		else if (i + 1 < n && is_owned(words[i], code) && !is_function(words[i], code))
			ends.late = i + 2;
	}
	return ends;
}

/* Copies the owner's frames of the next activation from *@at on, which is moved to its end. */
static uint32_t put_next(const uint64_t *words, const struct ends *ends,
			 const struct late_anchors *code, uint32_t *at, uint64_t *to)
{
	uint32_t i = *at, n = 0;

	while (i < ends->late && !is_owned(words[i], code))
		i += words_of(words[i]);
	for (; i < ends->late && words[i] & BF_FRAME_RUNTIME; i += 2)
		if (is_owned(words[i], code)) {
			memcpy(to + n, words + i, 2 * sizeof *words);
			n += 2;
		}
	*at = i;
	return n;
}

static bool is_in_loop(const uint64_t *words, uint32_t i, const struct late_anchors *code)
{
	bool is_return = i && !(words[i] & BF_FRAME_EXACT);
	uint64_t address = i ? words[i] & ~BF_FRAME_EXACT : words[i];

	return address - is_return >= code->start && address - is_return < code->end;
}

uint32_t late_anchors_place(const uint64_t *words, uint32_t n, const struct late_anchors *code,
			    uint64_t *ret)
{
	const struct ends ends = find_ends(words, n, code);
	uint32_t to = 0, at = 0;
	bool is_first = true; /* the innermost activation has no place yet */
	bool is_next = true;  /* these frames are an activation's first ones */

	if (ends.late == ends.native)
		return 0;
	for (uint32_t i = 0; i < n; i += words_of(words[i])) {
		if (!(words[i] & BF_FRAME_RUNTIME)) {
			if (is_first && is_in_loop(words, i, code)) {
				to += put_next(words, &ends, code, &at, ret + to);
				is_first = false;
			}
			ret[to++] = words[i];
			is_next = true;
			continue;
		}
		if (i >= ends.late || !is_owned(words[i], code)) {
			memcpy(ret + to, words + i, (i + 1 < n ? 2 : 1) * sizeof *words);
			to += i + 1 < n ? 2 : 1;
			continue;
		}
		if (is_next && i < ends.native) {
			if (is_first)
				put_next(words, &ends, code, &at, ret + to);
			to += put_next(words, &ends, code, &at, ret + to);
			is_first = is_next = false;
		}
	}
	return to;
}
