/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi: reading call frame information, from .eh_frame (Linux Standard Base 5.0, 10.6) or
 * .debug_frame (DWARF 5, 6.4).
 *
 * A section is a sequence of common information entries (CIE) and of frame description entries
 * (FDE), one for each function, which name the CIE they go on from. cfi_next() makes one pass over
 * them; the index in .eh_frame_hdr is not needed. cfi_program_next() then runs the program of one
 * function and gives a row wherever the rules change.
 *
 * The bytes are not trusted. A CIE is run once, when it is met; an FDE is run at most once by the
 * caller, who drops those that overlap: so time follows the number of bytes, whatever they say.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include "bpf/wire.h"
#include "unwind/cfi_bytes.h"

/* DWARF's numbers for the registers that are followed. */
struct cfi_machine {
	uint8_t sp, fp, ra;
	uint8_t bx;	     /* 0: there is none */
	bool ra_in_register; /* the return address starts out in register @ra, not on the stack */
	bool has_plt;	     /* linkers write BF_CFA_PLT's expression */
	bool leaf_is_known;  /* all registers of a leaf are */
	int32_t signal_sp;   /* where a signal frame holds the stack pointer; 0: not said */
};

/* The registers' rules at some point of a function. */
struct cfi_state {
	struct bf_rule rule; /* ra may be CFI_SAVED_UNDEFINED, too */
	int32_t cfa_offset;  /* the last one set; it outlives an expression */
	bool cfa_is_expression;
	bool sp_is_cfa; /* the caller's stack pointer is the CFA, as everywhere */
};

#define CFI_SAVED_UNDEFINED N_BF_SAVEDS
/* Rules that a function puts aside at one time. Compilers nest one or two. */
#define CFI_MAX_REMEMBERED 16

struct cfi_cie {
	uint32_t offset; /* in the section */
	bool usable;
	bool has_sizes; /* its FDEs say how long their augmentation data is */
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
};

/* Reads the pointer stored at virtual address @address. Returns false when there is none. */
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
	/* A large section is read piece by piece, by @read into @bytes, which have CFI_WINDOW. */
	uint8_t *bytes;
	uint32_t window, window_n; /* what @bytes hold: from here on, so many */
	cfi_read_fn read;
	bool is_debug_frame;
	bool ends_at_zero;    /* an empty entry is the last one */
	uint8_t address_size; /* 4, 8 */
	const struct cfi_machine *machine;
	uint64_t text_address, data_address; /* what DW_EH_PE_textrel and _datarel count from */
	cfi_pointer_fn pointer;
	void *context;
	/* The reader's; zero at first. */
	uint32_t at;
	bool is_in_order;   /* cfi_next() is under way */
	uint32_t n_damaged; /* entries passed over */
	struct cfi_cie *cies;
	size_t n_cies, cies_capacity;
};

/* How .eh_frame_hdr encodes where .eh_frame begins: 4 bytes, counted from where they are. */
#define CFI_PCREL_SDATA4 0x1b

/* The registers of e_machine @machine, or NULL. */
const struct cfi_machine *cfi_machine(uint16_t machine);

/*
 * Reads on to the next function. Returns 1, 0 when there is none, -ENOMEM. The order is the
 * section's; ranges may overlap, or wrap around.
 */
int cfi_next(struct cfi_section *section, struct cfi_function *ret);

/* An address encoded by @encoding (DW_EH_PE_…). Returns false when it can't be known. */
bool cfi_encoded(const struct cfi_section *section, struct cfi_bytes *bytes, uint8_t encoding,
		 uint8_t address_size, uint64_t function, uint64_t *ret);

void cfi_section_done(struct cfi_section *section);

/* Bytes [@offset, @offset + @n) of the section, until the next call; NULL: they can't be had. */
const uint8_t *cfi_fetch(struct cfi_section *section, uint32_t offset, uint32_t n);

/* Where in the section @at is, which cfi_fetch() gave. */
static inline uint32_t cfi_offset(const struct cfi_section *section, const uint8_t *at)
{
	return section->window + (at - section->bytes);
}

/* A function's program while it is run. */
struct cfi_program {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct cfi_bytes bytes;
	uint64_t start, size, location; /* location: from start */
	struct cfi_state state;
	struct cfi_state remembered[CFI_MAX_REMEMBERED];
	uint32_t n_remembered;
	bool ended;
	/* The last row: what holds from @row_location to the next row or the function's end. */
	uint64_t row_location;
	struct bf_rule row;
};

/* Until it has ended, nothing else is read of the section. */
void cfi_program_start(struct cfi_program *program, struct cfi_section *section,
		       const struct cfi_function *function);

/*
 * Runs on to the next row. Returns 1, 0 at the function's end, -ENOEXEC when the program is
 * damaged: from @row_location on nothing is known.
 */
int cfi_program_next(struct cfi_program *program);

/* Runs the program of a CIE, for cfi_next(). Returns false when it is damaged. */
bool cfi_initial_state(const struct cfi_section *section, struct cfi_cie *cie,
		       struct cfi_bytes program);

#endif
