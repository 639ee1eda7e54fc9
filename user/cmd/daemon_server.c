/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/confined.h"
#include "base/sandbox.h"
#include "base/system.h"
#include "cli/cli.h"
#include "cmd/daemon_link.h"
#include "cmd/daemon_log.h"
#include "cmd/daemon_metrics.h"

/* What the confined process asks of the keeper. */
enum keeper_request {
	ASK_COST, /* write on the board what serving costs */
};

struct keeper {
	const struct daemon_serving *serving;
	uint64_t cost_before; /* of keepers that are gone */
	pid_t child;
};

/* The confined process */

struct http_service {
	const struct daemon_serving *serving;
	const struct daemon_board *board; /* a view */
	struct server *server;
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

static int answer_health(struct http_service *service, struct serve_answer *answer)
{
	char text[HEALTH_SIZE];
	bool is_healthy = daemon_is_healthy(service->board, monotonic_ns(), text);

	return answer_text(answer, is_healthy ? HTTP_STATUS_OK : HTTP_STATUS_SERVICE_UNAVAILABLE,
			   text);
}

static int answer_metrics(struct http_service *service, struct serve_answer *answer)
{
	int fd;

	confined_ask(ASK_COST, &fd);
	closep(&fd);
	answer->status = HTTP_STATUS_OK;
	answer->type = METRICS_TYPE;
	return daemon_metrics(service->board, server_counts(service->server), &answer->bytes,
			      &answer->n);
}

static const struct {
	const char *path;
	int (*answer)(struct http_service *service, struct serve_answer *answer);
} routes[] = {
	{"/healthz", answer_health},
	{"/metrics", answer_metrics},
};

static bool is_path(struct http_text path, const char *route)
{
	return path.n == strlen(route) && memcmp(path.bytes, route, path.n) == 0;
}

static int step_answer(void *context, struct serve_exchange *exchange)
{
	struct serve_answer *answer = &exchange->answer;

	answer->status = HTTP_STATUS_NOT_FOUND;
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
		if (is_path(exchange->request->path, routes[i].path) &&
		    routes[i].answer(context, answer) < 0)
			*answer = (struct serve_answer){.status = HTTP_STATUS_SERVICE_UNAVAILABLE,
							.fd = -1};
	return 1;
}

static void forget_answer(void *context, struct serve_exchange *exchange)
{
}

/* The confined process's work: returns its exit code, if it can't go on. */
static int serve_clients(void *data)
{
	struct http_service *service = data;
	const struct serve_options options = {
		.guard = &service->serving->listener->guard,
		.step = step_answer,
		.forget = forget_answer,
		.context = service,
	};
	int r = server_new(service->serving->listener->fd, &options, &service->server);

	daemon_board_free(service->serving->board); /* the one that can be written */
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

static int serve_request(void *context, uint32_t number, int *ret_fd)
{
	struct keeper *keeper = context;

	if (number != ASK_COST)
		return -EPERM;
	board_set(&keeper->serving->board->cpu_ns[BOARD_SERVE],
		  keeper->cost_before + cost_of(keeper));
	return 0;
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

int daemon_serve(const struct daemon_serving *serving)
{
	struct keeper keeper = {.serving = serving,
				.cost_before = board_get(&serving->board->cpu_ns[BOARD_SERVE])};
	struct http_service service = {.serving = serving};
	const struct daemon_report ready = {.kind = REPORT_SERVING};
	int r = daemon_board_view(serving->board_fd, &service.board);

	r = r < 0 ? r : sandbox_restrict(FOR_KEEPING);
	/* The confined process keeps what exec would not close. */
	if (r == 0 && fcntl(serving->listener->fd, F_SETFD, 0) < 0)
		r = -errno;
	if (r < 0) {
		daemon_log(LOG_LEVEL_ERROR, "cannot answer requests: %s", strerror(-r));
		return EXIT_FAILED;
	}
	daemon_link_report(serving->reports, &ready);
	return keep(&keeper, &service);
}
