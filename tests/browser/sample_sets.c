/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample_sets DIR: writes the page of the sets that DIR/index.jsonl lists to standard output. */
#include <stdio.h>

#include "render/sets_page.h"
#include "store/set_folder.h"

int main(int argc, char **argv)
{
	struct set_folder folder;
	struct set_index index;
	struct failure failure;
	int r;

	if (argc != 2 || set_folder_open(argv[1], false, &folder, &failure) < 0)
		return 1;
	r = set_folder_read(&folder, &index);
	if (r == 0) {
		r = render_sets_page(&index.sets, stdout);
		set_index_done(&index);
	}
	set_folder_close(&folder);
	return r < 0 || fflush(stdout) != 0;
}
