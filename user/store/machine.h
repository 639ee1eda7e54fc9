/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine: the facts of a machine and its kernel that decide how fast programs run on it. */
#ifndef STORE_MACHINE_H
#define STORE_MACHINE_H

#include <stdint.h>

enum machine_virtual {
	VIRTUAL_UNKNOWN,
	VIRTUAL_NO,
	VIRTUAL_YES,
	N_MACHINE_VIRTUALS,
};

/* Unknown texts are "", unknown numbers 0. */
struct machine {
	char host[128], kernel[128];
	char architecture[64], cpu_model[128];
	unsigned int cpus; /* online */
	uint64_t memory;   /* bytes */
	enum machine_virtual is_virtual;
	char product[128];	/* the firmware's name for the machine: "QEMU Standard PC" */
	char governor[32];	/* for the frequency of the first CPU: "performance" */
	uint64_t max_kilohertz; /* of the first CPU */
};

/* Reads this machine. @root: "", or in tests a folder with a /proc and /sys. */
void machine_read(const char *root, struct machine *ret);

#endif
