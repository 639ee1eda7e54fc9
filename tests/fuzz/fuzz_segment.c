/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as a file of a store, and as a window in one with valid checksums. Must not
 * crash, hang or grow; every index in an accepted window is valid.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/ledger_profile.h"
#include "store/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_ledger(const struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->n_rows; i++)
		if (ledger->rows[i].process >= ledger->n_processes ||
		    ledger->rows[i].node >= ledger->n_nodes)
			abort();
	for (size_t i = 1; i < ledger->n_nodes; i++)
		if (ledger->nodes[i].parent >= i || ledger->nodes[i].frame >= ledger->n_frames)
			abort();
}

static void take_profile(struct ledger *ledger)
{
	struct ledger_elided elided;
	struct profile *profile;

	if (profile_new(PROFILE_WALL, &profile) < 0)
		abort();
	if (ledger_profile(ledger, NULL, 1, profile, &elided) < 0)
		abort();
	profile_free(profile);
}

static void read_window(const uint8_t *bytes, size_t n, unsigned int layout)
{
	struct store_window window;
	struct ledger ledger;

	if (ledger_init(&ledger) < 0)
		abort();
	if (ledger_decode(&ledger, bytes, n, layout, &window) == 0) {
		check_ledger(&ledger);
		take_profile(&ledger);
	}
	ledger_done(&ledger);
}

static void read_file(const uint8_t *bytes, size_t n)
{
	struct segment_reader reader;
	struct segment_block block;
	struct store_window window;
	int fd = memfd_create("segment", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	if (segment_open(&reader, fd) < 0)
		return;
	while (segment_peek(&reader, &block) > 0) {
		int r = block.sum % 4 ? segment_read(&reader, &block, &window)
				      : segment_read_names(&reader, &block);

		if (r < 0 && r != -EBADMSG)
			abort();
		check_ledger(&reader.ledger);
	}
	segment_reader_done(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	read_window(bytes, n, LEDGER_LAYOUT);
	read_window(bytes, n, LEDGER_OLD_LAYOUT);
	if (n)
		read_file(bytes, n);
	return 0;
}
