/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record: the command that records. It opens one window, or window after window with --every, has
 * each written, and ends with the summary.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdint.h>

#include "record/options.h"

/*
 * Returns an exit code. @started_ns: when the program began, CLOCK_MONOTONIC. @offer_commands: see
 * options_parse().
 */
int record_run(int argc, char **argv, uint64_t started_ns, offer_commands_fn offer_commands);

#endif
