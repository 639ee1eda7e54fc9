/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/reference.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_PROCESSES 48

struct process {
	Dwfl *dwfl;
	pid_t pid;
	char *maps; /* that the modules were reported from */
};

struct reference {
	struct process processes[N_PROCESSES]; /* replaced in turn */
	size_t turn;
	Dwfl *dwfl; /* of the process of the last walk */
	struct capture *capture;
	struct reference_stack *stack;
	bool signal_frame; /* the last frame is a signal frame */
	bool entry;	   /* its return address is undefined */
	bool missed;	   /* memory that does not exist was requested */
};

/* No separate debug files: only what the program maps, as in the unwinder under test. */
static int find_no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			     const char *file, const char *link, GElf_Word checksum, char **ret)
{
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = find_no_debuginfo,
};

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
	struct reference *reference = context;

	if (*thread)
		return 0;
	*thread = reference;
	return reference->capture->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread)
{
	*thread = context;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *context)
{
	struct reference *reference = context;
	const uint8_t *bytes = capture_memory(reference->capture, address, sizeof *result);

	if (!bytes) {
		reference->missed = true;
		return false;
	}
	memcpy(result, bytes, sizeof *result);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
	const struct reference *reference = context;
	const struct user_regs_struct *from = &reference->capture->registers;
	/* DWARF's order: System V ABI, AMD64 supplement, 3.6.2. */
	const Dwarf_Word registers[] = {
		from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
		from->rbp, from->rsp, from->r8,	 from->r9,  from->r10, from->r11,
		from->r12, from->r13, from->r14, from->r15, from->rip,
	};

	return dwfl_thread_state_registers(thread, 0, sizeof registers / sizeof *registers,
					   registers);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

int reference_new(struct reference **ret)
{
	struct reference *reference = calloc(1, sizeof *reference);

	if (!reference)
		return -ENOMEM;
	*ret = reference;
	return 0;
}

static void forget(struct process *process)
{
	if (process->dwfl)
		dwfl_end(process->dwfl);
	free(process->maps);
	*process = (struct process){};
}

void reference_free(struct reference *reference)
{
	if (!reference)
		return;
	for (size_t i = 0; i < N_PROCESSES; i++)
		forget(&reference->processes[i]);
	free(reference);
}

static struct process *find_process(struct reference *reference, pid_t pid)
{
	for (size_t i = 0; i < N_PROCESSES; i++)
		if (reference->processes[i].pid == pid)
			return &reference->processes[i];
	return &reference->processes[reference->turn++ % N_PROCESSES];
}

/* Modules are reported once for each version of the mappings. */
static int report_modules(struct reference *reference)
{
	const struct capture *capture = reference->capture;
	struct process *process = find_process(reference, capture->pid);

	reference->dwfl = process->dwfl;
	if (process->maps && process->pid == capture->pid &&
	    strcmp(process->maps, capture->maps) == 0)
		return 0;
	forget(process);
	reference->dwfl = process->dwfl = dwfl_begin(&callbacks);
	if (!process->dwfl)
		return -ENOMEM;
	process->pid = capture->pid;
	dwfl_report_begin(process->dwfl);
	if (dwfl_linux_proc_report(process->dwfl, capture->pid) != 0 ||
	    dwfl_report_end(process->dwfl, NULL, NULL) != 0 ||
	    !dwfl_attach_state(process->dwfl, NULL, capture->pid, &thread_callbacks, reference))
		return -EAGAIN;
	process->maps = strdup(capture->maps);
	return process->maps ? 0 : -ENOMEM;
}

static bool find_cfi(struct reference *reference, Dwarf_CFI *cfi, Dwarf_Addr pc)
{
	Dwarf_Op memory[3], *ops;
	Dwarf_Addr start, end;
	Dwarf_Frame *frame;
	size_t n;
	int ra;

	if (!cfi || dwarf_cfi_addrframe(cfi, pc, &frame) != 0)
		return false;
	ra = dwarf_frame_info(frame, &start, &end, &reference->signal_frame);
	reference->entry =
		dwarf_frame_register(frame, ra, memory, &ops, &n) == 0 && n == 0 && ops == memory;
	free(frame);
	return true;
}

/* Whether the code at @pc has call frame information. */
static bool has_cfi(struct reference *reference, Dwarf_Addr pc)
{
	Dwfl_Module *module = dwfl_addrmodule(reference->dwfl, pc);
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi;

	reference->signal_frame = reference->entry = false;
	if (!module)
		return false;
	cfi = dwfl_module_eh_cfi(module, &bias);
	if (find_cfi(reference, cfi, pc - bias))
		return true;
	cfi = dwfl_module_dwarf_cfi(module, &bias);
	return find_cfi(reference, cfi, pc - bias);
}

static int add_frame(Dwfl_Frame *frame, void *context)
{
	struct reference *reference = context;
	struct reference_stack *stack = reference->stack;
	Dwarf_Addr pc;
	bool exact = stack->n == 0 || reference->signal_frame;

	if (stack->n == BF_MAX_FRAMES) {
		stack->end = REFERENCE_DEPTH;
		return DWARF_CB_ABORT;
	}
	/* It also guesses if the memory that rules refer to is missing. */
	if (reference->missed || !dwfl_frame_pc(frame, &pc, &stack->activation[stack->n])) {
		stack->end = REFERENCE_FAILED;
		return DWARF_CB_ABORT;
	}
	stack->frames[stack->n++] = pc;
	if (has_cfi(reference, pc - !exact))
		return DWARF_CB_OK;
	stack->end = REFERENCE_NO_CFI;
	return DWARF_CB_ABORT;
}

int reference_walk(struct reference *reference, struct capture *capture,
		   struct reference_stack *ret)
{
	int r;

	reference->capture = capture;
	reference->stack = ret;
	reference->signal_frame = reference->missed = false;
	r = report_modules(reference);
	if (r < 0)
		return r;
	ret->n = 0;
	ret->end = REFERENCE_ENTRY;
	ret->error[0] = 0;
	r = dwfl_getthread_frames(reference->dwfl, capture->tid, add_frame, reference);
	/*
	 * libdwfl treats a register without a rule as unknown, although the ABI has callees
	 * preserve it; if a frame's CFA is relative to one, it reads zeros from nowhere.
	 */
	if (r == 0 && !reference->entry) {
		ret->end = REFERENCE_FAILED;
		snprintf(ret->error, sizeof ret->error, "return address 0");
	}
	if (r < 0) {
		const char *error = dwfl_errmsg(-1);

		ret->end = REFERENCE_FAILED;
		snprintf(ret->error, sizeof ret->error, "%s", error ? error : "unknown");
	}
	return 0;
}

void reference_name(struct reference *reference, uint64_t pc, char *text, size_t size)
{
	Dwfl_Module *module = dwfl_addrmodule(reference->dwfl, pc);
	const char *path, *name, *symbol = NULL;
	Dwarf_Addr start = 0;
	GElf_Off offset = 0;
	GElf_Sym entry;

	if (!module) {
		snprintf(text, size, "no module");
		return;
	}
	path = dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	name = path && strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	symbol = dwfl_module_addrinfo(module, pc, &offset, &entry, NULL, NULL, NULL);
	snprintf(text, size, "%s+0x%" PRIx64 " %s+0x%" PRIx64, symbol ? symbol : "-",
		 symbol ? (uint64_t)offset : 0, name ? name : "?", (uint64_t)(pc - start));
}

const char *reference_end_name(enum reference_end end)
{
	static const char *const names[N_REFERENCE_ENDS] = {"entry", "depth", "no CFI", "failed"};

	return end < N_REFERENCE_ENDS ? names[end] : "?";
}
