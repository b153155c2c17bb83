/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check: the invariants of model/state.h, verified from scratch. For tests: it is slow. */
#include "model/state.h"

#include <stdlib.h>

struct audit {
	const struct as_model *m;
	const char *wrong;
	struct as_ino_pair orphans;
	uint32_t inodes, multi, cwds, opens;
	uint32_t *edges; /* found in directories, by inode number */
};

static struct as_ino_pair part(const struct as_inode *inode, uint64_t key)
{
	struct as_ino_pair d = as_node_digest(inode);

	return (struct as_ino_pair){ as_digest_bind(d.exact, key), as_digest_bind(d.canon, 1) };
}

static void add(struct as_ino_pair *sum, struct as_ino_pair p)
{
	sum->exact = as_digest_add(sum->exact, p.exact);
	sum->canon = as_digest_add(sum->canon, p.canon);
}

static bool same(struct as_ino_pair a, struct as_ino_pair b)
{
	return as_digest_eq(a.exact, b.exact) && as_digest_eq(a.canon, b.canon);
}

static bool records_edge(const struct as_inode *child, uint32_t dir, const struct as_name *name)
{
	if (!(child->flags & INODE_MANY))
		return child->link.name && child->link.parent == dir &&
		       as_name_cmp(child->link.name, name->s, name->len) == 0;
	for (uint32_t i = 0; i < child->many->n; i++)
		if (child->many->link[i].parent == dir &&
		    as_name_cmp(child->many->link[i].name, name->s, name->len) == 0)
			return true;
	return false;
}

static void audit_entries(struct audit *a, const struct as_inode *dir, const struct as_entry *entry,
			  struct as_ino_pair *sum, uint32_t *n, uint32_t *dirs)
{
	const struct as_inode *child;

	if (!entry)
		return;
	child = inode_at(a->m, entry->ino);
	if (!child) {
		a->wrong = "an edge leads nowhere";
		return;
	}
	if (!records_edge(child, dir->ino, entry->name))
		a->wrong = "a child does not record its edge";
	a->edges[entry->ino]++;
	add(sum, part(child, entry->name->hash));
	++*n;
	*dirs += is_dir(child);
	audit_entries(a, dir, entry->left, sum, n, dirs);
	audit_entries(a, dir, entry->right, sum, n, dirs);
}

static int audit_dir(void *ctx, uint32_t ino, void *elem)
{
	const struct as_inode *inode = elem;
	struct as_ino_pair sum = { AS_DIGEST_ZERO, AS_DIGEST_ZERO };
	struct audit *a = ctx;
	uint32_t n = 0, dirs = 0;

	(void)ino;
	a->inodes++;
	a->cwds += inode->cwd;
	a->opens += inode->opens;
	a->multi += !!(inode->flags & INODE_MANY);
	if (inode->flags & INODE_ORPHAN) {
		add(&a->orphans, part(inode, 1));
		if (!inode->opens && !inode->cwd && !inode->pins)
			a->wrong = "an orphan that nothing holds";
	}
	if (!is_dir(inode))
		return 0;
	audit_entries(a, inode, inode->dir.entries, &sum, &n, &dirs);
	if (a->wrong)
		return 1;
	if (n != inode->dir.children)
		a->wrong = "number of children";
	else if (inode->nlink && inode->nlink != 2 + dirs)
		a->wrong = "link count of a directory";
	else if (!same(sum, inode->dir.sum))
		a->wrong = "sum of a directory";
	return a->wrong != NULL;
}

static int audit_links(void *ctx, uint32_t ino, void *elem)
{
	const struct as_inode *inode = elem;
	struct audit *a = ctx;
	uint32_t want = is_dir(inode) ? inode->nlink && ino != MODEL_ROOT : inode->nlink;

	if (a->edges[ino] != want)
		a->wrong = "number of links";
	return a->wrong != NULL;
}

const char *as_model_check(const struct as_model *m)
{
	struct audit a = { .m = m };

	a.edges = as_xcalloc(m->next_ino, sizeof(uint32_t));
	if (!as_vec_each(&m->inodes, audit_dir, &a))
		as_vec_each(&m->inodes, audit_links, &a);
	free(a.edges);
	if (a.wrong)
		return a.wrong;
	if (a.inodes != m->n_inodes)
		return "number of inodes";
	if (a.cwds != 1 || !inode_at(m, m->cwd) || !inode_at(m, m->cwd)->cwd)
		return "working directory";
	if (a.opens != m->n_open)
		return "number of descriptors";
	if (a.multi != (m->multi ? m->multi->n : 0))
		return "list of inodes with several links";
	return same(a.orphans, m->orphan_sum) ? NULL : "sum of orphans";
}
