/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/x86.h"

#include <errno.h>
#include <string.h>

/*
 * What follows each opcode, by letter:
 *
 *	.  nothing		M  ModRM		b  8 bits	w  16 bits
 *	z  32 bits, 16 with 66	B  ModRM and b		Z  ModRM and z	d  32 bits
 *	v  like z, 64 with REX.W			o  64 bits	p  a prefix
 *	T  ModRM, and 8 bits if it is a test (F6)	U  the same, F7	R  REX
 *	x  refused, or read elsewhere
 */
static const char one_byte[] = "MMMMbzxxMMMMbzxx" /* 00 */
			       "MMMMbzxxMMMMbzxx"
			       "MMMMbzpxMMMMbzpx"
			       "MMMMbzpxMMMMbzpx"
			       "RRRRRRRRRRRRRRRR" /* 40 */
			       "................"
			       "xxxMppppzZbB...."
			       "bbbbbbbbbbbbbbbb"
			       "BZxBMMMMMMMMMMMM" /* 80 */
			       "..........x....."
			       "oooo....bz......"
			       "bbbbbbbbvvvvvvvv"
			       "BBw.xxBZx.w..bx." /* c0 */
			       "MMMMxxx.MMMMMMMM"
			       "bbbbbbbbddxb...."
			       "pxpp..TU......MM";
static const char two_bytes[] = "MMMMx..x..x.xMxx" /* 00 */
				"MMMMMMMMMMMMMMMM"
				"MMMMxxxxMMMMMMMM"
				"......x.xxxxxxxx"
				"MMMMMMMMMMMMMMMM" /* 40 */
				"MMMMMMMMMMMMMMMM"
				"MMMMMMMMMMMMMMMM"
				"BBBBMMM.MMxxMMMM"
				"dddddddddddddddd" /* 80 */
				"MMMMMMMMMMMMMMMM"
				"...MBMxx...MBMMM"
				"MMMMMMMMMMBMMMMM"
				"MMBMBBBM........" /* c0 */
				"MMMMMMMMMMMMMMMM"
				"MMMMMMMMMMMMMMMM"
				"MMMMMMMMMMMMMMMx";

#define MAP_0F	 0x0f00
#define MAP_0F38 0x3800
#define MAP_0F3A 0x3a00

/* The instruction while it is read. */
struct reader {
	const uint8_t *bytes;
	size_t at, n;
	bool failed;
	uint8_t rex; /* W R X B, and 0x40 if there is one */
	bool has_67;
	uint8_t mod;
	uint8_t vvvv;
};

static uint8_t next_byte(struct reader *reader)
{
	if (reader->at < reader->n)
		return reader->bytes[reader->at++];
	reader->failed = true;
	return 0;
}

/* Reads a number of @size bytes, sign-extended. */
static int64_t next_number(struct reader *reader, unsigned int size)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < size; i++)
		value |= (uint64_t)next_byte(reader) << 8 * i;
	if (size == 0 || size == 8)
		return value;
	return (int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size);
}

static void read_address(struct reader *reader, struct x86_insn *insn)
{
	uint8_t sib, base = insn->rm & 7;

	insn->base = insn->rm;
	if (base == 4) {
		sib = next_byte(reader);
		base = sib & 7;
		insn->base = base | (reader->rex & 1) << 3;
		insn->index = (sib >> 3 & 7) | (reader->rex & 2) << 2;
		if (insn->index == 4)
			insn->index = X86_NOTHING;
		if (base == 5 && reader->mod == 0)
			insn->base = X86_NOTHING;
	} else if (base == 5 && reader->mod == 0) {
		insn->base = X86_IP;
	}
	if (reader->mod == 1)
		insn->disp = next_number(reader, 1);
	else if (reader->mod == 2 || insn->base == X86_IP || insn->base == X86_NOTHING)
		insn->disp = next_number(reader, 4);
}

static void read_modrm(struct reader *reader, struct x86_insn *insn)
{
	uint8_t modrm = next_byte(reader);

	insn->has_modrm = true;
	reader->mod = modrm >> 6;
	insn->reg = (modrm >> 3 & 7) | (reader->rex & 4) << 1;
	insn->rm = (modrm & 7) | (reader->rex & 1) << 3;
	insn->is_memory = reader->mod != 3;
	if (insn->is_memory)
		read_address(reader, insn);
}

static void read_operands(struct reader *reader, struct x86_insn *insn, char kind)
{
	unsigned int word = insn->has_66 && !insn->is_wide ? 2 : 4;
	bool is_test;

	if (strchr("MBZTU", kind))
		read_modrm(reader, insn);
	is_test = (insn->reg & 7) < 2;
	switch (kind) {
	case '.':
	case 'M': break;
	case 'b':
	case 'B': insn->imm = next_number(reader, 1); break;
	case 'w': insn->imm = next_number(reader, 2); break;
	case 'z':
	case 'Z': insn->imm = next_number(reader, word); break;
	case 'd': insn->imm = next_number(reader, 4); break;
	case 'v': insn->imm = next_number(reader, insn->is_wide ? 8 : word); break;
	case 'o': insn->imm = next_number(reader, reader->has_67 ? 4 : 8); break;
	case 'T': insn->imm = next_number(reader, is_test ? 1 : 0); break;
	case 'U': insn->imm = next_number(reader, is_test ? word : 0); break;
	default: reader->failed = true;
	}
	/* A 16-bit jump: AMD and Intel disagree on its length. */
	if (kind == 'd' && insn->has_66)
		reader->failed = true;
}

/* Reads prefixes. Returns the byte after them. */
static uint8_t read_prefixes(struct reader *reader, struct x86_insn *insn)
{
	uint8_t byte = next_byte(reader);

	for (; !reader->failed && one_byte[byte] == 'p'; byte = next_byte(reader)) {
		if (byte == 0x66)
			insn->has_66 = true;
		else if (byte == 0x67)
			reader->has_67 = true;
		else if (byte >= 0xf2)
			insn->repeat = byte;
	}
	if (one_byte[byte] != 'R')
		return byte;
	reader->rex = byte;
	insn->is_wide = byte & 8;
	byte = next_byte(reader);
	if (one_byte[byte] == 'R' || one_byte[byte] == 'p') /* REX is the last prefix */
		reader->failed = true;
	return byte;
}

static void read_escaped(struct reader *reader, struct x86_insn *insn)
{
	uint8_t byte = next_byte(reader);

	if (byte == 0x38) {
		insn->opcode = MAP_0F38 | next_byte(reader);
		read_operands(reader, insn, 'M');
	} else if (byte == 0x3a) {
		insn->opcode = MAP_0F3A | next_byte(reader);
		read_operands(reader, insn, 'B');
	} else {
		insn->opcode = MAP_0F | byte;
		read_operands(reader, insn, two_bytes[byte]);
	}
}

/* Sets the prefix that @pp of VEX and EVEX encodes. */
static void set_short_prefix(struct x86_insn *insn, uint8_t pp)
{
	insn->has_66 = pp == 1;
	insn->repeat = pp == 2 ? 0xf3 : pp == 3 ? 0xf2 : 0;
}

static void read_vex_opcode(struct reader *reader, struct x86_insn *insn, uint8_t map)
{
	uint8_t byte = next_byte(reader);
	char kind = map == 3 ? 'B' : 'M';

	if (map == 1 &&
	    ((byte >= 0x70 && byte <= 0x73) || (byte >= 0xc4 && byte <= 0xc6) || byte == 0xc2))
		kind = 'B';
	else if (map == 1 && byte == 0x77)
		kind = '.';
	if (map < 1 || map > 3)
		reader->failed = true;
	insn->is_vex = true;
	insn->opcode = (map == 1 ? MAP_0F : map == 2 ? MAP_0F38 : MAP_0F3A) | byte;
	read_operands(reader, insn, kind);
}

static void read_vex(struct reader *reader, struct x86_insn *insn, uint8_t first)
{
	uint8_t byte = next_byte(reader), map = 1;

	reader->rex = byte & 0x80 ? 0 : 4;
	if (first == 0xc4) {
		reader->rex = ~byte >> 5 & 7;
		map = byte & 0x1f;
		byte = next_byte(reader);
		insn->is_wide = byte & 0x80;
	}
	reader->vvvv = ~byte >> 3 & 15;
	set_short_prefix(insn, byte & 3);
	read_vex_opcode(reader, insn, map);
}

/* An 8-bit displacement counts in units that we don't know: such an address is unknown. */
static void read_evex(struct reader *reader, struct x86_insn *insn)
{
	uint8_t first = next_byte(reader), second = next_byte(reader);

	next_byte(reader);
	if ((first & 8) || !(second & 4)) /* later extensions */
		reader->failed = true;
	reader->rex = ~first >> 5 & 7;
	reader->vvvv = ~second >> 3 & 15;
	insn->is_wide = second & 0x80;
	set_short_prefix(insn, second & 3);
	read_vex_opcode(reader, insn, first & 7);
	insn->base = insn->index = X86_NOTHING;
}

#define BIT(reg) (uint16_t)(1u << (reg))

/* The r/m operand, if it is a register. @is_byte: 4 to 7 are AH to BH without REX. */
static uint16_t rm_bit(const struct reader *reader, const struct x86_insn *insn, bool is_byte)
{
	if (insn->is_memory)
		return 0;
	return BIT(is_byte && !reader->rex && insn->rm >= 4 ? insn->rm - 4 : insn->rm);
}

static uint16_t reg_bit(const struct reader *reader, const struct x86_insn *insn, bool is_byte)
{
	return BIT(is_byte && !reader->rex && insn->reg >= 4 ? insn->reg - 4 : insn->reg);
}

/* The register in the opcode's lower three bits. */
static uint16_t opcode_bit(const struct reader *reader, const struct x86_insn *insn, bool is_byte)
{
	uint8_t reg = insn->opcode_reg;

	return BIT(is_byte && !reader->rex && reg >= 4 ? reg - 4 : reg);
}

/* add, or, adc, sbb, and, sub, xor, cmp: 00 to 3d. */
static uint16_t arithmetic_writes(const struct reader *reader, const struct x86_insn *insn)
{
	uint8_t form = insn->opcode & 7;

	if (insn->opcode >= 0x38)
		return 0;
	if (form < 2)
		return rm_bit(reader, insn, form == 0);
	return form < 4 ? reg_bit(reader, insn, form == 2) : BIT(X86_AX);
}

static uint16_t group_writes(const struct reader *reader, const struct x86_insn *insn)
{
	uint8_t operation = insn->reg & 7, opcode = insn->opcode;
	bool is_byte = !(opcode & 1);

	if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83)
		return operation == 7 ? 0 : rm_bit(reader, insn, opcode == 0x80);
	if (opcode == 0xf6 || opcode == 0xf7) {
		if (operation < 2)
			return 0;
		return operation < 4 ? rm_bit(reader, insn, is_byte) : BIT(X86_AX) | BIT(X86_DX);
	}
	return operation < 2 ? rm_bit(reader, insn, is_byte) : 0; /* FE, FF: inc, dec */
}

static uint16_t string_writes(uint8_t opcode)
{
	switch (opcode & 0xfe) {
	case 0xaa: return BIT(X86_DI) | BIT(X86_CX);
	case 0xac: return BIT(X86_AX) | BIT(X86_SI) | BIT(X86_CX);
	case 0xa8: return 0; /* test */
	default: return BIT(X86_SI) | BIT(X86_DI) | BIT(X86_CX);
	}
}

static uint16_t one_byte_writes(const struct reader *reader, const struct x86_insn *insn)
{
	uint8_t opcode = insn->opcode;
	bool is_byte = !(opcode & 1);

	if (opcode < 0x40)
		return arithmetic_writes(reader, insn);
	switch (opcode) {
	case 0x58 ... 0x5f: return opcode_bit(reader, insn, false);
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x8d: return reg_bit(reader, insn, false);
	case 0x80 ... 0x83:
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff: return group_writes(reader, insn);
	case 0x86:
	case 0x87: return rm_bit(reader, insn, is_byte) | reg_bit(reader, insn, is_byte);
	case 0x8a:
	case 0x8b: return reg_bit(reader, insn, is_byte);
	case 0x88:
	case 0x89:
	case 0x8c:
	case 0x8f:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0 ... 0xd3:
		return rm_bit(reader, insn,
			      is_byte && opcode != 0x8c); /* 8c: from a segment register */
	case 0x90: return reader->rex & 1 ? BIT(X86_AX) | BIT(X86_R8) : 0;
	case 0x91 ... 0x97: return BIT(X86_AX) | opcode_bit(reader, insn, false);
	case 0x98:
	case 0x9f:
	case 0xa0:
	case 0xa1:
	case 0xd7:
	case 0xe4:
	case 0xe5:
	case 0xec:
	case 0xed: return BIT(X86_AX);
	case 0x99: return BIT(X86_DX);
	case 0x6c ... 0x6f:
	case 0xa4 ... 0xaf: return string_writes(opcode);
	case 0xb0 ... 0xb7: return opcode_bit(reader, insn, true);
	case 0xb8 ... 0xbf: return opcode_bit(reader, insn, false);
	case 0xdf: return insn->is_memory ? 0 : BIT(X86_AX); /* fnstsw */
	case 0xe0 ... 0xe2: return BIT(X86_CX);
	default: return 0;
	}
}

/* Map 0F: instructions with and without VEX that move from vector to general registers. */
static uint16_t vector_writes(const struct reader *reader, const struct x86_insn *insn)
{
	switch (insn->opcode & 0xff) {
	case 0x2c:
	case 0x2d:
	case 0x50:
	case 0xc5:
	case 0xd7: return reg_bit(reader, insn, false);
	case 0x78:
	case 0x79: return insn->is_vex ? reg_bit(reader, insn, false) : 0;
	case 0x93: return insn->is_vex ? reg_bit(reader, insn, false) : 0; /* kmov */
	case 0x7e: return insn->repeat == 0xf3 ? 0 : rm_bit(reader, insn, false);
	default: return 0;
	}
}

static uint16_t two_byte_writes(const struct reader *reader, const struct x86_insn *insn)
{
	const uint16_t result = BIT(X86_AX) | BIT(X86_DX);
	uint8_t opcode = insn->opcode;

	switch (opcode) {
	case 0x00:
	case 0x20:
	case 0x21:
	case 0xa4:
	case 0xa5:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xae: /* rdfsbase */
	case 0xb3:
	case 0xbb: return rm_bit(reader, insn, false);
	case 0xba: return (insn->reg & 7) == 4 ? 0 : rm_bit(reader, insn, false); /* bt */
	case 0x1e: return insn->repeat == 0xf3 ? rm_bit(reader, insn, false) : 0; /* rdssp */
	case 0x01: /* xgetbv, rdtscp; smsw */
		return (insn->reg & 7) == 4 ? rm_bit(reader, insn, false) : result | BIT(X86_CX);
	case 0x31 ... 0x33: return result;
	case 0x05: return BIT(X86_AX) | BIT(X86_CX) | BIT(X86_R11);
	case 0x02:
	case 0x03:
	case 0x40 ... 0x4f:
	case 0xaf:
	case 0xb2:
	case 0xb4 ... 0xb8:
	case 0xbc ... 0xbf: return reg_bit(reader, insn, false);
	case 0x90 ... 0x9f: return rm_bit(reader, insn, true);
	case 0xa2: return result | BIT(X86_BX) | BIT(X86_CX);
	case 0xb0:
	case 0xb1: return rm_bit(reader, insn, opcode == 0xb0) | BIT(X86_AX);
	case 0xc0:
	case 0xc1:
		return rm_bit(reader, insn, opcode == 0xc0) | reg_bit(reader, insn, opcode == 0xc0);
	case 0xc7: return rm_bit(reader, insn, false) | result;
	case 0xc8 ... 0xcf: return opcode_bit(reader, insn, false);
	default: return vector_writes(reader, insn);
	}
}

static uint16_t three_byte_writes(const struct reader *reader, const struct x86_insn *insn)
{
	uint8_t opcode = insn->opcode;
	bool is_0f3a = (insn->opcode & 0xff00) == MAP_0F3A;

	if (is_0f3a && opcode >= 0x14 && opcode <= 0x17)
		return rm_bit(reader, insn, false);
	if (is_0f3a && (opcode & ~2) == 0x61) /* pcmpestri, pcmpistri */
		return BIT(X86_CX);
	/* bmi, adx, crc32, movbe, cmpccxadd */
	if (opcode >= (is_0f3a ? 0xf0 : 0xe0) && (insn->is_vex || opcode >= 0xf0))
		return reg_bit(reader, insn, false) | (insn->is_vex ? BIT(reader->vvvv) : 0);
	return 0;
}

static uint16_t find_writes(const struct reader *reader, const struct x86_insn *insn)
{
	switch (insn->opcode & 0xff00) {
	case 0: return one_byte_writes(reader, insn);
	case MAP_0F:
		return insn->is_vex ? vector_writes(reader, insn) : two_byte_writes(reader, insn);
	default: return three_byte_writes(reader, insn);
	}
}

int x86_decode(const uint8_t *bytes, size_t n, struct x86_insn *ret)
{
	struct reader reader = {.bytes = bytes, .n = n < X86_MAX_LENGTH ? n : X86_MAX_LENGTH};
	struct x86_insn insn = {.base = X86_NOTHING, .index = X86_NOTHING};
	uint8_t byte = read_prefixes(&reader, &insn);

	if (byte == 0x0f) {
		read_escaped(&reader, &insn);
	} else if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
		reader.failed |= reader.rex || insn.has_66 || insn.repeat;
		if (byte == 0x62)
			read_evex(&reader, &insn);
		else
			read_vex(&reader, &insn, byte);
	} else {
		insn.opcode = byte;
		read_operands(&reader, &insn, one_byte[byte]);
	}
	if (reader.failed)
		return -ENOEXEC;
	if (reader.has_67) /* cut to 32 bits */
		insn.base = insn.index = X86_NOTHING;
	insn.length = reader.at;
	insn.opcode_reg = (insn.opcode & 7) | (reader.rex & 1) << 3;
	insn.writes = find_writes(&reader, &insn);
	*ret = insn;
	return 0;
}
