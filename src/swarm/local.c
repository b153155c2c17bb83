/* SPDX-License-Identifier: GPL-2.0-or-later */
/* local: see local.h. */
#include "swarm/local.h"

#include "os/dir.h"
#include "swarm/allot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOCK_NAME "lock"
#define JOBS_MAX 1024u

struct local {
	struct as_ledger *ledger;
	const struct as_swarm_options *options;
	struct as_slice_run *runs; /* one for each job */
	uint64_t *slices; /* of this round */
	size_t *queue; /* cells that wait, the most valuable first */
	size_t n_queue, next;
	uint64_t round;
};

static bool stopped(const struct local *l)
{
	return l->options->stop && *l->options->stop;
}

/* ---- The queue of a round -------------------------------------------------------------------- */

struct local_order {
	double worth;
	size_t cell;
};

static int by_worth(const void *a, const void *b)
{
	const struct local_order *x = a, *y = b;

	if (x->worth != y->worth)
		return x->worth < y->worth ? 1 : -1;
	return x->cell < y->cell ? -1 : x->cell > y->cell;
}

/* Cells that had their slice of this round are not in it: somebody was killed in the middle. */
static uint64_t fill_queue(struct local *l)
{
	const struct as_campaign *c = l->ledger->campaign;
	struct local_order *order = as_xcalloc(c->n_cells, sizeof(*order));
	uint64_t seconds = 0;
	size_t n = 0;

	as_allot(l->ledger, l->round, l->options->even, l->slices);
	for (size_t i = 0; i < c->n_cells; i++) {
		const struct as_swarm_tally *t = &l->ledger->tallies[i];

		if (!l->slices[i] || (t->rounds >= l->round && !t->failures))
			continue;
		order[n++] = (struct local_order){ as_allot_worth(&c->cells[i], t), i };
		seconds += l->slices[i];
	}
	qsort(order, n, sizeof(*order), by_worth);
	for (size_t i = 0; i < n; i++)
		l->queue[i] = order[i].cell;
	l->n_queue = n;
	l->next = 0;
	free(order);
	return seconds;
}

/* ---- Running --------------------------------------------------------------------------------- */

static int end_slice(struct local *l, struct as_slice_run *run, const struct as_slice *slice,
		     struct as_err *err)
{
	const struct as_swarm_tally *t = &l->ledger->tallies[run->cell];
	int rc;

	/* What a signal of ours has ended is no failure of the cell. */
	if (run->asked && stopped(l) && slice->status > 1) {
		struct as_slice cut = *slice;

		as_slice_cut(&cut);
		return as_ledger_add(l->ledger, run->cell, &cut, err);
	}
	rc = as_ledger_add(l->ledger, run->cell, slice, err);
	if (!rc && l->options->ended)
		l->options->ended(l->options->ctx, l->ledger, run->cell, slice);
	if (!rc && t->failures && !t->given_up && !stopped(l)) {
		/* The queue has room: this cell was taken from it. */
		l->queue[--l->next] = run->cell;
	}
	return rc;
}

static int turn(struct local *l, bool *busy, struct as_err *err)
{
	struct as_slice slice;
	int rc = 0;

	*busy = false;
	for (unsigned i = 0; i < l->options->jobs && !rc; i++) {
		struct as_slice_run *run = &l->runs[i];

		if (run->pid && stopped(l))
			as_slice_stop(run);
		if (run->pid && as_slice_poll(l->ledger, run, &slice))
			rc = end_slice(l, run, &slice, err);
		if (!rc && !run->pid && l->next < l->n_queue && !stopped(l)) {
			size_t cell = l->queue[l->next++];

			rc = as_slice_start(l->ledger, cell, l->round, l->slices[cell], i, run,
					    err);
		}
		*busy |= run->pid != 0;
	}
	return rc;
}

static int run_queue(struct local *l, struct as_err *err)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	bool busy = true;
	int rc = 0;

	while (busy && !rc) {
		rc = turn(l, &busy, err);
		if (busy)
			nanosleep(&pause, NULL);
	}
	return rc;
}

static void kill_all(struct local *l)
{
	struct as_slice slice;

	for (unsigned i = 0; i < l->options->jobs; i++)
		as_slice_stop(&l->runs[i]);
	for (unsigned i = 0; i < l->options->jobs; i++)
		while (l->runs[i].pid && !as_slice_poll(l->ledger, &l->runs[i], &slice))
			usleep(20000);
}

/* The round that is not over: cells of it have had no slice yet. */
static uint64_t first_round(const struct as_ledger *ledger)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < ledger->campaign->n_cells; i++) {
		const struct as_swarm_tally *t = &ledger->tallies[i];

		if (!t->complete && !t->given_up && t->rounds < first)
			first = t->rounds;
	}
	return first == UINT64_MAX ? first : first + 1;
}

static int lock(struct as_ledger *ledger, int *fd, struct as_err *err)
{
	*fd = openat(ledger->swarm.fd, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (*fd < 0)
		return as_fail_errno(err, errno, "%s/%s", ledger->swarm.path, LOCK_NAME);
	if (as_dir_lock_file(*fd, true, AS_DIR_LOCK_DYING_US))
		return as_fail(err, AS_EUSE, "%s: another process runs this campaign",
			       ledger->run.dir.path);
	return 0;
}

int as_swarm_local(struct as_ledger *ledger, const struct as_swarm_options *options,
		   struct as_err *err)
{
	size_t n = ledger->campaign->n_cells;
	struct local l = { .ledger = ledger, .options = options };
	int fd = -1, rc;

	as_assert(options->jobs && options->jobs <= JOBS_MAX);
	rc = lock(ledger, &fd, err);
	l.runs = as_xcalloc(options->jobs, sizeof(*l.runs));
	l.slices = as_xcalloc(n, sizeof(*l.slices));
	l.queue = as_xcalloc(n, sizeof(*l.queue));
	for (l.round = first_round(ledger); !rc && l.round <= ledger->campaign->rounds; l.round++) {
		uint64_t seconds = fill_queue(&l);

		if (options->began && l.n_queue)
			options->began(options->ctx, l.round, l.n_queue, seconds);
		rc = run_queue(&l, err);
		if (!rc && stopped(&l))
			rc = as_fail(err, AS_ESTOP, "stopped");
	}
	kill_all(&l);
	if (fd >= 0)
		close(fd);
	free(l.runs);
	free(l.slices);
	free(l.queue);
	return rc;
}
