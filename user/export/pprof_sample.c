/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/pprof_sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t varint_length(uint64_t value)
{
	size_t n = 1;

	for (; value >= 0x80; value >>= 7)
		n++;
	return n;
}

/* @field: LABEL_STR or LABEL_NUM. */
static int put_label(struct pprof_writer *writer, uint32_t key, unsigned int field, uint64_t value)
{
	struct pprof_bytes *sample = &writer->sample;
	size_t n = 2 + varint_length(key) + varint_length(value);
	int r = pprof_reserve(sample, 2 * PPROF_MAX_VARINT + n);

	if (r < 0)
		return r;
	pprof_put_head(sample, SAMPLE_LABEL, n);
	pprof_put_tag(sample, LABEL_KEY);
	pprof_put_varint(sample, key);
	pprof_put_tag(sample, field);
	pprof_put_varint(sample, value);
	return 0;
}

/* Returns the index of the string that begins labels of one name; assigned at the first use. */
static int index_once(struct pprof_writer *writer, const char *text, size_t n, uint32_t *index)
{
	uint32_t string;
	int r;

	if (*index)
		return 0;
	r = strings_add_bytes(&writer->profile->strings, text, n, &string);
	if (r < 0)
		return r;
	return pprof_tables_index(writer->tables, string, index);
}

static int put_text_label(struct pprof_writer *writer, const char *key, uint32_t *key_index,
			  uint32_t value_index)
{
	int r = index_once(writer, key, strlen(key), key_index);

	if (r < 0)
		return r;
	return put_label(writer, *key_index, LABEL_STR, value_index);
}

static int put_number_label(struct pprof_writer *writer, const char *key, uint32_t *key_index,
			    uint64_t value)
{
	int r;

	if (!value)
		return 0;
	r = index_once(writer, key, strlen(key), key_index);
	if (r < 0)
		return r;
	return put_label(writer, *key_index, LABEL_NUM, value);
}

static int put_comm(struct pprof_writer *writer, uint32_t comm)
{
	uint32_t index;
	int r = comm ? pprof_tables_index(writer->tables, comm, &index)
		     : pprof_tables_index_text(writer->tables, "[unknown]", &index);

	if (r < 0)
		return r;
	return put_text_label(writer, "comm", &writer->comm, index);
}

static int put_reason(struct pprof_writer *writer, enum off_reason reason)
{
	const char *text = off_reason_text(reason);
	int r;

	if (reason == REASON_NONE)
		return 0;
	/* The reason without its brackets. */
	r = index_once(writer, text + 1, strlen(text) - 2, &writer->reasons[reason]);
	if (r < 0)
		return r;
	return put_text_label(writer, "reason", &writer->reason, writer->reasons[reason]);
}

static int put_idle(struct pprof_writer *writer, bool is_idle)
{
	int r;

	if (!is_idle)
		return 0;
	r = index_once(writer, "true", strlen("true"), &writer->yes);
	if (r < 0)
		return r;
	return put_text_label(writer, "idle", &writer->idle, writer->yes);
}

/* A label of another producer. */
static int put_other(struct pprof_writer *writer, const struct extras_label *label)
{
	struct pprof_bytes *part = &writer->part;
	uint32_t key, text, unit;
	int r = pprof_tables_index(writer->tables, label->key, &key);

	if (r < 0)
		return r;
	r = pprof_tables_index(writer->tables, label->text, &text);
	if (r < 0)
		return r;
	r = pprof_tables_index(writer->tables, label->unit, &unit);
	if (r < 0)
		return r;
	part->n = 0;
	r = pprof_reserve(part, N_LABEL_FIELDS * PPROF_MAX_NUMBER);
	if (r < 0)
		return r;
	pprof_put_number(part, LABEL_KEY, key);
	pprof_put_number(part, LABEL_STR, text);
	pprof_put_number(part, LABEL_NUM, label->number);
	pprof_put_number(part, LABEL_UNIT, unit);
	return pprof_put_bytes(&writer->sample, SAMPLE_LABEL, part);
}

static int put_others(struct pprof_writer *writer, uint32_t label)
{
	const struct extras *extras = &writer->profile->extras;

	for (; label; label = extras->labels[label].next) {
		int r = put_other(writer, &extras->labels[label]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* A sample read from a pprof file keeps that file's label, or its lack of one. */
static bool has_own_comm(const struct pprof_writer *writer, const struct profile_sample *sample)
{
	const struct extras *extras = &writer->profile->extras;

	for (uint32_t i = sample->labels; i; i = extras->labels[i].next)
		if (extras->labels[i].key == writer->thread_comm)
			return true;
	return extras->program && sample->comm == extras->program;
}

static int put_labels(struct pprof_writer *writer, const struct profile_sample *sample)
{
	int r;

	if (!writer->thread_comm) {
		r = strings_add(&writer->profile->strings, "thread_comm", &writer->thread_comm);
		if (r < 0)
			return r;
	}
	if (!has_own_comm(writer, sample)) {
		r = put_comm(writer, sample->comm);
		if (r < 0)
			return r;
	}
	r = put_number_label(writer, "pid", &writer->pid, sample->pid);
	if (r < 0)
		return r;
	r = put_number_label(writer, "tid", &writer->tid, sample->tid);
	if (r < 0)
		return r;
	r = put_reason(writer, sample->reason);
	if (r < 0)
		return r;
	r = put_idle(writer, sample->is_idle);
	if (r < 0)
		return r;
	return put_others(writer, sample->labels);
}

/* Values are int64. Another number in its place would be wrong: the file is not written. */
static int put_value(struct pprof_bytes *values, uint64_t number, uint64_t factor)
{
	int64_t value;

	if (__builtin_mul_overflow(number, factor, &value))
		return -EOVERFLOW;
	pprof_put_varint(values, value);
	return 0;
}

static int put_row(struct pprof_writer *writer, uint32_t row)
{
	const uint64_t *values = extras_row(writer->rows, row);
	struct pprof_bytes *part = &writer->part;
	int r;

	part->n = 0;
	r = pprof_reserve(part, writer->rows->n_types * PPROF_MAX_VARINT);
	if (r < 0)
		return r;
	for (size_t i = 0; i < writer->rows->n_types; i++)
		pprof_put_varint(part, values[i]);
	return pprof_put_bytes(&writer->sample, SAMPLE_VALUE, part);
}

static int put_values(struct pprof_writer *writer, const struct profile_sample *sample)
{
	uint8_t room[2 * PPROF_MAX_VARINT];
	struct pprof_bytes values = PPROF_BYTES_IN(room);
	int r = 0;

	if (writer->rows)
		return put_row(writer, sample->values);
	if (!profile_is_unsampled(writer->profile))
		r = put_value(&values, sample->count, 1);
	if (r < 0)
		return r;
	if (writer->profile->mode != PROFILE_ONCPU || profile_is_counted(writer->profile))
		r = put_value(&values, sample->nanoseconds, 1);
	else if (writer->period)
		r = put_value(&values, sample->count, writer->period);
	if (r < 0)
		return r;
	return pprof_put_bytes(&writer->sample, SAMPLE_VALUE, &values);
}

static int put_locations(struct pprof_writer *writer, const uint32_t *locations, size_t n)
{
	struct pprof_bytes *ids = &writer->ids;
	int r;

	if (!n)
		return 0;
	ids->n = 0;
	r = pprof_reserve(ids, n * PPROF_MAX_VARINT);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		uint32_t id;

		r = pprof_tables_use(writer->tables, locations[i], &id);
		if (r < 0)
			return r;
		pprof_put_varint(ids, id);
	}
	return pprof_put_bytes(&writer->sample, SAMPLE_LOCATION_ID, ids);
}

int pprof_write_sample(struct pprof_writer *writer, const struct profile_sample *sample,
		       const uint32_t *locations, size_t n)
{
	int r;

	writer->sample.n = 0;
	r = put_locations(writer, locations, n);
	if (r < 0)
		return r;
	r = put_values(writer, sample);
	if (r < 0)
		return r;
	r = put_labels(writer, sample);
	if (r < 0)
		return r;
	pprof_write_bytes(writer->gzip, PROFILE_SAMPLE, writer->sample.at, writer->sample.n);
	return 0;
}

void pprof_writer_done(struct pprof_writer *writer)
{
	free(writer->sample.at);
	free(writer->ids.at);
	free(writer->part.at);
}
