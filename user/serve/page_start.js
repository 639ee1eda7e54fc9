// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_start: the page: what is done changes the state (page_state.js), and each part shows what of it is its own.
(function () {
"use strict";

const {one, make} = pageText;

const KEYS = [
	["Arrows, Page", "Move the edge of a range that has the focus; with Shift, by windows"],
	["n", "A range in the middle of the view", () => pageRanges.create()],
	["b", "The next range is the base", () => pageRanges.expectBase(true)],
	["z", "Zoom to the range", () => pageView.zoomToRange()],
	["+, =", "A shorter view", () => pageView.zoom(0.5)],
	["-", "A longer one", () => pageView.zoom(2)],
	["[, ]", "Earlier, later"],
	["[", "", () => pageView.pan(-0.5)],
	["]", "", () => pageView.pan(0.5)],
	["d", "Compare with yesterday", () => one("yesterday").click()],
	["w", "Compare with a week ago", () => one("week-ago").click()],
	["a", "Compare with the time before", () => one("around").click()],
	["c", "Clear range and base", () => pageState.set({range: null, base: null, x: ""})],
	["1", "Flame graph", () => pageState.set({show: "graph"})],
	["2", "Heat map", () => pageState.set({show: "heat"})],
	["3", "Got worse", () => pageState.set({show: "worse"})],
	["/", "Search", () => { pageState.set({show: "search"}); one("search-text").focus(); }],
	["s", "Save", () => { one("save").open = !one("save").open; }],
	["f", "Filter", () => one("filter-value").focus()],
	["l", "Live", () => one("live").click()],
	["y", "Copy the link", () => copyLink()],
	["m", "Light or dark", () => one("theme").click()],
	["?", "These keys; those of the flame graph are in its own help", () => one("help").showModal()],
];

function copyLink() {
	navigator.clipboard.writeText(location.href).then(() => pageNotes.say("Link copied"),
		() => pageNotes.say("The browser does not let pages copy", true));
}

function onKey(event) {
	const isField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
	if (isField || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
		return;
	const known = KEYS.find(([keys, , run]) => run && keys.split(", ").includes(event.key));
	if (known) {
		event.preventDefault();
		known[2]();
	}
}

function showButtons(state) {
	document.querySelectorAll("[data-set]").forEach((button) => {
		const [key, value] = button.dataset.set.split("=");
		button.setAttribute("aria-pressed", state[key] === value);
	});
	one("idle").setAttribute("aria-pressed", Boolean(state.idle));
	one("idle").hidden = state.what === "running";
	if (document.activeElement !== one("group"))
		one("group").value = state.group || "";
	document.querySelectorAll("[data-view]").forEach((section) =>
		{ section.hidden = !section.dataset.view.split(" ").includes(state.show); });
}

let shownWhat = "";

function show(state) {
	if (!state.from) {
		look();
		return;
	}
	document.title = "bpfflame \u00b7 " + pageText.rangeOf(state.from, state.to);
	showFacts();
	showButtons(state);
	pageFilters.show(state);
	pageView.show(state);
	pageRanges.show(state);
	pageCompare.show(state);
	const isDrawn = pageChart.show(state);
	if (pageChart.series && pageChart.series.of === pageChart.keyOf(state))
		pageGroups.show(pageChart.series, state);
	pageGraph.show(state);
	pageOver.show(state);
	pageHeat.show(state);
	pageLists.show(state);
	pageSave.show(state);
	pageLive.show(state);
	/* The range comes first. */
	if (shownWhat !== state.what + state.idle)
		isDrawn.then(() => pageChart.showWhole(state)).catch(pageNotes.fail);
	shownWhat = state.what + state.idle;
}

// Without a link: the last hour of what there is.
function look() {
	pageView.look(Math.max(pageStore.from, pageStore.to - pageScale.HOUR), pageStore.to, true);
}

function showFacts() {
	one("facts").textContent = pageText.rangeOf(pageStore.from, pageStore.to) + " " + pageText.zoneOf(pageStore.to) +
		" \u00b7 " +
		pageText.lengthOf(pageStore.window) + " windows" + (pageStore.gaps.length ? " \u00b7 " +
		pageText.plural(pageStore.gaps.length, "gap") : "");
}

async function begin() {
	try {
		await pageStore.load();
		show(pageState.now);
	} catch (error) {
		pageNotes.fail(error);
		one("graph-none").hidden = false;
		one("graph-none").textContent = error.message;
	}
}

function listen() {
	addEventListener("keydown", onKey);
	document.querySelectorAll("[data-set]").forEach((button) => button.addEventListener("click", () => {
		const [key, value] = button.dataset.set.split("=");
		const change = {[key]: value};
		if (change.by === "cause" && pageState.now.what === "running")
			change.what = "waiting";
		pageState.set(change);
	}));
	one("idle").addEventListener("click", () => pageState.set({idle: pageState.now.idle ? "" : "1"}));
	one("copy-link").addEventListener("click", copyLink);
	one("help-button").addEventListener("click", () => one("help").showModal());
	one("keys").append(...KEYS.filter(([, text]) => text).flatMap(([keys, text]) =>
		[make("dt", {}, keys), make("dd", {}, text)]));
	for (const part of [pageTheme, pageChart, pageRanges, pageView, pageFilters, pageGraph, pageCompare, pageOver,
		pageHeat,
		pageLists, pageSave, pageLive])
		part.listen();
	pageToken.listen(begin);
	pageChart.onSeries = (series, state) => pageGroups.show(series, state);
}

document.addEventListener("DOMContentLoaded", () => {
	pageToken.takeFromLink();
	listen();
	pageState.start(show);
	begin();
});
})();
