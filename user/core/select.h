/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * select: leaves samples out of a profile by the names on their stacks.
 */
#ifndef CORE_SELECT_H
#define CORE_SELECT_H

#include "core/profile.h"

struct select_options {
	/* Extended regular expressions; NULL: all samples stay. */
	const char *include; /* only stacks with a frame that matches stay */
	const char *exclude; /* only stacks with no frame that matches stay */
	/* What was read of files that hold several, see input.h. */
	const char *sample_type, *event;
};

/*
 * Drops the other samples; frames are those that @unfold shows. Nothing is to be added to the
 * profile any more. Errors: -EINVAL if an expression is none; -ENOMEM.
 */
int profile_select(struct profile *profile, const struct unfold_options *unfold,
		   const struct select_options *options);

#endif
