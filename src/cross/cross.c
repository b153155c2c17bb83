/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cross: see cross.h. */
#include "cross/cross.h"

#include "base/show.h"
#include "cross/cross_member.h"
#include "fsck/found.h"
#include "os/spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int as_cross_open(const struct as_cross_setup *setup, struct as_cross **out, struct as_err *err)
{
	struct as_cross *c = as_xcalloc(1, sizeof(*c));
	const char *at = setup->list;
	int rc = 0;

	c->store = as_chunks_new();
	c->list = as_xstrdup(setup->list);
	c->by_kernel = setup->by_kernel;
	c->deadline_ms = setup->deadline_ms;
	while (as_cross_role(c->roles))
		c->roles++;
	while (!rc && *at) {
		size_t len = strcspn(at, ",");
		char *spec = as_xstrndup(at, len);

		if (c->n == AS_CROSS_MAX)
			rc = as_fail(err, AS_EUSE, "--compare: more than %u checkers",
				     AS_CROSS_MAX);
		else
			rc = as_cross_member_open(&c->m[c->n++], spec, setup, c->store, err);
		free(spec);
		at += len + (at[len] == ',');
	}
	if (!rc && c->n < 2)
		rc = as_fail(err, AS_EUSE, "--compare: two checkers or more, with commas");
	if (rc) {
		as_cross_free(c);
		c = NULL;
	}
	*out = c;
	return rc;
}

void as_cross_free(struct as_cross *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->n; i++)
		as_cross_member_free(&c->m[i]);
	free(c->splits);
	free(c->list);
	as_chunks_free(c->store);
	free(c);
}

int as_cross_only(const char *deed)
{
	return as_cross_deed_find(deed);
}

/* ---- Running --------------------------------------------------------------------------------- */

static unsigned role_number(const char *role)
{
	unsigned i = 0;

	while (strcmp(as_cross_role(i)->role, role))
		i++;
	return i;
}

/* Compared with what was there, whatever the others did. */
static void add_sums(struct as_cross_member *m, unsigned role)
{
	struct as_cross_sum *sum = &m->sums[role];
	uint64_t names = sum->names, others = sum->others;

	if (m->came <= AS_CROSS_UNJUDGED)
		return;
	sum->damaged++;
	if (m->came != AS_CROSS_REPAIRED)
		return;
	sum->repaired++;
	for (size_t i = 0; i < m->was.n; i++) {
		const struct as_cross_row *row = &m->was.rows[i];
		const struct as_cross_row *now = as_cross_view_find(&m->now, row->path);

		if (!now) {
			sum->names++;
			continue;
		}
		for (int f = AS_CROSS_NAME + 1; f < AS_CROSS_N; f++)
			sum->others += row->v[f] != now->v[f];
	}
	sum->whole += names == sum->names && others == sum->others;
}

static void add_pairs(struct as_cross *c)
{
	for (unsigned i = 0; i < c->n; i++)
		for (unsigned k = 0; k < c->n; k++) {
			bool differ = false;

			if (i == k || c->m[i].came != AS_CROSS_REPAIRED ||
			    c->m[k].came != AS_CROSS_REPAIRED)
				continue;
			c->both[i][k]++;
			for (size_t s = 0; !differ && s < c->n_splits; s++)
				differ = c->splits[s].voters >> i & 1 &&
					 c->splits[s].voters >> k & 1 &&
					 c->splits[s].value[i] != c->splits[s].value[k];
			c->pairs[i][k] += differ;
		}
}

static void tell_odd(struct as_cross *c, const struct as_cross_deed *deed,
		     const struct as_cross_args *args, struct as_fsck_known *known,
		     struct as_cross_counts *counts)
{
	struct as_buf sign = { 0 };

	for (unsigned i = 0; i < c->n; i++) {
		bool odd = false;

		for (size_t s = 0; s < c->n_splits; s++)
			odd = odd || c->splits[s].odd >> i & 1;
		if (!odd || (args->max_findings && counts->findings >= args->max_findings))
			continue;
		as_buf_clear(&sign);
		as_cross_sign(c, deed, i, &sign);
		if (!as_fsck_known_add(known, as_buf_str(&sign), 1)) {
			as_emit_again(args->sinks, strchr(as_buf_str(&sign), ' ') + 1);
			continue;
		}
		as_cross_found(c, deed, i, strchr(as_buf_str(&sign), ' ') + 1, args->sinks);
		counts->findings++;
	}
	as_buf_free(&sign);
}

static void tell_unjudged(const struct as_cross_member *m, const struct as_cross_deed *deed,
			  struct as_sink *sinks)
{
	struct as_buf name = { 0 };

	as_cross_deed_print(deed, &name);
	as_emit_note(sinks, "%s, %s: not judged: %s", m->spec, as_buf_str(&name),
		     as_buf_str(&m->why));
	as_buf_free(&name);
}

int as_cross_do_deed(struct as_cross *c, const struct as_cross_deed *deed,
		     const struct as_cross_args *args, struct as_fsck_known *known,
		     struct as_cross_counts *counts, struct as_err *err)
{
	unsigned given = 0;
	int rc = 0;

	for (unsigned i = 0; !rc && i < c->n; i++) {
		rc = as_cross_member_do(&c->m[i], deed, err);
		given += c->m[i].came != AS_CROSS_ABSENT;
		counts->damaged += c->m[i].came != AS_CROSS_ABSENT;
		counts->repaired += c->m[i].came == AS_CROSS_REPAIRED;
		if (!rc && c->m[i].came == AS_CROSS_UNJUDGED) {
			counts->unjudged++;
			tell_unjudged(&c->m[i], deed, args->sinks);
		}
	}
	if (rc)
		return rc;
	for (unsigned i = 0; i < c->n; i++)
		add_sums(&c->m[i], role_number(deed->role));
	if (given < 2)
		return 0;
	counts->deeds++;
	as_cross_vote(c);
	counts->differing += c->n_splits > 0;
	add_pairs(c);
	tell_odd(c, deed, args, known, counts);
	return 0;
}

int as_cross_run(struct as_cross *c, const struct as_cross_args *args,
		 struct as_cross_counts *counts, struct as_err *err)
{
	struct as_fsck_known known = { 0 };
	struct as_cross_counts before;
	struct as_cross_deed deed;
	int rc = 0;

	*counts = (struct as_cross_counts){ 0 };
	if (args->halt && args->for_us)
		args->halt->until_us = as_now_us() + args->for_us;
	for (unsigned i = 0; !rc && as_cross_deed(i, &deed); i++) {
		if (as_halted(args->halt) ||
		    (args->max_findings && counts->findings >= args->max_findings))
			break;
		before = *counts;
		if (args->only < 0 || (unsigned)args->only == i)
			rc = as_cross_do_deed(c, &deed, args, &known, counts, err);
		/* A deed in which the time was over counts nowhere. */
		if (rc == AS_ESTOP && as_halted(args->halt)) {
			*counts = before;
			rc = 0;
			break;
		}
		if (args->progress)
			args->progress(args->ctx, counts);
	}
	as_fsck_known_free(&known);
	return rc;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

void as_cross_describe(const struct as_cross *c, struct as_buf *out)
{
	for (unsigned i = 0; i < c->n; i++) {
		const struct as_cross_member *m = &c->m[i];

		as_buf_addf(out, "%s: %s, %zu names, read by %s%s%s\n", m->spec, m->type, m->was.n,
			    m->by_kernel ? "the kernel" : "its description",
			    m->generic.note.len ? "; " : "", as_buf_str(&m->generic.note));
	}
}

static int width(const struct as_cross *c)
{
	size_t most = 14;

	for (unsigned i = 0; i < c->n; i++)
		if (strlen(c->m[i].spec) > most)
			most = strlen(c->m[i].spec);
	return most < 30 ? (int)most : 30;
}

static void add_sum(const struct as_cross_sum *s, int w, struct as_buf *out)
{
	char text[64] = "-";

	if (s->damaged)
		snprintf(text, sizeof(text), "%llu/%llu/%llu", (unsigned long long)s->whole,
			 (unsigned long long)s->repaired, (unsigned long long)s->damaged);
	as_buf_addf(out, "  %*s", w, text);
}

void as_cross_tell(const struct as_cross *c, struct as_buf *out)
{
	int w = width(c);

	as_buf_addf(out, "as it was / repaired / damaged, by role:\n%-22s", "");
	for (unsigned i = 0; i < c->n; i++)
		as_buf_addf(out, "  %*.*s", w, w, c->m[i].spec);
	as_buf_addc(out, '\n');
	for (unsigned r = 0; r < c->roles; r++) {
		uint64_t any = 0;

		for (unsigned i = 0; i < c->n; i++)
			any += c->m[i].sums[r].damaged;
		if (!any)
			continue;
		as_buf_addf(out, "%-22s", as_cross_role(r)->role);
		for (unsigned i = 0; i < c->n; i++)
			add_sum(&c->m[i].sums[r], w, out);
		as_buf_addc(out, '\n');
	}
	as_buf_addf(out, "two that disagree / damages that both repaired:\n%-22s", "");
	for (unsigned i = 0; i < c->n; i++)
		as_buf_addf(out, "  %*.*s", w, w, c->m[i].spec);
	as_buf_addc(out, '\n');
	for (unsigned i = 0; i < c->n; i++) {
		as_buf_addf(out, "%-22.22s", c->m[i].spec);
		for (unsigned k = 0; k < c->n; k++) {
			char text[64] = "";

			if (i != k)
				snprintf(text, sizeof(text), "%llu/%llu",
					 (unsigned long long)c->pairs[i][k],
					 (unsigned long long)c->both[i][k]);
			as_buf_addf(out, "  %*s", w, text);
		}
		as_buf_addc(out, '\n');
	}
}

void as_cross_table(const struct as_cross *c, struct as_buf *out)
{
	struct as_buf name = { 0 };

	for (unsigned i = 0; i < c->n; i++)
		as_buf_addf(out, "%-30.30s", c->m[i].type);
	as_buf_adds(out, "what it is\n");
	for (unsigned r = 0; r < c->roles; r++) {
		struct as_buf line = { 0 };
		unsigned has = 0;

		for (unsigned i = 0; i < c->n; i++) {
			as_buf_clear(&name);
			if (as_cross_role_field(c->m[i].fields, as_cross_role(r), c->m[i].base.disk,
						&name))
				has++;
			as_buf_addf(&line, "%-29.29s ", name.len ? as_buf_str(&name) : "-");
		}
		if (has >= 2)
			as_buf_addf(out, "%s%s\n", as_buf_str(&line), as_cross_role(r)->words);
		as_buf_free(&line);
	}
	as_buf_free(&name);
}
