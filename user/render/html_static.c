/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_static: the page where scripts are forbidden, as in mail, artifact viewers and under the
 * policies of some CI servers: a picture, and what ran and waited longest. The explorer removes it
 * when it starts. Escapes names, as all markup must.
 */
#include "render/html.h"

#include "base/text.h"
#include "core/leaders.h"
#include "render/picture_texts.h"
#include "render/svg.h"

#define MOST_FRAMES  300
#define LEAST_PIXELS 2
#define MOST_ROWS    20
#define MOST_COLUMNS 100

static const char *const captions[N_LEADERS_OF] = {
	[LEADERS_RUNNING] = "What ran longest", [LEADERS_WAITING] = "What waited longest"};

/* The first view, before a reader changes anything. */
static const struct stacks *first_stacks(const struct html *html)
{
	return html->options->first ? html->options->first : html->stacks;
}

static void write_cell(const struct html *html, const char *text, const char *suffix)
{
	fputs("<td>", html->out);
	text_write(html->out, text, MOST_COLUMNS);
	fprintf(html->out, "%s</td>", suffix /* ours */);
}

static int write_table(const struct html *html, enum leaders_of of)
{
	const struct stacks *stacks = first_stacks(html);
	struct leaders leaders;
	int r = leaders_find(stacks, of, &leaders);

	if (r < 0)
		return r;
	if (leaders.n)
		fprintf(html->out, "<table>\n<caption>%s</caption>\n", captions[of] /* ours */);
	for (size_t i = 0; i < leaders.n && i < MOST_ROWS; i++) {
		const struct leader *row = &leaders.rows[i];

		fprintf(html->out, "<tr><td>%.1f %%</td>",
			stacks->width ? 100.0 * row->weight / stacks->width : 0);
		write_cell(html, row->function, frame_kind_suffix(row->kind));
		write_cell(html, row->reason, "");
		write_cell(html, row->command, "");
		fputs("</tr>\n", html->out);
	}
	if (leaders.n)
		fputs("</table>\n", html->out);
	leaders_done(&leaders);
	return 0;
}

int html_write_static(const struct html *html)
{
	const struct stacks *stacks = html->stacks;
	bool has_tables = !stacks->is_comparison && !stacks->options.reverse;
	struct picture_options options = *html->options;
	char title[PICTURE_TITLE_SIZE];
	int r;

	options.min_width = LEAST_PIXELS;
	options.max_frames = MOST_FRAMES;
	options.first = NULL;
	fputs("<main id=\"static\">\n<h1>", html->out);
	text_write(html->out, picture_title(stacks, html->options, title), SIZE_MAX);
	fputs("</h1>\n<p>Scripts are off here: this is the picture without zoom, "
	      "search and tables. Save the file and open it in a browser for all of it.</p>\n",
	      html->out);
	r = svg_write_part(first_stacks(html), &options, html->out);
	if (r < 0)
		return r;
	for (enum leaders_of of = 0; of < N_LEADERS_OF && has_tables; of++) {
		r = write_table(html, of);
		if (r < 0)
			return r;
	}
	fputs("</main>\n", html->out);
	return 0;
}
