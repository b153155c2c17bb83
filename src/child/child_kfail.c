/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_kfail: a failure inside the kernel during an operation, one in each of two operations, or
 * all of all operations (AS_KFAIL_EVERY), and how that is judged.
 *
 * If all are to be met, an operation that met the first one and answered an error is done again,
 * and meets the second one, and so on until none fails in it. So one run meets in some seconds what
 * a sweep needs a run each for. What the failures before have left, later ones find. An operation
 * that succeeds in spite of a failure ends this; therefore some begin with a later one.
 *
 *   1. The operation in which it hit may answer any error. If it answers one, it has changed
 *      nothing: the model stays where it is. If it answers success, it has done what it says.
 *      A write with O_SYNC or O_DSYNC writes, and then waits for the disk: if it answers an error,
 *      the bytes may be there, and the tree is not judged any more. An open() that makes a file
 *      may leave it: Linux makes it first, and has then to open it. A write() may have set the
 *      file's times (as_rule_touch_refused()). A sync() in which a request failed cannot say so
 *      (sync(2): it is always successful): after it the tree is not judged. A read() or write() may
 *      answer what it has transferred before the failure, as filemap_read() and
 *      generic_perform_write() do. An unmount cannot say that something was not written either:
 *      after one in which a request failed, or of which the kernel's log tells that what is on the
 *      disk is wrong or was given up, the tree is not judged.
 *   2. Every later operation is judged as usual. There is one exception: a file system may turn
 *      itself off, and then it says so to every call (EROFS, EIO, EUCLEAN, ESHUTDOWN). What follows
 *      is not judged, but the next mount must work.
 *   3. The disk is sound for its checker after the unmount, unless the file system had turned
 *      itself off, or has told the kernel's log that something on it is wrong. What has no journal
 *      leaves it to its checker that a write was lost, if somebody could be told of it.
 *   4. A mount that failed is tried again, and works then.
 */
#include "base/hash.h"
#include "child/child_priv.h"
#include "target/facts.h"
#include "work/print.h"

/* Nobody makes a file or an attribute of this name. To remove it fails on a file system that is
 * turned off. f2fs that has stopped still looks names up, and refuses the attribute only. */
#define NOBODYS "/.assay-nobody"
#define NOBODYS_XATTR "user.assay-nobody"
#define TRIES_MAX 500u /* of one operation, */
#define TRIES_FINE_MAX 16u /* and of one that succeeds in spite of its failures */

/* It answers nothing about what it could not write; a `remount` begins with it. */
static bool unmounts(const struct as_op *op)
{
	return op->code == AS_OP_UMOUNT || op->code == AS_OP_REMOUNT;
}

/* An operation of many calls, and one that mounts, cannot be done again as if nothing was. */
static bool can_meet_all(const struct as_op *op)
{
	switch (op->code) {
	case AS_OP_MOUNT:
	case AS_OP_UMOUNT:
	case AS_OP_REMOUNT:
	case AS_OP_CRASH:
		return false;
	default:
		return as_op_table[op->code].calls != AS_CALLS_MANY;
	}
}

static bool maps(const struct as_op *op)
{
	return op->code == AS_OP_MMAP || op->code == AS_OP_MMAP_WRITE;
}

static void arm(struct child *c, uint64_t op, uint64_t nth)
{
	/* What a served disk needs is no part of the operation. */
	if (op && op <= c->args->seq->n && maps(&c->args->seq->ops[op - 1]))
		as_instance_before_map(c->instance);
	c->karmed = c->trial.met = true;
	as_kfault_arm(c->kfault, nth);
}

static void begin_every(struct child *c, uint64_t op)
{
	if (op && op <= c->args->seq->n && can_meet_all(&c->args->seq->ops[op - 1]))
		arm(c, op, c->kfail_try);
}

void as_child_kfail_before(struct child *c, const struct as_op *op)
{
	if (!c->trial.blind && unmounts(op))
		as_child_kfail_look(c);
}

void as_child_kfail_begin(struct child *c, uint64_t op)
{
	if (c->kfault && as_kfail_every(&c->kfail)) {
		begin_every(c, op);
		return;
	}
	for (unsigned i = 0; c->kfault && i < c->kfail.n; i++) {
		if (c->kfail.rule[i].op != op || c->kfail_met >> i & 1)
			continue;
		c->kfail_met |= 1u << i;
		arm(c, op, c->kfail.rule[i].nth);
	}
}

void as_child_kfail_end(struct child *c)
{
	/* Who is not armed reads 0, as one who was and has failed. */
	bool armed = c->karmed;

	c->karmed = false;
	if (!armed)
		return;
	if (!as_kfault_disarm(c->kfault)) {
		c->trial.met = false;
		return;
	}
	c->sh->fired = c->trial.hit = true;
	c->sh->kfired++;
	if (!as_kfail_every(&c->kfail))
		return;
	c->sh->kfired_op = (uint64_t)c->sh->op + 1;
	c->sh->kfired_nth = c->kfail_try;
}

/* Half of them meet the first; of others, those near the beginning are met more often. */
uint64_t as_child_kfail_first(const struct child *c, const struct as_op *op)
{
	struct as_buf text = { 0 };
	uint64_t drawn;

	if (!c->kfault || !as_kfail_every(&c->kfail) || !c->kfail.rule[0].nth)
		return 1;
	as_print_op(op, &text);
	drawn = as_hash_seeded(text.data, text.len, c->kfail.rule[0].nth).lo;
	as_buf_free(&text);
	return drawn & 1 ? 1 : 1 + (drawn >> 8) % (UINT64_C(1) << (drawn >> 1) % 8);
}

bool as_child_kfail_again(const struct child *c, const struct as_op *op, unsigned fired_before)
{
	const struct as_op_info *info = &as_op_table[op->code];

	if (!c->kfault || !as_kfail_every(&c->kfail) || c->sh->kfired == fired_before ||
	    c->trial.off || c->kfail_try - c->kfail_first >= TRIES_MAX)
		return false;
	/* A descriptor is gone, whatever close() answers. */
	if (op->code == AS_OP_CLOSE || op->code == AS_OP_MUNMAP)
		return false;
	return c->failed[c->sh->op] || (info->changes == AS_CHANGES_NOTHING && op->slot < 0 &&
					c->kfail_try - c->kfail_first < TRIES_FINE_MAX);
}

static bool is_off(struct child *c, const struct as_op *probe)
{
	struct as_outcome got;

	as_instance_do(c->instance, (uint32_t)c->args->seq->n, probe, &got);
	return got.ret < 0 && as_trial_says_off(got.err);
}

void as_child_kfail_look(struct child *c)
{
	struct as_op file = as_op_make(AS_OP_UNLINK), xattr = as_op_make(AS_OP_REMOVEXATTR);
	bool removes_nothing = c->args->traits->quirks & (AS_QUIRK_XATTR_LAX | AS_QUIRK_XATTR_GONE);

	if (!c->kfault || !c->sh->fired || !c->trial.model || !as_model_mounted(c->trial.model))
		return;
	file.path = NOBODYS;
	xattr.path = "/";
	xattr.name = NOBODYS_XATTR;
	if (is_off(c, &file) || (!removes_nothing && is_off(c, &xattr)))
		c->trial.off = c->trial.blind = true;
}
