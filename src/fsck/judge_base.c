/* SPDX-License-Identifier: GPL-2.0-or-later */
/* judge_base: the checker on a disk before it is damaged; see judge.h. */
#include "fsck/judge_priv.h"

#include "fsck/excuse.h"
#include "fsck/loss.h"

#include <stdlib.h>

static enum as_loss_drops drops_of(const struct as_checker_test *row)
{
	return row->drops	  ? AS_LOSS_DROPS_ALL
	       : row->drops_empty ? AS_LOSS_DROPS_EMPTY
				  : AS_LOSS_DROPS_NOTHING;
}

int as_judge_base(struct as_judge *j, struct as_fsck_base *base, enum as_fsck_health health,
		  struct as_err *err)
{
	struct as_subject_run got = { 0 };
	struct as_buf how = { 0 }, said = { 0 };
	int rc = as_subject_run(j->subject, AS_SUBJECT_REPAIR, base->disk, &got, err);

	/* What it printed, in a line. */
	for (const char *s = as_buf_str(&got.run.output); *s; s++)
		as_buf_addc(&said, *s == '\n' ? '|' : *s);

	if (!rc && !got.run.reads && !got.run.maps && !got.run.changed &&
	    got.run.ended.how == AS_END_EXIT)
		rc = as_fail(err, AS_EUSE,
			     "%s: it does not read the disk that it is given, or only by aio, "
			     "io_uring or another program, which are not seen%s%.200s",
			     as_subject_spec(j->subject), said.len ? ": " : "", as_buf_str(&said));
	base->called_damaged =
		got.answer != AS_CHECK_CLEAN &&
		!(got.answer == AS_CHECK_REPAIRED && as_subject_test(j->subject)->rewrites);
	if (!rc && health == AS_FSCK_GIVEN && base->called_damaged) {
		as_subject_describe(&got, &how);
		rc = as_fail(err, AS_EUSE,
			     "%s: the disk is not healthy, or not of its type: %s: %.300s",
			     as_subject_spec(j->subject), as_buf_str(&how), as_buf_str(&said));
	}
	base->sick = health == AS_FSCK_SICK;
	base->dirty = health == AS_FSCK_DIRTY;
	base->called_damaged &= !base->dirty || got.answer == AS_CHECK_FAILED;
	/* What a log says, and what a damage of it does, no description of a tree tells. */
	if (!rc && health != AS_FSCK_SICK && health != AS_FSCK_DIRTY)
		base->loss = as_loss_new(as_subject_type(j->subject), base->disk,
					 drops_of(as_subject_test(j->subject)));
	if (!rc && got.run.disk)
		as_damage_diff(&base->writes, base->disk, got.run.disk);
	if (!rc && got.run.log && as_subject_test(j->subject)->rebuilds)
		as_excuse_note_rebuilt(base, got.run.log);
	as_buf_free(&how);
	as_buf_free(&said);
	as_subject_run_free(&got);
	return rc;
}

void as_fsck_base_free(struct as_fsck_base *base)
{
	as_disk_free(base->disk);
	as_damage_free(&base->writes);
	as_loss_free(base->loss);
	free(base->rebuilt);
	*base = (struct as_fsck_base){ 0 };
}
