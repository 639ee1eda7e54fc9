/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/table_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/go_open.h"
#include "base/system.h"
#include "unwind/walk.h"

#define MAX_PARTS (1u << 14) /* files have no code beyond 4 GiB */

/*
 * The beginning of the answer; the sizes of the parts follow, then the words of them all. Extra
 * bytes are part of it, so that words stay aligned.
 */
struct table_header {
	int32_t error;
	uint8_t is_elf, is_go;
	uint16_t machine;
	uint32_t n_parts, n_functions, n_rows, n_rules, n_skipped, n_extra;
	uint64_t code_bytes, read_bytes, bare_bytes;
	uint8_t extra[TABLE_EXTRA_MAX];
};

/* --- The requesting side --- */

bool unwind_part_is_sound(const struct unwind_part *part)
{
	const uint32_t *words = part->words, n = part->n_words;
	uint32_t n_pages, rows;

	if (!n)
		return true;
	n_pages = words[0];
	if (n_pages > BF_PART_PAGES || n_pages + 2 > n)
		return false;
	for (uint32_t i = 1; i <= n_pages; i++)
		if (words[i] > words[i + 1])
			return false;
	rows = words[1];
	if (words[n_pages + 1] > n || rows < n_pages + 2)
		return false;
	for (uint32_t i = rows; i < words[n_pages + 1]; i++)
		if ((words[i] & ((1u << BF_ROW_RULE_BITS) - 1)) + BF_RULE_WORDS > n)
			return false;
	return true;
}

/* Lays the parts over the words in @block. Returns whether they are sound. */
static bool lay_parts(struct unwind_table *table, const uint32_t *sizes, uint32_t *words,
		      size_t n_words)
{
	for (uint32_t i = 0; i < table->n_parts; i++) {
		struct unwind_part *part = &table->parts[i];

		if (sizes[i] > n_words || sizes[i] > BF_SEGMENT_WORDS - BF_SEGMENT_FIRST)
			return false;
		*part = (struct unwind_part){sizes[i] ? words : NULL, sizes[i]};
		if (!unwind_part_is_sound(part))
			return false;
		words += sizes[i];
		n_words -= sizes[i];
	}
	return n_words == 0;
}

/* Takes over @block, an answer of @n bytes. */
static int read_answer(void *block, size_t n, struct table_result *ret)
{
	const struct table_header *header = block;
	struct unwind_table *table = &ret->table;
	uint32_t *words;

	*ret = (struct table_result){.error = -ENOEXEC, .table.block = block};
	if (n < sizeof *header || header->error > 0 || header->n_parts > MAX_PARTS ||
	    header->n_extra > sizeof header->extra || (n - sizeof *header) % sizeof *words ||
	    header->n_parts > (n - sizeof *header) / sizeof *words)
		return -EPROTO;
	*ret = (struct table_result){
		.error = header->error,
		.is_elf = header->is_elf,
		.is_go = header->is_go,
		.table = {.block = block,
			  .machine = header->machine,
			  .code_bytes = header->code_bytes,
			  .read_bytes = header->read_bytes,
			  .bare_bytes = header->bare_bytes,
			  .n_functions = header->n_functions,
			  .n_rows = header->n_rows,
			  .n_rules = header->n_rules,
			  .n_skipped = header->n_skipped},
	};
	ret->n_extra = header->n_extra;
	memcpy(ret->extra, header->extra, header->n_extra);
	table->parts = calloc(header->n_parts + 1, sizeof *table->parts);
	if (!table->parts)
		return -ENOMEM;
	table->n_parts = header->n_parts;
	words = (uint32_t *)(header + 1);
	return lay_parts(table, words, words + table->n_parts,
			 (n - sizeof *header) / sizeof *words - table->n_parts)
		       ? 0
		       : -EPROTO;
}

static bool wait_on(void *context, uint64_t quiet_ns)
{
	const struct table_question *question = context;

	return question->wait(question->context, quiet_ns);
}

static void answer_on(void *context, const void *bytes, size_t n, struct reader_reply *ret)
{
	const struct table_question *question = context;

	if (question->debug)
		question->debug->answer(question->file, question->path, question->root, bytes, n,
					ret);
	else
		ret->error = -ENOENT;
}

int table_job_call(struct reader *reader, const struct table_question *question,
		   struct table_result *ret)
{
	uint8_t place[READER_PLACE_MAX];
	struct reader_call call = {
		.job = READER_TABLE,
		.request = place,
		.fds = {question->file},
		.n_fds = 1,
		.wait = wait_on,
		.asked = answer_on,
		.context = (void *)question,
	};
	void *answer;
	size_t n;
	int r;

	if (question->debug)
		call.n = question->debug->describe(question->file, question->path, question->root,
						   place);
	r = reader_call(reader, &call, &answer, &n);
	if (r < 0)
		return r;
	r = read_answer(answer, n, ret);
	if (r < 0 || ret->error < 0)
		unwind_table_done(&ret->table);
	return r;
}

/* --- The reader's side --- */

static int send_table(const struct reader_request *request, const struct table_header *header,
		      const struct unwind_table *table)
{
	size_t n = table->n_parts;
	uint32_t *sizes = malloc((n + 1) * sizeof *sizes);
	struct reader_piece *pieces = malloc((n + 2) * sizeof *pieces);
	int r = -ENOMEM;

	if (sizes && pieces) {
		pieces[0] = (struct reader_piece){header, sizeof *header};
		pieces[1] = (struct reader_piece){sizes, n * sizeof *sizes};
		for (size_t i = 0; i < n; i++) {
			const struct unwind_part *part = &table->parts[i];

			sizes[i] = part->n_words;
			pieces[2 + i] = (struct reader_piece){part->words, part->n_words * 4ul};
		}
		r = reader_answer(request, pieces, n + 2);
	}
	free(sizes);
	free(pieces);
	return r;
}

/* Builds the table of @elf, with the stripped sections if most of its code lacks them. */
static int build(const struct reader_request *request, struct elf_file *elf,
		 int (*open_debug)(const struct reader_request *request, struct elf_file *elf),
		 struct unwind_table *ret)
{
	_cleanup_close_ int fd = -1;
	struct unwind_table whole;
	struct elf_file debug;
	int r = elf->machine == WALK_HOST_MACHINE ? unwind_table_build(elf, ret) : -ENOENT;

	if (r < 0 || !unwind_table_is_bare(ret) || !open_debug || !request->n)
		return r;
	fd = open_debug(request, elf);
	if (fd < 0 || elf_file_open(&debug, fd) < 0)
		return 0;
	if (unwind_table_build_yielding(elf, &debug, NULL, NULL, &whole) == 0) {
		unwind_table_done(ret);
		*ret = whole;
	}
	elf_file_done(&debug);
	return 0;
}

int table_job_run(struct reader_request *request, const struct table_helpers *helpers)
{
	struct unwind_table table = {};
	struct table_header header = {};
	struct elf_file elf;
	int r;

	if (request->n_fds != 1)
		return -EPROTO;
	r = elf_file_open(&elf, request->fds[0]);
	if (r == 0) {
		r = build(request, &elf, helpers->open_debug, &table);
		header.is_go = table.is_go || go_table_is_go(&elf);
		if (helpers->examine)
			header.n_extra = helpers->examine(&elf, header.extra);
		elf_file_done(&elf);
	}
	if (r == -ENOMEM)
		return r;
	header.error = r;
	header.is_elf = elf_file_is_elf(request->fds[0]);
	header.machine = table.machine;
	header.n_parts = table.n_parts;
	header.n_functions = table.n_functions;
	header.n_rows = table.n_rows;
	header.n_rules = table.n_rules;
	header.n_skipped = table.n_skipped;
	header.code_bytes = table.code_bytes;
	header.read_bytes = table.read_bytes;
	header.bare_bytes = table.bare_bytes;
	r = send_table(request, &header, &table);
	unwind_table_done(&table);
	return r;
}
