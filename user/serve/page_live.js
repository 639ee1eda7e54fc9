// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_live: the last window, as soon as it is written, and the minutes before it as a strip. Whatever else is chosen
// pauses it.
const pageLive = (function () {
"use strict";

const {one} = pageText;
const STRIP = 15 * pageScale.MINUTE, PAUSE = 10 * pageScale.SECOND;

let timer = 0, mine = "";

const placeOf = ({from, to, range}) => JSON.stringify([from, to, range]);

function stop() {
	clearInterval(timer);
	timer = 0;
	one("live").setAttribute("aria-pressed", "false");
}

async function step() {
	try {
		await pageStore.load();
	} catch (error) {
		pageNotes.fail(error);
		return;
	}
	if (!timer)
		return;
	const {to, window: length} = pageStore, shown = Math.max(length, pageScale.SECOND);
	const place = Object.assign({range: [[to - shown, to]]}, pageScale.clamp(to - STRIP, to, pageStore));
	mine = placeOf(place);
	pageState.set(Object.assign(place, {base: null}), true);
}

function start() {
	timer = setInterval(step, Math.max(pageScale.SECOND, Math.min(PAUSE, pageStore.window)));
	mine = placeOf(pageState.now);
	one("live").setAttribute("aria-pressed", "true");
	step();
}

function show(state) {
	if (timer && placeOf(state) !== mine)
		stop();
}

const listen = () => one("live").addEventListener("click", () => (timer ? stop() : start()));

return {show, listen, get isOn() { return timer !== 0; }};
})();
