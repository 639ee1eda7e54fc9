/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and lines from jitdumps, written here byte by byte; and whose files name which process. */
#include "unit/made_jit.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbol/jit.h"
#include "symbol/symbolize.h"

static void assert_line(uint64_t address, const char *file, uint32_t line)
{
	size_t i = index_of(address);

	assert_string_equal(strings_get(&strings, lines[i].file), file);
	assert_int_equal(lines[i].line, line);
}

static void resolve_dump(void)
{
	assert_int_equal(jitdump_resolve(written(), &lookups, &strings, lines), 0);
}

/* --- jitdumps --- */

static void put32(uint32_t value)
{
	fwrite(&value, sizeof value, 1, stream);
}

static void put64(uint64_t value)
{
	fwrite(&value, sizeof value, 1, stream);
}

static void put_text(const char *text)
{
	fwrite(text, strlen(text) + 1, 1, stream);
}

static void put_zeros(size_t n)
{
	while (n--)
		fputc(0, stream);
}

static void put_header(void)
{
	put32(0x4a695444);
	put32(1);
	put32(48); /* 8 bytes that a later version might add */
	put32(62);
	put32(0);
	put32(77);
	put64(123);
	put64(0);
	put_zeros(8);
}

static void put_prefix(uint32_t type, size_t payload)
{
	put32(type);
	put32(16 + payload);
	put64(456);
}

static void put_load(uint64_t address, uint64_t size, uint64_t index, const char *name)
{
	put_prefix(0, 40 + strlen(name) + 1 + size);
	put32(77);
	put32(78);
	put64(0); /* LLVM omits the vma */
	put64(address);
	put64(size);
	put64(index);
	put_text(name);
	while (size--)
		fputc(0xcc, stream);
}

static void put_move(uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	put_prefix(1, 48);
	put32(77);
	put32(78);
	put64(to);
	put64(from);
	put64(to);
	put64(size);
	put64(index);
}

struct line_entry {
	uint64_t address;
	uint32_t line;
	const char *file;
};

static void put_lines(uint64_t address, const struct line_entry *entries, size_t n, size_t padding)
{
	size_t payload = 16 + padding;

	for (size_t i = 0; i < n; i++)
		payload += 16 + strlen(entries[i].file) + 1;
	put_prefix(2, payload);
	put64(address);
	put64(n);
	for (size_t i = 0; i < n; i++) {
		put64(entries[i].address);
		put32(entries[i].line);
		put32(3);
		put_text(entries[i].file);
	}
	put_zeros(padding);
}

static void loads_name_their_code(void **state)
{
	look_up(0xfff);
	look_up(0x1000);
	look_up(0x10ff);
	look_up(0x1100);
	look_up(0x2010);
	look_up(0x3000);
	put_header();
	put_load(0x1000, 0x100, 1, "old name");
	put_prefix(4, 100); /* unwinding information */
	put_zeros(100);
	put_prefix(99, 0); /* of a later version */
	put_load(0x2000, 0x20, 2, " _ZN5space5Thing6methodEi ");
	put_load(0x1000, 0x100, 3, "new name");
	put_prefix(3, 0); /* close */
	put_load(0x3000, 0, 4, "empty");
	resolve_dump();
	assert_string_equal(name_of(0xfff), "");
	assert_string_equal(name_of(0x1000), "new name");
	assert_string_equal(name_of(0x10ff), "new name");
	assert_string_equal(name_of(0x1100), "");
	assert_string_equal(name_of(0x2010), "space::Thing::method(int)");
	assert_string_equal(name_of(0x3000), "");
}

static void records_half_written_are_not_used(void **state)
{
	int fd;

	look_up(0x1000);
	look_up(0x2000);
	put_header();
	put_load(0x1000, 0x100, 1, "whole");
	put_load(0x2000, 0x100, 2, "half");
	fd = written();
	for (off_t size = ftell(stream) - 1; size >= 0; size--) {
		off_t whole = 48 + 56 + 6 + 0x100;
		int r;

		assert_int_equal(ftruncate(fd, size), 0);
		names[0] = names[1] = 0;
		r = jitdump_resolve(fd, &lookups, &strings, NULL);
		assert_int_equal(r, size && size < 40 ? -ENOEXEC : 0);
		assert_string_equal(name_of(0x1000), size >= whole ? "whole" : "");
		assert_string_equal(name_of(0x2000), "");
	}
}

static void what_is_no_jitdump_is_refused(void **state)
{
	look_up(0x1000);
	put32(0x4454694a); /* the other byte order */
	put32(1);
	put32(40);
	put_zeros(28);
	put_load(0x1000, 0x100, 1, "name");
	assert_int_equal(jitdump_resolve(written(), &lookups, &strings, lines), -ENOEXEC);
	rewind(stream);
	put32(0x4a695444);
	put_zeros(100); /* a header of no size */
	assert_int_equal(jitdump_resolve(written(), &lookups, &strings, lines), -ENOEXEC);
}

static void what_is_no_regular_file_is_refused(void **state)
{
	int fds[2];

	look_up(0x1000);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(jitdump_resolve(fds[0], &lookups, &strings, lines), -EINVAL);
	close(fds[0]);
	close(fds[1]);
}

static void a_record_of_no_size_ends_the_file(void **state)
{
	look_up(0x1000);
	put_header();
	put32(0);
	put32(0);
	put64(0);
	put_load(0x1000, 0x100, 1, "behind");
	resolve_dump();
	assert_string_equal(name_of(0x1000), "");
}

static void sizes_that_lie_do_no_harm(void **state)
{
	look_up(0x1000);
	look_up(0x2000);
	put_header();
	/* Code that would not fit into its record: the name ends at its NUL. */
	put_prefix(0, 40 + 5);
	put_zeros(16);
	put64(0x1000);
	put64(1 << 30);
	put64(1);
	put_text("name");
	/* No NUL: the name ends with the record. */
	put_prefix(0, 40 + 4);
	put_zeros(16);
	put64(0x2000);
	put64(0x10);
	put64(2);
	fwrite("last", 4, 1, stream);
	/* Shorter than its header claims. */
	put_prefix(0, 8);
	put64(0x2000);
	put_prefix(1, 0);
	put_prefix(2, 0);
	resolve_dump();
	assert_string_equal(name_of(0x1000), "name");
	assert_string_equal(name_of(0x2000), "last");
}

static void moved_code_keeps_its_name(void **state)
{
	look_up(0x1008);
	look_up(0x5008);
	look_up(0x6008);
	look_up(0x6108);
	look_up(0x7008);
	look_up(0x8008);
	put_header();
	put_move(0x1000, 0x7000, 0x10, 12); /* before its load, so it moves nothing */
	put_load(0x1000, 0x10, 11, "other");
	put_load(0x1000, 0x10, 12, "mover");
	put_move(0x1000, 0x5000, 0x10, 12);
	put_move(0x5000, 0x6000, 0x10, 12);
	put_move(0x6000, 0x6100, 0x10, 12);
	put_load(0x5000, 0x10, 13, "at the place left");
	put_load(0x9000, 0x10, 12, "of the same index, later");
	put_move(0x9000, 0x8000, 0x10, 12);
	resolve_dump();
	assert_string_equal(name_of(0x1008), "mover");
	assert_string_equal(name_of(0x5008), "at the place left");
	assert_string_equal(name_of(0x6008), "mover");
	assert_string_equal(name_of(0x6108), "mover");
	assert_string_equal(name_of(0x7008), "");
	assert_string_equal(name_of(0x8008), "of the same index, later");
}

static const struct line_entry entries[] = {
	{0x1020, 12, "/src/b.js"}, /* out of order */
	{0x1000, 10, "/src/a.js"}, {0x100c, 13, "\xff"},
	{0x1004, 14, "\xff"},	   {0x1010, 11, "\xff"},
	{0x1018, 99, "/src/c.js"}, {0x1018, 20, "/src/d.js"}, /* the last one counts */
};

#define N_ENTRIES (sizeof entries / sizeof *entries)

static void assert_entries(uint64_t to)
{
	assert_line(to + 0x00, "/src/a.js", 10);
	assert_line(to + 0x0f, "/src/a.js", 13);
	assert_line(to + 0x10, "/src/a.js", 11);
	assert_line(to + 0x18, "/src/d.js", 20);
	assert_line(to + 0x1f, "/src/d.js", 20);
	assert_line(to + 0x20, "/src/b.js", 12);
	assert_line(to + 0xff, "/src/b.js", 12);
}

static void look_up_entries(uint64_t to)
{
	static const uint64_t offsets[] = {0, 0xf, 0x10, 0x18, 0x1f, 0x20, 0xff};

	for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
		look_up(to + offsets[i]);
}

static void debug_information_has_lines(void **state)
{
	look_up_entries(0x1000);
	put_header();
	put_lines(0x1000, entries, N_ENTRIES, 7);
	put_prefix(4, 8);
	put_zeros(8);
	put_load(0x1000, 0x100, 1, "name");
	resolve_dump();
	assert_string_equal(name_of(0x1000), "name");
	assert_entries(0x1000);
}

/* V8 and LLVM count from the code's place in the ELF file that perf makes. */
static void lines_after_an_elf_header_are_corrected(void **state)
{
	struct line_entry shifted[N_ENTRIES];

	look_up_entries(0x1000);
	for (size_t i = 0; i < N_ENTRIES; i++) {
		shifted[i] = entries[i];
		shifted[i].address += 0x40;
	}
	put_header();
	put_lines(0x1000, shifted, N_ENTRIES, 0);
	put_load(0x1000, 0x100, 1, "name");
	resolve_dump();
	assert_entries(0x1000);
}

static void lines_move_with_their_code(void **state)
{
	look_up_entries(0x1000);
	look_up_entries(0x7000);
	put_header();
	put_lines(0x1000, entries, N_ENTRIES, 0);
	put_load(0x1000, 0x100, 1, "name");
	put_move(0x1000, 0x7000, 0x100, 1);
	resolve_dump();
	assert_string_equal(name_of(0x7010), "name");
	assert_entries(0x1000);
	assert_entries(0x7000);
}

static void lines_of_other_code_are_not_used(void **state)
{
	look_up(0x1000);
	look_up(0x2000);
	look_up(0x3000);
	put_header();
	put_lines(0x1000, entries, N_ENTRIES, 0);
	put_load(0x2000, 0x100, 1, "other code");
	put_load(0x1000, 0x100, 2, "after another load");
	put_lines(0x3008, (struct line_entry[]){{0x3008, 5, "/later"}}, 1, 0);
	put_load(0x3008, 0x100, 3, "not seen");
	put_load(0x3000, 0x100, 4, "no lines");
	resolve_dump();
	assert_string_equal(name_of(0x1000), "after another load");
	assert_line(0x1000, "", 0);
	assert_line(0x2000, "", 0);
	assert_line(0x3000, "", 0);
}

static void entries_half_written_end_the_lines(void **state)
{
	look_up(0x1000);
	look_up(0x1018);
	put_header();
	put_prefix(2, 16 + 16 + 5 + 16 + 3);
	put64(0x1000);
	put64(1ULL << 60);
	put64(0x1000);
	put32(10);
	put32(0);
	put_text("/src");
	put64(0x1010);
	put32(11);
	put32(0);
	fwrite("abc", 3, 1, stream); /* no NUL within the record */
	put_load(0x1000, 0x100, 1, "name");
	resolve_dump();
	assert_line(0x1000, "/src", 10);
	assert_line(0x1018, "/src", 10);
}

static void random_dumps_agree_with_a_memory_of_bytes(void **state)
{
	enum { BYTES = 4096, SIZE = 64 };
	static uint32_t memory[BYTES + SIZE];
	static uint32_t sizes[5000];
	char expected[64];

	srand(6);
	for (uint64_t i = 0; i < MAX_LOOKUPS; i++)
		look_up(7 + 8 * i);
	put_header();
	for (uint32_t index = 1; index < 5000; index++) {
		uint32_t start = rand() % BYTES, which = index;

		if (index > 1 && rand() % 3 == 0) {
			which = 1 + rand() % (index - 1);
			put_move(0, start, sizes[which], which);
		} else {
			sizes[index] = rand() % SIZE;
			snprintf(expected, sizeof expected, "name %u", index);
			if (rand() % 2)
				put_lines(start, (struct line_entry[]){{start, index, "/file"}}, 1,
					  rand() % 9);
			put_load(start, sizes[index], index, expected);
		}
		for (uint32_t i = start; i < start + sizes[which]; i++)
			memory[i] = which;
	}
	resolve_dump();
	for (uint64_t i = 0; i < MAX_LOOKUPS; i++) {
		uint32_t which = memory[addresses[i]];

		snprintf(expected, sizeof expected, which ? "name %u" : "", which);
		assert_string_equal(strings_get(&strings, names[i]), expected);
		if (lines[i].line)
			assert_int_equal(lines[i].line, which);
	}
}

/* --- both --- */

static void a_jitdump_goes_before_a_perf_map(void **state)
{
	struct mapping_source source = MAPPING_SOURCE_NONE;
	int map = memfd_create("map", MFD_CLOEXEC);
	bool damaged;

	look_up(0x1000);
	look_up(0x2000);
	dprintf(map, "1000 100 in the map\n2000 100 in the map\n");
	put_header();
	put_load(0x1000, 0x100, 1, "in the dump");
	source.perf_map = map;
	source.jitdump = written();
	assert_int_equal(jit_resolve(&source, &lookups, &strings, lines, &damaged), 0);
	assert_false(damaged);
	assert_string_equal(name_of(0x1000), "in the dump");
	assert_string_equal(name_of(0x2000), "in the map");
	/* With a damaged dump, all names come from the map. */
	names[0] = names[1] = 0;
	assert_int_equal(ftruncate(source.jitdump, 3), 0);
	assert_int_equal(jit_resolve(&source, &lookups, &strings, NULL, &damaged), 0);
	assert_true(damaged);
	assert_string_equal(name_of(0x1000), "in the map");
	close(map);
}

/* --- symbolize() --- */

static struct profile *profile;

static uint32_t add_memory(const char *path, uint32_t pid)
{
	struct profile_mapping mapping = {.kind = MAPPING_ANON, .pid = pid, .process_start = 5};
	uint32_t id;

	assert_int_equal(strings_add(&profile->strings, path, &mapping.path), 0);
	assert_int_equal(profile_add_mapping(profile, &mapping, &id), 0);
	return id;
}

static uint32_t add_location(uint32_t mapping, uint64_t address, bool is_return)
{
	uint32_t id;

	assert_int_equal(profile_add_location(profile, mapping, address, is_return, &id), 0);
	return id;
}

static void assert_frame(uint32_t location, enum frame_kind kind, const char *name,
			 const char *file, uint32_t line)
{
	const struct profile_frame *frame =
		&profile->frames[profile->locations[location].first_frame];

	assert_int_equal(profile->locations[location].n_frames, 1);
	assert_int_equal(frame->kind, kind);
	assert_string_equal(strings_get(&profile->strings, frame->function), name);
	assert_string_equal(strings_get(&profile->strings, frame->file), file);
	assert_int_equal(frame->line, line);
}

static void frames_of_each_process_come_from_its_own_files(void **state)
{
	const struct symbolize_options options = {.lines = true};
	struct mapping_source sources[4] = {MAPPING_SOURCE_NONE, MAPPING_SOURCE_NONE,
					    MAPPING_SOURCE_NONE, MAPPING_SOURCE_NONE};
	int map = memfd_create("map", MFD_CLOEXEC);
	struct symbol_stats stats;

	assert_int_equal(profile_new(PROFILE_ONCPU, &profile), 0);
	dprintf(map, "1000 100 mapped\n");
	put_header();
	put_lines(0x1000, entries, N_ENTRIES, 0);
	put_load(0x1000, 0x100, 1, "dumped");
	uint32_t a = add_memory("", 1), heap = add_memory("[heap]", 1), b = add_memory("", 2),
		 c = add_memory("", 3);

	sources[a].perf_map = sources[heap].perf_map = map;
	sources[b].jitdump = written();
	uint32_t start = add_location(a, 0x1000, false), end = add_location(a, 0x1100, true),
		 after = add_location(a, 0x1100, false),
		 in_heap = add_location(heap, 0x1001, false),
		 behind_heap = add_location(heap, 0x1101, false),
		 dumped = add_location(b, 0x1011, true), none = add_location(c, 0x1000, false);

	assert_int_equal(symbolize(profile, sources, &options, &stats), 0);
	assert_frame(start, FRAME_JIT, "mapped", "", 0);
	assert_frame(end, FRAME_JIT, "mapped", "", 0);
	assert_frame(after, FRAME_USER, "[anon]", "", 0);
	assert_frame(in_heap, FRAME_JIT, "mapped", "", 0);
	assert_frame(behind_heap, FRAME_USER, "[heap]", "", 0);
	assert_frame(dumped, FRAME_JIT, "dumped", "/src/a.js", 11);
	assert_frame(none, FRAME_USER, "[anon]", "", 0);
	assert_int_equal(stats.locations, 7);
	assert_int_equal(stats.unnamed, 3);
	assert_int_equal(stats.files, 2); /* the map is read once for both areas */
	assert_int_equal(stats.unreadable_files, 0);
	profile_free(profile);
	close(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JIT_TEST(loads_name_their_code),
		JIT_TEST(records_half_written_are_not_used),
		JIT_TEST(what_is_no_jitdump_is_refused),
		JIT_TEST(what_is_no_regular_file_is_refused),
		JIT_TEST(a_record_of_no_size_ends_the_file),
		JIT_TEST(sizes_that_lie_do_no_harm),
		JIT_TEST(moved_code_keeps_its_name),
		JIT_TEST(debug_information_has_lines),
		JIT_TEST(lines_after_an_elf_header_are_corrected),
		JIT_TEST(lines_move_with_their_code),
		JIT_TEST(lines_of_other_code_are_not_used),
		JIT_TEST(entries_half_written_end_the_lines),
		JIT_TEST(random_dumps_agree_with_a_memory_of_bytes),
		JIT_TEST(a_jitdump_goes_before_a_perf_map),
		JIT_TEST(frames_of_each_process_come_from_its_own_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
