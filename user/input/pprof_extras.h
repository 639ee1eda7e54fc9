/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_extras: what of a pprof file means nothing to us, and is kept to be written again: see
 * core/extras.h.
 */
#ifndef INPUT_PPROF_EXTRAS_H
#define INPUT_PPROF_EXTRAS_H

#include "core/profile.h"
#include "input/pprof_file.h"
#include "input/pprof_values.h"

struct Perftools__Profiles__Label;

/*
 * Decides whether the values of the file's samples have to be kept: not if they are what we would
 * write of @profile, nor if earlier files had others. Sets *@ret_has_rows. Errors of all: -EINVAL,
 * *file->failure is set; -ENOMEM, -E2BIG.
 */
int pprof_extras_types(const struct pprof_file *file, const struct pprof_values *values,
		       struct profile *profile, bool is_first, bool *ret_has_rows);

/* The row of sample @i, if one of its values is not 0; else 0. */
int pprof_extras_row(const struct pprof_file *file, struct profile *profile, size_t i,
		     uint32_t *ret_row);

/*
 * A chain of those of the @n labels that @is_kept says, in their order; they belong to the sample
 * at byte @at.
 */
int pprof_extras_labels(const struct pprof_file *file, struct profile *profile,
			struct Perftools__Profiles__Label *const *labels, const bool *is_kept,
			size_t n, uint64_t at, uint32_t *ret_chain);

/* The file's drop_frames and keep_frames. */
int pprof_extras_frames(const struct pprof_file *file, struct profile *profile);

#endif
