// SPDX-License-Identifier: GPL-2.0-or-later
// report.mjs: the report in a browser, as TAP. The pages are in $PAGES: runs.html (a crash, a
// checker, a hunt; $CRASH, $FSCK and $HUNT are ids of findings there; the last one's operation has
// more than forty before it), joined.html (the crash and the hunt), hostile.html (texts that try to be markup), many.html (10,000 findings;
// painted within $BOUND_MS), empty.html (no findings), campaign/report.html (the matrices of a
// campaign: bugs by seeds, a check that is complete, a target that does not exist, 26 seeds).
// $SHOTS: screenshots are kept in that folder.
import { chromium } from "playwright-core";

const { PAGES, CRASH, FSCK, HUNT, BOUND_MS, SHOTS, CHROMIUM } = process.env;
let count = 0, failed = 0;

function check(name, fine, why) {
	count++;
	failed += fine ? 0 : 1;
	console.log(`${fine ? "ok" : "not ok"} ${count} - ${name}`);
	if (!fine && why !== undefined)
		console.log(`# ${JSON.stringify(why)}`);
}

const browser = await chromium.launch({ executablePath: CHROMIUM,
	args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });

async function open(name, options = {}) {
	const page = await browser.newPage({ viewport: { width: options.width || 1280, height: 1000 },
		colorScheme: options.scheme || "light" });
	const heard = [];

	page.setDefaultTimeout(90000);
	page.on("console", (m) => heard.push(`${m.type()}: ${m.text()}`));
	page.on("pageerror", (e) => heard.push(`error: ${e.message}`));
	page.on("dialog", (d) => {
		heard.push(`dialog: ${d.message()}`);
		d.dismiss();
	});
	page.on("request", (r) => {
		if (!r.url().startsWith("file:") && !r.url().startsWith("data:"))
			heard.push(`request: ${r.url()}`);
	});
	await page.goto(`file://${PAGES}/${name}${options.hash ? "#" + options.hash : ""}`);
	await page.waitForFunction(() => document.documentElement.dataset.ready === "yes");
	return { page, heard };
}

const rows = (page) => page.locator("#list > li").count();
const shot = async (page, name) => {
	if (SHOTS)
		await page.screenshot({ path: `${SHOTS}/${name}.png` });
};
/* Whether something sticks out to the right of the window. */
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth -
	document.documentElement.clientWidth);
/* How many canvases have something drawn on them. */
const drawn = (page) => page.evaluate(() => [...document.querySelectorAll("canvas")].filter((c) => {
	const bytes = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;

	return bytes.some((b) => b);
}).length);

// ---- Loading, filter, search ----
{
	const { page, heard } = await open("runs.html");
	const all = await rows(page);

	check("it loads and says nothing in the console", heard.length === 0, heard);
	check("it has findings of several runs", all > 2, all);
	check("charts are drawn", await drawn(page) >= 4, await drawn(page));
	check("nothing sticks out at 1280", await overflow(page) <= 0, await overflow(page));
	await shot(page, "desktop-light");

	await page.selectOption("#kind", "fsck");
	const some = await rows(page);
	check("a filter leaves a part", some > 0 && some < all, { some, all });
	check("which has that kind alone", await page.locator("#list .kind").evaluateAll((k) =>
		k.every((n) => n.textContent === "fsck")));
	await page.selectOption("#kind", "");
	await page.fill("#search", "no such words anywhere");
	check("a search for nothing finds nothing", await rows(page) === 0);
	await page.fill("#search", CRASH);
	check("a search for an id finds one", await rows(page) === 1, await rows(page));
	await page.fill("#search", "");
	check("an empty search finds all", await rows(page) === all);
	await page.check("#once");
	check("one for each cause", await rows(page) <= all);
	await page.uncheck("#once");
	const others = await page.locator("#others").textContent();
	check("findings that are not of the last target are told", /: \d+ findings? of other targets/
		.test(others) && /lab:bug=3[89]/.test(others), others);
	check("two runs are compared", await page.locator("#sec-compare tbody tr").count() > 0);
	check("the score is a table", await page.locator("#score td").count() > 0);
	check("what a score lacks is marked", await page.locator("#score .missed").count() === 1);
	check("code of a kernel by file", await page.locator("#code tr").count() === 2);
	await page.locator("#code summary").first().click();
	await page.locator("#code .functions code").first().waitFor();
	check("a file opens to its functions", await page.locator("#code .functions code").count() === 2);
	check("which says what was never reached",
		await page.locator("#code .missed").textContent() === "two");
	check("coverage has figures", await page.locator("#coverage svg").count() >= 4);
	check("and what was not tested", await page.locator("#coverage #untested").count() === 1);
	await page.close();
}

// ---- A joined folder is shown as its runs ----
{
	const { page, heard } = await open("joined.html");
	const all = await rows(page);

	check("the runs of a joined folder", await page.locator("#runs tr").count() === 2 &&
		heard.length === 0, heard);
	await page.selectOption("#run", "0");
	const first = await rows(page);
	await page.selectOption("#run", "1");
	check("each has its findings", first > 0 && first < all && first + await rows(page) === all,
		{ all, first });
	await page.close();
}

// ---- A crash opens to its story ----
{
	const { page, heard } = await open("runs.html", { hash: CRASH });
	const story = page.locator(`#f-${CRASH} .open`);

	check("an address opens a finding", await story.count() === 1);
	check("one operation is marked", await story.locator(".guilty").count() >= 1);
	check("writes are drawn", await story.locator(".timeline circle").count() > 3);
	check("and what was lost", await story.locator(".timeline .lost").count() > 0);
	check("and the power cut", await story.locator(".timeline line.cut").count() === 1);
	check("and flushes", await story.locator(".timeline line.flush").count() > 0);
	check("by the names of structures", (await story.locator(".timeline .name").allTextContents())
		.some((t) => /journal|inode|directory/.test(t)));
	check("the trees stand side by side", await story.locator(".diff tr.differs").count() > 0);
	check("how to replay it", /assay replay .*findings/.test(await story.innerText()));
	check("a C program to copy", (await story.locator("details", { hasText: "repro.c" }).first()
		.textContent()).includes("int main"));
	await story.locator(".copy").first().click();
	check("the copy button answers", /copied|not allowed/.test(await story.locator(".copy").first()
		.textContent()));
	await shot(page, "crash-light");
	check("nothing in the console after all that", heard.length === 0, heard);
	await page.close();
}
// ---- A hunt's finding: a long workload, in a box that scrolls to what failed ----
{
	const { page } = await open("runs.html", { hash: HUNT });
	const guilty = page.locator(`#f-${HUNT} .open .guilty`).first();
	const seen = await guilty.evaluate((line) => {
		const box = line.parentElement, at = line.getBoundingClientRect();
		const frame = box.getBoundingClientRect();

		return { scrolls: box.scrollHeight > box.clientHeight,
			inside: at.top >= frame.top && at.bottom <= frame.bottom };
	});
	const said = /^op (\d+):/.exec(await page.locator(`#f-${HUNT} .what`).innerText());

	check("a long workload scrolls", seen.scrolls, seen);
	check("to the operation that failed", seen.inside, seen);
	check("whose number is that of the summary", said && Number(said[1]) ===
		parseInt(await guilty.innerText(), 10), said);
	await shot(page, "hunt-light");
	await page.close();
}
{
	const { page } = await open("runs.html", { hash: FSCK });
	const text = await page.locator(`#f-${FSCK} .open`).innerText();

	check("a checker's finding has fields", /What was corrupted/.test(text));
	check("and what both runs printed", /first run printed[^]*second run printed/.test(text), text);
	await shot(page, "fsck-light");
	await page.close();
}

// ---- The keyboard ----
{
	const { page } = await open("runs.html");
	const focus = () => page.evaluate(() => [...document.querySelectorAll(".row")]
		.indexOf(document.activeElement));

	await page.keyboard.press("j");
	check("j goes to the first", await focus() === 0, await focus());
	await page.keyboard.press("j");
	check("j again to the second", await focus() === 1, await focus());
	await page.keyboard.press("k");
	check("k back", await focus() === 0, await focus());
	await page.keyboard.press("Enter");
	check("Enter opens", await page.locator(".row").first().getAttribute("aria-expanded") === "true");
	await page.keyboard.press("Escape");
	check("Escape closes", await page.locator(".open").count() === 0);
	await page.keyboard.press("/");
	check("/ searches", await page.evaluate(() => document.activeElement.id) === "search");
	await page.keyboard.type("j");
	check("letters are typed there", await page.inputValue("#search") === "j");
	await page.fill("#search", "");
	await page.keyboard.press("Escape");
	await page.keyboard.press("o");
	check("o opens all", await page.locator(".open").count() > 2);
	await page.keyboard.press("o");
	check("and closes them", await page.locator(".open").count() === 0);
	await page.close();
}

// ---- Dark, a phone, paper ----
{
	const { page, heard } = await open("runs.html", { scheme: "dark", width: 390, hash: CRASH });
	const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);

	check("dark is dark", /rgb\((\d|1\d), /.test(back), back);
	check("nothing sticks out at 390", await overflow(page) <= 0, await overflow(page));
	await shot(page, "phone-dark");
	await page.emulateMedia({ colorScheme: "light" });
	check("the theme can change", heard.length === 0, heard);
	await page.emulateMedia({ media: "print", colorScheme: "dark" });
	check("paper is white", await page.evaluate(() =>
		getComputedStyle(document.body).backgroundColor) === "rgb(255, 255, 255)");
	check("without the filter", !await page.locator(".bar").isVisible());
	await page.close();
}
{
	const { page } = await open("runs.html", { scheme: "dark" });

	await page.locator("#sec-charts").scrollIntoViewIfNeeded();
	await shot(page, "charts-dark");
	await page.close();
}

// ---- Texts from outside ----
{
	const { page, heard } = await open("hostile.html");

	await page.keyboard.press("o");
	await page.waitForTimeout(200);
	check("hostile texts run nothing", await page.evaluate(() => window.hacked) === undefined);
	check("and say nothing, ask nothing, fetch nothing", heard.length === 0, heard);
	check("they make no elements", await page.locator("#list img, #list script, #list b, " +
		"#runs img, #compare img, #score img, #coverage img").count() === 0);
	check("they are shown as they are", (await page.locator("#list").innerText())
		.includes("<img src=x onerror"));
	await page.close();
}

// ---- Many, and none ----
{
	const { page, heard } = await open("many.html");
	const paint = await page.evaluate(() => performance.getEntriesByType("paint")
		.map((e) => e.startTime));

	check("ten thousand findings", /10,0\d\d findings/.test(await page.locator("#count").innerText()),
		await page.locator("#count").innerText());
	check(`the first paint is soon (${BOUND_MS} ms)`, paint.length && paint[0] < Number(BOUND_MS),
		paint);
	console.log(`# first paint after ${paint.map(Math.round)} ms`);
	const begin = Date.now();
	await page.fill("#search", "number 9876:");
	check("a search among them finds it", await rows(page) === 1);
	check("soon, too", Date.now() - begin < Number(BOUND_MS), Date.now() - begin);
	await page.fill("#search", "number 9877:");
	check("of a plugin, its file and options are shown",
		await page.locator("#list .where").innerText() === "flashfs.so:bug=11");
	check("and the console is empty", heard.length === 0, heard);
	await page.close();
}
{
	const { page, heard } = await open("empty.html");

	check("a report without findings", /Nothing was found/.test(await page.innerText("body")) &&
		heard.length === 0, heard);
	await page.close();
}

// ---- The matrices of a campaign ----
for (const options of [{ width: 1280 }, { width: 390, scheme: "dark" }]) {
	const { page, heard } = await open("campaign/report.html", options);

	check(`the matrices are there at ${options.width}`, await page.locator("#campaign .heat").count()
		=== 4 && await page.locator("#sec-campaign").isVisible());
	check("nothing sticks out", await overflow(page) <= 0, await overflow(page));
	check("and the console is empty", heard.length === 0, heard);
	await page.locator("#sec-campaign").scrollIntoViewIfNeeded();
	await shot(page, `campaign-${options.scheme || "light"}`);
	await page.close();
}
{
	const { page } = await open("campaign/report.html");
	const heat = (n) => page.locator("#campaign .heat").nth(n);
	const heads = (n) => heat(n).locator("thead th").allTextContents();
	const warm = heat(0).locator("td").filter({ has: page.locator("a") });
	const kinds = (await warm.allTextContents()).map(Number);
	const back = (cell) => cell.evaluate((td) => getComputedStyle(td).backgroundColor);

	check("one name is that of the columns", (await heads(0)).join(" ") === "bug \\ seed 1 2 3",
		await heads(0));
	check("the other that of the rows", await heat(0).locator("tbody tr").count() === 2);
	check("fields tell how many kinds were found", kinds.length > 0 && kinds.every((n) => n > 0) ||
		kinds.some((n) => n > 0), kinds);
	check("what found something is warm", /^rgba?\(200, 60, 30/.test(await back(warm.nth(
		kinds.indexOf(Math.max(...kinds))))));
	check("what found nothing is not", !/^rgba?\(200/.test(await back(heat(1).locator("td"))));
	check("a check of all there is is over", await heat(1).locator("td.over").count() === 1);
	check("a cell that cannot run has failed", await heat(2).locator("td.failed",
		{ hasText: "failed" }).count() === 1);
	check("its name is text", (await heat(2).innerText()).includes("<img src=x onerror") &&
		await page.locator("#campaign img").count() === 0 &&
		await page.evaluate(() => window.hacked) === undefined);
	check("very many are wrapped", await heat(3).locator("tbody tr").count() === 2 &&
		await heat(3).locator("td:not(:empty)").count() === 26);
	await warm.nth(kinds.indexOf(Math.max(...kinds))).locator("a").click();
	await page.waitForFunction(() => document.documentElement.dataset.ready === "yes");
	check("a field opens the page of its cell", /cells\/c-[0-9a-f]{16}\/report.html$/
		.test(page.url()), page.url());
	check("which has its findings", await rows(page) >= Math.max(...kinds), await rows(page));
	await page.close();
}

await browser.close();
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
