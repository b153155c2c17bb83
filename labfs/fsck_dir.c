/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_dir.c: directory blocks: how they are read, damaged or not, and how they are built.
 *
 * A block is never patched: its entries are read into a list, the list is changed, and a new block
 * is built from it. Where a record is damaged, the walk goes on at the next place from which whole
 * records lead exactly to the end of the block; the damaged record itself is kept if all but its
 * length makes sense (the inode exists and has the type that the record says).
 */
#include "fsck_state.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define DIR_TYPE (S_IFDIR >> 12)

bool lab_ck_name_ok(const char *name, unsigned len)
{
	return len && !memchr(name, 0, len) && !memchr(name, '/', len);
}

bool lab_ck_rec_is(const struct lab_ck_rec *rec, const char *name)
{
	return rec->name_len == strlen(name) && !memcmp(rec->name, name, rec->name_len);
}

static void read_rec(const uint8_t *block, unsigned off, struct lab_dirent *head)
{
	memcpy(head, block + off, LAB_DIRENT_HEAD);
}

static bool rec_ok(const uint8_t *block, unsigned off)
{
	struct lab_dirent head;

	if (off + LAB_DIRENT_HEAD > LAB_BLOCK)
		return false;
	read_rec(block, off, &head);
	if (head.rec_len < LAB_DIRENT_HEAD || head.rec_len % 4 || off + head.rec_len > LAB_BLOCK)
		return false;
	return !head.ino || (head.name_len && LAB_DIRENT_LEN(head.name_len) <= head.rec_len);
}

/* Whether whole records with possible names lead from here to the end. */
static bool chain_ok(const struct lab_ck *ck, const uint8_t *block, unsigned off)
{
	struct lab_dirent head;

	while (off < LAB_BLOCK) {
		if (!rec_ok(block, off))
			return false;
		read_rec(block, off, &head);
		if (head.ino > ck->sb.inode_count ||
		    (head.ino &&
		     !lab_ck_name_ok((const char *)block + off + LAB_DIRENT_HEAD, head.name_len)))
			return false;
		off += head.rec_len;
	}
	return true;
}

static void add_rec(struct lab_ck_recs *recs, const uint8_t *block, unsigned off)
{
	struct lab_dirent head;

	read_rec(block, off, &head);
	if (head.ino && recs->count < LAB_CK_RECS)
		recs->rec[recs->count++] = (struct lab_ck_rec){
			head.ino,
			(uint16_t)off,
			head.name_len,
			head.type,
			(const char *)block + off + LAB_DIRENT_HEAD,
		};
}

/* Whether all fields of the record but its length make sense. */
static bool worth_keeping(const struct lab_ck *ck, const uint8_t *block, unsigned off)
{
	struct lab_dirent head;

	if (off + LAB_DIRENT_HEAD > LAB_BLOCK)
		return false;
	read_rec(block, off, &head);
	return head.ino && head.ino <= ck->sb.inode_count && head.name_len &&
	       off + LAB_DIRENT_LEN(head.name_len) <= LAB_BLOCK &&
	       lab_ck_name_ok((const char *)block + off + LAB_DIRENT_HEAD, head.name_len) &&
	       head.type && head.type == ck->ino[head.ino].type;
}

void lab_ck_parse_dir(const struct lab_ck *ck, const uint8_t *block, struct lab_ck_recs *recs)
{
	struct lab_dirent head;

	recs->count = 0;
	recs->damaged = false;
	for (unsigned off = 0; off < LAB_BLOCK;) {
		unsigned next = off + 4;

		if (rec_ok(block, off)) {
			add_rec(recs, block, off);
			read_rec(block, off, &head);
			off += head.rec_len;
			continue;
		}
		recs->damaged = true;
		if (worth_keeping(ck, block, off)) {
			add_rec(recs, block, off);
			read_rec(block, off, &head);
			next = off + LAB_DIRENT_LEN(head.name_len);
		}
		while (next < LAB_BLOCK && !chain_ok(ck, block, next))
			next += 4;
		off = next;
	}
}

void lab_ck_build_dir(uint8_t *block, const struct lab_ck_rec *rec, unsigned count)
{
	struct lab_dirent head = { .ino = 0 };
	unsigned off = 0;

	memset(block, 0, LAB_BLOCK);
	for (unsigned i = 0; i < count; i++) {
		unsigned len = LAB_DIRENT_LEN(rec[i].name_len);

		head.ino = rec[i].ino;
		head.rec_len = (uint16_t)(i + 1 < count ? len : LAB_BLOCK - off);
		head.name_len = rec[i].name_len;
		head.type = rec[i].type;
		memcpy(block + off, &head, LAB_DIRENT_HEAD);
		memcpy(block + off + LAB_DIRENT_HEAD, rec[i].name, rec[i].name_len);
		off += len;
	}
	if (!count) {
		head.rec_len = LAB_BLOCK;
		memcpy(block, &head, LAB_DIRENT_HEAD);
	}
}

/* Whether it begins with "." of this inode and then "..". */
bool lab_ck_looks_dir(const struct lab_ck *ck, const uint8_t *block, uint32_t ino)
{
	struct lab_ck_recs recs;

	lab_ck_parse_dir(ck, block, &recs);
	return recs.count > 1 && lab_ck_rec_is(&recs.rec[0], ".") && recs.rec[0].ino == ino &&
	       lab_ck_rec_is(&recs.rec[1], "..");
}

/* Reads block `index` of a directory into a list of records; the names are in `buf`. */
static int load(struct lab_ck *ck, const struct lab_inode *node, uint32_t index, uint8_t *buf,
		struct lab_ck_recs *recs, uint32_t *block)
{
	int rc = lab_ck_map(ck, node, index, block);

	if (!rc)
		rc = *block ? lab_ck_read(ck, *block, buf) : -EUCLEAN;
	if (!rc)
		lab_ck_parse_dir(ck, buf, recs);
	return rc;
}

static int store(struct lab_ck *ck, uint32_t block, const struct lab_ck_recs *recs)
{
	uint8_t buf[LAB_BLOCK];

	lab_ck_build_dir(buf, recs->rec, recs->count);
	return lab_ck_write(ck, block, buf);
}

/* A record that was found, and the block it is in. */
struct found_rec {
	uint8_t buf[LAB_BLOCK]; /* the names are here */
	struct lab_ck_recs recs;
	uint32_t block;
	unsigned at; /* its index in recs */
};

/* Looks for the record of a name, or where that is NULL, of an inode. The first `skip` records of
 * the directory do not count. 1: found; 0: there is none. */
static int find_rec(struct lab_ck *ck, uint32_t dir, unsigned skip, const char *name, uint32_t ino,
		    struct found_rec *f)
{
	struct lab_inode node;
	int rc = lab_ck_get_inode(ck, dir, &node);

	for (uint32_t i = 0; !rc && i < node.size / LAB_BLOCK; i++) {
		rc = load(ck, &node, i, f->buf, &f->recs, &f->block);
		for (f->at = i ? 0 : skip; !rc && f->at < f->recs.count; f->at++) {
			const struct lab_ck_rec *rec = &f->recs.rec[f->at];

			if (name ? lab_ck_rec_is(rec, name) : rec->ino == ino)
				return 1;
		}
	}
	return rc;
}

int lab_ck_dir_find(struct lab_ck *ck, uint32_t dir, const char *name, uint32_t *ino)
{
	struct found_rec f;
	int rc = find_rec(ck, dir, 0, name, 0, &f);

	*ino = rc > 0 ? f.recs.rec[f.at].ino : 0;
	return rc > 0 ? 0 : rc;
}

static unsigned room(const struct lab_ck_recs *recs)
{
	unsigned used = 0;

	for (unsigned i = 0; i < recs->count; i++)
		used += LAB_DIRENT_LEN(recs->rec[i].name_len);
	return LAB_BLOCK - used;
}

static int append_block(struct lab_ck *ck, struct lab_inode *node, const struct lab_ck_recs *recs)
{
	uint32_t block;
	int rc = lab_ck_alloc_block(ck, &block);

	if (rc)
		return rc;
	rc = lab_ck_map_set(ck, node, (uint32_t)(node->size / LAB_BLOCK), block);
	if (rc) {
		lab_ck_unclaim(ck, block);
		return rc;
	}
	node->blocks++;
	node->size += LAB_BLOCK;
	return store(ck, block, recs);
}

int lab_ck_dir_add(struct lab_ck *ck, uint32_t dir, const char *name, uint32_t ino, uint32_t *hint)
{
	struct lab_ck_rec add = { ino, 0, (uint8_t)strlen(name), ck->ino[ino].type, name };
	struct lab_ck_recs recs;
	struct lab_inode node;
	uint8_t buf[LAB_BLOCK];
	uint32_t block;
	int put, rc = lab_ck_get_inode(ck, dir, &node);

	for (; !rc && *hint < node.size / LAB_BLOCK; ++*hint) {
		rc = load(ck, &node, *hint, buf, &recs, &block);
		if (rc || room(&recs) < LAB_DIRENT_LEN(add.name_len))
			continue;
		recs.rec[recs.count++] = add;
		return store(ck, block, &recs);
	}
	if (rc)
		return rc;
	recs.count = 1;
	recs.rec[0] = add;
	rc = append_block(ck, &node, &recs);
	/* A failure may have left an indirect block in the tree; that is correct if it is
	 * counted. */
	put = rc && rc != -ENOSPC ? 0 : lab_ck_put_inode(ck, dir, &node);
	return rc ? rc : put;
}

int lab_ck_dir_drop(struct lab_ck *ck, uint32_t dir, uint32_t ino, const char *name)
{
	struct found_rec f;
	struct lab_ck_rec *rec;
	int rc = find_rec(ck, dir, 2, name, ino, &f); /* never "." and ".." */

	if (rc <= 0)
		return rc;
	rec = &f.recs.rec[f.at];
	memmove(rec, rec + 1, (f.recs.count - f.at - 1) * sizeof(*rec));
	f.recs.count--;
	return store(ck, f.block, &f.recs);
}

int lab_ck_dir_set_dotdot(struct lab_ck *ck, uint32_t dir, uint32_t parent)
{
	struct lab_ck_recs recs;
	struct lab_inode node;
	uint8_t buf[LAB_BLOCK];
	uint32_t block;
	int rc = lab_ck_get_inode(ck, dir, &node);

	if (!rc)
		rc = load(ck, &node, 0, buf, &recs, &block);
	if (rc || recs.count < 2)
		return rc;
	ck->ino[dir].dotdot = parent;
	recs.rec[1].ino = parent;
	return store(ck, block, &recs);
}

int lab_ck_dir_make(struct lab_ck *ck, uint32_t ino, uint32_t parent)
{
	struct lab_inode node = {
		.mode = S_IFDIR | 0755, .nlink = 2, .size = LAB_BLOCK, .blocks = 1
	};
	struct lab_ck_recs recs = { .count = 2 };
	int rc = lab_ck_alloc_block(ck, &node.ptr[0]);

	if (rc)
		return rc;
	recs.rec[0] = (struct lab_ck_rec){ ino, 0, 1, DIR_TYPE, "." };
	recs.rec[1] = (struct lab_ck_rec){ parent, 0, 2, DIR_TYPE, ".." };
	rc = store(ck, node.ptr[0], &recs);
	if (rc)
		return rc;
	node.atime_ns = node.mtime_ns = node.ctime_ns = (int64_t)ck->host->now_ns(ck->host->ctx);
	ck->ino[ino] = (struct lab_ck_ino){ .type = DIR_TYPE, .dotdot = parent };
	return lab_ck_put_inode(ck, ino, &node);
}
