/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/connections.h"

#include <netinet/in.h>
#include <string.h>

#include "base/system.h"

#define SLOW_NS NSEC_PER_SEC /* for taking an answer, where others want the place */

static bool is_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	/* One who has an address of IPv6 has 2^64 of them. */
	return a->ss_family == AF_INET6 && memcmp(&a6->sin6_addr, &b6->sin6_addr, 8) == 0;
}

struct connection *connections_oldest(const struct connections *all, enum connection_state state,
				      const struct sockaddr_storage *address, unsigned int *ret_n)
{
	struct connection *oldest = NULL;
	unsigned int n = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct connection *one = &all->items[i];

		if (one->state != state || (address && !is_same_host(&one->address, address)))
			continue;
		n++;
		if (!oldest || one->since < oldest->since)
			oldest = one;
	}
	if (ret_n)
		*ret_n = n;
	return oldest;
}

struct connection *connections_oldest_at(const struct connections *all, enum connection_state state,
					 unsigned int place, const struct sockaddr_storage *address)
{
	struct connection *oldest = NULL;

	for (size_t i = 0; i < all->n; i++) {
		struct connection *one = &all->items[i];
		bool differs = state == SHAKES && oldest && !one->tls != !oldest->tls;

		if (one->state != state || one->place != place ||
		    (address && !is_same_host(&one->address, address)))
			continue;
		if (!oldest || (differs ? !one->tls : one->since < oldest->since))
			oldest = one;
	}
	return oldest;
}

/* The place of whose addresses most have not asked yet. */
static unsigned int find_crowd(const struct connections *all)
{
	unsigned int counts[HANDSHAKE_PLACES] = {}, crowd = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct connection *one = &all->items[i];

		counts[one->place] += one->state == READS || one->state == SHAKES;
		if (counts[one->place] > counts[crowd])
			crowd = one->place;
	}
	return crowd;
}

struct connection *connections_free(const struct connections *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->items[i].state == IS_FREE)
			return &all->items[i];
	return NULL;
}

static bool is_old(const struct connection *connection, uint64_t now_ns, uint64_t least_ns)
{
	return connection && now_ns - connection->since >= least_ns;
}

struct connection *connections_spare(const struct connections *all, uint64_t now_ns)
{
	unsigned int crowd = find_crowd(all);
	struct connection *spare = connections_oldest(all, LINGERS, NULL, NULL);

	if (spare)
		return spare;
	spare = connections_oldest_at(all, READS, crowd, NULL);
	if (is_old(spare, now_ns, CONNECTION_YOUNG_NS))
		return spare;
	spare = connections_oldest(all, SENDS, NULL, NULL);
	return is_old(spare, now_ns, SLOW_NS) ? spare
					      : connections_oldest_at(all, SHAKES, crowd, NULL);
}

static bool is_before(const struct handshakes *handshakes, const struct connection *a,
		      const struct connection *b)
{
	uint64_t taken_a = handshakes->taken_ns[a->place];
	uint64_t taken_b = handshakes->taken_ns[b->place];

	if (taken_a != taken_b)
		return taken_a < taken_b;
	if (!a->tls != !b->tls)
		return a->tls != NULL;
	return a->since < b->since;
}

struct connection *connections_next_shake(const struct connections *all,
					  const struct handshakes *handshakes)
{
	struct connection *next = NULL;

	for (size_t i = 0; i < all->n; i++) {
		struct connection *one = &all->items[i];

		if (one->state == SHAKES && (!next || is_before(handshakes, one, next)))
			next = one;
	}
	return next;
}

unsigned int connections_count(const struct connections *all, enum connection_state state)
{
	unsigned int n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += all->items[i].state == state;
	return n;
}
