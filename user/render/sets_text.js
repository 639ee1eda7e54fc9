// SPDX-License-Identifier: GPL-2.0-or-later
//
// sets_text: figures of the page of a folder of sets as text.
const setsText = (function () {
"use strict";

const two = number => String(number).padStart(2, "0");

// In the reader's time zone: how far it is from UTC then, in ms.
const zoneOf = ms => -60000 * new Date(ms).getTimezoneOffset();

function timeOf(ms, withDate = true, withFraction = false) {
	const text = new Date(ms + zoneOf(ms)).toISOString();
	const time = withFraction ? text.slice(11, 23) : text.slice(11, 19);
	return withDate ? text.slice(0, 10) + " " + time : time;
}

// "UTC", "UTC+05:30"
function zoneText(ms) {
	const minutes = Math.round(zoneOf(ms) / 60000), size = Math.abs(minutes);
	return "UTC" + (minutes ? (minutes < 0 ? "\u2212" : "+") + two(Math.floor(size / 60)) + ":" + two(size % 60) : "");
}

function digits(number, most = 3) {
	return number.toLocaleString("en", {maximumSignificantDigits: Math.max(most, String(Math.floor(number)).length)});
}

function timeText(us) {
	if (us < 1000)
		return digits(us) + " \u00b5s";
	if (us < 1e6)
		return digits(us / 1e3) + " ms";
	return digits(us / 1e6) + " s";
}

function durationText(ms) {
	const seconds = Math.round(ms / 1000);
	if (ms < 120000)
		return digits(Math.round(ms / 10) / 100) + " s";
	if (seconds < 7200)
		return Math.floor(seconds / 60) + ":" + two(seconds % 60) + " min";
	return Math.floor(seconds / 3600) + ":" + two(Math.floor(seconds / 60) % 60) + " h";
}

function bytesText(bytes) {
	const units = ["bytes", "kB", "MB", "GB"];
	let i = 0;
	for (; bytes >= 1000 && i < units.length - 1; i++)
		bytes /= 1000;
	return digits(bytes) + " " + units[i];
}

const plural = (n, what) => n.toLocaleString("en") + " " + what + (n === 1 ? "" : "s");

return {timeOf, zoneOf, zoneText, digits, timeText, durationText, bytesText, plural};
})();
