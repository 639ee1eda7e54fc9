/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames whose loop has not left its anchor yet, in stacks made by hand. */
#include "unit/cmocka_all.h"

#include <string.h>

#include "collect/late_anchors.h"

enum { METHOD = 1, FUNCTION = 2, OWNER = 5 };

#define FRAME(owner, kind, code)                                                                   \
	(BF_FRAME_RUNTIME | (uint64_t)(kind) << BF_FRAME_KIND_SHIFT |                              \
	 (uint64_t)(owner) << BF_FRAME_OWNER_SHIFT | (code)),                                      \
		(code)
#define M(code)	    FRAME(OWNER, METHOD, code)
#define F(code)	    FRAME(OWNER, FUNCTION, code)
#define OTHER(code) FRAME(OWNER + 1, METHOD, code)

/* Native frames: the loop, what it calls, what calls it. */
#define LOOP 0x110
#define CORE 0x20
#define C    0x30

static const struct late_anchors code = {
	.start = 0x100, .end = 0x200, .owner = OWNER, .function = FUNCTION};

#define expect(words, placed)                                                                      \
	do {                                                                                       \
		uint64_t found[BF_MAX_FRAMES];                                                     \
		uint32_t n = sizeof(words) / sizeof *(words);                                      \
                                                                                                   \
		assert_int_equal(late_anchors_place(words, n, &code, found),                       \
				 sizeof(placed) / sizeof *(placed));                               \
		assert_memory_equal(found, placed, sizeof(placed));                                \
	} while (0)

static void assert_kept(const uint64_t *words, uint32_t n)
{
	uint64_t found[BF_MAX_FRAMES];

	assert_int_equal(late_anchors_place(words, n, &code, found), 0);
}

static void test_in_their_places(void **state)
{
	const uint64_t plain[] = {M(1), F(2), CORE, LOOP, C, M(3), CORE, LOOP, C};
	const uint64_t left[] = {LOOP, C, M(3), CORE, LOOP, C};
	const uint64_t coroutine[] = {M(1), CORE, LOOP, C, F(2), F(3)};

	assert_kept(plain, sizeof plain / sizeof *plain);
	assert_kept(left, sizeof left / sizeof *left);
	assert_kept(coroutine, sizeof coroutine / sizeof *coroutine);
	assert_kept(plain, 0);
}

static void test_loop_has_begun(void **state)
{
	const uint64_t words[] = {LOOP, C, M(1), CORE, LOOP, C, M(2), F(3), CORE, LOOP, C, M(4)};
	const uint64_t placed[] = {M(1), LOOP, C, M(2), F(3), CORE, LOOP, C, M(4), CORE, LOOP, C};
	/* It has called something, and there is one loop only. */
	const uint64_t called[] = {C, LOOP + 1, C, M(1)};
	const uint64_t one[] = {C, M(1), LOOP + 1, C};

	expect(words, placed);
	expect(called, one);
}

static void test_loop_has_not_begun(void **state)
{
	const uint64_t words[] = {C, M(1), CORE, LOOP, C, M(2)};
	const uint64_t placed[] = {C, M(2), CORE, LOOP, C};

	expect(words, placed);
}

static void test_others_stay(void **state)
{
	const uint64_t words[] = {LOOP, OTHER(7), C, M(1), OTHER(8), CORE, LOOP, C, M(2), F(3)};
	const uint64_t placed[] = {M(1), LOOP, OTHER(7), C, M(2), OTHER(8), CORE, LOOP, C, F(3)};

	expect(words, placed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_their_places),
		cmocka_unit_test(test_loop_has_begun),
		cmocka_unit_test(test_loop_has_not_begun),
		cmocka_unit_test(test_others_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
