// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_series: rows of /api/series as columns: {begin, step (ms), n, recorded, groups: [{name, values, sum}], marks},
// values in seconds of threads' time a step, the heaviest group first and the rest last; marks: {at, lost} and
// {at, hertz, saving, isFirst, isRate: it is another one}, see docs/api.md. Uses no document.
const pageSeries = (function () {
"use strict";

const OTHERS = "(others)";

const valueOf = (row, {what, idle}) => (what === "waiting" ? 0 : row.running_seconds) +
	(what === "running" ? 0 : row.waiting_seconds - (idle ? 0 : row.idle_seconds));

function read(rows, from, to, step, state) {
	const begin = Math.floor(from / step) * step, n = Math.max(1, Math.ceil((to - begin) / step));
	const recorded = new Uint8Array(n), groups = new Map(), marks = [];
	let hertz = 0;
	for (const row of rows) {
		const i = Math.round((Date.parse(row.start) - begin) / step);
		if (i < 0 || i >= n)
			continue;
		if (!row.group) {
			const isRate = Boolean(row.hertz && hertz && row.hertz !== hertz);
			marks.push(Object.assign({at: begin + i * step, isFirst: !marks.length, isRate}, row));
			hertz = row.hertz || hertz;
			continue;
		}
		recorded[i] = 1;
		if (!groups.has(row.group))
			groups.set(row.group, {name: row.group, values: new Float64Array(n), sum: 0});
		const group = groups.get(row.group), value = valueOf(row, state);
		group.values[i] += value;
		group.sum += value;
	}
	const list = Array.from(groups.values()).filter(({sum}) => sum > 0)
		.sort((a, b) => (a.name === OTHERS) - (b.name === OTHERS) || b.sum - a.sum);
	return {begin, step, n, recorded, groups: list, marks};
}

// What a series takes, of the parameters of the server.
const parameters = (state, from, to, step, by, limit) => Object.assign({from: pageState.momentText(from),
	to: pageState.momentText(to), step: step / 1000 + "s", by, limit, empty: true, marks: by !== "all",
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

// Whether sumOf() of this range adds up whole steps.
function isExact(series, [from, to]) {
	const isEdge = (ms) => (ms - series.begin) % series.step === 0;
	return (isEdge(from) || from <= pageStore.from) && (isEdge(to) || to >= pageStore.to);
}

// {group: seconds} of ranges, to the window: [Map, …] as one. Each takes a question.
async function totals(state, ranges, by, purpose) {
	const step = 7 * pageScale.DAY, sums = new Map();
	const answers = await Promise.all(ranges.map(([from, to], i) =>
		pageApi.rows("series", parameters(state, from, to, step, by, 0), purpose + i)));
	for (const row of answers.flat().filter(({group}) => group))
		sums.set(row.group, (sums.get(row.group) || 0) + valueOf(row, state));
	return sums;
}

return {OTHERS, load, read, sumOf, isExact, totals, parameters};
})();
