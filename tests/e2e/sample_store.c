/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample_store: writes the store of an invented machine with the real writer, up to a given moment.
 * Prints what it put in, as JSON: totals by command, microseconds.
 * usage: sample_store DIR END SECONDS [ROWS [STACKS [WINDOWS]]]
 *
 * END: seconds since 1970. ROWS: of a window. WINDOWS: the stacks of so many are made in an hour,
 * and taken in turn with other times; 0: those of each. A store of 30 days with 3000 stacks in each
 * minute: sample_store DIR $(date +%s) 2592000 1000 3800 6
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "core/profile.h"
#include "store/store_writer.h"

#define WINDOW		(10 * NSEC_PER_SEC)
#define DEPTH		40
#define N_COMMS		8
#define NEW_SHARE	50 /* one stack in this many is replaced each hour */
#define WINDOWS_AN_HOUR 360
#define LOSES_EACH	1000
#define SAVES_EACH	20		     /* one hour of so many */
#define BEGIN_BOOT	(100 * NSEC_PER_SEC) /* how long the machine runs when the store begins */

static uint64_t clock_ns;
static unsigned int seed = 1;
static uint64_t running[N_COMMS], waiting[N_COMMS];

static uint64_t now(void)
{
	return clock_ns;
}

static void die(const char *what)
{
	fprintf(stderr, "sample_store: %s\n", what);
	exit(1);
}

static void need(int r)
{
	if (r < 0)
		die(strerror(-r));
}

static uint32_t text(struct profile *profile, const char *value)
{
	uint32_t id;

	need(strings_add(&profile->strings, value, &id));
	return id;
}

/* Stack @number: frames nearer to the leaf are shared by fewer stacks. */
static uint32_t add_stack(struct profile *profile, uint32_t mapping, unsigned int number)
{
	uint32_t locations[DEPTH], stack;

	for (unsigned int depth = 0; depth < DEPTH; depth++) {
		struct profile_frame frame = {.kind = depth > 35 ? FRAME_KERNEL : FRAME_USER};
		unsigned int shared = depth < 20 ? number % 50 : depth < 32 ? number % 600 : number;
		char name[64];

		snprintf(name, sizeof name, "module_%u::function_%u", depth, shared);
		frame.function = text(profile, name);
		need(profile_add_named(profile, mapping, &frame, 1, &locations[DEPTH - 1 - depth]));
	}
	need(profile_add_stack(profile, locations, DEPTH, STACK_COMPLETE, &stack));
	return stack;
}

static struct profile *make_profile(unsigned int hour, unsigned int n_rows, unsigned int n_stacks)
{
	static const enum off_reason reasons[] = {REASON_ONCPU, REASON_FUTEX, REASON_POLL,
						  REASON_DISK};
	struct profile_mapping mapping = {.kind = MAPPING_FILE};
	struct profile *profile;
	uint32_t id;

	need(profile_new(PROFILE_WALL, &profile));
	mapping.path = text(profile, "/usr/bin/sample");
	need(profile_add_mapping(profile, &mapping, &id));
	for (unsigned int i = 0; i < n_rows; i++) {
		unsigned int number = rand_r(&seed) % n_stacks, comm = number % N_COMMS;
		struct profile_sample sample = {
			.pid = 1000 + comm * 10 + rand_r(&seed) % 3,
			.reason = reasons[rand_r(&seed) % 4],
			.count = 1,
			.nanoseconds = 1000ULL * (1 + rand_r(&seed) % 50000),
		};
		char name[16];

		snprintf(name, sizeof name, "sample-%u", comm);
		sample.comm = text(profile, name);
		sample.is_idle = sample.reason == REASON_POLL;
		/* Over time, new stacks replace some of them. */
		if (number < hour * (n_stacks / NEW_SHARE) % n_stacks)
			number += n_stacks * (1 + hour / NEW_SHARE);
		sample.stack = add_stack(profile, id, number);
		need(profile_add_sample(profile, &sample));
	}
	return profile;
}

static void make_ledger(const struct profile *profile, struct ledger *ledger)
{
	static char cgroups[N_COMMS][64];
	struct ledger_who who[3 * N_COMMS];

	for (unsigned int i = 0; i < 3 * N_COMMS; i++) {
		/* Each third process is young in the first window. */
		uint64_t start = i % 3 == 2 ? BEGIN_BOOT - 5 * NSEC_PER_SEC : NSEC_PER_SEC;

		snprintf(cgroups[i / 3], sizeof *cgroups, "/system.slice/sample-%u.service", i / 3);
		who[i] = (struct ledger_who){1000 + i / 3 * 10 + i % 3, start, "/usr/bin/sample",
					     cgroups[i / 3]};
	}
	need(ledger_init(ledger));
	need(ledger_add_profile(ledger, profile, who, 3 * N_COMMS));
}

static void change_times(struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->n_rows; i++)
		ledger->rows[i].microseconds = 1 + rand_r(&seed) % 50000;
}

static void add_window(struct store_writer *writer, const struct ledger *ledger, uint64_t boot)
{
	struct store_window window = {.start = clock_ns,
				      .span = WINDOW,
				      .covered = WINDOW,
				      .boot = boot,
				      .windows = 1,
				      .millihertz = 19000};
	unsigned int number = (boot - BEGIN_BOOT) / WINDOW;

	if (number % LOSES_EACH == LOSES_EACH / 2)
		window.lost = 12;
	if (number / (WINDOWS_AN_HOUR / 2) % (2 * SAVES_EACH) == 2 * SAVES_EACH - 3)
		window.effort = 1;
	if (number / WINDOWS_AN_HOUR % SAVES_EACH == SAVES_EACH - 1) {
		window.millihertz /= 2;
		window.effort = 4;
	}

	for (size_t i = 0; i < ledger->n_rows; i++) {
		const struct ledger_row *row = &ledger->rows[i];
		unsigned int comm = (ledger->processes[row->process].pid - 1000) / 10;

		*(row->reason == REASON_ONCPU ? &running[comm] : &waiting[comm]) +=
			row->microseconds;
	}
	need(store_writer_add(writer, ledger, &window));
}

int main(int argc, char **argv)
{
	unsigned int n_rows = argc > 4 ? atoi(argv[4]) : 20,
		     n_stacks = argc > 5 ? atoi(argv[5]) : 50,
		     n_made = argc > 6 ? atoi(argv[6]) % WINDOWS_AN_HOUR : 0;
	uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 10) * NSEC_PER_SEC / WINDOW : 0;
	struct store_options options = {
		.window_ns = WINDOW, .limits = STORE_LIMITS_DEFAULT, .now = now};
	static struct ledger ledgers[WINDOWS_AN_HOUR];
	struct store_writer *writer;
	struct failure failure = {};
	uint64_t started;

	if (argc < 4)
		die("usage: sample_store DIR END SECONDS [ROWS [STACKS [WINDOWS]]]");
	started = clock_ns = strtoull(argv[2], NULL, 10) * NSEC_PER_SEC - n * WINDOW;
	options.path = argv[1];
	if (store_writer_open(&options, &writer, &failure) < 0)
		die(failure.what);
	for (uint64_t i = 0; i < n; i++) {
		struct ledger *ledger = &ledgers[n_made ? i % n_made : 0];

		if (n_made == 0 || i % WINDOWS_AN_HOUR < n_made) {
			struct profile *profile =
				make_profile(i / WINDOWS_AN_HOUR, n_rows, n_stacks);

			ledger_done(ledger);
			make_ledger(profile, ledger);
			profile_free(profile);
		} else {
			change_times(ledger);
		}
		add_window(writer, ledger, BEGIN_BOOT + clock_ns - started);
		clock_ns += WINDOW;
	}
	for (unsigned int i = 0; i < WINDOWS_AN_HOUR; i++)
		ledger_done(&ledgers[i]);
	printf("{\"windows\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"commands\": {", n,
	       store_writer_counts(writer)->bytes);
	for (int i = 0; i < N_COMMS; i++)
		printf("%s\"sample-%d\": [%" PRIu64 ", %" PRIu64 "]", i ? ", " : "", i, running[i],
		       waiting[i]);
	puts("}}");
	store_writer_close(writer);
	return 0;
}
