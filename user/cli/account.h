/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * account: the user that COMMAND runs as when root records it.
 *
 * Reads /etc/passwd, and asks getent(1) and id(1) for the rest: a static program cannot load the
 * libraries that the system uses for looking up users.
 */
#ifndef CLI_ACCOUNT_H
#define CLI_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/failure.h"

struct account {
	uid_t uid;
	gid_t gid;
	char *name, *home, *shell; /* owned; "" if unknown */
	gid_t *groups;		   /* owned; all of them, including gid */
	size_t n_groups;
};

/*
 * Finds @text, a name or a number, in text in the form of passwd(5). Errors: -ENOENT, -ENOMEM.
 * Leaves the groups alone.
 */
int account_parse(const char *passwd, const char *text, struct account *ret);

/*
 * The user @text, a name or a number. A number without a user is used as it is, with the group @gid
 * if that is not -1, else the same number. Errors: -ENOENT for an unknown name, -ENOMEM.
 */
int account_find(const char *text, gid_t gid, struct account *ret);
/*
 * Chooses whom COMMAND runs as: @user, if that is not NULL; else, unless @as_root, the user who
 * called sudo, if any. @ret_found false: as we are. Errors: -EINVAL, -EPERM, -ENOMEM.
 */
int account_choose(const char *user, bool as_root, struct account *ret, bool *ret_found,
		   struct failure *failure);

void account_done(struct account *account);

/*
 * Call in a child of root: becomes that user for good, without any rights, with their HOME, USER,
 * LOGNAME and SHELL. Errors: -errno.
 */
int account_become(const struct account *account);

#endif
