/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmocka.h and what it wants before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
