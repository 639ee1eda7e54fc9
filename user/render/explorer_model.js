// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_model: trees derived from the tree of everything: the part that filters leave, merged again where
// frames were taken out; callers and callees of a function; functions by weight. Uses no document.
//
// Nothing is changed in place, so that every filter can be undone: each tree comes from the profile's base
// in one pass. There are more than a million nodes, so they are numbers in typed arrays, never objects.
const model = (function () {
"use strict";

const MANY = 300000, LEAST_SHARE = 1e-6; // nodes, and the share below which bottomUp() merges everything

// A tree that grows. Nodes are found by their parent and frame in a hash table with linear probing, but
// only below parents that are shared: whoever appends without looking knows that there is no such child.
class Growing {
	constructor(frame, nColumns, capacity) {
		this.n = 1;
		this.nShared = 0; // nodes in the table
		this.parent = Int32Array.of(-1);
		this.frame = Int32Array.of(frame);
		this.columns = Array.from({length: nColumns}, () => new Float64Array(1));
		this.slots = new Int32Array(1024);
		this.resize(Math.max(capacity, 16));
	}

	resize(capacity) {
		const grown = (array) => {
			const larger = new array.constructor(capacity);
			larger.set(array.subarray(0, this.n));
			return larger;
		};
		this.capacity = capacity;
		this.parent = grown(this.parent);
		this.frame = grown(this.frame);
		this.columns = this.columns.map(grown);
	}

	append(parent, frame) {
		if (this.n === this.capacity)
			this.resize(2 * this.capacity);
		this.parent[this.n] = parent;
		this.frame[this.n] = frame;
		return this.n++;
	}

	slotOf(parent, frame) {
		const {slots} = this, mask = slots.length - 1;
		let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 3, 0x85ebca6b);
		hash = (hash ^ (hash >>> 15)) & mask;
		while (slots[hash] && (this.parent[slots[hash]] !== parent ||
			this.frame[slots[hash]] !== frame))
			hash = (hash + 1) & mask;
		return hash;
	}

	// Makes a node one that child() finds.
	share(node) {
		if (2 * ++this.nShared > this.slots.length) {
			const old = this.slots;
			this.slots = new Int32Array(2 * old.length);
			for (let i = 0; i < old.length; i++)
				if (old[i])
					this.slots[this.slotOf(this.parent[old[i]], this.frame[old[i]])] = old[i];
		}
		this.slots[this.slotOf(this.parent[node], this.frame[node])] = node;
	}

	// The child of parent with this frame; makes it if necessary.
	child(parent, frame) {
		const found = this.slots[this.slotOf(parent, frame)];
		if (found)
			return found;
		const node = this.append(parent, frame);
		this.share(node);
		return node;
	}
}

// Children of a parent: from first[parent] on in list, in the order of their numbers.
function groupChildren(n, parent) {
	const first = new Int32Array(n + 2), list = new Int32Array(Math.max(n - 1, 0));
	for (let i = 1; i < n; i++)
		first[parent[i] + 2]++;
	for (let i = 2; i < n + 2; i++)
		first[i] += first[i - 1];
	for (let i = 1; i < n; i++)
		list[first[parent[i] + 1]++] = i;
	return {first, list};
}

function sortChildren(n, {first, list}, key) {
	for (let p = 0; p < n; p++) {
		const from = first[p], to = first[p + 1];
		if (to - from < 2)
			continue;
		if (to - from > 24) {
			list.subarray(from, to).sort((a, b) => key[a] - key[b] || a - b);
			continue;
		}
		for (let i = from + 1; i < to; i++) {
			const node = list[i];
			let k = i;
			for (; k > from && key[list[k - 1]] > key[node]; k--)
				list[k] = list[k - 1];
			list[k] = node;
		}
	}
}

// The sort keys of children: their names, which follow the frames' numbers, with elided nodes
// last; or their widths, widest first.
function sortKeys(n, parent, frame, columns, scales, heavy) {
	const keys = new Float64Array(n);
	if (!heavy) {
		for (let i = 0; i < n; i++)
			keys[i] = frame[i] === flame.ELIDED ? Infinity : frame[i];
		return keys;
	}
	columns.forEach((column, c) => {
		for (let i = 0; scales[c] && i < n; i++)
			keys[i] -= column[i] * scales[c];
	});
	for (let i = n - 1; i > 0; i--)
		keys[parent[i]] += keys[i];
	return keys;
}

// A tree for drawing; its nodes come after their parents.
function arrange({n, parent, frame, columns}, scales, order) {
	const children = groupChildren(n, parent), {first, list} = children;
	if (order !== "time")
		sortChildren(n, children, sortKeys(n, parent, frame, columns, scales, order === "weight"));
	const up = new Int32Array(n), sequence = new Int32Array(n), depth = new Int32Array(n);
	const stack = new Int32Array(n + 1);
	for (let at = 0, top = 1, before = 0; top; at++) {
		const node = stack[--top];
		sequence[at] = node;
		up[at] = at ? before - depth[node] + 1 : 0;
		before = depth[node];
		for (let c = first[node + 1] - 1; c >= first[node]; c--) {
			depth[list[c]] = before + 1;
			stack[top++] = list[c];
		}
	}
	const moved = (array) => {
		const result = new array.constructor(n);
		for (let i = 0; i < n; i++)
			result[i] = array[sequence[i]];
		return result;
	};
	return flame.makeTree(up, moved(frame), columns.map(moved), scales);
}

const selfColumns = (tree) => tree.sides.map((side) => side.self);

// Which of the base's nodes count with their own weights; null: all. Hidden subtrees and those
// outside a focused one don't; a group that is left out removes all its stacks.
function keptNodes(profile, change) {
	const {base} = profile;
	if (!change.steps.some((step) => step.nodes) && !change.facets.some((facet) => facet.left))
		return null;
	const kept = new Uint8Array(base.n).fill(1);
	change.facets.filter((facet) => facet.left).forEach(({group, left}) => {
		for (let i = 0; i < base.n; i++)
			kept[i] &= 1 - left[group[i]];
	});
	change.steps.filter((step) => step.nodes).forEach(({kind, nodes}) => {
		let at = 0;
		nodes.forEach((node) => {
			if (kind === "hide")
				kept.fill(0, node, base.end[node]);
			else
				kept.fill(0, at, node);
			at = base.end[node];
		});
		if (kind === "focus")
			kept.fill(0, at);
	});
	return kept;
}

// By frame: 1 if it is taken out and its children move up; null: none is.
function takenOut(profile, {kernel, inlined, dropped}) {
	const {n, kind} = profile.frames;
	if (kernel && inlined && !dropped.length)
		return null;
	const out = new Uint8Array(n);
	for (let f = 0; f < n; f++)
		out[f] = (!kernel && kind[f] === data.KERNEL) || (!inlined && kind[f] === data.INLINED);
	dropped.forEach((f) => out[f] = 1);
	return out;
}

// Nodes with a weight, including those below them, when only kept nodes count.
function livingNodes(base, columns, kept) {
	const {n, parent} = base, alive = new Uint8Array(n);
	alive[0] = 1;
	for (let i = n - 1; i > 0; i--) {
		if (!alive[i] && (!kept || kept[i]))
			for (let c = 0; c < columns.length; c++)
				alive[i] |= columns[c][i] > 0;
		alive[parent[i]] |= alive[i];
	}
	return alive;
}

// If nothing is taken out, no two nodes become one, and no lookup is necessary.
function copyKept(profile, kept) {
	const {base} = profile, {n, parent, frame, end} = base, columns = selfColumns(base);
	const alive = livingNodes(base, columns, kept);
	const growing = new Growing(flame.ROOT, columns.length, n);
	const map = new Int32Array(n);
	for (let i = 0; i < n;) {
		if (!alive[i]) {
			i = end[i];
			continue;
		}
		const node = map[i] = i ? growing.append(map[parent[i]], frame[i]) : 0;
		for (let c = 0; kept[i] && c < columns.length; c++)
			growing.columns[c][node] = columns[c][i];
		i++;
	}
	return growing;
}

// Otherwise, children are looked up only below a node that more than one of the base became. The
// children of its first node are entered when the second one comes. In order of time, only the
// latest child can match.
class Merging {
	constructor(profile, kept, out, {order, recursion, modules}) {
		const {base, frames} = profile, inOrder = order === "time";
		this.base = base;
		this.out = out;
		this.standIn = modules ? frames.standIn : null;
		// Frames from this number on become one with a caller of the same.
		this.joined = recursion ? 0 : modules ? frames.nFunctions : Infinity;
		this.columns = selfColumns(base);
		this.kept = kept;
		this.alive = kept ? livingNodes(base, this.columns, kept) : null;
		this.growing = new Growing(flame.ROOT, this.columns.length, base.n);
		this.map = new Int32Array(base.n);
		this.first = new Int32Array(base.n);      // by new node: of which one it was made
		this.isShared = new Uint8Array(base.n).fill(Number(modules)); // by new node; siblings become one, too
		this.latest = inOrder ? new Int32Array(base.n) : null;
	}

	share(node, before) {
		const {base, growing, map, alive} = this;
		if (this.isShared[node])
			return;
		this.isShared[node] = 1;
		for (let i = this.first[node] + 1; i < before && !this.latest; i = base.end[i])
			if ((!alive || alive[i]) && map[i] !== node)
				growing.share(map[i]);
	}

	child(parent, frame) {
		const {growing, latest} = this;
		if (latest) {
			if (!latest[parent] || growing.frame[latest[parent]] !== frame)
				latest[parent] = growing.append(parent, frame);
			return latest[parent];
		}
		return this.isShared[parent] ? growing.child(parent, frame) : growing.append(parent, frame);
	}

	place(i) {
		const {base, growing, standIn} = this, above = this.map[base.parent[i]], own = base.frame[i];
		const frame = own >= 0 && standIn ? standIn[own] : own;
		if (own >= 0 && ((this.out && this.out[own]) ||
			(frame >= this.joined && growing.frame[above] === frame))) {
			if (base.end[i] > i + 1)
				this.share(above, i);
			return above;
		}
		const before = growing.n, node = this.child(above, frame);
		if (node === before)
			this.first[node] = i;
		else if (base.end[i] > i + 1)
			this.share(node, this.base.end[this.first[node]]);
		return node;
	}

	run() {
		const {base, columns, kept, alive, growing, map} = this, {n, end} = base;
		for (let i = 0; i < n;) {
			if (alive && !alive[i]) {
				i = end[i];
				continue;
			}
			const node = map[i] = i ? this.place(i) : 0;
			if (!kept || kept[i])
				for (let c = 0; c < columns.length; c++)
					growing.columns[c][node] += columns[c][i];
			i++;
		}
		return growing;
	}
}

// What a change leaves of the profile, a tree:
//	steps       [{kind: "hide" or "focus", nodes: of the base, from left to right}]
//	facets      [{group: a number by node of the base, left: by group, 1 if it is left out}]
//	kernel, inlined, dropped    frames that are taken out: not kernel, not inlined, these
//	recursion   a function that calls itself is one frame
//	modules     functions of a module that call each other are one frame, the module's
//	side        of a comparison: "both", "new" or "base", what widths are of
//	order       of children: "name", "weight" or "time"
function derive(profile, change) {
	const {base} = profile, scales = data.scalesOf(profile, change.side);
	const kept = keptNodes(profile, change), out = takenOut(profile, change);
	if (out || change.recursion || change.modules)
		return arrange(new Merging(profile, kept, out, change).run(), scales, change.order);
	if (kept)
		return arrange(copyKept(profile, kept), scales, change.order);
	if (change.order === "weight")
		return arrange({n: base.n, parent: base.parent, frame: base.frame,
			columns: selfColumns(base)}, scales, change.order);
	if (change.side === "both")
		return base;
	const tree = Object.assign({}, base, {start: new Float64Array(base.n)});
	flame.setWidths(tree, scales);
	return tree;
}

// The tree from the leaves: stacks reversed and merged, with leaves as roots and callers below. In
// very large trees, stacks too small to be seen are merged into one.
function bottomUp(profile, tree, change) {
	const columns = selfColumns(tree), scales = data.scalesOf(profile, change.side);
	const growing = new Growing(flame.ROOT, columns.length, tree.n);
	const least = tree.n > MANY ? tree.width[0] * LEAST_SHARE : 0;
	for (let i = 0; i < tree.n; i++) {
		const width = columns.reduce((sum, column, c) => sum + column[i] * scales[c], 0);
		let at = 0;
		if (!(width > 0))
			continue;
		if (width < least)
			at = growing.child(0, flame.ELIDED);
		for (let k = i; k > 0 && width >= least; k = tree.parent[k])
			at = growing.child(at, tree.frame[k]);
		columns.forEach((column, c) => growing.columns[c][at] += column[i]);
	}
	return arrange(growing, scales, change.order === "weight" ? "weight" : "name");
}

// Merges stacks, given as lists of frames, root first.
function ofStacks(stacks, weights) {
	const growing = new Growing(flame.ROOT, 1, stacks.length);
	stacks.forEach((frames, i) => {
		const at = frames.reduce((above, frame) => growing.child(above, frame), 0);
		growing.columns[0][at] += weights[i];
	});
	return arrange(growing, [1], "name");
}

// Callers and callees of a function, merged over all its places. Where it calls itself, the
// outermost one counts: what called that one, and all that is below it.
// Both trees have the function as their root.
function sandwich(profile, tree, frame, change) {
	const {n, parent, end} = tree, columns = selfColumns(tree);
	const scales = data.scalesOf(profile, change.side);
	const callers = new Growing(frame, columns.length, 1024);
	const callees = new Growing(frame, columns.length, 1024);
	const map = new Int32Array(n);
	for (let i = 1; i < n; i++) {
		if (tree.frame[i] !== frame)
			continue;
		addCallers(callers, tree, i);
		map[i] = 0;
		for (let k = i; k < end[i]; k++) {
			const node = k === i ? 0 : callees.child(map[parent[k]], tree.frame[k]);
			map[k] = node;
			for (let c = 0; c < columns.length; c++)
				callees.columns[c][node] += columns[c][k];
		}
		i = end[i] - 1;
	}
	const order = change.order === "weight" ? "weight" : "name";
	return {callers: arrange(callers, scales, order), callees: arrange(callees, scales, order)};
}

function addCallers(callers, tree, node) {
	let at = 0;
	for (let i = tree.parent[node]; i > 0; i = tree.parent[i])
		at = callers.child(at, tree.frame[i]);
	tree.sides.forEach((side, c) => callers.columns[c][at] += side.total[node]);
}

// Functions of a tree: by frame and column, self and total weights. A stack counts once in a
// function's total, however often the function is on it. list: the frames with a weight.
function functions(profile, tree) {
	const {n} = profile.frames, {sides} = tree;
	const self = sides.map(() => new Float64Array(n)), total = sides.map(() => new Float64Array(n));
	const waits = hasWaits(profile) ? waitsIn(profile, tree) : null;
	const until = new Int32Array(n); // the end of the subtree it was last seen in
	for (let i = 0; i < tree.n; i++) {
		const f = tree.frame[i];
		if (f < 0)
			continue;
		const outermost = i >= until[f];
		if (outermost)
			until[f] = tree.end[i];
		for (let c = 0; c < sides.length; c++) {
			self[c][f] += sides[c].self[i];
			if (outermost)
				total[c][f] += sides[c].total[i];
		}
	}
	const list = [];
	for (let f = 0; f < n; f++)
		if (until[f])
			list.push(f);
	return {list, self, total, waits};
}

const hasWaits = ({header}) => !header.comparison && !header.reverse && /^(offcpu|wall)$/.test(header.mode);

// By frame: the waiting time of each function that is the last of its program's own code on a
// stack, as in core/leaders.c. Idle waits are left out.
function waitsIn(profile, tree) {
	const {code, kind, isWaker} = profile.frames, waits = new Float64Array(profile.frames.n);
	const best = new Int32Array(tree.n).fill(-1), {self} = tree.sides[0];
	const isIdle = (f) => f >= 0 && kind[f] === data.NOTE && profile.frames.name[f] === "[idle]";
	for (let i = 1, idle = 0; i < tree.n; i++) {
		const f = tree.frame[i], above = best[tree.parent[i]];
		if (tree.depth[i] === 1 && isIdle(f))
			idle = tree.end[i];
		const isCode = f >= 0 && kind[f] < data.NOTE && !isWaker[f];
		const rank = (frame) => (frame < 0 ? -1 : code[frame]);
		best[i] = isCode && rank(f) >= rank(above) ? f : above;
		if (best[i] >= 0 && i >= idle)
			waits[best[i]] += self[i];
	}
	return waits;
}

// The function with the largest self weight, including the reasons and wakers after it; -1: none.
function heaviestFunction(profile, tree) {
	const {n, kind, isWaker} = profile.frames, {sides} = tree, own = new Float64Array(n);
	let best = -1;
	for (let i = 1; i < tree.n; i++) {
		let at = i;
		while (at > 0 && (tree.frame[at] < 0 || kind[tree.frame[at]] >= data.NOTE || isWaker[tree.frame[at]]))
			at = tree.parent[at];
		const f = tree.frame[at];
		for (let s = 0; at > 0 && s < profile.header.sides; s++)
			own[f] += sides[s].self[i] * profile.header.scales[s];
		if (at > 0 && (best < 0 || own[f] > own[best]))
			best = f;
	}
	return best;
}

return {derive, bottomUp, ofStacks, sandwich, functions, heaviestFunction};
})();
