/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_words: a tree, and the difference between two, as text. */
#include "snapshot/tree_priv.h"

#include <string.h>
#include <sys/stat.h>

/* ---- Differences ---- */

struct tree_words_diff {
	const struct as_tree *tree[2];
	const char *is[2];
	struct as_buf *how;
};

static bool say(struct tree_words_diff *d, uint32_t node, int side, const char *fmt, ...)
	AS_PRINTF(4, 5);

/* Returns true, as the functions do that find a difference. */
static bool say(struct tree_words_diff *d, uint32_t node, int side, const char *fmt, ...)
{
	va_list ap;

	if (!d->how)
		return true;
	as_tree_path(d->tree[side], node, d->how);
	as_buf_adds(d->how, ": ");
	va_start(ap, fmt);
	as_buf_vaddf(d->how, fmt, ap);
	va_end(ap);
	return true;
}

static bool number(struct tree_words_diff *d, uint32_t node, const char *what, uint64_t a,
		   uint64_t b)
{
	return a != b && say(d, node, 0, "%s %llu %s, %llu %s", what, (unsigned long long)a,
			     d->is[0], (unsigned long long)b, d->is[1]);
}

static bool content_differs(struct tree_words_diff *d, uint32_t node, const char *what,
			    const struct as_content *a, const struct as_content *b)
{
	uint64_t at = 0;
	uint32_t i = 0;

	if (as_content_eq(a, b))
		return false;
	if (a->size != b->size)
		return number(d, node, what, a->size, b->size);
	while (i < a->n && i < b->n && a->piece[i].start == b->piece[i].start &&
	       a->piece[i].len == b->piece[i].len && a->piece[i].kind == b->piece[i].kind &&
	       a->piece[i].key == b->piece[i].key && a->piece[i].kind != AS_PIECE_BYTES)
		at = a->piece[i].start + a->piece[i].len, i++;
	for (; at < a->size; at++) {
		unsigned char x, y;

		as_piece_bytes(as_content_at(a, at), at, &x, 1);
		as_piece_bytes(as_content_at(b, at), at, &y, 1);
		if (x != y)
			return say(d, node, 0, "byte %llu of its %s is 0x%02x %s, 0x%02x %s",
				   (unsigned long long)at, what, x, d->is[0], y, d->is[1]);
	}
	return say(d, node, 0, "its %s is not the same", what);
}

static bool xattrs_differ(struct tree_words_diff *d, uint32_t node, const struct as_tree_node *a,
			  const struct as_tree_node *b)
{
	for (uint32_t i = 0, k = 0; i < a->n_xattrs || k < b->n_xattrs; i++, k++) {
		int cmp = i == a->n_xattrs   ? 1
			  : k == b->n_xattrs ? -1
					     : strcmp(a->xattr[i].name, b->xattr[k].name);
		struct as_buf what = { 0 };
		bool differs;

		if (cmp)
			return say(d, node, 0, "attribute %s only %s",
				   cmp < 0 ? a->xattr[i].name : b->xattr[k].name,
				   d->is[cmp < 0 ? 0 : 1]);
		as_buf_addf(&what, "attribute %s", a->xattr[i].name);
		differs = content_differs(d, node, as_buf_str(&what), a->xattr[i].value,
					  b->xattr[k].value);
		as_buf_free(&what);
		if (differs)
			return true;
	}
	return false;
}

static bool nodes_differ(struct tree_words_diff *d, uint32_t i)
{
	const struct as_tree_node *a = &d->tree[0]->node[i], *b = &d->tree[1]->node[i];

	if ((a->mode & S_IFMT) != (b->mode & S_IFMT))
		return say(d, i, 0, "is %s %s, %s %s", as_model_type_word(a->mode), d->is[0],
			   as_model_type_word(b->mode), d->is[1]);
	if (a->mode != b->mode)
		return say(d, i, 0, "mode %04o %s, %04o %s", a->mode & 07777, d->is[0],
			   b->mode & 07777, d->is[1]);
	if (number(d, i, "uid", a->uid, b->uid) || number(d, i, "gid", a->gid, b->gid))
		return true;
	if (S_ISREG(a->mode) && number(d, i, "size", a->size, b->size))
		return true;
	if (number(d, i, "device number", a->rdev, b->rdev))
		return true;
	if (a->text && strcmp(a->text, b->text) != 0)
		return say(d, i, 0, "says \"%s\" %s, \"%s\" %s", a->text, d->is[0], b->text,
			   d->is[1]);
	if (a->twin != b->twin)
		return say(d, i, 0, "is a link to another file %s than %s", d->is[0], d->is[1]);
	/* The link count of a directory comes last: what is missing in it says more. */
	if (!S_ISDIR(a->mode) && number(d, i, "link count", a->nlink, b->nlink))
		return true;
	if (xattrs_differ(d, i, a, b))
		return true;
	return a->content && content_differs(d, i, "contents", a->content, b->content);
}

/* Finds the first node that only one of them has; the nodes of both are in the order of a walk. */
static bool only_in_one(struct tree_words_diff *d, uint32_t i)
{
	const struct as_tree *a = d->tree[0], *b = d->tree[1];
	struct as_buf pa = { 0 }, pb = { 0 };
	int side = 0;

	if (i == a->n) {
		side = 1;
	} else if (i < b->n) {
		/* Up to here they agree: where the parent is higher up, the other tree has one more
		 * node below. */
		as_tree_path(a, i, &pa);
		as_tree_path(b, i, &pb);
		for (size_t k = 0; k <= pa.len && k <= pb.len; k++) {
			unsigned char x = (unsigned char)as_buf_str(&pa)[k];
			unsigned char y = (unsigned char)as_buf_str(&pb)[k];

			/* In a walk what is below a directory comes before its next sibling. */
			x = x == '/' ? 1 : x;
			y = y == '/' ? 1 : y;
			if (x != y) {
				side = x > y;
				break;
			}
		}
	}
	as_buf_free(&pa);
	as_buf_free(&pb);
	return say(d, i, side, "only %s", d->is[side]);
}

bool as_tree_diff(const struct as_tree *a, const char *a_is, const struct as_tree *b,
		  const char *b_is, struct as_buf *how)
{
	struct tree_words_diff d = { .tree = { a, b }, .is = { a_is, b_is }, .how = how };

	if (as_digest_eq(a->digest, b->digest))
		return false;
	for (uint32_t i = 0; i < a->n || i < b->n; i++) {
		if (i == a->n || i == b->n || a->node[i].parent != b->node[i].parent ||
		    strcmp(a->node[i].name, b->node[i].name) != 0)
			return only_in_one(&d, i);
		if (nodes_differ(&d, i))
			return true;
	}
	for (uint32_t i = 0; i < a->n; i++)
		if (number(&d, i, "link count", a->node[i].nlink, b->node[i].nlink))
			return true;
	return false;
}

/* ---- Listing ---- */

static void print_content(const struct as_content *content, struct as_buf *out)
{
	for (uint32_t i = 0; i < content->n; i++) {
		const struct as_content_piece *piece = &content->piece[i];
		uint64_t pattern;

		as_buf_addf(out, " %llu+%llu:", (unsigned long long)piece->start,
			    (unsigned long long)piece->len);
		switch (piece->kind) {
		case AS_PIECE_ZERO:
			as_buf_adds(out, "zeros");
			break;
		case AS_PIECE_UNREAD:
			as_buf_adds(out, "unread");
			break;
		case AS_PIECE_BYTES:
			as_buf_adds(out, "bytes");
			break;
		case AS_PIECE_PATTERN:
			pattern = as_content_pattern(piece->key);
			if (pattern < 1u << 31)
				as_buf_addf(out, "fill=%llu", (unsigned long long)pattern);
			else
				as_buf_adds(out, "data moved from elsewhere");
			break;
		}
	}
}

void as_tree_print(const struct as_tree *tree, struct as_buf *out)
{
	for (uint32_t i = 0; i < tree->n; i++) {
		const struct as_tree_node *node = &tree->node[i];

		as_tree_path(tree, i, out);
		as_buf_addf(out, " %06o", node->mode);
		if (node->uid || node->gid)
			as_buf_addf(out, " %u:%u", node->uid, node->gid);
		if (node->nlink != (S_ISDIR(node->mode) ? 2u : 1u))
			as_buf_addf(out, " links=%u", node->nlink);
		if (node->twin != i) {
			as_buf_adds(out, " same as ");
			as_tree_path(tree, node->twin, out);
		}
		if (node->text)
			as_buf_addf(out, " -> %s", node->text);
		for (uint32_t k = 0; k < node->n_xattrs; k++) {
			as_buf_addf(out, " %s=", node->xattr[k].name);
			print_content(node->xattr[k].value, out);
		}
		if (node->content) {
			as_buf_addf(out, " size=%llu", (unsigned long long)node->size);
			print_content(node->content, out);
		}
		as_buf_addc(out, '\n');
	}
}
