/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/unnamed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define LEAST_PERCENT 10 /* of a process's frames that have no name, for it to be worth a line */
#define LEAST_SHARE   1	 /* … which are that many percent of all frames */

/* Runtimes by the program or library that a process runs code of: the start of a file's name. */
static const struct {
	const char *file, *advice, *after; /* … the number of the process, … */
} runtimes[] = {
	{"libjvm.so", "jcmd ", " Compiler.perfmap"},
	{"libjli.so", "jcmd ", " Compiler.perfmap"},
	{"node", "start it with node --perf-basic-prof", NULL},
	{"libnode.so", "start it with node --perf-basic-prof", NULL},
	{"libpython3", "start it with python3 -X perf", NULL},
	{"python3", "start it with python3 -X perf", NULL},
	{"libcoreclr.so", "start it with DOTNET_PerfMapEnabled=1", NULL},
	{"libruby", "start it with ruby --yjit-perf", NULL},
	{"beam.smp", "start it with erl +JPperf true", NULL},
	{"mono-sgen", "start it with mono --jitmap", NULL},
	{"libmonosgen", "start it with mono --jitmap", NULL},
	{"qemu-", "start it with -perfmap (QEMU 8.0 or newer)", NULL},
};

/* What distributions serve debug files by: https://debuginfod.elfutils.org. */
static const struct {
	const char *id, *url;
} servers[] = {
	{"debian", "https://debuginfod.debian.net"},
	{"ubuntu", "https://debuginfod.ubuntu.com"},
	{"fedora", "https://debuginfod.fedoraproject.org"},
	{"centos", "https://debuginfod.centos.org"},
	{"arch", "https://debuginfod.archlinux.org"},
	{"opensuse-leap", "https://debuginfod.opensuse.org"},
	{"opensuse-tumbleweed", "https://debuginfod.opensuse.org"},
	{"gentoo", "https://debuginfod.elfutils.org"},
};

/* The frames of one process while they are counted. */
struct counted {
	uint32_t pid, comm;
	bool is_other; /* @comm is that of another thread than the first, as far as is known */
	uint64_t frames, unnamed;
};

struct unnamed_count {
	const struct profile *profile;
	struct counted *processes; /* by pid */
	size_t n;
	uint64_t frames;	  /* of all */
	uint64_t *unnamed, *seen; /* of each mapping, of the process at hand */
};

static int compare_pids(const void *a, const void *b)
{
	const struct counted *left = a, *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

/* The first thread of each process comes first. */
static int compare_threads(const void *a, const void *b)
{
	const struct counted *left = a, *right = b;
	int order = compare_pids(a, b);

	return order ? order : left->is_other - right->is_other;
}

static struct counted *find_process(const struct unnamed_count *count, uint32_t pid)
{
	const struct counted wanted = {.pid = pid};

	return bsearch(&wanted, count->processes, count->n, sizeof wanted, compare_pids);
}

/* One entry for each process that has samples. */
static int list_processes(struct unnamed_count *count)
{
	const struct profile *profile = count->profile;
	size_t n = 0;

	count->processes = calloc(profile->n_samples + 1, sizeof *count->processes);
	count->unnamed = calloc(profile->n_mappings + 1, sizeof *count->unnamed);
	count->seen = calloc(profile->n_mappings + 1, sizeof *count->seen);
	if (!count->processes || !count->unnamed || !count->seen)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		count->processes[i] = (struct counted){.pid = sample->pid,
						       .comm = sample->comm,
						       .is_other = sample->tid != sample->pid};
	}
	qsort(count->processes, profile->n_samples, sizeof *count->processes, compare_threads);
	for (size_t i = 0; i < profile->n_samples; i++)
		if (!n || count->processes[n - 1].pid != count->processes[i].pid)
			count->processes[n++] = count->processes[i];
	count->n = n;
	return 0;
}

bool unnamed_location(const struct profile *profile, const struct profile_location *location)
{
	return !location->n_frames ||
	       strings_get(&profile->strings, profile->frames[location->first_frame].function)[0] ==
		       '[';
}

/* Adds the frames of @sample in user code; by mapping, if @by_mapping. */
static void count_frames(struct unnamed_count *count, const struct profile_sample *sample,
			 struct counted *process, bool by_mapping)
{
	const struct profile *profile = count->profile;
	const struct profile_stack *stack = &profile->stacks[sample->stack];

	for (uint32_t k = 0; k < stack->n; k++) {
		const struct profile_location *location =
			&profile->locations[profile->stack_locations[stack->first + k]];
		enum mapping_kind kind = profile->mappings[location->mapping].kind;
		uint64_t unnamed = unnamed_location(profile, location) ? sample->count : 0;

		if (kind != MAPPING_FILE && kind != MAPPING_ANON)
			continue;
		if (by_mapping) {
			count->unnamed[location->mapping] += unnamed;
			count->seen[location->mapping] += sample->count;
			continue;
		}
		process->frames += sample->count;
		process->unnamed += unnamed;
		count->frames += sample->count;
	}
}

static void count_all(struct unnamed_count *count)
{
	const struct profile *profile = count->profile;

	for (size_t i = 0; i < profile->n_samples; i++)
		count_frames(count, &profile->samples[i],
			     find_process(count, profile->samples[i].pid), false);
}

/* The same of one process, by mapping. */
static void count_mappings(struct unnamed_count *count, struct counted *process)
{
	const struct profile *profile = count->profile;

	memset(count->unnamed, 0, profile->n_mappings * sizeof *count->unnamed);
	memset(count->seen, 0, profile->n_mappings * sizeof *count->seen);
	for (size_t i = 0; i < profile->n_samples; i++)
		if (profile->samples[i].pid == process->pid)
			count_frames(count, &profile->samples[i], process, true);
}

static const char *file_name(const struct profile *profile, size_t mapping)
{
	return basename(strings_get(&profile->strings, profile->mappings[mapping].path));
}

/* What the runtime that made the code without a name can do. */
static void advise_runtime(const struct unnamed_count *count, uint32_t pid, char advice[static 512])
{
	const struct profile *profile = count->profile;

	for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
		for (size_t k = 0; k < profile->n_mappings; k++)
			if (count->seen[k] && profile->mappings[k].kind == MAPPING_FILE &&
			    text_begins(file_name(profile, k), runtimes[i].file)) {
				if (runtimes[i].after)
					snprintf(advice, 512, "%s%" PRIu32 "%s", runtimes[i].advice,
						 pid, runtimes[i].after);
				else
					snprintf(advice, 512, "%s", runtimes[i].advice);
				return;
			}
	snprintf(advice, 512, "its runtime has to write /tmp/perf-%" PRIu32 ".map or a jitdump",
		 pid);
}

/* The server of the distribution that @os_release, os-release(5), is about; NULL: none is known. */
static const char *server_of(const char *os_release)
{
	for (const char *line = os_release; line; line = strchr(line, '\n')) {
		size_t n;

		line += *line == '\n';
		if (strncmp(line, "ID=", 3) != 0)
			continue;
		line += 3 + (line[3] == '"' || line[3] == '\'');
		n = strcspn(line, "\"'\n");
		for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
			if (strlen(servers[i].id) == n && memcmp(servers[i].id, line, n) == 0)
				return servers[i].url;
		return NULL;
	}
	return NULL;
}

bool unnamed_is_microsofts(const char *path)
{
	return strstr(path, "/Microsoft.NETCore.App/") && !text_begins(path, "/usr/lib/dotnet/") &&
	       !text_begins(path, "/usr/lib64/dotnet/");
}

/* What names the code of @mapping, a file. */
static void advise_file(const struct profile *profile, size_t mapping, const char *urls,
			const char *os_release, char advice[static 512])
{
	const char *url = urls && *urls ? NULL : server_of(os_release);
	const char *path = strings_get(&profile->strings, profile->mappings[mapping].path);

	if (unnamed_is_microsofts(path))
		snprintf(advice, 512,
			 "most in %.128s, which Microsoft builds: no distribution has its symbols",
			 file_name(profile, mapping));
	else if (!profile->mappings[mapping].build_id)
		snprintf(advice, 512,
			 "most in %.128s: no symbols in it, and no build ID to find them by",
			 file_name(profile, mapping));
	else if (url)
		snprintf(
			advice, 512,
			"most in %.128s: DEBUGINFOD_URLS=%s (apt install debuginfod), or its debug "
			"package",
			file_name(profile, mapping), url);
	else
		snprintf(advice, 512, "most in %.128s: its debug package (-dbgsym, -debuginfo)",
			 file_name(profile, mapping));
}

static void advise(struct unnamed_count *count, struct counted *process, const char *urls,
		   const char *os_release, struct unnamed_process *ret)
{
	const struct profile *profile = count->profile;
	uint64_t generated = 0, in_files = 0;
	size_t most = 0;

	*ret = (struct unnamed_process){.pid = process->pid,
					.n_alike = 1,
					.frames = process->frames,
					.unnamed = process->unnamed};
	snprintf(ret->comm, sizeof ret->comm, "%s", strings_get(&profile->strings, process->comm));
	count_mappings(count, process);
	for (size_t i = 0; i < profile->n_mappings; i++) {
		if (profile->mappings[i].kind == MAPPING_ANON)
			generated += count->unnamed[i];
		if (profile->mappings[i].kind != MAPPING_FILE)
			continue;
		in_files += count->unnamed[i];
		if (profile->mappings[most].kind != MAPPING_FILE ||
		    count->unnamed[i] > count->unnamed[most])
			most = i;
	}
	if (generated < in_files) {
		advise_file(profile, most, urls, os_release, ret->advice);
		return;
	}
	advise_runtime(count, process->pid, ret->advice);
}

static int compare_unnamed(const void *a, const void *b)
{
	const struct counted *left = a, *right = b;

	if (left->unnamed != right->unnamed)
		return left->unnamed < right->unnamed ? 1 : -1;
	return compare_pids(a, b);
}

static bool is_worth_a_line(const struct unnamed_count *count, const struct counted *process)
{
	return process->unnamed * 100 >= process->frames * LEAST_PERCENT &&
	       process->unnamed * 100 >= count->frames * LEAST_SHARE && process->unnamed;
}

/* Says what several processes need only once. Drops what is beyond UNNAMED_MOST. */
static void add_process(struct unnamed *unnamed, const struct unnamed_process *process)
{
	for (size_t i = 0; i < unnamed->n; i++) {
		struct unnamed_process *before = &unnamed->processes[i];

		if (strcmp(before->comm, process->comm) != 0 ||
		    strcmp(before->advice, process->advice) != 0)
			continue;
		before->n_alike++;
		before->frames += process->frames;
		before->unnamed += process->unnamed;
		return;
	}
	if (unnamed->n < UNNAMED_MOST)
		unnamed->processes[unnamed->n++] = *process;
}

int unnamed_find(const struct profile *profile, const char *urls, const char *os_release,
		 struct unnamed *ret)
{
	struct unnamed_count count = {.profile = profile};
	int r = list_processes(&count);

	*ret = (struct unnamed){};
	if (r < 0)
		goto out;
	count_all(&count);
	qsort(count.processes, count.n, sizeof *count.processes, compare_unnamed);
	for (size_t i = 0; i < count.n; i++) {
		struct unnamed_process process;

		if (!is_worth_a_line(&count, &count.processes[i]))
			continue;
		advise(&count, &count.processes[i], urls, os_release, &process);
		add_process(ret, &process);
	}
out:
	free(count.processes);
	free(count.unnamed);
	free(count.seen);
	return r;
}
