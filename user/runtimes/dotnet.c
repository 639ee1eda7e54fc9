/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .NET's frames. A map of all code leads from an address to the section that it lies in. Such a one
 * is a heap of methods that were compiled at run time, whose starts are in a table of its own, or a
 * file with methods that were compiled ahead of time (ReadyToRun), which has a sorted list of them.
 * Either way a function leads to its unwind information, which is that of 64-bit Windows: so no
 * frame pointer is needed, and handlers of exceptions (funclets), which are functions of their own,
 * have their callers. A leaf may be at its function's end, which that does not describe: it is
 * known by its instructions.
 *
 * Code of no section, such as write barriers, has no frame: the word on top of the stack must be
 * where a call in a method returns to.
 *
 * A frame is the start of its function, and a check: what identifies the method; of code that may
 * be freed, also what identifies its assembly, or the name that it was given at run time.
 */
#include "runtimes/dotnet.h"

#include "runtimes/text.h"

#define PC    BF_REGISTER_WALK_PC
#define SP    BF_REGISTER_WALK_SP
#define FP    BF_REGISTER_WALK_FP
#define EXACT BF_REGISTER_WALK_EXACT

#define EXACT_LEAF  1
#define MOST_PUSHED 24 /* bytes, by a stub */
#define EXACT_STUB  2  /* a leaf that is no method's: is its caller? */

/*
 * LOW … HIGH: the section that was found last. A heap has STARTS and their BASE; a file has
 * N functions in STARTS. These stay for the next frames.
 */
enum { LOW, HIGH, STARTS, BASE, N, FLAGS, R6, R7, R8, R9, R10, R15 = 15 };

/* Words of the window: for all kinds of things; the head of unwind information. */
#define HEAD	   12
#define HEAD_AT(n) (8 * HEAD + (n))

/* Unwind information (Microsoft: x64 exception handling), and CoreCLR's addition. */
#define UNWIND_PROLOG 1 /* bytes of the head */
#define UNWIND_CODES  2
#define UNWIND_FRAME  3
#define UNWIND_HEAD   4
#define CODE_BITS     15
#define REGISTER_BP   5
enum {
	PUSH,
	ALLOCATE_LARGE,
	ALLOCATE,
	SET_FRAME,
	SAVE,
	SAVE_FAR,
	SAVE_X = 8,
	SAVE_X_FAR,
	SET_FRAME_LARGE = 11
};

/* x86-64's instructions. */
#define RETURN	       0xc3
#define POP	       0x58 /* of 8 registers */
#define POP_HIGH       0x5841
#define POP_MASK       0xf8
#define POP_HIGH_MASK  0xf8ff
#define CALL	       0xe8 /* 5 bytes */
#define CALL_BY	       0xff /* 2, 3 or 6 bytes */
#define CODE_PUSH      0x50
#define CODE_PUSH_HIGH 0x5041
#define CODE_LEA_BP    0x6c8d48 /* lea N(%rsp),%rbp */
#define CODE_LEA_BP_32 0xac8d48
#define CODE_MOVE_BP   0xec8b48
#define CODE_SUB_8     0xec8348 /* sub $N,%rsp */
#define CODE_SUB_32    0xec8148
#define JUMP_BY	       0x25ff
#define JUMP_TO_AX     0xe0ff
#define WIDE	       0x48

#define STEPS_AT_ONCE 4
_Static_assert(DOTNET_FUNCTION_BITS % STEPS_AT_ONCE == 0, "no half of one");

enum label {
	LABEL_FRAME,
	LABEL_FIND,
	LABEL_FRAGMENT,
	LABEL_HEAP,
	LABEL_READY,
	LABEL_INSIDE,
	LABEL_UNIT,
	LABEL_PIECE,
	LABEL_NEXT_PIECE,
	LABEL_POINTER,
	LABEL_START,
	LABEL_FUNCLET,
	LABEL_FUNCTION,
	LABEL_NAME,
	LABEL_STAYS,
	LABEL_EMIT,
	LABEL_COMPILED,
	LABEL_UNWIND,
	LABEL_POP,
	LABEL_POP_HIGH,
	LABEL_POPPED,
	LABEL_JUMPED,
	LABEL_ENDS,
	LABEL_STEPS,
	LABEL_FAST,
	LABEL_CHAIN,
	LABEL_BODY,
	LABEL_CODE,
	LABEL_NOT_YET, /* what this code says was not done yet */
	LABEL_SMALL,
	LABEL_LARGE,
	LABEL_VERY_LARGE,
	LABEL_FRAMED,
	LABEL_FRAMED_LARGE,
	LABEL_SIZE,
	LABEL_ONE,
	LABEL_TWO,
	LABEL_THREE,
	LABEL_STUCK,
	LABEL_UNREAD,
	LABEL_PUSH,
	LABEL_PUSHED,
	LABEL_PUSHED_HIGH,
	LABEL_COUNTED,
	LABEL_CALLER,
	LABEL_NONE,
	LABEL_CALLED,
	LABEL_PUSHED_BY_STUB,
	LABEL_END,
	N_LABELS,
};
_Static_assert((int)N_LABELS <= TEXT_LABELS, "all have room");

/* R10 = the address that is looked for. */
static void write_frame(struct text_writer *text)
{
	text_label(text, LABEL_FRAME);
	text_op(text, BF_OP_SET, R8, 0, 0, 1);
	text_op(text, BF_OP_IF, EXACT, BF_EQ, 1, 0);
	text_op(text, BF_OP_SET, R8, 0, 0, 0);
	text_op(text, BF_OP_SUB, R8, PC, R8, 0);
	text_if_register(text, R8, BF_LT, LOW, LABEL_FIND);
	text_op(text, BF_OP_IFR, R8, BF_GE, 1, HIGH);
	text_jump(text, LABEL_INSIDE);
}

/* R6 = the section of R8. */
static void write_find(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_FIND);
	text_op(text, BF_OP_SET, HIGH, 0, 0, 0);
	text_op(text, BF_OP_PARAMETER, R6, 0, 0, 0);
	text_op(text, BF_OP_ADDI, R6, R6, 0, o[DOTNET_MAP]);
	if (o[DOTNET_MAP_IS_POINTER])
		text_try(text, R6, R6, 0);
	for (int level = DOTNET_LEVELS - 1; level >= 0; level--) {
		text_op(text, BF_OP_SHR, R7, R8, 0,
			DOTNET_CHUNK_BITS + DOTNET_LEVEL_BITS * level - 3);
		text_op(text, BF_OP_ANDI, R7, R7, 0, 255 << 3);
		text_op(text, BF_OP_ANDI, R6, R6, 0, -2);
		text_op(text, BF_OP_ADD, R6, R6, R7, 0);
		text_try(text, R6, R6, 0);
		text_op(text, BF_OP_IF, R6, BF_NE, 1, 0);
		text_jump(text, LABEL_NONE);
	}
	text_label(text, LABEL_FRAGMENT);
	text_op(text, BF_OP_ANDI, R6, R6, 0, -2);
	text_op(text, BF_OP_IF, R6, BF_NE, 1, 0);
	text_jump(text, LABEL_NONE);
	text_op(text, BF_OP_TRY, 0, R6, 3, 0);
	text_load(text, R6, 8, o[FRAGMENT_NEXT]);
	text_load(text, R7, 8, o[FRAGMENT_BEGIN]);
	text_if_register(text, R8, BF_LT, R7, LABEL_FRAGMENT);
	text_load(text, R7, 8, o[FRAGMENT_END]);
	text_if_register(text, R8, BF_GE, R7, LABEL_FRAGMENT);
	text_load(text, R6, 8, o[FRAGMENT_SECTION]);
}

/* Makes it the one that was found last. */
static void write_section(struct text_writer *text, const uint32_t *o)
{
	text_op(text, BF_OP_TRY, 0, R6, 7, 0);
	text_load(text, FLAGS, 4, o[SECTION_FLAGS]);
	text_op(text, BF_OP_IF, FLAGS, BF_NONE, 1, DOTNET_STUBS);
	text_jump(text, LABEL_NONE);
	text_load(text, LOW, 8, o[SECTION_BEGIN]);
	text_load(text, R9, 8, o[SECTION_END]);
	text_load(text, R6, 8, o[SECTION_MODULE]);
	text_load(text, R7, 8, o[SECTION_HEAP]);
	text_op(text, BF_OP_SET, N, 0, 0, 0);
	text_if(text, R6, BF_EQ, 0, LABEL_HEAP);
	text_try(text, R6, R6, o[MODULE_COMPILED]);
	text_try(text, R6, R6, o[COMPILED_WHOLE]);
	text_op(text, BF_OP_TRY, 0, R6, 1, o[COMPILED_FUNCTIONS]);
	text_load(text, STARTS, 8, 0);
	text_load(text, N, 4, o[COMPILED_N] - o[COMPILED_FUNCTIONS]);
	text_op(text, BF_OP_IF, N, BF_NE, 1, 0);
	text_jump(text, LABEL_NONE);
	text_jump(text, LABEL_READY);
	text_label(text, LABEL_HEAP);
	text_op(text, BF_OP_TRY, 0, R7, 7, 0);
	text_load(text, BASE, 8, o[HEAP_BASE]);
	text_load(text, STARTS, 8, o[HEAP_STARTS]);
	text_op(text, BF_OP_IF, STARTS, BF_NE, 1, 0);
	text_jump(text, LABEL_NONE);
	text_label(text, LABEL_READY);
	text_op(text, BF_OP_ADDI, HIGH, R9, 0, 0);
	text_op(text, BF_OP_IF, EXACT, BF_EQ, 1, EXACT_STUB);
	text_jump(text, LABEL_INSIDE);
	text_try(text, R6, R15, 0);
	text_op(text, BF_OP_ADDI, R7, R15, 0, 8);
	text_op(text, BF_OP_CALLER, R6, R7, FP, 0);
	text_jump(text, LABEL_FRAME);
}

/*
 * R7 = the start of the method that R8 is in. For each unit of code there is a number of 32 bits:
 * eight times where in a piece a method starts, the first piece's highest; or where the method
 * starts that goes through all of it. Before version 10 those in the middle of a method are 0.
 */
static void write_start(struct text_writer *text)
{
	text_label(text, LABEL_INSIDE);
	text_op(text, BF_OP_IF, N, BF_EQ, 1, 0);
	text_jump(text, LABEL_COMPILED);
	text_op(text, BF_OP_SUB, R6, R8, BASE, 0);
	text_op(text, BF_OP_SHR, R15, R6, 0, 8);
	text_op(text, BF_OP_SHL, R15, R15, 0, 2);
	text_op(text, BF_OP_ADD, R15, R15, STARTS, 0);
	text_op(text, BF_OP_TRY, 0, R15, 0, 0);
	text_load(text, R9, 4, 0);
	text_op(text, BF_OP_ANDI, R7, R9, 0, 15);
	text_if(text, R7, BF_GE, DOTNET_FIRST_POINTER, LABEL_POINTER);
	for (int bit = 0; bit < 3; bit++) { /* later pieces are not of interest */
		text_op(text, BF_OP_IF, R6, BF_ANY, 1, DOTNET_BUCKET_BYTES << bit);
		text_op(text, BF_OP_SHR, R9, R9, 0, 4 << bit);
	}
	text_op(text, BF_OP_ANDI, R10, R6, 0, -DOTNET_BUCKET_BYTES);
	text_label(text, LABEL_PIECE);
	text_if(text, R9, BF_EQ, 0, LABEL_UNIT);
	text_op(text, BF_OP_ANDI, R7, R9, 0, 15);
	text_op(text, BF_OP_SHR, R9, R9, 0, 4);
	text_if(text, R7, BF_EQ, 0, LABEL_NEXT_PIECE);
	text_op(text, BF_OP_SHL, R7, R7, 0, 2);
	text_op(text, BF_OP_ADD, R7, R7, R10, 0);
	text_op(text, BF_OP_ADDI, R7, R7, 0, -4);
	text_if_register(text, R6, BF_GE, R7, LABEL_START);
	text_label(text, LABEL_NEXT_PIECE);
	text_op(text, BF_OP_ADDI, R10, R10, 0, -DOTNET_BUCKET_BYTES);
	text_jump(text, LABEL_PIECE);
	text_label(text, LABEL_UNIT);
	text_op(text, BF_OP_ADDI, R15, R15, 0, -4);
	text_op(text, BF_OP_IFR, R15, BF_GE, 1, STARTS);
	text_jump(text, LABEL_NONE);
	text_op(text, BF_OP_SUB, R10, R15, STARTS, 0);
	text_op(text, BF_OP_SHL, R10, R10, 0, 6);
	text_op(text, BF_OP_ADDI, R10, R10, 0, DOTNET_UNIT_BYTES - DOTNET_BUCKET_BYTES);
	text_op(text, BF_OP_SUB, R7, R6, R10, 0);
	text_op(text, BF_OP_IF, R7, BF_LT, 1, DOTNET_FAR_START);
	text_jump(text, LABEL_NONE);
	text_op(text, BF_OP_TRY, 0, R15, 0, 0);
	text_load(text, R9, 4, 0);
	text_op(text, BF_OP_ANDI, R7, R9, 0, 15);
	text_if(text, R7, BF_LT, DOTNET_FIRST_POINTER, LABEL_PIECE);
	text_label(text, LABEL_POINTER);
	text_op(text, BF_OP_ADDI, R7, R7, 0, -DOTNET_FIRST_POINTER);
	text_op(text, BF_OP_SHL, R7, R7, 0, 2);
	text_op(text, BF_OP_ANDI, R9, R9, 0, -16);
	text_op(text, BF_OP_ADD, R7, R7, R9, 0);
	text_label(text, LABEL_START);
	text_op(text, BF_OP_ADD, R7, R7, BASE, 0);
}

/* R6 = the method, R8 = distance from its function's begin, R10 = unwind information of that. */
static void write_header(struct text_writer *text, const uint32_t *o)
{
	const uint32_t n = o[HEADER_N] - o[HEADER_METHOD];
	const uint32_t first = o[HEADER_FUNCTIONS] - o[HEADER_METHOD];

	text_try(text, R9, R7, -8);
	text_op(text, BF_OP_IF, R9, BF_GE, 1, DOTNET_MOST_STUB + 1);
	text_jump(text, LABEL_NONE);
	text_op(text, BF_OP_TRY, 0, R9, 3, o[HEADER_METHOD]);
	text_op(text, BF_OP_SUB, R8, R8, LOW, 0);
	text_load(text, R6, 8, 0);
	text_load(text, R15, 4, first + 4);
	text_load(text, R10, 4, first + 8);
	text_op(text, BF_OP_IFR, R8, BF_GE, 2, R15);
	text_load(text, R15, 4, first);
	text_jump(text, LABEL_FUNCTION);
	text_load(text, R15, 4, n);
	text_op(text, BF_OP_ADDI, R9, R9, 0, o[HEADER_FUNCTIONS]);
	text_label(text, LABEL_FUNCLET);
	text_op(text, BF_OP_IF, R15, BF_GE, 1, 2);
	text_jump(text, LABEL_NONE);
	text_op(text, BF_OP_ADDI, R15, R15, 0, -1);
	text_op(text, BF_OP_ADDI, R9, R9, 0, DOTNET_FUNCTION_SIZE);
	text_op(text, BF_OP_TRY, 0, R9, 1, 0);
	text_load(text, R10, 4, 4);
	text_if_register(text, R8, BF_GE, R10, LABEL_FUNCLET);
	text_load(text, R10, 4, 8);
	text_load(text, R15, 4, 0);
	text_label(text, LABEL_FUNCTION);
	text_op(text, BF_OP_IFR, R8, BF_GE, 1, R15); /* between two */
	text_jump(text, LABEL_NONE);
	text_op(text, BF_OP_SUB, R8, R8, R15, 0);
	text_op(text, BF_OP_ADD, R10, R10, LOW, 0);
}

/* R15 = check. Puts the frame out. */
static void write_check(struct text_writer *text, const uint32_t *o)
{
	text_op(text, BF_OP_TRY, 0, R6, 0, 0);
	text_load(text, R15, 2, o[METHOD_TOKEN]);
	text_op(text, BF_OP_ANDI, R15, R15, 0, (1 << DOTNET_TOKEN_BITS) - 1);
	text_load(text, R9, 2, o[METHOD_SLOT]);
	text_op(text, BF_OP_MULI, R9, R9, 0, (int32_t)DOTNET_SPREAD_2);
	text_op(text, BF_OP_XOR, R15, R15, R9, 0);
	text_op(text, BF_OP_SHR, R9, R6, 0, 3);
	text_op(text, BF_OP_MULI, R9, R9, 0, (int32_t)DOTNET_SPREAD);
	text_op(text, BF_OP_XOR, R15, R15, R9, 0);
	text_if(text, FLAGS, BF_NONE, DOTNET_COLLECTIBLE, LABEL_EMIT);
	text_load(text, R9, 2, o[METHOD_FLAGS]);
	text_op(text, BF_OP_ANDI, R9, R9, 0, DOTNET_KIND_BITS);
	text_if(text, R9, BF_NE, DOTNET_KIND_DYNAMIC, LABEL_STAYS);
	text_try(text, R6, R6, o[METHOD_NAME]);
	text_op(text, BF_OP_ADDI, FLAGS, R6, 0, DOTNET_MOST_NAME);
	text_label(text, LABEL_NAME);
	text_op(text, BF_OP_TRY, 0, R6, 0, 0);
	text_load(text, R9, 1, 0);
	text_op(text, BF_OP_ADD, R15, R15, R9, 0);
	text_op(text, BF_OP_MULI, R15, R15, 0, (int32_t)DOTNET_SPREAD);
	text_op(text, BF_OP_ADDI, R6, R6, 0, 1);
	text_op(text, BF_OP_IFR, R6, BF_GE, 1, FLAGS);
	text_if(text, R9, BF_NE, 0, LABEL_NAME);
	text_op(text, BF_OP_SET, FLAGS, 0, 0, DOTNET_COLLECTIBLE);
	text_jump(text, LABEL_EMIT);
	/* A method of an assembly that may go: when that was built, or its hash. */
	text_label(text, LABEL_STAYS);
	text_load(text, R9, 1, o[METHOD_INDEX]);
	text_op(text, BF_OP_SHL, R9, R9, 0, 3);
	text_op(text, BF_OP_SUB, R9, R6, R9, 0);
	text_try(text, R9, R9, (int32_t)o[CHUNK_TYPE] - (int32_t)o[CHUNK_SIZE]);
	text_try(text, R9, R9, o[TYPE_MODULE]);
	text_try(text, R9, R9, o[MODULE_BASE]);
	text_op(text, BF_OP_TRY, 0, R9, 0, 0x3c); /* PE: e_lfanew */
	text_load(text, R6, 4, 0);
	text_op(text, BF_OP_ADD, R9, R9, R6, 0);
	text_op(text, BF_OP_TRY, 0, R9, 0, 8); /* TimeDateStamp */
	text_load(text, R9, 4, 0);
	text_op(text, BF_OP_MULI, R9, R9, 0, (int32_t)DOTNET_SPREAD);
	text_op(text, BF_OP_XOR, R15, R15, R9, 0);
	text_label(text, LABEL_EMIT);
	text_op(text, BF_OP_SET, R9, 0, 0, 0);
	text_op(text, BF_OP_EMIT, R7, R9, R15, DOTNET_COMPILED);
	text_jump(text, LABEL_UNWIND);
}

/*
 * The same of what was compiled ahead of time: R6 = the last function that begins at or before R8,
 * found by steps that are halved.
 */
static void write_compiled(struct text_writer *text)
{
	text_label(text, LABEL_COMPILED);
	text_op(text, BF_OP_SUB, R8, R8, LOW, 0);
	text_op(text, BF_OP_MULI, R7, N, 0, DOTNET_FUNCTION_SIZE);
	text_op(text, BF_OP_ADD, R7, R7, STARTS, 0);
	text_op(text, BF_OP_ADDI, R6, STARTS, 0, 0);
	text_op(text, BF_OP_SET, R10, 0, 0, DOTNET_FUNCTION_SIZE << (DOTNET_FUNCTION_BITS - 1));
	text_label(text, LABEL_STEPS);
	for (int i = 0; i < STEPS_AT_ONCE; i++) {
		text_op(text, BF_OP_ADD, R9, R6, R10, 0);
		text_op(text, BF_OP_SHR, R10, R10, 0, 1);
		text_op(text, BF_OP_IFR, R9, BF_GE, 4, R7);
		text_op(text, BF_OP_READ, 0, R9, 0, 0);
		text_load(text, R15, 4, 0);
		text_op(text, BF_OP_IFR, R8, BF_LT, 1, R15);
		text_op(text, BF_OP_ADDI, R6, R9, 0, 0);
	}
	text_if(text, R10, BF_GE, DOTNET_FUNCTION_SIZE, LABEL_STEPS);
	text_op(text, BF_OP_READ, 0, R6, 1, 0);
	text_load(text, R7, 4, 0);
	text_load(text, R15, 4, 4);
	text_load(text, R10, 4, 8);
	text_op(text, BF_OP_IFR, R8, BF_GE, 1, R7);
	text_jump(text, LABEL_NONE);
	text_op(text, BF_OP_IFR, R8, BF_LT, 1, R15);
	text_jump(text, LABEL_NONE);
	text_op(text, BF_OP_SUB, R8, R8, R7, 0);
	text_op(text, BF_OP_ADD, R7, R7, LOW, 0);
	text_op(text, BF_OP_ADD, R10, R10, LOW, 0);
	text_op(text, BF_OP_SHR, R15, STARTS, 0, 2);
	text_op(text, BF_OP_SET, R9, 0, 0, 0);
	text_op(text, BF_OP_EMIT, R7, R9, R15, DOTNET_READY);
}

/*
 * At a function's end: registers are popped, then it returns or jumps to what it calls last.
 * R6 = where the return address is, R15 = the caller's frame pointer.
 */
static void write_epilog(struct text_writer *text)
{
	text_label(text, LABEL_UNWIND);
	text_op(text, BF_OP_TRY, HEAD, R10, 0, 0);
	text_op(text, BF_OP_ADDI, R6, SP, 0, 0);
	text_op(text, BF_OP_ADDI, R15, FP, 0, 0);
	text_op(text, BF_OP_IF, EXACT, BF_NE, 1, 0);
	text_jump(text, LABEL_FAST);
	text_op(text, BF_OP_ADDI, R9, R7, 0, 0);
	text_op(text, BF_OP_ADDI, R7, PC, 0, 0);
	text_op(text, BF_OP_ADDI, PC, R9, 0, 0); /* its start */
	text_label(text, LABEL_POP);
	text_op(text, BF_OP_TRY, 0, R7, 0, 0);
	text_load(text, R9, 1, 0);
	text_if(text, R9, BF_EQ, RETURN, LABEL_ENDS);
	text_op(text, BF_OP_ANDI, R9, R9, 0, POP_MASK);
	text_if(text, R9, BF_EQ, POP, LABEL_POPPED);
	text_load(text, R9, 2, 0);
	text_op(text, BF_OP_ANDI, R9, R9, 0, POP_HIGH_MASK);
	text_if(text, R9, BF_EQ, POP_HIGH, LABEL_POP_HIGH);
	text_op(text, BF_OP_TRY, 1, R7, 0, -8); /* a jump, after a register was popped */
	text_load(text, R9, 1, 15);
	text_op(text, BF_OP_ANDI, R9, R9, 0, POP_MASK);
	text_op(text, BF_OP_IF, R9, BF_EQ, 1, POP);
	text_jump(text, LABEL_JUMPED);
	text_load(text, R9, 4, 0);
	text_op(text, BF_OP_ANDI, R9, R9, 0, 0xffffff);
	text_if(text, R9, BF_EQ, JUMP_TO_AX << 8 | WIDE, LABEL_ENDS);
	text_op(text, BF_OP_ANDI, R9, R9, 0, 0xffff);
	text_if(text, R9, BF_EQ, JUMP_BY, LABEL_ENDS);
	text_if(text, R9, BF_EQ, JUMP_TO_AX, LABEL_ENDS);
	text_label(text, LABEL_JUMPED);
	text_op(text, BF_OP_ADDI, R6, SP, 0, 0); /* not an end */
	text_op(text, BF_OP_ADDI, R15, FP, 0, 0);
	text_op(text, BF_OP_ADDI, R7, PC, 0, 0);
	text_jump(text, LABEL_BODY);
	text_label(text, LABEL_POPPED);
	text_load(text, R9, 1, 0);
	text_op(text, BF_OP_IF, R9, BF_NE, 2, POP | REGISTER_BP);
	text_try(text, R15, R6, 0);
	text_op(text, BF_OP_ADDI, R7, R7, 0, -1);
	text_label(text, LABEL_POP_HIGH);
	text_op(text, BF_OP_ADDI, R7, R7, 0, 2);
	text_op(text, BF_OP_ADDI, R6, R6, 0, 8);
	text_jump(text, LABEL_POP);
	text_label(text, LABEL_ENDS);
	text_jump(text, LABEL_CALLER);
}

/*
 * Most functions that call others begin with `push %rbp` and, once they have pushed all registers
 * and made room, have rbp point there.
 */
static void write_fast(struct text_writer *text)
{
	text_label(text, LABEL_FAST);
	text_load(text, R9, 1, HEAD_AT(UNWIND_FRAME));
	text_if(text, R9, BF_NE, 0, LABEL_BODY);
	text_if_register(text, FP, BF_LT, SP, LABEL_BODY);
	text_op(text, BF_OP_SUB, R8, PC, R8, 0);
	text_op(text, BF_OP_TRY, 0, R8, 0, -1); /* PC is one more than what was looked for */
	text_load(text, R9, 1, 0);
	text_if(text, R9, BF_NE, CODE_PUSH | REGISTER_BP, LABEL_BODY);
	text_load(text, R9, 1, HEAD_AT(UNWIND_PROLOG));
	text_op(text, BF_OP_ADD, R8, R8, R9, 0);
	text_op(text, BF_OP_TRY, 0, R8, 0, -1);
	text_load(text, R9, 4, 0);
	text_op(text, BF_OP_ANDI, R9, R9, 0, 0xffffff);
	text_if(text, R9, BF_EQ, CODE_LEA_BP, LABEL_CHAIN);
	text_if(text, R9, BF_EQ, CODE_LEA_BP_32, LABEL_CHAIN);
	text_if(text, R9, BF_NE, CODE_MOVE_BP, LABEL_BODY);
	text_label(text, LABEL_CHAIN);
	text_op(text, BF_OP_TRY, 0, FP, 1, 0);
	text_load(text, PC, 8, 8);
	text_load(text, R9, 8, 0);
	text_op(text, BF_OP_ADDI, R6, FP, 0, 16);
	text_op(text, BF_OP_CALLER, PC, R6, R9, 0);
	text_jump(text, LABEL_FRAME);
}

/* The codes say what the function's first instructions did, the last one first. */
static void write_codes(struct text_writer *text)
{
	text_label(text, LABEL_BODY);
	text_op(text, BF_OP_IF, EXACT, BF_NE, 1, 0);
	text_op(text, BF_OP_SET, R8, 0, 0, INT32_MAX);
	text_load(text, R9, 1, HEAD_AT(0));
	text_op(text, BF_OP_IF, R9, BF_NE, 1, 0); /* not in memory: nobody has needed it yet */
	text_jump(text, LABEL_UNREAD);
	text_load(text, R7, 1, HEAD_AT(UNWIND_CODES));
	text_op(text, BF_OP_ADDI, R10, R10, 0, UNWIND_HEAD);
	text_label(text, LABEL_CODE);
	text_op(text, BF_OP_IF, R7, BF_NE, 1, 0);
	text_jump(text, LABEL_CALLER);
	text_op(text, BF_OP_IF, R7, BF_LT, 1, 256); /* less than none */
	text_jump(text, LABEL_END);
	text_op(text, BF_OP_TRY, 0, R10, 0, 0);
	text_load(text, R9, 1, 0);
	text_if_register(text, R8, BF_LT, R9, LABEL_NOT_YET);
	text_load(text, PC, 1, 1); /* which is not needed any more */
	text_op(text, BF_OP_ANDI, R9, PC, 0, CODE_BITS);
	text_op(text, BF_OP_SHR, PC, PC, 0, 4);
	text_if(text, R9, BF_EQ, ALLOCATE, LABEL_SMALL);
	text_if(text, R9, BF_EQ, ALLOCATE_LARGE, LABEL_LARGE);
	text_if(text, R9, BF_EQ, SET_FRAME, LABEL_FRAMED);
	text_if(text, R9, BF_EQ, SET_FRAME_LARGE, LABEL_FRAMED_LARGE);
	text_if(text, R9, BF_NE, PUSH, LABEL_SIZE);
	text_op(text, BF_OP_IF, PC, BF_NE, 2, REGISTER_BP);
	text_try(text, R15, R6, 0);
	text_op(text, BF_OP_ADDI, R6, R6, 0, 8);
	text_jump(text, LABEL_ONE);
	text_label(text, LABEL_SMALL);
	text_op(text, BF_OP_SHL, PC, PC, 0, 3);
	text_op(text, BF_OP_ADD, R6, R6, PC, 0);
	text_op(text, BF_OP_ADDI, R6, R6, 0, 8);
	text_jump(text, LABEL_ONE);
	text_label(text, LABEL_LARGE);
	text_load(text, R9, 2, 2);
	text_if(text, PC, BF_NE, 0, LABEL_VERY_LARGE);
	text_op(text, BF_OP_SHL, R9, R9, 0, 3);
	text_op(text, BF_OP_ADD, R6, R6, R9, 0);
	text_jump(text, LABEL_TWO);
	text_label(text, LABEL_VERY_LARGE);
	text_op(text, BF_OP_ADD, R6, R6, R9, 0);
	text_load(text, R9, 2, 4);
	text_op(text, BF_OP_SHL, R9, R9, 0, 16);
	text_op(text, BF_OP_ADD, R6, R6, R9, 0);
	text_jump(text, LABEL_THREE);
	text_label(text, LABEL_FRAMED);
	text_load(text, R9, 1, HEAD_AT(UNWIND_FRAME));
	text_op(text, BF_OP_ANDI, R9, R9, 0, 0xf0);
	text_op(text, BF_OP_SUB, R6, FP, R9, 0);
	text_jump(text, LABEL_ONE);
	text_label(text, LABEL_FRAMED_LARGE);
	text_load(text, R9, 2, 2);
	text_op(text, BF_OP_SHL, R9, R9, 0, 4);
	text_op(text, BF_OP_SUB, R6, FP, R9, 0);
	text_jump(text, LABEL_THREE);
}

/* The next code: some take more room. */
static void write_sizes(struct text_writer *text)
{
	text_label(text, LABEL_NOT_YET);
	text_load(text, R9, 1, 1);
	text_op(text, BF_OP_SHR, PC, R9, 0, 4);
	text_op(text, BF_OP_ANDI, R9, R9, 0, CODE_BITS);
	text_if(text, R9, BF_NE, ALLOCATE_LARGE, LABEL_SIZE);
	text_if(text, PC, BF_EQ, 0, LABEL_TWO);
	text_jump(text, LABEL_THREE);
	text_label(text, LABEL_SIZE);
	text_if(text, R9, BF_EQ, SAVE, LABEL_TWO);
	text_if(text, R9, BF_EQ, SAVE_X, LABEL_TWO);
	text_if(text, R9, BF_EQ, SAVE_FAR, LABEL_THREE);
	text_if(text, R9, BF_EQ, SAVE_X_FAR, LABEL_THREE);
	text_if(text, R9, BF_EQ, SET_FRAME_LARGE, LABEL_THREE);
	text_if(text, R9, BF_LT, SAVE, LABEL_ONE);
	text_jump(text, LABEL_STUCK);
	text_label(text, LABEL_THREE);
	text_op(text, BF_OP_ADDI, R10, R10, 0, 2);
	text_op(text, BF_OP_ADDI, R7, R7, 0, -1);
	text_label(text, LABEL_TWO);
	text_op(text, BF_OP_ADDI, R10, R10, 0, 2);
	text_op(text, BF_OP_ADDI, R7, R7, 0, -1);
	text_label(text, LABEL_ONE);
	text_op(text, BF_OP_ADDI, R10, R10, 0, 2);
	text_op(text, BF_OP_ADDI, R7, R7, 0, -1);
	text_jump(text, LABEL_CODE);
	text_label(text, LABEL_STUCK);
	text_op(text, BF_OP_SET, R6, 0, 0, 0);
	text_op(text, BF_OP_CALLER, R6, R6, R6, 0);
}

/*
 * Unwind information is part of a file, of which only those pages are in memory that somebody has
 * read. The function at R7 has run: its instructions are there, and the first ones say the same.
 */
static void write_prolog(struct text_writer *text)
{
	text_label(text, LABEL_UNREAD);
	text_op(text, BF_OP_SET, R10, 0, 0, 0);
	text_label(text, LABEL_PUSH);
	text_op(text, BF_OP_TRY, 0, R7, 0, 0);
	text_load(text, R9, 1, 0);
	text_op(text, BF_OP_ANDI, R9, R9, 0, POP_MASK);
	text_if(text, R9, BF_EQ, CODE_PUSH, LABEL_PUSHED);
	text_load(text, R9, 2, 0);
	text_op(text, BF_OP_ANDI, R9, R9, 0, POP_HIGH_MASK);
	text_if(text, R9, BF_EQ, CODE_PUSH_HIGH, LABEL_PUSHED_HIGH);
	text_load(text, R9, 4, 0);
	text_op(text, BF_OP_ANDI, R9, R9, 0, 0xffffff);
	text_op(text, BF_OP_IF, R9, BF_NE, 2, CODE_SUB_8);
	text_load(text, R9, 1, 3);
	text_op(text, BF_OP_ADD, R6, R6, R9, 0);
	text_load(text, R9, 4, 0);
	text_op(text, BF_OP_ANDI, R9, R9, 0, 0xffffff);
	text_if(text, R9, BF_NE, CODE_SUB_32, LABEL_COUNTED);
	text_load(text, R9, 2, 4);
	text_op(text, BF_OP_SHL, R9, R9, 0, 8);
	text_op(text, BF_OP_ADD, R6, R6, R9, 0);
	text_load(text, R9, 1, 3);
	text_op(text, BF_OP_ADD, R6, R6, R9, 0);
	text_jump(text, LABEL_COUNTED);
	text_label(text, LABEL_PUSHED);
	text_load(text, R9, 1, 0);
	text_op(text, BF_OP_IF, R9, BF_NE, 1, CODE_PUSH | REGISTER_BP);
	text_op(text, BF_OP_ADDI, R10, R6, 0, 8);
	text_op(text, BF_OP_ADDI, R7, R7, 0, -1);
	text_label(text, LABEL_PUSHED_HIGH);
	text_op(text, BF_OP_ADDI, R7, R7, 0, 2);
	text_op(text, BF_OP_ADDI, R6, R6, 0, 8);
	text_jump(text, LABEL_PUSH);
	text_label(text, LABEL_COUNTED);
	text_if(text, R10, BF_EQ, 0, LABEL_CALLER);
	text_op(text, BF_OP_SUB, R9, R6, R10, 0);
	text_op(text, BF_OP_ADD, R9, R9, SP, 0);
	text_try(text, R15, R9, 0);
}

static void write_caller(struct text_writer *text)
{
	text_label(text, LABEL_CALLER);
	text_try(text, PC, R6, 0);
	text_op(text, BF_OP_ADDI, R6, R6, 0, 8);
	text_op(text, BF_OP_CALLER, PC, R6, R15, 0);
	text_jump(text, LABEL_FRAME);
}

/* No method. A leaf that a call has just led to has its caller on top of the stack, or below what
 * it has pushed. */
static void write_none(struct text_writer *text)
{
	text_label(text, LABEL_NONE);
	text_op(text, BF_OP_SET, HIGH, 0, 0, 0);
	text_if(text, EXACT, BF_NE, EXACT_LEAF, LABEL_END);
	text_op(text, BF_OP_ADDI, R15, SP, 0, 0);
	text_label(text, LABEL_PUSHED_BY_STUB);
	text_try(text, R6, R15, 0);
	text_op(text, BF_OP_TRY, 0, R6, 0, -8);
	text_load(text, R7, 1, 8 - 5);
	text_if(text, R7, BF_EQ, CALL, LABEL_CALLED);
	for (int bytes = 2; bytes <= 6; bytes += bytes == 3 ? 3 : 1) {
		text_load(text, R7, 1, 8 - bytes);
		text_if(text, R7, BF_EQ, CALL_BY, LABEL_CALLED);
	}
	text_op(text, BF_OP_ADDI, R15, R15, 0, 8);
	text_op(text, BF_OP_SUB, R7, R15, SP, 0);
	text_if(text, R7, BF_LT, MOST_PUSHED, LABEL_PUSHED_BY_STUB);
	text_label(text, LABEL_END);
	text_op(text, BF_OP_END, 0, 0, 0, 0);
	text_label(text, LABEL_CALLED);
	text_op(text, BF_OP_SET, EXACT, 0, 0, EXACT_STUB);
	text_op(text, BF_OP_ADDI, R8, R6, 0, -1);
	text_jump(text, LABEL_FIND);
}

static int dotnet_write(const struct runtime_facts *facts, struct bf_text *ret)
{
	const uint32_t *o = facts->offsets;
	struct text_writer text;

	text_begin(&text, ret);
	write_frame(&text);
	write_find(&text, o);
	write_section(&text, o);
	write_start(&text);
	write_header(&text, o);
	write_check(&text, o);
	write_compiled(&text);
	write_epilog(&text);
	write_fast(&text);
	write_codes(&text);
	write_sizes(&text);
	write_prolog(&text);
	write_caller(&text);
	write_none(&text);
	return text_end(&text);
}

const struct runtime runtime_dotnet = {
	.name = ".NET",
	.language = "dotnet",
	.examine = dotnet_examine,
	.is_sound = dotnet_is_sound,
	.write_range = dotnet_write,
	.describe = dotnet_describe,
};
