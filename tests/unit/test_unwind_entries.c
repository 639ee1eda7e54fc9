/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries by name: in this program, whose symbol table has its own _start, and the make_fcontext
 * and the greenlet below; in the C library, if that is glibc; and in a damaged file.
 */
#include "unit/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/entries.h"
#include "unwind/table.h"

extern const char made_finish[];
void make_fcontext(void);
#if defined(__x86_64__)
__asm__(".text\n"
	".globl make_fcontext, made_finish\n"
	".type make_fcontext, @function\n"
	"make_fcontext:\n"
	"	lea -72(%rax), %rax\n"
	"	lea made_finish(%rip), %rcx\n"
	"	mov %rcx, 56(%rax)\n"
	"	ret\n"
	"	jmp *%rbx\n"
	"made_finish:\n"
	"	ud2\n"
	".size make_fcontext, . - make_fcontext\n"
	".globl _ZN8greenlet12UserGreenlet15inner_bootstrapEv\n"
	".type _ZN8greenlet12UserGreenlet15inner_bootstrapEv, @function\n"
	"_ZN8greenlet12UserGreenlet15inner_bootstrapEv:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	call *%rax\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size _ZN8greenlet12UserGreenlet15inner_bootstrapEv, 5\n");
#else
const char made_finish[1];
void make_fcontext(void)
{
}
#endif

static struct elf_file file;
static struct unwind_entry entries[UNWIND_MAX_ENTRIES];
static size_t n_entries;

static void open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(&file, fd), 0);
	assert_int_equal(unwind_entries_find(&file, entries, &n_entries), 0);
}

static void close_file(void)
{
	close(file.fd);
	elf_file_done(&file);
}

static const struct unwind_entry *find_entry(enum bf_cfa cfa, uint64_t start)
{
	for (size_t i = 0; i < n_entries; i++)
		if (entries[i].cfa == cfa && entries[i].start == start)
			return &entries[i];
	return NULL;
}

static void test_own_program(void **state)
{
	extern void _start(void);
	uint64_t finish;
	const struct unwind_entry *entry;

	open_file("/proc/self/exe");
	finish = (uintptr_t)made_finish - (uintptr_t)_start + file.entry;
	entry = find_entry(BF_CFA_ENTRY, file.entry);
	assert_non_null(entry);
	assert_in_range(entry->size, 1, 256);
	entry = find_entry(BF_CFA_PLANTED, finish - 1);
	assert_non_null(entry);
	assert_int_equal(entry->size, 1);
	close_file();
}

/* Converts the address of code to a file offset. */
static uint64_t offset_of_code(void)
{
	for (size_t i = 0; i < file.n_segments; i++)
		if (file.segments[i].p_type == PT_LOAD && (file.segments[i].p_flags & PF_X))
			return file.segments[i].p_offset - file.segments[i].p_vaddr;
	fail();
	return 0;
}

/* Existing rows take precedence; an entry's rows fill the gaps. */
static void test_rows(void **state)
{
	struct unwind_table table;
	const struct bf_rule *rule;
	uint64_t offset;

	open_file("/proc/self/exe");
	offset = offset_of_code();
	assert_int_equal(unwind_table_build(&file, &table), 0);
	rule = unwind_table_find(&table, file.entry + offset);
	assert_non_null(rule);
	assert_int_equal(rule->cfa, BF_CFA_ENTRY);
	for (size_t i = 0; i < n_entries; i++) {
		if (entries[i].cfa != BF_CFA_PLANTED)
			continue;
		rule = unwind_table_find(&table, entries[i].start + offset);
		assert_non_null(rule);
		assert_int_equal(rule->cfa, BF_CFA_PLANTED);
		assert_null(unwind_table_find(&table, entries[i].start + offset + 1));
	}
	unwind_table_done(&table);
	close_file();
}

/* Where a greenlet begins, the rows say that it was called: they don't count. */
static void test_greenlet(void **state)
{
	struct unwind_table table;
	uint64_t offset;

	open_file("/proc/self/exe");
	offset = offset_of_code();
	assert_int_equal(unwind_table_build(&file, &table), 0);
	for (size_t i = 0; i < n_entries; i++) {
		if (!entries[i].has_rows)
			continue;
		assert_int_equal(entries[i].size, 5);
		for (uint64_t at = 0; at < 5; at++) {
			const struct bf_rule *rule =
				unwind_table_find(&table, entries[i].start + offset + at);

			assert_non_null(rule);
			assert_int_equal(rule->cfa, BF_CFA_ENTRY);
		}
		unwind_table_done(&table);
		close_file();
		return;
	}
	fail();
}

static void test_glibc(void **state)
{
	static const char path[] = "/lib/x86_64-linux-gnu/libc.so.6";
	size_t n_planted = 0, n_whole = 0;
	struct unwind_table table;

	if (access(path, R_OK) != 0)
		skip();
	open_file(path);
	assert_int_equal(unwind_table_build(&file, &table), 0);
	for (size_t i = 0; i < n_entries; i++) {
		uint64_t begin = entries[i].start + 1 + offset_of_code();
		const struct bf_rule *first, *later;

		if (entries[i].cfa != BF_CFA_PLANTED)
			continue;
		n_planted++;
		first = unwind_table_find(&table, begin);
		later = unwind_table_find(&table, begin + 12);
		n_whole +=
			first && later && first->cfa == BF_CFA_ENTRY && later->cfa == BF_CFA_ENTRY;
	}
	assert_in_range(n_planted, 1, 4);
	/* __start_context, which has rows of its own. */
	assert_int_equal(n_whole, 1);
	unwind_table_done(&table);
	close_file();
}

/*
 * An entry without a symbol ends with its code: Free Pascal's is 73 bytes long. Symbols may be there, but
 * none of the entry (bun); the code may be too much to be followed (deno).
 */
static void test_no_symbol(void **state)
{
	static const struct {
		const char *first, *end, *symbol; /* that is left out; NULL: all are */
		int nops, size;
	} cases[] = {
		{"pop %rsi", "ret", NULL, 90, 97},
		{"pop %rsi", "hlt", NULL, 8, 15},
		{"pop %rsi", "ud2", NULL, 90, 98},
		{"pop %rsi", "hlt", "_start", 8, 15},
		{"xor %ebp, %ebp", "hlt", NULL, 8, 16},
		{"xor %ebp, %ebp; jmp end", "hlt", NULL, 8, 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *symbol = cases[i].symbol;
		char path[] = "/tmp/test_unwind_entries.XXXXXX", command[160];
		int fd = mkstemp(path);
		const struct unwind_entry *entry;
		FILE *gcc;

		assert_true(fd >= 0);
		close(fd);
		snprintf(command, sizeof command,
			 "gcc -nostdlib -static -x assembler - -o %s && strip %s %s %s", path,
			 symbol ? "-N" : "", symbol ? symbol : "", path);
		gcc = popen(command, "w");
		assert_non_null(gcc);
		fprintf(gcc, ".globl _start\n_start: %s\n.fill %d, 1, 0x90\n"
			"call end\nend: %s\n.fill 300, 1, 0x90\n",
			cases[i].first, cases[i].nops, cases[i].end);
		assert_int_equal(pclose(gcc), 0);
		open_file(path);
		entry = find_entry(BF_CFA_ENTRY, file.entry);
		assert_int_equal(entry ? entry->size : 0, cases[i].size);
		close_file();
		unlink(path);
	}
}

/* Sections of any size in any place: never reads outside the file. */
static void test_damaged(void **state)
{
	static uint8_t image[1 << 22];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, image, sizeof image);
	uint64_t sections, noise = 1;

	close(fd);
	assert_true(n > 4096);
	memcpy(&sections, image + offsetof(Elf64_Ehdr, e_shoff), sizeof sections);
	for (int turn = 0; turn < 200; turn++) {
		for (int i = 0; i < 8 && sections + 2048 < (uint64_t)n; i++) {
			noise = noise * 6364136223846793005 + 1442695040888963407;
			image[sections + (noise >> 33) % 2048] = noise >> 56;
		}
		if (elf_file_open_image(&file, image, n) < 0)
			continue;
		n_entries = UNWIND_MAX_ENTRIES + 1;
		assert_int_equal(unwind_entries_find(&file, entries, &n_entries), 0);
		assert_in_range(n_entries, 0, UNWIND_MAX_ENTRIES);
		elf_file_done(&file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(test_own_program),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_greenlet),
		cmocka_unit_test(test_glibc),
		cmocka_unit_test(test_no_symbol),
#endif
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
