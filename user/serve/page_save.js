// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_save: what is shown as a file of each format, and the command line of `bpfflame query` that gives the same.
const pageSave = (function () {
"use strict";

const {one} = pageText;
const FORMATS = {profile: [["html", "html"], ["svg", "svg"], ["folded", "folded"], ["pprof", "pb.gz"],
	["speedscope", "speedscope.json"], ["firefox", "firefox.json"], ["json", "json"]],
diff: [["html", "html"], ["svg", "svg"], ["text", "txt"], ["markdown", "md"], ["json", "json"]]};

let waits = false;

async function save(format, ending) {
	const state = pageState.now, path = pageGraph.pathOf(state);
	waits = true;
	one("save").setAttribute("aria-busy", "true");
	try {
		const blob = await pageApi.blob(path, Object.assign({format}, pageGraph.parametersOf(state)), "save");
		const url = URL.createObjectURL(blob);
		const name = "bpfflame-" + pageGraph.parametersOf(state).from.replace(/[-:]/g, "") + "." + ending;
		pageText.make("a", {href: url, download: name}).click();
		setTimeout(() => URL.revokeObjectURL(url), 10000);
	} catch (error) {
		pageNotes.fail(error);
	}
	waits = false;
	one("save").setAttribute("aria-busy", "false");
}

function commandOf(state) {
	const path = pageGraph.pathOf(state);
	return "bpfflame query " + pageApi.words(pageGraph.parametersOf(state)) + (path === "diff" ? " -o diff.html" :
		" -o profile.html");
}

function show(state) {
	const path = pageGraph.pathOf(state);
	one("command").textContent = commandOf(state);
	if (one("formats").dataset.of === path)
		return;
	one("formats").dataset.of = path;
	one("formats").replaceChildren(...FORMATS[path].map(([format, ending]) =>
		pageText.button(format, "Download as " + format, () => !waits && save(format, ending), {class: "action"})));
}

function listen() {
	one("copy-command").addEventListener("click", () => navigator.clipboard.writeText(one("command").textContent)
		.then(() => pageNotes.say("Command copied"), () => pageNotes.say("The browser does not let pages copy", true)));
	one("group").addEventListener("change", () => pageState.set({group: one("group").value.replace(/\s/g, "")}));
}

return {show, listen, commandOf};
})();
