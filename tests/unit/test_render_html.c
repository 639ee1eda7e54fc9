/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The explorer's page, read back. tests/browser tests what browsers make of it. */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/tree.h"
#include "made_profile.h"
#include "render/render.h"

#define MOST_PARTS 16

struct part {
	char name[32];
	const uint8_t *bytes;
	size_t n;
};

struct page {
	char *text, *header; /* header: unescaped where the text is trusted */
	size_t size;
	uint8_t *data;
	size_t n_data;
	struct part parts[MOST_PARTS];
	size_t n_parts;
};

static struct stacks *make_stacks(struct profile *new_, struct profile *base,
				  enum stacks_scale scale)
{
	static const struct stacks_options options = {
		.unfold = {.fold_idle = true, .waker_depth = 4}};
	struct stacks *stacks = calloc(1, sizeof *stacks);

	assert_int_equal(stacks_init(stacks, &options), 0);
	assert_int_equal(stacks_add(stacks, new_, SIDE_NEW), 0);
	if (base)
		assert_int_equal(stacks_add(stacks, base, SIDE_BASE), 0);
	assert_int_equal(stacks_finish(stacks, scale), 0);
	profile_free(new_);
	profile_free(base);
	return stacks;
}

static void free_stacks(struct stacks *stacks)
{
	stacks_done(stacks);
	free(stacks);
}

/* The text of the element that begins with @start, up to the next tag; the caller frees it. */
static char *element(const char *text, const char *start)
{
	const char *from = strstr(text, start), *end;

	assert_non_null(from);
	from += strlen(start);
	end = strchr(from, '<');
	assert_non_null(end);
	return strndup(from, end - from);
}

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = strchr(digits, c);

	assert_true(c && found);
	return found - digits;
}

static uint8_t *decode_base64(const char *text, size_t *ret_n)
{
	size_t n = strlen(text), at = 0;
	uint8_t *bytes = malloc(n + 1);

	assert_int_equal(n % 4, 0);
	for (size_t i = 0; i < n; i += 4) {
		size_t pad = text[i + 2] == '=' ? 2 : text[i + 3] == '=' ? 1 : 0;
		uint32_t bits = digit(text[i]) << 18 | digit(text[i + 1]) << 12;

		assert_true(!pad || i + 4 == n);
		if (pad < 2)
			bits |= digit(text[i + 2]) << 6;
		if (pad < 1)
			bits |= digit(text[i + 3]);
		bytes[at++] = bits >> 16;
		if (pad < 2)
			bytes[at++] = bits >> 8;
		if (pad < 1)
			bytes[at++] = bits;
	}
	*ret_n = at;
	return bytes;
}

static void read_data(struct page *page)
{
	char *text = element(page->text, "<script type=\"application/octet-stream\" id=\"data\">");
	size_t n;
	uint8_t *deflated = decode_base64(text, &n);
	uLongf size = 1 << 22;

	page->data = malloc(size);
	assert_int_equal(uncompress(page->data, &size, deflated, n), Z_OK);
	page->n_data = size;
	free(deflated);
	free(text);
}

static void read_parts(struct page *page)
{
	const char *at = strstr(page->header, "\"parts\":[");
	size_t sum = 0;

	assert_non_null(at);
	at += strlen("\"parts\":[");
	while (*at == '[' || *at == ',') {
		struct part *part = &page->parts[page->n_parts++];
		int read = 0;

		assert_true(page->n_parts < MOST_PARTS);
		at += *at == ',';
		assert_int_equal(sscanf(at, "[\"%31[^\"]\",%zu]%n", part->name, &part->n, &read),
				 2);
		assert_true(read > 0);
		part->bytes = page->data + sum;
		sum += part->n;
		at += read;
	}
	assert_int_equal(*at, ']');
	assert_int_equal(sum, page->n_data);
}

static struct page render(const struct stacks *stacks, const struct picture_options *options)
{
	struct page page = {};
	FILE *stream = open_memstream(&page.text, &page.size);

	assert_int_equal(render_html(stacks, options, stream), 0);
	assert_int_equal(fclose(stream), 0);
	page.header = element(page.text, "<script type=\"application/json\" id=\"header\">");
	read_data(&page);
	read_parts(&page);
	return page;
}

static void free_page(struct page *page)
{
	free(page->text);
	free(page->header);
	free(page->data);
}

static const struct part *find_part(const struct page *page, const char *name)
{
	for (size_t i = 0; i < page->n_parts; i++)
		if (strcmp(page->parts[i].name, name) == 0)
			return &page->parts[i];
	return NULL;
}

static uint64_t next_number(const struct part *part, size_t *at)
{
	uint64_t number = 0;

	for (unsigned int shift = 0;; shift += 7) {
		assert_true(*at < part->n);
		number |= (uint64_t)(part->bytes[*at] & 127) << shift;
		if (part->bytes[(*at)++] < 128)
			return number;
	}
}

static uint64_t header_number(const struct page *page, const char *key)
{
	char text[64];
	const char *found;

	snprintf(text, sizeof text, "\"%s\":", key);
	found = strstr(page->header, text);
	assert_non_null(found);
	return strtoull(found + strlen(text), NULL, 10);
}

/* The page holds the tree that tree_build() makes. */
static void check_tree(const struct page *page, const struct tree *tree, int n_sides)
{
	const struct part *ups = find_part(page, "up"), *frames = find_part(page, "frame");
	const struct part *selfs[N_SIDES] = {find_part(page, "self0"), find_part(page, "self1")};
	size_t up = 0, frame = 0, self[N_SIDES] = {};

	assert_int_equal(header_number(page, "nodes"), tree->n_nodes);
	assert_int_equal(header_number(page, "sides"), n_sides);
	assert_int_equal(!!selfs[1], n_sides == 2);
	for (size_t i = 0; i < tree->n_nodes; i++) {
		const struct tree_node *node = &tree->nodes[i];
		uint64_t number = next_number(frames, &frame);

		assert_int_equal(next_number(ups, &up), i ? node[-1].depth + 1 - node->depth : 0);
		assert_int_equal(number, node->frame == TREE_ROOT     ? 0
					 : node->frame == TREE_ELIDED ? 1
								      : node->frame + 2);
		for (int side = 0; side < n_sides; side++)
			assert_int_equal(next_number(selfs[side], &self[side]),
					 node->sides[side].self);
	}
	assert_int_equal(up, ups->n);
	assert_int_equal(frame, frames->n);
}

static struct profile *make_random(enum profile_mode mode, uint64_t seed)
{
	struct profile *profile = made_profile(mode, NULL, 0);
	uint64_t state = seed;

	for (int i = 0; i < 500; i++) {
		char stack[512] = "main";
		struct made_sample sample = {"app", stack, 1 + made_random(&state) % 100000,
					     .reason = mode == PROFILE_ONCPU	 ? REASON_NONE
						       : made_random(&state) % 2 ? REASON_FUTEX
										 : REASON_ONCPU};
		size_t depth = 1 + made_random(&state) % 12, at = 4;

		for (size_t d = 0; d < depth; d++)
			at += snprintf(stack + at, sizeof stack - at, ";f%" PRIu64 "%s",
				       made_random(&state) % 9, d > 7 ? "_[k]" : "");
		made_add(profile, &sample);
	}
	return profile;
}

static void test_tree_is_whole(void **state)
{
	static const enum profile_mode modes[] = {PROFILE_ONCPU, PROFILE_WALL};

	for (int i = 0; i < 2; i++) {
		struct stacks *stacks =
			make_stacks(make_random(modes[i], 42 + i), NULL, SCALE_NORMALIZED);
		struct page page = render(stacks, &PICTURE_OPTIONS_DEFAULT);
		struct tree_limits limits = {};
		struct tree tree;

		assert_int_equal(tree_build(stacks, &limits, &tree), 0);
		check_tree(&page, &tree, i + 1);
		assert_non_null(strstr(page.header, i ? "\"unit\":\"ns\"" : "\"unit\":\"sample\""));
		tree_done(&tree);
		free_page(&page);
		free_stacks(stacks);
	}
}

static void test_elided_nodes_are_counted(void **state)
{
	struct stacks *stacks = make_stacks(make_random(PROFILE_ONCPU, 7), NULL, SCALE_NORMALIZED);
	struct picture_options options = PICTURE_OPTIONS_DEFAULT;
	struct page page;
	struct tree_limits limits = {.max_nodes = 200};
	struct tree tree;
	size_t at = 0, n = 0;

	options.max_frames = 200;
	page = render(stacks, &options);
	assert_int_equal(tree_build(stacks, &limits, &tree), 0);
	assert_true(tree.n_nodes <= 200 && tree.n_elided > 0);
	check_tree(&page, &tree, 1);
	while (at < find_part(&page, "elided")->n)
		n += next_number(find_part(&page, "elided"), &at);
	assert_int_equal(n, tree.n_elided);
	assert_non_null(strstr(page.header, " elided\""));
	tree_done(&tree);
	free_page(&page);
	free_stacks(stacks);
}

static void test_comparison(void **state)
{
	struct stacks *stacks = make_stacks(make_random(PROFILE_OFFCPU, 3),
					    make_random(PROFILE_OFFCPU, 4), SCALE_NORMALIZED);
	struct page page = render(stacks, &PICTURE_OPTIONS_DEFAULT);
	struct tree_limits limits = {};
	struct tree tree;

	assert_int_equal(tree_build(stacks, &limits, &tree), 0);
	check_tree(&page, &tree, 2);
	assert_non_null(strstr(page.header, "\"comparison\":true"));
	assert_non_null(strstr(page.header, "\"normalized\":true"));
	assert_true(header_number(&page, "compared") >= 1);
	for (int side = 0; side < N_SIDES; side++) {
		const struct part *part = find_part(&page, side ? "deviation1" : "deviation0");
		size_t at = 0;

		for (size_t i = 0; i < tree.n_nodes; i++) {
			const struct tree_side *of = &tree.nodes[i].sides[side];
			double length;

			if (!of->self)
				continue;
			length = exp2(next_number(part, &at) / 64.0);
			assert_true(fabs(length * of->self / of->self_variance - 1) < 0.006);
		}
		assert_int_equal(at, part->n);
	}
	tree_done(&tree);
	free_page(&page);
	free_stacks(stacks);
}

static void test_absolute_comparison(void **state)
{
	struct stacks *stacks = make_stacks(make_random(PROFILE_ONCPU, 3),
					    make_random(PROFILE_ONCPU, 4), SCALE_ABSOLUTE);
	struct page page = render(stacks, &PICTURE_OPTIONS_DEFAULT);

	assert_non_null(strstr(page.header, "\"normalized\":false"));
	assert_non_null(strstr(page.header, "\"scales\":[1,1]"));
	assert_null(find_part(&page, "deviation0"));
	free_page(&page);
	free_stacks(stacks);
}

/*
 * All tags are our own markup. Names appear in the data, one per line, and as text in the part for
 * browsers without scripts.
 */
static void test_hostile_names(void **state)
{
	struct stacks *stacks = make_stacks(made_hostile(PROFILE_ONCPU), NULL, SCALE_NORMALIZED);
	struct picture_options options = PICTURE_OPTIONS_DEFAULT;
	const struct part *names;
	struct page page;
	size_t lines = 1;

	options.title = "</title><script>alert(1)</script>";
	options.subtitle = "</script><script>alert(1)</script>\xff\u202e";
	options.notes = "<!--<script>";
	page = render(stacks, &options);
	assert_null(strstr(page.text, "alert(1)</script>"));
	assert_null(strstr(page.text, "<script>window.hacked"));
	assert_null(strchr(page.header, '<'));
	assert_null(strstr(page.header, "\\u202e"));
	assert_null(strstr(page.header, "\u202e"));
	assert_non_null(strstr(page.header, "\\u003c/script>"));
	assert_non_null(strstr(page.text, "<title>&lt;/title&gt;"));
	names = find_part(&page, "names");
	assert_null(memchr(names->bytes, 0xff, names->n));
	assert_null(memchr(names->bytes, '\r', names->n));
	assert_non_null(memmem(names->bytes, names->n, "<script>alert(1)</script>", 25));
	for (size_t i = 0; i < names->n; i++)
		lines += names->bytes[i] == '\n';
	assert_int_equal(lines, N_MADE_HOSTILE + 1); /* plus "all" and a command */
	free_page(&page);
	free_stacks(stacks);
}

static void test_same_bytes(void **state)
{
	struct stacks *stacks = make_stacks(make_random(PROFILE_ONCPU, 5), NULL, SCALE_NORMALIZED);
	struct page first = render(stacks, &PICTURE_OPTIONS_DEFAULT);
	struct page second = render(stacks, &PICTURE_OPTIONS_DEFAULT);

	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.text, second.text, first.size);
	free_page(&first);
	free_page(&second);
	free_stacks(stacks);
}

static void test_nothing_recorded(void **state)
{
	struct stacks *stacks =
		make_stacks(made_profile(PROFILE_WALL, NULL, 0), NULL, SCALE_NORMALIZED);
	struct page page = render(stacks, &PICTURE_OPTIONS_DEFAULT);

	assert_int_equal(header_number(&page, "nodes"), 1);
	assert_int_equal(header_number(&page, "frames"), 0);
	free_page(&page);
	free_stacks(stacks);
}

static void test_total_widens_the_root(void **state)
{
	static const struct made_sample sample = {"app", "main", 10};
	struct stacks *stacks =
		make_stacks(made_profile(PROFILE_ONCPU, &sample, 1), NULL, SCALE_NORMALIZED);
	struct picture_options options = PICTURE_OPTIONS_DEFAULT;
	struct page page;
	size_t at = 0;

	options.total = 100;
	page = render(stacks, &options);
	assert_int_equal(next_number(find_part(&page, "self0"), &at), 90);
	free_page(&page);
	free_stacks(stacks);
}

static void test_errors(void **state)
{
	struct stacks *stacks = make_stacks(make_random(PROFILE_ONCPU, 5), NULL, SCALE_NORMALIZED);
	struct picture_options options = PICTURE_OPTIONS_DEFAULT;
	FILE *full = fopen("/dev/full", "w");

	assert_non_null(full);
	assert_int_equal(render_html(stacks, &options, full), 0);
	assert_true(fflush(full) != 0 || ferror(full));
	options.colors = "no such palette";
	assert_int_equal(render_html(stacks, &options, full), -EINVAL);
	fclose(full);
	free_stacks(stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree_is_whole),
		cmocka_unit_test(test_elided_nodes_are_counted),
		cmocka_unit_test(test_comparison),
		cmocka_unit_test(test_absolute_comparison),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_nothing_recorded),
		cmocka_unit_test(test_total_widens_the_root),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
