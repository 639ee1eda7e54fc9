/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/array.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void sleep_until_ns(uint64_t moment)
{
	struct timespec absolute = {moment / NSEC_PER_SEC, moment % NSEC_PER_SEC};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &absolute, NULL) == EINTR)
		;
}

uint64_t realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t boottime_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

int random_bytes(void *to, size_t n)
{
	char *bytes = to;

	while (n) {
		ssize_t got = getrandom(bytes, n, 0);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (got > 0)
			bytes += got, n -= got;
	}
	return 0;
}

int read_text_file(const char *path, char *buffer, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buffer, size - 1);
	if (n < 0)
		return -errno;
	if (n > 0 && buffer[n - 1] == '\n')
		n--;
	buffer[n] = '\0';
	return 0;
}

int read_file_beginning(const char *path, size_t most, char **ret, size_t *ret_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0, capacity = 0;

	if (fd < 0)
		return -errno;
	while (size < most || !size) {
		ssize_t n;

		if (array_reserve(bytes, capacity, size, 32768) < 0)
			return -ENOMEM;
		n = read(fd, bytes + size, capacity - size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += n;
	}
	bytes[size] = '\0';
	*ret = bytes;
	*ret_size = size;
	bytes = NULL;
	return 0;
}

int read_whole_file(const char *path, char **ret, size_t *ret_size)
{
	return read_file_beginning(path, SIZE_MAX, ret, ret_size);
}

int64_t regular_file_size(int fd)
{
	struct stat status;
	off_t size;

	if (fstat(fd, &status) == 0)
		return S_ISREG(status.st_mode) ? status.st_size : -EINVAL;
	if (errno != EACCES)
		return -errno;
	size = lseek(fd, 0, SEEK_END);
	return size < 0 ? -errno : size;
}

bool kernel_is_since(unsigned int major, unsigned int minor)
{
	unsigned int ours = 0, our_minor = 0;
	struct utsname system = {};

	uname(&system);
	sscanf(system.release, "%u.%u", &ours, &our_minor);
	return ours > major || (ours == major && our_minor >= minor);
}

uint64_t read_number_file(const char *path, uint64_t otherwise)
{
	char text[64], *end;
	uint64_t number;

	if (read_text_file(path, text, sizeof text) < 0)
		return otherwise;
	number = strtoull(text, &end, 10);
	return end == text ? otherwise : number;
}

int cpu_list_parse(const char *text, struct cpu_list *ret)
{
	struct cpu_list list = {};

	do {
		char *end;
		unsigned long first, last;

		first = last = strtoul(text, &end, 10);
		if (end == text || *text < '0' || *text > '9')
			return -EINVAL;
		if (*end == '-') {
			text = end + 1;
			last = strtoul(text, &end, 10);
			if (end == text || *text < '0' || *text > '9' || last < first)
				return -EINVAL;
		}
		if (last >= CPU_SET_WORDS * 64)
			return -ERANGE;
		for (unsigned long cpu = first; cpu <= last; cpu++)
			list.bits[cpu / 64] |= 1ULL << (cpu % 64);
		text = end;
	} while (*text++ == ',');
	if (text[-1] != '\0')
		return -EINVAL;
	*ret = list;
	return 0;
}

int cpu_list_online(struct cpu_list *ret)
{
	char text[4096];
	int r = read_text_file("/sys/devices/system/cpu/online", text, sizeof text);

	if (r < 0)
		return r;
	return cpu_list_parse(text, ret);
}

unsigned int cpu_list_count(const struct cpu_list *list)
{
	unsigned int n = 0;

	for (size_t i = 0; i < CPU_SET_WORDS; i++)
		n += __builtin_popcountll(list->bits[i]);
	return n;
}

/* A cpu_list has the layout of the kernel's masks. */
int cpu_list_of_us(struct cpu_list *ret)
{
	*ret = (struct cpu_list){};
	return sched_getaffinity(0, sizeof *ret, (cpu_set_t *)ret) < 0 ? -errno : 0;
}

int cpu_list_run_on(const struct cpu_list *list)
{
	return sched_setaffinity(0, sizeof *list, (const cpu_set_t *)list) < 0 ? -errno : 0;
}

int cpu_run_on(unsigned int cpu)
{
	struct cpu_list one = {};

	one.bits[cpu / 64] = 1ull << (cpu % 64);
	return cpu_list_run_on(&one);
}

double rusage_seconds(const struct rusage *usage)
{
	return usage->ru_utime.tv_sec + usage->ru_stime.tv_sec +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static uint64_t status_bytes(const char *status, const char *key)
{
	const char *line = strstr(status, key);

	return line ? strtoull(line + strlen(key), NULL, 10) * 1024 : 0;
}

uint64_t process_peak_bytes(pid_t pid)
{
	char path[64], status[2048];
	uint64_t peak, files;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	if (read_text_file(path, status, sizeof status) < 0)
		return 0;
	peak = status_bytes(status, "\nVmHWM:");
	/* The program file itself is shared with us. */
	files = pid == getpid() ? 0 : status_bytes(status, "\nRssFile:");
	return peak > files ? peak - files : 0;
}
