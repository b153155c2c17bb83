/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_strace_world: see import_strace_world.h. */
#include "trace/import_strace_world.h"

#include <stdlib.h>
#include <string.h>

/* ---- Descriptors ----------------------------------------------------------------------------- */

int as_tr_slot(const struct as_tr_world *w)
{
	for (int i = 0; i <= AS_SLOT_MAX; i++)
		if (!w->slots[i])
			return i;
	return AS_SLOT_NONE;
}

struct as_tr_file *as_tr_file_new(struct as_tr_world *w, const char *path, int slot)
{
	struct as_tr_file *file = as_xcalloc(1, sizeof(*file));

	file->path = as_xstrdup(path);
	file->slot = slot;
	if (slot >= 0)
		w->slots[slot] = true;
	return file;
}

/* The last descriptor closes the description. */
static void drop_file(struct as_tr_world *w, struct as_tr_file *file)
{
	struct as_op close = as_op_make(AS_OP_CLOSE);

	if (!file || --file->refs)
		return;
	if (file->slot >= 0) {
		close.fd = file->slot;
		as_importing_add(w->x, &close);
		w->slots[file->slot] = false;
	}
	free(file->path);
	free(file);
}

struct as_tr_file *as_tr_file(const struct as_tr_process *p, int64_t fd)
{
	return fd >= 0 && fd < (int64_t)p->files->n ? p->files->at[fd].file : NULL;
}

void as_tr_put(struct as_tr_world *w, struct as_tr_process *p, int64_t fd, struct as_tr_file *file,
	       bool cloexec)
{
	struct as_tr_files *files = p->files;

	if (file)
		file->refs++;
	if (fd < 0 || fd >= AS_STRACE_FDS_MAX) {
		drop_file(w, file);
		return;
	}
	if (fd >= (int64_t)files->n) {
		size_t n = (size_t)fd + 16;

		files->at = as_xrealloc(files->at, n * sizeof(*files->at));
		memset(files->at + files->n, 0, (n - files->n) * sizeof(*files->at));
		files->n = n;
	}
	drop_file(w, files->at[fd].file);
	files->at[fd].file = file;
	files->at[fd].cloexec = cloexec;
}

static void drop_files(struct as_tr_world *w, struct as_tr_files *files)
{
	if (--files->refs)
		return;
	for (size_t i = 0; i < files->n; i++)
		drop_file(w, files->at[i].file);
	free(files->at);
	free(files);
}

static struct as_tr_files *copy_files(const struct as_tr_files *from)
{
	struct as_tr_files *files = as_xcalloc(1, sizeof(*files));

	files->refs = 1;
	files->n = from ? from->n : 0;
	files->at = as_xcalloc(files->n + 1, sizeof(*files->at));
	for (size_t i = 0; i < files->n; i++) {
		files->at[i] = from->at[i];
		if (files->at[i].file)
			files->at[i].file->refs++;
	}
	return files;
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void drop_place(struct as_tr_place *place)
{
	if (--place->refs)
		return;
	free(place->cwd);
	free(place);
}

static struct as_tr_place *new_place(const char *cwd)
{
	struct as_tr_place *place = as_xcalloc(1, sizeof(*place));

	place->refs = 1;
	place->cwd = as_xstrdup(cwd);
	return place;
}

static struct as_tr_process *add_process(struct as_tr_world *w, unsigned pid,
					 struct as_tr_files *files, struct as_tr_place *place)
{
	struct as_tr_process *p = as_xcalloc(1, sizeof(*p));

	p->pid = pid;
	p->files = files;
	p->place = place;
	HASH_ADD(hh, w->processes, pid, sizeof(p->pid), p);
	return p;
}

static bool is_cloning(const struct as_tr_process *p)
{
	const char *text = as_buf_str(&p->pending);

	return !strncmp(text, "clone", 5) || !strncmp(text, "fork", 4) ||
	       !strncmp(text, "vfork", 5);
}

struct as_tr_process *as_tr_process(struct as_tr_world *w, unsigned pid)
{
	struct as_tr_process *p, *parent, *next;
	unsigned zero = 0;

	HASH_FIND(hh, w->processes, &pid, sizeof(pid), p);
	if (p)
		return p;
	/* On a terminal, strace numbers processes only while there are several. */
	if (!pid && w->processes)
		return w->processes;
	HASH_ITER(hh, w->processes, parent, next) {
		if (!is_cloning(parent))
			continue;
		as_tr_clone(w, parent, pid, strstr(parent->pending.data, "CLONE_FILES"),
			    strstr(parent->pending.data, "CLONE_FS"));
		return as_tr_process(w, pid);
	}
	HASH_FIND(hh, w->processes, &zero, sizeof(zero), p);
	if (p) {
		HASH_DEL(w->processes, p);
		p->pid = pid;
		HASH_ADD(hh, w->processes, pid, sizeof(p->pid), p);
		return p;
	}
	return add_process(w, pid, copy_files(NULL), new_place(*w->root ? w->root : "/"));
}

void as_tr_clone(struct as_tr_world *w, struct as_tr_process *parent, unsigned child,
		 bool share_files, bool share_place)
{
	struct as_tr_process *old;

	HASH_FIND(hh, w->processes, &child, sizeof(child), old);
	if (old)
		return;
	parent->files->refs += share_files;
	parent->place->refs += share_place;
	add_process(w, child, share_files ? parent->files : copy_files(parent->files),
		    share_place ? parent->place : new_place(parent->place->cwd));
}

void as_tr_exec(struct as_tr_world *w, struct as_tr_process *p)
{
	for (size_t i = 0; i < p->files->n; i++)
		if (p->files->at[i].cloexec)
			as_tr_put(w, p, (int64_t)i, NULL, false);
}

void as_tr_exit(struct as_tr_world *w, struct as_tr_process *p)
{
	HASH_DEL(w->processes, p);
	drop_files(w, p->files);
	drop_place(p->place);
	as_buf_free(&p->pending);
	free(p);
}

void as_tr_chdir(struct as_tr_process *p, const char *path)
{
	free(p->place->cwd);
	p->place->cwd = as_xstrdup(path);
}

/* ---- Paths ----------------------------------------------------------------------------------- */

const char *as_tr_join(struct as_tr_world *w, const char *base, const char *path)
{
	struct as_buf joined = { 0 };
	const char *copy;

	if (*path == '/')
		return path;
	as_buf_addf(&joined, "%s%s%s", base, *path && base[strlen(base) - 1] != '/' ? "/" : "",
		    path);
	copy = as_importing_word(w->x, (struct as_piece){ as_buf_str(&joined), joined.len });
	as_buf_free(&joined);
	return copy;
}

/* Without ".", ".." and double slashes. */
static void normalise(const char *path, struct as_buf *out)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !strncmp(path, "..", 2)) {
			while (out->len && out->data[--out->len] != '/')
				;
		} else if (len && !(len == 1 && *path == '.')) {
			as_buf_addc(out, '/');
			as_buf_add(out, path, len);
		}
		path += len + (path[len] == '/');
	}
	as_buf_addc(out, '\0');
	out->len--;
}

const char *as_tr_inside(struct as_tr_world *w, const char *absolute)
{
	size_t len = strlen(w->root);
	struct as_buf path = { 0 };
	const char *inside = NULL;

	normalise(absolute, &path);
	if (!strncmp(path.data, w->root, len) && (path.data[len] == '/' || !path.data[len])) {
		struct as_buf rest = { 0 };

		/* A slash at the end asks for a directory. */
		as_buf_addf(&rest, "%s%s", path.data[len] ? path.data + len : "/",
			    path.data[len] && absolute[strlen(absolute) - 1] == '/' ? "/" : "");
		inside = as_importing_word(w->x, (struct as_piece){ rest.data, rest.len });
		as_buf_free(&rest);
	}
	as_buf_free(&path);
	return inside;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* A slash at the end is not of the name. */
static size_t name_len(const char *path)
{
	size_t len = strlen(path);

	while (len && path[len - 1] == '/')
		len--;
	return len;
}

static struct as_tr_name *find_name(const struct as_tr_world *w, const char *path, size_t len)
{
	struct as_tr_name *name;

	HASH_FIND(hh, w->names, path, len, name);
	return name;
}

static void set_name(struct as_tr_world *w, const char *path, size_t len, enum as_tr_since since)
{
	struct as_tr_name *name = find_name(w, path, len);

	if (!name) {
		name = as_xcalloc(1, sizeof(*name) + len + 1);
		memcpy(name->path, path, len);
		HASH_ADD_KEYPTR(hh, w->names, name->path, len, name);
	}
	name->since = since;
}

void as_tr_needs(struct as_tr_world *w, const char *path, bool folder)
{
	struct as_op op = as_op_make(folder ? AS_OP_MKDIR : AS_OP_CREATE);
	size_t len = name_len(path), above = len;
	struct as_tr_name *name;

	if (!len || find_name(w, path, len))
		return;
	while (above && path[above - 1] != '/')
		above--;
	above -= above > 0;
	op.path = as_importing_word(w->x, (struct as_piece){ path, above });
	as_tr_needs(w, op.path, true);
	/* What a folder of the log's own making holds cannot have been there. */
	name = above ? find_name(w, path, above) : NULL;
	if (name && name->since != AS_TR_START)
		return;
	op.path = as_importing_word(w->x, (struct as_piece){ path, len });
	op.mode = folder ? 0777 : 0666;
	as_seq_add(w->first, &op);
	set_name(w, path, len, AS_TR_START);
}

void as_tr_needs_folder_of(struct as_tr_world *w, const char *path)
{
	size_t len = name_len(path);

	while (len && path[len - 1] != '/')
		len--;
	as_tr_needs(w, as_importing_word(w->x, (struct as_piece){ path, len }), true);
}

void as_tr_made(struct as_tr_world *w, const char *path)
{
	set_name(w, path, name_len(path), AS_TR_MADE);
}

void as_tr_gone(struct as_tr_world *w, const char *path)
{
	set_name(w, path, name_len(path), AS_TR_GONE);
}

static bool is_at_or_below(const char *path, const char *folder, size_t len)
{
	return !strncmp(path, folder, len) && (path[len] == '/' || !path[len]);
}

static void move_path(char **path, const char *from, size_t from_len, const char *to)
{
	struct as_buf moved = { 0 };

	if (!is_at_or_below(*path, from, from_len))
		return;
	as_buf_addf(&moved, "%.*s%s", (int)name_len(to), to, *path + from_len);
	free(*path);
	*path = as_xstrdup(as_buf_str(&moved));
	as_buf_free(&moved);
}

void as_tr_renamed(struct as_tr_world *w, const char *from, const char *to)
{
	struct as_buf old = { 0 }, new = { 0 };
	struct as_tr_name *name, *next, *last;
	struct as_tr_process *p, *q;

	/* Nothing can be moved below itself, and the root not at all. */
	if (!name_len(from) || is_at_or_below(to, from, name_len(from)))
		return;
	/* New names are put behind the last. */
	last = w->names ? ELMT_FROM_HH(w->names->hh.tbl, w->names->hh.tbl->tail) : NULL;
	HASH_ITER(hh, w->names, name, next) {
		char *path;

		next = name == last ? NULL : next;
		if (name->since == AS_TR_GONE || !is_at_or_below(name->path, from, name_len(from)))
			continue;
		path = as_xstrdup(name->path);
		name->since = AS_TR_GONE;
		move_path(&path, from, name_len(from), to);
		as_tr_made(w, path);
		free(path);
	}
	as_tr_made(w, to);
	as_tr_gone(w, from);
	as_buf_addf(&old, "%s%.*s", w->root, (int)name_len(from), from);
	as_buf_addf(&new, "%s%s", w->root, to);
	HASH_ITER(hh, w->processes, p, q) {
		move_path(&p->place->cwd, old.data, old.len, new.data);
		for (size_t i = 0; i < p->files->n; i++)
			if (p->files->at[i].file)
				move_path(&p->files->at[i].file->path, old.data, old.len, new.data);
	}
	as_buf_free(&old);
	as_buf_free(&new);
}

/* ---- The whole ------------------------------------------------------------------------------- */

void as_tr_open(struct as_tr_world *w, struct as_importing *x, const char *root)
{
	struct as_buf path = { 0 };

	*w = (struct as_tr_world){ .x = x, .first = as_seq_new() };
	normalise(root ? root : "/", &path);
	w->root = as_xstrdup(as_buf_str(&path));
	as_buf_free(&path);
}

void as_tr_close(struct as_tr_world *w)
{
	struct as_tr_process *p, *q;
	struct as_tr_name *name, *next;

	HASH_ITER(hh, w->processes, p, q)
		as_tr_exit(w, p);
	HASH_ITER(hh, w->names, name, next) {
		HASH_DEL(w->names, name);
		free(name);
	}
	as_seq_free(w->first);
	free(w->root);
}
