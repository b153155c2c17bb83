/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checker: mkfs and the checkers of the table of file system types (fstype.def), run on disks of
 * ours. Each program is loaded once and stays ready (see tool.h), so that checking the next disk
 * costs a fork.
 */
#ifndef AS_TOOL_CHECKER_H
#define AS_TOOL_CHECKER_H

#include "base/err.h"
#include "disk/cow.h"
#include "target/fstype.h"
#include "tool/tool.h"

/* The programs that were needed so far. */
struct as_checkers;

struct as_checked {
	/* By its exit status (target/checker_exit.c); a signal or the deadline is AS_CHECK_FAILED. */
	enum as_check_answer answer;
	struct as_tool_result run;
};

/* setup may be NULL; its envp is not used, the table has its own. */
struct as_checkers *as_checkers_new(const struct as_tool_setup *setup);
/* Takes NULL. Must come before the end of the chunk stores of the disks that were checked. */
void as_checkers_free(struct as_checkers *checkers);

/*
 * Runs the checker of a type on a disk, which stays as it is: checked->run.disk is the recovered
 * one. A type without a checker is AS_EUSE; a program that is not here, or is static, is AS_ELACK.
 * flags: enum as_tool_flags. To be freed also after an error.
 */
AS_MUST_CHECK int as_checker_run(struct as_checkers *checkers, const struct as_fstype *type,
				 enum as_check_mode mode, struct as_disk *disk, unsigned flags,
				 struct as_checked *checked, struct as_err *err);
/* Makes a file system of that type. One that mkfs refuses to make is AS_EUSE, with its words. */
AS_MUST_CHECK int as_checker_mkfs(struct as_checkers *checkers, const struct as_fstype *type,
				  struct as_disk *disk, struct as_tool_result *result,
				  struct as_err *err);
void as_checked_free(struct as_checked *checked);
/* Of the next as_checker_run(): see struct as_tool_job. */
void as_checkers_fail_read(struct as_checkers *checkers, uint64_t nth);

/* "clean", "died of SIGSEGV", "killed after 60000 ms": how a run ended, for a person. */
void as_checker_describe(const struct as_checked *checked, struct as_buf *out);

#endif
