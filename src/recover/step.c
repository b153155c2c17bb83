/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step: see step.h. Here: what is known of other disks, and whether it is true.
 *
 * A remembered answer must be the one that the step would have given: its end, its words, whether
 * it repaired, the tree. The bytes it left on the disk are compared, too, but a difference there
 * alone is only counted: a kernel may write the time.
 */
#include "recover/step_priv.h"

#include "disk/fault.h"
#include "os/spawn.h"
#include "snapshot/tree.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	bool checker;
} step_rows[AS_STEPS] = {
	[AS_STEP_QUICK] = { "quick fsck", true },
	[AS_STEP_DEFAULT] = { "fsck", true },
	[AS_STEP_FULL] = { "full fsck", true },
	[AS_STEP_MOUNT] = { "mount", false },
	[AS_STEP_REREAD] = { "mount without replay", false },
	[AS_STEP_LOOK] = { "read-only mount", false },
	[AS_STEP_PROBE] = { "probe", false },
};

const char *as_step_name(enum as_step step)
{
	return (unsigned)step < AS_STEPS ? step_rows[step].name : "?";
}

bool as_step_is_checker(enum as_step step)
{
	return step_rows[step].checker;
}

void as_stepped_free(struct as_stepped *stepped)
{
	as_buf_free(&stepped->why);
	as_disk_free(stepped->disk);
	as_tree_put(stepped->tree);
	as_reclog_free(stepped->log);
	*stepped = (struct as_stepped){ 0 };
}

/* ---- The machine ----------------------------------------------------------------------------- */

void as_recoverer_init(struct as_recoverer *r, const struct as_step_driver *driver,
		       const struct as_recover_options *options)
{
	r->driver = driver;
	r->options = *options;
	if (!r->options.deadline_ms)
		r->options.deadline_ms = AS_RECOVER_DEADLINE_MS;
	if (!r->options.verify_every)
		r->options.verify_every = driver->verify_every;
	if (options->memo != AS_MEMO_OFF)
		r->memo = as_memo_new(options->memo_bytes);
}

void as_recoverer_free(struct as_recoverer *r)
{
	if (!r)
		return;
	as_memo_free(r->memo);
	r->driver->free(r);
}

uint32_t as_recoverer_ways(const struct as_recoverer *r)
{
	return r->ways;
}

bool as_recoverer_mounts_unchecked(const struct as_recoverer *r)
{
	return r->mounts_unchecked;
}

bool as_recoverer_ways_agree(const struct as_recoverer *r)
{
	return r->ways_agree;
}

bool as_recoverer_in_process(const struct as_recoverer *r)
{
	return r->in_process;
}

struct as_step_stats as_recoverer_stats(const struct as_recoverer *r)
{
	struct as_step_stats stats = r->stats;

	if (r->memo)
		stats.memo = as_memo_stats(r->memo);
	return stats;
}

void as_recoverer_note_reads(struct as_recoverer *r, struct as_disk_reads *reads)
{
	r->reads = reads;
}

/* ---- The call that is to fail ---------------------------------------------------------------- */

static const struct {
	const char *name;
	enum as_call call; /* of the device; not for AS_RECOVER_FAIL_ALLOC */
} faults[AS_RECOVER_FAULTS] = {
	[AS_RECOVER_FAIL_READ] = { "read", AS_CALL_READ },
	[AS_RECOVER_FAIL_WRITE] = { "write", AS_CALL_WRITE },
	[AS_RECOVER_FAIL_FLUSH] = { "flush", AS_CALL_FLUSH },
	[AS_RECOVER_FAIL_ALLOC] = { "allocation", AS_CALL_READ },
};

const char *as_recover_fault_name(enum as_recover_fault kind)
{
	return faults[kind].name;
}

bool as_recover_fail(struct as_recoverer *r, enum as_recover_fault kind, uint64_t nth)
{
	bool failed = r->failed;

	r->fail_kind = kind;
	r->fail_nth = nth;
	r->failing = nth;
	r->failed = false;
	return failed;
}

uint64_t as_step_fails(const struct as_recoverer *r, enum as_recover_fault kind)
{
	return r->fail_kind == kind ? r->fail_nth : 0;
}

void as_step_count(struct as_recoverer *r, enum as_recover_fault kind, uint64_t calls)
{
	if (!as_step_fails(r, kind))
		return;
	r->failed = calls >= r->fail_nth;
	r->fail_nth = r->failed ? 0 : r->fail_nth - calls;
}

struct as_faulty *as_step_faulty(const struct as_recoverer *r, struct as_bd *inner)
{
	struct as_fault_rule rule = { .kind = faults[r->fail_kind].call,
				      .actions = AS_FAULT_ERROR,
				      .first = r->fail_nth,
				      .last = r->fail_nth,
				      .errnum = EIO };

	return r->fail_nth && r->fail_kind != AS_RECOVER_FAIL_ALLOC ? as_faulty_new(inner, &rule, 1)
								    : NULL;
}

void as_step_faulty_end(struct as_recoverer *r, struct as_faulty *faulty)
{
	if (!faulty)
		return;
	as_step_count(r, r->fail_kind, as_faulty_calls(faulty, faults[r->fail_kind].call));
	as_faulty_free(faulty);
}

/* ---- Doing ----------------------------------------------------------------------------------- */

static int do_step(struct as_recoverer *r, enum as_step step, struct as_disk *disk, bool want_log,
		   struct as_stepped *stepped, struct as_err *err)
{
	int64_t start_us = as_now_us();
	int rc = r->driver->run(r, step, disk, want_log, stepped, err);

	r->stats.time_us[step] += as_now_us() - start_us;
	return rc;
}

static void remember(struct as_recoverer *r, enum as_step step, struct as_disk *disk,
		     const struct as_stepped *stepped)
{
	struct as_memo_answer answer = { .end = (int)stepped->end,
					 .flag = stepped->repaired,
					 .mark = stepped->tree_at,
					 .why = as_buf_str(&stepped->why),
					 .tree = stepped->tree };
	struct as_memo_hint hint;
	bool hinted;

	/* A program that was killed has shown nothing but that it was slow. */
	if (!stepped->log || !stepped->disk || stepped->end == AS_HUNG || stepped->end == AS_DIED)
		return;
	hinted = r->driver->hint && r->driver->hint(r, step, disk, &hint);
	(void)as_memo_add(r->memo, step, disk, stepped->log, hinted ? &hint : NULL, &answer);
}

/* ---- Remembering ----------------------------------------------------------------------------- */

/* What the step did to its disk is done again only if the caller wants the disk or the log. */
static void recall(struct as_recoverer *r, const struct as_memo_answer *answer,
		   struct as_disk *disk, unsigned wants, struct as_stepped *stepped)
{
	*stepped = (struct as_stepped){ .end = (enum as_recovery_end)answer->end,
					.repaired = answer->flag,
					.memoised = true,
					.tree_at = answer->mark };
	stepped->tree = answer->tree ? as_tree_get(answer->tree) : NULL;
	as_buf_adds(&stepped->why, answer->why);
	if (!wants)
		return;
	stepped->disk = as_disk_snapshot(disk);
	if (wants & AS_STEP_WANT_LOG) {
		stepped->log = as_reclog_new(as_disk_bd(stepped->disk), AS_RECLOG_READS, 0);
		as_memo_redo(r->memo, as_reclog_bd(stepped->log), true);
	} else {
		as_memo_redo(r->memo, as_disk_bd(stepped->disk), false);
	}
}

static bool same(const struct as_stepped *a, const struct as_stepped *b, struct as_buf *how)
{
	if (a->end != b->end || a->repaired != b->repaired ||
	    strcmp(as_buf_str(&a->why), as_buf_str(&b->why)))
		as_buf_addf(how, "%s%s (%s), not %s%s (%s)", as_recovery_end_name(b->end),
			    b->repaired ? " by repair" : "", as_buf_str(&b->why),
			    as_recovery_end_name(a->end), a->repaired ? " by repair" : "",
			    as_buf_str(&a->why));
	else if (!a->tree != !b->tree)
		as_buf_adds(how, "a tree, where there is none");
	else if (a->tree)
		as_tree_diff(b->tree, "as worked out", a->tree, "as remembered", how);
	return !how->len;
}

/* An answer from the memo that is not what the step says is a mistake of ours. */
static int verify(struct as_recoverer *r, enum as_step step, struct as_disk *disk,
		  const struct as_stepped *known, struct as_err *err)
{
	struct as_stepped again = { 0 };
	struct as_buf how = { 0 };
	int rc = do_step(r, step, disk, false, &again, err);

	if (!rc) {
		r->stats.verified++;
		if (!same(known, &again, &how))
			rc = as_fail(err, AS_EIO, "memo: %s remembered wrongly: it gives %s",
				     as_step_name(step), as_buf_str(&how));
		else if (!again.disk || !as_disk_eq(known->disk, again.disk))
			r->stats.other_bytes++;
	}
	as_buf_free(&how);
	as_stepped_free(&again);
	return rc;
}

static bool is_verified(struct as_recoverer *r)
{
	uint64_t hits = 0;

	if (r->options.memo != AS_MEMO_VERIFY)
		return false;
	for (int i = 0; i < AS_STEPS; i++)
		hits += r->stats.memoised[i];
	return hits % r->options.verify_every == 0;
}

int as_step(struct as_recoverer *r, enum as_step step, struct as_disk *disk, unsigned wants,
	    struct as_stepped *stepped, struct as_err *err)
{
	bool remembers = r->memo && !r->failing &&
			 (!r->driver->is_worth_log || r->driver->is_worth_log(r, step));
	const struct as_memo_answer *answer = remembers ? as_memo_find(r->memo, step, disk) : NULL;
	int rc;

	*stepped = (struct as_stepped){ 0 };
	r->stats.asked[step]++;
	if (answer) {
		bool verified = is_verified(r);

		if (r->reads)
			as_memo_reads(r->memo, r->reads);

		recall(r, answer, disk, wants | (verified ? AS_STEP_WANT_DISK : 0), stepped);
		r->stats.memoised[step]++;
		return verified ? verify(r, step, disk, stepped, err) : 0;
	}
	rc = do_step(r, step, disk, remembers || wants & AS_STEP_WANT_LOG, stepped, err);
	if (!rc && r->reads)
		as_disk_reads_log(r->reads, stepped->log);
	if (!rc && remembers)
		remember(r, step, disk, stepped);
	return rc;
}
