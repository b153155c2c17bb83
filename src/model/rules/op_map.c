/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_map: mappings that live across operations: mmap(2) with MAP_SHARED, loads, stores, msync(2)
 * and munmap(2). A slot has a mapping of its own beside its descriptor: it stays when the
 * descriptor is closed, when the file is removed, and when the slot is opened again.
 *
 * 1. A mapping holds its file as a descriptor does: a file without names lives as long as it is
 *    mapped, and what is mapped cannot be unmounted.
 * 2. A page can be touched if it begins before the end of the file as the file is now. A load or a
 *    store ends before the first page that cannot (SIGBUS), and answers how far it came; if that
 *    is nowhere, it answers ENXIO.
 * 3. What lies after the end in the last page reads as zeros (POSIX, mmap()), and the executor
 *    stores nothing there: it counts as passed over.
 * 4. A store marks the times for update between now and the next msync(): MAPPED, which is MAY.
 */
#include "model/footprint.h"
#include "model/limits.h"
#include "model/mark.h"
#include "model/rules/rule.h"

#define PAGE 4096u

static struct as_file *map_of(struct as_rule_step *s)
{
	struct as_file *map = as_file_at(s->m, AS_MAP_SLOT + s->op->fd);

	if (!map)
		as_rule_refuse(s, EINVAL); /* the executor's own */
	return map;
}

static uint64_t page_end(uint64_t n)
{
	return n + (PAGE - n % PAGE) % PAGE;
}

/* What do_mmap() asks of the file, in its order. */
static void ask_file(struct as_rule_step *s, const struct as_file *file)
{
	const struct as_inode *inode = inode_at(s->m, file->ino);
	uint64_t len = page_end(s->op->len);

	/* file_mmap_ok(); where the address space ends is asked before. */
	if ((uint64_t)s->op->off > (uint64_t)INT64_MAX - len) {
		as_rule_allow(s, ENOMEM);
		if (is_reg(inode))
			return as_rule_refuse(s, EOVERFLOW);
		as_rule_allow(s, EOVERFLOW);
	}
	if ((s->op->flags & AS_PROT_WRITE && !as_file_writes(file)) || !as_file_reads(file))
		return as_rule_refuse(s, EACCES);
	/* do_mmap(): "we don't allow writing to an append-only file" */
	if (as_inode_flags(inode) & AS_FS_APPEND_FL && as_file_writes(file))
		return as_rule_refuse(s, EACCES);
	if (is_dir(inode) || !as_rule_has(s, AS_FEAT_MMAP))
		as_rule_refuse(s, ENODEV);
}

void as_rule_mmap(struct as_rule_step *s)
{
	struct as_file *file;

	/* The executor's own, before the call. */
	if (s->op->flags & ~(int64_t)AS_PROT_BOTH || !(s->op->flags & AS_PROT_READ))
		return as_rule_refuse(s, EINVAL);
	/* What the slot had is given up before the call, whatever comes of it. */
	if (s->applying || s->got)
		as_file_close(s->m, AS_MAP_SLOT + s->op->fd);
	/* mmap(2), EINVAL: the offset comes before the descriptor, the length after it. */
	if (s->op->off % PAGE)
		return as_rule_refuse(s, EINVAL);
	file = as_rule_fd_file(s, s->op->fd, false);
	if (!file)
		return;
	if (s->op->len == 0)
		return as_rule_refuse(s, EINVAL);
	ask_file(s, file);
	if (s->allowed.must || !as_rule_accept(s, 0))
		return;
	as_footprint_doubt(s->m, file->ino);
	as_node_forget_times(s->m, file->ino, true, false);
	as_stamp(s->m, file->ino, AS_EVENT_READ_OTHERWISE);
	as_file_map(s->m, AS_MAP_SLOT + s->op->fd, file->ino, s->op->flags, s->op->off, s->op->len);
}

/* How far a load or a store comes (invariant 2); false: refused. */
static bool reach(struct as_rule_step *s, const struct as_file *map, uint64_t *at, uint64_t *n)
{
	uint64_t end = page_end(inode_at(s->m, map->ino)->reg.size);

	/* The executor's own: a range outside of the mapping. */
	if (s->op->off < 0 || (uint64_t)s->op->off > map->len ||
	    s->op->len > map->len - (uint64_t)s->op->off) {
		as_rule_refuse(s, EFAULT);
		return false;
	}
	*at = (uint64_t)map->off + (uint64_t)s->op->off;
	*n = *at < end ? end - *at : 0;
	*n = *n < s->op->len ? *n : s->op->len;
	if (s->op->len && *n == 0) {
		as_rule_refuse(s, ENXIO);
		return false;
	}
	return true;
}

static void store(struct as_rule_step *s, uint32_t ino, uint64_t at, uint64_t n)
{
	uint64_t size = inode_at(s->m, ino)->reg.size;
	struct as_ino_pair before;
	struct as_inode *inode;

	n = at < size && n > size - at ? size - at : n;
	if (at >= size)
		return;
	as_rule_check_limits(s, inode_at(s->m, ino), at, n);
	if (s->said_wrong)
		return;
	as_rule_changes(s);
	inode = as_node_edit(s->m, ino, &before);
	as_content_write(inode, at, n, s->op->fill, at);
	as_node_finish(s->m, inode, &before);
	as_node_forget_times(s->m, ino, true, true);
	as_stamp(s->m, ino, AS_EVENT_MAPPED);
}

void as_rule_mstore(struct as_rule_step *s)
{
	const struct as_file *map = map_of(s);
	int64_t got = s->got ? s->got->ret : -1;
	bool immutable;
	uint64_t at, n;

	if (!map)
		return;
	immutable = as_inode_flags(inode_at(s->m, map->ino)) & AS_FS_IMMUTABLE_FL;
	if (!(map->flags & AS_PROT_WRITE))
		return as_rule_refuse(s, EFAULT);
	if (!reach(s, map, &at, &n))
		return;
	/* A page for which there is no space is one that cannot be touched; nor, on ext4, is one of
	 * a file that became immutable (ext4_page_mkwrite()). */
	if (n && (s->m->traits->may_fill || immutable)) {
		as_rule_allow(s, ENXIO);
		if (got > 0 && (uint64_t)got < n)
			n = (uint64_t)got;
		if (got < 0 && s->got && s->got->err == ENXIO)
			as_stamp(s->m, map->ino, AS_EVENT_MAPPED);
	}
	if (as_rule_accept(s, (int64_t)n) && n)
		store(s, map->ino, at, n);
}

void as_rule_mload(struct as_rule_step *s)
{
	const struct as_file *map = map_of(s);
	uint64_t at, n;

	if (!map || !reach(s, map, &at, &n) || !as_rule_accept(s, (int64_t)n))
		return;
	as_rule_check_bytes(s, inode_at(s->m, map->ino), at, n);
	if (s->said_wrong)
		return;
	as_node_forget_times(s->m, map->ino, true, false);
	as_stamp(s->m, map->ino, AS_EVENT_READ_OTHERWISE);
}

void as_rule_msync(struct as_rule_step *s)
{
	const struct as_file *map = map_of(s);
	int64_t all = AS_MS_BOTH | AS_MS_INVALIDATE;

	if (!map)
		return;
	if (s->op->flags & ~all || (s->op->flags & AS_MS_BOTH) == AS_MS_BOTH)
		return as_rule_refuse(s, EINVAL);
	as_rule_allow_full(s);
	if (s->op->flags & AS_MS_SYNC)
		as_rule_allow_no_fsync(s);
	if (as_rule_accept(s, 0) && map->flags & AS_PROT_WRITE)
		as_stamp(s->m, map->ino, AS_EVENT_MAPPED);
}

void as_rule_munmap(struct as_rule_step *s)
{
	const struct as_file *map = map_of(s);

	if (!map || !as_rule_accept(s, 0))
		return;
	if (map->flags & AS_PROT_WRITE)
		as_stamp(s->m, map->ino, AS_EVENT_MAPPED);
	as_file_close(s->m, AS_MAP_SLOT + s->op->fd);
}
