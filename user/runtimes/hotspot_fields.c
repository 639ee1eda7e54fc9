/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where things lie in the objects that hold the frames of virtual threads: jdk.internal.vm's
 * Continuation and StackChunk. The machine lays them out when it starts, by its options; each class
 * has a list of its fields, in the format of 21 and newer: numbers, compressed, of each field
 *
 *	name	signature	offset	access	flags	and what flags say that there is
 *
 * where the names of fields that Java doesn't see are numbers of the machine's own. These are known
 * by their order.
 */
#include "runtimes/hotspot.h"

#include <errno.h>
#include <string.h>

#define MOST_CLASSES 96 /* until the two, of those that the machine itself uses: 47 to 50 */
#define MOST_BYTES   512
#define MOST_FIELDS  32
#define NAME_BYTES   40

#define CONTINUATION "jdk/internal/vm/Continuation"
#define CHUNK	     "jdk/internal/vm/StackChunk"

#define ACCESS_STATIC  0x8
#define FLAG_INITIAL   0x1 /* flags that are followed by a number */
#define FLAG_INJECTED  0x2
#define FLAG_GENERIC   0x4
#define FLAG_CONTENDED 0x10

/* Injected into chunks. */
enum { INJECTED_CONTINUATION, INJECTED_FLAGS, INJECTED_PC };

/* A class's list of fields, and how far it was read. */
struct field_list {
	const struct runtime_facts *facts;
	const struct runtime_memory *memory;
	uint8_t bytes[MOST_BYTES];
	uint32_t n, at;
	uint64_t pool;
	uint32_t left, n_injected;
};

struct field {
	char name[NAME_BYTES]; /* "": an injected one */
	uint32_t injected;     /* which */
	uint32_t offset;
};

static uint32_t next_number(struct field_list *list)
{
	return hotspot_number(list->facts->version, list->bytes, list->n, &list->at);
}

static int open_list(const struct runtime_facts *facts, const struct runtime_memory *memory,
		     uint64_t class, struct field_list *ret)
{
	const uint32_t *o = facts->offsets;
	uint64_t array;
	int r = hotspot_read(memory, class + o[CLASS_FIELDS], &array, sizeof array);

	if (r < 0)
		return r;
	*ret = (struct field_list){.facts = facts, .memory = memory};
	r = hotspot_read(memory, class + o[CLASS_POOL], &ret->pool, sizeof ret->pool);
	if (r < 0)
		return r;
	r = hotspot_read(memory, array, &ret->n, sizeof ret->n);
	if (r < 0)
		return r;
	if (!ret->n || ret->n > sizeof ret->bytes)
		return -ESTALE;
	r = hotspot_read(memory, array + 4, ret->bytes, ret->n);
	if (r < 0)
		return r;
	ret->left = next_number(ret);
	ret->n_injected = next_number(ret);
	if (ret->left > MOST_FIELDS || ret->n_injected > MOST_FIELDS)
		return -ESTALE;
	ret->left += ret->n_injected;
	return 0;
}

/* Returns 1, 0 at the end of the list, or -errno. */
static int next_field(struct field_list *list, struct field *ret)
{
	const uint32_t *o = list->facts->offsets;
	uint32_t name, access, flags;
	uint64_t symbol;
	int r;

	if (!list->left)
		return 0;
	*ret = (struct field){.injected = list->n_injected - list->left};
	list->left--;
	name = next_number(list);
	next_number(list); /* the signature */
	ret->offset = next_number(list);
	access = next_number(list);
	flags = next_number(list);
	for (uint32_t flag = FLAG_INITIAL; flag <= FLAG_CONTENDED; flag <<= 1)
		if (flags & flag & (FLAG_INITIAL | FLAG_GENERIC | FLAG_CONTENDED))
			next_number(list);
	if (flags & FLAG_INJECTED)
		return 1;
	if (access & ACCESS_STATIC)
		return next_field(list, ret);
	r = hotspot_read(list->memory, list->pool + o[POOL_SIZE] + 8 * (uint64_t)name, &symbol, 8);
	if (r < 0)
		return r;
	r = hotspot_name(o, list->memory, symbol & ~1ULL, ret->name, sizeof ret->name);
	return r < 0 ? r : 1;
}

/* How the fields of a class become offsets. */
struct wanted_field {
	const char *name; /* or NULL */
	uint32_t injected;
	enum hotspot_offset to;
};

static int find_wanted(const struct runtime_facts *facts, const struct runtime_memory *memory,
		       uint64_t class, const struct wanted_field *wanted, size_t n, uint32_t *ret)
{
	struct field_list list;
	struct field field;
	size_t found = 0;
	int r = open_list(facts, memory, class, &list);

	if (r < 0)
		return r;
	while ((r = next_field(&list, &field)) > 0)
		for (size_t i = 0; i < n; i++)
			if (wanted[i].name ? strcmp(wanted[i].name, field.name) == 0
					   : !*field.name && wanted[i].injected == field.injected) {
				ret[wanted[i].to] = field.offset;
				found++;
			}
	if (r < 0)
		return r;
	return found == n ? 0 : -ENOENT;
}

static int find_continuation(const struct runtime_facts *facts, const struct runtime_memory *memory,
			     uint64_t class, uint32_t *ret)
{
	/* References that lie side by side. */
	static const struct wanted_field wanted[] = {{"child", 0, REFERENCE_BYTES},
						     {"tail", 0, CONTINUATION_TAIL}};
	int r = find_wanted(facts, memory, class, wanted, 2, ret);

	if (r < 0)
		return r;
	ret[REFERENCE_BYTES] = ret[CONTINUATION_TAIL] - ret[REFERENCE_BYTES];
	return ret[REFERENCE_BYTES] == 4 || ret[REFERENCE_BYTES] == 8 ? 0 : -ENOENT;
}

static int find_chunk(const struct runtime_facts *facts, const struct runtime_memory *memory,
		      uint64_t class, uint32_t *ret)
{
	static const struct wanted_field wanted[] = {
		{NULL, INJECTED_CONTINUATION, CHUNK_CONTINUATION},
		{NULL, INJECTED_PC, CHUNK_PC},
		{"parent", 0, CHUNK_PARENT},
		{"sp", 0, CHUNK_SP},
		{"bottom", 0, CHUNK_BOTTOM},
	};
	int r = find_wanted(facts, memory, class, wanted, sizeof wanted / sizeof *wanted, ret);
	uint32_t layout;

	if (r < 0)
		return r;
	r = hotspot_read(memory, class + facts->offsets[CLASS_LAYOUT], &layout, sizeof layout);
	if (r < 0)
		return r;
	ret[CHUNK_STACK] = layout & ~7u; /* the last bits say how they are made */
	return 0;
}

/* The classes @ret, by name; 0: not among them. Returns -EAGAIN before there are classes. */
static int find_classes(const struct runtime_facts *facts, const struct runtime_memory *memory,
			uint64_t ret[static 2])
{
	static const char *const names[] = {CONTINUATION, CHUNK};
	const uint32_t *o = facts->offsets;
	uint64_t classes[MOST_CLASSES], symbol;
	char name[NAME_BYTES];
	int r = hotspot_read(memory, o[CLASSES] + memory->bias, classes, sizeof classes);

	if (r < 0)
		return r;
	for (size_t i = 0; i < MOST_CLASSES && !(ret[0] && ret[1]); i++) {
		if (!classes[i])
			return -EAGAIN;
		r = hotspot_read(memory, classes[i] + o[CLASS_NAME], &symbol, sizeof symbol);
		if (r < 0)
			return r;
		r = hotspot_name(o, memory, symbol, name, sizeof name);
		if (r < 0)
			return r;
		for (size_t k = 0; k < 2; k++)
			if (strcmp(name, names[k]) == 0)
				ret[k] = classes[i];
	}
	return ret[0] && ret[1] ? 0 : -ENOENT;
}

void hotspot_find_chunks(struct runtime_facts *facts, const struct runtime_memory *memory)
{
	struct runtime_facts whole = *facts;
	uint64_t classes[2] = {};
	int r = find_classes(facts, memory, classes);

	facts->is_early = r == -EAGAIN;
	whole.is_early = 0;
	if (r == 0 && find_continuation(facts, memory, classes[0], whole.offsets) == 0 &&
	    find_chunk(facts, memory, classes[1], whole.offsets) == 0 && hotspot_is_sound(&whole))
		*facts = whole;
}
