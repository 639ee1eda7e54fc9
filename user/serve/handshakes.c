/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/handshakes.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>

#include "base/system.h"

#define PLACE_BITS 8
#define MIX	   0x9e3779b97f4a7c15ULL

_Static_assert(HANDSHAKE_PLACES == 1 << PLACE_BITS, "places have a number of so many bits");

void handshakes_begin(struct handshakes *handshakes, uint64_t share_ns, uint64_t now_ns)
{
	*handshakes = (struct handshakes){.share_ns = share_ns,
					  .credit_ns = share_ns,
					  .seen_at = now_ns,
					  .forgot_at = now_ns,
					  .secret = MIX};
	/* Without it, addresses can be chosen to share a place; nothing else depends on it. */
	if (getrandom(&handshakes->secret, sizeof handshakes->secret, GRND_NONBLOCK) < 0)
		handshakes->secret ^= now_ns;
}

/* The network of an address of IPv6, and all of one of IPv4; 0: a socket in the file system. */
static uint64_t number_of(const struct sockaddr_storage *address)
{
	uint64_t number = 0;

	if (address->ss_family == AF_INET)
		return ((const struct sockaddr_in *)address)->sin_addr.s_addr;
	if (address->ss_family == AF_INET6)
		memcpy(&number, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof number);
	return number;
}

unsigned int handshakes_place(const struct handshakes *handshakes,
			      const struct sockaddr_storage *address)
{
	uint64_t number = (number_of(address) ^ handshakes->secret) * MIX;

	number = (number ^ number >> 29 ^ handshakes->secret) * MIX;
	return number >> (64 - PLACE_BITS);
}

/* Halves what was taken, once a second. */
static void forget_some(struct handshakes *handshakes, uint64_t now_ns)
{
	uint64_t seconds = (now_ns - handshakes->forgot_at) / NSEC_PER_SEC;

	if (!seconds)
		return;
	handshakes->forgot_at += seconds * NSEC_PER_SEC;
	for (int i = 0; i < HANDSHAKE_PLACES; i++)
		handshakes->taken_ns[i] = seconds < 64 ? handshakes->taken_ns[i] >> seconds : 0;
}

uint64_t handshakes_wait(struct handshakes *handshakes, uint64_t now_ns)
{
	uint64_t passed = now_ns - handshakes->seen_at;

	/* No more can be there than that of a second. */
	passed = passed < NSEC_PER_SEC ? passed : NSEC_PER_SEC;
	handshakes->seen_at = now_ns;
	forget_some(handshakes, now_ns);
	handshakes->credit_ns += passed * handshakes->share_ns / NSEC_PER_SEC;
	if (handshakes->credit_ns > (int64_t)handshakes->share_ns)
		handshakes->credit_ns = handshakes->share_ns;
	if (handshakes->credit_ns > 0)
		return 0;
	return (1 - handshakes->credit_ns) * NSEC_PER_SEC / handshakes->share_ns;
}

void handshakes_take(struct handshakes *handshakes, unsigned int place, uint64_t cpu_ns)
{
	handshakes->credit_ns -= cpu_ns;
	handshakes->taken_ns[place] += cpu_ns;
}
