/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses at which the daemon may listen, and what each of them wants. */
#include "cmocka_all.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/system.h"
#include "cmd/daemon_listen.h"
#include "unit/made_tls.h"

static char folder[] = "/tmp/test_listen.XXXXXX", token[64], at[80];
static const char *certificate, *key; /* of the options, unless NULL */
static struct failure failure;
static struct listener listener;

static int begin_all(void **state)
{
	assert_non_null(mkdtemp(folder));
	snprintf(token, sizeof token, "%s/token", folder);
	snprintf(at, sizeof at, "unix:%s/socket", folder);
	return made_begin(state);
}

static int end_all(void **state)
{
	unlink(token);
	return rmdir(folder) | made_end(state);
}

static void write_token(const char *text, mode_t mode)
{
	int fd = open(token, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int open_at(const char *address, const char *token_file, bool behind_proxy)
{
	const struct listen_options options = {
		.address = address,
		.token_file = token_file,
		.behind_proxy = behind_proxy,
		.tls_certificate = certificate,
		.tls_key = key,
	};

	failure = (struct failure){};
	return listener_open(&options, NULL, &listener, &failure);
}

static void assert_refused(const char *address, const char *token_file, bool behind_proxy,
			   int error, const char *says)
{
	assert_int_equal(open_at(address, token_file, behind_proxy), error);
	if (!strstr(failure.what, says))
		fail_msg("'%s' does not say '%s'", failure.what, says);
}

static void test_none(void **state)
{
	assert_int_equal(open_at(NULL, NULL, false), 0);
	assert_int_equal(listener.fd, -1);
	listener_done(&listener, true);
	assert_refused(NULL, "/x", false, -EINVAL, "of --listen");
	assert_refused(NULL, NULL, true, -EINVAL, "of --listen");
}

static void test_addresses(void **state)
{
	static const char *const wrong[] = {
		"",	     "x",	   "9997",	   ":9997",
		"127.0.0.1", "127.0.0.1:", "127.0.0.1:x",  "127.0.0.1:65536",
		"::1:80",    "[::1]",	   "[::1:80",	   "a.example:80",
		"unix:",     "unix:x",	   "127.0.0.1:-1", "127.0.0.1: 80"};
	static const char *const right[] = {"127.0.0.1:0", "localhost:0", "127.9.9.9:0"};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_refused(wrong[i], NULL, false, -EINVAL, "no address");
	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		assert_int_equal(open_at(right[i], NULL, false), 0);
		assert_true(listener.fd >= 0 && !listener.guard.token &&
			    !listener.guard.any_address);
		/* The port that it got. */
		assert_null(strstr(listener.text, ":0"));
		assert_true(strncmp(listener.text, "127.", 4) == 0);
		listener_done(&listener, true);
	}
}

static void test_reach(void **state)
{
	static const char *const reached[] = {"0.0.0.0:0", "[::]:0", "192.0.2.1:9997"};

	write_token("0123456789abcdef\n", 0600);
	for (size_t i = 0; i < sizeof reached / sizeof *reached; i++) {
		assert_refused(reached[i], NULL, false, -EINVAL,
			       "--token-file, and --tls-cert or --behind-proxy");
		assert_refused(reached[i], NULL, true, -EINVAL, "it wants --token-file");
		assert_refused(reached[i], token, false, -EINVAL,
			       "it wants --tls-cert and --tls-key, or --behind-proxy");
	}
	assert_int_equal(open_at("0.0.0.0:0", token, true), 0);
	assert_string_equal(listener.guard.token, "0123456789abcdef");
	assert_true(listener.guard.any_address && listener.guard.by_proxy);
	listener_done(&listener, true);
}

static void test_token_files(void **state)
{
	write_token("0123456789abcdef\n", 0644);
	assert_refused("127.0.0.1:0", token, false, -EPERM, "others can read or change");
	write_token("short\n", 0600);
	assert_refused("127.0.0.1:0", token, false, -EINVAL, "no token of 16 to 512");
	write_token("0123456789 abcdef\n", 0600);
	assert_refused("127.0.0.1:0", token, false, -EINVAL, "no token of");
	write_token("", 0600);
	assert_refused("127.0.0.1:0", token, false, -EINVAL, "no token of");
	assert_refused("127.0.0.1:0", "/no/such", false, -ENOENT, "cannot read /no/such");
	assert_refused("127.0.0.1:0", "/dev/zero", false, -EINVAL, "is no file");
	write_token("0123456789abcdef\n", 0600);
	assert_int_equal(open_at("127.0.0.1:0", token, false), 0);
	assert_string_equal(listener.guard.token, "0123456789abcdef");
	listener_done(&listener, true);
}

static void test_tls(void **state)
{
	struct listener first;

	write_token("0123456789abcdef\n", 0600);
	certificate = made_path("rsa.cert");
	assert_refused("127.0.0.1:0", NULL, false, -EINVAL,
		       "--tls-cert and --tls-key need each other");
	key = made_path("rsa.key");
	assert_refused(NULL, NULL, false, -EINVAL, "of --listen");
	assert_refused("0.0.0.0:0", NULL, false, -EINVAL, "it wants --token-file");
	assert_int_equal(open_at("0.0.0.0:0", token, false), 0);
	assert_non_null(listener.identity);
	assert_false(listener.guard.by_proxy);
	/* Read again, the files give another identity; wrong ones leave the one at hand. */
	first = listener;
	assert_int_equal(listener_open(&(struct listen_options){.address = "0.0.0.0:0",
								.token_file = token,
								.tls_certificate = certificate,
								.tls_key = key},
				       &first, &listener, &failure),
			 0);
	assert_ptr_not_equal(listener.identity, first.identity);
	listener_done(&first, false);
	listener_done(&listener, true);
	assert_null(listener.identity);
	certificate = key = NULL;
}

static void test_key_files(void **state)
{
	static const mode_t wrong[] = {0640, 0604, 0660, 0601, 0620};

	certificate = made_path("rsa.cert");
	key = made_path("rsa.key");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(chmod(key, wrong[i]), 0);
		assert_refused("127.0.0.1:0", NULL, false, -EPERM,
			       "others than its owner can read");
		assert_non_null(strstr(failure.fix, "chmod 600 /"));
	}
	assert_int_equal(chmod(key, 0400), 0);
	assert_int_equal(open_at("127.0.0.1:0", NULL, false), 0);
	listener_done(&listener, true);
	assert_int_equal(chmod(key, 0600), 0);
	key = made_path("ec.key");
	assert_refused("127.0.0.1:0", NULL, false, -EINVAL, "is not that of the certificate in");
	key = certificate;
	assert_int_equal(chmod(key, 0600), 0);
	assert_refused("127.0.0.1:0", NULL, false, -EINVAL, "holds no key");
	certificate = key = made_path("rsa.key");
	assert_refused("127.0.0.1:0", NULL, false, -EINVAL, "holds no certificate");
	certificate = "/no/such";
	assert_refused("127.0.0.1:0", NULL, false, -ENOENT, "--tls-cert: cannot read /no/such");
	certificate = "/dev/zero";
	assert_refused("127.0.0.1:0", NULL, false, -EINVAL, "is no file");
	certificate = made_path("rsa.cert");
	key = made_path("large");
	assert_int_equal(close(open(key, O_CREAT | O_WRONLY, 0600)) | truncate(key, 1 << 20), 0);
	assert_refused("127.0.0.1:0", NULL, false, -EFBIG, "--tls-key: cannot read");
	certificate = key = NULL;
}

static void test_in_use(void **state)
{
	struct listener first;
	char address[sizeof first.text];

	assert_int_equal(open_at("127.0.0.1:0", NULL, false), 0);
	first = listener;
	strcpy(address, first.text);
	assert_refused(address, NULL, false, -EADDRINUSE, "cannot listen at 127.0.0.1:");
	listener_done(&first, true);
}

static void test_socket_file(void **state)
{
	struct listen_options options = {.address = at};
	struct listener first;
	struct stat st;

	assert_int_equal(open_at(at, NULL, false), 0);
	assert_int_equal(stat(at + strlen("unix:"), &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	first = listener;
	/* Somebody listens there. */
	assert_refused(at, NULL, false, -EADDRINUSE, "cannot listen");
	/* Settings that are read again keep the socket, as long as the address is the same. */
	assert_int_equal(listener_open(&options, &first, &listener, &failure), 0);
	listener_done(&first, false);
	assert_int_equal(stat(at + strlen("unix:"), &st), 0);
	/* One that died leaves its file. */
	close(listener.fd);
	listener.fd = -1;
	listener_done(&listener, true);
	assert_int_equal(open_at(at, NULL, false), 0);
	listener_done(&listener, true);
	assert_int_equal(stat(at + strlen("unix:"), &st), -1);
	/* A file that is no socket is nobody's to remove. */
	close(open(at + strlen("unix:"), O_CREAT | O_WRONLY, 0600));
	assert_refused(at, NULL, false, -EADDRINUSE, "cannot listen");
	assert_int_equal(unlink(at + strlen("unix:")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),   cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_reach),  cmocka_unit_test(test_token_files),
		cmocka_unit_test(test_tls),    cmocka_unit_test(test_key_files),
		cmocka_unit_test(test_in_use), cmocka_unit_test(test_socket_file),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
