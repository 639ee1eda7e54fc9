// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer: the page. User actions change the state (explorer_state.js); show() then displays the state.
// Names reach the document as text only.
const explorer = (function () {
"use strict";

const NARROW = 900; // pixels: there is no room for two things side by side
const BIG = 200000; // nodes; larger trees take long enough to show that
const one = (id) => document.getElementById(id);
const {make} = table;

let profile = null, figure = null, shades = null, facetList = null;
let state = {};
let tree = null, shownTree = "", shownPanes = "", shownTable = "";
let graphView = null, tableView = null, filterView = null;
let functions = null;
let zooms = [];        // zoomed nodes to go back to
let clicked = [];      // the same, as of before the latest click
let pending = 0, toastTimer = 0;
const timings = {};

const nameOf = (frame) => data.nameOf(profile, frame);
const isGraph = () => state.v !== "table";
const isBeside = () => isGraph() && Boolean(state.p) && innerWidth > NARROW;
const hasTable = () => !isGraph() || isBeside();

// State.

// change: texts by key. replace: adds no entry to the browser's history.
function set(change, replace) {
	const before = flame.writeLink(state);
	state = Object.assign({}, state, change);
	const link = flame.writeLink(state);
	if (link !== before) {
		history[replace || embed.isIn ? "replaceState" : "pushState"]({zooms}, "", link || "#");
		embed.stateChanged(link, replace);
	}
	show(true);
}

function restore() {
	state = flame.readLink(location.hash);
	zooms = history.state ? history.state.zooms : [];
	one("query").value = state.q || "";
	show(false);
}

// follow: the zoomed frame stays zoomed in a new tree.
function show(follow) {
	const isNew = links.treeKey(state) !== shownTree;
	cancelAnimationFrame(pending);
	pending = 0;
	if (!isNew || !tree || profile.base.n < BIG) {
		update(follow);
		return;
	}
	one("busy").hidden = false;
	pending = requestAnimationFrame(() => setTimeout(() => {
		pending = 0;
		update(follow);
		one("busy").hidden = true;
	}));
}

function update(follow) {
	const began = performance.now();
	updateTree(follow);
	if (isGraph())
		updatePanes();
	if (search.update(state))
		shownTable = "";
	graphView.redraw();
	if (hasTable())
		updateTable();
	updateControls();
	showSource();
	updateSide();
	timings.update = performance.now() - began;
}

function updateTree(follow) {
	const key = links.treeKey(state);
	if (key === shownTree && tree)
		return;
	const began = performance.now(), old = tree, oldNode = old ? zoomedNode() : 0;
	tree = model.derive(profile, links.changeOf(profile, state, findFacets));
	shownTree = key;
	functions = null;
	search.forget();
	figure.use(tree);
	if (follow && old && !state.v && !state.r) {
		const node = oldNode > 0 ? links.follow(old, oldNode, tree) : 0;
		state.z = node > 0 ? linkOf(tree, node) : "";
		history.replaceState({zooms}, "", flame.writeLink(state) || "#");
		embed.stateChanged(flame.writeLink(state), true);
	}
	timings.derive = performance.now() - began;
}

// Links of nodes and back. Finding the node of a link takes time in proportion to the tree, so
// links made here are remembered.
const linked = new WeakMap();

function linkOf(t, node) {
	const link = flame.nodeLink(t, node, (i) => nameOf(t.frame[i]));
	if (!linked.has(t))
		linked.set(t, new Map());
	linked.get(t).set(link, node);
	return link;
}

function nodeOf(t, link) {
	const known = linked.has(t) ? linked.get(t).get(link) : undefined;
	return known === undefined ? flame.linkedNode(t, link, (i) => nameOf(t.frame[i])) : known;
}

// Of the graph.
function zoomedNode() {
	const pane = graphView.panes[0];
	return graphView.panes.length === 1 && pane.tree === tree ? pane.view : 0;
}

const isIcicle = () => (state.o ? state.o === "icicle" : profile.header.inverted);

// The function of the sandwich; if none was chosen, the one with the largest self weight.
function sandwichFrame() {
	const chosenOne = state.f ? links.findFunction(profile, state.f) : -1;
	return chosenOne >= 0 ? chosenOne : model.heaviestFunction(profile, tree);
}

function weighFunctions() {
	if (!functions)
		functions = model.functions(profile, tree);
	return functions;
}

// Panes.

function updatePanes() {
	const sandwich = state.v === "sandwich", frame = sandwich ? sandwichFrame() : -1;
	const key = [shownTree, state.v || "", frame, isIcicle(), state.r || ""].join("\n");
	if (key === shownPanes) {
		moveZoom();
		return;
	}
	const keep = shownPanes && shownPanes.split("\n").slice(1).join() === key.split("\n").slice(1).join();
	shownPanes = key;
	search.forget();
	if (sandwich && frame >= 0) {
		const both = model.sandwich(profile, tree, frame, links.changeOf(profile, state, findFacets));
		graphView.setPanes([pane(both.callers, -1, "c"), pane(both.callees, 1, "d")], keep);
	} else {
		const isUp = state.r && !sandwich;
		const shown = isUp ? model.bottomUp(profile, tree, links.changeOf(profile, state, findFacets)) : tree;
		graphView.setPanes(sandwich ? [] : [pane(shown, isIcicle() ? 1 : -1, isUp ? "b" : "")], keep);
	}
	showPlace(null);
}

// letter: the first of the zoom's link.
function pane(t, grows, letter) {
	return {tree: t, grows, letter, view: nodeOfZoom(t, letter)};
}

function nodeOfZoom(t, letter) {
	const link = state.z || "";
	if (!link || !link.startsWith(letter) || (!letter && /^[bcd]/.test(link)))
		return 0;
	return nodeOf(t, link.slice(letter.length));
}

function moveZoom() {
	graphView.panes.forEach((p) => {
		const link = p.view > 0 ? p.letter + linkOf(p.tree, p.view) : "";
		const own = (state.z || "").startsWith(p.letter) ? state.z || "" : "";
		if (link !== own)
			graphView.zoom(p, nodeOfZoom(p.tree, p.letter));
	});
}

// Zooms to a node of a pane.
function zoom(place) {
	const {pane: p, node} = place;
	if (node === p.view) {
		if (graphView.isFree(p))
			graphView.zoom(p, node);
		showPlace(graphView.pointed);
		return;
	}
	zooms = zooms.concat(state.z || "");
	if (graphView.focused && graphView.focused.pane !== p)
		graphView.focused = null;
	set({z: node > 0 ? p.letter + linkOf(p.tree, node) : ""});
	showPlace(graphView.pointed);
}

function back() {
	const free = graphView.panes.find((p) => graphView.isFree(p));
	if (free) {
		graphView.zoom(free, free.view);
		return;
	}
	if (zooms.length || state.z) {
		backTo(zooms.length ? zooms[zooms.length - 1] : "", zooms.slice(0, -1));
	}
}

function backTo(z, rest) {
	zooms = rest;
	set({z});
	showPlace(graphView.pointed);
}

// Table.

function updateTable() {
	const isNarrow = innerWidth <= 600 || isBeside();
	const weighed = weighFunctions(), first = profile.header.comparison ? "-selfchange" :
		weighed.waits ? "-waits" : "-self", sort = state.t || first;
	const key = [shownTree, sort, state.n || "", isNarrow].join("\n");
	if (key === shownTable)
		return;
	shownTable = key;
	const pattern = state.n ? flame.makePattern(state.n, false) : null;
	const columns = figure.columns(weighed, (frame) => fillOfFunction(frame, weighed), isNarrow);
	const found = weighed.list.filter((f) => (!pattern || pattern.test(profile.frames.name[f])) &&
		(!search.hits() || search.hits()[f]));
	const isColumn = columns.some((column) => column.key === sort.replace("-", ""));
	tableView.show(columns, found, isColumn ? sort : "-" + columns[0].key);
	const filter = one("table-filter");
	filter.lastElementChild.textContent = flame.count(found.length);
	if (document.activeElement !== filter.firstElementChild.nextElementSibling)
		filter.querySelector("input").value = state.n || "";
	if (!isGraph())
		message(found.length ? "" : "No function matches.");
}

// A function's colour outside the graph, as if it were a node of its own.
function fillOfFunction(frame, {self, total}) {
	const column = (values) => ({[0]: values[frame]});
	const alone = {n: 1, frame: [frame], end: [1],
		sides: self.map((values, c) => ({self: column(values), total: column(total[c])}))};
	return shades.fillOf(alone, 0);
}

function message(text) {
	one("message").textContent = text;
	one("message").hidden = !text;
}

function openFunction(frame) {
	set({v: "sandwich", f: links.functionId(profile, frame), z: ""});
}

// Controls that show the state.

function updateControls() {
	const {header} = profile, view = state.v || "graph";
	one("scroll").hidden = one("stage").hidden = view === "table" || (view === "graph" && !tree.width[0]);
	one("table").hidden = !hasTable();
	one("table").classList.toggle("beside", isBeside());
	tableView.opensByClick = !isBeside();
	if (!isBeside())
		graphView.lit = null;
	document.querySelectorAll("[data-for]").forEach((e) => e.hidden = !e.dataset.for.split(" ").includes(view));
	one("order").hidden = view === "table" || header.inOrder;
	document.querySelectorAll("[data-set]").forEach((button) => {
		const [key, value] = button.dataset.set.split("=");
		const text = key === "o" ? (isIcicle() ? "icicle" : "flame") : state[key] || "";
		button.setAttribute("aria-pressed", (text === value) !== ("inverse" in button.dataset));
	});
	if (view !== "table")
		message(tree.width[0] ? "" : profile.base.width[0] ? "The filters leave nothing." :
			"Nothing was recorded.");
	updateTrail();
	updateShown();
	updateActions();
}

function updateTrail() {
	const chips = links.readSteps(profile, state).map(({kind, label, text}) =>
		({kind, label, remove: () => set(links.withoutStep(state, text))}));
	if (links.hasFacets(profile, state)) {
		findFacets().forEach((facet) => {
			const left = links.leftGroups(state, facet);
			if (left && left.some(Boolean))
				chips.push({kind: "", label: facetLabel(facet, left),
					remove: () => set(links.writeGroups(facet, left.map(() => 0)))});
		});
	}
	panel.showChips(one("chips"), chips);
	const p = graphView.panes[graphView.panes.length - 1];
	const zoomed = graphView.panes.find((q) => q.view > 0) || p;
	if (isGraph() && zoomed)
		panel.showPath(one("path"), zoomed.tree, zoomed.view, nameOf,
			(node) => zoom({pane: zoomed, node}));
	else
		one("path").replaceChildren(make("li", "", "Functions of all that is shown"));
}

// "Command: nginx, redis" or "Command: not bash".
function facetLabel(facet, left) {
	const counts = (g) => facet.whole[g] > 0;
	const pick = (out) => facet.names.filter((name, g) => counts(g) && Boolean(left[g]) === out);
	const inside = pick(false), outside = pick(true);
	const isOnly = inside.length < outside.length, names = isOnly ? inside : outside;
	const text = names.length ? names.slice(0, 3).join(", ") +
		(names.length > 3 ? " and " + (names.length - 3) + " more" : "") : "none";
	return facet.title + ": " + (isOnly ? "" : "not ") + text;
}

// The share of everything that the filters leave, and the search's share of that.
function updateShown() {
	const all = profile.base.width[0], now = tree.sides.slice(0, profile.header.sides)
		.reduce((sum, side, s) => sum + side.total[0] * profile.header.scales[s], 0);
	const left = Math.abs(all - now) > all * 1e-9 ? flame.percent(now, all) + " of the recording" : "";
	one("shown").textContent = [search.text(), left].filter(Boolean).join(" \u00b7 ");
}

function findFacets() {
	if (!facetList) {
		facetList = facets.find(profile);
		const none = facetList.map(() => null);
		facets.weigh(profile, facetList, none, facets.weightsOf(profile))
			.forEach((sums, f) => facetList[f].whole = sums);
	}
	return facetList;
}

function updateSide() {
	const isOpen = !one("side").hidden;
	one("filters").setAttribute("aria-expanded", isOpen);
	if (one("states").childElementCount)
		updateStates();
	if (!isOpen)
		return;
	const list = findFacets(), lefts = list.map((facet) => links.leftGroups(state, facet));
	filterView.show(list, facets.weigh(profile, list, lefts, facets.weightsOf(profile)), lefts, profile.base.width[0]);
}

// A button for each of running, runnable, waiting.
function makeStates() {
	one("states").hidden = !profile.frames.kind.some((kind) => kind >= data.RUNNING);
	if (one("states").hidden)
		return;
	const facet = findFacets().find(({key}) => key === "state");
	one("states").hidden = !facet;
	if (!facet)
		return;
	const order = ["running", "runnable", "waiting", "idle", "(none)"].map((name) => facet.names.indexOf(name));
	order.filter((g) => g >= 0 && facet.whole[g] > 0).forEach((g) => {
		const name = facet.names[g];
		const button = panel.button("", name === "(none)" ? "other" : name, () => {
			const left = links.leftGroups(state, facet) || new Uint8Array(facet.names.length);
			left[g] = 1 - left[g];
			set(links.writeGroups(facet, left));
		});
		button.dataset.group = g;
		button.style.setProperty("--state", profile.header.stateFills[name] || "");
		one("states").append(button);
	});
}

function updateStates() {
	const facet = findFacets().find(({key}) => key === "state");
	const left = links.leftGroups(state, facet);
	Array.from(one("states").children).forEach((button) =>
		button.setAttribute("aria-pressed", !(left && left[button.dataset.group])));
}

function toggleSide() {
	one("side").hidden = !one("side").hidden;
	updateSide();
}

// The description of one frame.

// The frame with keyboard focus, else the zoomed one, else the function of the sandwich.
function chosen() {
	const {panes} = graphView, zoomed = panes.find((p) => p.view > 0);
	if (graphView.focused)
		return graphView.focused;
	if (zoomed)
		return {pane: zoomed, node: zoomed.view};
	return panes.length > 1 ? {pane: panes[1], node: 0} : null;
}

// place: under the pointer; null: none.
function showPlace(place) {
	const told = place || chosen();
	one("details").textContent = told && isGraph() ? figure.line(told) : profile.header.notes;
	one("legend").hidden = Boolean(told) && isGraph();
}

// The frame that actions apply to; null: none.
function selected() {
	const row = tableView.selected >= 0 ? {frame: tableView.selected} : null;
	const place = isGraph() ? chosen() : null;
	if (!place)
		return hasTable() ? row : null;
	return Object.assign({frame: place.pane.tree.frame[place.node]}, place);
}

function focus(place) {
	graphView.focused = place;
	graphView.reveal(place);
	showPlace(null);
	one("live").textContent = figure.line(place);
	updateActions();
}

function actionsFor(place) {
	if (!place || (place.frame < 0 && !(place.node > 0)))
		return [];
	const isFunction = place.frame >= 0, inTree = place.node > 0 && place.pane.tree === tree;
	const step = (kind) => () => {
		const text = links.stepText(profile, kind, tree, place.node, state);
		set(links.writeStep(state, text));
	};
	const isWhole = inTree && !state.g && !state.m; // a path is as it was recorded
	return [
		isFunction && {title: "Sandwich", key: "s", run: () => openFunction(place.frame)},
		isWhole && isFunction && {title: "Focus", key: "o", run: step("o")},
		isWhole && isFunction && {title: "Hide", key: "h", run: step("h")},
		isFunction && {title: "Take out", key: "d", run: () => set(links.writeStep(state,
			"d_" + links.functionId(profile, place.frame)))},
		isFunction && embed.actionOf(nameOf(place.frame)),
		isFunction && {title: "Find all", key: "e", run: () => searchFor(nameOf(place.frame))},
		{title: "Copy name", key: "c", run: () => copy(nameOf(place.frame), "Name copied")},
		place.node >= 0 && place.pane && {title: "Copy stack", key: "C", run: () =>
			copy(exporter.stackText(profile, place), "Stack copied")},
	].filter(Boolean);
}

function updateActions() {
	one("actions").replaceChildren(...actionsFor(selected()).map(({title, key, run}) => {
		const action = panel.button("action", title, run);
		action.title = title + " (" + key + ")";
		return action;
	}));
}

// Searches for exactly this name, in every view.
function searchFor(name) {
	const text = "^" + name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
	one("query").value = text;
	set({q: text, v: state.v === "sandwich" ? "" : state.v});
}

function toast(text) {
	clearTimeout(toastTimer);
	one("toast").textContent = text;
	one("toast").hidden = false;
	toastTimer = setTimeout(() => one("toast").hidden = true, 1600);
}

function copy(text, done) {
	exporter.copy(text).then(() => toast(done), () => toast("The browser does not let pages copy"));
}

function setTheme(theme) {
	document.documentElement.dataset.theme = theme;
	overview.forget();
	graphView.redraw();
}

const isDark = () => document.documentElement.dataset.theme === "dark";

// Start.

function showHeading() {
	const {header} = profile;
	document.title = header.title;
	one("title").textContent = header.title;
	one("title").title = header.title;
	one("facts").textContent = header.facts.join(" \u00b7 ");
	one("facts").title = [header.subtitle].concat(header.facts).filter(Boolean).join("\n");
	one("help-mode").textContent = header.help;
	one("help-facts").replaceChildren(...header.facts.concat(header.subtitle || [])
		.map((fact) => make("li", "", fact)));
	one("sides").hidden = !header.comparison;
	one("kernel").hidden = !profile.frames.kind.includes(data.KERNEL);
	one("direction").hidden = header.reverse;
	one("modules").hidden = header.comparison || profile.frames.n === profile.frames.nFunctions;
	one("inlined").hidden = !profile.frames.kind.includes(data.INLINED);
	one("legend").replaceChildren(...header.legend.map(([text, fill, hatch]) => {
		const item = make("span", "", text), swatch = make("i");
		swatch.style.background = hatch ? "repeating-linear-gradient(45deg, " + fill + " 0 2px, " + hatch +
			" 2px 3px)" : fill;
		item.prepend(swatch);
		return item;
	}));
}

// Shows a profile; explorer_data.js defines the header and the bytes.
function open(header, bytes) {
	const began = performance.now(), read = data.read(header, bytes);
	timings.decode = performance.now() - began;
	showProfile(read);
}

function showProfile(to) {
	const {header} = to;
	profile = to;
	figure = new figures.Figures(profile);
	shades = colors.shadesOf(profile);
	tree = facetList = null;
	shownTree = shownPanes = shownTable = "";
	search.reset();
	showHeading();
	graphView.show({profile, nameOf, shades, searchColor: header.searchColor, rowHeight: header.rowHeight,
		fontSize: header.fontSize, fontType: header.fontType, cutLeft: header.cutLeft});
	graphView.resize();
	figure.use(profile.base);
	restore();
	graphView.draw();
	timings.firstPaint = performance.now();
	requestAnimationFrame(() => setTimeout(() => {
		timings.painted = performance.now();
		makeStates();
		updateSide();
	}));
	embed.ready(); // not later: frames of another origin that are out of sight get no animation frames
}

function start() {
	one("static").remove();
	one("page").hidden = false;
	graphView = new graph.Graph(one("scroll"), one("canvas"), one("spacer"));
	tableView = new table.Table(one("table"), {open: openFunction, sorted: (t) => set({t}), point: light});
	filterView = new panel.Filters(one("side"),
		{set: (facet, left) => set(links.writeGroups(facet, left)), close: toggleSide});
	input.listen(page);
	search.listen(page);
	overview.listen(page);
	drop.listen(page);
	paper.listen(page, tableView);
	embed.listen(page);
	if (typeof DecompressionStream === "undefined") {
		message("This browser is too old: it has no DecompressionStream to read the file with.");
		return;
	}
	const bytes = data.decodeBase64(one("data").textContent);
	const header = JSON.parse(one("header").textContent);
	one("data").remove();
	timings.base64 = performance.now();
	data.inflate(bytes).then((inflated) => {
		timings.inflate = performance.now();
		open(header, inflated);
	}).catch((error) => {
		message("This file is damaged: " + error.message);
		throw error;
	});
}

// Highlights where a function is; -1: none.
function light(frame) {
	if (!isBeside())
		return;
	graphView.lit = frame < 0 ? null : Uint8Array.from({length: profile.frames.n}, (_, f) => Number(f === frame));
	graphView.redraw();
	updateActions();
}

// Leaves the zoom without moving the view.
function leaveZoom() {
	const p = graphView.panes[0], {from, to} = p;
	if (p.view === 0)
		return;
	zooms = zooms.concat(state.z || "");
	set({z: ""});
	graphView.look(p, from, to - from);
}

function showSource() {
	source.show(one("source"), profile, state.v === "sandwich" ? sandwichFrame() : -1, weighFunctions, tree.width[0]);
}

// The interface for keyboard and pointer.
const page = {
	open, showProfile, leaveZoom, showSource,
	one, set, restore, back, backTo, zoom, focus, weighFunctions, toggleSide, showPlace, actionsFor, selected, copy,
	toast, setTheme, isDark, isGraph, isIcicle, updateActions,
	get graph() { return graphView; },
	get profile() { return profile; },
	get tree() { return tree; },
	get state() { return state; },
	get figure() { return figure; },
	get clicked() { return clicked; },
	set clicked(before) { clicked = before; },
	get zooms() { return zooms; },
};

return {page, open, start, timings, functions: () => weighFunctions(), facets: () => findFacets(),
	isBusy: () => pending !== 0 || profile === null};
})();
