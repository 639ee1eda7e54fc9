/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/cli.h"

#include <stdio.h>

#include "base/output.h"
#include "base/owner.h"
#include "base/text.h"
#include "cli/account.h"
#include "cli/outputs.h"

int cli_fail(const struct failure *failure, int code)
{
	const char *what = failure->what[0] ? failure->what : "out of memory";

	text_print(stderr, "bpfflame: %s", what);
	if (failure->fix[0])
		text_print(stderr, " (%s)", failure->fix);
	fputc('\n', stderr);
	return code;
}

int cli_flush(int code)
{
	struct failure failure = {};
	int r = output_flush(stdout);

	if (r == 0 || (code != EXIT_DONE && code != EXIT_LOSSES))
		return code;
	output_failed("-", r, &failure);
	return cli_fail(&failure, EXIT_FAILED);
}

int cli_write_as_caller(struct failure *failure)
{
	static struct account caller; /* the owner's groups must stay */
	bool is_found;
	int r;

	if (owner_is_set())
		return 0;
	r = account_choose(NULL, false, &caller, &is_found, failure);
	if (r < 0 || !is_found)
		return r;
	return owner_set(caller.uid, caller.gid, caller.groups, caller.n_groups);
}
