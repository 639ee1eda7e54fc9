/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * terminal: what a stream of text is written to.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

struct terminal {
	bool has_colour;      /* it is one, TERM is not "dumb", and NO_COLOR is not set */
	unsigned int columns; /* its width, else COLUMNS; 0: not known */
};

struct terminal terminal_of(FILE *stream);

#endif
