/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of HotSpot's text have in common: what registers and words of the window are for,
 * how code is known, and what the parts call each other.
 */
#ifndef RUNTIMES_HOTSPOT_TEXT_H
#define RUNTIMES_HOTSPOT_TEXT_H

#include "runtimes/text.h"

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9 };
#define PC    BF_REGISTER_WALK_PC
#define SP    BF_REGISTER_WALK_SP
#define FP    BF_REGISTER_WALK_FP
#define EXACT BF_REGISTER_WALK_EXACT
#define LEAF  BF_REGISTER_WALK_LEAF
/* Where frames are: on the stack; there, below a pause that is being made; from here on in a chunk:
 * of the virtual thread whose entry lies at this address of the stack. */
#define MODE	    BF_REGISTER_WALK_BUILT_IN
#define MODE_STACK  0
#define MODE_PAUSE  1
#define MODE_CHUNKS 2
#define IN_CHUNK    BF_REGISTER_WALK_LEAF /* there are no leaves */

#define HEAPS	      3
#define METHOD_HEAPS  2 /* of these, the first: those with compiled methods */
#define MOST_PUSHED   8
#define SEGMENT_SHIFT 7
/* How far above its stack pointer a stub's frame can be, and how much of that is searched. */
#define MOST_STUB_BYTES 16384
#define MOST_STUB_WORDS 128

/* Words of the window: low, high and the map's low of each heap; two for all kinds of things; and
 * the last ones for structures. */
#define HEAP_SLOT(i) (4 * (i))
#define SMALL	     12
#define LARGE	     15
#define MOST_LARGE   16
#define SMALL_AT(at) (8 * SMALL + (at))
#define LARGE_AT(at) (8 * LARGE + (at))
/* Between the words of heaps: where a chunk's frames begin and end. */
#define CHUNK_SP_SLOT	  3
#define CHUNK_BOTTOM_SLOT 7
#define PAUSE_SLOT	  11 /* what a pause returns to */

/* The first letters of a blob's name. */
#define NAME_COMPILED	 0x74656d6e /* nmethod */
#define NAME_NATIVE	 0x6974616e /* native nmethod */
#define NAME_INTERPRETER 0x65746e49 /* Interpreter */
#define NAME_VTABLE	 0x62617476 /* vtable chunks */
#define NAME_STUBS	 0x62757453 /* StubRoutines (…) */
#define NAME_BARRIERS	 0x6e69746e /* … (continuation stubs) or (continuationstubs), … */
#define NAME_BARRIERS_AT 16	    /* … from here on */

/* x86-64's instructions at the ends of methods, as far as they are looked at. */
#define CODE_PUSH_FP 0x55
#define CODE_POP_FP  0x5d
#define CODE_PUSH_DX 0x52 /* what throws has its return address in rdx for a while */
#define CODE_POP_DX  0x5a
#define CODE_RETURN  0xc3
#define CODE_MOVE_FP 0xec8b48 /* mov %rsp,%rbp: if frame pointers are asked for */
#define CODE_SUB_8   0xec8348 /* sub $N,%rsp, N of one byte */
#define CODE_SUB_32  0xec8148 /* … of four */
#define CODE_ADD_FP_8  0xc58348 /* add $N,%rbp, N of one byte */
#define CODE_ADD_FP_32 0xc58148 /* … of four */
#define CODE_STORE_FP_8	 0x6c8948 /* mov %rbp,N(%rsp), N of one byte; nothing may follow it for a while */
#define CODE_STORE_FP_32 0xac8948 /* … of four */
#define CODE_ASK_8   0x7f8341 /* cmpl $N,N(%r15), N of one byte: whether a collector is asked, on top of the frame */
#define CODE_ASK_32  0x7f8141 /* … of four */
#define CODE_POLL    0x3b49   /* cmp N(%r15),%rsp: before a return */
#define CODE_ABOVE   0x870f   /* ja: what follows that */
#define CODE_BARRIER 0xa78b49 /* mov N(%r15),%rsp: nothing else is returned to that begins so */

/* Words of an interpreter's frame, from its frame pointer. */
#define INTERPRETED_LOW	      (-72)
#define INTERPRETED_AT(bytes) LARGE_AT((bytes)-INTERPRETED_LOW)
#define INTERPRETED_METHOD    INTERPRETED_AT(-24)
#define INTERPRETED_MADE      24 /* bytes: with less, what was there before is in the method's place */
#define INTERPRETED_BYTECODE  INTERPRETED_AT(-64)
#define INTERPRETED_CALLER_SP INTERPRETED_AT(-8)

/* What asks a collector when a method is entered has this below its return address. */
#define NO_ADDRESS (-1)

/* The frame that enters a virtual thread, up to what the frame pointer points at:
 * ContinuationEntry. */
#define ENTRY_BYTES	   64
#define ENTRY_CONTINUATION 16
/* What compiled code may have above its outermost frame: arguments that no register has. */
#define MOST_ARGUMENTS_BYTES 128
/* Frames of what a virtual thread calls to pause. No other has so small ones. */
#define PAUSE_BYTES 16

enum label {
	LABEL_FRAME,
	LABEL_LOOK_UP,
	LABEL_HEAP, /* HEAPS of them */
	LABEL_FOUND = LABEL_HEAP + HEAPS,
	LABEL_SEGMENT,
	LABEL_BLOB,
	LABEL_COMPILED,
	LABEL_COMPILED_LEAF,
	LABEL_WHOLE,
	LABEL_POLL,
	LABEL_LEAF,
	LABEL_LEAF_WORD,
	LABEL_LEAF_FOUND,
	LABEL_INTERPRETED,
	LABEL_IN_FRAME,
	LABEL_IN_CODE,
	LABEL_NOT_MADE,
	LABEL_BY_SIZE,
	LABEL_BY_POINTER,
	LABEL_BY_SIZE_OR_POINTER,
	LABEL_ENTERED,
	LABEL_PUSHED,
	LABEL_NO_HEAP,
	LABEL_STUB,
	LABEL_STUB_LEAF,
	LABEL_STUB_WORD,
	LABEL_STUB_ADDRESS,
	LABEL_STUB_LINK,
	LABEL_NO_STUB_LINK,
	LABEL_STUB_LINKED,
	LABEL_JUMPED,
	LABEL_JUMPED_FROM,
	LABEL_ENTRY,
	LABEL_NO_ENTRY,
	LABEL_CHUNK,
	LABEL_NEXT_CHUNK,
	LABEL_BARRIER,
	LABEL_THAW,
	LABEL_SEEK,
	LABEL_MOUNTED,
	LABEL_NOT_OURS,
	LABEL_LOST_IN_STUB,
	LABEL_LOST,
	N_LABELS,
};
_Static_assert(N_LABELS <= TEXT_LABELS, "all have room");

static inline void op(struct text_writer *text, enum bf_code code, uint8_t a, uint8_t b, uint8_t c,
		      int32_t value)
{
	text_op(text, code, a, b, c, value);
}

static inline void read_words(struct text_writer *text, uint8_t word, uint8_t base, uint32_t words,
			      int32_t offset)
{
	op(text, BF_OP_READ, word, base, words - 1, offset);
}

static inline void try_words(struct text_writer *text, uint8_t word, uint8_t base, uint32_t words,
			     int32_t offset)
{
	op(text, BF_OP_TRY, word, base, words - 1, offset);
}

/* The walk goes on in the caller: R8 is its pc, R7 its sp, R9 its fp. */
static inline void caller(struct text_writer *text, uint8_t fp)
{
	op(text, BF_OP_CALLER, R8, R7, fp, 0);
	text_jump(text, LABEL_FRAME);
}

/* Leaves out the next @n operations on the stack. */
static inline void in_chunks(struct text_writer *text, uint8_t n)
{
	op(text, BF_OP_IF, MODE, BF_LT, n, MODE_CHUNKS);
}

/* Looks for what virtual threads return to, before anything else is taken for a stub. */
void hotspot_write_barriers(struct text_writer *text, const uint32_t *o);
/* Walks the chunks that they lead to. */
void hotspot_write_chunks(struct text_writer *text, const uint32_t *o);

#endif
