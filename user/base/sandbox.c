/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
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
#define LANDLOCK_FIRST_RIGHTS ((1ULL << 13) - 1) /* all rights of the first version */

#define BROKER_MEMORY (256ULL << 20)
/*
 * Capabilities for opening others' files: their root folders, their mappings (CAP_PERFMON is enough
 * for the list of these since Linux 6.15), and reading.
 */
#define FOR_OPENING                                                                                \
	(SANDBOX_CAPABILITY(CAP_SYS_PTRACE) | SANDBOX_CAPABILITY(CAP_DAC_READ_SEARCH) |            \
	 SANDBOX_CAPABILITY(CAP_SYS_ADMIN) | SANDBOX_CAPABILITY(CAP_CHECKPOINT_RESTORE) |          \
	 SANDBOX_CAPABILITY(CAP_PERFMON))

static const int allowed_calls[] = {
	SYS_read,	    SYS_pread64,    SYS_readv,	    SYS_write,	     SYS_writev,
	SYS_sendmsg,	    SYS_recvmsg,    SYS_sendto,	    SYS_recvfrom,    SYS_lseek,
	SYS_fstat,	    SYS_newfstatat, SYS_close,	    SYS_munmap,	     SYS_mremap,
	SYS_madvise,	    SYS_brk,	    SYS_futex,	    SYS_getrandom,   SYS_clock_gettime,
	SYS_clock_nanosleep, SYS_restart_syscall, SYS_rt_sigreturn, SYS_rt_sigprocmask,
	SYS_sched_yield,    SYS_sysinfo,    SYS_getpid,	    SYS_gettid,	    SYS_exit,	     SYS_exit_group,
};

/* A call that is allowed unless one of these bits is in its argument 2. */
struct guarded_call {
	int call;
	uint32_t forbidden;
};
/* No executable memory. */
static const struct guarded_call memory_calls[] = {
	{SYS_mmap, PROT_EXEC},
	{SYS_mprotect, PROT_EXEC},
};

/* Further calls for the broker. */
static const int broker_calls[] = {
	SYS_openat2,	     SYS_readlinkat, SYS_statx,	   SYS_fstatfs, SYS_fcntl, SYS_faccessat,
	SYS_clone,	     SYS_wait4,	     SYS_prctl,	   SYS_ppoll,	SYS_kill,
	SYS_set_robust_list, SYS_getppid,    SYS_nanosleep, SYS_process_vm_readv,
#ifdef SYS_rseq
	SYS_rseq,
#endif
#ifdef SYS_open
	SYS_readlink,	     SYS_poll,	     SYS_access,
#endif
};
static const struct guarded_call opening_calls[] = {
	{SYS_openat, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC},
};

/* A call that is allowed with this value of its argument 1. */
struct valued_call {
	int call;
	uint32_t value;
};

/* Events of whole CPUs; what is mapped at an address. */
static const struct valued_call broker_values[] = {
	{SYS_perf_event_open, -1},
	{SYS_ioctl, SANDBOX_PROCMAP_QUERY},
};

#define NEWER_TCGETS 0x802c542a /* TCGETS2, which isatty() of newer C libraries asks for */

/* Of whoever works on files that others open: looks at its descriptors, and makes copies. */
static const int confined_calls[] = {SYS_fadvise64, SYS_getuid, SYS_geteuid, SYS_getppid};
static const struct valued_call confined_values[] = {
	{SYS_ioctl, TCGETS},  {SYS_ioctl, NEWER_TCGETS}, {SYS_ioctl, TIOCGWINSZ},
	{SYS_fcntl, F_GETFD}, {SYS_fcntl, F_GETFL},	 {SYS_fcntl, F_DUPFD_CLOEXEC},
};

/* Of whoever answers on a socket that it was handed. */
static const int server_calls[] = {
	SYS_accept4, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_shutdown,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
};

/* Calls that a recorder, and the set writers it forks, never need. */
static const int forbidden_calls[] = {
	SYS_ptrace,	    SYS_process_vm_readv,  SYS_process_vm_writev, SYS_init_module,
	SYS_finit_module,   SYS_delete_module,	   SYS_kexec_load,	  SYS_mount,
	SYS_umount2,	    SYS_pivot_root,	   SYS_chroot,		  SYS_reboot,
	SYS_swapon,	    SYS_swapoff,	   SYS_setns,		  SYS_unshare,
	SYS_add_key,	    SYS_request_key,	   SYS_keyctl,		  SYS_acct,
	SYS_settimeofday,   SYS_clock_settime,	   SYS_sethostname,	  SYS_setdomainname,
	SYS_mknodat,	    SYS_userfaultfd,	   SYS_open_by_handle_at, SYS_name_to_handle_at,
	SYS_quotactl,
};

#define LOAD(member)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define N_ITEMS(array) (sizeof(array) / sizeof *(array))
#define MAX_CODE      256

struct filter {
	struct sock_filter code[MAX_CODE];
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

#define X32_CALLS 0x40000000 /* and above: x86-64's calls by other numbers */

/* Kills callers that use another architecture's numbers. */
static void begin_filter(struct filter *filter)
{
	emit(filter, (struct sock_filter)LOAD(arch));
	emit(filter,
	     (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
	emit_return(filter, SECCOMP_RET_KILL_PROCESS);
	emit(filter, (struct sock_filter)LOAD(nr));
	emit(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1));
	emit_return(filter, SECCOMP_RET_KILL_PROCESS);
}

static void emit_calls(struct filter *filter, const int *calls, size_t n, uint32_t action)
{
	for (size_t i = 0; i < n; i++) {
		emit_if_equal(filter, calls[i], 1);
		emit_return(filter, action);
	}
}

static void emit_guarded(struct filter *filter, const struct guarded_call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		emit_if_equal(filter, calls[i].call, 4);
		emit(filter, (struct sock_filter)LOAD(args[2]));
		emit(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
							  calls[i].forbidden, 1, 0));
		emit_return(filter, SECCOMP_RET_ALLOW);
		emit_return(filter, SECCOMP_RET_KILL_PROCESS);
	}
}

static void emit_valued(struct filter *filter, const struct valued_call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		emit_if_equal(filter, calls[i].call, 4);
		emit(filter, (struct sock_filter)LOAD(args[1]));
		emit_if_equal(filter, calls[i].value, 1);
		emit_return(filter, SECCOMP_RET_ALLOW);
		emit(filter, (struct sock_filter)LOAD(nr));
	}
}

static int install(struct filter *filter)
{
	struct sock_fprog program = {filter->n, filter->code};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? -errno : 0;
}

/* Allows the common calls, and the broker's if @is_broker. */
static int allow_calls(bool is_broker)
{
	struct filter filter = {};

	begin_filter(&filter);
	emit_calls(&filter, allowed_calls, N_ITEMS(allowed_calls), SECCOMP_RET_ALLOW);
	emit_guarded(&filter, memory_calls, N_ITEMS(memory_calls));
	if (is_broker) {
		emit_calls(&filter, broker_calls, N_ITEMS(broker_calls), SECCOMP_RET_ALLOW);
		emit_valued(&filter, broker_values, N_ITEMS(broker_values));
		emit_guarded(&filter, opening_calls, N_ITEMS(opening_calls));
	}
	emit_return(&filter, SECCOMP_RET_KILL_PROCESS);
	return install(&filter);
}

/* Calls that fail are no more use to an attacker than death, and less trouble to everybody else. */
static int allow_confined(bool is_server)
{
	struct filter filter = {};

	begin_filter(&filter);
	emit_calls(&filter, allowed_calls, N_ITEMS(allowed_calls), SECCOMP_RET_ALLOW);
	emit_guarded(&filter, memory_calls, N_ITEMS(memory_calls));
	emit_calls(&filter, confined_calls, N_ITEMS(confined_calls), SECCOMP_RET_ALLOW);
	emit_valued(&filter, confined_values, N_ITEMS(confined_values));
	if (is_server)
		emit_calls(&filter, server_calls, N_ITEMS(server_calls), SECCOMP_RET_ALLOW);
	emit_return(&filter, SECCOMP_RET_ERRNO | EPERM);
	return install(&filter);
}

static int forbid_calls(void)
{
	struct filter filter = {};

	begin_filter(&filter);
	emit_calls(&filter, forbidden_calls, N_ITEMS(forbidden_calls), SECCOMP_RET_ERRNO | EPERM);
	emit_return(&filter, SECCOMP_RET_ALLOW);
	return install(&filter);
}

/* Landlock, if available: even the calls that the filter above allows can't open files. */
static void deny_files(void)
{
	const uint64_t rights = LANDLOCK_FIRST_RIGHTS;
	int ruleset = syscall(SYS_landlock_create_ruleset, &rights, sizeof rights, 0);

	if (ruleset < 0)
		return;
	syscall(SYS_landlock_restrict_self, ruleset, 0);
	close(ruleset);
}

/* A lower limit that we may not raise remains. */
static int limit(int resource, uint64_t value)
{
	struct rlimit limit = {value, value};

	if (setrlimit(resource, &limit) == 0)
		return 0;
	if (errno != EPERM || getrlimit(resource, &limit) < 0)
		return -errno;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

static int set_limits(uint64_t memory_bytes)
{
	int r = limit(RLIMIT_CORE, 0);

	if (r < 0)
		return r;
	r = limit(RLIMIT_FSIZE, 0);
	if (r < 0 || IS_SANITIZED)
		return r;
	return limit(RLIMIT_AS, memory_bytes);
}

/* If we may not become nobody, we keep our user, but no more rights. */
static int become_nobody(void)
{
	bool may = geteuid() == 0;

	if (may && setgroups(0, NULL) < 0)
		return errno == EPERM ? 0 : -errno; /* a user namespace without other users */
	if (may && (setresgid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) < 0 ||
		    setresuid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) < 0))
		return errno == EINVAL || errno == EPERM ? 0 : -errno;
	return 0;
}

int sandbox_drop_capabilities(uint64_t capabilities)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};

	/* Only inheritable capabilities can be ambient. */
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

/* Puts @capabilities in effect. Returns those that were. */
static uint64_t exchange_effective(uint64_t capabilities)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
	uint64_t before = 0;

	if (syscall(SYS_capget, &header, sets) < 0)
		return 0;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		before |= (uint64_t)sets[i].effective << 32 * i;
		sets[i].effective = (uint32_t)(capabilities >> 32 * i) & sets[i].permitted;
	}
	/* Permitted capabilities remain, so this can't fail. */
	syscall(SYS_capset, &header, sets);
	return before;
}

uint64_t sandbox_set_aside(void)
{
	return getuid() == 0 ? 0 : exchange_effective(0);
}

void sandbox_take_up(uint64_t capabilities)
{
	if (capabilities)
		exchange_effective(capabilities);
}

/* Others can't trace us, exec gives us no rights, and we end with our parent. */
static int close_up(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* No children, no capabilities, and a user without rights, if we may become one. */
static int give_up_all(void)
{
	int r = limit(RLIMIT_NPROC, 0);

	if (r < 0)
		return r;
	r = become_nobody();
	if (r < 0)
		return r;
	r = sandbox_drop_capabilities(SANDBOX_ALL);
	if (r < 0)
		return r;
	return close_up();
}

int sandbox_enter(uint64_t memory_bytes)
{
	int r = set_limits(memory_bytes);

	if (r < 0)
		return r;
	r = give_up_all();
	if (r < 0)
		return r;
	deny_files();
	return IS_SANITIZED ? 0 : allow_calls(false);
}

static int enter_confined(bool is_server)
{
	int r = limit(RLIMIT_CORE, 0);

	if (r < 0)
		return r;
	r = give_up_all();
	if (r < 0 || IS_SANITIZED)
		return r;
	deny_files();
	r = allow_confined(is_server);
	return r == -EINVAL ? 0 : r; /* a kernel without filters */
}

int sandbox_enter_confined(void)
{
	return enter_confined(false);
}

int sandbox_enter_server(void)
{
	return enter_confined(true);
}

static bool may(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};

	return syscall(SYS_capget, &header, sets) == 0 &&
	       (sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability));
}

int sandbox_enter_broker(void)
{
	uint64_t kept = FOR_OPENING;
	int r = set_limits(BROKER_MEMORY);

	if (r < 0)
		return r;
	if (!may(CAP_DAC_READ_SEARCH))
		kept |= SANDBOX_CAPABILITY(CAP_DAC_OVERRIDE);
	r = sandbox_drop_capabilities(~kept);
	if (r < 0)
		return r;
	r = close_up();
	if (r < 0 || IS_SANITIZED)
		return r;
	/* No Landlock: it would forbid looking at other processes. */
	return allow_calls(true);
}

int sandbox_restrict(uint64_t kept_capabilities)
{
	int r = sandbox_drop_capabilities(~kept_capabilities);

	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	forbid_calls();
	return 0;
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
	/* ioctl of this architecture, and of those whose programs it runs. */
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
