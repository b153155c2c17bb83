/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * campaign: see campaign.h. The text is lines. A line "cells ..." begins a block; the keys after it
 * belong to that block, and a key that is none of ours is an axis of its matrix.
 */
#include "swarm/campaign.h"

#include "base/array.h"
#include "base/buf.h"
#include "work/lex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES_MAX 4096u
#define VALUES_MAX 100000u
#define RANGE_MAX 100000u
#define SCALE_MAX 1000000000u

/* clang-format off */
static const struct as_swarm_command commands[] = {
	{ "hunt",  true,  AS_SHARD_SEED,   NULL,    "--max-workloads" },
	{ "check", true,  AS_SHARD_OPTION, "check", "--max-transitions" },
	{ "fsck",  true,  AS_SHARD_SEED,   "fsck",  NULL },
	{ "crash", false, AS_SHARD_NONE,   NULL,    NULL },
	{ "run",   false, AS_SHARD_NONE,   NULL,    NULL },
	{ "cov",   false, AS_SHARD_NONE,   NULL,    NULL },
};
/* clang-format on */

const struct as_swarm_command *as_swarm_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

struct campaign_reader {
	struct as_campaign *campaign;
	struct as_block *block; /* the one that is being read, or NULL */
};

static int read_word(struct as_lex *lex, struct as_campaign *c, const char *expected,
		     const char **word)
{
	int rc = as_lex_string(lex, expected, WORD_BYTES_MAX, word);

	if (!rc)
		*word = as_arena_strndup(&c->arena, *word, strlen(*word));
	return rc;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

enum campaign_unit { COUNT, TIME, BYTES };

static uint64_t factor_of(enum campaign_unit unit, char suffix)
{
	static const struct {
		enum campaign_unit unit;
		char suffix;
		uint64_t factor;
	} factors[] = { { TIME, 's', 1 },	 { TIME, 'm', 60 },	  { TIME, 'h', 3600 },
			{ TIME, 'd', 86400 },	 { BYTES, 'K', 1 << 10 }, { BYTES, 'M', 1 << 20 },
			{ BYTES, 'G', 1 << 30 }, { COUNT, 0, 1 },	  { TIME, 0, 1 },
			{ BYTES, 0, 1 } };

	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
		if (factors[i].unit == unit && factors[i].suffix == suffix)
			return factors[i].factor;
	return 0;
}

static bool parse_number(const char *word, enum campaign_unit unit, uint64_t *value)
{
	size_t digits = strspn(word, "0123456789");
	uint64_t factor;

	if (!digits || digits > 12 || (word[digits] && word[digits + 1]))
		return false;
	factor = factor_of(unit, word[digits]);
	return factor && !__builtin_mul_overflow(strtoull(word, NULL, 10), factor, value);
}

static const struct key {
	const char *name;
	size_t campaign, block; /* offsets; 0: it is no key there */
	enum campaign_unit unit;
	uint64_t min, max;
	const char *expected;
} keys[] = {
#define OF(type, field) offsetof(struct type, field)
	{ "time", OF(as_campaign, time_s), OF(as_block, time_s), TIME, 1, 86400 * 365,
	  "a time such as 90s, 10m or 1h" },
	{ "memory", OF(as_campaign, memory_bytes), OF(as_block, memory_bytes), BYTES, 1 << 20,
	  UINT64_C(1) << 50, "a size such as 512M or 4G" },
	{ "budget", OF(as_campaign, budget_s), 0, TIME, 1, UINT64_C(86400) * 365 * 1000,
	  "a time such as 90s, 10m or 1h" },
	{ "work", OF(as_campaign, work), 0, COUNT, 1, 999999999999, "a number" },
	{ "rounds", OF(as_campaign, rounds), 0, COUNT, 1, 1000, "a number from 1 to 1000" },
	{ "seed", OF(as_campaign, seed), 0, COUNT, 0, 999999999999, "a number" },
	{ "priority", 0, OF(as_block, priority), COUNT, 1, 100, "a number from 1 to 100" },
	{ "shards", 0, OF(as_block, shards), COUNT, 1, 100000, "a number from 1 to 100000" },
#undef OF
};

static int read_key(struct as_lex *lex, const struct key *key, void *into)
{
	const char *start = lex->p, *word;
	uint64_t value = 0;
	int rc = as_lex_string(lex, key->expected, 32, &word);

	if (rc)
		return rc;
	if (!parse_number(word, key->unit, &value) || value < key->min || value > key->max)
		return as_lex_expected(lex, start, "%s", key->expected);
	memcpy(into, &value, sizeof(value));
	return as_lex_finish(lex);
}

/* ---- Axes ------------------------------------------------------------------------------------ */

static bool is_name(const char *word)
{
	size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return len && len <= 32 && !word[len] && word[0] >= 'a' && word[0] <= 'z';
}

static int add_value(struct as_lex *lex, const char *at, struct as_axis *axis, const char *value)
{
	if (axis->n == VALUES_MAX)
		return as_lex_fail(lex, at, "'%s' has more than %u values", axis->name, VALUES_MAX);
	AS_ARRAY_ROOM(axis->values, axis->n, axis->cap);
	axis->values[axis->n++] = value;
	return 0;
}

/* "3..18" is sixteen values; 1: it is no range. */
static int add_range(struct as_lex *lex, const char *at, struct as_campaign *c,
		     struct as_axis *axis, const char *word)
{
	const char *dots = strstr(word, "..");
	size_t head = strspn(word, "0123456789"), tail = dots ? strspn(dots + 2, "0123456789") : 0;
	uint64_t first, last;
	int rc = 0;

	if (!dots || dots != word + head || !head || !tail || dots[2 + tail] || head > 12 ||
	    tail > 12)
		return 1;
	first = strtoull(word, NULL, 10);
	last = strtoull(dots + 2, NULL, 10);
	if (last < first || last - first >= RANGE_MAX)
		return as_lex_fail(lex, at, "the range %s has no value, or more than %u", word,
				   RANGE_MAX);
	for (uint64_t v = first; v <= last && !rc; v++) {
		char text[24];
		size_t len = (size_t)snprintf(text, sizeof(text), "%llu", (unsigned long long)v);

		rc = add_value(lex, at, axis, as_arena_strndup(&c->arena, text, len));
	}
	return rc;
}

static struct as_axis *find_axis(const struct as_block *block, const char *name)
{
	for (size_t i = 0; i < block->n_axes; i++)
		if (!strcmp(block->axes[i].name, name))
			return &block->axes[i];
	return NULL;
}

static bool has_place(const struct as_block *block, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < block->n_words; i++)
		for (const char *p = block->words[i]; (p = strchr(p, '{')); p++)
			if (!strncmp(p + 1, name, len) && (p[1 + len] == '}' || !p[1 + len]))
				return true;
	return false;
}

static int read_axis(struct as_lex *lex, struct campaign_reader *reader, const char *at,
		     const char *name)
{
	struct as_block *block = reader->block;
	struct as_axis *axis;
	int rc = 0;

	if (!is_name(name))
		return as_lex_expected(lex, at, "a key, or a name of small letters and digits");
	if (find_axis(block, name))
		return as_lex_fail(lex, at, "'%s' is here twice", name);
	/* Most likely a key that is misspelt, or that only stands before all cells. */
	if (!has_place(block, name))
		return as_lex_fail(
			lex, at, "'%s' is no key here, and the command of these cells has no {%s}",
			name, name);
	AS_ARRAY_ROOM(block->axes, block->n_axes, block->cap_axes);
	axis = &block->axes[block->n_axes++];
	*axis = (struct as_axis){ .name = name };
	while (!rc && !as_lex_at_end(lex)) {
		const char *start = lex->p, *word;

		rc = read_word(lex, reader->campaign, "a value", &word);
		if (!rc)
			rc = *start == '"' ? 1
					   : add_range(lex, start, reader->campaign, axis, word);
		if (rc == 1)
			rc = add_value(lex, start, axis, word);
	}
	if (!rc && !axis->n)
		return as_lex_expected(lex, lex->p, "one or more values of '%s'", name);
	return rc ? rc : as_lex_finish(lex);
}

/* ---- Include and exclude --------------------------------------------------------------------- */

static int read_setting(struct as_lex *lex, struct as_campaign *c, struct as_pick *pick)
{
	const char *start = lex->p, *word, *eq;
	int rc = read_word(lex, c, "NAME=VALUE", &word);

	if (rc)
		return rc;
	eq = strchr(word, '=');
	if (!eq || eq == word)
		return as_lex_expected(lex, start, "NAME=VALUE");
	AS_ARRAY_ROOM(pick->settings, pick->n, pick->cap);
	pick->settings[pick->n++] = (struct as_setting){
		.name = as_arena_strndup(&c->arena, word, (size_t)(eq - word)),
		.value = eq + 1,
	};
	return 0;
}

static int read_pick(struct as_lex *lex, struct as_campaign *c, struct as_pick *pick)
{
	int rc = 0;

	*pick = (struct as_pick){ .line = lex->line };
	while (!rc && !as_lex_at_end(lex))
		rc = read_setting(lex, c, pick);
	if (!rc && !pick->n)
		return as_lex_expected(lex, lex->p, "NAME=VALUE");
	return rc ? rc : as_lex_finish(lex);
}

static int read_exclude(struct as_lex *lex, struct campaign_reader *reader)
{
	struct as_block *b = reader->block;

	AS_ARRAY_ROOM(b->excludes, b->n_excludes, b->cap_excludes);
	return read_pick(lex, reader->campaign, &b->excludes[b->n_excludes++]);
}

static int read_include(struct as_lex *lex, struct campaign_reader *reader)
{
	struct as_block *b = reader->block;

	AS_ARRAY_ROOM(b->includes, b->n_includes, b->cap_includes);
	return read_pick(lex, reader->campaign, &b->includes[b->n_includes++]);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* What a campaign sets itself, and what writes to other places than the folder of the cell. */
static const char *refused_option(const char *word)
{
	static const char *const ours[] = { "-o",	"--out",   "--output", "--for",
					    "--resume", "--json",  "--shard",  "--no-store",
					    "--export", "--junit", "--cov" };
	size_t len = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if ((strlen(ours[i]) == len && !strncmp(word, ours[i], len)) ||
		    (!strcmp(ours[i], "-o") && !strncmp(word, "-o", 2)))
			return ours[i];
	return NULL;
}

static int read_cells(struct as_lex *lex, struct campaign_reader *reader)
{
	struct as_campaign *c = reader->campaign;
	struct as_block *block;
	int rc = 0;

	AS_ARRAY_ROOM(c->blocks, c->n_blocks, c->cap_blocks);
	block = reader->block = &c->blocks[c->n_blocks++];
	*block = (struct as_block){ .priority = 1, .shards = 1, .line = lex->line };
	while (!rc && !as_lex_at_end(lex)) {
		const char *start = lex->p, *word, *ours;

		rc = read_word(lex, c, "a word of the command", &word);
		if (rc)
			break;
		ours = block->n_words ? refused_option(word) : NULL;
		if (ours)
			return as_lex_fail(lex, start, "a cell cannot have %s: %s", ours,
					   "each has its own folder, time and shard");
		if (!block->n_words) {
			block->command = as_swarm_command(word);
			if (!block->command)
				return as_lex_expected(lex, start,
						       "hunt, check, fsck, crash, run or cov");
		}
		AS_ARRAY_ROOM(block->words, block->n_words, block->cap_words);
		block->words[block->n_words++] = word;
	}
	if (!rc && !block->n_words)
		return as_lex_expected(lex, lex->p, "the command of the cells, such as hunt");
	return rc ? rc : as_lex_finish(lex);
}

static int read_title(struct as_lex *lex, struct campaign_reader *reader)
{
	const char *start = lex->p;
	int rc = read_word(lex, reader->campaign, "a name", &reader->campaign->name);

	if (!rc && !is_name(reader->campaign->name))
		return as_lex_expected(lex, start, "a name of small letters and digits");
	return rc ? rc : as_lex_finish(lex);
}

static int read_coverage(struct as_lex *lex, struct campaign_reader *reader)
{
	if (strcmp(reader->block->command->name, "hunt"))
		return as_lex_fail(lex, lex->start, "only hunts count their system calls");
	reader->block->coverage = true;
	return as_lex_finish(lex);
}

/* All times are multiplied by it; two such lines are multiplied with each other. */
static int read_scale(struct as_lex *lex, struct campaign_reader *reader)
{
	static const char expected[] = "a factor such as 1/60 or 2";
	struct as_campaign *c = reader->campaign;
	const char *start = lex->p, *word, *slash;
	uint64_t top, below = 1;
	char head[16];
	int rc = as_lex_string(lex, expected, 32, &word);

	if (rc)
		return rc;
	slash = strchrnul(word, '/');
	snprintf(head, sizeof(head), "%.*s", (int)(slash - word), word);
	if (!parse_number(head, COUNT, &top) ||
	    (*slash && !parse_number(slash + 1, COUNT, &below)) || !top || !below ||
	    top > SCALE_MAX || below > SCALE_MAX || c->scale * top > SCALE_MAX ||
	    c->scale_of * below > SCALE_MAX)
		return as_lex_expected(lex, start, "%s", expected);
	c->scale *= top;
	c->scale_of *= below;
	return as_lex_finish(lex);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static int read_words(struct as_lex *lex, struct campaign_reader *reader, const char *expected,
		      const char ***words, size_t *n, size_t *cap)
{
	int rc = 0;

	while (!rc && !as_lex_at_end(lex)) {
		const char *start = lex->p, *word;

		rc = read_word(lex, reader->campaign, expected, &word);
		if (!rc && !is_name(word))
			rc = as_lex_expected(lex, start, "%s", expected);
		if (rc)
			break;
		AS_ARRAY_ROOM(*words, *n, *cap);
		(*words)[(*n)++] = word;
	}
	if (!rc && !*n)
		return as_lex_expected(lex, lex->p, "%s", expected);
	return rc ? rc : as_lex_finish(lex);
}

static int read_table(struct as_lex *lex, struct campaign_reader *reader)
{
	struct as_swarm_table *t = &reader->block->table;
	int rc;

	if (t->title)
		return as_lex_fail(lex, lex->start, "these cells have a table already");
	t->line = lex->line;
	rc = read_word(lex, reader->campaign, "a title", &t->title);
	return rc ? rc
		  : read_words(lex, reader, "columns, such as states", &t->columns, &t->n_columns,
			       &t->cap_columns);
}

static int read_rows(struct as_lex *lex, struct campaign_reader *reader)
{
	struct as_swarm_table *t = &reader->block->table;

	return read_words(lex, reader, "names of values", &t->rows, &t->n_rows, &t->cap_rows);
}

/* then NAME=VALUE... "TEXT" */
static int read_then(struct as_lex *lex, struct campaign_reader *reader)
{
	struct as_swarm_table *t = &reader->block->table;
	struct as_then *then;
	int rc = 0;

	AS_ARRAY_ROOM(t->thens, t->n_thens, t->cap_thens);
	then = &t->thens[t->n_thens++];
	*then = (struct as_then){ .cells.line = lex->line };
	while (!rc && !as_lex_at_end(lex) && *lex->p != '"')
		rc = read_setting(lex, reader->campaign, &then->cells);
	if (!rc && as_lex_at_end(lex))
		return as_lex_expected(lex, lex->p, "what the paper says, in quotes");
	if (!rc)
		rc = read_word(lex, reader->campaign, "what the paper says", &then->text);
	return rc ? rc : as_lex_finish(lex);
}

static const struct {
	const char *key;
	bool in_block;
	int (*read)(struct as_lex *lex, struct campaign_reader *reader);
} lines[] = {
	{ "campaign", false, read_title }, { "exclude", true, read_exclude },
	{ "include", true, read_include }, { "coverage", true, read_coverage },
	{ "scale", false, read_scale },	   { "table", true, read_table },
	{ "rows", true, read_rows },	   { "then", true, read_then },
};

static int read_line(struct as_lex *lex, void *ctx)
{
	struct campaign_reader *reader = ctx;
	const char *start, *word;
	int rc;

	if (as_lex_at_end(lex))
		return as_lex_finish(lex);
	start = lex->p;
	rc = read_word(lex, reader->campaign, "a key", &word);
	if (rc)
		return rc;
	as_lex_at_end(lex);
	if (!strcmp(word, "cells"))
		return read_cells(lex, reader);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strcmp(word, lines[i].key) && lines[i].in_block == (reader->block != NULL))
			return lines[i].read(lex, reader);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t at = reader->block ? keys[i].block : keys[i].campaign;

		if (!strcmp(word, keys[i].name) && at)
			return read_key(lex, &keys[i],
					(reader->block ? (char *)reader->block
						       : (char *)reader->campaign) +
						at);
	}
	if (!reader->block)
		return as_lex_fail(lex, start, "unknown key '%s' (no line 'cells' stands above)",
				   word);
	return read_axis(lex, reader, start, word);
}

/* ---- Whole files ----------------------------------------------------------------------------- */

int as_campaign_parse(const char *file, const char *text, size_t len, struct as_campaign **campaign,
		      struct as_err *err)
{
	struct as_campaign *c = as_xcalloc(1, sizeof(*c));
	struct campaign_reader reader = { .campaign = c };
	int rc;

	c->name = "campaign";
	c->file = as_arena_strndup(&c->arena, file, strlen(file));
	c->time_s = 60;
	c->rounds = 1;
	c->scale = c->scale_of = 1;
	c->memory_bytes = (uint64_t)1 << 30;
	rc = as_lex_lines(file, text, len, read_line, &reader, err);
	if (!rc && !c->n_blocks)
		rc = as_fail(err, AS_EUSE, "%s: there is no line 'cells'", file);
	if (!rc)
		rc = as_campaign_expand(c, err);
	if (rc) {
		as_campaign_free(c);
		c = NULL;
	}
	*campaign = c;
	return rc;
}

static void free_picks(struct as_pick *picks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(picks[i].settings);
	free(picks);
}

void as_campaign_free(struct as_campaign *c)
{
	if (!c)
		return;
	for (size_t b = 0; b < c->n_blocks; b++) {
		struct as_block *block = &c->blocks[b];

		for (size_t i = 0; i < block->n_axes; i++)
			free(block->axes[i].values);
		free(block->axes);
		free_picks(block->excludes, block->n_excludes);
		free_picks(block->includes, block->n_includes);
		for (size_t i = 0; i < block->table.n_thens; i++)
			free(block->table.thens[i].cells.settings);
		free(block->table.thens);
		free(block->table.columns);
		free(block->table.rows);
		free(block->words);
	}
	free(c->blocks);
	free(c->cells);
	as_table_free(&c->by_name);
	as_arena_free(&c->arena);
	free(c);
}
