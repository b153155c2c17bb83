/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * legal_object: file systems that write single objects into a log on fsync (btrfs, f2fs). Each
 * inode and each name is what it was at some point since it was made stable itself.
 *
 * Method. The tree is legal if each of its nodes can be taken for an inode of the model. Which
 * inodes fit a node is said by object_fit.c: those that all its names led to since they were stable
 * last, with attributes and data of some time since. What an fsync made stable, of a file or of a
 * directory, is said in fsync.c. More than one inode may fit a node (a file was renamed, and
 * another one was made under the old name), so all choices count:
 *   - Directories are tried one after the other, each with the newest inode first, and the search
 *     goes back if it leads nowhere. Which inodes fit a node depends on the inode of its directory.
 *   - Once they are all chosen, files no longer depend on each other, except that each is another
 *     inode. That is a matching of files and inodes (match.h).
 * The search gives up after TRIES_MAX directories; the tree then counts as legal, not judged. What
 * the verdict tells is why the attempt failed that came farthest; of several, the first.
 *
 * Rules
 *   1. From a sync on until the next fsync, the tree is of one moment: what is not fsynced is
 *      written as a whole (a commit, a checkpoint). A sync that is under way writes a whole, too.
 *      (Not of a library that promises AS_CUT_OBJECT: policy.apart.)
 *   2. A name that has been the same ever since it was stable is there and leads to the same inode.
 *   3. An inode that has had a name ever since has one; unless fsync is light (policy.h) and has
 *      given its name to another file.
 */
#include "legal/match.h"
#include "legal/object_priv.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TRIES_MAX 2048u

/* ---- What has to be there ---- */

static bool is_linked_from(const struct as_legal_judge *j, uint32_t ino, uint32_t since)
{
	const struct as_history_inode *inode = &j->h->inode[ino];
	uint32_t first = as_history_version_index(inode, since),
		 last = as_history_version_index(inode, j->hi);

	if (first == UINT32_MAX)
		return false;
	for (uint32_t i = first; i <= last; i++)
		if (!inode->v[i].linked)
			return false;
	return true;
}

/* Rule 3. */
static bool must_exist(const struct as_legal_judge *j, uint32_t ino)
{
	const struct as_history_promise *by;
	uint32_t since;

	if (!j->h->inode[ino].n || !as_fsync_exists_since(j, ino, &since, &by) ||
	    !is_linked_from(j, ino, since))
		return false;
	/* What is in a directory is lost with it. */
	for (; ino != ROOT_INO && as_history_there(j->h, ino, since);
	     ino = as_history_version_at(j->h, ino, since)->parent)
		if (as_fsync_is_overtaken(j, ino, since))
			return false;
	return true;
}

/* This attempt came farther than the one that the verdict tells of, so it is to tell of this one.
 */
static bool tells(struct as_object *o, uint32_t far)
{
	if (far <= o->told)
		return false;
	o->told = far;
	return true;
}

/* ---- Files ---- */

struct fits {
	uint32_t *first, *ino;
	uint32_t n;
	size_t cap;
};

/* Finds the inodes that each file can be. False: there is a file that can be none of them. */
static bool files_fit(struct as_object *o, struct fits *f)
{
	for (uint32_t k = 0; k < o->n_files; k++) {
		struct as_object_name name = as_object_name_of(o, o->file[k]);

		f->first[k] = f->n;
		for (uint32_t i = name.edge ? name.edge->n : 0; i-- > 0;)
			if (as_object_fits(o, &name, i, o->file[k])) {
				AS_ARRAY_ROOM(f->ino, f->n, f->cap);
				f->ino[f->n++] = name.edge->v[i].ino;
			}
		if (f->first[k] == f->n) {
			if (tells(o, o->n_dirs + 1))
				as_object_say_node(o, o->file[k]);
			return false;
		}
	}
	f->first[o->n_files] = f->n;
	return true;
}

/* All directories are chosen. */
static bool place_files(struct as_object *o)
{
	struct fits f = { .first = as_xcalloc(o->n_files + 1, sizeof(*f.first)) };
	uint32_t n = o->j->h->n_inodes;
	bool *must = as_xcalloc(n, sizeof(*must)), found = false;
	struct as_match match = { .n_left = o->n_files, .n_right = n, .must = must };

	for (uint32_t i = 0; i < n; i++)
		must[i] = o->must[i] && !o->taken[i];
	match.right_of = as_xcalloc(o->n_files + 1, sizeof(*match.right_of));
	if (files_fit(o, &f)) {
		match.first = f.first;
		match.edge = f.ino;
		found = as_match_find(&match);
		if (!found && tells(o, o->n_dirs + 2)) {
			if (match.no_left != AS_MATCH_NONE)
				as_object_say_taken(o, o->file[match.no_left]);
			else
				as_object_say_missing(o, match.no_right);
		}
	}
	free(match.right_of);
	free(must);
	free(f.first);
	free(f.ino);
	return found;
}

/* ---- Directories ---- */

static bool place_dirs(struct as_object *o, uint32_t k);

/* The directory is taken for an inode, and the next one is number k. Rule 2: the names that it has
 * to have are there; what they lead to is looked at with their nodes. */
static bool go_on(struct as_object *o, uint32_t at, uint32_t k)
{
	const struct as_history_promise *by;
	const struct as_history_edge *missing = as_object_missing_name(o, at, 0, &by);

	if (!missing)
		return place_dirs(o, k);
	/* A node that is wrong says more than a name that is missing. */
	if (o->told || !place_dirs(o, k))
		return false;
	if (o->tries > TRIES_MAX)
		return true;
	if (tells(o, o->n_dirs + 3))
		as_object_say_no_name(o, at, missing, by);
	return false;
}

static bool place_dirs(struct as_object *o, uint32_t k)
{
	uint32_t at = k < o->n_dirs ? o->dir[k] : 0;
	struct as_object_name name;
	bool any = false;

	if (k == o->n_dirs)
		return place_files(o);
	name = as_object_name_of(o, at);
	for (uint32_t i = name.edge ? name.edge->n : 0; i-- > 0;) {
		uint32_t ino = name.edge->v[i].ino;

		if (o->taken[ino] || !as_object_fits(o, &name, i, at))
			continue;
		if (o->tries++ >= TRIES_MAX)
			return true;
		any = true;
		o->j->ino[at] = ino;
		o->taken[ino] = true;
		if (go_on(o, at, k + 1))
			return true;
		o->taken[ino] = false;
	}
	if (!any && tells(o, k + 1))
		as_object_say_node(o, at);
	return false;
}

/* ---- The whole ---- */

/* Sorts the nodes into directories and files, and chains the names of one file. */
static void sort_nodes(struct as_object *o)
{
	uint32_t n = as_tree_len(o->j->tree), *last = as_xcalloc(n, sizeof(*last));

	for (uint32_t i = 0; i < n; i++) {
		const struct as_tree_node *node = as_tree_at(o->j->tree, i);

		o->next_name[i] = AS_TREE_NONE;
		last[i] = i;
		if (node->twin < i) {
			o->next_name[last[node->twin]] = i;
			last[node->twin] = i;
		} else if (!S_ISDIR(node->mode)) {
			o->file[o->n_files++] = i;
		} else if (i) {
			o->dir[o->n_dirs++] = i;
		}
	}
	free(last);
}

/* Nothing was fsynced alone since the last sync, nor is it just now: rule 1. An fsync that failed
 * may have done what it was asked for. */
static bool is_whole(const struct as_legal_judge *j)
{
	uint32_t n = j->n_promises;
	size_t since = n ? j->h->promise[n - 1].op : 0;

	if (as_stable_alone(j->h, j->moment.begun) > as_stable_alone(j->h, since))
		return false;
	for (uint32_t i = n; i < j->n_begun; i++)
		if (j->h->promise[i].what.kind != AS_PERSIST_ALL)
			return false;
	return !n || j->h->promise[n - 1].what.kind == AS_PERSIST_ALL;
}

static bool place(struct as_object *o)
{
	struct as_legal_judge *j = o->j;

	sort_nodes(o);
	for (uint32_t ino = ROOT_INO + 1; ino < j->h->n_inodes; ino++)
		o->must[ino] = must_exist(j, ino);
	j->ino[0] = ROOT_INO;
	o->taken[ROOT_INO] = true;
	if (!as_object_root_fits(o)) {
		as_object_say_root(o);
		return false;
	}
	return go_on(o, 0, 0);
}

bool as_legal_object(struct as_legal_judge *j)
{
	uint32_t n = as_tree_len(j->tree);
	struct as_object o = { .j = j };
	bool ok;

	if (!j->policy.apart && is_whole(j)) {
		if (j->policy.whole_data && !j->policy.in_place)
			j->policy.data = AS_DATA_JOURNAL;
		return as_legal_prefix(j);
	}
	if (j->policy.light_fsync)
		j->policy.data = AS_DATA_WRITEBACK;
	if (!as_legal_links_ok(j))
		return false;
	o.next_name = as_xcalloc(n, sizeof(*o.next_name));
	o.dir = as_xcalloc(n, sizeof(*o.dir));
	o.file = as_xcalloc(n, sizeof(*o.file));
	o.must = as_xcalloc(j->h->n_inodes, sizeof(*o.must));
	o.taken = as_xcalloc(j->h->n_inodes, sizeof(*o.taken));
	ok = place(&o);
	if (ok) {
		/* What was told of attempts that failed does not count. */
		as_buf_clear(&j->verdict->why);
		as_buf_clear(&j->verdict->signature);
		j->verdict->op = AS_LEGAL_NO_OP;
		j->verdict->unjudged = o.tries > TRIES_MAX;
	}
	free(o.next_name);
	free(o.dir);
	free(o.file);
	free(o.must);
	free(o.taken);
	return ok;
}
