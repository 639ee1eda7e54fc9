/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables of files as other tools leave them: with compressed call frame information, or with
 * nothing but program headers to say where it is.
 */
#include "unit/made_files.h"

#include <errno.h>

#include "symbol/names_job.h"
#include "unwind/table.h"

#define CFA_OFFSET 1234

#define N_BYTES 4096 /* of code; enough call frame information to be worth compressing */

/* 64 functions with a CFA that only call frame information can give; the entry is the first. */
static void make(const char *sections)
{
	char text[512];

	snprintf(text, sizeof text,
		 ".cfi_sections %s\n.globl made\n.type made,@function\nmade:\n.rept %d/64\n"
		 ".cfi_startproc\n.cfi_def_cfa_offset %d\n.fill 64,1,0xf4\n.cfi_endproc\n"
		 ".endr\n.size made,64\n.section .note.GNU-stack\n",
		 sections, N_BYTES, CFA_OFFSET);
	made_text("made.s", text);
	made("gcc -shared -nostdlib -Wl,-e,made,--build-id made.s -o plain.so");
}

/* Expects that in @name, with the stripped parts in @debug, or NULL. */
static void expect_table_with(const char *name, struct elf_file *debug)
{
	int fd = made_open(name);
	struct unwind_table table;
	const struct bf_rule *rule;
	struct elf_file file;

	assert_int_equal(elf_file_open(&file, fd), 0);
	assert_int_equal(unwind_table_build_yielding(&file, debug, NULL, NULL, &table), 0);
	rule = unwind_table_find(&table, file.entry); /* offsets are addresses */
	assert_non_null(rule);
	assert_int_equal(rule->cfa, BF_CFA_SP);
	assert_int_equal(rule->cfa_offset, CFA_OFFSET);
	assert_null(unwind_table_find(&table, file.entry + N_BYTES));
	assert_int_equal(table.n_skipped, 0);
	unwind_table_done(&table);
	elf_file_done(&file);
	close(fd);
}

static void expect_table(const char *name)
{
	expect_table_with(name, NULL);
}

static void test_compressed(void **state)
{
	make(".debug_frame");
	expect_table("plain.so");
	made("objcopy --compress-debug-sections=zlib-gabi plain.so zlib.so");
	expect_table("zlib.so");
	made("objcopy --compress-debug-sections=zlib-gnu plain.so zdebug.so");
	expect_table("zdebug.so");
	if (made_try("objcopy --compress-debug-sections=zstd plain.so zstd.so"))
		expect_table("zstd.so");
	else
		print_message("this objcopy packs no zstd\n");
}

/* Looks for the stripped parts of @name, which is in the test's folder. */
static int open_debug(const char *name)
{
	int fd = made_open(name), debug;
	struct unwind_table table;
	struct elf_file file;

	assert_int_equal(elf_file_open(&file, fd), 0);
	assert_int_equal(unwind_table_build(&file, &table), 0);
	assert_true(unwind_table_is_bare(&table));
	debug = names_job_debug.open_file(&file, fd, made_path(name), -1);
	unwind_table_done(&table);
	elf_file_done(&file);
	close(fd);
	return debug;
}

/* The file is stripped, and a link names its debug file. */
static void test_debug_file(void **state)
{
	struct elf_file debug;
	int fd;

	make(".debug_frame");
	made("objcopy --only-keep-debug --compress-debug-sections=zlib-gabi plain.so made.debug && "
	     "strip -o stripped.so plain.so && cp stripped.so alone.so && "
	     "objcopy --add-gnu-debuglink=made.debug stripped.so");
	assert_int_equal(open_debug("alone.so"), -ENOENT);
	fd = open_debug("stripped.so");
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(&debug, fd), 0);
	expect_table_with("stripped.so", &debug);
	elf_file_done(&debug);
	close(fd);
}

/* As sstrip and `llvm-objcopy --strip-sections` leave files. */
static void test_no_sections(void **state)
{
	Elf64_Ehdr header;
	int fd;

	make(".eh_frame");
	fd = open(made_path("plain.so"), O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
	header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
	assert_int_equal(pwrite(fd, &header, sizeof header, 0), sizeof header);
	close(fd);
	expect_table("plain.so");
}

/* @n stubs of @size bytes have rows: from @first on, in the stubs of the file @name. */
static void expect_stubs(const char *name, uint64_t first, unsigned int n, uint64_t size)
{
	struct unwind_table table;
	struct elf_file file;
	uint64_t stubs;
	int fd = made_open(name);

	assert_int_equal(elf_file_open(&file, fd), 0);
	assert_int_equal(unwind_table_build(&file, &table), 0);
	stubs = elf_file_section(&file, ".plt")->sh_offset + first;
	for (unsigned int i = 0; i < n; i++) {
		const struct bf_rule *rule = unwind_table_find(&table, stubs + size * i);

		assert_non_null(rule);
		assert_int_equal(rule->cfa, BF_CFA_SP);
		assert_int_equal(rule->cfa_offset, 8);
	}
	unwind_table_done(&table);
	elf_file_done(&file);
	close(fd);
}

/* As LLVM's linker writes stubs for functions of other files: GNU's would describe them. */
static void test_stubs(void **state)
{
	made_text("stubs.s",
		  ".globl made\nmade: .cfi_startproc\nret\n.cfi_endproc\n"
		  ".section .plt,\"ax\",@progbits\n.balign 16\n0: push 8(%rip)\njmp *16(%rip)\n"
		  ".balign 16\n.rept 4\njmp *0x1000(%rip)\npush $1\njmp 0b\n.balign 16\n.endr\n"
		  ".section .note.GNU-stack\n");
	made("gcc -shared -nostdlib -Wl,-e,made stubs.s -o stubs.so");
	expect_stubs("stubs.so", 16, 4, 16);
}

/* GNU's linker writes stubs for the variants of a static program's functions. */
static void test_stubs_of_static_programs(void **state)
{
	made_text("variants.s",
		  ".globl _start\n_start: .cfi_startproc\n.irp i,0,1,2,3\ncall variant\\i\n"
		  ".endr\nhlt\n.cfi_endproc\n"
		  ".irp i,0,1,2,3\n.globl variant\\i\n.type variant\\i,@gnu_indirect_function\n"
		  "variant\\i: .cfi_startproc\nret\n.cfi_endproc\n.endr\n"
		  ".section .note.GNU-stack\n");
	made("gcc -nostdlib -static -no-pie variants.s -o variants");
	expect_stubs("variants", 0, 4, 8);
}

/* main() is known by the entry, though it never returns. @pass: how the entry names it. */
static void expect_main(const char *pass)
{
	struct unwind_table table;
	const struct bf_rule *rule;
	struct elf_file file;
	char text[512];
	int fd;

	snprintf(text, sizeof text,
		 ".globl _start\n_start: .cfi_startproc\n.cfi_undefined rip\nxor %%ebp,%%ebp\n"
		 "%s\ncall *%%rax\nhlt\n.fill 64,1,0xcc\n.cfi_endproc\n"
		 "main: push %%rbx\n0: syscall\njmp 0b\n.fill 32,1,0x06\n"
		 ".section .note.GNU-stack\n",
		 pass);
	made_text("main.s", text);
	made("gcc -nostdlib -static main.s -o main");
	fd = made_open("main");
	assert_int_equal(elf_file_open(&file, fd), 0);
	assert_int_equal(unwind_table_build(&file, &table), 0);
	/* From the end: the entry's length differs. */
	rule = unwind_table_find(&table, elf_file_section(&file, ".text")->sh_offset +
						 elf_file_section(&file, ".text")->sh_size - 32 - 4);
	assert_non_null(rule);
	assert_int_equal(rule->cfa_offset, 16);
	unwind_table_done(&table);
	elf_file_done(&file);
	close(fd);
}

static void test_main(void **state)
{
	expect_main("mov $main,%rdi");
	expect_main("lea main(%rip),%rdi");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_debug_file),
		cmocka_unit_test(test_no_sections),
		cmocka_unit_test(test_stubs),
		cmocka_unit_test(test_stubs_of_static_programs),
		cmocka_unit_test(test_main),
	};

	return cmocka_run_group_tests(tests, made_setup, made_done);
}
