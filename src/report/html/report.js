/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.js: shows the findings of one or several runs. The data stand in the page as JSON; every
 * text in them comes from outside and is only ever set as text, never as HTML. */
(function () {
"use strict";

const PAGE = 100; /* rows that are made at a time */
const OPEN_MAX = 50; /* that "open all shown" opens */
const data = JSON.parse(document.getElementById("data").textContent);
const all = data.findings;
/* A joined folder is shown as the runs that it was made of, and as one more if something was run in
 * it since, which has what none of them met. `at` is the number of the folder. */
const runList = data.runs.flatMap((r, i) => {
	const of = r.joined || [];

	return [...of.map((j) => ({ ...j, at: i })),
		...(!of.length || r.progress || r.used_us ? [{ ...r, at: i }] : [])];
});
const met = (r, f) => Object.hasOwn(r.met, f.id);
const has = (r, f) => f.run === r.at && (r.met ? met(r, f) :
	!(r.joined || []).some((j) => met(j, f)));
const byId = (id) => document.getElementById(id);
const make = assayStory.make;

const number = (n) => Number(n).toLocaleString("en-US");
const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;
const cause = (f) => f.group || f.signature || "";

function tally(list, of) {
	const counts = new Map();

	for (const f of list)
		counts.set(of(f), (counts.get(of(f)) || 0) + 1);
	return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/* What tells the folders of several runs apart. */
function shortNames() {
	const parts = runList.map((r) => r.folder.split("/"));
	let same = 0;

	while (parts.length && parts.every((p) => p.length > same + 1 && p[same] === parts[0][same]))
		same++;
	runList.forEach((r, i) => {
		r.name = parts[i].slice(same).join("/") || r.folder;
	});
}

/* ---- Summary ---- */

function card(value, label, cls) {
	return make("div", { class: `card ${cls || ""}` }, make("b", {}, value), label);
}

function seconds(us) {
	const s = us / 1e6;

	return s < 100 ? `${s.toFixed(1)} s` : s < 6000 ? `${(s / 60).toFixed(1)} min` :
		`${(s / 3600).toFixed(1)} h`;
}

/* A counter of a run: a hunt has some of them in its state. */
const counter = (r, key) => r.progress && r.progress[key] !== undefined ? r.progress[key] : r[key];
const wall = (r) => counter(r, "wall_us") || r.used_us;

/* Name, words for many, words for one. */
const COUNTERS = [["workloads", "workloads", "workload"], ["ops", "operations", "operation"],
	["states", "states", "state"], ["transitions", "transitions", "transition"],
	["crash_states", "crash states", "crash state"], ["recoveries", "recoveries", "recovery"],
	["disks", "disks", "disk"], ["runs", "runs of checkers", "run of a checker"]];

function summary() {
	const groups = tally(all, cause);
	const sum = (of) => runList.reduce((n, r) => n + (of(r) || 0), 0);
	const cards = byId("cards");

	cards.append(card(number(all.length), all.length === 1 ? "finding" : "findings",
		all.length ? "bad" : ""),
		card(number(groups.length), groups.length === 1 ? "likely cause" : "likely causes"));
	if (runList.length > 1)
		cards.append(card(number(runList.length), "runs"));
	for (const [key, many, one] of COUNTERS) {
		const n = sum((r) => counter(r, key));

		if (n)
			cards.append(card(number(n), n === 1 ? one : many));
	}
	if (sum(wall))
		cards.append(card(seconds(sum(wall)), "of searching"));
	if (!all.length)
		byId("about").textContent = "Nothing was found.";
}

function state(r) {
	const p = r.progress;

	if (!p)
		return "";
	return p.state + (p.signal ? ` (signal ${p.signal})` : "") + (p.why ? `: ${p.why}` : "");
}

function runs() {
	const columns = [
		["folder", (r) => r.name, "mono"],
		["command", (r) => counter(r, "command") || "", ""],
		["target", (r) => counter(r, "target") || "", ""],
		["scenario", (r) => r.scenario, ""],
		["seed", (r) => r.seed, "n"],
		["state", state, ""],
		["findings", (r) => number(all.filter((f) => has(r, f)).length), "n"],
		["time", (r) => wall(r) ? seconds(wall(r)) : "", "n"],
		...COUNTERS.map(([key, label]) => [label, (r) => counter(r, key) === undefined ||
			!runList.some((x) => counter(x, key)) ? "" : number(counter(r, key)),
			"n"]),
	];
	const rows = runList.map((r, i) => columns.map(([, of]) => {
		const v = of(r, i);

		return v === undefined || v === null ? "" : String(v);
	}));

	columns.forEach(([name, , cls], c) => {
		if (!rows.some((row) => row[c] !== ""))
			return;
		byId("run-head").append(make("th", { class: cls === "n" ? cls : undefined }, name));
		rows.forEach((row, i) => {
			const tr = byId("runs").children[i] || byId("runs").appendChild(make("tr"));

			tr.append(make("td", { class: cls, title: c ? undefined :
				runList[i].folder }, row[c]));
		});
	});
}

/* The numbers of a folder are those of its last run, the findings those of all. */
function others() {
	const own = (r, f) => (counter(r, "target") || f.target).split(",")
		.some((part) => f.target.startsWith(part));

	runList.forEach((r) => {
		if (!["run", "hunt", "crash", "check"].includes(counter(r, "command")))
			return;
		const list = tally(all.filter((f) => has(r, f) && !own(r, f)), (f) => f.target);
		const n = list.reduce((sum, [, count]) => sum + count, 0);
		const names = list.slice(0, 5).map(([target, count]) => `${target} (${number(count)})`);

		if (n)
			byId("others").append(make("p", {}, `${r.name}: ${plural(n, "finding")} of other ` +
				`targets than the last one that was tested there: ${names.join(", ")}` +
				(list.length > 5 ? " …" : "")));
	});
}

/* ---- Several runs ---- */

function compare() {
	if (runList.length < 2)
		return;
	byId("sec-compare").hidden = false;
	byId("compare-head").append(make("th", {}, "likely cause"),
		...runList.map((r) => make("th", { class: "n" }, r.name)));
	const rows = new Map();

	for (const f of all) {
		const row = rows.get(cause(f)) || runList.map(() => 0);

		runList.forEach((r, i) => {
			if (has(r, f))
				row[i] += r.met ? r.met[f.id] : f.count || 1;
		});
		rows.set(cause(f), row);
	}
	for (const [name, row] of [...rows].slice(0, 200))
		byId("compare").append(make("tr", {}, make("td", {}, name),
			...row.map((n) => make("td", { class: n ? "n" : "n soft" }, n ? number(n) :
				"–"))));
}

/* ---- The score: a table in Markdown ---- */

function score() {
	const node = byId("score-data");

	if (!node)
		return;
	const { name, text } = JSON.parse(node.textContent);
	const cells = (line) => line.replace(/^\||\|\s*$/g, "").split("|").map((c) => c.trim());
	const lines = text.split("\n").filter((l) => /^\|/.test(l) && !/^\|[-:| ]+$/.test(l)).map(cells);
	const body = make("tbody");

	byId("sec-score").hidden = false;
	byId("score-about").textContent = name;
	if (lines.length < 2) {
		byId("score").append(make("pre", {}, text));
		return;
	}
	for (const row of lines.slice(1))
		body.append(make("tr", {}, ...row.map((c) => make("td",
			{ class: c === "-" || c.startsWith(">") ? "missed" : "" }, c))));
	byId("score").append(make("table", {}, make("thead", {}, make("tr", {},
		...lines[0].map((c) => make("th", {}, c)))), body));
}

/* ---- One finding ---- */

function copyable(text) {
	const button = make("button", { class: "copy", type: "button" }, "copy");

	button.addEventListener("click", () => {
		const area = make("textarea", {});

		area.value = text;
		document.body.append(area);
		area.select();
		button.textContent = document.execCommand("copy") ? "copied" : "not allowed";
		area.remove();
		button.focus();
	});
	return make("div", { class: "copyable" }, button, make("pre", {}, text));
}

/* after: what was done after the last operation, and is no line of the text. */
function workload(text, guilty, after) {
	const pre = make("pre", { class: "ops tall", tabindex: "0" });

	let op = 0; /* numbers are those of operations, as everywhere: some lines are none */

	for (const [i, line] of text.replace(/\n$/, "").split("\n").entries()) {
		const mark = /^\s*([@#]|$)/.test(line) ? "" : String(++op);

		pre.append(make("span", { class: i + 1 === guilty ? "guilty" : undefined },
			`${mark.padStart(3)}  ${line}`));
	}
	if (after && after.number > op)
		pre.append(make("span", { class: "guilty" },
			`${String(after.number).padStart(3)}  ${after.text}   (at the end of every run)`));
	return pre;
}

/* Files are closed and the disk is unmounted at the end: these have numbers, too. */
function afterLast(f) {
	const said = /\bop (\d+) `([^`]*)`/.exec(f.summary || "");

	return said && !f.line ? { number: Number(said[1]), text: said[2] } : null;
}

/* A long workload scrolls in its box: what failed is in the middle of it. */
function showGuilty(pre) {
	const line = pre.querySelector(".guilty");

	if (line)
		pre.scrollTop += line.getBoundingClientRect().top -
			pre.getBoundingClientRect().top - pre.clientHeight / 2;
}

function folded(title, node, open) {
	return make("details", { open }, make("summary", {}, title), node);
}

function titled(title, node) {
	return node ? make("div", {}, make("h3", {}, title), node) : null;
}

/* The operation that failed, in a reduced workload: as it showed it, or the same line. */
function guiltyIn(f) {
	const line = f.workload && f.line ? f.workload.split("\n")[f.line - 1] : null;
	const lines = f.reduced.replace(/\n$/, "").split("\n");
	const at = line === null ? -1 : lines.lastIndexOf(line);

	if (f.shows) {
		const ops = lines.map((text, i) => /^\s*([@#]|$)/.test(text) ? 0 : i + 1).filter(Boolean);

		return ops[f.shows.op - 1] || 0;
	}

	return at >= 0 ? at + 1 : lines.length;
}

function workloads(f) {
	const columns = make("div", { class: "two" });

	if (f.reduced) {
		const line = guiltyIn(f);

		columns.append(titled("The smallest workload that shows it", workload(f.reduced, line,
			f.shows && afterLast({ summary: f.shows.summary, line }))));
	}
	if (f.workload)
		columns.append(titled(f.reduced ? "The workload in which it was found" :
			"The workload", workload(f.workload, f.line, afterLast(f))));
	return columns;
}

function damaged(f) {
	const rows = assayStory.fields(f.summary || "");
	const box = make("div", { class: "two" });

	if (rows.length)
		box.append(titled("What was corrupted", make("div", { class: "scroll" },
			make("table", { class: "fields" }, make("thead", {}, make("tr", {},
				make("th", {}, "field"), make("th", {}, "healthy"),
				make("th", {}, "damaged"))),
			make("tbody", {}, ...rows.map((r) => make("tr", {},
				make("td", {}, r.field), make("td", { class: "mono" }, r.was),
				make("td", { class: "mono was" }, r.is))))))));
	if (f.damage)
		box.append(titled("The same, byte by byte", make("pre", {}, f.damage)));
	return box.children.length ? box : null;
}

function printedRuns(f) {
	const box = make("div", { class: "two" });

	for (const s of assayStory.printed(f.page))
		box.append(titled(s.title, make("pre", { class: "tall" }, s.text || "(nothing)")));
	return box.children.length ? box : null;
}

function crash(f) {
	const detail = (f.shows && f.shows.detail) || f.detail;
	const told = assayStory.parse(detail);
	const drawn = assayStory.timeline(told);

	return [titled("What was written, and what was lost", drawn),
		titled("The tree: what was there, and what was recovered",
			assayStory.trees(told.trees)),
		drawn ? folded("The same in words", make("pre", {}, detail)) :
			titled("What was seen", make("pre", {}, detail))];
}

function story(f) {
	const box = make("div", { class: "open" });
	const where = f.options && /(^| )sandbox=host( |$)/.test(f.options) ? "--sandbox host " : "";
	const folder = data.runs[f.run].folder;
	const code = (text) => make("code", {}, text);
	const put = (...nodes) => box.append(...nodes.filter(Boolean));

	put(make("p", { class: "soft" }, `${f.id} · ${folder} · run with `,
		code(f.options || "no options"), f.kernel ? ` · ${f.kernel}` : ""),
		make("p", { class: "soft" }, "signature: ", code(f.signature || "")));
	if (f.kind === "fsck")
		put(damaged(f), printedRuns(f));
	if (f.workload || f.reduced)
		put(workloads(f));
	if (f.detail && f.kind !== "fsck")
		put(...crash(f));
	if (!f.workload && !f.reduced && !f.page)
		put(make("p", { class: "soft" },
			"There are many findings: the rest of this one is in its folder."));
	if (f.log)
		put(titled("What the target or the kernel logged",
			make("pre", { class: "tall" }, f.log)));
	put(titled("To reproduce it", copyable(`assay replay ${where}${folder}/findings/${f.id}`)));
	if (f.repro)
		put(folded("repro.c: the same as a C program", copyable(f.repro)));
	if (f.script)
		put(folded("repro.sh: the same by plain commands", copyable(f.script)));
	if (f.page)
		put(folded("README.md of its folder", make("pre", {}, f.page)));
	return box;
}

/* ---- The list ---- */

let shown = [], made = 0;

function toggle(item, f, want) {
	const row = item.firstChild;
	const old = item.querySelector(".open");

	if (old ? want === true : want === false)
		return;
	if (old) {
		old.remove();
	} else {
		item.append(story(f));
		item.querySelectorAll(".ops").forEach(showGuilty);
	}
	row.setAttribute("aria-expanded", old ? "false" : "true");
	if (!old && want === undefined)
		history.replaceState(null, "", "#" + encodeURIComponent(f.id));
}

/* Of a plugin, its file and options; what is too long is cut in the middle. */
function brief(target) {
	const name = target.replace(/^plugin:(?:[^:]*\/)?/, "");

	return name.length > 22 ? `${name.slice(0, 11)}…${name.slice(-10)}` : name;
}

function add(f) {
	const item = make("li", { id: "f-" + f.id });
	const row = make("button", { class: "row", type: "button", "aria-expanded": "false",
				     on: { click: () => toggle(item, f) } },
		make("span", {}, make("span", { class: `kind k-${f.kind}` }, f.kind)),
		make("span", { class: "where", title: f.target }, brief(f.target)),
		make("span", { class: "what" }, f.summary),
		make("span", { class: "n" }, f.count > 1 ? number(f.count) + " ×" : ""));

	item.append(row);
	byId("list").append(item);
}

function more() {
	for (const f of shown.slice(made, made + PAGE))
		add(f);
	made = Math.min(made + PAGE, shown.length);
	byId("more").hidden = made >= shown.length;
	byId("more").textContent = `show the next ${Math.min(PAGE, shown.length - made)} of ` +
		plural(shown.length - made, "further finding");
}

/* Made when somebody searches for the first time: not before the first paint. */
const text = (f) => f.text || (f.text = [f.id, f.kind, f.target, f.summary, f.signature, f.group]
	.join(" ").toLowerCase());

function filter() {
	const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
	const kind = byId("kind").value, target = byId("target").value, once = byId("once").checked;
	const run = byId("run").value;
	const causes = new Set();

	shown = all.filter((f) => (!kind || f.kind === kind) && (!target || f.target === target) &&
		(!run || has(runList[run], f)) && words.every((w) => text(f).includes(w)) &&
		(!once || (!causes.has(cause(f)) && causes.add(cause(f)))));
	made = 0;
	byId("list").replaceChildren();
	byId("count").textContent = shown.length === all.length ? plural(all.length, "finding") :
		`${number(shown.length)} of ${plural(all.length, "finding")}`;
	more();
}

function choose(id, pairs) {
	for (const [name, n] of pairs)
		byId(id).append(make("option", { value: name }, `${name} (${number(n)})`));
	byId(id).addEventListener("change", filter);
}

function chooseRun() {
	byId("run").hidden = runList.length < 2;
	runList.forEach((r, i) => byId("run").append(make("option", { value: i }, r.name)));
	byId("run").addEventListener("change", filter);
}

/* ---- Keys ---- */

function openAll() {
	const items = [...byId("list").children].slice(0, OPEN_MAX);
	const closed = items.some((li) => !li.querySelector(".open"));

	items.forEach((li, i) => toggle(li, shown[i], closed));
}

function step(by) {
	const rows = [...document.querySelectorAll(".row")];
	const here = document.activeElement.closest("li");
	const at = here ? rows.indexOf(here.querySelector(".row")) : -1;
	const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];

	if (next)
		next.focus();
}

function close() {
	const here = document.activeElement.closest("li") || document.querySelector("#list > li:has(.open)");

	if (here && here.querySelector(".open")) {
		toggle(here, shown[[...byId("list").children].indexOf(here)], false);
		here.querySelector(".row").focus();
	}
}

const KEYS = { "/": () => byId("search").focus(), j: () => step(1), k: () => step(-1),
	       o: openAll, Escape: close };

function keys(event) {
	const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);

	if (typing && event.key === "Escape")
		document.activeElement.blur();
	else if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key]) {
		KEYS[event.key]();
		event.preventDefault();
	}
}

function fromAddress() {
	let id = "";

	try {
		id = decodeURIComponent(location.hash.slice(1));
	} catch (e) {
		return;
	}
	const at = shown.findIndex((f) => f.id === id);

	if (at < 0)
		return;
	while (made <= at)
		more();
	toggle(byId("f-" + id), shown[at], true);
	byId("f-" + id).scrollIntoView();
}

/* ---- All of it ---- */

function charts() {
	assayCharts.drop();
	if (!assayCharts.has()) {
		byId("no-charts").hidden = false;
		return;
	}
	assayCharts.overTime(runList);
	assayCharts.firsts(runList);
	assayCharts.checkers(runList);
	if (all.length) {
		assayCharts.bars("Findings by kind", tally(all, (f) => f.kind));
		assayCharts.bars("Findings by likely cause", tally(all, cause).slice(0, 12));
	}
	byId("sec-charts").hidden = !assayCharts.count();
	document.documentElement.dataset.charts = assayCharts.count();
}

function nav() {
	for (const s of document.querySelectorAll("section"))
		if (!s.hidden)
			byId("nav").append(make("a", { href: "#" + s.id },
				s.querySelector("h2").textContent));
}

shortNames();
summary();
runs();
others();
choose("kind", tally(all, (f) => f.kind));
choose("target", tally(all, (f) => f.target));
chooseRun();
byId("search").addEventListener("input", filter);
byId("once").addEventListener("change", filter);
byId("more").addEventListener("click", more);
byId("all").addEventListener("click", openAll);
document.addEventListener("keydown", keys);
window.addEventListener("hashchange", fromAddress);
filter();
fromAddress();
byId("sec-findings").hidden = !all.length;
compare();
score();
assayHeat();
assayCode(runList);
/* The list is shown first; charts take longer. */
requestAnimationFrame(() => setTimeout(() => {
	charts();
	nav();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", charts);
	document.documentElement.dataset.ready = "yes";
}, 0));
})();
