// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_chart: the time line: a column a step, stacked by group; what was not recorded is hatched. Below it the whole
// store, as small, with the view.
const pageChart = (function () {
"use strict";

const {one, make} = pageText;
const NS = "http://www.w3.org/2000/svg", HEIGHT = 190, FOOT = 22, MOST_STEPS = 180, GROUPS = 12, LEAST_TICK = 86;

let series = null, shownKey = "";
let onSeries = () => {};
const colours = new Map(); // numbers of colours by group: a group keeps its own while it is shown

function svg(tag, attributes, ...children) {
	const element = document.createElementNS(NS, tag);
	Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
	element.append(...children);
	return element;
}

function giveColours(groups) {
	const names = groups.map(({name}) => name).filter((name) => name !== pageSeries.OTHERS);
	Array.from(colours.keys()).filter((name) => !names.includes(name)).forEach((name) => colours.delete(name));
	for (const name of names.filter((one_) => !colours.has(one_))) {
		const taken = new Set(colours.values());
		colours.set(name, Array.from({length: GROUPS}, (_, i) => i).find((i) => !taken.has(i)) || 0);
	}
}

const colourOf = (name) => (colours.has(name) ? "c" + colours.get(name) : "others");

// Steps without a row, as far as the store goes: at its ends, those that most of a window lies in.
function gapsOf({begin, step, n, recorded}) {
	const gaps = [];
	for (let i = 0; i < n; i++) {
		const from = begin + i * step;
		const part = Math.min(from + step, pageStore.to) - Math.max(from, pageStore.from);
		if (recorded[i] || part <= Math.min(step, pageStore.window) / 2)
			continue;
		if (gaps.length && gaps[gaps.length - 1].to === from)
			gaps[gaps.length - 1].to += step;
		else
			gaps.push({from, to: from + step});
	}
	return gaps;
}

function columns(values, bottoms, x, y, width) {
	let path = "";
	values.forEach((value, i) => {
		if (!(value > 0))
			return;
		const left = x(i), right = Math.max(left + 0.5, x(i + 1) - (width > 5 ? 1 : 0)), low = y(bottoms[i]);
		bottoms[i] += value;
		path += "M" + left.toFixed(1) + " " + low.toFixed(1) + "V" + y(bottoms[i]).toFixed(1) + "H" +
			right.toFixed(1) + "V" + low.toFixed(1) + "z";
	});
	return path;
}

// Seconds of a step that its windows cover: all, but where recording began, ended or paused.
function secondsIn({begin, step}, i) {
	const from = begin + i * step, {window: length} = pageStore;
	const part = pageStore.recordedIn(from, from + step);
	return (part < step ? Math.min(step, Math.max(1, Math.round(part / length)) * length) : step) / 1000;
}

function unitOf(what, n) {
	return (what === "running" ? "CPU" : "thread") + (n === 1 ? "" : "s");
}

function drawAxes(chart, state, most, width, y) {
	for (const part of [0.5, 1])
		chart.append(svg("line", {class: "grid", x1: 0, x2: width, y1: y(most * part), y2: y(most * part)}),
			svg("text", {class: "value", x: 4, y: y(most * part) + 12},
				pageText.digits(most * part) +
				(part === 1 ? " " + unitOf(state.what, most) : "")));
	chart.append(svg("line", {class: "axis", x1: 0, x2: width, y1: y(0), y2: y(0)}));
	const span = state.to - state.from;
	for (const {at, text, isDay} of pageScale.ticksOf(state.from, state.to, LEAST_TICK * span / width)) {
		const x = (at - state.from) / span * width;
		chart.append(svg("line", {class: isDay ? "axis" : "grid", x1: x, x2: x, y1: y(0), y2: HEIGHT - FOOT + 4}));
		if (x > 18 && x < width - 18)
			chart.append(svg("text", {class: isDay ? "tick day" : "tick", x, y: HEIGHT - 5}, text));
	}
}

function draw(state) {
	const chart = one("chart"), width = chart.clientWidth || 800, span = state.to - state.from;
	const sums = new Float64Array(series.n);
	series.groups.forEach(({values}) => values.forEach((value, i) => { sums[i] += value / series.seconds[i]; }));
	const most = pageScale.roundUp(sums.reduce((a, b) => Math.max(a, b), 0) || 1);
	const x = (i) => (series.begin + i * series.step - state.from) / span * width;
	const y = (value) => (HEIGHT - FOOT) - value / most * (HEIGHT - FOOT - 6);
	const bottoms = new Float64Array(series.n), bar = x(1) - x(0);
	chart.replaceChildren(svg("defs", {},
		svg("pattern", {id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse",
		patternTransform: "rotate(45)"}, svg("rect", {width: 2, height: 6, class: "hatch"}))));
	chart.setAttribute("viewBox", "0 0 " + width + " " + HEIGHT);
	for (const {from, to} of gapsOf(series)) {
		const left = Math.max(0, (from - state.from) / span * width),
			right = Math.min(width, (to - state.from) / span * width);
		chart.append(svg("rect", {class: "gap", x: left, width: Math.max(right - left, 1), y: 6,
			height: HEIGHT - FOOT - 6,
			fill: "url(#hatch)"}));
	}
	for (const group of series.groups)
		chart.append(svg("path", {class: "group " + colourOf(group.name), "data-group": group.name,
			d: columns(group.values.map((value, i) => value / series.seconds[i]), bottoms, x, y, bar)}));
	drawGapMarks(chart, state, width);
	drawMarks(chart, state, width);
	drawAxes(chart, state, most, width, y);
	chart.setAttribute("aria-label", describe(state));
}

// Gaps shorter than a step, too.
function drawGapMarks(chart, state, width) {
	const span = state.to - state.from;
	for (const {from, to, reason} of pageStore.gaps.filter((gap) => gap.to > state.from && gap.from < state.to))
		chart.append(svg("rect", {class: "gap-mark", x: (from - state.from) / span * width, y: 0, height: 5,
			width: Math.max(2, (to - from) / span * width)},
		svg("title", {}, reason + ", " + pageText.rangeOf(from, to))));
}

// Losses, and changes of the rate and of what is done without.
function drawMarks(chart, state, width) {
	for (const mark of series.marks) {
		const x = Math.max(0, (mark.at - state.from) / (state.to - state.from) * width);
		const middle = x + series.step / (state.to - state.from) * width / 2;
		const title = () => svg("title", {}, markText(mark) + ", " + pageText.timeOf(mark.at));
		if (mark.lost)
			chart.append(svg("path", {class: "loss-mark", d: "M" + (middle - 5) + " 0h10l-5 9z"}, title()));
		if (mark.hertz && !mark.isFirst)
			chart.append(svg("path", {class: "rate-mark", d: "M" + x + " 0v" + (HEIGHT - FOOT)}, title()));
		if (mark.isRate)
			chart.append(svg("text", {class: "value rate-text", x: x + 4, y: 24},
				pageText.digits(mark.hertz) + " Hz"));
	}
}

const markText = (mark) => [mark.lost ? pageText.plural(mark.lost, "sample") + " lost" : "",
	mark.hertz && !mark.isFirst ? "from here on " + pageText.digits(mark.hertz) + " Hz" +
		(mark.saving ? ": " + mark.saving : "") : ""].filter(Boolean).join(" \u00b7 ");

// Of the view, in words: "1 gap · 12 samples lost · the rate changed 2 times".
function marksText(state) {
	const gaps = pageStore.gaps.filter((gap) => gap.to > state.from && gap.from < state.to).length;
	const lost = series.marks.reduce((sum, mark) => sum + (mark.lost || 0), 0);
	const changes = series.marks.filter((mark) => mark.isRate).length;
	return [gaps ? pageText.plural(gaps, "gap") : "", lost ? pageText.plural(lost, "sample") + " lost" : "",
		changes ? "the rate changed " + (changes > 1 ? changes + " times" : "") : ""].filter(Boolean)
		.join(" \u00b7 ").trim();
}

function describe(state) {
	const list = series.groups.slice(0, 3).map(({name, sum}) => name + " " + pageText.secondsOf(sum)).join(", ");
	return (state.what === "running" ? "CPU time" : state.what === "waiting" ? "Waiting" : "CPU time and waiting") +
		" by " + state.by + ", " + pageText.rangeOf(state.from, state.to) + ": " + (list || "nothing") +
		(marksText(state) ? "; " + marksText(state) : "");
}

const stepFor = (from, to) =>
	pageScale.stepOf(from, to, Math.min(MOST_STEPS, Math.max(40, one("chart").clientWidth / 5)),
	pageStore.leastStep(from));

const keyOf = (state) => JSON.stringify([state.from, state.to, state.what, state.by, state.idle,
	pageState.filters(state)]);

const forget = () => { shownKey = ""; };

async function show(state) {
	const key = keyOf(state);
	if (key === shownKey)
		return;
	shownKey = key;
	one("time").setAttribute("aria-busy", "true");
	try {
		const step = stepFor(state.from, state.to);
		series = await pageSeries.load(state, state.from, state.to, step, state.by, GROUPS, "chart");
		series.of = key;
		series.seconds = Array.from({length: series.n}, (_, i) => secondsIn(series, i));
		giveColours(series.groups);
		draw(state);
		one("step").textContent = pageText.lengthOf(step) + " a column";
		one("marks").textContent = marksText(state);
		onSeries(series, state);
	} catch (error) {
		if (pageApi.isReplaced(error))
			return;
		forget();
		pageNotes.fail(error);
	}
	one("time").setAttribute("aria-busy", "false");
}

// The whole store.

async function showWhole(state) {
	const step = pageScale.stepOf(pageStore.from, pageStore.to, 300,
		pageStore.to - pageStore.from < pageScale.HOUR ? pageStore.leastStep(pageStore.from) : pageScale.MINUTE);
	const whole = await pageSeries.load({what: state.what, idle: state.idle}, pageStore.from, pageStore.to, step, "all",
		1, "whole");
	whole.seconds = Array.from({length: whole.n}, (_, i) => secondsIn(whole, i));
	if (whole.groups.length)
		whole.groups[0].values = whole.groups[0].values.map((value, i) => value / whole.seconds[i]);
	const chart = one("whole-chart"), most = Math.max(...(whole.groups[0] || {values: [1]}).values), {n} = whole;
	const path = whole.groups.length ? columns(whole.groups[0].values, new Float64Array(n), (i) => i,
		(value) => 30 - 28 * value / most, 1) : "";
	chart.setAttribute("viewBox", "0 0 " + n + " 30");
	chart.replaceChildren(svg("path", {d: path, class: "whole"}));
	moveView(state);
}

function moveView({from, to}) {
	const span = Math.max(1, pageStore.to - pageStore.from), view = one("whole-view");
	view.style.left = 100 * Math.max(0, from - pageStore.from) / span + "%";
	view.style.width = Math.max(0.4, 100 * (Math.min(to, pageStore.to) - Math.max(from, pageStore.from)) / span) + "%";
}

// The pointer.

function tipAt(state, ms) {
	const i = Math.floor((ms - series.begin) / series.step), from = series.begin + i * series.step,
		unit = series.seconds[i];
	if (i < 0 || i >= series.n)
		return null;
	const gap = pageStore.gaps.find((one_) => one_.to > from && one_.from < from + series.step);
	const found = series.groups.map((group) => [group.name, group.values[i]]).filter(([, value]) => value > 0)
		.sort((a, b) => b[1] - a[1]);
	const sum = found.reduce((total, [, value]) => total + value, 0);
	const head = make("p", {class: "tip-head"}, pageText.rangeOf(from, from + series.step));
	const line = make("p", {class: "tip-sum"}, series.recorded[i] ? pageText.digits(sum / unit) + " " +
		unitOf(state.what) :
		"not recorded", gap ? " \u00b7 " + gap.reason : "",
	...series.marks.filter((mark) => mark.at === from && markText(mark)).map((mark) => " \u00b7 " + markText(mark)));
	return [head, line, make("ul", {}, ...found.slice(0, 6).map(([name, value]) => make("li", {},
		make("i", {class: "swatch " + colourOf(name)}), make("span", {class: "name"}, name), make("b", {},
			pageText.digits(value / unit)))))];
}

function listen() {
	const tip = one("tip"), time = one("time");
	time.addEventListener("pointermove", (event) => {
		const box = time.getBoundingClientRect(), {now: state} = pageState;
		const ms = state.from + (event.clientX - box.left) / box.width * (state.to - state.from);
		const parts = series && event.pointerType !== "touch" && !event.buttons ? tipAt(state, ms) : null;
		tip.hidden = !parts;
		if (!parts)
			return;
		tip.replaceChildren(...parts);
		tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
		tip.style.top = box.bottom + scrollY + 4 + "px";
	});
	time.addEventListener("pointerleave", () => { tip.hidden = true; });
	let drawn = 0;
	new ResizeObserver(() => {
		cancelAnimationFrame(drawn);
		drawn = requestAnimationFrame(() => series && draw(pageState.now));
	}).observe(one("chart"));
}

return {show, keyOf, showWhole, moveView, listen, colourOf, svg, set onSeries(run) { onSeries = run; },
	get series() { return series; }};
})();
