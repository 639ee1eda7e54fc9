/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forget: frees what no window needs any more, so that a recording of hours keeps its size.
 */
#ifndef COLLECT_FORGET_H
#define COLLECT_FORGET_H

struct collector;

/*
 * Between two windows, or at any other time between two rows. Errors: -ENOMEM; nothing is
 * forgotten then.
 */
int forget(struct collector *collector);

#endif
