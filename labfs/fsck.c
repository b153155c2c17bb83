/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck.c: the checker of labfs: which passes run, and what it answers.
 *
 *	pass 0   superblock                     fsck_super.c
 *	journal  replay                         fsck_journal.c     (replay mode ends here)
 *	         default mode ends here if nothing contradicts the superblock's LAB_CLEAN
 *	pass 1   inodes and blocks, orphans     fsck_pass1.c, fsck_xattr.c
 *	pass 2   directories                    fsck_pass2.c
 *	pass 3   connectivity                   fsck_pass3.c
 *	pass 4   link counts                    fsck_pass4.c
 *	pass 5   bitmaps, counts, backup        fsck_pass4.c
 *	commit   repairs to the disk            fsck_commit.c
 *
 * Invariants
 *   1. One run is enough: no pass undoes what an earlier one established, so that a second run
 *      finds nothing and writes nothing (unless the disk was too full to repair all).
 *   2. A read or write error or a failed allocation ends the run with AS_FSCK_OPERATIONAL; by then
 *      nothing but the journal's replay has been written, or the repair is in the journal.
 */
#include "fsck_state.h"

#include <errno.h>
#include <string.h>

static int run_passes(struct lab_ck *ck)
{
	int (*const order[])(struct lab_ck *) = { lab_ck_pass3, lab_ck_pass4 };
	bool swap = LAB_BUG_ON(ck, CK_COUNTS_FIRST);
	int rc = lab_ck_pass1(ck);

	if (!rc)
		rc = lab_ck_pass2(ck);
	if (!rc)
		rc = order[swap](ck);
	if (!rc)
		rc = order[!swap](ck);
	if (!rc)
		rc = lab_ck_pass5(ck);
	if (rc)
		return rc;
	ck->sb.state = ck->left ? LAB_ERRORS : LAB_CLEAN;
	return lab_ck_put_super(ck);
}

/* Whether anything contradicts stopping here; it is reported. */
static bool needs_check(struct lab_ck *ck)
{
	if (ck->sb.state & LAB_ERRORS && !ck->restored) {
		LAB_CK_PROBLEM(ck, SUPER_ERRORS);
		return true;
	}
	if (!(ck->sb.state & LAB_CLEAN)) {
		LAB_CK_PROBLEM(ck, SUPER_UNCLEAN);
		return true;
	}
	if (ck->sb.orphan_head) {
		LAB_CK_PROBLEM(ck, CLEAN_ORPHANS, .ino = ck->sb.orphan_head);
		return true;
	}
	return ck->suspect;
}

static int run(struct lab_ck *ck, enum as_fsck_mode mode)
{
	bool needed;
	int rc = lab_ck_open(ck);

	if (!rc)
		rc = lab_ck_load_super(ck);
	if (!rc)
		rc = lab_ck_replay(ck);
	if (!rc)
		rc = lab_ck_load_super(ck);
	if (rc)
		return rc;
	ck->disk_sb = ck->sb;
	if (mode != AS_FSCK_REPLAY) {
		needed = needs_check(ck);
		ck->early = ck->problems;
		if (needed || mode == AS_FSCK_FULL)
			rc = run_passes(ck);
	}
	while (!rc && LAB_BUG_ON(ck, CK_LOOK_RESTARTS) && ck->readonly && ck->problems)
		rc = lab_ck_load_super(ck);
	return rc ? rc : lab_ck_commit(ck);
}

static int answer(struct lab_ck *ck, int rc)
{
	int code = 0;

	if (rc) {
		/* -EUCLEAN: the problem has been reported. */
		if (rc != -EUCLEAN)
			lab_ck_say(ck, "check given up: %s", strerror(-rc));
		return AS_FSCK_OPERATIONAL;
	}
	if (ck->readonly)
		code = ck->problems || ck->written ? AS_FSCK_LEFT : 0;
	else
		code = (ck->written ? AS_FSCK_REPAIRED : 0) | (ck->left ? AS_FSCK_LEFT : 0);
	if (LAB_BUG_ON(ck, CK_EXIT_ZERO) ||
	    (LAB_BUG_ON(ck, CK_EARLY_ZERO) && ck->problems == ck->early))
		code &= ~AS_FSCK_REPAIRED;
	lab_ck_say(ck, "%s, %u problems, %u of %u inodes and %u of %u blocks free",
		   code & AS_FSCK_LEFT ? "errors left"
		   : code	       ? "repaired"
				       : "clean",
		   ck->problems, ck->sb.free_inodes, ck->sb.inode_count, ck->sb.free_blocks,
		   ck->sb.block_count);
	return code;
}

int lab_fsck(const struct as_mount_args *args, enum as_fsck_mode mode)
{
	struct lab_ck *ck = as_malloc(args->host, sizeof(*ck));
	int rc;

	if (!ck)
		return AS_FSCK_OPERATIONAL;
	ck->host = args->host;
	ck->bd = args->bd;
	rc = lab_opts_parse(args->opts, &ck->opts);
	ck->readonly = args->readonly || ck->opts.readonly;
	if (!rc)
		rc = answer(ck, run(ck, mode));
	lab_ck_close(ck);
	as_free(args->host, ck);
	return rc;
}
