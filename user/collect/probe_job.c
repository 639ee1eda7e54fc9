/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request is a struct probe_question; an answer is a struct probe_answer, then the probes of a
 * list. The reader may ask one thing: for the file of a build-id.
 */
#include "collect/probe_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/foreign.h"
#include "base/system.h"

#define MAX_PROBES  65536
#define NAME_SIZE   1024 /* elf_functions finds no longer names */
#define QUIET_NS    (5 * NSEC_PER_SEC)
#define PATIENCE_NS (30 * NSEC_PER_SEC) /* in all */

enum probe_kind { PROBE_FUNCTIONS, PROBE_USDT, PROBE_LIST };

struct probe_question {
	uint32_t kind;
	uint32_t has_provider, wants_nearest;
	char provider[USDT_NAME_SIZE], name[NAME_SIZE];
};

struct probe_answer {
	int32_t error;
	uint32_t pad;
	uint64_t n_probes;
	struct event_places places;
	struct nearest nearest; /* its pointer means nothing here */
};

/* --- The work --- */

/* The context of a piece of work. */
struct probe_work {
	const struct probe_question *question;
	struct probe_answer *answer;
	struct nearest *nearest; /* or NULL */
	struct usdt_probe *probes;
	size_t probes_capacity;
	/* Opens the file with the sections stripped from the one with this build-id. */
	int (*open_debug)(void *context, const uint8_t *id, size_t n);
	void *context;
};

/* Tries where distributions put stripped sections. */
static int open_by_id(void *context, const uint8_t *id, size_t n)
{
	char path[64 + 2 * ELF_BUILD_ID_MAX];
	int at;

	if (n < 2 || n > ELF_BUILD_ID_MAX)
		return -ENOENT;
	at = sprintf(path, "/usr/lib/debug/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < n; i++)
		at += sprintf(path + at, "%02x", id[i]);
	strcpy(path + at, ".debug");
	return foreign_open(FOREIGN_OUR_ROOT, path);
}

/* Searches the file's own tables, then the stripped ones. */
static int find_function(struct probe_work *work, struct elf_file *file, struct nearest *nearest)
{
	const char *name = work->question->name;
	struct event_places *places = &work->answer->places;
	uint8_t id[ELF_BUILD_ID_MAX];
	_cleanup_close_ int fd = -1;
	struct elf_file debug;
	int r = elf_functions_find(file, file, name, places, nearest);

	if (r != -ENOENT)
		return r;
	fd = work->open_debug(work->context, id, elf_file_build_id(file, id));
	if (fd < 0 || elf_file_open(&debug, fd) < 0)
		return r;
	r = elf_functions_find(file, &debug, name, places, nearest);
	elf_file_done(&debug);
	return r;
}

static int find_functions(struct probe_work *work, struct elf_file *file)
{
	const char *name = work->question->name;
	struct event_places *places = &work->answer->places;
	char *end;
	uint64_t address = strtoull(name, &end, 16);
	int r;

	if (strncmp(name, "0x", 2) == 0 && !*end) {
		places->items[0] = (struct event_place){};
		r = elf_functions_offset(file, address, &places->items[0].offset);
		places->n = r == 0;
		return r;
	}
	r = find_function(work, file, NULL);
	/* Compare names only then: there can be a hundred thousand. */
	return r == -ENOENT && work->nearest ? find_function(work, file, work->nearest) : r;
}

static int consider_usdt(void *context, const struct usdt_probe *probe)
{
	struct probe_work *work = context;
	const struct probe_question *question = work->question;
	struct event_places *places = &work->answer->places;

	if (work->nearest)
		nearest_offer(work->nearest, probe->name);
	if (strcmp(probe->name, question->name) != 0 ||
	    (question->has_provider && strcmp(probe->provider, question->provider) != 0))
		return 0;
	if (places->n == MAX_EVENT_PLACES)
		return -E2BIG;
	places->items[places->n++] = probe->place;
	return 0;
}

static int add_probe(void *context, const struct usdt_probe *probe)
{
	struct probe_work *work = context;
	uint64_t *n = &work->answer->n_probes;

	if (*n == MAX_PROBES)
		return -E2BIG;
	return array_add(work->probes, work->probes_capacity, *n, *probe);
}

static int do_work(struct probe_work *work, int fd)
{
	struct elf_file file;
	int r = elf_file_open(&file, fd);

	if (r < 0)
		return r;
	switch (work->question->kind) {
	case PROBE_FUNCTIONS: r = find_functions(work, &file); break;
	case PROBE_USDT:
		r = usdt_list(&file, consider_usdt, work);
		r = r < 0 || work->answer->places.n ? r : -ENOENT;
		break;
	default: r = usdt_list(&file, add_probe, work); break;
	}
	elf_file_done(&file);
	return r;
}

/* --- The requesting side --- */

struct patience {
	uint64_t since; /* monotonic ns */
};

static bool wait_on(void *context, uint64_t quiet_ns)
{
	const struct patience *patience = context;

	return quiet_ns < QUIET_NS && monotonic_ns() - patience->since < PATIENCE_NS;
}

/* The reader may be compromised: it gets only ELF files of root's. */
static void answer_on(void *context, const void *bytes, size_t n, struct reader_reply *ret)
{
	ret->fd = open_by_id(NULL, bytes, n);
	if (ret->fd >= 0 && !foreign_is_elf(ret->fd)) {
		closep(&ret->fd);
		ret->fd = -1;
	}
	ret->error = ret->fd < 0 ? -ENOENT : 0;
}

/* Checks a reader's answer. *@ret_probes: within @answer. */
static int check(struct probe_answer *answer, size_t n, struct usdt_probe **ret_probes)
{
	struct usdt_probe *probes = (struct usdt_probe *)(answer + 1);

	if (n < sizeof *answer || answer->error > 0 || answer->places.n > MAX_EVENT_PLACES ||
	    answer->nearest.n > NEAREST_NAMES || answer->n_probes > MAX_PROBES ||
	    n - sizeof *answer != answer->n_probes * sizeof *probes)
		return -EPROTO;
	for (size_t i = 0; i < NEAREST_NAMES; i++)
		answer->nearest.names[i][NEAREST_SIZE - 1] = '\0';
	for (size_t i = 0; i < answer->n_probes; i++)
		probes[i].provider[USDT_NAME_SIZE - 1] = probes[i].name[USDT_NAME_SIZE - 1] = '\0';
	*ret_probes = probes;
	return 0;
}

/* Takes the answer from either. */
static int take(const struct probe_answer *answer, struct event_places *ret,
		struct nearest *nearest)
{
	if (ret)
		*ret = answer->places;
	if (nearest) {
		const char *wanted = nearest->wanted;

		*nearest = answer->nearest;
		nearest->wanted = wanted;
	}
	return answer->error;
}

static int have_done(struct reader *reader, int fd, const struct probe_question *question,
		     struct event_places *ret, struct nearest *nearest,
		     struct usdt_probe **ret_list, size_t *ret_n)
{
	struct patience patience = {.since = monotonic_ns()};
	const struct reader_call call = {
		.job = READER_PROBES,
		.request = question,
		.n = sizeof *question,
		.fds = {fd},
		.n_fds = 1,
		.wait = wait_on,
		.asked = answer_on,
		.context = &patience,
	};
	_cleanup_free_ void *bytes = NULL;
	struct usdt_probe *probes;
	size_t n;
	int r = reader_call(reader, &call, &bytes, &n);

	if (r < 0)
		return r;
	r = check(bytes, n, &probes);
	if (r < 0)
		return r;
	r = take(bytes, ret, nearest);
	if (r < 0 || !ret_list)
		return r;
	*ret_n = ((struct probe_answer *)bytes)->n_probes;
	*ret_list = malloc(*ret_n * sizeof *probes + 1);
	if (!*ret_list)
		return -ENOMEM;
	memcpy(*ret_list, probes, *ret_n * sizeof *probes);
	return 0;
}

static int do_here(int fd, const struct probe_question *question, struct event_places *ret,
		   struct nearest *nearest, struct usdt_probe **ret_list, size_t *ret_n)
{
	struct probe_answer *answer = calloc(1, sizeof *answer);
	struct probe_work work = {.question = question, .answer = answer, .open_debug = open_by_id};
	int r = -ENOMEM;

	if (!answer)
		return r;
	answer->nearest.wanted = question->name;
	work.nearest = nearest ? &answer->nearest : NULL;
	answer->error = do_work(&work, fd);
	r = take(answer, ret, nearest);
	if (r == 0 && ret_list) {
		*ret_list = work.probes;
		*ret_n = answer->n_probes;
		work.probes = NULL;
	}
	free(work.probes);
	free(answer);
	return r;
}

static int find_probe(struct reader *reader, int fd, enum probe_kind kind, const char *provider,
		      const char *name, struct event_places *ret, struct nearest *nearest,
		      struct usdt_probe **ret_list, size_t *ret_n)
{
	struct probe_question question = {
		.kind = kind, .has_provider = provider != NULL, .wants_nearest = nearest != NULL};

	if (ret)
		ret->n = 0;
	if (strlen(name) >= sizeof question.name ||
	    (provider && strlen(provider) >= sizeof question.provider))
		return -ENOENT;
	strcpy(question.name, name);
	strcpy(question.provider, provider ? provider : "");
	return reader ? have_done(reader, fd, &question, ret, nearest, ret_list, ret_n)
		      : do_here(fd, &question, ret, nearest, ret_list, ret_n);
}

int probe_job_functions(struct reader *reader, int fd, const char *name, struct event_places *ret,
			struct nearest *nearest)
{
	return find_probe(reader, fd, PROBE_FUNCTIONS, NULL, name, ret, nearest, NULL, NULL);
}

int probe_job_usdt(struct reader *reader, int fd, const char *provider, const char *name,
		   struct event_places *ret, struct nearest *nearest)
{
	return find_probe(reader, fd, PROBE_USDT, provider, name, ret, nearest, NULL, NULL);
}

int probe_job_list(struct reader *reader, int fd, struct usdt_probe **ret, size_t *ret_n)
{
	return find_probe(reader, fd, PROBE_LIST, NULL, "", NULL, NULL, ret, ret_n);
}

/* --- The reader's side --- */

static int ask_by_id(void *context, const uint8_t *id, size_t n)
{
	char text[READER_MAX_TEXT];

	return n < 2 ? -ENOENT : reader_ask(context, id, n, text);
}

int probe_job_run(struct reader_request *request)
{
	struct probe_answer *answer = calloc(1, sizeof *answer);
	struct probe_question question;
	struct probe_work work = {.question = &question,
				  .answer = answer,
				  .open_debug = ask_by_id,
				  .context = request};
	int r;

	if (!answer)
		return -ENOMEM;
	if (request->n_fds != 1 || request->n != sizeof question) {
		free(answer);
		return -EPROTO;
	}
	memcpy(&question, request->bytes, sizeof question);
	question.name[sizeof question.name - 1] = '\0';
	question.provider[sizeof question.provider - 1] = '\0';
	answer->nearest.wanted = question.name;
	work.nearest = question.wants_nearest ? &answer->nearest : NULL;
	answer->error = do_work(&work, request->fds[0]);
	answer->nearest.wanted = NULL;
	r = reader_answer(request,
			  (const struct reader_piece[]){
				  {answer, sizeof *answer},
				  {work.probes, answer->n_probes * sizeof *work.probes}},
			  2);
	free(work.probes);
	free(answer);
	return r;
}
