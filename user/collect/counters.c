/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/counters.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system.h"

#define HARDWARE(name, alias, number, help)                                                        \
	{                                                                                          \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##number, help                      \
	}
#define SOFTWARE(name, alias, number, help)                                                        \
	{                                                                                          \
		name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##number, help                      \
	}

const struct counter_row counter_rows[] = {
	HARDWARE("cycles", "cpu-cycles", CPU_CYCLES, "processor cycles; by frequency: time"),
	HARDWARE("instructions", NULL, INSTRUCTIONS, "instructions that were completed"),
	HARDWARE("cache-references", NULL, CACHE_REFERENCES, "accesses of the last-level cache"),
	HARDWARE("cache-misses", NULL, CACHE_MISSES, "accesses it had to fetch from memory"),
	HARDWARE("branches", "branch-instructions", BRANCH_INSTRUCTIONS, "jumps and calls"),
	HARDWARE("branch-misses", NULL, BRANCH_MISSES, "jumps the processor guessed wrongly"),
	HARDWARE("bus-cycles", NULL, BUS_CYCLES, "cycles of the bus"),
	HARDWARE("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND,
		 "cycles without instructions to issue"),
	HARDWARE("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND,
		 "cycles that waited for data or units"),
	HARDWARE("ref-cycles", NULL, REF_CPU_CYCLES,
		 "cycles at a constant rate; by frequency: "
		 "time"),
	SOFTWARE("cpu-clock", NULL, CPU_CLOCK, "time of each CPU, in nanoseconds"),
	SOFTWARE("task-clock", NULL, TASK_CLOCK, "time of running threads, in nanoseconds"),
	SOFTWARE("page-faults", "faults", PAGE_FAULTS, "first touches of memory, and reloads"),
	SOFTWARE("minor-faults", NULL, PAGE_FAULTS_MIN, "page faults without reading a disk"),
	SOFTWARE("major-faults", NULL, PAGE_FAULTS_MAJ, "page faults that read a disk"),
	SOFTWARE("context-switches", "cs", CONTEXT_SWITCHES, "threads that left a CPU"),
	SOFTWARE("cpu-migrations", "migrations", CPU_MIGRATIONS, "threads that changed CPU"),
	SOFTWARE("alignment-faults", NULL, ALIGNMENT_FAULTS, "accesses the kernel had to align"),
	SOFTWARE("emulation-faults", NULL, EMULATION_FAULTS, "instructions the kernel emulated"),
	SOFTWARE("cgroup-switches", NULL, CGROUP_SWITCHES, "switches to another cgroup's thread"),
#define CACHE(name, cache, operation, result, help)                                                \
	{                                                                                          \
		name, NULL, PERF_TYPE_HW_CACHE,                                                    \
			PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##operation << 8 |    \
				PERF_COUNT_HW_CACHE_RESULT_##result << 16,                         \
			help                                                                       \
	}
#define CACHES(name, cache, what)                                                                  \
	CACHE(name "-loads", cache, READ, ACCESS, "loads from " what),                             \
		CACHE(name "-load-misses", cache, READ, MISS, "loads that missed " what),          \
		CACHE(name "-stores", cache, WRITE, ACCESS, "stores to " what),                    \
		CACHE(name "-store-misses", cache, WRITE, MISS, "stores that missed " what),       \
		CACHE(name "-prefetches", cache, PREFETCH, ACCESS, "prefetches into " what),       \
		CACHE(name "-prefetch-misses", cache, PREFETCH, MISS,                              \
		      "prefetches that missed " what)
	CACHES("L1-dcache", L1D, "the first data cache"),
	CACHES("L1-icache", L1I, "the first instruction cache"),
	CACHES("LLC", LL, "the last-level cache"),
	CACHES("dTLB", DTLB, "the data TLB"),
	CACHES("iTLB", ITLB, "the instruction TLB"),
	CACHES("branch", BPU, "the branch predictor"),
	CACHES("node", NODE, "this node's memory"),
	{},
};

static const struct counter_row *find_row(const char *name)
{
	for (const struct counter_row *row = counter_rows; row->name; row++)
		if (strcmp(row->name, name) == 0 || (row->alias && strcmp(row->alias, name) == 0))
			return row;
	return NULL;
}

/* `r1a2`: an event by its number in the processor's manual. */
static bool is_raw(const char *name)
{
	return name[0] == 'r' && name[1] && strlen(name) <= 17 &&
	       strspn(name + 1, "0123456789abcdefABCDEF") == strlen(name) - 1;
}

bool counter_is_known(const char *name)
{
	return find_row(name) || is_raw(name);
}

bool counter_is_time(const char *name)
{
	const struct counter_row *row = find_row(name);

	if (!row)
		return false;
	if (row->type == PERF_TYPE_HARDWARE)
		return row->config == PERF_COUNT_HW_CPU_CYCLES ||
		       row->config == PERF_COUNT_HW_REF_CPU_CYCLES;
	return row->type == PERF_TYPE_SOFTWARE &&
	       (row->config == PERF_COUNT_SW_CPU_CLOCK || row->config == PERF_COUNT_SW_TASK_CLOCK);
}

static int read_pmu_file(const char *pmu, const char *folder, const char *name, char *text,
			 size_t size)
{
	char path[320];

	if (strchr(pmu, '/') || strchr(name, '/') || !*pmu || !*name || pmu[0] == '.')
		return -ENOENT;
	if ((size_t)snprintf(path, sizeof path, PMU_FOLDER "/%s/%s/%s", pmu, folder, name) >=
	    sizeof path)
		return -ENOENT;
	return read_text_file(path, text, size);
}

int pmu_type(const char *pmu)
{
	char text[32];
	int r = read_pmu_file(pmu, ".", "type", text, sizeof text);

	return r < 0 ? -ENOENT : atoi(text);
}

/* Puts @value into the bits that @format names: `config:0-7,32-35`. */
static bool put_bits(struct counter *counter, const char *format, uint64_t value)
{
	uint64_t *word = strncmp(format, "config1:", 8) == 0   ? &counter->config1
			 : strncmp(format, "config2:", 8) == 0 ? &counter->config2
							       : &counter->config;
	const char *bits = strchr(format, ':');

	if (!bits || strncmp(format, "config", 6) != 0)
		return false;
	while (bits && *bits) {
		unsigned int first, last;
		int n = sscanf(++bits, "%u-%u", &first, &last);

		if (n < 1 || first > 63)
			return false;
		if (n == 1)
			last = first;
		for (unsigned int bit = first; bit <= last && bit < 64; bit++, value >>= 1)
			*word |= (value & 1) << bit;
		bits = strchr(bits, ',');
	}
	return value == 0;
}

static int refuse_term(const char *pmu, const char *term, struct failure *failure)
{
	failure_set(failure, -EINVAL, "-e %s/…/: no term '%s', or its value is too large", pmu,
		    term);
	return failure_fix(failure, -EINVAL, "%s/%s/format lists the terms", PMU_FOLDER, pmu);
}

static int add_terms(const char *pmu, char *terms, bool by_name, struct counter *counter,
		     struct failure *failure);

static int add_term(const char *pmu, char *term, bool by_name, struct counter *counter,
		    struct failure *failure)
{
	char *equals = strchr(term, '='), *end = "", text[512];
	uint64_t value = 1;

	if (equals) {
		*equals = '\0';
		value = strtoull(equals + 1, &end, 0);
		if (end == equals + 1)
			return refuse_term(pmu, term, failure);
	} else if (by_name && read_pmu_file(pmu, "events", term, text, sizeof text) == 0) {
		return add_terms(pmu, text, false, counter, failure);
	}
	if (strcmp(term, "config") == 0)
		counter->config |= value;
	else if (strcmp(term, "config1") == 0)
		counter->config1 |= value;
	else if (strcmp(term, "config2") == 0)
		counter->config2 |= value;
	else if (*end || read_pmu_file(pmu, "format", term, text, sizeof text) < 0 ||
		 !put_bits(counter, text, value))
		return refuse_term(pmu, term, failure);
	return 0;
}

/* @by_name: a term may be the name of an event that has terms itself. */
static int add_terms(const char *pmu, char *terms, bool by_name, struct counter *counter,
		     struct failure *failure)
{
	for (char *rest = terms, *term; (term = strsep(&rest, ","));) {
		int r = *term ? add_term(pmu, term, by_name, counter, failure) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* `pmu/terms/` */
static int find_of_pmu(const char *name, struct counter *ret, struct failure *failure)
{
	char text[256], *slash, *end;
	struct counter counter = {};
	int type;

	if (strlen(name) >= sizeof text)
		return -ENOENT;
	strcpy(text, name);
	slash = strchr(text, '/');
	end = strrchr(text, '/');
	if (slash == end || end[1])
		return -ENOENT;
	*slash = *end = '\0';
	type = pmu_type(text);
	if (type < 0)
		return -ENOENT;
	counter.type = type;
	type = add_terms(text, slash + 1, true, &counter, failure);
	if (type == 0)
		*ret = counter;
	return type;
}

int counter_find(const char *name, struct counter *ret, struct failure *failure)
{
	const struct counter_row *row = find_row(name);

	if (row)
		*ret = (struct counter){.type = row->type, .config = row->config};
	else if (is_raw(name))
		*ret = (struct counter){.type = PERF_TYPE_RAW,
					.config = strtoull(name + 1, NULL, 16)};
	else
		return strchr(name, '/') ? find_of_pmu(name, ret, failure) : -ENOENT;
	return 0;
}

int counter_try(const struct counter *counter)
{
	struct perf_event_attr attr = {
		.type = counter->type,
		.size = sizeof attr,
		.config = counter->config,
		.config1 = counter->config1,
		.config2 = counter->config2,
		.sample_period = 1000000000, /* some PMUs can only count */
		.disabled = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC), r = 0;

	/* For ourselves in user mode: needs no rights. */
	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		r = -errno;
		attr.exclude_kernel = attr.exclude_hv = 1;
		fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
	if (fd < 0)
		return -errno;
	close(fd);
	return r;
}
