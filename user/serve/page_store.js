// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_store: what there is: from when to when, how long the recorded windows are, and where nothing was recorded.
const pageStore = (function () {
"use strict";

const store = {from: 0, to: 0, window: 10000, finest: 0, gaps: [], bytes: 0};

const seconds = (level) => {
	const [, number, unit] = /^([\d.]+)(ms|s|m)$/.exec(level) || [];
	return number ? number * {ms: 1, s: 1000, m: 60000}[unit] : 0;
};

async function load() {
	const rows = await pageApi.rows("list", {}, "list");
	const files = rows.filter(({level, begin, end}) => level && begin < end);
	const shortest = Math.min(...rows.filter(({level}) => seconds(level)).map(({level}) => seconds(level)));
	const own = files.filter(({level}) => seconds(level) === shortest);
	store.from = Math.min(...files.map(({begin}) => Date.parse(begin)));
	store.to = Math.max(...files.map(({end}) => Date.parse(end)));
	store.window = shortest;
	store.finest = Math.min(...own.map(({begin}) => Date.parse(begin)), store.to);
	store.bytes = rows.reduce((sum, {bytes}) => sum + (bytes || 0), 0);
	store.gaps = rows.filter(({gap}) => gap).map(({gap, begin, end}) =>
		({from: Date.parse(begin), to: Date.parse(end), reason: gap}));
	return store;
}

// The shortest step that there are windows for from a time on.
const leastStep = (ms) => (Math.max(ms, store.from) >= store.finest ? store.window : pageScale.MINUTE);

// ms of a part of time that were recorded, as far as gaps are known.
function recordedIn(from, to) {
	const within = (begin, end) => Math.max(0, Math.min(to, end) - Math.max(from, begin));
	return store.gaps.reduce((rest, gap) => rest - within(gap.from, gap.to), within(store.from, store.to));
}

store.load = load;
store.leastStep = leastStep;
store.recordedIn = recordedIn;
return store;
})();
