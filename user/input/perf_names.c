/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/perf_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The kernel's half of the address space begins here or above. */
#define KERNEL_START 0xff00000000000000ULL
/*
 * perf prints file offsets for code whose file it has found. Programs and libraries are mapped
 * above this limit; addresses in files that perf could not find stay there.
 */
#define FILE_LIMIT 0x100000000ULL

static bool is_text(struct perf_part part, const char *text)
{
	return part.n == strlen(text) && memcmp(part.text, text, part.n) == 0;
}

static bool begins(struct perf_part part, const char *text)
{
	return part.n >= strlen(text) && memcmp(part.text, text, strlen(text)) == 0;
}

static bool ends(struct perf_part part, const char *text)
{
	size_t n = strlen(text);

	return part.n >= n && memcmp(part.text + part.n - n, text, n) == 0;
}

static struct perf_part base_name(struct perf_part path)
{
	const char *slash = path.n ? memrchr(path.text, '/', path.n) : NULL;

	if (!slash)
		return path;
	return (struct perf_part){slash + 1, path.text + path.n - slash - 1};
}

static bool is_unknown(struct perf_part part)
{
	return !part.n || is_text(part, "[unknown]");
}

/* `[module]`, except names that the kernel gives to a process's memory. */
static bool is_kernel_module(struct perf_part file)
{
	static const char *const memory[] = {"[unknown]", "[vdso]",    "[vsyscall]",
					     "[heap]",	  "[uprobes]", "[vvar]"};

	if (!begins(file, "[") || !ends(file, "]") || begins(file, "[anon") ||
	    begins(file, "[stack"))
		return false;
	for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
		if (is_text(file, memory[i]))
			return false;
	return true;
}

static bool is_kernel(const struct perf_frame *frame)
{
	struct perf_part base = base_name(frame->file);

	if (frame->address >= KERNEL_START)
		return !is_text(frame->file, "[vsyscall]");
	return begins(frame->file, "[kernel.") || begins(frame->file, "[guest.kernel") ||
	       is_kernel_module(frame->file) || begins(base, "vmlinux") ||
	       begins(base, "bpf_prog_") || ends(base, ".ko") || ends(base, ".ko.xz") ||
	       ends(base, ".ko.zst") || ends(base, ".ko.gz");
}

/* `perf-PID.map`, `jitted-PID-N.so`: JIT compilers write these for perf. */
static bool is_jit(struct perf_part file)
{
	struct perf_part base = base_name(file);

	return (begins(base, "perf-") && ends(base, ".map")) ||
	       (begins(base, "jitted-") && ends(base, ".so"));
}

static bool is_anonymous(struct perf_part file)
{
	return is_text(file, "//anon") || begins(file, "[anon") || is_text(file, "[heap]") ||
	       begins(file, "[stack") || begins(file, "/memfd:") || begins(file, "/dev/zero") ||
	       begins(file, "/SYSV");
}

/* The module's name, unless it is the kernel itself. */
static struct perf_part kernel_module(struct perf_part file)
{
	struct perf_part base = base_name(file);
	const char *extension;

	if (is_kernel_module(file) && !begins(file, "[kernel") && !begins(file, "[guest."))
		return (struct perf_part){file.text + 1, file.n - 2};
	extension = base.n ? memmem(base.text, base.n, ".ko", 3) : NULL;
	if (extension)
		return (struct perf_part){base.text, extension - base.text};
	return (struct perf_part){"", 0};
}

static enum mapping_kind mapping_kind(const struct perf_frame *frame)
{
	if (is_kernel(frame))
		return MAPPING_KERNEL;
	if (is_unknown(frame->file))
		return MAPPING_UNKNOWN;
	if (is_text(frame->file, "[vdso]"))
		return MAPPING_VDSO;
	if (is_jit(frame->file) || is_anonymous(frame->file))
		return MAPPING_ANON;
	return MAPPING_FILE;
}

/* A deleted file has the same path. */
static struct perf_part path_of(struct perf_part file)
{
	static const char deleted[] = " (deleted)";

	if (ends(file, deleted))
		file.n -= sizeof deleted - 1;
	return file;
}

static int perf_add_mapping(struct profile *profile, const struct perf_frame *frame,
			    uint32_t *ret_mapping)
{
	struct profile_mapping mapping = {.kind = mapping_kind(frame)};
	struct perf_part path = path_of(frame->file);
	int r = 0;

	if (mapping.kind == MAPPING_KERNEL)
		path = kernel_module(frame->file);
	if (mapping.kind != MAPPING_UNKNOWN && mapping.kind != MAPPING_VDSO && path.n)
		r = strings_add_bytes(&profile->strings, path.text, path.n, &mapping.path);
	if (r < 0)
		return r;
	return profile_add_mapping(profile, &mapping, ret_mapping);
}

/* Names a frame without a symbol. */
static int name_unknown(struct profile *profile, const struct perf_frame *frame, uint32_t *ret_name)
{
	struct perf_part module = base_name(path_of(frame->file));
	uint64_t offset = frame->has_offset ? frame->offset : frame->address;
	bool has_offset = frame->has_offset || frame->address < FILE_LIMIT;
	char text[512];

	switch (mapping_kind(frame)) {
	case MAPPING_KERNEL:
		module = kernel_module(frame->file);
		if (!module.n)
			module = (struct perf_part){"kernel", 6};
		has_offset = true;
		break;
	case MAPPING_VDSO: module = (struct perf_part){"vdso", 4}; break;
	case MAPPING_ANON:
		module = (struct perf_part){"anon", 4};
		has_offset = false;
		break;
	case MAPPING_UNKNOWN:
		module = (struct perf_part){"unknown", 7};
		has_offset = false;
		break;
	default: break;
	}
	/* For example [vsyscall]. */
	if (module.n > 2 && begins(module, "[") && ends(module, "]"))
		module = (struct perf_part){module.text + 1, module.n - 2};
	if (module.n > 255)
		module.n = 255;
	if (has_offset)
		snprintf(text, sizeof text, "[%.*s+0x%" PRIx64 "]", (int)module.n, module.text,
			 offset);
	else
		snprintf(text, sizeof text, "[%.*s]", (int)module.n, module.text);
	return strings_add(&profile->strings, text, ret_name);
}

int perf_name(struct profile *profile, const struct perf_frame *frame,
	      struct profile_frame *ret_frame, uint32_t *ret_mapping)
{
	struct profile_frame named = {.kind = FRAME_USER};
	uint32_t mapping;
	int r = perf_add_mapping(profile, frame, &mapping);

	if (r < 0)
		return r;
	if (is_unknown(frame->symbol))
		r = name_unknown(profile, frame, &named.function);
	else
		r = strings_add_bytes(&profile->strings, frame->symbol.text, frame->symbol.n,
				      &named.function);
	if (r < 0)
		return r;
	if (frame->is_inlined)
		named.kind = FRAME_INLINED;
	else if (is_kernel(frame))
		named.kind = FRAME_KERNEL;
	else if (is_jit(frame->file) || (is_anonymous(frame->file) && !is_unknown(frame->symbol)))
		named.kind = FRAME_JIT;
	*ret_frame = named;
	*ret_mapping = mapping;
	return 0;
}

enum frame_kind perf_kind_of_address(uint64_t address)
{
	return address >= KERNEL_START ? FRAME_KERNEL : FRAME_USER;
}
