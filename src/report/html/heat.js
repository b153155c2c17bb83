/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heat: the matrices of a campaign. The columns are the name with most values that still fit side by side;
 * all others stand with the rows. A name alone with very many values is wrapped. A field opens the page
 * of its cell, if it has one. All texts are data: they become text nodes. */
"use strict";
function assayHeat() {
	const WIDE = 24;
	const node = document.getElementById("campaign-data");
	const el = (tag, attrs, ...children) => {
		const e = document.createElement(tag);

		for (const [k, v] of Object.entries(attrs))
			e.setAttribute(k, v);
		e.append(...children);
		return e;
	};

	/* Warm with what was found, pale with time that was spent and found nothing. */
	const colour = (cell, most) => {
		if (cell.kinds)
			return `rgba(200, 60, 30, ${0.25 + 0.55 * cell.kinds / most})`;
		return cell.slices ? "rgba(70, 130, 180, 0.18)" : "transparent";
	};

	const field = (cell, most) => {
		const text = cell.state === "given up" && !cell.kinds ? "failed" :
			cell.slices ? String(cell.kinds) : "–";
		const td = el("td", {
			title: `${cell.words.join(" ")}\n${cell.state}, ${(cell.used_us / 1e6).toFixed(1)} s, ` +
				`${cell.ops} operations, ${cell.states} states`,
			class: cell.state === "complete" ? "over" : cell.state === "given up" ? "failed" : "",
		});

		td.style.background = colour(cell, most);
		if (cell.page && /^c-[0-9a-f]{16}$/.test(cell.cell))
			td.append(el("a", { href: `cells/${cell.cell}/report.html` }, text));
		else
			td.append(text);
		return td;
	};

	/* Where a cell stands: the names of its row and of its column. */
	const layout = (b) => {
		const count = b.axes.map((_, i) => new Set(b.cells.map((c) => c.values[i])).size);
		const fit = count.map((n) => n <= WIDE ? n : -n);
		const x = fit.indexOf(Math.max(...fit));
		const place = new Map();

		if (b.axes.length === 1 && count[0] > WIDE) {
			const at = (i) => i - i % WIDE, last = b.cells.length - 1;

			b.cells.forEach((c, i) => place.set(c, {
				row: `${b.cells[at(i)].values[0]} … ` +
					b.cells[Math.min(at(i) + WIDE - 1, last)].values[0],
				column: "+" + i % WIDE,
			}));
			return { corner: b.axes[0], place };
		}
		b.cells.forEach((c) => place.set(c, {
			row: c.values.filter((_, i) => i !== x).join(", ") || b.command,
			column: x < 0 ? "" : c.values[x],
		}));
		return { corner: [b.axes.filter((_, i) => i !== x).join(", "), b.axes[x]]
			.filter((name) => name).join(" \\ "), place };
	};

	const block = (b) => {
		const { corner, place } = layout(b);
		const columns = [...new Set(b.cells.map((c) => place.get(c).column))];
		const most = b.cells.reduce((n, c) => Math.max(n, c.kinds), 1);
		const rows = new Map();

		for (const c of b.cells) {
			const { row, column } = place.get(c);

			if (!rows.has(row))
				rows.set(row, new Map());
			rows.get(row).set(column, c);
		}
		const head = el("tr", {}, el("th", {}, corner), ...columns.map((c) => el("th", {}, c)));
		const body = [...rows].map(([name, cells]) => el("tr", {}, el("th", {}, name),
			...columns.map((c) => cells.has(c) ? field(cells.get(c), most) : el("td", {}))));

		return el("div", {}, el("p", {}, el("code", {}, b.line)), el("div", { class: "scroll heat-box" },
			el("table", { class: "heat" }, el("thead", {}, head), el("tbody", {}, ...body))));
	};

	if (!node)
		return;
	const campaign = JSON.parse(node.textContent);

	document.getElementById("sec-campaign").hidden = false;
	document.getElementById("campaign").append(...campaign.blocks.map(block));
}
