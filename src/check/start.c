/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start: see start.h. The parent's side: a child makes it (start_do.c), since the target may die of
 * it. The disk comes through a file without a name. The model is told the child's answers.
 */
#include "check/check_priv.h"
#include "check/start_priv.h"
#include "crew/ended.h"

#include "os/spawn.h"
#include "work/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The model ------------------------------------------------------------------------------- */

/* An operation that was refused has changed nothing. One that reads has answered with bytes, which
 * the child has judged. */
static bool follow(struct as_model *model, const struct as_op *op, const struct as_start_said *said,
		   size_t i, struct as_verdict *verdict)
{
	struct as_outcome got = { .ret = said->answer[i].ret,
				  .err = said->answer[i].err,
				  .done = said->answer[i].done };

	if (got.ret < 0 && !got.done)
		return true;
	if (as_op_table[op->code].changes == AS_CHANGES_NOTHING && op->code != AS_OP_MOUNT &&
	    op->code != AS_OP_UMOUNT)
		return !as_model_apply(model, op);
	return as_model_judge(model, op, &got, verdict);
}

static int tell_model(struct as_start *s, const struct as_start_args *args,
		      const struct as_start_said *said, struct as_err *err)
{
	struct as_verdict verdict = { 0 };
	struct as_seq *seq = NULL;
	int rc = as_parse_text("start", s->text, strlen(s->text), &seq, err);

	s->model = as_model_copy(args->fresh.model);
	for (size_t i = 0; !rc && i < seq->n; i++)
		if (!follow(s->model, &seq->ops[i], said, i, &verdict))
			rc = as_fail(err, AS_EIO,
				     "the model cannot follow operation %zu of start %s", i + 1,
				     s->name);
	as_seq_free(seq);
	as_verdict_free(&verdict);
	return rc;
}

/* ---- Which nodes are named ------------------------------------------------------------------- */

/* Nodes of a class are alike for a check. */
struct start_class {
	uint32_t type, children, hardlinks, size;
	uint32_t first, last; /* inodes */
};

#define CLASSES_MAX 16u

struct start_view {
	struct as_start *start;
	struct start_class class[CLASSES_MAX];
	unsigned n;
};

static uint32_t few(uint64_t n)
{
	return n < 2 ? (uint32_t)n : 2;
}

static int classify(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct start_view *view = ctx;
	struct as_start *s = view->start;
	struct start_class of = { .type = attrs->type,
				  .children = few(attrs->children),
				  .hardlinks = attrs->type == S_IFDIR ? 0 : few(attrs->hardlinks),
				  .first = attrs->ino,
				  .last = attrs->ino };
	struct as_stat st;
	unsigned i = 0;

	if (attrs->ino >= s->n_hidden) {
		s->hidden = as_xrealloc(s->hidden, attrs->ino + 1);
		memset(s->hidden + s->n_hidden, 0, attrs->ino + 1 - s->n_hidden);
		s->n_hidden = attrs->ino + 1;
	}
	if (!strcmp(path, "/"))
		return 0;
	s->nodes++;
	s->hidden[attrs->ino] = 1;
	if (attrs->type == S_IFREG && as_model_stat(s->model, path, true, &st))
		of.size = few((st.size + 4095) / 4096);
	while (i < view->n && memcmp(&view->class[i], &of, offsetof(struct start_class, first)))
		i++;
	if (i == CLASSES_MAX)
		return 0;
	if (i == view->n)
		view->class[view->n++] = of;
	view->class[i].last = attrs->ino;
	return 0;
}

static void choose_named(struct as_start *s)
{
	struct start_view view = { .start = s };

	(void)as_model_each(s->model, false, classify, &view);
	for (unsigned i = 0; i < view.n; i++)
		s->hidden[view.class[i].first] = s->hidden[view.class[i].last] = 0;
	s->named = s->nodes;
	for (uint32_t i = 0; i < s->n_hidden; i++)
		s->named -= s->hidden[i];
}

/* ---- Making it ------------------------------------------------------------------------------- */

static int take_over(struct as_start *s, const struct as_start_args *args,
		     const struct as_start_said *said, int fd, struct as_err *err)
{
	struct as_medium *disk = NULL;
	int rc = as_medium_new(as_medium_bd(args->fresh.disk)->size_bytes, &disk, err);

	s->aged = (struct as_run_fresh){ .disk = disk, .traits = args->fresh.traits };
	if (!rc)
		rc = as_medium_import(disk, fd, err);
	if (!rc)
		rc = tell_model(s, args, said, err);
	if (rc)
		return rc;
	s->aged.model = s->model;
	s->after_ns = said->after_ns;
	s->free_bytes = said->free_bytes;
	s->refused = said->refused;
	memcpy(s->calls, said->calls, sizeof(s->calls));
	choose_named(s);
	return 0;
}

static void blame(struct as_start *s, const struct as_start_said *said,
		  const struct as_ended *ended)
{
	const struct as_ended_say say = { .stack = &said->stack };
	struct as_buf why = { 0 };

	if (said->wrong)
		as_buf_adds(&why, said->why);
	else
		as_ended_words(ended, &say, &why);
	s->wrong = as_xstrdup(as_buf_str(&why));
	as_buf_free(&why);
}

static int run_child(struct as_start *s, struct as_start_maker *m, struct as_err *err)
{
	struct as_start_said *said = m->said;
	struct as_spawn_limits limits = { .deadline_ms = m->args->run->deadline_ms,
					  .alive = &said->alive };
	struct as_ended ended;
	int rc;

	m->fd = memfd_create("assay-start", MFD_CLOEXEC);
	if (m->fd < 0)
		return as_fail_errno(err, errno, "cannot make a file in memory");
	rc = as_spawn_fork_limited(as_start_child, m, &limits, &ended, err);
	if (!rc && said->ended && said->tool_rc) {
		*err = said->tool_err;
		rc = said->tool_rc;
	}
	if (!rc && !said->ended && !said->n_text)
		rc = as_fail_ended(err, "the process that makes the start", &ended, &said->stack);
	if (!rc) {
		s->text = as_xstrdup(said->text);
		s->n_ops = said->n_ops;
		if (said->wrong || !said->ended)
			blame(s, said, &ended);
		else
			rc = take_over(s, m->args, said, m->fd, err);
	}
	close(m->fd);
	return rc;
}

int as_start_make(const struct as_start_args *args, const char *name, struct as_start **out,
		  struct as_err *err)
{
	struct as_start *s = as_xcalloc(1, sizeof(*s));
	const struct as_start_row *row = as_start_row(name);
	struct as_start_maker m = { .args = args, .given = args->given };
	struct as_seq *given = NULL;
	int rc = 0;

	*out = s;
	s->name = as_xstrdup(name);
	s->ops = row ? row->ops : "";
	if (!m.given && !row)
		rc = as_parse_file(name, &given, err);
	if (rc)
		return as_fail_in(err, "--start");
	m.row = m.given ? NULL : row;
	m.given = m.given ? m.given : given;
	m.said = as_shared_alloc(sizeof(*m.said));
	rc = run_child(s, &m, err);
	as_shared_free(m.said, sizeof(*m.said));
	as_seq_free(given);
	return rc;
}

const char *as_start_told(const char *name)
{
	return !name ? "" : as_start_row(name) ? name : AS_INSIDE_GIVEN;
}

void as_start_free(struct as_start *s)
{
	if (!s)
		return;
	as_medium_free(s->aged.disk);
	as_model_free(s->model);
	free(s->hidden);
	free(s->name);
	free(s->text);
	free(s->wrong);
	free(s);
}
