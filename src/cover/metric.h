/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metric: numbers out of counts: coverage, and the Test Coverage Deviation of the paper,
 *
 *   TCD = sqrt(1/N * sum over the partitions i of (log F_i - log T_i)^2)
 *
 * with the logarithm to base 2. The paper's text does not say what the logarithm of 0 is. Its
 * Figure 5 was made with log 0 = 0, so that a partition that was never tested counts like one that
 * was tested once. This code does the same, for frequencies and for targets. Only partitions that
 * are expected to be tested count.
 */
#ifndef AS_COVER_METRIC_H
#define AS_COVER_METRIC_H

#include "cover/counts.h"

struct as_coverage {
	uint64_t met, of;
};

static inline double as_coverage_percent(struct as_coverage c)
{
	return c.of ? 100.0 * (double)c.met / (double)c.of : 100.0;
}

/* Partitions met at least `threshold` times (0 is taken as 1). */
struct as_coverage as_coverage_space(const struct as_space *space, uint64_t threshold);
/* Inputs (plain spaces) and outputs; family NULL: the whole. */
void as_coverage_family(const struct as_counts *counts, const struct as_spec_family *family,
			uint64_t threshold, struct as_coverage *input, struct as_coverage *output);

/* ---- Two side by side ---- */

/* Calls fn for each partition that one of them has, met or not. Spaces of one spec. */
typedef void (*as_compare_fn)(void *ctx, const struct as_space *space, const struct as_part *part,
			      uint64_t a, uint64_t b);
void as_counts_compare(const struct as_counts *a, const struct as_counts *b, unsigned kinds,
		       as_compare_fn fn, void *ctx);

/* Partitions that are expected to be tested, inputs and outputs of a family. */
struct as_cov_change {
	uint64_t both, lost, gained; /* met by both, by the first only, by the second only */
};
/* [0]: inputs, [1]: outputs. family NULL: the whole. */
void as_cov_change_of(const struct as_counts *a, const struct as_counts *b,
		      const struct as_spec_family *family, struct as_cov_change out[2]);

/* ---- Targets ---- */

struct as_targets;

/* The same for all. */
struct as_targets *as_targets_uniform(uint64_t target);
/*
 * From text: "CALL ARGUMENT PARTITION N" a line, "output" for the result; '*' and other wildcards
 * of the shell in each; the last line that fits counts; '#' begins a comment. A partition that no
 * line fits has the target of `default N`, or does not count.
 */
AS_MUST_CHECK int as_targets_parse(const char *file, const char *text, size_t len,
				   struct as_targets **out, struct as_err *err);
AS_MUST_CHECK int as_targets_load(const char *path, struct as_targets **out, struct as_err *err);
void as_targets_free(struct as_targets *targets);
/* False: it does not count. */
bool as_targets_get(const struct as_targets *targets, const struct as_space *space,
		    const struct as_part *part, uint64_t *target);

/* ---- The deviation ---- */

/* Sums, so that spaces can be combined. */
struct as_tcd {
	uint64_t n;
	double squares; /* sum of (log F - log T)^2 */
	double logs, log_squares; /* sums of log F and (log F)^2, for the crossing point */
};

double as_tcd_log(uint64_t n); /* log2, 0 for 0 */
void as_tcd_add(struct as_tcd *tcd, const struct as_space *space, const struct as_targets *targets);
double as_tcd_value(const struct as_tcd *tcd);
/*
 * The uniform target for which two suites deviate alike (the paper's Figure 5): below it the one
 * that tests less is better, above it the other. As TCD^2 = mean(L^2) - 2 t mean(L) + t^2 with t =
 * log T, there is at most one. False: none, their means are the same.
 */
bool as_tcd_crossing(const struct as_tcd *a, const struct as_tcd *b, double *target);

#endif
