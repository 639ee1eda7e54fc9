/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_go: a Go program with a known table, in each form that Go has written.
 *
 *	0x401000	code of the functions below
 *	0x500000	the table, and then the inlined functions
 *	0x600000	the module data; 0x601000: relocations, if the pointers are there
 */
#ifndef TESTS_UNIT_MADE_GO_H
#define TESTS_UNIT_MADE_GO_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GO_TEXT	       0x401000
#define GO_TABLE       0x500000
#define GO_TREES       0x502000
#define GO_MODULE      0x600100
#define GO_FILE(at)    ((at) - ((at) < 0x500000 ? 0x400000 : (at) < 0x600000 ? 0x4fe000 : 0x5fb000))
#define GO_IMAGE_SIZE  0x7000
#define GO_N_FUNCTIONS 8

struct made_go {
	unsigned int version; /* 16, 18, 20 */
	bool no_sections;     /* as sstrip leaves it */
	bool is_merged;	      /* the linker put the table into another section */
	bool is_relocated;    /* pointers are only in relocations */
	bool no_text;	      /* the header does not give the start of the text */
	bool no_module;
	unsigned int funcdata_word; /* of the module data; 0: 40 */
};

/* A change of a value: @value holds from byte @at of the function on. */
struct made_go_value {
	uint32_t at;
	int32_t value;
};

struct made_go_function {
	const char *name;
	uint32_t start, end; /* from GO_TEXT */
	uint8_t flags;
	const char *code;
	size_t n_code;
	struct made_go_value sizes[6]; /* to the end of the function; empty: not in the table */
	uint32_t filled;	       /* bytes at the end that have no size */
};

#define CODE(text) text, sizeof(text) - 1
/* clang-format off */
static const struct made_go_function made_go_functions[GO_N_FUNCTIONS] = {
	/* Go up to 1.20: sub $24,%rsp; mov %rbp,16(%rsp); lea 16(%rsp),%rbp. */
	{"main.work", 0, 0x80, 0,
	 CODE("\x49\x3b\x66\x10\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10"),
	 {{0, 0}, {8, 24}, {0x69, 0}}},
	/* Go since 1.21: push %rbp; mov %rsp,%rbp; sub $32,%rsp. */
	{"main.pushed", 0x80, 0xc0, 0, CODE("\x55\x48\x89\xe5\x48\x83\xec\x20"),
	 {{0, 0}, {1, 8}, {8, 40}, {0x30, 8}, {0x31, 0}}},
	{"main.leaf", 0xc0, 0xe0, 4, CODE("\x48\x31\xed"), {{0, 0}}},
	/* push %rbp; mov %rsp,%rbp; nop; mov %rbx,%rsp; call *%rdi. */
	{"runtime.systemstack", 0xe0, 0x120, 6, CODE("\x55\x48\x89\xe5\x90\x48\x89\xdc\xff\xd7"),
	 {{0, 0}, {1, 8}}, 0x0f},
	/* mov %rax,%rdx; mov 56(%r14),%rsp; push %rax; call *%r12. */
	{"runtime.mcall", 0x120, 0x160, 6, CODE("\x48\x89\xc2\x49\x8b\x66\x38\x50\x41\xff\xd4"),
	 {{0, 0}, {8, 8}}},
	{"runtime.goexit", 0x160, 0x180, 5, CODE("\x90\xe8"), {{0, 0}}},
	/* mov $15,%rax; syscall. */
	{"runtime.sigreturn__sigaction", 0x180, 0x1a0, 4,
	 CODE("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"), {{0, 0}}},
	{"main.untold", 0x1a0, 0x1c0, 0, CODE("\x90"), {}},
};
#undef CODE

/* For main.work: the tree of inlined functions, and lines. */
static const struct made_go_value made_go_inlined[] = {{0, -1}, {0x10, 0}, {0x20, 1}, {0x30, -1}};
static const struct made_go_value made_go_files[] = {{0, 0}, {0x10, 1}, {0x30, 0}};
static const struct made_go_value made_go_lines[] = {{0, 10}, {0x10, 20}, {0x20, 30}, {0x28, 21},
						     {0x30, 12}};
/* clang-format on */

/* A buffer to append to. */
struct made_go_bytes {
	uint8_t *start, *at;
};

static inline void made_go_put(struct made_go_bytes *bytes, uint64_t number, size_t n)
{
	memcpy(bytes->at, &number, n);
	bytes->at += n;
}

static inline void made_go_varint(struct made_go_bytes *bytes, uint32_t number)
{
	for (; number >= 0x80; number >>= 7)
		*bytes->at++ = number | 0x80;
	*bytes->at++ = number;
}

/* Appends a program. Returns its offset in @bytes. */
static inline uint32_t made_go_program(struct made_go_bytes *bytes,
				       const struct made_go_value *values, size_t n, uint32_t end)
{
	uint32_t start = bytes->at - bytes->start;
	int32_t before = -1;

	for (size_t i = 0; i < n && (i == 0 || values[i].at); i++) {
		bool is_last = i + 1 == n || !values[i + 1].at;
		uint32_t to = is_last ? end : values[i + 1].at;
		int32_t change = values[i].value - before;

		made_go_varint(bytes, (uint32_t)change << 1 ^ (uint32_t)(change >> 31));
		made_go_varint(bytes, to - values[i].at);
		before = values[i].value;
	}
	*bytes->at++ = 0;
	return start;
}

static inline uint32_t made_go_text(struct made_go_bytes *bytes, const char *text)
{
	uint32_t start = bytes->at - bytes->start;

	bytes->at = (uint8_t *)stpcpy((char *)bytes->at, text) + 1;
	return start;
}

/* Inlined into main.work: main.inner[int] at 0x20, in main.outer at 0x10. */
static inline void made_go_trees(const struct made_go *go, uint8_t *image, uint32_t inner,
				 uint32_t outer)
{
	struct made_go_bytes bytes = {image + GO_FILE(GO_TREES), image + GO_FILE(GO_TREES) + 8};
	const uint32_t names[] = {outer, inner}, called[] = {0x4, 0x14};

	for (size_t i = 0; i < 2; i++) {
		made_go_put(&bytes, 0, go->version >= 20 ? 4 : 8);
		if (go->version < 20)
			made_go_put(&bytes, 0, 4);
		made_go_put(&bytes, names[i], 4);
		made_go_put(&bytes, called[i], 4);
		if (go->version >= 20)
			made_go_put(&bytes, 0, 4);
	}
}

#define MADE_COUNT(array) (sizeof(array) / sizeof *(array))

/* Appends the record of function @i, whose name is at @name; its programs go to @values. */
static inline void made_go_record(const struct made_go *go, size_t i, uint32_t name,
				  struct made_go_bytes *values, struct made_go_bytes *bytes)
{
	const struct made_go_function *function = &made_go_functions[i];
	uint32_t end = function->end - function->start, programs[4] = {};
	bool has_tree = i == 0;

	if (function->sizes[0].value || function->sizes[0].at || i != GO_N_FUNCTIONS - 1)
		programs[0] = made_go_program(values, function->sizes, 6, end - function->filled);
	if (has_tree) {
		programs[1] =
			made_go_program(values, made_go_files, MADE_COUNT(made_go_files), end);
		programs[2] =
			made_go_program(values, made_go_lines, MADE_COUNT(made_go_lines), end);
		programs[3] =
			made_go_program(values, made_go_inlined, MADE_COUNT(made_go_inlined), end);
	}
	if (go->version < 18)
		made_go_put(bytes, GO_TEXT + function->start, 8);
	else
		made_go_put(bytes, function->start, 4);
	made_go_put(bytes, name, 4);
	made_go_put(bytes, 0, 8);
	made_go_put(bytes, programs[0], 4);
	made_go_put(bytes, programs[1], 4);
	made_go_put(bytes, programs[2], 4);
	made_go_put(bytes, has_tree ? 3 : 0, 4);
	made_go_put(bytes, 1, 4); /* second in the list of files */
	if (go->version >= 20)
		made_go_put(bytes, 9, 4);
	made_go_put(bytes, (uint32_t)function->flags << 8 | (has_tree ? 4u << 24 : 0), 4);
	if (!has_tree)
		return;
	made_go_put(bytes, 0, 8);
	made_go_put(bytes, programs[3], 4);
	if (go->version < 18) {
		bytes->at += -(bytes->at - bytes->start) & 7;
		bytes->at += 3 * 8;
		made_go_put(bytes, GO_TREES + 8, 8);
	} else {
		made_go_put(bytes, ~0ull, 8);
		made_go_put(bytes, ~0ull, 4);
		made_go_put(bytes, 8, 4);
	}
}

static inline void made_go_table(const struct made_go *go, uint8_t *image)
{
	enum { NAMES = 0x100, CUS = 0x400, FILES = 0x420, VALUES = 0x500, RECORDS = 0x1000 };
	uint8_t *table = image + GO_FILE(GO_TABLE);
	struct made_go_bytes header = {table, table};
	struct made_go_bytes names = {table + NAMES, table + NAMES + 1};
	struct made_go_bytes files = {table + FILES, table + FILES};
	struct made_go_bytes values = {table + VALUES, table + VALUES + 1};
	struct made_go_bytes entries = {table + RECORDS, table + RECORDS};
	struct made_go_bytes records = {table + RECORDS, table + RECORDS + 0x100};
	size_t word = go->version < 18 ? 8 : 4;
	uint64_t base = go->version < 18 ? GO_TEXT : 0;
	uint32_t lists[3] = {~0u}, inner, outer;

	made_go_put(&header,
		    go->version < 18   ? 0xfffffffa
		    : go->version < 20 ? 0xfffffff0
				       : 0xfffffff1,
		    6);
	made_go_put(&header, 1 | 8 << 8, 2);
	made_go_put(&header, GO_N_FUNCTIONS, 8);
	made_go_put(&header, 2, 8);
	if (go->version >= 18)
		made_go_put(&header, go->no_text || go->is_relocated ? 0 : GO_TEXT, 8);
	made_go_put(&header, NAMES, 8);
	made_go_put(&header, CUS, 8);
	made_go_put(&header, FILES, 8);
	made_go_put(&header, VALUES, 8);
	made_go_put(&header, RECORDS, 8);
	lists[1] = made_go_text(&files, "/src/work.go");
	lists[2] = made_go_text(&files, "/src/inlined.go");
	memcpy(table + CUS, lists, sizeof lists);
	for (size_t i = 0; i < GO_N_FUNCTIONS; i++) {
		uint32_t name = made_go_text(&names, made_go_functions[i].name);

		records.at += -(records.at - records.start) & 7;
		made_go_put(&entries, base + made_go_functions[i].start, word);
		made_go_put(&entries, records.at - records.start, word);
		made_go_record(go, i, name, &values, &records);
	}
	made_go_put(&entries, base + made_go_functions[GO_N_FUNCTIONS - 1].end, word);
	inner = made_go_text(&names, "main.inner[go.shape.int]");
	outer = made_go_text(&names, "main.outer");
	made_go_trees(go, image, inner, outer);
}

/*
 * Writes the module data, with pointers in relocations or in place. Returns the number of
 * relocations.
 */
static inline size_t made_go_module(const struct made_go *go, uint8_t *image)
{
	Elf64_Rela *relocations = (Elf64_Rela *)(image + GO_FILE(0x601000));
	uint64_t words[64] = {[0] = GO_TABLE,
			      [1] = GO_TABLE + 0x100,
			      [22] = GO_TEXT,
			      [38] = GO_TABLE,
			      [39] = GO_TEXT};
	size_t n = 0;

	words[go->funcdata_word ? go->funcdata_word : 40] = GO_TREES;
	if (go->no_module)
		return 0;
	if (!go->is_relocated)
		memcpy(image + GO_FILE(GO_MODULE), words, sizeof words);
	for (size_t i = 0; i < 64 && go->is_relocated; i++)
		if (words[i])
			relocations[n++] = (Elf64_Rela){
				GO_MODULE + 8 * i, ELF64_R_INFO(0, R_X86_64_RELATIVE), words[i]};
	return n;
}

struct made_go_headers {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Shdr sections[5];
	char names[96];
};

/* Makes the program in @image: GO_IMAGE_SIZE zeroed bytes, 8-byte aligned. */
static inline void made_go(const struct made_go *go, uint8_t *image)
{
	static const char names[] =
		"\0.text\0.gopclntab\0.go.buildinfo\0.data.rel.ro\0.rela.dyn\0.shstrtab";
	struct made_go_headers *headers = (struct made_go_headers *)image;
	size_t n;

	for (size_t i = 0; i < GO_N_FUNCTIONS; i++) {
		const struct made_go_function *function = &made_go_functions[i];
		uint8_t *code = image + GO_FILE(GO_TEXT) + function->start;

		memset(code, 0x90, function->end - function->start);
		memcpy(code, function->code, function->n_code);
	}
	made_go_table(go, image);
	n = made_go_module(go, image);
	*headers = (struct made_go_headers){
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_machine = EM_X86_64,
			   .e_phoff = offsetof(struct made_go_headers, segments),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 3},
		.segments = {{PT_LOAD, PF_R | PF_X, 0x1000, GO_TEXT, GO_TEXT, 0x1000, 0x1000,
			      0x1000},
			     {PT_LOAD, PF_R, GO_FILE(GO_TABLE), GO_TABLE, GO_TABLE, 0x3000, 0x3000,
			      0x1000},
			     {PT_LOAD, PF_R | PF_W, GO_FILE(0x600000), 0x600000, 0x600000, 0x1000,
			      0x1000, 0x1000}},
		.sections = {{0},
			     {.sh_name = go->is_merged ? 32 : 7,
			      .sh_type = SHT_PROGBITS,
			      .sh_flags = SHF_ALLOC,
			      .sh_addr = GO_TABLE,
			      .sh_offset = GO_FILE(GO_TABLE),
			      .sh_size = 0x2000},
			     {.sh_name = 18,
			      .sh_type = SHT_PROGBITS,
			      .sh_flags = SHF_ALLOC,
			      .sh_addr = 0x600000,
			      .sh_offset = GO_FILE(0x600000),
			      .sh_size = 0x10},
			     {.sh_name = 45,
			      .sh_type = SHT_RELA,
			      .sh_flags = SHF_ALLOC,
			      .sh_offset = GO_FILE(0x601000),
			      .sh_size = n * sizeof(Elf64_Rela),
			      .sh_entsize = sizeof(Elf64_Rela)},
			     {.sh_name = 55,
			      .sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(struct made_go_headers, names),
			      .sh_size = sizeof names}},
	};
	memcpy(headers->names, names, sizeof names);
	if (!go->no_sections) {
		headers->header.e_shoff = offsetof(struct made_go_headers, sections);
		headers->header.e_shentsize = sizeof(Elf64_Shdr);
		headers->header.e_shnum = 5;
		headers->header.e_shstrndx = 4;
	}
}

#endif
