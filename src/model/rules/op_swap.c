/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_swap: swapon(2) on a file, and swapoff(2) at once. The executor puts the header of a swap area
 * into the first page and takes it away again, so the file is as it was but for its times.
 *
 * 1. A file that has less on the disk than its size has a hole, and cannot be swapped to
 *    (swapon(2), "files with holes"). How much it has, the answer tells.
 * 2. A file that was written all over has none. It must be accepted where the type swaps, unless
 *    blocks can be shared, or are so small that a page may lie in several places.
 * 3. While it is swapped to, nobody can write to it or truncate it (generic_write_checks(),
 *    inode_newsize_ok(), vfs_fallocate(): ETXTBSY). The answer is how many of these went through.
 */
#include "model/footprint.h"
#include "model/locks.h"
#include "model/mark.h"
#include "model/rules/rule.h"
#include "work/swap.h"

/* Whether each page after the first was written. */
static bool is_written(const struct as_inode *inode)
{
	uint64_t at = AS_SWAP_PAGE, end = inode->reg.size / AS_SWAP_PAGE * AS_SWAP_PAGE;

	for (uint32_t i = 0; inode->reg.runs && i < inode->reg.runs->n && at < end; i++) {
		const struct as_data_run *run = &inode->reg.runs->run[i];

		if (run->start > at)
			return false;
		if (run->start + run->len > at)
			at = run->start + run->len;
	}
	return at >= end;
}

static bool must_swap(const struct as_rule_step *s, const struct as_inode *inode)
{
	const struct as_traits *traits = s->m->traits;

	return traits->features & AS_FEAT_SWAP && !as_traits_may(traits, AS_FEAT_CLONE) &&
	       traits->block_bytes >= AS_SWAP_PAGE && is_written(inode) && !s->m->own_opts;
}

/* The header was written, and the page that was there. */
static void touch(struct as_rule_step *s, uint32_t ino)
{
	as_rule_changes(s);
	as_footprint_doubt(s->m, ino);
	as_node_forget_times(s->m, ino, true, true);
	as_stamp(s->m, ino, AS_EVENT_TOUCHED);
	as_stamp(s->m, ino, AS_EVENT_READ_OTHERWISE);
}

static void check_holes(struct as_rule_step *s, const struct as_inode *inode)
{
	uint64_t want = inode->reg.size / AS_SWAP_PAGE * AS_SWAP_PAGE;
	uint64_t has = s->got->st.blocks * 512;

	if (s->got->payload == AS_PAYLOAD_STAT && has < want)
		as_rule_wrong(s, "a file with a hole can be swapped to: it has %llu bytes of %llu",
			      (unsigned long long)has, (unsigned long long)want);
}

/* SYSCALL_DEFINE2(swapon), claim_swapfile(), read_swap_header(), iomap_swapfile_activate(). */
void as_rule_swapon(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_FOLLOW);
	const struct as_inode *inode;

	if (as_rule_has(s, AS_FEAT_LIBRARY))
		return as_rule_refuse(s, EOPNOTSUPP);
	if (w.err)
		return as_rule_refuse(s, w.err);
	inode = inode_at(s->m, w.ino);
	if (is_dir(inode))
		return as_rule_refuse(s, EISDIR);
	/* may_open(): it is opened to write. */
	if (as_rule_read_only(s))
		return;
	if (as_flags_bar(as_inode_flags(inode)))
		return as_rule_refuse(s, EPERM);
	/* The executor closes a descriptor of the file, and with it go locks of the process. */
	if (s->got || s->applying)
		as_locks_doubt(s->m);
	/* A kernel without swap. */
	as_rule_allow(s, ENOSYS);
	if (inode->reg.size < (uint64_t)AS_SWAP_MIN_BYTES)
		return as_rule_refuse(s, EINVAL);
	/* The page of the header may be a hole. */
	as_rule_allow_full(s);
	if (s->got || s->applying)
		touch(s, w.ino);
	if (!must_swap(s, inode_at(s->m, w.ino)))
		as_rule_allow(s, EINVAL);
	if (as_rule_accept(s, 0) && s->got)
		check_holes(s, inode_at(s->m, w.ino));
}
