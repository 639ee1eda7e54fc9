/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_pprof_file: a pprof file made by hand, part by part, in any order and with any numbers: one
 * message, packed.
 */
#ifndef TESTS_UNIT_MADE_PPROF_FILE_H
#define TESTS_UNIT_MADE_PPROF_FILE_H

#include "unit/made_pprof.h"

struct made_message {
	unsigned char bytes[4096];
	size_t n;
};

static inline void add(struct made_message *file, const pprof *part)
{
	size_t n = perftools__profiles__profile__get_packed_size(part);

	assert_true(file->n + n <= sizeof file->bytes);
	perftools__profiles__profile__pack(part, file->bytes + file->n);
	file->n += n;
}

#define PART(field, ...)                                                                           \
	do {                                                                                       \
		pprof part = PERFTOOLS__PROFILES__PROFILE__INIT;                                   \
		part.n_##field = 1;                                                                \
		part.field = (void *)(void *[]){__VA_ARGS__};                                      \
		add(file, &part);                                                                  \
	} while (0)

static inline void add_strings(struct made_message *file, const char *const *strings, size_t n)
{
	for (size_t i = 0; i < n; i++)
		PART(string_table, (char *)strings[i]);
}

static inline void add_type(struct made_message *file, int64_t type, int64_t unit)
{
	Perftools__Profiles__ValueType message = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	message.type = type;
	message.unit = unit;
	PART(sample_type, &message);
}

static inline void add_mapping(struct made_message *file, uint64_t id, uint64_t start,
			       uint64_t offset, int64_t filename)
{
	Perftools__Profiles__Mapping message = PERFTOOLS__PROFILES__MAPPING__INIT;

	message.id = id;
	message.memory_start = start;
	message.memory_limit = start + 0x10000;
	message.file_offset = offset;
	message.filename = filename;
	PART(mapping, &message);
}

/* @functions: innermost first, up to a 0; each on the line with its own number. */
static inline void add_location(struct made_message *file, uint64_t id, uint64_t mapping,
				uint64_t address, const uint64_t *functions)
{
	Perftools__Profiles__Location message = PERFTOOLS__PROFILES__LOCATION__INIT;
	Perftools__Profiles__Line lines[4], *pointers[4];

	message.id = id;
	message.mapping_id = mapping;
	message.address = address;
	message.line = pointers;
	for (; functions && functions[message.n_line]; message.n_line++) {
		Perftools__Profiles__Line *line = &lines[message.n_line];

		perftools__profiles__line__init(line);
		line->function_id = functions[message.n_line];
		line->line = functions[message.n_line];
		pointers[message.n_line] = line;
	}
	PART(location, &message);
}

static inline void add_function(struct made_message *file, uint64_t id, int64_t name,
				int64_t system_name, int64_t filename)
{
	Perftools__Profiles__Function message = PERFTOOLS__PROFILES__FUNCTION__INIT;

	message.id = id;
	message.name = name;
	message.system_name = system_name;
	message.filename = filename;
	PART(function, &message);
}

struct made_label {
	int64_t key, str, num;
};

static inline void add_sample(struct made_message *file, const uint64_t *locations, size_t n,
			      const int64_t *values, size_t n_values,
			      const struct made_label *labels, size_t n_labels)
{
	Perftools__Profiles__Sample message = PERFTOOLS__PROFILES__SAMPLE__INIT;
	Perftools__Profiles__Label made[4], *pointers[4];

	message.n_location_id = n;
	message.location_id = (uint64_t *)locations;
	message.n_value = n_values;
	message.value = (int64_t *)values;
	message.n_label = n_labels;
	message.label = pointers;
	for (size_t i = 0; i < n_labels; i++) {
		perftools__profiles__label__init(&made[i]);
		made[i].key = labels[i].key;
		made[i].str = labels[i].str;
		made[i].num = labels[i].num;
		pointers[i] = &made[i];
	}
	PART(sample, &message);
}

#define IDS(...)    ((const uint64_t[]){__VA_ARGS__}), COUNT(((const uint64_t[]){__VA_ARGS__}))
#define VALUES(...) ((const int64_t[]){__VA_ARGS__}), COUNT(((const int64_t[]){__VA_ARGS__}))
#define LABELS(...)                                                                                \
	((const struct made_label[]){__VA_ARGS__}),                                                \
		COUNT(((const struct made_label[]){__VA_ARGS__}))
#define FUNCTIONS(...) ((const uint64_t[]){__VA_ARGS__, 0})

static inline int read_file(struct input *input, const struct made_message *file)
{
	return made_read_bytes(input, file->bytes, file->n);
}

/* As Go's runtime writes a CPU profile: samples before tables, no commands. */
static inline struct made_message go_profile(void)
{
	static const char *const strings[] = {"",
					      "samples",
					      "count",
					      "cpu",
					      "nanoseconds",
					      "/usr/bin/server",
					      "main.main",
					      "main.inner",
					      "/src/main.go",
					      "runtime.goexit",
					      "[vdso]"};
	struct made_message made = {.n = 0}, *file = &made;
	pprof facts = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType period = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	add_type(file, 1, 2);
	add_type(file, 3, 4);
	add_sample(file, IDS(1, 2), VALUES(3, 30000000), NULL, 0);
	add_sample(file, IDS(3, 2), VALUES(1, 10000000), NULL, 0);
	add_sample(file, IDS(4), VALUES(2, 20000000), NULL, 0);
	add_sample(file, IDS(1, 2), VALUES(1, 10000000), NULL, 0);
	add_mapping(file, 1, 0x400000, 0x1000, 5);
	add_mapping(file, 2, 0x7fff0000, 0, 10);
	add_location(file, 1, 1, 0x400500, FUNCTIONS(2, 1));
	add_location(file, 2, 1, 0x400600, FUNCTIONS(3));
	add_location(file, 3, 1, 0x400700, NULL);
	add_location(file, 4, 2, 0x7fff0123, NULL);
	add_function(file, 1, 6, 6, 8);
	add_function(file, 2, 7, 7, 8);
	add_function(file, 3, 9, 9, 8);
	add_strings(file, strings, COUNT(strings));
	period.type = 3;
	period.unit = 4;
	facts.period_type = &period;
	facts.period = 10000000;
	facts.duration_nanos = 1000000000;
	add(file, &facts);
	return made;
}

#endif
