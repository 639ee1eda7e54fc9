// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_over: one function over time, below the time line and on its scale: its share of everything by step, and since
// when there is any of it.
const pageOver = (function () {
"use strict";

const {one} = pageText;
const HEIGHT = 64, MOST_STEPS = 120;

let shownKey = "";

const forget = () => { shownKey = ""; };

// An expression that only this name matches.
const exactly = (name) => "^" + name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
const nameOf = (expression) => expression.replace(/^\^|\$$/g, "").replace(/\\(.)/g, "$1");

// Shows it over all that is kept; what is shown below stays.
function open(name) {
	const {now} = pageState;
	pageState.set(Object.assign({over: exactly(name), range: pageState.shown(now)},
		pageScale.clamp(pageStore.from, pageStore.to, pageStore)));
	one("overview").scrollIntoView({block: "nearest"});
}

function sharesOf(own, all) {
	const weights = all.groups.length ? all.groups[0].values : new Float64Array(all.n);
	const values = own.groups.length ? own.groups[0].values : new Float64Array(all.n);
	return Array.from(weights, (weight, i) => (all.recorded[i] ? (weight > 0 ? values[i] / weight : 0) : null));
}

function draw(shares, {begin, step}, state) {
	const chart = one("over-chart"), width = chart.clientWidth || 800, span = state.to - state.from;
	const most = pageScale.roundUp(Math.max(...shares.filter((share) => share !== null), 1e-6));
	const x = (i) => ((begin + i * step - state.from) / span * width).toFixed(1);
	const y = (share) => (HEIGHT - 1 - share / most * (HEIGHT - 6)).toFixed(1);
	let area = "", line = "";
	shares.forEach((share, i) => {
		if (share === null)
			return;
		const isNew = i === 0 || shares[i - 1] === null;
		area += "M" + x(i) + " " + y(0) + "V" + y(share) + "H" + x(i + 1) + "V" + y(0) + "z";
		line += (isNew ? "M" + x(i) + " " + y(share) : "V" + y(share)) + "H" + x(i + 1);
	});
	const {svg} = pageChart;
	chart.setAttribute("viewBox", "0 0 " + width + " " + HEIGHT);
	chart.replaceChildren(svg("line", {class: "grid", x1: 0, x2: width, y1: y(most), y2: y(most)}),
		svg("path", {class: "over-area", d: area}), svg("path", {class: "over-line", d: line}),
		svg("text", {class: "value", x: 4, y: 16}, pageText.percentOf(most)));
}

function describe(shares, {begin, step}) {
	const known = shares.map((share, i) => ({share, at: begin + i * step})).filter(({share}) => share !== null);
	const first = known.findIndex(({share}) => share > 0);
	if (first < 0)
		return "nothing of it in this view";
	const top = known.reduce((a, b) => (b.share > a.share ? b : a)), last = known[known.length - 1];
	return (first === 0 ? "in all of this view" : "since " + pageText.timeOf(known[first].at)) + " \u00b7 most " +
		pageText.percentOf(top.share) + " at " + pageText.timeOf(top.at) + " \u00b7 last " +
			pageText.percentOf(last.share);
}

async function load(state) {
	const step = pageScale.stepOf(state.from, state.to, MOST_STEPS, pageStore.leastStep(state.from));
	const more = Object.assign({}, state, {function: state.over});
	const [all, own] = await Promise.all([pageSeries.load(state, state.from, state.to, step, "all", 1, "over-all"),
		pageSeries.load(more, state.from, state.to, step, "all", 1, "over")]);
	const shares = sharesOf(own, all);
	draw(shares, all, state);
	one("over-text").textContent = describe(shares, all);
	one("over-chart").setAttribute("aria-label", nameOf(state.over) + ": " + describe(shares, all));
}

async function show(state) {
	const key = JSON.stringify([state.over, pageChart.keyOf(state)]), lane = one("over");
	lane.hidden = !state.over;
	if (!state.over || key === shownKey)
		return;
	shownKey = key;
	one("over-name").textContent = nameOf(state.over);
	lane.setAttribute("aria-busy", "true");
	try {
		await load(state);
	} catch (error) {
		if (pageApi.isReplaced(error))
			return;
		forget();
		one("over-text").textContent = error.message;
	}
	lane.setAttribute("aria-busy", "false");
}

function listen() {
	one("over-close").addEventListener("click", () => pageState.set({over: ""}));
	one("over-all").addEventListener("click", () => pageView.lookAtLast(Infinity));
}

return {open, show, listen, exactly};
})();
