/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * world: the processes of a trace: their descriptors and working directories. The world follows
 * fork, clone, dup, exec and the other calls, so that it can say of each call whether it is about
 * the files that were asked for. The tables are bounded: entries that are not used any more are
 * forgotten first.
 */
#ifndef AS_CALLS_WORLD_H
#define AS_CALLS_WORLD_H

#include "base/buf.h"
#include "calls/syscall.h"

struct as_world;

enum as_fd_kind {
	AS_FD_UNKNOWN, /* it was open before the trace, or came through a socket */
	AS_FD_REGULAR, /* or anything else with a path that is no directory */
	AS_FD_DIRECTORY,
	AS_FD_OTHER, /* has no path: pipe, socket */
	AS_FD_CLOSED,
	AS_FD_NEGATIVE,
	AS_FD_CWD,
};

enum as_path_bits {
	AS_PATH_ABSOLUTE = 1,
	AS_PATH_RELATIVE = 2,
	AS_PATH_EMPTY = 4,
	AS_PATH_LONG = 8,
	AS_PATH_SLASH = 16, /* a slash at the end */
	AS_PATH_SYMLINK = 32, /* as far as the trace showed */
	AS_PATH_FAULT = 64, /* NULL or a bad pointer */
};

enum as_where {
	AS_WHERE_IN, /* about the files asked for */
	AS_WHERE_OUT,
	AS_WHERE_UNKNOWN, /* unknown: a descriptor or directory from before the trace */
	AS_WHERE_NONE, /* it is about no file: sync, or a call that is only for the tables */
};

/* What the world knows about one call. */
struct as_about {
	enum as_where where;
	unsigned char fd[AS_SYSCALL_SLOTS]; /* of slots that are descriptors: enum as_fd_kind */
	unsigned char path[AS_SYSCALL_SLOTS]; /* of slots that are paths: enum as_path_bits */
};

struct as_world_options {
	/* Which files are asked for; at most one is given. Both NULL: all files. */
	const char *under; /* an absolute path: itself, and everything below it */
	const char *under_regex; /* regular expression (POSIX, extended) for the beginning of
				    absolute paths, which must end at a component */
	const char *cwd; /* of processes that were there at the start; NULL: not known */
};

AS_MUST_CHECK int as_world_new(const struct as_spec *spec, const struct as_world_options *options,
			       struct as_world **out, struct as_err *err);
void as_world_free(struct as_world *world);
/* The filter as text for people; NULL: none. The caller frees it. */
char *as_world_under_text(const struct as_world_options *options);

/* Says what a finished call was about, before it took effect, and then applies its effect. */
void as_world_call(struct as_world *world, const struct as_syscall *call, struct as_about *about);

/* For a source that sees a call begin: its descriptors are looked up now, and a close takes effect.
 * This is not needed for tasks that share their descriptors with nobody (as_world_shares). A source
 * may leave out calls other than close and close_range if they cost much. Of the slots, only the
 * numbers and texts of descriptors are read. */
void as_world_enter(struct as_world *world, const struct as_syscall *call);
bool as_world_shares(struct as_world *world, unsigned tid);
/* Does it close descriptors? If so, its arguments are numbers. */
bool as_world_closes(const struct as_spec_call *call);

/* What a live source knows of a process before its first call. The path of a descriptor that has
 * none is NULL. */
void as_world_cwd(struct as_world *world, unsigned tid, const char *path, size_t len);
void as_world_fd(struct as_world *world, unsigned tid, int fd, const char *path, size_t len,
		 bool directory);
/* For a source that learns of a new process before its parent's call comes back (by an event of
 * ptrace, or because the child is seen first). flags are those of clone. It may be called twice. */
void as_world_fork(struct as_world *world, unsigned parent, unsigned child, uint64_t flags);
void as_world_exit(struct as_world *world, unsigned tid);
/* The thread `former` has called exec, and has the number `tid` from now on. */
void as_world_takes_over(struct as_world *world, unsigned former, unsigned tid);
/* Is any thread in fork or clone? */
bool as_world_forks(const struct as_world *world);
bool as_world_knows(const struct as_world *world, unsigned tid);
/* It has entered fork or clone and is not back yet: a new thread may be its child. */
void as_world_forking(struct as_world *world, unsigned tid, uint64_t flags);

/* ---- interrupt.c ---- */

/* For each call that a source reports, before as_world_call(). */
struct as_interruption {
	bool over; /* this call is an interrupted one that was made again */
	bool waits; /* this call was interrupted: ignore it now, its answer comes later */
};
struct as_interruption as_world_interruption(struct as_world *world, const struct as_syscall *call);
/* A thread has returned from a signal's handler with this result. Returns the interrupted call that
 * the program now sees answered with EINTR, or NULL. The caller gives it to as_world_answered(). */
struct as_syscall *as_world_sigreturn(struct as_world *world, unsigned tid, int64_t ret);
void as_world_answered(struct as_syscall *call);

/* ---- For a receiver that wants paths and open files (world_ask.c) ---- */

#define AS_WORLD_CWD (-100) /* AT_FDCWD */

/* The absolute path that `path` leads to for this thread, from the descriptor `dir` or from its
 * working directory (AS_WORLD_CWD). An empty path is the directory itself. A slash at the end
 * stays. False: the directory is not known. */
bool as_world_path(struct as_world *world, unsigned tid, int dir, const char *path, size_t len,
		   struct as_buf *out);

/* An absolute path without ".", ".." and double slashes, and without one at its end. */
void as_world_plain_path(struct as_world *world, const char *path, size_t len, struct as_buf *out);

/*
 * Descriptors that dup, fork and the like have made of each other are one open file. A receiver may
 * give it a number, from 1 to AS_WORLD_FILES: all copies have the same number. `changed` is told of
 * each descriptor that has a number and is made (by: 1) or goes away (by: -1).
 */
#define AS_WORLD_FILES UINT16_MAX
typedef void as_world_changed(void *ctx, unsigned file, int fd, int by);
void as_world_watch_files(struct as_world *world, as_world_changed *changed, void *ctx);
void as_world_set_file(struct as_world *world, unsigned tid, int fd, unsigned file);
/* 0: it has none. */
unsigned as_world_file(struct as_world *world, unsigned tid, int fd);

/* ---- For the receiver ---- */

/* A number that the caller gives to a process; children inherit it. 0 at first. */
unsigned as_world_label(struct as_world *world, unsigned tid);
void as_world_set_label(struct as_world *world, unsigned tid, unsigned label);
/* Processes and descriptors that were beyond the limits of the tables. */
uint64_t as_world_forgotten(const struct as_world *world);
/* What was known of names (this is a directory, a symbolic link) beyond the limits. */
uint64_t as_world_names_forgotten(const struct as_world *world);

#endif
