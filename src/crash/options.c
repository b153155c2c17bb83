/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options: how a crash run was asked for, as text ("view=3,cut=12,units=1+4,way=mount"): the rows
 * of crash_option.def. */
#include "crash/crash.h"
#include "crash/judge.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct as_crash_options as_crash_options_default(void)
{
	return (struct as_crash_options){
		.views = AS_VIEWS_ALL,
		.perm = { .t = AS_PERM_T, .trials = AS_PERM_TRIALS },
		.again = 1,
		.prune = AS_PRUNE_ALL,
		.rounds = 1,
		.budget = AS_BUDGET_UNSAID,
	};
}

/* ---- Values ---------------------------------------------------------------------------------- */

static int number(const char *word, const char *value, uint64_t max, uint64_t *out,
		  struct as_err *err)
{
	char *end;

	errno = 0;
	*out = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || *out > max)
		return as_fail(err, AS_EUSE, "'%s': expected a number up to %llu", word,
			       (unsigned long long)max);
	return 0;
}

/* "1+3" for views and ways: a comma ends a word. */
static void print_plus(const char *text, struct as_buf *out)
{
	for (; *text; text++)
		as_buf_addc(out, *text == ',' ? '+' : *text);
}

static void with_commas(const char *value, char *out, size_t cap)
{
	snprintf(out, cap, "%s", value);
	for (char *s = out; *s; s++)
		if (*s == '+')
			*s = ',';
}

typedef struct as_crash_options options;

static void print_views(const options *o, struct as_buf *out)
{
	uint32_t views = o->views ? o->views : AS_VIEWS_ALL;
	const char *plus = ",views=";

	for (unsigned v = 1; v < AS_VIEWS; v++) {
		if (!(views >> v & 1))
			continue;
		as_buf_addf(out, "%s%u", plus, v);
		plus = "+";
	}
}

static int parse_views(const char *word, const char *value, options *o, struct as_err *err)
{
	char commas[160];

	(void)word;
	with_commas(value, commas, sizeof(commas));
	return as_views_parse(commas, &o->views, err);
}

static void print_units(const options *o, struct as_buf *out)
{
	as_buf_addf(out, ",units=%s", o->spot.units);
}

static int parse_units(const char *word, const char *value, options *o, struct as_err *err)
{
	if (strlen(value) >= sizeof(o->spot.units))
		return as_fail(err, AS_EUSE, "unknown option of a crash run: '%s'", word);
	snprintf(o->spot.units, sizeof(o->spot.units), "%s", value);
	return 0;
}

static void print_way(const options *o, struct as_buf *out)
{
	as_buf_addf(out, ",way=%s", as_way_name(o->way));
}

static int parse_way(const char *word, const char *value, options *o, struct as_err *err)
{
	uint32_t ways;
	int rc = as_ways_parse(value, &ways, err);

	(void)word;
	o->way = rc ? AS_WAY_MOUNT : (enum as_way)__builtin_ctz(ways);
	return rc;
}

static void print_ways(const options *o, struct as_buf *out)
{
	struct as_buf ways = { 0 };

	if (!o->ways)
		return;
	as_ways_print(o->ways, &ways);
	as_buf_adds(out, ",ways=");
	print_plus(as_buf_str(&ways), out);
	as_buf_free(&ways);
}

static int parse_ways(const char *word, const char *value, options *o, struct as_err *err)
{
	char commas[160];

	(void)word;
	with_commas(value, commas, sizeof(commas));
	return as_ways_parse(commas, &o->ways, err);
}

static void print_sig(const options *o, struct as_buf *out)
{
	as_buf_addf(out, ",sig=%08x", o->sig);
}

static int parse_sig(const char *word, const char *value, options *o, struct as_err *err)
{
	(void)word;
	(void)err;
	o->sig = (uint32_t)strtoul(value, NULL, 16);
	return 0;
}

/* "VIEW:CUT:UNITS", of a crash during recovery (then) or in an earlier round (from). */
static void print_spots(const char *key, const struct as_crash_spot *spot, unsigned n,
			struct as_buf *out)
{
	for (unsigned i = 0; i < n && spot[i].view; i++)
		as_buf_addf(out, ",%s=%u:%zu:%s", key, spot[i].view, spot[i].cut, spot[i].units);
}

static int parse_spot(const char *word, const char *value, struct as_crash_spot *spot,
		      struct as_err *err)
{
	const char *cut = strchr(value, ':'), *units = cut ? strchr(cut + 1, ':') : NULL;
	char *end;

	if (!units || strlen(units + 1) >= sizeof(spot->units) || value[0] < '1' ||
	    value[0] >= '0' + AS_VIEWS || cut != value + 1)
		return as_fail(err, AS_EUSE, "'%s': expected VIEW:CUT:UNITS", word);
	spot->view = (unsigned)(value[0] - '0');
	spot->cut = strtoul(cut + 1, &end, 10);
	if (end != units)
		return as_fail(err, AS_EUSE, "'%s': expected VIEW:CUT:UNITS", word);
	snprintf(spot->units, sizeof(spot->units), "%s", units + 1);
	return 0;
}

/* The next of them that is not said yet. */
static int parse_next(const char *word, const char *value, struct as_crash_spot *spot, unsigned max,
		      struct as_err *err)
{
	for (unsigned i = 0; i < max; i++)
		if (!spot[i].view)
			return parse_spot(word, value, &spot[i], err);
	return as_fail(err, AS_EUSE, "'%s': at most %u of them", word, max);
}

static void print_then(const options *o, struct as_buf *out)
{
	print_spots("then", o->then, AS_CRASH_AGAIN_MAX, out);
}

static int parse_then(const char *word, const char *value, options *o, struct as_err *err)
{
	return parse_next(word, value, o->then, AS_CRASH_AGAIN_MAX, err);
}

static void print_from(const options *o, struct as_buf *out)
{
	print_spots("from", o->from, AS_CRASH_ROUNDS_MAX - 1, out);
}

static int parse_from(const char *word, const char *value, options *o, struct as_err *err)
{
	return parse_next(word, value, o->from, AS_CRASH_ROUNDS_MAX - 1, err);
}

static void print_sector(const options *o, struct as_buf *out)
{
	if (o->perm.sector_bytes)
		as_buf_addf(out, ",sector=%u", o->perm.sector_bytes);
}

static int parse_sector(const char *word, const char *value, options *o, struct as_err *err)
{
	uint64_t n;
	int rc = number(word, value, 4096, &n, err);

	if (!rc && n != 512 && n != 4096)
		rc = as_fail(err, AS_EUSE, "'%s': a sector is 512 or 4096 bytes", word);
	if (!rc)
		o->perm.sector_bytes = (uint32_t)n;
	return rc;
}

/* Those that were drawn are not said. */
static void print_faults(const options *o, struct as_buf *out)
{
	if (o->faults)
		as_buf_addf(out, ",faults=%u", o->faults & AS_CRASH_FAIL_ALL);
}

static int parse_faults(const char *word, const char *value, options *o, struct as_err *err)
{
	uint64_t n;
	int rc = number(word, value, AS_CRASH_FAIL_ALL, &n, err);

	if (!rc)
		o->faults = (unsigned)n;
	return rc;
}

static void print_share(const options *o, struct as_buf *out)
{
	if (!as_share_is(&o->share))
		return;
	as_buf_adds(out, ",share=");
	as_share_print(&o->share, out);
}

static int parse_share(const char *word, const char *value, options *o, struct as_err *err)
{
	o->draws = !strcmp(value, "draw");
	return o->draws || !strcmp(value, "plan") ? 0 : as_share_parse(word, value, &o->share, err);
}

static int parse_tally(const char *word, const char *value, options *o, struct as_err *err)
{
	return as_share_parse_tally(word, value, &o->so_far, err);
}

static void print_since(const options *o, struct as_buf *out)
{
	as_buf_addf(out, "%s%s", o->since_mount ? ",since=mount" : "",
		    o->since_fault ? ",since=fault" : "");
}

static int parse_since(const char *word, const char *value, options *o, struct as_err *err)
{
	if (strcmp(value, "mount") && strcmp(value, "fault"))
		return as_fail(err, AS_EUSE, "unknown option of a crash run: '%s'", word);
	*(*value == 'm' ? &o->since_mount : &o->since_fault) = true;
	return 0;
}

static void print_race(const options *o, struct as_buf *out)
{
	if (!o->race.threads)
		return;
	as_buf_addf(out, ",threads=%u,delay=%u", o->race.threads, o->race.delay_us);
	if (o->race.repeat > 1 && !o->spot.view)
		as_buf_addf(out, ",repeat=%u", o->race.repeat);
	if (o->race.seed)
		as_buf_addf(out, ",seed=%llu", (unsigned long long)o->race.seed);
}

/* ---- The table ------------------------------------------------------------------------------- */

static const char *const memo_names[] = {
	[AS_MEMO_ON] = "on",
	[AS_MEMO_OFF] = "off",
	[AS_MEMO_VERIFY] = "verify",
	[AS_MEMO_VERIFY + 1] = NULL,
};

static const char *const record_names[] = {
	[AS_RECORD_SOUND] = "sound",
	[AS_RECORD_SWEEP] = "sweep",
	[AS_RECORD_DRAW] = "draw",
	[AS_RECORD_DRAW + 1] = NULL,
};

struct crash_row {
	const char *key;
	size_t at, bytes; /* of the field */
	uint64_t max; /* of NUMBER, where there are neither names nor functions */
	const char *const *names;
	void (*print)(const options *o, struct as_buf *out);
	int (*parse)(const char *word, const char *value, options *o, struct as_err *err);
	bool own, state, search; /* it has functions; and when it is said */
	const char *given;
};

#define NUMBER(most) .max = (most)
#define NAMES(words) .names = (words)
#define BY(says, reads) .own = true, .print = (says), .parse = (reads)
#define OTHER .state = false
#define STATE .state = true
#define SEARCH .search = true
#define UNSAID(why) .state = false
#define GIVEN(option) .given = (option)
#define UNGIVEN(why) .given = NULL

static const struct crash_row rows[] = {
#define CRASH_OPTION(word, field, form, said, on_line, what)            \
	{ .key = #word,                                                 \
	  .at = offsetof(struct as_crash_options, field),               \
	  .bytes = sizeof(((const struct as_crash_options *)0)->field), \
	  form,                                                         \
	  said,                                                         \
	  on_line },
#include "crash/crash_option.def"
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

static uint64_t get(const options *o, const struct crash_row *row)
{
	const void *at = (const char *)o + row->at;

	switch (row->bytes) {
	case sizeof(bool):
		return *(const bool *)at;
	case sizeof(uint32_t):
		return *(const uint32_t *)at;
	default:
		as_assert(row->bytes == sizeof(uint64_t));
		return *(const uint64_t *)at;
	}
}

static void set(options *o, const struct crash_row *row, uint64_t n)
{
	void *at = (char *)o + row->at;

	switch (row->bytes) {
	case sizeof(bool):
		*(bool *)at = n;
		break;
	case sizeof(uint32_t):
		*(uint32_t *)at = (uint32_t)n;
		break;
	default:
		as_assert(row->bytes == sizeof(uint64_t));
		*(uint64_t *)at = n;
	}
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_row(const options *o, const options *standard, const struct crash_row *row,
		      struct as_buf *out)
{
	if ((row->state && !o->spot.view) || (row->search && o->spot.view))
		return;
	if (row->own) {
		if (row->print)
			row->print(o, out);
	} else if (row->state || get(o, row) != get(standard, row)) {
		as_buf_addf(out, ",%s=", row->key);
		if (row->names)
			as_buf_adds(out, row->names[get(o, row)]);
		else
			as_buf_addf(out, "%llu", (unsigned long long)get(o, row));
	}
}

void as_crash_options_print(const struct as_crash_options *o, struct as_buf *out)
{
	struct as_crash_options standard = as_crash_options_default();
	struct as_buf text = { 0 };

	for (size_t i = 0; i < NROWS; i++)
		print_row(o, &standard, &rows[i], &text);
	as_buf_adds(out, as_buf_str(&text) + 1);
	as_buf_free(&text);
}

static int parse_name(const struct crash_row *row, const char *word, const char *value, options *o,
		      struct as_err *err)
{
	struct as_buf known = { 0 };
	int rc;

	for (unsigned i = 0; row->names[i]; i++) {
		if (!strcmp(value, row->names[i])) {
			set(o, row, i);
			as_buf_free(&known);
			return 0;
		}
		as_buf_addf(&known, "%s%s",
			    !i			? ""
			    : row->names[i + 1] ? ", "
						: " or ",
			    row->names[i]);
	}
	rc = as_fail(err, AS_EUSE, "'%s': expected %s", word, as_buf_str(&known));
	as_buf_free(&known);
	return rc;
}

static int parse_row(const struct crash_row *row, const char *word, const char *value, options *o,
		     struct as_err *err)
{
	uint64_t n = 0;
	int rc;

	if (row->own)
		return row->parse(word, value, o, err);
	if (row->names)
		return parse_name(row, word, value, o, err);
	rc = number(word, value, row->max, &n, err);
	if (!rc)
		set(o, row, n);
	return rc;
}

int as_crash_options_given(struct as_crash_options *o, as_crash_given_fn given, void *ctx,
			   struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < NROWS && !rc; i++) {
		const char *value = rows[i].given ? given(ctx, rows[i].given) : NULL;

		if (value)
			rc = parse_row(&rows[i], rows[i].given, *value ? value : "1", o, err);
	}
	return rc;
}

/* The options of a race have names of their own (race/race.h). */
static bool is_of_race(const char *word)
{
	static const char *const keys[] = { "threads=", "repeat=", "delay=", "seed=" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strncmp(word, keys[i], strlen(keys[i])))
			return true;
	return false;
}

static int parse_race(const char *params, struct as_crash_options *o, struct as_err *err)
{
	int rc = as_race_parse(params, &o->race, err);

	/* Its crash states take longer than many runs. */
	if (!strstr(params, "repeat="))
		o->race.repeat = 1;
	return rc;
}

static int parse_word(char *word, struct as_crash_options *o, struct as_err *err)
{
	char *value = strchr(word, '=');
	char whole[160];

	snprintf(whole, sizeof(whole), "%s", word);
	if (!value)
		return as_fail(err, AS_EUSE, "'%s': expected KEY=VALUE", whole);
	*value++ = '\0';
	for (size_t i = 0; i < NROWS; i++)
		if (!strcmp(rows[i].key, word) && (!rows[i].own || rows[i].parse))
			return parse_row(&rows[i], whole, value, o, err);
	return as_fail(err, AS_EUSE, "unknown option of a crash run: '%s'", whole);
}

int as_crash_options_parse(const char *params, struct as_crash_options *o, struct as_err *err)
{
	char *copy = as_xstrdup(params), *save = NULL;
	struct as_buf race = { 0 };
	int rc = 0;

	*o = as_crash_options_default();
	for (char *word = strtok_r(copy, ",", &save); word && !rc;
	     word = strtok_r(NULL, ",", &save)) {
		if (is_of_race(word))
			as_buf_addf(&race, "%s%s", race.len ? "," : "", word);
		else
			rc = parse_word(word, o, err);
	}
	if (!rc && race.len)
		rc = parse_race(as_buf_str(&race), o, err);
	as_buf_free(&race);
	free(copy);
	return rc;
}

void as_crash_options_from(struct as_crash_options *o, const struct as_flight *flight)
{
	unsigned n = 0;

	while (n < AS_CRASH_ROUNDS_MAX - 1 && as_spot_of_flight(&flight->from[n], &o->from[n]))
		n++;
	for (unsigned i = n; i < AS_CRASH_ROUNDS_MAX - 1; i++)
		o->from[i].view = 0;
	if (n && o->rounds < n + 1)
		o->rounds = n + 1;
}

void as_crash_counts_add(struct as_crash_counts *sum, const struct as_crash_counts *c)
{
	sum->generated += c->generated;
	sum->distinct += c->distinct;
	sum->checked += c->checked;
	sum->memoised += c->memoised;
	sum->again += c->again;
	sum->again_checked += c->again_checked;
	sum->again_memoised += c->again_memoised;
	for (unsigned i = 0; i < 3; i++)
		sum->pruned[i] += c->pruned[i];
	sum->twins += c->twins;
	sum->faulty += c->faulty;
	sum->possible += c->possible;
	sum->again_possible += c->again_possible;
	sum->rounds += c->rounds;
	sum->unjudged += c->unjudged;
	sum->again_known += c->again_known;
}
