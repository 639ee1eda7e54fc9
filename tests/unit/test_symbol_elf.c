/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF symbols, from an assembler program in which every address is known, and from damaged copies
 * of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "symbol/elf_symbols.h"
#include "symbol/file_names.h"

#define TEXT	    0x410000
#define MAX_LOOKUPS 64

/* .text: consecutive regions of 16 bytes, by what names them. */
static const char program[] =
    ".text\n"
    /* 0x00: a size; 0x10: nothing */
    ".globl sized\n.type sized,@function\nsized: .zero 16\n.size sized,16\n.zero 16\n"
    /* 0x20: no size, a mapping symbol inside */
    ".globl open_end\n.type open_end,@function\nopen_end: .zero 8\n\"$x\": .zero 8\n"
    /* 0x30: many names */
    ".globl alias_b\n.globl alias_a\n.globl __alias\n.globl alias_long\n.weak a_weak\n"
    ".type alias_a,@function\n.type alias_b,@function\n.type __alias,@function\n"
    ".type alias_long,@function\n.type a_weak,@function\n.type a_local,@function\n"
    "__alias: alias_b: alias_a: alias_long: a_weak: a_local: .zero 16\n"
    ".size alias_a,16\n.size alias_b,16\n.size __alias,16\n"
    ".size alias_long,16\n.size a_weak,16\n.size a_local,16\n"
    /* 0x40 to 0x80: one function in another, with a label */
    ".type outer,@function\nouter: .zero 16\n.type inner,@function\ninner: .zero 16\n"
    ".size inner,16\nlabel_inside: .zero 32\n.size outer,.-outer\n"
    /* 0x80: a label only, valid to the end of the section */
    "only_label: .zero 32\n"
    ".section .other,\"ax\"\n.zero 16\n.globl _ZN5space5otherEv\n"
    ".type _ZN5space5otherEv,@function\n_ZN5space5otherEv: .zero 16\n"
    ".section .start,\"ax\"\n.balign 256\n.type frame_dummy,@function\nframe_dummy: ret\n.zero 31\n"
    ".data\n.type object,@object\nobject: .zero 16\n.size object,16\n";

static char folder[] = "/tmp/test_symbol.XXXXXX";
static char *image;
static size_t image_size;

static struct strings strings;
static uint64_t addresses[MAX_LOOKUPS];
static uint32_t names[MAX_LOOKUPS];
static struct lookups lookups = {addresses, names, 0};

static int resolve(struct elf_file *file, struct lookups *of)
{
	return elf_symbols_resolve(&file, 1, of, &strings);
}

static void read_image(const char *path)
{
	FILE *stream = fopen(path, "r");
	struct stat st;

	assert_non_null(stream);
	assert_int_equal(fstat(fileno(stream), &st), 0);
	image_size = st.st_size;
	image = malloc(image_size);
	assert_non_null(image);
	assert_int_equal(fread(image, 1, image_size, stream), image_size);
	fclose(stream);
}

static int build(void **state)
{
	char path[128], command[1024];
	FILE *stream;

	assert_int_equal(strings_init(&strings), 0);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/program.s", folder);
	stream = fopen(path, "w");
	assert_non_null(stream);
	fputs(program, stream);
	fclose(stream);
	snprintf(command, sizeof command,
		 "cd %s && ${CC:-gcc} -nostdlib -static -no-pie -Wl,-Ttext=%#x -Wl,-e,sized "
		 "-Wl,--build-id=0x00112233445566778899aabbccddeeff -o program program.s",
		 folder, TEXT);
	if (system(command) != 0)
		return -1;
	snprintf(path, sizeof path, "%s/program", folder);
	read_image(path);
	return 0;
}

static int clean(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	free(image);
	strings_done(&strings);
	return system(command);
}

/* A file of these bytes; the caller closes it. */
static int make_file(const void *bytes, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	return fd;
}

static void want(uint64_t address)
{
	addresses[lookups.n] = address;
	names[lookups.n++] = 0;
}

static const char *name_of(uint64_t address)
{
	for (size_t i = 0; i < lookups.n; i++) {
		if (addresses[i] == address)
			return strings_get(&strings, names[i]);
	}
	return NULL;
}

static void test_rules(void **state)
{
	const Elf64_Shdr *other, *start;
	struct elf_file file;
	int fd = make_file(image, image_size);

	assert_int_equal(elf_file_open(&file, fd), 0);
	other = elf_file_section(&file, ".other");
	start = elf_file_section(&file, ".start");
	assert_non_null(other);
	assert_non_null(start);
	lookups.n = 0;
	want(TEXT - 1);
	for (int i = 0; i < 0xa0; i += 4)
		want(TEXT + i);
	want(other->sh_addr + 8);
	want(other->sh_addr + 24);
	want(other->sh_addr + 32);
	want(start->sh_addr);
	want(start->sh_addr + 1);
	assert_int_equal(resolve(&file, &lookups), 0);

	assert_string_equal(name_of(TEXT - 1), "");
	assert_string_equal(name_of(TEXT), "sized");
	assert_string_equal(name_of(TEXT + 0xc), "sized");
	assert_string_equal(name_of(TEXT + 0x10), "");
	assert_string_equal(name_of(TEXT + 0x1c), "");
	assert_string_equal(name_of(TEXT + 0x20), "open_end");
	assert_string_equal(name_of(TEXT + 0x2c), "open_end");
	assert_string_equal(name_of(TEXT + 0x30), "alias_a");
	assert_string_equal(name_of(TEXT + 0x40), "outer");
	assert_string_equal(name_of(TEXT + 0x54), "inner");
	assert_string_equal(name_of(TEXT + 0x60), "outer");
	assert_string_equal(name_of(TEXT + 0x7c), "outer");
	assert_string_equal(name_of(TEXT + 0x80), "only_label");
	assert_string_equal(name_of(TEXT + 0x9c), "only_label");
	assert_string_equal(name_of(other->sh_addr + 8), "");
	assert_string_equal(name_of(other->sh_addr + 24), "space::other()");
	assert_string_equal(name_of(other->sh_addr + 32), "");
	assert_string_equal(name_of(start->sh_addr), "frame_dummy");
	assert_string_equal(name_of(start->sh_addr + 1), "");
	elf_file_done(&file);
	close(fd);
}

/* Without section headers, the dynamic linker's tables remain: the global names. */
static void test_no_sections(void **state)
{
	static const char *const styles[] = {"gnu", "sysv", "both"};
	struct elf_file file;
	char command[1024];
	Elf64_Ehdr header;
	int fd;

	for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
		snprintf(command, sizeof command,
			 "cd %s && ${CC:-gcc} -nostdlib -shared -Wl,-Ttext=%#x -Wl,--hash-style=%s "
			 "-o library program.s",
			 folder, TEXT, styles[i]);
		assert_int_equal(system(command), 0);
		snprintf(command, sizeof command, "%s/library", folder);
		fd = open(command, O_RDWR | O_CLOEXEC);
		assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
		header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
		assert_int_equal(pwrite(fd, &header, sizeof header, 0), sizeof header);
		assert_int_equal(elf_file_open(&file, fd), 0);
		lookups.n = 0;
		want(TEXT);
		want(TEXT + 0x10);
		want(TEXT + 0x20);
		want(TEXT + 0x30);
		assert_int_equal(resolve(&file, &lookups), 0);
		assert_string_equal(name_of(TEXT), "sized");
		assert_string_equal(name_of(TEXT + 0x10), "");
		assert_string_equal(name_of(TEXT + 0x20), "open_end");
		assert_string_equal(name_of(TEXT + 0x30), "alias_a");
		elf_file_done(&file);
		close(fd);
	}
}

static void test_build_id(void **state)
{
	static const uint8_t expected[] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
					   0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
	uint8_t id[ELF_BUILD_ID_MAX];
	struct elf_file file;

	assert_int_equal(elf_file_open_image(&file, image, image_size), 0);
	assert_int_equal(elf_file_build_id(&file, id), sizeof expected);
	assert_memory_equal(id, expected, sizeof expected);
	elf_file_done(&file);
}

static void test_translation(void **state)
{
	const Elf64_Shdr *text;
	struct elf_file file;
	uint64_t address;

	assert_int_equal(elf_file_open_image(&file, image, image_size), 0);
	text = elf_file_section(&file, ".text");
	assert_non_null(text);
	assert_int_equal(text->sh_addr, TEXT);
	assert_true(elf_file_virtual_address(&file, text->sh_offset + 4, &address));
	assert_int_equal(address, TEXT + 4);
	assert_false(elf_file_virtual_address(&file, image_size + 4096, &address));
	assert_ptr_equal(elf_file_code_section(&file, TEXT + 1), text);
	assert_null(elf_file_code_section(&file, 0));
	elf_file_done(&file);
}

/* Opens @n bytes as a file and asks for names; the result does not matter. */
static void try(const void *bytes, size_t n)
{
	int fd = make_file(bytes, n);
	uint8_t id[ELF_BUILD_ID_MAX];
	struct elf_file file;

	lookups.n = 0;
	for (int i = 0; i < 0xa0; i += 16)
		want(TEXT + i);
	if (elf_file_open(&file, fd) == 0) {
		resolve(&file, &lookups);
		elf_plt_resolve(&file, &lookups, &strings);
		elf_file_build_id(&file, id);
		elf_file_done(&file);
	}
	close(fd);
}

static void test_truncated(void **state)
{
	for (size_t n = 0; n < image_size; n += n < 4096 ? 16 : 7)
		try(image, n);
}

/* Sets every field of every header to extreme values. */
static void test_damaged_headers(void **state)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	size_t sections = header->e_shoff, end = sections + header->e_shnum * sizeof(Elf64_Shdr);
	char *copy = malloc(image_size);

	assert_non_null(copy);
	for (size_t at = EI_NIDENT; at + 8 <= end; at += 4) {
		if (at == sizeof *header + header->e_phnum * sizeof(Elf64_Phdr))
			at = sections;
		for (int extreme = 0; extreme < 3; extreme++) {
			memcpy(copy, image, image_size);
			memset(copy + at, extreme == 1 ? 0 : 0xff, extreme == 2 ? 8 : 4);
			try(copy, image_size);
		}
	}
	free(copy);
}

static void test_shrinking(void **state)
{
	int fd = make_file(image, image_size);
	struct elf_file file;

	assert_int_equal(elf_file_open(&file, fd), 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	lookups.n = 0;
	want(TEXT);
	assert_int_equal(resolve(&file, &lookups), -ENOEXEC);
	assert_int_equal(names[0], 0);
	elf_file_done(&file);
	close(fd);
}

static void test_not_elf(void **state)
{
	struct elf_file file;
	int pipes[2], fd = open("/", O_RDONLY | O_CLOEXEC);

	assert_int_equal(elf_file_open(&file, fd), -ENOEXEC);
	close(fd);
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_file_open(&file, fd), -ENOEXEC);
	close(fd);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(elf_file_open(&file, pipes[0]), -ENOEXEC);
	close(pipes[0]);
	close(pipes[1]);
	fd = make_file("#!/bin/sh\nexit 0; padding padding padding\n", 40);
	assert_int_equal(elf_file_open(&file, fd), -ENOEXEC);
	close(fd);
	assert_int_equal(elf_file_open(&file, -1), -EBADF);
}

/* Names in a file of @n @bytes. Returns the error that is counted. */
static int names_error(const void *bytes, size_t n)
{
	static const uint64_t offset;
	const struct names_question question = {.addresses = &offset, .n = 1};
	struct debug_places places = {make_file(bytes, n), -1, -1, NULL, {}};
	struct debug_place place;
	struct file_names found;
	char real[PATH_MAX];
	int error;

	debug_place_init(&places, "/nowhere/lisp.core", real, &place);
	assert_int_equal(file_names_find(&question, &place, &strings, &found), 0);
	assert_int_equal(found.items[0].name, 0);
	error = found.error;
	file_names_done(&found);
	close(places.file);
	return error;
}

/* A file of another format is not damaged; one that is cut off is. */
static void test_other_format(void **state)
{
	static const char lisp[4096] = "LCBS, as SBCL's images begin";

	assert_int_equal(names_error(lisp, sizeof lisp), 0);
	assert_int_equal(names_error(image, 40), -ENOEXEC);
	assert_int_equal(names_error("", 0), -ENOEXEC);
}

/* An ELF32 file, by hand: a header, a section table, two symbols. */
static void test_elf32(void **state)
{
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
		Elf32_Shdr sections[4];
		Elf32_Sym symbols[2];
		char text[16];
	} narrow = {
	    .header =
		{
		    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, image[EI_DATA]},
		    .e_type = ET_EXEC,
		    .e_machine = EM_ARM,
		    .e_phoff = offsetof(typeof(narrow), segment),
		    .e_phentsize = sizeof(Elf32_Phdr),
		    .e_phnum = 1,
		    .e_shoff = offsetof(typeof(narrow), sections),
		    .e_shentsize = sizeof(Elf32_Shdr),
		    .e_shnum = 4,
		},
	    .segment = {.p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = 4096, .p_vaddr = 0x8000},
	    .sections =
		{
		    [1] = {.sh_type = SHT_PROGBITS,
			   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			   .sh_addr = 0x8000,
			   .sh_size = 4096},
		    [2] = {.sh_type = SHT_SYMTAB,
			   .sh_link = 3,
			   .sh_offset = offsetof(typeof(narrow), symbols),
			   .sh_size = 2 * sizeof(Elf32_Sym),
			   .sh_entsize = sizeof(Elf32_Sym)},
		    [3] = {.sh_type = SHT_STRTAB,
			   .sh_offset = offsetof(typeof(narrow), text),
			   .sh_size = 16},
		},
	    .symbols = {[1] = {.st_name = 1,
			       .st_value = 0x8011,
			       .st_size = 16,
			       .st_shndx = 1,
			       .st_info = ELF32_ST_INFO(STB_GLOBAL, STT_FUNC)}},
	    .text = "\0thumb",
	};
	struct elf_file file;
	uint64_t address;

	assert_int_equal(elf_file_open_image(&file, &narrow, sizeof narrow), 0);
	assert_true(elf_file_virtual_address(&file, 0x10, &address));
	assert_int_equal(address, 0x8010);
	lookups.n = 0;
	want(0x8010);
	want(0x8020);
	assert_int_equal(resolve(&file, &lookups), 0);
	assert_string_equal(name_of(0x8010), "thumb");
	assert_string_equal(name_of(0x8020), "");
	elf_file_done(&file);
}

/* Thousands of symbols each claim all of memory; lookups must not cost their product. */
static void test_overlapping(void **state)
{
	enum { SYMBOLS = 1 << 18, ADDRESSES = 4096 };
	size_t header = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr);
	size_t n = header + SYMBOLS * sizeof(Elf64_Sym) + 16;
	char *bytes = calloc(1, n);
	Elf64_Ehdr *elf = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(elf + 1);
	Elf64_Sym *symbols = (Elf64_Sym *)(sections + 3);
	struct lookups many = {malloc(ADDRESSES * 8), calloc(ADDRESSES, 4), ADDRESSES};
	struct elf_file file;

	assert_true(bytes && many.addresses && many.names);
	memcpy(elf, image, sizeof *elf);
	*elf = (Elf64_Ehdr){.e_shoff = sizeof *elf, .e_shentsize = sizeof *sections, .e_shnum = 3};
	memcpy(elf->e_ident, image, EI_NIDENT);
	sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				   .sh_offset = header,
				   .sh_link = 2,
				   .sh_size = SYMBOLS * sizeof *symbols,
				   .sh_entsize = sizeof *symbols};
	sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = n - 16, .sh_size = 16};
	for (size_t i = 0; i < SYMBOLS; i++)
		symbols[i] = (Elf64_Sym){.st_name = i % 8,
					 .st_shndx = 1,
					 .st_size = UINT64_MAX,
					 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)};
	for (size_t i = 0; i < ADDRESSES; i++)
		many.addresses[i] = i;
	assert_int_equal(elf_file_open_image(&file, bytes, n), 0);
	assert_int_equal(resolve(&file, &many), -ENOEXEC);
	elf_file_done(&file);
	free(many.addresses);
	free(many.names);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rules),	    cmocka_unit_test(test_build_id),
	    cmocka_unit_test(test_translation),	    cmocka_unit_test(test_truncated),
	    cmocka_unit_test(test_damaged_headers), cmocka_unit_test(test_shrinking),
	    cmocka_unit_test(test_not_elf),	    cmocka_unit_test(test_elf32),
	    cmocka_unit_test(test_overlapping),	    cmocka_unit_test(test_no_sections),
	    cmocka_unit_test(test_other_format),
	};

	return cmocka_run_group_tests(tests, build, clean);
}
