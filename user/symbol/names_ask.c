/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/names_ask.h"

#include <errno.h>

#include "base/system.h"
#include "symbol/jit.h"
#include "symbol/names_job.h"

bool names_ask_is_ended(const struct names_asker *asker)
{
	return asker->options->is_ended && *asker->options->is_ended;
}

struct names_question names_ask_question(const struct names_asker *asker,
					 const struct lookups *lookups)
{
	const struct symbolize_options *options = asker->options;
	bool quick = names_ask_is_ended(asker) || asker->symbols_only;

	return (struct names_question){
		.addresses = lookups->addresses,
		.n = lookups->n,
		.no_inline = options->no_inline || quick,
		.lines = options->lines && !quick,
		.addresses_only = options->addresses,
		.no_demangle = options->no_demangle,
		.spans = options->cache != NULL,
	};
}

#define PATIENCE_NS	  (5 * NSEC_PER_SEC)
#define ENDED_PATIENCE_NS (NSEC_PER_SEC / 5)

/* Waits for the reader, but not for long once the search was ended. */
static bool wait_for_reader(void *context, uint64_t quiet_ns)
{
	struct names_asker *asker = context;

	if (asker->file_deadline && monotonic_ns() > asker->file_deadline)
		return false;
	/* If one file makes us wait, many may. */
	if (!names_ask_is_ended(asker))
		return quiet_ns < (asker->n_unread ? NSEC_PER_SEC : PATIENCE_NS);
	if (!asker->ended_at)
		asker->ended_at = monotonic_ns();
	return monotonic_ns() - asker->ended_at < ENDED_PATIENCE_NS;
}

/* Asks the reader. Files that it did not survive have no names. Errors: -ENOMEM. */
static int ask_reader(struct names_asker *asker, const struct names_source *source,
		      const struct names_question *question, const struct debug_place *place,
		      struct file_names *ret)
{
	struct reader *reader = asker->options->reader;
	struct strings *strings = asker->strings;
	int fd = place ? place->file : source->perf_map >= 0 ? source->perf_map : source->jitdump;
	uint32_t budget;
	int r = budgets_find(&asker->budgets, fd, source->root < 0, &budget);

	if (r < 0)
		return r;
	if (!budgets_may_read(&asker->budgets, budget)) {
		budgets_refuse(&asker->budgets, budget);
		return file_names_none(question, -EDQUOT, ret);
	}
	asker->ended_at = 0;
	r = place ? names_job_file(reader, question, place, wait_for_reader, asker, strings, ret)
		  : names_job_jit(reader, question, source->perf_map, source->jitdump,
				  wait_for_reader, asker, strings, ret);
	budgets_spend(&asker->budgets, budget, reader->call_ns);
	if (r == 0 || r == -ENOMEM)
		return r;
	r = file_names_none(question, r, ret);
	ret->is_unread = r == 0;
	return r;
}

int names_ask(struct names_asker *asker, const struct names_source *source,
	      const struct lookups *lookups, const struct debug_place *place,
	      struct file_names *ret)
{
	struct strings *strings = asker->strings;
	struct names_question question = names_ask_question(asker, lookups);
	bool was_ended = names_ask_is_ended(asker);
	int r;

	/* The vDSO comes from the kernel. */
	if (asker->options->reader && (!place || place->file >= 0)) {
		r = ask_reader(asker, source, &question, place, ret);
		if (r < 0 || ret->error != -ETIMEDOUT || was_ended || !names_ask_is_ended(asker))
			return r;
		file_names_done(ret);
		question = names_ask_question(asker, lookups);
		return ask_reader(asker, source, &question, place, ret);
	}
	return place ? file_names_find(&question, place, strings, ret)
		     : jit_names_find(&question, source->perf_map, source->jitdump, strings, ret);
}
