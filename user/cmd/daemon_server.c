/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/confined.h"
#include "base/sandbox.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cmd/daemon_link.h"
#include "cmd/daemon_log.h"
#include "cmd/daemon_metrics.h"
#include "cmd/daemon_query.h"
#include "export/gzip.h"
#include "serve/page.h"

/* What the confined process asks of the keeper: the lowest byte of the number. */
enum keeper_request {
	ASK_COST,  /* write on the board what serving costs */
	ASK_RANGE, /* windows are to end soon and, the other bytes, so many seconds later: a tick */
	ASK_QUERY, /* a process that reads the store: a connection (daemon_query.h) */
};
#define ASK_SHIFT 8

#define QUERIES	    4	/* at a time; others wait for their turn */
#define SECONDS	    30	/* of a profile, where nothing is said, as Go's runtime has it … */
#define MAX_SECONDS 300 /* … and the most */
#define RANGES	    48	/* waited for at a time; questions to the store have room beside them */
#define GZIP_LEVEL  1	/* it is done between two requests */
#define OVERDUE_NS  (30 * NSEC_PER_SEC) /* until a window must be written */

struct keeper {
	const struct server_setup *setup;
	uint64_t cost_before; /* of keepers that are gone */
	pid_t child;
	pid_t queries[QUERIES]; /* 0: none */
	struct query_place place;
};

/* The confined process */

struct http_service {
	const struct server_setup *setup;
	const struct daemon_board *board; /* a view */
	struct server *server;
	unsigned int n_ranges; /* profiles of the next seconds that are waited for */
};

/* A request that is answered from the store. */
struct query_job {
	enum query_kind kind;
	bool has_range;
	uint64_t from, to; /* monotonic ns */
	uint64_t asked_at;
	struct http_query query;
	struct query_request request;
};

static int answer_text(struct serve_answer *answer, int status, const char *text)
{
	answer->status = status;
	answer->type = "text/plain; charset=utf-8";
	answer->bytes = strdup(text);
	if (!answer->bytes)
		return -ENOMEM;
	answer->n = strlen(text);
	return 0;
}

static int answer_health(struct http_service *service, struct serve_exchange *exchange)
{
	char text[HEALTH_SIZE];
	bool is_healthy = daemon_is_healthy(service->board, monotonic_ns(), text);

	return answer_text(&exchange->answer,
			   is_healthy ? HTTP_STATUS_OK : HTTP_STATUS_SERVICE_UNAVAILABLE, text);
}

static bool write_packed(const struct serve_answer *answer, FILE *stream)
{
	struct gzip *gzip;

	if (gzip_new(stream, GZIP_LEVEL, &gzip) < 0)
		return false;
	gzip_write(gzip, answer->bytes, answer->n);
	gzip_finish(gzip);
	gzip_free(gzip);
	return !ferror(stream);
}

/* Packs the body; an error leaves it as it is. */
static void pack(struct serve_answer *answer)
{
	char *packed = NULL;
	size_t n;
	FILE *stream = open_memstream(&packed, &n);
	bool is_packed;

	if (!stream)
		return;
	is_packed = write_packed(answer, stream);
	if (fclose(stream) != 0 || !is_packed) {
		free(packed);
		return;
	}
	free(answer->bytes);
	answer->bytes = packed;
	answer->n = n;
	answer->is_gzip = true;
}

static int answer_metrics(struct http_service *service, struct serve_exchange *exchange)
{
	struct serve_answer *answer = &exchange->answer;
	int fd, r;

	confined_ask(ASK_COST, &fd);
	closep(&fd);
	answer->status = HTTP_STATUS_OK;
	answer->type = METRICS_TYPE;
	r = daemon_metrics(service->board, server_counts(service->server), &answer->bytes,
			   &answer->n);
	if (r == 0 && http_accepts_gzip(exchange->request))
		pack(answer);
	return r;
}

/* Answers from the store */

static const char *find_value(const struct http_query *query, const char *name)
{
	for (size_t i = 0; i < query->n; i++)
		if (strcmp(query->pairs[i].name, name) == 0)
			return query->pairs[i].value;
	return NULL;
}

/* Go's clients print what comes with this header. */
#define GO_ERROR "X-Go-Pprof: 1\r\n"

static int refuse_job(struct serve_answer *answer, int status, const char *text)
{
	answer_text(answer, status, text);
	answer->headers = GO_ERROR;
	return 1;
}

/* Whole seconds from 1 to 300; 0: wrong. */
static unsigned int parse_seconds(const char *text)
{
	char *end;
	unsigned long seconds = text ? strtoul(text, &end, 10) : SECONDS;

	if (text && (*text < '0' || *text > '9' || *end))
		return 0;
	return seconds <= MAX_SECONDS ? seconds : 0;
}

static int begin_range(struct http_service *service, struct query_job *job,
		       struct serve_answer *answer)
{
	unsigned int seconds = parse_seconds(find_value(&job->query, "seconds"));
	const struct daemon_board *board = service->board;
	int fd, tick;

	if (!seconds)
		return refuse_job(answer, HTTP_STATUS_BAD_REQUEST, "seconds: 1 to 300\n");
	if (service->n_ranges >= RANGES)
		return refuse_job(answer, HTTP_STATUS_SERVICE_UNAVAILABLE,
				  "too many profiles are waited for\n");
	tick = confined_ask(ASK_RANGE | seconds << ASK_SHIFT, &fd);
	closep(&fd);
	if (tick < 0)
		return refuse_job(answer, HTTP_STATUS_SERVICE_UNAVAILABLE,
				  "nothing is being recorded\n");
	job->from = board_get(&board->grid_ns) + tick * board_get(&board->tick_ns);
	job->to = job->from + seconds * NSEC_PER_SEC;
	job->has_range = true;
	service->n_ranges++;
	return 0;
}

static int begin_job(struct http_service *service, struct serve_exchange *exchange,
		     enum query_kind kind)
{
	struct http_text query = exchange->request->query;
	struct query_job *job = calloc(1, sizeof *job);

	if (exchange->request->is_head) {
		free(job);
		return refuse_job(&exchange->answer, HTTP_STATUS_METHOD_NOT_ALLOWED, "only GET\n");
	}
	if (!job)
		return refuse_job(&exchange->answer, HTTP_STATUS_SERVICE_UNAVAILABLE,
				  "out of memory\n");
	exchange->state = job;
	*job = (struct query_job){.kind = kind, .asked_at = monotonic_ns()};
	if (http_query_parse(query, &job->query) < 0 || query.n > sizeof job->request.text)
		return refuse_job(&exchange->answer, HTTP_STATUS_BAD_REQUEST,
				  "the parameters make no sense\n");
	job->request.kind = kind;
	job->request.n = query.n;
	if (query.n)
		memcpy(job->request.text, query.bytes, query.n);
	return kind == QUERY_CPU || kind == QUERY_WAITS
		       ? begin_range(service, job, &exchange->answer)
		       : 0;
}

static uint64_t to_realtime(uint64_t moment_ns)
{
	return realtime_ns() - (monotonic_ns() - moment_ns);
}

/* Whether the windows of the range are in the store. */
static bool is_written(const struct http_service *service, const struct query_job *job)
{
	uint64_t until = board_get(&service->board->written_until);

	return !job->has_range || until + service->board->tick_ns / 4 >= to_realtime(job->to);
}

/* pprof files are packed as they are, whoever asks. */
static bool wants_gzip(const struct http_request *request, const struct query_job *job)
{
	const char *format = find_value(&job->query, "format");
	bool is_packed = job->kind == QUERY_CPU || job->kind == QUERY_WAITS ||
			 (format && (strcmp(format, "pprof") == 0 || strcmp(format, "pb.gz") == 0));

	return !is_packed && http_accepts_gzip(request);
}

/* Finds somebody to answer it. 1: that can't be. */
static int send_job(struct query_job *job, struct serve_exchange *exchange)
{
	int fd, r = confined_ask(ASK_QUERY, &fd);

	if (r < 0 || fd < 0)
		return r == -EAGAIN ? 0
				    : refuse_job(&exchange->answer, HTTP_STATUS_SERVICE_UNAVAILABLE,
						 "cannot read the store\n");
	if (job->has_range) {
		job->request.from = to_realtime(job->from);
		job->request.to = to_realtime(job->to);
	}
	job->request.is_gzip = wants_gzip(exchange->request, job);
	exchange->watch = fd;
	r = child_send(fd, &job->request, sizeof job->request, NULL, 0);
	return r < 0 ? refuse_job(&exchange->answer, HTTP_STATUS_INTERNAL_SERVER_ERROR,
				  "the process that reads the store ended\n")
		     : 0;
}

static const struct {
	const char *format, *type, *headers;
} formats[] = {
	{"pprof", "application/octet-stream",
	 "Content-Disposition: attachment; filename=\"profile.pb.gz\"\r\n"},
	{"pb.gz", "application/octet-stream",
	 "Content-Disposition: attachment; filename=\"profile.pb.gz\"\r\n"},
	{"svg", "image/svg+xml", "Content-Disposition: attachment; filename=\"profile.svg\"\r\n"},
	{"html", "text/html; charset=utf-8",
	 "Content-Disposition: attachment; filename=\"profile.html\"\r\n"},
	{"folded", "text/plain; charset=utf-8", NULL},
	{"txt", "text/plain; charset=utf-8", NULL},
	{"text", "text/plain; charset=utf-8", NULL},
	{"md", "text/markdown; charset=utf-8", NULL},
	{"markdown", "text/markdown; charset=utf-8", NULL},
	{"csv", "text/csv; charset=utf-8", NULL},
};

static void set_type(const struct query_job *job, struct serve_answer *answer)
{
	bool is_file = job->kind == QUERY_CPU || job->kind == QUERY_WAITS;
	const char *format = is_file ? "pprof" : find_value(&job->query, "format");

	answer->type = job->kind == QUERY_SERIES || job->kind == QUERY_LIST ? "application/x-ndjson"
									    : "application/json";
	for (size_t i = 0; format && i < sizeof formats / sizeof *formats; i++)
		if (strcmp(formats[i].format, format) == 0) {
			answer->type = formats[i].type;
			answer->headers = formats[i].headers;
		}
}

/* A line of whoever read the store, as it may be shown. */
static int refuse_result(struct serve_answer *answer, struct query_result *result)
{
	FILE *stream = open_memstream(&answer->bytes, &answer->n);

	result->text[sizeof result->text - 1] = '\0';
	if (!stream)
		return refuse_job(answer, HTTP_STATUS_SERVICE_UNAVAILABLE, "out of memory\n");
	text_print(stream, "%s\n", result->text);
	fclose(stream);
	answer->status = result->code == EXIT_USAGE ? HTTP_STATUS_BAD_REQUEST
			 : result->is_missing	    ? HTTP_STATUS_NOT_FOUND
						    : HTTP_STATUS_INTERNAL_SERVER_ERROR;
	answer->type = "text/plain; charset=utf-8";
	answer->headers = GO_ERROR;
	return 1;
}

static int take_result(const struct query_job *job, struct serve_exchange *exchange)
{
	struct serve_answer *answer = &exchange->answer;
	struct query_result result;
	int fds[CHILD_MAX_FDS], r;
	size_t n_fds = 0;

	r = child_receive(exchange->watch, &result, sizeof result, MSG_DONTWAIT, fds, &n_fds);
	if (r == -EAGAIN)
		return 0;
	for (size_t i = 1; i < n_fds; i++)
		close(fds[i]);
	if (r == 0 && result.code == EXIT_DONE && n_fds) {
		set_type(job, answer);
		answer->is_gzip = job->request.is_gzip;
		answer->status = HTTP_STATUS_OK;
		answer->fd = fds[0];
		answer->n = result.n;
		return 1;
	}
	if (n_fds)
		close(fds[0]);
	return r == 0 ? refuse_result(answer, &result)
		      : refuse_job(answer, HTTP_STATUS_INTERNAL_SERVER_ERROR,
				   "the process that reads the store ended\n");
}

static int step_job(struct http_service *service, struct serve_exchange *exchange)
{
	struct query_job *job = exchange->state;
	uint64_t now = monotonic_ns();

	if (exchange->watch >= 0)
		return take_result(job, exchange);
	if (job->has_range && now < job->to)
		return 0;
	if (is_written(service, job))
		return send_job(job, exchange);
	return now > job->to + OVERDUE_NS
		       ? refuse_job(&exchange->answer, HTTP_STATUS_SERVICE_UNAVAILABLE,
				    "the windows of that time were not written\n")
		       : 0;
}

/* Paths */

static const struct {
	const char *path;
	int (*answer)(struct http_service *service, struct serve_exchange *exchange);
} routes[] = {
	{"/healthz", answer_health},
	{"/metrics", answer_metrics},
};

static const struct {
	const char *path;
	enum query_kind kind;
} jobs[] = {
	{"/debug/pprof/profile", QUERY_CPU}, {"/debug/pprof/offcpu", QUERY_WAITS},
	{"/api/profile", QUERY_PROFILE},     {"/api/series", QUERY_SERIES},
	{"/api/list", QUERY_LIST},	     {"/api/diff", QUERY_DIFF},
	{"/api/worse", QUERY_WORSE},	     {"/api/functions", QUERY_FUNCTIONS},
};

static bool is_path(struct http_text path, const char *route)
{
	return path.n == strlen(route) && memcmp(path.bytes, route, path.n) == 0;
}

static int step_answer(void *context, struct serve_exchange *exchange)
{
	struct serve_answer *answer = &exchange->answer;
	struct http_text path = exchange->request->path;

	for (size_t i = 0; i < sizeof jobs / sizeof *jobs && !exchange->state; i++) {
		if (!is_path(path, jobs[i].path))
			continue;
		if (exchange->is_crowded)
			return 0;
		if (begin_job(context, exchange, jobs[i].kind) > 0)
			return 1;
	}
	if (exchange->state)
		return step_job(context, exchange);
	if (page_is(path)) {
		page_answer(exchange->request, answer);
		return 1;
	}
	answer->status = HTTP_STATUS_NOT_FOUND;
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
		if (is_path(path, routes[i].path) && routes[i].answer(context, exchange) < 0)
			*answer = (struct serve_answer){.status = HTTP_STATUS_SERVICE_UNAVAILABLE,
							.fd = -1};
	return 1;
}

static void forget_answer(void *context, struct serve_exchange *exchange)
{
	struct http_service *service = context;
	const struct query_job *job = exchange->state;

	service->n_ranges -= job && job->has_range;
	closep(&exchange->watch);
	free(exchange->state);
}

/* The confined process's work: returns its exit code, if it can't go on. */
static int serve_clients(void *data)
{
	struct http_service *service = data;
	struct http_guard guard = service->setup->listener->guard;
	const struct serve_options options = {
		.guard = &guard,
		.identity = service->setup->listener->identity,
		.step = step_answer,
		.forget = forget_answer,
		.context = service,
		.counts = service->setup->counts,
	};
	int r;

	guard.is_public = page_is;
	r = server_new(service->setup->listener->fd, &options, &service->server);
	daemon_board_free(service->setup->board); /* the one that can be written */
	while (r == 0)
		r = server_step(service->server, -1);
	daemon_log(LOG_LEVEL_ERROR, "cannot answer requests: %s", strerror(-r));
	return EXIT_FAILED;
}

/* The keeper */

static uint64_t cost_of(const struct keeper *keeper)
{
	struct rusage self, ended;
	struct timespec used = {};
	clockid_t clock;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &ended);
	if (keeper->child > 0 && clock_getcpuclockid(keeper->child, &clock) == 0)
		clock_gettime(clock, &used);
	return (rusage_seconds(&self) + rusage_seconds(&ended)) * 1e9 + used.tv_sec * NSEC_PER_SEC +
	       used.tv_nsec;
}

static int ask_range(struct keeper *keeper, unsigned int seconds)
{
	struct daemon_board *board = keeper->setup->board;
	uint64_t tick;
	int r;

	if (!seconds || seconds > MAX_SECONDS || !board_get(&board->runs[BOARD_RECORD]))
		return -EINVAL;
	r = daemon_board_ask(board, monotonic_ns(), seconds, &tick);
	if (r < 0)
		return r;
	return tick > INT32_MAX ? -ERANGE : (int)tick;
}

static void take_up_queries(struct keeper *keeper)
{
	for (size_t i = 0; i < QUERIES; i++)
		if (keeper->queries[i] && waitpid(keeper->queries[i], NULL, WNOHANG) != 0)
			keeper->queries[i] = 0;
}

/* Where one of a few may be started; -EAGAIN: all are at work. */
static int start_query(struct keeper *keeper, int *ret_fd)
{
	for (size_t i = 0; i < QUERIES; i++)
		if (!keeper->queries[i])
			return daemon_query_start(&keeper->place, &keeper->queries[i], ret_fd);
	return -EAGAIN;
}

static int serve_request(void *context, uint32_t number, int *ret_fd)
{
	struct keeper *keeper = context;

	take_up_queries(keeper);
	switch (number & ((1u << ASK_SHIFT) - 1)) {
	case ASK_COST:
		board_set(&keeper->setup->board->cpu_ns[BOARD_SERVE],
			  keeper->cost_before + cost_of(keeper));
		return 0;
	case ASK_RANGE: return ask_range(keeper, number >> ASK_SHIFT);
	case ASK_QUERY: return start_query(keeper, ret_fd);
	default: return -EPERM;
	}
}

/* As the confined process has them, and for making another user of that. */
#define FOR_KEEPING                                                                                \
	(SANDBOX_CAPABILITY(CAP_SETUID) | SANDBOX_CAPABILITY(CAP_SETGID) |                         \
	 SANDBOX_CAPABILITY(CAP_KILL))

static int keep(struct keeper *keeper, struct http_service *service)
{
	struct confined confined = {
		.closes = true,
		.is_server = true,
		.serve = serve_request,
		.context = keeper,
		.pid = &keeper->child,
	};
	int number = 0, r = confined_run(&confined, serve_clients, service, &number);

	if (r == -ECHILD)
		daemon_log(LOG_LEVEL_ERROR,
			   "the process that answers requests was killed by signal %d", number);
	else if (r < 0)
		daemon_log(LOG_LEVEL_ERROR, "cannot start a process that answers requests: %s",
			   strerror(-r));
	return EXIT_FAILED;
}

static int prepare(const struct server_setup *setup, const struct daemon_board **ret_view,
		   struct account *account)
{
	const char *user = setup->options->user;
	int r = daemon_board_view(setup->board_fd, ret_view);

	if (r < 0)
		return r;
	r = user ? account_find(user, -1, account) : 0;
	if (r < 0)
		return r;
	r = sandbox_restrict(FOR_KEEPING);
	if (r < 0)
		return r;
	/* The confined process keeps what exec would not close. */
	return fcntl(setup->listener->fd, F_SETFD, 0) < 0 ? -errno : 0;
}

int daemon_serve(const struct server_setup *setup)
{
	struct account account = {};
	struct keeper keeper = {.setup = setup,
				.cost_before = board_get(&setup->board->cpu_ns[BOARD_SERVE]),
				.place = {.store = setup->options->store,
					  .listener = setup->listener,
					  .board = setup->board,
					  .counts = setup->counts,
					  .account = setup->options->user ? &account : NULL}};
	struct http_service service = {.setup = setup};
	const struct daemon_report ready = {.kind = REPORT_SERVING};
	int r = prepare(setup, &service.board, &account);

	if (r < 0) {
		daemon_log(LOG_LEVEL_ERROR, "cannot answer requests: %s", strerror(-r));
		return EXIT_FAILED;
	}
	daemon_link_report(setup->reports, &ready);
	return keep(&keeper, &service);
}
