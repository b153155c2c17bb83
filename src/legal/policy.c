/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy: see policy.h. The target says what it promises (target/facts.h); the table below says how
 * mount options change it.
 */
#include "legal/policy.h"

#include "target/facts.h"

#include <string.h>

/* Words of mount(8) and of the manual pages ext4(5), xfs(5), btrfs(5), and of the kernel's
 * Documentation/filesystems/. */
enum effect {
	JOURNAL,
	ORDERED,
	WRITEBACK,
	SYNC,
	DIRSYNC,
	ASYNC,
	VOID, /* no flushes, or no log: nothing is promised */
	KEPT, /* flushes are made again */
	LIGHT, /* fsync writes less ... */
	HEAVY, /* ... or all that it has to do with */
	WHOLE, /* a commit waits for all data ... */
	PARTS, /* ... or not */
	IN_PLACE, /* data is written over where it is ... */
	ELSEWHERE, /* ... or never */
	REPLACES, /* a rename waits until the file's size is known ... */
	SHORTENS, /* ... or not */
};

static const struct {
	const char *word;
	enum effect effect;
} options[] = {
	{ "data=journal", JOURNAL },
	{ "data=ordered", ORDERED },
	/* ext4(5): "old data to appear in files after a crash and journal recovery" */
	{ "data=writeback", WRITEBACK },
	/* gfs2 and ocfs2 use ext3's words. nilfs2: order=strict preserves the order of all
	 * writes. */
	{ "order=strict", JOURNAL },
	{ "order=relaxed", ORDERED },
	{ "sync", SYNC },
	{ "dirsync", DIRSYNC },
	/* xfs(5): namespace operations are synchronous */
	{ "wsync", DIRSYNC },
	{ "async", ASYNC },
	{ "barrier=0", VOID },
	{ "nobarrier", VOID },
	{ "barrier=none", VOID },
	{ "fsync_mode=nobarrier", VOID },
	{ "barrier=1", KEPT },
	{ "barrier", KEPT },
	{ "barrier=flush", KEPT },
	/* jfs: "do not write to the journal"; reiserfs: "turn off journalling"; ext4: mount without
	 * loading the journal; f2fs: no recovery of what was fsynced, no checkpoints. */
	{ "nointegrity", VOID },
	{ "nolog", VOID },
	{ "noload", VOID },
	{ "norecovery", VOID },
	{ "disable_roll_forward", VOID },
	{ "checkpoint=disable", VOID },
	/* Documentation/admin-guide/ext4.rst: the commit block may be written before the rest of
	 * its transaction; it needs checksums to be safe. */
	{ "journal_async_commit", WRITEBACK },
	/* Documentation/filesystems/f2fs.rst: posix "does a light operation", strict "will be heavy
	 * and behaves in line with xfs, ext4 and btrfs". */
	{ "fsync_mode=posix", LIGHT },
	{ "fsync_mode=strict", HEAVY },
	/* btrfs(5): "forces any data dirtied by a write in a prior transaction to commit as part of
	 * the current commit, effectively a full filesystem sync. This makes the committed state a
	 * fully consistent view of the file system". */
	{ "flushoncommit", WHOLE },
	{ "noflushoncommit", PARTS },
	{ "nodatacow", IN_PLACE },
	{ "datacow", ELSEWHERE },
	/* ext4(5): replace-via-rename; "avoids the zero-length problem". */
	{ "auto_da_alloc", REPLACES },
	{ "noauto_da_alloc", SHORTENS },
	{ "auto_da_alloc=0", SHORTENS },
};

static void take(struct as_policy *policy, enum effect effect)
{
	switch (effect) {
	case JOURNAL:
		policy->data = AS_DATA_JOURNAL;
		break;
	case ORDERED:
		policy->data = AS_DATA_ORDERED;
		break;
	case WRITEBACK:
		policy->data = AS_DATA_WRITEBACK;
		break;
	case SYNC:
		policy->sync = policy->dirsync = true;
		break;
	case DIRSYNC:
		policy->dirsync = true;
		break;
	case ASYNC:
		policy->sync = false;
		break;
	case VOID:
		policy->none = true;
		break;
	case KEPT:
		policy->none = false;
		break;
	case LIGHT:
	case HEAVY:
		policy->light_fsync = effect == LIGHT;
		break;
	case WHOLE:
	case PARTS:
		policy->whole_data = effect == WHOLE;
		break;
	case IN_PLACE:
	case ELSEWHERE:
		policy->in_place = effect == IN_PLACE;
		break;
	case REPLACES:
	case SHORTENS:
		policy->replaces = effect == REPLACES;
		break;
	}
}

void as_policy_mount(struct as_policy *policy, const char *opts)
{
	while (opts && *opts) {
		size_t len = strcspn(opts, ",");

		for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
			if (strlen(options[i].word) == len &&
			    strncmp(options[i].word, opts, len) == 0)
				take(policy, options[i].effect);
		opts += len;
		opts += *opts == ',';
	}
}

/* A remount sets or clears "sync" and leaves "dirsync" and "wsync" as they are: MS_RMT_MASK of
 * the kernel has no SB_DIRSYNC. A mount, also that after a power cut, begins anew with both. */
struct as_policy as_policy_after(const struct as_policy *first, const struct as_policy *mounted,
				 const struct as_policy *now, bool remounts, const char *opts)
{
	struct as_policy policy = *now;
	bool kept = remounts ? mounted->dirsync && !mounted->sync : first->dirsync;

	if (remounts && first->no_remount)
		return policy;
	policy.sync = first->sync;
	policy.dirsync = kept || first->sync;
	as_policy_mount(&policy, opts);
	if (remounts && (!policy.sync || first->late_sync))
		policy.dirsync = kept;
	return policy;
}

struct as_policy as_policy_of(const struct as_target *target)
{
	struct as_promise promise = as_target_promise(target);
	struct as_policy policy = {
		.guarantee = promise.guarantee,
		.none = promise.crash & AS_CRASH_NOTHING,
		.data = promise.crash & AS_CRASH_STALE ? AS_DATA_WRITEBACK : AS_DATA_ORDERED,
		.fsync_names = promise.crash & AS_CRASH_NAMES,
		.fdatasync_names =
			promise.crash & AS_CRASH_NAMES && !(promise.crash & AS_CRASH_DATA_ALONE),
		.light_fsync = promise.crash & AS_CRASH_LIGHT_FSYNC,
		.replaces = promise.crash & AS_CRASH_REPLACES,
		.dirsync = promise.crash & AS_CRASH_NAMES_NOW,
		.at_close = promise.crash & AS_CRASH_AT_CLOSE,
		.whole_files = promise.crash & AS_CRASH_WHOLE_FILES,
		.times = promise.crash & AS_CRASH_TIMES,
		.blocks = promise.crash & AS_CRASH_BLOCKS,
		.map_anew = promise.crash & AS_CRASH_MAP_ANEW,
		.copies_ahead = promise.crash & AS_CRASH_COPIES_AHEAD,
		.lost_found = promise.crash & AS_CRASH_RESCUES,
		.makes_found = promise.crash & AS_CRASH_MAKES_FOUND,
		.no_remount = promise.crash & AS_CRASH_NO_REMOUNT,
		.late_sync = promise.crash & AS_CRASH_LATE_SYNC,
		.apart = promise.crash & AS_CRASH_APART,
		.redo_differs = promise.crash & AS_CRASH_REDO_DIFFERS,
		.block_bytes = as_target_block_bytes(target),
	};

	as_policy_mount(&policy, promise.mount);
	as_policy_mount(&policy, as_target_opts(target));
	return policy;
}
