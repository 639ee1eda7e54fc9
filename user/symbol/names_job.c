/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request is a header, the addresses, and for files the two paths; an answer is a header, the
 * items, the frames, and the strings that these refer to, each with its NUL.
 */
#include "symbol/names_job.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/system.h"

#define MAX_FRAMES (64u << 20) /* more than fit in any answer */

struct question_header {
	uint64_t n;
	uint8_t no_inline, lines, addresses_only, no_demangle, spans;
	uint8_t has_perf_map, has_jitdump; /* descriptors, in this order */
	uint8_t has[N_DEBUG_ROOTS];	   /* as in struct debug_place */
};

struct answer_header {
	int32_t error;
	uint32_t damaged;
	uint8_t id[ELF_BUILD_ID_MAX];
	uint32_t id_n, pad;
	uint64_t n, n_frames, n_strings, string_bytes;
};

/* A reader's question: what to open, and where. */
struct open_question {
	uint32_t kind; /* enum debug_root, or FETCH: @text is a build-id */
	char text[PATH_MAX];
};
#define FETCH N_DEBUG_ROOTS

_Static_assert(PATH_MAX == READER_MAX_TEXT, "a path fits into a reply");

/* --- The requesting side --- */

/* The context of reader_call()'s callbacks. */
struct names_wait {
	const struct debug_place *place;
	bool (*wait)(void *context, uint64_t quiet_ns);
	void *context;
};

static bool wait_on(void *context, uint64_t quiet_ns)
{
	const struct names_wait *wait_state = context;

	return wait_state->wait(wait_state->context, quiet_ns);
}

static bool is_build_id(const char *text)
{
	return *text && strspn(text, "0123456789abcdef") == strlen(text);
}

/* Opens a debug file for the reader, which may be compromised. */
static void open_for_reader(void *context, const void *bytes, size_t n, struct reader_reply *ret)
{
	const struct names_wait *wait_state = context;
	const struct debug_opener *opener = wait_state->place->opener;
	struct open_question question = {};
	int fd = -EPROTO;

	if (n > sizeof question.kind && n < sizeof question) {
		memcpy(&question, bytes, n);
		if (question.kind == FETCH && is_build_id(question.text))
			fd = opener->fetch(opener->context, question.text);
		else if (question.kind < N_DEBUG_ROOTS && wait_state->place->has[question.kind])
			fd = opener->open_file(opener->context, question.kind, question.text,
					       ret->text);
	}
	if (fd >= 0 && !foreign_is_elf(fd)) {
		close(fd);
		fd = -ENOEXEC;
	}
	ret->fd = fd >= 0 ? fd : -1;
	ret->error = fd >= 0 ? 0 : fd;
}

/* The strings of an answer, which get ids in our own table when first used. */
struct string_map {
	const char **texts;
	uint32_t *ids;
	size_t n;
	struct strings *strings;
};

static int map_string(struct string_map *map, uint32_t *id)
{
	int r = 0;

	if (*id >= map->n)
		return -EPROTO;
	if (*id && !map->ids[*id])
		r = strings_add(map->strings, map->texts[*id], &map->ids[*id]);
	*id = *id ? map->ids[*id] : 0;
	return r;
}

/* Finds the starts of the @map->n strings in @bytes. */
static int find_strings(struct string_map *map, const char *bytes, size_t n_bytes)
{
	size_t at = 0;

	map->texts = calloc(map->n + 1, sizeof *map->texts);
	map->ids = calloc(map->n + 1, sizeof *map->ids);
	if (!map->texts || !map->ids)
		return -ENOMEM;
	for (size_t i = 0; i < map->n; i++) {
		size_t n = strnlen(bytes + at, n_bytes - at);

		if (n == n_bytes - at)
			return -EPROTO;
		map->texts[i] = bytes + at;
		at += n + 1;
	}
	return 0;
}

/* Checks the numbers in @names and makes its strings ours: they are the @map->n in @bytes. */
static int map_all(struct string_map *map, const char *bytes, size_t n_bytes,
		   struct file_names *names)
{
	int r = find_strings(map, bytes, n_bytes);

	if (r < 0)
		return r;
	for (size_t i = 0; i < names->n; i++) {
		struct named_address *item = &names->items[i];

		if (item->n_frames > names->n_frames ||
		    item->first > names->n_frames - item->n_frames)
			return -EPROTO;
		r = map_string(map, &item->name);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < names->n_frames; i++) {
		r = map_string(map, &names->frames[i].function);
		if (r < 0)
			return r;
		r = map_string(map, &names->frames[i].file);
		if (r < 0)
			return r;
	}
	return 0;
}

static void *copy_of(const void *bytes, size_t n)
{
	void *copy = malloc(n + 1);

	return copy ? memcpy(copy, bytes, n) : NULL;
}

/* Reads an answer of @n bytes about @n_asked addresses. */
static int read_answer(const uint8_t *answer, size_t n, size_t n_asked, struct strings *strings,
		       struct file_names *ret)
{
	struct string_map map = {.strings = strings};
	struct answer_header header;
	const uint8_t *items, *frames;
	int r = -EPROTO;

	if (n < sizeof header)
		return r;
	memcpy(&header, answer, sizeof header);
	n -= sizeof header;
	if (header.n != n_asked || header.n_frames > MAX_FRAMES || header.n_strings > n ||
	    header.string_bytes > n || header.id_n > ELF_BUILD_ID_MAX || header.error > 0 ||
	    n != header.n * sizeof *ret->items + header.n_frames * sizeof *ret->frames +
			    header.string_bytes)
		return r;
	items = answer + sizeof header;
	frames = items + header.n * sizeof *ret->items;
	*ret = (struct file_names){
		.error = header.error,
		.damaged = header.damaged,
		.id_n = header.id_n,
		.items = copy_of(items, header.n * sizeof *ret->items),
		.n = header.n,
		.frames = copy_of(frames, header.n_frames * sizeof *ret->frames),
		.n_frames = header.n_frames,
	};
	memcpy(ret->id, header.id, sizeof ret->id);
	map.n = header.n_strings;
	r = ret->items && ret->frames
		    ? map_all(&map, (const char *)frames + header.n_frames * sizeof *ret->frames,
			      header.string_bytes, ret)
		    : -ENOMEM;
	free(map.texts);
	free(map.ids);
	if (r < 0)
		file_names_done(ret);
	return r;
}

/* Packs the request, malloc'ed. */
static uint8_t *pack(const struct names_question *question, struct question_header *header,
		     const char *path, const char *real, size_t *ret_n)
{
	size_t n_addresses = question->n * sizeof *question->addresses;
	size_t n_path = strlen(path) + 1, n_real = strlen(real) + 1;
	uint8_t *bytes = malloc(sizeof *header + n_addresses + n_path + n_real), *to = bytes;

	if (!bytes)
		return NULL;
	header->n = question->n;
	header->no_inline = question->no_inline;
	header->lines = question->lines;
	header->addresses_only = question->addresses_only;
	header->no_demangle = question->no_demangle;
	header->spans = question->spans;
	to = mempcpy(to, header, sizeof *header);
	to = mempcpy(to, question->addresses, n_addresses);
	to = mempcpy(to, path, n_path);
	to = mempcpy(to, real, n_real);
	*ret_n = to - bytes;
	return bytes;
}

/* Only for frames: no other member counts. */
static size_t describe_place(int file, const char *path, int root, void *to)
{
	struct debug_places places = {file, root, -1, NULL, {}};
	const struct names_question none = {};
	struct question_header header = {};
	struct debug_place place;
	char real[PATH_MAX];
	uint8_t *bytes;
	size_t n = 0;

	debug_place_init(&places, path, real, &place);
	for (size_t i = 0; i < N_DEBUG_ROOTS; i++)
		header.has[i] = place.has[i];
	bytes = pack(&none, &header, path, real, &n);
	if (!bytes || n > READER_PLACE_MAX) {
		free(bytes);
		return 0;
	}
	memcpy(to, bytes, n);
	free(bytes);
	return n;
}

static void answer_place(int file, const char *path, int root, const void *question, size_t n,
			 struct reader_reply *ret)
{
	struct debug_places places = {file, root, -1, NULL, {}};
	struct debug_place place;
	struct names_wait wait_state = {.place = &place};
	char real[PATH_MAX];

	debug_place_init(&places, path, real, &place);
	open_for_reader(&wait_state, question, n, ret);
}

static int open_frames(struct elf_file *elf, int file, const char *path, int root)
{
	struct debug_places places = {file, root, -1, NULL, {}};
	struct debug_place place;
	char real[PATH_MAX];

	debug_place_init(&places, path, real, &place);
	return debug_files_open_frames(elf, &place);
}

const struct reader_debug names_job_debug = {open_frames, describe_place, answer_place};

/* Takes over @request, from malloc(). */
static int call_reader(struct reader *reader, struct reader_call *call, uint8_t *request,
		       size_t n_asked, struct strings *strings, struct file_names *ret)
{
	void *answer;
	size_t n;
	int r;

	if (!request)
		return -ENOMEM;
	call->request = request;
	call->wait = wait_on;
	r = reader_call(reader, call, &answer, &n);
	free(request);
	if (r < 0)
		return r;
	r = read_answer(answer, n, n_asked, strings, ret);
	free(answer);
	return r;
}

int names_job_file(struct reader *reader, const struct names_question *question,
		   const struct debug_place *place, bool (*wait)(void *context, uint64_t quiet_ns),
		   void *context, struct strings *strings, struct file_names *ret)
{
	struct names_wait wait_state = {place, wait, context};
	struct question_header header = {};
	struct reader_call call = {
		.job = READER_FILE_NAMES,
		.fds = {place->file},
		.n_fds = 1,
		.asked = open_for_reader,
		.context = &wait_state,
	};
	uint8_t *request;

	for (size_t i = 0; i < N_DEBUG_ROOTS; i++)
		header.has[i] = place->has[i];
	request = pack(question, &header, place->path, place->real, &call.n);
	return call_reader(reader, &call, request, question->n, strings, ret);
}

int names_job_jit(struct reader *reader, const struct names_question *question, int perf_map,
		  int jitdump, bool (*wait)(void *context, uint64_t quiet_ns), void *context,
		  struct strings *strings, struct file_names *ret)
{
	struct names_wait wait_state = {NULL, wait, context};
	struct question_header header = {.has_perf_map = perf_map >= 0,
					 .has_jitdump = jitdump >= 0};
	struct reader_call call = {.job = READER_JIT_NAMES, .context = &wait_state};

	if (perf_map >= 0)
		call.fds[call.n_fds++] = perf_map;
	if (jitdump >= 0)
		call.fds[call.n_fds++] = jitdump;
	return call_reader(reader, &call, pack(question, &header, "", "", &call.n), question->n,
			   strings, ret);
}

/* --- The reader's side --- */

/* The unpacked request. */
struct unpacked {
	struct question_header header;
	struct names_question question;
	const char *path, *real;
};

/* Unpacks @request; the addresses stay in place: it is aligned. */
static int unpack(const struct reader_request *request, struct unpacked *ret)
{
	const uint8_t *bytes = request->bytes, *end = bytes + request->n;

	if (request->n < sizeof ret->header)
		return -EPROTO;
	memcpy(&ret->header, bytes, sizeof ret->header);
	bytes += sizeof ret->header;
	if (ret->header.n > (size_t)(end - bytes) / sizeof(uint64_t))
		return -EPROTO;
	ret->question = (struct names_question){
		.addresses = (const uint64_t *)bytes,
		.n = ret->header.n,
		.no_inline = ret->header.no_inline,
		.lines = ret->header.lines,
		.addresses_only = ret->header.addresses_only,
		.no_demangle = ret->header.no_demangle,
		.spans = ret->header.spans,
	};
	ret->path = (const char *)bytes + ret->header.n * sizeof(uint64_t);
	ret->real = ret->path + strnlen(ret->path, (const char *)end - ret->path) + 1;
	return ret->real < (const char *)end && !end[-1] ? 0 : -EPROTO;
}

static void place_of(const struct reader_request *request, const struct unpacked *asked,
		     struct debug_place *ret)
{
	ret->file = request->fds[0];
	ret->path = asked->path;
	ret->real = asked->real;
	for (size_t i = 0; i < N_DEBUG_ROOTS; i++)
		ret->has[i] = asked->header.has[i];
}

static int ask(const struct reader_request *request, uint32_t kind, const char *text,
	       char real[static READER_MAX_TEXT])
{
	struct open_question question = {.kind = kind};
	size_t n = strlen(text);

	if (n >= READER_MAX_TEXT - sizeof question.kind)
		return -ENAMETOOLONG;
	memcpy(question.text, text, n + 1);
	return reader_ask(request, &question, offsetof(struct open_question, text) + n + 1, real);
}

static int ask_open(void *context, enum debug_root root, const char *path,
		    char real[static PATH_MAX])
{
	return ask(context, root, path, real);
}

static int ask_fetch(void *context, const char *build_id)
{
	char real[READER_MAX_TEXT];

	return ask(context, FETCH, build_id, real);
}

int names_job_open_frames(const struct reader_request *request, struct elf_file *elf)
{
	const struct debug_opener opener = {ask_open, ask_fetch, (void *)request};
	struct debug_place place = {.opener = &opener};
	struct unpacked asked;
	int r = unpack(request, &asked);

	if (r < 0)
		return r;
	place_of(request, &asked, &place);
	return debug_files_open_frames(elf, &place);
}

static int send_names(const struct reader_request *request, const struct file_names *names,
		      const struct strings *strings)
{
	struct answer_header header = {
		.error = names->error,
		.damaged = names->damaged,
		.id_n = names->id_n,
		.n = names->n,
		.n_frames = names->n_frames,
		.n_strings = strings->n_strings,
		.string_bytes = strings->n_bytes,
	};
	const struct reader_piece pieces[] = {
		{&header, sizeof header},
		{names->items, names->n * sizeof *names->items},
		{names->frames, names->n_frames * sizeof *names->frames},
		{strings->bytes, strings->n_bytes},
	};

	memcpy(header.id, names->id, sizeof header.id);
	return reader_answer(request, pieces, sizeof pieces / sizeof *pieces);
}

/* Sends @names, if they were found. */
static int finish(const struct reader_request *request, int r, struct file_names *names,
		  struct strings *strings)
{
	if (r == 0) {
		r = send_names(request, names, strings);
		file_names_done(names);
	}
	strings_done(strings);
	return r;
}

int names_job_run_file(struct reader_request *request)
{
	const struct debug_opener opener = {ask_open, ask_fetch, request};
	struct debug_place place = {.opener = &opener};
	struct file_names names;
	struct unpacked asked;
	struct strings strings;
	int r = request->n_fds == 1 ? unpack(request, &asked) : -EPROTO;

	if (r < 0)
		return r;
	r = strings_init(&strings);
	if (r < 0)
		return r;
	place_of(request, &asked, &place);
	r = file_names_find(&asked.question, &place, &strings, &names);
	return finish(request, r, &names, &strings);
}

int names_job_run_jit(struct reader_request *request)
{
	struct file_names names;
	struct unpacked asked;
	struct strings strings;
	int r = unpack(request, &asked), perf_map = -1, jitdump = -1;

	if (r < 0)
		return r;
	if (request->n_fds != (size_t)asked.header.has_perf_map + asked.header.has_jitdump)
		return -EPROTO;
	r = strings_init(&strings);
	if (r < 0)
		return r;
	if (asked.header.has_perf_map)
		perf_map = request->fds[0];
	if (asked.header.has_jitdump)
		jitdump = request->fds[asked.header.has_perf_map];
	r = jit_names_find(&asked.question, perf_map, jitdump, &strings, &names);
	return finish(request, r, &names, &strings);
}
