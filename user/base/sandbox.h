/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox: gives up, for good, whatever a process that only computes can do without.
 *
 * Afterwards it is nobody, holds no capability and gains none by an exec, opens no file, makes no
 * connection and no process: the kernel kills it for any system call but those that read and write
 * descriptors it has, and that manage its own memory, none of which can be made executable.
 */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H

#include <linux/capability.h>
#include <stdint.h>

/* Linux 5.8 and 5.9: headers of older systems lack them. */
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_PERFMON	       38
#define CAP_BPF		       39
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define SANDBOX_NOBODY 65534 /* the user and group to become, where we may */

/*
 * Enters the sandbox. @memory_bytes: the most address space that the process may use. Sanitizers
 * need more system calls and memory than that: builds with them keep both.
 * Errors: -errno of what could not be given up; the caller must not go on then.
 */
int sandbox_enter(uint64_t memory_bytes);

/*
 * Gives up what opening and reading files for others does not take (base/broker.h). Errors: as
 * above.
 */
int sandbox_enter_broker(void);

/*
 * The same for a process that works on files which others open for it (base/confined.h): memory is
 * not limited, files may be as large as ours, and calls that are not allowed fail with -EPERM.
 */
int sandbox_enter_confined(void);

#define SANDBOX_ALL		  (~0ULL)
#define SANDBOX_CAPABILITY(number) (1ULL << (number))

/* What writing files as root takes, in folders of others and for others. */
#define SANDBOX_FOR_FILES                                                                          \
	(SANDBOX_CAPABILITY(CAP_DAC_OVERRIDE) | SANDBOX_CAPABILITY(CAP_DAC_READ_SEARCH) |          \
	 SANDBOX_CAPABILITY(CAP_CHOWN) | SANDBOX_CAPABILITY(CAP_FOWNER) |                          \
	 SANDBOX_CAPABILITY(CAP_FSETID) | SANDBOX_CAPABILITY(CAP_SETUID) |                         \
	 SANDBOX_CAPABILITY(CAP_SETGID))

/*
 * Keeps no capability but @kept_capabilities, gains none by an exec, and, where the kernel filters
 * calls, can't trace or enter other processes, mount, load modules or boot. Children inherit that.
 * Errors: -errno.
 */
int sandbox_restrict(uint64_t kept_capabilities);

/* Gives up @capabilities, a set of bits, in all sets but the bounding one. 0 or -errno. */
int sandbox_drop_capabilities(uint64_t capabilities);

/*
 * From the first to the second, no capability is in effect: a user whose copy of this program has
 * some opens only what they may. Nothing changes for root. The first returns what the second takes.
 */
uint64_t sandbox_set_aside(void);
void sandbox_take_up(uint64_t capabilities);

/*
 * Keeps this process, and all that it becomes, from typing into its terminal (TIOCSTI), where the
 * kernel lets processes do that. Others who share the terminal, a root shell say, would run what was
 * typed. Needs CAP_SYS_ADMIN. 0 or -errno.
 */
int sandbox_forbid_typing(void);

#endif
