/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_cov: see own_cov.h. */
#include "cli/own_cov.h"

#include "os/out.h"

#include <string.h>
#include <unistd.h>

/* In a folder of our own: links in it are not followed. */
static int make_parts(const struct as_dir *out, struct as_cli_cov *cov, struct as_err *err)
{
	struct as_dir parts;
	int rc = as_dir_below(out, AS_CLI_COV_FOLDER, true, &parts, err);

	if (!rc)
		as_buf_adds(&cov->folder, parts.path);
	cov->folder_is_ours = !rc;
	as_dir_close(&parts);
	return rc;
}

int as_cli_cov_open(const struct as_args *args, const struct as_dir *out, struct as_cli_cov *cov,
		    struct as_err *err)
{
	return as_cli_cov_open_at(as_args_text(args, "cov", NULL), out, cov, err);
}

int as_cli_cov_open_at(const char *path, const struct as_dir *out, struct as_cli_cov *cov,
		       struct as_err *err)
{
	size_t len;
	int rc = 0;

	*cov = (struct as_cli_cov){ .path = path };
	if (!cov->path)
		return 0;
	len = strlen(cov->path);
	if (!len)
		return as_fail(err, AS_EUSE, "--cov: expected the name of a file");
	if (cov->path[len - 1] != '/')
		rc = as_out_check(cov->path, err);
	if (rc)
		return rc;
	if (cov->path[len - 1] == '/') {
		as_buf_adds(&cov->folder, cov->path);
		rc = as_dir_make(cov->path, err);
	} else if (out) {
		rc = make_parts(out, cov, err);
	}
	cov->spec = as_counts_spec();
	if (!rc)
		rc = as_own_new(cov->spec, cov->folder.len ? as_buf_str(&cov->folder) : NULL,
				&cov->own, err);
	cov->watch = (struct as_watch)AS_OWN_WATCH(cov->own);
	return rc;
}

const struct as_watch *as_cli_cov_watch(const struct as_cli_cov *cov)
{
	return cov->own ? &cov->watch : NULL;
}

int as_cli_cov_take(struct as_cli_cov *cov, const struct as_dir *share, struct as_err *err)
{
	struct as_buf path = { 0 };
	int rc;

	as_buf_addf(&path, "%s/" AS_CLI_COV_FOLDER, share->path);
	rc = as_own_gather(cov->own, as_buf_str(&path), err);
	/* The guests have counted, in a folder of their own. */
	if (!rc && cov->folder.len && !cov->folder_is_ours)
		as_own_keep(cov->own);
	as_buf_free(&path);
	return rc;
}

static int finish(struct as_cli_cov *cov, struct as_err *err)
{
	struct as_counts *counts = as_own_counts(cov->own);
	int rc = as_own_failed(cov->own, err);

	/* If the folder belongs to another process, the file is there already. */
	if (rc || (cov->folder.len && !cov->folder_is_ours))
		return rc;
	if (cov->folder_is_ours)
		rc = as_own_gather(cov->own, as_buf_str(&cov->folder), err);
	as_counts_source(counts, "own runs");
	return rc ? rc : as_counts_save(counts, cov->path, err);
}

int as_cli_cov_close(struct as_cli_cov *cov, int rc, struct as_err *err)
{
	int saved = 0;

	if (cov->own && rc >= 0)
		saved = finish(cov, err);
	if (cov->folder_is_ours)
		rmdir(as_buf_str(&cov->folder));
	as_own_free(cov->own);
	as_spec_free(cov->spec);
	as_buf_free(&cov->folder);
	*cov = (struct as_cli_cov){ 0 };
	return saved ? saved : rc;
}
