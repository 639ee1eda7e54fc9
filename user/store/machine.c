/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/system.h"

#define CPU    "/sys/devices/system/cpu/cpu0/cpufreq/"
#define SYSTEM "/sys/class/dmi/id/"

static int read_fact(const char *root, const char *path, char *text, size_t size)
{
	char full[512];
	int r;

	snprintf(full, sizeof full, "%s%s", root, path);
	r = read_text_file(full, text, size);
	if (r < 0)
		text[0] = '\0';
	return r;
}

/*
 * Returns the value in a line `key : value` of /proc/cpuinfo or /proc/meminfo; NULL: another key.
 */
static char *value_of(char *line, const char *key)
{
	size_t n = strlen(key);
	char *colon;

	if (strncmp(line, key, n) != 0)
		return NULL;
	colon = line + n + strspn(line + n, " \t");
	if (*colon != ':')
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return colon + 1 + strspn(colon + 1, " \t");
}

/* Copies as much as fits. */
static void copy(char *text, size_t size, const char *value)
{
	size_t n = strlen(value);

	n = n < size ? n : size - 1;
	memcpy(text, value, n);
	text[n] = '\0';
}

/* Whether @flags has the word @flag. */
static bool has_flag(const char *flags, const char *flag)
{
	size_t n = strlen(flag);

	for (const char *at = flags; (at = strstr(at, flag)); at += n)
		if ((at == flags || at[-1] == ' ') && strchr(" ", at[n]))
			return true;
	return false;
}

/* Facts on the first CPU from /proc/cpuinfo, in the architecture's words. */
struct cpu {
	char model[128], implementer[32], part[32];
	bool has_flags, is_virtual;
};

static void read_cpu_line(char *line, struct cpu *cpu)
{
	static const char *const models[] = {"model name", "cpu model", "cpu", "uarch"};
	char *value;

	for (size_t i = 0; i < sizeof models / sizeof *models && !cpu->model[0]; i++)
		if ((value = value_of(line, models[i])))
			copy(cpu->model, sizeof cpu->model, value);
	if ((value = value_of(line, "CPU implementer")))
		copy(cpu->implementer, sizeof cpu->implementer, value);
	else if ((value = value_of(line, "CPU part")))
		copy(cpu->part, sizeof cpu->part, value);
	else if ((value = value_of(line, "flags"))) {
		cpu->has_flags = true;
		cpu->is_virtual = has_flag(value, "hypervisor");
	}
}

/* Calls @take for each line; returns false if there is no such file. */
static bool each_line(const char *root, const char *path, void (*take)(char *line, void *data),
		      void *data)
{
	char full[512];
	char *line = NULL;
	size_t size = 0;
	FILE *stream;

	snprintf(full, sizeof full, "%s%s", root, path);
	stream = fopen(full, "re");
	if (!stream)
		return false;
	while (getline(&line, &size, stream) > 0)
		take(line, data);
	free(line);
	fclose(stream);
	return true;
}

static void take_cpu_line(char *line, void *data)
{
	struct cpu *cpu = data;

	/* The other CPUs are alike, and large machines have megabytes of this. */
	if (!cpu->has_flags && !cpu->part[0])
		read_cpu_line(line, cpu);
}

static void read_cpu(const char *root, struct machine *machine)
{
	struct cpu cpu = {};

	each_line(root, "/proc/cpuinfo", take_cpu_line, &cpu);
	if (cpu.model[0])
		copy(machine->cpu_model, sizeof machine->cpu_model, cpu.model);
	else if (cpu.part[0])
		snprintf(machine->cpu_model, sizeof machine->cpu_model, "implementer %s part %s",
			 cpu.implementer, cpu.part);
	if (cpu.has_flags)
		machine->is_virtual = cpu.is_virtual ? VIRTUAL_YES : VIRTUAL_NO;
}

static void take_memory_line(char *line, void *data)
{
	char *value = value_of(line, "MemTotal");

	if (value)
		*(uint64_t *)data = strtoull(value, NULL, 10) * 1024;
}

static void count_cpus(const char *root, struct machine *machine)
{
	struct cpu_list online;
	char text[4096];

	if (read_fact(root, "/sys/devices/system/cpu/online", text, sizeof text) == 0 &&
	    cpu_list_parse(text, &online) == 0)
		machine->cpus = cpu_list_count(&online);
}

static void read_product(const char *root, struct machine *machine)
{
	char vendor[64], product[64];

	read_fact(root, SYSTEM "sys_vendor", vendor, sizeof vendor);
	read_fact(root, SYSTEM "product_name", product, sizeof product);
	snprintf(machine->product, sizeof machine->product, "%s%s%s", vendor,
		 *vendor && *product ? " " : "", product);
}

static void read_frequency(const char *root, struct machine *machine)
{
	char text[32];

	read_fact(root, CPU "scaling_governor", machine->governor, sizeof machine->governor);
	if (read_fact(root, CPU "cpuinfo_max_freq", text, sizeof text) == 0)
		machine->max_kilohertz = strtoull(text, NULL, 10);
}

/* If the CPU's flags don't show it, look at the firmware's and Xen's files. */
static void look_for_hypervisor(const char *root, struct machine *machine)
{
	char text[64];

	if (machine->is_virtual == VIRTUAL_UNKNOWN &&
	    (read_fact(root, "/sys/hypervisor/type", text, sizeof text) == 0 ||
	     read_fact(root, "/proc/device-tree/hypervisor/compatible", text, sizeof text) == 0))
		machine->is_virtual = VIRTUAL_YES;
}

void machine_read(const char *root, struct machine *ret)
{
	struct machine machine = {};
	struct utsname system;

	if (uname(&system) == 0) {
		copy(machine.host, sizeof machine.host, system.nodename);
		copy(machine.kernel, sizeof machine.kernel, system.release);
		copy(machine.architecture, sizeof machine.architecture, system.machine);
	}
	read_cpu(root, &machine);
	count_cpus(root, &machine);
	each_line(root, "/proc/meminfo", take_memory_line, &machine.memory);
	read_product(root, &machine);
	read_frequency(root, &machine);
	look_for_hypervisor(root, &machine);
	*ret = machine;
}
