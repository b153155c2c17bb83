/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bounds: see bounds.h. */
#include "vfs/bounds.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define SPARE 4 /* 1/SPARE of what is free may be used */

void as_vfs_bind(struct as_vfs *vfs, struct as_bounds *bounds)
{
	vfs->bounds = bounds;
}

/* The stat of the operation's path, or of its descriptor; false: there is nothing to ask. */
static bool look(struct as_vfs *vfs, const struct as_op *op, struct as_stat *st)
{
	struct as_op ask = as_op_make(op->path ? AS_OP_STAT : AS_OP_FSTAT);
	struct as_outcome out = { 0 };

	ask.path = op->path;
	ask.fd = op->fd;
	vfs->ops->op[ask.code](vfs, &ask, &out);
	*st = out.st;
	return out.ret >= 0 && out.payload == AS_PAYLOAD_STAT;
}

static uint64_t growth(struct as_vfs *vfs, const struct as_op *op)
{
	struct as_stat st;

	if ((int64_t)op->len < 0 || !look(vfs, op, &st) || !S_ISREG(st.mode))
		return 0;
	if (op->code == AS_OP_ENLARGE)
		return op->len;
	return op->len > st.size ? op->len - st.size : 0;
}

static uint64_t bytes_of(struct as_vfs *vfs, const struct as_bounds *b, const struct as_op *op)
{
	uint64_t mode = op->flags & ~(uint64_t)FALLOC_FL_KEEP_SIZE;
	struct as_stat st;

	switch (as_op_table[op->code].cost.bytes) {
	case AS_COST_BYTES_LEN:
		return op->len;
	case AS_COST_BYTES_SPAN:
		/* The kernel refuses a negative length. */
		return (int64_t)op->len < 0 || mode == FALLOC_FL_PUNCH_HOLE ||
				       mode == FALLOC_FL_COLLAPSE_RANGE
			       ? 0
			       : op->len;
	case AS_COST_BYTES_SOURCE:
		if (!look(vfs, op, &st))
			return 0;
		return op->len < st.size ? op->len : st.size;
	case AS_COST_BYTES_GROWTH:
		return b->holes_cost ? growth(vfs, op) : 0;
	default:
		return 0;
	}
}

static uint64_t entries_of(struct as_vfs *vfs, const struct as_op *op)
{
	struct as_stat st;

	switch (as_op_table[op->code].cost.entries) {
	case AS_COST_ENTRIES_ONE:
		return op->code != AS_OP_OPEN || op->flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY));
	case AS_COST_ENTRIES_COUNT:
		return op->code == AS_OP_ENLARGE && (!look(vfs, op, &st) || !S_ISDIR(st.mode))
			       ? 0
			       : op->len;
	default:
		return 0;
	}
}

struct as_bounds_cost as_bounds_cost(struct as_vfs *vfs, const struct as_bounds *b,
				     const struct as_op *op)
{
	return (struct as_bounds_cost){ bytes_of(vfs, b, op), entries_of(vfs, op) };
}

bool as_bounds_allow(const struct as_bounds *b, const struct as_bounds_cost *cost)
{
	return cost->bytes <= b->bytes && cost->entries <= b->entries;
}

void as_bounds_charge(struct as_bounds *b, const struct as_bounds_cost *cost,
		      const struct as_op *op, const struct as_outcome *out)
{
	if (out->ret >= 0)
		b->bytes -= cost->bytes;
	if (as_op_table[op->code].cost.entries == AS_COST_ENTRIES_COUNT)
		b->entries -= out->done < cost->entries ? out->done : cost->entries;
	else if (out->ret >= 0)
		b->entries -= cost->entries;
}

void as_bounds_spare(struct as_bounds *b, const char *path)
{
	/* File systems without holes: they write zeros when a file grows. */
	static const uint32_t full[] = { MSDOS_SUPER_MAGIC, EXFAT_SUPER_MAGIC, 0x482b /* hfs+ */ };
	struct statfs sfs;
	uint64_t spare;

	if (statfs(path, &sfs))
		return;
	spare = (uint64_t)sfs.f_bavail * (uint64_t)sfs.f_bsize / SPARE;
	/* Some report no sizes at all. */
	if (sfs.f_blocks && spare < b->bytes)
		b->bytes = spare;
	if (sfs.f_files && (uint64_t)sfs.f_ffree / SPARE < b->entries)
		b->entries = (uint64_t)sfs.f_ffree / SPARE;
	for (size_t i = 0; i < sizeof(full) / sizeof(full[0]); i++)
		b->holes_cost |= (uint32_t)sfs.f_type == full[i];
}
