/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wakers [SECONDS]: threads that each wait in a function of their own, and are woken about every 5
 * ms by one other thread, from a function of its own:
 *
 *	who waits	in		is woken by	in
 *	lock-waiter	want_lock	holder		release_lock	a mutex
 *	reader		drain_pipe	feeder		feed_pipe
 *	poller		await_bell	ringer		ring_bell	epoll, an eventfd
 *	receiver	receive		sender		send_message	TCP
 *	sig-waiter	await_signal	signaler	send_signal
 *	parent		await_child	leaver		(its exit)	a process
 *	napper		take_nap	a timer
 *	last		await_middle	middle		wake_last	a futex …
 *	middle		await_source	source		wake_middle	… and a futex before it
 *	source		take_nap	a timer
 *
 * The wakers sleep in take_nap() in between. Prints each thread's elapsed and CPU time.
 */
#include "workload.h"

#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void *holder_thread(void *), *lock_waiter_thread(void *), *feeder_thread(void *),
	*reader_thread(void *), *ringer_thread(void *), *poller_thread(void *),
	*sender_thread(void *), *receiver_thread(void *), *signaler_thread(void *),
	*sig_waiter_thread(void *), *parent_thread(void *), *napper_thread(void *),
	*last_thread(void *), *middle_thread(void *), *source_thread(void *);

enum { SIG_WAITER = 9 };

static struct waiting {
	const char *name;
	void *(*body)(void *);
	pthread_t thread;
	pid_t tid;
	clockid_t clock;
	uint64_t start, cpu;
} threads[] = {
	{.name = "holder", .body = holder_thread},
	{.name = "lock-waiter", .body = lock_waiter_thread},
	{.name = "feeder", .body = feeder_thread},
	{.name = "reader", .body = reader_thread},
	{.name = "ringer", .body = ringer_thread},
	{.name = "poller", .body = poller_thread},
	{.name = "sender", .body = sender_thread},
	{.name = "receiver", .body = receiver_thread},
	{.name = "signaler", .body = signaler_thread},
	[SIG_WAITER] = {.name = "sig-waiter", .body = sig_waiter_thread},
	{.name = "parent", .body = parent_thread},
	{.name = "napper", .body = napper_thread},
	{.name = "last", .body = last_thread},
	{.name = "middle", .body = middle_thread},
	{.name = "source", .body = source_thread},
};

static const int n_threads = sizeof(threads) / sizeof(*threads);

static MARKED void take_nap(void)
{
	sleep_ns(5 * MILLISECOND);
	KEEP_FRAME();
}

/* --- a mutex --------------------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static MARKED void release_lock(void)
{
	pthread_mutex_unlock(&mutex);
	KEEP_FRAME();
}

static void *holder_thread(void *argument)
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		take_nap();
		release_lock();
		sleep_ns(MILLISECOND);
	}
	return argument;
}

static MARKED void want_lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	KEEP_FRAME();
}

static void *lock_waiter_thread(void *argument)
{
	for (;;) {
		want_lock();
		sleep_ns(2 * MILLISECOND);
	}
	return argument;
}

/* --- files: a pipe, an eventfd, a connection ---------------------------------------------------
 */

static int pipe_ends[2], bell, sockets[2];

static MARKED void feed_pipe(void)
{
	if (write(pipe_ends[1], "", 1) != 1)
		exit(1);
	KEEP_FRAME();
}

static void *feeder_thread(void *argument)
{
	for (;;) {
		take_nap();
		feed_pipe();
	}
	return argument;
}

static MARKED void drain_pipe(void)
{
	char byte;

	if (read(pipe_ends[0], &byte, 1) != 1)
		exit(1);
	KEEP_FRAME();
}

static void *reader_thread(void *argument)
{
	for (;;)
		drain_pipe();
	return argument;
}

static MARKED void ring_bell(void)
{
	if (eventfd_write(bell, 1))
		exit(1);
	KEEP_FRAME();
}

static void *ringer_thread(void *argument)
{
	for (;;) {
		take_nap();
		ring_bell();
	}
	return argument;
}

static MARKED void await_bell(int epoll)
{
	struct epoll_event event;
	eventfd_t value;

	if (epoll_wait(epoll, &event, 1, -1) == 1)
		eventfd_read(bell, &value);
	KEEP_FRAME();
}

static void *poller_thread(void *argument)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, bell, &event))
		exit(1);
	for (;;)
		await_bell(epoll);
	return argument;
}

static MARKED void send_message(void)
{
	if (send(sockets[1], "", 1, 0) != 1)
		exit(1);
	KEEP_FRAME();
}

static void *sender_thread(void *argument)
{
	for (;;) {
		take_nap();
		send_message();
	}
	return argument;
}

static MARKED void receive(void)
{
	char byte;

	if (recv(sockets[0], &byte, 1, 0) != 1)
		exit(1);
	KEEP_FRAME();
}

static void *receiver_thread(void *argument)
{
	for (;;)
		receive();
	return argument;
}

/* Two ends of one connection. */
static void connect_sockets(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof(address);

	sockets[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listening, (struct sockaddr *)&address, length) || listen(listening, 1) ||
	    getsockname(listening, (struct sockaddr *)&address, &length) ||
	    connect(sockets[0], (struct sockaddr *)&address, length)) {
		perror("wakers: TCP");
		exit(1);
	}
	sockets[1] = accept(listening, NULL, NULL);
}

/* --- signals, processes ---------------------------------------------------------------------- */

static MARKED void send_signal(void)
{
	pthread_kill(threads[SIG_WAITER].thread, SIGUSR1);
	KEEP_FRAME();
}

static void *signaler_thread(void *argument)
{
	for (;;) {
		take_nap();
		send_signal();
	}
	return argument;
}

static MARKED void await_signal(const sigset_t *signals)
{
	int number;

	sigwait(signals, &number);
	KEEP_FRAME();
}

static void *sig_waiter_thread(void *argument)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	for (;;)
		await_signal(&signals);
	return argument;
}

static MARKED void await_child(pid_t pid)
{
	if (waitpid(pid, NULL, 0) != pid)
		exit(1);
	KEEP_FRAME();
}

static void *parent_thread(void *argument)
{
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_NAME, "leaver");
			take_nap();
			_exit(0);
		}
		await_child(pid);
	}
	return argument;
}

static void *napper_thread(void *argument)
{
	for (;;)
		take_nap();
	return argument;
}

/* --- a chain --------------------------------------------------------------------------------- */

static atomic_int from_source, from_middle;

static inline __attribute__((always_inline)) void give(atomic_int *turn)
{
	*turn = 1;
	syscall(SYS_futex, turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline __attribute__((always_inline)) void take(atomic_int *turn)
{
	while (!atomic_exchange(turn, 0))
		syscall(SYS_futex, turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static MARKED void wake_middle(void)
{
	give(&from_source);
	KEEP_FRAME();
}

static void *source_thread(void *argument)
{
	for (;;) {
		take_nap();
		wake_middle();
	}
	return argument;
}

static MARKED void await_source(void)
{
	take(&from_source);
	KEEP_FRAME();
}

static MARKED void wake_last(void)
{
	give(&from_middle);
	KEEP_FRAME();
}

static void *middle_thread(void *argument)
{
	for (;;) {
		await_source();
		wake_last();
	}
	return argument;
}

static MARKED void await_middle(void)
{
	take(&from_middle);
	KEEP_FRAME();
}

static void *last_thread(void *argument)
{
	for (;;)
		await_middle();
	return argument;
}

/* --- all of them ----------------------------------------------------------------------------- */

static void *named_thread(void *argument)
{
	struct waiting *self = argument;

	pthread_setname_np(pthread_self(), self->name);
	pthread_getcpuclockid(pthread_self(), &self->clock);
	__atomic_store_n(&self->tid, gettid(), __ATOMIC_RELEASE);
	return self->body(NULL);
}

static void start_all(void)
{
	for (int i = 0; i < n_threads; i++) {
		threads[i].start = wall_ns();
		start_thread(named_thread, &threads[i], &threads[i].thread);
	}
	for (int i = 0; i < n_threads; i++)
		while (!__atomic_load_n(&threads[i].tid, __ATOMIC_ACQUIRE))
			sleep_ns(MILLISECOND);
}

static void print_truth(void)
{
	uint64_t now = wall_ns();

	for (int i = 0; i < n_threads; i++)
		threads[i].cpu = clock_ns(threads[i].clock);
	printf("{\"threads\": [");
	for (int i = 0; i < n_threads; i++)
		printf("%s{\"name\": \"%s\", \"tid\": %d, \"elapsed_ns\": %ju, \"cpu_ns\": %ju}",
		       i ? ", " : "", threads[i].name, threads[i].tid,
		       (uintmax_t)(now - threads[i].start), (uintmax_t)threads[i].cpu);
	printf("], \"pid\": %d}\n", getpid());
}

int main(int argc, char **argv)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	bell = eventfd(0, 0);
	if (bell < 0 || pipe(pipe_ends))
		return 1;
	connect_sockets();
	start_all();
	sleep_ns(number_argument(argc, argv, 1, 10) * SECOND);
	print_truth();
	fflush(stdout);
	_exit(0);
}
