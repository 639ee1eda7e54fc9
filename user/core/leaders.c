/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/leaders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

// clang-format off

/* Libraries that programs wait in, by the beginnings of their names. */
static const char *const plumbing_modules[] = {
	"[vdso]", "ld-linux", "ld-musl", "libc++", "libc-2.", "libc.so", "libdl.so", "libevent",
	"libgcc_s", "libjemalloc", "libjvm.so", "libm.so", "libnode.so", "libpthread", "librt.so",
	"libstdc++", "libtcmalloc", "libuv.so",
};

/* Functions of runtimes that may be linked into the program, by the beginnings of their names. */
static const char *const plumbing_starts[] = {
	"<alloc::", "<core::", "<std::", "__gnu_cxx::", "__gthread", "absl::", "alloc::", "core::",
	"StubRoutines (", "internal/", "java.", "jdk.", "parking_lot", "runtime.", "runtime/", "std::",
	"sun.", "syscall.", "uv_",
};

/* Of those, the ones made for a function of the program, which they call or, mostly, contain. */
static const char *const carrier_starts[] = {
	"std::_Function_handler<", "std::__1::__function::__func<", "std::__1::__thread_proxy<",
	"std::sys::backtrace::__rust_begin_short_backtrace::<",
	"std::sys_common::backtrace::__rust_begin_short_backtrace::<", "std::thread::_State_impl<",
};

/* The C library's own functions, for static linking or unknown modules; and what Postgres waits
 * through, whatever for. */
static const char *const plumbing_functions[] = {
	"accept", "accept4", "clock_nanosleep", "clone", "clone3", "connect", "epoll_pwait",
	"epoll_wait", "fdatasync", "fsync", "futex_wait", "io_getevents", "lll_lock_wait", "msync",
	"nanosleep", "nanosleep_nocancel", "pause", "poll", "ppoll", "pread64", "pselect",
	"pselect64", "read", "readv", "recv", "recvfrom", "recvmsg", "select", "sem_wait", "send",
	"sendmsg", "sendto", "sigsuspend", "sigtimedwait", "sigwaitinfo", "sleep", "start_thread",
	"syscall", "usleep", "wait", "wait3", "wait4", "waitid", "waitpid", "write", "writev",
	"LWLockAcquire", "LWLockAcquireOrWait", "PGSemaphoreLock", "WaitEventSetWait", "WaitLatch",
	"WaitLatchOrSocket",
};

/* Files of interpreters, by the beginnings of their names: how they run a program is not its own. */
static const char *const interpreter_modules[] = {
	"libperl", "libphp", "libpython", "libruby", "perl", "php", "python", "ruby",
};

// clang-format on

/*
 * Matches __libc_read, __GI___poll, pthread_cond_wait@@GLIBC_2.3.2: C reserves these names, so they
 * are not the program's.
 */
static bool is_plumbing_function(const char *name)
{
	size_t n = strcspn(name, "@");

	if (strncmp(name, "__", 2) == 0 || strncmp(name, "pthread_", 8) == 0)
		return true;
	for (size_t i = 0; i < sizeof plumbing_functions / sizeof *plumbing_functions; i++)
		if (strlen(plumbing_functions[i]) == n &&
		    strncmp(plumbing_functions[i], name, n) == 0)
			return true;
	return false;
}

#define BEGINS_WITH_ANY(name, starts)                                                              \
	text_begins_any(name, starts, sizeof(starts) / sizeof *(starts))

/*
 * Where the function's name begins in that of an instance of a template, which begins with the type
 * of what it returns: `bool std::condition_variable::wait_for<…>(…)`.
 */
static const char *after_type(const char *name)
{
	const char *begin = name;
	int depth = 0;

	for (const char *c = name; *c && (depth || *c != '('); c++) {
		depth += (strchr("<({[", *c) != NULL) - (strchr(">)}]", *c) != NULL && depth);
		if (*c == ' ' && !depth && c[1] != '(')
			begin = c + 1;
	}
	return begin;
}

static bool is_plumbing(const char *name)
{
	const char *plain = after_type(name);

	return (BEGINS_WITH_ANY(plain, plumbing_starts) &&
		!BEGINS_WITH_ANY(plain, carrier_starts)) ||
	       is_plumbing_function(name);
}

static bool is_own(const struct stacks *stacks, const struct stacks_frame *frame)
{
	const char *name = strings_get(&stacks->strings, frame->name);

	return frame->kind != FRAME_KERNEL &&
	       !BEGINS_WITH_ANY(strings_get(&stacks->strings, frame->module), plumbing_modules) &&
	       !is_plumbing(name);
}

/* `[postgres+0x1e84f0]` says less than what called it; that main() did says nothing. */
static bool is_a_name(const char *name)
{
	return *name != '[' && strcmp(name, "main") != 0 && strcmp(name, "_start") != 0;
}

static bool is_code(const struct stacks_frame *frame)
{
	return frame->kind < FRAME_NOTE && !frame->is_waker;
}

/* An interpreter's own code, but not the functions that it runs. */
static bool is_interpreter(const struct stacks *stacks, const struct stacks_frame *frame)
{
	return (frame->kind == FRAME_USER || frame->kind == FRAME_INLINED) &&
	       BEGINS_WITH_ANY(strings_get(&stacks->strings, frame->module), interpreter_modules);
}

enum leaders_code leaders_code(const struct stacks *stacks, const struct stacks_frame *frame)
{
	if (!is_code(frame) || !is_own(stacks, frame))
		return CODE_FOREIGN;
	return is_a_name(strings_get(&stacks->strings, frame->name)) &&
			       !is_interpreter(stacks, frame)
		       ? CODE_OWN
		       : CODE_NAMELESS;
}

#define NO_FRAME UINT32_MAX

/* The relevant frames of a stack. */
struct parts {
	uint32_t command, last, own, named, language, reason; /* NO_FRAME: there is none */
	bool is_idle;
};

/* Facts about a frame, looked up once. */
struct known {
	enum leaders_code code;
	bool is_interpreter;
	uint32_t command; /* string id of its stacks' command; NO_FRAME: not looked up yet */
};

struct leaders_search {
	const struct stacks *stacks;
	enum leaders_of of;
	struct strings *commands;
	struct known *frames; /* by number */
};

static int know_frames(struct leaders_search *search)
{
	const struct stacks *stacks = search->stacks;

	search->frames = calloc(stacks->n_frames + 1, sizeof *search->frames);
	if (!search->frames)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->n_frames; i++) {
		struct known *known = &search->frames[i];

		known->code = leaders_code(stacks, &stacks->frames[i]);
		known->is_interpreter = is_interpreter(stacks, &stacks->frames[i]);
		known->command = NO_FRAME;
	}
	return 0;
}

/* Threads of the same command count as one. */
static int find_command(struct leaders_search *search, uint32_t frame, uint32_t *ret)
{
	const char *name = frame == NO_FRAME ? "" : stacks_name(search->stacks, frame);
	uint32_t *known = frame == NO_FRAME ? ret : &search->frames[frame].command;
	size_t n;
	int r = 0;

	if (frame == NO_FRAME || *known == NO_FRAME)
		r = strings_add_bytes(search->commands, name,
				      mark_is_thread(name, &n) ? n : strlen(name), known);
	*ret = *known;
	return r;
}

static struct parts take_apart(const struct leaders_search *search,
			       const struct stacks_entry *entry)
{
	const struct stacks *stacks = search->stacks;
	const uint32_t *ids = stacks->ids + entry->first;
	struct parts parts = {
		entry->n ? ids[0] : NO_FRAME, NO_FRAME, NO_FRAME, NO_FRAME, NO_FRAME, NO_FRAME};

	for (uint32_t i = 0; i < entry->n; i++) {
		const struct stacks_frame *frame = &stacks->frames[ids[i]];

		if (is_code(frame)) {
			parts.last = ids[i];
			if (frame->kind == FRAME_INTERPRETED || frame->kind == FRAME_JIT)
				parts.language = ids[i];
			if (search->frames[ids[i]].code == CODE_OWN)
				parts.named = ids[i];
			if (search->frames[ids[i]].code)
				parts.own = ids[i];
		} else if (frame->kind > FRAME_SEPARATOR && !frame->is_waker) {
			parts.reason = ids[i];
		}
		parts.is_idle |= i < 2 && stacks_is_mark(stacks, ids[i], MARK_IDLE);
	}
	parts.own = parts.named != NO_FRAME ? parts.named : parts.own;
	/* A language's own libraries say more than the kernel does. */
	parts.own = parts.own != NO_FRAME ? parts.own : parts.language;
	return parts;
}

/* The frame that names a running stack: an interpreter runs for the function that it interprets. */
static uint32_t who_runs(const struct leaders_search *search, const struct parts *parts)
{
	return parts->last != NO_FRAME && parts->named != NO_FRAME &&
			       search->frames[parts->last].is_interpreter &&
			       search->stacks->frames[parts->named].kind == FRAME_INTERPRETED
		       ? parts->named
		       : parts->last;
}

/* Identifies a row while rows are counted. */
struct key {
	uint32_t function, reason; /* frames */
	uint32_t command;	   /* a string of the leaders */
};

struct row {
	struct key key;
	uint64_t weight;
};

static bool row_equal(const void *items, uint32_t position, const void *key)
{
	const struct row *a = (const struct row *)items + position, *b = key;

	return memcmp(&a->key, &b->key, sizeof a->key) == 0;
}

struct rows {
	struct row *items;
	size_t n, items_capacity;
	struct table index;
};

static int add_row(struct rows *rows, const struct key *key, uint64_t weight)
{
	uint64_t hash = hash_mix(hash_mix(key->function, key->command), key->reason);
	struct row row = {.key = *key};
	uint32_t position;
	int r = table_intern(&rows->index, hash, row_equal, rows->items, rows->items_capacity,
			     rows->n, &row, &position);

	if (r == 0)
		rows->items[position].weight += weight;
	return r;
}

static bool is_waiting(const struct stacks *stacks, const struct parts *parts)
{
	enum profile_mode mode = stacks->facts[SIDE_NEW].mode;

	if (mode == PROFILE_ONCPU)
		return false;
	return mode == PROFILE_OFFCPU || parts->reason == NO_FRAME ||
	       stacks->frames[parts->reason].kind != FRAME_RUNNING;
}

static int add_stacks(struct leaders_search *search, struct rows *rows)
{
	const struct stacks *stacks = search->stacks;
	int r;

	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];
		struct parts parts = take_apart(search, entry);
		bool waits = is_waiting(stacks, &parts);
		struct key key = {.function = waits && parts.own != NO_FRAME
						      ? parts.own
						      : who_runs(search, &parts),
				  .reason = waits ? parts.reason : NO_FRAME};

		if (parts.is_idle || waits != (search->of == LEADERS_WAITING) ||
		    key.function == NO_FRAME)
			continue;
		r = find_command(search, parts.command, &key.command);
		if (r < 0)
			return r;
		r = add_row(rows, &key, entry->weight);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct leader *x = a, *y = b;
	int order = strcmp(x->function, y->function);

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	order = order ? order : strcmp(x->command, y->command);
	return order ? order : strcmp(x->reason, y->reason);
}

static int list(const struct stacks *stacks, const struct rows *rows, struct leaders *leaders)
{
	leaders->rows = calloc(rows->n + 1, sizeof *leaders->rows);
	leaders->n = rows->n;
	if (!leaders->rows)
		return -ENOMEM;
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->items[i];
		const struct stacks_frame *frame = &stacks->frames[row->key.function];

		leaders->rows[i] = (struct leader){
			.function = strings_get(&stacks->strings, frame->name),
			.module = strings_get(&stacks->strings, frame->module),
			.kind = frame->kind,
			.command = strings_get(&leaders->commands, row->key.command),
			.reason = row->key.reason == NO_FRAME
					  ? ""
					  : stacks_name(stacks, row->key.reason),
			.weight = row->weight,
		};
		leaders->weight += row->weight;
	}
	if (rows->n > 1)
		qsort(leaders->rows, rows->n, sizeof *leaders->rows, compare);
	return 0;
}

static int find(struct leaders_search *search, struct rows *rows, struct leaders *leaders)
{
	int r = strings_init(&leaders->commands);

	if (r < 0)
		return r;
	r = know_frames(search);
	if (r < 0)
		return r;
	r = add_stacks(search, rows);
	if (r < 0)
		return r;
	return list(search->stacks, rows, leaders);
}

int leaders_find(const struct stacks *stacks, enum leaders_of of, struct leaders *ret)
{
	struct leaders_search search = {.stacks = stacks, .of = of, .commands = &ret->commands};
	struct rows rows = {};
	int r;

	*ret = (struct leaders){};
	r = find(&search, &rows, ret);
	table_done(&rows.index);
	free(rows.items);
	free(search.frames);
	if (r < 0)
		leaders_done(ret);
	return r;
}

void leaders_done(struct leaders *leaders)
{
	free(leaders->rows);
	strings_done(&leaders->commands);
	*leaders = (struct leaders){};
}
