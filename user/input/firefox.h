/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox: reads the Firefox Profiler's processed format, from us (version 47) and from others,
 * older and newer:
 * https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md
 *
 * A file holds tables whose columns are arrays. A sample is a row of the stack table; a row of that
 * is another stack and a frame. Tables belong to a thread or (strings from version 56 on, all from
 * 60 on) to the file. A stack's parent is a row number or (66) a distance. Items come in any order,
 * so columns are kept unparsed, four bytes a number, until the file ends.
 */
#ifndef INPUT_FIREFOX_H
#define INPUT_FIREFOX_H

#include "input/firefox_stacks.h"

void firefox_done(struct firefox *firefox);

/*
 * Reads the value of @key, found in the file's object or in its "shared". Returns whether the
 * format has such a key; if not, nothing was read. All functions return the errors of input_read().
 */
int firefox_read(struct firefox *firefox, const char *key);
int firefox_read_shared(struct firefox *firefox, const char *key);

/* Call at the file's end: adds its samples to the profile. */
int firefox_finish(struct firefox *firefox);

#endif
