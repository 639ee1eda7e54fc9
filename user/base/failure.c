/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>

int failure_set(struct failure *failure, int error, const char *what_format, ...)
{
	va_list arguments;

	va_start(arguments, what_format);
	vsnprintf(failure->what, sizeof failure->what, what_format, arguments);
	va_end(arguments);
	failure->fix[0] = '\0';
	return error;
}

int failure_fix(struct failure *failure, int error, const char *fix_format, ...)
{
	va_list arguments;

	va_start(arguments, fix_format);
	vsnprintf(failure->fix, sizeof failure->fix, fix_format, arguments);
	va_end(arguments);
	return error;
}
