/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metric: see metric.h. */
#include "cover/metric.h"

#include <math.h>
#include <string.h>

struct as_coverage as_coverage_space(const struct as_space *space, uint64_t threshold)
{
	struct as_coverage c = { 0 };

	for (unsigned i = 0; i < space->n; i++) {
		if (!space->parts[i].expected)
			continue;
		c.of++;
		c.met += space->parts[i].count >= (threshold ? threshold : 1);
	}
	return c;
}

void as_coverage_family(const struct as_counts *counts, const struct as_spec_family *family,
			uint64_t threshold, struct as_coverage *input, struct as_coverage *output)
{
	*input = *output = (struct as_coverage){ 0 };
	for (unsigned i = 0; i < as_counts_spaces(counts); i++) {
		struct as_space space;
		struct as_coverage c, *sum;

		as_counts_space(counts, i, &space);
		c = as_coverage_space(&space, threshold);
		sum = space.kind == AS_SPACE_PLAIN    ? input
		      : space.kind == AS_SPACE_OUTPUT ? output
						      : NULL;
		if (sum && (!family || family == space.family)) {
			sum->met += c.met;
			sum->of += c.of;
		}
		as_space_free(&space);
	}
}

/* Where they are expected, they are in the same place in both. */
static const struct as_part *part_of(const struct as_space *space, unsigned at, const char *name)
{
	if (at < space->n && !strcmp(space->parts[at].name, name))
		return &space->parts[at];
	for (unsigned i = 0; i < space->n; i++)
		if (!strcmp(space->parts[i].name, name))
			return &space->parts[i];
	return NULL;
}

void as_counts_compare(const struct as_counts *a, const struct as_counts *b, unsigned kinds,
		       as_compare_fn fn, void *ctx)
{
	for (unsigned i = 0; i < as_counts_spaces(a); i++) {
		struct as_space first, second;
		const struct as_part *other;

		as_counts_space(a, i, &first);
		if (!(kinds >> first.kind & 1)) {
			as_space_free(&first);
			continue;
		}
		as_counts_space(b, i, &second);
		for (unsigned p = 0; p < first.n; p++) {
			other = part_of(&second, p, first.parts[p].name);
			fn(ctx, &first, &first.parts[p], first.parts[p].count,
			   other ? other->count : 0);
		}
		/* What was not expected is listed only where it was met. */
		for (unsigned p = 0; p < second.n; p++)
			if (!part_of(&first, p, second.parts[p].name))
				fn(ctx, &second, &second.parts[p], 0, second.parts[p].count);
		as_space_free(&first);
		as_space_free(&second);
	}
}

struct changing {
	const struct as_spec_family *family;
	struct as_cov_change *out;
};

static void add_change(void *ctx, const struct as_space *space, const struct as_part *part,
		       uint64_t a, uint64_t b)
{
	const struct changing *c = ctx;
	struct as_cov_change *out = &c->out[space->kind == AS_SPACE_OUTPUT];

	if (!part->expected || (c->family && c->family != space->family))
		return;
	out->both += a && b;
	out->lost += a && !b;
	out->gained += !a && b;
}

void as_cov_change_of(const struct as_counts *a, const struct as_counts *b,
		      const struct as_spec_family *family, struct as_cov_change out[2])
{
	struct changing c = { family, out };

	out[0] = out[1] = (struct as_cov_change){ 0 };
	as_counts_compare(a, b, 1u << AS_SPACE_PLAIN | 1u << AS_SPACE_OUTPUT, add_change, &c);
}

double as_tcd_log(uint64_t n)
{
	return n ? log2((double)n) : 0;
}

void as_tcd_add(struct as_tcd *tcd, const struct as_space *space, const struct as_targets *targets)
{
	for (unsigned i = 0; i < space->n; i++) {
		const struct as_part *part = &space->parts[i];
		double f = as_tcd_log(part->count), t;
		uint64_t target;

		if (!part->expected || !as_targets_get(targets, space, part, &target))
			continue;
		t = as_tcd_log(target);
		tcd->n++;
		tcd->squares += (f - t) * (f - t);
		tcd->logs += f;
		tcd->log_squares += f * f;
	}
}

double as_tcd_value(const struct as_tcd *tcd)
{
	return tcd->n ? sqrt(tcd->squares / (double)tcd->n) : 0;
}

bool as_tcd_crossing(const struct as_tcd *a, const struct as_tcd *b, double *target)
{
	double means;

	if (!a->n || a->n != b->n)
		return false;
	means = (a->logs - b->logs) / (double)a->n;
	if (fabs(means) < 1e-12)
		return false;
	*target = exp2((a->log_squares - b->log_squares) / (double)a->n / (2 * means));
	return isfinite(*target);
}
