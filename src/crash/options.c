/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options: how a crash run was asked for, as text ("view=3,cut=12,units=1+4,way=mount"). */
#include "crash/crash.h"
#include "crash/judge.h"

#include <errno.h>
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
static void with_commas(const char *value, char *out, size_t cap)
{
	snprintf(out, cap, "%s", value);
	for (char *s = out; *s; s++)
		if (*s == '+')
			*s = ',';
}

static void print_plus(const char *text, struct as_buf *out)
{
	for (; *text; text++)
		as_buf_addc(out, *text == ',' ? '+' : *text);
}

static void print_views(uint32_t views, struct as_buf *out)
{
	const char *plus = "";

	for (unsigned v = 1; v < AS_VIEWS; v++) {
		if (!(views >> v & 1))
			continue;
		as_buf_addf(out, "%s%u", plus, v);
		plus = "+";
	}
}

/* "VIEW:CUT:UNITS", of a crash during recovery (then) or in an earlier round (from). */
static void print_spot(const char *key, const struct as_crash_spot *spot, struct as_buf *out)
{
	as_buf_addf(out, ",%s=%u:%zu:%s", key, spot->view, spot->cut, spot->units);
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

/* ---- Text ------------------------------------------------------------------------------------ */

static const char *const memo_names[] = {
	[AS_MEMO_ON] = "on",
	[AS_MEMO_OFF] = "off",
	[AS_MEMO_VERIFY] = "verify",
};

static const char *const record_names[] = {
	[AS_RECORD_SOUND] = "sound",
	[AS_RECORD_SWEEP] = "sweep",
	[AS_RECORD_DRAW] = "draw",
};

static void print_difference(const struct as_crash_options *o, struct as_buf *out)
{
	struct as_crash_options standard = as_crash_options_default();
	struct as_buf ways = { 0 };

	if (o->perm.t != standard.perm.t)
		as_buf_addf(out, ",t=%u", o->perm.t);
	if (o->perm.trials != standard.perm.trials)
		as_buf_addf(out, ",trials=%u", o->perm.trials);
	if (o->perm.sector_bytes != standard.perm.sector_bytes)
		as_buf_addf(out, ",sector=%u", o->perm.sector_bytes);
	if (o->perm.lying_flush)
		as_buf_adds(out, ",lying=1");
	if (o->ways) {
		as_ways_print(o->ways, &ways);
		as_buf_adds(out, ",ways=");
		print_plus(as_buf_str(&ways), out);
	}
	if (o->again != standard.again)
		as_buf_addf(out, ",again=%u", o->again);
	if (o->prune != standard.prune)
		as_buf_addf(out, ",prune=%u", o->prune);
	if (o->faults)
		as_buf_addf(out, ",faults=%u", o->faults & AS_CRASH_FAIL_ALL);
	if (o->record)
		as_buf_addf(out, ",record=%s", record_names[o->record]);
	if (o->hold)
		as_buf_addf(out, ",hold=%u", o->hold);
	if (o->early)
		as_buf_addf(out, ",early=%llu", (unsigned long long)o->early);
	if (o->memo != standard.memo)
		as_buf_addf(out, ",memo=%s", memo_names[o->memo]);
	/* A state that is named is looked at whatever the budget. */
	if (o->budget != standard.budget && !o->spot.view)
		as_buf_addf(out, ",budget=%llu", (unsigned long long)o->budget);
	if (as_share_is(&o->share)) {
		as_buf_adds(out, ",share=");
		as_share_print(&o->share, out);
	}
	if (o->every != standard.every)
		as_buf_addf(out, ",every=%u", o->every);
	if (o->since_mount)
		as_buf_adds(out, ",since=mount");
	if (o->since_fault)
		as_buf_adds(out, ",since=fault");
	if (o->rounds != standard.rounds)
		as_buf_addf(out, ",rounds=%u", o->rounds);
	if (o->race.threads) {
		as_buf_addf(out, ",threads=%u,delay=%u", o->race.threads, o->race.delay_us);
		if (o->race.repeat > 1 && !o->spot.view)
			as_buf_addf(out, ",repeat=%u", o->race.repeat);
		if (o->race.seed)
			as_buf_addf(out, ",seed=%llu", (unsigned long long)o->race.seed);
	}
	for (unsigned i = 0; i < AS_CRASH_ROUNDS_MAX - 1 && o->from[i].view; i++)
		print_spot("from", &o->from[i], out);
	as_buf_free(&ways);
}

void as_crash_options_print(const struct as_crash_options *o, struct as_buf *out)
{
	if (o->spot.view) {
		as_buf_addf(out, "view=%u,cut=%zu,units=%s,way=%s,sig=%08x", o->spot.view,
			    o->spot.cut, o->spot.units, as_way_name(o->way), o->sig);
		for (unsigned i = 0; i < AS_CRASH_AGAIN_MAX && o->then[i].view; i++)
			print_spot("then", &o->then[i], out);
	} else {
		as_buf_adds(out, "views=");
		print_views(o->views ? o->views : AS_VIEWS_ALL, out);
	}
	print_difference(o, out);
}

static int parse_memo(const char *word, const char *value, enum as_memo_mode *memo,
		      struct as_err *err)
{
	for (unsigned i = 0; i < sizeof(memo_names) / sizeof(memo_names[0]); i++)
		if (!strcmp(value, memo_names[i])) {
			*memo = (enum as_memo_mode)i;
			return 0;
		}
	return as_fail(err, AS_EUSE, "'%s': expected on, off or verify", word);
}

static int parse_record(const char *word, const char *value, enum as_crash_record *record,
			struct as_err *err)
{
	for (unsigned i = 0; i < sizeof(record_names) / sizeof(record_names[0]); i++)
		if (!strcmp(value, record_names[i])) {
			*record = (enum as_crash_record)i;
			return 0;
		}
	return as_fail(err, AS_EUSE, "'%s': expected sound, sweep or draw", word);
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

static int parse_queue(const char *word, bool hold, const char *value, struct as_crash_options *o,
		       struct as_err *err)
{
	uint64_t n;
	int rc = number(word, value, hold ? AS_HOLD_MAX : AS_EARLY_MAX, &n, err);

	if (rc)
		return rc;
	if (hold)
		o->hold = (unsigned)n;
	else
		o->early = n;
	return 0;
}

static int parse_share(const char *word, const char *value, struct as_crash_options *o,
		       struct as_err *err)
{
	o->draws = !strcmp(value, "draw");
	return o->draws || !strcmp(value, "plan") ? 0 : as_share_parse(word, value, &o->share, err);
}

static int parse_text(const char *word, const char *key, const char *value,
		      struct as_crash_options *o, struct as_err *err)
{
	char commas[160];
	uint32_t ways;
	int rc;

	with_commas(value, commas, sizeof(commas));
	if (!strcmp(key, "views"))
		return as_views_parse(commas, &o->views, err);
	if (!strcmp(key, "ways"))
		return as_ways_parse(commas, &o->ways, err);
	if (!strcmp(key, "memo"))
		return parse_memo(word, value, &o->memo, err);
	if (!strcmp(key, "since") && (!strcmp(value, "mount") || !strcmp(value, "fault"))) {
		*(*value == 'm' ? &o->since_mount : &o->since_fault) = true;
		return 0;
	}
	if (!strcmp(key, "record"))
		return parse_record(word, value, &o->record, err);
	if (!strcmp(key, "then"))
		return parse_next(word, value, o->then, AS_CRASH_AGAIN_MAX, err);
	if (!strcmp(key, "hold") || !strcmp(key, "early"))
		return parse_queue(word, *key == 'h', value, o, err);
	if (!strcmp(key, "from"))
		return parse_next(word, value, o->from, AS_CRASH_ROUNDS_MAX - 1, err);
	if (!strcmp(key, "share"))
		return parse_share(word, value, o, err);
	if (!strcmp(key, "tally"))
		return as_share_parse_tally(word, value, &o->so_far, err);
	if (!strcmp(key, "sig")) {
		o->sig = (uint32_t)strtoul(value, NULL, 16);
		return 0;
	}
	if (!strcmp(key, "way")) {
		rc = as_ways_parse(value, &ways, err);
		o->way = rc ? AS_WAY_MOUNT : (enum as_way)__builtin_ctz(ways);
		return rc;
	}
	if (!strcmp(key, "units") && strlen(value) < sizeof(o->spot.units)) {
		snprintf(o->spot.units, sizeof(o->spot.units), "%s", value);
		return 0;
	}
	return as_fail(err, AS_EUSE, "unknown option of a crash run: '%s'", word);
}

/* i: the row of parse_word(). */
static int set_number(const char *whole, size_t i, uint64_t n, struct as_crash_options *o,
		      struct as_err *err)
{
	switch (i) {
	case 0:
		o->perm.t = (unsigned)n;
		break;
	case 1:
		o->perm.trials = (unsigned)n;
		break;
	case 2:
		if (n != 512 && n != 4096)
			return as_fail(err, AS_EUSE, "'%s': a sector is 512 or 4096 bytes", whole);
		o->perm.sector_bytes = (uint32_t)n;
		break;
	case 3:
		o->perm.lying_flush = n;
		break;
	case 4:
		o->again = (unsigned)n;
		break;
	case 5:
		o->prune = (unsigned)n;
		break;
	case 6:
		o->spot.view = (unsigned)n;
		break;
	case 7:
		o->every = (unsigned)n;
		break;
	case 8:
		o->faults = (unsigned)n;
		break;
	case 9:
		o->budget = n;
		break;
	case 10:
		o->rounds = (unsigned)n;
		break;
	default:
		o->spot.cut = n;
	}
	return 0;
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
	static const struct row {
		const char *key;
		uint64_t max;
	} rows[] = { { "t", AS_PERM_T_MAX },
		     { "trials", AS_PERM_TRIALS_MAX },
		     { "sector", 4096 },
		     { "lying", 1 },
		     { "again", AS_CRASH_AGAIN_MAX },
		     { "prune", 31 },
		     { "view", AS_VIEWS - 1 },
		     { "every", 1000000 },
		     { "faults", AS_CRASH_FAIL_ALL },
		     { "budget", AS_BUDGET_MAX },
		     { "rounds", AS_CRASH_ROUNDS_MAX },
		     { "cut", SIZE_MAX } };
	char *value = strchr(word, '=');
	char whole[160];
	uint64_t n;
	size_t i = 0;
	int rc;

	snprintf(whole, sizeof(whole), "%s", word);
	if (!value)
		return as_fail(err, AS_EUSE, "'%s': expected KEY=VALUE", whole);
	*value++ = '\0';
	while (i < sizeof(rows) / sizeof(rows[0]) && strcmp(rows[i].key, word))
		i++;
	if (i == sizeof(rows) / sizeof(rows[0]))
		return parse_text(whole, word, value, o, err);
	rc = number(whole, value, rows[i].max, &n, err);
	if (rc)
		return rc;
	return set_number(whole, i, n, o, err);
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
