/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expect: see expect.h.
 *
 * Method. The model goes through the workload alone, always with its first choice. The answer that
 * the finding is about is compared, if the model allows exactly one. That the others succeed or fail
 * as the model says first is an assumption: if the file system answers otherwise, the program says
 * so and compares nothing more, because there may be several right answers.
 */
#include "cli/expect.h"

#include "base/array.h"
#include "model/model.h"
#include "report/script.h"
#include "target/target.h"
#include "vfs/traits.h"
#include "work/emit_c.h"
#include "work/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct expecting {
	const struct as_seq *seq;
	size_t guilty; /* the operation whose answer was wrong; seq->n: none */
	struct as_model *model;
	struct as_outcome *answers;
	enum as_emit_how *how;
	struct as_buf *lines;
	size_t n, cap;
};

/* Errors that it allows, but for those of a full disk, which a fresh one is not. */
static unsigned errors_of(const struct as_allowed *allowed)
{
	unsigned n = 0;

	for (int err = 1; err < 192; err++)
		n += as_allowed_err(allowed, err) && err != ENOSPC && err != EDQUOT;
	return n;
}

static void expect_op(struct expecting *x, size_t i)
{
	const struct as_op *op = &x->seq->ops[i];
	const struct as_op_info *info = &as_op_table[op->code];
	struct as_allowed allowed = { 0 };
	unsigned errors;

	/* What needs a mount of our own is skipped by the program, and so by the model. */
	x->how[i] = AS_EMIT_IGNORED;
	if (info->needs == AS_NEEDS_MOUNT || as_model_lost(x->model))
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
	as_model_apply(x->model, op);
}

/* ---- The tree -------------------------------------------------------------------------------- */

/* As find(1) has it. */
static char type_letter(uint32_t mode)
{
	return S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : S_ISREG(mode) ? 'f' : S_ISFIFO(mode) ? 'p' :
	       S_ISSOCK(mode) ? 's' : S_ISCHR(mode) ? 'c' : 'b';
}

static int add_line(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct expecting *x = ctx;
	struct as_buf line = { 0 };
	struct as_stat st;

	(void)attrs;
	if (!strncmp(path, "/lost+found", 11) || !as_model_stat(x->model, path, true, &st))
		return 0;
	as_buf_addf(&line, "%c ", type_letter(st.mode));
	if (S_ISLNK(st.mode))
		as_buf_addf(&line, "- %u:%u ", st.uid, st.gid);
	else
		as_buf_addf(&line, "%o %u:%u ", st.mode & 07777, st.uid, st.gid);
	if (S_ISDIR(st.mode))
		as_buf_adds(&line, "- - ");
	else if (S_ISLNK(st.mode) || S_ISREG(st.mode))
		as_buf_addf(&line, "%u %llu ", (unsigned)st.nlink, (unsigned long long)st.size);
	else
		as_buf_addf(&line, "%u - ", (unsigned)st.nlink);
	as_buf_adds(&line, path);
	AS_ARRAY_ROOM(x->lines, x->n, x->cap);
	x->lines[x->n++] = line;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(as_buf_str(a), as_buf_str(b));
}

static int write_tree(struct expecting *x, const struct as_dir *folder, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	as_model_each_name(x->model, false, add_line, x);
	if (x->n)
		qsort(x->lines, x->n, sizeof(x->lines[0]), by_bytes);
	for (size_t i = 0; i < x->n; i++) {
		for (const char *s = as_buf_str(&x->lines[i]); *s; s++)
			as_buf_addc(&text, *s == '\n' ? '?' : *s);
		as_buf_addc(&text, '\n');
		as_buf_free(&x->lines[i]);
	}
	free(x->lines);
	rc = as_dir_write(folder, AS_SCRIPT_TREE, &text, err);
	as_buf_free(&text);
	return rc;
}

/* ---- Both ------------------------------------------------------------------------------------ */

static int write_program(const struct expecting *x, const struct as_dir *folder, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	as_emit_c_how(x->seq, x->answers, x->how, &text);
	rc = as_dir_write(folder, "repro.c", &text, err);
	as_buf_free(&text);
	return rc;
}

static int expect_all(struct expecting *x, const struct as_dir *folder, struct as_err *err)
{
	int rc;

	x->answers = as_xcalloc(x->seq->n + 1, sizeof(*x->answers));
	x->how = as_xcalloc(x->seq->n + 1, sizeof(*x->how));
	for (size_t i = 0; i < x->seq->n; i++)
		expect_op(x, i);
	rc = write_program(x, folder, err);
	if (!rc && !as_model_lost(x->model))
		rc = write_tree(x, folder, err);
	free(x->answers);
	free(x->how);
	return rc;
}

/* A reduced workload ends with the operation that fails. */
static size_t guilty_of(const struct as_stored *stored, const struct as_seq *seq)
{
	const struct as_finding *f = &stored->record.finding;

	if (f->kind != AS_FIND_OUTCOME || !seq->n)
		return seq->n;
	if (stored->reduced)
		return seq->n - 1;
	return f->op_index >= 0 && (size_t)f->op_index < seq->n ? (size_t)f->op_index : seq->n;
}

/* Calls that are made one after the other, without faults. */
static bool is_plain(const struct as_finding *f)
{
	return !f->options || (!strstr(f->options, "fault=") && !strstr(f->options, "scenario="));
}

int as_cli_expect(const struct as_dir *folder, const struct as_stored *stored, struct as_err *err)
{
	const struct as_finding *f = &stored->record.finding;
	const char *text = stored->reduced ? stored->reduced : stored->workload;
	struct as_target *target = NULL;
	struct expecting x = { 0 };
	struct as_seq *seq = NULL;
	struct as_traits traits;
	int rc;

	if (!is_plain(f) || !text || !*text)
		return 0;
	rc = as_parse_text("workload.txt", text, strlen(text), &seq, err);
	if (!rc)
		rc = as_target_open(f->target, &target, err);
	if (!rc) {
		as_run_traits(target, &traits);
		x.seq = seq;
		x.guilty = guilty_of(stored, seq);
		x.model = as_model_new(&traits);
		rc = expect_all(&x, folder, err);
		as_model_free(x.model);
	}
	as_target_free(target);
	as_seq_free(seq);
	return rc;
}
