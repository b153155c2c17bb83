/* SPDX-License-Identifier: GPL-2.0-or-later */
/* variant: see variant.h. */
#include "target/variant.h"

#include <stdlib.h>
#include <string.h>

#define MIB *(UINT64_C(1) << 20)
#define UNPACK(...) __VA_ARGS__
/* This file does not use the traits. */
#define VARIANT(of, id, how, traits) { .type = of, .name = id, UNPACK how },

static const struct as_variant table[] = {
#include "target/variant.def"
};

#define NVARIANTS (sizeof(table) / sizeof(table[0]))
_Static_assert(NVARIANTS <= AS_VARIANTS_MAX, "there is a bit for each");

const struct as_variant *as_variant_at(unsigned i)
{
	return i < NVARIANTS ? &table[i] : NULL;
}

bool as_variants_has(const struct as_variants *v, unsigned i)
{
	return v->bits[i / 64] >> i % 64 & 1;
}

bool as_variants_any(const struct as_variants *v)
{
	for (unsigned i = 0; i < NVARIANTS; i++)
		if (as_variants_has(v, i))
			return true;
	return false;
}

/* ---- Choosing -------------------------------------------------------------------------------- */

static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *s = list ? list : ""; *s; s += strcspn(s, " "), s += *s == ' ')
		if (strcspn(s, " ") == len && !memcmp(s, name, len))
			return true;
	return false;
}

static bool agree(const struct as_variant *a, const struct as_variant *b)
{
	return a != b && !strcmp(a->type, b->type) &&
	       !(a->group && b->group && !strcmp(a->group, b->group)) &&
	       !is_listed(a->without, b->name) && !is_listed(b->without, a->name);
}

bool as_variants_fit(const struct as_variants *v, unsigned i)
{
	for (unsigned k = 0; k < NVARIANTS; k++)
		if (as_variants_has(v, k) && !agree(&table[k], &table[i]))
			return false;
	return true;
}

static int unknown(const struct as_fstype *type, const char *name, int len, struct as_err *err)
{
	struct as_buf known = { 0 };
	int rc;

	for (size_t i = 0; i < NVARIANTS; i++)
		if (!strcmp(table[i].type, type->name))
			as_buf_addf(&known, "%s%s", known.len ? ", " : "", table[i].name);
	rc = as_fail(err, AS_EUSE, "target %s: " AS_VARIANT_KEY "%.*s is not known; known %s%s",
		     type->name, len, name, known.len ? "are " : "is none", as_buf_str(&known));
	as_buf_free(&known);
	return rc;
}

static unsigned find(const struct as_fstype *type, const char *name, size_t len)
{
	unsigned i = 0;

	while (i < NVARIANTS && (strcmp(table[i].type, type->name) ||
				 strlen(table[i].name) != len || memcmp(table[i].name, name, len)))
		i++;
	return i;
}

int as_variants_parse(const struct as_fstype *type, const char *names, struct as_variants *v,
		      struct as_err *err)
{
	*v = (struct as_variants){ 0 };
	for (const char *s = names;; s++) {
		size_t len = strcspn(s, "+");
		unsigned i = find(type, s, len);

		if (i == NVARIANTS)
			return unknown(type, s, (int)len, err);
		if (!as_variants_fit(v, i))
			return as_fail(err, AS_EUSE,
				       "target %s: " AS_VARIANT_KEY "%s: %s does not go with the "
				       "others",
				       type->name, names, table[i].name);
		v->bits[i / 64] |= UINT64_C(1) << i % 64;
		s += len;
		if (!*s)
			return 0;
	}
}

/* Whether one of the options begins with the word. */
static bool has_option(const char *opts, const char *word, size_t len)
{
	for (; *opts; opts += strcspn(opts, ","), opts += *opts == ',')
		if (!strncmp(opts, word, len))
			return true;
	return false;
}

bool as_variants_take(const struct as_variants *v, const char *opts)
{
	for (unsigned i = 0; i < NVARIANTS; i++) {
		const char *s = as_variants_has(v, i) && table[i].refuses ? table[i].refuses : "";

		for (; *s; s += strcspn(s, " "), s += *s == ' ')
			if (has_option(opts, s, strcspn(s, " ")))
				return false;
	}
	return true;
}

int as_variants_split(const char *text, char **names, char **mount, struct as_err *err)
{
	struct as_buf rest = { 0 };
	size_t key = strlen(AS_VARIANT_KEY), len;

	*names = NULL;
	for (const char *s = text; *s; s += len + (s[len] == ',')) {
		len = strcspn(s, ",");
		if (strncmp(s, AS_VARIANT_KEY, key)) {
			as_buf_addf(&rest, "%s%.*s", rest.len ? "," : "", (int)len, s);
			continue;
		}
		if (*names) {
			as_buf_free(&rest);
			free(*names);
			*names = NULL;
			return as_fail(err, AS_EUSE,
				       AS_VARIANT_KEY " comes twice; join the names with +");
		}
		*names = strndup(s + key, len - key);
		as_assert(*names);
	}
	*mount = as_xstrdup(as_buf_str(&rest));
	as_buf_free(&rest);
	return 0;
}

/* ---- What they change ------------------------------------------------------------------------ */

static bool is_dropped(const struct as_variants *v, const char *word, size_t len)
{
	for (unsigned i = 0; i < NVARIANTS; i++)
		if (as_variants_has(v, i) && table[i].drop && strlen(table[i].drop) == len &&
		    !memcmp(table[i].drop, word, len))
			return true;
	return false;
}

static void add_words(const struct as_variants *v, struct as_buf *command)
{
	bool listed = false;

	for (unsigned i = 0; i < NVARIANTS; i++)
		if (as_variants_has(v, i) && table[i].words)
			as_buf_addf(command, "%s ", table[i].words);
	for (unsigned i = 0; i < NVARIANTS; i++)
		if (as_variants_has(v, i) && table[i].features) {
			as_buf_addf(command, "%s%s", listed ? "," : "-O ", table[i].features);
			listed = true;
		}
	if (listed)
		as_buf_addc(command, ' ');
}

/* What the journal's disk is for the checkers. */
static void add_check_words(const struct as_variants *v, struct as_buf *command)
{
	for (unsigned i = 0; i < NVARIANTS; i++)
		if (as_variants_has(v, i) && table[i].journal_check)
			as_buf_addf(command, "%s ", table[i].journal_check);
}

/* Writes a command of the row, with more words before its disk. Returns where it begins. */
static size_t write_command(const struct as_variants *v, const char *line,
			    void (*add)(const struct as_variants *v, struct as_buf *command),
			    struct as_buf *commands)
{
	size_t at = commands->len, len;

	for (; *line; line += len + (line[len] == ' ')) {
		len = strcspn(line, " ");
		if (len == 6 && !memcmp(line, "{disk}", 6))
			add(v, commands);
		if (len && !is_dropped(v, line, len))
			as_buf_addf(commands, "%.*s%s", (int)len, line, line[len] ? " " : "");
	}
	as_buf_addc(commands, '\0');
	return at;
}

static void change(struct as_fstype *type, const struct as_variant *variant)
{
	if (variant->block_bytes)
		type->block_bytes = variant->block_bytes;
	if (variant->min_bytes > type->min_bytes)
		type->min_bytes = variant->min_bytes;
	if (variant->default_bytes > type->default_bytes)
		type->default_bytes = variant->default_bytes;
	if (variant->mount)
		type->mount = variant->mount;
	type->projects |= variant->projects;
	type->steady |= variant->steady;
	type->used |= variant->used;
	if (variant->journal_bytes) {
		type->journal_bytes = variant->journal_bytes;
		type->journal_mkfs = variant->journal_mkfs;
		type->journal_mount = variant->journal_mount;
	}
	if (variant->env) {
		as_assert(!type->env);
		type->env = variant->env;
	}
	if (variant->other_journal)
		type->journal = AS_JOURNAL_OTHER;
	if (variant->no_journal) {
		type->journal = AS_JOURNAL_OTHER;
		type->checker_replays = false;
		type->guarantee = AS_GUARANTEE_REPAIR;
		/* Only what a journal gives: see their meaning in fstype.h. */
		type->crash &= ~(unsigned)(AS_CRASH_NAMES | AS_CRASH_REPLACES);
		/* ext4_put_super(): the row of ext2 in fstype.def. */
		type->crash |= AS_CRASH_MARK_UNSURE;
	}
}

struct as_fstype as_variants_apply(const struct as_variants *v, const struct as_fstype *type,
				   struct as_buf *commands)
{
	size_t mkfs_at = write_command(v, type->mkfs, add_words, commands);
	const struct as_checker *checker = as_fstype_checker(type);
	struct as_fstype changed = *type;
	size_t check_at[AS_CHECK_MODES];

	for (int i = 0; i < AS_CHECK_MODES; i++)
		if (checker)
			check_at[i] = write_command(v, checker->ways[i].command, add_check_words,
						    commands);
	/* The buffer does not move any more. */
	changed.mkfs = commands->data + mkfs_at;
	if (checker)
		changed.own = *checker;
	for (int i = 0; checker && i < AS_CHECK_MODES; i++)
		changed.own.ways[i].command = commands->data + check_at[i];
	for (unsigned i = 0; i < NVARIANTS; i++)
		if (as_variants_has(v, i))
			change(&changed, &table[i]);
	changed.min_bytes += changed.journal_bytes;
	changed.default_bytes += changed.journal_bytes;
	return changed;
}

#define SMALL "small"

static bool has_small(const char *type, size_t len)
{
	for (unsigned i = 0; i < NVARIANTS; i++)
		if (!strncmp(table[i].type, type, len) && !table[i].type[len] &&
		    !strcmp(table[i].name, SMALL))
			return true;
	return false;
}

void as_variants_print_small(const char *spec, struct as_buf *out)
{
	size_t len = strcspn(spec, ":");

	if (has_small(spec, len) && !strstr(spec + len, AS_VARIANT_KEY))
		as_buf_addf(out, "%.*s:" AS_VARIANT_KEY SMALL "%s%s", (int)len, spec,
			    spec[len] && spec[len + 1] ? "," : "", spec[len] ? spec + len + 1 : "");
	else
		as_buf_adds(out, spec);
}
