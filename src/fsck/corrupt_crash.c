/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * corrupt_crash: the model `crash`: disks that a power cut leaves (cuts/perm.h). Each base is a
 * recorded workload (recording/tape.h), and its disk is the one before the last mount of that
 * workload, which is healthy. Of each point of the workload after that mount there are two lots:
 *   - the crash states of that point, in all views;
 *   - the same for a repair that is cut off: the checker repairs what a power cut left there, and
 *     the power fails again while it does.
 * The first points are spread over the workload, and the points between them follow.
 *
 * Such a disk is given as a whole: it differs from the healthy one in many bytes, and a part of
 * them would be no disk that a power cut can leave.
 */
#include "fsck/corrupt_priv.h"

#include "base/array.h"
#include "cuts/perm.h"
#include "damage/crash_work.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>

#define LOT_MAX 64u /* disks of a lot */
#define AGAIN_CUTS 8u /* of a repair */

struct crash_point {
	uint32_t base;
	size_t cut;
	unsigned round;
	bool again;
};

struct crash_model {
	struct as_perm **of; /* of each tape */
	struct crash_point *points;
	size_t n, cap;
	const char ***names; /* of each tape: the paths that its second part names */
	size_t *n_names;
};

static const struct as_perm_options how = { .t = 4,
					    .trials = 3,
					    .sector_bytes = AS_DISK_SECTOR_BYTES };

static struct crash_model *own(const struct as_corrupt *c)
{
	return c->own;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Whether a cut is after the last mount of the workload has begun. */
static bool is_late(const struct as_perm_cut *cut, size_t mount)
{
	return mount == SIZE_MAX || (cut->op != AS_RECLOG_NO_OP && cut->op >= mount);
}

static void add_points(struct crash_model *m, uint32_t base, const struct as_seq *seq)
{
	size_t cuts = as_perm_cuts(m->of[base]), mount = as_crash_work_mount(seq), first = 0;

	while (first < cuts) {
		struct as_perm_cut cut = as_perm_cut(m->of[base], first);

		if (is_late(&cut, mount))
			break;
		first++;
	}
	for (size_t i = first; i < cuts; i++)
		for (unsigned again = 0; again < 2; again++) {
			AS_ARRAY_ROOM(m->points, m->n, m->cap);
			m->points[m->n++] = (struct crash_point){
				.base = base,
				.cut = i,
				.round = 2 * as_perm_round(i - first, cuts - first) + 3 * again,
				.again = again
			};
		}
}

static int by_round(const void *a, const void *b)
{
	const struct crash_point *x = a, *y = b;

	if (x->round != y->round)
		return x->round < y->round ? -1 : 1;
	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return x->cut != y->cut ? (x->cut < y->cut ? -1 : 1) : (int)x->again - (int)y->again;
}

static int open_crash(struct as_corrupt *c, struct as_err *err)
{
	struct crash_model *m = c->own = as_xcalloc(1, sizeof(*m));

	m->of = as_xcalloc(c->setup.n, sizeof(*m->of));
	m->names = as_xcalloc(c->setup.n, sizeof(*m->names));
	m->n_names = as_xcalloc(c->setup.n, sizeof(*m->n_names));
	as_assert(c->setup.tapes && c->setup.seqs);
	for (size_t i = 0; i < c->setup.n; i++) {
		m->of[i] = as_perm_new(c->setup.tapes[i].log, c->setup.tapes[i].start, &how);
		m->names[i] = as_crash_work_names(c->setup.seqs[i], &m->n_names[i]);
		add_points(m, (uint32_t)i, c->setup.seqs[i]);
	}
	if (!m->n)
		return as_fail(err, AS_EUSE, "--model crash: the workload writes nothing");
	qsort(m->points, m->n, sizeof(*m->points), by_round);
	return 0;
}

static void close_crash(struct as_corrupt *c)
{
	struct crash_model *m = own(c);

	if (!m)
		return;
	for (size_t i = 0; i < c->setup.n; i++) {
		as_perm_free(m->of[i]);
		free(m->names[i]);
	}
	free(m->of);
	free(m->names);
	free(m->n_names);
	free(m->points);
	free(m);
}

static uint64_t crash_lots(const struct as_corrupt *c)
{
	return own(c)->n;
}

/* ---- Lots ------------------------------------------------------------------------------------ */

struct crash_lot {
	struct as_corrupt *c;
	const struct crash_point *point;
	struct as_corrupt_lot *lot;
	struct as_digest seen[LOT_MAX];
	size_t n_seen;
	const char *before; /* in words */
};

static bool is_seen(struct crash_lot *l, struct as_digest key)
{
	for (size_t i = 0; i < l->n_seen; i++)
		if (as_digest_eq(l->seen[i], key))
			return true;
	if (l->n_seen < LOT_MAX)
		l->seen[l->n_seen++] = key;
	return false;
}

static void add_state(struct crash_lot *l, struct as_perm *perm, const struct as_perm_state *state)
{
	const struct crash_model *m = own(l->c);
	struct as_damage *d;

	if (l->lot->n >= LOT_MAX || is_seen(l, state->key))
		return;
	d = as_corrupt_add(l->lot, l->point->base);
	d->crashed = as_perm_disk(perm);
	d->names = m->names[l->point->base];
	d->n_names = m->n_names[l->point->base];
	as_buf_addf(&d->words, "%s; %s, of %zu writes or sectors that were pending: ", l->before,
		    as_view_name(state->view), state->n_units);
	as_perm_print_units(perm, &d->words);
	as_buf_adds(&d->words, " reached the disk");
}

static void add_cut(struct crash_lot *l, struct as_perm *perm, size_t cut, uint32_t views)
{
	struct as_perm_state state;

	for (unsigned view = AS_VIEW_SYNC_ATOMIC; view < AS_VIEWS; view++) {
		if (!(views & 1u << view))
			continue;
		as_perm_begin(perm, (enum as_view)view, cut, false);
		while (l->lot->n < LOT_MAX && as_perm_next(perm, &state))
			add_state(l, perm, &state);
	}
}

/* "the power fails during operation 7, `rename /a /b`" */
static void say_point(const struct as_corrupt *c, const struct crash_point *p, struct as_buf *out)
{
	struct as_perm_cut cut = as_perm_cut(own(c)->of[p->base], p->cut);
	const struct as_seq *seq = c->setup.seqs[p->base];

	as_buf_addf(out, "workload %s: the power fails ", c->setup.bases[p->base].name);
	if (cut.op < seq->n) {
		as_buf_addf(out, "during operation %u, `", cut.op + 1);
		as_print_op(&seq->ops[cut.op], out);
		as_buf_addf(out, "`, after write %zu of all", cut.at);
	} else {
		as_buf_addf(out, "while it ends (close, umount), after write %zu of all", cut.at);
	}
}

/* The repair of what the power cut left is cut off, too. */
static void add_again(struct crash_lot *l)
{
	struct as_perm *perm = own(l->c)->of[l->point->base], *inner;
	struct as_perm_state state;
	struct as_subject_run run = { 0 };
	struct as_disk *disk;
	struct as_err err;
	size_t cuts;

	as_perm_begin(perm, AS_VIEW_SYNC_ATOMIC, l->point->cut, true);
	if (!as_perm_next(perm, &state))
		return;
	while (as_perm_next(perm, &state))
		; /* the last one has all writes */
	disk = as_perm_disk(perm);
	if (!as_subject_run(l->c->subject, AS_SUBJECT_REPAIR, disk, &run, &err) &&
	    run.run.changed && !run.run.incomplete) {
		inner = as_perm_new(run.run.log, disk, &how);
		cuts = as_perm_cuts(inner);
		for (size_t i = 1, step = cuts / AGAIN_CUTS + 1; i < cuts; i += step)
			add_cut(l, inner, i, 1u << AS_VIEW_ATOMIC | 1u << AS_VIEW_SECTORS);
		as_perm_free(inner);
	}
	as_subject_run_free(&run);
	as_disk_free(disk);
}

static void crash_lot(struct as_corrupt *c, uint64_t i, struct as_corrupt_lot *lot)
{
	struct crash_model *m = own(c);
	struct crash_lot l = { .c = c, .point = &m->points[i], .lot = lot };
	struct as_buf before = { 0 };

	say_point(c, l.point, &before);
	if (l.point->again)
		as_buf_adds(&before, "; the repair is cut off by the next power cut");
	l.before = as_buf_str(&before);
	if (l.point->again)
		add_again(&l);
	else
		add_cut(&l, m->of[l.point->base], l.point->cut, AS_VIEWS_ALL);
	as_buf_free(&before);
}

const struct as_corrupt_row as_corrupt_crash = {
	.name = "crash",
	.help = "what a power cut leaves of a workload, and of a repair",
	.open = open_crash,
	.lots = crash_lots,
	.lot = crash_lot,
	.close = close_crash,
};
