/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code: the functions of the kernel that runs with --kcov reached, file by file. Runs of the page are
 * added up by taking the most that one of them reached. All texts are data: they become text nodes. */
"use strict";
function assayCode(runs) {
	const make = assayStory.make;
	const files = new Map();

	for (const r of runs)
		for (const f of r.code || []) {
			const known = files.get(f.file) || new Map();

			for (const [name, places] of f.functions)
				known.set(name, Math.max(places, known.get(name) || 0));
			files.set(f.file, known);
		}
	if (!files.size)
		return;

	const share = (part, all) => {
		const bar = make("span", { class: "share" }, make("i", {}));

		bar.firstChild.style.width = `${100 * part / all}%`;
		return bar;
	};

	/* The list of a file is made when it is opened: there may be thousands. */
	const open = (functions) => (event) => {
		const box = event.currentTarget;

		if (!box.open || box.childElementCount > 1)
			return;
		box.append(make("div", { class: "functions" }, ...[...functions].map(([name, places]) =>
			make("code", { class: places ? "" : "missed",
				title: places ? `${places} places` : "never reached" }, name))));
	};

	const row = ([file, functions]) => {
		const counts = [...functions.values()];
		const reached = counts.filter((n) => n).length;
		const places = counts.reduce((sum, n) => sum + n, 0);

		return make("tr", {},
			make("td", {}, make("details", { on: { toggle: open(functions) } },
				make("summary", {}, file))),
			make("td", {}, `${reached} of ${counts.length}`),
			make("td", {}, share(reached, counts.length)),
			make("td", {}, places.toLocaleString("en-US")));
	};

	document.getElementById("sec-code").hidden = false;
	document.getElementById("code").append(
		...[...files].sort((a, b) => a[0] < b[0] ? -1 : 1).map(row));
}
