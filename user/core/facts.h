/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * facts: what is known of a recording, as keys and texts, for the files that have room for such.
 */
#ifndef CORE_FACTS_H
#define CORE_FACTS_H

#include "core/profile.h"

/* What our files call the object, or the section, that holds them. */
#define FACTS_LABEL "bpfflame"

enum fact {
	FACT_MODE,    /* profile_mode_name() */
	FACT_ROOTS,   /* FACT_BY_THREAD; else it is not there */
	FACT_COMMAND, /* struct profile's command_line */
	FACT_HOST,
	FACT_KERNEL,
	FACT_START,	/* nanoseconds since 1970 */
	FACT_DURATION,	/* nanoseconds */
	FACT_FREQUENCY, /* Hz */
	FACT_EVENT,	/* what was sampled, where it was asked for by name */
	FACT_WEIGHT,	/* FACT_BY_EVENTS, FACT_BY_VALUES; else it is not there */
	FACT_UNIT,	/* what is counted, where the event does not say it */
	FACT_PERIOD,	/* events a sample */
	N_FACTS,
};

#define FACT_BY_THREAD "threads"
#define FACT_BY_EVENTS "events"
#define FACT_BY_VALUES "values" /* of which nobody knows how many samples they come from */

/* "mode", "roots", … */
const char *fact_key(enum fact fact);

/* Those of one file; string ids, 0 when unknown. See struct profile. */
struct facts {
	bool has_mode, by_thread;
	enum profile_mode mode;
	uint32_t command_line, host, kernel;
	uint64_t start_realtime_ns, duration_ns;
	double frequency;
	struct profile_event event; /* its frequency is @frequency */
};

/*
 * Sets the fact of that key. Keys and texts that mean nothing are let be, for another version may
 * know more. Errors: -ENOMEM, -E2BIG.
 */
int fact_read(struct facts *facts, struct strings *strings, const char *key, const char *text);

/*
 * Tells @profile what a file that was added to it says: what is not known yet, and the time it
 * took;
 * @is_first: nothing else was added. The mode is left to whoever adds the samples.
 */
void facts_add(struct profile *profile, const struct facts *facts, bool is_first);

#endif
