/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/outputs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/confined.h"
#include "base/owner.h"
#include "base/text.h"
#include "export/export.h"

const struct format_row profile_formats[] = {
	{FORMAT_SVG, "svg", ".svg"},
	{FORMAT_FOLDED, "folded", ".folded"},
	{FORMAT_FOLDED, "txt", ".txt"},
	{FORMAT_HTML, "html", ".html"},
	{FORMAT_PPROF, "pprof", ".pb.gz"},
	{FORMAT_PPROF, "pb.gz", ".pprof"},
	{FORMAT_SPEEDSCOPE, "speedscope", ".speedscope.json"},
	{FORMAT_SPEEDSCOPE, "speedscope.json", ".speedscope.json"},
	{FORMAT_FIREFOX, "firefox", ".firefox.json"},
	{FORMAT_FIREFOX, "firefox.json", ".firefox.json"},
	{},
};

const struct format_row comparison_formats[] = {
	{FORMAT_SVG, "svg", ".svg"},
	{FORMAT_HTML, "html", ".html"},
	{FORMAT_MARKDOWN, "markdown", ".md"},
	{FORMAT_MARKDOWN, "md", ".markdown"},
	{FORMAT_TEXT, "text", ".txt"},
	{FORMAT_TEXT, "txt", ".text"},
	{FORMAT_JSON, "json", ".json"},
	{FORMAT_JUNIT, "junit", ".xml"},
	{},
};

static enum output_format format_of_path(const struct format_row *known, const char *path)
{
	if (output_descriptor(path) >= 0)
		return known == comparison_formats ? FORMAT_TEXT : FORMAT_FOLDED;
	for (; known->name; known++)
		if (text_has_suffix(path, strlen(path), known->ending))
			return known->format;
	return FORMAT_NONE;
}

static enum output_format format_of_name(const struct format_row *known, const char *name, size_t n)
{
	for (; known->name; known++)
		if (strlen(known->name) == n && strncmp(known->name, name, n) == 0)
			return known->format;
	return FORMAT_NONE;
}

static const char *ending_of(const struct format_row *known, enum output_format format)
{
	while (known->format != format)
		known++;
	return known->ending;
}

/* The names that -f takes: svg, html, … */
static void format_names(const struct format_row *known, char *text, size_t size)
{
	enum output_format before = FORMAT_NONE;
	size_t n = 0;

	text[0] = '\0';
	for (; known->name && n < size; known++) {
		if (known->format != before)
			n += snprintf(text + n, size - n, "%s%s", n ? ", " : "", known->name);
		before = known->format;
	}
}

int option_output(const struct option_row *row, void *field, const char *value,
		  struct failure *failure)
{
	struct outputs *outputs = field;

	if (!*value)
		return option_bad(row, value, "a file", failure);
	if (outputs->n_paths == MAX_OUTPUTS)
		return option_bad(row, value, "possible: too many files", failure);
	outputs->paths[outputs->n_paths++] = value;
	return 0;
}

int option_formats(const struct option_row *row, void *field, const char *value,
		   struct failure *failure)
{
	struct outputs *outputs = field;
	char names[128], wanted[160];

	format_names(outputs->known, names, sizeof names);
	snprintf(wanted, sizeof wanted, "a list of %s", names);
	outputs->n_formats = 0;
	for (const char *list = value;;) {
		size_t n = strcspn(list, ",");
		enum output_format format = format_of_name(outputs->known, list, n);

		if (format == FORMAT_NONE || outputs->n_formats == MAX_OUTPUTS)
			return option_bad(row, value, wanted, failure);
		outputs->formats[outputs->n_formats++] = format;
		if (!list[n])
			return 0;
		list += n + 1;
	}
}

int option_mode(const struct option_row *row, void *field, const char *value,
		struct failure *failure)
{
	char *end;
	unsigned long mode = strtoul(value, &end, 8);

	if (*value < '0' || *value > '7' || *end || mode > 0777)
		return option_bad(row, value, row->wanted, failure);
	output_set_mode(mode);
	return 0;
}

static int add_file(struct output_files *files, char *path, enum output_format format)
{
	if (!path)
		return -ENOMEM;
	files->files[files->n++] = (struct output_file){.path = path, .format = format};
	return 0;
}

/* Inserts @event before the format's ending, else before the last dot. */
static char *name_of_event(const struct outputs *outputs, const char *path, const char *event)
{
	const char *name = strrchr(path, '/'), *ending = strrchr(name ? name + 1 : path, '.');
	char *named;

	for (const struct format_row *row = outputs->known; row->name; row++)
		if (text_has_suffix(path, strlen(path), row->ending)) {
			ending = path + strlen(path) - strlen(row->ending);
			break;
		}
	if (!ending)
		ending = path + strlen(path);
	return asprintf(&named, "%.*s.%s%s", (int)(ending - path), path, event, ending) < 0 ? NULL
											    : named;
}

/* Can be written any number of times: /dev/null. */
static bool is_device(const char *path)
{
	struct stat target;

	return stat(path, &target) == 0 && S_ISCHR(target.st_mode);
}

static char *path_for(const struct outputs *outputs, const char *path, const char *event)
{
	return event && !is_device(path) ? name_of_event(outputs, path, event) : strdup(path);
}

static int plan_named(const struct outputs *outputs, const char *event, struct output_files *files,
		      struct failure *failure)
{
	size_t n = outputs->n_formats;
	char names[128];
	int r;

	if (n > 1 && n != outputs->n_paths)
		return failure_set(
			failure, -EINVAL,
			"-f names %zu formats for %zu file%s of -o: give one, or one each", n,
			outputs->n_paths, outputs->n_paths == 1 ? "" : "s");
	for (size_t i = 0; i < outputs->n_paths; i++) {
		const char *path = outputs->paths[i];
		enum output_format format =
			n ? outputs->formats[i % n] : format_of_path(outputs->known, path);

		if (format == FORMAT_NONE) {
			failure_set(failure, -EINVAL, "-o %s: no format of that name", path);
			format_names(outputs->known, names, sizeof names);
			return failure_fix(failure, -EINVAL, "end it in .%s, or add -f: %s",
					   outputs->known->name, names);
		}
		if (event && output_descriptor(path) >= 0) {
			failure_set(failure, -EINVAL, "-o %s takes one event", path);
			return failure_fix(failure, -EINVAL, "give one -e, or files");
		}
		r = add_file(files, path_for(outputs, path, event), format);
		if (r < 0)
			return r;
	}
	return 0;
}

static int plan_defaults(const struct outputs *outputs, const char *stem,
			 const enum output_format *defaults, struct output_files *files)
{
	const char *folder = outputs->folder ? outputs->folder : ".";
	size_t n = outputs->n_formats;

	if (n)
		defaults = outputs->formats;
	for (size_t i = 0; n ? i < n : defaults[i] != FORMAT_NONE; i++) {
		char *path;
		int r;

		if (!stem)
			path = strdup("-");
		else if (asprintf(&path, "%s/%s%s", folder, stem,
				  ending_of(outputs->known, defaults[i])) < 0)
			path = NULL;
		r = add_file(files, path, defaults[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Of the folder that @path lies in; the name there goes to @ret_name. Errors: as stat(). */
static int stat_folder(const char *path, struct stat *ret, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];

	*ret_name = slash ? slash + 1 : path;
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - path) : 1,
		 slash ? path : ".");
	return stat(folder, ret);
}

/* A folder can be named in many ways: `a.svg`, `./a.svg`. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;
	const char *name_a, *name_b;

	if (strcmp(a, b) == 0)
		return true;
	return stat_folder(a, &of_a, &name_a) == 0 && stat_folder(b, &of_b, &name_b) == 0 &&
	       of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino &&
	       strcmp(name_a, name_b) == 0;
}

static bool is_same_output(const char *a, const char *b)
{
	int descriptor = output_descriptor(a);

	return descriptor >= 0 ? descriptor == output_descriptor(b)
			       : is_same_file(a, b) && !is_device(a);
}

int outputs_check_distinct(const struct output_files *files, struct failure *failure)
{
	for (size_t i = 0; i < files->n; i++)
		for (size_t k = 0; k < i; k++) {
			const char *path = files->files[i].path;

			if (is_same_output(path, files->files[k].path))
				return failure_set(
					failure, -EINVAL, "two outputs would be written to %s",
					strcmp(path, "-") == 0 ? "standard output" : path);
		}
	return 0;
}

int outputs_plan_event(const struct outputs *outputs, const char *stem, const char *event,
		       const enum output_format *defaults, struct output_files *ret,
		       struct failure *failure)
{
	int r = outputs->n_paths ? plan_named(outputs, event, ret, failure)
				 : plan_defaults(outputs, stem, defaults, ret);

	if (r < 0)
		return r;
	return outputs_check_distinct(ret, failure);
}

int outputs_plan(const struct outputs *outputs, const char *stem,
		 const enum output_format *defaults, struct output_files *ret,
		 struct failure *failure)
{
	return outputs_plan_event(outputs, stem, NULL, defaults, ret, failure);
}

/* Replaces each run of characters unfit for file names by a dash, except at the ends. */
static void stem_of(const char *name, char text[static EVENT_STEM_SIZE])
{
	bool has_file = text_begins(name, "uprobe:") || text_begins(name, "uretprobe:") ||
			text_begins(name, "usdt:");
	size_t n = 0;

	if (text_begins(name, "tracepoint:"))
		name += strlen("tracepoint:");
	for (; *name && n < EVENT_STEM_SIZE - 4 /* for a number */; name++) {
		bool is_plain = isalnum((unsigned char)*name) || strchr("._+=-", *name);

		if (has_file && *name == '/')
			while (n && text[n - 1] != ':')
				n--;
		else if (*name == ':' && has_file)
			text[n++] = ':'; /* for the line above */
		else if (is_plain)
			text[n++] = *name;
		else if (n && text[n - 1] != '-')
			text[n++] = '-';
	}
	while (n && (text[n - 1] == '-' || text[n - 1] == ':'))
		n--;
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (text[i] == ':')
			text[i] = '-';
}

void outputs_event_stem(const char *const *names, size_t n, size_t number,
			char text[static EVENT_STEM_SIZE])
{
	char other[EVENT_STEM_SIZE];
	size_t same = 1;

	stem_of(names[number], text);
	for (size_t i = 0; i < number && i < n; i++) {
		stem_of(names[i], other);
		same += strcmp(text, other) == 0;
	}
	if (same > 1)
		sprintf(text + strlen(text), "-%zu", same % 100);
}

int output_failed(const char *path, int error, struct failure *failure)
{
	const char *slash = strrchr(path, '/');

	output_fail(failure, error, "write", strcmp(path, "-") == 0 ? "to standard output" : path);
	if (error == -ENOENT && slash)
		failure_fix(failure, error, "there is no such folder: mkdir -p %.*s",
			    (int)(slash - path), path);
	return error;
}

int output_files_check(struct output_files *files, struct failure *failure)
{
	for (size_t i = 0; i < files->n; i++) {
		struct output_file *file = &files->files[i];
		int r = output_find(file->path, &file->target);

		if (r < 0)
			return output_failed(file->path, r, failure);
	}
	return 0;
}

int output_files_put(struct output_files *files, const struct place *place, struct failure *failure)
{
	for (size_t i = 0; i < files->n; i++) {
		struct output_file *file = &files->files[i];
		int r = output_find_in(place, basename(file->path), &file->target);

		if (r < 0)
			return output_failed(file->path, r, failure);
	}
	return 0;
}

void output_files_done(struct output_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->files[i].path);
		output_target_done(&files->files[i].target);
	}
	*files = (struct output_files){};
}

/* Files in a folder of root's alone belong to the caller, too. */
static int open_as_callers(const struct output_target *target, struct output *ret)
{
	int r = output_open(target, ret);

	if (r == 0 && !target->is_descriptor && !target->is_direct && !target->place.as_owner)
		owner_give(fileno(ret->stream));
	return r;
}

/* A folder that was removed meanwhile, perhaps by the recorded command, may exist again. */
static int open_file(struct output_file *file, struct output *ret)
{
	int r = open_as_callers(&file->target, ret);

	if (r != -ENOENT)
		return r;
	output_target_done(&file->target);
	r = output_find(file->path, &file->target);
	if (r < 0)
		return r;
	return open_as_callers(&file->target, ret);
}

static int write_here(struct output_file *file, output_fn write, void *data)
{
	struct output output = {};
	int r = open_file(file, &output);

	if (r < 0)
		return r;
	r = write(data, file->format, output.stream);
	if (r < 0) {
		output_abort(&output);
		return r;
	}
	return output_commit(&output);
}

/* The requests of a confined process, a number of each per file. */
enum output_request { REQUEST_OPEN, REQUEST_COMMIT, REQUEST_ABORT, N_REQUESTS };

int output_files_serve(void *context, uint32_t number, int *ret_fd)
{
	struct output_files *files = context;
	struct output_file *file = &files->files[number / N_REQUESTS % MAX_OUTPUTS];
	int r = 0;

	if (number / N_REQUESTS >= files->n)
		return -EPERM;
	if (number % N_REQUESTS == REQUEST_OPEN) {
		output_abort(&file->output);
		r = open_file(file, &file->output);
		if (r < 0)
			return r;
		*ret_fd = fcntl(fileno(file->output.stream), F_DUPFD_CLOEXEC, 0);
		return 0;
	}
	if (number % N_REQUESTS == REQUEST_COMMIT)
		r = file->output.target ? output_commit(&file->output) : -EPERM;
	output_abort(&file->output);
	return r;
}

void output_files_abort(struct output_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		output_abort(&files->files[i].output);
}

/* Runs in a confined process. */
static int ask_for_stream(size_t number, FILE **ret)
{
	int fd, r = confined_ask(number * N_REQUESTS + REQUEST_OPEN, &fd);

	if (r < 0)
		return r;
	if (fd < 0)
		return -EPROTO;
	*ret = fdopen(fd, "w");
	if (!*ret)
		close(fd);
	return *ret ? 0 : -ENOMEM;
}

static int write_confined(struct output_file *file, size_t number, output_fn write, void *data)
{
	FILE *stream;
	int r = ask_for_stream(number, &stream), ended, fd;

	if (r < 0)
		return r;
	r = write(data, file->format, stream);
	if (r == 0)
		r = output_flush(stream);
	if (fclose(stream) != 0 && r == 0)
		r = -errno;
	ended = confined_ask(number * N_REQUESTS + (r < 0 ? REQUEST_ABORT : REQUEST_COMMIT), &fd);
	return r < 0 ? r : ended;
}

static int write_file(struct output_files *files, size_t number, output_fn write, void *data,
		      struct failure *failure)
{
	struct output_file *file = &files->files[number];
	bool is_elsewhere = confined_is_here() && !file->target.is_descriptor;
	int r = is_elsewhere ? write_confined(file, number, write, data)
			     : write_here(file, write, data);

	return r < 0 ? output_failed(file->path, r, failure) : 0;
}

int output_files_write(struct output_files *files, output_fn write, void *data,
		       struct failure *failure)
{
	struct failure later;
	int r = 0;

	for (size_t i = 0; i < files->n; i++) {
		int this = write_file(files, i, write, data, r < 0 ? &later : failure);

		if (r == 0)
			r = this;
	}
	return r;
}

/* Memory of both processes. What the child leaves there is as good as what it has read. */
struct draw_job {
	struct output_files *files;
	output_fn write;
	void *data;
	struct failure failure;
	int error; /* -ECHILD until it is done */
};

static int draw(void *data)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct draw_job *job = data;
	sigset_t set;
	int r;

	/* Whether to go on is our parent's decision: we end with it. */
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	r = output_files_write(job->files, job->write, job->data, &job->failure);
	if (r == 0)
		r = output_flush(stdout);
	job->error = r;
	return 0;
}

static int fail_drawing(const struct output_files *files, int error, int number,
			struct failure *failure)
{
	const char *why = error != -ECHILD    ? strerror(-error)
			  : number == SIGKILL ? "the process that draws was killed, maybe for lack "
						"of memory"
					      : "the process that draws crashed, which is a bug in "
						"bpfflame";

	return failure_set(failure, error, "cannot write %s: %s", files->files[0].path, why);
}

int output_files_draw(struct output_files *files, output_fn write, void *data,
		      struct rusage *ret_usage, struct failure *failure)
{
	const struct confined confined = {
		.serve = output_files_serve, .context = files, .closes = true, .usage = ret_usage};
	struct draw_job *job =
		mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int number = 0, r;

	if (job == MAP_FAILED)
		return -ENOMEM;
	*job = (struct draw_job){files, write, data, .error = -ECHILD};
	r = confined_run(&confined, draw, job, &number);
	output_files_abort(files);
	if (r < 0) {
		fail_drawing(files, r, number, failure);
	} else if (job->error == -ECHILD) { /* it has ended in the middle */
		r = fail_drawing(files, -ECHILD, 0, failure);
	} else if (job->error < 0) {
		r = job->error;
		*failure = job->failure;
		failure->what[sizeof failure->what - 1] = failure->fix[sizeof failure->fix - 1] =
			'\0';
	}
	munmap(job, sizeof *job);
	return r < 0 ? r : 0;
}

static int fill_stacks(const struct profile_view *view, const struct stacks_options *options,
		       struct stacks *stacks)
{
	int r = stacks_init(stacks, options);

	if (r < 0)
		return r;
	r = stacks_add(stacks, view->profile, SIDE_NEW);
	if (r < 0)
		return r;
	return stacks_finish(stacks, SCALE_ABSOLUTE);
}

/* Call stacks_done() unless that fails. */
static int make_stacks(const struct profile_view *view, const struct stacks_options *options,
		       struct stacks *ret)
{
	int r = fill_stacks(view, options, ret);

	if (r < 0)
		stacks_done(ret);
	return r;
}

static int make_drawn(struct profile_view *view)
{
	struct stacks_options options = view->options->stacks;
	int r;

	if (view->has_stacks)
		return 0;
	options.unfold.fold_idle |= view->options->gathers_idle;
	r = make_stacks(view, &options, &view->stacks);
	view->has_stacks = r == 0;
	return r;
}

/* A page has waits for work even if pictures leave them out: a button shows them. */
static int write_page(struct profile_view *view, FILE *stream)
{
	struct picture_options picture = view->options->picture;
	struct stacks_options options = view->options->stacks;
	struct stacks all;
	int r;

	if (!view->stacks.idle)
		return render_html(&view->stacks, &picture, stream);
	options.no_idle = false;
	options.unfold.fold_idle = true;
	r = make_stacks(view, &options, &all);
	if (r < 0)
		return r;
	picture.first = &view->stacks;
	r = render_html(&all, &picture, stream);
	stacks_done(&all);
	return r;
}

int write_profile(void *data, enum output_format format, FILE *stream)
{
	struct profile_view *view = data;
	const struct unfold_options *unfold = &view->options->stacks.unfold;
	struct stacks_options all = view->options->stacks;
	int r;

	all.no_idle = false; /* files keep it */

	switch (format) {
	case FORMAT_FOLDED: return export_folded(view->profile, &all, stream);
	case FORMAT_PPROF: return export_pprof(view->profile, unfold, stream);
	case FORMAT_SPEEDSCOPE: return export_speedscope(view->profile, unfold, stream);
	case FORMAT_FIREFOX: return export_firefox(view->profile, unfold, stream);
	default: break;
	}
	r = make_drawn(view);
	if (r < 0)
		return r;
	return format == FORMAT_HTML ? write_page(view, stream)
				     : render_svg(&view->stacks, &view->options->picture, stream);
}

void profile_view_done(struct profile_view *view)
{
	if (view->has_stacks)
		stacks_done(&view->stacks);
	view->has_stacks = false;
}
