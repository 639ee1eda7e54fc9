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
#include "symbol/rooted.h"

#define DEBUG_FOLDER "/usr/lib/debug"
#define MAX_ROOTS    3

/* How a file proves that it belongs to the mapped one. */
enum proof {
	PROOF_ID,     /* the same build-id */
	PROOF_LINK,   /* the same build-id if both have one, else the link's checksum */
	PROOF_IF_ANY, /* the same build-id if both have one: the user said that it does */
};

struct finder {
	const struct debug_search *search;
	struct debug_files *files;
	struct build_id id; /* of the mapped file */
	struct debug_link link;
	bool has_link;
	int roots[MAX_ROOTS]; /* folders to look under, the first first */
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

/* Takes from @file what is still missing. Returns whether it has any of that. */
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
}

/* Opens @fd, which it takes, as the next of the opened files. */
static int open_next(struct debug_files *files, int fd, int root, const char *path,
		     struct debug_file **ret)
{
	struct debug_file *file = &files->opened[files->n_opened];
	int r = files->n_opened < MAX_DEBUG_FILES ? 0 : -ENFILE;

	if (r == 0) {
		*file = (struct debug_file){.fd = fd, .root = root, .path = strdup(path)};
		r = file->path ? elf_file_open(&file->elf, fd) : -ENOMEM;
		if (r < 0)
			free(file->path);
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
		/* While a recording goes on there is no time to read all of a file for its sum. */
		return !finder->search->want_frames && debug_crc(file, &crc) == 0 &&
		       crc == finder->link.crc;
	default: return false;
	}
}

/* Opens and checks @fd, which it takes, and keeps it if it has what is missing. */
static int consider(struct finder *finder, int fd, int root, const char *path, enum proof proof)
{
	struct debug_file *file;
	int r = open_next(finder->files, fd, root, path, &file);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (is_proven(finder, &file->elf, proof) && take(finder, &file->elf))
		finder->files->n_opened++;
	else
		debug_file_done(file);
	return 0;
}

static int try_path(struct finder *finder, int root, const char *path, enum proof proof)
{
	int fd = is_complete(finder) ? -ENOENT : rooted_open(root, path);

	return fd < 0 ? 0 : consider(finder, fd, root, path, proof);
}

static void build_id_path(const struct build_id *id, char *path, size_t size)
{
	char text[2 * ELF_BUILD_ID_MAX + 1];

	build_id_text(id, text);
	snprintf(path, size, DEBUG_FOLDER "/.build-id/%.2s/%s.debug", text, text + 2);
}

/* How long the folder of @path is. */
static int folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash - path : 0;
}

static int try_link(struct finder *finder, int root)
{
	static const char *const patterns[] = {
		"%.*s/%s",
		"%.*s/.debug/%s",
		DEBUG_FOLDER "%.*s/%s",
	};
	const char *path = finder->search->path;
	char text[2 * PATH_MAX];
	int r = 0;

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns && r == 0; i++) {
		snprintf(text, sizeof text, patterns[i], folder_length(path), path,
			 finder->link.name);
		r = try_path(finder, root, text, PROOF_LINK);
	}
	return r;
}

static int try_root(struct finder *finder, int root)
{
	char path[PATH_MAX];
	int r = 0;

	if (finder->id.n) {
		build_id_path(&finder->id, path, sizeof path);
		r = try_path(finder, root, path, PROOF_ID);
	}
	if (r == 0 && finder->has_link)
		r = try_link(finder, root);
	return r;
}

static int try_debug_data(struct finder *finder)
{
	struct debug_files *files = finder->files;
	struct debug_file *file = &files->opened[files->n_opened];
	struct debug_file data = {.fd = -1, .root = -1};
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
	fd = debuginfod_open(finder->search->debuginfod, id);
	return fd < 0 ? 0 : consider(finder, fd, -1, "", PROOF_ID);
}

static void list_roots(struct finder *finder)
{
	const struct debug_search *search = finder->search;

	if (search->symfs >= 0)
		finder->roots[finder->n_roots++] = search->symfs;
	if (search->root >= 0 && !rooted_is_ours(search->root))
		finder->roots[finder->n_roots++] = search->root;
	finder->roots[finder->n_roots++] = -1;
}

static int find_files(struct finder *finder)
{
	const struct debug_search *search = finder->search;
	int r = 0;

	finder->id = build_id_of(search->file);
	if (search->symfs >= 0 && search->path[0] == '/')
		r = try_path(finder, search->symfs, search->path, PROOF_IF_ANY);
	if (r < 0)
		return r;
	take(finder, search->file);
	if (is_complete(finder))
		return 0;
	finder->has_link =
		debug_link_read(search->file, &finder->link) == 0 && search->path[0] == '/';
	for (size_t i = 0; i < finder->n_roots && r == 0; i++)
		r = try_root(finder, finder->roots[i]);
	if (r < 0 || search->want_frames)
		return r;
	r = try_debug_data(finder);
	return r < 0 ? r : try_debuginfod(finder);
}

/* Takes @fd if it is the shared file that @link means. Returns whether it is, or -ENOMEM. */
static int consider_alternate(struct finder *finder, int fd,
			      const struct debug_alternate_link *link)
{
	struct debug_files *files = finder->files;
	struct debug_file *file;
	struct build_id id;
	int r = open_next(files, fd, -1, "", &file);

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

static int try_alternate(struct finder *finder, int root, const char *path,
			 const struct debug_alternate_link *link)
{
	int fd = rooted_open(root, path);

	return fd < 0 ? 0 : consider_alternate(finder, fd, link);
}

/* The file that has the DWARF: where it was found, and its name without links. */
static int dwarf_places(const struct finder *finder, const char **ret_path, char *real, size_t size)
{
	const struct debug_files *files = finder->files;
	int root = finder->search->root, fd = finder->search->file->fd;
	char link[64];
	ssize_t n;

	*ret_path = finder->search->path;
	for (size_t i = 0; i < files->n_opened; i++) {
		if (files->dwarf != &files->opened[i].elf)
			continue;
		*ret_path = files->opened[i].path;
		root = files->opened[i].root;
		fd = files->opened[i].fd;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, real, size - 1);
	real[n > 0 ? n : 0] = '\0';
	return root;
}

/* Tries @link relative to the file at @base under @root. */
static int try_alternate_beside(struct finder *finder, int root, const char *base,
				const struct debug_alternate_link *link)
{
	char path[2 * PATH_MAX];

	if (base[0] != '/')
		return 0;
	snprintf(path, sizeof path, "%.*s/%s", folder_length(base), base, link->path);
	return try_alternate(finder, root, path, link);
}

/* Tries the path that @link tells; a relative one begins where the file with the DWARF lies. */
static int try_alternate_path(struct finder *finder, const struct debug_alternate_link *link)
{
	char real[PATH_MAX];
	const char *path;
	int root = dwarf_places(finder, &path, real, sizeof real), r;

	if (link->path[0] == '/') {
		r = try_alternate(finder, root, link->path, link);
		return r != 0 || root < 0 ? r : try_alternate(finder, -1, link->path, link);
	}
	r = try_alternate_beside(finder, root, path, link);
	if (r == 0)
		r = try_alternate_beside(finder, root, real, link);
	/* The name without links is that under our root, if the file can be seen from there. */
	if (r == 0 && root >= 0)
		r = try_alternate_beside(finder, -1, real, link);
	return r;
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
	fd = debuginfod_open(finder->search->debuginfod, id);
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

int debug_files_open_frames(struct elf_file *file, const char *path, int root)
{
	const struct debug_search search = {
		.file = file, .path = path, .root = root, .symfs = -1, .want_frames = true};
	struct debug_files files;
	int r = debug_files_find(&search, &files);

	if (r < 0)
		return r;
	r = files.n_opened ? fcntl(files.opened[0].fd, F_DUPFD_CLOEXEC, 0) : -ENOENT;
	debug_files_done(&files);
	return r == -1 ? -errno : r;
}
