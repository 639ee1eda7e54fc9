/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi: reads call frame information, from .eh_frame (Linux Standard Base 5.0, 10.6) or .debug_frame
 * (DWARF 5, 6.4).
 *
 * A section is a sequence of common information entries (CIE) and frame description entries (FDE).
 * Each function has an FDE, which names the CIE it continues. cfi_next() makes one pass over them,
 * without the index in .eh_frame_hdr. cfi_program_next() then runs the program of one function and
 * gives a row wherever the rules change.
 *
 * The bytes are not trusted. A CIE is run once, when it is first seen; an FDE is run at most once
 * by the caller, who drops overlapping ones. So time follows the number of bytes, whatever they
 * hold.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include "bpf/wire.h"
#include "unwind/cfi_bytes.h"

/* DWARF's numbers for the registers that we follow. */
struct cfi_machine {
	uint8_t sp, fp, ra;
	uint8_t bx;	     /* 0: none */
	bool ra_in_register; /* the return address starts in register @ra, not on the stack */
	bool has_plt;	     /* linkers write BF_CFA_PLT's expression */
	bool leaf_is_known;  /* a leaf has all registers */
	int32_t signal_sp;   /* where a signal frame holds the stack pointer; 0: unknown */
};

/* The registers' rules at one point of a function. */
struct cfi_state {
	struct bf_rule rule; /* ra may also be CFI_SAVED_UNDEFINED */
	int32_t cfa_offset;  /* the last one set; remains after an expression */
	bool cfa_is_expression;
	bool sp_is_cfa; /* the caller's stack pointer is the CFA, as usual */
};

#define CFI_SAVED_UNDEFINED N_BF_SAVEDS
/* Rules that a function may save at one time. Compilers nest one or two. */
#define CFI_MAX_REMEMBERED 16

struct cfi_cie {
	uint32_t offset; /* in the section */
	bool usable;
	bool has_sizes; /* its FDEs give the length of their augmentation data */
	bool is_signal_frame;
	uint8_t encoding; /* of its FDEs' addresses */
	uint8_t address_size;
	uint32_t ra;
	uint64_t code_factor;
	int64_t data_factor;
	struct cfi_state initial;
};

struct cfi_function {
	uint64_t start;		       /* virtual address */
	uint64_t size;		       /* > 0 */
	uint32_t program, program_end; /* offsets in the section */
	uint32_t cie;		       /* index */
	uint32_t is_entry;	       /* whatever its program says: nothing ever called it */
};

/* Reads the pointer stored at virtual address @address. Returns false if there is none. */
typedef bool (*cfi_pointer_fn)(void *context, uint64_t address, uint64_t *ret);

/* Reads @n bytes at @offset of the section into its @bytes. Errors: read errors. */
struct cfi_section;
typedef int (*cfi_read_fn)(const struct cfi_section *section, uint32_t offset, uint32_t n);

/* Also the longest entry of a section that is read piece by piece. */
#define CFI_WINDOW (256u << 10)

struct cfi_section {
	/* The caller's. */
	uint32_t n;
	uint64_t address; /* virtual, of the section's first byte */
	uint64_t offset;  /* of it, in the file */
	/*
	 * A large section is read piece by piece, by @read into @bytes, which has CFI_WINDOW bytes.
	 */
	uint8_t *bytes;
	uint32_t window, window_n; /* the part in @bytes: its beginning and length */
	cfi_read_fn read;
	bool is_debug_frame;
	bool ends_at_zero;    /* an empty entry is the last one */
	uint8_t address_size; /* 4, 8 */
	const struct cfi_machine *machine;
	uint64_t text_address, data_address; /* the bases of DW_EH_PE_textrel and _datarel */
	cfi_pointer_fn pointer;
	void *context;
	/* The reader's; zero at first. */
	uint32_t at;
	bool is_in_order;   /* cfi_next() is in progress */
	uint32_t n_damaged; /* entries skipped */
	struct cfi_cie *cies;
	size_t n_cies, cies_capacity;
};

/* The encoding of the start of .eh_frame in .eh_frame_hdr: 4 bytes, relative to themselves. */
#define CFI_PCREL_SDATA4 0x1b

/* The registers of e_machine @machine, or NULL. */
const struct cfi_machine *cfi_machine(uint16_t machine);

/*
 * Reads the next function. Returns 1, 0 at the end, -ENOMEM. Functions come in the section's order;
 * ranges may overlap, or wrap around.
 */
int cfi_next(struct cfi_section *section, struct cfi_function *ret);

/* Reads an address encoded by @encoding (DW_EH_PE_…). Returns false if it can't be known. */
bool cfi_encoded(const struct cfi_section *section, struct cfi_bytes *bytes, uint8_t encoding,
		 uint8_t address_size, uint64_t function, uint64_t *ret);

void cfi_section_done(struct cfi_section *section);

/* Gives bytes [@offset, @offset + @n) of the section until the next call; NULL: unavailable. */
const uint8_t *cfi_fetch(struct cfi_section *section, uint32_t offset, uint32_t n);

/* The section's offset of @at, a pointer from cfi_fetch(). */
static inline uint32_t cfi_offset(const struct cfi_section *section, const uint8_t *at)
{
	return section->window + (at - section->bytes);
}

/* A function's program while it runs. */
struct cfi_program {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct cfi_bytes bytes;
	uint64_t start, size, location; /* location: relative to start */
	struct cfi_state state;
	struct cfi_state remembered[CFI_MAX_REMEMBERED];
	uint32_t n_remembered;
	bool ended;
	/* The last row: holds from @row_location to the next row or the function's end. */
	uint64_t row_location;
	struct bf_rule row;
};

/* Until it ends, read nothing else from the section. */
void cfi_program_start(struct cfi_program *program, struct cfi_section *section,
		       const struct cfi_function *function);

/*
 * Runs to the next row. Returns 1, 0 at the function's end, -ENOEXEC if the program is damaged:
 * nothing is known from @row_location on.
 */
int cfi_program_next(struct cfi_program *program);

/* Runs the program of a CIE, for cfi_next(). Returns false if it is damaged. */
bool cfi_initial_state(const struct cfi_section *section, struct cfi_cie *cie,
		       struct cfi_bytes program);

#endif
