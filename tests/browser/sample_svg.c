/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample_svg: writes pictures for the browser tests; under the name sample_html, pages.
 *
 *	sample_svg oncpu|offcpu|wall|hostile|deep|large|empty|random|languages|long|compare
 *		[OPTION[=VALUE]]… >FILE
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "made_profile.h"
#include "render/render.h"

static const struct made_sample oncpu[] = {
	{"python3",
	 "_start;__libc_start_main;main;Py_RunMain;_PyEval_EvalFrameDefault;parse_json;"
	 "scan_once;_match_number",
	 812},
	{"python3",
	 "_start;__libc_start_main;main;Py_RunMain;_PyEval_EvalFrameDefault;parse_json;"
	 "scan_once;py_scanstring",
	 1420},
	{"python3",
	 "_start;__libc_start_main;main;Py_RunMain;_PyEval_EvalFrameDefault;parse_json;"
	 "scan_once;PyDict_SetItem;insertdict_[i];unicodekeys_lookup_unicode_[i]",
	 630},
	{"python3",
	 "_start;__libc_start_main;main;Py_RunMain;_PyEval_EvalFrameDefault;list_sort_impl;"
	 "binarysort_[i];unsafe_latin_compare",
	 540},
	{"python3",
	 "_start;__libc_start_main;main;Py_RunMain;_PyEval_EvalFrameDefault;"
	 "__memmove_avx_unaligned_erms;asm_exc_page_fault_[k];exc_page_fault_[k];"
	 "do_user_addr_fault_[k];handle_mm_fault_[k];do_anonymous_page_[k];"
	 "clear_page_erms_[k]",
	 377},
	{"python3", "_start;__libc_start_main;main;Py_RunMain;pymain_run_file;gc_collect_main",
	 201},
	{"node",
	 "node::Start(int, char**);v8::internal::Execution::Call;Builtins_JSEntry;"
	 "~handleRequest server.js:41_[j];*render server.js:12_[j];Builtins_StringAdd",
	 930},
	{"node",
	 "node::Start(int, char**);v8::internal::Execution::Call;Builtins_JSEntry;"
	 "~handleRequest server.js:41_[j];writev;entry_SYSCALL_64_after_hwframe_[k];"
	 "do_syscall_64_[k];do_writev_[k];sock_write_iter_[k];tcp_sendmsg_[k];"
	 "tcp_sendmsg_locked_[k];__tcp_push_pending_frames_[k];tcp_write_xmit_[k]",
	 488},
	{"node",
	 "node::Start(int, char**);v8::internal::Heap::Scavenge;"
	 "std::vector<v8::internal::ScavengeTask, std::allocator<v8::internal::ScavengeTask> >"
	 "::emplace_back_[i];v8::internal::Scavenger::ScavengePage",
	 260},
	{"cc1",
	 "toplev::main;compile_file;c_parser_translation_unit;c_parser_declaration_or_fndef;"
	 "finish_function;cgraph_node::finalize_function",
	 610},
	{"cc1",
	 "toplev::main;compile_file;symbol_table::compile;execute_pass_list;tree_vrp;"
	 "bitmap_ior_into",
	 455},
	{"cc1", "[libfoo.so.1+0x1a2b];[libfoo.so.1+0x1f00]", 120, .truncated = true},
	{"swapper/0", "secondary_startup_64_[k];cpu_startup_entry_[k];do_idle_[k]", 64},
	{"sh",
	 "_start;execve;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];"
	 "__x64_sys_execve_[k];load_elf_binary_[k]",
	 1},
};

#define MS 1000000ull
static const struct made_sample offcpu[] = {
	{"postgres",
	 "_start;main;PostmasterMain;ServerLoop;WaitEventSetWait;epoll_wait;"
	 "entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];do_epoll_wait_[k];"
	 "schedule_hrtimeout_range_[k];schedule_[k];__schedule_[k]",
	 8700 * MS, REASON_SLEEP},
	{"postgres",
	 "_start;main;PostmasterMain;BackendRun;PostgresMain;exec_simple_query;"
	 "CommitTransaction;XLogFlush;issue_xlog_fsync;fdatasync;"
	 "entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];ext4_sync_file_[k];"
	 "jbd2_log_wait_commit_[k];schedule_[k];__schedule_[k]",
	 2140 * MS, REASON_DISK},
	{"postgres",
	 "_start;main;PostmasterMain;BackendRun;PostgresMain;exec_simple_query;"
	 "PortalRun;ExecutorRun;ExecSeqScan_[i];LWLockAcquire;futex_wait_[k];"
	 "schedule_[k];__schedule_[k]",
	 960 * MS, REASON_SLEEP},
	{"postgres",
	 "_start;main;PostmasterMain;BackendRun;PostgresMain;exec_simple_query;"
	 "PortalRun;ExecutorRun;ExecSeqScan_[i]",
	 420 * MS + 170000, REASON_PREEMPTED},
	{"postgres", "_start;main;PostmasterMain;BackendRun;PostgresMain;exec_simple_query",
	 93 * MS, REASON_RUNQUEUE},
	{"worker",
	 "clone;start_thread;run_loop;usleep;clock_nanosleep;"
	 "entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];do_nanosleep_[k];"
	 "schedule_[k];__schedule_[k]",
	 4980 * MS, REASON_SLEEP},
	{"worker", "clone;start_thread;run_loop", 12345678, REASON_STOPPED},
	{"kworker/0:1", "ret_from_fork_[k];kthread_[k];worker_thread_[k];schedule_[k]", 17 * MS,
	 REASON_SLEEP},
	{"sh", "_start;main;waitpid", 41234, REASON_SLEEP},
};

#define KERNEL	"entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k]"
#define BACKEND "_start;main;PostmasterMain;BackendRun;PostgresMain"
#define QUERY	BACKEND ";exec_simple_query"
#define FUTEX_WAKER                                                                                \
	{                                                                                          \
		"postgres",                                                                        \
			QUERY ";LWLockRelease;futex_wake;" KERNEL                                  \
			      ";do_futex_[k];futex_wake_[k];wake_up_q_[k]",                        \
			.tid = 4711                                                                \
	}
#define NVME_INTERRUPT                                                                             \
	{                                                                                          \
		"swapper/0",                                                                       \
			"asm_common_interrupt_[k];common_interrupt_[k];nvme_irq_[k];"              \
			"blk_mq_end_request_[k];bio_endio_[k]",                                    \
			.is_interrupt = true                                                       \
	}

static const struct made_sample wall[] = {
	{"postgres", QUERY ";PortalRun;ExecutorRun;ExecSeqScan_[i];heap_getnext", 5200 * MS,
	 REASON_ONCPU},
	{"postgres", QUERY ";PortalRun;ExecutorRun;ExecHashJoin;ExecHashGetBucket_[i]", 2900 * MS,
	 REASON_ONCPU},
	{"postgres", QUERY ";PortalRun;ExecutorRun;ExecSort;tuplesort_performsort", 1700 * MS,
	 REASON_ONCPU},
	{"postgres",
	 QUERY ";pg_pread;" KERNEL ";ksys_pread64_[k];ext4_file_read_iter_[k];copy_page_[k]",
	 1250 * MS, REASON_ONCPU},
	{"postgres",
	 QUERY ";pg_pread;" KERNEL ";ksys_pread64_[k];ext4_file_read_iter_[k];folio_wait_bit_[k]",
	 3100 * MS, REASON_DISK, .wakers = {NVME_INTERRUPT}},
	{"postgres",
	 QUERY ";PortalRun;ExecutorRun;ExecHashJoin;LWLockAcquire;" KERNEL ";futex_wait_[k]",
	 2400 * MS, REASON_FUTEX, .wakers = {FUTEX_WAKER, NVME_INTERRUPT}},
	{"postgres", QUERY ";PortalRun;ExecutorRun;ExecSort", 800 * MS, REASON_PREEMPTED},
	{"postgres",
	 QUERY ";PortalRun;ExecutorRun;ExecHashJoin;LWLockAcquire;" KERNEL ";futex_wait_[k]",
	 350 * MS, REASON_RUNQUEUE},
	{"postgres",
	 BACKEND ";ReadCommand;secure_read;WaitEventSetWait;epoll_wait;" KERNEL
		 ";do_epoll_wait_[k]",
	 4600 * MS, REASON_POLL, .is_idle = true,
	 .wakers = {{"client", "_start;main;PQsendQuery;send;" KERNEL ";unix_stream_sendmsg_[k]"}}},
	{"worker", "clone;start_thread;run_loop;usleep;clock_nanosleep;" KERNEL ";do_nanosleep_[k]",
	 2100 * MS, REASON_TIMER, .is_idle = true},
	{"worker", "clone;start_thread;run_loop;compress", 950 * MS, REASON_ONCPU},
	{"worker", "clone;start_thread;run_loop;read;" KERNEL ";pipe_read_[k]", 1900 * MS,
	 REASON_PIPE,
	 .wakers = {{"client", "loop;write;" KERNEL ";pipe_write_[k]", .truncated = true}}},
	{"worker", "clone;start_thread;run_loop;mmap_it;asm_exc_page_fault_[k];handle_mm_fault_[k]",
	 400 * MS, REASON_PAGE_FAULT},
	{"kworker/0:1", "ret_from_fork_[k];kthread_[k];worker_thread_[k];process_one_work_[k]",
	 300 * MS, REASON_ONCPU},
	{"kworker/0:1", "ret_from_fork_[k];kthread_[k];worker_thread_[k]", 900 * MS, REASON_SLEEP,
	 .is_idle = true},
};

static struct profile *make_random(size_t n_stacks, uint32_t depth, uint32_t names)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	uint64_t state = 88172645463325252u;
	uint32_t locations[256];
	char name[64];

	for (size_t i = 0; i < n_stacks; i++) {
		uint32_t n = depth / 2 + made_random(&state) % (depth / 2);
		struct made_sample sample = {"random", "", 1 + made_random(&state) % 20};

		/* Few functions near the root, many at the leaves. */
		for (uint32_t d = 0; d < n; d++) {
			uint64_t most = 1 + (uint64_t)names * d / n / (d % 3 ? 1 : 4);

			snprintf(name, sizeof name, "module::function_%u_%llu", d / 3,
				 (unsigned long long)(made_random(&state) % most));
			locations[n - 1 - d] =
				made_location(profile, d > n / 2 ? FRAME_KERNEL : FRAME_USER, name);
		}
		made_add_locations(profile, &sample, locations, n);
	}
	return profile;
}

/* A frame of each language, each in a file of its own. */
static struct profile *make_languages(void)
{
	static const char *const names[][2] = {
		{"main", "app"},
		{"__libc_start_call_main", "libc.so.6"},
		{"std::vector<int>::push_back(int&&)", "libstdc++.so.6"},
		{"render::Scene::draw(render::Canvas&)", "app"},
		{"tokio::runtime::task::harness::poll::h0123456789abcdef", "server"},
		{"core::ops::function::FnOnce::call_once{{vtable.shim}}", "server"},
		{"<alloc::vec::Vec<T> as core::clone::Clone>::clone", "server"},
		{"runtime.mallocgc", "proxy"},
		{"github.com/example/proxy/server.(*Conn).serve", "proxy"},
		{"java.util.HashMap.get", "libjvm.so"},
		{"com.example.shop.Cart::total", "libjvm.so"},
		{"*render /srv/app/server.js:12", "node"},
		{"Builtins_StringAdd", "node"},
		{"handle /srv/app/views.py:88", "libpython3.11.so.1.0"},
		{"loads /usr/lib/python3.11/json/__init__.py:299", "libpython3.11.so.1.0"},
		{"Perl_runops_standard", "perl"},
	};
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct made_sample sample = {"all", "", 100};
		struct profile_mapping mapping = {.kind = MAPPING_FILE,
						  .path = made_string(profile, names[i][1])};
		struct profile_frame frame = {.kind = FRAME_USER,
					      .function = made_string(profile, names[i][0])};
		uint32_t index, locations[2];

		made_check(profile_add_mapping(profile, &mapping, &index), "profile_add_mapping");
		made_check(profile_add_location(profile, index, i + 1, false, &locations[1]),
			   "profile_add_location");
		made_check(profile_set_frames(profile, locations[1], &frame, 1),
			   "profile_set_frames");
		locations[0] = made_location(profile, FRAME_KERNEL, "do_syscall_64");
		made_add_locations(profile, &sample, locations, 2);
	}
	return profile;
}

/* Many names of 10 kB. */
static struct profile *make_long(void)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	static char name[10001];

	for (int i = 0; i < 900; i++) {
		struct made_sample sample = {"long", "", 1 + i % 7};
		uint32_t locations[3];

		for (int d = 0; d < 3; d++) {
			size_t n = snprintf(name, sizeof name, "ns%d::type_%d<", d, i);

			memset(name + n, 'a' + i % 26, sizeof name - 1 - n);
			locations[2 - d] = made_location(profile, FRAME_USER, name);
		}
		made_add_locations(profile, &sample, locations, 3);
	}
	return profile;
}

/* Two releases of a server: frames that grew, shrank, came, went, and seemed to change. */
static const struct made_sample
	before[] =
		{
			{"server", "main;serve;parse;scan_headers", 1000},
			{"server", "main;serve;parse;decode_utf8", 600},
			{"server", "main;serve;parse", 300},
			{"server", "main;serve;render;escape_html", 900},
			{"server", "main;serve;render;escape_html;append", 900},
			{"server", "main;serve;render;template_lookup", 400},
			{"server", "main;serve;log_request;format_time;localtime", 700},
			{"server", "main;serve;log_request;write;do_syscall_64_[k];ksys_write_[k]",
			 500},
			{"server", "main;serve;old_cache;hash_lookup", 800},
			{"server", "main;serve;old_cache;evict;unlink_entry", 240},
			{"server", "main;idle_poll;epoll_wait;do_syscall_64_[k];do_epoll_wait_[k]",
			 450},
			{"server", "main;stats", 3},
},
	after[] = {
		{"server", "main;serve;parse;scan_headers", 1350},
		{"server", "main;serve;parse;decode_utf8", 610},
		{"server", "main;serve;parse", 700},
		{"server", "main;serve;render;escape_html", 910},
		{"server", "main;serve;render;escape_html;append", 300},
		{"server", "main;serve;render;template_lookup", 520},
		{"server", "main;serve;log_request;format_time;localtime", 710},
		{"server", "main;serve;log_request;write;do_syscall_64_[k];ksys_write_[k]", 480},
		{"server", "main;serve;arena_cache;probe", 420},
		{"server", "main;serve;arena_cache;probe;compare_keys", 330},
		{"server", "main;idle_poll;epoll_wait;do_syscall_64_[k];do_epoll_wait_[k]", 440},
		{"server", "main;stats", 5},
};

static struct profile *make_deep(void)
{
	char stack[8192] = "main";
	size_t at = 4;

	for (int i = 0; i < 127; i++)
		at += snprintf(stack + at, sizeof stack - at, ";recurse_%d", i);
	return made_profile(PROFILE_ONCPU,
			    (struct made_sample[]){{"deep", stack, 10}, {"deep", "main;other", 10}},
			    2);
}

static struct profile *make(const char *kind)
{
	if (strcmp(kind, "languages") == 0)
		return make_languages();
	if (strcmp(kind, "long") == 0)
		return make_long();
	if (strcmp(kind, "compare") == 0)
		return made_profile(PROFILE_ONCPU, after, sizeof after / sizeof *after);
	if (strcmp(kind, "oncpu") == 0)
		return made_profile(PROFILE_ONCPU, oncpu, sizeof oncpu / sizeof *oncpu);
	if (strcmp(kind, "offcpu") == 0)
		return made_profile(PROFILE_OFFCPU, offcpu, sizeof offcpu / sizeof *offcpu);
	if (strcmp(kind, "wall") == 0)
		return made_profile(PROFILE_WALL, wall, sizeof wall / sizeof *wall);
	if (strcmp(kind, "hostile") == 0)
		return made_hostile(PROFILE_ONCPU);
	if (strcmp(kind, "deep") == 0)
		return make_deep();
	if (strcmp(kind, "random") == 0)
		return make_random(400, 40, 12);
	if (strcmp(kind, "large") == 0)
		return make_random(20000, 40, 40);
	if (strcmp(kind, "empty") == 0)
		return made_profile(PROFILE_ONCPU, NULL, 0);
	return NULL;
}

static struct picture_options picture = {.min_width = -1, .factor = 1};
static struct stacks_options reading = {.unfold = {.fold_idle = true, .waker_depth = 8}};
static bool absolute;

/* OPTION[=VALUE] */
static const struct setting {
	const char *name;
	enum { TEXT, NUMBER, UNSIGNED, SIZE, FLAG } type;
	void *to;
} settings[] = {
	{"title", TEXT, &picture.title},
	{"subtitle", TEXT, &picture.subtitle},
	{"notes", TEXT, &picture.notes},
	{"name_type", TEXT, &picture.name_type},
	{"count_name", TEXT, &picture.count_name},
	{"factor", NUMBER, &picture.factor},
	{"total", NUMBER, &picture.total},
	{"width", UNSIGNED, &picture.width},
	{"frame_height", UNSIGNED, &picture.frame_height},
	{"min_width", NUMBER, &picture.min_width},
	{"max_frames", SIZE, &picture.max_frames},
	{"font_type", TEXT, &picture.font_type},
	{"font_size", NUMBER, &picture.font_size},
	{"font_width", NUMBER, &picture.font_width},
	{"cut_left", FLAG, &picture.cut_left},
	{"colors", TEXT, &picture.colors},
	{"background", TEXT, &picture.background},
	{"search_color", TEXT, &picture.search_color},
	{"negate", FLAG, &picture.negate},
	{"inverted", FLAG, &picture.inverted},
	{"no_script", FLAG, &picture.no_script},
	{"reverse", FLAG, &reading.reverse},
	{"absolute", FLAG, &absolute},
};

static void set(const struct setting *setting, const char *value)
{
	switch (setting->type) {
	case TEXT: *(const char **)setting->to = value; break;
	case NUMBER: *(double *)setting->to = atof(value); break;
	case UNSIGNED: *(unsigned int *)setting->to = atoi(value); break;
	case SIZE: *(size_t *)setting->to = atol(value); break;
	case FLAG: *(bool *)setting->to = true; break;
	}
}

static bool parse(char *argument)
{
	char *value = strchr(argument, '=');

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (strcmp(settings[i].name, argument) == 0) {
			set(&settings[i], value ? value : "");
			return true;
		}
	return false;
}

static void describe(struct profile *profile)
{
	if (!profile->command_line)
		profile->command_line = made_string(profile, "bpfflame -a -d 30 -F 499");
	if (!profile->host)
		profile->host = made_string(profile, "build-7");
	profile->kernel = made_string(profile, "Linux 6.12.9");
	profile->start_realtime_ns = 1795266301ull * 1000000000;
	profile->duration_ns = 30ull * 1000000000;
	profile->frequency = 499;
}

static void add(struct stacks *stacks, struct profile *profile, enum stacks_side side)
{
	made_check(stacks_add(stacks, profile, side), "stacks_add");
	profile_free(profile);
}

int main(int argc, char **argv)
{
	struct profile *profile = argc > 1 ? make(argv[1]) : NULL;
	struct stacks stacks;
	int r;

	for (int i = 2; i < argc; i++)
		if (!parse(argv[i]))
			return fprintf(stderr, "sample_svg: no option %s\n", argv[i]), 2;
	if (!profile) {
		fprintf(stderr, "usage: sample_svg KIND [OPTION[=VALUE]]…\n");
		return 2;
	}
	describe(profile);
	made_check(stacks_init(&stacks, &reading), "stacks_init");
	add(&stacks, profile, SIDE_NEW);
	if (strcmp(argv[1], "compare") == 0)
		add(&stacks, made_profile(PROFILE_ONCPU, before, sizeof before / sizeof *before),
		    SIDE_BASE);
	made_check(stacks_finish(&stacks, absolute ? SCALE_ABSOLUTE : SCALE_NORMALIZED),
		   "stacks_finish");
	r = (strstr(argv[0], "sample_html") ? render_html : render_svg)(&stacks, &picture, stdout);
	stacks_done(&stacks);
	return r < 0 || fflush(stdout) != 0;
}
