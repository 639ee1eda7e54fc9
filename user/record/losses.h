/* SPDX-License-Identifier: GPL-2.0-or-later */
/* losses: everything that can be lost while recording, by kind, and how to avoid it. */
#ifndef RECORD_LOSSES_H
#define RECORD_LOSSES_H

#include <stdbool.h>

#include "record/totals.h"

/* One kind of loss: its name, and how to avoid it. */
struct loss {
	const char *key, *text, *advice; /* text: `~` is where a plural has its s */
	uint64_t n;
	bool counts; /* whole samples are missing or nameless: counts for --max-loss */
};

#define N_LOSSES 17

void losses_list(const struct totals *totals, enum profile_mode mode, struct loss ret[N_LOSSES]);

/* The share of all samples that is lost, in percent. */
double losses_percent(const struct totals *totals, enum profile_mode mode);

#endif
