/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_board: what the daemon's processes say of themselves, in memory that all of them have: how
 * much they have done, lost and used. It outlives each of them, so that no counter goes back where
 * one is started again.
 *
 * Each field has one process that writes it. Whoever answers requests has a view, which can't be
 * written. Texts and counts are checked where they are read, for a process that was taken over may
 * write anything.
 */
#ifndef CMD_DAEMON_BOARD_H
#define CMD_DAEMON_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/system.h"
#include "record/losses.h"
#include "store/store_files.h"

enum board_process {
	BOARD_DAEMON, /* the supervisor */
	BOARD_RECORD,
	BOARD_NAMES,
	BOARD_READER,
	BOARD_BROKER,
	BOARD_WRITE,
	BOARD_SERVE,
	BOARD_QUERY, /* reads the store for a client */
	N_BOARD_PROCESSES,
};

/* Why threads waited, in classes. */
enum board_class {
	CLASS_IDLE, /* for work */
	CLASS_CPU,
	CLASS_DISK,
	CLASS_LOCK,
	CLASS_NETWORK,
	CLASS_PIPE,
	CLASS_POLL,
	CLASS_TIMER,
	CLASS_OTHER,
	N_BOARD_CLASSES,
};

#define BOARD_CGROUPS 200 /* with counters of their own; later ones are `other` */
#define BOARD_PATH    256
#define BOARD_TICKS   1024 /* that can be asked for at a time: 300 s of half a second */
#define BOARD_LEAD_NS (NSEC_PER_SEC / 4) /* that a window's end is asked for before it comes */

struct board_cgroup {
	char path[BOARD_PATH];
	uint64_t running_us, waiting_us[N_BOARD_CLASSES];
};

struct daemon_board {
	/*
	 * Moments at which windows are to end: those of tick_ns from grid_ns on, monotonic, that
	 * have a bit here, by their number modulo BOARD_TICKS. The keeper sets them, the recorder
	 * clears those that are past, and writes the grid.
	 */
	uint64_t grid_ns, tick_ns, wanted[BOARD_TICKS / 64];

	/* By the supervisor: */
	uint64_t started_ns; /* monotonic: since when windows are expected */
	uint64_t window_ns;
	uint64_t runs[N_BOARD_PROCESSES]; /* of its children: whether they do */
	uint64_t starts[N_BOARD_PROCESSES];

	/* By each process; memory by the recorder. */
	uint64_t cpu_ns[N_BOARD_PROCESSES], memory[N_BOARD_PROCESSES];

	/* By the recorder: */
	uint64_t bpf_ns; /* CPU time of programs in the kernel */
	uint64_t unsent; /* windows that the writer never got */
	uint64_t losses[N_LOSSES];
	uint64_t millihertz, period_ns, effort;
	uint64_t names_hit, names_missed, names_evicted; /* addresses, in the cache of names */

	/* By the writer: */
	uint64_t written, unwritten; /* windows */
	uint64_t written_at;	     /* the last one: monotonic ns … */
	uint64_t written_until;	     /* … and its end, ns since 1970 */
	uint64_t written_bytes, store_bytes[N_STORE_LEVELS];
	uint64_t n_cgroups; /* of the array; its last item is `other` */
	struct board_cgroup cgroups[BOARD_CGROUPS + 1];
};

/* Makes one, shared with processes that are forked later. *@ret_fd is its memory. 0 or -errno. */
int daemon_board_new(struct daemon_board **ret, int *ret_fd);
/* Only in this process; also of a view. */
void daemon_board_free(const struct daemon_board *board);

/*
 * Makes another view of the same, that nothing makes writable. A process that has the view, and
 * neither the board nor @fd, can only read. 0 or -errno.
 */
int daemon_board_view(int fd, const struct daemon_board **ret);

/* Fields are read and written whole, at any time. */
static inline void board_set(uint64_t *field, uint64_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

static inline uint64_t board_get(const uint64_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static inline void board_add(uint64_t *field, uint64_t more)
{
	board_set(field, board_get(field) + more);
}

const char *board_process_text(enum board_process process);
/* BOARD_DAEMON … by what ps shows of it; N_BOARD_PROCESSES: none of ours. */
enum board_process board_process_of(const char *comm);
const char *board_class_text(enum board_class class);

/*
 * Asks for windows that end at the next tick and @seconds later. *@ret_tick: the number of the
 * first. Errors: -ENODATA nothing is recorded; -EINVAL it is too long.
 */
int daemon_board_ask(struct daemon_board *board, uint64_t now_ns, uint64_t seconds,
		     uint64_t *ret_tick);
/* By the recorder: the first moment in (@now_ns, @until_ns] that is asked for; 0: none. */
uint64_t daemon_board_next(struct daemon_board *board, uint64_t now_ns, uint64_t until_ns);

/* By the recorder: adds what a window has lost. */
void daemon_board_lose(struct daemon_board *board, const struct collect_stats *stats);

/* By the writer: adds the rows of a window to the counters of their cgroups. Errors: -ENOMEM. */
int daemon_board_count(struct daemon_board *board, const struct ledger *ledger);

#endif
