/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile: see profile.h. The text is lines; each begins with a key: that of a number
 * (setting.def), or one of the rows of `keys` below. Built-in profiles are such lines, too.
 */
#include "gen/profile.h"

#include "gen/view.h"
#include "work/print.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum unit { NUMBER, PERCENT };

static const struct setting {
	const char *key;
	size_t offset;
	enum unit unit;
	uint64_t min, max, def;
} settings[] = {
#define SETTING(field, key, unit, min, max, def, help) \
	{ key, offsetof(struct as_profile, field), unit, min, max, def },
#include "gen/setting.def"
#undef SETTING
};
#define NSETTINGS (sizeof(settings) / sizeof(settings[0]))

static const char *const prunes[] = {
	[AS_PRUNE_EXACT] = "exact",
	[AS_PRUNE_CANONICAL] = "canonical",
};

/* A name of the alphabet may not be one that deepen and enlarge make for themselves. */
static bool profile_name_ok(const char *name)
{
	size_t digits = name[0] ? strspn(name + 1, "0123456789") : 0;

	if (!name[0] || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	if (name[0] == 'd' && !name[1])
		return false;
	return !(name[0] == 'e' && digits && !name[1 + digits]);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int read_number(struct as_lex *lex, uint64_t min, uint64_t max, enum unit unit,
		       uint64_t *value)
{
	const char *start = lex->p;
	uint64_t v = 0;
	bool fits = true;

	for (; lex->p < lex->end && *lex->p >= '0' && *lex->p <= '9'; lex->p++) {
		fits &= !__builtin_mul_overflow(v, 10u, &v);
		fits &= !__builtin_add_overflow(v, (unsigned)(*lex->p - '0'), &v);
	}
	if (lex->p == start || (unit == PERCENT && (lex->p == lex->end || *lex->p++ != '%')) ||
	    !as_lex_at_gap(lex) || !fits || v < min || v > max)
		return as_lex_expected(lex, start, "%s from %llu to %llu%s",
				       unit == PERCENT ? "a percentage" : "a number",
				       (unsigned long long)min, (unsigned long long)max,
				       unit == PERCENT ? "%" : "");
	*value = v;
	return as_lex_finish(lex);
}

static int read_choice(struct as_lex *lex, const char *(*name)(unsigned), unsigned n,
		       const char *expected, unsigned *value)
{
	const char *start = lex->p, *word;
	int rc = as_lex_string(lex, expected, AS_NAME_BYTES, &word);

	if (rc)
		return rc;
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(word, name(i))) {
			*value = i;
			return as_lex_finish(lex);
		}
	return as_lex_expected(lex, start, "%s", expected);
}

static const char *order_name(unsigned i)
{
	return as_order_name((enum as_order)i);
}

static const char *prune_name(unsigned i)
{
	return prunes[i];
}

static int read_order(struct as_lex *lex, struct as_profile *p)
{
	unsigned value = 0;
	/* Breadth would pick the empty workload for ever. */
	int rc = read_choice(lex, order_name, AS_ORDER_BREADTH, "longer, uniform or depth", &value);

	if (!rc)
		p->order = (enum as_order)value;
	return rc;
}

static int read_prune(struct as_lex *lex, struct as_profile *p)
{
	unsigned value = 0;
	int rc = read_choice(lex, prune_name, 2, "exact or canonical", &value);

	if (!rc)
		p->prune = (enum as_prune)value;
	return rc;
}

static int read_title(struct as_lex *lex, struct as_profile *p)
{
	const char *start = lex->p, *word;
	int rc = as_lex_string(lex, "a name", AS_NAME_BYTES - 1, &word);

	if (rc)
		return rc;
	if (!*word)
		return as_lex_expected(lex, start, "a name");
	memset(p->title, 0, sizeof(p->title));
	memcpy(p->title, word, strlen(word));
	return as_lex_finish(lex);
}

static int read_like(struct as_lex *lex, struct as_profile *p)
{
	const char *start = lex->p, *word;
	struct as_err err;
	int rc = as_lex_string(lex, "a built-in profile", AS_NAME_BYTES - 1, &word);

	if (rc)
		return rc;
	if (as_profile_find(word, p, &err))
		return as_lex_expected(lex, start, "a built-in profile");
	return as_lex_finish(lex);
}

static int read_names(struct as_lex *lex, struct as_profile *p)
{
	memset(p->name, 0, sizeof(p->name));
	p->n_names = 0;
	while (!as_lex_at_end(lex)) {
		const char *start = lex->p, *word;
		int rc = as_lex_string(lex, "a name", AS_NAME_BYTES - 1, &word);

		if (rc)
			return rc;
		if (!profile_name_ok(word))
			return as_lex_fail(lex, start,
					   "'%s' cannot be a name of the alphabet (nor can d, e0, "
					   "e1, ...: deepen and enlarge make them)",
					   word);
		if (p->n_names == AS_NAMES_MAX)
			return as_lex_fail(lex, start, "expected at most %d names", AS_NAMES_MAX);
		for (uint32_t i = 0; i < p->n_names; i++)
			if (!strcmp(p->name[i], word))
				return as_lex_fail(lex, start, "'%s' is there twice", word);
		memcpy(p->name[p->n_names++], word, strlen(word));
	}
	if (!p->n_names)
		return as_lex_expected(lex, lex->p, "a name");
	return as_lex_finish(lex);
}

static int read_weight(struct as_lex *lex, struct as_profile *p)
{
	const char *start = lex->p, *word;
	int rc = as_lex_string(lex, "a command", AS_NAME_BYTES - 1, &word);
	enum as_opcode op;
	uint64_t value;

	if (rc)
		return rc;
	op = as_op_find(word, strlen(word));
	if (op == AS_OP_COUNT || !as_gen_rows[op].known)
		return as_lex_fail(lex, start, "unknown command '%s'%s", word,
				   op == AS_OP_COUNT ? "" : ": it cannot be generated");
	as_lex_at_end(lex);
	if (lex->p < lex->end && *lex->p == '-')
		return as_lex_fail(lex, lex->p, "the weight of %s is negative", word);
	rc = read_number(lex, 0, AS_WEIGHT_MAX, NUMBER, &value);
	if (!rc)
		p->weight[op] = (uint32_t)value;
	return rc;
}

/* "open.open_flags": the name of a draw of op.def, whose letters are capitals. */
static bool same_name(const char *row, const char *word)
{
	for (; *row && *word; row++, word++) {
		char c = *row >= 'A' && *row <= 'Z' ? (char)(*row | 0x20) : *row;

		if (c != *word)
			return false;
	}
	return !*row && !*word;
}

static int read_param(struct as_lex *lex, struct as_profile *p)
{
	const char *start = lex->p, *word;
	int rc =
		as_lex_string(lex, "an argument such as open.open_flags", AS_NAME_BYTES - 1, &word);

	if (rc)
		return rc;
	for (unsigned i = 0; i < AS_DRAWS; i++)
		if (same_name(as_draws[i].name, word))
			return as_dist_parse(lex, &as_draws[i], &p->dist[i]);
	return as_lex_fail(lex, start, "unknown argument '%s'", word);
}

static const struct {
	const char *key;
	int (*read)(struct as_lex *lex, struct as_profile *p);
} keys[] = {
	{ "profile", read_title }, { "like", read_like },   { "order", read_order },
	{ "prune", read_prune },   { "names", read_names }, { "weight", read_weight },
	{ "param", read_param },
};

static int read_line(struct as_lex *lex, void *ctx)
{
	struct as_profile *p = ctx;
	const char *start, *key;
	int rc;

	if (as_lex_at_end(lex))
		return as_lex_finish(lex);
	start = lex->p;
	rc = as_lex_string(lex, "a key", AS_NAME_BYTES - 1, &key);
	if (rc)
		return rc;
	as_lex_at_end(lex);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(keys[i].key, key))
			return keys[i].read(lex, p);
	for (size_t i = 0; i < NSETTINGS; i++)
		if (!strcmp(settings[i].key, key))
			return read_number(lex, settings[i].min, settings[i].max, settings[i].unit,
					   (uint64_t *)((char *)p + settings[i].offset));
	return as_lex_fail(lex, start, "unknown key '%s'", key);
}

/* What fits together: some core command has a weight, lengths are in order. */
static int profile_check(const char *file, const struct as_profile *profile, struct as_err *err)
{
	uint64_t core = 0;

	for (int op = 0; op < AS_OP_COUNT; op++)
		if (as_op_table[op].layer == AS_LAYER_CORE)
			core += profile->weight[op];
	if (!core)
		return as_fail(err, AS_EUSE, "%s: no core command has a weight above 0", file);
	if (profile->length_min > profile->length_max)
		return as_fail(err, AS_EUSE, "%s: length.min %llu is more than length.max %llu",
			       file, (unsigned long long)profile->length_min,
			       (unsigned long long)profile->length_max);
	if (profile->walk_min > profile->walk_max)
		return as_fail(err, AS_EUSE, "%s: walk.min %llu is more than walk.max %llu", file,
			       (unsigned long long)profile->walk_min,
			       (unsigned long long)profile->walk_max);
	return 0;
}

int as_profile_parse(const char *file, const char *text, size_t len, struct as_profile *profile,
		     struct as_err *err)
{
	struct as_profile *p = as_profile_new();
	int rc = as_lex_lines(file, text, len, read_line, p, err);

	if (!rc)
		rc = profile_check(file, p, err);
	if (!rc)
		*profile = *p;
	free(p);
	return rc;
}

void as_profile_mount_options(struct as_profile *profile, const char *words)
{
	static const unsigned draws[] = { AS_DRAW_REMOUNT_OPTS, AS_DRAW_MOUNT_OPTS };

	for (size_t d = 0; d < sizeof(draws) / sizeof(draws[0]); d++) {
		struct as_dist *dist = &profile->dist[draws[d]];

		memset(dist->word, 0, sizeof(dist->word));
		dist->n = 0;
		for (const char *at = words; *at && dist->n < AS_DIST_WORDS;) {
			size_t len = strcspn(at, " ");

			if (len && len < AS_DIST_WORD_BYTES)
				memcpy(dist->word[dist->n++], at, len);
			at += len + (at[len] == ' ');
		}
		if (dist->n && dist->percent * dist->n > 200)
			dist->percent = 200 / dist->n;
	}
}

/* ---- Built-in -------------------------------------------------------------------------------- */

static const struct {
	const char *profile, *summary; /* NULL: one more line of the profile above */
	const char *line;
} rows[] = {
#define PROFILE(name, summary) { #name, summary, NULL },
#define LINE(text) { NULL, NULL, text },
#include "gen/builtin.def"
#undef PROFILE
#undef LINE
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))

enum {
#define PROFILE(name, summary) BUILTIN_##name,
#define LINE(text)
#include "gen/builtin.def"
#undef PROFILE
#undef LINE
	BUILTINS
};

/* One more than the weight; 0: nothing is said. */
static const uint16_t weights[AS_OP_COUNT][BUILTINS] = {
#define WEIGHTS(...)        \
	{                   \
		__VA_ARGS__ \
	}
#define W(profile, weight) [BUILTIN_##profile] = (weight) + 1
#define OP(id, name, layer, args, calls, needs, persists, paths, changes, reads, moves, cost, \
	   race, syscalls, help, gen, weighs, ...)                                            \
	[AS_OP_##id] = weighs,
#include "work/op.def"
#undef OP
#undef W
#undef WEIGHTS
};

const char *as_profile_builtin(unsigned i, const char **summary)
{
	for (size_t r = 0; r < NROWS; r++)
		if (rows[r].profile && i-- == 0) {
			*summary = rows[r].summary;
			return rows[r].profile;
		}
	return NULL;
}

/* These are our own tables: a mistake in them is a bug. */
static void read_own(const char *table, const char *line, int (*read)(struct as_lex *, void *),
		     void *ctx)
{
	struct as_err err = { 0 };
	char scratch[2 * AS_DIST_WORDS * AS_DIST_WORD_BYTES];
	struct as_lex lex = { .p = line,
			      .start = line,
			      .end = line + strlen(line),
			      .scratch = scratch,
			      .file = table,
			      .err = &err };

	as_assert(2 * strlen(line) + 2 <= sizeof(scratch));
	as_assert(read(&lex, ctx) == 0);
}

static int own_line(struct as_lex *lex, void *profile)
{
	return read_line(lex, profile);
}

struct own_dist {
	const struct as_draw *draw;
	struct as_dist *dist;
};

static int own_dist(struct as_lex *lex, void *ctx)
{
	const struct own_dist *own = ctx;

	return as_dist_parse(lex, own->draw, own->dist);
}

static void apply_rows(const char *name, struct as_profile *p)
{
	size_t r = 0, builtin = 0;

	while (!rows[r].profile || strcmp(rows[r].profile, name))
		builtin += rows[r++].profile != NULL;
	for (int op = 0; op < AS_OP_COUNT; op++)
		if (weights[op][builtin])
			p->weight[op] = weights[op][builtin] - 1;
	for (r++; r < NROWS && rows[r].line; r++)
		read_own("builtin.def", rows[r].line, own_line, p);
	memset(p->title, 0, sizeof(p->title));
	memcpy(p->title, name, strlen(name));
}

struct as_profile *as_profile_new(void)
{
	struct as_profile *p = as_xcalloc(1, sizeof(*p));

	for (size_t i = 0; i < NSETTINGS; i++)
		*(uint64_t *)((char *)p + settings[i].offset) = settings[i].def;
	for (unsigned i = 0; i < AS_DRAWS; i++) {
		struct own_dist own = { &as_draws[i], &p->dist[i] };

		read_own("op.def", as_draws[i].plain, own_dist, &own);
	}
	apply_rows("paper", p);
	return p;
}

int as_profile_find(const char *name, struct as_profile *profile, struct as_err *err)
{
	struct as_buf known = { 0 };
	const char *row, *summary;
	struct as_profile *p;
	int rc;

	for (unsigned i = 0; (row = as_profile_builtin(i, &summary)); i++) {
		as_buf_addf(&known, "%s%s", i ? ", " : "", row);
		if (strcmp(row, name))
			continue;
		p = as_profile_new();
		if (i)
			apply_rows(row, p);
		*profile = *p;
		free(p);
		as_buf_free(&known);
		return 0;
	}
	rc = as_fail(err, AS_EUSE, "unknown profile '%s'; built in are %s", name,
		     as_buf_str(&known));
	as_buf_free(&known);
	return rc;
}

/* ---- Writing --------------------------------------------------------------------------------- */

void as_profile_print(const struct as_profile *profile, struct as_buf *out)
{
	as_buf_adds(out, "profile ");
	as_print_str(profile->title, out);
	as_buf_addc(out, '\n');
	for (size_t i = 0; i < NSETTINGS; i++)
		as_buf_addf(out, "%s %llu%s\n", settings[i].key,
			    (unsigned long long)*(const uint64_t *)((const char *)profile +
								    settings[i].offset),
			    settings[i].unit == PERCENT ? "%" : "");
	as_buf_addf(out, "order %s\nprune %s\nnames", as_order_name(profile->order),
		    prunes[profile->prune]);
	for (uint32_t i = 0; i < profile->n_names; i++) {
		as_buf_addc(out, ' ');
		as_print_str(profile->name[i], out);
	}
	as_buf_addc(out, '\n');
	for (int op = 0; op < AS_OP_COUNT; op++)
		if (as_gen_rows[op].known)
			as_buf_addf(out, "weight %s %u\n", as_op_table[op].name,
				    profile->weight[op]);
	for (unsigned i = 0; i < AS_DRAWS; i++) {
		as_buf_adds(out, "param ");
		for (const char *c = as_draws[i].name; *c; c++)
			as_buf_addc(out, *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c);
		as_buf_addc(out, ' ');
		as_dist_print(&as_draws[i], &profile->dist[i], out);
		as_buf_addc(out, '\n');
	}
}
