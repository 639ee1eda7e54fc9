/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct terminal terminal_of(FILE *stream)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	const char *columns = getenv("COLUMNS");
	struct terminal terminal = {0};
	struct winsize size;

	terminal.has_colour = isatty(fileno(stream)) && !(no_colour && *no_colour) &&
			      !(term && strcmp(term, "dumb") == 0);
	if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col)
		terminal.columns = size.ws_col;
	else if (columns && atoi(columns) > 0)
		terminal.columns = atoi(columns);
	return terminal;
}
