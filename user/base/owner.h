/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owner: the user whom files are written for when root runs us for somebody else.
 *
 * With an owner, files are made with their file rights and belong to them, so that nothing they
 * have prepared leads to a place where they may not write themselves. `as_owner` below means that a
 * file is made so; without an owner, or where only root may write, it is false: such a file can be
 * given to them once it is made.
 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* For root. @groups must stay. Errors: -ENOMEM, -errno. */
int owner_set(uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups);
bool owner_is_set(void);

/*
 * Between these two, files are opened and made with the owner's rights, and belong to them; without
 * @as_owner nothing changes. They don't nest. Errors: -errno; don't call owner_leave() then.
 */
int owner_enter(bool as_owner);
void owner_leave(bool as_owner);

/*
 * Gives the owner, if there is one, a file that was made without their rights, unless its file
 * system has no owners.
 */
void owner_give(int fd);

/* The user who owns a file made so. */
uid_t owner_uid(bool as_owner);
bool owner_has_group(gid_t gid);

/* Whether a file of @uid is harmless: it is root's or ours. */
bool owner_trusts(uid_t uid, bool as_owner);
/* Whether @uid has called sudo to run us: they could have been root anyway. */
bool owner_is_caller(uid_t uid);

#endif
