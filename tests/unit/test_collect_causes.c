/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causes: stacks as kernels show them, with the reason to find. Those marked 5.15 were derived from
 * the sources of neighbouring versions; the others were recorded.
 */
#include "unit/cmocka_all.h"

#include <string.h>

#include "collect/causes.h"
#include "collect/causes_rules.h"
#include "made_profile.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define ENTRY	     " do_syscall_64 entry_SYSCALL_64_after_hwframe"
#define FAULT	     " do_user_addr_fault exc_page_fault asm_exc_page_fault"
#define FROM_KTHREAD " kthread ret_from_fork ret_from_fork_asm"

static uint32_t add_function(struct profile *profile, const struct profile_mapping *mapping,
			     enum frame_kind kind, const char *name)
{
	struct profile_frame frame = {kind, made_string(profile, name)};
	uint32_t index, location;

	made_check(profile_add_mapping(profile, mapping, &index), "profile_add_mapping");
	made_check(profile_add_location(profile, index, (uint64_t)frame.function << 8, false,
					&location),
		   "profile_add_location");
	if (!profile->locations[location].n_frames)
		made_check(profile_set_frames(profile, location, &frame, 1), "profile_set_frames");
	return location;
}

static uint32_t add_location(struct profile *profile, enum mapping_kind kind, const char *name)
{
	const struct profile_mapping mapping = {.kind = kind};

	return add_function(profile, &mapping,
			    kind == MAPPING_KERNEL ? FRAME_KERNEL : FRAME_USER, name);
}

/* Adds the functions in @names, separated by any of @separators, to @locations. */
static uint32_t add_locations(struct profile *profile, enum mapping_kind kind, const char *names,
			      const char *separators, uint32_t *locations)
{
	char *text = strdup(names), *rest = text;
	uint32_t n = 0;

	for (const char *name; (name = strsep(&rest, separators));)
		if (*name)
			locations[n++] = add_location(profile, kind, name);
	free(text);
	return n;
}

/*
 * Both leaf first. @kernel: separated by spaces. @user: by semicolons, because C++ names have
 * spaces.
 */
static uint32_t add_stack(struct profile *profile, const char *kernel, const char *user)
{
	uint32_t locations[64], stack;
	uint32_t n = add_locations(profile, MAPPING_KERNEL, kernel, " ", locations);

	n += add_locations(profile, MAPPING_FILE, user ? user : "main;_start", ";", locations + n);
	made_check(profile_add_stack(profile, locations, n, STACK_COMPLETE, &stack),
		   "profile_add_stack");
	return stack;
}

static struct profile_sample judged_of(const char *comm, const char *kernel, const char *user,
				       bool has_children, struct profile_sample sample)
{
	struct profile *profile = made_profile(PROFILE_OFFCPU, NULL, 0);

	sample.stack = add_stack(profile, kernel, user);
	sample.comm = made_string(profile, comm);
	made_check(profile_add_sample(profile, &sample), "profile_add_sample");
	assert_int_equal(causes_apply(profile, has_children), 0);
	sample = profile->samples[0];
	profile_free(profile);
	return sample;
}

static struct profile_sample judged_as(const char *kernel, const char *user, bool has_children,
				       struct profile_sample sample)
{
	return judged_of("comm", kernel, user, has_children, sample);
}

static struct profile_sample judged(const char *kernel, const char *user,
				    struct profile_sample sample)
{
	return judged_as(kernel, user, false, sample);
}

static const struct {
	enum off_reason expected, scheduler;
	const char *kernel;
} waits[] = {
	/* futex: 5.15, 6.1, 6.12, 6.18 and 7.3 */
	{REASON_FUTEX, REASON_SLEEP,
	 "futex_wait_queue_me futex_wait do_futex __x64_sys_futex" ENTRY},
	{REASON_FUTEX, REASON_SLEEP, "futex_wait_queue futex_wait do_futex __x64_sys_futex" ENTRY},
	{REASON_FUTEX, REASON_SLEEP,
	 "futex_wait_queue __futex_wait futex_wait do_futex __x64_sys_futex" ENTRY},
	{REASON_FUTEX, REASON_SLEEP,
	 "futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex" ENTRY},
	{REASON_FUTEX, REASON_SLEEP, "futex_wait_multiple __do_sys_futex_waitv" ENTRY},
	{REASON_FUTEX, REASON_SLEEP, "__se_sys_futex __x64_sys_futex" ENTRY},
	{REASON_FUTEX, REASON_SLEEP, "__do_semtimedop do_semtimedop __x64_sys_semtimedop" ENTRY},
	/*
	 * The kernel's mutex inside a futex with priority inheritance belongs to the program's
	 * lock.
	 */
	{REASON_FUTEX, REASON_SLEEP,
	 "rt_mutex_slowlock_block.constprop.0 rt_mutex_wait_proxy_lock futex_lock_pi do_futex "
	 "__x64_sys_futex" ENTRY},
	{REASON_FUTEX, REASON_SLEEP,
	 "rt_mutex_schedule rt_mutex_slowlock_block.constprop.0 rt_mutex_wait_proxy_lock "
	 "futex_lock_pi do_futex __x64_sys_futex" ENTRY},
	{REASON_FUTEX, REASON_SLEEP,
	 "rt_mutex_schedule futex_lock_pi do_futex __x64_sys_futex" ENTRY},
	/* The lock of its memory does not. */
	{REASON_LOCK, REASON_DISK,
	 "rwsem_down_read_slowpath down_read fault_in_user_writeable futex_lock_pi do_futex "
	 "__x64_sys_futex" ENTRY},

	/* poll: 5.15, 6.1, 6.12, 6.18 and 7.3 */
	{REASON_POLL, REASON_SLEEP, "ep_poll do_epoll_wait __x64_sys_epoll_wait" ENTRY},
	{REASON_POLL, REASON_SLEEP, "do_epoll_wait __x64_sys_epoll_wait" ENTRY},
	{REASON_POLL, REASON_SLEEP, "do_epoll_pwait.part.0 __x64_sys_epoll_pwait" ENTRY},
	{REASON_POLL, REASON_SLEEP, "do_sys_poll __x64_sys_poll" ENTRY},
	{REASON_POLL, REASON_SLEEP,
	 "poll_schedule_timeout.constprop.0 do_sys_poll __x64_sys_ppoll" ENTRY},
	{REASON_POLL, REASON_SLEEP,
	 "poll_schedule_timeout.constprop.0 do_select core_sys_select do_pselect.constprop.0 "
	 "__x64_sys_pselect6" ENTRY},
	{REASON_POLL, REASON_SLEEP, "do_select core_sys_select kern_select __x64_sys_select" ENTRY},
	{REASON_POLL, REASON_SLEEP, "__do_sys_io_uring_enter" ENTRY},
	{REASON_POLL, REASON_SLEEP, "io_cqring_wait __do_sys_io_uring_enter" ENTRY},
	{REASON_POLL, REASON_SLEEP,
	 "__io_cqring_wait_schedule io_cqring_wait __do_sys_io_uring_enter" ENTRY},
	{REASON_POLL, REASON_SLEEP, "read_events do_io_getevents __x64_sys_io_getevents" ENTRY},
	{REASON_POLL, REASON_SLEEP, "do_wait_intr_irq eventfd_read vfs_read ksys_read" ENTRY},
	{REASON_POLL, REASON_SLEEP, "wait_woken inotify_read vfs_read ksys_read" ENTRY},
	{REASON_POLL, REASON_SLEEP, "fuse_dev_do_read fuse_dev_read vfs_read ksys_read" ENTRY},
	{REASON_LOCK, REASON_DISK,
	 "__mutex_lock.constprop.0 ep_send_events ep_poll do_epoll_wait "
	 "__x64_sys_epoll_wait" ENTRY},

	/* timers */
	{REASON_TIMER, REASON_SLEEP,
	 "do_nanosleep hrtimer_nanosleep common_nsleep __x64_sys_clock_nanosleep" ENTRY},
	{REASON_TIMER, REASON_SLEEP, "hrtimer_nanosleep __x64_sys_nanosleep" ENTRY},
	{REASON_TIMER, REASON_SLEEP, "do_wait_intr_irq timerfd_read vfs_read ksys_read" ENTRY},
	{REASON_TIMER, REASON_SLEEP, "do_wait_intr_irq timerfd_read_iter vfs_read ksys_read" ENTRY},
	{REASON_TIMER, REASON_DISK, "msleep some_driver_probe" ENTRY},

	/* signals and children */
	{REASON_SIGNAL, REASON_SLEEP, "__do_sys_pause" ENTRY},
	{REASON_SIGNAL, REASON_SLEEP, "__x64_sys_pause" ENTRY},
	{REASON_SIGNAL, REASON_SLEEP, "sigsuspend.isra.0 __x64_sys_rt_sigsuspend" ENTRY},
	{REASON_SIGNAL, REASON_SLEEP, "do_sigtimedwait.isra.0 __x64_sys_rt_sigtimedwait" ENTRY},
	{REASON_SIGNAL, REASON_SLEEP, "__x64_sys_rt_sigtimedwait" ENTRY},
	{REASON_SIGNAL, REASON_SLEEP, "signalfd_dequeue signalfd_read vfs_read ksys_read" ENTRY},
	{REASON_SIGNAL, REASON_SLEEP, "signalfd_read_iter vfs_read ksys_read" ENTRY},
	{REASON_CHILD, REASON_SLEEP, "do_wait kernel_wait4 __do_sys_wait4" ENTRY},
	{REASON_CHILD, REASON_SLEEP, "do_wait kernel_wait4" ENTRY},
	{REASON_CHILD, REASON_SLEEP, "__do_wait do_wait kernel_waitid __do_sys_waitid" ENTRY},
	{REASON_CHILD, REASON_DISK,
	 "__wait_for_common wait_for_completion_state kernel_clone __x64_sys_vfork" ENTRY},
	{REASON_CHILD, REASON_DISK,
	 "wait_for_completion_killable wait_for_vfork_done.isra.0 "
	 "kernel_clone __do_sys_vfork" ENTRY},
	{REASON_CHILD, REASON_DISK, "kernel_clone __x64_sys_vfork" ENTRY},
	{REASON_LOCK, REASON_DISK,
	 "rwsem_down_write_slowpath down_write_killable dup_mmap copy_process kernel_clone "
	 "__do_sys_clone" ENTRY},
	{REASON_DISK, REASON_DISK, "something_new copy_process kernel_clone __do_sys_clone" ENTRY},

	/* pipes, terminals, messages */
	{REASON_PIPE, REASON_SLEEP, "pipe_read vfs_read ksys_read" ENTRY},
	{REASON_PIPE, REASON_SLEEP,
	 "pipe_wait_readable pipe_read new_sync_read vfs_read ksys_read" ENTRY},
	{REASON_PIPE, REASON_SLEEP, "anon_pipe_read vfs_read ksys_read" ENTRY},
	{REASON_PIPE, REASON_SLEEP, "anon_pipe_write vfs_write ksys_write" ENTRY},
	{REASON_PIPE, REASON_SLEEP,
	 "wait_for_partner fifo_open do_dentry_open vfs_open path_openat do_filp_open "
	 "do_sys_openat2 __x64_sys_openat" ENTRY},
	{REASON_LOCK, REASON_DISK,
	 "__mutex_lock.constprop.0 pipe_write vfs_write ksys_write" ENTRY},
	{REASON_PIPE, REASON_SLEEP, "wait_woken n_tty_read tty_read vfs_read ksys_read" ENTRY},
	{REASON_PIPE, REASON_DISK,
	 "wait_for_completion __flush_work n_tty_read tty_read vfs_read ksys_read" ENTRY},
	{REASON_PIPE, REASON_SLEEP, "wait_woken n_tty_write file_tty_write.isra.0 vfs_write" ENTRY},
	{REASON_PIPE, REASON_SLEEP, "wq_sleep do_mq_timedreceive __x64_sys_mq_timedreceive" ENTRY},
	{REASON_PIPE, REASON_SLEEP, "do_msgrcv.constprop.0 __x64_sys_msgrcv" ENTRY},

	/* sockets */
	{REASON_NETWORK, REASON_SLEEP,
	 "wait_woken sk_wait_data tcp_recvmsg_locked tcp_recvmsg inet_recvmsg __sys_recvfrom "
	 "__x64_sys_recvfrom" ENTRY},
	{REASON_NETWORK, REASON_SLEEP,
	 "__skb_wait_for_more_packets __skb_recv_udp udp_recvmsg inet_recvmsg "
	 "__sys_recvfrom" ENTRY},
	{REASON_NETWORK, REASON_SLEEP,
	 "unix_stream_read_generic unix_stream_recvmsg sock_recvmsg __sys_recvfrom" ENTRY},
	{REASON_NETWORK, REASON_SLEEP,
	 "wait_woken sk_stream_wait_memory tcp_sendmsg_locked tcp_sendmsg sock_write_iter "
	 "vfs_write ksys_write" ENTRY},
	{REASON_NETWORK, REASON_SLEEP, "sock_read_iter vfs_read ksys_read" ENTRY},
	{REASON_NETWORK, REASON_SLEEP,
	 "inet_csk_accept inet_accept do_accept __sys_accept4 __x64_sys_accept" ENTRY},
	{REASON_NETWORK, REASON_SLEEP,
	 "wait_woken __inet_stream_connect inet_stream_connect __sys_connect "
	 "__x64_sys_connect" ENTRY},
	{REASON_NETWORK, REASON_SLEEP,
	 "unix_wait_for_peer unix_stream_connect __sys_connect" ENTRY},
	{REASON_LOCK, REASON_DISK,
	 "__lock_sock lock_sock_nested tcp_sendmsg sock_write_iter" ENTRY},
	{REASON_NETWORK, REASON_DISK,
	 "rpc_wait_bit_killable __wait_on_bit out_of_line_wait_on_bit __rpc_execute rpc_run_task "
	 "nfs4_call_sync_sequence nfs4_proc_getattr vfs_statx" ENTRY},
	/* Reads from another machine also go through the page cache. */
	{REASON_NETWORK, REASON_DISK,
	 "folio_wait_bit_common filemap_get_pages filemap_read nfs_file_read vfs_read "
	 "ksys_read" ENTRY},

	/* disks: 5.15, then 6.1 to 7.3 */
	{REASON_DISK, REASON_DISK,
	 "wait_on_page_bit_common put_and_wait_on_page_locked filemap_get_pages filemap_read "
	 "ext4_file_read_iter new_sync_read vfs_read ksys_read" ENTRY},
	{REASON_DISK, REASON_DISK,
	 "folio_wait_bit_common filemap_get_pages filemap_read vfs_read __x64_sys_pread64" ENTRY},
	{REASON_DISK, REASON_DISK,
	 "__iomap_dio_rw iomap_dio_rw ext4_file_read_iter vfs_read __x64_sys_pread64" ENTRY},
	{REASON_DISK, REASON_DISK,
	 "wait_for_completion_io_timeout submit_bio_wait blkdev_issue_flush ext4_sync_file "
	 "do_fsync" ENTRY},
	{REASON_DISK, REASON_DISK,
	 "jbd2_log_wait_commit ext4_sync_file do_fsync __x64_sys_fsync" ENTRY},
	{REASON_DISK, REASON_DISK,
	 "bit_wait_io __wait_on_bit out_of_line_wait_on_bit __sync_dirty_buffer "
	 "ext4_write_inode" ENTRY},
	{REASON_DISK, REASON_SLEEP, "request_wait_answer fuse_simple_request fuse_file_open" ENTRY},
	{REASON_DISK, REASON_DISK, "__down_common down xfs_buf_lock xfs_buf_find_lock" ENTRY},

	/* faults: any wait inside one counts for the fault, except for locks */
	{REASON_PAGE_FAULT, REASON_DISK,
	 "folio_wait_bit_common filemap_read_folio filemap_fault __do_fault do_fault "
	 "__handle_mm_fault handle_mm_fault" FAULT},
	{REASON_PAGE_FAULT, REASON_DISK,
	 "folio_wait_bit_common filemap_fault __do_fault do_fault __handle_mm_fault "
	 "handle_mm_fault exc_page_fault asm_exc_page_fault"},
	{REASON_PAGE_FAULT, REASON_DISK,
	 "__lock_page_or_retry do_swap_page __handle_mm_fault handle_mm_fault" FAULT},
	{REASON_PAGE_FAULT, REASON_SLEEP,
	 "handle_userfault __handle_mm_fault handle_mm_fault" FAULT},
	{REASON_PAGE_FAULT, REASON_DISK,
	 "reclaim_throttle shrink_node try_to_free_pages __alloc_pages __handle_mm_fault "
	 "handle_mm_fault" FAULT},
	{REASON_PAGE_FAULT, REASON_DISK,
	 "folio_wait_bit_common filemap_fault __handle_mm_fault handle_mm_fault exc_page_fault "
	 "asm_exc_page_fault copy_page_to_iter anon_pipe_read vfs_read ksys_read" ENTRY},
	{REASON_LOCK, REASON_DISK,
	 "rwsem_down_read_slowpath down_read_killable lock_mm_and_find_vma" FAULT},
	/* Work on a thread's way back from a fault is not part of the fault. */
	{REASON_DISK, REASON_DISK,
	 "something_new __fput task_work_run exit_to_user_mode_loop irqentry_exit_to_user_mode "
	 "exc_page_fault asm_exc_page_fault"},

	/* locks */
	{REASON_LOCK, REASON_DISK,
	 "rwsem_down_write_slowpath down_write ext4_buffered_write_iter vfs_write "
	 "__x64_sys_pwrite64" ENTRY},
	{REASON_LOCK, REASON_DISK, "__mutex_lock.constprop.0 __fdget_pos ksys_lseek" ENTRY},
	{REASON_LOCK, REASON_DISK, "fdget_pos ksys_lseek" ENTRY},
	{REASON_LOCK, REASON_DISK, "__mutex_lock_slowpath mutex_lock do_something" ENTRY},
	{REASON_LOCK, REASON_DISK, "percpu_rwsem_wait __percpu_down_read some_path" ENTRY},
	{REASON_LOCK, REASON_SLEEP, "locks_lock_inode_wait __do_sys_flock" ENTRY},
	{REASON_LOCK, REASON_SLEEP, "fcntl_setlk do_fcntl __x64_sys_fcntl" ENTRY},
	{REASON_LOCK, REASON_DISK, "vm_mmap_pgoff ksys_mmap_pgoff" ENTRY},
	{REASON_DISK, REASON_DISK, "something_new vm_mmap_pgoff ksys_mmap_pgoff" ENTRY},
	/* A socket without memory is not waiting for the network. */
	{REASON_DISK, REASON_DISK,
	 "reclaim_throttle shrink_node try_to_free_pages __alloc_pages "
	 "alloc_skb_with_frags sock_alloc_send_pskb __sys_sendto" ENTRY},
	/* Grace periods are neither locks nor disks. */
	{REASON_SLEEP, REASON_DISK,
	 "wait_for_completion synchronize_rcu_normal bpf_map_do_batch __sys_bpf "
	 "__x64_sys_bpf" ENTRY},
	{REASON_SLEEP, REASON_DISK,
	 "wait_for_completion __wait_rcu_gp synchronize_rcu some_exit" ENTRY},

	/* stopped; frozen */
	{REASON_STOPPED, REASON_SLEEP,
	 "do_signal_stop get_signal arch_do_signal_or_restart exit_to_user_mode_prepare "
	 "syscall_exit_to_user_mode" ENTRY},
	{REASON_STOPPED, REASON_SLEEP,
	 "ptrace_stop.part.0 get_signal arch_do_signal_or_restart exit_to_user_mode_loop" ENTRY},
	{REASON_STOPPED, REASON_SLEEP,
	 "ptrace_stop ptrace_do_notify ptrace_notify "
	 "syscall_trace_enter" ENTRY},
	{REASON_STOPPED, REASON_SLEEP,
	 "get_signal arch_do_signal_or_restart irqentry_exit_to_user_mode "
	 "asm_sysvec_apic_timer_interrupt"},
	{REASON_STOPPED, REASON_SLEEP, "__refrigerator get_signal arch_do_signal_or_restart" ENTRY},
	/* A fatal signal makes a thread wait for other things. */
	{REASON_DISK, REASON_DISK,
	 "something_new do_exit do_group_exit get_signal "
	 "arch_do_signal_or_restart exit_to_user_mode_loop" ENTRY},

	/* unknown: takes the scheduler's word */
	{REASON_SLEEP, REASON_SLEEP, "something_new vfs_ioctl __x64_sys_ioctl" ENTRY},
	{REASON_DISK, REASON_DISK, "something_new vfs_ioctl __x64_sys_ioctl" ENTRY},
	{REASON_SLEEP, REASON_SLEEP, "worker_thread" FROM_KTHREAD},
	{REASON_SLEEP, REASON_SLEEP, ""},

	/* arm64 */
	{REASON_FUTEX, REASON_SLEEP,
	 "futex_do_wait __futex_wait futex_wait do_futex __arm64_sys_futex invoke_syscall "
	 "el0_svc_common.constprop.0 do_el0_svc el0_svc el0t_64_sync_handler el0t_64_sync"},
	{REASON_PAGE_FAULT, REASON_DISK,
	 "folio_wait_bit_common filemap_fault __handle_mm_fault handle_mm_fault do_page_fault "
	 "do_translation_fault do_mem_abort el0_da el0t_64_sync_handler el0t_64_sync"},
	{REASON_POLL, REASON_SLEEP, "__arm64_sys_ppoll invoke_syscall el0_svc el0t_64_sync"},
	{REASON_STOPPED, REASON_SLEEP,
	 "do_signal_stop get_signal do_signal do_notify_resume el0_svc el0t_64_sync"},
	/* compat */
	{REASON_FUTEX, REASON_SLEEP, "__ia32_compat_sys_futex_time32 do_int80_emulation"},
	{REASON_POLL, REASON_SLEEP, "__se_compat_sys_ppoll_time64 do_fast_syscall_32"},
};

static void reasons_are_found(void **state)
{
	for (size_t i = 0; i < COUNT(waits); i++) {
		struct profile_sample sample = {.reason = waits[i].scheduler, .count = 1};

		sample = judged(waits[i].kernel, NULL, sample);
		if (sample.reason != waits[i].expected)
			fail_msg("%s: %s", waits[i].kernel, off_reason_text(sample.reason));
	}
}

/* A thread that waits already has none of these on its stack; others have any number. */
static void the_schedulers_functions_do_not_matter(void **state)
{
	static const char *const leaves[] = {
		"__schedule schedule",
		"__schedule schedule schedule_timeout",
		"__schedule schedule schedule_hrtimeout_range_clock schedule_hrtimeout_range",
		"__schedule schedule io_schedule",
		"__schedule schedule schedule_preempt_disabled",
	};
	char kernel[1024];

	for (size_t i = 0; i < COUNT(waits) * COUNT(leaves); i++) {
		size_t wait = i / COUNT(leaves);
		struct profile_sample sample = {.reason = waits[wait].scheduler, .count = 1};

		snprintf(kernel, sizeof kernel, "%s %s", leaves[i % COUNT(leaves)],
			 waits[wait].kernel);
		sample = judged(kernel, NULL, sample);
		if (sample.reason != waits[wait].expected)
			fail_msg("%s: %s", kernel, off_reason_text(sample.reason));
	}
}

static void hidden_functions_do_not_count(void **state)
{
	struct profile *profile = made_profile(PROFILE_OFFCPU, NULL, 0);
	struct profile_sample sample = {.reason = REASON_SLEEP, .count = 1};
	uint32_t hidden = add_location(profile, MAPPING_KERNEL, "bpf_prog_0123_on_switch");

	profile->locations[hidden].hidden = true;
	sample.stack = add_stack(profile, "bpf_prog_0123_on_switch get_signal do_signal", NULL);
	made_check(profile_add_sample(profile, &sample), "profile_add_sample");
	sample.stack = add_stack(profile, "something_new get_signal do_signal", NULL);
	made_check(profile_add_sample(profile, &sample), "profile_add_sample");
	assert_int_equal(causes_apply(profile, false), 0);
	assert_int_equal(profile->samples[0].reason, REASON_STOPPED);
	assert_int_equal(profile->samples[1].reason, REASON_SLEEP);
	profile_free(profile);
}

/* One stack can wait in several ways as the scheduler sees it; only waits have causes. */
static void only_waits_have_causes(void **state)
{
	static const char kernel[] = "do_epoll_wait __x64_sys_epoll_wait" ENTRY;

	for (int reason = 0; reason < N_OFF_REASONS; reason++) {
		struct profile_sample sample = {.reason = reason, .count = 1};
		bool waits = reason == REASON_SLEEP || reason == REASON_DISK;

		sample = judged(kernel, NULL, sample);
		assert_int_equal(sample.reason, waits ? REASON_POLL : reason);
		assert_int_equal(sample.is_idle, reason == REASON_SLEEP);
	}
}

/* A program's functions with the names of kernel functions say nothing. */
static void user_functions_are_no_causes(void **state)
{
	struct profile_sample sample = {.reason = REASON_SLEEP, .count = 1};

	sample = judged("something_new __x64_sys_ioctl" ENTRY, "pipe_read;do_futex;main", sample);
	assert_int_equal(sample.reason, REASON_SLEEP);
}

#define FUTEX "futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex" ENTRY
#define EPOLL "do_epoll_wait __x64_sys_epoll_wait" ENTRY
#define POLL  "poll_schedule_timeout.constprop.0 do_sys_poll __x64_sys_poll" ENTRY
#define SLEEP "hrtimer_nanosleep common_nsleep __x64_sys_clock_nanosleep" ENTRY
#define READ  "vfs_read ksys_read" ENTRY

static const struct {
	bool expected;
	const char *kernel, *user;
	enum off_reason scheduler; /* default: REASON_SLEEP */
	uint64_t milliseconds;
} idles[] = {
	/* event loops */
	{true, EPOLL, "epoll_wait;event_base_loop;main"},
	{true, EPOLL, ""},
	{true, POLL, "__poll;g_main_context_iterate;main"},
	{true, "io_cqring_wait __do_sys_io_uring_enter" ENTRY, NULL},
	{true, EPOLL, "runtime.epollwait.abi0;runtime.netpoll;runtime.findRunnable;runtime.mcall"},
	{true, EPOLL, "epoll_wait;WaitEventSetWait;secure_read;PostgresMain"},
	/* polling for answers, and for locks */
	{false, POLL, "__poll;PQgetResult;PQexec;main"},
	{false, POLL, "__poll;send_dg;__res_context_send;__res_context_query;getaddrinfo;main"},
	{false, POLL, "__poll;curl_multi_poll;curl_easy_perform;main"},
	{false, EPOLL, "epoll_wait;WaitEventSetWait;WaitLatch;ProcSleep;LockAcquireExtended"},
	{false, "read_events do_io_getevents __x64_sys_io_getevents" ENTRY, NULL},
	{false, "__mutex_lock.constprop.0 ep_send_events " EPOLL, NULL, REASON_DISK},
	/* pools of threads, and mutexes */
	{true, FUTEX,
	 "__futex_abstimed_wait_common;pthread_cond_wait;uv_cond_wait;worker;start_thread"},
	{true, FUTEX, "[libc.so.6+0x8f3d4];pthread_cond_timedwait@@GLIBC_2.3.2;pool;start_thread"},
	{true, FUTEX, "syscall;g_cond_wait;g_async_queue_pop;g_thread_pool_thread_proxy"},
	{true, FUTEX,
	 "syscall;<std::sys::sync::condvar::futex::Condvar>::wait_optional_timeout;main"},
	{true, FUTEX, "syscall;<std::sys::sync::thread_parking::futex::Parker>::park;main"},
	{true, FUTEX, "syscall;std::thread::park;main"},
	{true, FUTEX, "syscall;tokio::runtime::scheduler::multi_thread::park::Parker::park;main"},
	{true, FUTEX,
	 "runtime.futex.abi0;runtime.notesleep;runtime.mPark;runtime.stopm;runtime.mcall"},
	{false, FUTEX, "runtime.futex.abi0;runtime.lock2;runtime.findRunnable;runtime.stopm"},
	{false, FUTEX, "runtime.futex.abi0;runtime.notetsleep;runtime.stopTheWorldWithSema"},
	{false, FUTEX, "__lll_lock_wait;pthread_mutex_lock;main"},
	{false, FUTEX, "[libc.so.6+0x8f3d4];___pthread_mutex_lock;main"},
	{false, FUTEX, "__lll_lock_wait;__pthread_mutex_cond_lock;pthread_cond_wait;worker"},
	{false, FUTEX, "<std::sys::sync::mutex::futex::Mutex>::lock_contended;main"},
	{false, FUTEX, "pthread_cond_timedwait;take_gil;PyEval_RestoreThread;time_sleep"},
	{false, FUTEX,
	 "pthread_cond_wait;os::PlatformEvent::park();"
	 "ObjectMonitor::EnterI(JavaThread*);ObjectMonitor::enter(JavaThread*)"},
	{false, FUTEX, "__futex_abstimed_wait_common;__new_sem_wait_slow64.constprop.0;main"},
	{false, FUTEX, ""},
	/* Threads of Java's collectors, and node's for a debugger */
	{true, FUTEX,
	 "__new_sem_wait_slow64.constprop.0;uv_sem_wait;"
	 "node::inspector::(anonymous namespace)::StartIoThreadMain(void*)"},
	{true, FUTEX,
	 "__new_sem_wait_slow64.constprop.0;PosixSemaphore::wait();GangWorker::loop()"},
	/* The time argument distinguishes Java's parking from its locks */
	{true, FUTEX, "pthread_cond_wait;Parker::park(bool, long);Unsafe_Park", 0, 2000},
	{false, FUTEX, "pthread_cond_wait;Parker::park(bool, long);Unsafe_Park", 0, 50},
	{false, FUTEX, "pthread_cond_timedwait;os::PlatformEvent::park(long);JVM_Sleep", 0, 50},
	/* its pools, which wait for work however short that takes, but for locks, too */
	{true, FUTEX,
	 "pthread_cond_wait;Unsafe_Park;java.util.concurrent.LinkedBlockingQueue.take;"
	 "java.util.concurrent.ThreadPoolExecutor.getTask",
	 0, 1},
	{false, FUTEX,
	 "Unsafe_Park;java.util.concurrent.locks.ReentrantLock.lock;"
	 "java.util.concurrent.ThreadPoolExecutor.getTask",
	 0, 1},
	{true, FUTEX, "__pthread_clockjoin_ex;CallJavaMainInNewThread;_start"},
	/* requests that wait, in servers whose own functions may have no names */
	{false, FUTEX,
	 "pthread_cond_timedwait;[mariadbd+0xd5ad50];"
	 "dispatch_command(enum_server_command, THD*, char*, unsigned int, bool);"
	 "do_command(THD*, bool)"},
	{true, POLL, "__poll;vio_io_wait;my_net_read_packet;do_command(THD*, bool)"},
	{true, FUTEX,
	 "pthread_cond_timedwait;mysql_binlog_send(THD*, char*);dispatch_command(int)"},
	{false, EPOLL, "epoll_wait;WaitEventSetWait;WaitLatch;[postgres+0x123450];PortalRun"},
	{false, POLL, "__poll;apr_wait_for_io_or_timeout;ap_invoke_handler;ap_process_request"},
	{true, POLL, "__poll;apr_wait_for_io_or_timeout;ap_process_connection"},
	{false, POLL, "__poll;[libphp8.2.so+0x1230];php_execute_script;main"},
	{false, POLL, "__poll;[python3.11+0x1230];socket.SocketIO.readinto;app.fetch"},
	{false, FUTEX, "pthread_cond_timedwait;[python3.11+0x1230];PyEval_RestoreThread"},
	/* select() of no file, as the kernel half's hook says, and a wait that only looks like one
	 */
	{false, POLL, "select;apr_sleep;retry", REASON_TIMER, 5},
	{true, POLL, "select;apr_sleep;main", REASON_TIMER, 1000},
	{false, EPOLL, NULL, REASON_TIMER, 5},
	{false, FUTEX, NULL, REASON_TIMER, 1000},
	/* sleeps */
	{false, POLL, "ppoll;[libruby+0x20f4e0];Kernel#sleep;app.retry", 0, 5},
	{true, POLL, "ppoll;[libruby+0x20f4e0];Kernel#sleep;app.tick", 0, 1000},
	{true, SLEEP, "clock_nanosleep;sleep;main", 0, 1000},
	{false, SLEEP, "clock_nanosleep;usleep;try_again;main", 0, 20},
	{true, SLEEP, "runtime.usleep.abi0;runtime.sysmon;runtime.mstart1", 0, 1},
	{false, "msleep some_driver" ENTRY, NULL, 0, 1000},
	/* requests, terminals, signals */
	{true, "inet_csk_accept inet_accept do_accept __sys_accept4 __x64_sys_accept" ENTRY, NULL},
	{false, "wait_woken sk_wait_data tcp_recvmsg sock_recvmsg __sys_recvfrom" ENTRY, NULL},
	{true, "wait_woken n_tty_read tty_read " READ, NULL},
	{false, "anon_pipe_read " READ, NULL},
	{true, "__x64_sys_pause" ENTRY, NULL},
	{false, "sigsuspend.isra.0 __x64_sys_rt_sigsuspend" ENTRY, NULL},
	{false, "do_wait kernel_wait4" ENTRY, NULL},
	{false, "handle_userfault __handle_mm_fault handle_mm_fault" FAULT, NULL},
	{false, "do_signal_stop get_signal arch_do_signal_or_restart" ENTRY, NULL},
	{true, "kvm_vcpu_block kvm_vcpu_halt kvm_arch_vcpu_ioctl_run kvm_vcpu_ioctl" ENTRY, NULL},
	/* threads of the kernel */
	{true, "worker_thread" FROM_KTHREAD, ""},
	{true, "some_drivers_thread" FROM_KTHREAD, ""},
	{true, "kthreadd ret_from_fork ret_from_fork_asm", ""},
	{true, "smpboot_thread_fn kthread ret_from_fork", ""},
	{true, "rcu_gp_fqs_loop rcu_gp_kthread" FROM_KTHREAD, ""},
	{true, "kjournald2" FROM_KTHREAD, ""},
	{true, "md_thread" FROM_KTHREAD, ""},
	{true, "io_wq_worker ret_from_fork ret_from_fork_asm", ""},
	{true, "schedule_timeout kswapd" FROM_KTHREAD, ""},
	{false, "virtballoon_free_page_report process_one_work worker_thread" FROM_KTHREAD, "",
	 REASON_DISK},
	{false, "something_new process_one_work worker_thread" FROM_KTHREAD, ""},
	{false, "jbd2_journal_commit_transaction kjournald2" FROM_KTHREAD, "", REASON_DISK},
	{false, "some_drivers_thread" FROM_KTHREAD, "", REASON_DISK},
};

static void idle_waits_are_found(void **state)
{
	for (size_t i = 0; i < COUNT(idles); i++) {
		struct profile_sample sample = {.reason = idles[i].scheduler ? idles[i].scheduler
									     : REASON_SLEEP,
						.count = 3,
						.nanoseconds = 3 * 1000000 * idles[i].milliseconds};

		sample = judged(idles[i].kernel, idles[i].user, sample);
		if (sample.is_idle != idles[i].expected)
			fail_msg("%s; %s: %d", idles[i].kernel, idles[i].user, sample.is_idle);
	}
}

/* Adds a function of @file; "": of the language. */
static uint32_t add_file_location(struct profile *profile, const char *file, const char *name)
{
	const struct profile_mapping mapping = {.kind = *file ? MAPPING_FILE : MAPPING_ANON,
						.path = made_string(profile, file)};

	return add_function(profile, &mapping, *file ? FRAME_USER : FRAME_INTERPRETED, name);
}

#define LIBC   "/lib/x86_64-linux-gnu/libc.so.6"
#define PYTHON "/usr/bin/python3.11"
#define RUBY   "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2"

/* Waits on conditions by stripped interpreters; functions without a file are the language's. */
static const struct {
	struct {
		const char *file, *name;
	} user[8];
	bool expected;
	uint64_t milliseconds;
} languages[] = {
	{{{LIBC, "pthread_cond_timedwait"}, {PYTHON, "[python3.11+0x4f92c0]"}, {"", "app.work"}},
	 false},
	{{{LIBC, "__pthread_cond_wait_common"},
	  {LIBC, "pthread_cond_timedwait"},
	  {"/usr/lib/libpython3.11.so.1.0", "[libpython3.11.so.1.0+0x12340]"},
	  {"", "app.work"}},
	 false},
	/* of what an extension calls */
	{{{LIBC, "pthread_cond_wait"},
	  {"/usr/lib/python3/dist-packages/pool.so", "worker"},
	  {PYTHON, "[python3.11+0x1230]"},
	  {"", "app.work"}},
	 true},
	{{{LIBC, "pthread_cond_wait"}, {RUBY, "[libruby+0x20f6f0]"}, {"", "Object#hot"}}, false},
	{{{LIBC, "pthread_cond_wait"},
	  {RUBY, "rb_native_cond_wait"},
	  {RUBY, "[libruby+0x20f6f0]"},
	  {"", "IO.select"},
	  {"", "Object#serve"}},
	 false},
	{{{LIBC, "pthread_cond_wait"},
	  {RUBY, "rb_native_cond_wait"},
	  {"", "Thread::Queue#pop"},
	  {"", "Object#serve"}},
	 true},
	{{{LIBC, "pthread_cond_timedwait"}, {RUBY, "[libruby+0x20a]"}, {"", "Kernel#sleep"}},
	 false,
	 5},
	{{{LIBC, "pthread_cond_timedwait"}, {RUBY, "[libruby+0x20a]"}, {"", "Kernel#sleep"}},
	 true,
	 5000},
	/* a thread of its own, such as the timer's */
	{{{LIBC, "pthread_cond_timedwait"}, {RUBY, "[libruby+0x20a]"}, {LIBC, "clone3"}}, true},
};

static void polls_of_no_file_are_sleeps(void **state)
{
	const struct profile_sample sample = {.reason = REASON_TIMER, .count = 1};

	assert_int_equal(judged(POLL, NULL, sample).reason, REASON_TIMER);
	assert_int_equal(judged(FUTEX, NULL, sample).reason, REASON_FUTEX);
	assert_int_equal(judged("something_new __x64_sys_ioctl" ENTRY, NULL, sample).reason,
			 REASON_SLEEP);
}

static void turns_to_run_a_language_are_not_idle(void **state)
{
	for (size_t i = 0; i < COUNT(languages); i++) {
		struct profile *profile = made_profile(PROFILE_OFFCPU, NULL, 0);
		struct profile_sample sample = {.reason = REASON_SLEEP,
						.count = 1,
						.nanoseconds = 1000000 * languages[i].milliseconds};
		uint32_t locations[64];
		uint32_t n =
			add_locations(profile, MAPPING_KERNEL,
				      "futex_do_wait __futex_wait do_futex" ENTRY, " ", locations);

		for (size_t k = 0; k < COUNT(languages[i].user) && languages[i].user[k].name; k++)
			locations[n++] = add_file_location(profile, languages[i].user[k].file,
							   languages[i].user[k].name);
		made_check(profile_add_stack(profile, locations, n, STACK_COMPLETE, &sample.stack),
			   "profile_add_stack");
		sample.comm = made_string(profile, "comm");
		made_check(profile_add_sample(profile, &sample), "profile_add_sample");
		assert_int_equal(causes_apply(profile, false), 0);
		if (profile->samples[0].is_idle != languages[i].expected)
			fail_msg("case %zu: %d", i, profile->samples[0].is_idle);
		profile_free(profile);
	}
}

static void our_helpers_are_idle(void **state)
{
	static const char receiving[] = "__skb_wait_for_more_packets unix_stream_read_generic "
					"unix_stream_recvmsg sock_recvmsg __sys_recvmsg" ENTRY;
	const char *user = "recvmsg;child_receive_some;main";
	const struct profile_sample sample = {.reason = REASON_SLEEP, .count = 1};

	assert_true(judged_of("bpfflame-reader", receiving, user, false, sample).is_idle);
	assert_true(judged_of("bpfflame-broker", receiving, user, false, sample).is_idle);
	/* An answer is not work; nor is what delays a helper. */
	assert_false(judged_of("bpfflame", receiving, user, false, sample).is_idle);
	assert_false(
		judged_of("bpfflame-reader", "folio_wait_bit vfs_read" ENTRY, user, false, sample)
			.is_idle);
}

/* What a parent waits for shows in its children, if these are recorded. */
static void parents_are_idle(void **state)
{
	static const char *const kernels[] = {
		"do_wait kernel_wait4 __do_sys_wait4" ENTRY,
		"__do_wait do_wait kernel_waitid __do_sys_waitid" ENTRY,
		"sigsuspend.isra.0 __x64_sys_rt_sigsuspend" ENTRY,
	};
	static const struct {
		const char *user;
		bool has_children, expected;
	} cases[] = {{"wait4;main;__libc_start_main;_start", true, true},
		     {"wait4;main;__libc_start_main;_start", false, false},
		     {"wait4;worker;start_thread;clone3", true, false},
		     {"", true, false}};
	struct profile_sample sample = {.reason = REASON_SLEEP, .count = 1, .nanoseconds = 1000};

	for (size_t i = 0; i < COUNT(kernels) * COUNT(cases); i++) {
		const char *kernel = kernels[i / COUNT(cases)];

		assert_int_equal(judged_as(kernel, cases[i % COUNT(cases)].user,
					   cases[i % COUNT(cases)].has_children, sample)
					 .is_idle,
				 cases[i % COUNT(cases)].expected);
	}
	sample.reason = REASON_DISK;
	assert_false(judged_as("wait_for_vfork_done kernel_clone __x64_sys_vfork" ENTRY, NULL, true,
			       sample)
			     .is_idle);
}

#define WAKE "try_to_wake_up "

static const struct {
	const char *kernel;
	uint32_t kept; /* 0: no interrupt */
} wakers[] = {
	/* a timer, of a thread of the kernel, of the idle one, of a program: 6.1 to 7.3 */
	{WAKE
	 "hrtimer_wakeup __hrtimer_run_queues hrtimer_interrupt __sysvec_apic_timer_interrupt "
	 "sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt vfs_write ksys_write" ENTRY,
	 7},
	{WAKE
	 "hrtimer_wakeup __hrtimer_run_queues hrtimer_interrupt __sysvec_apic_timer_interrupt "
	 "sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt native_safe_halt do_idle",
	 7},
	{WAKE "hrtimer_wakeup __hrtimer_run_queues hrtimer_interrupt __sysvec_apic_timer_interrupt "
	      "sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt",
	 7},
	/* a device; its softirq; another interrupt within that */
	{WAKE "complete virtblk_done vring_interrupt handle_edge_irq __common_interrupt "
	      "common_interrupt asm_common_interrupt pv_native_safe_halt do_idle",
	 8},
	{WAKE "wake_page_function folio_wake_bit blk_update_request blk_done_softirq "
	      "handle_softirqs __irq_exit_rcu common_interrupt asm_common_interrupt "
	      "eventfd_write vfs_write ksys_write" ENTRY,
	 9},
	{WAKE "hrtimer_wakeup sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt "
	      "handle_softirqs __irq_exit_rcu common_interrupt asm_common_interrupt do_idle",
	 4},
	{WAKE "call_timer_fn run_timer_softirq __do_softirq __irq_exit_rcu irq_exit_rcu "
	      "sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt default_idle",
	 8},
	/* the stack was cut before the entry */
	{WAKE "call_timer_fn run_timer_softirq __do_softirq __irq_exit_rcu irq_exit_rcu", 6},
	/* the processor's newer entry path, which system calls share */
	{WAKE "hrtimer_wakeup hrtimer_interrupt __sysvec_apic_timer_interrupt "
	      "fred_sysvec_apic_timer_interrupt fred_extint fred_entry_from_kernel "
	      "asm_fred_entrypoint_kernel vfs_write ksys_write",
	 8},
	{WAKE "futex_wake do_futex __x64_sys_futex do_syscall_64 fred_entry_from_user "
	      "asm_fred_entrypoint_user",
	 0},
	/* arm64 */
	{WAKE "hrtimer_wakeup arch_timer_handler_virt generic_handle_domain_irq gic_handle_irq "
	      "call_on_irq_stack do_interrupt_handler el1_interrupt el1h_64_irq_handler "
	      "el1h_64_irq default_idle_call do_idle",
	 10},
	{WAKE "blk_done_softirq handle_softirqs __do_softirq ____do_softirq call_on_irq_stack "
	      "do_softirq_own_stack __irq_exit_rcu irq_exit_rcu el0_interrupt "
	      "el0t_64_irq_handler el0t_64_irq",
	 12},
	{WAKE "net_rx_action handle_softirqs __do_softirq ____do_softirq call_on_irq_stack "
	      "do_softirq_own_stack do_softirq __local_bh_enable_ip ip_finish_output2 "
	      "tcp_sendmsg __arm64_sys_sendto el0_svc el0t_64_sync",
	 0},
	/* softirqs run by a thread or by ksoftirqd; interrupt threads */
	{WAKE "sock_def_readable tcp_data_queue process_backlog net_rx_action handle_softirqs "
	      "do_softirq.part.0 __local_bh_enable_ip __dev_queue_xmit tcp_sendmsg "
	      "__x64_sys_sendto" ENTRY,
	 0},
	{WAKE "blk_done_softirq handle_softirqs run_ksoftirqd smpboot_thread_fn" FROM_KTHREAD, 0},
	{WAKE "some_handler irq_thread_fn irq_thread" FROM_KTHREAD, 0},
	/* system calls, faults, and a thread's work before its interrupt returns */
	{WAKE "pipe_write vfs_write ksys_write" ENTRY, 0},
	{WAKE "__wake_up handle_userfault __handle_mm_fault handle_mm_fault" FAULT, 0},
	{WAKE "do_notify_parent do_exit do_group_exit get_signal arch_do_signal_or_restart "
	      "irqentry_exit_to_user_mode asm_sysvec_reschedule_ipi",
	 0},
	{WAKE "wq_worker_sleeping schedule irqentry_exit_to_user_mode asm_sysvec_reschedule_ipi",
	 0},
	{WAKE "sched_ttwu_pending flush_smp_call_function_queue do_idle cpu_startup_entry", 0},
};

static void interrupts_are_found(void **state)
{
	struct profile *profile = made_profile(PROFILE_OFFCPU, NULL, 0);
	uint32_t before[COUNT(wakers)], indexes[COUNT(wakers)] = {};

	for (size_t i = 0; i < COUNT(wakers); i++) {
		struct profile_waker waker = {.stack = add_stack(profile, wakers[i].kernel, NULL),
					      .pid = 7,
					      .next = i ? indexes[i - 1] : 0};

		before[i] = waker.stack;
		made_check(profile_add_waker(profile, &waker, &indexes[i]), "profile_add_waker");
	}
	assert_int_equal(causes_apply(profile, false), 0);
	for (size_t i = 0; i < COUNT(wakers); i++) {
		const struct profile_waker *waker = &profile->wakers[indexes[i]];
		const struct profile_stack *stack = &profile->stacks[waker->stack];
		const struct profile_stack *whole = &profile->stacks[before[i]];

		if (waker->is_interrupt != !!wakers[i].kept)
			fail_msg("%s: %d", wakers[i].kernel, waker->is_interrupt);
		if (!wakers[i].kept) {
			assert_int_equal(waker->stack, before[i]);
			assert_int_equal(waker->next, i ? indexes[i - 1] : 0);
			continue;
		}
		if (stack->n != wakers[i].kept)
			fail_msg("%s: %u", wakers[i].kernel, stack->n);
		assert_int_equal(stack->end, STACK_COMPLETE);
		assert_int_equal(waker->next, 0);
		assert_memory_equal(profile->stack_locations + stack->first,
				    profile->stack_locations + whole->first,
				    stack->n * sizeof *profile->stack_locations);
	}
	profile_free(profile);
}

/* Each name reaches its own rule; no other rule's * takes it. */
static void names_lead_to_their_rules(void **state)
{
	for (int kind = 0; kind < N_RULES; kind++) {
		struct rulebook book;
		const struct rule *rules;
		size_t n;

		assert_int_equal(rulebook_init(&book, kind), 0);
		rules = rules_of(kind, &n);
		assert_in_range(n, 1, 250);
		for (size_t i = 0; i < n; i++) {
			char *text = strdup(rules[i].names), *rest = text;

			for (char *name; (name = strsep(&rest, " "));) {
				for (char *star; (star = strchr(name, '*'));)
					*star = '~';
				assert_string_not_equal(name, "");
				if (rulebook_find(&book, name) != (int)i)
					fail_msg("%s: not rule %zu", name, i);
			}
			free(text);
		}
		rulebook_done(&book);
	}
}

static void an_empty_profile_is_fine(void **state)
{
	struct profile *profile = made_profile(PROFILE_WALL, NULL, 0);

	assert_int_equal(causes_apply(profile, false), 0);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_are_found),
		cmocka_unit_test(the_schedulers_functions_do_not_matter),
		cmocka_unit_test(hidden_functions_do_not_count),
		cmocka_unit_test(only_waits_have_causes),
		cmocka_unit_test(user_functions_are_no_causes),
		cmocka_unit_test(idle_waits_are_found),
		cmocka_unit_test(polls_of_no_file_are_sleeps),
		cmocka_unit_test(turns_to_run_a_language_are_not_idle),
		cmocka_unit_test(our_helpers_are_idle),
		cmocka_unit_test(parents_are_idle),
		cmocka_unit_test(interrupts_are_found),
		cmocka_unit_test(names_lead_to_their_rules),
		cmocka_unit_test(an_empty_profile_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
