/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * world_names: the names that a trace has shown, as a tree of dentries. A dentry is a name in its
 * directory.
 *
 * A path is taken as it is written: "." and "..", double and trailing slashes are removed, and
 * symbolic links are not followed (a trace does not say where they lead). A dentry knows whether it
 * is a directory or a symbolic link. Descriptors and working directories refer to dentries: when a
 * directory is renamed, all that is below it moves along.
 *
 *  1. A dentry is found by its name only while it has one (`named`). One whose name was given to
 *     another file (unlink, rename over it, a mount) stays for the descriptors that refer to it.
 *  2. A dentry holds a reference to its parent; the root is always there.
 *  3. Dentries that nothing refers to are kept while there is room; the one least recently used is
 *     removed first. Those are counted.
 *  4. The filter's answer (`in`) is right while `judged` is names->moves: each move of something
 *     that may have names below it makes all answers stale.
 *  5. No chain of parents is longer than 2 * DEPTH_MAX, and none has a circle.
 */
#include "calls/world_priv.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define DEPTH_MAX 4096
#define TEXT_MAX (2 * AS_WORLD_PATH_MAX)

void as_names_open(struct as_names *names)
{
	names->root = as_xcalloc(1, sizeof(*names->root));
	names->root->refs = 1;
	names->root->dir = true;
	names->root->id = ++names->ids;
	names->moves = 1;
}

static void names_evict(struct as_names *names);

/* Frees all dentries that are left: those with names, their parents, and the root. All references
 * from outside must have been dropped. */
void as_names_close(struct as_names *names)
{
	while (names->oldest)
		names_evict(names);
	if (names->root)
		free(names->root->name);
	free(names->root);
	as_table_free(&names->table);
}

/* ---- References ------------------------------------------------------------------------------ */

static void leave_idle(struct as_names *names, struct as_dentry *p)
{
	*(p->older ? &p->older->newer : &names->oldest) = p->newer;
	*(p->newer ? &p->newer->older : &names->newest) = p->older;
	names->n_idle--;
}

static void become_idle(struct as_names *names, struct as_dentry *p)
{
	p->older = names->newest;
	p->newer = NULL;
	*(p->older ? &p->older->newer : &names->oldest) = p;
	names->newest = p;
	names->n_idle++;
}

static void lose_name(struct as_names *names, struct as_dentry *p)
{
	if (!p->named)
		return;
	as_table_remove_ptr(&names->table, p->hash, p);
	p->named = false;
}

static struct as_dentry *release(struct as_names *names, struct as_dentry *p)
{
	struct as_dentry *parent = p->parent;

	names->n--;
	free(p->name);
	free(p);
	return parent;
}

static void names_evict(struct as_names *names)
{
	struct as_dentry *p = names->oldest;

	leave_idle(names, p);
	lose_name(names, p);
	names->forgotten++;
	as_dentry_drop(names, release(names, p));
}

struct as_dentry *as_dentry_share(struct as_names *names, struct as_dentry *p)
{
	if (p && !p->refs++)
		leave_idle(names, p);
	return p;
}

void as_dentry_drop(struct as_names *names, struct as_dentry *p)
{
	while (p && !--p->refs) {
		if (p->named && (p->dir || p->link)) {
			become_idle(names, p);
			if (names->n_idle > AS_WORLD_IDLE)
				names_evict(names);
			return;
		}
		lose_name(names, p);
		p = release(names, p);
	}
}

/* ---- Names ----------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct as_dentry *parent, const char *name, unsigned len)
{
	return XXH3_64bits_withSeed(name, len, parent->id);
}

static void take_name(struct as_names *names, struct as_dentry *p, uint64_t hash)
{
	p->hash = hash;
	as_table_add_ptr(&names->table, hash, p);
	p->named = true;
}

static char *copied(const char *text, unsigned len)
{
	char *copy = as_xmalloc(len + 1);

	memcpy(copy, text, len);
	copy[len] = 0;
	return copy;
}

struct dentry_key {
	const struct as_dentry *parent;
	const char *name;
	unsigned len;
};

static bool is_dentry(const void *ctx, size_t item)
{
	const struct as_dentry *p = as_table_ptr(item);
	const struct dentry_key *key = ctx;

	return p->parent == key->parent && p->len == key->len &&
	       !memcmp(p->name, key->name, key->len);
}

/* The dentry of a name in `parent`, made if need be, with a reference; NULL: there is no room. */
static struct as_dentry *below(struct as_names *names, struct as_dentry *parent, const char *name,
			       unsigned len)
{
	uint64_t hash = hash_of(parent, name, len);
	struct dentry_key key = { parent, name, len };
	struct as_dentry *p = as_table_ptr(as_table_find(&names->table, hash, is_dentry, &key));

	if (p)
		return as_dentry_share(names, p);
	if (names->n >= AS_WORLD_DENTRIES && names->oldest)
		names_evict(names);
	if (names->n >= AS_WORLD_DENTRIES || parent->depth >= DEPTH_MAX) {
		names->forgotten++;
		return NULL;
	}
	p = as_xcalloc(1, sizeof(*p));
	p->refs = 1;
	p->id = ++names->ids;
	p->parent = as_dentry_share(names, parent);
	p->depth = parent->depth + 1;
	p->name = copied(name, len);
	p->len = len;
	names->n++;
	take_name(names, p, hash);
	return p;
}

/* Follows the components of a path. If it is too deep, or there is no room, the result is the
 * dentry that was reached. */
static void walk(struct as_names *names, const struct as_dentry *root, const char *path,
		 unsigned len, struct as_resolved *out)
{
	const char *end = path + len;

	for (unsigned n; path < end; path += n + 1) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		struct as_dentry *next = NULL;

		n = (unsigned)((slash ? slash : end) - path);
		out->slash = !n || (slash && slash + 1 == end);
		if (!n || (n == 1 && path[0] == '.'))
			continue;
		out->entry = !(n == 2 && path[0] == '.' && path[1] == '.');
		if (out->entry)
			next = below(names, out->dentry, path, n);
		else if (out->dentry != root && out->dentry->parent)
			next = as_dentry_share(names, out->dentry->parent);
		else
			continue;
		if (!next) {
			out->vague = true;
			return;
		}
		as_dentry_drop(names, out->dentry);
		out->dentry = next;
	}
}

void as_world_resolve(struct as_world *w, const struct as_process *p, struct as_dentry *base,
		      const char *path, unsigned len, struct as_resolved *out)
{
	struct as_dentry *root = p && p->now->root ? p->now->root : w->names.root;

	*out = (struct as_resolved){ 0 };
	if (!len)
		path = "";
	if (len && *path == '/')
		base = root;
	else if (!base)
		return;
	if (len > AS_WORLD_PATH_MAX)
		len = AS_WORLD_PATH_MAX;
	out->known = true;
	out->dentry = as_dentry_share(&w->names, base);
	walk(&w->names, root, path, len, out);
	out->in = as_dentry_in(w, out->dentry);
}

struct as_dentry *as_dentry_new(struct as_world *w, const char *path, unsigned len)
{
	struct as_resolved out;

	as_world_resolve(w, NULL, NULL, path, len, &out);
	return out.dentry;
}

/* ---- The filter ------------------------------------------------------------------------------ */

/* The whole path, at the end of `room`; only its beginning if it is longer than TEXT_MAX. */
static const char *text_of(const struct as_dentry *p, char room[static TEXT_MAX + 1], unsigned *len)
{
	const struct as_dentry *top = p;
	unsigned sum = 0, at = TEXT_MAX;

	for (; top->parent; top = top->parent)
		sum += top->len + 1;
	for (; sum > TEXT_MAX; p = p->parent)
		sum -= p->len + 1;
	room[at] = 0;
	for (; p->parent; p = p->parent) {
		at -= p->len;
		memcpy(room + at, p->name, p->len);
		room[--at] = '/';
	}
	if (at == TEXT_MAX)
		room[--at] = '/';
	*len = TEXT_MAX - at;
	return room + at;
}

bool as_dentry_in(struct as_world *w, struct as_dentry *p)
{
	char room[TEXT_MAX + 1];
	struct as_filter_answer *answer;
	const char *text;
	unsigned len;

	if (w->filter.any)
		return true;
	if (p->judged == w->names.moves)
		return p->in;
	p->judged = w->names.moves;
	if (p->parent && p->parent->judged == w->names.moves && p->parent->in) {
		p->in = true;
		return true;
	}
	answer = &w->names.answers[p->hash % AS_WORLD_ANSWERS];
	if (answer->hash != p->hash || answer->moves != w->names.moves) {
		text = text_of(p, room, &len);
		*answer = (struct as_filter_answer){ p->hash, w->names.moves,
						     as_filter_has(&w->filter, text, len) };
	}
	p->in = answer->in;
	return p->in;
}

bool as_dentry_is(const struct as_dentry *p, const char *path, unsigned len)
{
	char room[TEXT_MAX + 1];
	unsigned n;
	const char *text = text_of(p, room, &n);

	return n == len && !memcmp(text, path, len);
}

void as_dentry_path(const struct as_dentry *p, struct as_buf *out)
{
	char room[TEXT_MAX + 1];
	unsigned len;
	const char *text = text_of(p, room, &len);

	as_buf_add(out, text, len);
}

/* ---- What happens to names ------------------------------------------------------------------- */

void as_dentry_gone(struct as_names *names, struct as_dentry *p)
{
	if (p->parent) {
		lose_name(names, p);
		return;
	}
	/* A mount on the root: nothing that was known is found any more. */
	p->id = ++names->ids;
}

void as_dentry_fresh(struct as_names *names, struct as_resolved *path)
{
	struct as_dentry *was = path->dentry;

	if (was->refs > 1) {
		lose_name(names, was);
		path->dentry = below(names, was->parent, was->name, was->len);
		if (path->dentry)
			as_dentry_drop(names, was);
		else
			path->dentry = was;
	}
	path->dentry->dir = path->dentry->link = false;
}

/* Is `p` the same as `above`, or below it? Also true if it is too deep to be moved to. */
static bool is_below(const struct as_dentry *p, const struct as_dentry *above)
{
	unsigned depth = 0;

	for (; p; p = p->parent)
		if (p == above || depth++ > DEPTH_MAX)
			return true;
	return false;
}

/* Answers of the filter about it, and about what may be below it, are stale. */
static void moved(struct as_names *names, struct as_dentry *p)
{
	p->judged = 0;
	if (p->refs > 1)
		names->moves++;
	else
		p->id = ++names->ids; /* nothing is below it but answers of the filter */
}

void as_dentry_move(struct as_names *names, struct as_dentry *from, struct as_dentry *to)
{
	struct as_dentry *parent = from->parent;

	if (from == to || !parent || !to->parent)
		return;
	lose_name(names, from);
	lose_name(names, to);
	if (is_below(to, from))
		return;
	free(from->name);
	from->name = copied(to->name, to->len);
	from->len = to->len;
	from->parent = as_dentry_share(names, to->parent);
	as_dentry_drop(names, parent);
	take_name(names, from, hash_of(from->parent, from->name, from->len));
	moved(names, from);
}

void as_dentry_swap(struct as_names *names, struct as_dentry *a, struct as_dentry *b)
{
	struct as_dentry was = *a;

	if (a == b || !a->parent || !b->parent || is_below(a->parent, b) || is_below(b->parent, a))
		return;
	lose_name(names, a);
	lose_name(names, b);
	a->name = b->name;
	a->len = b->len;
	a->parent = b->parent;
	b->name = was.name;
	b->len = was.len;
	b->parent = was.parent;
	take_name(names, a, hash_of(a->parent, a->name, a->len));
	take_name(names, b, hash_of(b->parent, b->name, b->len));
	moved(names, a);
	moved(names, b);
}
