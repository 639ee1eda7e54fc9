/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How Ruby is found, and its frames.
 *
 * A file that defines `ruby_api_version` is it: libruby, or a program that it is linked into. Where
 * things lie in its structures is by version. What newer builds hide is found by what they export:
 * rb_iseq_eval() takes the execution context from the thread's variable, and ends in vm_exec().
 *
 * Each thread has a variable of its own (ruby_current_ec) that leads to its execution context,
 * whether or not it holds the interpreter's lock; a fiber has one, too, and is what the variable
 * leads to while it runs. Where libraries have such variables is found as they find it themselves:
 * by the number that the dynamic linker gave to the library, and the thread's vector of blocks.
 * Before 3.0 there is one variable for all threads, of the one that holds the lock; but each has
 * its thread object as thread-specific data (pthread_setspecific(3)), and ruby_native_thread_p()
 * the key. The object leads to the context that runs. It names the thread, and the context names
 * the object: what a thread that is kept for the next one still leads to has been freed.
 *
 * The context has a stack of control frames, of functions in C, too, which grows down. The order
 * among native frames: each activation of the interpreter leaves a tag on its C stack, to return to
 * for exceptions. Other code has tags, too; those of activations return to vm_exec(). The frame
 * that it called, at the tag's stack pointer, is the interpreter's loop. A control frame is there
 * some instructions before the tag (collect/late_anchors.h): long ones where Ractors share the lock
 * whose holder is looked up between.
 */
#include "runtimes/ruby.h"

#include <errno.h>
#include <string.h>

#include "runtimes/elf_find.h"
#include "runtimes/text.h"

/* --- which version --- */

static const struct {
	uint32_t version;
	uint32_t offsets[N_RUBY_OFFSETS - RUBY_FRAME_SIZE];
} known[] = {
	/* A control frame's size; the body's path, label, first line, lines; an item's size; a
	 * class's variables, name, object; a string's text; a tag's jump, previous one; guard; a
	 * thread object's context, thread; a context's thread object. */
	{RUBY(2, 7), {56, 64, 80, 88, 120, 8, 8, 0, 0, 16, 24, 56, 0, 32, 72, 56}},
	{RUBY(3, 1), {64, 64, 80, 88, 120, 12, 8, 0, 0, 16, 24, 56, 0}},
	{RUBY(3, 3), {56, 64, 80, 88, 112, 12, 0, 152, 128, 24, 64, 216, 48}},
};

bool ruby_known_offsets(struct runtime_facts *facts)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].version == facts->version) {
			memcpy(facts->offsets + RUBY_FRAME_SIZE, known[i].offsets,
			       sizeof known[i].offsets);
			return true;
		}
	return false;
}

/*
 * The names of symbols are in a table without a name of its own: rb_id2str() leads to it, by a jump
 * to what it shares with others. What that refers to is tried (ruby_names.c).
 */
#define CODE_BYTES 192

static void find_tables(const struct elf_file *elf, uint64_t address, uint32_t *tables)
{
	uint8_t code[CODE_BYTES];
	uint32_t n = 0;

	for (int turn = 0; turn < 2 && address && n < RUBY_MOST_TABLES; turn++) {
		uint64_t next = 0;

		if (elf_find_bytes(elf, address, code, sizeof code) < 0)
			return;
		/* mov N(%rip), %register, and jmp. */
		for (uint32_t i = 0; i + 7 <= sizeof code && n < RUBY_MOST_TABLES; i++) {
			bool is_load = (code[i] & 0xfb) == 0x48 && code[i + 1] == 0x8b &&
				       (code[i + 2] & 0xc7) == 5;
			int32_t distance;

			memcpy(&distance, code + i + (is_load ? 3 : 1), sizeof distance);
			if (is_load && address + i + 7 + distance <= UINT32_MAX)
				tables[n++] = address + i + 7 + distance;
			else if (turn == 0 && code[i] == 0xe9 && !next)
				next = address + i + 5 + distance;
		}
		address = next;
	}
}

/*
 * What rb_iseq_eval() has of the thread's variable and of vm_exec():
 *
 *	lea MODULE(%rip), %rdi; call __tls_get_addr; mov OFFSET(%rax), …
 *	…; pop …; jmp vm_exec
 *
 * At MODULE are the file's number as a module, and what to add to OFFSET.
 */
#define MODULE_BYTES 12 /* lea and call; both can have more prefixes */
#define PREFIXES     4

static void find_hidden_context(const struct elf_file *elf, uint64_t address, const uint8_t *code,
				uint32_t n, uint32_t *o)
{
	for (uint32_t i = 0; i + MODULE_BYTES + PREFIXES + 7 <= n; i++) {
		uint32_t at = i + MODULE_BYTES - 5;
		int32_t distance, offset = 0;
		uint64_t module, base;

		if (memcmp(code + i, "\x48\x8d\x3d", 3) != 0)
			continue;
		for (; at < i + MODULE_BYTES - 5 + PREFIXES && code[at] != 0xe8;)
			at++;
		at += 5;
		memcpy(&distance, code + i + 3, sizeof distance);
		module = address + i + 7 + distance;
		if (code[at - 5] != 0xe8 || code[at] != 0x48 || code[at + 1] != 0x8b ||
		    elf_find_bytes(elf, module + 8, &base, sizeof base) < 0)
			return;
		switch (code[at + 2] & 0xc7) {
		case 0x00: break;
		case 0x40: offset = (int8_t)code[at + 3]; break;
		case 0x80: memcpy(&offset, code + at + 3, sizeof offset); break;
		default: return;
		}
		if (module > UINT32_MAX || base + offset > UINT16_MAX)
			return;
		o[RUBY_OWN_MODULE] = module;
		o[RUBY_OWN_OFFSET] = base + offset;
		return;
	}
}

static bool pops(uint8_t byte)
{
	return byte >= 0x58 && byte <= 0x5f;
}

static void find_hidden_exec(const struct elf_file *elf, uint64_t address, const uint8_t *code,
			     uint32_t n, uint32_t *o)
{
	for (uint32_t i = 1; i + 5 <= n; i++) {
		uint64_t target, size;
		int32_t distance;

		if (code[i] != 0xe9 || !pops(code[i - 1]))
			continue;
		memcpy(&distance, code + i + 1, sizeof distance);
		target = address + i + 5 + distance;
		size = elf_find_function_size(elf, target);
		if (!size || target > UINT32_MAX)
			continue;
		o[RUBY_EXEC] = target;
		o[RUBY_EXEC_SIZE] = size;
		return;
	}
}

static void find_hidden(const struct elf_file *elf, const struct elf_wanted *eval, uint32_t *o)
{
	uint8_t code[512];
	uint32_t n = eval->size < sizeof code ? eval->size : sizeof code;

	if (elf_find_bytes(elf, eval->address, code, n) < 0)
		return;
	find_hidden_context(elf, eval->address, code, n, o);
	find_hidden_exec(elf, eval->address, code, n, o);
}

/* The key that ruby_native_thread_p() gives to pthread_getspecific(): mov KEY(%rip), %edi; call. */
static uint32_t find_key(const struct elf_file *elf, const struct elf_wanted *function)
{
	uint8_t code[32];
	uint32_t n = function->size < sizeof code ? function->size : sizeof code;

	if (!n || elf_find_bytes(elf, function->address, code, n) < 0)
		return 0;
	for (uint32_t i = 0; i + 7 <= n; i++) {
		int32_t distance;
		uint64_t key;

		if (code[i] != 0x8b || code[i + 1] != 0x3d || code[i + 6] != 0xe8)
			continue;
		memcpy(&distance, code + i + 2, sizeof distance);
		key = function->address + i + 6 + distance;
		return key <= UINT32_MAX ? key : 0;
	}
	return 0;
}

enum {
	SYMBOL_VERSION,
	SYMBOL_EXEC,
	SYMBOL_CONTEXT,
	SYMBOL_NAMES,
	SYMBOL_RUBY,
	SYMBOL_EVAL,
	SYMBOL_THREAD,
};

static void find_own(struct elf_file *elf, const struct elf_wanted *context,
		     struct runtime_facts *ret)
{
	uint64_t slot = elf_find_own_module(elf);
	uint32_t *o = ret->offsets;

	if (slot && slot <= UINT32_MAX && context->address <= UINT16_MAX) {
		o[RUBY_OWN_MODULE] = slot;
		o[RUBY_OWN_OFFSET] = context->address;
		return;
	}
	/* The program's own are right below the thread pointer. */
	slot = elf_find_own_size(elf);
	if (slot > context->address && slot <= UINT16_MAX)
		o[RUBY_OWN_OFFSET] = slot - context->address;
	else
		ret->problem = RUNTIME_BUILD;
}

static void find_layout(struct elf_file *elf, const struct elf_wanted *symbols,
			struct runtime_facts *ret)
{
	const struct elf_wanted *exec = &symbols[SYMBOL_EXEC];
	uint32_t *o = ret->offsets;

	if (!ruby_known_offsets(ret)) {
		ret->problem = RUNTIME_VERSION;
		return;
	}
	if (elf->machine != EM_X86_64 || exec->address > UINT32_MAX || exec->size > UINT32_MAX) {
		ret->problem = RUNTIME_BUILD;
		return;
	}
	o[RUBY_EXEC] = exec->address;
	o[RUBY_EXEC_SIZE] = exec->size;
	if (o[RUBY_THREAD_IDENT]) {
		o[RUBY_OWN_KEY] = find_key(elf, &symbols[SYMBOL_THREAD]);
		if (!exec->address || !o[RUBY_OWN_KEY])
			ret->problem = RUNTIME_BUILD;
	} else if (exec->address && symbols[SYMBOL_CONTEXT].size) {
		find_own(elf, &symbols[SYMBOL_CONTEXT], ret);
	} else {
		find_hidden(elf, &symbols[SYMBOL_EVAL], o);
		if (!o[RUBY_OWN_MODULE] || !o[RUBY_EXEC_SIZE])
			ret->problem = RUNTIME_BUILD;
	}
	ret->loop = o[RUBY_EXEC];
	ret->loop_size = o[RUBY_EXEC_SIZE];
	find_tables(elf, symbols[SYMBOL_NAMES].address, o + RUBY_TABLES);
}

static int examine(struct elf_file *elf, struct runtime_facts *ret)
{
	struct elf_wanted symbols[] = {
		[SYMBOL_VERSION] = {"ruby_api_version", true}, [SYMBOL_EXEC] = {"rb_vm_exec"},
		[SYMBOL_CONTEXT] = {"ruby_current_ec"},	       [SYMBOL_NAMES] = {"rb_id2str"},
		[SYMBOL_RUBY] = {"ruby_run_node", true},       [SYMBOL_EVAL] = {"rb_iseq_eval"},
		[SYMBOL_THREAD] = {"ruby_native_thread_p"},
	};
	int r = elf_find_symbols(elf, symbols, sizeof symbols / sizeof *symbols);
	uint32_t version[2];

	if (r <= 0 ||
	    elf_find_bytes(elf, symbols[SYMBOL_VERSION].address, version, sizeof version) < 0) {
		ret->runtime = 0;
		return r < 0 ? r : 0;
	}
	ret->version = (version[0] & 255) << 8 | (version[1] & 255);
	ret->code_shift = elf_find_code_shift(elf);
	find_layout(elf, symbols, ret);
	return 0;
}

/* --- whether its facts can be used --- */

#define MOST_OFFSET 512

static bool is_sound(const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;

	for (uint32_t i = RUBY_FRAME_SIZE; i < N_RUBY_OFFSETS; i++)
		if (o[i] > MOST_OFFSET || o[i] & 3)
			return false;
	/* The body's words from its instructions to its first line are read at once. */
	return !(o[RUBY_BODY_PATH] & 7) && !(o[RUBY_BODY_LABEL] & 7) && !(o[RUBY_BODY_LINE] & 7) &&
	       !(o[RUBY_BODY_LINES] & 7) && o[RUBY_BODY_PATH] >= 16 && o[RUBY_BODY_LABEL] >= 16 &&
	       o[RUBY_BODY_LINE] >= o[RUBY_BODY_PATH] && o[RUBY_BODY_LINE] >= o[RUBY_BODY_LABEL] &&
	       o[RUBY_BODY_LINE] <= 88 && o[RUBY_BODY_LINES] > o[RUBY_BODY_LINE] &&
	       o[RUBY_FRAME_SIZE] >= 40 && o[RUBY_LINE_SIZE] >= 4 && o[RUBY_LINE_SIZE] <= 16 &&
	       o[RUBY_EXEC_SIZE] <= INT32_MAX && o[RUBY_EXEC] <= INT32_MAX &&
	       facts->loop == o[RUBY_EXEC] && facts->loop_size == o[RUBY_EXEC_SIZE] &&
	       (o[RUBY_STRING_TEXT] == 16 || o[RUBY_STRING_TEXT] == 24) &&
	       o[RUBY_OWN_MODULE] <= INT32_MAX && o[RUBY_OWN_OFFSET] <= UINT16_MAX &&
	       o[RUBY_OWN_KEY] <= INT32_MAX && !(o[RUBY_OWN_KEY] & 3);
}

/* --- the text that finds its frames --- */

/* Of an execution context, a tag on the C stack, a control frame, and the words around its ep. */
#define CONTEXT_WORDS                                                                              \
	4 /* the frames' stack, its size in words, the innermost frame, the first tag */
#define FRAME_PC    0
#define FRAME_CODE  16
#define FRAME_EP    32
#define FRAME_WORDS 5
#define EP_ENTRY    (-16)
#define EP_FLAGS    16 /* from there */

#define FLAGS_KIND   0x7fff0000
#define KIND_METHOD  0x11110000
#define KIND_CFUNC   0x55550000
#define FLAGS_FINISH 0x20 /* the activation's outermost */

/* Threads' vectors of blocks (glibc): where they have it, an item's size. */
#define VECTOR	      8
#define VECTOR_SHIFT  4
#define NO_BLOCK_BITS 7 /* of a block's address; all are set if it has none */

enum {
	LABEL_FRAME,
	LABEL_ENTRY,
	LABEL_IS_ENTRY,
	LABEL_FUNCTION,
	LABEL_CODE,
	LABEL_EMIT,
	LABEL_NEXT,
	LABEL_TAG,
	LABEL_NO_TAG,
	LABEL_END,
};

/* The use of the registers. */
enum {
	FRAME = 1,
	LAST,
	TAG,
	CODE,	  /* what is put out */
	SEQUENCE, /* the frame's instructions */
	DETAIL,
	CHECK,
	FLAGS,
	TEMPORARY,
	OTHER,
	EXEC,
	EXEC_END,
	KIND,
	BIAS,
};

/* The same by the thread object, which must be this thread's, as must be the context. */
static void write_context_by_key(struct text_writer *text, const uint32_t *o)
{
	text_fetch_specific(text, OTHER, BIAS, o[RUBY_OWN_KEY], LABEL_END);
	text_if(text, OTHER, BF_EQ, 0, LABEL_END);
	text_try(text, TEMPORARY, OTHER, o[RUBY_THREAD_IDENT]);
	text_if_register(text, TEMPORARY, BF_NE, BF_REGISTER_TLS, LABEL_END);
	text_fetch(text, TEMPORARY, OTHER, o[RUBY_THREAD_CONTEXT]);
	text_if(text, TEMPORARY, BF_EQ, 0, LABEL_END);
	text_fetch(text, CODE, TEMPORARY, o[RUBY_CONTEXT_THREAD]);
	text_if_register(text, CODE, BF_NE, OTHER, LABEL_END);
}

/* TEMPORARY = the thread's execution context; ends if it has none. */
static void write_context(struct text_writer *text, const uint32_t *o)
{
	text_op(text, BF_OP_PARAMETER, BIAS, 0, 0, 0);
	if (o[RUBY_OWN_KEY]) {
		write_context_by_key(text, o);
		return;
	}
	if (o[RUBY_OWN_MODULE]) {
		text_fetch(text, TEMPORARY, BIAS, o[RUBY_OWN_MODULE]);
		text_op(text, BF_OP_SHL, TEMPORARY, TEMPORARY, 0, VECTOR_SHIFT);
		text_fetch(text, OTHER, BF_REGISTER_TLS, VECTOR);
		text_op(text, BF_OP_ADD, TEMPORARY, TEMPORARY, OTHER, 0);
		text_fetch(text, TEMPORARY, TEMPORARY, 0);
		text_if(text, TEMPORARY, BF_ANY, NO_BLOCK_BITS, LABEL_END);
		text_fetch(text, TEMPORARY, TEMPORARY, o[RUBY_OWN_OFFSET]);
	} else {
		text_fetch(text, TEMPORARY, BF_REGISTER_TLS, -(int32_t)o[RUBY_OWN_OFFSET]);
	}
	text_if(text, TEMPORARY, BF_EQ, 0, LABEL_END);
}

/* The innermost frame, what is above the outermost (its room ends in one that is none), a tag. */
static void write_start(struct text_writer *text, const uint32_t *o)
{
	text_op(text, BF_OP_READ, 0, TEMPORARY, CONTEXT_WORDS - 1, 0);
	text_load(text, LAST, 8, 0);
	/* A thread that has ended and is kept for the next one. */
	text_if(text, LAST, BF_EQ, 0, LABEL_END);
	text_load(text, OTHER, 8, 8);
	text_load(text, FRAME, 8, 16);
	text_load(text, TAG, 8, 24);
	text_op(text, BF_OP_SHL, OTHER, OTHER, 0, 3);
	text_op(text, BF_OP_ADD, LAST, LAST, OTHER, 0);
	text_op(text, BF_OP_ADDI, LAST, LAST, 0, -(int32_t)o[RUBY_FRAME_SIZE]);
	text_op(text, BF_OP_ADDI, EXEC, BIAS, 0, o[RUBY_EXEC]);
	text_op(text, BF_OP_ADDI, EXEC_END, EXEC, 0, o[RUBY_EXEC_SIZE]);
}

/* CHECK ^= @from, of which the lowest bits are the same for all. */
static void mix_address(struct text_writer *text, uint8_t from, uint32_t shift)
{
	text_op(text, BF_OP_SHR, from, from, 0, shift);
	text_op(text, BF_OP_XOR, CHECK, CHECK, from, 0);
}

/* CODE = the frame's method entry, which its variables may have taken the place of. */
static void write_entry(struct text_writer *text)
{
	text_load(text, CODE, 8, 64);
	text_op(text, BF_OP_SET, CHECK, 0, 0, 0);
	text_op(text, BF_OP_READ, 0, CODE, RUBY_ENTRY_BYTES / 8 - 1, 0);
	text_load(text, TEMPORARY, 8, 0);
	text_op(text, BF_OP_SHR, TEMPORARY, TEMPORARY, 0, 12);
	text_op(text, BF_OP_ANDI, TEMPORARY, TEMPORARY, 0, 15);
	text_if(text, TEMPORARY, BF_NE, RUBY_SPECIAL_VARIABLES, LABEL_IS_ENTRY);
	text_load(text, CODE, 8, 8);
	text_op(text, BF_OP_READ, 0, CODE, RUBY_ENTRY_BYTES / 8 - 1, 0);
	text_label(text, LABEL_IS_ENTRY);
	text_load(text, TEMPORARY, 8, RUBY_ENTRY_OWNER);
	mix_address(text, TEMPORARY, 3);
	text_if(text, SEQUENCE, BF_EQ, 0, LABEL_FUNCTION);
	text_op(text, BF_OP_ADDI, TEMPORARY, SEQUENCE, 0, 0);
	mix_address(text, TEMPORARY, 2);
	text_jump(text, LABEL_CODE);
	text_label(text, LABEL_FUNCTION);
	text_load(text, TEMPORARY, 8, RUBY_ENTRY_DEFINITION);
	mix_address(text, TEMPORARY, 4);
	text_load(text, TEMPORARY, 8, RUBY_ENTRY_NAME);
	text_op(text, BF_OP_MULI, TEMPORARY, TEMPORARY, 0, RUBY_SPREAD);
	text_op(text, BF_OP_XOR, CHECK, CHECK, TEMPORARY, 0);
	text_op(text, BF_OP_EMIT, CODE, 0, CHECK, RUBY_FUNCTION);
	text_jump(text, LABEL_NEXT);
}

/* DETAIL and CHECK of instructions: as ruby_names.c makes it. */
static void write_code(struct text_writer *text, const uint32_t *o)
{
	uint32_t words = (o[RUBY_BODY_LINE] + 8 - RUBY_BODY_INSTRUCTIONS) / 8;

	text_fetch(text, OTHER, SEQUENCE, RUBY_SEQUENCE_BODY);
	text_op(text, BF_OP_READ, 0, OTHER, words - 1, RUBY_BODY_INSTRUCTIONS);
	text_load(text, OTHER, 8, 0);
	text_op(text, BF_OP_SUB, DETAIL, DETAIL, OTHER, 0);
	text_load(text, OTHER, 8, o[RUBY_BODY_PATH] - RUBY_BODY_INSTRUCTIONS);
	mix_address(text, OTHER, 3);
	text_load(text, OTHER, 4, o[RUBY_BODY_LINE] - RUBY_BODY_INSTRUCTIONS);
	text_op(text, BF_OP_MULI, OTHER, OTHER, 0, RUBY_SPREAD);
	text_op(text, BF_OP_XOR, CHECK, CHECK, OTHER, 0);
	text_load(text, OTHER, 8, o[RUBY_BODY_LABEL] - RUBY_BODY_INSTRUCTIONS);
	text_op(text, BF_OP_TRY, 0, OTHER, 1, o[RUBY_STRING_TEXT]);
	mix_address(text, OTHER, 3);
	text_load(text, OTHER, 8, 0);
	text_op(text, BF_OP_XOR, CHECK, CHECK, OTHER, 0);
	mix_address(text, OTHER, 32);
	text_load(text, OTHER, 8, 8);
	text_op(text, BF_OP_MULI, OTHER, OTHER, 0, RUBY_SPREAD);
	text_op(text, BF_OP_XOR, CHECK, CHECK, OTHER, 0);
}

static void write_emit(struct text_writer *text)
{
	text_if(text, KIND, BF_EQ, KIND_METHOD, LABEL_EMIT);
	text_op(text, BF_OP_EMIT, SEQUENCE, DETAIL, CHECK, RUBY_SEQUENCE);
	text_jump(text, LABEL_NEXT);
	text_label(text, LABEL_EMIT);
	text_op(text, BF_OP_EMIT, CODE, DETAIL, CHECK, RUBY_METHOD);
}

/* Undoes what glibc's setjmp() does to addresses (PTR_MANGLE): x = (x ror 17) ^ @guard. */
static void write_shown(struct text_writer *text, uint8_t x, uint8_t guard, uint8_t scratch)
{
	text_op(text, BF_OP_SHL, scratch, x, 0, 64 - 17);
	text_op(text, BF_OP_SHR, x, x, 0, 17);
	text_op(text, BF_OP_XOR, x, x, scratch, 0);
	text_op(text, BF_OP_XOR, x, x, guard, 0);
}

/* TEMPORARY = where TAG returns to, OTHER with which stack pointer, TAG the one before it. */
static void write_tag(struct text_writer *text, const uint32_t *o)
{
	bool is_hidden = o[RUBY_GUARD] != 0; /* glibc's jmp_buf; else __builtin_setjmp()'s */

	text_op(text, BF_OP_READ, 0, TAG, 1, o[RUBY_TAG_JUMP]);
	text_op(text, BF_OP_READ, 2, TAG, 0, o[RUBY_TAG_PREVIOUS]);
	text_load(text, TEMPORARY, 8, is_hidden ? 8 : 0);
	text_load(text, OTHER, 8, is_hidden ? 0 : 8);
	text_load(text, TAG, 8, 16);
	if (!is_hidden)
		return;
	text_fetch(text, KIND, BF_REGISTER_TLS, o[RUBY_GUARD]);
	write_shown(text, TEMPORARY, KIND, DETAIL);
	write_shown(text, OTHER, KIND, DETAIL);
}

/* Ends the activation at the next tag of one. */
static void write_stop(struct text_writer *text, const uint32_t *o)
{
	text_if(text, FLAGS, BF_NONE, FLAGS_FINISH, LABEL_FRAME);
	text_label(text, LABEL_TAG);
	text_if(text, TAG, BF_EQ, 0, LABEL_NO_TAG);
	write_tag(text, o);
	text_if_register(text, TEMPORARY, BF_LT, EXEC, LABEL_TAG);
	text_if_register(text, TEMPORARY, BF_GE, EXEC_END, LABEL_TAG);
	text_op(text, BF_OP_ADDI, TEMPORARY, OTHER, 0, -8);
	text_op(text, BF_OP_STOP, TEMPORARY, 0, 0, 0);
	text_jump(text, LABEL_FRAME);
	text_label(text, LABEL_NO_TAG);
	text_op(text, BF_OP_SET, TEMPORARY, 0, 0, -1);
	text_op(text, BF_OP_STOP, TEMPORARY, 0, 0, 0);
	text_jump(text, LABEL_FRAME);
}

static int ruby_write(const struct runtime_facts *facts, struct bf_text *ret)
{
	const uint32_t *o = facts->offsets;
	struct text_writer text;

	text_begin(&text, ret);
	text_end_early(&text);
	write_context(&text, o);
	write_start(&text, o);
	text_label(&text, LABEL_FRAME);
	text_if_register(&text, FRAME, BF_GE, LAST, LABEL_END);
	text_op(&text, BF_OP_READ, 0, FRAME, FRAME_WORDS - 1, 0);
	text_op(&text, BF_OP_ADDI, FRAME, FRAME, 0, o[RUBY_FRAME_SIZE]);
	text_load(&text, DETAIL, 8, FRAME_PC);
	text_load(&text, SEQUENCE, 8, FRAME_CODE);
	text_load(&text, TEMPORARY, 8, FRAME_EP);
	text_op(&text, BF_OP_READ, 8, TEMPORARY, 2, EP_ENTRY);
	text_load(&text, FLAGS, 8, 64 + EP_FLAGS);
	text_op(&text, BF_OP_ANDI, KIND, FLAGS, 0, FLAGS_KIND);
	text_if(&text, KIND, BF_EQ, KIND_CFUNC, LABEL_ENTRY);
	/* Frames for the interpreter itself have no instructions, or no place in them. */
	text_if(&text, SEQUENCE, BF_EQ, 0, LABEL_NEXT);
	text_if(&text, DETAIL, BF_EQ, 0, LABEL_NEXT);
	text_op(&text, BF_OP_SET, CHECK, 0, 0, 0);
	text_if(&text, KIND, BF_NE, KIND_METHOD, LABEL_CODE);
	text_label(&text, LABEL_ENTRY);
	write_entry(&text);
	text_label(&text, LABEL_CODE);
	write_code(&text, o);
	write_emit(&text);
	text_label(&text, LABEL_NEXT);
	write_stop(&text, o);
	text_label(&text, LABEL_END);
	text_op(&text, BF_OP_END, 0, 0, 0, 0);
	return text_end(&text);
}

const struct runtime runtime_ruby = {
	.name = "Ruby",
	.language = "ruby",
	.has_late_anchors = true,
	.function_kind = RUBY_FUNCTION,
	.examine = examine,
	.is_sound = is_sound,
	.write_chain = ruby_write,
	.describe = ruby_describe,
	.line = ruby_line,
};
