/* SPDX-License-Identifier: GPL-2.0-or-later */
/* modules: the modules of a picture that is coloured by them, for its legend. */
#ifndef RENDER_MODULES_H
#define RENDER_MODULES_H

#include "core/tree.h"
#include "render/palette.h"

#define MOST_MODULES 8

struct modules {
	struct {
		const char *name;   /* as recorded, not escaped; valid as long as the stacks */
		unsigned int shade; /* of FRAME_USER, the middle of its range */
	} of[MOST_MODULES];
	unsigned int n;
};

/*
 * Finds those that cover most of the picture, largest first; of several in one range of shades, the
 * largest. None if @palette does not go by module. Errors: -ENOMEM.
 */
int modules_find(const struct tree *tree, const struct palette *palette, struct modules *ret);

/* Whether a shade of such frames is in the range of one of @modules. */
bool modules_have(const struct modules *modules, const struct palette *palette,
		  enum frame_kind kind, unsigned int shade);

#endif
