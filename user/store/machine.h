/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine: what of a machine and its kernel decides how fast a program runs on it.
 */
#ifndef STORE_MACHINE_H
#define STORE_MACHINE_H

#include <stdint.h>

enum machine_virtual {
	VIRTUAL_UNKNOWN,
	VIRTUAL_NO,
	VIRTUAL_YES,
	N_MACHINE_VIRTUALS,
};

/* Texts are "", numbers 0 where nothing is known. */
struct machine {
	char host[128], kernel[128];
	char architecture[64], cpu_model[128];
	unsigned int cpus; /* online */
	uint64_t memory;   /* bytes */
	enum machine_virtual is_virtual;
	char product[128];	/* what the firmware calls the machine: "QEMU Standard PC" */
	char governor[32];	/* of the frequency of the first CPU: "performance" */
	uint64_t max_kilohertz; /* of the first CPU */
};

/* This machine. @root: "", or a folder that has its /proc and /sys, for tests. */
void machine_read(const char *root, struct machine *ret);

#endif
