/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world_ask: what can be asked of the world: paths and open files. See world.h. */
#include "calls/world_priv.h"

#include <string.h>

static bool is_cut(const struct as_resolved *at, size_t len)
{
	return at->vague || len > AS_WORLD_PATH_MAX;
}

bool as_world_path(struct as_world *w, unsigned tid, int dir, const char *path, size_t len,
		   struct as_buf *out)
{
	const struct as_process *p = as_world_process(w, tid);
	struct as_dentry *base = p->now->cwd;
	struct as_resolved at;

	if (dir != AS_WORLD_CWD) {
		const struct as_fd *fd = as_world_get(p, dir);

		base = fd ? fd->dentry : NULL;
	}
	as_world_resolve(w, p, base, path, (unsigned)len, &at);
	if (!at.known)
		return false;
	if (!is_cut(&at, len)) {
		as_dentry_path(at.dentry, out);
		if (at.slash && at.dentry->parent)
			as_buf_addc(out, '/');
	}
	as_dentry_drop(&w->names, at.dentry);
	return !is_cut(&at, len);
}

void as_world_plain_path(struct as_world *w, const char *path, size_t len, struct as_buf *out)
{
	struct as_dentry *dentry = as_dentry_new(w, path, (unsigned)len);

	if (!dentry)
		return;
	as_dentry_path(dentry, out);
	as_dentry_drop(&w->names, dentry);
}

void as_world_watch_files(struct as_world *w, as_world_changed *changed, void *ctx)
{
	w->changed = changed;
	w->changed_ctx = ctx;
}

void as_world_set_file(struct as_world *w, unsigned tid, int fd, unsigned file)
{
	struct as_fd *at = as_world_get(as_world_process(w, tid), fd);

	as_assert(file <= AS_WORLD_FILES);
	if (!at)
		return;
	as_world_file_changed(w, at, -1);
	at->file = (unsigned short)file;
	as_world_file_changed(w, at, 1);
}

unsigned as_world_file(struct as_world *w, unsigned tid, int fd)
{
	const struct as_fd *at = as_world_get(as_world_process(w, tid), fd);

	return at ? at->file : 0;
}
