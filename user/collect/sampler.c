/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/sampler.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RECORD_BYTES	  (512u << 10) /* a CPU, on small machines */
#define RECORD_BYTES_MANY (128u << 10) /* a CPU, where there are many */
#define MANY_CPUS	  32

struct sampler_cpu {
	struct record_ring ring;
	int sample_fd;
	struct bpf_link *link;
};

static int open_sample_event(const struct sampler *sampler, unsigned int cpu, bool cycles)
{
	struct perf_event_attr attr = {
		.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.config = cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = sampler->frequency,
		.exclude_idle = 1,
		.exclude_guest = cycles,
		.disabled = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void close_cpu(struct sampler_cpu *cpu)
{
	bpf_link__destroy(cpu->link); /* closes sample_fd */
	records_close(&cpu->ring);
	*cpu = (struct sampler_cpu){.sample_fd = -1};
}

static int attach_sampling(struct sampler *sampler, unsigned int number, struct sampler_cpu *cpu)
{
	int fd = open_sample_event(sampler, number, sampler->use_cycles);

	if (fd < 0)
		return fd;
	/* Where throttling is told. */
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, cpu->ring.fd);
	cpu->link = bpf_program__attach_perf_event(sampler->program, fd);
	if (!cpu->link) {
		int error = errno;

		close(fd);
		return -error;
	}
	cpu->sample_fd = fd;
	return 0;
}

static int open_cpu(struct sampler *sampler, unsigned int number)
{
	struct sampler_cpu *cpu = &sampler->cpus[number];
	struct epoll_event event = {.events = EPOLLIN};
	int r;

	r = records_open(number,
			 cpu_list_count(&sampler->online) > MANY_CPUS ? RECORD_BYTES_MANY
								      : RECORD_BYTES,
			 &cpu->ring);
	if (r < 0)
		return r;
	if (epoll_ctl(sampler->epoll_fd, EPOLL_CTL_ADD, cpu->ring.fd, &event) < 0)
		r = -errno;
	if (r >= 0 && sampler->program &&
	    (!sampler->wanted || cpu_list_has(sampler->wanted, number)))
		r = attach_sampling(sampler, number, cpu);
	if (r < 0)
		close_cpu(cpu);
	return r;
}

/* Whether hardware cycles can be sampled here. */
static bool has_cycles(const struct sampler *sampler, unsigned int cpu)
{
	int fd = open_sample_event(sampler, cpu, true);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int refuse(const struct sampler *sampler, unsigned int cpu, int error,
		  struct failure *failure)
{
	uint64_t most = read_number_file("/proc/sys/kernel/perf_event_max_sample_rate", 0);

	if (error == -EINVAL && most && sampler->frequency > most)
		return failure_set(failure, error,
				   "-F %u is above this machine's limit of %llu Hz "
				   "(kernel.perf_event_max_sample_rate)",
				   sampler->frequency, (unsigned long long)most);
	failure_set(failure, error, "cannot open perf events on CPU %u: %s", cpu, strerror(-error));
	if (error == -EPERM || error == -EACCES)
		failure_mend(failure, error,
			     "run as root, or with CAP_PERFMON and CAP_BPF (sudo bpfflame …)");
	else if (error == -EMFILE)
		failure_mend(failure, error, "raise the limit of open files: ulimit -n 65536");
	return error;
}

/*
 * The kernel's own word on every CPU that goes. Its events are dead for good, even if it is back
 * before anyone has looked. In a container there may be no such word; then a short absence is
 * missed.
 */
static int open_uevents(void)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void find_gone(const struct sampler *sampler, struct cpu_list *ret)
{
	char text[4096];
	ssize_t n;

	*ret = (struct cpu_list){};
	while ((n = recv(sampler->uevent_fd, text, sizeof text - 1, 0)) > 0 || errno == ENOBUFS) {
		unsigned int cpu;

		text[n > 0 ? n : 0] = '\0';
		if (sscanf(text, "offline@/devices/system/cpu/cpu%u", &cpu) == 1 &&
		    cpu < sampler->n_cpus)
			ret->bits[cpu / 64] |= 1ULL << cpu % 64;
	}
}

int sampler_open(struct sampler *sampler, struct failure *failure)
{
	bool first = true;
	int r;

	sampler->n_cpus = CPU_SET_WORDS * 64;
	sampler->cpus = calloc(sampler->n_cpus, sizeof *sampler->cpus);
	if (!sampler->cpus)
		return -ENOMEM;
	sampler->uevent_fd = open_uevents();
	r = cpu_list_online(&sampler->online);
	if (r < 0)
		return failure_set(failure, r, "cannot read which CPUs are online: %s",
				   strerror(-r));
	if (sampler->wanted) {
		for_each_cpu (cpu, sampler->wanted) {
			if (!cpu_list_has(&sampler->online, cpu))
				return failure_set(failure, -EINVAL, "-C: CPU %u is not online",
						   cpu);
		}
	}
	for_each_cpu (cpu, &sampler->online) {
		if (first && sampler->program)
			sampler->use_cycles = has_cycles(sampler, cpu);
		first = false;
		r = open_cpu(sampler, cpu);
		if (r < 0)
			return refuse(sampler, cpu, r, failure);
	}
	return 0;
}

void sampler_close(struct sampler *sampler)
{
	if (!sampler->cpus)
		return;
	for_each_cpu (cpu, &sampler->online)
		close_cpu(&sampler->cpus[cpu]);
	if (sampler->uevent_fd >= 0)
		close(sampler->uevent_fd);
	free(sampler->cpus);
	sampler->cpus = NULL;
}

int sampler_follow_cpus(struct sampler *sampler)
{
	struct cpu_list now, gone;
	int r;

	find_gone(sampler, &gone);
	r = cpu_list_online(&now);
	if (r < 0)
		return r;
	for (unsigned int cpu = 0; cpu < sampler->n_cpus; cpu++) {
		bool was = cpu_list_has(&sampler->online, cpu), is = cpu_list_has(&now, cpu);

		if (was && (!is || cpu_list_has(&gone, cpu))) {
			close_cpu(&sampler->cpus[cpu]);
			sampler->online.bits[cpu / 64] &= ~(1ULL << cpu % 64);
			was = false;
		}
		if (!was && is && open_cpu(sampler, cpu) >= 0)
			sampler->online.bits[cpu / 64] |= 1ULL << cpu % 64;
	}
	return 0;
}

int sampler_read_records(struct sampler *sampler, record_fn fn, void *context)
{
	for_each_cpu (cpu, &sampler->online) {
		int r = records_read(&sampler->cpus[cpu].ring, &sampler->losses, fn, context);

		if (r < 0)
			return r;
	}
	return 0;
}
