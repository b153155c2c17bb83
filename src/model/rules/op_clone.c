/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_clone: files that share blocks: ioctl_ficlone(2), ioctl_ficlonerange(2),
 * ioctl_fideduperange(2). Order of errors as in Linux's fs/remap_range.c. The first descriptor is
 * the one whose file is changed, the second one is the source; `off` is in the source, `off2` in
 * the other one.
 *
 * 1. What is shared reads like what was copied: the model copies, and shares nothing.
 * 2. A clone is refused as a whole or done as a whole, unless the disk is full.
 * 3. A dedupe changes no byte and no time.
 */
#include "model/footprint.h"
#include "model/mark.h"
#include "model/rules/rule.h"

/* "Arbitrary 1G limit on a single dedupe request" (vfs_dedupe_file_range()). */
#define DEDUPE_MAX ((uint64_t)1 << 30)

struct remap {
	const struct as_inode *from, *to;
	uint64_t off, to_off, len;
};

/* remap_verify_area(): no negative numbers, and no end beyond the largest one. */
static bool bad_area(int64_t off, uint64_t len)
{
	return off < 0 || as_range_overflows(off, len);
}

static bool unaligned(const struct as_rule_step *s, uint64_t n)
{
	return s->m->traits->block_bytes && n % s->m->traits->block_bytes;
}

static uint64_t rounded(const struct as_rule_step *s, uint64_t n, bool up)
{
	uint64_t block = s->m->traits->block_bytes, rest = block ? n % block : 0;

	return rest == 0 ? n : up ? n - rest + block : n - rest;
}

/* False: the answer is that the type cannot. */
static bool can_share(struct as_rule_step *s)
{
	if (as_rule_has(s, AS_FEAT_CLONE))
		return true;
	/* Of a type that may know it, a range that is wrong says no more. */
	if (s->m->traits->maybe & AS_FEAT_CLONE)
		as_rule_allow(s, EINVAL);
	as_rule_refuse(s, EOPNOTSUPP);
	return false;
}

/* vfs_clone_file_range(): generic_file_rw_checks(); ioctl_ficlone(2): EISDIR, EBADF. */
static int clone_files_error(const struct as_rule_step *s, const struct as_file *out,
			     const struct as_file *in)
{
	if (is_dir(inode_at(s->m, in->ino)) || is_dir(inode_at(s->m, out->ino)))
		return EISDIR;
	if (!as_file_reads(in) || !as_file_writes(out) || out->flags & AS_O_APPEND)
		return EBADF;
	return 0;
}

/* "Don't allow overlapped cloning within the same file." */
static bool overlap(const struct remap *r, uint64_t len)
{
	return r->from == r->to && r->to_off + len > r->off && r->to_off < r->off + len;
}

/* __generic_remap_file_range_prep() of a clone: an errno or 0. r->len becomes what is shared; 0:
 * nothing is to be done. */
static int clone_error(const struct as_rule_step *s, struct remap *r)
{
	uint64_t size = r->from->reg.size, len, whole;

	if (r->len == 0) {
		if (r->off >= size)
			return r->off == size ? 0 : EINVAL;
		r->len = size - r->off;
	}
	if (unaligned(s, r->off) || unaligned(s, r->to_off) ||
	    bad_area((int64_t)r->to_off, r->len) || r->off >= size)
		return EINVAL;
	if (r->to_off >= s->m->traits->size_max)
		return EFBIG;
	len = size - r->off < r->len ? size - r->off : r->len;
	if (len > s->m->traits->size_max - r->to_off)
		len = s->m->traits->size_max - r->to_off;
	/* Up to the end of the source, the last block may be short, but then it must be the last
	 * one of the other file, too. */
	whole = rounded(s, len, r->off + len == size);
	if (overlap(r, whole) || r->len != len || (r->off + len != size && whole != len))
		return EINVAL;
	return unaligned(s, len) && r->to_off + len < r->to->reg.size ? EINVAL : 0;
}

static void share(struct as_rule_step *s, uint32_t out, uint32_t in, const struct remap *r)
{
	struct as_ino_pair before;
	struct as_inode *to;

	as_rule_changes(s);
	to = as_node_edit(s->m, out, &before);
	as_content_copy(inode_at(s->m, in), r->off, to, r->to_off, r->len);
	as_rule_drop_setid(s, to);
	as_node_finish(s->m, to, &before);
	as_node_forget_times(s->m, out, false, true);
	as_stamp(s->m, out, AS_EVENT_WRITTEN);
}

/* generic_remap_file_range_prep(): "Don't touch certain kinds of inodes." Types ask some of the
 * other questions before. */
static int barred(struct as_rule_step *s, const struct as_inode *to, int err)
{
	if (!(as_inode_flags(to) & AS_FS_IMMUTABLE_FL))
		return err;
	if (err)
		as_rule_allow(s, err);
	return EPERM;
}

static void clone_now(struct as_rule_step *s, uint64_t off, uint64_t len, uint64_t to_off)
{
	struct as_file *out = as_rule_fd_file(s, s->op->fd, false), *in;
	struct remap r = { .off = off, .len = len, .to_off = to_off };
	int err;

	if (!out)
		return;
	in = as_rule_fd_file(s, s->op->fd2, false);
	if (!in)
		return;
	err = clone_files_error(s, out, in);
	if (err)
		return as_rule_refuse(s, err);
	if (!can_share(s))
		return;
	if (bad_area((int64_t)off, len) || bad_area((int64_t)to_off, len))
		return as_rule_refuse(s, EINVAL);
	if (s->m->traits->quirks & AS_QUIRK_CLONE_MAYBE_REFUSED)
		as_rule_allow(s, EINVAL);
	r.from = inode_at(s->m, in->ino);
	r.to = inode_at(s->m, out->ino);
	err = clone_error(s, &r);
	err = barred(s, r.to, err);
	if (err)
		return as_rule_refuse(s, err);
	if (r.len)
		as_rule_allow_full(s);
	if (as_rule_accept(s, 0) && r.len)
		share(s, out->ino, in->ino, &r);
}

void as_rule_clone(struct as_rule_step *s)
{
	clone_now(s, 0, 0, 0);
}

void as_rule_clone_range(struct as_rule_step *s)
{
	clone_now(s, (uint64_t)s->op->off, s->op->len, (uint64_t)s->op->off2);
}

/* The same for a dedupe: both ranges are inside their files, and what is not whole blocks is cut
 * (REMAP_FILE_CAN_SHORTEN), except the common end of both. EBADE: the bytes differ, which the
 * kernel tells as FILE_DEDUPE_RANGE_DIFFERS. */
static int dedupe_error(const struct as_rule_step *s, const struct remap *r)
{
	uint64_t end = r->off + r->len, to_end = r->to_off + r->len, len = r->len, whole;
	bool ends = end == r->from->reg.size && to_end == r->to->reg.size;

	if (unaligned(s, r->off) || unaligned(s, r->to_off) || end > r->from->reg.size ||
	    to_end > r->to->reg.size)
		return EINVAL;
	if (!ends)
		len = rounded(s, len, false);
	whole = rounded(s, len, true);
	if (overlap(r, whole))
		return EINVAL;
	return as_content_same(r->from, r->off, r->to, r->to_off, len) ? 0 : EBADE;
}

void as_rule_dedupe_range(struct as_rule_step *s)
{
	struct as_file *in = as_rule_fd_file(s, s->op->fd2, false), *out;
	struct remap r = { .off = (uint64_t)s->op->off,
			   .len = s->op->len,
			   .to_off = (uint64_t)s->op->off2 };
	int err;

	if (!in)
		return;
	/* vfs_dedupe_file_range(): the source first, EINVAL where it cannot be read. */
	r.from = inode_at(s->m, in->ino);
	if (!as_file_reads(in))
		return as_rule_refuse(s, EINVAL);
	if (is_dir(r.from))
		return as_rule_refuse(s, EISDIR);
	/* Nothing is shared of nothing, and the type is not asked. */
	if (!r.len && s->m->traits->maybe & AS_FEAT_CLONE)
		as_rule_allow(s, EOPNOTSUPP);
	else if (!can_share(s))
		return;
	if (bad_area(s->op->off, r.len) || r.off + r.len > r.from->reg.size)
		return as_rule_refuse(s, EINVAL);
	r.len = r.len < DEDUPE_MAX ? r.len : DEDUPE_MAX;
	/* vfs_dedupe_file_range_one(): what the kernel says of the other file is a status. */
	out = as_rule_fd_file(s, s->op->fd, false);
	if (!out)
		return;
	r.to = inode_at(s->m, out->ino);
	/* vfs_dedupe_file_range_one(): before or after it looks at the range. */
	if (s->m->readonly && bad_area(s->op->off2, r.len))
		as_rule_allow(s, EINVAL);
	if (as_rule_read_only(s))
		return;
	if (bad_area(s->op->off2, r.len))
		return as_rule_refuse(s, EINVAL);
	/* may_dedupe_file(): whoever could write to it. */
	if (as_rule_has(s, AS_FEAT_UNPRIVILEGED) && !as_file_writes(out))
		as_rule_allow(s, EPERM);
	if (is_dir(r.to))
		return as_rule_refuse(s, EISDIR);
	if (s->m->traits->quirks & AS_QUIRK_CLONE_MAYBE_REFUSED && r.len)
		as_rule_allow(s, EINVAL);
	err = r.len ? dedupe_error(s, &r) : 0;
	if (r.len)
		err = barred(s, r.to, err);
	if (err)
		return as_rule_refuse(s, err);
	if (r.len)
		as_rule_allow_full(s);
	/* Zeros that were written become a hole, or a hole gets them. */
	if (as_rule_accept(s, (int64_t)r.len))
		as_footprint_doubt(s->m, out->ino);
}
