/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apply: the model's public face: making, copying, judging. The rules of the operations themselves
 * are in op_*.c; model/rules/rule.h says how they are written.
 */
#include "model/acl.h"
#include "model/footprint.h"
#include "model/limits.h"
#include "model/locks.h"
#include "model/mark.h"
#include "model/persist.h"
#include "model/rules/rule.h"
#include "model/view.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const step_fn step_table[AS_OP_COUNT] = {
#define OP(id, name, ...) [AS_OP_##id] = as_rule_##name,
#include "work/op.def"
#undef OP
};

struct as_model *as_model_new(const struct as_traits *traits)
{
	struct as_model *m = as_xcalloc(1, sizeof(*m));
	struct as_inode *root;

	m->traits = traits;
	m->next_ino = MODEL_ROOT;
	root = as_node_new(m, S_IFDIR | 0755);
	root->cwd = 1;
	m->cwd = MODEL_ROOT;
	m->mounted = m->synced = true;
	return m;
}

struct as_model *as_model_copy(const struct as_model *model)
{
	struct as_model *copy = as_xmalloc(sizeof(*copy));

	*copy = *model;
	copy->stamps = NULL;
	as_vec_copy(&copy->inodes);
	as_vec_copy(&copy->files);
	if (copy->multi)
		copy->multi->ref++;
	if (copy->locks)
		copy->locks->ref++;
	if (copy->limits)
		copy->limits->ref++;
	(void)as_handles_get(copy->handles);
	return copy;
}

void as_model_free(struct as_model *model)
{
	if (!model)
		return;
	as_vec_free(&model->inodes, as_inode_put);
	as_vec_free(&model->files, as_file_put);
	if (model->multi && --model->multi->ref == 0)
		free(model->multi);
	as_locks_put(model->locks);
	as_limits_put(model->limits);
	as_handles_put(model->handles);
	as_stamps_free(model->stamps);
	free(model);
}

/* ---- The vocabulary of rules ---- */

void as_rule_allow(struct as_rule_step *s, int err)
{
	s->allowed.may[err / 64] |= (uint64_t)1 << (err % 64);
}

void as_rule_refuse(struct as_rule_step *s, int err)
{
	s->allowed.must = err;
	s->allowed.ok = false;
	as_rule_allow(s, err);
	if (err == ENAMETOOLONG && (s->m->traits->quirks & AS_QUIRK_LONG_NAME_ENOENT))
		as_rule_allow(s, ENOENT);
}

void as_rule_allow_full(struct as_rule_step *s)
{
	const struct as_traits *traits = s->m->traits;

	if (!traits->may_fill)
		return;
	as_rule_allow(s, ENOSPC);
	/* Who else set limits, where we did not mount, is not known. */
	if (!(traits->features & AS_FEAT_QUOTA) || as_rule_may_be_over(s))
		as_rule_allow(s, EDQUOT);
}

void as_rule_allow_wide(struct as_rule_step *s, bool wide)
{
	if (!wide || !as_rule_has(s, AS_FEAT_LIBRARY))
		return;
	as_rule_allow(s, EINVAL);
	as_rule_allow(s, EOVERFLOW);
}

bool as_rule_read_only(struct as_rule_step *s)
{
	if (!s->m->readonly)
		return false;
	as_rule_refuse(s, EROFS);
	s->barred = s->m->traits->features & AS_FEAT_LIBRARY;
	return !s->barred;
}

bool as_rule_accept(struct as_rule_step *s, int64_t ret)
{
	if (s->barred) {
		as_rule_refuse(s, EROFS);
		return false;
	}
	s->allowed.ok = true;
	s->allowed.must = 0;
	s->allowed.ret = ret;
	if (!s->got)
		return s->applying;
	return s->got->ret >= 0 && (ret == -1 || s->got->ret == ret);
}

void as_rule_wrong(struct as_rule_step *s, const char *fmt, ...)
{
	va_list ap;

	if (s->said_wrong || !s->verdict)
		return;
	s->said_wrong = true;
	va_start(ap, fmt);
	as_buf_vaddf(&s->verdict->why, fmt, ap);
	va_end(ap);
}

void as_rule_changes(struct as_rule_step *s)
{
	s->m->synced = false;
}

void as_model_use(struct as_model *m, uint32_t ino)
{
	struct as_inode *inode = as_vec_edit(&m->inodes, ino, as_inode_dup, as_inode_put);

	inode->used = m->clock;
}

uint64_t as_rule_composite_limit(const struct as_rule_step *s)
{
	if (s->one_call)
		return 1;
	return s->got && s->got->ret < 0 ? s->got->done : UINT64_MAX;
}

void as_rule_allow_removed_list(struct as_rule_step *s)
{
	as_rule_allow(s, ENOENT);
}

bool as_rule_has(const struct as_rule_step *s, uint64_t feature)
{
	const struct as_traits *traits = s->m->traits;

	if ((traits->features & feature) == feature)
		return true;
	if (!as_traits_may(traits, feature))
		return false;
	/* Some drivers of the type can and others cannot: the answer tells which driver this is. */
	return !s->got || s->got->ret >= 0 || (s->got->err != EOPNOTSUPP && s->got->err != EINVAL);
}

struct as_file *as_rule_fd_file(struct as_rule_step *s, int32_t slot, bool path_ok)
{
	struct as_file *file = as_file_at(s->m, slot);

	/* open(2), O_PATH: "other file operations ... fail with the error EBADF". */
	if (!file || (!path_ok && (file->flags & AS_O_PATH))) {
		as_rule_refuse(s, EBADF);
		return NULL;
	}
	return file;
}

bool as_rule_may_create(const struct as_rule_step *s, uint32_t dir)
{
	return !(as_inode_flags(inode_at(s->m, dir)) & AS_FS_IMMUTABLE_FL);
}

bool as_model_may_delete(const struct as_model *m, uint32_t dir, uint32_t ino)
{
	return !as_flags_bar(as_inode_flags(inode_at(m, dir)) | as_inode_flags(inode_at(m, ino)));
}

int as_rule_can_create(struct as_rule_step *s, struct as_walk *w, bool want_dir)
{
	if (w->err)
		return w->err;
	/* namei.c, filename_create(): "." , ".." and "/" exist by definition. */
	if (w->type != LAST_NAME)
		return EEXIST;
	as_walk_last(s->m, w);
	if (w->err)
		return w->err;
	if (w->ino)
		return EEXIST;
	/* "you had / on the end, you've been asking for (non-existent) directory" */
	if (w->slash && !want_dir)
		return ENOENT;
	/* "if (unlikely(err2))": what is there already is told first. */
	if (as_rule_read_only(s))
		return EROFS;
	/* may_create(): "Nobody gets write access to an immutable file." */
	return as_rule_may_create(s, w->parent) ? 0 : EPERM;
}

/* xfs_rename_alloc_whiteout() asks no default list; others make a whiteout as any other node. */
static bool inherits_acls(const struct as_rule_step *s)
{
	bool without = s->m->traits->quirks & AS_QUIRK_WHITEOUT_NO_ACL;

	return as_model_acls(s->m) && !(s->op->code == AS_OP_RENAME2 && without);
}

struct as_inode *as_rule_make_node(struct as_rule_step *s, const struct as_walk *w, uint32_t mode)
{
	const struct as_inode *dir = inode_at(s->m, w->parent);
	bool inherit = dir->mode & S_ISGID;
	uint32_t gid = inherit ? dir->gid : 0;
	int64_t handed_on = as_inode_flags(dir) & s->m->traits->flags_handed_on;
	struct as_acl_new acls = { 0 };
	struct as_inode *inode;

	if (s->m->traits->quirks & AS_QUIRK_CREATE_0777)
		mode &= S_IFMT | 0777;
	if (inherits_acls(s))
		as_acl_inherit(dir, &mode, &acls);
	inode = as_node_new(s->m, mode);
	as_stamp(s->m, inode->ino, AS_EVENT_MADE);
	/* inode_init_owner(): a set-group-id directory hands on its group, and the bit to
	 * directories (mkdir(2), open(2)). */
	inode->gid = gid;
	if (inherit && S_ISDIR(mode))
		inode->mode |= S_ISGID;
	if (handed_on && (S_ISREG(mode) || S_ISDIR(mode)))
		as_node_set_flags(s->m, inode->ino, handed_on);
	if (as_inode_inherits(inode_at(s->m, w->parent))) {
		as_node_set_project(s->m, inode->ino, inode_at(s->m, w->parent)->project);
		if (S_ISDIR(mode))
			as_node_set_inherits(s->m, inode->ino, true);
		inode = inode_at(s->m, inode->ino);
	}
	/* xfs_generic_create() sets them in transactions of their own: as_model_goes_by_steps(). */
	if (s->one_call && as_op_table[s->op->code].calls == AS_CALLS_ONE)
		return inode_at(s->m, inode->ino);
	if (acls.access.n && s->bare < 1)
		as_node_set_acl(s->m, inode->ino, false, &acls.access);
	if (acls.deflt.n && s->bare < 2)
		as_node_set_acl(s->m, inode->ino, true, &acls.deflt);
	return inode_at(s->m, inode->ino);
}

/* ---- Judging ---- */

/* A library may say that it is read-only before it looks at anything else. */
static void allow_early_refusal(struct as_rule_step *s)
{
	const struct as_op *op = s->op;

	if (as_op_table[op->code].changes == AS_CHANGES_NOTHING)
		return;
	if (op->code == AS_OP_OPEN &&
	    !(op->flags & (AS_O_ACCMODE | AS_O_TRUNC | AS_O_EXCL | AS_O_TMPFILE_ONLY)))
		return;
	as_rule_allow(s, EROFS);
}

static void step_run(struct as_rule_step *s)
{
	struct as_view_swap swap;

	s->m->clock++;
	s->allowed.ret = -1;
	if (s->m->traits->quirks & AS_QUIRK_OWN_VIEWS)
		as_view_enter(s, &swap);
	if (s->m->readonly && s->m->traits->features & AS_FEAT_LIBRARY)
		allow_early_refusal(s);
	if (s->m->mounted)
		step_table[s->op->code](s);
	else
		as_rule_unmounted(s);
	if (s->m->traits->quirks & AS_QUIRK_OWN_VIEWS)
		as_view_leave(s, &swap);
}

static void print_allowed(const struct as_allowed *allowed, struct as_buf *out)
{
	const char *sep = "";

	if (allowed->ok) {
		if (allowed->ret >= 0)
			as_buf_addf(out, "%lld", (long long)allowed->ret);
		else
			as_buf_adds(out, "success");
		sep = " or ";
	}
	if (allowed->must) {
		as_buf_addf(out, "%s-1 %s", sep, as_errno_name(allowed->must));
		sep = " or ";
	}
	/* A message does not mention that the disk may be full. */
	for (int err = 1; err < 192; err++)
		if (as_allowed_err(allowed, err) && err != allowed->must && err != ENOSPC &&
		    err != EDQUOT) {
			as_buf_addf(out, "%s-1 %s", sep, as_errno_name(err));
			sep = " or ";
		}
}

/* Answers of the executor's own, and all answers once the model has lost track. */
static bool unjudged(const struct as_model *m, const struct as_outcome *got)
{
	return m->lost ||
	       (got->ret < 0 && (got->err == AS_ERR_UNSUPPORTED || got->err == AS_ERR_LIMIT));
}

/* Whether an entry of the directory belongs to a user other than root. The executor is root. */
static bool has_foreign(const struct as_model *m, const struct as_entry *entry)
{
	return entry && (inode_at(m, entry->ino)->uid || has_foreign(m, entry->left) ||
			 has_foreign(m, entry->right));
}

static int find_sticky(void *ctx, const char *path, const struct as_attrs *attrs)
{
	const struct as_model *m = ctx;
	const struct as_inode *inode = inode_at(m, attrs->ino);

	(void)path;
	return is_dir(inode) && inode->mode & S_ISVTX && inode->mode & (S_IWGRP | S_IWOTH) &&
	       has_foreign(m, inode->dir.entries);
}

/*
 * A policy of the machine, not of the file system: with fs.protected_symlinks, _regular or _fifos
 * set (Documentation/admin-guide/sysctl/fs.rst) links are not followed, and what is there is
 * not opened with O_CREAT, in a sticky directory that others may write to, when it is not ours.
 */
static bool protected_by_kernel(const struct as_model *m, const struct as_outcome *got)
{
	return got->ret < 0 && got->err == EACCES && !(m->traits->features & AS_FEAT_LIBRARY) &&
	       as_model_each(m, false, find_sticky, (void *)m);
}

bool as_model_judge(struct as_model *model, const struct as_op *op, const struct as_outcome *got,
		    struct as_verdict *verdict)
{
	struct as_rule_step s = { .m = model, .op = op, .got = got, .verdict = verdict };
	const struct as_allowed *allowed = &s.allowed;

	as_buf_clear(&verdict->why);
	verdict->agrees = verdict->unjudged = false;
	as_view_doubt(model, op);
	as_footprint_answer(model, op, got);
	if (unjudged(model, got)) {
		/* The descriptor that was in the slot of an open was closed, whatever the open
		 * answered. */
		if (op->code == AS_OP_OPEN && !model->lost)
			as_file_close(model, op->slot);
		/* To find that it cannot do this, the executor may have opened and closed files. */
		as_locks_doubt(model);
		verdict->agrees = verdict->unjudged = true;
		return true;
	}
	step_run(&s);
	verdict->allowed = s.allowed;
	if (s.said_wrong) {
		verdict->kind = AS_FIND_DATA;
		return false;
	}
	if (got->ret >= 0)
		verdict->agrees = allowed->ok && (allowed->ret == -1 || allowed->ret == got->ret);
	else
		verdict->agrees =
			as_allowed_err(allowed, got->err) || protected_by_kernel(model, got);
	if (verdict->agrees)
		return true;
	verdict->kind = AS_FIND_OUTCOME;
	as_buf_adds(&verdict->why, "returned ");
	if (got->ret >= 0)
		as_buf_addf(&verdict->why, "%lld", (long long)got->ret);
	else
		as_buf_addf(&verdict->why, "-1 %s", as_outcome_err_name(got->err));
	as_buf_adds(&verdict->why, ", model says ");
	print_allowed(allowed, &verdict->why);
	return false;
}

int as_model_apply(struct as_model *model, const struct as_op *op)
{
	return as_model_hand_over(model, op, NULL);
}

int as_model_hand_over(struct as_model *model, const struct as_op *op, struct as_handed *told)
{
	struct as_rule_step s = { .m = model, .op = op, .applying = true, .told = told };

	step_run(&s);
	return s.allowed.must;
}

bool as_model_goes_by_steps(const struct as_model *after, const struct as_op *op)
{
	return as_op_table[op->code].calls == AS_CALLS_MANY || after->has_acls;
}

void as_model_substep(struct as_model *model, const struct as_op *op)
{
	struct as_rule_step s = { .m = model, .op = op, .applying = true, .one_call = true };

	step_run(&s);
}

bool as_model_substep_bare(struct as_model *model, const struct as_op *op, unsigned bare)
{
	struct as_rule_step s = {
		.m = model, .op = op, .applying = true, .one_call = true, .bare = bare
	};

	if (!model->has_acls || as_op_table[op->code].calls != AS_CALLS_MANY)
		return false;
	step_run(&s);
	return true;
}

void as_model_allowed(const struct as_model *model, const struct as_op *op,
		      struct as_allowed *allowed)
{
	/* In query mode no rule changes the state, so the cast is safe; the clock is put back. */
	struct as_model *m = (struct as_model *)model;
	struct as_rule_step s = { .m = m, .op = op };

	step_run(&s);
	m->clock--;
	*allowed = s.allowed;
}

void as_verdict_free(struct as_verdict *verdict)
{
	as_buf_free(&verdict->why);
}

bool as_model_mounted(const struct as_model *model)
{
	return model->mounted;
}

bool as_model_read_only(const struct as_model *model)
{
	return model->readonly;
}

bool as_model_lost(const struct as_model *model)
{
	return model->lost;
}

const struct as_traits *as_model_traits(const struct as_model *model)
{
	return model->traits;
}

size_t as_model_inodes(const struct as_model *model)
{
	return model->n_inodes;
}
