// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_input: keyboard, pointer, buttons: turns user actions into calls of the page (explorer.js).
const input = (function () {
"use strict";

const KEY_FACTOR = 1.5, WHEEL_FACTOR = 1.0025; // the latter by pixel

let page = null, searchTimer = 0;
let pointer = {x: 0, y: 0, kind: "mouse"};

// Keys as the help shows them: [keys, what they do, run].
const KEYS = [
	["/, Ctrl-F", "Search", null],
	["n, N", "Next match, previous", null],
	["Arrows", "Walk from frame to frame", null],
	["Enter", "Zoom to the frame", null],
	["Esc, Backspace", "Back", null],
	["0", "Reset the zoom", () => reset()],
	["1", "Graph", () => page.set({v: "", z: ""})],
	["2", "Sandwich", () => toSandwich()],
	["3", "Functions", () => page.set({v: "table", z: ""})],
	["r", "Top-down or bottom-up", () => page.set({r: page.state.r ? "" : "up", z: ""})],
	["t", "Functions beside the graph", () => page.set({p: page.state.p ? "" : "1"})],
	["+, -", "Wider, narrower (Ctrl and the wheel)", null],
	["i", "Flame or icicle", () => page.set({o: page.isIcicle() ? "flame" : "icicle"})],
	["w", "By name or by weight", () => page.set({s: page.state.s ? "" : "weight"})],
	["b", "Widths: both, new, base", () => page.profile.header.comparison &&
		page.set({w: {"": "new", new: "base", base: ""}[page.state.w || ""]})],
	["k", "Kernel frames", () => page.set({k: page.state.k ? "" : "off"})],
	["l", "Inlined functions", () => page.set({i: page.state.i ? "" : "off"})],
	["g", "Merge recursion", () => page.set({g: page.state.g ? "" : "1"})],
	["j", "Join functions of a module", () => page.set({m: page.state.m ? "" : "1"})],
	["f", "Filters", () => page.toggleSide()],
	["s", "Sandwich of the frame", null],
	["o", "Focus: only its path", null],
	["h", "Hide it with all above", null],
	["d", "Take the function out", null],
	["e", "Find it everywhere", null],
	["u", "Undo the latest of these", () => undo()],
	["c, C", "Copy name, stack", null],
	["y", "Copy link", () => copyLink()],
	["m", "Light or dark", () => page.setTheme(page.isDark() ? "light" : "dark")],
	["?", "This help", () => page.one("help").showModal()],
];

function reset() {
	page.set({z: ""});
	page.graph.panes.filter((pane) => page.graph.isFree(pane)).forEach((pane) => page.graph.zoom(pane, pane.view));
}

// For the selected frame, if any.
function toSandwich() {
	const place = page.selected(), change = {v: "sandwich", z: ""};
	if (place && place.frame >= 0)
		change.f = links.functionId(page.profile, place.frame);
	page.set(change);
}

function undo() {
	const steps = (page.state.x || "").split("~").filter(Boolean);
	if (steps.length)
		page.set({x: steps.slice(0, -1).join("~")});
}

function copyLink() {
	page.copy(location.href, "Link copied");
}

// Searches soon after the last key.
function searchFor(text, now) {
	clearTimeout(searchTimer);
	searchTimer = setTimeout(() => page.set({q: text}, true), now ? 0 : 90);
}

function isFind(event) {
	return event.key === "F3" || ((event.ctrlKey || event.metaKey) && !event.altKey &&
		event.key.toLowerCase() === "f");
}

function onKey(event) {
	const query = page.one("query"), inField = /^(INPUT|TEXTAREA)$/.test(event.target.tagName) &&
		event.target.type !== "checkbox";
	if (page.one("help").open || !page.profile)
		return;
	// A second Ctrl-F goes to the browser.
	if (isFind(event) && document.activeElement !== query) {
		event.preventDefault();
		query.focus();
		query.select();
	} else if (event.key === "Escape") {
		escape(event, inField);
	} else if (inField && event.target === query && event.key === "Enter") {
		searchFor(query.value, true);
		setTimeout(() => search.step(event.shiftKey ? -1 : 1));
	} else if (!inField && !event.ctrlKey && !event.metaKey && !event.altKey) {
		onCommand(event);
	}
}

function escape(event, inField) {
	const query = page.one("query");
	if (inField && event.target !== query) {
		event.target.blur();
	} else if (page.state.q || inField) {
		query.value = "";
		query.blur();
		searchFor("", true);
	} else if (page.graph.focused) {
		page.graph.focused = null;
		page.graph.redraw();
		page.showPlace(null);
		page.updateActions();
	} else {
		page.back();
	}
	event.preventDefault();
}

function onCommand(event) {
	const {key} = event, isControl = /^(BUTTON|SUMMARY)$/.test(event.target.tagName);
	const known = KEYS.find(([keys, , run]) => run && keys === key);
	const action = page.actionsFor(page.selected()).find((a) => a.key === key);
	if (isControl && (key === "Enter" || key === " "))
		return;
	if (action)
		action.run();
	else if (known)
		known[2]();
	else if (key === "/")
		page.one("query").focus();
	else if (key === "n" || key === "N")
		search.step(key === "n" ? 1 : -1);
	else if (key === "Backspace")
		page.back();
	else if (page.isGraph() && /^[+=-]$/.test(key))
		page.graph.panes.forEach((pane) =>
			page.graph.magnify(pane, page.graph.width / 2, key === "-" ? 1 / KEY_FACTOR : KEY_FACTOR));
	else if (page.isGraph() && /^(Arrow|Enter$| $|Home$|Page)/.test(key))
		onGraphKey(event);
	else
		return;
	event.preventDefault();
}

function onGraphKey({key}) {
	const view = page.graph, place = view.focused || startOfWalk();
	if (!place)
		return;
	if (key === "Enter" || key === " ") {
		page.zoom(place);
		page.focus(place);
	} else if (key === "Home") {
		page.set({z: ""});
	} else if (key.startsWith("Page")) {
		view.scroll.scrollTop += (key === "PageDown" ? 0.8 : -0.8) * view.sight;
	} else if (!view.focused) {
		page.focus(place);
	} else {
		walk(place, key);
	}
}

function startOfWalk() {
	const pane = page.graph.panes.find((p) => p.view > 0) || page.graph.panes[page.graph.panes.length - 1];
	return pane ? {pane, node: pane.view} : null;
}

function walk({pane, node}, key) {
	const down = (key === "ArrowDown") === (pane.grows > 0);
	const direction = {ArrowLeft: "previous", ArrowRight: "next"}[key] || (down ? "child" : "parent");
	let next = flame.neighbour(pane.tree, pane.view, node, direction), to = pane;
	// From the function of a sandwich, also go on to the other tree.
	if (next < 0 && direction === "parent") {
		to = page.graph.panes.find((p) => p !== pane);
		next = to ? flame.neighbour(to.tree, to.view, 0, "child") : -1;
	}
	if (next >= 0 && to.tree.width[next] > 0)
		page.focus({pane: to, node: next});
}

// Pointer.

function placeOf(event) {
	const box = page.graph.canvas.getBoundingClientRect();
	return page.graph.placeAt(event.clientX - box.left, event.clientY - box.top);
}

function point(place) {
	const view = page.graph, before = view.pointed;
	if (Boolean(place) === Boolean(before) && (!place ||
		(place.pane === before.pane && place.node === before.node)))
		return;
	view.pointed = place;
	view.redraw();
	page.showPlace(place);
	const box = page.one("tooltip");
	box.hidden = !place || pointer.kind !== "mouse";
	if (!box.hidden)
		box.replaceChildren(page.figure.tooltip(place));
}

function onMove(event) {
	pointer = {x: event.clientX, y: event.clientY, kind: event.pointerType || "mouse"};
	if (dragged && event.buttons & 1)
		onDrag(event);
	if (!page.profile || !page.one("menu").hidden || event.buttons)
		return;
	point(placeOf(event));
	if (!page.one("tooltip").hidden)
		panel.place(page.one("tooltip"), event.clientX, event.clientY, 14);
}

function onClick(event) {
	if (!page.profile || event.detail > 1 || (dragged && dragged.isMoved))
		return;
	const place = placeOf(event);
	page.clicked = page.zooms;
	page.graph.focused = null;
	if (place)
		page.zoom(place);
	hideTooltip();
}

// Ctrl and the wheel magnify around the pointer; zooming out past the zoomed frame leads to its caller. Shift and
// the wheel, or scrolling sideways, moves the view.
function onWheel(event) {
	const view = page.graph, pane = view.panes.find((p) => page.profile && p.tree.width[0] > 0);
	const box = view.canvas.getBoundingClientRect(), pixels = event.deltaMode ? 16 : 1;
	const sideways = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
	if (!pane || (!event.ctrlKey && !event.metaKey && !sideways))
		return;
	event.preventDefault();
	hideTooltip();
	if (!event.ctrlKey && !event.metaKey)
		view.panes.forEach((p) => view.look(p, p.from + sideways * pixels * (p.to - p.from) / view.width,
			p.to - p.from));
	else if (event.deltaY > 0 && pane.view > 0 && !view.isFree(pane))
		page.zoom({pane, node: Math.max(pane.tree.parent[pane.view], 0)});
	else
		view.panes.forEach((p) => view.magnify(p, event.clientX - box.left,
			WHEEL_FACTOR ** (-event.deltaY * pixels)));
}

// Dragging moves the graph and is not a click.
let dragged = null;

function onDown(event) {
	dragged = event.button === 0 && event.pointerType === "mouse" ?
		{x: event.clientX, y: event.clientY, isMoved: false} : null;
}

function onDrag(event) {
	const view = page.graph, x = event.clientX - dragged.x, y = event.clientY - dragged.y;
	if (!dragged.isMoved && Math.abs(x) + Math.abs(y) < 5)
		return;
	if (!dragged.isMoved)
		view.canvas.setPointerCapture(event.pointerId);
	hideTooltip();
	dragged = {x: event.clientX, y: event.clientY, isMoved: true};
	view.panes.forEach((p) => view.look(p, p.from - x * (p.to - p.from) / view.width, p.to - p.from));
	view.scroll.scrollTop -= y;
}

// The first click of two has already zoomed: undo that, too.
function onDoubleClick() {
	const zooms = page.clicked;
	page.backTo(zooms.length ? zooms[zooms.length - 1] : "", zooms.slice(0, -1));
}

function onContext(event) {
	const place = placeOf(event);
	const actions = place && page.actionsFor(
		Object.assign({frame: place.pane.tree.frame[place.node]}, place));
	if (!place || !actions.length)
		return;
	event.preventDefault();
	hideTooltip();
	page.graph.pointed = place;
	page.graph.redraw();
	panel.showMenu(page.one("menu"), event.clientX, event.clientY, actions, () => {
		page.graph.pointed = null;
		page.graph.redraw();
		page.graph.canvas.focus({preventScroll: true});
	});
}

function hideTooltip() {
	page.one("tooltip").hidden = true;
}

// Buttons with data-set="key=value" set a state; if it is set already, they unset it where
// possible.
function onSet(button) {
	const [key, value] = button.dataset.set.split("=");
	const isToggle = button.classList.contains("toggle") || button.classList.contains("small");
	if (key === "v" && value === "sandwich")
		toSandwich();
	else if (key === "v" || key === "r")
		page.set({[key]: value, z: ""});
	else
		page.set({[key]: isToggle && page.state[key] === value ? "" : value});
}

function listenToPointer(canvas) {
	canvas.addEventListener("pointermove", onMove);
	canvas.addEventListener("pointerdown", onDown);
	canvas.addEventListener("wheel", onWheel, {passive: false});
	canvas.addEventListener("pointerleave", () => point(null));
	canvas.addEventListener("click", onClick);
	canvas.addEventListener("dblclick", onDoubleClick);
	canvas.addEventListener("contextmenu", onContext);
	page.graph.scroll.addEventListener("scroll", () => point(null), {passive: true});
	document.addEventListener("pointerdown", (event) => {
		if (!page.one("menu").contains(event.target))
			panel.hideMenu(page.one("menu"), () => {});
	}, true);
}

function listenToFields() {
	page.one("query").addEventListener("input", (event) => searchFor(event.target.value, false));
	let timer = 0;
	page.one("table-filter").querySelector("input").addEventListener("input", (event) => {
		clearTimeout(timer);
		timer = setTimeout(() => page.set({n: event.target.value}, true), 90);
	});
}

function listenToButtons() {
	document.querySelectorAll("[data-set]").forEach((button) =>
		button.addEventListener("click", () => onSet(button)));
	const run = {filters: () => page.toggleSide(), "copy-link": copyLink,
		download: () => exporter.download(page.profile, page.tree),
		theme: () => page.setTheme(page.isDark() ? "light" : "dark"),
		"help-button": () => page.one("help").showModal(),
		previous: () => search.step(-1), next: () => search.step(1)};
	Object.keys(run).forEach((id) => page.one(id).addEventListener("click", run[id]));
}

function makeHelp() {
	page.one("keys").replaceChildren(...KEYS.map(([keys, text]) => {
		const line = table.make("div"), term = table.make("dt");
		keys.split(", ").forEach((key, i) => term.append(i ? " " : "", table.make("kbd", "", key)));
		line.append(term, table.make("dd", "", text));
		return line;
	}));
}

function listen(to) {
	page = to;
	listenToPointer(page.graph.canvas);
	listenToFields();
	listenToButtons();
	makeHelp();
	window.addEventListener("keydown", onKey);
	window.addEventListener("popstate", () => page.profile && page.restore());
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) =>
		page.setTheme(event.matches ? "dark" : "light"));
}

return {listen};
})();
