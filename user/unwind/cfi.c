/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define MAX_LENGTH 12 /* bytes of an entry's length */

/* How an address is encoded: its size, its base, and whether it is stored elsewhere. */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_SIZE = 0x0f,
	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_FUNCREL = 0x40,
	PE_ALIGNED = 0x50,
	PE_BASE = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

const struct cfi_machine *cfi_machine(uint16_t machine)
{
	static const struct cfi_machine x86_64 = {
		.sp = 7,
		.fp = 6,
		.ra = 16,
		.bx = 3,
		.has_plt = true,
		.leaf_is_known = true,
		.signal_sp = 160,
	};
	static const struct cfi_machine aarch64 = {
		.sp = 31, .fp = 29, .ra = 30, .ra_in_register = true};

	return machine == EM_X86_64 ? &x86_64 : machine == EM_AARCH64 ? &aarch64 : NULL;
}

void cfi_section_done(struct cfi_section *section)
{
	free(section->cies);
	section->cies = NULL;
	section->n_cies = section->cies_capacity = 0;
}

static uint64_t read_number(struct cfi_bytes *bytes, uint8_t encoding, uint8_t address_size)
{
	switch (encoding & PE_SIZE) {
	case PE_ABSPTR: return address_size == 8 ? cfi_uint64(bytes) : cfi_uint32(bytes);
	case PE_ULEB128: return cfi_uleb128(bytes);
	case PE_UDATA2: return cfi_uint16(bytes);
	case PE_UDATA4: return cfi_uint32(bytes);
	case PE_SLEB128: return cfi_sleb128(bytes);
	case PE_SDATA2: return (int16_t)cfi_uint16(bytes);
	case PE_SDATA4: return (int32_t)cfi_uint32(bytes);
	case PE_UDATA8:
	case PE_SDATA8: return cfi_uint64(bytes);
	default: cfi_damage(bytes); return 0;
	}
}

bool cfi_encoded(const struct cfi_section *section, struct cfi_bytes *bytes, uint8_t encoding,
		 uint8_t address_size, uint64_t function, uint64_t *ret)
{
	uint64_t here = section->address + cfi_offset(section, bytes->at), base = 0, value;

	switch (encoding & PE_BASE) {
	case PE_ABSPTR: break;
	case PE_PCREL: base = here; break;
	case PE_TEXTREL: base = section->text_address; break;
	case PE_DATAREL: base = section->data_address; break;
	case PE_FUNCREL: base = function; break;
	case PE_ALIGNED:
		cfi_skip(bytes, -here & (address_size - 1));
		encoding = PE_ABSPTR;
		break;
	default: return false;
	}
	value = read_number(bytes, encoding, address_size) + base;
	if (bytes->damaged)
		return false;
	if ((encoding & PE_INDIRECT) && !section->pointer(section->context, value, &value))
		return false;
	*ret = value;
	return true;
}

/* Reads the augmentation's data by its letters. Returns false for unknown letters. */
static bool read_augmentation(const struct cfi_section *section, struct cfi_cie *cie,
			      const char *letters, struct cfi_bytes *bytes)
{
	uint8_t encoding;
	uint64_t personality;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R': cie->encoding = cfi_uint8(bytes); break;
		case 'S': cie->is_signal_frame = true; break;
		case 'L': cfi_skip(bytes, 1); break;
		case 'P':
			encoding = cfi_uint8(bytes) & ~PE_INDIRECT;
			cfi_encoded(section, bytes, encoding, cie->address_size, 0, &personality);
			break;
		case 'B': /* arm64: return addresses are signed with the other key */
		case 'G': /* arm64: the stack is tagged */ break;
		default: return false;
		}
	}
	return true;
}

/* Skips a string, which ends inside @bytes. */
static const char *read_string(struct cfi_bytes *bytes)
{
	const uint8_t *start = bytes->at, *end = memchr(start, '\0', cfi_left(bytes));

	if (!end) {
		cfi_damage(bytes);
		return "";
	}
	bytes->at = end + 1;
	return (const char *)start;
}

/* Reads what follows the identifier. Returns false if FDEs can't use the CIE. */
static bool parse_cie(const struct cfi_section *section, struct cfi_cie *cie,
		      struct cfi_bytes *bytes)
{
	uint8_t version = cfi_uint8(bytes), segment_size = 0;
	const char *augmentation = read_string(bytes);

	cie->address_size = section->address_size;
	if (version == 4) {
		cie->address_size = cfi_uint8(bytes);
		segment_size = cfi_uint8(bytes);
	} else if (version != 1 && version != 3) {
		return false;
	}
	if ((cie->address_size != 4 && cie->address_size != 8) || segment_size)
		return false;
	cie->code_factor = cfi_uleb128(bytes);
	cie->data_factor = cfi_sleb128(bytes);
	cie->ra = version == 1 ? cfi_uint8(bytes) : cfi_uleb128(bytes);
	if (*augmentation == 'z') {
		uint64_t n = cfi_uleb128(bytes);
		struct cfi_bytes data = {.at = bytes->at};

		if (!cfi_skip(bytes, n))
			return false;
		data.end = bytes->at;
		cie->has_sizes = true;
		if (!read_augmentation(section, cie, augmentation + 1, &data) || data.damaged)
			return false;
	} else if (*augmentation) {
		return false;
	}
	return !bytes->damaged && cfi_initial_state(section, cie, *bytes);
}

static int add_cie(struct cfi_section *section, uint32_t offset, struct cfi_bytes bytes)
{
	struct cfi_cie cie = {.offset = offset};

	if (array_reserve(section->cies, section->cies_capacity, section->n_cies, 1) < 0)
		return -ENOMEM;
	cie.usable = parse_cie(section, &cie, &bytes);
	section->n_damaged += !cie.usable;
	section->cies[section->n_cies++] = cie;
	return 0;
}

/*
 * Finds the CIE at @offset, which must have come before: entries refer back. Returns false if not.
 */
static bool find_cie(const struct cfi_section *section, uint64_t offset, uint32_t *ret)
{
	size_t low = 0, high = section->n_cies;

	if (high && section->cies[high - 1].offset == offset)
		low = high - 1;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (section->cies[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	if (low == high || section->cies[low].offset != offset || !section->cies[low].usable)
		return false;
	*ret = low;
	return true;
}

/* Reads what follows the identifier. Returns false if the entry is damaged. */
static bool parse_fde(const struct cfi_section *section, uint64_t cie_offset,
		      struct cfi_bytes bytes, struct cfi_function *function)
{
	const struct cfi_cie *cie;

	if (!find_cie(section, cie_offset, &function->cie))
		return false;
	cie = &section->cies[function->cie];
	if ((cie->encoding & PE_BASE) == PE_FUNCREL ||
	    !cfi_encoded(section, &bytes, cie->encoding, cie->address_size, 0, &function->start))
		return false;
	function->size = read_number(&bytes, cie->encoding, cie->address_size);
	if (cie->has_sizes)
		cfi_skip(&bytes, cfi_uleb128(&bytes));
	function->program = cfi_offset(section, bytes.at);
	function->program_end = cfi_offset(section, bytes.end);
	return !bytes.damaged;
}

/* Functions' programs read in the order of the code need few bytes at a time. */
#define FETCH_AHEAD (16u << 10)

const uint8_t *cfi_fetch(struct cfi_section *section, uint32_t offset, uint32_t n)
{
	uint32_t left = section->n - offset, ahead = FETCH_AHEAD;

	if (offset >= section->window && offset - section->window <= section->window_n &&
	    n <= section->window_n - (offset - section->window))
		return section->bytes + (offset - section->window);
	if (!section->read || offset > section->n || n > left || n > CFI_WINDOW)
		return NULL;
	if (section->is_in_order || n > ahead)
		ahead = CFI_WINDOW;
	section->window = offset;
	section->window_n = ahead < left ? ahead : left;
	if (section->read(section, offset, section->window_n) == 0)
		return section->bytes;
	section->window_n = 0;
	return NULL;
}

/* Cuts the next entry off the section, by its length. Returns false at the end. */
static bool next_entry(struct cfi_section *section, struct cfi_bytes *ret, bool *is_64)
{
	uint32_t left = section->n - section->at, n = left < MAX_LENGTH ? left : MAX_LENGTH;
	const uint8_t *at = cfi_fetch(section, section->at, n);
	struct cfi_bytes head = {at, at + (at ? n : 0)};
	uint64_t length = cfi_uint32(&head);

	*is_64 = length == UINT32_MAX;
	if (*is_64)
		length = cfi_uint64(&head);
	if (!head.damaged && length <= left - (uint64_t)(head.at - at)) {
		n = head.at - at;
		at = cfi_fetch(section, section->at, n + length);
		if (at) {
			*ret = (struct cfi_bytes){at + n, at + n + length};
			section->at += n + length;
			return true;
		}
	}
	/* Fewer than four bytes are padding. */
	section->n_damaged += left >= 4;
	section->at = section->n;
	return false;
}

/* Reads the offset of the entry's CIE; false: the entry is a CIE itself. */
static bool read_identifier(const struct cfi_section *section, struct cfi_bytes *bytes, bool is_64,
			    uint64_t *ret_offset)
{
	uint64_t here = cfi_offset(section, bytes->at), id;

	if (!section->is_debug_frame) {
		id = cfi_uint32(bytes);
		*ret_offset = here - id;
		return id != 0;
	}
	id = is_64 ? cfi_uint64(bytes) : cfi_uint32(bytes);
	*ret_offset = id;
	return id != (is_64 ? UINT64_MAX : UINT32_MAX);
}

int cfi_next(struct cfi_section *section, struct cfi_function *ret)
{
	struct cfi_bytes bytes;
	uint32_t offset;
	bool is_64;

	section->is_in_order = true;
	while (offset = section->at, next_entry(section, &bytes, &is_64)) {
		struct cfi_function function = {};
		uint64_t cie;

		if (bytes.at == bytes.end) { /* an object file's part ended here */
			section->at = section->ends_at_zero ? section->n : section->at;
			continue;
		}
		if (!read_identifier(section, &bytes, is_64, &cie)) {
			if (add_cie(section, offset, bytes) < 0)
				return -ENOMEM;
		} else if (!parse_fde(section, cie, bytes, &function)) {
			section->n_damaged++;
		} else if (function.size) {
			*ret = function;
			return 1;
		}
	}
	section->is_in_order = false;
	return 0;
}
