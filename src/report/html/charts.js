/* SPDX-License-Identifier: GPL-2.0-or-later */
/* charts.js: the charts of the report, by Chart.js, which may be missing. Makes assayCharts. */
const assayCharts = (function () {
"use strict";

const INKS = ["#3b82c4", "#d97706", "#2f9e5b", "#9b51e0", "#c2410c", "#0e8a8a", "#b83280", "#6b7280"];
const made = [];

const has = () => typeof Chart !== "undefined";

function colours() {
	const style = getComputedStyle(document.documentElement);

	return { ink: style.getPropertyValue("--soft").trim(),
		 line: style.getPropertyValue("--line").trim() };
}

function frame(title) {
	const canvas = document.createElement("canvas");
	const box = document.createElement("div");

	canvas.setAttribute("role", "img");
	canvas.setAttribute("aria-label", title);
	box.className = "chart";
	box.append(canvas);
	document.getElementById("charts").append(box);
	return canvas;
}

function options(title, x, y, legend) {
	const { ink, line } = colours();
	const axis = (text) => ({ beginAtZero: true, grid: { color: line },
				  ticks: { color: ink, maxTicksLimit: 7 },
				  title: { display: !!text, text: text || "", color: ink } });

	return { responsive: true, maintainAspectRatio: false, animation: false, normalized: true,
		 interaction: { mode: "nearest", axis: "x", intersect: false },
		 plugins: { legend: { display: legend, position: "bottom",
				      labels: { color: ink, boxWidth: 10, font: { size: 11 } } },
			    title: { display: true, text: title, color: ink,
				     font: { size: 14 } } },
		 scales: { x: { ...axis(x), type: "linear" }, y: axis(y) } };
}

/* sets: [{ label, points: [{ x, y }], stepped, axis }] */
function lines(title, sets, x, y, right) {
	const full = sets.filter((s) => s.points.length > 1);
	const opts = options(title, x, y, full.length > 1 || !!right);

	if (!has() || !full.length)
		return;
	if (right) {
		const { ink } = colours();

		opts.scales.y2 = { position: "right", beginAtZero: true,
				   grid: { drawOnChartArea: false },
				   ticks: { color: ink, maxTicksLimit: 7 },
				   title: { display: true, text: right, color: ink } };
	}
	made.push(new Chart(frame(title), {
		type: "line",
		data: { datasets: full.map((s, i) => ({
			label: s.label, data: s.points, stepped: s.stepped || false, pointRadius: 0,
			borderWidth: 2, borderColor: INKS[i % INKS.length],
			borderDash: s.axis === "y2" ? [5, 3] : [],
			backgroundColor: INKS[i % INKS.length], yAxisID: s.axis || "y" })) },
		options: opts,
	}));
}

function cut(text, most) {
	return text.length > most ? text.slice(0, most / 2 - 1) + "…" + text.slice(-most / 2 + 1) :
		text;
}

function bars(title, pairs) {
	if (!has() || !pairs.length)
		return;
	const opts = options(title, "", "", false);

	opts.indexAxis = "y";
	opts.scales.x.ticks.precision = 0;
	opts.scales.y = { grid: { display: false }, ticks: { color: colours().ink, autoSkip: false, font: { size: 11 } } };
	delete opts.interaction;
	made.push(new Chart(frame(title), {
		type: "bar",
		data: { labels: pairs.map((p) => cut(p[0], 26)),
			datasets: [{ data: pairs.map((p) => p[1]), backgroundColor: INKS[0] }] },
		options: opts,
	}));
}

/* Every so many microseconds a point: how fast a counter grows. */
function rate(history, name) {
	const at = history.wall_us, n = history[name];
	const step = Math.max(1, Math.floor(at.length / 120));
	const points = [];

	for (let i = step; i < at.length; i += step)
		if (at[i] > at[i - step])
			points.push({ x: at[i] / 1e6,
				      y: (n[i] - n[i - step]) * 1e6 / (at[i] - at[i - step]) });
	return points;
}

const points = (history, name, unit) =>
	history.wall_us.map((us, i) => ({ x: us / 1e6, y: history[name][i] / (unit || 1) }));

function ofRuns(runs, title, y, make) {
	const sets = [];

	for (const r of runs)
		if (r.history)
			for (const s of make(r.history))
				sets.push({ ...s, label: runs.length > 1 ?
					`${s.label}, ${r.name}` : s.label });
	lines(title, sets, "seconds", y);
}

const pick = (names) => (h) => names.filter((n) => h[n] && h[n].some((v) => v > 0));
const words = (name) => name.replace(/_/g, " ");

/* FiSC's Figure 3: states, their rate, and memory over time. */
function overTime(runs) {
	const grows = pick(["states", "transitions", "crash_states", "workloads", "disks", "runs",
			    "paths"]);

	ofRuns(runs, "States and work over time", "number", (h) => grows(h).map((n) =>
		({ label: words(n), points: points(h, n) })));
	ofRuns(runs, "Rate over time", "a second", (h) =>
		pick(["ops", "transitions", "crash_states", "disks", "paths"])(h).map((n) =>
			({ label: words(n), points: rate(h, n) })));
	ofRuns(runs, "Memory over time", "MiB", (h) =>
		pick(["memory_bytes", "store_bytes"])(h).map((n) =>
			({ label: n === "memory_bytes" ? "memory" : "store of states",
			   points: points(h, n, 1 << 20) })));
	ofRuns(runs, "States to go, and depth", "number", (h) =>
		pick(["frontier", "depth"])(h).map((n) =>
			({ label: n === "frontier" ? "to go" : n, points: points(h, n) })));
	/* Of a hunt with --kcov: places in the kernel's code. */
	ofRuns(runs, "Code reached over time", "places", (h) => pick(["covered_blocks"])(h).map(
		(n) => ({ label: "reached", points: points(h, n) })));
	ofRuns(runs, "Recoveries, and those from the memo", "number", (h) =>
		pick(["recoveries", "memoised"])(h).map((n) =>
			({ label: n === "memoised" ? "from the memo" : n, points: points(h, n) })));
}

/* SWIFT's Figures 8 and 9: coverage and paths of a checker over time. */
function checkers(runs) {
	for (const r of runs)
		for (const c of r.curves || []) {
			const of = (i) => c.rows.map((row) => ({ x: row[0], y: row[i] }));
			const share = c.columns.indexOf("percent");
			const sets = c.columns.map((name, i) => ({ label: name, points: of(i),
				axis: i === share ? "y2" : "y" })).slice(1);

			lines(`${c.name.replace(/\.csv$/, "")}${runs.length > 1 ? ", " + r.name :
				""}`, sets, "seconds", "number", share > 0 ? "percent" : "");
		}
}

function firsts(runs) {
	lines("Distinct findings over time", runs.filter((r) => (r.firsts || []).length).map((r) => {
		const at = r.firsts.slice().sort((a, b) => a - b);

		return { label: r.name, stepped: true,
			 points: [{ x: 0, y: 0 }, ...at.map((us, n) => ({ x: us / 1e6, y: n + 1 })),
				  { x: (r.used_us || at[at.length - 1]) / 1e6, y: at.length }] };
	}), "seconds", "kinds");
}

function drop() {
	while (made.length)
		made.pop().destroy();
	document.getElementById("charts").replaceChildren();
}

return { has, bars, overTime, checkers, firsts, drop, count: () => made.length };
})();
