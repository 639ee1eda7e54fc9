/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_file: what is read here is a stranger's. It is found by the lengths of its records, and
 * copied; whoever makes tables parses it.
 */
#include "unwind/jit_file.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/walk.h"

#define MOST_RECORD (64u << 10)

/* --- Finding frames --- */

static uint32_t word_at(const uint8_t *bytes, size_t at)
{
	uint32_t word;

	memcpy(&word, bytes + at, sizeof word);
	return word;
}

/* Bytes of the record at @at, its length's included; 0: there is none. */
static size_t record_size(const uint8_t *bytes, size_t n, size_t at)
{
	uint32_t length = n - at < 16 ? 0 : word_at(bytes, at);

	return length < 8 || length > MOST_RECORD || length % 4 || length > n - at - 4 ? 0
										       : length + 4;
}

/* A CIE of version 1 whose augmentation has a length. */
static bool is_cie(const uint8_t *bytes, size_t n, size_t at)
{
	return record_size(bytes, n, at) && !word_at(bytes, at + 4) && bytes[at + 8] == 1 &&
	       bytes[at + 9] == 'z';
}

/* Its CIE is one from @first on. */
static bool is_fde(const uint8_t *bytes, size_t n, size_t at, size_t first)
{
	uint32_t back = word_at(bytes, at + 4);

	return back && back <= at + 4 - first && is_cie(bytes, n, at + 4 - back);
}

/* Records one after the other. */
struct records {
	size_t first, end;
	size_t last;	 /* where the last one begins */
	size_t n_frames; /* FDEs */
};

static struct records read_records(const uint8_t *bytes, size_t n, size_t first)
{
	struct records records = {first, first, first, 0};
	size_t size;

	while ((size = record_size(bytes, n, records.end))) {
		bool is_frame = is_fde(bytes, n, records.end, first);

		if (!is_frame && !is_cie(bytes, n, records.end))
			break;
		records.n_frames += is_frame;
		records.last = records.end;
		records.end += size;
	}
	return records;
}

/*
 * Finds all records, and makes them follow each other: what lies between becomes part of the record
 * before, as DW_CFA_nop. Returns false if there is none.
 */
static bool join_records(uint8_t *bytes, size_t n, struct records *ret)
{
	*ret = (struct records){};
	for (size_t at = 0; at + 16 <= n; at += 4) {
		struct records found;
		uint32_t length;

		if (!is_cie(bytes, n, at))
			continue;
		found = read_records(bytes, n, at);
		at = found.end - 4;
		if (!found.n_frames)
			continue;
		if (ret->n_frames) {
			length = found.first - ret->last - 4;
			memcpy(bytes + ret->last, &length, sizeof length);
			memset(bytes + ret->end, 0, found.first - ret->end);
			found.first = ret->first;
		}
		found.n_frames += ret->n_frames;
		*ret = found;
	}
	return ret->n_frames;
}

/* --- A file of them --- */

enum { SECTION_NONE, SECTION_FRAMES, SECTION_NAMES, N_SECTIONS };

struct tail {
	char names[32];
	Elf64_Shdr sections[N_SECTIONS];
};

int jit_file_make(uint8_t *bytes, size_t n, uint64_t address, uint64_t start, uint64_t end)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	uint64_t frames_at = JIT_CODE_OFFSET + (end - start);
	int file;
	struct records records;
	struct tail tail = {};
	uint64_t tail_at;
	struct {
		Elf64_Ehdr file;
		Elf64_Phdr code;
	} head = {};

	if (!join_records(bytes, n, &records))
		return -ENOENT;
	tail_at = (frames_at + records.end - records.first + 7) & ~7ULL;
	head.file = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = WALK_HOST_MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof head.file,
		.e_shoff = tail_at + offsetof(struct tail, sections),
		.e_ehsize = sizeof head.file,
		.e_phentsize = sizeof head.code,
		.e_phnum = 1,
		.e_shentsize = sizeof *tail.sections,
		.e_shnum = N_SECTIONS,
		.e_shstrndx = SECTION_NAMES,
	};
	head.code = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = JIT_CODE_OFFSET,
		.p_vaddr = start,
		.p_paddr = start,
		.p_filesz = end - start,
		.p_memsz = end - start,
		.p_align = 0x1000,
	};
	memcpy(tail.names, names, sizeof names);
	tail.sections[SECTION_FRAMES] = (Elf64_Shdr){
		.sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC,
		.sh_addr = address + records.first,
		.sh_offset = frames_at,
		.sh_size = records.end - records.first,
		.sh_addralign = 4,
	};
	tail.sections[SECTION_NAMES] = (Elf64_Shdr){
		.sh_name = sizeof "\0.eh_frame",
		.sh_type = SHT_STRTAB,
		.sh_offset = tail_at,
		.sh_size = sizeof names,
		.sh_addralign = 1,
	};
	file = memfd_create("code", MFD_CLOEXEC);
	if (file < 0)
		return -errno;
	if (pwrite(file, &head, sizeof head, 0) < 0 ||
	    pwrite(file, bytes + records.first, records.end - records.first, frames_at) < 0 ||
	    pwrite(file, &tail, sizeof tail, tail_at) < 0) {
		close(file);
		return -EIO;
	}
	return file;
}
