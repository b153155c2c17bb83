/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_ext_journal: the journal of ext3 and ext4 (jbd2): its superblock, and the blocks that begin
 * with its magic: descriptors with their tags, revoked blocks, commits. Old ones are shown, too,
 * since a checker whose journal begins at a damaged place meets them.
 */
#include "layout/walk/walk_ext_priv.h"

#include "base/crc.h"

#define JOURNAL_MAGIC 0xc03b3998u
#define JOURNAL_TAGS_MAX 65536u

enum { J_DESCRIPTOR = 1, J_COMMIT = 2, J_SUPER_V1 = 3, J_SUPER_V2 = 4, J_REVOKE = 5 };
enum { J_64BIT = 2, J_CSUM_V2 = 8, J_CSUM_V3 = 16 };
enum { TAG_SAME_UUID = 2, TAG_LAST = 8 };

struct ext_journal {
	struct ext_walk *e;
	uint32_t features, seed, tag_bytes;
	bool csum;
};

static void emit(struct ext_journal *j, const char *structure, uint64_t off, uint64_t len,
		 const char *instance, uint32_t seal)
{
	struct as_walk_at at = {
		.structure = structure, .off = off, .len = len, .instance = instance, .seal = seal
	};

	as_walk_emit(j->e->walk, &at);
}

/* Of a block whose checksum is at byte `at` of it. */
static uint32_t block_seal(struct ext_journal *j, uint64_t off, uint64_t at)
{
	struct as_seal seal = { .init = j->seed };

	if (!j->csum)
		return 0;
	as_seal_whole(&seal, off, j->e->block_bytes, off + at, 4, true);
	return as_walk_seal(j->e->walk, &seal);
}

static bool journal_super(struct ext_journal *j, uint64_t off)
{
	struct as_disk_walk *w = j->e->walk;
	uint64_t kind = as_walk_be(w, off + 4, 4);
	struct as_seal seal = { .init = UINT32_MAX };
	unsigned char uuid[16];
	uint32_t sealed = 0;

	if (as_walk_be(w, off, 4) != JOURNAL_MAGIC || (kind != J_SUPER_V1 && kind != J_SUPER_V2)) {
		as_walk_complain(w, "the journal has no superblock");
		return false;
	}
	j->features = kind == J_SUPER_V2 ? (uint32_t)as_walk_be(w, off + 40, 4) : 0;
	j->csum = j->features & (J_CSUM_V2 | J_CSUM_V3);
	as_walk_read(w, off + 48, uuid, sizeof(uuid));
	j->seed = as_crc32c(UINT32_MAX, uuid, sizeof(uuid));
	j->tag_bytes = j->features & J_CSUM_V3 ? 16 : j->features & J_64BIT ? 12 : 8;
	as_walk_set(w, EXT_TAG_BYTES, j->tag_bytes);
	if (j->csum) {
		as_seal_whole(&seal, off, 1024, off + 252, 4, true);
		sealed = as_walk_seal(w, &seal);
	}
	emit(j, "journal_super", off, 0, "journal superblock", sealed);
	return true;
}

static void descriptor(struct ext_journal *j, uint64_t off, const char *name)
{
	struct as_disk_walk *w = j->e->walk;
	uint64_t end = j->e->block_bytes - (j->csum ? 4 : 0), pos = 12, flags = 0;
	uint32_t seal = block_seal(j, off, j->e->block_bytes - 4);

	emit(j, "journal_descriptor", off, 0, as_walk_text(w, "journal descriptor %s", name), seal);
	for (unsigned i = 0; pos + j->tag_bytes <= end && i < JOURNAL_TAGS_MAX; i++) {
		emit(j, "journal_tag", off + pos, 0,
		     as_walk_text(w, "tag %u of journal descriptor %s", i, name), seal);
		flags = j->features & J_CSUM_V3 ? as_walk_be(w, off + pos + 4, 4)
						: as_walk_be(w, off + pos + 6, 2);
		pos += j->tag_bytes + (flags & TAG_SAME_UUID ? 0 : 16);
		if (flags & TAG_LAST)
			break;
	}
}

static void revoked(struct ext_journal *j, uint64_t off, const char *name)
{
	struct as_disk_walk *w = j->e->walk;
	uint64_t end = as_walk_be(w, off + 12, 4), step = j->features & J_64BIT ? 8 : 4;
	uint32_t seal = block_seal(j, off, j->e->block_bytes - 4);

	emit(j, "journal_revoke", off, 0, as_walk_text(w, "journal revoke block %s", name), seal);
	if (end > j->e->block_bytes)
		end = j->e->block_bytes;
	for (uint64_t pos = 16; pos + step <= end; pos += step)
		emit(j, "journal_revoked", off + pos + step - 4, 0,
		     as_walk_text(w, "revoked block at byte %llu of journal block %s",
				  (unsigned long long)pos, name),
		     seal);
}

static void journal_block(struct ext_journal *j, uint64_t off, uint64_t at)
{
	struct as_disk_walk *w = j->e->walk;
	const char *name;

	if (as_walk_be(w, off, 4) != JOURNAL_MAGIC)
		return;
	name = as_walk_text(w, "%llu (transaction %llu)", (unsigned long long)at,
			    (unsigned long long)as_walk_be(w, off + 8, 4));
	switch (as_walk_be(w, off + 4, 4)) {
	case J_DESCRIPTOR:
		descriptor(j, off, name);
		break;
	case J_COMMIT:
		emit(j, "journal_commit", off, 0, as_walk_text(w, "journal commit block %s", name),
		     block_seal(j, off, 16));
		break;
	case J_REVOKE:
		revoked(j, off, name);
		break;
	default:
		break;
	}
}

void as_ext_journal(struct ext_walk *e, const struct ext_runs *runs)
{
	struct ext_journal j = { .e = e };

	if (!runs->n || runs->run[0].at || !journal_super(&j, runs->run[0].block * e->block_bytes))
		return;
	for (size_t i = 0; i < runs->n; i++)
		for (uint64_t k = i ? 0 : 1; k < runs->run[i].n; k++)
			journal_block(&j, (runs->run[i].block + k) * e->block_bytes,
				      runs->run[i].at + k);
}
