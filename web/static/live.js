// Keeps the parts of a page that are marked data-live as the server has them. The page's stream only tells that
// something changed; the page itself is asked for again, so it is made in one place. Says what it does in #live.
(function () {
	"use strict";
	var here = new URL(location.href);
	if (here.searchParams.has("did")) { // said once, not at each reload
		here.searchParams.delete("did");
		history.replaceState(history.state, "", here);
	}
	here.searchParams.delete("fresh");
	var say = document.getElementById("live");
	if (!say || !window.EventSource || !window.fetch) { return; }
	var stream = null, lost = 0, retry = 0, asking = false, due = false;

	function tell(words) { if (say.textContent !== words) { say.textContent = words; } }
	function clock() { return new Date().toISOString().slice(11, 19) + " UTC"; }

	function show(html) {
		var fresh = new DOMParser().parseFromString(html, "text/html");
		document.querySelectorAll("[data-live]").forEach(function (part) {
			var next = fresh.getElementById(part.id);
			// What somebody is about to press stays under their finger.
			if (next && !part.querySelector("details.act[open]") && !part.contains(document.activeElement)) {
				part.replaceWith(document.adoptNode(next));
			}
		});
	}

	function out(page) {
		close();
		say.textContent = "You were signed out. ";
		var link = document.createElement("a");
		link.href = page;
		link.textContent = "Sign in again";
		say.append(link);
	}

	function refresh() {
		if (asking) { due = true; return; }
		asking = true;
		due = false;
		fetch(here, { cache: "no-store" }).then(function (res) {
			if (res.redirected) { out(res.url); return; }
			return res.ok ? res.text().then(show) : undefined;
		}).catch(function () { /* the stream breaks too, and says so */ }).then(function () {
			setTimeout(function () { asking = false; if (due) { refresh(); } }, 500);
		});
	}

	function close() {
		clearTimeout(retry);
		if (stream) { stream.close(); stream = null; }
	}

	function open() {
		close();
		stream = new EventSource(say.dataset.from);
		stream.onopen = function () {
			tell(lost ? "Live again since " + clock() + "." : "Live: this page changes by itself.");
			lost = 0;
			refresh();
		};
		stream.addEventListener("changed", refresh);
		stream.addEventListener("beat", refresh);
		stream.onerror = function () { // a browser gives up on some answers, so this asks anew itself
			close();
			if (!lost) { lost = 1; tell("The connection was lost at " + clock() + "; what you see may be old. Trying again."); refresh(); }
			retry = setTimeout(open, 2000);
		};
	}

	// A hidden tab holds no connection: browsers have few for one host.
	document.addEventListener("visibilitychange", function () { if (document.hidden) { close(); } else { open(); } });
	window.addEventListener("pagehide", close);
	if (!document.hidden) { open(); }
})();
