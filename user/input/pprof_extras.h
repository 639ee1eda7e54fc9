/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_extras: keeps the parts of a pprof file that we don't understand, to write them again: see
 * core/extras.h.
 */
#ifndef INPUT_PPROF_EXTRAS_H
#define INPUT_PPROF_EXTRAS_H

#include "core/profile.h"
#include "input/pprof_file.h"
#include "input/pprof_values.h"

/* A message Label. */
struct pprof_label {
	int64_t key, text, number, unit; /* key, text and unit: indexes */
	bool is_kept;
};

/*
 * Decides whether to keep the values of the file's samples: not if we would write the same from
 * @profile, nor if earlier files had other types. Sets *@ret_has_rows. All functions return
 * -EINVAL, which sets *file->failure; -ENOMEM; -E2BIG.
 */
int pprof_extras_types(const struct pprof_file *file, const struct pprof_values *values,
		       struct profile *profile, bool is_first, bool *ret_has_rows);

/* The row of sample @i, or 0 if all its values are 0. */
int pprof_extras_row(const struct pprof_file *file, struct profile *profile, size_t i,
		     uint32_t *ret_row);

/* The chain of those of the @n labels that are kept, in order; the sample is at byte @at. */
int pprof_extras_labels(const struct pprof_file *file, struct profile *profile,
			const struct pprof_label *labels, size_t n, uint64_t at,
			uint32_t *ret_chain);

/* Keeps the file's drop_frames and keep_frames. */
int pprof_extras_frames(const struct pprof_file *file, struct profile *profile);

#endif
