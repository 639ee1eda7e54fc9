/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/owner.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <unistd.h>

static struct {
	bool is_set;
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* theirs */
	size_t n_groups;
	gid_t *own_groups; /* ours meanwhile */
	int n_own_groups;
} owner;

int owner_set(uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups)
{
	int n = getgroups(0, NULL);
	gid_t *own = calloc(n > 0 ? n : 1, sizeof *own);

	if (!own)
		return -ENOMEM;
	n = getgroups(n, own);
	if (n < 0) {
		free(own);
		return -errno;
	}
	free(owner.own_groups);
	owner.is_set = true;
	owner.uid = uid;
	owner.gid = gid;
	owner.groups = groups;
	owner.n_groups = n_groups;
	owner.own_groups = own;
	owner.n_own_groups = n;
	return 0;
}

bool owner_is_set(void)
{
	return owner.is_set;
}

void owner_leave(bool as_owner)
{
	if (!as_owner)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	(void)!setgroups(owner.n_own_groups, owner.own_groups);
}

int owner_enter(bool as_owner)
{
	if (!as_owner)
		return 0;
	if (setgroups(owner.n_groups, owner.groups) < 0)
		return -errno;
	setfsgid(owner.gid);
	setfsuid(owner.uid);
	/* These calls report no errors; read the values back. */
	if (setfsgid(-1) == (int)owner.gid && setfsuid(-1) == (int)owner.uid)
		return 0;
	owner_leave(true);
	return -EPERM;
}

void owner_give(int fd)
{
	if (owner.is_set)
		(void)!fchown(fd, owner.uid, owner.gid);
}

uid_t owner_uid(bool as_owner)
{
	return as_owner ? owner.uid : geteuid();
}

bool owner_has_group(gid_t gid)
{
	for (size_t i = 0; i < owner.n_groups; i++)
		if (owner.groups[i] == gid)
			return true;
	return gid == owner.gid;
}

bool owner_trusts(uid_t uid, bool as_owner)
{
	return uid == 0 || uid == owner_uid(as_owner);
}

bool owner_is_caller(uid_t uid)
{
	const char *caller = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	char *end;

	return caller && *caller >= '0' && *caller <= '9' && strtoul(caller, &end, 10) == uid &&
	       !*end;
}
