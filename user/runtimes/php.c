/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How PHP is found, and its frames.
 *
 * A file that defines `executor_globals` and `execute_ex` is it: php, php-fpm, or a library in a
 * web server. Its version is in the header that it sends, "X-Powered-By: PHP/8.2.36". Builds for
 * several threads (ZTS) have no executor_globals.
 *
 * One thread runs functions; executor_globals leads to its frames. Activations leave no anchor: the
 * last frame of each is marked, and native frames of execute_ex take them (collect/loop_frames.h).
 * A frame knows its instruction, which knows its line.
 */
#include "runtimes/php.h"

#include <stdlib.h>
#include <string.h>

#include "runtimes/elf_find.h"
#include "runtimes/text.h"

/* --- which version --- */

static const struct {
	uint32_t version;
	uint32_t current, code, file, line;
} known[] = {
	{PHP(7, 4), 488, 64, 136, 144},
	{PHP(8, 2), 488, 88, 152, 160},
	{PHP(8, 4), 488, 104, 168, 176},
};

bool php_known_offsets(struct runtime_facts *facts)
{
	uint32_t *o = facts->offsets;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].version == facts->version) {
			o[PHP_CURRENT] = known[i].current;
			o[PHP_CODE] = known[i].code;
			o[PHP_FILE] = known[i].file;
			o[PHP_LINE] = known[i].line;
			return true;
		}
	return false;
}

static uint32_t find_version(const struct elf_file *elf)
{
	static const char header[] = "X-Powered-By: PHP/";
	char text[8], *end;
	uint32_t major, minor;

	if (elf_find_text(elf, header, text, sizeof text) < 0)
		return 0;
	major = strtoul(text, &end, 10);
	minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return PHP(major & 255, minor & 255);
}

#define MOST_LOOP (1u << 24) /* bytes */

enum { SYMBOL_GLOBALS, SYMBOL_LOOP, SYMBOL_KIND };

static int examine(struct elf_file *elf, struct runtime_facts *ret)
{
	struct elf_wanted symbols[] = {
		[SYMBOL_GLOBALS] = {"executor_globals"},
		[SYMBOL_LOOP] = {"execute_ex", true},
		[SYMBOL_KIND] = {"zend_vm_kind"},
	};
	int r = elf_find_symbols(elf, symbols, sizeof symbols / sizeof *symbols);

	if (r <= 0) {
		ret->runtime = 0;
		return r;
	}
	ret->version = find_version(elf);
	ret->code_shift = elf_find_code_shift(elf);
	ret->loop = symbols[SYMBOL_LOOP].address;
	ret->loop_size = symbols[SYMBOL_LOOP].size;
	ret->cold = elf_find_cold_part(elf, ret->loop, ret->loop_size, &ret->cold_size);
	if (ret->cold_size > MOST_LOOP)
		ret->cold = ret->cold_size = 0;
	if (!php_known_offsets(ret))
		ret->problem = RUNTIME_VERSION;
	else if (elf->machine != EM_X86_64 || !symbols[SYMBOL_GLOBALS].address ||
		 symbols[SYMBOL_GLOBALS].address > INT32_MAX / 2)
		ret->problem = RUNTIME_BUILD;
	ret->offsets[PHP_GLOBALS] = symbols[SYMBOL_GLOBALS].address;
	php_find_frame(elf, ret->loop, symbols[SYMBOL_KIND].address, ret->offsets);
	return 0;
}

/* --- whether its facts can be used --- */

#define MOST_OFFSET 2048

static bool is_sound(const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;

	for (uint32_t i = PHP_CURRENT; i <= PHP_LINE; i++)
		if (o[i] > MOST_OFFSET || o[i] & (i == PHP_LINE ? 3 : 7))
			return false;
	return o[PHP_GLOBALS] <= INT32_MAX / 2 && facts->loop_size &&
	       facts->loop_size <= MOST_LOOP && facts->cold_size <= MOST_LOOP &&
	       facts->loop <= INT32_MAX && o[PHP_CODE] >= PHP_SCOPE + 8 && o[PHP_CODE] <= 120 &&
	       php_has_sound_frame(o);
}

/* --- the text that finds its frames --- */

/* Of a frame (zend_execute_data), and an instruction (zend_op). */
#define FRAME_INSTRUCTION 0
#define FRAME_FUNCTION	  24
#define FRAME_INFO	  40
#define FRAME_PREVIOUS	  48
#define FRAME_WORDS	  7
#define INFO_TOP	  (1 << 17) /* it was called from C */
#define INSTRUCTION_LINE  24

enum { LABEL_FRAME, LABEL_INTERNAL, LABEL_CHECK, LABEL_LAST, LABEL_NEXT, LABEL_NAMED, LABEL_END };

/* The use of the registers. */
enum { FRAME = 1, FUNCTION, TYPE, INFO, LINE, CHECK, CODE, TEMPORARY, NO_ANCHOR };

/* CHECK = what another function at this address would not have. */
static void write_check(struct text_writer *text, const uint32_t *o)
{
	text_op(text, BF_OP_READ, 0, FUNCTION, 2, 0);
	text_load(text, CHECK, 8, PHP_SCOPE);
	text_op(text, BF_OP_SHR, CHECK, CHECK, 0, 3);
	text_load(text, TEMPORARY, 8, PHP_NAME);
	text_op(text, BF_OP_TRY, 0, TEMPORARY, 2, PHP_STRING_LENGTH);
	text_op(text, BF_OP_SHR, TEMPORARY, TEMPORARY, 0, 3);
	text_op(text, BF_OP_XOR, CHECK, CHECK, TEMPORARY, 0);
	for (uint32_t i = 0; i < 3; i++) {
		text_load(text, TEMPORARY, 8, 8 * i);
		text_op(text, BF_OP_MULI, TEMPORARY, TEMPORARY, 0, PHP_SPREAD + 2 * i);
		text_op(text, BF_OP_XOR, CHECK, CHECK, TEMPORARY, 0);
		text_op(text, BF_OP_SHR, TEMPORARY, TEMPORARY, 0, 32);
		text_op(text, BF_OP_XOR, CHECK, CHECK, TEMPORARY, 0);
	}
	text_if(text, TYPE, BF_EQ, PHP_TYPE_INTERNAL, LABEL_CHECK);
	text_op(text, BF_OP_READ, 0, FUNCTION, 0, o[PHP_CODE]);
	text_load(text, CODE, 8, 0);
	text_op(text, BF_OP_SHR, CODE, CODE, 0, 4);
	text_op(text, BF_OP_XOR, CHECK, CHECK, CODE, 0);
	text_label(text, LABEL_CHECK);
}

/* Puts out the frame; ends the activation if it is its last. */
static void write_frame(struct text_writer *text)
{
	text_if(text, TYPE, BF_EQ, PHP_TYPE_INTERNAL, LABEL_INTERNAL);
	text_if(text, INFO, BF_ANY, INFO_TOP, LABEL_LAST);
	text_op(text, BF_OP_EMIT, FUNCTION, LINE, CHECK, PHP_FUNCTION);
	text_jump(text, LABEL_NEXT);
	/* A function in C that C calls has no activation of its own. */
	text_label(text, LABEL_INTERNAL);
	text_op(text, BF_OP_EMIT, FUNCTION, 0, CHECK, PHP_INTERNAL);
	text_jump(text, LABEL_NEXT);
	text_label(text, LABEL_LAST);
	text_op(text, BF_OP_EMIT, FUNCTION, LINE, CHECK, PHP_FUNCTION | RUNTIME_LAST);
	text_op(text, BF_OP_STOP, NO_ANCHOR, 0, 0, 0);
}

static int php_write(const struct runtime_facts *facts, struct bf_text *ret)
{
	const uint32_t *o = facts->offsets;
	struct text_writer text;

	text_begin(&text, ret);
	text_op(&text, BF_OP_SET, NO_ANCHOR, 0, 0, -1);
	text_op(&text, BF_OP_PARAMETER, TEMPORARY, 0, 0, 0);
	text_try(&text, FRAME, TEMPORARY, o[PHP_GLOBALS] + o[PHP_CURRENT]); /* untouched: 0 */
	text_label(&text, LABEL_FRAME);
	text_if(&text, FRAME, BF_EQ, 0, LABEL_END);
	text_op(&text, BF_OP_READ, 0, FRAME, FRAME_WORDS - 1, 0);
	text_load(&text, FUNCTION, 8, FRAME_FUNCTION);
	text_load(&text, INFO, 4, FRAME_INFO);
	text_load(&text, LINE, 8, FRAME_INSTRUCTION);
	text_load(&text, FRAME, 8, FRAME_PREVIOUS);
	/* Frames for the interpreter itself have no function, or one in C without a name. */
	text_if(&text, FUNCTION, BF_EQ, 0, LABEL_FRAME);
	text_op(&text, BF_OP_TRY, 0, LINE, 0, INSTRUCTION_LINE);
	text_load(&text, LINE, 4, 0);
	text_op(&text, BF_OP_READ, 0, FUNCTION, 1, 0);
	text_load(&text, TYPE, 1, 0);
	text_if(&text, TYPE, BF_NE, PHP_TYPE_INTERNAL, LABEL_NAMED);
	text_load(&text, TEMPORARY, 8, PHP_NAME);
	text_if(&text, TEMPORARY, BF_NE, 0, LABEL_NAMED);
	text_if(&text, INFO, BF_NE, 0, LABEL_FRAME);
	/* A fiber begins there: what resumed it waits on another stack. */
	text_jump(&text, LABEL_END);
	text_label(&text, LABEL_NAMED);
	write_check(&text, o);
	write_frame(&text);
	text_label(&text, LABEL_NEXT);
	text_jump(&text, LABEL_FRAME);
	text_label(&text, LABEL_END);
	text_op(&text, BF_OP_END, 0, 0, 0, 0);
	return text_end(&text);
}

const struct runtime runtime_php = {
	.name = "PHP",
	.language = "php",
	.examine = examine,
	.is_sound = is_sound,
	.write_chain = php_write,
	.write_range = php_write_range,
	.describe = php_describe,
};
