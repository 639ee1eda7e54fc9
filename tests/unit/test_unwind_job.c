/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables made by somebody else: sound ones are accepted, and looking up any address in an accepted
 * one stays within it (the sanitizers check that).
 */
#include "unit/made_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/table_job.h"

#define TURNS 20000

static bool wait_for_ever(void *context, uint64_t quiet_ns)
{
	return true;
}

/* From this program: some functions of every kind. */
static int own_program(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int make_table(struct reader_request *request)
{
	return table_job_run(request, &(struct table_helpers){});
}

static void expect_same(const struct unwind_table *a, const struct unwind_table *b)
{
	assert_int_equal(a->n_parts, b->n_parts);
	assert_int_equal(a->machine, b->machine);
	assert_int_equal(a->n_functions, b->n_functions);
	assert_int_equal(a->code_bytes, b->code_bytes);
	for (uint32_t i = 0; i < a->n_parts; i++) {
		assert_int_equal(a->parts[i].n_words, b->parts[i].n_words);
		if (a->parts[i].n_words)
			assert_memory_equal(a->parts[i].words, b->parts[i].words,
					    a->parts[i].n_words * 4ul);
	}
}

static void the_reader_makes_the_same_table(void **state)
{
	struct reader reader = READER_NONE;
	struct table_result result;
	struct unwind_table here;
	struct elf_file elf;
	int fd = own_program();
	const struct table_question question = {
		.file = fd, .path = "/program", .root = -1, .wait = wait_for_ever};

	assert_int_equal(table_job_call(&reader, &question, &result), 0);
	assert_int_equal(result.error, 0);
	assert_true(result.is_elf && !result.is_go);
	assert_int_equal(elf_file_open(&elf, fd), 0);
	assert_int_equal(unwind_table_build(&elf, &here), 0);
	expect_same(&result.table, &here);
	assert_true(here.n_functions > 100);
	unwind_table_done(&result.table);
	unwind_table_done(&here);
	elf_file_done(&elf);
	close(fd);
	reader_stop(&reader);
}

static void other_files_are_reported_as_no_program(void **state)
{
	struct reader reader = READER_NONE;
	struct table_result result;
	int fd = open("/proc/version", O_RDONLY | O_CLOEXEC);
	const struct table_question question = {
		.file = fd, .path = "/text", .root = -1, .wait = wait_for_ever};

	assert_int_equal(table_job_call(&reader, &question, &result), 0);
	assert_int_equal(result.error, -ENOEXEC);
	assert_false(result.is_elf);
	close(fd);
	reader_stop(&reader);
}

/* Looks up every byte that @part may cover. */
static void look_up_all(struct unwind_part *part)
{
	struct unwind_table laid = {.parts = part, .n_parts = 1};
	volatile uint32_t sum = 0;

	for (uint64_t offset = 0; offset < 1 << BF_PART_SHIFT; offset += 37) {
		const struct bf_rule *rule = unwind_table_find(&laid, offset);

		if (rule)
			sum += rule->cfa + rule->ra_offset;
	}
}

static void corrupted_parts_are_refused_or_harmless(void **state)
{
	unsigned int seed = 42, n_sound = 0, n_refused = 0;
	struct unwind_part part;
	uint32_t n;

	begin_eh(EM_X86_64);
	for (int i = 0; i < 40; i++)
		FDE(0x2000 + 0x100 * i, 0x80, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16 + i,
		    DW_CFA_offset | 6, 2);
	finish_eh();
	n = table.parts[0].n_words;
	assert_true(unwind_part_is_sound(&table.parts[0]));
	for (int turn = 0; turn < TURNS; turn++) {
		part = (struct unwind_part){malloc(n * 4ul), n};
		memcpy(part.words, table.parts[0].words, n * 4ul);
		for (int k = rand_r(&seed) % 4; k >= 0; k--) {
			/* Most things that can be wrong are near the beginning. */
			uint32_t at = rand_r(&seed) % (turn % 2 ? n : 80 < n ? 80 : n);

			part.words[at] =
				turn % 3 ? rand_r(&seed) % (2 * n) : (uint32_t)rand_r(&seed) << 1;
		}
		if (turn % 5 == 0) {
			part.n_words = 1 + rand_r(&seed) % n;
			part.words = realloc(part.words, part.n_words * 4ul);
		}
		if (unwind_part_is_sound(&part)) {
			n_sound++;
			if (n_sound % 8 == 0)
				look_up_all(&part);
		} else {
			n_refused++;
		}
		free(part.words);
	}
	assert_true(n_sound > 100 && n_refused > 100);
	done();
}

int main(int argc, char **argv)
{
	static const reader_job_fn jobs[N_READER_JOBS] = {[READER_TABLE] = make_table};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reader_makes_the_same_table),
		cmocka_unit_test(other_files_are_reported_as_no_program),
		cmocka_unit_test(corrupted_parts_are_refused_or_harmless),
	};

	if (strcmp(argv[0], READER_NAME) == 0)
		return reader_run(jobs);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
