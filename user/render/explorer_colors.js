// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_colors: the colours of nodes. Fills come from the same palettes as in the SVG. The graph's
// interface:
//
// fillOf(tree, node)				a frame's fill
// toneOf(tree, node), fillOfTone(tone)		for frames too narrow to be distinguished, by a number
// isMarked(tree, node), mark(…)		marks on top
const colors = (function () {
"use strict";

function mix(fills) {
	const sums = [0, 0, 0];
	fills.forEach((fill) => {
		for (let c = 0; c < 3; c++)
			sums[c] += parseInt(fill.slice(1 + 2 * c, 3 + 2 * c), 16);
	});
	return "rgb(" + sums.map((sum) => Math.round(sum / (fills.length || 1))).join(" ") + ")";
}

const isLeftOut = (tree, node) => tree.frame[node] === flame.ELIDED;

function dashed(context, left, right, top, height, style) {
	if (right - left < 6)
		return;
	context.setLineDash([3, 2]);
	context.strokeStyle = style;
	context.lineWidth = 1;
	context.strokeRect(left + 0.5, top + 0.5, right - left - 1, height - 1);
	context.setLineDash([]);
}

// Thin lines over a box, on a grid that all boxes share.
const hatches = new Map();

function hatched(context, left, right, top, height, style) {
	if (!hatches.has(style)) {
		const tile = document.createElement("canvas"), lines = tile.getContext("2d");
		tile.width = tile.height = 8;
		lines.strokeStyle = style;
		lines.lineWidth = 1.2;
		for (const shift of [-8, 0, 8]) {
			lines.moveTo(shift, 0);
			lines.lineTo(shift + 8, 8);
		}
		lines.stroke();
		hatches.set(style, context.createPattern(tile, "repeat"));
	}
	context.fillStyle = hatches.get(style);
	context.fillRect(left, top, right - left, height);
}

// By name and kind; if running and waiting are drawn, by which of them takes most of a frame's
// time.
function ofKinds(profile) {
	const {header, frames} = profile, {fills} = header;
	const isWall = header.sides === 2;
	const tones = new Map();

	const runs = (tree, node) => isWall && tree.sides[1].total[node] > tree.sides[0].total[node];
	const fillNumber = (tree, node) => {
		const f = tree.frame[node];
		return runs(tree, node) ? frames.fillRunning[f] : frames.fill[f];
	};
	const toneOfFrame = (f, running) => frames.kind[f] + 16 * frames.isWaker[f] + 32 * running;

	for (const [running, list] of [[0, frames.fill], [1, frames.fillRunning]]) {
		const members = new Map();
		for (let f = 0; f < frames.n; f++) {
			const tone = toneOfFrame(f, running);
			if (!members.has(tone))
				members.set(tone, new Set());
			members.get(tone).add(fills[list[f]]);
		}
		members.forEach((set, tone) => tones.set(tone, mix(Array.from(set))));
	}

	return {
		fillOf: (tree, node) => (tree.frame[node] >= 0 ? fills[fillNumber(tree, node)] :
			tree.frame[node] === flame.ROOT ? header.rootFill : header.elidedFill),
		toneOf: (tree, node) => (tree.frame[node] >= 0 ?
			toneOfFrame(tree.frame[node], Number(runs(tree, node))) : -2),
		fillOfTone: (tone) => (tone === -2 ? header.elidedFill : tones.get(tone)),
		signOf: () => "",
		growthOf: () => "",
		isMarked: isLeftOut,
		mark: (context, tree, node, left, right, top, height) =>
			dashed(context, left, right, top, height, "#8a8f9a"),
	};
}

// enum tone of tone.h, with the sizes of changes.
const SAME = 0, GREW = 1, SHRANK = 4, NEW = 7, GONE = 8, UNKNOWN = -1;
const MUCH = {share: 0.01, strength: 0.2}, LITTLE = {share: 0.001, strength: 0.05};

function toneOfChange({kind, difference, strength}, whole) {
	const share = whole > 0 ? Math.abs(difference) / whole : 0;
	const size = share >= MUCH.share && strength >= MUCH.strength ? 2 :
		Number(share >= LITTLE.share && strength >= LITTLE.strength);
	return {none: SAME, grew: GREW + size, shrank: SHRANK + size, new: NEW, gone: GONE}[kind];
}

// By the change of a node's total: red if it grew, blue if it shrank, grey within chance. A bar on
// the lower edge shows the change of the self weight. Frames on only one side have a dashed edge.
function ofChanges(profile) {
	const {header} = profile, {toneFills, toneHatches, toneLines} = header;
	const whole = header.normalized ? 1 : Math.max(...header.totals);

	// Tones of a tree's nodes, cached: a graph needs them again for every picture.
	const known = new WeakMap();
	const toneOf = (tree, node, what) => {
		if (!known.has(tree))
			known.set(tree, {total: new Int8Array(tree.n).fill(UNKNOWN),
				self: new Int8Array(tree.n).fill(UNKNOWN)});
		const tones = known.get(tree)[what];
		if (tones[node] === UNKNOWN)
			tones[node] = toneOfChange(compare.changeAt(header,
				tree.sides.map((side) => side[what]), node, what, tree.frame[node]), whole);
		return tones[node];
	};
	const totalTone = (tree, node) => (isLeftOut(tree, node) ? -2 : toneOf(tree, node, "total"));
	const fillOfTone = (tone) => (tone < 0 ? header.elidedFill : toneFills[tone]);
	const hasOwn = (tree, node) => tree.end[node] > node + 1 &&
		(tree.sides[0].self[node] > 0 || tree.sides[1].self[node] > 0);

	return {
		toneOf: totalTone, fillOfTone,
		growthOf: (tree, node) => {
			const [now, base] = tree.sides.map((side, s) => side.total[node] * header.scales[s]);
			return flame.growth(base, now, totalTone(tree, node));
		},
		signOf: (tree, node) => flame.SIGNS[Math.max(totalTone(tree, node), SAME)],
		fillOf: (tree, node) => fillOfTone(totalTone(tree, node)),
		isMarked: (tree, node) => hasOwn(tree, node) || isLeftOut(tree, node) ||
			totalTone(tree, node) >= SHRANK,
		mark: (context, tree, node, left, right, top, height) => {
			const own = hasOwn(tree, node) ? toneOf(tree, node, "self") : SAME;
			const tone = totalTone(tree, node);
			if (toneHatches[tone])
				hatched(context, left, right, top, height, toneHatches[tone]);
			if (own !== SAME) {
				context.fillStyle = toneLines[own];
				context.fillRect(left, top + height - 3, right - left, 3);
			}
			if (tone < 0 || tone >= NEW)
				dashed(context, left, right, top, height, tone < 0 ? "#8a8f9a" : toneLines[tone]);
		},
	};
}

const shadesOf = (profile) => (profile.header.comparison ? ofChanges(profile) : ofKinds(profile));

return {shadesOf};
})();
