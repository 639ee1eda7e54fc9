/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/system.h"

/* A linked file has dozens; ELF allows 2^32. */
#define MAX_SEGMENTS 1024
#define MAX_SECTIONS 65536
#define MAX_NOTES    65536 /* bytes of all note segments */
#define MAX_DYNAMIC  128   /* entries; programs have some 30 */
#define WINDOW_SIZE  16384
#define WINDOW_STEP  2048 /* most names end within it */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HOST_DATA ELFDATA2LSB
#else
#define HOST_DATA ELFDATA2MSB
#endif

static bool in_file(const struct elf_file *file, uint64_t offset, uint64_t n)
{
	return offset <= file->size && n <= file->size - offset;
}

int elf_file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t n)
{
	uint8_t *to = buffer;

	if (!in_file(file, offset, n))
		return -ENOEXEC;
	if (file->fd < 0) {
		memcpy(to, file->image + offset, n);
		return 0;
	}
	while (n) {
		ssize_t got = pread(file->fd, to, n, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ENOEXEC;
		to += got;
		offset += got;
		n -= got;
	}
	return 0;
}

static Elf64_Ehdr widen_header(const Elf32_Ehdr *h)
{
	return (Elf64_Ehdr){
		.e_type = h->e_type,
		.e_machine = h->e_machine,
		.e_entry = h->e_entry,
		.e_phoff = h->e_phoff,
		.e_shoff = h->e_shoff,
		.e_phentsize = h->e_phentsize,
		.e_phnum = h->e_phnum,
		.e_shentsize = h->e_shentsize,
		.e_shnum = h->e_shnum,
		.e_shstrndx = h->e_shstrndx,
	};
}

static Elf64_Phdr widen_segment(const Elf32_Phdr *p)
{
	return (Elf64_Phdr){
		.p_type = p->p_type,
		.p_flags = p->p_flags,
		.p_offset = p->p_offset,
		.p_vaddr = p->p_vaddr,
		.p_filesz = p->p_filesz,
		.p_memsz = p->p_memsz,
		.p_align = p->p_align,
	};
}

static Elf64_Shdr widen_section(const Elf32_Shdr *s)
{
	return (Elf64_Shdr){
		.sh_name = s->sh_name,
		.sh_type = s->sh_type,
		.sh_flags = s->sh_flags,
		.sh_addr = s->sh_addr,
		.sh_offset = s->sh_offset,
		.sh_size = s->sh_size,
		.sh_link = s->sh_link,
		.sh_info = s->sh_info,
		.sh_addralign = s->sh_addralign,
		.sh_entsize = s->sh_entsize,
	};
}

static int read_header(struct elf_file *file, Elf64_Ehdr *ret)
{
	unsigned char ident[EI_NIDENT];
	Elf32_Ehdr narrow;
	int r = elf_file_read(file, 0, ident, sizeof ident);

	if (r < 0)
		return r;
	if (memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != HOST_DATA)
		return -ENOEXEC;
	if (ident[EI_CLASS] == ELFCLASS64)
		return elf_file_read(file, 0, ret, sizeof *ret);
	if (ident[EI_CLASS] != ELFCLASS32)
		return -ENOEXEC;
	file->is_32 = true;
	r = elf_file_read(file, 0, &narrow, sizeof narrow);
	if (r < 0)
		return r;
	*ret = widen_header(&narrow);
	return 0;
}

static int read_section(const struct elf_file *file, uint64_t offset, Elf64_Shdr *ret)
{
	Elf32_Shdr narrow;
	int r;

	if (!file->is_32)
		return elf_file_read(file, offset, ret, sizeof *ret);
	r = elf_file_read(file, offset, &narrow, sizeof narrow);
	if (r == 0)
		*ret = widen_section(&narrow);
	return r;
}

static int read_sections(struct elf_file *file, uint64_t offset)
{
	if (!file->is_32)
		return elf_file_read(file, offset, file->sections,
				     file->n_sections * sizeof *file->sections);
	for (size_t i = 0; i < file->n_sections; i++) {
		int r = read_section(file, offset + i * sizeof(Elf32_Shdr), &file->sections[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int read_segments(struct elf_file *file, uint64_t offset)
{
	if (!file->is_32)
		return elf_file_read(file, offset, file->segments,
				     file->n_segments * sizeof *file->segments);
	for (size_t i = 0; i < file->n_segments; i++) {
		Elf32_Phdr narrow;
		int r = elf_file_read(file, offset + i * sizeof narrow, &narrow, sizeof narrow);

		if (r < 0)
			return r;
		file->segments[i] = widen_segment(&narrow);
	}
	return 0;
}

/* Reads the numbers of segments and sections; large ones of sections are in section 0. */
static int read_counts(struct elf_file *file, const Elf64_Ehdr *header)
{
	Elf64_Shdr first = {};
	int r;

	file->n_segments = header->e_phnum;
	file->n_sections = header->e_shoff ? header->e_shnum : 0;
	file->names_section = header->e_shstrndx;
	if (header->e_shoff && (header->e_shnum == 0 || header->e_shstrndx == SHN_XINDEX)) {
		r = read_section(file, header->e_shoff, &first);
		if (r < 0)
			return r;
		if (header->e_shnum == 0)
			file->n_sections = first.sh_size;
		if (header->e_shstrndx == SHN_XINDEX)
			file->names_section = first.sh_link;
	}
	if (file->n_segments > MAX_SEGMENTS || file->n_sections > MAX_SECTIONS)
		return -ENOEXEC;
	return 0;
}

static int read_tables(struct elf_file *file, const Elf64_Ehdr *header)
{
	size_t segment_size = file->is_32 ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
	size_t section_size = file->is_32 ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
	int r;

	if ((file->n_segments && header->e_phentsize != segment_size) ||
	    (file->n_sections && header->e_shentsize != section_size) ||
	    !in_file(file, header->e_phoff, file->n_segments * segment_size) ||
	    !in_file(file, header->e_shoff, file->n_sections * section_size))
		return -ENOEXEC;
	file->segments = calloc(file->n_segments + 1, sizeof *file->segments);
	file->sections = calloc(file->n_sections + 1, sizeof *file->sections);
	file->window = malloc(WINDOW_SIZE);
	if (!file->segments || !file->sections || !file->window)
		return -ENOMEM;
	r = read_segments(file, header->e_phoff);
	if (r < 0)
		return r;
	return read_sections(file, header->e_shoff);
}

/* Reads the dynamic section. Returns the number of entries before DT_NULL. */
static size_t read_dynamic(const struct elf_file *file, Elf64_Dyn entries[static MAX_DYNAMIC])
{
	size_t n = 0, i = 0;

	while (i < file->n_segments && file->segments[i].p_type != PT_DYNAMIC)
		i++;
	if (i == file->n_segments)
		return 0;
	n = file->segments[i].p_filesz / sizeof *entries;
	if (n > MAX_DYNAMIC)
		n = MAX_DYNAMIC;
	if (elf_file_read(file, file->segments[i].p_offset, entries, n * sizeof *entries) < 0)
		return 0;
	for (i = 0; i < n && entries[i].d_tag != DT_NULL;)
		i++;
	return i;
}

static uint64_t dynamic_value(const Elf64_Dyn *entries, size_t n, int64_t tag)
{
	for (size_t i = 0; i < n; i++)
		if (entries[i].d_tag == tag)
			return entries[i].d_un.d_val;
	return 0;
}

/* The number of dynamic symbols is not given; another table follows them. */
static uint64_t dynamic_symbols_end(const Elf64_Dyn *entries, size_t n, uint64_t start)
{
	static const int64_t tags[] = {DT_STRTAB, DT_HASH, DT_GNU_HASH, DT_VERSYM, DT_VERNEED,
				       DT_VERDEF, DT_RELA, DT_REL,	DT_JMPREL};
	uint64_t end = UINT64_MAX;

	for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
		uint64_t value = dynamic_value(entries, n, tags[i]);

		if (value > start && value < end)
			end = value;
	}
	return end;
}

/* Adds a section of at most @n bytes at @address, if the file has any of it. */
static void add_section(struct elf_file *file, Elf64_Shdr section, uint64_t address, uint64_t n)
{
	section.sh_addr = address;
	if (!elf_file_offset(file, address, &section.sh_offset, &section.sh_size))
		return;
	if (section.sh_size > n)
		section.sh_size = n;
	file->sections[file->n_sections++] = section;
}

/* Makes sections for a file without section headers. */
static int make_sections(struct elf_file *file)
{
	Elf64_Shdr *sections = calloc(file->n_segments + 3, sizeof *sections);
	Elf64_Dyn dynamic[MAX_DYNAMIC];
	size_t n = read_dynamic(file, dynamic);
	uint64_t symbols = dynamic_value(dynamic, n, DT_SYMTAB);

	if (!sections)
		return -ENOMEM;
	free(file->sections);
	file->sections = sections;
	file->n_sections = 1;
	file->names_section = 0;
	for (size_t i = 0; i < file->n_segments; i++)
		if (file->segments[i].p_type == PT_LOAD && (file->segments[i].p_flags & PF_X))
			add_section(file,
				    (Elf64_Shdr){.sh_type = SHT_PROGBITS,
						 .sh_flags = SHF_ALLOC | SHF_EXECINSTR},
				    file->segments[i].p_vaddr, file->segments[i].p_filesz);
	if (!symbols)
		return 0;
	add_section(file, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_flags = SHF_ALLOC},
		    dynamic_value(dynamic, n, DT_STRTAB), dynamic_value(dynamic, n, DT_STRSZ));
	add_section(file,
		    (Elf64_Shdr){.sh_type = SHT_DYNSYM,
				 .sh_flags = SHF_ALLOC,
				 .sh_link = file->n_sections - 1,
				 .sh_entsize = sizeof(Elf64_Sym)},
		    symbols, dynamic_symbols_end(dynamic, n, symbols) - symbols);
	return 0;
}

static int read_parts(struct elf_file *file)
{
	Elf64_Ehdr header;
	int r = read_header(file, &header);

	if (r < 0)
		return r;
	file->machine = header.e_machine;
	file->entry = header.e_entry;
	r = read_counts(file, &header);
	if (r < 0)
		return r;
	r = read_tables(file, &header);
	if (r < 0 || file->n_sections || file->is_32)
		return r;
	return make_sections(file);
}

static int open_sized(struct elf_file *ret, struct elf_file file)
{
	int r = read_parts(&file);

	if (r < 0) {
		elf_file_done(&file);
		return r;
	}
	*ret = file;
	return 0;
}

int elf_file_open(struct elf_file *ret, int fd)
{
	int64_t size = regular_file_size(fd);

	if (size == -EINVAL)
		return -ENOEXEC;
	if (size < 0)
		return size;
	return open_sized(ret, (struct elf_file){.fd = fd, .size = size});
}

int elf_file_open_image(struct elf_file *ret, const void *image, uint64_t size)
{
	return open_sized(ret, (struct elf_file){.fd = -1, .image = image, .size = size});
}

int elf_file_open_vdso(struct elf_file *ret)
{
	const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

	if (!image || image->e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOENT;
	/* The section headers are the last part of the image. */
	return elf_file_open_image(ret, image,
				   image->e_shoff + (uint64_t)image->e_shnum * image->e_shentsize);
}

void elf_file_done(struct elf_file *file)
{
	free(file->segments);
	free(file->sections);
	free(file->window);
	*file = (struct elf_file){.fd = -1};
}

static int fill_window(struct elf_file *file, uint64_t offset, size_t n)
{
	int r;

	file->window_n = 0;
	r = elf_file_read(file, offset, file->window, n);
	if (r < 0)
		return r;
	file->window_offset = offset;
	file->window_n = n;
	return 0;
}

/* The window's bytes from @offset on, at most to @end; 0 if @offset is outside. */
static size_t in_window(const struct elf_file *file, uint64_t offset, uint64_t end)
{
	uint64_t window_end = file->window_offset + file->window_n;

	if (offset < file->window_offset || offset >= window_end)
		return 0;
	return (end < window_end ? end : window_end) - offset;
}

/* The length of the string at @offset of the file, which is in the window afterwards. */
static int find_string(struct elf_file *file, uint64_t offset, uint64_t end, size_t *ret_length)
{
	static const size_t steps[] = {0, WINDOW_STEP, WINDOW_SIZE};
	size_t n = 0;

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		const char *text, *stop;
		int r = 0;

		if (steps[i])
			r = fill_window(file, offset,
					steps[i] < end - offset ? steps[i] : end - offset);
		if (r < 0)
			return r;
		n = in_window(file, offset, end);
		if (!n)
			continue;
		text = file->window + (offset - file->window_offset);
		stop = memchr(text, '\0', n);
		if (stop) {
			*ret_length = stop - text;
			return 0;
		}
	}
	if (n < WINDOW_SIZE)
		return -ENOEXEC;
	*ret_length = n;
	return 0;
}

int elf_file_string(struct elf_file *file, uint32_t section, uint64_t offset, char *buffer,
		    size_t size)
{
	const Elf64_Shdr *table;
	uint64_t start;
	size_t n;
	int r;

	if (section >= file->n_sections)
		return -ENOEXEC;
	table = &file->sections[section];
	if (table->sh_type != SHT_STRTAB || !in_file(file, table->sh_offset, table->sh_size) ||
	    offset >= table->sh_size)
		return -ENOEXEC;
	start = table->sh_offset + offset;
	r = find_string(file, start, table->sh_offset + table->sh_size, &n);
	if (r < 0)
		return r;
	if (n >= size)
		n = size - 1;
	memcpy(buffer, file->window + (start - file->window_offset), n);
	buffer[n] = '\0';
	return 0;
}

const Elf64_Shdr *elf_file_section(struct elf_file *file, const char *name)
{
	char text[64];

	for (size_t i = 0; i < file->n_sections; i++) {
		if (elf_file_string(file, file->names_section, file->sections[i].sh_name, text,
				    sizeof text) == 0 &&
		    strcmp(text, name) == 0)
			return &file->sections[i];
	}
	return NULL;
}

const Elf64_Shdr *elf_file_code_section(const struct elf_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->n_sections; i++) {
		const Elf64_Shdr *section = &file->sections[i];

		if ((section->sh_flags & SHF_ALLOC) && (section->sh_flags & SHF_EXECINSTR) &&
		    address >= section->sh_addr && address - section->sh_addr < section->sh_size)
			return section;
	}
	return NULL;
}

bool elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *ret_offset,
		     uint64_t *ret_n)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		uint64_t within = address - segment->p_vaddr, left;

		if (segment->p_type != PT_LOAD || within >= segment->p_filesz ||
		    segment->p_offset >= file->size || within >= file->size - segment->p_offset)
			continue;
		*ret_offset = segment->p_offset + within;
		left = file->size - *ret_offset;
		*ret_n = segment->p_filesz - within;
		if (*ret_n > left)
			*ret_n = left;
		return true;
	}
	return false;
}

bool elf_file_virtual_address(const struct elf_file *file, uint64_t offset, uint64_t *ret_address)
{
	const Elf64_Phdr *found = NULL;

	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type != PT_LOAD || offset < segment->p_offset ||
		    offset - segment->p_offset >= segment->p_filesz)
			continue;
		if (!found || ((segment->p_flags & PF_X) && !(found->p_flags & PF_X)))
			found = segment;
	}
	if (found)
		*ret_address = offset - found->p_offset + found->p_vaddr;
	return found;
}

/* Finds the build-id among the notes at @notes. Returns its length. */
static size_t scan_notes(const uint8_t *notes, size_t n, uint64_t align, uint8_t *id)
{
	uint64_t mask = (align == 8 ? 8 : 4) - 1;
	size_t at = 0;

	while (n - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name = at + sizeof note, text, next;

		memcpy(&note, notes + at, sizeof note);
		text = (name + note.n_namesz + mask) & ~mask;
		next = (text + note.n_descsz + mask) & ~mask;
		if (text > n || note.n_descsz > n - text)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
		    memcmp(notes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && note.n_descsz &&
		    note.n_descsz <= ELF_BUILD_ID_MAX) {
			memcpy(id, notes + text, note.n_descsz);
			return note.n_descsz;
		}
		if (next >= n)
			return 0;
		at = next;
	}
	return 0;
}

/* Searches the @n bytes of notes at @offset for the build-id; *left is the remaining allowance. */
static size_t find_build_id(const struct elf_file *file, uint64_t offset, uint64_t n,
			    uint64_t align, size_t *left, uint8_t *id)
{
	size_t found = 0;
	uint8_t *notes;

	if (n > *left)
		return 0;
	*left -= n;
	notes = malloc(n + 1);
	if (notes && elf_file_read(file, offset, notes, n) == 0)
		found = scan_notes(notes, n, align, id);
	free(notes);
	return found;
}

size_t elf_file_build_id(const struct elf_file *file, uint8_t id[static ELF_BUILD_ID_MAX])
{
	size_t found = 0, left = MAX_NOTES;

	for (size_t i = 0; i < file->n_segments && !found; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_NOTE)
			found = find_build_id(file, segment->p_offset, segment->p_filesz,
					      segment->p_align, &left, id);
	}
	/* Files with debugging information only may have no segments. */
	for (size_t i = 0; i < file->n_sections && !found; i++) {
		const Elf64_Shdr *section = &file->sections[i];

		if (section->sh_type == SHT_NOTE)
			found = find_build_id(file, section->sh_offset, section->sh_size,
					      section->sh_addralign, &left, id);
	}
	return found;
}

int elf_file_kind(int fd)
{
	Elf64_Ehdr header; /* up to e_machine, an Elf32_Ehdr is the same */
	size_t n = offsetof(Elf64_Ehdr, e_version);

	if (pread(fd, &header, n, 0) != (ssize_t)n || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	return ELF_KIND(header.e_machine, header.e_ident[EI_CLASS]);
}

bool elf_file_is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof magic, 0) == sizeof magic &&
	       memcmp(magic, ELFMAG, sizeof magic) == 0;
}
