/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libelf_search: four functions that elfutils 0.192 (Debian 13) omits from libelf.a, although its
 * elf_begin() and elf_end() call them: https://sourceware.org/bugzilla/show_bug.cgi?id=32293 If
 * libelf.a has them, this compiles to nothing; the Makefile checks.
 *
 * A tree's first member is the root pointer of a tsearch(3) tree. libelf guards it with a lock for
 * one Elf used by several threads at once; here each Elf belongs to one thread.
 */
#ifdef LIBELF_LACKS_SEARCH
#include <search.h>
#include <stddef.h>

struct search_tree {
	void *root;
};

typedef int compare_fn(const void *, const void *);

void eu_search_tree_init(struct search_tree *tree);
void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *));
void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn *compare);
void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn *compare);

void eu_search_tree_init(struct search_tree *tree)
{
	tree->root = NULL;
}

void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *))
{
	tdestroy(tree->root, free_node);
	tree->root = NULL;
}

void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tsearch(key, &tree->root, compare);
}

void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tdelete(key, &tree->root, compare);
}
#endif
