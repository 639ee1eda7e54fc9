/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_table: what a Go program says of its own functions: `.gopclntab`, which its runtime needs for
 * tracebacks and which no strip takes away.
 *
 * The table, in the form of Go 1.16 (debug/gosym and internal/abi/symtab.go in Go's sources):
 *
 *	header     magic, size of an instruction and of a pointer, counts, offsets of the parts
 *	names      of functions, each with its NUL
 *	cus        of each source package, where its files' paths are: 32-bit offsets
 *	files      paths, each with its NUL
 *	values     programs of varints: pairs (change of the value, bytes of code it holds for)
 *	functions  (address, offset of the record) of each function, ascending, and where the last
 * ends records    of each function: name, and the programs for frame size, file, line, …
 *
 * 1.18 counts addresses from the start of the text, 1.20 adds a line to each record. What was
 * inlined is in `funcdata`, outside of the table: where, the runtime's module data
 * say, and since 1.26 only they say where the text starts. They are found by their first word,
 * which is the table's address.
 *
 * Nothing of it is trusted: each read is checked, and all work is charged to a budget.
 */
#ifndef BASE_GO_TABLE_H
#define BASE_GO_TABLE_H

#include "base/elf_file.h"
#include "base/section.h"

enum go_part {
	GO_NAMES,
	GO_CUS,
	GO_FILES,
	GO_VALUES,
	GO_RECORDS,
	N_GO_PARTS,
};

struct go_table {
	struct elf_file *file;
	uint64_t address, offset, size;	  /* of the table: virtual, in the file, bytes */
	unsigned int version;		  /* of Go, the first of this form: 16, 18, 20 */
	uint32_t quantum;		  /* bytes of code that a varint counts in */
	uint64_t text;			  /* virtual address that functions are counted from */
	uint64_t module;		  /* virtual address of the module data; 0: not found */
	uint64_t funcdata;		  /* … that funcdata are counted from; 0: not known */
	uint64_t at[N_GO_PARTS];	  /* where the parts begin, from the table's start */
	struct section parts[N_GO_PARTS]; /* the whole table, each with a window of its own */
	struct go_entry *entries;	  /* of each function, ascending, and of the end */
	size_t n;			  /* functions */
	int64_t budget;			  /* steps that may still be done */
};

/* Where a function begins, and where its record is. */
struct go_entry {
	uint64_t start;	 /* virtual */
	uint32_t record; /* offset among the records */
};

/* A function's flags: internal/abi/symtab.go. */
#define GO_FLAG_TOP	  1 /* tracebacks end there */
#define GO_FLAG_WRITES_SP 2 /* it moves to another stack: its frame size can't be relied on */

struct go_function {
	uint64_t start, end;		       /* virtual */
	int32_t name;			       /* offset among the names; negative: none */
	uint32_t sizes, files, lines, inlined; /* programs: offsets among the values; 0: none */
	uint32_t cu;
	uint64_t tree; /* virtual address of what is inlined; 0: nothing */
	uint8_t flags; /* GO_FLAG_… */
};

/* A function that was inlined: where it was called, as an offset from the start of the function. */
struct go_inlined {
	int32_t name;
	uint32_t called_at;
};

/* A program of values while it is run. */
struct go_values {
	uint64_t at;	     /* offset in the table */
	uint64_t start, end; /* what the last value holds for: virtual addresses */
	uint64_t limit;
	int32_t value;
	bool is_first;
};

void go_table_done(struct go_table *table);

/* Reads the @i-th function. Errors: -ENOEXEC; read errors. */
int go_table_function(struct go_table *table, size_t i, struct go_function *ret);

/* Finds the function that holds virtual address @address. Errors: -ENOENT none; as above. */
int go_table_find(struct go_table *table, uint64_t address, struct go_function *ret);

/* Copies the name at @name, or the path of file @file of @function, cut to @size - 1 bytes.
 * Errors: -ENOEXEC there is no such; read errors. */
int go_table_name(struct go_table *table, int32_t name, char *buffer, size_t size);
int go_table_path(struct go_table *table, const struct go_function *function, int32_t file,
		  char *buffer, size_t size);

/* Reads what has number @i among the inlined functions of @function. Errors: as above. */
int go_table_inlined(struct go_table *table, const struct go_function *function, uint32_t i,
		     struct go_inlined *ret);

/* Starts @program of @function. */
void go_values_start(const struct go_table *table, const struct go_function *function,
		     uint32_t program, struct go_values *ret);
/* Runs on to the next value. Returns 1, 0 at the end. Errors: -ENOEXEC; read errors. */
int go_values_next(struct go_table *table, struct go_values *values);
/* The value of @program at @address. Errors: -ENOENT none; as above. */
int go_values_find(struct go_table *table, const struct go_function *function, uint32_t program,
		   uint64_t address, int32_t *ret);

#endif
