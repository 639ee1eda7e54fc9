/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names in the metadata of an assembly (ECMA-335, II.22–25), as a process has it in its memory. A
 * PE file leads to a heap of texts and to tables, whose rows are as wide as the numbers of rows of
 * the others make them: so all are counted first, up to the last that is needed.
 *
 * Nothing is believed: each place is checked to be within its table or heap, and a method's name is
 * only given with its type's if that says that the method is one of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtimes/dotnet.h"

enum table {
	TABLE_MODULE = 0x00,
	TABLE_TYPE = 0x02,
	TABLE_METHOD_POINTER = 0x05,
	TABLE_METHOD = 0x06,
	TABLE_NESTED = 0x29,
	N_TABLES,
	N_COUNTS = 64,
};

/* Columns: a number of bytes, an index to a heap or a table, or one to some tables. */
enum column {
	NO_COLUMN,
	TEXT,
	GUID,
	BLOB,
	BYTES_2,
	BYTES_4,
	TO_TYPE,
	TO_CONSTANT,
	TO_ATTRIBUTED,
	TO_MARSHALLED,
	TO_SECURED,
	TO_PARENT,
	TO_SEMANTIC,
	TO_METHOD,
	TO_FORWARDED,
	TO_IMPLEMENTATION,
	TO_ATTRIBUTE,
	TO_SCOPE,
	N_KINDS,
	TO_TABLE = 0x40, /* and its number */
};
#define TO(table) (TO_TABLE + (table))

static const struct {
	uint8_t bits; /* of which table it is */
	uint64_t tables;
} choices[N_KINDS] = {
	[TO_TYPE] = {2, 1ull << 0x02 | 1ull << 0x01 | 1ull << 0x1b},
	[TO_CONSTANT] = {2, 1ull << 0x04 | 1ull << 0x08 | 1ull << 0x17},
	[TO_ATTRIBUTED] = {5, 1ull << 0x06 | 1ull << 0x04 | 1ull << 0x01 | 1ull << 0x02 |
				      1ull << 0x08 | 1ull << 0x09 | 1ull << 0x0a | 1ull << 0x00 |
				      1ull << 0x0e | 1ull << 0x17 | 1ull << 0x14 | 1ull << 0x11 |
				      1ull << 0x1a | 1ull << 0x1b | 1ull << 0x20 | 1ull << 0x23 |
				      1ull << 0x26 | 1ull << 0x27 | 1ull << 0x28 | 1ull << 0x2a |
				      1ull << 0x2b | 1ull << 0x2c},
	[TO_MARSHALLED] = {1, 1ull << 0x04 | 1ull << 0x08},
	[TO_SECURED] = {2, 1ull << 0x02 | 1ull << 0x06 | 1ull << 0x20},
	[TO_PARENT] = {3, 1ull << 0x02 | 1ull << 0x01 | 1ull << 0x1a | 1ull << 0x06 | 1ull << 0x1b},
	[TO_SEMANTIC] = {1, 1ull << 0x14 | 1ull << 0x17},
	[TO_METHOD] = {1, 1ull << 0x06 | 1ull << 0x0a},
	[TO_FORWARDED] = {1, 1ull << 0x04 | 1ull << 0x06},
	[TO_IMPLEMENTATION] = {2, 1ull << 0x26 | 1ull << 0x23 | 1ull << 0x27},
	[TO_ATTRIBUTE] = {3, 1ull << 0x06 | 1ull << 0x0a},
	[TO_SCOPE] = {2, 1ull << 0x00 | 1ull << 0x1a | 1ull << 0x23 | 1ull << 0x01},
};

#define MOST_COLUMNS 9

// clang-format off
static const uint8_t columns[N_TABLES][MOST_COLUMNS] = {
	[0x00] = {BYTES_2, TEXT, GUID, GUID, GUID},
	[0x01] = {TO_SCOPE, TEXT, TEXT},
	[0x02] = {BYTES_4, TEXT, TEXT, TO_TYPE, TO(0x04), TO(0x06)},
	[0x03] = {TO(0x04)},
	[0x04] = {BYTES_2, TEXT, BLOB},
	[0x05] = {TO(0x06)},
	[0x06] = {BYTES_4, BYTES_2, BYTES_2, TEXT, BLOB, TO(0x08)},
	[0x07] = {TO(0x08)},
	[0x08] = {BYTES_2, BYTES_2, TEXT},
	[0x09] = {TO(0x02), TO_TYPE},
	[0x0a] = {TO_PARENT, TEXT, BLOB},
	[0x0b] = {BYTES_2, TO_CONSTANT, BLOB},
	[0x0c] = {TO_ATTRIBUTED, TO_ATTRIBUTE, BLOB},
	[0x0d] = {TO_MARSHALLED, BLOB},
	[0x0e] = {BYTES_2, TO_SECURED, BLOB},
	[0x0f] = {BYTES_2, BYTES_4, TO(0x02)},
	[0x10] = {BYTES_4, TO(0x04)},
	[0x11] = {BLOB},
	[0x12] = {TO(0x02), TO(0x14)},
	[0x13] = {TO(0x14)},
	[0x14] = {BYTES_2, TEXT, TO_TYPE},
	[0x15] = {TO(0x02), TO(0x17)},
	[0x16] = {TO(0x17)},
	[0x17] = {BYTES_2, TEXT, BLOB},
	[0x18] = {BYTES_2, TO(0x06), TO_SEMANTIC},
	[0x19] = {TO(0x02), TO_METHOD, TO_METHOD},
	[0x1a] = {TEXT},
	[0x1b] = {BLOB},
	[0x1c] = {BYTES_2, TO_FORWARDED, TEXT, TO(0x1a)},
	[0x1d] = {BYTES_4, TO(0x04)},
	[0x1e] = {BYTES_4, BYTES_4},
	[0x1f] = {BYTES_4},
	[0x20] = {BYTES_4, BYTES_4, BYTES_4, BYTES_4, BLOB, TEXT, TEXT},
	[0x21] = {BYTES_4},
	[0x22] = {BYTES_4, BYTES_4, BYTES_4},
	[0x23] = {BYTES_4, BYTES_4, BYTES_4, BLOB, TEXT, TEXT, BLOB},
	[0x24] = {BYTES_4, TO(0x23)},
	[0x25] = {BYTES_4, BYTES_4, BYTES_4, TO(0x23)},
	[0x26] = {BYTES_4, TEXT, BLOB},
	[0x27] = {BYTES_4, BYTES_4, TEXT, TEXT, TO_IMPLEMENTATION},
	[0x28] = {BYTES_4, BYTES_4, TEXT, TO_IMPLEMENTATION},
	[TABLE_NESTED] = {TO(0x02), TO(0x02)},
};
// clang-format on

/* Places of columns in their rows' lists. */
enum { MODULE_NAME = 1, TYPE_NAME = 1, TYPE_SPACE = 2, TYPE_METHODS = 5, METHOD_OWN_NAME = 3 };

#define MOST_DEPTH 16 /* types in types */
#define MOST_TEXT  256
#define ROW_BYTES  32

struct metadata {
	const struct runtime_memory *memory;
	uint32_t counts[N_COUNTS]; /* rows */
	uint64_t tables[N_TABLES];
	uint32_t sizes[N_TABLES]; /* bytes of a row */
	uint64_t texts;
	uint32_t n_texts;
	uint8_t wide; /* heaps whose indices have four bytes */
};

static int read_bytes(const struct runtime_memory *memory, uint64_t address, void *to, uint32_t n)
{
	const struct runtime_piece piece = {address, n, to};

	return memory->read(memory->context, &piece, 1);
}

static uint32_t number_at(const uint8_t *bytes, uint32_t n)
{
	uint32_t number = 0;

	memcpy(&number, bytes, n);
	return number;
}

/* --- the file --- */

#define PE_AT	       0x3c
#define PE_HEAD	       24
#define PE_SECTION     40
#define MOST_SECTIONS  16
#define MOST_HEAD      4096
#define PE_DIRECTORIES 96
#define PE_WIDE	       16 /* bytes more before them */
#define PE_IS_WIDE     0x20b
#define CLI_DIRECTORY  14
#define METADATA_MAGIC 0x424a5342
#define MOST_METADATA  (1u << 30)

struct image {
	uint64_t base;
	uint32_t cli; /* where its header is, once loaded */
	bool is_file; /* it is as in the file */
	uint32_t n;
	uint32_t sections[MOST_SECTIONS][4]; /* bytes, where, bytes in the file, where there */
};

static uint64_t place(const struct image *image, uint32_t loaded)
{
	for (uint32_t i = 0; image->is_file && i < image->n; i++) {
		const uint32_t *section = image->sections[i];

		if (loaded >= section[1] && loaded - section[1] < section[2])
			return image->base + section[3] + (loaded - section[1]);
	}
	return image->base + loaded;
}

static int read_image(const struct runtime_memory *memory, uint64_t base, struct image *ret)
{
	uint8_t head[PE_HEAD + PE_DIRECTORIES + PE_WIDE + 8 * CLI_DIRECTORY + 8];
	uint32_t at, n_optional, directories;
	int r = base ? read_bytes(memory, base + PE_AT, &at, sizeof at) : -ESTALE;

	if (r < 0)
		return r;
	if (at > MOST_HEAD)
		return -ESTALE;
	r = read_bytes(memory, base + at, head, sizeof head);
	if (r < 0)
		return r;
	if (memcmp(head, "PE\0", 4) != 0)
		return -ESTALE;
	*ret = (struct image){.base = base, .n = number_at(head + 6, 2)};
	n_optional = number_at(head + 20, 2);
	directories = PE_HEAD + PE_DIRECTORIES +
		      (number_at(head + PE_HEAD, 2) == PE_IS_WIDE ? PE_WIDE : 0);
	ret->cli = number_at(head + directories + 8 * CLI_DIRECTORY, 4);
	if (!ret->cli || ret->n > MOST_SECTIONS || n_optional > MOST_HEAD)
		return -ESTALE;
	for (uint32_t i = 0; i < ret->n; i++) {
		r = read_bytes(memory, base + at + PE_HEAD + n_optional + PE_SECTION * i + 8,
			       ret->sections[i], sizeof ret->sections[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Where the metadata is, and how much. */
static int find_root(const struct runtime_memory *memory, struct image *image, uint64_t *ret,
		     uint32_t *ret_n)
{
	uint32_t header[4], magic;

	for (int way = 0; way < 2; way++) {
		image->is_file = way;
		if (read_bytes(memory, place(image, image->cli), header, sizeof header) < 0 ||
		    header[3] > MOST_METADATA)
			continue;
		*ret = place(image, header[2]);
		*ret_n = header[3];
		if (read_bytes(memory, *ret, &magic, sizeof magic) == 0 && magic == METADATA_MAGIC)
			return 0;
	}
	return -ESTALE;
}

/* --- its tables --- */

static uint32_t width(const struct metadata *metadata, uint8_t column)
{
	uint32_t most = 0;

	switch (column) {
	case NO_COLUMN: return 0;
	case TEXT: return metadata->wide & 1 ? 4 : 2;
	case GUID: return metadata->wide & 2 ? 4 : 2;
	case BLOB: return metadata->wide & 4 ? 4 : 2;
	case BYTES_2: return 2;
	case BYTES_4: return 4;
	default: break;
	}
	if (column >= TO_TABLE)
		return metadata->counts[column - TO_TABLE] >> 16 ? 4 : 2;
	for (uint32_t i = 0; i < N_COUNTS; i++)
		if (choices[column].tables >> i & 1 && metadata->counts[i] > most)
			most = metadata->counts[i];
	return most >> (16 - choices[column].bits) ? 4 : 2;
}

/* Their heads begin at @at: @n bytes with all of them. */
static int count_tables(struct metadata *metadata, uint64_t at, uint32_t n)
{
	uint8_t head[24];
	uint32_t counts[N_COUNTS], k = 0;
	uint64_t valid, next;
	int r = n < sizeof head ? -ESTALE : read_bytes(metadata->memory, at, head, sizeof head);

	if (r < 0)
		return r;
	memcpy(&valid, head + 8, sizeof valid);
	metadata->wide = head[6];
	if (metadata->wide & 0x40) /* extra data, of programs that are being edited */
		return -ESTALE;
	for (uint32_t i = 0; i < N_COUNTS; i++)
		k += valid >> i & 1;
	if (n < sizeof head + 4 * k)
		return -ESTALE;
	r = read_bytes(metadata->memory, at + sizeof head, counts, 4 * k);
	if (r < 0)
		return r;
	next = at + sizeof head + 4 * k;
	k = 0;
	for (uint32_t i = 0; i < N_COUNTS; i++)
		metadata->counts[i] = valid >> i & 1 ? counts[k++] : 0;
	for (uint32_t i = 0; i < N_TABLES; i++) {
		for (uint32_t c = 0; c < MOST_COLUMNS; c++)
			metadata->sizes[i] += width(metadata, columns[i][c]);
		if (metadata->counts[i] >> 24) /* tokens have no room for more */
			return -ESTALE;
		metadata->tables[i] = next;
		next += (uint64_t)metadata->sizes[i] * metadata->counts[i];
	}
	return next <= at + n ? 0 : -ESTALE;
}

#define MOST_STREAMS 8
#define STREAM_HEAD  8
#define STREAM_NAME  32

static int read_streams(struct metadata *metadata, uint64_t root, uint32_t n)
{
	uint8_t bytes[STREAM_HEAD + STREAM_NAME];
	uint32_t at, n_version, has_tables = 0;
	uint16_t n_streams;
	int r = read_bytes(metadata->memory, root + 12, &n_version, sizeof n_version);

	if (r < 0)
		return r;
	if (n_version > 255)
		return -ESTALE;
	at = 16 + n_version + 2;
	r = read_bytes(metadata->memory, root + at, &n_streams, sizeof n_streams);
	if (r < 0)
		return r;
	at += 2;
	for (uint32_t i = 0; i < n_streams && i < MOST_STREAMS; i++) {
		uint32_t where, many;
		const char *name = (const char *)bytes + STREAM_HEAD;

		r = read_bytes(metadata->memory, root + at, bytes, sizeof bytes);
		if (r < 0)
			return r;
		where = number_at(bytes, 4);
		many = number_at(bytes + 4, 4);
		if (where > n || many > n - where || !memchr(name, 0, STREAM_NAME))
			return -ESTALE;
		if (strcmp(name, "#~") == 0) {
			has_tables = 1;
			r = count_tables(metadata, root + where, many);
			if (r < 0)
				return r;
		} else if (strcmp(name, "#Strings") == 0) {
			metadata->texts = root + where;
			metadata->n_texts = many;
		}
		at += STREAM_HEAD + (strlen(name) / 4 + 1) * 4;
	}
	return has_tables && metadata->n_texts ? 0 : -ESTALE;
}

/* Column @column of row @row, from 1. */
static int read_cell(const struct metadata *metadata, uint32_t table, uint32_t row, uint32_t column,
		     uint32_t *ret)
{
	uint64_t at = metadata->tables[table] + (uint64_t)metadata->sizes[table] * (row - 1);

	if (!row || row > metadata->counts[table])
		return -ESTALE;
	for (uint32_t i = 0; i < column; i++)
		at += width(metadata, columns[table][i]);
	*ret = 0;
	return read_bytes(metadata->memory, at, ret, width(metadata, columns[table][column]));
}

/* The text that a column leads to. */
static int read_text(const struct metadata *metadata, uint32_t table, uint32_t row, uint32_t column,
		     char to[static MOST_TEXT])
{
	uint32_t at, n;
	int r = read_cell(metadata, table, row, column, &at);

	if (r < 0)
		return r;
	if (at >= metadata->n_texts)
		return -ESTALE;
	n = metadata->n_texts - at < MOST_TEXT ? metadata->n_texts - at : MOST_TEXT;
	r = read_bytes(metadata->memory, metadata->texts + at, to, n);
	if (r < 0)
		return r;
	to[n - 1] = '\0';
	for (char *c = to; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f || *c == ';')
			*c = '?';
	return 0;
}

/* The type that @type is in; 0: none. */
static int read_outer(const struct metadata *metadata, uint32_t type, uint32_t *ret)
{
	uint32_t low = 1, high = metadata->counts[TABLE_NESTED] + 1, inner;

	*ret = 0;
	while (low < high) {
		uint32_t half = (low + high) / 2;
		int r = read_cell(metadata, TABLE_NESTED, half, 0, &inner);

		if (r < 0)
			return r;
		if (inner == type)
			return read_cell(metadata, TABLE_NESTED, half, 1, ret);
		if (inner < type)
			low = half + 1;
		else
			high = half;
	}
	return 0;
}

static int is_method_of(const struct metadata *metadata, uint32_t type, uint32_t method)
{
	uint32_t first, end = metadata->counts[TABLE_METHOD] + 1;
	int r = read_cell(metadata, TABLE_TYPE, type, TYPE_METHODS, &first);

	if (r < 0)
		return r;
	if (type < metadata->counts[TABLE_TYPE]) {
		r = read_cell(metadata, TABLE_TYPE, type + 1, TYPE_METHODS, &end);
		if (r < 0)
			return r;
	}
	return method >= first && method < end ? 0 : -ESTALE;
}

/* Puts @text and a dot before what is in @to. */
static int prepend(char to[static RUNTIME_NAME_MAX], const char *text)
{
	size_t n = strlen(text), n_to = strlen(to) + 1;

	if (n + 1 + n_to > RUNTIME_NAME_MAX)
		return -ESTALE;
	memmove(to + n + 1, to, n_to);
	memcpy(to, text, n);
	to[n] = '.';
	return 0;
}

/* Puts `space.type.` before what is in @to. */
static int prepend_type(const struct metadata *metadata, uint32_t type,
			char to[static RUNTIME_NAME_MAX])
{
	char text[MOST_TEXT];
	int r = read_text(metadata, TABLE_TYPE, type, TYPE_NAME, text);

	if (r < 0)
		return r;
	r = prepend(to, text);
	if (r < 0)
		return r;
	r = read_text(metadata, TABLE_TYPE, type, TYPE_SPACE, text);
	if (r < 0)
		return r;
	return *text ? prepend(to, text) : 0;
}

static int read_names(const struct metadata *metadata, uint32_t type, uint32_t method,
		      struct runtime_code *ret)
{
	char text[MOST_TEXT];
	int r = read_text(metadata, TABLE_METHOD, method, METHOD_OWN_NAME, text);

	if (r < 0)
		return r;
	if (!*text)
		return -ESTALE;
	snprintf(ret->name, sizeof ret->name, "%s", text);
	for (int depth = 0; type; depth++) {
		if (depth == MOST_DEPTH)
			return -ESTALE;
		r = prepend_type(metadata, type, ret->name);
		if (r < 0)
			return r;
		r = read_outer(metadata, type, &type);
		if (r < 0)
			return r;
	}
	r = read_text(metadata, TABLE_MODULE, 1, MODULE_NAME, text);
	if (r < 0)
		return r;
	snprintf(ret->file, sizeof ret->file, "%s", text);
	return 0;
}

int dotnet_metadata_name(const struct runtime_memory *memory, uint64_t base, uint32_t type,
			 uint32_t method, struct runtime_code *ret)
{
	struct metadata metadata = {.memory = memory};
	struct image image;
	uint64_t root;
	uint32_t n;
	int r = read_image(memory, base, &image);

	if (r < 0)
		return r;
	r = find_root(memory, &image, &root, &n);
	if (r < 0)
		return r;
	r = read_streams(&metadata, root, n);
	if (r < 0)
		return r;
	if (metadata.counts[TABLE_METHOD_POINTER])
		return -ESTALE;
	r = is_method_of(&metadata, type, method);
	if (r < 0)
		return r;
	return read_names(&metadata, type, method, ret);
}
