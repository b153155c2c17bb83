/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profiles: profiles and feedback, as the commands that generate workloads read them. */
#ifndef AS_CLI_PROFILES_H
#define AS_CLI_PROFILES_H

#include "base/buf.h"
#include "cli/cli.h"
#include "gen/profile.h"
#include "model/traits.h"
#include "os/dir.h"
#include "target/target.h"

#define AS_CLI_FEEDBACK_MAX_BYTES ((size_t)256 << 20)

/* A name with a slash or a dot is that of a file, any other that of a built-in profile. */
AS_MUST_CHECK int as_cli_read_profile(const char *name, struct as_profile *profile,
				      struct as_err *err);
AS_MUST_CHECK int as_cli_write_profile(const struct as_profile *profile, const struct as_dir *dir,
				       const char *name, struct as_err *err);
AS_MUST_CHECK int as_cli_read_feedback(const char *file, struct as_profile *profile,
				       struct as_err *err);
/* The profile draws the mount options of the target's type, if the type has any. */
void as_cli_fit_profile(struct as_profile *profile, const struct as_target *target);
/* Does the same for a hunt on one target. If no profile is asked for, half of the walk is chosen by
 * the state where an operation takes much longer than to choose it. */
void as_cli_fit_hunt(const struct as_args *args, size_t n_targets, const struct as_target *target,
		     struct as_profile *profile);
/* Lists the operations of the profile that such a target does not have, "mknod, symlink"; returns
 * how many there are. */
unsigned as_cli_left_out(const struct as_profile *profile, const struct as_traits *traits,
			 struct as_buf *list);

#endif
