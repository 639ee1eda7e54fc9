// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_theme: light or dark: as the system has it, until the reader chooses.
const pageTheme = (function () {
"use strict";

const KEY = "bpfflame-theme", query = matchMedia("(prefers-color-scheme: dark)");

const now = () => document.documentElement.dataset.theme || (query.matches ? "dark" : "light");

function choose(theme) {
	document.documentElement.dataset.theme = theme;
	localStorage.setItem(KEY, theme);
	changed();
}

function changed() {
	pageGraph.sendTheme();
	dispatchEvent(new Event("themechange"));
}

function listen() {
	if (localStorage.getItem(KEY))
		document.documentElement.dataset.theme = localStorage.getItem(KEY);
	query.addEventListener("change", changed);
	pageText.one("theme").addEventListener("click", () => choose(now() === "dark" ? "light" : "dark"));
}

return {now, choose, listen};
})();
