/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figure_diff: a page about two suites: what the second lost, what it gained, and the figures. */
#include "cover/metric.h"
#include "figure/figure_cover.h"

#include <string.h>

#define COVERAGE (1u << AS_SPACE_PLAIN | 1u << AS_SPACE_OUTPUT)

/* ---- The table ------------------------------------------------------------------------------- */

static void change_row(const char *name, const struct as_cov_change c[2], struct as_buf *out)
{
	as_buf_addf(out, "<tr><td>%s</td>", name);
	for (int i = 0; i < 2; i++)
		as_buf_addf(out, "<td>%llu</td><td%s>%llu</td><td>%llu</td>",
			    (unsigned long long)c[i].both, c[i].lost ? " class=\"warn\"" : "",
			    (unsigned long long)c[i].lost, (unsigned long long)c[i].gained);
	as_buf_adds(out, "</tr>\n");
}

static void changes(const struct as_suites *suites, struct as_buf *out)
{
	const struct as_counts *a = suites->suite[0].counts, *b = suites->suite[1].counts;
	struct as_cov_change c[2];

	as_buf_adds(out,
		    "<h2>Lost and gained by call</h2>\n<div class=\"wide\"><table><thead><tr>"
		    "<th>call</th><th>inputs: both</th><th>lost</th><th>gained</th>"
		    "<th>outputs: both</th><th>lost</th><th>gained</th></tr></thead><tbody>\n");
	for (unsigned i = 0; i < suites->spec->n_families; i++) {
		as_cov_change_of(a, b, &suites->spec->families[i], c);
		if (c[0].lost || c[0].gained || c[1].lost || c[1].gained)
			change_row(suites->spec->families[i].name, c, out);
	}
	as_cov_change_of(a, b, NULL, c);
	change_row("<strong>all</strong>", c, out);
	as_buf_adds(out, "</tbody></table></div>\n");
}

/* ---- The lists ------------------------------------------------------------------------------- */

struct listing {
	struct as_buf *out;
	bool lost;
	const struct as_spec_family *family; /* of the paragraph that is open */
	const struct as_spec_arg *arg;
	unsigned n;
};

static void list_one(void *ctx, const struct as_space *space, const struct as_part *part,
		     uint64_t a, uint64_t b)
{
	struct listing *l = ctx;

	if (!part->expected || !a == !b || !!a != l->lost)
		return;
	if (!l->n || l->family != space->family || l->arg != space->arg) {
		as_buf_addf(l->out, "%s<p class=\"list\"><span class=\"soft\">%s %s:</span> ",
			    l->n ? "</p>\n" : "", space->family->name,
			    space->arg ? space->arg->name : "results");
		l->family = space->family;
		l->arg = space->arg;
	}
	l->n++;
	as_buf_adds(l->out, "<code>");
	as_figure_escape(l->out, part->name);
	as_buf_adds(l->out, " <span class=\"soft\">");
	as_figure_number(l->out, a ? a : b);
	as_buf_adds(l->out, "</span></code> ");
}

static void list(const struct as_suites *suites, bool lost, struct as_buf *out)
{
	struct listing l = { .out = out, .lost = lost };

	as_buf_addf(out, "<h2>%s</h2>\n<p class=\"soft\">Met only by ", lost ? "Lost" : "Gained");
	as_figure_escape(out, suites->suite[lost ? 0 : 1].name);
	as_buf_adds(out, "; the number is how often.</p>\n");
	as_counts_compare(suites->suite[0].counts, suites->suite[1].counts, COVERAGE, list_one, &l);
	as_buf_adds(out, l.n ? "</p>\n" : "<p>Nothing.</p>\n");
}

static void shares(const struct as_suites *suites, struct as_buf *out)
{
	for (unsigned s = 0; s < suites->n; s++) {
		struct as_coverage in, result;

		as_coverage_family(suites->suite[s].counts, NULL, 1, &in, &result);
		as_buf_adds(out, "<p><strong>");
		as_figure_escape(out, suites->suite[s].name);
		as_buf_addf(out, "</strong>: %llu of %llu inputs (%.1f %%), ",
			    (unsigned long long)in.met, (unsigned long long)in.of,
			    as_coverage_percent(in));
		as_buf_addf(out, "%llu of %llu outputs (%.1f %%)</p>\n",
			    (unsigned long long)result.met, (unsigned long long)result.of,
			    as_coverage_percent(result));
	}
}

void as_figure_diff(const struct as_suites *suites, struct as_buf *out)
{
	as_assert(suites->n == 2);
	as_figure_page("System call coverage: what has changed", out);
	as_figure_sources(suites, out);
	shares(suites, out);
	changes(suites, out);
	list(suites, true, out);
	list(suites, false, out);
	as_figure_papers_html(suites, out);
	as_buf_adds(out, "</body>\n</html>\n");
}
