// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_data: reads the bytes that html.c writes as a profile. Only this file knows them; their source
// does not matter.
//
// A header in JSON has the facts of the recording and the length of each part of the bytes; the parts
// follow one another. Numbers are varints: seven bits a byte, lowest first, the highest bit set on all but
// the last byte.
//
//	names       text, a name per line; all names that frames have, in bytewise order
//	modules     text, a line each; the first one is that of no module
//	frameNames  a number per frame: its name's distance from the previous frame's
//	frameKinds  a byte per frame: enum frame_kind, 16 added after a separator, 32 times enum leaders_code
//	frameModules, frameFills  a number per frame; fills are indices of header.fills
//	frameFillsRunning  the same for what runs, where both is drawn, running and waiting
//	up          a number per node of the tree, see flame.makeTree()
//	frame       a number per node: 0 the root, 1 what was left out, else 2 added to the frame
//	self0, self1  a number per node and side: what it weighs alone
//	deviation0, deviation1  a number per node of a comparison that weighs something: how long its periods
//	            are, 64 × the binary logarithm, see compare/compare.h; only where weights are times
//	elided      a number per elided node: how many it replaces
const data = (function () {
"use strict";

// enum frame_kind of core/profile.h
const USER = 0, KERNEL = 1, INLINED = 2, JIT = 3, INTERPRETED = 4, NOTE = 5, SEPARATOR = 6, RUNNING = 7,
	RUNNABLE = 8, WAITING = 9;

const SUFFIXES = {[KERNEL]: "_[k]", [INLINED]: "_[i]", [JIT]: "_[j]", [INTERPRETED]: "_[0]"};
const WORDS = {[KERNEL]: "kernel", [INLINED]: "inlined", [JIT]: "JIT", [INTERPRETED]: "interpreted"};

function decodeBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const binary = atob(text), bytes = new Uint8Array(binary.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

function inflate(bytes) {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Response(stream).arrayBuffer().then((buffer) => new Uint8Array(buffer));
}

// Reads into list until it is full. Up to 2^53.
function readNumbers(bytes, list) {
	let at = 0;
	for (let i = 0; i < list.length; i++) {
		let byte = bytes[at++], value = byte & 127;
		for (let factor = 128; byte > 127; factor *= 128) {
			byte = bytes[at++];
			value += (byte & 127) * factor;
		}
		list[i] = value;
	}
	return list;
}

function cutParts(header, bytes) {
	const parts = {};
	let at = 0;
	for (const [name, length] of header.parts) {
		parts[name] = bytes.subarray(at, at + length);
		at += length;
	}
	return parts;
}

function readLines(bytes) {
	return new TextDecoder().decode(bytes).split("\n");
}

function readFrames(header, parts) {
	const n = header.frames;
	const names = readLines(parts.names), modules = readLines(parts.modules);
	const steps = readNumbers(parts.frameNames, new Int32Array(n));
	const frames = {n, name: new Array(n), kind: new Uint8Array(n), isWaker: new Uint8Array(n),
		code: new Uint8Array(n),
		modules, module: readNumbers(parts.frameModules, new Int32Array(n)),
		fill: readNumbers(parts.frameFills, new Int32Array(n))};
	frames.fillRunning = parts.frameFillsRunning ?
		readNumbers(parts.frameFillsRunning, new Int32Array(n)) : frames.fill;
	for (let i = 0, name = 0; i < n; i++) {
		name += steps[i];
		frames.name[i] = names[name];
		frames.kind[i] = parts.frameKinds[i] & 15;
		frames.isWaker[i] = parts.frameKinds[i] >> 4 & 1;
		frames.code[i] = parts.frameKinds[i] >> 5;
	}
	return addStandIns(frames);
}

// Adds a frame for the code of each module, which represents its functions where these are merged.
// standIn, by frame: the frame of its module for code, else the frame itself. nFunctions: the number
// of other frames.
function addStandIns(frames) {
	const {n, kind, isWaker, module} = frames, made = new Map();
	const standIn = Int32Array.from({length: n}, (_, f) => {
		if (kind[f] >= NOTE || !module[f])
			return f;
		const key = 2 * module[f] + isWaker[f];
		if (!made.has(key))
			made.set(key, {number: n + made.size, like: f});
		return made.get(key).number;
	});
	const likes = Array.from(made.values(), ({like}) => like), all = n + likes.length;
	const grown = (array) => {
		const larger = new array.constructor(all);
		larger.set(array);
		likes.forEach((like, k) => (larger[n + k] = array[like]));
		return larger;
	};
	const kernel = frames.modules.indexOf("[kernel]");
	Object.assign(frames, {n: all, nFunctions: n, isWaker: grown(isWaker), module: grown(module),
		code: grown(frames.code), fill: grown(frames.fill), fillRunning: grown(frames.fillRunning), kind: grown(kind),
		standIn: Int32Array.from({length: all}, (_, f) => (f < n ? standIn[f] : f)),
		name: frames.name.concat(likes.map((like) => frames.modules[module[like]]))});
	likes.forEach((like, k) => (frames.kind[n + k] = module[like] === kernel ? KERNEL : USER));
	return frames;
}

// Further columns that are summed up by node: variances of a comparison, and the number of nodes
// that elided ones replace.
function readColumns(header, parts, tree) {
	const columns = [];
	for (let side = 0; side < header.sides; side++)
		columns.push(readNumbers(parts["self" + side], new Float64Array(header.nodes)));
	for (let side = 0; hasVariances(header) && side < header.sides; side++)
		columns.push(readVariances(columns[side], parts["deviation" + side]));
	if (tree.nElided) {
		const elided = new Float64Array(header.nodes);
		const numbers = readNumbers(parts.elided, new Float64Array(tree.nElided));
		for (let i = 0, k = 0; i < header.nodes; i++)
			if (tree.frame[i] === flame.ELIDED)
				elided[i] = numbers[k++];
		columns.push(elided);
	}
	return columns;
}

// For samples, the variance equals the count.
const hasVariances = (header) => header.comparison && !header.isCount;

function readVariances(selfs, bytes) {
	const weighing = selfs.reduce((n, self) => n + (self > 0), 0);
	const lengths = readNumbers(bytes, new Float64Array(weighing));
	let k = 0;
	return selfs.map((self) => (self > 0 ? self * 2 ** (lengths[k++] / 64) : 0));
}

// A profile: {header: facts of the recording, frames: functions by number, base: the tree of
// everything, nElided: how many of its nodes are elided ones, elidedColumn: which of its sides has
// the number each replaces}. Others add their cached results to it.
function read(header, bytes) {
	const parts = cutParts(header, bytes), n = header.nodes;
	const frames = readFrames(header, parts);
	const up = readNumbers(parts.up, new Int32Array(n));
	const frame = readNumbers(parts.frame, new Int32Array(n));
	let nElided = 0;
	for (let i = 0; i < n; i++) {
		frame[i] -= 2;
		if (frame[i] === -2)
			frame[i] = flame.ROOT;
		else if (frame[i] === -1) {
			frame[i] = flame.ELIDED;
			nElided++;
		}
	}
	const columns = readColumns(header, parts, {frame, nElided});
	const profile = {header, frames, nElided, elidedColumn: nElided ? columns.length - 1 : -1};
	profile.base = flame.makeTree(up, frame, columns, scalesOf(profile, "both"));
	return profile;
}

// The factor of each column for drawing. side: both, new or base of a comparison.
function scalesOf(profile, side) {
	const {header} = profile;
	const scales = header.scales.map((scale, s) =>
		(side === "both" || !header.comparison || (s === 0) === (side === "new") ? scale : 0));
	const others = (hasVariances(header) ? header.sides : 0) + (profile.nElided > 0);
	return scales.concat(new Array(others).fill(0));
}

// Names for frames that are not functions, too.

function nameOf(profile, frame) {
	if (frame >= 0)
		return profile.frames.name[frame];
	return frame === flame.ROOT ? "all" : "[elided]";
}

function kindOf(profile, frame) {
	return frame >= 0 ? profile.frames.kind[frame] : NOTE;
}

function moduleOf(profile, frame) {
	return frame >= 0 ? profile.frames.modules[profile.frames.module[frame]] : "";
}

// "kernel", "inlined", "waker, JIT" …; or "".
function wordsOf(profile, frame) {
	if (frame < 0)
		return "";
	const words = profile.frames.isWaker[frame] ? ["waker"] : [];
	const word = WORDS[profile.frames.kind[frame]];
	return words.concat(word || []).join(", ");
}

function foldedName(profile, frame) {
	return nameOf(profile, frame).replace(/;/g, ":") + (SUFFIXES[kindOf(profile, frame)] || "");
}

// enum leaders_code of core/leaders.h
const FOREIGN = 0, OWN = 2;

return {FOREIGN, OWN, USER, KERNEL, INLINED, JIT, INTERPRETED, NOTE, SEPARATOR, RUNNING, RUNNABLE, WAITING,
	decodeBase64, inflate, read, addStandIns, scalesOf, nameOf, kindOf, moduleOf, wordsOf, foldedName};
})();
