/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checker_exits: what the exit status of a checker means. Each string lists the statuses that its
 * manual page explains; with any other status, the checker could not do its work.
 */
#ifndef AS_TARGET_CHECKER_EXITS_H
#define AS_TARGET_CHECKER_EXITS_H

#define E2FSCK_EXITS                                                       \
	"0=clean 1=repaired 2=repaired 3=repaired 4=left 5=repaired+left " \
	"6=repaired+left 7=repaired+left"
#define XFS_REPAIR_N_EXITS "0=clean 1=left 2=left" /* with -n */
#define XFS_REPAIR_E_EXITS "0=clean 2=left 4=repaired" /* with -e */
#define BTRFS_EXITS "0=clean 1=left"
#define F2FS_EXITS "0=clean 1=repaired 3=repaired 4=left 5=repaired+left"
#define JFS_EXITS "0=clean 1=repaired 2=repaired 3=repaired 4=left 5=repaired+left"
#define REISER_EXITS "0=clean 1=repaired 2=repaired 4=left 6=left"
#define GFS2_EXITS "0=clean 1=repaired 2=repaired 4=left 5=repaired+left"
#define MINIX_EXITS "0=clean 3=repaired 4=left 7=repaired+left"
#define FAT_EXITS "0=clean 1=repaired"
#define EXFAT_EXITS "0=clean 1=repaired 4=left 5=repaired+left"
#define HFSPLUS_EXITS "0=clean 8=left"
#define OCFS2_EXITS "0=clean 1=repaired 2=repaired 4=left 5=repaired+left"
#define NTFSFIX_EXITS "0=clean 1=left"

enum as_check_answer {
	AS_CHECK_CLEAN,
	AS_CHECK_REPAIRED,
	AS_CHECK_REPAIRED_LEFT, /* some problems were repaired, some were left */
	AS_CHECK_LEFT, /* problems were found and left */
	AS_CHECK_FAILED, /* it could not do its work */
	AS_CHECK_ANSWERS
};

struct as_checker; /* a row's checker: fstype.h */

/* What an exit status means by the checker's table. */
enum as_check_answer as_fstype_answer(const struct as_checker *checker, int exit_status);
/* Does the same, and takes what the checker printed into account: where it repaired only what its
 * row calls harmless, the disk was clean. */
enum as_check_answer as_fstype_judge(const struct as_checker *checker, int exit_status,
				     const char *output);
/* "repaired+left", as in the strings above. */
const char *as_check_answer_name(enum as_check_answer answer);

#endif
