/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How BEAM is found, and Erlang's frames.
 *
 * All functions are generated code. While it runs, the stack pointer is in the stack of an Erlang
 * process, r13 is that process, and what it keeps there are terms and return addresses: those have
 * 0 in their low bits, and no term has. So all frames are found by one pass over the stack.
 *
 * C is called on the thread's own stack, always at the same place, which the scheduler knows: a
 * native frame that returns there was called by the process that this scheduler runs. That place is
 * the frame of process_main, which calls nothing twice: its caller is the next native frame.
 *
 * A frame is its address and the checksum of the module that it is in: the same address may be
 * another module's later.
 *
 * A snapshot of the thread's stack has no stack of a process, which goes on meanwhile: such a walk
 * ends here.
 */
#include "runtimes/beam.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/elf_find.h"
#include "runtimes/text.h"

static const struct {
	uint32_t version;
	uint32_t scheduler_size, process, scheduler, stack_end, checksum, functions, atom_is_term,
		frame;
} known[] = {
	{25 << 8, 0xa300, 168, 760, 136, 80, 96, 0, 0x4110},
	{27 << 8, 0xa340, 168, 744, 200, 120, 136, 0, 0x40d0},
	{29 << 8, 0xa340, 168, 744, 200, 136, 152, 1, 0x40d0},
};

bool beam_known_offsets(struct runtime_facts *facts)
{
	uint32_t *o = facts->offsets;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].version == facts->version) {
			o[BEAM_SCHEDULER_SIZE] = known[i].scheduler_size;
			o[BEAM_SCHEDULER_PROCESS] = known[i].process;
			o[BEAM_PROCESS_SCHEDULER] = known[i].scheduler;
			o[BEAM_PROCESS_STACK_END] = known[i].stack_end;
			o[BEAM_MODULE_CHECKSUM] = known[i].checksum;
			o[BEAM_MODULE_FUNCTIONS] = known[i].functions;
			o[BEAM_ATOM_IS_TERM] = known[i].atom_is_term;
			o[BEAM_MAIN_FRAME] = known[i].frame;
			return true;
		}
	return false;
}

enum {
	SYMBOL_RELEASE,
	SYMBOL_GENERATES,
	SYMBOL_ACTIVE,
	SYMBOL_ATOMS,
	SYMBOL_SCHEDULERS,
	SYMBOL_N_SCHEDULERS,
	SYMBOL_EXIT,
	SYMBOL_MAIN,
	SYMBOL_STAGING,
	N_SYMBOLS,
};

/* The tables of modules have no symbol: what begins a new one loads their address first. */
#define STAGING_BYTES 64
static uint64_t find_ranges(const struct elf_file *elf, uint64_t staging)
{
	uint8_t code[STAGING_BYTES];

	if (elf_find_bytes(elf, staging, code, sizeof code) < 0)
		return 0;
	for (uint32_t i = 0; i + 7 <= sizeof code; i++)
		if ((code[i] & 0xfb) == 0x48 && code[i + 1] == 0x8d && (code[i + 2] & 0xc7) == 5) {
			int32_t distance;

			memcpy(&distance, code + i + 3, sizeof distance);
			return staging + i + 7 + distance;
		}
	return 0;
}

static bool are_addresses(const uint32_t *o)
{
	for (int i = BEAM_ACTIVE; i <= BEAM_MAIN; i++)
		if (!o[i] || o[i] > INT32_MAX / 2)
			return false;
	return true;
}

/* Whether @release is known. */
static bool put_release(const char *release, struct runtime_facts *ret)
{
	ret->version = (strtoul(release, NULL, 10) & 255) << 8;
	if (beam_known_offsets(ret))
		return true;
	ret->problem = RUNTIME_VERSION;
	return false;
}

static void put_addresses(const struct elf_file *elf, const uint64_t *addresses, bool generates,
			  struct runtime_facts *ret)
{
	ret->code_shift = elf_find_code_shift(elf);
	for (int i = 0; i <= BEAM_MAIN; i++)
		ret->offsets[i] = addresses[i] > INT32_MAX ? 0 : addresses[i];
	if (elf->machine != EM_X86_64 || !generates || !are_addresses(ret->offsets))
		ret->problem = RUNTIME_BUILD;
}

/* A build that exports what drivers need, and says its release only to who loads a module of a
 * newer one. */
static int examine_code(struct elf_file *elf, struct runtime_facts *ret)
{
	struct elf_wanted exported[] = {{"driver_system_info", true},
					{"enif_get_atom_length", true}};
	uint64_t addresses[BEAM_MAIN + 1] = {};
	char release[3] = "";
	int r = elf_find_symbols(elf, exported, sizeof exported / sizeof *exported);

	if (r > 0)
		r = elf_find_text(elf, "than the current (Erlang/OTP ", release, sizeof release);
	if (!*release) {
		ret->runtime = 0;
		return r == -ENOENT ? 0 : r;
	}
	if (!put_release(release, ret))
		return 0;
	r = beam_find_by_code(elf, ret->offsets[BEAM_SCHEDULER_SIZE], addresses);
	put_addresses(elf, addresses, true, ret);
	return r;
}

static int examine(struct elf_file *elf, struct runtime_facts *ret)
{
	struct elf_wanted symbols[N_SYMBOLS] = {
		[SYMBOL_RELEASE] = {"etp_otp_release", true},
		[SYMBOL_GENERATES] = {"etp_beamasm"},
		[SYMBOL_ACTIVE] = {"the_active_code_index"},
		[SYMBOL_ATOMS] = {"erts_atom_table"},
		[SYMBOL_SCHEDULERS] = {"erts_aligned_scheduler_data"},
		[SYMBOL_N_SCHEDULERS] = {"erts_no_schedulers"},
		[SYMBOL_EXIT] = {"beam_normal_exit"},
		[SYMBOL_MAIN] = {"process_main"},
		[SYMBOL_STAGING] = {"erts_start_staging_ranges"},
	};
	uint64_t addresses[BEAM_MAIN + 1];
	char release[4] = "";
	uint32_t generates = 0;
	int r = elf_find_symbols(elf, symbols, N_SYMBOLS);

	if (r == 0)
		return examine_code(elf, ret);
	if (r < 0)
		return r;
	elf_find_bytes(elf, symbols[SYMBOL_RELEASE].address, release, 3);
	elf_find_bytes(elf, symbols[SYMBOL_GENERATES].address, &generates, sizeof generates);
	addresses[BEAM_ACTIVE] = symbols[SYMBOL_ACTIVE].address;
	addresses[BEAM_RANGES] = find_ranges(elf, symbols[SYMBOL_STAGING].address);
	addresses[BEAM_ATOMS] = symbols[SYMBOL_ATOMS].address;
	addresses[BEAM_SCHEDULERS] = symbols[SYMBOL_SCHEDULERS].address;
	addresses[BEAM_N_SCHEDULERS] = symbols[SYMBOL_N_SCHEDULERS].address;
	addresses[BEAM_EXIT] = symbols[SYMBOL_EXIT].address;
	addresses[BEAM_MAIN] = symbols[SYMBOL_MAIN].address;
	if (put_release(release, ret))
		put_addresses(elf, addresses, generates, ret);
	return 0;
}

static bool is_sound(const struct runtime_facts *facts)
{
	struct runtime_facts known_facts = *facts;

	return beam_known_offsets(&known_facts) && are_addresses(facts->offsets) &&
	       memcmp(&known_facts, facts, sizeof *facts) == 0;
}

/* --- the text --- */

#define PC    BF_REGISTER_WALK_PC
#define SP    BF_REGISTER_WALK_SP
#define RBP   BF_REGISTER_WALK_FP
#define EXACT BF_REGISTER_WALK_EXACT
#define FREE  EXACT /* 1: the next word may be a return address of any bits */
#define LEAF  BF_REGISTER_WALK_LEAF
#define EXIT  LEAF			/* the last word of each process's stack */
#define STACK BF_REGISTER_WALK_BUILT_IN /* the thread's, in process_main */

/* LOW … HIGH: the module that was found last. */
enum { MODULES, N_MODULES, LOW, HIGH, CHECK, AT, END, R7, R8, R9 };

#define TERM_BITS   3
#define MOST_PUSHED 64	 /* bytes: arguments of a call from generated code */
#define MOST_ON_TOP 4096 /* bytes of the thread's stack that generated code uses itself */
#define CALL	    0xe8
#define CALL_BYTES  5
/* Instructions that leave the thread's stack, and where they are: after the call, bytes. */
#define RESTORES_FROM_PROCESS 0x58658b49 /* mov 0x58(%r13),%rsp */
#define RESTORES_FROM_RBP     0xec8948	 /* mov %rbp,%rsp */
#define MOST_BEFORE	      32
#define MAIN_PLACES	      4 /* its frame begins at a multiple of 64, its caller's of 16 */

enum label {
	LABEL_NOW,
	LABEL_STUCK,
	LABEL_NOT_OURS,
	LABEL_BY_STACK,
	LABEL_SCHEDULER,
	LABEL_FOUND_SCHEDULER,
	LABEL_ON_THREAD,
	LABEL_SAVED,
	LABEL_RESTORES,
	LABEL_IN_PROCESS,
	LABEL_MOVED,
	LABEL_AT,
	LABEL_PROCESS,
	LABEL_BEGIN,
	LABEL_LOOK_UP,
	LABEL_HALF,
	LABEL_LOWER,
	LABEL_EMIT,
	LABEL_MISS,
	LABEL_WORD,
	LABEL_ADDRESS,
	LABEL_MAIN,
	LABEL_MAIN_FOUND, /* … one for each place */
	N_LABELS = LABEL_MAIN_FOUND + MAIN_PLACES,
};
_Static_assert((int)N_LABELS <= TEXT_LABELS, "all have room");

/* Ends a walk whose stack is of another time than what is read; and the ways to end any. */
static void write_ends(struct text_writer *text)
{
	text_op(text, BF_OP_PARAMETER, R7, 0, 0, 1);
	text_if(text, R7, BF_EQ, 0, LABEL_NOW);
	text_label(text, LABEL_STUCK);
	text_op(text, BF_OP_SET, SP, 0, 0, 0);
	text_op(text, BF_OP_CALLER, R7, SP, R7, 0);
	text_label(text, LABEL_NOT_OURS);
	text_op(text, BF_OP_END, 0, 0, 0, 0);
	text_label(text, LABEL_NOW);
}

/* A leaf: LEAF = its process, STACK = the scheduler's stack pointer; AT … END is its stack. */
static void write_leaf(struct text_writer *text, const uint32_t *o)
{
	text_if(text, EXACT, BF_EQ, 0, LABEL_BY_STACK);
	text_try(text, R7, LEAF, o[BEAM_PROCESS_SCHEDULER]);
	text_try(text, R8, R7, o[BEAM_SCHEDULER_PROCESS]);
	text_if(text, R8, BF_EQ, 0, LABEL_BY_STACK);
	text_if_register(text, R8, BF_NE, LEAF, LABEL_BY_STACK);
	text_try(text, STACK, R7, BEAM_SCHEDULER_STACK);
	text_op(text, BF_OP_ADDI, AT, SP, 0, 0);
	text_try(text, END, R8, o[BEAM_PROCESS_STACK_END]);
	text_try(text, CHECK, R8, BEAM_PROCESS_HEAP_TOP);
	text_if_register(text, SP, BF_LT, CHECK, LABEL_ON_THREAD);
	text_if_register(text, SP, BF_LT, END, LABEL_PROCESS);
	text_label(text, LABEL_ON_THREAD);
	text_op(text, BF_OP_SUB, R9, STACK, SP, 0);
	text_if(text, R9, BF_GE, MOST_ON_TOP, LABEL_NOT_OURS);
	text_jump(text, LABEL_SAVED);
}

/* Any other: R8 = the process of the scheduler that has left generated code there, or none. */
static void write_scheduler(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_BY_STACK);
	text_op(text, BF_OP_PARAMETER, R8, 0, 0, 0);
	text_try(text, R7, R8, o[BEAM_SCHEDULERS]);
	text_try(text, R9, R8, o[BEAM_N_SCHEDULERS]);
	text_label(text, LABEL_SCHEDULER);
	text_if(text, R9, BF_EQ, 0, LABEL_NOT_OURS);
	text_try(text, STACK, R7, BEAM_SCHEDULER_STACK);
	text_op(text, BF_OP_SUB, R8, STACK, SP, 0);
	text_if(text, R8, BF_LT, MOST_PUSHED + 1, LABEL_FOUND_SCHEDULER);
	text_op(text, BF_OP_ADDI, R7, R7, 0, o[BEAM_SCHEDULER_SIZE]);
	text_op(text, BF_OP_ADDI, R9, R9, 0, -1);
	text_jump(text, LABEL_SCHEDULER);
	text_label(text, LABEL_FOUND_SCHEDULER);
	text_try(text, R8, R7, o[BEAM_SCHEDULER_PROCESS]);
	text_if(text, R8, BF_EQ, 0, LABEL_MAIN);
	text_try(text, END, R8, o[BEAM_PROCESS_STACK_END]);
	text_try(text, CHECK, R8, BEAM_PROCESS_HEAP_TOP);
}

/*
 * AT = the process's stack pointer, as it was when generated code left it for the thread's stack:
 * code that goes on there says first where it has put it, in rbp or, if what it calls may look at
 * that stack, in the process. While a collector has moved the stack, but not its end yet, that is
 * not known.
 */
static void write_saved(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_SAVED);
	text_try(text, AT, R8, BEAM_PROCESS_STACK);
	text_op(text, BF_OP_SET, R9, 0, 0, 0);
	text_label(text, LABEL_RESTORES);
	text_if(text, R9, BF_EQ, MOST_BEFORE, LABEL_IN_PROCESS);
	text_op(text, BF_OP_ADD, R7, PC, R9, 0);
	text_op(text, BF_OP_ADDI, R9, R9, 0, 1);
	text_op(text, BF_OP_TRY, 0, R7, 0, 0);
	text_load(text, R7, 4, 0);
	text_if(text, R7, BF_EQ, RESTORES_FROM_PROCESS, LABEL_IN_PROCESS);
	text_op(text, BF_OP_ANDI, R7, R7, 0, 0xffffff);
	text_if(text, R7, BF_NE, RESTORES_FROM_RBP, LABEL_RESTORES);
	text_op(text, BF_OP_ADDI, AT, RBP, 0, 0);
	text_if_register(text, AT, BF_LT, CHECK, LABEL_STUCK);
	text_if_register(text, AT, BF_GE, END, LABEL_STUCK);
	text_op(text, BF_OP_SET, R9, 0, 0, 1);
	text_jump(text, LABEL_AT);
	text_label(text, LABEL_IN_PROCESS);
	text_op(text, BF_OP_SET, R9, 0, 0, 0);
	text_if_register(text, AT, BF_LT, CHECK, LABEL_MOVED);
	text_if_register(text, AT, BF_LT, END, LABEL_AT);
	text_label(text, LABEL_MOVED);
	text_op(text, BF_OP_SET, END, 0, 0, -1);
	text_label(text, LABEL_AT);
	text_op(text, BF_OP_ADD, R7, PC, EXACT, 0);
	text_op(text, BF_OP_ADDI, R7, R7, 0, -1);
	text_op(text, BF_OP_ADDI, FREE, R9, 0, 0);
	text_jump(text, LABEL_BEGIN);
	text_label(text, LABEL_PROCESS);
	text_op(text, BF_OP_ADDI, R7, PC, 0, 0);
	text_label(text, LABEL_BEGIN);
	text_op(text, BF_OP_SET, SP, 0, 0, 0); /* stacks may be anywhere to each other */
	text_op(text, BF_OP_PARAMETER, EXIT, 0, 0, 0);
	text_try(text, EXIT, EXIT, o[BEAM_EXIT]);
}

static void write_modules(struct text_writer *text, const uint32_t *o)
{
	text_op(text, BF_OP_PARAMETER, R8, 0, 0, 0);
	text_op(text, BF_OP_TRY, 0, R8, 1, o[BEAM_ACTIVE] & ~7u);
	text_load(text, R9, 4, o[BEAM_ACTIVE] & 7);
	text_op(text, BF_OP_ANDI, R9, R9, 0, 3);
	text_op(text, BF_OP_SHL, R9, R9, 0, 5);
	text_op(text, BF_OP_ADD, R9, R9, R8, 0);
	text_op(text, BF_OP_TRY, 0, R9, 1, o[BEAM_RANGES]);
	text_load(text, MODULES, 8, 0);
	text_load(text, N_MODULES, 8, 8);
	text_op(text, BF_OP_SET, LOW, 0, 0, 0);
	text_op(text, BF_OP_SET, HIGH, 0, 0, 0);
}

/*
 * Puts out the frame at R7 if it is in a function of a module. Before the first one is code that
 * all share, such as that which lets another process run: it belongs to whoever jumped there.
 */
static void write_frame(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_LOOK_UP);
	text_op(text, BF_OP_IFR, R7, BF_LT, 1, LOW);
	text_if_register(text, R7, BF_LT, HIGH, LABEL_EMIT);
	text_op(text, BF_OP_SET, R8, 0, 0, 0);
	text_op(text, BF_OP_ADDI, R9, N_MODULES, 0, 0);
	text_label(text, LABEL_HALF);
	text_if_register(text, R8, BF_GE, R9, LABEL_MISS);
	text_op(text, BF_OP_ADD, LOW, R8, R9, 0);
	text_op(text, BF_OP_SHR, LOW, LOW, 0, 1);
	text_op(text, BF_OP_SHL, HIGH, LOW, 0, 4);
	text_op(text, BF_OP_ADD, HIGH, HIGH, MODULES, 0);
	text_op(text, BF_OP_TRY, 0, HIGH, 1, 0);
	text_load(text, HIGH, 8, 0);
	text_if_register(text, R7, BF_LT, HIGH, LABEL_LOWER);
	text_op(text, BF_OP_ADDI, R8, LOW, 0, 1);
	text_load(text, HIGH, 8, 8);
	text_if_register(text, R7, BF_GE, HIGH, LABEL_HALF);
	text_load(text, LOW, 8, 0);
	text_try(text, R8, LOW, o[BEAM_MODULE_CHECKSUM]);
	text_try(text, CHECK, R8, 0);
	text_try(text, R9, LOW, o[BEAM_MODULE_FUNCTIONS]);
	text_if_register(text, R7, BF_LT, R9, LABEL_MISS);
	text_label(text, LABEL_EMIT);
	text_op(text, BF_OP_EMIT, R7, SP, CHECK, BEAM_FUNCTION);
	text_op(text, BF_OP_SET, FREE, 0, 0, 0);
	text_jump(text, LABEL_WORD);
	text_label(text, LABEL_LOWER);
	text_op(text, BF_OP_ADDI, R9, LOW, 0, 0);
	text_jump(text, LABEL_HALF);
	text_label(text, LABEL_MISS);
	text_op(text, BF_OP_SET, LOW, 0, 0, 0);
	text_op(text, BF_OP_SET, HIGH, 0, 0, 0);
}

/*
 * The next return address. What generated code calls without looking at the stack may return to
 * any: such ones, which are the first, are known by the call before them.
 */
static void write_stack(struct text_writer *text)
{
	text_label(text, LABEL_WORD);
	text_if_register(text, AT, BF_GE, END, LABEL_MAIN);
	text_try(text, R7, AT, 0);
	text_op(text, BF_OP_ADDI, AT, AT, 0, 8);
	text_op(text, BF_OP_ANDI, R8, R7, 0, TERM_BITS);
	text_if(text, R8, BF_EQ, 0, LABEL_ADDRESS);
	text_if(text, FREE, BF_EQ, 0, LABEL_WORD);
	text_op(text, BF_OP_TRY, 0, R7, 0, -8);
	text_load(text, R8, 1, 8 - CALL_BYTES);
	text_if(text, R8, BF_EQ, CALL, LABEL_ADDRESS);
	text_op(text, BF_OP_SET, FREE, 0, 0, 0);
	text_jump(text, LABEL_WORD);
	text_label(text, LABEL_ADDRESS);
	text_if(text, R7, BF_EQ, 0, LABEL_WORD);
	text_if_register(text, R7, BF_EQ, EXIT, LABEL_MAIN);
	text_op(text, BF_OP_ADDI, R7, R7, 0, -1);
	text_jump(text, LABEL_LOOK_UP);
}

/* The caller of process_main: the only place with the address of a call of it. */
static void write_main(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_MAIN);
	text_op(text, BF_OP_SET, SP, 0, 0, 0);
	text_op(text, BF_OP_PARAMETER, R7, 0, 0, 0);
	text_op(text, BF_OP_ADDI, R7, R7, 0, o[BEAM_MAIN]);
	for (int i = 0; i < MAIN_PLACES; i++) {
		int32_t at = o[BEAM_MAIN_FRAME] + 8 + 16 * (MAIN_PLACES - 1 - i);

		text_try(text, R8, STACK, at);
		text_op(text, BF_OP_TRY, 0, R8, 0, -4);
		text_load(text, R9, 4, 0);
		text_op(text, BF_OP_ADD, R9, R9, R8, 0);
		text_op(text, BF_OP_SUB, R9, R9, R7, 0);
		text_op(text, BF_OP_SHL, R9, R9, 0, 32);
		text_if(text, R9, BF_NE, 0, LABEL_MAIN_FOUND + i);
		text_op(text, BF_OP_ADDI, R7, STACK, 0, at + 8);
		text_op(text, BF_OP_SET, R9, 0, 0, 0);
		text_op(text, BF_OP_CALLER, R8, R7, R9, 0);
		text_op(text, BF_OP_END, 0, 0, 0, 0);
		text_label(text, LABEL_MAIN_FOUND + i);
	}
	text_jump(text, LABEL_STUCK);
}

static int beam_write(const struct runtime_facts *facts, struct bf_text *ret)
{
	const uint32_t *o = facts->offsets;
	struct text_writer text;

	text_begin(&text, ret);
	write_ends(&text);
	write_modules(&text, o);
	write_leaf(&text, o);
	write_scheduler(&text, o);
	write_saved(&text, o);
	write_frame(&text, o);
	write_stack(&text);
	write_main(&text, o);
	return text_end(&text);
}

const struct runtime runtime_beam = {
	.name = "Erlang/OTP",
	.language = "erlang",
	.has_one_number = true,
	.examine = examine,
	.is_sound = is_sound,
	.write_range = beam_write,
	.describe = beam_describe,
};
