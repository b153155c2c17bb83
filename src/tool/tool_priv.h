/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tool_priv: what tool.c (processes), tool_share.c (shared memory) and tool_static.c share. */
#ifndef AS_TOOL_TOOL_PRIV_H
#define AS_TOOL_TOOL_PRIV_H

#include "tool/shim/proto.h"
#include "tool/tool.h"

#include <sys/types.h>

struct as_tool {
	char *path;
	char **envp, *disk_path;
	struct as_tool_setup limits; /* its pointers are not used */
	bool is_static; /* there is no server: see tool_static.c */
	/* The server; pid 0: not running. */
	pid_t pid;
	bool running; /* a run was asked for and not answered yet */
	bool stopped; /* a run has stopped, and waits to be forked (tool_stop.c) */
	char answer; /* the last byte of the server */
	struct as_tool_stopped *at; /* where; NULL: nowhere */
	int control_fd, out_fd, in_fd;
	/* The disk. */
	int disk_fd;
	bool has_input; /* in_fd contains input */
	unsigned char *bytes; /* the memfd, mapped */
	uint64_t map_bytes;
	struct as_disk *loaded; /* it equals the memfd; NULL: not known */
	/* What is shared. */
	int share_fd;
	struct as_shim_head *head;
	uint64_t share_bytes;
};

AS_MUST_CHECK int as_tool_share_new(struct as_tool *tool, struct as_err *err);
void as_tool_share_free(struct as_tool *tool);
/* Makes the memfd equal to the disk, and prepares the head for a run. */
AS_MUST_CHECK int as_tool_load(struct as_tool *tool, struct as_disk *disk,
			       const struct as_tool_job *job, struct as_err *err);
/* The contents of the memfd are not known any more. */
void as_tool_forget(struct as_tool *tool);
/* Gives the log and the disk of the run that has just ended. */
void as_tool_harvest(struct as_tool *tool, struct as_disk *disk, unsigned flags,
		     struct as_tool_result *result);
/* Starts a run, or goes on with one that has stopped, and waits for its end or its next stop. */
AS_MUST_CHECK int as_tool_go(struct as_tool *tool, struct as_tool_result *result,
			     struct as_err *err);
AS_MUST_CHECK int as_tool_pack_args(struct as_tool *tool, char *const *argv, struct as_err *err);
int as_tool_await(struct as_tool *tool, unsigned deadline_ms, struct as_buf *output);
void as_tool_stop_server(struct as_tool *tool);
/* Makes the memfd equal to the disk, and leaves the head as it is. */
AS_MUST_CHECK int as_tool_fill(struct as_tool *tool, struct as_disk *disk, struct as_err *err);
/* One run of a static program. */
AS_MUST_CHECK int as_tool_go_static(struct as_tool *tool, const struct as_tool_job *job,
				    struct as_tool_result *result, struct as_err *err);

#endif
