// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_api: asks the server (docs/api.md). A question replaces an earlier one of the same purpose that is still
// waiting for its answer, which then never comes.
const pageApi = (function () {
"use strict";

const KEY = "bpfflame-token";

let token = sessionStorage.getItem(KEY) || "";
let onRefusal = () => {};
const waiting = new Map();

function setToken(text) {
	token = text;
	sessionStorage.setItem(KEY, text);
}

// [[name, value]]: names with undefined, false or "" are left out; true is a flag; a list is a parameter each.
const pairsOf = (parameters) => Object.entries(parameters).flatMap(([name, value]) =>
	(Array.isArray(value) ? value : [value]).map((each) => [name, each]))
	.filter(([, value]) => value !== undefined && value !== "" && value !== false);

const queryOf = (parameters) => pairsOf(parameters).map(([name, value]) =>
	name + (value === true ? "" : "=" + encodeURIComponent(value))).join("&");

async function ask(path, parameters, purpose) {
	const control = new AbortController(), headers = token ? {Authorization: "Bearer " + token} : {};
	if (purpose && waiting.has(purpose))
		waiting.get(purpose).abort();
	waiting.set(purpose, control);
	const response = await fetch("/api/" + path + "?" + queryOf(parameters),
		{headers, signal: control.signal, cache: "no-store"});
	if (response.status === 401)
		onRefusal();
	if (!response.ok) {
		const error = new Error((await response.text()).trim() || "status " + response.status);
		error.status = response.status;
		throw error;
	}
	return response;
}

const text = async (path, parameters, purpose) => (await ask(path, parameters, purpose)).text();
const object = async (path, parameters, purpose) => (await ask(path, parameters, purpose)).json();
const blob = async (path, parameters, purpose) => (await ask(path, parameters, purpose)).blob();
const rows = async (path, parameters, purpose) =>
	(await text(path, parameters, purpose)).split("\n").filter(Boolean).map((line) => JSON.parse(line));

function cancel(purpose) {
	if (waiting.has(purpose))
		waiting.get(purpose).abort();
	waiting.delete(purpose);
}

// Whether an error is that the question was replaced.
const isReplaced = (error) => error.name === "AbortError";

// The daemon's parameters as words of a command line of `bpfflame query`.
const quoted = (word) => (/^[\w.,:=@%+/-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'");
const words = (parameters) => pairsOf(parameters)
	.map(([name, value]) => "--" + name + (value === true ? "" : " " + quoted(String(value)))).join(" ");

return {text, object, blob, rows, words, cancel, isReplaced, setToken, set onRefusal(run) { onRefusal = run; }};
})();
