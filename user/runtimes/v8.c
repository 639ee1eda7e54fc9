/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * V8's frames. All functions keep a frame pointer, and below it what they are: their function
 * object, and, while they are interpreted, where in their bytecode they are. So a frame is known by
 * what lies in it, and its code by where that is: the interpreter and other built-in code are part
 * of the file (facts->generated), or of a copy; baseline code is what the function says is its
 * code. All else that runs a function is optimized code: the frame of a call has its address, and
 * the loader finds what is inlined there.
 *
 * One frame at a time: whether its caller is V8's is for the walk to say.
 */
#include <stddef.h>

#include "runtimes/v8.h"

#include "runtimes/elf_find.h"
#include "runtimes/text.h"

static int examine(struct elf_file *elf, struct runtime_facts *ret)
{
	int r = v8_find_offsets(elf, ret);

	ret->code_shift = elf_find_code_shift(elf);
	return r;
}

/* --- the text --- */

#define PC	 BF_REGISTER_WALK_PC
#define SP	 BF_REGISTER_WALK_SP
#define FP	 BF_REGISTER_WALK_FP
#define EXACT	 BF_REGISTER_WALK_EXACT
#define BUILT_IN BF_REGISTER_WALK_BUILT_IN

/* The use of the others. */
enum { SHARED, DATA, SCRIPT, IDENTITY, LITERAL, OFFSET, CODE, R7, R8, R9 };

/* Words of the window: the frame; two for all kinds of things; an object. */
#define FRAME_LOW	V8_FRAME_OFFSET
#define FRAME_WORDS	7
#define FRAME_AT(bytes) ((bytes)-FRAME_LOW)
#define SMALL		8
#define SMALL_AT(at)	(8 * SMALL + (at))
#define LARGE		12
#define LARGE_AT(at)	(8 * LARGE + (at))
#define LARGE_WORDS	8 /* of an object, after its type */

/* x86-64's instructions at the ends of functions. */
#define CODE_PUSH_FP	0x55
#define CODE_RETURN	0xc3
#define CODE_RETURN_POP 0xc2
#define CODE_SET_FP	0xe58948 /* mov %rsp,%rbp */
#define CODE_POP_FP	0x5d
#define CODE_LOOK	0x598b48   /* mov 8*N(%rcx),%rbx: whether the code is still good */
#define CODE_LOOK_MASK	0x7ffffff  /* objects' fields are at no multiples of 8 */
#define CODE_LEAVE	0x5de58b48 /* mov %rbp,%rsp; pop %rbp */

enum label {
	LABEL_FRAME,
	LABEL_WRITTEN,
	LABEL_ENTERED,
	LABEL_BUILT_IN,
	LABEL_IN_TABLE,
	LABEL_VARIABLES,
	LABEL_INFERRED,
	LABEL_NAMED,
	LABEL_GENERATED,
	LABEL_NOT_BASELINE,
	LABEL_COPY,
	LABEL_OPTIMIZED,
	LABEL_INTERPRETED,
	LABEL_SOMEWHERE,
	LABEL_FUNCTION,
	LABEL_CALLER,
	LABEL_END,
};

static void op(struct text_writer *text, enum bf_code code, uint8_t a, uint8_t b, uint8_t c,
	       int32_t value)
{
	text_op(text, code, a, b, c, value);
}

static void try_words(struct text_writer *text, uint8_t word, uint8_t base, uint32_t words,
		      int32_t offset)
{
	op(text, BF_OP_TRY, word, base, words - 1, offset);
}

/* R8 = the type of the object that @pointer leads to; no object has 0. */
static void write_type(struct text_writer *text, const uint32_t *o, uint8_t pointer)
{
	try_words(text, SMALL, pointer, 1, -1);
	text_load(text, R8, 8, SMALL_AT(0));
	try_words(text, SMALL, R8, 1, (int32_t)(o[MAP_TYPE] & ~7u) - 1);
	text_load(text, R8, 2, SMALL_AT(o[MAP_TYPE] & 7));
}

/* Where a function begins or ends, the frame pointer is its caller's. */
static void write_edges(struct text_writer *text)
{
	text_if(text, EXACT, BF_EQ, 0, LABEL_FRAME);
	try_words(text, SMALL, PC, 2, -8);
	text_load(text, R7, 1, SMALL_AT(8));
	text_if(text, R7, BF_EQ, CODE_PUSH_FP, LABEL_ENTERED);
	text_if(text, R7, BF_EQ, CODE_RETURN, LABEL_ENTERED);
	text_if(text, R7, BF_EQ, CODE_RETURN_POP, LABEL_ENTERED);
	for (int at = 8; at >= 0; at -= 4) {
		text_load(text, R7, 4, SMALL_AT(at));
		if (at < 8)
			text_if(text, R7, BF_EQ, CODE_LEAVE, LABEL_ENTERED);
		op(text, BF_OP_ANDI, R8, R7, 0, CODE_LOOK_MASK);
		op(text, BF_OP_IF, R8, BF_NE, 1, CODE_LOOK); /* … at a negative offset */
		text_if(text, R7, BF_ANY, INT32_MIN, LABEL_ENTERED);
	}
	text_load(text, R7, 1, SMALL_AT(7));
	text_if(text, R7, BF_NE, CODE_PUSH_FP, LABEL_FRAME);
	text_load(text, R7, 4, SMALL_AT(8));
	op(text, BF_OP_ANDI, R7, R7, 0, 0xffffff);
	text_if(text, R7, BF_NE, CODE_SET_FP, LABEL_FRAME);
	try_words(text, SMALL, SP, 2, 0);
	text_load(text, R9, 8, SMALL_AT(0));
	text_load(text, R8, 8, SMALL_AT(8));
	op(text, BF_OP_ADDI, R7, SP, 0, 16);
	op(text, BF_OP_CALLER, R8, R7, R9, 0);
	op(text, BF_OP_END, 0, 0, 0, 0);
	text_label(text, LABEL_ENTERED);
	try_words(text, SMALL, SP, 1, 0);
	text_load(text, R8, 8, SMALL_AT(0));
	op(text, BF_OP_ADDI, R7, SP, 0, 8);
	op(text, BF_OP_CALLER, R8, R7, FP, 0);
	op(text, BF_OP_END, 0, 0, 0, 0);
}

/* SHARED = what the frame's function shares with others of its text, if the frame has one. */
static void write_function(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_FRAME);
	text_if_register(text, FP, BF_LT, SP, LABEL_END);
	try_words(text, 0, FP, FRAME_WORDS, FRAME_LOW);
	text_load(text, R7, 1, SMALL_AT(8));
	text_if(text, R7, BF_EQ, CODE_POP_FP, LABEL_WRITTEN); /* still there */
	op(text, BF_OP_SUB, R7, FP, SP, 0);
	text_if(text, R7, BF_LT, -V8_FRAME_FUNCTION, LABEL_CALLER); /* not written yet */
	text_label(text, LABEL_WRITTEN);
	text_load(text, R7, 8, FRAME_AT(V8_FRAME_CONTEXT));
	text_if(text, R7, BF_NONE, 1, LABEL_END); /* a kind of frame: none of a function */
	text_load(text, R7, 8, FRAME_AT(V8_FRAME_FUNCTION));
	op(text, BF_OP_ANDI, R8, R7, 0, 3);
	text_if(text, R8, BF_NE, 1, LABEL_END);
	try_words(text, SMALL, R7, 1, (int32_t)o[FUNCTION_SHARED] - 1);
	text_load(text, SHARED, 8, SMALL_AT(0));
	write_type(text, o, SHARED);
	text_if(text, R8, BF_NE, o[TYPE_SHARED], LABEL_END);
}

/* R8 = hash and length of the string that @pointer may lead to. */
static void write_string(struct text_writer *text, uint8_t pointer)
{
	op(text, BF_OP_SET, R8, 0, 0, 0);
	op(text, BF_OP_IF, pointer, BF_NONE, 2, 1);
	try_words(text, SMALL, pointer, 1, V8_STRING_HASH - 1);
	text_load(text, R8, 8, SMALL_AT(0));
}

#define TAIL_AT(member) LARGE_AT(offsetof(struct v8_tail, member))

/*
 * Adds the name to IDENTITY: its string's hash and length, and where the function begins and ends.
 * Of what the collector has freed, each object is there until its own place is used again.
 */
static void write_name(struct text_writer *text, const uint32_t *o)
{
	const bool first = V8_RANGE_IS_FIRST(o);
	const int32_t start =
		first ? SMALL_AT(8 * (V8_SCOPE_RANGE - V8_SCOPE_LOCALS)) : (int32_t)TAIL_AT(start);

	text_load(text, R9, 8, LARGE_AT(o[SHARED_NAME] - 8));
	try_words(text, SMALL, R9, first ? 3 : 1, 8 * V8_SCOPE_LOCALS - 1);
	text_load(text, R8, 4, SMALL_AT(4));
	op(text, BF_OP_SHL, R7, R8, 0, 3);
	text_if(text, R8, BF_GE, V8_SCOPE_MOST_NAMES, LABEL_IN_TABLE);
	op(text, BF_OP_ADD, R9, R9, R7, 0);
	text_jump(text, LABEL_VARIABLES);
	text_label(text, LABEL_IN_TABLE);
	op(text, BF_OP_ADDI, R9, R9, 0, 8);
	text_label(text, LABEL_VARIABLES);
	op(text, BF_OP_ADD, R9, R9, R7, 0);
	try_words(text, LARGE, R9, sizeof(struct v8_tail) / 8, 8 * (o[SCOPE_NAMES] + 1) - 1);
	text_load(text, R9, 8, TAIL_AT(name));
	write_string(text, R9);
	op(text, BF_OP_SHR, R7, R8, 0, 32);
	text_if(text, R7, BF_NE, 0, LABEL_INFERRED);
	text_load(text, R9, 8, TAIL_AT(inferred));
	write_string(text, R9);
	text_label(text, LABEL_INFERRED);
	op(text, BF_OP_SHR, R7, R8, 0, 32);
	op(text, BF_OP_XOR, R8, R8, R7, 0);
	text_load(text, R7, 4, start + 4);
	op(text, BF_OP_MULI, R7, R7, 0, V8_SPREAD);
	op(text, BF_OP_XOR, R8, R8, R7, 0);
	text_load(text, R7, 4, start + 12);
	op(text, BF_OP_ADD, R8, R8, R7, 0);
	op(text, BF_OP_MULI, R8, R8, 0, V8_SPREAD_2);
	op(text, BF_OP_XOR, IDENTITY, IDENTITY, R8, 0);
}

/* IDENTITY = which function of which script it is. */
static void write_identity(struct text_writer *text, const uint32_t *o)
{
	try_words(text, LARGE, SHARED, LARGE_WORDS, 7);
	text_load(text, DATA, 8, LARGE_AT(o[SHARED_DATA] - 8));
	text_load(text, SCRIPT, 8, LARGE_AT(o[SHARED_SCRIPT] - 8));
	text_load(text, LITERAL, 4, LARGE_AT(o[SHARED_LITERAL] - 8));
	text_load(text, IDENTITY, 8, LARGE_AT(o[SHARED_NAME] - 8));
	op(text, BF_OP_SET, OFFSET, 0, 0, -1); /* V8_NO_OFFSET */
	write_type(text, o, SCRIPT);
	text_if(text, R8, BF_NE, o[TYPE_SCRIPT], LABEL_BUILT_IN);
	try_words(text, SMALL, SCRIPT, 1, (int32_t)o[SCRIPT_ID] - 1);
	text_load(text, IDENTITY, 4, SMALL_AT(4));
	op(text, BF_OP_MULI, IDENTITY, IDENTITY, 0, V8_SPREAD);
	op(text, BF_OP_XOR, IDENTITY, IDENTITY, LITERAL, 0);
	write_name(text, o);
	text_jump(text, LABEL_NAMED);
	text_label(text, LABEL_BUILT_IN);
	op(text, BF_OP_SHR, IDENTITY, IDENTITY, 0, 3);
	text_jump(text, LABEL_FUNCTION);
	text_label(text, LABEL_NAMED);
}

/*
 * Code of the file, or of the copy that V8 has near its generated code: the interpreter, if the
 * frame says where in its bytecode it is; else what runs for the function and has no frame.
 */
static void write_built_in(struct text_writer *text, const uint32_t *o)
{
	text_if(text, BUILT_IN, BF_EQ, 0, LABEL_GENERATED);
	text_load(text, R7, 8, FRAME_AT(V8_FRAME_BYTECODE));
	write_type(text, o, R7);
	text_if(text, R8, BF_NE, o[TYPE_BYTECODE], LABEL_FUNCTION);
	text_load(text, R7, 4, FRAME_AT(V8_FRAME_OFFSET));
	text_if(text, R7, BF_NE, 0, LABEL_FUNCTION);
	text_jump(text, LABEL_INTERPRETED);
	text_label(text, LABEL_GENERATED);
}

/* Goes to @label unless PC lies in the instructions of @code. */
static void write_within(struct text_writer *text, const uint32_t *o, uint8_t code,
			 enum label label)
{
	try_words(text, SMALL, code, 1, (int32_t)(o[CODE_SIZE] & ~7u) - 1);
	text_load(text, R9, 4, SMALL_AT(o[CODE_SIZE] & 7));
	if (o[TYPE_STREAM]) {
		try_words(text, SMALL, code, 1, (int32_t)o[CODE_START] - 1);
		text_load(text, R8, 8, SMALL_AT(0));
	} else {
		op(text, BF_OP_ADDI, R8, code, 0, (int32_t)o[CODE_START] - 1);
	}
	op(text, BF_OP_SUB, R7, PC, R8, 0);
	text_if_register(text, R7, BF_GE, R9, label);
}

/*
 * Code of the function itself, if it says so: baseline code, or, with
 * --interpreted-frames-native-stack, a copy of the interpreter's entry.
 */
static void write_own(struct text_writer *text, const uint32_t *o)
{
	op(text, BF_OP_ADDI, CODE, DATA, 0, 0);
	write_type(text, o, DATA);
	text_if(text, R8, BF_EQ, o[TYPE_INTERPRETER_DATA], LABEL_COPY);
	text_if(text, R8, BF_NE, o[TYPE_CODE], LABEL_OPTIMIZED);
	write_within(text, o, DATA, LABEL_NOT_BASELINE);
	op(text, BF_OP_ADDI, SHARED, SHARED, 0, V8_AS_BASELINE);
	op(text, BF_OP_EMIT, SHARED, OFFSET, IDENTITY, V8_BASELINE);
	text_jump(text, LABEL_CALLER);
	text_label(text, LABEL_NOT_BASELINE);
	try_words(text, SMALL, DATA, 1, (int32_t)o[CODE_DEOPTIMIZATION] - 1);
	text_load(text, CODE, 8, SMALL_AT(0));
	write_type(text, o, CODE);
	text_if(text, R8, BF_NE, o[TYPE_INTERPRETER_DATA], LABEL_OPTIMIZED);
	text_label(text, LABEL_COPY);
	try_words(text, SMALL, CODE, 1, V8_INTERPRETER_COPY - 1);
	text_load(text, CODE, 8, SMALL_AT(0));
	write_within(text, o, CODE, LABEL_OPTIMIZED);
	text_jump(text, LABEL_INTERPRETED);
}

/* The frame has where in its bytecode the function is; a leaf's is in a register. */
static void write_interpreted(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_INTERPRETED);
	text_if(text, EXACT, BF_NE, 0, LABEL_SOMEWHERE);
	text_load(text, OFFSET, 4, FRAME_AT(V8_FRAME_OFFSET) + 4);
	op(text, BF_OP_ADDI, OFFSET, OFFSET, 0, 1 - (int32_t)o[BYTECODE_DATA]);
	text_label(text, LABEL_SOMEWHERE);
	op(text, BF_OP_EMIT, SHARED, OFFSET, IDENTITY, V8_INTERPRETED);
	text_jump(text, LABEL_CALLER);
}

/*
 * A call in code that is found by its address: R7 = hash of the bytes before it. A leaf may be
 * anywhere, also where its own frame is not there: what is certain is the frame's function.
 */
static void write_optimized(struct text_writer *text)
{
	text_label(text, LABEL_OPTIMIZED);
	text_if(text, EXACT, BF_NE, 0, LABEL_FUNCTION);
	try_words(text, SMALL, PC, 1, -V8_CODE_BYTES);
	text_load(text, R7, 8, SMALL_AT(0));
	op(text, BF_OP_SHR, R8, R7, 0, 29);
	op(text, BF_OP_XOR, R7, R7, R8, 0);
	op(text, BF_OP_MULI, R7, R7, 0, V8_SPREAD);
	op(text, BF_OP_EMIT, PC, R7, IDENTITY, V8_OPTIMIZED);
	text_jump(text, LABEL_CALLER);
}

uint32_t v8_hash_code(uint64_t bytes)
{
	return (uint32_t)((bytes ^ bytes >> 29) * V8_SPREAD);
}

int v8_write(const struct runtime_facts *facts, struct bf_text *ret)
{
	const uint32_t *o = facts->offsets;
	struct text_writer text;

	text_begin(&text, ret);
	write_edges(&text);
	write_function(&text, o);
	write_identity(&text, o);
	write_built_in(&text, o);
	write_own(&text, o);
	write_optimized(&text);
	write_interpreted(&text, o);
	text_label(&text, LABEL_FUNCTION);
	op(&text, BF_OP_ADDI, SHARED, SHARED, 0, V8_AS_FUNCTION);
	op(&text, BF_OP_EMIT, SHARED, OFFSET, IDENTITY, V8_FUNCTION);
	text_label(&text, LABEL_CALLER);
	text_load(&text, R9, 8, FRAME_AT(0));
	text_load(&text, R8, 8, FRAME_AT(8));
	op(&text, BF_OP_ADDI, R7, FP, 0, 16);
	op(&text, BF_OP_CALLER, R8, R7, R9, 0);
	text_label(&text, LABEL_END);
	op(&text, BF_OP_END, 0, 0, 0, 0);
	return text_end(&text);
}

const struct runtime runtime_v8 = {
	.name = "V8",
	.language = "javascript",
	.moves_objects = true,
	.examine = examine,
	.is_sound = v8_is_sound,
	.write_range = v8_write,
	.describe = v8_describe,
	.line = v8_line,
};
