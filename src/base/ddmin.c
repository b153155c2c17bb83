/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ddmin: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (2002).
 *
 * Method. The kept elements are cut into g chunks. If one chunk alone still fails, it is the new
 * set, and g starts again at 2. Otherwise chunks are taken out one after the other. A removal after
 * which the rest still fails is kept at once, and the scan goes on from there instead of from the
 * start. That saves tests and loses nothing: the last scan, with g = number of elements, must
 * remove nothing. When neither helps, g doubles; when g was the number of elements, the set is
 * 1-minimal.
 *
 * Invariant: kept[] always holds a set that was seen to fail (or the one given).
 */
#include "base/ddmin.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

struct ddmin {
	bool *kept, *trial;
	size_t *list, m; /* indices of the kept elements, ascending */
	size_t n, tests, budget;
	as_ddmin_test test;
	void *ctx;
};

static void make_list(struct ddmin *h)
{
	h->m = 0;
	for (size_t i = 0; i < h->n; i++)
		if (h->kept[i])
			h->list[h->m++] = i;
}

static bool spent(const struct ddmin *h)
{
	return h->budget && h->tests >= h->budget;
}

/* Tests the elements list[from..to) alone, or everything but them. A set that fails becomes
 * kept[]. */
static bool try_chunk(struct ddmin *h, size_t from, size_t to, bool alone)
{
	if (spent(h))
		return false;
	memset(h->trial, 0, h->n * sizeof(*h->trial));
	for (size_t i = 0; i < h->m; i++)
		h->trial[h->list[i]] = (i >= from && i < to) == alone;
	h->tests++;
	if (!h->test(h->ctx, h->trial, h->n))
		return false;
	for (size_t i = 0; i < h->n; i++)
		as_assert(!h->trial[i] || h->kept[i]);
	memcpy(h->kept, h->trial, h->n * sizeof(*h->kept));
	make_list(h);
	return true;
}

static bool try_alone(struct ddmin *h, size_t g)
{
	for (size_t i = 0; i < g; i++)
		if (try_chunk(h, i * h->m / g, (i + 1) * h->m / g, true))
			return true;
	return false;
}

/* Takes out chunks of about m/g elements; true if any could be removed. */
static bool try_without(struct ddmin *h, size_t g)
{
	size_t chunk = (h->m + g - 1) / g, from = 0;
	bool any = false;

	while (from < h->m) {
		size_t to = from + chunk < h->m ? from + chunk : h->m;
		size_t first = h->list[from];

		if (!try_chunk(h, from, to, false)) {
			from = to;
			continue;
		}
		any = true;
		/* The test may have cleared elements further left as well. */
		for (from = 0; from < h->m && h->list[from] < first;)
			from++;
	}
	return any;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t as_ddmin(bool *kept, size_t n, as_ddmin_test test, void *ctx, size_t budget)
{
	struct ddmin h = { .kept = kept, .n = n, .budget = budget, .test = test, .ctx = ctx };
	size_t g;

	h.trial = as_xcalloc(n, sizeof(*h.trial));
	h.list = as_xcalloc(n, sizeof(*h.list));
	make_list(&h);
	g = least(2, h.m);
	while (h.m && !spent(&h)) {
		if (g >= 2 && try_alone(&h, g)) {
			g = least(2, h.m);
			continue;
		}
		/* With two chunks, "without one" is "the other alone", tried just now. */
		if (g != 2 && try_without(&h, g)) {
			g = least(g, h.m);
			continue;
		}
		if (g >= h.m)
			break;
		g = least(2 * g, h.m);
	}
	free(h.trial);
	free(h.list);
	return h.tests;
}
