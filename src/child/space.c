/* SPDX-License-Identifier: GPL-2.0-or-later */
/* space: see space.h. */
#include "child/space.h"

uint32_t as_space_promised(const struct as_traits *traits)
{
	return traits->features & AS_FEAT_PROJECT ? 0 : traits->space;
}

static bool ask(struct as_vfs *vfs, struct as_statfs *sfs, uint64_t *root_bytes)
{
	struct as_op op = as_op_make(AS_OP_STATFS), stat = as_op_make(AS_OP_STAT);
	struct as_outcome got = { 0 };

	op.path = stat.path = "/";
	as_vfs_exec(vfs, &op, &got);
	if (got.ret < 0)
		return false;
	*sfs = got.sfs;
	as_vfs_exec(vfs, &stat, &got);
	*root_bytes = got.st.size;
	return got.ret >= 0;
}

static void do_op(struct as_vfs *vfs, struct as_op op)
{
	struct as_outcome got = { 0 };

	as_vfs_exec(vfs, &op, &got);
}

static int close_slot(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	(void)ino;
	(void)flags;
	do_op(ctx, as_model_closing(slot));
	return 0;
}

void as_space_begin(struct as_space_seen *space, struct as_vfs *vfs)
{
	*space = (struct as_space_seen){ 0 };
	space->fresh_known = ask(vfs, &space->fresh, &space->root_bytes);
}

void as_space_end(struct as_space_seen *space, struct as_vfs *vfs, const struct as_model *model)
{
	struct as_op leave = as_op_make(AS_OP_CHCWD);
	uint64_t root_bytes;

	as_model_each_open(model, close_slot, vfs);
	leave.path = "/";
	do_op(vfs, leave); /* a working directory that was removed holds its inode */
	do_op(vfs, as_op_make(AS_OP_SYNC));
	space->ended_known = ask(vfs, &space->ended, &root_bytes);
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

bool as_space_agrees(const struct as_space_seen *s, struct as_vfs *vfs, uint32_t promised,
		     struct as_buf *why)
{
	struct as_statfs now;
	uint64_t root_bytes;

	if (!s->ended_known || !ask(vfs, &now, &root_bytes))
		return true;
	if (promised & AS_SPACE_REMOUNT && now.files_free != s->ended.files_free)
		return say(why, "inodes", now.files_free, s->ended.files_free,
			   "after another mount");
	if (promised & AS_SPACE_REMOUNT && now.blocks_free != s->ended.blocks_free)
		return say(why, "blocks", now.blocks_free, s->ended.blocks_free,
			   "after another mount");
	if (!(promised & AS_SPACE_FREED) || !remove_all(vfs))
		return true;
	do_op(vfs, as_op_make(AS_OP_SYNC));
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
