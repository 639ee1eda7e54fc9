/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where BEAM's variables are in builds that export what drivers need and nothing else, as Debian's
 * of OTP 29: code that uses them is known by its instructions. Each is there once, or the build is
 * another one.
 */
#include "runtimes/beam.h"

#include "runtimes/elf_find.h"

#define ANY_4 "........"

enum { SHAPE_SCHEDULERS, SHAPE_RANGES, SHAPE_ATOMS, SHAPE_EXIT, SHAPE_MAIN, N_SHAPES };

/* Where a shape has what is wanted: bytes from where it begins. */
#define N_SCHEDULERS_AT	  3
#define SCHEDULER_SIZE_AT 20
#define SCHEDULERS_AT	  27
#define ACTIVE_AT	  3
#define RANGES_AT	  10
#define ATOMS_AT	  3
#define EXIT_AT		  3

static const char *const shapes[N_SHAPES] = {
	/* The scheduler of a number: mov N(%rip),%rdx; mov %eax,%ecx; cmp %rcx,%rdx; jb; sub
	 * $1,%eax; imul $SIZE,%rax,%rax; add SCHEDULERS(%rip),%rax */
	[SHAPE_SCHEDULERS] = "488b15" ANY_4 "89c14839ca72..83e8014869c0" ANY_4 "480305" ANY_4,
	/* The module of an address: mov ACTIVE(%rip),%r8d; lea RANGES(%rip),%r9; mov %r8,%rax; shl
	 * $5,%rax; add %r9,%rax */
	[SHAPE_RANGES] = "448b05" ANY_4 "4c8d0d" ANY_4 "4c89c048c1e0054c01c8",
	/* enif_get_atom_length(): mov ATOMS + 120(%rip),%rax; shr $6,%rsi; shr $16,%rdi; and
	 * $1023,%esi; mov (%rax,%rdi,8),%rax; mov (%rax,%rsi,8),%rax */
	[SHAPE_ATOMS] = "488b05" ANY_4 "48c1ee0648c1ef1081e6ff030000488b04f8488b04f0",
	/* A new process: mov EXIT(%rip),%rdx; mov %rdx,8(%rax); mov 88(%rbx),%rax;
	 * mov %rax,96(%rbx) */
	[SHAPE_EXIT] = "488b15" ANY_4 "48895008488b435848894360",
	/* All of process_main: endbr64; push %rbx; mov X(%rip),%rax; mov %rdi,%rbx; mov $N,%esi;
	 * lea M(%rax),%rdi; call; mov %rbx,%rdi; pop %rbx; mov (%rax),%rax; jmp *%rax */
	[SHAPE_MAIN] = "f30f1efa53488b05" ANY_4 "4889fbbe" ANY_4 "488db8" ANY_4 "e8" ANY_4
		       "4889df5b488b00ffe0",
};

/* What @code has at @at leads to; 0: it was not found. */
static uint64_t target(const struct elf_file *elf, const struct elf_code *code, uint32_t at)
{
	return code->address ? elf_find_target(elf, code->address + at) : 0;
}

int beam_find_by_code(const struct elf_file *elf, uint32_t scheduler_size, uint64_t *ret)
{
	struct elf_code code[N_SHAPES] = {};
	const struct elf_code *schedulers = &code[SHAPE_SCHEDULERS];
	uint64_t atoms;
	uint32_t size = 0;
	int r;

	for (int i = 0; i < N_SHAPES; i++)
		code[i].shape = shapes[i];
	r = elf_find_code(elf, code, N_SHAPES);
	if (r < 0)
		return r;
	if (schedulers->address)
		elf_find_bytes(elf, schedulers->address + SCHEDULER_SIZE_AT, &size, sizeof size);
	if (size == scheduler_size) {
		ret[BEAM_SCHEDULERS] = target(elf, schedulers, SCHEDULERS_AT);
		ret[BEAM_N_SCHEDULERS] = target(elf, schedulers, N_SCHEDULERS_AT);
	}
	ret[BEAM_ACTIVE] = target(elf, &code[SHAPE_RANGES], ACTIVE_AT);
	ret[BEAM_RANGES] = target(elf, &code[SHAPE_RANGES], RANGES_AT);
	atoms = target(elf, &code[SHAPE_ATOMS], ATOMS_AT);
	ret[BEAM_ATOMS] = atoms > BEAM_ATOMS_TABLE ? atoms - BEAM_ATOMS_TABLE : 0;
	ret[BEAM_EXIT] = target(elf, &code[SHAPE_EXIT], EXIT_AT);
	ret[BEAM_MAIN] = code[SHAPE_MAIN].address;
	return 0;
}
