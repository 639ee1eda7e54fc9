// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_heat: a heat map of windows: a column is ten minutes, an hour or a day, a row the window, the minute or the hour
// in it, the colour the total. A brush over cells is the range: of each column that it touches, those rows.
const pageHeat = (function () {
"use strict";

const {one, make} = pageText;
const {SECOND, MINUTE, HOUR, DAY} = pageScale;
const KINDS = [{upTo: 3 * HOUR, column: 10 * MINUTE, row: 10 * SECOND}, {upTo: 3 * DAY, column: HOUR, row: MINUTE},
	{upTo: Infinity, column: DAY, row: HOUR}];
const LEVELS = 32, HEIGHT = 300, LEFT = 46, FOOT = 20;

let map = null, shownKey = "", drag = null;
let cursor = {column: 0, row: 0};

const forget = () => { shownKey = ""; };

function kindOf(state) {
	const kind = KINDS.find(({upTo}) => state.to - state.from <= upTo);
	return state.from < pageStore.finest && kind.row < MINUTE ? KINDS[1] : Object.assign({}, kind,
		{row: Math.max(kind.row, pageStore.window)});
}

// In the reader's zone: days begin at midnight.
function read(series, kind) {
	const zone = -60000 * new Date(series.begin).getTimezoneOffset();
	const begin = Math.floor((series.begin + zone) / kind.column) * kind.column - zone, rows = kind.column / kind.row;
	const end = series.begin + series.n * series.step, columns = Math.ceil((end - begin) / kind.column);
	const values = new Float64Array(columns * rows).fill(-1), own = series.groups.length ? series.groups[0].values :
		null;
	for (let i = 0; i < series.n; i++)
		if (series.recorded[i])
			values[Math.floor((series.begin + i * series.step - begin) / kind.row)] = own ? own[i] : 0;
	return {kind, begin, rows, columns, values, most: values.reduce((a, b) => Math.max(a, b), 0)};
}

const timeOf = (column, row) => map.begin + column * map.kind.column + row * map.kind.row;

function geometry() {
	const width = one("heat-canvas").clientWidth - LEFT;
	return {width, cell: width / map.columns, line: (HEIGHT - FOOT) / map.rows};
}

// The same colours as graphs: from the paper to the accent, more than linear so that small totals are seen.
function shades(canvas) {
	const style = getComputedStyle(canvas), probe = make("i"), list = [];
	canvas.parentNode.append(probe);
	for (let i = 0; i <= LEVELS; i++) {
		probe.style.color = "color-mix(in oklab, " + style.getPropertyValue("--heat") + " " +
			Math.round(100 * (0.06 + 0.94 * Math.sqrt(i / LEVELS))) + "%, " + style.getPropertyValue("--paper") + ")";
		list.push(getComputedStyle(probe).color);
	}
	const named = (name) => {
		probe.style.color = style.getPropertyValue(name);
		return getComputedStyle(probe).color;
	};
	const outlines = {range: named("--ink"), base: named("--base")};
	probe.remove();
	return {list, ink: style.color, outlines};
}

function draw() {
	const canvas = one("heat-canvas"), ratio = devicePixelRatio || 1, context = canvas.getContext("2d");
	if (!map || !canvas.clientWidth)
		return;
	const {width, cell, line} = geometry(), {list, ink, outlines} = shades(canvas);
	canvas.width = Math.round((width + LEFT) * ratio);
	canvas.height = HEIGHT * ratio;
	context.scale(ratio, ratio);
	for (let i = 0; i < map.values.length; i++) {
		if (map.values[i] < 0)
			continue;
		context.fillStyle = list[Math.round(LEVELS * map.values[i] / (map.most || 1))];
		context.fillRect(LEFT + Math.floor(i / map.rows) * cell, (i % map.rows) * line,
			Math.max(1, cell - (cell > 6 ? 1 : 0)), Math.max(1, line - (line > 6 ? 1 : 0)));
	}
	context.fillStyle = ink;
	context.font = "11px system-ui, sans-serif";
	context.textAlign = "right";
	for (const part of [0, 0.25, 0.5, 0.75])
		context.fillText(rowText(part * map.kind.column), LEFT - 6, part * (HEIGHT - FOOT) + 10);
	context.textAlign = "left";
	const every = Math.ceil(76 / cell);
	for (let column = 0; column < map.columns && column * cell < width - 30; column += every)
		context.fillText(map.kind.column === DAY ? pageText.dateOf(timeOf(column, 0)).slice(5) :
			pageText.clockOf(timeOf(column, 0), false), LEFT + column * cell, HEIGHT - 5);
	drawRanges(context, outlines);
}

function rowText(ms) {
	return map.kind.column === DAY ? pageText.digits(ms / HOUR) + " h" : pageText.digits(ms / MINUTE) + " min";
}

// Outlines of what is chosen, by column.
function drawRanges(context, outlines) {
	const {cell, line} = geometry(), style = getComputedStyle(one("heat-canvas"));
	context.lineWidth = 2;
	const drawn = drag ? {[drag.kind]: rangesOf(drag.from, drag.to)} : {};
	for (const kind of ["base", "range"])
		drawKind(context, drawn[kind] || pageState.now[kind] || [], outlines[kind], kind === "base" ? [6, 3] : []);
	if (document.activeElement === one("heat-canvas")) {
		context.strokeStyle = style.color;
		context.setLineDash([3, 2]);
		context.strokeRect(LEFT + cursor.column * cell, cursor.row * line, cell, Math.max(3, line));
	}
}

function drawKind(context, ranges, colour, dash) {
	const {cell, line} = geometry();
	context.strokeStyle = colour;
	context.setLineDash(dash);
	for (const [from, to] of ranges)
		for (let column = 0; column < map.columns; column++) {
			const top = Math.max(0, (from - timeOf(column, 0)) / map.kind.row);
			const bottom = Math.min(map.rows, (to - timeOf(column, 0)) / map.kind.row);
			if (bottom > top)
				context.strokeRect(LEFT + column * cell, top * line, cell, (bottom - top) * line);
		}
}

// Of two corners: one range where columns are whole, else one of each column.
function rangesOf(a, b) {
	const [left, right] = [Math.min(a.column, b.column), Math.max(a.column, b.column)];
	const [top, bottom] = [Math.min(a.row, b.row), Math.max(a.row, b.row) + 1];
	if (top === 0 && bottom === map.rows)
		return [[timeOf(left, 0), timeOf(right + 1, 0)]];
	return Array.from({length: Math.min(right - left + 1, pageRanges.MOST_RANGES)}, (_, i) => [timeOf(left + i, top),
		timeOf(left + i, bottom)]);
}

function cellAt(event) {
	const box = one("heat-canvas").getBoundingClientRect(), {cell, line} = geometry();
	return {column: Math.max(0, Math.min(map.columns - 1, Math.floor((event.clientX - box.left - LEFT) / cell))),
		row: Math.max(0, Math.min(map.rows - 1, Math.floor((event.clientY - box.top) / line)))};
}

const kindOfChoice = (event) => (event.shiftKey || pageRanges.wantsBase ? "base" : "range");

// add: to what is chosen already.
function choose(from, to, kind, add) {
	const most = pageRanges.MOST_RANGES;
	const all = (add && pageState.now[kind] || []).concat(rangesOf(from, to)), list = all.slice(-most);
	if (all.length > most || Math.abs(from.column - to.column) >= most && list.length === most)
		pageNotes.say("At most " + most + " ranges at a time", true);
	pageRanges.expectBase(false);
	pageState.set({[kind]: list.sort((a, b) => a[0] - b[0]), x: ""});
}

function tell({column, row}) {
	const value = map.values[column * map.rows + row];
	one("heat-text").textContent = pageText.rangeOf(timeOf(column, row), timeOf(column, row + 1)) + ": " + (value < 0 ?
		"not recorded" : pageText.secondsOf(value));
}

async function show(state) {
	const isShown = state.show === "heat";
	if (!isShown)
		return;
	const key = pageChart.keyOf(Object.assign({}, state, {by: "all"}));
	if (key === shownKey) {
		draw();
		return;
	}
	shownKey = key;
	one("heat").setAttribute("aria-busy", "true");
	try {
		const kind = kindOf(state);
		map = read(await pageSeries.load(state, state.from, state.to, kind.row, "all", 1, "heat"), kind);
		one("heat-text").textContent = "A column is " + pageText.lengthOf(kind.column) + ", a row " +
			pageText.lengthOf(kind.row) + "; drag over cells, with Ctrl to add some, with Shift for the base";
		draw();
	} catch (error) {
		if (pageApi.isReplaced(error))
			return;
		forget();
		pageNotes.fail(error);
	}
	one("heat").setAttribute("aria-busy", "false");
}

function onKey(event) {
	const move = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
	if (!map || event.altKey || event.metaKey)
		return;
	if (move) {
		drag = event.shiftKey ? drag || {from: cursor, to: cursor, kind: "range"} : null;
		cursor = {column: Math.max(0, Math.min(map.columns - 1, cursor.column + move[0])),
			row: Math.max(0, Math.min(map.rows - 1, cursor.row + move[1]))};
		if (drag)
			drag.to = cursor;
		tell(cursor);
		draw();
	} else if (event.key === "Enter" || event.key === " ") {
		const {from, to} = drag || {from: cursor, to: cursor};
		drag = null;
		choose(from, to, kindOfChoice(event), event.ctrlKey);
	} else {
		return;
	}
	event.preventDefault();
	event.stopPropagation();
}

function listen() {
	const canvas = one("heat-canvas");
	canvas.addEventListener("pointerdown", (event) => {
		if (!map || event.button)
			return;
		drag = {from: cellAt(event), to: cellAt(event), kind: kindOfChoice(event)};
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener("pointermove", (event) => {
		if (!map)
			return;
		tell(cellAt(event));
		if (drag) {
			drag.to = cellAt(event);
			draw();
		}
	});
	canvas.addEventListener("pointerup", (event) => {
		if (!drag)
			return;
		const {from, to, kind} = drag;
		drag = null;
		choose(from, to, kind, event.ctrlKey || event.metaKey);
	});
	canvas.addEventListener("keydown", onKey);
	canvas.addEventListener("focus", draw);
	canvas.addEventListener("blur", draw);
	addEventListener("themechange", draw);
	new ResizeObserver(draw).observe(canvas);
}

return {show, listen, get map() { return map; }, timeOf};
})();
