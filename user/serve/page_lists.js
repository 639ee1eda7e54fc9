// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_lists: tables of functions and processes below the time line: what a search finds in the range, and what got
// worse since the same time of the seven days before. A click filters by a row, or shows it over time.
const pageLists = (function () {
"use strict";

const {one, make} = pageText;
const LIMIT = 50;

const shown = {search: "", worse: ""};
let timer = 0;

const forget = (what) => { shown[what] = ""; };

const rangeOf = (state) => {
	const [from, to] = pageState.spanOf(pageState.shown(state));
	return {from: pageState.momentText(from), to: pageState.momentText(to)};
};

const parametersOf = (state) => Object.assign(rangeOf(state), pageState.below(state), {limit: LIMIT,
	idle: Boolean(state.idle)});

// columns: [title, cells' text of a row]; buttons: [title, what a click does].
function table(caption, columns, buttons, rows, left) {
	const head = make("tr", {}, ...columns.map(([title]) => make("th", {scope: "col"}, title)),
		make("th", {scope: "col"}, make("span", {class: "unseen"}, "Do")));
	const body = rows.map((row) => make("tr", {}, ...columns.map(([, text], i) =>
		make(i ? "td" : "th", i ? {} : {scope: "row", title: text(row)}, text(row))),
	make("td", {class: "do"}, ...buttons.map(([title, run]) =>
		pageText.button(title, title + ": " + columns[0][1](row), () => run(row), {class: "link"})))));
	return make("table", {}, make("caption", {}, caption + (left ? " \u00b7 " + left.toLocaleString("en") +
		" more" : "")), make("thead", {}, head), make("tbody", {}, ...body));
}

const module = (row) => (row.module ? " \u00b7 " + row.module : "");
const filterBy = (name) => pageFilters.add({function: pageOver.exactly(name), show: "graph"});

async function load(what, state, path, parameters, draw) {
	const box = one(what + "-found"), key = JSON.stringify(parameters);
	if (key === shown[what])
		return;
	shown[what] = key;
	box.setAttribute("aria-busy", "true");
	try {
		box.replaceChildren(...draw(await pageApi.object(path, parameters, what)));
	} catch (error) {
		if (pageApi.isReplaced(error))
			return;
		forget(what);
		box.replaceChildren(make("p", {class: "empty"}, error.status === 404 && what === "worse" ?
			"Nothing was recorded at this time of the seven days before." : error.message));
	}
	box.setAttribute("aria-busy", "false");
}

// Search.

function drawSearch(found) {
	const share = (row) => pageText.percentOf(row.total_seconds / found.total_seconds);
	const times = [["Share", share], ["Time", (row) => pageText.secondsOf(row.total_seconds)]];
	const parts = [];
	if (found.processes.length)
		parts.push(table(pageText.plural(found.processes.length + found.processes_left_out, "process").replace("sss",
			"sses"),
			[["Process", (row) => row.comm + (row.pid ? " " + row.pid : "")]].concat(times),
			[["Only this process", ({pid, comm}) => pageFilters.add(Object.assign({show: "graph"},
				pid ? {pid: String(pid)} : {comm: pageGroups.escapeGlob(comm)}))],
			["Only this command", ({comm}) => pageFilters.add({show: "graph", comm: pageGroups.escapeGlob(comm)})]],
			found.processes, found.processes_left_out));
	if (found.functions.length)
		parts.push(table(pageText.plural(found.functions.length + found.functions_left_out, "function"),
			[["Function", (row) => row.name + module(row)]].concat(times,
				[["Self", (row) => pageText.secondsOf(row.self_seconds)]]),
			[["Only stacks with it", ({name}) => filterBy(name)], ["Over time", ({name}) => pageOver.open(name)]],
			found.functions, found.functions_left_out));
	return parts.length ? parts : [make("p", {class: "empty"}, "Nothing has such a name.")];
}

function showSearch(state) {
	if (document.activeElement !== one("search-text"))
		one("search-text").value = state.q || "";
	const [[from, to], ...also] = pageState.shown(state);
	load("search", state, "functions", Object.assign({q: state.q}, parametersOf(state),
		{from: pageState.momentText(from), to: pageState.momentText(to), also: also.map(pageState.rangeText)}),
	drawSearch);
}

// What got worse.

function drawWorse(found) {
	const rate = (value) => (1000 * value).toFixed(value < 0.01 ? 2 : 1);
	const columns = (title) => [[title, (row) => row.name], ["Before, ms/s", ({base}) => rate(base)],
		["Now, ms/s", (row) => rate(row.new)], ["Change", (row) => pageText.changeOf(row.new, row.base)],
		["\u03c3", ({deviations}) => (deviations === null || deviations === undefined ? "" :
			pageText.digits(deviations, 2))]];
	const buttons = [["Only stacks with it", ({name}) => filterBy(name)],
		["Over time", ({name}) => pageOver.open(name)]];
	const days = found.runs ? found.runs.base : 1;
	const parts = [["self", "Function itself"], ["with_calls", "Function with what it calls"]]
		.filter(([key]) => found[key].length).map(([key, title]) =>
			table(title, columns("Function"), buttons, found[key], found[key + "_left_out"]));
	const note = make("p", {class: "note"},
		(parts.length ? "Grew beyond chance since " : "Nothing grew beyond chance since ") +
		"the same time of " + pageText.plural(days, "day") + " before.");
	return [note].concat(parts);
}

function show(state) {
	if (state.show === "search")
		showSearch(state);
	else if (state.show === "worse")
		load("worse", state, "worse", parametersOf(state), drawWorse);
}

function listen() {
	one("search-text").addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(() => pageState.set({q: one("search-text").value}, true), 250);
	});
}

return {show, listen};
})();
