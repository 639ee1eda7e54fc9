/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How CPython is found, and its frames.
 *
 * A file that defines `_PyRuntime` is it, however it is called: the program, libpython, or a
 * program that embeds it; the symbol is in .dynsym even of stripped files. From 3.13 on
 * _PyRuntime begins with _Py_DebugOffsets, which is there for tools like this one; before that,
 * offsets are by version.
 *
 * A thread's state is in its thread-specific data (pthread_setspecific(3)), whether or not it
 * holds the GIL. Its key is one of the first, and the state names the thread, so the right word
 * is known when it is seen; no state of another thread, and no other object, passes. Up to 3.11 it
 * is the state of the interpreter that the thread ran first. If that has no frames, or is gone, as
 * in web servers that give each application an interpreter, the states of all are searched.
 *
 * The order of frames among native ones: from 3.10 to 3.12 each activation of the evaluation loop
 * has a record on its C stack (_PyCFrame), from 3.12 on a frame of its own there, the shim. In 3.9
 * it leaves nothing there, but each frame is one activation: they belong to the native frames of
 * the loop, one by one (RUNTIME_LAST).
 */
#include "runtimes/cpython.h"

#include <errno.h>
#include <string.h>

#include "runtimes/elf_find.h"
#include "runtimes/text.h"

/* --- which version --- */

#define MOST_LOOP (1u << 20) /* bytes of code */

enum {
	SYMBOL_RUNTIME,
	SYMBOL_VERSION,
	SYMBOL_CODE_TYPE,
	SYMBOL_SINCE_3_10,
	SYMBOL_SINCE_3_9,
	SYMBOL_LOOP,
};

/* Before 3.11 only what it defines says which one it is. */
static uint32_t find_version(const struct elf_file *elf, const struct elf_wanted *symbols)
{
	uint64_t version;

	if (symbols[SYMBOL_VERSION].address)
		return elf_find_bytes(elf, symbols[SYMBOL_VERSION].address, &version,
				      sizeof version) == 0
			       ? version >> 16 & 0xffff
			       : 0;
	if (symbols[SYMBOL_SINCE_3_10].address)
		return CPYTHON(3, 10);
	return symbols[SYMBOL_SINCE_3_9].address ? CPYTHON(3, 9) : CPYTHON(3, 8);
}

/* Its loop, which activations without anchors need. */
static void find_loop(const struct elf_file *elf, const struct elf_wanted *loop,
		      struct runtime_facts *ret)
{
	if (!loop->size || loop->size > MOST_LOOP) {
		ret->problem = RUNTIME_BUILD;
		return;
	}
	ret->loop = loop->address;
	ret->loop_size = loop->size;
	ret->cold = elf_find_cold_part(elf, loop->address, loop->size, &ret->cold_size);
	if (ret->cold_size > MOST_LOOP)
		ret->cold = ret->cold_size = 0;
}

/* Where the first interpreter is said, in _PyRuntime at @runtime. */
static void place_interpreters(struct runtime_facts *facts, uint64_t runtime)
{
	uint32_t *at = &facts->offsets[INTERPRETERS];

	if (*at)
		*at = runtime < INT32_MAX - *at ? *at + runtime : 0;
}

static int examine(struct elf_file *elf, struct runtime_facts *ret)
{
	struct elf_wanted symbols[] = {
		[SYMBOL_RUNTIME] = {"_PyRuntime", true},
		[SYMBOL_VERSION] = {"Py_Version"},
		[SYMBOL_CODE_TYPE] = {"PyCode_Type", true},
		[SYMBOL_SINCE_3_10] = {"PyModule_AddObjectRef"},
		[SYMBOL_SINCE_3_9] = {"PyFrame_GetCode"},
		[SYMBOL_LOOP] = {"_PyEval_EvalFrameDefault"},
	};
	int r = elf_find_symbols(elf, symbols, sizeof symbols / sizeof *symbols);

	if (r <= 0) {
		ret->runtime = 0;
		return r;
	}
	ret->version = find_version(elf, symbols);
	ret->type = symbols[SYMBOL_CODE_TYPE].address;
	ret->code_shift = elf_find_code_shift(elf);
	if (elf->machine != EM_X86_64)
		ret->problem = RUNTIME_BUILD;
	else if (ret->version >= CPYTHON(3, 13) && ret->version <= CPYTHON(3, 15))
		cpython_told_offsets(ret, elf, symbols[SYMBOL_RUNTIME].address);
	else if (!cpython_known_offsets(ret))
		ret->problem = RUNTIME_VERSION;
	else if (!cpython_has_anchors(ret))
		find_loop(elf, &symbols[SYMBOL_LOOP], ret);
	place_interpreters(ret, symbols[SYMBOL_RUNTIME].address);
	return 0;
}

/* --- whether its facts can be used --- */

#define MOST_OFFSET	    4096
#define MOST_OF_INTERPRETER (1 << 20)
#define WINDOW_WORDS	    16

bool cpython_check_range(const struct runtime_facts *facts, uint32_t *ret_from, uint32_t *ret_words)
{
	const uint32_t *o = facts->offsets;
	const uint32_t ends[] = {o[CODE_FIRST_LINE], o[CODE_VERSION], o[CODE_FILE], o[CODE_NAME]};
	uint32_t from = UINT32_MAX, to = 0;

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		from = ends[i] && ends[i] < from ? ends[i] : from;
		to = ends[i] + 8 > to ? ends[i] + 8 : to;
	}
	from &= ~7u;
	*ret_from = from;
	*ret_words = (to - from) / 8;
	return from < to && *ret_words <= WINDOW_WORDS;
}

/* Words of a frame that are read. */
static uint32_t frame_words(const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;
	uint32_t to = o[FRAME_CODE] + 8;

	to = o[FRAME_PREVIOUS] + 8 > to ? o[FRAME_PREVIOUS] + 8 : to;
	to = o[FRAME_INSTRUCTION] + 8 > to ? o[FRAME_INSTRUCTION] + 8 : to;
	to = o[FRAME_OWNER] + 1 > to ? o[FRAME_OWNER] + 1 : to;
	return (to + 7) / 8;
}

static bool is_aligned(const struct runtime_facts *facts)
{
	static const enum cpython_offset words[] = {
		THREAD_IDENT,	THREAD_CURRENT, THREAD_RECORD,	     RECORD_PREVIOUS, FRAME_CODE,
		FRAME_PREVIOUS, CODE_FILE,	CODE_NAME,	     CODE_LINES,      STRING_LENGTH,
		BYTES_SIZE,	THREAD_NEXT,	INTERPRETER_THREADS, INTERPRETERS,
		INTERPRETER_NEXT,
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (facts->offsets[words[i]] & 7)
			return false;
	return !(facts->offsets[CODE_FIRST_LINE] & 3) && !(facts->offsets[CODE_VERSION] & 3) &&
	       !(facts->offsets[FRAME_INSTRUCTION] & 3) && !(facts->offsets[STRING_STATE] & 3);
}

static uint32_t most_offset(size_t offset)
{
	switch (offset) {
	case INTERPRETERS: return INT32_MAX;
	case INTERPRETER_NEXT:
	case INTERPRETER_THREADS: return MOST_OF_INTERPRETER;
	default: return MOST_OFFSET;
	}
}

static bool is_sound(const struct runtime_facts *facts)
{
	uint32_t from, words;

	for (size_t i = 0; i < RUNTIME_OFFSETS; i++)
		if (facts->offsets[i] > most_offset(i))
			return false;
	return is_aligned(facts) && cpython_check_range(facts, &from, &words) &&
	       frame_words(facts) <= WINDOW_WORDS && facts->offsets[FRAME_UNIT] <= 2 &&
	       facts->loop_size <= MOST_LOOP && facts->cold_size <= MOST_LOOP &&
	       cpython_has_anchors(facts) == !facts->loop_size;
}

/* --- the text that finds its frames --- */

#define SPECIFIC_BYTES (1 << TEXT_SPECIFIC_SHIFT)
#define SPECIFIC_KEYS  8 /* among which is that of the state */

enum {
	LABEL_KEY,
	LABEL_SEARCH,
	LABEL_INTERPRETER,
	LABEL_THREAD,
	LABEL_OTHER_THREAD,
	LABEL_OWN_THREAD,
	LABEL_OTHER_INTERPRETER,
	LABEL_FIRST_FRAME,
	LABEL_FRAME,
	LABEL_SHIM,
	LABEL_END,
};

#define MOST_THREADS   128 /* of all interpreters, that are looked at */
#define FRAMES_AT_ONCE 16  /* without anchors: what is lost if the next one can't be read */

/* The use of the registers. */
enum {
	STATE = 1, /* of the thread, then the frame */
	PREVIOUS,
	OWNER,
	CODE,
	DETAIL,
	CHECK,
	RECORD,
	TEMPORARY,
	LAST_KEY,
	KEY,
	COUNT, /* of frames since the last stop */
	/* Of the search in all interpreters. */
	THREAD = KEY,
	INTERPRETER = LAST_KEY,
	N_THREADS = COUNT,
};

/* STATE = the state of this thread; to LABEL_SEARCH if it has none. */
static void write_thread(struct text_writer *text, const uint32_t *o)
{
	text_op(text, BF_OP_ADDI, KEY, BF_REGISTER_TLS, 0, TEXT_SPECIFIC_DATA);
	text_op(text, BF_OP_ADDI, LAST_KEY, KEY, 0, SPECIFIC_BYTES * SPECIFIC_KEYS);
	text_label(text, LABEL_KEY);
	text_if_register(text, KEY, BF_GE, LAST_KEY, LABEL_SEARCH);
	text_fetch(text, STATE, KEY, SPECIFIC_BYTES - 8);
	text_op(text, BF_OP_ADDI, KEY, KEY, 0, SPECIFIC_BYTES);
	text_if(text, STATE, BF_ANY, 7, LABEL_KEY);
	text_op(text, BF_OP_TRY, 0, STATE, 0, o[THREAD_IDENT]);
	text_load(text, TEMPORARY, 8, 0);
	text_if_register(text, TEMPORARY, BF_NE, BF_REGISTER_TLS, LABEL_KEY);
}

/* STATE = the innermost frame of the state in @from; RECORD = the record of its activation. */
static void write_first_frame(struct text_writer *text, const uint32_t *o, uint8_t from)
{
	if (o[THREAD_RECORD])
		text_fetch(text, RECORD, from, o[THREAD_RECORD]);
	text_fetch(text, STATE, o[RECORD_HAS_FRAME] ? RECORD : from, o[THREAD_CURRENT]);
}

/*
 * STATE and RECORD = those of the first state of this thread with a frame, of all interpreters;
 * ends if there is none. Others change their lists meanwhile: what can't be read ends one.
 */
static void write_search(struct text_writer *text, const uint32_t *o)
{
	text_op(text, BF_OP_PARAMETER, TEMPORARY, 0, 0, 0);
	text_try(text, INTERPRETER, TEMPORARY, o[INTERPRETERS]);
	text_op(text, BF_OP_SET, N_THREADS, 0, 0, 0);
	text_label(text, LABEL_INTERPRETER);
	text_if(text, INTERPRETER, BF_EQ, 0, LABEL_END);
	text_try(text, THREAD, INTERPRETER, o[INTERPRETER_THREADS]);
	text_label(text, LABEL_THREAD);
	text_op(text, BF_OP_ADDI, N_THREADS, N_THREADS, 0, 1);
	text_if(text, N_THREADS, BF_GE, MOST_THREADS, LABEL_END);
	text_if(text, THREAD, BF_EQ, 0, LABEL_OTHER_INTERPRETER);
	text_try(text, TEMPORARY, THREAD, o[THREAD_IDENT]);
	text_if_register(text, TEMPORARY, BF_EQ, BF_REGISTER_TLS, LABEL_OWN_THREAD);
	text_label(text, LABEL_OTHER_THREAD);
	text_try(text, THREAD, THREAD, o[THREAD_NEXT]);
	text_jump(text, LABEL_THREAD);
	text_label(text, LABEL_OWN_THREAD);
	write_first_frame(text, o, THREAD);
	text_if(text, STATE, BF_EQ, 0, LABEL_OTHER_THREAD);
	text_jump(text, LABEL_FIRST_FRAME);
	text_label(text, LABEL_OTHER_INTERPRETER);
	text_try(text, INTERPRETER, INTERPRETER, o[INTERPRETER_NEXT]);
	text_jump(text, LABEL_INTERPRETER);
}

/* CHECK = what an object at the same address would not have: its name's hash, where it is, … */
static void write_check(struct text_writer *text, const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;
	uint32_t from, words;

	cpython_check_range(facts, &from, &words);
	text_op(text, BF_OP_READ, 0, CODE, words - 1, from);
	text_load(text, CHECK, 4, o[CODE_FIRST_LINE] - from);
	text_load(text, TEMPORARY, 8, o[CODE_FILE] - from);
	text_op(text, BF_OP_SHR, TEMPORARY, TEMPORARY, 0, 4);
	text_op(text, BF_OP_XOR, CHECK, CHECK, TEMPORARY, 0);
	if (o[CODE_VERSION]) {
		text_load(text, TEMPORARY, 4, o[CODE_VERSION] - from);
		text_op(text, BF_OP_MULI, TEMPORARY, TEMPORARY, 0, CPYTHON_SPREAD);
		text_op(text, BF_OP_XOR, CHECK, CHECK, TEMPORARY, 0);
	}
	text_load(text, TEMPORARY, 8, o[CODE_NAME] - from);
	text_op(text, BF_OP_TRY, 0, TEMPORARY, 0, CPYTHON_STRING_HASH);
	text_op(text, BF_OP_SHR, TEMPORARY, TEMPORARY, 0, 4);
	text_op(text, BF_OP_XOR, CHECK, CHECK, TEMPORARY, 0);
	text_load(text, TEMPORARY, 8, 0);
	text_op(text, BF_OP_XOR, CHECK, CHECK, TEMPORARY, 0);
}

/* Puts out the frame in the window. */
static void write_frame(struct text_writer *text, const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;

	text_load(text, PREVIOUS, 8, o[FRAME_PREVIOUS]);
	text_load(text, CODE, 8, o[FRAME_CODE]);
	if (o[FRAME_CODE_TAG])
		text_op(text, BF_OP_ANDI, CODE, CODE, 0, ~o[FRAME_CODE_TAG]);
	if (o[FRAME_UNIT]) {
		text_load(text, DETAIL, 4, o[FRAME_INSTRUCTION]);
	} else {
		text_load(text, DETAIL, 8, o[FRAME_INSTRUCTION]);
		text_op(text, BF_OP_SUB, DETAIL, DETAIL, CODE, 0);
	}
	write_check(text, facts);
	text_op(text, BF_OP_EMIT, CODE, DETAIL, CHECK,
		cpython_has_anchors(facts) ? 0 : RUNTIME_LAST);
	text_op(text, BF_OP_ADDI, STATE, PREVIOUS, 0, 0);
}

static void write_stop_without_anchor(struct text_writer *text)
{
	text_op(text, BF_OP_ADDI, COUNT, COUNT, 0, 1);
	text_if(text, COUNT, BF_LT, FRAMES_AT_ONCE, LABEL_FRAME);
	text_op(text, BF_OP_SET, COUNT, 0, 0, 0);
	text_op(text, BF_OP_SET, TEMPORARY, 0, 0, -1);
	text_op(text, BF_OP_STOP, TEMPORARY, 0, 0, 0);
}

static void write_stop_at_record(struct text_writer *text, const uint32_t *o)
{
	if (o[FRAME_OWNER_LAST])
		text_if(text, OWNER, BF_EQ, 0, LABEL_FRAME);
	text_op(text, BF_OP_STOP, RECORD, 0, 0, 0);
	text_fetch(text, RECORD, RECORD, o[RECORD_PREVIOUS]);
}

int cpython_write(const struct runtime_facts *facts, struct bf_text *ret)
{
	const uint32_t *o = facts->offsets;
	struct text_writer text;

	text_begin(&text, ret);
	text_end_early(&text);
	write_thread(&text, o);
	write_first_frame(&text, o, STATE);
	text_if(&text, STATE, BF_NE, 0, LABEL_FIRST_FRAME);
	text_label(&text, LABEL_SEARCH);
	if (o[INTERPRETERS])
		write_search(&text, o);
	else
		text_jump(&text, LABEL_END);
	text_label(&text, LABEL_FIRST_FRAME);
	if (!cpython_has_anchors(facts))
		text_op(&text, BF_OP_SET, COUNT, 0, 0, 0);
	text_label(&text, LABEL_FRAME);
	text_if(&text, STATE, BF_EQ, 0, LABEL_END);
	text_op(&text, BF_OP_READ, 0, STATE, frame_words(facts) - 1, 0);
	if (o[FRAME_OWNER])
		text_load(&text, OWNER, 1, o[FRAME_OWNER]);
	if (o[FRAME_OWNER_SHIM])
		text_if(&text, OWNER, BF_GE, o[FRAME_OWNER_SHIM], LABEL_SHIM);
	write_frame(&text, facts);
	if (!cpython_has_anchors(facts))
		write_stop_without_anchor(&text);
	else if (!o[FRAME_OWNER_SHIM])
		write_stop_at_record(&text, o);
	text_jump(&text, LABEL_FRAME);
	text_label(&text, LABEL_SHIM);
	text_op(&text, BF_OP_STOP, STATE, 0, 0, 0);
	text_load(&text, STATE, 8, o[FRAME_PREVIOUS]);
	text_jump(&text, LABEL_FRAME);
	text_label(&text, LABEL_END);
	text_op(&text, BF_OP_END, 0, 0, 0, 0);
	return text_end(&text);
}

const struct runtime runtime_cpython = {
	.name = "CPython",
	.language = "python",
	.examine = examine,
	.is_sound = is_sound,
	.write_chain = cpython_write,
	.describe = cpython_describe,
	.line = cpython_line,
};
