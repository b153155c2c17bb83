/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * traits: see traits.h. A library's come from its table, those of a type of the kernel from its
 * row in target/fstype.def, a directory's from the row with the magic number that statfs(2)
 * gives; a type without a row gets the careful one, which expects little and allows much.
 */
#include "vfs/traits.h"

#include "target/facts.h"
#include "work/op.h"

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
#define FLAGS_DUMP_ATIME (AS_FS_NODUMP_FL | AS_FS_NOATIME_FL)
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
	{ AS_CAP_READONLY, AS_FEAT_READONLY | AS_FEAT_TURNS },
};

#define PROMISE(flag, name, trait)
#define MEANS(flag, name, quirks) { AS_MEANS_##flag, quirks },
static const struct {
	uint32_t means;
	uint64_t quirks;
} means_quirks[] = {
#include "target/promise.def"
};
#undef PROMISE
#undef MEANS

static void take_caps(const struct as_target_traits *known, struct as_traits *traits)
{
	uint32_t caps = known->caps;

	/* The executor reads and writes in place of mappings, and ignores O_DIRECT. */
	traits->features =
		AS_FEAT_MOUNT | AS_FEAT_LIBRARY | AS_FEAT_SPARSE | AS_FEAT_MMAP | AS_FEAT_DIRECT;
	for (size_t i = 0; i < sizeof(cap_features) / sizeof(cap_features[0]); i++)
		if (caps & cap_features[i].cap)
			traits->features |= cap_features[i].features;
	/* A whiteout is a node. */
	if (!(caps & AS_CAP_MKNOD))
		traits->features &= ~(uint64_t)AS_FEAT_RENAME_WHITEOUT;
	traits->dio_align = 1;
	traits->space = caps & AS_CAP_STATFS && caps & AS_CAP_EXACT_SPACE ? AS_SPACE_ALL : 0;
	/* Whoever punches holes has them. */
	if (traits->space && caps & AS_CAP_PUNCH)
		traits->space |= AS_SPACE_FILES;
	if (traits->space)
		traits->space |= AS_SPACE_ROOM;
	traits->stamps = caps & AS_CAP_STAMPS ? AS_STAMPS_ALL : 0;
	traits->quirks = AS_QUIRK_NO_ATIME;
	if (!(caps & AS_CAP_OPEN_UNLINKED))
		traits->quirks |= AS_QUIRK_NO_OPEN_UNLINKED;
	for (size_t i = 0; i < sizeof(means_quirks) / sizeof(means_quirks[0]); i++)
		if (known->semantics & means_quirks[i].means)
			traits->quirks |= means_quirks[i].quirks;
	traits->busy_errno = known->busy_errno;
}

/* ---- File systems of the kernel ------------------------------------------------------------ */

/* Of each type, from target/fstype.def; fields left out are 0. */
struct as_fs_traits {
	int64_t magic; /* of statfs(2); 0: not to be found by it */
	uint64_t features, quirks;
	uint64_t maybe; /* depends on the driver or its version */
	uint64_t lacks; /* features that it does not have, or a variant takes from the type */
	uint32_t name_max; /* 0: 255 */
	uint32_t link_max, dir_link_max;
	uint32_t symlink_max; /* 0: what one block holds */
	uint32_t xattr_value_max;
	uint64_t size_max_bytes, size_max_blocks; /* the smaller one; 0: none */
	uint32_t dio_align; /* 0: a page where the row has AS_FEAT_DIRECT, else no promise */
	int64_t time_granularity_ns, atime_granularity_ns; /* atime: 0: the same */
	/* 0: it frees later (xfs, btrfs, f2fs, nilfs2), or its counts are not known well enough */
	uint8_t space;
	uint8_t stamps; /* 0: how its times move is not known well enough to be judged */
	int64_t time_min_s, time_max_s; /* s_time_min and s_time_max of the driver */
	uint8_t flags_handed_on; /* of AS_FEAT_FLAGS: what new inodes take from their directory */
	uint8_t quota;
	uint32_t quota_own;
	uint32_t shift_bytes; /* what COLLAPSE_RANGE moves by; 0: blocks */
};

#define DIO_SAFE 4096 /* what every disk is content with */

#define UNPACK(...) __VA_ARGS__
#define FSTYPE(id, how, traits) { UNPACK traits },

/*
 * Of every FUSE server: the kernel keeps no link count of directories, asks servers for one flag of
 * rename at most, has no O_TMPFILE for them, and seeks holes only where the server does. It is not
 * asked to remount them.
 */
#define FUSE_QUIRKS (AS_QUIRK_DIR_NLINK_ANY)
#define FUSE2FS_TRAITS                                                                             \
	(.features = POSIX_ALL | XATTR_ALL | FALLOC_BASIC, .maybe = AS_FEAT_DIRECT,                \
	 .lacks = AS_FEAT_READONLY | AS_FEAT_TURNS,                                                \
	 .quirks = FUSE_QUIRKS | AS_QUIRK_MKDIR_022 | AS_QUIRK_XATTR_LAX | AS_QUIRK_FALLOC_EINVAL, \
	 .link_max = 65000, .dir_link_max = 65000, .time_granularity_ns = 1)
#define NTFS3G_TRAITS                                                             \
	(.features = POSIX_ALL | XATTR_ALL, .maybe = AS_FEAT_DIRECT,              \
	 .lacks = AS_FEAT_READONLY | AS_FEAT_TURNS,                               \
	 .quirks = FUSE_QUIRKS | AS_QUIRK_FREE_FILES_ANY | AS_QUIRK_CREATE_0777 | \
		   AS_QUIRK_LISTS_USER,                                           \
	 .link_max = 1024, .symlink_max = 4095, .time_granularity_ns = 100)

static const struct as_fs_traits kernel_rows[] = {
#include "target/fstype.def"
};

#define NROWS (sizeof(kernel_rows) / sizeof(kernel_rows[0]))

/* What each variant (target/variant.def) puts in place of the row's, or adds to it. */
#define VARIANT(type, id, how, traits) { UNPACK traits },
static const struct as_fs_traits variant_rows[] = {
#include "target/variant.def"
};

#define NVARIANTS (sizeof(variant_rows) / sizeof(variant_rows[0]))

static const struct as_fs_traits tmpfs_row = {
	.magic = TMPFS_MAGIC,
	.features = POSIX_ALL | FALLOC_BASIC | RENAME_ALL | AS_FEAT_TMPFILE | XATTR_ALL |
		    AS_FEAT_ACL | AS_FEAT_HANDLE | AS_FEAT_DIRECT,
	/* Since Linux 6.6: SHMEM_FL_USER_MODIFIABLE, SHMEM_FL_INHERITED. */
	.maybe = AS_FEAT_FLAGS,
	.flags_handed_on = FLAGS_DUMP_ATIME,
	.symlink_max = 4095,
	.space = AS_SPACE_FILES,
	.dio_align = 1, /* since Linux 6.6: the page cache is its medium */
	.time_granularity_ns = 1,
	.stamps = AS_STAMPS_ALL,
};

/* A type that we know nothing of. */
static const struct as_fs_traits careful_row = {
	.features = POSIX_ALL,
	.quirks = AS_QUIRK_DIR_NLINK_ANY | AS_QUIRK_FALLOC_TOUCHES | AS_QUIRK_WHITEOUT_TOUCHES |
		  AS_QUIRK_RENAME_TOUCHES | AS_QUIRK_UNLINK_TOUCHES,
	.maybe = RENAME_ALL | FALLOC_ALL | XATTR_ALL | AS_FEAT_DIRECT | AS_FEAT_TMPFILE |
		 AS_FEAT_CLONE | AS_FEAT_ACL /* overlay has what is below it */,
	.symlink_max = 4095,
	.time_granularity_ns = 1,
};

/* A server that we know nothing of. */
static const struct as_fs_traits fuse_row = {
	.magic = FUSE_SUPER_MAGIC,
	.features = POSIX_ALL,
	.quirks = FUSE_QUIRKS,
	.maybe = AS_FEAT_RENAME_NOREPLACE | AS_FEAT_RENAME_EXCHANGE | FALLOC_ALL | XATTR_ALL |
		 AS_FEAT_DIRECT | AS_FEAT_TMPFILE,
	.symlink_max = 4095,
	.time_granularity_ns = 1,
};

static const struct as_fs_traits *row_of_magic(int64_t magic)
{
	for (size_t i = 0; i < NROWS; i++)
		if (kernel_rows[i].magic && kernel_rows[i].magic == magic)
			return &kernel_rows[i];
	if (magic == fuse_row.magic)
		return &fuse_row;
	return magic == tmpfs_row.magic ? &tmpfs_row : &careful_row;
}

static void take_row(const struct as_fs_traits *row, uint32_t block_bytes, struct as_traits *traits)
{
	uint64_t by_blocks = row->size_max_blocks * block_bytes;

	traits->features = row->features;
	traits->maybe = row->maybe;
	/* Security modules label files; access times depend on mount options. */
	traits->quirks = row->quirks | AS_QUIRK_NO_ATIME | AS_QUIRK_XATTR_PART_REPORTED;
	traits->name_max = row->name_max ? row->name_max : 255;
	traits->link_max = row->link_max;
	traits->dir_link_max = row->dir_link_max;
	traits->symlink_max = row->symlink_max	   ? row->symlink_max
			      : block_bytes < 4096 ? block_bytes - 1
						   : 4095;
	traits->xattr_value_max = row->xattr_value_max;
	traits->size_max = row->size_max_bytes ? row->size_max_bytes : INT64_MAX;
	if (by_blocks && by_blocks < traits->size_max)
		traits->size_max = by_blocks;
	traits->dio_align = row->dio_align;
	if (!traits->dio_align && row->features & AS_FEAT_DIRECT)
		traits->dio_align = DIO_SAFE;
	traits->stamps = row->stamps;
	traits->space = row->space;
	traits->quota = row->quota;
	traits->quota_own = row->quota_own;
	traits->time_granularity_ns = row->time_granularity_ns;
	traits->atime_granularity_ns = row->atime_granularity_ns;
	traits->time_min_s = row->time_min_s;
	traits->time_max_s = row->time_max_s;
	traits->flags_handed_on = row->flags_handed_on;
	traits->block_bytes = row->shift_bytes ? row->shift_bytes : block_bytes;
}

static void note_user(struct as_traits *traits)
{
	if (geteuid())
		traits->features |= AS_FEAT_UNPRIVILEGED;
}

static void take_place(const struct as_target_traits *known, struct as_traits *traits)
{
	take_row(row_of_magic(known->place.magic), known->place.block_bytes, traits);
	/* Its disk may have been made without shared blocks (xfs: reflink=0). */
	traits->maybe |= traits->features & AS_FEAT_CLONE;
	traits->features &= ~(uint64_t)AS_FEAT_CLONE;
	/* The disk under it may have larger sectors than ours. */
	if (traits->dio_align > 1 && traits->dio_align < DIO_SAFE)
		traits->dio_align = DIO_SAFE;
	note_user(traits);
}

static void vary(struct as_fs_traits *row, const struct as_fs_traits *by)
{
	row->features = (row->features | by->features) & ~by->lacks;
	row->quirks |= by->quirks;
	row->maybe |= by->maybe;
	row->quota |= by->quota;
	row->quota_own += by->quota_own;
	row->symlink_max = by->symlink_max ? by->symlink_max : row->symlink_max;
	row->dio_align = by->dio_align ? by->dio_align : row->dio_align;
	row->shift_bytes = by->shift_bytes ? by->shift_bytes : row->shift_bytes;
	if (by->time_granularity_ns)
		row->time_granularity_ns = by->time_granularity_ns;
	if (by->time_max_s) {
		row->time_min_s = by->time_min_s;
		row->time_max_s = by->time_max_s;
	}
}

static void take_type(const struct as_target_traits *known, struct as_traits *traits)
{
	struct as_fs_traits row = kernel_rows[known->row];

	for (unsigned i = 0; i < NVARIANTS; i++)
		if (as_variants_has(&known->variants, i))
			vary(&row, &variant_rows[i]);
	take_row(&row, traits->block_bytes, traits);
	traits->features |= AS_FEAT_MOUNT | AS_FEAT_READONLY | AS_FEAT_TURNS;
	traits->features &= ~row.lacks;
	note_user(traits);
}

static void take_server(const struct as_target_traits *known, struct as_traits *traits)
{
	(void)known;
	take_row(&fuse_row, traits->block_bytes, traits);
	traits->features |= AS_FEAT_MOUNT;
	note_user(traits);
}

static void (*const take[AS_TRAITS_SOURCES])(const struct as_target_traits *known,
					     struct as_traits *traits) = {
	[AS_TRAITS_CAPS] = take_caps,
	[AS_TRAITS_ROW] = take_type,
	[AS_TRAITS_SERVER] = take_server,
	[AS_TRAITS_PLACE] = take_place,
};

/* Whether a word stands among options that are separated by commas. */
static bool says(const char *opts, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = opts; (at = strstr(at, word)); at += len)
		if ((at == opts || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

void as_run_traits(const struct as_target *target, struct as_traits *traits)
{
	struct as_target_traits known = as_target_traits(target);
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
	take[known.source](&known, traits);
	if (says(as_target_opts(target), "noacl"))
		traits->features &= ~(uint64_t)AS_FEAT_ACL;
}
