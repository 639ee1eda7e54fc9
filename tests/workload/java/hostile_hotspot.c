/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile_hotspot KIND: a program that says of itself that it is HotSpot 17, and lies about its
 * frames, as user 65534. The map of its code leads back one step at a time (map), or 600 frames are
 * other ones each time, each with 63 methods inlined and the longest table of lines (names). It runs
 * in generated code until it is killed. Built with -rdynamic.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int version = 17;
static void *heaps;

/* vmStructs.hpp */
static const struct {
	const char *type, *field, *kind;
	int32_t is_static, pad;
	uint64_t offset;
	void *address;
} fields[] = {
	{"Abstract_VM_Version", "_vm_major_version", "int", 1, 0, 0, &version},
	{"CodeCache", "_heaps", "", 1, 0, 0, &heaps},
	{"GrowableArrayBase", "_len", "", 0, 0, 0, 0},
	{"GrowableArray<int>", "_data", "", 0, 0, 8, 0},
	{"CodeHeap", "_memory", "", 0, 0, 0, 0},
	{"CodeHeap", "_segmap", "", 0, 0, 24, 0},
	{"CodeHeap", "_log2_segment_size", "", 0, 0, 48, 0},
	{"VirtualSpace", "_low", "", 0, 0, 8, 0},
	{"VirtualSpace", "_high", "", 0, 0, 16, 0},
	{"CodeBlob", "_name", "", 0, 0, 16, 0},
	{"CodeBlob", "_frame_size", "", 0, 0, 8, 0},
	{"CodeBlob", "_frame_complete_offset", "", 0, 0, 12, 0},
	{"CodeBlob", "_code_begin", "", 0, 0, 24, 0},
	{"nmethod", "_compile_id", "", 0, 0, 32, 0},
	{"CompiledMethod", "_method", "", 0, 0, 40, 0},
	{"nmethod", "_state", "", 0, 0, 48, 0},
	{"nmethod", "_scopes_pcs_offset", "", 0, 0, 52, 0},
	{"nmethod", "_dependencies_offset", "", 0, 0, 56, 0},
	{"CompiledMethod", "_scopes_data_begin", "", 0, 0, 64, 0},
	{"nmethod", "_metadata_offset", "", 0, 0, 72, 0},
	{"Method", "_constMethod", "", 0, 0, 8, 0},
	{"ConstMethod", "_constants", "", 0, 0, 8, 0},
	{"ConstMethod", "_constMethod_size", "", 0, 0, 16, 0},
	{"ConstMethod", "_code_size", "", 0, 0, 20, 0},
	{"ConstMethod", "_name_index", "", 0, 0, 22, 0},
	{"ConstMethod", "_flags", "", 0, 0, 24, 0},
	{"ConstantPool", "_pool_holder", "", 0, 0, 8, 0},
	{"ConstantPool", "_source_file_name_index", "", 0, 0, 16, 0},
	{"ConstantPool", "_length", "", 0, 0, 20, 0},
	{"Klass", "_name", "", 0, 0, 8, 0},
	{"Symbol", "_hash_and_refcount", "", 0, 0, 0, 0},
	{"Symbol", "_length", "", 0, 0, 4, 0},
	{"Symbol", "_body", "", 0, 0, 6, 0},
	{0},
};
static const struct {
	const char *type, *super;
	int32_t is[4];
	uint64_t size;
} types[] = {
	{"HeapBlock", 0, {0}, 16},
	{"PcDesc", 0, {0}, 8},
	{"ConstMethod", 0, {0}, 32},
	{"ConstantPool", 0, {0}, 32},
	{0},
};
const void *gHotSpotVMStructs = fields, *gHotSpotVMTypes = types;

enum { SEGMENT = 128, CODE = 4096, CODE_BYTES = 60000, PCS = 1 << 17, METADATA = 1 << 20, AREA = 64 << 20 };
enum { FRAMES = 600, INLINED = 64, LINES = 65536 };

struct symbol {
	uint32_t references;
	uint16_t length;
	char body[10];
};
struct blob {
	uint64_t pad;
	uint32_t frame_size; /* words */
	uint16_t complete;
	const char *name;
	uint8_t *code;
	uint32_t id;
	void *method;
	uint32_t state, pcs, pcs_end;
	uint8_t *scopes;
	uint64_t metadata;
};
_Static_assert(sizeof(struct blob) == 80, "as fields[] says");

static struct symbol name = {0x77770001, 5, "outer"}, class = {0x66660001, 3, "a/B"};
static struct {
	uint64_t pad;
	struct symbol *name;
} klass = {0, &class};
static struct {
	uint64_t pad;
	void *class;
	uint16_t source, more;
	uint32_t length;
	uint64_t more_pad;
	void *slots[4];
} pool = {.class = &klass, .source = 2, .length = 4, .slots = {0, &name, &class}};
static struct {
	uint64_t pad;
	void *pool;
	uint32_t words;
	uint16_t code_size, name;
	uint32_t flags, more;
	uint8_t lines[LINES];
} constant = {.pool = &pool, .words = (32 + LINES) / 8, .name = 1, .flags = 1};
static struct {
	uint64_t pad;
	void *constant;
} method = {0, &constant};
static struct {
	uint64_t pad;
	uint8_t *low, *high;
	uint64_t more;
	uint8_t *map;
	uint64_t again, shift;
} heap = {.shift = 7};
static void *heap_list[] = {&heap};
static struct {
	uint32_t n, pad;
	void **data;
} array = {1, 0, heap_list};

static uint8_t scopes[3 * (INLINED + 1)];
static uint64_t stack[2 * FRAMES + 2];
static struct blob *blob;

static void *make_others(void *unused)
{
	uint64_t x = 88172645463325252;

	(void)unused;
	for (;;) {
		for (int i = 0; i < FRAMES; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			stack[2 * i + 1] = (uint64_t)blob->code + 1 + x % (CODE_BYTES - 1);
		}
		usleep(500);
	}
	return NULL;
}

static void make_blob(void)
{
	int32_t *pcs = (int32_t *)((uint8_t *)blob + PCS);

	*blob = (struct blob){.frame_size = 2, .name = "nmethod", .code = heap.low + CODE, .id = 7,
			      .method = &method, .pcs = PCS, .pcs_end = PCS + 8 * CODE_BYTES,
			      .scopes = scopes, .metadata = METADATA};
	for (int i = 0; i < CODE_BYTES; i++) {
		pcs[2 * i] = i;
		pcs[2 * i + 1] = 3 * INLINED;
	}
	for (int i = 1; i <= INLINED; i++)
		memcpy(scopes + 3 * i, (uint8_t[]){3 * (i - 1), 1, 1}, 3);
	*(void **)((uint8_t *)blob + METADATA) = &method;
}

int main(int argc, char **argv)
{
	static const uint8_t forever[] = {0xeb, 0xfe};
	int is_map = argc > 1 && strcmp(argv[1], "map") == 0;
	uint8_t *pc;
	pthread_t thread;

	if (getuid() == 0 && setresuid(65534, 65534, 65534) < 0)
		return 1;
	heap.low = mmap(NULL, AREA, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	heap.map = mmap(NULL, AREA / SEGMENT, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (heap.low == MAP_FAILED || heap.map == MAP_FAILED)
		return 1;
	heap.high = heap.low + AREA;
	blob = (struct blob *)(heap.low + 16);
	make_blob();
	for (int i = 0; i < AREA / SEGMENT; i++)
		heap.map[i] = is_map ? 1 : i < 254 ? i : 254;
	pc = is_map ? heap.high - SEGMENT : blob->code;
	memcpy(pc, forever, sizeof forever);
	heaps = &array;
	if (!is_map && pthread_create(&thread, NULL, make_others, NULL) != 0)
		return 1;
	usleep(10000);
	puts("ready");
	fflush(stdout);
	__asm__ volatile("mov %0, %%rsp\n\tjmp *%1" : : "r"(stack), "r"(pc) : "memory");
	return 0;
}
