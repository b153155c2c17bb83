/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accepted: see accepted.h. */
#include "cli/accepted.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/event.h"
#include "cli/output.h"
#include "os/out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_MAX_BYTES ((size_t)16 << 20)

struct accepted {
	const char *signature, *reason;
	bool met;
};

struct accepted_list {
	struct as_buf text; /* the rows point into it */
	struct accepted *rows;
	size_t n, cap;
};

static int read_list(const char *path, struct accepted_list *list, struct as_err *err)
{
	char *save = NULL, *line;
	int rc = as_buf_read_file(&list->text, path, KNOWN_MAX_BYTES, err);

	if (rc || !list->text.len)
		return rc;
	for (line = strtok_r(list->text.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *tab = strchr(line, '\t');

		if (*line == '#' || !line[strspn(line, " \t\r")])
			continue;
		if (!tab || !tab[1 + strspn(tab + 1, " \t\r")])
			return as_fail(err, AS_EUSE,
				       "--known %s: '%.60s': expected a signature, a tab, and a "
				       "reason",
				       path, line);
		*tab = '\0';
		AS_ARRAY_ROOM(list->rows, list->n, list->cap);
		list->rows[list->n++] = (struct accepted){ line, tab + 1, false };
	}
	return 0;
}

static struct accepted *find(struct accepted_list *list, const char *signature)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->rows[i].signature, signature))
			return &list->rows[i];
	return NULL;
}

/* Text in an attribute: what XML has no place for becomes '?'. */
static void add_xml(struct as_buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '&')
			as_buf_adds(out, "&amp;");
		else if (c == '<')
			as_buf_adds(out, "&lt;");
		else if (c == '"')
			as_buf_adds(out, "&quot;");
		else
			as_buf_addc(out, c < 0x20 || c >= 0x7f ? '?' : (char)c);
	}
}

static void add_case(struct as_buf *out, const struct as_hunt_sign *sign,
		     const struct accepted *known)
{
	as_buf_adds(out, "  <testcase classname=\"assay\" name=\"");
	add_xml(out, sign->id);
	as_buf_addf(out, "\">\n    <%s message=\"", known ? "skipped" : "failure");
	add_xml(out, known ? known->reason : sign->summary);
	as_buf_adds(out, "\"/>\n    <system-out>");
	add_xml(out, sign->signature);
	as_buf_addf(out, " (%llu times)</system-out>\n  </testcase>\n",
		    (unsigned long long)sign->count);
}

static int write_junit(const char *path, const struct as_hunt_state *state,
		       struct accepted_list *list, struct as_err *err)
{
	struct as_buf out = { 0 }, cases = { 0 };
	size_t failures = 0;
	int rc;

	for (size_t i = 0; i < state->n_signs; i++) {
		const struct accepted *known = find(list, state->signs[i].signature);

		failures += !known;
		add_case(&cases, &state->signs[i], known);
	}
	as_buf_addf(&out,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"assay hunt\" "
		    "tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n"
		    "  <testcase classname=\"assay\" name=\"%llu workloads\"/>\n%s</testsuite>\n",
		    state->n_signs + 1, failures, state->n_signs - failures,
		    (unsigned long long)state->workloads, as_buf_str(&cases));
	rc = as_out_save(path, &out, err);
	as_buf_free(&out);
	as_buf_free(&cases);
	return rc;
}

static size_t tell(const struct as_hunt_state *state, struct accepted_list *list,
		   struct as_sink *sinks)
{
	size_t n_new = 0;

	for (size_t i = 0; i < state->n_signs; i++) {
		struct accepted *known = find(list, state->signs[i].signature);

		n_new += !known;
		if (!known)
			continue;
		known->met = true;
		as_emit_note(sinks, "accepted: %s: %s", state->signs[i].id, known->reason);
	}
	for (size_t i = 0; i < list->n; i++)
		if (!list->rows[i].met)
			as_emit_note(sinks, "accepted, but not met: %s", list->rows[i].signature);
	return n_new;
}

int as_cli_accepted(const struct as_args *args, const struct as_hunt_state *state,
		    struct as_sink *sinks, bool *fails, struct as_err *err)
{
	struct accepted_list list = { 0 };
	int rc = 0;

	*fails = state->n_signs;
	if (as_args_has(args, "known"))
		rc = read_list(as_args_text(args, "known", ""), &list, err);
	if (!rc && list.n && tell(state, &list, sinks) == 0)
		*fails = state->n_signs && !strcmp(as_args_text(args, "fail-on", "new"), "any");
	if (!rc && as_args_has(args, "junit"))
		rc = write_junit(as_args_text(args, "junit", ""), state, &list, err);
	if (!rc)
		rc = as_cli_forms_of_folder(args, as_args_text(args, "out", AS_OUT_DEFAULT), err);
	free(list.rows);
	as_buf_free(&list.text);
	return rc;
}
