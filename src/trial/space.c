/* SPDX-License-Identifier: GPL-2.0-or-later */
/* space: see space.h. */
#include "trial/space.h"

#include <errno.h>

uint32_t as_space_promised(const struct as_traits *traits)
{
	return traits->features & AS_FEAT_PROJECT ? 0 : traits->space;
}

/* root_bytes may be NULL. */
static bool ask(struct as_vfs *vfs, struct as_statfs *sfs, uint64_t *root_bytes)
{
	struct as_op op = as_op_make(AS_OP_STATFS), stat = as_op_make(AS_OP_STAT);
	struct as_outcome got = { 0 };

	op.path = stat.path = "/";
	as_vfs_exec(vfs, &op, &got);
	if (got.ret < 0)
		return false;
	*sfs = got.sfs;
	if (!root_bytes)
		return true;
	as_vfs_exec(vfs, &stat, &got);
	*root_bytes = got.st.size;
	return got.ret >= 0;
}

/* 0 or the errno. */
static int do_op(struct as_vfs *vfs, struct as_op op)
{
	struct as_outcome got = { 0 };

	as_vfs_exec(vfs, &op, &got);
	return got.ret < 0 ? got.err : 0;
}

/* What an operation wants at most, by the length that it names. */
static uint64_t bytes_wanted(const struct as_op *op)
{
	enum as_cost_bytes cost = as_op_table[op->code].cost.bytes;

	return cost == AS_COST_BYTES_NONE || cost == AS_COST_BYTES_GROWTH ? 0 : op->len;
}

/* Whether ENOSPC of this operation is judged. */
static bool needs_room(const struct as_model *model, const struct as_op *op)
{
	enum as_changes changes = as_op_table[op->code].changes;
	bool vague;

	return changes & AS_CHANGES_EITHER && !(changes & AS_CHANGES_XATTRS) &&
	       as_model_mounted(model) &&
	       as_space_promised(as_model_traits(model)) & AS_SPACE_ROOM &&
	       !as_model_has_limits(model, &vague);
}

bool as_space_has_room(struct as_vfs *vfs, const struct as_model *model, const struct as_op *op,
		       const struct as_outcome *got, struct as_buf *why)
{
	const struct as_watch *watch = vfs->watch;
	struct as_statfs sfs;
	uint64_t free_bytes;
	bool known;

	if (got->ret >= 0 || got->err != ENOSPC || !needs_room(model, op))
		return false;
	vfs->watch = NULL;
	known = ask(vfs, &sfs, NULL);
	vfs->watch = watch;
	if (!known)
		return false;
	free_bytes = sfs.blocks_free * sfs.block_bytes;
	if (sfs.blocks_free <= sfs.blocks / 2 || bytes_wanted(op) > free_bytes - free_bytes / 4 ||
	    (sfs.files && sfs.files_free <= sfs.files / 2))
		return false;
	as_buf_addf(why, "returned -1 ENOSPC, but %llu of %llu blocks are free",
		    (unsigned long long)sfs.blocks_free, (unsigned long long)sfs.blocks);
	if (sfs.files)
		as_buf_addf(why, ", and %llu of %llu inodes", (unsigned long long)sfs.files_free,
			    (unsigned long long)sfs.files);
	return true;
}

struct closing {
	struct as_vfs *vfs;
	int err;
};

static int close_slot(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	struct closing *c = ctx;
	int err = do_op(c->vfs, as_model_closing(slot));

	(void)ino;
	(void)flags;
	c->err = c->err ? c->err : err;
	return 0;
}

void as_space_begin(struct as_space_seen *space, struct as_vfs *vfs)
{
	*space = (struct as_space_seen){ 0 };
	space->fresh_known = ask(vfs, &space->fresh, &space->root_bytes);
}

int as_space_end(struct as_space_seen *space, struct as_vfs *vfs, const struct as_model *model)
{
	struct as_op leave = as_op_make(AS_OP_CHCWD);
	struct closing closing = { .vfs = vfs };
	uint64_t root_bytes;
	int err;

	as_model_each_open(model, close_slot, &closing);
	leave.path = "/";
	(void)do_op(vfs, leave); /* a working directory that was removed holds its inode */
	err = do_op(vfs, as_op_make(AS_OP_SYNC));
	space->ended_known = ask(vfs, &space->ended, &root_bytes);
	return closing.err ? closing.err : err;
}

/* Always false. */
static bool say(struct as_buf *why, const char *what, uint64_t got, uint64_t want, const char *when)
{
	as_buf_addf(why, "%llu free %s %s, there were %llu", (unsigned long long)got, what, when,
		    (unsigned long long)want);
	return false;
}

static int remove_entry(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	struct as_vfs_names *names = ctx;

	(void)ino;
	(void)type;
	return as_vfs_names_add(names, 0, name);
}

static bool remove_all(struct as_vfs *vfs)
{
	struct as_vfs_names names = { 0 };
	struct as_buf path = { 0 };
	bool ok = !as_vfs_tree(vfs)->list(vfs, "/", remove_entry, &names);

	for (size_t i = 0; ok && i < names.n; i++) {
		struct as_op op = as_op_make(AS_OP_REMOVE);
		struct as_outcome got = { 0 };

		as_buf_clear(&path);
		as_buf_addf(&path, "/%s", as_vfs_names_at(&names, i));
		op.path = as_buf_str(&path);
		as_vfs_exec(vfs, &op, &got);
		ok = got.ret >= 0;
	}
	as_buf_free(&path);
	as_vfs_names_free(&names);
	return ok;
}

/* ---- Files ---- */

#define PROBED 4 /* files that are punched, of each disk */
#define PUNCH_UNIT 65536u /* whole blocks, of whatever size */

struct files {
	struct as_vfs *vfs;
	const struct as_model *model;
	struct as_buf *why;
	unsigned left; /* files that may still be punched */
};

/* Makes all of a file one hole, in whole blocks: to zero a part of a shared one, xfs would allocate
 * in advance, and st_blocks counts that until it is written. False: it cannot. */
static bool punch(struct as_vfs *vfs, const char *path, uint64_t size)
{
	struct as_op open = as_op_make(AS_OP_OPEN), op = as_op_make(AS_OP_FALLOCATE);
	struct as_op sync = as_op_make(AS_OP_FSYNC);
	struct as_outcome opened = { 0 }, got = { .ret = -1 };

	open.path = path;
	open.flags = AS_O_RDWR;
	open.slot = op.fd = sync.fd = 0;
	op.flags = AS_FALLOC_PUNCH_HOLE | AS_FALLOC_KEEP_SIZE;
	op.off = 0;
	op.len = (size / PUNCH_UNIT + 1) * PUNCH_UNIT;
	as_vfs_exec(vfs, &open, &opened);
	if (opened.ret < 0)
		return false;
	as_vfs_exec(vfs, &op, &got);
	(void)do_op(vfs, sync);
	(void)do_op(vfs, as_model_closing(0));
	return got.ret >= 0;
}

static int too_much(struct files *x, const char *path, const struct as_stat *st, uint64_t most,
		    const char *when)
{
	if (st->blocks * 512 <= most)
		return 0;
	as_buf_addf(x->why, "%s has %llu bytes on the disk, its data can need %llu%s", path,
		    (unsigned long long)st->blocks * 512, (unsigned long long)most, when);
	return 1;
}

static int look_at_file(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct files *x = ctx;
	struct as_footprint most;
	struct as_stat st;

	if (!as_model_footprint(x->model, attrs->ino, &most) ||
	    as_vfs_tree(x->vfs)->stat(x->vfs, path, &st))
		return 0;
	if (too_much(x, path, &st, most.bytes, ""))
		return 1;
	if (!x->left || st.blocks * 512 <= most.empty_bytes || !punch(x->vfs, path, st.size) ||
	    as_vfs_tree(x->vfs)->stat(x->vfs, path, &st))
		return 0;
	x->left--;
	return too_much(x, path, &st, most.empty_bytes, " with all of it punched");
}

bool as_space_files(struct as_vfs *vfs, const struct as_model *model, bool spoil,
		    struct as_buf *why)
{
	struct files x = { .vfs = vfs, .model = model, .why = why };
	bool ok;

	if (spoil && as_model_traits(model)->features & AS_FEAT_FALLOC_PUNCH)
		x.left = PROBED;
	ok = !as_model_each(model, false, look_at_file, &x);
	as_vfs_tree_rest(vfs);
	return ok;
}

/* ---- The disk ---- */

static bool as_before(const struct as_space_seen *s, struct as_vfs *vfs, struct as_buf *why)
{
	struct as_statfs now;
	uint64_t root_bytes;

	if (!s->ended_known || !ask(vfs, &now, &root_bytes))
		return true;
	if (now.files_free != s->ended.files_free)
		return say(why, "inodes", now.files_free, s->ended.files_free,
			   "after another mount");
	if (now.blocks_free != s->ended.blocks_free)
		return say(why, "blocks", now.blocks_free, s->ended.blocks_free,
			   "after another mount");
	return true;
}

static bool as_fresh(const struct as_space_seen *s, struct as_vfs *vfs, struct as_buf *why)
{
	struct as_statfs now;
	uint64_t root_bytes;

	if (!s->ended_known || !remove_all(vfs))
		return true;
	(void)do_op(vfs, as_op_make(AS_OP_SYNC));
	if (!ask(vfs, &now, &root_bytes))
		return true;
	if (now.files_free < s->fresh.files_free)
		return say(why, "inodes", now.files_free, s->fresh.files_free,
			   "with everything removed");
	if (root_bytes <= s->root_bytes && now.blocks_free < s->fresh.blocks_free)
		return say(why, "blocks", now.blocks_free, s->fresh.blocks_free,
			   "with everything removed");
	return true;
}

bool as_space_agrees(const struct as_space_seen *s, struct as_vfs *vfs,
		     const struct as_model *model, struct as_buf *why)
{
	uint32_t promised = as_space_promised(as_model_traits(model));

	if (promised & AS_SPACE_REMOUNT && !as_before(s, vfs, why))
		return false;
	if (promised & AS_SPACE_FILES && !as_space_files(vfs, model, true, why))
		return false;
	return !(promised & AS_SPACE_FREED) || as_fresh(s, vfs, why);
}
