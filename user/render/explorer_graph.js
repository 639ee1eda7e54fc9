// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_graph: trees on a canvas. Draws the visible part, finds the frame under the pointer, animates
// zooms.
//
// The canvas has the size of the window onto the graph and sticks to it, while an empty element as high as
// all rows provides the scroll bar. So scrolling is the browser's own, and a deep graph costs no memory.
//
// A pane is one tree: {tree, grows: 1 down or -1 up, row: of its root, view: the zoomed node, from, to: the
// visible window of its widths}. A flame graph is one pane; a sandwich is two that share a row.
const graph = (function () {
"use strict";

const MARGIN = 10, PADDING = 3, LEAST = 0.2, MOVE_MS = 220;
const MOST_PIXELS = 16000; // of a canvas, in each direction, that all browsers draw
const DIM = 0.32, ABOVE = 0.55; // opacity of frames that don't match; above the zoomed one
const FONT = '"DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace';

// Tens of thousands of frames may be narrower than a pixel. Each adds what it covers to the pixels
// of its row, one pixel high; then each row is drawn once, stretched to its height.
class Narrow {
	constructor() {
		this.canvas = document.createElement("canvas");
		this.context = this.canvas.getContext("2d");
		this.sums = new Float32Array(0); // by pixel: red, green, blue, coverage
	}

	// Sizes in device pixels.
	begin(width, rows) {
		if (this.canvas.width !== width || this.canvas.height !== rows) {
			this.canvas.width = width;
			this.canvas.height = rows;
			this.sums = new Float32Array(4 * width * rows);
			this.image = this.context.createImageData(width, rows);
		}
		this.width = width;
		this.used = new Uint8Array(rows);
		this.sums.fill(0);
	}

	add(row, from, to, [red, green, blue], alpha) {
		const {sums, width} = this, last = Math.min(Math.ceil(to), width);
		this.used[row] = 1;
		for (let x = Math.floor(from); x < last; x++) {
			const part = (Math.min(to, x + 1) - Math.max(from, x)) * alpha;
			const at = 4 * (row * width + x);
			sums[at] += red * part;
			sums[at + 1] += green * part;
			sums[at + 2] += blue * part;
			sums[at + 3] += part;
		}
	}

	// Calls draw(row) for each row that has anything, with the canvas ready.
	end(draw) {
		const {sums} = this, {data: pixels} = this.image;
		if (!this.used.includes(1))
			return;
		for (let at = 0; at < sums.length; at += 4) {
			const part = sums[at + 3];
			pixels[at + 3] = 255 * Math.min(part, 1);
			if (part > 0) {
				pixels[at] = sums[at] / part;
				pixels[at + 1] = sums[at + 1] / part;
				pixels[at + 2] = sums[at + 2] / part;
			}
		}
		this.context.putImageData(this.image, 0, 0);
		this.used.forEach((isUsed, row) => isUsed && draw(row));
	}
}

const parseFill = (fill) => (fill.startsWith("#") ? [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16)) :
	fill.match(/[\d.]+/g).map(Number));

// shades: the colours of nodes, see explorer_colors.js.
class Graph {
	constructor(scroll, canvas, spacer) {
		Object.assign(this, {scroll, canvas, spacer});
		this.context = canvas.getContext("2d", {alpha: false});
		this.panes = [];
		this.hits = null;     // by frame
		this.lit = null;      // the same, for a function that the pointer is on elsewhere
		this.pointed = null;  // {pane, node}, under the pointer
		this.focused = null;  // the same, of the keyboard
		this.isUnrolled = false; // on paper
		this.drawTimes = [];
		this.narrow = new Narrow();
		this.toneFills = new Map(); // [red, green, blue]
		this.rowHeight = matchMedia("(pointer: coarse)").matches ? 24 : 18;
		this.fontSize = 11;
		this.cutLeft = false;
		this.fromEnd = 0;     // how far the graph is scrolled from its lower edge
		scroll.addEventListener("scroll", () => {
			if (scroll.clientHeight === this.sight)
				this.fromEnd = this.distanceToBottom();
			this.redraw();
		}, {passive: true});
		new ResizeObserver(() => this.isUnrolled || this.resize()).observe(scroll);
	}

	// show: what to draw: {profile, nameOf, shades}.
	show(show) {
		this.profile = show;
		this.rowHeight = Math.max(this.rowHeight, show.rowHeight || 0);
		this.fontSize = show.fontSize || this.fontSize;
		this.fontType = show.fontType || "";
		this.cutLeft = show.cutLeft;
		this.toneFills.clear();
	}

	// Panes as above, except from and to. keep: leaves the scroll position.
	setPanes(panes, keep) {
		const atBottom = this.distanceToBottom();
		cancelAnimationFrame(this.moving);
		this.moving = 0;
		this.panes = panes;
		panes.forEach((pane) => Object.assign(pane, windowOf(pane.tree, pane.view)));
		this.pointed = this.focused = null;
		this.measure();
		if (keep && panes.length && panes[0].grows < 0 && panes.length === 1)
			this.scroll.scrollTop = this.scrollRoom() - atBottom;
		else if (!keep)
			this.scrollToRoot();
		this.redraw();
	}

	distanceToBottom() {
		return this.scrollRoom() - this.scroll.scrollTop;
	}

	scrollRoom() {
		return Math.max(this.height - this.sight, 0);
	}

	// Sets the places of rows: a flame graph is at the lower edge, everything else at the
	// upper one.
	measure() {
		const least = this.isUnrolled ? 0 : this.scroll.clientHeight;
		let above = 0, below = 0;
		this.panes.forEach(({tree, grows}) => {
			if (grows < 0)
				above = tree.maxDepth;
			else
				below = tree.maxDepth;
		});
		const rows = (above + below + 1) * this.rowHeight + 2 * PADDING;
		this.height = Math.max(rows, least);
		this.sight = this.isUnrolled ? rows : least;
		const free = this.height - rows;
		this.rootTop = PADDING + above * this.rowHeight;
		if (this.panes.length === 1 && above)
			this.rootTop += free;
		else if (this.panes.length === 2)
			this.rootTop += Math.floor(Math.min(free / 2, Math.max(0, least / 2 - this.rootTop)));
		this.spacer.style.height = this.height + "px";
	}

	scrollToRoot() {
		this.fromEnd = 0;
		if (this.panes.length === 1)
			this.scroll.scrollTop = this.panes[0].grows < 0 ? this.height : 0;
		else
			this.scroll.scrollTop = this.rootTop - this.scroll.clientHeight / 2;
	}

	// On paper nothing scrolls: while it is unrolled, the canvas is as high as the graph, in a printer's pixels.
	unroll(isUnrolled) {
		this.isUnrolled = isUnrolled;
		this.width = 0;
		this.resize();
	}

	resize() {
		const width = this.scroll.clientWidth - 2 * MARGIN;
		if (this.isUnrolled)
			this.measure();
		const height = this.isUnrolled ? this.height : this.scroll.clientHeight;
		const ratio = this.isUnrolled ? Math.min(2, MOST_PIXELS / Math.max(width, height)) :
			window.devicePixelRatio || 1;
		if (width <= 0 || !height)
			return;
		if (width !== this.width || height !== this.sight || ratio !== this.ratio) {
			Object.assign(this, {width, ratio});
			this.canvas.width = Math.round(width * ratio);
			this.canvas.height = Math.round(height * ratio);
			this.canvas.style.width = width + "px";
			this.canvas.style.height = height + "px";
			this.measure();
			// A window that grew has already moved its content.
			if (this.panes.length === 1 && this.panes[0].grows < 0)
				this.scroll.scrollTop = this.scrollRoom() - this.fromEnd;
		}
		this.draw();
	}

	redraw() {
		if (!this.drawing)
			this.drawing = requestAnimationFrame(() => this.draw());
	}

	draw() {
		cancelAnimationFrame(this.drawing);
		this.drawing = 0;
		if (!this.width || !this.profile)
			return;
		const began = performance.now(), {context} = this;
		context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		context.font = this.fontSize + "px " + (this.fontType ? JSON.stringify(this.fontType) + ", " : "") + FONT;
		context.textBaseline = "middle";
		if (!this.column)
			this.column = context.measureText("m".repeat(64)).width / 64;
		this.ink = getComputedStyle(this.canvas);
		this.alpha = Number(this.ink.getPropertyValue("--fill-alpha"));
		context.fillStyle = this.ink.getPropertyValue("--paper").trim();
		context.fillRect(0, 0, this.width, this.sight);
		this.top = this.rootTop - (this.isUnrolled ? 0 : this.scroll.scrollTop);
		this.panes.forEach((pane) => this.drawPane(pane));
		if (this.panes.length === 2)
			this.drawMark({pane: this.panes[0], node: 0}, this.ink.getPropertyValue("--accent").trim(), 1);
		this.drawMark(this.focused, this.ink.getPropertyValue("--accent").trim(), 2);
		this.drawMark(this.pointed, this.ink.getPropertyValue("--ink").trim(), 1.2);
		if (this.onDraw)
			this.onDraw();
		this.drawTimes.push(performance.now() - began);
		if (this.drawTimes.length > 600)
			this.drawTimes.splice(0, 300);
	}

	rowTop(pane, depth) {
		return this.top + pane.grows * depth * this.rowHeight;
	}

	isInSight(top) {
		return top > -this.rowHeight && top < this.sight;
	}

	// Depths whose rows can be visible.
	depthsInSight({tree, grows}) {
		const rows = (y) => (y - this.top) / this.rowHeight * grows;
		const ends = [rows(-this.rowHeight), rows(this.sight)];
		return {first: Math.max(0, Math.floor(Math.min(...ends))),
			last: Math.min(tree.maxDepth, Math.ceil(Math.max(...ends)))};
	}

	// Frames, then their marks, then labels: each state of the context is set once.
	drawPane(pane) {
		const {tree, from, to} = pane, {context, ratio} = this, {shades, searchColor} = this.profile;
		const hits = this.lit || this.hits;
		const {first, last} = this.depthsInSight(pane);
		const viewDepth = tree.depth[pane.view], height = this.rowHeight - 1;
		const labels = [], marks = [];
		const isHit = (node) => hits !== null && hits[tree.frame[node]] === 1;
		const snap = (x) => Math.round(x * ratio) / ratio;
		const wide = (node, left, width) => {
			const depth = tree.depth[node];
			if (depth < first || depth > last)
				return;
			const top = this.rowTop(pane, depth), hit = isHit(node);
			const alpha = hits && !hit ? DIM : depth < viewDepth ? ABOVE : 1;
			const gap = width < 2 ? 0 : width < 4 ? (width - 2) / 2 : 1;
			const x = width < 4 ? left : snap(left);
			const right = width < 4 ? left + width - gap : snap(left + width) - gap;
			context.globalAlpha = alpha * this.alpha;
			context.fillStyle = hit ? searchColor : shades.fillOf(tree, node);
			context.fillRect(x, top, right - x, height);
			if (width > 2 && shades.isMarked(tree, node))
				marks.push(node, x, right, top);
			if (width > 2 * PADDING + 2 * this.column)
				labels.push(node, x, right - x, top, alpha >= ABOVE ? 1 : 0);
		};
		const run = (depth, left, width, tone) => {
			if (depth >= first && depth <= last)
				this.narrow.add(depth - first, left * ratio, (left + width) * ratio,
					this.fillOfTone(tone), hits && tone !== -1 ? DIM : 1);
		};
		this.narrow.begin(this.canvas.width, Math.max(last - first + 1, 1));
		flame.layOutWindow(tree, from, to, this.width, LEAST / ratio,
			(node) => (isHit(node) ? -1 : shades.toneOf(tree, node)), wide, run);
		context.globalAlpha = this.alpha;
		context.imageSmoothingEnabled = false;
		this.narrow.end((row) => context.drawImage(this.narrow.canvas, 0, row, this.canvas.width, 1,
			0, this.rowTop(pane, row + first), this.width, height));
		context.globalAlpha = 1;
		for (let i = 0; i < marks.length; i += 4)
			shades.mark(context, tree, marks[i], marks[i + 1], marks[i + 2], marks[i + 3], height);
		this.drawLabels(tree, labels);
	}

	fillOfTone(tone) {
		let fill = this.toneFills.get(tone);
		if (!fill) {
			fill = parseFill(tone === -1 ? this.profile.searchColor :
				this.profile.shades.fillOfTone(tone));
			this.toneFills.set(tone, fill);
		}
		return fill;
	}

	drawLabels(tree, labels) {
		const {context} = this, {nameOf} = this.profile;
		const inks = [this.ink.getPropertyValue("--dim-label").trim(),
			this.ink.getPropertyValue("--label").trim()];
		for (const strong of [0, 1]) {
			context.fillStyle = inks[strong];
			for (let i = 0; i < labels.length; i += 5) {
				if (labels[i + 4] !== strong)
					continue;
				const {shades} = this.profile, columns = (labels[i + 2] - 2 * PADDING) / this.column;
				const text = flame.fitLabel(shades.signOf(tree, labels[i]), nameOf(tree.frame[labels[i]]),
					shades.growthOf(tree, labels[i]), columns, this.cutLeft);
				if (text)
					context.fillText(text, labels[i + 1] + PADDING,
						labels[i + 3] + this.rowHeight / 2);
			}
		}
	}

	drawMark(place, color, width) {
		const box = place && this.boxOf(place.pane, place.node);
		if (!box || !this.isInSight(box.top) || box.left >= this.width || box.left + box.width <= 0)
			return;
		const left = Math.max(box.left, 0), right = Math.min(box.left + box.width, this.width);
		this.context.globalAlpha = 1;
		this.context.strokeStyle = color;
		this.context.lineWidth = width;
		this.context.strokeRect(left + width / 2, box.top + width / 2,
			Math.max(right - left - width - (right - left > 4), 1), this.rowHeight - 1 - width);
	}

	// The place of a frame on the canvas, which may be out of sight.
	boxOf(pane, node) {
		const {tree, from, to} = pane, scale = this.width / (to - from || 1);
		return {left: (tree.start[node] - from) * scale, width: tree.width[node] * scale,
			top: this.rowTop(pane, tree.depth[node]), height: this.rowHeight - 1};
	}

	// {pane, node} at a position on the canvas; null: none.
	placeAt(x, y) {
		for (const pane of this.panes) {
			const {tree, from, to, view, grows} = pane;
			const rows = (y - this.top) / this.rowHeight;
			const depth = grows > 0 ? Math.floor(rows) : -Math.floor(rows);
			if (depth < 0 || depth > tree.maxDepth)
				continue;
			const node = flame.nodeAt(tree, view, depth, from + x * (to - from) / this.width);
			if (node >= 0 && tree.width[node] > 0)
				return {pane, node};
		}
		return null;
	}

	// Zooms to a node of a pane, animated unless the user prefers less motion.
	zoom(pane, node) {
		const {from, to} = pane, goal = windowOf(pane.tree, node);
		pane.view = node;
		cancelAnimationFrame(this.moving);
		this.moving = 0;
		this.pointed = null;
		if (matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden ||
			(goal.from === from && goal.to === to)) {
			Object.assign(pane, goal);
			this.draw();
			return;
		}
		const began = performance.now();
		const step = () => {
			const part = Math.min((performance.now() - began) / MOVE_MS, 1);
			Object.assign(pane, part === 1 ? goal : between({from, to}, goal, ease(part)));
			this.draw();
			this.moving = part < 1 ? requestAnimationFrame(step) : 0;
		};
		step();
	}

	// Whether the view differs from the zoomed frame.
	isFree(pane) {
		const whole = windowOf(pane.tree, pane.view);
		return !this.moving && (pane.from !== whole.from || pane.to !== whole.to);
	}

	// Shows another part of the zoomed frame: a window of this size from there, or as near as possible.
	look(pane, from, size) {
		const whole = windowOf(pane.tree, pane.view), least = pane.tree.width[0] * 1e-7;
		cancelAnimationFrame(this.moving);
		this.moving = 0;
		size = Math.min(Math.max(size, least), whole.to - whole.from);
		pane.from = Math.min(Math.max(from, whole.from), whole.to - size);
		pane.to = size === whole.to - whole.from ? whole.to : pane.from + size;
		this.redraw();
	}

	// Widens or narrows the view around x.
	magnify(pane, x, factor) {
		const size = (pane.to - pane.from) / factor, part = x / this.width;
		this.look(pane, pane.from + part * (pane.to - pane.from - size), size);
	}

	// Scrolls a frame into sight; visible rows don't move.
	reveal({pane, node}) {
		const top = this.rootTop + pane.grows * pane.tree.depth[node] * this.rowHeight;
		const {scrollTop} = this.scroll, room = 2 * this.rowHeight;
		if (top - room < scrollTop)
			this.scroll.scrollTop = top - room;
		else if (top + room + this.rowHeight > scrollTop + this.sight)
			this.scroll.scrollTop = top + room + this.rowHeight - this.sight;
		this.redraw();
	}
}

function windowOf(tree, node) {
	return {from: tree.start[node], to: tree.start[node] + tree.width[node]};
}

const ease = (part) => 1 - (1 - part) ** 3;

// Widths change by factors, which looks even; sums would rush at one end.
function between(from, to, part) {
	const size = (from.to - from.from) ** (1 - part) * (to.to - to.from) ** part;
	const whole = (to.to - to.from) - (from.to - from.from);
	const moved = Math.abs(whole) < 1e-9 * (to.to - to.from) ? part :
		(size - (from.to - from.from)) / whole;
	const left = from.from + (to.from - from.from) * moved;
	return {from: left, to: left + size};
}

return {Graph};
})();
