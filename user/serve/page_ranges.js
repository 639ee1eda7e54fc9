// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_ranges: brushes ranges over the time line. A range lies there as a band with an edge at each end, which the
// pointer drags and arrow keys move; the range is what is shown below, the base what it is compared with.
const pageRanges = (function () {
"use strict";

const {one, make} = pageText;
const LEAST_PIXELS = 4, MOST_RANGES = 16;
const NAMES = {range: "Range", base: "Base"};

let wantsBase = false; // the next brush is the base's
let drag = null;       // {kind, from, to: while it is drawn, edge or whole, grab: ms, was}

const stepMs = () => Math.max(pageStore.window, 1000);
const snap = (ms) => Math.round(ms / stepMs()) * stepMs();

function msAt(clientX) {
	const box = one("time").getBoundingClientRect(), {from, to} = pageState.now;
	return from + Math.max(0, Math.min(1, (clientX - box.left) / box.width)) * (to - from);
}

const place = (ms) => {
	const {from, to} = pageState.now;
	return 100 * (ms - from) / (to - from);
};

function edge(kind, which) {
	const name = NAMES[kind] + ": " + (which ? "end" : "beginning");
	const handle = make("div", {class: "edge", role: "slider", tabindex: 0, "aria-label": name,
		"aria-orientation": "horizontal"});
	handle.addEventListener("keydown", (event) => moveByKey(event, kind, which));
	handle.addEventListener("pointerdown", (event) => begin(event, {kind, edge: which}));
	return handle;
}

// The elements of each range are kept, for the keyboard's focus is on them.
const bands = {range: [], base: []};

function bandOf(kind, i) {
	if (!bands[kind][i]) {
		const band = make("div", {class: "band " + kind}), edges = i === 0 ? [edge(kind, 0), edge(kind, 1)] : [];
		band.append(...edges);
		band.addEventListener("pointerdown", (event) => event.target === band && i === 0 &&
			begin(event, {kind, whole: true}));
		bands[kind][i] = {band, edges};
		one("bands").append(band);
	}
	return bands[kind][i];
}

function showBand(kind, i, range) {
	const {band, edges} = bandOf(kind, i), {from: viewFrom, to: viewTo} = pageState.now;
	const [from, to] = range || [0, 0];
	band.hidden = !range || to <= viewFrom || from >= viewTo;
	if (!range)
		return;
	const left = Math.max(0, place(from)), right = Math.min(100, place(to));
	band.style.left = left + "%";
	band.style.width = right - left + "%";
	edges.forEach((handle, which) => {
		handle.hidden = range[which] < viewFrom || range[which] > viewTo;
		handle.setAttribute("aria-valuemin", Math.round(viewFrom / 1000));
		handle.setAttribute("aria-valuemax", Math.round(viewTo / 1000));
		handle.setAttribute("aria-valuenow", Math.round(range[which] / 1000));
		handle.setAttribute("aria-valuetext", pageText.timeOf(range[which]));
	});
}

function draw(ranges) {
	for (const kind of ["range", "base"]) {
		const list = ranges[kind] || [];
		for (let i = 0; i < Math.max(list.length, bands[kind].length); i++)
			showBand(kind, i, list[i]);
	}
}

const inOrder = (a, b) => (a < b ? [a, b] : [b, a]);

function moveByKey(event, kind, which) {
	const factor = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 10, PageDown: -10}[event.key];
	if (!factor || event.altKey || event.ctrlKey || event.metaKey)
		return;
	event.preventDefault();
	event.stopPropagation();
	const list = pageState.now[kind], range = list[0].slice();
	const column = pageChart.series ? pageChart.series.step : stepMs();
	range[which] = snap(range[which] + factor * (event.shiftKey ? stepMs() : column));
	if (range[1] - range[0] >= stepMs())
		setRange(kind, range, list.slice(1), true);
}

// others: ranges of the kind that stay.
function setRange(kind, range, others, replace) {
	pageState.set({[kind]: [range].concat(others), show: pageState.now.show === "heat" ? "heat" : "graph",
		x: ""}, replace);
}

function begin(event, how) {
	if (event.button || (event.pointerType === "touch" && how.fresh && !event.isPrimary))
		return;
	event.stopPropagation();
	const ms = msAt(event.clientX), now = pageState.now[how.kind];
	drag = Object.assign({from: ms, to: ms, grab: ms, was: now ? now[0] : null, x: event.clientX}, how);
	one("time").setPointerCapture(event.pointerId);
	one("tip").hidden = true;
}

function rangeOfDrag(ms) {
	if (drag.whole) {
		const by = snap(ms - drag.grab);
		return [drag.was[0] + by, drag.was[1] + by];
	}
	if (drag.edge !== undefined)
		return inOrder(drag.was[1 - drag.edge], snap(ms));
	return inOrder(snap(drag.grab), snap(ms));
}

// Those that stay: beside one that is moved, or with Ctrl.
function othersOf(how) {
	const list = pageState.now[how.kind] || [];
	return how.fresh ? (how.adds ? list.slice(0, MOST_RANGES - 1) : []) : list.slice(1);
}

function move(event) {
	if (!drag)
		return;
	drag.moved = drag.moved || Math.abs(event.clientX - drag.x) >= LEAST_PIXELS;
	if (drag.moved)
		draw(Object.assign({}, pageState.now,
			{[drag.kind]: [rangeOfDrag(msAt(event.clientX))].concat(othersOf(drag))}));
}

// A click takes the column that it hits.
function end(event) {
	if (!drag)
		return;
	const {series} = pageChart;
	let range = drag.moved ? rangeOfDrag(msAt(event.clientX)) : null;
	if (!drag.moved && series && drag.edge === undefined) {
		const from = series.begin + Math.floor((drag.grab - series.begin) / series.step) * series.step;
		range = [from, from + series.step];
	}
	if (range && range[1] - range[0] < stepMs())
		range[1] = range[0] + stepMs();
	const {kind} = drag, others = othersOf(drag);
	drag = null;
	if (range && event.type !== "pointercancel") {
		expectBase(false);
		setRange(kind, range, others);
	} else {
		draw(pageState.now);
	}
}

function expectBase(on) {
	wantsBase = on;
	one("second").setAttribute("aria-pressed", on);
	one("time").classList.toggle("second", on);
}

// A range in the middle of the view, for the keyboard.
function create() {
	const {from, to} = pageState.now, third = (to - from) / 3, kind = wantsBase ? "base" : "range";
	const begin = snap(from + third);
	expectBase(false);
	setRange(kind, [begin, Math.max(snap(to - third), begin + stepMs())], []);
	bandOf(kind, 0).edges[0].focus();
}

function listen() {
	const time = one("time");
	time.addEventListener("pointerdown", (event) => begin(event, {kind: wantsBase || event.shiftKey ? "base" : "range",
		fresh: true, adds: event.ctrlKey || event.metaKey}));
	time.addEventListener("pointermove", move);
	time.addEventListener("pointerup", end);
	time.addEventListener("pointercancel", end);
	time.addEventListener("dblclick", () => pageView.zoomToRange());
	one("second").addEventListener("click", () => expectBase(!wantsBase));
	one("new-range").addEventListener("click", create);
}

return {MOST_RANGES, listen, create, expectBase, get wantsBase() { return wantsBase; },
	show: (state) => { if (!drag) draw(state); }};
})();
