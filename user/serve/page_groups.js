// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_groups: the table beside the time line: each group's share of what is shown below, and its change: since the
// base, or since the time of equal length before. A click filters by the group.
const pageGroups = (function () {
"use strict";

const {one, make} = pageText;

// The parameter that a group of each kind is.
const FILTER_OF = {comm: "comm", cgroup: "cgroup", unit: "unit", cause: "state"};

const escapeGlob = (name) => name.replace(/[\\*?[\]]/g, "\\$&");

function filterOf(by, name) {
	if (by === "cause")
		return {state: name === "[on-cpu]" ? "running" : name.replace(/^\[|\]$/g, "").replace(/ /g, "-")};
	return {[FILTER_OF[by]]: by === "cgroup" ? name : escapeGlob(name)};
}

const lengthOf = (ranges) => ranges.reduce((sum, [from, to]) => sum + to - from, 0);

const estimate = (series, ranges) => new Map(series.groups.map((group) => [group.name,
	ranges.reduce((sum, [from, to]) => sum + pageSeries.sumOf(series, group, from, to), 0)]));

// Those that the time line has as one are one.
function fold(series, sums) {
	const known = new Set(series.groups.map(({name}) => name)), folded = new Map();
	for (const [name, sum] of sums) {
		const key = known.has(name) ? name : pageSeries.OTHERS;
		folded.set(key, (folded.get(key) || 0) + sum);
	}
	return folded;
}

const load = async (series, state, ranges) => (ranges.every((range) => pageSeries.isExact(series, range)) ?
	estimate(series, ranges) : fold(series, await pageSeries.totals(state, ranges, state.by, "sums")));

async function loadBefore(state, ranges) {
	const [from, to] = pageState.spanOf(ranges), before = state.base || [[from - (to - from), from]];
	if (pageState.spanOf(before)[1] <= pageStore.from)
		return null;
	const recorded = before.map(([begin, end]) => [Math.max(begin, pageStore.from), end])
		.filter(([begin, end]) => end > begin);
	return {sums: await pageSeries.totals(state, before, state.by, "before"), length: lengthOf(recorded)};
}

function row(state, {name, sum, share, before}) {
	const isOthers = name === pageSeries.OTHERS, label = [make("i", {class: "swatch " + pageChart.colourOf(name)}),
		make("span", {class: "name"}, name)];
	const cell = isOthers || name === "(none)" ? make("span", {class: "plain"}, ...label) :
		make("button", {type: "button", title: "Only " + name,
			on: {click: () => pageFilters.add(filterOf(state.by, name))}},
			...label);
	const change = before === undefined || isOthers ? "" : pageText.changeOf(sum, before);
	const bar = make("i", {class: "bar"});
	bar.style.width = 100 * share + "%";
	return make("tr", {"data-group": name}, make("th", {scope: "row"}, cell, bar),
		make("td", {}, pageText.percentOf(share)),
		make("td", {}, pageText.secondsOf(sum)), make("td", {class: change.startsWith("\u2212") ? "shrank" :
			/^[+\u00d7n]/.test(change) ? "grew" : "none"}, change));
}

function fill(state, sums, ranges, before) {
	const total = Array.from(sums.values()).reduce((a, b) => a + b, 0), scale = before ?
		lengthOf(ranges) / before.length : 0;
	const rows = Array.from(sums).filter(([, sum]) => sum > 0).map(([name, sum]) => ({name, sum, share: sum / total,
		before: before ? (before.sums.get(name) || 0) * scale : undefined}));
	rows.sort((a, b) => (a.name === pageSeries.OTHERS) - (b.name === pageSeries.OTHERS) || b.sum - a.sum);
	one("groups").replaceChildren(...rows.map((line) => row(state, line)));
	one("groups-none").hidden = rows.length > 0;
	one("groups-total").textContent = pageText.secondsOf(total);
	one("groups-change").textContent = before ? pageText.changeOf(total, Array.from(before.sums.values())
		.reduce((a, b) => a + b, 0) * scale) : "";
	one("change-head").title = state.base ? "Since the base, each second" : "Since the " +
		pageText.lengthOf(lengthOf(ranges)) + " before";
}

async function show(series, state) {
	const ranges = pageState.shown(state);
	fill(state, estimate(series, ranges), ranges, null);
	one("shares").setAttribute("aria-busy", "true");
	try {
		const [sums, before] = await Promise.all([load(series, state, ranges), loadBefore(state, ranges)]);
		fill(state, sums, ranges, before);
	} catch (error) {
		if (pageApi.isReplaced(error))
			return;
		pageNotes.fail(error);
	}
	one("shares").setAttribute("aria-busy", "false");
}

return {show, filterOf, escapeGlob};
})();
