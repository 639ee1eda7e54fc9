/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_folded: folded stacks like those of large programs: 30 to 60 frames deep, about 15 tree
 * nodes per stack, names of C++, Rust, Java, C and the kernel, 40 bytes long on average.
 *
 *	made_folded STACKS [sorted | shuffled | base | new] >FILE
 *
 * The same number gives the same stacks. They come sorted, as profilers write them, or shuffled.
 * `base` and `new` are two recordings of one program, in which one function became slower.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_NAMES	  20000
#define MIN_DEPTH 30
#define MAX_DEPTH 60
#define NEW_NODES 15

static uint64_t state = 88172645463325252;

/* xorshift64* */
static uint64_t random_below(uint64_t n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 2685821657736338717u % n;
}

static const char *const words[] = {
	"parse",    "read",   "write",	"flush",  "index",  "scan",    "merge",	 "commit",
	"lookup",   "insert", "remove", "resize", "hash",   "compare", "encode", "decode",
	"dispatch", "handle", "poll",	"submit", "finish", "begin",   "visit",	 "emit",
	"lower",    "fold",   "select", "sort",	  "copy",   "alloc",
};
static const char *const things[] = {
	"Buffer",  "Stream",   "Table",	 "Node",   "Query",  "Plan",	"Row",	   "Column",
	"Request", "Response", "Socket", "Packet", "Frame",  "Session", "Context", "Iterator",
	"Visitor", "Builder",  "Cache",	 "Store",  "Page",   "Block",	"Graph",   "Symbol",
	"Token",   "Stmt",     "Expr",	 "Type",   "Module", "Record",
};
#define WORD  words[random_below(sizeof words / sizeof *words)]
#define THING things[random_below(sizeof things / sizeof *things)]

static char names[N_NAMES][160];

static void make_name(char name[160])
{
	const char *a = THING, *b = THING, *c = THING, *x = WORD, *y = WORD;
	unsigned int number = random_below(1000);

	switch (random_below(6)) {
	case 0: snprintf(name, 160, "%s<vector<%s> >::%s_%s(%s&)", a, b, x, y, c); break;
	case 1: snprintf(name, 160, "<%s as fmt::%s>::%s%u", a, b, x, number); break;
	case 2: snprintf(name, 160, "org/demo/%s/%s.%s%s_[j]", x, a, y, b); break;
	case 3: snprintf(name, 160, "ext4_%s_%s%u_[k]", x, y, number); break;
	case 4: snprintf(name, 160, "%s_%s_%u", x, y, number); break;
	default: snprintf(name, 160, "detail::%s%s::%s_%s%u", a, b, x, y, number);
	}
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The path to the latest stack; children of a node get names in ascending order. */
struct level {
	uint32_t name, next_child;
};

static struct level path[MAX_DEPTH + 1];
static unsigned int depth;

/* Programs branch more often far from their roots. */
static void cut_back(void)
{
	unsigned int n = 1, most = depth > 12 && random_below(40) ? depth - 12 : depth;

	while (n < most && random_below(NEW_NODES + 1))
		n++;
	depth -= n < depth ? n : depth - 1;
	while (depth > 1 && path[depth - 1].next_child >= N_NAMES - 1)
		depth--;
}

static void grow_to(unsigned int wanted)
{
	while (depth < wanted) {
		struct level *parent = &path[depth - 1];

		/* Most have few children; those near the root may have many. */
		uint32_t name = parent->next_child + random_below(N_NAMES / 40);

		if (name >= N_NAMES)
			name = N_NAMES - 1;
		parent->next_child = name + 1;
		path[depth++] = (struct level){name, random_below(N_NAMES / 2)};
	}
}

static uint64_t value_of(const char *side)
{
	/* Few are heavy: weights follow 1 / x. */
	uint64_t value = 1 + 1000 / (1 + random_below(1000));

	for (unsigned int i = 1; side && strcmp(side, "new") == 0 && i < depth; i++)
		if (path[i].name % 97 == 0)
			return value + value / 2;
	return value;
}

static void write_stacks(unsigned long n, const char *side, FILE *stream)
{
	path[0] = (struct level){0, 0};
	depth = 1;
	for (unsigned long i = 0; i < n; i++) {
		cut_back();
		if (depth == 1 && path[0].next_child >= N_NAMES - 1)
			path[0].next_child = 0;
		grow_to(depth + 1 + random_below(MAX_DEPTH - depth));
		grow_to(MIN_DEPTH);
		fputs_unlocked("server", stream);
		for (unsigned int k = 1; k < depth; k++) {
			putc_unlocked(';', stream);
			fputs_unlocked(names[path[k].name], stream);
		}
		fprintf(stream, " %llu\n", (unsigned long long)value_of(side));
	}
}

static void write_shuffled(unsigned long n)
{
	char *text, **lines = calloc(n + 1, sizeof *lines), *rest;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	write_stacks(n, NULL, stream);
	fclose(stream);
	rest = text;
	for (unsigned long i = 0; i < n; i++)
		lines[i] = strsep(&rest, "\n");
	for (unsigned long i = n; i > 1; i--) {
		unsigned long k = random_below(i);
		char *line = lines[k];

		lines[k] = lines[i - 1];
		lines[i - 1] = line;
	}
	for (unsigned long i = 0; i < n; i++)
		puts(lines[i]);
	free(lines);
	free(text);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	const char *how = argc > 2 ? argv[2] : NULL;

	if (!n) {
		fputs("usage: made_folded STACKS [sorted | shuffled | base | new]\n", stderr);
		return 2;
	}
	for (unsigned int i = 0; i < N_NAMES; i++)
		make_name(names[i]);
	qsort(names, N_NAMES, sizeof *names, compare);
	if (how && strcmp(how, "shuffled") == 0)
		write_shuffled(n);
	else
		write_stacks(n, how, stdout);
	return 0;
}
