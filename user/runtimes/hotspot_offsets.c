/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where things lie in HotSpot's structures. libjvm.so says it itself, for the debuggers that come
 * with Java (the serviceability agent): arrays of names and offsets, to which exported symbols
 * lead. So a version is data. What changed between versions is which of the fields there are.
 *
 * Names are in the file; offsets are computed when a process starts. So partial facts have the
 * place in the array, from 1 on, instead of an offset.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "runtimes/elf_find.h"
#include "runtimes/hotspot.h"

#define NAME_MAX_BYTES 64
#define ARRAY_MAX      (256u << 10)

#define NEVER 1, 0 /* there are builds without */

/* Fields of types: one row at least for each offset, for the versions that have it so. */
static const struct {
	const char *type, *field;
	enum hotspot_offset to;
	uint16_t from, until; /* versions that need it */
} fields[] = {
	{"CodeCache", "_heaps", CACHE_HEAPS, 9, 99},
	{"vmClasses", "_klasses[static_cast<int>(vmClassID::Object_klass_knum)]", CLASSES, 21, 99},
	{"CompressedOops", "_narrow_oop._base", OOPS_BASE, 21, 21},
	{"CompressedOops", "_narrow_oop._shift", OOPS_SHIFT, 21, 21},
	{"CompressedOops", "_base", OOPS_BASE, 25, 99},
	{"CompressedOops", "_shift", OOPS_SHIFT, 25, 99},
	{"GrowableArrayBase", "_len", ARRAY_LENGTH, 15, 99},
	{"GrowableArray<int>", "_data", ARRAY_DATA, 9, 99},
	{"CodeHeap", "_memory", HEAP_MEMORY, 9, 99},
	{"CodeHeap", "_segmap", HEAP_MAP, 9, 99},
	{"CodeHeap", "_log2_segment_size", HEAP_SHIFT, 9, 99},
	{"VirtualSpace", "_low", SPACE_LOW, 9, 99},
	{"VirtualSpace", "_high", SPACE_HIGH, 9, 99},
	{"CodeBlob", "_name", BLOB_NAME, 9, 99},
	{"CodeBlob", "_frame_size", BLOB_FRAME_SIZE, 9, 99},
	{"CodeBlob", "_frame_complete_offset", BLOB_COMPLETE, 9, 99},
	{"CodeBlob", "_code_begin", BLOB_CODE, 9, 22},
	{"CodeBlob", "_code_offset", BLOB_CODE_OFFSET, 23, 99},
	{"nmethod", "_compile_id", COMPILED_ID, 9, 99},
	{"CompiledMethod", "_method", COMPILED_METHOD, 9, 22},
	{"nmethod", "_method", COMPILED_METHOD, 23, 99},
	{"nmethod", "_state", COMPILED_STATE, 9, 99},
	{"nmethod", "_scopes_pcs_offset", COMPILED_PCS, 9, 99},
	{"nmethod", "_dependencies_offset", COMPILED_PCS_END, 9, 22},
	{"CompiledMethod", "_scopes_data_begin", COMPILED_SCOPES, 9, 22},
	{"nmethod", "_scopes_data_offset", COMPILED_SCOPES_OFFSET, 23, 99},
	{"nmethod", "_metadata_offset", COMPILED_METADATA, 9, 24},
	{"nmethod", "_immutable_data", COMPILED_TABLES, 23, 99},
	{"nmethod", "_immutable_data_size", COMPILED_TABLES_SIZE, 23, 99},
	{"CodeBlob", "_mutable_data", COMPILED_MUTABLE, 25, 99},
	{"CodeBlob", "_relocation_size", COMPILED_RELOCATIONS, 25, 99},
	{"Method", "_constMethod", METHOD_CONST, 9, 99},
	{"ConstMethod", "_constants", CONST_POOL, 9, 99},
	{"ConstMethod", "_constMethod_size", CONST_WORDS, 9, 99},
	{"ConstMethod", "_code_size", CONST_CODE_SIZE, 9, 99},
	{"ConstMethod", "_name_index", CONST_NAME, 9, 99},
	{"ConstMethod", "_flags", CONST_FLAGS, 9, 20},
	{"ConstMethod", "_flags._flags", CONST_FLAGS, 21, 99},
	{"ConstantPool", "_pool_holder", POOL_CLASS, 9, 99},
	{"ConstantPool", "_source_file_name_index", POOL_SOURCE, 15, 99},
	{"ConstantPool", "_length", POOL_LENGTH, 9, 99},
	{"Klass", "_name", CLASS_NAME, 9, 99},
	{"Symbol", "_hash_and_refcount", SYMBOL_HASH, 15, 99},
	{"Symbol", "_length", SYMBOL_LENGTH, 9, 99},
	{"Symbol", "_body", SYMBOL_BODY, 9, 99},
	{"Klass", "_layout_helper", CLASS_LAYOUT, 21, 99},
	{"InstanceKlass", "_fieldinfo_stream", CLASS_FIELDS, 21, 99},
	{"InstanceKlass", "_constants", CLASS_POOL, 21, 99},
	{"ZGlobalsForVMStructs", "_instance_p", Z_VARIABLES, NEVER},
	{"ZGlobalsForVMStructs", "_ZPointerLoadBadMask", Z_BAD_COLOURS, NEVER},
	{"ZGlobalsForVMStructs", "_ZPointerLoadShift", Z_SHIFT, NEVER},
	{"XGlobalsForVMStructs", "_instance_p", X_VARIABLES, NEVER},
	{"XGlobalsForVMStructs", "_XAddressBadMask", X_BAD_COLOURS, NEVER},
};
#define N_FIELDS (sizeof fields / sizeof *fields)

static const struct {
	const char *type;
	enum hotspot_offset to;
} sizes[] = {
	{"HeapBlock", BLOCK_SIZE},
	{"PcDesc", PC_DESC_SIZE},
	{"ConstMethod", CONST_SIZE},
	{"ConstantPool", POOL_SIZE},
};
#define N_SIZES (sizeof sizes / sizeof *sizes)

/* vmStructs.hpp of HotSpot: so since there is a serviceability agent. */
struct field_entry {
	uint64_t type, field, kind; /* strings */
	uint32_t is_static, pad;
	uint64_t offset, address;
};
struct type_entry {
	uint64_t type, super; /* strings */
	uint32_t is_pointer, is_number, is_unsigned, pad;
	uint64_t size;
};

enum { FIELDS, TYPES, N_SYMBOLS };

/* Where the arrays are. Errors: -ENOENT: this is not HotSpot. */
static int read_symbols(struct elf_file *elf, uint64_t arrays[static N_SYMBOLS])
{
	struct elf_wanted symbols[N_SYMBOLS] = {
		[FIELDS] = {"gHotSpotVMStructs", true},
		[TYPES] = {"gHotSpotVMTypes", true},
	};
	int r = elf_find_symbols(elf, symbols, N_SYMBOLS);

	if (r < 0)
		return r;
	for (size_t i = 0; i < N_SYMBOLS; i++) {
		if (!symbols[i].address)
			return -ENOENT;
		r = elf_find_relocated(elf, symbols[i].address, &arrays[i], 8);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The array at @address, as much of it as may be, in *@ret: the caller frees it. */
static int read_array(const struct elf_file *elf, uint64_t address, uint8_t **ret, size_t *ret_n)
{
	uint64_t offset, most;
	int r;

	if (!elf_file_offset(elf, address, &offset, &most))
		return -ENOEXEC;
	*ret_n = most < ARRAY_MAX ? most : ARRAY_MAX;
	*ret = malloc(*ret_n);
	if (!*ret)
		return -ENOMEM;
	r = elf_find_relocated(elf, address, *ret, *ret_n);
	if (r < 0) {
		free(*ret);
		*ret = NULL;
	}
	return r;
}

/* Reads the string at @address. Returns false if there is none. */
static bool read_name(const struct elf_file *elf, uint64_t address, char to[static NAME_MAX_BYTES])
{
	uint64_t offset, most;
	size_t n;

	to[0] = '\0';
	if (!address || !elf_file_offset(elf, address, &offset, &most))
		return false;
	n = most < NAME_MAX_BYTES ? most : NAME_MAX_BYTES;
	if (elf_file_read(elf, offset, to, n) < 0)
		return false;
	to[n - 1] = '\0';
	return true;
}

/* Facts while they are found; has[]: which were. */
struct layout_search {
	const struct elf_file *elf;
	struct runtime_facts *facts;
	uint64_t version_at;
	bool has[N_HOTSPOT_OFFSETS];
};

/* The @i'th entry. */
static void consider_field(struct layout_search *search, const char *type, const char *field,
			   size_t i, const struct field_entry *entry)
{
	bool is_static = entry->is_static;
	uint64_t value = is_static ? entry->address : i + 1;

	if (is_static && strcmp(type, "Abstract_VM_Version") == 0 &&
	    strcmp(field, "_vm_major_version") == 0)
		search->version_at = value;
	for (size_t k = 0; k < N_FIELDS; k++)
		if (strcmp(fields[k].type, type) == 0 && strcmp(fields[k].field, field) == 0 &&
		    is_static == (fields[k].to < N_HOTSPOT_ADDRESSES) && value <= INT32_MAX) {
			search->facts->offsets[fields[k].to] = value;
			search->has[fields[k].to] = true;
		}
}

static int find_fields(struct layout_search *search, uint64_t array)
{
	_cleanup_free_ uint8_t *entries = NULL;
	char type[NAME_MAX_BYTES], field[NAME_MAX_BYTES];
	struct field_entry entry;
	size_t n;
	int r = read_array(search->elf, array, &entries, &n);

	if (r < 0)
		return r;
	for (size_t at = 0; at + sizeof entry <= n; at += sizeof entry) {
		memcpy(&entry, entries + at, sizeof entry);
		if (!read_name(search->elf, entry.type, type))
			break;
		if (read_name(search->elf, entry.field, field))
			consider_field(search, type, field, at / sizeof entry, &entry);
	}
	return 0;
}

static int find_sizes(struct layout_search *search, uint64_t array)
{
	_cleanup_free_ uint8_t *entries = NULL;
	char type[NAME_MAX_BYTES];
	struct type_entry entry;
	size_t n;
	int r = read_array(search->elf, array, &entries, &n);

	if (r < 0)
		return r;
	for (size_t at = 0; at + sizeof entry <= n; at += sizeof entry) {
		memcpy(&entry, entries + at, sizeof entry);
		if (!read_name(search->elf, entry.type, type))
			break;
		for (size_t i = 0; i < N_SIZES; i++)
			if (strcmp(sizes[i].type, type) == 0) {
				search->facts->offsets[sizes[i].to] = entry.size;
				search->has[sizes[i].to] = true;
			}
	}
	return 0;
}

/* Versions that were held against what they say of their own stacks. */
static bool is_known(uint32_t major)
{
	return major == 17 || major == 21 || (major >= 25 && major <= 27);
}

static uint32_t problem_of(const struct layout_search *search)
{
	uint32_t major = search->facts->version >> 8;

	if (!is_known(major))
		return RUNTIME_VERSION;
	for (size_t i = 0; i < N_FIELDS; i++)
		if (major >= fields[i].from && major <= fields[i].until &&
		    !search->has[fields[i].to])
			return RUNTIME_LAYOUT;
	for (size_t i = 0; i < N_SIZES; i++)
		if (!search->has[sizes[i].to])
			return RUNTIME_LAYOUT;
	return RUNTIME_FINE;
}

/* Errors: -ENOENT, as of read_symbols(); -ENOMEM; others: they make no sense. */
static int read_arrays(struct elf_file *elf, struct layout_search *search,
		       uint64_t arrays[static N_SYMBOLS])
{
	int r = read_symbols(elf, arrays);

	if (r < 0)
		return r;
	r = find_fields(search, arrays[FIELDS]);
	if (r < 0)
		return r;
	return find_sizes(search, arrays[TYPES]);
}

int hotspot_find_offsets(struct elf_file *elf, struct runtime_facts *ret)
{
	struct layout_search search = {elf, ret};
	uint64_t arrays[N_SYMBOLS] = {};
	uint32_t version = 0;
	int r = read_arrays(elf, &search, arrays);

	if (r == -ENOENT) {
		ret->runtime = 0;
		return 0;
	}
	if (r == -ENOMEM)
		return r;
	if (r < 0 || elf_find_bytes(elf, search.version_at, &version, sizeof version) < 0 ||
	    version > UINT8_MAX) {
		ret->problem = RUNTIME_LAYOUT;
		return 0;
	}
	ret->version = HOTSPOT(version);
	ret->type = arrays[FIELDS];
	ret->is_partial = 1;
	ret->problem = elf->machine == EM_X86_64 ? problem_of(&search) : RUNTIME_BUILD;
	return 0;
}

static bool is_size(uint32_t offset)
{
	for (size_t i = 0; i < N_SIZES; i++)
		if (sizes[i].to == offset)
			return true;
	return false;
}

static int find_offsets(struct runtime_facts *facts, const struct runtime_memory *memory)
{
	struct runtime_facts whole = *facts;

	for (uint32_t i = N_HOTSPOT_ADDRESSES; i < N_HOTSPOT_OFFSETS; i++) {
		struct field_entry entry;
		uint64_t at = facts->type + memory->bias;
		int r;

		if (is_size(i) || !facts->offsets[i])
			continue;
		at += sizeof entry * (uint64_t)(facts->offsets[i] - 1);
		r = hotspot_read(memory, at, &entry, sizeof entry);
		if (r < 0)
			return r;
		if (!entry.type || entry.is_static)
			return -EAGAIN; /* not even relocated */
		whole.offsets[i] = entry.offset < UINT32_MAX ? entry.offset : UINT32_MAX;
	}
	if (!whole.offsets[HEAP_MAP] || !whole.offsets[BLOB_FRAME_SIZE])
		return -EAGAIN;
	whole.is_partial = 0;
	*facts = whole;
	return 0;
}

int hotspot_complete(struct runtime_facts *facts, const struct runtime_memory *memory)
{
	int r = facts->is_partial ? find_offsets(facts, memory) : 0;

	if (r < 0)
		return r;
	if (facts->offsets[CLASSES] && hotspot_is_sound(facts))
		hotspot_find_chunks(facts, memory);
	return 0;
}

#define MOST_OFFSET 4096

static bool is_aligned(const uint32_t *o)
{
	static const struct {
		enum hotspot_offset offset;
		uint32_t bytes;
	} all[] = {
		{HEAP_MEMORY, 8},	{HEAP_MAP, 8},		 {SPACE_LOW, 8},
		{BLOB_NAME, 8},		{BLOB_FRAME_SIZE, 4},	 {BLOB_COMPLETE, 2},
		{BLOB_CODE, 8},		{BLOB_CODE_OFFSET, 4},	 {COMPILED_ID, 4},
		{COMPILED_METHOD, 8},	{CONST_POOL, 8},	 {CONST_CODE_SIZE, 2},
		{CONST_NAME, 2},	{SYMBOL_HASH, 4},	 {ARRAY_LENGTH, 4},
		{ARRAY_DATA, 8},	{CONST_WORDS, 4},	 {POOL_CLASS, 8},
		{POOL_SOURCE, 2},	{CONST_FLAGS, 2},	 {CHUNK_SP, 4},
		{CHUNK_BOTTOM, 4},	{CHUNK_PC, 8},		 {CHUNK_STACK, 8},
		{CONTINUATION_TAIL, 4}, {CHUNK_CONTINUATION, 4}, {CHUNK_PARENT, 4},
		{REFERENCE_BYTES, 4},	{Z_BAD_COLOURS, 8},	 {Z_SHIFT, 8},
		{X_BAD_COLOURS, 8},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (o[all[i].offset] % all[i].bytes)
			return false;
	return true;
}

/* Whether what is read lies in what it is read from. */
static bool are_within(const uint32_t *o)
{
	const struct {
		enum hotspot_offset first, last;
		uint32_t size;
	} all[] = {
		{ARRAY_LENGTH, ARRAY_DATA, 128},	  {BLOB_NAME, BLOB_CODE_OFFSET, 128},
		{CONST_POOL, CONST_FLAGS, o[CONST_SIZE]}, {POOL_CLASS, POOL_LENGTH, o[POOL_SIZE]},
		{SYMBOL_HASH, SYMBOL_BODY, 32},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (uint32_t k = all[i].first; k <= all[i].last; k++)
			if (o[k] + 8 > all[i].size)
				return false;
	return true;
}

bool hotspot_is_sound(const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;

	for (size_t i = 0; i < N_HOTSPOT_OFFSETS; i++)
		if (o[i] > (i < N_HOTSPOT_ADDRESSES ? INT32_MAX : MOST_OFFSET))
			return false;
	if (facts->is_partial)
		return true;
	return is_aligned(o) && o[SPACE_HIGH] == o[SPACE_LOW] + 8 && o[PC_DESC_SIZE] >= 8 &&
	       o[PC_DESC_SIZE] <= 64 && o[CONST_SIZE] <= 128 && o[POOL_SIZE] <= 256 &&
	       are_within(o);
}
