/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/store_input.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/confined.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/moment.h"
#include "store/cgroup_words.h"
#include "store/ledger_profile.h"

#define MOST_NODES 300000 /* of a picture; lighter ones are elided in larger ones */

static const struct store_filter *filter;

void store_input_filter(const struct store_filter *wanted)
{
	filter = wanted;
}

int store_filter_state(const char *text, uint32_t *ret_reasons)
{
	const uint32_t running = 1u << REASON_ONCPU | 1u << REASON_NONE;
	char name[64];

	snprintf(name, sizeof name, "[%.60s]", text /* escaped later */);
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = ' ';
	if (strcmp(text, "running") == 0 || strcmp(text, "on-cpu") == 0) {
		*ret_reasons = running;
		return 0;
	}
	if (strcmp(text, "waiting") == 0) {
		*ret_reasons = ((1u << N_OFF_REASONS) - 1) & ~running;
		return 0;
	}
	for (int i = REASON_SLEEP; i < N_OFF_REASONS; i++)
		if (strcmp(off_reason_text(i), name) == 0) {
			*ret_reasons = 1u << i;
			return 0;
		}
	return -EINVAL;
}

/* @wanted: `/system.slice`, `system.slice`, or where it is mounted, beside trees of version 1 too. */
static bool is_below(const char *cgroup, const char *wanted)
{
	static const char *const mounts[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
	size_t n;

	for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
		n = strlen(mounts[i]);
		if (strncmp(wanted, mounts[i], n) == 0 && (!wanted[n] || wanted[n] == '/')) {
			wanted += n;
			break;
		}
	}
	wanted += *wanted == '/';
	cgroup += *cgroup == '/';
	n = strlen(wanted);
	while (n && wanted[n - 1] == '/')
		n--;
	if (!n)
		return true;
	return strncmp(cgroup, wanted, n) == 0 && (!cgroup[n] || cgroup[n] == '/');
}

/* `nginx` is nginx.service, as for systemctl. Changes @unit. */
static bool is_unit(char *unit, const char *wanted)
{
	static const char ending[] = ".service";
	size_t n = strlen(unit);

	if (fnmatch(wanted, unit, 0) == 0)
		return true;
	if (!text_has_suffix(unit, n, ending))
		return false;
	unit[n - strlen(ending)] = '\0';
	return fnmatch(wanted, unit, 0) == 0;
}

static bool has_pid(const struct store_filter *wanted, uint32_t pid)
{
	for (size_t i = 0; i < wanted->n_pids; i++)
		if (wanted->pids[i] == pid)
			return true;
	return false;
}

bool store_filter_wants(void *context, const struct ledger *ledger, const struct ledger_row *row)
{
	const struct store_filter *wanted = context;
	const struct ledger_process *process = &ledger->processes[row->process];
	const char *cgroup = strings_get(&ledger->strings, process->cgroup);
	char word[CGROUP_WORD_SIZE];

	if (wanted->reasons && !(wanted->reasons >> row->reason & 1))
		return false;
	if (wanted->n_pids && !has_pid(wanted, process->pid))
		return false;
	if (wanted->comm &&
	    fnmatch(wanted->comm, strings_get(&ledger->strings, process->comm), 0) != 0)
		return false;
	if (wanted->cgroup && !is_below(cgroup, wanted->cgroup))
		return false;
	if (wanted->container) {
		cgroup_container(cgroup, word);
		if (!*word || strncmp(word, wanted->container, strlen(wanted->container)) != 0)
			return false;
	}
	if (wanted->unit) {
		cgroup_unit(cgroup, word);
		if (!is_unit(word, wanted->unit))
			return false;
	}
	return true;
}

/* Names */

/* The store of `STORE@MOMENTS`, malloc'ed; NULL: it is no such name. */
static char *store_of(const char *path)
{
	const char *at = strrchr(path, '@');

	return !at ? NULL : at == path ? strdup(STORE_DEFAULT) : strndup(path, at - path);
}

static bool is_folder(const char *path)
{
	struct stat st;

	if (confined_is_here())
		return confined_has_folder(path);
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *store_input_folder(const char *path)
{
	char *store = store_of(path);
	struct stat st;

	/* `@…` is of the default store even where that is missing. */
	if (store && (confined_is_here() || stat(path, &st) < 0) &&
	    (path[0] == '@' || is_folder(store)))
		return store;
	free(store);
	return NULL;
}

bool store_input_is(const char *path)
{
	char *store = store_input_folder(path);

	free(store);
	return store != NULL;
}

/* Since 1970, ns. */
struct moments {
	uint64_t from, to;
};

struct ranges {
	struct moments *items;
	size_t n, capacity;
};

static int parse_range(const char *text, uint64_t now, struct moments *ret, struct failure *failure)
{
	const char *dots = strstr(text, "..");
	char from[64];
	int r;

	snprintf(from, sizeof from, "%.*s", dots ? (int)(dots - text) : 63,
		 text /* escaped later */);
	*ret = (struct moments){.to = now};
	r = *from ? moment_read(from, now, &ret->from, failure) : 0;
	if (r < 0)
		return r;
	r = dots && dots[2] ? moment_read(dots + 2, now, &ret->to, failure) : 0;
	if (r < 0)
		return r;
	return moment_check_range(ret->from, ret->to, failure);
}

static int by_start(const void *left, const void *right)
{
	const struct moments *a = left, *b = right;

	return (a->from > b->from) - (a->from < b->from);
}

/* Those that overlap or touch become one: no moment counts twice. */
static void unite(struct ranges *ranges)
{
	size_t n = 0;

	qsort(ranges->items, ranges->n, sizeof *ranges->items, by_start);
	for (size_t i = 1; i < ranges->n; i++) {
		const struct moments *next = &ranges->items[i];
		struct moments *last = &ranges->items[n];

		if (next->from > last->to)
			ranges->items[++n] = *next;
		else if (next->to > last->to)
			last->to = next->to;
	}
	ranges->n = n + 1;
}

/* @text: ranges with commas between them; is changed. The result's items are malloc'ed. */
static int parse_ranges(char *text, struct ranges *ret, struct failure *failure)
{
	uint64_t now = realtime_ns();
	char *rest = text, *range;

	while ((range = strsep(&rest, ","))) {
		struct moments moments;
		int r;

		if (!*range && (range != text || rest))
			return failure_set(failure, -EINVAL, "a comma without a range of time");
		r = parse_range(range, now, &moments, failure);
		if (r < 0)
			return r;
		r = array_add(ret->items, ret->capacity, ret->n, moments);
		if (r < 0)
			return r;
	}
	unite(ret);
	return 0;
}

int store_input_check(const char *path, struct failure *failure)
{
	struct ranges ranges = {};
	char *moments;
	int r;

	if (!store_input_is(path))
		return 0;
	moments = strdup(strrchr(path, '@') + 1);
	r = moments ? parse_ranges(moments, &ranges, failure) : -ENOMEM;
	free(ranges.items);
	free(moments);
	return r;
}

/* Reading */

/* Of all ranges together. */
struct store_answers {
	struct store_answer all;
	uint64_t gaps; /* ns that are not recorded, within ranges */
};

struct store_gatherer {
	struct ledger all;
	struct ledger_memo memo;
	uint64_t millihertz;
};

static bool wants_part(const struct store_filter *wanted)
{
	return wanted->reasons || wanted->n_pids || wanted->comm || wanted->cgroup ||
	       wanted->container || wanted->unit;
}

static int gather(void *context, const struct ledger *ledger, const struct store_window *window,
		  bool is_first)
{
	struct store_gatherer *gatherer = context;
	struct ledger_merge how = {
		.memo = &gatherer->memo,
		.wanted = filter && wants_part(filter) ? store_filter_wants : NULL,
		.context = (void *)filter,
		.no_pids = filter && filter->no_pids,
	};

	if (is_first)
		ledger_memo_done(&gatherer->memo);
	gatherer->millihertz = window->millihertz;
	return ledger_merge(&gatherer->all, ledger, &how);
}

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * part / all : 0;
}

static void say_levels(const struct store_answer *answer)
{
	const char *separator = "";

	for (int i = 0; i < N_STORE_LEVELS; i++) {
		char name[32];

		if (!answer->windows[i])
			continue;
		store_level_name(answer->level_ns[i], SEGMENT_STACKS, name);
		fprintf(stderr, "%s%" PRIu64 " of %s", separator /* ours */, answer->windows[i],
			name /* ours */);
		separator = ", ";
	}
}

void store_input_say_nothing(const struct store_answer *answer)
{
	char oldest[MOMENT_SIZE], newest[MOMENT_SIZE], level[32];

	if (answer->coarser_ns) {
		store_level_name(answer->coarser_ns, SEGMENT_STACKS, level);
		fprintf(stderr,
			"bpfflame: only windows of %s are kept of that range: longer ranges and "
			"steps have them\n",
			level /* ours */);
		return;
	}
	fputs("bpfflame: nothing was recorded in that range", stderr);
	if (answer->newest)
		fprintf(stderr, "; the store holds %s to %s",
			moment_text(answer->oldest, oldest) /* ours */,
			moment_text(answer->newest, newest) /* ours */);
	fputc('\n', stderr);
}

void store_input_say_unread(size_t n, const char *first)
{
	if (n)
		text_print(stderr,
			   "bpfflame: permission denied for %zu file%s, the first is %s "
			   "(run it as root, or as the user who writes the store)\n",
			   n, n == 1 ? "" : "s", first);
}

static void say_answer(const struct store_answers *answers, const struct ledger_elided *elided)
{
	const struct store_answer *answer = &answers->all;
	char begin[MOMENT_SIZE], end[MOMENT_SIZE];
	double gaps = answers->gaps / 1e9;

	if (!answer->end) {
		store_input_say_nothing(answer);
	} else {
		fprintf(stderr, "bpfflame: %s to %s, windows: ",
			moment_text(answer->begin, begin) /* ours */,
			moment_text(answer->end, end) /* ours */);
		say_levels(answer);
		if (gaps >= 0.1)
			fprintf(stderr, "; %.1f s between them are not recorded", gaps);
		if (elided->running || elided->waiting)
			fprintf(stderr, "; elided: %.2f %% of running, %.2f %% of waiting",
				percent(elided->running, elided->total_running),
				percent(elided->waiting, elided->total_waiting));
		fputc('\n', stderr);
	}
	if (answer->n_damaged)
		text_print(stderr,
			   "bpfflame: %zu file%s damaged, the first is %s: %" PRIu64
			   " bytes are passed over\n",
			   answer->n_damaged, answer->n_damaged == 1 ? " is" : "s are",
			   answer->damaged, answer->damaged_bytes);
	if (answer->n_unknown)
		text_print(stderr, "bpfflame: %zu file%s of another version, the first is %s\n",
			   answer->n_unknown, answer->n_unknown == 1 ? " is" : "s are",
			   answer->unknown);
	store_input_say_unread(answer->n_unread, answer->unread);
}

static void set_facts(struct profile *profile, const struct store_answer *answer,
		      const struct store_gatherer *gatherer)
{
	if (!profile->start_realtime_ns || answer->begin < profile->start_realtime_ns)
		profile->start_realtime_ns = answer->begin;
	profile->duration_ns += answer->covered;
	profile->frequency = gatherer->millihertz / 1000.0;
}

static void add_answer(struct store_answers *answers, const struct store_answer *answer)
{
	struct store_answer *all = &answers->all;
	uint64_t length = answer->end - answer->begin;

	if (answer->end && (!all->end || answer->begin < all->begin))
		all->begin = answer->begin;
	if (answer->end > all->end)
		all->end = answer->end;
	answers->gaps += length > answer->covered ? length - answer->covered : 0;
	all->covered += answer->covered;
	all->oldest = answer->oldest;
	all->newest = answer->newest;
	if (answer->coarser_ns)
		all->coarser_ns = answer->coarser_ns;
	for (int i = 0; i < N_STORE_LEVELS; i++) {
		all->windows[i] += answer->windows[i];
		if (answer->windows[i])
			all->level_ns[i] = answer->level_ns[i];
	}
	/* Files are the same ones, as a rule. */
	if (answer->n_damaged > all->n_damaged) {
		all->n_damaged = answer->n_damaged;
		all->damaged_bytes = answer->damaged_bytes;
		memcpy(all->damaged, answer->damaged, sizeof all->damaged);
	}
	if (answer->n_unread > all->n_unread) {
		all->n_unread = answer->n_unread;
		memcpy(all->unread, answer->unread, sizeof all->unread);
	}
	if (answer->n_unknown > all->n_unknown) {
		all->n_unknown = answer->n_unknown;
		memcpy(all->unknown, answer->unknown, sizeof all->unknown);
	}
}

static int read_ranges(struct store_question *question, const struct ranges *ranges,
		       struct store_answers *answers, struct failure *failure)
{
	for (size_t i = 0; i < ranges->n; i++) {
		struct store_answer answer;
		int r;

		question->from = ranges->items[i].from;
		question->to = ranges->items[i].to;
		r = store_read(question, &answer, failure);
		if (r < 0)
			return r;
		add_answer(answers, &answer);
	}
	return 0;
}

static int read_store(const char *store, const struct ranges *ranges,
		      struct store_gatherer *gatherer, struct profile *profile, bool quiet,
		      struct failure *failure)
{
	struct store_question question = {.path = store,
					  .wants_pids = filter && filter->n_pids,
					  .on_window = gather,
					  .context = gatherer};
	struct ledger_elided elided = {};
	struct store_answers answers = {};
	int r = ledger_init(&gatherer->all);

	if (r < 0)
		return r;
	r = read_ranges(&question, ranges, &answers, failure);
	if (r < 0)
		return r;
	r = ledger_profile(&gatherer->all, filter ? &filter->grouping : NULL, MOST_NODES, profile,
			   &elided);
	if (r < 0)
		return r;
	set_facts(profile, &answers.all, gatherer);
	if (!quiet)
		say_answer(&answers, &elided);
	return 0;
}

int store_input_read(struct input *input, const char *path, bool quiet, struct failure *failure)
{
	_cleanup_free_ char *moments = strdup(strrchr(path, '@') + 1);
	_cleanup_free_ char *store = store_of(path);
	struct store_gatherer gatherer = {};
	struct ranges ranges = {};
	int r;

	if (!store || !moments)
		return -ENOMEM;
	r = input_set_mode(input, PROFILE_WALL, path, failure);
	if (r < 0)
		return r;
	r = parse_ranges(moments, &ranges, failure);
	if (r == 0)
		r = read_store(store, &ranges, &gatherer, input->profile, quiet, failure);
	free(ranges.items);
	ledger_done(&gatherer.all);
	ledger_memo_done(&gatherer.memo);
	return r;
}
