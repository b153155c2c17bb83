/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server_keep: the process between us and a FUSE server. Only server.c includes it. */
#ifndef AS_TARGET_SERVER_KEEP_H
#define AS_TARGET_SERVER_KEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define AS_SERVER_OUTPUT_BYTES 8192u

/* In shared memory: what the keeper tells. */
struct as_server_report {
	volatile bool ended;
	int status; /* of the server, as of waitpid() */
	volatile int exec_errno; /* it could not be started */
	volatile uint64_t output_bytes; /* all that it printed; the last of it is in the ring */
	char output[AS_SERVER_OUTPUT_BYTES];
};

/* Starts a keeper, which starts the program, which mounts on `mnt`. Its pid, or negative errno. */
pid_t as_server_keep(const char *program, char *const *argv, const char *mnt,
		     struct as_server_report *report);
/* The number of the mount at a path, 0: not known. It changes when something is mounted there. No
 * request goes to a server, which may not answer. */
uint64_t as_server_mount_number(const char *path);

#endif
