/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profiles: what the commands that generate read from their options. */
#ifndef AS_CLI_PROFILES_H
#define AS_CLI_PROFILES_H

#include "base/buf.h"
#include "gen/profile.h"
#include "model/traits.h"
#include "target/target.h"

#define AS_CLI_FEEDBACK_MAX_BYTES ((size_t)256 << 20)

/* A name with a slash or a dot is a file's, any other a built-in profile's. */
AS_MUST_CHECK int as_cli_read_profile(const char *name, struct as_profile *profile,
				      struct as_err *err);
AS_MUST_CHECK int as_cli_read_feedback(const char *file, struct as_profile *profile,
				       struct as_err *err);
/* Options to mount with are those of the target's type, where it has a row. */
void as_cli_fit_profile(struct as_profile *profile, const struct as_target *target);
/* The commands of the profile that such a target cannot do, "mknod, symlink"; how many. */
unsigned as_cli_left_out(const struct as_profile *profile, const struct as_traits *traits,
			 struct as_buf *list);

#endif
