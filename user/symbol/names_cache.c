/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each half is an array of bytes that only grows, and a table of chains through it. An entry is of
 * a file (number 0, hashed by its key) or of a span of addresses in a block of a file (by that and
 * the file's number, which no other file ever gets). Offsets, no pointers: every process has the
 * memory at its own place.
 */
#include "symbol/names_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/system.h"
#include "base/table.h"

#define BYTES_PER_CHAIN 128
#define MAX_FRAMES	64 /* of an address; one that has more is asked for each time */

struct entry {
	uint32_t next;	/* offset in the half; 0: the last of its chain */
	uint32_t bytes; /* of all of it */
	uint64_t file;	/* its number; 0: this is a file */
	uint64_t block; /* number of the block; the hash of a file's key */
};

struct file_entry {
	struct entry entry;
	struct names_key key;
	uint64_t number;
	uint64_t after_ns, rests_until_ns;
	uint32_t effort; /* enum names_effort */
	uint32_t id_n;
	uint8_t id[ELF_BUILD_ID_MAX];
};

/* Followed by the name, and function and file of each frame, each with its NUL. */
struct span_entry {
	struct entry entry;
	uint64_t address;      /* as in struct named_address … */
	uint16_t asked;	       /* … of this one; positions in the block, here and below */
	uint16_t first, after; /* the span */
	bool is_final;
	uint8_t n_frames;
	uint32_t lines[MAX_FRAMES]; /* only @n_frames of them are there */
};

struct half {
	uint64_t used;	  /* bytes; the first few are never an entry */
	uint64_t n;	  /* addresses … */
	uint64_t n_moved; /* … of which so many are in the other half, too */
};

struct names_cache {
	size_t bytes, half_bytes, n_chains;
	pthread_mutex_t lock;
	struct half halves[2];
	uint32_t young;
	uint64_t last_file;
	struct names_cache_stats stats;
	/* For each half its chains, then its entries. */
	uint32_t memory[];
};

static uint32_t *chains_of(struct names_cache *cache, uint32_t half)
{
	return (uint32_t *)((char *)cache->memory + half * cache->half_bytes);
}

static char *entries_of(struct names_cache *cache, uint32_t half)
{
	return (char *)(chains_of(cache, half) + cache->n_chains);
}

static size_t entries_bytes(const struct names_cache *cache)
{
	return cache->half_bytes - cache->n_chains * sizeof(uint32_t);
}

static void clear(struct names_cache *cache, uint32_t half)
{
	/* Untouched memory is given back, and reads as zero again. */
	if (madvise(chains_of(cache, half), cache->half_bytes, MADV_REMOVE) < 0)
		memset(chains_of(cache, half), 0, cache->n_chains * sizeof(uint32_t));
	cache->halves[half] = (struct half){.used = sizeof(uint64_t)};
}

/* Page-aligned halves after a header of one page. */
#define HEADER_BYTES 4096
_Static_assert(sizeof(struct names_cache) < HEADER_BYTES, "the header fits into its page");

int names_cache_new(size_t bytes, struct names_cache **ret)
{
	size_t half = (bytes / 2 + 4095) / 4096 * 4096;
	pthread_mutexattr_t attributes;
	struct names_cache *cache = mmap(NULL, HEADER_BYTES + 2 * half, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (cache == MAP_FAILED)
		return -ENOMEM;
	cache->bytes = HEADER_BYTES + 2 * half;
	cache->half_bytes = half;
	cache->n_chains = half / BYTES_PER_CHAIN;
	cache->halves[0].used = cache->halves[1].used = sizeof(uint64_t);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&cache->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	*ret = cache;
	return 0;
}

void names_cache_free(struct names_cache *cache)
{
	if (cache)
		munmap(cache, cache->bytes);
}

/* What a process that died held may be half written: it goes. */
static void lock(struct names_cache *cache)
{
	if (pthread_mutex_lock(&cache->lock) != EOWNERDEAD)
		return;
	clear(cache, 0);
	clear(cache, 1);
	cache->stats.resets++;
	pthread_mutex_consistent(&cache->lock);
}

static void unlock(struct names_cache *cache)
{
	pthread_mutex_unlock(&cache->lock);
}

static uint32_t *chain_of(struct names_cache *cache, uint32_t half, uint64_t file, uint64_t block)
{
	uint64_t hash = hash_mix(hash_mix(0, file), block);

	return &chains_of(cache, half)[hash % cache->n_chains];
}

/* The half that is full becomes the old one. */
static void turn(struct names_cache *cache)
{
	uint32_t old = !cache->young;
	const struct half *half = &cache->halves[old];

	cache->stats.evictions += half->n - half->n_moved;
	clear(cache, old);
	cache->halves[cache->young].n_moved = 0;
	cache->young = old;
}

/* Room for an entry in the young half, its chain set, or NULL if it is larger than that. */
static struct entry *add_entry(struct names_cache *cache, uint64_t file, uint64_t block, size_t n)
{
	struct half *half = &cache->halves[cache->young];
	struct entry *entry;
	uint32_t *chain;

	n = (n + 7) / 8 * 8;
	if (n > entries_bytes(cache) - sizeof(uint64_t))
		return NULL;
	if (half->used + n > entries_bytes(cache)) {
		turn(cache);
		half = &cache->halves[cache->young];
	}
	entry = (struct entry *)(entries_of(cache, cache->young) + half->used);
	chain = chain_of(cache, cache->young, file, block);
	*entry = (struct entry){*chain, n, file, block};
	*chain = half->used;
	half->used += n;
	half->n += file != 0;
	return entry;
}

/* What a search wants. */
struct wanted {
	uint64_t file, block;	     /* as in struct entry */
	const struct names_key *key; /* of a file; NULL: an address … */
	uint16_t at;		     /* … this position in the block */
};

static bool matches(const struct entry *entry, const struct wanted *wanted)
{
	const struct span_entry *span = (const struct span_entry *)entry;

	if (entry->file != wanted->file || entry->block != wanted->block)
		return false;
	if (wanted->key)
		return memcmp(&((const struct file_entry *)entry)->key, wanted->key,
			      sizeof *wanted->key) == 0;
	return wanted->at >= span->first && wanted->at < span->after;
}

/* Whether nothing better can be known. */
static bool is_final(const struct entry *entry)
{
	return !entry->file || ((const struct span_entry *)entry)->is_final;
}

/* The latest one that is final; if there is none, the latest one. */
static struct entry *find_in(struct names_cache *cache, uint32_t half, const struct wanted *wanted)
{
	uint32_t at = *chain_of(cache, half, wanted->file, wanted->block);
	struct entry *found = NULL;

	while (at) {
		struct entry *entry = (struct entry *)(entries_of(cache, half) + at);

		at = entry->next;
		if (!matches(entry, wanted))
			continue;
		if (is_final(entry))
			return entry;
		found = found ? found : entry;
	}
	return found;
}

/* Finds an entry; one of the old half is moved to the young one, unless that would drop it. */
static struct entry *find_entry(struct names_cache *cache, const struct wanted *wanted)
{
	struct entry *young = find_in(cache, cache->young, wanted), *entry, *moved;
	const struct half *half = &cache->halves[cache->young];

	if (young && is_final(young))
		return young;
	entry = find_in(cache, !cache->young, wanted);
	if (!entry || (young && !is_final(entry)))
		return young;
	if (half->used + entry->bytes > entries_bytes(cache))
		return entry;
	moved = add_entry(cache, wanted->file, wanted->block, entry->bytes);
	memcpy(moved + 1, entry + 1, entry->bytes - sizeof *entry);
	cache->halves[!cache->young].n_moved += wanted->file != 0;
	return moved;
}

static uint64_t hash_of(const struct names_key *key)
{
	return hash_bytes(key, sizeof *key);
}

static struct file_entry *find_file(struct names_cache *cache, const struct names_key *key)
{
	const struct wanted wanted = {.block = hash_of(key), .key = key};

	return (struct file_entry *)find_entry(cache, &wanted);
}

static const struct span_entry *find_span(struct names_cache *cache, uint64_t file,
					  uint64_t address)
{
	const struct wanted wanted = {file, address / NAMES_BLOCK, NULL, address % NAMES_BLOCK};

	return (const struct span_entry *)find_entry(cache, &wanted);
}

static struct file_entry *add_file(struct names_cache *cache, const struct names_key *key)
{
	struct file_entry *file = find_file(cache, key);

	if (file)
		return file;
	file = (struct file_entry *)add_entry(cache, 0, hash_of(key), sizeof *file);
	if (!file)
		return NULL;
	memset((char *)file + sizeof file->entry, 0, sizeof *file - sizeof file->entry);
	file->key = *key;
	file->number = ++cache->last_file;
	return file;
}

static const char *texts_of(const struct span_entry *entry)
{
	return (const char *)(entry->lines + entry->n_frames);
}

/* The next text, as a string id. */
static int read_text(const char **text, struct strings *strings, uint32_t *ret)
{
	int r = strings_add(strings, *text, ret);

	*text += strlen(*text) + 1;
	return r;
}

static int read_entry(const struct span_entry *entry, uint64_t asked, struct strings *strings,
		      size_t *frames_capacity, struct file_names *names, struct named_address *item)
{
	const char *text = texts_of(entry);
	int r = array_reserve(names->frames, *frames_capacity, names->n_frames, entry->n_frames);

	if (r < 0)
		return r;
	item->address = entry->address;
	item->first = names->n_frames;
	item->n_frames = entry->n_frames;
	r = read_text(&text, strings, &item->name);
	if (r < 0)
		return r;
	if (item->name) /* else it is the start of its function */
		item->address += asked % NAMES_BLOCK - entry->asked;
	for (size_t i = 0; i < entry->n_frames; i++) {
		struct dwarf_frame *frame = &names->frames[names->n_frames++];

		frame->line = entry->lines[i];
		r = read_text(&text, strings, &frame->function);
		if (r < 0)
			return r;
		r = read_text(&text, strings, &frame->file);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_names(struct names_cache *cache, const struct file_entry *file,
		      const uint64_t *addresses, bool final, struct strings *strings,
		      struct file_names *names, bool *found)
{
	uint64_t number = file->number; /* finding may drop the half that @file is in */
	size_t capacity = 0;
	int n = 0, r;

	names->id_n = file->id_n;
	memcpy(names->id, file->id, sizeof names->id);
	for (size_t i = 0; i < names->n; i++) {
		const struct span_entry *entry = find_span(cache, number, addresses[i]);

		found[i] = entry && (entry->is_final || !final);
		if (!found[i])
			continue;
		r = read_entry(entry, addresses[i], strings, &capacity, names, &names->items[i]);
		if (r < 0)
			return r;
		n++;
	}
	return n;
}

int names_cache_read(struct names_cache *cache, const struct names_key *key,
		     const uint64_t *addresses, bool final, struct strings *strings,
		     struct file_names *names, bool *found)
{
	const struct file_entry *file;
	int r = 0;

	memset(found, 0, names->n * sizeof *found);
	lock(cache);
	file = find_file(cache, key);
	if (file)
		r = read_names(cache, file, addresses, final, strings, names, found);
	if (r >= 0 && !final) {
		cache->stats.hits += r;
		cache->stats.misses += names->n - r;
	}
	unlock(cache);
	return r;
}

/* Of all texts of an item, with their NULs. */
static size_t text_bytes(const struct file_names *names, const struct named_address *item,
			 const struct strings *strings)
{
	size_t n = strings_length(strings, item->name) + 1;

	for (size_t i = 0; i < item->n_frames; i++) {
		const struct dwarf_frame *frame = &names->frames[item->first + i];

		n += strings_length(strings, frame->function) + 1;
		n += strings_length(strings, frame->file) + 1;
	}
	return n;
}

static char *put_text(char *to, const struct strings *strings, uint32_t id)
{
	return mempcpy(to, strings_get(strings, id), strings_length(strings, id) + 1);
}

static void write_item(struct names_cache *cache, uint64_t file, uint64_t asked,
		       const struct file_names *names, const struct named_address *item,
		       const struct strings *strings, bool final)
{
	size_t fixed = offsetof(struct span_entry, lines) + item->n_frames * sizeof(uint32_t);
	uint16_t at = asked % NAMES_BLOCK;
	struct span_entry *entry;
	char *to;

	if (item->n_frames > MAX_FRAMES)
		return;
	entry = (struct span_entry *)add_entry(cache, file, asked / NAMES_BLOCK,
					       fixed + text_bytes(names, item, strings));
	if (!entry)
		return;
	entry->address = item->address;
	entry->asked = at;
	entry->first = item->before < at ? at - item->before : 0;
	entry->after = at + item->after < NAMES_BLOCK ? at + item->after : NAMES_BLOCK;
	if (!item->after)
		entry->after = at + 1;
	entry->is_final = final;
	entry->n_frames = item->n_frames;
	to = (char *)(entry->lines + item->n_frames);
	to = put_text(to, strings, item->name);
	for (size_t i = 0; i < item->n_frames; i++) {
		const struct dwarf_frame *frame = &names->frames[item->first + i];

		entry->lines[i] = frame->line;
		to = put_text(to, strings, frame->function);
		to = put_text(to, strings, frame->file);
	}
}

void names_cache_write(struct names_cache *cache, const struct names_key *key,
		       const uint64_t *addresses, const struct file_names *names,
		       const struct strings *strings, bool final)
{
	struct file_entry *file;

	lock(cache);
	file = add_file(cache, key);
	if (file) {
		uint64_t number = file->number;

		file->id_n = names->id_n;
		memcpy(file->id, names->id, sizeof file->id);
		for (size_t i = 0; i < names->n; i++)
			write_item(cache, number, addresses[i], names, &names->items[i], strings,
				   final);
	}
	unlock(cache);
}

enum names_effort names_cache_effort(struct names_cache *cache, const struct names_key *key)
{
	const struct file_entry *file;
	enum names_effort effort;

	lock(cache);
	file = find_file(cache, key);
	effort = file ? file->effort : NAMES_AT_ONCE;
	unlock(cache);
	return effort;
}

void names_cache_postpone(struct names_cache *cache, const struct names_key *key, uint64_t after_ns)
{
	struct file_entry *file;

	lock(cache);
	file = add_file(cache, key);
	if (file && file->effort != NAMES_SYMBOLS) {
		file->effort = NAMES_LATER;
		file->after_ns = after_ns;
	}
	unlock(cache);
}

bool names_cache_is_due(struct names_cache *cache, const struct names_key *key)
{
	const struct file_entry *file;
	bool is_due;

	lock(cache);
	file = find_file(cache, key);
	is_due = file && file->effort == NAMES_LATER && monotonic_ns() >= file->after_ns;
	unlock(cache);
	return is_due;
}

void names_cache_rest(struct names_cache *cache, const struct names_key *key, uint64_t until_ns)
{
	struct file_entry *file;

	lock(cache);
	file = add_file(cache, key);
	if (file)
		file->rests_until_ns = until_ns;
	unlock(cache);
}

bool names_cache_is_resting(struct names_cache *cache, const struct names_key *key)
{
	const struct file_entry *file;
	bool is_resting;

	lock(cache);
	file = find_file(cache, key);
	is_resting = file && monotonic_ns() < file->rests_until_ns;
	unlock(cache);
	return is_resting;
}

void names_cache_give_up(struct names_cache *cache, const struct names_key *key, const char *path)
{
	struct file_entry *file;

	lock(cache);
	file = add_file(cache, key);
	if (file && file->effort != NAMES_SYMBOLS) {
		file->effort = NAMES_SYMBOLS;
		cache->stats.n_given_up++;
		snprintf(cache->stats.given_up, sizeof cache->stats.given_up, "%s",
			 path /* escaped later */);
	}
	unlock(cache);
}

void names_cache_stats(struct names_cache *cache, struct names_cache_stats *ret)
{
	lock(cache);
	*ret = cache->stats;
	unlock(cache);
}
