/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world_priv: what the files world*.c share. */
#ifndef AS_CALLS_WORLD_PRIV_H
#define AS_CALLS_WORLD_PRIV_H

#include "base/table.h"
#include "calls/world.h"

#include <regex.h>

#define AS_WORLD_PROCESSES 16384 /* processes; if there are more, some are forgotten */
#define AS_WORLD_FDS 65536 /* descriptors of one process */
#define AS_WORLD_FDS_ALL 262144
#define AS_WORLD_PATH_MAX 4096
#define AS_WORLD_DENTRIES (1u << 19) /* names that are in use or remembered */
#define AS_WORLD_IDLE 16384 /* of these, names that nothing refers to */

/* A name in its directory; see world_names.c. */
struct as_dentry {
	struct as_dentry *parent; /* NULL: the root */
	struct as_dentry *older, *newer; /* while nobody refers to it */
	uint64_t id, hash;
	uint64_t judged; /* names->moves when the filter was asked */
	unsigned refs, len, depth;
	bool named; /* it can be found by its name; `hash` is of it and its parent */
	bool in; /* the filter accepts it; use as_dentry_in() */
	bool dir, link; /* what is known to be there: a directory, a symbolic link */
	char *name;
};

/* What the filter said of a name. It outlives the dentry. */
struct as_filter_answer {
	uint64_t hash, moves;
	bool in;
};

#define AS_WORLD_ANSWERS 4096

struct as_names {
	struct as_filter_answer answers[AS_WORLD_ANSWERS];
	struct as_table table; /* of those that are named, by `hash` */
	struct as_dentry *root;
	struct as_dentry *oldest, *newest; /* list of those that nothing refers to */
	unsigned n, n_idle;
	uint64_t ids, moves, forgotten;
};

struct as_fd {
	struct as_dentry *dentry; /* NULL: it has none, or it is unknown */
	int fd;
	unsigned char kind : 4; /* enum as_fd_kind */
	bool used : 1;
	bool cloexec : 1;
	bool in : 1; /* the filter accepted its path when it was opened */
	bool closing : 1; /* a close of it has begun: it is gone, or will be soon */
	unsigned short file; /* number of the open file; 0: it has none (world_ask.c) */
	unsigned char late; /* closes of earlier descriptors with this number, not reported yet */
};

struct as_files {
	unsigned refs;
	unsigned n_in; /* those that the filter had */
	bool touched; /* the process has met a file that the filter has */
	struct as_fd *at;
	size_t n, cap;
	struct as_table table; /* of `at`, by number */
};

struct as_where_now {
	unsigned refs;
	struct as_dentry *cwd, *root; /* NULL: cwd not known; root of the machine */
};

struct as_process {
	unsigned tid, group;
	struct as_process *peer, *peer_before; /* a ring of the threads of the group */
	unsigned adopted; /* assumed child of this thread, which is still in its fork; 0: no */
	bool forking; /* in fork or clone, which has not returned */
	uint64_t forking_flags;
	struct as_process *forking_before, *forking_after;
	unsigned label; /* as_world_label */
	bool labelled; /* not by its parent */
	struct as_files *files;
	struct as_where_now *now;
	/* The descriptors of its call as they were when the call began. They are kept only if other
	 * threads may have changed them since; else `entered` is NULL. */
	const struct as_spec_call *entered;
	struct as_fd was[AS_SYSCALL_SLOTS];
	struct as_interrupted *interrupted; /* calls that a signal interrupted: interrupt.c */
};

/* Which slot of a call holds what; -1: none does. */
struct as_call_plan {
	signed char old, new_fd, last, flags, clone, arg, clone2, source;
	signed char fd, word; /* first of each class */
	signed char open_flags, map_flags, any_flags;
	unsigned char n_fds; /* how many of its slots are descriptors that it uses */
};

struct as_filter {
	bool any; /* no filter: everything */
	bool literal; /* a path */
	char *text; /* the path, or what each match must begin with */
	size_t text_len;
	regex_t regex;
	bool compiled;
};

/* A path, found among the names. */
struct as_resolved {
	bool known; /* else it is below a directory that is not known */
	bool in;
	bool entry; /* its last component is a name, not ".." or nothing */
	bool slash; /* it ends with one */
	bool vague; /* deeper than can be followed: `dentry` is only on the way */
	struct as_dentry *dentry; /* with a reference; NULL: not known */
};

struct as_world {
	const struct as_spec *spec;
	struct as_call_plan *plans;
	struct as_filter filter;
	struct as_names names;
	struct as_dentry *first_cwd;
	struct as_table processes; /* by tid */
	struct as_process *last; /* found last: calls come in runs */
	struct as_process *forking; /* the last that entered fork or clone and is not back */
	unsigned n_fds, n_interrupted;
	uint64_t forgotten;
	as_world_changed *changed; /* NULL: nobody has given numbers to open files */
	void *changed_ctx;
};

/* ---- world_filter.c ---- */

AS_MUST_CHECK int as_filter_open(struct as_filter *filter, const struct as_world_options *options,
				 struct as_err *err);
void as_filter_close(struct as_filter *filter);
bool as_filter_has(const struct as_filter *filter, const char *path, unsigned len);

/* ---- world_names.c ---- */

void as_names_open(struct as_names *names);
void as_names_close(struct as_names *names);
/* NULL stays NULL. */
struct as_dentry *as_dentry_share(struct as_names *names, struct as_dentry *dentry);
void as_dentry_drop(struct as_names *names, struct as_dentry *dentry);
/* Of an absolute path. */
struct as_dentry *as_dentry_new(struct as_world *w, const char *path, unsigned len);
bool as_dentry_in(struct as_world *w, struct as_dentry *dentry);
bool as_dentry_is(const struct as_dentry *dentry, const char *path, unsigned len);
void as_dentry_path(const struct as_dentry *dentry, struct as_buf *out);
/* Its name belongs to another file from now on, or to none. */
void as_dentry_gone(struct as_names *names, struct as_dentry *dentry);
/* Something new was made by this name: the path leads to it. */
void as_dentry_fresh(struct as_names *names, struct as_resolved *path);
/* It takes the name of `to`, which loses it. What is below it moves along. */
void as_dentry_move(struct as_names *names, struct as_dentry *from, struct as_dentry *to);
void as_dentry_swap(struct as_names *names, struct as_dentry *a, struct as_dentry *b);

/* `base` NULL: not known. The caller drops the dentry of the result. */
void as_world_resolve(struct as_world *w, const struct as_process *p, struct as_dentry *base,
		      const char *path, unsigned len, struct as_resolved *out);

/* ---- world_files.c ---- */

struct as_files *as_files_new(void);
struct as_files *as_files_copy(struct as_world *w, const struct as_files *from);
void as_files_drop(struct as_world *w, struct as_files *files);
/* Also one that is closing; NULL: there is none. */
struct as_fd *as_files_at(const struct as_files *files, int64_t fd);
/* Pointers to other descriptors of the table are invalid afterwards. */
void as_files_remove(struct as_world *w, struct as_files *files, struct as_fd *at);
/* Removes all for which `which` is true. */
void as_files_remove_all(struct as_world *w, struct as_files *files,
			 bool (*which)(const struct as_fd *at, const void *ctx), const void *ctx);
/* Replaces what had the number. Takes over the reference to the dentry. */
void as_files_put(struct as_world *w, struct as_files *files, int fd, struct as_dentry *dentry,
		  enum as_fd_kind kind, bool cloexec);

/* ---- world_ask.c ---- */

/* A descriptor that has the number of an open file is made, or goes away. */
static inline void as_world_file_changed(const struct as_world *w, const struct as_fd *at, int by)
{
	if (at->file)
		w->changed(w->changed_ctx, at->file, at->fd, by);
}

/* ---- world.c ---- */

struct as_process *as_world_process(struct as_world *w, unsigned tid);
void as_world_drop(struct as_world *w, struct as_process *p);
void as_world_unshare(struct as_world *w, struct as_process *p, bool files, bool now);
/* All other threads of its group end, and it takes the number of the first. */
void as_world_alone(struct as_world *w, struct as_process *p);

/* NULL: it is not open, according to the tables. */
static inline struct as_fd *as_world_get(const struct as_process *p, int64_t fd)
{
	struct as_fd *at = as_files_at(p->files, fd);

	return at && !at->closing ? at : NULL;
}

/* The descriptor in a slot of a call, as it was when the call began. */
struct as_fd *as_world_used(struct as_process *p, const struct as_syscall *call, int slot);

/* ---- world_act.c ---- */

/* Applies the effects of a successful call. Its paths were resolved before. */
void as_world_act(struct as_world *w, struct as_process *p, const struct as_syscall *call,
		  struct as_resolved paths[2]);
/* Learns about a name from the result of a call. */
void as_world_learn(const struct as_syscall *call, const struct as_resolved *path);

/* ---- interrupt.c ---- */

void as_world_no_interrupted(struct as_world *w, struct as_process *p);

/* ---- world_about.c ---- */

/* Also resolves its paths; the caller drops their dentries. */
void as_world_about(struct as_world *w, struct as_process *p, const struct as_syscall *call,
		    struct as_about *about, struct as_resolved paths[2]);
/* What the trace itself says a descriptor is. */
struct as_fd *as_world_told(struct as_world *w, struct as_process *p, int fd, struct as_fd *at,
			    const struct as_syscall_slot *slot);

#endif
