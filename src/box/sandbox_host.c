/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox_host: the engine in another process on the running kernel. It has a namespace of its
 * own for its mounts. A panic stops the whole machine.
 */
#include "box/sandbox.h"

#include "base/buf.h"
#include "os/spawn.h"
#include "os/temp.h"

#include <string.h>
#include <unistd.h>

static int ready(const struct as_box_options *options, struct as_err *err)
{
	(void)options;
	if (geteuid())
		return as_fail(
			err, AS_EUSE,
			"--sandbox host mounts file systems on the running kernel, which takes "
			"root; without root use --sandbox uml");
	return 0;
}

static int start(const struct as_box_options *options, struct as_box *box, struct as_err *err)
{
	char *argv[256],
		env_path[] = "PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin",
		env_lc[] = "LC_ALL=C", name[] = "assay";
	struct as_buf temp = { 0 };
	char *arg = box->state->args;
	uint32_t n = box->state->n_args;
	int rc;

	if (n > 254)
		return as_fail(err, AS_EUSE, "more than 254 arguments");
	argv[0] = name;
	for (uint32_t i = 0; i < n; i++, arg += strlen(arg) + 1)
		argv[i + 1] = arg;
	argv[n + 1] = NULL;
	as_buf_addf(&temp, "TMPDIR=%s", as_temp_place());
	rc = as_box_open_folder(box, NULL, err);
	if (!rc) {
		char *const envp[] = { env_path, env_lc, temp.data, NULL };

		rc = as_box_spawn(box,
				  &(struct as_box_program){ .path = "/proc/self/exe",
							    .argv = argv,
							    .envp = envp,
							    .core = options->core,
							    .fds = { box->share_fd },
							    .fill = options->fill,
							    .fill_ctx = options->fill_ctx },
				  err);
	}
	as_buf_free(&temp);
	return rc;
}

const struct as_sandbox_ops as_sandbox_host = {
	.api = AS_SANDBOX_API,
	.caps = AS_SANDBOX_NEEDS_ROOT,
	.name = "host",
	.help = "the running kernel, in a mount namespace of its own; takes root",
	.ready = ready,
	.state_path = "/proc/self/fd/4",
	.share_path = "/proc/self/fd/5",
	.start = start,
};
