/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * world_files: the descriptors of a process, or of several that share them: an array, and a table
 * of it by number. The size follows how many descriptors are open, not their numbers. The sum over
 * all processes is bounded.
 */
#include "base/array.h"
#include "calls/world_priv.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST 16u

struct as_fd *as_files_at(const struct as_files *files, int64_t fd)
{
	size_t i;

	if (fd < 0 || fd > INT32_MAX)
		return NULL;
	i = as_table_get(&files->table, (uint64_t)fd);
	return i == AS_TABLE_NONE ? NULL : &files->at[i];
}

struct as_files *as_files_new(void)
{
	struct as_files *files = as_xcalloc(1, sizeof(*files));

	files->refs = 1;
	return files;
}

void as_files_drop(struct as_world *w, struct as_files *files)
{
	if (--files->refs)
		return;
	for (size_t i = 0; i < files->n; i++) {
		as_world_file_changed(w, &files->at[i], -1);
		as_dentry_drop(&w->names, files->at[i].dentry);
	}
	w->n_fds -= (unsigned)files->n;
	free(files->at);
	as_table_free(&files->table);
	free(files);
}

/* NULL: there is no room. */
static struct as_fd *make(struct as_world *w, struct as_files *files, int fd)
{
	struct as_fd *at;

	if (fd < 0 || files->n >= AS_WORLD_FDS || w->n_fds >= AS_WORLD_FDS_ALL) {
		w->forgotten++;
		return NULL;
	}
	AS_ARRAY_ROOM(files->at, files->n, files->cap);
	as_table_add(&files->table, (uint64_t)fd, files->n);
	at = &files->at[files->n++];
	*at = (struct as_fd){ .fd = fd, .used = true };
	w->n_fds++;
	return at;
}

struct as_files *as_files_copy(struct as_world *w, const struct as_files *from)
{
	struct as_files *files = as_files_new();

	if (!from->n || w->n_fds + from->n > AS_WORLD_FDS_ALL) {
		w->forgotten += from->n;
		return files;
	}
	files->n = from->n;
	files->n_in = from->n_in;
	AS_ARRAY_ROOM_FOR(files->at, 0, from->n, files->cap);
	memcpy(files->at, from->at, from->n * sizeof(*files->at));
	as_table_copy(&files->table, &from->table);
	w->n_fds += (unsigned)files->n;
	for (size_t i = 0; i < files->n; i++) {
		files->at[i].late = 0;
		as_world_file_changed(w, &files->at[i], 1);
		as_dentry_share(&w->names, files->at[i].dentry);
	}
	return files;
}

/* The last one takes its place. */
void as_files_remove(struct as_world *w, struct as_files *files, struct as_fd *at)
{
	size_t i = (size_t)(at - files->at);

	as_world_file_changed(w, at, -1);
	files->n_in -= at->in;
	as_dentry_drop(&w->names, at->dentry);
	as_table_remove(&files->table, (uint64_t)at->fd, i);
	files->n--;
	w->n_fds--;
	if (i < files->n) {
		*at = files->at[files->n];
		as_table_move(&files->table, (uint64_t)at->fd, files->n, i);
	}
	if (files->cap > SMALLEST && files->n * 8 < files->cap) {
		files->cap /= 2;
		files->at = as_xrealloc(files->at, files->cap * sizeof(*files->at));
	}
}

void as_files_remove_all(struct as_world *w, struct as_files *files,
			 bool (*which)(const struct as_fd *at, const void *ctx), const void *ctx)
{
	/* From the last one on: a descriptor that takes another's place has been looked at. */
	for (size_t i = files->n; i-- > 0;)
		if (which(&files->at[i], ctx))
			as_files_remove(w, files, &files->at[i]);
}

void as_files_put(struct as_world *w, struct as_files *files, int fd, struct as_dentry *dentry,
		  enum as_fd_kind kind, bool cloexec)
{
	struct as_fd *at = as_files_at(files, fd);

	if (at)
		as_files_remove(w, files, at);
	at = make(w, files, fd);
	if (!at) {
		as_dentry_drop(&w->names, dentry);
		return;
	}
	at->dentry = dentry;
	at->kind = (unsigned char)kind;
	at->cloexec = cloexec;
	at->in = dentry && as_dentry_in(w, dentry);
	files->n_in += at->in;
}
