/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/deferred.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"

/*
 * libbpf's handlers are per process; the last one can't be unregistered (1.1 frees its list twice).
 */
static struct {
	const char *section;
	enum bpf_prog_type type;
	enum bpf_attach_type attach_type;
	int handler;
	struct deferred *deferred;
} kinds[N_DEFERRED] = {
	[DEFERRED_RAW_TRACEPOINT] = {"beside/raw_tp", BPF_PROG_TYPE_RAW_TRACEPOINT},
	[DEFERRED_ITERATOR] = {"beside/iter.s", BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER},
};

#define LOG_BYTES (1u << 20)

static int load_once(struct deferred *deferred)
{
	int fd = bpf_prog_load(bpf_program__type(deferred->program),
			       bpf_program__name(deferred->program), "Dual BSD/GPL",
			       deferred->insns, deferred->n_insns, &deferred->options);

	return fd_or_errno(fd);
}

/* After a refusal, tries again to get the verifier's words. */
static void *load(void *context)
{
	struct deferred *deferred = context;

	deferred->fd = load_once(deferred);
	if (deferred->fd >= 0)
		return NULL;
	deferred->log = calloc(1, LOG_BYTES);
	deferred->options.log_buf = deferred->log;
	deferred->options.log_size = deferred->log ? LOG_BYTES : 0;
	deferred->options.log_level = deferred->log != NULL;
	deferred->fd = load_once(deferred);
	return NULL;
}

int deferred_begin(struct deferred *deferred)
{
	int error;

	if (!deferred->program || deferred->is_running)
		return 0;
	error = pthread_create(&deferred->thread, NULL, load, deferred);
	deferred->is_running = error == 0;
	return -error;
}

/* libbpf is about to load @program with @options: keeps a copy. */
static int take_over(struct bpf_program *program, struct bpf_prog_load_opts *options, long kind)
{
	static const struct bpf_insn stub[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K}, /* r0 = 0 */
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct deferred *deferred = kinds[kind].deferred;
	size_t n = bpf_program__insn_cnt(program);

	deferred->insns = malloc(n * sizeof *deferred->insns);
	if (!deferred->insns)
		return -ENOMEM;
	memcpy(deferred->insns, bpf_program__insns(program), n * sizeof *deferred->insns);
	deferred->n_insns = n;
	deferred->options = *options;
	deferred->program = program;
	options->func_info_cnt = options->line_info_cnt = 0;
	if (bpf_program__set_insns(program, (struct bpf_insn *)stub, 2) < 0)
		return -ENOMEM;
	return kind == DEFERRED_RAW_TRACEPOINT ? deferred_begin(deferred) : 0;
}

int deferred_init(struct deferred *deferred, enum deferred_kind kind)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = kind,
		    .prog_prepare_load_fn = take_over);
	int r = kinds[kind].handler;

	*deferred = (struct deferred){};
	kinds[kind].deferred = deferred;
	if (!r)
		r = libbpf_register_prog_handler(kinds[kind].section, kinds[kind].type,
						 kinds[kind].attach_type, &options);
	if (r < 0)
		return r;
	kinds[kind].handler = r;
	return 0;
}

int deferred_end(struct deferred *deferred)
{
	int r = 0;

	if (!deferred->is_running)
		return 0;
	pthread_join(deferred->thread, NULL);
	deferred->is_running = false;
	if (deferred->fd < 0)
		return deferred->fd;
	if (dup3(deferred->fd, bpf_program__fd(deferred->program), O_CLOEXEC) < 0)
		r = -errno;
	close(deferred->fd);
	return r;
}

void deferred_done(struct deferred *deferred)
{
	deferred_end(deferred);
	free(deferred->insns);
	free(deferred->log);
	*deferred = (struct deferred){};
}
