// SPDX-License-Identifier: GPL-2.0-or-later
//
// svg: makes the picture interactive: drops the frames for viewers without scripts, and draws its own from the tree
// next to them (svg_lines.c defines the format). Names reach the document as text only.
(function () {
"use strict";
const {NS, add, addButton, fitElement, box, makePaths} = svgParts;
const MARGIN = 10, PADDING = 4, LEAST_WIDTH = 0.1, LINE = 16, FOOTER = 30, PHONE = 700;
const STRIPE = 3, LEAST_STRIPE = 6;
const ARROW = " \u2192 ";
// By the letters of looks.
const LOOKS = {k: " [kernel]", i: " [inlined]", j: " [JIT]", p: " [interpreted]", b: " [kernel]",
	c: " [inlined]", d: " [JIT]", o: " [interpreted]", e: " [waker]", f: " [waker, kernel]",
	g: " [waker, inlined]", h: " [waker, JIT]", l: " [waker, interpreted]", m: " [waker]"};
const WIDTHS = {both: "Width: both", new: "Width: new", base: "Width: base"};
const SIDES = {both: "both sides together", new: "the new side", base: "the base"};

const svg = document.currentScript ? document.currentScript.closest("svg") : document.documentElement;
const standalone = svg === document.documentElement;
const inverted = svg.hasAttribute("data-inverted");
const one = (selector) => svg.querySelector(selector);
const picture = one("#rows"), header = one("#header"), footer = one("#footer");
const details = one(".details"), legend = one(".legend");
const notes = one("desc") ? one("desc").textContent : "";
const options = picture ? picture.dataset : {};
const rowHeight = Number(options.row), frameHeight = rowHeight - 1;
const staticHeight = Number(svg.getAttribute("height"));

// The tree.
const lines = picture ? svgParts.readLines(options, one("#frames").textContent) : [];
const {tree, tones, counts} = picture ? svgParts.readTree(options, lines, one("#nodes").textContent) : {};
const sides = tree ? tree.sides : [], whole = sides.map((side) => side.total[0]);

const nameOf = (i) => lines[tree.frame[i]].name;
const lookOf = (i) => lines[tree.frame[i]].look;

// The current view, as the fragment of the address has it.
let view = 0, widths = "both", hits = null, matchCase = false; // hits: by line
let width = 0, columnWidth = 6.63, showEnd = () => {};

// The factors of each side's weights for drawing.
let scales = [];

function setWidths(to) {
	widths = options.compared && Object.keys(WIDTHS).includes(to) ? to : "both";
	const shown = {both: [1, 1], new: [1, 0], base: [0, 1]}[widths];
	scales = whole.map((sum, s) => shown[s] / (options.compared === "shares" ? sum || 1 : 1));
	flame.setWidths(tree, scales);
	while (!tree.width[view] && view)
		view = tree.parent[view];
}

const isHit = (i) => hits !== null && hits[tree.frame[i]];

// Figures.

// One text, or in a comparison two: for the total and for the self weight.
function figures(i) {
	const n = counts.get(i), elided = n ? flame.count(n) + (n === 1 ? " frame, " : " frames, ") : "";
	if (!options.compared) {
		const total = sides[0].total[i];
		return [elided + svgParts.weight(options, total) + ", " + flame.percent(total, whole[0])];
	}
	const of = (key, tone) => svgParts.change(options, whole, sides[1][key][i], sides[0][key][i], tone);
	const total = elided + "total " + of("total", tones[i][0]);
	if (elided)
		return [total];
	const isLeaf = sides.every((side) => side.self[i] === side.total[i]);
	return [total, "self " + (isLeaf ? "all of it" : of("self", tones[i][1]))];
}

// Drawing.

const rows = [], rectOf = new Map();

// The node of an element; -1: not a frame.
function nodeOf(element) {
	return element && element.dataset && "n" in element.dataset ? Number(element.dataset.n) : -1;
}

function makeRows() {
	const font = picture.querySelector(".labels").getAttribute("transform");
	picture.replaceChildren();
	for (let depth = 0; depth <= tree.maxDepth; depth++) {
		const top = staticHeight - FOOTER - 8 - (inverted ? tree.maxDepth + 1 - depth : depth + 1) * rowHeight;
		const group = add(picture, "g", {class: "row", transform: "translate(" + MARGIN + " " + top + ")"});
		rows.push({group, labels: add(group, "g", {class: "labels", transform: font})});
	}
}

function colorOf(i) {
	return options.compared && lookOf(i) !== "x" ? "t" + tones[i][0] : null;
}

function drawRect(i, left, size) {
	const row = rows[tree.depth[i]], flags = (tree.depth[i] < tree.depth[view] ? " up" : "") +
		(isHit(i) ? " hit" : "");
	const gap = Math.min(1, Math.max(0, (size - 2) / 2));
	const rect = document.createElementNS(NS, "rect");
	rect.setAttribute("class", (colorOf(i) || lines[tree.frame[i]].class) + flags);
	rect.setAttribute("x", left.toFixed(2));
	rect.setAttribute("width", (size - gap).toFixed(2));
	rect.setAttribute("height", frameHeight);
	rect.setAttribute("data-n", i);
	if (size >= 4)
		rect.setAttribute("rx", 2);
	row.rects.push(rect);
	row.nodes.push(i);
	rectOf.set(i, rect);
	drawLabel(row, i, left, size - 2 * PADDING, flags);
	if (options.compared && !flags)
		drawStripe(row, i, left + size - gap, size);
}

function growth(i) {
	const [now, base] = sides.map((side, s) => side.total[i] / (options.compared === "shares" ? whole[s] || 1 : 1));
	return flame.growth(base, now, Number(tones[i][0]));
}

function drawLabel(row, i, left, room, flags) {
	const sign = options.compared ? flame.SIGNS[tones[i][0]] : "", end = options.compared ? growth(i) : "";
	const text = room < columnWidth ? "" :
		flame.fitLabel(sign, nameOf(i), end, Math.floor(room / columnWidth), options.cut === "left");
	if (!text)
		return;
	const label = document.createElementNS(NS, "text");
	label.setAttribute("x", (left + PADDING).toFixed(1));
	if (flags)
		label.setAttribute("class", flags);
	label.textContent = text;
	row.texts.push(label);
}

// The change of a frame's own weight, below its part without children.
function drawStripe(row, i, end, room) {
	const tone = tones[i][1];
	const own = sides.reduce((sum, side, s) => sum + side.self[i] * scales[s], 0) * room / tree.width[i];
	if (tone === "0" || i + 1 === tree.end[i])
		return;
	const size = Math.min(Math.max(own, LEAST_STRIPE), room);
	addPiece(row.stripes, "stripe s" + tone, box(end - size, end, frameHeight - STRIPE, STRIPE));
}

function addPiece(paths, name, piece) {
	(paths[name] || (paths[name] = [])).push(piece);
}

// Adjacent narrow frames with the same look are one piece of a path.
function narrowClass(i) {
	return (colorOf(i) || lines[tree.frame[i]].narrow) + (isHit(i) ? " hit" : "");
}

function draw() {
	const focused = nodeOf(document.activeElement);
	rectOf.clear();
	rows.forEach((row) => Object.assign(row, {rects: [], nodes: [], texts: [], narrow: {}, stripes: {}}));
	flame.layOut(tree, view, width - 2 * MARGIN, LEAST_WIDTH, narrowClass, drawRect,
		(depth, left, size, name) => addPiece(rows[depth].narrow, name,
			box(left, left + size, 0, frameHeight)));
	for (const row of rows) {
		row.labels.replaceChildren(...row.texts);
		row.group.replaceChildren(...makePaths(row.narrow), ...row.rects, ...makePaths(row.stripes),
			row.labels);
	}
	makeReachable(rectOf.has(focused) ? focused : view);
	if (rectOf.has(focused))
		rectOf.get(focused).focus({preventScroll: true});
}

// One frame can be reached by Tab; arrows go on from there.
let reachable = null;

function makeReachable(i) {
	if (reachable)
		reachable.removeAttribute("tabindex");
	reachable = rectOf.get(i);
	if (!reachable)
		return;
	reachable.setAttribute("tabindex", 0);
	reachable.setAttribute("role", "button");
	reachable.setAttribute("aria-label", nameOf(i) + (LOOKS[lookOf(i)] || "") + ", " +
		figures(i).join("; "));
}

// Header and footer stay in the window if the picture is taller than it.

let footerHeight = FOOTER, isPrinting = false;

function stick() {
	if (isPrinting)
		return;
	const top = Math.max(0, -svg.getBoundingClientRect().top);
	const bottom = Math.min(staticHeight - FOOTER + footerHeight, top + window.innerHeight);
	header.setAttribute("transform", "translate(0 " + top + ")");
	footer.setAttribute("transform", "translate(0 " + (bottom - footerHeight) + ")");
}

// The details: one line; on a phone, the name and the figures have a line each; a comparison has
// two lines of figures.

const detailLines = [];
let told = null;

function makeFooter() {
	const n = width < PHONE ? options.compared ? 5 : 2 : options.compared ? 2 : 1;
	legendLines = legendItems.place(width);
	footerHeight = FOOTER + (Math.max(n, width < PHONE ? legendLines + (notes ? 1 : 0) : 1) - 1) * LINE;
	svg.setAttribute("height", staticHeight - FOOTER + footerHeight);
	footer.querySelector(".paper").setAttribute("height", footerHeight);
	details.replaceChildren();
	detailLines.length = 0;
	for (let k = 0; k < n; k++)
		detailLines.push(add(details, "text", {class: k ? "more" : "", x: MARGIN, y: 20 + k * LINE}, ""));
	detailLines.forEach((line) => line.append(""));
}

const legendItems = svgParts.makeLegend(legend, MARGIN), legendSize = legendItems.size;
let legendLines = 1;

// The details need half of the footer; if the legend needs more than the other half, it shrinks.
function legendRoom() {
	return width < PHONE || 2 * legendSize > width ? 0 : legendSize + 10;
}

function tell(i) {
	const parts = i === null ? [notes] : figures(i);
	told = i;
	if (i !== null) {
		const view1 = flame.fitColumns(nameOf(view), 40);
		if (!options.compared)
			parts[0] += " of all";
		if (!options.compared && view && tree.depth[i] >= tree.depth[view])
			parts[0] += ", " + flame.percent(sides[0].total[i], sides[0].total[view]) + " of " + view1;
	}
	// On a phone, the legend goes below the notes, if the footer has room.
	const isBelow = told === null && width < PHONE && notes && FOOTER + legendLines * LINE <= footerHeight;
	legend.setAttribute("transform", "translate(0 " + (isBelow ? LINE : 0) + ")");
	legend.style.display = parts[0] && !legendRoom() && !isBelow ? "none" : "";
	detailLines.forEach((line) => (line.lastChild.nodeValue = ""));
	if (i === null)
		fitElement(detailLines[0], notes, width - 2 * MARGIN - legendRoom());
	else
		tellName(i, parts);
}

// On a phone, the name and the figures have lines of their own; long ones take two.
function tellLines(name, parts) {
	const room = width - 2 * MARGIN;
	let k = 0;
	const put = (text) => k < detailLines.length && fitElement(detailLines[k++], text, room);
	put(name);
	for (const part of parts) {
		const middle = part.indexOf("), ") + 2;
		if (k < detailLines.length)
			detailLines[k].lastChild.nodeValue = part;
		if (middle > 2 && k < detailLines.length && detailLines[k].getComputedTextLength() > room) {
			put(part.slice(0, middle));
			put(part.slice(middle + 1));
		} else {
			put(part);
		}
	}
}

// A long name is cut to leave room for the figures.
function tellName(i, parts) {
	const name = (options.type ? options.type + " " : "") + nameOf(i), kind = LOOKS[lookOf(i)] || "";
	if (width < PHONE) {
		tellLines(name + kind, parts);
		return;
	}
	const room = width - 2 * MARGIN - legendRoom(), first = detailLines[0], behind = kind + " \u2014 " + parts[0];
	fitElement(first, name + behind, room);
	if (first.textContent.endsWith("\u2026")) {
		first.lastChild.nodeValue = behind;
		fitElement(first, name, Math.max(room - first.getComputedTextLength(), 60));
		fitElement(first, first.textContent + behind, room);
	}
	if (parts[1])
		fitElement(detailLines[1], parts[1], width - 2 * MARGIN);
}

// The controls are made here, since they do nothing without a script.

const reset = addButton(header, "reset", "Reset zoom", "Reset zoom", 84, () => zoom(0));
const side = addButton(header, "side", WIDTHS.both, "", 88, switchSide);
const search = addButton(header, "search", "Search", "Search (Ctrl-F or /)", 64, openSearch);
const sensitive = addButton(header, "case", "Aa", "Match case", 30, () => {
	matchCase = !matchCase;
	find(input.value);
	remember(false);
});
const close = addButton(header, "close", "\u00d7", "Close search", 26, closeSearch);
const matched = add(header, "text", {id: "matched", class: "matched", y: 58, role: "status"}, "");
const field = add(header, "foreignObject", {class: "field", y: 6, height: 24});
const input = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
input.setAttribute("placeholder", "regular expression");
input.setAttribute("aria-label", "Search");
input.setAttribute("spellcheck", "false");
field.appendChild(input);
let isSearchOpen = false;

const captions = [".title", ".subtitle", ".facts"].map((name) => header.querySelector(name));
const texts = captions.map((line) => (line.querySelector("title") || line).textContent);
// The last child is the visible text; a tooltip may precede it.
captions.forEach((line) => line.lastChild.nodeType === 3 || line.append(""));

// Placed from the right edge; the title gets the rest of the line if that is worth it.
function placeControls() {
	let x = width - MARGIN;
	const place = (element, isShown) => {
		element.style.display = isShown ? "" : "none";
		if (isShown) {
			element.setAttribute("transform", "translate(" + (x - element.size) + " 0)");
			x -= element.size + 6;
		}
	};
	place(close, isSearchOpen);
	place(sensitive, isSearchOpen);
	place(search, !isSearchOpen);
	const others = (view ? reset.size + 6 : 0) + (options.compared ? side.size + 6 : 0);
	field.size = Math.max(40, Math.min(240, x - others - MARGIN));
	field.setAttribute("width", field.size);
	place(field, isSearchOpen);
	place(side, !!options.compared);
	place(reset, view !== 0);
	matched.setAttribute("x", width - MARGIN);
	const taken = matched.textContent ? matched.getComputedTextLength() + 16 : 0;
	captions.forEach((line, i) => {
		const room = i === 0 ? x - MARGIN - 6 : width - 2 * MARGIN - (i === 2 ? taken : 0);
		line.style.display = room < 50 ? "none" : "";
		fitElement(line, texts[i], room);
	});
	sensitive.classList.toggle("on", matchCase);
	sensitive.setAttribute("aria-pressed", matchCase);
}

// The side whose weights are drawn as widths.

function switchSide() {
	const all = Object.keys(WIDTHS);
	setWidths(all[(all.indexOf(widths) + 1) % all.length]);
	show();
	remember(true);
}

// Call it after each change of the view.
function show() {
	if (tree) {
		side.caption.textContent = WIDTHS[widths];
		side.setAttribute("aria-label", "Widths are those of " + SIDES[widths]);
		side.querySelector("title").textContent = side.getAttribute("aria-label");
		draw();
	}
	tellMatched();
	placeControls();
	tell(null);
}

function zoom(i) {
	view = i;
	show();
	remember(true);
}

// Search.

function setPattern(text) {
	const pattern = text ? flame.makePattern(text, matchCase) : null;
	hits = pattern && lines.map((line, i) => i > 0 && line.look !== "x" && pattern.test(line.name));
	if (tree)
		picture.classList.toggle("searching", !!pattern);
}

function find(text) {
	setPattern(text);
	if (tree)
		draw();
	tellMatched();
	placeControls();
}

function tellMatched() {
	const share = (of, s) => flame.percent(flame.covered(tree, of, hits, sides[s].total), sides[s].total[of]);
	const shares = (of) => (options.compared ? share(of, 1) + ARROW : "") + share(of, 0);
	matched.textContent = "";
	if (!hits || !tree)
		return;
	matched.textContent = "matched " + shares(0) + (view ? " of all, " + shares(view) + " here" : "");
	if (matched.getComputedTextLength() > width - 2 * MARGIN)
		matched.textContent = "matched " + shares(view) + " here";
}

function openSearch() {
	isSearchOpen = true;
	placeControls();
	input.focus();
	input.select();
}

function closeSearch() {
	clearTimeout(timer);
	isSearchOpen = false;
	input.value = "";
	input.blur();
	find("");
	remember(false);
}

let timer = 0;

function searchNow() {
	clearTimeout(timer);
	find(input.value);
	remember(false);
}

input.addEventListener("input", () => {
	clearTimeout(timer);
	timer = setTimeout(searchNow, 80);
});

// Links: the address of a standalone picture describes its view. isStep: adds an entry that the
// back button undoes.

function remember(isStep) {
	const link = flame.writeLink({zoom: tree && view ? flame.nodeLink(tree, view, nameOf) : "",
		search: input.value, case: matchCase ? "1" : "", width: widths === "both" ? "" : widths});
	if (!standalone || link === location.hash)
		return;
	try {
		history[isStep ? "pushState" : "replaceState"](null, "", location.href.split("#")[0] + link);
	} catch (error) {
		// A page without an address of its own: there is nothing to copy.
	}
}

function recall() {
	const state = flame.readLink(standalone ? location.hash : "");
	clearTimeout(timer);
	matchCase = state.case === "1";
	input.value = state.search || "";
	isSearchOpen = !!state.search;
	if (tree) {
		view = state.zoom ? flame.linkedNode(tree, state.zoom, nameOf) : 0;
		setWidths(state.width);
	}
	setPattern(input.value);
	show();
}

// Keys: arrows go to the parent, the widest child and the neighbours.

function neighbour(i, key) {
	const up = inverted ? "parent" : "child", down = inverted ? "child" : "parent";
	const nodes = rows[tree.depth[i]].nodes, at = nodes.indexOf(i);
	switch (key) {
	case "ArrowUp":
		return flame.neighbour(tree, view, i, up);
	case "ArrowDown":
		return flame.neighbour(tree, view, i, down);
	case "ArrowLeft":
		return at > 0 ? nodes[at - 1] : -1;
	case "ArrowRight":
		return at + 1 < nodes.length ? nodes[at + 1] : -1;
	}
	return -1;
}

function focusFrame(i) {
	makeReachable(i);
	rectOf.get(i).focus();
}

function onFrameKey(event) {
	const i = nodeOf(event.target);
	if (i < 0)
		return;
	if (event.key === "Enter" || event.key === " ") {
		event.preventDefault();
		zoom(i);
		tell(i);
	} else if (event.key.startsWith("Arrow")) {
		const next = neighbour(i, event.key);
		event.preventDefault();
		if (rectOf.has(next))
			focusFrame(next);
	}
}

// Pictures in a page leave plain keys to it. A second Ctrl-F goes to the browser.
function opensSearch(event) {
	const isCommand = event.ctrlKey || event.metaKey;
	return (isCommand && !event.altKey && event.key.toLowerCase() === "f") || event.key === "F3" ||
		(standalone && !isCommand && event.key === "/");
}

function onKey(event) {
	const isTyping = document.activeElement === input;
	if (!isTyping && opensSearch(event)) {
		event.preventDefault();
		openSearch();
	} else if (isTyping && event.key === "Enter") {
		searchNow();
	} else if (event.key === "Escape" && (hits || isSearchOpen)) {
		closeSearch();
	} else if (event.key === "Escape") {
		zoom(0);
	} else if (event.key === "Home" && tree && standalone && !isTyping) {
		event.preventDefault();
		zoom(0);
		focusFrame(0);
	}
}

// Pointing: narrow frames are found by position.

function frameAt(event) {
	const depth = rows.findIndex((row) => row.group === event.target.parentNode);
	if (nodeOf(event.target) >= 0 || depth < 0)
		return nodeOf(event.target);
	const left = event.clientX - svg.getBoundingClientRect().left - MARGIN;
	const scale = tree.width[view] / (width - 2 * MARGIN);
	// Pointer positions are whole pixels, which may hold several frames.
	for (const offset of [0, 0.5, 1, -0.5, 1.5, -1]) {
		const i = flame.nodeAt(tree, view, depth, tree.start[view] + (left + offset) * scale);
		if (i >= 0)
			return i;
	}
	return -1;
}

function point(event) {
	const i = frameAt(event);
	if (i < 0 || i === told)
		return;
	tell(i);
	const tooltip = event.target.querySelector("title") || add(event.target, "title", {}, "");
	tooltip.textContent = nameOf(i) + " (" + figures(i).join("; ") + ")";
}

function resize() {
	const now = svg.getBoundingClientRect().width;
	if (isPrinting)
		return;
	if (now > 0 && now !== width) {
		width = now;
		makeFooter();
		show();
	}
	showEnd();
	stick();
}

// On paper, all of the picture is on one page, scaled to it, under one heading.
function print(isOn) {
	isPrinting = isOn;
	svgParts.toPaper(svg, isOn ? {header, footer, width, footerHeight,
		height: staticHeight - FOOTER + footerHeight} : null);
	resize();
}

if (tree) {
	makeRows();
	columnWidth = svgParts.columnWidth(options, rows[0].labels) || columnWidth;
	picture.addEventListener("click", (event) => {
		const i = frameAt(event);
		if (i >= 0) {
			zoom(i);
			tell(i);
		}
	});
	picture.addEventListener("mousemove", point);
	picture.addEventListener("mouseleave", () => tell(null));
	picture.addEventListener("keydown", onFrameKey);
}
// Listen on the window: an SVG element that listens for focus becomes focusable itself.
window.addEventListener("focusin", (event) => nodeOf(event.target) >= 0 && tell(nodeOf(event.target)));
window.addEventListener("keydown", onKey);
window.addEventListener("scroll", stick, {passive: true});
window.addEventListener("resize", resize);
window.addEventListener("beforeprint", () => print(true));
window.addEventListener("afterprint", () => print(false));
if (standalone) {
	window.addEventListener("popstate", recall);
	svgParts.fitPhone(svg);
}
const staticWidth = Number(svg.getAttribute("width"));
svg.setAttribute("width", "100%");
svg.setAttribute("role", "group"); // no longer one image: its parts can be reached
svg.removeAttribute("viewBox");
details.setAttribute("role", "status");
width = svg.getBoundingClientRect().width || staticWidth;
makeFooter();
recall();
if (standalone && !inverted)
	showEnd = svgParts.keepEnd(svg);
stick();
})();
