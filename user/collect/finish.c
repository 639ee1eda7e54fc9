/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/text.h"
#include "collect/causes.h"
#include "collect/collect.h"

static const char *name_of(const struct profile *profile, const struct profile_location *location)
{
	return location->n_frames ? strings_get(&profile->strings,
						profile->frames[location->first_frame].function)
				  : "";
}

/*
 * Matches the functions between a blocking function and our hook: the scheduler and the way into
 * BPF. They say nothing and differ with the hook; for a thread that is still waiting, the kernel
 * omits them.
 */
static bool is_switch_plumbing(const char *function)
{
	static const char *const prefixes[] = {
		"schedule",	      "__schedule",	    "io_schedule",
		"preempt_schedule",   "do_nanosleep",	    "__switch_to",
		"bpf_trace_run",      "__bpf_trace_",	    "__traceiter_",
		"trace_call_bpf",     "bpf_trampoline_",    "bpf_get_stack",
		"finish_task_switch", "kprobe_ftrace_",	    "ftrace_",
		"arch_ftrace_",	      "perf_trace_run_bpf", "kprobe_perf_func",
		"kprobe_dispatcher",  "aggr_pre_handler",   "kprobe_int3_handler",
		"exc_int3",	      "asm_exc_int3",	    NULL,
	};

	for (size_t i = 0; prefixes[i]; i++)
		if (text_begins(function, prefixes[i]))
			return true;
	return text_begins(function, "bpf_prog_") && strstr(function, "_on_");
}

static void hide_plumbing(struct profile *profile)
{
	for (size_t i = 0; i < profile->n_locations; i++) {
		struct profile_location *location = &profile->locations[i];

		if (profile->mappings[location->mapping].kind != MAPPING_KERNEL ||
		    !location->n_frames)
			continue;
		location->hidden = is_switch_plumbing(strings_get(
			&profile->strings, profile->frames[location->first_frame].function));
	}
}

/*
 * Matches functions of Go's runtime at which its own tracebacks end (topofstack() in its sources):
 * threads and goroutines begin there, or the scheduler took over a thread's stack. The chain of
 * frame pointers does not end there but leads astray.
 */
static bool is_top_of_go(const char *function)
{
	static const char *const names[] = {"runtime.goexit", "runtime.mstart", "runtime.rt0_go",
					    "runtime.mcall", "runtime.morestack"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t n = strlen(names[i]);

		if (strncmp(function, names[i], n) == 0 &&
		    (!function[n] || strcmp(function + n, ".abi0") == 0))
			return true;
	}
	return false;
}

static bool ends_go_stack(const struct profile *profile, const struct profile_location *location)
{
	return profile->mappings[location->mapping].kind == MAPPING_FILE &&
	       is_top_of_go(name_of(profile, location));
}

static bool has_go(const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_locations; i++)
		if (ends_go_stack(profile, &profile->locations[i]))
			return true;
	return false;
}

static void end_go_stacks(struct profile *profile)
{
	for (size_t i = 0; i < profile->n_stacks; i++) {
		struct profile_stack *stack = &profile->stacks[i];

		for (uint32_t k = 0; k < stack->n; k++) {
			if (!ends_go_stack(profile,
					   &profile->locations
						    [profile->stack_locations[stack->first + k]]))
				continue;
			stack->n = k + 1;
			stack->end = STACK_COMPLETE;
		}
	}
}

/*
 * A thread that has not run an instruction of its own is right after the system call that made it,
 * where the unwind information still describes its maker's stack. It has one frame.
 */
static void end_new_threads(struct profile *profile)
{
	for (size_t i = 0; i < profile->n_stacks; i++) {
		struct profile_stack *stack = &profile->stacks[i];
		const struct profile_location *before = NULL;
		uint32_t k = 0;

		for (; stack->end != STACK_COMPLETE && k < stack->n; k++) {
			const struct profile_location *location =
				&profile->locations[profile->stack_locations[stack->first + k]];

			if (profile->mappings[location->mapping].kind != MAPPING_KERNEL)
				break;
			before = location;
		}
		if (!before || k == stack->n ||
		    !text_begins(name_of(profile, before), "ret_from_fork"))
			continue;
		stack->n = k + 1;
		stack->end = STACK_COMPLETE;
	}
}

int collect_finish_stacks(struct profile *profile, const struct collect_options *options)
{
	bool has_children = !options->n_tids && !options->comm && !options->no_children;
	int r = 0;

	if (profile->mode != PROFILE_ONCPU) {
		hide_plumbing(profile);
		r = causes_apply(profile, has_children);
	}
	end_new_threads(profile);
	if (has_go(profile))
		end_go_stacks(profile);
	return r;
}
