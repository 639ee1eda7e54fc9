/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A virtual thread that has paused and goes on has its innermost frames on the stack only. The last
 * of them returns to a barrier, which gets more from where a pause moves them: chunks on the heap,
 * in which they lie as on a stack, but for links of the interpreter's, which are relative. The text
 * walks there, and comes back to the stack below the barrier, as if the frames had never left.
 */
#include "runtimes/hotspot.h"
#include "runtimes/hotspot_text.h"

#define LEAST_SHIFT 13 /* of references that have a colour */
#define MOST_SHIFT   16
#define NOWHERE	    1  /* no address of an object */

/* R4 in write_entry(): what is looked for; larger: the place that a pause returns to. */
#define SEEK_CHUNKS 1
#define SEEK_STACK  2

/*
 * What a virtual thread's frames return to, or what has called the function that brings them back. While
 * that runs, nobody knows which of them are where, but it was called by what has entered the thread.
 */
void hotspot_write_barriers(struct text_writer *text, const uint32_t *o)
{
	text_if(text, MODE, BF_GE, MODE_CHUNKS, LABEL_LOST);
	text_if(text, R2, BF_NE, NAME_STUBS, LABEL_STUB);
	read_words(text, SMALL, R1, 1, NAME_BARRIERS_AT);
	text_load(text, R7, 4, SMALL_AT(0));
	text_if(text, R7, BF_NE, NAME_BARRIERS, LABEL_STUB);
	if (hotspot_has_chunks(o)) {
		op(text, BF_OP_PARAMETER, R7, 0, 0, 1);
		text_if(text, R7, BF_NE, 0, LABEL_LOST_IN_STUB); /* chunks are others by now */
		read_words(text, SMALL, PC, 1, 0);
		text_load(text, R7, 4, SMALL_AT(0));
		op(text, BF_OP_ANDI, R7, R7, 0, 0xffffff);
		op(text, BF_OP_IF, R7, BF_NE, 1, CODE_BARRIER);
		text_jump(text, LABEL_BARRIER);
		text_if(text, MODE, BF_NE, MODE_STACK, LABEL_LOST_IN_STUB);
		op(text, BF_OP_IF, EXACT, BF_NE, 1, 0);
		text_jump(text, LABEL_THAW);
	}
	text_label(text, LABEL_LOST_IN_STUB);
	op(text, BF_OP_SET, R6, 0, 0, 0);
	op(text, BF_OP_EMIT, R0, R6, R1, HOTSPOT_STUB);
	text_label(text, LABEL_LOST); /* a caller that is not above it ends the walk */
	op(text, BF_OP_CALLER, PC, SP, FP, 0);
}

/* @to = the reference at @base + @offset, as objects have it; read by BF_OP_READ or BF_OP_TRY. */
static void load_reference(struct text_writer *text, const uint32_t *o, enum bf_code code, uint8_t to,
			   uint8_t base, uint32_t offset)
{
	op(text, code, SMALL, base, 0, offset & ~7u);
	text_load(text, to, o[REFERENCE_BYTES], SMALL_AT(offset & 7));
}

static void expand_compressed(struct text_writer *text, const uint32_t *o, uint8_t reference)
{
	op(text, BF_OP_PARAMETER, R0, 0, 0, 0);
	read_words(text, SMALL, R0, 1, o[OOPS_SHIFT]);
	text_load(text, R1, 4, SMALL_AT(0));
	read_words(text, SMALL, R0, 1, o[OOPS_BASE]);
	text_load(text, R2, 8, SMALL_AT(0));
	op(text, BF_OP_IF, R1, BF_EQ, 3, 0);
	op(text, BF_OP_ADD, reference, reference, reference, 0);
	op(text, BF_OP_ADDI, R1, R1, 0, -1);
	op(text, BF_OP_JUMP, 0, 0, 0, -4);
	op(text, BF_OP_ADD, reference, reference, R2, 0);
}

/* @to = the variable of ZGC's that @offset is of, among pointers that R0 leads to. */
static void load_z(struct text_writer *text, uint8_t to, uint32_t offset)
{
	read_words(text, SMALL, R0, 1, offset);
	text_load(text, to, 8, SMALL_AT(0));
	read_words(text, SMALL, to, 1, 0);
	text_load(text, to, 8, SMALL_AT(0));
}

/* R0 = where these pointers are. */
static void load_variables(struct text_writer *text, uint32_t variables)
{
	op(text, BF_OP_PARAMETER, R0, 0, 0, 0);
	read_words(text, SMALL, R0, 1, variables);
	text_load(text, R0, 8, SMALL_AT(0));
}

/* ZGC without generations has colours in addresses, which lead to the same memory with all of them. */
static void check_colour(struct text_writer *text, const uint32_t *o, uint8_t reference)
{
	load_variables(text, o[X_VARIABLES]);
	load_z(text, R2, o[X_BAD_COLOURS]);
	op(text, BF_OP_IFR, reference, BF_NONE, 1, R2);
	op(text, BF_OP_SET, reference, 0, 0, NOWHERE);
}

/*
 * ZGC with generations (zAddress.hpp) has addresses above bits of colour, whose number changes with its
 * phases; with other collectors it is 0. What has a bad colour may have moved: it leads nowhere.
 */
static void uncolour(struct text_writer *text, const uint32_t *o, uint8_t reference)
{
	load_variables(text, o[Z_VARIABLES]);
	load_z(text, R1, o[Z_SHIFT]);
	load_z(text, R2, o[Z_BAD_COLOURS]);
	op(text, BF_OP_IF, R1, BF_EQ, 12, 0);
	op(text, BF_OP_IF, reference, BF_GE, 2, 1 << MOST_SHIFT);
	op(text, BF_OP_SET, reference, 0, 0, 0);
	op(text, BF_OP_JUMP, 0, 0, 0, 9);
	op(text, BF_OP_IFR, reference, BF_NONE, 2, R2);
	op(text, BF_OP_SET, reference, 0, 0, NOWHERE);
	op(text, BF_OP_JUMP, 0, 0, 0, 6);
	op(text, BF_OP_SHR, reference, reference, 0, LEAST_SHIFT);
	op(text, BF_OP_ADDI, R1, R1, 0, -LEAST_SHIFT);
	op(text, BF_OP_IF, R1, BF_EQ, 3, 0);
	op(text, BF_OP_SHR, reference, reference, 0, 1);
	op(text, BF_OP_ADDI, R1, R1, 0, -1);
	op(text, BF_OP_JUMP, 0, 0, 0, -4);
}

/* Turns a reference into an address, with R0, R1 and R2. */
static void expand_reference(struct text_writer *text, const uint32_t *o, uint8_t reference)
{
	if (o[REFERENCE_BYTES] == 4) {
		expand_compressed(text, o, reference);
		return;
	}
	if (o[Z_VARIABLES])
		uncolour(text, o, reference);
	if (o[X_VARIABLES])
		check_colour(text, o, reference);
}

/* R5 = the continuation that the entry at MODE is of, R7 = that of the chunk R6, which becomes IN_CHUNK. */
static void load_continuations(struct text_writer *text, const uint32_t *o, enum bf_code code)
{
	op(text, BF_OP_ADDI, IN_CHUNK, R6, 0, 0);
	load_reference(text, o, code, R7, IN_CHUNK, o[CHUNK_CONTINUATION]);
	expand_reference(text, o, R7);
	op(text, code, SMALL, MODE, 0, ENTRY_CONTINUATION);
	text_load(text, R5, 8, SMALL_AT(0));
}

/*
 * MODE = the entry of the virtual thread, IN_CHUNK = its first chunk. Below interpreted frames, the frame
 * pointer leads to the entry; compiled code keeps anything in that register, but has only its arguments
 * above its frame. A chunk and its continuation lead to each other: what a collector is just moving does
 * not, nor does what is no entry. Of ZGC, the chunk's reference is often old, and then counts for nothing.
 */
static void write_entry(struct text_writer *text, const uint32_t *o)
{
	op(text, BF_OP_ADDI, MODE, FP, 0, -ENTRY_BYTES);
	op(text, BF_OP_ADDI, R9, SP, 0, 0);
	text_label(text, LABEL_ENTRY);
	try_words(text, SMALL, MODE, 1, ENTRY_CONTINUATION);
	text_load(text, R5, 8, SMALL_AT(0));
	text_if(text, R5, BF_EQ, 0, LABEL_NO_ENTRY);
	load_reference(text, o, BF_OP_TRY, R6, R5, o[CONTINUATION_TAIL]);
	expand_reference(text, o, R6);
	load_continuations(text, o, BF_OP_TRY);
	op(text, BF_OP_IF, R7, BF_EQ, 1, NOWHERE);
	text_if_register(text, R5, BF_NE, R7, LABEL_NO_ENTRY);
	text_if(text, R4, BF_EQ, SEEK_STACK, LABEL_MOUNTED);
	read_words(text, SMALL, IN_CHUNK, 1, o[CHUNK_PC]);
	text_load(text, R5, 8, SMALL_AT(0));
	text_if_register(text, R5, BF_NE, R4, LABEL_CHUNK);
	text_jump(text, LABEL_LOST);
	text_label(text, LABEL_NO_ENTRY);
	op(text, BF_OP_ADDI, MODE, R9, 0, 0);
	op(text, BF_OP_SUB, R8, R9, SP, 0);
	op(text, BF_OP_ADDI, R9, R9, 0, 8);
	text_if(text, R8, BF_LT, MOST_ARGUMENTS_BYTES, LABEL_ENTRY);
	text_jump(text, LABEL_LOST);
}

void hotspot_write_chunks(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_THAW);
	op(text, BF_OP_SET, R6, 0, 0, 0);
	op(text, BF_OP_EMIT, R0, R6, R1, HOTSPOT_STUB);
	op(text, BF_OP_SET, R4, 0, 0, SEEK_STACK);
	text_jump(text, LABEL_SEEK);
	text_label(text, LABEL_BARRIER);
	op(text, BF_OP_SET, R4, 0, 0, SEEK_CHUNKS);
	text_if(text, MODE, BF_EQ, MODE_STACK, LABEL_SEEK);
	text_load(text, R4, 8, 8 * PAUSE_SLOT);
	text_label(text, LABEL_SEEK);
	write_entry(text, o);
	text_label(text, LABEL_NEXT_CHUNK);
	load_reference(text, o, BF_OP_READ, R6, IN_CHUNK, o[CHUNK_PARENT]);
	text_if(text, R6, BF_EQ, 0, LABEL_MOUNTED);
	expand_reference(text, o, R6);
	text_if(text, R6, BF_EQ, 0, LABEL_MOUNTED); /* no reference has a colour, too */
	load_continuations(text, o, BF_OP_READ);
	op(text, BF_OP_IF, R7, BF_EQ, 2, NOWHERE);
	op(text, BF_OP_IFR, R5, BF_EQ, 1, R7);
	text_jump(text, LABEL_LOST);
	text_label(text, LABEL_CHUNK);
	read_words(text, CHUNK_SP_SLOT, IN_CHUNK, 1, o[CHUNK_SP] & ~7u);
	read_words(text, CHUNK_BOTTOM_SLOT, IN_CHUNK, 1, o[CHUNK_BOTTOM] & ~7u);
	text_load(text, R6, 4, 8 * CHUNK_SP_SLOT + (o[CHUNK_SP] & 7));
	op(text, BF_OP_SHL, R6, R6, 0, 3);
	op(text, BF_OP_ADD, SP, R6, IN_CHUNK, 0);
	op(text, BF_OP_ADDI, SP, SP, 0, o[CHUNK_STACK]);
	op(text, BF_OP_ADDI, FP, SP, 0, -16);
	read_words(text, SMALL, IN_CHUNK, 1, o[CHUNK_PC]);
	text_load(text, PC, 8, SMALL_AT(0));
	op(text, BF_OP_SET, EXACT, 0, 0, 0);
	text_jump(text, LABEL_FRAME);
	text_label(text, LABEL_MOUNTED); /* on the stack again, in what has entered the thread */
	op(text, BF_OP_ADDI, SP, MODE, 0, 0);
	op(text, BF_OP_SET, MODE, 0, 0, MODE_STACK);
	read_words(text, SMALL, SP, 2, ENTRY_BYTES);
	text_load(text, R8, 8, SMALL_AT(8));
	text_load(text, R9, 8, SMALL_AT(0));
	op(text, BF_OP_ADDI, R7, SP, 0, ENTRY_BYTES + 16);
	caller(text, R9);
}
