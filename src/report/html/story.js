/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * story.js: the parts of an opened finding. Makes assayStory.
 *
 * The story of a power cut is a text whose lines are those of src/crash/story.c. It is read here and
 * drawn: time goes from left to right, and every structure of the disk has a row. A line that is not
 * understood is left out of the drawing; the text stands below it in any case. Everything is set as
 * text, never as HTML.
 */
const assayStory = (function () {
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const STEPS_MAX = 400, LANES_MAX = 40;

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

function draw(tag, attrs, ...children) {
	const node = document.createElementNS(SVG, tag);

	for (const [name, value] of Object.entries(attrs || {}))
		node.setAttribute(name, value);
	for (const child of children)
		node.append(child);
	return node;
}

/* ---- The story of a power cut ---- */

/* "data of /a, bytes 0 to 1023, with FUA" is a write to "data of /a". */
function structure(what) {
	return what.replace(/ \(\d+ bytes at \d+ of it\)$/, "")
		.replace(/, (with FUA|early, from the cache|in flight for a while)/g, "")
		.replace(/ \(which was .*\)$/, "")
		.replace(/^(journal: [^,]*?)( of transaction \d+)?(,.*)?$/, "$1")
		.replace(/^(journal: copy of)\b.*$/, "$1 blocks")
		.replace(/, bytes \d+ to \d+.*$/, "")
		.replace(/ \(\/.*\)$/, "")
		.replace(/,.*$/, "");
}

function parse(detail) {
	const events = [], ops = [], trees = [];
	let op = null, recovering = 0, inTrees = false, steps = 0;

	const add = (event) => {
		events.push({ ...event, recovering });
		steps++;
	};
	const begin = (label) => {
		ops.push({ label, from: steps });
		op = label;
	};

	for (const line of (detail || "").split("\n")) {
		let m;

		if (inTrees && (m = /^ {6}([=<>]) (.*)$/.exec(line))) {
			trees.push({ mark: m[1], text: m[2] });
			continue;
		}
		inTrees = /^ {2}the tree when the power failed/.test(line);
		if ((m = /^ {2}op (\d+) `(.*)`:/.exec(line)))
			begin(`${m[1]} ${m[2]}`);
		else if (/^ {2}the first mount:/.test(line))
			begin("mount");
		else if (/^ {2}power cut/.test(line)) {
			add({ kind: "cut", text: line.trim() });
			op = null;
		} else if (/^ {2}recovery/.test(line)) {
			recovering++;
			begin(line.trim().replace(/:$/, ""));
		} else if ((m = /^ {6}(flush.*)$/.exec(line)) && op)
			add({ kind: "flush", text: m[1] });
		else if ((m = /^ {6}wrote (.*)$/.exec(line)) && op && m[1] !== "nothing")
			add({ kind: "write", text: m[1], lane: structure(m[1]) });
		else if ((m = /^ {6}(there|lost): +(.*)$/.exec(line)))
			events.push({ kind: m[1], text: m[2], lane: structure(m[2]) });
	}
	return { events: settle(events), ops, trees };
}

/* "there" and "lost" are not steps: they say what became of writes that were not flushed yet. */
function settle(all) {
	const steps = [];
	let flushed = 0;

	for (const e of all) {
		if (e.kind === "there" || e.kind === "lost") {
			const plain = e.text.replace(/ \(\d+ bytes at \d+ of it\)$/, "");
			const same = steps.filter((s) => s.kind === "write" && !s.fate &&
				s.at >= flushed && s.text.startsWith(plain));
			const near = same.length ? same : steps.filter((s) => s.kind === "write" &&
				!s.fate && s.at >= flushed && s.lane === e.lane);

			if (near.length)
				near[near.length - 1].fate = e.kind;
			continue;
		}
		e.at = steps.length;
		if (e.kind === "cut")
			flushed = lastFlush(steps);
		steps.push(e);
	}
	return steps;
}

function lastFlush(steps) {
	for (let i = steps.length - 1; i >= 0; i--)
		if (steps[i].kind === "flush" || steps[i].kind === "cut")
			return i;
	return 0;
}

/* ---- The drawing ---- */

const LANE = 22, LEFT = 215, TOP = 100, WIDE = 1080;

function tip(node, text) {
	node.append(draw("title", {}, document.createTextNode(text)));
	return node;
}

function label(text, most) {
	return text.length > most ? text.slice(0, most / 2 - 1) + "…" + text.slice(-most / 2 + 1) :
		text;
}

function mark(e, x, y) {
	const text = `${e.text}${e.fate ? ` (${e.fate === "lost" ? "lost" : "on the disk"})` : ""}`;

	if (e.fate === "lost")
		return tip(draw("g", { class: "lost", tabindex: 0, role: "img", "aria-label": text },
			draw("circle", { cx: x, cy: y, r: 6 }),
			draw("path", { d: `M${x - 4} ${y - 4}l8 8m0-8l-8 8` })), text);
	return tip(draw("circle", { class: e.recovering ? "recovered" : e.fate ? "there" : "written",
				    cx: x, cy: y, r: 5 }), text);
}

/* As much of its name as has room before the next one's: its number, if there is hardly any. */
function heading(op, wide) {
	return wide < 22 ? (/^\d+/.exec(op.label) || [""])[0] : label(op.label, 20);
}

function columns(svg, steps, ops, height, STEP) {
	for (const [i, op] of ops.entries()) {
		const from = op.from, to = i + 1 < ops.length ? ops[i + 1].from : steps.length;
		const x = LEFT + from * STEP, wide = (to - from) * STEP;

		if (to <= from)
			continue;
		svg.append(tip(draw("rect", { class: i % 2 ? "band odd" : "band", x: x - STEP / 2,
			y: TOP - 10, width: wide, height: height - TOP }), op.label));
		svg.append(tip(draw("text", { class: "op", x: 0, y: 0,
			transform: `translate(${x - 3} ${TOP - 16}) rotate(-32)` },
			document.createTextNode(heading(op, wide))), op.label));
	}
	for (const e of steps) {
		const x = LEFT + e.at * STEP;

		if (e.kind === "flush" || e.kind === "cut")
			svg.append(tip(draw("line", { class: e.kind, x1: x, x2: x, y1: TOP - 10,
				y2: height - 8 }), e.text));
	}
}

function timeline(story) {
	const steps = story.events.slice(-STEPS_MAX);
	const first = steps.length ? steps[0].at : 0;
	const lanes = [...new Set(steps.filter((e) => e.lane).map((e) => e.lane))].slice(0, LANES_MAX);
	const height = TOP + lanes.length * LANE + 10;
	const STEP = Math.max(14, Math.min(40, (WIDE - LEFT) / Math.max(1, steps.length)));
	const width = LEFT + steps.length * STEP + 60;

	if (!lanes.length || !steps.some((e) => e.kind === "cut"))
		return null;
	for (const e of steps)
		e.at -= first;
	const ops = story.ops.map((o) => ({ ...o, from: Math.max(0, o.from - first) }))
		.filter((o) => o.from < steps.length);
	const svg = draw("svg", { class: "timeline", width, height, role: "img",
		viewBox: `0 0 ${width} ${height}`,
		"aria-label": "Writes to each structure, flushes and the power cut, in time" });

	columns(svg, steps, ops, height, STEP);
	lanes.forEach((lane, i) => {
		const y = TOP + i * LANE + 6;

		svg.append(draw("line", { class: "lane", x1: LEFT - 8, x2: width - 50, y1: y, y2: y }),
			tip(draw("text", { class: "name", x: LEFT - 14, y: y + 4,
				"text-anchor": "end" }, document.createTextNode(label(lane, 32))),
			lane));
	});
	for (const e of steps)
		if (e.lane && lanes.includes(e.lane))
			svg.append(mark(e, LEFT + e.at * STEP, TOP + lanes.indexOf(e.lane) * LANE + 6));
	return make("div", {}, make("div", { class: "drawn scroll", tabindex: 0 }, svg), legend(steps));
}

function legend(steps) {
	const box = make("p", { class: "legend soft" });
	const item = (cls, text) => box.append(make("span", { class: `dot ${cls}` }), text + " ");

	item("written", "written");
	if (steps.some((e) => e.fate === "there"))
		item("there", "not flushed, but on the disk");
	if (steps.some((e) => e.fate === "lost"))
		item("lost", "lost in the power cut");
	if (steps.some((e) => e.recovering && e.kind === "write"))
		item("recovered", "written by recovery");
	box.append(make("span", { class: "rule flush" }), "flush ",
		make("span", { class: "rule cut" }), "power cut");
	return box;
}

/* ---- Trees side by side ---- */

const pathOf = (text) => text.replace(/ [0-7]{6}( .*)?$/, "");

function pairs(lines) {
	const rows = [];

	for (let i = 0; i < lines.length; i++) {
		const a = lines[i], b = lines[i + 1];

		if (a.mark === "=")
			rows.push({ left: a.text, right: a.text, same: true });
		else if (a.mark === "<" && b && b.mark === ">" && pathOf(a.text) === pathOf(b.text)) {
			rows.push({ left: a.text, right: b.text });
			i++;
		} else
			rows.push(a.mark === "<" ? { left: a.text } : { right: a.text });
	}
	return rows;
}

function trees(lines) {
	const body = make("tbody");

	if (!lines.length)
		return null;
	for (const r of pairs(lines))
		body.append(make("tr", { class: r.same ? "same" : "differs" },
			make("td", { class: r.left === undefined ? "none" : r.same ? "" : "was" },
				r.left === undefined ? "" : r.left),
			make("td", { class: r.right === undefined ? "none" : r.same ? "" : "is" },
				r.right === undefined ? "missing" : r.right)));
	return make("div", { class: "scroll" }, make("table", { class: "diff" },
		make("thead", {}, make("tr", {}, make("th", {}, "when the power failed"),
			make("th", {}, "recovered"))), body));
}

/* ---- Checkers ---- */

/* The sections of the README of a checker's finding: "What the first run printed:" and so on. */
function printed(page) {
	const sections = [];
	let open = null;

	for (const line of (page || "").split("\n")) {
		if (/^What .* printed:$/.test(line)) {
			open = { title: line.replace(/:$/, ""), lines: [] };
			sections.push(open);
		} else if (open && /^( {4}|$)/.test(line)) {
			open.lines.push(line.slice(4));
		} else {
			open = null;
		}
	}
	return sections.map((s) => ({ title: s.title, text: s.lines.join("\n").trim() }));
}

/* "superblock: s_creator_os: 0 becomes 1; ..." */
function fields(summary) {
	return summary.split("; ").map((part) => /^(.*): (.*?) becomes (.*)$/.exec(part))
		.filter(Boolean).map((m) => ({ field: m[1], was: m[2], is: m[3] }));
}

return { make, parse, timeline, trees, printed, fields };
})();
