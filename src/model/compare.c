/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare: the model's tree against a real one, both walked in bytewise order of names, until the
 * first difference. Types, permissions, owners, link counts, sizes, device numbers, link texts,
 * contents, attributes, known times, and which names are links to one inode.
 *
 * Contents: files up to WHOLE_BYTES are read whole; of larger ones (sparse, mostly) every run that
 * was written, EDGE_BYTES of the holes on both sides of it, and both ends of the file.
 */
#include "model/compare.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/table.h"
#include "model/mark.h"
#include "model/stamp.h"
#include "model/state.h"
#include "model/walk.h"
#include "work/outcome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE_BYTES (64u << 20)
#define EDGE_BYTES 65536u
#define PIECE_BYTES 65536u
#define LIST_BYTES 65536u

/* Real inode number of a file with several links, by the model's; of a library: of any file. */
struct twin {
	uint32_t ino;
	uint64_t real;
};

struct compare {
	const struct as_model *m;
	const struct as_tree_ops *tree;
	void *ctx;
	struct as_buf *why;
	struct as_buf path;
	struct twin *twins;
	size_t n_twins, cap_twins;
	struct as_table by_ino; /* of twins */
	struct as_table by_real; /* of the same; of a library alone, which has all files there */
	char *piece;
	bool differs;
};

static void differ(struct compare *c, const char *fmt, ...) AS_PRINTF(2, 3);

static void differ(struct compare *c, const char *fmt, ...)
{
	va_list ap;

	if (c->differs)
		return;
	c->differs = true;
	as_buf_addf(c->why, "%s: ", as_buf_str(&c->path));
	va_start(ap, fmt);
	as_buf_vaddf(c->why, fmt, ap);
	va_end(ap);
}

const char *as_model_type_word(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a fifo";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	case S_IFREG:
		return "a regular file";
	default:
		return "of unknown type";
	}
}

static bool feature(const struct compare *c, uint64_t bit)
{
	return c->m->traits->features & bit;
}

static bool quirk(const struct compare *c, uint64_t bit)
{
	return c->m->traits->quirks & bit;
}

static void number(struct compare *c, const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		differ(c, "%s %llu, model says %llu", what, (unsigned long long)got,
		       (unsigned long long)want);
}

/* ---- Attributes ---- */

static void compare_times(struct compare *c, const struct as_inode *inode, const struct as_stat *st)
{
	const struct as_times *times = inode->times;

	if (!as_traits_holds_atime(c->m->traits, st->atime_ns))
		differ(c, "atime %lld ns, which the disk cannot hold", (long long)st->atime_ns);
	if (!times || !feature(c, AS_FEAT_TIMES))
		return;
	if (times->mtime_known && !as_traits_same_time(c->m->traits, st->mtime_ns, times->mtime_ns))
		differ(c, "mtime %lld ns, model says %lld", (long long)st->mtime_ns,
		       (long long)times->mtime_ns);
}

static void compare_stamps(struct compare *c, const struct as_inode *inode,
			   const struct as_stat *st)
{
	struct as_buf why = { 0 };

	if (as_stamps_wrong(c->m, inode, st, &why))
		differ(c, "%s", as_buf_str(&why));
	as_buf_free(&why);
}

static void compare_stat(struct compare *c, const struct as_inode *inode, const struct as_stat *st)
{
	if ((st->mode & S_IFMT) != (inode->mode & S_IFMT)) {
		differ(c, "is %s, model says %s", as_model_type_word(st->mode),
		       as_model_type_word(inode->mode));
		return;
	}
	if (feature(c, AS_FEAT_OWNER)) {
		if (!as_node_mode_is(inode, st->mode))
			differ(c, "mode %04o, model says %04o", st->mode & 07777,
			       inode->mode & 07777);
		number(c, "uid", st->uid, inode->uid);
		number(c, "gid", st->gid, inode->gid);
	}
	if (!is_dir(inode) && !quirk(c, AS_QUIRK_NLINK_ANY))
		number(c, "link count", st->nlink, inode->nlink);
	if (is_reg(inode) && !(inode->flags & INODE_LOOSE))
		number(c, "size", st->size, inode->reg.size);
	if (S_ISCHR(inode->mode) || S_ISBLK(inode->mode))
		number(c, "device number", st->rdev, node_rdev(inode));
	if (inode->flags & INODE_LOOSE)
		return;
	compare_times(c, inode, st);
	compare_stamps(c, inode, st);
}

struct twin_key {
	const struct twin *twins;
	uint32_t ino;
	uint64_t real;
};

static bool has_real(const void *ctx, size_t index)
{
	const struct twin_key *key = ctx;

	return key->twins[index].real == key->real;
}

static bool is_twin(const void *ctx, size_t index)
{
	const struct twin_key *key = ctx;

	return key->twins[index].ino == key->ino;
}

/* Names of one inode in the model must be names of one inode there, and of no other. */
static void compare_identity(struct compare *c, const struct as_inode *inode,
			     const struct as_stat *st)
{
	struct twin_key key = { c->twins, inode->ino, st->ino };
	bool all = c->m->traits->features & AS_FEAT_LIBRARY;
	size_t i;

	if (!(inode->flags & INODE_MANY) && !all)
		return;
	i = as_table_find(&c->by_ino, inode->ino, is_twin, &key);
	if (i != AS_TABLE_NONE) {
		if (c->twins[i].real != st->ino)
			differ(c, "is another file than its hard links");
		return;
	}
	if (all && as_table_find(&c->by_real, as_mix64(st->ino), has_real, &key) != AS_TABLE_NONE)
		differ(c, "its inode number %llu is that of another file, too",
		       (unsigned long long)st->ino);
	AS_ARRAY_ROOM(c->twins, c->n_twins, c->cap_twins);
	c->twins[c->n_twins] = (struct twin){ inode->ino, st->ino };
	if (all)
		as_table_add(&c->by_real, as_mix64(st->ino), c->n_twins);
	as_table_add(&c->by_ino, inode->ino, c->n_twins++);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void compare_value(struct compare *c, const struct as_xattr *x)
{
	int64_t n =
		c->tree->getxattr(c->ctx, as_buf_str(&c->path), x->name->s, c->piece, PIECE_BYTES);
	size_t at;

	if (n < 0) {
		differ(c, "attribute %s: reading it gives %s", x->name->s,
		       as_outcome_err_name((int)-n));
		return;
	}
	if ((uint64_t)n != x->len) {
		differ(c, "attribute %s: %lld bytes, model says %llu", x->name->s, (long long)n,
		       (unsigned long long)x->len);
		return;
	}
	at = as_pattern_check(x->pattern, 0, c->piece, (size_t)n);
	if (at < (size_t)n)
		differ(c, "attribute %s: byte %zu is not what was set", x->name->s, at);
}

/* Lists are not shown while they are off. */
static bool hidden(const struct compare *c, const char *name)
{
	return c->m->acls_off && !strncmp(name, "acl.", 4);
}

static void compare_xattrs(struct compare *c, const struct as_inode *inode)
{
	uint32_t want = inode->xattrs ? inode->xattrs->n : 0, k = 0;
	char *list, *names[1024];
	size_t n = 0;
	int64_t len;

	if (!feature(c, AS_FEAT_XATTR_USER) && !feature(c, AS_FEAT_XATTR_TRUSTED) &&
	    !feature(c, AS_FEAT_FLAGS) && !feature(c, AS_FEAT_ACL))
		return;
	list = as_xmalloc(LIST_BYTES);
	len = c->tree->listxattr(c->ctx, as_buf_str(&c->path), list, LIST_BYTES);
	for (char *p = list; len > 0 && p < list + len && n < 1024; p += strlen(p) + 1)
		names[n++] = p;
	qsort(names, n, sizeof(names[0]), by_name);
	for (size_t i = 0; i < n || k < want;) {
		int cmp;

		if (k == want)
			cmp = -1;
		else if (i == n)
			cmp = 1;
		else
			cmp = strcmp(names[i], inode->xattrs->x[k].name->s);
		if (cmp < 0) {
			if (!quirk(c, AS_QUIRK_XATTR_PART_REPORTED) || as_mark_is(names[i]))
				differ(c, "attribute %s should not be there", names[i]);
			i++;
		} else if (cmp > 0) {
			const char *name = inode->xattrs->x[k++].name->s;

			if (as_traits_lists(c->m->traits, name) && !hidden(c, name))
				differ(c, "attribute %s is missing", name);
		} else {
			compare_value(c, &inode->xattrs->x[k++]);
			i++;
		}
	}
	free(list);
}

/* ---- Contents ---- */

static void compare_range(struct compare *c, const struct as_inode *inode, uint64_t off,
			  uint64_t end)
{
	while (off < end && !c->differs) {
		size_t len = end - off < PIECE_BYTES ? (size_t)(end - off) : PIECE_BYTES;
		int64_t n = c->tree->read(c->ctx, as_buf_str(&c->path), c->piece, len, off);
		uint8_t want = 0;
		size_t at;

		if (n < 0) {
			differ(c, "reading at %llu gives %s", (unsigned long long)off,
			       as_outcome_err_name((int)-n));
			return;
		}
		if ((size_t)n < len) {
			differ(c, "reading at %llu gives %lld bytes of %zu",
			       (unsigned long long)off, (long long)n, len);
			return;
		}
		at = as_content_check(inode, off, c->piece, len, &want);
		if (at < len)
			differ(c, "byte at offset %llu is 0x%02x, model says 0x%02x",
			       (unsigned long long)(off + at), (uint8_t)c->piece[at], want);
		off += len;
	}
}

static void compare_content(struct compare *c, const struct as_inode *inode)
{
	uint64_t size = inode->reg.size, done = 0;
	const struct as_runs *runs = inode->reg.runs;

	if (size <= WHOLE_BYTES) {
		compare_range(c, inode, 0, size);
		return;
	}
	for (uint32_t i = 0; runs && i < runs->n; i++) {
		uint64_t from = runs->run[i].start, to = from + runs->run[i].len;

		from = from > EDGE_BYTES ? from - EDGE_BYTES : 0;
		to = size - to > EDGE_BYTES ? to + EDGE_BYTES : size;
		compare_range(c, inode, from > done ? from : done, to);
		done = to > done ? to : done;
	}
	compare_range(c, inode, 0, EDGE_BYTES);
	compare_range(c, inode, size - EDGE_BYTES, size);
}

static void compare_text(struct compare *c, const struct as_inode *inode)
{
	int64_t n = c->tree->readlink(c->ctx, as_buf_str(&c->path), c->piece, PIECE_BYTES);

	if (n < 0)
		differ(c, "reading the link gives %s", as_outcome_err_name((int)-n));
	else if ((size_t)n != inode->text->len || memcmp(c->piece, inode->text->s, (size_t)n) != 0)
		differ(c, "says \"%.*s\", model says \"%s\"", (int)n, c->piece, inode->text->s);
}

/* ---- Directories ---- */

struct compare_names {
	struct as_arena arena;
	char **name;
	size_t n, cap;
};

static int collect(void *ctx, const char *name, uint64_t ino, uint32_t type_bits)
{
	struct compare_names *names = ctx;

	(void)ino;
	(void)type_bits;
	AS_ARRAY_ROOM(names->name, names->n, names->cap);
	names->name[names->n++] = as_arena_strndup(&names->arena, name, strlen(name));
	return 0;
}

static void compare_node(struct compare *c, uint32_t ino);

static size_t descend(struct compare *c, const char *name)
{
	size_t len = c->path.len;

	if (len > 1)
		as_buf_addc(&c->path, '/');
	as_buf_adds(&c->path, name);
	return len;
}

static void ascend(struct compare *c, size_t len)
{
	c->path.len = len;
	c->path.data[len] = '\0';
}

static void missing(struct compare *c, const char *name, uint32_t mode)
{
	size_t len = descend(c, name);

	differ(c, "is missing, model says it is %s", as_model_type_word(mode));
	ascend(c, len);
}

static void surplus(struct compare *c, const char *name)
{
	size_t len = descend(c, name);

	differ(c, "should not be there");
	ascend(c, len);
}

/* In order through the model's entries; *i runs through the sorted real names beside it. */
static void compare_entries(struct compare *c, const struct as_entry *entry,
			    struct compare_names *names, size_t *i)
{
	int cmp = -1;
	size_t len;

	if (!entry || c->differs)
		return;
	compare_entries(c, entry->left, names, i);
	if (c->differs)
		return;
	if (*i < names->n)
		cmp = as_name_cmp(entry->name, names->name[*i], strlen(names->name[*i]));
	if (cmp < 0) {
		missing(c, entry->name->s, inode_at(c->m, entry->ino)->mode);
	} else if (cmp > 0) {
		surplus(c, names->name[*i]);
	} else {
		++*i;
		len = descend(c, entry->name->s);
		compare_node(c, entry->ino);
		ascend(c, len);
	}
	compare_entries(c, entry->right, names, i);
}

static void compare_dir(struct compare *c, const struct as_inode *inode)
{
	struct compare_names names = { 0 };
	size_t i = 0;
	int rc = c->tree->list(c->ctx, as_buf_str(&c->path), collect, &names);

	if (rc == -AS_ERR_TOO_MUCH) {
		differ(c, "listing it does not end");
	} else if (rc < 0) {
		differ(c, "listing it gives %s", as_outcome_err_name(-rc));
	} else {
		if (names.n)
			qsort(names.name, names.n, sizeof(char *), by_name);
		compare_entries(c, inode->dir.entries, &names, &i);
		if (i < names.n)
			surplus(c, names.name[i]);
	}
	free(names.name);
	as_arena_free(&names.arena);
}

static void compare_dir_links(struct compare *c, const struct as_inode *inode,
			      const struct as_stat *st)
{
	if (quirk(c, AS_QUIRK_DIR_NLINK_ONE))
		number(c, "link count", st->nlink, 1);
	else if (!quirk(c, AS_QUIRK_DIR_NLINK_ANY))
		number(c, "link count", st->nlink, inode->nlink);
}

static void compare_node(struct compare *c, uint32_t ino)
{
	const struct as_inode *inode = inode_at(c->m, ino);
	struct as_stat st = { 0 };
	int rc = c->tree->stat(c->ctx, as_buf_str(&c->path), &st);

	/* Deeper than a path can reach: nothing more can be asked. */
	if (rc == -ENAMETOOLONG)
		return;
	if (rc < 0) {
		differ(c, "asking for its attributes gives %s", as_outcome_err_name(-rc));
		return;
	}
	compare_stat(c, inode, &st);
	compare_identity(c, inode, &st);
	if (!c->differs)
		compare_xattrs(c, inode);
	if (c->differs)
		return;
	if (is_dir(inode)) {
		/* The link count last: a missing subdirectory says more. */
		compare_dir(c, inode);
		compare_dir_links(c, inode, &st);
	} else if (is_reg(inode) && !(inode->flags & INODE_LOOSE))
		compare_content(c, inode);
	else if (S_ISLNK(inode->mode))
		compare_text(c, inode);
}

int as_model_compare(const struct as_model *model, const struct as_tree_ops *tree, void *ctx,
		     struct as_buf *why)
{
	struct compare c = { .m = model, .tree = tree, .ctx = ctx, .why = why };

	if (model->lost || !model->mounted)
		return 0;
	c.piece = as_xmalloc(PIECE_BYTES);
	as_buf_addc(&c.path, '/');
	compare_node(&c, MODEL_ROOT);
	if (tree->rest)
		tree->rest(ctx);
	as_table_free(&c.by_ino);
	as_table_free(&c.by_real);
	free(c.twins);
	free(c.piece);
	as_buf_free(&c.path);
	return c.differs;
}
