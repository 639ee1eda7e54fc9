/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/event_list.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"
#include "collect/counters.h"
#include "collect/event_find.h"
#include "collect/maps.h"
#include "collect/probe_file.h"
#include "collect/probe_job.h"
#include "collect/rights.h"
#include "collect/targets.h"
#include "collect/tracefs.h"

const char *listed_kind_name(enum listed_kind kind)
{
	static const char *const names[N_LISTED_KINDS] = {
		[LISTED_SOFTWARE] = "software",	    [LISTED_HARDWARE] = "hardware",
		[LISTED_CACHE] = "cache",	    [LISTED_PMU] = "pmu",
		[LISTED_TRACEPOINT] = "tracepoint", [LISTED_UPROBE] = "uprobe",
		[LISTED_KPROBE] = "kprobe",	    [LISTED_USDT] = "usdt",
	};

	return names[kind];
}

/* @name: malloc'ed, or NULL after a failed allocation. */
static int add_event(struct event_list *list, enum listed_kind kind, char *name, const char *alias,
		     const char *help)
{
	int r = name ? array_reserve(list->items, list->capacity, list->n, 1) : -ENOMEM;

	if (r < 0) {
		free(name);
		return r;
	}
	list->items[list->n++] =
		(struct listed_event){.kind = kind, .name = name, .alias = alias, .help = help};
	return 0;
}

static int add_form(struct event_list *list, enum listed_kind kind, const char *form,
		    const char *help)
{
	int r = add_event(list, kind, strdup(form), NULL, help);

	if (r < 0)
		return r;
	list->items[list->n - 1].is_form = true;
	return 0;
}

static enum listed_kind counter_kind(const struct counter_row *row)
{
	return row->type == PERF_TYPE_SOFTWARE	 ? LISTED_SOFTWARE
	       : row->type == PERF_TYPE_HARDWARE ? LISTED_HARDWARE
						 : LISTED_CACHE;
}

static void miss_counter(struct event_list *list, enum listed_kind kind, int error)
{
	struct failure *missing = &list->missing[kind];
	const char *why = hardware_missing();

	if (missing->what[0] || rights_explain(RIGHTS_PERF_EVENTS, error, missing))
		return;
	if (kind == LISTED_SOFTWARE)
		failure_set(missing, error, "the kernel refuses them: %s", strerror(-error));
	else
		failure_set(missing, error, "%s",
			    why ? why : "this processor's PMU does not count them");
}

static int add_counters(struct event_list *list)
{
	bool has[N_LISTED_KINDS] = {};

	for (const struct counter_row *row = counter_rows; row->name; row++) {
		const struct counter counter = {.type = row->type, .config = row->config};
		enum listed_kind kind = counter_kind(row);
		int r = counter_try(&counter);

		if (r < 0) {
			miss_counter(list, kind, r);
			continue;
		}
		has[kind] = true;
		r = add_event(list, kind, strdup(row->name), row->alias, row->help);
		if (r < 0)
			return r;
	}
	for (int kind = 0; kind < N_LISTED_KINDS; kind++)
		if (has[kind])
			list->missing[kind] = (struct failure){};
	return 0;
}

/* Calls @fn with the files of a folder whose names do not begin with a dot. */
static int each_file(const char *path,
		     int (*fn)(struct event_list *list, const char *folder, const char *name),
		     struct event_list *list, const char *folder)
{
	DIR *files = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!files)
		return 0;
	while (r == 0 && (entry = readdir(files)))
		if (entry->d_name[0] != '.')
			r = fn(list, folder, entry->d_name);
	closedir(files);
	return r;
}

static int add_pmu_event(struct event_list *list, const char *pmu, const char *name)
{
	struct failure ignored;
	struct counter counter;
	char *text;

	/* `NAME.scale` and `NAME.unit` only describe the event's figures. */
	if (strchr(name, '.'))
		return 0;
	if (asprintf(&text, "%s/%s/", pmu, name) < 0)
		return -ENOMEM;
	if (counter_find(text, &counter, &ignored) < 0 || counter_try(&counter) < 0) {
		free(text);
		return 0;
	}
	return add_event(list, LISTED_PMU, text, NULL, "");
}

static int add_pmu(struct event_list *list, const char *folder, const char *pmu)
{
	char path[320];

	snprintf(path, sizeof path, PMU_FOLDER "/%s/events", pmu);
	return each_file(path, add_pmu_event, list, pmu);
}

static int add_pmus(struct event_list *list)
{
	struct failure *missing = &list->missing[LISTED_PMU];
	size_t before = list->n;
	const char *why = hardware_missing();
	int r = each_file(PMU_FOLDER, add_pmu, list, NULL);

	if (r < 0)
		return r;
	if (list->n == before) {
		failure_set(missing, -ENODEV, "%s",
			    why ? why : "no PMU names events that can be sampled here");
		return 0;
	}
	if (why)
		return 0;
	return add_form(list, LISTED_PMU, "cpu/event=0xNN,umask=0xNN/",
			"by the numbers of the processor's manual; also rNNNN");
}

static int add_tracepoint(void *context, const char *category, const char *name)
{
	char *text;

	if (asprintf(&text, "%s:%s", category, name) < 0)
		return -ENOMEM;
	/* The tracer's own events: no program can be attached there. */
	if (strcmp(category, "ftrace") == 0) {
		free(text);
		return 0;
	}
	return add_event(context, LISTED_TRACEPOINT, text, NULL, "");
}

static int add_tracepoints(struct event_list *list)
{
	struct failure *missing = &list->missing[LISTED_TRACEPOINT];
	_cleanup_close_ int fd = -1;
	bool is_private;
	int r = tracefs_open(&fd, &is_private);

	if (r == 0)
		return tracefs_list(fd, add_tracepoint, list);
	tracefs_refuse(r, missing);
	return 0;
}

static const struct probe_form {
	enum listed_kind kind;
	const char *form, *help;
} probe_forms[] = {
	{LISTED_UPROBE, "uprobe:FILE:FUNCTION[+OFFSET]",
	 "calls of a function of a program or library"},
	{LISTED_UPROBE, "uretprobe:FILE:FUNCTION", "returns from it"},
	{LISTED_USDT, "usdt:FILE:PROVIDER:NAME",
	 "probes that a program was built with: events --path FILE, -p PID"},
	{LISTED_KPROBE, "kprobe:FUNCTION[+OFFSET]",
	 "calls of a kernel function, as in /proc/kallsyms"},
	{LISTED_KPROBE, "kretprobe:FUNCTION", "returns from it"},
};

static int add_probes(struct event_list *list)
{
	bool has_uprobes = pmu_type("uprobe") >= 0, has_kprobes = pmu_type("kprobe") >= 0;

	for (size_t i = 0; i < sizeof probe_forms / sizeof *probe_forms; i++) {
		const struct probe_form *probe = &probe_forms[i];
		bool in_kernel = probe->kind == LISTED_KPROBE;
		int r;

		if (!(in_kernel ? has_kprobes : has_uprobes)) {
			failure_set(&list->missing[probe->kind], -ENODEV, "%s",
				    in_kernel ? "this kernel has no kprobes: CONFIG_KPROBE_EVENTS"
					      : "this kernel has no uprobes: CONFIG_UPROBE_EVENTS");
			continue;
		}
		r = add_form(list, probe->kind, probe->form, probe->help);
		if (r < 0)
			return r;
	}
	return 0;
}

int event_list_machine(struct event_list *list)
{
	int r = add_counters(list);

	if (r < 0)
		return r;
	r = add_pmus(list);
	if (r < 0)
		return r;
	r = add_tracepoints(list);
	if (r < 0)
		return r;
	return add_probes(list);
}

/* USDT */

/* Lists those of @file; @path: as -e takes it. */
static int list_usdt(struct event_list *list, struct reader *reader, const struct probe_file *file,
		     const char *path)
{
	_cleanup_free_ struct usdt_probe *probes = NULL;
	size_t n = 0;
	int r = probe_job_list(reader, file->fd, &probes, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		char *name;

		if (asprintf(&name, "usdt:%s:%s:%s", path, probes[i].provider, probes[i].name) < 0)
			return -ENOMEM;
		r = add_event(list, LISTED_USDT, name, NULL, "");
		if (r < 0)
			return r;
	}
	return 0;
}

int event_list_file(struct event_list *list, const char *name, struct reader *reader,
		    struct failure *failure)
{
	struct probe_file file;
	int r = probe_file_find(name, 0, &file);

	if (r < 0)
		return failure_set(failure, r, "no file '%s'", name);
	r = list_usdt(list, reader, &file, name);
	if (r == -ENOEXEC)
		failure_set(failure, r, "%s is not an ELF file, or is damaged", file.path);
	else if (r < 0)
		failure_set(failure, r, "cannot read %s: %s", file.path, strerror(-r));
	probe_file_done(&file);
	return r;
}

static int list_mapped(struct event_list *list, uint32_t pid, const char *path,
		       struct reader *reader)
{
	struct probe_file file;
	int r;

	if (probe_file_find(path, pid, &file) < 0)
		return 0;
	r = list_usdt(list, reader, &file, path);
	probe_file_done(&file);
	return r == -ENOMEM ? r : 0; /* not every file is one of code */
}

/* Each file once: its mappings are neighbours. */
int event_list_process(struct event_list *list, uint32_t pid, struct reader *reader,
		       struct failure *failure)
{
	_cleanup_free_ char *text = NULL;
	const char *last = "";
	struct maps_entry entry;
	char maps[64], *line, *rest;
	size_t size;
	int r = targets_check(&(struct collect_options){.pids = &pid, .n_pids = 1}, failure);

	if (r < 0)
		return r;
	snprintf(maps, sizeof maps, "/proc/%u/maps", pid);
	r = read_whole_file(maps, &text, &size);
	if (r < 0)
		return failure_set(failure, r, "cannot read the mappings of process %u: %s", pid,
				   strerror(-r));
	for (rest = text; (line = strsep(&rest, "\n"));) {
		if (!maps_parse(line, &entry) || entry.name.path[0] != '/' ||
		    strcmp(entry.name.path, last) == 0)
			continue;
		last = entry.name.path;
		r = list_mapped(list, pid, last, reader);
		if (r < 0)
			return r;
	}
	return 0;
}

static int order(const void *a, const void *b)
{
	const struct listed_event *x = a, *y = b;
	int by_kind = (x->kind > y->kind) - (x->kind < y->kind);

	if (by_kind || x->is_form != y->is_form)
		return by_kind ? by_kind : x->is_form - y->is_form;
	return strcmp(x->name, y->name);
}

/* A probe at several places of a file is one event. */
void event_list_sort(struct event_list *list)
{
	size_t kept = 0;

	if (list->n)
		qsort(list->items, list->n, sizeof *list->items, order);
	for (size_t i = 0; i < list->n; i++) {
		if (kept && order(&list->items[kept - 1], &list->items[i]) == 0)
			free(list->items[i].name);
		else
			list->items[kept++] = list->items[i];
	}
	list->n = kept;
}

void event_list_done(struct event_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i].name);
	free(list->items);
	*list = (struct event_list){};
}
