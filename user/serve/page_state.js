// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_state: what is seen, all of which is in the link:
//
//	from, to   the view, ms		range, base   [[from, to], …] or null: what is shown below, and what it is compared with
//	what       "running", "waiting" or "both"		by   what the time line is stacked by
//	comm, pid, cgroup, container, unit, state, function   filters		idle   "1": with waits for work
//	show       "graph", "heat", "worse" or "search"		over   a function over time		q   the search
//	group      words by which the graph is grouped		x   the state of the flame graph, as its own link has it
const pageState = (function () {
"use strict";

const FILTERS = ["comm", "unit", "cgroup", "container", "pid", "state", "function"];
const DEFAULTS = {what: "running", by: "comm", show: "graph"};
const TEXTS = ["what", "by", "show", "idle", "over", "q", "group", "x"].concat(FILTERS);

let now = {};
let onChange = () => {};

const momentText = (ms) => new Date(Math.round(ms / 1000) * 1000).toISOString().slice(0, 19) + "Z";
const rangeText = ([from, to]) => momentText(from) + ".." + momentText(to);

function readRanges(text) {
	const ranges = (text || "").split(",").map((part) => part.split("..").map((moment) => Date.parse(moment)));
	return ranges.every(([from, to]) => from < to) ? ranges : null;
}

function read(link) {
	const found = Object.fromEntries(new URLSearchParams(link.replace(/^#/, ""))), state = Object.assign({}, DEFAULTS);
	TEXTS.filter((key) => found[key]).forEach((key) => { state[key] = found[key]; });
	if (Date.parse(found.from) < Date.parse(found.to))
		Object.assign(state, {from: Date.parse(found.from), to: Date.parse(found.to)});
	state.range = readRanges(found.range);
	state.base = readRanges(found.base);
	return state;
}

function write(state) {
	const found = new URLSearchParams();
	if (state.from) {
		found.set("from", momentText(state.from));
		found.set("to", momentText(state.to));
	}
	["range", "base"].filter((key) => state[key]).forEach((key) => found.set(key, state[key].map(rangeText).join(",")));
	TEXTS.filter((key) => state[key] && state[key] !== DEFAULTS[key]).forEach((key) => found.set(key, state[key]));
	return "#" + found.toString().replace(/%3A/g, ":").replace(/%2F/g, "/").replace(/%2C/g, ",");
}

// replace: no step of the browser's history.
function set(change, replace) {
	const before = write(now);
	now = Object.assign({}, now, change);
	const link = write(now);
	if (link !== before)
		history[replace ? "replaceState" : "pushState"](null, "", link);
	onChange(now);
}

function start(run) {
	onChange = run;
	now = read(location.hash);
	addEventListener("popstate", () => {
		now = Object.assign(read(location.hash));
		onChange(now);
	});
}

const filters = (state = now) =>
	Object.fromEntries(FILTERS.filter((key) => state[key]).map((key) => [key, state[key]]));

// From the first to the last of ranges.
const spanOf = (ranges) => [Math.min(...ranges.map(([from]) => from)), Math.max(...ranges.map(([, to]) => to))];

// The parts of time that are shown below: the ranges, or the view.
const shown = (state = now) => state.range || [[state.from, state.to]];

// Filters of everything below the time line: what decides the state, unless a filter does.
const below = (state = now) => Object.assign(state.what === "both" ? {} : {state: state.what}, filters(state));

return {FILTERS, set, start, read, write, filters, shown, below, momentText, rangeText, spanOf,
	get now() { return now; }};
})();
