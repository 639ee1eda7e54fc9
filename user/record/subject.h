/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subject: who is recorded, in a few words for the titles of pictures: `node server.js (11650)`,
 * `V8Worker of node server.js (11652)`, `gcc -O2 -c a.c`, `host vm7`.
 */
#ifndef RECORD_SUBJECT_H
#define RECORD_SUBJECT_H

#include "record/options.h"

#define SUBJECT_SIZE 256

/* Call it while the targets live. Includes the names that they chose: escape it. */
void subject_find(const struct record_options *options, char text[static SUBJECT_SIZE]);

#endif
