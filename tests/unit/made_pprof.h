/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_pprof: pprof files in memory, read by protobuf-c; and random profiles to make them from. */
#ifndef TESTS_UNIT_MADE_PPROF_H
#define TESTS_UNIT_MADE_PPROF_H

#include "unit/made_input.h"

#include "base/utf8.h"
#include "made_profile.h"
#include "profile.pb-c.h"

typedef Perftools__Profiles__Profile pprof;

/* Writes a profile as a pprof file; the caller frees it. */
static inline char *made_pprof(struct profile *profile, const struct unfold_options *unfold,
			       size_t *ret_n)
{
	char *bytes;
	FILE *stream = open_memstream(&bytes, ret_n);

	assert_int_equal(export_pprof(profile, unfold, stream), 0);
	fclose(stream);
	return bytes;
}

/* Unpacks a gzip file; the caller frees the result. */
static inline unsigned char *made_unzip(const char *bytes, size_t n, size_t *ret_n)
{
	z_stream z = {.next_in = (unsigned char *)bytes, .avail_in = n};
	size_t room = 1 << 24;
	unsigned char *out = malloc(room);

	assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
	z.next_out = out;
	z.avail_out = room;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_n = room - z.avail_out;
	inflateEnd(&z);
	return out;
}

/* Frees what pprof_message() returned. */
static inline void pprof_free(pprof *message)
{
	perftools__profiles__profile__free_unpacked(message, NULL);
}

static inline pprof *pprof_message(struct profile *profile, const struct unfold_options *unfold)
{
	size_t n_packed, n;
	char *packed = made_pprof(profile, unfold, &n_packed);
	unsigned char *bytes = made_unzip(packed, n_packed, &n);
	pprof *message = perftools__profiles__profile__unpack(NULL, n, bytes);

	assert_non_null(message);
	free(packed);
	free(bytes);
	return message;
}

/* Checks what readers of pprof require of any file. */
static inline void pprof_check(const pprof *message)
{
	assert_true(message->n_string_table > 0);
	assert_string_equal(message->string_table[0], "");
	for (size_t i = 0; i < message->n_string_table; i++)
		assert_int_equal(utf8_span(message->string_table[i]),
				 strlen(message->string_table[i]));
	for (size_t i = 0; i < message->n_mapping; i++) {
		assert_int_equal(message->mapping[i]->id, i + 1);
		assert_true(message->mapping[i]->has_functions);
	}
	for (size_t i = 0; i < message->n_function; i++) {
		assert_int_equal(message->function[i]->id, i + 1);
		assert_true(message->function[i]->name > 0);
		assert_true((size_t)message->function[i]->name < message->n_string_table);
	}
	for (size_t i = 0; i < message->n_location; i++) {
		const Perftools__Profiles__Location *location = message->location[i];

		assert_int_equal(location->id, i + 1);
		assert_true(location->mapping_id <= message->n_mapping);
		assert_true(location->n_line > 0);
		for (size_t k = 0; k < location->n_line; k++) {
			assert_true(location->line[k]->function_id > 0);
			assert_true(location->line[k]->function_id <= message->n_function);
		}
	}
	for (size_t i = 0; i < message->n_sample; i++) {
		const Perftools__Profiles__Sample *sample = message->sample[i];

		assert_int_equal(sample->n_value, message->n_sample_type);
		for (size_t k = 0; k < sample->n_location_id; k++) {
			assert_true(sample->location_id[k] > 0);
			assert_true(sample->location_id[k] <= message->n_location);
		}
	}
}

static inline const char *pprof_text(const pprof *message, int64_t index)
{
	assert_true(index >= 0 && (size_t)index < message->n_string_table);
	return message->string_table[index];
}

/* Makes a profile that uses every feature; the same @seed gives the same profile. */

static const char *const made_names[] = {
	"main",		"start",	"f",	 "operator()<int>",
	"vfs_read",	"[unknown]",	"",	 "a b;c",
	"foo_[k]x",	"[lib+0x12]",	"inner", "outer",
	"/usr/bin/[x]", "\xe6\xbc\xa2",
};

static inline uint32_t made_random_mapping(struct profile *profile, uint64_t *random)
{
	static const char *const paths[] = {"/usr/lib/libc.so.6", "/bin/a", "/bin/b", ""};
	struct profile_mapping mapping = {.kind = made_random(random) % N_MAPPING_KINDS};
	uint32_t id;

	if (mapping.kind == MAPPING_FILE) {
		mapping.path = made_string(profile, paths[made_random(random) % 4]);
		mapping.inode = made_random(random) % 2;
		mapping.device = made_random(random) % 2;
		mapping.start = 0x400000 + made_random(random) % 4 * 0x1000;
		mapping.limit = mapping.start + 0x8000;
		mapping.offset = made_random(random) % 2 * 0x2000;
		mapping.build_id = made_random(random) % 2 ? made_string(profile, "0123abcd") : 0;
	} else if (mapping.kind == MAPPING_ANON) {
		mapping.pid = made_random(random) % 3;
		mapping.path = made_random(random) % 4 ? 0 : made_string(profile, "[heap]");
	} else if (mapping.kind == MAPPING_KERNEL) {
		mapping.path = made_string(profile, "[kernel]");
	} else if (mapping.kind == MAPPING_VDSO) {
		mapping.path = made_string(profile, "[vdso]");
	}
	made_check(profile_add_mapping(profile, &mapping, &id), "profile_add_mapping");
	return id;
}

static inline struct profile_frame made_random_frame(struct profile *profile, uint64_t *random)
{
	struct profile_frame frame = {
		.function =
			made_string(profile, made_names[made_random(random) % COUNT(made_names)])};

	if (made_random(random) % 3 == 0) {
		frame.file = made_string(profile, "/src/a.c");
		frame.line = made_random(random) % 3;
	}
	return frame;
}

static inline uint32_t made_random_location(struct profile *profile, uint64_t *random)
{
	uint32_t mapping = made_random_mapping(profile, random), location,
		 n = 1 + made_random(random) % 8 / 6;
	enum mapping_kind kind = profile->mappings[mapping].kind;
	struct profile_frame frames[2];

	for (uint32_t i = 0; i < n; i++) {
		frames[i] = made_random_frame(profile, random);
		frames[i].kind = i + 1 < n		  ? FRAME_INLINED
				 : kind == MAPPING_KERNEL ? FRAME_KERNEL
				 : kind == MAPPING_ANON	  ? FRAME_JIT
							  : FRAME_USER;
	}
	if (made_random(random) % 3 == 0) {
		if (made_random(random) % 4 == 0)
			frames[n - 1].kind = FRAME_INLINED;
		made_check(profile_add_named(profile, mapping, frames, n, &location),
			   "profile_add_named");
		return location;
	}
	made_check(profile_add_location(profile, mapping, 0x2000 + made_random(random) % 8,
					made_random(random) % 2, &location),
		   "profile_add_location");
	if (!profile->locations[location].n_frames)
		made_check(profile_set_frames(profile, location, frames, n), "profile_set_frames");
	if (made_random(random) % 40 == 0)
		profile->locations[location].hidden = true;
	return location;
}

static inline uint32_t made_random_stack(struct profile *profile, uint64_t *random)
{
	uint32_t locations[12], n = made_random(random) % COUNT(locations), stack;

	for (uint32_t i = 0; i < n; i++)
		locations[i] = made_random_location(profile, random);
	made_check(profile_add_stack(profile, locations, n,
				     made_random(random) % 3 ? STACK_COMPLETE
							     : made_random(random) % N_STACK_ENDS,
				     &stack),
		   "profile_add_stack");
	return stack;
}

static inline uint32_t made_random_waker(struct profile *profile, uint64_t *random)
{
	uint32_t id = 0;

	for (uint64_t n = made_random(random) % 4; n > 0; n--) {
		struct profile_waker waker = {.stack = made_random_stack(profile, random),
					      .comm = made_string(profile, n % 2 ? "w" : "w-7"),
					      .tid = made_random(random) % 3,
					      .is_interrupt = made_random(random) % 4 == 0,
					      .next = id};

		made_check(profile_add_waker(profile, &waker, &id), "profile_add_waker");
	}
	return id;
}

static inline enum off_reason made_random_reason(enum profile_mode mode, uint64_t *random)
{
	if (mode == PROFILE_ONCPU)
		return REASON_NONE;
	if (mode == PROFILE_WALL && made_random(random) % 2)
		return REASON_ONCPU;
	return REASON_SLEEP + made_random(random) % (N_OFF_REASONS - REASON_SLEEP);
}

static inline struct profile *made_random_profile(enum profile_mode mode, uint64_t seed)
{
	static const char *const commands[] = {"a", "b-1", "c d", "e/2"};
	struct profile *profile = made_profile(mode, NULL, 0);
	uint64_t random = seed * 0x9e3779b97f4a7c15ULL + 1;

	for (int i = 0; i < 60; i++) {
		struct profile_sample sample = {
			.stack = made_random_stack(profile, &random),
			.comm = made_string(profile, commands[made_random(&random) % 4]),
			.pid = made_random(&random) % 3,
			.tid = made_random(&random) % 3,
			.reason = made_random_reason(mode, &random),
			.is_idle = mode != PROFILE_ONCPU && made_random(&random) % 4 == 0,
			.count = made_random(&random) % 5,
		};

		if (mode != PROFILE_ONCPU) {
			sample.nanoseconds = made_random(&random) % 5000;
			if (sample.reason != REASON_ONCPU)
				sample.waker = made_random_waker(profile, &random);
		}
		made_check(profile_add_sample(profile, &sample), "profile_add_sample");
	}
	if (seed % 2) {
		profile->frequency = mode == PROFILE_ONCPU ? 99 : 0;
		profile->start_realtime_ns = 1700000000123456789;
		profile->duration_ns = 5000000000;
		profile->command_line = made_string(profile, "a --all");
		profile->host = made_string(profile, "host");
		profile->kernel = made_string(profile, "6.1.0");
	}
	return profile;
}

#endif
