/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_strace_line: one call as strace prints it, taken apart. */
#ifndef AS_TRACE_IMPORT_STRACE_LINE_H
#define AS_TRACE_IMPORT_STRACE_LINE_H

#include "trace/import_priv.h"

#define AS_STRACE_ARGS_MAX 8

struct as_strace_call {
	struct as_piece name;
	struct as_piece args[AS_STRACE_ARGS_MAX];
	size_t n_args; /* more than AS_STRACE_ARGS_MAX: the rest is not kept */
	int64_t ret; /* -1: failed, or not known */
	bool failed; /* with this error: */
	struct as_piece error;
	bool known; /* whether there is a result at all ("= ?") */
};

/* What stands in front of a call: "[pid 12] 10:00:00.1 ", "12 1.5 ". Returns the process, 0: not
 * said. */
unsigned as_strace_prefix(struct as_piece *line);
/* "name(arg, ...) = result ..."; false when it is something else. */
bool as_strace_parse(struct as_piece text, struct as_strace_call *call);

/* "\"text\"": with its escapes undone; NULL when it is no whole string or holds a NUL. */
const char *as_strace_string(struct as_importing *x, struct as_piece arg);
/* "3", "3</path>", "AT_FDCWD", "AT_FDCWD</path>"; path NULL: none was given. */
#define AS_STRACE_CWD (-100)
bool as_strace_fd(struct as_importing *x, struct as_piece arg, int64_t *fd, const char **path);
/* "[{tv_sec=1, tv_nsec=2}, UTIME_OMIT]" and its like; NULL is now, now. */
bool as_strace_times(struct as_piece arg, int64_t *atime, int64_t *mtime);

#endif
