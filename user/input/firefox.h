/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox: the Firefox Profiler's processed format, ours (version 47) and that of others, older and
 * newer: https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md
 *
 * It is tables, whose columns are arrays; a sample is a row of the table of stacks, which is one of
 * another stack and a frame. The tables are those of a thread, or (strings from version 56 on, all
 * from 60 on) of the file; a stack's parent is a row, or (66) a distance. Columns are kept as they
 * are, four bytes a number, until the file ends: what refers to what may come in any order.
 */
#ifndef INPUT_FIREFOX_H
#define INPUT_FIREFOX_H

#include "input/firefox_stacks.h"

void firefox_done(struct firefox *firefox);

/*
 * Reads the value of @key, of the file's object and of its "shared". Returns whether it is one of
 * the format's; if not, nothing was read. Errors of all: as of input_read().
 */
int firefox_read(struct firefox *firefox, const char *key);
int firefox_read_shared(struct firefox *firefox, const char *key);

/* The file's end: adds its samples to the profile. */
int firefox_finish(struct firefox *firefox);

#endif
