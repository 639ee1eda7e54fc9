/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * same_machine N [SEED]: runs N random texts over random memory in BPF and on the host. Prints how
 * many there were, how many ended in which way, and the first whose registers, window or chain
 * differ.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/made_machine.h"

#include "machine.skel.h"

#define TLS (MADE_START + 0x8000)

static uint64_t state;

/* splitmix64: the same numbers everywhere. */
static uint64_t next(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Words that lead to other words, small numbers, and anything. */
static void make_memory(struct made_memory *memory)
{
	for (uint64_t at = 0; at < MADE_BYTES; at += 8) {
		uint64_t x = next();

		made_word(memory, MADE_START + at,
			  x & 3 ? MADE_START + (x >> 8) % MADE_BYTES : x >> (x >> 2 & 63));
	}
}

/* Operations that go on are more frequent than those that end. */
static void make_text(struct bf_text *text)
{
	for (int i = 0; i < BF_TEXT_OPS; i++) {
		uint64_t x = next();
		uint8_t code = x % 64 ? 1 + (x >> 8) % (N_BF_OPS - 1) : (x >> 8) % (N_BF_OPS + 2);

		text->ops[i] =
			(struct bf_op){code, x >> 16, x >> 24, x >> 32,
				       x & 128 ? (int32_t)(next() % 200) - 60 : (int32_t)next()};
	}
}

static int compare(struct machine *skel, const struct bf_machine *host, uint64_t i)
{
	const struct bf_machine *bpf = &skel->bss->machine;

	if (memcmp(bpf->registers, host->registers, sizeof host->registers) == 0 &&
	    memcmp(bpf->window, host->window, sizeof host->window) == 0 && bpf->at == host->at &&
	    bpf->header == host->header && bpf->n == host->n && bpf->end == host->end &&
	    bpf->is_cut == host->is_cut &&
	    memcmp(bpf->words, host->words, host->header * sizeof *host->words) == 0)
		return 0;
	printf("text %llu differs: at %u and %u, end %u and %u, words %u and %u\n",
	       (unsigned long long)i, bpf->at, host->at, bpf->end, host->end, bpf->header,
	       host->header);
	return -EINVAL;
}

static int run(struct machine *skel, struct made_memory *memory, uint64_t n)
{
	static struct bf_machine host;
	uint64_t ends[8] = {};
	LIBBPF_OPTS(bpf_test_run_opts, options);

	for (uint64_t i = 0; i < n; i++) {
		if (i % 64 == 0)
			make_memory(memory);
		make_text(&skel->bss->text);
		memset(&host, 0, sizeof host);
		for (int k = 0; k < BF_PARAMETERS; k++)
			host.parameters[k] = MADE_START + next() % MADE_BYTES;
		skel->bss->machine = host;
		if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.run_machine), &options) < 0)
			return -errno;
		made_run(&host, &skel->bss->text, TLS, memory);
		if (compare(skel, &host, i) < 0)
			return -EINVAL;
		ends[host.end & 7]++;
	}
	printf("same %llu", (unsigned long long)n);
	for (int k = 0; k < 8; k++)
		printf(" %llu", (unsigned long long)ends[k]);
	printf("\n");
	return 0;
}

int main(int argc, char **argv)
{
	struct made_memory *memory =
		mmap((void *)MADE_START, sizeof *memory, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0);
	struct machine *skel =
		argc > 1 && memory == (void *)MADE_START ? machine__open_and_load() : NULL;

	if (!skel) {
		fprintf(stderr, "same_machine: cannot load: %s\n", strerror(errno));
		return 1;
	}
	state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	skel->bss->tls = TLS;
	skel->bss->memory_start = MADE_START;
	skel->bss->memory_bytes = MADE_BYTES;
	return run(skel, memory, strtoull(argv[1], NULL, 0)) < 0;
}
