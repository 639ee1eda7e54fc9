/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files are runtimes, of which version, and which builds are not known: libraries made here.
 */
#include <stdio.h>

#include "runtimes/beam.h"
#include "runtimes/ruby.h"
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_library.h"

#define RUBY_FUNCTIONS                                                                             \
	"void rb_vm_exec(void) {}\n"                                                               \
	"void ruby_run_node(void) {}\n"                                                            \
	"static void *volatile symbols;\n"                                                         \
	"void *rb_id2str(void) { return symbols; }\n"                                              \
	"asm(\".text; .fill 256\");\n"
#define RUBY_THREAD                                                                                \
	"__thread void *ruby_current_ec;\n"                                                        \
	"void *context(void) { return ruby_current_ec; }\n"
#define PHP_GLOBALS_OF "char executor_globals[4096];\n"
#define PHP_LOOP       "void execute_ex(void) {}\n"
#define ERLANG(release, generates)                                                                 \
	"const char etp_otp_release[] = \"" release "\"; int etp_beamasm = " generates ";\n"
#define ERLANG_PARTS                                                                               \
	"int the_active_code_index, erts_atom_table, erts_aligned_scheduler_data;\n"               \
	"int erts_no_schedulers, beam_normal_exit;\n"                                              \
	"static int ranges[24];\n"                                                                 \
	"void process_main(void) {}\n"                                                             \
	"int *erts_start_staging_ranges(void) { return ranges; }\n"                                \
	"asm(\".text; .fill 256\");\n"
#define PHP_HEADER "const char header[] = \"X-Powered-By: PHP/"

static struct runtime_facts facts_of(const char *source)
{
	return made_library_facts(source, "-O1 -w -fno-toplevel-reorder -nostdlib");
}

static void versions_and_builds(void **state)
{
	static const struct {
		const char *source, *name;
		enum runtime_problem problem;
	} cases[] = {
		{"int ruby_api_version[3] = {3, 1, 0};" RUBY_FUNCTIONS RUBY_THREAD, "Ruby 3.1",
		 RUNTIME_FINE},
		{"int ruby_api_version[3] = {3, 3, 0};" RUBY_FUNCTIONS RUBY_THREAD, "Ruby 3.3",
		 RUNTIME_FINE},
		{"int ruby_api_version[3] = {2, 7, 0};" RUBY_FUNCTIONS RUBY_THREAD, "Ruby 2.7",
		 RUNTIME_BUILD},
		{"int ruby_api_version[3] = {3, 4, 0};" RUBY_FUNCTIONS RUBY_THREAD, "Ruby 3.4",
		 RUNTIME_VERSION},
		{"int ruby_api_version[3] = {3, 1, 0};" RUBY_FUNCTIONS, "Ruby 3.1", RUNTIME_BUILD},
		{PHP_GLOBALS_OF PHP_LOOP PHP_HEADER "8.2.36\";", "PHP 8.2", RUNTIME_FINE},
		{PHP_GLOBALS_OF PHP_LOOP PHP_HEADER "8.4.1\";", "PHP 8.4", RUNTIME_FINE},
		{PHP_GLOBALS_OF PHP_LOOP PHP_HEADER "8.3.1\";", "PHP 8.3", RUNTIME_VERSION},
		{PHP_LOOP PHP_HEADER "8.2.36\";", "PHP 8.2", RUNTIME_BUILD},
		/* A function whose end is not known. */
		{PHP_GLOBALS_OF "asm(\".globl execute_ex; execute_ex: ret\");" PHP_HEADER
				"8.2.36\";",
		 "PHP 8.2", RUNTIME_BUILD},
		{ERLANG("25", "1") ERLANG_PARTS, "Erlang/OTP 25", RUNTIME_FINE},
		{ERLANG("27", "1") ERLANG_PARTS, "Erlang/OTP 27", RUNTIME_FINE},
		{ERLANG("28", "1") ERLANG_PARTS, "Erlang/OTP 28", RUNTIME_VERSION},
		{ERLANG("25", "0") ERLANG_PARTS, "Erlang/OTP 25", RUNTIME_BUILD},
		{ERLANG("25", "1"), "Erlang/OTP 25", RUNTIME_BUILD},
		{"int _PyRuntime, PyCode_Type;", "CPython 3.8", RUNTIME_VERSION},
		{"int _PyRuntime, PyCode_Type, PyFrame_GetCode; void _PyEval_EvalFrameDefault() {}",
		 "CPython 3.9", RUNTIME_FINE},
		{"int _PyRuntime, PyCode_Type, PyFrame_GetCode;", "CPython 3.9", RUNTIME_BUILD},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct runtime_facts facts = facts_of(cases[i].source);
		enum runtime_problem problem = cases[i].problem;
		char name[64];

#ifndef __x86_64__
		problem = problem == RUNTIME_FINE ? RUNTIME_BUILD : problem;
#endif
		assert_int_not_equal(facts.runtime, 0);
		assert_true(runtime_is_sound(&facts));
		runtime_name(&facts, name, sizeof name);
		assert_string_equal(name, cases[i].name);
		assert_int_equal(facts.problem, problem);
	}
}

/* BEAM without its own symbols: release, bytes before the code, bytes of a scheduler, code that is
 * there once more. */
#define ERLANG_CODE                                                                                \
	"const char text[] = \"than the current (Erlang/OTP %s).\";\n"                             \
	"asm(\".text; .globl driver_system_info, enif_get_atom_length; .fill %u;"                  \
	"driver_system_info: ret; enif_get_atom_length: " ATOMS_CODE                               \
	"mov n(%%rip),%%rdx; mov %%eax,%%ecx; cmp %%rcx,%%rdx; jb 1f; sub $1,%%eax;"               \
	"imul $%u,%%rax,%%rax; add schedulers(%%rip),%%rax; 1: ret;"                               \
	"mov active(%%rip),%%r8d; lea ranges(%%rip),%%r9; mov %%r8,%%rax; shl $5,%%rax;"           \
	"add %%r9,%%rax; ret; .fill 99; mov exit(%%rip),%%rdx; mov %%rdx,8(%%rax);"                \
	"mov 88(%%rbx),%%rax; mov %%rax,96(%%rbx); ret; .globl main_code; main_code: .byte 0xf3,"  \
	"0xf, 0x1e, 0xfa; push %%rbx; mov n(%%rip),%%rax; mov %%rdi,%%rbx; mov $79,%%esi;"         \
	"lea 1296(%%rax),%%rdi; call driver_system_info; mov %%rbx,%%rdi; pop %%rbx;"              \
	"mov (%%rax),%%rax; jmp *%%rax; %s .fill 256; .bss; n: .quad 0; schedulers: .quad 0;"      \
	"ranges: .fill 96; active: .long 0, 0; exit: .quad 0; .fill 120; atoms: .quad 0; "         \
	".text\");"
#define ATOMS_CODE                                                                                 \
	"mov atoms(%%rip),%%rax; shr $6,%%rsi; shr $16,%%rdi; and $1023,%%esi;"                    \
	"mov (%%rax,%%rdi,8),%%rax; mov (%%rax,%%rsi,8),%%rax; ret;"
#define ATOMS_CODE_AGAIN                                                                           \
	"mov n(%rip),%rax; shr $6,%rsi; shr $16,%rdi; and $1023,%esi;"                             \
	"mov (%rax,%rdi,8),%rax; mov (%rax,%rsi,8),%rax; ret;"

static struct runtime_facts erlang_facts(const char *release, unsigned before, unsigned size,
					 const char *more)
{
	char source[4096];

	snprintf(source, sizeof source, ERLANG_CODE, release, before, size, more);
	return facts_of(source);
}

static void assert_erlang_is_found(unsigned before)
{
	struct runtime_facts facts = erlang_facts("29", before, 0xa340, "");
	const uint32_t *o = facts.offsets;

	assert_int_equal(facts.version, 29 << 8);
	assert_int_equal(facts.problem, RUNTIME_FINE);
	assert_true(runtime_is_sound(&facts));
	assert_int_equal(o[BEAM_SCHEDULERS], o[BEAM_N_SCHEDULERS] + 8);
	assert_int_equal(o[BEAM_RANGES], o[BEAM_SCHEDULERS] + 8);
	assert_int_equal(o[BEAM_ACTIVE], o[BEAM_RANGES] + 96);
	assert_int_equal(o[BEAM_EXIT], o[BEAM_ACTIVE] + 8);
	assert_int_equal(o[BEAM_ATOMS], o[BEAM_EXIT] + 8);
	assert_true(o[BEAM_MAIN] > before && o[BEAM_MAIN] < o[BEAM_N_SCHEDULERS]);
}

/* Files are read in pieces, and an end of one may be anywhere in the code. */
static void erlang_without_symbols_is_known_by_its_code(void **state)
{
#ifdef __x86_64__
	for (unsigned before = 0; before < 400; before += 37) {
		assert_erlang_is_found(before);
		assert_erlang_is_found(65536 - 8 - before);
	}
#else
	skip();
#endif
}

static void other_code_of_erlang_is_not_known(void **state)
{
#ifdef __x86_64__
	assert_int_equal(erlang_facts("30", 0, 0xa340, "").problem, RUNTIME_VERSION);
	assert_int_equal(erlang_facts("29", 0, 0xa300, "").problem, RUNTIME_BUILD);
	assert_int_equal(erlang_facts("29", 0, 0xa340, ATOMS_CODE_AGAIN).problem, RUNTIME_BUILD);
	assert_int_equal(erlang_facts("", 0, 0xa340, "").problem, RUNTIME_VERSION);
	assert_int_equal(facts_of("int driver_system_info, enif_get_atom_length;").runtime, 0);
#else
	skip();
#endif
}

/* One that only calls a runtime, or has part of its names, is none. */
static void others_are_none(void **state)
{
	static const char *const sources[] = {
		"int x;",
		"int ruby_api_version[3] = {3, 1, 0};",
		"int f(void) { extern int ruby_api_version[3], ruby_run_node; return "
		"*ruby_api_version; }",
		"int execute_exe, executor_globals;",
		"int _PyRuntime;",
	};

	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
		assert_int_equal(facts_of(sources[i]).runtime, 0);
}

/* The table of symbols is what rb_id2str() reads, and nothing that only looks like it. */
static void rubys_table_of_symbols(void **state)
{
#ifdef __x86_64__
	struct runtime_facts facts =
		facts_of("int ruby_api_version[3] = {3, 1, 0};" RUBY_FUNCTIONS RUBY_THREAD);

	assert_int_not_equal(facts.offsets[RUBY_TABLES], 0);
	assert_int_equal(facts.offsets[RUBY_TABLES + 1], 0);
#else
	skip();
#endif
}

/* What gcc does with what is seldom run: f.cold, which only jumps of f() lead to. */
#define PYTHON_LOOP                                                                                \
	"int _PyRuntime, PyCode_Type, PyFrame_GetCode;\n"                                          \
	"asm(\".text; .globl _PyEval_EvalFrameDefault; .type _PyEval_EvalFrameDefault, @function;" \
	"_PyEval_EvalFrameDefault: .cfi_startproc; .fill 5000, 1, 0x90;"                           \
	".byte 0x0f, 0x85; .long other + 1 - . - 4;" JUMPS "ret; .cfi_endproc;"                    \
	".size _PyEval_EvalFrameDefault, . - _PyEval_EvalFrameDefault;"                            \
	"other: .cfi_startproc; .fill 17, 1, 0x90; .cfi_endproc;"                                  \
	"cold: .cfi_startproc; .fill 33, 1, 0x90; .cfi_endproc\");"

static void the_cold_part_of_pythons_loop(void **state)
{
#ifdef __x86_64__
	struct runtime_facts facts =
#define JUMPS ".byte 0x0f, 0x84; .long cold - . - 4;"
		facts_of(PYTHON_LOOP);
#undef JUMPS

	assert_int_equal(facts.problem, RUNTIME_FINE);
	assert_int_equal(facts.cold, facts.loop + facts.loop_size + 17);
	assert_int_equal(facts.cold_size, 33);
	/* A call is none, nor is a jump to itself. */
#define JUMPS "call cold; .byte 0x0f, 0x84; .long _PyEval_EvalFrameDefault - . - 4;"
	facts = facts_of(PYTHON_LOOP);
#undef JUMPS
	assert_int_equal(facts.problem, RUNTIME_FINE);
	assert_int_equal(facts.cold, 0);
	assert_int_equal(facts.cold_size, 0);
#else
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_and_builds),
		cmocka_unit_test(erlang_without_symbols_is_known_by_its_code),
		cmocka_unit_test(other_code_of_erlang_is_not_known),
		cmocka_unit_test(others_are_none),
		cmocka_unit_test(rubys_table_of_symbols),
		cmocka_unit_test(the_cold_part_of_pythons_loop),
	};

	return cmocka_run_group_tests(tests, made_setup, made_done);
}
