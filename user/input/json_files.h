/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json_files: profiles in JSON. Whose format it is, the keys of the file's object tell.
 */
#ifndef INPUT_JSON_FILES_H
#define INPUT_JSON_FILES_H

#include "input/reading.h"
#include "input/stream.h"

/* Whether what the window holds begins as an object of JSON does. */
bool json_files_is(const struct stream *stream);

/* Adds what @stream holds to @input. Errors: as of input_read(). */
int json_files_read(struct input *input, struct stream *stream, struct failure *failure);

#endif
