/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main: the table of commands. cli/cli.c runs them. The first process of a sandbox's guest is this
 * program, too: see box/guest.c.
 */
#include "box/sandbox.h"
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

/* Hidden ones last. */
/* clang-format off */
#define COMMANDS(X)                                                                         \
	X(run) X(hunt) X(crash) X(check) X(replay) X(reduce) X(explain) X(report)           \
	X(watch) X(merge) X(fsck) X(cov) X(gen) X(import) X(ops) X(fmt) X(emit_c)           \
	X(targets) X(plugin) X(doctor) X(disk) X(recover) X(kernel) X(swarm) X(bench) X(demo) \
	X(help) X(engine) X(check_outside)
/* clang-format on */

#define X(name) extern const struct as_command as_cmd_##name;
COMMANDS(X)
#undef X

#define X(name) &as_cmd_##name,
static const struct as_command *const commands[] = { COMMANDS(X) NULL };
#undef X

int main(int argc, char **argv)
{
	/* A container's first process has another name: "/init" is what kernels start. */
	if (getpid() == 1 && argc > 0 && !strcmp(argv[0], "/init"))
		as_guest_main();
	return as_cli_main(commands, argc, argv);
}
