/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source: where the names of a mapping's addresses come from. Collectors make it, symbolize() takes
 * it; the maker keeps the descriptors.
 */
#ifndef CORE_SOURCE_H
#define CORE_SOURCE_H

#include <stdbool.h>

/* Descriptors; -1: none. */
struct mapping_source {
	int file;     /* MAPPING_FILE: the mapped file */
	int root;     /* the root folder of a process that mapped it (O_PATH); none: ours */
	int perf_map; /* MAPPING_ANON: the process's perf-PID.map */
	int jitdump;  /* MAPPING_ANON: the process's jit-PID.dump */
};

struct reader;
struct names_cache;
struct names_later;

#define MAPPING_SOURCE_NONE ((struct mapping_source){-1, -1, -1, -1})

/* What symbolize() looks for, and where. */
struct symbolize_options {
	bool no_inline;	   /* leave out inlined functions */
	bool no_demangle;  /* C++ and Rust names as the compiler wrote them */
	bool lines;	   /* find file and line of each frame */
	bool addresses;	   /* look up no names: [module+0xOFFSET] */
	const char *symfs; /* a folder to search first for symbol files, or NULL */
	struct reader *reader;		      /* reads the files; NULL: we do */
	struct names_cache *cache;	      /* of earlier windows, or NULL */
	bool put_off;			      /* with @cache: only what is there */
	struct names_later *later;	      /* with @cache: takes what lasts too long, or NULL */
	const volatile bool *is_ended;	      /* NULL, or set by others to end the search */
	void (*begin_file)(const char *path); /* NULL, or called for each file */
	/* With @later: more than 10 ms of CPU time is too long, and rests longer. */
	bool is_frugal;
};

#endif
