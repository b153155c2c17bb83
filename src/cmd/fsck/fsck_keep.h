/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_keep: what `--compare` and `--score` remember for --resume (os/frames.h), in the folder. */
#ifndef AS_CMD_FSCK_FSCK_KEEP_H
#define AS_CMD_FSCK_FSCK_KEEP_H

#include "cli/cli.h"
#include "os/frames.h"
#include "os/rundir.h"

struct as_fsck_keep {
	struct as_rundir folder;
	struct as_dir below;
	struct as_frames *frames; /* NULL: nothing is kept */
};

/* `head` is what results depend on; its first line is for people. With --resume it must be the same
 * as before. */
AS_MUST_CHECK int as_fsck_keep_open(const struct as_args *args, const char *name, const char *head,
				    struct as_fsck_keep *keep, struct as_err *err);
void as_fsck_keep_close(struct as_fsck_keep *keep);

#endif
