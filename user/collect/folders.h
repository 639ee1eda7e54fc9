/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folders: folders of processes, each kept open once (O_PATH). Their files can be opened even after
 * the process, its mount namespace and the folder's name are gone.
 */
#ifndef COLLECT_FOLDERS_H
#define COLLECT_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/pool.h"

struct folder {
	uint32_t n_references; /* 0: unused */
	int fd;
	dev_t device;
	ino_t inode;
	uint64_t mount; /* its id; 0 when unknown */
};

/* Zeroed: empty. */
struct folders {
	struct folder *items;
	struct pool pool;
};

void folders_done(struct folders *folders);

/*
 * Takes over @fd, the descriptor of a folder, and keeps it unless the same folder is kept already.
 * The caller then holds a reference. Errors: -ENOMEM, those of statx(2).
 */
int folders_add(struct folders *folders, int fd, uint32_t *ret_folder);

/* Whether @fd is that folder, on the same mount. */
bool folder_is(const struct folder *folder, int fd);

/* Take and put a reference: putting the last one closes the folder. UINT32_MAX: no folder. */
void folders_hold(struct folders *folders, uint32_t folder);
void folders_put(struct folders *folders, uint32_t folder);

#endif
