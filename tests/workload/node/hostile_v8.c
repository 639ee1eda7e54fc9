/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile_v8: says that it is V8 10.2, and is none. Its one thread is in generated code for ever, below
 * more frames than are kept, each of which returns to another address. Their functions have a name
 * that is made of itself, a script without an end, and code in which nearly all words could be the
 * beginning of an object.
 *
 * Prints "ready" when it begins.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* What builds say; those that have no `to` must be as bpfflame expects. */
#define SAY(name, value) int v8dbg_##name = value;
SAY(class_Map__instance_type__uint16_t, 12)
SAY(FirstNonstringType, 128)
SAY(type_BytecodeArray__BYTECODE_ARRAY_TYPE, 195)
SAY(type_Code__CODE_TYPE, 240)
SAY(type_InterpreterData__INTERPRETER_DATA_TYPE, 162)
SAY(type_ScopeInfo__SCOPE_INFO_TYPE, 256)
SAY(type_Script__SCRIPT_TYPE, 170)
SAY(type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE, 257)
SAY(type_ByteArray__BYTE_ARRAY_TYPE, 194)
SAY(class_JSFunction__shared__SharedFunctionInfo, 24)
SAY(class_SharedFunctionInfo__function_data__Object, 8)
SAY(class_SharedFunctionInfo__name_or_scope_info__Object, 16)
SAY(class_SharedFunctionInfo__script_or_debug_info__HeapObject, 32)
SAY(class_SharedFunctionInfo__flags__int, 48)
SAY(class_Script__source__Object, 8)
SAY(class_Script__name__Object, 16)
SAY(scopeinfo_idx_first_vars, 3)
SAY(class_String__length__int32_t, 12)
SAY(class_SeqOneByteString__chars__char, 16)
SAY(class_ThinString__actual__String, 16)
SAY(class_BytecodeArray__data__uintptr_t, 56)
SAY(off_fp_context, -8)
SAY(off_fp_function, -16)
SAY(off_fp_bytecode_array, -32)
SAY(off_fp_bytecode_offset, -40)
SAY(HeapObjectTag, 1)
SAY(SmiValueShift, 1)
SAY(SmiShiftSize, 31)
SAY(OneByteStringTag, 8)
SAY(StringRepresentationMask, 7)
SAY(ConsStringTag, 1)
SAY(ExternalStringTag, 2)
SAY(SlicedStringTag, 3)
SAY(ThinStringTag, 5)
SAY(CodeKindBaseline, 11)
int major __asm__("_ZN2v88internal7Version6major_E") = 10;
int minor __asm__("_ZN2v88internal7Version6minor_E") = 2;
__asm__(".text\n"
	".globl _ZN2v88internal23DefaultEmbeddedBlobCodeEv, "
	"_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv\n"
	".type _ZN2v88internal23DefaultEmbeddedBlobCodeEv, @function\n"
	".type _ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv, @function\n"
	"_ZN2v88internal23DefaultEmbeddedBlobCodeEv: lea blob(%rip), %rax; ret\n"
	"_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv: mov $4096, %eax; ret\n"
	".balign 4096\n"
	"blob: .fill 4096, 1, 0x90\n");

enum { FRAMES = 4096, FRAME_BYTES = 64, CODE_BYTES = 4 << 20, HEAP_BYTES = 1 << 20 };
enum { MAP_SHARED_INFO = 0x100, MAP_SCOPE = 0x200, MAP_THIN = 0x300, MAP_SCRIPT = 0x400, MAP_CODE = 0x500 };
enum { FUNCTION = 0x1000, SHARED = 0x1100, SCRIPT = 0x1200, SCOPE = 0x1300, NAME = 0x1400 };

static uint8_t *heap;

static uint64_t tagged(uint32_t at)
{
	return (uintptr_t)heap + at + 1;
}

static void put(uint32_t at, uint64_t word)
{
	memcpy(heap + at, &word, sizeof word);
}

static void put_map(uint32_t at, uint16_t type)
{
	memcpy(heap + at + 12, &type, sizeof type);
}

static void make_heap(void)
{
	put_map(MAP_SHARED_INFO, 257);
	put_map(MAP_SCOPE, 256);
	put_map(MAP_THIN, 45);
	put_map(MAP_SCRIPT, 170);
	put_map(MAP_CODE, 240);
	put(FUNCTION + 24, tagged(SHARED));
	put(SHARED, tagged(MAP_SHARED_INFO));
	put(SHARED + 16, tagged(SCOPE));
	put(SHARED + 32, tagged(SCRIPT));
	put(SCRIPT, tagged(MAP_SCRIPT));
	put(SCRIPT + 8, tagged(NAME));
	put(SCRIPT + 16, tagged(NAME));
	put(SCOPE, tagged(MAP_SCOPE));
	put(SCOPE + 32, tagged(NAME));
	put(NAME, tagged(MAP_THIN)); /* another name for … */
	put(NAME + 16, tagged(NAME)); /* … itself */
}

static uint8_t *make(size_t bytes, int rights)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE | rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
	uint8_t *stack = make((FRAMES + 2) * FRAME_BYTES, 0), *code = make(CODE_BYTES, PROT_EXEC);
	uint64_t *words = (uint64_t *)code;

	heap = make(HEAP_BYTES, 0);
	make_heap();
	for (size_t i = 0; i < CODE_BYTES / 8; i++)
		words[i] = tagged(MAP_CODE);
	memcpy(code + CODE_BYTES / 2, "\xeb\xfe", 2); /* jumps to itself */
	for (size_t i = 1; i <= FRAMES; i++) {
		uint64_t *frame = (uint64_t *)(stack + i * FRAME_BYTES);

		frame[0] = (uintptr_t)(frame + FRAME_BYTES / 8);
		frame[1] = (uintptr_t)code + CODE_BYTES / 2 + i * 8;
		frame[-1] = tagged(FUNCTION); /* a context */
		frame[-2] = tagged(FUNCTION);
	}
	puts("ready");
	fflush(stdout);
	__asm__ volatile("mov %0, %%rsp; mov %1, %%rbp; jmp *%2" ::"a"(stack + FRAME_BYTES / 2),
			 "c"(stack + FRAME_BYTES), "d"(code + CODE_BYTES / 2)
			 : "memory");
	return 0;
}
