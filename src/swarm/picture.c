/* SPDX-License-Identifier: GPL-2.0-or-later */
/* picture: see picture.h. */
#include "swarm/picture.h"

const char *as_tally_state(const struct as_swarm_tally *t)
{
	if (t->given_up)
		return "given up";
	if (t->complete)
		return "complete";
	return t->slices ? "goes on" : "waits";
}

void as_tally_print(struct as_json *json, const struct as_swarm_tally *t)
{
	as_json_kstr(json, "state", as_tally_state(t));
	as_json_kuint(json, "slices", t->slices);
	as_json_kint(json, "used_us", t->used_us);
	as_json_kuint(json, "work", t->work);
	as_json_kuint(json, "cpu_us", t->cpu_us);
	as_json_kuint(json, "ops", t->ops);
	as_json_kuint(json, "states", t->states);
	as_json_kuint(json, "kinds", t->kinds);
	as_json_kint(json, "status", t->status);
}

bool as_cell_has_page(const struct as_ledger *ledger, size_t i)
{
	struct as_dir run = AS_DIR_NONE;
	struct as_err err;
	bool has =
		as_dir_has(&ledger->cells, ledger->campaign->cells[i].name) &&
		!as_dir_below(&ledger->cells, ledger->campaign->cells[i].name, false, &run, &err) &&
		as_dir_has(&run, AS_SWARM_PAGE);

	as_dir_close(&run);
	return has;
}

static void add_cell(struct as_json *json, const struct as_ledger *ledger, size_t i)
{
	const struct as_swarm_cell *cell = &ledger->campaign->cells[i];

	as_json_object(json);
	as_json_kstr(json, "cell", cell->name);
	as_json_key(json, "words");
	as_json_array(json);
	for (size_t w = 0; cell->words[w]; w++)
		as_json_str(json, cell->words[w]);
	as_json_end(json);
	as_json_key(json, "values");
	as_json_array(json);
	for (size_t v = 0; v < cell->block->n_axes; v++)
		as_json_str(json, cell->values[v]);
	if (cell->block->shards > 1)
		as_json_uint(json, cell->shard);
	as_json_end(json);
	as_tally_print(json, &ledger->tallies[i]);
	as_json_kbool(json, "page", as_cell_has_page(ledger, i));
	as_json_end(json);
}

static void add_block(struct as_json *json, const struct as_ledger *ledger,
		      const struct as_block *block)
{
	struct as_buf line = { 0 };

	for (size_t i = 0; i < block->n_words; i++)
		as_buf_addf(&line, "%s%s", i ? " " : "", block->words[i]);
	as_json_object(json);
	as_json_kstr(json, "command", block->command->name);
	as_json_kstr(json, "line", as_buf_str(&line));
	as_json_key(json, "axes");
	as_json_array(json);
	for (size_t i = 0; i < block->n_axes; i++)
		as_json_str(json, block->axes[i].name);
	if (block->shards > 1)
		as_json_str(json, "shard");
	as_json_end(json);
	as_json_key(json, "cells");
	as_json_array(json);
	for (size_t i = 0; i < ledger->campaign->n_cells; i++)
		if (ledger->campaign->cells[i].block == block)
			add_cell(json, ledger, i);
	as_json_end(json);
	as_json_end(json);
	as_buf_free(&line);
}

void as_swarm_picture(const struct as_ledger *ledger, struct as_buf *out)
{
	struct as_json json = as_json_on(out);

	as_json_object(&json);
	as_json_kstr(&json, "name", ledger->campaign->name);
	as_json_key(&json, "blocks");
	as_json_array(&json);
	for (size_t b = 0; b < ledger->campaign->n_blocks; b++)
		add_block(&json, ledger, &ledger->campaign->blocks[b]);
	as_json_end(&json);
	as_json_end(&json);
}
