/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boxes: sandboxes from the options of a command. */
#ifndef AS_CLI_BOXES_H
#define AS_CLI_BOXES_H

#include "box/initramfs.h"
#include "cli/cli.h"
#include "supervise/boxed.h"

/* clang-format off */
#define AS_CLI_BOX_OPTS                                                                           \
	{ .name = "sandbox", .kind = AS_OPT_CHOICE, .choices = "host|uml",                        \
	  .help = "where file systems of a kernel are mounted: in a User-Mode Linux of their "    \
		  "own (default), or on the running kernel, which takes root" },                  \
	{ .name = "uml", .kind = AS_OPT_TEXT, .arg = "PATH",                                      \
	  .help = "a User-Mode Linux kernel of your own; default: `linux` in PATH" },             \
	{ .name = "uml-mem", .kind = AS_OPT_SIZE, .arg = "N", .min = 1,                           \
	  .help = "its memory, such as 256M; default 512M" },                                     \
	{ .name = "uml-core", .kind = AS_OPT_TEXT, .arg = "N",                                    \
	  .help = "the core it stays on, or `any`; default: the one we are on" }
/* clang-format on */

/* The row of the file system type that a target, as typed, names; NULL: it is something else. */
const struct as_fstype *as_cli_fstype(const char *spec);
/* Whether a target, as typed, is to run in a box. */
bool as_cli_wants_box(const struct as_args *args, const char *spec);
/* Refuses sandbox options that cannot be met before anything is done. */
AS_MUST_CHECK int as_cli_check_box(const struct as_args *args, const char *spec,
				   struct as_err *err);

#define AS_CLI_BOX_TARGETS 16

struct as_cli_box {
	struct as_boxed boxed; /* sandbox, box and target are set */
	char **words; /* of the programs and modules */
	size_t n_words;
	const char **programs, **optional, **modules;
	struct as_medium *fresh; /* of the target, where it stands on a disk */
	struct as_initramfs_file files[AS_CLI_BOX_TARGETS + 1]; /* their fresh disks: no guest
								   has to make one */
	struct as_buf images[AS_CLI_BOX_TARGETS]; /* what is in these */
	size_t n_files;
};

/* `size_bytes` is that of the disk, 0: the target's own. */
AS_MUST_CHECK int as_cli_box_open(const struct as_args *args, const char *spec, uint64_t size_bytes,
				  struct as_cli_box *box, struct as_err *err);
/* One more target that the engine inside may be given. */
AS_MUST_CHECK int as_cli_box_add(struct as_cli_box *box, const char *spec, uint64_t size_bytes,
				 struct as_err *err);
void as_cli_box_close(struct as_cli_box *box);

#endif
