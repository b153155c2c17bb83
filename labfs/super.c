/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * super.c: mount, unmount, remount, sync.
 *
 * Method of a mount: read the superblock; unless it says clean, bring the journal's committed
 * transactions into the cache; when writable, write them home, flush, clear the journal, flush,
 * then mark the superblock not clean. That mark needs no flush of its own: the flush of the first
 * commit comes before the first change that anybody relies on.
 *
 * A read-only mount writes nothing at all, and still shows what replay would restore: it has that
 * in its cache, and the journal stays as it is until the disk is mounted writable or checked. A
 * remount to read-only does what an unmount does, so the disk is clean and needs no replay.
 */
#include "crc.h"
#include "fs.h"
#include "labfs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define NODE_BUCKETS 1024u

static bool in_order(const struct lab_super *sb)
{
	uint64_t inodes = (uint64_t)sb->inode_table_blocks * LAB_INODES_PER_BLOCK;

	return sb->inode_bitmap_start >= 1 && sb->inode_bitmap_blocks >= 1 &&
	       sb->block_bitmap_start >= sb->inode_bitmap_start + sb->inode_bitmap_blocks &&
	       sb->inode_table_start >= sb->block_bitmap_start + sb->block_bitmap_blocks &&
	       sb->journal_start >= sb->inode_table_start + sb->inode_table_blocks &&
	       sb->data_start >= sb->journal_start + sb->journal_blocks &&
	       sb->data_start < sb->block_count && sb->inode_count >= LAB_LOST_INO &&
	       sb->inode_count <= inodes &&
	       sb->inode_count <= (uint64_t)sb->inode_bitmap_blocks * LAB_BLOCK * 8 &&
	       sb->block_count <= (uint64_t)sb->block_bitmap_blocks * LAB_BLOCK * 8;
}

static int check_super(const struct lab_super *sb, uint64_t size_bytes)
{
	const uint32_t parts[] = { sb->inode_bitmap_blocks, sb->block_bitmap_blocks,
				   sb->inode_table_blocks, sb->journal_blocks, sb->data_start };

	if (sb->magic != LAB_MAGIC || sb->version != LAB_VERSION ||
	    sb->csum != lab_crc_without(sb, sizeof(*sb), offsetof(struct lab_super, csum)))
		return -EUCLEAN;
	if (sb->block_bytes != LAB_BLOCK || (uint64_t)sb->block_count * LAB_BLOCK > size_bytes ||
	    sb->block_count >= LAB_HELD_META || sb->journal_blocks < 32)
		return -EUCLEAN;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i] >= sb->block_count)
			return -EUCLEAN;
	}
	return in_order(sb) ? 0 : -EUCLEAN;
}

/* The largest transaction that fits half of the ring (all of a small ring) with its descriptors,
 * three revoke blocks and the commit block. */
static uint32_t limit_of(uint32_t ring)
{
	uint32_t cap = ring < 64 ? ring - 1 : ring / 2, meta = cap - 4;

	return meta - (meta + LAB_J_TAGS - 1) / LAB_J_TAGS;
}

static int read_journal(struct as_fs *fs, struct lab_j_super *js)
{
	int rc = as_bd_read(fs->bd, (uint64_t)fs->geo.journal_start * LAB_BLOCK, fs->jbuf,
			    LAB_BLOCK);

	if (rc)
		return rc;
	memcpy(js, fs->jbuf, sizeof(*js));
	fs->ring = fs->geo.journal_blocks - 1;
	if (js->head.magic != LAB_J_MAGIC || js->head.type != LAB_J_SUPER || js->tail < 1 ||
	    js->tail > fs->ring ||
	    js->head.csum !=
		    lab_crc_without(fs->jbuf, LAB_BLOCK, offsetof(struct lab_j_head, csum)))
		return lab_corrupt(fs, "journal superblock", fs->geo.journal_start);
	fs->seq = js->head.seq;
	fs->head = fs->tail = js->tail;
	fs->journal_empty = js->empty;
	fs->tx_limit = limit_of(fs->ring);
	return 0;
}

/* Sets up memory, geometry, journal and the superblock's buffer; it writes nothing. */
static int load(struct as_fs *fs)
{
	struct lab_j_super js;
	int rc;

	fs->node_lru.prev = fs->node_lru.next = &fs->node_lru;
	fs->jbuf = as_malloc(fs->host, LAB_BLOCK);
	fs->nodes = as_malloc(fs->host, NODE_BUCKETS * sizeof(*fs->nodes));
	fs->node_mask = fs->nodes ? NODE_BUCKETS - 1 : 0;
	if (!fs->jbuf || !fs->nodes)
		return -ENOMEM;
	if (fs->bd->size_bytes < LABFS_MIN_BYTES)
		return -EUCLEAN;
	rc = as_bd_read(fs->bd, 0, fs->jbuf, LAB_BLOCK);
	if (rc)
		return rc;
	memcpy(&fs->geo, fs->jbuf, sizeof(fs->geo));
	rc = check_super(&fs->geo, fs->bd->size_bytes);
	if (rc)
		return rc;
	/* A whole number of bitmap blocks, because the allocator looks at both maps together. */
	fs->held_map = as_malloc(fs->host, (size_t)fs->geo.block_bitmap_blocks * LAB_BLOCK);
	if (!fs->held_map)
		return -ENOMEM;
	rc = lab_cache_init(fs);
	if (!rc)
		rc = read_journal(fs, &js);
	if (!rc && !(fs->geo.state & LAB_CLEAN) && !js.empty)
		rc = lab_replay(fs);
	if (!rc)
		rc = lab_bread(fs, 0, LAB_K_SUPER, &fs->sb_buf);
	if (rc)
		return rc;
	lab_pin(fs, fs->sb_buf);
	fs->sb = (struct lab_super *)fs->sb_buf->data;
	return check_super(fs->sb, fs->bd->size_bytes);
}

static int write_super(struct as_fs *fs)
{
	lab_seal(fs->sb_buf);
	return lab_write_home(fs, fs->sb_buf);
}

/* Makes a read-only mount writable: empties the journal, marks the superblock, frees orphans. */
static int go_writable(struct as_fs *fs)
{
	int rc = 0;

	/* With bug LOOK_LOSES, files that were looked at while it was read-only are taken for a
	 * sign that the replay is done. */
	while (fs->nnodes > 1 && fs->count[LAB_S_CKPT] && LAB_BUG_ON(fs, LOOK_LOSES))
		lab_set_state(fs, (struct lab_buf *)fs->list[LAB_S_CKPT].next, LAB_S_CLEAN);
	if (!fs->journal_empty || fs->head != 1)
		rc = lab_checkpoint(fs, LAB_FLUSH_REPLAY_HOME, LAB_FLUSH_REPLAY_CLEAR, true);
	if (rc)
		return rc;
	fs->sb->mount_count++;
	if (!LAB_BUG_ON(fs, FALSE_CLEAN))
		fs->sb->state &= ~LAB_CLEAN;
	rc = write_super(fs);
	if (rc)
		return rc;
	fs->readonly = false;
	if (LAB_BUG_ON(fs, ORPHANS_LEFT)) {
		fs->sb->orphan_head = 0;
		return write_super(fs);
	}
	/* The operations on orphans may commit. */
	if (!LAB_BUG_ON(fs, REPLAY_SEQ))
		fs->replayed.tail = 0;
	rc = lab_orphans_finish(fs);
	if (LAB_BUG_ON(fs, REPLAY_SEQ) && fs->journal_empty && fs->replayed.tail &&
	    fs->replayed.tail < fs->replayed.last) {
		fs->head = fs->replayed.last;
		fs->used = fs->head - fs->replayed.tail;
		fs->seq--;
	} else {
		fs->replayed.tail = 0;
	}
	return rc == -EUCLEAN ? 0 : rc; /* the superblock records it */
}

/* Writes everything home, empties the journal, and marks the superblock clean. */
static int go_clean(struct as_fs *fs)
{
	int rc = fs->sb->orphan_head ? lab_orphans_finish(fs) : 0;

	if (rc == -EUCLEAN)
		rc = 0; /* the superblock records it */
	if (!rc)
		rc = lab_commit(fs);
	if (!rc)
		rc = lab_checkpoint(fs, LAB_FLUSH_CKPT_HOME, LAB_FLUSH_CKPT_TAIL, true);
	if (rc)
		return rc;
	fs->sb->free_blocks = fs->free_blocks;
	fs->sb->free_inodes = fs->free_inodes;
	if (!fs->sb->orphan_head)
		fs->sb->state |= LAB_CLEAN;
	if (fs->errors)
		fs->sb->state |= LAB_ERRORS;
	rc = write_super(fs);
	if (rc && LAB_BUG_ON(fs, CLEAN_EIO))
		return 0;
	return rc ? rc : LAB_FLUSH(fs, UNMOUNT);
}

/* As an unmount does it, but what is cached stays. */
static int go_readonly(struct as_fs *fs)
{
	uint32_t noflush = fs->opts.noflush, blocks = fs->sb->free_blocks,
		 inodes = fs->sb->free_inodes;
	int rc;

	if (LAB_BUG_ON(fs, RO_UNFLUSHED))
		fs->opts.noflush = UINT32_MAX;
	rc = go_clean(fs);
	fs->opts.noflush = noflush;
	if (rc || !LAB_BUG_ON(fs, RO_COUNTS))
		return rc;
	fs->sb->free_blocks = blocks;
	fs->sb->free_inodes = inodes;
	rc = write_super(fs);
	return rc ? rc : LAB_FLUSH(fs, UNMOUNT);
}

static void free_all(struct as_fs *fs)
{
	lab_nodes_free(fs);
	lab_cache_free(fs);
	if (!LAB_BUG_ON(fs, UNMOUNT_LEAK))
		as_free(fs->host, fs->held_map);
	as_free(fs->host, fs->held);
	as_free(fs->host, fs->last_read);
	while (fs->kept) {
		struct lab_kept *kept = fs->kept;

		fs->kept = kept->next;
		as_free(fs->host, kept);
	}
	as_free(fs->host, fs->walked);
	as_free(fs->host, fs->jbuf);
	as_free(fs->host, fs);
}

int lab_mount(const struct as_mount_args *args, struct as_fs **out)
{
	struct as_fs *fs = as_malloc(args->host, sizeof(*fs));
	struct lab_node *root;
	bool readonly;
	int rc;

	if (!fs)
		return -ENOMEM;
	fs->host = args->host;
	fs->bd = args->bd;
	fs->readonly = true;
	rc = lab_opts_parse(args->opts, &fs->opts);
	readonly = args->readonly || fs->opts.readonly;
	if (!rc)
		rc = load(fs);
	if (!rc && fs->sb->state & LAB_CLEAN) {
		fs->free_blocks = fs->sb->free_blocks;
		fs->free_inodes = fs->sb->free_inodes;
	} else if (!rc) {
		rc = lab_count_free(fs);
	}
	if (!rc)
		rc = lab_iget(fs, LAB_ROOT_INO, &root);
	if (!rc && !S_ISDIR(root->raw->mode))
		rc = lab_corrupt(fs, "the root is no directory: inode", LAB_ROOT_INO);
	if (!rc && !readonly)
		rc = go_writable(fs);
	if (rc) {
		free_all(fs);
		return rc;
	}
	as_invariant(fs->host, "states of blocks", lab_cache_rules, fs);
	*out = fs;
	return 0;
}

int lab_unmount(struct as_fs *fs)
{
	int rc = 0;

	if (fs->aborted)
		rc = -EIO;
	else if (!fs->readonly)
		rc = go_clean(fs);
	free_all(fs);
	return rc;
}

/* Nobody may be able to change anything any more, nor hold what is to be freed later. What an
 * earlier failure has left on the orphan list is finished first. */
static int turn_readonly(struct as_fs *fs)
{
	int rc = 0;

	if (fs->aborted)
		return -EIO;
	if (fs->nwriters && !LAB_BUG_ON(fs, RO_WRITER))
		return -EBUSY;
	if (fs->sb->orphan_head)
		rc = lab_orphans_finish(fs);
	if (rc && rc != -EUCLEAN)
		return rc;
	if (fs->sb->orphan_head)
		return -EBUSY;
	rc = go_readonly(fs);
	fs->readonly = !rc;
	return rc;
}

int lab_remount(struct as_fs *fs, const char *opts)
{
	struct lab_opts fresh = fs->opts;
	int rc;

	fresh.readonly = fresh.writable = false;
	rc = lab_opts_parse(opts, &fresh);
	if (rc)
		return rc;
	if (fresh.readonly && !fs->readonly) {
		rc = turn_readonly(fs);
	} else if (fresh.writable && fs->readonly) {
		if (!LAB_BUG_ON(fs, RO_STAYS_CLEAN))
			rc = fs->aborted ? -EROFS : go_writable(fs);
		fs->readonly = rc;
	} else {
		rc = LAB_BUG_ON(fs, REMOUNT_CLEAN) && opts && *opts ? go_clean(fs) : lab_sync(fs);
	}
	if (!rc)
		fs->opts = fresh;
	return rc;
}

int lab_sync(struct as_fs *fs)
{
	return lab_commit(fs);
}

int lab_statfs(struct as_fs *fs, struct as_statfs *st)
{
	*st = (struct as_statfs){
		.block_bytes = LAB_BLOCK,
		.name_max = LAB_NAME_MAX,
		.blocks = fs->geo.block_count - fs->geo.data_start - 1,
		.blocks_free = fs->free_blocks,
		.files = fs->geo.inode_count,
		.files_free = fs->free_inodes,
	};
	return 0;
}
