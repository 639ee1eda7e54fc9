/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_data: frames and nodes as the page reads them.
 *
 * They are written column by column, which puts similar values next to each other: most nodes have
 * one child (their number in "up" is 0) and no self weight, so these columns nearly vanish when
 * deflated. A million nodes take about 3 MB.
 */
#include "render/html.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/system.h"
#include "base/text.h"
#include "core/leaders.h"

#define FRAME_WAKER	 16
#define FRAME_CODE	 32 /* times enum leaders_code */
#define DEVIATION_STEPS	 64
#define REPLACEMENT	 0xfffd
#define REPLACEMENT_UTF8 "\xef\xbf\xbd"

static int put_bytes(struct html_part *part, const void *bytes, size_t n)
{
	int r = array_reserve(part->bytes, part->capacity, part->n, n);

	if (r < 0 || !n)
		return r;
	memcpy(part->bytes + part->n, bytes, n);
	part->n += n;
	return 0;
}

static int put_number(struct html_part *part, uint64_t number)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; number > 127; number >>= 7)
		bytes[n++] = (number & 127) | 128;
	bytes[n++] = number;
	return put_bytes(part, bytes, n);
}

/* Writes one line of harmless UTF-8, whatever @text holds. */
static int put_text(struct html_part *part, const char *text)
{
	while (*text) {
		const char *from = text;
		uint32_t code = text_next(&text);
		int r;

		if (code == ' ')
			r = put_bytes(part, " ", 1);
		else if (code == REPLACEMENT)
			r = put_bytes(part, REPLACEMENT_UTF8, 3);
		else
			r = put_bytes(part, from, text - from);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Pointers to parts stay valid. */
static struct html_part *add_part(struct html *html, const char *name)
{
	struct html_part *part = &html->parts[html->n_parts++];

	part->name = name;
	return part;
}

/* Frames are in the order of their names: equal ones are neighbours. */
static int put_names(struct html *html)
{
	const struct stacks *stacks = html->stacks;
	struct html_part *names = add_part(html, "names");
	struct html_part *steps = add_part(html, "frameNames");

	for (size_t i = 0; i < stacks->n_frames; i++) {
		bool is_new = i == 0 || stacks->frames[i].name != stacks->frames[i - 1].name;
		int r = put_number(steps, i && is_new);

		if (r < 0)
			return r;
		if (!is_new)
			continue;
		r = html->n_names++ ? put_bytes(names, "\n", 1) : 0;
		if (r < 0)
			return r;
		r = put_text(names, stacks_name(stacks, i));
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_modules(struct html *html)
{
	const struct stacks *stacks = html->stacks;
	struct html_part *names = add_part(html, "modules");
	struct html_part *modules = add_part(html, "frameModules");
	_cleanup_free_ uint32_t *numbers = calloc(stacks->strings.n_strings, sizeof *numbers);
	uint32_t n = 0;
	int r;

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->n_frames; i++) {
		uint32_t module = stacks->frames[i].module;

		if (module && !numbers[module]) {
			numbers[module] = ++n;
			r = put_bytes(names, "\n", 1);
			if (r < 0)
				return r;
			r = put_text(names, strings_get(&stacks->strings, module));
			if (r < 0)
				return r;
		}
		r = put_number(modules, module ? numbers[module] : 0);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Combinations that our recordings don't have look like a note, as in look_of(). */
static enum frame_kind kind_in(enum palette_part part, enum frame_kind kind)
{
	return look_letter(LOOK(part, kind)) ? kind : FRAME_NOTE;
}

static unsigned int fill_of(struct html *html, const struct stacks_frame *frame,
			    enum palette_part part)
{
	const struct strings *strings = &html->stacks->strings;
	enum frame_kind kind = kind_in(part, frame->kind);
	unsigned int shade;

	shade = palette_shade(html->palettes[part], kind, strings_get(strings, frame->name),
			      strings_get(strings, frame->module));
	html->used[part][kind][shade] = true;
	return html->first_fill[part][kind] + shade;
}

static void number_fills(struct html *html)
{
	unsigned int n = 0;

	for (int part = 0; part < N_PALETTE_PARTS; part++) {
		for (int kind = 0; kind < N_FRAME_KINDS; kind++) {
			html->first_fill[part][kind] = n;
			n += palette_n_shades(html->palettes[part], kind);
		}
	}
}

static int put_frames(struct html *html)
{
	const struct stacks *stacks = html->stacks;
	struct html_part *kinds = add_part(html, "frameKinds");
	struct html_part *fills = add_part(html, "frameFills");
	struct html_part *running = html_is_wall(html) ? add_part(html, "frameFillsRunning") : NULL;

	number_fills(html);
	for (size_t i = 0; i < stacks->n_frames; i++) {
		const struct stacks_frame *frame = &stacks->frames[i];
		uint8_t kind = frame->kind + (frame->is_waker ? FRAME_WAKER : 0) +
			       FRAME_CODE * leaders_code(stacks, frame);
		enum palette_part part = frame->is_waker ? PART_WAKER : PART_PLAIN;
		int r = put_bytes(kinds, &kind, 1);

		if (r < 0)
			return r;
		r = put_number(fills, fill_of(html, frame, part));
		if (r < 0)
			return r;
		if (!running)
			continue;
		if (part == PART_PLAIN && frame->kind < FRAME_NOTE)
			part = PART_RUNNING;
		r = put_number(running, fill_of(html, frame, part));
		if (r < 0)
			return r;
	}
	return 0;
}

static uint64_t frame_number(const struct tree_node *node)
{
	if (node->frame == TREE_ROOT)
		return 0;
	return node->frame == TREE_ELIDED ? 1 : (uint64_t)node->frame + 2;
}

static int put_shape(struct html *html)
{
	const struct tree *tree = &html->tree;
	struct html_part *ups = add_part(html, "up"), *frames = add_part(html, "frame");

	for (size_t i = 0; i < tree->n_nodes; i++) {
		const struct tree_node *node = &tree->nodes[i];
		int r = put_number(ups, i ? node[-1].depth + 1 - node->depth : 0);

		if (r < 0)
			return r;
		r = put_number(frames, frame_number(node));
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_self(struct html *html, struct html_part *part, int side)
{
	for (size_t i = 0; i < html->tree.n_nodes; i++) {
		int r = put_number(part, html->tree.nodes[i].sides[side].self);

		if (r < 0)
			return r;
	}
	return 0;
}

static int put_selfs(struct html *html)
{
	int r = put_self(html, add_part(html, "self0"), 0);

	if (r < 0 || html->n_sides == 1)
		return r;
	return put_self(html, add_part(html, "self1"), 1);
}

/* Lengths of periods, to half a percent. */
static int put_deviation(struct html *html, struct html_part *part, int side)
{
	for (size_t i = 0; i < html->tree.n_nodes; i++) {
		const struct tree_side *of = &html->tree.nodes[i].sides[side];
		double length = of->self ? of->self_variance / of->self : 0;
		int r;

		if (!of->self)
			continue;
		r = put_number(part, length > 1 ? lround(DEVIATION_STEPS * log2(length)) : 0);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_deviations(struct html *html)
{
	int r;

	if (!html->stacks->is_comparison || html_is_count(html))
		return 0;
	r = put_deviation(html, add_part(html, "deviation0"), 0);
	if (r < 0)
		return r;
	return put_deviation(html, add_part(html, "deviation1"), 1);
}

static int put_elided(struct html *html)
{
	struct html_part *part = add_part(html, "elided");

	for (size_t i = 0; i < html->tree.n_nodes; i++) {
		const struct tree_node *node = &html->tree.nodes[i];
		int r = node->frame == TREE_ELIDED ? put_number(part, node->n_elided) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

int html_make_parts(struct html *html)
{
	static int (*const put[])(struct html *) = {
		put_names, put_modules,	   put_frames, put_shape,
		put_selfs, put_deviations, put_elided,
	};

	for (size_t i = 0; i < sizeof put / sizeof *put; i++) {
		int r = put[i](html);

		if (r < 0)
			return r;
	}
	return 0;
}

void html_free_parts(struct html *html)
{
	for (size_t i = 0; i < html->n_parts; i++)
		free(html->parts[i].bytes);
}

/* RFC 4648. Bytes short of three wait for the next piece. */
struct base64 {
	FILE *out;
	uint8_t rest[3];
	size_t n;
};

static void write_three(struct base64 *base64)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = base64->rest[0] << 16 | base64->rest[1] << 8 | base64->rest[2];

	for (size_t i = 0; i < 4; i++)
		putc_unlocked(i <= base64->n ? digits[bits >> (18 - 6 * i) & 63] : '=',
			      base64->out);
	*base64 = (struct base64){.out = base64->out};
}

static void write_base64(struct base64 *base64, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		base64->rest[base64->n++] = bytes[i];
		if (base64->n == 3)
			write_three(base64);
	}
}

/* Hands @part to the compressor; @flush: Z_FINISH for the last one. */
static void deflate_part(z_stream *stream, struct base64 *base64, const struct html_part *part,
			 int flush)
{
	uint8_t piece[1 << 14];
	size_t done = 0;

	do {
		size_t n = part->n - done < 1 << 30 ? part->n - done : 1 << 30;

		/* An empty part has no bytes to point into. */
		stream->next_in = n ? part->bytes + done : NULL;
		stream->avail_in = n;
		done += n;
		do {
			stream->next_out = piece;
			stream->avail_out = sizeof piece;
			deflate(stream, flush);
			write_base64(base64, piece, sizeof piece - stream->avail_out);
		} while (stream->avail_out == 0);
	} while (done < part->n);
}

int html_write_parts(const struct html *html)
{
	struct base64 base64 = {.out = html->out};
	struct html_part end = {};
	z_stream stream = {};

	if (deflateInit(&stream, Z_DEFAULT_COMPRESSION) != Z_OK)
		return -ENOMEM;
	for (size_t i = 0; i < html->n_parts; i++)
		deflate_part(&stream, &base64, &html->parts[i], Z_NO_FLUSH);
	deflate_part(&stream, &base64, &end, Z_FINISH);
	deflateEnd(&stream);
	if (base64.n)
		write_three(&base64);
	return 0;
}
