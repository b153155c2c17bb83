/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * digest: a state in 128 bits, exactly and up to renaming.
 *
 * Method. tree.c keeps, in every directory, sums of its children's digests, so the root's digest
 * (a Merkle digest) is at hand after every operation. Two things it cannot see are added here:
 *
 *   Which names are links to one inode. Where two inodes with several links each have the same
 *   digest, {a,b},{c,d} and {a,c},{b,d} would look alike. Exact: each such inode adds the
 *   multiset of its paths. Canonical: paths are what must not matter, so such inodes are
 *   numbered, in all orders (on an O(1) copy), and the smallest root digest counts; with more
 *   than ORDERS_MAX orders their paths are used, which tells more states apart than need be but
 *   never joins two.
 *
 *   Open files that are no longer in the tree: the sum over orphans.
 *
 * The text of a symbolic link counts as it is, also in the canonical digest.
 */
#include "model/state.h"

#include <stdlib.h>
#include <string.h>

#define ORDERS_MAX 120u
#define GROUP_MAX 5u

static struct as_digest seal(const struct as_model *m, struct as_digest root,
			     struct as_digest orphans, struct as_digest links)
{
	struct {
		struct as_digest root, orphans, links;
		uint64_t mounted;
	} all = { root, orphans, links,
		  m->mounted + 2u * m->own_opts + 4u * m->acls_off + 8u * m->readonly };

	return as_hash(&all, sizeof(all));
}

static uint64_t path_hash(const struct as_model *m, const struct as_link *link)
{
	uint64_t hash = link->name->hash;
	const struct as_inode *dir = inode_at(m, link->parent);

	while (dir->ino != MODEL_ROOT) {
		hash = as_mix64(hash * 0x9e3779b97f4a7c15u + dir->link.name->hash);
		dir = inode_at(m, dir->link.parent);
	}
	return hash;
}

/* The multiset of inodes with several links, each the multiset of its paths. */
static struct as_digest links_by_path(const struct as_model *m)
{
	struct as_digest sum = AS_DIGEST_ZERO;

	for (uint32_t i = 0; m->multi && i < m->multi->n; i++) {
		const struct as_links *many = inode_at(m, m->multi->ino[i])->many;
		struct as_digest one = AS_DIGEST_ZERO;

		for (uint32_t k = 0; k < many->n; k++)
			one = as_digest_add(one, as_digest_bind((struct as_digest){ 1, 2 },
								path_hash(m, &many->link[k])));
		sum = as_digest_add(sum, as_digest_bind(one, 3));
	}
	return sum;
}

void as_model_undigested(struct as_model *model)
{
	model->undigested = true;
}

struct as_digest as_model_digest(const struct as_model *model)
{
	struct as_ino_pair root = as_node_digest(inode_at(model, MODEL_ROOT));
	struct as_digest links = AS_DIGEST_ZERO;

	as_assert(!model->undigested);
	if (model->multi && model->multi->n > 1)
		links = links_by_path(model);
	return seal(model, root.exact, model->orphan_sum.exact, links);
}

/* ---- Up to renaming ---- */

/* Inodes with several links that look alike, to be numbered in every order. */
struct digest_group {
	uint32_t n, ino[GROUP_MAX];
};

static bool digest_less(struct as_digest a, struct as_digest b)
{
	return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
}

/* The groups of two or more look-alikes; false when there are too many orders. */
static bool find_groups(const struct as_model *m, struct digest_group *groups, size_t *n_groups)
{
	size_t n = m->multi->n;
	uint64_t orders = 1;
	bool taken[64] = { false };

	*n_groups = 0;
	if (n > 64)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct as_ino_pair look = as_node_digest(inode_at(m, m->multi->ino[i]));
		struct digest_group g = { 1, { m->multi->ino[i] } };

		if (taken[i])
			continue;
		for (size_t k = i + 1; k < n; k++) {
			struct as_ino_pair other = as_node_digest(inode_at(m, m->multi->ino[k]));

			if (taken[k] || !as_digest_eq(look.canon, other.canon))
				continue;
			if (g.n == GROUP_MAX)
				return false;
			taken[k] = true;
			g.ino[g.n++] = m->multi->ino[k];
			orders *= g.n;
		}
		if (g.n > 1)
			groups[(*n_groups)++] = g;
		if (orders > ORDERS_MAX)
			return false;
	}
	return true;
}

struct numbering {
	const struct as_model *m;
	const struct digest_group *groups;
	size_t n_groups;
	struct as_digest best;
	bool any;
};

static void relabel(struct as_model *m, uint32_t ino, uint32_t number)
{
	struct as_ino_pair before;
	struct as_inode *inode = as_node_edit(m, ino, &before);

	inode->label += as_mix64(0x517cc1b727220a95u + number);
	as_node_finish(m, inode, &before);
}

/* Numbers group g from position k on, in every order, then the groups after it. */
static void number_all(struct numbering *num, struct as_model *m, size_t g, uint32_t k,
		       uint32_t used)
{
	const struct digest_group *group = &num->groups[g];

	if (g == num->n_groups) {
		struct as_digest root = as_node_digest(inode_at(m, MODEL_ROOT)).canon;

		if (!num->any || digest_less(root, num->best))
			num->best = root;
		num->any = true;
		return;
	}
	if (k == group->n) {
		number_all(num, m, g + 1, 0, 0);
		return;
	}
	for (uint32_t i = 0; i < group->n; i++) {
		struct as_model *next;

		if (used >> i & 1)
			continue;
		next = as_model_copy(m);
		relabel(next, group->ino[i], k + 1);
		number_all(num, next, g, k + 1, used | 1u << i);
		as_model_free(next);
	}
}

struct as_digest as_model_digest_canonical(const struct as_model *model)
{
	struct as_digest root = as_node_digest(inode_at(model, MODEL_ROOT)).canon;
	struct as_digest links = AS_DIGEST_ZERO;
	struct digest_group groups[32];
	size_t n_groups;

	as_assert(!model->undigested);
	if (model->multi && model->multi->n > 1) {
		if (!find_groups(model, groups, &n_groups)) {
			links = links_by_path(model);
		} else if (n_groups) {
			struct numbering num = { .m = model,
						 .groups = groups,
						 .n_groups = n_groups };
			struct as_model *m = as_model_copy(model);

			number_all(&num, m, 0, 0, 0);
			as_model_free(m);
			root = num.best;
		}
	}
	return seal(model, root, model->orphan_sum.canon, links);
}
