/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place: a folder that files are written to, found once and held open, so that nobody can exchange
 * it for another afterwards.
 *
 * Root often writes into folders that others can write to, too. So for root the way there is gone
 * step by step, and refused where somebody else decides where it leads:
 *
 *	a symbolic link			unless it is root's or the owner's (base/owner.h), in a
 *					folder where nobody else could have put it
 *	a folder of somebody else	in a folder that all may write to, such as /tmp: there, whoever
 *					comes first has the name
 *
 * Where an owner may not write, root does, if the folder is root's alone and no link but root's
 * leads there. For anybody but root the kernel's own rules are enough.
 */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

struct place {
	int fd;	       /* O_PATH or more; -1: not open */
	bool as_owner; /* whose rights it is written to with */
};

#define PLACE_NONE ((struct place){.fd = -1})

/* Errors of our own have numbers that no call here gives; output_error() knows their words. */
#define PLACE_ELED    ENOLINK	/* somebody else's link or folder is on the way */
#define PLACE_ESHARED ENOTUNIQ	/* others can write there, and exchange what is there */

enum place_make {
	PLACE_FIND,
	PLACE_MAKE_LAST, /* the last part of the path, if it is missing */
	PLACE_MAKE_ALL,
};

/* Whether the place will do; called with the rights it is to be used with. 0 or -errno. */
typedef int (*place_check_fn)(const struct place *place, void *data);
/* One of them: that files can be made in it. @data: not used. Errors: -EACCES, -PLACE_ESHARED, … */
int place_check_writable(const struct place *place, void *data);

/*
 * Opens the folder @path ("": the current one). Errors: what @check gives, -PLACE_ELED, -ENOTDIR,
 * -ENOENT, -EACCES, …; -ELOOP for links that lead to each other.
 */
int place_open(const char *path, enum place_make make, place_check_fn check, void *data,
	       struct place *ret);
void place_close(struct place *place);

/* Of folders that are made, before the umask: root's are not for others to write to. */
mode_t place_folder_mode(void);

/* Whether root can't rely on what is in the folder: others can write to it. */
bool place_is_shared(const struct stat *folder, bool as_owner);

#endif
