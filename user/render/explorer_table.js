// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_table: functions in rows. Only visible rows are elements, however many functions there are; an
// empty element as high as all of them provides the scroll bar.
const table = (function () {
"use strict";

const ROW = 26, SPARE = 6;

// Text reaches the document only through this: never as markup.
function make(name, className, text) {
	const element = document.createElement(name);
	if (className)
		element.className = className;
	if (text !== undefined)
		element.textContent = text;
	return element;
}

// columns: [{key, title, width, of(frame): its sort key, fill(cell, frame)}]; the column "name" is
// first sorted from A on.
class Table {
	// open(frame), sorted(key); point(frame): the pointer is on it, -1: on none.
	constructor(element, {open, sorted, point}) {
		Object.assign(this, {element, open, sorted, point});
		this.opensByClick = true;
		this.most = 0; // rows on paper; 0: on a screen
		this.head = element.appendChild(make("div", "head"));
		this.rows = element.appendChild(make("div", "rows"));
		this.rows.tabIndex = 0;
		this.rows.setAttribute("role", "listbox");
		this.rows.setAttribute("aria-label", "Functions");
		this.spacer = this.rows.appendChild(make("div"));
		this.frames = [];
		this.lines = [];
		this.active = -1;
		this.rows.addEventListener("scroll", () => this.draw(), {passive: true});
		this.rows.addEventListener("click", (event) => this.click(event));
		this.rows.addEventListener("dblclick", () => this.selected >= 0 && this.open(this.selected));
		this.rows.addEventListener("pointerover", (event) => {
			const line = event.target.closest(".line");
			this.point(line ? line.frame : this.selected);
		});
		this.rows.addEventListener("pointerleave", () => this.point(this.selected));
		this.rows.addEventListener("keydown", (event) => this.key(event));
		new ResizeObserver(() => this.draw()).observe(this.rows);
	}

	// columns as above; sort: a column's key, after "-" for largest first.
	show(columns, frames, sort) {
		this.columns = columns;
		this.sort = sort;
		this.frames = this.sorter(frames);
		this.active = -1;
		this.rows.scrollTop = 0;
		this.element.style.setProperty("--columns", columns.map(({width}) => width).join(" "));
		this.drawHead();
		this.lines.forEach((line) => line.remove());
		this.lines = [];
		this.draw();
	}

	sorter(frames) {
		const falls = this.sort.startsWith("-"), key = this.sort.replace("-", "");
		const column = this.columns.find((c) => c.key === key);
		const values = new Map(frames.map((frame) => [frame, column.of(frame)]));
		const second = this.columns.find((c) => c.key === (key === "total" ? "self" : "total"));
		const ties = new Map(frames.map((frame) => [frame, second ? second.of(frame) : 0]));
		const sign = falls ? -1 : 1;
		return frames.slice().sort((a, b) => {
			const x = values.get(a), y = values.get(b);
			return x < y ? -sign : x > y ? sign : ties.get(b) - ties.get(a) || a - b;
		});
	}

	drawHead() {
		this.head.replaceChildren(...this.columns.map(({key, title, hint}) => {
			const cell = make("div", key === "name" ? "name" : ""), button = make("button", "", title);
			button.type = "button";
			button.dataset.key = key;
			if (hint)
				button.title = hint;
			const direction = this.sort === key ? "ascending" :
				this.sort === "-" + key ? "descending" : null;
			if (direction) {
				cell.dataset.sort = direction;
				button.setAttribute("aria-label", title + ", " + direction);
				button.append(direction === "ascending" ? " \u2191" : " \u2193");
			}
			const first = key === "name" ? key : "-" + key;
			const other = key === "name" ? "-" + key : key;
			button.addEventListener("click", () => this.sorted(this.sort === first ? other : first));
			cell.append(button);
			return cell;
		}));
	}

	// most: how many rows to draw for paper, from the first on; 0: draws the visible ones again.
	unroll(most) {
		this.most = most;
		this.draw();
	}

	draw() {
		if (!this.columns || (!this.rows.clientHeight && !this.most))
			return;
		this.spacer.style.height = this.frames.length * ROW + "px";
		const first = this.most ? 0 : Math.max(0, Math.floor(this.rows.scrollTop / ROW) - SPARE);
		const wanted = Math.min(this.frames.length - first,
			this.most || Math.ceil(this.rows.clientHeight / ROW) + 2 * SPARE);
		while (this.lines.length < wanted)
			this.lines.push(this.makeLine());
		while (this.lines.length > Math.max(wanted, 0))
			this.lines.pop().remove();
		// A row keeps its element while it is visible.
		this.lines.forEach((line, k) => {
			const slot = this.lines.length;
			const index = first + ((k - first) % slot + slot) % slot;
			this.fill(line, index);
		});
	}

	makeLine() {
		const line = make("div", "line");
		line.setAttribute("role", "option");
		this.columns.forEach(({key}) => line.append(make("div", key === "name" ? "name" : "figure")));
		return this.rows.appendChild(line);
	}

	fill(line, index) {
		const frame = this.frames[index], isActive = index === this.active;
		line.classList.toggle("active", isActive);
		line.setAttribute("aria-selected", isActive);
		line.id = "function-" + index;
		if (line.frame === frame && line.index === index)
			return;
		Object.assign(line, {frame, index});
		line.style.top = index * ROW + "px";
		this.columns.forEach(({fill}, c) => fill(line.children[c], frame));
	}

	activate(index) {
		this.active = Math.max(0, Math.min(index, this.frames.length - 1));
		const top = this.active * ROW, {scrollTop, clientHeight} = this.rows;
		if (top < scrollTop)
			this.rows.scrollTop = top;
		else if (top + ROW > scrollTop + clientHeight)
			this.rows.scrollTop = top + ROW - clientHeight;
		this.draw();
		this.rows.setAttribute("aria-activedescendant", "function-" + this.active);
		this.point(this.selected);
	}

	get selected() {
		return this.active >= 0 && this.active < this.frames.length ? this.frames[this.active] : -1;
	}

	click(event) {
		const line = event.target.closest(".line");
		if (line) {
			this.active = line.index;
			this.draw();
			this.point(line.frame);
			if (this.opensByClick)
				this.open(line.frame);
		}
	}

	key(event) {
		const page = Math.floor(this.rows.clientHeight / ROW) - 1;
		const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity,
			End: Infinity};
		if (event.key in steps)
			this.activate(Math.max(-1, this.active) + steps[event.key]);
		else if (event.key === "Enter" && this.selected >= 0)
			this.open(this.selected);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}
}

return {Table, make};
})();
