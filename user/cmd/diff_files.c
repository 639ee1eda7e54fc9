/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/diff_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define KIND_SIZE 64
#define MAX_KINDS 32

/* The kinds of a side's files; "": their names give none. */
struct kinds {
	char names[MAX_KINDS][KIND_SIZE];
	size_t n;
};

/* Skips `20261121T130501Z`; returns the rest. */
static const char *skip_time(const char *name)
{
	static const char pattern[] = "ddddddddTddddddZ";

	for (size_t i = 0; pattern[i]; i++) {
		bool is_digit = name[i] >= '0' && name[i] <= '9';

		if (pattern[i] == 'd' ? !is_digit : name[i] != pattern[i])
			return NULL;
	}
	return name + sizeof pattern - 1;
}

static bool is_mode(const char *text)
{
	for (int mode = PROFILE_ONCPU; mode <= PROFILE_WALL; mode++)
		if (strcmp(profile_mode_name(mode), text) == 0)
			return true;
	return false;
}

/* The kind that a file's name gives. */
static void kind_by_suffix(const char *path, char kind[static KIND_SIZE])
{
	char stem[KIND_SIZE * 4], *end, *dash;
	const char *rest;

	snprintf(stem, sizeof stem, "%s", basename(path));
	for (const char *const *ending = (const char *const[]){".pb.gz", ".firefox.json",
							       ".speedscope.json", ".folded", NULL};
	     *ending; ending++) {
		end = stem + strlen(stem) - strlen(*ending);
		if (end > stem && strcmp(end, *ending) == 0)
			*end = '\0';
	}
	kind[0] = '\0';
	rest = skip_time(stem);
	dash = rest ? strchr(rest, '-') : strrchr(stem, '-');
	rest = dash ? dash + 1 : stem;
	if (is_mode(rest) || (dash && skip_time(stem)))
		snprintf(kind, KIND_SIZE, "%.63s", rest);
}

static void add_kind(struct kinds *kinds, const char *kind)
{
	for (size_t i = 0; i < kinds->n; i++)
		if (strcmp(kinds->names[i], kind) == 0)
			return;
	if (kinds->n < MAX_KINDS)
		snprintf(kinds->names[kinds->n++], KIND_SIZE, "%s", kind);
}

static bool has_kind(const struct kinds *kinds, const char *kind)
{
	for (size_t i = 0; i < kinds->n; i++)
		if (strcmp(kinds->names[i], kind) == 0)
			return true;
	return false;
}

static void list_kinds(const struct run_files *files, struct kinds *kinds)
{
	char kind[KIND_SIZE];

	for (size_t i = 0; i < files->n; i++) {
		kind_by_suffix(files->paths[i], kind);
		add_kind(kinds, kind);
	}
}

/* Drops files of other kinds. */
static void keep_kind(struct run_files *files, const char *kind)
{
	size_t n = 0;
	char other[KIND_SIZE];

	for (size_t i = 0; i < files->n; i++) {
		kind_by_suffix(files->paths[i], other);
		if (strcmp(kind, other) == 0)
			files->paths[n++] = files->paths[i];
		else
			free(files->paths[i]);
	}
	files->n = n;
}

static void join_kinds(const struct kinds *kinds, char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < kinds->n && n < size; i++)
		n += snprintf(text + n, size - n, "%s%s", i ? ", " : "",
			      *kinds->names[i] ? kinds->names[i] : "others");
}

/* Reports that a side has several kinds. */
static int complain(const struct kinds *kinds, const char *name, struct failure *failure)
{
	char text[200];

	join_kinds(kinds, text, sizeof text);
	failure_set(failure, -EINVAL, "%s holds recordings of several kinds: %s", name, text);
	return failure_fix(failure, -EINVAL, "choose one by --kind NAME, or name the files");
}

/* The only kind that both sides have; NULL: none, or several. */
static const char *common_kind(const struct kinds kinds[N_SIDES])
{
	const char *found = NULL;

	for (size_t i = 0; i < kinds[0].n; i++) {
		if (!has_kind(&kinds[1], kinds[0].names[i]))
			continue;
		if (found)
			return NULL;
		found = kinds[0].names[i];
	}
	return found;
}

/* @from_folders: sides for which a folder was given; files given directly always count. */
static int choose_kinds(const struct diff_words *words, const bool from_folders[N_SIDES],
			const char *const names[N_SIDES], struct diff_files *files,
			struct failure *failure)
{
	struct kinds kinds[N_SIDES] = {};
	const char *kind = words->kind;

	for (int side = 0; side < N_SIDES; side++)
		list_kinds(&files->sides[side], &kinds[side]);
	for (int side = 0; side < N_SIDES; side++) {
		if (!from_folders[side] || (!kind && kinds[side].n <= 1))
			continue;
		if (kind && !has_kind(&kinds[side], kind)) {
			char text[200];

			join_kinds(&kinds[side], text, sizeof text);
			return failure_set(failure, -EINVAL, "%s holds no %s, but: %s", names[side],
					   kind, text);
		}
		if (!kind && !common_kind(kinds))
			return complain(&kinds[side], names[side], failure);
		keep_kind(&files->sides[side], kind ? kind : common_kind(kinds));
	}
	return 0;
}

static bool is_folder(const char *path)
{
	struct stat status;

	return strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int add_all(char *const *paths, size_t n, struct run_files *files, bool *has_folder,
		   struct failure *failure)
{
	for (size_t i = 0; i < n; i++) {
		int r = run_files_add(files, paths[i], failure);

		if (r < 0)
			return r;
		*has_folder |= is_folder(paths[i]);
	}
	return 0;
}

/* Decides which side each word belongs to. */
static int split_words(const struct diff_words *words, size_t *ret_base, struct failure *failure)
{
	size_t n = words->n, n_base = n - words->n_after;

	if (words->n_bases) {
		*ret_base = 0;
		return n ? 0 : failure_set(failure, -EINVAL, "nothing to compare --base with");
	}
	if (words->n_after && n_base) {
		*ret_base = n_base;
		return 0;
	}
	*ret_base = 1;
	if (n == 2)
		return 0;
	failure_set(failure, -EINVAL, n ? "more than two files to compare" : "nothing to compare");
	return failure_fix(failure, -EINVAL, "name BASE and NEW, or several: BASE… -- NEW…");
}

static int check_stdin(const struct diff_files *files, struct failure *failure)
{
	size_t n = 0;

	for (int side = 0; side < N_SIDES; side++)
		for (size_t i = 0; i < files->sides[side].n; i++)
			n += strcmp(files->sides[side].paths[i], "-") == 0;
	if (n < 2)
		return 0;
	return failure_set(failure, -EINVAL,
			   "standard input can be read only once, but - is given twice");
}

int diff_files_find(const struct diff_words *words, struct diff_files *ret, struct failure *failure)
{
	bool folders[N_SIDES] = {};
	const char *names[N_SIDES];
	size_t n_base;
	int r;

	*ret = (struct diff_files){};
	if (words->n == 1 && !words->n_bases) {
		ret->is_single = true;
		return run_files_add(&ret->sides[SIDE_NEW], words->arguments[0], failure);
	}
	r = split_words(words, &n_base, failure);
	if (r < 0)
		return r;
	names[SIDE_BASE] = words->n_bases ? words->bases[0] : words->arguments[0];
	names[SIDE_NEW] = words->arguments[n_base];
	r = words->n_bases ? add_all(words->bases, words->n_bases, &ret->sides[SIDE_BASE],
				     &folders[SIDE_BASE], failure)
			   : add_all(words->arguments, n_base, &ret->sides[SIDE_BASE],
				     &folders[SIDE_BASE], failure);
	if (r < 0)
		return r;
	r = add_all(words->arguments + n_base, words->n - n_base, &ret->sides[SIDE_NEW],
		    &folders[SIDE_NEW], failure);
	if (r < 0)
		return r;
	r = choose_kinds(words, folders, names, ret, failure);
	if (r < 0)
		return r;
	return check_stdin(ret, failure);
}

void diff_files_done(struct diff_files *files)
{
	for (int side = 0; side < N_SIDES; side++)
		run_files_done(&files->sides[side]);
}
