// SPDX-License-Identifier: GPL-2.0-or-later
//
// svg_parts: parts of svg.js: reading its data (svg_lines.c defines the format), figures worded as in
// svg_text.c, fitting text, shapes.
const svgParts = (function () {
"use strict";
const NS = "http://www.w3.org/2000/svg";
const SHADES = 12, LINE = 16, GAP = 14;
const MINUS = "\u2212", ARROW = " \u2192 ";
// By the digits of tones.
const VERDICTS = {0: ", within noise", 7: ", new", 8: ", gone"};

// Reads lines `CLASS NAME`. narrow: the class of a frame too narrow to distinguish names.
function readLines(options, text) {
	return text.split("\n").map((line) => {
		const space = line.indexOf(" "), look = line[0], shade = Number(line.slice(1, space));
		const range = "uijacd".includes(look) ? Number(options.shades || SHADES) : SHADES;
		const middle = look === "x" ? 0 : Math.floor(shade / range) * range + range / 2;
		return {look, class: look + shade, narrow: look + middle, name: line.slice(space + 1)};
	});
}

// {tree, tones: by node; counts: of elided nodes, how many frames}
function readTree(options, lines, text) {
	const numbers = text.split(/\s+/);
	const up = [], frame = [], selfs = options.compared ? [[], []] : [[]], tones = [], counts = new Map();
	for (let k = 0; k < numbers.length;) {
		up.push(Number(numbers[k++]));
		frame.push(Number(numbers[k++]));
		selfs.forEach((self) => self.push(Number(numbers[k++])));
		if (options.compared)
			tones.push(numbers[k++]);
		if (lines[frame[frame.length - 1]].look === "x")
			counts.set(frame.length - 1, Number(numbers[k++]));
	}
	return {tree: flame.makeTree(up, frame, selfs), tones, counts};
}

function add(parent, name, attributes, text) {
	const element = document.createElementNS(NS, name);
	for (const key in attributes)
		element.setAttribute(key, attributes[key]);
	if (text !== undefined)
		element.textContent = text;
	return parent.appendChild(element);
}

function addButton(parent, id, text, name, size, act) {
	const group = add(parent, "g", {id, class: "button", tabindex: 0, role: "button", "aria-label": name});
	add(group, "title", {}, name);
	add(group, "rect", {width: size, height: 24, y: 6});
	group.caption = add(group, "text", {x: size / 2, y: 22}, text);
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

// Without this, a phone shows a picture as wide as a desktop's.
function fitPhone(svg) {
	const viewport = document.createElementNS("http://www.w3.org/1999/xhtml", "meta");
	viewport.setAttribute("name", "viewport");
	viewport.setAttribute("content", "width=device-width");
	svg.prepend(viewport);
}

// Fits text by measuring: an element in a proportional font.
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

// options: the data of a picture's #rows.
function weight(options, value) {
	const number = value * Number(options.factor);
	return options.count ? flame.count(number) + " " + options.count : flame.weight(number, options.unit);
}

function sign(difference) {
	return difference < 0 ? MINUS : "+";
}

function ratio(base, now, tone) {
	const part = base ? ", " + sign(now - base) + (Math.abs(now - base) / base * 100).toFixed(1) + "%" : "";
	return part + (VERDICTS[tone] || "") + ")";
}

// whole: the sides' total weights.
function change(options, whole, base, now, tone) {
	const weights = weight(options, base) + ARROW + weight(options, now);
	const from = whole[1] ? 100 * base / whole[1] : 0, to = whole[0] ? 100 * now / whole[0] : 0;
	if (!base && !now)
		return "none";
	if (options.compared === "weights" && base === now)
		return weights + " (unchanged)";
	if (options.compared === "weights")
		return weights + " (" + sign(now - base) + weight(options, Math.abs(now - base)) +
			ratio(base, now, tone);
	const points = from === to ? "unchanged)" : sign(to - from) + Math.abs(to - from).toFixed(2) +
		" points" + ratio(from, to, tone);
	return from.toFixed(2) + "%" + ARROW + to.toFixed(2) + "% (" + points + ", " + weights;
}

// The width of a label's character: exact for monospaced fonts, else an average with some reserve.
function columnWidth(options, labels) {
	const measure = (text) => {
		const probe = add(labels, "text", {}, text.repeat(10));
		const size = probe.getComputedTextLength() / 10 / text.length;
		probe.remove();
		return size;
	};
	if (options.column)
		return Number(options.column);
	const [thin, thick] = [measure("i"), measure("m")];
	return thick - thin < 0.1 ? thick : 1.15 * measure("std::vector<Node>_insertAt");
}

function box(from, to, top, height) {
	return "M" + from.toFixed(2) + " " + top + "H" + to.toFixed(2) + "v" + height + "H" +
		from.toFixed(2) + "z";
}

// paths: lists of boxes by class.
function makePaths(paths) {
	return Object.entries(paths).map(([name, pieces]) => {
		const path = document.createElementNS(NS, "path");
		path.setAttribute("class", name);
		path.setAttribute("d", pieces.join(""));
		return path;
	});
}

// Places the legend in one line at the right, or in as many as necessary: {size, place(width): the lines}.
function makeLegend(legend, margin) {
	const items = Array.from(legend.children, (group) => {
		const text = group.lastElementChild;
		group.removeAttribute("display");
		return {group, size: Number(text.getAttribute("x")) + text.getComputedTextLength() + GAP};
	});
	const all = items.reduce((sum, item) => sum + item.size, -GAP);
	return {size: all, place: (width) => {
		let x = Math.max(margin, width - margin - all), line = 0;
		for (const {group, size} of items) {
			if (x > margin && x + size - GAP > width - margin) {
				x = margin;
				line++;
			}
			group.setAttribute("transform", "translate(" + x + " " + line * LINE + ")");
			x += size;
		}
		return line + 1;
	}};
}

// Scales the picture to a page: {header, footer, width, height, footerHeight}; null: draws it as on a screen again.
function toPaper(svg, whole) {
	svg.style.transform = whole ? "none" : "";
	if (!whole) {
		svg.removeAttribute("viewBox");
		return;
	}
	whole.header.removeAttribute("transform");
	whole.footer.setAttribute("transform", "translate(0 " + (whole.height - whole.footerHeight) + ")");
	svg.setAttribute("viewBox", "0 0 " + whole.width + " " + whole.height);
	svg.setAttribute("preserveAspectRatio", "xMidYMin");
}

// Keeps the roots in sight until a reader scrolls away, however the window is resized. `chromium
// --headless --screenshot` enlarges its window late and would show a scrolled page blank: there,
// moves the picture up in its window instead. Returns the function to call when the window is
// resized.
function keepEnd(svg) {
	const isDriven = navigator.webdriver || !/Headless/.test(navigator.userAgent);
	const height = () => Number(svg.getAttribute("height"));
	let isKept = true;
	const show = () => {
		if (isDriven && isKept)
			window.scrollTo(0, height());
		else if (isKept)
			svg.style.transform = "translateY(" + Math.min(window.innerHeight - height(), 0) + "px)";
	};
	window.addEventListener("scroll", () => {
		isKept = window.scrollY + window.innerHeight > height() - 2;
	}, {passive: true});
	show();
	return show;
}

return {NS, add, addButton, fitPhone, keepEnd, readLines, readTree, fitElement, weight, change, columnWidth, box,
	makePaths, makeLegend, toPaper};
})();
