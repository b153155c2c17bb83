/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expect: see expect.h.
 *
 * Method. The model goes through the workload alone, always with its first choice. The answer that
 * the finding is about is compared, if the model allows exactly one; so is what the call hands over
 * (bytes, names, attributes), if that was wrong. That the others succeed or fail as the model says
 * first is an assumption: if the file system answers otherwise, the program says so and compares
 * nothing more, because there may be several right answers.
 */
#include "dossier/program/expect.h"

#include "dossier/program/expect_priv.h"
#include "dossier/steps.h"
#include "target/target.h"
#include "vfs/traits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct as_expect {
	const struct as_seq *seq;
	size_t guilty; /* the operation whose answer was wrong; seq->n: none */
	struct as_model *model;
	struct as_outcome *answers;
	enum as_emit_how *how;
	struct as_handed told; /* what the guilty one hands over, if that was wrong */
	bool hands_over;
	bool inside; /* it is about what is in the files */
	struct as_emit_plan plan;
};

/* Errors that it allows, but for those of a full disk, which a fresh one is not. */
static unsigned errors_of(const struct as_allowed *allowed)
{
	unsigned n = 0;

	for (int err = 1; err < 192; err++)
		n += as_allowed_err(allowed, err) && err != ENOSPC && err != EDQUOT;
	return n;
}

static void expect_op(struct as_expect *x, size_t i)
{
	const struct as_op *op = &x->seq->ops[i];
	const struct as_op_info *info = &as_op_table[op->code];
	struct as_allowed allowed = { 0 };
	unsigned errors;

	/* What the program leaves out, the model leaves out, too. */
	x->how[i] = AS_EMIT_IGNORED;
	if (as_step_needs_assay(op) || as_model_lost(x->model))
		return;
	as_model_allowed(x->model, op, &allowed);
	errors = errors_of(&allowed);
	x->how[i] = allowed.must ? AS_EMIT_FAILURE : AS_EMIT_SUCCESS;
	if (i == x->guilty && info->calls != AS_CALLS_MANY && allowed.ok && !errors &&
	    allowed.ret >= 0) {
		x->how[i] = AS_EMIT_COMPARED;
		x->answers[i] = (struct as_outcome){ .ret = allowed.ret };
	} else if (i == x->guilty && info->calls != AS_CALLS_MANY && !allowed.ok && errors == 1) {
		x->how[i] = AS_EMIT_COMPARED;
		x->answers[i] = (struct as_outcome){ .ret = -1, .err = allowed.must };
	} else if (i == x->guilty && !(allowed.ok && errors)) {
		x->how[i] = allowed.ok ? AS_EMIT_MUST_SUCCEED : AS_EMIT_MUST_FAIL;
	}
	/* Where there are several right answers, the file tells what is wrong. */
	if (i == x->guilty && op->code == AS_OP_LSEEK && op->flags >= AS_SEEK_DATA && allowed.ok) {
		x->how[i] = AS_EMIT_SOUGHT;
		return;
	}
	if (i != x->guilty || !x->hands_over) {
		as_model_apply(x->model, op);
		return;
	}
	/* It succeeded. If the program cannot compare what it hands over, nor does it compare its
	 * value, which was right. */
	as_handed_clear(&x->told);
	if (as_model_hand_over(x->model, op, &x->told) || !as_emit_c_handed_section(op, &x->told)) {
		x->told.payload = AS_PAYLOAD_NONE;
		x->how[i] = allowed.must ? AS_EMIT_FAILURE : AS_EMIT_SUCCESS;
	}
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void expect_all(struct as_expect *x)
{
	x->answers = as_xcalloc(x->seq->n + 1, sizeof(*x->answers));
	x->how = as_xcalloc(x->seq->n + 1, sizeof(*x->how));
	for (size_t i = 0; i < x->seq->n; i++)
		expect_op(x, i);
	x->plan = (struct as_emit_plan){
		.expected = x->answers,
		.how = x->how,
		.told = x->told.payload ? &x->told : NULL,
		.told_at = x->guilty,
	};
}

/* A reduced workload ends with the operation that fails. */
static size_t guilty_of(const struct as_letter *l, const struct as_seq *seq)
{
	const struct as_finding *f = &l->stored.finding;

	if ((f->kind != AS_FIND_OUTCOME && f->kind != AS_FIND_DATA) || !seq->n)
		return seq->n;
	if (l->reduced)
		return seq->n - 1;
	return f->op_index >= 0 && (size_t)f->op_index < seq->n ? (size_t)f->op_index : seq->n;
}

/* Calls that are made one after the other, without faults. */
static bool is_plain(const struct as_finding *f)
{
	return !f->options || (!strstr(f->options, "fault=") && !strstr(f->options, "scenario="));
}

struct as_expect *as_expect_new(const struct as_letter *l, const struct as_seq *seq)
{
	const struct as_finding *f = &l->stored.finding;
	struct as_target *target = NULL;
	struct as_expect *x;
	struct as_traits traits;

	/* The target may not be here any more. */
	if (as_recipe_is_library(f->target) || !is_plain(f) ||
	    as_target_open(f->target, &target, NULL))
		return NULL;
	as_run_traits(target, &traits);
	as_target_free(target);
	x = as_xcalloc(1, sizeof(*x));
	x->seq = seq;
	x->guilty = guilty_of(l, seq);
	x->hands_over = f->kind == AS_FIND_DATA;
	x->inside = f->kind == AS_FIND_DATA || f->kind == AS_FIND_TREE;
	x->model = as_model_new(&traits);
	expect_all(x);
	return x;
}

const struct as_emit_plan *as_expect_plan(const struct as_expect *x)
{
	return &x->plan;
}

int as_expect_write_tree(const struct as_expect *x, const struct as_dir *folder, struct as_err *err)
{
	return as_model_lost(x->model) ? 0 : as_expect_tree(x->model, x->inside, folder, err);
}

void as_expect_free(struct as_expect *x)
{
	if (!x)
		return;
	as_model_free(x->model);
	free(x->answers);
	free(x->how);
	as_handed_free(&x->told);
	free(x);
}
