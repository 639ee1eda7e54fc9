/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * section: plain and packed sections give the same bytes at any offset; damaged or oversized ones
 * give none.
 */
#include "unit/made_files.h"

#include <errno.h>

#include "base/section.h"
#include "base/unpack_section.h"

#define SIZE 100000

static struct elf_file file;
static struct section section;
static uint64_t room;

static uint8_t byte_at(uint64_t offset)
{
	return offset % 1000 == 999 ? 0 : 'a' + offset % 23;
}

static int build(void **state)
{
	FILE *stream;

	made_setup(state);
	stream = fopen(made_path("bytes"), "w");
	assert_non_null(stream);
	for (size_t i = 0; i < SIZE; i++)
		fputc(byte_at(i), stream);
	fclose(stream);
	made_text("empty.c", "");
	made("gcc -c empty.c -o empty.o && objcopy --add-section .debug_x=bytes empty.o plain.o");
	return 0;
}

static int open_section(const char *name, const char *section_name)
{
	const Elf64_Shdr *header;

	assert_int_equal(elf_file_open(&file, made_open(name)), 0);
	header = elf_file_section(&file, section_name);
	assert_non_null(header);
	room = 1 << 20;
	return section_open(&section, &file, header, section_name[1] == 'z', &room);
}

static void close_section(void)
{
	section_done(&section);
	close(file.fd);
	elf_file_done(&file);
}

static void check_bytes(uint64_t offset, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(bytes[i], byte_at(offset + i));
}

static void check_section(void)
{
	static const uint64_t offsets[] = {0, 1, 8191, 8192, 8193, 50000, 49999, 3, 99990, 99999};
	static const size_t sizes[] = {1, 8, 100, 8192, 20000};
	uint8_t *buffer = NULL;
	const uint8_t *bytes;
	size_t n, capacity = 0;

	assert_int_equal(section.size, SIZE);
	for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
			uint64_t left = SIZE - offsets[i];

			assert_int_equal(section_view(&section, offsets[i], sizes[k], &bytes, &n),
					 0);
			assert_int_equal(n, sizes[k] < left ? sizes[k] : left);
			check_bytes(offsets[i], bytes, n);
		}
	assert_int_equal(section_view(&section, SIZE, 1, &bytes, &n), -ENOEXEC);
	assert_int_equal(section_view(&section, UINT64_MAX, 1, &bytes, &n), -ENOEXEC);
	assert_int_equal(section_load(&section, 10, SIZE - 10, &buffer, &capacity, &bytes), 0);
	check_bytes(10, bytes, SIZE - 10);
	assert_int_equal(section_load(&section, 20, 5, &buffer, &capacity, &bytes), 0);
	check_bytes(20, bytes, 5);
	assert_int_equal(section_load(&section, 10, SIZE, &buffer, &capacity, &bytes), -ENOEXEC);
	free(buffer);
}

static void check_strings(void)
{
	char text[2000];
	uint64_t number;

	assert_int_equal(section_string(&section, 0, text, sizeof text), 0);
	assert_int_equal(strlen(text), 999);
	check_bytes(0, (uint8_t *)text, 999);
	assert_int_equal(section_string(&section, 8100, text, sizeof text), 0);
	assert_int_equal(strlen(text), 899);
	assert_int_equal(section_string(&section, 8100, text, 10), 0);
	assert_int_equal(strlen(text), 9);
	assert_int_equal(section_string(&section, 999, text, sizeof text), 0);
	assert_int_equal(strlen(text), 0);
	assert_int_equal(section_string(&section, SIZE, text, sizeof text), -ENOEXEC);
	assert_int_equal(section_number(&section, 1, 3, &number), 0);
	assert_int_equal(number, 'b' | 'c' << 8 | 'd' << 16);
	assert_int_equal(section_number(&section, SIZE - 2, 4, &number), -ENOEXEC);
}

static void plain(void **state)
{
	assert_int_equal(open_section("plain.o", ".debug_x"), 0);
	check_section();
	check_strings();
	assert_int_equal(room, 1 << 20);
	close_section();
}

static void a_string_without_an_end(void **state)
{
	char text[200];

	made("head -c 99990 bytes >cut && objcopy --add-section .debug_x=cut empty.o cut.o");
	assert_int_equal(open_section("cut.o", ".debug_x"), 0);
	assert_int_equal(section_string(&section, 99980, text, sizeof text), -ENOEXEC);
	assert_int_equal(section_string(&section, 99980, text, 5), 0);
	assert_int_equal(strlen(text), 4);
	close_section();
}

static void packed(void **state)
{
	static const char *const kinds[] = {"zlib", "zlib-gnu", "zstd"};

	for (size_t i = 0; i < 3; i++) {
		if (!made_try("objcopy --compress-debug-sections=%s plain.o packed.o", kinds[i]))
			continue;
		assert_int_equal(open_section("packed.o", i == 1 ? ".zdebug_x" : ".debug_x"), 0);
		assert_int_not_equal(section.packing, PACKING_NONE);
		check_section();
		check_strings();
		assert_int_equal(room, (1 << 20) - SIZE);
		close_section();
	}
}

static void no_room(void **state)
{
	const uint8_t *bytes;
	size_t n;

	made("objcopy --compress-debug-sections=zlib plain.o packed.o");
	assert_int_equal(open_section("packed.o", ".debug_x"), 0);
	room = SIZE - 1;
	assert_int_equal(section_view(&section, 0, 1, &bytes, &n), -EFBIG);
	room = SIZE;
	assert_int_equal(section_view(&section, 0, 1, &bytes, &n), 0);
	close_section();
}

/* Refuses to unpack a few bytes that would become many. */
static void made_to_fill_memory(void **state)
{
	made("head -c 10000000 /dev/zero >zeros && objcopy --add-section .debug_x=zeros empty.o "
	     "zeros.o && objcopy --compress-debug-sections=zlib zeros.o packed.o");
	assert_int_equal(open_section("packed.o", ".debug_x"), -ENOEXEC);
	close(file.fd);
	elf_file_done(&file);
}

/* With any byte of a packed section changed, reading returns an error or other bytes. */
static void damaged(void **state)
{
	static const char *const kinds[] = {"zlib", "zlib-gnu", "zstd"};
	unsigned int seed = 3;

	for (size_t i = 0; i < 3; i++) {
		const char *name = i == 1 ? ".zdebug_x" : ".debug_x";
		uint64_t offset, size;

		if (!made_try("objcopy --compress-debug-sections=%s plain.o packed.o", kinds[i]))
			continue;
		assert_int_equal(open_section("packed.o", name), 0);
		offset = elf_file_section(&file, name)->sh_offset;
		size = elf_file_section(&file, name)->sh_size;
		close_section();
		for (int round = 0; round < 200; round++) {
			int fd = open(made_path("packed.o"), O_RDWR | O_CLOEXEC);
			uint8_t byte = rand_r(&seed), old;
			uint64_t at =
				offset + (round < 30 ? (uint64_t)round : rand_r(&seed) % size);
			const uint8_t *bytes;
			size_t n;

			assert_int_equal(pread(fd, &old, 1, at), 1);
			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
			if (open_section("packed.o", name) == 0) {
				section_view(&section, 0, 100, &bytes, &n);
				section_view(&section, SIZE - 1, 100, &bytes, &n);
			}
			close_section();
			assert_int_equal(pwrite(fd, &old, 1, at), 1);
			close(fd);
		}
	}
}

static void xz(void **state)
{
	struct elf_file packed_file;
	struct packed packed;
	uint8_t *bytes;
	size_t n;

	made("xz -k bytes && objcopy --add-section .debug_x=bytes.xz empty.o xz.o");
	assert_int_equal(elf_file_open(&packed_file, made_open("xz.o")), 0);
	packed =
		(struct packed){&packed_file, elf_file_section(&packed_file, ".debug_x")->sh_offset,
				elf_file_section(&packed_file, ".debug_x")->sh_size};
	assert_int_equal(unpack_xz(packed, SIZE, &bytes, &n), 0);
	assert_int_equal(n, SIZE);
	check_bytes(0, bytes, n);
	free(bytes);
	assert_int_equal(unpack_xz(packed, SIZE - 1, &bytes, &n), -EFBIG);
	packed.n -= 20;
	assert_int_equal(unpack_xz(packed, 2 * SIZE, &bytes, &n), -ENOEXEC);
	packed.n = 0;
	assert_int_equal(unpack_xz(packed, 2 * SIZE, &bytes, &n), -ENOEXEC);
	packed.offset = 0;
	packed.n = packed_file.size;
	assert_int_equal(unpack_xz(packed, 2 * SIZE, &bytes, &n), -ENOEXEC);
	close(packed_file.fd);
	elf_file_done(&packed_file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),   cmocka_unit_test(a_string_without_an_end),
		cmocka_unit_test(packed),  cmocka_unit_test(no_room),
		cmocka_unit_test(made_to_fill_memory),
		cmocka_unit_test(damaged), cmocka_unit_test(xz),
	};

	return cmocka_run_group_tests(tests, build, made_done);
}
