/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded: `comm;root;…;leaf VALUE` lines.
 *
 * Stacks are merged in a tree whose nodes are pieces of text: "name;" for a frame that others
 * follow, "name" for a leaf. A line is then the pieces on the way to a leaf, and as no piece is
 * the beginning of another one's line, walking sorted children gives the lines in bytewise order
 * without ever holding them all. Equal text merges whatever it stands for. Nanoseconds become
 * microseconds after merging, so that rounding doesn't add up.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "render/render.h"
#include "render/tree.h"

/* A profile has few distinct frames and many of them: the latest pieces are kept at hand. */
#define N_CACHED 4096

struct cached_piece {
	uint32_t name, text;
	uint8_t kind;
	bool is_leaf, is_set;
};

struct folder {
	const struct strings *names; /* the profile's */
	struct strings texts;
	struct tree tree;
	struct cached_piece *cache;
	char *buffer;
	size_t capacity;
};

/* One line per stack, one `;` between frames: names can't break either. */
static void clean_name(char *to, const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char byte = name[i];

		to[i] = byte == ';' ? ':' : byte < ' ' || byte == 0x7f ? '?' : byte;
	}
}

static int make_piece(struct folder *folder, struct named_frame frame, bool is_leaf,
		      uint32_t *ret_text)
{
	const char *name = strings_get(folder->names, frame.name);
	const char *suffix = frame_kind_suffix(frame.kind);
	size_t n, n_suffix = strlen(suffix);
	int r;

	if (!*name)
		name = "[unknown]";
	n = strlen(name);
	r = array_reserve(folder->buffer, folder->capacity, n, n_suffix + 1);
	if (r < 0)
		return r;
	clean_name(folder->buffer, name, n);
	memcpy(folder->buffer + n, suffix, n_suffix);
	n += n_suffix;
	if (!is_leaf)
		folder->buffer[n++] = ';';
	return strings_add_bytes(&folder->texts, folder->buffer, n, ret_text);
}

static int find_piece(struct folder *folder, struct named_frame frame, bool is_leaf,
		      uint32_t *ret_text)
{
	uint64_t hash = hash_mix(frame.name, frame.kind << 1 | is_leaf);
	struct cached_piece *cached = &folder->cache[hash % N_CACHED];
	int r;

	if (!cached->is_set || cached->name != frame.name || cached->kind != frame.kind ||
	    cached->is_leaf != is_leaf) {
		uint32_t text;

		r = make_piece(folder, frame, is_leaf, &text);
		if (r < 0)
			return r;
		*cached = (struct cached_piece){frame.name, text, frame.kind, is_leaf, true};
	}
	*ret_text = cached->text;
	return 0;
}

static int add_stack(void *data, const struct tree_stack *stack)
{
	struct folder *folder = data;

	for (size_t i = 0; i < stack->n; i++) {
		uint32_t text;
		int r = find_piece(folder, stack->frames[i], i == stack->n - 1, &text);

		if (r < 0)
			return r;
		stack->frames[i] = (struct named_frame){FRAME_NOTE, text, false};
	}
	return tree_add(&folder->tree, stack->frames, stack->n, stack->weight, false);
}

/* @lengths[d] is how much of the line the frames up to depth d take. */
static int write_lines(struct folder *folder, enum profile_mode mode, size_t *lengths, FILE *stream)
{
	const struct tree *tree = &folder->tree;

	lengths[0] = 0;
	for (uint32_t i = tree_walk(tree, 0, true); i != TREE_NONE; i = tree_walk(tree, i, true)) {
		const struct tree_node *node = &tree->nodes[i];
		const char *text = strings_get(&folder->texts, node->name);
		size_t before = lengths[node->depth - 1], n = strlen(text);
		uint64_t value = mode == PROFILE_ONCPU ? node->self : (node->self + 500) / 1000;
		int r = array_reserve(folder->buffer, folder->capacity, before, n);

		if (r < 0)
			return r;
		memcpy(folder->buffer + before, text, n);
		lengths[node->depth] = before + n;
		if (value) {
			fwrite(folder->buffer, 1, before + n, stream);
			fprintf(stream, " %llu\n", (unsigned long long)value);
		}
	}
	return 0;
}

static void folder_done(struct folder *folder)
{
	strings_done(&folder->texts);
	tree_done(&folder->tree);
	free(folder->cache);
	free(folder->buffer);
}

int render_folded(struct profile *profile, const struct unfold_options *unfold, FILE *stream)
{
	struct folder folder = {.names = &profile->strings,
				.cache = calloc(N_CACHED, sizeof *folder.cache)};
	size_t *lengths = NULL;
	int r = folder.cache ? strings_init(&folder.texts) : -ENOMEM;

	if (r == 0)
		r = tree_init(&folder.tree);
	if (r == 0)
		r = tree_visit_stacks(profile, unfold, add_stack, &folder);
	if (r == 0)
		r = tree_arrange(&folder.tree, &folder.texts);
	if (r == 0) {
		lengths = calloc(folder.tree.max_depth + 1, sizeof *lengths);
		r = lengths ? write_lines(&folder, profile->mode, lengths, stream) : -ENOMEM;
	}
	free(lengths);
	folder_done(&folder);
	return r;
}
