/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/system.h"
#include "serve/connections.h"
#include "serve/handshakes.h"

#define MSEC_NS	     1000000ULL
#define LINGER_NS    (2 * NSEC_PER_SEC)
#define LINGER_BYTES (256 << 10) /* read and thrown away after an answer */
#define PIECE	     (64 << 10)
#define TURN	     (1 << 20) /* bytes of an answer that are sent before others have their turn */
#define SHAKES_NS    (8 * MSEC_NS) /* of handshakes before others have theirs */
#define EVENTS	     64
#define LISTENER     UINT64_MAX

struct server {
	struct serve_options options;
	int epoll, listener;
	bool is_full;	     /* the listener is not watched … */
	uint64_t full_until; /* … until then */
	struct server_counts *counts, own_counts;
	struct handshakes handshakes;
	struct connections connections;
	char piece[PIECE];
};

static const char *reason_of(int status)
{
	switch (status) {
#define STATUS(number, name, text)                                                                 \
	case number: return #text;
		HTTP_STATUS_MAP(STATUS)
#undef STATUS
	default: return "";
	}
}

/* What epoll gives back: the place, its generation, and whether it is the watched descriptor. */
static uint64_t mark_of(const struct server *server, const struct connection *connection,
			bool is_watch)
{
	uint64_t place = connection - server->connections.items;

	return (uint64_t)connection->generation << 32 | place << 1 | is_watch;
}

static int listen_for(struct server *server, struct connection *connection, uint32_t events)
{
	struct epoll_event event = {.events = events,
				    .data.u64 = mark_of(server, connection, false)};
	bool is_new = connection->state == IS_FREE;

	if (!is_new && connection->events == events)
		return 0;
	connection->events = events;
	return epoll_ctl(server->epoll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connection->fd,
			 &event) < 0
		       ? -errno
		       : 0;
}

static void forget_exchange(struct server *server, struct connection *connection)
{
	struct serve_exchange *exchange = &connection->exchange;

	if (connection->has_stepped)
		server->options.forget(server->options.context, exchange);
	connection->has_stepped = false;
	/* Closing it takes it out of the epoll set, unless somebody else has it, too. */
	exchange->watch = -1;
	free(connection->request);
	connection->request = NULL;
	exchange->request = NULL;
}

static void close_connection(struct server *server, struct connection *connection)
{
	forget_exchange(server, connection);
	free(connection->head);
	free(connection->exchange.answer.bytes);
	closep(&connection->exchange.answer.fd);
	tls_free(connection->tls, false);
	close(connection->fd);
	*connection = (struct connection){.generation = connection->generation + 1};
}

/* The answer */

static const char *body_of_status(int status)
{
	switch (status) {
	case HTTP_STATUS_UNAUTHORIZED: return "the token of --token-file is wanted\n";
	case HTTP_STATUS_FORBIDDEN:
		return "refused: not by a name of this server, or from another site\n";
	case HTTP_STATUS_NOT_FOUND: return "there is nothing here\n";
	case HTTP_STATUS_METHOD_NOT_ALLOWED: return "only GET and HEAD\n";
	case HTTP_STATUS_REQUEST_TIMEOUT: return "the request took too long\n";
	case HTTP_STATUS_REQUEST_HEADER_FIELDS_TOO_LARGE: return "the request is too large\n";
	case HTTP_STATUS_SERVICE_UNAVAILABLE: return "too many requests at a time\n";
	default: return "refused\n";
	}
}

static const char *headers_of_status(int status)
{
	switch (status) {
	case HTTP_STATUS_UNAUTHORIZED: return "WWW-Authenticate: Bearer realm=\"bpfflame\"\r\n";
	case HTTP_STATUS_METHOD_NOT_ALLOWED: return "Allow: GET, HEAD\r\n";
	case HTTP_STATUS_SERVICE_UNAVAILABLE: return "Retry-After: 1\r\n";
	default: return "";
	}
}

/* Browsers run, keep and guess nothing of what comes from here. */
#define COMMON_HEADERS                                                                             \
	"Connection: close\r\n"                                                                    \
	"Cache-Control: no-store\r\n"                                                              \
	"X-Content-Type-Options: nosniff\r\n"                                                      \
	"Referrer-Policy: no-referrer\r\n"                                                         \
	"Cross-Origin-Resource-Policy: same-origin\r\n"

#define NOTHING_ALLOWED                                                                            \
	"sandbox; default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

static char *make_head(const struct serve_answer *answer, size_t *ret_n)
{
	char *head;
	int n = asprintf(&head,
			 "HTTP/1.1 %d %s\r\n"
			 "Content-Type: %s\r\n"
			 "Content-Length: %zu\r\n" COMMON_HEADERS
			 "Content-Security-Policy: %s\r\n%s%s%s\r\n",
			 answer->status, reason_of(answer->status), answer->type, answer->n,
			 answer->policy ? answer->policy : NOTHING_ALLOWED,
			 headers_of_status(answer->status),
			 answer->is_gzip ? "Content-Encoding: gzip\r\n" : "",
			 answer->headers ? answer->headers : "");

	*ret_n = n < 0 ? 0 : n;
	return n < 0 ? NULL : head;
}

static void linger(struct server *server, struct connection *connection)
{
	tls_free(connection->tls, true);
	connection->tls = NULL;
	shutdown(connection->fd, SHUT_WR);
	connection->since = monotonic_ns();
	connection->deadline = connection->since + LINGER_NS;
	if (listen_for(server, connection, EPOLLIN) < 0)
		close_connection(server, connection);
	else
		connection->state = LINGERS;
}

/* Returns how many of the bytes were sent; -EAGAIN, -errno. */
static ssize_t send_some(struct connection *connection, const char *bytes, size_t n, int flags)
{
	if (connection->tls)
		return tls_send(connection->tls, bytes, n);
	n = send(connection->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT | flags);
	return (ssize_t)n < 0 ? -errno : (ssize_t)n;
}

/* Returns how many bytes of the answer's body were sent; -EAGAIN, -errno. */
static ssize_t send_body(struct server *server, struct connection *connection)
{
	const struct serve_answer *answer = &connection->exchange.answer;
	size_t rest = answer->n - connection->sent, most = connection->tls ? TLS_RECORD : PIECE;
	const char *bytes = answer->bytes ? answer->bytes + connection->sent : server->piece;
	ssize_t n = rest < most ? rest : most;

	if (!answer->bytes) {
		n = pread(answer->fd, server->piece, n, connection->sent);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
	}
	return send_some(connection, bytes, n, 0);
}

static void send_more(struct server *server, struct connection *connection)
{
	size_t body = connection->exchange.answer.n;
	size_t until = body - connection->sent < TURN ? body : connection->sent + TURN;
	ssize_t n = 1;

	while (n > 0 && connection->sent_head < connection->head_n) {
		n = send_some(connection, connection->head + connection->sent_head,
			      connection->head_n - connection->sent_head,
			      connection->sent < body ? MSG_MORE : 0);
		connection->sent_head += n > 0 ? n : 0;
	}
	while (n > 0 && connection->sent < until) {
		n = send_body(server, connection);
		connection->sent += n > 0 ? n : 0;
	}
	if (n > 0 && connection->sent == body)
		linger(server, connection);
	else if (n <= 0 && n != -EAGAIN && n != -EINTR)
		close_connection(server, connection);
	else if (listen_for(server, connection, EPOLLOUT) < 0)
		close_connection(server, connection);
}

static void begin_answer(struct server *server, struct connection *connection)
{
	struct serve_answer *answer = &connection->exchange.answer;
	bool is_head = connection->request && connection->request->is_head;

	if (!answer->type) {
		answer->type = "text/plain; charset=utf-8";
		answer->bytes = strdup(body_of_status(answer->status));
		answer->n = answer->bytes ? strlen(answer->bytes) : 0;
	}
	server->counts->answers[answer->status / 100 % 6]++;
	connection->head = make_head(answer, &connection->head_n);
	if (!connection->head) {
		close_connection(server, connection);
		return;
	}
	if (is_head)
		answer->n = 0;
	forget_exchange(server, connection);
	connection->state = SENDS;
	connection->since = monotonic_ns();
	connection->deadline =
		connection->since +
		(server->options.answer_ns ? server->options.answer_ns : SERVE_ANSWER_NS);
	send_more(server, connection);
}

static void answer_status(struct server *server, struct connection *connection, int status)
{
	connection->exchange.answer = (struct serve_answer){.status = status, .fd = -1};
	begin_answer(server, connection);
}

/* Requests */

static int watch(struct server *server, struct connection *connection)
{
	struct epoll_event event = {.events = EPOLLIN,
				    .data.u64 = mark_of(server, connection, true)};

	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, connection->exchange.watch, &event) < 0
		       ? -errno
		       : 0;
}

static void step_exchange(struct server *server, struct connection *connection)
{
	struct serve_exchange *exchange = &connection->exchange;
	int before = exchange->watch;

	connection->has_stepped = true;
	if (server->options.step(server->options.context, exchange) > 0)
		begin_answer(server, connection);
	else if (exchange->is_crowded)
		answer_status(server, connection, HTTP_STATUS_SERVICE_UNAVAILABLE);
	else if (exchange->watch >= 0 && exchange->watch != before && watch(server, connection) < 0)
		answer_status(server, connection, HTTP_STATUS_INTERNAL_SERVER_ERROR);
}

static void begin_exchange(struct server *server, struct connection *connection)
{
	const struct http_request *request = connection->request;
	int status = http_guard_check(server->options.guard, request);

	if (!status && !request->is_get && !request->is_head)
		status = HTTP_STATUS_METHOD_NOT_ALLOWED;
	if (!status && request->has_body)
		status = HTTP_STATUS_BAD_REQUEST;
	if (status) {
		answer_status(server, connection, status);
		return;
	}
	/* Whoever goes away while we work on the answer needs none. */
	if (listen_for(server, connection, EPOLLRDHUP) < 0) {
		close_connection(server, connection);
		return;
	}
	connection->exchange.is_crowded =
		connections_count(&server->connections, WAITS) >= server->options.waiting;
	connection->state = WAITS;
	connection->deadline = UINT64_MAX;
	connection->exchange.request = request;
	step_exchange(server, connection);
}

/* Returns how many bytes came; 0 at the end; -EAGAIN, -EPROTOTYPE, -errno. */
static ssize_t receive(struct server *server, struct connection *connection)
{
	const struct tls_identity *identity = server->options.identity;
	ssize_t n = 0;

	if (identity && !connection->tls)
		n = tls_new(identity, connection->fd, &connection->tls);
	if (n < 0)
		return n;
	if (connection->tls)
		return tls_receive(connection->tls, server->piece, HTTP_HEAD_MAX);
	n = recv(connection->fd, server->piece, HTTP_HEAD_MAX, MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

/* Clients that don't know of TLS read this answer. */
static void answer_plain(struct server *server, struct connection *connection)
{
	static const char text[] = "TLS is wanted here: https://\n";

	tls_free(connection->tls, false);
	connection->tls = NULL;
	connection->exchange.answer = (struct serve_answer){.status = HTTP_STATUS_BAD_REQUEST,
							    .type = "text/plain; charset=utf-8",
							    .bytes = strdup(text),
							    .n = sizeof text - 1,
							    .fd = -1};
	if (connection->exchange.answer.bytes)
		begin_answer(server, connection);
	else
		close_connection(server, connection);
}

/* Whether what comes next is computed for in turn. */
static bool owes_handshake(const struct server *server, const struct connection *connection)
{
	return server->options.identity && !(connection->tls && tls_is_ready(connection->tls));
}

/* Not all has come yet. */
static void await_more(struct server *server, struct connection *connection)
{
	bool sends = connection->tls && tls_sends(connection->tls);
	uint32_t events = sends ? EPOLLOUT : EPOLLIN;

	/* Whoever goes away before its handshake is over needs none. */
	if (owes_handshake(server, connection))
		events |= EPOLLRDHUP;
	if (listen_for(server, connection, events) < 0)
		close_connection(server, connection);
}

static void read_more(struct server *server, struct connection *connection)
{
	ssize_t n = receive(server, connection);
	int status;

	server->counts->broken += n == -EPROTO || n == -EPROTOTYPE;
	if (n == -EPROTOTYPE) {
		answer_plain(server, connection);
		return;
	}
	if (n == -EAGAIN || n == -EINTR) {
		await_more(server, connection);
		return;
	}
	if (n <= 0) {
		close_connection(server, connection);
		return;
	}
	status = http_request_take(connection->request, server->piece, n);
	if (status == 1)
		begin_exchange(server, connection);
	else if (status)
		answer_status(server, connection, status);
	else
		await_more(server, connection);
}

static void discard(struct server *server, struct connection *connection)
{
	ssize_t n = recv(connection->fd, server->piece, PIECE, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	connection->discarded += n > 0 ? n : 0;
	if (n <= 0 || connection->discarded > LINGER_BYTES)
		close_connection(server, connection);
}

/* Connections */

static void watch_listener(struct server *server, bool on)
{
	struct epoll_event event = {.events = on ? EPOLLIN : 0, .data.u64 = LISTENER};

	epoll_ctl(server->epoll, EPOLL_CTL_MOD, server->listener, &event);
	server->is_full = !on;
	server->full_until = monotonic_ns() + CONNECTION_YOUNG_NS;
}

/* Makes a place free for one more. False: new ones wait in the kernel for a while. */
static bool make_place(struct server *server)
{
	struct connection *spare;

	if (connections_free(&server->connections))
		return true;
	spare = connections_spare(&server->connections, monotonic_ns());
	if (!spare) {
		watch_listener(server, false);
		return false;
	}
	server->counts->refused += spare->state != LINGERS;
	close_connection(server, spare);
	return true;
}

/* An address has its share of those that have not asked yet. */
static void limit_address(struct server *server, const struct sockaddr_storage *address)
{
	unsigned int n, n_shakes;
	struct connection *spare;

	if (http_guard_is_local(address) || server->options.guard->by_proxy)
		return;
	connections_oldest(&server->connections, SHAKES, address, &n_shakes);
	spare = connections_oldest(&server->connections, READS, address, &n);
	if (n + n_shakes < server->options.of_address)
		return;
	server->counts->refused++;
	if (!spare)
		spare = connections_oldest_at(&server->connections, SHAKES,
					      handshakes_place(&server->handshakes, address),
					      address);
	close_connection(server, spare);
}

static void add_connection(struct server *server, int fd, const struct sockaddr_storage *address)
{
	struct connection *connection;
	uint64_t now = monotonic_ns();

	limit_address(server, address);
	connection = connections_free(&server->connections);
	connection->fd = fd;
	connection->address = *address;
	connection->place = handshakes_place(&server->handshakes, address);
	connection->exchange.watch = connection->exchange.answer.fd = -1;
	connection->since = now;
	connection->deadline =
		now + (server->options.request_ns ? server->options.request_ns : SERVE_REQUEST_NS);
	connection->request = malloc(sizeof *connection->request);
	if (!connection->request ||
	    listen_for(server, connection, EPOLLIN | (server->options.identity ? EPOLLRDHUP : 0)) <
		    0) {
		close_connection(server, connection);
		return;
	}
	http_request_begin(connection->request);
	connection->state = READS;
	server->counts->accepted++;
	/* It may be here already. Handshakes wait for their turn. */
	if (!server->options.identity)
		read_more(server, connection);
}

static void accept_some(struct server *server)
{
	for (int i = 0; i < EVENTS && make_place(server); i++) {
		struct sockaddr_storage address = {};
		socklen_t n = sizeof address;
		int fd = accept4(server->listener, (struct sockaddr *)&address, &n,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 &&
		    (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
			watch_listener(server, false);
		if (fd < 0)
			return;
		add_connection(server, fd, &address);
	}
}

/* Handshakes */

/* Something has come for one that is not over, or its client is gone. */
static void line_up(struct server *server, struct connection *connection, uint32_t events)
{
	if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) ||
	    listen_for(server, connection, EPOLLRDHUP) < 0)
		close_connection(server, connection);
	else
		connection->state = SHAKES;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec used = {};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * NSEC_PER_SEC + used.tv_nsec;
}

/* Some of those that wait for it have their turn. */
static void shake_hands(struct server *server)
{
	uint64_t begin = monotonic_ns(), now = begin;
	struct connection *next;

	while (now - begin < SHAKES_NS &&
	       (next = connections_next_shake(&server->connections, &server->handshakes)) &&
	       !handshakes_wait(&server->handshakes, now)) {
		unsigned int place = next->place;
		uint64_t before = own_cpu_ns();

		next->state = READS;
		next->since = now; /* what it takes from here on is the client's */
		read_more(server, next);
		handshakes_take(&server->handshakes, place, own_cpu_ns() - before);
		now = monotonic_ns();
	}
}

/* The loop */

static void handle_event(struct server *server, const struct epoll_event *event)
{
	struct connection *connection;

	if (event->data.u64 == LISTENER) {
		accept_some(server);
		return;
	}
	connection = &server->connections.items[(uint32_t)event->data.u64 >> 1];
	if (connection->state == IS_FREE || connection->generation != event->data.u64 >> 32)
		return;
	switch (connection->state) {
	case READS:
		if (owes_handshake(server, connection))
			line_up(server, connection, event->events);
		else
			read_more(server, connection);
		break;
	case SHAKES: close_connection(server, connection); break; /* the client is gone */
	case WAITS:
		if (event->data.u64 & 1)
			step_exchange(server, connection);
		else
			close_connection(server, connection);
		break;
	case SENDS:
		if (!(event->data.u64 & 1))
			send_more(server, connection);
		break;
	case LINGERS: discard(server, connection); break;
	default: break;
	}
}

static void end_late(struct server *server, struct connection *connection)
{
	server->counts->timeouts++;
	/* Before the end of its handshake, a client understands nothing. */
	if (connection->state == READS && !owes_handshake(server, connection))
		answer_status(server, connection, HTTP_STATUS_REQUEST_TIMEOUT);
	else
		close_connection(server, connection);
}

/* Does what is due. Returns when the next thing is, monotonic ns. */
static uint64_t keep_time(struct server *server, bool steps)
{
	uint64_t now = monotonic_ns(), next = UINT64_MAX, wait;
	bool shakes = false;

	if (server->is_full && now >= server->full_until)
		watch_listener(server, true);
	if (server->is_full)
		next = server->full_until;
	for (size_t i = 0; i < server->connections.n; i++) {
		struct connection *connection = &server->connections.items[i];

		if (connection->state == WAITS && steps)
			step_exchange(server, connection);
		if (connection->state != IS_FREE && now >= connection->deadline)
			end_late(server, connection);
		if (connection->state == WAITS && next > now + SERVE_TICK_NS)
			next = now + SERVE_TICK_NS;
		if (connection->state != IS_FREE && connection->deadline < next)
			next = connection->deadline;
		shakes |= connection->state == SHAKES;
	}
	wait = shakes ? now + handshakes_wait(&server->handshakes, now) : UINT64_MAX;
	return wait < next ? wait : next;
}

static int patience_ms(uint64_t next, int most_ms)
{
	uint64_t now = monotonic_ns();
	uint64_t ms = next <= now ? 0 : (next - now + MSEC_NS - 1) / MSEC_NS;

	if (next == UINT64_MAX || (most_ms >= 0 && ms > (uint64_t)most_ms))
		return most_ms;
	return ms;
}

int server_step(struct server *server, int most_ms)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(server->epoll, events, EVENTS,
			   patience_ms(keep_time(server, false), most_ms));

	if (n < 0 && errno != EINTR)
		return -errno;
	for (int i = 0; i < n; i++)
		handle_event(server, &events[i]);
	shake_hands(server);
	keep_time(server, true);
	return 0;
}

const struct server_counts *server_counts(const struct server *server)
{
	return server->counts;
}

static int prepare(struct server *server)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = LISTENER};

	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll < 0)
		return -errno;
	server->connections.items =
		calloc(server->connections.n, sizeof *server->connections.items);
	if (!server->connections.items)
		return -ENOMEM;
	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->listener, &event) < 0 ? -errno : 0;
}

int server_new(int listener, const struct serve_options *options, struct server **ret)
{
	struct server *server = calloc(1, sizeof *server);
	int r;

	if (!server)
		return -ENOMEM;
	server->options = *options;
	server->listener = listener;
	server->counts = options->counts ? options->counts : &server->own_counts;
	server->connections.n = options->connections ? options->connections : SERVE_CONNECTIONS;
	if (!options->of_address)
		server->options.of_address = SERVE_OF_ADDRESS;
	if (!options->waiting)
		server->options.waiting = SERVE_WAITING;
	handshakes_begin(&server->handshakes,
			 options->handshakes_ns ? options->handshakes_ns : HANDSHAKE_SHARE_NS,
			 monotonic_ns());
	r = prepare(server);
	if (r < 0) {
		server_free(server);
		return r;
	}
	*ret = server;
	return 0;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	for (size_t i = 0; server->connections.items && i < server->connections.n; i++)
		if (server->connections.items[i].state != IS_FREE)
			close_connection(server, &server->connections.items[i]);
	closep(&server->epoll);
	free(server->connections.items);
	free(server);
}
