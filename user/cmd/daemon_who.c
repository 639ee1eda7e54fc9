/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_who.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"

#define MOST_READ    50 /* cgroups a step: in a storm of execs, children have their parents' */
#define KEPT_WINDOWS 3
#define CGROUP_SIZE  4096

int who_init(struct who *who)
{
	*who = (struct who){.window = 1};
	return strings_init(&who->strings);
}

void who_done(struct who *who)
{
	strings_done(&who->strings);
	free(who->entries);
	table_done(&who->index);
	table_done(&who->by_pid);
	*who = (struct who){};
}

struct who_key {
	uint32_t pid;
	uint64_t start;
};

static bool entry_equal(const void *items, uint32_t position, const void *key)
{
	const struct who_entry *entry = (const struct who_entry *)items + position;
	const struct who_key *wanted = key;

	return entry->pid == wanted->pid && entry->start == wanted->start;
}

static uint64_t hash_of(uint32_t pid, uint64_t start)
{
	return hash_mix(hash_mix(0, pid), start);
}

static struct who_entry *find_entry(const struct who *who, uint32_t pid, uint64_t start)
{
	const struct who_key key = {pid, start};
	uint32_t at = table_find(&who->index, hash_of(pid, start), entry_equal, who->entries, &key);

	return at == TABLE_NONE ? NULL : &who->entries[at];
}

/* The path below the mount: of cgroup v2, or of systemd's hierarchy where there is only v1. */
static const char *path_of(char *text)
{
	static const char *const lines[] = {"0::", ":name=systemd:"};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		char *at = strstr(text, lines[i]);

		if (!at || (i == 0 && at != text && at[-1] != '\n'))
			continue;
		at += strlen(lines[i]);
		at[strcspn(at, "\n")] = '\0';
		return at;
	}
	return NULL;
}

static bool read_cgroup(struct who *who, uint32_t pid, uint32_t *ret)
{
	char path[64], text[CGROUP_SIZE];
	const char *found;

	if (who->n_read >= MOST_READ)
		return false;
	who->n_read++;
	snprintf(path, sizeof path, "/proc/%u/cgroup", pid);
	if (read_text_file(path, text, sizeof text) < 0)
		return false;
	found = path_of(text);
	if (!found || strings_add(&who->strings, found, ret) < 0)
		return false;
	return true;
}

static bool pid_equal(const void *items, uint32_t position, const void *key)
{
	return ((const struct who_entry *)items)[position].pid == *(const uint32_t *)key;
}

static uint32_t find_latest(const struct who *who, uint32_t pid)
{
	return table_find(&who->by_pid, hash_mix(0, pid), pid_equal, who->entries, &pid);
}

/* What its parent was last known to be in. */
static uint32_t cgroup_of(const struct who *who, uint32_t pid)
{
	uint32_t at = find_latest(who, pid);

	return at == TABLE_NONE ? 0 : who->entries[at].cgroup;
}

/* Errors: -ENOMEM. */
static int append(struct who *who, const struct who_entry *entry)
{
	uint32_t before = find_latest(who, entry->pid);
	int r = array_reserve(who->entries, who->capacity, who->n, 1);

	if (r < 0)
		return r;
	r = table_reserve(&who->by_pid, 1);
	if (r < 0)
		return r;
	r = table_add(&who->index, hash_of(entry->pid, entry->start), who->n);
	if (r < 0)
		return r;
	if (before != TABLE_NONE)
		table_remove(&who->by_pid, hash_mix(0, entry->pid), before);
	table_add(&who->by_pid, hash_mix(0, entry->pid), who->n);
	who->entries[who->n++] = *entry;
	return 0;
}

static struct who_entry *add_entry(struct who *who, const struct collect_process *process)
{
	const struct who_entry entry = {
		.pid = process->pid, .start = process->start, .first = who->window};
	int r = append(who, &entry);

	if (r < 0) {
		who->error = r;
		return NULL;
	}
	return &who->entries[who->n - 1];
}

void who_note(void *context, const struct collect_process *process)
{
	struct who *who = context;
	struct who_entry *entry = find_entry(who, process->pid, process->start);
	uint32_t cgroup;

	if (!entry)
		entry = add_entry(who, process);
	if (!entry)
		return;
	/* It may have been moved just after its fork: what the second window sees stays. */
	if (entry->window != who->window &&
	    (!entry->has_cgroup || entry->first + 1 == who->window)) {
		if (!process->has_ended && read_cgroup(who, process->pid, &cgroup)) {
			entry->cgroup = cgroup;
			entry->has_cgroup = true;
		} else if (!entry->has_cgroup) {
			entry->cgroup = cgroup_of(who, process->parent_pid);
		}
	}
	if (*process->exe && strings_add(&who->strings, process->exe, &entry->exe) < 0)
		who->error = -ENOMEM;
	entry->window = who->window;
}

void who_step(struct who *who)
{
	who->n_read = 0;
}

static int compare_who(const void *left, const void *right)
{
	const struct ledger_who *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->start < b->start) - (a->start > b->start);
}

int who_list(const struct who *who, struct ledger_who **ret, size_t *ret_n)
{
	struct ledger_who *list = malloc((who->n + 1) * sizeof *list);
	size_t n = 0, kept = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < who->n; i++)
		list[n++] = (struct ledger_who){who->entries[i].pid, who->entries[i].start,
						strings_get(&who->strings, who->entries[i].exe),
						strings_get(&who->strings, who->entries[i].cgroup)};
	if (n)
		qsort(list, n, sizeof *list, compare_who);
	/* Of two of the same pid, the later one. */
	for (size_t i = 0; i < n; i++)
		if (!kept || list[kept - 1].pid != list[i].pid)
			list[kept++] = list[i];
	*ret = list;
	*ret_n = kept;
	return 0;
}

/* Texts of those that are forgotten go, too. */
static int copy_recent(const struct who *from, struct who *to)
{
	int r = strings_init(&to->strings);

	if (r < 0)
		return r;
	for (size_t i = 0; i < from->n; i++) {
		struct who_entry entry = from->entries[i];

		if (entry.window + KEPT_WINDOWS <= to->window)
			continue;
		r = strings_add(&to->strings, strings_get(&from->strings, entry.exe), &entry.exe);
		if (r < 0)
			return r;
		r = strings_add(&to->strings, strings_get(&from->strings, entry.cgroup),
				&entry.cgroup);
		if (r < 0)
			return r;
		r = append(to, &entry);
		if (r < 0)
			return r;
	}
	return 0;
}

int who_next(struct who *who)
{
	struct who next = {.window = who->window + 1};
	int r = copy_recent(who, &next);

	if (r < 0) {
		who_done(&next);
		return r;
	}
	who_done(who);
	*who = next;
	return 0;
}
