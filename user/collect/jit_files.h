/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_files: what JITs write about their code: `/tmp/perf-PID.map`, as the process sees /tmp and
 * its own PID, and the jitdump that it maps executable to show where it is.
 *
 * Program images that map executable memory without a file are watched from then on. The folder
 * that is /tmp to them is kept open, and so is a map, from the first moment that it is there: then
 * neither the end of the process, nor of its mount namespace, nor a new name for the file takes it
 * away. Content is read by symbolize(), when all is recorded.
 *
 * Anybody can put a file into /tmp. A map is taken if it is a regular file of root or of the
 * process's own user, as perf does, and was written to since the process started: PIDs come again,
 * in containers the same small ones each time.
 */
#ifndef COLLECT_JIT_FILES_H
#define COLLECT_JIT_FILES_H

#include "collect/files.h"
#include "core/source.h"

/* One process between two execs, as in process.h. */
struct jit_image {
	uint32_t pid, exec_id;
	uint64_t start; /* boot-time ns; 0 when unknown */
};

/* Zeroed: none. */
struct jit_files {
	struct jit_process *processes;
	struct pool pool;
	struct table by_image;
	struct folders folders; /* those that are /tmp to a process */
	uint32_t own_tmp;	/* ours, counted from 1; 0: not opened yet */
};

void jit_files_done(struct jit_files *jit);

/*
 * Takes note of an executable mapping of @image: @file as of files_get(). Cheap unless it is the
 * first memory of its kind. Errors: -ENOMEM.
 */
int jit_files_see(struct jit_files *jit, struct files *files, const struct jit_image *image,
		  uint32_t file);

/* @child was forked from @parent: it has the parent's code. Errors: -ENOMEM. */
int jit_files_fork(struct jit_files *jit, const struct jit_image *parent,
		   const struct jit_image *child);

/* @image has ended, by an exit or an exec: the last time to look. */
void jit_files_end(struct jit_files *jit, const struct jit_image *image);

/* Looks for maps that were not there before. Call it at each drain. */
void jit_files_retry(struct jit_files *jit);

/* Nobody asks for @image any more: closes its files, unless a child that has none needs them. */
void jit_files_release(struct jit_files *jit, struct files *files, const struct jit_image *image);

/*
 * Sets @source's perf_map and jitdump to those of @image, or, where a forked process has none, of
 * its parents; the descriptors stay @jit's and @files's.
 */
void jit_files_source(const struct jit_files *jit, const struct files *files,
		      const struct jit_image *image, struct mapping_source *source);

#endif
