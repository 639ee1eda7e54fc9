// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_facets: the properties that distinguish stacks: state, reason, process, thread, module. Each
// facet puts every stack into one group, so the weights of its groups add up to everything. Uses no document.
const facets = (function () {
"use strict";

const STATES = {[data.RUNNING]: "running", [data.RUNNABLE]: "runnable", [data.WAITING]: "waiting"};
const NO_MODULE = "(no module)", OTHER = "(none)", IDLE = "[idle]";

// Numbers for texts, in order of appearance.
class Groups {
	constructor() {
		this.names = [];
		this.numbers = new Map();
	}

	number(text) {
		let number = this.numbers.get(text);
		if (number === undefined) {
			number = this.names.length;
			this.numbers.set(text, number);
			this.names.push(text);
		}
		return number;
	}
}

// One frame of a stack carries the property; frames below inherit it. textOf(node) gives it for
// such a node, else null. byFrame: it depends only on the frame.
function inherit(profile, textOf, byFrame) {
	const {base} = profile, groups = new Groups(), group = new Int32Array(base.n);
	const known = new Int32Array(byFrame ? profile.frames.n : 0).fill(-2);
	group[0] = groups.number(OTHER);
	for (let i = 1; i < base.n; i++) {
		const frame = base.frame[i];
		let number = -1;
		if (byFrame && frame >= 0) {
			number = known[frame];
			if (number === -2) {
				const text = textOf(i);
				number = known[frame] = text === null ? -1 : groups.number(text);
			}
		} else if (!byFrame) {
			const text = textOf(i);
			number = text === null ? -1 : groups.number(text);
		}
		group[i] = number < 0 ? group[base.parent[i]] : number;
	}
	return {names: groups.names, group};
}

const isReason = (kind) => kind >= data.RUNNING && kind <= data.WAITING;

// The range of frames under which idle waits were gathered: [from, to); to is 0 if there is none.
function idleRange({base, frames}) {
	for (let i = 1; i < base.n; i = base.end[i]) {
		const frame = base.frame[i];
		if (frame >= 0 && frames.kind[frame] === data.NOTE && frames.name[frame] === IDLE)
			return {from: i, to: base.end[i]};
	}
	return {from: 0, to: 0};
}

// By node. A thread that waits for work is idle, whatever it waits for.
function stateBy(profile) {
	const idle = idleRange(profile), {base} = profile;
	return (p, node) => {
		const kind = data.kindOf(profile, base.frame[node]);
		if (node === idle.from)
			return "idle";
		return !isReason(kind) ? null : node > idle.from && node < idle.to ? "idle" : STATES[kind];
	};
}

function reasonOf(profile, node) {
	const frame = profile.base.frame[node];
	return isReason(data.kindOf(profile, frame)) ? data.nameOf(profile, frame) : null;
}

// The root frame, or the one below [idle]. When merged from the leaves, it is a stack's last one:
// the deepest note that is not of another kind.
function rootOf(profile, node) {
	const {base, header} = profile, frame = base.frame[node];
	if (frame < 0 || (!header.reverse && base.depth[node] > 2))
		return null;
	const name = data.nameOf(profile, frame), above = base.parent[node];
	if (header.reverse) {
		const isRoot = !profile.frames.isWaker[frame] && name !== "[truncated]" &&
			name !== IDLE && data.kindOf(profile, frame) <= data.NOTE;
		return isRoot ? name : null;
	}
	const isIdle = (i) => base.depth[i] === 1 && base.frame[i] >= 0 &&
		data.nameOf(profile, base.frame[i]) === IDLE &&
		data.kindOf(profile, base.frame[i]) === data.NOTE;
	if (base.depth[node] === 1 || (base.depth[node] === 2 && isIdle(above)))
		return isIdle(node) ? null : name;
	return null;
}

// `comm-PID/TID` belongs to the process `comm-PID` and the command `comm`.
const processName = (root) => root && root.replace(/(-\d+)\/\d+$/, "$1");
const commandName = (root) => root && root.replace(/-\d+\/\d+$/, "");

// The module of the innermost function.
function moduleOf(profile, node) {
	const {frames, header} = profile, frame = profile.base.frame[node];
	if (frame < 0 || frames.kind[frame] >= data.NOTE || frames.isWaker[frame])
		return null;
	if (header.reverse && hasCodeAbove(profile, node))
		return null;
	return data.moduleOf(profile, frame) || NO_MODULE;
}

function hasCodeAbove(profile, node) {
	const {base, frames} = profile;
	for (let i = base.parent[node]; i > 0; i = base.parent[i])
		if (base.frame[i] >= 0 && frames.kind[base.frame[i]] < data.NOTE)
			return true;
	return false;
}

// The facets that distinguish stacks of this profile: [{key, title, names, group}]. hidden: by
// group, 1 if it is hidden until a reader asks for it.
function find(profile) {
	const {header, frames} = profile;
	const has = (test) => frames.kind.some(test);
	const list = [];
	const add = (key, title, textOf, byFrame) => {
		const facet = inherit(profile, (node) => textOf(profile, node), byFrame);
		if (facet.names.length > 2)
			list.push(Object.assign(facet, {key, title}));
	};
	if (has(isReason)) {
		add("state", "State", stateBy(profile), false);
		add("reason", "Reason", reasonOf, true);
	}
	if (header.hidesIdle && list.length && list[0].key === "state")
		list[0].hidden = Uint8Array.from(list[0].names, (name) => Number(name === "idle"));
	if (header.threads) {
		add("command", "Command", (p, node) => commandName(rootOf(p, node)), false);
		add("process", "Process", (p, node) => processName(rootOf(p, node)), false);
		add("thread", "Thread", rootOf, false);
	} else {
		add("command", "Command", rootOf, false);
	}
	if (frames.modules.length > 1)
		add("module", "Module", moduleOf, !header.reverse);
	return list;
}

// The weights of groups: for each facet an array by group, of the stacks that the other facets
// leave. lefts: by facet, by group: 1 if it is left out; or null. weights: by node.
function weigh(profile, list, lefts, weights) {
	const sums = list.map((facet) => new Float64Array(facet.names.length));
	for (let i = 0; i < profile.base.n; i++) {
		if (!weights[i])
			continue;
		let failed = -1, failures = 0;
		for (let f = 0; f < list.length; f++) {
			if (lefts[f] && lefts[f][list[f].group[i]]) {
				failed = f;
				failures++;
			}
		}
		for (let f = 0; failures < 2 && f < list.length; f++)
			if (!failures || failed === f)
				sums[f][list[f].group[i]] += weights[i];
	}
	return sums;
}

// By node of the base: the width in the picture of a stack that ends there.
function weightsOf(profile) {
	const {sides} = profile.base, {scales} = profile.header;
	if (sides.length === 1)
		return sides[0].self;
	const weights = new Float64Array(profile.base.n);
	scales.forEach((scale, s) => {
		for (let i = 0; i < weights.length; i++)
			weights[i] += sides[s].self[i] * scale;
	});
	return weights;
}

return {find, weigh, weightsOf};
})();
