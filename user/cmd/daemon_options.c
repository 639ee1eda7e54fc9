/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/system.h"
#include "cli/option_table.h"
#include "cli/parse.h"
#include "cli/store_input.h"

#define DEFAULT_FREQUENCY     19 /* a prime: in step with no timer */
#define DEFAULT_CPU_BUDGET    1
#define DEFAULT_MEMORY	      (100ULL << 20)
#define LEAST_MEMORY	      (32ULL << 20)
#define LEAST_STORE	      (1ULL << 20)
#define DEFAULT_WINDOW	      (10 * NSEC_PER_SEC)
#define DEFAULT_UNWIND_MEMORY (48ULL << 20)
#define MIN_WINDOW	      (NSEC_PER_SEC / 2)
#define MAX_WINDOW	      (30 * NSEC_PER_SEC) /* a minute is another level */
#define MAX_LINES	      1000
#define MAX_CONFIG	      (64 << 10)

#define FIELD(field) offsetof(struct daemon_options, field)

/* 0 is refused: it may mean nothing at all, or for ever. */
static int take_time(const char *value, uint64_t *ret_ns)
{
	uint64_t age;

	if (parse_time(value, NSEC_PER_SEC, &age) < 0 || age == 0)
		return -EINVAL;
	*ret_ns = age;
	return 0;
}

/* `1m=14d`, of a level. */
static int take_level(struct store_limits *keep, const char *value)
{
	static const char *const names[N_STORE_LEVELS] = {"10s", "1m", "1h", "1d", "series"};
	const char *equals = strchr(value, '=');
	size_t n = equals - value;

	for (int i = 0; i < N_STORE_LEVELS; i++)
		if (strlen(names[i]) == n && strncmp(names[i], value, n) == 0)
			return take_time(equals + 1, &keep->age_ns[i]);
	return -EINVAL;
}

/* `7d`: of all levels. */
static int take_age(struct store_limits *keep, const char *value)
{
	uint64_t age;

	if (!islower((unsigned char)value[strlen(value) - 1]) || take_time(value, &age) < 0)
		return -EINVAL;
	for (int i = 0; i < N_STORE_LEVELS; i++)
		keep->age_ns[i] = age;
	return 0;
}

/* `1G`. A number alone is refused: it counts sets with --every, and as bytes would remove all. */
static int take_total(struct store_limits *keep, const char *value)
{
	uint64_t bytes;
	int r = isdigit((unsigned char)value[strlen(value) - 1]) ? -EINVAL
								 : parse_bytes(value, &bytes);

	if (r < 0 || bytes < LEAST_STORE)
		return -EINVAL;
	keep->bytes = bytes;
	return 0;
}

static int take_keep(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	int r = !*value		     ? -EINVAL
		: strchr(value, '=') ? take_level(field, value)
				     : take_total(field, value);

	if (r < 0 && *value && !strchr(value, '='))
		r = take_age(field, value);
	return r < 0 ? option_bad(row, value, row->wanted, failure) : 0;
}

static int take_window(const struct option_row *row, void *field, const char *value,
		       struct failure *failure)
{
	uint64_t *window = field;

	return parse_time(value, NSEC_PER_SEC, window) < 0 || *window < MIN_WINDOW ||
			       *window > MAX_WINDOW
		       ? option_bad(row, value, row->wanted, failure)
		       : 0;
}

static int take_bytes(const struct option_row *row, void *field, const char *value,
		      struct failure *failure)
{
	return parse_size(value, field) < 0 || *(uint64_t *)field < 1 << 20
		       ? option_bad(row, value, row->wanted, failure)
		       : 0;
}

static int take_memory(const struct option_row *row, void *field, const char *value,
		       struct failure *failure)
{
	uint64_t *bytes = field;

	if (strcmp(value, "0") == 0) {
		*bytes = 0;
		return 0;
	}
	return parse_size(value, bytes) < 0 || *bytes < LEAST_MEMORY
		       ? option_bad(row, value, row->wanted, failure)
		       : 0;
}

static int take_host(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	struct listen_options *listen = field;

	if (listen->n_hosts == HTTP_GUARD_HOSTS)
		return failure_set(failure, -EINVAL, "--host: more than %d of them",
				   HTTP_GUARD_HOSTS);
	if (!*value || strpbrk(value, ":/ "))
		return option_bad(row, value, row->wanted, failure);
	listen->hosts[listen->n_hosts++] = value;
	return 0;
}

/* `none` is for a command line that overrides the file. */
static int take_listen(const struct option_row *row, void *field, const char *value,
		       struct failure *failure)
{
	*(const char **)field = strcmp(value, "none") == 0 ? NULL : value;
	return 0;
}

static const struct option_row rows[] = {
	{0, "store", NULL, "DIR", "where windows are kept (" STORE_DEFAULT ")", "Store",
	 option_filled, FIELD(store), .wanted = "a folder"},
	{0, "keep", NULL, "LIMIT", "1m=14d of a level, 7d of all, 1G of bytes; repeatable", NULL,
	 take_keep, FIELD(keep),
	 .wanted = "a limit such as 10s=2d, 1m=14d, 1h=90d, 1d=1y, series=1y, 7d or 1G"},
	{0, "user", NULL, "NAME", "who writes the store (root, without rights)", NULL, option_text,
	 FIELD(user)},
	{'F', "freq", NULL, "HZ", "samples a second and CPU (19)", "Recording", option_unsigned,
	 FIELD(frequency), 1, 1000, "a rate in Hz from 1 to 1000"},
	{0, "cpu-budget", NULL, "PERCENT", "of one CPU (1), else less is done; 0: none", NULL,
	 option_percent, FIELD(cpu_budget), 0, 100, "a percentage such as 1% or 0.5"},
	{0, "memory-budget", NULL, "SIZE", "of all processes (100M), else less is done; 0: none",
	 NULL, take_memory, FIELD(memory_budget), .wanted = "a size of 32M or more, or 0"},
	{0, "window", NULL, "TIME", "how long windows are (10s); for tests", NULL, take_window,
	 FIELD(window_ns), .wanted = "a time from 500ms to 30s"},
	{0, "unwind-memory", NULL, "SIZE", "the most for unwind tables (48M)", NULL, take_bytes,
	 FIELD(unwind_memory), .wanted = "a size of 1M or more"},
	{0, "no-inline", NULL, NULL, "without inlined functions", NULL, option_set,
	 FIELD(no_inline)},
	{0, "no-sandbox", NULL, NULL, "", NULL, option_set, FIELD(no_sandbox)},
	{0, "listen", NULL, "ADDR", "answer requests: 127.0.0.1:9997, unix:PATH; none (default)",
	 "Serving", take_listen, FIELD(listen.address)},
	{0, "token-file", NULL, "FILE", "requests must come with its token", NULL, option_filled,
	 FIELD(listen.token_file), .wanted = "a file"},
	{0, "tls-cert", NULL, "FILE", "certificates for TLS (PEM): ours, then its issuers'", NULL,
	 option_filled, FIELD(listen.tls_certificate), .wanted = "a file"},
	{0, "tls-key", NULL, "FILE", "the key of the first one, for its owner alone", NULL,
	 option_filled, FIELD(listen.tls_key), .wanted = "a file"},
	{0, "behind-proxy", NULL, NULL, "a proxy adds TLS, and looks after names and clients", NULL,
	 option_set, FIELD(listen.behind_proxy)},
	{0, "host", NULL, "NAME", "a name of this machine in requests; repeatable", NULL, take_host,
	 FIELD(listen), .wanted = "a name without port"},
	{0, "config", NULL, "FILE", "options, a line each (" DAEMON_CONFIG ")", "Other",
	 option_filled, FIELD(config), .wanted = "a file"},
	OPTION_VERBOSE(FIELD(verbose)),
	OPTION_HELP(FIELD(help)),
};

static void print_help(FILE *stream)
{
	const struct option_table table = {rows, sizeof rows / sizeof *rows, NULL};

	fputs("Usage: bpfflame daemon [OPTIONS]\n"
	      "Records the whole machine, running and waiting, into a store that bpfflame query\n"
	      "reads, until SIGTERM. SIGHUP reads the file of options again.\n",
	      stream);
	option_tables_print(&table, 1, stream);
}

static char *trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

/* Without the quotes around it. */
static char *unquote(char *text)
{
	size_t n = strlen(text);

	if (n < 2 || (*text != '"' && *text != '\'') || text[n - 1] != *text)
		return text;
	text[n - 1] = '\0';
	return text + 1;
}

/* `freq 19`, `freq = "19"`, `no-inline`: as `--freq=19`, `--no-inline`. Empty: NULL. */
static int take_line(char *line, char **ret)
{
	char *name, *value;
	int n;

	line[strcspn(line, "#")] = '\0';
	name = trim(line);
	*ret = NULL;
	if (!*name)
		return 0;
	value = name + strcspn(name, " \t=");
	if (*value) {
		*value++ = '\0';
		value = trim(value);
		if (*value == '=')
			value = trim(value + 1);
	}
	n = *value ? asprintf(ret, "--%s=%s", name, unquote(value)) : asprintf(ret, "--%s", name);
	return n < 0 ? -ENOMEM : 0;
}

static int read_lines(char *text, struct daemon_options *options)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *word;
		int r = take_line(line, &word);

		if (r < 0)
			return r;
		if (!word)
			continue;
		if (options->n_words == MAX_LINES) {
			free(word);
			return -E2BIG;
		}
		options->words[options->n_words++] = word;
	}
	return 0;
}

/* Whether somebody who could not become us anyway can write to it. */
static bool is_of_others(const struct stat *file)
{
	bool is_shared = (file->st_mode & S_IWOTH) ||
			 ((file->st_mode & S_IWGRP) && file->st_gid && file->st_gid != getegid());

	return (!owner_trusts(file->st_uid, false) && !owner_is_caller(file->st_uid)) ||
	       (S_ISREG(file->st_mode) && is_shared);
}

/* Reads up to @size bytes. Returns how many. */
static ssize_t read_text(int fd, char *text, size_t size)
{
	size_t n = 0;
	ssize_t got = 1;

	while (n < size && got) {
		got = read(fd, text + n, size - n);
		if (got < 0 && errno != EINTR)
			return -errno;
		n += got > 0 ? got : 0;
	}
	return n;
}

/* What it says is done with our rights: where the store is, whose it becomes. */
static int check_config(int fd, const char *path, struct failure *failure)
{
	struct stat file;

	if (fstat(fd, &file) < 0)
		return -errno;
	if (!is_of_others(&file))
		return 0;
	failure_set(failure, -EPERM, "%s is not read: others can write to it", path);
	return failure_fix(failure, -EPERM, "chown root %s; chmod go-w %s", path, path);
}

static int take_config(int fd, const char *path, struct daemon_options *options,
		       struct failure *failure)
{
	_cleanup_free_ char *text = malloc(MAX_CONFIG + 2);
	ssize_t n;
	int r;

	if (!text)
		return -ENOMEM;
	r = check_config(fd, path, failure);
	if (r < 0)
		return r;
	n = read_text(fd, text, MAX_CONFIG + 1);
	if (n < 0)
		return n;
	if (n > MAX_CONFIG)
		return -EFBIG;
	text[n] = '\0';
	if (memchr(text, '\0', n))
		return failure_set(failure, -EINVAL, "%s is no text: it has a NUL", path);
	r = read_lines(text, options);
	return r == -E2BIG ? failure_set(failure, r, "%s has more than %d lines with options", path,
					 MAX_LINES)
			   : r;
}

static int read_config(const char *path, bool must_be, struct daemon_options *options,
		       struct failure *failure)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r;

	if (fd < 0 && errno == ENOENT && !must_be)
		return 0;
	r = fd < 0 ? -errno : take_config(fd, path, options, failure);
	if (r < 0 && !failure->what[0])
		failure_set(failure, r, "cannot read %s: %s", path, strerror(-r));
	return r;
}

/* The words of the file, without those of the command line. */
static int parse_config(const char *path, struct daemon_options *options, struct failure *failure)
{
	struct option_table table = {rows, sizeof rows / sizeof *rows, options};
	char what[sizeof failure->what], fix[sizeof failure->fix];
	int rest, r;

	if (options->n_words == 1)
		return 0;
	r = option_tables_parse(&table, 1, "daemon", options->n_words, options->words, &rest,
				failure);
	if (r == 0 && (rest < (int)options->n_words || options->help || options->config))
		r = failure_set(failure, -EINVAL, "only options, and neither config nor help");
	if (r < 0) {
		memcpy(what, failure->what, sizeof what);
		memcpy(fix, failure->fix, sizeof fix);
		failure_set(failure, r, "%s: %.300s", path, what);
		failure_fix(failure, r, "%s", fix);
	}
	return r;
}

static int parse_words(int argc, char **argv, struct daemon_options *options,
		       struct failure *failure)
{
	struct option_table table = {rows, sizeof rows / sizeof *rows, options};
	int rest, r = option_tables_parse(&table, 1, "daemon", argc, argv, &rest, failure);

	if (r != 0)
		return r;
	if (rest < argc)
		return failure_set(failure, -EINVAL, "'%s' is no option", argv[rest]);
	return 0;
}

/* Reads the words first to learn which file, then again: the command line overrides it. */
static int parse_all(int argc, char **argv, struct daemon_options *options, struct failure *failure)
{
	const struct daemon_options defaults = *options;
	const char *asked, *path;
	int r = parse_words(argc, argv, options, failure);

	if (r != 0)
		return r;
	if (options->help) {
		print_help(stdout);
		return 1;
	}
	asked = options->config;
	path = asked ? asked : DAEMON_CONFIG;
	*options = defaults;
	options->words[options->n_words++] = strdup("daemon");
	r = read_config(path, asked != NULL, options, failure);
	if (r < 0)
		return r;
	r = parse_config(path, options, failure);
	if (r < 0)
		return r;
	return parse_words(argc, argv, options, failure);
}

int daemon_options_read(int argc, char **argv, struct daemon_options *ret, struct failure *failure)
{
	struct daemon_options options = {
		.store = STORE_DEFAULT,
		.frequency = DEFAULT_FREQUENCY,
		.cpu_budget = DEFAULT_CPU_BUDGET,
		.memory_budget = DEFAULT_MEMORY,
		.window_ns = DEFAULT_WINDOW,
		.unwind_memory = DEFAULT_UNWIND_MEMORY,
		.keep = STORE_LIMITS_DEFAULT,
		.words = calloc(MAX_LINES + 2, sizeof(char *)),
	};
	int r = options.words ? parse_all(argc, argv, &options, failure) : -ENOMEM;

	if (r < 0)
		daemon_options_done(&options);
	else
		*ret = options;
	return r;
}

void daemon_options_done(struct daemon_options *options)
{
	for (size_t i = 0; i < options->n_words; i++)
		free(options->words[i]);
	free(options->words);
	*options = (struct daemon_options){};
}
