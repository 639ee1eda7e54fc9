/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_options: what the daemon is to do: options, and the same as lines of a file.
 */
#ifndef CMD_DAEMON_OPTIONS_H
#define CMD_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "cmd/daemon_listen.h"
#include "store/store_writer.h"

#define DAEMON_CONFIG "/etc/bpfflame.conf"

struct daemon_options {
	const char *store, *config, *user;
	unsigned int frequency; /* Hz */
	double cpu_budget;	/* percent of one CPU; 0: none */
	uint64_t memory_budget; /* bytes; 0: none */
	uint64_t window_ns;
	uint64_t unwind_memory; /* bytes */
	struct store_limits keep;
	struct listen_options listen;
	bool no_inline, no_sandbox, help;
	int verbose;
	/* Owned: the texts that others point at. */
	char **words;
	size_t n_words;
};

/*
 * Takes the file's lines (`freq 19`, `keep = 1m=14d`; # begins a comment) and then @argv, which
 * counts more. Without --config a file that is not there is no error. Returns 0; 1: help was asked
 * for. Errors: -EINVAL, *failure names the option or the line; -errno of reading the file.
 */
int daemon_options_read(int argc, char **argv, struct daemon_options *ret, struct failure *failure);
void daemon_options_done(struct daemon_options *options);

#endif
