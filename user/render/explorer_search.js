// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_search: which functions match, their weight, stepping from match to match.
const search = (function () {
"use strict";

let page = null;
let shown = "", hits = null; // by frame: 1 for a match
let matches = null, at = -1; // nodes of the current pane, and the current one

function forget() {
	matches = null;
	at = -1;
}

function reset() {
	forget();
	shown = "";
	hits = null;
}

// Returns whether the matches changed.
function update({q, c}) {
	const key = (q || "") + "\n" + (c || "");
	const isNew = key !== shown;
	if (isNew) {
		shown = key;
		forget();
		hits = q ? new Uint8Array(page.profile.frames.n) : null;
		if (q) {
			const pattern = flame.makePattern(q, c);
			page.profile.frames.name.forEach((name, f) => hits[f] = pattern.test(name));
		}
		page.graph.hits = hits;
	}
	tell();
	return isNew;
}

const count = () => page.weighFunctions().list.reduce((sum, f) => sum + hits[f], 0);

const whole = (tree) => flame.covered(tree, 0, hits, tree.width);

function tell() {
	const box = page.one("matched");
	let text = "";
	if (hits) {
		text = flame.percent(whole(page.tree), page.tree.width[0]);
		if (matches && at >= 0)
			text = at + 1 + "/" + matches.length + " \u00b7 " + text;
	}
	box.textContent = text;
	box.classList.toggle("nothing", hits !== null && !count());
	page.one("previous").hidden = page.one("next").hidden = !hits;
}

// "matched 12.34% of all, 56.78% here, in 9 functions"; or "".
function text() {
	if (!hits)
		return "";
	const {tree} = page, pane = page.graph.panes[0], n = count();
	let told = "matched " + flame.percent(whole(tree), tree.width[0]) + " of all";
	if (page.isGraph() && pane && pane.tree === tree && pane.view > 0)
		told += ", " + flame.percent(coveredInView(tree, pane.view), tree.width[pane.view]) + " here";
	return told + ", in " + flame.count(n) + (n === 1 ? " function" : " functions");
}

// A match above the view covers all of it.
function coveredInView(tree, view) {
	for (let i = view; i > 0; i = tree.parent[i])
		if (hits[tree.frame[i]] === 1)
			return tree.width[view];
	return flame.covered(tree, view, hits, tree.width);
}

// The outermost matches, heaviest first.
function find({n, frame, end, width}) {
	const list = [];
	for (let i = 0; i < n;) {
		if (frame[i] >= 0 && hits[frame[i]] && width[i] > 0) {
			list.push(i);
			i = end[i];
		} else {
			i++;
		}
	}
	return list.sort((a, b) => width[b] - width[a] || a - b);
}

// Focuses the next match, 1, or the previous, -1; zooms if it would not be visible.
function step(by) {
	const {graph} = page, pane = graph.panes[graph.panes.length - 1];
	if (!hits || !page.isGraph() || !pane)
		return;
	if (!matches) {
		matches = find(pane.tree);
		at = -1;
	}
	if (!matches.length)
		return;
	at = at < 0 && by < 0 ? matches.length - 1 : (at + by + matches.length) % matches.length;
	const node = matches[at], box = graph.boxOf(pane, node);
	if (box.width < 4 || box.left < -1 || box.left + box.width > graph.width + 1)
		page.zoom({pane, node: contextOf(pane.tree, node)});
	page.focus({pane, node});
	tell();
}

// The widest frame around a node in which the node is wide enough to be seen.
function contextOf(tree, node) {
	let context = node;
	for (let i = node; i >= 0 && tree.width[node] / tree.width[i] * page.graph.width >= 24; i = tree.parent[i])
		context = i;
	return context;
}

function listen(to) {
	page = to;
}

return {listen, update, forget, reset, step, text, hits: () => hits};
})();
