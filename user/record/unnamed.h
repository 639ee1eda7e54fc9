/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unnamed: the processes many of whose frames have no name, and what would give them names: a map
 * that their runtime writes when asked, or the debug files of the distribution.
 */
#ifndef RECORD_UNNAMED_H
#define RECORD_UNNAMED_H

#include <stddef.h>
#include <stdint.h>

#include "base/process_stat.h"
#include "core/profile.h"

#define UNNAMED_MOST 3 /* processes that are named */

/* One process, or several that need the same, such as a pool of workers. */
struct unnamed_process {
	uint32_t pid;
	uint32_t n_alike; /* processes of that name and with that advice, @pid is the first; 1: alone */
	char comm[PROCESS_COMM_SIZE];
	uint64_t frames, unnamed; /* of user code, by samples */
	char advice[512];
};

struct unnamed {
	struct unnamed_process processes[UNNAMED_MOST]; /* the most frames without a name first */
	size_t n;
};

/* Whether nothing names it but brackets: its address, or what it is. */
bool unnamed_location(const struct profile *profile, const struct profile_location *location);

/*
 * Whether @path is of .NET as Microsoft packs it, which no debuginfod of a distribution knows.
 * Distributions that build .NET have it in /usr/lib/dotnet or lib64.
 */
bool unnamed_is_microsofts(const char *path);

/*
 * Looks through the samples that @profile shows. @urls: DEBUGINFOD_URLS, or NULL; @os_release: what
 * is in /etc/os-release. Errors: -ENOMEM.
 */
int unnamed_find(const struct profile *profile, const char *urls, const char *os_release,
		 struct unnamed *ret);

#endif
