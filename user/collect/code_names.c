/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/code_names.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"
#include "collect/process_runtime.h"

#define MOST_NAMES     262144	   /* of a generation */
#define MOST_BYTES     (64u << 20) /* of its names and line tables */
#define MOST_FACTS     4096	   /* about runtimes: processes say what they like of themselves */
#define GENERATIONS_UP 8	   /* how many parents are asked */
#define MOST_READS     32	   /* of an object that was not there, with its samples … */
#define LATER_NS       NSEC_PER_SEC /* … and then so far apart: it may be swapped out again */
#define MOST_MOVED     4	   /* of one that may have moved away: it does not come back */
#define MOST_AGAIN     128	   /* … and by code_names_retry() in all */
#define MOST_NAMELESS  256	   /* objects that wait for it */
#define AGAIN_AT_ONCE  16
#define RETRY_NS       (NSEC_PER_SEC / 100)

void code_names_init(struct code_names *names, struct processes *processes,
		     const struct tables *tables)
{
	*names = (struct code_names){.processes = processes, .tables = tables};
}

static void name_done(struct code_name *name)
{
	free(name->name);
	free(name->file);
	free(name->lines);
	runtime_inlined_free(name->inlined, name->n_inlined);
}

static void generation_done(struct code_generation *generation)
{
	for (size_t i = 0; i < generation->n; i++)
		name_done(&generation->items[i]);
	free(generation->items);
	table_done(&generation->by_code);
	*generation = (struct code_generation){};
}

void code_names_done(struct code_names *names)
{
	generation_done(&names->now);
	generation_done(&names->before);
	free(names->unread);
	free(names->again);
	for (size_t i = 0; i < names->n_facts; i++)
		free(names->facts[i]);
	free(names->facts);
	*names = (struct code_names){};
}

void code_names_age(struct code_names *names)
{
	generation_done(&names->before);
	names->before = names->now;
	names->now = (struct code_generation){};
	names->carried = 0;
}

size_t code_names_bytes(const struct code_names *names)
{
	const struct code_generation *now = &names->now;

	return now->bytes + now->capacity * sizeof *now->items +
	       now->by_code.n_slots * sizeof *now->by_code.slots;
}

/* --- what is known --- */

static bool name_equal(const void *items, uint32_t position, const void *key)
{
	const struct code_name *a = (const struct code_name *)items + position, *b = key;

	return a->process == b->process && a->code == b->code && a->check == b->check &&
	       a->detail == b->detail && a->owner == b->owner;
}

static uint64_t name_hash(const struct code_name *key)
{
	return hash_mix(hash_mix(key->process, key->code),
			(uint64_t)key->detail << 32 | key->check);
}

static struct code_name *find_in(const struct code_generation *generation,
				 const struct code_name *key)
{
	uint32_t found = table_find(&generation->by_code, name_hash(key), name_equal,
				    generation->items, key);

	return found == TABLE_NONE ? NULL : &generation->items[found];
}

static size_t bytes_of(const struct code_name *name)
{
	size_t n = (name->name ? strlen(name->name) + strlen(name->file) + 2 : 0) + name->n_lines;

	for (uint32_t i = 0; i < name->n_inlined; i++)
		n += strlen(name->inlined[i].name) + strlen(name->inlined[i].file) +
		     sizeof *name->inlined;
	return n;
}

/* Takes over what @name owns. */
static int add(struct code_names *names, struct code_name *name, const struct code_name **ret)
{
	struct code_generation *now = &names->now;
	int r = array_reserve(now->items, now->capacity, now->n, 1);

	if (r < 0)
		goto failed;
	r = table_add(&now->by_code, name_hash(name), now->n);
	if (r < 0)
		goto failed;
	now->bytes += bytes_of(name);
	now->items[now->n] = *name;
	*ret = &now->items[now->n++];
	return 0;
failed:
	name_done(name);
	return r;
}

static int copy_inlined(const struct code_name *from, struct code_name *to)
{
	to->n_inlined = 0;
	to->inlined = from->n_inlined ? calloc(from->n_inlined, sizeof *to->inlined) : NULL;
	if (from->n_inlined && !to->inlined)
		return -ENOMEM;
	for (; to->n_inlined < from->n_inlined; to->n_inlined++) {
		const struct runtime_inlined *item = &from->inlined[to->n_inlined];
		struct runtime_inlined *copy = &to->inlined[to->n_inlined];

		*copy = (struct runtime_inlined){strdup(item->name), strdup(item->file),
						 item->line};
		if (!copy->name || !copy->file) {
			free(copy->name);
			free(copy->file);
			return -ENOMEM;
		}
	}
	return 0;
}

/* A copy for another process, or of another generation. */
static int add_copy(struct code_names *names, const struct code_name *from, uint64_t process,
		    const struct code_name **ret)
{
	struct code_name copy = *from;

	copy.process = process;
	copy.name = from->name ? strdup(from->name) : NULL;
	copy.file = from->file ? strdup(from->file) : NULL;
	copy.lines = from->lines ? malloc(from->n_lines + 1) : NULL;
	if (copy_inlined(from, &copy) < 0 || (from->name && !copy.name) ||
	    (from->file && !copy.file) || (from->lines && !copy.lines)) {
		name_done(&copy);
		return -ENOMEM;
	}
	if (copy.lines)
		memcpy(copy.lines, from->lines, from->n_lines);
	return add(names, &copy, ret);
}

/* --- reading --- */

/* A copy of @facts that stays; NULL: there are too many. */
static int keep_facts(struct code_names *names, const struct runtime_facts *facts,
		      const struct runtime_facts **ret)
{
	struct runtime_facts *copy;
	int r;

	for (size_t i = 0; i < names->n_facts; i++)
		if (memcmp(names->facts[i], facts, sizeof *facts) == 0) {
			*ret = names->facts[i];
			return 0;
		}
	if (names->n_facts >= MOST_FACTS)
		return 0;
	r = array_reserve(names->facts, names->facts_capacity, names->n_facts, 1);
	copy = r < 0 ? NULL : malloc(sizeof *copy);
	if (!copy)
		return -ENOMEM;
	*copy = *facts;
	*ret = names->facts[names->n_facts++] = copy;
	return 0;
}

static uint32_t kind_of(uint64_t word)
{
	return word >> BF_FRAME_KIND_SHIFT & (BF_FRAME_KINDS - 1);
}

/* Fills in what the object says of itself. */
static int describe(struct code_names *names, struct process *process,
		    const uint64_t words[static 2], struct code_name *to)
{
	struct process_memory source;
	struct runtime_memory memory = process_memory(&names->processes->files, process, &source);
	const struct runtime_frame frame = {to->code, kind_of(words[0]), words[1], to->check};
	struct found_runtime found;
	struct runtime_code *code;
	int r = 0;

	if (process_runtime_of(names->tables, process, words[0], &found)) {
		memory.bias = found.bias;
		r = keep_facts(names, found.facts, &to->facts);
		if (r < 0)
			return r;
	}
	if (!process->pushed) { /* it has said more than BPF knows */
		r = processes_note_change(names->processes, process - names->processes->processes);
		if (r < 0)
			return r;
	}
	if (!to->facts || process->ended || names->now.n >= MOST_NAMES ||
	    names->now.bytes >= MOST_BYTES)
		return 0;
	code = malloc(sizeof *code);
	if (!code)
		return -ENOMEM;
	if (runtime_describe(to->facts, &memory, &frame, code) == 0) {
		to->is_known = true;
		to->is_hidden = code->is_hidden;
		to->first_line = code->first_line;
		to->lines = code->lines;
		to->n_lines = code->n_lines;
		to->line = code->line;
		to->is_compiled = code->is_compiled;
		to->inlined = code->inlined;
		to->n_inlined = code->n_inlined;
		to->name = strdup(code->name);
		to->file = strdup(code->file);
		r = to->name && to->file ? 0 : -ENOMEM;
	}
	free(code);
	return r;
}

static uint32_t parent_of(const struct code_names *names, uint64_t serial)
{
	for (size_t i = 0; i < names->processes->pool.n; i++)
		if (names->processes->processes[i].n_references &&
		    names->processes->processes[i].serial == serial)
			return i;
	return TABLE_NONE;
}

/* The same object of a process that this one was forked from. */
static const struct code_name *find_of_parents(const struct code_names *names,
					       const struct process *process, struct code_name key)
{
	const struct code_name *found = NULL;

	for (int i = 0; i < GENERATIONS_UP && !found && process->forked_from; i++) {
		uint32_t parent = parent_of(names, process->forked_from);

		key.process = process->forked_from;
		found = find_in(&names->now, &key);
		found = found ?: find_in(&names->before, &key);
		if (parent == TABLE_NONE)
			break;
		process = &names->processes->processes[parent];
	}
	return found && found->is_known ? found : NULL;
}

/*
 * Reads @known again, which was gone or just changing: programs that are compiled for each request
 * come back to the same place.
 */
static int read_again(struct code_names *names, struct process *process,
		      const uint64_t words[static 2], struct code_name *known)
{
	struct code_name key = *known;
	int r;

	key.reads += key.reads < UINT8_MAX;
	key.read_ns = monotonic_ns();
	r = describe(names, process, words, &key);
	if (r < 0) {
		name_done(&key);
		return r;
	}
	names->n_nameless -= key.is_known;
	names->now.bytes += bytes_of(&key);
	*known = key;
	return 0;
}

static bool may_have_moved(const struct code_name *name)
{
	return name->facts && runtime_moves_objects(name->facts);
}

static bool is_worth_reading(const struct code_name *name)
{
	if (may_have_moved(name))
		return name->reads < MOST_MOVED;
	return name->reads < MOST_READS || monotonic_ns() - name->read_ns >= LATER_NS;
}

static struct code_name key_of(const struct process *process, const uint64_t words[static 2])
{
	return (struct code_name){
		.process = process->serial,
		.code = words[0] & BF_FRAME_CODE,
		.check = words[1] >> 32,
		.detail = kind_of(words[0]) & RUNTIME_KIND_BY_DETAIL ? (uint32_t)words[1] : 0,
		.owner = words[0] >> BF_FRAME_OWNER_SHIFT & (BF_FRAME_OWNERS - 1),
	};
}

int code_names_find(struct code_names *names, uint32_t index, const uint64_t words[static 2],
		    const struct code_name **ret)
{
	struct process *process = &names->processes->processes[index];
	struct code_name key = key_of(process, words);
	struct code_name *found = find_in(&names->now, &key);
	const struct code_name *known;
	int r = 0;

	if (found) {
		if (!found->is_known && is_worth_reading(found))
			r = read_again(names, process, words, found);
		*ret = found;
		return r;
	}
	known = find_in(&names->before, &key);
	if (known)
		names->carried += sizeof *known + bytes_of(known);
	known = known ?: find_of_parents(names, process, key);
	if (known)
		return add_copy(names, known, process->serial, ret);
	r = describe(names, process, words, &key);
	if (r < 0) {
		name_done(&key);
		return r;
	}
	names->n_read++;
	names->n_nameless += !key.is_known;
	r = add(names, &key, ret);
	if (r < 0 || (*ret)->is_known || process->ended || may_have_moved(*ret) ||
	    names->n_again >= MOST_NAMELESS)
		return r;
	return array_add(names->again, names->again_capacity, names->n_again,
			 ((struct nameless_code){index, process->serial, {words[0], words[1]}}));
}

/* Returns whether another attempt may help. */
static int retry(struct code_names *names, const struct nameless_code *code)
{
	struct process *process = &names->processes->processes[code->process];
	struct code_name key = key_of(process, code->words), *found;
	int r;

	if (process->serial != code->serial || !process->n_references || process->ended)
		return 0;
	found = find_in(&names->now, &key);
	if (!found || found->is_known || found->reads >= MOST_AGAIN)
		return 0;
	r = read_again(names, process, code->words, found);
	if (r < 0)
		return r;
	return !found->is_known;
}

int code_names_retry(struct code_names *names)
{
	size_t n = names->n_again < AGAIN_AT_ONCE ? names->n_again : AGAIN_AT_ONCE, kept = 0;
	struct nameless_code stay[AGAIN_AT_ONCE];
	uint64_t now = monotonic_ns();

	if (!n || now - names->retried_ns < RETRY_NS)
		return 0;
	names->retried_ns = now;
	for (size_t i = 0; i < n; i++) {
		int r = retry(names, &names->again[i]);

		if (r < 0)
			return r;
		if (r > 0)
			stay[kept++] = names->again[i];
	}
	/* Those that stay have their next turn after all others. */
	names->n_again -= n;
	memmove(names->again, names->again + n, names->n_again * sizeof *names->again);
	memcpy(names->again + names->n_again, stay, kept * sizeof *stay);
	names->n_again += kept;
	return 0;
}

int code_names_read(struct code_names *names, uint32_t process, const uint64_t *words, uint32_t n)
{
	const struct code_name *name;

	for (uint32_t i = 0; i + 1 < n; i++)
		if (words[i] & BF_FRAME_RUNTIME) {
			int r = code_names_find(names, process, words + i, &name);

			if (r < 0)
				return r;
			i++;
		}
	return 0;
}

/* --- stacks that arrived --- */

int code_names_note(struct code_names *names, const struct unread_stack *stack)
{
	return array_add(names->unread, names->unread_capacity, names->n_unread, *stack);
}
