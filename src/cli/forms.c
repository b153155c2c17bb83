/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forms: see forms.h. */
#include "cli/forms.h"

#include "base/finding_json.h"
#include "base/json.h"
#include "os/out.h"
#include "report/forms.h"
#include "report/html.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 10000 /* findings; more are counted only */

struct as_cli_forms {
	const struct as_args *args;
	struct as_buf data;
	struct as_json json;
	size_t n;
};

static const char *path_of(const struct as_args *args, const struct as_report_form *form)
{
	return strcmp(form->name, "json") ? as_args_text(args, form->name, NULL) : NULL;
}

int as_cli_forms_open(const struct as_args *args, const char *name, struct as_cli_forms **forms,
		      struct as_err *err)
{
	bool any = false;
	int rc = 0;

	*forms = NULL;
	for (const struct as_report_form *f = as_report_forms; f->name && !rc; f++)
		if (path_of(args, f)) {
			any = true;
			rc = as_out_check(path_of(args, f), err);
		}
	if (rc || !any)
		return rc;
	*forms = as_xcalloc(1, sizeof(**forms));
	(*forms)->args = args;
	(*forms)->json = as_json_on(&(*forms)->data);
	as_json_object(&(*forms)->json);
	as_json_kuint(&(*forms)->json, "format", 1);
	as_json_key(&(*forms)->json, "runs");
	as_json_array(&(*forms)->json);
	as_json_object(&(*forms)->json);
	as_json_kstr(&(*forms)->json, "folder", name);
	as_json_end(&(*forms)->json);
	as_json_end(&(*forms)->json);
	as_json_key(&(*forms)->json, "findings");
	as_json_array(&(*forms)->json);
	return 0;
}

void as_cli_forms_add(struct as_cli_forms *forms, const struct as_finding *finding)
{
	if (!forms || forms->n++ >= KEPT_MAX)
		return;
	as_json_object(&forms->json);
	as_finding_print(&forms->json, finding, AS_FINDING_STORED);
	as_json_kuint(&forms->json, "run", 0);
	as_json_kuint(&forms->json, "count", 1);
	if (finding->workload)
		as_json_kstr(&forms->json, "workload", finding->workload);
	as_json_end(&forms->json);
}

static int write_all(const struct as_args *args, const struct as_buf *json, size_t damaged,
		     bool junit, struct as_err *err)
{
	int rc = 0;

	for (const struct as_report_form *f = as_report_forms; f->name && !rc; f++) {
		struct as_buf text = { 0 };

		if (!path_of(args, f) || (!junit && !strcmp(f->name, "junit")))
			continue;
		rc = f->print(json, damaged, &text, err);
		if (!rc)
			rc = as_out_save(path_of(args, f), &text, err);
		as_buf_free(&text);
	}
	return rc;
}

int as_cli_forms_close(struct as_cli_forms *forms, struct as_err *err)
{
	int rc;

	if (!forms)
		return 0;
	as_json_end(&forms->json);
	as_json_end(&forms->json);
	rc = write_all(forms->args, &forms->data, 0, true, err);
	as_buf_free(&forms->data);
	free(forms);
	return rc;
}

int as_cli_forms_of_folder(const struct as_args *args, const char *folder, struct as_err *err)
{
	struct as_report_totals totals;
	struct as_buf json = { 0 };
	bool any = false;
	int rc = 0;

	for (const struct as_report_form *f = as_report_forms; f->name; f++)
		any |= path_of(args, f) && strcmp(f->name, "junit");
	if (any)
		rc = as_report_data(&folder, 1, &json, &totals, err);
	if (any && !rc)
		rc = write_all(args, &json, totals.damaged, false, err);
	as_buf_free(&json);
	return rc;
}
