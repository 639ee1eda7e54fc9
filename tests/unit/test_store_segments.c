/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger, ledger_code, segment, ledger_profile: everything comes back out as it went in, whatever
 * happened to the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "made_windows.h"
#include "store/ledger_profile.h"
#include "store/segment.h"

#define N_WINDOWS 30
#define NAME	  "10s-20261124T060000Z.bfs"

static char path[] = "/tmp/test_store_segments.XXXXXX";
static struct place place;

static int make_folder(void **state)
{
	assert_non_null(mkdtemp(path));
	return place_open(path, PLACE_FIND, place_check_writable, NULL, &place);
}

static int remove_folder(void **state)
{
	place_close(&place);
	return rmdir(path);
}

static struct store_window window_of(unsigned int number)
{
	return (struct store_window){
		.start = MADE_START + number * 10 * NSEC_PER_SEC,
		.span = 10 * NSEC_PER_SEC,
		.covered = 10 * NSEC_PER_SEC,
		.boot = MADE_BOOT + number * 10 * NSEC_PER_SEC,
		.windows = 1,
		.millihertz = 19000,
		.lost = number,
		.own_ns = 5,
		.gap = number ? GAP_NONE : GAP_STARTED,
	};
}

static void add_window(struct segment_writer *writer, unsigned int number, struct made_sums *sums)
{
	struct store_window window = window_of(number);
	struct ledger_memo memo = {};
	const struct ledger_merge how = {.memo = &memo};
	struct ledger ledger;

	made_window(number, &ledger, sums);
	assert_int_equal(ledger_merge(&writer->ledger, &ledger, &how), 0);
	assert_int_equal(segment_append(writer, &window), 0);
	ledger_memo_done(&memo);
	ledger_done(&ledger);
}

static void create(struct segment_writer *writer)
{
	const struct segment_header header = {
		.level = 10 * NSEC_PER_SEC, .start = MADE_START, .boot_id = {1, 2, 3}};

	assert_int_equal(segment_create(writer, &place, NAME, &header), 0);
}

/* Writes a file of N_WINDOWS windows; @offsets: the start of each, and the end. */
static void write_file(struct made_sums sums[N_WINDOWS], uint64_t offsets[N_WINDOWS + 1])
{
	struct segment_writer writer;

	create(&writer);
	for (unsigned int i = 0; i < N_WINDOWS; i++) {
		offsets[i] = writer.bytes;
		add_window(&writer, i, &sums[i]);
	}
	offsets[N_WINDOWS] = writer.bytes;
	segment_close(&writer);
}

static int open_file(struct segment_reader *reader)
{
	int fd = openat(place.fd, NAME, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return segment_open(reader, fd);
}

/* Counts the windows that can be read; each must be as it was written. */
static unsigned int read_file(const struct made_sums sums[N_WINDOWS], int *ret_error)
{
	struct segment_reader reader;
	struct segment_block block;
	unsigned int n = 0;
	int r = open_file(&reader);

	*ret_error = r;
	if (r < 0)
		return 0;
	while ((r = segment_peek(&reader, &block)) > 0) {
		struct store_window window, expected = window_of(n);
		struct made_sums found = {};

		r = segment_read(&reader, &block, &window);
		if (r < 0)
			break;
		assert_int_equal(window.start, expected.start);
		assert_int_equal(window.span, expected.span);
		assert_int_equal(window.covered, expected.covered);
		assert_int_equal(window.boot, expected.boot);
		assert_int_equal(window.millihertz, expected.millihertz);
		assert_int_equal(window.lost, expected.lost);
		assert_int_equal(window.own_ns, expected.own_ns);
		assert_int_equal(window.gap, expected.gap);
		assert_int_equal(block.start, expected.start);
		assert_int_equal(block.gap, expected.gap);
		made_count(&reader.ledger, &found);
		assert_memory_equal(&found, &sums[n], sizeof found);
		n++;
	}
	*ret_error = r;
	segment_reader_done(&reader);
	return n;
}

static void test_round_trip(void **state)
{
	struct made_sums sums[N_WINDOWS] = {};
	uint64_t offsets[N_WINDOWS + 1];
	int error;

	write_file(sums, offsets);
	assert_int_equal(read_file(sums, &error), N_WINDOWS);
	assert_int_equal(error, 0);
	/* A dictionary is written once. */
	assert_true(offsets[N_WINDOWS] - offsets[N_WINDOWS - 1] < (offsets[1] - offsets[0]) / 2);
	assert_int_equal(unlinkat(place.fd, NAME, 0), 0);
}

/* Of windows that nobody wants, later ones get the names, and no rows. */
static void test_names_alone(void **state)
{
	struct made_sums sums[N_WINDOWS] = {};
	uint64_t offsets[N_WINDOWS + 1];
	struct segment_reader reader;
	struct segment_block block;
	unsigned int n = 0;

	write_file(sums, offsets);
	assert_int_equal(open_file(&reader), 0);
	for (; segment_peek(&reader, &block) > 0; n++) {
		struct made_sums found = {};
		struct store_window window;

		if (n % 3 != 2) {
			assert_int_equal(segment_read_names(&reader, &block), 0);
			assert_int_equal(reader.ledger.n_rows, 0);
			continue;
		}
		assert_int_equal(segment_read(&reader, &block, &window), 0);
		made_count(&reader.ledger, &found);
		assert_memory_equal(&found, &sums[n], sizeof found);
	}
	assert_int_equal(n, N_WINDOWS);
	assert_int_equal(reader.damaged, 0);
	segment_reader_done(&reader);
	assert_int_equal(unlinkat(place.fd, NAME, 0), 0);
}

/* Cut anywhere: gives all windows before the cut, and no error. */
static void test_cut(void **state)
{
	struct made_sums sums[N_WINDOWS] = {};
	uint64_t offsets[N_WINDOWS + 1];
	unsigned int seed = 1, whole = N_WINDOWS;
	int error, fd;

	write_file(sums, offsets);
	fd = openat(place.fd, NAME, O_RDWR | O_CLOEXEC);
	for (uint64_t size = offsets[N_WINDOWS]; size > 64;) {
		size -= 1 + rand_r(&seed) % 40;
		if (size < 64)
			size = 64;
		assert_int_equal(ftruncate(fd, size), 0);
		while (whole && offsets[whole] > size)
			whole--;
		assert_int_equal(read_file(sums, &error), whole);
		assert_int_equal(error, 0);
	}
	assert_int_equal(ftruncate(fd, 63), 0);
	assert_int_equal(read_file(sums, &error), 0);
	assert_int_equal(error, -ENODATA);
	close(fd);
	assert_int_equal(unlinkat(place.fd, NAME, 0), 0);
}

/* Damage at random places of a file. */
enum made_damage { DAMAGE_BIT, DAMAGE_ZEROS, DAMAGE_CUT, N_DAMAGES };

/* Bytes [@begin, @end) of the @n are changed or cut out. Returns how many there are then. */
static size_t damage(uint8_t *bytes, size_t n, enum made_damage kind, size_t begin, size_t end)
{
	if (kind == DAMAGE_CUT) {
		memmove(bytes + begin, bytes + end, n - end);
		return n - (end - begin);
	}
	for (size_t i = begin; i < end; i++)
		bytes[i] = kind == DAMAGE_BIT ? bytes[i] ^ 1 << i % 8 : ~bytes[i];
	return n;
}

static uint64_t total_of(const struct made_sums *sums)
{
	uint64_t total = 0;

	for (unsigned int pid = 0; pid <= MADE_PIDS; pid++)
		total += sums->running[pid] + sums->waiting[pid];
	return total;
}

/* Names are right, or said to be damaged; times are right. */
static void check_window(const struct ledger *ledger, const struct made_sums *sums, bool is_first)
{
	uint64_t total = 0;

	for (size_t i = 0; i < ledger->n_rows; i++) {
		const struct ledger_row *row = &ledger->rows[i];
		const char *comm =
			strings_get(&ledger->strings, ledger->processes[row->process].comm);
		bool is_damaged = strcmp(comm, LEDGER_DAMAGED_TEXT) == 0;

		assert_true(is_damaged || strncmp(comm, "comm-", 5) == 0);
		assert_true(!is_damaged || !is_first);
		for (uint32_t node = row->node; node; node = ledger->nodes[node].parent) {
			const struct ledger_frame *frame =
				&ledger->frames[ledger->nodes[node].frame];
			const char *name = strings_get(&ledger->strings, frame->function);

			assert_true(strncmp(name, "function_", 9) == 0 ||
				    strcmp(name, "inlined") == 0 ||
				    strcmp(name, LEDGER_DAMAGED_TEXT) == 0);
		}
		total += row->microseconds;
	}
	assert_int_equal(total, total_of(sums));
}

/* Reads what is left. @touched: windows that are damaged. */
static void check_rest(const struct made_sums sums[N_WINDOWS], const bool touched[N_WINDOWS])
{
	bool found[N_WINDOWS] = {};
	struct segment_reader reader;
	struct segment_block block;
	int r;

	assert_int_equal(open_file(&reader), 0);
	while ((r = segment_peek(&reader, &block)) > 0) {
		struct store_window window;

		r = segment_read(&reader, &block, &window);
		if (r == -EBADMSG)
			continue;
		assert_int_equal(r, 0);
		assert_true(window.lost < N_WINDOWS);
		assert_false(touched[window.lost]);
		check_window(&reader.ledger, &sums[window.lost], window.lost == 0);
		found[window.lost] = true;
	}
	assert_int_equal(r, 0);
	for (unsigned int i = 0; i < N_WINDOWS; i++)
		assert_true(found[i] || touched[i]);
	segment_reader_done(&reader);
}

/* Damage costs the windows that it touches, and those alone; never gives a wrong one. */
static void test_damage(void **state)
{
	struct made_sums sums[N_WINDOWS] = {};
	uint64_t offsets[N_WINDOWS + 1];
	unsigned int seed = 2;
	uint8_t *whole, *bytes;
	size_t size;
	int fd;

	write_file(sums, offsets);
	size = offsets[N_WINDOWS];
	whole = malloc(size);
	bytes = malloc(size);
	fd = openat(place.fd, NAME, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, whole, size, 0), size);
	for (unsigned int i = 0; i < 600; i++) {
		enum made_damage kind = rand_r(&seed) % N_DAMAGES;
		size_t begin = 64 + rand_r(&seed) % (size - 64), left;
		size_t length = kind == DAMAGE_BIT ? 1 : 1 + rand_r(&seed) % 600;
		size_t end = begin + length < size ? begin + length : size;
		bool touched[N_WINDOWS];

		for (unsigned int k = 0; k < N_WINDOWS; k++)
			touched[k] = begin < offsets[k + 1] && end > offsets[k];
		memcpy(bytes, whole, size);
		left = damage(bytes, size, kind, begin, end);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, bytes, left, 0), left);
		check_rest(sums, touched);
	}
	free(bytes);
	free(whole);
	close(fd);
	assert_int_equal(unlinkat(place.fd, NAME, 0), 0);
}

static void put32(uint8_t *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = value >> 8 * i;
}

/* Writes a head, with the right sum, of a block of @raw bytes that are @packed in the file. */
static void write_head(int fd, uint64_t offset, uint32_t raw, uint32_t packed)
{
	uint8_t head[40] = "BFWI";

	put32(head + 4, packed);
	put32(head + 8, raw);
	put32(head + 36, crc32(0, head, 36));
	assert_int_equal(pwrite(fd, head, sizeof head, offset), sizeof head);
}

/* A head can't ask for more memory than a window takes, however large the file. */
static void test_large_heads(void **state)
{
	static const struct {
		uint32_t raw, packed;
	} heads[] = {{0, UINT32_MAX}, {100, 1000}, {LEDGER_MAX_BYTES + 1, 100}};
	struct made_sums sums[N_WINDOWS] = {};
	uint64_t offsets[N_WINDOWS + 1];
	int error, fd;

	write_file(sums, offsets);
	fd = openat(place.fd, NAME, O_RDWR | O_CLOEXEC);
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		struct segment_reader reader;
		struct segment_block block;

		assert_int_equal(ftruncate(fd, offsets[1]), 0);
		write_head(fd, offsets[1], heads[i].raw, heads[i].packed);
		assert_int_equal(ftruncate(fd, offsets[1] + 8192), 0);
		assert_int_equal(open_file(&reader), 0);
		/* As if all of the block were there: no test has room for so large a file. */
		reader.bytes += UINT32_MAX;
		assert_int_equal(segment_peek(&reader, &block), 1);
		segment_pass(&reader, &block);
		assert_int_equal(segment_peek(&reader, &block), 0);
		segment_reader_done(&reader);
		assert_int_equal(read_file(sums, &error), 1);
		assert_int_equal(error, 0);
	}
	close(fd);
	assert_int_equal(unlinkat(place.fd, NAME, 0), 0);
}

/* A damaged header costs the file: nothing is known of it. */
static void test_damaged_header(void **state)
{
	struct made_sums sums[N_WINDOWS] = {};
	uint64_t offsets[N_WINDOWS + 1];
	int error, fd;

	write_file(sums, offsets);
	fd = openat(place.fd, NAME, O_RDWR | O_CLOEXEC);
	for (unsigned int at = 0; at < 64; at++) {
		uint8_t byte, changed;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		changed = byte ^ 1 << at % 8;
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
		assert_int_equal(read_file(sums, &error), 0);
		assert_true(error == -EBADMSG || error == -EPROTONOSUPPORT);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(read_file(sums, &error), N_WINDOWS);
	close(fd);
	assert_int_equal(unlinkat(place.fd, NAME, 0), 0);
}

/* A writer is killed at any moment; at every moment a reader sees only complete windows. */
static void test_killed(void **state)
{
	struct made_sums sums[N_WINDOWS] = {};
	unsigned int seed = 3, most = 0;
	int error;

	for (unsigned int i = 0; i < N_WINDOWS; i++)
		profile_free(made_profile(i, &sums[i]));
	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct segment_writer writer;
			struct made_sums unused = {};

			create(&writer);
			for (unsigned int k = 0; k < N_WINDOWS; k++)
				add_window(&writer, k, &unused);
			pause();
		}
		usleep(rand_r(&seed) % 60000);
		if (faccessat(place.fd, NAME, F_OK, 0) == 0)
			read_file(sums, &error);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		if (faccessat(place.fd, NAME, F_OK, 0) == 0) {
			unsigned int n = read_file(sums, &error);

			assert_true(error == 0 || error == -ENODATA);
			if (n > most)
				most = n;
			assert_int_equal(unlinkat(place.fd, NAME, 0), 0);
		}
	}
	assert_true(most > 0);
}

/* Every part of a window, and windows in which a byte is another one. */
static void decode_damaged(struct ledger_bytes *encoded)
{
	struct store_window got;
	unsigned int seed = 4;
	struct ledger back;

	for (size_t cut = 0; cut <= encoded->n; cut++) {
		uint8_t *part = malloc(cut + 1); /* exactly this size, for the sanitizer */

		memcpy(part, encoded->bytes, cut);
		assert_int_equal(ledger_init(&back), 0);
		assert_int_equal(ledger_decode(&back, part, cut, LEDGER_LAYOUT, &got),
				 cut == encoded->n ? 0 : -EBADMSG);
		ledger_done(&back);
		free(part);
	}
	for (int i = 0; i < 3000; i++) {
		size_t at = rand_r(&seed) % encoded->n;
		uint8_t byte = encoded->bytes[at];
		int r;

		encoded->bytes[at] = rand_r(&seed);
		assert_int_equal(ledger_init(&back), 0);
		r = ledger_decode(&back, encoded->bytes, encoded->n, LEDGER_LAYOUT, &got);
		assert_true(r == 0 || r == -EBADMSG);
		for (size_t k = 0; k < back.n_rows; k++) {
			assert_true(back.rows[k].process < back.n_processes);
			assert_true(back.rows[k].node < back.n_nodes);
		}
		ledger_done(&back);
		encoded->bytes[at] = byte;
	}
}

/* Arbitrary bytes are refused, and never read beyond their end. */
static void test_hostile(void **state)
{
	struct ledger_marks marks = LEDGER_MARKS_NONE;
	struct store_window window = window_of(1);
	struct ledger_bytes encoded;
	struct made_sums sums = {};
	struct ledger ledger;

	made_window(1, &ledger, &sums);
	assert_int_equal(ledger_encode(&ledger, &window, &marks, &encoded), 0);
	decode_damaged(&encoded);
	free(encoded.bytes);
	ledger_done(&ledger);
}

static void put_number(uint8_t **at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*(*at)++ = value | 0x80;
	*(*at)++ = value;
}

/* A window without rows whose only new items are @n frames, from @first on. */
static int decode_frames(struct ledger *ledger, size_t first, size_t n)
{
	uint8_t *bytes = calloc(5 * n + 64, 1), *at = bytes;
	struct store_window window;
	int r;

	put_number(&at, 10);
	at += 10; /* fields */
	put_number(&at, 2);
	put_number(&at, 0); /* strings */
	put_number(&at, 1);
	put_number(&at, 0); /* modules */
	put_number(&at, first);
	put_number(&at, n);
	at += 5 * n;
	for (int i = 0; i < 2; i++) { /* nodes, processes */
		put_number(&at, 1);
		put_number(&at, 0);
	}
	put_number(&at, 0);
	r = ledger_decode(ledger, bytes, at - bytes, LEDGER_LAYOUT, &window);
	free(bytes);
	return r;
}

/* Names that are a module and an offset come back as they were, whatever looks like them. */
static void test_offsets(void **state)
{
	static const char *const names[] = {
		"/usr/bin/app",	 "[app+0x1a20]", "[app+0x0]",  "[app+0xffffffffffffffff]",
		"[other+0x10]",	 "[app+0x01]",	 "[app+0xAB]", "[app+0x1 ]",
		"[app+0x12345]", "[+0x1]",	 "[app+0x",    "[app+0x1ffffffffffffffff]"};
	const size_t n_names = sizeof names / sizeof *names;
	struct store_window window = window_of(1), got;
	struct ledger_marks marks = LEDGER_MARKS_NONE;
	struct ledger ledger, back;
	struct ledger_bytes encoded;
	uint32_t id;

	assert_int_equal(ledger_init(&ledger), 0);
	assert_int_equal(ledger_init(&back), 0);
	for (size_t i = 0; i < n_names; i++)
		assert_int_equal(strings_add(&ledger.strings, names[i], &id), 0);
	assert_int_equal(
		array_reserve(ledger.modules, ledger.modules_capacity, ledger.n_modules, 1), 0);
	ledger.modules[ledger.n_modules++] = (struct ledger_module){.path = 2};
	assert_int_equal(ledger_encode(&ledger, &window, &marks, &encoded), 0);
	assert_null(memmem(encoded.bytes, encoded.n, "1a20", 4));
	assert_non_null(memmem(encoded.bytes, encoded.n, "0xAB", 4));
	assert_int_equal(ledger_decode(&back, encoded.bytes, encoded.n, LEDGER_LAYOUT, &got), 0);
	assert_int_equal(back.strings.n_strings, 2 + n_names);
	for (size_t i = 0; i < n_names; i++)
		assert_string_equal(strings_get(&back.strings, 2 + i), names[i]);
	decode_damaged(&encoded);
	free(encoded.bytes);
	ledger_done(&ledger);
	ledger_done(&back);
}

/* Files that were written before rows were sorted by node, and processes by kind, are read. */
static void test_old_layout(void **state)
{
	static const uint8_t bytes[] = {
		10, 1,	5,  5,	 9,  1,	  19,	    0,	 0, 0, 0, /* fields */
		2,  3,	1,  'c', 1,  'e', 1,	    'f',	  /* strings 2, 3, 4 */
		1,  0,						  /* modules */
		1,  1,	0,  0,	 8,  0,	  0,			  /* a frame of function 4 */
		1,  2,	1,  1,	 2,  0,				  /* nodes: 1, and 2 below it */
		1,  2,	20, 2,	 14, 0,	  2,	    2,	 3, 3, 0,
		0, /* processes 10 and 11, of 7 ms */
		2,  1,	1,  4,	 1,  1,	  8 | 0x80, 0,	 0, 3, 4,
		50, 60, /* their rows, at nodes 2 and 1 */
	};
	struct store_window window;
	struct ledger ledger;

	assert_int_equal(ledger_init(&ledger), 0);
	assert_int_equal(ledger_decode(&ledger, bytes, sizeof bytes, LEDGER_OLD_LAYOUT, &window),
			 0);
	assert_int_equal(window.span, 5);
	assert_int_equal(ledger.n_rows, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct ledger_row *row = &ledger.rows[i];
		const struct ledger_process *process = &ledger.processes[row->process];

		assert_int_equal(row->process, 1 + i);
		assert_int_equal(row->node, 2 - i);
		assert_int_equal(row->is_idle, i);
		assert_int_equal(row->count, 3 + i);
		assert_int_equal(row->microseconds, 50 + 10 * i);
		assert_int_equal(process->pid, 10 + i);
		assert_int_equal(process->start, 7000000);
		assert_string_equal(strings_get(&ledger.strings, process->comm), "c");
		assert_string_equal(strings_get(&ledger.strings, process->exe), "e");
	}
	ledger_done(&ledger);
}

/* Windows of a few packed bytes can't make a reader's dictionaries grow without end. */
static void test_large_dictionaries(void **state)
{
	struct ledger ledger;
	size_t n = LEDGER_MAX_ITEMS;

	assert_int_equal(ledger_init(&ledger), 0);
	assert_int_equal(decode_frames(&ledger, 1, n - 1), 0);
	assert_int_equal(decode_frames(&ledger, n, 1), 0);
	assert_int_equal(decode_frames(&ledger, n + 1, 1), -EBADMSG);
	assert_int_equal(ledger.n_frames, n + 1);
	ledger_done(&ledger);
	/* Those that are missing count, too. */
	assert_int_equal(ledger_init(&ledger), 0);
	assert_int_equal(decode_frames(&ledger, n + 1, 1), -EBADMSG);
	assert_int_equal(decode_frames(&ledger, n, 1), 0);
	assert_int_equal(ledger.n_frames, n + 1);
	ledger_done(&ledger);
}

/* A profile comes back stack by stack: names, inlined frames, causes, ends. */
static void test_profile(void **state)
{
	struct unfold_options options = {};
	struct ledger_elided elided;
	struct made_sums sums = {};
	struct profile *profile[2];
	struct ledger ledger;
	char texts[2][8192];

	profile[0] = made_profile(7, &sums);
	assert_int_equal(ledger_init(&ledger), 0);
	assert_int_equal(ledger_add_profile(&ledger, profile[0], NULL, 0), 0);
	assert_int_equal(profile_new(PROFILE_ONCPU, &profile[1]), 0);
	assert_int_equal(ledger_profile(&ledger, NULL, 0, profile[1], &elided), 0);
	assert_int_equal(profile[0]->n_samples, profile[1]->n_samples);
	for (size_t i = 0; i < profile[0]->n_samples; i++) {
		for (int k = 0; k < 2; k++) {
			struct unfolder unfolder = {.profile = profile[k], .options = &options};
			const struct profile_sample *sample = &profile[k]->samples[i];
			size_t n;

			assert_int_equal(unfolder_next(&unfolder, sample), 0);
			n = snprintf(texts[k], sizeof texts[k], "%lu %lu %d %u ",
				     (unsigned long)sample->count,
				     (unsigned long)sample->nanoseconds, sample->is_idle,
				     sample->pid);
			for (size_t f = 0; f < unfolder.n; f++)
				n += snprintf(
					texts[k] + n, sizeof texts[k] - n, "%s/%d;",
					strings_get(&profile[k]->strings, unfolder.frames[f].name),
					unfolder.frames[f].kind);
			unfolder_done(&unfolder);
		}
		assert_string_equal(texts[0], texts[1]);
	}
	assert_int_equal(elided.running + elided.waiting, 0);
	assert_int_equal(profile[1]->locations[0].n_frames, 2);
	profile_free(profile[0]);
	profile_free(profile[1]);
	ledger_done(&ledger);
}

/* Parts below a millionth become one frame; no time is lost. */
static void test_elided(void **state)
{
	struct profile *profile, *back;
	struct ledger_elided elided;
	struct made_sums sums = {};
	struct ledger ledger;
	uint64_t total = 0, light = 0;

	profile = made_profile(8, &sums);
	for (size_t i = 0; i < profile->n_samples; i++) {
		struct profile_sample *sample = &profile->samples[i];

		sample->reason = REASON_FUTEX;
		sample->nanoseconds = i % 2 ? 1000 : 100 * NSEC_PER_SEC;
		total += sample->nanoseconds / 1000;
		light += i % 2;
	}
	assert_int_equal(ledger_init(&ledger), 0);
	assert_int_equal(ledger_add_profile(&ledger, profile, NULL, 0), 0);
	assert_int_equal(profile_new(PROFILE_ONCPU, &back), 0);
	assert_int_equal(ledger_profile(&ledger, NULL, 1, back, &elided), 0);
	assert_int_equal(elided.total_waiting, total);
	assert_in_range(elided.waiting, 1, light);
	assert_int_equal(elided.running, 0);
	for (size_t i = 0; i < back->n_samples; i++)
		total -= back->samples[i].nanoseconds / 1000;
	assert_int_equal(total, 0);
	profile_free(profile);
	profile_free(back);
	ledger_done(&ledger);
}

/* Reports a file of another version and does not change it. */
static void test_version(void **state)
{
	struct made_sums sums[N_WINDOWS] = {};
	uint64_t offsets[N_WINDOWS + 1];
	const uint8_t version = SEGMENT_VERSION + 1;
	int error, fd;

	write_file(sums, offsets);
	fd = openat(place.fd, NAME, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, &version, 1, 8), 1);
	close(fd);
	assert_int_equal(read_file(sums, &error), 0);
	assert_int_equal(error, -EPROTONOSUPPORT);
	assert_int_equal(unlinkat(place.fd, NAME, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_names_alone),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_damaged_header),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_elided),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_old_layout),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_large_heads),
		cmocka_unit_test(test_large_dictionaries),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
