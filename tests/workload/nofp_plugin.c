/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nofp_plugin: the library that nofp's shape "plugin" loads and unloads while it runs. */
#include "workload.h"

void plugin_work(void (*callback)(void));

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
