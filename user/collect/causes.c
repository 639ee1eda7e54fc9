/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causes: reads a stack's kernel half outwards from the function that gave the CPU away. The first
 * function with a rule decides: it is nearest to what the thread waits for, whatever the program
 * asked for. Some rules further out override it: reading a page from a disk is a page fault, since
 * the program did not ask for a disk.
 *
 * No rule needs the scheduler's functions or those that take locks: the kernel omits them from
 * stacks of threads that were already waiting when the recording began.
 *
 * Each stack is judged once, and each name looked up once.
 */
#include "collect/causes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/causes_rules.h"

/*
 * An average sleep of at least this length is a daemon's tick; shorter ones, such as sleeps between
 * retries, are assumed to delay somebody's work.
 */
#define LONG_SLEEP_NS 500000000

struct verdict {
	bool is_known;
	enum off_reason reason; /* STAY: the scheduler's own */
	enum idle idle;
};

#define NOT_LOOKED_UP 0
#define NO_RULE	      1
#define FIRST_RULE    2

struct causes {
	struct profile *profile;
	bool has_children;
	struct rulebook books[N_RULES];
	uint8_t *rules[N_RULES];  /* by string: FIRST_RULE + a rule's number, or a value above */
	struct verdict *verdicts; /* by stack */
};

/* NULL: no rule matches. */
static const struct rule *rule_of_string(struct causes *causes, enum rules kind, uint32_t string)
{
	uint8_t *rule = &causes->rules[kind][string];

	if (*rule == NOT_LOOKED_UP) {
		const char *function = strings_get(&causes->profile->strings, string);
		int number = rulebook_find(&causes->books[kind], function);

		*rule = number < 0 ? NO_RULE : FIRST_RULE + number;
	}
	return *rule == NO_RULE ? NULL : &rules_of(kind, NULL)[*rule - FIRST_RULE];
}

static const struct profile_location *location_of(const struct causes *causes,
						  const struct profile_stack *stack, uint32_t i)
{
	const struct profile *profile = causes->profile;

	return &profile->locations[profile->stack_locations[stack->first + i]];
}

static bool is_kernel(const struct causes *causes, const struct profile_location *location)
{
	return causes->profile->mappings[location->mapping].kind == MAPPING_KERNEL;
}

/* The number of frames in the kernel half. */
static uint32_t kernel_depth(const struct causes *causes, const struct profile_stack *stack)
{
	uint32_t n = 0;

	while (n < stack->n && is_kernel(causes, location_of(causes, stack, n)))
		n++;
	return n;
}

static const struct rule *rule_of_kernel(struct causes *causes, enum rules kind,
					 const struct profile_location *location)
{
	if (!location->n_frames)
		return NULL;
	return rule_of_string(causes, kind,
			      causes->profile->frames[location->first_frame].function);
}

static struct verdict judge_kernel(struct causes *causes, const struct profile_stack *stack,
				   uint32_t n)
{
	struct verdict verdict = {.is_known = true};
	bool decided = false;

	for (uint32_t i = 0, depth = 0; i < n; i++) {
		const struct profile_location *location = location_of(causes, stack, i);
		const struct rule *rule = rule_of_kernel(causes, RULES_KERNEL, location);

		if (location->hidden || (rule && rule->reason == SCHEDULER))
			continue;
		depth++;
		if (!rule || (rule->within && depth > rule->within))
			continue;
		if (decided && !(rule->over & OVER(verdict.reason)))
			continue;
		verdict.reason = rule->reason;
		verdict.idle = rule->idle;
		decided = true;
	}
	return verdict;
}

/*
 * Interpreters that let one thread at a time run their language. Their threads wait on a condition
 * for that, in functions that stripped files have no names for.
 */
enum interpreter {
	NO_INTERPRETER,
	INTERPRETER_PYTHON, /* all its conditions are for that; its locks are semaphores */
	INTERPRETER_RUBY,   /* sleeps and queues are conditions, too */
};

static enum interpreter interpreter_at(const struct causes *causes,
				       const struct profile_location *location)
{
	static const char *const python[] = {"python3", "libpython3"};
	static const char *const ruby[] = {"ruby", "libruby"};
	const struct profile_mapping *mapping = &causes->profile->mappings[location->mapping];
	const char *path = strings_get(&causes->profile->strings, mapping->path);
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (mapping->kind != MAPPING_FILE)
		return NO_INTERPRETER;
	if (text_begins_any(name, python, sizeof python / sizeof *python))
		return INTERPRETER_PYTHON;
	return text_begins_any(name, ruby, sizeof ruby / sizeof *ruby) ? INTERPRETER_RUBY
								       : NO_INTERPRETER;
}

static const struct profile_frame *first_frame(const struct causes *causes,
					       const struct profile_location *location)
{
	return location->n_frames ? &causes->profile->frames[location->first_frame] : NULL;
}

/* The outermost function at @location, which has those inlined into it. */
static bool is_condition(const struct causes *causes, const struct profile_location *location)
{
	const struct profile_frame *frame = first_frame(causes, location);
	const char *name;

	if (!frame)
		return false;
	frame += location->n_frames - 1;
	name = strings_get(&causes->profile->strings, frame->function);
	return strncmp(name + strspn(name, "_"), "pthread_cond_", strlen("pthread_cond_")) == 0;
}

/*
 * Whether the function outside of the condition at @i waits for its turn to run the language: by
 * the file that it lies in, and by what the language called, which may wait by itself.
 */
static bool is_language_lock(struct causes *causes, const struct profile_stack *stack, uint32_t i)
{
	enum interpreter interpreter;

	if (i + 1 >= stack->n)
		return false;
	interpreter = interpreter_at(causes, location_of(causes, stack, i + 1));
	if (interpreter != INTERPRETER_RUBY)
		return interpreter == INTERPRETER_PYTHON;
	for (i++; i < stack->n; i++) {
		const struct profile_frame *frame =
			first_frame(causes, location_of(causes, stack, i));

		if (frame && frame->kind == FRAME_INTERPRETED)
			return !rule_of_string(causes, RULES_USER, frame->function);
	}
	return false;
}

/* The strongest verdict of the rules for the functions outside of the first @i. */
static enum idle judge_user(struct causes *causes, const struct profile_stack *stack, uint32_t i)
{
	const struct profile *profile = causes->profile;
	enum idle idle = IDLE_NO;

	for (; i < stack->n; i++) {
		const struct profile_location *location = location_of(causes, stack, i);

		for (uint32_t k = 0; k < location->n_frames; k++) {
			uint32_t name = profile->frames[location->first_frame + k].function;
			const struct rule *rule = rule_of_string(causes, RULES_USER, name);

			if (rule && rule->idle > idle)
				idle = rule->idle;
		}
		if (idle < NEVER_IDLE && is_condition(causes, location) &&
		    is_language_lock(causes, stack, i))
			idle = NEVER_IDLE;
	}
	return idle;
}

static const struct verdict *judge(struct causes *causes, uint32_t index)
{
	const struct profile_stack *stack = &causes->profile->stacks[index];
	struct verdict *verdict = &causes->verdicts[index];
	uint32_t n = kernel_depth(causes, stack);
	enum idle user;

	if (verdict->is_known)
		return verdict;
	*verdict = judge_kernel(causes, stack, n);
	if (verdict->idle == IDLE_NO)
		return verdict;
	user = judge_user(causes, stack, n);
	if (user != IDLE_NO)
		verdict->idle = user;
	else if (verdict->idle == IDLE_IF_USER)
		verdict->idle = IDLE_NO;
	return verdict;
}

/* Whether a process's main thread has this stack. */
static bool is_main(const struct causes *causes, const struct profile_stack *stack)
{
	const struct profile *profile = causes->profile;
	const struct profile_location *root;

	if (!stack->n)
		return false;
	root = location_of(causes, stack, stack->n - 1);
	return root->n_frames &&
	       strcmp(strings_get(&profile->strings, profile->frames[root->first_frame].function),
		      "_start") == 0;
}

static bool is_idle(const struct causes *causes, const struct profile_sample *sample,
		    enum idle idle)
{
	switch (idle) {
	case IDLE_YES:
	case IDLE_SURELY:
	case ALWAYS_IDLE: return true;
	case IDLE_IF_LONG:
		return sample->waits > 0 && sample->nanoseconds / sample->waits >= LONG_SLEEP_NS;
	case IDLE_IF_PARENT:
		return causes->has_children &&
		       is_main(causes, &causes->profile->stacks[sample->stack]);
	default: return false;
	}
}

/* bpfflame's own helpers: whatever they wait for at their sockets is work. */
static bool is_helper(const struct causes *causes, uint32_t comm)
{
	static const char prefix[] = "bpfflame-";

	return strncmp(strings_get(&causes->profile->strings, comm), prefix, sizeof prefix - 1) ==
	       0;
}

/*
 * A thread that sleeps uninterruptibly waits for something that delays it. REASON_TIMER is a sleep
 * that polls no file, if it polls.
 */
static void apply_to_sample(struct causes *causes, struct profile_sample *sample)
{
	struct verdict copy = *judge(causes, sample->stack), *verdict = &copy;

	if (sample->reason == REASON_TIMER) {
		sample->reason = REASON_SLEEP;
		if (verdict->reason == REASON_POLL) {
			verdict->reason = REASON_TIMER;
			if (verdict->idle == IDLE_YES)
				verdict->idle = IDLE_IF_LONG;
		}
	}
	if (sample->reason == REASON_SLEEP)
		sample->is_idle =
			is_idle(causes, sample, verdict->idle) ||
			(verdict->reason == REASON_NETWORK && is_helper(causes, sample->comm));
	if (verdict->reason != STAY)
		sample->reason = verdict->reason;
}

/* --- wakers */

/* How many frames of @stack belong to an interrupt; 0: none. */
static uint32_t interrupt_depth(struct causes *causes, const struct profile_stack *stack)
{
	uint32_t n = kernel_depth(causes, stack), depth = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct rule *rule =
			rule_of_kernel(causes, RULES_ENTRY, location_of(causes, stack, i));

		if (!rule || (rule->entry == ENTRY_SHARED && (!depth || depth != i)))
			continue;
		if (rule->entry == ENTRY_END)
			break;
		depth = i + 1;
		if (rule->entry == ENTRY_LAST)
			break;
	}
	return depth;
}

static int apply_to_waker(struct causes *causes, struct profile_waker *waker)
{
	struct profile *profile = causes->profile;
	const struct profile_stack *stack = &profile->stacks[waker->stack];
	uint32_t n = interrupt_depth(causes, stack);
	uint32_t *locations;
	int r;

	if (!n)
		return 0;
	/* A copy: adding to the original may move it. */
	locations = malloc(n * sizeof *locations);
	if (!locations)
		return -ENOMEM;
	memcpy(locations, profile->stack_locations + stack->first, n * sizeof *locations);
	r = profile_add_stack(profile, locations, n, STACK_COMPLETE, &waker->stack);
	free(locations);
	if (r < 0)
		return r;
	waker->is_interrupt = true;
	waker->next = 0;
	return 0;
}

static int prepare(struct causes *causes)
{
	const struct profile *profile = causes->profile;

	for (int kind = 0; kind < N_RULES; kind++) {
		int r = rulebook_init(&causes->books[kind], kind);

		if (r < 0)
			return r;
		causes->rules[kind] = calloc(profile->strings.n_strings, 1);
		if (!causes->rules[kind])
			return -ENOMEM;
	}
	causes->verdicts = calloc(profile->n_stacks + 1, sizeof *causes->verdicts);
	return causes->verdicts ? 0 : -ENOMEM;
}

static int apply(struct causes *causes)
{
	struct profile *profile = causes->profile;
	int r = prepare(causes);

	if (r < 0)
		return r;
	for (size_t i = 0; i < profile->n_samples; i++) {
		struct profile_sample *sample = &profile->samples[i];

		if (sample->reason == REASON_SLEEP || sample->reason == REASON_DISK ||
		    sample->reason == REASON_TIMER)
			apply_to_sample(causes, sample);
	}
	for (size_t i = 1; i < profile->n_wakers; i++) {
		r = apply_to_waker(causes, &profile->wakers[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int causes_apply(struct profile *profile, bool has_children)
{
	struct causes causes = {.profile = profile, .has_children = has_children};
	int r = apply(&causes);

	for (int kind = 0; kind < N_RULES; kind++) {
		rulebook_done(&causes.books[kind]);
		free(causes.rules[kind]);
	}
	free(causes.verdicts);
	return r;
}
