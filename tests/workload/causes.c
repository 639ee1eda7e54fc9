/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causes DIR [SECONDS]: threads that each wait in one way, for ever or repeatedly, and hardly ever
 * run. Waits that need somebody else to end them are ended by a thread of their own.
 *
 * DIR is for files; on a filesystem in memory nothing waits for a disk. Prints the truth when all
 * have started: for each thread, or process that it made, the reason of its wait; and what this
 * kernel lacks.
 */
#include "causes_channels.h"
#include "causes_files.h"

#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

/* --- futexes and other locks of user space */

static const char *wait_futex(struct waiting *self)
{
	uint32_t word = 0;

	while (futex(&word, FUTEX_WAIT_PRIVATE, 0, &period) && errno == ETIMEDOUT)
		;
	return "futex()";
}

/* A mutex with priority inheritance, held by the main thread. */
static const char *wait_futex_pi(struct waiting *self)
{
	uint32_t word = getpid();

	for (;;) {
		struct timespec until = from_now(CLOCK_REALTIME);

		if (futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, &until) == 0 || errno != ETIMEDOUT)
			return "FUTEX_LOCK_PI";
	}
}

static const char *wait_futex_vector(struct waiting *self)
{
	uint32_t word = 0;
	/* From Linux 5.16, whose headers may be missing: one futex of 32 bits with the value 0. */
	struct {
		uint64_t value, address;
		uint32_t flags, reserved;
	} vector = {.address = (uintptr_t)&word, .flags = 2};
	const long futex_waitv = 449;

	for (;;) {
		struct timespec until = from_now(CLOCK_MONOTONIC);

		if (syscall(futex_waitv, &vector, 1, 0, &until, CLOCK_MONOTONIC) == 0 ||
		    errno != ETIMEDOUT)
			return "futex_waitv()";
	}
}

/* System V objects outlive their creators, unless their namespace ends too. */
static const char *wait_semaphore(struct waiting *self)
{
	struct sembuf down = {.sem_op = -1};
	int id;

	if (unshare(CLONE_NEWIPC))
		return "a namespace of its own";
	id = semget(IPC_PRIVATE, 1, 0600);
	if (id < 0)
		return "semget()";
	for (;;)
		semtimedop(id, &down, 1, &period);
}

/* --- polls */

static const char *wait_epoll(struct waiting *self)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;

	while (epoll_wait(fd, &event, 1, PERIOD / MILLISECOND) == 0)
		;
	return "epoll_wait()";
}

static const char *wait_poll(struct waiting *self)
{
	struct pollfd fd = {.fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN};

	while (poll(&fd, 1, PERIOD / MILLISECOND) == 0)
		;
	return "poll()";
}

static const char *wait_select(struct waiting *self)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	struct timeval timeout;
	fd_set files;

	do {
		timeout = (struct timeval){0, PERIOD / 1000};
		FD_ZERO(&files);
		FD_SET(fd, &files);
	} while (select(fd + 1, &files, NULL, NULL, &timeout) == 0);
	return "select()";
}

static const char *wait_uring(struct waiting *self)
{
	struct io_uring_params parameters = {};
	struct __kernel_timespec timeout = {0, PERIOD};
	struct io_uring_getevents_arg argument = {.ts = (uintptr_t)&timeout};
	int fd = syscall(SYS_io_uring_setup, 1, &parameters);

	if (fd < 0)
		return "io_uring_setup()";
	for (;;)
		if (syscall(SYS_io_uring_enter, fd, 0, 1,
			    IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument,
			    sizeof argument) == 0 ||
		    errno != ETIME)
			return "io_uring_enter()";
}

static const char *wait_aio(struct waiting *self)
{
	aio_context_t context = 0;
	struct io_event event;

	if (syscall(SYS_io_setup, 1, &context))
		return "io_setup()";
	for (;;) {
		struct timespec timeout = period;

		syscall(SYS_io_getevents, context, 1, 1, &event, &timeout);
	}
}

static const char *wait_eventfd(struct waiting *self)
{
	self->fds[0] = self->fds[1] = eventfd(0, EFD_CLOEXEC);
	return read_for_ever(self);
}

static const char *wait_inotify(struct waiting *self)
{
	char path[64];

	self->fds[0] = inotify_init1(IN_CLOEXEC);
	self->fds[1] = open_in_directory(self->name, 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", self->fds[1]);
	if (inotify_add_watch(self->fds[0], path, IN_ATTRIB) < 0)
		return "inotify_add_watch()";
	remove_from_directory(self->name);
	return read_for_ever(self);
}

static void touch(struct waiting *self)
{
	futimens(self->fds[1], NULL);
}

/* --- timers */

static const char *wait_nanosleep(struct waiting *self)
{
	while (nanosleep(&period, NULL) == 0)
		;
	return "nanosleep()";
}

static const char *wait_clock(struct waiting *self)
{
	struct timespec until;

	do
		until = from_now(CLOCK_REALTIME);
	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == 0);
	return "clock_nanosleep()";
}

static const char *wait_timerfd(struct waiting *self)
{
	struct itimerspec timer = {period, period};

	self->fds[0] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	timerfd_settime(self->fds[0], 0, &timer, NULL);
	return read_for_ever(self);
}

/* --- signals */

static const char *wait_signal(struct waiting *self)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR2);
	while (sigtimedwait(&signals, NULL, &period) < 0 && errno == EAGAIN)
		;
	return "sigtimedwait()";
}

static void take_signal(int number)
{
}

static void send_signal(struct waiting *self)
{
	pthread_kill(self->thread, SIGUSR1);
}

static const char *wait_pause(struct waiting *self)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
	start_waiting(self);
	while (pause() < 0 && errno == EINTR)
		;
	return "pause()";
}

static const char *wait_suspended(struct waiting *self)
{
	sigset_t signals;

	sigfillset(&signals);
	sigdelset(&signals, SIGUSR1);
	start_waiting(self);
	while (sigsuspend(&signals) < 0 && errno == EINTR)
		;
	return "sigsuspend()";
}

static const char *wait_signalfd(struct waiting *self)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	self->fds[0] = signalfd(-1, &signals, SFD_CLOEXEC);
	return read_for_ever(self);
}

/* --- children, and what stops them */

static const char *wait_vfork(struct waiting *self)
{
	for (;;) {
		pid_t child = vfork();

		if (child == 0) {
			nanosleep(&period, NULL);
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return "vfork()";
	}
}

/* A child that does not outlive its parent. */
static pid_t new_child(const char *name)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
	}
	return child;
}

static int sleep_once(void *argument)
{
	syscall(SYS_nanosleep, &period, NULL);
	return argument ? 1 : 0;
}

/* Shares memory: copying it would make page faults of other threads wait. */
static const char *wait_child(struct waiting *self)
{
	static char stack[16 << 10] __attribute__((aligned(16)));

	for (;;) {
		pid_t child = clone(sleep_once, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);

		if (child < 0 || waitpid(child, NULL, 0) != child)
			return "clone()";
	}
}

/* Waits for the child to be traced. */
static const char *wait_stopped(struct waiting *self)
{
	pid_t child = new_child(self->name);

	while (child == 0)
		raise(SIGSTOP);
	if (child < 0)
		return "fork()";
	self->pid = self->tid = child;
	start_waiting(self);
	for (;;)
		pause();
}

static void send_continue(struct waiting *self)
{
	kill(self->pid, SIGCONT);
}

static const char *wait_traced(struct waiting *self)
{
	pid_t child = new_child(self->name);

	if (child == 0)
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	while (child == 0)
		raise(SIGSTOP);
	self->pid = self->tid = child;
	while (child > 0 && waitpid(child, NULL, 0) == child) {
		sleep_ns(PERIOD);
		ptrace(PTRACE_CONT, child, NULL, NULL);
	}
	return "ptrace()";
}

/* Threads that only serve others have the reason "". */
static struct waiting threads[] = {
	{.name = "pages", .reason = "", .body = bring_pages},
	{.name = "holder", .reason = "", .body = hold_locks},
	{.name = "futex", .reason = "futex", .body = wait_futex},
	{.name = "futex-pi", .reason = "futex", .body = wait_futex_pi},
	{.name = "futex-vector", .reason = "futex", .body = wait_futex_vector},
	{.name = "semaphore", .reason = "futex", .body = wait_semaphore},
	{.name = "epoll", .reason = "poll", .body = wait_epoll},
	{.name = "poll", .reason = "poll", .body = wait_poll},
	{.name = "select", .reason = "poll", .body = wait_select},
	{.name = "uring", .reason = "poll", .body = wait_uring},
	{.name = "aio", .reason = "poll", .body = wait_aio},
	{.name = "eventfd", .reason = "poll", .body = wait_eventfd, .kick = write_some},
	{.name = "inotify", .reason = "poll", .body = wait_inotify, .kick = touch},
	{.name = "nanosleep", .reason = "timer", .body = wait_nanosleep},
	{.name = "clock", .reason = "timer", .body = wait_clock},
	{.name = "timerfd", .reason = "timer", .body = wait_timerfd},
	{.name = "pipe-read", .reason = "pipe", .body = wait_pipe_read, .kick = write_some},
	{.name = "pipe-write", .reason = "pipe", .body = wait_pipe_write, .kick = read_page},
	{.name = "fifo", .reason = "pipe", .body = wait_fifo, .kick = open_for_writing},
	{.name = "terminal", .reason = "pipe", .body = wait_terminal, .kick = write_some},
	{.name = "message", .reason = "pipe", .body = wait_message},
	{.name = "recv-local", .reason = "network", .body = wait_receive_local},
	{.name = "recv-datagram", .reason = "network", .body = wait_receive_datagram},
	{.name = "recv-stream", .reason = "network", .body = wait_receive_stream},
	{.name = "send-stream", .reason = "network", .body = wait_send_stream},
	{.name = "accept", .reason = "network", .body = wait_accept},
	{.name = "connect", .reason = "network", .body = wait_connect},
	{.name = "connect-local", .reason = "network", .body = wait_connect_local},
	{.name = "disk-sync", .reason = "disk", .body = wait_sync},
	{.name = "disk-direct", .reason = "disk", .body = wait_direct},
	{.name = "disk-cache", .reason = "disk", .body = wait_cache},
	{.name = "fault-file", .reason = "page fault", .body = wait_mapped_file},
	{.name = "fault-late", .reason = "page fault", .body = wait_late_page},
	{.name = "lock-rwsem", .reason = "lock", .body = wait_semaphore_of_file},
	{.name = "lock-mutex", .reason = "lock", .body = wait_mutex_of_file},
	{.name = "lock-file", .reason = "lock", .body = wait_file_lock},
	{.name = "sigwait", .reason = "signal", .body = wait_signal},
	{.name = "pause", .reason = "signal", .body = wait_pause, .kick = send_signal},
	{.name = "sigsuspend", .reason = "signal", .body = wait_suspended, .kick = send_signal},
	{.name = "signalfd", .reason = "signal", .body = wait_signalfd, .kick = send_signal},
	{.name = "vfork", .reason = "child", .body = wait_vfork},
	{.name = "waitpid", .reason = "child", .body = wait_child},
	{.name = "stopped", .reason = "stopped", .body = wait_stopped, .kick = send_continue},
	{.name = "traced", .reason = "stopped", .body = wait_traced},
};

#define N_THREADS (sizeof threads / sizeof *threads)

static void *named_thread(void *argument)
{
	struct waiting *self = argument;

	pthread_setname_np(pthread_self(), self->name);
	self->tid = gettid();
	__atomic_store_n(&self->missing, self->body(self), __ATOMIC_RELEASE);
	return NULL;
}

static void *kicker_thread(void *argument)
{
	pthread_setname_np(pthread_self(), "kicker");
	for (;;) {
		sleep_ns(PERIOD);
		for (size_t i = 0; i < N_THREADS; i++)
			if (threads[i].kick && __atomic_load_n(&threads[i].ready, __ATOMIC_ACQUIRE))
				threads[i].kick(&threads[i]);
	}
	return argument;
}

static void print_threads(bool missing)
{
	const char *comma = "";

	for (size_t i = 0; i < N_THREADS; i++) {
		const struct waiting *thread = &threads[i];
		const char *what = __atomic_load_n(&thread->missing, __ATOMIC_ACQUIRE);

		if (!*thread->reason || missing != !!what)
			continue;
		printf("%s{\"name\": \"%s\", ", comma, thread->name);
		if (missing)
			printf("\"what\": \"%s\"}", what);
		else
			printf("\"reason\": \"[%s]\", \"pid\": %d, \"tid\": %d}", thread->reason,
			       thread->pid ? thread->pid : getpid(), thread->tid);
		comma = ", ";
	}
}

static void print_truth(void)
{
	printf("{\"pid\": %d, \"threads\": [", getpid());
	print_threads(false);
	printf("], \"missing\": [");
	print_threads(true);
	printf("]}\n");
	fflush(stdout);
}

/* Leaves signals to the threads that wait for them. */
static void prepare_signals(void)
{
	struct sigaction action = {.sa_handler = take_signal};
	sigset_t signals;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

int main(int argc, char **argv)
{
	double seconds = number_argument(argc, argv, 2, 60);
	pthread_t kicker;

	if (argc < 2) {
		fprintf(stderr, "usage: causes DIR [SECONDS]\n");
		return 2;
	}
	directory = argv[1];
	prepare_signals();
	make_late_pages();
	open_locked_file();
	for (size_t i = 0; i < N_THREADS; i++)
		start_thread(named_thread, &threads[i], &threads[i].thread);
	start_thread(kicker_thread, NULL, &kicker);
	sleep_ns(SECOND);
	print_truth();
	sleep_ns(seconds * SECOND);
	_exit(0);
}
