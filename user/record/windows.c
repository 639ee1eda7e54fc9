/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/windows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

static const enum output_format default_formats[] = {FORMAT_SVG, FORMAT_FOLDED, FORMAT_NONE};

void window_stem(const struct record_options *options, size_t event,
		 char text[static WINDOW_STEM_SIZE])
{
	const char *names[PROFILE_MAX_EVENTS];
	const struct collect_options *collect = &options->collect;

	for (size_t i = 0; i < collect->n_events; i++)
		names[i] = collect->events[i].name;
	if (collect->n_events)
		outputs_event_stem(names, collect->n_events, event, text);
	else
		snprintf(text, WINDOW_STEM_SIZE, "%s", profile_mode_name(collect->mode));
}

int window_files_plan(const struct record_options *options, const char *stamp,
		      struct window_files *ret, struct failure *failure)
{
	char stem[WINDOW_STEM_SIZE], name[2 * WINDOW_STEM_SIZE];
	size_t n_events = options->collect.n_events;

	*ret = (struct window_files){.n = n_events ? n_events : 1};
	for (size_t i = 0; i < ret->n; i++) {
		int r;

		window_stem(options, i, stem);
		snprintf(name, sizeof name, "%s%s%s", stamp ? stamp : "", stamp ? "-" : "", stem);
		r = outputs_plan_event(&options->outputs, name, ret->n > 1 ? stem : NULL,
				       default_formats, &ret->events[i], failure);
		if (r < 0)
			return r;
	}
	return 0;
}

int window_files_check(struct window_files *files, struct failure *failure)
{
	for (size_t event = 0; event < files->n; event++) {
		int r = output_files_check(&files->events[event], failure);

		if (r < 0)
			return r;
	}
	return 0;
}

int window_files_put(struct window_files *files, const struct place *place, struct failure *failure)
{
	for (size_t event = 0; event < files->n; event++) {
		int r = output_files_put(&files->events[event], place, failure);

		if (r < 0)
			return r;
	}
	return 0;
}

void window_files_done(struct window_files *files)
{
	for (size_t event = 0; event < files->n; event++)
		output_files_done(&files->events[event]);
	*files = (struct window_files){};
}

static int describe(struct profile *profile, int argc, char **argv)
{
	struct utsname system;
	char line[1024];
	size_t n = 0;
	int r;

	line[0] = '\0';
	for (int i = 0; i < argc && n < sizeof line; i++)
		n += snprintf(line + n, sizeof line - n, "%s%s", i ? " " : "",
			      i ? argv[i] : "bpfflame");
	r = strings_add(&profile->strings, line, &profile->command_line);
	if (r < 0 || uname(&system) < 0)
		return r;
	r = strings_add(&profile->strings, system.nodename, &profile->host);
	if (r < 0)
		return r;
	return strings_add(&profile->strings, system.release, &profile->kernel);
}

static int name_stacks(struct collect_window *window, const struct window_origin *origin,
		       struct symbol_stats *ret_symbols)
{
	const struct record_options *options = origin->options;
	struct profile *profile = window->profile;
	struct symbolize_options symbolize_options = options->symbolize;
	int r;

	symbolize_options.is_ended = origin->is_ended;
	symbolize_options.begin_file = origin->begin_file;
	symbolize_options.cache = origin->cache;
	symbolize_options.later = origin->later;
	r = symbolize(profile, window->sources, &symbolize_options, ret_symbols);
	if (r < 0)
		return r;
	r = describe(profile, origin->argc, origin->argv);
	if (r < 0)
		return r;
	r = collect_finish_stacks(profile, &options->collect);
	if (r < 0)
		return r;
	profile->by_thread = options->collect.threads;
	return profile_select(profile, &options->view.stacks.unfold, &options->view.stacks.select);
}

int window_name(struct collect_window *window, const struct window_origin *origin,
		struct symbol_stats *ret_symbols, struct failure *failure)
{
	int r = name_stacks(window, origin, ret_symbols);

	if (r < 0)
		return failure_set(failure, r, "cannot name the stacks: %s", strerror(-r));
	return 0;
}

static int draw(struct profile_view *view, struct window_files *files, size_t event,
		struct failure *failure)
{
	struct rusage usage = {};
	int r = output_files_draw(&files->events[event], write_profile, view, &usage, failure);
	uint64_t peak = usage.ru_maxrss * 1024ULL;

	files->cpu_seconds += rusage_seconds(&usage);
	if (peak > files->peak_bytes)
		files->peak_bytes = peak;
	return r;
}

static int write_event(struct profile *profile, const struct record_options *options,
		       struct window_files *files, size_t event, struct failure *failure)
{
	struct profile_view view = {.profile = profile, .options = &options->view};
	int r = options->no_sandbox
			? output_files_write(&files->events[event], write_profile, &view, failure)
			: draw(&view, files, event, failure);

	profile_view_done(&view);
	return r;
}

int window_write(struct collect_window *window, const struct record_options *options,
		 struct window_files *files, struct failure *failure)
{
	struct failure later;
	int r = 0;

	for (size_t event = 0; event < files->n; event++) {
		int this;

		if (window->profile->n_events)
			profile_show_event(window->profile, event);
		this = write_event(window->profile, options, files, event,
				   r < 0 ? &later : failure);
		if (r == 0)
			r = this;
	}
	return r;
}

int window_top(struct collect_window *window, const struct record_options *options,
	       struct stacks *ret, struct failure *failure)
{
	struct stacks_options how = {
		.unfold.no_threads = true,
		.unfold.no_inline = options->view.stacks.unfold.no_inline,
		.unfold.lines = options->view.stacks.unfold.lines,
		.no_idle = !options->idle, /* unless there is nothing else */
	};
	int r = stacks_init(ret, &how);

	if (window->profile->n_events)
		profile_show_event(window->profile, 0);
	if (r == 0)
		r = stacks_add(ret, window->profile, SIDE_NEW);
	return r < 0 ? failure_set(failure, r, "cannot rank the functions: %s", strerror(-r)) : 0;
}
