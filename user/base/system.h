/* SPDX-License-Identifier: GPL-2.0-or-later */
/* system: small queries of the system. */
#ifndef BASE_SYSTEM_H
#define BASE_SYSTEM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NSEC_PER_SEC 1000000000ULL

static inline void closep(int *fd);
static inline void freep(void *pointer);
#define _cleanup_close_ __attribute__((cleanup(closep)))
#define _cleanup_free_	__attribute__((cleanup(freep)))

/* CLOCK_MONOTONIC, the clock of all time stamps in a recording. */
uint64_t monotonic_ns(void);
/* Returns once monotonic_ns() has reached @moment. */
void sleep_until_ns(uint64_t moment);
uint64_t realtime_ns(void);
/* CLOCK_BOOTTIME, the clock of processes' starts: with the time that the machine slept. */
uint64_t boottime_ns(void);

/* Unpredictable bytes. 0 or -errno. */
int random_bytes(void *to, size_t n);

/* Reads a small file, NUL-terminated, without the newline at its end. 0 or -errno. */
int read_text_file(const char *path, char *buffer, size_t size);
/* Reads a file of any size; *ret is malloc'ed and NUL-terminated. 0 or -errno. */
int read_whole_file(const char *path, char **ret, size_t *ret_size);
/* The same for at most @most bytes and a block. */
int read_file_beginning(const char *path, size_t most, char **ret, size_t *ret_size);
/* The number in a file, or @otherwise. */
uint64_t read_number_file(const char *path, uint64_t otherwise);

/*
 * The size of an open regular file. FUSE lets only the user who mounted it ask for that; others who
 * were handed a descriptor can seek and read. Errors: -EINVAL not a regular file; those of fstat(2).
 */
int64_t regular_file_size(int fd);

/* Whether the kernel is Linux @major.@minor or newer. */
bool kernel_is_since(unsigned int major, unsigned int minor);

struct rusage;
double rusage_seconds(const struct rusage *usage);
/*
 * The peak memory of a process, or 0; without the file pages that it has now, unless it is us. Why
 * not ru_maxrss: it includes what the program needed that started the process, before the exec.
 */
uint64_t process_peak_bytes(pid_t pid);

/* A set of CPU numbers. */
#define CPU_SET_WORDS 64
struct cpu_list {
	uint64_t bits[CPU_SET_WORDS];
};
/* `0,2-5`. 0 or -EINVAL, or -ERANGE for a number that no kernel gives. */
int cpu_list_parse(const char *text, struct cpu_list *ret);
int cpu_list_online(struct cpu_list *ret);
unsigned int cpu_list_count(const struct cpu_list *list);
static inline int cpu_list_has(const struct cpu_list *list, unsigned int cpu)
{
	return cpu / 64 < CPU_SET_WORDS && list->bits[cpu / 64] >> (cpu % 64) & 1;
}
/* The first CPU from @cpu on; CPU_SET_WORDS * 64: none. */
static inline unsigned int cpu_list_next(const struct cpu_list *list, unsigned int cpu)
{
	while (cpu < CPU_SET_WORDS * 64) {
		uint64_t rest = list->bits[cpu / 64] >> (cpu % 64);

		if (rest)
			return cpu + __builtin_ctzll(rest);
		cpu = (cpu / 64 + 1) * 64;
	}
	return cpu;
}
#define for_each_cpu(cpu, list)                                                                    \
	for (unsigned int cpu = cpu_list_next((list), 0); cpu < CPU_SET_WORDS * 64;                \
	     cpu = cpu_list_next((list), cpu + 1))

/* The CPUs that the calling thread may run on. Errors: those of sched_setaffinity(). */
int cpu_list_of_us(struct cpu_list *ret);
int cpu_list_run_on(const struct cpu_list *list);
int cpu_run_on(unsigned int cpu);

#include <stdlib.h>
#include <unistd.h>

/* What open(2) and its like return, with -errno for -1. */
static inline int fd_or_errno(int fd)
{
	return fd < 0 ? -errno : fd;
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void freep(void *pointer)
{
	free(*(void **)pointer);
}

#endif
