/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof: reading profile.proto as pprof, Go's runtime, perf_data_converter and we write it:
 * https://github.com/google/pprof/blob/main/proto/profile.proto
 *
 * Of several types of values the profile's default is read, else the last. CPU profiles are read by
 * samples; time that threads wait (off_cpu, block, mutex) and wall time in nanoseconds, whatever
 * unit they are in; all else (heap) as numbers of whatever it is.
 *
 * What export_pprof() makes of a profile and its options is read as a profile that it makes the
 * same file of, byte by byte, with the same options.
 */
#ifndef INPUT_PPROF_H
#define INPUT_PPROF_H

#include "input/reading.h"
#include "input/stream.h"

/* Errors: as of input_read(). */
int pprof_read(struct input *input, struct stream *stream, struct failure *failure);

#endif
