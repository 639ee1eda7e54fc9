/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json.h"
#include "base/reader.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cmd/cmd.h"
#include "cli/option_table.h"
#include "collect/collect.h"
#include "collect/counters.h"
#include "collect/rights.h"
#include "collect/tracefs.h"
#include "symbol/names_job.h"

#define UNWIND_MEMORY (256ULL << 20)
#define TRIAL_NS      10000000 /* length of the trial recording */
#define KERNEL_DEPTH  127      /* of kernel halves' frames */

struct doctor_command {
	uint32_t pid;
	bool json, help;
};

/* --- Findings --- */

struct finding *findings_add(struct findings *findings, enum finding_status status,
			     const char *what, const char *format, ...)
{
	struct finding *finding;
	va_list arguments;

	if (array_reserve(findings->items, findings->capacity, findings->n, 1) < 0)
		return NULL;
	finding = &findings->items[findings->n++];
	*finding = (struct finding){.status = status};
	snprintf(finding->what, sizeof finding->what, "%s", what);
	va_start(arguments, format);
	vsnprintf(finding->text, sizeof finding->text, format, arguments);
	va_end(arguments);
	return finding;
}

static void set_fix(struct finding *finding, const char *text)
{
	if (finding)
		snprintf(finding->fix, sizeof finding->fix, "%s", text);
}

static void add_failure(struct findings *findings, enum finding_status status, const char *what,
			const struct failure *failure)
{
	set_fix(findings_add(findings, status, what, "%s",
			     failure->what[0] ? failure->what : "out of memory"),
		failure->fix);
}

static void findings_done(struct findings *findings)
{
	free(findings->items);
	*findings = (struct findings){};
}

/* --- The machine --- */

static void look_at_kernel(struct findings *findings)
{
	struct utsname system = {};
	struct finding *finding;

	uname(&system);
	if (kernel_is_since(5, 15))
		findings_add(findings, FINDING_OK, "kernel", "Linux %s, %s", system.release,
			     system.machine);
	else
		set_fix(findings_add(findings, kernel_is_since(5, 10) ? FINDING_WARN : FINDING_NO,
				     "kernel", "Linux %s, %s", system.release, system.machine),
			"Linux 5.15 or newer; 5.10 has fewer features");
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0) {
		findings_add(findings, FINDING_OK, "BTF", "/sys/kernel/btf/vmlinux");
		return;
	}
	finding = findings_add(findings, FINDING_NO, "BTF", "no /sys/kernel/btf/vmlinux");
	set_fix(finding, "a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions have it");
}

static void look_at_rights(struct findings *findings)
{
	struct rights rights;
	char text[RIGHTS_FIX_SIZE];

	rights_read(&rights);
	findings_add(findings, FINDING_OK, "rights", "%s%s%s", rights.is_root ? "root" : "no root",
		     rights.in_user_namespace ? ", of a user namespace only" : "",
		     rights.can_gain_none ? ", no_new_privs" : "");
	rights_fix_for_files(text, sizeof text);
	if (*text)
		set_fix(findings_add(findings, FINDING_WARN, "files of others",
				     "capabilities are missing: their functions may have no names"),
			text);
	if (rights.locked_down)
		set_fix(findings_add(findings, FINDING_NO, "lockdown", "confidentiality"),
			"boot with lockdown=integrity, or without Secure Boot");
}

/* Loads and attaches everything, and lets it run for a moment: the only real proof. */
static int try_recording(const struct collect_options *options, struct collector **ret,
			 struct failure *failure)
{
	int r = collect_open(options, ret, failure);

	if (r < 0)
		return r;
	r = collect_start(*ret, TRIAL_NS, failure);
	if (r < 0)
		return r;
	return collect_stop(*ret, failure);
}

static bool try_mode(enum profile_mode mode, const char *what, struct findings *findings)
{
	const struct collect_options options = {
		.mode = mode,
		.frequency = 99,
		.max_block_ns = UINT64_MAX,
		.offcpu_period_ns = PERIOD_AUTO,
		.unwind_memory = UNWIND_MEMORY,
		.debug = &names_job_debug,
		.stop_fd = -1,
	};
	struct collector *collector = NULL;
	struct failure failure = {};
	int r = try_recording(&options, &collector, &failure);

	if (r < 0)
		add_failure(findings, FINDING_NO, what, &failure);
	else
		findings_add(findings, FINDING_OK, what, "works, by %s",
			     mode == PROFILE_ONCPU ? collect_source(collector)
						   : collect_hook(collector));
	collect_free(collector);
	return r >= 0;
}

/* The kernel drops an event that comes while another BPF program runs on that CPU. */
static void look_at_misses(struct findings *findings)
{
	bool probes = event_counts_misses(EVENT_KPROBE);

	findings_add(findings, probes ? FINDING_OK : FINDING_WARN, "losses of -e",
		     "what comes while other BPF programs run is %s",
		     probes ? "counted for tracepoints and probes, not for counters"
			    : "lost uncounted (before Linux 6.7)");
}

static void look_at_events(struct findings *findings)
{
	struct counter cycles;
	struct failure failure = {};
	bool is_private;
	int r, fd;

	if (counter_find("cycles", &cycles, &failure) == 0 && counter_try(&cycles) == 0)
		findings_add(findings, FINDING_OK, "PMU", "cycles can be counted");
	else
		set_fix(findings_add(findings, FINDING_WARN, "PMU",
				     "no cycles here: samples come by the clock (cpu-clock)"),
			"in a virtual machine, its host can pass the PMU on");
	r = tracefs_open(&fd, &is_private);
	if (r == 0) {
		findings_add(findings, FINDING_OK, "tracepoints", "tracefs can be read");
		close(fd);
		return;
	}
	tracefs_refuse(r, &failure);
	add_failure(findings, FINDING_WARN, "tracepoints", &failure);
}

static void look_at_settings(struct findings *findings)
{
	static const struct {
		const char *path, *name;
		uint64_t least;
		const char *costs;
	} settings[] = {
		{"/proc/sys/kernel/perf_event_max_stack", "kernel.perf_event_max_stack",
		 KERNEL_DEPTH, "deeper kernel halves of stacks are cut off"},
		{"/proc/sys/kernel/perf_event_max_sample_rate", "kernel.perf_event_max_sample_rate",
		 1000, "-F can't be above it"},
		{"/proc/sys/net/core/bpf_jit_enable", "net.core.bpf_jit_enable", 1,
		 "BPF programs are interpreted, and slow"},
	};

	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		uint64_t value = read_number_file(settings[i].path, UINT64_MAX);
		char text[128];

		if (value == UINT64_MAX || value >= settings[i].least)
			continue;
		snprintf(text, sizeof text, "sudo sysctl %s=%ju", settings[i].name,
			 (uintmax_t)settings[i].least);
		set_fix(findings_add(findings, FINDING_WARN, settings[i].name, "%ju: %s",
				     (uintmax_t)value, settings[i].costs),
			text);
	}
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
		findings_add(findings, FINDING_OK, "cgroups", "v2");
	else if (access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0)
		findings_add(findings, FINDING_OK, "cgroups",
			     "v2 at /sys/fs/cgroup/unified, beside v1: -G takes paths of both");
	else
		findings_add(findings, FINDING_WARN, "cgroups",
			     "no v2 at /sys/fs/cgroup: -G takes paths of v1");
}

static bool is_in_path(const char *program)
{
	const char *path = getenv("PATH");
	_cleanup_free_ char *copy = strdup(path ? path : ""), *rest = copy;
	char file[512], *folder;

	while (copy && (folder = strsep(&rest, ":"))) {
		snprintf(file, sizeof file, "%s/%s", folder, program);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

static void look_at_debuginfod(struct findings *findings)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && *urls && is_in_path("debuginfod-find"))
		findings_add(findings, FINDING_OK, "debuginfod", "%s", urls);
	else if (urls && *urls)
		set_fix(findings_add(findings, FINDING_WARN, "debuginfod",
				     "DEBUGINFOD_URLS is set, and there is no debuginfod-find"),
			"apt install debuginfod, or dnf install elfutils-debuginfod-client");
	else
		set_fix(findings_add(findings, FINDING_OK, "debuginfod",
				     "not asked for names of stripped programs"),
			"export DEBUGINFOD_URLS=https://debuginfod.debian.net (or your "
			"distribution's), and sudo -E");
}

/* Returns whether the whole machine can be recorded. */
static bool look_at_machine(struct findings *findings)
{
	bool works;

	look_at_kernel(findings);
	look_at_rights(findings);
	works = try_mode(PROFILE_ONCPU, "on-CPU", findings);
	works &= try_mode(PROFILE_OFFCPU, "off-CPU", findings);
	look_at_events(findings);
	look_at_misses(findings);
	look_at_settings(findings);
	look_at_debuginfod(findings);
	return works;
}

/* --- Output --- */

static const char *const status_names[] = {
	[FINDING_OK] = "ok", [FINDING_WARN] = "warn", [FINDING_NO] = "no"};

static void print_findings(const struct findings *findings)
{
	for (size_t i = 0; i < findings->n; i++) {
		const struct finding *finding = &findings->items[i];

		text_print(stdout, "%-5s %-16s %s\n", status_names[finding->status], finding->what,
			   finding->text);
		if (*finding->fix)
			text_print(stdout, "                       → %s\n", finding->fix);
	}
}

static void print_json(const struct findings *findings, bool works)
{
	struct json json = {.stream = stdout};

	json_open(&json, NULL, '{');
	json_bool(&json, "works", works);
	json_open(&json, "findings", '[');
	for (size_t i = 0; i < findings->n; i++) {
		json_open(&json, NULL, '{');
		json_text(&json, "status", status_names[findings->items[i].status]);
		json_text(&json, "what", findings->items[i].what);
		json_text(&json, "text", findings->items[i].text);
		json_text(&json, "mend", findings->items[i].fix);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

#define FIELD(field) offsetof(struct doctor_command, field)

static const struct option_row rows[] = {
	{'p', "pid", NULL, "PID", "the files of a process, too: names, and stacks", "Options",
	 option_unsigned, FIELD(pid), 1, 0, "a process id"},
	{0, "json", NULL, NULL, "one JSON object", NULL, option_set, FIELD(json)},
	OPTION_HELP(FIELD(help)),
};

static int parse(int argc, char **argv, struct doctor_command *command, struct failure *failure)
{
	struct option_table table = {rows, sizeof rows / sizeof *rows, command};
	int rest, r = option_tables_parse(&table, 1, "doctor", argc, argv, &rest, failure);

	if (r != 0)
		return r;
	if (command->help) {
		puts("Usage: bpfflame doctor [OPTIONS]\n"
		     "Shows what works on this machine, what does not, and how to fix it.");
		option_tables_print(&table, 1, stdout);
		return 1;
	}
	if (rest < argc)
		return failure_set(failure, -EINVAL, "doctor takes no '%s'", argv[rest]);
	return 0;
}

int cmd_doctor(int argc, char **argv, uint64_t started_ns)
{
	struct doctor_command command = {};
	struct findings findings = {};
	struct failure failure = {};
	int r = parse(argc, argv, &command, &failure);
	bool works;

	if (r != 0)
		return r > 0 ? EXIT_DONE : cli_fail(&failure, EXIT_USAGE);
	works = look_at_machine(&findings);
	if (command.pid)
		r = doctor_process(command.pid, &findings, &failure);
	if (command.json)
		print_json(&findings, works);
	else
		print_findings(&findings);
	findings_done(&findings);
	if (r < 0)
		return cli_fail(&failure, EXIT_FAILED);
	return works ? EXIT_DONE : EXIT_FAILED;
}
