/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of anybody, made at random: what is read of one can be written, and that file comes back as
 * it is. Ids are missing or there twice, numbers are large or below 0, texts are those that mean
 * something to us.
 */
#include "unit/made_pprof_file.h"

#define N_FILES 1500

static const char *const texts[] = {"",		"samples",   "count", "cpu",	     "nanoseconds",
				    "off_cpu",	"wall",	     "bytes", "[idle]",	     "--",
				    "a;b",	"f_[k]",     "#",     "[sleep]",     "x\x1b[m",
				    "\xff\xfe", "pid",	     "tid",   "comm",	     "thread",
				    "reason",	"[unknown]", "a 1",   "[truncated]", "all",
				    "e-1/2",	"-1/2",	     "\n",    "process",     "command"};

static uint64_t seed;

static uint64_t draw(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

/* Mostly one that is there. */
static uint64_t draw_id(void)
{
	return draw(200) ? 1 + draw(6) : draw(3) ? draw(9) : ~0ull - draw(2);
}

static int64_t draw_text(void)
{
	return draw(1000) ? (int64_t)draw(COUNT(texts)) : ((int64_t)draw(3) - 1) * 1000;
}

static int64_t draw_value(void)
{
	static const int64_t odd[] = {0, -1, INT64_MAX, INT64_MIN, 1ll << 53, 1000, 999};

	return draw(100) ? (int64_t)draw(5000) : odd[draw(COUNT(odd))];
}

static void add_random_sample(struct made_message *file, size_t n_values)
{
	uint64_t locations[5];
	int64_t values[3];
	struct made_label labels[3];
	size_t n = draw(6), n_labels = draw(4);

	for (size_t i = 0; i < n; i++)
		locations[i] = draw_id();
	for (size_t i = 0; i < n_values; i++)
		values[i] = draw_value();
	for (size_t i = 0; i < n_labels; i++)
		labels[i] = (struct made_label){draw_text(), draw(2) ? draw_text() : 0, draw(9)};
	add_sample(file, locations, n, values, n_values, labels, n_labels);
}

static void add_random_part(struct made_message *file, size_t n_values)
{
	uint64_t functions[3] = {draw_id(), draw(2) ? draw_id() : 0, 0};

	switch (draw(60)) {
	case 0: add_mapping(file, draw_id(), draw(4) << 20, draw(3) << 12, draw_text()); break;
	case 1:
		add_location(file, draw_id(), draw(2) ? draw_id() : 0, draw(1 << 22),
			     draw(4) ? functions : NULL);
		break;
	case 2: add_function(file, draw_id(), draw_text(), draw_text(), draw_text()); break;
	default: add_random_sample(file, draw(500) ? n_values : draw(3)); break;
	}
}

static struct made_message random_file(void)
{
	struct made_message file = {.n = 0};
	size_t n_values = 1 + draw(2), n_parts = 5 + draw(40);

	for (size_t i = 0; i < n_values; i++)
		add_type(&file, draw(8), draw(8));
	for (uint64_t id = 1; id <= 6; id++) {
		add_mapping(&file, id, id << 12, draw(3) << 12, draw_text());
		add_function(&file, id, draw_text(), draw_text(), draw_text());
		add_location(&file, id, draw(7), id << 12, FUNCTIONS(id));
	}
	for (size_t i = 0; i < n_parts; i++)
		add_random_part(&file, n_values);
	add_strings(&file, texts, COUNT(texts));
	return file;
}

/* Reads @bytes and writes what they say; NULL: they are refused. */
static char *rewrite(const void *bytes, size_t n, const struct unfold_options *unfold,
		     size_t *ret_n)
{
	struct input input = made_input((struct input_options){0});
	char *again = NULL;

	if (made_read_bytes(&input, bytes, n) == 0)
		again = made_pprof(input.profile, unfold, ret_n);
	input_done(&input);
	return again;
}

static void files_of_anybody_come_back(void **state)
{
	unsigned int n_read = 0;

	for (uint64_t number = 1; number <= N_FILES; number++) {
		struct unfold_options unfold = {.waker_depth = 8,
						.fold_idle = number & 1,
						.no_kernel = number >> 1 & 1,
						.no_reason = number >> 2 & 1};
		struct made_message file;
		size_t n_first, n_second = 0;
		char *first, *second;

		seed = number * 0x9e3779b97f4a7c15;
		file = random_file();
		first = rewrite(file.bytes, file.n, &unfold, &n_first);
		if (!first)
			continue;
		n_read++;
		second = rewrite(first, n_first, &unfold, &n_second);
		if (!second || n_first != n_second || memcmp(first, second, n_first) != 0)
			fail_msg("file %d: %s", (int)number,
				 second ? "comes back otherwise" : made_failure.what);
		free(first);
		free(second);
	}
	/* Not all are refused. */
	assert_true(n_read > N_FILES / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_anybody_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
