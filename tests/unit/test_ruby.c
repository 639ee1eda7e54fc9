/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ruby's frames, names and lines, in memory made by hand. */

#include "runtimes/ruby.h"
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_library.h"
#include "tests/unit/made_runtime.h"

#define TLS	     (MADE_START + 0x1000)
#define VECTOR	     (MADE_START + 0x1100)
#define BLOCK	     (MADE_START + 0x1200)
#define CONTEXT	     (MADE_START + 0x1300)
#define TAGS	     (MADE_START + 0x1400) /* 0x100 each */
#define THREAD	     (MADE_START + 0x1800) /* its object */
#define STACK	     (MADE_START + 0x2000) /* control frames at its end */
#define WORDS	     0x100
#define EPS	     (MADE_START + 0x3000) /* 0x40 each */
#define ENTRIES	     (MADE_START + 0x4000) /* 0x40 each */
#define DEFINITIONS  (MADE_START + 0x4400)
#define SEQUENCES    (MADE_START + 0x5000) /* 0x40 each */
#define BODIES	     (MADE_START + 0x6000) /* 0x100 each */
#define STRINGS	     (MADE_START + 0x7000) /* 0x40 each */
#define CODE	     (MADE_START + 0x8000)
#define LINES	     (MADE_START + 0x8800)
#define INDEX	     (MADE_START + 0x8c00)
#define CLASS	     (MADE_START + 0x9000)
#define PARTS	     (MADE_START + 0x9100)
#define VARIABLES    (MADE_START + 0x9200)
#define ITEMS	     (MADE_START + 0x9300)
#define SYMBOLS	     (MADE_START + 0xa000) /* the table's address, at a place of the file */
#define TABLES	     (MADE_START + 0xa100)
#define TABLE	     (MADE_START + 0xa200)
#define NAMES	     (MADE_START + 0xb000)
#define BIAS	     MADE_START
#define LOOP	     0x700 /* rb_vm_exec, in the file */
#define KEY	     0xc80 /* of the threads' objects */
#define DEPTH	     4	   /* frames: a method, a function in C, a block, a method */
#define CLASSPATH_ID 240
#define EACH_ID	     200
#define GUARD	     0x5a17e9c304b62d88

static struct made_runtime thread = {.tls = TLS, .bias = BIAS};

static uint32_t version; /* that is made, each in its turn */

static struct runtime_facts made_facts(void)
{
	struct runtime_facts facts = {.runtime = 2, .version = version};

	assert_true(ruby_known_offsets(&facts));
	if (facts.offsets[RUBY_THREAD_IDENT]) {
		facts.offsets[RUBY_OWN_KEY] = KEY;
	} else {
		facts.offsets[RUBY_OWN_MODULE] = 0xc00;
		facts.offsets[RUBY_OWN_OFFSET] = 8;
	}
	facts.offsets[RUBY_EXEC] = LOOP;
	facts.offsets[RUBY_EXEC_SIZE] = 0x80;
	facts.loop = LOOP;
	facts.loop_size = 0x80;
	facts.offsets[RUBY_TABLES] = 0x400; /* that is none: */
	facts.offsets[RUBY_TABLES + 1] = SYMBOLS - BIAS;
	assert_true(runtime_is_sound(&facts));
	return facts;
}

static void word(uint64_t address, uint64_t value)
{
	made_word(&thread.memory, address, value);
}

static bool is_old(void)
{
	return version < RUBY(3, 2);
}

static void made_string(uint64_t at, const char *text)
{
	word(at, RUBY_STRING | (is_old() ? strlen(text) << 14 : 0));
	if (!is_old())
		word(at + 16, strlen(text));
	memcpy(thread.memory.bytes + (at + (is_old() ? 16 : 24) - MADE_START), text, strlen(text));
}

/* An entry of the table of symbols; all are in its first part. */
static void made_symbol(uint64_t serial, const char *text)
{
	static uint64_t n;
	uint64_t at = NAMES + 0x40 * (n++ % 16);

	made_string(at, text);
	word(TABLE + 0x100 + 16 * serial, at);
}

static void made_symbols(void)
{
	word(SYMBOLS, TABLES);
	word(TABLES, RUBY_ARRAY | 1 << 13 | 1 << 15); /* of one element, in itself */
	word(TABLES + 16, TABLE);
	word(TABLE, RUBY_ARRAY);
	word(TABLE + 16, 1024);
	word(TABLE + 32, TABLE + 0x100);
	made_symbol('+', "+");
	made_symbol(CLASSPATH_ID, "__classpath__");
	made_symbol(EACH_ID, "each");
}

static void made_class(const uint32_t *o)
{
	word(CLASS, RUBY_CLASS);
	made_string(STRINGS + 0x40 * DEPTH, "wrong");
	made_string(STRINGS + 0x40 * (DEPTH + 1), "Made");
	if (o[RUBY_CLASS_NAME]) {
		word(CLASS + o[RUBY_CLASS_NAME], STRINGS + 0x40 * (DEPTH + 1));
		return;
	}
	word(CLASS + 24, PARTS);
	word(PARTS + 8, VARIABLES);
	word(VARIABLES + 40, 2);
	word(VARIABLES + 48, ITEMS);
	word(ITEMS + 8, EACH_ID << 4 | 1); /* another variable, whose value is a string, too */
	word(ITEMS + 16, STRINGS + 0x40 * DEPTH);
	word(ITEMS + 32, CLASSPATH_ID << 4 | 1);
	word(ITEMS + 40, STRINGS + 0x40 * (DEPTH + 1));
}

static void made_sequence(const uint32_t *o, int i, const char *label)
{
	uint64_t body = BODIES + 0x100 * i, sequence = SEQUENCES + 0x40 * i;

	made_string(STRINGS + 0x40 * i, label);
	word(sequence, RUBY_INTERNAL | RUBY_INSTRUCTIONS << 12);
	word(sequence + RUBY_SEQUENCE_BODY, body);
	word(body, 1 | 10ULL << 32); /* ten words of instructions */
	word(body + RUBY_BODY_INSTRUCTIONS, CODE);
	word(body + o[RUBY_BODY_PATH], STRINGS + 0x40 * (DEPTH + 2));
	word(body + o[RUBY_BODY_LABEL], STRINGS + 0x40 * i);
	word(body + o[RUBY_BODY_LINE], is_old() ? (100 + i) << 1 | 1 : 100 + i);
	word(body + o[RUBY_BODY_LINES], LINES);
	word(body + o[RUBY_BODY_LINES] + 16, 3);
	word(body + o[RUBY_BODY_LINES] + 24, INDEX);
}

static void made_entry(int i, bool is_function)
{
	uint64_t entry = ENTRIES + 0x40 * i, definition = DEFINITIONS + 0x40 * i;

	word(entry, RUBY_INTERNAL | RUBY_METHOD_ENTRY << 12);
	word(entry + RUBY_ENTRY_DEFINITION, definition);
	word(entry + RUBY_ENTRY_NAME, EACH_ID << 4 | 1);
	word(entry + RUBY_ENTRY_OWNER, CLASS);
	word(definition, is_function);
	word(definition + 8, is_function ? 0 : SEQUENCES + 0x40 * i);
	word(definition + 32, EACH_ID << 4 | 1);
}

static void made_frame(const uint32_t *o, int i, uint64_t flags)
{
	bool is_function = (flags & 0x7fff0000) == 0x55550000;
	uint64_t at = STACK + 8 * WORDS - o[RUBY_FRAME_SIZE] * (DEPTH + 1 - i);
	uint64_t ep = EPS + 0x40 * i + 16;

	word(at, is_function ? 0 : CODE + 8 * 5);
	word(at + 16, is_function ? 0 : SEQUENCES + 0x40 * i);
	word(at + 32, ep);
	word(ep, flags);
	word(ep - 16, ENTRIES + 0x40 * i);
}

/* As setjmp() leaves it. */
static uint64_t hidden(uint64_t address)
{
	address ^= GUARD;
	return address << 17 | address >> 47;
}

/* Tags, innermost first: one of other code, and those of two activations. */
static void made_tags(const uint32_t *o)
{
	for (int i = 0; i < 3; i++) {
		uint64_t tag = TAGS + 0x100 * i, pc = BIAS + (i == 0 ? LOOP + 0x80 : LOOP + 0x10);
		uint64_t sp = 0x7ff000001000 + 0x1000 * i;

		word(tag + o[RUBY_TAG_JUMP], o[RUBY_GUARD] ? hidden(sp) : pc);
		word(tag + o[RUBY_TAG_JUMP] + 8, o[RUBY_GUARD] ? hidden(pc) : sp);
		word(tag + o[RUBY_TAG_PREVIOUS], i < 2 ? TAGS + 0x100 * (i + 1) : 0);
	}
	if (o[RUBY_GUARD])
		word(TLS + o[RUBY_GUARD], GUARD);
}

/* How the thread finds its context: by a variable of its own, or by a key's data, its object. */
static void made_thread(const uint32_t *o)
{
	if (o[RUBY_THREAD_IDENT]) {
		made_number(&thread.memory, BIAS + KEY, 3);
		word(TLS + 0x310 + 16 * 3 + 8, THREAD);
		word(THREAD + o[RUBY_THREAD_CONTEXT], CONTEXT);
		word(THREAD + o[RUBY_THREAD_IDENT], TLS);
		word(CONTEXT + o[RUBY_CONTEXT_THREAD], THREAD);
		return;
	}
	word(BIAS + 0xc00, 2);
	word(TLS + 8, VECTOR);
	word(VECTOR + 16 * 2, BLOCK);
	word(BLOCK + 8, CONTEXT);
}

static void made_ruby(const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;
	/* Three runs: from 0, 3 and 6 on. */
	static const uint64_t ranks[] = {1, 1, 1, 2, 2, 2, 3, 3, 3, 3};

	memset(&thread.memory, 0, sizeof thread.memory);
	made_thread(o);
	word(CONTEXT, STACK);
	word(CONTEXT + 8, WORDS);
	word(CONTEXT + 16, STACK + 8 * WORDS - o[RUBY_FRAME_SIZE] * (DEPTH + 1));
	word(CONTEXT + 24, TAGS);
	made_tags(o);
	made_symbols();
	made_class(o);
	made_string(STRINGS + 0x40 * (DEPTH + 2), "/srv/made.rb");
	for (uint32_t i = 0; i < 10; i++) {
		uint64_t packed;

		memcpy(&packed, thread.memory.bytes + (INDEX + i / 9 * 8 - MADE_START), 8);
		word(INDEX + i / 9 * 8, packed | ranks[i] << i % 9 * 7);
	}
	for (uint32_t i = 0; i < 3; i++)
		made_number(&thread.memory, LINES + o[RUBY_LINE_SIZE] * i, 201 + i);
	for (int i = 0; i < DEPTH; i++) {
		made_sequence(o, i, i == 2 ? "block in made" : "made");
		made_entry(i, i == 1);
	}
	made_frame(o, 0, 0x11110021); /* the end of an activation */
	made_frame(o, 1, 0x55550001);
	made_frame(o, 2, 0x22220001);
	made_frame(o, 3, 0x11110021);
}

static void frames_and_anchors(void **state)
{
	struct runtime_facts facts = made_facts();
	uint32_t activations;

	made_ruby(&facts);
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(made_frames(&thread.machine, &activations), DEPTH);
	assert_int_equal(activations, 2);
	assert_int_equal(made_frame_at(&thread, 0).code, ENTRIES);
	assert_int_equal(made_frame_at(&thread, 0).kind, RUBY_METHOD);
	assert_int_equal(made_frame_at(&thread, 1).kind, RUBY_FUNCTION);
	assert_int_equal(made_frame_at(&thread, 2).code, SEQUENCES + 0x80);
	assert_int_equal(made_frame_at(&thread, 2).kind, RUBY_SEQUENCE);
	/* The tag of other code is none; the loop is below the tag's stack pointer. */
	assert_int_equal(thread.machine.words[0] & BF_FRAME_CODE, 0x7ff000002000 - 8);
	assert_int_equal(thread.machine.words[3] & BF_FRAME_CODE, 0x7ff000003000 - 8);
}

static const char *const names[DEPTH] = {"Made#made", "Made#each", "block in made", "Made#made"};

/* Whether it is the name of frame @i, or all of it but the class. */
static bool is_name(const struct runtime_code *code, uint32_t i)
{
	const char *method = strchr(names[i], '#');

	return strcmp(code->name, names[i]) == 0 || (method && strcmp(code->name, method + 1) == 0);
}

static void names_and_lines(void **state)
{
	struct runtime_facts facts = made_facts();

	made_ruby(&facts);
	made_find(&thread, &facts);
	for (uint32_t i = 0; i < DEPTH; i++) {
		struct runtime_code code;

		assert_int_equal(made_describe(&thread, &facts, i, &code), 0);
		assert_string_equal(code.name, names[i]);
		assert_string_equal(code.file, i == 1 ? "<internal:C>" : "/srv/made.rb");
		if (i != 1) /* the instruction before word 5 is in the second run */
			assert_int_equal(runtime_line(&facts, code.lines, code.n_lines,
						      code.first_line,
						      made_frame_at(&thread, i).detail),
					 202);
		free(code.lines);
	}
}

/* A class that has the methods of an object, which is a class here. */
static void methods_of_a_class_itself(void **state)
{
	struct runtime_facts facts = made_facts();
	const uint32_t *o = facts.offsets;
	uint64_t own = MADE_START + 0xe000;
	struct runtime_code code;

	if (!o[RUBY_CLASS_OBJECT])
		return;
	made_ruby(&facts);
	word(ENTRIES + RUBY_ENTRY_OWNER, own);
	word(own, RUBY_CLASS | 1 << 12);
	word(own + o[RUBY_CLASS_OBJECT], CLASS);
	made_find(&thread, &facts);
	assert_int_equal(made_describe(&thread, &facts, 0, &code), 0);
	assert_string_equal(code.name, "Made.made");
	free(code.lines);
	/* Those of an object that is none have no class. */
	word(own + o[RUBY_CLASS_OBJECT], STRINGS);
	assert_int_equal(made_describe(&thread, &facts, 0, &code), 0);
	assert_string_equal(code.name, "made");
	free(code.lines);
}

/* Such as no program would have. */
static void tags_without_an_end(void **state)
{
	struct runtime_facts facts = made_facts();

	made_ruby(&facts);
	word(TAGS + facts.offsets[RUBY_TAG_PREVIOUS], TAGS);
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_BUDGET);
	assert_int_equal(thread.machine.header, 0);
}

static void a_thread_that_is_kept_for_the_next_one(void **state)
{
	struct runtime_facts facts = made_facts();

	made_ruby(&facts);
	word(CONTEXT, 0);
	word(CONTEXT + 8, 0);
	word(CONTEXT + 16, 0);
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(thread.machine.header, 0);
}

/* What a thread's key leads to must be this thread's: it may have been freed, and be another's. */
static void other_threads_are_not_taken(void **state)
{
	struct runtime_facts facts = made_facts();
	const uint32_t *o = facts.offsets;
	const uint64_t at[] = {BIAS + KEY, THREAD + o[RUBY_THREAD_IDENT],
			       CONTEXT + o[RUBY_CONTEXT_THREAD]};

	if (!o[RUBY_OWN_KEY])
		return;
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		made_ruby(&facts);
		thread.memory.bytes[at[i] - MADE_START] ^= 0x40;
		made_find(&thread, &facts);
		assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
		assert_int_equal(thread.machine.header, 0);
	}
}

/* The variables of a method can take the place of its entry, which they lead to. */
static void methods_with_special_variables(void **state)
{
	struct runtime_facts facts = made_facts();

	made_ruby(&facts);
	word(EPS, MADE_START + 0xe000);
	word(MADE_START + 0xe000, RUBY_INTERNAL | RUBY_SPECIAL_VARIABLES << 12);
	word(MADE_START + 0xe008, ENTRIES);
	made_find(&thread, &facts);
	assert_int_equal(made_frame_at(&thread, 0).code, ENTRIES);
}

static void what_changed_has_no_name(void **state)
{
	struct runtime_facts facts = made_facts();
	const uint32_t *o = facts.offsets;
	const uint64_t at[] = {ENTRIES,
			       ENTRIES + RUBY_ENTRY_OWNER,
			       DEFINITIONS,
			       DEFINITIONS + 8,
			       SEQUENCES,
			       BODIES + o[RUBY_BODY_PATH],
			       BODIES + o[RUBY_BODY_LABEL],
			       BODIES + o[RUBY_BODY_LINE],
			       STRINGS + o[RUBY_STRING_TEXT]};
	struct runtime_code code;

	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		made_ruby(&facts);
		made_find(&thread, &facts);
		thread.memory.bytes[at[i] - MADE_START] ^= 0x8;
		assert_true(made_describe(&thread, &facts, 0, &code) < 0);
	}
	/* A class of unknown name is left out, as is one whose symbols are not found. */
	made_ruby(&facts);
	made_find(&thread, &facts);
	word(ITEMS + 32, EACH_ID << 4 | 1);
	word(CLASS + o[RUBY_CLASS_NAME], RUBY_CLASS);
	assert_int_equal(made_describe(&thread, &facts, 0, &code), 0);
	assert_string_equal(code.name, "made");
	free(code.lines);
	made_symbol('+', "-");
	assert_int_equal(made_describe(&thread, &facts, 0, &code), 0);
	assert_string_equal(code.name, "made");
	free(code.lines);
	assert_true(made_describe(&thread, &facts, 1, &code) < 0);
}

static void a_thread_that_has_not_started_has_none(void **state)
{
	struct runtime_facts facts = made_facts();

	made_ruby(&facts);
	made_early(&thread, &facts);
}

static void a_fault_at_any_read(void **state)
{
	struct runtime_facts facts = made_facts();

	made_ruby(&facts);
	made_faults(&thread, &facts, DEPTH);
	for (uint32_t frame = 0; frame < DEPTH; frame++)
		for (uint64_t i = 1; i < 80; i++) {
			struct runtime_code code;

			thread.memory.fails_at = i;
			if (made_describe(&thread, &facts, frame, &code) < 0)
				continue;
			assert_true(is_name(&code, frame));
			free(code.lines);
		}
}

/* The objects are freed, and made anew as others: another class, and entries that have its name. */
static void change(struct made_memory *memory)
{
	made_string(STRINGS + 0x40 * (DEPTH + 1), "Next");
	for (int i = 0; i < DEPTH; i++)
		made_word(memory, ENTRIES + 0x40 * i + RUBY_ENTRY_OWNER, CLASS + 0x10);
}

/* A name is that of the frame, whenever its objects become others while they are read. */
static void what_changes_meanwhile_has_no_other_name(void **state)
{
	struct runtime_facts facts = made_facts();
	uint32_t n_refused = 0;

	for (uint32_t frame = 0; frame < DEPTH; frame++)
		for (uint64_t i = 1; i < 80; i++) {
			struct runtime_code code;

			made_ruby(&facts);
			made_find(&thread, &facts);
			thread.memory.changes_at = i;
			thread.memory.change = change;
			if (made_describe(&thread, &facts, frame, &code) < 0) {
				n_refused++;
				continue;
			}
			assert_true(is_name(&code, frame));
			free(code.lines);
		}
	assert_true(n_refused > 0);
}

/* Beyond the first 54 instructions, runs are bits. */
static void long_methods(void **state)
{
	uint8_t index[48 + 2 * 80] = {}, items[4 * 12] = {};
	struct ruby_run runs[5];

	assert_int_equal(ruby_index_size(54), 48);
	assert_int_equal(ruby_index_size(600), sizeof index);
	for (uint32_t i = 0; i < 6; i++) {
		uint64_t ones = 0x0102040810204081; /* a run before each of them: 1 */

		memcpy(index + 8 * i, &ones, 8);
	}
	index[48 + 16 + 100 / 8] |= 1 << 100 % 8;
	index[48 + 80 + 16] |= 1;
	for (uint32_t i = 0; i < 3; i++)
		items[12 * i] = 10 + i;
	assert_int_equal(ruby_runs(items, 3, 12, index, sizeof index, 600, runs), 3);
	assert_int_equal(runs[1].first, 54 + 100);
	assert_int_equal(runs[2].first, 54 + 512);
	assert_int_equal(runs[2].line, 12);
	assert_int_equal(ruby_runs(items, 3, 12, index, sizeof index - 1, 600, runs), 0);
}

/* A library that hides all but rb_iseq_eval(), which does what Ruby's does. */
static const char hiding[] =
	"const int ruby_api_version[3] = {3, 3, 0};"
	"void rb_vm_exec(void *);"
	"static __thread void *other, *others[4], *context;"
	"void ruby_run_node(void *p) { other = p; others[(long)p & 3] = p; context = p; }"
	"int ruby_id; void *rb_id2str(void) { return &ruby_id; }"
	"__attribute__((visibility(\"hidden\"), noinline)) void vm_exec(void *p)"
	"{ __asm__ volatile(\".skip 99, 0x90\" :: \"r\"(p)); }"
	"void ruby_exec_address(void *);"
	"void rb_iseq_eval(void *p) {"
	"	void *mine = context;"
	"	ruby_exec_address(mine); ruby_exec_address(mine);"
	"	CALL; }";

static void what_is_hidden_is_found(void **state)
{
	const uint32_t *o;
	struct runtime_facts facts = made_library_facts(
		hiding,
		"-O2 -w -ftls-model=local-dynamic -fcf-protection=none \"-DCALL=vm_exec(mine)\"");

	o = facts.offsets;
	assert_int_equal(facts.version, RUBY(3, 3));
	assert_int_equal(facts.problem, RUNTIME_FINE);
	assert_in_range(o[RUBY_EXEC_SIZE], 100, 110);
	assert_true(o[RUBY_OWN_MODULE] && o[RUBY_OWN_OFFSET] <= 40);
	/* One that does something else there shows native frames, and says why. */
	facts = made_library_facts(hiding, "-O2 -w -fcf-protection=none \"-DCALL=vm_exec(mine), "
					   "ruby_run_node(p), other = p\"");
	assert_int_equal(facts.problem, RUNTIME_BUILD);
	facts = made_library_facts(hiding,
				   "-O2 -w -ftls-model=initial-exec \"-DCALL=vm_exec(mine)\"");
	assert_int_equal(facts.problem, RUNTIME_BUILD);
}

/* A library whose threads have their objects by a key. */
static const char keyed[] =
	"#include <pthread.h>\n"
	"const int ruby_api_version[3] = {2, 7, 0};"
	"static pthread_key_t other, key;"
	"void rb_vm_exec(void *p) { __asm__ volatile(\".skip 99, 0x90\" :: \"r\"(p)); }"
	"int ruby_run_node(void *p) { return pthread_key_create(&key, 0) + "
	"pthread_key_create(&other, 0); }"
	"int ruby_id; void *rb_id2str(void) { return &ruby_id; }"
	"int ruby_native_thread_p(void) { return BODY; }";

static void keys_are_found(void **state)
{
	struct runtime_facts facts =
		made_library_facts(keyed, "-O2 -w \"-DBODY=pthread_getspecific(key) != 0\"");
	uint32_t key = facts.offsets[RUBY_OWN_KEY];

	assert_int_equal(facts.version, RUBY(2, 7));
	assert_int_equal(facts.problem, RUNTIME_FINE);
	assert_int_not_equal(key, 0);
	assert_in_range(facts.offsets[RUBY_EXEC_SIZE], 100, 110);
	facts = made_library_facts(keyed, "-O2 -w \"-DBODY=pthread_getspecific(other) != 0\"");
	assert_int_equal(facts.problem, RUNTIME_FINE);
	assert_int_not_equal(facts.offsets[RUBY_OWN_KEY], key);
	/* One that asks for none shows native frames, and says why. */
	facts = made_library_facts(keyed, "-O2 -w -DBODY=1");
	assert_int_equal(facts.problem, RUNTIME_BUILD);
}

static void only_sound_facts_are_used(void **state)
{
	struct runtime_facts facts = made_facts(), changed;

	made_other_facts(&thread, &facts, made_ruby, N_RUBY_OFFSETS, 600);
	changed = facts;
	changed.offsets[RUBY_BODY_LABEL] = 84;
	assert_false(runtime_is_sound(&changed));
	changed.offsets[RUBY_BODY_LABEL] = 400;
	assert_false(runtime_is_sound(&changed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_and_anchors),
		cmocka_unit_test(tags_without_an_end),
		cmocka_unit_test(a_thread_that_is_kept_for_the_next_one),
		cmocka_unit_test(names_and_lines),
		cmocka_unit_test(methods_of_a_class_itself),
		cmocka_unit_test(other_threads_are_not_taken),
		cmocka_unit_test(methods_with_special_variables),
		cmocka_unit_test(what_changed_has_no_name),
		cmocka_unit_test(a_thread_that_has_not_started_has_none),
		cmocka_unit_test(a_fault_at_any_read),
		cmocka_unit_test(what_changes_meanwhile_has_no_other_name),
		cmocka_unit_test(long_methods),
		cmocka_unit_test(only_sound_facts_are_used),
		cmocka_unit_test(what_is_hidden_is_found),
		cmocka_unit_test(keys_are_found),
	};

	static const uint32_t versions[] = {RUBY(2, 7), RUBY(3, 1), RUBY(3, 3)};
	int failed = 0;

	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		version = versions[i];
		failed += cmocka_run_group_tests(tests, made_setup, made_done);
	}
	return failed;
}
