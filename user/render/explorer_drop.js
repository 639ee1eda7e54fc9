// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_drop: files dropped on the page. Explorer pages and folded stacks are shown in its
// place, source files beside their functions. Nothing in them is run, and nothing leaves the page.
const drop = (function () {
"use strict";

const LARGEST = 256 << 20; // bytes
const NOTES = /^\[[a-z][a-z -]*\]$/, THREAD = /-\d+\/\d+$/;
const NO_CAUSE = ["[unknown]", "[truncated]", "[elided]", "[kernel]", "[interrupt]", "[idle]"];
const RUNNABLE = ["[runqueue]", "[preempted]", "[throttled]"];
const KINDS = {k: data.KERNEL, i: data.INLINED, j: data.JIT, 0: data.JIT};

let page = null;

// The header and data of a page that html.c wrote; null: another file.
function readPage(text) {
	const found = new DOMParser().parseFromString(text, "text/html");
	const header = found.getElementById("header"), bytes = found.getElementById("data");
	return header && bytes ? {header: JSON.parse(header.textContent), data: bytes.textContent} : null;
}

// [{names: root first, value}]; lines without a number at their end are comments.
function readLines(text) {
	const lines = [];
	for (const line of text.split("\n")) {
		const match = line.startsWith("# ") ? null : /^(.+) (\d+(?:\.\d+)?)\s*$/.exec(line);
		if (match)
			lines.push({names: match[1].split(";"), value: Number(match[2])});
	}
	return lines;
}

function kindOf(name, at, last, isTime) {
	const suffix = /_\[([kij0])\]$/.exec(name);
	if (at === 0 || NO_CAUSE.includes(name))
		return data.NOTE;
	if (name === "--")
		return data.SEPARATOR;
	if (isTime && at === last && NOTES.test(name))
		return name === "[on-cpu]" ? data.RUNNING : RUNNABLE.includes(name) ? data.RUNNABLE : data.WAITING;
	return suffix ? KINDS[suffix[1]] : data.USER;
}

function moduleOf(name, kind) {
	const match = /^\[(.+)\+0x[0-9a-f]+\]$/.exec(name);
	return kind === data.KERNEL ? "[kernel]" : match ? match[1] : "";
}

// The fills of the current page, by kind.
function fillsOf({frames}) {
	const fills = new Map();
	for (let f = 0; f < frames.n; f++) {
		if (!fills.has(frames.kind[f]))
			fills.set(frames.kind[f], new Set());
		fills.get(frames.kind[f]).add(frames.fill[f]);
	}
	return (kind, name) => {
		const list = Array.from(fills.get(kind) || fills.get(data.USER) || [0]);
		let hash = 0;
		for (let i = 0; i < name.length; i++)
			hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
		return list[(hash >>> 0) % list.length];
	};
}

// Frames by `kind name`, numbered in the order of their names.
function makeFrames(lines, isTime, fillOf) {
	const found = new Map(), modules = [""];
	const stacks = lines.map(({names}) => {
		let isWaker = 0;
		return names.map((name, at) => {
			const kind = kindOf(name, at, names.length - 1, isTime);
			const plain = name.replace(/_\[[kij0]\]$/, ""), key = kind + " " + isWaker + " " + plain;
			if (!found.has(key))
				found.set(key, {name: plain, kind, isWaker, module: moduleOf(name, kind)});
			isWaker |= Number(kind === data.SEPARATOR);
			return key;
		});
	});
	const keys = Array.from(found.keys()).sort((a, b) => (found.get(a).name < found.get(b).name ? -1 : 1));
	const list = keys.map((key) => found.get(key)), numbers = new Map(keys.map((key, f) => [key, f]));
	list.forEach(({module}) => modules.includes(module) || modules.push(module));
	const fill = Int32Array.from(list, ({kind, name}) => fillOf(kind, name));
	const frames = {n: list.length, name: list.map(({name}) => name), modules, fill, fillRunning: fill,
		kind: Uint8Array.from(list, ({kind}) => kind), isWaker: Uint8Array.from(list, ({isWaker}) => isWaker),
		code: Uint8Array.from(list, ({kind}) => (kind === data.KERNEL ? data.FOREIGN : data.OWN)),
		module: Int32Array.from(list, ({module}) => modules.indexOf(module))};
	return {frames: data.addStandIns(frames), stacks: stacks.map((stack) => stack.map((key) => numbers.get(key)))};
}

// Folded stacks as a profile in the colours of the current one; null: not folded stacks.
function readFolded(name, text, like) {
	const lines = readLines(text), last = ({names}) => names[names.length - 1];
	if (!lines.length)
		return null;
	const isTime = lines.every((line) => NOTES.test(last(line)) && !NO_CAUSE.includes(last(line)));
	const scale = isTime ? 1000 : 1, weights = lines.map(({value}) => value * scale);
	const {frames, stacks} = makeFrames(lines, isTime, fillsOf(like));
	const sum = weights.reduce((all, weight) => all + weight, 0), unit = isTime ? "ns" : "sample";
	const header = Object.assign({}, like.header, {title: name, subtitle: "", notes: "", unit, sides: 1, factor: 1,
		facts: [flame.weight(sum, unit)], comparison: false, scales: [1], totals: [sum], inOrder: false,
		reverse: false, hidesIdle: false, isCount: !isTime, frames: frames.nFunctions,
		mode: isTime ? "offcpu" : "oncpu", help: "Widths are the values that the file has.",
		threads: lines.every(({names}) => THREAD.test(names[0]))});
	return {header, frames, base: model.ofStacks(stacks, weights), nElided: 0, elidedColumn: -1};
}

function show(name, text) {
	const other = text.startsWith("<!DOCTYPE html>") ? readPage(text) : null;
	if (other)
		return data.inflate(data.decodeBase64(other.data)).then((bytes) => {
			history.replaceState(null, "", location.href.split("#")[0] + "#");
			page.open(other.header, bytes);
		});
	if (source.knows(name)) {
		source.add(name, text);
		page.toast(name + " is shown beside its functions");
		return null;
	}
	const profile = page.profile && readFolded(name, text, page.profile);
	if (!profile)
		throw new Error("it is no page of bpfflame's, no folded stacks, and no source of a function here");
	history.replaceState(null, "", location.href.split("#")[0] + "#");
	page.showProfile(profile);
	return null;
}

function take(file) {
	const refuse = (error) => page.toast(file.name + ": " + error.message);
	if (file.size > LARGEST) {
		refuse(new Error("too large"));
		return;
	}
	file.text().then((text) => show(file.name, text)).catch(refuse);
}

function listen(to) {
	page = to;
	window.addEventListener("dragover", (event) => event.preventDefault());
	window.addEventListener("drop", (event) => {
		event.preventDefault();
		Array.from(event.dataTransfer.files).forEach(take);
	});
}

return {listen, take};
})();
