/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/tls.h"

#include <errno.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define IS_NEWER   (MBEDTLS_VERSION_NUMBER >= 0x03020000)
#define CALL_BYTES (64 << 10) /* received in a call: who floods us with alerts waits, too */
#define HANDSHAKE  0x16	      /* the first byte that a client of TLS sends */

struct tls_identity {
	mbedtls_ssl_config config;
	mbedtls_x509_crt certificate;
	mbedtls_pk_context key;
};

struct tls {
	mbedtls_ssl_context ssl;
	int fd;
	size_t room; /* bytes that may still be received in this call */
	bool has_begun, is_plain;
	bool sends; /* the last call waits for room */
};

/* Only suites with forward secrecy and authenticated encryption. */
static const int suites[] = {
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	0,
};

/* Curves, those that cost least first. */
#if IS_NEWER
static const uint16_t groups[] = {
	MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1, MBEDTLS_SSL_IANA_TLS_GROUP_X25519,
	MBEDTLS_SSL_IANA_TLS_GROUP_SECP384R1, MBEDTLS_SSL_IANA_TLS_GROUP_NONE};
#else
static const mbedtls_ecp_group_id groups[] = {MBEDTLS_ECP_DP_SECP256R1, MBEDTLS_ECP_DP_CURVE25519,
					      MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_NONE};
#endif

static int fill_random(void *context, unsigned char *bytes, size_t n)
{
	while (n) {
		ssize_t got = getrandom(bytes, n, 0);

		if (got < 0 && errno != EINTR)
			return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
		bytes += got > 0 ? got : 0;
		n -= got > 0 ? got : 0;
	}
	return 0;
}

/* The identity */

static int parse_key(mbedtls_pk_context *key, const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t n = strlen(text) + 1;
#if IS_NEWER
	int r = mbedtls_pk_parse_key(key, bytes, n, NULL, 0, fill_random, NULL);
#else
	int r = mbedtls_pk_parse_key(key, bytes, n, NULL, 0);
#endif

	if (r == MBEDTLS_ERR_PK_PASSWORD_REQUIRED || r == MBEDTLS_ERR_PK_PASSWORD_MISMATCH)
		return -EKEYREJECTED;
	return r == MBEDTLS_ERR_PK_ALLOC_FAILED ? -ENOMEM : r ? -ENOKEY : 0;
}

static int check_pair(const struct tls_identity *identity)
{
#if IS_NEWER
	int r = mbedtls_pk_check_pair(&identity->certificate.pk, &identity->key, fill_random, NULL);
#else
	int r = mbedtls_pk_check_pair(&identity->certificate.pk, &identity->key);
#endif

	return r ? -EINVAL : 0;
}

static void limit_choice(mbedtls_ssl_config *config)
{
#if IS_NEWER
	/* 1.3 keeps random numbers in a generator of its own, which forked processes share. */
	mbedtls_ssl_conf_min_tls_version(config, MBEDTLS_SSL_VERSION_TLS1_2);
	mbedtls_ssl_conf_max_tls_version(config, MBEDTLS_SSL_VERSION_TLS1_2);
	mbedtls_ssl_conf_groups(config, groups);
#else
	static const int hashes[] = {MBEDTLS_MD_SHA256, MBEDTLS_MD_SHA384, MBEDTLS_MD_SHA512,
				     MBEDTLS_MD_NONE};

	mbedtls_ssl_conf_min_version(config, MBEDTLS_SSL_MAJOR_VERSION_3,
				     MBEDTLS_SSL_MINOR_VERSION_3);
	mbedtls_ssl_conf_curves(config, groups);
	mbedtls_ssl_conf_sig_hashes(config, hashes);
#endif
	mbedtls_ssl_conf_ciphersuites(config, suites);
	mbedtls_ssl_conf_renegotiation(config, MBEDTLS_SSL_RENEGOTIATION_DISABLED);
}

static int configure(struct tls_identity *identity)
{
	mbedtls_ssl_config *config = &identity->config;

	if (mbedtls_ssl_config_defaults(config, MBEDTLS_SSL_IS_SERVER, MBEDTLS_SSL_TRANSPORT_STREAM,
					MBEDTLS_SSL_PRESET_DEFAULT))
		return -ENOMEM;
	limit_choice(config);
	mbedtls_ssl_conf_rng(config, fill_random, NULL);
	mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_NONE);
	return mbedtls_ssl_conf_own_cert(config, &identity->certificate, &identity->key) ? -ENOMEM
											 : 0;
}

static int load(struct tls_identity *identity, const char *certificate, const char *key)
{
	/* More than 0: so many of a chain are broken. */
	int r = mbedtls_x509_crt_parse(&identity->certificate, (const unsigned char *)certificate,
				       strlen(certificate) + 1);

	if (r)
		return r == MBEDTLS_ERR_X509_ALLOC_FAILED ? -ENOMEM : -EBADMSG;
	r = parse_key(&identity->key, key);
	if (r < 0)
		return r;
	r = check_pair(identity);
	if (r < 0)
		return r;
	return configure(identity);
}

int tls_identity_new(const char *certificate, const char *key, struct tls_identity **ret)
{
	struct tls_identity *identity = calloc(1, sizeof *identity);
	int r;

	if (!identity)
		return -ENOMEM;
	mbedtls_ssl_config_init(&identity->config);
	mbedtls_x509_crt_init(&identity->certificate);
	mbedtls_pk_init(&identity->key);
	r = load(identity, certificate, key);
	if (r < 0) {
		tls_identity_free(identity);
		return r;
	}
	*ret = identity;
	return 0;
}

void tls_identity_free(struct tls_identity *identity)
{
	if (!identity)
		return;
	mbedtls_ssl_config_free(&identity->config);
	mbedtls_x509_crt_free(&identity->certificate);
	mbedtls_pk_free(&identity->key);
	free(identity);
}

/* Connections */

static int result_of_call(ssize_t n, int again)
{
	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EINTR ? again : MBEDTLS_ERR_SSL_CONN_EOF;
}

static int send_bytes(void *context, const unsigned char *bytes, size_t n)
{
	struct tls *tls = context;

	return result_of_call(send(tls->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT),
			      MBEDTLS_ERR_SSL_WANT_WRITE);
}

static int receive_bytes(void *context, unsigned char *bytes, size_t n)
{
	struct tls *tls = context;
	ssize_t got;

	if (!tls->room)
		return MBEDTLS_ERR_SSL_WANT_READ;
	got = recv(tls->fd, bytes, n < tls->room ? n : tls->room, MSG_DONTWAIT);
	tls->room -= got > 0 ? got : 0;
	if (got > 0 && !tls->has_begun) {
		tls->has_begun = true;
		tls->is_plain = bytes[0] != HANDSHAKE;
	}
	return tls->is_plain ? MBEDTLS_ERR_SSL_INVALID_RECORD
			     : result_of_call(got, MBEDTLS_ERR_SSL_WANT_READ);
}

int tls_new(const struct tls_identity *identity, int fd, struct tls **ret)
{
	struct tls *tls = calloc(1, sizeof *tls);

	if (!tls)
		return -ENOMEM;
	tls->fd = fd;
	mbedtls_ssl_init(&tls->ssl);
	if (mbedtls_ssl_setup(&tls->ssl, &identity->config)) {
		tls_free(tls, false);
		return -ENOMEM;
	}
	mbedtls_ssl_set_bio(&tls->ssl, tls, send_bytes, receive_bytes, NULL);
	*ret = tls;
	return 0;
}

void tls_free(struct tls *tls, bool says_so)
{
	if (!tls)
		return;
	if (says_so)
		mbedtls_ssl_close_notify(&tls->ssl); /* where there is room for it */
	mbedtls_ssl_free(&tls->ssl);
	free(tls);
}

static ssize_t error_of(struct tls *tls, int result)
{
	switch (result) {
	case MBEDTLS_ERR_SSL_WANT_READ:
	case MBEDTLS_ERR_SSL_WANT_WRITE:
		tls->sends = result == MBEDTLS_ERR_SSL_WANT_WRITE;
		return -EAGAIN;
	case MBEDTLS_ERR_SSL_CONN_EOF:
	case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY: return 0;
	default: return tls->is_plain ? -EPROTOTYPE : -EPROTO;
	}
}

ssize_t tls_receive(struct tls *tls, void *bytes, size_t n)
{
	int r;

	tls->room = CALL_BYTES;
	r = mbedtls_ssl_read(&tls->ssl, bytes, n);
	return r < 0 ? error_of(tls, r) : r;
}

ssize_t tls_send(struct tls *tls, const void *bytes, size_t n)
{
	int r = mbedtls_ssl_write(&tls->ssl, bytes, n);

	if (r > 0)
		return r;
	r = error_of(tls, r);
	return r ? r : -EPROTO;
}

bool tls_sends(const struct tls *tls)
{
	return tls->sends;
}

bool tls_is_ready(const struct tls *tls)
{
#if IS_NEWER
	return mbedtls_ssl_is_handshake_over((mbedtls_ssl_context *)&tls->ssl);
#else
	return tls->ssl.state == MBEDTLS_SSL_HANDSHAKE_OVER;
#endif
}
