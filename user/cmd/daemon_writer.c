/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/output.h"
#include "base/sandbox.h"
#include "base/system.h"
#include "cli/account.h"
#include "cli/cli.h"
#include "cmd/cmd.h"
#include "cmd/daemon_link.h"
#include "cmd/daemon_log.h"
#include "store/ledger_code.h"
#include "store/lock_file.h"

#define DICTIONARY_SHARE 16 /* of the memory's budget, for each level at most, but the finest */

static bool is_of_no_store(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, LOCK_FILE) != 0 &&
	       !store_is_segment(name);
}

/* A folder that holds anything else, /etc for one, is given to nobody. */
static int check_contents(int folder, const struct daemon_options *options, struct failure *failure)
{
	struct listing others;
	int r = listing_read_folder(folder, is_of_no_store, &others);

	if (r < 0)
		return output_fail(failure, r, "look into the store", options->store);
	if (others.n) {
		r = failure_set(failure, -ENOTEMPTY,
				"cannot give %s to %s: it holds more than a store, such as %s",
				options->store, options->user, others.names[0]);
		failure_fix(failure, r, "name a folder of its own by --store, or change its owner");
	}
	listing_done(&others);
	return r;
}

static int give_folder(int folder, const struct daemon_options *options,
		       const struct account *account, struct failure *failure)
{
	struct stat st;
	int r = fstat(folder, &st) < 0 ? -errno : 0;

	if (r == 0 && st.st_uid != account->uid) {
		r = check_contents(folder, options, failure);
		if (r < 0)
			return r;
		r = fchown(folder, account->uid, account->gid) < 0 ? -errno : 0;
	}
	return r < 0 ? output_fail(failure, r, "give the store to its writer", options->store) : 0;
}

/* The folder is made, and given to who will write there. */
static int prepare_store(const struct daemon_options *options, const struct account *account,
			 struct failure *failure)
{
	struct place place;
	int r = place_open(options->store, PLACE_MAKE_ALL, place_check_writable, NULL, &place), fd;

	if (r < 0)
		return output_fail(failure, r, "open the store", options->store);
	fd = openat(place.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? output_fail(failure, -errno, "open the store", options->store)
		   : give_folder(fd, options, account, failure);
	closep(&fd);
	place_close(&place);
	return r;
}

static int become_user(const struct daemon_options *options, struct failure *failure)
{
	struct account account;
	int r;

	if (!options->user)
		return 0;
	r = account_find(options->user, -1, &account);
	if (r < 0)
		return failure_set(failure, r, "--user: there is no user %s", options->user);
	r = prepare_store(options, &account, failure);
	if (r == 0) {
		r = account_become(&account);
		if (r < 0)
			failure_set(failure, r, "cannot become %s: %s", options->user,
				    strerror(-r));
	}
	account_done(&account);
	return r;
}

static int give_up_rights(const struct daemon_options *options, struct failure *failure)
{
	int r = become_user(options, failure);

	if (r < 0)
		return r;
	r = sandbox_restrict(0);
	return r < 0 ? failure_set(failure, r, "cannot give up rights: %s", strerror(-r)) : 0;
}

static uint64_t own_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return rusage_seconds(&usage) * 1e9;
}

static void report(int reports, enum daemon_report_kind kind, int error,
		   const struct store_counts *counts)
{
	const struct daemon_report what = {
		.kind = kind,
		.error = error,
		.own_ns = own_ns(),
		.windows = counts->windows,
		.lost = counts->lost,
		.bytes = counts->bytes,
	};

	daemon_link_report(reports, &what);
}

/* What a window changes on the board. @r: whether it was written. */
static void note_window(struct daemon_board *board, const struct store_writer *writer,
			const struct store_window *window, int r)
{
	uint64_t bytes[N_STORE_LEVELS];

	board_add(r < 0 ? &board->unwritten : &board->written, 1);
	store_writer_sizes(writer, bytes);
	for (int i = 0; i < N_STORE_LEVELS; i++)
		board_set(&board->store_bytes[i], bytes[i]);
	if (r < 0)
		return;
	board_set(&board->written_until, window->start + window->span);
	board_set(&board->written_at, monotonic_ns());
}

static int write_ledger(struct store_writer *writer, struct daemon_board *board,
			struct ledger *ledger, const struct store_window *window)
{
	/* Counters go on whether it can be written or not. */
	int r = daemon_board_count(board, ledger);

	if (r < 0)
		return r;
	return store_writer_add(writer, ledger, window);
}

static int read_ledger(const uint8_t *bytes, size_t n, struct ledger *ledger,
		       struct store_window *ret)
{
	int r = ledger_init(ledger);

	if (r < 0)
		return r;
	return ledger_decode(ledger, bytes, n, LEDGER_LAYOUT, ret);
}

static int write_window(struct store_writer *writer, struct daemon_board *board,
			const uint8_t *bytes, size_t n)
{
	struct store_window window = {};
	struct ledger ledger;
	int r = read_ledger(bytes, n, &ledger, &window);

	if (r == 0)
		r = write_ledger(writer, board, &ledger, &window);
	note_window(board, writer, &window, r);
	ledger_done(&ledger);
	return r;
}

/* Of this process and, on the board, of those before it. */
struct writer_base {
	uint64_t cpu_ns, bytes;
};

static void note_cost(struct daemon_board *board, const struct writer_base *base,
		      const struct store_counts *counts)
{
	board_set(&board->cpu_ns[BOARD_WRITE], base->cpu_ns + own_ns());
	board_set(&board->written_bytes, base->bytes + counts->bytes);
}

static void write_windows(const struct daemon_options *options, struct store_writer *writer,
			  int windows, int reports, struct daemon_board *board)
{
	const struct writer_base base = {board_get(&board->cpu_ns[BOARD_WRITE]),
					 board_get(&board->written_bytes)};
	struct store_counts before = {};
	uint8_t *bytes;
	size_t n;
	int r;

	while ((r = daemon_link_take_window(windows, &bytes, &n)) != 0) {
		const struct store_counts *counts = store_writer_counts(writer);

		if (r > 0) {
			r = write_window(writer, board, bytes, n);
			free(bytes);
			note_cost(board, &base, counts);
		} else {
			board_add(&board->unwritten, 1);
		}
		if (counts->made_room > before.made_room)
			daemon_log(LOG_LEVEL_WARNING,
				   "the disk of %s is full: the oldest file there is removed",
				   options->store);
		if (counts->not_rolled > before.not_rolled)
			daemon_log(
				LOG_LEVEL_ERROR,
				"a window of a coarse level is not written, or not all of it, to "
				"%s: ranges are read from finer ones as long as these are kept",
				options->store);
		before = *counts;
		if (r < 0)
			daemon_log(LOG_LEVEL_ERROR, "a window is not written to %s: %s",
				   options->store, output_error(r));
		report(reports, r < 0 ? REPORT_LOST : REPORT_WRITTEN, r, counts);
	}
}

int daemon_write(const struct daemon_options *options, int windows, int reports,
		 struct daemon_board *board)
{
	const struct store_options store = {.path = options->store,
					    .window_ns = options->window_ns,
					    .limits = options->keep,
					    .dictionary_bytes =
						    options->memory_budget / DICTIONARY_SHARE};
	struct store_writer *writer;
	struct failure failure = {};

	/* Large arrays go back to the kernel when they are freed. */
	mallopt(M_MMAP_THRESHOLD, 64 << 10);
	if (give_up_rights(options, &failure) < 0 ||
	    store_writer_open(&store, &writer, &failure) < 0) {
		daemon_log(LOG_LEVEL_ERROR, "%s%s%s%s", failure.what, *failure.fix ? " (" : "",
			   failure.fix, *failure.fix ? ")" : "");
		return EXIT_FAILED;
	}
	report(reports, REPORT_WRITING, 0, store_writer_counts(writer));
	write_windows(options, writer, windows, reports, board);
	store_writer_close(writer);
	return EXIT_DONE;
}
