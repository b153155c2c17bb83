/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server: a FUSE file system as a process of ours: started in the foreground, in our mount
 * namespace and a PID namespace of its own, with the end of what it prints kept. It dies with the
 * thread that started it, and so does every process that it has started.
 */
#ifndef AS_TARGET_SERVER_H
#define AS_TARGET_SERVER_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct as_server;

/*
 * The words of a command, shell-free: separated by blanks, '...' and "..." keep blanks, a backslash
 * takes the next character as it is (not in '...'). {disk}, {mnt} and {src} stand for what is given
 * (may be NULL: then it is an error). AS_EUSE: unknown placeholder, open quote, no words.
 */
struct as_server_places {
	const char *disk, *mnt, *src;
};
AS_MUST_CHECK int as_server_argv(const char *command, const struct as_server_places *places,
				 char ***argv, struct as_err *err);

/* Starts `program` (NULL: argv[0] is looked up) and waits until something is mounted on `mnt`.
 * Returns -ETIMEDOUT, -ENOEXEC where it cannot be started (as_server_refusal() says why), or
 * -ECONNABORTED where it ended before it mounted: then *server holds its output all the same. The
 * caller may wait for ever for a server that mounts and does not answer: its parent needs a
 * deadline, and kills the process group. */
AS_MUST_CHECK int as_server_start(const char *program, char *const *argv, const char *mnt,
				  unsigned deadline_ms, struct as_server **server);
/* It ended by itself, and of no signal. The status of fuse2fs 1.47.0, which does not know an
 * option, is 0. */
bool as_server_declined(const struct as_server *server);
const char *as_server_refusal(const struct as_server *server); /* NULL: it was started */
/* After the unmount: waits for its end, or ends it at the deadline. False: it did not end well, and
 * as_server_trouble() says how. */
bool as_server_stop(struct as_server *server, unsigned deadline_ms);
bool as_server_hung(const struct as_server *server); /* it had to be ended by us */
/* Ends it and all that it started, at once. Calls that wait for it are answered ECONNABORTED. */
void as_server_kill(struct as_server *server);
/* How it ended without being asked to ("died of SIGSEGV"); NULL: it did not. */
const char *as_server_trouble(struct as_server *server);
/* The end of what it printed. */
void as_server_output(const struct as_server *server, struct as_buf *out);
void as_server_free(struct as_server *server); /* kills it; takes NULL */

/* A user namespace and a mount namespace in which we are root over what is ours. AS_ELACK. */
AS_MUST_CHECK int as_server_userns(struct as_err *err);

#endif
