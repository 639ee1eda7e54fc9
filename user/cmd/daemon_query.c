/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_query.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/confined.h"
#include "base/system.h"
#include "cli/cli.h"
#include "cli/moment.h"
#include "core/matcher.h"
#include "export/gzip.h"
#include "store/store_files.h"

#define MAX_WORDS    (2 * HTTP_PAIRS_MAX + 16)
#define MEMORY_BYTES (1ULL << 30)
#define ANSWER_BYTES (256ULL << 20)
#define CPU_SECONDS  40
#define NICE	     5 /* recording comes first */
#define GZIP_LEVEL   4

/* Parameters and the questions that they are of: bits of enum query_kind. */
#define OF(kind) (1u << (kind))
#define OF_RANGES                                                                                  \
	(OF(QUERY_PROFILE) | OF(QUERY_DIFF) | OF(QUERY_WORSE) | OF(QUERY_FUNCTIONS) |              \
	 OF(QUERY_SERIES))
#define OF_FILTERED (OF(QUERY_CPU) | OF(QUERY_WAITS) | OF_RANGES)
static const struct query_parameter {
	const char *name;
	unsigned int kinds;
} parameters[] = {
	{"comm", OF_FILTERED},
	{"pid", OF_FILTERED},
	{"cgroup", OF_FILTERED},
	{"container", OF_FILTERED},
	{"unit", OF_FILTERED},
	{"function", OF_FILTERED},
	{"state", OF_RANGES},
	{"from", OF_RANGES},
	{"to", OF_RANGES},
	{"diff-from", OF(QUERY_DIFF)},
	{"diff-to", OF(QUERY_DIFF)},
	{"title", OF(QUERY_PROFILE) | OF(QUERY_DIFF)},
	{"by", OF(QUERY_SERIES)},
	{"step", OF(QUERY_SERIES)},
	{"limit", OF_RANGES},
	{"also", OF(QUERY_PROFILE) | OF(QUERY_DIFF) | OF(QUERY_FUNCTIONS)},
	{"diff-also", OF(QUERY_DIFF)},
	{"group", OF(QUERY_PROFILE) | OF(QUERY_DIFF)},
};

static const char *const kind_words[] = {
	[QUERY_WORSE] = "--worse",
	[QUERY_SERIES] = "--series",
	[QUERY_LIST] = "--list",
};

/* Words of `bpfflame query`. */
struct query_words {
	char *words[MAX_WORDS + 1];
	int n;
};

static void words_done(struct query_words *words)
{
	for (int i = 0; i < words->n; i++)
		free(words->words[i]);
}

static int add_word(struct query_words *words, const char *name, const char *value)
{
	char *word;

	if (words->n == MAX_WORDS)
		return -E2BIG;
	if ((value ? asprintf(&word, "--%s=%s", name, value) : asprintf(&word, "%s", name)) < 0)
		return -ENOMEM;
	words->words[words->n++] = word;
	return 0;
}

static int add_parameter(struct query_words *words, unsigned int kind, const struct http_pair *pair,
			 struct failure *failure)
{
	bool is_table = kind == QUERY_SERIES || kind == QUERY_LIST;
	bool is_picture = kind == QUERY_PROFILE || kind == QUERY_DIFF;

	bool is_expression = strcmp(pair->name, "function") == 0 || strcmp(pair->name, "q") == 0;

	if (is_expression && !matcher_is_modest(pair->value))
		return failure_set(failure, -EINVAL,
				   "%.16s: no back references, and at most %d bytes, those in "
				   "{1,9} counted as often",
				   pair->name, MATCHER_MODEST_BYTES);
	if (strcmp(pair->name, "q") == 0 && kind == QUERY_FUNCTIONS)
		return add_word(words, "search", pair->value);
	if (strcmp(pair->name, "seconds") == 0 && (kind == QUERY_CPU || kind == QUERY_WAITS))
		return 0; /* is the range */
	if (strcmp(pair->name, "idle") == 0 &&
	    (is_picture || kind == QUERY_WORSE || kind == QUERY_FUNCTIONS))
		return add_word(words, "--idle", NULL);
	if (strcmp(pair->name, "empty") == 0 && kind == QUERY_SERIES)
		return add_word(words, "--empty", NULL);
	if (strcmp(pair->name, "marks") == 0 && kind == QUERY_SERIES)
		return add_word(words, "--marks", NULL);
	if (strcmp(pair->name, "format") == 0 && is_table)
		return strcmp(pair->value, "csv") == 0 ? add_word(words, "--csv", NULL)
		       : strcmp(pair->value, "json") == 0
			       ? add_word(words, "--json", NULL)
			       : failure_set(failure, -EINVAL, "format: json or csv");
	if (strcmp(pair->name, "format") == 0 && is_picture)
		return strcmp(pair->value, "json") == 0 ? add_word(words, "--json", NULL)
							: add_word(words, "format", pair->value);
	for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
		if (strcmp(parameters[i].name, pair->name) == 0 &&
		    (parameters[i].kinds & 1u << kind))
			return add_word(words, pair->name, pair->value);
	return failure_set(failure, -EINVAL, "'%.64s' is no parameter of this", pair->name);
}

static bool has_name(const struct http_query *query, const char *name)
{
	for (size_t i = 0; i < query->n; i++)
		if (strcmp(query->pairs[i].name, name) == 0)
			return true;
	return false;
}

struct query_word {
	const char *name, *value; /* no name: no word */
};

static int add_words(struct query_words *words, const struct query_word *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = list[i].name ? add_word(words, list[i].name, list[i].value) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* Adds what counts more than the parameters, or what they leave out. */
static int add_rest(struct query_words *words, const struct query_request *request,
		    const struct http_query *query)
{
	char from[MOMENT_SIZE], to[MOMENT_SIZE];
	bool has_format = request->kind < QUERY_PROFILE || has_name(query, "format");
	bool has_search = request->kind != QUERY_FUNCTIONS || has_name(query, "q");
	const struct query_word rest[] = {
		{request->to ? "from" : NULL, moment_utc(request->from, from)},
		{request->to ? "to" : NULL, moment_utc(request->to, to)},
		{has_format ? NULL : "--json"},
		{has_search ? NULL : "search", ""},
		{kind_words[request->kind]},
	};

	return add_words(words, rest, sizeof rest / sizeof *rest);
}

static int make_words(const struct query_request *request, const char *store,
		      struct query_words *words, struct failure *failure)
{
	const struct query_word first[] = {{"query"}, {"-q"}, {"store", store}};
	struct http_query query;
	int r = http_query_parse((struct http_text){request->text, request->n}, &query);

	if (r < 0)
		return failure_set(failure, -EINVAL, "the parameters make no sense");
	r = add_words(words, first, sizeof first / sizeof *first);
	if (r < 0)
		return r;
	for (size_t i = 0; i < query.n; i++) {
		r = add_parameter(words, request->kind, &query.pairs[i], failure);
		if (r < 0)
			return r;
	}
	return add_rest(words, request, &query);
}

/* The confined process */

struct query_work {
	const char *store;
	int connection;
};

static ssize_t write_gzip(void *gzip, const char *bytes, size_t n)
{
	gzip_write(gzip, bytes, n);
	return n;
}

static int answer_packed(enum query_kind kind, struct query_words *words, struct failure *failure)
{
	FILE *stream;
	struct gzip *gzip;
	int r = gzip_new(stdout, GZIP_LEVEL, &gzip);

	if (r < 0)
		return r;
	stream = fopencookie(gzip, "w", (cookie_io_functions_t){.write = write_gzip});
	r = stream ? query_answer(kind, words->n, words->words, stream, failure) : -ENOMEM;
	if (stream)
		fclose(stream);
	gzip_finish(gzip);
	gzip_free(gzip);
	return r;
}

static int answer_words(const struct query_request *request, struct query_words *words,
			const char *store, struct failure *failure)
{
	int r = make_words(request, store, words, failure);

	if (r < 0)
		return r;
	if (request->is_gzip)
		return answer_packed(request->kind, words, failure);
	return query_answer(request->kind, words->n, words->words, stdout, failure);
}

static int answer_request(const struct query_work *work, const struct query_request *request,
			  struct failure *failure)
{
	struct query_words words = {};
	int r;

	if (request->kind > QUERY_LIST || request->n > sizeof request->text)
		return -EINVAL;
	r = answer_words(request, &words, work->store, failure);
	words_done(&words);
	if (r < 0)
		return r;
	if (fflush(stdout) != 0 || ferror(stdout))
		return failure_set(failure, -EFBIG, "the answer is too large");
	return 0;
}

static int take_request(const struct query_work *work, struct failure *failure)
{
	_cleanup_free_ struct query_request *request = calloc(1, sizeof *request);
	int fds[CHILD_MAX_FDS], r;
	size_t n_fds = 0;

	if (!request)
		return -ENOMEM;
	r = child_receive(work->connection, request, sizeof *request, 0, fds, &n_fds);
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
	if (r < 0)
		return r;
	return answer_request(work, request, failure);
}

/* Returns its exit code; says what is wrong to whoever asked. */
static int work_confined(void *data)
{
	const struct query_work *work = data;
	struct query_result result = {};
	struct failure failure = {};
	int r = take_request(work, &failure);

	if (r == 0)
		return EXIT_DONE;
	result.code = r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	result.is_missing = r == -ENODATA;
	snprintf(result.text, sizeof result.text, "%s",
		 *failure.what ? failure.what : strerror(-r) /* escaped later */);
	child_send(work->connection, &result, sizeof result, NULL, 0);
	return result.code;
}

/* Its parent */

static int set_limits(void)
{
	static const struct {
		int resource;
		rlim_t most;
	} limits[] = {
		{RLIMIT_AS, MEMORY_BYTES},
		{RLIMIT_FSIZE, ANSWER_BYTES},
		{RLIMIT_CPU, CPU_SECONDS},
	};

	setpriority(PRIO_PROCESS, 0, NICE);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		const struct rlimit limit = {limits[i].most, limits[i].most};

		if (setrlimit(limits[i].resource, &limit) < 0)
			return -errno;
	}
	return 0;
}

/* Standard output becomes memory; it and the connection are what the confined process keeps. */
static int prepare(const struct query_place *place, int connection)
{
	_cleanup_close_ int memory = memfd_create("answer", MFD_CLOEXEC);
	int r;

	if (memory < 0 || dup2(memory, STDOUT_FILENO) < 0 || fcntl(connection, F_SETFD, 0) < 0)
		return -errno;
	listener_done(place->listener, false);
	daemon_board_free(place->board);
	munmap(place->counts, sizeof *place->counts);
	r = set_limits();
	if (r < 0)
		return r;
	return place->account ? account_become(place->account) : 0;
}

static int run_query(const struct query_place *place, int connection)
{
	struct confined_folder folder = {(char *)place->store, LISTING_NONE};
	const struct confined confined = {
		.closes = true, .folders = &folder, .n_folders = 1, .lifeline = connection};
	struct query_work work = {place->store, connection};
	int number = 0, r = prepare(place, connection);

	if (r < 0)
		return r;
	r = listing_read(place->store, store_is_segment, &folder.files);
	if (r < 0)
		return r;
	r = confined_run(&confined, work_confined, &work, &number);
	listing_done(&folder.files);
	return r;
}

static void be_query(const struct query_place *place, int connection)
{
	struct query_result result = {.text = "the process that reads the store ended\n"};
	int memory = STDOUT_FILENO, r;
	struct stat st;

	prctl(PR_SET_NAME, "bpfflame-query");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	r = run_query(place, connection);
	result.code = r < 0 ? EXIT_FAILED : r;
	if (r == 0 && fstat(memory, &st) == 0)
		result.n = st.st_size;
	if (r < 0 && r != -ECHILD)
		snprintf(result.text, sizeof result.text, "cannot read the store: %s",
			 strerror(-r));
	/* After another result, nobody listens any more. */
	child_send(connection, &result, sizeof result, &memory, r == 0);
	_exit(EXIT_DONE);
}

int daemon_query_start(const struct query_place *place, pid_t *ret_pid, int *ret_fd)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		be_query(place, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	*ret_pid = pid;
	*ret_fd = ends[0];
	return 0;
}
