/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json_files: reads profiles in JSON. The keys of the file's object decide between the formats. */
#ifndef INPUT_JSON_FILES_H
#define INPUT_JSON_FILES_H

#include "base/stream.h"
#include "input/reading.h"

/* Whether the window begins like a JSON object. */
bool json_files_is(const struct stream *stream);

/* Adds the contents of @stream to @input. Errors: as of input_read(). */
int json_files_read(struct input *input, struct stream *stream, struct failure *failure);

#endif
