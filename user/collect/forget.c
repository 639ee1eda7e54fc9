/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files are named by indexes and their paths by string ids, all over the collector: what is kept of
 * both gets new ones.
 */
#include "collect/forget.h"

#include <errno.h>
#include <stdlib.h>

#include "collect/collector.h"

struct forgetting {
	struct collector *collector;
	uint32_t *files; /* by old index: not 0: it is needed; then its new one, or UINT32_MAX */
	size_t n_files;
	uint32_t *renamed; /* by old string id: the new one + 1; 0: nobody has asked for it */
	struct strings strings;
};

static int rename_string(void *context, uint32_t *id)
{
	struct forgetting *forgetting = context;
	const struct strings *old = &forgetting->collector->processes.files.strings;
	uint32_t *renamed = &forgetting->renamed[*id];
	uint32_t new;
	int r;

	if (!*renamed) {
		r = strings_add_bytes(&forgetting->strings, strings_get(old, *id),
				      strings_length(old, *id), &new);
		if (r < 0)
			return r;
		*renamed = new + 1;
	}
	*id = *renamed - 1;
	return 0;
}

/* Images that are known, and those whose memory the profile has. */
static int forget_jit_files(struct forgetting *forgetting)
{
	struct processes *processes = &forgetting->collector->processes;
	const struct profile *profile = forgetting->collector->profile;

	for (size_t i = 0; i < processes->n_processes; i++) {
		const struct process *process = &processes->processes[i];

		jit_files_need(&processes->jit_files,
			       &(struct jit_image){process->pid, process->exec_id, process->start});
	}
	for (size_t i = 0; i < profile->n_mappings; i++) {
		const struct profile_mapping *mapping = &profile->mappings[i];

		if (mapping->kind == MAPPING_ANON)
			jit_files_need(&processes->jit_files,
				       &(struct jit_image){mapping->pid, mapping->exec_id,
							   mapping->process_start});
	}
	return jit_files_forget(&processes->jit_files);
}

/* Files that a process has mapped, or that the profile, or what JITs wrote, is about. */
static void mark_files(struct forgetting *forgetting)
{
	const struct processes *processes = &forgetting->collector->processes;

	for (size_t i = 0; i < processes->n_processes; i++) {
		const struct process *process = &processes->processes[i];

		for (size_t k = 0; k < process->n_mappings; k++)
			if (process->mappings[k].file != UINT32_MAX)
				forgetting->files[process->mappings[k].file] = 1;
	}
	for (size_t i = 0; i < processes->files.n_files; i++)
		if (processes->files.files[i].profile_mapping != UINT32_MAX)
			forgetting->files[i] = 1;
	jit_files_mark(&processes->jit_files, forgetting->files);
}

static int renumber_mappings(struct forgetting *forgetting)
{
	struct processes *processes = &forgetting->collector->processes;
	int r = 0;

	for (size_t i = 0; i < processes->n_processes; i++) {
		struct process *process = &processes->processes[i];

		for (size_t k = 0; r >= 0 && k < process->n_mappings; k++) {
			struct mapping *mapping = &process->mappings[k];

			if (mapping->file != UINT32_MAX)
				mapping->file = forgetting->files[mapping->file];
			r = rename_string(forgetting, &mapping->path);
		}
	}
	return r;
}

static int forget_files(struct forgetting *forgetting)
{
	struct collector *collector = forgetting->collector;
	struct files *files = &collector->processes.files;
	int r;

	mark_files(forgetting);
	r = files_forget(files, forgetting->files, rename_string, forgetting);
	r = r < 0 ? r
		  : tables_renumber(&collector->unwinder.tables, forgetting->files,
				    forgetting->n_files);
	if (r < 0)
		return r;
	jit_files_renumber(&collector->processes.jit_files, forgetting->files);
	r = renumber_mappings(forgetting);
	r = r < 0 ? r : timeline_rename(&collector->timeline, rename_string, forgetting);
	if (r < 0)
		return r;
	strings_done(&files->strings);
	files->strings = forgetting->strings;
	forgetting->strings = (struct strings){};
	files->n_strings_after = files->strings.n_strings;
	return 0;
}

int forget(struct collector *collector)
{
	const struct files *files = &collector->processes.files;
	struct forgetting forgetting = {.collector = collector, .n_files = files->n_files};
	int r;

	if (!files_are_many(files))
		return 0;
	forgetting.files = calloc(files->n_files + 1, sizeof *forgetting.files);
	forgetting.renamed = calloc(files->strings.n_strings + 1, sizeof *forgetting.renamed);
	r = forgetting.files && forgetting.renamed ? strings_init(&forgetting.strings) : -ENOMEM;
	r = r < 0 ? r : forget_jit_files(&forgetting);
	r = r < 0 ? r : forget_files(&forgetting);
	free(forgetting.files);
	free(forgetting.renamed);
	strings_done(&forgetting.strings);
	return r < 0 ? r : 0;
}
