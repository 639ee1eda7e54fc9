/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/stack_state.h"

#include <string.h>

#define WORD	 8
#define RED_ZONE 128 /* below the stack pointer; signal handlers spare it */
#define MAX_STEP (1 << 28)

const struct stack_state stack_start = {
	.value = {-WORD, STACK_CALLERS, STACK_CALLERS, STACK_CALLERS, STACK_CALLERS, STACK_CALLERS,
		  STACK_CALLERS},
	.old = STACK_OTHER,
	.old_register = X86_NOTHING,
};

/* The number of @reg among the followed registers, or N_STACK_REGISTERS. */
static unsigned int follow(uint8_t reg)
{
	switch (reg) {
	case X86_SP: return STACK_SP;
	case X86_BX: return STACK_BX;
	case X86_BP: return STACK_BP;
	case X86_R12:
	case X86_R13:
	case X86_R14:
	case X86_R15: return STACK_R12 + (reg - X86_R12);
	default: return N_STACK_REGISTERS;
	}
}

/* Without a caller. */
static const struct stack_state stack_outermost = {
	.value = {STACK_OUTERMOST, STACK_OTHER, STACK_OTHER, STACK_OTHER, STACK_OTHER, STACK_OTHER,
		  STACK_OTHER},
	.old = STACK_OTHER,
	.old_register = X86_NOTHING,
};

const struct stack_state stack_signal = {
	.value = {STACK_SIGNAL, STACK_OTHER, STACK_OTHER, STACK_OTHER, STACK_OTHER, STACK_OTHER,
		  STACK_OTHER},
	.old = STACK_OTHER,
	.old_register = X86_NOTHING,
};

/* Whether @value is a distance from the CFA. */
static bool is_distance(int32_t value)
{
	return value >= STACK_LOWEST && value < STACK_ALIGNED - MAX_STEP;
}

/* Whether it is one from where the stack was aligned. */
static bool is_aligned(int32_t value)
{
	return value >= STACK_ALIGNED - MAX_STEP;
}

static bool is_address(int32_t value)
{
	return value >= STACK_LOWEST;
}

static int32_t move(int32_t value, int64_t by)
{
	int32_t base = is_aligned(value) ? STACK_ALIGNED : 0;

	if (!is_address(value) || by < -MAX_STEP || by > MAX_STEP)
		return STACK_OTHER;
	by += value - base;
	return by < -MAX_STEP || by > MAX_STEP ? STACK_OTHER : base + by;
}

static int32_t value_of(const struct stack_state *state, uint8_t reg)
{
	unsigned int i = follow(reg);

	if (i < N_STACK_REGISTERS)
		return state->value[i];
	return reg == state->old_register ? state->old : STACK_OTHER;
}

/* The address of @insn's operand, if it is on the stack. */
static int32_t address_of(const struct stack_state *state, const struct x86_insn *insn)
{
	return insn->index == X86_NOTHING ? move(value_of(state, insn->base), insn->disp)
					  : STACK_OTHER;
}

static void forget_slots(struct stack_state *state, int64_t from, int64_t to)
{
	for (unsigned int i = 0; i < N_STACK_REGISTERS; i++)
		if (state->saved[i] + WORD > from && state->saved[i] < to)
			state->saved[i] = 0;
}

static void forget_old(struct stack_state *state)
{
	state->old = STACK_OTHER;
	state->old_register = X86_NOTHING;
}

/* Forgets the aligned stack: there is none, or another. */
static void forget_aligned(struct stack_state *state)
{
	for (unsigned int i = 0; i < N_STACK_REGISTERS; i++) {
		if (is_aligned(state->value[i]))
			state->value[i] = STACK_OTHER;
		if (is_aligned(state->saved[i]))
			state->saved[i] = 0;
	}
	state->kept_at = state->kept = 0;
}

/* Forgets what is below @address of the stack. */
static void forget_below(struct stack_state *state, int64_t address)
{
	int64_t base = is_aligned(address) ? STACK_ALIGNED : 0;

	forget_slots(state, base - 2 * MAX_STEP, address);
}

static void set(struct stack_state *state, uint8_t reg, int32_t value)
{
	unsigned int i = follow(reg);

	if (reg == state->old_register)
		forget_old(state);
	if (i < N_STACK_REGISTERS)
		state->value[i] = value;
	if (i != STACK_SP)
		return;
	if (is_distance(value))
		forget_aligned(state);
	if (is_address(value))
		forget_below(state, (int64_t)value - RED_ZONE);
}

/* The old stack pointer on an aligned stack: @n bytes of @value are stored at @address. */
static void store_old(struct stack_state *state, int32_t address, int32_t n, int32_t value)
{
	if (state->kept_at && address < state->kept_at + WORD && address + n > state->kept_at)
		state->kept_at = state->kept = 0;
	if (state->kept_at || !is_aligned(address) || n != WORD || !is_distance(value) ||
	    value > 0 || value < -UINT8_MAX)
		return;
	state->kept_at = address;
	state->kept = value;
}

/* Stores @n bytes at @address: a word is the value of @reg, or of an untracked one (X86_NOTHING).
 */
static void store(struct stack_state *state, int32_t address, int32_t n, uint8_t reg)
{
	unsigned int i = follow(reg);
	bool keeps;

	if (!is_address(address))
		return;
	/* The return address itself: its target is unknown then. */
	if (address > -WORD - n && address < 0) {
		state->value[STACK_SP] = state->value[STACK_BP] = STACK_OTHER;
		return;
	}
	/* Of two copies the higher one lives longer. */
	keeps = (address < 0 || is_aligned(address)) && i < N_STACK_REGISTERS &&
		state->value[i] == STACK_CALLERS &&
		(!state->saved[i] || (state->saved[i] <= address &&
				      is_aligned(state->saved[i]) == is_aligned(address)));
	forget_slots(state, address, address + n);
	store_old(state, address, n, value_of(state, reg));
	if (keeps)
		state->saved[i] = address;
}

/* Loads a word at @address into @reg. */
static void load(struct stack_state *state, int32_t address, uint8_t reg)
{
	unsigned int i = follow(reg);
	bool restores = i < N_STACK_REGISTERS && i != STACK_SP && state->saved[i] &&
			is_address(address) && state->saved[i] == address;

	if (state->kept_at && state->kept_at == address)
		set(state, reg, state->kept);
	else
		set(state, reg, restores ? STACK_CALLERS : STACK_OTHER);
}

static bool push(struct stack_state *state, const struct x86_insn *insn, uint8_t reg)
{
	int32_t sp = move(state->value[STACK_SP], -WORD);

	if (insn->has_66)
		return false;
	store(state, sp, WORD, reg);
	set(state, X86_SP, sp);
	return true;
}

static bool pop(struct stack_state *state, const struct x86_insn *insn, uint8_t reg)
{
	int32_t sp = state->value[STACK_SP];

	/* Nothing is popped above the return address. */
	if (insn->has_66 || (is_distance(sp) && sp >= -WORD))
		return false;
	set(state, X86_SP, move(sp, WORD));
	load(state, sp, reg);
	return true;
}

/* add, sub, lea, mov, and other writes to registers. */
static bool is_add(const struct x86_insn *insn)
{
	return (insn->opcode == 0x81 || insn->opcode == 0x83) && !insn->is_memory &&
	       insn->is_wide && (insn->reg & 7) == 0;
}

static bool is_sub(const struct x86_insn *insn)
{
	return (insn->opcode == 0x81 || insn->opcode == 0x83) && !insn->is_memory &&
	       insn->is_wide && (insn->reg & 7) == 5;
}

/* `and $-n,%rsp` */
static bool aligns(const struct x86_insn *insn)
{
	return (insn->opcode == 0x81 || insn->opcode == 0x83) && !insn->is_memory &&
	       insn->is_wide && (insn->reg & 7) == 4 && insn->rm == X86_SP && insn->imm < 0;
}

/*
 * `xor %ebp,%ebp` at a function's beginning, without saving the caller's value: the ABI marks the
 * outermost frame so. There is no caller.
 */
static bool ends_chain(const struct stack_state *state, const struct x86_insn *insn)
{
	return (insn->opcode == 0x31 || insn->opcode == 0x33) && !insn->is_memory &&
	       insn->reg == X86_BP && insn->rm == X86_BP &&
	       state->value[STACK_BP] == STACK_CALLERS && !state->saved[STACK_BP] &&
	       state->value[STACK_SP] == -WORD;
}

/* Applies what @insn does to the followed registers, as far as we understand it. */
static void write_registers(struct stack_state *state, const struct x86_insn *insn)
{
	for (uint8_t reg = 0; reg < N_X86_REGISTERS; reg++)
		if (insn->writes & 1u << reg)
			set(state, reg, STACK_OTHER);
}

/* `mov %rsp,register`, of one that is not followed. */
static void keep_old(struct stack_state *state, uint8_t from, uint8_t to)
{
	if (from != X86_SP || follow(to) < N_STACK_REGISTERS ||
	    !is_distance(state->value[STACK_SP]))
		return;
	state->old = state->value[STACK_SP];
	state->old_register = to;
}

/* The size of the operand of a `mov` to memory. */
static int32_t stored_bytes(const struct x86_insn *insn)
{
	if (insn->opcode == 0xc6 || insn->opcode == 0x88)
		return 1;
	if (insn->is_wide)
		return WORD;
	return insn->has_66 ? 2 : 4;
}

static void move_registers(struct stack_state *state, const struct x86_insn *insn)
{
	bool to_rm = insn->opcode == 0x89;

	if (insn->is_memory && to_rm)
		store(state, address_of(state, insn), WORD, insn->reg);
	else if (insn->is_memory)
		load(state, address_of(state, insn), insn->reg);
	else if (is_address(value_of(state, to_rm ? insn->reg : insn->rm)))
		set(state, to_rm ? insn->rm : insn->reg,
		    value_of(state, to_rm ? insn->reg : insn->rm));
	else
		write_registers(state, insn);
	if (!insn->is_memory)
		keep_old(state, to_rm ? insn->reg : insn->rm, to_rm ? insn->rm : insn->reg);
}

static bool leave(struct stack_state *state, const struct x86_insn *insn)
{
	if (!is_address(state->value[STACK_BP]))
		return false;
	set(state, X86_SP, state->value[STACK_BP]);
	return pop(state, insn, X86_BP);
}

/*
 * A call preserves nothing of the stack below. Assembly that needs a register for its old stack
 * pointer calls only what leaves it alone.
 */
static bool call(struct stack_state *state, bool is_direct)
{
	int32_t sp = state->value[STACK_SP];

	if (is_address(sp))
		forget_below(state, sp);
	if (is_distance(sp) || !is_direct)
		forget_old(state);
	return true;
}

static bool step_group_ff(struct stack_state *state, const struct x86_insn *insn)
{
	switch (insn->reg & 7) {
	case 2: return call(state, false);
	case 6: return push(state, insn, X86_NOTHING);
	case 3:
	case 5:
	case 7: return false;
	default: write_registers(state, insn); return true;
	}
}

static bool step_plain(struct stack_state *state, const struct x86_insn *insn)
{
	if (is_add(insn) || is_sub(insn)) {
		set(state, insn->rm,
		    move(value_of(state, insn->rm), is_sub(insn) ? -insn->imm : insn->imm));
	} else if (aligns(insn)) {
		forget_aligned(state);
		state->value[STACK_SP] = STACK_ALIGNED;
	} else if ((insn->opcode == 0x89 || insn->opcode == 0x8b) && insn->is_wide) {
		move_registers(state, insn);
	} else if (insn->opcode == 0x8d && insn->is_wide) {
		set(state, insn->reg, address_of(state, insn));
	} else {
		if (insn->opcode == 0xc7 || insn->opcode == 0x89 || insn->opcode == 0xc6 ||
		    insn->opcode == 0x88)
			store(state, insn->is_memory ? address_of(state, insn) : STACK_OTHER,
			      stored_bytes(insn), X86_NOTHING);
		write_registers(state, insn);
	}
	return true;
}

static bool pop_to_memory(struct stack_state *state, const struct x86_insn *insn)
{
	if (!insn->is_memory || insn->base == X86_SP || (insn->reg & 7))
		return false;
	store(state, address_of(state, insn), WORD, X86_NOTHING);
	return pop(state, insn, X86_NOTHING);
}

static bool step(struct stack_state *state, const struct x86_insn *insn)
{
	switch (insn->opcode) {
	case 0x50 ... 0x57: return push(state, insn, insn->opcode_reg);
	case 0x58 ... 0x5f: return pop(state, insn, insn->opcode_reg);
	case 0x68:
	case 0x6a:
	case 0x9c: return push(state, insn, X86_NOTHING);
	case 0x9d: return pop(state, insn, X86_NOTHING);
	case 0xc9: return leave(state, insn);
	case 0xe8: return call(state, true);
	case 0xff: return step_group_ff(state, insn);
	case 0x8f: return pop_to_memory(state, insn);
	/* far returns, software interrupts; push and pop of segment registers */
	case 0xca:
	case 0xcb:
	case 0xcd:
	case 0xcf:
	case X86_0F(0xa0):
	case X86_0F(0xa1):
	case X86_0F(0xa8):
	case X86_0F(0xa9): return false;
	default: return step_plain(state, insn);
	}
}

/*
 * `mov %rsp,register` and `sub $n,%rsp`: an `and` may follow. Compiled code has the former, too, to
 * pass an address: no need to remember that.
 */
static bool begins_alignment(const struct x86_insn *insn)
{
	bool is_move = (insn->opcode == 0x89 && insn->reg == X86_SP) ||
		       (insn->opcode == 0x8b && insn->rm == X86_SP && !insn->is_memory);

	return is_move || (is_sub(insn) && insn->rm == X86_SP);
}

bool stack_step(struct stack_state *state, const struct x86_insn *insn)
{
	int32_t sp;

	if (state->value[STACK_SP] == STACK_OUTERMOST)
		return true;
	if (ends_chain(state, insn)) {
		*state = stack_outermost;
		return true;
	}
	if (!step(state, insn))
		return false;
	sp = state->value[STACK_SP];
	if (is_distance(sp) && !begins_alignment(insn))
		forget_old(state);
	return !is_distance(sp) || sp <= -WORD;
}

bool stack_may_leave(const struct stack_state *state)
{
	for (unsigned int i = 0; i < N_STACK_REGISTERS; i++)
		if (state->value[i] != stack_start.value[i])
			return false;
	return true;
}

bool stack_is_aligned(const struct stack_state *state)
{
	return !is_distance(state->value[STACK_SP]) || state->value[STACK_SP] % (2 * WORD) == 0;
}

/* Whether anything is known to be on the aligned stack, so that its depth matters. */
static bool uses_aligned(const struct stack_state *state)
{
	for (unsigned int i = 0; i < N_STACK_REGISTERS; i++)
		if ((i != STACK_SP && is_aligned(state->value[i])) || is_aligned(state->saved[i]))
			return true;
	return state->kept_at;
}

bool stack_join(struct stack_state *state, const struct stack_state *other)
{
	int32_t sp = state->value[STACK_SP], theirs = other->value[STACK_SP];
	bool any_depth = is_aligned(sp) && is_aligned(theirs) && !uses_aligned(state) &&
			 !uses_aligned(other);

	/* On an aligned stack the depth may differ: another register leads back. */
	if (sp != theirs && !((is_aligned(sp) || sp == STACK_OTHER) &&
			      (is_aligned(theirs) || theirs == STACK_OTHER)))
		return false;
	for (unsigned int i = 0; i < N_STACK_REGISTERS; i++) {
		if (state->value[i] != other->value[i] && !(i == STACK_SP && any_depth))
			state->value[i] = STACK_OTHER;
		if (state->saved[i] != other->saved[i])
			state->saved[i] = 0;
	}
	if (state->old != other->old || state->old_register != other->old_register)
		forget_old(state);
	if (state->kept_at != other->kept_at || state->kept != other->kept)
		state->kept_at = state->kept = 0;
	return true;
}

/* Where the caller's value of register @i is, as an enum bf_saved. */
static uint8_t place(const struct stack_state *state, enum stack_register i, int16_t *ret_offset)
{
	bool by_fp = is_aligned(state->saved[i]) && is_aligned(state->value[STACK_BP]);
	int32_t bytes = state->saved[i] - (by_fp ? state->value[STACK_BP] : 0);
	int32_t words = bytes / WORD;

	if (state->value[i] == STACK_CALLERS)
		return BF_SAVED_SAME;
	if (!state->saved[i] || bytes % WORD || words != (int16_t)words)
		return BF_SAVED_LOST;
	*ret_offset = words;
	return by_fp ? BF_SAVED_FP : BF_SAVED_CFA;
}

/* enum bf_register by enum x86_register. */
static const uint8_t bf_registers[N_X86_REGISTERS] = {
	BF_REGISTER_AX,	 BF_REGISTER_CX,  BF_REGISTER_DX,  BF_REGISTER_BX,
	BF_REGISTER_SP,	 BF_REGISTER_BP,  BF_REGISTER_SI,  BF_REGISTER_DI,
	BF_REGISTER_R8,	 BF_REGISTER_R9,  BF_REGISTER_R10, BF_REGISTER_R11,
	BF_REGISTER_R12, BF_REGISTER_R13, BF_REGISTER_R14, BF_REGISTER_R15,
};

/*
 * Sets @rule's CFA by another register than the stack pointer: hand-written code that aligns its
 * stack keeps the old stack pointer in any of them. Returns whether one has it.
 */
static bool find_old_pointer(const struct stack_state *state, struct bf_rule *rule)
{
	static const struct {
		enum stack_register at;
		uint8_t cfa, reg;
	} places[] = {
		{STACK_BP, BF_CFA_FP, 0},
		{STACK_BX, BF_CFA_REGISTER, BF_REGISTER_BX},
		{STACK_R12, BF_CFA_REGISTER, BF_REGISTER_R12},
		{STACK_R13, BF_CFA_REGISTER, BF_REGISTER_R13},
		{STACK_R14, BF_CFA_REGISTER, BF_REGISTER_R14},
		{STACK_R15, BF_CFA_REGISTER, BF_REGISTER_R15},
	};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		int32_t value = state->value[places[i].at];

		if (!is_distance(value))
			continue;
		rule->cfa = places[i].cfa;
		rule->reg = places[i].reg;
		rule->cfa_offset = -value;
		return true;
	}
	if (state->old_register >= N_X86_REGISTERS || !is_distance(state->old))
		return false;
	rule->cfa = BF_CFA_REGISTER;
	rule->reg = bf_registers[state->old_register];
	rule->cfa_offset = -state->old;
	return true;
}

/* The same where the old stack pointer is on the aligned stack, which callees can't change. */
static bool find_kept_pointer(const struct stack_state *state, struct bf_rule *rule)
{
	int32_t sp = state->value[STACK_SP], fp = state->value[STACK_BP];

	if (!state->kept_at || is_distance(fp) || (!is_aligned(sp) && !is_aligned(fp)))
		return false;
	rule->cfa = is_aligned(sp) ? BF_CFA_SP_DEREF : BF_CFA_FP_DEREF;
	rule->cfa_offset = state->kept_at - (is_aligned(sp) ? sp : fp);
	rule->addend = -state->kept;
	return true;
}

struct bf_rule stack_rule(const struct stack_state *state)
{
	struct bf_rule rule = {.ra = BF_SAVED_CFA, .ra_offset = -1};

	if (state->value[STACK_SP] == STACK_OUTERMOST)
		return (struct bf_rule){.cfa = BF_CFA_ENTRY};
	if (state->value[STACK_SP] == STACK_SIGNAL)
		return (struct bf_rule){.cfa = BF_CFA_SIGNAL};
	if (is_distance(state->value[STACK_SP])) {
		rule.cfa = BF_CFA_SP;
		rule.cfa_offset = -state->value[STACK_SP];
	} else if (!find_kept_pointer(state, &rule) && !find_old_pointer(state, &rule)) {
		return (struct bf_rule){};
	}
	rule.fp = place(state, STACK_BP, &rule.fp_offset);
	rule.bx = place(state, STACK_BX, &rule.bx_offset);
	return rule;
}
