/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys_back: write-back between operations, on a mount of our own. The kernel may write what its
 * caches have whenever it likes, in parts and in any order. It does so after seconds, and a
 * workload takes milliseconds, so most power cuts would meet a disk on which nothing was written
 * but what was asked for. Here it is a choice: the pages of one file, or a part of them; the blocks
 * of the device; all of it, by a commit; or all that the device has, with a flush. No answer of an
 * operation, and no promise, depends on it.
 */
#include "mount/mount.h"
#include "vfs/sys_priv.h"

#include <fcntl.h>
#include <unistd.h>

#define PART_BYTES 4096u
#define PARTS 8u

/* Some of the pages of an open file: all, or from some page on, or one page. */
static void write_file(struct as_sys *s, struct as_choice *choice)
{
	unsigned open[AS_SLOT_MAX + 1], n = 0;
	off_t off, len;

	for (unsigned i = 0; i <= AS_SLOT_MAX; i++)
		if (s->slots[i] >= 0)
			open[n++] = i;
	if (!n)
		return;
	off = as_choose(choice, 2) ? PART_BYTES * as_choose(choice, PARTS) : 0;
	len = as_choose(choice, 2) ? PART_BYTES : 0;
	(void)sync_file_range(s->slots[open[as_choose(choice, n)]], off, len,
			      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				      SYNC_FILE_RANGE_WAIT_AFTER);
}

static void write_device(struct as_sys *s, struct as_choice *choice)
{
	(void)choice;
	as_mount_write_back(s->mount, false);
}

static void flush_device(struct as_sys *s, struct as_choice *choice)
{
	(void)choice;
	as_mount_write_back(s->mount, true);
}

static void commit(struct as_sys *s, struct as_choice *choice)
{
	(void)choice;
	if (s->root_fd >= 0)
		(void)syncfs(s->root_fd);
}

static const struct {
	unsigned weight;
	void (*fn)(struct as_sys *s, struct as_choice *choice); /* NULL: nothing is written */
} ways[] = {
	{ 6, NULL }, { 5, write_file }, { 3, write_device }, { 1, commit }, { 1, flush_device },
};

#define WEIGHTS 16u

void as_sys_write_back(struct as_vfs *vfs, struct as_choice *choice)
{
	struct as_sys *s = (struct as_sys *)vfs;
	unsigned at = as_choose(choice, WEIGHTS), i = 0;

	if (!as_mount_mounted(s->mount))
		return;
	while (at >= ways[i].weight)
		at -= ways[i++].weight;
	if (ways[i].fn)
		ways[i].fn(s, choice);
}
