/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbolize: from locations to sources of symbols, and back with names.
 *
 * A source is what is read once: a file (whichever mappings of whichever processes show it), the
 * kernel, the vDSO. Every location that wants a name becomes an entry (source, address), the
 * entries are sorted, and each source gets one run of them.
 */
#include "symbol/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/elf_file.h"
#include "base/system.h"
#include "symbol/file_names.h"
#include "symbol/jit.h"
#include "symbol/kernel_names.h"
#include "symbol/lookups.h"
#include "symbol/rooted.h"

struct source {
	enum mapping_kind kind;
	int fd;
	uint64_t device, inode; /* of the file behind @fd */
	uint32_t missing;	/* the path of a file that is not there */
	uint32_t path;		/* where it was mapped first */
	int root;		/* of the process that did */
	int perf_map, jitdump;	/* MAPPING_ANON: of processes that share them, as after a fork */
	uint32_t build_id;
};

struct entry {
	uint32_t source, location;
	uint64_t address;
};

struct session {
	struct profile *profile;
	const struct mapping_source *mapping_sources;
	const struct symbolize_options *options;
	struct symbol_stats stats;
	struct source *sources;
	size_t n_sources, sources_capacity;
	struct table source_index;
	uint32_t *mapping_source; /* TABLE_NONE: none yet */
	struct entry *entries;
	size_t n_entries;
	int symfs; /* options->symfs; -1: none */
	struct debuginfod debuginfod;
	struct profile_frame *frames; /* of the location at hand */
	size_t frames_capacity;
};

static bool source_equal(const void *items, uint32_t position, const void *key)
{
	const struct source *a = (const struct source *)items + position, *b = key;

	return a->kind == b->kind && a->device == b->device && a->inode == b->inode &&
	       a->missing == b->missing && a->perf_map == b->perf_map && a->jitdump == b->jitdump;
}

/* The source of @mapping. A file that is not there is one with no descriptor. */
static int find_source(struct session *session, uint32_t mapping, uint32_t *ret)
{
	struct source source = {
		.kind = session->profile->mappings[mapping].kind,
		.fd = -1,
		.path = session->profile->mappings[mapping].path,
		.root = session->mapping_sources[mapping].root,
		.perf_map = -1,
		.jitdump = -1,
	};
	struct stat st;
	uint64_t hash;
	int r;

	if (source.kind == MAPPING_FILE && session->mapping_sources[mapping].file >= 0 &&
	    fstat(session->mapping_sources[mapping].file, &st) == 0) {
		source.fd = session->mapping_sources[mapping].file;
		source.device = st.st_dev;
		source.inode = st.st_ino;
	}
	if (source.kind == MAPPING_FILE && source.fd < 0)
		source.missing = source.path;
	if (source.kind == MAPPING_ANON) {
		source.perf_map = session->mapping_sources[mapping].perf_map;
		source.jitdump = session->mapping_sources[mapping].jitdump;
	}
	hash = hash_mix(hash_mix(source.kind, source.device), source.inode);
	hash = hash_mix(hash, source.missing);
	hash = hash_mix(hash, (uint64_t)source.perf_map << 32 ^ source.jitdump);
	*ret = table_find(&session->source_index, hash, source_equal, session->sources, &source);
	if (*ret != TABLE_NONE)
		return 0;
	r = array_reserve(session->sources, session->sources_capacity, session->n_sources, 1);
	if (r < 0)
		return r;
	r = table_add(&session->source_index, hash, session->n_sources);
	if (r < 0)
		return r;
	session->sources[session->n_sources] = source;
	*ret = session->n_sources++;
	return 0;
}

static int entry_compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return 0;
}

static int collect_entries(struct session *session)
{
	const struct profile *profile = session->profile;
	int r;

	for (uint32_t i = 0; i < profile->n_locations; i++) {
		const struct profile_location *location = &profile->locations[i];
		uint32_t *source = &session->mapping_source[location->mapping];

		if (location->n_frames)
			continue;
		if (*source == TABLE_NONE) {
			r = find_source(session, location->mapping, source);
			if (r < 0)
				return r;
		}
		session->entries[session->n_entries++] = (struct entry){
			.source = *source,
			.location = i,
			.address = location->address - (location->is_return && location->address),
		};
	}
	qsort(session->entries, session->n_entries, sizeof *session->entries, entry_compare);
	session->stats.locations = session->n_entries;
	return 0;
}

/* How long @path is without the kernel's mark of deletion. */
static size_t path_length(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path);

	return n >= sizeof mark && strcmp(path + n - strlen(mark), mark) == 0 ? n - strlen(mark)
									      : n;
}

/* The file's name as it is shown: no folders, no mark of deletion. */
static void module_name(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	snprintf(name, size, "%.*s", (int)path_length(base), base);
}

/* What is shown for an address that has no symbol. */
static int add_unnamed(struct profile *profile, const struct profile_mapping *mapping,
		       uint64_t address, uint32_t *ret_id)
{
	const char *path = strings_get(&profile->strings, mapping->path);
	char name[NAME_MAX + 1], text[NAME_MAX + 32] = "[unknown]";

	switch (mapping->kind) {
	case MAPPING_FILE:
		module_name(path, name, sizeof name);
		if (*name)
			snprintf(text, sizeof text, "[%s+0x%" PRIx64 "]", name, address);
		break;
	case MAPPING_KERNEL: snprintf(text, sizeof text, "[kernel+0x%" PRIx64 "]", address); break;
	case MAPPING_VDSO: snprintf(text, sizeof text, "[vdso+0x%" PRIx64 "]", address); break;
	case MAPPING_ANON: snprintf(text, sizeof text, "%s", *path == '[' ? path : "[anon]"); break;
	default: break;
	}
	return strings_add(&profile->strings, text, ret_id);
}

/* Gives @entry's location its one frame; @name 0: it has no symbol. */
static int set_frame(struct session *session, const struct entry *entry, uint32_t name)
{
	struct profile *profile = session->profile;
	const struct profile_mapping *mapping =
		&profile->mappings[profile->locations[entry->location].mapping];
	struct profile_frame frame = {
		.kind = mapping->kind == MAPPING_KERNEL ? FRAME_KERNEL : FRAME_USER,
		.function = name,
	};
	int r;

	if (!name) {
		session->stats.unnamed++;
		r = add_unnamed(profile, mapping, entry->address, &frame.function);
		if (r < 0)
			return r;
	}
	return profile_set_frames(profile, entry->location, &frame, 1);
}

static int set_frames(struct session *session, const struct entry *entries, size_t n,
		      const struct lookups *lookups)
{
	int r;

	for (size_t i = 0, at = 0; i < n; i++) {
		while (at < lookups->n && lookups->addresses[at] < entries[i].address)
			at++;
		r = set_frame(session, &entries[i], at < lookups->n ? lookups->names[at] : 0);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Gives @entry's location the frames that DWARF knows; @name: its symbol, or 0. */
static int set_frames_of(struct session *session, const struct entry *entry, uint32_t name,
			 const struct dwarf_frame *frames, size_t n)
{
	struct profile *profile = session->profile;
	size_t n_set = 0;
	int r = array_reserve(session->frames, session->frames_capacity, 0, n);

	for (size_t i = 0; i < n && r == 0; i++) {
		struct profile_frame frame = {
			.kind = i + 1 < n ? FRAME_INLINED : FRAME_USER,
			.function = i + 1 == n && name ? name : frames[i].function,
			.file = frames[i].file,
			.line = frames[i].line,
		};

		if (frame.kind == FRAME_INLINED && (session->options->no_inline || !frame.function))
			continue;
		if (!frame.function) {
			session->stats.unnamed++;
			r = add_unnamed(
				profile,
				&profile->mappings[profile->locations[entry->location].mapping],
				entry->address, &frame.function);
		}
		session->frames[n_set++] = frame;
	}
	return r < 0 ? r : profile_set_frames(profile, entry->location, session->frames, n_set);
}

static int set_frames_file(struct session *session, const struct entry *entries, size_t n,
			   const struct lookups *lookups, const struct dwarf_frames *frames)
{
	int r = 0;

	for (size_t i = 0, at = 0; i < n && r == 0; i++) {
		while (lookups->addresses[at] < entries[i].address)
			at++;
		r = frames->n[at] ? set_frames_of(session, &entries[i], lookups->names[at],
						  frames->frames + frames->first[at], frames->n[at])
				  : set_frame(session, &entries[i], lookups->names[at]);
	}
	return r;
}

static int set_frames_unnamed(struct session *session, const struct entry *entries, size_t n)
{
	return set_frames(session, entries, n, &(struct lookups){});
}

static void lookups_done(struct lookups *lookups)
{
	free(lookups->addresses);
	free(lookups->names);
}

/* The distinct addresses of sorted @entries. */
static int lookups_init(struct lookups *ret, const struct entry *entries, size_t n)
{
	struct lookups lookups = {
		.addresses = malloc((n + 1) * sizeof *lookups.addresses),
		.names = calloc(n + 1, sizeof *lookups.names),
	};

	if (!lookups.addresses || !lookups.names) {
		lookups_done(&lookups);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || entries[i].address != entries[i - 1].address)
			lookups.addresses[lookups.n++] = entries[i].address;
	}
	*ret = lookups;
	return 0;
}

static int name_kernel(struct session *session, struct entry *entries, size_t n)
{
	struct lookups lookups;
	int r = lookups_init(&lookups, entries, n);

	if (r < 0)
		return r;
	r = kernel_names_find(&lookups, &session->profile->strings,
			      &session->stats.kernel_refused);
	if (r == 0)
		r = set_frames(session, entries, n, &lookups);
	lookups_done(&lookups);
	return r;
}

/* Turns file offsets into virtual addresses, names those that are loaded nowhere, drops them. */
static int translate(struct session *session, const struct elf_file *file, struct entry *entries,
		     size_t *n)
{
	size_t kept = 0;
	int r;

	for (size_t i = 0; i < *n; i++) {
		struct entry entry = entries[i];

		if (elf_file_virtual_address(file, entry.address, &entry.address)) {
			entries[kept++] = entry;
			continue;
		}
		r = set_frames_unnamed(session, &entry, 1);
		if (r < 0)
			return r;
	}
	qsort(entries, kept, sizeof *entries, entry_compare);
	*n = kept;
	return 0;
}

/* The path of a mapped file as it may be found again, malloc'ed: no mark of deletion. */
static char *clean_path(const struct session *session, uint32_t path)
{
	char *clean = strdup(strings_get(&session->profile->strings, path));

	if (clean)
		clean[path_length(clean)] = '\0';
	return clean;
}

static bool is_ended(const struct session *session)
{
	return session->options->is_ended && *session->options->is_ended;
}

/* What is to be found where the search has ended: what is quick. */
static struct symbolize_options options_now(const struct session *session)
{
	struct symbolize_options options = *session->options;

	options.no_inline |= is_ended(session);
	options.lines &= !is_ended(session);
	return options;
}

/* Names what is known of addresses in an open file. Errors: -ENOMEM, -E2BIG. */
static int name_open_file(struct session *session, const struct source *source,
			  struct elf_file *file, struct entry *entries, size_t n)
{
	struct mapped_file mapped = {.file = file, .root = source->root, .symfs = session->symfs};
	const struct symbolize_options options = options_now(session);
	struct dwarf_frames frames;
	struct lookups lookups;
	bool damaged;
	char *path;
	int r = translate(session, file, entries, &n);

	if (r < 0 || session->options->addresses)
		return r < 0 ? r : set_frames_unnamed(session, entries, n);
	path = clean_path(session, source->path);
	r = path ? lookups_init(&lookups, entries, n) : -ENOMEM;
	if (r == 0) {
		mapped.path = path;
		if (options.begin_file && !is_ended(session))
			options.begin_file(path);
		r = file_names_find(&mapped, &options, &session->debuginfod, &lookups,
				    &session->profile->strings, &frames, &damaged);
		if (r == 0) {
			session->stats.damaged_files += damaged;
			session->stats.unsearched_files += is_ended(session);
			r = set_frames_file(session, entries, n, &lookups, &frames);
			dwarf_frames_done(&frames);
		}
		lookups_done(&lookups);
	}
	free(path);
	return r;
}

static int add_build_id(struct session *session, const struct elf_file *file, struct source *source)
{
	char text[2 * ELF_BUILD_ID_MAX + 1] = "";
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n = elf_file_build_id(file, id);

	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	return strings_add(&session->profile->strings, text, &source->build_id);
}

/* Opens what lies under --symfs in the place of a file that is gone. */
static int open_instead(const struct session *session, const struct source *source)
{
	char *path = session->symfs < 0 ? NULL : clean_path(session, source->path);
	int fd = path && *path == '/' ? rooted_open(session->symfs, path) : -ENOENT;

	free(path);
	return fd;
}

static int name_file(struct session *session, struct source *source, struct entry *entries,
		     size_t n)
{
	_cleanup_close_ int instead = source->fd < 0 ? open_instead(session, source) : -1;
	int fd = source->fd < 0 ? instead : source->fd;
	struct elf_file file;
	int r = fd < 0 ? fd : elf_file_open(&file, fd);

	session->stats.files += source->fd >= 0;
	if (r == 0) {
		r = add_build_id(session, &file, source);
		if (r == 0)
			r = name_open_file(session, source, &file, entries, n);
		elf_file_done(&file);
	} else if (r != -ENOMEM) {
		session->stats.unreadable_files += source->fd >= 0;
		r = set_frames_unnamed(session, entries, n);
	}
	return r;
}

/* The kernel maps the same vDSO into every process: ours tells about all. */
static int name_vdso(struct session *session, const struct source *source, struct entry *entries,
		     size_t n)
{
	struct elf_file file;
	int r = elf_file_open_vdso(&file);

	if (r < 0)
		return r == -ENOMEM ? r : set_frames_unnamed(session, entries, n);
	r = name_open_file(session, source, &file, entries, n);
	elf_file_done(&file);
	return r;
}

/* Sets the frames of code that a JIT made; @lines: NULL, or one for each of @lookups. */
static int set_frames_jit(struct session *session, const struct entry *entries, size_t n,
			  const struct lookups *lookups, const struct jit_line *lines)
{
	int r = 0;

	for (size_t i = 0, at = 0; i < n && r == 0; i++) {
		while (lookups->addresses[at] < entries[i].address)
			at++;
		if (!lookups->names[at]) {
			r = set_frame(session, &entries[i], 0);
			continue;
		}
		struct profile_frame frame = {
			.kind = FRAME_JIT,
			.function = lookups->names[at],
			.file = lines ? lines[at].file : 0,
			.line = lines ? lines[at].line : 0,
		};

		r = profile_set_frames(session->profile, entries[i].location, &frame, 1);
	}
	return r;
}

static int name_jit(struct session *session, const struct source *source, struct entry *entries,
		    size_t n)
{
	struct mapping_source files = MAPPING_SOURCE_NONE;
	struct jit_line *lines = NULL;
	struct lookups lookups;
	bool damaged = false;
	int r = lookups_init(&lookups, entries, n);

	if (r < 0)
		return r;
	files.perf_map = source->perf_map;
	files.jitdump = source->jitdump;
	session->stats.files += (files.perf_map >= 0) + (files.jitdump >= 0);
	if (session->options->lines) {
		lines = calloc(lookups.n + 1, sizeof *lines);
		r = lines ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = jit_resolve(&files, &lookups, &session->profile->strings, lines, &damaged);
	if (r == 0)
		r = set_frames_jit(session, entries, n, &lookups, lines);
	session->stats.unreadable_files += damaged;
	free(lines);
	lookups_done(&lookups);
	return r;
}

static int name_run(struct session *session, struct source *source, struct entry *entries, size_t n)
{
	switch (source->kind) {
	case MAPPING_FILE: return name_file(session, source, entries, n);
	case MAPPING_VDSO: return name_vdso(session, source, entries, n);
	case MAPPING_KERNEL:
		if (session->options->addresses)
			break;
		return name_kernel(session, entries, n);
	case MAPPING_ANON:
		if (session->options->addresses)
			break;
		return name_jit(session, source, entries, n);
	default: break;
	}
	return set_frames_unnamed(session, entries, n);
}

static int name_entries(struct session *session)
{
	size_t i = 0, n;
	int r;

	for (; i < session->n_entries; i += n) {
		struct entry *entries = session->entries + i;
		uint32_t source = entries->source;

		for (n = 1; i + n < session->n_entries && entries[n].source == source;)
			n++;
		r = name_run(session, &session->sources[source], entries, n);
		if (r < 0)
			return r;
	}
	return 0;
}

static void set_build_ids(struct session *session)
{
	for (size_t i = 0; i < session->profile->n_mappings; i++) {
		struct profile_mapping *mapping = &session->profile->mappings[i];

		if (session->mapping_source[i] != TABLE_NONE && !mapping->build_id)
			mapping->build_id = session->sources[session->mapping_source[i]].build_id;
	}
}

static int run(struct session *session)
{
	const struct profile *profile = session->profile;
	int r;

	session->entries = malloc((profile->n_locations + 1) * sizeof *session->entries);
	session->mapping_source = malloc((profile->n_mappings + 1) * sizeof(uint32_t));
	if (!session->entries || !session->mapping_source)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_mappings; i++)
		session->mapping_source[i] = TABLE_NONE;
	r = collect_entries(session);
	if (r == 0)
		r = name_entries(session);
	if (r == 0)
		set_build_ids(session);
	return r;
}

int symbolize(struct profile *profile, const struct mapping_source *sources,
	      const struct symbolize_options *options, struct symbol_stats *ret_stats)
{
	struct session session = {
		.profile = profile,
		.mapping_sources = sources,
		.options = options,
		.debuginfod.is_ended = options->is_ended,
		.symfs = options->symfs ? open(options->symfs, O_PATH | O_DIRECTORY | O_CLOEXEC)
					: -1,
	};
	int r = run(&session);

	if (r == 0)
		*ret_stats = session.stats;
	free(session.sources);
	table_done(&session.source_index);
	free(session.mapping_source);
	free(session.entries);
	free(session.frames);
	if (session.symfs >= 0)
		close(session.symfs);
	return r;
}
