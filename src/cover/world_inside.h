/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world_inside: what world.c, world_path.c and world_act.c have in common; for no one else. */
#ifndef AS_COVER_WORLD_INSIDE_H
#define AS_COVER_WORLD_INSIDE_H

#include "cover/world.h"

#include <regex.h>

#define AS_WORLD_PROCESSES 16384 /* more are forgotten, the table stays bounded */
#define AS_WORLD_FDS 65536 /* of one process */
#define AS_WORLD_FDS_ALL 262144
#define AS_WORLD_PATH_MAX 4096
#define AS_WORLD_VERDICTS 32768
#define AS_WORLD_KNOWN 16384

/* An absolute path, shared by descriptors and working directories. */
struct as_place {
	unsigned refs, len;
	bool in; /* the filter has it */
	char text[];
};

struct as_fd {
	struct as_place *place; /* NULL: has none, or it is not known */
	unsigned char kind; /* enum as_fd_kind; AS_FD_CLOSED: a free place */
	bool cloexec;
	bool was_in; /* of a closed one: what it was */
	unsigned char late; /* closes of earlier ones with this number, still to be told of */
};

struct as_files {
	unsigned refs, n; /* n: places */
	unsigned n_in; /* open ones that the filter has */
	bool touched; /* the process has met a file that the filter has */
	struct as_fd *at;
};

struct as_where_now {
	unsigned refs;
	struct as_place *cwd, *root; /* NULL: not known; the machine's */
};

struct as_process {
	unsigned tid, group;
	bool threads; /* there have been several in this group */
	unsigned adopted; /* taken for the child of this one, which is not back yet; 0: no */
	bool forking; /* in fork or clone, not back yet */
	uint64_t forking_flags, forking_since;
	unsigned label; /* as_world_label */
	bool labelled; /* not by its parent */
	struct as_files *files;
	struct as_where_now *now;
};

/* Where the things of a call are among its slots; -1: it has none. */
struct as_plan {
	signed char old, new_fd, last, flags, clone, arg, clone2;
	signed char path, dirfd, path2, fd, word; /* first of each class; the second path */
	signed char open_flags, map_flags;
};

struct as_filter {
	bool any; /* no filter: everything */
	bool literal;
	char *text; /* the literal, or what each match must begin with */
	size_t text_len;
	regex_t regex;
	bool compiled;
	uint64_t verdicts[AS_WORLD_VERDICTS]; /* hash of a path, its lowest bit the answer */
};

/* A path that was made absolute, in world->text. */
struct as_resolved {
	bool known; /* else it is below a directory that is not known */
	const char *text;
	unsigned len;
	uint64_t hash;
	bool in;
};

struct as_world {
	const struct as_spec *spec;
	struct as_plan *plans;
	struct as_filter filter;
	struct as_place *first_cwd;
	struct as_process **table; /* open addressing by tid */
	unsigned table_size, n_processes;
	struct as_process *last; /* found last: calls come in runs */
	unsigned n_forking;
	uint64_t clock;
	unsigned n_fds;
	uint64_t forgotten;
	uint64_t known[AS_WORLD_KNOWN]; /* hash of a path, its lowest two bits what it is */
	char text[2][2 * AS_WORLD_PATH_MAX + 2];
};

/* ---- world_path.c ---- */

AS_MUST_CHECK int as_filter_open(struct as_filter *filter, const char *under, struct as_err *err);
void as_filter_close(struct as_filter *filter);
bool as_filter_has(struct as_filter *filter, const char *path, unsigned len, uint64_t hash);

struct as_place *as_place_new(struct as_world *w, const char *path, unsigned len);
struct as_place *as_place_of(const struct as_resolved *path);
void as_place_drop(struct as_place *place);
static inline struct as_place *as_place_share(struct as_place *place)
{
	if (place)
		place->refs++;
	return place;
}

/* `base` NULL: not known. Result in w->text[which]. */
void as_world_resolve(struct as_world *w, const struct as_process *p, const struct as_place *base,
		      const char *path, unsigned len, unsigned which, struct as_resolved *out);

enum as_known { AS_KNOWN_NOT, AS_KNOWN_DIRECTORY, AS_KNOWN_SYMLINK };
enum as_known as_world_known(const struct as_world *w, uint64_t hash);
void as_world_learn(struct as_world *w, uint64_t hash, enum as_known kind);

/* ---- world.c ---- */

struct as_process *as_world_process(struct as_world *w, unsigned tid);
void as_world_drop(struct as_world *w, struct as_process *p);
void as_world_unshare(struct as_world *w, struct as_process *p, bool files, bool now);
/* Closes what was there. */
void as_world_put(struct as_world *w, struct as_process *p, int fd, struct as_place *place,
		  enum as_fd_kind kind, bool cloexec);
void as_world_close(struct as_world *w, struct as_process *p, int fd);

/* NULL: not in the table. */
static inline struct as_fd *as_world_get(const struct as_process *p, int64_t fd)
{
	struct as_fd *at = fd >= 0 && fd < (int64_t)p->files->n ? &p->files->at[fd] : NULL;

	return at && at->kind != AS_FD_CLOSED ? at : NULL;
}

/* ---- world_act.c ---- */

/* The effects of a call that went well; paths as they were resolved before it. */
void as_world_act(struct as_world *w, struct as_process *p, const struct as_syscall *call,
		  const struct as_resolved paths[2]);

#endif
