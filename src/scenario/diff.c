/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff: see diff.h.
 *
 * Method. File systems that have answered alike so far are in the same state and can be compared.
 * If one succeeds and another does not, or if they did different parts of an operation, their
 * states differ from then on: each is compared only with those in the same state. A different
 * errno, or a different number of bytes read, does not change the state.
 *
 * What is not compared: inode numbers, blocks, times, the figures of statfs; sizes of directories;
 * link counts of directories if a type has a quirk or its fresh disk is not empty; and operations
 * that the model does not judge.
 *
 * What is excused: a full disk (sizes of metadata are a type's own); answers of which the models of
 * the two types allow different sets, which means that fstype.def knows of the difference; values
 * that the model leaves open altogether (SEEK_HOLE, offsets of directories); what O_DIRECT asks of
 * lengths and offsets, which open(2) leaves to each type; which options of a mount a type knows.
 */
#include "scenario/diff.h"

#include "target/fstype.h"
#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Targets --------------------------------------------------------------------------------- */

static bool begins_target(const char *word)
{
	size_t len = strcspn(word, ":,");
	char name[64];

	if (!len || len >= sizeof(name))
		return false;
	memcpy(name, word, len);
	name[len] = '\0';
	for (unsigned i = 0; as_target_kind(i); i++)
		if (!strcmp(as_target_kind(i)->name, name))
			return true;
	return as_fstype_find(name);
}

int as_diff_parse(const char *text, char **specs, size_t *n, struct as_err *err)
{
	const char *at = text;
	int rc = 0;

	*n = 0;
	while (*at && !rc) {
		size_t len = strcspn(at, ",");

		/* After options, a word that is not a target is another option. */
		while (at[len] && memchr(at, ':', len) && !begins_target(at + len + 1))
			len += 1 + strcspn(at + len + 1, ",");
		if (*n == AS_DIFF_MAX)
			rc = as_fail(err, AS_EUSE, "diff: at most %u targets", AS_DIFF_MAX);
		else
			specs[(*n)++] = strndup(at, len);
		at += len + (at[len] == ',');
	}
	if (!rc && *n < 2)
		rc = as_fail(err, AS_EUSE,
			     "diff: at least two targets are needed, such as "
			     "ext4,xfs");
	for (size_t i = 0; rc && i < *n; i++)
		free(specs[i]);
	if (rc)
		*n = 0;
	return rc;
}

/* ---- Two answers ----------------------------------------------------------------------------- */

struct diff_judging {
	const struct as_seq *seq;
	const struct as_diff_subject *subjects;
	size_t n;
	struct as_diff *diff;
	unsigned state[AS_DIFF_MAX]; /* file systems with the same number are in the same state */
	unsigned states; /* numbers of states in use, but for 0 */
};

static const struct as_answer *answer_of(const struct diff_judging *j, size_t who, size_t op)
{
	const struct as_answers *answers = j->subjects[who].answers;

	return op < answers->n ? &answers->ops[op] : NULL;
}

static bool any_has(const struct diff_judging *j, size_t a, size_t b, uint64_t quirks)
{
	return (j->subjects[a].traits->quirks | j->subjects[b].traits->quirks) & quirks;
}

static bool both_have(const struct diff_judging *j, size_t a, size_t b, uint64_t feature)
{
	return j->subjects[a].traits->features & j->subjects[b].traits->features & feature;
}

static bool nlinks_compare(const struct diff_judging *j, size_t a, size_t b,
			   const struct as_stat *st)
{
	if (!S_ISDIR(st->mode))
		return true;
	return !any_has(j, a, b, AS_QUIRK_DIR_NLINK_ANY | AS_QUIRK_DIR_NLINK_ONE) &&
	       j->subjects[a].fresh == 1 && j->subjects[b].fresh == 1;
}

/* What differs in two stats, as words and two numbers; false: nothing that counts. */
static bool stats_differ(const struct diff_judging *j, size_t a, size_t b, size_t op,
			 struct as_buf *x, struct as_buf *y)
{
	const struct as_stat *s = &answer_of(j, a, op)->st, *t = &answer_of(j, b, op)->st;
	bool owner = both_have(j, a, b, AS_FEAT_OWNER);
	uint32_t mask = owner ? S_IFMT | 07777 : S_IFMT;

	if ((s->mode & mask) != (t->mode & mask)) {
		as_buf_addf(x, "says mode 0%o", s->mode);
		as_buf_addf(y, "mode 0%o", t->mode);
	} else if (owner && (s->uid != t->uid || s->gid != t->gid)) {
		as_buf_addf(x, "says owner %u:%u", s->uid, s->gid);
		as_buf_addf(y, "owner %u:%u", t->uid, t->gid);
	} else if (s->nlink != t->nlink && nlinks_compare(j, a, b, s)) {
		as_buf_addf(x, "says link count %u", s->nlink);
		as_buf_addf(y, "link count %u", t->nlink);
	} else if (s->size != t->size && !S_ISDIR(s->mode)) {
		as_buf_addf(x, "says size %llu", (unsigned long long)s->size);
		as_buf_addf(y, "size %llu", (unsigned long long)t->size);
	} else if (s->rdev != t->rdev) {
		as_buf_addf(x, "says device %llx", (unsigned long long)s->rdev);
		as_buf_addf(y, "device %llx", (unsigned long long)t->rdev);
	} else {
		return false;
	}
	return true;
}

static void say_outcome(const struct as_answer *op, struct as_buf *out)
{
	if (op->ret >= 0)
		as_buf_addf(out, "%lld", (long long)op->ret);
	else
		as_buf_addf(out, "-1 %s", as_outcome_err_name(op->err));
	if (op->ret < 0 && op->done)
		as_buf_addf(out, " done=%llu", (unsigned long long)op->done);
}

/* Whether two answered differently; in words, if so. */
static bool differ(const struct diff_judging *j, size_t a, size_t b, size_t op, struct as_buf *x,
		   struct as_buf *y)
{
	const struct as_answer *s = answer_of(j, a, op), *t = answer_of(j, b, op);

	as_buf_clear(x);
	as_buf_clear(y);
	if (s->ret != t->ret || s->err != t->err || (s->ret < 0 && s->done != t->done)) {
		as_buf_adds(x, "returned ");
		say_outcome(s, x);
		say_outcome(t, y);
		return true;
	}
	if (s->payload == AS_PAYLOAD_STAT && t->payload == s->payload)
		return stats_differ(j, a, b, op, x, y);
	if (s->digest == t->digest || any_has(j, a, b, AS_QUIRK_XATTR_PART_REPORTED))
		return false;
	as_buf_adds(x, s->payload == AS_PAYLOAD_NAMES ? "gave other names" : "gave other bytes");
	as_buf_adds(y, s->payload == AS_PAYLOAD_NAMES ? "names" : "bytes");
	return true;
}

/* ---- Excuses --------------------------------------------------------------------------------- */

static bool is_full(const struct as_answer *op)
{
	return op->ret < 0 && (op->err == ENOSPC || op->err == EDQUOT);
}

/* A write that a full disk made shorter, or a copy: how much it copies is up to the file system. */
static bool is_short(const struct as_op *op, const struct as_answer *a, const struct as_answer *b)
{
	return as_op_table[op->code].changes & AS_CHANGES_BY_PAGE && a->ret >= 0 && b->ret >= 0;
}

static bool same_allowed(const struct as_allowed *a, const struct as_allowed *b)
{
	struct as_allowed x = *a, y = *b;

	x.may[ENOSPC / 64] &= ~(UINT64_C(1) << ENOSPC % 64);
	y.may[ENOSPC / 64] &= ~(UINT64_C(1) << ENOSPC % 64);
	x.may[EDQUOT / 64] &= ~(UINT64_C(1) << EDQUOT % 64);
	y.may[EDQUOT / 64] &= ~(UINT64_C(1) << EDQUOT % 64);
	return x.ok == y.ok && !memcmp(x.may, y.may, sizeof(x.may));
}

/* Whether its descriptor was opened with O_DIRECT, whether or not the open succeeded. */
static bool is_direct(const struct as_seq *seq, size_t op)
{
	const struct as_op *at = &seq->ops[op];

	for (size_t i = op; i-- > 0;) {
		const struct as_op *open = &seq->ops[i];

		if (open->code == AS_OP_OPEN && open->slot >= 0 &&
		    (open->slot == at->fd || open->slot == at->fd2) && open->flags & O_DIRECT)
			return true;
	}
	return false;
}

static bool is_unaligned(const struct diff_judging *j, size_t op, const struct as_answer *a,
			 const struct as_answer *b)
{
	return (a->err == EINVAL || b->err == EINVAL) && is_direct(j->seq, op);
}

/* SEEK_DATA and SEEK_HOLE may answer as they like, and mount options are the type's own. */
static bool is_own_taste(const struct as_op *op)
{
	return op->code == AS_OP_REMOUNT || op->code == AS_OP_MOUNT ||
	       (op->code == AS_OP_LSEEK && op->flags >= AS_SEEK_DATA);
}

enum excuse { EXCUSE_NONE, EXCUSE_DOCUMENTED, EXCUSE_HINT };

/* Of two answers that are both allowed. */
static enum excuse excuse(const struct diff_judging *j, size_t a, size_t b, size_t op)
{
	const struct as_answer *s = answer_of(j, a, op), *t = answer_of(j, b, op);

	if (s->unjudged || t->unjudged)
		return EXCUSE_DOCUMENTED;
	if (is_full(s) || is_full(t) || is_short(&j->seq->ops[op], s, t))
		return EXCUSE_DOCUMENTED;
	if (!same_allowed(&s->allowed, &t->allowed))
		return EXCUSE_DOCUMENTED;
	if (s->ret >= 0 && t->ret >= 0 && s->ret != t->ret && s->allowed.ret == -1)
		return EXCUSE_HINT;
	if (is_unaligned(j, op, s, t) || is_own_taste(&j->seq->ops[op]))
		return EXCUSE_HINT;
	return EXCUSE_NONE;
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* The file systems of one state that have an answer; for each, the first one that gave the same
 * answer. */
struct diff_group {
	size_t who[AS_DIFF_MAX], n;
	size_t like[AS_DIFF_MAX]; /* by position in who */
	size_t votes[AS_DIFF_MAX]; /* how many gave it, counted at the first with that answer */
};

static void make_group(const struct diff_judging *j, unsigned state, size_t op,
		       struct diff_group *g)
{
	struct as_buf x = { 0 }, y = { 0 };

	*g = (struct diff_group){ .n = 0 };
	for (size_t i = 0; i < j->n; i++)
		if (j->state[i] == state && answer_of(j, i, op))
			g->who[g->n++] = i;
	for (size_t i = 0; i < g->n; i++) {
		g->like[i] = i;
		for (size_t k = 0; k < i && g->like[i] == i; k++)
			if (g->like[k] == k && !differ(j, g->who[i], g->who[k], op, &x, &y))
				g->like[i] = k;
		g->votes[g->like[i]]++;
	}
	as_buf_free(&x);
	as_buf_free(&y);
}

static void tell(const struct diff_judging *j, enum as_diff_answer answer, size_t odd, size_t other,
		 size_t op)
{
	struct as_diff *d = j->diff;

	d->answer = answer;
	d->op = op;
	d->odd = odd;
	d->other = other;
	(void)differ(j, odd, other, op, &d->says, &d->others_say);
}

/* Looks for an answer that the model does not allow, and for another one that differs from it. */
static bool wrong_one(const struct diff_judging *j, const struct diff_group *g, size_t op)
{
	for (size_t i = 0; i < g->n; i++) {
		if (answer_of(j, g->who[i], op)->agrees)
			continue;
		for (size_t k = 0; k < g->n; k++)
			if (g->like[k] != g->like[i]) {
				tell(j, AS_DIFF_WRONG, g->who[i], g->who[k], op);
				return true;
			}
	}
	return false;
}

static void count_undecided(const struct diff_judging *j, const struct diff_group *g, size_t i,
			    size_t op)
{
	struct as_diff *d = j->diff;
	struct as_buf x = { 0 }, y = { 0 };

	if (!d->undecided++) {
		(void)differ(j, g->who[i], g->who[0], op, &x, &y);
		as_buf_addf(&d->undecided_first, "%s %s, %s %s: the model allows both",
			    j->subjects[g->who[i]].name, as_buf_str(&x),
			    j->subjects[g->who[0]].name, as_buf_str(&y));
		d->undecided_op = op;
	}
	as_buf_free(&x);
	as_buf_free(&y);
}

/* All answers are allowed: looks for an odd one out, if most agree. */
static bool odd_one(const struct diff_judging *j, const struct diff_group *g, size_t op)
{
	size_t most = 0;

	for (size_t i = 1; i < g->n; i++)
		if (g->votes[i] > g->votes[most])
			most = i;
	for (size_t i = 0; i < g->n; i++) {
		enum excuse why;

		if (g->like[i] != i || i == most)
			continue;
		why = excuse(j, g->who[i], g->who[most], op);
		j->diff->documented += why == EXCUSE_DOCUMENTED;
		j->diff->hints += why == EXCUSE_HINT;
		if (why != EXCUSE_NONE)
			continue;
		if (2 * g->votes[most] > g->n && g->n > 2) {
			tell(j, AS_DIFF_ODD, g->who[i], g->who[most], op);
			return true;
		}
		count_undecided(j, g, i ? i : most, op);
	}
	return false;
}

/* File systems that succeeded in another way, or failed after another part, are in another
 * state. */
static void part_ways(struct diff_judging *j, const struct diff_group *g, size_t op)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct as_answer *s = answer_of(j, g->who[i], op);
		size_t k = 0;

		for (; k < i; k++) {
			const struct as_answer *t = answer_of(j, g->who[k], op);

			if ((s->ret < 0) == (t->ret < 0) &&
			    (s->ret < 0 ? s->done == t->done : s->ret == t->ret))
				break;
		}
		/* The first one keeps the number of its state. */
		if (k < i)
			j->state[g->who[i]] = j->state[g->who[k]];
		else if (i)
			j->state[g->who[i]] = ++j->states;
	}
}

static bool judge_op(struct diff_judging *j, size_t op)
{
	unsigned states = j->states;

	for (unsigned state = 0; state <= states; state++) {
		struct diff_group g;

		make_group(j, state, op, &g);
		if (g.n < 2 || g.votes[0] == g.n)
			continue;
		if (wrong_one(j, &g, op) || odd_one(j, &g, op))
			return true;
		part_ways(j, &g, op);
	}
	return false;
}

void as_diff_judge(const struct as_seq *seq, const struct as_diff_subject *subjects, size_t n,
		   struct as_diff *diff)
{
	struct diff_judging j = { .seq = seq, .subjects = subjects, .n = n, .diff = diff };

	as_assert(n <= AS_DIFF_MAX);
	*diff = (struct as_diff){ .answer = AS_DIFF_NONE };
	for (size_t i = 0; i < seq->n && i < AS_ANSWERS_MAX; i++)
		if (judge_op(&j, i))
			return;
}

void as_diff_free(struct as_diff *diff)
{
	as_buf_free(&diff->says);
	as_buf_free(&diff->others_say);
	as_buf_free(&diff->undecided_first);
	*diff = (struct as_diff){ 0 };
}
