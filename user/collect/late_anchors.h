/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * late_anchors: the order of frames of a runtime (Ruby) that makes an activation's frame a moment
 * before its loop leaves the anchor. In that moment all activations are a place further out than
 * they should be: each has the anchor of the one that it was called by, and the outermost has none.
 */
#ifndef COLLECT_LATE_ANCHORS_H
#define COLLECT_LATE_ANCHORS_H

#include <stdint.h>

#include "bpf/wire.h"

struct late_anchors {
	uint64_t start, end; /* where the loop is, which leaves the anchor */
	uint32_t owner;	     /* of the frames */
	uint32_t function;   /* kind of a frame of C, which no loop runs */
};

/*
 * Puts the owner's activations of @n @words, as on the wire and with no native frame missing, a
 * place further in if the outermost has none: the innermost before its loop or, if that has not
 * begun, nowhere. Functions of C at the root, where a coroutine began, stay there. @ret has room
 * for BF_MAX_FRAMES. Returns how many words there are, or 0: they are in their places.
 */
uint32_t late_anchors_place(const uint64_t *words, uint32_t n, const struct late_anchors *code,
			    uint64_t *ret);

#endif
