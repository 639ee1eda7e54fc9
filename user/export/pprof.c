/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof: writes samples first, as Go's own profiles do, then what they refer to, known by then, and
 * strings last. Each message goes through gzip by itself: memory follows the tables, not the file.
 *
 * Where the format has no field, the value goes where pprof's tools show it:
 *
 *	the command, pid, tid	labels comm (text), pid, tid (numbers)
 *	why a thread waited	label reason (`futex`) and, unless --no-reason, a location of a
 *				function `[futex]` as the leaf: `pprof -top` shows it, and flame
 *				graphs made of the file look like ours
 *	[truncated], [idle]	locations at the root; idle samples also have a label idle (`true`)
 *	who woke the thread	locations above the reason, as in folded lines: the waker's name,
 *				its stack, root first, then `--`
 *	kinds of frames		see pprof_tables.h
 *	how it was recorded	comments `command: …`, `host: …`, `kernel: …`
 *
 * These locations have neither address nor mapping, like all locations of a profile that knows only
 * names. --threads and --lines change nothing here: labels distinguish threads, and known lines are
 * always written.
 *
 * Values are samples, and their CPU time where the period is known. Off-CPU and wall profiles have
 * the number of waits, and nanoseconds (off_cpu, wall). Samples that would be written alike are
 * merged.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "core/marks.h"
#include "export/export.h"
#include "export/pprof_sample.h"
#include "export/pprof_tables.h"

/* Compress a million stacks fast, fewer of them well. */
#define LARGE	   4000000 /* locations of all samples */
#define FAST_LEVEL 1
#define GOOD_LEVEL 4 /* 6 makes it 3 % smaller, and takes more than twice the time */

struct pprof_export {
	struct profile *profile;
	struct unfold_options unfold;
	struct pprof_tables tables;
	struct gzip *gzip;
	uint64_t period; /* nanoseconds; 0: unknown */
	bool has_rows;	 /* write values as they were read */
	bool leaves_out; /* leave out some frames, or the wakers */
	struct pprof_writer writer;

	struct unfolder unfolder;
	uint32_t *locations; /* of the tables, leaf first */
	size_t locations_capacity;
	/* When merging: stacks of locations of the tables, samples without wakers. */
	struct profile *merged;
};

/* Stacks as locations */

/* Whether @frame, which follows @before, belongs to the same location. */
static bool is_same_location(const struct named_frame *before, const struct named_frame *frame)
{
	if (before->mapping == MAPPING_NONE || before->location != frame->location ||
	    before->is_waker != frame->is_waker)
		return false;
	return frame->is_waker ? frame->frame > before->frame : frame->frame < before->frame;
}

static int find_location(struct pprof_export *export, const struct named_frame *frame,
			 uint32_t *ret)
{
	if (frame->mapping == MAPPING_NONE)
		return pprof_tables_note(&export->tables, frame->name, ret);
	*ret = export->tables.location_of[frame->location];
	return 0;
}

static int find_note(struct pprof_export *export, const char *text, uint32_t *ret)
{
	uint32_t string;
	int r = strings_add(&export->profile->strings, text, &string);

	if (r < 0)
		return r;
	return pprof_tables_note(&export->tables, string, ret);
}

/*
 * Fast path of find_locations(), if the stack keeps all its frames and has no waker: the stack's
 * own locations, with notes at both ends.
 */
static int copy_locations(struct pprof_export *export, const struct profile_sample *sample)
{
	const struct profile *profile = export->profile;
	const struct profile_stack *stack = &profile->stacks[sample->stack];
	const uint32_t *from = profile->stack_locations + stack->first;
	size_t n = 0;
	int r = array_reserve(export->locations, export->locations_capacity, 0,
			      (size_t)stack->n + 3);

	if (r < 0)
		return r;
	if (sample->reason != REASON_NONE && !export->unfold.no_reason) {
		r = find_note(export, off_reason_text(sample->reason), &export->locations[n++]);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < stack->n; i++)
		export->locations[n++] = export->tables.location_of[from[i]];
	if (stack->end != STACK_COMPLETE) {
		r = find_note(export, mark_text(MARK_TRUNCATED), &export->locations[n++]);
		if (r < 0)
			return r;
	}
	if (sample->is_idle && export->unfold.fold_idle) {
		r = find_note(export, mark_text(MARK_IDLE), &export->locations[n++]);
		if (r < 0)
			return r;
	}
	return n;
}

/* Sets the locations of @sample and returns their number. */
static int find_locations(struct pprof_export *export, const struct profile_sample *sample)
{
	size_t command = export->unfold.fold_idle && sample->is_idle, n = 0, n_frames;
	const struct named_frame *frames;
	int r = unfolder_next(&export->unfolder, sample);

	if (r < 0)
		return r;
	n_frames = export->unfolder.n;
	frames = export->unfolder.frames;
	r = array_reserve(export->locations, export->locations_capacity, 0, n_frames);
	if (r < 0)
		return r;
	for (size_t i = n_frames; i-- > 0;) {
		bool is_first = i == 0 || frames[i].mapping == MAPPING_NONE ||
				!is_same_location(&frames[i - 1], &frames[i]);

		if (!is_first || i == command)
			continue;
		r = find_location(export, &frames[i], &export->locations[n++]);
		if (r < 0)
			return r;
	}
	return n;
}

static bool has_weight(const struct pprof_export *export, const struct profile_sample *sample)
{
	return export->has_rows || sample->count || sample->nanoseconds;
}

/* Whether all values of all samples are kept as they were read. */
static bool has_rows(const struct profile *profile)
{
	if (!profile->extras.n_types)
		return false;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		if (!sample->values && (sample->count || sample->nanoseconds))
			return false;
	}
	return true;
}

static int merge_sample(struct pprof_export *export, const struct profile_sample *sample, size_t n)
{
	struct profile_sample merged = *sample;
	int r = profile_add_stack(export->merged, export->locations, n, STACK_COMPLETE,
				  &merged.stack);

	if (r < 0)
		return r;
	r = pprof_tables_clean(&export->tables, sample->comm, &merged.comm);
	if (r < 0)
		return r;
	merged.waker = 0;
	if (export->has_rows) {
		r = extras_add_row(&export->merged->extras,
				   extras_row(&export->profile->extras, sample->values),
				   &merged.values);
		if (r < 0)
			return r;
	}
	return profile_add_sample(export->merged, &merged);
}

static int write_samples(struct pprof_export *export)
{
	const struct profile *profile = export->profile;

	for (size_t i = 0; i < profile->n_samples; i++) {
		struct profile_sample sample = profile->samples[i];
		int r;

		if (!has_weight(export, &sample))
			continue;
		r = export->leaves_out ? find_locations(export, &sample)
				       : copy_locations(export, &sample);
		if (r < 0)
			return r;
		r = export->merged
			    ? merge_sample(export, &sample, r)
			    : pprof_write_sample(&export->writer, &sample, export->locations, r);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_merged(struct pprof_export *export)
{
	const struct profile *merged = export->merged;

	for (size_t i = 0; i < merged->n_samples; i++) {
		const struct profile_stack *stack = &merged->stacks[merged->samples[i].stack];
		int r = pprof_write_sample(&export->writer, &merged->samples[i],
					   merged->stack_locations + stack->first, stack->n);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Whether samples of the profile may become equal when written. */

static int add_notes(struct pprof_export *export)
{
	uint32_t location;
	int r;

	for (enum mark mark = MARK_IDLE; mark <= MARK_SEPARATOR; mark++) {
		r = find_note(export, mark_text(mark), &location);
		if (r < 0)
			return r;
	}
	for (int reason = REASON_ONCPU; reason < N_OFF_REASONS; reason++) {
		r = find_note(export, off_reason_text(reason), &location);
		if (r < 0)
			return r;
	}
	return 0;
}

static int clean_commands(struct pprof_export *export)
{
	const struct profile *profile = export->profile;
	uint32_t clean;

	for (size_t i = 0; i < profile->n_samples; i++) {
		int r = pprof_tables_clean(&export->tables, profile->samples[i].comm, &clean);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool leaves_out(const struct pprof_export *export)
{
	const struct profile *profile = export->profile;

	if (export->unfold.no_inline || export->unfold.no_kernel || profile->n_wakers > 1)
		return true;
	for (size_t i = 0; i < profile->n_locations; i++)
		if (profile->locations[i].hidden || !profile->locations[i].n_frames)
			return true;
	return false;
}

static bool has_several_ends(const struct profile *profile)
{
	enum stack_end incomplete = STACK_COMPLETE;

	for (size_t i = 0; i < profile->n_stacks; i++) {
		enum stack_end end = profile->stacks[i].end;

		if (incomplete != STACK_COMPLETE && end != STACK_COMPLETE && end != incomplete)
			return true;
		if (end != STACK_COMPLETE)
			incomplete = end;
	}
	return false;
}

static int decide_merging(struct pprof_export *export)
{
	int r = clean_commands(export);

	if (r < 0)
		return r;
	r = add_notes(export);
	if (r < 0)
		return r;
	export->leaves_out = leaves_out(export);
	if (!export->leaves_out && !export->tables.has_merged && !has_several_ends(export->profile))
		return 0;
	r = profile_new(export->profile->mode, &export->merged);
	if (r < 0)
		return r;
	export->merged->in_order = export->profile->in_order;
	export->merged->extras.n_types = export->profile->extras.n_types;
	if (export->has_rows)
		export->writer.rows = &export->merged->extras;
	return 0;
}

/* Facts about the whole */

/* Indexes in the string table. */
struct value_type {
	uint32_t type, unit;
};

static uint64_t to_value(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : number;
}

static void write_type(const struct pprof_export *export, unsigned int field,
		       const struct value_type *type)
{
	uint8_t room[N_TYPE_FIELDS * PPROF_MAX_NUMBER];
	struct pprof_bytes bytes = PPROF_BYTES_IN(room);

	pprof_put_number(&bytes, TYPE_TYPE, type->type);
	pprof_put_number(&bytes, TYPE_UNIT, type->unit);
	pprof_write_bytes(export->gzip, field, bytes.at, bytes.n);
}

static int set_read_type(struct pprof_export *export, const struct extras_type *from,
			 struct value_type *ret)
{
	int r = pprof_tables_index(&export->tables, from->type, &ret->type);

	if (r < 0)
		return r;
	return pprof_tables_index(&export->tables, from->unit, &ret->unit);
}

/* @type and @unit may both be strings of the profile: cleaning one may move the other. */
static int set_type(struct pprof_export *export, const char *type, const char *unit,
		    struct value_type *ret)
{
	struct strings *strings = &export->profile->strings;
	struct extras_type added;
	int r = strings_add(strings, type, &added.type);

	if (r < 0)
		return r;
	r = strings_add(strings, unit, &added.unit);
	if (r < 0)
		return r;
	return set_read_type(export, &added, ret);
}

/* The type of the second value: time, or the events that samples count for; NULL: none. */
static const char *time_type(const struct pprof_export *export)
{
	const struct profile *profile = export->profile;

	if (profile_is_counted(profile))
		return strings_get(&profile->strings, profile_event(profile)->name);
	switch (export->profile->mode) {
	case PROFILE_OFFCPU: return "off_cpu";
	case PROFILE_WALL: return "wall";
	default: return export->period ? "cpu" : NULL;
	}
}

static const char *unit_of(const struct pprof_export *export)
{
	const struct profile *profile = export->profile;

	if (!profile_is_counted(profile))
		return "nanoseconds";
	return profile_event(profile)->unit
		       ? strings_get(&profile->strings, profile_event(profile)->unit)
		       : "count";
}

static int write_read_types(struct pprof_export *export)
{
	const struct extras *extras = &export->profile->extras;
	struct value_type type;

	for (size_t i = 0; i < extras->n_types; i++) {
		int r = set_read_type(export, &extras->types[i], &type);

		if (r < 0)
			return r;
		write_type(export, PROFILE_SAMPLE_TYPE, &type);
	}
	return 0;
}

static int write_types(struct pprof_export *export)
{
	struct value_type type;
	int r = set_type(export, "samples", "count", &type);

	if (r < 0)
		return r;
	if (!profile_is_unsampled(export->profile))
		write_type(export, PROFILE_SAMPLE_TYPE, &type);
	/* Only now: adding a string may move it. */
	if (!time_type(export))
		return 0;
	r = set_type(export, time_type(export), unit_of(export), &type);
	if (r < 0)
		return r;
	write_type(export, PROFILE_SAMPLE_TYPE, &type);
	return 0;
}

/* @comments: packed indexes. */
static int add_comment_text(struct pprof_export *export, const char *comment,
			    struct pprof_bytes *comments)
{
	uint32_t index;
	int r = pprof_tables_index_text(&export->tables, comment, &index);

	if (r < 0)
		return r;
	r = pprof_reserve(comments, PPROF_MAX_VARINT);
	if (r < 0)
		return r;
	pprof_put_varint(comments, index);
	return 0;
}

static int add_comment(struct pprof_export *export, const char *what, uint32_t text,
		       struct pprof_bytes *comments)
{
	char *comment;
	int r;

	if (!text)
		return 0;
	if (asprintf(&comment, "%s: %s", what, strings_get(&export->profile->strings, text)) < 0)
		return -ENOMEM;
	r = add_comment_text(export, comment, comments);
	free(comment);
	return r;
}

static int add_read_comments(struct pprof_export *export, struct pprof_bytes *comments)
{
	const struct extras *extras = &export->profile->extras;
	int r = pprof_reserve(comments, extras->n_comments * PPROF_MAX_VARINT);

	if (r < 0)
		return r;
	for (size_t i = 0; i < extras->n_comments; i++) {
		uint32_t index;

		r = pprof_tables_index(&export->tables, extras->comments[i], &index);
		if (r < 0)
			return r;
		pprof_put_varint(comments, index);
	}
	return 0;
}

static int add_comments(struct pprof_export *export, struct pprof_bytes *comments)
{
	const struct profile *profile = export->profile;
	const struct profile_event *event = profile_event(profile);
	const struct {
		const char *what;
		uint32_t text;
	} facts[] = {{"command", profile->command_line},
		     {"host", profile->host},
		     {"kernel", profile->kernel},
		     {"event", event && !export->has_rows ? event->name : 0}};
	int r;

	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		r = add_comment(export, facts[i].what, facts[i].text, comments);
		if (r < 0)
			return r;
	}
	if (profile->by_thread) {
		r = add_comment_text(export, PROFILE_BY_THREAD, comments);
		if (r < 0)
			return r;
	}
	return add_read_comments(export, comments);
}

/* Facts that apply to all samples. */
struct facts {
	struct value_type period_type;
	bool has_period_type;
	uint64_t period;
	uint32_t default_type, drop_frames, keep_frames;
	struct pprof_bytes comments;
};

/* What triggers samples: the type of the period. */
static int set_period(struct pprof_export *export, struct facts *facts)
{
	const struct extras *extras = &export->profile->extras;

	if (export->has_rows) {
		facts->period = extras->period;
		facts->has_period_type = extras->period_type.type || extras->period_type.unit;
		return set_read_type(export, &extras->period_type, &facts->period_type);
	}
	facts->period = export->period;
	facts->has_period_type = export->period;
	if (!export->period)
		return 0;
	return set_type(export, time_type(export), unit_of(export), &facts->period_type);
}

static int set_default_type(struct pprof_export *export, uint32_t *ret_index)
{
	const char *time = time_type(export);

	if (export->has_rows)
		return pprof_tables_index(&export->tables, export->profile->extras.default_type,
					  ret_index);
	return pprof_tables_index_text(&export->tables, time ? time : "samples", ret_index);
}

static int find_facts(struct pprof_export *export, struct facts *facts)
{
	const struct extras *extras = &export->profile->extras;
	struct pprof_tables *tables = &export->tables;
	int r = add_comments(export, &facts->comments);

	if (r < 0)
		return r;
	r = set_period(export, facts);
	if (r < 0)
		return r;
	r = set_default_type(export, &facts->default_type);
	if (r < 0)
		return r;
	r = pprof_tables_index(tables, extras->drop_frames, &facts->drop_frames);
	if (r < 0)
		return r;
	return pprof_tables_index(tables, extras->keep_frames, &facts->keep_frames);
}

static void write_number(const struct pprof_export *export, unsigned int field, uint64_t value)
{
	uint8_t room[PPROF_MAX_NUMBER];
	struct pprof_bytes bytes = PPROF_BYTES_IN(room);

	pprof_put_number(&bytes, field, value);
	gzip_write(export->gzip, bytes.at, bytes.n);
}

static int write_facts(struct pprof_export *export)
{
	const struct profile *profile = export->profile;
	struct facts facts = {};
	int r = find_facts(export, &facts);

	if (r == 0) {
		write_number(export, PROFILE_DROP_FRAMES, facts.drop_frames);
		write_number(export, PROFILE_KEEP_FRAMES, facts.keep_frames);
		write_number(export, PROFILE_TIME, to_value(profile->start_realtime_ns));
		write_number(export, PROFILE_DURATION, to_value(profile->duration_ns));
		if (facts.has_period_type)
			write_type(export, PROFILE_PERIOD_TYPE, &facts.period_type);
		write_number(export, PROFILE_PERIOD, facts.period);
		if (facts.comments.n)
			pprof_write_bytes(export->gzip, PROFILE_COMMENT, facts.comments.at,
					  facts.comments.n);
		write_number(export, PROFILE_DEFAULT_TYPE, facts.default_type);
	}
	free(facts.comments.at);
	return r;
}

static uint64_t period_of(const struct profile *profile)
{
	double period = 1e9 / profile->frequency;

	if (profile_is_counted(profile))
		return profile_event(profile)->period;
	if (profile->mode != PROFILE_ONCPU || !(profile->frequency > 0) || !(period < 1e18))
		return 0;
	return llround(period);
}

static int prepare(struct pprof_export *export, FILE *stream)
{
	struct profile *profile = export->profile;
	bool is_large = profile->n_stack_locations > LARGE;
	int r = pprof_tables_init(&export->tables, profile, export->unfold.no_inline);

	if (r < 0)
		return r;
	r = gzip_new(stream, is_large ? FAST_LEVEL : GOOD_LEVEL, &export->gzip);
	if (r < 0)
		return r;
	export->has_rows = has_rows(profile);
	export->writer = (struct pprof_writer){.profile = profile,
					       .tables = &export->tables,
					       .gzip = export->gzip,
					       .period = export->period,
					       .rows = export->has_rows ? &profile->extras : NULL};
	return decide_merging(export);
}

static int write_all(struct pprof_export *export)
{
	int r = export->has_rows ? write_read_types(export) : write_types(export);

	if (r < 0)
		return r;
	r = write_samples(export);
	if (r < 0)
		return r;
	if (export->merged) {
		r = write_merged(export);
		if (r < 0)
			return r;
	}
	r = pprof_tables_write(&export->tables, export->gzip);
	if (r < 0)
		return r;
	r = write_facts(export);
	if (r < 0)
		return r;
	pprof_tables_write_strings(&export->tables, export->gzip);
	gzip_finish(export->gzip);
	return 0;
}

int export_pprof(struct profile *profile, const struct unfold_options *unfold, FILE *stream)
{
	struct pprof_export export = {
		.profile = profile, .unfold = *unfold, .period = period_of(profile)};
	int r;

	export.unfold.threads = export.unfold.lines = false;
	export.unfolder = (struct unfolder){.profile = profile, .options = &export.unfold};
	r = prepare(&export, stream);
	if (r == 0)
		r = write_all(&export);
	gzip_free(export.gzip);
	pprof_tables_done(&export.tables);
	profile_free(export.merged);
	unfolder_done(&export.unfolder);
	free(export.locations);
	pprof_writer_done(&export.writer);
	return r;
}
