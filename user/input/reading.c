/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/reading.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_MAX_BYTES ((uint64_t)64 << 30)

int input_init(struct input *input, const struct input_options *options)
{
	int r;

	*input = (struct input){.options = *options};
	if (!input->options.max_bytes)
		input->options.max_bytes = DEFAULT_MAX_BYTES;
	r = profile_new(PROFILE_ONCPU, &input->profile);
	if (r == 0)
		input->profile->in_order = options->in_order;
	return r;
}

void input_done(struct input *input)
{
	profile_free(input->profile);
	profile_free(input->base);
	*input = (struct input){0};
}

const struct profile *input_earlier(const struct input *input)
{
	if (input->profile->n_samples)
		return input->profile;
	return input->base && input->base->n_samples ? input->base : NULL;
}

int input_set_mode(struct input *input, enum profile_mode mode, const char *name,
		   struct failure *failure)
{
	const struct profile *before = input_earlier(input);

	if (before && (before->mode == PROFILE_ONCPU) != (mode == PROFILE_ONCPU))
		return failure_set(failure, -EINVAL,
				   "%s: holds %s, where the files before it hold %s", name,
				   mode == PROFILE_ONCPU ? "samples" : "times of waiting",
				   mode == PROFILE_ONCPU ? "times of waiting" : "samples");
	if (before && before->mode != mode)
		mode = PROFILE_WALL;
	input->profile->mode = mode;
	if (input->base)
		input->base->mode = mode;
	return 0;
}

/* NULL: samples, each with weight 1. */
static const char *counted(const struct profile *profile, const struct profile_event *event)
{
	return event && event->is_counted ? strings_get(&profile->strings, event->name) : NULL;
}

int input_set_event(struct input *input, const struct profile_event *event, const char *name,
		    struct failure *failure)
{
	struct profile *profile = input->profile;
	const struct profile *before = input_earlier(input);
	const char *now = counted(profile, event), *then;

	if (!before) {
		profile->events[0] = *event;
		profile->n_events = event->name != 0;
		return 0;
	}
	then = counted(before, profile_event(before));
	if (now == then || (now && then && strcmp(now, then) == 0))
		return 0;
	return failure_set(failure, -EINVAL,
			   "%s: counts %.64s, where the files before it count %.64s", name,
			   now ? now : "samples", then ? then : "samples");
}
