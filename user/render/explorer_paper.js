// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_paper: the page on paper: the heading, then all of the graph, scaled to the rest of a page, or the
// first rows of the table, in light colours. explorer.css hides what only a reader at a screen can use.
const paper = (function () {
"use strict";

const MOST_LINES = 200;

let theme = "";

function listen(page, table) {
	const root = document.documentElement;
	window.addEventListener("beforeprint", () => {
		theme = root.dataset.theme;
		root.dataset.theme = "light";
		page.graph.unroll(true);
		table.unroll(MOST_LINES);
	});
	window.addEventListener("afterprint", () => {
		root.dataset.theme = theme;
		table.unroll(0);
		page.graph.unroll(false);
	});
}

return {listen};
})();
