/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/table_go.h"

#include <errno.h>
#include <string.h>

#include "base/go_open.h"
#include "base/x86.h"

#define MAX_FRAME (1 << 30) /* bytes */
#define MAX_CODE  1024	    /* bytes of a function that are looked at for a switch of stacks */
#define PUSH_FP	  0x55

/* What a function does to the stack besides taking its frame. */
enum go_kind {
	GO_PLAIN,
	GO_ENTRY,    /* threads and goroutines begin there */
	GO_SWITCHES, /* runs the rest of itself on another stack */
	GO_ABANDONS, /* … and never comes back to that of its caller */
	GO_SIGNAL,   /* signal handlers return there */
};

static const struct {
	const char *name;
	enum go_kind kind;
} go_kinds[] = {
	{"runtime.goexit", GO_ENTRY},	     {"runtime.mstart", GO_ENTRY},
	{"runtime.rt0_go", GO_ENTRY},	     {"runtime.mcall", GO_ABANDONS},
	{"runtime.morestack", GO_ABANDONS},  {"runtime.systemstack", GO_SWITCHES},
	{"runtime.asmcgocall", GO_SWITCHES}, {"runtime.cgocallback", GO_SWITCHES},
	{"runtime.nanotime1", GO_SWITCHES},  {"runtime.walltime", GO_SWITCHES},
	{"runtime.sigtramp", GO_PLAIN}, /* what the signal interrupted goes on */
};

/* A function whose rows are written. */
struct go_rows {
	struct table_writer *writer;
	uint64_t offset, size; /* in the file */
	enum go_kind kind;
	uint64_t switched;   /* byte from which on it is on another stack; or UINT64_MAX */
	uint64_t saved;	     /* byte from which on the caller's frame pointer is saved; the same */
	int32_t least_saved; /* … in frames of at least this size */
};

int table_go_open(struct table_go *ret, struct elf_file *file)
{
	const Elf64_Shdr whole = {.sh_size = file->size};
	struct table_go go = {};
	int r = file->machine == EM_X86_64 ? go_table_open(&go.table, file) : -ENOENT;

	if (r < 0)
		return r;
	r = section_open(&go.code, file, &whole, false, NULL);
	if (r < 0)
		table_go_done(&go);
	else
		*ret = go;
	return r;
}

void table_go_done(struct table_go *go)
{
	go_table_done(&go->table);
	section_done(&go->code);
}

/* Looks at up to @n bytes of code at @offset of the file. Returns how many there are. */
static size_t view_code(struct table_go *go, uint64_t offset, size_t n, const uint8_t **ret)
{
	size_t got = 0;

	return section_view(&go->code, offset, n, ret, &got) < 0 ? 0 : got;
}

/* mov $15,%rax, in either of two encodings; syscall: rt_sigreturn(2). */
static bool returns_from_signal(struct table_go *go, uint64_t offset)
{
	static const char calls[][10] = {"\x48\xc7\xc0\x0f\0\0\0\x0f\x05",
					 "\xb8\x0f\0\0\0\x0f\x05"};
	const uint8_t *code;
	size_t n = view_code(go, offset, 9, &code);

	return n == 9 && (memcmp(code, calls[0], 9) == 0 || memcmp(code, calls[1], 7) == 0);
}

/* Go 1.16 has no flags; since then the linker says what writes the stack pointer. */
static enum go_kind go_kind_of(struct table_go *go, const struct go_function *function,
			       uint64_t offset)
{
	char name[32];
	uint64_t entry = go->table.file->entry;

	if (entry >= function->start && entry < function->end)
		return GO_ENTRY;
	if (returns_from_signal(go, offset))
		return GO_SIGNAL;
	if (go->table.version >= 18 && !(function->flags & (GO_FLAG_TOP | GO_FLAG_WRITES_SP)))
		return GO_PLAIN;
	for (size_t i = 0; i < sizeof go_kinds / sizeof *go_kinds &&
			   go_table_name(&go->table, function->name, name, sizeof name) == 0;
	     i++)
		if (strcmp(name, go_kinds[i].name) == 0)
			return go_kinds[i].kind;
	if (function->flags & GO_FLAG_TOP)
		return GO_ENTRY;
	return function->flags & GO_FLAG_WRITES_SP ? GO_SWITCHES : GO_PLAIN;
}

/* The byte after the first move to the stack pointer from elsewhere. */
static uint64_t find_switch(struct table_go *go, uint64_t offset, uint64_t size)
{
	const uint8_t *code;
	size_t n = view_code(go, offset, size < MAX_CODE ? size : MAX_CODE, &code);
	struct x86_insn insn;

	for (size_t at = 0; at < n; at += insn.length) {
		if (x86_decode(code + at, n - at, &insn) < 0)
			return 0; /* it may be anywhere */
		if (!insn.is_vex && ((insn.opcode == 0x8b && insn.reg == X86_SP) ||
				     (insn.opcode == 0x89 && !insn.is_memory && insn.rm == X86_SP)))
			return at + insn.length;
	}
	return UINT64_MAX;
}

/*
 * Finds out where the caller's frame pointer is saved: at byte @at the frame grew to @size. Either
 * `push %rbp` came before, or `mov %rbp, size-8(%rsp)` comes now.
 */
static void find_saved(struct table_go *go, struct go_rows *rows, uint64_t at, int32_t size)
{
	const uint8_t *code;
	size_t n = at ? view_code(go, rows->offset + at - 1, 9, &code) : 0;
	int32_t where;

	rows->least_saved = size;
	if (n == 9 && size == 8 && code[0] == PUSH_FP) {
		rows->saved = at;
	} else if (n == 9 && memcmp(code + 1, "\x48\x89\x6c\x24", 4) == 0 &&
		   (int8_t)code[5] == size - 8) {
		rows->saved = at + 5;
	} else if (n == 9 && size == 8 && memcmp(code + 1, "\x48\x89\x2c\x24", 4) == 0) {
		rows->saved = at + 4;
	} else if (n == 9 && memcmp(code + 1, "\x48\x89\xac\x24", 4) == 0) {
		memcpy(&where, code + 5, sizeof where);
		rows->saved = where == size - 8 ? at + 8 : UINT64_MAX;
	}
}

static struct bf_rule rule_of(const struct go_rows *rows, int32_t size, bool is_saved)
{
	struct bf_rule rule = {
		.cfa = BF_CFA_SP,
		.cfa_offset = size + 8,
		.ra = BF_SAVED_CFA,
		.ra_offset = -1,
		.bx = BF_SAVED_LOST, /* Go saves no register for its callers */
	};

	if (is_saved) {
		rule.fp = BF_SAVED_CFA;
		rule.fp_offset = -2;
	}
	return rule;
}

/* Writes what holds from byte @from on. */
static int write_row(struct go_rows *rows, uint64_t from, const struct bf_rule *rule)
{
	return from < rows->size ? table_writer_row(rows->writer, rows->offset + from, rule) : 0;
}

/* Writes the rows from byte @from to @to, where the frame has @size bytes. */
static int write_frame(struct go_rows *rows, uint64_t from, uint64_t to, int32_t size)
{
	bool is_saved = size > 0 && size >= rows->least_saved && from >= rows->saved;
	struct bf_rule rule = rule_of(rows, size, is_saved);
	int r;

	if (size < 0 || size > MAX_FRAME)
		return from < rows->size ? table_writer_gap(rows->writer, rows->offset + from) : 0;
	r = write_row(rows, from, &rule);
	if (r < 0 || is_saved || size < rows->least_saved || rows->saved >= to ||
	    rows->saved <= from)
		return r;
	rule = rule_of(rows, size, true);
	return write_row(rows, rows->saved, &rule);
}

/* Writes the rows up to where the function moves to another stack, or is damaged. */
static int write_frames(struct table_go *go, struct go_rows *rows,
			const struct go_function *function)
{
	struct go_values values;

	go_values_start(&go->table, function, function->sizes, &values);
	while (go_values_next(&go->table, &values) > 0) {
		uint64_t from = values.start - function->start;
		int r;

		if (from >= rows->size || from >= rows->switched)
			return 0;
		if (values.value > 0 && rows->least_saved == INT32_MAX)
			find_saved(go, rows, from, values.value);
		r = write_frame(rows, from, values.end - function->start, values.value);
		if (r < 0)
			return r;
	}
	values.end -= function->start; /* what fills the space up to the next one may have none */
	if (values.end >= rows->size || values.end >= rows->switched)
		return 0;
	return table_writer_gap(rows->writer, rows->offset + values.end);
}

/* Writes what holds once the function is on another stack. */
static int write_switched(struct go_rows *rows)
{
	const struct bf_rule back = {.cfa = BF_CFA_FP,
				     .cfa_offset = 16,
				     .fp = BF_SAVED_CFA,
				     .fp_offset = -2,
				     .ra = BF_SAVED_CFA,
				     .ra_offset = -1,
				     .bx = BF_SAVED_LOST};
	const struct bf_rule entry = {.cfa = BF_CFA_ENTRY};

	return write_row(rows, rows->switched, rows->kind == GO_ABANDONS ? &entry : &back);
}

/*
 * A signal's handler returns to the first byte, and return addresses are looked up one before it:
 * that byte belongs to the row, too.
 */
static int write_signal(struct go_rows *rows)
{
	const struct bf_rule rule = {.cfa = BF_CFA_SIGNAL};
	uint64_t before = rows->offset > 0;

	return table_writer_row(rows->writer, rows->offset - before, &rule);
}

int table_go_write(struct table_go *go, struct table_writer *writer, size_t i, uint64_t offset,
		   uint64_t size)
{
	struct go_rows rows = {.writer = writer,
			       .offset = offset,
			       .size = size,
			       .switched = UINT64_MAX,
			       .saved = UINT64_MAX,
			       .least_saved = INT32_MAX};
	const struct bf_rule entry = {.cfa = BF_CFA_ENTRY};
	struct go_function function;
	int r = go_table_function(&go->table, i, &function);

	if (r < 0)
		return r == -ENOMEM ? r : table_writer_gap(writer, offset);
	rows.kind = go_kind_of(go, &function, offset);
	if (rows.kind == GO_ENTRY)
		return write_row(&rows, 0, &entry);
	if (rows.kind == GO_SIGNAL)
		return write_signal(&rows);
	if (rows.kind != GO_PLAIN)
		rows.switched = find_switch(go, offset, size);
	r = write_frames(go, &rows, &function);
	if (r < 0 || rows.switched >= size)
		return r;
	return write_switched(&rows);
}
