// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_scale: steps and ticks of a time line. Uses no document.
const pageScale = (function () {
"use strict";

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const STEPS = [SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR,
	3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY];
const TICKS = [SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE,
	30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY];
const SHORTEST = 10 * SECOND; // of a view

const pick = (list, least) => list.find((length) => length >= least) || list[list.length - 1];

// least: as long as windows are at the beginning of the view. Short steps hold as many windows each.
const stepOf = (from, to, most, least = 0) =>
	pick(STEPS.filter((step) => step >= 10 * least || step % least === 0), Math.max(least, (to - from) / most));

// [{at, text, isDay}] on local whole hours and days, at least so many ms apart.
function ticksOf(from, to, apart) {
	const length = pick(TICKS, apart), ticks = [];
	const zone = -60000 * new Date(from).getTimezoneOffset();
	for (let at = Math.ceil((from + zone) / length) * length - zone; at <= to; at += length) {
		const isDay = (at + zone) % DAY === 0;
		ticks.push({at, isDay, text: isDay ? pageText.dateOf(at).slice(5) : pageText.clockOf(at, length < MINUTE)});
	}
	return ticks;
}

// A value at or above most that is one digit and zeros, of 1, 2, 5.
function roundUp(most) {
	const power = 10 ** Math.floor(Math.log10(most || 1));
	return [1, 2, 2.5, 5, 10].map((digit) => digit * power).find((value) => value >= most * 0.999);
}

// Views within the time that there is, and no shorter than a window is by default unless there is less.
function clamp(from, to, whole) {
	const all = Math.max(whole.to - whole.from, SECOND);
	const length = Math.min(all, Math.max(SHORTEST, to - from));
	const begin = Math.min(Math.max(whole.from, (from + to - length) / 2), whole.to - length);
	return {from: Math.round(begin / SECOND) * SECOND, to: Math.round((begin + length) / SECOND) * SECOND};
}

return {SECOND, MINUTE, HOUR, DAY, stepOf, ticksOf, roundUp, clamp};
})();
