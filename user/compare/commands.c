/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NO_FRAME UINT32_MAX

/* The place of a stack's command: root, or after [idle]; last if reversed. NULL: there is none. */
static uint32_t *command_of(const struct stacks *stacks, const struct stacks_entry *entry)
{
	uint32_t *id = stacks->ids + entry->first;

	if (!entry->n)
		return NULL;
	if (stacks->options.reverse)
		id += entry->n - 1;
	else if (entry->n > 1 && stacks_is_mark(stacks, *id, MARK_IDLE))
		id++;
	/* With options.base, stacks may begin at a function. */
	return stacks->frames[*id].kind == FRAME_NOTE ? id : NULL;
}

/* Whether each side has one command, and not the other's. */
static bool find_commands(const struct stacks *stacks, uint32_t commands[static N_SIDES])
{
	commands[SIDE_BASE] = commands[SIDE_NEW] = NO_FRAME;
	for (size_t i = 0; i < stacks->n_entries; i++) {
		const uint32_t *id = command_of(stacks, &stacks->entries[i]);
		uint32_t *command = &commands[stacks->entries[i].side];

		if (!id)
			continue;
		if (*command == NO_FRAME)
			*command = *id;
		if (*command != *id)
			return false;
	}
	return commands[SIDE_BASE] != NO_FRAME && commands[SIDE_NEW] != NO_FRAME &&
	       commands[SIDE_BASE] != commands[SIDE_NEW];
}

static int name_both(struct stacks *stacks, const uint32_t commands[static N_SIDES])
{
	uint32_t name;
	char *text;
	int r;

	if (asprintf(&text, "%s \u2192 %s", stacks_name(stacks, commands[SIDE_BASE]),
		     stacks_name(stacks, commands[SIDE_NEW])) < 0)
		return -ENOMEM;
	r = strings_add(&stacks->strings, text, &name);
	if (r == 0)
		stacks->frames[commands[SIDE_BASE]].name = name;
	free(text);
	return r;
}

int commands_align(struct stacks *stacks)
{
	uint32_t commands[N_SIDES];
	int r;

	if (stacks->facts[SIDE_BASE].by_thread || stacks->facts[SIDE_NEW].by_thread ||
	    !find_commands(stacks, commands))
		return 0;
	r = name_both(stacks, commands);
	if (r < 0)
		return r;
	for (size_t i = 0; i < stacks->n_entries; i++) {
		uint32_t *id = command_of(stacks, &stacks->entries[i]);

		if (id)
			*id = commands[SIDE_BASE];
	}
	return 0;
}
