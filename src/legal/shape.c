/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shape: names and attributes of a tree as one digest, the same for a state of the model and for a
 * tree that was read. What the type does not keep (owners of vfat, link counts of directories) is
 * left out of both, and so are sizes and contents, which have a rule of their own.
 */
#include "legal/history_priv.h"

#include <string.h>
#include <sys/stat.h>

struct attrs {
	uint32_t mode, nlink, uid, gid;
	uint64_t rdev, text;
	struct as_digest xattrs;
};

static uint32_t mode_kept(const struct as_history *h, uint32_t mode)
{
	if (h->traits->features & AS_FEAT_OWNER)
		return mode;
	return mode & S_IFMT;
}

static uint32_t links_kept(const struct as_history *h, uint32_t mode, uint32_t nlink, bool model)
{
	if (!S_ISDIR(mode))
		return nlink;
	if (h->traits->quirks & AS_QUIRK_DIR_NLINK_ANY)
		return 0;
	if (h->traits->quirks & AS_QUIRK_DIR_NLINK_ONE)
		return model ? 1 : nlink;
	return nlink;
}

bool as_history_counts_xattr(const struct as_history *h, const char *name)
{
	if (!(h->traits->features & (AS_FEAT_XATTR_USER | AS_FEAT_XATTR_TRUSTED)))
		return false;
	if (!(h->traits->quirks & AS_QUIRK_XATTR_PART_REPORTED))
		return true;
	for (const struct as_history_known *known = h->known; known; known = known->next)
		if (strcmp(known->xattr, name) == 0)
			return true;
	return false;
}

struct as_digest as_history_xattr_digest(const char *name, struct as_digest value)
{
	return as_digest_bind(value, as_hash64(name, strlen(name)));
}

struct as_digest as_history_attrs_of_version(const struct as_history *h,
					     const struct as_history_version *v)
{
	bool owner = h->traits->features & AS_FEAT_OWNER;
	struct attrs attrs = {
		.mode = mode_kept(h, v->mode),
		.nlink = links_kept(h, v->mode, v->nlink, true),
		.uid = owner ? v->uid : 0,
		.gid = owner ? v->gid : 0,
		.rdev = v->rdev,
		.text = v->text ? as_hash64(v->text, strlen(v->text)) : 0,
	};

	for (uint32_t i = 0; i < v->n_xattrs; i++)
		attrs.xattrs = as_digest_add(attrs.xattrs, v->xattr[i].digest);
	return as_hash(&attrs, sizeof(attrs));
}

struct as_digest as_history_attrs_of_node(const struct as_history *h,
					  const struct as_tree_node *node)
{
	bool owner = h->traits->features & AS_FEAT_OWNER;
	struct attrs attrs = {
		.mode = mode_kept(h, node->mode),
		.nlink = links_kept(h, node->mode, node->nlink, false),
		.uid = owner ? node->uid : 0,
		.gid = owner ? node->gid : 0,
		.rdev = node->rdev,
		.text = node->text ? as_hash64(node->text, strlen(node->text)) : 0,
	};

	for (uint32_t i = 0; i < node->n_xattrs; i++)
		if (as_history_counts_xattr(h, node->xattr[i].name))
			attrs.xattrs = as_digest_add(
				attrs.xattrs,
				as_history_xattr_digest(node->xattr[i].name,
							node->xattr[i].value->digest));
	return as_hash(&attrs, sizeof(attrs));
}

struct as_digest as_history_node_digest(struct as_digest attrs, struct as_digest sum)
{
	return as_digest_bind(as_digest_add(attrs, sum), 7);
}

static struct as_digest shape_from(const struct as_history *h, const struct as_tree *tree,
				   uint32_t at)
{
	const struct as_tree_node *node = as_tree_at(tree, at);
	struct as_digest sum = AS_DIGEST_ZERO;

	for (uint32_t i = at + 1; i < node->end; i = as_tree_at(tree, i)->end) {
		const char *name = as_tree_at(tree, i)->name;

		sum = as_digest_add(sum,
				    h_named(shape_from(h, tree, i), as_hash64(name, strlen(name))));
	}
	return as_history_node_digest(as_history_attrs_of_node(h, node), sum);
}

struct as_digest as_history_shape_of_tree(const struct as_history *h, const struct as_tree *tree)
{
	return shape_from(h, tree, 0);
}
