/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stored: see stored.h. */
#include "dossier/stored.h"

#include "base/buf.h"
#include "os/rundir.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define JSON_MAX_BYTES ((size_t)64 << 20)
#define TEXT_MAX_BYTES ((size_t)1 << 28)

static int read_workload(const struct as_dir *dir, const char *name, char **workload,
			 struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_dir_read(dir, name, TEXT_MAX_BYTES, &text, err);

	if (!rc)
		*workload = as_xstrdup(as_buf_str(&text));
	as_buf_free(&text);
	return rc;
}

static int read_finding(const struct as_dir *dir, json_t **root, struct as_err *err)
{
	struct as_buf text = { 0 };
	json_error_t where;
	int rc = as_dir_read(dir, AS_FINDING_NAME, JSON_MAX_BYTES, &text, err);

	*root = NULL;
	if (!rc) {
		*root = json_loadb(as_buf_str(&text), text.len, 0, &where);
		if (!json_is_object(*root))
			rc = as_fail(err, AS_EUSE, "%s/" AS_FINDING_NAME ":%d: not a finding: %s",
				     dir->path, *root ? 1 : where.line,
				     *root ? "expected an object" : where.text);
	}
	as_buf_free(&text);
	return rc;
}

int as_stored_load(const struct as_dir *dir, struct as_stored *stored, struct as_err *err)
{
	struct as_err why;
	json_t *root;
	int rc = read_finding(dir, &root, err);

	*stored = (struct as_stored){ 0 };
	if (!rc && as_finding_parse(root, AS_FINDING_STORED, &stored->finding, &why))
		rc = as_fail(err, AS_EUSE, "%s/" AS_FINDING_NAME ": not a finding: %s", dir->path,
			     why.msg);
	/* Others write such files, too. */
	if (!rc && !stored->finding.summary)
		stored->finding.summary = "";
	/* A finding that has other files in place of a workload. */
	if (!rc && !strncmp(stored->finding.options, "fsck=", 5))
		stored->workload = as_xstrdup("");
	else if (!rc)
		rc = read_workload(dir, AS_WORKLOAD_NAME, &stored->workload, err);
	if (!rc && json_is_object(json_object_get(root, "reduced")))
		rc = read_workload(dir, AS_REDUCED_NAME, &stored->reduced, err);
	if (!rc && as_dir_has(dir, AS_LAYOUT_NAME)) {
		struct as_buf path = { 0 };

		as_buf_addf(&path, "%s/" AS_LAYOUT_NAME, dir->path);
		stored->layout = as_xstrdup(as_buf_str(&path));
		as_buf_free(&path);
	}
	stored->finding.workload = stored->workload;
	json_decref(root);
	if (rc)
		as_stored_free(stored);
	return rc;
}

void as_stored_free(struct as_stored *s)
{
	as_finding_free(&s->finding);
	free(s->workload);
	free(s->reduced);
	free(s->layout);
	*s = (struct as_stored){ 0 };
}

const char *as_stored_shows(const struct as_stored *stored)
{
	const json_t *reduced = json_object_get(stored->finding.own, "reduced");

	return stored->reduced ? json_string_value(json_object_get(reduced, "summary")) : NULL;
}

bool as_stored_is_power(const struct as_finding *f)
{
	return f->kind == AS_FIND_CRASH || f->kind == AS_FIND_RECOVERY;
}
