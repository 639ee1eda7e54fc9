/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "base/utf8.h"

static const char *const process_texts[N_BOARD_PROCESSES] = {
	[BOARD_DAEMON] = "daemon", [BOARD_RECORD] = "record", [BOARD_NAMES] = "names",
	[BOARD_READER] = "reader", [BOARD_BROKER] = "broker", [BOARD_WRITE] = "write",
	[BOARD_SERVE] = "serve",   [BOARD_QUERY] = "query",
};

const char *board_process_text(enum board_process process)
{
	return process_texts[process];
}

enum board_process board_process_of(const char *comm)
{
	static const char ours[] = "bpfflame-";

	if (strncmp(comm, ours, strlen(ours)) != 0)
		return N_BOARD_PROCESSES;
	for (int i = 0; i < N_BOARD_PROCESSES; i++)
		if (strcmp(comm + strlen(ours), process_texts[i]) == 0)
			return i;
	return N_BOARD_PROCESSES;
}

const char *board_class_text(enum board_class class)
{
	static const char *const texts[N_BOARD_CLASSES] = {
		[CLASS_IDLE] = "idle", [CLASS_CPU] = "cpu",	    [CLASS_DISK] = "disk",
		[CLASS_LOCK] = "lock", [CLASS_NETWORK] = "network", [CLASS_PIPE] = "pipe",
		[CLASS_POLL] = "poll", [CLASS_TIMER] = "timer",	    [CLASS_OTHER] = "other",
	};

	return texts[class];
}

static enum board_class class_of(const struct ledger_row *row)
{
	static const enum board_class classes[N_OFF_REASONS] = {
		[REASON_SLEEP] = CLASS_OTHER,	[REASON_DISK] = CLASS_DISK,
		[REASON_STOPPED] = CLASS_OTHER, [REASON_PREEMPTED] = CLASS_CPU,
		[REASON_RUNQUEUE] = CLASS_CPU,	[REASON_THROTTLED] = CLASS_CPU,
		[REASON_FUTEX] = CLASS_LOCK,	[REASON_POLL] = CLASS_POLL,
		[REASON_TIMER] = CLASS_TIMER,	[REASON_NETWORK] = CLASS_NETWORK,
		[REASON_PIPE] = CLASS_PIPE,	[REASON_PAGE_FAULT] = CLASS_DISK,
		[REASON_CHILD] = CLASS_OTHER,	[REASON_LOCK] = CLASS_LOCK,
		[REASON_SIGNAL] = CLASS_OTHER,
	};

	return row->is_idle ? CLASS_IDLE : classes[row->reason];
}

int daemon_board_new(struct daemon_board **ret, int *ret_fd)
{
	int fd = memfd_create("board", MFD_CLOEXEC);
	void *memory;

	if (fd < 0)
		return -errno;
	memory = ftruncate(fd, sizeof **ret) < 0
			 ? MAP_FAILED
			 : mmap(NULL, sizeof **ret, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		close(fd);
		return -errno;
	}
	*ret = memory;
	*ret_fd = fd;
	return 0;
}

void daemon_board_free(const struct daemon_board *board)
{
	if (board)
		munmap((void *)board, sizeof *board);
}

/* A mapping of a descriptor that can't write can't be made writable. */
int daemon_board_view(int fd, const struct daemon_board **ret)
{
	char path[64];
	void *memory;
	int readable;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	readable = open(path, O_RDONLY | O_CLOEXEC);
	if (readable < 0)
		return -errno;
	memory = mmap(NULL, sizeof **ret, PROT_READ, MAP_SHARED, readable, 0);
	close(readable);
	if (memory == MAP_FAILED)
		return -errno;
	*ret = memory;
	return 0;
}

/* Ends of windows */

static void set_wanted(struct daemon_board *board, uint64_t tick)
{
	uint64_t *word = &board->wanted[tick % BOARD_TICKS / 64];

	__atomic_fetch_or(word, 1ULL << tick % 64, __ATOMIC_RELAXED);
}

int daemon_board_ask(struct daemon_board *board, uint64_t now_ns, uint64_t seconds,
		     uint64_t *ret_tick)
{
	uint64_t grid = board_get(&board->grid_ns), tick_ns = board_get(&board->tick_ns), first, n;

	if (!tick_ns || now_ns < grid)
		return -ENODATA;
	first = (now_ns + BOARD_LEAD_NS - grid) / tick_ns + 1;
	n = (seconds * NSEC_PER_SEC + tick_ns - 1) / tick_ns;
	if (n + 2 >= BOARD_TICKS)
		return -EINVAL;
	set_wanted(board, first);
	set_wanted(board, first + n);
	*ret_tick = first;
	return 0;
}

uint64_t daemon_board_next(struct daemon_board *board, uint64_t now_ns, uint64_t until_ns)
{
	uint64_t grid = board->grid_ns, tick_ns = board->tick_ns, tick = (now_ns - grid) / tick_ns;

	/* So that it is not asked for again when its bit is another tick's. */
	for (uint64_t past = tick > BOARD_TICKS / 4 ? tick - BOARD_TICKS / 4 : 0; past <= tick;
	     past++)
		__atomic_fetch_and(&board->wanted[past % BOARD_TICKS / 64], ~(1ULL << past % 64),
				   __ATOMIC_RELAXED);
	for (tick++; grid + tick * tick_ns <= until_ns; tick++)
		if (board_get(&board->wanted[tick % BOARD_TICKS / 64]) >> tick % 64 & 1)
			return grid + tick * tick_ns;
	return 0;
}

void daemon_board_lose(struct daemon_board *board, const struct collect_stats *stats)
{
	const struct totals totals = {.stats = *stats};
	struct loss losses[N_LOSSES];

	losses_list(&totals, PROFILE_WALL, losses);
	for (size_t i = 0; i < N_LOSSES; i++)
		board_add(&board->losses[i], losses[i].n);
}

/* Cgroups */

/* As it is shown: paths that look alike there have one counter. False: it is too long. */
static bool clean_path(const char *path, char clean[static BOARD_PATH])
{
	size_t n = 0;
	uint32_t code;

	while ((code = text_next(&path))) {
		char bytes[4];
		size_t length = utf8_encode(code, bytes);

		if (n + length >= BOARD_PATH)
			return false;
		memcpy(clean + n, bytes, length);
		n += length;
	}
	clean[n] = '\0';
	return true;
}

/* The counters of a cgroup, which get a place where there is one. */
static struct board_cgroup *find_cgroup(struct daemon_board *board, const char *cgroup)
{
	uint64_t n = board_get(&board->n_cgroups);
	char path[BOARD_PATH];

	if (!clean_path(cgroup, path))
		return &board->cgroups[BOARD_CGROUPS];

	for (uint64_t i = 0; i < n && i < BOARD_CGROUPS; i++)
		if (strcmp(board->cgroups[i].path, path) == 0)
			return &board->cgroups[i];
	if (n >= BOARD_CGROUPS)
		return &board->cgroups[BOARD_CGROUPS];
	strcpy(board->cgroups[n].path, path);
	__atomic_store_n(&board->n_cgroups, n + 1, __ATOMIC_RELEASE);
	return &board->cgroups[n];
}

int daemon_board_count(struct daemon_board *board, const struct ledger *ledger)
{
	/* By process: where its cgroup's counters are. */
	struct board_cgroup **of = calloc(ledger->n_processes + 1, sizeof *of);

	for (size_t i = 0; of && i < ledger->n_rows; i++) {
		const struct ledger_row *row = &ledger->rows[i];
		uint32_t cgroup = ledger->processes[row->process].cgroup;

		if (!of[row->process])
			of[row->process] =
				find_cgroup(board, strings_get(&ledger->strings, cgroup));
		board_add(row->reason == REASON_NONE || row->reason == REASON_ONCPU
				  ? &of[row->process]->running_us
				  : &of[row->process]->waiting_us[class_of(row)],
			  row->microseconds);
	}
	free(of);
	return of ? 0 : -ENOMEM;
}
