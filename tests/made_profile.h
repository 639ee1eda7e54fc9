/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_profile: profiles made by hand, for tests of rendering. */
#ifndef TESTS_MADE_PROFILE_H
#define TESTS_MADE_PROFILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/profile.h"

struct made_waker {
	const char *comm;
	const char *stack; /* as in a sample */
	uint32_t tid;
	bool truncated, is_interrupt;
};

#define MADE_CHAIN 4

struct made_sample {
	const char *comm;
	const char *stack; /* root first, `;` between names, suffixes for kinds; "" for none */
	uint64_t weight;   /* samples or nanoseconds */
	enum off_reason reason;
	uint32_t pid, tid;
	bool truncated;
	bool is_idle;
	struct made_waker wakers[MADE_CHAIN]; /* who woke it, who woke that one, …; no stack: end */
};

static inline void made_check(int r, const char *what)
{
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-r));
		abort();
	}
}

static inline uint32_t made_string(struct profile *profile, const char *text)
{
	uint32_t id;

	made_check(strings_add(&profile->strings, text, &id), "strings_add");
	return id;
}

/* A location with one frame. */
static inline uint32_t made_location(struct profile *profile, enum frame_kind kind,
				     const char *name)
{
	struct profile_mapping mapping = {.kind = kind == FRAME_KERNEL ? MAPPING_KERNEL
								       : MAPPING_UNKNOWN};
	struct profile_frame frame = {.kind = kind, .function = made_string(profile, name)};
	uint32_t index, location;

	made_check(profile_add_mapping(profile, &mapping, &index), "profile_add_mapping");
	made_check(profile_add_location(profile, index, (uint64_t)frame.function << 8 | kind, false,
					&location),
		   "profile_add_location");
	if (!profile->locations[location].n_frames)
		made_check(profile_set_frames(profile, location, &frame, 1), "profile_set_frames");
	return location;
}

/* Cuts the suffix off @name. */
static inline enum frame_kind made_kind(char *name)
{
	size_t n = strlen(name);

	for (int kind = FRAME_KERNEL; kind < FRAME_NOTE; kind++) {
		const char *suffix = frame_kind_suffix(kind);

		if (n > strlen(suffix) && strcmp(name + n - strlen(suffix), suffix) == 0) {
			name[n - strlen(suffix)] = '\0';
			return kind;
		}
	}
	return FRAME_USER;
}

/* @text: root first. */
static inline uint32_t made_stack(struct profile *profile, const char *text, bool truncated)
{
	uint32_t root_first[256], locations[256], n = 0, stack;
	char *copy = strdup(text), *rest = copy;

	for (char *name; *text && n < 256 && (name = strsep(&rest, ";")); n++) {
		enum frame_kind kind = made_kind(name);

		root_first[n] = made_location(profile, kind, name);
	}
	for (uint32_t i = 0; i < n; i++)
		locations[i] = root_first[n - 1 - i];
	made_check(profile_add_stack(profile, locations, n, truncated, &stack),
		   "profile_add_stack");
	free(copy);
	return stack;
}

/* Returns the waker of the sample's thread. */
static inline uint32_t made_add_wakers(struct profile *profile, const struct made_sample *made)
{
	uint32_t next = 0;

	for (int i = MADE_CHAIN; i-- > 0;) {
		const struct made_waker *from = &made->wakers[i];
		struct profile_waker waker = {
		    .tid = from->tid, .is_interrupt = from->is_interrupt, .next = next};

		if (!from->stack)
			continue;
		waker.comm = made_string(profile, from->comm);
		waker.stack = made_stack(profile, from->stack, from->truncated);
		made_check(profile_add_waker(profile, &waker, &next), "profile_add_waker");
	}
	return next;
}

static inline void made_add_stack(struct profile *profile, const struct made_sample *made,
				  uint32_t stack)
{
	bool oncpu = profile->mode == PROFILE_ONCPU;
	struct profile_sample sample = {.stack = stack,
					.comm = made_string(profile, made->comm),
					.pid = made->pid,
					.tid = made->tid,
					.reason = made->reason,
					.is_idle = made->is_idle,
					.waker = made_add_wakers(profile, made),
					.count = oncpu ? made->weight : 1,
					.nanoseconds = oncpu ? 0 : made->weight};

	made_check(profile_add_sample(profile, &sample), "profile_add_sample");
}

/* @locations: leaf first; used instead of @made's stack. */
static inline void made_add_locations(struct profile *profile, const struct made_sample *made,
				      const uint32_t *locations, uint32_t n)
{
	uint32_t stack;

	made_check(profile_add_stack(profile, locations, n, made->truncated, &stack),
		   "profile_add_stack");
	made_add_stack(profile, made, stack);
}

static inline void made_add(struct profile *profile, const struct made_sample *made)
{
	made_add_stack(profile, made, made_stack(profile, made->stack, made->truncated));
}

static inline struct profile *made_profile(enum profile_mode mode,
					   const struct made_sample *samples, size_t n)
{
	struct profile *profile;

	made_check(profile_new(mode, &profile), "profile_new");
	for (size_t i = 0; i < n; i++)
		made_add(profile, &samples[i]);
	return profile;
}

/* Deterministic pseudo-random numbers: xorshift64*. @state: not 0. */
static inline uint64_t made_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717u;
}

/* Names that break unescaped output. */
static const char *const made_hostile_names[] = {
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'single' & \"double\" &amp; &#60;",
    "]]><script>window.hacked=1</script>",
    "</title></svg>",
    "new\nline\ttab\rreturn",
    "control\x01\x02\x1f\x7f",
    "invalid \xff\xfe\x80 utf8",
    "overlong \xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf",
    "surrogate \xed\xa0\x80 \xed\xbf\xbf",
    "nonchar \xef\xbf\xbe \xef\xbf\xbf",
    "too big \xf4\x90\x80\x80 \xf8\x88\x80\x80\x80",
    "cut \xe2\x82",
    "right-to-left \xe2\x80\xae evil",
    "wide \xe6\xbc\xa2\xe5\xad\x97 and \xf0\x9f\x94\xa5",
    "a;b;c",
    " leading and trailing ",
    "${template} `tick` \\u003c \\",
    "--><!-- comment --",
    "f(int) (3 samples, 1.00%)",
};
#define N_MADE_HOSTILE (sizeof made_hostile_names / sizeof *made_hostile_names)

/* One stack for each hostile name, and one with all of them. */
static inline struct profile *made_hostile(enum profile_mode mode)
{
	struct profile *profile = made_profile(mode, NULL, 0);
	uint32_t locations[N_MADE_HOSTILE];

	for (size_t i = 0; i < N_MADE_HOSTILE; i++) {
		struct made_sample sample = {made_hostile_names[i], "", 1000000, .pid = 1,
					     .tid = 1};

		locations[i] = made_location(profile, i % FRAME_NOTE, made_hostile_names[i]);
		made_add_locations(profile, &sample, &locations[i], 1);
	}
	made_add_locations(profile, &(struct made_sample){"all", "", 50000000, .pid = 1, .tid = 1},
			   locations, N_MADE_HOSTILE);
	profile->command_line = made_string(profile, "sh -c 'echo \"<&>\" \x01 ]]>'");
	profile->host = made_string(profile, "<host>");
	return profile;
}

#endif
