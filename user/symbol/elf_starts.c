/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_starts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"

/* How pointers are encoded (LSB, 10.5.1). */
#define UDATA4	       0x03
#define DATAREL_SDATA4 0x3b
#define SIZE_BITS      0x0f

#define MAX_STARTS (1u << 22)
#define MAX_FRAMES (64u << 20) /* bytes of .eh_frame without a table */

/* An entry of the table; both relative to the entry itself. */
struct elf_start {
	int32_t start, frame; /* of the function, and of its frame description */
};

struct table_head {
	uint8_t version, pointer, count, table; /* encodings */
	int32_t eh_frame;
	uint32_t n;
};

/* A frame description in the usual form: pointers of four bytes, relative to themselves. */
struct frame_head {
	uint32_t length, cie;
	int32_t start;
	uint32_t size;
};

static const Elf64_Phdr *find_segment(const struct elf_file *file)
{
	for (size_t i = 0; i < file->n_segments; i++)
		if (file->segments[i].p_type == PT_GNU_EH_FRAME)
			return &file->segments[i];
	return NULL;
}

static int by_start(const void *a, const void *b)
{
	int32_t x = ((const struct elf_start *)a)->start, y = ((const struct elf_start *)b)->start;

	return (x > y) - (x < y);
}

/* The frame descriptions among the @n bytes of .eh_frame, which is at @base. */
static int list_frames(const uint8_t *bytes, size_t n, uint64_t base, struct elf_starts *ret)
{
	struct elf_start *items = NULL;
	size_t n_items = 0, capacity = 0;
	struct frame_head head;

	for (size_t at = 0; at + sizeof head <= n && n_items < MAX_STARTS;
	     at += sizeof head.length + head.length) {
		memcpy(&head, bytes + at, sizeof head);
		if (!head.length || head.length > n - at - sizeof head.length)
			break;
		if (!head.cie)
			continue;
		if (array_add(items, capacity, n_items,
			      (struct elf_start){at + offsetof(struct frame_head, start) +
							 head.start,
						 at}) < 0) {
			free(items);
			return -ENOMEM;
		}
	}
	if (!n_items)
		return -ENOENT;
	qsort(items, n_items, sizeof *items, by_start);
	*ret = (struct elf_starts){items, n_items, base};
	return 0;
}

/* Linkers add no table to programs that are linked statically. */
static int list_section(struct elf_starts *ret, struct elf_file *file)
{
	const Elf64_Shdr *section = elf_file_section(file, ".eh_frame");
	uint64_t n = section ? section->sh_size : 0;
	_cleanup_free_ uint8_t *bytes = NULL;
	int r;

	if (!n || n > MAX_FRAMES || section->sh_type == SHT_NOBITS)
		return -ENOENT;
	bytes = malloc(n);
	if (!bytes)
		return -ENOMEM;
	r = elf_file_read(file, section->sh_offset, bytes, n);
	if (r < 0)
		return r;
	return list_frames(bytes, n, section->sh_addr, ret);
}

static int read_table(struct elf_starts *ret, const struct elf_file *file)
{
	const Elf64_Phdr *segment = find_segment(file);
	struct table_head head;
	struct elf_start *items;
	int r = segment ? elf_file_read(file, segment->p_offset, &head, sizeof head) : -ENOENT;

	if (r < 0)
		return r;
	if (head.version != 1 || (head.pointer & SIZE_BITS) != (DATAREL_SDATA4 & SIZE_BITS) ||
	    head.count != UDATA4 || head.table != DATAREL_SDATA4 || head.n > MAX_STARTS)
		return -ENOENT;
	items = malloc((head.n + 1) * sizeof *items);
	if (!items)
		return -ENOMEM;
	r = elf_file_read(file, segment->p_offset + sizeof head, items, head.n * sizeof *items);
	if (r < 0) {
		free(items);
		return r;
	}
	*ret = (struct elf_starts){items, head.n, segment->p_vaddr};
	return 0;
}

int elf_starts_open(struct elf_starts *ret, struct elf_file *file)
{
	int r = read_table(ret, file);

	return r == -ENOENT ? list_section(ret, file) : r;
}

void elf_starts_done(struct elf_starts *starts)
{
	free(starts->items);
	*starts = (struct elf_starts){};
}

static uint64_t start_of(const struct elf_starts *starts, size_t i)
{
	return starts->base + starts->items[i].start;
}

/* Whether the function of item @i extends to @address. */
static bool holds(const struct elf_starts *starts, const struct elf_file *file, size_t i,
		  uint64_t address, struct elf_function *ret)
{
	uint64_t at = starts->base + starts->items[i].frame, offset, n;
	struct frame_head head;

	if (!elf_file_offset(file, at, &offset, &n) || n < sizeof head ||
	    elf_file_read(file, offset, &head, sizeof head) < 0)
		return false;
	*ret = (struct elf_function){start_of(starts, i), start_of(starts, i) + head.size};
	return at + offsetof(struct frame_head, start) + head.start == ret->start &&
	       address - ret->start < head.size;
}

bool elf_starts_find(const struct elf_starts *starts, const struct elf_file *file, uint64_t address,
		     struct elf_function *ret)
{
	size_t low = 0, n = starts->n;

	if (!n || address < start_of(starts, 0))
		return false;
	while (n > 1) {
		size_t half = n / 2;

		if (start_of(starts, low + half) <= address)
			low += half;
		n -= half;
	}
	return holds(starts, file, low, address, ret);
}
