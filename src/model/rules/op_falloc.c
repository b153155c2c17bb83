/* SPDX-License-Identifier: GPL-2.0-or-later */
/* op_falloc: allocating, punching and shifting ranges. Order of errors as in Linux's fs/open.c. */
#include "model/footprint.h"
#include "model/mark.h"
#include "model/rules/rule.h"

enum {
	KEEP = AS_FALLOC_KEEP_SIZE,
	PUNCH = AS_FALLOC_PUNCH_HOLE,
	COLLAPSE = AS_FALLOC_COLLAPSE_RANGE,
	ZERO = AS_FALLOC_ZERO_RANGE,
	INSERT = AS_FALLOC_INSERT_RANGE,
	UNSHARE = AS_FALLOC_UNSHARE_RANGE,
};

/* fallocate(2), EINVAL and EOPNOTSUPP: which flags go together. Linux answered EINVAL for some
 * mixtures up to 6.11 and EOPNOTSUPP since: both are allowed. */
static bool falloc_flags_ok(struct as_rule_step *s, int64_t mode)
{
	int64_t kind = mode & ~KEEP;
	bool ok = kind == 0 || (kind == PUNCH && (mode & KEEP)) || kind == ZERO ||
		  kind == UNSHARE || ((kind == COLLAPSE || kind == INSERT) && !(mode & KEEP));

	if (!ok) {
		as_rule_refuse(s, EOPNOTSUPP);
		as_rule_allow(s, EINVAL);
	}
	return ok;
}

/* 0: nobody has it. */
static uint64_t falloc_feature(int64_t mode)
{
	switch (mode & ~KEEP) {
	case 0:
		return mode & KEEP ? AS_FEAT_FALLOC_KEEP : AS_FEAT_FALLOC_ALLOC;
	case PUNCH:
		return AS_FEAT_FALLOC_PUNCH;
	case ZERO:
		return AS_FEAT_FALLOC_ZERO;
	case COLLAPSE:
		return AS_FEAT_FALLOC_COLLAPSE;
	case INSERT:
		return AS_FEAT_FALLOC_INSERT;
	default:
		return 0;
	}
}

static bool falloc_supported(const struct as_rule_step *s, int64_t mode)
{
	uint64_t feature = falloc_feature(mode);

	return feature && as_rule_has(s, feature);
}

static bool falloc_maybe(const struct as_rule_step *s, int64_t mode)
{
	return s->m->traits->maybe & falloc_feature(mode);
}

/* fallocate(2), COLLAPSE and INSERT: whole blocks only, and inside the file. */
static int range_error(const struct as_rule_step *s, const struct as_inode *inode, int64_t kind)
{
	uint64_t off = (uint64_t)s->op->off, len = s->op->len, block = s->m->traits->block_bytes;

	if (kind != COLLAPSE && kind != INSERT)
		return 0;
	if (block && (off % block || len % block))
		return EINVAL;
	if (kind == COLLAPSE)
		return off + len >= inode->reg.size ? EINVAL : 0;
	if (off >= inode->reg.size)
		return EINVAL;
	return inode->reg.size + len > s->m->traits->size_max ? EFBIG : 0;
}

static void falloc_now(struct as_rule_step *s, uint32_t ino, int64_t mode)
{
	uint64_t off = (uint64_t)s->op->off, len = s->op->len;
	struct as_ino_pair before;
	struct as_inode *inode = as_node_edit(s->m, ino, &before);

	switch (mode & ~KEEP) {
	case PUNCH:
		as_content_punch(inode, off, len);
		as_footprint_edges(s->m, inode, 2);
		break;
	case ZERO:
		as_content_punch(inode, off, len);
		as_footprint_keep(s->m, inode, len);
		break;
	case COLLAPSE:
		as_content_collapse(inode, off, len);
		break;
	case INSERT:
		as_content_insert(inode, off, len);
		break;
	default:
		as_footprint_keep(s->m, inode, len);
		break;
	}
	if (((mode & ~KEEP) == 0 || (mode & ~KEEP) == ZERO) && !(mode & KEEP) &&
	    off + len > inode->reg.size)
		inode->reg.size = off + len;
	as_rule_drop_setid(s, inode);
	as_node_finish(s->m, inode, &before);
	as_node_forget_times(s->m, ino, false, true);
	as_stamp(s->m, ino, AS_EVENT_SHAPED);
}

/* The quirk's comment in model/traits.h says why; also where there is no space or quota for it. */
static void refused_falloc(struct as_rule_step *s, uint32_t ino)
{
	if (!(s->m->traits->quirks & AS_QUIRK_FALLOC_TOUCHES) || !(s->applying || s->got))
		return;
	as_rule_doubt_setid(s, ino);
	as_node_forget_times(s->m, ino, false, true);
	as_stamp(s->m, ino, AS_EVENT_TOUCHED);
}

/* ext4_alloc_file_blocks() and f2fs_expand_inode_data() allocate extent by extent. If there is no
 * space for all of them, the file ends after those that it got. */
static void falloc_part(struct as_rule_step *s, uint32_t ino, int64_t mode)
{
	uint64_t size = inode_at(s->m, ino)->reg.size + s->got->done;
	struct as_ino_pair before;
	struct as_inode *inode;

	if (mode & ~(int64_t)ZERO || size > (uint64_t)s->op->off + s->op->len)
		return as_rule_wrong(s, "it failed, and the file has %llu bytes more",
				     (unsigned long long)s->got->done);
	as_rule_changes(s);
	inode = as_node_edit(s->m, ino, &before);
	inode->reg.size = size;
	as_node_finish(s->m, inode, &before);
	as_node_forget_times(s->m, ino, false, true);
	as_stamp(s->m, ino, AS_EVENT_SHAPED);
}

void as_rule_fallocate(struct as_rule_step *s)
{
	struct as_file *file = as_rule_fd_file(s, s->op->fd, false);
	int64_t mode = s->op->flags;
	const struct as_inode *inode;
	int err;

	if (!file)
		return;
	/* vfs_fallocate(), in its order. */
	if (s->op->off < 0 || s->op->len == 0 || s->op->len > (uint64_t)INT64_MAX)
		return as_rule_refuse(s, EINVAL);
	if (!falloc_flags_ok(s, mode))
		return;
	if (!as_file_writes(file))
		return as_rule_refuse(s, EBADF);
	inode = inode_at(s->m, file->ino);
	/* "We can only allow pure fallocate on append only files." */
	if (as_inode_flags(inode) & AS_FS_IMMUTABLE_FL ||
	    (as_inode_flags(inode) & AS_FS_APPEND_FL && mode & ~KEEP))
		return as_rule_refuse(s, EPERM);
	if (as_range_overflows(s->op->off, s->op->len) ||
	    (uint64_t)s->op->off + s->op->len > s->m->traits->size_max)
		return as_rule_refuse(s, EFBIG);
	if (!falloc_supported(s, mode)) {
		refused_falloc(s, file->ino);
		/* Of a type that may know the mode, a range that is wrong says no more. */
		if (s->m->traits->quirks & AS_QUIRK_FALLOC_EINVAL || falloc_maybe(s, mode))
			as_rule_allow(s, EINVAL);
		/* UNSHARE_RANGE on a type that knows it is a plain allocation. */
		return as_rule_refuse(s, EOPNOTSUPP);
	}
	err = range_error(s, inode, mode & ~KEEP);
	if (err) {
		refused_falloc(s, file->ino);
		return as_rule_refuse(s, err);
	}
	as_rule_allow_full(s);
	if (s->got && s->got->ret < 0)
		refused_falloc(s, file->ino);
	/* f2fs_zero_range() goes page by page: what came before there was no space stays zeroed. */
	if ((mode & ~KEEP) == ZERO && s->got && s->got->ret < 0 &&
	    (s->got->err == ENOSPC || s->got->err == EDQUOT))
		s->m->lost = true;
	else if (s->got && s->got->ret < 0 && s->got->done)
		falloc_part(s, file->ino, mode);
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	falloc_now(s, file->ino, mode);
}
