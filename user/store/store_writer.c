/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/store_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/output.h"
#include "base/system.h"
#include "store/lock_file.h"
#include "store/store_unrolled.h"

/* A dictionary that outgrows these begins anew, in another file: they are in memory. */
#define MAX_ITEMS	 (192u << 10) /* nodes or processes */
#define MAX_STRING_BYTES (6u << 20)
#define SYNC_NS		 (60 * NSEC_PER_SEC) /* how much a loss of power may cost */
/* What processes did in so much of their lives has no pid: most of them do not live longer. */
#define YOUNG_NS	   (60 * NSEC_PER_SEC)
#define YOUNG_IN_MINUTE_NS (10 * NSEC_PER_SEC)
#define MAX_NAMESAKES	   1000
#define LOCK_NS		   (3 * NSEC_PER_SEC) /* how long to wait for a previous writer */
#define LOCK_STEP_US	   20000

/* One level that is written. */
struct writer_level {
	struct segment_writer file;
	uint64_t file_period;	 /* see period_of() */
	struct ledger_memo memo; /* from the ledger of the level below to ours */
	bool is_open;		 /* rows of a window are in the ledger */
	uint64_t number;	 /* of the open window: its start / the level's length */
	struct store_window window;
};

struct store_writer {
	struct store_options options;
	struct place place;
	int lock;
	uint8_t boot_id[16];
	struct writer_level levels[N_STORE_LEVELS];
	struct store_counts counts;
	uint64_t synced_at; /* monotonic ns */
	/* For ageing(): the newest end of a file when we began, and the first and last end of ours
	 * (boot-time ns). */
	uint64_t newest, first_boot, last_boot;
	bool has_lost; /* since the last window that was written */
	bool recovers; /* what is rolled up goes no further up */
};

static uint64_t now_ns(const struct store_writer *writer)
{
	return writer->options.now ? writer->options.now() : realtime_ns();
}

/* Files */

/* A number that changes when a level's file is to end: each hour, day, month, year. */
static uint64_t period_of(enum store_level level, uint64_t start_ns)
{
	time_t seconds = start_ns / NSEC_PER_SEC;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	switch (level) {
	case LEVEL_FINEST: return seconds / 3600;
	case LEVEL_HOUR: return tm.tm_year * 12 + tm.tm_mon;
	case LEVEL_DAY: return tm.tm_year;
	default: return seconds / 86400;
	}
}

static void name_file(const struct segment_header *header, unsigned int number,
		      char name[static SEGMENT_NAME_SIZE])
{
	time_t seconds = header->start / NSEC_PER_SEC;
	char level[32], stamp[24], suffix[16] = "";
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
	store_level_name(header->level, header->kind, level);
	if (number > 1)
		snprintf(suffix, sizeof suffix, "-%u", number);
	snprintf(name, SEGMENT_NAME_SIZE, "%.16s-%.20s%.12s.bfs", level /* ours */, stamp, suffix);
}

static bool is_open_file(const struct store_writer *writer, const char *name)
{
	for (int i = 0; i < N_STORE_LEVELS; i++)
		if (writer->levels[i].file.fd >= 0 &&
		    strcmp(writer->levels[i].file.name, name) == 0)
			return true;
	return false;
}

/* Removes the oldest file of the finest level that has one to spare. */
static bool remove_oldest(struct store_writer *writer, const struct store_files *files,
			  uint64_t *ret_bytes)
{
	for (size_t i = 0; i < files->n; i++) {
		const struct store_file *file = &files->items[i];

		if (is_open_file(writer, file->name) ||
		    unlinkat(writer->place.fd, file->name, 0) < 0)
			continue;
		*ret_bytes = file->bytes;
		return true;
	}
	return false;
}

static bool make_room(struct store_writer *writer)
{
	struct store_files files;
	uint64_t bytes;
	bool removed = false;

	if (store_files_list(writer->place.fd, &files) == 0)
		removed = remove_oldest(writer, &files, &bytes);
	store_files_done(&files);
	writer->counts.made_room += removed;
	return removed;
}

static bool is_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT;
}

/*
 * Returns the time by which files are too old. A clock that is set far ahead, if only for a minute,
 * must not remove the year before it: after a pause of more than a day, this time goes on twice as
 * fast as recorded time until it has caught up with the clock.
 */
static uint64_t ageing(struct store_writer *writer, const struct store_files *files)
{
	uint64_t now = now_ns(writer), most;

	if (!writer->newest) {
		for (size_t i = 0; i < files->n; i++)
			if (files->items[i].end > writer->newest)
				writer->newest = files->items[i].end;
		writer->first_boot = writer->last_boot;
	}
	if (!writer->newest)
		return now;
	most = writer->newest + STORE_DAY + 2 * (writer->last_boot - writer->first_boot);
	return now < most ? now : most;
}

/* Whether @level does not keep what is as old as @file. */
static bool is_too_old(const struct store_writer *writer, const struct store_file *file,
		       enum store_level level, uint64_t now)
{
	uint64_t age = writer->options.limits.age_ns[level];
	uint64_t end = file->end ? file->end : file->header.start;

	return age && end + age < now;
}

/* Files that are too old, and the finest ones while all are too large. */
static void keep_limits(struct store_writer *writer)
{
	const struct store_limits *limits = &writer->options.limits;
	struct store_files files;
	uint64_t now, total = 0, bytes;

	if (store_files_list(writer->place.fd, &files) < 0) {
		store_files_done(&files);
		return;
	}
	now = ageing(writer, &files);
	for (size_t i = 0; i < files.n; i++) {
		const struct store_file *file = &files.items[i];

		total += file->bytes;
		if (!is_too_old(writer, file, file->level, now) ||
		    is_open_file(writer, file->name) ||
		    unlinkat(writer->place.fd, file->name, 0) < 0)
			continue;
		writer->counts.removed++;
		total -= file->bytes;
	}
	while (limits->bytes && total > limits->bytes && remove_oldest(writer, &files, &bytes)) {
		writer->counts.removed++;
		total -= bytes < total ? bytes : total;
	}
	store_files_done(&files);
}

/* The ledger of @level begins anew: where items of others are in it, and its in others. */
static void forget_memos(struct store_writer *writer, enum store_level level)
{
	ledger_memo_done(&writer->levels[level].memo);
	if (level < LEVEL_DAY)
		ledger_memo_done(&writer->levels[level + 1].memo);
	if (level == LEVEL_FINEST)
		ledger_memo_done(&writer->levels[LEVEL_SERIES].memo);
}

/* Whether the level's dictionaries are to begin anew. */
static bool is_large(const struct store_writer *writer, enum store_level level)
{
	const struct ledger *ledger = &writer->levels[level].file.ledger;
	size_t most = writer->options.dictionary_bytes << (level == LEVEL_FINEST);

	return ledger->n_nodes >= MAX_ITEMS || ledger->n_processes >= MAX_ITEMS ||
	       ledger->strings.n_bytes >= MAX_STRING_BYTES ||
	       (most && ledger_bytes(ledger) >= most);
}

static void close_file(struct store_writer *writer, enum store_level level)
{
	bool was_large = writer->levels[level].file.fd >= 0 && is_large(writer, level);

	segment_close(&writer->levels[level].file);
	if (was_large)
		malloc_trim(0);
	writer->levels[level].is_open = false;
	forget_memos(writer, level);
}

/* Whether the file may take another window that begins at @start_ns. */
static bool is_file_good(const struct store_writer *writer, enum store_level level,
			 uint64_t start_ns)
{
	const struct writer_level *of = &writer->levels[level];
	struct stat st;

	return of->file.fd >= 0 && of->file_period == period_of(level, start_ns) &&
	       memcmp(of->file.header.boot_id, writer->boot_id, sizeof writer->boot_id) == 0 &&
	       !is_large(writer, level) && fstat(of->file.fd, &st) == 0 && st.st_nlink > 0;
}

static int create_file(struct store_writer *writer, enum store_level level, uint64_t start_ns)
{
	struct segment_header header = {
		.kind = level == LEVEL_SERIES ? SEGMENT_SERIES : SEGMENT_STACKS,
		.level = level == LEVEL_FINEST ? writer->options.window_ns : store_level_ns(level),
		.start = start_ns,
	};
	char name[SEGMENT_NAME_SIZE];
	int r = -EEXIST;

	memcpy(header.boot_id, writer->boot_id, sizeof header.boot_id);
	for (unsigned int i = 1; i <= MAX_NAMESAKES && r == -EEXIST; i++) {
		name_file(&header, i, name);
		r = segment_create(&writer->levels[level].file, &writer->place, name, &header);
	}
	if (r == 0)
		writer->counts.bytes += writer->levels[level].file.bytes;
	return r;
}

/* The folder may have been removed. */
static void find_folder(struct store_writer *writer)
{
	struct place place;
	struct stat st;
	int lock;

	if (fstat(writer->place.fd, &st) == 0 && st.st_nlink > 0)
		return;
	if (place_open(writer->options.path, PLACE_MAKE_ALL, place_check_writable, NULL, &place) <
	    0)
		return;
	if (lock_file_take(&place, false, &lock) < 0) {
		place_close(&place);
		return;
	}
	for (int i = 0; i < N_STORE_LEVELS; i++)
		close_file(writer, i);
	closep(&writer->lock);
	place_close(&writer->place);
	writer->place = place;
	writer->lock = lock;
}

/* Makes sure that there is a file for a window; none is open. */
static int ready_file(struct store_writer *writer, enum store_level level, uint64_t start_ns)
{
	int r;

	if (is_file_good(writer, level, start_ns))
		return 0;
	close_file(writer, level);
	if (level == LEVEL_FINEST && !writer->recovers)
		keep_limits(writer);
	r = create_file(writer, level, start_ns);
	if (is_full(r) && make_room(writer))
		r = create_file(writer, level, start_ns);
	if (r == 0)
		writer->levels[level].file_period = period_of(level, start_ns);
	return r;
}

/* Windows */

/* Writes the open window. After an error its file takes no more. */
static int write_window(struct store_writer *writer, enum store_level level)
{
	struct writer_level *of = &writer->levels[level];
	uint64_t before = of->file.bytes;
	int r = segment_append(&of->file, &of->window);

	if (is_full(r) && make_room(writer))
		r = segment_retry(&of->file);
	of->is_open = false;
	if (r < 0) {
		writer->counts.not_rolled += level != LEVEL_FINEST;
		close_file(writer, level);
		return r;
	}
	writer->counts.bytes += of->file.bytes - before;
	if (level != LEVEL_FINEST)
		writer->counts.rolled++;
	return 0;
}

static void extend_window(struct store_window *window, const struct store_window *by)
{
	uint64_t end = by->start + by->span;

	if (end > window->start + window->span)
		window->span = end - window->start;
	window->covered += by->covered;
	if (window->covered > window->span)
		window->covered = window->span;
	window->boot = by->boot;
	window->windows += by->windows;
	window->millihertz = by->millihertz;
	window->lost += by->lost;
	window->own_ns += by->own_ns;
	if (by->effort > window->effort)
		window->effort = by->effort;
}

static void roll_up(struct store_writer *writer, enum store_level level);

/* Begins a window of a coarse level by its first one of the level below. */
static int open_window(struct store_writer *writer, enum store_level level,
		       const struct store_window *window)
{
	struct writer_level *of = &writer->levels[level];
	int r = ready_file(writer, level, window->start);

	if (r < 0)
		return r;
	of->is_open = true;
	of->number = window->start / store_level_ns(level);
	of->window = *window;
	return 0;
}

/* Adds a window of the level below, whose rows are in @from. An error is counted. */
static int add_to_level(struct store_writer *writer, enum store_level level,
			const struct ledger *from, struct ledger_memo *memo,
			const struct store_window *window)
{
	struct writer_level *of = &writer->levels[level];
	uint64_t number = window->start / store_level_ns(level);
	struct ledger_merge how = {
		.memo = memo,
		.no_stacks = level == LEVEL_SERIES,
		.no_pids = level == LEVEL_SERIES,
	};
	uint64_t young_ns = level == LEVEL_MINUTE ? YOUNG_IN_MINUTE_NS : YOUNG_NS;
	int r = 0;

	/* A window that grows too large is written in parts. */
	if (of->is_open && (of->number != number || is_large(writer, level)))
		roll_up(writer, level);
	if (of->is_open)
		extend_window(&of->window, window);
	else
		r = open_window(writer, level, window);
	if (level != LEVEL_SERIES && window->boot > young_ns)
		how.old_before = window->boot - young_ns;
	if (r == 0)
		r = ledger_merge(&of->file.ledger, from, &how);
	writer->counts.not_rolled += r < 0;
	return r;
}

/* The open window of a coarse level is over. */
static void roll_up(struct store_writer *writer, enum store_level level)
{
	struct writer_level *of = &writer->levels[level];
	bool goes_up = level < LEVEL_DAY && !writer->recovers; /* not of the series */

	if (goes_up)
		add_to_level(writer, level + 1, &of->file.ledger, &writer->levels[level + 1].memo,
			     &of->window);
	write_window(writer, level);
}

/* Ends the windows that do not hold @start_ns, from the finest level up. */
static void roll_up_before(struct store_writer *writer, uint64_t start_ns)
{
	static const enum store_level order[] = {LEVEL_SERIES, LEVEL_MINUTE, LEVEL_HOUR, LEVEL_DAY};

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		const struct writer_level *of = &writer->levels[order[i]];

		if (of->is_open && of->number != start_ns / store_level_ns(order[i]))
			roll_up(writer, order[i]);
	}
}

static void sync_files(struct store_writer *writer)
{
	uint64_t now = monotonic_ns();

	if (now - writer->synced_at < SYNC_NS)
		return;
	writer->synced_at = now;
	for (int i = 0; i < N_STORE_LEVELS; i++)
		segment_sync(&writer->levels[i].file);
	find_folder(writer);
}

static int add(struct store_writer *writer, const struct ledger *ledger,
	       const struct store_window *window)
{
	struct writer_level *finest = &writer->levels[LEVEL_FINEST];
	struct ledger_memo memo = {};
	const struct ledger_merge how = {.memo = &memo, .all_processes = true};
	const struct ledger *rows = &finest->file.ledger;
	int r;

	roll_up_before(writer, window->start);
	r = ready_file(writer, LEVEL_FINEST, window->start);
	if (r < 0)
		return r;
	r = ledger_merge(&finest->file.ledger, ledger, &how);
	ledger_memo_done(&memo);
	if (r < 0) {
		close_file(writer, LEVEL_FINEST);
		return r;
	}
	finest->window = *window;
	/* Before the rows are gone; the next writer makes again what fails last. */
	add_to_level(writer, LEVEL_MINUTE, rows, &writer->levels[LEVEL_MINUTE].memo, window);
	add_to_level(writer, LEVEL_SERIES, rows, &writer->levels[LEVEL_SERIES].memo, window);
	return write_window(writer, LEVEL_FINEST);
}

int store_writer_add(struct store_writer *writer, const struct ledger *ledger,
		     const struct store_window *window)
{
	struct store_window marked = *window;
	int r;

	if (!writer->first_boot)
		writer->first_boot = window->boot;
	if (window->boot > writer->last_boot)
		writer->last_boot = window->boot;
	if (writer->has_lost && marked.gap == GAP_NONE)
		marked.gap = GAP_LOST;
	r = add(writer, ledger, &marked);
	if (r == -ENOENT) {
		find_folder(writer);
		r = add(writer, ledger, &marked);
	}
	writer->has_lost = r < 0;
	if (r < 0)
		writer->counts.lost++;
	else
		writer->counts.windows++;
	sync_files(writer);
	return r;
}

/* After a writer that died */

/* Windows of this boot follow: the open one of another boot is over. */
static void begin_boot(struct store_writer *writer, enum store_level level,
		       const uint8_t boot_id[static 16])
{
	struct writer_level *of = &writer->levels[level];

	memcpy(writer->boot_id, boot_id, sizeof writer->boot_id);
	if (of->is_open && memcmp(of->file.header.boot_id, boot_id, sizeof writer->boot_id) != 0)
		write_window(writer, level);
}

/* Adds the windows of a file that are not rolled up. */
static int recover_file(struct store_writer *writer, enum store_level level,
			const struct store_files *files, const struct store_unrolled *unrolled)
{
	/* The level's own memo is forgotten with the level's file; here it is of the reader. */
	struct ledger_memo *memo = &writer->levels[level].memo;
	struct segment_reader reader;
	struct segment_block block;
	int r = store_segment_open(files, unrolled->file, &reader);

	if (r < 0)
		return 0;
	begin_boot(writer, level, unrolled->file->header.boot_id);
	ledger_memo_done(memo);
	while (segment_peek(&reader, &block) > 0) {
		struct store_window window;

		r = segment_read(&reader, &block, &window);
		if (r < 0 && r != -EBADMSG)
			break;
		if (r < 0 || window.boot <= unrolled->until)
			continue;
		r = add_to_level(writer, level, &reader.ledger, memo, &window);
		if (r < 0)
			break;
	}
	ledger_memo_done(memo);
	segment_reader_done(&reader);
	return r == -ENOMEM ? r : 0;
}

static int recover_files(struct store_writer *writer, enum store_level level, enum store_level from,
			 const struct store_files *files)
{
	_cleanup_free_ struct store_unrolled *unrolled = NULL;
	uint64_t now = ageing(writer, files);
	size_t n;
	int r = store_unrolled_list(files, from, level, &unrolled, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (is_too_old(writer, unrolled[i].file, level, now))
			continue;
		r = recover_file(writer, level, files, &unrolled[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Makes the windows of @level that are not there from those of @from. */
static int recover(struct store_writer *writer, enum store_level level, enum store_level from)
{
	uint8_t boot_id[sizeof writer->boot_id];
	struct store_files files;
	int r = store_files_list(writer->place.fd, &files);

	memcpy(boot_id, writer->boot_id, sizeof boot_id);
	if (r == 0)
		r = recover_files(writer, level, from, &files);
	begin_boot(writer, level, boot_id);
	store_files_done(&files);
	return r;
}

static int recover_all(struct store_writer *writer)
{
	int r;

	writer->recovers = true;
	r = recover(writer, LEVEL_SERIES, LEVEL_FINEST);
	for (int level = LEVEL_MINUTE; level <= LEVEL_DAY && r == 0; level++)
		r = recover(writer, level, level - 1);
	writer->recovers = false;
	return r;
}

/* Opening */

static void read_boot_id(uint8_t id[static 16])
{
	char text[64] = "";
	size_t n = 0;

	if (read_text_file("/proc/sys/kernel/random/boot_id", text, sizeof text) < 0)
		return;
	for (const char *at = text; *at && n < 32; at++) {
		int digit = *at >= 'a' ? *at - 'a' + 10 : *at - '0';

		if (*at == '-')
			continue;
		id[n / 2] = id[n / 2] << 4 | (digit & 15);
		n++;
	}
}

/* A previous writer may be about to end: even after SIGKILL that takes until it gets a CPU. */
static int lock_in_time(struct store_writer *writer)
{
	uint64_t deadline = monotonic_ns() + LOCK_NS;
	int r;

	while ((r = lock_file_take(&writer->place, false, &writer->lock)) == -EWOULDBLOCK &&
	       monotonic_ns() < deadline)
		usleep(LOCK_STEP_US);
	return r;
}

static int open_place(struct store_writer *writer, struct failure *failure)
{
	const char *path = writer->options.path;
	int r = place_open(path, PLACE_MAKE_ALL, place_check_writable, NULL, &writer->place);

	if (r < 0)
		return output_fail(failure, r, "open the store", path);
	r = lock_in_time(writer);
	if (r == -EWOULDBLOCK) {
		failure_set(failure, r, "another daemon writes to %s", path);
		return failure_fix(failure, r, "give this one a --store of its own");
	}
	return r < 0 ? output_fail(failure, r, "lock the store", path) : 0;
}

static int begin(struct store_writer *writer, struct failure *failure)
{
	int r = open_place(writer, failure);

	if (r < 0)
		return r;
	keep_limits(writer);
	r = recover_all(writer);
	if (r < 0)
		failure_set(failure, r, "cannot read the store %s: %s", writer->options.path,
			    strerror(-r));
	return r;
}

int store_writer_open(const struct store_options *options, struct store_writer **ret,
		      struct failure *failure)
{
	struct store_writer *writer = calloc(1, sizeof *writer);
	int r;

	if (!writer)
		return -ENOMEM;
	writer->options = *options;
	writer->place = PLACE_NONE;
	writer->lock = -1;
	writer->synced_at = monotonic_ns();
	for (int i = 0; i < N_STORE_LEVELS; i++)
		writer->levels[i].file = SEGMENT_WRITER_NONE;
	read_boot_id(writer->boot_id);
	r = begin(writer, failure);
	if (r < 0)
		store_writer_close(writer);
	else
		*ret = writer;
	return r;
}

void store_writer_close(struct store_writer *writer)
{
	for (int i = 0; i < N_STORE_LEVELS; i++)
		close_file(writer, i);
	if (writer->lock >= 0)
		lock_file_release(&writer->place, writer->lock);
	place_close(&writer->place);
	free(writer);
}

void store_writer_limit(struct store_writer *writer, const struct store_limits *limits)
{
	writer->options.limits = *limits;
	keep_limits(writer);
}

void store_writer_sizes(const struct store_writer *writer, uint64_t ret[static N_STORE_LEVELS])
{
	store_files_sizes(writer->place.fd, ret);
}

const struct store_counts *store_writer_counts(const struct store_writer *writer)
{
	return &writer->counts;
}
