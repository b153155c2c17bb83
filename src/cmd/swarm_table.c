/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * swarm_table: the tables of a campaign: what a paper says of its cells, and what they have done
 * here. A block with a line `table` is a table; cells with equal values of the axes that `rows`
 * names are one row. Numbers are added up; kinds and causes of findings count once in a row, and
 * coverage is that of all its cells together.
 */
#include "base/finding_json.h"
#include "base/show.h"
#include "cmd/swarm.h"
#include "cover/metric.h"
#include "os/out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The uniform target at which the two suites of the IOCov paper deviate alike (its Figure 5). */
#define TCD_TARGET 5237

struct table_row {
	const struct as_swarm_cell *first;
	size_t cells, given_up;
	struct as_swarm_tally sum;
	struct as_digests kinds, causes, kernel;
	struct as_counts *cov; /* NULL: nobody counted calls */
};

/* ---- Columns --------------------------------------------------------------------------------- */

static void put(struct as_buf *out, uint64_t n)
{
	as_buf_addf(out, "%" PRIu64, n);
}

static void put_cells(struct as_buf *out, const struct table_row *r)
{
	put(out, r->cells);
}

static void put_seconds(struct as_buf *out, const struct table_row *r)
{
	put(out, (uint64_t)r->sum.used_us / 1000000);
}

static void put_cpu(struct as_buf *out, const struct table_row *r)
{
	put(out, r->sum.cpu_us / 1000000);
}

static void put_workloads(struct as_buf *out, const struct table_row *r)
{
	put(out, r->sum.workloads);
}

static void put_ops(struct as_buf *out, const struct table_row *r)
{
	put(out, r->sum.ops);
}

static void put_states(struct as_buf *out, const struct table_row *r)
{
	put(out, r->sum.states);
}

static void put_kinds(struct as_buf *out, const struct table_row *r)
{
	put(out, as_digests_n(&r->kinds));
}

static void put_causes(struct as_buf *out, const struct table_row *r)
{
	put(out, as_digests_n(&r->causes));
}

static void put_kernel(struct as_buf *out, const struct table_row *r)
{
	put(out, as_digests_n(&r->kernel));
}

static void put_calls(struct as_buf *out, const struct table_row *r)
{
	uint64_t calls = 0;

	for (unsigned i = 0; i < as_counts_spaces(r->cov); i++) {
		struct as_space space;

		as_counts_space(r->cov, i, &space);
		for (unsigned p = 0; p < space.n && space.kind == AS_SPACE_VARIANTS; p++)
			calls += space.parts[p].count;
		as_space_free(&space);
	}
	put(out, calls);
}

static void put_met(struct as_buf *out, struct as_coverage c)
{
	as_buf_addf(out, "%" PRIu64 " of %" PRIu64, c.met, c.of);
}

static void put_space(struct as_buf *out, const struct table_row *r, const char *family,
		      const char *arg, enum as_space_kind kind)
{
	struct as_space space;

	if (!as_counts_find(r->cov, family, arg, kind, &space))
		return;
	put_met(out, as_coverage_space(&space, 1));
	as_space_free(&space);
}

static void put_flags(struct as_buf *out, const struct table_row *r)
{
	put_space(out, r, "open", "flags", AS_SPACE_PLAIN);
}

static void put_sizes(struct as_buf *out, const struct table_row *r)
{
	put_space(out, r, "write", "count", AS_SPACE_PLAIN);
}

static void put_answers(struct as_buf *out, const struct table_row *r)
{
	put_space(out, r, "open", NULL, AS_SPACE_OUTPUT);
}

static void put_inputs(struct as_buf *out, const struct table_row *r)
{
	struct as_coverage in, answers;

	as_coverage_family(r->cov, NULL, 1, &in, &answers);
	put_met(out, in);
}

static void put_outputs(struct as_buf *out, const struct table_row *r)
{
	struct as_coverage in, answers;

	as_coverage_family(r->cov, NULL, 1, &in, &answers);
	put_met(out, answers);
}

/* The deviation for open's flags, as in the paper's Figure 5. */
static void put_tcd(struct as_buf *out, const struct table_row *r)
{
	struct as_targets *targets = as_targets_uniform(TCD_TARGET);
	struct as_tcd tcd = { 0 };
	struct as_space space;

	if (as_counts_find(r->cov, "open", "flags", AS_SPACE_PLAIN, &space)) {
		as_tcd_add(&tcd, &space, targets);
		as_space_free(&space);
		as_buf_addf(out, "%.2f", as_tcd_value(&tcd));
	}
	as_targets_free(targets);
}

/* How many flags of open came together most often, and in how many percent of the calls. */
static void put_together(struct as_buf *out, const struct table_row *r)
{
	uint64_t all = 0, most = 0;
	const char *name = NULL;
	struct as_space space;

	if (!as_counts_find(r->cov, "open", "flags", AS_SPACE_TOGETHER, &space))
		return;
	for (unsigned i = 0; i < space.n; i++) {
		all += space.parts[i].count;
		if (space.parts[i].count > most) {
			most = space.parts[i].count;
			name = space.parts[i].name;
		}
	}
	if (name)
		as_buf_addf(out, "%s: %.1f %%", name, 100.0 * (double)most / (double)all);
	as_space_free(&space);
}

/* clang-format off */
static const struct swarm_column {
	const char *name, *heading;
	/* NULL: the count of that name. */
	void (*put)(struct as_buf *out, const struct table_row *row);
	bool cov; /* it needs the counts of calls */
} columns[] = {
	{ "cells",        "cells",              put_cells,     false },
	{ "seconds",      "s by the clock",     put_seconds,   false },
	{ "cpu",          "CPU s",              put_cpu,       false },
	{ "workloads",    "workloads",          put_workloads, false },
	{ "ops",          "operations",         put_ops,       false },
	{ "states",       "states",             put_states,    false },
	{ "disks",        "disks",              put_states,    false },
	{ "expanded",     "expanded",           NULL,          false },
	{ "transitions",  "transitions",        NULL,          false },
	{ "crash_states", "crash states",       NULL,          false },
	{ "recoveries",   "recoveries",         NULL,          false },
	{ "memoised",     "from the memo",      NULL,          false },
	{ "runs",         "runs",               NULL,          false },
	{ "problems",     "problems",           NULL,          false },
	{ "paths",        "paths",              NULL,          false },
	{ "buggy",        "with a problem",     NULL,          false },
	{ "kinds",        "kinds of findings",  put_kinds,     false },
	{ "causes",       "groups of kinds",    put_causes,    false },
	{ "kernel",       "kernel crashes, warnings and hangs", put_kernel, false },
	{ "calls",        "calls",              put_calls,     true },
	{ "flags",        "flags of open met",  put_flags,     true },
	{ "together",     "most flags of open together", put_together, true },
	{ "sizes",        "sizes of write met", put_sizes,     true },
	{ "answers",      "answers of open met", put_answers,  true },
	{ "inputs",       "all inputs met",     put_inputs,    true },
	{ "outputs",      "all outputs met",    put_outputs,   true },
	{ "tcd",          "TCD of open's flags", put_tcd,      true },
};
/* clang-format on */

static const struct swarm_column *find_column(const char *name)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!strcmp(columns[i].name, name))
			return &columns[i];
	return NULL;
}

int as_cmd_swarm_check_tables(const struct as_campaign *c, struct as_err *err)
{
	for (size_t b = 0; b < c->n_blocks; b++) {
		const struct as_swarm_table *t = &c->blocks[b].table;

		for (size_t i = 0; i < t->n_columns; i++) {
			const struct swarm_column *column = find_column(t->columns[i]);

			if (!column)
				return as_fail(err, AS_EUSE, "%s:%u: there is no column '%s'",
					       c->file, t->line, t->columns[i]);
			if (column->cov && !c->blocks[b].coverage)
				return as_fail(err, AS_EUSE,
					       "%s:%u: the column '%s' needs a line `coverage`",
					       c->file, t->line, t->columns[i]);
		}
	}
	return 0;
}

static void put_count(struct as_buf *out, const struct table_row *row, const char *name)
{
	for (enum as_slice_count i = 0; i < AS_SLICE_N_COUNTS; i++)
		if (!strcmp(as_slice_count_name(i), name))
			put(out, row->sum.counts[i]);
}

static void put_column(struct as_buf *out, const struct table_row *row, const char *name)
{
	const struct swarm_column *column = find_column(name);

	as_buf_adds(out, " ");
	if (row->given_up == row->cells)
		as_buf_adds(out, "failed");
	else if (column->cov && !row->cov)
		as_buf_adds(out, "–");
	else if (column->put)
		column->put(out, row);
	else
		put_count(out, row, name);
	as_buf_adds(out, " |");
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void add_finding(void *ctx, const struct as_finding *f)
{
	struct as_digest digest = as_hash(f->signature, strlen(f->signature));
	struct table_row *row = ctx;

	as_digests_add(&row->kinds, digest);
	as_digests_add(&row->causes, as_ledger_cause(f));
	if (f->kind == AS_FIND_KERNEL || f->kind == AS_FIND_HANG || f->kind == AS_FIND_SIGNAL)
		as_digests_add(&row->kernel, digest);
}

/* Adds the counts of calls of all rounds of a cell. */
static int add_coverage(const struct as_ledger *ledger, const struct as_spec *spec, size_t cell,
			struct table_row *row, struct as_err *err)
{
	const char *name = ledger->campaign->cells[cell].name;
	struct as_dir folder = AS_DIR_NONE;
	int rc = 0;

	if (!as_dir_has(&ledger->cells, name))
		return 0;
	rc = as_dir_below(&ledger->cells, name, false, &folder, err);
	for (uint64_t round = 1; round <= ledger->tallies[cell].rounds && !rc; round++) {
		struct as_counts *counts = NULL;
		struct as_buf path = { 0 };
		char file[48];

		snprintf(file, sizeof(file), "round-%" PRIu64 ".cov", round);
		as_buf_addf(&path, "%s/%s", folder.path, file);
		if (as_dir_has(&folder, file))
			rc = as_counts_load(spec, as_buf_str(&path), &counts, err);
		if (counts && !row->cov)
			row->cov = as_counts_new(spec);
		if (counts)
			as_counts_merge(row->cov, counts);
		as_counts_free(counts);
		as_buf_free(&path);
	}
	as_dir_close(&folder);
	return rc;
}

static bool same_row(const struct as_swarm_cell *a, const struct as_swarm_cell *b)
{
	const struct as_block *block = a->block;
	const struct as_swarm_table *t = &block->table;

	for (size_t i = 0; i < t->n_rows; i++) {
		size_t axis = as_block_axis(block, t->rows[i], strlen(t->rows[i]));

		if (strcmp(a->values[axis], b->values[axis]))
			return false;
	}
	return true;
}

static void add_tally(struct as_swarm_tally *sum, const struct as_swarm_tally *t)
{
	sum->used_us += t->used_us;
	sum->cpu_us += t->cpu_us;
	sum->workloads += t->workloads;
	sum->ops += t->ops;
	sum->states += t->states;
	if (t->load_min && (!sum->load_min || t->load_min < sum->load_min))
		sum->load_min = t->load_min;
	if (t->load_max > sum->load_max)
		sum->load_max = t->load_max;
	for (size_t i = 0; i < AS_SLICE_N_COUNTS; i++)
		sum->counts[i] += t->counts[i];
}

/* A text as a field of a table: no bars, and one line. */
static void put_text(struct as_buf *out, const char *text)
{
	for (; *text; text++)
		if (*text == '|')
			as_buf_adds(out, "\\|");
		else
			as_buf_addc(out, (unsigned char)*text < ' ' ? ' ' : *text);
}

static void put_then(struct as_buf *out, const struct table_row *row)
{
	const struct as_swarm_table *t = &row->first->block->table;
	size_t n = 0;

	as_buf_adds(out, " ");
	for (size_t i = 0; i < t->n_thens; i++)
		if (as_cell_matches(row->first, &t->thens[i].cells)) {
			as_buf_adds(out, n++ ? "; " : "");
			put_text(out, t->thens[i].text);
		}
	as_buf_adds(out, n ? " |" : "– |");
}

static void put_row(struct as_buf *out, const struct table_row *row)
{
	const struct as_block *block = row->first->block;
	const struct as_swarm_table *t = &block->table;

	as_buf_adds(out, "|");
	for (size_t i = 0; i < t->n_rows; i++) {
		size_t axis = as_block_axis(block, t->rows[i], strlen(t->rows[i]));
		const char *value = row->first->values[axis];

		as_buf_addc(out, ' ');
		put_text(out, *value ? value : "(none)");
		as_buf_adds(out, " |");
	}
	put_then(out, row);
	for (size_t i = 0; i < t->n_columns; i++)
		put_column(out, row, t->columns[i]);
	as_buf_addc(out, '\n');
}

static void free_row(struct table_row *row)
{
	as_digests_free(&row->kinds);
	as_digests_free(&row->causes);
	as_digests_free(&row->kernel);
	as_counts_free(row->cov);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* One row: the cells from `first` on that belong to it. */
static int add_row(const struct as_ledger *ledger, const struct as_spec *spec, size_t first,
		   bool *done, struct as_buf *out, struct as_err *err)
{
	const struct as_campaign *c = ledger->campaign;
	struct table_row row = { .first = &c->cells[first] };
	int rc = 0;

	for (size_t i = first; i < c->n_cells && !rc; i++) {
		if (c->cells[i].block != row.first->block || !same_row(row.first, &c->cells[i]))
			continue;
		done[i] = true;
		row.cells++;
		row.given_up += ledger->tallies[i].given_up;
		add_tally(&row.sum, &ledger->tallies[i]);
		as_ledger_findings(ledger, i, add_finding, &row);
		if (row.first->block->coverage)
			rc = add_coverage(ledger, spec, i, &row, err);
	}
	if (!rc)
		put_row(out, &row);
	free_row(&row);
	return rc;
}

static void put_head(struct as_buf *out, const struct as_ledger *ledger,
		     const struct as_block *block)
{
	const struct as_campaign *c = ledger->campaign;
	const struct as_swarm_table *t = &block->table;
	struct as_swarm_tally sum = { 0 };
	size_t given_up = 0;

	for (size_t i = 0; i < c->n_cells; i++)
		if (c->cells[i].block == block) {
			add_tally(&sum, &ledger->tallies[i]);
			given_up += ledger->tallies[i].given_up;
		}
	as_buf_addf(out, "### %s\n\n%zu cells, ", t->title, block->n_cells);
	as_swarm_amount(out, c, block->share);
	as_buf_adds(out, " each");
	if (c->scale != c->scale_of)
		as_buf_addf(out, " (%" PRIu64 "/%" PRIu64 " of the file's)", c->scale, c->scale_of);
	as_buf_addf(out, ", %" PRIu64 " round%s; ", c->rounds, as_plural(c->rounds));
	if (given_up)
		as_buf_addf(out, "%zu failed; ", given_up);
	as_buf_addf(out, "%.0f s by the clock and %.0f s CPU time in all; load %.1f to %.1f\n\n|",
		    (double)sum.used_us / 1e6, (double)sum.cpu_us / 1e6, (double)sum.load_min / 100,
		    (double)sum.load_max / 100);
	for (size_t i = 0; i < t->n_rows; i++)
		as_buf_addf(out, " %s |", t->rows[i]);
	as_buf_adds(out, " paper then |");
	for (size_t i = 0; i < t->n_columns; i++)
		as_buf_addf(out, " %s%s |",
			    i ? "" : "here now: ", find_column(t->columns[i])->heading);
	as_buf_adds(out, "\n|");
	for (size_t i = 0; i < t->n_rows + 1 + t->n_columns; i++)
		as_buf_adds(out, "---|");
	as_buf_addc(out, '\n');
}

static int add_table(const struct as_ledger *ledger, const struct as_spec *spec,
		     const struct as_block *block, bool *done, struct as_buf *out,
		     struct as_err *err)
{
	const struct as_campaign *c = ledger->campaign;
	int rc = 0;

	if (out->len)
		as_buf_addc(out, '\n');
	put_head(out, ledger, block);
	for (size_t i = 0; i < c->n_cells && !rc; i++)
		if (c->cells[i].block == block && !done[i])
			rc = add_row(ledger, spec, i, done, out, err);
	return rc;
}

int as_cmd_swarm_table(const struct as_ledger *ledger, struct as_err *err)
{
	const struct as_campaign *c = ledger->campaign;
	bool *done = as_xcalloc(c->n_cells, sizeof(*done));
	struct as_spec *spec = as_counts_spec();
	struct as_buf out = { 0 };
	int rc = 0;

	for (size_t b = 0; b < c->n_blocks && !rc; b++)
		if (c->blocks[b].table.title)
			rc = add_table(ledger, spec, &c->blocks[b], done, &out, err);
	if (!rc && !out.len)
		rc = as_fail(err, AS_EUSE, "%s: no cells have a line `table`", c->file);
	if (!rc)
		rc = as_out_save("-", &out, err);
	as_buf_free(&out);
	as_spec_free(spec);
	free(done);
	return rc;
}
