/* SPDX-License-Identifier: GPL-2.0-or-later */
/* legal_words: says what is wrong with a tree. */
#include "legal/legal_priv.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

void as_legal_broken(struct as_legal_judge *j, enum as_rule rule, size_t op, const char *signature)
{
	j->verdict->rule = rule;
	j->verdict->op = op;
	as_buf_clear(&j->verdict->why);
	as_buf_clear(&j->verdict->signature);
	as_buf_addf(&j->verdict->signature, "%s: %s", as_rule_name(rule), signature);
}

void as_legal_after(struct as_legal_judge *j, const struct as_history_promise *promise)
{
	if (!promise)
		return;
	as_buf_adds(&j->verdict->why, "after ");
	as_stable_promise_words(j->h, promise, &j->verdict->why);
	as_buf_adds(&j->verdict->why, ", ");
}

/* "fsync", "sync", ...: for signatures. */
static const char *promise_name(const struct as_legal_judge *j,
				const struct as_history_promise *promise)
{
	return promise ? as_op_table[j->h->ops->ops[promise->op].code].name : "nothing";
}

/* ---- Data ---- */

static void say_size(struct as_legal_judge *j, const struct as_legal_fault *f, const char *path)
{
	struct as_buf *why = &j->verdict->why;
	unsigned long long lo = f->want_lo, hi = f->want_hi, got = f->at;

	if (f->kind == FAULT_SHORT) {
		as_legal_after(j, f->by);
		as_buf_addf(why, "%s must have at least %llu bytes; recovered tree has %llu", path,
			    lo, got);
	} else if (f->kind == FAULT_LONG) {
		as_buf_addf(why, "%s can have %llu bytes at most", path, hi);
		as_buf_addf(why, "; recovered tree has %llu", got);
	} else {
		as_legal_after(j, f->by);
		as_buf_addf(why, "%s never had %llu bytes, as it has in the recovered tree", path,
			    got);
	}
}

static void say_byte(struct as_legal_judge *j, const struct as_legal_fault *f, const char *path)
{
	struct as_buf *why = &j->verdict->why;
	unsigned long long at = f->at;

	switch (f->kind) {
	case FAULT_OLD:
	case FAULT_ZEROS:
		as_legal_after(j, f->by);
		as_buf_addf(why,
			    "byte %llu of %s must be what it was then or became since; recovered "
			    "tree has %s",
			    at, path, f->kind == FAULT_ZEROS ? "zeros" : "what was there before");
		break;
	case FAULT_OTHER:
		as_buf_addf(why,
			    "byte %llu of %s was never written there: recovered tree has data of ",
			    at, path);
		if (as_history_there(j->h, f->other, j->hi)) {
			as_history_path(j->h, f->other, j->hi, why);
		} else {
			as_buf_adds(why, "a file that was removed");
		}
		break;
	case FAULT_MIXED:
		as_legal_after(j, f->by);
		as_buf_addf(why,
			    "%s must have all of its old contents or all of the new ones; "
			    "recovered tree has %llu bytes that are of no one moment",
			    path, at);
		break;
	case FAULT_MOVED:
		as_buf_addf(why,
			    "byte %llu of %s was never written there: recovered tree has data that "
			    "belongs to another place of the same file",
			    at, path);
		break;
	default:
		as_buf_addf(
			why,
			"byte %llu of %s was never written there: recovered tree has bytes that "
			"no operation wrote",
			at, path);
		break;
	}
}

static void say_rest(struct as_legal_judge *j, const struct as_legal_fault *f, const char *path)
{
	static const char *const times[] = {
		[FAULT_ATIME] = "atime",
		[FAULT_MTIME] = "mtime",
		[FAULT_CTIME] = "ctime",
	};
	struct as_buf *why = &j->verdict->why;

	if (f->kind == FAULT_HIDDEN) {
		as_buf_addf(why,
			    "byte %llu of %s is data; in the recovered tree it is in a hole "
			    "by SEEK_HOLE and SEEK_DATA",
			    (unsigned long long)f->at, path);
		return;
	}
	as_legal_after(j, f->by);
	if (f->kind == FAULT_LEFT)
		as_buf_addf(why, "%s can need %llu blocks at most; recovered tree has %llu", path,
			    (unsigned long long)f->want_lo, (unsigned long long)f->at);
	else if (f->kind == FAULT_BLOCKS)
		as_buf_addf(why, "%s must have %llu blocks; recovered tree has %llu", path,
			    (unsigned long long)f->want_lo, (unsigned long long)f->at);
	else
		as_buf_addf(why, "%s must have %s %lld ns; recovered tree has %lld ns", path,
			    times[f->kind], (long long)f->want_lo, (long long)f->at);
}

void as_legal_say_fault(struct as_legal_judge *j, const struct as_legal_fault *f, uint32_t node)
{
	static const char *const kinds[] = {
		[FAULT_SHORT] = "too short",
		[FAULT_LONG] = "too long",
		[FAULT_SIZE] = "a size it never had",
		[FAULT_OLD] = "older data",
		[FAULT_ZEROS] = "zeros",
		[FAULT_OTHER] = "data of another file",
		[FAULT_MOVED] = "misplaced data",
		[FAULT_UNKNOWN] = "bytes nobody wrote",
		[FAULT_MIXED] = "contents of no one moment",
		[FAULT_ATIME] = "another atime",
		[FAULT_MTIME] = "another mtime",
		[FAULT_CTIME] = "another ctime",
		[FAULT_BLOCKS] = "fewer blocks",
		[FAULT_LEFT] = "blocks that it does not need",
		[FAULT_HIDDEN] = "data called a hole",
	};
	struct as_buf path = { 0 }, signature = { 0 };

	as_buf_addf(&signature, "%s after %s", kinds[f->kind], promise_name(j, f->by));
	as_legal_broken(j, f->rule, f->by ? f->by->op : AS_LEGAL_NO_OP, as_buf_str(&signature));
	as_tree_path(j->tree, node, &path);
	if (f->rule == AS_RULE_SIZE)
		say_size(j, f, as_buf_str(&path));
	else if (f->kind >= FAULT_ATIME)
		say_rest(j, f, as_buf_str(&path));
	else
		say_byte(j, f, as_buf_str(&path));
	as_buf_free(&path);
	as_buf_free(&signature);
}

/* ---- One inode against the tree ---- */

/* Follows a path of the model through the tree; *gone gets the first directory or file on it that
 * is missing. */
static uint32_t follow(struct as_legal_judge *j, uint32_t ino, uint32_t point, struct as_buf *gone)
{
	struct as_buf path = { 0 };
	uint32_t at;

	as_history_path(j->h, ino, point, &path);
	at = as_tree_find(j->tree, as_buf_str(&path));
	for (size_t i = 1; at == AS_TREE_NONE && i <= path.len; i++) {
		char c = path.data[i];

		if (c && c != '/')
			continue;
		path.data[i] = '\0';
		if (as_tree_find(j->tree, path.data) == AS_TREE_NONE) {
			as_buf_adds(gone, path.data);
			break;
		}
		path.data[i] = c;
	}
	as_buf_free(&path);
	return at;
}

static bool say_attr_lack(struct as_legal_judge *j, const struct as_history_version *v,
			  const struct as_tree_node *node)
{
	struct as_buf *why = &j->verdict->why;
	bool owner = j->h->traits->features & AS_FEAT_OWNER;

	if ((v->mode & S_IFMT) != (node->mode & S_IFMT))
		as_buf_addf(why, " must be %s; recovered tree has %s", as_model_type_word(v->mode),
			    as_model_type_word(node->mode));
	else if (owner && v->mode != node->mode)
		as_buf_addf(why, " must have mode %04o; recovered tree has %04o", v->mode & 07777,
			    node->mode & 07777);
	else if (owner && (v->uid != node->uid || v->gid != node->gid))
		as_buf_addf(why, " must belong to %u:%u; recovered tree has %u:%u", v->uid, v->gid,
			    node->uid, node->gid);
	/* A checker may count anew. */
	else if (!S_ISDIR(v->mode) && v->nlink != node->nlink &&
		 j->policy.guarantee != AS_GUARANTEE_REPAIR)
		as_buf_addf(why, " must have %u links; recovered tree has %u", v->nlink,
			    node->nlink);
	else if (v->rdev != node->rdev)
		as_buf_addf(why, " must have device number %u:%u; recovered tree has %u:%u",
			    major(v->rdev), minor(v->rdev), major(node->rdev), minor(node->rdev));
	else if (v->text && strcmp(v->text, node->text) != 0)
		as_buf_addf(why, " must say \"%s\"; recovered tree has \"%s\"", v->text,
			    node->text);
	else
		return false;
	return true;
}

static bool say_xattr_lack(struct as_legal_judge *j, const struct as_history_version *v,
			   const struct as_tree_node *node)
{
	struct as_buf *why = &j->verdict->why;

	for (uint32_t i = 0; i < v->n_xattrs; i++) {
		uint32_t k = 0;

		while (k < node->n_xattrs && strcmp(node->xattr[k].name, v->xattr[i].name) != 0)
			k++;
		if (k == node->n_xattrs) {
			as_buf_addf(why, " must have the attribute %s; recovered tree has not",
				    v->xattr[i].name);
			return true;
		}
		if (!as_digest_eq(as_history_xattr_digest(node->xattr[k].name,
							  node->xattr[k].value->digest),
				  v->xattr[i].digest)) {
			as_buf_addf(why, ": attribute %s has another value in the recovered tree",
				    v->xattr[i].name);
			return true;
		}
	}
	for (uint32_t k = 0; k < node->n_xattrs; k++) {
		uint32_t i = 0;

		while (i < v->n_xattrs && strcmp(node->xattr[k].name, v->xattr[i].name) != 0)
			i++;
		if (i == v->n_xattrs && as_history_counts_xattr(j->h, node->xattr[k].name)) {
			as_buf_addf(why, " must not have the attribute %s; recovered tree has it",
				    node->xattr[k].name);
			return true;
		}
	}
	return false;
}

static bool say_entry_lack(struct as_legal_judge *j, uint32_t ino, uint32_t point, uint32_t at)
{
	const struct as_history_inode *dir = &j->h->inode[ino];
	struct as_buf *why = &j->verdict->why;

	for (uint32_t i = 0; i < dir->n_edges; i++) {
		const struct as_history_edge *edge = &j->h->edge[dir->edge[i]];
		bool want = as_history_edge_at(edge, point);
		bool got = as_tree_child(j->tree, at, edge->name) != AS_TREE_NONE;

		if (want == got)
			continue;
		as_buf_addf(why,
			    want ? " must have \"%s\"; recovered tree has it not"
				 : " must not have \"%s\"; recovered tree has it",
			    edge->name);
		return true;
	}
	return false;
}

bool as_legal_say_lack(struct as_legal_judge *j, uint32_t ino, uint32_t point)
{
	const struct as_history_version *v = as_history_version_at(j->h, ino, point);
	struct as_buf *why = &j->verdict->why, gone = { 0 };
	size_t len = why->len;
	bool said = true;
	uint32_t at;

	if (!v || !v->linked)
		return false;
	as_history_path(j->h, ino, point, why);
	at = follow(j, ino, point, &gone);
	if (at == AS_TREE_NONE)
		as_buf_addf(why, " must exist; recovered tree has no %s", as_buf_str(&gone));
	else
		said = say_attr_lack(j, v, as_tree_at(j->tree, at)) ||
		       say_xattr_lack(j, v, as_tree_at(j->tree, at)) ||
		       (S_ISDIR(v->mode) && say_entry_lack(j, ino, point, at));
	if (!said) {
		why->len = len;
		why->data[len] = '\0';
	}
	as_buf_free(&gone);
	return said;
}

/* ---- Link counts ---- */

bool as_legal_links_ok(struct as_legal_judge *j)
{
	uint64_t quirks = j->h->traits->quirks;

	for (uint32_t i = 0; i < as_tree_len(j->tree); i++) {
		const struct as_tree_node *node = as_tree_at(j->tree, i);
		uint32_t want = node->names;
		const char *what = "names";

		if (S_ISDIR(node->mode)) {
			if (quirks & (AS_QUIRK_DIR_NLINK_ANY | AS_QUIRK_DIR_NLINK_ONE))
				continue;
			want = 2;
			what = "directories in it and above";
			for (uint32_t k = i + 1; k < node->end; k = as_tree_at(j->tree, k)->end)
				want += S_ISDIR(as_tree_at(j->tree, k)->mode);
		}
		if (node->nlink == want)
			continue;
		as_legal_broken(j, AS_RULE_LINKS, AS_LEGAL_NO_OP,
				S_ISDIR(node->mode) ? "count of a directory" : "count of a file");
		as_tree_path(j->tree, i, &j->verdict->why);
		as_buf_addf(&j->verdict->why, " has link count %u, but %u %s", node->nlink, want,
			    what);
		return false;
	}
	return true;
}

void as_legal_say_older(const struct as_history *h, uint32_t floor, struct as_legal *verdict)
{
	verdict->legal = false;
	verdict->rule = AS_RULE_MONOTONE;
	verdict->op = h->point[floor].op;
	as_buf_clear(&verdict->why);
	as_buf_clear(&verdict->signature);
	as_buf_addf(&verdict->signature, "%s: back to an older state",
		    as_rule_name(AS_RULE_MONOTONE));
	as_buf_adds(&verdict->why, "recovered tree is ");
	as_history_point_words(h, verdict->newest, &verdict->why);
	as_buf_adds(&verdict->why, "; what was on the disk at an earlier flush led to ");
	as_history_point_words(h, floor, &verdict->why);
}
