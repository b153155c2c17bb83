/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is excused after a failure inside a kernel, without a kernel that can be made to fail: labfs
 * carries operations out, and this test answers in its place what a kernel would have answered.
 * Each row is also tried with the same answer where nothing has failed: then it is wrong, or at
 * least nothing is explained.
 */
#include "tests/lib/mounted.h"

#include "run/runner_priv.h"
#include "trial/trial.h"
#include "work/parse.h"

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))

enum how {
	AS_IT_IS, /* it answers itself */
	REFUSES, /* it is not done, and answers `err` */
	DOES, /* it is done, and answers `err` all the same */
	DOES_PART, /* it does what fits into `part` bytes, and says so */
	STRAYS, /* it reads after the end of the disk, and answers itself */
};

#define FILE_OPEN "$0 = open /f O_RDWR|O_CREAT 0644\n"
#define SYNC_OPEN "$0 = open /f O_RDWR|O_CREAT|O_SYNC 0644\n"

static const struct row {
	const char *name, *workload, *plan;
	size_t meets; /* the operation, from 1, that meets the failure */
	enum how how;
	int err;
	uint64_t part;
	size_t off_at; /* this one answers EROFS; 0: none does */
	bool warned; /* the kernel's log says that something is wrong */
	const char *repairs; /* it is of this type; NULL: it has a journal */
	/* What comes of the operation that met it, or that says that it is off, */
	size_t op;
	enum as_trial_did did;
	const char *row;
	enum as_trial_did last; /* of the last operation, */
	enum as_trial_did closed; /* and of an unmount that answers EROFS */
	bool unchecked; /* the checker is not asked */
} rows[] = {
	{ .name = "it refuses",
	  .workload = "create /f 0644\nmkdir /a 0755\nrmdir /a\n",
	  .plan = "kalloc:2:1",
	  .meets = 2,
	  .how = REFUSES,
	  .err = ENOMEM,
	  .op = 2,
	  .did = AS_TRIAL_FOLLOWED,
	  .row = "REFUSED.FAILED",
	  .last = AS_TRIAL_AGREED,
	  .closed = AS_TRIAL_WRONG },
	{ .name = "a part is read",
	  .workload = FILE_OPEN "pwrite $0 at=0 len=5000 fill=1\npread $0 len=5000 at=0\n"
				"fstat $0\n",
	  .plan = "kpage:3:1",
	  .meets = 3,
	  .how = DOES_PART,
	  .part = 2000,
	  .op = 3,
	  .did = AS_TRIAL_AGREED,
	  .row = "REFUSED.PART",
	  .last = AS_TRIAL_AGREED,
	  .closed = AS_TRIAL_WRONG },
	{ .name = "it is written, and not synced",
	  .workload = SYNC_OPEN "pwrite $0 at=0 len=5000 fill=1\nfstat $0\n",
	  .plan = "kio:2:1",
	  .meets = 2,
	  .how = DOES,
	  .err = EIO,
	  .op = 2,
	  .did = AS_TRIAL_BLIND,
	  .row = "REFUSED.WRITTEN",
	  .last = AS_TRIAL_BLIND,
	  .closed = AS_TRIAL_WRONG },
	{ .name = "it turns itself off",
	  .workload = "create /f 0644\nmkdir /a 0755\nmkdir /b 0755\nstat /b\n",
	  .plan = "kalloc:2:1",
	  .meets = 2,
	  .how = REFUSES,
	  .err = ENOMEM,
	  .off_at = 3,
	  .op = 3,
	  .did = AS_TRIAL_BLIND,
	  .row = "REFUSED.OFF",
	  .last = AS_TRIAL_BLIND,
	  .closed = AS_TRIAL_BLIND,
	  .unchecked = true },
	{ .name = "an fsync fails, and there is no journal",
	  .workload = FILE_OPEN "pwrite $0 at=0 len=5000 fill=1\nfsync $0\nfstat $0\n",
	  .plan = "kio:3:1",
	  .meets = 3,
	  .how = REFUSES,
	  .err = EIO,
	  .repairs = "ext2",
	  .op = 3,
	  .did = AS_TRIAL_BLIND,
	  .row = "REFUSED.WRITTEN",
	  .last = AS_TRIAL_BLIND,
	  .closed = AS_TRIAL_WRONG,
	  .unchecked = true },
	{ .name = "a sync fails, and says nothing",
	  .workload = "mkdir /a 0755\nsync\nstat /a\n",
	  .plan = "kio:2:1",
	  .meets = 2,
	  .how = AS_IT_IS,
	  .op = 2,
	  .did = AS_TRIAL_AGREED,
	  .row = "ALLOWED.ELSE",
	  .last = AS_TRIAL_BLIND,
	  .closed = AS_TRIAL_WRONG },
	{ .name = "an unmount of which the log tells",
	  .workload = "mkdir /a 0755\numount\nmount\nstat /a\n",
	  .plan = "kalloc:2:1",
	  .meets = 2,
	  .how = AS_IT_IS,
	  .warned = true,
	  .op = 2,
	  .did = AS_TRIAL_AGREED,
	  .row = "ALLOWED.ELSE",
	  .last = AS_TRIAL_BLIND,
	  .closed = AS_TRIAL_WRONG,
	  .unchecked = true },
	{ .name = "an open fails, and has made the file",
	  .workload = "mkdir /a 0755\n" FILE_OPEN "stat /f\n",
	  .plan = "kalloc:2:1",
	  .meets = 2,
	  .how = DOES,
	  .err = ENOMEM,
	  .op = 2,
	  .did = AS_TRIAL_FOLLOWED,
	  .row = "REFUSED.FAILED",
	  .last = AS_TRIAL_AGREED,
	  .closed = AS_TRIAL_WRONG },
	{ .name = "it calls outside of its disk",
	  .workload = "mkdir /a 0755\nmkdir /b 0755\nstat /a\n",
	  .plan = "kalloc:2:1",
	  .meets = 2,
	  .how = STRAYS,
	  .op = 2,
	  .did = AS_TRIAL_AGREED,
	  .row = "ALLOWED.ELSE",
	  .last = AS_TRIAL_AGREED,
	  .closed = AS_TRIAL_WRONG },
};

/* ---- The kernel that is made up -------------------------------------------------------------- */

struct kernel {
	const struct row *row;
	struct as_trial trial;
	struct as_medium *disk;
	bool fails; /* false: it answers the same, and nothing has failed */
	bool wrong;
};

static void answer(struct as_outcome *got, int err)
{
	*got = (struct as_outcome){ .ret = -1, .err = err };
}

static void stray(struct kernel *k)
{
	struct as_bd *bd = as_medium_bd(as_instance_hold_disk(k->trial.instance));
	char byte[512];

	(void)bd->ops->read(bd, bd->size_bytes, byte, sizeof(byte));
	as_instance_release_disk(k->trial.instance);
}

static void carry_out(void *ctx, uint32_t i, const struct as_op *op, struct as_outcome *got)
{
	struct kernel *k = ctx;
	bool meets = i + 1 == k->row->meets;
	enum how how = meets ? k->row->how : AS_IT_IS;
	struct as_op part = *op;

	if (meets && k->fails)
		k->trial.met = k->trial.hit = true;
	if (how == DOES_PART)
		part.len = k->row->part;
	if (how == STRAYS)
		stray(k);
	if (how != REFUSES && i + 1 != k->row->off_at)
		as_instance_do(k->trial.instance, i, &part, got);
	if (how == REFUSES || how == DOES)
		answer(got, k->row->err);
	if (i + 1 == k->row->off_at)
		answer(got, EROFS);
}

static void wrong(void *ctx, uint32_t i, const struct as_op *op, enum as_finding_kind kind,
		  const char *why, bool noted)
{
	(void)i;
	(void)op;
	(void)kind;
	(void)why;
	(void)noted;
	((struct kernel *)ctx)->wrong = true;
}

static bool warned(void *ctx)
{
	return ((struct kernel *)ctx)->row->warned;
}

static const struct as_trial_ops observers = { .carry_out = carry_out,
					       .wrong = wrong,
					       .warned = warned };

/* ---- A row ----------------------------------------------------------------------------------- */

static struct as_runner *runner;
static struct as_target *lab;
static struct as_decided *decided; /* in memory that the children share */

static void open_kernel(struct kernel *k, struct as_plan **plan)
{
	struct as_run_fresh fresh = as_runner_fresh(runner);
	struct as_instance_args args = { .target = lab, .name_max = fresh.traits->name_max };
	static struct as_host_log log;
	int rc;

	k->disk = args.disk = as_medium_copy(fresh.disk);
	args.log = &log;
	k->trial = (struct as_trial){ .ops = &observers,
				      .ctx = k,
				      .target = lab,
				      .traits = fresh.traits,
				      .inside = k->fails };
	child_ok(as_target_load(lab, &t_child_err));
	child_ok(as_instance_open(&args, &k->trial.instance, &t_child_err));
	child_ok(as_plan_parse(k->row->plan, plan, &t_child_err));
	k->trial.plan = k->fails ? *plan : NULL;
	child_check(as_trial_mount(&k->trial, &rc) == AS_TRIAL_AGREED);
	k->trial.model = as_model_copy(fresh.model);
}

static void close_kernel(struct kernel *k, struct as_plan *plan)
{
	decided->rows |= k->trial.decided.rows;
	decided->excuses |= k->trial.decided.excuses;
	as_model_free(k->trial.model);
	as_instance_close(k->trial.instance);
	as_medium_free(k->disk);
	as_trial_end(&k->trial);
	as_plan_free(plan);
}

static void judge_rest(struct kernel *k)
{
	struct as_target *other = NULL;

	child_check(as_trial_closed(&k->trial, -EROFS) == k->row->closed);
	if (k->row->repairs) {
		child_check(!as_trial_excuses(&k->trial, AS_EXCUSED_CHECKER));
		child_ok(as_target_open(k->row->repairs, &other, &t_child_err));
		k->trial.target = other;
	}
	child_check(as_trial_excuses(&k->trial, AS_EXCUSED_CHECKER) == k->row->unchecked);
	as_target_free(other);
}

static int row_child(void *ctx)
{
	struct kernel *k = ctx;
	struct as_plan *plan = NULL;
	struct as_seq *seq = NULL;
	enum as_trial_did did = AS_TRIAL_AGREED;
	struct as_outcome got;
	bool explained = true;

	child_ok(as_parse_text(k->row->name, k->row->workload, strlen(k->row->workload), &seq,
			       &t_child_err));
	open_kernel(k, &plan);
	for (size_t i = 0; i < seq->n && as_trial_goes_on(did); i++) {
		did = as_trial_op(&k->trial, (uint32_t)i, &seq->ops[i], &got);
		if (i + 1 == k->row->op)
			explained = did == k->row->did && !strcmp(k->trial.row, k->row->row);
		if (k->fails && i + 1 == k->row->op)
			child_check(explained);
	}
	if (k->fails) {
		child_check(did == k->row->last);
		judge_rest(k);
	} else {
		child_check(k->wrong || !as_trial_excuses(&k->trial, AS_EXCUSED_CHECKER));
		child_check(k->wrong == (k->row->how != AS_IT_IS));
		child_check(as_trial_closed(&k->trial, -EROFS) == AS_TRIAL_WRONG);
	}
	close_kernel(k, plan);
	as_seq_free(seq);
	return 0;
}

static void test_row(void **state)
{
	for (int fails = 0; fails < 2; fails++) {
		struct kernel k = { .row = *state, .fails = fails };

		t_in_child(row_child, &k);
	}
}

/* ---- The table ------------------------------------------------------------------------------- */

static const char *const decisions[] = {
#define AS_EXCUSE(...)
#define AS_DECIDE(when, name, ...) #when "." #name,
#include "trial/excuse.def"
};

static const char *const excuses[] = {
#define AS_EXCUSE(what, name, ...) #what "." #name,
#define AS_DECIDE(...)
#include "trial/excuse.def"
};

static void test_rows(void **state)
{
	static const char *const of_kernels[] = {
		"REFUSED.PART", "REFUSED.WRITTEN", "REFUSED.OFF", "AFTER.LOST",
		"AFTER.WARNED", "AFTER.MADE",	   "AFTER.ELSE",  "ERROR.MET",
		"ERROR.OFF",	"MISUSE.INSIDE",   "CHECKER.OFF", "CHECKER.LOST",
		"CHECKER.WARNED"
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(of_kernels); i++) {
		bool reached = false;

		for (size_t k = 0; k < N_ROWS(decisions); k++)
			reached |= !strcmp(decisions[k], of_kernels[i]) && decided->rows >> k & 1;
		for (size_t k = 0; k < N_ROWS(excuses); k++)
			reached |= !strcmp(excuses[k], of_kernels[i]) && decided->excuses >> k & 1;
		if (!reached)
			fail_msg("%s was not reached", of_kernels[i]);
	}
}

int main(void)
{
	static struct as_sink deaf;
	struct as_run_options options = { 0 };
	struct CMUnitTest tests[N_ROWS(rows) + 1] = { 0 };
	struct as_err err = { 0 };
	int rc;

	decided = as_shared_alloc(sizeof(*decided));
	if (as_target_open("lab", &lab, &err) ||
	    as_runner_new(lab, &options, &deaf, &runner, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 2;
	}
	for (size_t i = 0; i < N_ROWS(rows); i++)
		tests[i] = (struct CMUnitTest){ rows[i].name, test_row, NULL, NULL,
						(void *)(uintptr_t)&rows[i] };
	tests[N_ROWS(rows)] = (struct CMUnitTest)cmocka_unit_test(test_rows);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	as_runner_free(runner);
	as_target_free(lab);
	as_shared_free(decided, sizeof(*decided));
	return rc;
}
