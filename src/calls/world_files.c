/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * world_files: the descriptors of a process, or of several that share them: a table with open
 * addressing. Its size follows the number of open descriptors, not their numbers. The sum over all
 * tables is bounded.
 */
#include "base/hash.h"
#include "calls/world_priv.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST 16u

static unsigned slot_of(const struct as_files *files, int fd)
{
	unsigned i = (unsigned)as_mix64((unsigned)fd) & (files->size - 1);

	while (files->at[i].used && files->at[i].fd != fd)
		i = (i + 1) & (files->size - 1);
	return i;
}

struct as_fd *as_files_at(const struct as_files *files, int64_t fd)
{
	struct as_fd *at;

	if (!files->n || fd < 0 || fd > INT32_MAX)
		return NULL;
	at = &files->at[slot_of(files, (int)fd)];
	return at->used ? at : NULL;
}

static void resize(struct as_files *files, unsigned size)
{
	struct as_files next = { .size = size, .at = as_xcalloc(size, sizeof(*next.at)) };

	for (unsigned i = 0; i < files->size; i++)
		if (files->at[i].used)
			next.at[slot_of(&next, files->at[i].fd)] = files->at[i];
	free(files->at);
	files->at = next.at;
	files->size = size;
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
	for (unsigned i = 0; i < files->size; i++)
		if (files->at[i].used) {
			as_world_file_changed(w, &files->at[i], -1);
			as_dentry_drop(&w->names, files->at[i].dentry);
		}
	w->n_fds -= files->n;
	free(files->at);
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
	if (files->n * 2 >= files->size)
		resize(files, files->size ? files->size * 2 : SMALLEST);
	at = &files->at[slot_of(files, fd)];
	as_assert(!at->used);
	*at = (struct as_fd){ .fd = fd, .used = true };
	files->n++;
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
	files->size = from->size;
	files->at = as_xmalloc(from->size * sizeof(*files->at));
	memcpy(files->at, from->at, from->size * sizeof(*files->at));
	w->n_fds += files->n;
	for (unsigned i = 0; i < files->size; i++) {
		files->at[i].late = 0;
		as_world_file_changed(w, &files->at[i], 1);
		as_dentry_share(&w->names, files->at[i].dentry);
	}
	return files;
}

/* Those after it move up, so that all are found. */
void as_files_remove(struct as_world *w, struct as_files *files, struct as_fd *at)
{
	unsigned i = (unsigned)(at - files->at), mask = files->size - 1;

	as_world_file_changed(w, at, -1);
	files->n_in -= at->in;
	files->n--;
	w->n_fds--;
	as_dentry_drop(&w->names, at->dentry);
	*at = (struct as_fd){ 0 };
	for (i = (i + 1) & mask; files->at[i].used; i = (i + 1) & mask) {
		struct as_fd moved = files->at[i];

		files->at[i] = (struct as_fd){ 0 };
		files->at[slot_of(files, moved.fd)] = moved;
	}
	if (files->size > SMALLEST && files->n * 8 < files->size)
		resize(files, files->size / 2);
}

void as_files_remove_all(struct as_world *w, struct as_files *files,
			 bool (*which)(const struct as_fd *at, const void *ctx), const void *ctx)
{
	unsigned n = files->n, size;

	for (unsigned i = 0; i < files->size; i++) {
		struct as_fd *at = &files->at[i];

		if (!at->used || !which(at, ctx))
			continue;
		as_world_file_changed(w, at, -1);
		files->n_in -= at->in;
		files->n--;
		as_dentry_drop(&w->names, at->dentry);
		*at = (struct as_fd){ 0 };
	}
	w->n_fds -= n - files->n;
	if (n == files->n)
		return;
	for (size = files->size; size > SMALLEST && files->n * 8 < size;)
		size /= 2;
	resize(files, size);
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
