/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter: converts the user's filters to the form that BPF tests: a glob to an automaton, a cgroup
 * path to an id.
 */
#ifndef COLLECT_FILTER_H
#define COLLECT_FILTER_H

#include <stdbool.h>

#include "base/failure.h"
#include "bpf/wire.h"

/*
 * `*`, `?`, `[a-z]`, `[!a-z]`, backslash. Errors: -E2BIG (it matches only what is longer than the
 * kernel keeps of a name), -EINVAL (an open bracket).
 */
int glob_compile(const char *pattern, struct bf_glob *ret);
/* Matches the way BPF does. */
int glob_matches(const struct bf_glob *glob, const char *text);

/*
 * @path: a folder in a mounted cgroup tree, or a path relative to its root (`/system.slice`).
 * Fills cgroup_id and cgroup_subsys of @config.
 */
int cgroup_resolve(const char *path, struct bf_config *config, struct failure *failure);

/* Opens that folder. Returns the descriptor, or -ENOENT. */
int cgroup_open(const char *path);
/* Whether the cgroup with the open folder @fd was removed: nothing can run in it again. */
bool cgroup_is_removed(int fd);

#endif
