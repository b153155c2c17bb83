/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_strace_world: the processes of a log: their working directories and descriptors, and which names
 * of the tree were there before the log began. Processes share descriptors as clone says; a
 * description that several descriptors (of several processes) have in common has one slot.
 */
#ifndef AS_TRACE_IMPORT_STRACE_WORLD_H
#define AS_TRACE_IMPORT_STRACE_WORLD_H

#include "trace/import_priv.h"

#include <uthash.h>

#define AS_STRACE_FDS_MAX 65536

struct as_tr_file {
	unsigned refs;
	int slot; /* AS_SLOT_NONE: outside the tree */
	char *path; /* on the machine, absolute */
	int64_t at; /* its offset, -1: not known */
	bool appends; /* O_APPEND */
	bool listed; /* its entries were read */
};

struct as_tr_files {
	unsigned refs;
	struct {
		struct as_tr_file *file;
		bool cloexec;
	} * at;
	size_t n;
};

struct as_tr_place {
	unsigned refs;
	char *cwd;
};

struct as_tr_process {
	unsigned pid;
	struct as_tr_files *files;
	struct as_tr_place *place;
	struct as_buf pending; /* the beginning of a call that was interrupted by others */
	UT_hash_handle hh;
};

/* A name of the tree, and since when it is there. */
enum as_tr_since { AS_TR_START, AS_TR_MADE, AS_TR_GONE };

struct as_tr_name {
	UT_hash_handle hh;
	enum as_tr_since since;
	char path[];
};

struct as_tr_world {
	struct as_importing *x;
	char *root; /* without a slash at its end: "" is all of the machine */
	struct as_tr_process *processes;
	struct as_tr_name *names;
	struct as_seq *first; /* what makes the names that were there at the start */
	bool slots[AS_SLOT_MAX + 1];
};

void as_tr_open(struct as_tr_world *w, struct as_importing *x, const char *root);
void as_tr_close(struct as_tr_world *w);

/* The process; one that was never heard of begins with nothing but the root as its directory, or
 * as a copy of one whose clone has not come back yet. */
struct as_tr_process *as_tr_process(struct as_tr_world *w, unsigned pid);
void as_tr_clone(struct as_tr_world *w, struct as_tr_process *parent, unsigned child,
		 bool share_files, bool share_place);
void as_tr_exec(struct as_tr_world *w, struct as_tr_process *p);
void as_tr_exit(struct as_tr_world *w, struct as_tr_process *p);
void as_tr_chdir(struct as_tr_process *p, const char *path);

/* Descriptors. as_tr_put closes what was there. */
struct as_tr_file *as_tr_file(const struct as_tr_process *p, int64_t fd);
struct as_tr_file *as_tr_file_new(struct as_tr_world *w, const char *path, int slot);
void as_tr_put(struct as_tr_world *w, struct as_tr_process *p, int64_t fd, struct as_tr_file *file,
	       bool cloexec);
/* A free slot, or AS_SLOT_NONE. */
int as_tr_slot(const struct as_tr_world *w);

/* `path` below `base` if it is relative: absolute. The result lives until the next line. */
const char *as_tr_join(struct as_tr_world *w, const char *base, const char *path);
/* The same as a path of the tree; NULL: it is outside. */
const char *as_tr_inside(struct as_tr_world *w, const char *absolute);

/* Something was found at this path of the tree (or in its folder): if nothing in the log made it,
 * it must have been there before. */
void as_tr_needs(struct as_tr_world *w, const char *path, bool folder);
void as_tr_needs_folder_of(struct as_tr_world *w, const char *path);
void as_tr_made(struct as_tr_world *w, const char *path);
void as_tr_gone(struct as_tr_world *w, const char *path);
/* Also moves working directories and the paths of descriptors. */
void as_tr_renamed(struct as_tr_world *w, const char *from, const char *to);

#endif
