/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox: permanently gives up everything that a purely computing process does not need.
 *
 * Afterwards the process is nobody, has no capability and gains none by an exec, opens no file and
 * makes no connection or process: the kernel kills it for any system call except those that use its
 * descriptors or manage its own memory, which can't be made executable.
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

/* PROCMAP_QUERY of Linux 6.11 (linux/fs.h), the ioctl that the broker may call. */
#define SANDBOX_PROCMAP_QUERY 0xc0686611U

#define SANDBOX_NOBODY 65534 /* the user and group to become, if we may */

/*
 * Enters the sandbox. @memory_bytes: the limit of the process's address space. Sanitizers need more
 * system calls and memory: builds with them keep both. Errors: -errno of what could not be given
 * up; the caller must not go on then.
 */
int sandbox_enter(uint64_t memory_bytes);

/*
 * Gives up everything except opening and reading files for others (base/broker.h). Errors: as
 * above.
 */
int sandbox_enter_broker(void);

/*
 * The same for a process that works on files which others open for it (base/confined.h): memory is
 * not limited, files may be as large as ours, and calls that are not allowed fail with -EPERM.
 */
int sandbox_enter_confined(void);

/* The same, and it may accept connections at sockets that it has, and wait for them. */
int sandbox_enter_server(void);

#define SANDBOX_ALL		  (~0ULL)
#define SANDBOX_CAPABILITY(number) (1ULL << (number))

/* Capabilities for writing files as root, in folders of others and for others. */
#define SANDBOX_FOR_FILES                                                                          \
	(SANDBOX_CAPABILITY(CAP_DAC_OVERRIDE) | SANDBOX_CAPABILITY(CAP_DAC_READ_SEARCH) |          \
	 SANDBOX_CAPABILITY(CAP_CHOWN) | SANDBOX_CAPABILITY(CAP_FOWNER) |                          \
	 SANDBOX_CAPABILITY(CAP_FSETID) | SANDBOX_CAPABILITY(CAP_SETUID) |                         \
	 SANDBOX_CAPABILITY(CAP_SETGID))

/*
 * Keeps no capability except @kept_capabilities, and gains none by an exec. If the kernel filters
 * calls, the process also can't trace or enter other processes, mount, load modules or reboot.
 * Children inherit that. Errors: -errno.
 */
int sandbox_restrict(uint64_t kept_capabilities);

/* Gives up @capabilities, a set of bits, in all sets except the bounding one. 0 or -errno. */
int sandbox_drop_capabilities(uint64_t capabilities);

/*
 * From the first to the second, no capability is in effect: a user whose copy of this program has
 * some opens only what they may. Nothing changes for root. The first returns what the second takes.
 */
uint64_t sandbox_set_aside(void);
void sandbox_take_up(uint64_t capabilities);

/*
 * Keeps this process, and any program it becomes, from typing into its terminal (TIOCSTI), if the
 * kernel allows that at all. Otherwise a root shell on the same terminal would run what was typed.
 * Needs CAP_SYS_ADMIN. 0 or -errno.
 */
int sandbox_forbid_typing(void);

#endif
