/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How Perl is found, and its frames.
 *
 * A file that defines `PL_thr_key` and `Perl_runops_standard` is it: perl, or libperl in another
 * program. Builds without threads have no key.
 *
 * The key leads to the thread's interpreter, and that to its stacks of contexts: one for the
 * program, and one for each callback that needs its own. Functions have contexts, and so have
 * blocks, loops, and evals. Activations leave no anchor: the last frame of each is marked, and
 * native frames of Perl_runops_standard take them (collect/loop_frames.h), the program's that which
 * perl_run() has called: a program that Perl is part of calls functions after that. A function that
 * C calls returns to no operation; a block that compares for sort begins its stack.
 *
 * Where an exception could pass through C, `eval` starts the loop once more (docatch()): two native
 * frames of one activation.
 */
#include "runtimes/perl.h"

#include <string.h>

#include "runtimes/elf_find.h"
#include "runtimes/text.h"

/* --- which version --- */

static const struct {
	uint32_t version;
	uint32_t place, package, program;
	uint32_t eval; /* number of the operation that begins an eval */
} known[] = {
	{PERL(5, 32), 224, 0, 1824, 347},
	{PERL(5, 36), 208, 32, 1808, 347},
	{PERL(5, 40), 208, 32, 1592, 350},
	{PERL(5, 42), 208, 32, 1592, 354},
};

bool perl_known_offsets(struct runtime_facts *facts)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].version == facts->version) {
			facts->offsets[PERL_PLACE] = known[i].place;
			facts->offsets[PERL_PACKAGE] = known[i].package;
			facts->offsets[PERL_PROGRAM] = known[i].program;
			return true;
		}
	return false;
}

enum {
	SYMBOL_KEY,
	SYMBOL_FIRST,
	SYMBOL_LOOP,
	SYMBOL_MAJOR,
	SYMBOL_MINOR,
	SYMBOL_EVAL,
	SYMBOL_OPERATIONS,
	SYMBOL_RUN,
};

static uint32_t find_version(const struct elf_file *elf, const struct elf_wanted *symbols)
{
	uint8_t major, minor;

	if (elf_find_bytes(elf, symbols[SYMBOL_MAJOR].address, &major, 1) < 0 ||
	    elf_find_bytes(elf, symbols[SYMBOL_MINOR].address, &minor, 1) < 0)
		return 0;
	return PERL(major, minor);
}

/* The function that begins an eval. Newer versions have no symbol for it. */
static uint64_t find_eval(const struct elf_file *elf, const struct elf_wanted *symbols,
			  uint32_t version)
{
	uint64_t address = symbols[SYMBOL_EVAL].address;

	for (size_t i = 0; !address && i < sizeof known / sizeof *known; i++)
		if (known[i].version == version &&
		    elf_find_relocated(elf,
				       symbols[SYMBOL_OPERATIONS].address +
					       known[i].eval * sizeof address,
				       &address, sizeof address) < 0)
			return 0;
	return address;
}

/*
 * docatch() gets the address of the function that goes on in it, its caller's:
 *
 *	lea FUNCTION(%rip), %rsi; pop …; jmp docatch
 */
#define EVAL_BYTES	128
#define CATCH_DISTANCE	8   /* bytes between the two */
#define CATCH_CODE_SIZE 384 /* that it calls the loop in */

static uint64_t find_catch(const struct elf_file *elf, uint64_t eval)
{
	uint8_t code[EVAL_BYTES];
	int32_t distance;

	if (!eval || elf_find_bytes(elf, eval, code, sizeof code) < 0)
		return 0;
	for (uint32_t i = 0; i + 7 + CATCH_DISTANCE + 5 <= sizeof code; i++) {
		memcpy(&distance, code + i + 3, sizeof distance);
		if (memcmp(code + i, "\x48\x8d\x35", 3) != 0 || (int64_t)i + 7 + distance != 0)
			continue;
		for (uint32_t k = i + 7; k < i + 7 + CATCH_DISTANCE; k++)
			if (code[k] == 0xe9) {
				memcpy(&distance, code + k + 1, sizeof distance);
				return eval + k + 5 + distance;
			}
	}
	return 0;
}

static int examine(struct elf_file *elf, struct runtime_facts *ret)
{
	struct elf_wanted symbols[] = {
		[SYMBOL_KEY] = {"PL_thr_key"},
		[SYMBOL_FIRST] = {"PL_curinterp"},
		[SYMBOL_LOOP] = {"Perl_runops_standard", true},
		[SYMBOL_MAJOR] = {"PL_revision", true},
		[SYMBOL_MINOR] = {"PL_version", true},
		[SYMBOL_EVAL] = {"Perl_pp_entertry"},
		[SYMBOL_OPERATIONS] = {"PL_ppaddr"},
		[SYMBOL_RUN] = {"perl_run"},
	};
	int r = elf_find_symbols(elf, symbols, sizeof symbols / sizeof *symbols);

	if (r <= 0) {
		ret->runtime = 0;
		return r;
	}
	ret->version = find_version(elf, symbols);
	ret->code_shift = elf_find_code_shift(elf);
	ret->loop = symbols[SYMBOL_LOOP].address;
	ret->loop_size = symbols[SYMBOL_LOOP].size;
	ret->program = symbols[SYMBOL_RUN].address;
	ret->program_size = symbols[SYMBOL_RUN].size;
	ret->again = find_catch(elf, find_eval(elf, symbols, ret->version));
	ret->again_size = ret->again ? CATCH_CODE_SIZE : 0;
	if (!perl_known_offsets(ret))
		ret->problem = RUNTIME_VERSION;
	else if (elf->machine != EM_X86_64 || !symbols[SYMBOL_KEY].address ||
		 symbols[SYMBOL_KEY].address > INT32_MAX || !symbols[SYMBOL_FIRST].address ||
		 symbols[SYMBOL_FIRST].address > INT32_MAX)
		ret->problem = RUNTIME_BUILD;
	ret->offsets[PERL_KEY] = symbols[SYMBOL_KEY].address;
	ret->offsets[PERL_FIRST] = symbols[SYMBOL_FIRST].address;
	return 0;
}

/* --- whether its facts can be used --- */

#define MOST_OFFSET 2048

static bool is_sound(const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;

	return o[PERL_KEY] <= INT32_MAX && !(o[PERL_KEY] & 3) && o[PERL_FIRST] <= INT32_MAX &&
	       !(o[PERL_FIRST] & 7) && o[PERL_PLACE] <= MOST_OFFSET &&
	       !(o[PERL_PLACE] & 7) && o[PERL_PACKAGE] <= MOST_OFFSET && !(o[PERL_PACKAGE] & 7) &&
	       facts->loop_size && facts->loop_size <= 4096 && facts->again_size <= 4096 &&
	       facts->program_size <= 65536;
}

/* --- the text that finds its frames --- */

/* Of the interpreter: its place in the source, and two words further its stack of contexts. */
#define STACK_AT 16

/* Of a stack of contexts (PERL_SI): the contexts, the stack before it, the last's index, its kind.
 */
#define STACK_CONTEXTS 8
#define STACK_PREVIOUS 16
#define STACK_LAST     32
#define STACK_KIND     44
#define STACK_WORDS    6
#define STACK_IS_MAIN  1
#define STACK_IS_SORT  3

/* Of a context: its kind and flags, a byte; where its caller is; where it returns to; a function's.
 */
#define CONTEXT_PLACE	 16
#define CONTEXT_RETURN	 48
#define CONTEXT_FUNCTION 72
#define CONTEXT_BYTES	 104
#define CONTEXT_WORDS	 10 /* that are read */
#define KIND_MASK	 15
#define KIND_NONE	 0
#define KIND_FUNCTION	 9
#define KIND_EVAL	 11
#define FLAG_IS_BLOCK	 0x40 /* an eval of a block, not of text or a file */
#define FLAG_IS_REGEX	 0x40 /* of a function: code in a regular expression … */
#define FLAG_IS_INNER	 0x80 /* … that is part of a function */

enum {
	LABEL_STACK,
	LABEL_CONTEXT,
	LABEL_EVAL,
	LABEL_REGEX,
	LABEL_RETURN,
	LABEL_WORD,
	LABEL_CHECK,
	LABEL_OUTERMOST,
	LABEL_LAST,
	LABEL_LAST_FILE,
	LABEL_BASE,
	LABEL_MAIN,
	LABEL_COMPILES,
	LABEL_END,
};

/* The use of the registers. */
enum {
	BLOCK, /* 1: functions that return to no operation may have been called by one */
	INTERPRETER,
	STACK,
	FIRST, /* context, and the one at hand */
	CONTEXT,
	PLACE,
	CALLER, /* its place */
	FLAGS,
	RETURN,
	CODE,
	LINE,
	CHECK,
	TEMPORARY,
	NO_ANCHOR,
	KIND,
};

/*
 * INTERPRETER = the thread's; ends if it has none. Until the process has started one, the key is 0,
 * which is another library's: an editor with Perl in it may never need it.
 */
static void write_interpreter(struct text_writer *text, const uint32_t *o)
{
	text_op(text, BF_OP_PARAMETER, TEMPORARY, 0, 0, 0);
	text_try(text, INTERPRETER, TEMPORARY, o[PERL_FIRST]); /* untouched: 0 */
	text_if(text, INTERPRETER, BF_EQ, 0, LABEL_END);
	text_fetch_specific(text, INTERPRETER, TEMPORARY, o[PERL_KEY], LABEL_END);
	text_if(text, INTERPRETER, BF_EQ, 0, LABEL_END);
	text_op(text, BF_OP_READ, 0, INTERPRETER, 2, o[PERL_PLACE]);
	text_load(text, PLACE, 8, 0);
	text_load(text, STACK, 8, STACK_AT);
}

/* CONTEXT = the stack's last, if it has one. */
static void write_stack(struct text_writer *text)
{
	text_jump(text, LABEL_STACK);
	text_label(text, LABEL_END);
	text_op(text, BF_OP_END, 0, 0, 0, 0);
	text_label(text, LABEL_STACK);
	text_if(text, STACK, BF_EQ, 0, LABEL_END);
	text_op(text, BF_OP_READ, 0, STACK, STACK_WORDS - 1, 0);
	text_load(text, FIRST, 8, STACK_CONTEXTS);
	text_load(text, KIND, 4, STACK_KIND);
	text_load(text, STACK, 8, STACK_PREVIOUS);
	text_load(text, CONTEXT, 4, STACK_LAST);
	/* -1, of 4 bytes: it has none. */
	text_op(text, BF_OP_ADDI, TEMPORARY, CONTEXT, 0, 1);
	text_op(text, BF_OP_SHL, TEMPORARY, TEMPORARY, 0, 32);
	text_if(text, TEMPORARY, BF_EQ, 0, LABEL_BASE);
	text_op(text, BF_OP_MULI, CONTEXT, CONTEXT, 0, CONTEXT_BYTES);
	text_op(text, BF_OP_ADD, CONTEXT, CONTEXT, FIRST, 0);
	/* Blocks that are no functions return to no operation, and so do functions at their end. */
	text_op(text, BF_OP_SET, BLOCK, 0, 0, 1);
	text_if(text, KIND, BF_EQ, STACK_IS_SORT, LABEL_CONTEXT);
	text_op(text, BF_OP_READ, 0, FIRST, 0, 0);
	text_load(text, TEMPORARY, 1, 0);
	text_op(text, BF_OP_ANDI, TEMPORARY, TEMPORARY, 0, KIND_MASK | FLAG_IS_REGEX);
	text_if(text, TEMPORARY, BF_EQ, KIND_FUNCTION | FLAG_IS_REGEX, LABEL_CONTEXT);
	text_op(text, BF_OP_SET, BLOCK, 0, 0, 0);
}

/* LINE = PLACE's. */
static void write_line(struct text_writer *text)
{
	text_op(text, BF_OP_TRY, 15, PLACE, 0, PERL_PLACE_LINE & ~7);
	text_load(text, LINE, 4, 120 + (PERL_PLACE_LINE & 7));
}

/* CHECK = the place's file. */
static void write_place(struct text_writer *text)
{
	write_line(text);
	text_op(text, BF_OP_TRY, 15, PLACE, 0, PERL_PLACE_FILE);
	text_load(text, CHECK, 8, 120);
}

/* CHECK = what another function at this address would not have: operations, and its name's hash. */
static void write_check(struct text_writer *text)
{
	text_op(text, BF_OP_READ, 0, CODE, 0, PERL_BODY);
	text_load(text, TEMPORARY, 8, 0);
	text_op(text, BF_OP_READ, 0, TEMPORARY, 7, PERL_FUNCTION_PACKAGE);
	text_load(text, CHECK, 8, PERL_FUNCTION_ROOT - PERL_FUNCTION_PACKAGE);
	text_op(text, BF_OP_SHR, CHECK, CHECK, 0, 3);
	text_load(text, TEMPORARY, 4, PERL_FUNCTION_FLAGS - PERL_FUNCTION_PACKAGE);
	text_op(text, BF_OP_ANDI, FLAGS, TEMPORARY, 0, PERL_IS_NAMED);
	text_load(text, TEMPORARY, 8, PERL_FUNCTION_NAME - PERL_FUNCTION_PACKAGE);
	text_if(text, TEMPORARY, BF_EQ, 0, LABEL_CHECK);
	text_if(text, FLAGS, BF_NE, 0, LABEL_WORD);
	text_op(text, BF_OP_TRY, 0, TEMPORARY, 0, PERL_BODY);
	text_load(text, TEMPORARY, 8, 0);
	text_op(text, BF_OP_TRY, 0, TEMPORARY, 1, PERL_GLOB_NAME);
	text_load(text, TEMPORARY, 8, PERL_GLOB_PACKAGE - PERL_GLOB_NAME);
	text_op(text, BF_OP_SHR, TEMPORARY, TEMPORARY, 0, 3);
	text_op(text, BF_OP_XOR, CHECK, CHECK, TEMPORARY, 0);
	text_load(text, TEMPORARY, 8, 0);
	text_label(text, LABEL_WORD);
	text_op(text, BF_OP_TRY, 0, TEMPORARY, 0, 0);
	text_load(text, TEMPORARY, 8, 0);
	text_op(text, BF_OP_MULI, TEMPORARY, TEMPORARY, 0, PERL_SPREAD);
	text_op(text, BF_OP_XOR, CHECK, CHECK, TEMPORARY, 0);
	text_op(text, BF_OP_SHR, TEMPORARY, TEMPORARY, 0, 32);
	text_op(text, BF_OP_XOR, CHECK, CHECK, TEMPORARY, 0);
	text_label(text, LABEL_CHECK);
}

/* Puts out the last frame of an activation, what @code is. */
static void write_last(struct text_writer *text, uint8_t code, enum perl_kind kind)
{
	text_op(text, BF_OP_EMIT, code, LINE, CHECK, kind | RUNTIME_LAST);
	text_op(text, BF_OP_STOP, NO_ANCHOR, 0, 0, 0);
}

/* Goes on where the caller of this context is. */
static void write_return(struct text_writer *text)
{
	text_op(text, BF_OP_ADDI, PLACE, CALLER, 0, 0);
	text_jump(text, LABEL_CONTEXT);
}

/* Puts out a function. One that is about to begin, or has ended, has none in its context. */
static void write_function(struct text_writer *text)
{
	text_if(text, FLAGS, BF_ANY, FLAG_IS_INNER, LABEL_REGEX);
	text_if(text, CODE, BF_EQ, 0, LABEL_RETURN);
	write_line(text);
	write_check(text);
	text_if_register(text, CONTEXT, BF_LT, FIRST, LABEL_OUTERMOST);
	text_op(text, BF_OP_ADD, RETURN, RETURN, BLOCK, 0);
	text_label(text, LABEL_OUTERMOST);
	text_if(text, RETURN, BF_EQ, 0, LABEL_LAST);
	text_op(text, BF_OP_EMIT, CODE, LINE, CHECK, PERL_FUNCTION);
	write_return(text);
	text_label(text, LABEL_LAST);
	write_last(text, CODE, PERL_FUNCTION);
	write_return(text);
	text_label(text, LABEL_REGEX);
	write_place(text);
	write_last(text, PLACE, PERL_REGEX);
	text_label(text, LABEL_RETURN);
	write_return(text);
}

/* Puts out a file, or text, that is evaluated. Blocks are part of their function. */
static void write_eval(struct text_writer *text)
{
	text_label(text, LABEL_EVAL);
	text_if(text, FLAGS, BF_ANY, FLAG_IS_BLOCK, LABEL_CONTEXT);
	write_place(text);
	text_if(text, RETURN, BF_EQ, 0, LABEL_LAST_FILE);
	text_op(text, BF_OP_EMIT, PLACE, LINE, CHECK, PERL_FILE);
	write_return(text);
	text_label(text, LABEL_LAST_FILE);
	write_last(text, PLACE, PERL_FILE);
	write_return(text);
}

/* All contexts of a stack are there. */
static void write_base(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_BASE);
	text_if(text, KIND, BF_EQ, STACK_IS_MAIN, LABEL_MAIN);
	text_if(text, KIND, BF_NE, STACK_IS_SORT, LABEL_STACK);
	text_op(text, BF_OP_READ, 0, FIRST, CONTEXT_PLACE / 8, 0);
	text_load(text, TEMPORARY, 1, 0);
	text_load(text, CALLER, 8, CONTEXT_PLACE);
	text_op(text, BF_OP_ANDI, TEMPORARY, TEMPORARY, 0, KIND_MASK);
	text_if(text, TEMPORARY, BF_NE, KIND_NONE, LABEL_STACK);
	write_place(text);
	write_last(text, PLACE, PERL_SORT);
	text_op(text, BF_OP_ADDI, PLACE, CALLER, 0, 0);
	text_jump(text, LABEL_STACK);
	text_label(text, LABEL_MAIN);
	/* While it is compiled, it does not run. */
	text_fetch(text, TEMPORARY, INTERPRETER, o[PERL_PROGRAM]);
	text_if(text, TEMPORARY, BF_EQ, 0, LABEL_COMPILES);
	write_place(text);
	write_last(text, PLACE, PERL_MAIN);
	text_label(text, LABEL_COMPILES);
	text_op(text, BF_OP_END, 0, 0, 0, 0);
}

static int perl_write(const struct runtime_facts *facts, struct bf_text *ret)
{
	struct text_writer text;

	text_begin(&text, ret);
	text_end_early(&text);
	text_op(&text, BF_OP_SET, NO_ANCHOR, 0, 0, -1);
	write_interpreter(&text, facts->offsets);
	write_stack(&text);
	text_label(&text, LABEL_CONTEXT);
	text_if_register(&text, CONTEXT, BF_LT, FIRST, LABEL_BASE);
	text_op(&text, BF_OP_READ, 0, CONTEXT, CONTEXT_WORDS - 1, 0);
	text_op(&text, BF_OP_ADDI, CONTEXT, CONTEXT, 0, -CONTEXT_BYTES);
	text_load(&text, FLAGS, 1, 0);
	text_load(&text, CALLER, 8, CONTEXT_PLACE);
	text_load(&text, RETURN, 8, CONTEXT_RETURN);
	text_load(&text, CODE, 8, CONTEXT_FUNCTION);
	text_op(&text, BF_OP_ANDI, TEMPORARY, FLAGS, 0, KIND_MASK);
	text_if(&text, TEMPORARY, BF_EQ, KIND_EVAL, LABEL_EVAL);
	text_if(&text, TEMPORARY, BF_NE, KIND_FUNCTION, LABEL_CONTEXT);
	write_function(&text);
	write_eval(&text);
	write_base(&text, facts->offsets);
	return text_end(&text);
}

const struct runtime runtime_perl = {
	.name = "Perl",
	.language = "perl",
	.examine = examine,
	.is_sound = is_sound,
	.write_chain = perl_write,
	.describe = perl_describe,
};
