/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * story_trees: the tree when the power failed and the recovered one, name by name.
 *
 * Method. Both trees are listed in the order of a walk, a line for each name, so they are merged as
 * two sorted lists are. Lines that differ are told first to last; of lines that are the same, those
 * that are the directories of what differs. Names are shown on one line whatever is in them.
 */
#include "crash/story.h"

#include "base/show.h"
#include "snapshot/tree.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 200u

struct story_listing {
	const struct as_tree *tree;
	struct as_buf text;
	uint32_t n;
	const char **line;
};

/* False: a name has several lines. */
static bool list(const struct as_tree *tree, struct story_listing *l)
{
	char *at;

	*l = (struct story_listing){ .tree = tree, .n = as_tree_len(tree) };
	as_tree_print(tree, &l->text);
	l->line = as_xcalloc(l->n, sizeof(*l->line));
	at = l->text.data;
	for (uint32_t i = 0; i < l->n; i++) {
		char *end = at ? strchr(at, '\n') : NULL;

		l->line[i] = at ? at : "";
		if (end)
			*end++ = '\0';
		at = end;
	}
	return at && !*at;
}

static void unlist(struct story_listing *l)
{
	as_buf_free(&l->text);
	free(l->line);
}

/* In a walk, what is below a directory comes before its next sibling. */
static int walk_order(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (*a == '/' ? 1 : (unsigned char)*a) - (*b == '/' ? 1 : (unsigned char)*b);
}

/* Before the node of one is that of the other in the walk: < 0, 0: they are the same path. */
static int compare(const struct story_listing *a, uint32_t i, const struct story_listing *b,
		   uint32_t k)
{
	struct as_buf pa = { 0 }, pb = { 0 };
	int order;

	if (i >= a->n || k >= b->n)
		return i < a->n ? -1 : 1;
	as_tree_path(a->tree, i, &pa);
	as_tree_path(b->tree, k, &pb);
	order = walk_order(as_buf_str(&pa), as_buf_str(&pb));
	as_buf_free(&pa);
	as_buf_free(&pb);
	return order;
}

static void add(struct as_buf *out, char mark, const char *line)
{
	as_buf_addf(out, "      %c ", mark);
	as_shown(out, line, strnlen(line, LINE_BYTES));
	as_buf_adds(out, strlen(line) > LINE_BYTES ? "...\n" : "\n");
}

void as_story_trees(const struct as_tree *before, const struct as_tree *after, size_t max_bytes,
		    struct as_buf *out)
{
	struct story_listing a, b;
	struct as_buf text = { 0 };
	unsigned differ = 0, same = 0, left_out = 0;
	uint32_t i = 0, k = 0;

	/* Both are listed in any case. */
	if (!((int)list(before, &a) & (int)list(after, &b)))
		i = a.n, k = b.n;
	while (i < a.n || k < b.n) {
		int order = compare(&a, i, &b, k);
		bool is_same = !order && !strcmp(a.line[i], b.line[k]);

		differ += !is_same;
		same += is_same;
		if (text.len + 2 * LINE_BYTES > max_bytes)
			left_out++;
		else if (is_same)
			add(&text, '=', a.line[i]);
		else if (order <= 0)
			add(&text, '<', a.line[i]);
		if (!is_same && order >= 0 && text.len + 2 * LINE_BYTES <= max_bytes)
			add(&text, '>', b.line[k]);
		i += order <= 0;
		k += order >= 0;
	}
	if (differ && same < 200) {
		as_buf_adds(out, "  the tree when the power failed (<) and the recovered one "
				 "(>):\n");
		as_buf_adds(out, as_buf_str(&text));
		if (left_out)
			as_buf_addf(out, "      and %u more names\n", left_out);
	}
	as_buf_free(&text);
	unlist(&a);
	unlist(&b);
}
