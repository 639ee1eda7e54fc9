// SPDX-License-Identifier: GPL-2.0-or-later
//
// page_token: the token of --token-file. It comes in the fragment once, `/#token=…`, or is asked for; it is kept for as
// long as the tab is open and is in no address.
const pageToken = (function () {
"use strict";

const {one} = pageText;

function takeFromLink() {
	const found = new URLSearchParams(location.hash.slice(1));
	if (!found.has("token"))
		return;
	pageApi.setToken(found.get("token"));
	found.delete("token");
	history.replaceState(null, "", "#" + found.toString());
}

function listen(again) {
	const dialog = one("token-dialog");
	pageApi.onRefusal = () => {
		if (!dialog.open)
			dialog.showModal();
	};
	one("token-form").addEventListener("submit", (event) => {
		event.preventDefault();
		pageApi.setToken(one("token").value.trim());
		one("token").value = "";
		dialog.close();
		again();
	});
}

return {takeFromLink, listen};
})();
