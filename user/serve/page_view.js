// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_view: moves and zooms the view of time, from ten seconds to all that is kept.
const pageView = (function () {
"use strict";

const {one} = pageText;
const ZOOM = 2, PART = 0.5, WHEEL = 1.002;
const {MINUTE, HOUR, DAY} = pageScale;
const LENGTHS = {"15m": 15 * MINUTE, "1h": HOUR, "6h": 6 * HOUR, "1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY,
	all: Infinity};

function look(from, to, replace) {
	pageState.set(pageScale.clamp(from, to, pageStore), replace);
}

// at: the moment that stays where it is.
function zoom(factor, at, replace) {
	const {from, to} = pageState.now, fixed = at === undefined ? (from + to) / 2 : at;
	look(fixed - (fixed - from) * factor, fixed + (to - fixed) * factor, replace);
}

function pan(part) {
	const {from, to} = pageState.now, by = part * (to - from);
	look(from + by, to + by);
}

function zoomToRange() {
	const {range, base} = pageState.now, all = (range || []).concat(base || []);
	if (!all.length)
		return;
	const from = Math.min(...all.map(([begin]) => begin)), to = Math.max(...all.map(([, end]) => end));
	const air = (to - from) * 0.04;
	look(from - air, to + air);
}

// So long, up to the end of what is seen, or of what there is.
function lookAtLast(length) {
	const end = length === Infinity ? pageStore.to : Math.min(pageStore.to, pageState.now.to);
	look(Math.max(pageStore.from, end - length), end);
}

function listen() {
	const time = one("time"), whole = one("whole");
	time.addEventListener("wheel", (event) => {
		if (!event.ctrlKey && !event.shiftKey)
			return;
		event.preventDefault();
		const box = time.getBoundingClientRect(), {from, to} = pageState.now;
		if (event.ctrlKey)
			zoom(WHEEL ** event.deltaY, from + (event.clientX - box.left) / box.width * (to - from), true);
		else
			look(from + (event.deltaX || event.deltaY) / 800 * (to - from), to +
				(event.deltaX || event.deltaY) / 800 * (to - from), true);
	}, {passive: false});
	document.querySelectorAll("[data-length]").forEach((button) =>
		button.addEventListener("click", () => lookAtLast(LENGTHS[button.dataset.length])));
	one("zoom-in").addEventListener("click", () => zoom(1 / ZOOM));
	one("zoom-out").addEventListener("click", () => zoom(ZOOM));
	one("earlier").addEventListener("click", () => pan(-PART));
	one("later").addEventListener("click", () => pan(PART));
	one("zoom-range").addEventListener("click", zoomToRange);
	listenToWhole(whole);
}

// A drag over the whole store is the new view; a click brings the view there.
function listenToWhole(whole) {
	let grab = null;
	const msAt = (event) => {
		const box = whole.getBoundingClientRect();
		return pageStore.from + (event.clientX - box.left) / box.width * (pageStore.to - pageStore.from);
	};
	whole.addEventListener("pointerdown", (event) => {
		grab = {ms: msAt(event), x: event.clientX};
		whole.setPointerCapture(event.pointerId);
	});
	whole.addEventListener("pointermove", (event) => {
		if (grab && Math.abs(event.clientX - grab.x) > 3)
			pageChart.moveView({from: Math.min(grab.ms, msAt(event)), to: Math.max(grab.ms, msAt(event))});
	});
	whole.addEventListener("pointerup", (event) => {
		const {from, to} = pageState.now, half = (to - from) / 2, ms = msAt(event);
		if (grab && Math.abs(event.clientX - grab.x) > 3)
			look(Math.min(grab.ms, ms), Math.max(grab.ms, ms));
		else if (grab)
			look(ms - half, ms + half);
		grab = null;
	});
}

function show(state) {
	pageChart.moveView(state);
	const length = state.to - state.from, whole = pageStore.to - pageStore.from;
	const hasAll = state.from <= pageStore.from && state.to >= pageStore.to;
	document.querySelectorAll("[data-length]").forEach((button) => {
		const wanted = LENGTHS[button.dataset.length];
		button.setAttribute("aria-pressed", wanted === Infinity ? hasAll : Math.abs(length - wanted) < 1000);
		button.disabled = wanted !== Infinity && wanted > whole * 1.5 && button.dataset.length !== "1h";
	});
}

return {look, zoom, pan, zoomToRange, lookAtLast, listen, show};
})();
