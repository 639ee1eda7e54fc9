/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_tls: certificates that openssl makes, and a client, which speaks TLS through the same
 * library as the server. tests/e2e/test_tls.py has other clients.
 */
#ifndef TESTS_UNIT_MADE_TLS_H
#define TESTS_UNIT_MADE_TLS_H

#include <errno.h>
#include <fcntl.h>
#include <mbedtls/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define MADE_PEM_SIZE 8192

static char made_folder[] = "/tmp/test_tls.XXXXXX";

static const char *made_path(const char *name)
{
	static char paths[8][64];
	static unsigned int n;
	char *path = paths[n++ % 8];

	snprintf(path, sizeof *paths, "%s/%s", made_folder, name);
	return path;
}

/* Makes `NAME.cert` and `NAME.key` of a kind of openssl's, such as `rsa:2048`. */
static void made_identity(const char *name, const char *kind)
{
	char command[512];

	snprintf(
		command, sizeof command,
		"openssl req -x509 -newkey %s -nodes -days 2 -subj /CN=localhost -keyout %s/%s.key "
		"-out %s/%s.cert 2>/dev/null",
		kind, made_folder, name, made_folder, name);
	if (system(command) != 0)
		fail_msg("needs openssl: %s", command);
}

static int made_begin(void **state)
{
	assert_non_null(mkdtemp(made_folder));
	made_identity("rsa", "rsa:2048");
	made_identity("ec", "ec -pkeyopt ec_paramgen_curve:prime256v1");
	return 0;
}

static int made_end(void **state)
{
	char command[64];

	snprintf(command, sizeof command, "rm -r %s", made_folder);
	return system(command);
}

static inline const char *made_text(const char *name, char text[static MADE_PEM_SIZE])
{
	int fd = open(made_path(name), O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, MADE_PEM_SIZE - 1);

	assert_true(n > 0);
	text[n] = '\0';
	close(fd);
	return text;
}

struct made_client {
	mbedtls_ssl_context ssl;
	mbedtls_ssl_config config;
	int fd;
};

static int made_random(void *context, unsigned char *bytes, size_t n)
{
	return getrandom(bytes, n, 0) == (ssize_t)n ? 0 : MBEDTLS_ERR_SSL_INTERNAL_ERROR;
}

static int made_send(void *context, const unsigned char *bytes, size_t n)
{
	ssize_t sent = send(*(int *)context, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);

	return sent < 0 && errno == EAGAIN ? MBEDTLS_ERR_SSL_WANT_WRITE : (int)sent;
}

static int made_receive(void *context, unsigned char *bytes, size_t n)
{
	ssize_t got = recv(*(int *)context, bytes, n, MSG_DONTWAIT);

	return got < 0 && errno == EAGAIN ? MBEDTLS_ERR_SSL_WANT_READ : (int)got;
}

static inline void made_client_begin(struct made_client *client, int fd)
{
	client->fd = fd;
	mbedtls_ssl_init(&client->ssl);
	mbedtls_ssl_config_init(&client->config);
	assert_int_equal(mbedtls_ssl_config_defaults(&client->config, MBEDTLS_SSL_IS_CLIENT,
						     MBEDTLS_SSL_TRANSPORT_STREAM,
						     MBEDTLS_SSL_PRESET_DEFAULT),
			 0);
	mbedtls_ssl_conf_authmode(&client->config, MBEDTLS_SSL_VERIFY_NONE);
	mbedtls_ssl_conf_rng(&client->config, made_random, NULL);
	assert_int_equal(mbedtls_ssl_setup(&client->ssl, &client->config), 0);
	mbedtls_ssl_set_bio(&client->ssl, &client->fd, made_send, made_receive, NULL);
}

static inline void made_client_end(struct made_client *client)
{
	mbedtls_ssl_free(&client->ssl);
	mbedtls_ssl_config_free(&client->config);
	close(client->fd);
}

#endif
