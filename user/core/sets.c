/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/sets.h"

#include "base/array.h"

int sets_init(struct sets *sets)
{
	*sets = (struct sets){};
	return strings_init(&sets->strings);
}

void sets_done(struct sets *sets)
{
	strings_done(&sets->strings);
	free(sets->items);
	free(sets->functions);
	free(sets->commands);
	free(sets->losses);
	free(sets->files);
	*sets = (struct sets){};
}

int sets_add(struct sets *sets, const struct set *set)
{
	int r = array_reserve(sets->items, sets->capacity, sets->n, 1);
	struct set *added;

	if (r < 0)
		return r;
	added = &sets->items[sets->n++];
	*added = *set;
	added->functions = (struct set_range){sets->n_functions, 0};
	added->commands = (struct set_range){sets->n_commands, 0};
	added->losses = (struct set_range){sets->n_losses, 0};
	added->files = (struct set_range){sets->n_files, 0};
	return 0;
}

int sets_add_function(struct sets *sets, const char *name, const char *module, uint64_t self)
{
	struct set_function function = {.self = self};
	int r = array_reserve(sets->functions, sets->functions_capacity, sets->n_functions, 1);

	if (r < 0)
		return r;
	r = strings_add(&sets->strings, name, &function.name);
	if (r < 0)
		return r;
	r = strings_add(&sets->strings, module, &function.module);
	if (r < 0)
		return r;
	sets->functions[sets->n_functions++] = function;
	sets->items[sets->n - 1].functions.n++;
	return 0;
}

int sets_add_command(struct sets *sets, const char *name, uint64_t total)
{
	struct set_command command = {.total = total};
	int r = array_reserve(sets->commands, sets->commands_capacity, sets->n_commands, 1);

	if (r < 0)
		return r;
	r = strings_add(&sets->strings, name, &command.name);
	if (r < 0)
		return r;
	sets->commands[sets->n_commands++] = command;
	sets->items[sets->n - 1].commands.n++;
	return 0;
}

int sets_add_loss(struct sets *sets, const char *kind, uint64_t n)
{
	struct set_loss loss = {.n = n};
	int r = array_reserve(sets->losses, sets->losses_capacity, sets->n_losses, 1);

	if (r < 0)
		return r;
	r = strings_add(&sets->strings, kind, &loss.kind);
	if (r < 0)
		return r;
	sets->losses[sets->n_losses++] = loss;
	sets->items[sets->n - 1].losses.n++;
	return 0;
}

int sets_add_file(struct sets *sets, const char *name, uint64_t bytes)
{
	struct set_file file = {.bytes = bytes};
	int r = array_reserve(sets->files, sets->files_capacity, sets->n_files, 1);

	if (r < 0)
		return r;
	r = strings_add(&sets->strings, name, &file.name);
	if (r < 0)
		return r;
	sets->files[sets->n_files++] = file;
	sets->items[sets->n - 1].files.n++;
	return 0;
}

void sets_drop_last(struct sets *sets)
{
	const struct set *last = &sets->items[--sets->n];

	sets->n_functions = last->functions.first;
	sets->n_commands = last->commands.first;
	sets->n_losses = last->losses.first;
	sets->n_files = last->files.first;
}

uint64_t set_bytes(const struct sets *sets, const struct set *set)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < set->files.n; i++)
		bytes += sets->files[set->files.first + i].bytes;
	return bytes;
}
