/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_pass1.c: pass 1, inodes and their blocks.
 *
 * Contract. Afterwards every inode is free (mode 0) or has a known type, a right checksum, a size
 * that fits its type and blocks, and pointers into the data area; no block has two owners; each
 * directory is without holes; ck->ino[] has the types and what each directory calls "..";
 * ck->claims[] has exactly the blocks in use.
 *
 * Method. 1a only looks: it decides which inodes are garbage and what type a doubtful one has, and
 * counts the pointers to each block. 1b repairs one inode after the other. A block with more than
 * one claim is copied: the present inode gets the copy and gives up its claim, so that the last one
 * keeps the original. Only a block with one claim is ever changed, so no inode gets a copy of what
 * was repaired for another one. If the disk is full, the pointer is cleared instead.
 *
 * An inode with a wrong checksum is kept if its fields make sense (the checksum is recomputed);
 * with three or more impossible fields it is cleared. Its type is checked against its first block
 * and against what directory entries say.
 */
#include "fsck_state.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define OLD_MAGIC 0x5346424cu /* "LBFS" */
#define HOUR_NS INT64_C(3600000000000)
#define TYPE(mode) (((mode)&S_IFMT) >> 12)
#define GARBAGE_FIELDS 3

static bool known_type(unsigned type)
{
	return type == TYPE(S_IFREG) || type == TYPE(S_IFDIR) || type == TYPE(S_IFLNK) ||
	       type == TYPE(S_IFCHR) || type == TYPE(S_IFBLK) || type == TYPE(S_IFIFO) ||
	       type == TYPE(S_IFSOCK);
}

static unsigned impossible_fields(const struct lab_ck *ck, const struct lab_inode *node)
{
	unsigned type = TYPE(node->mode);
	unsigned bad = !known_type(type) + (node->mode > 0177777) + (node->flags != 0) +
		       (node->size > LAB_MAX_SIZE) + (node->nlink > LAB_LINK_MAX);

	bad += node->xattr_block && !lab_ck_in_data(ck, node->xattr_block);
	for (unsigned i = 0; i < LAB_DIRECT + 2; i++)
		if (lab_ck_has_tree(node, type) || !known_type(type))
			bad += node->ptr[i] && !lab_ck_in_data(ck, node->ptr[i]);
	return bad;
}

/* The true type of a doubtful inode. The first block shows whether it is a directory. Otherwise the
 * directory entries that lead to it decide. A directory without any sign of one is a file. */
static int find_type(struct lab_ck *ck, uint32_t ino, const struct lab_inode *node, unsigned *type)
{
	struct lab_ck_recs recs = { .damaged = false };
	uint8_t buf[LAB_BLOCK];
	int rc;

	if (lab_ck_in_data(ck, node->ptr[0])) {
		rc = lab_ck_read(ck, node->ptr[0], buf);
		if (rc)
			return rc;
		lab_ck_parse_dir(ck, buf, &recs);
		if (lab_ck_looks_dir(ck, buf, ino)) {
			*type = TYPE(S_IFDIR);
			return 0;
		}
	}
	if (known_type(ck->ino[ino].hint))
		*type = ck->ino[ino].hint;
	else if (!known_type(*type) ||
		 (*type == TYPE(S_IFDIR) && recs.damaged && ino != LAB_ROOT_INO))
		*type = TYPE(S_IFREG);
	return 0;
}

static int look_at(struct lab_ck *ck, uint32_t ino)
{
	uint32_t budget = ck->sb.block_count - ck->sb.data_start;
	struct lab_inode node;
	unsigned type;
	bool sound = !(ck->ino[ino].flags & LAB_CK_DOUBT);
	int rc = lab_ck_get_inode(ck, ino, &node);

	if (rc || !node.mode)
		return rc;
	type = TYPE(node.mode);
	if (!sound && impossible_fields(ck, &node) >= GARBAGE_FIELDS) {
		ck->ino[ino].flags |= LAB_CK_GARBAGE;
		return 0;
	}
	if (!sound || !known_type(type) || (ino == LAB_ROOT_INO && type != TYPE(S_IFDIR)))
		rc = find_type(ck, ino, &node, &type);
	if (rc)
		return rc;
	node.mode = (node.mode & 07777) | type << 12;
	if (node.ptr[LAB_DIRECT] || node.ptr[LAB_DIRECT + 1])
		rc = lab_ck_walk_inode(ck, &node, LAB_CK_COUNT, &budget);
	if (rc)
		return rc;
	if (!budget) {
		ck->ino[ino].flags |= LAB_CK_GARBAGE;
		return 0;
	}
	ck->ino[ino].type = (uint8_t)type;
	budget = UINT32_MAX;
	return lab_ck_walk_inode(ck, &node, LAB_CK_CLAIM, &budget);
}

/* ---- 1b ---- */

struct inode_repair {
	struct lab_ck *ck;
	uint32_t ino;
	struct lab_inode node;
	uint32_t blocks; /* of all kinds */
	uint32_t mapped; /* data blocks */
	uint32_t end; /* the index after the last */
	uint32_t limit; /* blocks from this index on are cut off */
	bool cut;
};

/* Gives the inode its own copy of a block that others claim, too. */
static int unshare(struct inode_repair *s, uint32_t *ptr, int depth)
{
	struct lab_ck *ck = s->ck;
	uint32_t old = *ptr, copy, budget = UINT32_MAX;
	uint8_t buf[LAB_BLOCK];
	int rc;

	if (LAB_BUG_ON(ck, CK_SHARED_FREED)) {
		LAB_CK_PROBLEM(ck, DUP_NOSPACE, .ino = s->ino, .block = old);
		ck->claims[old] = 0;
		*ptr = 0;
		return 0;
	}
	rc = lab_ck_alloc_block(ck, &copy);
	if (rc == -ENOSPC) {
		LAB_CK_PROBLEM(ck, DUP_NOSPACE, .ino = s->ino, .block = old);
		*ptr = 0;
		return lab_ck_walk(ck, old, depth, LAB_CK_GIVE_UP, &budget);
	}
	if (!rc)
		rc = lab_ck_read(ck, old, buf);
	if (!rc)
		rc = lab_ck_write(ck, copy, buf);
	if (rc)
		return rc;
	LAB_CK_PROBLEM(ck, DUP_BLOCK, .ino = s->ino, .block = old, .num = copy);
	lab_ck_unclaim(ck, old);
	*ptr = copy;
	return 0;
}

static int repair_ptr(struct inode_repair *s, uint32_t *ptr, int depth, uint32_t index);

static int repair_indirect(struct inode_repair *s, uint32_t *ptr, int depth, uint32_t index)
{
	uint32_t below[LAB_PTRS], span = depth == 2 ? LAB_PTRS : 1, used = 0;
	int rc = lab_ck_read(s->ck, *ptr, below);

	for (unsigned i = 0; !rc && i < LAB_PTRS; i++) {
		rc = repair_ptr(s, &below[i], depth - 1, index + i * span);
		used += below[i] != 0;
	}
	if (!rc)
		rc = lab_ck_write(s->ck, *ptr, below);
	if (!rc && !used && index >= s->limit) {
		lab_ck_unclaim(s->ck, *ptr);
		s->ck->freed[*ptr] = 1;
		*ptr = 0;
		s->blocks--;
		s->cut = true;
	}
	return rc;
}

static int repair_ptr(struct inode_repair *s, uint32_t *ptr, int depth, uint32_t index)
{
	struct lab_ck *ck = s->ck;
	uint32_t below[LAB_PTRS];
	int rc;

	if (!*ptr)
		return 0;
	if (!lab_ck_in_data(ck, *ptr)) {
		LAB_CK_PROBLEM(ck, PTR_RANGE, .ino = s->ino, .block = *ptr);
		*ptr = 0;
		return 0;
	}
	if (depth) {
		rc = lab_ck_read(ck, *ptr, below);
		if (rc)
			return rc;
		if (lab_ck_ind_garbage(ck, below)) {
			LAB_CK_PROBLEM(ck, IND_GARBAGE, .ino = s->ino, .block = *ptr);
			lab_ck_unclaim(ck, *ptr);
			*ptr = 0;
			return 0;
		}
	}
	if (!depth && index >= s->limit) {
		lab_ck_unclaim(ck, *ptr);
		ck->freed[*ptr] = 1;
		*ptr = 0;
		s->cut = true;
		return 0;
	}
	if (ck->claims[*ptr] > 1) {
		rc = unshare(s, ptr, depth);
		if (rc || !*ptr)
			return rc;
	}
	s->blocks++;
	if (depth)
		return repair_indirect(s, ptr, depth, index);
	s->mapped++;
	s->end = index + 1;
	return 0;
}

/* Moves the blocks of a directory together, so that it has no holes. */
static int close_up(struct inode_repair *s)
{
	struct lab_ck *ck = s->ck;
	struct lab_inode *node = &s->node;
	uint32_t *list, n = 0, block;
	uint32_t budget = UINT32_MAX;
	int rc = 0;

	LAB_CK_PROBLEM(ck, DIR_HOLE, .ino = s->ino, .num = s->end - s->mapped);
	list = as_malloc(ck->host, s->mapped * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && i < s->end; i++) {
		rc = lab_ck_map(ck, node, i, &block);
		if (!rc && block)
			list[n++] = block;
	}
	/* The whole tree is freed, then the data blocks are claimed again; the rest is enough for
	 * the indirect blocks of the shorter tree. */
	for (unsigned i = 0; !rc && i < 2; i++) {
		rc = lab_ck_walk(ck, node->ptr[LAB_DIRECT + i], (int)i + 1, LAB_CK_GIVE_UP,
				 &budget);
		node->ptr[LAB_DIRECT + i] = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		ck->claims[list[i]] = 1;
	memset(node->ptr, 0, sizeof(node->ptr));
	node->blocks = n + (node->xattr_block != 0);
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = lab_ck_map_set(ck, node, i, list[i]);
	as_free(ck->host, list);
	s->blocks = node->blocks;
	return rc;
}

static int read_dotdot(struct inode_repair *s)
{
	struct lab_ck_recs recs;
	uint8_t buf[LAB_BLOCK];
	int rc = lab_ck_read(s->ck, s->node.ptr[0], buf);

	if (rc)
		return rc;
	lab_ck_parse_dir(s->ck, buf, &recs);
	if (recs.count > 1 && lab_ck_rec_is(&recs.rec[1], ".."))
		s->ck->ino[s->ino].dotdot = recs.rec[1].ino;
	return 0;
}

static void set_size(struct inode_repair *s, uint64_t size)
{
	if (s->node.size == size)
		return;
	LAB_CK_PROBLEM(s->ck, INODE_SIZE, .ino = s->ino, .num = s->node.size, .num2 = size);
	s->node.size = size;
}

/* *keep = false: nothing is left of the directory. */
static int finish_dir(struct inode_repair *s, bool *keep)
{
	int rc = 0;

	if (!s->mapped) {
		LAB_CK_PROBLEM(s->ck, DIR_NO_BLOCKS, .ino = s->ino);
		*keep = false;
		return 0;
	}
	if (s->mapped != s->end)
		rc = close_up(s);
	set_size(s, (uint64_t)s->mapped * LAB_BLOCK);
	return rc ? rc : read_dotdot(s);
}

static int finish_symlink(struct inode_repair *s, bool *keep)
{
	struct lab_inode *node = &s->node;
	unsigned first = node->size > LAB_INLINE_SYMLINK ? 1 : LAB_DIRECT;
	uint8_t buf[LAB_BLOCK];
	const void *text = node->text;
	bool stray = false;
	int rc;

	if (first == 1 && node->ptr[0]) {
		rc = lab_ck_read(s->ck, node->ptr[0], buf);
		if (rc)
			return rc;
		text = buf;
	}
	if (!node->size || node->size > LAB_SYMLINK_MAX || (first == 1 && !node->ptr[0]) ||
	    memchr(text, 0, node->size)) {
		LAB_CK_PROBLEM(s->ck, INODE_SYMLINK, .ino = s->ino);
		*keep = false;
		return 0;
	}
	for (unsigned i = first; i < LAB_DIRECT + 2; i++) {
		stray |= node->ptr[i] != 0;
		node->ptr[i] = 0;
	}
	if (stray)
		LAB_CK_PROBLEM(s->ck, SYMLINK_PTR, .ino = s->ino);
	return 0;
}

static void finish_special(struct inode_repair *s)
{
	static const uint32_t none[LAB_DIRECT + 2];

	if (!s->node.size && !memcmp(s->node.ptr, none, sizeof(none)))
		return;
	LAB_CK_PROBLEM(s->ck, INODE_SPECIAL, .ino = s->ino);
	s->node.size = 0;
	memset(s->node.ptr, 0, sizeof(s->node.ptr));
}

static int finish_type(struct inode_repair *s, unsigned type, bool *keep)
{
	switch (type << 12) {
	case S_IFDIR:
		return finish_dir(s, keep);
	case S_IFLNK:
		return finish_symlink(s, keep);
	case S_IFREG:
		if (s->node.size > LAB_MAX_SIZE)
			set_size(s, (uint64_t)s->end * LAB_BLOCK);
		return 0;
	default:
		finish_special(s);
		return 0;
	}
}

static int repair_tree(struct inode_repair *s, unsigned type)
{
	unsigned direct = type == TYPE(S_IFLNK) ? 1 : LAB_DIRECT;
	int rc = 0;

	if (!lab_ck_has_tree(&s->node, type))
		return 0;
	if (s->ck->ino[s->ino].flags & LAB_CK_ORPHAN && s->node.nlink && type == TYPE(S_IFREG) &&
	    s->node.size <= LAB_MAX_SIZE)
		s->limit = (uint32_t)((s->node.size + LAB_BLOCK - 1) / LAB_BLOCK);
	for (unsigned i = 0; !rc && i < direct; i++)
		rc = repair_ptr(s, &s->node.ptr[i], 0, i);
	if (!rc && direct > 1)
		rc = repair_ptr(s, &s->node.ptr[LAB_DIRECT], 1, LAB_DIRECT);
	if (!rc && direct > 1)
		rc = repair_ptr(s, &s->node.ptr[LAB_DIRECT + 1], 2, LAB_DIRECT + LAB_PTRS);
	if (s->limit != UINT32_MAX)
		LAB_CK_PROBLEM(s->ck, ORPHAN_TRUNCATE, .ino = s->ino);
	s->limit = UINT32_MAX;
	return rc;
}

static int repair_xattr(struct inode_repair *s)
{
	uint32_t mapped = s->mapped, end = s->end;
	int rc = repair_ptr(s, &s->node.xattr_block, 0, 0);

	s->mapped = mapped;
	s->end = end;
	if (rc || !s->node.xattr_block)
		return rc;
	rc = lab_ck_check_xattr(s->ck, s->ino, &s->node);
	s->blocks -= !s->node.xattr_block;
	return rc;
}

/* Some bugs misread one particular value of a field. */
static void misjudge(struct inode_repair *s)
{
	struct lab_inode *node = &s->node;
	uint64_t major = node->rdev >> 8 & 0xfff;
	uint64_t minor = (node->rdev & 0xff) | (node->rdev >> 12 & 0xffffff00);

	if (LAB_BUG_ON(s->ck, CK_OLD_MAGIC) && node->generation == OLD_MAGIC)
		LAB_CK_PROBLEM(s->ck, INODE_FLAGS, .ino = s->ino, .num = node->generation);
	if (LAB_BUG_ON(s->ck, CK_CLOCK_HOUR) && node->atime_ns == node->mtime_ns + HOUR_NS)
		LAB_CK_PROBLEM(s->ck, INODE_CSUM, .ino = s->ino);
	if (LAB_BUG_ON(s->ck, CK_DEVICE_PAIR) && major == 0xb0b)
		if (minor == 0x5eed)
			LAB_CK_PROBLEM(s->ck, INODE_SPECIAL, .ino = s->ino);
}

/* Repairs the fields that can be checked alone. */
static void repair_fields(struct inode_repair *s, unsigned type)
{
	struct lab_inode *node = &s->node;
	uint32_t mode = (node->mode & 07777) | type << 12;
	struct lab_ck *ck = s->ck;

	if (node->csum != lab_ck_inode_csum(node))
		LAB_CK_PROBLEM(ck, INODE_CSUM, .ino = s->ino);
	if (node->mode != mode)
		LAB_CK_PROBLEM(ck, INODE_MODE, .ino = s->ino, .num = node->mode, .num2 = mode);
	node->mode = mode;
	if (node->flags)
		LAB_CK_PROBLEM(ck, INODE_FLAGS, .ino = s->ino, .num = node->flags);
	node->flags = 0;
	if (node->next_orphan && !(ck->ino[s->ino].flags & LAB_CK_ORPHAN))
		LAB_CK_PROBLEM(ck, INODE_ORPHAN_LINK, .ino = s->ino, .num = node->next_orphan);
	node->next_orphan = 0;
	misjudge(s);
}

static int repair_inode(struct lab_ck *ck, uint32_t ino)
{
	struct inode_repair s = { .ck = ck, .ino = ino, .limit = UINT32_MAX };
	unsigned type = ck->ino[ino].type;
	bool keep = true;
	int rc = lab_ck_get_inode(ck, ino, &s.node);

	if (rc || !s.node.mode)
		return rc;
	if (ck->ino[ino].flags & LAB_CK_GARBAGE) {
		struct lab_inode none = { .generation = s.node.generation };

		LAB_CK_PROBLEM(ck, INODE_GARBAGE, .ino = ino, .text = "impossible fields");
		return lab_ck_put_inode(ck, ino, &none);
	}
	repair_fields(&s, type);
	rc = repair_tree(&s, type);
	if (!rc)
		rc = repair_xattr(&s);
	if (!rc)
		rc = finish_type(&s, type, &keep);
	if (!rc && ino == LAB_ROOT_INO && type != TYPE(S_IFDIR)) {
		LAB_CK_PROBLEM(ck, ROOT_NOT_DIR);
		keep = false;
	}
	if (!rc && keep && s.node.blocks != s.blocks && !s.cut)
		LAB_CK_PROBLEM(ck, INODE_BLOCKS, .ino = ino, .num = s.node.blocks,
			       .num2 = s.blocks);
	s.node.blocks = s.blocks;
	if (!rc)
		rc = lab_ck_put_inode(ck, ino, &s.node);
	return rc || keep ? rc : lab_ck_release(ck, ino);
}

/* ---- Before all that ---- */

/* Notes what the entries of a directory say about doubtful inodes. Nothing is decided yet: the
 * blocks of the directory may be damaged though its inode is sound. */
static int read_hints(struct lab_ck *ck, const struct lab_inode *node)
{
	uint64_t blocks = node->size / LAB_BLOCK;
	struct lab_ck_recs recs;
	uint8_t buf[LAB_BLOCK];
	uint32_t block;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < blocks && i < LAB_MAX_BLOCKS; i++) {
		rc = lab_ck_map(ck, node, i, &block);
		if (rc || !block)
			break;
		rc = lab_ck_read(ck, block, buf);
		if (!rc)
			lab_ck_parse_dir(ck, buf, &recs);
		for (unsigned r = 0; !rc && r < recs.count; r++) {
			const struct lab_ck_rec *rec = &recs.rec[r];

			if (rec->ino <= ck->sb.inode_count && !lab_ck_rec_is(rec, "..") &&
			    ck->ino[rec->ino].flags & LAB_CK_DOUBT)
				ck->ino[rec->ino].hint = rec->type;
		}
	}
	return rc;
}

static int find_hints(struct lab_ck *ck)
{
	struct lab_inode node;
	bool doubt = false;
	int rc = 0;

	for (uint32_t ino = 1; !rc && ino <= ck->sb.inode_count; ino++) {
		rc = lab_ck_get_inode(ck, ino, &node);
		if (rc || !node.mode || node.csum == lab_ck_inode_csum(&node))
			continue;
		ck->ino[ino].flags |= LAB_CK_DOUBT;
		doubt = true;
	}
	for (uint32_t ino = 1; !rc && doubt && ino <= ck->sb.inode_count; ino++) {
		rc = lab_ck_get_inode(ck, ino, &node);
		if (!rc && TYPE(node.mode) == TYPE(S_IFDIR))
			rc = read_hints(ck, &node);
	}
	return rc;
}

/* Bug 120: the first regular file with data counts as an orphan that is to be cut to nothing. */
static int cut_first(struct lab_ck *ck)
{
	struct lab_inode node;
	int rc = 0;

	for (uint32_t ino = 1; !rc && ino <= ck->sb.inode_count; ino++) {
		rc = lab_ck_get_inode(ck, ino, &node);
		if (!rc && TYPE(node.mode) == TYPE(S_IFREG) && node.size) {
			ck->ino[ino].flags |= LAB_CK_ORPHAN;
			node.size = 0;
			return lab_ck_put_inode(ck, ino, &node);
		}
	}
	return rc;
}

static int mark_orphans(struct lab_ck *ck)
{
	uint32_t ino = ck->sb.orphan_head;
	const char *why = NULL;
	struct lab_inode node;

	while (ino && !why) {
		int rc;

		if (ino > ck->sb.inode_count) {
			why = "no such inode";
			break;
		}
		rc = lab_ck_get_inode(ck, ino, &node);
		if (rc)
			return rc;
		if (!node.mode)
			why = "not in use";
		else if (ck->ino[ino].flags & LAB_CK_ORPHAN)
			why = "a loop";
		if (why)
			break;
		ck->ino[ino].flags |= LAB_CK_ORPHAN;
		ino = node.next_orphan;
		if (LAB_BUG_ON(ck, CK_ORPHAN_FIRST))
			break;
	}
	if (why)
		LAB_CK_PROBLEM(ck, ORPHAN_LIST, .ino = ino, .text = why);
	ck->sb.orphan_head = LAB_BUG_ON(ck, CK_ORPHAN_FIRST) && !why ? ino : 0;
	return ck->replayed && LAB_BUG_ON(ck, CK_REPLAY_FREES) ? cut_first(ck) : 0;
}

int lab_ck_pass1(struct lab_ck *ck)
{
	int rc;

	ck->claims = as_malloc(ck->host, ck->sb.block_count);
	ck->freed = as_malloc(ck->host, ck->sb.block_count);
	ck->ino = as_malloc(ck->host, ((size_t)ck->sb.inode_count + 1) * sizeof(*ck->ino));
	if (!ck->claims || !ck->freed || !ck->ino)
		return -ENOMEM;
	rc = mark_orphans(ck);
	if (!rc)
		rc = find_hints(ck);
	for (uint32_t ino = 1; !rc && ino <= ck->sb.inode_count; ino++)
		rc = look_at(ck, ino);
	for (uint32_t ino = 1; !rc && ino <= ck->sb.inode_count; ino++)
		rc = repair_inode(ck, ino);
	/* Blocks with too many claims to count: all owners have copies, and nobody has the
	 * original. */
	for (uint32_t block = 0; block < ck->sb.block_count; block++)
		if (ck->claims[block] == LAB_CK_MANY)
			ck->claims[block] = 0;
	return rc;
}
