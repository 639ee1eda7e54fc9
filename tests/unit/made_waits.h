/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_waits: profiles of one wait each, and what causes_apply() makes of them. */
#ifndef UNIT_MADE_WAITS_H
#define UNIT_MADE_WAITS_H

#include "unit/cmocka_all.h"

#include <string.h>

#include "collect/causes.h"
#include "made_profile.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define ENTRY	     " do_syscall_64 entry_SYSCALL_64_after_hwframe"
#define FAULT	     " do_user_addr_fault exc_page_fault asm_exc_page_fault"
#define FROM_KTHREAD " kthread ret_from_fork ret_from_fork_asm"

#define FUTEX "futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex" ENTRY
#define EPOLL "do_epoll_wait __x64_sys_epoll_wait" ENTRY
#define POLL  "poll_schedule_timeout.constprop.0 do_sys_poll __x64_sys_poll" ENTRY
#define SLEEP "hrtimer_nanosleep common_nsleep __x64_sys_clock_nanosleep" ENTRY
#define READ  "vfs_read ksys_read" ENTRY

static inline uint32_t add_function(struct profile *profile, const struct profile_mapping *mapping,
				    enum frame_kind kind, const char *name)
{
	struct profile_frame frame = {kind, made_string(profile, name)};
	uint32_t index, location;

	made_check(profile_add_mapping(profile, mapping, &index), "profile_add_mapping");
	made_check(profile_add_location(profile, index, (uint64_t)frame.function << 8, false,
					&location),
		   "profile_add_location");
	if (!profile->locations[location].n_frames)
		made_check(profile_set_frames(profile, location, &frame, 1), "profile_set_frames");
	return location;
}

static inline uint32_t add_location(struct profile *profile, enum mapping_kind kind,
				    const char *name)
{
	const struct profile_mapping mapping = {.kind = kind};

	return add_function(profile, &mapping, kind == MAPPING_KERNEL ? FRAME_KERNEL : FRAME_USER,
			    name);
}

/* Adds the functions in @names, separated by any of @separators, to @locations. */
static inline uint32_t add_locations(struct profile *profile, enum mapping_kind kind,
				     const char *names, const char *separators, uint32_t *locations)
{
	char *text = strdup(names), *rest = text;
	uint32_t n = 0;

	for (const char *name; (name = strsep(&rest, separators));)
		if (*name)
			locations[n++] = add_location(profile, kind, name);
	free(text);
	return n;
}

/*
 * Both leaf first. @kernel: separated by spaces. @user: by semicolons, because C++ names have
 * spaces.
 */
static inline uint32_t add_stack(struct profile *profile, const char *kernel, const char *user)
{
	uint32_t locations[64], stack;
	uint32_t n = add_locations(profile, MAPPING_KERNEL, kernel, " ", locations);

	n += add_locations(profile, MAPPING_FILE, user ? user : "main;_start", ";", locations + n);
	made_check(profile_add_stack(profile, locations, n, STACK_COMPLETE, &stack),
		   "profile_add_stack");
	return stack;
}

static inline struct profile_sample judged_of(const char *comm, const char *kernel,
					      const char *user, bool has_children,
					      struct profile_sample sample)
{
	struct profile *profile = made_profile(PROFILE_OFFCPU, NULL, 0);

	sample.stack = add_stack(profile, kernel, user);
	sample.comm = made_string(profile, comm);
	made_check(profile_add_sample(profile, &sample), "profile_add_sample");
	assert_int_equal(causes_apply(profile, has_children), 0);
	sample = profile->samples[0];
	profile_free(profile);
	return sample;
}

static inline struct profile_sample judged_as(const char *kernel, const char *user,
					      bool has_children, struct profile_sample sample)
{
	return judged_of("comm", kernel, user, has_children, sample);
}

static inline struct profile_sample judged(const char *kernel, const char *user,
					   struct profile_sample sample)
{
	return judged_as(kernel, user, false, sample);
}

#endif
