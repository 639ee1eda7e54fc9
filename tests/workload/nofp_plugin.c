/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nofp_plugin: the library that nofp's shape "plugin" loads and unloads. It is mapped in one piece
 * (-z noseparate-code), with more data than its file is long, as if all of that were code.
 */
#include "workload.h"

void plugin_work(void (*callback)(void));

char plugin_data[4 << 20];

static MARKED void plugin_inner(void (*callback)(void))
{
	callback();
	KEEP_FRAME();
}

void plugin_work(void (*callback)(void))
{
	plugin_inner(callback);
	KEEP_FRAME();
}
