/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps: see steps.h. Here: what is known of other disks, and whether it is true.
 *
 * A remembered answer must be the one that the step would have given: its end, its words, whether
 * it repaired, the tree. The bytes it left on the disk are compared, too, but a difference there
 * alone is only counted: a kernel may write the time.
 */
#include "recover/steps_priv.h"

#include "os/spawn.h"
#include "snapshot/tree.h"

#include <stdlib.h>
#include <string.h>

/* After so many disks, a hit rate of less than one in so many is none. */
#define TRIED 64u
#define WORTH 16u

const char *as_step_name(enum as_step step)
{
	static const char *const names[AS_STEPS] = {
		[AS_STEP_QUICK] = "quick fsck", [AS_STEP_DEFAULT] = "fsck",
		[AS_STEP_FULL] = "full fsck",	[AS_STEP_MOUNT] = "mount",
		[AS_STEP_PROBE] = "probe",
	};

	return (unsigned)step < AS_STEPS ? names[step] : "?";
}

struct as_steps *as_steps_new(const struct as_fstype *type, const struct as_steps_options *options)
{
	struct as_steps *s = as_xcalloc(1, sizeof(*s));

	s->type = type;
	s->options = *options;
	s->mount_opts = as_xstrdup(options->mount_opts ? options->mount_opts : "");
	if (!s->options.deadline_ms)
		s->options.deadline_ms = AS_STEPS_DEADLINE_MS;
	if (!s->options.verify_every)
		s->options.verify_every = AS_STEPS_VERIFY_EVERY;
	if (options->memo != AS_MEMO_OFF)
		s->memo = as_memo_new(options->memo_bytes);
	return s;
}

void as_steps_free(struct as_steps *s)
{
	if (!s)
		return;
	as_step_mount_end(s);
	as_step_check_end(s);
	as_memo_free(s->memo);
	as_jbd2_free(&s->jbd2);
	free(s->mount_opts);
	free(s);
}

struct as_steps_stats as_steps_stats(const struct as_steps *s)
{
	struct as_steps_stats stats = s->stats;

	if (s->memo)
		stats.memo = as_memo_stats(s->memo);
	return stats;
}

void as_stepped_free(struct as_stepped *stepped)
{
	as_buf_free(&stepped->why);
	as_disk_free(stepped->disk);
	as_tree_put(stepped->tree);
	as_reclog_free(stepped->log);
	*stepped = (struct as_stepped){ 0 };
}

/* ---- Doing ----------------------------------------------------------------------------------- */

/* A mount is quicker where it is not seen reading, and then cannot be remembered: that pays only
 * where many disks are alike in what it reads. Nor does it pay to remember what never comes back:
 * xfs reads its log, which is another one each time. */
static bool is_seen(const struct as_steps *s, enum as_step step)
{
	uint64_t asked = s->stats.asked[step], hits = s->stats.memoised[step];

	if (step == AS_STEP_MOUNT && s->type->journal != AS_JOURNAL_JBD2)
		return false;
	return asked < TRIED || hits >= asked / WORTH;
}

static int do_step(struct as_steps *s, enum as_step step, struct as_disk *disk, bool want_log,
		   struct as_stepped *stepped, struct as_err *err)
{
	int64_t start_us = as_now_us();
	int rc = step <= AS_STEP_FULL
			 ? as_step_check(s, (enum as_check_mode)step, disk, stepped, err)
			 : as_step_mount(s, step, disk, want_log || s->failing, stepped, err);

	s->stats.time_us[step] += as_now_us() - start_us;
	return rc;
}

void as_steps_fail_read(struct as_steps *s, uint64_t nth)
{
	s->fail_read = nth;
	s->failing = nth;
	s->failed = false;
}

bool as_steps_failed(const struct as_steps *s)
{
	return s->failed;
}

void as_step_count_reads(struct as_steps *s, uint64_t reads)
{
	if (!s->fail_read)
		return;
	s->failed = reads >= s->fail_read;
	s->fail_read = s->failed ? 0 : s->fail_read - reads;
}

static void remember(struct as_steps *s, enum as_step step, struct as_disk *disk,
		     const struct as_stepped *stepped)
{
	struct as_memo_answer answer = { .end = (int)stepped->end,
					 .flag = stepped->repaired,
					 .mark = stepped->tree_at,
					 .why = as_buf_str(&stepped->why),
					 .tree = stepped->tree };

	struct as_memo_hint hint;
	bool hinted;

	/* What was killed has shown nothing but that it was slow. */
	if (!stepped->log || !stepped->disk || stepped->end == AS_HUNG || stepped->end == AS_DIED)
		return;
	/* Checkers read nothing ahead. */
	hinted = step >= AS_STEP_MOUNT && s->type->journal == AS_JOURNAL_JBD2 &&
		 as_jbd2_look(&s->jbd2, disk);
	hint = (struct as_memo_hint){ .why = s->jbd2.looked,
				      .n_why = s->jbd2.n_looked,
				      .unseen = s->jbd2.unseen,
				      .n_unseen = s->jbd2.n_unseen };
	as_memo_add(s->memo, step, disk, stepped->log, hinted ? &hint : NULL, &answer);
}

/* ---- Remembering ----------------------------------------------------------------------------- */

static void recall(struct as_steps *s, const struct as_memo_answer *answer, struct as_disk *disk,
		   bool want_log, struct as_stepped *stepped)
{
	struct as_disk *copy = as_disk_snapshot(disk);

	*stepped = (struct as_stepped){ .end = (enum as_recovery_end)answer->end,
					.repaired = answer->flag,
					.memoised = true,
					.disk = copy,
					.tree_at = answer->mark };
	stepped->tree = answer->tree ? as_tree_get(answer->tree) : NULL;
	as_buf_adds(&stepped->why, answer->why);
	if (want_log) {
		stepped->log = as_reclog_new(as_disk_bd(copy), AS_RECLOG_READS, 0);
		as_memo_redo(s->memo, as_reclog_bd(stepped->log), true);
	} else {
		as_memo_redo(s->memo, as_disk_bd(copy), false);
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

static int verify(struct as_steps *s, enum as_step step, struct as_disk *disk,
		  const struct as_stepped *known, struct as_err *err)
{
	struct as_stepped again = { 0 };
	struct as_buf how = { 0 };
	int rc = do_step(s, step, disk, false, &again, err);

	if (!rc) {
		s->stats.verified++;
		if (!same(known, &again, &how))
			rc = as_fail(err, AS_EIO, "memo: %s remembered wrongly: it gives %s",
				     as_step_name(step), as_buf_str(&how));
		else if (!again.disk || !as_disk_eq(known->disk, again.disk))
			s->stats.other_bytes++;
	}
	as_buf_free(&how);
	as_stepped_free(&again);
	return rc;
}

int as_step(struct as_steps *s, enum as_step step, struct as_disk *disk, bool want_log,
	    struct as_stepped *stepped, struct as_err *err)
{
	bool seen = s->memo && !s->failing && is_seen(s, step);
	const struct as_memo_answer *answer = seen ? as_memo_find(s->memo, step, disk) : NULL;
	int rc;

	*stepped = (struct as_stepped){ 0 };
	s->stats.asked[step]++;
	if (answer) {
		recall(s, answer, disk, want_log, stepped);
		s->stats.memoised[step]++;
		if (s->options.memo == AS_MEMO_VERIFY &&
		    s->stats.memoised[step] % s->options.verify_every == 0)
			return verify(s, step, disk, stepped, err);
		return 0;
	}
	rc = do_step(s, step, disk, want_log || seen, stepped, err);
	if (!rc && seen)
		remember(s, step, disk, stepped);
	return rc;
}
