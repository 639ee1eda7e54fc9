/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/ours.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/elf_file.h"
#include "unwind/table.h"
#include "unwind/walk.h"

#if defined(__aarch64__)
#error "the oracle captures registers of x86-64"
#endif
#define MACHINE EM_X86_64

struct file {
	char device[16];
	uint64_t inode;
	bool has_table;
	struct unwind_table table;
};

struct code_mapping {
	uint64_t start, end, offset;
	size_t file; /* SIZE_MAX: none */
};

/* Tables stay while mappings refer to them; both are found by index. */
struct ours {
	struct file *files;
	size_t n_files, files_capacity;
	struct code_mapping *mappings;
	size_t n_mappings, mappings_capacity;
	char *maps; /* the text that @mappings was parsed from */
	pid_t pid;
	int error;
};

int ours_new(struct ours **ret)
{
	struct ours *ours = calloc(1, sizeof *ours);

	if (!ours)
		return -ENOMEM;
	*ret = ours;
	return 0;
}

void ours_free(struct ours *ours)
{
	if (!ours)
		return;
	for (size_t i = 0; i < ours->n_files; i++)
		if (ours->files[i].has_table)
			unwind_table_done(&ours->files[i].table);
	free(ours->files);
	free(ours->mappings);
	free(ours->maps);
	free(ours);
}

static int open_mapped(pid_t pid, const struct code_mapping *mapping, const char *path)
{
	char name[4200];
	int fd;

	snprintf(name, sizeof name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->start,
		 mapping->end);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	snprintf(name, sizeof name, "/proc/%d/root%s", pid, path);
	return open(name, O_RDONLY | O_CLOEXEC);
}

static void build_from_file(struct file *file, int fd)
{
	struct elf_file elf;

	if (fd < 0 || elf_file_open(&elf, fd) < 0)
		return;
	file->has_table = elf.machine == MACHINE && unwind_table_build(&elf, &file->table) == 0;
	elf_file_done(&elf);
}

static void build_from_memory(struct file *file, const struct capture *capture, uint64_t start,
			      size_t n)
{
	void *image = malloc(n);
	struct elf_file elf;

	if (image && capture_read(capture, start, image, n) &&
	    elf_file_open_image(&elf, image, n) == 0) {
		file->has_table = unwind_table_build(&elf, &file->table) == 0;
		elf_file_done(&elf);
	}
	free(image);
}

/* The index of the file mapped at @mapping; builds its table the first time. */
static int find_file(struct ours *ours, const struct capture *capture,
		     const struct code_mapping *mapping, const char *device, uint64_t inode,
		     const char *path, size_t *ret)
{
	bool is_vdso = strcmp(path, "[vdso]") == 0;
	struct file *file;
	int fd, r;

	*ret = SIZE_MAX;
	if (!inode && !is_vdso)
		return 0;
	for (size_t i = 0; i < ours->n_files; i++) {
		if (ours->files[i].inode == inode && strcmp(ours->files[i].device, device) == 0) {
			*ret = i;
			return 0;
		}
	}
	r = array_reserve(ours->files, ours->files_capacity, ours->n_files, 1);
	if (r < 0)
		return r;
	file = &ours->files[ours->n_files];
	*file = (struct file){.inode = inode};
	snprintf(file->device, sizeof file->device, "%s", device);
	if (is_vdso) {
		build_from_memory(file, capture, mapping->start, mapping->end - mapping->start);
	} else {
		fd = open_mapped(capture->pid, mapping, path);
		build_from_file(file, fd);
		if (fd >= 0)
			close(fd);
	}
	*ret = ours->n_files++;
	return 0;
}

static int add_mapping(struct ours *ours, const struct capture *capture, const char *line)
{
	struct code_mapping mapping;
	char permissions[8], device[16], path[4096] = "";
	uint64_t inode;
	int r;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %15s %" SCNu64 " %4095[^\n]",
		   &mapping.start, &mapping.end, permissions, &mapping.offset, device, &inode,
		   path) < 6 ||
	    permissions[2] != 'x')
		return 0;
	r = find_file(ours, capture, &mapping, device, inode, path, &mapping.file);
	if (r == 0)
		r = array_reserve(ours->mappings, ours->mappings_capacity, ours->n_mappings, 1);
	if (r == 0)
		ours->mappings[ours->n_mappings++] = mapping;
	return r;
}

static int read_mappings(struct ours *ours, const struct capture *capture)
{
	int r = 0;

	if (ours->maps && ours->pid == capture->pid && strcmp(ours->maps, capture->maps) == 0)
		return 0;
	free(ours->maps);
	ours->maps = strdup(capture->maps);
	ours->pid = capture->pid;
	ours->n_mappings = 0;
	if (!ours->maps)
		return -ENOMEM;
	for (const char *line = ours->maps; *line && r == 0;) {
		const char *end = strchr(line, '\n');

		r = add_mapping(ours, capture, line);
		line = end ? end + 1 : "";
	}
	return r;
}

static const struct code_mapping *find_mapping(const struct ours *ours, uint64_t pc)
{
	size_t low = 0, n = ours->n_mappings;

	while (n > 0) {
		size_t half = n / 2;

		if (ours->mappings[low + half].end <= pc) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low < ours->n_mappings && pc >= ours->mappings[low].start ? &ours->mappings[low]
									 : NULL;
}

static bool code_at(void *context, uint64_t pc, struct walk_code *ret)
{
	struct ours *ours = context;
	const struct code_mapping *mapping = find_mapping(ours, pc);

	if (!mapping)
		return false;
	ret->offset = pc - mapping->start + mapping->offset;
	ret->flags = mapping->file != SIZE_MAX ? BF_MAPPING_FILE : 0;
	ret->table = mapping->file != SIZE_MAX && ours->files[mapping->file].has_table
			     ? &ours->files[mapping->file].table
			     : NULL;
	return true;
}

/* Registers in the form that the BPF programs use: bpf/unwind.bpf.h. */
static struct bf_walk walk_begin(const struct user_regs_struct *registers)
{
	return (struct bf_walk){
		.pc = registers->rip,
		.sp = registers->rsp,
		.fp = registers->rbp,
		.leaf = {[BF_REGISTER_AX] = registers->rax,
			 [BF_REGISTER_DX] = registers->rdx,
			 [BF_REGISTER_CX] = registers->rcx,
			 [BF_REGISTER_BX] = registers->rbx,
			 [BF_REGISTER_SI] = registers->rsi,
			 [BF_REGISTER_DI] = registers->rdi,
			 [BF_REGISTER_R8] = registers->r8,
			 [BF_REGISTER_R9] = registers->r9,
			 [BF_REGISTER_R10] = registers->r10,
			 [BF_REGISTER_R11] = registers->r11,
			 [BF_REGISTER_R12] = registers->r12,
			 [BF_REGISTER_R13] = registers->r13,
			 [BF_REGISTER_R14] = registers->r14,
			 [BF_REGISTER_R15] = registers->r15},
		.bx_at = BF_BX_IN_LEAF,
		.exact = 1,
		.is_leaf = 1,
	};
}

int ours_walk(struct ours *ours, struct capture *capture, struct our_stack *ret)
{
	struct bf_walk walk = walk_begin(&capture->registers);
	const struct capture_range *range, *last = NULL;
	__u64 frames[BF_MAX_FRAMES];
	int r = read_mappings(ours, capture);

	if (r < 0)
		return r;
	ret->n = 0;
	/* A walk that leaves an alternate signal stack continues in another range. */
	for (;;) {
		struct walk_memory memory = {};

		range = capture_range(capture, walk.sp);
		if (range)
			memory = (struct walk_memory){range->bytes, range->start, range->n};
		unwind_walk(&walk, frames, &ret->n, MACHINE, &memory, code_at, ours);
		if (walk.end != BF_END_MEMORY || ret->n == 0)
			break;
		last = range;
		range = capture_range(capture, walk.sp);
		if (!range || range == last)
			break;
		ret->n--; /* the frame that could not be unwound comes again */
	}
	ret->end = walk.end;
	memcpy(ret->frames, frames, ret->n * sizeof *frames);
	return 0;
}

static const char *const cfa_names[N_BF_CFAS] = {
	[BF_CFA_NONE] = "none",
	[BF_CFA_SP] = "sp",
	[BF_CFA_FP] = "fp",
	[BF_CFA_REGISTER] = "register",
	[BF_CFA_SP_DEREF] = "*sp",
	[BF_CFA_FP_DEREF] = "*fp",
	[BF_CFA_PLT] = "plt",
	[BF_CFA_SIGNAL] = "signal frame",
	[BF_CFA_ENTRY] = "entry",
	[BF_CFA_PLANTED] = "planted",
	[BF_CFA_UNSUPPORTED] = "unsupported",
};

static const char *const saved_names[N_BF_SAVEDS] = {
	[BF_SAVED_SAME] = "same",
	[BF_SAVED_CFA] = "cfa",
	[BF_SAVED_FP] = "fp",
	[BF_SAVED_LOST] = "lost",
};

void ours_explain(struct ours *ours, struct capture *capture, uint64_t frame, bool exact,
		  char *text, size_t size)
{
	uint64_t pc = (frame & ~BF_FRAME_EXACT) - !exact;
	const struct bf_rule *rule = NULL;
	struct walk_code code = {};

	if (!code_at(ours, pc, &code)) {
		snprintf(text, size, "not mapped");
		return;
	}
	if (code.table)
		rule = unwind_table_find(code.table, code.offset);
	if (!rule) {
		snprintf(text, size, code.table ? "no row" : "no table");
		return;
	}
	snprintf(text, size, "cfa %s%+d (reg %u) fp %s%+d ra %s%+d",
		 rule->cfa < N_BF_CFAS ? cfa_names[rule->cfa] : "?", rule->cfa_offset, rule->reg,
		 rule->fp < N_BF_SAVEDS ? saved_names[rule->fp] : "?", rule->fp_offset * 8,
		 rule->ra < N_BF_SAVEDS ? saved_names[rule->ra] : "?", rule->ra_offset * 8);
}

const char *ours_end_name(uint8_t end)
{
	static const char *const names[N_BF_ENDS] = {
		[BF_END_NONE] = "none",	      [BF_END_ENTRY] = "entry",
		[BF_END_DEPTH] = "depth",     [BF_END_MEMORY] = "memory",
		[BF_END_STUCK] = "stuck",     [BF_END_UNSUPPORTED] = "unsupported",
		[BF_END_NO_ROWS] = "no rows", [BF_END_PROCESS] = "process",
		[BF_END_32_BIT] = "32-bit",   [BF_END_UNMAPPED] = "not mapped",
		[BF_END_TABLE] = "table",
	};

	return end < N_BF_ENDS ? names[end] : "?";
}
