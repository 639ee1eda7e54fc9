/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source: where the names of a mapping's addresses come from. Made by collectors, taken by
 * symbolize(); the descriptors stay the maker's.
 */
#ifndef CORE_SOURCE_H
#define CORE_SOURCE_H

#include <stdbool.h>

/* Descriptors; -1: none. */
struct mapping_source {
	int file;     /* MAPPING_FILE: the mapped file */
	int root;     /* the root folder of a process that mapped it (O_PATH); none: it is ours */
	int perf_map; /* MAPPING_ANON: the process's perf-PID.map */
	int jitdump;  /* MAPPING_ANON: the process's jit-PID.dump */
};

struct reader;

#define MAPPING_SOURCE_NONE ((struct mapping_source){-1, -1, -1, -1})

/* What symbolize() is to find, and where. */
struct symbolize_options {
	bool no_inline;	   /* leave inlined functions out */
	bool no_demangle;  /* C++ and Rust names as the compiler wrote them */
	bool lines;	   /* find file and line of each frame */
	bool addresses;	   /* find no names: [module+0xOFFSET] */
	const char *symfs; /* a folder that is looked under first for files of symbols, or NULL */
	struct reader *reader;		      /* files are read there; NULL: by us */
	const volatile bool *is_ended;	      /* NULL, or set by others: search no longer */
	void (*begin_file)(const char *path); /* NULL, or called for each file */
};

#endif
