/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/locate.h"

#include <string.h>

#include "base/array.h"
#include "collect/late_anchors.h"
#include "collect/loop_frames.h"
#include "collect/process_runtime.h"

struct located {
	uint64_t kernel_stack, user_stack;
	uint64_t process, version; /* its serial number; 0 for kernel threads */
	uint32_t stack;
};

void locator_init(struct locator *locator, struct processes *processes, struct raw_stacks *stacks,
		  struct wakers *wakers, struct profile *profile, bool user_stacks)
{
	*locator = (struct locator){
		.processes = processes,
		.stacks = stacks,
		.wakers = wakers,
		.user_stacks = user_stacks,
	};
	locator_begin(locator, profile);
}

size_t locator_bytes(const struct locator *locator)
{
	return locator->located_capacity * sizeof *locator->located +
	       locator->by_stacks.n_slots * sizeof *locator->by_stacks.slots;
}

void locator_forget(struct locator *locator)
{
	free(locator->located);
	locator->located = NULL;
	locator->n_located = locator->located_capacity = 0;
	table_done(&locator->by_stacks);
}

static void put_all(struct locator *locator)
{
	struct processes *processes = locator->processes;

	for (size_t i = 0; i < locator->n_files; i++) {
		processes->files.files[locator->files[i]].profile_mapping = UINT32_MAX;
		files_put(&processes->files, locator->files[i]);
	}
	for (size_t i = 0; i < locator->n_images; i++) {
		processes->processes[locator->images[i]].is_in_window = false;
		processes_put(processes, locator->images[i]);
	}
	locator->n_files = locator->n_images = 0;
}

void locator_begin(struct locator *locator, struct profile *profile)
{
	locator_forget(locator);
	put_all(locator);
	locator->profile = profile;
	locator->kernel_mapping = locator->vdso_mapping = locator->unknown_mapping = UINT32_MAX;
}

void locator_done(struct locator *locator)
{
	locator_forget(locator);
	put_all(locator);
	free(locator->files);
	free(locator->images);
	*locator = (struct locator){};
}

static int add_mapping(struct profile *profile, enum mapping_kind kind, const char *path,
		       uint32_t *ret_mapping)
{
	struct profile_mapping mapping = {.kind = kind};
	int r = strings_add(&profile->strings, path, &mapping.path);

	if (r < 0)
		return r;
	return profile_add_mapping(profile, &mapping, ret_mapping);
}

/* The only mapping of its kind, made when first needed. */
static int special_mapping(struct locator *locator, enum mapping_kind kind, const char *path,
			   uint32_t *known)
{
	return *known != UINT32_MAX ? 0 : add_mapping(locator->profile, kind, path, known);
}

static int file_mapping(struct locator *locator, const struct mapping *mapping,
			uint32_t *ret_mapping)
{
	struct files *files = &locator->processes->files;
	struct file *file = &files->files[mapping->file];
	struct profile_mapping new = {
		.kind = MAPPING_FILE,
		.device = file->identity.device,
		.inode = file->identity.inode,
		.version = file->version,
		.start = mapping->start,
		.limit = mapping->end,
		.offset = mapping->offset,
	};
	int r;

	if (file->profile_mapping == UINT32_MAX) {
		r = array_reserve(locator->files, locator->files_capacity, locator->n_files, 1);
		if (r < 0)
			return r;
		r = strings_add(&locator->profile->strings, file->path, &new.path);
		if (r < 0)
			return r;
		r = profile_add_mapping(locator->profile, &new, &file->profile_mapping);
		if (r < 0)
			return r;
		files_hold(files, mapping->file);
		locator->files[locator->n_files++] = mapping->file;
	}
	*ret_mapping = file->profile_mapping;
	return 0;
}

/*
 * Memory of one program image: only areas with names from the kernel or the program are
 * distinguished.
 */
static int memory_mapping(struct locator *locator, uint32_t index, const char *path,
			  uint32_t *ret_mapping)
{
	struct process *process = &locator->processes->processes[index];
	struct profile_mapping mapping = {
		.kind = MAPPING_ANON,
		.pid = process->pid,
		.exec_id = process->exec_id,
		.process_start = process->start,
	};
	int r = array_reserve(locator->images, locator->images_capacity, locator->n_images, 1);

	if (r < 0)
		return r;
	r = strings_add(&locator->profile->strings, path, &mapping.path);
	if (r < 0)
		return r;
	r = profile_add_mapping(locator->profile, &mapping, ret_mapping);
	if (r < 0 || process->is_in_window)
		return r;
	process->is_in_window = true;
	processes_hold(locator->processes, index);
	locator->images[locator->n_images++] = index;
	return 0;
}

static int locate_user(struct locator *locator, uint32_t process, const struct mapping *mapping,
		       uint64_t address, bool is_return, uint32_t *ret_location)
{
	const struct file *file = mapping ? &locator->processes->files.files[mapping->file] : NULL;
	uint32_t id;
	int r;

	if (!mapping) {
		r = special_mapping(locator, MAPPING_UNKNOWN, "", &locator->unknown_mapping);
		id = locator->unknown_mapping;
	} else if (!file->is_memory) {
		r = file_mapping(locator, mapping, &id);
		address = address - mapping->start + mapping->offset;
	} else if (strcmp(file->path, "[vdso]") == 0) {
		r = special_mapping(locator, MAPPING_VDSO, file->path, &locator->vdso_mapping);
		id = locator->vdso_mapping;
		address -= mapping->start;
	} else {
		r = memory_mapping(locator, process, file->path, &id);
	}
	if (r < 0)
		return r;
	return profile_add_location(locator->profile, id, address, is_return, ret_location);
}

/* What a frame of a runtime is called; its mapping is the file that it was written in. */
static int name_code(struct locator *locator, const struct code_name *code, uint32_t detail,
		     struct profile_frame *frame, uint32_t *ret_mapping)
{
	struct strings *strings = &locator->profile->strings;
	int r = strings_add(strings, code->name, &frame->function);

	if (r < 0)
		return r;
	r = strings_add(strings, code->file, &frame->file);
	if (r < 0)
		return r;
	frame->line = code->lines ? runtime_line(code->facts, code->lines, code->n_lines,
						 code->first_line, detail)
				  : code->line;
	return add_mapping(locator->profile, MAPPING_UNKNOWN, code->file, ret_mapping);
}

/* Names the functions inlined into it, innermost first. */
static int name_inlined(struct locator *locator, const struct code_name *code,
			struct profile_frame *frames)
{
	struct strings *strings = &locator->profile->strings;

	for (uint32_t i = 0; i < code->n_inlined; i++) {
		int r;

		frames[i] = (struct profile_frame){.kind = FRAME_INLINED};
		frames[i].line = code->inlined[i].line;
		r = strings_add(strings, code->inlined[i].name, &frames[i].function);
		if (r < 0)
			return r;
		r = strings_add(strings, code->inlined[i].file, &frames[i].file);
		if (r < 0)
			return r;
	}
	return 0;
}

static int name_nameless(struct locator *locator, const struct code_name *code,
			 struct profile_frame *frame, uint32_t *ret_mapping)
{
	char text[64];
	int r;

	locator->nameless_frames++;
	runtime_nameless(code->facts, code->check, text, sizeof text);
	r = strings_add(&locator->profile->strings, text, &frame->function);
	if (r < 0)
		return r;
	r = special_mapping(locator, MAPPING_UNKNOWN, "", &locator->unknown_mapping);
	*ret_mapping = locator->unknown_mapping;
	return r;
}

/* The location of a frame of two @words. Returns 1, or 0 if it is nobody's. */
static int locate_code(struct locator *locator, uint32_t process, const uint64_t words[static 2],
		       uint32_t *ret_location)
{
	struct profile_frame frames[RUNTIME_MAX_INLINED + 1], *frame;
	const struct code_name *code;
	uint32_t mapping;
	int r = code_names_find(locator->code_names, process, words, &code);

	if (r < 0 || code->is_hidden)
		return r;
	frame = &frames[code->n_inlined];
	*frame = (struct profile_frame){.kind = code->is_compiled ? FRAME_JIT : FRAME_INTERPRETED};
	r = code->is_known ? name_code(locator, code, words[1], frame, &mapping)
			   : name_nameless(locator, code, frame, &mapping);
	if (r < 0)
		return r;
	r = name_inlined(locator, code, frames);
	if (r < 0)
		return r;
	r = profile_add_named(locator->profile, mapping, frames, code->n_inlined + 1,
			      ret_location);
	return r < 0 ? r : 1;
}

/* Whether some of the words are frames of that owner. */
static bool has_frames_of(const uint64_t *words, uint32_t n, uint32_t owner)
{
	for (uint32_t i = 0; i < n; i++)
		if (words[i] & BF_FRAME_RUNTIME) {
			if ((words[i] >> BF_FRAME_OWNER_SHIFT & (BF_FRAME_OWNERS - 1)) == owner)
				return true;
			i++;
		}
	return false;
}

static bool has_frames(const uint64_t *words, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (words[i] & BF_FRAME_RUNTIME)
			return true;
	return false;
}

static struct loop_code loop_of(const struct found_runtime *found)
{
	const struct runtime_facts *facts = found->facts;
	struct loop_code code = {
		.start = facts->loop + found->bias,
		.again_start = facts->again + found->bias,
		.cold_start = facts->cold + found->bias,
		.program_start = facts->program + found->bias,
		.owner = facts->runtime,
	};

	code.end = code.start + facts->loop_size;
	code.again_end = code.again_start + facts->again_size;
	code.cold_end = code.cold_start + facts->cold_size;
	code.program_end = code.program_start + facts->program_size;
	return code;
}

/* Places the frames of one runtime in the words. Returns how many there are, or 0: as before. */
static uint32_t place_frames_of(const struct found_runtime *found, const uint64_t *words,
				uint32_t n, enum bf_end end, uint64_t *ret)
{
	bool is_whole = end == BF_END_ENTRY;
	struct loop_code code = loop_of(found);
	struct late_anchors late = {.start = code.start, .end = code.end, .owner = code.owner};

	/* An activation too deep to find its anchor in is the innermost one, and the only one. */
	if (runtime_has_late_anchors(found->facts, &late.function))
		return is_whole || end == BF_END_DEPTH ? late_anchors_place(words, n, &late, ret)
						       : 0;
	return loop_frames_place(words, n, &code, is_whole, ret);
}

/* The words of a user half, frames of runtimes in their places. */
static const uint64_t *place_frames(struct locator *locator, uint32_t process,
				    const struct stack_frames *stack, uint32_t *ret_n)
{
	const uint64_t *words = raw_stacks_addresses(locator->stacks, stack);
	struct found_runtime found[BF_PROCESS_RUNTIMES];
	uint32_t n = stack->n, n_found = 0, turn = 0;

	if (process != TABLE_NONE && has_frames(words, n))
		n_found = process_runtimes(locator->code_names->tables,
					   &locator->processes->processes[process], found);
	for (uint32_t i = 0; i < n_found; i++) {
		const struct runtime_facts *facts = found[i].facts;
		uint32_t n_placed;

		if (!facts->loop_size || !has_frames_of(words, n, facts->runtime))
			continue;
		n_placed = place_frames_of(&found[i], words, n, stack->end,
					   locator->placed[turn]);
		if (!n_placed)
			continue;
		n = n_placed;
		words = locator->placed[turn];
		turn = !turn;
	}
	*ret_n = n;
	return words;
}

/*
 * The user half ends before the first address outside of all mappings: a frame pointer that led
 * astray or, below a kernel half, registers from before an exec. A single address is kept. An
 * interpreter's functions take the place of the frame that runs them.
 */
static int locate_user_half(struct locator *locator, uint32_t process,
			    const struct mapping_list *list, const struct stack_frames *stack,
			    bool is_alone, uint32_t *locations, enum stack_end *ret_end)
{
	uint32_t n = 0, n_native = 0, n_words;
	const uint64_t *words = place_frames(locator, process, stack, &n_words);
	bool is_owner = false; /* of the frames before */
	int r;

	for (uint32_t i = 0; i < n_words; i++) {
		bool is_return = n_native && !(words[i] & BF_FRAME_EXACT);
		uint64_t address = n_native ? words[i] & ~BF_FRAME_EXACT : words[i];
		const struct mapping *mapping;

		if (words[i] & BF_FRAME_RUNTIME) {
			if (++i == n_words || process == TABLE_NONE)
				continue;
			r = locate_code(locator, process, words + i - 1, &locations[n]);
			if (r < 0)
				return r;
			n += r;
			/* Code of the runtime's own is followed by what called it. */
			is_owner = !(words[i - 1] >> BF_FRAME_KIND_SHIFT & RUNTIME_KIND_IS_CODE);
			n_native += !is_owner;
			continue;
		}
		n_native++;
		mapping = list ? mapping_find(list, address - is_return) : NULL;
		if (!mapping && (i > 0 || !is_alone)) {
			*ret_end = STACK_UNMAPPED;
			return n;
		}
		if (!is_owner || locator->native_frames) {
			r = locate_user(locator, process, mapping, address, is_return,
					&locations[n++]);
			if (r < 0)
				return r;
		}
		is_owner = false;
	}
	return n;
}

static int locate_kernel_half(struct locator *locator, const struct stack_frames *stack,
			      uint32_t *locations)
{
	const uint64_t *addresses = raw_stacks_addresses(locator->stacks, stack);
	int r = special_mapping(locator, MAPPING_KERNEL, "[kernel]", &locator->kernel_mapping);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < stack->n; i++) {
		r = profile_add_location(locator->profile, locator->kernel_mapping, addresses[i],
					 i > 0, &locations[i]);
		if (r < 0)
			return r;
	}
	return stack->n;
}

static enum stack_end stack_end_of(uint16_t end)
{
	static const enum stack_end ends[N_BF_ENDS] = {
		[BF_END_NONE] = STACK_TRUNCATED,
		[BF_END_ENTRY] = STACK_COMPLETE,
		[BF_END_DEPTH] = STACK_DEPTH,
		[BF_END_MEMORY] = STACK_MEMORY,
		[BF_END_STUCK] = STACK_BROKEN,
		[BF_END_NO_ROWS] = STACK_NO_ROWS,
		[BF_END_UNSUPPORTED] = STACK_UNSUPPORTED,
		[BF_END_UNMAPPED] = STACK_UNMAPPED,
		[BF_END_32_BIT] = STACK_32_BIT,
		[BF_END_BUDGET] = STACK_BUDGET,
		[BF_END_PROCESS] = STACK_LOST,
		[BF_END_MAPPING] = STACK_LOST,
		[BF_END_TABLE] = STACK_LOST,
	};

	return end < N_BF_ENDS ? ends[end] : STACK_TRUNCATED;
}

/* The end of a stack with both halves. @wants_user: it should have a user half. */
static enum stack_end end_of_halves(const struct stack_frames *kernel,
				    const struct stack_frames *user, bool wants_user)
{
	if (kernel && kernel->end != BF_END_ENTRY)
		return stack_end_of(kernel->end);
	if (user)
		return stack_end_of(user->end);
	return wants_user ? STACK_LOST : STACK_COMPLETE;
}

static bool located_equal(const void *items, uint32_t position, const void *key)
{
	const struct located *a = (const struct located *)items + position, *b = key;

	return a->kernel_stack == b->kernel_stack && a->user_stack == b->user_stack &&
	       a->process == b->process && a->version == b->version;
}

/* Makes the stack of a row: both halves, leaf first. */
static int make_stack(struct locator *locator, uint32_t process, const struct mapping_list *list,
		      const struct stack_frames *kernel, const struct stack_frames *user,
		      enum stack_end end, uint32_t *ret_stack)
{
	uint32_t locations[2 * BF_MAX_FRAMES];
	int n = 0, n_user = 0;

	if (kernel)
		n = locate_kernel_half(locator, kernel, locations);
	if (n < 0)
		return n;
	if (user)
		n_user = locate_user_half(locator, process, list, user, n == 0, locations + n,
					  &end);
	if (n_user < 0)
		return n_user;
	return profile_add_stack(locator->profile, locations, n + n_user, end, ret_stack);
}

/* Two halves of a stack, and their owner. */
struct halves {
	uint64_t kernel_stack, user_stack;
	uint64_t process_start;
	uint64_t since; /* monotonic ns: when the stack was first seen */
	uint32_t pid, exec_id;
	bool wants_user;
};

/* Sets *@ret to @frames, or to NULL if they never arrived. */
static int find_frames(struct locator *locator, uint64_t id, struct stack_frames *frames,
		       const struct stack_frames **ret)
{
	int r = id ? raw_stacks_find(locator->stacks, id, frames) : 0;

	*ret = r > 0 ? frames : NULL;
	return r;
}

static int locate_stack(struct locator *locator, const struct halves *halves, uint32_t process,
			uint64_t samples, uint32_t *ret_stack)
{
	struct located wanted = {halves->kernel_stack, halves->user_stack};
	struct stack_frames frames[2];
	const struct stack_frames *kernel, *user;
	const struct mapping_list *list = NULL; /* what was mapped then; NULL: not known */
	uint32_t found;
	uint64_t hash;
	uint64_t nameless = locator->nameless_frames;
	bool lost;
	int r = find_frames(locator, halves->kernel_stack, &frames[0], &kernel);

	if (r < 0)
		return r;
	r = find_frames(locator, halves->user_stack, &frames[1], &user);
	if (r < 0)
		return r;
	if (process != TABLE_NONE) {
		wanted.process = locator->processes->processes[process].serial;
		list = process_mappings(&locator->processes->processes[process],
					user && user->time ? user->time : halves->since);
		wanted.version = list->version;
	}
	hash = hash_mix(hash_mix(hash_mix(wanted.kernel_stack, wanted.user_stack), wanted.process),
			wanted.version);
	lost = (halves->kernel_stack && !kernel) || (halves->user_stack && !user);
	locator->lost_stacks += lost ? samples : 0;
	found = table_find(&locator->by_stacks, hash, located_equal, locator->located, &wanted);
	if (found != TABLE_NONE) {
		*ret_stack = locator->located[found].stack;
		return 0;
	}
	r = make_stack(locator, process, list, kernel, user,
		       end_of_halves(kernel, user, locator->user_stacks && halves->wants_user),
		       &wanted.stack);
	if (r < 0)
		return r;
	*ret_stack = wanted.stack;
	if (lost || locator->nameless_frames > nameless) /* they may still come: don't cache */
		return 0;
	return table_intern(&locator->by_stacks, hash, located_equal, locator->located,
			    locator->located_capacity, locator->n_located, &wanted, &found);
}

/* The process of a stack; one without an event is read from /proc, if it still exists. */
static int find_process(struct locator *locator, const struct halves *halves, uint64_t samples,
			uint32_t *ret_process)
{
	uint32_t process;
	int r = processes_see(locator->processes, halves->pid, halves->process_start,
			      halves->exec_id, &process);

	if (r < 0)
		return r;
	if (!locator->processes->processes[process].mappings->n)
		locator->unknown_processes += samples;
	*ret_process = process;
	return 0;
}

static int locate_halves(struct locator *locator, const struct halves *halves, uint64_t samples,
			 uint32_t *ret_stack)
{
	uint32_t process = TABLE_NONE;
	int r;

	if (halves->wants_user && halves->user_stack) {
		r = find_process(locator, halves, samples, &process);
		if (r < 0)
			return r;
	}
	return locate_stack(locator, halves, process, samples, ret_stack);
}

static int add_comm(struct locator *locator, const char *comm, uint32_t *ret_comm)
{
	return strings_add_bytes(&locator->profile->strings, comm, strnlen(comm, BF_COMM_LEN),
				 ret_comm);
}

/* @next: the one that woke this one, or 0. */
static int locate_waker(struct locator *locator, const struct bf_waker *waker, uint64_t since,
			uint32_t next, uint32_t *ret_waker)
{
	const struct halves halves = {
		.kernel_stack = waker->kernel_stack,
		.user_stack = waker->user_stack,
		.process_start = waker->process_start,
		.since = since,
		.pid = waker->pid,
		.exec_id = waker->exec_id,
		.wants_user = waker->pid && !waker->kernel_thread,
	};
	struct profile_waker new = {
		.pid = waker->pid,
		.tid = waker->tid,
		.is_interrupt = !waker->process_start,
		.next = next,
	};
	int r = locate_halves(locator, &halves, 1, &new.stack);

	if (r < 0)
		return r;
	r = add_comm(locator, waker->comm, &new.comm);
	if (r < 0)
		return r;
	return profile_add_waker(locator->profile, &new, ret_waker);
}

static int locate_wakers(struct locator *locator, uint64_t id, const struct bf_count *count,
			 uint32_t *ret_waker)
{
	const struct bf_wakers_event *chain = wakers_find_chain(locator->wakers, id);
	uint32_t last = 0;

	*ret_waker = 0;
	if (!id)
		return 0;
	for (uint32_t i = chain ? chain->n : 0; i-- > 0;) {
		const struct bf_waker *waker = wakers_find(locator->wakers, chain->wakers[i]);
		int r = waker ? locate_waker(locator, waker, count->since, last, &last) : 0;

		if (r < 0)
			return r;
	}
	locator->lost_wakers += last ? 0 : count->samples;
	*ret_waker = last;
	return 0;
}

static enum off_reason reason_of(uint8_t reason)
{
	static const enum off_reason reasons[N_BF_REASONS] = {
		[BF_REASON_NONE] = REASON_NONE,		  [BF_REASON_SLEEP] = REASON_SLEEP,
		[BF_REASON_DISK] = REASON_DISK,		  [BF_REASON_STOPPED] = REASON_STOPPED,
		[BF_REASON_PREEMPTED] = REASON_PREEMPTED, [BF_REASON_RUNQUEUE] = REASON_RUNQUEUE,
		[BF_REASON_THROTTLED] = REASON_THROTTLED, [BF_REASON_TIMER] = REASON_TIMER,
	};

	return reasons[reason];
}

int locate(struct locator *locator, const struct bf_count_key *key, const struct bf_count *count)
{
	struct profile_sample sample = {
		.pid = key->pid,
		.tid = key->tid,
		.reason = reason_of(key->reason),
		.event = key->event,
		.count = count->samples,
		.nanoseconds = count->nanoseconds,
		.waits = (double)count->waits / BF_WAIT,
	};
	const struct halves halves = {
		.kernel_stack = key->kernel_stack,
		.user_stack = key->user_stack,
		.process_start = key->process_start,
		.since = count->since,
		.pid = key->pid,
		.exec_id = key->exec_id,
		.wants_user = !key->kernel_thread,
	};
	int r;

	locator->samples += count->samples;
	if (locator->profile->mode == PROFILE_WALL && sample.reason == REASON_NONE)
		sample.reason = REASON_ONCPU;
	r = locate_halves(locator, &halves, count->samples, &sample.stack);
	if (r < 0)
		return r;
	r = locate_wakers(locator, key->wakers, count, &sample.waker);
	if (r < 0)
		return r;
	r = add_comm(locator, key->comm, &sample.comm);
	if (r < 0)
		return r;
	return profile_add_sample(locator->profile, &sample);
}
