/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server on a socket, with clients that behave and clients that do not. */
#include "cmocka_all.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system.h"
#include "serve/server.h"
#include "unit/made_tls.h"

#define REQUEST(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define MSEC	      1000000ULL

static struct http_guard guard;
static struct server *server;
static struct sockaddr_in place;
static int listener = -1;
static unsigned int n_steps, n_forgotten;
static bool is_open;	 /* `/wait` is answered */
static int wakes[2];	 /* `/watch` waits for a byte of it */
static size_t file_size; /* of `/file`: a multiple of 4096 */

static int make_file(size_t size)
{
	int fd = memfd_create("answer", MFD_CLOEXEC);
	char piece[4096];

	for (size_t i = 0; i < sizeof piece; i++)
		piece[i] = 'a' + i % 23;
	for (size_t i = 0; i < size; i += sizeof piece)
		assert_int_equal(write(fd, piece, sizeof piece), sizeof piece);
	return fd;
}

static int step(void *context, struct serve_exchange *exchange)
{
	struct serve_answer *answer = &exchange->answer;
	char byte;

	n_steps++;
	answer->status = 404;
	if (http_text_is(exchange->request->path, "/wait") && !is_open)
		return 0;
	if (http_text_is(exchange->request->path, "/watch")) {
		if (exchange->watch < 0)
			exchange->watch = dup(wakes[0]);
		if (recv(exchange->watch, &byte, 1, MSG_DONTWAIT) != 1)
			return 0;
		answer->status = 200;
	}
	if (http_text_is(exchange->request->path, "/file")) {
		*answer = (struct serve_answer){
			.status = 200, .type = "x/y", .fd = make_file(file_size), .n = file_size};
	} else if (http_text_is(exchange->request->path, "/text")) {
		*answer = (struct serve_answer){.status = 200,
						.type = "text/plain",
						.headers = "X-Own: 1\r\n",
						.bytes = strdup("hello"),
						.n = 5,
						.fd = -1};
	}
	return 1;
}

static void forget(void *context, struct serve_exchange *exchange)
{
	n_forgotten++;
	closep(&exchange->watch);
}

static void begin(const struct serve_options *limits)
{
	struct serve_options options = *limits;
	socklen_t n = sizeof place;

	place = (struct sockaddr_in){.sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&place, sizeof place), 0);
	assert_int_equal(listen(listener, 100), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&place, &n), 0);
	memcpy(&guard.address, &place, sizeof place);
	options.guard = &guard;
	options.step = step;
	options.forget = forget;
	assert_int_equal(server_new(listener, &options, &server), 0);
	n_steps = n_forgotten = 0;
	is_open = false;
}

static void end(void)
{
	server_free(server);
	close(listener);
}

static const char *source; /* from which clients connect; NULL: any */

static int connect_client(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in from = {.sin_family = AF_INET};

	if (source) {
		assert_int_equal(inet_pton(AF_INET, source, &from.sin_addr), 1);
		assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
	}
	assert_int_equal(connect(fd, (struct sockaddr *)&place, sizeof place), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void run_for(uint64_t ns)
{
	uint64_t until = monotonic_ns() + ns;

	do
		assert_int_equal(server_step(server, 5), 0);
	while (monotonic_ns() < until);
}

/* Receives until the server ends the connection; terminates it. Returns how much. */
static size_t hear(int fd, char *text, size_t size)
{
	size_t n = 0;
	ssize_t got = -1;
	uint64_t until = monotonic_ns() + 20 * NSEC_PER_SEC;

	while (got != 0 && monotonic_ns() < until) {
		assert_int_equal(server_step(server, 1), 0);
		got = recv(fd, text + n, size - 1 - n, MSG_DONTWAIT);
		if (got < 0 && errno != EAGAIN)
			break;
		n += got > 0 ? got : 0;
	}
	text[n] = '\0';
	return n;
}

static int status_of(int fd)
{
	char text[4096];
	int status = 0;

	hear(fd, text, sizeof text);
	close(fd);
	return sscanf(text, "HTTP/1.1 %d ", &status) == 1 ? status : -1;
}

static int ask(const char *request)
{
	int fd = connect_client();

	say(fd, request);
	return status_of(fd);
}

static void test_answers(void **state)
{
	char text[4096];
	int fd;

	begin(&(struct serve_options){});
	fd = connect_client();
	say(fd, REQUEST("/text"));
	hear(fd, text, sizeof text);
	close(fd);
	assert_ptr_equal(strstr(text, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
				      "Content-Length: 5\r\nConnection: close\r\n"),
			 text);
	assert_non_null(strstr(text, "\r\nX-Content-Type-Options: nosniff\r\n"));
	assert_non_null(strstr(text, "\r\nX-Own: 1\r\n\r\nhello"));
	fd = connect_client();
	say(fd, "HEAD /text HTTP/1.1\r\nHost: localhost\r\n\r\n");
	hear(fd, text, sizeof text);
	close(fd);
	assert_non_null(strstr(text, "Content-Length: 5\r\n"));
	assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\n");
	assert_int_equal(ask(REQUEST("/none")), 404);
	assert_int_equal(ask("POST /text HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405);
	assert_int_equal(ask("DELETE /text HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405);
	assert_int_equal(ask("GET /text HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403);
	assert_int_equal(ask("GET /text HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx"),
			 400);
	assert_int_equal(ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" REQUEST("/text")), 400);
	assert_int_equal(n_steps, n_forgotten);
	assert_int_equal(server_counts(server)->answers[2], 2);
	assert_int_equal(server_counts(server)->answers[4], 6);
	end();
}

static void test_large_file(void **state)
{
	char *text;
	size_t n;
	int fd;

	begin(&(struct serve_options){});
	file_size = 20 << 20;
	text = malloc(file_size + 4096);
	fd = connect_client();
	say(fd, REQUEST("/file"));
	run_for(50 * MSEC); /* the client takes nothing; others are answered */
	assert_int_equal(ask(REQUEST("/text")), 200);
	n = hear(fd, text, file_size + 4096);
	for (size_t i = 0; i < file_size; i++)
		if (text[n - file_size + i] != (char)('a' + i % 4096 % 23))
			fail_msg("byte %zu differs", i);
	close(fd);
	free(text);
	end();
}

static void test_waiting(void **state)
{
	int slow[3], watched, fd;

	begin(&(struct serve_options){.waiting = 3});
	for (int i = 0; i < 3; i++) {
		slow[i] = connect_client();
		say(slow[i], REQUEST("/wait"));
	}
	run_for(20 * MSEC);
	assert_int_equal(n_forgotten, 0);
	assert_int_equal(ask(REQUEST("/wait")), 503);
	/* What needs no waiting is answered. */
	assert_int_equal(ask(REQUEST("/text")), 200);
	assert_int_equal(n_forgotten, 2);
	/* Whoever goes away is forgotten. */
	close(slow[0]);
	run_for(20 * MSEC);
	assert_int_equal(n_forgotten, 3);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, wakes), 0);
	watched = connect_client();
	say(watched, REQUEST("/watch"));
	run_for(20 * MSEC);
	assert_int_equal(write(wakes[1], "x", 1), 1);
	assert_int_equal(status_of(watched), 200);
	close(wakes[0]);
	close(wakes[1]);
	is_open = true;
	assert_int_equal(status_of(slow[1]), 404);
	/* One that goes while the answer is on its way. */
	file_size = 20 << 20;
	fd = connect_client();
	say(fd, REQUEST("/file"));
	run_for(10 * MSEC);
	close(fd);
	run_for(10 * MSEC);
	assert_int_equal(status_of(slow[2]), 404);
	end();
}

static void test_deadlines(void **state)
{
	int fd, one;
	char text[4096];

	begin(&(struct serve_options){.request_ns = 100 * MSEC, .answer_ns = 200 * MSEC});
	/* Busy all the time, but not done: what counts is the whole. */
	fd = connect_client();
	for (size_t i = 0; i < 12; i++) {
		one = send(fd, &REQUEST("/text")[i], 1, MSG_NOSIGNAL);
		run_for(20 * MSEC);
		if (one < 1)
			break;
	}
	assert_int_equal(status_of(fd), 408);
	file_size = 20 << 20;
	fd = connect_client();
	one = 4096;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &one, sizeof one);
	say(fd, REQUEST("/file"));
	for (int i = 0; i < 30; i++) {
		run_for(10 * MSEC);
		recv(fd, text, 16, MSG_DONTWAIT);
	}
	assert_int_equal(server_counts(server)->timeouts, 2);
	close(fd);
	end();
}

/* Those that hold connections lose them to those that ask. */
static void test_room(void **state)
{
	int idle[40], fd;

	begin(&(struct serve_options){.connections = 8, .waiting = 4});
	for (size_t i = 0; i < 40; i++) {
		idle[i] = connect_client();
		say(idle[i], "GET / HT");
		run_for(MSEC);
	}
	run_for(100 * MSEC);
	for (int i = 0; i < 20; i++) {
		fd = connect_client();
		say(fd, REQUEST("/text"));
		assert_int_equal(status_of(fd), 200);
	}
	assert_true(server_counts(server)->refused >= 32);
	assert_int_equal(server_counts(server)->accepted, 60);
	for (size_t i = 0; i < 40; i++)
		close(idle[i]);
	run_for(20 * MSEC);
	/* All that may be answered at a time are: the others hear so at once. */
	for (size_t i = 0; i < 4; i++) {
		idle[i] = connect_client();
		say(idle[i], REQUEST("/wait"));
	}
	run_for(20 * MSEC);
	assert_int_equal(ask(REQUEST("/wait")), 503);
	for (size_t i = 0; i < 4; i++)
		close(idle[i]);
	run_for(20 * MSEC);
	assert_int_equal(ask(REQUEST("/text")), 200);
	end();
}

static void test_floods(void **state)
{
	char *flood = malloc(1 << 20);
	int fd;

	begin(&(struct serve_options){});
	memset(flood, 'a', 1 << 20);
	memcpy(flood, "GET / HTTP/1.1\r\nX: ", 19);
	fd = connect_client();
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 20; i++) {
		send(fd, flood, 1 << 20, MSG_NOSIGNAL);
		run_for(MSEC);
	}
	close(fd);
	/* A body without end, after an answer. */
	fd = connect_client();
	fcntl(fd, F_SETFL, O_NONBLOCK);
	say(fd, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n");
	for (int i = 0; i < 20; i++) {
		send(fd, flood, 1 << 20, MSG_NOSIGNAL);
		run_for(MSEC);
	}
	assert_int_equal(send(fd, flood, 1, MSG_NOSIGNAL), -1);
	close(fd);
	assert_int_equal(ask(REQUEST("/text")), 200);
	assert_int_equal(server_counts(server)->answers[4], 2);
	free(flood);
	end();
}

/* TLS */

static struct tls_identity *identity;

static void begin_tls(struct serve_options options)
{
	char texts[2][MADE_PEM_SIZE];

	if (!identity)
		assert_int_equal(tls_identity_new(made_text("ec.cert", texts[0]),
						  made_text("ec.key", texts[1]), &identity),
				 0);
	options.identity = identity;
	begin(&options);
}

/* Asks, and receives until the server says that this is the end. Returns how much; 0: no answer. */
static size_t ask_tls(const char *request, char *text, size_t size)
{
	struct made_client client;
	size_t n = 0, said = 0;
	int r = MBEDTLS_ERR_SSL_WANT_READ;

	made_client_begin(&client, connect_client());
	while (r > 0 || r == MBEDTLS_ERR_SSL_WANT_READ || r == MBEDTLS_ERR_SSL_WANT_WRITE) {
		assert_int_equal(server_step(server, 1), 0);
		r = said ? mbedtls_ssl_read(&client.ssl, (unsigned char *)text + n, size - 1 - n)
			 : mbedtls_ssl_write(&client.ssl, (const unsigned char *)request,
					     strlen(request));
		n += said && r > 0 ? r : 0;
		said += said ? 0 : r > 0;
	}
	made_client_end(&client);
	text[n] = '\0';
	return r == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY ? n : 0;
}

static void test_tls(void **state)
{
	static char text[(5 << 20) + 4096];
	struct server_counts counts;
	size_t n;
	int fd;

	begin_tls((struct serve_options){});
	assert_true(ask_tls(REQUEST("/text"), text, sizeof text) > 0);
	assert_ptr_equal(strstr(text, "HTTP/1.1 200 OK\r\n"), text);
	assert_non_null(strstr(text, "\r\n\r\nhello"));
	assert_true(ask_tls("POST /text HTTP/1.1\r\nHost: localhost\r\n\r\n", text, sizeof text) >
		    0);
	assert_ptr_equal(strstr(text, "HTTP/1.1 405 "), text);
	file_size = 5 << 20;
	n = ask_tls(REQUEST("/file"), text, sizeof text);
	assert_true(n > file_size);
	for (size_t i = 0; i < file_size; i++)
		if (text[n - file_size + i] != (char)('a' + i % 4096 % 23))
			fail_msg("byte %zu differs", i);
	/* A client without TLS reads why. */
	fd = connect_client();
	say(fd, REQUEST("/text"));
	hear(fd, text, sizeof text);
	close(fd);
	assert_ptr_equal(strstr(text, "HTTP/1.1 400 "), text);
	assert_non_null(strstr(text, "\r\n\r\nTLS is wanted here: https://\n"));
	counts = *server_counts(server);
	assert_int_equal(counts.broken, 1);
	assert_int_equal(counts.answers[2], 2);
	assert_int_equal(counts.answers[4], 2);
	assert_int_equal(n_steps, n_forgotten);
	end();
}

/* Goes on until something comes, and takes a byte of it. Returns 0: it was the end. */
static ssize_t await_byte(int fd)
{
	uint64_t until = monotonic_ns() + 20 * NSEC_PER_SEC;
	char byte;
	ssize_t n;

	while ((n = recv(fd, &byte, 1, MSG_DONTWAIT)) < 0 && monotonic_ns() < until)
		assert_int_equal(server_step(server, 1), 0);
	return n;
}

/* Handshakes have the time that requests have; nothing that is not encrypted is answered then. */
static void test_tls_halves(void **state)
{
	struct made_client client;
	int silent;
	char text[4096];

	begin_tls((struct serve_options){.request_ns = NSEC_PER_SEC});
	silent = connect_client();
	made_client_begin(&client, connect_client());
	assert_int_equal(mbedtls_ssl_handshake(&client.ssl), MBEDTLS_ERR_SSL_WANT_READ);
	assert_int_equal(await_byte(client.fd), 1); /* half of it */
	run_for(MSEC);
	assert_true(recv(client.fd, text, sizeof text, MSG_DONTWAIT) > 0);
	assert_true(ask_tls(REQUEST("/text"), text, sizeof text) > 0);
	assert_int_equal(await_byte(silent), 0);
	assert_int_equal(await_byte(client.fd), 0);
	close(silent);
	made_client_end(&client);
	/* One that goes in the middle. */
	made_client_begin(&client, connect_client());
	assert_int_equal(mbedtls_ssl_handshake(&client.ssl), MBEDTLS_ERR_SSL_WANT_READ);
	assert_int_equal(await_byte(client.fd), 1);
	made_client_end(&client);
	/* One that is done with it, and asks for nothing, can be answered. */
	assert_true(ask_tls("GET /", text, sizeof text) > 0);
	assert_ptr_equal(strstr(text, "HTTP/1.1 408 "), text);
	assert_int_equal(server_counts(server)->timeouts, 3);
	assert_int_equal(server_counts(server)->broken, 0);
	end();
}

/* Handshakes that nobody ends take no room from those that ask. */
static void test_tls_room(void **state)
{
	struct made_client idle[20];
	char text[4096];

	begin_tls((struct serve_options){.connections = 8, .waiting = 4});
	for (size_t i = 0; i < 20; i++) {
		made_client_begin(&idle[i], connect_client());
		mbedtls_ssl_handshake(&idle[i].ssl);
		run_for(MSEC);
	}
	for (int i = 0; i < 10; i++)
		assert_true(ask_tls(REQUEST("/text"), text, sizeof text) > 0);
	assert_true(server_counts(server)->refused >= 12);
	for (size_t i = 0; i < 20; i++)
		made_client_end(&idle[i]);
	end();
}

/* One whose handshake is over, but for the request. */
static void shake_hands(struct made_client *client)
{
	int r;

	made_client_begin(client, connect_client());
	while ((r = mbedtls_ssl_handshake(&client->ssl)) == MBEDTLS_ERR_SSL_WANT_READ ||
	       r == MBEDTLS_ERR_SSL_WANT_WRITE)
		assert_int_equal(server_step(server, 1), 0);
	assert_int_equal(r, 0);
}

/* Where handshakes have had their share, others are answered, and those that wait are let go when
 * they leave or their time is over. */
static void test_tls_share(void **state)
{
	struct made_client ready, waits, leaves;
	char text[4096];
	int r = MBEDTLS_ERR_SSL_WANT_READ;

	/* So little that the first handshake takes it all. */
	begin_tls((struct serve_options){.handshakes_ns = 1, .request_ns = NSEC_PER_SEC});
	made_client_begin(&ready, connect_client());
	assert_int_equal(mbedtls_ssl_handshake(&ready.ssl), MBEDTLS_ERR_SSL_WANT_READ);
	assert_int_equal(await_byte(ready.fd), 1);
	made_client_begin(&waits, connect_client());
	made_client_begin(&leaves, connect_client());
	mbedtls_ssl_handshake(&waits.ssl);
	mbedtls_ssl_handshake(&leaves.ssl);
	run_for(50 * MSEC);
	made_client_end(&leaves);
	run_for(50 * MSEC);
	assert_int_equal(recv(waits.fd, text, 1, MSG_DONTWAIT), -1);
	assert_int_equal(server_counts(server)->timeouts, 0);
	assert_int_equal(await_byte(waits.fd), 0);
	made_client_end(&waits);
	made_client_end(&ready);
	run_for(20 * MSEC);
	/* That of the one that left was not waited for. */
	assert_int_equal(server_counts(server)->timeouts, 2);
	end();
	begin_tls((struct serve_options){.handshakes_ns = 20 * MSEC,
					 .request_ns = 20 * NSEC_PER_SEC});
	shake_hands(&ready);
	for (int i = 0; i < 10; i++) {
		shake_hands(&waits);
		made_client_end(&waits);
	}
	assert_true(mbedtls_ssl_write(&ready.ssl, (const unsigned char *)REQUEST("/text"),
				      strlen(REQUEST("/text"))) > 0);
	while (r == MBEDTLS_ERR_SSL_WANT_READ) {
		assert_int_equal(server_step(server, 1), 0);
		r = mbedtls_ssl_read(&ready.ssl, (unsigned char *)text, sizeof text - 1);
	}
	assert_true(r > 0);
	made_client_end(&ready);
	end();
}

/* Hellos of those that never go on: more than there is room for. One that does is answered, and
 * another address loses no connection to them. */
static void test_tls_flood(void **state)
{
	struct made_client idle[100];
	int silent;
	char text[4096];

	begin_tls((struct serve_options){.connections = 16});
	source = "127.0.0.2";
	silent = connect_client();
	source = NULL;
	run_for(50 * MSEC);
	for (size_t i = 0; i < 100; i++) {
		made_client_begin(&idle[i], connect_client());
		mbedtls_ssl_handshake(&idle[i].ssl);
		if (i % 10 == 9)
			assert_int_equal(server_step(server, 0), 0);
	}
	assert_true(ask_tls(REQUEST("/text"), text, sizeof text) > 0);
	assert_true(server_counts(server)->refused >= 80);
	assert_int_equal(recv(silent, text, 1, MSG_DONTWAIT), -1);
	close(silent);
	for (size_t i = 0; i < 100; i++)
		made_client_end(&idle[i]);
	end();
}

static int end_all(void **state)
{
	tls_identity_free(identity);
	return made_end(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),	  cmocka_unit_test(test_large_file),
		cmocka_unit_test(test_waiting),	  cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_room),	  cmocka_unit_test(test_floods),
		cmocka_unit_test(test_tls),	  cmocka_unit_test(test_tls_halves),
		cmocka_unit_test(test_tls_room),  cmocka_unit_test(test_tls_share),
		cmocka_unit_test(test_tls_flood),
	};

	return cmocka_run_group_tests(tests, made_begin, end_all);
}
