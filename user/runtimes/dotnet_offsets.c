/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where things lie in CoreCLR's structures. From version 10 on it says so itself, to debuggers: an
 * exported descriptor leads to a text of JSON with its types and their fields ("data contracts"),
 * and to the addresses of variables. Version 9 has a table here, and the address of the map of all
 * code is the first that it exports to its own debugger library.
 *
 * A program can be CoreCLR and all its assemblies in one file (single-file): what follows the ELF
 * file there is code, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "runtimes/dotnet.h"
#include "runtimes/elf_find.h"

#define VERSION_TEXT "@(#)Version "

static const struct {
	const char *type, *field; /* NULL: its size */
	enum dotnet_offset to;
	uint32_t in_9;
} fields[] = {
	{"RangeSectionFragment", "Next", FRAGMENT_NEXT, 0},
	{"RangeSectionFragment", "RangeBegin", FRAGMENT_BEGIN, 8},
	{"RangeSectionFragment", "RangeEndOpen", FRAGMENT_END, 16},
	{"RangeSectionFragment", "RangeSection", FRAGMENT_SECTION, 24},
	{"RangeSection", "RangeBegin", SECTION_BEGIN, 0},
	{"RangeSection", "RangeEndOpen", SECTION_END, 8},
	{"RangeSection", "Flags", SECTION_FLAGS, 16},
	{"RangeSection", "R2RModule", SECTION_MODULE, 32},
	{"RangeSection", "HeapList", SECTION_HEAP, 40},
	{"CodeHeapListNode", "MapBase", HEAP_BASE, 32},
	{"CodeHeapListNode", "HeaderMap", HEAP_STARTS, 40},
	{"RealCodeHeader", "MethodDesc", HEADER_METHOD, 24},
	{"RealCodeHeader", "NumUnwindInfos", HEADER_N, 32},
	{"RealCodeHeader", "UnwindInfos", HEADER_FUNCTIONS, 36},
	{"MethodDesc", "Flags3AndTokenRemainder", METHOD_TOKEN, 0},
	{"MethodDesc", "ChunkIndex", METHOD_INDEX, 2},
	{"MethodDesc", "Slot", METHOD_SLOT, 4},
	{"MethodDesc", "Flags", METHOD_FLAGS, 6},
	{"DynamicMethodDesc", "MethodName", METHOD_NAME, 32},
	{"MethodDescChunk", NULL, CHUNK_SIZE, 24},
	{"MethodDescChunk", "MethodTable", CHUNK_TYPE, 0},
	{"MethodDescChunk", "FlagsAndTokenRange", CHUNK_TOKEN, 18},
	{"MethodTable", "MTFlags2", TYPE_TOKEN, 8},
	{"MethodTable", "Module", TYPE_MODULE, 24},
	{"MethodTable", "EEClassOrCanonMT", TYPE_CLASS, 40},
	{"EEClass", "MethodTable", CLASS_TYPE, 16},
	{"Module", "Base", MODULE_BASE, 288},
	{"Module", "ReadyToRunInfo", MODULE_COMPILED, 984},
	{"ReadyToRunInfo", "CompositeInfo", COMPILED_WHOLE, 40},
	{"ReadyToRunInfo", "RuntimeFunctions", COMPILED_FUNCTIONS, 80},
	{"ReadyToRunInfo", "NumRuntimeFunctions", COMPILED_N, 88},
	{"ReadyToRunInfo", "EntryPointToMethodDescMap", COMPILED_METHODS, 432},
	{"HashMap", "Buckets", HASH_BUCKETS, 16},
};
#define N_FIELDS (sizeof fields / sizeof *fields)

enum { SYMBOL_VARIABLES, SYMBOL_METADATA, SYMBOL_DESCRIPTOR, N_SYMBOLS };

/* What the descriptor's symbol leads to. */
struct descriptor {
	char magic[8];
	uint32_t flags, n_text;
	uint64_t text;
	uint32_t n_variables, pad;
	uint64_t variables;
};
#define DESCRIPTOR_MAGIC "DNCCDAC"
#define MOST_TEXT	 (256u << 10)
#define MOST_VARIABLES	 1024
#define NAME_BYTES	 64
#define CODE_MAP	 "ExecutionManagerCodeRangeMapAddress"

/* The text after `"@name":` and @bracket in @text, or NULL. */
static const char *find_value(const char *text, const char *end, const char *name,
			      const char *bracket)
{
	char wanted[NAME_BYTES + 5] = "\"";
	const char *found;

	strncat(wanted, name, NAME_BYTES);
	strcat(wanted, "\":");
	strcat(wanted, bracket);
	found = memmem(text, end - text, wanted, strlen(wanted));
	return found ? found + strlen(wanted) : NULL;
}

/* A number, or an array that begins with one; of a variable, an array in it. */
static bool read_number(const char *text, const char *end, uint32_t *ret)
{
	uint64_t number = 0;

	while (text < end && *text == '[')
		text++;
	if (text == end || *text < '0' || *text > '9')
		return false;
	for (; text < end && *text >= '0' && *text <= '9'; text++) {
		number = number * 10 + (*text - '0');
		if (number > INT32_MAX)
			return false;
	}
	*ret = number;
	return true;
}

static bool read_field(const char *types, const char *end, const char *type, const char *field,
		       uint32_t *ret)
{
	const char *from = find_value(types, end, type, "{"), *to, *value;

	if (!from)
		return false;
	to = memchr(from, '}', end - from);
	value = to ? find_value(from, to, field ?: "!", "") : NULL;
	return value && read_number(value, to, ret);
}

/* The number of the variable that leads to the map of code. */
static bool read_text(const char *text, uint32_t n, uint32_t *offsets, uint32_t *ret_variable)
{
	const char *end = text + n, *types = find_value(text, end, "types", "{"),
		   *globals = find_value(text, end, "globals", "{"), *map;

	if (!types || !globals || types > globals)
		return false;
	for (size_t i = 0; i < N_FIELDS; i++)
		if (!read_field(types, globals, fields[i].type, fields[i].field,
				&offsets[fields[i].to]))
			return false;
	map = find_value(globals, end, CODE_MAP, "");
	return map && read_number(map, end, ret_variable);
}

static int read_descriptor(const struct elf_file *elf, uint64_t address, struct runtime_facts *ret)
{
	_cleanup_free_ char *text = NULL;
	struct descriptor descriptor;
	uint64_t map = 0;
	uint32_t variable;

	if (elf_find_relocated(elf, address, &descriptor, sizeof descriptor) < 0)
		return -ENOEXEC;
	if (memcmp(descriptor.magic, DESCRIPTOR_MAGIC, sizeof descriptor.magic) != 0 ||
	    !descriptor.n_text || descriptor.n_text > MOST_TEXT ||
	    descriptor.n_variables > MOST_VARIABLES)
		return -ENOEXEC;
	text = malloc(descriptor.n_text);
	if (!text)
		return -ENOMEM;
	if (elf_find_bytes(elf, descriptor.text, text, descriptor.n_text) < 0 ||
	    !read_text(text, descriptor.n_text, ret->offsets, &variable) ||
	    variable >= descriptor.n_variables ||
	    elf_find_relocated(elf, descriptor.variables + 8 * variable, &map, sizeof map) < 0 ||
	    map > INT32_MAX)
		return -ENOEXEC;
	ret->offsets[DOTNET_MAP] = map;
	return 0;
}

void dotnet_use_table(uint64_t variables, struct runtime_facts *ret)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		ret->offsets[fields[i].to] = fields[i].in_9;
	ret->offsets[DOTNET_MAP] = variables > INT32_MAX ? 0 : variables;
	ret->offsets[DOTNET_MAP_IS_POINTER] = 1;
}

/* What follows the sections of a single-file program. */
static void find_assemblies(const struct elf_file *elf, struct runtime_facts *ret)
{
	Elf64_Ehdr header;
	uint64_t end;

	if (elf_file_read(elf, 0, &header, sizeof header) < 0)
		return;
	end = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
	for (size_t i = 0; i < elf->n_segments; i++)
		if (elf->segments[i].p_type == PT_LOAD &&
		    end < elf->segments[i].p_offset + elf->segments[i].p_filesz)
			return;
	end = (end + 4095) & ~4095ull;
	if (end >= elf->size || elf->size > INT32_MAX)
		return;
	ret->generated = ret->code_shift + end;
	ret->generated_size = elf->size - end;
}

int dotnet_examine(struct elf_file *elf, struct runtime_facts *ret)
{
	struct elf_wanted symbols[N_SYMBOLS] = {
		[SYMBOL_VARIABLES] = {"g_dacTable", true},
		[SYMBOL_METADATA] = {"MetaDataGetDispenser", true},
		[SYMBOL_DESCRIPTOR] = {"DotNetRuntimeContractDescriptor"},
	};
	char version[8] = "";
	uint32_t major;
	int r = elf_find_symbols(elf, symbols, N_SYMBOLS);

	if (r <= 0) {
		ret->runtime = 0;
		return r;
	}
	r = elf_find_variable_text(elf, VERSION_TEXT, version, sizeof version);
	if (r == -ENOMEM)
		return r;
	major = strtoul(version, NULL, 10) & 255;
	ret->version = major << 8;
	ret->code_shift = elf_find_code_shift(elf);
	if (major != 9 && major != 10) {
		ret->problem = RUNTIME_VERSION;
		return 0;
	}
	if (elf->machine != EM_X86_64) {
		ret->problem = RUNTIME_BUILD;
		return 0;
	}
	if (major == 9)
		dotnet_use_table(symbols[SYMBOL_VARIABLES].address, ret);
	else
		r = read_descriptor(elf, symbols[SYMBOL_DESCRIPTOR].address, ret);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		ret->problem = RUNTIME_LAYOUT;
	find_assemblies(elf, ret);
	return 0;
}

/* Whether what the frame program reads at once lies in what it reads. */
static bool are_within(const uint32_t *o)
{
	static const struct {
		enum dotnet_offset first, last;
		uint32_t size;
	} all[] = {
		{FRAGMENT_NEXT, FRAGMENT_SECTION, 32},
		{SECTION_BEGIN, SECTION_HEAP, 64},
		{HEAP_BASE, HEAP_STARTS, 64},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (uint32_t k = all[i].first; k <= all[i].last; k++)
			if (o[k] + 8 > all[i].size || o[k] & 7)
				return false;
	return o[HEADER_N] >= o[HEADER_METHOD] && o[HEADER_FUNCTIONS] >= o[HEADER_METHOD] &&
	       o[HEADER_N] - o[HEADER_METHOD] <= 28 &&
	       o[HEADER_FUNCTIONS] - o[HEADER_METHOD] <= 20 &&
	       o[COMPILED_N] >= o[COMPILED_FUNCTIONS] &&
	       o[COMPILED_N] - o[COMPILED_FUNCTIONS] <= 12 && o[METHOD_TOKEN] <= 6 &&
	       o[METHOD_INDEX] <= 7 && o[METHOD_SLOT] <= 6 && o[METHOD_FLAGS] <= 6;
}

#define MOST_OFFSET    4096
#define MOST_GENERATED (2ull << 30)

bool dotnet_is_sound(const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;

	if (!o[DOTNET_MAP] || o[DOTNET_MAP] > INT32_MAX || o[DOTNET_MAP_IS_POINTER] > 1)
		return false;
	for (int i = FRAGMENT_NEXT; i < N_DOTNET_OFFSETS; i++)
		if (o[i] > MOST_OFFSET)
			return false;
	return facts->generated_size <= MOST_GENERATED && are_within(o);
}
