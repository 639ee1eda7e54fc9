// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_series: rows of /api/series as columns: {begin, step (ms), n, recorded, groups: [{name, values, sum}]}, values
// in seconds of threads' time a step, the heaviest group first and the rest last. Uses no document.
const pageSeries = (function () {
"use strict";

const OTHERS = "(others)";

const valueOf = (row, {what, idle}) => (what === "waiting" ? 0 : row.running_seconds) +
	(what === "running" ? 0 : row.waiting_seconds - (idle ? 0 : row.idle_seconds));

function read(rows, from, to, step, state) {
	const begin = Math.floor(from / step) * step, n = Math.max(1, Math.ceil((to - begin) / step));
	const recorded = new Uint8Array(n), groups = new Map();
	for (const row of rows) {
		const i = Math.round((Date.parse(row.start) - begin) / step);
		if (i < 0 || i >= n)
			continue;
		recorded[i] = 1;
		if (!groups.has(row.group))
			groups.set(row.group, {name: row.group, values: new Float64Array(n), sum: 0});
		const group = groups.get(row.group), value = valueOf(row, state);
		group.values[i] += value;
		group.sum += value;
	}
	const list = Array.from(groups.values()).filter(({sum}) => sum > 0)
		.sort((a, b) => (a.name === OTHERS) - (b.name === OTHERS) || b.sum - a.sum);
	return {begin, step, n, recorded, groups: list};
}

// What a series takes, of the parameters of the server.
const parameters = (state, from, to, step, by, limit) => Object.assign({from: pageState.momentText(from),
	to: pageState.momentText(to), step: step / 1000 + "s", by, limit, empty: true,
	state: state.what === "both" ? undefined : state.what}, pageState.filters(state));

async function load(state, from, to, step, by, limit, purpose) {
	const aligned = [Math.floor(from / step) * step, Math.ceil(to / step) * step];
	const rows = await pageApi.rows("series", parameters(state, aligned[0], aligned[1], step, by, limit), purpose);
	return read(rows, aligned[0], aligned[1], step, state);
}

// The sum of a group's whole steps, or parts of them, within a range. The store may begin and end within a step.
function sumOf(series, group, from, to) {
	let sum = 0;
	for (let i = 0; i < series.n; i++) {
		const at = series.begin + i * series.step;
		const begin = Math.max(at, pageStore.from), end = Math.min(at + series.step, pageStore.to);
		const part = Math.min(to, end) - Math.max(from, begin);
		if (part > 0)
			sum += group.values[i] * part / (end - begin);
	}
	return sum;
}

return {OTHERS, load, read, sumOf, parameters};
})();
