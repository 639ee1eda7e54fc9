// SPDX-License-Identifier: GPL-2.0-or-later
//
// sets: the page of a folder of sets, made from the data that sets_page.c describes. A series is the sets of
// one mode and event; each has a time line, and the selected one has the table.
const sets = (function () {
"use strict";
const {timeOf, zoneOf, zoneText, digits, timeText, durationText, bytesText, plural} = setsText;

const ROWS = 200;        // shown at once; more on demand
const CHART_HEIGHT = 104, CHART_TOP = 26, CHART_BOTTOM = 18, CHART_LEFT = 4;
const BREAK_WIDTH = 16;  // width of a time in which nothing was recorded
const COLORS = 5;        // commands with a colour of their own
const LEAST_BAR = 2;     // pixels: narrower ones become one
const SVG = "http://www.w3.org/2000/svg";
const MODES = {oncpu: "On-CPU", offcpu: "Off-CPU", wall: "Wall-clock"};

const page = {series: [], chosen: null, range: null, shown: ROWS, list: [], picked: []};

const byId = id => document.getElementById(id);

function element(name, attributes, ...children) {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {}))
		made.setAttribute(key, value);
	made.append(...children);
	return made;
}

function shape(name, attributes, text) {
	const made = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes))
		made.setAttribute(key, value);
	if (text !== undefined)
		made.textContent = text;
	return made;
}

// Reading.

function triples(list, strings) {
	const made = [];
	for (let i = 0; i < list.length; i += 3)
		made.push({name: strings[list[i]], module: strings[list[i + 1]], self: list[i + 2]});
	return made;
}

function pairs(list, strings) {
	const made = [];
	for (let i = 0; i < list.length; i += 2)
		made.push({name: strings[list[i]], n: list[i + 1]});
	return made;
}

function readSet(row, header) {
	const {strings} = header;
	const [name, mode, event, unit, start, duration, windows, samples, total, complete, loss, losses,
		functions, files, host, kernel, command, frequency, commands] = row;
	return {name: strings[name], mode: header.modes[mode], event: strings[event], unit: strings[unit], start,
		duration, windows, samples, total, complete, loss, losses: pairs(losses, strings),
		functions: triples(functions, strings), files: pairs(files, strings), host: strings[host],
		kernel: strings[kernel], command: strings[command], frequency, commands: pairs(commands, strings)};
}

// Newest series first, and in each the oldest set first.
function readSeries(header) {
	const found = new Map();
	for (const row of header.sets) {
		const set = readSet(row, header);
		const key = [set.mode, set.event, set.unit].join("\0");
		if (!found.has(key))
			found.set(key, {mode: set.mode, event: set.event, unit: set.unit, sets: []});
		found.get(key).sets.push(set);
	}
	const series = [...found.values()];
	const newest = one => Math.max(...one.sets.slice(-1).map(set => set.start));
	for (const one of series)
		one.sets.sort((a, b) => a.start - b.start);
	return series.sort((a, b) => newest(b) - newest(a));
}

// Figures.

function weightText(series, weight) {
	return series.unit === "microseconds" ? timeText(weight) : weight.toLocaleString("en");
}

// Per second; for samples, how many CPUs were busy, for off-CPU time, how many threads waited on average.
function rateText(series, rate) {
	const {frequency} = series.sets[0];
	if (series.unit === "microseconds")
		return digits(rate / 1e6) + " threads";
	if (series.unit === "samples" && frequency)
		return digits(rate / frequency) + " CPUs";
	return digits(rate) + " " + series.unit + "/s";
}

function nameOf(series) {
	return (MODES[series.mode] || series.mode) + " \u00b7 " + series.event;
}

// The time line.

// Maps times to [0, width]; long gaps without recordings are cut out.
function scaleOf(list, width) {
	const first = list[0].start;
	const end = list.reduce((most, set) => Math.max(most, set.start + set.duration), 0);
	const lengths = list.map(set => set.duration).sort((a, b) => a - b);
	const least = Math.max(10 * lengths[lengths.length >> 1], (end - first) / 50);
	const parts = [{from: first, to: first}];
	for (const set of list) {
		const part = parts[parts.length - 1];
		if (set.start - part.to > least)
			parts.push({from: set.start, to: set.start + set.duration});
		else
			part.to = Math.max(part.to, set.start + set.duration);
	}
	const whole = parts.reduce((sum, part) => sum + part.to - part.from, 0) || 1;
	const gap = Math.min(BREAK_WIDTH, width / parts.length / 2);
	const perMs = (width - gap * (parts.length - 1)) / whole;
	let x = CHART_LEFT;
	for (const part of parts) {
		part.x = x;
		x += (part.to - part.from) * perMs + gap;
	}
	return {parts, perMs, gap};
}

function placeOf(scale, ms) {
	let part = scale.parts[0];
	for (const one of scale.parts)
		if (one.from <= ms)
			part = one;
	return part.x + (Math.min(ms, part.to) - part.from) * scale.perMs;
}

function timeAt(scale, x) {
	let part = scale.parts[0];
	for (const one of scale.parts)
		if (one.x <= x)
			part = one;
	return Math.min(part.to, Math.max(part.from, part.from + (x - part.x) / scale.perMs));
}

// Neighbours that would be too narrow are joined into one bar.
function barsOf(series, scale) {
	const bars = [];
	for (const set of series.sets) {
		const from = placeOf(scale, set.start);
		const to = Math.max(from + 0.5, from + set.duration * scale.perMs);
		const last = bars[bars.length - 1];
		if (last && to - last.from < LEAST_BAR && from - last.to < 1) {
			last.to = Math.max(last.to, to);
			last.sets.push(set);
		} else {
			bars.push({from, to, sets: [set]});
		}
	}
	for (const bar of bars) {
		const sum = key => bar.sets.reduce((all, set) => all + set[key], 0);
		bar.rate = sum("total") / (sum("duration") / 1000 || 1);
		bar.lost = bar.sets.some(set => set.losses.length > 0);
	}
	return bars;
}

function titleOf(series, bar) {
	const [set] = bar.sets;
	const last = bar.sets[bar.sets.length - 1];
	if (bar.sets.length > 1)
		return timeOf(set.start) + " \u2013 " + timeOf(last.start + last.duration, false) + "\n" +
			plural(bar.sets.length, "recording") + ", " + rateText(series, bar.rate) + (bar.lost ? ", losses" : "");
	return timeOf(set.start) + ", " + durationText(set.duration) + "\n" + weightText(series, set.total) + " " +
		(series.unit === "microseconds" ? "\u00b7 " : series.unit + ", ") + rateText(series, bar.rate) +
		set.losses.map(loss => "\n" + loss.n.toLocaleString("en") + " " + loss.name.replace(/_/g, " ")).join("");
}

// The commands that weigh most in a series have a colour each; all others are one.
function findCommands(series) {
	const sums = new Map();
	for (const set of series.sets)
		for (const {name, n} of set.commands)
			sums.set(name, (sums.get(name) || 0) + n);
	return [...sums].sort((a, b) => b[1] - a[1]).slice(0, COLORS).map(([name]) => name);
}

// From the axis up: [class, part of the bar].
function partsOf(series, bar) {
	const sums = new Array(series.commands.length).fill(0);
	const all = bar.sets.reduce((sum, set) => sum + set.total, 0);
	for (const set of bar.sets)
		for (const {name, n} of set.commands)
			if (series.commands.includes(name))
				sums[series.commands.indexOf(name)] += n;
	const parts = sums.map((sum, i) => ["bar command-" + i, all ? sum / all : 0]);
	return [...parts, ["bar", Math.max(0, 1 - parts.reduce((sum, part) => sum + part[1], 0))]];
}

function drawBar(series, chart, bar, place) {
	let y = place.y + place.height;
	for (const [name, part] of partsOf(series, bar)) {
		const height = part * place.height;
		y -= height;
		if (height < 0.05 && name !== "bar")
			continue;
		const box = shape("rect", {class: name, x: place.x.toFixed(2), y: y.toFixed(2),
			width: place.width.toFixed(2), height: height.toFixed(2)});
		box.append(shape("title", {}, titleOf(series, bar)));
		chart.append(box);
	}
}

function drawBars(series, chart, bars, most) {
	const height = CHART_HEIGHT - CHART_TOP - CHART_BOTTOM, bottom = CHART_HEIGHT - CHART_BOTTOM;
	for (const bar of bars) {
		const gap = bar.to - bar.from > 6 ? 1 : bar.to - bar.from > 3 ? 0.5 : 0;
		const tall = most ? Math.max(bar.rate > 0 ? 1 : 0, bar.rate / most * height) : 0;
		drawBar(series, chart, bar, {x: bar.from, y: bottom - tall, height: tall,
			width: Math.max(0.5, bar.to - bar.from - gap)});
		if (bar.lost) {
			const x = (bar.from + bar.to) / 2, y = bottom - tall - 3;
			const mark = shape("path", {class: "lost", d: `M${x - 3.5} ${y - 6}h7l-3.5 6z`});
			mark.append(shape("title", {}, titleOf(series, bar)));
			chart.append(mark);
		}
	}
}

// Round times, as many as fit.
function drawTimes(chart, scale) {
	const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
		172800, 604800, 1209600, 2592000, 7776000].map(seconds => seconds * 1000);
	const step = steps.find(one => one * scale.perMs >= 90) || 31536000000;
	let free = -Infinity;
	for (const part of scale.parts) {
		const isLong = step >= 86400000;
		const ticks = [part.from];
		const zone = zoneOf(part.from);
		for (let at = Math.ceil((part.from + zone + 1) / step) * step - zone; at < part.to; at += step)
			ticks.push(at);
		for (const [i, at] of ticks.entries()) {
			const x = placeOf(scale, at);
			const label = i === 0 && !isLong ? timeOf(at).slice(0, 16) : isLong ? timeOf(at).slice(0, 10)
				: step < 60000 ? timeOf(at, false) : timeOf(at, false).slice(0, 5);
			if (x < free)
				continue;
			chart.append(shape("path", {class: "axis", d: `M${x.toFixed(1)} ${CHART_HEIGHT - CHART_BOTTOM}v4`}));
			chart.append(shape("text", {x: x.toFixed(1), y: CHART_HEIGHT - 3}, label));
			free = x + label.length * 6.2 + 12;
		}
	}
}

function drawFrame(series, chart, scale, width, most) {
	const bottom = CHART_HEIGHT - CHART_BOTTOM;
	chart.append(shape("path", {class: "grid", d: `M0 ${CHART_TOP}h${width}`}));
	chart.append(shape("path", {class: "axis", d: `M0 ${bottom}h${width}`}));
	chart.append(shape("text", {x: width, y: 11, "text-anchor": "end"}, rateText(series, most)));
	for (const part of scale.parts.slice(1))
		chart.append(shape("path", {class: "break", d: `M${part.x - scale.gap / 2} ${CHART_TOP}V${bottom}`}));
}

function drawMarks(series) {
	const {chart, scale} = series;
	for (const old of chart.querySelectorAll(".picked, .brush"))
		old.remove();
	const mark = (from, to, name) => {
		const x = placeOf(scale, from);
		chart.append(shape("rect", {class: name, x, y: CHART_TOP, width: Math.max(2, placeOf(scale, to) - x),
			height: CHART_HEIGHT - CHART_TOP - CHART_BOTTOM, "pointer-events": "none"}));
	};
	if (page.range && series === page.chosen)
		mark(page.range.from, page.range.to, "brush");
	for (const set of series === page.chosen ? page.picked : [])
		mark(set.start, set.start + set.duration, "picked");
}

function draw(series) {
	const {chart} = series;
	const width = chart.clientWidth || 1000;
	const scale = scaleOf(series.sets, width - 2 * CHART_LEFT);
	const bars = barsOf(series, scale);
	const most = bars.reduce((max, bar) => Math.max(max, bar.rate), 0);
	chart.setAttribute("viewBox", `0 0 ${width} ${CHART_HEIGHT}`);
	chart.replaceChildren();
	drawFrame(series, chart, scale, width, most);
	drawTimes(chart, scale);
	drawBars(series, chart, bars, most);
	series.scale = scale;
	drawMarks(series);
}

// A click finds the set in the table; dragging selects the range it shows.
function watchChart(series) {
	const {chart} = series;
	let from = null;
	const placed = event => event.clientX - chart.getBoundingClientRect().left;
	chart.addEventListener("pointerdown", event => {
		from = event.button === 0 ? placed(event) : null;
		if (from !== null)
			chart.setPointerCapture(event.pointerId);
	});
	chart.addEventListener("pointermove", event => {
		if (from === null || Math.abs(placed(event) - from) < 5)
			return;
		choose(series, false);
		const ends = [from, placed(event)].map(x => timeAt(series.scale, x)).sort((a, b) => a - b);
		page.range = {from: ends[0], to: ends[1]};
		drawMarks(series);
	});
	chart.addEventListener("pointerup", event => {
		if (from !== null && Math.abs(placed(event) - from) < 5)
			find(series, timeAt(series.scale, from));
		else if (from !== null)
			showList();
		from = null;
	});
	chart.addEventListener("pointercancel", () => { from = null; });
}

function makeSeries(series) {
	const name = element("button", {type: "button", class: "series-name"});
	series.commands = findCommands(series);
	const lost = series.sets.filter(set => set.losses.length > 0).length;
	const last = series.sets[series.sets.length - 1];
	name.append(element("span", {class: "swatch"}), nameOf(series));
	name.addEventListener("click", () => choose(series, true));
	series.chart = shape("svg", {class: "chart", role: "img",
		"aria-label": nameOf(series) + ": totals over time, " + plural(series.sets.length, "recording")});
	const head = element("div", {class: "series-head"}, name,
		element("span", {class: "series-facts"}, plural(series.sets.length, "recording") + ", the last at " +
			timeOf(last.start) + (lost ? ", " + lost.toLocaleString("en") + " with losses" : ", no losses")));
	const legend = element("p", {class: "commands"}, ...series.commands.map((command, i) =>
		element("span", {class: "command-" + i, title: command}, element("i"), command)));
	series.box = element("div", {class: "series", "data-mode": series.mode}, head, series.chart, legend);
	watchChart(series);
	byId("lines").append(series.box);
}

// The table.

function inRange() {
	const {range} = page;
	const all = page.chosen.sets;
	return range ? all.filter(set => set.start + set.duration > range.from && set.start < range.to) : all;
}

function functionsCell(set) {
	const list = element("ul", {class: "functions"});
	if (set.commands.length)
		list.append(element("li", {class: "of-commands"}, set.commands.slice(0, 3).map(({name, n}) =>
			name + " " + (set.total ? 100 * n / set.total : 0).toFixed(0) + " %").join(" \u00b7 ")));
	for (const one of set.functions.slice(0, 3)) {
		const share = set.total ? 100 * one.self / set.total : 0;
		const name = element("span", {class: "name", title: one.name}, one.name);
		list.append(element("li", {}, element("span", {class: "share"}, share.toFixed(1) + " %"), name,
			element("span", {class: "module", title: one.module}, one.module)));
	}
	return element("td", {class: "list"}, list);
}

function lossesCell(set) {
	if (!set.losses.length)
		return element("td", {class: "losses none"}, "none");
	const list = set.losses.map(loss => loss.n.toLocaleString("en") + " " + loss.name.replace(/_/g, " "));
	const share = set.loss > 0 ? digits(set.loss) + " %: " : "";
	return element("td", {class: "losses lost"}, share + list.join(", "));
}

function endingOf(set, file) {
	return file.startsWith(set.name + ".") ? file.slice(set.name.length + 1) : file;
}

function filesCell(set) {
	const cell = element("td", {class: "files"});
	for (const file of set.files)
		cell.append(element("a", {href: encodeURIComponent(file.name), title: file.name + ", " +
			bytesText(file.n)}, endingOf(set, file.name)));
	return cell;
}

function rowOf(set) {
	const box = element("input", {type: "checkbox", "aria-label": "Compare " + timeOf(set.start)});
	const time = element("td", {class: "time", title: set.name}, timeOf(set.start, true, set.duration < 1000));
	const row = element("tr", {id: "set-" + set.name}, element("td", {class: "pick"}, box), time,
		element("td", {class: "number"}, durationText(set.duration)),
		element("td", {class: "number", title: set.samples.toLocaleString("en") + " samples"},
			weightText(page.chosen, set.total)),
		element("td", {class: "number complete"}, set.complete.toFixed(1) + " %"), lossesCell(set),
		functionsCell(set), filesCell(set));
	if (set.windows > 1)
		time.append(element("span", {class: "joined", title: "Windows that became one: writing took too long"},
			plural(set.windows, "window")));
	box.addEventListener("change", () => pick(set, box.checked));
	return row;
}

function showList() {
	const list = inRange();
	const shown = list.slice(-page.shown).reverse();
	const rest = list.length - shown.length;
	byId("list-title").textContent = nameOf(page.chosen) + ": " + plural(list.length, "recording");
	byId("total-head").textContent = page.chosen.unit === "microseconds" ? "Total time"
		: page.chosen.unit.charAt(0).toUpperCase() + page.chosen.unit.slice(1);
	page.list = shown;
	byId("rows").replaceChildren(...shown.map(rowOf));
	showPicked();
	byId("more").hidden = rest === 0;
	byId("more-button").textContent = "Show " + Math.min(rest, ROWS) + " more of " + rest.toLocaleString("en");
	byId("range").hidden = !page.range;
	if (page.range)
		byId("range-text").textContent = timeOf(page.range.from) + " \u2013 " + timeOf(page.range.to);
}

// The rows stay, so that keyboard users keep their place.
function showPicked() {
	for (const [i, row] of [...byId("rows").children].entries()) {
		row.dataset.picked = page.picked.includes(page.list[i]);
		row.querySelector("input").checked = page.picked.includes(page.list[i]);
	}
	drawMarks(page.chosen);
}

function choose(series, byHand) {
	if (page.chosen !== series) {
		page.picked = [];
		page.range = null;
		page.shown = ROWS;
		page.chosen = series;
		for (const one of page.series) {
			one.box.dataset.chosen = page.series.length > 1 && one === series;
			if (one.scale)
				drawMarks(one);
		}
		showCommand();
		showList();
	} else if (byHand && page.range) {
		page.range = null;
		showList();
	}
}

function find(series, ms) {
	choose(series, false);
	const at = series.sets.filter(set => set.start <= ms);
	const set = at.length ? at[at.length - 1] : series.sets[0];
	if (page.range && !inRange().includes(set))
		page.range = null;
	const place = inRange().length - inRange().indexOf(set);
	page.shown = Math.max(page.shown, Math.ceil(place / ROWS) * ROWS);
	showList();
	const row = byId("set-" + set.name);
	row.classList.add("found");
	row.scrollIntoView({block: "center"});
}

// Comparing two.

function pick(set, isPicked) {
	page.picked = page.picked.filter(one => one !== set);
	if (isPicked)
		page.picked = [...page.picked.slice(-1), set];
	showCommand();
	showPicked();
}

// The format that can be read back best.
function readable(set) {
	for (const ending of [".folded", ".txt", ".pb.gz", ".speedscope.json", ".firefox.json"]) {
		const file = set.files.find(one => one.name.endsWith(ending));
		if (file)
			return file.name;
	}
	return null;
}

// Names of sets need no quotes in a shell; others get them.
const quoted = name => /^[\w.+=-]+$/.test(name) ? name : "'" + name.replace(/'/g, "'\\''") + "'";

function showCommand() {
	const pair = [...page.picked].sort((a, b) => a.start - b.start);
	const names = pair.map(readable);
	byId("compare").hidden = pair.length === 0;
	byId("copy").hidden = byId("command").hidden = pair.length < 2 || names.includes(null);
	if (pair.length === 1)
		byId("compare-text").textContent = "Choose another recording to compare with this one.";
	else if (names.includes(null))
		byId("compare-text").textContent = "One of both has no file that can be read back: add folded to -f.";
	else
		byId("compare-text").textContent = "In this folder:";
	byId("command").textContent = names.includes(null) ? ""
		: "bpfflame diff " + names.map(quoted).join(" ") + " -o diff.svg";
}

function copyCommand() {
	const done = () => { byId("copy").textContent = "Copied"; };
	getSelection().selectAllChildren(byId("command"));
	if (navigator.clipboard)
		navigator.clipboard.writeText(byId("command").textContent).then(done, () => {});
	setTimeout(() => { byId("copy").textContent = "Copy"; }, 2000);
}

// Everything.

function showFacts(header) {
	const all = page.series.flatMap(series => series.sets);
	const hosts = [...new Set(all.map(set => set.host))].filter(Boolean);
	const bytes = all.reduce((sum, set) => sum + set.files.reduce((part, file) => part + file.n, 0), 0);
	const first = all.reduce((least, set) => Math.min(least, set.start), Infinity);
	const end = all.reduce((most, set) => Math.max(most, set.start + set.duration), 0);
	const facts = [...hosts.slice(0, 3), plural(all.length, "recording")];
	if (all.length)
		facts.push(bytesText(bytes), timeOf(first) + " \u2013 " + timeOf(end) + " " + zoneText(end));
	byId("time-head").textContent = all.length ? "Time (" + zoneText(end) + ")" : "Time";
	byId("facts").textContent = facts.join(" \u00b7 ");
	byId("none").hidden = all.length > 0;
	byId("list").hidden = all.length === 0;
	byId("older").hidden = header.older === 0;
	byId("older").textContent = plural(header.older, "older recording") +
		" are not shown here; index.jsonl lists them.";
	if (hosts.length === 1)
		document.title = hosts[0] + " \u00b7 " + document.title;
}

function watchPage() {
	let waiting = false;
	const redraw = () => {
		waiting = false;
		page.series.forEach(draw);
	};
	addEventListener("resize", () => {
		if (!waiting)
			requestAnimationFrame(redraw);
		waiting = true;
	});
	byId("theme").addEventListener("click", () => {
		const {dataset} = document.documentElement;
		dataset.theme = dataset.theme === "dark" ? "light" : "dark";
	});
	byId("more-button").addEventListener("click", () => {
		page.shown += ROWS;
		showList();
	});
	byId("range-clear").addEventListener("click", () => {
		page.range = null;
		showList();
	});
	byId("copy").addEventListener("click", copyCommand);
	byId("unpick").addEventListener("click", () => {
		page.picked = [];
		showCommand();
		showPicked();
	});
}

function start() {
	const header = JSON.parse(byId("data").textContent);
	page.series = readSeries(header);
	page.series.forEach(makeSeries);
	page.series.forEach(draw);
	showFacts(header);
	watchPage();
	if (page.series.length)
		choose(page.series[0], false);
}

return {start, page};
})();
