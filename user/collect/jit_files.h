/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_files: the files in which JITs describe their code: `/tmp/perf-PID.map`, with the process's
 * own /tmp and PID, and the jitdump that it maps executable to show where it is.
 *
 * Program images that map executable memory without a file are watched from then on. Their /tmp is
 * kept open, and so is a map as soon as it exists: then neither the end of the process, nor of its
 * mount namespace, nor a new name for the file makes it unreachable. symbolize() reads the contents
 * at the end of the recording.
 *
 * Anybody can put a file into /tmp. A map is accepted if it is a regular file of root or of the
 * process's own user, as in perf, and was last written to between the image's start and the next
 * exec: PIDs repeat, in containers with the same small ones each time, and the next image may write
 * into the same file.
 */
#ifndef COLLECT_JIT_FILES_H
#define COLLECT_JIT_FILES_H

#include "collect/files.h"
#include "core/source.h"

/* One process between two execs, as in process.h. */
struct jit_image {
	uint32_t pid, exec_id;
	uint64_t start; /* boot-time ns; 0 when unknown */
	uint64_t since; /* CLOCK_MONOTONIC ns: its exec; 0: not seen */
};

/* Zeroed: none. */
struct jit_files {
	struct jit_process *processes;
	struct pool pool;
	struct table by_image;
	struct folders folders; /* the processes' /tmp */
	uint32_t own_tmp;	/* ours, counted from 1; 0: not opened yet */
};

void jit_files_done(struct jit_files *jit);

/*
 * Notes an executable mapping of @image; @file: from files_get(). Cheap, except for the first
 * memory of its kind. Errors: -ENOMEM.
 */
int jit_files_see(struct jit_files *jit, struct files *files, const struct jit_image *image,
		  uint32_t file);

/* Notes that @child was forked from @parent and has its code. Errors: -ENOMEM. */
int jit_files_fork(struct jit_files *jit, const struct jit_image *parent,
		   const struct jit_image *child);

/*
 * @image has ended, by an exit, or by an exec at @exec_ns (CLOCK_MONOTONIC; 0: none): looks for its
 * files a last time. What is written after an exec is the next image's.
 */
void jit_files_end(struct jit_files *jit, const struct jit_image *image, uint64_t exec_ns);

/* Looks for new maps. Call it at each drain. */
void jit_files_retry(struct jit_files *jit);

/* @image is no longer needed: closes its files, unless a child without its own needs them. */
void jit_files_release(struct jit_files *jit, struct files *files, const struct jit_image *image);

/*
 * Sets @source's perf_map and jitdump to those of @image or, if a forked process has none, of its
 * ancestors; the descriptors stay @jit's and @files's.
 */
void jit_files_source(const struct jit_files *jit, const struct files *files,
		      const struct jit_image *image, struct mapping_source *source);

#endif
