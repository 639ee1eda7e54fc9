/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * account: the user whom COMMAND runs as when root records it.
 *
 * /etc/passwd is read here and getent(1) and id(1) are asked for what it does not hold: a static
 * program cannot load the libraries that the system looks users up with.
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
	char *name, *home, *shell; /* owned; "" if not known */
	gid_t *groups;		   /* owned; all of them, gid too */
	size_t n_groups;
};

/*
 * Finds @text, a name or a number, in text of the form of passwd(5). Errors: -ENOENT, -ENOMEM.
 * Nothing of the groups is filled in.
 */
int account_parse(const char *passwd, const char *text, struct account *ret);

/*
 * The user @text, a name or a number. A number that no user has stands for itself, with the group
 * @gid if that is not -1, and else the same number. Errors: -ENOENT for an unknown name, -ENOMEM.
 */
int account_find(const char *text, gid_t gid, struct account *ret);
/*
 * Whom COMMAND runs as: @user, if that is not NULL; else, unless @as_root, the user who called
 * sudo, if any. @ret_found false: as we are. Errors: -EINVAL, -EPERM, -ENOMEM.
 */
int account_choose(const char *user, bool as_root, struct account *ret, bool *ret_found,
		   struct failure *failure);

void account_done(struct account *account);

/*
 * In a child of root's: becomes that user for good, all rights gone, with HOME, USER, LOGNAME and
 * SHELL of theirs. Errors: -errno.
 */
int account_become(const struct account *account);

#endif
