/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/unpack_object.h"

#define COMMON_POLICY "base-uri 'none'; form-action 'none'; default-src 'none'; "

static const unsigned char document[] = {
#include "serve/page.html.inc"
};
static const unsigned char style[] = {
#include "serve/page.css.inc"
};
static const unsigned char script[] = {
#include "serve/page.js.inc"
};
static const unsigned char frame[] = {
#include "serve/frame.html.inc"
};

static const char page_policy[] =
	COMMON_POLICY "frame-ancestors 'none'; script-src 'self'; style-src 'self'; "
		      "connect-src 'self'; frame-src 'self'; img-src data:; "
		      "require-trusted-types-for 'script'; trusted-types 'none'";
static const char frame_policy[] =
	COMMON_POLICY "frame-ancestors 'self'; sandbox allow-scripts allow-downloads; "
		      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

static const struct page_part {
	const char *path, *type, *policy;
	const unsigned char *packed;
	size_t n;
} parts[] = {
	{"/", "text/html; charset=utf-8", page_policy, document, sizeof document},
	{"/page.css", "text/css; charset=utf-8", NULL, style, sizeof style},
	{"/page.js", "text/javascript; charset=utf-8", NULL, script, sizeof script},
	{"/frame", "text/html; charset=utf-8", frame_policy, frame, sizeof frame},
};

static const struct page_part *find_part(struct http_text path)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (path.n == strlen(parts[i].path) &&
		    memcmp(path.bytes, parts[i].path, path.n) == 0)
			return &parts[i];
	return NULL;
}

bool page_is(struct http_text path)
{
	return find_part(path) != NULL;
}

void page_answer(const struct http_request *request, struct serve_answer *answer)
{
	const struct page_part *part = find_part(request->path);

	answer->is_gzip = http_accepts_gzip(request);
	answer->n = part->n;
	answer->bytes = answer->is_gzip ? malloc(part->n)
					: (char *)unpack_object(part->packed, part->n, &answer->n);
	if (!answer->bytes) {
		*answer =
			(struct serve_answer){.status = HTTP_STATUS_SERVICE_UNAVAILABLE, .fd = -1};
		return;
	}
	if (answer->is_gzip)
		memcpy(answer->bytes, part->packed, part->n);
	answer->status = HTTP_STATUS_OK;
	answer->type = part->type;
	answer->policy = part->policy;
}
