/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How LuaJIT is found, and its frames.
 *
 * A file that defines `luaJIT_setmode` and `luaJIT_profile_start` is it: luajit, libluajit, or a
 * program that it is linked into. Its interpreter is one function in assembly, which is treated as
 * generated code: lua_call() ends in it. What functions of its interface have in their instructions
 * says whether the structures are those that are known here.
 *
 * Each activation of the interpreter has a C frame of 80 bytes that leads to a Lua state, which is
 * a coroutine's or the main one. The state has a stack of its own, for frames of functions in Lua
 * and C, and a list of its C frames, innermost first. Frames that C has called end an activation:
 * so the list says which part of the stack is whose. C frames of protected calls of C functions,
 * which have no part of it, know how large the stack was.
 *
 * The state knows where the innermost activation begins at best, so the walk keeps where the last
 * one ended. The interpreter has the frame that runs in rdx. It writes it to the state before it
 * calls C, with few exceptions, where rbp has it. A leaf may be between the two, so what registers
 * have is believed if a function is there, and if the link to its caller leads to a call.
 *
 * A trace runs within the C frame of the interpreter, on top of it. Of the functions that it was
 * compiled from, the one in which it began is known (global_State.jit_base); others have no frames.
 *
 * A stack that was taken before its memory is read has native frames: the process has gone on.
 */
#include "runtimes/luajit.h"

#include <stdlib.h>
#include <string.h>

#include "runtimes/elf_find.h"
#include "runtimes/text.h"

/* --- which version --- */

static const struct release {
	const char *name; /* after the major number */
	uint32_t version;
	uint32_t offsets[N_LUAJIT_OFFSETS];
} releases[] = {
	{"1.0-beta3", LUAJIT(2, 1), {376, 3776}},
	{"1.1737090214", LUAJIT(2, 1), {376, 3792}},
	{"1.1761786044", LUAJIT(2, 1), {376, 3792}},
};

enum { SYMBOL_MODE, SYMBOL_PROFILE, SYMBOL_TOP, SYMBOL_PANIC, SYMBOL_CALL };

/* NULL: none of those. Copyrights have their names, too. */
static const struct release *find_release(const struct elf_file *elf, uint32_t *ret_version)
{
	char name[64] = "";

	if (elf_find_text(elf, "LuaJIT 2.", name, sizeof name) < 0)
		return NULL;
	name[strcspn(name, " ")] = '\0';
	*ret_version = LUAJIT(2, strtoul(name, NULL, 10) & 255);
	for (size_t i = 0; i < sizeof releases / sizeof *releases; i++)
		if (strcmp(releases[i].name, name) == 0)
			return &releases[i];
	return NULL;
}

static bool has_code(const struct elf_file *elf, uint64_t address, const void *code, size_t n)
{
	uint8_t there[16];

	return address && elf_find_bytes(elf, address, there, n) == 0 &&
	       memcmp(there, code, n) == 0;
}

/* Functions of builds with control-flow protection begin with endbr64. */
static bool begins_with(const struct elf_file *elf, uint64_t address, const void *code, size_t n,
			uint64_t *ret_end)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};

	if (has_code(elf, address, endbr, sizeof endbr))
		address += sizeof endbr;
	*ret_end = address + n;
	return has_code(elf, address, code, n);
}

/* lua_gettop(): mov 40(%rdi),%rax; sub 32(%rdi),%rax. */
static const uint8_t top_code[] = {0x48, 0x8b, 0x47, 0x28, 0x48, 0x2b, 0x47, 0x20};

/* lua_atpanic(): mov 16(%rdi),%rax; mov OFFSET(%rax),%rdx. That is 24 below the trace's base. */
static const uint8_t panic_code[] = {0x48, 0x8b, 0x47, 0x10, 0x48, 0x8b, 0x90};
#define PANIC_TO_TRACE 24

static bool has_known_state(const struct elf_file *elf, const struct elf_wanted *symbols,
			    const uint32_t *o)
{
	uint64_t end;
	uint32_t panic;

	return begins_with(elf, symbols[SYMBOL_TOP].address, top_code, sizeof top_code, &end) &&
	       begins_with(elf, symbols[SYMBOL_PANIC].address, panic_code, sizeof panic_code,
			   &end) &&
	       elf_find_bytes(elf, end, &panic, sizeof panic) == 0 &&
	       panic + PANIC_TO_TRACE == o[LUAJIT_TRACE_BASE];
}

/* Where the interpreter is entered: push %rbp, %rbx, %r15, %r14; sub $40,%rsp. */
static const uint8_t enter_code[] = {0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 0x28};
#define CALL_BYTES 256

static void find_interpreter(const struct elf_file *elf, const struct elf_wanted *call,
			     struct runtime_facts *ret)
{
	uint8_t code[CALL_BYTES];
	uint32_t n = call->size < sizeof code ? call->size : sizeof code;

	if (elf_find_bytes(elf, call->address, code, n) < 0)
		return;
	for (uint32_t i = 0; i + 5 <= n; i++) {
		uint64_t target;
		int32_t distance;

		memcpy(&distance, code + i + 1, sizeof distance);
		target = call->address + i + 5 + distance;
		if (code[i] != 0xe9 || !has_code(elf, target, enter_code, sizeof enter_code))
			continue;
		ret->generated_size = elf_find_function_around(elf, target, &ret->generated);
		return;
	}
}

static int examine(struct elf_file *elf, struct runtime_facts *ret)
{
	struct elf_wanted symbols[] = {
		[SYMBOL_MODE] = {"luaJIT_setmode", true},
		[SYMBOL_PROFILE] = {"luaJIT_profile_start", true},
		[SYMBOL_TOP] = {"lua_gettop"},
		[SYMBOL_PANIC] = {"lua_atpanic"},
		[SYMBOL_CALL] = {"lua_call"},
	};
	int r = elf_find_symbols(elf, symbols, sizeof symbols / sizeof *symbols);
	const struct release *release;

	if (r <= 0) {
		ret->runtime = 0;
		return r;
	}
	ret->code_shift = elf_find_code_shift(elf);
	release = find_release(elf, &ret->version);
	if (release)
		memcpy(ret->offsets, release->offsets, sizeof release->offsets);
	if (!release)
		ret->problem = RUNTIME_VERSION;
	else if (elf->machine != EM_X86_64 || !has_known_state(elf, symbols, ret->offsets))
		ret->problem = RUNTIME_BUILD;
	else
		find_interpreter(elf, &symbols[SYMBOL_CALL], ret);
	return 0;
}

/* --- whether its facts can be used --- */

#define MOST_INTERPRETER (1u << 20)

static bool is_of_release(const struct runtime_facts *facts)
{
	for (size_t i = 0; i < sizeof releases / sizeof *releases; i++)
		if (releases[i].version == facts->version &&
		    memcmp(releases[i].offsets, facts->offsets, sizeof releases[i].offsets) == 0)
			return true;
	return false;
}

static bool is_sound(const struct runtime_facts *facts)
{
	return is_of_release(facts) && facts->generated_size &&
	       facts->generated_size <= MOST_INTERPRETER;
}

/* --- the text --- */

#define PC	 BF_REGISTER_WALK_PC
#define SP	 BF_REGISTER_WALK_SP
#define RBP	 BF_REGISTER_WALK_FP
#define EXACT	 BF_REGISTER_WALK_EXACT
#define BUILT_IN BF_REGISTER_WALK_BUILT_IN
#define RBX	 BF_REGISTER_WALK_LEAF_BX
#define RDX	 BF_REGISTER_WALK_LEAF_DX

/* The use of the other registers, and of those above once they are not needed. */
enum { CFRAME, STATE, BASE, PLACE, AT, STACK, LINK, MODE };
#define TEMPORARY BF_REGISTER_WALK_LEAF
#define OTHER	  BUILT_IN
#define CHECK	  RDX
#define IS_TRACE  EXACT /* … 2: the next function runs in a trace */

/* When the walk comes to the interpreter again: where the last activation ended (BASE; 0: there is
 * none), of which state, and its C frame. */
#define LAST_STATE  PLACE
#define LAST_CFRAME STACK

/* MODE, once the state is found: what is done with the frame at BASE. */
enum { MODE_PASS, MODE_EMIT, MODE_PASS_ONE };

/* Of a C frame. */
#define CFRAME_RESULTS	8 /* 4 bytes; below 0: how large the stack was */
#define CFRAME_STATE	16
#define CFRAME_PLACE	24 /* in instructions */
#define CFRAME_PREVIOUS 32
#define CFRAME_SAVED	64 /* rbp and the return address */
#define CFRAME_BYTES	80
#define CFRAME_FLAGS	3 /* of the address of one */

/* Of a state. */
#define STATE_GLOBAL 16
#define STATE_BASE   32
#define STATE_LIMIT  48
#define STATE_STACK  56
#define STATE_CFRAME 80
#define STATE_WORDS  11

/* Of a stack's words: tags of pointers are above them. */
#define POINTER_BITS 47
#define TAG_FUNCTION 0x1fff7

/* Of a frame: below its base are a function and its link, an instruction after a call or, by the
 * low bits, a distance. */
#define LINK_KIND     7
#define LINK_C	      1 /* of the 2 lowest: its caller is C */
#define LINK_CONTINUE 2
#define LINK_VARIADIC 3 /* its arguments were moved; below is the same function */
#define FIRST_FRAME   24

/* Below the base of one that continues: how, and where in instructions. */
#define CONTINUATION   (-32)
#define CONTINUES_IN_C 1

/* Of a function. */
#define FUNCTION_KIND 10 /* 0: in Lua */
#define FUNCTION_CODE 32 /* instructions of its prototype */

/* Instructions: mov 32(%rbp),%rdx; and where the interpreter is entered, add %rcx,%rbx after it. */
#define TAKES_BASE  0x20558b48
#define THEN_ENTERS 0xcb0148

#define MOST_WORDS   200 /* on top of a C frame: what a trace, or leaving it, has put there */
#define MOST_CFRAMES 100
#define MOST_AREAS   64

enum label {
	LABEL_PUSHED,
	LABEL_NO_PUSH,
	LABEL_PUSH_READ,
	LABEL_NOT_OURS,
	LABEL_BEGIN,
	LABEL_CANDIDATE,
	LABEL_IS_CFRAME,
	LABEL_CHAIN,
	LABEL_FOLLOW,
	LABEL_NEXT,
	LABEL_FOUND,
	LABEL_AREA,
	LABEL_BASE,
	LABEL_FIRST,
	LABEL_NO_TRACE,
	LABEL_NOT_LEAF,
	LABEL_TRY,
	LABEL_LINK,
	LABEL_NO_LINK,
	LABEL_LINK_IS_DISTANCE,
	LABEL_GOOD_BASE,
	LABEL_NOT_RETURNING,
	LABEL_ONLY_STATE,
	LABEL_IS_EMPTY,
	LABEL_NO_BASE,
	LABEL_ACTIVATIONS,
	LABEL_ACTIVATION,
	LABEL_PREVIOUS,
	LABEL_HAS_FRAMES,
	LABEL_FRAME,
	LABEL_FUNCTION,
	LABEL_CHECK,
	LABEL_PLACE,
	LABEL_INTERPRETED,
	LABEL_LINKS,
	LABEL_DOWN,
	LABEL_DISTANCE,
	LABEL_CONTINUE,
	LABEL_MARKED,
	LABEL_BOUNDARY,
	LABEL_BROKEN,
	LABEL_LEAVE,
	N_LABELS,
};
_Static_assert((int)N_LABELS <= TEXT_LABELS, "all have room");

/* A pointer without its tag. */
static void untag(struct text_writer *text, uint8_t x)
{
	text_op(text, BF_OP_SHL, x, x, 0, 64 - POINTER_BITS);
	text_op(text, BF_OP_SHR, x, x, 0, 64 - POINTER_BITS);
}

/* AT = the C frame after the one at AT; 0: there is none. */
static void write_previous_cframe(struct text_writer *text)
{
	text_try(text, AT, AT, CFRAME_PREVIOUS);
	text_op(text, BF_OP_ANDI, AT, AT, 0, ~CFRAME_FLAGS);
}

/*
 * A leaf that is just making or leaving its C frame: how many registers are on the stack is seen by
 * what it does next.
 */
static const struct {
	uint32_t code, n_bytes, pushed;
} ends[] = {
	{0x415355, 3, 0}, {0x574153, 3, 1}, {0x415741, 3, 2}, {0x485641, 3, 3}, {0xec8348, 3, 4},
	{0x415e41, 3, 4}, {0x5b5f41, 3, 3}, {0xc35d5b, 3, 2}, {0xc35d, 2, 1},	{0xc3, 1, 0},
};

static void write_ends(struct text_writer *text)
{
	text_op(text, BF_OP_TRY, 0, PC, 0, 0);
	text_load(text, AT, 4, 0);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		text_op(text, BF_OP_SET, TEMPORARY, 0, 0, ends[i].pushed);
		text_op(text, BF_OP_ANDI, LINK, AT, 0, (1 << 8 * ends[i].n_bytes) - 1);
		text_if(text, LINK, BF_EQ, ends[i].code, LABEL_PUSHED);
	}
	text_jump(text, LABEL_IS_CFRAME);
	text_label(text, LABEL_PUSHED);
	text_op(text, BF_OP_ADDI, LINK, RBP, 0, 0);
	text_if(text, TEMPORARY, BF_EQ, 0, LABEL_NO_PUSH);
	text_op(text, BF_OP_SHL, TEMPORARY, TEMPORARY, 0, 3);
	text_op(text, BF_OP_ADD, TEMPORARY, TEMPORARY, SP, 0);
	text_try(text, LINK, TEMPORARY, -8);
	text_jump(text, LABEL_PUSH_READ);
	text_label(text, LABEL_NO_PUSH);
	text_op(text, BF_OP_ADDI, TEMPORARY, SP, 0, 0);
	text_label(text, LABEL_PUSH_READ);
	text_try(text, AT, TEMPORARY, 0);
	text_op(text, BF_OP_ADDI, TEMPORARY, TEMPORARY, 0, 8);
	text_op(text, BF_OP_CALLER, AT, TEMPORARY, LINK, 0);
	text_op(text, BF_OP_END, 0, 0, 0, 0);
}

/*
 * CFRAME = the C frame, at the stack pointer or some words above. LINK = how many the state has
 * within it. One that the state does not have yet, or no longer, has no functions.
 */
static void write_find(struct text_writer *text)
{
	text_op(text, BF_OP_PARAMETER, TEMPORARY, 0, 0, 1);
	text_if(text, TEMPORARY, BF_EQ, 0, LABEL_BEGIN);
	text_label(text, LABEL_NOT_OURS);
	text_op(text, BF_OP_END, 0, 0, 0, 0);
	text_label(text, LABEL_BEGIN);
	text_op(text, BF_OP_ADDI, CFRAME, SP, 0, 0);
	text_op(text, BF_OP_SET, MODE, 0, 0, 0);
	text_label(text, LABEL_CANDIDATE);
	text_if(text, MODE, BF_GE, MOST_WORDS, LABEL_NOT_OURS);
	text_if(text, MODE, BF_NE, 2, LABEL_IS_CFRAME);
	text_if(text, BUILT_IN, BF_EQ, 0, LABEL_IS_CFRAME);
	text_if(text, EXACT, BF_EQ, 0, LABEL_IS_CFRAME);
	write_ends(text);
	text_label(text, LABEL_IS_CFRAME);
	text_try(text, STATE, CFRAME, CFRAME_STATE);
	text_if(text, STATE, BF_EQ, 0, LABEL_NEXT);
	text_if(text, STATE, BF_ANY, 7, LABEL_NEXT);
	text_op(text, BF_OP_TRY, 0, STATE, STATE_WORDS - 1, 0);
	text_load(text, TEMPORARY, 1, LUAJIT_TYPE);
	text_if(text, TEMPORARY, BF_NE, LUAJIT_TYPE_STATE, LABEL_NEXT);
	text_load(text, AT, 8, STATE_CFRAME);
	text_op(text, BF_OP_ANDI, AT, AT, 0, ~CFRAME_FLAGS);
	text_op(text, BF_OP_SET, LINK, 0, 0, 0);
	text_label(text, LABEL_CHAIN);
	text_if_register(text, AT, BF_EQ, CFRAME, LABEL_FOUND);
	text_if(text, LINK, BF_GE, MOST_CFRAMES, LABEL_NEXT);
	text_if(text, AT, BF_EQ, 0, LABEL_FOLLOW);
	text_if_register(text, AT, BF_GE, CFRAME, LABEL_FOLLOW);
	write_previous_cframe(text);
	text_op(text, BF_OP_ADDI, LINK, LINK, 0, 1);
	text_jump(text, LABEL_CHAIN);
	text_label(text, LABEL_FOLLOW);
	text_if(text, MODE, BF_NE, 0, LABEL_NEXT);
	text_if(text, BUILT_IN, BF_EQ, 0, LABEL_NEXT);
	text_if(text, LINK, BF_NE, 0, LABEL_NEXT);
	text_try(text, TEMPORARY, CFRAME, CFRAME_PREVIOUS);
	text_op(text, BF_OP_ANDI, TEMPORARY, TEMPORARY, 0, ~CFRAME_FLAGS);
	text_if_register(text, TEMPORARY, BF_NE, AT, LABEL_NEXT);
	text_op(text, BF_OP_SET, BASE, 0, 0, 0);
	text_jump(text, LABEL_LEAVE);
	text_label(text, LABEL_NEXT);
	text_op(text, BF_OP_ADDI, CFRAME, CFRAME, 0, 8);
	text_op(text, BF_OP_ADDI, MODE, MODE, 0, 1);
	text_jump(text, LABEL_CANDIDATE);
}

/* Code of no file has to be a trace. */
static void write_area(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_FOUND);
	text_if(text, BUILT_IN, BF_NE, 0, LABEL_BASE);
	text_op(text, BF_OP_SET, MODE, 0, 0, 0);
	text_load(text, TEMPORARY, 8, STATE_GLOBAL);
	text_try(text, TEMPORARY, TEMPORARY, o[LUAJIT_AREAS]);
	text_label(text, LABEL_AREA);
	text_if(text, TEMPORARY, BF_EQ, 0, LABEL_NOT_OURS);
	text_if(text, MODE, BF_GE, MOST_AREAS, LABEL_NOT_OURS);
	text_op(text, BF_OP_ADDI, MODE, MODE, 0, 1);
	text_op(text, BF_OP_SUB, OTHER, PC, TEMPORARY, 0);
	text_op(text, BF_OP_TRY, 0, TEMPORARY, 1, 0);
	text_load(text, TEMPORARY, 8, 0);
	text_load(text, AT, 8, 8);
	text_if_register(text, OTHER, BF_GE, AT, LABEL_AREA);
	text_op(text, BF_OP_SET, BUILT_IN, 0, 0, 0);
}

/* BASE and PLACE of the innermost frame. The window is the state's but for its first two words. */
static void write_innermost(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_BASE);
	text_op(text, BF_OP_ADDI, TEMPORARY, LAST_CFRAME, 0, 0);
	text_load(text, STACK, 8, STATE_STACK);
	text_if(text, BASE, BF_EQ, 0, LABEL_FIRST);
	text_if_register(text, LAST_STATE, BF_NE, STATE, LABEL_FIRST);
	text_op(text, BF_OP_ADDI, AT, TEMPORARY, 0, 0);
	text_try(text, PLACE, CFRAME, CFRAME_PLACE);
	text_jump(text, LABEL_PREVIOUS);
	text_label(text, LABEL_FIRST);
	text_load(text, BASE, 8, STATE_BASE);
	text_load(text, MODE, 8, STATE_LIMIT);
	text_load(text, AT, 8, STATE_GLOBAL);
	text_try(text, PLACE, CFRAME, CFRAME_PLACE);
	text_if(text, LINK, BF_NE, 0, LABEL_ACTIVATIONS);
	text_try(text, AT, AT, o[LUAJIT_TRACE_BASE]);
	text_if_register(text, AT, BF_LT, STACK, LABEL_NO_TRACE);
	text_if_register(text, AT, BF_GE, MODE, LABEL_NO_TRACE);
	text_op(text, BF_OP_ADDI, BASE, AT, 0, 0);
	text_op(text, BF_OP_SET, PLACE, 0, 0, 0);
	text_op(text, BF_OP_SET, IS_TRACE, 0, 0, 2);
	text_jump(text, LABEL_ACTIVATIONS);
	text_label(text, LABEL_NO_TRACE);
	text_if(text, BUILT_IN, BF_EQ, 0, LABEL_ACTIVATIONS);
	text_if(text, EXACT, BF_EQ, 0, LABEL_NOT_LEAF);
	text_op(text, BF_OP_ADDI, PLACE, RBX, 0, 0);
	/* When it returns to C, it has the base there before the state has. */
	text_if_register(text, RBX, BF_LT, STACK, LABEL_NOT_RETURNING);
	text_if_register(text, RBX, BF_GE, MODE, LABEL_NOT_RETURNING);
	text_if(text, RBX, BF_ANY, 7, LABEL_NOT_RETURNING);
	text_op(text, BF_OP_ADDI, BASE, RBX, 0, 0);
	text_jump(text, LABEL_LEAVE);
	text_label(text, LABEL_NOT_RETURNING);
	/* When it is called by C, rbx becomes the link of the frame that rdx will have. */
	text_op(text, BF_OP_ANDI, AT, RBX, 0, 3);
	text_if(text, AT, BF_NE, LINK_C, LABEL_TRY);
	text_if_register(text, RDX, BF_NE, BASE, LABEL_TRY);
	text_try(text, AT, BASE, -8);
	text_if_register(text, AT, BF_NE, RBX, LABEL_ONLY_STATE);
	text_jump(text, LABEL_TRY);
	text_label(text, LABEL_NOT_LEAF);
	text_op(text, BF_OP_SET, RBX, 0, 0, 0);
	text_op(text, BF_OP_ADDI, RDX, RBP, 0, 0);
}

/* @to = bytes of the instructions at @code; goes to @none if these are no prototype's. */
static void write_code_size(struct text_writer *text, uint8_t to, uint8_t code, enum label none)
{
	text_op(text, BF_OP_TRY, 0, code, 0, LUAJIT_N_INSTRUCTIONS - 4 - LUAJIT_PROTOTYPE);
	text_load(text, to, 1, LUAJIT_TYPE - (LUAJIT_N_INSTRUCTIONS - 4));
	text_if(text, to, BF_NE, LUAJIT_TYPE_PROTOTYPE, none);
	text_load(text, to, 4, 4);
	text_op(text, BF_OP_SHL, to, to, 0, 2);
}

/*
 * Whether the base of a frame is at RDX. The interpreter moves that first when it calls, and writes
 * the link then, which is in rbx: unless that is an instruction of the function itself, it is tried
 * first. When it returns, results take the place of the function, and rbx has the link, too.
 */
static void write_try(struct text_writer *text)
{
	text_label(text, LABEL_TRY);
	text_if_register(text, RDX, BF_LT, STACK, LABEL_NO_BASE);
	text_if_register(text, RDX, BF_GE, MODE, LABEL_NO_BASE);
	text_if(text, RDX, BF_ANY, 7, LABEL_NO_BASE);
	text_op(text, BF_OP_TRY, 0, RDX, 1, -16);
	text_load(text, TEMPORARY, 8, 0);
	text_load(text, LINK, 8, 8);
	text_op(text, BF_OP_SHR, TEMPORARY, TEMPORARY, 0, POINTER_BITS);
	text_if(text, TEMPORARY, BF_NE, TAG_FUNCTION, LABEL_NO_LINK);
	text_if(text, RBX, BF_EQ, 0, LABEL_LINK);
	text_if(text, RBX, BF_ANY, 3, LABEL_LINK);
	text_load(text, TEMPORARY, 8, 0);
	untag(text, TEMPORARY);
	text_try(text, TEMPORARY, TEMPORARY, FUNCTION_CODE);
	write_code_size(text, AT, TEMPORARY, LABEL_LINK);
	text_op(text, BF_OP_SUB, TEMPORARY, RBX, TEMPORARY, 0);
	text_if_register(text, TEMPORARY, BF_LT, AT, LABEL_LINK);
	text_op(text, BF_OP_ADDI, TEMPORARY, LINK, 0, 0);
	text_op(text, BF_OP_ADDI, LINK, RBX, 0, 0);
	text_op(text, BF_OP_ADDI, RBX, TEMPORARY, 0, 0);
	text_label(text, LABEL_LINK);
	text_if(text, LINK, BF_ANY, 3, LABEL_LINK_IS_DISTANCE);
	text_op(text, BF_OP_TRY, 0, LINK, 0, -4);
	text_load(text, TEMPORARY, 1, 1);
	text_op(text, BF_OP_ADDI, TEMPORARY, TEMPORARY, 0, 2);
	text_op(text, BF_OP_SHL, TEMPORARY, TEMPORARY, 0, 3);
	text_op(text, BF_OP_SUB, TEMPORARY, RDX, TEMPORARY, 0);
	text_if_register(text, TEMPORARY, BF_LT, STACK, LABEL_NO_LINK);
	text_try(text, TEMPORARY, TEMPORARY, -16);
	text_op(text, BF_OP_SHR, AT, TEMPORARY, 0, POINTER_BITS);
	text_if(text, AT, BF_NE, TAG_FUNCTION, LABEL_NO_LINK);
	untag(text, TEMPORARY);
	text_try(text, TEMPORARY, TEMPORARY, FUNCTION_CODE);
	write_code_size(text, AT, TEMPORARY, LABEL_NO_LINK);
	text_op(text, BF_OP_SUB, TEMPORARY, LINK, TEMPORARY, 0);
	text_if_register(text, TEMPORARY, BF_LT, AT, LABEL_GOOD_BASE);
	text_label(text, LABEL_NO_LINK);
	text_if(text, RBX, BF_EQ, 0, LABEL_NO_BASE);
	text_if(text, RBX, BF_ANY, 3, LABEL_NO_BASE);
	text_op(text, BF_OP_ADDI, LINK, RBX, 0, 0);
	text_op(text, BF_OP_SET, RBX, 0, 0, 0);
	text_op(text, BF_OP_SET, PLACE, 0, 0, 0);
	text_jump(text, LABEL_LINK);
	text_label(text, LABEL_LINK_IS_DISTANCE);
	text_op(text, BF_OP_ANDI, TEMPORARY, LINK, 0, ~LINK_KIND);
	text_op(text, BF_OP_SUB, TEMPORARY, RDX, TEMPORARY, 0);
	text_if_register(text, TEMPORARY, BF_LT, STACK, LABEL_NO_LINK);
	text_if_register(text, TEMPORARY, BF_GE, RDX, LABEL_NO_LINK);
	text_op(text, BF_OP_ANDI, AT, LINK, 0, LINK_KIND);
	text_if(text, AT, BF_NE, LINK_VARIADIC, LABEL_GOOD_BASE);
	text_try(text, TEMPORARY, TEMPORARY, -16);
	text_try(text, AT, RDX, -16);
	text_if_register(text, AT, BF_NE, TEMPORARY, LABEL_NO_LINK);
	text_label(text, LABEL_GOOD_BASE);
	text_op(text, BF_OP_ADDI, BASE, RDX, 0, 0);
	text_op(text, BF_OP_SET, MODE, 0, 0, MODE_EMIT);
	text_op(text, BF_OP_TRY, 0, BASE, 1, -16);
	text_jump(text, LABEL_FUNCTION);
	text_label(text, LABEL_NO_BASE);
	text_if_register(text, RDX, BF_EQ, RBP, LABEL_ONLY_STATE);
	text_op(text, BF_OP_ADDI, RDX, RBP, 0, 0);
	text_jump(text, LABEL_TRY);
}

/*
 * A leaf whose frame only the state has: if that is of a function in C, it does not run the
 * interpreter, which is being called or left by C and has no functions, or no longer. But where its
 * next instruction takes the base from the state, C has returned to it.
 */
static void write_only_state(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_ONLY_STATE);
	text_if(text, EXACT, BF_EQ, 0, LABEL_ACTIVATIONS);
	text_try(text, TEMPORARY, BASE, -16);
	untag(text, TEMPORARY);
	text_try(text, TEMPORARY, TEMPORARY, FUNCTION_CODE);
	text_try(text, AT, STATE, STATE_GLOBAL);
	text_op(text, BF_OP_SUB, TEMPORARY, TEMPORARY, AT, 0);
	text_op(text, BF_OP_ADDI, TEMPORARY, TEMPORARY, 0, 16 - (int32_t)o[LUAJIT_TRACE_BASE]);
	text_if(text, TEMPORARY, BF_GE, 8, LABEL_ACTIVATIONS);
	text_op(text, BF_OP_TRY, 0, PC, 0, 0);
	text_load(text, TEMPORARY, 4, 0);
	text_load(text, AT, 4, 4);
	text_op(text, BF_OP_ANDI, AT, AT, 0, 0xffffff);
	text_if(text, TEMPORARY, BF_NE, TAKES_BASE, LABEL_IS_EMPTY);
	text_if(text, AT, BF_NE, THEN_ENTERS, LABEL_ACTIVATIONS);
	text_label(text, LABEL_IS_EMPTY);
	text_jump(text, LABEL_LEAVE);
}

/* Goes through the state's C frames, from its innermost at AT to ours, and their functions. */
static void write_activations(struct text_writer *text)
{
	text_label(text, LABEL_ACTIVATIONS);
	text_try(text, AT, STATE, STATE_CFRAME);
	text_op(text, BF_OP_ANDI, AT, AT, 0, ~CFRAME_FLAGS);
	text_label(text, LABEL_ACTIVATION);
	text_op(text, BF_OP_TRY, 0, AT, 0, CFRAME_RESULTS);
	text_load(text, TEMPORARY, 4, 0);
	text_if(text, TEMPORARY, BF_NONE, INT32_MIN, LABEL_HAS_FRAMES);
	text_op(text, BF_OP_SET, LINK, 0, 0, 1);
	text_op(text, BF_OP_SHL, LINK, LINK, 0, 32);
	text_op(text, BF_OP_SUB, LINK, LINK, TEMPORARY, 0);
	text_op(text, BF_OP_ADD, LINK, LINK, STACK, 0);
	text_op(text, BF_OP_ADDI, TEMPORARY, BASE, 0, -8);
	text_if_register(text, TEMPORARY, BF_GE, LINK, LABEL_HAS_FRAMES);
	text_if_register(text, AT, BF_NE, CFRAME, LABEL_PREVIOUS);
	text_jump(text, LABEL_LEAVE);
	text_label(text, LABEL_PREVIOUS);
	write_previous_cframe(text);
	text_if(text, AT, BF_NE, 0, LABEL_ACTIVATION);
	text_op(text, BF_OP_END, 0, 0, 0, 0);
	text_label(text, LABEL_HAS_FRAMES);
	text_op(text, BF_OP_SET, MODE, 0, 0, MODE_PASS);
	text_if_register(text, AT, BF_NE, CFRAME, LABEL_FRAME);
	text_op(text, BF_OP_SET, MODE, 0, 0, MODE_EMIT);
}

/* CHECK ^= @from, of which all bits count. */
static void mix(struct text_writer *text, uint8_t from)
{
	text_op(text, BF_OP_MULI, from, from, 0, LUAJIT_SPREAD);
	text_op(text, BF_OP_XOR, CHECK, CHECK, from, 0);
	text_op(text, BF_OP_SHR, from, from, 0, 32);
	text_op(text, BF_OP_XOR, CHECK, CHECK, from, 0);
}

/* Where the window has a prototype, from its type's word on, and its chunk's name. */
#define AT_PROTOTYPE(offset) (16 + (offset)-8)
#define AT_CHUNK(offset)     (104 + (offset)-8)

/* CHECK of the prototype at TEMPORARY: as luajit_names.c makes it. */
static void write_check(struct text_writer *text)
{
	text_load(text, AT, 8, AT_PROTOTYPE(LUAJIT_CHUNK));
	text_op(text, BF_OP_TRY, 13, AT, 1, 8);
	text_op(text, BF_OP_SHR, CHECK, AT, 0, 4);
	text_load(text, AT, 4, AT_PROTOTYPE(LUAJIT_N_INSTRUCTIONS));
	mix(text, AT);
	text_load(text, AT, 8, AT_PROTOTYPE(LUAJIT_FIRST_LINE));
	mix(text, AT);
	text_load(text, AT, 8, AT_CHUNK(LUAJIT_STRING_HASH));
	mix(text, AT);
}

/* Puts out the frame at BASE if it is of a function in Lua. */
static void write_frame(struct text_writer *text)
{
	text_label(text, LABEL_FRAME);
	text_op(text, BF_OP_SUB, TEMPORARY, BASE, STACK, 0);
	text_if(text, TEMPORARY, BF_LT, FIRST_FRAME, LABEL_BROKEN);
	text_op(text, BF_OP_TRY, 0, BASE, 1, -16);
	text_load(text, LINK, 8, 8);
	text_label(text, LABEL_FUNCTION);
	text_if(text, MODE, BF_EQ, MODE_PASS, LABEL_LINKS);
	text_if(text, MODE, BF_EQ, MODE_EMIT, LABEL_CHECK);
	text_op(text, BF_OP_SET, MODE, 0, 0, MODE_EMIT);
	text_jump(text, LABEL_LINKS);
	text_label(text, LABEL_CHECK);
	text_load(text, TEMPORARY, 8, 0);
	text_op(text, BF_OP_SHR, OTHER, TEMPORARY, 0, POINTER_BITS);
	text_if(text, OTHER, BF_NE, TAG_FUNCTION, LABEL_LINKS);
	untag(text, TEMPORARY);
	text_op(text, BF_OP_TRY, 2, TEMPORARY, 3, 8);
	text_load(text, OTHER, 1, 16 + FUNCTION_KIND - 8);
	text_if(text, OTHER, BF_NE, 0, LABEL_LINKS);
	text_load(text, OTHER, 1, 16 + LUAJIT_TYPE - 8);
	text_if(text, OTHER, BF_NE, LUAJIT_TYPE_FUNCTION, LABEL_BROKEN);
	text_load(text, TEMPORARY, 8, 16 + FUNCTION_CODE - 8);
	text_op(text, BF_OP_ADDI, TEMPORARY, TEMPORARY, 0, -LUAJIT_PROTOTYPE);
	text_op(text, BF_OP_TRY, 2, TEMPORARY, LUAJIT_LINES / 8 - 2, 8);
	text_load(text, OTHER, 1, AT_PROTOTYPE(LUAJIT_TYPE));
	text_if(text, OTHER, BF_NE, LUAJIT_TYPE_PROTOTYPE, LABEL_BROKEN);
	/* Which instruction comes next; 0: it is not known. */
	text_load(text, OTHER, 4, AT_PROTOTYPE(LUAJIT_N_INSTRUCTIONS));
	text_op(text, BF_OP_SUB, PLACE, PLACE, TEMPORARY, 0);
	text_op(text, BF_OP_ADDI, PLACE, PLACE, 0, -LUAJIT_PROTOTYPE);
	text_op(text, BF_OP_SHR, PLACE, PLACE, 0, 2);
	text_if_register(text, OTHER, BF_GE, PLACE, LABEL_PLACE);
	text_op(text, BF_OP_SET, PLACE, 0, 0, 0);
	text_label(text, LABEL_PLACE);
	write_check(text);
	text_if(text, IS_TRACE, BF_NE, 2, LABEL_INTERPRETED);
	text_op(text, BF_OP_SET, IS_TRACE, 0, 0, 0);
	text_op(text, BF_OP_EMIT, TEMPORARY, PLACE, CHECK, LUAJIT_TRACE);
	text_jump(text, LABEL_LINKS);
	text_label(text, LABEL_INTERPRETED);
	text_op(text, BF_OP_EMIT, TEMPORARY, PLACE, CHECK, LUAJIT_FUNCTION);
}

/* Goes to the frame below; the last one of an activation ends it, or the next one's begins. */
static void write_down(struct text_writer *text)
{
	text_label(text, LABEL_LINKS);
	text_op(text, BF_OP_SET, PLACE, 0, 0, 0);
	text_if(text, LINK, BF_ANY, 3, LABEL_DISTANCE);
	text_op(text, BF_OP_SHR, OTHER, LINK, 0, POINTER_BITS);
	text_if(text, OTHER, BF_NE, 0, LABEL_BROKEN);
	text_op(text, BF_OP_ADDI, PLACE, LINK, 0, 0);
	text_op(text, BF_OP_TRY, 0, LINK, 0, -4);
	text_load(text, TEMPORARY, 1, 1);
	text_op(text, BF_OP_ADDI, TEMPORARY, TEMPORARY, 0, 2);
	text_op(text, BF_OP_SHL, TEMPORARY, TEMPORARY, 0, 3);
	text_label(text, LABEL_DOWN);
	text_op(text, BF_OP_SUB, OTHER, BASE, TEMPORARY, 0);
	text_if_register(text, OTHER, BF_GE, BASE, LABEL_BROKEN);
	text_op(text, BF_OP_ADDI, BASE, OTHER, 0, 0);
	text_jump(text, LABEL_FRAME);
	text_label(text, LABEL_DISTANCE);
	text_op(text, BF_OP_ANDI, TEMPORARY, LINK, 0, ~LINK_KIND);
	text_op(text, BF_OP_ANDI, LINK, LINK, 0, LINK_KIND);
	text_if(text, LINK, BF_EQ, LINK_CONTINUE, LABEL_CONTINUE);
	text_if(text, LINK, BF_NE, LINK_VARIADIC, LABEL_MARKED);
	text_if(text, MODE, BF_EQ, MODE_PASS, LABEL_DOWN);
	text_op(text, BF_OP_SET, MODE, 0, 0, MODE_PASS_ONE);
	text_jump(text, LABEL_DOWN);
	text_label(text, LABEL_CONTINUE);
	text_op(text, BF_OP_TRY, 0, BASE, 1, CONTINUATION);
	text_load(text, PLACE, 8, 8);
	text_load(text, OTHER, 8, 0);
	text_if(text, OTHER, BF_NE, CONTINUES_IN_C, LABEL_DOWN);
	text_jump(text, LABEL_BOUNDARY);
	text_label(text, LABEL_MARKED);
	text_op(text, BF_OP_ANDI, LINK, LINK, 0, 3);
	text_if(text, LINK, BF_NE, LINK_C, LABEL_DOWN);
	text_label(text, LABEL_BOUNDARY);
	text_op(text, BF_OP_SUB, OTHER, BASE, TEMPORARY, 0);
	text_if_register(text, OTHER, BF_GE, BASE, LABEL_BROKEN);
	text_op(text, BF_OP_ADDI, BASE, OTHER, 0, 0);
	text_if(text, MODE, BF_NE, MODE_PASS, LABEL_LEAVE);
	text_try(text, PLACE, CFRAME, CFRAME_PLACE);
	text_jump(text, LABEL_PREVIOUS);
	text_label(text, LABEL_BROKEN);
	text_op(text, BF_OP_SET, TEMPORARY, 0, 0, 0); /* no caller: what is found is cut there */
	text_op(text, BF_OP_CALLER, TEMPORARY, TEMPORARY, TEMPORARY, 0);
	text_label(text, LABEL_LEAVE);
	text_op(text, BF_OP_TRY, 0, CFRAME, 1, CFRAME_SAVED);
	text_load(text, OTHER, 8, 0);
	text_load(text, TEMPORARY, 8, 8);
	text_op(text, BF_OP_ADDI, LAST_STATE, STATE, 0, 0);
	text_op(text, BF_OP_ADDI, LAST_CFRAME, CFRAME, 0, 0);
	text_op(text, BF_OP_ADDI, LINK, CFRAME, 0, CFRAME_BYTES);
	text_op(text, BF_OP_CALLER, TEMPORARY, LINK, OTHER, 0);
	text_op(text, BF_OP_END, 0, 0, 0, 0);
}

static int luajit_write(const struct runtime_facts *facts, struct bf_text *ret)
{
	struct text_writer text;

	text_begin(&text, ret);
	write_find(&text);
	write_area(&text, facts->offsets);
	write_innermost(&text, facts->offsets);
	write_try(&text);
	write_only_state(&text, facts->offsets);
	write_activations(&text);
	write_frame(&text);
	write_down(&text);
	return text_end(&text);
}

const struct runtime runtime_luajit = {
	.name = "LuaJIT",
	.language = "lua",
	.examine = examine,
	.is_sound = is_sound,
	.write_range = luajit_write,
	.describe = luajit_describe,
	.line = luajit_line,
};
