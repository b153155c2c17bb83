/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host_checks: what a file system tells of itself, and the rules that it is held to.
 *
 * Method of the lock order. Locks of one name are a class. Whenever a lock is taken, an edge goes
 * from the class of each lock that is held to its own. An edge that closes a circle is a finding,
 * although nobody waits: two threads that come by the two ways at once would wait for ever. So it
 * takes one thread, and no bad luck, to see it (Linux's lockdep works this way). Within a class the
 * numbers of the locks give the order.
 *
 * Invariants:
 *   1. The edges have no circle: one that would close it is not added.
 *   2. n_open is the number of pairs that have to be balanced when the operation ends, and are not.
 *   3. The first trouble is kept.
 */
#include "host/host_priv.h"

#include "base/array.h"
#include "base/err.h"
#include "host/medium.h"
#include "os/stack.h"

#include <stdio.h>
#include <string.h>

void as_host_note(struct as_host_mem *h, enum as_finding_kind kind, const char *fmt, ...)
{
	va_list ap;

	if (h->told.trouble[0])
		return;
	h->told.kind = kind;
	va_start(ap, fmt);
	vsnprintf(h->told.trouble, sizeof(h->told.trouble), fmt, ap);
	va_end(ap);
}

static void note_too_many(struct as_host_mem *h, unsigned limit, const char *what)
{
	as_host_note(h, AS_FIND_MISUSE, "told of more than %u %s", limit, what);
}

const char *as_host_trouble(const struct as_host_mem *h, enum as_finding_kind *kind)
{
	if (!h->told.trouble[0])
		return NULL;
	*kind = h->told.kind;
	return h->told.trouble;
}

/* ---- Questions ------------------------------------------------------------------------------- */

static const struct as_checks asked;

void as_host_set_choice(struct as_host_mem *h, struct as_choice *choice)
{
	h->told.choice = choice;
	if (choice)
		h->seam.choice = choice;
	h->seam.checks = choice ? &asked : &as_host_checks;
}

static unsigned host_ask(void *ctx, unsigned n, const char *why)
{
	struct as_host_mem *h = ctx;
	struct host_told *t = &h->told;
	unsigned answer;

	if (n < 2)
		return 0;
	answer = as_choose(t->choice, n);
	if (answer) {
		AS_ARRAY_ROOM(t->answers, t->n_answers, t->answers_cap);
		t->answers[t->n_answers++] = (struct host_answer){ why, n, answer, h->op };
	}
	return answer;
}

void as_host_answers(const struct as_host_mem *h, struct as_buf *out)
{
	for (size_t i = 0; i < h->told.n_answers; i++) {
		const struct host_answer *a = &h->told.answers[i];

		if (a->op != AS_HOST_NO_OP)
			as_buf_addf(out, "op %u: ", a->op + 1);
		as_buf_addf(out, "%s: %u of %u\n", a->why, a->answer, a->n);
	}
}

/* ---- Locks ----------------------------------------------------------------------------------- */

/* HOST_CLASSES: there is no room for it. */
static unsigned class_of(struct as_host_mem *h, const char *name)
{
	struct host_told *t = &h->told;

	for (unsigned i = 0; i < t->n_classes; i++)
		if (t->classes[i] == name)
			return i;
	for (unsigned i = 0; i < t->n_classes; i++)
		if (!strcmp(t->classes[i], name))
			return i;
	if (t->n_classes == HOST_CLASSES) {
		note_too_many(h, HOST_CLASSES, "names of locks");
		return HOST_CLASSES;
	}
	t->classes[t->n_classes] = name;
	return t->n_classes++;
}

/* Whether there is a way along the edges. */
static bool leads_to(const struct host_told *t, unsigned from, unsigned to)
{
	uint64_t seen = (uint64_t)1 << from, next = t->after[from];

	while (next & ~seen) {
		unsigned class = (unsigned)__builtin_ctzll(next & ~seen);

		seen |= (uint64_t)1 << class;
		next |= t->after[class];
	}
	return next >> to & 1;
}

static void add_order(struct as_host_mem *h, unsigned held, unsigned taken)
{
	struct host_told *t = &h->told;

	if (t->after[held] >> taken & 1)
		return;
	if (leads_to(t, taken, held))
		as_host_note(h, AS_FIND_LOCK,
			     "locks '%s' while it holds '%s', but has locked them in the "
			     "other order, too%s",
			     t->classes[taken], t->classes[held],
			     t->after[taken] >> held & 1 ? "" : ", by way of others");
	else
		t->after[held] |= (uint64_t)1 << taken;
}

static void host_lock(void *ctx, const char *name, uint64_t which)
{
	struct as_host_mem *h = ctx;
	struct host_told *t = &h->told;
	unsigned class = class_of(h, name);

	if (class == HOST_CLASSES)
		return;
	for (unsigned i = 0; i < t->n_held; i++) {
		const struct host_lock *held = &t->held[i];

		if (held->class != class) {
			add_order(h, held->class, class);
		} else if (held->which == which) {
			as_host_note(h, AS_FIND_LOCK,
				     "locks '%s', which it holds: it would wait for ever", name);
			return;
		} else if (held->which > which) {
			as_host_note(
				h, AS_FIND_LOCK,
				"locks '%s' %llu while it holds %llu: the lower number comes first",
				name, (unsigned long long)which, (unsigned long long)held->which);
		}
	}
	if (t->n_held == HOST_HELD) {
		note_too_many(h, HOST_HELD, "locks at a time");
		return;
	}
	t->held[t->n_held++] = (struct host_lock){ class, which };
}

static void host_unlock(void *ctx, const char *name, uint64_t which)
{
	struct as_host_mem *h = ctx;
	struct host_told *t = &h->told;
	unsigned class, top = t->n_held - 1;

	/* Most are given back in reverse order. */
	if (t->n_held && t->classes[t->held[top].class] == name && t->held[top].which == which) {
		t->n_held--;
		return;
	}
	class = class_of(h, name);
	for (unsigned i = 0; i < t->n_held; i++)
		if (t->held[i].class == class && t->held[i].which == which) {
			t->held[i] = t->held[--t->n_held];
			return;
		}
	as_host_note(h, AS_FIND_LOCK, "unlocks '%s', which it does not hold", name);
}

/* ---- Pairs and invariants -------------------------------------------------------------------- */

static struct host_pair *pair_of(struct as_host_mem *h, enum as_pair_until until, const char *name)
{
	struct host_told *t = &h->told;

	for (unsigned i = 0; i < t->n_pairs; i++)
		if (t->pairs[i].name == name)
			return &t->pairs[i];
	for (unsigned i = 0; i < t->n_pairs; i++)
		if (!strcmp(t->pairs[i].name, name))
			return &t->pairs[i];
	if (t->n_pairs == HOST_PAIRS) {
		note_too_many(h, HOST_PAIRS, "names of pairs");
		return NULL;
	}
	t->pairs[t->n_pairs] = (struct host_pair){ .name = name, .until = until };
	return &t->pairs[t->n_pairs++];
}

static void host_pair(void *ctx, enum as_pair_until until, const char *name, int by)
{
	struct as_host_mem *h = ctx;
	struct host_pair *pair = pair_of(h, until, name);
	bool was_open;

	if (!pair)
		return;
	was_open = pair->taken;
	pair->taken += by;
	if (pair->taken < 0) {
		as_host_note(h, AS_FIND_PAIR, "gives back '%s' more often than it took it", name);
		pair->taken = 0;
	}
	if (pair->until == AS_PAIR_OPERATION)
		h->told.n_open += (unsigned)!!pair->taken - (unsigned)was_open;
}

static void host_invariant(void *ctx, const char *name, as_invariant_fn fn, void *fn_ctx)
{
	struct as_host_mem *h = ctx;
	struct host_told *t = &h->told;

	if (t->n_invariants == HOST_INVARIANTS)
		note_too_many(h, HOST_INVARIANTS, "invariants");
	else
		t->invariants[t->n_invariants++] = (struct host_invariant){ name, fn, fn_ctx };
}

/* ---- Operations ------------------------------------------------------------------------------ */

static void check_pairs(struct as_host_mem *h, enum as_pair_until until, const char *what)
{
	for (unsigned i = 0; i < h->told.n_pairs; i++) {
		struct host_pair *pair = &h->told.pairs[i];

		if (pair->until == until && pair->taken)
			as_host_note(h, AS_FIND_PAIR,
				     "%s with '%s' taken %lld time%s more than given back", what,
				     pair->name, (long long)pair->taken,
				     pair->taken == 1 ? "" : "s");
	}
}

static void check_end(struct as_host_mem *h)
{
	struct host_told *t = &h->told;

	if (t->n_held)
		as_host_note(h, AS_FIND_LOCK, "ends with '%s' locked",
			     t->classes[t->held[t->n_held - 1].class]);
	if (t->n_open)
		check_pairs(h, AS_PAIR_OPERATION, "ends");
}

void as_host_begin_op(struct as_host_mem *h, uint32_t op)
{
	h->op = op;
}

void as_host_end_op(struct as_host_mem *h)
{
	struct host_told *t = &h->told;

	h->op = AS_HOST_NO_OP;
	if (t->n_held | t->n_open)
		check_end(h);
	for (unsigned i = 0; i < t->n_invariants; i++) {
		const char *wrong = t->invariants[i].fn(t->invariants[i].ctx);

		if (wrong)
			as_host_note(h, AS_FIND_INVARIANT, "'%s' is broken: %.150s",
				     t->invariants[i].name, wrong);
	}
}

void as_host_leaving(struct as_host_mem *h)
{
	h->told.n_invariants = 0;
}

void as_host_left(struct as_host_mem *h)
{
	check_end(h);
	check_pairs(h, AS_PAIR_UNMOUNT, "the unmount ends");
	as_host_forget(h);
}

void as_host_forget(struct as_host_mem *h)
{
	h->told.n_held = h->told.n_pairs = h->told.n_open = h->told.n_invariants = 0;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

void as_host_watch_disk(struct as_host_mem *h, const struct as_medium *disk)
{
	h->told.disk = disk;
}

/* How many calls have failed, and one of their names. */
static uint64_t count_failed(const struct as_host_mem *h, const char **what)
{
	const struct host_told *t = &h->told;
	uint64_t failed = t->disk ? as_medium_failed(t->disk, what) : 0;

	if (t->failed_allocs)
		*what = "allocation";
	return failed + t->failed_allocs;
}

void as_host_begin_call(struct as_host_mem *h)
{
	const char *what;

	h->told.failed_before = count_failed(h, &what);
}

static void host_forgive(void *ctx)
{
	as_host_begin_call(ctx);
}

void as_host_end_call(struct as_host_mem *h, const char *function, int64_t answer)
{
	const char *what = "call";
	struct as_buf place = { 0 };

	if (answer < 0 || count_failed(h, &what) <= h->told.failed_before)
		return;
	as_stack_failure(&place);
	as_host_note(h, AS_FIND_SILENT,
		     "%s answered success, although the %s that it asked for failed%s%s", function,
		     what, place.len ? " in " : "", as_buf_str(&place));
	as_buf_free(&place);
}

static uint32_t host_caller(void *ctx)
{
	return ((struct as_host_mem *)ctx)->caller;
}

/* Most of the time nobody answers, and then nobody need be asked. */
#define ALL_BUT_ASK                                                                               \
	.lock = host_lock, .unlock = host_unlock, .pair = host_pair, .invariant = host_invariant, \
	.forgive = host_forgive, .caller = host_caller

const struct as_checks as_host_checks = { ALL_BUT_ASK };
static const struct as_checks asked = { .ask = host_ask, ALL_BUT_ASK };
