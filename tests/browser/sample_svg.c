/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample_svg: writes the pictures that the browser tests open.
 *
 *	sample_svg oncpu|offcpu|wall|hostile|deep|large|empty|random
 *		[WIDTH [inverted|reverse|plain [PALETTE]]] >FILE
 */
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
    {"python3", "_start;__libc_start_main;main;Py_RunMain;pymain_run_file;gc_collect_main", 201},
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
    {"postgres", "_start;main;PostmasterMain;BackendRun;PostgresMain;exec_simple_query", 93 * MS,
     REASON_RUNQUEUE},
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

#define KERNEL	    "entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k]"
#define BACKEND	    "_start;main;PostmasterMain;BackendRun;PostgresMain"
#define QUERY	    BACKEND ";exec_simple_query"
#define FUTEX_WAKER                                                                                \
	{                                                                                          \
		"postgres", QUERY ";LWLockRelease;futex_wake;" KERNEL                              \
			    ";do_futex_[k];futex_wake_[k];wake_up_q_[k]",                          \
		    .tid = 4711                                                                    \
	}
#define NVME_INTERRUPT                                                                             \
	{                                                                                          \
		"swapper/0",                                                                       \
		    "asm_common_interrupt_[k];common_interrupt_[k];nvme_irq_[k];"                  \
		    "blk_mq_end_request_[k];bio_endio_[k]",                                        \
		    .is_interrupt = true                                                           \
	}

static const struct made_sample wall[] = {
    {"postgres", QUERY ";PortalRun;ExecutorRun;ExecSeqScan_[i];heap_getnext", 5200 * MS,
     REASON_ONCPU},
    {"postgres", QUERY ";PortalRun;ExecutorRun;ExecHashJoin;ExecHashGetBucket_[i]", 2900 * MS,
     REASON_ONCPU},
    {"postgres", QUERY ";PortalRun;ExecutorRun;ExecSort;tuplesort_performsort", 1700 * MS,
     REASON_ONCPU},
    {"postgres", QUERY ";pg_pread;" KERNEL ";ksys_pread64_[k];ext4_file_read_iter_[k];copy_page_[k]",
     1250 * MS, REASON_ONCPU},
    {"postgres",
     QUERY ";pg_pread;" KERNEL ";ksys_pread64_[k];ext4_file_read_iter_[k];folio_wait_bit_[k]",
     3100 * MS, REASON_DISK, .wakers = {NVME_INTERRUPT}},
    {"postgres", QUERY ";PortalRun;ExecutorRun;ExecHashJoin;LWLockAcquire;" KERNEL ";futex_wait_[k]",
     2400 * MS, REASON_FUTEX, .wakers = {FUTEX_WAKER, NVME_INTERRUPT}},
    {"postgres", QUERY ";PortalRun;ExecutorRun;ExecSort", 800 * MS, REASON_PREEMPTED},
    {"postgres", QUERY ";PortalRun;ExecutorRun;ExecHashJoin;LWLockAcquire;" KERNEL ";futex_wait_[k]",
     350 * MS, REASON_RUNQUEUE},
    {"postgres", BACKEND ";ReadCommand;secure_read;WaitEventSetWait;epoll_wait;" KERNEL
		 ";do_epoll_wait_[k]",
     4600 * MS, REASON_POLL, .is_idle = true,
     .wakers = {{"client", "_start;main;PQsendQuery;send;" KERNEL ";unix_stream_sendmsg_[k]"}}},
    {"worker", "clone;start_thread;run_loop;usleep;clock_nanosleep;" KERNEL ";do_nanosleep_[k]",
     2100 * MS, REASON_TIMER, .is_idle = true},
    {"worker", "clone;start_thread;run_loop;compress", 950 * MS, REASON_ONCPU},
    {"worker", "clone;start_thread;run_loop;read;" KERNEL ";pipe_read_[k]", 1900 * MS, REASON_PIPE,
     .wakers = {{"client", "loop;write;" KERNEL ";pipe_write_[k]", .truncated = true}}},
    {"worker", "clone;start_thread;run_loop;mmap_it;asm_exc_page_fault_[k];handle_mm_fault_[k]",
     400 * MS, REASON_PAGE_FAULT},
    {"kworker/0:1", "ret_from_fork_[k];kthread_[k];worker_thread_[k];process_one_work_[k]", 300 * MS,
     REASON_ONCPU},
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

		/* Few functions near the root, many at the leaf. */
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

int main(int argc, char **argv)
{
	struct svg_options svg = {.min_width = -1};
	struct unfold_options unfold = {.fold_idle = true, .waker_depth = 8};
	struct profile *profile = argc > 1 ? make(argv[1]) : NULL;
	int r;

	if (!profile) {
		fprintf(stderr, "usage: sample_svg oncpu|offcpu|wall|hostile|deep|large|empty|"
				"random [WIDTH [inverted|reverse|plain [PALETTE]]]\n");
		return 2;
	}
	svg.width = argc > 2 ? atoi(argv[2]) : 0;
	svg.inverted = argc > 3 && strcmp(argv[3], "inverted") == 0;
	svg.reverse = argc > 3 && strcmp(argv[3], "reverse") == 0;
	svg.colors = argc > 4 ? argv[4] : NULL;
	if (!profile->command_line)
		profile->command_line = made_string(profile, "bpfflame -a -d 30 -F 499");
	if (!profile->host)
		profile->host = made_string(profile, "build-7");
	profile->kernel = made_string(profile, "Linux 6.12.9");
	profile->start_realtime_ns = 1795266301ull * 1000000000;
	profile->duration_ns = 30ull * 1000000000;
	profile->frequency = 499;
	r = strcmp(argv[0] + strlen(argv[0]) - 6, "folded") == 0
		? render_folded(profile, &unfold, stdout)
		: render_svg(profile, &unfold, &svg, stdout);
	profile_free(profile);
	return r < 0 || fflush(stdout) != 0;
}
