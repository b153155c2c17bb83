/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_outside: runs the checkers of a guest outside of it (supervise/outside.h). Nobody but a
 * supervisor starts it, in a jail and with the guest's memory as a descriptor, so no help lists it.
 */
#include "cli/cli.h"
#include "supervise/outside.h"
#include "target/facts.h"
#include "target/target.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map_state(struct as_box_state **state, size_t *len, struct as_err *err)
{
	struct stat st;
	void *map = MAP_FAILED;

	if (!fstat(AS_OUTSIDE_STATE_FD, &st) && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			   AS_OUTSIDE_STATE_FD, 0);
	if (map == MAP_FAILED)
		return as_fail_errno(err, errno, "cannot map the memory of the guest");
	*state = map;
	*len = (size_t)st.st_size;
	return 0;
}

static int run(const struct as_args *args, struct as_err *err)
{
	const struct as_fstype *type = NULL;
	struct as_target *target = NULL;
	struct as_box_state *state = NULL;
	size_t len = 0;
	int rc = as_target_open(args->operands[0], &target, err);

	if (!rc)
		type = as_target_recovery(target).programs;
	if (!rc && !type)
		rc = as_fail(err, AS_EUSE, "%s: has no checker", args->operands[0]);
	if (!rc)
		rc = map_state(&state, &len, err);
	if (!rc)
		rc = as_outside_serve(state, len, type, strtoull(args->operands[1], NULL, 10),
				      (unsigned)strtoul(args->operands[2], NULL, 10), STDIN_FILENO,
				      AS_OUTSIDE_EVENTS_FD, err);
	if (state)
		munmap(state, len);
	as_target_free(target);
	return rc;
}

const struct as_command as_cmd_check_outside = {
	.hidden = true,
	.name = AS_OUTSIDE_COMMAND,
	.operands = "TARGET SIZE DEADLINE",
	.summary = "run the checkers of a guest outside of it",
	.min_operands = 3,
	.max_operands = 3,
	.run = run,
};
