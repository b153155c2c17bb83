/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mutate: see mutate.h. */
#include "tests/lib/mutate.h"

static struct mutant_node *mutant_find(struct mutant *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (!m->at[i].dropped && strcmp(m->at[i].path, path) == 0)
			return &m->at[i];
	return NULL;
}

static struct mutant_node *mutant_need(struct mutant *m, const char *path)
{
	struct mutant_node *node = mutant_find(m, path);

	if (!node) {
		fprintf(stderr, "mutate: no %s\n", path);
		abort();
	}
	return node;
}

static void mutant_load(struct mutant *m, const struct as_tree *tree)
{
	m->at = as_xcalloc(MUTANT_MAX, sizeof(*m->at));
	m->n = as_tree_len(tree);
	for (uint32_t i = 0; i < m->n; i++) {
		struct mutant_node *to = &m->at[i];
		struct as_buf path = { 0 };

		to->node = *as_tree_at(tree, i);
		to->ino = to->node.twin + 1;
		as_tree_path(tree, i, &path);
		to->path = as_xstrdup(as_buf_str(&path));
		as_buf_free(&path);
		for (uint32_t k = 0; k < to->node.n_xattrs; k++) {
			to->xattr[k].name = as_xstrdup(to->node.xattr[k].name);
			to->xattr[k].value = as_content_get(to->node.xattr[k].value);
		}
		for (uint32_t k = 0; to->node.content && k < to->node.content->n; k++) {
			const struct as_content_piece *piece = &to->node.content->piece[k];
			char *room = as_buf_reserve(&to->bytes, piece->len);

			as_piece_bytes(piece, piece->start, room, piece->len);
			to->bytes.len += piece->len;
		}
	}
}

static struct mutant_node *mutant_new(struct mutant *m, const char *path, uint32_t mode)
{
	struct mutant_node *node = &m->at[m->n];

	memset(node, 0, sizeof(*node));
	node->path = as_xstrdup(path);
	node->ino = 100000 + m->n++;
	node->node.mode = mode;
	node->node.nlink = 1;
	return node;
}

/* Everything but the path; contents are the same bytes. */
static void mutant_link(struct mutant *m, const char *from, const char *to)
{
	struct mutant_node *old = mutant_need(m, from), *node = mutant_new(m, to, old->node.mode);

	node->ino = old->ino;
	node->node = old->node;
	as_buf_add(&node->bytes, as_buf_str(&old->bytes), old->bytes.len);
	for (uint32_t k = 0; k < old->node.n_xattrs; k++) {
		node->xattr[k].name = as_xstrdup(old->xattr[k].name);
		node->xattr[k].value = as_content_get(old->xattr[k].value);
	}
}

static bool mutant_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return strncmp(path, top, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static void mutant_move(struct mutant *m, const char *from, const char *to)
{
	for (size_t i = 0; i < m->n; i++) {
		struct as_buf path = { 0 };

		if (m->at[i].dropped || !mutant_below(m->at[i].path, from))
			continue;
		as_buf_addf(&path, "%s%s", to, m->at[i].path + strlen(from));
		free(m->at[i].path);
		m->at[i].path = as_xstrdup(as_buf_str(&path));
		as_buf_free(&path);
	}
}

static void mutant_size(struct mutant_node *node, size_t size)
{
	if (size > node->bytes.len) {
		memset(as_buf_reserve(&node->bytes, size - node->bytes.len), 0,
		       size - node->bytes.len);
	}
	node->bytes.len = size;
}

static void mutant_xattr(struct mutant_node *node, const char *name, size_t len, uint64_t pattern,
			 bool remove)
{
	unsigned char *value = as_xmalloc(len + 1);
	uint32_t k = 0;

	while (k < node->node.n_xattrs && strcmp(node->xattr[k].name, name) != 0)
		k++;
	as_pattern_fill(pattern, 0, value, len);
	if (k < node->node.n_xattrs) {
		free((void *)node->xattr[k].name);
		as_content_put(node->xattr[k].value);
		if (remove) {
			node->xattr[k] = node->xattr[--node->node.n_xattrs];
			free(value);
			return;
		}
	} else {
		node->node.n_xattrs++;
	}
	node->xattr[k].name = as_xstrdup(name);
	node->xattr[k].value = as_content_of_bytes(value, len);
	free(value);
}

static void mutant_apply(struct mutant *m, const char *line)
{
	char verb[32] = "", a[512] = "", b[512] = "", c[64] = "", d[64] = "";
	struct mutant_node *node;
	size_t off, len;

	if (sscanf(line, " %31s %511s %511s %63s %63s", verb, a, b, c, d) < 2)
		return;
	if (strcmp(verb, "drop") == 0) {
		(void)mutant_need(m, a);
		for (size_t i = 0; i < m->n; i++)
			m->at[i].dropped |= mutant_below(m->at[i].path, a);
	} else if (strcmp(verb, "file") == 0 || strcmp(verb, "dir") == 0) {
		mutant_new(m, a,
			   (uint32_t)strtoul(b, NULL, 8) | (*verb == 'f' ? S_IFREG : S_IFDIR));
	} else if (strcmp(verb, "link") == 0) {
		mutant_link(m, a, b);
	} else if (strcmp(verb, "move") == 0) {
		mutant_move(m, a, b);
	} else if (strcmp(verb, "mode") == 0) {
		node = mutant_need(m, a);
		node->node.mode = (node->node.mode & S_IFMT) | (uint32_t)strtoul(b, NULL, 8);
	} else if (strcmp(verb, "uid") == 0) {
		mutant_need(m, a)->node.uid = (uint32_t)strtoul(b, NULL, 10);
	} else if (strcmp(verb, "rdev") == 0) {
		mutant_need(m, a)->node.rdev = strtoul(b, NULL, 10);
	} else if (strcmp(verb, "nlink") == 0) {
		node = mutant_need(m, a);
		node->node.nlink = (uint32_t)strtoul(b, NULL, 10);
		node->fixed_nlink = true;
	} else if (strcmp(verb, "size") == 0) {
		mutant_size(mutant_need(m, a), strtoul(b, NULL, 10));
	} else if (strcmp(verb, "fill") == 0 || strcmp(verb, "bytes") == 0) {
		node = mutant_need(m, a);
		off = strtoul(b, NULL, 10);
		len = strtoul(c, NULL, 10);
		if (off + len > node->bytes.len)
			mutant_size(node, off + len);
		if (*verb == 'f')
			as_pattern_fill(strtoull(d, NULL, 10), off, node->bytes.data + off, len);
		else
			memset(node->bytes.data + off, (int)strtoul(d, NULL, 0), len);
	} else if (strcmp(verb, "xattr") == 0) {
		mutant_xattr(mutant_need(m, a), b, strtoul(c, NULL, 10), strtoull(d, NULL, 10),
			     false);
	} else if (strcmp(verb, "noxattr") == 0) {
		mutant_xattr(mutant_need(m, a), b, 0, 0, true);
	} else {
		fprintf(stderr, "mutate: what is '%s'?\n", verb);
		abort();
	}
}

static void mutant_add(struct mutant *m, size_t i, uint32_t parent, struct as_tree_maker *maker)
{
	struct mutant_node *at = &m->at[i];
	struct as_content *content = NULL;
	size_t len = strlen(at->path);
	uint32_t dirs = 0, number;

	for (size_t k = 0; k < m->n; k++)
		if (!m->at[k].dropped && k != i && mutant_below(m->at[k].path, at->path) &&
		    !strchr(m->at[k].path + len + 1, '/'))
			dirs += S_ISDIR(m->at[k].node.mode);
	if (i == 0) {
		dirs = 0;
		for (size_t k = 1; k < m->n; k++)
			if (!m->at[k].dropped && !strchr(m->at[k].path + 1, '/'))
				dirs += S_ISDIR(m->at[k].node.mode);
	}
	at->node.name = i ? strrchr(at->path, '/') + 1 : "";
	at->node.xattr = at->xattr;
	if (S_ISDIR(at->node.mode) && !at->fixed_nlink)
		at->node.nlink = 2 + dirs;
	if (S_ISREG(at->node.mode)) {
		struct as_content_maker *pieces = as_content_maker_new();

		for (size_t off = 0; off < at->bytes.len; off += 65536)
			as_content_maker_add(pieces, at->bytes.data + off,
					     at->bytes.len - off < 65536 ? at->bytes.len - off
									 : 65536);
		content = as_content_maker_done(pieces);
		as_content_maker_free(pieces);
		at->node.size = at->bytes.len;
	}
	at->node.content = content;
	number = as_tree_maker_add(maker, parent, at->ino, &at->node);
	as_content_put(content);
	for (size_t k = 1; k < m->n; k++) {
		const char *rest = m->at[k].path + (i ? len : 0);

		if (!m->at[k].dropped && k != i &&
		    (i == 0 || mutant_below(m->at[k].path, at->path)) && !strchr(rest + 1, '/'))
			mutant_add(m, k, number, maker);
	}
}

struct as_tree *t_mutate(const struct as_tree *tree, const char *how)
{
	struct as_tree_maker *maker = as_tree_maker_new();
	struct mutant m;
	char *text = as_xstrdup(how), *rest = text, *line;

	mutant_load(&m, tree);
	while ((line = strsep(&rest, ";")))
		mutant_apply(&m, line);
	mutant_add(&m, 0, AS_TREE_NONE, maker);
	for (size_t i = 0; i < m.n; i++) {
		free(m.at[i].path);
		as_buf_free(&m.at[i].bytes);
		for (uint32_t k = 0; k < m.at[i].node.n_xattrs; k++) {
			free((void *)m.at[i].xattr[k].name);
			as_content_put(m.at[i].xattr[k].value);
		}
	}
	free(m.at);
	free(text);
	return as_tree_maker_done(maker);
}
