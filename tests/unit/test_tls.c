/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server's half of TLS, on a pair of sockets. */
#include "cmocka_all.h"

#include <sys/ioctl.h>

#include "serve/tls.h"
#include "unit/made_tls.h"

static struct tls_identity *identity;
static struct tls *tls;
static struct made_client client;
static int ours;

static int make(const char *certificate, const char *key)
{
	char texts[2][MADE_PEM_SIZE];

	return tls_identity_new(made_text(certificate, texts[0]), made_text(key, texts[1]),
				&identity);
}

static void begin(const char *certificate, const char *key)
{
	int ends[2];

	assert_int_equal(make(certificate, key), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
			 0);
	ours = ends[0];
	assert_int_equal(tls_new(identity, ours, &tls), 0);
	made_client_begin(&client, ends[1]);
}

static void end(void)
{
	tls_free(tls, false);
	tls_identity_free(identity);
	close(ours);
	made_client_end(&client);
}

static void shake_hands(void)
{
	int r = -1;

	for (int i = 0; i < 100 && (r || !tls_is_ready(tls)); i++) {
		char byte;

		r = mbedtls_ssl_handshake(&client.ssl);
		if (r && r != MBEDTLS_ERR_SSL_WANT_READ)
			fail_msg("the client's handshake failed: -0x%x", -r);
		assert_int_equal(tls_receive(tls, &byte, 1), -EAGAIN);
		assert_false(tls_sends(tls));
	}
	assert_true(tls_is_ready(tls));
}

static void test_identities(void **state)
{
	char text[MADE_PEM_SIZE], chain[2 * MADE_PEM_SIZE];
	static const struct {
		const char *certificate, *key;
		int error;
	} wrong[] = {
		{"ec.cert", "rsa.key", -EINVAL},    {"rsa.cert", "ec.key", -EINVAL},
		{"other.cert", "rsa.key", -EINVAL}, {"rsa.key", "rsa.key", -EBADMSG},
		{"rsa.cert", "rsa.cert", -ENOKEY},  {"rsa.cert", "locked.key", -EKEYREJECTED},
	};

	made_identity("other", "rsa:2048");
	snprintf(chain, sizeof chain, "openssl pkey -in %s -aes128 -passout pass:x -out %s",
		 made_path("rsa.key"), made_path("locked.key"));
	assert_int_equal(system(chain), 0);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(make(wrong[i].certificate, wrong[i].key), wrong[i].error);
	/* A chain whose second certificate is broken. */
	snprintf(chain, sizeof chain,
		 "%s-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		 made_text("rsa.cert", text));
	assert_int_equal(tls_identity_new(chain, made_text("rsa.key", text), &identity), -EBADMSG);
	assert_int_equal(tls_identity_new("", text, &identity), -EBADMSG);
	/* A whole one. */
	snprintf(chain, sizeof chain, "%s", made_text("rsa.cert", text));
	strcat(chain, made_text("other.cert", text));
	assert_int_equal(tls_identity_new(chain, made_text("rsa.key", text), &identity), 0);
	tls_identity_free(identity);
	tls_identity_free(NULL);
}

/* Both ways, more than a record. */
static void talk(const char *certificate, const char *key)
{
	static char sent[100000], got[sizeof sent];
	size_t n_sent = 0, n_got = 0;
	char text[16];

	begin(certificate, key);
	shake_hands();
	assert_int_equal(mbedtls_ssl_write(&client.ssl, (const unsigned char *)"question", 8), 8);
	assert_int_equal(tls_receive(tls, text, sizeof text), 8);
	assert_memory_equal(text, "question", 8);
	for (size_t i = 0; i < sizeof sent; i++)
		sent[i] = i * 7 % 251;
	while (n_got < sizeof sent) {
		ssize_t n = n_sent < sizeof sent
				    ? tls_send(tls, sent + n_sent, sizeof sent - n_sent)
				    : -EAGAIN;
		int r = mbedtls_ssl_read(&client.ssl, (unsigned char *)got + n_got,
					 sizeof got - n_got);

		assert_true(n > 0 || n == -EAGAIN);
		assert_true(n <= TLS_RECORD);
		assert_true(r > 0 || r == MBEDTLS_ERR_SSL_WANT_READ);
		n_sent += n > 0 ? n : 0;
		n_got += r > 0 ? r : 0;
	}
	assert_memory_equal(sent, got, sizeof sent);
	/* Its end is part of what is said. */
	tls_free(tls, true);
	tls = NULL;
	assert_int_equal(mbedtls_ssl_read(&client.ssl, (unsigned char *)got, 1),
			 MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY);
	end();
}

static void test_rsa(void **state)
{
	talk("rsa.cert", "rsa.key");
}

static void test_elliptic(void **state)
{
	talk("ec.cert", "ec.key");
}

/* A client that takes nothing: the answer waits for room, and goes on where it was. */
static void test_no_room(void **state)
{
	static char sent[1 << 20], got[TLS_RECORD];
	size_t n_sent = 0, n_got = 0;
	ssize_t n;

	begin("ec.cert", "ec.key");
	shake_hands();
	for (size_t i = 0; i < sizeof sent; i++)
		sent[i] = i * 7 % 251;
	while ((n = tls_send(tls, sent + n_sent, sizeof sent - n_sent)) > 0)
		n_sent += n;
	assert_int_equal(n, -EAGAIN);
	assert_true(tls_sends(tls));
	assert_true(n_sent > 0 && n_sent < sizeof sent);
	while (n_got < sizeof sent) {
		int r = mbedtls_ssl_read(&client.ssl, (unsigned char *)got, sizeof got);

		if (r > 0)
			assert_memory_equal(got, sent + n_got, r);
		else
			assert_int_equal(r, MBEDTLS_ERR_SSL_WANT_READ);
		n_got += r > 0 ? r : 0;
		n = n_sent < sizeof sent ? tls_send(tls, sent + n_sent, sizeof sent - n_sent) : 0;
		n_sent += n > 0 ? n : 0;
	}
	end();
}

/* Other protocols get no byte of TLS: the caller may answer in the clear. */
static void test_plain(void **state)
{
	static const char *const texts[] = {"GET / HTTP/1.1\r\n\r\n", "\x80\x2e\x01\x03\x01", "x"};
	char byte;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		begin("rsa.cert", "rsa.key");
		assert_int_equal(send(client.fd, texts[i], strlen(texts[i]), 0), strlen(texts[i]));
		assert_int_equal(tls_receive(tls, &byte, 1), -EPROTOTYPE);
		assert_int_equal(recv(client.fd, &byte, 1, 0), -1);
		assert_int_equal(errno, EAGAIN);
		end();
	}
}

/* Pieces of a handshake, and one that is broken off or garbage. */
static void test_pieces(void **state)
{
	unsigned char hello[1024];
	ssize_t n;
	char byte;

	begin("rsa.cert", "rsa.key");
	assert_int_equal(mbedtls_ssl_handshake(&client.ssl), MBEDTLS_ERR_SSL_WANT_READ);
	n = recv(ours, hello, sizeof hello, 0);
	assert_true(n > 50);
	for (ssize_t i = 0; i < n; i++) {
		assert_int_equal(recv(client.fd, &byte, 1, 0), -1);
		assert_int_equal(send(client.fd, hello + i, 1, 0), 1);
		assert_int_equal(tls_receive(tls, &byte, 1), -EAGAIN);
		assert_false(tls_is_ready(tls));
	}
	assert_int_equal(recv(client.fd, &byte, 1, MSG_PEEK), 1); /* its answer */
	shutdown(client.fd, SHUT_WR);
	assert_int_equal(tls_receive(tls, &byte, 1), 0);
	end();
	begin("rsa.cert", "rsa.key");
	memset(hello + 9, 0xff, n - 9); /* what follows the header of its message */
	assert_int_equal(send(client.fd, hello, n, 0), n);
	assert_int_equal(tls_receive(tls, &byte, 1), -EPROTO);
	end();
}

/* A client that wants another handshake gets a warning; nothing is done for it, as often as it
 * asks. */
static void test_renegotiation(void **state)
{
	char byte;

	begin("ec.cert", "ec.key");
	mbedtls_ssl_conf_renegotiation(&client.config, MBEDTLS_SSL_RENEGOTIATION_ENABLED);
	shake_hands();
	assert_int_equal(mbedtls_ssl_renegotiate(&client.ssl), MBEDTLS_ERR_SSL_WANT_READ);
	assert_int_equal(tls_receive(tls, &byte, 1), -EAGAIN);
	assert_int_equal(mbedtls_ssl_renegotiate(&client.ssl),
			 MBEDTLS_ERR_SSL_WAITING_SERVER_HELLO_RENEGO);
	assert_int_equal(recv(client.fd, &byte, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
	assert_true(tls_is_ready(tls));
	end();
}

static char flood[100 << 10];
static size_t n_flood;

static int add_to_flood(void *context, const unsigned char *bytes, size_t n)
{
	if (n > sizeof flood - n_flood)
		return MBEDTLS_ERR_SSL_WANT_WRITE;
	memcpy(flood + n_flood, bytes, n);
	n_flood += n;
	return n;
}

/* Warnings without end: each call ends nevertheless. */
static void test_flood(void **state)
{
	int waiting, before;
	char byte;

	begin("ec.cert", "ec.key");
	shake_hands();
	n_flood = 0;
	mbedtls_ssl_set_bio(&client.ssl, NULL, add_to_flood, made_receive, NULL);
	while (mbedtls_ssl_send_alert_message(&client.ssl, MBEDTLS_SSL_ALERT_LEVEL_WARNING,
					      MBEDTLS_SSL_ALERT_MSG_NO_RENEGOTIATION) == 0)
		;
	assert_int_equal(send(client.fd, flood, n_flood, 0), n_flood);
	for (waiting = n_flood; waiting;) {
		before = waiting;
		assert_int_equal(tls_receive(tls, &byte, 1), -EAGAIN);
		assert_int_equal(ioctl(ours, FIONREAD, &waiting), 0);
		assert_in_range(before - waiting, 1, 64 << 10);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identities),    cmocka_unit_test(test_rsa),
		cmocka_unit_test(test_elliptic),      cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_plain),	      cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_renegotiation), cmocka_unit_test(test_flood),
	};

	return cmocka_run_group_tests(tests, made_begin, made_end);
}
