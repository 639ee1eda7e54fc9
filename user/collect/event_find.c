/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/event_find.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "bpf/wire.h"
#include "base/nearest.h"
#include "collect/probe_file.h"
#include "collect/rights.h"
#include "collect/tracefs.h"

const char *hardware_missing(void)
{
	static const char *const pmus[] = {"cpu", "cpu_core", "armv8_pmuv3_0", "armv8_pmuv3"};
	_cleanup_free_ char *text = NULL;
	size_t size;

	for (size_t i = 0; i < sizeof pmus / sizeof *pmus; i++)
		if (pmu_type(pmus[i]) >= 0)
			return NULL;
	if (read_whole_file("/proc/cpuinfo", &text, &size) == 0 && strstr(text, " hypervisor"))
		return "this virtual machine has no PMU; its host can give it one (QEMU: -cpu "
		       "host,pmu=on)";
	return "the kernel has found no PMU in this processor";
}

static int unknown(const struct event_request *request, const char *what,
		   const struct nearest *nearest, struct failure *failure)
{
	char text[NEAREST_TEXT_SIZE];

	failure_set(failure, -EINVAL, "-e %s: %s", request->name, what);
	nearest_text(nearest, text);
	return failure_fix(failure, -EINVAL, "%s%sbpfflame events lists what there is", text,
			   *text ? " " : "");
}

/* Counters */

static bool is_hardware(const struct counter *counter)
{
	return counter->type == PERF_TYPE_HARDWARE || counter->type == PERF_TYPE_HW_CACHE ||
	       counter->type == PERF_TYPE_RAW;
}

/* Software counters of what threads do, one by one. */
static bool is_software_count(const char *name)
{
	struct counter counter;

	return counter_find(name, &counter, NULL) == 0 && counter.type == PERF_TYPE_SOFTWARE &&
	       !counter_is_time(name);
}

uint64_t event_bpf_period(const struct event_request *request)
{
	if (request->kind != EVENT_COUNTER ||
	    (!strchr(request->target, '/') && is_software_count(request->target)))
		return request->period ? request->period : 1;
	return !request->period && counter_is_time(request->target) ? BF_PERIOD_NONE
								    : BF_PERIOD_OWN;
}

bool event_is_counted(const struct event_request *request)
{
	return event_bpf_period(request) != BF_PERIOD_NONE;
}

uint64_t event_period(const struct event_request *request)
{
	uint64_t period = event_bpf_period(request);

	return period == BF_PERIOD_NONE || period == BF_PERIOD_OWN ? request->period : period;
}

static int offer_tracepoint(void *context, const char *category, const char *name)
{
	char both[256];

	snprintf(both, sizeof both, "%s:%s", category, name);
	nearest_offer(context, both);
	return 0;
}

static int no_counter(const struct event_request *request, struct failure *failure)
{
	struct nearest nearest = {.wanted = request->target};

	for (const struct counter_row *row = counter_rows; row->name; row++)
		nearest_offer(&nearest, row->name);
	return unknown(request, "no such event", &nearest, failure);
}

static int find_counter(struct event *event, unsigned int frequency, struct failure *failure)
{
	const struct event_request *request = event->request;
	int r = counter_find(request->target, &event->counter, failure);

	if (r == -ENOENT)
		return no_counter(request, failure);
	if (r < 0)
		return r;
	if (event->bpf_period != BF_PERIOD_NONE && event->bpf_period != BF_PERIOD_OWN)
		event->sample_period = 1;
	else if (request->period)
		event->sample_period = request->period;
	else
		event->frequency = frequency;
	r = counter_try(&event->counter);
	return r < 0 ? event_refuse(request, r, failure) : 0;
}

/* Tracepoints */

static int refuse_tracefs(const struct event_request *request, int error, struct failure *failure)
{
	struct failure why;

	tracefs_refuse(error, &why);
	failure_set(failure, error, "-e %s: %s", request->name, why.what);
	return failure_fix(failure, error, "%s", why.fix);
}

static int find_tracepoint(struct event *event, struct failure *failure)
{
	const struct event_request *request = event->request;
	_cleanup_close_ int events_fd = -1;
	struct nearest nearest;
	bool is_private;
	uint32_t id;
	char name[256];
	int r = tracefs_open(&events_fd, &is_private);

	if (r < 0)
		return refuse_tracefs(request, r, failure);
	r = tracefs_tracepoint(events_fd, request->group, request->target, &id);
	if (r == -ENOENT || r == -ENOTDIR) {
		snprintf(name, sizeof name, "%s:%s", request->group, request->target);
		nearest = (struct nearest){.wanted = name};
		tracefs_list(events_fd, offer_tracepoint, &nearest);
		return unknown(request, "no such tracepoint", &nearest, failure);
	}
	if (r < 0)
		return refuse_tracefs(request, r, failure);
	event->counter = (struct counter){.type = PERF_TYPE_TRACEPOINT, .config = id};
	return 0;
}

/* Probes of files */

static int refuse_file(const struct event *event, int error, const struct nearest *nearest,
		       struct failure *failure)
{
	const struct event_request *request = event->request;
	char text[NEAREST_TEXT_SIZE], fix[64] = "";

	if (error == -ENOENT) {
		failure_set(failure, -EINVAL, "-e %s: no %s '%s' in %s", request->name,
			    request->kind == EVENT_USDT ? "USDT probe" : "function",
			    request->target, event->file.path);
		nearest_text(nearest, text);
		if (!*text && request->kind == EVENT_USDT)
			snprintf(fix, sizeof fix, "bpfflame events --path FILE lists them");
		else if (!*text)
			snprintf(fix, sizeof fix, "nm -D and nm list them, as they are mangled");
		return failure_fix(failure, -EINVAL, "%s%s", text, fix);
	}
	if (error == -ENOTSUP) {
		failure_set(failure, error,
			    "-e %s: '%s' is one of several functions, chosen as the program starts",
			    request->name, request->target);
		return failure_fix(failure, error,
				   "probe the chosen one, such as __memcpy_avx_unaligned");
	}
	if (error == -ENOEXEC)
		return failure_set(failure, error, "-e %s: %s is not an ELF file, or is damaged",
				   request->name, event->file.path);
	if (error == -ECHILD || error == -ETIMEDOUT)
		return failure_set(failure, error, "-e %s: the process that reads files %s %s",
				   request->name,
				   error == -ECHILD ? "crashed at" : "does not get on with",
				   event->file.path);
	if (error == -E2BIG)
		return failure_set(failure, error, "-e %s: more than %d places of that name",
				   request->name, MAX_EVENT_PLACES);
	return failure_set(failure, error, "-e %s: %s: %s", request->name, event->file.path,
			   strerror(-error));
}

static int find_places(struct event *event, struct reader *reader, struct failure *failure)
{
	const struct event_request *request = event->request;
	struct nearest nearest = {.wanted = request->target};
	int r;

	if (request->kind == EVENT_USDT)
		r = probe_job_usdt(reader, event->file.fd, request->group, request->target,
				   event->places, &nearest);
	else
		r = probe_job_functions(reader, event->file.fd, request->target, event->places,
					&nearest);
	if (r < 0)
		return refuse_file(event, r, &nearest, failure);
	for (size_t i = 0; i < event->places->n; i++)
		event->places->items[i].offset += request->offset;
	return 0;
}

/* The bit in a perf event's config that makes it a return probe. */
static uint64_t return_bit(const char *pmu)
{
	char path[96], text[32];

	snprintf(path, sizeof path, PMU_FOLDER "/%s/format/retprobe", pmu);
	if (read_text_file(path, text, sizeof text) < 0 || strncmp(text, "config:", 7) != 0)
		return 1;
	return 1ULL << (atoi(text + 7) & 63);
}

static int find_probe(struct event *event, uint32_t pid, struct reader *reader,
		      struct failure *failure)
{
	const struct event_request *request = event->request;
	int type = pmu_type("uprobe");
	int r = probe_file_find(request->path, pid, &event->file);

	if (r == -ENOENT) {
		failure_set(failure, -EINVAL, "-e %s: no file '%s'", request->name, request->path);
		return failure_fix(failure, -EINVAL,
				   "give a path, a library such as libc.so.6, or a program in "
				   "PATH");
	}
	if (type < 0) {
		failure_set(failure, -ENODEV, "-e %s: this kernel has no uprobes", request->name);
		return failure_fix(failure, -ENODEV, "it needs CONFIG_UPROBE_EVENTS");
	}
	if (r < 0)
		return r;
	if (!probe_file_runs_here(event->file.fd))
		return failure_set(failure, -ENOEXEC,
				   "-e %s: %s is made for another machine: nothing here runs it",
				   request->name, event->file.path);
	event->places = calloc(1, sizeof *event->places);
	if (!event->places)
		return -ENOMEM;
	event->counter = (struct counter){
		.type = type,
		.config = request->kind == EVENT_URETPROBE ? return_bit("uprobe") : 0,
	};
	return find_places(event, reader, failure);
}

/* Probes of the kernel */

static bool offer_kernel_functions(const char *wanted, struct nearest *nearest)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[512], name[256], type;
	bool found = !symbols;

	while (symbols && !found && fgets(line, sizeof line, symbols)) {
		if (sscanf(line, "%*x %c %255s", &type, name) != 2 || !strchr("tTwW", type))
			continue;
		found = strcmp(name, wanted) == 0;
		nearest_offer(nearest, name);
	}
	if (symbols)
		fclose(symbols);
	return found;
}

static int find_kprobe(struct event *event, struct failure *failure)
{
	const struct event_request *request = event->request;
	struct nearest nearest = {.wanted = request->target};
	int type = pmu_type("kprobe");

	if (type < 0) {
		failure_set(failure, -ENODEV, "-e %s: this kernel has no kprobes", request->name);
		return failure_fix(failure, -ENODEV,
				   "it needs CONFIG_KPROBE_EVENTS; tracepoints are in every "
				   "kernel: bpfflame events");
	}
	if (!offer_kernel_functions(request->target, &nearest))
		return unknown(request, "no such function in this kernel", &nearest, failure);
	event->counter = (struct counter){
		.type = type,
		.config = request->kind == EVENT_KRETPROBE ? return_bit("kprobe") : 0,
		.config1 = (uintptr_t)request->target,
		.config2 = request->offset,
	};
	return 0;
}

static int refuse_hardware(const struct event_request *request, int error, struct failure *failure)
{
	const char *why = hardware_missing();

	failure_set(failure, error, "-e %s: this machine does not have it%s%s", request->name,
		    why ? ": " : "", why ? why : "");
	return failure_fix(failure, error,
			   "-e cpu-clock samples time without a PMU; bpfflame events lists more");
}

int event_refuse(const struct event_request *request, int error, struct failure *failure)
{
	uint64_t most = read_number_file("/proc/sys/kernel/perf_event_max_sample_rate", 0);
	struct counter counter;

	if (rights_explain(RIGHTS_PERF_EVENTS, error, failure))
		return -EPERM;
	if (request->kind == EVENT_COUNTER &&
	    counter_find(request->target, &counter, failure) == 0 && is_hardware(&counter) &&
	    (error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV))
		return refuse_hardware(request, -ENODEV, failure);
	failure_set(failure, error, "-e %s: cannot be opened: %s", request->name, strerror(-error));
	if (rights_explain_files(error, failure))
		return error;
	if (error == -EINVAL && request->kind == EVENT_COUNTER && most)
		return failure_fix(failure, -ENODEV,
				   "it takes no such period, or -F is above this machine's limit "
				   "of %llu Hz",
				   (unsigned long long)most);
	if (request->kind == EVENT_KPROBE || request->kind == EVENT_KRETPROBE)
		return failure_fix(failure, -ENODEV,
				   "the kernel lets no probe be there; take a function that "
				   "calls it or that it calls");
	if (error == -EINVAL)
		return failure_fix(failure, -ENODEV, "no instruction begins at that place");
	return error;
}

int event_find(const struct event_request *request, unsigned int frequency, uint32_t pid,
	       struct reader *reader, struct event *ret, struct failure *failure)
{
	struct event event = {.request = request, .bpf_period = event_bpf_period(request)};
	int r;

	event.is_counted = event.bpf_period != BF_PERIOD_NONE;
	switch (request->kind) {
	case EVENT_COUNTER: r = find_counter(&event, frequency, failure); break;
	case EVENT_TRACEPOINT: r = find_tracepoint(&event, failure); break;
	case EVENT_KPROBE:
	case EVENT_KRETPROBE: r = find_kprobe(&event, failure); break;
	default: r = find_probe(&event, pid, reader, failure); break;
	}
	if (r < 0) {
		event_done(&event);
		return r;
	}
	*ret = event;
	return 0;
}

void event_done(struct event *event)
{
	if (event->file.path)
		probe_file_done(&event->file);
	free(event->places);
	*event = (struct event){};
}
