/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the programs in call frame information: instructions that change the rules (DWARF 5, 6.4.2).
 *
 * The rules are kept as a row ready to be written (struct bf_rule), so that a row costs one copy.
 * If a rule can't be expressed, the register is lost, or the row becomes BF_CFA_UNSUPPORTED; that
 * is no damage, and the program goes on. Numbers wrap around wherever the format's other readers
 * let them.
 */
#include "unwind/cfi.h"

#include <errno.h>

/* With an operand in the lower six bits. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_OPERAND = 0x3f,
};

enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
	OP_BREGX = 0x92,
};

#define SAVED_UNIT 8 /* bytes; of bf_rule's fp_offset, ra_offset and bx_offset */

/* For x86-64, by DWARF's numbers: enum bf_register. */
static const uint8_t registers[] = {
	BF_REGISTER_AX,	 BF_REGISTER_DX,  BF_REGISTER_CX,  BF_REGISTER_BX,
	BF_REGISTER_SI,	 BF_REGISTER_DI,  BF_REGISTER_BP,  BF_REGISTER_SP,
	BF_REGISTER_R8,	 BF_REGISTER_R9,  BF_REGISTER_R10, BF_REGISTER_R11,
	BF_REGISTER_R12, BF_REGISTER_R13, BF_REGISTER_R14, BF_REGISTER_R15,
};
#define N_LEAF (sizeof registers)

static int64_t multiply(uint64_t operand, int64_t factor)
{
	return operand * (uint64_t)factor;
}

/* Sets the CFA to @offset bytes from the value of register @reg. */
static void set_cfa(struct cfi_program *program, uint64_t reg, int32_t offset)
{
	const struct cfi_machine *machine = program->section->machine;
	struct bf_rule *rule = &program->state.rule;

	rule->cfa_offset = offset;
	rule->reg = 0;
	if (reg == machine->sp) {
		rule->cfa = BF_CFA_SP;
	} else if (reg == machine->fp) {
		rule->cfa = BF_CFA_FP;
	} else if (reg < N_LEAF && machine->leaf_is_known) {
		rule->cfa = BF_CFA_REGISTER;
		rule->reg = registers[reg];
	} else {
		rule->cfa = BF_CFA_UNSUPPORTED;
	}
}

static void set_cfa_register(struct cfi_program *program, uint64_t reg)
{
	program->state.cfa_is_expression = false;
	set_cfa(program, reg, program->state.cfa_offset);
}

static void set_cfa_offset(struct cfi_program *program, int64_t offset)
{
	struct cfi_state *state = &program->state;

	/* No frame is that large. */
	if (offset != (int32_t)offset)
		cfi_damage(&program->bytes);
	state->cfa_offset = offset;
	if (!state->cfa_is_expression)
		state->rule.cfa_offset = offset;
}

/* Sets where the caller's value of register @reg is: @kind, with @offset in its unit. */
static void set_place(struct cfi_program *program, uint64_t reg, uint8_t kind, int16_t offset)
{
	const struct cfi_machine *machine = program->section->machine;
	struct bf_rule *rule = &program->state.rule;
	/*
	 * No value, or one that only a leaf has, is as good as lost for registers that others need.
	 */
	uint8_t other = kind == CFI_SAVED_UNDEFINED || kind == BF_SAVED_LEAF ? BF_SAVED_LOST : kind;
	int16_t other_offset = other == kind ? offset : 0;

	if (reg == machine->fp) {
		rule->fp = other;
		rule->fp_offset = other_offset;
	}
	if (machine->bx && reg == machine->bx) {
		rule->bx = other;
		rule->bx_offset = other_offset;
	}
	if (reg == program->cie->ra) {
		rule->ra = kind;
		rule->ra_offset = offset;
	}
	if (reg == machine->sp)
		program->state.sp_is_cfa = false;
}

/* In memory, @offset bytes from the base that @kind gives. */
static void set_stored(struct cfi_program *program, uint64_t reg, uint8_t kind, int64_t offset)
{
	int64_t unit = offset / SAVED_UNIT;

	if (offset % SAVED_UNIT || unit != (int16_t)unit)
		set_place(program, reg, BF_SAVED_LOST, 0);
	else
		set_place(program, reg, kind, unit);
}

/* Moved to register @from. */
static void set_moved(struct cfi_program *program, uint64_t reg, uint64_t from)
{
	if (from < N_LEAF && program->section->machine->leaf_is_known)
		set_place(program, reg, BF_SAVED_LEAF, registers[from]);
	else
		set_place(program, reg, BF_SAVED_LOST, 0);
}

static void restore(struct cfi_program *program, uint64_t reg)
{
	const struct cfi_machine *machine = program->section->machine;
	const struct cfi_state *initial = &program->cie->initial;
	struct bf_rule *rule = &program->state.rule;

	if (reg == machine->fp) {
		rule->fp = initial->rule.fp;
		rule->fp_offset = initial->rule.fp_offset;
	}
	if (reg == machine->bx) {
		rule->bx = initial->rule.bx;
		rule->bx_offset = initial->rule.bx_offset;
	}
	if (reg == program->cie->ra) {
		rule->ra = initial->rule.ra;
		rule->ra_offset = initial->rule.ra_offset;
	}
	if (reg == machine->sp)
		program->state.sp_is_cfa = initial->sp_is_cfa;
}

/* An expression as compilers write them: a register plus a number, perhaps dereferenced. */
struct shape {
	bool known;
	bool deref;
	uint64_t reg;
	int64_t offset;
	uint64_t addend; /* added to the stored value */
};

static struct cfi_bytes read_block(struct cfi_bytes *bytes)
{
	uint64_t n = cfi_uleb128(bytes);
	struct cfi_bytes block = {.at = bytes->at};

	cfi_skip(bytes, n);
	block.end = bytes->damaged ? block.at : bytes->at;
	return block;
}

/* Reads a final addition: `plus_uconst n` or `litn plus`. */
static uint64_t read_addend(struct cfi_bytes *bytes)
{
	uint8_t op = cfi_uint8(bytes);

	if (op == OP_PLUS_UCONST)
		return cfi_uleb128(bytes);
	if (op < OP_LIT0 || op >= OP_LIT0 + 32 || cfi_uint8(bytes) != OP_PLUS)
		cfi_damage(bytes);
	return op - OP_LIT0;
}

static struct shape read_shape(struct cfi_bytes bytes)
{
	struct shape shape = {};
	uint8_t op = cfi_uint8(&bytes);

	if (op == OP_BREGX)
		shape.reg = cfi_uleb128(&bytes);
	else if (op >= OP_BREG0 && op < OP_BREG0 + 32)
		shape.reg = op - OP_BREG0;
	else
		return shape;
	shape.offset = cfi_sleb128(&bytes);
	if (bytes.at < bytes.end && *bytes.at == OP_DEREF) {
		shape.deref = true;
		bytes.at++;
	}
	if (bytes.at < bytes.end) {
		shape.addend = read_addend(&bytes);
		if (!shape.deref)
			shape.offset = (uint64_t)shape.offset + shape.addend;
	}
	shape.known = !bytes.damaged && bytes.at == bytes.end;
	return shape;
}

/*
 * Matches the expression that linkers write for x86-64's procedure linkage table: an entry has 16
 * bytes and pushes a word, and the stack is 8 bytes deeper from byte n on. Returns n, or 0.
 */
static uint8_t read_plt(struct cfi_bytes bytes)
{
	static const uint8_t head[] = {OP_BREG0 + 7, 8, OP_BREG0 + 16, 0, OP_LIT0 + 15, OP_AND};
	static const uint8_t tail[] = {OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS};
	uint8_t n;

	if (cfi_left(&bytes) != sizeof head + 1 + sizeof tail ||
	    memcmp(bytes.at, head, sizeof head) != 0 ||
	    memcmp(bytes.at + sizeof head + 1, tail, sizeof tail) != 0)
		return 0;
	n = bytes.at[sizeof head] - OP_LIT0;
	return n < 16 ? n : 0;
}

/*
 * Matches the frame of OpenSSL's hand-written multiplication (bn_mul_mont), in which a register
 * counts the words: breg7 offset; breg reg 0; lit8; mul; plus; deref; plus_uconst 8.
 */
static bool read_indexed(struct cfi_bytes bytes, struct bf_rule *rule)
{
	static const uint8_t tail[] = {OP_LIT0 + 8, OP_MUL, OP_PLUS, OP_DEREF, OP_PLUS_UCONST, 8};
	int64_t offset;
	uint8_t reg;

	if (cfi_uint8(&bytes) != OP_BREG0 + 7)
		return false;
	offset = cfi_sleb128(&bytes);
	reg = cfi_uint8(&bytes) - OP_BREG0;
	if (cfi_sleb128(&bytes) != 0 || bytes.damaged || reg >= N_LEAF ||
	    offset != (int32_t)offset || cfi_left(&bytes) != sizeof tail ||
	    memcmp(bytes.at, tail, sizeof tail) != 0)
		return false;
	rule->cfa = BF_CFA_SP_INDEXED;
	rule->reg = registers[reg];
	rule->cfa_offset = offset;
	return true;
}

static void set_cfa_expression(struct cfi_program *program, struct cfi_bytes block)
{
	const struct cfi_machine *machine = program->section->machine;
	struct bf_rule *rule = &program->state.rule;
	struct shape shape = read_shape(block);
	uint8_t plt = machine->has_plt ? read_plt(block) : 0;

	program->state.cfa_is_expression = true;
	rule->cfa = BF_CFA_UNSUPPORTED;
	rule->reg = 0;
	if (plt) {
		rule->cfa = BF_CFA_PLT;
		rule->addend = plt;
		rule->cfa_offset = 8;
	} else if (machine->has_plt && read_indexed(block, rule)) {
		return;
	} else if (!shape.known || shape.offset != (int32_t)shape.offset) {
		return;
	} else if (!shape.deref) {
		set_cfa(program, shape.reg, shape.offset);
	} else if (shape.addend <= UINT8_MAX &&
		   (shape.reg == machine->sp || shape.reg == machine->fp)) {
		rule->cfa = shape.reg == machine->sp ? BF_CFA_SP_DEREF : BF_CFA_FP_DEREF;
		rule->addend = shape.addend;
		rule->cfa_offset = shape.offset;
	}
}

static void set_saved_expression(struct cfi_program *program, uint64_t reg, struct cfi_bytes block)
{
	struct shape shape = read_shape(block);
	bool known = shape.known && !shape.deref && shape.reg == program->section->machine->fp;

	set_stored(program, reg, known ? BF_SAVED_FP : BF_SAVED_LOST, known ? shape.offset : 0);
}

static void remember(struct cfi_program *program)
{
	if (program->n_remembered < CFI_MAX_REMEMBERED)
		program->remembered[program->n_remembered++] = program->state;
	else
		cfi_damage(&program->bytes);
}

static void recall(struct cfi_program *program)
{
	if (program->n_remembered)
		program->state = program->remembered[--program->n_remembered];
	else
		cfi_damage(&program->bytes);
}

static void set_location(struct cfi_program *program)
{
	const struct cfi_cie *cie = program->cie;
	uint64_t address;

	/* Rows ascend, and so must this. */
	if (!cfi_encoded(program->section, &program->bytes, cie->encoding, cie->address_size,
			 program->start, &address) ||
	    address - program->start < program->location)
		cfi_damage(&program->bytes);
	else
		program->location = address - program->start;
}

static void advance(struct cfi_program *program, uint64_t n)
{
	uint64_t to;

	if (__builtin_mul_overflow(n, program->cie->code_factor, &n) ||
	    __builtin_add_overflow(program->location, n, &to))
		to = UINT64_MAX;
	program->location = to;
}

/* The register's value is @offset bytes from the CFA, not stored there. */
static void set_value(struct cfi_program *program, uint64_t reg, int64_t offset)
{
	set_place(program, reg, BF_SAVED_LOST, 0);
	if (reg == program->section->machine->sp)
		program->state.sp_is_cfa = offset == 0;
}

/* Runs an instruction about where a register is saved. Returns false for others. */
static bool run_saved(struct cfi_program *program, uint8_t op)
{
	struct cfi_bytes *bytes = &program->bytes;
	int64_t factor = program->cie->data_factor;
	uint64_t reg = cfi_uleb128(bytes);

	switch (op) {
	case CFA_RESTORE_EXTENDED: restore(program, reg); break;
	case CFA_UNDEFINED: set_place(program, reg, CFI_SAVED_UNDEFINED, 0); break;
	case CFA_SAME_VALUE: set_place(program, reg, BF_SAVED_SAME, 0); break;
	case CFA_REGISTER: set_moved(program, reg, cfi_uleb128(bytes)); break;
	case CFA_OFFSET_EXTENDED:
		set_stored(program, reg, BF_SAVED_CFA, multiply(cfi_uleb128(bytes), factor));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		set_stored(program, reg, BF_SAVED_CFA, multiply(cfi_sleb128(bytes), factor));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_stored(program, reg, BF_SAVED_CFA, multiply(-cfi_uleb128(bytes), factor));
		break;
	case CFA_EXPRESSION: set_saved_expression(program, reg, read_block(bytes)); break;
	case CFA_VAL_OFFSET: set_value(program, reg, cfi_uleb128(bytes)); break;
	case CFA_VAL_OFFSET_SF: set_value(program, reg, cfi_sleb128(bytes)); break;
	case CFA_VAL_EXPRESSION:
		read_block(bytes);
		set_place(program, reg, BF_SAVED_LOST, 0);
		break;
	default: return false;
	}
	return true;
}

/* Runs an instruction about the CFA. Returns false for others. */
static bool run_cfa(struct cfi_program *program, uint8_t op)
{
	struct cfi_bytes *bytes = &program->bytes;
	int64_t factor = program->cie->data_factor;

	switch (op) {
	case CFA_DEF_CFA_OFFSET: set_cfa_offset(program, cfi_uleb128(bytes)); return true;
	case CFA_DEF_CFA_REGISTER: set_cfa_register(program, cfi_uleb128(bytes)); return true;
	case CFA_DEF_CFA:
		set_cfa_register(program, cfi_uleb128(bytes));
		set_cfa_offset(program, cfi_uleb128(bytes));
		return true;
	case CFA_DEF_CFA_EXPRESSION: set_cfa_expression(program, read_block(bytes)); return true;
	case CFA_DEF_CFA_SF:
		set_cfa_register(program, cfi_uleb128(bytes));
		set_cfa_offset(program, multiply(cfi_sleb128(bytes), factor));
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa_offset(program, multiply(cfi_sleb128(bytes), factor));
		return true;
	default: return false;
	}
}

static void run_operation(struct cfi_program *program, uint8_t op)
{
	struct cfi_bytes *bytes = &program->bytes;

	switch (op) {
	case CFA_NOP: break;
	case CFA_SET_LOC: set_location(program); break;
	case CFA_ADVANCE_LOC1: advance(program, cfi_uint8(bytes)); break;
	case CFA_ADVANCE_LOC2: advance(program, cfi_uint16(bytes)); break;
	case CFA_ADVANCE_LOC4: advance(program, cfi_uint32(bytes)); break;
	case CFA_REMEMBER_STATE: remember(program); break;
	case CFA_RESTORE_STATE: recall(program); break;
	/* Irrelevant here: exceptions; signatures, which are stripped off every return address. */
	case CFA_GNU_ARGS_SIZE: cfi_uleb128(bytes); break;
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
	case CFA_AARCH64_NEGATE_RA_STATE: break;
	default:
		if (!run_cfa(program, op) && !run_saved(program, op))
			cfi_damage(bytes);
	}
}

static inline void run_any(struct cfi_program *program)
{
	uint8_t op = *program->bytes.at++, operand = op & CFA_OPERAND;

	switch (op & ~CFA_OPERAND) {
	case CFA_ADVANCE_LOC: advance(program, operand); break;
	case CFA_OFFSET:
		set_stored(program, operand, BF_SAVED_CFA,
			   multiply(cfi_uleb128(&program->bytes), program->cie->data_factor));
		break;
	case CFA_RESTORE: restore(program, operand); break;
	default: run_operation(program, op);
	}
}

/* Signal frames are read in the kernel's layout, if the CFI agrees with it. */
static bool is_known_signal_frame(const struct cfi_program *program)
{
	int32_t sp = program->section->machine->signal_sp;
	const struct bf_rule *rule = &program->state.rule;

	return !sp || (rule->cfa == BF_CFA_SP_DEREF && rule->cfa_offset == sp && rule->addend == 0);
}

/* The state as a row. */
static struct bf_rule make_row(const struct cfi_program *program)
{
	const struct cfi_state *state = &program->state;
	const struct bf_rule *rule = &state->rule;

	if (program->cie->is_signal_frame)
		return (struct bf_rule){.cfa = is_known_signal_frame(program) ? BF_CFA_SIGNAL
									      : BF_CFA_UNSUPPORTED};
	if (rule->ra == CFI_SAVED_UNDEFINED)
		return (struct bf_rule){.cfa = BF_CFA_ENTRY};
	if (rule->ra == BF_SAVED_LOST || !state->sp_is_cfa || rule->cfa == BF_CFA_UNSUPPORTED ||
	    rule->cfa == BF_CFA_NONE ||
	    (rule->ra == BF_SAVED_SAME && (!program->section->machine->ra_in_register ||
					   program->cie->ra != program->section->machine->ra)))
		return (struct bf_rule){.cfa = BF_CFA_UNSUPPORTED};
	return *rule;
}

bool cfi_initial_state(const struct cfi_section *section, struct cfi_cie *cie,
		       struct cfi_bytes bytes)
{
	struct cfi_program program = {.section = section, .cie = cie, .bytes = bytes};

	program.state.sp_is_cfa = true;
	cie->initial = program.state;
	while (program.bytes.at < program.bytes.end)
		run_any(&program);
	cie->initial = program.state;
	return !program.bytes.damaged;
}

void cfi_program_start(struct cfi_program *program, struct cfi_section *section,
		       const struct cfi_function *function)
{
	uint32_t n = function->program_end - function->program;
	const uint8_t *at = cfi_fetch(section, function->program, n);

	program->section = section;
	program->cie = &section->cies[function->cie];
	program->bytes = (struct cfi_bytes){at, at + (at ? n : 0), .damaged = !at};
	program->start = function->start;
	program->size = function->size;
	program->location = 0;
	program->state = program->cie->initial;
	program->n_remembered = 0;
	program->ended = false;
}

/* Whether instruction @op ends a row. */
static bool moves_on(uint8_t op)
{
	return (op & ~CFA_OPERAND) == CFA_ADVANCE_LOC ||
	       (op >= CFA_SET_LOC && op <= CFA_ADVANCE_LOC4);
}

int cfi_program_next(struct cfi_program *program)
{
	uint64_t from = program->location;

	if (program->ended)
		return 0;
	program->row_location = from;
	while (program->bytes.at < program->bytes.end) {
		if (moves_on(*program->bytes.at))
			program->row = make_row(program);
		run_any(program);
		if (program->location != from && !program->bytes.damaged) {
			program->ended = program->location >= program->size;
			return 1;
		}
	}
	program->ended = true;
	if (program->bytes.damaged)
		return -ENOEXEC;
	program->row = make_row(program);
	return 1;
}
