/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that PHP's JIT makes has no frames of its own: execute_ex() jumps to it, and it runs in the
 * frame that this function made when it began. So where a walk comes to such code, it goes on as if
 * execute_ex() had just been called: its return address is above that frame, whose size is in the
 * function's first instructions. That is how builds by gcc work; others, where generated code is
 * called, have another kind of interpreter (zend_vm_kind).
 *
 * Since 8.3 a frame pointer leads to the frame. Before, generated code is found to have moved the
 * stack pointer in two places: in its own subroutines, and where it leaves a trace, for all
 * registers. A frame is believed if the return address is in PHP's code, and follows a call of
 * execute_ex(), or one by a pointer, which zend_execute_ex is. In processes that were forked, as
 * those of php-fpm, that code may not be in memory: then the first half has to do.
 */
#include <errno.h>
#include <string.h>

#include "runtimes/elf_find.h"
#include "runtimes/php.h"
#include "runtimes/text.h"

/* --- the frame of execute_ex() --- */

#define BRANCH_TARGET "\xf3\x0f\x1e\xfa" /* endbr64, which a function may begin with */
#define TARGET_BYTES  4

static const uint8_t *after_target(const uint8_t *code)
{
	return code + (memcmp(code, BRANCH_TARGET, TARGET_BYTES) == 0 ? TARGET_BYTES : 0);
}

/* Whether generated code runs in its frame. */
static bool is_hybrid(const struct elf_file *elf, uint64_t kind)
{
	static const uint8_t returns_hybrid[] = {0xb8, 4, 0, 0, 0, 0xc3}; /* mov $4,%eax; ret */
	uint8_t code[TARGET_BYTES + sizeof returns_hybrid];

	return kind && elf_find_bytes(elf, kind, code, sizeof code) == 0 &&
	       memcmp(after_target(code), returns_hybrid, sizeof returns_hybrid) == 0;
}

static void find_text(const struct elf_file *elf, uint64_t loop, uint32_t *offsets)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (loop - segment->p_vaddr < segment->p_memsz &&
		    segment->p_vaddr + segment->p_memsz <= INT32_MAX) {
			offsets[PHP_TEXT] = segment->p_vaddr;
			offsets[PHP_TEXT_SIZE] = segment->p_memsz;
			return;
		}
	}
}

#define MOST_FIRST 64 /* bytes of a function until it has made its frame, and more */

void php_find_frame(const struct elf_file *elf, uint64_t loop, uint64_t kind, uint32_t *offsets)
{
	uint8_t code[MOST_FIRST];
	const uint8_t *at;
	uint32_t n_pushed = 0, saved = 0, size;

	if (!is_hybrid(elf, kind) || elf_find_bytes(elf, loop, code, sizeof code) < 0)
		return;
	find_text(elf, loop, offsets);
	at = after_target(code);
	for (;; n_pushed++) {
		saved = *at == 0x55 ? 8 * (n_pushed + 1) : saved; /* push %rbp */
		at += *at == 0x41;				  /* one of %r8 … %r15 */
		if (at >= code + sizeof code - 8 || (*at & 0xf8) != 0x50)
			break;
		at++;
	}
	offsets[PHP_SAVED] = saved;
	if (saved == 8 && n_pushed == 1 && memcmp(at, "\x48\x89\xe5", 3) == 0) { /* mov %rsp,%rbp */
		offsets[PHP_BY_FRAME_POINTER] = 1;
		offsets[PHP_FRAME] = 8;
	} else if (memcmp(at, "\x48\x83\xec", 3) == 0) { /* sub $N,%rsp */
		offsets[PHP_FRAME] = 8 * n_pushed + at[3];
	} else if (memcmp(at, "\x48\x81\xec", 3) == 0) {
		memcpy(&size, at + 3, sizeof size);
		offsets[PHP_FRAME] = 8 * n_pushed + size;
	}
}

#define MOST_FRAME 4096

bool php_has_sound_frame(const uint32_t *offsets)
{
	return offsets[PHP_FRAME] <= MOST_FRAME && offsets[PHP_FRAME] % 8 == 0 &&
	       offsets[PHP_BY_FRAME_POINTER] <= 1 && offsets[PHP_SAVED] <= MOST_FRAME &&
	       offsets[PHP_SAVED] % 8 == 0 && offsets[PHP_TEXT] <= INT32_MAX &&
	       offsets[PHP_TEXT_SIZE] <= INT32_MAX;
}

/* --- the text that leaves it --- */

#define PC    BF_REGISTER_WALK_PC
#define SP    BF_REGISTER_WALK_SP
#define FP    BF_REGISTER_WALK_FP
#define EXACT BF_REGISTER_WALK_EXACT

enum { BIAS, LOOP, MOVED, SLOT, RETURN, R5 };

enum label {
	LABEL_TRY,
	LABEL_BY_POINTER,
	LABEL_NO_CALL, /* … one for each length of a call */
	LABEL_NEXT = LABEL_NO_CALL + 3,
	LABEL_CALLED,
	LABEL_NOT_OURS,
};

#define CALL		0xe8
#define ADD_SP		0xc48148 /* add $N,%rsp: the end of what leaves a trace */
#define MOVED_IN_CALLED 16	 /* bytes, at most, in a subroutine */
#define MOVED_IN_EXIT	0x100	 /* where a trace is left */

/* To LABEL_CALLED if RETURN follows a call of the loop, or of what a pointer leads to. */
static void write_check(struct text_writer *text, const uint32_t *o)
{
	static const int lengths[] = {2, 3, 6}; /* of calls by a pointer */

	text_op(text, BF_OP_SUB, R5, RETURN, BIAS, 0);
	text_op(text, BF_OP_ADDI, R5, R5, 0, -(int32_t)o[PHP_TEXT]);
	text_if(text, R5, BF_GE, o[PHP_TEXT_SIZE], LABEL_NEXT);
	text_try(text, R5, RETURN, -8);
	text_if(text, R5, BF_EQ, 0, LABEL_CALLED);
	text_load(text, R5, 1, 8 - 5);
	text_if(text, R5, BF_NE, CALL, LABEL_BY_POINTER);
	text_load(text, R5, 4, 8 - 4);
	text_op(text, BF_OP_ADD, R5, RETURN, R5, 0);
	text_op(text, BF_OP_SUB, R5, R5, LOOP, 0);
	text_op(text, BF_OP_SHL, R5, R5, 0, 32);
	text_if(text, R5, BF_EQ, 0, LABEL_CALLED);
	text_label(text, LABEL_BY_POINTER);
	for (int i = 0; i < 3; i++) {
		text_load(text, R5, 1, 8 - lengths[i]);
		text_if(text, R5, BF_NE, 0xff, LABEL_NO_CALL + i);
		text_load(text, R5, 1, 8 - lengths[i] + 1);
		text_op(text, BF_OP_ANDI, R5, R5, 0, 0x38);
		text_if(text, R5, BF_EQ, 0x10, LABEL_CALLED);
		text_label(text, LABEL_NO_CALL + i);
	}
}

/* MOVED = how far the stack pointer is below where the loop has it, if that is in the code. */
static void write_moved(struct text_writer *text)
{
	text_op(text, BF_OP_SET, MOVED, 0, 0, 0);
	text_op(text, BF_OP_TRY, 0, PC, 0, 0);
	text_load(text, R5, 4, 0);
	text_op(text, BF_OP_ANDI, R5, R5, 0, 0xffffff);
	text_if(text, R5, BF_NE, ADD_SP, LABEL_TRY);
	text_load(text, MOVED, 8, 0);
	text_op(text, BF_OP_SHL, MOVED, MOVED, 0, 8);
	text_op(text, BF_OP_SHR, MOVED, MOVED, 0, 32);
}

/* Else it is tried. */
static void write_next(struct text_writer *text)
{
	text_op(text, BF_OP_ADDI, MOVED, MOVED, 0, 8);
	text_if(text, MOVED, BF_LT, MOVED_IN_CALLED + 8, LABEL_TRY);
	text_if(text, EXACT, BF_EQ, 0, LABEL_NOT_OURS);
	text_if(text, MOVED, BF_GE, MOVED_IN_EXIT, LABEL_NOT_OURS);
	text_op(text, BF_OP_SET, MOVED, 0, 0, MOVED_IN_EXIT);
	text_jump(text, LABEL_TRY);
}

int php_write_range(const struct runtime_facts *facts, struct bf_text *ret)
{
	const uint32_t *o = facts->offsets;
	bool by_frame_pointer = o[PHP_BY_FRAME_POINTER];
	struct text_writer text;

	if (!o[PHP_FRAME])
		return -ENOENT;
	text_begin(&text, ret);
	text_op(&text, BF_OP_PARAMETER, BIAS, 0, 0, 0);
	text_op(&text, BF_OP_ADDI, LOOP, BIAS, 0, facts->loop);
	if (!by_frame_pointer)
		write_moved(&text);
	text_label(&text, LABEL_TRY);
	text_op(&text, BF_OP_ADDI, SLOT, by_frame_pointer ? FP : SP, 0, o[PHP_FRAME]);
	if (!by_frame_pointer)
		text_op(&text, BF_OP_ADD, SLOT, SLOT, MOVED, 0);
	text_if_register(&text, SLOT, BF_LT, SP, LABEL_NEXT);
	text_try(&text, RETURN, SLOT, 0);
	write_check(&text, o);
	text_label(&text, LABEL_NEXT);
	if (!by_frame_pointer)
		write_next(&text);
	text_label(&text, LABEL_NOT_OURS);
	text_op(&text, BF_OP_END, 0, 0, 0, 0);
	text_label(&text, LABEL_CALLED);
	text_op(&text, BF_OP_ADDI, R5, FP, 0, 0);
	if (o[PHP_SAVED])
		text_try(&text, R5, SLOT, -(int32_t)o[PHP_SAVED]);
	text_op(&text, BF_OP_ADDI, LOOP, LOOP, 0, 1); /* in its first instruction */
	text_op(&text, BF_OP_CALLER, LOOP, SLOT, R5, 0);
	text_op(&text, BF_OP_END, 0, 0, 0, 0);
	return text_end(&text);
}
