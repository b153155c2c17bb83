/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge_look: what the command that only looks says of a disk, beside what the one that repairs
 * says: of the damaged disk, and of the repaired one.
 */
#include "fsck/judge_priv.h"

#include "fsck/excuse.h"

#include <string.h>

static void judge_writes(const struct as_judge *j, struct as_fsck_verdict *v,
			 const struct as_fsck_base *base, const struct as_damage *damage,
			 struct as_disk *disk, const struct as_fsck_run *look)
{
	const struct as_checker_test *row = as_subject_test(j->subject);
	struct as_buf *words = &v->found[AS_FSCK_WRITES].summary;
	struct as_damage how = { 0 };

	if (look->changed && !(v->problems & 1u << AS_FSCK_WRITES) &&
	    as_excuse_differs(row, AS_SUBJECT_CHECK, base, disk, look->disk, &how)) {
		as_judge_begin(v, AS_FSCK_WRITES, damage);
		as_buf_addf(words, "`%s` changes the disk: ",
			    as_subject_command(j->subject, AS_SUBJECT_CHECK));
		as_judge_say_bytes(&how, words);
		as_judge_end(v, AS_FSCK_WRITES, damage);
	}
	as_damage_free(&how);
}

/*
 * NULL: the two answers can both be true. A repair may fail where a look is content, since it has
 * to write (btrfs: "couldn't open RDWR because of unsupported option features"); and a look that
 * fails may have met the errors that were repaired.
 */
static const char *contradiction(enum as_check_answer look, enum as_check_answer repair)
{
	if (look == AS_CHECK_CLEAN && repair != AS_CHECK_CLEAN && repair != AS_CHECK_FAILED)
		return "only repair finds it";
	if (look != AS_CHECK_CLEAN && repair == AS_CHECK_CLEAN)
		return look == AS_CHECK_FAILED ? "only the look fails" : "only the look finds it";
	return NULL;
}

static void judge_check(const struct as_judge *j, struct as_fsck_verdict *v,
			const struct as_fsck_base *base, const struct as_damage *damage,
			struct as_disk *disk)
{
	const struct as_fsck_run *check = v->seen.check, *first = v->seen.run[0];
	const char *how = contradiction(check->answer, first->answer);
	bool clean = check->answer == AS_CHECK_CLEAN;
	struct as_buf *words = &v->found[AS_FSCK_DISAGREES].summary;

	judge_writes(j, v, base, damage, disk, check);
	/* Who only looks cannot replay a log, and sees the disk without it. */
	if (damage->crashed || base->dirty || !how)
		return;
	if (as_excuse_disagrees(as_subject_test(j->subject), base, disk, check, first))
		return;
	as_judge_begin(v, AS_FSCK_DISAGREES, damage);
	as_buf_adds(words, "the run that only looks ");
	as_judge_describe(check, words);
	as_buf_adds(words, ", the run that repairs ");
	as_judge_describe(first, words);
	as_buf_addf(&v->found[AS_FSCK_DISAGREES].signature, ": %s", how);
	as_judge_add_words(j, clean ? AS_SUBJECT_REPAIR : AS_SUBJECT_CHECK, clean ? first : check,
			   &v->found[AS_FSCK_DISAGREES].signature, words);
	as_judge_end(v, AS_FSCK_DISAGREES, damage);
}

/* The second run says that the repaired disk is clean. So must the look. */
static void judge_after(const struct as_judge *j, struct as_fsck_verdict *v,
			const struct as_fsck_base *base, const struct as_damage *damage)
{
	const struct as_fsck_run *look = v->seen.after, *second = v->seen.run[1];
	struct as_buf *words = &v->found[AS_FSCK_DISAGREES].summary;

	judge_writes(j, v, base, damage, second->disk, look);
	if (v->problems & 1u << AS_FSCK_DISAGREES || look->answer == AS_CHECK_CLEAN ||
	    as_excuse_disagrees(as_subject_test(j->subject), base, v->seen.run[0]->disk, look,
				second))
		return;
	as_judge_begin(v, AS_FSCK_DISAGREES, damage);
	as_buf_adds(words, "the first run ");
	as_judge_describe(v->seen.run[0], words);
	as_buf_adds(words, ", the second run ");
	as_judge_describe(second, words);
	as_buf_adds(words, ", and a run after them that only looks ");
	as_judge_describe(look, words);
	as_buf_adds(&v->found[AS_FSCK_DISAGREES].signature, ": the look after the repair");
	as_judge_add_words(j, AS_SUBJECT_CHECK, look, &v->found[AS_FSCK_DISAGREES].signature,
			   words);
	as_judge_end(v, AS_FSCK_DISAGREES, damage);
}

static bool is_content(const struct as_fsck_seen *s)
{
	return s->n > 1 && s->run[1]->answer == AS_CHECK_CLEAN &&
	       (s->run[0]->answer == AS_CHECK_CLEAN || s->run[0]->answer == AS_CHECK_REPAIRED);
}

int as_judge_look(struct as_judge *j, const struct as_fsck_base *base,
		  const struct as_damage *damage, struct as_disk *disk, struct as_fsck_verdict *v,
		  struct as_err *err)
{
	struct as_fsck_seen *s = &v->seen;
	int rc;

	/* What hangs once would only take as long again. */
	if (!as_subject_has(j->subject, AS_SUBJECT_CHECK) || j->repairs_only ||
	    v->problems & 1u << AS_FSCK_HANGS)
		return 0;
	rc = as_judge_run_once(j, AS_SUBJECT_CHECK, disk, &s->check, err);
	if (rc || !as_judge_ended_well(j, v, damage, AS_SUBJECT_CHECK, s->check, "read-only") ||
	    s->run[0]->ended.how != AS_END_EXIT)
		return rc;
	judge_check(j, v, base, damage, disk);
	/* On a disk that was not changed, it would say the same. */
	if (!is_content(s) || !(s->run[0]->changed || s->run[1]->changed) ||
	    !strcmp(as_subject_command(j->subject, AS_SUBJECT_CHECK),
		    as_subject_command(j->subject, AS_SUBJECT_AGAIN)))
		return 0;
	rc = as_judge_run_once(j, AS_SUBJECT_CHECK, s->run[1]->disk, &s->after, err);
	if (!rc && as_judge_ended_well(j, v, damage, AS_SUBJECT_CHECK, s->after, "last read-only"))
		judge_after(j, v, base, damage);
	return rc;
}
