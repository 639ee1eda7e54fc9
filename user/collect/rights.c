/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define BIT(capability) (1ULL << (capability))

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

static bool has(const struct rights *rights, int capability)
{
	return rights->capabilities & BIT(capability);
}

/* CAP_SYS_ADMIN includes both, as before they were split off (Linux 5.8). */
static bool has_or_admin(const struct rights *rights, int capability)
{
	return has(rights, capability) || has(rights, CAP_SYS_ADMIN);
}

/* The value of a line of /proc/self/status; NULL: none. */
static const char *status_value(const char *status, const char *key)
{
	const char *line = strstr(status, key);

	return line ? line + strlen(key) : NULL;
}

/* The first user namespace maps all ids to themselves, others fewer or to other ids. */
static bool maps_users(void)
{
	unsigned int inside, outside, n;
	char map[256];

	if (read_text_file("/proc/self/uid_map", map, sizeof map) < 0)
		return false;
	return sscanf(map, "%u %u %u", &inside, &outside, &n) != 3 || inside || outside ||
	       n != UINT32_MAX;
}

static enum rights_place find_place(void)
{
	if (getenv("KUBERNETES_SERVICE_HOST"))
		return PLACE_KUBERNETES;
	if (access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
	    getenv("container"))
		return PLACE_DOCKER;
	return PLACE_HOST;
}

/*
 * A call with invalid arguments fails in another way if a filter refuses it first. Without the
 * capability the kernel itself may refuse it first, so the result means nothing.
 */
static bool is_filtered(bool has_filter, long number, long first)
{
	if (syscall(number, first, 0L, 0L, -1L, 0L) >= 0)
		return false;
	return errno == ENOSYS || (has_filter && (errno == EPERM || errno == EACCES));
}

void rights_read(struct rights *ret)
{
	struct rlimit memory = {};
	char status[4096] = "", lockdown[128] = "";
	const char *capabilities, *no_new, *seccomp;
	bool has_filter;

	read_text_file("/proc/self/status", status, sizeof status);
	read_text_file("/sys/kernel/security/lockdown", lockdown, sizeof lockdown);
	capabilities = status_value(status, "\nCapEff:");
	no_new = status_value(status, "\nNoNewPrivs:");
	seccomp = status_value(status, "\nSeccomp:");
	has_filter = seccomp && strtoul(seccomp, NULL, 10) == 2;
	getrlimit(RLIMIT_MEMLOCK, &memory);
	*ret = (struct rights){
		.capabilities = capabilities ? strtoull(capabilities, NULL, 16) : 0,
		.is_root = geteuid() == 0,
		.in_user_namespace = maps_users(),
		.can_gain_none = no_new && strtoul(no_new, NULL, 10),
		.perf_restricted = (int64_t)read_number_file(PARANOID, 2) >= 3,
		.locked_down = strstr(lockdown, "[confidentiality]"),
		.memory_limited = memory.rlim_cur != RLIM_INFINITY,
		.place = find_place(),
	};
	if (ret->in_user_namespace)
		return;
	ret->bpf_filtered = has_or_admin(ret, CAP_BPF) && is_filtered(has_filter, SYS_bpf, -1);
	ret->perf_filtered =
		has_or_admin(ret, CAP_PERFMON) && is_filtered(has_filter, SYS_perf_event_open, 0);
}

/* --- capabilities ------------------------------------------------------------------------------
 */

static const struct {
	int number;
	const char *name; /* without CAP_, as docker and Kubernetes want it */
	const char *lower;
} capabilities[] = {
	{CAP_BPF, "BPF", "bpf"},
	{CAP_PERFMON, "PERFMON", "perfmon"},
	{CAP_SYS_PTRACE, "SYS_PTRACE", "sys_ptrace"},
	{CAP_DAC_READ_SEARCH, "DAC_READ_SEARCH", "dac_read_search"},
	{CAP_CHECKPOINT_RESTORE, "CHECKPOINT_RESTORE", "checkpoint_restore"},
};
#define N_CAPABILITIES (sizeof capabilities / sizeof *capabilities)

/* Appends to a text of @size bytes. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
							 const char *format, ...)
{
	size_t n = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + n, size - n, format, arguments);
	va_end(arguments);
}

/* How the place gives @wanted, a set of bits. */
static void add_fix(const struct rights *rights, uint64_t wanted, char *text, size_t size)
{
	const char *separator = "";

	if (rights->place == PLACE_KUBERNETES)
		append(text, size, "securityContext: {%scapabilities: {add: [",
		       rights->is_root ? "" : "runAsUser: 0, ");
	else if (rights->place == PLACE_DOCKER)
		append(text, size, "docker run%s", rights->is_root ? "" : " --user=0");
	else
		append(text, size, "sudo setcap ");
	for (size_t i = 0; i < N_CAPABILITIES; i++) {
		if (!(wanted & BIT(capabilities[i].number)))
			continue;
		if (rights->place == PLACE_KUBERNETES)
			append(text, size, "%s%s", separator[0] ? ", " : "", capabilities[i].name);
		else if (rights->place == PLACE_DOCKER)
			append(text, size, " --cap-add=%s", capabilities[i].name);
		else
			append(text, size, "%scap_%s", separator, capabilities[i].lower);
		separator = ",";
	}
	if (rights->place == PLACE_KUBERNETES)
		append(text, size, "]}}");
	else if (rights->place == PLACE_HOST)
		append(text, size, "+ep FILE, a copy with mode 0750: whoever may run it sees all");
}

static void explain_capabilities(const struct rights *rights, const char *what,
				 struct failure *failure)
{
	bool bpf = !has_or_admin(rights, CAP_BPF), perfmon = !has_or_admin(rights, CAP_PERFMON);
	char fix[200] = "";

	failure_set(failure, -EPERM, "not permitted to %s: %s", what,
		    bpf && perfmon ? "CAP_BPF and CAP_PERFMON are missing"
		    : bpf	   ? "CAP_BPF is missing"
				   : "CAP_PERFMON is missing");
	if (rights->place == PLACE_HOST && rights->can_gain_none) {
		failure_fix(failure, -EPERM,
			    "sudo and setcap have no effect here (no_new_privs): start it as "
			    "root, or by systemd with AmbientCapabilities=CAP_BPF CAP_PERFMON");
		return;
	}
	add_fix(rights, BIT(CAP_BPF) | BIT(CAP_PERFMON), fix, sizeof fix);
	failure_fix(failure, -EPERM, "%s%s",
		    rights->place == PLACE_HOST ? "run as root (sudo bpfflame …), or once: " : "",
		    fix);
}

static void explain_filter(const struct rights *rights, const char *what, struct failure *failure)
{
	static const char *const fixes[] = {
		[PLACE_HOST] =
			"of systemd: SystemCallFilter=bpf perf_event_open besides the others",
		[PLACE_DOCKER] = "docker run --security-opt seccomp=unconfined, or a profile that "
				 "allows bpf and perf_event_open",
		[PLACE_KUBERNETES] = "securityContext: {seccompProfile: {type: Unconfined}}, or a "
				     "profile that allows bpf and perf_event_open",
	};

	failure_set(failure, -EPERM,
		    "not permitted to %s: a filter of system calls (seccomp) refuses %s", what,
		    rights->bpf_filtered && rights->perf_filtered ? "bpf() and perf_event_open()"
		    : rights->bpf_filtered			  ? "bpf()"
								  : "perf_event_open()");
	failure_fix(failure, -EPERM, "%s", fixes[rights->place]);
}

/* Kernels of Debian and Ubuntu, unlike others, then ignore CAP_PERFMON. */
static void explain_paranoid(const struct rights *rights, struct failure *failure)
{
	failure_set(
		failure, -EACCES,
		"not permitted to open perf events: kernel.perf_event_paranoid is 3 or more, so "
		"this kernel asks for CAP_SYS_ADMIN");
	failure_fix(failure, -EACCES, "%s",
		    rights->place == PLACE_DOCKER
			    ? "on the host: sysctl kernel.perf_event_paranoid=2; or docker run "
			      "--cap-add=SYS_ADMIN"
		    : rights->place == PLACE_KUBERNETES
			    ? "on the node: sysctl kernel.perf_event_paranoid=2; or "
			      "securityContext: {capabilities: {add: [SYS_ADMIN]}}"
			    : "sudo sysctl kernel.perf_event_paranoid=2, or run as root (sudo "
			      "bpfflame …)");
}

static void explain_memory(const struct rights *rights, struct failure *failure)
{
	failure_set(failure, -EPERM,
		    "not permitted to map buffers of perf events: they and those of other programs "
		    "of this user are above the limit of locked memory");
	failure_fix(failure, -EPERM, "%s",
		    rights->place == PLACE_DOCKER
			    ? "docker run --ulimit memlock=-1, or --cap-add=IPC_LOCK"
		    : rights->place == PLACE_KUBERNETES
			    ? "securityContext: {capabilities: {add: [IPC_LOCK]}}"
			    : "ulimit -l unlimited, or sysctl kernel.perf_event_mlock_kb=65536");
}

bool rights_explain_with(const struct rights *rights, enum rights_of tried, int error,
			 struct failure *failure)
{
	const char *what = tried == RIGHTS_BPF ? "load BPF programs" : "open perf events";
	bool refused = error == -EPERM || error == -EACCES;

	if (rights->in_user_namespace && refused) {
		failure_set(failure, -EPERM,
			    "not permitted to %s: this is a user namespace (a rootless container), "
			    "whose capabilities end at its border",
			    what);
		failure_fix(failure, -EPERM,
			    "run it on the host as root, or in a container that root started; see "
			    "docs/containers.md");
	} else if (rights->bpf_filtered || rights->perf_filtered) {
		explain_filter(rights, what, failure);
	} else if (!refused) {
		return false;
	} else if (!has_or_admin(rights, CAP_BPF) || !has_or_admin(rights, CAP_PERFMON)) {
		explain_capabilities(rights, what, failure);
	} else if (tried == RIGHTS_PERF_EVENTS && error == -EACCES && rights->perf_restricted &&
		   !has(rights, CAP_SYS_ADMIN)) {
		explain_paranoid(rights, failure);
	} else if (rights->locked_down) {
		failure_set(failure, -EPERM, "not permitted to %s: this kernel is locked down",
			    what);
		failure_fix(failure, -EPERM,
			    "boot with lockdown=integrity, or without Secure Boot");
	} else if (tried == RIGHTS_PERF_EVENTS && error == -EPERM && rights->memory_limited &&
		   !has(rights, CAP_IPC_LOCK)) {
		explain_memory(rights, failure);
	} else if (error == -EPERM) {
		failure_set(failure, -EPERM,
			    "not permitted to %s, in spite of CAP_BPF and CAP_PERFMON: a security "
			    "module (SELinux, AppArmor) may be why",
			    what);
		failure_fix(
			failure, -EPERM, "%s",
			rights->place == PLACE_DOCKER
				? "docker run --security-opt apparmor=unconfined, or label=disable "
				  "for SELinux; see the host's dmesg"
				: "see dmesg | grep -i denied");
	} else {
		return false; /* -EACCES in spite of all: the verifier's */
	}
	return true;
}

bool rights_explain(enum rights_of tried, int error, struct failure *failure)
{
	struct rights rights;

	rights_read(&rights);
	return rights_explain_with(&rights, tried, error, failure);
}

#define LITTLE_MEMORY (64ull << 20)

bool rights_explain_memory(int error, struct failure *failure)
{
	struct rlimit data, space;

	if (error == -EPERM || error == -EINVAL || getrlimit(RLIMIT_DATA, &data) < 0 ||
	    getrlimit(RLIMIT_AS, &space) < 0 ||
	    (data.rlim_cur >= LITTLE_MEMORY && space.rlim_cur >= LITTLE_MEMORY))
		return false;
	failure_fix(failure, error, "memory is limited: ulimit -%c unlimited",
		    data.rlim_cur < LITTLE_MEMORY ? 'd' : 'v');
	return true;
}

bool rights_explain_files(int error, struct failure *failure)
{
	if (error == -EMFILE)
		failure_fix(failure, error, "raise the limit of open files: ulimit -n 65536");
	return error == -EMFILE;
}

/* --- what costs names only ---------------------------------------------------------------------
 */

void rights_fix_for_files(char *text, size_t size)
{
	static const int needed[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE};
	uint64_t missing = 0;
	struct rights rights;

	rights_read(&rights);
	text[0] = '\0';
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!has(&rights, needed[i]))
			missing |= BIT(needed[i]);
	if (has(&rights, CAP_DAC_OVERRIDE))
		missing &= ~BIT(CAP_DAC_READ_SEARCH);
	if (has(&rights, CAP_SYS_ADMIN))
		missing &= ~BIT(CAP_CHECKPOINT_RESTORE);
	if (missing)
		add_fix(&rights, missing | BIT(CAP_BPF) | BIT(CAP_PERFMON), text, size);
}

bool rights_is_hidden(uint32_t id)
{
	return kill(id, 0) < 0 && errno == EPERM;
}
