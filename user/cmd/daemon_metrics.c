/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "base/text.h"

#define GRACE_NS (2 * NSEC_PER_SEC) /* for naming and writing a window that is over */

/* The lines before those of a metric; @name without `bpfflame_`. */
static void put_head(FILE *stream, const char *name, const char *type, const char *help)
{
	fprintf(stream, "# HELP bpfflame_%s %s\n# TYPE bpfflame_%s %s\n", name /* ours */, help,
		name, type);
}

static void put_number(FILE *stream, const char *name, uint64_t value)
{
	fprintf(stream, "bpfflame_%s %" PRIu64 "\n", name /* ours */, value);
}

static void put_labelled(FILE *stream, const char *name, const char *label, const char *text,
			 uint64_t value)
{
	fprintf(stream, "bpfflame_%s{%s=\"%s\"} %" PRIu64 "\n", name /* ours */, label, text,
		value);
}

static void put_seconds(FILE *stream, uint64_t ns)
{
	uint64_t seconds = ns / NSEC_PER_SEC, microseconds = ns % NSEC_PER_SEC / 1000;

	fprintf(stream, " %" PRIu64 ".%06" PRIu64 "\n", seconds, microseconds);
}

static void put_process_metrics(FILE *stream, const struct daemon_board *board)
{
	put_head(
		stream, "cpu_seconds_total", "counter",
		"CPU time of bpfflame's own processes, without programs in the kernel; that of the "
		"broker is looked at each minute, that of questions to the store is part of "
		"serve.");
	for (int i = 0; i < N_BOARD_PROCESSES; i++) {
		if (i == BOARD_QUERY) /* is the server's */
			continue;
		fprintf(stream, "bpfflame_cpu_seconds_total{process=\"%s\"}",
			board_process_text(i) /* ours */);
		put_seconds(stream, board_get(&board->cpu_ns[i]));
	}
	put_head(stream, "memory_bytes", "gauge",
		 "Memory of bpfflame's own processes, looked at each minute; without files and BPF "
		 "maps.");
	for (int i = 0; i < N_BOARD_PROCESSES; i++)
		put_labelled(stream, "memory_bytes", "process", board_process_text(i),
			     board_get(&board->memory[i]));
	put_head(stream, "bpf_seconds_total", "counter",
		 "CPU time of bpfflame's programs in the kernel.");
	fputs("bpfflame_bpf_seconds_total", stream);
	put_seconds(stream, board_get(&board->bpf_ns));
	put_head(stream, "starts_total", "counter",
		 "How often a process of the daemon was started.");
	for (int i = 0; i < N_BOARD_PROCESSES; i++)
		if (i == BOARD_RECORD || i == BOARD_WRITE || i == BOARD_SERVE)
			put_labelled(stream, "starts_total", "process", board_process_text(i),
				     board_get(&board->starts[i]));
}

static void put_recording_metrics(FILE *stream, const struct daemon_board *board)
{
	const struct totals none = {};
	struct loss losses[N_LOSSES];

	put_head(stream, "windows_total", "counter",
		 "Windows that were recorded, by what came of them.");
	put_labelled(stream, "windows_total", "result", "written", board_get(&board->written));
	put_labelled(stream, "windows_total", "result", "unwritten", board_get(&board->unwritten));
	put_labelled(stream, "windows_total", "result", "unsent", board_get(&board->unsent));
	put_head(stream, "losses_total", "counter",
		 "What was lost while recording, by kind, as in the summary of a recording.");
	losses_list(&none, PROFILE_WALL, losses);
	for (size_t i = 0; i < N_LOSSES; i++)
		put_labelled(stream, "losses_total", "kind", losses[i].key,
			     board_get(&board->losses[i]));
	put_head(stream, "sampling_hertz", "gauge", "Samples a second and CPU, now.");
	fprintf(stream, "bpfflame_sampling_hertz %g\n", board_get(&board->millihertz) / 1e3);
	put_head(stream, "offcpu_period_seconds", "gauge",
		 "Off-CPU time is sampled once in so much of it, now; 0: all is kept.");
	fputs("bpfflame_offcpu_period_seconds", stream);
	put_seconds(stream, board_get(&board->period_ns));
	put_head(stream, "effort_steps", "gauge", "Steps that were taken to keep the budgets.");
	put_number(stream, "effort_steps", board_get(&board->effort));
	put_head(stream, "names_total", "counter",
		 "Addresses whose names were in memory, had to be read, and made room for others.");
	put_labelled(stream, "names_total", "result", "hit", board_get(&board->names_hit));
	put_labelled(stream, "names_total", "result", "missed", board_get(&board->names_missed));
	put_labelled(stream, "names_total", "result", "evicted", board_get(&board->names_evicted));
	put_head(stream, "window_seconds", "gauge", "The length of a window.");
	fputs("bpfflame_window_seconds", stream);
	put_seconds(stream, board_get(&board->window_ns));
}

static void put_store_metrics(FILE *stream, const struct daemon_board *board)
{
	static const char *const levels[N_STORE_LEVELS] = {
		[LEVEL_FINEST] = "window", [LEVEL_MINUTE] = "1m",     [LEVEL_HOUR] = "1h",
		[LEVEL_DAY] = "1d",	   [LEVEL_SERIES] = "series",
	};

	put_head(stream, "store_bytes", "gauge", "Bytes of the store's files, by level.");
	for (int i = 0; i < N_STORE_LEVELS; i++)
		put_labelled(stream, "store_bytes", "level", levels[i],
			     board_get(&board->store_bytes[i]));
	put_head(stream, "store_written_bytes_total", "counter", "Bytes written to the store.");
	put_number(stream, "store_written_bytes_total", board_get(&board->written_bytes));
	put_head(stream, "last_window_timestamp_seconds", "gauge",
		 "The end of the last window that was written, since 1970.");
	fputs("bpfflame_last_window_timestamp_seconds", stream);
	put_seconds(stream, board_get(&board->written_until));
}

/* A value of a label: a path of others, as UTF-8 in one line. */
static void put_label_value(FILE *stream, const char *text)
{
	uint32_t code;

	while ((code = text_next(&text))) {
		if (code == '"' || code == '\\')
			fputc('\\', stream);
		text_put(stream, code);
	}
}

/* Copies it: whoever writes it may have been taken over and not have ended it. */
static void put_cgroup(FILE *stream, const struct board_cgroup *cgroup, bool is_other)
{
	char path[BOARD_PATH];

	memcpy(path, cgroup->path, sizeof path);
	path[sizeof path - 1] = '\0';
	fputs("{cgroup=\"", stream);
	put_label_value(stream, is_other ? "other" : path);
	fputs("\"", stream);
}

static void put_cgroup_metrics(FILE *stream, const struct daemon_board *board)
{
	uint64_t n = __atomic_load_n(&board->n_cgroups, __ATOMIC_ACQUIRE);

	n = n < BOARD_CGROUPS ? n : BOARD_CGROUPS;
	put_head(stream, "cgroup_cpu_seconds_total", "counter",
		 "CPU time of all threads, by cgroup; those after the first 200 are `other`.");
	for (uint64_t i = 0; i <= BOARD_CGROUPS; i++) {
		if (i >= n && i < BOARD_CGROUPS)
			continue;
		fputs("bpfflame_cgroup_cpu_seconds_total", stream);
		put_cgroup(stream, &board->cgroups[i], i == BOARD_CGROUPS);
		fputs("}", stream);
		put_seconds(stream, board_get(&board->cgroups[i].running_us) * 1000);
	}
	put_head(stream, "cgroup_waiting_seconds_total", "counter",
		 "Time that all threads waited, by cgroup and by what they waited for; idle: for "
		 "work.");
	for (uint64_t i = 0; i <= BOARD_CGROUPS; i++)
		for (int class = 0; class < N_BOARD_CLASSES; class ++) {
			if (i >= n && i < BOARD_CGROUPS)
				continue;
			fputs("bpfflame_cgroup_waiting_seconds_total", stream);
			put_cgroup(stream, &board->cgroups[i], i == BOARD_CGROUPS);
			fprintf(stream, ",class=\"%s\"}", board_class_text(class) /* ours */);
			put_seconds(stream, board_get(&board->cgroups[i].waiting_us[class]) * 1000);
		}
}

static void put_server_metrics(FILE *stream, const struct server_counts *server)
{
	static const char *const classes[] = {NULL, NULL, "2xx", NULL, "4xx", "5xx"};

	put_head(stream, "http_answers_total", "counter",
		 "Requests that were answered, by status.");
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (classes[i])
			put_labelled(stream, "http_answers_total", "status", classes[i],
				     server->answers[i]);
	put_head(stream, "http_connections_total", "counter", "Connections that were accepted.");
	put_number(stream, "http_connections_total", server->accepted);
	put_head(stream, "http_connections_closed_total", "counter",
		 "Connections that were closed before they had an answer.");
	put_labelled(stream, "http_connections_closed_total", "reason", "room", server->refused);
	put_labelled(stream, "http_connections_closed_total", "reason", "time", server->timeouts);
	put_labelled(stream, "http_connections_closed_total", "reason", "tls", server->broken);
}

int daemon_metrics(const struct daemon_board *board, const struct server_counts *server, char **ret,
		   size_t *ret_n)
{
	FILE *stream = open_memstream(ret, ret_n);
	bool failed;

	if (!stream)
		return -ENOMEM;
	put_head(stream, "build_info", "gauge", "The version of bpfflame.");
	fputs("bpfflame_build_info{version=\"" BPFFLAME_VERSION "\"} 1\n", stream);
	put_process_metrics(stream, board);
	put_recording_metrics(stream, board);
	put_store_metrics(stream, board);
	put_cgroup_metrics(stream, board);
	put_server_metrics(stream, server);
	failed = ferror(stream);
	if (fclose(stream) != 0 || failed) {
		free(*ret);
		return -ENOMEM;
	}
	return 0;
}

bool daemon_is_healthy(const struct daemon_board *board, uint64_t now_ns,
		       char text[static HEALTH_SIZE])
{
	uint64_t started = board_get(&board->started_ns), since = board_get(&board->written_at);
	uint64_t most = HEALTH_WINDOWS * board_get(&board->window_ns) + GRACE_NS;
	const char *why = !board_get(&board->runs[BOARD_RECORD]) ? "the recorder does not run"
			  : !board_get(&board->runs[BOARD_WRITE])
				  ? "the writer does not run"
				  : "nothing is recorded or written";

	uint64_t silent;

	since = since > started ? since : started;
	silent = now_ns > since ? (now_ns - since) / NSEC_PER_SEC : 0;
	if (now_ns <= since || now_ns - since <= most) {
		snprintf(text, HEALTH_SIZE, "ok\n");
		return true;
	}
	snprintf(text, HEALTH_SIZE, "no window was written for %" PRIu64 " s: %s\n", silent,
		 why /* ours */);
	return false;
}
