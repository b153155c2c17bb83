/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree_model: a model whose state is a tree that was read, so that a workload can go on from there.
 *
 * Method. Names, attributes and links are adopted in the order of the walk. The model knows data
 * only as patterns. A run of a pattern that was moved is, at the place where it stands now, a run
 * of another pattern; and since the words of patterns can be inverted, there is a pattern for every
 * single word. So all contents can be told, odd bytes as runs of a word or less.
 *
 * What cannot be told is refused, because a model that knows a part would call the rest wrong: a
 * tree or a file that was not read to its end, more odd bytes than a few, and an attribute of the
 * workload's own name spaces whose value is no pattern. Attributes of other name spaces that are no
 * patterns are those of the system, of which models never know.
 */
#include "snapshot/tree.h"

#include "work/op.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ODD_BYTES_MAX 8192u /* in one piece */

/* The bytes of a piece of at most one word, which begins at off: 0 where they are zeros. */
static uint64_t pattern_of_word(const struct as_content_piece *piece, uint64_t off, uint64_t len)
{
	static const unsigned char zeros[8];
	unsigned char word[8] = { 0 };

	as_piece_bytes(piece, off, word + off % 8, len);
	if (!memcmp(word, zeros, sizeof(word)))
		return 0;
	return as_pattern_of_key(as_pattern_word_key(word, off / 8));
}

static void adopt_bytes(struct as_model *model, const char *path,
			const struct as_content_piece *piece)
{
	uint64_t end = piece->start + piece->len, len;

	for (uint64_t off = piece->start; off < end; off += len) {
		len = 8 - off % 8;
		len = len < end - off ? len : end - off;
		as_model_adopt_run(model, path, off, len, pattern_of_word(piece, off, len));
	}
}

/* False: there is a part that cannot be told. */
static bool adopt_content(struct as_model *model, const char *path,
			  const struct as_content *content)
{
	for (uint32_t i = 0; content && i < content->n; i++) {
		const struct as_content_piece *piece = &content->piece[i];
		uint64_t pattern = as_pattern_of_key(piece->key);

		if (piece->kind == AS_PIECE_UNREAD ||
		    (piece->kind == AS_PIECE_PATTERN && !pattern) ||
		    (piece->kind == AS_PIECE_BYTES && piece->len > ODD_BYTES_MAX))
			return false;
		if (piece->kind == AS_PIECE_PATTERN)
			as_model_adopt_run(model, path, piece->start, piece->len, pattern);
		else if (piece->kind == AS_PIECE_BYTES)
			adopt_bytes(model, path, piece);
	}
	return true;
}

static bool is_own(const char *name)
{
	return !strncmp(name, "user.", 5) || !strncmp(name, "trusted.", 8);
}

/* The pattern whose first bytes are the value; false: there is none. */
static bool value_pattern(const struct as_content *value, uint64_t *pattern)
{
	unsigned char *want;
	bool same = true;

	*pattern = 0;
	if (!value->size)
		return true;
	*pattern = pattern_of_word(&value->piece[0], 0,
				   value->piece[0].len < 8 ? value->piece[0].len : 8);
	want = as_xmalloc(value->size);
	as_pattern_fill(*pattern, 0, want, value->size);
	for (uint32_t i = 0; i < value->n && same; i++) {
		const struct as_content_piece *piece = &value->piece[i];
		unsigned char *got = as_xmalloc(piece->len);

		as_piece_bytes(piece, piece->start, got, piece->len);
		same = !memcmp(got, want + piece->start, piece->len);
		free(got);
	}
	free(want);
	return same;
}

static bool adopt_xattrs(struct as_model *model, const char *path, const struct as_tree_node *node)
{
	for (uint32_t i = 0; i < node->n_xattrs; i++) {
		const struct as_tree_xattr *x = &node->xattr[i];
		uint64_t pattern;

		if (value_pattern(x->value, &pattern))
			as_model_adopt_xattr(model, path, x->name, x->value->size, pattern);
		else if (is_own(x->name))
			return false;
	}
	return true;
}

static bool adopt(struct as_model *model, const struct as_tree *tree, uint32_t i, const char *path)
{
	const struct as_tree_node *node = as_tree_at(tree, i);
	struct as_stat st = { .mode = node->mode,
			      .uid = node->uid,
			      .gid = node->gid,
			      .size = node->size,
			      .rdev = node->rdev };
	struct as_buf first = { 0 };

	if (node->twin != i) {
		as_tree_path(tree, node->twin, &first);
		as_model_adopt_link(model, path, as_buf_str(&first));
		as_buf_free(&first);
		return true;
	}
	as_model_adopt_node(model, path, &st, node->text ? node->text : "");
	return adopt_content(model, path, node->content) && adopt_xattrs(model, path, node);
}

struct as_model *as_tree_model(const struct as_tree *tree, const struct as_traits *traits)
{
	struct as_model *model = as_model_new(traits);
	bool whole = !as_tree_is_cut(tree);
	struct as_buf path = { 0 };

	for (uint32_t i = 0; i < as_tree_len(tree) && whole; i++) {
		as_buf_clear(&path);
		as_tree_path(tree, i, &path);
		whole = adopt(model, tree, i, as_buf_str(&path));
	}
	as_buf_free(&path);
	if (whole)
		return model;
	as_model_free(model);
	return NULL;
}
