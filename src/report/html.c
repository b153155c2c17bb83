/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html: see html.h. The parts of the page are files in report/html/, which the assembler puts into
 * the program. */
#include "report/html.h"

#include "base/embed.h"
#include "base/json.h"
#include "figure/figure.h"
#include "figure/figure_cover.h"

#include <string.h>

AS_EMBED(as_report_css, "src/report/html/report.css");
AS_EMBED(as_report_body, "src/report/html/report.html");
AS_EMBED(as_report_heat, "src/report/html/heat.js");
AS_EMBED(as_report_code_js, "src/report/html/code.js");
AS_EMBED(as_report_script, "src/report/html/report.js");
AS_EMBED(as_report_story, "src/report/html/story.js");
AS_EMBED(as_report_charts, "src/report/html/charts.js");
#ifdef AS_CHART_JS
AS_EMBED(as_report_chart, AS_CHART_JS);
#endif

static void add_part(struct as_buf *out, const char *begin, const char *end)
{
	as_buf_add(out, begin, (size_t)(end - begin));
}

/* JSON within a script element: no "<" may stand in it, so that nothing in it ends the element. */
static void add_json(struct as_buf *out, const struct as_buf *json)
{
	const char *s = as_buf_str(json), *end = s + json->len;

	while (s < end) {
		size_t len = strcspn(s, "<");

		as_buf_add(out, s, len);
		s += len;
		if (s < end && *s == '<')
			as_buf_adds(out, "\\u003c");
		s++;
	}
}

/* The figures are drawn here: they are the same as those of `assay cov figure`. */
static void add_coverage(const struct as_suites *suites, struct as_buf *out)
{
	if (!suites)
		return;
	as_buf_adds(out, "<section id=\"coverage\"><h2>Input and output coverage</h2>\n");
	as_figure_sources(suites, out);
	as_figure_papers_html(suites, out);
	as_figure_untested(suites, out);
	as_buf_adds(out, "</section>\n");
}

static void add_text(struct as_buf *out, const char *id, const char *name, const char *text)
{
	struct as_buf json = { 0 };
	struct as_json j = as_json_on(&json);

	as_json_object(&j);
	as_json_kstr(&j, "name", name);
	as_json_kstr(&j, "text", text);
	as_json_end(&j);
	as_buf_addf(out, "<script type=\"application/json\" id=\"%s\">", id);
	add_json(out, &json);
	as_buf_adds(out, "</script>\n");
	as_buf_free(&json);
}

void as_report_page(const char *title, const struct as_buf *json,
		    const struct as_report_extras *extras, struct as_buf *out)
{
	as_buf_adds(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			 "<meta name=\"viewport\" "
			 "content=\"width=device-width,initial-scale=1\">\n"
			 "<link rel=\"icon\" href=\"data:,\">\n<title>");
	as_figure_escape(out, title);
	as_buf_adds(out, "</title>\n<style>\n");
	add_part(out, as_report_css_first, as_report_css_end);
	as_buf_adds(out, "</style>\n</head>\n<body>\n<h1>");
	as_figure_escape(out, title);
	as_buf_adds(out, "</h1>\n");
	add_part(out, as_report_body_first, as_report_body_end);
	add_coverage(extras->suites, out);
	if (extras->score)
		add_text(out, "score-data", extras->score_name, extras->score);
	if (extras->campaign) {
		as_buf_adds(out, "<script type=\"application/json\" id=\"campaign-data\">");
		add_json(out, extras->campaign);
		as_buf_adds(out, "</script>\n");
	}
	as_buf_adds(out, "<script type=\"application/json\" id=\"data\">");
	add_json(out, json);
	as_buf_adds(out, "</script>\n<script>\n");
#ifdef AS_CHART_JS
	add_part(out, as_report_chart_first, as_report_chart_end);
	as_buf_adds(out, "\n</script>\n<script>\n");
#endif
	add_part(out, as_report_charts_first, as_report_charts_end);
	add_part(out, as_report_story_first, as_report_story_end);
	add_part(out, as_report_heat_first, as_report_heat_end);
	add_part(out, as_report_code_js_first, as_report_code_js_end);
	add_part(out, as_report_script_first, as_report_script_end);
	as_buf_adds(out, "</script>\n</body>\n</html>\n");
}
