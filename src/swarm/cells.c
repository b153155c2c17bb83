/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cells: from the matrices of a campaign to its cells. All combinations of the values of a block
 * are gone through like the digits of a number, the last axis first; those that an exclude line
 * names are left out, and include lines add theirs.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/hash.h"
#include "swarm/campaign.h"
#include "target/trust.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_S 10u /* scaled campaigns have no shorter slices, but for one */

struct expansion {
	struct as_campaign *campaign;
	struct as_block *block;
	const char **values; /* of the cell that is being made, one for each axis */
	struct as_err *err;
};

size_t as_block_axis(const struct as_block *block, const char *name, size_t len)
{
	for (size_t i = 0; i < block->n_axes; i++)
		if (strlen(block->axes[i].name) == len && !memcmp(block->axes[i].name, name, len))
			return i;
	return SIZE_MAX;
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* The value of "{NAME}" at `at`; *len: of the braces and what is in them. */
static int value_at(struct expansion *x, const char *at, size_t *len, const char **value)
{
	const char *end = strchr(at, '}');
	size_t axis;

	if (!end)
		return as_fail(x->err, AS_EUSE, "%s:%u: '%s' has no closing brace",
			       x->campaign->file, x->block->line, at);
	axis = as_block_axis(x->block, at + 1, (size_t)(end - at) - 1);
	if (axis == SIZE_MAX)
		return as_fail(x->err, AS_EUSE, "%s:%u: there are no values for '%.*s'",
			       x->campaign->file, x->block->line, (int)(end - at) + 1, at);
	*len = (size_t)(end - at) + 1;
	*value = x->values[axis];
	return 0;
}

struct cells_words {
	const char **words;
	size_t n, cap;
};

static void add_word(struct expansion *x, struct cells_words *list, const char *text, size_t len)
{
	AS_ARRAY_ROOM(list->words, list->n, list->cap);
	list->words[list->n++] = text ? as_arena_strndup(&x->campaign->arena, text, len) : NULL;
}

static void split(struct expansion *x, struct cells_words *list, const char *value)
{
	for (const char *at = value; *at;) {
		size_t len = strcspn(at, " \t");

		if (len)
			add_word(x, list, at, len);
		at += len + (at[len] != 0);
	}
}

static int fill_word(struct expansion *x, struct cells_words *list, const char *word)
{
	struct as_buf text = { 0 };
	const char *value;
	size_t len;
	int rc = 0;

	if (word[0] == '{' && strchr(word, '}') && !strchr(word, '}')[1]) {
		rc = value_at(x, word, &len, &value);
		if (!rc)
			split(x, list, value);
		return rc;
	}
	while (*word && !rc) {
		len = strcspn(word, "{");
		as_buf_add(&text, word, len);
		word += len;
		if (!*word)
			break;
		rc = value_at(x, word, &len, &value);
		if (!rc) {
			as_buf_adds(&text, value);
			word += len;
		}
	}
	if (!rc)
		add_word(x, list, as_buf_str(&text), text.len);
	as_buf_free(&text);
	return rc;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static struct as_digest digest_of(const char *const *words)
{
	struct as_buf text = { 0 };
	struct as_digest digest;

	for (; *words; words++) {
		as_buf_adds(&text, *words);
		as_buf_addc(&text, '\0');
	}
	digest = as_hash(as_buf_str(&text), text.len);
	as_buf_free(&text);
	return digest;
}

static uint64_t name_hash(const char *name)
{
	return as_hash64(name, strlen(name));
}

struct cells_wanted {
	const struct as_campaign *campaign;
	const char *name;
};

static bool has_name(const void *ctx, size_t item)
{
	const struct cells_wanted *wanted = ctx;

	return !strcmp(wanted->campaign->cells[item].name, wanted->name);
}

const struct as_swarm_cell *as_campaign_find(const struct as_campaign *c, const char *name)
{
	struct cells_wanted wanted = { c, name };
	size_t i = as_table_find(&c->by_name, name_hash(name), has_name, &wanted);

	return i == AS_TABLE_NONE ? NULL : &c->cells[i];
}

static void add_shard(struct expansion *x, struct cells_words *list, unsigned shard)
{
	const struct as_block *block = x->block;
	char text[64];
	int n;

	if (!shard)
		return;
	if (block->command->shard == AS_SHARD_OPTION) {
		add_word(x, list, "--shard", 7);
		n = snprintf(text, sizeof(text), "%u/%" PRIu64, shard, block->shards);
	} else {
		add_word(x, list, "--seed", 6);
		n = snprintf(text, sizeof(text), "%" PRIu64,
			     (x->campaign->seed * 1000003 + shard) & INT64_MAX);
	}
	add_word(x, list, text, (size_t)n);
}

static int add_cell(struct expansion *x, unsigned shard)
{
	struct as_campaign *c = x->campaign;
	struct cells_words list = { 0 };
	struct as_swarm_cell cell = { .block = x->block, .shard = shard };
	size_t bytes = x->block->n_axes * sizeof(*cell.values);
	int rc = 0;

	if (c->n_cells == AS_CELLS_MAX)
		return as_fail(x->err, AS_EUSE, "%s: there are more than %u cells", c->file,
			       AS_CELLS_MAX);
	for (size_t i = 0; i < x->block->n_words && !rc; i++)
		rc = fill_word(x, &list, x->block->words[i]);
	if (!rc) {
		add_shard(x, &list, shard);
		add_word(x, &list, NULL, 0);
		cell.words = as_arena_alloc(&c->arena, list.n * sizeof(*list.words));
		memcpy(cell.words, list.words, list.n * sizeof(*list.words));
		cell.values = as_arena_alloc(&c->arena, bytes + 1);
		memcpy(cell.values, x->values, bytes);
		snprintf(cell.name, sizeof(cell.name), "c-%016" PRIx64, digest_of(cell.words).lo);
		if (as_campaign_find(c, cell.name)) {
			c->doubles++;
		} else {
			AS_ARRAY_ROOM(c->cells, c->n_cells, c->cap_cells);
			as_table_add(&c->by_name, name_hash(cell.name), c->n_cells);
			c->cells[c->n_cells++] = cell;
			x->block->n_cells++;
		}
	}
	free(list.words);
	return rc;
}

static int add_shards(struct expansion *x)
{
	uint64_t n = x->block->shards;
	int rc = 0;

	if (n == 1)
		return add_cell(x, 0);
	for (unsigned k = 1; k <= n && !rc; k++)
		rc = add_cell(x, k);
	return rc;
}

static bool matches(const struct as_block *block, const struct as_pick *pick,
		    const char *const *values)
{
	for (size_t i = 0; i < pick->n; i++) {
		const char *name = pick->settings[i].name;

		if (strcmp(values[as_block_axis(block, name, strlen(name))],
			   pick->settings[i].value))
			return false;
	}
	return true;
}

static bool is_excluded(const struct as_block *block, const char *const *values)
{
	for (size_t i = 0; i < block->n_excludes; i++)
		if (matches(block, &block->excludes[i], values))
			return true;
	return false;
}

static int check_names(struct expansion *x, const struct as_pick *picks, size_t n, bool all)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t s = 0; s < picks[i].n; s++) {
			const char *name = picks[i].settings[s].name;

			if (as_block_axis(x->block, name, strlen(name)) == SIZE_MAX)
				return as_fail(x->err, AS_EUSE,
					       "%s:%u: there are no values for '%s'",
					       x->campaign->file, picks[i].line, name);
		}
		if (all && picks[i].n != x->block->n_axes)
			return as_fail(x->err, AS_EUSE,
				       "%s:%u: an include line has a value for each name once",
				       x->campaign->file, picks[i].line);
	}
	return 0;
}

static int add_includes(struct expansion *x)
{
	const struct as_block *block = x->block;
	int rc = 0;

	for (size_t i = 0; i < block->n_includes && !rc; i++) {
		const struct as_pick *pick = &block->includes[i];

		memset(x->values, 0, block->n_axes * sizeof(*x->values));
		for (size_t s = 0; s < pick->n; s++) {
			const char *name = pick->settings[s].name;

			x->values[as_block_axis(block, name, strlen(name))] =
				pick->settings[s].value;
		}
		for (size_t a = 0; a < block->n_axes; a++)
			if (!x->values[a])
				return as_fail(x->err, AS_EUSE, "%s:%u: '%s' has no value here",
					       x->campaign->file, pick->line, block->axes[a].name);
		rc = add_shards(x);
	}
	return rc;
}

static int expand_matrix(struct expansion *x)
{
	const struct as_block *block = x->block;
	size_t *digits = as_xcalloc(block->n_axes + 1, sizeof(*digits)), at = 0;
	int rc = 0;

	while (!rc) {
		for (size_t a = 0; a < block->n_axes; a++)
			x->values[a] = block->axes[a].values[digits[a]];
		if (!is_excluded(block, x->values))
			rc = add_shards(x);
		for (at = block->n_axes; at > 0; at--) {
			if (++digits[at - 1] < block->axes[at - 1].n)
				break;
			digits[at - 1] = 0;
		}
		if (!at)
			break;
	}
	free(digits);
	return rc;
}

/* Multiplies by the campaign's factor; nothing becomes 0. */
static void scale(const struct as_campaign *c, uint64_t from, uint64_t *to)
{
	unsigned __int128 scaled = (unsigned __int128)from * c->scale / c->scale_of;

	*to = !scaled				   ? 1
	      : scaled > UINT64_MAX / AS_CELLS_MAX ? UINT64_MAX / AS_CELLS_MAX
						   : (uint64_t)scaled;
}

/* A shorter campaign has fewer rounds: a guest takes seconds to start in each slice. */
static void scale_rounds(struct as_campaign *c)
{
	uint64_t shortest = UINT64_MAX;

	if (c->budget_s)
		scale(c, c->budget_s, &c->budget_s);
	for (size_t b = 0; b < c->n_blocks; b++)
		if (c->blocks[b].command->timed && c->blocks[b].share < shortest)
			shortest = c->blocks[b].share;
	if (!c->work && c->scale < c->scale_of && c->rounds > shortest / SLICE_S)
		c->rounds = shortest / SLICE_S ? shortest / SLICE_S : 1;
}

/* Rows and what is said of them name values that there are. */
static int check_table(struct expansion *x)
{
	const struct as_swarm_table *t = &x->block->table;
	int rc = 0;

	if (!t->title && (t->n_rows || t->n_thens))
		return as_fail(x->err, AS_EUSE, "%s:%u: these cells have no line `table`",
			       x->campaign->file, x->block->line);
	for (size_t i = 0; i < t->n_rows; i++)
		if (as_block_axis(x->block, t->rows[i], strlen(t->rows[i])) == SIZE_MAX)
			return as_fail(x->err, AS_EUSE, "%s:%u: there are no values for '%s'",
				       x->campaign->file, t->line, t->rows[i]);
	for (size_t i = 0; i < t->n_thens && !rc; i++)
		rc = check_names(x, &t->thens[i].cells, 1, false);
	return rc;
}

int as_campaign_expand(struct as_campaign *c, struct as_err *err)
{
	int rc = 0;

	for (size_t b = 0; b < c->n_blocks && !rc; b++) {
		struct as_block *block = &c->blocks[b];
		struct expansion x = { .campaign = c, .block = block, .err = err };

		if (!block->time_s)
			block->time_s = c->time_s;
		if (c->work && (c->budget_s || !block->command->limit))
			return as_fail(err, AS_EUSE, "%s:%u: `work` does not go with %s", c->file,
				       block->line,
				       c->budget_s ? "a budget" : block->command->name);
		scale(c, c->work ? c->work : block->time_s, &block->share);
		if (!block->memory_bytes)
			block->memory_bytes = c->memory_bytes;
		if (block->shards > 1 && block->command->shard == AS_SHARD_NONE)
			return as_fail(err, AS_EUSE, "%s:%u: '%s' cannot be divided into shards",
				       c->file, block->line, block->command->name);
		x.values = as_xcalloc(block->n_axes + 1, sizeof(*x.values));
		rc = check_names(&x, block->excludes, block->n_excludes, false);
		if (!rc)
			rc = check_names(&x, block->includes, block->n_includes, true);
		if (!rc)
			rc = check_table(&x);
		if (!rc)
			rc = expand_matrix(&x);
		if (!rc)
			rc = add_includes(&x);
		free(x.values);
	}
	if (!rc && !c->n_cells)
		return as_fail(err, AS_EUSE, "%s: no cell is left", c->file);
	if (!rc)
		scale_rounds(c);
	return rc;
}

/* ---- What they cost, and what they touch ----------------------------------------------------- */

uint64_t as_cell_share(const struct as_campaign *c, const struct as_swarm_cell *cell)
{
	unsigned __int128 share, all = 0;

	if (!c->budget_s)
		return cell->block->share;
	for (size_t b = 0; b < c->n_blocks; b++)
		all += (unsigned __int128)c->blocks[b].share * c->blocks[b].n_cells;
	if (all <= c->budget_s)
		return cell->block->share;
	share = (unsigned __int128)cell->block->share * c->budget_s / all;
	return share ? (uint64_t)share : 1;
}

bool as_cell_matches(const struct as_swarm_cell *cell, const struct as_pick *pick)
{
	return matches(cell->block, pick, cell->values);
}

/* A list of targets has commas. */
static bool any_reaches(const char *specs, struct as_buf *what)
{
	for (const char *at = specs; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		if (!strncmp(at, "checker:", 8)) {
			as_buf_addf(what, "run the checker %s", at + 8);
			return true;
		}
		if (as_trust_reaches(at, false, what))
			return true;
	}
	return false;
}

/* Options whose value is a program, or that leave the sandbox. */
static bool option_reaches(const char *option, const char *value, struct as_buf *what)
{
	static const struct {
		const char *option, *value, *does;
	} rows[] = {
		{ "--sandbox", "host", "test file systems of the running kernel" },
		{ "--uml", NULL, "start another kernel" },
		{ "--trust", NULL, "trust what files name" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].option);

		if (strncmp(option, rows[i].option, len) || (option[len] && option[len] != '='))
			continue;
		if (option[len] == '=')
			value = option + len + 1;
		if (!rows[i].value || (value && !strcmp(value, rows[i].value))) {
			as_buf_adds(what, rows[i].does);
			return true;
		}
	}
	return false;
}

bool as_cell_reaches(const struct as_swarm_cell *cell, struct as_buf *what)
{
	if (!strcmp(cell->words[0], "cov")) {
		as_buf_adds(what, "run the command of `cov`");
		return true;
	}
	for (size_t i = 1; cell->words[i]; i++) {
		const char *word = cell->words[i], *eq = strchr(word, '=');

		if (option_reaches(word, cell->words[i + 1], what))
			return true;
		if (any_reaches(word, what))
			return true;
		if (word[0] == '-' && word[1] == '-' && eq && any_reaches(eq + 1, what))
			return true;
		if (word[0] == '-' && word[1] == 't' && any_reaches(word + 2, what))
			return true;
	}
	return false;
}
