/* SPDX-License-Identifier: GPL-2.0-or-later */
/* junit: see forms.h. */
#include "base/show.h"
#include "report/forms.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* as_show() leaves no character that XML 1.0 does not have, but U+FFFE and U+FFFF. */
static void report_xml(struct as_buf *out, const char *text)
{
	struct as_buf shown = { 0 };

	as_show(&shown, text);
	for (const char *s = as_buf_str(&shown); *s; s++) {
		if (*s == '&')
			as_buf_adds(out, "&amp;");
		else if (*s == '<')
			as_buf_adds(out, "&lt;");
		else if (*s == '>')
			as_buf_adds(out, "&gt;");
		else if (*s == '"')
			as_buf_adds(out, "&quot;");
		else if (!strncmp(s, "\xef\xbf\xbe", 3) || !strncmp(s, "\xef\xbf\xbf", 3)) {
			as_buf_addc(out, '?');
			s += 2;
		} else
			as_buf_addc(out, *s);
	}
	as_buf_free(&shown);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Lines of a text: each one escaped, so that line ends stay. */
static void put_lines(struct as_buf *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		char *line = as_xstrndup(text, len);

		report_xml(out, line);
		as_buf_addc(out, '\n');
		free(line);
		text += len + (text[len] == '\n');
	}
}

static void put_attribute(struct as_buf *out, const char *name, const char *text)
{
	as_buf_addf(out, " %s=\"", name);
	report_xml(out, text);
	as_buf_addc(out, '"');
}

static void put_case(struct as_buf *out, const json_t *f)
{
	as_buf_adds(out, "    <testcase");
	put_attribute(out, "classname", text_of(f, "target"));
	put_attribute(out, "name", text_of(f, "id"));
	as_buf_adds(out, ">\n      <failure");
	put_attribute(out, "type", text_of(f, "kind"));
	put_attribute(out, "message", text_of(f, "summary"));
	as_buf_adds(out, ">");
	put_lines(out, text_of(f, "signature"));
	put_lines(out, text_of(f, "detail"));
	as_buf_addf(out, "met %lld times\nagain: assay replay ",
		    (long long)json_integer_value(json_object_get(f, "count")));
	report_xml(out, text_of(f, "id"));
	as_buf_adds(out, "\n</failure>\n");
	if (*text_of(f, "log")) {
		as_buf_adds(out, "      <system-err>");
		put_lines(out, text_of(f, "log"));
		as_buf_adds(out, "</system-err>\n");
	}
	as_buf_adds(out, "    </testcase>\n");
}

static size_t count_of(const json_t *findings, size_t run)
{
	json_t *f;
	size_t i, n = 0;

	json_array_foreach(findings, i, f) n +=
		(size_t)json_integer_value(json_object_get(f, "run")) == run;
	return n;
}

/* The run itself is a test: that there is one which passed shows that something was tested. */
static void put_suite(struct as_buf *out, const json_t *run, size_t number, const json_t *findings)
{
	size_t failures = count_of(findings, number), i;
	json_t *f;

	as_buf_adds(out, "  <testsuite");
	put_attribute(out, "name", text_of(run, "folder"));
	as_buf_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n",
		    failures + 1, failures);
	as_buf_adds(out, "    <testcase classname=\"assay\" name=\"the run ended\"/>\n");
	json_array_foreach(findings, i,
			   f) if ((size_t)json_integer_value(json_object_get(f, "run")) == number)
		put_case(out, f);
	as_buf_adds(out, "  </testsuite>\n");
}

int as_report_junit(const struct as_buf *json, size_t damaged, struct as_buf *out,
		    struct as_err *err)
{
	json_t *root = json_loadb(as_buf_str(json), json->len, 0, NULL), *findings, *runs, *run;
	size_t i, n;

	if (!root)
		return as_fail(err, AS_EUSE, "the data of the report cannot be read");
	findings = json_object_get(root, "findings");
	runs = json_object_get(root, "runs");
	n = json_array_size(findings);
	as_buf_addf(out,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\" "
		    "tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
		    n + json_array_size(runs) + damaged, n, damaged);
	json_array_foreach(runs, i, run) put_suite(out, run, i, findings);
	if (damaged)
		as_buf_addf(out,
			    "  <testsuite name=\"damaged\" tests=\"%zu\" failures=\"0\" "
			    "errors=\"%zu\" skipped=\"0\">\n",
			    damaged, damaged);
	for (i = 0; i < damaged; i++)
		as_buf_addf(out,
			    "    <testcase classname=\"assay\" name=\"finding %zu\">\n      <error "
			    "message=\"the finding could not be read\"/>\n    </testcase>\n",
			    i + 1);
	as_buf_adds(out, damaged ? "  </testsuite>\n</testsuites>\n" : "</testsuites>\n");
	json_decref(root);
	return 0;
}
