/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/debug_links.h"
#include "symbol/dwarf.h"

#define DEBUG_FOLDER "/usr/lib/debug"

/* How a file proves that it belongs to the mapped one. */
enum proof {
	PROOF_ID,     /* the same build-id */
	PROOF_LINK,   /* the same build-id if both have one, else the link's checksum */
	PROOF_IF_ANY, /* the same build-id if both have one: the user vouches for it */
};

struct finder {
	const struct debug_search *search;
	struct debug_files *files;
	struct build_id id; /* of the mapped file */
	struct debug_link link;
	bool has_link;
	enum debug_root roots[N_DEBUG_ROOTS]; /* folders to search, in this order */
	size_t n_roots;
};

static bool has_symbols(const struct elf_file *file)
{
	for (size_t i = 0; i < file->n_sections; i++)
		if (file->sections[i].sh_type == SHT_SYMTAB && file->sections[i].sh_size)
			return true;
	return false;
}

static bool has_frames(struct elf_file *file)
{
	const Elf64_Shdr *section = elf_file_section(file, ".debug_frame");

	if (!section)
		section = elf_file_section(file, ".zdebug_frame");
	return section && section->sh_type != SHT_NOBITS;
}

static bool is_complete(const struct finder *finder)
{
	if (finder->search->want_frames)
		return finder->files->frames;
	return finder->files->symbols && (finder->files->dwarf || !finder->search->want_dwarf);
}

/* Takes the missing parts from @file. Returns whether it has any. */
static bool take(struct finder *finder, struct elf_file *file)
{
	struct debug_files *files = finder->files;
	bool symbols, dwarf;

	if (finder->search->want_frames) {
		files->frames = has_frames(file) ? file : NULL;
		return files->frames;
	}
	symbols = !files->symbols && has_symbols(file);
	dwarf = !files->dwarf && finder->search->want_dwarf && dwarf_is_in(file);
	if (symbols)
		files->symbols = file;
	if (dwarf)
		files->dwarf = file;
	return symbols || dwarf;
}

static void debug_file_done(struct debug_file *file)
{
	elf_file_done(&file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->image);
	free(file->path);
	free(file->real);
}

/* Where a file was found. */
struct found {
	enum debug_root root;
	const char *path, *real; /* "": unknown */
};
#define FOUND_FETCHED ((struct found){DEBUG_OURS, "", ""})

/* Takes over @fd and opens it as the next of the opened files. */
static int open_next(struct debug_files *files, int fd, struct found found, struct debug_file **ret)
{
	struct debug_file *file = &files->opened[files->n_opened];
	int r = files->n_opened < MAX_DEBUG_FILES ? 0 : -ENFILE;

	if (r == 0) {
		*file = (struct debug_file){.fd = fd,
					    .root = found.root,
					    .path = strdup(found.path),
					    .real = strdup(found.real)};
		r = file->path && file->real ? elf_file_open(&file->elf, fd) : -ENOMEM;
		if (r < 0) {
			free(file->path);
			free(file->real);
		}
	}
	if (r < 0) {
		close(fd);
		return r;
	}
	*ret = file;
	return 0;
}

static bool is_proven(const struct finder *finder, const struct elf_file *file, enum proof proof)
{
	struct build_id id = build_id_of(file);
	uint32_t crc;

	if (file->machine != finder->search->file->machine ||
	    file->is_32 != finder->search->file->is_32)
		return false;
	if (finder->id.n && id.n)
		return build_id_equal(&finder->id, &id);
	switch (proof) {
	case PROOF_IF_ANY: return true;
	case PROOF_LINK:
		/* A recording has no time to read a whole file for its checksum. */
		return !finder->search->want_frames && debug_crc(file, &crc) == 0 &&
		       crc == finder->link.crc;
	default: return false;
	}
}

/* Takes over @fd, opens and checks it, and keeps it if it has missing parts. */
static int consider(struct finder *finder, int fd, struct found found, enum proof proof)
{
	struct debug_file *file;
	int r = open_next(finder->files, fd, found, &file);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (is_proven(finder, &file->elf, proof) && take(finder, &file->elf))
		finder->files->n_opened++;
	else
		debug_file_done(file);
	return 0;
}

/* Opens @path below @root; *@ret_real: its name without links. */
static int open_below(struct finder *finder, enum debug_root root, const char *path,
		      char ret_real[static PATH_MAX])
{
	const struct debug_opener *opener = finder->search->place->opener;
	int fd;

	ret_real[0] = '\0';
	fd = opener->open_file(opener->context, root, path, ret_real);
	finder->files->is_held |= fd == -EAGAIN;
	return fd;
}

static int fetch(const struct finder *finder, const char *build_id)
{
	const struct debug_opener *opener = finder->search->place->opener;

	return opener->fetch(opener->context, build_id);
}

static int try_path(struct finder *finder, enum debug_root root, const char *path, enum proof proof)
{
	char real[PATH_MAX];
	int fd;

	if (is_complete(finder))
		return 0;
	fd = open_below(finder, root, path, real);
	if (fd < 0)
		return 0;
	return consider(finder, fd, (struct found){root, path, real}, proof);
}

static void build_id_path(const struct build_id *id, char *path, size_t size)
{
	char text[2 * ELF_BUILD_ID_MAX + 1];

	build_id_text(id, text);
	snprintf(path, size, DEBUG_FOLDER "/.build-id/%.2s/%s.debug", text, text + 2);
}

/* The length of the folder part of @path. */
static int folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash - path : 0;
}

static int try_link(struct finder *finder, enum debug_root root)
{
	static const char *const patterns[] = {
		"%.*s/%s",
		"%.*s/.debug/%s",
		DEBUG_FOLDER "%.*s/%s",
	};
	const char *path = finder->search->place->path;
	char text[2 * PATH_MAX];

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		int r;

		snprintf(text, sizeof text, patterns[i], folder_length(path), path,
			 finder->link.name);
		r = try_path(finder, root, text, PROOF_LINK);
		if (r < 0)
			return r;
	}
	return 0;
}

static int try_root(struct finder *finder, enum debug_root root)
{
	char path[PATH_MAX];
	int r = 0;

	if (finder->id.n) {
		build_id_path(&finder->id, path, sizeof path);
		r = try_path(finder, root, path, PROOF_ID);
	}
	if (r < 0 || !finder->has_link)
		return r;
	return try_link(finder, root);
}

static int try_debug_data(struct finder *finder)
{
	struct debug_files *files = finder->files;
	struct debug_file *file = &files->opened[files->n_opened];
	struct debug_file data = {.fd = -1};
	size_t n;
	int r;

	if (files->symbols || files->n_opened == MAX_DEBUG_FILES)
		return 0;
	r = debug_data_unpack(finder->search->file, &data.image, &n);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = elf_file_open_image(&data.elf, data.image, n);
	if (r < 0) {
		free(data.image);
		return r == -ENOMEM ? r : 0;
	}
	*file = data;
	if (has_symbols(&file->elf)) {
		files->symbols = &file->elf;
		files->n_opened++;
	} else {
		debug_file_done(file);
	}
	return 0;
}

static int try_debuginfod(struct finder *finder)
{
	char id[2 * ELF_BUILD_ID_MAX + 1];
	int fd;

	if (is_complete(finder) || !finder->id.n)
		return 0;
	build_id_text(&finder->id, id);
	fd = fetch(finder, id);
	if (fd < 0)
		return 0;
	return consider(finder, fd, FOUND_FETCHED, PROOF_ID);
}

static void list_roots(struct finder *finder)
{
	static const enum debug_root order[] = {DEBUG_SYMFS, DEBUG_PROCESS, DEBUG_OURS};

	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (finder->search->place->has[order[i]])
			finder->roots[finder->n_roots++] = order[i];
}

static int find_files(struct finder *finder)
{
	const struct debug_search *search = finder->search;
	int r = 0;

	finder->id = build_id_of(search->file);
	if (search->place->has[DEBUG_SYMFS] && search->place->path[0] == '/')
		r = try_path(finder, DEBUG_SYMFS, search->place->path, PROOF_IF_ANY);
	if (r < 0)
		return r;
	take(finder, search->file);
	if (is_complete(finder))
		return 0;
	finder->has_link =
		debug_link_read(search->file, &finder->link) == 0 && search->place->path[0] == '/';
	for (size_t i = 0; i < finder->n_roots && r == 0; i++)
		r = try_root(finder, finder->roots[i]);
	if (r < 0 || search->want_frames)
		return r;
	r = try_debug_data(finder);
	if (r < 0)
		return r;
	return try_debuginfod(finder);
}

/*
 * Takes over @fd if it is the shared file that @link refers to. Returns whether it is, or -ENOMEM.
 */
static int consider_alternate(struct finder *finder, int fd,
			      const struct debug_alternate_link *link)
{
	struct debug_files *files = finder->files;
	struct debug_file *file;
	struct build_id id;
	int r = open_next(files, fd, FOUND_FETCHED, &file);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	id = build_id_of(&file->elf);
	if (!build_id_equal(&id, &link->id) || !dwarf_is_in(&file->elf)) {
		debug_file_done(file);
		return 0;
	}
	files->alternate = &file->elf;
	files->n_opened++;
	return 1;
}

static int try_alternate(struct finder *finder, enum debug_root root, const char *path,
			 const struct debug_alternate_link *link)
{
	char real[PATH_MAX];
	int fd = open_below(finder, root, path, real);

	if (fd < 0)
		return 0;
	return consider_alternate(finder, fd, link);
}

/* Where the file with the DWARF was found. */
static struct found dwarf_place(const struct finder *finder)
{
	const struct debug_files *files = finder->files;
	const struct debug_place *place = finder->search->place;

	for (size_t i = 0; i < files->n_opened; i++) {
		const struct debug_file *file = &files->opened[i];

		if (files->dwarf == &file->elf)
			return (struct found){file->root, file->path, file->real};
	}
	return (struct found){place->has[DEBUG_PROCESS] ? DEBUG_PROCESS : DEBUG_OURS, place->path,
			      place->real};
}

/* Tries @link relative to the file at @base under @root. */
static int try_alternate_beside(struct finder *finder, enum debug_root root, const char *base,
				const struct debug_alternate_link *link)
{
	char path[2 * PATH_MAX];

	if (base[0] != '/')
		return 0;
	snprintf(path, sizeof path, "%.*s/%s", folder_length(base), base, link->path);
	return try_alternate(finder, root, path, link);
}

/* Tries the path in @link; a relative one begins at the folder of the file with the DWARF. */
static int try_alternate_path(struct finder *finder, const struct debug_alternate_link *link)
{
	const struct found dwarf = dwarf_place(finder);
	int r;

	if (link->path[0] == '/') {
		r = try_alternate(finder, dwarf.root, link->path, link);
		if (r != 0 || dwarf.root == DEBUG_OURS)
			return r;
		return try_alternate(finder, DEBUG_OURS, link->path, link);
	}
	r = try_alternate_beside(finder, dwarf.root, dwarf.path, link);
	if (r != 0)
		return r;
	r = try_alternate_beside(finder, dwarf.root, dwarf.real, link);
	if (r != 0 || dwarf.root == DEBUG_OURS)
		return r;
	/* The name without links is relative to our root, if the file is visible from there. */
	return try_alternate_beside(finder, DEBUG_OURS, dwarf.real, link);
}

static int find_alternate(struct finder *finder)
{
	struct debug_alternate_link link;
	char path[PATH_MAX], id[2 * ELF_BUILD_ID_MAX + 1];
	int r, fd;

	if (!finder->files->dwarf || debug_alternate_link_read(finder->files->dwarf, &link) < 0)
		return 0;
	r = try_alternate_path(finder, &link);
	build_id_path(&link.id, path, sizeof path);
	for (size_t i = 0; i < finder->n_roots && r == 0; i++)
		r = try_alternate(finder, finder->roots[i], path, &link);
	if (r != 0)
		return r < 0 ? r : 0;
	build_id_text(&link.id, id);
	fd = fetch(finder, id);
	if (fd >= 0)
		r = consider_alternate(finder, fd, &link);
	return r < 0 ? r : 0;
}

int debug_files_find(const struct debug_search *search, struct debug_files *ret)
{
	struct finder finder = {.search = search, .files = ret};
	int r;

	*ret = (struct debug_files){};
	list_roots(&finder);
	r = find_files(&finder);
	if (r == 0)
		r = find_alternate(&finder);
	if (r < 0)
		debug_files_done(ret);
	return r;
}

void debug_files_done(struct debug_files *files)
{
	for (size_t i = 0; i < files->n_opened; i++)
		debug_file_done(&files->opened[i]);
	*files = (struct debug_files){};
}

int debug_files_open_frames(struct elf_file *file, const struct debug_place *place)
{
	const struct debug_search search = {.file = file, .place = place, .want_frames = true};
	struct debug_files files;
	int r = debug_files_find(&search, &files);

	if (r < 0)
		return r;
	if (files.n_opened) {
		r = files.opened[0].fd;
		files.opened[0].fd = -1;
	} else {
		r = -ENOENT;
	}
	debug_files_done(&files);
	return r;
}
