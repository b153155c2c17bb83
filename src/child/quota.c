/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota: see quota.h. */
#include "child/quota.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

struct owner {
	int64_t type; /* AS_QUOTA_* */
	uint32_t id;
	uint64_t inodes, bytes;
};

struct counting {
	struct as_vfs *vfs;
	const struct as_model *model;
	struct owner *owners;
	size_t n, cap;
};

static struct owner *owner_of(struct counting *x, int64_t type, uint32_t id)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->owners[i].type == type && x->owners[i].id == id)
			return &x->owners[i];
	AS_ARRAY_ROOM(x->owners, x->n, x->cap);
	x->owners[x->n] = (struct owner){ .type = type, .id = id };
	return &x->owners[x->n++];
}

static void charge(struct counting *x, int64_t type, uint32_t id, const struct as_stat *st)
{
	struct owner *owner = owner_of(x, type, id);

	owner->inodes++;
	owner->bytes += st->blocks * 512;
}

/* Non-zero: the tree cannot be read, and nothing is said. */
static int count_one(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct counting *x = ctx;
	struct as_stat st;

	if (as_vfs_tree(x->vfs)->stat(x->vfs, path, &st))
		return 1;
	charge(x, AS_QUOTA_USR, st.uid, &st);
	charge(x, AS_QUOTA_GRP, st.gid, &st);
	if (as_model_traits(x->model)->features & AS_FEAT_PROJECT)
		charge(x, AS_QUOTA_PRJ, as_model_project(x->model, attrs->ino), &st);
	return 0;
}

static bool owner_agrees(struct counting *x, const struct owner *owner,
			 const struct as_traits *traits, struct as_buf *why)
{
	struct as_op op = as_op_make(AS_OP_QUOTA);
	struct as_outcome got = { 0 };
	const char *what = as_quota_word(owner->type);
	uint64_t inodes = owner->inodes + (owner->id ? 0 : traits->quota_own);

	op.flags = owner->type;
	op.uid = owner->id;
	as_vfs_exec(x->vfs, &op, &got);
	if (got.ret < 0 && got.err == ENOENT && !inodes)
		return true;
	if (got.ret < 0)
		as_buf_addf(why, "quota of %s %u: %s", what, owner->id,
			    as_outcome_err_name(got.err));
	else if ((uint64_t)got.ret != inodes)
		as_buf_addf(why, "quota of %s %u: %lld inodes, the tree has %llu", what, owner->id,
			    (long long)got.ret, (unsigned long long)inodes);
	else if (traits->quota & AS_QUOTA_SPACE && got.space_bytes != owner->bytes)
		as_buf_addf(why, "quota of %s %u: %llu bytes, the tree has %llu", what, owner->id,
			    (unsigned long long)got.space_bytes, (unsigned long long)owner->bytes);
	return !why->len;
}

bool as_quota_agrees(struct as_vfs *vfs, const struct as_model *model, struct as_buf *why)
{
	const struct as_traits *traits = as_model_traits(model);
	struct counting x = { .vfs = vfs, .model = model };
	bool ok = true;

	owner_of(&x, AS_QUOTA_USR, 0);
	owner_of(&x, AS_QUOTA_GRP, 0);
	if (!as_model_each(model, false, count_one, &x)) {
		as_vfs_tree_rest(vfs);
		for (size_t i = 0; i < x.n && ok; i++)
			ok = owner_agrees(&x, &x.owners[i], traits, why);
	}
	free(x.owners);
	return ok;
}
