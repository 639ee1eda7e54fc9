/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as the file of a mapping. Must not crash, hang or grow.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/symbolize.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int add_locations(struct profile *profile)
{
	struct profile_mapping mapping = {.kind = MAPPING_FILE};
	uint32_t id, location;
	int r = strings_add(&profile->strings, "/fuzzed", &mapping.path);

	if (r == 0)
		r = profile_add_mapping(profile, &mapping, &id);
	for (uint64_t address = 0; address < 0x4000 && r == 0; address += 28)
		r = profile_add_location(profile, id, address, address & 64, &location);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	const struct symbolize_options options = {.lines = n & 1};
	struct mapping_source source = MAPPING_SOURCE_NONE;
	struct symbol_stats stats;
	struct profile *profile;

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || profile_new(PROFILE_ONCPU, &profile) < 0)
		abort();
	source.file = fd;
	if (add_locations(profile) < 0 || symbolize(profile, &source, &options, &stats) < 0 ||
	    stats.locations != profile->n_locations)
		abort();
	for (size_t i = 0; i < profile->n_locations; i++) {
		if (profile->locations[i].n_frames < 1)
			abort();
	}
	profile_free(profile);
	close(fd);
	return 0;
}
