/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checker: runs mkfs and the checkers of the table of file system types (target/fstype.def) on
 * disks of ours. Each program is loaded once and stays ready (see tool.h), so that checking the
 * next disk costs a fork. What an exit status means is in target/checker.def.
 */
#ifndef AS_TOOL_CHECKER_H
#define AS_TOOL_CHECKER_H

#include "base/err.h"
#include "disk/cow.h"
#include "target/fstype.h"
#include "tool/tool.h"

/* The programs that were needed so far, loaded. */
struct as_checkers;

struct as_checked {
	/* By its exit status (target/checker.def); after a signal or at the deadline it is
	 * AS_CHECK_FAILED. */
	enum as_check_answer answer;
	struct as_tool_result run;
};

/* setup may be NULL. Its envp is not used: the table has its own. */
struct as_checkers *as_checkers_new(const struct as_tool_setup *setup);
/* Takes NULL. It must be called before the chunk stores of the checked disks are freed. */
void as_checkers_free(struct as_checkers *checkers);

/*
 * Runs the checker of a type on a disk, which is not changed: checked->run.disk is the recovered
 * disk. AS_EUSE: the type has no checker. AS_ELACK: the program is not installed, or it is static.
 * flags: enum as_tool_flags. *checked must be freed also after an error.
 */
AS_MUST_CHECK int as_checker_run(struct as_checkers *checkers, const struct as_fstype *type,
				 enum as_check_mode mode, struct as_disk *disk, unsigned flags,
				 struct as_checked *checked, struct as_err *err);
/* Makes a file system of that type. AS_EUSE: mkfs refuses to; the message has its words. */
AS_MUST_CHECK int as_checker_mkfs(struct as_checkers *checkers, const struct as_fstype *type,
				  struct as_disk *disk, struct as_tool_result *result,
				  struct as_err *err);
void as_checked_free(struct as_checked *checked);
/* Sets fail_read of the next as_checker_run(): see struct as_tool_job. */
void as_checkers_fail_read(struct as_checkers *checkers, uint64_t nth);

/* How a run ended, for people: "clean", "died of SIGSEGV", "killed after 60000 ms". */
void as_checker_describe(const struct as_checked *checked, struct as_buf *out);

#endif
