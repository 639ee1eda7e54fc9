/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof: reads profile.proto as pprof, Go's runtime, perf_data_converter and we write it:
 * https://github.com/google/pprof/blob/main/proto/profile.proto
 *
 * Of several value types, the profile's default is read, else the last. CPU profiles are read as
 * samples; waiting time (off_cpu, block, mutex) and wall time as nanoseconds, whatever their unit;
 * everything else (heap) as plain numbers.
 *
 * A file from export_pprof(), read and exported with the same options, comes back byte by byte.
 */
#ifndef INPUT_PPROF_H
#define INPUT_PPROF_H

#include "base/stream.h"
#include "input/reading.h"

/* Errors: as of input_read(). */
int pprof_read(struct input *input, struct stream *stream, struct failure *failure);

#endif
