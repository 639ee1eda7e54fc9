/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * facts: what is known about a recording, as keys and texts, for file formats with room for them.
 */
#ifndef CORE_FACTS_H
#define CORE_FACTS_H

#include "core/profile.h"

/* The name of the object, or section, that holds them in our files. */
#define FACTS_LABEL "bpfflame"

enum fact {
	FACT_MODE,    /* profile_mode_name() */
	FACT_ROOTS,   /* FACT_BY_THREAD, or absent */
	FACT_COMMAND, /* struct profile's command_line */
	FACT_HOST,
	FACT_KERNEL,
	FACT_START,	/* nanoseconds since 1970 */
	FACT_DURATION,	/* nanoseconds */
	FACT_FREQUENCY, /* Hz */
	FACT_EVENT,	/* the sampled event, if it was requested by name */
	FACT_WEIGHT,	/* FACT_BY_EVENTS, FACT_BY_VALUES, or absent */
	FACT_UNIT,	/* what is counted, if the event does not say it */
	FACT_PERIOD,	/* events per sample */
	N_FACTS,
};

#define FACT_BY_THREAD "threads"
#define FACT_BY_EVENTS "events"
#define FACT_BY_VALUES "values" /* their number of samples is unknown */

/* "mode", "roots", … */
const char *fact_key(enum fact fact);

/* The facts of one file; string ids, 0 when unknown. See struct profile. */
struct facts {
	bool has_mode, by_thread;
	enum profile_mode mode;
	uint32_t command_line, host, kernel;
	uint64_t start_realtime_ns, duration_ns;
	double frequency;
	struct profile_event event; /* its frequency is @frequency */
};

/*
 * Sets the fact called @key. Ignores unknown keys and texts: another version may know more. Errors:
 * -ENOMEM, -E2BIG.
 */
int fact_read(struct facts *facts, struct strings *strings, const char *key, const char *text);

/*
 * Adds the facts of a file to @profile: those not known yet, and its duration. @is_first: nothing
 * else was added. Whoever adds the samples sets the mode.
 */
void facts_add(struct profile *profile, const struct facts *facts, bool is_first);

#endif
