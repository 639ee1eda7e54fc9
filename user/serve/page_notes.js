// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_notes: what went wrong, and what was done, in words that screen readers say, too.
const pageNotes = (function () {
"use strict";

let timer = 0;

function say(text, isFault) {
	const note = pageText.one("note");
	clearTimeout(timer);
	note.textContent = text;
	note.classList.toggle("fault", Boolean(isFault));
	note.hidden = false;
	timer = setTimeout(() => { note.hidden = true; }, isFault ? 8000 : 2000);
}

// An error of a question to the server.
function fail(error) {
	if (!pageApi.isReplaced(error) && error.status !== 401)
		say(error.message === "Failed to fetch" ? "The daemon does not answer" : error.message, true);
}

return {say, fail};
})();
