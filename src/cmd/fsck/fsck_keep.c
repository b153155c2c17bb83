/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_keep: see fsck_keep.h. */
#include "cmd/fsck/fsck_keep.h"

#include "cli/output.h"

#include <string.h>

#define FOLDER "fsck"

static int compare_heads(const struct as_frames *frames, const char *head, struct as_err *err)
{
	const char *was = as_frames_head(frames);
	size_t len = strcspn(was, "\n");

	if (!strcmp(was, head))
		return 0;
	if (len != strcspn(head, "\n") || strncmp(was, head, len) != 0)
		return as_fail(err, AS_EUSE, "%s: it is of %.*s; begin anew without --resume",
			       as_frames_path(frames), (int)len, was);
	return as_fail(err, AS_EUSE,
		       "%s: a checker, its disk or the options are not those of before; begin anew "
		       "without --resume",
		       as_frames_path(frames));
}

int as_fsck_keep_open(const struct as_args *args, const char *name, const char *head,
		      struct as_fsck_keep *keep, struct as_err *err)
{
	bool resume = as_args_has(args, "resume");
	int rc;

	*keep = (struct as_fsck_keep){ .folder.dir = AS_DIR_NONE, .below = AS_DIR_NONE };
	if (as_args_has(args, "no-store"))
		return resume ? as_fail(err, AS_EUSE, "--resume needs a folder: no --no-store") : 0;
	rc = as_rundir_open(as_args_text(args, "out", AS_OUT_DEFAULT),
			    resume ? AS_RUNDIR_THERE : AS_RUNDIR_MAKE, &keep->folder, err);
	if (!rc)
		rc = as_dir_below(&keep->folder.dir, FOLDER, !resume, &keep->below, err);
	if (!rc)
		rc = as_frames_open(&keep->below, name, head, resume, &keep->frames, err);
	if (!rc && resume)
		rc = compare_heads(keep->frames, head, err);
	if (rc)
		as_fsck_keep_close(keep);
	return rc;
}

void as_fsck_keep_close(struct as_fsck_keep *keep)
{
	as_frames_close(keep->frames);
	as_dir_close(&keep->below);
	if (keep->folder.dir.fd >= 0)
		as_rundir_close(&keep->folder);
	*keep = (struct as_fsck_keep){ .folder.dir = AS_DIR_NONE, .below = AS_DIR_NONE };
}
