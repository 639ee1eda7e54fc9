/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page: what a browser is served at `/`: a document, its style and scripts, and the frame that
 * shows flame graphs. They lie packed in this program and hold nothing of the machine, which the
 * scripts ask `/api/` for.
 *
 * The frame has a policy of its own: a flame graph, with all its names, runs there as a page
 * without an origin. It reaches neither the network nor what the page knows, such as the token.
 */
#ifndef SERVE_PAGE_H
#define SERVE_PAGE_H

#include "serve/server.h"

bool page_is(struct http_text path);

/* @request: of a path that page_is() knows. */
void page_answer(const struct http_request *request, struct serve_answer *answer);

#endif
