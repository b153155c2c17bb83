/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * traits: see traits.h. A library's come from its table. A directory's come from the rows below,
 * found by the magic number of statfs(2); a type without a row gets the careful one at the end,
 * which expects little and allows much.
 */
#include "run/traits.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FALLOC_BASIC (AS_FEAT_FALLOC_ALLOC | AS_FEAT_FALLOC_KEEP | AS_FEAT_FALLOC_PUNCH)
#define FALLOC_ALL \
	(FALLOC_BASIC | AS_FEAT_FALLOC_ZERO | AS_FEAT_FALLOC_COLLAPSE | AS_FEAT_FALLOC_INSERT)
#define RENAME_ALL (AS_FEAT_RENAME_NOREPLACE | AS_FEAT_RENAME_EXCHANGE | AS_FEAT_RENAME_WHITEOUT)
#define POSIX_ALL                                                                             \
	(AS_FEAT_HARDLINK | AS_FEAT_SYMLINK | AS_FEAT_MKNOD | AS_FEAT_OWNER | AS_FEAT_TIMES | \
	 AS_FEAT_SPARSE | AS_FEAT_MMAP)
#define XATTR_ALL (AS_FEAT_XATTR_USER | AS_FEAT_XATTR_TRUSTED | AS_FEAT_XATTR_SECURITY)

/* ---- Libraries ------------------------------------------------------------------------------- */

static const struct {
	uint32_t cap;
	uint64_t features;
} cap_features[] = {
	{ AS_CAP_HARDLINK, AS_FEAT_HARDLINK },
	{ AS_CAP_SYMLINK, AS_FEAT_SYMLINK },
	{ AS_CAP_MKNOD, AS_FEAT_MKNOD },
	{ AS_CAP_XATTR, XATTR_ALL },
	{ AS_CAP_FALLOCATE, AS_FEAT_FALLOC_ALLOC | AS_FEAT_FALLOC_KEEP },
	{ AS_CAP_PUNCH, AS_FEAT_FALLOC_PUNCH | AS_FEAT_FALLOC_ZERO },
	{ AS_CAP_SHIFT, AS_FEAT_FALLOC_COLLAPSE | AS_FEAT_FALLOC_INSERT },
	{ AS_CAP_RENAME2, RENAME_ALL },
	{ AS_CAP_TMPFILE, AS_FEAT_TMPFILE },
	{ AS_CAP_OWNER, AS_FEAT_OWNER },
	{ AS_CAP_TIMES, AS_FEAT_TIMES },
};

static void library_traits(const struct as_target *target, struct as_traits *traits)
{
	uint32_t caps = as_target_library(target)->caps;

	/* The executor reads and writes in place of mappings, and ignores O_DIRECT. */
	traits->features =
		AS_FEAT_MOUNT | AS_FEAT_LIBRARY | AS_FEAT_SPARSE | AS_FEAT_MMAP | AS_FEAT_DIRECT;
	for (size_t i = 0; i < sizeof(cap_features) / sizeof(cap_features[0]); i++)
		if (caps & cap_features[i].cap)
			traits->features |= cap_features[i].features;
	/* A whiteout is a node. */
	if (!(caps & AS_CAP_MKNOD))
		traits->features &= ~(uint64_t)AS_FEAT_RENAME_WHITEOUT;
	traits->quirks = AS_QUIRK_NO_ATIME | AS_QUIRK_HOLE_IS_DATA;
	if (!(caps & AS_CAP_OPEN_UNLINKED))
		traits->quirks |= AS_QUIRK_NO_OPEN_UNLINKED;
}

/* ---- Directories ----------------------------------------------------------------------------- */

struct fs_row {
	const char *name;
	int64_t magic;
	uint64_t features, quirks;
	uint32_t link_max, dir_link_max, symlink_max, xattr_value_max;
	uint64_t size_max_bytes;
	int64_t time_granularity_ns;
};

#define EXT4_MAX_BYTES ((uint64_t)0xfffffffe << 12)

static const struct fs_row fs_rows[] = {
	{ "tmpfs", TMPFS_MAGIC,
	  POSIX_ALL | FALLOC_BASIC | RENAME_ALL | AS_FEAT_TMPFILE | XATTR_ALL | AS_FEAT_DIRECT, 0,
	  0, 0, 4095, 0, INT64_MAX, 1 },
	{ "ext4", EXT4_SUPER_MAGIC,
	  POSIX_ALL | FALLOC_ALL | RENAME_ALL | AS_FEAT_TMPFILE | XATTR_ALL | AS_FEAT_DIRECT,
	  AS_QUIRK_FALLOC_TOUCHES, 65000, 0, 4095, 0, EXT4_MAX_BYTES, 1 },
	{ "xfs", XFS_SUPER_MAGIC,
	  POSIX_ALL | FALLOC_ALL | RENAME_ALL | AS_FEAT_TMPFILE | XATTR_ALL | AS_FEAT_DIRECT, 0, 0,
	  0, 1023, 0, INT64_MAX, 1 },
	{ "btrfs", BTRFS_SUPER_MAGIC,
	  POSIX_ALL | FALLOC_BASIC | AS_FEAT_FALLOC_ZERO | RENAME_ALL | AS_FEAT_TMPFILE |
		  XATTR_ALL | AS_FEAT_DIRECT,
	  AS_QUIRK_DIR_NLINK_ONE, 0, 0, 3900, 0, INT64_MAX, 1 },
	{ "other", 0, POSIX_ALL | AS_FEAT_RENAME_NOREPLACE,
	  AS_QUIRK_DIR_NLINK_ANY | AS_QUIRK_ERR_ORDER, 0, 0, 4095, 0, INT64_MAX, 1 },
};

static void dir_traits(const struct as_target *target, struct as_traits *traits)
{
	const struct fs_row *row = fs_rows;
	struct statfs sfs = { 0 };

	if (statfs(as_target_dir(target), &sfs))
		sfs.f_bsize = 4096;
	while (row->magic && row->magic != (int64_t)sfs.f_type)
		row++;
	traits->features = row->features;
	/* Security modules label files; access times depend on mount options. */
	traits->quirks = row->quirks | AS_QUIRK_NO_ATIME | AS_QUIRK_XATTR_PART_REPORTED;
	traits->link_max = row->link_max;
	traits->dir_link_max = row->dir_link_max;
	traits->symlink_max = row->symlink_max;
	traits->xattr_value_max = row->xattr_value_max;
	traits->size_max = row->size_max_bytes;
	traits->time_granularity_ns = row->time_granularity_ns;
	traits->block_bytes = (uint32_t)sfs.f_bsize;
	if (geteuid())
		traits->features |= AS_FEAT_UNPRIVILEGED;
}

void as_run_traits(const struct as_target *target, struct as_traits *traits)
{
	struct as_limits limits = as_target_limits(target);

	*traits = (struct as_traits){
		.name = as_target_name(target),
		.name_max = limits.name_max ? limits.name_max : 255,
		.link_max = limits.link_max,
		.dir_link_max = limits.dir_link_max,
		.symlink_max = limits.symlink_max ? limits.symlink_max : 4095,
		.xattr_value_max = limits.xattr_bytes,
		.block_bytes = as_target_block_bytes(target),
		.size_max = limits.file_bytes ? limits.file_bytes : INT64_MAX,
		.time_granularity_ns = 1,
		.may_fill = true,
	};
	if (as_target_library(target))
		library_traits(target, traits);
	else
		dir_traits(target, traits);
}
