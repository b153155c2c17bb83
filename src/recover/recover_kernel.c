/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recover_kernel: recovery of a kernel's file system: ways made of steps (steps.h). Which ways
 * there are is said by the row of the type: a mount where the kernel replays its journal, checkers
 * where they do, or where nobody else can.
 */
#include "recover/recover_kernel.h"

#include "recover/writeback.h"
#include "snapshot/tree.h"

#include <stdlib.h>

struct kernel {
	struct as_recoverer recoverer;
	const struct as_fstype *type;
	struct as_steps *steps;
};

uint32_t as_recover_kernel_ways(const struct as_fstype *type)
{
	uint32_t checkers = 0;

	for (int mode = 0; mode < AS_CHECK_MODES; mode++)
		if (type->check[mode].command && !(mode == AS_CHECK_FULL && type->full_rebuilds))
			checkers |= 1u << (AS_WAY_QUICK + mode);
	if (type->replayed_by_checker)
		return checkers;
	if (type->guarantee == AS_GUARANTEE_REPAIR && checkers)
		/* What a machine does at boot may ask for a person: no way out for us. */
		return checkers & ~(1u << AS_WAY_QUICK) ? checkers & ~(1u << AS_WAY_QUICK)
							: checkers;
	return 1u << AS_WAY_MOUNT | (type->checker_replays ? checkers : 0);
}

/* ---- Records --------------------------------------------------------------------------------- */

static void do_again(const struct as_log_entry *e, struct as_bd *bd, void **buf)
{
	if (e->kind == AS_CALL_READ && !e->ret) {
		*buf = as_xrealloc(*buf, e->len);
		as_assert(!as_bd_read(bd, e->off, *buf, e->len));
	} else if (e->kind == AS_CALL_FLUSH && !e->ret) {
		as_assert(!as_bd_flush(bd));
	} else {
		as_assert(!as_log_entry_apply(e, bd));
	}
}

/* The steps of a way, one record behind the other. */
static void append(struct as_reclog *log, enum as_step step, const struct as_stepped *stepped,
		   struct as_disk *from)
{
	struct as_bd *bd = as_reclog_bd(log);
	void *buf = NULL;

	if (!stepped->log)
		return;
	if (step <= AS_STEP_FULL)
		as_writeback(stepped->log, stepped->tree_at, from, bd);
	else
		for (size_t i = 0; i < stepped->tree_at; i++)
			do_again(as_reclog_at(stepped->log, i), bd, &buf);
	free(buf);
}

/* ---- Ways ------------------------------------------------------------------------------------ */

struct walk {
	struct kernel *kernel;
	struct as_recovered *out;
	struct as_disk *log_disk; /* NULL: no record is kept */
};

/* One step on from `from`; out->disk becomes what it left. */
static int take(struct walk *w, enum as_step step, struct as_disk *from, struct as_err *err)
{
	struct as_recovered *out = w->out;
	struct as_stepped stepped;
	int rc = as_step(w->kernel->steps, step, from, w->log_disk, &stepped, err);

	if (!rc) {
		out->end = stepped.end;
		out->repaired |= stepped.repaired;
		out->memoised &= stepped.memoised;
		if (stepped.end != AS_RECOVERED)
			as_buf_add(&out->why, stepped.why.data, stepped.why.len);
		if (w->log_disk)
			append(out->log, step, &stepped, from);
		as_disk_free(out->disk);
		out->disk = stepped.disk;
		out->tree = stepped.tree;
		stepped.disk = NULL;
		stepped.tree = NULL;
	}
	as_stepped_free(&stepped);
	return rc;
}

/* The full checker on a disk at peace. */
static int look_for_damage(struct kernel *k, struct as_disk *disk, struct as_buf *why,
			   bool *memoised, struct as_err *err)
{
	enum as_step step = k->type->full_rebuilds ? AS_STEP_QUICK : AS_STEP_FULL;
	struct as_stepped stepped;
	int rc;

	if (!k->type->check[step].command)
		return 0;
	rc = as_step(k->steps, step, disk, false, &stepped, err);
	if (!rc) {
		as_buf_add(why, stepped.why.data, stepped.why.len);
		*memoised &= stepped.memoised;
	}
	as_stepped_free(&stepped);
	return rc;
}

static int probe(struct walk *w, struct as_err *err)
{
	struct as_recovered *out = w->out;
	struct as_buf why = { 0 };
	struct as_stepped stepped = { 0 };
	int rc = look_for_damage(w->kernel, out->disk, &why, &out->memoised, err);

	if (!rc && why.len) {
		out->end = AS_COMPLAINED;
		as_buf_addf(&out->why, "after recovery, %s", as_buf_str(&why));
	}
	as_buf_free(&why);
	if (rc || out->end != AS_RECOVERED)
		return rc;
	rc = as_step(w->kernel->steps, AS_STEP_PROBE, out->disk, false, &stepped, err);
	if (!rc) {
		out->memoised &= stepped.memoised;
		if (stepped.end != AS_RECOVERED) {
			out->end = AS_COMPLAINED;
			as_buf_addf(&out->why, "after recovery, %s", as_buf_str(&stepped.why));
		}
	}
	as_stepped_free(&stepped);
	return rc;
}

static int kernel_recover(struct as_recoverer *recoverer, enum as_way way, struct as_disk *crashed,
			  unsigned flags, struct as_recovered *out, struct as_err *err)
{
	struct walk w = { .kernel = (struct kernel *)recoverer, .out = out };
	int rc = 0;

	out->memoised = true;
	if (flags & AS_RECOVER_LOG) {
		w.log_disk = as_disk_snapshot(crashed);
		out->log = as_reclog_new(as_disk_bd(w.log_disk), AS_RECLOG_READ_DATA, 0);
	}
	if (way != AS_WAY_MOUNT)
		rc = take(&w, (enum as_step)(way - AS_WAY_QUICK), crashed, err);
	if (out->log)
		out->checker_end = as_reclog_len(out->log);
	if (!rc && out->end == AS_RECOVERED)
		rc = take(&w, AS_STEP_MOUNT, out->disk ? out->disk : crashed, err);
	if (!rc && flags & AS_RECOVER_PROBE && out->end == AS_RECOVERED)
		rc = probe(&w, err);
	as_disk_free(w.log_disk);
	return rc;
}

static bool kernel_at_peace(struct as_recoverer *recoverer, struct as_disk *disk,
			    struct as_buf *why)
{
	struct as_buf found = { 0 };
	struct as_err err;
	bool memoised, clean;
	int rc = look_for_damage((struct kernel *)recoverer, disk, &found, &memoised, &err);

	clean = !rc && !found.len;
	if (rc)
		as_buf_adds(why, err.msg);
	as_buf_add(why, found.data, found.len);
	as_buf_free(&found);
	return clean;
}

static bool kernel_fail_read(struct as_recoverer *recoverer, uint64_t nth)
{
	struct as_steps *steps = ((struct kernel *)recoverer)->steps;
	bool failed = as_steps_failed(steps);

	as_steps_fail_read(steps, nth);
	return failed;
}

static void kernel_free(struct as_recoverer *recoverer)
{
	struct kernel *k = (struct kernel *)recoverer;

	as_steps_free(k->steps);
	free(k);
}

static const struct as_recoverer_ops ops = { .name = "kernel",
					     .recover = kernel_recover,
					     .at_peace = kernel_at_peace,
					     .fail_read = kernel_fail_read,
					     .free = kernel_free };
static const struct as_recoverer_ops ops_without_checker = { .name = "kernel",
							     .recover = kernel_recover,
							     .fail_read = kernel_fail_read,
							     .free = kernel_free };

struct as_recoverer *as_recoverer_kernel(const struct as_fstype *type,
					 const struct as_steps_options *options)
{
	struct kernel *k = as_xcalloc(1, sizeof(*k));

	k->recoverer.ops = type->check[AS_CHECK_QUICK].command ? &ops : &ops_without_checker;
	k->recoverer.ways = as_recover_kernel_ways(type);
	k->type = type;
	k->steps = as_steps_new(type, options);
	return &k->recoverer;
}

struct as_steps *as_recoverer_kernel_steps(struct as_recoverer *recoverer)
{
	as_assert(recoverer->ops->recover == kernel_recover);
	return ((struct kernel *)recoverer)->steps;
}
