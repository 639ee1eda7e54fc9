// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_figures: weights as text: tooltips, the details line, the columns of the table.
const figures = (function () {
"use strict";

const {make} = table;
// The letter of a pane in which the frames below a frame are its callees.
const isCallers = (letter) => letter === "b" || letter === "c";
const KINDS = {none: "within noise", grew: "more", shrank: "less", new: "new", gone: "gone"};

// Formats a profile's figures. whole: the value of 100 %.
class Figures {
	constructor(profile) {
		this.profile = profile;
		this.header = profile.header;
		this.isComparison = this.header.comparison;
		this.isWall = !this.isComparison && this.header.sides === 2;
	}

	// Sets the shown tree, which shares relate to.
	use(tree) {
		this.tree = tree;
		this.whole = tree.width[0];
	}

	weight(value) {
		return flame.weight(value * this.header.factor, this.header.unit);
	}

	// Both sides together; in a comparison, the new one.
	valueOf(tree, node, what) {
		const value = tree.sides[0][what][node];
		return this.isWall ? value + tree.sides[1][what][node] : value;
	}

	share(width) {
		return flame.percent(width, this.whole);
	}

	change(tree, node, what) {
		return compare.changeAt(this.header, tree.sides.map((side) => side[what]), node, what,
			tree.frame[node]);
	}

	// A side of a comparison.
	compared(value) {
		return this.header.normalized ? (100 * value).toFixed(2) + "%" : this.weight(value);
	}

	difference({difference}) {
		const sign = difference > 0 ? "+" : difference < 0 ? "\u2212" : "\u00b1";
		const size = Math.abs(difference);
		return sign + (this.header.normalized ? (100 * size).toFixed(2) + " pp" : this.weight(size));
	}

	ratio({base, now}) {
		if (!base || !now)
			return "";
		return "\u00d7" + (now / base).toFixed(now / base < 10 ? 2 : 0);
	}

	// "+1.20 pp (×1.31), within noise"
	changeText(change) {
		const ratio = this.ratio(change);
		return this.difference(change) + (ratio ? " (" + ratio + ")" : "") +
			(change.kind === "grew" || change.kind === "shrank" ? "" : ", " + KINDS[change.kind]);
	}

	name(frame) {
		return data.nameOf(this.profile, frame);
	}

	// One line for the details line and for screen readers. place: {pane, node}, as in
	// explorer_graph.js.
	line({pane: {tree, view, letter}, node}) {
		const words = data.wordsOf(this.profile, tree.frame[node]);
		let text = (this.header.nameType ? this.header.nameType + " " : "") +
			this.name(tree.frame[node]) + (words ? " [" + words + "]" : "") + " \u2014 ";
		if (this.isComparison) {
			const change = this.change(tree, node, "total");
			return text + "total " + this.compared(change.base) + " \u2192 " +
				this.compared(change.now) + ", " + this.changeText(change);
		}
		const total = this.valueOf(tree, node, "total"), self = this.valueOf(tree, node, "self");
		text += this.weight(total) + ", " + this.share(tree.width[node]) + " of all";
		if (view > 0 && tree.depth[node] > tree.depth[view])
			text += ", " + flame.percent(tree.width[node], tree.width[view]) + " of " +
				flame.fitColumns(this.name(tree.frame[view]), 40);
		return self && self !== total && !isCallers(letter) ? text + "; self " + this.weight(self) : text;
	}

	elidedText(tree, node) {
		const column = this.profile.elidedColumn;
		const n = column < 0 ? 0 : tree.sides[column].self[node];
		return tree.frame[node] === flame.ELIDED && n ?
			flame.count(n) + (n === 1 ? " frame" : " frames") + " too narrow to be kept" : "";
	}

	tooltip({pane: {tree, view, letter}, node}) {
		const frame = tree.frame[node], box = document.createDocumentFragment();
		const words = [data.moduleOf(this.profile, frame), data.wordsOf(this.profile, frame),
			this.elidedText(tree, node)].filter(Boolean);
		box.append(make("div", "name", this.name(frame)));
		if (words.length)
			box.append(make("div", "tags", words.join(" \u00b7 ")));
		box.append(this.isComparison ? this.changeTable(tree, node) :
			this.weightTable(tree, node, view, isCallers(letter)));
		return box;
	}

	// In a tree of callers, the nodes below are callees, and there is no self weight.
	weightTable(tree, node, view, isCaller) {
		const rows = make("table");
		const add = (title, ...cells) => {
			const row = rows.appendChild(make("tr"));
			row.append(make("th", "", title));
			cells.forEach((cell, i) => row.append(make("td", i < 1 ? "figure" : "", cell)));
		};
		const total = this.valueOf(tree, node, "total"), self = this.valueOf(tree, node, "self");
		const parent = tree.parent[node];
		add("Total", this.weight(total), this.share(tree.width[node]) + " of all");
		if (view > 0 && tree.depth[node] > tree.depth[view])
			add("", "", flame.percent(tree.width[node], tree.width[view]) + " of " +
				flame.fitColumns(this.name(tree.frame[view]), 36));
		if (parent > 0 && parent !== view)
			add("", "", flame.percent(tree.width[node], tree.width[parent]) +
				(isCaller ? " of its callee" : " of its caller"));
		if (!isCaller)
			add("Self", this.weight(self), this.share(self) + " of all");
		if (this.isWall) {
			add("Running", this.weight(tree.sides[1].total[node]),
				flame.percent(tree.sides[1].total[node], total) + " of it");
			add("Waiting", this.weight(tree.sides[0].total[node]),
				flame.percent(tree.sides[0].total[node], total) + " of it");
		}
		return rows;
	}

	changeTable(tree, node) {
		const rows = make("table");
		for (const what of ["total", "self"]) {
			const change = this.change(tree, node, what), row = make("tr");
			const weights = this.weight(tree.sides[1][what][node]) + " \u2192 " +
				this.weight(tree.sides[0][what][node]);
			row.append(make("th", "", what === "total" ? "Total" : "Self"),
				make("td", "figure", this.compared(change.base) + " \u2192 " +
					this.compared(change.now)),
				make("td", change.difference === 0 || change.kind === "none" ? "none" :
					change.difference > 0 ? "grew" : "shrank",
				change.difference === 0 ? "no change" : this.changeText(change)));
			rows.append(row);
			if (this.header.normalized) {
				const second = make("tr");
				second.append(make("th"), make("td", "figure none", weights));
				rows.append(second);
			}
		}
		return rows;
	}

	// Columns of the table for functions, with the weights of model.functions().
	columns(functions, fillOf, isNarrow) {
		const name = {key: "name", title: "Function", width: "minmax(120px, 1fr)",
			of: (frame) => this.name(frame), fill: (cell, frame) => this.fillName(cell, frame, fillOf)};
		return this.isComparison ? this.changeColumns(functions, name, isNarrow) :
			this.weightColumns(functions, name, isNarrow);
	}

	fillName(cell, frame, fillOf) {
		const module = data.moduleOf(this.profile, frame);
		const words = data.wordsOf(this.profile, frame);
		const swatch = make("span", "swatch");
		swatch.style.background = fillOf(frame);
		cell.replaceChildren(swatch, this.name(frame));
		if (words || module)
			cell.append(make("span", "module", module === "[kernel]" ? "kernel" :
				[module, words].filter(Boolean).join(" \u00b7 ")));
		cell.title = this.name(frame);
	}

	weightColumns({list, self, total, waits}, name, isNarrow) {
		const sum = (columns, frame) => columns[0][frame] + (this.isWall ? columns[1][frame] : 0);
		const column = (key, title, columns, hint) => {
			const most = list.reduce((max, frame) => Math.max(max, sum(columns, frame)), 0);
			return {key, title, hint, width: isNarrow ? "74px" : "minmax(136px, 190px)",
				of: (frame) => sum(columns, frame),
				fill: (cell, frame) => this.fillWeight(cell, sum(columns, frame), most, isNarrow)};
		};
		const columns = [column("self", "Self", self, "Alone"),
			column("total", "Total", total, "With all that it calls"), name];
		// Where times end in reasons, no function has one of its own.
		if (waits && isNarrow)
			columns.shift();
		if (waits)
			columns.unshift(column("waits", "Waits in", [waits, waits.map(() => 0)],
				"What is waited for in it: it is the last of the program's own functions"));
		return columns;
	}

	// The bar is relative to the largest value of its column.
	fillWeight(cell, value, most, isNarrow) {
		const bar = make("i");
		bar.style.width = 100 * value / (most || 1) + "%";
		cell.classList.toggle("none", !value);
		cell.replaceChildren(bar);
		if (!isNarrow)
			cell.append(make("b", "", this.weight(value)));
		cell.append(make(isNarrow ? "b" : "small", "", this.share(value)));
	}

	changeColumns({self, total}, name, isNarrow) {
		const changeOf = (columns, frame) => compare.changeAt(this.header, columns, frame,
			columns === self ? "self" : "total", frame);
		const change = (key, title, columns) => ({key, title, width: isNarrow ? "86px" : "104px",
			of: (frame) => {
				const {kind, difference} = changeOf(columns, frame);
				return Math.abs(difference) + (kind === "none" ? 0 : this.header.normalized ? 2 : 1e15);
			},
			fill: (cell, frame) => {
				const found = changeOf(columns, frame);
				const kind = found.kind === "none" ? "none" : found.difference > 0 ? "grew" :
					"shrank";
				cell.replaceChildren(make("b", kind, found.difference ?
					this.difference(found) : "\u2013"));
				cell.title = this.changeText(found);
			}});
		const side = (key, title, columns, s) => ({key, title, width: "76px",
			of: (frame) => columns[s][frame],
			fill: (cell, frame) => cell.replaceChildren(make("b", "", this.compared(
				this.header.normalized ? columns[s][frame] / (this.header.totals[s] || 1) :
					columns[s][frame])))});
		if (isNarrow)
			return [change("selfchange", "\u0394 self", self),
				change("totalchange", "\u0394 total", total), name];
		return [side("selfbase", "Self: base", self, 1), side("self", "new", self, 0),
			change("selfchange", "change", self), side("totalbase", "Total: base", total, 1),
			side("total", "new", total, 0), change("totalchange", "change", total), name];
	}
}

return {Figures};
})();
