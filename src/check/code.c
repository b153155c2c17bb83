/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code: the code of the kernel that operations reach (--kcov), which is something new about a state
 * (novel.c).
 *
 * Each worker reads the kernel's buffer before an operation is tried and after it, so it knows what
 * that operation reached first. Outside of a sandbox, it goes into the set of the check at once. In
 * a sandbox, it waits in the memory of the lane, with the number of the move; the engine tells it
 * just before the state that the move led to (inside.c), and whoever listens adds it to the set.
 * What is new there counts, because several sandboxes do not know of each other.
 *
 * What is recorded once more before a power cut, and what recovery reaches, is nobody's: it goes
 * into the set, and says nothing about a state.
 */
#include "check/worker_priv.h"

#include "child/kcov.h"

#include <stdlib.h>

void as_check_code_open(struct as_checking *c)
{
	if (!c->args->run->kcov || c->args->box)
		return;
	c->code = as_xcalloc(c->options->jobs, sizeof(struct as_kcov_area *));
	for (unsigned i = 0; i < c->options->jobs; i++)
		c->code[i] = as_shared_alloc(sizeof(*c->code[i]));
}

void as_check_code_close(struct as_checking *c)
{
	for (unsigned i = 0; c->code && i < c->options->jobs; i++)
		as_shared_free(c->code[i], sizeof(*c->code[i]));
	free(c->code);
	c->code = NULL;
}

int as_worker_code_open(struct as_expander *w, struct as_err *err)
{
	int rc = w->args->code ? as_kcov_open(w->args->code, &w->kcov, err) : 0;

	if (!rc && w->crashes)
		as_crashes_code(w->crashes, w->kcov);
	return rc;
}

/* In a sandbox there is no set to add to. */
static uint64_t add_here(const struct as_expander *w)
{
	struct as_kcov_area *area = w->args->code;
	uint64_t n = area->n_new, added = 0;

	if (!w->c->args->code)
		return 0;
	for (uint64_t i = 0; i < n && i < AS_KCOV_NEW_MAX; i++)
		added += as_codeset_add(w->c->args->code, area->fresh[i].pc);
	area->n_new = 0;
	return added;
}

void as_worker_code_before(struct as_expander *w)
{
	w->places = 0;
	if (!w->kcov)
		return;
	as_kcov_take(w->kcov, AS_KCOV_NOBODY);
	(void)add_here(w);
}

void as_worker_code_after(struct as_expander *w)
{
	if (!w->kcov)
		return;
	as_kcov_take(w->kcov, w->lane->move);
	w->places = add_here(w);
}

/* ---- In a sandbox ---------------------------------------------------------------------------- */

void as_check_code_tell(const struct as_checking *c, uint64_t move)
{
	if (c->code)
		as_kcov_tell(c->code[0], move, "", c->args->sinks);
}
