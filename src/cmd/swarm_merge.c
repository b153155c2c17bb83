/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swarm_merge: the cells of a campaign as one folder, and as one page. */
#include "cmd/swarm.h"

#include "base/show.h"
#include "join/join.h"
#include "os/out.h"
#include "report/html.h"
#include "swarm/picture.h"
#include "swarm/slurm.h"

#include <stdio.h>

#define MERGED "merged"

static void tell(void *ctx, const char *line)
{
	struct as_buf shown = { 0 };

	(void)ctx;
	as_show(&shown, line);
	fprintf(stderr, "assay: %s\n", as_buf_str(&shown));
	as_buf_free(&shown);
}

static int join_cells(struct as_ledger *ledger, const char *path, struct as_join_totals *totals,
		      struct as_err *err)
{
	const struct as_campaign *c = ledger->campaign;
	struct as_join *join;
	int rc = as_join_open(path, tell, NULL, &join, err);

	for (size_t i = 0; i < c->n_cells && !rc; i++) {
		struct as_buf cell = { 0 };

		as_buf_addf(&cell, "%s/%s", ledger->cells.path, c->cells[i].name);
		/* A cell that found nothing may have left no folder, or an empty one. */
		if (as_dir_has(&ledger->cells, c->cells[i].name) &&
		    !as_join_check(as_buf_str(&cell), err))
			rc = as_join_add(join, as_buf_str(&cell), err);
		as_buf_free(&cell);
	}
	if (!rc)
		rc = as_join_finish(join, totals, err);
#ifdef AS_HAVE_sqlite3
	if (!rc)
		rc = as_join_index(as_join_folder(join), err);
#endif
	as_join_close(join);
	return rc;
}

static int write_page(struct as_ledger *ledger, const char *merged, const char *path,
		      struct as_err *err)
{
	struct as_buf json = { 0 }, campaign = { 0 }, page = { 0 };
	struct as_report_extras extras = { .campaign = &campaign };
	struct as_report_totals totals;
	int rc = as_report_data(&merged, 1, &json, &totals, err);

	if (!rc) {
		as_swarm_picture(ledger, &campaign);
		as_report_page(ledger->campaign->name, &json, &extras, &page);
		rc = as_out_save(path, &page, err);
	}
	as_buf_free(&json);
	as_buf_free(&campaign);
	as_buf_free(&page);
	return rc;
}

/* Cells that found something and have written no page have one, too. */
static int write_cell_pages(struct as_ledger *ledger, struct as_err *err)
{
	const struct as_campaign *c = ledger->campaign;
	int rc = 0;

	for (size_t i = 0; i < c->n_cells && !rc; i++) {
		struct as_buf folder = { 0 }, path = { 0 }, json = { 0 }, page = { 0 };
		const struct as_report_extras none = { 0 };
		struct as_report_totals totals;
		const char *one;

		if (!ledger->tallies[i].kinds || as_cell_has_page(ledger, i))
			continue;
		as_buf_addf(&folder, "%s/%s", ledger->cells.path, c->cells[i].name);
		as_buf_addf(&path, "%s/%s", as_buf_str(&folder), AS_SWARM_PAGE);
		one = as_buf_str(&folder);
		rc = as_report_data(&one, 1, &json, &totals, err);
		if (!rc) {
			as_report_page(c->cells[i].name, &json, &none, &page);
			rc = as_out_save(as_buf_str(&path), &page, err);
		}
		as_buf_free(&folder);
		as_buf_free(&path);
		as_buf_free(&json);
		as_buf_free(&page);
	}
	return rc;
}

int as_cmd_swarm_merge(const char *folder, struct as_ledger *ledger, struct as_err *err)
{
	struct as_buf merged = { 0 }, page = { 0 };
	struct as_join_totals totals = { 0 };
	int rc = as_swarm_inbox(ledger, err);

	as_buf_addf(&merged, "%s/%s", folder, MERGED);
	as_buf_addf(&page, "%s/%s", folder, AS_SWARM_PAGE);
	if (rc >= 0)
		rc = join_cells(ledger, as_buf_str(&merged), &totals, err);
	if (!rc)
		rc = write_cell_pages(ledger, err);
	if (!rc)
		rc = write_page(ledger, as_buf_str(&merged), as_buf_str(&page), err);
	if (!rc)
		printf("%s: %zu finding%s of %zu cell%s; %s\n", as_buf_str(&merged),
		       totals.findings, as_plural(totals.findings), totals.runs,
		       as_plural(totals.runs), as_buf_str(&page));
	as_buf_free(&merged);
	as_buf_free(&page);
	return rc;
}
