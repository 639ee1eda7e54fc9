/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files, compressed or not, complete or not: their kind is detected and their faults are reported.
 */
#include "unit/made_input.h"

#include <fcntl.h>
#include <lzma.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <zstd.h>

#include "base/stream.h"

static const char stacks[] = "sh;main;read 3\nsh;main;write 4\n";

/* Reads @bytes through a stream, @step at a time, and expects them unchanged. */
static void expect_bytes(const void *packed, size_t n_packed, const char *bytes, size_t n,
			 size_t step)
{
	struct made_file file = made_file(packed, n_packed);
	struct stream stream;
	struct failure failure;
	size_t at = 0;

	assert_int_equal(stream_open(&stream, file.path, 0, &failure), 0);
	for (;;) {
		size_t available;

		assert_int_equal(stream_fill(&stream, step, &failure), 0);
		available = stream_available(&stream);
		if (!available)
			break;
		assert_true(available >= step || stream.at_end);
		available = available < step ? available : step;
		assert_true(at + available <= n);
		assert_memory_equal(stream_bytes(&stream), bytes + at, available);
		stream_take(&stream, available);
		at += available;
		assert_int_equal(stream.taken, at);
	}
	assert_int_equal(at, n);
	assert_int_equal(stream_more(&stream, &failure), 0);
	stream_close(&stream);
	made_file_done(&file);
}

static unsigned char *made_zstd(const void *bytes, size_t n, size_t *ret_n)
{
	unsigned char *packed = malloc(ZSTD_compressBound(n));

	*ret_n = ZSTD_compress(packed, ZSTD_compressBound(n), bytes, n, 3);
	assert_false(ZSTD_isError(*ret_n));
	return packed;
}

static unsigned char *made_xz(const void *bytes, size_t n, size_t *ret_n)
{
	size_t room = lzma_stream_buffer_bound(n);
	unsigned char *packed = malloc(room);

	*ret_n = 0;
	assert_int_equal(
		lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, NULL, bytes, n, packed, ret_n, room),
		LZMA_OK);
	return packed;
}

static const struct packing {
	const char *name;
	size_t n_magic;
	unsigned char *(*make)(const void *bytes, size_t n, size_t *ret_n);
} packings[] = {{"gzip", 2, made_gzip}, {"zstd", 4, made_zstd}, {"xz", 6, made_xz}};

static char *noise(size_t n)
{
	char *bytes = malloc(n);
	uint64_t random = 7;

	for (size_t i = 0; i < n; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		bytes[i] = "abcdefgh"[random >> 61];
	}
	return bytes;
}

static void stream_sizes(void **state)
{
	static const size_t sizes[] = {
		0, 1, 2, 3, 1000, 131071, 131072, 131073, 1 << 20, (1 << 20) + 1, 5000000};
	static const size_t steps[] = {1000, 1 << 20, 3333333};

	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t k = 0; k < COUNT(steps); k++) {
			char *bytes = noise(sizes[i]);

			expect_bytes(bytes, sizes[i], bytes, sizes[i], steps[k]);
			for (size_t p = 0; p < COUNT(packings); p++) {
				size_t n;
				unsigned char *packed = packings[p].make(bytes, sizes[i], &n);

				expect_bytes(packed, n, bytes, sizes[i], steps[k]);
				free(packed);
			}
			free(bytes);
		}
}

/*
 * Several members, as of `cat a.gz b.gz`; an empty member; zero padding, as at the end of a tape.
 */
static void expect_joined(const struct packing *packing)
{
	size_t n[3], at = 0;
	unsigned char *parts[3] = {packing->make("first ", 6, &n[0]), packing->make("", 0, &n[1]),
				   packing->make("second", 6, &n[2])};
	unsigned char joined[1000] = {0};

	for (int i = 0; i < 3; i++) {
		memcpy(joined + at, parts[i], n[i]);
		at += n[i];
		free(parts[i]);
	}
	expect_bytes(joined, at, "first second", 12, 100);
	if (packing->make == made_gzip)
		expect_bytes(joined, sizeof joined, "first second", 12, 100);
}

static void stream_members(void **state)
{
	for (size_t p = 0; p < COUNT(packings); p++)
		expect_joined(&packings[p]);
}

static void stream_many_members(void **state)
{
	size_t n, n_members = 3000;
	unsigned char *member = made_gzip("0123456789", 10, &n), *all = malloc(n * n_members);
	char *expected = malloc(10 * n_members);

	for (size_t i = 0; i < n_members; i++) {
		memcpy(all + i * n, member, n);
		memcpy(expected + i * 10, "0123456789", 10);
	}
	expect_bytes(all, n * n_members, expected, 10 * n_members, 4096);
	free(member);
	free(all);
	free(expected);
}

static void packed_is_read(void **state)
{
	for (size_t p = 0; p < COUNT(packings); p++) {
		struct input input = made_input((struct input_options){0});
		size_t n;
		unsigned char *packed = packings[p].make(stacks, sizeof stacks - 1, &n);

		assert_int_equal(made_read_bytes(&input, packed, n), 0);
		made_expect_profile(input.profile, &made_all, stacks);
		assert_int_equal(input.stats.bytes, sizeof stacks - 1);
		assert_int_equal(input.stats.lines, 2);
		input_done(&input);
		free(packed);
	}
}

/* Cut at every byte. */
static void expect_cut(const struct packing *packing)
{
	size_t n;
	unsigned char *packed = packing->make(stacks, sizeof stacks - 1, &n);
	char what[64], fix[64];

	snprintf(what, sizeof what, ": this %s file is cut off after ", packing->name);
	snprintf(fix, sizeof fix, "%s -t", packing->name);
	for (size_t cut = packing->n_magic; cut < n; cut++) {
		struct input input = made_input((struct input_options){0});

		assert_int_equal(made_read_bytes(&input, packed, cut), -EINVAL);
		assert_non_null(strstr(made_failure.what, what));
		assert_non_null(strstr(made_failure.fix, fix));
		input_done(&input);
	}
	free(packed);
}

static void packed_cut(void **state)
{
	for (size_t p = 0; p < COUNT(packings); p++)
		expect_cut(&packings[p]);
}

static void expect_damaged(const struct packing *packing)
{
	size_t n_lines = 20000, n_text = 0, n;
	char *text = malloc(n_lines * 40);
	unsigned char *packed;
	unsigned int errors = 0;

	for (size_t i = 0; i < n_lines; i++)
		n_text += sprintf(text + n_text, "sh;main;function%zu %zu\n", i * 7919 % 65537,
				  i % 97);
	packed = packing->make(text, n_text, &n);
	for (size_t at = packing->n_magic + 1; at < n; at += n / 30) {
		struct input input = made_input((struct input_options){0});
		int r;

		packed[at] ^= 0x55;
		r = made_read_bytes(&input, packed, n);
		/*
		 * Damage is found by the checksum at the latest. Excluded: gzip's header has a time
		 * and a system that say nothing; zstd's library adds no checksum.
		 */
		assert_true(r == -EINVAL || (at < 10 && r == 0) || packing->make == made_zstd);
		errors += r < 0 && strstr(made_failure.what, packing->name);
		packed[at] ^= 0x55;
		input_done(&input);
	}
	assert_true(errors > 0);
	free(packed);
	free(text);
}

static void packed_damaged(void **state)
{
	for (size_t p = 0; p < COUNT(packings); p++)
		expect_damaged(&packings[p]);
}

static void gzip_trailing_garbage(void **state)
{
	size_t n;
	unsigned char *packed = made_gzip(stacks, sizeof stacks - 1, &n);

	packed = realloc(packed, n + 7);
	memcpy(packed + n, "garbage", 7);
	made_expect_failure((char *)packed, n + 7, -EINVAL,
			    ": this gzip file is damaged after 31 bytes of it");
	free(packed);
}

static void bound_of_bytes(void **state)
{
	size_t n_text = 10 << 20, n;
	char *text = malloc(n_text);
	unsigned char *packed;

	for (size_t i = 0; i < n_text; i++)
		text[i] = "a;b 1\n"[i % 6];
	packed = made_gzip(text, n_text, &n);
	assert_true(n < n_text / 100);
	for (int is_packed = 0; is_packed < 2; is_packed++) {
		struct input input = made_input((struct input_options){.max_bytes = 1 << 20});

		assert_int_equal(made_read_bytes(&input, is_packed ? (char *)packed : text,
						 is_packed ? n : n_text),
				 -E2BIG);
		assert_string_equal(made_failure.what,
				    is_packed ? ": has more than 1048576 bytes when it is "
						"uncompressed"
					      : ": has more than 1048576 bytes");
		input_done(&input);
	}
	free(packed);
	free(text);
}

static void no_file(void **state)
{
	struct input input = made_input((struct input_options){0});
	struct failure failure;

	assert_int_equal(input_read(&input, "/nonexistent/file", &failure), -ENOENT);
	assert_string_equal(failure.what, "/nonexistent/file: No such file or directory");
	assert_int_equal(input_read(&input, "/proc", &failure), -EISDIR);
	assert_string_equal(failure.what, "/proc: Is a directory");
	assert_int_equal(input_read(&input, "", &failure), -ENOENT);
	input_done(&input);
}

/* Runs @write in a child with one end of a pipe; standard input is the other end. */
static int read_pipe(struct input *input, void (*produce)(int fd))
{
	int ends[2], before = dup(STDIN_FILENO), r;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		signal(SIGPIPE, SIG_DFL);
		produce(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	made_failure = (struct failure){0};
	r = input_read(input, "-", &made_failure);
	/* Standard input stays open. */
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	dup2(before, STDIN_FILENO);
	close(before);
	waitpid(child, NULL, 0);
	return r;
}

static void produce_slowly(int fd)
{
	for (const char *byte = stacks; *byte; byte++) {
		struct timespec pause = {.tv_nsec = 100000};

		if (write(fd, byte, 1) != 1)
			_exit(1);
		nanosleep(&pause, NULL);
	}
}

static void standard_input(void **state)
{
	struct input input = made_input((struct input_options){0});

	assert_int_equal(read_pipe(&input, produce_slowly), 0);
	made_expect_profile(input.profile, &made_all, stacks);
	input_done(&input);
}

static void produce_endless_line(int fd)
{
	char *block = malloc(1 << 20);

	memset(block, 'x', 1 << 20);
	if (write(fd, "sh;main 1\nsh;", 13) != 13)
		_exit(1);
	/* Writes until the pipe breaks. */
	while (write(fd, block, 1 << 20) > 0)
		;
}

static void endless_line(void **state)
{
	struct input input = made_input((struct input_options){0});

	assert_int_equal(read_pipe(&input, produce_endless_line), -EINVAL);
	assert_string_equal(made_failure.what, "standard input:2: this line is longer than 64 MB");
	input_done(&input);
}

static void produce_endless_frames(int fd)
{
	char *block = malloc(1 << 20);

	memset(block, ';', 1 << 20);
	for (int i = 0; i < 20; i++)
		if (write(fd, block, 1 << 20) != 1 << 20)
			_exit(1);
	if (write(fd, " 1\n", 3) != 3)
		_exit(1);
}

static void too_many_frames(void **state)
{
	struct input input = made_input((struct input_options){0});

	assert_int_equal(read_pipe(&input, produce_endless_frames), -E2BIG);
	assert_string_equal(made_failure.what,
			    "standard input:1: this stack has more than 1048576 frames");
	input_done(&input);
}

static void nothing(void **state)
{
	made_expect("", (struct input_options){0}, PROFILE_ONCPU, "");
	made_expect("\n\n# nothing\n", (struct input_options){0}, PROFILE_ONCPU, "");
}

static void no_profile(void **state)
{
	static const char elf[] = "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\76\0";
	static const char zeros[4096];
	char noise_bytes[4096];
	uint64_t random = 1;

	for (size_t i = 0; i < sizeof noise_bytes; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		noise_bytes[i] = random >> 56;
	}
#define NEITHER ": neither folded lines, nor pprof, nor JSON, nor the text of perf script"
	made_expect_failure(elf, sizeof elf - 1, -EINVAL, NEITHER ": byte 7 is 0");
	made_expect_failure(zeros, sizeof zeros, -EINVAL, NEITHER ": byte 0 is 0");
	made_expect_failure(noise_bytes, sizeof noise_bytes, -EINVAL, NEITHER ": byte 53 is 0");
	made_expect_failure("some text\n", 10, -EINVAL, ":1: no value at the end of the line");
	assert_string_equal(made_failure.fix,
			    "a folded line ends in a space and digits: main;work;wait 3");
}

/* Files of other programs, named with the command that makes them readable. */
static void known_others(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *what, *fix;
	} cases[] = {
#define BYTES(text) text, sizeof text - 1
		{BYTES("PERFILE2h\0\0\0"), ": perf's recording", "perf script -i /"},
		{BYTES("BZh91AY&SY\0"), ": packed by bzip2", "bzip2 -dc /"},
		{BYTES("\377\376a\0;\0b\0 \0001\0\n\0"), ": text in UTF-16", "iconv -f UTF-16 "},
		{BYTES("--- contentionz 1 ---\nperiod = 1\n  9 1 @ 0x1 0x2\n"),
		 ": pprof's format before protocol buffers", "go tool pprof -proto /"},
		{BYTES("heap profile: 1: 2 [ 3: 4] @ heapz_v2/524288\n"),
		 ": pprof's format before protocol buffers", "go tool pprof -proto /"},
		{BYTES("Attaching 1 probe...\n\n@[\n    f+1\n]: 5\n"), ": what bpftrace prints",
		 "stackcollapse-bpftrace.pl /"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char what[128];

		snprintf(what, sizeof what, "%s, which cannot be read here", cases[i].what);
		made_expect_failure(cases[i].text, cases[i].n, -EINVAL, what);
		assert_ptr_equal(strstr(made_failure.fix, cases[i].fix), made_failure.fix);
	}
	/* A command may be called like that. */
	made_expect("@[a;b 3\nBZh;c 4\n", (struct input_options){0}, PROFILE_ONCPU,
		    "@[a;b 3\nBZh;c 4\n");
}

static void files_add_up(void **state)
{
	struct input input = made_input((struct input_options){0});

	assert_int_equal(made_read(&input, "a;b 1\na;c 2\n"), 0);
	assert_int_equal(made_read(&input, "a;b 10\nd 5\n"), 0);
	assert_int_equal(input.profile->n_samples, 3);
	made_expect_profile(input.profile, &made_all, "a;b 11\na;c 2\nd 5\n");
	assert_null(input.base);
	assert_int_equal(input.stats.lines, 4);
	input_done(&input);
}

static void times_add_up(void **state)
{
	struct input input = made_input((struct input_options){0});

	assert_int_equal(made_read(&input, "a;b;[sleep] 1\n"), 0);
	assert_int_equal(input.profile->mode, PROFILE_OFFCPU);
	assert_int_equal(made_read(&input, "a;b;[sleep] 10\na;b;[disk] 7\n"), 0);
	assert_int_equal(input.profile->mode, PROFILE_OFFCPU);
	assert_int_equal(input.profile->samples[0].nanoseconds, 11000);
	assert_int_equal(input.profile->samples[0].count, 2);
	assert_int_equal(made_read(&input, "a;b;[sleep] 100\na;b;[on-cpu] 7\n"), 0);
	assert_int_equal(input.profile->mode, PROFILE_WALL);
	made_expect_profile(input.profile, &made_all,
			    "a;b;[disk] 7\na;b;[on-cpu] 7\na;b;[sleep] 111\n");
	input_done(&input);
}

static void modes_differ(void **state)
{
	struct input input = made_input((struct input_options){0});

	assert_int_equal(made_read(&input, "a;b 1\n"), 0);
	assert_int_equal(made_read(&input, "a;b;[sleep] 10\n"), -EINVAL);
	assert_string_equal(made_failure.what,
			    ": holds times of waiting, where the files before it hold samples");
	input_done(&input);
	input = made_input((struct input_options){0});
	assert_int_equal(made_read(&input, "a;b;[sleep] 10\n"), 0);
	assert_int_equal(made_read(&input, "a;b 1\n"), -EINVAL);
	assert_string_equal(made_failure.what,
			    ": holds samples, where the files before it hold times of waiting");
	assert_int_equal(made_read(&input, "sh 1 2.3: cpu-clock:\n\tff f (/x)\n\n"), -EINVAL);
	assert_string_equal(made_failure.what,
			    ": holds samples, where the files before it hold times");
	input_done(&input);
}

static void in_order(void **state)
{
	struct input input = made_input((struct input_options){.in_order = true});

	assert_int_equal(made_read(&input, "a;b 1\na;b 2\nc 3\na;b 4\n"), 0);
	assert_int_equal(input.profile->n_samples, 3);
	assert_int_equal(input.profile->samples[0].count, 3);
	assert_int_equal(input.profile->samples[1].count, 3);
	assert_int_equal(input.profile->samples[2].count, 4);
	assert_int_equal(input.profile->samples[0].stack, input.profile->samples[2].stack);
	input_done(&input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_sizes),
		cmocka_unit_test(stream_members),
		cmocka_unit_test(stream_many_members),
		cmocka_unit_test(packed_is_read),
		cmocka_unit_test(packed_cut),
		cmocka_unit_test(packed_damaged),
		cmocka_unit_test(gzip_trailing_garbage),
		cmocka_unit_test(bound_of_bytes),
		cmocka_unit_test(no_file),
		cmocka_unit_test(standard_input),
		cmocka_unit_test(endless_line),
		cmocka_unit_test(too_many_frames),
		cmocka_unit_test(nothing),
		cmocka_unit_test(no_profile),
		cmocka_unit_test(known_others),
		cmocka_unit_test(files_add_up),
		cmocka_unit_test(times_add_up),
		cmocka_unit_test(modes_differ),
		cmocka_unit_test(in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
