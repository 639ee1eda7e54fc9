/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/locate.h"

#include <string.h>

#include "base/array.h"

struct located {
	uint64_t kernel_stack, user_stack;
	uint32_t process, version; /* process: TABLE_NONE for kernel threads */
	uint32_t stack;
};

void locator_init(struct locator *locator, struct processes *processes, struct stacks *stacks,
		  struct profile *profile, bool user_stacks)
{
	*locator = (struct locator){
		.processes = processes,
		.stacks = stacks,
		.profile = profile,
		.user_stacks = user_stacks,
		.kernel_mapping = UINT32_MAX,
		.vdso_mapping = UINT32_MAX,
		.unknown_mapping = UINT32_MAX,
	};
}

void locator_done(struct locator *locator)
{
	free(locator->located);
	table_done(&locator->by_stacks);
	*locator = (struct locator){};
}

static int add_mapping(struct profile *profile, enum mapping_kind kind, const char *path,
		       uint32_t *ret_mapping)
{
	struct profile_mapping mapping = {.kind = kind};
	int r = strings_add(&profile->strings, path, &mapping.path);

	return r < 0 ? r : profile_add_mapping(profile, &mapping, ret_mapping);
}

/* The one mapping of its kind, made when first needed. */
static int special_mapping(struct locator *locator, enum mapping_kind kind, const char *path,
			   uint32_t *known)
{
	return *known != UINT32_MAX ? 0 : add_mapping(locator->profile, kind, path, known);
}

static int file_mapping(struct locator *locator, const struct mapping *mapping,
			uint32_t *ret_mapping)
{
	struct file *file = &locator->processes->files.files[mapping->file];
	struct profile_mapping new = {
		.kind = MAPPING_FILE,
		.device = file->device,
		.inode = file->inode,
		.start = mapping->start,
		.limit = mapping->end,
		.offset = mapping->offset,
	};
	int r;

	if (file->profile_mapping == UINT32_MAX) {
		r = strings_add(&locator->profile->strings,
				strings_get(&locator->processes->files.strings, file->path),
				&new.path);
		if (r < 0)
			return r;
		r = profile_add_mapping(locator->profile, &new, &file->profile_mapping);
		if (r < 0)
			return r;
	}
	*ret_mapping = file->profile_mapping;
	return 0;
}

static int locate_user(struct locator *locator, const struct process *process, uint64_t address,
		       bool is_return, uint32_t *ret_location)
{
	const struct mapping *mapping =
		process ? process_mapping(process, is_return ? address - 1 : address) : NULL;
	const char *path;
	uint32_t id;
	int r;

	if (!mapping) {
		r = special_mapping(locator, MAPPING_UNKNOWN, "", &locator->unknown_mapping);
		id = locator->unknown_mapping;
	} else if (mapping->file != UINT32_MAX) {
		r = file_mapping(locator, mapping, &id);
		address = address - mapping->start + mapping->offset;
	} else {
		path = strings_get(&locator->processes->files.strings, mapping->path);
		if (strcmp(path, "[vdso]") == 0) {
			r = special_mapping(locator, MAPPING_VDSO, path, &locator->vdso_mapping);
			id = locator->vdso_mapping;
			address -= mapping->start;
		} else {
			r = add_mapping(locator->profile, MAPPING_ANON, path, &id);
		}
	}
	if (r < 0)
		return r;
	return profile_add_location(locator->profile, id, address, is_return, ret_location);
}

/* Appends the locations of both halves, leaf first. Returns their number. */
static int locate_frames(struct locator *locator, const struct process *process,
			 const struct stack_frames *kernel, const struct stack_frames *user,
			 uint32_t *locations)
{
	const uint64_t *addresses = locator->stacks->addresses;
	int n = 0, r = 0;

	if (kernel) {
		r = special_mapping(locator, MAPPING_KERNEL, "[kernel]", &locator->kernel_mapping);
		for (uint32_t i = 0; i < kernel->n && r >= 0; i++)
			r = profile_add_location(locator->profile, locator->kernel_mapping,
						 addresses[kernel->first + i], i > 0,
						 &locations[n++]);
	}
	if (user)
		for (uint32_t i = 0; i < user->n && r >= 0; i++)
			r = locate_user(locator, process, addresses[user->first + i], i > 0,
					&locations[n++]);
	return r < 0 ? r : n;
}

static bool located_equal(const void *items, uint32_t position, const void *key)
{
	const struct located *a = (const struct located *)items + position, *b = key;

	return a->kernel_stack == b->kernel_stack && a->user_stack == b->user_stack &&
	       a->process == b->process && a->version == b->version;
}

static int locate_stack(struct locator *locator, const struct bf_count_key *key, uint32_t process,
			uint64_t samples, uint32_t *ret_stack)
{
	const struct process *p =
		process == TABLE_NONE ? NULL : &locator->processes->processes[process];
	struct located wanted = {key->kernel_stack, key->user_stack, process, p ? p->version : 0};
	const struct stack_frames *kernel = stacks_find(locator->stacks, key->kernel_stack);
	const struct stack_frames *user = stacks_find(locator->stacks, key->user_stack);
	uint32_t locations[2 * BF_MAX_FRAMES], found;
	uint64_t hash = hash_mix(hash_mix(wanted.kernel_stack, wanted.user_stack),
				 (uint64_t)process << 32 | wanted.version);
	int n, r;

	if ((key->kernel_stack && !kernel) || (key->user_stack && !user))
		locator->lost_stacks += samples;
	found = table_find(&locator->by_stacks, hash, located_equal, locator->located, &wanted);
	if (found != TABLE_NONE) {
		*ret_stack = locator->located[found].stack;
		return 0;
	}
	n = locate_frames(locator, p, kernel, user, locations);
	if (n < 0)
		return n;
	r = profile_add_stack(locator->profile, locations, n,
			      locator->user_stacks && !key->kernel_thread && !user, &wanted.stack);
	if (r < 0)
		return r;
	*ret_stack = wanted.stack;
	/* A stack whose frames may still come is not remembered. */
	if ((key->kernel_stack && !kernel) || (key->user_stack && !user))
		return 0;
	r = array_reserve(locator->located, locator->located_capacity, locator->n_located, 1);
	if (r < 0)
		return r;
	r = table_add(&locator->by_stacks, hash, locator->n_located);
	if (r < 0)
		return r;
	locator->located[locator->n_located++] = wanted;
	return 0;
}

/* The process of a row; one that no event told of is read from /proc, if it is still there. */
static int find_process(struct locator *locator, const struct bf_count_key *key,
			uint32_t *ret_process)
{
	uint32_t process = processes_find(locator->processes, key->pid, key->process_start,
					  key->exec_id);
	int r;

	if (process == TABLE_NONE) {
		locator->unknown_processes++;
		r = processes_add(locator->processes, key->pid, key->process_start, key->exec_id,
				  &process);
		if (r < 0)
			return r;
		r = processes_read_maps(locator->processes, process);
		if (r < 0)
			return r;
	}
	*ret_process = process;
	return 0;
}

static enum off_reason reason_of(uint8_t reason)
{
	static const enum off_reason reasons[N_BF_REASONS] = {
		[BF_REASON_NONE] = REASON_NONE,		  [BF_REASON_SLEEP] = REASON_SLEEP,
		[BF_REASON_DISK] = REASON_DISK,		  [BF_REASON_STOPPED] = REASON_STOPPED,
		[BF_REASON_PREEMPTED] = REASON_PREEMPTED, [BF_REASON_RUNQUEUE] = REASON_RUNQUEUE,
	};

	return reasons[reason];
}

int locate(struct locator *locator, const struct bf_count_key *key, const struct bf_count *count)
{
	struct profile_sample sample = {
		.pid = key->pid,
		.tid = key->tid,
		.reason = reason_of(key->reason),
		.count = count->samples,
		.nanoseconds = count->nanoseconds,
	};
	uint32_t process = TABLE_NONE;
	int r;

	if (locator->sweeps != locator->processes->sweeps) {
		locator->sweeps = locator->processes->sweeps;
		locator->n_located = 0;
		table_done(&locator->by_stacks);
	}
	if (!key->kernel_thread && key->user_stack) {
		r = find_process(locator, key, &process);
		if (r < 0)
			return r;
	}
	r = locate_stack(locator, key, process, count->samples, &sample.stack);
	if (r < 0)
		return r;
	r = strings_add_bytes(&locator->profile->strings, key->comm,
			      strnlen(key->comm, sizeof key->comm), &sample.comm);
	if (r < 0)
		return r;
	return profile_add_sample(locator->profile, &sample);
}
