/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cow: copy-on-write disks (see cow.h).
 *
 * Method. A disk is a persistent radix tree with 32 children a node over the numbers of its chunks;
 * the leaves refer to chunks of the store. Nodes are counted: a node with one reference, all of
 * whose ancestors have one, belongs to one disk and is changed in place; any other is copied first.
 * A snapshot is one more reference to the root. After it, the first write to a chunk copies the
 * nodes on its way (three for a disk of 40 MiB, some 300 bytes each) and the chunk.
 *
 * Each node carries the digest of its subtree, but lazily: a write only marks slots as dirty, and
 * as_disk_digest() visits what is marked, seals the chunks it finds there, and clears the marks.
 * Sealing replaces a chunk by another with the same bytes, which no reader can see. So it is done
 * in nodes that several disks share, too: the work is done once for all of them.
 *
 * Invariants
 *   1. A NULL node is a subtree of zeros, a NULL chunk is the zero chunk.
 *   2. A node is at one place of the tree in every disk that refers to it; so its digest may depend
 *      on where it is.
 *   3. sum is the multiset sum of the contributions of all slots whose bit in `dirty` is clear. The
 *      contribution of a chunk is its digest bound to its number, that of a child its sum, that of
 *      NULL is nothing.
 *   4. Beneath a slot whose dirty bit is clear nothing is dirty, and all chunks are sealed.
 *   5. A chunk is written only in a leaf that this disk alone refers to, and then only after
 *      as_chunk_own(), and with its dirty bit set in all nodes above it.
 *   6. Bytes of the last chunk after the end of the disk are zeros.
 * Hence with no dirty bit at the root its sum is a function of the bytes of the disk alone.
 */
#include "disk/cow.h"

#include "disk/call.h"

#include <stdlib.h>
#include <string.h>

#define FAN_BITS 5u
#define FAN (1u << FAN_BITS)

struct cow_node {
	uint32_t refs;
	uint32_t dirty; /* one bit for each slot */
	struct as_digest sum;
	void *slot[FAN]; /* struct cow_node, or struct as_chunk in a leaf (shift 0) */
};

struct as_disk {
	struct as_bd bd;
	struct as_chunks *store;
	struct cow_node *root;
	unsigned top_shift; /* the root's slots each cover 1 << top_shift chunks */
};

static struct as_disk *disk_of(struct as_bd *bd)
{
	return (struct as_disk *)bd;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static void node_unref(struct as_chunks *store, struct cow_node *node, unsigned shift)
{
	if (!node || --node->refs)
		return;
	for (unsigned i = 0; i < FAN; i++) {
		if (shift)
			node_unref(store, node->slot[i], shift - FAN_BITS);
		else
			as_chunk_unref(store, node->slot[i]);
	}
	as_chunks_charge(store, -(int64_t)sizeof(*node));
	free(node);
}

/* Makes the node at *link one that may be changed in place. */
static struct cow_node *node_own(struct as_chunks *store, struct cow_node **link, unsigned shift)
{
	struct cow_node *node = *link, *copy;

	if (node && node->refs == 1)
		return node;
	as_chunks_charge(store, sizeof(*copy));
	if (!node) {
		*link = as_xcalloc(1, sizeof(*copy));
		(*link)->refs = 1;
		return *link;
	}
	copy = as_xmalloc(sizeof(*copy));
	*copy = *node;
	copy->refs = 1;
	for (unsigned i = 0; i < FAN; i++) {
		if (!shift)
			as_chunk_ref(copy->slot[i]);
		else if (copy->slot[i])
			((struct cow_node *)copy->slot[i])->refs++;
	}
	node->refs--;
	return *link = copy;
}

/* What a slot adds to its node's sum while its dirty bit is clear. */
static struct as_digest contribution(const void *slot, unsigned shift, uint64_t index)
{
	if (!slot)
		return AS_DIGEST_ZERO;
	if (shift)
		return ((const struct cow_node *)slot)->sum;
	return as_digest_bind(as_chunk_digest(slot), index);
}

static void mark_dirty(struct cow_node *node, unsigned i, unsigned shift, uint64_t index)
{
	if (node->dirty & (1u << i))
		return;
	node->sum = as_digest_sub(node->sum, contribution(node->slot[i], shift, index));
	node->dirty |= 1u << i;
}

/* Seals everything dirty below the node and updates its sum. */
static void refresh(struct as_chunks *store, struct cow_node *node, unsigned shift, uint64_t index)
{
	for (uint32_t dirty = node->dirty; dirty; dirty &= dirty - 1) {
		unsigned i = (unsigned)__builtin_ctz(dirty);
		uint64_t at = index + ((uint64_t)i << shift);

		if (!shift)
			node->slot[i] = as_chunk_seal(store, node->slot[i]);
		else if (node->slot[i])
			refresh(store, node->slot[i], shift - FAN_BITS, at);
		node->sum = as_digest_add(node->sum, contribution(node->slot[i], shift, at));
	}
	node->dirty = 0;
}

/* ---- Chunks of a disk ----------------------------------------------------------------------- */

static const struct as_chunk *chunk_at(const struct as_disk *disk, uint64_t index)
{
	const struct cow_node *node = disk->root;

	for (unsigned shift = disk->top_shift; node && shift; shift -= FAN_BITS)
		node = node->slot[(index >> shift) % FAN];
	return node ? node->slot[index % FAN] : NULL;
}

/* Finds the slot of a chunk in a leaf that only this disk refers to, and marks it dirty in all
 * nodes above. */
static struct as_chunk **chunk_slot(struct as_disk *disk, uint64_t index)
{
	struct cow_node **link = &disk->root;

	for (unsigned shift = disk->top_shift;; shift -= FAN_BITS) {
		struct cow_node *node = node_own(disk->store, link, shift);
		unsigned i = (index >> shift) % FAN;

		mark_dirty(node, i, shift, index);
		if (!shift)
			return (struct as_chunk **)&node->slot[i];
		link = (struct cow_node **)&node->slot[i];
	}
}

/* Writes part of one chunk; zeros when data is NULL. */
static void chunk_write(struct as_disk *disk, uint64_t off, const unsigned char *data, size_t len)
{
	uint64_t index = off / AS_CHUNK_BYTES;
	struct as_chunk **slot;
	unsigned char *bytes;

	if (!data && !chunk_at(disk, index))
		return;
	slot = chunk_slot(disk, index);
	*slot = as_chunk_own(disk->store, *slot, len == AS_CHUNK_BYTES);
	bytes = as_chunk_bytes(*slot) + off % AS_CHUNK_BYTES;
	if (data)
		memcpy(bytes, data, len);
	else
		memset(bytes, 0, len);
}

/* Drops the whole chunks first..end-1 below *link, whose first chunk is `index`. */
static void clear(struct as_disk *disk, struct cow_node **link, unsigned shift, uint64_t index,
		  uint64_t first, uint64_t end)
{
	struct cow_node *node;

	if (!*link)
		return;
	node = node_own(disk->store, link, shift);
	for (unsigned i = 0; i < FAN; i++) {
		uint64_t from = index + ((uint64_t)i << shift), to = from + (UINT64_C(1) << shift);

		if (to <= first || from >= end || !node->slot[i])
			continue;
		mark_dirty(node, i, shift, from);
		if (from < first || to > end) {
			clear(disk, (struct cow_node **)&node->slot[i], shift - FAN_BITS, from,
			      first, end);
			continue;
		}
		if (shift)
			node_unref(disk->store, node->slot[i], shift - FAN_BITS);
		else
			as_chunk_unref(disk->store, node->slot[i]);
		node->slot[i] = NULL;
		node->dirty &= ~(1u << i); /* NULL adds nothing to the sum, so it is clean */
	}
}

/* ---- The block device ----------------------------------------------------------------------- */

static size_t part_len(uint64_t off, uint64_t len)
{
	uint64_t left = AS_CHUNK_BYTES - off % AS_CHUNK_BYTES;

	return (size_t)(len < left ? len : left);
}

static int disk_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	int rc = as_call_check(bd, off, len);
	unsigned char *to = buf;

	while (!rc && len) {
		size_t n = part_len(off, len);
		const struct as_chunk *chunk = chunk_at(disk_of(bd), off / AS_CHUNK_BYTES);

		memcpy(to, as_chunk_data(chunk) + off % AS_CHUNK_BYTES, n);
		to += n;
		off += n;
		len -= n;
	}
	return rc;
}

static int disk_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	int rc = as_call_check(bd, off, len);
	const unsigned char *from = buf;

	while (!rc && len) {
		size_t n = part_len(off, len);

		chunk_write(disk_of(bd), off, from, n);
		from += n;
		off += n;
		len -= n;
	}
	return rc;
}

static int disk_flush(struct as_bd *bd)
{
	(void)bd;
	return 0;
}

static int disk_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	struct as_disk *disk = disk_of(bd);
	int rc = as_call_check(bd, off, len);
	uint64_t whole;

	if (rc || !len)
		return rc;
	/* The last chunk counts as whole if the range reaches the end of the disk. */
	if (off + len == bd->size_bytes)
		len += -bd->size_bytes % AS_CHUNK_BYTES;
	if (off % AS_CHUNK_BYTES) {
		size_t n = part_len(off, len);

		chunk_write(disk, off, NULL, n);
		off += n;
		len -= n;
	}
	whole = len / AS_CHUNK_BYTES;
	if (whole)
		clear(disk, &disk->root, disk->top_shift, 0, off / AS_CHUNK_BYTES,
		      off / AS_CHUNK_BYTES + whole);
	if (len % AS_CHUNK_BYTES)
		chunk_write(disk, off + whole * AS_CHUNK_BYTES, NULL, len % AS_CHUNK_BYTES);
	return 0;
}

static const struct as_bd_ops disk_ops = {
	.api = AS_BD_API,
	.name = "disk",
	.read = disk_read,
	.write = disk_write,
	.flush = disk_flush,
	.discard = disk_zero,
	.zero = disk_zero,
};

/* ---- Disks ---------------------------------------------------------------------------------- */

int as_disk_new(struct as_chunks *store, uint64_t size_bytes, struct as_disk **disk,
		struct as_err *err)
{
	uint64_t n_chunks = (size_bytes + AS_CHUNK_BYTES - 1) / AS_CHUNK_BYTES;

	*disk = NULL;
	if (!size_bytes || size_bytes % AS_DISK_SECTOR_BYTES || size_bytes > AS_DISK_MAX_BYTES)
		return as_fail(err, AS_EUSE,
			       "a disk of %llu bytes: expected a multiple of %u, from %u to %llu",
			       (unsigned long long)size_bytes, AS_DISK_SECTOR_BYTES,
			       AS_DISK_SECTOR_BYTES, (unsigned long long)AS_DISK_MAX_BYTES);
	*disk = as_xcalloc(1, sizeof(**disk));
	(*disk)->bd = (struct as_bd){ &disk_ops, size_bytes, AS_DISK_SECTOR_BYTES };
	(*disk)->store = store;
	while (n_chunks > (uint64_t)FAN << (*disk)->top_shift)
		(*disk)->top_shift += FAN_BITS;
	as_chunks_charge(store, sizeof(**disk));
	return AS_OK;
}

void as_disk_free(struct as_disk *disk)
{
	if (!disk)
		return;
	node_unref(disk->store, disk->root, disk->top_shift);
	as_chunks_charge(disk->store, -(int64_t)sizeof(*disk));
	free(disk);
}

struct as_bd *as_disk_bd(struct as_disk *disk)
{
	return &disk->bd;
}

struct as_chunks *as_disk_store(const struct as_disk *disk)
{
	return disk->store;
}

uint64_t as_disk_size(const struct as_disk *disk)
{
	return disk->bd.size_bytes;
}

struct as_disk *as_disk_snapshot(struct as_disk *disk)
{
	struct as_disk *copy = as_xmalloc(sizeof(*copy));

	*copy = *disk;
	if (copy->root)
		copy->root->refs++;
	as_chunks_charge(copy->store, sizeof(*copy));
	return copy;
}

void as_disk_restore(struct as_disk *disk, struct as_disk *from)
{
	struct cow_node *old = disk->root;

	as_assert(disk->store == from->store && disk->bd.size_bytes == from->bd.size_bytes);
	/* The new reference is taken before the old one is dropped: they may be the same. */
	disk->root = from->root;
	if (disk->root)
		disk->root->refs++;
	node_unref(disk->store, old, disk->top_shift);
}

bool as_disk_chunk_digest(const struct as_disk *disk, uint64_t off, struct as_digest *digest)
{
	const struct as_chunk *chunk = chunk_at(disk, off / AS_CHUNK_BYTES);

	if (!as_chunk_is_sealed(chunk))
		return false;
	*digest = as_chunk_digest(chunk);
	return true;
}

struct as_digest as_disk_digest(struct as_disk *disk)
{
	if (!disk->root)
		return as_digest_bind(AS_DIGEST_ZERO, disk->bd.size_bytes);
	refresh(disk->store, disk->root, disk->top_shift, 0);
	return as_digest_bind(disk->root->sum, disk->bd.size_bytes);
}

bool as_disk_eq(struct as_disk *a, struct as_disk *b)
{
	return a->bd.size_bytes == b->bd.size_bytes &&
	       as_digest_eq(as_disk_digest(a), as_disk_digest(b));
}

/* ---- Walks ---------------------------------------------------------------------------------- */

/* True when two subtrees are known to be equal without looking at them. */
static bool plainly_equal(const struct cow_node *a, const struct cow_node *b)
{
	struct as_digest sum_a = a ? a->sum : AS_DIGEST_ZERO;
	struct as_digest sum_b = b ? b->sum : AS_DIGEST_ZERO;

	return a == b || (!(a && a->dirty) && !(b && b->dirty) && as_digest_eq(sum_a, sum_b));
}

struct cow_diff {
	as_disk_diff_fn fn;
	void *ctx;
};

static int diff_nodes(const struct cow_diff *diff, const struct cow_node *a,
		      const struct cow_node *b, unsigned shift, uint64_t index)
{
	int rc = 0;

	if (plainly_equal(a, b))
		return 0;
	for (unsigned i = 0; i < FAN && !rc; i++) {
		const void *sa = a ? a->slot[i] : NULL, *sb = b ? b->slot[i] : NULL;
		uint64_t at = index + ((uint64_t)i << shift);

		if (sa == sb)
			continue;
		if (shift)
			rc = diff_nodes(diff, sa, sb, shift - FAN_BITS, at);
		else if (!as_chunk_same(sa, sb))
			rc = diff->fn(diff->ctx, at, as_chunk_data(sa), as_chunk_data(sb));
	}
	return rc;
}

int as_disk_diff(const struct as_disk *a, const struct as_disk *b, as_disk_diff_fn fn, void *ctx)
{
	const struct cow_diff diff = { fn, ctx };

	as_assert(a->bd.size_bytes == b->bd.size_bytes);
	return diff_nodes(&diff, a->root, b->root, a->top_shift, 0);
}

struct each {
	as_disk_each_fn fn;
	void *ctx;
};

static int each_diff(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	const struct each *each = ctx;

	(void)b;
	return each->fn(each->ctx, index, a);
}

int as_disk_each(struct as_disk *disk, as_disk_each_fn fn, void *ctx)
{
	struct each each = { fn, ctx };
	const struct cow_diff diff = { each_diff, &each };

	return diff_nodes(&diff, disk->root, NULL, disk->top_shift, 0);
}
