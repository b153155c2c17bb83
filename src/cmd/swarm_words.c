/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swarm_words: what plans and states of campaigns look like. */
#include "base/json.h"
#include "base/show.h"
#include "cli/cli.h"
#include "cmd/swarm.h"
#include "swarm/picture.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOWN_CELLS 20

static void add_duration(struct as_buf *out, uint64_t s)
{
	if (s >= 3600)
		as_buf_addf(out, "%" PRIu64 " h %02" PRIu64 " min", s / 3600, s / 60 % 60);
	else if (s >= 60)
		as_buf_addf(out, "%" PRIu64 " min %02" PRIu64 " s", s / 60, s % 60);
	else
		as_buf_addf(out, "%" PRIu64 " s", s);
}

void as_swarm_amount(struct as_buf *out, const struct as_campaign *c, uint64_t n)
{
	if (c->work)
		as_buf_addf(out, "%" PRIu64 " workloads or transitions", n);
	else
		add_duration(out, n);
}

void as_swarm_words(struct as_buf *out, const struct as_swarm_cell *cell)
{
	for (size_t i = 0; cell->words[i]; i++) {
		if (i)
			as_buf_addc(out, ' ');
		as_show(out, cell->words[i]);
	}
}

static uint64_t whole_share(const struct as_campaign *c)
{
	uint64_t all = 0;

	for (size_t i = 0; i < c->n_cells; i++)
		all += as_cell_share(c, &c->cells[i]);
	return all;
}

void as_swarm_plan_json(const struct as_campaign *c, struct as_buf *out)
{
	for (size_t i = 0; i < c->n_cells; i++) {
		const struct as_swarm_cell *cell = &c->cells[i];
		struct as_json json = as_json_on(out);

		as_json_object(&json);
		as_json_kstr(&json, "event", "cell");
		as_json_kstr(&json, "cell", cell->name);
		as_json_key(&json, "words");
		as_json_array(&json);
		for (size_t w = 0; cell->words[w]; w++)
			as_json_str(&json, cell->words[w]);
		as_json_end(&json);
		as_json_kuint(&json, c->work ? "work" : "seconds", as_cell_share(c, cell));
		as_json_kuint(&json, "memory_bytes", cell->block->memory_bytes);
		as_json_kuint(&json, "priority", cell->block->priority);
		as_json_end(&json);
		as_buf_addc(out, '\n');
	}
}

void as_swarm_plan_text(const struct as_campaign *c, unsigned jobs, bool all, struct as_buf *out)
{
	uint64_t all_of_it = whole_share(c), memory = 0;
	size_t shown = all || c->n_cells <= SHOWN_CELLS ? c->n_cells : SHOWN_CELLS;

	for (size_t i = 0; i < c->n_cells; i++)
		if (c->cells[i].block->memory_bytes > memory)
			memory = c->cells[i].block->memory_bytes;
	for (size_t i = 0; i < shown; i++) {
		as_buf_addf(out, "%s  ", c->cells[i].name);
		as_swarm_words(out, &c->cells[i]);
		as_buf_addc(out, '\n');
	}
	if (shown < c->n_cells)
		as_buf_addf(out, "... %zu more; --all lists them\n", c->n_cells - shown);
	as_buf_addf(out, "%s: %zu cell%s", c->name, c->n_cells, as_plural(c->n_cells));
	if (c->doubles)
		as_buf_addf(out, " (%zu more would do the same as one of these)", c->doubles);
	as_buf_addf(out, ", %" PRIu64 " round%s, ", c->rounds, as_plural(c->rounds));
	as_swarm_amount(out, c, all_of_it);
	as_buf_adds(out, " in all; with --jobs ");
	as_buf_addf(out, "%u about ", jobs);
	as_swarm_amount(out, c, (all_of_it + jobs - 1) / jobs);
	as_buf_addf(out, "%s and up to %" PRIu64 " MiB\n", c->work ? " each" : "",
		    memory * jobs >> 20);
}

/* ---- Status ---------------------------------------------------------------------------------- */

void as_swarm_status_json(const struct as_ledger *ledger, struct as_buf *out)
{
	for (size_t i = 0; i < ledger->campaign->n_cells; i++) {
		const struct as_swarm_tally *t = &ledger->tallies[i];
		struct as_json json = as_json_on(out);

		as_json_object(&json);
		as_json_kstr(&json, "event", "cell");
		as_json_kstr(&json, "cell", ledger->campaign->cells[i].name);
		as_tally_print(&json, t);
		as_json_end(&json);
		as_buf_addc(out, '\n');
	}
}

void as_swarm_status_text(const struct as_ledger *ledger, struct as_buf *out)
{
	const struct as_campaign *c = ledger->campaign;
	uint64_t work = 0;
	int64_t used = 0;
	size_t over = 0;

	as_buf_adds(out, "cell                state     slices     time          ops       states  "
			 "kinds\n");
	for (size_t i = 0; i < c->n_cells; i++) {
		const struct as_swarm_tally *t = &ledger->tallies[i];

		used += t->used_us;
		work += t->work;
		over += t->complete || t->given_up;
		as_buf_addf(out,
			    "%-18s  %-8s  %6" PRIu64 "  %7.1f  %11" PRIu64 "  %11" PRIu64
			    "  %5" PRIu64 "  ",
			    c->cells[i].name, as_tally_state(t), t->slices,
			    (double)t->used_us / 1e6, t->ops, t->states, t->kinds);
		as_swarm_words(out, &c->cells[i]);
		as_buf_addc(out, '\n');
		if (t->said[0]) {
			as_buf_adds(out, "      ");
			as_show(out, t->said);
			as_buf_addc(out, '\n');
		}
	}
	as_buf_addf(out, "%s: %zu cells, %zu of them over, ", c->name, c->n_cells, over);
	as_swarm_amount(out, c, c->work ? work : (uint64_t)used / 1000000);
	as_buf_adds(out, " of ");
	as_swarm_amount(out, c, whole_share(c));
	as_buf_addf(out, " used, %zu different kinds of findings\n", as_digests_n(&ledger->kinds));
}
