/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heat: the matrices of a campaign. Two of the names are rows and columns, those with most values; the
 * others stand with the rows. All texts are data: they become text nodes. */
"use strict";
function assayHeat(runs) {
	const node = document.getElementById("campaign-data");
	const el = (tag, attrs, ...children) => {
		const e = document.createElement(tag);

		for (const [k, v] of Object.entries(attrs))
			e.setAttribute(k, v);
		e.append(...children);
		return e;
	};

	/* The last name in the folder of a run is that of its cell. */
	const runOf = (cell) => runs.findIndex((r) => r.folder.split("/").includes(cell.cell));

	/* Warm with what was found, pale with time that was spent and found nothing. */
	const colour = (cell, most) => {
		if (cell.kinds)
			return `rgba(200, 60, 30, ${0.25 + 0.55 * cell.kinds / most})`;
		return cell.slices ? "rgba(70, 130, 180, 0.18)" : "transparent";
	};

	const field = (cell, most) => {
		const run = runOf(cell), text = cell.slices ? String(cell.kinds) : "–";
		const td = el("td", {
			title: `${cell.words.join(" ")}\n${cell.state}, ${(cell.used_us / 1e6).toFixed(1)} s, ` +
				`${cell.ops} operations, ${cell.states} states`,
			class: cell.state === "complete" ? "over" : cell.state === "given up" ? "failed" : "",
		});

		td.style.background = colour(cell, most);
		if (run >= 0 && cell.kinds) {
			const a = el("a", { href: "#sec-findings" }, text);

			a.addEventListener("click", () => {
				const choice = document.getElementById("run");

				choice.value = String(run);
				choice.dispatchEvent(new Event("change"));
			});
			td.append(a);
		} else {
			td.append(text);
		}
		return td;
	};

	const block = (b) => {
		const count = b.axes.map((_, i) => new Set(b.cells.map((c) => c.values[i])).size);
		const x = count.indexOf(Math.max(...count));
		const rowName = (c) => c.values.filter((_, i) => i !== x).join(", ") || b.command;
		const columns = x < 0 ? [""] : [...new Set(b.cells.map((c) => c.values[x]))];
		const rows = [...new Set(b.cells.map(rowName))];
		const most = Math.max(1, ...b.cells.map((c) => c.kinds));
		const head = el("tr", {}, el("th", {}, b.axes.filter((_, i) => i !== x).join(", ")),
			...columns.map((c) => el("th", {}, x < 0 ? "" : `${b.axes[x]} ${c}`)));
		const body = rows.map((r) => el("tr", {}, el("th", {}, r), ...columns.map((c) => {
			const cells = b.cells.filter((k) => rowName(k) === r && (x < 0 || k.values[x] === c));

			return cells.length ? field(cells[0], most) : el("td", {});
		})));

		return el("div", { class: "scroll" }, el("p", {}, el("code", {}, b.line)),
			el("table", { class: "heat" }, el("thead", {}, head), el("tbody", {}, ...body)));
	};

	if (!node)
		return;
	const campaign = JSON.parse(node.textContent);

	document.getElementById("sec-campaign").hidden = false;
	document.getElementById("campaign").append(...campaign.blocks.map(block));
}
