// SPDX-License-Identifier: GPL-2.0-or-later
//
// Makes the picture interactive. Names reach the document as text nodes only.
(function () {
"use strict";
const NS = "http://www.w3.org/2000/svg";
const MARGIN = 10, PADDING = 4, LEAST_COLUMNS = 3, FRAME_HEIGHT = 17, SHADES = 12;
// By the letters of looks.
const LOOKS = {k: " [kernel]", i: " [inlined]", j: " [JIT]", b: " [kernel]", c: " [inlined]",
	d: " [JIT]", e: " [waker]", f: " [waker, kernel]", g: " [waker, inlined]", h: " [waker, JIT]",
	m: " [waker]"};

const svg = document.currentScript ? document.currentScript.closest("svg") : document.documentElement;
const standalone = svg === document.documentElement;
const inverted = svg.hasAttribute("data-inverted");
const height = Number(svg.getAttribute("height"));
const one = (selector) => svg.querySelector(selector);
const frames = one("#frames"), header = one("#header"), footer = one("#footer");
const details = one(".details"), legend = one(".legend");

function add(parent, name, attributes, text) {
	const element = document.createElementNS(NS, name);
	for (const key in attributes)
		element.setAttribute(key, attributes[key]);
	if (text !== undefined)
		element.textContent = text;
	return parent.appendChild(element);
}

// The tree, row by row. x and w are weights; a frame covers all frames above it that lie in
// [x, x + w). Only frames that are wide enough to see have a rect.
const rows = [];
const frameOf = new Map();
const names = frames ? one("#names").textContent.split("\n") : [];

function readRow(group, depth) {
	const data = group.dataset.r.split(" "), list = [];
	const rects = Array.from(group.querySelectorAll("rect"));
	const labels = group.lastElementChild;
	let end = 0;

	labels.replaceChildren();
	group.querySelectorAll("path").forEach((path) => path.remove());
	for (let i = 0; i < data.length; i += 3) {
		const x = end + Number(data[i]), w = Number(data[i + 1]);
		const look = data[i + 2][0].toLowerCase();
		const frame = {depth, x, w, look, name: Number(data[i + 2].slice(1))};
		if (look !== data[i + 2][0])
			adopt(frame, rects.shift());
		end = x + w;
		list.push(frame);
	}
	return {group, labels, list, paths: {}, drawn: list.filter((frame) => frame.rect)};
}

function adopt(frame, rect) {
	frame.rect = rect;
	frameOf.set(rect, frame);
}

const nameOf = (frame) => names[frame.name].slice(1);
const shadeOf = (frame) => names[frame.name].charCodeAt(0) - 97;

if (frames)
	Array.from(frames.children).forEach((group, depth) => rows.push(readRow(group, depth)));
const root = rows.length ? rows[0].list[0] : {x: 0, w: 0, depth: 0};
let view = root, width = 0, columnWidth = 6.63;
let hits = null, matches = null; // hits: by name; matches: frames, from left to right, wide ones first

// Figures.

function percent(part, whole) {
	return (100 * part / whole).toFixed(2) + "%";
}

function count(number) {
	return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

function time(ns) {
	const units = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];
	const [size, unit] = units.find((u) => ns >= u[0]) || units[3];
	const value = ns / size;
	if (value >= 1000)
		return count(Math.round(value)) + " " + unit;
	const decimals = size === 1 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
	return (unit === "s" ? value : Math.min(value, 999)).toFixed(decimals) + " " + unit;
}

function figures(frame) {
	const weight = frames.dataset.unit === "ns" ? time(frame.w) :
		count(frame.w) + (frame.w === 1 ? " sample" : " samples");
	return weight + ", " + percent(frame.w, root.w);
}

// Text that fits.

function isWide(code) {
	return code >= 0x1100 && (code < 0x1160 || (code >= 0x2e80 && code < 0xa4d0) ||
		(code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
		(code >= 0xff00 && code < 0xff61) || (code >= 0x1f300 && code < 0x1fb00) ||
		(code >= 0x20000 && code < 0x40000));
}

// As many columns of text as there are, the last one an ellipsis if text is left out.
function fitColumns(text, columns) {
	let used = 0, kept = 0;
	for (const character of text) {
		used += isWide(character.codePointAt(0)) ? 2 : 1;
		if (used > columns)
			return columns < LEAST_COLUMNS ? "" : text.slice(0, kept) + "\u2026";
		if (used <= columns - 1)
			kept += character.length;
	}
	return text;
}

// The same for an element in a proportional font, by measuring.
function fitElement(element, text, room) {
	element.lastChild.nodeValue = text;
	if (element.getComputedTextLength() <= room)
		return;
	let low = 0, high = text.length;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		element.lastChild.nodeValue = text.slice(0, middle) + "\u2026";
		if (element.getComputedTextLength() <= room)
			low = middle;
		else
			high = middle - 1;
	}
	element.lastChild.nodeValue = text.slice(0, low).replace(/[\ud800-\udbff]$/, "") + "\u2026";
}

function measureColumn() {
	if (!rows.length)
		return;
	const probe = add(rows[0].labels, "text", {}, "m".repeat(100));
	columnWidth = probe.getComputedTextLength() / 100 || columnWidth;
	probe.remove();
}

// Drawing.

function makeRect(row, frame) {
	const rect = document.createElementNS(NS, "rect");
	rect.setAttribute("height", FRAME_HEIGHT);
	add(rect, "title", {}, nameOf(frame) + " (" + figures(frame) + ")");
	adopt(frame, rect);
	row.group.insertBefore(rect, row.labels);
}

function dropRect(frame) {
	frameOf.delete(frame.rect);
	frame.rect.remove();
	frame.rect = null;
	setLabel(null, frame, 0, 0);
}

function setLabel(row, frame, left, room) {
	const text = room < columnWidth ? "" :
		fitColumns(nameOf(frame), Math.floor(room / columnWidth));
	if (!text) {
		if (frame.label)
			frame.label.remove();
		frame.label = null;
		return;
	}
	if (!frame.label)
		frame.label = add(row.labels, "text", {}, "");
	if (frame.label.textContent !== text)
		frame.label.textContent = text;
	frame.label.setAttribute("x", (left + PADDING).toFixed(1));
	frame.label.setAttribute("class", flags(frame));
}

function flags(frame) {
	return (frame.depth < view.depth ? "up " : "") + (isHit(frame) ? "hit" : "");
}

function drawRect(row, frame, left, size) {
	const gap = Math.min(1, Math.max(0, (size - 2) / 2));
	if (!frame.rect)
		makeRect(row, frame);
	frame.rect.setAttribute("class", frame.look + shadeOf(frame) + " " + flags(frame));
	frame.rect.setAttribute("x", left.toFixed(2));
	frame.rect.setAttribute("width", (size - gap).toFixed(2));
	if (size < 4)
		frame.rect.removeAttribute("rx");
	else
		frame.rect.setAttribute("rx", 2);
	setLabel(row, frame, left, size - 2 * PADDING);
}

// Narrow frames of one colour that touch are one piece of a path.
function addNarrow(runs, frame, left, size) {
	const key = frame.look + SHADES / 2 + (isHit(frame) ? " hit" : "");
	const list = runs[key] || (runs[key] = []);
	const last = list[list.length - 1];
	if (last && left - last.to < 0.02)
		last.to = left + size;
	else
		list.push({from: left, to: left + size});
}

function drawRuns(row, runs) {
	for (const key in row.paths)
		if (!runs[key])
			row.paths[key].removeAttribute("d");
	for (const key in runs) {
		if (!row.paths[key]) {
			row.paths[key] = add(row.group, "path", {class: key});
			row.group.prepend(row.paths[key]);
		}
		row.paths[key].setAttribute("d", runs[key].map((run) => "M" + run.from.toFixed(2) +
			" 0H" + run.to.toFixed(2) + "v" + FRAME_HEIGHT + "H" + run.from.toFixed(2) +
			"z").join(""));
	}
}

// The first frame of a row that ends behind x.
function firstBehind(row, x) {
	let low = 0, high = row.list.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (row.list[middle].x + row.list[middle].w > x)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

function drawRow(row, scale) {
	const end = view.x + view.w, runs = {}, drawn = [];
	for (let i = firstBehind(row, view.x); i < row.list.length && row.list[i].x < end; i++) {
		const frame = row.list[i];
		const from = Math.max(frame.x, view.x), to = Math.min(frame.x + frame.w, end);
		const left = (from - view.x) * scale, size = (to - from) * scale;
		if (size < 1) {
			addNarrow(runs, frame, left, size);
		} else {
			drawRect(row, frame, left, size);
			drawn.push(frame);
		}
	}
	drawRuns(row, runs);
	const kept = new Set(drawn);
	row.drawn.forEach((frame) => kept.has(frame) || dropRect(frame));
	row.drawn = drawn;
}

function draw() {
	const scale = (width - 2 * MARGIN) / view.w;
	for (const row of rows)
		drawRow(row, scale);
}

// Header and footer stay in the window when the picture is taller than it.
function stick() {
	const top = Math.max(0, -svg.getBoundingClientRect().top);
	const bottom = Math.min(height, top + window.innerHeight);
	header.setAttribute("transform", "translate(0 " + top + ")");
	footer.setAttribute("transform",
		"translate(0 " + (bottom - Number(footer.dataset.height)) + ")");
}

// The controls: made here, as they do nothing without a script.

function button(label, size, act) {
	const group = add(header, "g", {class: "button", tabindex: 0, role: "button"});
	add(group, "rect", {width: size, height: 24, y: 8});
	add(group, "text", {x: size / 2, y: 24}, label);
	group.addEventListener("click", act);
	group.addEventListener("keydown", (event) => {
		if (event.key === "Enter" || event.key === " ") {
			event.preventDefault();
			act();
		}
	});
	group.size = size;
	return group;
}

const reset = button("Reset zoom", 84, () => zoom(root));
const search = button("Search", 64, openSearch);
const matched = add(header, "text", {class: "matched", y: 58}, "");
const field = add(header, "foreignObject", {class: "field", y: 8, height: 24});
const input = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
input.setAttribute("placeholder", "regular expression");
input.setAttribute("aria-label", "Search");
input.setAttribute("spellcheck", "false");
field.appendChild(input);
reset.id = "reset";
search.id = "search";
matched.id = "matched";
field.style.display = "none";
const lines = [".title", ".subtitle", ".facts"].map((name) => header.querySelector(name));
const texts = lines.map((line) => (line.querySelector("title") || line).textContent);
// The last child is the text that is seen; a tooltip may come before it.
lines.forEach((line) => line.lastChild.nodeType === 3 || line.append(""));

// The details line needs half of the footer.
function legendRoom() {
	const size = Number(legend.dataset.width);
	return width < 700 || 2 * size > width ? 0 : size + 10;
}

function placeControls() {
	const isOpen = field.style.display !== "none";
	let x = width - MARGIN;
	const place = (element, size) => {
		x -= size;
		element.setAttribute(element === field ? "x" : "transform",
			element === field ? x : "translate(" + x + " 0)");
		x -= 6;
	};
	if (isOpen) {
		const size = Math.min(240, width * 0.45);
		field.setAttribute("width", size);
		place(field, size);
	} else {
		place(search, search.size);
	}
	search.style.display = isOpen ? "none" : "";
	reset.style.display = view === root ? "none" : "";
	if (view !== root)
		place(reset, reset.size);
	matched.setAttribute("x", width - MARGIN);
	const taken = matched.textContent ? matched.getComputedTextLength() + 16 : 0;
	lines.forEach((line, i) => fitElement(line, texts[i],
		i === 0 ? x - MARGIN - 6 : width - 2 * MARGIN - (i === 2 ? taken : 0)));
	legend.style.display = legendRoom() ? "" : "none";
	legend.setAttribute("transform",
		"translate(" + (width - MARGIN - Number(legend.dataset.width)) + " 0)");
}

// Zoom.

function zoom(frame) {
	view = frame;
	draw();
	tellMatched();
	placeControls();
	tell(null);
}

// The details line.

let told = null;

function tell(frame) {
	let text = "";
	told = frame;
	if (frame) {
		text = nameOf(frame) + (LOOKS[frame.look] || "") + " \u2014 " + figures(frame) + " of all";
		if (view !== root && frame.depth >= view.depth)
			text += ", " + percent(frame.w, view.w) + " of " + fitColumns(nameOf(view), 40);
	}
	if (!details.lastChild)
		details.append("");
	fitDetails(frame, text);
}

// A long name gives way to the figures behind it.
function fitDetails(frame, text) {
	const room = width - 2 * MARGIN - legendRoom();
	details.lastChild.nodeValue = text;
	if (!frame || details.getComputedTextLength() <= room)
		return;
	const rest = text.slice(nameOf(frame).length);
	details.lastChild.nodeValue = rest;
	const left = room - details.getComputedTextLength();
	fitElement(details, nameOf(frame), Math.max(left, 60));
	details.lastChild.nodeValue += rest;
	if (details.getComputedTextLength() > room)
		fitElement(details, details.lastChild.nodeValue, room);
}

// Search.

// A regular expression; plain text where it isn't one. Capitals make it mind the case.
function makePattern(text) {
	const flags = /[A-Z]/.test(text) ? "" : "i";
	try {
		return new RegExp(text, flags);
	} catch (error) {
		return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
	}
}

function isHit(frame) {
	return hits !== null && hits[frame.name];
}

function find(text) {
	const pattern = text ? makePattern(text) : null;
	hits = pattern && names.map((name, i) => i > 0 && pattern.test(name.slice(1)));
	matches = pattern && rows.flatMap((row) => row.list.filter(isHit))
		.sort((a, b) => a.x - b.x || b.w - a.w);
	if (frames) {
		frames.classList.toggle("searching", !!pattern);
		draw();
	}
	tellMatched();
	placeControls();
}

// What the matches cover of [x, x + w), a match below or above another one counted once.
function covered(x, w) {
	let sum = 0, end = x;
	for (const frame of matches) {
		const from = Math.max(frame.x, end), to = Math.min(frame.x + frame.w, x + w);
		if (to > from) {
			sum += to - from;
			end = to;
		}
	}
	return sum;
}

function tellMatched() {
	let text = "";
	if (matches && root.w) {
		text = "matched " + percent(covered(root.x, root.w), root.w);
		if (view !== root)
			text += " of all, " + percent(covered(view.x, view.w), view.w) + " here";
	}
	matched.textContent = text;
}

function openSearch() {
	field.style.display = "";
	placeControls();
	input.focus();
	input.select();
}

function closeSearch() {
	field.style.display = "none";
	input.value = "";
	input.blur();
	find("");
}

let timer = 0;
input.addEventListener("input", () => {
	clearTimeout(timer);
	timer = setTimeout(() => find(input.value), 80);
});

// Keys: arrows go to the parent, the widest child and the neighbours.

function contains(outer, inner) {
	return outer.x <= inner.x && inner.x + inner.w <= outer.x + outer.w;
}

function above(frame) {
	const next = rows[frame.depth + 1];
	const inside = next ? next.drawn.filter((f) => contains(frame, f)) : [];
	return inside.reduce((best, f) => (!best || f.w > best.w ? f : best), null);
}

function below(frame) {
	return frame.depth ? rows[frame.depth - 1].drawn.find((f) => contains(f, frame)) : null;
}

function beside(frame, step) {
	const drawn = rows[frame.depth].drawn;
	return drawn[drawn.indexOf(frame) + step];
}

function neighbour(frame, key) {
	switch (key) {
	case "ArrowUp":
		return inverted ? below(frame) : above(frame);
	case "ArrowDown":
		return inverted ? above(frame) : below(frame);
	case "ArrowLeft":
		return beside(frame, -1);
	case "ArrowRight":
		return beside(frame, 1);
	}
	return null;
}

function focusFrame(frame) {
	frame.rect.setAttribute("tabindex", -1);
	frame.rect.focus();
}

function onFrameKey(event) {
	const frame = frameOf.get(event.target);
	if (!frame)
		return;
	if (event.key === "Enter" || event.key === " ") {
		event.preventDefault();
		zoom(frame);
		tell(frame);
	} else if (event.key.startsWith("Arrow")) {
		const next = neighbour(frame, event.key);
		event.preventDefault();
		if (next)
			focusFrame(next);
	}
}

function onKey(event) {
	const isFind = (event.ctrlKey || event.metaKey) && !event.altKey &&
		event.key.toLowerCase() === "f";
	// A second Ctrl-F is the browser's own.
	if ((isFind || event.key === "F3") && document.activeElement !== input) {
		event.preventDefault();
		openSearch();
	} else if (event.key === "Enter" && document.activeElement === input) {
		clearTimeout(timer);
		find(input.value);
	} else if (event.key === "Escape") {
		if (matches || field.style.display !== "none") {
			clearTimeout(timer);
			closeSearch();
		} else {
			zoom(root);
		}
	}
}

function resize() {
	const now = svg.getBoundingClientRect().width;
	if (now > 0 && now !== width) {
		width = now;
		if (rows.length)
			draw();
		placeControls();
		tell(null);
	}
	stick();
}

// The frame under the pointer; narrow ones are found by position.
function frameAt(event) {
	const row = rows.find((r) => r.group === event.target.parentNode);
	if (frameOf.has(event.target) || !row)
		return frameOf.get(event.target);
	const left = event.clientX - svg.getBoundingClientRect().left - MARGIN;
	const x = view.x + left * view.w / (width - 2 * MARGIN);
	return row.list[Math.min(firstBehind(row, x), row.list.length - 1)];
}

if (frames) {
	frames.addEventListener("click", (event) => {
		const frame = frameAt(event);
		if (frame) {
			zoom(frame);
			tell(frame);
		}
	});
	frames.addEventListener("mousemove", (event) => {
		const frame = frameAt(event);
		if (frame !== told)
			tell(frame);
	});
	frames.addEventListener("mouseleave", () => tell(null));
	frames.addEventListener("keydown", onFrameKey);
	root.rect.setAttribute("tabindex", 0);
}
// On the window: an SVG element that listens for focus becomes focusable itself.
window.addEventListener("focusin", (event) => frameOf.has(event.target) &&
	tell(frameOf.get(event.target)));
window.addEventListener("keydown", onKey);
window.addEventListener("scroll", stick, {passive: true});
window.addEventListener("resize", resize);

svg.setAttribute("width", "100%");
svg.removeAttribute("viewBox");
measureColumn();
resize();
if (standalone && !inverted)
	window.scrollTo(0, height);
stick();
})();
