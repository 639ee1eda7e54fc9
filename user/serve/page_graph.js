// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_graph: the flame graph of what is chosen, or of what changed: the explorer, in a frame that has no rights. The
// one before stays until the next one is drawn.
const pageGraph = (function () {
"use strict";

const {one, make} = pageText;

let shownKey = "", explorer = null, next = null, isReady = false;
let began = 0;

function parametersOf(state) {
	const [[from, to], ...also] = pageState.shown(state), [base, ...baseAlso] = state.base || [];
	return Object.assign({from: pageState.momentText(from), to: pageState.momentText(to),
		"diff-from": base ? pageState.momentText(base[0]) : undefined,
		"diff-to": base ? pageState.momentText(base[1]) : undefined}, pageState.below(state),
		{idle: Boolean(state.idle), group: state.group,
		also: also.map(pageState.rangeText), "diff-also": baseAlso.map(pageState.rangeText)});
}

const pathOf = (state) => (state.base ? "diff" : "profile");

function titleOf(state) {
	const what = {running: "CPU time", waiting: "Waiting", both: "CPU time and waiting"}[state.what];
	const filters = Object.values(pageState.filters(state)).join(", ");
	return what + (filters ? " of " + filters : "");
}

// Puts a flame graph in a new frame.
function open(html, state) {
	const frame = make("iframe", {src: "/frame", title: "Flame graph", class: "next", allow: "clipboard-write *"});
	if (next)
		next.remove();
	next = frame;
	frame.addEventListener("load", () =>
		frame.contentWindow.postMessage({html, state: state.x ? "#" + state.x : ""}, "*"),
		{once: true});
	one("frames").append(frame);
}

function swap() {
	if (explorer && explorer !== next)
		explorer.remove();
	explorer = next || explorer;
	next = null;
	explorer.className = "";
	isReady = true;
	sendTheme();
	one("graph").setAttribute("aria-busy", "false");
	one("graph").dataset.took = Math.round(performance.now() - began);
}

const sendTheme = () => explorer && explorer.contentWindow.postMessage({theme: pageTheme.now()}, "*");

function onMessage({source, data: message}) {
	if (next && source === next.contentWindow && message.kind === "ready")
		swap();
	if (!explorer || source !== explorer.contentWindow)
		return;
	if (message.kind === "state")
		pageState.set({x: String(message.link || "").replace(/^#/, "")}, message.replace);
	else if (message.kind === "function")
		pageOver.open(String(message.name));
}

// A message in the place of the graph.
function instead(text) {
	if (next)
		next.remove();
	if (explorer)
		explorer.remove();
	next = explorer = null;
	one("graph-none").textContent = text;
	one("graph-none").hidden = !text;
	one("graph").setAttribute("aria-busy", "false");
}

async function load(state) {
	const html = await pageApi.text(pathOf(state), Object.assign(parametersOf(state),
		{format: "html", title: titleOf(state)}), "graph");
	one("graph-none").hidden = true;
	open(html, state);
}

let shownState = "";

const forget = () => { shownKey = ""; };

async function show(state) {
	const key = JSON.stringify([parametersOf(state), pageState.shown(state).length]);
	if (state.show !== "graph" && state.show !== "heat")
		return;
	if (key === shownKey) {
		if (isReady && explorer && (state.x || "") !== shownState)
			explorer.contentWindow.postMessage({state: state.x ? "#" + state.x : ""}, "*");
		shownState = state.x || "";
		return;
	}
	shownKey = key;
	shownState = state.x || "";
	began = performance.now();
	one("graph").setAttribute("aria-busy", "true");
	try {
		await load(state);
	} catch (error) {
		if (pageApi.isReplaced(error))
			return;
		forget();
		instead(error.status === 404 ? "Nothing was recorded in this range." : error.message);
	}
}

const listen = () => addEventListener("message", onMessage);

return {show, listen, sendTheme, parametersOf, pathOf};
})();
