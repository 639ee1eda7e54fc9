/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causes: stacks as kernels show them, with the reason to find. Those marked 5.15 were derived from
 * the sources of neighbouring versions; the others were recorded.
 */
#include "collect/causes_rules.h"
#include "made_waits.h"

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

static void polls_of_no_file_are_sleeps(void **state)
{
	const struct profile_sample sample = {.reason = REASON_TIMER, .count = 1};

	assert_int_equal(judged(POLL, NULL, sample).reason, REASON_TIMER);
	assert_int_equal(judged(FUTEX, NULL, sample).reason, REASON_FUTEX);
	assert_int_equal(judged("something_new __x64_sys_ioctl" ENTRY, NULL, sample).reason,
			 REASON_SLEEP);
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
		cmocka_unit_test(polls_of_no_file_are_sleeps),
		cmocka_unit_test(interrupts_are_found),
		cmocka_unit_test(names_lead_to_their_rules),
		cmocka_unit_test(an_empty_profile_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
