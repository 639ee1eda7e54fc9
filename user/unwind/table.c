/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table is built in three steps: one pass over the section finds the functions; they are sorted
 * by their place in the file; their programs run in that order, and each row goes right to its
 * place. This keeps some bytes per function instead of all rows, and cuts overlapping functions
 * before they cost anything: of several with one start the first counts, and a function ends where
 * the next begins.
 *
 * .debug_frame is read after .eh_frame: nearly every program has some of the latter from the C
 * library's start files, even if the compiler wrote only the former. Go programs have a table of
 * their own, which comes third.
 */
#include "unwind/table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/go_open.h"
#include "base/section.h"
#include "base/system.h"
#include "unwind/cfi.h"
#include "unwind/entries.h"
#include "unwind/table_code.h"
#include "unwind/table_go.h"
#include "unwind/table_part.h"

/* Looking up a rule does not read the thread's memory. */
static inline int walk_read(void *memory, void *to, __u32 n, __u64 from)
{
	return -EFAULT;
}

#include "bpf/unwind_step.h"

/* More than linkers make: sections read into memory, segments of code, files' offsets. */
#define MAX_SECTION  (1u << 30)
#define MAX_WHOLE    (32u << 20) /* of a section that is read at once, or unpacked */
#define MAX_SEGMENTS 16
#define MAX_OFFSET   ((uint64_t)1 << 32)

#define MAX_AFTER_CLONE	 32 /* bytes */
#define DW_CFA_UNDEFINED 0x07
#define LEAST_FUNCTION	 256 /* bytes; an average */

/* Executable memory filled from a file. */
struct code_segment {
	uint64_t address, offset, n;
};

struct builder {
	struct elf_file *file;
	struct elf_file *debug; /* the file with its stripped sections, or NULL */
	struct unwind_table table;
	struct cfi_section sections[2]; /* .eh_frame, .debug_frame */
	size_t n_eh_functions;		/* those of the first come first, … */
	size_t n_cfi_functions;		/* … then Go's: program is their number, … */
	size_t n_told_functions;	/* … then the entries: program is the CFA */
	struct code_segment segments[MAX_SEGMENTS];
	size_t n_segments;
	struct cfi_function *functions;
	size_t n_functions, functions_capacity;
	uint64_t *order; /* offset in the file << 32 | index of the function */
	size_t order_capacity;
	struct table_go go;
	bool has_go;
	struct table_code code;	   /* code that no section covers */
	unwind_yield_fn yield;	   /* or NULL */
	void *context;
};

#define YIELD_AFTER 4096 /* functions */

static void yield(const struct builder *builder, size_t n)
{
	if (builder->yield && n % YIELD_AFTER == 0)
		builder->yield(builder->context);
}

static void find_segments(struct builder *builder)
{
	const struct elf_file *file = builder->file;
	uint64_t size = file->size < MAX_OFFSET ? file->size : MAX_OFFSET;

	for (size_t i = 0; i < file->n_segments && builder->n_segments < MAX_SEGMENTS; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		uint64_t n = segment->p_filesz;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
		    segment->p_offset >= size)
			continue;
		if (n > size - segment->p_offset)
			n = size - segment->p_offset;
		builder->segments[builder->n_segments++] =
			(struct code_segment){segment->p_vaddr, segment->p_offset, n};
	}
}

/* Finds the place of @function in the file. Cuts its size to the segment's. */
static bool place(const struct builder *builder, struct cfi_function *function, uint64_t *ret)
{
	for (size_t i = 0; i < builder->n_segments; i++) {
		const struct code_segment *segment = &builder->segments[i];
		uint64_t within = function->start - segment->address;

		if (within >= segment->n)
			continue;
		if (function->size > segment->n - within)
			function->size = segment->n - within;
		*ret = segment->offset + within;
		return true;
	}
	return false;
}

static int add_function(struct builder *builder, struct cfi_function *function)
{
	uint64_t offset;

	/* Code that linkers dropped keeps its entry, at address 0. */
	if (!place(builder, function, &offset))
		return 0;
	if (array_reserve(builder->functions, builder->functions_capacity, builder->n_functions,
			  1) < 0 ||
	    array_reserve(builder->order, builder->order_capacity, builder->n_functions, 1) < 0)
		return -ENOMEM;
	builder->order[builder->n_functions] = offset << 32 | builder->n_functions;
	builder->functions[builder->n_functions++] = *function;
	return 0;
}

static int find_functions(struct builder *builder, struct cfi_section *section)
{
	struct cfi_function function;
	int r;

	if (!section->bytes)
		return 0;
	while ((r = cfi_next(section, &function)) > 0) {
		yield(builder, builder->n_functions);
		/* Its last instruction is a system call: the thread is after that, in the kernel. */
		function.size += section->cies[function.cie].is_signal_frame;
		r = add_function(builder, &function);
		if (r < 0)
			return r;
	}
	builder->table.n_skipped += section->n_damaged;
	return r;
}

#define DIGIT_BITS    11
#define N_DIGITS      3
#define DIGIT(key, i) ((key) >> (32 + (i)*DIGIT_BITS) & ((1u << DIGIT_BITS) - 1))

/* Sorts by one digit at a time, lowest first; equal elements keep their order. */
static void sort_digit(const uint64_t *from, uint64_t *to, size_t n, unsigned int digit)
{
	uint32_t starts[1 << DIGIT_BITS] = {}, sum = 0;

	for (size_t i = 0; i < n; i++)
		starts[DIGIT(from[i], digit)]++;
	for (size_t i = 0; i < 1 << DIGIT_BITS; i++) {
		uint32_t count = starts[i];

		starts[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[starts[DIGIT(from[i], digit)]++] = from[i];
}

static int sort_functions(struct builder *builder)
{
	size_t n = builder->n_functions, sorted = 1;
	uint64_t *other;

	while (sorted < n && builder->order[sorted - 1] <= builder->order[sorted])
		sorted++;
	if (sorted >= n)
		return 0;
	other = malloc(n * sizeof *other);
	if (!other)
		return -ENOMEM;
	for (unsigned int digit = 0; digit < N_DIGITS; digit++) {
		uint64_t *from = builder->order;

		sort_digit(from, other, n, digit);
		builder->order = other;
		other = from;
	}
	free(other);
	return 0;
}

/* The functions of a Go program, by its own table. One that is damaged has none. */
static int find_go_functions(struct builder *builder)
{
	const struct go_table *table = &builder->go.table;
	int r = table_go_open(&builder->go, builder->file);

	builder->n_cfi_functions = builder->n_functions;
	builder->has_go = r == 0;
	builder->table.n_skipped += r == -ENOEXEC;
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < table->n; i++) {
		struct cfi_function function = {.start = table->entries[i].start, .program = i};

		yield(builder, i);
		function.size = table->entries[i + 1].start - function.start;
		if (!function.size)
			continue;
		r = add_function(builder, &function);
		if (r < 0)
			return r;
	}
	return 0;
}

/* glibc's __start_context and greenlet's beginning have rows as if they had been called. */
static void mark_entry(struct builder *builder, uint64_t start)
{
	for (size_t i = 0; i < builder->n_cfi_functions; i++)
		if (builder->functions[i].start == start)
			builder->functions[i].is_entry = true;
}

/* Finds entries of threads that no section marks as such. */
static int find_entries(struct builder *builder)
{
	struct unwind_entry entries[UNWIND_MAX_ENTRIES];
	size_t n = 0;
	int r = unwind_entries_find(builder->file, entries, &n);

	builder->n_told_functions = builder->n_functions;
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		struct cfi_function function = {.start = entries[i].start,
						.size = entries[i].size,
						.program = entries[i].cfa};

		if (entries[i].cfa == BF_CFA_PLANTED)
			mark_entry(builder, function.start + function.size);
		else if (entries[i].has_rows)
			mark_entry(builder, function.start);
		r = add_function(builder, &function);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_entry(struct builder *builder, struct table_writer *writer, enum bf_cfa cfa,
		       uint64_t offset)
{
	int r = table_writer_row(writer, offset, &(struct bf_rule){.cfa = cfa});

	builder->table.n_skipped += r == -ENOSPC;
	return r == -ENOSPC ? 0 : r;
}

static int write_go(struct builder *builder, struct table_writer *writer,
		    const struct cfi_function *function, uint64_t offset)
{
	int r = table_go_write(&builder->go, writer, function->program, offset, function->size);

	builder->table.n_functions += r == 0;
	builder->table.n_skipped += r == -ENOSPC;
	return r == -ENOSPC ? 0 : r;
}

/* Writes the rows of a function at @offset. */
static int write_function(struct builder *builder, struct table_writer *writer,
			  const struct cfi_function *function, uint64_t offset)
{
	size_t index = function - builder->functions;
	bool is_debug = index >= builder->n_eh_functions;
	struct cfi_program program;
	int r, step;

	if (index >= builder->n_told_functions)
		return write_entry(builder, writer, function->program, offset);
	if (index >= builder->n_cfi_functions)
		return write_go(builder, writer, function, offset);
	if (function->is_entry)
		return write_entry(builder, writer, BF_CFA_ENTRY, offset);
	cfi_program_start(&program, &builder->sections[is_debug], function);
	while ((step = cfi_program_next(&program)) > 0) {
		r = table_writer_row(writer, offset + program.row_location, &program.row);
		if (r == -ENOSPC)
			builder->table.n_skipped++;
		if (r < 0)
			return r == -ENOSPC ? 0 : r;
	}
	builder->table.n_functions++;
	if (step == 0)
		return 0;
	builder->table.n_skipped++;
	return table_writer_gap(writer, offset + program.row_location);
}

/*
 * The C library's clone ends its call frame information before the system call, which returns
 * twice: to its caller, and to the child, which has none. In between nothing is known.
 */
static bool is_after_clone(struct builder *builder, const struct cfi_function *next, uint64_t gap)
{
	size_t index = next - builder->functions;
	struct cfi_section *section = &builder->sections[index >= builder->n_eh_functions];
	const uint8_t *program;

	if (builder->table.machine != EM_X86_64 || gap > MAX_AFTER_CLONE ||
	    index >= builder->n_cfi_functions || next->program_end - next->program < 2)
		return false;
	program = cfi_fetch(section, next->program, 2);
	return program && program[0] == DW_CFA_UNDEFINED && program[1] == section->machine->ra;
}

/* The start of the next function after the @i-th that has another start. */
static uint64_t next_offset(const struct builder *builder, size_t i)
{
	uint64_t offset = builder->order[i] >> 32;

	while (++i < builder->n_functions)
		if (builder->order[i] >> 32 != offset)
			return builder->order[i] >> 32;
	return UINT64_MAX;
}

/* Writes what the code itself shows from @end of a function to @next, where another begins. */
static int write_code(struct builder *builder, struct table_writer *writer, uint64_t end,
		      uint64_t next)
{
	uint64_t before;
	int r;

	if (end != next) {
		r = table_writer_gap(writer, end);
		if (r < 0)
			return r;
	}
	before = builder->table.code_bytes;
	r = table_code_write(&builder->code, writer, end, next);
	builder->table.read_bytes += builder->table.code_bytes - before;
	return r;
}

/* Fills the gap from @end of the @i-th function to @next, where another begins. */
static int write_between(struct builder *builder, struct table_writer *writer, size_t i,
			 uint64_t end, uint64_t next)
{
	const struct bf_rule clone = {
		.cfa = BF_CFA_CLONE, .cfa_offset = 8, .ra = BF_SAVED_CFA, .ra_offset = -1};
	int r;

	if (end == next || i + 1 == builder->n_functions ||
	    !is_after_clone(builder, &builder->functions[(uint32_t)builder->order[i + 1]],
			    next - end))
		return write_code(builder, writer, end, next);
	r = table_writer_row(writer, end, &clone);
	builder->table.n_skipped += r == -ENOSPC;
	return r == -ENOSPC ? 0 : r;
}

static int write_functions(struct builder *builder, struct table_writer *writer)
{
	uint64_t first = builder->n_functions ? builder->order[0] >> 32 : UINT64_MAX;
	int r = write_code(builder, writer, 0, first);

	if (r < 0)
		return r;
	for (size_t i = 0; i < builder->n_functions; i++) {
		struct cfi_function *function = &builder->functions[(uint32_t)builder->order[i]];
		uint64_t offset = builder->order[i] >> 32, next;

		yield(builder, i);
		if (i > 0 && builder->order[i - 1] >> 32 == offset) {
			builder->table.n_skipped +=
				(uint32_t)builder->order[i] < builder->n_cfi_functions;
			continue;
		}
		next = next_offset(builder, i);
		if (function->size > next - offset)
			function->size = next - offset;
		r = write_function(builder, writer, function, offset);
		if (r < 0)
			return r;
		r = write_between(builder, writer, i, offset + function->size, next);
		if (r < 0)
			return r;
	}
	return table_writer_finish(writer);
}

/* A piece of code in the file: [@offset, @end), loaded at @address. */
struct code_area {
	uint64_t offset, end, address;
};

static int compare_areas(const void *a, const void *b)
{
	const struct code_area *left = a, *right = b;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Finds the sections of code, in the order of the file. Returns their number. */
static size_t find_areas(const struct builder *builder, struct code_area *areas)
{
	size_t n = 0;

	for (size_t i = 0; i < builder->file->n_sections; i++) {
		const Elf64_Shdr *section = &builder->file->sections[i];
		struct cfi_function whole = {.start = section->sh_addr, .size = section->sh_size};
		uint64_t offset;

		if (section->sh_type == SHT_PROGBITS && (section->sh_flags & SHF_EXECINSTR) &&
		    place(builder, &whole, &offset) && offset == section->sh_offset)
			areas[n++] = (struct code_area){offset, offset + whole.size, whole.start};
	}
	qsort(areas, n, sizeof *areas, compare_areas);
	return n;
}

/* Adds the code of @area, from @from on, that the functions from the *@i-th on don't cover. */
static int add_code(struct builder *builder, const struct code_area *area, uint64_t from, size_t *i)
{
	while (from < area->end) {
		uint64_t next = area->end, end = area->end;

		if (*i < builder->n_functions && builder->order[*i] >> 32 < area->end) {
			uint32_t number = builder->order[*i];

			next = builder->order[*i] >> 32;
			end = next + builder->functions[number].size;
			++*i;
		}
		if (next > from) {
			int r = table_code_add(&builder->code,
					       area->address + (from - area->offset), from,
					       next - from);

			if (r < 0)
				return r;
		}
		from = end > from ? end : from;
	}
	return 0;
}

/* What call frame information says of Go's code, Go's own table says better. */
static bool is_go(struct builder *builder)
{
	return builder->has_go || go_table_is_go(builder->file);
}

/* Adds all code without call frame information. */
static int add_areas(struct builder *builder)
{
	size_t n_sections = builder->file->n_sections, n, k = 0;
	_cleanup_free_ struct code_area *areas = malloc((n_sections + 1) * sizeof *areas);
	uint64_t from = 0;

	if (!areas)
		return -ENOMEM;
	n = find_areas(builder, areas);
	for (size_t i = 0; i < n; i++) {
		int r;

		if (areas[i].offset > from)
			from = areas[i].offset;
		r = add_code(builder, &areas[i], from, &k);
		if (r < 0)
			return r;
		if (areas[i].end > from)
			from = areas[i].end;
	}
	return 0;
}

/* Reads the code without call frame information. */
static int read_code(struct builder *builder)
{
	int r;

	if (builder->file->machine != EM_X86_64 || is_go(builder))
		return 0;
	builder->code.file = builder->file;
	r = add_areas(builder);
	builder->table.bare_bytes = builder->code.flow.n;
	builder->code.is_most = builder->code.flow.n / LEAST_FUNCTION > builder->n_functions;
	if (r == 0)
		r = table_code_run(&builder->code, builder->yield, builder->context);
	if (r < 0) /* nothing was found out about any of it */
		builder->code.n_ranges = 0;
	builder->table.n_skipped += r == -ENOSPC;
	builder->table.n_functions += builder->code.flow.n_functions;
	return r == -ENOMEM ? r : 0;
}

/* Reads an encoded pointer that is stored at virtual address @address. */
static bool read_pointer(void *context, uint64_t address, uint64_t *ret)
{
	const struct builder *builder = context;
	uint64_t offset, n;

	return elf_file_offset(builder->file, address, &offset, &n) && n >= sizeof *ret &&
	       elf_file_read(builder->file, offset, ret, sizeof *ret) == 0;
}

static uint64_t section_address(struct elf_file *file, const char *name)
{
	const Elf64_Shdr *section = elf_file_section(file, name);

	return section ? section->sh_addr : 0;
}

/* The file that has .debug_frame. */
static struct elf_file *frames_file(const struct builder *builder)
{
	return builder->debug ? builder->debug : builder->file;
}

static int read_piece(const struct cfi_section *section, uint32_t offset, uint32_t n)
{
	const struct builder *builder = section->context;

	return elf_file_read(section->is_debug_frame ? frames_file(builder) : builder->file,
			     section->offset + offset, section->bytes, n);
}

/* Gives the bytes of @source, or a buffer for pieces of them, malloc'ed. */
static int read_bytes(struct section *source, uint8_t **ret)
{
	const uint8_t *view;
	size_t n;
	int r = 0;

	if (source->packing != PACKING_NONE) {
		r = section_view(source, 0, source->size, &view, &n);
		*ret = source->unpacked;
		source->unpacked = NULL;
		return r;
	}
	*ret = malloc(source->size <= MAX_WHOLE ? source->size : CFI_WINDOW);
	if (!*ret)
		return -ENOMEM;
	if (source->size <= MAX_WHOLE)
		r = elf_file_read(source->file, source->offset, *ret, source->size);
	if (r < 0)
		free(*ret);
	return r;
}

/* Errors: -ENOENT no such section; -EFBIG too large to unpack; as of elf_file_read(). */
static int read_section(struct builder *builder, const struct elf_file *file,
			const Elf64_Shdr *header, bool is_zdebug, struct cfi_section *section)
{
	uint64_t room = MAX_WHOLE;
	struct section source;
	uint8_t *bytes = NULL;
	int r;

	if (!header || header->sh_type == SHT_NOBITS || !header->sh_size)
		return -ENOENT;
	r = section_open(&source, file, header, is_zdebug, &room);
	if (r < 0)
		return r;
	if (source.size > MAX_SECTION)
		return -ENOEXEC;
	r = read_bytes(&source, &bytes);
	if (r < 0)
		return r;
	*section = (struct cfi_section){
		.bytes = bytes,
		.n = source.size,
		.window_n = source.size <= MAX_WHOLE ? source.size : 0,
		.read = source.size <= MAX_WHOLE ? NULL : read_piece,
		.offset = source.offset,
		.address = header->sh_addr,
		.address_size = 8,
		.machine = cfi_machine(builder->file->machine),
		.text_address = section_address(builder->file, ".text"),
		.data_address = section_address(builder->file, ".got"),
		.pointer = read_pointer,
		.context = builder,
	};
	return 0;
}

/* Finds the start of .eh_frame by .eh_frame_hdr; only the last entry gives its length. */
static bool locate_eh_frame(const struct elf_file *file, Elf64_Shdr *ret)
{
	struct {
		uint8_t version, encodings[3];
		int32_t distance;
	} head;

	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type != PT_GNU_EH_FRAME)
			continue;
		*ret = (Elf64_Shdr){.sh_type = SHT_PROGBITS};
		if (elf_file_read(file, segment->p_offset, &head, sizeof head) < 0 ||
		    head.version != 1 || head.encodings[0] != CFI_PCREL_SDATA4)
			return false;
		ret->sh_addr = segment->p_vaddr + offsetof(typeof(head), distance) + head.distance;
		return elf_file_offset(file, ret->sh_addr, &ret->sh_offset, &ret->sh_size);
	}
	return false;
}

static int read_eh_frame(struct builder *builder, struct cfi_section *section)
{
	const Elf64_Shdr *header = elf_file_section(builder->file, ".eh_frame");
	Elf64_Shdr located;
	int r;

	if (header || !locate_eh_frame(builder->file, &located))
		return read_section(builder, builder->file, header, false, section);
	r = read_section(builder, builder->file, &located, false, section);
	section->ends_at_zero = true;
	return r;
}

static int read_debug_frame(struct builder *builder, struct cfi_section *section)
{
	struct elf_file *file = frames_file(builder);
	int r;

	if (go_table_is_go(builder->file))
		return -ENOENT;
	r = read_section(builder, file, elf_file_section(file, ".debug_frame"), false, section);
	if (r == -ENOENT)
		r = read_section(builder, file, elf_file_section(file, ".zdebug_frame"), true,
				 section);
	section->is_debug_frame = true;
	return r;
}

static int read_sections(struct builder *builder)
{
	int r = read_eh_frame(builder, &builder->sections[0]);

	if (r < 0 && r != -ENOENT)
		return r;
	r = read_debug_frame(builder, &builder->sections[1]);
	return r != -ENOMEM && (builder->sections[0].bytes || r == -ENOENT) ? 0 : r;
}

static int build(struct builder *builder)
{
	struct table_writer writer;
	int r;

	r = read_sections(builder);
	if (r < 0)
		return r;
	find_segments(builder);
	r = find_functions(builder, &builder->sections[0]);
	builder->n_eh_functions = builder->n_functions;
	if (r < 0)
		return r;
	r = find_functions(builder, &builder->sections[1]);
	if (r < 0)
		return r;
	r = find_go_functions(builder);
	if (r < 0)
		return r;
	r = find_entries(builder);
	if (r < 0)
		return r;
	r = sort_functions(builder);
	if (r < 0)
		return r;
	r = read_code(builder);
	if (r < 0)
		return r;
	r = table_writer_init(&writer, &builder->table);
	if (r < 0)
		return r;
	r = write_functions(builder, &writer);
	table_writer_done(&writer);
	builder->table.is_go = is_go(builder);
	if (r < 0)
		return r;
	return builder->sections[0].bytes || builder->sections[1].bytes || builder->table.n_rows
		       ? 0
		       : -ENOENT;
}

int unwind_table_build(struct elf_file *file, struct unwind_table *ret)
{
	return unwind_table_build_yielding(file, NULL, NULL, NULL, ret);
}

int unwind_table_build_yielding(struct elf_file *file, struct elf_file *debug,
				unwind_yield_fn yield, void *context, struct unwind_table *ret)
{
	struct builder builder = {
		.file = file,
		.debug = debug,
		.table.machine = file->machine,
		.yield = yield,
		.context = context,
	};
	int r;

	if (!cfi_machine(file->machine) || file->is_32)
		return -ENOENT;
	r = build(&builder);
	for (size_t i = 0; i < 2; i++) {
		free(builder.sections[i].bytes);
		cfi_section_done(&builder.sections[i]);
	}
	table_code_done(&builder.code);
	if (builder.has_go)
		table_go_done(&builder.go);
	free(builder.functions);
	free(builder.order);
	if (r < 0) {
		unwind_table_done(&builder.table);
		return r;
	}
	*ret = builder.table;
	return 0;
}

void unwind_table_done(struct unwind_table *table)
{
	for (uint32_t i = 0; i < table->n_parts && !table->block; i++)
		free(table->parts[i].words);
	free(table->block);
	free(table->parts);
	*table = (struct unwind_table){};
}

const struct bf_rule *unwind_table_find(const struct unwind_table *table, uint64_t offset)
{
	uint64_t part = offset >> BF_PART_SHIFT;

	if (part >= table->n_parts || !table->parts[part].words)
		return NULL;
	return bf_find_rule(table->parts[part].words, 0, offset);
}
