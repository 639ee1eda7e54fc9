// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_embed: the explorer in the page of `bpfflame daemon`, whose frame (user/serve/frame.html) says so. The page
// keeps the state in its own link, and shows functions over time.
const embed = (function () {
"use strict";

const host = window.flamePage && window.flamePage !== window ? window.flamePage : null;

const say = (message) => host && host.postMessage(message, "*"); // the server lets only its own page show the frame

function listen(page) {
	if (!host)
		return;
	page.one("copy-link").hidden = page.one("theme").hidden = true;
	addEventListener("message", ({source, data: message}) => {
		if (source !== host)
			return;
		if (message.theme)
			page.setTheme(message.theme);
		if (message.state !== undefined) {
			history.replaceState(null, "", message.state || "#");
			page.restore();
		}
	});
}

// link: what the state is now; replace: no step of the history.
const stateChanged = (link, replace) => say({kind: "state", link, replace});

// What can be done with a function besides.
const actionOf = (name) => host && {title: "Over time", key: "a", run: () => say({kind: "function", name})};

const ready = () => say({kind: "ready"});

return {listen, stateChanged, actionOf, ready, get isIn() { return host !== null; }};
})();
