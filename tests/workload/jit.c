/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit SECONDS WORD…: a JIT of three functions that burn 60, 30 and 10 % of the time, called by a
 * fourth. It writes machine code into memory at an address that is the same in every process, runs
 * it, and describes it in /tmp/perf-PID.map or in ./jit-PID.dump. Truth: CPU time by name.
 *
 * What is written (map is the default): map, dump. Where the code lies (anon is the default): anon,
 * zero (shared), memfd, heap. Further words:
 *	late		the map is written at the end, as Java does
 *	reuse		other code was described before at the same place
 *	move		the code is moved halfway; with dump
 *	fork		a child runs it, which has no map of its own
 *	trampoline	the three call compiled code that burns, as CPython's do with -X perf
 *	tag=TEXT	ends the names
 *	stale		the map is there already when the process starts, and is about another one
 *	foreign		the map belongs to another user
 *	link		the map is a symbolic link
 *	thread		a thread runs it whose name is not the process's
 *	next=TEXT	then the process execs itself; with a map, and TEXT as the tag
 */
#include "workload.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define N_FUNCTIONS 4
#define OUTER	    3
#define SLOT	    256
#define CODE_SIZE   4096
#define PLACE	    ((void *)0x300000000000)

#if defined(__x86_64__)
/* push rbp; mov rbp, rsp; 1: dec rdi; jnz 1b; pop rbp; ret */
static const uint8_t burn_code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff,
				    0xcf, 0x75, 0xfb, 0x5d, 0xc3};
/* push rbp; mov rbp, rsp; call rsi; pop rbp; ret */
static const uint8_t outer_code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
/* sub rsp, 8; call rcx; add rsp, 8; ret */
static const uint8_t trampoline_code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
					  0x48, 0x83, 0xc4, 0x08, 0xc3};
#define MACHINE 62
#elif defined(__aarch64__)
/* stp x29, x30, [sp, -16]!; mov x29, sp; 1: subs x0, x0, 1; b.ne 1b; ldp x29, x30, [sp], 16; ret */
static const uint32_t burn_code[] = {0xa9bf7bfd, 0x910003fd, 0xf1000400,
				     0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
/* the same around blr x1 */
static const uint32_t outer_code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0};
/* … around blr x3 */
static const uint32_t trampoline_code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0060, 0xa8c17bfd,
					   0xd65f03c0};
#define MACHINE 183
#endif

static struct function {
	const char *name;
	uint64_t iterations, cpu_ns;
	size_t size;
} functions[N_FUNCTIONS] = {
	{"burn 60", 6000000, 0, sizeof burn_code},
	{"Lburn;30", 3000000, 0, sizeof burn_code},
	{"burn<10>\303\251", 1000000, 0, sizeof burn_code},
	{"outer", 0, 0, sizeof outer_code},
};

static uint8_t *code;
static bool has_trampolines;
static char path[64];
static const char *tag = "";

static void check(bool good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static bool has_word(char **words, const char *word)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/* --- code --- */

static uint8_t *map_memory(char **words)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	uint8_t *memory;

	if (has_word(words, "heap")) {
		memory = aligned_alloc(CODE_SIZE, CODE_SIZE);
		check(memory &&
			      mprotect(memory, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0,
		      "mprotect");
		return memory;
	}
	if (has_word(words, "zero"))
		flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	memory = mmap(PLACE, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1, 0);
	check(memory == PLACE, "mmap");
	return memory;
}

static void write_code(uint8_t *to)
{
	for (int i = 0; i < OUTER; i++) {
		memcpy(to + i * SLOT, has_trampolines ? (const void *)trampoline_code : burn_code,
		       functions[i].size);
	}
	memcpy(to + OUTER * SLOT, outer_code, sizeof outer_code);
	__builtin___clear_cache((char *)to, (char *)to + CODE_SIZE);
}

/* Writes through one mapping, runs through another. */
static uint8_t *make_code_in_memfd(void)
{
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);
	uint8_t *writable, *executable;

	check(fd >= 0 && ftruncate(fd, CODE_SIZE) == 0, "memfd_create");
	writable = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(writable != MAP_FAILED, "mmap");
	executable = mmap(PLACE, CODE_SIZE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED_NOREPLACE,
			  fd, 0);
	check(executable == PLACE, "mmap");
	write_code(writable);
	return executable;
}

static uint8_t *make_code(char **words)
{
	uint8_t *memory;

	if (has_word(words, "memfd"))
		return make_code_in_memfd();
	memory = map_memory(words);
	write_code(memory);
	return memory;
}

/* --- its description --- */

static void write_map(FILE *stream, bool reuse)
{
	if (reuse)
		fprintf(stream, "%lx %x code of before\n", (unsigned long)code, CODE_SIZE);
	for (int i = 0; i < N_FUNCTIONS; i++)
		fprintf(stream, "%lx %zx %s%s\n", (unsigned long)(code + i * SLOT),
			functions[i].size, functions[i].name, tag);
	fflush(stream);
}

static FILE *open_map(char **words)
{
	const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	bool is_prepared = has_word(words, "foreign") || has_word(words, "stale");
	char target[80], first[80];
	FILE *stream;

	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	if (has_word(words, "link")) {
		snprintf(target, sizeof target, "%s.target", path);
		check(symlink(target, path) == 0, "symlink");
	}
	snprintf(first, sizeof first, "%s%s", path, is_prepared ? ".first" : "");
	stream = fopen(first, "w");
	check(stream, first);
	if (!has_word(words, "late"))
		write_map(stream, has_word(words, "reuse"));
	if (has_word(words, "foreign"))
		check(fchown(fileno(stream), 65534, 65534) == 0, "fchown");
	if (has_word(words, "stale"))
		check(futimens(fileno(stream), long_ago) == 0, "futimens");
	if (is_prepared)
		check(rename(first, path) == 0, "rename");
	return stream;
}

static void put32(FILE *stream, uint32_t value)
{
	fwrite(&value, sizeof value, 1, stream);
}

static void put64(FILE *stream, uint64_t value)
{
	fwrite(&value, sizeof value, 1, stream);
}

static void put_prefix(FILE *stream, uint32_t type, uint32_t payload)
{
	put32(stream, type);
	put32(stream, 16 + payload);
	put64(stream, wall_ns());
}

/*
 * Puts each instruction of the first two on a line of its own; addresses as V8 and LLVM count them.
 */
static void put_lines(FILE *stream, uint64_t address)
{
	put_prefix(stream, 2, 16 + 2 * 16 + sizeof "burn.src" + sizeof "\xff");
	put64(stream, address);
	put64(stream, 2);
	put64(stream, address + 0x40);
	put32(stream, 10);
	put32(stream, 0);
	fwrite("burn.src", sizeof "burn.src", 1, stream);
	put64(stream, address + 0x40 + 4);
	put32(stream, 11);
	put32(stream, 0);
	fwrite("\xff", sizeof "\xff", 1, stream);
}

static void put_load(FILE *stream, const uint8_t *bytes, size_t size, uint64_t index,
		     const char *name, const char *ending)
{
	put_prefix(stream, 0, 40 + strlen(name) + strlen(ending) + 1 + size);
	put32(stream, getpid());
	put32(stream, gettid());
	put64(stream, (uint64_t)bytes);
	put64(stream, (uint64_t)bytes);
	put64(stream, size);
	put64(stream, index);
	fputs(name, stream);
	fwrite(ending, strlen(ending) + 1, 1, stream);
	fwrite(bytes, size, 1, stream);
}

static void put_move(FILE *stream, const uint8_t *from, const uint8_t *to, size_t size,
		     uint64_t index)
{
	put_prefix(stream, 1, 48);
	put32(stream, getpid());
	put32(stream, gettid());
	put64(stream, (uint64_t)to);
	put64(stream, (uint64_t)from);
	put64(stream, (uint64_t)to);
	put64(stream, size);
	put64(stream, index);
}

static FILE *open_dump(char **words)
{
	void *marker;
	FILE *stream;

	snprintf(path, sizeof path, "jit-%d.dump", getpid());
	stream = fopen(path, "w+");
	check(stream, path);
	put32(stream, 0x4a695444);
	put32(stream, 1);
	put32(stream, 40);
	put32(stream, MACHINE);
	put32(stream, 0);
	put32(stream, getpid());
	put64(stream, wall_ns());
	put64(stream, 0);
	marker = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(stream), 0);
	check(marker != MAP_FAILED, "mmap");
	if (has_word(words, "reuse"))
		put_load(stream, code, CODE_SIZE, 100, "code of before", "");
	for (int i = 0; i < N_FUNCTIONS; i++) {
		put_lines(stream, (uint64_t)(code + i * SLOT));
		put_load(stream, code + i * SLOT, functions[i].size, i, functions[i].name, tag);
	}
	fflush(stream);
	return stream;
}

static void move_code(FILE *dump)
{
	uint8_t *to = mmap(PLACE + (1 << 20), CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	check(to != MAP_FAILED, "mmap");
	memcpy(to, code, CODE_SIZE);
	__builtin___clear_cache((char *)to, (char *)to + CODE_SIZE);
	for (int i = 0; i < N_FUNCTIONS; i++)
		put_move(dump, code + i * SLOT, to + i * SLOT, functions[i].size, i);
	fflush(dump);
	munmap(code, CODE_SIZE);
	code = to;
}

/* --- running it --- */

/* A trampoline's target, which uses the frame pointer for something else. */
static MARKED __attribute__((optimize("omit-frame-pointer"))) void
compiled(uint64_t iterations, void *a, void *b, void *self)
{
#if defined(__x86_64__)
	asm volatile("mov $1, %%rbp\n1: sub %%rbp, %0\njnz 1b" : "+r"(iterations) : : "rbp", "cc");
#else
	for (; iterations; iterations--)
		asm volatile("");
#endif
	asm volatile("" : : "r"(a), "r"(b), "r"(self) : "memory");
}

typedef void trampoline_fn(uint64_t iterations, void *a, void *b, void *callee);

static MARKED void run_code(double seconds)
{
	uint64_t until = wall_ns() + seconds * SECOND;

	while (wall_ns() < until) {
		void (*outer)(uint64_t, void *) = (void (*)(uint64_t, void *))(code + OUTER * SLOT);

		for (int i = 0; i < OUTER; i++) {
			uint64_t before = thread_cpu_ns();

			if (has_trampolines)
				((trampoline_fn *)(code + i * SLOT))(functions[i].iterations, NULL,
								     NULL, compiled);
			else
				outer(functions[i].iterations, code + i * SLOT);
			functions[i].cpu_ns += thread_cpu_ns() - before;
		}
	}
	KEEP_FRAME();
}

static void *run_as_worker(void *seconds)
{
	pthread_setname_np(pthread_self(), "worker");
	run_code(*(double *)seconds);
	return NULL;
}

static void run_in_thread(double seconds)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, run_as_worker, &seconds) == 0, "pthread_create");
	pthread_join(thread, NULL);
}

static void print_truth(void)
{
	printf("{\"pid\": %d, \"file\": \"%s\", \"functions\": {", getpid(), path);
	for (int i = 0; i < OUTER; i++)
		printf("%s\"%s%s\": %ju", i ? ", " : "", functions[i].name, tag,
		       (uintmax_t)functions[i].cpu_ns);
	printf("}}\n");
	fflush(stdout);
}

static void exec_with_tag(char **argv, const char *next)
{
	char word[80];

	snprintf(word, sizeof word, "tag=%s", next);
	execl("/proc/self/exe", argv[0], argv[1], "map", word, NULL);
	check(false, "execl");
}

int main(int argc, char **argv)
{
	double seconds = number_argument(argc, argv, 1, 2);
	char **words = argv + (argc > 2 ? 2 : argc), *next = NULL;
	FILE *stream;

	for (char **word = words; *word; word++) {
		if (strncmp(*word, "tag=", 4) == 0)
			tag = *word + 4;
		if (strncmp(*word, "next=", 5) == 0)
			next = *word + 5;
	}
	has_trampolines = has_word(words, "trampoline");
	for (int i = 0; i < OUTER && has_trampolines; i++)
		functions[i].size = sizeof trampoline_code;
	code = make_code(words);
	stream = has_word(words, "dump") ? open_dump(words) : open_map(words);
	if (has_word(words, "fork") && fork() > 0) {
		wait(NULL);
		return 0;
	}
	if (has_word(words, "move")) {
		run_code(seconds / 2);
		move_code(stream);
		seconds /= 2;
	}
	if (has_word(words, "thread"))
		run_in_thread(seconds);
	else
		run_code(seconds);
	if (has_word(words, "late"))
		write_map(stream, has_word(words, "reuse"));
	print_truth();
	fclose(stream);
	if (next)
		exec_with_tag(argv, next);
	return 0;
}
