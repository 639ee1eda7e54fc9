/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where things lie in V8's objects. Builds say most of it themselves, for debuggers: variables
 * v8dbg_*, which even stripped ones export. What they don't say is in a table, a row a version: it
 * was held against what programs say of their own stacks.
 */
#include <stdio.h>
#include <string.h>

#include "runtimes/elf_find.h"
#include "runtimes/v8.h"

/* What a build says; of several names for an offset, it has one. */
static const struct {
	const char *name; /* after v8dbg_ */
	enum v8_offset to;
} said[] = {
	{"class_Map__instance_type__uint16_t", MAP_TYPE},
	{"FirstNonstringType", TYPE_NOT_STRING},
	{"type_BytecodeArray__BYTECODE_ARRAY_TYPE", TYPE_BYTECODE},
	{"type_Code__CODE_TYPE", TYPE_CODE},
	{"type_InstructionStream__INSTRUCTION_STREAM_TYPE", TYPE_STREAM},
	{"type_InterpreterData__INTERPRETER_DATA_TYPE", TYPE_INTERPRETER_DATA},
	{"type_ScopeInfo__SCOPE_INFO_TYPE", TYPE_SCOPE},
	{"type_Script__SCRIPT_TYPE", TYPE_SCRIPT},
	{"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", TYPE_SHARED},
	{"type_ByteArray__BYTE_ARRAY_TYPE", TYPE_BYTES},
	{"type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE", TYPE_BYTES},
	{"class_JSFunction__shared__SharedFunctionInfo", FUNCTION_SHARED},
	{"class_SharedFunctionInfo__name_or_scope_info__Object", SHARED_NAME},
	{"class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", SHARED_NAME},
	{"class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_", SHARED_NAME},
	{"class_SharedFunctionInfo__script_or_debug_info__HeapObject", SHARED_SCRIPT},
	{"class_SharedFunctionInfo__script__Tagged_HeapObject_", SHARED_SCRIPT},
	{"class_SharedFunctionInfo__flags__int", SHARED_FLAGS},
	{"class_Script__source__Object", SCRIPT_SOURCE},
	{"class_Script__name__Object", SCRIPT_NAME},
	{"scopeinfo_idx_first_vars", SCOPE_NAMES},
	{"class_String__length__int32_t", STRING_LENGTH},
	{"class_SeqOneByteString__chars__char", STRING_CHARACTERS},
	{"class_ThinString__actual__String", STRING_ACTUAL},
	{"class_BytecodeArray__data__uintptr_t", BYTECODE_DATA},
	{"CodeKindBaseline", CODE_BASELINE},
	{"DeoptimizationDataLiteralArrayIndex", KNOWN_LITERALS},
	{"DeoptimizationDataSharedFunctionInfoIndex", KNOWN_SHARED},
	{"DeoptimizationDataWrappedSharedFunctionInfoIndex", KNOWN_SHARED},
	{"DeoptimizationDataInliningPositionsIndex", KNOWN_INLININGS},
};
#define N_SAID (sizeof said / sizeof *said)

/* What must be as the text has it. */
static const struct {
	const char *name;
	int32_t value;
} expected[] = {
	{"off_fp_context", V8_FRAME_CONTEXT},
	{"off_fp_function", V8_FRAME_FUNCTION},
	{"off_fp_bytecode_array", V8_FRAME_BYTECODE},
	{"off_fp_bytecode_offset", V8_FRAME_OFFSET},
	{"HeapObjectTag", 1},
	{"SmiValueShift", 1},
	{"SmiShiftSize", 31}, /* no compressed pointers */
	{"OneByteStringTag", 8},
	{"StringRepresentationMask", 7},
	{"ConsStringTag", 1},
	{"ExternalStringTag", 2},
	{"SlicedStringTag", 3},
	{"ThinStringTag", 5},
};
#define N_EXPECTED (sizeof expected / sizeof *expected)

// clang-format off
#define LAYOUT_13 \
	[SHARED_LITERAL] = 60, [BYTECODE_POSITIONS] = 24, [CODE_DEOPTIMIZATION] = 8, [CODE_POSITIONS] = 16, \
	[CODE_START] = 40, [CODE_SIZE] = 56, [CODE_FLAGS] = 52, [STREAM_CODE] = 8, [STREAM_START] = 32, \
	[CODE_ALIGN] = 64
// clang-format on

/* What builds don't say, or not all. */
static const struct {
	uint32_t version;
	uint32_t offsets[N_V8_OFFSETS];
} known[] = {
	{V8(10, 2),
	 {[SHARED_LITERAL] = 52,
	  [BYTECODE_POSITIONS] = 32,
	  [CODE_DEOPTIMIZATION] = 16,
	  [CODE_POSITIONS] = 24,
	  [CODE_START] = 128,
	  [CODE_SIZE] = 40,
	  [CODE_FLAGS] = 48,
	  [CODE_ALIGN] = 32,
	  [KNOWN_LITERALS] = 2,
	  [KNOWN_SHARED] = 6,
	  [KNOWN_INLININGS] = 7}},
	{V8(11, 3),
	 {[SHARED_LITERAL] = 52,
	  [BYTECODE_POSITIONS] = 32,
	  [CODE_DEOPTIMIZATION] = 16,
	  [CODE_POSITIONS] = 24,
	  [CODE_START] = 40,
	  [CODE_SIZE] = 56,
	  [CODE_FLAGS] = 48,
	  [STREAM_CODE] = 8,
	  [STREAM_START] = 16,
	  [CODE_ALIGN] = 64}},
	{V8(12, 4),
	 {[SHARED_LITERAL] = 52,
	  [BYTECODE_POSITIONS] = 24,
	  [CODE_DEOPTIMIZATION] = 8,
	  [CODE_POSITIONS] = 16,
	  [CODE_START] = 40,
	  [CODE_SIZE] = 52,
	  [CODE_FLAGS] = 48,
	  [STREAM_CODE] = 8,
	  [STREAM_START] = 32,
	  [CODE_ALIGN] = 64}},
	{V8(13, 6), {LAYOUT_13}},
	{V8(14, 1), {LAYOUT_13, [PLACE_FLAGS] = 1}},
	{V8(14, 6), {LAYOUT_13, [PLACE_FLAGS] = 1}},
};

/* The same in all versions of the table. */
static const uint32_t constant[N_V8_OFFSETS] = {
	[SHARED_DATA] = 8,
	[SCRIPT_LINE] = 24,
	[SCRIPT_ID] = 64,
	[STRING_DATA] = 24,
};

/* What else is asked for. */
enum { MAJOR, MINOR, GENERATED, GENERATED_SIZE, OTHERS };
#define N_SYMBOLS  (OTHERS + N_SAID + N_EXPECTED)
#define NAME_BYTES 96

/* Names with v8dbg_ before them; elf_wanted points there. */
struct names {
	char text[N_SAID + N_EXPECTED][NAME_BYTES];
};

static void want(struct names *names, struct elf_wanted *symbols)
{
	symbols[MAJOR] = (struct elf_wanted){"_ZN2v88internal7Version6major_E", true};
	symbols[MINOR] = (struct elf_wanted){"_ZN2v88internal7Version6minor_E"};
	symbols[GENERATED] = (struct elf_wanted){"_ZN2v88internal23DefaultEmbeddedBlobCodeEv"};
	symbols[GENERATED_SIZE] =
		(struct elf_wanted){"_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv"};
	for (size_t i = 0; i < N_SAID + N_EXPECTED; i++) {
		const char *name = i < N_SAID ? said[i].name : expected[i - N_SAID].name;

		snprintf(names->text[i], NAME_BYTES, "v8dbg_%s", name);
		symbols[OTHERS + i] = (struct elf_wanted){names->text[i]};
	}
}

/* The variable @symbol; 0 also if it is among those that are not in the file, for they are 0. */
static int32_t value_of(const struct elf_file *elf, const struct elf_wanted *symbol)
{
	int32_t value;

	if (!symbol->address || elf_find_bytes(elf, symbol->address, &value, sizeof value) < 0)
		return 0;
	return value;
}

#define CODE_BYTES 16

/*
 * What a function of no arguments returns, if all it does is to load it: a number, an address, or
 * what is there. @bytes: how large that is.
 */
static uint64_t returned_by(const struct elf_file *elf, uint64_t address, uint32_t bytes)
{
	uint8_t code[CODE_BYTES];
	uint64_t value = 0;
	int32_t number;

	if (!address || elf_find_bytes(elf, address, code, sizeof code) < 0)
		return 0;
	if (code[0] == 0xb8 && code[5] == 0xc3) { /* mov $N,%eax; ret */
		memcpy(&number, code + 1, 4);
		return (uint32_t)number;
	}
	if (code[0] == 0x8b && code[1] == 0x05 && code[6] == 0xc3) { /* mov N(%rip),%eax; ret */
		memcpy(&number, code + 2, 4);
		return elf_find_relocated(elf, address + 6 + number, &value, bytes) < 0 ? 0 : value;
	}
	memcpy(&number, code + 3, 4);
	address += 7 + number;
	if (memcmp(code, "\x48\x8b\x05", 3) == 0 && code[7] == 0xc3) /* mov N(%rip),%rax; ret */
		return elf_find_relocated(elf, address, &value, bytes) < 0 ? 0 : value;
	if (memcmp(code, "\x48\x8d\x05", 3) != 0) /* lea N(%rip),%rax */
		return 0;
	if (code[7] == 0xc3)
		return address;
	if (memcmp(code + 7, "\x48\x8b\x00\xc3", 4) != 0 &&
	    memcmp(code + 7, "\x8b\x00\xc3", 3) != 0)
		return 0; /* mov (%rax),%rax or %eax */
	return elf_find_relocated(elf, address, &value, bytes) < 0 ? 0 : value;
}

/*
 * The embedded code. Builds that don't export what leads to it have it in their .symtab: in that
 * of 10.2 the first is a pointer to it.
 */
static void find_generated(struct elf_file *elf, const struct elf_wanted *symbols,
			   struct runtime_facts *ret)
{
	struct elf_wanted hidden[] = {{"v8_Default_embedded_blob_code_"},
				      {"v8_Default_embedded_blob_code_size_"}};

	ret->generated = returned_by(elf, symbols[GENERATED].address, 8);
	ret->generated_size = returned_by(elf, symbols[GENERATED_SIZE].address, 4);
	if ((ret->generated && ret->generated_size) || ret->version < V8(11, 3))
		return;
	elf_find_hidden(elf, hidden, 2);
	ret->generated = hidden[0].address;
	ret->generated_size = value_of(elf, &hidden[1]);
}

static bool take_known(struct runtime_facts *facts)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (known[i].version != facts->version)
			continue;
		for (uint32_t k = 0; k < N_V8_OFFSETS; k++)
			if (known[i].offsets[k] | constant[k])
				facts->offsets[k] = known[i].offsets[k] | constant[k];
		return true;
	}
	return false;
}

static uint32_t problem_of(const struct elf_file *elf, const struct elf_wanted *symbols,
			   struct runtime_facts *facts)
{
	if (!take_known(facts))
		return RUNTIME_VERSION;
	if (elf->machine != EM_X86_64 || !facts->generated || !facts->generated_size)
		return RUNTIME_BUILD;
	for (size_t i = 0; i < N_EXPECTED; i++)
		if (!symbols[OTHERS + N_SAID + i].address ||
		    value_of(elf, &symbols[OTHERS + N_SAID + i]) != expected[i].value)
			return RUNTIME_BUILD;
	for (size_t i = 0; i < N_SAID; i++)
		if (!facts->offsets[said[i].to] && said[i].to != TYPE_STREAM)
			return RUNTIME_LAYOUT;
	return v8_is_sound(facts) ? RUNTIME_FINE : RUNTIME_LAYOUT;
}

int v8_find_offsets(struct elf_file *elf, struct runtime_facts *ret)
{
	struct elf_wanted symbols[N_SYMBOLS];
	struct names names;
	int r;

	want(&names, symbols);
	r = elf_find_symbols(elf, symbols, N_SYMBOLS);
	if (r <= 0) {
		ret->runtime = 0;
		return r;
	}
	ret->version =
		V8(value_of(elf, &symbols[MAJOR]) & 255, value_of(elf, &symbols[MINOR]) & 255);
	for (size_t i = 0; i < N_SAID; i++)
		if (symbols[OTHERS + i].address)
			ret->offsets[said[i].to] = value_of(elf, &symbols[OTHERS + i]);
	find_generated(elf, symbols, ret);
	ret->problem = problem_of(elf, symbols, ret);
	return 0;
}

#define MOST_OFFSET    256
#define MOST_GENERATED (64u << 20)

static bool is_type(uint32_t offset)
{
	return offset >= TYPE_NOT_STRING && offset <= TYPE_BYTES;
}

static bool is_aligned(const uint32_t *o)
{
	static const enum v8_offset words[] = {
		FUNCTION_SHARED,   SHARED_DATA,	       SHARED_NAME,	    SHARED_SCRIPT,
		SCRIPT_SOURCE,	   SCRIPT_NAME,	       SCRIPT_LINE,	    SCRIPT_ID,
		STRING_CHARACTERS, STRING_DATA,	       STRING_ACTUAL,	    CODE_POSITIONS,
		CODE_START,	   BYTECODE_POSITIONS, CODE_DEOPTIMIZATION, STREAM_CODE,
		STREAM_START,
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (o[words[i]] & 7)
			return false;
	return !(o[MAP_TYPE] & 1) && !(o[STRING_LENGTH] & 3) && !(o[SHARED_LITERAL] & 3) &&
	       !(o[CODE_SIZE] & 3) && !(o[CODE_FLAGS] & 3);
}

bool v8_is_sound(const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;

	for (uint32_t i = 0; i < N_V8_OFFSETS; i++)
		if (o[i] > (is_type(i) ? UINT16_MAX : MOST_OFFSET))
			return false;
	/* The text reads 64 bytes of what functions share. */
	return is_aligned(o) && o[SHARED_DATA] >= 8 && o[SHARED_DATA] <= 64 &&
	       o[SHARED_NAME] >= 8 && o[SHARED_NAME] <= 64 && o[SHARED_SCRIPT] >= 8 &&
	       o[SHARED_SCRIPT] <= 64 && o[SHARED_LITERAL] >= 8 && o[SHARED_LITERAL] <= 68 &&
	       o[CODE_ALIGN] && !(o[CODE_ALIGN] & (o[CODE_ALIGN] - 1)) && o[CODE_ALIGN] >= 8 &&
	       o[SCOPE_NAMES] && o[SCOPE_NAMES] <= 16 && o[PLACE_FLAGS] <= 1 &&
	       facts->generated <= INT32_MAX && facts->generated_size <= MOST_GENERATED;
}
