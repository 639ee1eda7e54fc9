/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts.h"

#include <stdlib.h>
#include <string.h>

const char *fact_key(enum fact fact)
{
	static const char *const keys[N_FACTS] = {
		[FACT_MODE] = "mode",
		[FACT_ROOTS] = "roots",
		[FACT_COMMAND] = "command",
		[FACT_HOST] = "host",
		[FACT_KERNEL] = "kernel",
		[FACT_START] = "start_ns",
		[FACT_DURATION] = "duration_ns",
		[FACT_FREQUENCY] = "frequency_hz",
		[FACT_EVENT] = "event",
		[FACT_WEIGHT] = "weight",
		[FACT_UNIT] = "unit",
		[FACT_PERIOD] = "period",
	};

	return keys[fact];
}

static void read_mode(struct facts *facts, const char *text)
{
	for (int i = 0; i < N_PROFILE_MODES; i++)
		if (strcmp(text, profile_mode_name(i)) == 0) {
			facts->mode = i;
			facts->has_mode = true;
		}
}

static void read_frequency(const char *text, double *frequency)
{
	double value = strtod(text, NULL);

	/* Frequencies outside these bounds have a period of nothing, or of years. */
	if (value >= 1e-6 && value <= 1e9)
		*frequency = value;
}

static void read_weight(const char *text, struct profile_event *event)
{
	event->is_unsampled = strcmp(text, FACT_BY_VALUES) == 0;
	event->is_counted = event->is_unsampled || strcmp(text, FACT_BY_EVENTS) == 0;
}

int fact_read(struct facts *facts, struct strings *strings, const char *key, const char *text)
{
	int fact = 0;

	while (fact < N_FACTS && strcmp(key, fact_key(fact)) != 0)
		fact++;
	switch (fact) {
	case FACT_MODE: read_mode(facts, text); return 0;
	case FACT_ROOTS: facts->by_thread = strcmp(text, FACT_BY_THREAD) == 0; return 0;
	case FACT_COMMAND: return strings_add(strings, text, &facts->command_line);
	case FACT_HOST: return strings_add(strings, text, &facts->host);
	case FACT_KERNEL: return strings_add(strings, text, &facts->kernel);
	case FACT_START: facts->start_realtime_ns = strtoull(text, NULL, 10); return 0;
	case FACT_DURATION: facts->duration_ns = strtoull(text, NULL, 10); return 0;
	case FACT_FREQUENCY: read_frequency(text, &facts->frequency); return 0;
	case FACT_EVENT: return strings_add(strings, text, &facts->event.name);
	case FACT_WEIGHT: read_weight(text, &facts->event); return 0;
	case FACT_UNIT: return strings_add(strings, text, &facts->event.unit);
	case FACT_PERIOD: facts->event.period = strtoull(text, NULL, 10); return 0;
	default: return 0;
	}
}

void facts_add(struct profile *profile, const struct facts *facts, bool is_first)
{
	if (!profile->command_line)
		profile->command_line = facts->command_line;
	if (!profile->host)
		profile->host = facts->host;
	if (!profile->kernel)
		profile->kernel = facts->kernel;
	if (!profile->start_realtime_ns)
		profile->start_realtime_ns = facts->start_realtime_ns;
	profile->duration_ns += facts->duration_ns;
	profile->by_thread |= facts->by_thread;
	if (is_first)
		profile->frequency = facts->frequency;
	else if (profile->frequency != facts->frequency)
		profile->frequency = 0;
}
