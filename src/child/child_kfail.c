/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_kfail: a failure inside the kernel during an operation (or one in each of two operations),
 * and how that is judged.
 *
 *   1. The operation in which it hit may answer any error. If it answers one, it has changed
 *      nothing: the model stays where it is. If it answers success, it has done what it says.
 *      A write with O_SYNC or O_DSYNC writes, and then waits for the disk: if it answers an error,
 *      the bytes may be there, and the tree is not judged any more.
 *   2. Every later operation is judged as usual. There is one exception: a file system may turn
 *      itself off, and then it says so to every call (EROFS, EIO, EUCLEAN, ESHUTDOWN). What follows
 *      is not judged, but the next mount must work.
 *   3. The disk is sound for its checker after the unmount, unless the file system had turned
 *      itself off.
 *   4. A mount that failed is tried again, and works then.
 */
#include "child/child_priv.h"
#include "model/persist.h"

#include <errno.h>

/* Nobody makes a file of this name. To remove it fails on a file system that is turned off. */
#define NOBODYS "/.assay-nobody"

void as_child_kfail_begin(struct child *c, uint64_t op)
{
	for (unsigned i = 0; c->kfault && i < c->kfail.n; i++) {
		if (c->kfail.rule[i].op != op || c->kfail_met >> i & 1)
			continue;
		c->kfail_met |= 1u << i;
		c->karmed = c->kfailing = true;
		as_kfault_arm(c->kfault, c->kfail.rule[i].nth);
	}
}

void as_child_kfail_end(struct child *c)
{
	/* Who is not armed reads 0, as one who was and has failed. */
	bool armed = c->karmed;

	c->karmed = false;
	if (!armed || !as_kfault_disarm(c->kfault))
		return;
	c->sh->fired = true;
	c->sh->kfired++;
}

bool as_child_kfail_in_doubt(const struct child *c, const struct as_op *op)
{
	const struct as_outcome wrote = { .ret = 1 };

	return as_op_table[op->code].changes & AS_CHANGES_AS_OPENED &&
	       as_model_persists(c->model, op, &wrote, 0).kind != AS_PERSIST_NOTHING;
}

bool as_child_kfail_aborts(int err)
{
	return err == EROFS || err == EIO || err == EUCLEAN || err == ESHUTDOWN;
}

void as_child_kfail_look(struct child *c)
{
	struct as_op probe = as_op_make(AS_OP_UNLINK);
	struct as_outcome got;

	if (!c->kfault || !c->sh->fired || !c->model || !as_model_mounted(c->model))
		return;
	probe.path = NOBODYS;
	as_instance_do(c->instance, (uint32_t)c->args->seq->n, &probe, &got);
	if (got.ret < 0 && as_child_kfail_aborts(got.err))
		c->aborted = c->blind = true;
}
