/* SPDX-License-Identifier: GPL-2.0-or-later */
/* causes: which waits are for work. Stacks were recorded. */
#include "made_waits.h"

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
						.nanoseconds = 30 * 1000000 * idles[i].milliseconds,
						.waits = 30};

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

static void turns_to_run_a_language_are_not_idle(void **state)
{
	for (size_t i = 0; i < COUNT(languages); i++) {
		struct profile *profile = made_profile(PROFILE_OFFCPU, NULL, 0);
		struct profile_sample sample = {.reason = REASON_SLEEP,
						.count = 1,
						.nanoseconds = 20 * 1000000 * languages[i].milliseconds,
						.waits = 20};
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_waits_are_found),
		cmocka_unit_test(turns_to_run_a_language_are_not_idle),
		cmocka_unit_test(our_helpers_are_idle),
		cmocka_unit_test(parents_are_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
