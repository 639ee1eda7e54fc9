/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Landlock (Linux 5.13): headers of older systems lack it. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif
#define LANDLOCK_FIRST_RIGHTS ((1ULL << 13) - 1) /* all of the first version */

static const int allowed_calls[] = {
	SYS_read,	    SYS_pread64,    SYS_readv,	    SYS_write,	     SYS_writev,
	SYS_sendmsg,	    SYS_recvmsg,    SYS_sendto,	    SYS_recvfrom,    SYS_lseek,
	SYS_fstat,	    SYS_newfstatat, SYS_close,	    SYS_munmap,	     SYS_mremap,
	SYS_madvise,	    SYS_brk,	    SYS_futex,	    SYS_getrandom,   SYS_clock_gettime,
	SYS_clock_nanosleep, SYS_restart_syscall, SYS_rt_sigreturn, SYS_rt_sigprocmask,
	SYS_sched_yield,    SYS_sysinfo,    SYS_getpid,	    SYS_gettid,	    SYS_exit,	     SYS_exit_group,
};
/* Allowed but for memory that is executable: argument 2 says what for. */
static const int memory_calls[] = {SYS_mmap, SYS_mprotect};

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define N_ALLOWED    (sizeof allowed_calls / sizeof *allowed_calls)
#define N_MEMORY     (sizeof memory_calls / sizeof *memory_calls)

struct filter {
	struct sock_filter code[2 * N_ALLOWED + 5 * N_MEMORY + 8];
	unsigned short n;
};

static void emit(struct filter *filter, struct sock_filter instruction)
{
	filter->code[filter->n++] = instruction;
}

static void emit_return(struct filter *filter, uint32_t action)
{
	emit(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Runs the next @n instructions only if the accumulator is @value. */
static void emit_if_equal(struct filter *filter, uint32_t value, uint8_t n)
{
	emit(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n));
}

static void make_filter(struct filter *filter)
{
	filter->n = 0;
	emit(filter, (struct sock_filter)LOAD(arch));
	emit(filter,
	     (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
	emit_return(filter, SECCOMP_RET_KILL_PROCESS);
	emit(filter, (struct sock_filter)LOAD(nr));
	for (size_t i = 0; i < N_ALLOWED; i++) {
		emit_if_equal(filter, allowed_calls[i], 1);
		emit_return(filter, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < N_MEMORY; i++) {
		emit_if_equal(filter, memory_calls[i], 4);
		emit(filter, (struct sock_filter)LOAD(args[2]));
		emit(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC,
							  1, 0));
		emit_return(filter, SECCOMP_RET_ALLOW);
		emit_return(filter, SECCOMP_RET_KILL_PROCESS);
	}
	emit_return(filter, SECCOMP_RET_KILL_PROCESS);
}

static int install(struct filter *filter)
{
	struct sock_fprog program = {filter->n, filter->code};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? -errno : 0;
}

static int filter_calls(void)
{
	struct filter filter;

	make_filter(&filter);
	return install(&filter);
}

/* Where the kernel has it: what the filter above would let through opens no file all the same. */
static void deny_files(void)
{
	const uint64_t rights = LANDLOCK_FIRST_RIGHTS;
	int ruleset = syscall(SYS_landlock_create_ruleset, &rights, sizeof rights, 0);

	if (ruleset < 0)
		return;
	syscall(SYS_landlock_restrict_self, ruleset, 0);
	close(ruleset);
}

static int limit(int resource, uint64_t value)
{
	const struct rlimit limit = {value, value};

	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

static int set_limits(uint64_t memory_bytes)
{
	int r = limit(RLIMIT_CORE, 0);

	r = r < 0 ? r : limit(RLIMIT_FSIZE, 0);
	r = r < 0 ? r : limit(RLIMIT_NPROC, 0);
	return r < 0 || IS_SANITIZED ? r : limit(RLIMIT_AS, memory_bytes);
}

/* Who may not become nobody stays who they are, without more rights than that. */
static int become_nobody(void)
{
	bool may = geteuid() == 0;

	if (may && setgroups(0, NULL) < 0)
		return errno == EPERM ? 0 : -errno; /* a user namespace without other users */
	if (may && (setresgid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) < 0 ||
		    setresuid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) < 0))
		return errno == EINVAL ? 0 : -errno;
	return 0;
}

int sandbox_drop_capabilities(uint64_t capabilities)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};

	/* What is not inheritable can't be ambient either. */
	if (syscall(SYS_capget, &header, sets) < 0)
		return -errno;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t kept = ~(uint32_t)(capabilities >> 32 * i);

		sets[i].effective &= kept;
		sets[i].permitted &= kept;
		sets[i].inheritable &= kept;
	}
	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

int sandbox_enter(uint64_t memory_bytes)
{
	int r = set_limits(memory_bytes);

	r = r < 0 ? r : become_nobody();
	r = r < 0 ? r : sandbox_drop_capabilities(SANDBOX_ALL);
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	deny_files();
	return IS_SANITIZED ? 0 : filter_calls();
}

static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int sandbox_forbid_typing(void)
{
	/* ioctl of this architecture, and of those whose programs run on it. */
	static const uint32_t calls[] = {SYS_ioctl, 54 /* i386, arm */, 0x40000202 /* x32 */};
	static const uint32_t requests[] = {TIOCSTI, TIOCLINUX};
	struct filter filter = {};

	/* Linux 6.2 */
	if (!has_terminal() || !read_number_file("/proc/sys/dev/tty/legacy_tiocsti", 1))
		return 0;
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		emit(&filter, (struct sock_filter)LOAD(args[1]));
		emit_if_equal(&filter, requests[i], 1 + 2 * sizeof calls / sizeof *calls);
		emit(&filter, (struct sock_filter)LOAD(nr));
		for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
			emit_if_equal(&filter, calls[k], 1);
			emit_return(&filter, SECCOMP_RET_ERRNO | EPERM);
		}
	}
	emit_return(&filter, SECCOMP_RET_ALLOW);
	return install(&filter);
}
