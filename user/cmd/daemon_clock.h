/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_clock: when a window was, by the clock on the wall, whatever that clock does meanwhile.
 *
 * Windows are measured by CLOCK_MONOTONIC, which is never set and stops while the machine
 * sleeps. Each is stamped by what the clock says at its end, so queries find it where people look;
 * where it does not follow the one before, it says why.
 */
#ifndef CMD_DAEMON_CLOCK_H
#define CMD_DAEMON_CLOCK_H

#include "store/ledger_code.h"

/* The clocks at one moment, ns. */
struct daemon_moment {
	uint64_t monotonic, boot, real;
};

struct daemon_clock {
	uint64_t end;	     /* of the last window, realtime */
	int64_t boot_offset; /* of CLOCK_BOOTTIME from CLOCK_MONOTONIC then */
};

void daemon_moment_now(struct daemon_moment *ret);

/*
 * Sets start, span, covered, boot and gap of a window of @length ns that ended at @end_ns
 * (CLOCK_MONOTONIC), seen at @now. @gap: why it does not follow the one before, if that is known.
 */
void daemon_clock_stamp(struct daemon_clock *clock, const struct daemon_moment *now,
			uint64_t end_ns, uint64_t length, enum store_gap gap,
			struct store_window *ret);

#endif
