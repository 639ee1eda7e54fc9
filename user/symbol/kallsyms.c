/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms: 120 000 lines `ADDRESS TYPE NAME[\t[MODULE]]`, of which a few hundred are wanted.
 *
 * Lines need not be sorted (modules follow the kernel). Each function is put at the first address
 * that it could name, where the nearest one stays, and is handed on to the right at the end.
 * Neighbours in the file compete for the same address, so the name of the latest winner is left in
 * the read buffer until another address has a winner or the buffer is refilled.
 */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/demangle.h"

#define BUFFER_SIZE 65536
/* No function is longer: what lies beyond is not code that kallsyms knows. */
#define MAX_FUNCTION (1 << 20)
#define NO_SLOT	     SIZE_MAX

/* The nearest function at or before an address. */
struct slot {
	uint64_t address;
	char *name; /* in the read buffer for the borrowing slot, else owned; NULL: none */
	size_t length;
	int rank; /* by type; 0 is best */
};

struct reader {
	struct lookups *lookups;
	struct slot *slots;
	size_t borrowing; /* this slot's name is in the buffer */
	size_t last_at;	  /* where the last function belonged: mostly the next one's, too */
	uint64_t last;	  /* of the lookups */
	bool any_address;
};

/* The rank of a symbol of this type among functions, or -1. */
static int rank_of_type(char type)
{
	switch (type) {
	case 'T': return 0;
	case 'W':
	case 'w': return 1;
	case 't': return 2;
	default: return -1;
	}
}

/* Names of places and of padding before functions. */
static bool is_place(const char *name, size_t n)
{
	return !n || name[0] == '$' || (n > 1 && memcmp(name, ".L", 2) == 0) ||
	       (n > 6 && (memcmp(name, "__pfx_", 6) == 0 || memcmp(name, "__cfi_", 6) == 0));
}

/* Gives the borrowing slot a copy of its name. */
static int own_name(struct reader *reader)
{
	struct slot *slot;
	char *name;

	if (reader->borrowing == NO_SLOT)
		return 0;
	slot = &reader->slots[reader->borrowing];
	name = strndup(slot->name, slot->length);
	if (!name)
		return -ENOMEM;
	slot->name = name;
	reader->borrowing = NO_SLOT;
	return 0;
}

/* Like symbol_name_compare(), for names without a NUL. */
static int compare_names(const struct slot *a, const struct slot *b)
{
	size_t underscores_a = 0, underscores_b = 0;

	while (underscores_a < a->length && a->name[underscores_a] == '_')
		underscores_a++;
	while (underscores_b < b->length && b->name[underscores_b] == '_')
		underscores_b++;
	if (underscores_a != underscores_b)
		return underscores_a < underscores_b ? -1 : 1;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return memcmp(a->name, b->name, a->length);
}

static bool is_better(const struct slot *a, const struct slot *b)
{
	if (!b->name)
		return true;
	if (a->address != b->address)
		return a->address > b->address;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return compare_names(a, b) < 0;
}

/* The first lookup at or after @address, which is not past the last. */
static size_t find_slot(struct reader *reader, uint64_t address)
{
	const uint64_t *addresses = reader->lookups->addresses;
	size_t at = reader->last_at;

	if (address > addresses[at] || (at && address <= addresses[at - 1]))
		at = lookups_lower_bound(reader->lookups, address);
	reader->last_at = at;
	return at;
}

static int offer(struct reader *reader, const struct slot *function)
{
	size_t at = find_slot(reader, function->address);
	struct slot *slot = &reader->slots[at];
	int r;

	if (!is_better(function, slot))
		return 0;
	if (reader->borrowing != at) {
		r = own_name(reader);
		if (r < 0)
			return r;
		free(slot->name);
	}
	*slot = *function;
	reader->borrowing = at;
	return 0;
}

/* The number at the start of a line; *@text moves behind it. */
static uint64_t parse_hex(char **text, const char *end)
{
	uint64_t value = 0;
	char *at = *text;

	for (; at<end && * at> ' '; at++)
		value = value << 4 | ((*at & 15) + (*at >> 6) * 9);
	*text = at;
	return value;
}

static int take_line(struct reader *reader, char *at, const char *end)
{
	struct slot function = {};
	const char *tab;

	function.address = parse_hex(&at, end);
	if (function.address)
		reader->any_address = true;
	if (end - at < 4 || !function.address || function.address > reader->last)
		return 0;
	function.rank = rank_of_type(at[1]);
	if (function.rank < 0)
		return 0;
	function.name = at + 3;
	tab = memchr(function.name, '\t', end - function.name);
	function.length = (tab ? tab : end) - function.name;
	if (is_place(function.name, function.length))
		return 0;
	return offer(reader, &function);
}

/* Takes the whole lines of @buffer. Returns how many bytes they were. */
static int take_lines(struct reader *reader, char *buffer, size_t n, size_t *ret_taken)
{
	char *line = buffer, *end;
	int r;

	while ((end = memchr(line, '\n', buffer + n - line))) {
		r = take_line(reader, line, end);
		if (r < 0)
			return r;
		line = end + 1;
	}
	*ret_taken = line - buffer;
	return own_name(reader);
}

/* Reads until @buffer is full or the file ends. Returns the bytes in it, @n of them from before. */
static size_t fill(int fd, char *buffer, size_t n)
{
	while (n < BUFFER_SIZE) {
		ssize_t got = read(fd, buffer + n, BUFFER_SIZE - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += got;
	}
	return n;
}

static int read_file(struct reader *reader, int fd, char *buffer)
{
	size_t kept = 0, n, taken;
	int r;

	while ((n = fill(fd, buffer, kept)) > kept) {
		r = take_lines(reader, buffer, n, &taken);
		if (r < 0)
			return r;
		/* A line longer than the buffer is no line of kallsyms: drop it. */
		kept = taken ? n - taken : 0;
		memmove(buffer, buffer + taken, kept);
	}
	return 0;
}

static int add_names(struct reader *reader, struct strings *strings)
{
	struct lookups *lookups = reader->lookups;
	const struct slot *nearest = NULL;
	uint32_t id = 0;

	for (size_t i = 0; i < lookups->n; i++) {
		if (reader->slots[i].name) {
			int r = demangle_add(strings, reader->slots[i].name, &id);

			if (r < 0)
				return r;
			nearest = &reader->slots[i];
		}
		if (nearest && lookups->addresses[i] - nearest->address < MAX_FUNCTION)
			lookups->names[i] = id;
	}
	return 0;
}

/* Frees the names that slots own; a borrowed one is the buffer's. */
static void free_slots(struct reader *reader)
{
	for (size_t i = 0; reader->slots && i < reader->lookups->n; i++) {
		if (i != reader->borrowing)
			free(reader->slots[i].name);
	}
	free(reader->slots);
}

int kallsyms_resolve(const char *path, struct lookups *lookups, struct strings *strings,
		     bool *ret_hidden)
{
	struct reader reader = {.lookups = lookups, .borrowing = NO_SLOT};
	char *buffer;
	int fd, r = -ENOMEM;

	if (!lookups->n)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	reader.last = lookups->addresses[lookups->n - 1];
	reader.slots = calloc(lookups->n, sizeof *reader.slots);
	buffer = malloc(BUFFER_SIZE);
	if (reader.slots && buffer) {
		r = fd < 0 ? 0 : read_file(&reader, fd, buffer);
		if (r == 0)
			r = add_names(&reader, strings);
		if (r == 0)
			*ret_hidden = !reader.any_address;
	}
	free_slots(&reader);
	free(buffer);
	if (fd >= 0)
		close(fd);
	return r;
}
