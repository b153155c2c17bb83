/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boxes: sandboxes from the options of a command: which targets run in one, and how. */
#ifndef AS_CLI_BOXES_H
#define AS_CLI_BOXES_H

#include "box/guest_disks.h"
#include "box/guest_programs.h"
#include "cli/cli.h"
#include "cli/live/live.h"
#include "supervise/boxed.h"

/* clang-format off */
#define AS_CLI_BOX_OPTS                                                                           \
	{ .name = "kernel", .resume = AS_OPT_FREE, .kind = AS_OPT_TEXT, .arg = "NAME",            \
	  .help = "use this kernel, which `assay kernel build` has built; `debian`: that of the " \
		  "package user-mode-linux" },                                                    \
	AS_CLI_BOX_PLAIN_OPTS
/* The same for a command with a --kernel of its own. */
#define AS_CLI_BOX_PLAIN_OPTS                                                                     \
	{ .name = "sandbox", .resume = AS_OPT_FREE, .kind = AS_OPT_CHOICE, .choices = "host|uml", \
	  .help = "where kernel file systems are mounted: in a User-Mode Linux kernel of their "  \
		  "own (uml), or on the running kernel, which needs root (host); default uml" },  \
	{ .name = "uml", .resume = AS_OPT_FREE, .kind = AS_OPT_TEXT, .arg = "PATH",               \
	  .help = "use this User-Mode Linux kernel; default: `linux` in PATH" },                  \
	{ .name = "uml-mem", .resume = AS_OPT_FREE, .kind = AS_OPT_SIZE, .arg = "N", .min = 1,    \
	  .help = "give that kernel this much memory, such as 256M; default 512M" },              \
	{ .name = "uml-core", .resume = AS_OPT_FREE, .kind = AS_OPT_TEXT, .arg = "N",             \
	  .help = "run it on this core, or on `any`; default: the core that assay is on" }
/* clang-format on */

/* The row of the file system type that a target (as the user typed it) names; NULL: it names no
 * type. */
const struct as_fstype *as_cli_fstype(const char *spec);
/* Whether a target, as typed, is to run in a box. */
bool as_cli_wants_box(const struct as_args *args, const char *spec);
/* Where kernel types run: on the running kernel though they could run in a box, or in which kernel
 * of `assay kernel`. */
void as_cli_where(const struct as_args *args, struct as_run_options *options);
/* What --kernel names; NULL: nothing. */
const char *as_cli_kernel(const struct as_args *args);
/* AS_ELACK: the kernel was built without what an option needs. Asked before anything is begun, and
 * after what is wrong with the options themselves. */
AS_MUST_CHECK int as_cli_check_kernel(const struct as_args *args, const char *spec,
				      struct as_err *err);
/* Refuses sandbox options that are impossible, before anything is done. */
AS_MUST_CHECK int as_cli_check_box(const struct as_args *args, const char *spec,
				   struct as_err *err);

/* Whether an option that is given takes the place of --`name`, another kernel. */
bool as_cli_box_replaced(const struct as_args *args, const char *name);

/* Kernel, memory and core. */
AS_MUST_CHECK int as_cli_box_options(const struct as_args *args, struct as_box_options *options,
				     struct as_err *err);

struct as_cli_box {
	struct as_boxed boxed; /* sandbox, box and target are set */
	struct as_guest_programs programs;
	struct as_guest_disks disks;
	struct as_medium *fresh; /* the disk of the only target; NULL: it has none */
};

/* `size_bytes` is that of the disk, 0: the target's own. */
AS_MUST_CHECK int as_cli_box_open(const struct as_args *args, const char *spec, uint64_t size_bytes,
				  struct as_cli_box *box, struct as_err *err);
/* Adds a target that the engine may be given. */
AS_MUST_CHECK int as_cli_box_add(struct as_cli_box *box, const char *spec, uint64_t size_bytes,
				 struct as_err *err);
void as_cli_box_close(struct as_cli_box *box);

/* Shows the target and where it runs (live.h). */
void as_cli_show_where(struct as_live *live, const struct as_args *args, const char *spec,
		       uint64_t jobs);

#endif
