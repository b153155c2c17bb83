/* SPDX-License-Identifier: GPL-2.0-or-later */
/* roster: see roster.h. Lists are short: everything is a scan, paths are compared by hash first. */
#include "gen/roster.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint32_t hash_of(const char *path, size_t len)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)path[i]) * 16777619u;
	return hash;
}

static bool is_below(const char *path, size_t len, const char *top, size_t top_len)
{
	if (top_len == 1) /* the root */
		return len > 1;
	return len > top_len && path[top_len] == '/' && !memcmp(path, top, top_len);
}

size_t as_roster_find(const struct as_roster *roster, const char *path, size_t len)
{
	uint32_t hash = hash_of(path, len);

	for (size_t i = 0; i < roster->n; i++) {
		const struct as_item *item = &roster->item[i];

		if (item->hash == hash && item->len == len && !memcmp(item->path, path, len))
			return i;
	}
	return SIZE_MAX;
}

bool as_roster_has_parent(const struct as_roster *roster, const char *path, size_t len)
{
	size_t i;

	while (len > 1 && path[len - 1] != '/')
		len--;
	i = as_roster_find(roster, path, len > 1 ? len - 1 : 1);
	return i != SIZE_MAX && roster->item[i].kind == AS_ITEM_DIR;
}

bool as_roster_has_below(const struct as_roster *roster, size_t i)
{
	const struct as_item *top = &roster->item[i];

	if (top->bulk)
		return true;
	for (size_t k = 0; k < roster->n; k++)
		if (is_below(roster->item[k].path, roster->item[k].len, top->path, top->len))
			return true;
	return false;
}

size_t as_roster_list(const struct as_roster *roster, size_t dir, size_t *first)
{
	const struct as_item *top = &roster->item[dir];
	size_t skip = top->len > 1 ? top->len + 1 : 1, n = 0;

	for (size_t k = 0; k < roster->n; k++) {
		const struct as_item *item = &roster->item[k];

		if (is_below(item->path, item->len, top->path, top->len) &&
		    !memchr(item->path + skip, '/', item->len - skip) && !n++)
			*first = k;
	}
	return n;
}

struct as_item *as_roster_add(struct as_roster *roster, const char *path, size_t len,
			      enum as_item_kind kind, uint32_t file)
{
	struct as_item *item;

	AS_ARRAY_ROOM(roster->item, roster->n, roster->cap);
	item = &roster->item[roster->n++];
	*item = (struct as_item){ .path = as_arena_strndup(&roster->text, path, len),
				  .len = (uint32_t)len,
				  .hash = hash_of(path, len),
				  .file = file ? file : ++roster->next_file,
				  .kind = kind };
	return item;
}

static void haunt(struct as_roster *roster, const char *path)
{
	roster->ghost[roster->next_ghost++ % AS_ROSTER_GHOSTS] = path;
}

void as_roster_drop(struct as_roster *roster, size_t i, bool keep_top)
{
	struct as_item top = roster->item[i];
	size_t out = 0;

	for (size_t k = 0; k < roster->n; k++) {
		const struct as_item *item = &roster->item[k];

		if ((k == i && !keep_top) || is_below(item->path, item->len, top.path, top.len)) {
			if (item->path == roster->cwd)
				roster->cwd = NULL;
			haunt(roster, item->path);
			continue;
		}
		roster->item[out++] = *item;
	}
	roster->n = out;
	if (keep_top)
		roster->item[as_roster_find(roster, top.path, top.len)].bulk = false;
	/* The working directory may be one that is not listed. */
	if (roster->cwd && is_below(roster->cwd, strlen(roster->cwd), top.path, top.len))
		roster->cwd = NULL;
}

static void rebase(struct as_roster *roster, struct as_item *item, size_t from_len, const char *to,
		   size_t to_len)
{
	size_t rest = item->len - from_len;
	char *path = as_arena_alloc(&roster->text, to_len + rest + 1);

	memcpy(path, to, to_len);
	memcpy(path + to_len, item->path + from_len, rest);
	if (roster->cwd == item->path)
		roster->cwd = path;
	item->path = path;
	item->len = (uint32_t)(to_len + rest);
	item->hash = hash_of(path, item->len);
}

static void move_below(struct as_roster *roster, const char *from, size_t from_len, const char *to,
		       size_t to_len)
{
	for (size_t k = 0; k < roster->n; k++) {
		struct as_item *item = &roster->item[k];
		bool same = item->len == from_len && !memcmp(item->path, from, from_len);

		if (same || is_below(item->path, item->len, from, from_len))
			rebase(roster, item, from_len, to, to_len);
	}
	/* The working directory is not listed, but it moved, too. */
	if (roster->cwd && is_below(roster->cwd, strlen(roster->cwd), from, from_len))
		roster->cwd = NULL;
}

void as_roster_move(struct as_roster *roster, size_t i, const char *to, size_t to_len)
{
	const char *from = roster->item[i].path;

	haunt(roster, from);
	move_below(roster, from, roster->item[i].len, to, to_len);
}

void as_roster_to_end(struct as_roster *roster, size_t i)
{
	struct as_item item = roster->item[i];

	memmove(&roster->item[i], &roster->item[i + 1],
		(roster->n - i - 1) * sizeof(*roster->item));
	roster->item[roster->n - 1] = item;
}

void as_roster_swap(struct as_roster *roster, size_t a, size_t b)
{
	/* No path has an empty name in it: nothing else is there. */
	static const char aside[] = "//";
	const char *at_a = roster->item[a].path, *at_b = roster->item[b].path;
	size_t len_a = roster->item[a].len, len_b = roster->item[b].len;

	move_below(roster, at_a, len_a, aside, sizeof(aside) - 1);
	move_below(roster, at_b, len_b, at_a, len_a);
	move_below(roster, aside, sizeof(aside) - 1, at_b, len_b);
}

void as_roster_open(struct as_roster *roster, struct as_gen_handle handle)
{
	if (roster->n_handles < sizeof(roster->handle) / sizeof(roster->handle[0]))
		roster->handle[roster->n_handles++] = handle;
}

void as_roster_close(struct as_roster *roster, int32_t slot)
{
	for (unsigned i = 0; i < roster->n_handles; i++)
		if (roster->handle[i].slot == slot) {
			roster->handle[i] = roster->handle[--roster->n_handles];
			return;
		}
}

void as_roster_close_all(struct as_roster *roster)
{
	roster->n_handles = 0;
	roster->cwd = roster->item[0].path;
}

static enum as_item_kind kind_of(uint32_t type)
{
	return S_ISDIR(type)   ? AS_ITEM_DIR
	       : S_ISREG(type) ? AS_ITEM_REG
	       : S_ISLNK(type) ? AS_ITEM_LINK
			       : AS_ITEM_NODE;
}

/* The model's inode numbers serve as files. */
void as_roster_load(struct as_roster *roster, const struct as_gen_view *view, const char *cwd)
{
	const char *text = view->text.data;
	size_t at;

	roster->n = roster->n_handles = roster->next_ghost = 0;
	roster->next_file = 0;
	memset(roster->ghost, 0, sizeof(roster->ghost));
	as_arena_reset(&roster->text);
	for (size_t i = 0; i < view->n; i++) {
		const struct as_spot *spot = &view->spot[i];

		if (spot->path_len > AS_ROSTER_PATH_MAX)
			continue;
		as_roster_add(roster, text + spot->path, spot->path_len, kind_of(spot->attrs.type),
			      spot->attrs.ino);
		if (spot->attrs.ino > roster->next_file)
			roster->next_file = spot->attrs.ino;
	}
	for (unsigned i = 0; i < view->n_open; i++) {
		struct as_gen_handle handle = { .slot = view->open[i].slot,
						.file = view->open[i].ino,
						.kind = AS_ITEM_REG };

		as_roster_open(roster, handle);
		if (handle.file > roster->next_file)
			roster->next_file = handle.file;
	}
	at = as_roster_find(roster, cwd, strlen(cwd));
	roster->cwd = at == SIZE_MAX ? NULL : roster->item[at].path;
}

void as_roster_free(struct as_roster *roster)
{
	free(roster->item);
	as_arena_free(&roster->text);
	*roster = (struct as_roster){ 0 };
}
