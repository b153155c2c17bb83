/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge_kernel: the kernel's own word (SWIFT leaves it out): a disk that a checker calls clean, and
 * calls clean again, must be one that the file system mounts, reads, changes and unmounts without
 * a complaint (kernel.h).
 *
 * The healthy disk is asked first: a file system that does not like that one says nothing about
 * the checker.
 */
#include "fsck/judge_priv.h"

#include "base/finding.h"
#include "damage/kernel.h"

void as_judge_set_kernel(struct as_judge *j, struct as_fsck_kernel *kernel)
{
	j->kernel = kernel;
}

void as_judge_repairs_only(struct as_judge *j)
{
	j->repairs_only = true;
}

/* Whether the checker has promised that the disk is in order. */
static bool promises(const struct as_judge *j, const struct as_fsck_verdict *v)
{
	enum as_check_answer first = v->seen.n ? v->seen.run[0]->answer : AS_CHECK_FAILED;

	if (v->problems & (1u << AS_FSCK_DIED | 1u << AS_FSCK_HANGS | 1u << AS_FSCK_STATUS))
		return false;
	if (first == AS_CHECK_CLEAN && as_subject_test(j->subject)->trusts)
		return false;
	return (first == AS_CHECK_CLEAN || first == AS_CHECK_REPAIRED) && v->seen.n > 1 &&
	       v->seen.run[1]->answer == AS_CHECK_CLEAN;
}

static int ask(struct as_judge *j, struct as_disk *disk, const struct as_word **word,
	       struct as_err *err)
{
	int rc = as_fsck_kernel_ask(j->kernel, disk, word, err);

	j->counts.unasked += !rc && (*word)->end == AS_WORD_UNASKED;
	return rc;
}

int as_judge_ask_kernel(struct as_judge *j, const struct as_fsck_base *base,
			const struct as_damage *damage, struct as_fsck_verdict *v,
			struct as_err *err)
{
	struct as_buf *words = &v->found[AS_FSCK_KERNEL].summary;
	struct as_buf *sign = &v->found[AS_FSCK_KERNEL].signature;
	const struct as_word *word;
	int rc;

	as_buf_clear(&v->kernel);
	if (!j->kernel || !promises(j, v))
		return 0;
	if (!base->sick) {
		rc = ask(j, base->disk, &word, err);
		if (rc || word->end != AS_WORD_FINE)
			return rc;
	}
	rc = ask(j, v->seen.run[0]->disk, &word, err);
	if (rc || word->end == AS_WORD_FINE || word->end == AS_WORD_UNASKED)
		return rc;
	v->problems |= 1u << AS_FSCK_KERNEL;
	as_buf_clear(words);
	as_buf_clear(sign);
	as_buf_addf(words, "%s; the checker says that all is well, but %s",
		    as_buf_str(&damage->words), as_buf_str(&word->why));
	as_buf_addf(sign, "fsck: %s: %s", as_fsck_problem_name(AS_FSCK_KERNEL),
		    as_buf_str(&word->sign));
	if (damage->field.len)
		as_buf_addf(sign, AS_SIGNATURE_FIELD "%s", as_buf_str(&damage->field));
	as_buf_adds(&v->kernel, word->log.len ? as_buf_str(&word->log) : as_buf_str(&word->why));
	return 0;
}
