/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbolize: goes from locations to sources of symbols, and back with names.
 *
 * Every location without a name becomes an entry (source, address); the entries are sorted, and
 * each source (names_ask.h) gets one run of them.
 */
#include "symbol/symbolize.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/elf_file.h"
#include "base/foreign.h"
#include "base/system.h"
#include "symbol/demangle.h"
#include "symbol/file_names.h"
#include "symbol/kernel_names.h"
#include "symbol/names_cached.h"

struct entry {
	uint32_t source, location;
	uint64_t address;
};

struct session {
	struct profile *profile;
	const struct mapping_source *mapping_sources;
	const struct symbolize_options *options;
	struct symbol_stats stats;
	struct names_source *sources;
	size_t n_sources, sources_capacity;
	struct table source_index;
	uint32_t *mapping_source; /* TABLE_NONE: none yet */
	struct entry *entries;
	size_t n_entries;
	int symfs; /* options->symfs; -1: none */
	struct debuginfod debuginfod;
	struct names_asker asker;
	struct profile_frame *frames; /* of the current location */
	size_t frames_capacity;
};

static bool source_equal(const void *items, uint32_t position, const void *key)
{
	const struct names_source *a = (const struct names_source *)items + position, *b = key;

	return a->kind == b->kind && a->device == b->device && a->inode == b->inode &&
	       a->missing == b->missing && a->perf_map == b->perf_map && a->jitdump == b->jitdump;
}

/* The source of @mapping. A missing file is a source without a descriptor. */
static int find_source(struct session *session, uint32_t mapping, uint32_t *ret)
{
	struct names_source source = {
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

	if (source.kind == MAPPING_FILE) {
		source.fd = session->mapping_sources[mapping].file;
		source.missing = source.path;
	}
	/* FUSE of another user can be read, but not asked: then the path says which file it is. */
	if (source.fd >= 0 && foreign_status(source.fd, &st) == 0) {
		source.device = st.st_dev;
		source.inode = st.st_ino;
		source.missing = 0;
	}
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

/* The length of @path without the kernel's mark of deletion. */
static size_t path_length(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path);

	return n >= sizeof mark && strcmp(path + n - strlen(mark), mark) == 0 ? n - strlen(mark)
									      : n;
}

/* The file's name for display: no folders, no mark of deletion. */
static void module_name(const char *path, char *name, size_t size)
{
	const char *base = basename(path);

	snprintf(name, size, "%.*s", (int)path_length(base), base);
}

/* Names an address without a symbol. Kernel addresses are secret, see hide(). */
static int add_unnamed(const struct session *session, const struct profile_mapping *mapping,
		       uint64_t address, uint32_t *ret_id)
{
	struct profile *profile = session->profile;
	const char *path = strings_get(&profile->strings, mapping->path);
	char name[NAME_MAX + 1], text[NAME_MAX + 32] = "[unknown]";

	switch (mapping->kind) {
	case MAPPING_FILE:
		module_name(path, name, sizeof name);
		if (*name)
			snprintf(text, sizeof text, "[%s+0x%" PRIx64 "]", name, address);
		break;
	case MAPPING_KERNEL:
		if (session->options->addresses)
			snprintf(text, sizeof text, "[kernel+0x%" PRIx64 "]", address);
		else
			strcpy(text, "[kernel]");
		break;
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
		r = add_unnamed(session, mapping, entry->address, &frame.function);
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

/* Gives @entry's location the frames from DWARF; @name: its symbol, or 0. */
static int set_frames_of(struct session *session, const struct entry *entry, uint32_t name,
			 const struct dwarf_frame *frames, size_t n)
{
	struct profile *profile = session->profile;
	size_t n_set = 0;
	int r = array_reserve(session->frames, session->frames_capacity, 0, n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
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
				session,
				&profile->mappings[profile->locations[entry->location].mapping],
				entry->address, &frame.function);
			if (r < 0)
				return r;
		}
		session->frames[n_set++] = frame;
	}
	return profile_set_frames(profile, entry->location, session->frames, n_set);
}

/* @entries: those that @names were requested for. */
static int set_frames_file(struct session *session, struct entry *entries, size_t n,
			   const struct file_names *names)
{
	uint64_t asked = n ? entries[0].address : 0;
	int r;

	for (size_t i = 0, at = 0; i < n; i++) {
		const struct named_address *item;

		at += entries[i].address != asked;
		asked = entries[i].address;
		item = &names->items[at];
		entries[i].address = item->address;
		r = item->n_frames ? set_frames_of(session, &entries[i], item->name,
						   names->frames + item->first, item->n_frames)
				   : set_frame(session, &entries[i], item->name);
		if (r < 0)
			return r;
	}
	return 0;
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

/* The path where a mapped file may be found again, malloc'ed: no mark of deletion. */
static char *clean_path(const struct session *session, uint32_t path)
{
	char *clean = strdup(strings_get(&session->profile->strings, path));

	if (clean)
		clean[path_length(clean)] = '\0';
	return clean;
}

static int name_kernel(struct session *session, struct entry *entries, size_t n)
{
	struct lookups lookups;
	int r = lookups_init(&lookups, entries, n);

	if (r < 0)
		return r;
	r = session->options->cache
		    ? names_cached_kernel(&session->asker, &lookups, &session->stats.kernel_refused)
		    : kernel_names_find(&lookups, NULL, &session->profile->strings,
					&session->stats.kernel_refused);
	if (r == 0)
		r = set_frames(session, entries, n, &lookups);
	lookups_done(&lookups);
	return r;
}

static void count_file(struct session *session, const struct names_source *source,
		       const struct file_names *names)
{
	session->asker.n_unread += names->is_unread;
	if (names->is_unread && !*session->stats.unread)
		snprintf(session->stats.unread, sizeof session->stats.unread, "%s",
			 strings_get(&session->profile->strings, source->path));
	session->stats.unreadable_files +=
		names->error < 0 && names->error != -EDQUOT && !names->is_unread && source->fd >= 0;
	session->stats.damaged_files += names->damaged;
	session->stats.unsearched_files +=
		names_ask_is_ended(&session->asker) && !session->options->addresses;
}

static int set_build_id(struct session *session, const struct file_names *names,
			struct names_source *source)
{
	char text[2 * ELF_BUILD_ID_MAX + 1] = "";

	for (size_t i = 0; i < names->id_n; i++)
		snprintf(text + 2 * i, 3, "%02x", names->id[i]);
	return strings_add(&session->profile->strings, text, &source->build_id);
}

/* Takes over what @names says, which were requested for @entries. */
static int take_names(struct session *session, struct names_source *source, struct entry *entries,
		      size_t n, const struct file_names *names)
{
	int r = 0;

	count_file(session, source, names);
	if (!names->error)
		r = set_build_id(session, names, source);
	if (r < 0)
		return r;
	return set_frames_file(session, entries, n, names);
}

/* Names addresses in the file @fd; -1: in the vDSO. Errors: -ENOMEM, -E2BIG. */
static int name_addresses(struct session *session, struct names_source *source, int fd,
			  struct entry *entries, size_t n)
{
	struct debug_places places = {fd, source->root, session->symfs, &session->debuginfod};
	const struct symbolize_options *options = session->options;
	char real[PATH_MAX];
	struct debug_place place;
	struct file_names names;
	struct lookups lookups;
	struct names_key key;
	_cleanup_free_ char *path = clean_path(session, source->path);
	int r = path ? lookups_init(&lookups, entries, n) : -ENOMEM;

	if (r < 0)
		return r;
	debug_place_init(&places, path, real, &place);
	if (options->begin_file && !names_ask_is_ended(&session->asker) && !options->addresses)
		options->begin_file(path);
	r = names_cached_key(&session->asker, source, fd, &key)
		    ? names_cached_ask(&session->asker, source, &key, &lookups, &place, &names)
		    : names_ask(&session->asker, source, &lookups, &place, &names);
	if (r == 0) {
		r = take_names(session, source, entries, n, &names);
		file_names_done(&names);
	}
	lookups_done(&lookups);
	return r;
}

/* Opens the file under --symfs that replaces a missing one. */
static int open_instead(const struct session *session, const struct names_source *source)
{
	_cleanup_free_ char *path = session->symfs < 0 ? NULL : clean_path(session, source->path);

	return path && *path == '/' ? foreign_open_as_caller(session->symfs, path) : -ENOENT;
}

static int name_file(struct session *session, struct names_source *source, struct entry *entries,
		     size_t n)
{
	_cleanup_close_ int instead = source->fd < 0 ? open_instead(session, source) : -1;
	int fd = source->fd < 0 ? instead : source->fd;

	session->stats.files += source->fd >= 0;
	if (fd < 0)
		return set_frames_unnamed(session, entries, n);
	return name_addresses(session, source, fd, entries, n);
}

/* Sets the frames of code that a JIT made. */
static int set_frames_jit(struct session *session, const struct entry *entries, size_t n,
			  const struct lookups *lookups, const struct file_names *names)
{
	for (size_t i = 0, at = 0; i < n; i++) {
		struct profile_frame frame = {.kind = FRAME_JIT};
		const struct named_address *item;
		int r;

		while (lookups->addresses[at] < entries[i].address)
			at++;
		item = &names->items[at];
		if (item->n_frames) {
			frame.function = names->frames[item->first].function;
			frame.file = names->frames[item->first].file;
			frame.line = names->frames[item->first].line;
			r = profile_set_frames(session->profile, entries[i].location, &frame, 1);
		} else {
			r = set_frame(session, &entries[i], 0);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int name_jit(struct session *session, const struct names_source *source,
		    struct entry *entries, size_t n)
{
	struct file_names names;
	struct lookups lookups;
	int r = lookups_init(&lookups, entries, n);

	if (r < 0)
		return r;
	session->stats.files += (source->perf_map >= 0) + (source->jitdump >= 0);
	r = names_ask(&session->asker, source, &lookups, NULL, &names);
	if (r == 0) {
		session->stats.unreadable_files += names.damaged || names.is_unread;
		r = set_frames_jit(session, entries, n, &lookups, &names);
		file_names_done(&names);
	}
	lookups_done(&lookups);
	return r;
}

static int name_run(struct session *session, struct names_source *source, struct entry *entries,
		    size_t n)
{
	switch (source->kind) {
	case MAPPING_FILE: return name_file(session, source, entries, n);
	case MAPPING_VDSO: return name_addresses(session, source, -1, entries, n);
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

/* Whether its addresses are in memory: they are random so that attackers don't know them. */
static bool is_in_memory(const struct profile_mapping *mapping)
{
	return mapping->kind != MAPPING_FILE && mapping->kind != MAPPING_VDSO;
}

/* Hides addresses in the kernel, and in memory without a file; names stay. */
static void hide(struct profile *profile)
{
	for (size_t i = 0; i < profile->n_locations; i++) {
		struct profile_location *location = &profile->locations[i];

		if (!is_in_memory(&profile->mappings[location->mapping]))
			continue;
		location->address = 0;
		location->is_named = true;
	}
	for (size_t i = 0; i < profile->n_mappings; i++) {
		struct profile_mapping *mapping = &profile->mappings[i];

		if (is_in_memory(mapping))
			mapping->start = mapping->limit = mapping->offset = 0;
	}
}

static int run_session(struct session *session)
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
	if (r < 0)
		return r;
	r = name_entries(session);
	if (r < 0)
		return r;
	set_build_ids(session);
	if (!session->options->addresses)
		hide(session->profile);
	return 0;
}

int symbolize(struct profile *profile, const struct mapping_source *sources,
	      const struct symbolize_options *options, struct symbol_stats *ret_stats)
{
	struct session session = {
		.profile = profile,
		.mapping_sources = sources,
		.options = options,
		.debuginfod.is_ended = options->is_ended,
		.symfs = options->symfs ? foreign_find_as_caller(options->symfs) : -1,
		.asker = {.options = options,
			  .strings = &profile->strings,
			  .budgets.cpu_ns = NAMES_CPU_NS},
	};
	int r;

	demangle_leave(options->no_demangle);
	r = run_session(&session);
	session.stats.unread_files = session.asker.n_unread;
	session.stats.refused = budgets_refused(&session.asker.budgets);
	if (r == 0)
		*ret_stats = session.stats;
	budgets_done(&session.asker.budgets);
	free(session.sources);
	table_done(&session.source_index);
	free(session.mapping_source);
	free(session.entries);
	free(session.frames);
	if (session.symfs >= 0)
		close(session.symfs);
	return r;
}
