/* SPDX-License-Identifier: GPL-2.0-or-later */
/* select: removes samples from a profile by the names on their stacks. */
#ifndef CORE_SELECT_H
#define CORE_SELECT_H

#include "core/profile.h"

struct select_options {
	/* Extended regular expressions; NULL: all samples stay. */
	const char *include; /* keep only stacks with a matching frame */
	const char *exclude; /* keep only stacks without a matching frame */
	/* The values read from files with several, see input.h. */
	const char *sample_type, *event;
};

/*
 * Drops the other samples. Frames are those that @unfold shows. Don't add to the profile
 * afterwards. Errors: -EINVAL for an invalid expression; -ENOMEM.
 */
int profile_select(struct profile *profile, const struct unfold_options *unfold,
		   const struct select_options *options);

#endif
