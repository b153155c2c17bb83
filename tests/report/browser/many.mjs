// SPDX-License-Identifier: GPL-2.0-or-later
// many.mjs RUN FINDING N: makes N copies of a finding in a run folder, each with an id of its own.
import fs from "node:fs";
import path from "node:path";

const [, , run, finding, n] = process.argv;
const from = path.join(run, "findings", finding);
const record = JSON.parse(fs.readFileSync(path.join(from, "finding.json"), "utf8"));
const workload = fs.readFileSync(path.join(from, "workload.txt"));
const kinds = ["crash", "data", "outcome", "tree"];

for (let i = 0; i < Number(n); i++) {
	const id = `lab-${kinds[i % 4]}-${i.toString(16).padStart(8, "0")}`;
	const to = path.join(run, "findings", id);

	fs.mkdirSync(to, { recursive: true });
	fs.writeFileSync(path.join(to, "finding.json"), JSON.stringify({ ...record, id,
		kind: kinds[i % 4],
		target: i % 7 ? `lab:bug=${i % 7}` : "plugin:./some/folder/flashfs.so:bug=11",
		summary: `number ${i}: ${record.summary}`,
		signature: `${record.signature} ${i % 50}`, group: `cause ${i % 50}` }));
	fs.writeFileSync(path.join(to, "workload.txt"), workload);
}
