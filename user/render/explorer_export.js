// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_export: data that leaves the page: the clipboard, folded stacks.
const exporter = (function () {
"use strict";

const CHUNK = 1 << 20; // characters

// Pages from file:// may have no clipboard API; a selected field can still be copied from.
function copyByField(text) {
	const field = document.createElement("textarea");
	field.value = text;
	field.className = "unseen";
	document.body.append(field);
	field.select();
	const done = document.execCommand("copy");
	field.remove();
	return done ? Promise.resolve() : Promise.reject(new Error("refused"));
}

function copy(text) {
	if (!navigator.clipboard)
		return copyByField(text);
	return navigator.clipboard.writeText(text).catch(() => copyByField(text));
}

// From the root to the frame; in the callers of a sandwich, from the farthest caller.
function stackText(profile, {pane, node}) {
	const names = [];
	for (let i = node; i > 0 || (i === 0 && pane.tree.frame[0] >= 0); i = pane.tree.parent[i])
		names.push(data.foldedName(profile, pane.tree.frame[i]));
	return (pane.letter === "b" || pane.letter === "c" ? names : names.reverse()).join(";");
}

// In the units of folded lines: samples, or microseconds. A comparison has two columns, base and
// new.
function weightOf(profile, tree, node) {
	const {header} = profile;
	const told = (value) => (header.unit === "ns" ? Math.round(value / 1000) : value);
	const side = (s) => tree.sides[s].self[node];
	if (header.comparison)
		return side(0) || side(1) ? told(side(1)) + " " + told(side(0)) : "";
	return told(header.sides === 2 ? side(0) + side(1) : side(0)) || "";
}

// Calls write(text) piece by piece.
function writeFolded(profile, tree, write) {
	const prefix = [""];
	let text = "";
	for (let i = 1; i < tree.n; i++) {
		const depth = tree.depth[i];
		prefix[depth] = (depth > 1 ? prefix[depth - 1] + ";" : "") +
			data.foldedName(profile, tree.frame[i]).replace(/[\n\r]/g, " ");
		const weight = weightOf(profile, tree, i);
		if (weight !== "")
			text += prefix[depth] + " " + weight + "\n";
		if (text.length > CHUNK) {
			write(text);
			text = "";
		}
	}
	write(text);
}

function download(profile, tree) {
	const pieces = [], link = document.createElement("a");
	writeFolded(profile, tree, (text) => pieces.push(text));
	link.href = URL.createObjectURL(new Blob(pieces, {type: "text/plain"}));
	link.download = profile.header.mode + ".folded";
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

return {copy, stackText, writeFolded, download};
})();
