/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#define BEARER	   "Bearer "
#define BASIC	   "Basic "
#define BASIC_SIZE 1024 /* of a name and a token */

bool http_guard_is_local(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;

	switch (address->ss_family) {
	case AF_UNIX: return true;
	case AF_INET: return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	case AF_INET6: return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	default: return false;
	}
}

/* The host without its port; false: it is none. */
static bool cut_port(struct http_text *host)
{
	const char *end =
		host->n && host->bytes[0] == '[' ? memchr(host->bytes, ']', host->n) : NULL;
	size_t from = end ? end - host->bytes : 0;
	const char *colon = memchr(host->bytes + from, ':', host->n - from);

	if (host->n && host->bytes[0] == '[' && (!end || (colon && colon != end + 1)))
		return false;
	for (const char *at = colon ? colon + 1 : NULL; at && at < host->bytes + host->n; at++)
		if (*at < '0' || *at > '9')
			return false;
	if (colon)
		host->n = colon - host->bytes;
	return host->n > 0;
}

/* An address, in brackets where it is IPv6's. */
static bool parse_address(struct http_text host, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (void *)ret;
	struct sockaddr_in6 *v6 = (void *)ret;
	bool is_v6 = host.bytes[0] == '[';
	char text[INET6_ADDRSTRLEN];

	if (is_v6)
		host = (struct http_text){host.bytes + 1, host.n - 2};
	if (host.n >= sizeof text)
		return false;
	memcpy(text, host.bytes, host.n);
	text[host.n] = '\0';
	*ret = (struct sockaddr_storage){.ss_family = is_v6 ? AF_INET6 : AF_INET};
	return inet_pton(ret->ss_family, text,
			 is_v6 ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr) == 1;
}

static bool is_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return a->ss_family == AF_INET6 &&
	       IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
				  &((const struct sockaddr_in6 *)b)->sin6_addr);
}

static bool is_our_host(const struct http_guard *guard, struct http_text host)
{
	struct sockaddr_storage address;

	if (guard->by_proxy)
		return true;
	if (!cut_port(&host))
		return false;
	if (http_text_is(host, "localhost"))
		return true;
	for (size_t i = 0; i < guard->n_hosts; i++)
		if (http_text_is(host, guard->hosts[i]))
			return true;
	if (!parse_address(host, &address))
		return false;
	return guard->any_address || is_same_address(&address, &guard->address) ||
	       (http_guard_is_local(&guard->address) && http_guard_is_local(&address));
}

/* `http://HOST` or `https://HOST`, as the request's own host. */
static bool is_our_origin(struct http_text origin, struct http_text host)
{
	const char *slashes = memmem(origin.bytes, origin.n, "://", 3);
	size_t scheme = slashes ? slashes - origin.bytes : 0;

	if (!slashes || (scheme != 4 && scheme != 5) || memcmp("https", origin.bytes, scheme) != 0)
		return false;
	return origin.n - scheme - 3 == host.n && strncasecmp(slashes + 3, host.bytes, host.n) == 0;
}

static bool is_from_elsewhere(const struct http_request *request)
{
	struct http_text site = request->headers[HTTP_FETCH_SITE];
	struct http_text origin = request->headers[HTTP_ORIGIN];

	if (site.bytes && !http_text_is(site, "same-origin") && !http_text_is(site, "none"))
		return true;
	return origin.bytes && !is_our_origin(origin, request->headers[HTTP_HOST]);
}

/* Takes the same time wherever the first wrong byte is. */
static bool is_token(const struct http_guard *guard, struct http_text given)
{
	size_t n = strlen(guard->token);
	unsigned char differs = 0;

	if (given.n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		differs |= given.bytes[i] ^ guard->token[i];
	return !differs;
}

/* Base64. Returns how many bytes; -1: it is none, or too long. */
static ssize_t decode(struct http_text text, char bytes[static BASIC_SIZE])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = 0;
	uint32_t bits = 0;

	while (text.n && text.bytes[text.n - 1] == '=')
		text.n--;
	if (text.n > BASIC_SIZE)
		return -1;
	for (size_t i = 0; i < text.n; i++) {
		const char *digit = memchr(digits, text.bytes[i], sizeof digits - 1);

		if (!digit)
			return -1;
		bits = bits << 6 | (digit - digits);
		if (i % 4)
			bytes[n++] = bits >> (6 - i % 4 * 2);
	}
	return n;
}

/* What programs make of `https://NAME:TOKEN@HOST/`: the name does not matter. */
static bool has_basic(const struct http_guard *guard, struct http_text given)
{
	char bytes[BASIC_SIZE];
	ssize_t n = decode(given, bytes);
	const char *colon = n > 0 ? memchr(bytes, ':', n) : NULL;
	bool is = colon && is_token(guard, (struct http_text){colon + 1, bytes + n - colon - 1});

	explicit_bzero(bytes, sizeof bytes);
	return is;
}

static bool cut_scheme(struct http_text *given, const char *scheme)
{
	size_t n = strlen(scheme);

	if (given->n < n || strncasecmp(given->bytes, scheme, n) != 0)
		return false;
	*given = (struct http_text){given->bytes + n, given->n - n};
	return true;
}

static bool has_token(const struct http_guard *guard, const struct http_request *request)
{
	struct http_text given = request->headers[HTTP_AUTHORIZATION];

	if (cut_scheme(&given, BEARER))
		return is_token(guard, given);
	return cut_scheme(&given, BASIC) && has_basic(guard, given);
}

int http_guard_check(const struct http_guard *guard, const struct http_request *request)
{
	if (!is_our_host(guard, request->headers[HTTP_HOST]))
		return HTTP_STATUS_FORBIDDEN;
	if (guard->is_public && guard->is_public(request->path))
		return 0;
	if (is_from_elsewhere(request))
		return HTTP_STATUS_FORBIDDEN;
	if (guard->token && !has_token(guard, request))
		return HTTP_STATUS_UNAUTHORIZED;
	return 0;
}
