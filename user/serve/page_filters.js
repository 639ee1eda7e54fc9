// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_filters: the filters of everything that is shown, as chips, and a field to add one.
const pageFilters = (function () {
"use strict";

const {one, make} = pageText;
const TITLES = {comm: "command", unit: "unit", cgroup: "cgroup", container: "container", pid: "process", state: "state",
	function: "function"};

const add = (filters) => pageState.set(Object.assign({x: ""}, filters));

function show(state) {
	const chips = pageState.FILTERS.filter((key) => state[key]).map((key) =>
		make("li", {}, make("button", {type: "button",
		class: "chip", "aria-label": "Remove the filter " + TITLES[key] + " " + state[key],
			on: {click: () => add({[key]: ""})}},
	make("span", {}, TITLES[key] + ": " + state[key]), "\u00d7")));
	one("chips").replaceChildren(...chips);
	one("chips").hidden = !chips.length;
}

function listen() {
	one("filter-form").addEventListener("submit", (event) => {
		event.preventDefault();
		const value = one("filter-value").value.trim();
		if (value)
			add({[one("filter-kind").value]: value});
		one("filter-value").value = "";
	});
}

return {add, show, listen};
})();
