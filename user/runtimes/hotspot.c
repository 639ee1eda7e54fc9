/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HotSpot's frames. Generated code lies in up to three heaps; a map of their segments leads from an
 * address to the blob that it belongs to, and that says how large its frames are. So no frame
 * pointer is needed, but at a method's ends, where a leaf is known by its instructions.
 *
 * The interpreter is one blob, whose frames have a layout of their own, by the frame pointer. Those
 * of virtual threads may be elsewhere: hotspot_chunks.c.
 */
#include "runtimes/hotspot.h"

#include "runtimes/elf_find.h"
#include "runtimes/hotspot_text.h"

static int examine(struct elf_file *elf, struct runtime_facts *ret)
{
	int r = hotspot_find_offsets(elf, ret);

	ret->code_shift = elf_find_code_shift(elf);
	return r;
}

/* Reads where the heaps are; those that there are not are empty. */
static void write_heaps(struct text_writer *text, const uint32_t *o)
{
	op(text, BF_OP_SET, MODE, 0, 0, MODE_STACK);
	op(text, BF_OP_PARAMETER, R0, 0, 0, 0);
	read_words(text, SMALL, R0, 1, o[CACHE_HEAPS]);
	text_load(text, R1, 8, SMALL_AT(0));
	text_if(text, R1, BF_EQ, 0, LABEL_NO_HEAP); /* not begun yet */
	read_words(text, SMALL, R1, 1, o[ARRAY_LENGTH]);
	text_load(text, R2, 4, SMALL_AT(0));
	read_words(text, SMALL, R1, 1, o[ARRAY_DATA]);
	text_load(text, R3, 8, SMALL_AT(0));
	for (int i = 0; i < HEAPS; i++) {
		op(text, BF_OP_SET, R4, 0, 0, 0);
		op(text, BF_OP_IF, R2, BF_LT, 2, i + 1);
		read_words(text, SMALL, R3, 1, 8 * i);
		text_load(text, R4, 8, SMALL_AT(0));
		try_words(text, HEAP_SLOT(i), R4, 2, o[HEAP_MEMORY] + o[SPACE_LOW]);
		try_words(text, HEAP_SLOT(i) + 2, R4, 1, o[HEAP_MAP] + o[SPACE_LOW]);
		if (i == 0) {
			try_words(text, SMALL, R4, 1, o[HEAP_SHIFT]);
			text_load(text, R5, 4, SMALL_AT(0));
			text_if(text, R5, BF_NE, SEGMENT_SHIFT, LABEL_NO_HEAP);
		}
	}
	text_jump(text, LABEL_FRAME);
	text_label(text, LABEL_NO_HEAP);
	op(text, BF_OP_END, 0, 0, 0, 0);
}

/* The next frame is looked at: in a chunk, if there is one. */
static void write_frame(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_FRAME);
	if (!hotspot_has_chunks(o))
		return;
	text_if(text, MODE, BF_LT, MODE_CHUNKS, LABEL_LOOK_UP);
	text_load(text, R0, 4, 8 * CHUNK_BOTTOM_SLOT + (o[CHUNK_BOTTOM] & 7));
	op(text, BF_OP_SHL, R0, R0, 0, 3);
	op(text, BF_OP_ADD, R0, R0, IN_CHUNK, 0);
	op(text, BF_OP_ADDI, R0, R0, 0, o[CHUNK_STACK]);
	text_if_register(text, SP, BF_LT, R0, LABEL_LOOK_UP);
	op(text, BF_OP_IFR, SP, BF_NE, 1, R0);
	text_jump(text, LABEL_NEXT_CHUNK);
	text_jump(text, LABEL_LOST);
}

/* R0 = the blob that pc lies in. */
static void write_blob(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_LOOK_UP);
	for (int i = 0; i < HEAPS; i++) {
		text_load(text, R0, 8, 8 * HEAP_SLOT(i));
		text_load(text, R1, 8, 8 * HEAP_SLOT(i) + 8);
		text_load(text, R2, 8, 8 * HEAP_SLOT(i) + 16);
		text_if_register(text, PC, BF_LT, R0, LABEL_HEAP + i);
		text_if_register(text, PC, BF_LT, R1, LABEL_FOUND);
		text_label(text, LABEL_HEAP + i);
	}
	text_label(text, LABEL_NOT_OURS);
	op(text, BF_OP_IF, MODE, BF_LT, 1, MODE_CHUNKS);
	text_jump(text, LABEL_LOST);
	op(text, BF_OP_END, 0, 0, 0, 0);
	text_label(text, LABEL_FOUND);
	op(text, BF_OP_SUB, R3, PC, R0, 0);
	op(text, BF_OP_SHR, R3, R3, 0, SEGMENT_SHIFT);
	text_label(text, LABEL_SEGMENT);
	op(text, BF_OP_ADD, R4, R2, R3, 0);
	read_words(text, SMALL, R4, 1, 0);
	text_load(text, R5, 1, SMALL_AT(0));
	text_if(text, R5, BF_EQ, 0, LABEL_BLOB);
	op(text, BF_OP_SUB, R3, R3, R5, 0);
	text_if(text, R5, BF_EQ, 255, LABEL_NOT_OURS); /* free */
	text_jump(text, LABEL_SEGMENT);
	text_label(text, LABEL_BLOB);
	op(text, BF_OP_SHL, R3, R3, 0, SEGMENT_SHIFT);
	op(text, BF_OP_ADD, R0, R0, R3, 0);
	op(text, BF_OP_ADDI, R0, R0, 0, o[BLOCK_SIZE]);
}

static uint32_t blob_words(const uint32_t *o)
{
	const enum hotspot_offset parts[] = {BLOB_NAME, BLOB_FRAME_SIZE, BLOB_COMPLETE, BLOB_CODE,
					     BLOB_CODE_OFFSET};
	uint32_t words = 1;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		words = o[parts[i]] / 8 + 1 > words ? o[parts[i]] / 8 + 1 : words;
	return words;
}

/*
 * R1 = its name, R2 = the first letters of that, R4 = the bytes of its frames, R5 = where they are
 * complete, R6 = offset of pc in its code.
 */
static void write_kind(struct text_writer *text, const uint32_t *o)
{
	read_words(text, LARGE, R0, blob_words(o), 0);
	text_load(text, R1, 8, LARGE_AT(o[BLOB_NAME]));
	text_load(text, R4, 4, LARGE_AT(o[BLOB_FRAME_SIZE]));
	op(text, BF_OP_SHL, R4, R4, 0, 3);
	text_load(text, R5, 2, LARGE_AT(o[BLOB_COMPLETE]));
	if (o[BLOB_CODE]) {
		text_load(text, R3, 8, LARGE_AT(o[BLOB_CODE]));
	} else {
		text_load(text, R3, 4, LARGE_AT(o[BLOB_CODE_OFFSET]));
		op(text, BF_OP_ADD, R3, R3, R0, 0);
	}
	op(text, BF_OP_SUB, R6, PC, R3, 0);
	read_words(text, SMALL, R1, 1, 0);
	text_load(text, R2, 4, SMALL_AT(0));
	text_if(text, R2, BF_EQ, NAME_COMPILED, LABEL_COMPILED);
	op(text, BF_OP_IF, R2, BF_NE, 1, NAME_INTERPRETER);
	text_jump(text, LABEL_INTERPRETED);
	op(text, BF_OP_IF, R2, BF_NE, 4, NAME_NATIVE);
	op(text, BF_OP_IF, R4, BF_NE, 2, PAUSE_BYTES);
	try_words(text, PAUSE_SLOT, SP, 1, PAUSE_BYTES - 8);
	op(text, BF_OP_SET, MODE, 0, 0, MODE_PAUSE);
	text_jump(text, LABEL_COMPILED);
}
/* R7, R8 = the bytes of code at pc and before it. */
static void write_instructions(struct text_writer *text)
{
	read_words(text, SMALL, PC, 2, -8);
	text_load(text, R7, 1, SMALL_AT(8));
	text_load(text, R8, 1, SMALL_AT(7));
}

static void write_stub(struct text_writer *text)
{
	text_label(text, LABEL_STUB);
	op(text, BF_OP_SET, R6, 0, 0, 0);
	op(text, BF_OP_EMIT, R0, R6, R1, HOTSPOT_STUB);
	text_if(text, R2, BF_EQ, NAME_VTABLE, LABEL_ENTERED);
	text_if(text, EXACT, BF_EQ, 0, LABEL_BY_SIZE_OR_POINTER);
	write_instructions(text);
	text_if(text, R7, BF_EQ, CODE_RETURN, LABEL_ENTERED);
	text_if(text, R7, BF_EQ, CODE_PUSH_FP, LABEL_ENTERED);
	text_if(text, R8, BF_EQ, CODE_PUSH_FP, LABEL_PUSHED);
	op(text, BF_OP_SUB, R9, FP, SP, 0);
	op(text, BF_OP_IF, R4, BF_NE, 1, 0);
	text_jump(text, LABEL_STUB_LEAF);
	text_if(text, R7, BF_EQ, CODE_POP_FP, LABEL_PUSHED);
	text_if(text, R7, BF_EQ, CODE_POP_DX, LABEL_ENTERED);
	text_if(text, R8, BF_EQ, CODE_PUSH_DX, LABEL_ENTERED);
	op(text, BF_OP_IF, R7, BF_EQ, 1, CODE_PUSH_DX);
	op(text, BF_OP_IF, R8, BF_NE, 1, CODE_POP_DX);
	text_jump(text, LABEL_JUMPED);
	text_if_register(text, R9, BF_LT, R4, LABEL_BY_POINTER); /* it is being made or left */
	text_jump(text, LABEL_LEAF);
	text_label(text, LABEL_BY_SIZE_OR_POINTER);
	text_if(text, R4, BF_EQ, 0, LABEL_BY_POINTER);
	text_label(text, LABEL_BY_SIZE);
	op(text, BF_OP_ADD, R7, SP, R4, 0);
	read_words(text, SMALL, R7, 2, -16);
	text_load(text, R8, 8, SMALL_AT(8));
	text_load(text, R9, 8, SMALL_AT(0));
	in_chunks(text, 1);
	op(text, BF_OP_ADDI, R9, R7, 0, -16); /* where the link is */
	caller(text, R9);
}

/* Jumps if @address, which is not R0 or R1, lies in one of the first @heaps heaps. */
static void if_generated(struct text_writer *text, uint8_t address, int heaps, enum label label)
{
	for (int i = 0; i < heaps; i++) {
		text_load(text, R0, 8, 8 * HEAP_SLOT(i));
		text_load(text, R1, 8, 8 * HEAP_SLOT(i) + 8);
		op(text, BF_OP_IFR, address, BF_LT, 1, R0);
		text_if_register(text, address, BF_LT, R1, label);
	}
}

/* A leaf that has its return address in rdx only: that was popped, and is below the stack still. */
static void write_jumped(struct text_writer *text)
{
	text_label(text, LABEL_JUMPED);
	read_words(text, SMALL, SP, 1, -8);
	text_load(text, R8, 8, SMALL_AT(0));
	if_generated(text, R8, METHOD_HEAPS, LABEL_JUMPED_FROM);
	text_jump(text, LABEL_LOST);
	text_label(text, LABEL_JUMPED_FROM);
	op(text, BF_OP_ADDI, PC, R8, 0, 0);
	op(text, BF_OP_SET, EXACT, 0, 0, 0);
	text_jump(text, LABEL_FRAME);
}

/*
 * A leaf in a stub without a known size; R9 = how far above is what its frame pointer points at.
 * Some make no frame: the first return address to a method is theirs, above what they have
 * pushed. Those that need all registers (SHA-512) keep where their frame is: a word that leads up
 * to a link and such an address.
 */
static void write_stub_leaf(struct text_writer *text)
{
	text_label(text, LABEL_STUB_LEAF);
	text_if(text, R9, BF_LT, MOST_STUB_BYTES, LABEL_BY_POINTER);
	op(text, BF_OP_ADDI, R7, SP, 0, 0);
	op(text, BF_OP_SET, R6, 0, 0, 0);
	text_label(text, LABEL_STUB_WORD);
	read_words(text, SMALL, R7, 1, 0);
	text_load(text, R8, 8, SMALL_AT(0));
	text_if(text, R6, BF_GE, MOST_PUSHED, LABEL_STUB_LINK);
	if_generated(text, R8, METHOD_HEAPS, LABEL_STUB_ADDRESS);
	text_label(text, LABEL_STUB_LINK);
	op(text, BF_OP_SUB, R2, R8, R7, 0);
	text_if(text, R2, BF_GE, MOST_STUB_BYTES, LABEL_NO_STUB_LINK);
	try_words(text, SMALL, R8, 2, 0);
	text_load(text, R9, 8, SMALL_AT(8));
	if_generated(text, R9, METHOD_HEAPS, LABEL_STUB_LINKED);
	text_label(text, LABEL_NO_STUB_LINK);
	op(text, BF_OP_ADDI, R7, R7, 0, 8);
	op(text, BF_OP_ADDI, R6, R6, 0, 1);
	text_if(text, R6, BF_LT, MOST_STUB_WORDS, LABEL_STUB_WORD);
	text_jump(text, LABEL_BY_POINTER);
	text_label(text, LABEL_STUB_ADDRESS);
	op(text, BF_OP_ADDI, R7, R7, 0, 8);
	caller(text, FP);
	text_label(text, LABEL_STUB_LINKED);
	op(text, BF_OP_ADDI, R7, R8, 0, 16);
	op(text, BF_OP_ADDI, R8, R9, 0, 0);
	text_load(text, R9, 8, SMALL_AT(0));
	caller(text, R9);
}

/* Jumps if @code is what begins @before bytes before pc. */
static void if_code(struct text_writer *text, uint32_t before, int32_t code, enum label label)
{
	text_load(text, R9, 8, SMALL_AT(before ? 0 : 8));
	if (before && before < 8)
		op(text, BF_OP_SHR, R9, R9, 0, (int32_t)(8 * (8 - before)));
	op(text, BF_OP_ANDI, R9, R9, 0, 0xffffff);
	text_if(text, R9, BF_EQ, code, label);
}

/* The frame is made, but not all that follows that is done; or there is the frame pointer only. */
static void write_begun(struct text_writer *text)
{
	if_code(text, 0, CODE_MOVE_FP, LABEL_BY_SIZE);
	text_if(text, R9, BF_EQ, CODE_ADD_FP_8, LABEL_BY_SIZE);
	text_if(text, R9, BF_EQ, CODE_ADD_FP_32, LABEL_BY_SIZE);
	text_if(text, R9, BF_EQ, CODE_ASK_32, LABEL_BY_SIZE);
	text_if(text, R9, BF_EQ, CODE_ASK_8, LABEL_BY_SIZE);
	if_code(text, 3, CODE_MOVE_FP, LABEL_PUSHED);
	if_code(text, 4, CODE_SUB_8, LABEL_BY_SIZE);
	text_if(text, R9, BF_EQ, CODE_ADD_FP_8, LABEL_BY_SIZE);
	if_code(text, 5, CODE_ASK_8, LABEL_BY_SIZE);
	text_if(text, R9, BF_EQ, CODE_STORE_FP_8, LABEL_BY_SIZE);
	if_code(text, 7, CODE_SUB_32, LABEL_BY_SIZE);
	text_if(text, R9, BF_EQ, CODE_ADD_FP_32, LABEL_BY_SIZE);
	if_code(text, 8, CODE_ASK_32, LABEL_BY_SIZE);
	text_if(text, R9, BF_EQ, CODE_STORE_FP_32, LABEL_BY_SIZE);
}

static void write_compiled(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_COMPILED);
	read_words(text, SMALL, R0, 1, o[COMPILED_ID] & ~7u);
	text_load(text, R7, 4, SMALL_AT(o[COMPILED_ID] & 7));
	op(text, BF_OP_MULI, R7, R7, 0, HOTSPOT_SPREAD);
	read_words(text, SMALL, R0, 1, o[COMPILED_METHOD]);
	text_load(text, R8, 8, SMALL_AT(0));
	op(text, BF_OP_SHR, R8, R8, 0, 3);
	op(text, BF_OP_XOR, R7, R7, R8, 0);
	text_if(text, EXACT, BF_NE, 0, LABEL_COMPILED_LEAF);
	op(text, BF_OP_EMIT, R0, R6, R7, HOTSPOT_COMPILED);
	text_jump(text, LABEL_BY_SIZE);
	text_label(text, LABEL_COMPILED_LEAF);
	op(text, BF_OP_EMIT, R0, R6, R7, HOTSPOT_COMPILED_LEAF);
	write_instructions(text);
	text_load(text, R9, 2, SMALL_AT(8));
	text_if_register(text, R6, BF_GE, R5, LABEL_WHOLE);
	text_if(text, R8, BF_EQ, CODE_PUSH_FP, LABEL_PUSHED);
	write_begun(text);
	text_jump(text, LABEL_ENTERED);
	text_label(text, LABEL_WHOLE);
	text_if(text, R7, BF_EQ, CODE_RETURN, LABEL_ENTERED);
	text_if(text, R7, BF_EQ, CODE_POP_FP, LABEL_PUSHED);
	text_if(text, R9, BF_EQ, CODE_POLL, LABEL_POLL);
	text_if(text, R9, BF_NE, CODE_ABOVE, LABEL_LEAF);
	text_load(text, R7, 1, SMALL_AT(14));
	text_if(text, R7, BF_EQ, CODE_RETURN, LABEL_ENTERED);
	text_jump(text, LABEL_LEAF);
	text_label(text, LABEL_POLL);
	text_if(text, R8, BF_NE, CODE_POP_FP, LABEL_LEAF);
}

/* How a frame that is no whole one is left. */
static void write_ends(struct text_writer *text)
{
	text_label(text, LABEL_ENTERED); /* only the return address is there */
	read_words(text, SMALL, SP, 1, 0);
	text_load(text, R8, 8, SMALL_AT(0));
	op(text, BF_OP_ADDI, R7, SP, 0, 8);
	caller(text, FP);
	text_label(text, LABEL_PUSHED); /* and the frame pointer */
	read_words(text, SMALL, SP, 2, 0);
	text_load(text, R9, 8, SMALL_AT(0));
	text_load(text, R8, 8, SMALL_AT(8));
	op(text, BF_OP_ADDI, R7, SP, 0, 16);
	caller(text, R9);
	text_label(text, LABEL_BY_POINTER);
	read_words(text, SMALL, FP, 2, 0);
	text_load(text, R8, 8, SMALL_AT(8));
	text_load(text, R9, 8, SMALL_AT(0));
	op(text, BF_OP_ADDI, R7, FP, 0, 16);
	op(text, BF_OP_IF, R8, BF_NE, 3, NO_ADDRESS);
	read_words(text, SMALL, FP, 1, 16);
	text_load(text, R8, 8, SMALL_AT(0));
	op(text, BF_OP_ADDI, R7, FP, 0, 24);
	caller(text, R9);
}

/*
 * A whole frame of a leaf. What compares and searches strings pushes words on top of it: the first
 * return address that leads to generated code is the frame's.
 */
static void write_leaf(struct text_writer *text)
{
	text_label(text, LABEL_LEAF);
	op(text, BF_OP_ADD, R7, SP, R4, 0);
	op(text, BF_OP_SET, R6, 0, 0, MOST_PUSHED + 1);
	text_label(text, LABEL_LEAF_WORD);
	read_words(text, SMALL, R7, 2, -16);
	text_load(text, R8, 8, SMALL_AT(8));
	text_load(text, R9, 8, SMALL_AT(0));
	if_generated(text, R8, HEAPS, LABEL_LEAF_FOUND);
	op(text, BF_OP_ADDI, R7, R7, 0, 8);
	op(text, BF_OP_ADDI, R6, R6, 0, -1);
	text_if(text, R6, BF_NE, 0, LABEL_LEAF_WORD);
	text_jump(text, LABEL_BY_SIZE);
	text_label(text, LABEL_LEAF_FOUND);
	caller(text, R9);
}

/* R2 = what an object at the same address would not have: chance, by the names of class and method.
 * R3: where the name is; R4: ConstMethod; R6: ConstantPool. */
static void write_check(struct text_writer *text, const uint32_t *o)
{
	op(text, BF_OP_SHR, R2, R4, 0, 3);
	try_words(text, SMALL, R6, 1, o[POOL_CLASS]);
	text_load(text, R1, 8, SMALL_AT(0));
	try_words(text, SMALL, R1, 1, o[CLASS_NAME]);
	text_load(text, R1, 8, SMALL_AT(0));
	op(text, BF_OP_SHR, R4, R1, 0, 3);
	op(text, BF_OP_XOR, R2, R2, R4, 0);
	try_words(text, SMALL, R1, 1, o[SYMBOL_HASH]);
	text_load(text, R4, 2, SMALL_AT(2));
	op(text, BF_OP_SHL, R4, R4, 0, 16);
	op(text, BF_OP_XOR, R2, R2, R4, 0);
	op(text, BF_OP_SHL, R3, R3, 0, 3);
	op(text, BF_OP_ADD, R3, R3, R6, 0);
	try_words(text, SMALL, R3, 1, o[POOL_SIZE]);
	text_load(text, R3, 8, SMALL_AT(0));
	op(text, BF_OP_MULI, R4, R3, 0, HOTSPOT_SPREAD);
	op(text, BF_OP_XOR, R2, R2, R4, 0);
	op(text, BF_OP_ANDI, R3, R3, 0, ~1);
	try_words(text, SMALL, R3, 1, o[SYMBOL_HASH]);
	text_load(text, R4, 2, SMALL_AT(2));
	op(text, BF_OP_XOR, R2, R2, R4, 0);
}

static void write_interpreted(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_INTERPRETED);
	in_chunks(text, 4);
	read_words(text, SMALL, FP, 1, 0);
	text_load(text, R7, 8, SMALL_AT(0));
	op(text, BF_OP_SHL, R7, R7, 0, 3);
	op(text, BF_OP_ADD, FP, FP, R7, 0);
	read_words(text, LARGE, FP, 11, INTERPRETED_LOW);
	text_load(text, R7, 8, INTERPRETED_CALLER_SP);
	text_load(text, R9, 8, INTERPRETED_AT(0));
	text_load(text, R8, 8, INTERPRETED_AT(8));
	op(text, BF_OP_SUB, R2, FP, SP, 0);
	op(text, BF_OP_IF, EXACT, BF_EQ, 1, 0);
	text_if(text, R2, BF_LT, INTERPRETED_MADE, LABEL_NOT_MADE);
	text_load(text, R0, 8, INTERPRETED_METHOD);
	text_load(text, R5, 8, INTERPRETED_BYTECODE);
	try_words(text, SMALL, R0, 1, o[METHOD_CONST]);
	text_load(text, R4, 8, SMALL_AT(0));
	try_words(text, LARGE, R4, o[CONST_SIZE] / 8, 0);
	text_load(text, R6, 8, LARGE_AT(o[CONST_POOL]));
	text_load(text, R2, 2, LARGE_AT(o[CONST_CODE_SIZE]));
	text_load(text, R3, 2, LARGE_AT(o[CONST_NAME]));
	op(text, BF_OP_SUB, R5, R5, R4, 0);
	op(text, BF_OP_ADDI, R5, R5, 0, -(int32_t)o[CONST_SIZE]);
	text_if(text, EXACT, BF_EQ, 0, LABEL_IN_FRAME);
	op(text, BF_OP_SUB, R1, LEAF, R4, 0);
	op(text, BF_OP_ADDI, R1, R1, 0, -(int32_t)o[CONST_SIZE]);
	text_if_register(text, R1, BF_GE, R2, LABEL_IN_FRAME);
	op(text, BF_OP_ADDI, R5, R1, 0, 0);
	text_label(text, LABEL_IN_FRAME);
	text_if_register(text, R5, BF_LT, R2, LABEL_IN_CODE);
	op(text, BF_OP_SET, R5, 0, 0, -1); /* HOTSPOT_NO_BYTECODE: a native method */
	text_label(text, LABEL_IN_CODE);
	write_check(text, o);
	op(text, BF_OP_EMIT, R0, R5, R2, HOTSPOT_INTERPRETED);
	in_chunks(text, 3);
	op(text, BF_OP_SHL, R7, R7, 0, 3);
	op(text, BF_OP_ADD, R7, R7, FP, 0);
	op(text, BF_OP_ADDI, R9, FP, 0, 0);
	caller(text, R9);
	text_label(text, LABEL_NOT_MADE); /* a leaf that enters a method: which, the frame does not say yet */
	op(text, BF_OP_IF, R2, BF_GE, 1, 8);
	op(text, BF_OP_ADDI, R7, LEAF, 0, 0); /* and r13 is what it will have as the caller's sp */
	op(text, BF_OP_SET, R6, 0, 0, 0);
	op(text, BF_OP_EMIT, R0, R6, R1, HOTSPOT_STUB);
	caller(text, R9);
}

int hotspot_write(const struct runtime_facts *facts, struct bf_text *ret)
{
	const uint32_t *o = facts->offsets;
	struct text_writer text;

	text_begin(&text, ret);
	write_heaps(&text, o);
	write_frame(&text, o);
	write_blob(&text, o);
	write_kind(&text, o);
	hotspot_write_barriers(&text, o);
	write_stub(&text);
	write_compiled(&text, o);
	write_ends(&text);
	write_stub_leaf(&text);
	write_jumped(&text);
	write_leaf(&text);
	write_interpreted(&text, o);
	if (hotspot_has_chunks(o))
		hotspot_write_chunks(&text, o);
	return text_end(&text);
}

const struct runtime runtime_hotspot = {
	.name = "HotSpot",
	.language = "java",
	.examine = examine,
	.complete = hotspot_complete,
	.is_sound = hotspot_is_sound,
	.write_range = hotspot_write,
	.describe = hotspot_describe,
	.line = hotspot_line,
};
