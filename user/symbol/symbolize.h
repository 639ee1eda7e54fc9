/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbolize: gives every location of a profile its names: its function's, those of the functions
 * inlined there, and their lines.
 *
 * Locations are grouped by mapping and sorted; then each symbol source is read once, from front to
 * back, and asked only for those addresses. The cost follows the samples, and no table of all
 * symbols is ever built.
 */
#ifndef SYMBOL_SYMBOLIZE_H
#define SYMBOL_SYMBOLIZE_H

#include "base/budgets.h"
#include "core/profile.h"
#include "core/source.h"

struct symbol_stats {
	size_t locations, unnamed; /* unnamed: shown as [module+0xOFFSET] or [unknown] */
	size_t files, unreadable_files;
	size_t damaged_files;	 /* of those read: they, or their debug files, are partly damaged */
	size_t unsearched_files; /* named by their own symbols only: the search was ended */
	size_t unread_files;	 /* that took too long, or that the reader did not survive … */
	char unread[256];	 /* … the path of the first, as far as it fits */
	struct budgets_refused refused; /* files of users whose other files had taken too long */
	int kernel_refused; /* 0, or why the kernel does not name its functions: -errno */
};

/*
 * @sources[mapping] gives the source of that mapping's names; the caller keeps its descriptors. An
 * unreadable or damaged file leaves its locations as [module+0xOFFSET]. Errors: -ENOMEM.
 */
int symbolize(struct profile *profile, const struct mapping_source *sources,
	      const struct symbolize_options *options, struct symbol_stats *ret_stats);

#endif
