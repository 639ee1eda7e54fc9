/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime: programs that run code of their own: interpreters. One file each; this is what they have
 * in common, and the table of them is in runtime.c.
 *
 *	examine	a reader finds out, from an ELF file, whether it is the runtime, which version, and
 *		where things lie in its structures: struct runtime_facts
 *	write	facts become texts for the machine that finds the frames (bpf/machine.h), one for
 *		each hook that is needed
 *	describe	a frame becomes a name, a file and lines, by what is in the process's memory
 *
 * Facts come from a file, and memory from a process, that anybody may have made: facts are checked
 * before use, and what is read of memory is believed only if its type, its lengths and the frame's
 * check word agree. There is no guessed name.
 */
#ifndef RUNTIMES_RUNTIME_H
#define RUNTIMES_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

struct elf_file;

#define RUNTIME_OFFSETS 64
#define RUNTIME_ROWS	16 /* numbers of runtimes are below */

/* Why the frames of a runtime are not found. */
enum runtime_problem {
	RUNTIME_FINE,
	RUNTIME_VERSION, /* this version is not known */
	RUNTIME_BUILD,	 /* a build whose structures are others */
	RUNTIME_LAYOUT,	 /* what it says of its structures makes no sense */
	N_RUNTIME_PROBLEMS,
};

/* Facts about one file. Fixed size, no pointers: they come from another process. */
struct runtime_facts {
	uint32_t runtime;    /* row of the table, from 1; 0: it is none. It owns the frames */
	uint32_t problem;    /* enum runtime_problem */
	uint32_t version;    /* major << 8 | minor */
	uint32_t is_partial; /* the rest is in the memory of each process: runtime_complete() */
	uint32_t is_early;   /* they can be used, but a process that is asked again will say more */
	uint32_t pad;
	int64_t code_shift;	  /* address less file offset, of its code */
	uint64_t type;		  /* address of the type of code objects, unrelocated */
	/* Where the loop is, if its activations have no anchors, or late ones; or 0. */
	uint64_t loop, loop_size;
	uint64_t cold, cold_size; /* what of the loop the compiler has put elsewhere; or 0 */
	uint64_t again, again_size; /* what starts it once more within an activation; or 0 */
	uint64_t program, program_size; /* what starts it for the program itself; or 0 */
	/* Generated code that is part of the file, by its address there: a range, too. Or 0. */
	uint64_t generated, generated_size;
	uint32_t offsets[RUNTIME_OFFSETS]; /* as the runtime's own file numbers them */
};

/* A frame, as on the wire. */
struct runtime_frame {
	uint64_t code;
	uint32_t kind, detail, check;
};

/* What a frame's kind says to all, beside numbers of the runtime's choosing. */
#define RUNTIME_LAST	       (BF_FRAME_KINDS / 2) /* its activation's last, of those without anchors */
#define RUNTIME_KIND_IS_CODE   16		    /* it is code itself: no native frame runs it */
#define RUNTIME_KIND_PROGRAM   4 /* of those without anchors: the program's own activation */
#define RUNTIME_KIND_BY_DETAIL 8 /* what it is called depends on its detail, too */

#define RUNTIME_NAME_MAX 1024 /* bytes, with the 0 at the end; longer names are cut */
#define RUNTIME_LINES_MAX                                                                          \
	(1u << 16) /* bytes of a line table; those of longer ones are left out                     \
		    */

/* A function that was inlined into another one. */
struct runtime_inlined {
	char *name, *file;
	uint32_t line;
};
#define RUNTIME_MAX_INLINED 64

/* What a code object says of itself. */
struct runtime_code {
	bool is_hidden;		     /* the runtime's own: nobody wrote it */
	bool is_compiled;	     /* else it is interpreted */
	char name[RUNTIME_NAME_MAX]; /* `module.function`, UTF-8 */
	char file[RUNTIME_NAME_MAX];
	uint32_t first_line;
	uint8_t *lines; /* the runtime's line table, malloc'ed, or NULL */
	uint32_t n_lines;
	uint32_t line; /* without a table, if known */
	/* Functions inlined there, innermost first: @n_inlined, malloc'ed, or NULL. */
	struct runtime_inlined *inlined;
	uint32_t n_inlined;
};

/* One piece of memory to be read. */
struct runtime_piece {
	uint64_t address;
	uint32_t n;
	void *to;
};
#define RUNTIME_MAX_PIECES 8

/* Reads all @n pieces, in order. Returns 0 or -errno. */
typedef int (*runtime_read_fn)(void *context, const struct runtime_piece *pieces, size_t n);

struct runtime_memory {
	runtime_read_fn read;
	void *context;
	int64_t bias; /* where the file is mapped, less where it wants to be */
};

/* Finds out what @elf is; no runtime at all is no error. Gives sound facts. Errors: -ENOMEM. */
int runtime_examine(struct elf_file *elf, struct runtime_facts *ret);

/*
 * Takes what is missing of partial facts from a process. Errors: -EAGAIN: it is not there yet;
 * those of @memory's.
 */
int runtime_complete(struct runtime_facts *facts, const struct runtime_memory *memory);

/* Whether facts that somebody else has found can be used, or at least named. */
bool runtime_is_sound(const struct runtime_facts *facts);

/* "CPython 3.11". @facts are sound, here and below. */
void runtime_name(const struct runtime_facts *facts, char *to, size_t size);
/* Why its frames are not found: "this version is not known"; "" if they are. */
const char *runtime_problem_text(const struct runtime_facts *facts);

/* Whether a text finds frames where walks come to code that is no file's; whether all of them. */
bool runtime_has_ranges(const struct runtime_facts *facts);
bool runtime_has_only_ranges(const struct runtime_facts *facts);
/* Whether objects move while it runs: what is read after the stack was taken may be another's. */
bool runtime_moves_objects(const struct runtime_facts *facts);
/* Whether frames are there before the loop leaves their anchor; the kind of functions in C. */
bool runtime_has_late_anchors(const struct runtime_facts *facts, uint32_t *ret_function);
/* Whether it leaves its place to another one if a process has too many. */
bool runtime_gives_way(const struct runtime_facts *facts);
/*
 * Writes the text that runs at @hook. Errors: -ENOENT: there is none; -EINVAL: no text can be made
 * of these facts.
 */
int runtime_write(const struct runtime_facts *facts, enum bf_hook hook, struct bf_text *ret);

/*
 * Reads what @frame is. Errors: -ESTALE: it is not what the frame was made of; those of
 * @memory's; -ENOMEM; -EINVAL: @facts have a problem. @ret is the caller's to end by
 * runtime_code_done().
 */
int runtime_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		     const struct runtime_frame *frame, struct runtime_code *ret);

void runtime_code_done(struct runtime_code *code);
void runtime_inlined_free(struct runtime_inlined *inlined, uint32_t n);

/* The line that a frame of @code is in; 0: not known. */
uint32_t runtime_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		      uint32_t first_line, uint32_t detail);

/*
 * What to call a frame that could not be described, "[python 0x1c3f20a9]", by its check: where it
 * lies in memory is a secret. @facts may be NULL here.
 */
void runtime_nameless(const struct runtime_facts *facts, uint32_t check, char *to, size_t size);

/* --- what a runtime's file provides --- */

struct runtime {
	const char *name, *language;
	bool moves_objects;  /* those that frames lead to */
	bool has_late_anchors;
	uint32_t function_kind; /* with late anchors: that of functions in C */
	bool has_one_number; /* a version is major only */
	bool gives_way;	     /* to others, if there are too many in a process */
	int (*examine)(struct elf_file *elf, struct runtime_facts *ret);
	int (*complete)(struct runtime_facts *facts, const struct runtime_memory *memory);
	bool (*is_sound)(const struct runtime_facts *facts);
	/* One or both; NULL: none runs there. */
	int (*write_chain)(const struct runtime_facts *facts, struct bf_text *ret);
	int (*write_range)(const struct runtime_facts *facts, struct bf_text *ret);
	int (*describe)(const struct runtime_facts *facts, const struct runtime_memory *memory,
			const struct runtime_frame *frame, struct runtime_code *ret);
	/* NULL: a frame's detail is its line; the table is not read. */
	uint32_t (*line)(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
			 uint32_t first_line, uint32_t detail);
};

extern const struct runtime runtime_cpython;
extern const struct runtime runtime_ruby;
extern const struct runtime runtime_php;
extern const struct runtime runtime_hotspot;
extern const struct runtime runtime_v8;
extern const struct runtime runtime_perl;
extern const struct runtime runtime_beam;
extern const struct runtime runtime_luajit;
extern const struct runtime runtime_dotnet;
extern const struct runtime runtime_pcre2;

#endif
