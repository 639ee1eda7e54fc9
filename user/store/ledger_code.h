/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_code: a window of a ledger as bytes: what is new in its dictionaries, and its rows. The
 * layout is in docs/store.md. ledger_code.c writes, ledger_decode.c reads.
 */
#ifndef STORE_LEDGER_CODE_H
#define STORE_LEDGER_CODE_H

#include "store/ledger.h"

/* Why there is nothing before a window. */
enum store_gap {
	GAP_NONE,
	GAP_STARTED,   /* recording began */
	GAP_SUSPENDED, /* the machine slept */
	GAP_CLOCK,     /* the clock was set */
	GAP_LOST,      /* windows could not be written */
	N_STORE_GAPS,
};

struct store_window {
	uint64_t start, span; /* ns; realtime: 1970 */
	uint64_t covered;     /* ns of @span that were recorded */
	uint64_t boot;	      /* boot-time ns of the end */
	uint64_t windows;     /* of the recording, in this one */
	uint64_t millihertz;  /* samples on the CPU */
	uint64_t lost;	      /* samples and stacks */
	uint64_t own_ns;      /* CPU time of bpfflame itself */
	uint64_t effort;      /* steps that were taken to keep the budget; 0: none */
	enum store_gap gap;   /* before it */
};

/* How much of a ledger's dictionaries was written before. */
struct ledger_marks {
	size_t strings, modules, frames, nodes, processes;
};
#define LEDGER_MARKS_NONE ((struct ledger_marks){2, 1, 1, 1, 1})

#define LEDGER_LAYOUT	  3    /* of a window */
#define LEDGER_FIELDS	  10   /* of struct store_window */
#define LEDGER_IDLE	  0x80 /* beside a row's reason */
#define LEDGER_OLD_LAYOUT 2    /* which is read, too */

#define LEDGER_MAX_BYTES (64u << 20) /* of a window */
#define LEDGER_MAX_ITEMS (2u << 20)  /* of a dictionary, before a window: files end earlier */

/* A window as bytes. What lies between two cuts is of one kind, so it is packed best apart. */
#define LEDGER_MAX_CUTS 16
struct ledger_bytes {
	uint8_t *bytes; /* malloc'ed */
	size_t n, capacity;
	size_t cuts[LEDGER_MAX_CUTS], n_cuts;
	int error; /* for its own use */
};

/*
 * Sorts the rows and encodes them with all that is new since @marks, which move. Errors: -ENOMEM;
 * -E2BIG above LEDGER_MAX_BYTES.
 */
int ledger_encode(struct ledger *ledger, const struct store_window *window,
		  struct ledger_marks *marks, struct ledger_bytes *ret);

/*
 * Appends to the dictionaries of @ledger and replaces its rows. @layout: LEDGER_LAYOUT, or
 * LEDGER_OLD_LAYOUT. Where items of windows before are
 * missing, those of damage (ledger.h) have their numbers. Whoever made @bytes is not trusted.
 * Errors: -EBADMSG they make no sense, -ENOMEM: the ledger has no rows, and the same dictionaries.
 */
int ledger_decode(struct ledger *ledger, const uint8_t *bytes, size_t n, unsigned int layout,
		  struct store_window *ret_window);
/* The same without the rows: @bytes may end anywhere in them. Costs a tenth of the time. */
int ledger_decode_names(struct ledger *ledger, const uint8_t *bytes, size_t n, unsigned int layout);

#endif
