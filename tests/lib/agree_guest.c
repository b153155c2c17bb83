/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agree_guest: see agree_guest.h. */
#include "tests/lib/agree_guest.h"

#include "box/guest_programs.h"
#include "os/spawn.h"
#include "target/fstype.h"
#include "tests/lib/agree_compare.h"
#include "tests/lib/skip.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 120000 /* for a word of the guest */
#define MET "met %u %llx %llx"

void t_agree_guest_main(char **argv)
{
	if (getpid() == 1 && !strcmp(argv[0], "/init"))
		as_guest_main();
}

void t_agree_say_met(void)
{
	for (unsigned way = 0; way < T_WAYS; way++) {
		struct as_decided met = t_agree_met(way);

		printf(MET "\n", way, (unsigned long long)met.rows,
		       (unsigned long long)met.excuses);
	}
	fflush(stdout);
}

/* What it says until it ends. */
static void listen(struct as_box *box, struct as_buf *said)
{
	bool ended = false;
	char block[4096];

	while (!ended) {
		struct pollfd fds[] = { { .fd = box->pidfd, .events = POLLIN },
					{ .fd = box->events_fd, .events = POLLIN } };
		ssize_t n;

		if (poll(fds, 2, PATIENCE_MS) <= 0)
			fail_msg("the guest says nothing any more: %s", as_buf_str(said));
		ended = fds[0].revents;
		while ((n = read(box->events_fd, block, sizeof(block))) > 0)
			as_buf_add(said, block, (size_t)n);
		while (box->console_fd >= 0 && read(box->console_fd, block, sizeof(block)) > 0)
			;
	}
	as_box_end(box);
}

static unsigned read_met(const char *line)
{
	unsigned long long rows, excuses;
	unsigned way, ways = 0;

	for (; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, MET, &way, &rows, &excuses) != 3 || way >= T_WAYS)
			continue;
		t_agree_meet(way, &(struct as_decided){ rows, excuses });
		ways++;
	}
	return ways;
}

void t_agree_in_guest(const char *type, const char *name)
{
	const char *args[] = { T_AGREE_INSIDE, name, NULL };
	struct as_guest_programs programs = { 0 };
	struct as_box_options options = { .core = AS_CORE_HERE, .engine_bytes = 4096 };
	struct as_buf said = { 0 };
	struct as_err err = { 0 };
	struct as_box *box;
	int status;

	as_guest_programs_add(&programs, as_fstype_find(type));
	as_guest_programs_set(&programs, &options);
	if (as_sandbox_uml.ready(&options, &err))
		skip_because("%s", err.msg);
	if (as_box_start(&as_sandbox_uml, &options, args, &box, &err))
		fail_msg("%s", err.msg);
	listen(box, &said);
	status = box->state->ended ? box->state->status : -1;
	if (status || read_met(as_buf_str(&said)) != T_WAYS)
		fail_msg("the guest ended with %d: %s%s", status, box->state->error,
			 as_buf_str(&said));
	print_message("in User-Mode Linux\n");
	as_buf_free(&said);
	as_box_free(box);
	as_guest_programs_free(&programs);
}
