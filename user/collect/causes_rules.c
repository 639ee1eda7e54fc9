/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causes_rules: the tables, and finding a function's rule in them.
 *
 * The names are those of Linux from 5.15 to 7.3, looked up in its sources (for 5.15: in
 * neighbouring versions), and seen on 6.1, 6.12, 6.18 and 7.3. Each function that waits has a rule;
 * where compilers inline it, so do its callers, up to the system call.
 *
 * Names without a * are found by bisection. The few with one are tried in turn: every function is
 * looked up only once.
 */
#include "collect/causes_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const struct rule kernel_rules[] = {
	{"schedule* io_schedule* preempt_schedule* freezable_schedule* rt_mutex_schedule",
	 SCHEDULER},

	/*
	 * Stopped from outside: by a signal, by a tracer, or as part of a frozen cgroup, whose
	 * do_freezer_trap() is inlined everywhere.
	 */
	{"do_signal_stop ptrace_stop do_jobctl_trap do_freezer_trap refrigerator", REASON_STOPPED},
	{"get_signal", REASON_STOPPED, .within = 1},

	/* On the way back to the program, and while one is made: unrelated to the system call. */
	{"exit_to_user_mode* syscall_exit_to_user_mode* irqentry_exit* do_notify_resume "
	 "task_work_run copy_process do_exit",
	 STAY},

	/* Memory is short: the thread then does not wait on its own behalf. */
	{"try_to_free_* reclaim_throttle shrink_* compact_zone* mem_cgroup_handle_over_high "
	 "mem_cgroup_oom_* out_of_memory",
	 STAY},

	/* Missing memory: all waits for it belong to the fault, except for locks. */
	{"handle_mm_fault do_user_addr_fault do_page_fault handle_userfault", REASON_PAGE_FAULT,
	 .over = OVER(REASON_DISK) | OVER(REASON_NETWORK) | OVER(REASON_TIMER) |
		 OVER(REASON_SLEEP) | OVER(STAY)},

	/* Locks of the kernel, and those on files that it keeps for programs. */
	{"mutex_lock* ww_mutex_lock* rwsem_* down down_* percpu_rwsem_* percpu_down_* rt_mutex_* "
	 "rtlock_* rwbase_* rt_spin_lock* rt_read_lock* rt_write_lock* ldsem_down_* lock_sock* "
	 "fdget_pos lock_mm_and_find_vma lock_rename* locks_lock_inode_wait "
	 "flock_lock_inode_wait posix_lock_inode_wait do_lock_file_wait fcntl_setlk* "
	 "break_lease sys_flock",
	 REASON_LOCK},
	/* Functions that begin by taking a lock, for stacks without the lock's own functions. */
	{"dup_mmap vm_mmap_pgoff vm_munmap do_mprotect_pkey lookup_slow do_unlinkat do_rmdir "
	 "do_renameat2 filename_create",
	 REASON_LOCK, .within = 1},

	/* Locks and conditions of programs; with priority inheritance the kernel locks for them. */
	{"futex_* do_futex sys_futex* do_semtimedop sys_semtimedop* sys_semop", REASON_FUTEX,
	 IDLE_IF_USER},
	{"rt_mutex_wait_proxy_lock", REASON_FUTEX, .over = OVER(REASON_LOCK)},

	/* Events: of files by poll and its kin; those read as such; requests to servers. */
	{"ep_poll do_epoll_wait sys_epoll_* poll_schedule_timeout do_poll do_select "
	 "core_sys_select do_pselect sys_poll* sys_ppoll* sys_select* sys_pselect6* "
	 "io_cqring_wait* sys_io_uring_enter eventfd_read inotify_read fanotify_read "
	 "fuse_dev_* fuse_uring_* userfaultfd_ctx_read userfaultfd_read* do_syslog "
	 "devkmsg_read evdev_read binder_*",
	 REASON_POLL, IDLE_YES},
	/* These threads wait for a disk that they have given work to. */
	{"read_events do_io_getevents sys_io_getevents* sys_io_pgetevents* eventfd_write",
	 REASON_POLL},

	{"hrtimer_nanosleep do_nanosleep common_nsleep* alarm_timer_nsleep posix_cpu_nsleep "
	 "sys_nanosleep* sys_clock_nanosleep* timerfd_read*",
	 REASON_TIMER, IDLE_IF_LONG},
	{"msleep* usleep_range*", REASON_TIMER},

	{"sys_pause do_sigtimedwait sys_rt_sigtimedwait* signalfd_*", REASON_SIGNAL, IDLE_YES},
	/* Shells and masters of servers wait for children this way. */
	{"sigsuspend sys_rt_sigsuspend sys_sigsuspend", REASON_SIGNAL, IDLE_IF_PARENT},

	{"do_wait kernel_wait4 kernel_waitid sys_wait4 sys_waitid sys_waitpid", REASON_CHILD,
	 IDLE_IF_PARENT},
	{"wait_for_vfork_done kernel_clone sys_vfork sys_clone* call_usermodehelper_exec",
	 REASON_CHILD},

	/* Streams and messages between processes, a terminal's among them. */
	{"n_tty_read tty_read", REASON_PIPE, IDLE_YES},
	{"pipe_* anon_pipe_* fifo_open wait_for_partner wait_for_space ipipe_prep opipe_prep "
	 "splice_from_pipe* do_splice sys_splice sys_tee n_tty_write tty_* do_mq_* wq_sleep "
	 "sys_mq_* do_msgrcv do_msgsnd sys_msgrcv sys_msgsnd",
	 REASON_PIPE},

	/* Sockets, and files on other machines. */
	{"inet_csk_accept inet_accept unix_accept vsock_accept do_accept kernel_accept sys_accept*",
	 REASON_NETWORK, IDLE_YES},
	{"sock_* kernel_recvmsg kernel_sendmsg sk_wait_data sk_stream_* inet_* inet6_* tcp_* udp_* "
	 "udpv6_* unix_* skb_wait_for_more_packets skb_recv_* netlink_* packet_* vsock_* "
	 "virtio_transport_* tls_* sctp_* mptcp_* tun_* tap_* sys_recvfrom sys_recvmsg "
	 "sys_recvmmsg* sys_sendto sys_sendmsg sys_sendmmsg sys_connect",
	 REASON_NETWORK},
	{"rpc_* nfs_* nfs3_* nfs4_* nfs41_* cifs_* smb2_* SMB2_* ceph_* netfs_* p9_* v9fs_* afs_*",
	 REASON_NETWORK, .over = OVER(REASON_DISK)},

	/* Files and the layers below. A buffer's lock is held while it is read or written. */
	{"folio_wait_* folio_lock folio_lock_* folio_put_wait_locked wait_on_page_* lock_page* "
	 "put_and_wait_on_page_locked filemap_* migration_entry_wait* "
	 "softleaf_entry_wait_on_locked do_read_cache_* generic_file_* generic_perform_write "
	 "submit_bio* bio_* blk_* blkdev_* blockdev_* bdev_* iomap_* rq_qos_* wbt_* wait_on_buffer "
	 "lock_buffer sync_dirty_buffer bh_* inode_dio_wait* wb_* writeback_* "
	 "inode_wait_for_writeback wait_sb_inodes sync_inodes_sb balance_dirty_pages* vfs_fsync* "
	 "do_fsync file_write_and_wait_range sys_fsync sys_fdatasync sys_sync sys_syncfs "
	 "sys_sync_file_range* start_this_handle wait_transaction_* add_transaction_credits "
	 "do_get_write_access jbd2_* ext4_* xlog_* xfs_* btrfs_* wait_current_trans "
	 "wait_extent_bit f2fs_* fuse_* request_wait_answer swap_read* dm_* md_* nvme_* scsi_*",
	 REASON_DISK},
	{"xfs_buf_lock", REASON_DISK, .over = OVER(REASON_LOCK)},

	/*
	 * Uninterruptible, but not for a disk: until other CPUs have passed a point; halted guests.
	 */
	{"synchronize_rcu* synchronize_srcu* wait_rcu_gp rcu_barrier* stop_one_cpu stop_cpus "
	 "stop_machine* affine_move_task",
	 REASON_SLEEP},
	{"kvm_vcpu_block kvm_vcpu_halt", REASON_SLEEP, IDLE_YES},

	/* Threads of the kernel: in its main function, one waits for work. */
	{"kthread ret_from_fork", STAY, IDLE_YES, .within = 2, .over = UINT32_MAX},
	{"worker_thread rescuer_thread kthreadd smpboot_thread_fn kthread_worker_fn irq_thread "
	 "rcu_gp_kthread rcu_gp_fqs_loop rcu_tasks_one_gp kswapd kswapd_try_to_sleep kcompactd "
	 "khugepaged khugepaged_wait_work kjournald2 io_wq_worker io_wqe_worker io_sq_thread "
	 "vhost_task_fn vhost_worker devtmpfs_work_loop svc_recv svc_get_next_xprt xfsaild",
	 STAY, IDLE_YES, .within = 1},
};

/* Functions of programs that say whether a wait is for work; they give no reason. */
static const struct rule user_rules[] = {
	/* Conditions, by which pools of threads wait for work. */
	{"pthread_cond_wait* pthread_cond_timedwait* pthread_cond_clockwait* cnd_wait* "
	 "cnd_timedwait* g_cond_wait* *Condvar::wait* *Condvar>::wait*",
	 .idle = IDLE_YES},
	/* Threads that park: Go's, Rust's, and those of their pools. */
	{"runtime.mPark* runtime.stopm* runtime.sysmon* runtime.templateThread* "
	 "runtime.notetsleepg* std::thread::park* *thread_parker::* *thread_parking::* "
	 "*Thread>::park* *Parker::park* *Parker>::park* tokio::runtime::park::* "
	 "rayon_core::sleep::* "
	 "queue_SimpleQueue_get* os::signal_wait PosixSemaphore::wait* *StartIoThreadMain*",
	 .idle = IDLE_YES},
	/* Java parks both for work and for locks, and sleeps on a condition. */
	{"Unsafe_Park JVM_Sleep", .idle = IDLE_IF_LONG},
	{"java.util.concurrent.ThreadPoolExecutor.getTask "
	 "java.util.concurrent.ForkJoinPool.awaitWork",
	 .idle = IDLE_SURELY},
	/* Ruby sleeps on a condition or by poll(). */
	{"Kernel#sleep", .idle = IDLE_IF_LONG},
	/* Its other functions that wait on a condition; see is_language_lock() in causes.c. */
	{"Thread::ConditionVariable#wait ConditionVariable#wait Thread::Mutex#sleep Mutex#sleep "
	 "Thread::Queue#pop Thread::Queue#shift Thread::Queue#deq Queue#pop Queue#shift Queue#deq "
	 "Thread::SizedQueue#pop Thread::SizedQueue#shift Thread::SizedQueue#deq SizedQueue#pop "
	 "SizedQueue#shift SizedQueue#deq Thread#join Thread#value Thread.stop",
	 .idle = IDLE_YES},

	/* Mutexes, also those of conditions and of runtimes. */
	{"pthread_mutex_lock* pthread_mutex_timedlock* pthread_mutex_clocklock* "
	 "pthread_mutex_cond_lock* lll_lock_wait* pthread_rwlock_* pthread_join* "
	 "pthread_clockjoin_ex* pthread_timedjoin_np* pthread_barrier_wait* pthread_once* "
	 "runtime.lock runtime.lock2* runtime.lockWithRank* *ReentrantLock* "
	 "*ReentrantReadWriteLock* ObjectMonitor::enter* ObjectMonitor::EnterI "
	 "SafepointSynchronize::block VMThread::execute *AwareLock* take_gil drop_gil "
	 "gvl_acquire* thread_sched_to_running* std::__future_base::* std::thread::scoped::* "
	 "*LockLatch* lock_wait_suspend_thread* ProcSleep SyncRepWaitForLSN "
	 "PyEval_RestoreThread PyEval_AcquireThread PyEval_AcquireLock PyEval_SaveThread",
	 .idle = NEVER_IDLE},
	/* Servers at a request: MySQL, PostgreSQL, Apache, PHP. */
	{"dispatch_command PortalRun ap_invoke_handler php_execute_script", .idle = NEVER_IDLE},
	/* Answers awaited by poll(). */
	{"PQexec* PQgetResult PQconnect* PQprepare PQdescribe* mysql_real_query* "
	 "mysql_real_connect* mysql_next_result curl_easy_perform curl_easy_recv ldap_result "
	 "res_nsend res_context_send res_context_query getaddrinfo gethostby* "
	 "dbus_connection_send_with_reply_and_block xcb_wait_for_* "
	 "Java_sun_nio_ch_Net_poll NET_Poll NET_Timeout socket.SocketIO.readinto "
	 "ssl.SSLSocket.read ssl.SSLSocket.do_handshake",
	 .idle = NEVER_IDLE},
	/* A replica's request lasts; Java's first thread waits for the one of main(). */
	{"mysql_binlog_send CallJavaMainInNewThread", .idle = ALWAYS_IDLE},
};

/*
 * An interrupt's frames end in its entry; after that comes the interrupted code. Softirqs run when
 * interrupts return (irq_exit_rcu), or in threads that enable them again, and then they belong to
 * that thread.
 */
static const struct rule entry_rules[] = {
	{"sysvec_* fred_sysvec_* common_interrupt spurious_interrupt fred_extint irq_exit "
	 "irq_exit_rcu xen_pv_evtchn_do_upcall exc_xen_hypervisor_callback el1_interrupt "
	 "el0_interrupt el1h_64_irq_handler el1h_64_fiq_handler el0t_64_irq_handler "
	 "el0t_64_fiq_handler el0t_32_irq_handler",
	 .entry = ENTRY_EVIDENCE},
	{"asm_sysvec_* asm_common_interrupt asm_spurious_interrupt "
	 "asm_exc_xen_hypervisor_callback el1h_64_irq el1h_64_fiq el0t_64_irq el0t_64_fiq "
	 "el0t_32_irq",
	 .entry = ENTRY_LAST},
	{"fred_entry_from_* asm_fred_*", .entry = ENTRY_SHARED},
	{"schedule* preempt_schedule* irqentry_exit* exit_to_user_mode* "
	 "syscall_exit_to_user_mode* arm64_exit_to_user_mode do_notify_resume "
	 "arch_do_signal_or_restart do_signal get_signal task_work_run do_exit",
	 .entry = ENTRY_END},
};

static const struct {
	const struct rule *rules;
	size_t n;
} tables[N_RULES] = {
	[RULES_KERNEL] = {kernel_rules, sizeof kernel_rules / sizeof *kernel_rules},
	[RULES_USER] = {user_rules, sizeof user_rules / sizeof *user_rules},
	[RULES_ENTRY] = {entry_rules, sizeof entry_rules / sizeof *entry_rules},
};

/* One name of a rule. */
struct pattern {
	const char *text;
	size_t length;
	int rule;
};

/* A name being looked up. */
struct name {
	const char *text;
	size_t length;
};

static bool has_star(const struct pattern *pattern)
{
	return pattern->text[0] == '*' || pattern->text[pattern->length - 1] == '*';
}

static int compare_texts(const char *a, size_t a_length, const char *b, size_t b_length)
{
	int order = memcmp(a, b, a_length < b_length ? a_length : b_length);

	if (order)
		return order;
	return (a_length > b_length) - (a_length < b_length);
}

/* Names without a * first, then alphabetically. */
static int compare_patterns(const void *a, const void *b)
{
	const struct pattern *left = a, *right = b;
	int order = has_star(left) - has_star(right);

	if (order)
		return order;
	return compare_texts(left->text, left->length, right->text, right->length);
}

static int compare_name(const void *key, const void *item)
{
	const struct name *name = key;
	const struct pattern *pattern = item;

	return compare_texts(name->text, name->length, pattern->text, pattern->length);
}

static int add_names(struct rulebook *book, const char *names, int rule)
{
	for (const char *at = names; *at; at += *at == ' ') {
		size_t length = strcspn(at, " ");
		int r = array_add(book->patterns, book->capacity, book->n_patterns,
				  (struct pattern){at, length, rule});

		if (r < 0)
			return r;
		at += length;
	}
	return 0;
}

int rulebook_init(struct rulebook *book, enum rules kind)
{
	*book = (struct rulebook){.kind = kind};
	for (size_t i = 0; i < tables[kind].n; i++) {
		int r = add_names(book, tables[kind].rules[i].names, i);

		if (r < 0)
			return r;
	}
	qsort(book->patterns, book->n_patterns, sizeof *book->patterns, compare_patterns);
	while (book->n_exact < book->n_patterns && !has_star(&book->patterns[book->n_exact]))
		book->n_exact++;
	return 0;
}

void rulebook_done(struct rulebook *book)
{
	free(book->patterns);
	*book = (struct rulebook){};
}

static bool starred_matches(const struct pattern *pattern, const struct name *name)
{
	bool before = pattern->text[0] == '*', after = pattern->text[pattern->length - 1] == '*';
	const char *text = pattern->text + before;
	size_t length = pattern->length - before - after;

	if (length > name->length)
		return false;
	if (before && after)
		return memmem(name->text, name->length, text, length);
	return memcmp(name->text + (before ? name->length - length : 0), text, length) == 0;
}

/* The longest of the matching patterns. */
static const struct pattern *find_starred(const struct rulebook *book, const struct name *name)
{
	const struct pattern *best = NULL;

	for (size_t i = book->n_exact; i < book->n_patterns; i++) {
		const struct pattern *pattern = &book->patterns[i];

		if ((!best || pattern->length > best->length) && starred_matches(pattern, name))
			best = pattern;
	}
	return best;
}

/* A system call's own functions, whatever the processor (__x64_sys_), become sys_NAME. */
static struct name plain_system_call(struct name name)
{
	static const char *const prefixes[] = {
		"x64_", "ia32_",      "ia32_compat_", "x64_compat_", "arm64_",	"arm64_compat_",
		"se_",	"se_compat_", "do_",	      "do_compat_",  "compat_", "k",
	};

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		size_t n = strlen(prefixes[i]);

		if (name.length > n + 4 && memcmp(name.text, prefixes[i], n) == 0 &&
		    memcmp(name.text + n, "sys_", 4) == 0)
			return (struct name){name.text + n, name.length - n};
	}
	return name;
}

int rulebook_find(const struct rulebook *book, const char *function)
{
	struct name name = {function + strspn(function, "_")}, part;
	const struct pattern *pattern;

	name.length = strlen(name.text);
	part = (struct name){name.text, strcspn(name.text, book->kind == RULES_USER ? "(@" : ".")};
	if (book->kind != RULES_USER)
		name = part = plain_system_call(part);
	pattern =
		bsearch(&part, book->patterns, book->n_exact, sizeof *book->patterns, compare_name);
	if (!pattern)
		pattern = find_starred(book, &name);
	return pattern ? pattern->rule : -1;
}

const struct rule *rules_of(enum rules kind, size_t *ret_n)
{
	if (ret_n)
		*ret_n = tables[kind].n;
	return tables[kind].rules;
}
