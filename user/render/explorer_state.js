// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_state: turns the state, as links have it, into arguments of the model. Uses no document.
//
// The state is texts by short keys, those of the link; a missing key has its default:
//
//	v   view: "" the graph, "sandwich", "table"
//	o   "flame" or "icicle", if not as recorded     s   "weight": left heavy
//	z   the zoomed node, see flame.nodeLink(); after "b" bottom-up, in a sandwich after "c" or
//	    "d", the tree
//	q   search     c   "1": match case
//	r   "up": from the leaves     g, m   "1": recursion, modules are one frame     p   "1": the table beside
//	k, i   "off": without kernel frames, inlined functions
//	w   of a comparison: "new" or "base", whose widths
//	f   function of the sandwich, see functionId()
//	t   sort of the table     n   its filter
//	x   steps, one after another: see readSteps()
//	only-KEY, not-KEY   groups of a facet: only these, all but these
const links = (function () {
"use strict";

// A function is identified by its kind and a hash of its name and module, so that links are short
// and work for the next recording.

function functionId(profile, frame) {
	const {frames} = profile;
	const text = frames.name[frame] + "\0" + data.moduleOf(profile, frame);
	let low = 2166136261, high = 0x5bd1e995;
	for (let i = 0; i < text.length; i++) {
		low = Math.imul(low ^ text.charCodeAt(i), 16777619);
		high = Math.imul(high ^ text.charCodeAt(i), 0x85ebca6b) ^ (high >>> 13);
	}
	return String.fromCharCode(97 + frames.kind[frame] + 10 * frames.isWaker[frame]) +
		(low >>> 0).toString(36) + (high >>> 0).toString(36);
}

// The frame of an id; -1: none.
function findFunction(profile, id) {
	if (!profile.functionIds) {
		profile.functionIds = new Map();
		for (let f = 0; f < profile.frames.n; f++)
			profile.functionIds.set(functionId(profile, f), f);
	}
	const frame = profile.functionIds.get(id);
	return frame === undefined ? -1 : frame;
}

// Steps: `d_ID` takes a function out; `h_FLAGS_LINK_ID_ID…` hides a node, `o_…` shows only its
// path. A node is identified by its path at the time of the step: without kernel frames (FLAGS has
// a k), without inlined ones (i), without the functions of the IDs. So a step keeps working when
// functions are taken out or put back later.

function stepText(profile, kind, tree, node, state) {
	if (kind === "d")
		return "d_" + functionId(profile, tree.frame[node]);
	const dropped = stepTexts(state).filter((text) => text.startsWith("d_")).map((text) => text.slice(2));
	const flags = (state.k ? "k" : "") + (state.i ? "i" : "");
	const link = flame.nodeLink(tree, node, (i) => data.nameOf(profile, tree.frame[i]));
	return [kind, flags, link].concat(dropped).join("_");
}

const stepTexts = (state) => (state.x ? state.x.split("~") : []);

function readStep(profile, text) {
	const [kind, ...words] = text.split("_");
	if (kind === "d") {
		const frame = findFunction(profile, words[0]);
		return frame < 0 ? null : {kind: "drop", frame, label: data.nameOf(profile, frame)};
	}
	const [flags = "", link = "", ...dropped] = words;
	const {base, frames} = profile;
	const out = new Uint8Array(frames.n);
	for (let f = 0; f < frames.n; f++)
		out[f] = (flags.includes("k") && frames.kind[f] === data.KERNEL) ||
			(flags.includes("i") && frames.kind[f] === data.INLINED);
	dropped.map((id) => findFunction(profile, id)).filter((f) => f >= 0).forEach((f) => out[f] = 1);
	const nodes = flame.linkedNodes(base, link, (i) => data.nameOf(profile, base.frame[i]),
		(i) => base.frame[i] >= 0 && out[base.frame[i]] === 1);
	return nodes.length ? {kind: kind === "h" ? "hide" : "focus", nodes,
		label: data.nameOf(profile, base.frame[nodes[0]])} : null;
}

// [{kind: "drop", "hide" or "focus", label, text, frame or nodes}], without steps that mean
// nothing here.
function readSteps(profile, state) {
	if (!profile.knownSteps)
		profile.knownSteps = new Map();
	return stepTexts(state).map((text) => {
		if (!profile.knownSteps.has(text))
			profile.knownSteps.set(text, readStep(profile, text));
		const step = profile.knownSteps.get(text);
		return step && Object.assign({text}, step);
	}).filter(Boolean);
}

const writeStep = (state, text) => ({x: stepTexts(state).concat(text).join("~")});

const withoutStep = (state, text) => ({x: stepTexts(state).filter((t) => t !== text).join("~")});

// Facets: lists of groups' names.

const NOTHING = "-"; // no group's name: nothing is left out, not even what is hidden at first
const joinNames = (names) => names.map(encodeURIComponent).join(" ");
const splitNames = (text) => text.split(" ").map((name) => {
	try {
		return decodeURIComponent(name);
	} catch (error) {
		return name;
	}
});

// By group: 1 if it is left out; null: none.
function leftGroups(state, facet) {
	const only = state["only-" + facet.key], not = state["not-" + facet.key];
	if (!only && !not)
		return facet.hidden ? facet.hidden.slice() : null;
	const named = new Set(splitNames(only || not));
	return Uint8Array.from(facet.names, (name) => Number(named.has(name) !== Boolean(only)));
}

// What the link must say to leave these groups out: the shorter of both lists.
function writeGroups(facet, left) {
	const inside = facet.names.filter((name, i) => !left[i]);
	const outside = facet.names.filter((name, i) => left[i]);
	const change = {["only-" + facet.key]: "", ["not-" + facet.key]: ""};
	if (facet.hidden && facet.hidden.every((out, i) => out === Number(left[i])))
		return change;
	if (facet.hidden && !outside.length)
		change["not-" + facet.key] = NOTHING;
	else if (outside.length && (outside.length <= inside.length || !inside.length))
		change["not-" + facet.key] = joinNames(outside);
	else if (outside.length)
		change["only-" + facet.key] = joinNames(inside);
	return change;
}

const hasFacets = (profile, state) => profile.header.hidesIdle ||
	Object.keys(state).some((key) => /^(only|not)-/.test(key) && state[key]);

// The argument of model.derive(). findFacets(): the profile's, called only if a filter needs them.
function changeOf(profile, state, findFacets) {
	const steps = readSteps(profile, state);
	return {
		steps, facets: hasFacets(profile, state) ? findFacets().map((facet) =>
			({group: facet.group, left: leftGroups(state, facet)})) : [],
		dropped: steps.filter((step) => step.kind === "drop").map((step) => step.frame),
		kernel: state.k !== "off", inlined: state.i !== "off", recursion: Boolean(state.g),
		modules: Boolean(state.m) && !profile.header.comparison, side: state.w || "both",
		order: profile.header.inOrder ? "time" : state.s === "weight" ? "weight" : "name",
	};
}

// The part of the state that a tree depends on.
const treeKey = (state) => JSON.stringify(Object.entries(state).filter(([key, text]) => text &&
	(/^(x|k|i|w|s|g|m)$/.test(key) || /^(only|not)-/.test(key))).sort());

// Finds the node of one tree in another one: follows its path as far as it exists there, skipping
// missing nodes.
function follow(from, node, to) {
	const path = [];
	for (let i = node; i > 0; i = from.parent[i])
		path.push(from.frame[i]);
	let at = 0;
	path.reverse().forEach((frame) => {
		for (let i = at + 1; i < to.end[at]; i = to.end[i]) {
			if (to.frame[i] === frame) {
				at = i;
				break;
			}
		}
	});
	return at;
}

return {functionId, findFunction, stepText, readSteps, writeStep, withoutStep, leftGroups, writeGroups,
	hasFacets, changeOf, treeKey, follow};
})();
