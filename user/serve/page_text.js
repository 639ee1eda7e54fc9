// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_text: elements, and times, lengths and shares as text. Times are ms since 1970, shown in the reader's zone.
const pageText = (function () {
"use strict";

const one = (id) => document.getElementById(id);

// attributes: texts by name; on: listeners by event.
function make(tag, attributes = {}, ...children) {
	const element = document.createElement(tag);
	Object.entries(attributes).forEach(([name, value]) => {
		if (name === "on")
			Object.entries(value).forEach(([event, listener]) => element.addEventListener(event, listener));
		else if (value !== undefined && value !== false)
			element.setAttribute(name, value === true ? "" : value);
	});
	element.append(...children.filter((child) => child !== null && child !== undefined));
	return element;
}

const button = (text, title, run, more = {}) =>
	make("button", Object.assign({type: "button", title, on: {click: run}}, more), text);

const two = (number) => String(number).padStart(2, "0");

function dateOf(ms) {
	const d = new Date(ms);
	return d.getFullYear() + "-" + two(d.getMonth() + 1) + "-" + two(d.getDate());
}

function clockOf(ms, seconds = true) {
	const d = new Date(ms);
	return two(d.getHours()) + ":" + two(d.getMinutes()) + (seconds ? ":" + two(d.getSeconds()) : "");
}

const timeOf = (ms) => dateOf(ms) + " " + clockOf(ms);

function rangeOf(from, to) {
	return timeOf(from) + " \u2013 " + (dateOf(from) === dateOf(to) ? clockOf(to) : timeOf(to));
}

// "UTC", "UTC+05:30"
function zoneOf(ms) {
	const minutes = -new Date(ms).getTimezoneOffset(), size = Math.abs(minutes);
	return "UTC" + (minutes ? (minutes < 0 ? "\u2212" : "+") + two(Math.floor(size / 60)) + ":" + two(size % 60) : "");
}

const digits = (number, most = 3) => number.toLocaleString("en", {maximumSignificantDigits:
	Math.max(most, String(Math.floor(Math.abs(number))).length)});

function lengthOf(ms) {
	const seconds = ms / 1000;
	if (seconds < 120)
		return digits(seconds) + " s";
	if (seconds < 7200)
		return digits(seconds / 60) + " min";
	return seconds < 172800 ? digits(seconds / 3600) + " h" : digits(seconds / 86400) + " days";
}

// Seconds of threads' time.
function secondsOf(seconds) {
	if (seconds < 1)
		return digits(seconds * 1000) + " ms";
	return seconds < 7200 ? digits(seconds, 4) + " s" : digits(seconds / 3600, 4) + " h";
}

const percentOf = (share) => (100 * share).toFixed(share >= 0.1 ? 1 : 2) + "\u2009%";

// A ratio of two values as a change: "+12 %", "\u00d73.1", "new".
function changeOf(now, before) {
	if (!(before > 0))
		return now > 0 ? "new" : "";
	const ratio = now / before;
	if (ratio >= 2)
		return "\u00d7" + digits(ratio, 2);
	const percent = Math.round(100 * (ratio - 1));
	return (percent > 0 ? "+" : percent < 0 ? "\u2212" : "\u00b1") + Math.abs(percent) + "\u2009%";
}

const plural = (n, what) => n.toLocaleString("en") + " " + what + (n === 1 ? "" : "s");

return {one, make, button, dateOf, clockOf, timeOf, rangeOf, zoneOf, digits, lengthOf, secondsOf, percentOf, changeOf,
	plural};
})();
