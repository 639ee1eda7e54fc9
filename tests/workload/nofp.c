/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nofp SHAPE [LEAF [SECONDS [DEPTH]]]: stacks of known shapes in a program built as distributions
 * build: -O2 -fomit-frame-pointer. For SECONDS (10) main() calls SHAPE_start() repeatedly; each
 * shape leads to one leaf function: leaf_burn takes CPU time; leaf_nanosleep, leaf_futex, leaf_read
 * and leaf_poll wait about a millisecond each time. A comment at each shape says what its samples
 * must show: the functions from main() on. The thread's name is nofp-SHAPE.
 *
 * main() aligns its own stack, so that every shape has such a frame.
 */
#include "workload.h"

#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#define N_THREADS    4
#define EPISODE_NS   (SECOND / 2) /* of a child, a loaded library, a program image */
#define ALTERNATE    65536	  /* bytes of the alternate signal stack */
#define TIMER_MICROS 3000
#define FEED_MICROS  1000

static void (*leaf)(void);
static unsigned int depth;
static uint64_t until;
static int feed = -1; /* a pipe that gets a byte every millisecond */
static char **arguments;
static volatile uint64_t sink;

/* --- leaves ---------------------------------------------------------------------------------- */

static MARKED void leaf_burn(void)
{
	for (volatile unsigned int i = 0; i < 400000; i++)
		;
}

static MARKED void leaf_nanosleep(void)
{
	sleep_ns(MILLISECOND);
	KEEP_FRAME();
}

static MARKED void leaf_futex(void)
{
	static uint32_t word;
	struct timespec wait = {0, MILLISECOND};

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &wait, NULL, 0);
	KEEP_FRAME();
}

static MARKED void leaf_read(void)
{
	char byte;

	if (read(feed, &byte, 1) != 1)
		_exit(3);
	KEEP_FRAME();
}

static MARKED void leaf_poll(void)
{
	poll(NULL, 0, 1);
	KEEP_FRAME();
}

/* --- recursion_start; recursion_step × DEPTH; LEAF -------------------------------------------- */

static MARKED void recursion_step(unsigned int left)
{
	volatile char local[40];

	local[left % sizeof local] = left;
	if (left > 1)
		recursion_step(left - 1);
	else
		leaf();
	sink += local[left % sizeof local];
}

static MARKED void recursion_start(void)
{
	recursion_step(depth);
	KEEP_FRAME();
}

/* --- sort_start; (libc: qsort) …; sort_compare; LEAF ------------------------------------------ */

static MARKED int sort_compare(const void *a, const void *b)
{
	leaf();
	return *(const int *)a - *(const int *)b;
}

static MARKED void sort_start(void)
{
	int numbers[] = {3, 1, 2};

	qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, sort_compare);
	sink += numbers[0];
}

/*
 * --- signal_start; signal_victim; (libc: return from signal); signal_handler; LEAF, or only the
 * first two. altstack_…: the handler has a stack of its own.
 */

static MARKED void signal_handler(int number)
{
	leaf();
	KEEP_FRAME();
}

static void handle_signals(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_RESTART};

	sigaction(number, &action, NULL);
}

static void interrupt_often(void)
{
	struct itimerval often = {{0, TIMER_MICROS}, {0, TIMER_MICROS}};

	setitimer(ITIMER_REAL, &often, NULL);
}

/* Changes its frame pointer register, as any code without frame pointers may. */
static MARKED void signal_victim(void)
{
	uint64_t a = sink, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6;

	for (unsigned int i = 0; i < 400000; i++) {
		a += b ^ i;
		b += c ^ a;
		c += d ^ b;
		d += e ^ c;
		e += f ^ d;
		f += g ^ e;
		g += a ^ f;
		KEEP_FRAME();
	}
	sink = a + b + c + d + e + f + g;
}

static MARKED void signal_start(void)
{
	static bool is_set_up;

	if (!is_set_up) {
		is_set_up = true;
		handle_signals(SIGALRM, signal_handler, 0);
		interrupt_often();
	}
	signal_victim();
	KEEP_FRAME();
}

static MARKED void altstack_start(void)
{
	static char stack[ALTERNATE];
	static bool is_set_up;

	if (!is_set_up) {
		stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};

		is_set_up = true;
		sigaltstack(&alternate, NULL);
		handle_signals(SIGALRM, signal_handler, SA_ONSTACK);
		interrupt_often();
	}
	signal_victim();
	KEEP_FRAME();
}

/*
 * --- fault_start; fault_here; (libc: return from signal); fault_handler; LEAF. The signal strikes
 * at the first instruction of fault_here(); the instruction before belongs to code whose frame is
 * larger.
 */

void fault_here(void);
#if defined(__x86_64__)
__asm__(".text\n"
	".type fault_before, @function\n"
	"fault_before:\n"
	"	.cfi_startproc\n"
	"	sub $120, %rsp\n"
	"	.cfi_adjust_cfa_offset 120\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size fault_before, . - fault_before\n"
	".globl fault_here\n"
	".type fault_here, @function\n"
	"fault_here:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size fault_here, . - fault_here\n");
#define FAULT_PC(context) ((context)->uc_mcontext.gregs[REG_RIP] += 2)
#elif defined(__aarch64__)
__asm__(".text\n"
	".type fault_before, %function\n"
	"fault_before:\n"
	"	.cfi_startproc\n"
	"	sub sp, sp, 128\n"
	"	.cfi_adjust_cfa_offset 128\n"
	"	udf 0\n"
	"	.cfi_endproc\n"
	".size fault_before, . - fault_before\n"
	".globl fault_here\n"
	".type fault_here, %function\n"
	"fault_here:\n"
	"	.cfi_startproc\n"
	"	udf 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size fault_here, . - fault_here\n");
#define FAULT_PC(context) ((context)->uc_mcontext.pc += 4)
#endif

static MARKED void fault_handler(int number, siginfo_t *info, void *context)
{
	leaf();
	FAULT_PC((ucontext_t *)context);
}

static MARKED void fault_start(void)
{
	struct sigaction action = {.sa_sigaction = fault_handler, .sa_flags = SA_SIGINFO};

	sigaction(SIGILL, &action, NULL);
	fault_here();
	KEEP_FRAME();
}

/* --- alloca_start; alloca_frame; LEAF: the frame's size is not known before it runs ----------- */

static MARKED void alloca_frame(size_t n)
{
	volatile char *room = alloca(n);

	room[n - 1] = 1;
	leaf();
	sink += room[n - 1];
}

static MARKED void alloca_start(void)
{
	alloca_frame(100 + sink % 1000);
	KEEP_FRAME();
}

/* --- array_start; array_frame; LEAF: an array of variable length --------------------------------
 */

static MARKED void array_frame(size_t n)
{
	volatile uint32_t array[n];

	array[n / 2] = n;
	leaf();
	sink += array[n / 2];
}

static MARKED void array_start(void)
{
	array_frame(10 + sink % 100);
	KEEP_FRAME();
}

/* --- aligned_start; aligned_frame; aligned_both; LEAF: frames that align the stack --------------
 */

struct vector {
	_Alignas(64) volatile uint64_t words[8];
};

static MARKED void aligned_both(size_t n)
{
	struct vector vector;
	volatile char *room = alloca(n);

	vector.words[0] = n;
	room[n - 1] = 1;
	leaf();
	sink += vector.words[0] + room[n - 1];
}

static MARKED void aligned_frame(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				 uint64_t f, uint64_t on_stack)
{
	struct vector vector;

	vector.words[1] = a + b + c + d + e + f;
	aligned_both(100 + sink % 1000);
	sink += vector.words[1] + on_stack;
}

static MARKED void aligned_start(void)
{
	aligned_frame(1, 2, 3, 4, 5, 6, 7);
	KEEP_FRAME();
}

/* --- vdso_start; vdso_loop; (libc, vDSO: clock_gettime); LEAF plays no part ---------------------
 */

static MARKED void vdso_loop(void)
{
	uint64_t end = wall_ns() + 10 * MILLISECOND;

	while (wall_ns() < end)
		;
}

static MARKED void vdso_start(void)
{
	vdso_loop();
	KEEP_FRAME();
}

/* --- threads: (libc: thread's start); thread_entry; thread_work; LEAF ----------------------------
 */

static MARKED void thread_work(void)
{
	leaf();
	KEEP_FRAME();
}

static void *thread_entry(void *argument)
{
	while (wall_ns() < until)
		thread_work();
	return NULL;
}

static MARKED void thread_start(void)
{
	pthread_t threads[N_THREADS];

	for (int i = 0; i < N_THREADS; i++)
		start_thread(thread_entry, NULL, &threads[i]);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	KEEP_FRAME();
}

/*
 * --- plugin_start; plugin_work; plugin_inner (both in nofp_plugin.so, which is loaded and
 * unloaded); plugin_callback; LEAF. NOFP_PLUGIN: another library that has plugin_work().
 */

static void plugin_callback(void)
{
	leaf();
	KEEP_FRAME();
}

/* The library that NOFP_PLUGIN names in the environment, or the one beside this program. */
static void *open_plugin(void)
{
	char path[4096];
	const char *named = getenv("NOFP_PLUGIN");
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
	char *slash;

	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "nofp_plugin.so");
	return dlopen(named ? named : path, RTLD_NOW);
}

static MARKED void plugin_start(void)
{
	uint64_t end = wall_ns() + EPISODE_NS;
	void *plugin = open_plugin();
	void (*work)(void (*)(void)) =
		plugin ? (void (*)(void (*)(void)))dlsym(plugin, "plugin_work") : NULL;

	if (!work) {
		fprintf(stderr, "nofp: %s\n", dlerror());
		exit(1);
	}
	while (wall_ns() < end)
		work(plugin_callback);
	dlclose(plugin);
	KEEP_FRAME();
}

/* --- fork_start; fork_child; LEAF, in a child that execs nothing ---------------------------------
 */

static MARKED void fork_child(void)
{
	leaf();
	KEEP_FRAME();
}

static MARKED void fork_start(void)
{
	uint64_t end = wall_ns() + EPISODE_NS;
	pid_t pid = fork();

	if (pid == 0) {
		while (wall_ns() < end)
			fork_child();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	KEEP_FRAME();
}

/* --- exec_start; exec_before; LEAF, in one program image after another ---------------------------
 */

static MARKED void exec_before(void)
{
	leaf();
	KEEP_FRAME();
}

static MARKED void exec_start(void)
{
	uint64_t end = wall_ns() + EPISODE_NS;
	char seconds[32];

	while (wall_ns() < end)
		exec_before();
	if (wall_ns() >= until)
		return;
	snprintf(seconds, sizeof seconds, "%.6f", (until - wall_ns()) / 1e9);
	arguments[3] = seconds;
	execv("/proc/self/exe", arguments);
	_exit(4);
}

/*
 * --- handmade_start; handmade_outer; handmade_inner; handmade_callback; LEAF: two functions
 * without call frame information that keep frame pointers, called by code that does not.
 * generated_…: the same as generated code, without names.
 */

void handmade_outer(void (*callback)(void));
void handmade_inner(void (*callback)(void));
extern const char handmade_end[];
#if defined(__x86_64__)
__asm__(".text\n"
	".globl handmade_outer, handmade_inner, handmade_end\n"
	".type handmade_outer, @function\n"
	"handmade_outer:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $48, %rsp\n"
	"	call .Linner\n"
	"	leave\n"
	"	ret\n"
	".size handmade_outer, . - handmade_outer\n"
	".type handmade_inner, @function\n"
	"handmade_inner:\n"
	".Linner:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $80, %rsp\n"
	"	call *%rdi\n"
	"	leave\n"
	"	ret\n"
	".size handmade_inner, . - handmade_inner\n"
	"handmade_end:\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl handmade_outer, handmade_inner, handmade_end\n"
	".type handmade_outer, %function\n"
	"handmade_outer:\n"
	"	stp x29, x30, [sp, -48]!\n"
	"	mov x29, sp\n"
	"	bl .Linner\n"
	"	ldp x29, x30, [sp], 48\n"
	"	ret\n"
	".size handmade_outer, . - handmade_outer\n"
	".type handmade_inner, %function\n"
	"handmade_inner:\n"
	".Linner:\n"
	"	stp x29, x30, [sp, -80]!\n"
	"	mov x29, sp\n"
	"	blr x0\n"
	"	ldp x29, x30, [sp], 80\n"
	"	ret\n"
	".size handmade_inner, . - handmade_inner\n"
	"handmade_end:\n");
#endif

static MARKED void handmade_callback(void)
{
	leaf();
	KEEP_FRAME();
}

static MARKED void handmade_start(void)
{
	handmade_outer(handmade_callback);
	KEEP_FRAME();
}

static void *generate(void)
{
	size_t n = handmade_end - (const char *)handmade_outer;
	void *code = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	memcpy(code, (const void *)handmade_outer, n);
	mprotect(code, n, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(code, (char *)code + n);
	return code;
}

static MARKED void generated_start(void)
{
	static void (*code)(void (*)(void));

	if (!code)
		code = (void (*)(void (*)(void)))generate();
	code(handmade_callback);
	KEEP_FRAME();
}

/*
 * --- unmarked_start; unmarked_outer; unmarked_inner; handmade_callback; LEAF: two functions with
 * neither call frame information nor frame pointers; the register is 0 all the time.
 */

void unmarked_outer(void (*callback)(void));
#if defined(__x86_64__)
__asm__(".text\n"
	".globl unmarked_outer\n"
	".type unmarked_outer, @function\n"
	"unmarked_outer:\n"
	"	push %rbp\n"
	"	xor %ebp, %ebp\n"
	"	call unmarked_inner\n"
	"	pop %rbp\n"
	"	ret\n"
	".size unmarked_outer, . - unmarked_outer\n"
	".type unmarked_inner, @function\n"
	"unmarked_inner:\n"
	"	sub $40, %rsp\n"
	"	call *%rdi\n"
	"	add $40, %rsp\n"
	"	ret\n"
	".size unmarked_inner, . - unmarked_inner\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl unmarked_outer\n"
	".type unmarked_outer, %function\n"
	"unmarked_outer:\n"
	"	stp x29, x30, [sp, -16]!\n"
	"	mov x29, xzr\n"
	"	bl unmarked_inner\n"
	"	ldp x29, x30, [sp], 16\n"
	"	ret\n"
	".size unmarked_outer, . - unmarked_outer\n"
	".type unmarked_inner, %function\n"
	"unmarked_inner:\n"
	"	str x30, [sp, -48]!\n"
	"	blr x0\n"
	"	ldr x30, [sp], 48\n"
	"	ret\n"
	".size unmarked_inner, . - unmarked_inner\n");
#endif

static MARKED void unmarked_start(void)
{
	unmarked_outer(handmade_callback);
	KEEP_FRAME();
}

/*
 * --- stacks_start; switch_stack; stacks_low; switch_stack; stacks_high; LEAF: on two other stacks,
 * the second higher than the first.
 */

#define STACK_BYTES 65536

void switch_stack(void (*callee)(char *), char *top);
#if defined(__x86_64__)
__asm__(".text\n"
	".globl switch_stack\n"
	".type switch_stack, @function\n"
	"switch_stack:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rsi, %rsp\n"
	"	call *%rax\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size switch_stack, . - switch_stack\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl switch_stack\n"
	".type switch_stack, %function\n"
	"switch_stack:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, -16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 29, -16\n"
	"	.cfi_offset 30, -8\n"
	"	mov x29, sp\n"
	"	.cfi_def_cfa_register 29\n"
	"	mov x2, x0\n"
	"	mov x0, x1\n"
	"	mov sp, x1\n"
	"	blr x2\n"
	"	mov sp, x29\n"
	"	.cfi_def_cfa_register 31\n"
	"	ldp x29, x30, [sp], 16\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size switch_stack, . - switch_stack\n");
#endif

static MARKED void stacks_high(char *top)
{
	leaf();
	KEEP_FRAME();
}

static MARKED void stacks_low(char *top)
{
	switch_stack(stacks_high, top + STACK_BYTES);
	KEEP_FRAME();
}

static MARKED void stacks_start(void)
{
	static char stacks[2 * STACK_BYTES] __attribute__((aligned(16)));

	switch_stack(stacks_low, stacks + STACK_BYTES);
	KEEP_FRAME();
}

/* --- coroutine_body; LEAF, on a stack without a way back. */

static ucontext_t coroutine_caller, coroutine;

static MARKED void coroutine_body(void)
{
	leaf();
	KEEP_FRAME();
}

static MARKED void coroutine_start(void)
{
	static char stack[STACK_BYTES];

	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof stack;
	coroutine.uc_link = &coroutine_caller;
	makecontext(&coroutine, coroutine_body, 0);
	swapcontext(&coroutine_caller, &coroutine);
	KEEP_FRAME();
}

/* ------------------------------------------------------------------------------------------------
 */

static const struct {
	const char *name;
	void (*start)(void);
} shapes[] = {
	{"recursion", recursion_start}, {"sort", sort_start},
	{"signal", signal_start},	{"altstack", altstack_start},
	{"fault", fault_start},		{"alloca", alloca_start},
	{"array", array_start},		{"aligned", aligned_start},
	{"vdso", vdso_start},		{"threads", thread_start},
	{"plugin", plugin_start},	{"fork", fork_start},
	{"exec", exec_start},		{"handmade", handmade_start},
	{"generated", generated_start}, {"unmarked", unmarked_start},
	{"stacks", stacks_start},	{"coroutine", coroutine_start},
};

static const struct {
	const char *name;
	void (*leaf)(void);
} leaves[] = {
	{"burn", leaf_burn}, {"nanosleep", leaf_nanosleep}, {"futex", leaf_futex},
	{"read", leaf_read}, {"poll", leaf_poll},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int find_shape(const char *name)
{
	for (size_t i = 0; i < COUNT(shapes); i++)
		if (strcmp(shapes[i].name, name) == 0)
			return i;
	return -1;
}

static int find_leaf(const char *name)
{
	for (size_t i = 0; i < COUNT(leaves); i++)
		if (strcmp(leaves[i].name, name) == 0)
			return i;
	return -1;
}

/* A process that fills the pipe while this one lives. */
static void start_feeder(void)
{
	int ends[2];
	pid_t parent = getpid();

	if (pipe2(ends, O_CLOEXEC) || fcntl(ends[1], F_SETFL, O_NONBLOCK))
		exit(1);
	feed = ends[0];
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "feeder");
		while (getppid() == parent) {
			usleep(FEED_MICROS);
			if (write(ends[1], "xxxxxxxx", N_THREADS) < 0)
				continue;
		}
		_exit(0);
	}
	close(ends[1]);
}

static void set_name(const char *shape)
{
	char name[32];

	snprintf(name, sizeof name, "nofp-%s", shape);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, 1);
}

int main(int argc, char **argv)
{
	struct vector vector; /* aligns the stack */
	int shape = argc > 1 ? find_shape(argv[1]) : -1;
	int which = find_leaf(argc > 2 ? argv[2] : "burn");

	if (shape < 0 || which < 0) {
		fputs("usage: nofp SHAPE [LEAF [SECONDS [DEPTH]]]\n", stderr);
		return 2;
	}
	vector.words[0] = 0;
	until = wall_ns() + number_argument(argc, argv, 3, 10) * SECOND;
	depth = number_argument(argc, argv, 4, 20);
	leaf = leaves[which].leaf;
	arguments = argv;
	set_name(argv[1]);
	if (leaf == leaf_read)
		start_feeder();
	while (wall_ns() < until) {
		shapes[shape].start();
		vector.words[0]++;
	}
	printf("{\"pid\": %d, \"visits\": %ju}\n", getpid(), (uintmax_t)vector.words[0]);
	return 0;
}
