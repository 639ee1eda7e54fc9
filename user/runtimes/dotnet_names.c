/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of .NET's methods: from the start of a function to its section, to its method's
 * descriptor, to numbers in the tables of its assembly. What has no descriptor that leads back to
 * itself, or another check than the frame, has no name. It is checked first and, for code may go
 * meanwhile, last.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtimes/dotnet.h"

#define MOST_FRAGMENTS 256
#define MOST_FUNCTIONS (1u << 24)
#define MOST_FUNCLETS  256 /* of a method */
#define MOST_BUCKETS   (1u << 24)
#define BUCKET_BYTES   64 /* four keys, four values */
#define BUCKET_SLOTS   4
#define MOST_PROBES    64
#define KIND_ARRAY     4

static int read_bytes(const struct runtime_memory *memory, uint64_t address, void *to, uint32_t n)
{
	const struct runtime_piece piece = {address, n, to};

	return memory->read(memory->context, &piece, 1);
}

static int read_word(const struct runtime_memory *memory, uint64_t address, uint64_t *ret)
{
	return read_bytes(memory, address, ret, sizeof *ret);
}

/* Reads the word at @address + @offset to *@address, for chains of pointers. */
static int follow(const struct runtime_memory *memory, uint64_t *address, uint32_t offset)
{
	int r = read_word(memory, *address + offset, address);

	if (r < 0)
		return r;
	return *address ? 0 : -ESTALE;
}

/* Where code lies. */
struct section {
	uint64_t begin, end, module, heap;
	uint32_t flags;
};

/* Errors here and below: -ESTALE: there is none. */
static int find_fragment(const struct runtime_facts *facts, const struct runtime_memory *memory,
			 uint64_t code, uint64_t *ret)
{
	const uint32_t *o = facts->offsets;
	uint64_t at = memory->bias + o[DOTNET_MAP], begin, end;
	int r = o[DOTNET_MAP_IS_POINTER] ? follow(memory, &at, 0) : 0;

	if (r < 0)
		return r;
	for (int level = DOTNET_LEVELS - 1; level >= 0; level--) {
		uint32_t i = code >> (DOTNET_CHUNK_BITS + DOTNET_LEVEL_BITS * level) & 255;

		at &= ~1ull;
		r = follow(memory, &at, 8 * i);
		if (r < 0)
			return r;
	}
	for (int i = 0; i < MOST_FRAGMENTS; i++) {
		at &= ~1ull;
		r = at ? read_word(memory, at + o[FRAGMENT_BEGIN], &begin) : -ESTALE;
		if (r < 0)
			return r;
		r = read_word(memory, at + o[FRAGMENT_END], &end);
		if (r < 0)
			return r;
		if (code >= begin && code < end) {
			*ret = at;
			return follow(memory, ret, o[FRAGMENT_SECTION]);
		}
		r = read_word(memory, at + o[FRAGMENT_NEXT], &at);
		if (r < 0)
			return r;
	}
	return -ESTALE;
}

static int read_section(const uint32_t *o, const struct runtime_memory *memory, uint64_t address,
			struct section *ret)
{
	const struct runtime_piece pieces[] = {
		{address + o[SECTION_BEGIN], sizeof ret->begin, &ret->begin},
		{address + o[SECTION_END], sizeof ret->end, &ret->end},
		{address + o[SECTION_MODULE], sizeof ret->module, &ret->module},
		{address + o[SECTION_HEAP], sizeof ret->heap, &ret->heap},
		{address + o[SECTION_FLAGS], sizeof ret->flags, &ret->flags},
	};

	return memory->read(memory->context, pieces, sizeof pieces / sizeof *pieces);
}

static int find_section(const struct runtime_facts *facts, const struct runtime_memory *memory,
			uint64_t code, struct section *ret)
{
	uint64_t address;
	int r = find_fragment(facts, memory, code, &address);

	if (r < 0)
		return r;
	r = read_section(facts->offsets, memory, address, ret);
	if (r < 0)
		return r;
	return code < ret->begin || code >= ret->end || ret->flags & DOTNET_STUBS ? -ESTALE : 0;
}

/* --- compiled at run time --- */

/* The method that starts at @code. */
static int find_compiled(const struct runtime_facts *facts, const struct runtime_memory *memory,
			 const struct section *section, uint64_t code, uint64_t *ret)
{
	const uint32_t *o = facts->offsets;
	uint64_t base, starts, distance;
	uint32_t number;
	int r;

	if (section->module || !section->heap)
		return -ESTALE;
	r = read_word(memory, section->heap + o[HEAP_BASE], &base);
	if (r < 0)
		return r;
	r = read_word(memory, section->heap + o[HEAP_STARTS], &starts);
	if (r < 0)
		return r;
	if (code < base || code & 3)
		return -ESTALE;
	distance = code - base;
	r = read_bytes(memory, starts + distance / DOTNET_UNIT_BYTES * 4, &number, sizeof number);
	if (r < 0)
		return r;
	if ((number & 15) >= DOTNET_FIRST_POINTER) {
		if ((number & ~15u) + (((number & 15) - DOTNET_FIRST_POINTER) << 2) != distance)
			return -ESTALE;
	} else {
		uint32_t piece = distance % DOTNET_UNIT_BYTES / DOTNET_BUCKET_BYTES;

		if ((number >> (28 - 4 * piece) & 15) != distance % DOTNET_BUCKET_BYTES / 4 + 1)
			return -ESTALE;
	}
	*ret = code - 8;
	r = follow(memory, ret, 0);
	if (r < 0)
		return r;
	if (*ret <= DOTNET_MOST_STUB)
		return -ESTALE;
	return follow(memory, ret, o[HEADER_METHOD]);
}

/* --- compiled ahead of time --- */

struct functions {
	uint64_t methods; /* where the table is that leads to them */
	uint64_t list;
	uint32_t n;
};

static int read_functions(const struct runtime_facts *facts, const struct runtime_memory *memory,
			  const struct section *section, struct functions *ret)
{
	const uint32_t *o = facts->offsets;
	uint64_t at = section->module;
	int r = at ? follow(memory, &at, o[MODULE_COMPILED]) : -ESTALE;

	if (r < 0)
		return r;
	r = follow(memory, &at, o[COMPILED_WHOLE]);
	if (r < 0)
		return r;
	ret->methods = at + o[COMPILED_METHODS] + o[HASH_BUCKETS];
	r = read_word(memory, at + o[COMPILED_FUNCTIONS], &ret->list);
	if (r < 0)
		return r;
	r = read_bytes(memory, at + o[COMPILED_N], &ret->n, sizeof ret->n);
	if (r < 0)
		return r;
	return ret->n > MOST_FUNCTIONS ? -ESTALE : 0;
}

/*
 * What the table of methods has for @start; 0: nothing. Its first bucket has the number of others;
 * keys that have no room in theirs are some others on.
 */
static int look_up(const struct runtime_memory *memory, const struct functions *functions,
		   uint64_t start, uint64_t *ret)
{
	uint64_t buckets, words[2 * BUCKET_SLOTS];
	uint32_t at = start >> 2, step, size;
	int r = read_word(memory, functions->methods, &buckets);

	if (r < 0)
		return r;
	r = read_bytes(memory, buckets, &size, sizeof size);
	if (r < 0)
		return r;
	if (size < 2 || size > MOST_BUCKETS)
		return -ESTALE;
	step = 1 + ((uint32_t)(start >> 5) + 1) % (size - 1);
	*ret = 0;
	for (uint32_t i = 0; i < size && i < MOST_PROBES; i++, at += step) {
		r = read_bytes(memory, buckets + BUCKET_BYTES * (1 + (uint64_t)at % size), words,
			       sizeof words);
		if (r < 0)
			return r;
		for (int k = 0; k < BUCKET_SLOTS; k++)
			if (words[k] == start) {
				*ret = words[BUCKET_SLOTS + k]
				       << 1; /* its highest bit is not its */
				return 0;
			}
		if (!(words[BUCKET_SLOTS] >> 63)) /* no others on */
			return 0;
	}
	return 0;
}

/* The method with a function that begins at @code: of its functions, the first is in the table. */
static int find_ready(const struct runtime_facts *facts, const struct runtime_memory *memory,
		      const struct section *section, uint64_t code, uint64_t *ret)
{
	struct functions functions;
	uint32_t low = 0, high, begin;
	int r = read_functions(facts, memory, section, &functions);

	if (r < 0)
		return r;
	high = functions.n;
	while (low + 1 < high) {
		uint32_t half = (low + high) / 2;

		r = read_bytes(memory, functions.list + DOTNET_FUNCTION_SIZE * half, &begin, 4);
		if (r < 0)
			return r;
		if (code - section->begin < begin)
			high = half;
		else
			low = half;
	}
	*ret = 0;
	for (uint32_t i = 0; !*ret; i++) {
		if (i > low || i > MOST_FUNCLETS)
			return -ESTALE;
		r = read_bytes(memory, functions.list + DOTNET_FUNCTION_SIZE * (low - i), &begin,
			       4);
		if (r < 0)
			return r;
		if (i == 0 && section->begin + begin != code)
			return -ESTALE;
		r = look_up(memory, &functions, section->begin + begin, ret);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- methods --- */

/* What a descriptor says. */
struct method {
	uint64_t address, type;
	uint32_t token, kind, slot;
	uint32_t own; /* of its token */
};

static int read_method(const uint32_t *o, const struct runtime_memory *memory, uint64_t address,
		       struct method *ret)
{
	uint16_t own, kind, slot, range;
	uint8_t index;
	const struct runtime_piece pieces[] = {
		{address + o[METHOD_TOKEN], sizeof own, &own},
		{address + o[METHOD_INDEX], sizeof index, &index},
		{address + o[METHOD_SLOT], sizeof slot, &slot},
		{address + o[METHOD_FLAGS], sizeof kind, &kind},
	};
	uint64_t chunk;
	int r = address & 7 ? -ESTALE : memory->read(memory->context, pieces, 4);

	if (r < 0)
		return r;
	*ret = (struct method){
		.address = address,
		.own = own & ((1 << DOTNET_TOKEN_BITS) - 1),
		.kind = kind & DOTNET_KIND_BITS,
		.slot = slot,
	};
	chunk = address - 8 * (uint64_t)index - o[CHUNK_SIZE];
	r = read_word(memory, chunk + o[CHUNK_TYPE], &ret->type);
	if (r < 0)
		return r;
	r = read_bytes(memory, chunk + o[CHUNK_TOKEN], &range, sizeof range);
	if (r < 0)
		return r;
	ret->token = (range & 0xfffu) << DOTNET_TOKEN_BITS | ret->own;
	return 0;
}

/* Whether @type is one: its class leads back to it, or to the one that it was made of. */
static int verify_type(const uint32_t *o, const struct runtime_memory *memory, uint64_t type)
{
	uint64_t whole = type, class;
	int r = read_word(memory, type + o[TYPE_CLASS], &class);

	if (r < 0)
		return r;
	if (class & 1) {
		whole = class & ~1ull;
		r = read_word(memory, whole + o[TYPE_CLASS], &class);
		if (r < 0)
			return r;
		if (class & 1)
			return -ESTALE;
	}
	r = follow(memory, &class, o[CLASS_TYPE]);
	if (r < 0)
		return r;
	return class == whole ? 0 : -ESTALE;
}

/* The name that was given at run time, and its part of the check. */
static int read_own_name(const uint32_t *o, const struct runtime_memory *memory,
			 const struct method *method, bool may_go, char *to, size_t size,
			 uint32_t *check)
{
	uint64_t at = method->address;
	size_t n = 0;
	int r = follow(memory, &at, o[METHOD_NAME]);

	if (r < 0)
		return r;
	for (bool ends = false; !ends && n < size - 1; n++) {
		r = read_bytes(memory, at + n, to + n, 1);
		if (r < 0)
			return r;
		ends = !to[n];
		if (may_go && n < DOTNET_MOST_NAME)
			*check = (*check + (uint8_t)to[n]) * DOTNET_SPREAD;
	}
	to[n] = '\0';
	if (!*to)
		return -ESTALE;
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == 0x7f || *to == ';')
			*to = '?';
	return 0;
}

/* What the frame program reads of an assembly that may go. */
static int read_build(const struct runtime_memory *memory, uint64_t base, uint32_t *check)
{
	uint32_t at, stamp;
	int r = read_bytes(memory, base + 0x3c, &at, sizeof at);

	if (r < 0)
		return r;
	r = read_bytes(memory, base + at + 8, &stamp, sizeof stamp);
	if (r < 0)
		return r;
	*check ^= stamp * DOTNET_SPREAD;
	return 0;
}

static int name_method(const struct runtime_facts *facts, const struct runtime_memory *memory,
		       const struct method *method, bool may_go, uint32_t *check,
		       struct runtime_code *ret)
{
	const uint32_t *o = facts->offsets;
	uint64_t base = method->type;
	uint32_t type;
	int r;

	*check = method->own ^ method->slot * DOTNET_SPREAD_2 ^
		 (uint32_t)(method->address >> 3) * DOTNET_SPREAD;
	if (method->kind == DOTNET_KIND_DYNAMIC)
		return read_own_name(o, memory, method, may_go, ret->name, sizeof ret->name / 4,
				     check);
	r = method->kind == KIND_ARRAY ? -ESTALE : verify_type(o, memory, method->type);
	if (r < 0)
		return r;
	r = read_bytes(memory, method->type + o[TYPE_TOKEN], &type, sizeof type);
	if (r < 0)
		return r;
	r = follow(memory, &base, o[TYPE_MODULE]);
	if (r < 0)
		return r;
	r = follow(memory, &base, o[MODULE_BASE]);
	if (r < 0)
		return r;
	if (may_go) {
		r = read_build(memory, base, check);
		if (r < 0)
			return r;
	}
	return dotnet_metadata_name(memory, base, type >> 8, method->token, ret);
}

/* The method that @frame is in, and its part of a check that is not its own. */
static int find_method(const struct runtime_facts *facts, const struct runtime_memory *memory,
		       const struct runtime_frame *frame, struct section *ret_section,
		       struct method *ret)
{
	uint64_t address;
	int r = find_section(facts, memory, frame->code, ret_section);

	if (r < 0)
		return r;
	r = (frame->kind == DOTNET_READY ? find_ready : find_compiled)(facts, memory, ret_section,
								       frame->code, &address);
	if (r < 0)
		return r;
	return read_method(facts->offsets, memory, address, ret);
}

static int verify_check(const struct runtime_facts *facts, const struct runtime_memory *memory,
			const struct section *section, const struct runtime_frame *frame,
			uint32_t check)
{
	if (frame->kind == DOTNET_READY) {
		struct functions functions;
		int r = read_functions(facts, memory, section, &functions);

		if (r < 0)
			return r;
		check = functions.list >> 2;
	}
	return check == frame->check ? 0 : -ESTALE;
}

int dotnet_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		    const struct runtime_frame *frame, struct runtime_code *ret)
{
	struct section section;
	struct method method, again;
	uint32_t check;
	int r = find_method(facts, memory, frame, &section, &method);

	if (r < 0)
		return r;
	r = name_method(facts, memory, &method, section.flags & DOTNET_COLLECTIBLE, &check, ret);
	if (r < 0)
		return r;
	r = verify_check(facts, memory, &section, frame, check);
	if (r < 0)
		return r;
	r = find_method(facts, memory, frame, &section, &again);
	if (r < 0)
		return r;
	if (memcmp(&method, &again, sizeof method) != 0)
		return -ESTALE;
	ret->is_compiled = true;
	return 0;
}
