/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figure_html: the report: one page that needs nothing else, without scripts. */
#include "figure/figure_cover.h"

#include "cover/metric.h"

#include <stdio.h>
#include <string.h>

#define TOGETHER_MAX 6 /* flags, as the paper's table has it */

static const char style[] =
	"</title>\n<style>\n"
	":root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6570;--line:#dfe3e8;"
	"--paper:#fff;--back:#f6f7f9;--warn:#9a3b00;--fill:#0072b2;--mute:#e3e8ee}\n"
	"@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#a2acb8;--line:#333a43;"
	"--paper:#15191e;--back:#0e1115;--warn:#ffb070;--fill:#56b4e9;--mute:#2a313a}}\n"
	"body{margin:0 auto;max-width:1120px;padding:24px 20px 64px;background:var(--back);"
	"color:var(--ink);font:15px/1.5 system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif}\n"
	"h1{font-size:26px;margin:8px 0}h2{font-size:20px;margin:36px 0 8px}"
	"h3{font-size:16px;margin:20px 0 6px}p{max-width:75ch}\n"
	".soft{color:var(--soft)}.warn{color:var(--warn);font-weight:600}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}"
	"th,td{padding:3px 10px;border-bottom:1px solid var(--line);text-align:right;"
	"white-space:nowrap}"
	"th:first-child,td:first-child{text-align:left}thead th{color:var(--soft);"
	"font-weight:600}\n"
	".card,.wide{overflow-x:auto}"
	".card{background:var(--paper);border:1px solid var(--line);border-radius:8px;"
	"padding:8px;margin:12px 0}\n"
	".card svg{display:block}details{margin:6px 0;border:1px solid var(--line);"
	"border-radius:8px;background:var(--paper);padding:2px 12px}"
	"summary{cursor:pointer;padding:6px 0;font-weight:600}summary .soft{font-weight:400}\n"
	".bar{display:inline-block;width:90px;height:9px;border-radius:2px;"
	"background:var(--mute);overflow:hidden;margin-left:8px}.bar i{display:block;height:100%;"
	"background:var(--fill)}\n"
	"code{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:13px}\n"
	".list code{display:inline-block;margin:1px 10px 1px 0}\n"
	"</style>\n</head>\n<body>\n";

void as_figure_page(const char *title, struct as_buf *out)
{
	as_buf_adds(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			 "<meta name=\"viewport\" "
			 "content=\"width=device-width,initial-scale=1\">\n<title>");
	as_figure_escape(out, title);
	as_buf_adds(out, style);
	as_buf_adds(out, "<h1>");
	as_figure_escape(out, title);
	as_buf_adds(out, "</h1>\n");
}

static void number_cell(struct as_buf *out, uint64_t n)
{
	as_buf_adds(out, "<td>");
	as_figure_number(out, n);
	as_buf_adds(out, "</td>");
}

static void share_cell(struct as_buf *out, struct as_coverage c)
{
	if (!c.of) {
		as_buf_adds(out, "<td></td>");
		return;
	}
	as_buf_addf(
		out,
		"<td>%llu of %llu<span class=\"bar\"><i style=\"width:%.0f%%\"></i></span></td>",
		(unsigned long long)c.met, (unsigned long long)c.of, as_coverage_percent(c));
}

static void suite_heads(const struct as_suites *suites, struct as_buf *out, const char *const *what,
			unsigned n)
{
	for (unsigned s = 0; s < suites->n; s++)
		for (unsigned i = 0; i < n; i++) {
			as_buf_adds(out, "<th>");
			if (suites->n > 1) {
				as_figure_escape(out, suites->suite[s].name);
				as_buf_adds(out, ": ");
			}
			as_buf_addf(out, "%s</th>", what[i]);
		}
}

/* ---- Where it is from ------------------------------------------------------------------------ */

static void notes(const struct as_suites *suites, struct as_buf *out)
{
	static const char *const what[] = { "number" };

	as_buf_adds(out,
		    "<h2>What was looked at</h2>\n<div class=\"wide\"><table><thead><tr><th></th>");
	suite_heads(suites, out, what, 1);
	as_buf_adds(out, "</tr></thead><tbody>\n");
	for (unsigned i = 0; i < AS_NOTES; i++) {
		uint64_t all = 0;

		for (unsigned s = 0; s < suites->n; s++)
			all += as_counts_noted(suites->suite[s].counts, (enum as_cov_note)i);
		if (!all)
			continue;
		as_buf_adds(out, "<tr><td>");
		as_figure_escape(out, as_cov_note_text((enum as_cov_note)i));
		as_buf_adds(out, "</td>");
		for (unsigned s = 0; s < suites->n; s++)
			number_cell(out,
				    as_counts_noted(suites->suite[s].counts, (enum as_cov_note)i));
		as_buf_adds(out, "</tr>\n");
	}
	as_buf_adds(out, "</tbody></table></div>\n");
}

void as_figure_sources(const struct as_suites *suites, struct as_buf *out)
{
	for (unsigned s = 0; s < suites->n; s++) {
		const struct as_counts *counts = suites->suite[s].counts;
		const char *under = as_counts_get_under(counts);
		const char *partial = as_counts_is_partial(counts);

		as_buf_adds(out, "<p><strong>");
		as_figure_escape(out, suites->suite[s].name);
		as_buf_adds(out, "</strong> <span class=\"soft\">");
		as_figure_escape(out, as_counts_get_source(counts));
		if (under) {
			as_buf_adds(out, ", files below <code>");
			as_figure_escape(out, under);
			as_buf_adds(out, "</code>");
		}
		as_buf_adds(out, "</span>");
		if (partial) {
			as_buf_adds(out, "<br><span class=\"warn\">Partial: ");
			as_figure_escape(out, partial);
			as_buf_adds(out, "</span>");
		}
		as_buf_adds(out, "</p>\n");
	}
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void family_row(const struct as_suites *suites, const struct as_spec_family *family,
		       struct as_buf *out)
{
	as_buf_addf(out, "<tr><td>%s</td>", family ? family->name : "<strong>all</strong>");
	for (unsigned s = 0; s < suites->n; s++) {
		const struct as_counts *counts = suites->suite[s].counts;
		struct as_coverage in, result;
		uint64_t calls = 0;

		as_coverage_family(counts, family, 1, &in, &result);
		for (unsigned i = 0; i < suites->spec->n_families; i++)
			if (!family || family == &suites->spec->families[i])
				calls += as_counts_family(counts, &suites->spec->families[i]);
		number_cell(out, calls);
		share_cell(out, in);
		share_cell(out, result);
	}
	as_buf_adds(out, "</tr>\n");
}

static void families(const struct as_suites *suites, struct as_buf *out)
{
	static const char *const what[] = { "calls", "inputs met", "outputs met" };

	as_buf_adds(out,
		    "<h2>Coverage by call</h2>\n<p class=\"soft\">Variants are counted with "
		    "the call they belong to. Inputs are the partitions of all arguments, outputs "
		    "are success and the errors that manual pages list.</p>\n"
		    "<div class=\"wide\"><table><thead><tr><th>call</th>");
	suite_heads(suites, out, what, 3);
	as_buf_adds(out, "</tr></thead><tbody>\n");
	for (unsigned i = 0; i < suites->spec->n_families; i++)
		family_row(suites, &suites->spec->families[i], out);
	family_row(suites, NULL, out);
	as_buf_adds(out, "</tbody></table></div>\n");
}

static void together_row(const struct as_suite *suite, const struct as_spec_arg *arg,
			 const char *flag, struct as_buf *out)
{
	uint64_t by_n[AS_SPEC_BITS + 1], all = 0;

	as_counts_together(suite->counts, arg, flag, by_n);
	for (unsigned n = 0; n <= AS_SPEC_BITS; n++)
		all += by_n[n];
	as_buf_adds(out, "<tr><td>");
	as_figure_escape(out, suite->name);
	as_buf_addf(out, ": %s</td>", flag ? flag : "all flags");
	for (unsigned n = 1; n <= TOGETHER_MAX; n++)
		as_buf_addf(out, "<td>%.1f</td>",
			    all ? 100.0 * (double)by_n[n] / (double)all : 0.0);
	as_buf_adds(out, "</tr>\n");
}

void as_figure_together(const struct as_suites *suites, const char *family, const char *arg,
			struct as_buf *out)
{
	as_buf_adds(out,
		    "<div class=\"wide\"><table><thead><tr><th>% of calls with so many flags</th>");
	for (unsigned n = 1; n <= TOGETHER_MAX; n++)
		as_buf_addf(out, "<th>%u</th>", n);
	as_buf_adds(out, "</tr></thead><tbody>\n");
	for (unsigned s = 0; s < suites->n; s++) {
		struct as_space space;
		const char *flag;

		if (!as_counts_find(suites->suite[s].counts, family, arg, AS_SPACE_PLAIN, &space))
			continue;
		flag = as_space_favourite(&space);
		together_row(&suites->suite[s], space.arg, NULL, out);
		if (flag)
			together_row(&suites->suite[s], space.arg, flag, out);
		as_space_free(&space);
	}
	as_buf_adds(out, "</tbody></table></div>\n");
}

/* ---- Everything ------------------------------------------------------------------------------ */

void as_figure_papers_html(const struct as_suites *suites, struct as_buf *out)
{
	as_buf_adds(out,
		    "<h2>Figures</h2>\n<p class=\"soft\">A cross marks what was never met; "
		    "pale bars are results that no manual page lists, or values larger than what "
		    "is worth testing.</p>\n");
	for (unsigned i = 0; i < as_figure_papers; i++) {
		as_buf_adds(out, "<div class=\"card\">\n");
		as_figure_of_paper(suites, &as_figure_paper[i], out);
		as_buf_adds(out, "</div>\n");
	}
	as_buf_adds(out, "<h3>Flags of open that came together</h3>\n");
	as_figure_together(suites, "open", "flags", out);
}

static void untested(const struct as_suites *suites, unsigned at, struct as_buf *out)
{
	for (unsigned s = 0; s < suites->n; s++) {
		struct as_space space;
		unsigned n = 0;

		as_counts_space(suites->suite[s].counts, at, &space);
		for (unsigned i = 0; i < space.n; i++) {
			if (!space.parts[i].expected || space.parts[i].count)
				continue;
			if (!n++) {
				as_buf_adds(out,
					    "<p class=\"list\"><span class=\"soft\">Never met");
				if (suites->n > 1) {
					as_buf_adds(out, " by ");
					as_figure_escape(out, suites->suite[s].name);
				}
				as_buf_addf(out, ":</span> ");
			}
			as_buf_adds(out, "<code>");
			as_figure_escape(out, space.parts[i].name);
			as_buf_adds(out, "</code> ");
		}
		if (n)
			as_buf_adds(out, "</p>\n");
		as_space_free(&space);
	}
}

static void untested_family(const struct as_suites *suites, const struct as_spec_family *family,
			    struct as_buf *out)
{
	const struct as_counts *first = suites->suite[0].counts;
	struct as_buf list = { 0 };

	for (unsigned i = 0; i < as_counts_spaces(first); i++) {
		struct as_space space;
		size_t before = list.len;

		as_counts_space(first, i, &space);
		if (space.family == family &&
		    (space.kind == AS_SPACE_PLAIN || space.kind == AS_SPACE_OUTPUT)) {
			as_buf_addf(&list, "<h4>%s</h4>\n",
				    space.arg ? space.arg->name : "results");
			before = list.len - before;
			untested(suites, i, &list);
			if (list.len && list.data[list.len - 2] == '4')
				list.len -= before;
		}
		as_space_free(&space);
	}
	if (list.len) {
		as_buf_addf(out, "<details><summary>%s</summary>\n", family->name);
		as_buf_add(out, list.data, list.len);
		as_buf_adds(out, "</details>\n");
	}
	as_buf_free(&list);
}

void as_figure_untested(const struct as_suites *suites, struct as_buf *out)
{
	unsigned never = 0;

	as_buf_adds(out, "<h3 id=\"untested\">Not tested</h3>\n");
	for (unsigned f = 0; f < suites->spec->n_families; f++) {
		const struct as_spec_family *family = &suites->spec->families[f];
		uint64_t calls = 0;

		for (unsigned s = 0; s < suites->n; s++)
			calls += as_counts_family(suites->suite[s].counts, family);
		if (calls)
			untested_family(suites, family, out);
		never += !calls;
	}
	if (!never)
		return;
	as_buf_adds(out, "<p class=\"list\"><span class=\"soft\">Never called:</span> ");
	for (unsigned f = 0; f < suites->spec->n_families; f++) {
		const struct as_spec_family *family = &suites->spec->families[f];
		uint64_t calls = 0;

		for (unsigned s = 0; s < suites->n; s++)
			calls += as_counts_family(suites->suite[s].counts, family);
		if (!calls)
			as_buf_addf(out, "<code>%s</code> ", family->name);
	}
	as_buf_adds(out, "</p>\n");
}

static void one_space(const struct as_suites *suites, const struct as_space *space, unsigned at,
		      struct as_buf *out)
{
	char title[128];

	snprintf(title, sizeof(title), "%s: %s", space->family->name,
		 space->arg			  ? space->arg->name
		 : space->kind == AS_SPACE_OUTPUT ? "results"
						  : "variants");
	as_buf_adds(out, "<div class=\"card\">\n");
	as_figure_space(suites, space->family->name, space->arg ? space->arg->name : NULL,
			space->kind, title, out);
	as_buf_adds(out, "</div>\n");
	untested(suites, at, out);
}

static void family_details(const struct as_suites *suites, const struct as_spec_family *family,
			   struct as_buf *out)
{
	const struct as_counts *first = suites->suite[0].counts;
	uint64_t calls = 0;

	for (unsigned s = 0; s < suites->n; s++)
		calls += as_counts_family(suites->suite[s].counts, family);
	as_buf_addf(out, "<details><summary>%s <span class=\"soft\">", family->name);
	if (calls)
		as_figure_number(out, calls);
	as_buf_addf(out, "%s</span></summary>\n", calls ? " calls" : "never called");
	for (unsigned i = 0; calls && i < as_counts_spaces(first); i++) {
		struct as_space space;

		as_counts_space(first, i, &space);
		if (space.family == family &&
		    (space.kind == AS_SPACE_PLAIN || space.kind == AS_SPACE_OUTPUT ||
		     space.kind == AS_SPACE_VARIANTS))
			one_space(suites, &space, i, out);
		as_space_free(&space);
	}
	as_buf_adds(out, "</details>\n");
}

void as_figure_report(const struct as_suites *suites, struct as_buf *out)
{
	as_figure_page("System call coverage", out);
	as_figure_sources(suites, out);
	notes(suites, out);
	families(suites, out);
	as_figure_papers_html(suites, out);
	as_buf_adds(out, "<h2>Call by call</h2>\n");
	for (unsigned i = 0; i < suites->spec->n_families; i++)
		family_details(suites, &suites->spec->families[i], out);
	as_buf_adds(out, "</body>\n</html>\n");
}
