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
	failure->mend[0] = '\0';
	return error;
}

int failure_mend(struct failure *failure, int error, const char *mend_format, ...)
{
	va_list arguments;

	va_start(arguments, mend_format);
	vsnprintf(failure->mend, sizeof failure->mend, mend_format, arguments);
	va_end(arguments);
	return error;
}
