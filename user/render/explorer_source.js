// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_source: the source lines of the sandwich's function, if names have lines (`spin
// (burn.c:12)`), with their weights; and their text, if the file was dropped on the page.
const source = (function () {
"use strict";

const {make} = table;
const PLACE = /^(.*) \(([^()]+):(\d+)\)$/, AROUND = 3, MOST_LINES = 400;
const files = new Map(); // lines by name

// {name: of the function, file, line}; null: unknown.
function placeOf(profile, frame) {
	const match = frame >= 0 ? PLACE.exec(data.nameOf(profile, frame)) : null;
	return match && {name: match[1], file: match[2], line: Number(match[3])};
}

const baseName = (file) => file.replace(/^.*[\\/]/, "");

let known = null, knownOf = null;

// Whether functions of the profile come from a file of this name.
function knows(name) {
	const profile = explorer.page.profile;
	if (knownOf !== profile) {
		knownOf = profile;
		known = new Set();
		for (let f = 0; profile && f < profile.frames.n; f++) {
			const place = placeOf(profile, f);
			if (place)
				known.add(baseName(place.file));
		}
	}
	return known.has(name);
}

// By line: its weight, including its callees.
function weigh(profile, {list, total}, place) {
	const lines = new Map();
	list.forEach((frame) => {
		const other = placeOf(profile, frame);
		if (other && other.name === place.name && other.file === place.file)
			lines.set(other.line, (lines.get(other.line) || 0) + total[0][frame] +
				(profile.header.sides === 2 && !profile.header.comparison ? total[1][frame] : 0));
	});
	return lines;
}

// Lines to show: those with a weight and, if the file is at hand, those around them.
function choose(weights, text) {
	const chosen = new Set();
	weights.forEach((weight, line) => {
		for (let at = line - (text ? AROUND : 0); at <= line + (text ? AROUND : 0); at++)
			if (at >= 1 && (!text || at <= text.length))
				chosen.add(at);
	});
	return Array.from(chosen).sort((a, b) => a - b).slice(0, MOST_LINES);
}

function row(line, weight, most, whole, text) {
	const element = make("div", "source-line" + (weight ? "" : " none")), bar = make("i");
	bar.style.width = 100 * weight / most + "%";
	element.append(bar, make("span", "number", String(line)),
		make("span", "share", weight ? flame.percent(weight, whole) : ""), make("code", "", text));
	return element;
}

// Shows a function's lines; hides the element if they are unknown.
function show(element, profile, frame, weighed, whole) {
	const place = placeOf(profile, frame);
	element.hidden = !place;
	if (!place)
		return;
	const text = files.get(baseName(place.file)), weights = weigh(profile, weighed(), place);
	const most = Math.max(1, ...weights.values());
	element.replaceChildren(make("h2", "", place.name), make("p", "", place.file + (text ? "" :
		": drop the file here to read it")), ...choose(weights, text).map((line) =>
		row(line, weights.get(line) || 0, most, whole, text ? text[line - 1] : "")));
}

function add(name, text) {
	files.set(name, text.split("\n").map((line) => line.replace(/\t/g, "    ").slice(0, 200)));
	explorer.page.showSource();
}

return {show, add, knows};
})();
