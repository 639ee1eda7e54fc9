// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_overview: the whole graph in a strip above it, with a frame around the visible part,
// unless all is visible. Clicking or dragging in the strip moves the view there.
const overview = (function () {
"use strict";

const HEIGHT = 34, MARGIN = 10, LEAST = 1;

let page = null, canvas = null;
let drawn = null, drawnKey = ""; // the picture without the frame, and what it shows

const onlyPane = () => (page.graph.panes.length === 1 ? page.graph.panes[0] : null);

// The strip keeps its place even if everything is visible, so that the layout does not jump.
const isWanted = (pane) => page.isGraph() && pane && pane.tree.width[0] > 0;

const isPart = (pane) => page.graph.height > page.graph.sight + 1 || pane.from > 0 || pane.to < pane.tree.width[0];

function drawWhole(pane, width, ratio) {
	const {tree, grows} = pane, {shades} = page.graph.profile, picture = document.createElement("canvas");
	const rows = tree.maxDepth + 1, high = HEIGHT / rows, context = picture.getContext("2d");
	picture.width = Math.round(width * ratio);
	picture.height = Math.round(HEIGHT * ratio);
	context.scale(ratio, ratio);
	const box = (depth, left, size) =>
		context.fillRect(left, (grows > 0 ? depth : rows - 1 - depth) * high, size, Math.max(high, 0.7));
	flame.layOutWindow(tree, 0, tree.width[0], width, LEAST, (node) => shades.toneOf(tree, node),
		(node, left, size) => {
			context.fillStyle = shades.fillOf(tree, node);
			box(tree.depth[node], left, size);
		}, (depth, left, size, tone) => {
			context.fillStyle = shades.fillOfTone(tone);
			box(depth, left, size);
		});
	return picture;
}

// The visible part, in pixels of the strip.
function sightOf(pane, width) {
	const {graph} = page, scale = width / pane.tree.width[0];
	return {left: pane.from * scale, right: Math.max(pane.to * scale, pane.from * scale + 2),
		top: graph.scroll.scrollTop / graph.height * HEIGHT,
		bottom: (graph.scroll.scrollTop + graph.sight) / graph.height * HEIGHT};
}

const keys = new WeakMap(); // numbers of trees

function keyOf({tree, grows}, width, ratio) {
	if (!keys.has(tree))
		keys.set(tree, String(Math.random()));
	return [keys.get(tree), grows, width, ratio].join(" ");
}

function draw() {
	const pane = onlyPane(), {width, ratio} = page.graph;
	canvas.hidden = !isWanted(pane);
	if (canvas.hidden || !width)
		return;
	const key = keyOf(pane, width, ratio), context = canvas.getContext("2d");
	if (key !== drawnKey) {
		drawn = drawWhole(pane, width, ratio);
		drawnKey = key;
		canvas.width = drawn.width;
		canvas.height = drawn.height;
		canvas.style.width = width + "px";
		canvas.style.height = HEIGHT + "px";
	}
	const isWhole = !isPart(pane), {left, right, top, bottom} = sightOf(pane, width), ink = page.graph.ink;
	context.setTransform(1, 0, 0, 1, 0, 0);
	context.globalAlpha = 1;
	context.fillStyle = ink.getPropertyValue("--paper").trim();
	context.fillRect(0, 0, canvas.width, canvas.height);
	context.globalAlpha = isWhole ? 1 : 0.45;
	context.drawImage(drawn, 0, 0);
	if (isWhole)
		return;
	context.save();
	context.scale(ratio, ratio);
	context.beginPath();
	context.rect(left, top, right - left, bottom - top);
	context.clip();
	context.setTransform(1, 0, 0, 1, 0, 0);
	context.globalAlpha = 1;
	context.drawImage(drawn, 0, 0);
	context.restore();
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.strokeStyle = ink.getPropertyValue("--accent").trim();
	context.lineWidth = 1.5;
	context.strokeRect(left + 0.75, top + 0.75, Math.max(right - left - 1.5, 1), bottom - top - 1.5);
}

// Moves the view to a place of the strip, without changing its size.
function lookAt(event) {
	const pane = onlyPane(), {graph} = page, box = canvas.getBoundingClientRect();
	if (!pane)
		return;
	const size = pane.to - pane.from, x = (event.clientX - box.left) / box.width * pane.tree.width[0];
	if (size < pane.tree.width[0]) {
		page.leaveZoom();
		graph.look(pane, x - size / 2, size);
	}
	graph.scroll.scrollTop = (event.clientY - box.top) / HEIGHT * graph.height - graph.sight / 2;
	graph.redraw();
}

function listen(to) {
	page = to;
	canvas = page.one("map");
	canvas.style.margin = "0 " + MARGIN + "px";
	page.graph.onDraw = draw;
	canvas.addEventListener("pointerdown", (event) => {
		canvas.setPointerCapture(event.pointerId);
		lookAt(event);
	});
	canvas.addEventListener("pointermove", (event) => event.buttons & 1 && lookAt(event));
}

return {listen, forget: () => (drawnKey = "")};
})();
