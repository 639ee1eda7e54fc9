// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_compare: the line below the time line: what is shown, what it is compared with, and how much changed. A base is
// one click away: the same time yesterday or a week ago, the time before.
const pageCompare = (function () {
"use strict";

const {one} = pageText;
const {DAY} = pageScale;

let shownKey = "";

const only = (state) => pageState.shown(state)[0];

function setBase(from, to, range) {
	const change = {base: [[from, to]], range: [range], show: "graph", x: ""};
	const view = pageState.now;
	if (from < view.from || to > view.to)
		Object.assign(change, pageScale.clamp(Math.min(from, range[0]), Math.max(to, range[1]), pageStore));
	pageState.set(change);
}

function ago(ms) {
	const [from, to] = only(pageState.now);
	setBase(from - ms, to - ms, [from, to]);
}

// The range begins at the moment: a click on a column is one.
function around() {
	const [from, to] = only(pageState.now), length = Math.max(to - from, 6 * pageChart.series.step);
	setBase(from - length, from, [from, Math.min(from + length, Math.max(pageStore.to, to))]);
}

function textOf({total, counts}) {
	const parts = [["grew", counts.grew], ["shrank", counts.shrank], ["new", counts.new], ["gone", counts.gone]]
		.filter(([, n]) => n).map(([word, n]) => n + " " + word);
	const change = {none: "within chance", grew: "grew", shrank: "shrank", new: "new", gone: "gone"}[total.change];
	return pageText.changeOf(1 + total.ratio, 1) + " a second" + (change ? ", " + change : "") + " (" +
		pageText.digits(Math.abs(total.deviations || 0), 2) + "\u03c3) \u00b7 " +
			(parts.join(", ") || "no function changed") +
		" beyond chance";
}

const forget = () => { shownKey = ""; };

async function showChange(state) {
	const key = JSON.stringify(pageGraph.parametersOf(state));
	if (!state.base || key === shownKey)
		return;
	shownKey = key;
	one("change").textContent = "";
	try {
		const answer = await pageApi.object("diff", Object.assign(pageGraph.parametersOf(state), {limit: 1}), "change");
		one("change").textContent = textOf(answer);
	} catch (error) {
		if (!pageApi.isReplaced(error))
			forget();
		pageNotes.fail(error);
	}
}

const lengthOf = (ranges) => pageText.lengthOf(ranges.reduce((sum, [from, to]) => sum + to - from, 0));
const textOfRanges = (ranges) => (ranges.length > 1 ? ranges.length + " ranges, " : "") +
	pageText.rangeOf(...pageState.spanOf(ranges));

function show(state) {
	const ranges = pageState.shown(state);
	one("range-text").textContent = textOfRanges(ranges);
	one("range-length").textContent = lengthOf(ranges) + (state.range ? "" : ", all that is in view");
	one("range-clear").hidden = !state.range;
	one("base-line").hidden = !state.base;
	one("base-text").textContent = state.base ? textOfRanges(state.base) : "";
	one("base-length").textContent = state.base ? lengthOf(state.base) : "";
	for (const [id, ms] of [["yesterday", DAY], ["week-ago", 7 * DAY]])
		one(id).disabled = only(state)[1] - ms <= pageStore.from;
	if (!state.base)
		shownKey = "";
	showChange(state);
}

function listen() {
	one("yesterday").addEventListener("click", () => ago(DAY));
	one("week-ago").addEventListener("click", () => ago(7 * DAY));
	one("around").addEventListener("click", around);
	one("range-clear").addEventListener("click", () => pageState.set({range: null, x: ""}));
	one("base-clear").addEventListener("click", () => pageState.set({base: null, x: ""}));
}

return {show, listen};
})();
