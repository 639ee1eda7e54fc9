/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outputs: the files that a command writes, from -o, -f and --out-dir. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "base/output.h"
#include "cli/option_table.h"
#include "cli/view_options.h"

#define MAX_OUTPUTS 16

enum output_format {
	FORMAT_NONE,
	FORMAT_SVG,
	FORMAT_HTML,
	FORMAT_FOLDED,
	FORMAT_PPROF,
	FORMAT_SPEEDSCOPE,
	FORMAT_FIREFOX,
	/* Of comparisons. */
	FORMAT_TEXT,
	FORMAT_MARKDOWN,
	FORMAT_JSON,
	FORMAT_JUNIT,
};

/* A format's name for -f, and its files' ending. The first match counts. */
struct format_row {
	enum output_format format;
	const char *name, *ending; /* ".svg" */
};

/* The formats of profiles, and of comparisons; the last row has FORMAT_NONE. */
extern const struct format_row profile_formats[];
extern const struct format_row comparison_formats[];

struct outputs {
	const struct format_row *known; /* set by the command */
	const char *paths[MAX_OUTPUTS]; /* as given */
	size_t n_paths;
	enum output_format formats[MAX_OUTPUTS];
	size_t n_formats;
	const char *folder; /* for default-named files; NULL: the current one */
};

struct output_file {
	char *path; /* owned */
	enum output_format format;
	struct output_target target; /* its place, held since the check */
	struct output output;	     /* of output_files_serve() */
};

struct output_files {
	struct output_file files[MAX_OUTPUTS];
	size_t n;
};

#define OPTION_MODE_WANTED "a mode in octal, such as 640"
/* A row for --mode, which applies to all files written afterwards. It has no field. */
int option_mode(const struct option_row *row, void *field, const char *value,
		struct failure *failure);

/* Rows for -o, -f; the field is a struct outputs. */
int option_output(const struct option_row *row, void *field, const char *value,
		  struct failure *failure);
int option_formats(const struct option_row *row, void *field, const char *value,
		   struct failure *failure);

/*
 * Plans the files and their formats. Without -o: @stem with the ending of each format of -f, or of
 * @defaults (FORMAT_NONE ends them); @stem NULL: standard output. Creates nothing. Errors: -EINVAL
 * for names without a known format, or two outputs to one file; -ENOMEM. Call output_files_done()
 * in any case.
 */
int outputs_plan(const struct outputs *outputs, const char *stem,
		 const enum output_format *defaults, struct output_files *ret,
		 struct failure *failure);
#define EVENT_STEM_SIZE 112
/*
 * The stem for files of event @number of the @n @names (struct event_request): without
 * `tracepoint:` and the folders of probed files, with dashes for characters unfit for file names,
 * and `-2` for the second of two equal ones.
 */
void outputs_event_stem(const char *const *names, size_t n, size_t number,
			char text[static EVENT_STEM_SIZE]);

/*
 * Like outputs_plan() for one event of several, with the stem @event: it is inserted before the
 * ending of -o's names (`out.page-faults.svg`); @stem is for default names, and includes it. NULL:
 * there is one event. Errors: also -EINVAL for standard output.
 */
int outputs_plan_event(const struct outputs *outputs, const char *stem, const char *event,
		       const enum output_format *defaults, struct output_files *ret,
		       struct failure *failure);

/* Checks that no two outputs go to one file, devices aside. Errors: -EINVAL. */
int outputs_check_distinct(const struct output_files *files, struct failure *failure);

/* Reports that writing @path ("-": standard output) failed with @error. Returns it. */
int output_failed(const char *path, int error, struct failure *failure);

/*
 * Checks that they can be written, before hours of work, and holds their folders. Errors: those of
 * output_find(), the file named.
 */
int output_files_check(struct output_files *files, struct failure *failure);
/* The same for default-named files, whose folder is already open as @place. */
int output_files_put(struct output_files *files, const struct place *place,
		     struct failure *failure);
void output_files_done(struct output_files *files);

struct rusage;

/* Writes one file; @data is the caller's. Errors: -ENOMEM, -errno. */
typedef int (*output_fn)(void *data, enum output_format format, FILE *stream);

/*
 * Writes all checked files; one that fails does not stop the others. Errors: the first one's,
 * named.
 */
int output_files_write(struct output_files *files, output_fn write, void *data,
		       struct failure *failure);

/*
 * The same in a confined process (base/confined.h): what goes wrong there, with names of others'
 * choosing, changes nothing but these files. It can use no descriptor of ours that exec would
 * close.
 * *@ret_usage: what it used.
 */
int output_files_draw(struct output_files *files, output_fn write, void *data,
		      struct rusage *ret_usage, struct failure *failure);

/*
 * Runs in the parent of a confined process (base/confined.h) that calls output_files_write(): opens
 * the files for it, and puts them in place. @files: a struct output_files. Afterwards call
 * output_files_abort() for unfinished ones.
 */
int output_files_serve(void *files, uint32_t number, int *ret_fd);
void output_files_abort(struct output_files *files);

/* A profile for any of profile_formats[]: @data is a struct profile_view. */
struct profile_view {
	struct profile *profile;
	const struct view_options *options;
	struct stacks stacks; /* made once, for the first picture */
	bool has_stacks;
};

int write_profile(void *data, enum output_format format, FILE *stream);
void profile_view_done(struct profile_view *view);

#endif
