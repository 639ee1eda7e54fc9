/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/budgets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/foreign.h"
#include "base/system.h"

void budgets_done(struct budgets *budgets)
{
	free(budgets->items);
	table_done(&budgets->index);
	budgets->items = NULL;
	budgets->n = budgets->items_capacity = 0;
}

static bool budget_equal(const void *items, uint32_t position, const void *key)
{
	const struct budget *a = (const struct budget *)items + position, *b = key;

	return a->user == b->user && a->device == b->device;
}

static int find_user(struct budgets *budgets, uid_t user, dev_t device, uint32_t *ret)
{
	const struct budget key = {.user = user, .device = user ? 0 : device};
	uint64_t hash = hash_mix(hash_mix(0, key.user), key.device);

	*ret = BUDGETS_UNLIMITED;
	return table_intern(&budgets->index, hash, budget_equal, budgets->items,
			    budgets->items_capacity, budgets->n, &key, ret);
}

int budgets_find(struct budgets *budgets, int fd, bool is_our_root, uint32_t *ret)
{
	struct stat stat;

	*ret = BUDGETS_UNLIMITED;
	if (fd < 0 || foreign_status(fd, &stat) < 0 || (is_our_root && stat.st_uid == 0))
		return 0;
	return find_user(budgets, stat.st_uid, stat.st_dev, ret);
}

/* Not the owner of /proc/PID, which is root where a process is not dumpable. */
static bool read_user(uint32_t pid, uid_t *ret)
{
	char path[64], text[1024];
	const char *line;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/status", pid);
	line = read_text_file(path, text, sizeof text) < 0 ? NULL : strstr(text, "\nUid:");
	if (line)
		*ret = strtoul(line + strlen("\nUid:"), NULL, 10);
	return line;
}

int budgets_find_living(struct budgets *budgets, uint32_t pid, uint32_t *ret, bool *ret_is_there)
{
	_cleanup_close_ int root = -1;
	struct stat stat = {};
	uid_t user;

	*ret = BUDGETS_UNLIMITED;
	*ret_is_there = read_user(pid, &user);
	if (!*ret_is_there)
		return 0;
	if (user == 0) {
		root = foreign_find_root(pid);
		if (root == -ETIMEDOUT)
			return find_user(budgets, user, 0, ret);
		if (root < 0 || foreign_is_our_root(root) || foreign_status(root, &stat) < 0)
			return 0;
	}
	return find_user(budgets, user, stat.st_dev, ret);
}

int budgets_find_process(struct budgets *budgets, uint32_t pid, uint32_t *ret)
{
	bool is_there;

	return budgets_find_living(budgets, pid, ret, &is_there);
}

#define PROCESS_NS (NSEC_PER_SEC / 100) /* not for long: a process can become another user's */

uint32_t budgets_of_process(struct budgets *budgets, uint32_t pid)
{
	uint64_t now = monotonic_ns();

	if (budgets->process != pid || now >= budgets->process_until) {
		if (budgets_find_process(budgets, pid, &budgets->process_budget) < 0)
			return BUDGETS_UNLIMITED;
		budgets->process = pid;
		budgets->process_until = now + PROCESS_NS;
	}
	return budgets->process_budget;
}

#define SHARES_IN_ALL 4

bool budgets_has_room(const struct budgets *budgets, uint32_t budget, uint64_t n)
{
	uint64_t most = budgets->most_mapped;

	return budget == BUDGETS_UNLIMITED || !most ||
	       (budgets->items[budget].n_mapped + n <= most &&
		budgets->n_mapped + n <= SHARES_IN_ALL * most);
}

bool budgets_map(struct budgets *budgets, uint32_t budget, uint64_t n)
{
	if (!budgets_has_room(budgets, budget, n))
		return false;
	if (budget != BUDGETS_UNLIMITED) {
		budgets->items[budget].n_mapped += n;
		budgets->n_mapped += n;
	}
	return true;
}

void budgets_unmap(struct budgets *budgets, uint32_t budget, uint64_t n)
{
	if (budget != BUDGETS_UNLIMITED) {
		budgets->items[budget].n_mapped -= n;
		budgets->n_mapped -= n;
	}
}

bool budgets_may_open(const struct budgets *budgets, uint32_t budget)
{
	return budget == BUDGETS_UNLIMITED || !budgets->most_open ||
	       budgets->items[budget].n_open < budgets->most_open;
}

bool budgets_open(struct budgets *budgets, uint32_t budget)
{
	if (budget == BUDGETS_UNLIMITED)
		return true;
	if (!budgets_may_open(budgets, budget)) {
		budgets->is_full = true;
		budgets->items[budget].n_refused++;
		return false;
	}
	budgets->items[budget].n_open++;
	return true;
}

void budgets_close(struct budgets *budgets, uint32_t budget)
{
	if (budget != BUDGETS_UNLIMITED && budgets->items[budget].n_open)
		budgets->items[budget].n_open--;
}

#define MOST_HUNG 4 /* each takes as long as the broker's patience */

void budgets_hang(struct budgets *budgets, uint32_t pid)
{
	uint32_t budget = budgets_of_process(budgets, pid);

	if (budget == BUDGETS_UNLIMITED)
		return;
	budgets->n_hung++;
	budgets->items[budget].n_hung++;
}

bool budgets_may_ask(struct budgets *budgets, uint32_t budget)
{
	if (budget == BUDGETS_UNLIMITED || budgets->items[budget].n_hung < MOST_HUNG)
		return true;
	budgets_refuse(budgets, budget);
	return false;
}

bool budgets_may_read(const struct budgets *budgets, uint32_t budget)
{
	double most = budgets->cpu_ns;

	if (budget == BUDGETS_UNLIMITED)
		return true;
	if (budgets->since_ns)
		most += (monotonic_ns() - budgets->since_ns) * budgets->cpu_share;
	return budgets->items[budget].cpu_ns < most;
}

void budgets_spend(struct budgets *budgets, uint32_t budget, uint64_t cpu_ns)
{
	if (budget != BUDGETS_UNLIMITED)
		budgets->items[budget].cpu_ns += cpu_ns;
}

void budgets_refuse(struct budgets *budgets, uint32_t budget)
{
	if (budget != BUDGETS_UNLIMITED)
		budgets->items[budget].n_refused++;
}

struct budgets_refused budgets_refused(const struct budgets *budgets)
{
	struct budgets_refused refused = {};
	uint64_t most = 0;

	for (size_t i = 0; i < budgets->n; i++) {
		const struct budget *budget = &budgets->items[i];

		refused.n += budget->n_refused;
		if (budget->n_refused > most) {
			most = budget->n_refused;
			refused.user = budget->user;
		}
	}
	return refused;
}
