/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server: a FUSE file system as a process of ours: started in the foreground, in our mount
 * namespace, with what it prints kept; it dies with the thread that started it.
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

/* Starts it and waits until something is mounted on `mnt`. -ETIMEDOUT, -ENOEXEC where it cannot be
 * started, -ECONNABORTED where it ended before: then *server holds its output all the same. */
AS_MUST_CHECK int as_server_start(char *const *argv, const char *mnt, unsigned deadline_ms,
				  struct as_server **server);
/* After the unmount: waits for its end, or ends it at the deadline. False: it did not end well, and
 * as_server_trouble() says how. */
bool as_server_stop(struct as_server *server, unsigned deadline_ms);
/* How it came to an end that nobody asked for ("died of SIGSEGV"); NULL: it is well. */
const char *as_server_trouble(struct as_server *server);
/* The end of what it printed. */
void as_server_output(const struct as_server *server, struct as_buf *out);
void as_server_free(struct as_server *server); /* kills it; takes NULL */

/* A user namespace and a mount namespace in which we are root over what is ours. AS_ELACK. */
AS_MUST_CHECK int as_server_userns(struct as_err *err);

#endif
