/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oracle [-n STACKS] [-t SECONDS] [-s SEED] [-w STEPS] [-d DIFFERENCES] [-v] [-x] (-p PID | COMMAND
 * [ARG…]): stops the threads of a program at random moments and unwinds each stack twice, by the
 * unwinder under test and by elfutils' libdwfl, from the same registers and memory. After each stop
 * it does the same at STEPS (0) more instructions, to cover prologues, epilogues and linkage
 * tables, which random stops seldom hit. A command that ends is started again.
 *
 * Prints the counts as one JSON object on stdout, and every difference, up to DIFFERENCES, on
 * stderr. -v also prints stacks without an oracle; -x gives our unwinder a wrong stack pointer, to
 * check that differences are found. Exits with 1 if fewer than 99.9 % of the stacks with an oracle
 * are identical, with 2 if nothing could be compared.
 *
 * Two stacks are identical if they have the same program counters from the leaf to the frame whose
 * return address is undefined (in both), or 127 of them if there are more; and if both find signals
 * at the same frames. libdwfl guesses without call frame information, and fails where it needs a
 * register that it does not track: then only the frames up to there are compared, and if they agree
 * the stack counts as one without an oracle.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/capture.h"
#include "unwind/ours.h"
#include "unwind/reference.h"

#define MIN_WAIT_NS 200000
#define MAX_WAIT_NS 2000000
#define ENOUGH	    0.999
#define N_SEEN	    65536 /* slots for the hashes of distinct stacks */

enum verdict {
	IDENTICAL,
	NO_ORACLE, /* identical up to where libdwfl has no more information */
	SHORTER,   /* ours is the beginning of libdwfl's */
	LONGER,	   /* libdwfl's is the beginning of ours */
	DIFFERENT,
	N_VERDICTS,
};

static const char *const verdict_names[N_VERDICTS] = {"identical", "no_oracle", "shorter", "longer",
						      "different"};

struct options {
	unsigned int n_stacks, n_steps, n_differences;
	double seconds;
	uint64_t seed;
	bool verbose, wrong;
	pid_t pid;
	char **command;
};

struct totals {
	uint64_t n[N_VERDICTS];
	uint64_t signal_stacks; /* with a signal frame */
	uint64_t deep_stacks;	/* of 127 frames */
	uint64_t frames, n_distinct;
	uint64_t seen[N_SEEN];
};

struct comparison {
	struct our_stack ours;
	struct reference_stack reference;
	uint32_t first; /* first frame that differs */
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static bool is_exact(const struct our_stack *stack, uint32_t i)
{
	return i < stack->n && (stack->frames[i] & BF_FRAME_EXACT);
}

/*
 * Both mark the frame that a signal interrupted and the signal frame below it. At the last frame
 * that it returns, libdwfl has not looked for a signal frame above.
 */
static bool is_same(const struct comparison *comparison, uint32_t i)
{
	const struct our_stack *ours = &comparison->ours;
	const struct reference_stack *reference = &comparison->reference;
	bool activation = i == 0 || is_exact(ours, i);

	if ((ours->frames[i] & ~BF_FRAME_EXACT) != reference->frames[i])
		return false;
	return i + 1 >= ours->n || i + 1 >= reference->n || activation == reference->activation[i];
}

static enum verdict compare(struct comparison *comparison)
{
	const struct our_stack *ours = &comparison->ours;
	const struct reference_stack *reference = &comparison->reference;
	bool has_end = reference->end == REFERENCE_ENTRY || reference->end == REFERENCE_DEPTH;
	uint32_t i = 0;

	while (i < ours->n && i < reference->n && is_same(comparison, i))
		i++;
	comparison->first = i;
	if (i < ours->n && i < reference->n)
		return DIFFERENT;
	/* For us, an address outside of all mappings is not a frame. */
	if (i + 1 == reference->n && reference->end == REFERENCE_NO_CFI &&
	    ours->end == BF_END_UNMAPPED)
		return NO_ORACLE;
	if (i < reference->n)
		return SHORTER;
	if (!has_end)
		return NO_ORACLE;
	if (i < ours->n)
		return LONGER;
	if (ours->end != (reference->end == REFERENCE_ENTRY ? BF_END_ENTRY : BF_END_DEPTH))
		return SHORTER; /* the same frames, and ours wanted more */
	return IDENTICAL;
}

static uint64_t n_stacks(const struct totals *totals)
{
	uint64_t n = 0;

	for (size_t i = 0; i < N_VERDICTS; i++)
		n += totals->n[i];
	return n;
}

static uint64_t n_bad(const struct totals *totals)
{
	return n_stacks(totals) - totals->n[IDENTICAL] - totals->n[NO_ORACLE];
}

static double share(const struct totals *totals)
{
	uint64_t judged = n_stacks(totals) - totals->n[NO_ORACLE];

	return judged ? (double)totals->n[IDENTICAL] / judged : 1;
}

static void count_distinct(struct totals *totals, const struct our_stack *stack)
{
	uint64_t hash = stack->n, at;

	for (uint32_t i = 0; i < stack->n; i++) {
		hash = (hash ^ stack->frames[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	hash |= 1;
	for (at = hash % N_SEEN; totals->seen[at]; at = (at + 1) % N_SEEN)
		if (totals->seen[at] == hash)
			return;
	if (totals->n_distinct < N_SEEN / 2) {
		totals->seen[at] = hash;
		totals->n_distinct++;
	}
}

static void count(struct totals *totals, const struct our_stack *stack, enum verdict verdict)
{
	bool has_signal = false;

	for (uint32_t i = 1; i < stack->n; i++)
		has_signal = has_signal || is_exact(stack, i);
	totals->n[verdict]++;
	totals->frames += stack->n;
	totals->signal_stacks += has_signal;
	totals->deep_stacks += stack->n == BF_MAX_FRAMES;
	count_distinct(totals, stack);
}

/* The state of a run. */
struct bench {
	const struct options *options;
	struct ours *ours;
	struct reference *reference;
	struct target target;
	struct capture capture;
	struct totals *totals;
};

static void print_frame(struct reference *reference, const char *whose, uint32_t i,
			unsigned long long frame)
{
	char name[512];

	reference_name(reference, frame & ~BF_FRAME_EXACT, name, sizeof name);
	fprintf(stderr, "    %-9s #%-3u %016llx%s %s\n", whose, i, frame & ~BF_FRAME_EXACT,
		frame & BF_FRAME_EXACT ? " exact" : "", name);
}

/* The frame before the first difference was unwound incorrectly. */
static void print_difference(struct bench *bench, const struct comparison *comparison,
			     enum verdict verdict)
{
	const struct our_stack *stack = &comparison->ours;
	const struct reference_stack *other = &comparison->reference;
	uint32_t from = comparison->first ? comparison->first - 1 : 0;
	uint8_t code[16] = {};
	char rule[200];
	uint64_t pc;

	fprintf(stderr, "%s: thread %d, ours %u frames (%s), libdwfl %u (%s%s%s)\n",
		verdict_names[verdict], bench->capture.tid, stack->n, ours_end_name(stack->end),
		other->n, reference_end_name(other->end), other->error[0] ? ": " : "",
		other->error);
	for (uint32_t i = from ? from - 1 : 0; i < from + 3; i++) {
		if (i < stack->n)
			print_frame(bench->reference, "ours", i, stack->frames[i]);
		if (i < other->n)
			print_frame(bench->reference, "libdwfl", i, other->frames[i]);
	}
	if (from >= stack->n)
		return;
	pc = stack->frames[from] & ~BF_FRAME_EXACT;
	capture_read(&bench->capture, pc, code, sizeof code);
	ours_explain(bench->ours, &bench->capture, stack->frames[from],
		     from == 0 || is_exact(stack, from), rule, sizeof rule);
	fprintf(stderr, "    left by %s; code at #%u:", rule, from);
	for (size_t i = 0; i < sizeof code; i++)
		fprintf(stderr, " %02x", code[i]);
	fputc('\n', stderr);
}

static int unwind_twice(struct bench *bench)
{
	struct comparison comparison;
	enum verdict verdict;
	int r = reference_walk(bench->reference, &bench->capture, &comparison.reference);

	if (bench->options->wrong)
		bench->capture.registers.rsp += 8;
	if (r == 0)
		r = ours_walk(bench->ours, &bench->capture, &comparison.ours);
	if (r < 0)
		return r;
	verdict = compare(&comparison);
	count(bench->totals, &comparison.ours, verdict);
	if ((verdict > NO_ORACLE && n_bad(bench->totals) <= bench->options->n_differences) ||
	    (verdict == NO_ORACLE && bench->options->verbose))
		print_difference(bench, &comparison, verdict);
	return 0;
}

/* Stops a thread and compares. Returns 0, -EAGAIN, -ENOMEM. */
static int take(struct bench *bench)
{
	int r = capture_next(&bench->capture, &bench->target);

	if (r < 0)
		return r;
	r = unwind_twice(bench);
	for (unsigned int i = 0; i < bench->options->n_steps && r == 0; i++) {
		if (!capture_step(&bench->capture))
			break;
		r = unwind_twice(bench);
	}
	capture_release(&bench->capture);
	return r;
}

static int start(struct target *target, const struct options *options)
{
	if (options->command)
		return target_start(target, options->command);
	target_attach(target, options->pid);
	return 0;
}

static int take_all(struct bench *bench)
{
	const struct options *options = bench->options;
	uint64_t until = now_ns() + options->seconds * 1e9, random = options->seed;
	int r = start(&bench->target, options);

	while (r == 0 && n_stacks(bench->totals) < options->n_stacks && now_ns() < until) {
		uint64_t wait = MIN_WAIT_NS + next_random(&random) % (MAX_WAIT_NS - MIN_WAIT_NS);

		usleep(wait / 1000);
		r = take(bench);
		if (r != -EAGAIN)
			continue;
		r = 0;
		if (target_lives(&bench->target))
			continue;
		if (!options->command)
			break;
		target_end(&bench->target);
		r = start(&bench->target, options);
	}
	target_end(&bench->target);
	capture_done(&bench->capture);
	return r;
}

static void print_totals(const struct totals *totals)
{
	printf("{\"stacks\": %" PRIu64, n_stacks(totals));
	for (size_t i = 0; i < N_VERDICTS; i++)
		printf(", \"%s\": %" PRIu64, verdict_names[i], totals->n[i]);
	printf(", \"distinct\": %" PRIu64 ", \"frames\": %" PRIu64
	       ", \"with_signal_frame\": %" PRIu64 ", \"deepest\": %" PRIu64
	       ", \"identical_percent\": %.4f}\n",
	       totals->n_distinct, totals->frames, totals->signal_stacks, totals->deep_stacks,
	       100 * share(totals));
}

static int usage(void)
{
	fputs("usage: oracle [-n STACKS] [-t SECONDS] [-s SEED] [-w STEPS] [-d DIFFERENCES] [-v] "
	      "[-x] "
	      "(-p PID | COMMAND [ARG...])\n",
	      stderr);
	return 2;
}

static int parse(int argc, char **argv, struct options *options)
{
	int option;

	*options = (struct options){
		.n_stacks = 1000, .n_differences = 10, .seconds = 60, .seed = 88172645463325252};
	while ((option = getopt(argc, argv, "+n:t:s:w:d:p:vx")) != -1) {
		switch (option) {
		case 'n': options->n_stacks = strtoul(optarg, NULL, 10); break;
		case 't': options->seconds = atof(optarg); break;
		case 's': options->seed = strtoull(optarg, NULL, 10) | 1; break;
		case 'w': options->n_steps = strtoul(optarg, NULL, 10); break;
		case 'd': options->n_differences = strtoul(optarg, NULL, 10); break;
		case 'x': options->wrong = true; break;
		case 'v': options->verbose = true; break;
		case 'p': options->pid = atoi(optarg); break;
		default: return -EINVAL;
		}
	}
	if (optind < argc)
		options->command = argv + optind;
	return !options->command == !options->pid ? -EINVAL : 0;
}

int main(int argc, char **argv)
{
	static struct totals totals;
	struct options options;
	struct bench bench = {.options = &options, .totals = &totals};
	int r;

	if (parse(argc, argv, &options) < 0)
		return usage();
	r = ours_new(&bench.ours);
	if (r == 0)
		r = reference_new(&bench.reference);
	if (r == 0)
		r = take_all(&bench);
	reference_free(bench.reference);
	ours_free(bench.ours);
	if (r < 0) {
		fprintf(stderr, "oracle: %s\n", strerror(-r));
		return 2;
	}
	print_totals(&totals);
	if (!n_stacks(&totals))
		return 2;
	return share(&totals) < ENOUGH;
}
