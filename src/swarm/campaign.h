/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * campaign: a file that says which commands are to be run with which settings (docs/SCALE.md has
 * the format), and the cells that follow from it. A cell is one command line with a share of the
 * time and a run folder of its own.
 *
 * Invariants
 *   1. The cells, their order and their names depend on the file alone.
 *   2. A value never becomes an option by accident: a value that stands within a word stays in that
 *      word. Only where a word is "{NAME}" and nothing else, the value is split at blanks.
 *   3. The name of a cell is a digest of its words. So a cell keeps its folder if the file is
 *      edited, and two cells that would do the same are one.
 */
#ifndef AS_SWARM_CAMPAIGN_H
#define AS_SWARM_CAMPAIGN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_CELL_NAME_BYTES 20 /* "c-" and 16 digits, and a NUL */
#define AS_CELLS_MAX 1000000u
#define AS_CAMPAIGN_FILE_MAX ((size_t)4 << 20)

/* How a command divides its work among shards. */
enum as_shard_how {
	AS_SHARD_NONE,
	AS_SHARD_SEED, /* each shard has a seed of its own */
	AS_SHARD_OPTION, /* the command has --shard K/N */
};

/* A command that a cell may run. */
struct as_swarm_command {
	const char *name;
	bool timed; /* it has --for and --resume; else a cell is run once, to its end */
	enum as_shard_how shard;
	const char *event; /* of --json, that counts states; NULL: only `done` does */
	const char *limit; /* the option that bounds its work; NULL: it has none */
};

const struct as_swarm_command *as_swarm_command(const char *name);

struct as_axis {
	const char *name;
	const char **values;
	size_t n, cap;
};

/* name=value, name=value: what include and exclude lines have. */
struct as_setting {
	const char *name, *value;
};
struct as_pick {
	struct as_setting *settings;
	size_t n, cap;
	unsigned line;
};

/* What a paper says of the cells with these values (a line `then`). */
struct as_then {
	struct as_pick cells;
	const char *text;
};

/* The table that is made of a block's cells (lines `table`, `rows` and `then`). */
struct as_swarm_table {
	const char *title; /* NULL: there is none */
	const char **columns; /* names of numbers, as the command that prints it knows them */
	size_t n_columns, cap_columns;
	const char **rows; /* the axes whose values name the rows */
	size_t n_rows, cap_rows;
	struct as_then *thens;
	size_t n_thens, cap_thens;
	unsigned line;
};

/* One "cells" line and the lines below it. */
struct as_block {
	const struct as_swarm_command *command;
	const char **words; /* after "assay", with the name of the command */
	size_t n_words, cap_words;
	struct as_axis *axes;
	size_t n_axes, cap_axes;
	struct as_pick *excludes, *includes;
	size_t n_excludes, cap_excludes, n_includes, cap_includes;
	uint64_t time_s, memory_bytes, priority, shards;
	uint64_t share; /* of each cell: seconds; in a campaign with `work`, so much work */
	struct as_swarm_table table;
	bool coverage; /* count the system calls of its hunts */
	size_t n_cells;
	unsigned line;
};

struct as_swarm_cell {
	char name[AS_CELL_NAME_BYTES];
	const struct as_block *block;
	const char **words; /* ends with NULL */
	const char **values; /* one for each axis of the block */
	unsigned shard; /* from 1; 0: it is not divided */
};

struct as_campaign {
	const char *name, *file;
	uint64_t time_s, budget_s, memory_bytes, rounds, seed;
	uint64_t work; /* of each cell: workloads or transitions; 0: time counts */
	uint64_t scale, scale_of; /* all times, the budget and the work are multiplied by this */
	struct as_block *blocks;
	size_t n_blocks, cap_blocks;
	struct as_swarm_cell *cells;
	size_t n_cells, cap_cells;
	size_t doubles; /* cells that others stand for */
	struct as_table by_name;
	struct as_arena arena;
};

/* Errors are FILE:LINE:COLUMN. */
AS_MUST_CHECK int as_campaign_parse(const char *file, const char *text, size_t len,
				    struct as_campaign **campaign, struct as_err *err);
void as_campaign_free(struct as_campaign *campaign);

/* The cell of that name, or NULL. */
const struct as_swarm_cell *as_campaign_find(const struct as_campaign *campaign, const char *name);
/* For a cell: its own seconds, less if all of them together are over the budget; where `work`
 * counts, so much work. */
uint64_t as_cell_share(const struct as_campaign *campaign, const struct as_swarm_cell *cell);
/* Whether a cell has these values. */
bool as_cell_matches(const struct as_swarm_cell *cell, const struct as_pick *pick);
/* The number of an axis of a block, SIZE_MAX: there is none. */
size_t as_block_axis(const struct as_block *block, const char *name, size_t len);
/* What a cell would do outside of its folder and of a sandbox, in words; false: nothing. */
struct as_buf;
bool as_cell_reaches(const struct as_swarm_cell *cell, struct as_buf *what);

/* For campaign.c: makes the cells of all blocks. */
AS_MUST_CHECK int as_campaign_expand(struct as_campaign *campaign, struct as_err *err);

#endif
