// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_panel: the lists around the picture: filters at the side, chips, the path, the menu, the
// tooltip's place.
const panel = (function () {
"use strict";

const {make} = table;
const FEW = 12, MORE = 200;
const VERBS = {hide: "Without", focus: "Only", drop: "Taken out:"};

function icon(name) {
	const NS = "http://www.w3.org/2000/svg";
	const svg = document.createElementNS(NS, "svg");
	svg.setAttribute("class", "icon");
	svg.appendChild(document.createElementNS(NS, "use")).setAttribute("href", "#icon-" + name);
	return svg;
}

function button(className, text, run) {
	const element = make("button", className, text);
	element.type = "button";
	element.addEventListener("click", run);
	return element;
}

// Groups by their weight in the whole recording, with a checkbox each: filters don't reorder them.
// Opened, typed and scrolled states persist.
class Filters {
	// set(facet, left): sets the groups to leave out.
	constructor(element, {set, close}) {
		Object.assign(this, {element, set, close});
		this.shown = new Map();  // by facet: how many groups
		this.texts = new Map();  // by facet: what names must hold
		this.closed = new Set();
	}

	// sums, lefts: by facet, by group. whole: the value of 100 %.
	show(list, sums, lefts, whole) {
		const top = this.element.scrollTop, focus = document.activeElement;
		const focusKey = focus && this.element.contains(focus) ? focus.dataset.focus : "";
		const head = make("header");
		const close = button("icon-button", undefined, this.close);
		close.setAttribute("aria-label", "Close filters");
		close.append(icon("close"));
		head.append(make("h2", "", "Filters"), close);
		this.again = () => this.show(list, sums, lefts, whole);
		this.element.replaceChildren(head, ...list.map((facet, f) =>
			this.facet(facet, sums[f], lefts[f] || new Uint8Array(facet.names.length), whole)));
		if (!list.length)
			this.element.append(make("p", "nothing", "All stacks are of one command and module: " +
				"there is nothing to filter by. Right-click a frame to hide or focus it."));
		this.element.scrollTop = top;
		if (focusKey) {
			const again = Array.from(this.element.querySelectorAll("[data-focus]"))
				.find((e) => e.dataset.focus === focusKey);
			if (again) {
				again.focus();
				if (again.type === "search")
					again.setSelectionRange(again.value.length, again.value.length);
			}
		}
	}

	facet(facet, sums, left, whole) {
		const box = make("details"), summary = make("summary", "", facet.title);
		const groups = facet.names.map((name, g) => g).filter((g) => facet.whole[g] > 0)
			.sort((a, b) => facet.whole[b] - facet.whole[a]);
		const nLeft = groups.filter((g) => left[g]).length;
		box.dataset.facet = facet.key;
		box.open = !this.closed.has(facet.key);
		box.addEventListener("toggle", () =>
			(box.open ? this.closed.delete(facet.key) : this.closed.add(facet.key)));
		summary.append(make("small", "", nLeft ? groups.length - nLeft + " of " + groups.length :
			String(groups.length)));
		box.append(summary, this.pick(facet, groups, left));
		const text = (this.texts.get(facet.key) || "").toLowerCase();
		const found = groups.filter((g) => facet.names[g].toLowerCase().includes(text));
		const n = this.shown.get(facet.key) || FEW;
		found.slice(0, n).forEach((g) => box.append(this.group(facet, g, sums, left, groups, whole)));
		if (found.length > n)
			box.append(button("more", found.length - n + " more", () => {
				this.shown.set(facet.key, n + MORE);
				this.again();
			}));
		return box;
	}

	pick(facet, groups, left) {
		const line = make("div", "pick");
		if (groups.length > FEW) {
			const input = make("input");
			Object.assign(input, {type: "search", placeholder: "Find", spellcheck: false,
				value: this.texts.get(facet.key) || ""});
			input.dataset.focus = facet.key + " find";
			input.setAttribute("aria-label", "Find in " + facet.title);
			input.addEventListener("input", () => {
				this.texts.set(facet.key, input.value);
				this.again();
			});
			line.append(input);
		}
		line.append(button("", "All", () => this.set(facet, left.map(() => 0))),
			button("", "None", () => this.set(facet, left.map(() => 1))),
			button("", "Invert", () => this.set(facet, left.map((out) => 1 - out))));
		return line;
	}

	group(facet, g, sums, left, groups, whole) {
		const line = make("div", "group" + (left[g] ? " left" : "")), label = make("label");
		const box = make("input"), bar = make("i");
		box.type = "checkbox";
		box.checked = !left[g];
		box.dataset.focus = facet.key + " " + g;
		box.addEventListener("change", () => this.set(facet, left.map((out, i) =>
			(i === g ? 1 - out : out))));
		bar.style.width = 100 * sums[g] / (whole || 1) + "%";
		const text = make("span", "text", facet.names[g]);
		text.title = facet.names[g];
		label.append(box, text, make("span", "share", flame.percent(sums[g], whole)));
		const only = button("only", "only", () => this.set(facet, left.map((out, i) => Number(i !== g))));
		only.setAttribute("aria-label", "Only " + facet.names[g]);
		line.append(bar, label, only);
		return line;
	}
}

// list: [{label, kind or "", remove()}].
function showChips(element, list) {
	element.replaceChildren(...list.map(({label, kind, remove}) => {
		const item = make("li"), chip = button("chip", undefined, remove);
		const text = (kind ? VERBS[kind] + " " : "") + label;
		chip.append(make("span", "", text), icon("close"));
		chip.title = "Remove: " + text;
		chip.setAttribute("aria-label", "Remove filter: " + text);
		item.append(chip);
		return item;
	}));
}

// From the root to the zoomed node.
function showPath(element, tree, node, nameOf, open) {
	const path = [];
	for (let i = node; i >= 0; i = tree.parent[i])
		path.push(i);
	element.replaceChildren(...path.reverse().map((i) => {
		const item = make("li"), name = nameOf(tree.frame[i]);
		const step = button("", flame.fitColumns(name, 120), () => open(i));
		step.title = name;
		item.append(step);
		return item;
	}));
	element.parentNode.scrollLeft = element.parentNode.scrollWidth;
}

// Near a point, and completely visible.
function place(element, x, y, gap) {
	const {offsetWidth: width, offsetHeight: height} = element;
	const left = x + gap + width > innerWidth - 8 ? Math.max(8, x - gap - width) : x + gap;
	const top = y + gap + height > innerHeight - 8 ? Math.max(8, y - gap - height) : y + gap;
	element.style.left = left + "px";
	element.style.top = top + "px";
}

// actions: [{title, key, run}]. Takes the keyboard until it is closed.
function showMenu(element, x, y, actions, closed) {
	element.replaceChildren(...actions.map(({title, key, run}) => {
		const item = button("", title, () => {
			hideMenu(element, closed);
			run();
		});
		item.setAttribute("role", "menuitem");
		if (key)
			item.append(make("kbd", "", key));
		return item;
	}));
	element.hidden = false;
	place(element, x, y, 2);
	element.firstChild.focus();
	element.onkeydown = (event) => {
		const items = Array.from(element.children), at = items.indexOf(document.activeElement);
		const step = {ArrowDown: 1, ArrowUp: items.length - 1}[event.key];
		if (step)
			items[(at + step) % items.length].focus();
		else if (event.key === "Escape" || event.key === "Tab")
			hideMenu(element, closed);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	};
}

function hideMenu(element, closed) {
	if (!element.hidden) {
		element.hidden = true;
		closed();
	}
}

return {Filters, showChips, showPath, showMenu, hideMenu, place, icon, button};
})();
