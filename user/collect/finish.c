/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "collect/collect.h"

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/*
 * What stands between a blocking function and our hook: the scheduler and the way into BPF. They
 * tell nothing and differ with the hook; of a thread that still waits the kernel does not show
 * them.
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
		if (starts_with(function, prefixes[i]))
			return true;
	return starts_with(function, "bpf_prog_") && strstr(function, "_on_switch");
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

/* Where threads begin; libc's own callers of main() and of the thread's function count. */
static bool is_entry(const char *function)
{
	static const char *const entries[] = {
		"_start",
		"clone3",
		"__clone3",
		"clone",
		"__clone",
		"start_thread",
		"__libc_start_main",
		"__libc_start_call_main",
		"_dl_start",
		"thread_start",
		"_dl_start_user",
		"__libc_start_main_impl",
		"runtime.goexit",
		"runtime.mstart",
		"runtime.rt0_go",
		"_rt0_amd64_linux",
		"_rt0_arm64_linux",
		NULL,
	};

	for (size_t i = 0; entries[i]; i++)
		if (strcmp(function, entries[i]) == 0 ||
		    (starts_with(function, entries[i]) && function[strlen(entries[i])] == '.'))
			return true;
	return false;
}

/*
 * Distributions strip libc, so its functions that call main() and thread functions have no names:
 * they show as `[libc.so.6+0x…]`, the outermost frame of a stack that has more.
 */
static bool is_nameless_libc(const char *function)
{
	return starts_with(function, "[libc.so") || starts_with(function, "[libc-2") ||
	       starts_with(function, "[libpthread") || starts_with(function, "[ld-linux") ||
	       starts_with(function, "[ld-musl");
}

static bool reaches_entry(const struct profile *profile, const struct profile_stack *stack)
{
	const struct profile_location *root =
		&profile->locations[profile->stack_locations[stack->first + stack->n - 1]];
	const char *function;

	if (profile->mappings[root->mapping].kind == MAPPING_KERNEL)
		return true; /* no user half */
	if (!root->n_frames)
		return false;
	function = strings_get(&profile->strings,
			       profile->frames[root->first_frame + root->n_frames - 1].function);
	return is_entry(function) ||
	       (is_nameless_libc(function) && stack->n > 1 && root->is_return);
}

void collect_finish_stacks(struct profile *profile, bool user_stacks)
{
	if (profile->mode == PROFILE_OFFCPU)
		hide_plumbing(profile);
	for (size_t i = 0; user_stacks && i < profile->n_stacks; i++)
		if (profile->stacks[i].n > 0 && !reaches_entry(profile, &profile->stacks[i]))
			profile->stacks[i].truncated = true;
}
