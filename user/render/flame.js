// SPDX-License-Identifier: GPL-2.0-or-later
//
// flame: shared by all interactive pictures: the tree and the places of its frames, search, fitting
// text, figures, links. Uses no document; svg.js and explorer.js draw.
//
// A tree is arrays by node, in depth-first order, as in core/tree.h: the nodes below node i are those
// from i + 1 to end[i] - 1, so walking is counting up, and end[i] skips a subtree.
const flame = (function () {
"use strict";

const LEAST_COLUMNS = 3;
const ROOT = -1, ELIDED = -2; // frames that are not functions

// Makes a tree from its depth-first columns. up: how many levels a node begins above where the
// previous one would have a child (0: the previous node is its parent, 1: that one's parent …; the
// root has 0). frame: a number by node. selfs: for each side an array of self weights by node.
// scales: the factor of each side's weights for drawing.
function makeTree(up, frame, selfs, scales) {
	const n = up.length;
	const tree = {n, frame, parent: new Int32Array(n), end: new Int32Array(n),
		depth: new Int32Array(n), maxDepth: 0, start: new Float64Array(n), sides: []};
	const path = [];
	for (let i = 0; i < n; i++) {
		for (let leave = i ? up[i] : 0; leave > 0; leave--)
			tree.end[path.pop()] = i;
		tree.parent[i] = i ? path[path.length - 1] : -1;
		tree.depth[i] = path.length;
		tree.maxDepth = Math.max(tree.maxDepth, path.length);
		path.push(i);
	}
	while (path.length)
		tree.end[path.pop()] = n;
	tree.sides = selfs.map((self) => ({self, total: sumUp(tree, self)}));
	setWidths(tree, scales || selfs.map(() => 1));
	return tree;
}

// Each node's weight with those below it. Children come after their parents.
function sumUp(tree, self) {
	const total = Float64Array.from(self);
	for (let i = tree.n - 1; i > 0; i--)
		total[tree.parent[i]] += total[i];
	return total;
}

// Sets every node's place: [start, start + width), children one after another from their parent's
// start.
function setWidths(tree, scales) {
	const {n, parent, start, sides} = tree;
	if (sides.length === 1 && scales[0] === 1) {
		tree.width = sides[0].total;
	} else {
		tree.width = new Float64Array(n);
		sides.forEach((side, s) => {
			for (let i = 0; i < n; i++)
				tree.width[i] += side.total[i] * scales[s];
		});
	}
	const next = new Float64Array(n); // where the next child of a node begins
	start[0] = 0;
	for (let i = 1; i < n; i++) {
		start[i] = next[parent[i]];
		next[parent[i]] = start[i] + tree.width[i];
		next[i] = start[i];
	}
}

// Calls wide(node, left, width) for each frame of at least 1 pixel when view has size pixels, and
// run(depth, left, width, hit) for each run of adjacent narrower ones, row by row. The ancestors
// of view take the whole width. Frames narrower than least pixels are left out with everything
// below; isHit(node) separates narrow frames of two colours.
function layOut(tree, view, size, least, isHit, wide, run) {
	const {start, width, end, depth} = tree;
	const scale = size / (width[view] || 1), from = start[view];
	const runs = [];
	const above = [];
	for (let i = tree.parent[view]; i >= 0; i = tree.parent[i])
		above.push(i);
	above.reverse().forEach((i) => wide(i, 0, size));
	for (let i = view; i < end[view];) {
		const w = width[i] * scale;
		if (w < least) {
			i = end[i];
			continue;
		}
		const left = (start[i] - from) * scale;
		if (w >= 1)
			wide(i, left, w);
		else
			addToRun(runs, depth[i], left, left + w, isHit(i), run);
		i++;
	}
	runs.forEach((open, d) => open && run(d, open.from, open.to - open.from, open.hit));
}

// The same for a window of widths, [from, to), which may cut frames: left and width are then those
// of the visible part. toneOf(node) separates narrow frames.
function layOutWindow(tree, from, to, size, least, toneOf, wide, run) {
	const {n, start, width, end, depth} = tree;
	const scale = size / (to - from || 1);
	const runs = [];
	for (let i = 0; i < n;) {
		const w = width[i] * scale, x = (start[i] - from) * scale;
		const left = Math.max(x, 0), seen = Math.min(x + w, size) - left;
		if (w < least || seen < Math.min(least, w / 2)) {
			i = end[i];
			continue;
		}
		if (w >= 1)
			wide(i, left, seen);
		else
			addToRun(runs, depth[i], left, left + seen, toneOf(i), run);
		i++;
	}
	runs.forEach((open, d) => open && run(d, open.from, open.to - open.from, open.hit));
}

function addToRun(runs, depth, from, to, hit, run) {
	const open = runs[depth];
	if (open && open.hit === hit && from - open.to < 0.02) {
		open.to = to;
		return;
	}
	if (open)
		run(depth, open.from, open.to - open.from, open.hit);
	runs[depth] = {from, to, hit};
}

// Walking.

// The node of a row at a position (in widths), of those under view; -1: none.
function nodeAt(tree, view, depth, position) {
	const {start, width, end} = tree;
	if (depth <= tree.depth[view]) {
		let i = view;
		while (tree.depth[i] > depth)
			i = tree.parent[i];
		return i;
	}
	for (let i = view; i < end[view];) {
		if (position < start[i] || position >= start[i] + width[i])
			i = end[i];
		else if (tree.depth[i] === depth)
			return i;
		else
			i++;
	}
	return -1;
}

function children(tree, node) {
	const list = [];
	for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
		list.push(i);
	return list;
}

// The target of an arrow key; -1: none. Left and right stay in the row and go past other parents.
function neighbour(tree, view, node, direction) {
	if (direction === "parent")
		return tree.parent[node];
	if (direction === "child")
		return children(tree, node).reduce((best, i) =>
			(best < 0 || tree.width[i] > tree.width[best] ? i : best), -1);
	if (direction === "next")
		return tree.end[node] >= tree.end[view] ? -1 :
			firstOfRow(tree, tree.end[node], tree.end[view], tree.depth[node]);
	let last = -1;
	for (let i = view; i < node;) {
		if (tree.depth[i] === tree.depth[node] && tree.end[i] <= node) {
			last = i;
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return last;
}

function firstOfRow(tree, from, to, depth) {
	for (let i = from; i < to; i++)
		if (tree.depth[i] === depth && tree.width[i] > 0)
			return i;
	return -1;
}

// Search.

// A regular expression; plain text if it isn't one. Without matchCase, capitals in it still match
// case.
function makePattern(text, matchCase) {
	const flags = matchCase || /[A-Z]/.test(text) ? "" : "i";
	try {
		return new RegExp(text, flags);
	} catch (error) {
		return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
	}
}

// How much the nodes with a hit cover under view, nested ones counted once. hits: by frame.
// weights: by node.
function covered(tree, view, hits, weights) {
	let sum = 0;
	for (let i = view; i < tree.end[view];) {
		if (hits[tree.frame[i]]) {
			sum += weights[i];
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return sum;
}

// Figures.

function percent(part, whole) {
	return (whole ? 100 * part / whole : 0).toFixed(2) + "%";
}

function count(number) {
	const [whole, rest] = String(Math.round(number * 1000) / 1000).split(".");
	return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ? "." + rest : "");
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

// unit: "ns", or what is counted, in the singular if its plural adds s.
function weight(value, unit) {
	if (unit === "ns")
		return time(value);
	return count(value) + (value === 1 || unit.endsWith("s") ? " " + unit : " " + unit + "s");
}

// Text that fits.

function isWide(code) {
	return code >= 0x1100 && (code < 0x1160 || (code >= 0x2e80 && code < 0xa4d0) ||
		(code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
		(code >= 0xff00 && code < 0xff61) || (code >= 0x1f300 && code < 0x1fb00) ||
		(code >= 0x20000 && code < 0x40000));
}

// By enum tone of tone.h: beginnings of labels, for people who can't distinguish the colours.
const SIGNS = ["", "\u25b2 ", "\u25b2 ", "\u25b2 ", "\u25bc ", "\u25bc ", "\u25bc ", "+ ", "\u2212 "];

// " +14.4 %": how much something grew, as svg_text.c words it; "" without a change beyond chance.
function growth(base, now, tone) {
	if (tone < 1 || tone > 6 || !(base > 0))
		return "";
	const change = Math.abs(now - base) / base * 100;
	return (now < base ? " \u2212" : " +") + change.toFixed(change < 100 ? 1 : 0) + " %";
}

// The label: sign, as much of the name as fits, and all of the growth or nothing of it.
function fitLabel(sign, name, end, columns, cutLeft) {
	const text = fitColumns(name, columns - sign.length, cutLeft);
	const isWhole = text === name && fitColumns(name + end, columns - sign.length, false) === name + end;
	return text && sign + text + (isWhole ? end : "");
}

// As much of text as fits in columns; an ellipsis replaces the end, or the beginning with cutLeft.
// "" if that says nothing.
function fitColumns(text, columns, cutLeft) {
	if (text.length <= columns / 2)
		return text;
	const characters = Array.from(text);
	if (cutLeft)
		characters.reverse();
	let used = 0, kept = 0;
	for (let i = 0; i < characters.length; i++) {
		used += isWide(characters[i].codePointAt(0)) ? 2 : 1;
		if (used > columns) {
			if (columns < LEAST_COLUMNS)
				return "";
			const rest = characters.slice(0, kept);
			return cutLeft ? "\u2026" + rest.reverse().join("") : rest.join("") + "\u2026";
		}
		if (used <= columns - 1)
			kept = i + 1;
	}
	return text;
}

// Links: what a picture shows, as the fragment of its address. A hash of the names on its path
// identifies a node, so that a link also works for the next picture of the same program.

const LINK_SEED = 2166136261;

function hashName(name) {
	let hash = LINK_SEED;
	for (let k = 0; k < name.length; k++)
		hash = Math.imul(hash ^ name.charCodeAt(k), 16777619);
	return hash;
}

function hashBelow(hash, nameHash) {
	hash = Math.imul(hash ^ nameHash, 2246822519);
	return hash ^ (hash >>> 15);
}

function linkText(depth, hash) {
	return depth + "." + (hash >>> 0).toString(36);
}

// isLeftOut, if given: nodes to skip as if they were not there.
function nodeLink(tree, node, nameOf, isLeftOut) {
	const path = [];
	for (let i = node; i > 0; i = tree.parent[i])
		if (!isLeftOut || !isLeftOut(i))
			path.push(i);
	const hash = path.reduceRight((above, i) => hashBelow(above, hashName(nameOf(i))), LINK_SEED);
	return linkText(path.length, hash);
}

// All nodes that a link refers to; more than one only if some are left out.
function linkedNodes(tree, link, nameOf, isLeftOut) {
	const [wantedDepth, text] = link.split(".");
	const depthWanted = Number(wantedDepth), wanted = parseInt(text, 36) | 0;
	const hash = new Int32Array(tree.n), depth = new Int32Array(tree.n);
	const byFrame = new Map();
	const found = [];
	hash[0] = LINK_SEED;
	for (let i = 1; i < tree.n; i++) {
		const parent = tree.parent[i];
		hash[i] = hash[parent];
		depth[i] = depth[parent];
		if (isLeftOut && isLeftOut(i))
			continue;
		let nameHash = byFrame.get(tree.frame[i]);
		if (nameHash === undefined)
			byFrame.set(tree.frame[i], nameHash = hashName(nameOf(i)));
		hash[i] = hashBelow(hash[parent], nameHash);
		if (++depth[i] === depthWanted && hash[i] === wanted)
			found.push(i);
	}
	return found;
}

// The node that a link refers to; 0, the root, if there is none.
function linkedNode(tree, link, nameOf) {
	return linkedNodes(tree, link, nameOf)[0] || 0;
}

// { key: text } ⇄ "#key=text&…"; keys without text are left out.
function readLink(hash) {
	return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}

function writeLink(state) {
	const set = Object.entries(state).filter(([, text]) => text);
	return set.length ? "#" + new URLSearchParams(set) : "";
}

return {ROOT, ELIDED, makeTree, setWidths, layOut, layOutWindow, nodeAt, children, neighbour, makePattern,
	covered, percent, count, time, weight, SIGNS, growth, fitLabel, fitColumns, nodeLink, linkedNode, linkedNodes,
	readLink, writeLink};
})();
