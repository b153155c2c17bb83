/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_corrupt: mounts of a disk on which one bit was flipped, after a workload that has ended
 * well. The mount may refuse, reads may fail, the tree may be another one. But nothing may die or
 * hang (then the parent sees it), and a library whose contract says that what it reads has
 * checksums (AS_PROMISE_CHECKSUMS) may not hand out the flipped bit as data.
 *
 * Method. Each flip is on a copy of the sound disk, in a chunk that is not all zeros. What is read
 * wrong and is no garbage (an older version of a file, say) is told from it by reading once more
 * with that bit mended: garbage is what makes the tree right then.
 */
#include "child/child_priv.h"

#include "base/array.h"
#include "base/choice.h"
#include "disk/cow.h"
#include "model/compare.h"
#include "target/facts.h"
#include "vfs/vfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR 512u
#define CHUNK 4096u

/* ---- Mending --------------------------------------------------------------------------------- */

struct mender {
	struct as_vfs *vfs;
	const char *path;
	uint64_t at;
	uint8_t flip;
};

static int mender_stat(void *ctx, const char *path, struct as_stat *st)
{
	struct mender *m = ctx;

	return as_vfs_tree(m->vfs)->stat(m->vfs, path, st);
}

static int mender_list(void *ctx, const char *path, as_fill_fn fill, void *fill_ctx)
{
	struct mender *m = ctx;

	return as_vfs_tree(m->vfs)->list(m->vfs, path, fill, fill_ctx);
}

static int64_t mender_readlink(void *ctx, const char *path, char *buf, size_t len)
{
	struct mender *m = ctx;

	return as_vfs_tree(m->vfs)->readlink(m->vfs, path, buf, len);
}

static int64_t mender_read(void *ctx, const char *path, void *buf, size_t len, uint64_t off)
{
	struct mender *m = ctx;
	int64_t n = as_vfs_tree(m->vfs)->read(m->vfs, path, buf, len, off);

	if (n > 0 && !strcmp(path, m->path) && m->at >= off && m->at < off + (uint64_t)n)
		((unsigned char *)buf)[m->at - off] ^= m->flip;
	return n;
}

static int64_t mender_listxattr(void *ctx, const char *path, char *buf, size_t len)
{
	struct mender *m = ctx;

	return as_vfs_tree(m->vfs)->listxattr(m->vfs, path, buf, len);
}

static int64_t mender_getxattr(void *ctx, const char *path, const char *name, void *buf, size_t len)
{
	struct mender *m = ctx;

	return as_vfs_tree(m->vfs)->getxattr(m->vfs, path, name, buf, len);
}

static const struct as_tree_ops mender_ops = {
	.stat = mender_stat,
	.list = mender_list,
	.readlink = mender_readlink,
	.read = mender_read,
	.listxattr = mender_listxattr,
	.getxattr = mender_getxattr,
};

/* ---- One flip -------------------------------------------------------------------------------- */

struct used {
	uint64_t *chunks;
	size_t n, cap;
};

static int note_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	struct used *used = ctx;

	(void)data;
	AS_ARRAY_ROOM(used->chunks, used->n, used->cap);
	used->chunks[used->n++] = index;
	return 0;
}

/* False: there is nothing on the disk. */
static bool flip(struct child *c, const struct used *used, struct as_choice *choice)
{
	struct as_bd *bd = as_medium_bd(c->disk);
	unsigned char sector[SECTOR];
	char line[96];
	uint64_t at;
	unsigned bit;

	at = used->chunks[as_choose(choice, (unsigned)used->n)] * CHUNK + as_choose(choice, CHUNK);
	bit = as_choose(choice, 8);
	if (at >= bd->size_bytes || as_bd_read(bd, at / SECTOR * SECTOR, sector, SECTOR))
		return false;
	sector[at % SECTOR] ^= (unsigned char)(1u << bit);
	snprintf(line, sizeof(line), "bit %u of byte %llu of the disk was flipped before the mount",
		 bit, (unsigned long long)at);
	c->sh->log.total_bytes = 0;
	as_host_log_add(&c->sh->log, line);
	return !as_bd_write(bd, at / SECTOR * SECTOR, sector, SECTOR);
}

/* "/a: byte at offset 7 is 0x01, model says 0x00": whether that bit alone is wrong. */
static bool is_garbage(struct child *c, const char *why)
{
	struct mender mender = { .vfs = as_instance_vfs(c->instance) };
	const char *words = strstr(why, ": byte at offset ");
	unsigned long long at;
	struct as_buf again = { 0 };
	unsigned is, want;
	char *path;
	bool mended;

	if (!words ||
	    sscanf(words, ": byte at offset %llu is 0x%x, model says 0x%x", &at, &is, &want) != 3 ||
	    __builtin_popcount(is ^ want) != 1)
		return false;
	path = as_xstrndup(why, (size_t)(words - why));
	mender.path = path;
	mender.at = at;
	mender.flip = (uint8_t)(is ^ want);
	mended = !as_model_compare(c->model, &mender_ops, &mender, &again);
	free(path);
	as_buf_free(&again);
	return mended;
}

static void try_flip(struct child *c, bool checksums)
{
	struct as_vfs *vfs = as_instance_vfs(c->instance);
	struct as_buf why = { 0 };

	as_child_enter(c, PHASE_CORRUPT);
	if (as_instance_mount(c->instance))
		return;
	if (as_model_compare(c->model, as_vfs_tree(vfs), vfs, &why) && checksums &&
	    is_garbage(c, as_buf_str(&why))) {
		as_buf_adds(&why, "; that bit was flipped on the disk, and the contract says that "
				  "there are checksums");
		as_child_found(c, AS_FIND_DATA, -1, as_phase_name(c->sh->phase), as_buf_str(&why));
		snprintf(c->sh->signature, sizeof(c->sh->signature),
			 "data: a flipped bit is read as data");
	}
	as_child_enter(c, PHASE_CORRUPT);
	/* Of a damaged disk, an error is as good an answer as another. */
	if (as_instance_unmount(c->instance))
		as_buf_clear(&why);
	as_buf_free(&why);
}

void as_child_corrupt(struct child *c)
{
	const struct as_run_options *o = c->args->options;
	struct as_chooser *chooser;
	struct as_disk *disk, *sound;
	struct used used = { 0 };
	bool checksums;

	if (!o->corrupt || c->blind || !as_instance_can(c->instance, AS_INSTANCE_MEMORY))
		return;
	checksums = as_target_contract(c->args->target).promises & AS_PROMISE_CHECKSUMS;
	chooser = as_chooser_seeded(as_seq_digest(c->args->seq).lo ^ o->seed);
	disk = as_medium_disk(c->disk);
	sound = as_disk_snapshot(disk);
	(void)as_disk_each(disk, note_chunk, &used);
	for (unsigned i = 0; i < o->corrupt && used.n && !c->sh->found; i++) {
		if (flip(c, &used, as_chooser_choice(chooser)))
			try_flip(c, checksums);
		as_disk_restore(disk, sound);
	}
	as_disk_free(sound);
	as_chooser_free(chooser);
	free(used.chunks);
	if (!c->sh->found)
		c->sh->log.total_bytes = 0;
}
