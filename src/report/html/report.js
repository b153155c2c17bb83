/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.js: shows the findings of one or several runs. The data stand in the page as JSON; every
 * text in them comes from outside and is only ever set as text, never as HTML. */
(function () {
"use strict";

const PAGE = 100; /* rows that are made at a time */
const data = JSON.parse(document.getElementById("data").textContent);
const all = data.findings;
const byId = (id) => document.getElementById(id);

function make(tag, attrs, ...children) {
	const node = document.createElement(tag);

	for (const [name, value] of Object.entries(attrs || {})) {
		if (name === "on")
			for (const [event, fn] of Object.entries(value))
				node.addEventListener(event, fn);
		else if (value !== undefined && value !== null && value !== false)
			node.setAttribute(name, value === true ? "" : value);
	}
	for (const child of children)
		if (child !== null && child !== undefined)
			node.append(child);
	return node;
}

const number = (n) => Number(n).toLocaleString("en-US");
const known = (n) => n === undefined ? "" : number(n);
const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;

function tally(list, of) {
	const counts = new Map();

	for (const f of list)
		counts.set(of(f), (counts.get(of(f)) || 0) + 1);
	return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/* ---- Summary ---- */

function card(value, label) {
	return make("div", { class: "card" }, make("b", {}, value), label);
}

function seconds(us) {
	const s = us / 1e6;

	return s < 100 ? `${s.toFixed(1)} s` : s < 6000 ? `${(s / 60).toFixed(1)} min` :
		`${(s / 3600).toFixed(1)} h`;
}

function summary() {
	const groups = tally(all, (f) => f.group || f.signature);
	const sum = (key) => data.runs.reduce((n, r) => n + (r[key] || 0), 0);
	const cards = byId("cards");

	cards.append(card(number(all.length), all.length === 1 ? "finding" : "findings"),
		card(number(groups.length), groups.length === 1 ? "likely cause" : "likely causes"),
		card(number(data.runs.length), data.runs.length === 1 ? "run" : "runs"));
	if (sum("workloads"))
		cards.append(card(number(sum("workloads")), "workloads"));
	if (sum("ops"))
		cards.append(card(number(sum("ops")), "operations"));
	if (sum("used_us"))
		cards.append(card(seconds(sum("used_us")), "of searching"));
}

function runs() {
	const body = byId("runs");

	for (const [i, r] of data.runs.entries()) {
		const rate = r.used_us ? number(Math.round(r.ops / (r.used_us / 1e6))) : "";

		body.append(make("tr", {},
			make("td", { class: "mono" }, r.folder),
			make("td", {}, r.target || ""),
			make("td", {}, r.scenario || ""),
			make("td", { class: "n" }, r.seed === undefined ? "" : String(r.seed)),
			make("td", { class: "n" }, known(r.workloads)),
			make("td", { class: "n" }, known(r.ops)),
			make("td", { class: "n" }, rate),
			make("td", { class: "n" }, number(all.filter((f) => f.run === i).length))));
	}
}

/* ---- Charts ---- */

function bars(id, pairs, label) {
	const canvas = byId(id);
	const style = getComputedStyle(document.documentElement);
	const ink = style.getPropertyValue("--soft").trim();
	const line = style.getPropertyValue("--line").trim();

	if (typeof Chart === "undefined" || !pairs.length) {
		canvas.parentNode.remove();
		return;
	}
	Chart.defaults.color = ink;
	new Chart(canvas, {
		type: "bar",
		data: {
			labels: pairs.map((p) => p[0].length > 34 ? p[0].slice(0, 16) + "…" +
				p[0].slice(-16) : p[0]),
			datasets: [{ label, data: pairs.map((p) => p[1]),
				     backgroundColor: "#3b82c4" }],
		},
		options: {
			indexAxis: "y", responsive: true, maintainAspectRatio: false,
			animation: false,
			plugins: { legend: { display: false },
				   title: { display: true, text: label } },
			scales: { x: { ticks: { precision: 0 }, grid: { color: line } },
				  y: { grid: { display: false } } },
		},
	});
}

/* When each kind was met first, over the time of its hunt. */
function overTime(id) {
	const sets = data.runs.filter((r) => (r.firsts || []).length).map((r, i) => {
		const at = r.firsts.slice().sort((a, b) => a - b);

		return { label: r.folder, stepped: true, pointRadius: 0, borderWidth: 2,
			 borderColor: ["#3b82c4", "#d97706", "#2f9e5b", "#9b51e0"][i % 4],
			 data: [{ x: 0, y: 0 }, ...at.map((us, n) => ({ x: us / 1e6, y: n + 1 })),
				{ x: r.used_us / 1e6, y: at.length }] };
	});

	if (typeof Chart === "undefined" || !sets.length) {
		byId(id).parentNode.remove();
		return;
	}
	new Chart(byId(id), {
		type: "line",
		data: { datasets: sets },
		options: {
			responsive: true, maintainAspectRatio: false, animation: false,
			plugins: { legend: { display: sets.length > 1 },
				   title: { display: true, text: "Distinct findings over time" } },
			scales: { x: { type: "linear", title: { display: true, text: "seconds" } },
				  y: { beginAtZero: true, ticks: { precision: 0 } } },
		},
	});
}

/* ---- One finding ---- */

function copyable(text) {
	const button = make("button", { class: "copy", type: "button" }, "copy");

	button.addEventListener("click", () => {
		const area = make("textarea", {}, text);

		document.body.append(area);
		area.select();
		button.textContent = document.execCommand("copy") ? "copied" : "not allowed";
		area.remove();
	});
	return make("div", {}, button, make("pre", {}, text));
}

function workload(text, guilty) {
	const pre = make("pre", { class: "ops" });

	for (const [i, line] of text.replace(/\n$/, "").split("\n").entries())
		pre.append(make("span", { class: i + 1 === guilty ? "guilty" : undefined },
			`${String(i + 1).padStart(3)}  ${line}`));
	return pre;
}

function folded(title, node, open) {
	return make("details", { open }, make("summary", {}, title), node);
}

function story(f) {
	const box = make("div", { class: "open" });
	const where = f.options && / sandbox=host( |$)/.test(f.options) ? "--sandbox host " : "";
	const columns = make("div", { class: "two" });
	const soft = (...what) => box.append(make("p", { class: "soft" }, ...what));
	const code = (text) => make("code", {}, text);

	soft(`${f.id} · ${data.runs[f.run].folder} · run with `, code(f.options || "no options"));
	soft("signature: ", code(f.signature));
	if (f.reduced)
		columns.append(make("div", {},
			make("h3", {}, "The smallest workload that shows it"),
			workload(f.reduced, f.workload ? 0 : f.line)));
	if (f.workload)
		columns.append(make("div", {}, make("h3", {}, f.reduced ?
			"The workload in which it was found" : "The workload"),
			workload(f.workload, f.line)));
	if (f.detail)
		columns.append(make("div", {}, make("h3", {}, "What was seen"),
			make("pre", {}, f.detail)));
	if (!f.workload && !f.reduced && !f.page)
		columns.append(make("p", { class: "soft" },
			"There are many findings: its workload stays in its folder."));
	box.append(columns);
	if (f.log)
		box.append(make("h3", {}, "What the target or the kernel logged"),
			make("pre", {}, f.log));
	box.append(make("h3", {}, "To reproduce it"), copyable(
		`assay replay ${where}${data.runs[f.run].folder}/findings/${f.id}`));
	if (f.repro)
		box.append(folded("repro.c: the same as a C program", copyable(f.repro)));
	if (f.script)
		box.append(folded("repro.sh: the same by plain commands", copyable(f.script),
			true));
	if (f.page)
		box.append(folded("README.md of its folder", make("pre", {}, f.page)));
	return box;
}

/* ---- The list ---- */

let shown = [], made = 0;

function toggle(item, f) {
	const row = item.firstChild;
	const old = item.querySelector(".open");

	if (old)
		old.remove();
	else
		item.append(story(f));
	row.setAttribute("aria-expanded", old ? "false" : "true");
	if (!old)
		history.replaceState(null, "", "#" + encodeURIComponent(f.id));
}

function add(f) {
	const item = make("li", { id: "f-" + f.id });
	const row = make("button", { class: "row", type: "button", "aria-expanded": "false",
				     on: { click: () => toggle(item, f) } },
		make("span", {}, make("span", { class: "kind" }, f.kind)),
		make("span", { class: "where", title: f.target }, f.target),
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

function filter() {
	const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
	const kind = byId("kind").value, target = byId("target").value, once = byId("once").checked;
	const causes = new Set();

	shown = all.filter((f) => (!kind || f.kind === kind) && (!target || f.target === target) &&
		words.every((w) => f.text.includes(w)) &&
		(!once || (!causes.has(f.group || f.signature) &&
			causes.add(f.group || f.signature))));
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

function step(by) {
	const rows = [...document.querySelectorAll(".row")];
	const at = rows.indexOf(document.activeElement.closest(".row"));
	const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];

	if (next)
		next.focus();
}

function keys(event) {
	const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);

	if (event.key === "Escape" && typing)
		document.activeElement.blur();
	if (typing || event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.key === "/") {
		byId("search").focus();
		event.preventDefault();
	} else if (event.key === "j" || event.key === "ArrowDown") {
		step(1);
		event.preventDefault();
	} else if (event.key === "k" || event.key === "ArrowUp") {
		step(-1);
		event.preventDefault();
	}
}

function fromAddress() {
	const id = decodeURIComponent(location.hash.slice(1));
	const at = shown.findIndex((f) => f.id === id);

	if (at < 0)
		return;
	while (made <= at)
		more();
	toggle(byId("f-" + id), shown[at]);
	byId("f-" + id).scrollIntoView();
}

for (const f of all)
	f.text = [f.id, f.kind, f.target, f.summary, f.signature, f.group].join(" ").toLowerCase();
summary();
runs();
bars("chart-kinds", tally(all, (f) => f.kind), "Findings by kind");
bars("chart-groups", tally(all, (f) => f.group || f.signature).slice(0, 12),
	"Findings by likely cause");
overTime("chart-time");
choose("kind", tally(all, (f) => f.kind));
choose("target", tally(all, (f) => f.target));
byId("search").addEventListener("input", filter);
byId("once").addEventListener("change", filter);
byId("more").addEventListener("click", more);
document.addEventListener("keydown", keys);
filter();
fromAddress();
})();
