/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel_priv: what the files of this room share. */
#ifndef AS_KERNEL_KERNEL_PRIV_H
#define AS_KERNEL_KERNEL_PRIV_H

#include "base/finding.h"
#include "kernel/kernel.h"

#include <sys/types.h>

/* One build. */
struct as_kernel_job {
	const struct as_kernel_want *want;
	struct as_buf root; /* .../kernels */
	struct as_buf id; /* of the source */
	struct as_buf pristine; /* the folder of the source that is never changed */
	bool users; /* `pristine` is a folder of the user's */
	struct as_buf tree, src, obj, log; /* paths; `src` is `pristine` for a user's folder
					    * without patches */
	struct as_buf config; /* lines for the configuration */
	struct as_buf lacks;
	struct as_buf patch_digest; /* of all patches, in order */
};

/* ---- source.c ---- */

/* Finds the source and unpacks it if it is not yet there. */
AS_MUST_CHECK int as_kernel_source_open(struct as_kernel_job *job, struct as_err *err);

/* ---- tree.c ---- */

/* Makes `src`: links for a source of ours, copies of what is new for a folder of the user's. */
AS_MUST_CHECK int as_kernel_tree_fill(struct as_kernel_job *job, struct as_err *err);
/* Makes a folder with all above it. */
AS_MUST_CHECK int as_kernel_mkdirs(const char *path, struct as_err *err);
bool as_kernel_is_dir(const char *path);
AS_MUST_CHECK int as_kernel_copy_file(const char *from, const char *to, struct as_err *err);

/* ---- patch.c ---- */

/* Brings `src` to: the source, and these patches. */
AS_MUST_CHECK int as_kernel_patch(struct as_kernel_job *job, struct as_err *err);
/* The paths that a patch changes, each with its NUL. False: a path leads out of the source. */
bool as_kernel_patch_paths(const char *text, size_t len, struct as_buf *paths);

/* ---- config.c ---- */

/* The lines for these options. */
void as_kernel_config_want(uint32_t with, struct as_buf *out);
/* Whether a configuration has what the lines ask for. What sandbox.config or an option needs and
 * is missing is an error; other lines go to `lacks`. */
AS_MUST_CHECK int as_kernel_config_check(uint32_t with, const char *config, struct as_buf *lacks,
					 struct as_err *err);

/* Adds the i-th patch of ours that these options need; false: there is none. */
bool as_kernel_own_patch(uint32_t with, size_t i, struct as_buf *text);
#define AS_KERNEL_OWN_PATCHES_MAX AS_KERNEL_OPTIONS

/* ---- make.c ---- */

/* Configures and compiles. */
AS_MUST_CHECK int as_kernel_make(struct as_kernel_job *job, struct as_err *err);

/* ---- program.c ---- */

struct as_kernel_program {
	const char *const *argv;
	const char *cwd; /* NULL: unchanged */
	const char *log; /* what it says is added to this file; NULL: nowhere */
	/* Called for each line that it says; may be NULL. */
	void (*line)(void *ctx, const char *line);
	void *ctx;
	const volatile int *stop;
};
/* Its exit status, or 128 and its signal. AS_ESTOP: it was stopped. */
AS_MUST_CHECK int as_kernel_program(const struct as_kernel_program *program, int *status,
				    struct as_err *err);

/* ---- lock.c ---- */

/* Waits until nobody else holds `folder`/lock, and says so. The lock ends with the descriptor. */
AS_MUST_CHECK int as_kernel_lock(const struct as_kernel_job *job, const char *folder, int *fd,
				 struct as_err *err);
/* AS_ELACK: there are not so many bytes free. */
AS_MUST_CHECK int as_kernel_space(const char *folder, uint64_t bytes, const char *what_for,
				  struct as_err *err);

/* ---- functions.c ---- */

/* The text of AS_KERNEL_FUNCTIONS; empty: the kernel has no kcov. */
void as_kernel_functions(const struct as_kernel_job *job, struct as_buf *out);

/* ---- built.c ---- */

/* Puts the result where as_kernel_find() finds it. */
AS_MUST_CHECK int as_kernel_keep(struct as_kernel_job *job, struct as_err *err);

static inline void as_kernel_say(const struct as_kernel_job *job, const char *what, unsigned done,
				 unsigned all)
{
	if (job->want->say)
		job->want->say(job->want->say_ctx, what, done, all);
}

#endif
