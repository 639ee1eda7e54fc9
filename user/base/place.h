/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place: a folder that files are written to, found once and held open, so that nobody can exchange
 * it afterwards.
 *
 * Root often writes into folders that others can write to as well. So root walks the path step by
 * step, and refuses it where somebody else decides where it leads:
 *
 *	a symbolic link		unless it belongs to root or the owner (base/owner.h), in a folder
 *				where nobody else could have made it
 *	somebody else's folder	in a folder that all may write to, such as /tmp: there, the first
 *				to come has the name
 *
 * Root writes where the owner may not, if the folder is root's alone and only root's links lead
 * there. For all other users the kernel's own rules suffice.
 */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

struct place {
	int fd;	       /* O_PATH or more; -1: not open */
	bool as_owner; /* write to it with the owner's rights */
};

#define PLACE_NONE ((struct place){.fd = -1})

/* Our own errors use numbers that no call here gives; output_error() has their texts. */
#define PLACE_ELED    ENOLINK  /* somebody else's link or folder is on the way */
#define PLACE_ESHARED ENOTUNIQ /* others can write there, and exchange files */

enum place_make {
	PLACE_FIND,
	PLACE_MAKE_LAST, /* the last part of the path, if it is missing */
	PLACE_MAKE_ALL,
};

/* Checks the place; called with the rights for its use. Returns 0 or -errno. */
typedef int (*place_check_fn)(const struct place *place, void *data);
/* One such check: files can be made in it. @data: unused. Errors: -EACCES, -PLACE_ESHARED, … */
int place_check_writable(const struct place *place, void *data);

/*
 * Opens the folder @path ("": the current one). Errors: those of @check, -PLACE_ELED, -ENOTDIR,
 * -ENOENT, -EACCES, …; -ELOOP for links that lead to each other.
 */
int place_open(const char *path, enum place_make make, place_check_fn check, void *data,
	       struct place *ret);
void place_close(struct place *place);

/* The mode of new folders, before the umask: others must not write to root's. */
mode_t place_folder_mode(void);

/* Whether root can't rely on the folder's contents: others can write to it. */
bool place_is_shared(const struct stat *folder, bool as_owner);

#endif
