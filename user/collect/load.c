/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collect/events.h"
#include "collect/filter.h"
#include "collect/period.h"
#include "collect/rights.h"
#include "collect/targets.h"
#include "base/unpack_object.h"
#include "profiler.skel.h"

#define BTF_PATH	  "/sys/kernel/btf/vmlinux"
#define MAX_CHILDREN	  32768	 /* of the targets, alive at one time */
#define MAX_ENDED	  4096	 /* of the targets, ended and not freed yet */
#define MAX_TABLE_PARTS	  262144 /* of 256 KiB of a file */
#define EVENTS_RING_BYTES (32u << 20)
#define SELDOM_HZ	  100
#define SPARE_RING_BYTES  (256u << 10)

/* libbpf has one print function per process, without a context. */
static struct {
	FILE *log;	 /* or NULL */
	char first[192]; /* the first warning: the best available explanation of a failed load */
} libbpf_said;

static int on_libbpf_print(enum libbpf_print_level level, const char *format, va_list arguments)
{
	va_list again;

	if (level != LIBBPF_WARN)
		return 0;
	va_copy(again, arguments);
	if (libbpf_said.log)
		vfprintf(libbpf_said.log, format /* ours */, again);
	va_end(again);
	if (!libbpf_said.first[0]) {
		vsnprintf(libbpf_said.first, sizeof libbpf_said.first, format, arguments);
		libbpf_said.first[strcspn(libbpf_said.first, "\n")] = '\0';
	}
	return 0;
}

/* Differences between kernels that must be known before loading. */
struct kernel_facts {
	bool books_waits;	/* CONFIG_SCHED_INFO: like any distribution's */
	bool reads_other_tasks; /* 5.18: bpf_copy_from_user_task(), sleepable task iterators */
	bool announces_exec;	/* 6.10: sched_prepare_exec */
	bool has_rcu_lock;	/* 6.2: bpf_rcu_read_lock() */
	bool has_loop;		/* 5.17: bpf_loop() */
	bool takes_interrupts;	/* CONFIG_IRQ_TIME_ACCOUNTING */
	bool takes_steal;	/* CONFIG_PARAVIRT_TIME_ACCOUNTING */
};

/* The names in the kernel's BTF, mapped. */
struct btf_names {
	char *file;
	size_t size;
	const char *names; /* each after a NUL */
	size_t n;
};

/* For files that can't be mapped, before 6.16. Reads come in pages. */
static int read_names(int fd, struct btf_names *names)
{
	names->file =
		mmap(NULL, names->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (names->file == MAP_FAILED)
		return -ENOMEM;
	for (size_t at = names->size - names->n; at < names->size;) {
		ssize_t got = pread(fd, names->file + at, names->size - at, at);

		if (got <= 0) {
			munmap(names->file, names->size);
			return -ENOENT;
		}
		at += got;
	}
	return 0;
}

/* Names say enough, and parsing by libbpf takes three times as long. */
static int map_names(struct btf_names *ret)
{
	_cleanup_close_ int fd = open(BTF_PATH, O_RDONLY | O_CLOEXEC);
	struct btf_header header;
	int r = 0;

	if (fd < 0 && errno == EMFILE)
		return -EMFILE;
	if (fd < 0 || pread(fd, &header, sizeof header, 0) != sizeof header ||
	    header.magic != BTF_MAGIC)
		return -ENOENT;
	ret->n = header.str_len;
	ret->size = (size_t)header.hdr_len + header.str_off + header.str_len;
	ret->file = mmap(NULL, ret->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (ret->file == MAP_FAILED)
		r = read_names(fd, ret);
	ret->names = ret->file + ret->size - ret->n;
	return r;
}

static bool has_name(const struct btf_names *names, const char *name)
{
	char wanted[64];

	snprintf(wanted, sizeof wanted, "%c%s", '\0', name);
	return memmem(names->names, names->n, wanted, strlen(name) + 2);
}

static int learn_kernel(struct kernel_facts *facts, struct failure *failure)
{
	struct utsname kernel = {};
	struct btf_names btf = {};
	bool is_new_enough;
	int r = map_names(&btf);

	uname(&kernel);
	if (r == -ENOMEM || r == -EMFILE)
		return r;
	if (r < 0) {
		failure_set(failure, -ENOSYS, "this kernel has no BTF (%s)", BTF_PATH);
		return failure_fix(failure, -ENOSYS,
				   "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of "
				   "Debian 12 and Ubuntu 22.04 are; in a container, mount /sys");
	}
	facts->books_waits = has_name(&btf, "last_arrival"); /* of sched_info */
	facts->announces_exec = has_name(&btf, "btf_trace_sched_prepare_exec");
	facts->takes_interrupts = has_name(&btf, "prev_irq_time"); /* of struct rq */
	facts->takes_steal = has_name(&btf, "prev_steal_time_rq");
	facts->has_rcu_lock = has_name(&btf, "bpf_rcu_read_lock");
	facts->has_loop = has_name(&btf, "BPF_FUNC_loop");
	facts->reads_other_tasks = has_name(&btf, "BPF_FUNC_copy_from_user_task");
	/*
	 * The newest feature that every mode needs; task storage and fetching atomics came in 5.11,
	 * 5.12.
	 */
	is_new_enough = has_name(&btf, "BPF_FUNC_task_pt_regs");
	munmap(btf.file, btf.size);
	if (is_new_enough)
		return 0;
	failure_set(failure, -ENOSYS, "this kernel, Linux %s, is too old", kernel.release);
	return failure_fix(failure, -ENOSYS, "bpfflame needs 5.15 or newer");
}

/* The ways to run after a context switch, best first; the last always works. */
enum hook { HOOK_TRACEPOINT, HOOK_FENTRY, HOOK_KPROBE, HOOK_SWITCH_OUT, N_HOOKS };

static const char *const hook_names[N_HOOKS] = {
	[HOOK_TRACEPOINT] = "sched_exit_tp",
	[HOOK_FENTRY] = "fentry:finish_task_switch",
	[HOOK_KPROBE] = "kprobe:finish_task_switch",
	[HOOK_SWITCH_OUT] = "sched_switch",
};

static bool is_hook(const char *name)
{
	for (enum hook hook = 0; hook < N_HOOKS; hook++)
		if (strcmp(name, hook_names[hook]) == 0)
			return true;
	return false;
}

static int configure_filters(struct bf_config *config, const struct collect_options *options,
			     struct failure *failure)
{
	int r;

	config->by_pid = options->n_pids > 0 || options->command_pid;
	config->by_tid = options->n_tids > 0;
	config->follow = !options->no_children;
	config->command_pid = options->command_pid;
	if (options->comm) {
		config->by_comm = 1;
		r = glob_compile(options->comm, &config->glob);
		if (r == -E2BIG) {
			failure_set(failure, -EINVAL, "--comm: '%s' is longer than any name",
				    options->comm);
			return failure_fix(failure, -EINVAL,
					   "the kernel keeps the first %d bytes of a name",
					   BF_COMM_LEN - 1);
		}
		if (r < 0)
			return failure_set(failure, -EINVAL,
					   "--comm: '%s' is a pattern with an open bracket",
					   options->comm);
	}
	if (options->cpus) {
		config->by_cpu = 1;
		memcpy(config->cpus, options->cpus->bits, sizeof config->cpus);
	}
	return options->cgroup ? cgroup_resolve(options->cgroup, config, failure) : 0;
}

/*
 * Finds the code through which interrupts enter the kernel, so that an interrupted thread is not
 * taken for a waker. On x86-64 these stubs are contiguous (arch/x86/include/asm/idtentry.h).
 * Elsewhere, and if addresses are hidden, the names of the frames show it later.
 */
static void find_interrupts(struct bf_config *config)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	unsigned long long address;
	char line[256], name[128];

	while (symbols && !config->interrupts_end && fgets(line, sizeof line, symbols)) {
		if (sscanf(line, "%llx %*c %127s", &address, name) != 2)
			continue;
		if (strcmp(name, "asm_common_interrupt") == 0)
			config->interrupts = address;
		else if (config->interrupts && strcmp(name, "__irqentry_text_end") == 0)
			config->interrupts_end = address;
	}
	if (symbols)
		fclose(symbols);
}

/* A kernel stack of this depth may be deeper. */
static uint32_t kernel_depth(void)
{
	uint64_t most = read_number_file("/proc/sys/kernel/perf_event_max_stack", BF_KERNEL_FRAMES);

	return most && most < BF_KERNEL_FRAMES ? most : BF_KERNEL_FRAMES;
}

static int configure(struct bf_config *config, const struct collect_options *options,
		     struct failure *failure)
{
	int r;

	config->in_pid_namespace = targets_in_pid_namespace();
	config->user_stacks = !options->no_user;
	config->runtimes = !options->no_runtimes;
	events_configure(options, config);
	config->sampling = options->mode != PROFILE_OFFCPU;
	config->offcpu = options->mode != PROFILE_ONCPU;
	/* The kernel stack gives the reason for waiting, so it is always recorded. */
	config->kernel_stacks = config->offcpu || !options->no_kernel;
	config->kernel_depth = kernel_depth();
	config->keep_runtime = options->mode == PROFILE_WALL;
	config->time_programs = options->time_programs;
	config->is_frugal = options->is_frugal;
	config->keep_tid = options->threads || config->keep_runtime;
	config->waker_depth = config->offcpu ? options->waker_depth : 0;
	config->waker_tid = options->threads;
	if (config->waker_depth)
		find_interrupts(config);
	config->every = options->every_ns;
	config->min_block = options->min_block_ns;
	config->max_block = options->max_block_ns;
	config->filters_periods = options->comm || options->cpus || options->min_block_ns ||
				  options->max_block_ns != UINT64_MAX;
	r = random_bytes(config->hash_keys, sizeof config->hash_keys);
	if (r < 0)
		return r;
	return configure_filters(config, options, failure);
}

static uint32_t power_of_two_above(uint64_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

/*
 * Two drains are at most a second apart, so an on-CPU map needs rows for the samples of two
 * seconds. Off-CPU there is no such bound; a half-full map is drained at once.
 */
static void size_maps(struct profiler *skel, const struct collect_options *options)
{
	uint64_t cpus = libbpf_num_possible_cpus();
	uint64_t rows = 2 * options->frequency * cpus;
	/* Few samples come at a time, so the ring, which is mapped twice, may be small. */
	bool is_seldom = !skel->rodata->config.offcpu && options->frequency <= SELDOM_HZ;
	uint32_t ring_bytes;

	if ((skel->rodata->config.offcpu || options->n_events) && rows < 65536)
		rows = 65536;
	rows = power_of_two_above(rows < 8192 ? 8192 : rows > (1 << 20) ? 1 << 20 : rows);
	ring_bytes = power_of_two_above((is_seldom ? 1u << 20 : 2u << 20) + cpus * (128u << 10));
	/* Events can come in thousands before a new process can be unwound. */
	if (options->n_events && ring_bytes < EVENTS_RING_BYTES)
		ring_bytes = EVENTS_RING_BYTES;
	bpf_map__set_max_entries(skel->maps.counts_a, rows);
	bpf_map__set_max_entries(skel->maps.counts_b, rows);
	bpf_map__set_max_entries(skel->maps.seen_stacks, 2 * rows);
	bpf_map__set_max_entries(skel->maps.events, ring_bytes);
	bpf_map__set_max_entries(skel->maps.spare_events, SPARE_RING_BYTES);
	skel->rodata->config.counts_high = rows / 2;
	skel->rodata->config.events_high = ring_bytes / 4;
	skel->rodata->config.snapshots_high = ring_bytes / 4 * 3;
	bpf_map__set_max_entries(skel->maps.scratch, cpus * BF_SCRATCHES);
	bpf_map__set_max_entries(skel->maps.last_walks, cpus);
	if (options->n_events)
		bpf_map__set_max_entries(skel->maps.event_scratches, cpus * BF_EVENT_SCRATCHES);
	bpf_map__set_max_entries(skel->maps.segments, BF_MAX_SEGMENTS);
	bpf_map__set_max_entries(skel->maps.tables, MAX_TABLE_PARTS);
	if (skel->rodata->config.by_pid) {
		bpf_map__set_max_entries(skel->maps.target_pids, options->n_pids + MAX_CHILDREN);
		bpf_map__set_max_entries(skel->maps.ended_pids, MAX_ENDED);
	}
	if (options->n_tids)
		bpf_map__set_max_entries(skel->maps.target_tids, options->n_tids);
}

static void choose_programs(struct profiler *skel, const struct collect_options *options,
			    const struct kernel_facts *facts, enum hook hook)
{
	struct bf_config *config = &skel->rodata->config;
	bool offcpu = config->offcpu, capture_out = offcpu && hook == HOOK_SWITCH_OUT;
	bool stacks_at_start = capture_out && facts->reads_other_tasks;
	struct bpf_program *program;

	bpf_object__for_each_program(program, skel->obj) bpf_program__set_autoload(program, false);
	bpf_program__set_autoload(skel->progs.find_pid_namespace, config->in_pid_namespace);
	bpf_program__set_autoload(skel->progs.on_fork, true);
	bpf_program__set_autoload(skel->progs.on_exit, true);
	bpf_program__set_autoload(skel->progs.on_exec,
				  options->command_pid || config->keep_runtime);
	bpf_program__set_autoload(skel->progs.on_rename, config->keep_runtime && config->by_comm);
	bpf_program__set_autoload(skel->progs.on_leaving, !options->no_user);
	bpf_program__set_autoload(skel->progs.on_each_task_at_start, !stacks_at_start);
	bpf_program__set_autoload(skel->progs.on_each_task_at_start_stacks, stacks_at_start);
	events_choose_programs(skel, options);
	config->ends_at_free = config->keep_runtime && config->is_frugal && !capture_out;
	bpf_program__set_autoload(skel->progs.on_switch,
				  capture_out || (config->keep_runtime && !config->ends_at_free));
	bpf_program__set_autoload(skel->progs.on_free, config->ends_at_free || config->by_pid);
	bpf_program__set_autoload(skel->progs.on_each_task_polled,
				  config->ends_at_free && facts->reads_other_tasks);
	bpf_program__set_autoload(skel->progs.on_wakeup, capture_out);
	bpf_program__set_autoload(skel->progs.on_waking, config->waker_depth);
	bpf_program__set_autoload(skel->progs.on_switched_tp, offcpu && hook == HOOK_TRACEPOINT);
	bpf_program__set_autoload(skel->progs.on_switched_fentry, offcpu && hook == HOOK_FENTRY);
	bpf_program__set_autoload(skel->progs.on_switched_kprobe, offcpu && hook == HOOK_KPROBE);
	bpf_program__set_autoload(skel->progs.on_each_task_at_end,
				  offcpu && facts->reads_other_tasks);
	bpf_program__set_autoload(skel->progs.on_each_task_at_end_kernel_only,
				  offcpu && !facts->reads_other_tasks);
	config->capture_out = capture_out;
	config->holds_queue = hook != HOOK_TRACEPOINT;
	config->has_rcu_lock = facts->has_rcu_lock;
	config->has_loop = facts->has_loop;
}

static int attach(struct bpf_program *program, struct bpf_link **link)
{
	if (!bpf_program__autoload(program))
		return 0;
	*link = bpf_program__attach(program);
	return *link ? 0 : -errno;
}

/* GCC may have renamed the function when specializing it. */
static int attach_kprobe(struct profiler *skel)
{
	static const char *const names[] = {"finish_task_switch", "finish_task_switch.isra.0"};

	if (!bpf_program__autoload(skel->progs.on_switched_kprobe))
		return 0;
	for (size_t i = 0; i < 2 && !skel->links.on_switched_kprobe; i++)
		skel->links.on_switched_kprobe =
			bpf_program__attach_kprobe(skel->progs.on_switched_kprobe, false, names[i]);
	return skel->links.on_switched_kprobe ? 0 : -errno;
}

/* One of them is loaded at most. */
static int attach_hook(struct profiler *skel)
{
	int r = attach(skel->progs.on_switched_tp, &skel->links.on_switched_tp);

	if (r < 0)
		return r;
	r = attach(skel->progs.on_switched_fentry, &skel->links.on_switched_fentry);
	if (r < 0)
		return r;
	return attach_kprobe(skel);
}

/* One program, two tracepoints: the second link has no place in the skeleton. */
static int attach_leaving(struct profiler *skel, const struct kernel_facts *facts,
			  struct bpf_link **ret_exec_link)
{
	struct bpf_program *program = skel->progs.on_leaving;

	if (!bpf_program__autoload(program))
		return 0;
	skel->links.on_leaving = bpf_program__attach_raw_tracepoint(program, "sched_process_exit");
	if (!skel->links.on_leaving)
		return -errno;
	if (!facts->announces_exec)
		return 0;
	*ret_exec_link = bpf_program__attach_raw_tracepoint(program, "sched_prepare_exec");
	return *ret_exec_link ? 0 : -errno;
}

/* The sampling program gets its events later, the iterators run on request. */
static int attach_all(struct profiler *skel, const struct kernel_facts *facts,
		      struct bpf_link **ret_exec_link)
{
	const struct {
		struct bpf_program *program;
		struct bpf_link **ret_link;
	} rest[] = {
		{skel->progs.on_exit, &skel->links.on_exit},
		{skel->progs.on_exec, &skel->links.on_exec},
		{skel->progs.on_rename, &skel->links.on_rename},
		{skel->progs.on_switch, &skel->links.on_switch},
		{skel->progs.on_free, &skel->links.on_free},
		{skel->progs.on_wakeup, &skel->links.on_wakeup},
		{skel->progs.on_waking, &skel->links.on_waking},
	};
	int r = attach(skel->progs.on_fork, &skel->links.on_fork);

	if (r < 0)
		return r;
	/* Before on_exit, which forgets the process. */
	r = attach_leaving(skel, facts, ret_exec_link);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
		r = attach(rest[i].program, rest[i].ret_link);
		if (r < 0)
			return r;
	}
	return attach_hook(skel);
}

/* Uses a program that runs as us. */
static int find_pid_namespace(struct profiler *skel)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int program = bpf_program__fd(skel->progs.find_pid_namespace);

	return skel->rodata->config.in_pid_namespace ? bpf_prog_test_run_opts(program, &options)
						     : 0;
}

static int add_targets(struct bpf_map *map, const uint32_t *ids, size_t n)
{
	uint8_t one = 1;

	for (size_t i = 0; i < n; i++)
		if (bpf_map__update_elem(map, &ids[i], sizeof ids[i], &one, sizeof one, BPF_ANY))
			return -errno;
	return 0;
}

/* Logs the verifier's work, program by program. */
static void log_programs(const struct profiler *skel, FILE *log)
{
	struct bpf_program *program;

	if (!log)
		return;
	bpf_object__for_each_program(program, skel->obj)
	{
		struct bpf_prog_info info = {};
		__u32 size = sizeof info;

		if (!bpf_program__autoload(program) ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) < 0)
			continue;
		fprintf(log, "program %s: %u instructions verified, %u bytes of machine code\n",
			bpf_program__name(program) /* ours */, info.verified_insns,
			info.jited_prog_len);
	}
}

/* Has the kernel verify two of the programs that walk stacks while we go on. */
static int defer_programs(struct loaded *loaded)
{
	int r = deferred_init(&loaded->leaving, DEFERRED_RAW_TRACEPOINT);

	if (r < 0)
		return r;
	return deferred_init(&loaded->at_end, DEFERRED_ITERATOR);
}

static int end_deferred(struct deferred *deferred, FILE *log)
{
	int r = deferred_end(deferred);

	if (r >= 0)
		return 0;
	snprintf(libbpf_said.first, sizeof libbpf_said.first, "the kernel refuses '%s'",
		 bpf_program__name(deferred->program));
	if (log && deferred->log)
		fputs(deferred->log /* ours */, log);
	return r;
}

/* Sets what libbpf would take from a section's name, for sections it does not know. */
static int set_targets(struct profiler *skel)
{
	struct bpf_program *at_end = skel->progs.on_each_task_at_end;

	if (!bpf_program__autoload(at_end))
		return 0;
	return bpf_program__set_flags(at_end, BPF_F_SLEEPABLE)
		       ?: bpf_program__set_attach_target(at_end, 0, "task");
}

static int load_and_attach(const struct collect_options *options, const struct kernel_facts *facts,
			   struct loaded *loaded)
{
	struct profiler *skel = loaded->skel;
	int r = set_targets(skel);

	if (r < 0)
		return r;
	r = profiler__load(skel);
	if (r < 0)
		return r;
	r = end_deferred(&loaded->leaving, options->log);
	if (r < 0)
		return r;
	r = deferred_begin(&loaded->at_end);
	if (r < 0)
		return r;
	r = find_pid_namespace(skel);
	if (r < 0)
		return r;
	r = add_targets(skel->maps.target_pids, options->n_pids ? options->pids : NULL,
			options->n_pids);
	if (r < 0)
		return r;
	r = add_targets(skel->maps.target_tids, options->tids, options->n_tids);
	if (r < 0)
		return r;
	return attach_all(skel, facts, &loaded->exec_link);
}

static int try_hook(const struct collect_options *options, const struct kernel_facts *facts,
		    enum hook hook, struct loaded *ret, struct failure *failure)
{
	struct profiler *skel;
	int r = defer_programs(ret);

	if (r < 0)
		goto failed;
	skel = ret->skel = profiler__open();
	if (!skel) {
		r = -errno;
		goto failed;
	}
	unpack_object_free(&skel->skeleton->data);
	r = configure(&skel->rodata->config, options, failure);
	if (r < 0)
		goto failed;
	choose_programs(skel, options, facts, hook);
	size_maps(skel, options);
	skel->bss->control = (struct bf_control){
		.window_end = UINT64_MAX,
		.switch_start = UINT64_MAX,
		.switch_end = UINT64_MAX,
		.offcpu_period = period_first(options->offcpu_period_ns),
	};
	r = load_and_attach(options, facts, ret);
	if (r < 0)
		goto failed;
	ret->hook = "";
	return 0;
failed:
	loaded_done(ret);
	return r;
}

/* Returns the error to go on with: -EINVAL is reserved for wrong options. */
static int explain(int error, struct failure *failure)
{
	if (failure->what[0])
		return error;
	if (rights_explain(RIGHTS_BPF, error, failure))
		return -EPERM;
	/* libbpf may go on and fail with an error that follows from it. */
	if (strstr(libbpf_said.first, strerror(EMFILE)))
		error = -EMFILE;
	failure_set(failure, error, "cannot load the BPF programs: %s%s%s", strerror(-error),
		    libbpf_said.first[0] ? ": " : "", libbpf_said.first);
	if (!rights_explain_files(error, failure))
		failure_fix(failure, error,
			    "bpfflame needs a kernel of 5.15 or newer; -v prints more");
	return error == -EINVAL ? -ENOSYS : error;
}

static void raise_limits(void)
{
	struct rlimit limit;

	/* Every mapped file stays open until it has been read. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

void loaded_done(struct loaded *loaded)
{
	deferred_done(&loaded->leaving);
	deferred_done(&loaded->at_end);
	bpf_link__destroy(loaded->exec_link);
	profiler__destroy(loaded->skel);
	*loaded = (struct loaded){};
}

int load_profiler(const struct collect_options *options, struct loaded *ret,
		  struct failure *failure)
{
	bool offcpu = options->mode != PROFILE_ONCPU;
	struct kernel_facts facts = {};
	int r = -ENOENT;

	libbpf_said.log = options->log;
	libbpf_set_print(on_libbpf_print);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	raise_limits();
	r = learn_kernel(&facts, failure);
	if (r < 0)
		return r;
	r = -ENOENT;
	if (options->hook && !is_hook(options->hook))
		return failure_set(failure, -EINVAL, "--offcpu-hook: no hook '%s'", options->hook);
	for (enum hook hook = 0; hook < N_HOOKS; hook++) {
		if (options->hook && strcmp(options->hook, hook_names[hook]) != 0)
			continue;
		if (hook != HOOK_SWITCH_OUT && !facts.books_waits && offcpu)
			continue;
		libbpf_said.first[0] = '\0';
		r = try_hook(options, &facts, hook, ret, failure);
		if (r == 0 && offcpu)
			ret->hook = hook_names[hook];
		ret->takes_interrupts = facts.takes_interrupts;
		ret->takes_steal = facts.takes_steal;
		if (r == 0 || failure->what[0] || !offcpu)
			break;
	}
	return r < 0 ? explain(r, failure) : 0;
}

bool load_may_poll(const struct loaded *loaded)
{
	return bpf_program__autoload(loaded->skel->progs.on_each_task_polled);
}

void load_detach_hook(struct loaded *loaded)
{
	struct bpf_link **links[] = {&loaded->skel->links.on_switched_tp,
				     &loaded->skel->links.on_switched_fentry,
				     &loaded->skel->links.on_switched_kprobe};

	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		bpf_link__destroy(*links[i]);
		*links[i] = NULL;
	}
}

int load_attach_hook(struct loaded *loaded)
{
	return attach_hook(loaded->skel);
}

int load_end(struct loaded *loaded, const struct collect_options *options, struct failure *failure)
{
	int r = end_deferred(&loaded->at_end, options->log);

	if (r < 0)
		return explain(r, failure);
	log_programs(loaded->skel, options->log);
	return 0;
}

#define PROGRAM_US 2000 /* longer than a program takes if nothing preempts it */
#define MOST_WAITS 50

/* Reads how often each buffer for events' stacks was used, on each CPU: odd while in use. */
static int read_event_uses(const struct profiler *skel, uint32_t n_cpus, uint64_t *uses)
{
	int map = bpf_map__fd(skel->maps.event_uses);

	for (uint32_t i = 0; i < bpf_map__max_entries(skel->maps.event_uses); i++) {
		int r = bpf_map_lookup_elem(map, &i, uses + (size_t)i * n_cpus);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool any_still_in_use(const uint64_t *before, const uint64_t *now, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (before[i] % 2 && now[i] == before[i])
			return true;
	return false;
}

/* Programs of events may be preempted: waits until each buffer in use now is given back. */
static void wait_for_event_programs(const struct profiler *skel)
{
	uint32_t n_cpus = libbpf_num_possible_cpus();
	size_t n = (size_t)n_cpus * bpf_map__max_entries(skel->maps.event_uses);
	_cleanup_free_ uint64_t *before = calloc(n, sizeof *before), *now = calloc(n, sizeof *now);
	int r = before && now ? read_event_uses(skel, n_cpus, before) : -ENOMEM;

	if (r == 0)
		memcpy(now, before, n * sizeof *now);
	for (int i = 0; i < MOST_WAITS && (r < 0 || any_still_in_use(before, now, n)); i++) {
		usleep(PROGRAM_US);
		if (r == 0)
			r = read_event_uses(skel, n_cpus, now);
	}
}

/*
 * A grace period of RCU would cover all programs, but can take seconds on a busy machine, while our
 * rings overflow.
 */
void load_wait_for_programs(const struct profiler *skel)
{
	usleep(PROGRAM_US);
	if (skel->rodata->config.events)
		wait_for_event_programs(skel);
}
