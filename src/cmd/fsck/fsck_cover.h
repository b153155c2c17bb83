/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_cover: `assay fsck --coverage`: the file coverage.csv of a session. */
#ifndef AS_CMD_FSCK_FSCK_COVER_H
#define AS_CMD_FSCK_FSCK_COVER_H

#include "base/event.h"
#include "base/json.h"
#include "cli/cli.h"
#include "fsck/cover.h"
#include "os/dir.h"
#include "os/temp.h"

/* One that is all zero measures nothing. */
struct as_fsck_covering {
	struct as_fsck_cover cover; /* row NULL: it is not measured */
	struct as_temp *folder;
	struct as_buf text;
};

/* As the options say. */
AS_MUST_CHECK int as_fsck_covering_open(const struct as_args *args, struct as_fsck_covering *c,
					struct as_err *err);
/* Adds a row, and replaces the file as a whole. */
AS_MUST_CHECK int as_fsck_covering_save(struct as_fsck_covering *c, const struct as_dir *dir,
					int64_t wall_us, struct as_err *err);
void as_fsck_covering_say(const struct as_fsck_covering *c, struct as_sink *sinks);
void as_fsck_covering_json(const struct as_fsck_covering *c, struct as_json *json);
void as_fsck_covering_close(struct as_fsck_covering *c);

#endif
