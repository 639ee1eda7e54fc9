/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox_stacks: the samples of a thread, once all tables were read.
 */
#ifndef INPUT_FIREFOX_STACKS_H
#define INPUT_FIREFOX_STACKS_H

#include "input/firefox.h"

/* Adds those of thread @i to the profile. Errors: as of input_read(). */
int firefox_add_thread(struct firefox *firefox, size_t i);

#endif
