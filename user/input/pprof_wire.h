/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_wire: iterates over the fields of a protobuf message, in place:
 * https://protobuf.dev/programming-guides/encoding/
 */
#ifndef INPUT_PPROF_WIRE_H
#define INPUT_PPROF_WIRE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type { WIRE_NUMBER = 0, WIRE_64_BITS = 1, WIRE_BYTES = 2, WIRE_32_BITS = 5 };

#define WIRE_MAX_VARINT 10

struct wire {
	const uint8_t *at, *end;
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value; /* WIRE_NUMBER; WIRE_BYTES: their count */
	const uint8_t *start, *bytes;
};

/* Reads a base-128 number. False: cut off, or more than 64 bits; the position is lost then. */
static inline bool wire_varint(struct wire *wire, uint64_t *ret)
{
	uint64_t value = 0;

	if (wire->at < wire->end && *wire->at < 0x80) {
		*ret = *wire->at++;
		return true;
	}
	for (unsigned int shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
		uint8_t byte = *wire->at++;

		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* Reads the number and type of the next field and its value or length, but not its bytes. */
static inline bool wire_head(struct wire *wire, struct wire_field *ret)
{
	uint64_t tag;

	ret->start = wire->at;
	if (!wire_varint(wire, &tag) || !(tag >> 3) || tag >> 3 > UINT32_MAX >> 3)
		return false;
	ret->number = tag >> 3;
	ret->type = tag & 7;
	switch (ret->type) {
	case WIRE_NUMBER: return wire_varint(wire, &ret->value);
	case WIRE_64_BITS: ret->value = 8; return true;
	case WIRE_32_BITS: ret->value = 4; return true;
	case WIRE_BYTES: return wire_varint(wire, &ret->value);
	default: return false;
	}
}

/* Reads the next field. Returns 1; 0 at the end; -EINVAL for damage. */
static inline int wire_next(struct wire *wire, struct wire_field *ret)
{
	if (wire->at == wire->end)
		return 0;
	if (!wire_head(wire, ret))
		return -EINVAL;
	ret->bytes = wire->at;
	if (ret->type == WIRE_NUMBER)
		return 1;
	if (ret->value > (uint64_t)(wire->end - wire->at))
		return -EINVAL;
	wire->at += ret->value;
	return 1;
}

/*
 * Keeps the number of a field if it is one of the first @n_numbers; ignores others. False: the
 * field has another type.
 */
static inline bool wire_keep(const struct wire_field *field, uint64_t *numbers, uint32_t n_numbers)
{
	if (field->number >= n_numbers)
		return true;
	numbers[field->number] = field->value;
	return field->type == WIRE_NUMBER;
}

/* Reads a message of numbers into an array by field; missing fields stay unchanged. */
static inline bool wire_numbers(const uint8_t *bytes, size_t n, uint64_t *numbers,
				uint32_t n_numbers)
{
	struct wire wire = {bytes, bytes + n};
	struct wire_field field;
	int r;

	while ((r = wire_next(&wire, &field)) > 0)
		if (!wire_keep(&field, numbers, n_numbers))
			return false;
	return r == 0;
}

#endif
