/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view: see view.h. A reference to the contents that a view began with is kept: as long as the
 * inode has the same ones, nobody has changed it.
 *
 * Whether a view is changed by what leaves it as it was (O_TRUNC of an empty file, an ftruncate to
 * the size that it has) is not said. It is touched then, and it shows if another descriptor has
 * changed the file when the view becomes the file's: the model has lost track. */
#include "model/view.h"

#include "model/stamp.h"

static bool has_views(const struct as_model *m)
{
	return m->traits->quirks & AS_QUIRK_OWN_VIEWS;
}

static struct as_runs *get(struct as_runs *runs)
{
	if (runs)
		runs->ref++;
	return runs;
}

static void put(struct as_runs *runs)
{
	if (runs)
		as_runs_put(runs);
}

/* Takes over the caller's reference. */
static void set_content(struct as_model *m, uint32_t ino, struct as_runs *runs, uint64_t size)
{
	struct as_ino_pair before;
	struct as_inode *inode = as_node_edit(m, ino, &before);

	put(inode->reg.runs);
	inode->reg.runs = runs;
	inode->reg.size = size;
	as_node_finish(m, inode, &before);
}

/* A digest of a view that was changed. */
static uint64_t view_label(const struct as_file *file)
{
	uint64_t label = as_mix64(file->view_size + 1);

	for (uint32_t i = 0; file->view && i < file->view->n; i++) {
		const struct as_data_run *run = &file->view->run[i];

		label = as_mix64(label + run->start);
		label = as_mix64(label + run->len);
		label = as_mix64(label + run->pattern + run->from * 31);
	}
	return label;
}

#define LABEL_LEN 0x9e3779b97f4a7c15u
#define LABEL_TOUCHED 0xc2b2ae3d27d4eb4fu

uint64_t as_file_label(const struct as_file *file)
{
	uint64_t more = ((uint64_t)file->lock << 60) + file->len * LABEL_LEN + file->attached;

	if (file->changed)
		more += view_label(file);
	else if (file->touched)
		more += LABEL_TOUCHED;
	return as_mix64(as_mix64(as_mix64((uint64_t)file->slot + 1) + (uint64_t)file->flags) +
			(uint64_t)file->off + more);
}

/* What the descriptor has is part of the inode's label. */
static void relabel(struct as_model *m, const struct as_file *file, bool add)
{
	struct as_ino_pair before;
	struct as_inode *inode = as_node_edit(m, file->ino, &before);

	inode->label += add ? as_file_label(file) : -as_file_label(file);
	as_node_finish(m, inode, &before);
}

/* Until finish(). */
static struct as_file *edit(struct as_model *m, int32_t slot)
{
	relabel(m, as_file_at(m, slot), false);
	return as_vec_edit(&m->files, (uint32_t)slot, as_file_dup, as_file_put);
}

static void finish(struct as_model *m, const struct as_file *file)
{
	relabel(m, file, true);
}

/* The view begins anew with what the inode has. */
static void begin(struct as_model *m, struct as_file *file)
{
	const struct as_inode *inode = inode_at(m, file->ino);

	put(file->view);
	put(file->base);
	file->view = get(inode->reg.runs);
	file->base = get(inode->reg.runs);
	file->view_size = file->base_size = inode->reg.size;
	file->changed = file->touched = false;
}

/* What was written through it becomes the file's. Whether its mtime is that of the write or of this
 * moment is not said, so a utimens between them may be lost. */
static void publish(struct as_model *m, int32_t slot)
{
	struct as_file *file = as_file_at(m, slot);

	if (!file || !file->viewing)
		return;
	if (file->changed || file->touched) {
		as_node_forget_times(m, file->ino, false, true);
		as_stamp(m, file->ino, AS_EVENT_TOUCHED);
	}
	if (file->changed)
		set_content(m, file->ino, get(file->view), file->view_size);
	file = edit(m, slot);
	begin(m, file);
	finish(m, file);
}

/* Everything that was written becomes the files'. A remount is a sync to a library with views. */
static bool syncs_all(const struct as_op *op)
{
	return as_op_table[op->code].persists == AS_PERSISTS_ALL || op->code == AS_OP_REMOUNT;
}

bool as_model_view_in_doubt(const struct as_model *model, const struct as_op *op)
{
	/* A descriptor may have O_SYNC. */
	return has_views(model) && (op->fd != AS_SLOT_NONE || syncs_all(op));
}

static bool is_stale(const struct as_model *m, const struct as_file *file)
{
	const struct as_inode *inode = inode_at(m, file->ino);

	return inode->reg.runs != file->base || inode->reg.size != file->base_size;
}

void as_view_open(struct as_model *m, int32_t slot, bool truncated)
{
	struct as_file *file;

	if (!has_views(m) || !is_reg(inode_at(m, as_file_at(m, slot)->ino)))
		return;
	file = edit(m, slot);
	file->viewing = true;
	begin(m, file);
	if (truncated) {
		put(file->view);
		file->view = NULL;
		file->view_size = 0;
		file->changed = file->base_size;
		file->touched = true;
	}
	finish(m, file);
}

void as_view_close(struct as_model *m, int32_t slot)
{
	if (has_views(m))
		publish(m, slot);
}

/* ---- Doubts ---------------------------------------------------------------------------------- */

struct view_pair {
	const struct as_model *m;
	const struct as_file *file;
	bool found;
};

static int find_other(void *ctx, uint32_t slot, void *elem)
{
	struct view_pair *pair = ctx;
	const struct as_file *file = elem;

	(void)slot;
	pair->found |= file != pair->file && file->ino == pair->file->ino &&
		       (file->changed || file->touched);
	return 0;
}

/* It may or may not replace what another descriptor has made of the file. */
static bool is_touched_only(const struct as_model *m, const struct as_file *file)
{
	return file->viewing && file->touched && !file->changed && is_stale(m, file);
}

static int find_pair(void *ctx, uint32_t slot, void *elem)
{
	struct view_pair *pair = ctx;

	(void)slot;
	pair->file = elem;
	pair->found |= is_touched_only(pair->m, pair->file);
	if (pair->file->changed)
		(void)as_vec_each(&pair->m->files, find_other, pair);
	return pair->found;
}

void as_view_doubt(struct as_model *m, const struct as_op *op)
{
	const struct as_file *file = as_file_at(m, op->fd);
	struct view_pair pair = { .m = m };

	if (!has_views(m) || !m->mounted)
		return;
	if (op->fd2 != AS_SLOT_NONE && file && as_file_at(m, op->fd2))
		m->lost = true;
	if (file && file->viewing && !file->changed && is_stale(m, file) &&
	    (op->code != AS_OP_CLOSE || file->touched))
		m->lost = true;
	/* Whether it shows the file or a view is not said. */
	if (file && file->flags & AS_O_PATH && op->code != AS_OP_CLOSE)
		m->lost = true;
	if (as_op_maps(op->code) || op->code == AS_OP_MMAP || op->code == AS_OP_MMAP_WRITE)
		m->lost = true;
	if (syncs_all(op))
		m->lost |= as_vec_each(&m->files, find_pair, &pair) && pair.found;
}

/* ---- Operations ------------------------------------------------------------------------------ */

void as_view_enter(struct as_rule_step *s, struct as_view_swap *swap)
{
	const struct as_file *file = has_views(s->m) ? as_file_at(s->m, s->op->fd) : NULL;
	const struct as_inode *inode;

	*swap = (struct as_view_swap){ .slot = s->op->fd };
	if (!file || !file->viewing || s->op->code == AS_OP_CLOSE || !s->m->mounted)
		return;
	inode = inode_at(s->m, file->ino);
	swap->swapped = true;
	swap->ino = file->ino;
	swap->runs = get(inode->reg.runs);
	swap->size = inode->reg.size;
	swap->seen = get(file->view);
	swap->seen_size = file->view_size;
	set_content(s->m, file->ino, get(file->view), file->view_size);
}

static bool is_done(const struct as_rule_step *s)
{
	return s->applying || (s->got && s->got->ret >= 0);
}

static int publish_one(void *ctx, uint32_t slot, void *elem)
{
	const struct as_file *file = elem;

	if (!file->viewing || (!file->changed && !file->touched))
		return 0;
	*(int32_t *)ctx = (int32_t)slot;
	return 1;
}

static void publish_all(struct as_model *m)
{
	int32_t slot;

	while (as_vec_each(&m->files, publish_one, &slot))
		publish(m, slot);
}

/* O_SYNC and O_DSYNC are said of what a call has written. */
static bool syncs(const struct as_op *op, const struct as_file *file, bool changed)
{
	return as_op_table[op->code].persists == AS_PERSISTS_FILE ||
	       as_op_table[op->code].persists == AS_PERSISTS_DATA || as_op_writes_then_syncs(op) ||
	       (changed && file->flags & (AS_O_SYNC | AS_O_DSYNC) && op->code != AS_OP_FTRUNCATE);
}

static void leave_swapped(struct as_rule_step *s, struct as_view_swap *swap)
{
	const struct as_inode *inode = inode_at(s->m, swap->ino);
	bool changed = inode->reg.runs != swap->seen || inode->reg.size != swap->seen_size;
	struct as_file *file = edit(s->m, swap->slot);

	if (changed) {
		put(file->view);
		file->view = get(inode->reg.runs);
		file->view_size = inode->reg.size;
		file->changed = true;
	}
	file->touched |= s->op->code == AS_OP_FTRUNCATE;
	finish(s->m, file);
	set_content(s->m, swap->ino, swap->runs, swap->size);
	put(swap->seen);
	if (is_done(s) && syncs(s->op, file, changed))
		publish(s->m, swap->slot);
	/* O_SYNC is said of writes. */
	if (s->op->code == AS_OP_FTRUNCATE && changed && file->flags & (AS_O_SYNC | AS_O_DSYNC))
		s->m->lost = true;
}

void as_view_leave(struct as_rule_step *s, struct as_view_swap *swap)
{
	if (swap->swapped)
		leave_swapped(s, swap);
	if (has_views(s->m) && is_done(s) && syncs_all(s->op))
		publish_all(s->m);
}
