/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_listen.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/system.h"
#include "cmd/daemon_certificate.h"

#define BACKLOG	      4096 /* or what the kernel allows */
#define TOKEN_MIN     16
#define TOKEN_MAX     512
#define UNIX_PREFIX   "unix:"
#define SOCKET_RIGHTS 0600

/* Addresses */

static int parse_port(const char *text, in_port_t *ret)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || port > UINT16_MAX)
		return -EINVAL;
	*ret = htons(port);
	return 0;
}

static int parse_host(const char *host, in_port_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (void *)ret;
	struct sockaddr_in6 *v6 = (void *)ret;

	*ret = (struct sockaddr_storage){};
	if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
		      &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = port;
		return 0;
	}
	if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
		return -EINVAL;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = port;
	return 0;
}

/* `127.0.0.1:9997`, `[::1]:9997`. */
static int parse_inet(const char *text, struct sockaddr_storage *ret)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? colon - text : 0;
	char host[INET6_ADDRSTRLEN];
	in_port_t port;

	if (!n || parse_port(colon + 1, &port) < 0)
		return -EINVAL;
	if (text[0] == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	} else if (memchr(text, ':', n)) {
		return -EINVAL;
	}
	if (n >= sizeof host)
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = '\0';
	return parse_host(host, port, ret);
}

/* The path of a socket, or NULL: it is no such address. */
static const char *unix_path(const char *text)
{
	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
		text += strlen(UNIX_PREFIX);
	return text[0] == '/' ? text : NULL;
}

static int parse_address(const char *text, struct listener *listener, struct failure *failure)
{
	struct sockaddr_un *address = (void *)&listener->guard.address;
	const char *path = unix_path(text);

	if (path && strlen(path) >= sizeof address->sun_path)
		return failure_set(failure, -EINVAL, "--listen: the path %s is too long", path);
	if (path) {
		address->sun_family = AF_UNIX;
		strcpy(address->sun_path, path);
		return 0;
	}
	if (parse_inet(text, &listener->guard.address) == 0)
		return 0;
	failure_set(failure, -EINVAL, "--listen: '%s' is no address", text);
	return failure_fix(failure, -EINVAL,
			   "such as 127.0.0.1:9997, [::1]:9997 or unix:/run/bpfflame.sock");
}

static bool is_any(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;

	return (address->ss_family == AF_INET && v4->sin_addr.s_addr == htonl(INADDR_ANY)) ||
	       (address->ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr));
}

/* The token */

static int fail_token(int error, const char *path, struct failure *failure)
{
	return failure_set(failure, error, "--token-file: cannot read %s: %s", path,
			   strerror(-error));
}

static int check_token_file(int fd, const char *path, struct failure *failure)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_token(-errno, path, failure);
	if (!S_ISREG(st.st_mode))
		return failure_set(failure, -EINVAL, "--token-file: %s is no file", path);
	if (st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) {
		failure_set(failure, -EPERM, "--token-file: others can read or change %s", path);
		return failure_fix(failure, -EPERM, "chmod 600 %s", path);
	}
	return 0;
}

/* Its printable bytes; a newline ends them. Returns false: that is no token. */
static bool trim_token(char *token, size_t n)
{
	while (n && isspace((unsigned char)token[n - 1]))
		n--;
	token[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)token[i]))
			return false;
	return n >= TOKEN_MIN && n <= TOKEN_MAX;
}

static int read_token(const char *path, struct listener *listener, struct failure *failure)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[TOKEN_MAX + 64];
	ssize_t n;
	int r;

	if (fd < 0)
		return fail_token(-errno, path, failure);
	r = check_token_file(fd, path, failure);
	if (r < 0)
		return r;
	n = read(fd, text, sizeof text - 1);
	if (n < 0)
		return fail_token(-errno, path, failure);
	if (!trim_token(text, n)) {
		failure_set(failure, -EINVAL,
			    "--token-file: %s holds no token of %d to %d characters", path,
			    TOKEN_MIN, TOKEN_MAX);
		return failure_fix(failure, -EINVAL, "head -c 24 /dev/urandom | base64 >%s", path);
	}
	listener->token = strdup(text);
	listener->guard.token = listener->token;
	return listener->token ? 0 : -ENOMEM;
}

/* All together */

static int check_reach(const struct listen_options *options, const struct listener *listener,
		       struct failure *failure)
{
	bool is_hidden = options->tls_certificate || options->behind_proxy;

	if (http_guard_is_local(&listener->guard.address) || (options->token_file && is_hidden))
		return 0;
	failure_set(failure, -EINVAL,
		    "--listen %s: other machines reach it, and it shows what all programs here do; "
		    "it wants %s",
		    options->address,
		    is_hidden		  ? "--token-file"
		    : options->token_file ? "--tls-cert and --tls-key, or --behind-proxy"
					  : "--token-file, and --tls-cert or --behind-proxy");
	return failure_fix(failure, -EINVAL,
			   "or listen at 127.0.0.1:9997 or unix:/run/bpfflame.sock");
}

static int check_together(const struct listen_options *options, struct failure *failure)
{
	bool has_tls = options->tls_certificate || options->tls_key;

	if (has_tls && (!options->tls_certificate || !options->tls_key))
		return failure_set(failure, -EINVAL, "--tls-cert and --tls-key need each other");
	if (options->address ||
	    (!options->token_file && !has_tls && !options->behind_proxy && !options->n_hosts))
		return 0;
	return failure_set(failure, -EINVAL,
			   "--token-file, --tls-cert, --behind-proxy and --host are of --listen");
}

static int prepare(const struct listen_options *options, struct listener *listener,
		   struct failure *failure)
{
	struct http_guard *guard = &listener->guard;
	int r = parse_address(options->address, listener, failure);

	if (r < 0)
		return r;
	r = check_reach(options, listener, failure);
	if (r < 0)
		return r;
	if (options->token_file) {
		r = read_token(options->token_file, listener, failure);
		if (r < 0)
			return r;
	}
	if (options->tls_certificate) {
		r = daemon_certificate_read(options->tls_certificate, options->tls_key,
					    &listener->identity, failure);
		if (r < 0)
			return r;
	}
	guard->any_address = is_any(&guard->address);
	guard->by_proxy = options->behind_proxy;
	memcpy(guard->hosts, options->hosts, sizeof guard->hosts);
	guard->n_hosts = options->n_hosts;
	listener->address = strdup(options->address);
	return listener->address ? 0 : -ENOMEM;
}

/* Removes the file of a socket at which nobody listens any more. */
static void remove_stale(const struct sockaddr_un *address)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (fd < 0 || lstat(address->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	if (connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
	    errno == ECONNREFUSED)
		unlink(address->sun_path);
}

static int bind_to(int fd, const struct sockaddr_storage *address)
{
	mode_t before;
	int r;

	if (address->ss_family != AF_UNIX)
		return bind(fd, (const struct sockaddr *)address,
			    address->ss_family == AF_INET ? sizeof(struct sockaddr_in)
							  : sizeof(struct sockaddr_in6));
	remove_stale((const struct sockaddr_un *)address);
	before = umask(0777 & ~SOCKET_RIGHTS);
	r = bind(fd, (const struct sockaddr *)address, sizeof(struct sockaddr_un));
	umask(before);
	return r;
}

/* What it says: port 0 has become another one. */
static void describe(struct listener *listener)
{
	struct sockaddr_storage *address = &listener->guard.address;
	struct sockaddr_in *v4 = (void *)address;
	struct sockaddr_in6 *v6 = (void *)address;
	char host[INET6_ADDRSTRLEN] = "";
	socklen_t n = sizeof *address;

	if (address->ss_family == AF_UNIX) {
		snprintf(listener->text, sizeof listener->text, UNIX_PREFIX "%s",
			 ((struct sockaddr_un *)address)->sun_path /* escaped later */);
		return;
	}
	getsockname(listener->fd, (struct sockaddr *)address, &n);
	if (address->ss_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
		snprintf(listener->text, sizeof listener->text, "%s:%u", host /* ours */,
			 ntohs(v4->sin_port));
	} else {
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
		snprintf(listener->text, sizeof listener->text, "[%s]:%u", host /* ours */,
			 ntohs(v6->sin6_port));
	}
}

static int open_socket(const struct listen_options *options, struct listener *listener,
		       struct failure *failure)
{
	const struct sockaddr_storage *address = &listener->guard.address;
	int one = 1, r;

	listener->fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd >= 0)
		setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (listener->fd >= 0 && bind_to(listener->fd, address) == 0 &&
	    listen(listener->fd, BACKLOG) == 0)
		return 0;
	r = failure_set(failure, -errno, "cannot listen at %s: %s", options->address,
			strerror(errno));
	if (r == -EADDRINUSE)
		failure_fix(failure, r, "end what listens there, or name another address");
	if (r == -EAFNOSUPPORT)
		failure_fix(failure, r, "RestrictAddressFamilies= of the service's unit lacks it");
	return r;
}

static bool is_same_place(const struct listener *before, const struct listen_options *options)
{
	return before && before->fd >= 0 && strcmp(before->address, options->address) == 0;
}

static int open_listener(const struct listen_options *options, const struct listener *before,
			 struct listener *listener, struct failure *failure)
{
	int one = 1, r = prepare(options, listener, failure);

	if (r < 0)
		return r;
	if (is_same_place(before, options)) {
		listener->fd = fcntl(before->fd, F_DUPFD_CLOEXEC, 0);
		r = listener->fd < 0 ? -errno : 0;
	} else {
		r = open_socket(options, listener, failure);
	}
	if (r < 0)
		return r;
	/* Handshakes go back and forth. Connections inherit it. */
	setsockopt(listener->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	describe(listener);
	return 0;
}

int listener_open(const struct listen_options *options, const struct listener *before,
		  struct listener *ret, struct failure *failure)
{
	struct listener listener = LISTENER_NONE;
	int r = check_together(options, failure);

	if (r == 0 && options->address)
		r = open_listener(options, before, &listener, failure);
	if (r < 0)
		listener_done(&listener, false);
	else
		*ret = listener;
	return r;
}

void listener_done(struct listener *listener, bool for_good)
{
	const struct sockaddr_un *address = (const void *)&listener->guard.address;

	if (listener->fd >= 0 && address->sun_family == AF_UNIX && for_good)
		unlink(address->sun_path);
	closep(&listener->fd);
	free(listener->address);
	if (listener->token)
		explicit_bzero(listener->token, strlen(listener->token));
	free(listener->token);
	tls_identity_free(listener->identity);
	*listener = LISTENER_NONE;
}
