/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sets_page: constant texts around one JSON object, which has no `<`, in an element that browsers
 * do not run: names are in neither markup nor scripts. sets.js makes the whole page from it.
 *
 *	{"version":…, "made":ms, "older":…, "modes":[…], "strings":[…],
 *	 "sets":[[name, mode, event, unit, start ms, duration ms, windows, samples, total,
 *		  complete %, loss %, [loss, n, …], [function, module, self, …], [file, bytes, …],
 *		  host, kernel, command line, Hz, [command, total, …]]…]}	the oldest first
 *
 * Names and other repeated texts are numbers in the list of strings, which has only those in use.
 */
#include "render/sets_page.h"

#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/system.h"

static const char style[] =
#include "render/sets.css.h"
	;

static const char body[] =
#include "render/sets.html.h"
	;

static const char text_script[] =
#include "render/sets_text.js.h"
	;

static const char script[] =
#include "render/sets.js.h"
	;

/* Runs before anything is drawn, so that a dark page does not flash. */
static const char theme[] =
	"document.documentElement.dataset.theme="
	"matchMedia(\"(prefers-color-scheme: dark)\").matches?\"dark\":\"light\";";

struct page {
	const struct sets *sets;
	size_t first; /* the oldest set shown */
	struct json json;
	uint32_t *numbers; /* of strings, in order of their first use, + 1; 0: unused */
	uint32_t *used;	   /* string ids in that order */
	uint32_t n_used;
};

static void put_string(struct page *page, uint32_t id)
{
	if (!page->numbers[id]) {
		page->used[page->n_used++] = id;
		page->numbers[id] = page->n_used;
	}
	json_count(&page->json, NULL, page->numbers[id] - 1);
}

static void put_runs(struct page *page, const struct set *set)
{
	const struct sets *sets = page->sets;
	struct json *json = &page->json;

	json_open(json, NULL, '[');
	for (size_t i = 0; i < set->losses.n; i++) {
		put_string(page, sets->losses[set->losses.first + i].kind);
		json_count(json, NULL, sets->losses[set->losses.first + i].n);
	}
	json_close(json, ']');
	json_open(json, NULL, '[');
	for (size_t i = 0; i < set->functions.n; i++) {
		const struct set_function *function = &sets->functions[set->functions.first + i];

		put_string(page, function->name);
		put_string(page, function->module);
		json_count(json, NULL, function->self);
	}
	json_close(json, ']');
	json_open(json, NULL, '[');
	for (size_t i = 0; i < set->files.n; i++) {
		put_string(page, sets->files[set->files.first + i].name);
		json_count(json, NULL, sets->files[set->files.first + i].bytes);
	}
	json_close(json, ']');
}

static void put_commands(struct page *page, const struct set *set)
{
	json_open(&page->json, NULL, '[');
	for (size_t i = 0; i < set->commands.n; i++) {
		put_string(page, page->sets->commands[set->commands.first + i].name);
		json_count(&page->json, NULL, page->sets->commands[set->commands.first + i].total);
	}
	json_close(&page->json, ']');
}

static void put_set(struct page *page, const struct set *set)
{
	struct json *json = &page->json;

	json_open(json, NULL, '[');
	put_string(page, set->name);
	json_count(json, NULL, set->mode);
	put_string(page, set->event);
	put_string(page, set->unit);
	json_count(json, NULL, set->start_realtime_ns / 1000000);
	json_number(json, NULL, set->duration_ns / 1e6, 3);
	json_count(json, NULL, set->windows);
	json_count(json, NULL, set->samples);
	json_count(json, NULL, set->total);
	json_number(json, NULL, set->complete_percent, 2);
	json_number(json, NULL, set->loss_percent, 4);
	put_runs(page, set);
	put_string(page, set->host);
	put_string(page, set->kernel);
	put_string(page, set->command_line);
	json_number(json, NULL, set->frequency, 3);
	put_commands(page, set);
	json_close(json, ']');
}

static void put_strings(struct page *page)
{
	json_open(&page->json, "modes", '[');
	for (int mode = 0; mode < N_PROFILE_MODES; mode++)
		json_text(&page->json, NULL, profile_mode_name(mode));
	json_close(&page->json, ']');
	json_open(&page->json, "strings", '[');
	for (uint32_t i = 0; i < page->n_used; i++)
		json_text(&page->json, NULL, strings_get(&page->sets->strings, page->used[i]));
	json_close(&page->json, ']');
}

static void write_object(struct page *page, FILE *stream)
{
	const struct sets *sets = page->sets;
	struct json *json = &page->json;

	*json = (struct json){.stream = stream, .is_in_page = true};
	json_open(json, NULL, '{');
	json_text(json, "version", BPFFLAME_VERSION);
	json_count(json, "made", realtime_ns() / 1000000);
	json_count(json, "older", page->first);
	json_open(json, "sets", '[');
	for (size_t i = page->first; i < sets->n; i++)
		put_set(page, &sets->items[i]);
	json_close(json, ']');
	put_strings(page);
	json_close(json, '}');
}

static void write_page(struct page *page, FILE *stream)
{
	fprintf(stream,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"generator\" content=\"bpfflame " BPFFLAME_VERSION "\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; "
		"form-action 'none'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<title>bpfflame snapshots</title>\n<style>\n%s</style>\n"
		"<script>%s</script>\n</head>\n<body>\n%s"
		"<script type=\"application/json\" id=\"data\">",
		style, theme, body /* ours */);
	write_object(page, stream);
	fprintf(stream,
		"</script>\n<script>\n%s%ssets.start();\n</script>\n</body>\n</html>\n",
		text_script, script /* ours */);
}

int render_sets_page(const struct sets *sets, FILE *stream)
{
	struct page page = {
		.sets = sets,
		.first = sets->n > SETS_PAGE_MOST ? sets->n - SETS_PAGE_MOST : 0,
		.numbers = calloc(sets->strings.n_strings + 1, sizeof *page.numbers),
		.used = calloc(sets->strings.n_strings + 1, sizeof *page.used),
	};
	int r = page.numbers && page.used ? 0 : -ENOMEM;

	if (r == 0)
		write_page(&page, stream);
	free(page.numbers);
	free(page.used);
	return r;
}
