/* SPDX-License-Identifier: GPL-2.0-or-later */
/* footprint: see footprint.h. */
#include "model/footprint.h"

#include <errno.h>

#define UNKNOWN UINT64_MAX
#define MOST ((uint64_t)1 << 50) /* of what lies above it nothing is said */

enum {
	OWN_BLOCKS = 4, /* that a file may have besides its data */
	RUN_BLOCKS = 6, /* that each run may have: pointers of three levels at both of its ends, */
	BLOCK_BLOCKS = 3, /* and that a block of data may have */
	DATA_SHARE =
		16, /* of so many blocks of data, one more: leaves of extents that are not full */
};

static uint64_t block_of(const struct as_model *m)
{
	return m->traits->block_bytes ? m->traits->block_bytes : 4096;
}

static void add(struct as_inode *inode, uint64_t len)
{
	inode->reg.kept = len > UNKNOWN - inode->reg.kept ? UNKNOWN : inode->reg.kept + len;
}

void as_footprint_keep(const struct as_model *m, struct as_inode *inode, uint64_t len)
{
	/* What xfs allocates after the end stays with a file that preallocates. */
	add(inode, m->traits->space & AS_SPACE_AHEAD ? UNKNOWN : len);
	as_footprint_edges(m, inode, 2);
}

void as_footprint_edges(const struct as_model *m, struct as_inode *inode, unsigned n)
{
	add(inode, n * block_of(m));
}

void as_footprint_grow(const struct as_model *m, struct as_inode *inode, uint64_t off)
{
	if (m->traits->space & AS_SPACE_AHEAD && inode->reg.size && off > inode->reg.size)
		add(inode, off - inode->reg.size);
}

void as_footprint_doubt(struct as_model *m, uint32_t ino)
{
	struct as_inode *inode = as_vec_edit(&m->inodes, ino, as_inode_dup, as_inode_put);

	if (is_reg(inode))
		add(inode, UNKNOWN);
}

/* A call that is refused, or done in part, may have allocated more than it wrote: ext4 keeps the
 * blocks that a direct write got before it was found to be misaligned. */
static bool left_more(const struct as_op *op, const struct as_outcome *got)
{
	enum as_changes changes = as_op_table[op->code].changes;

	if (changes != AS_CHANGES_DATA && changes != AS_CHANGES_PAGES &&
	    changes != AS_CHANGES_WRITTEN)
		return false;
	return got->ret < 0 ? got->err != EBADF : got->ret && (uint64_t)got->ret < op->len;
}

void as_footprint_answer(struct as_model *m, const struct as_op *op, const struct as_outcome *got)
{
	const struct as_file *file = left_more(op, got) ? as_file_at(m, op->fd) : NULL;

	if (file)
		as_footprint_doubt(m, file->ino);
	/* What was allocated, and not written yet, may be there after a power cut. */
	m->cramped |= op->code == AS_OP_CRASH;
	switch (got->ret < 0 ? got->err : 0) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EIO:
	case ENOMEM:
	case EINTR:
		m->cramped = true;
		break;
	default:
		break;
	}
}

uint64_t as_footprint_data(const struct as_inode *inode, uint64_t off, uint64_t len, uint64_t block)
{
	uint64_t next = 0, n = 0; /* the first block that is not counted yet */
	uint32_t i = 0, runs = inode->reg.runs ? inode->reg.runs->n : 0;
	bool taken = !len;

	while (i < runs || !taken) {
		const struct as_data_run *run = i < runs ? &inode->reg.runs->run[i] : NULL;
		bool mine = !taken && (!run || off < run->start);
		uint64_t start = mine ? off : run->start, end = start + (mine ? len : run->len);
		uint64_t first = start / block, last = (end - 1) / block;

		first = first > next ? first : next;
		if (last >= first) {
			n += last - first + 1;
			next = last + 1;
		}
		taken |= mine;
		i += !mine;
	}
	return n * block;
}

bool as_model_footprint(const struct as_model *m, uint32_t ino, struct as_footprint *most)
{
	const struct as_inode *inode = inode_at(m, ino);
	uint64_t block = block_of(m), n, runs, map;

	if (m->cramped || m->lost || !inode || !is_reg(inode) || inode->xattrs ||
	    inode->flags & INODE_LOOSE || inode->reg.kept > MOST ||
	    m->traits->quirks & AS_QUIRK_OWN_VIEWS)
		return false;
	n = as_footprint_data(inode, 0, 0, block) / block;
	runs = inode->reg.runs ? inode->reg.runs->n : 0;
	if (n > MOST / block)
		return false;
	map = runs * RUN_BLOCKS < n * BLOCK_BLOCKS ? runs * RUN_BLOCKS : n * BLOCK_BLOCKS;
	most->empty_bytes = OWN_BLOCKS * block + inode->reg.kept;
	most->bytes = (n + n / DATA_SHARE + map) * block + most->empty_bytes;
	return true;
}
