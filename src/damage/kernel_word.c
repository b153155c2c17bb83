/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_word: what a kernel said of a disk, as bytes: a line with the lengths, then the texts and
 * the tree. A sandbox writes it, so that a reader believes no length.
 */
#include "damage/disk_host.h"

#include "snapshot/tree.h"

#include <stdio.h>
#include <string.h>

#define HEAD "assay-word 1"
#define TEXT_MAX ((size_t)1 << 20)

static const char *const names[] = {
	"fine", "refused", "unreadable", "complained", "died", "hung", "unasked",
};

const char *as_word_end_name(enum as_word_end end)
{
	return names[end];
}

void as_word_free(struct as_word *w)
{
	as_buf_free(&w->why);
	as_buf_free(&w->sign);
	as_buf_free(&w->log);
	as_tree_put(w->tree);
	*w = (struct as_word){ 0 };
}

void as_word_print(const struct as_word *w, struct as_buf *out)
{
	struct as_buf tree = { 0 };

	if (w->tree)
		as_tree_write(w->tree, &tree);
	as_buf_addf(out, HEAD " %d %zu %zu %zu %zu\n", (int)w->end, w->why.len, w->sign.len,
		    w->log.len, tree.len);
	as_buf_add(out, as_buf_str(&w->why), w->why.len);
	as_buf_add(out, as_buf_str(&w->sign), w->sign.len);
	as_buf_add(out, as_buf_str(&w->log), w->log.len);
	as_buf_add(out, as_buf_str(&tree), tree.len);
	as_buf_free(&tree);
}

/* A text of the sandbox's: no NUL is in it. */
static void take(struct as_buf *out, const char **at, size_t len)
{
	as_buf_clear(out);
	for (size_t i = 0; i < len; i++)
		as_buf_addc(out, (*at)[i] ? (*at)[i] : ' ');
	*at += len;
}

int as_word_parse(const void *data, size_t len, struct as_word *w, struct as_err *err)
{
	const char *text = data, *at = memchr(data, '\n', len);
	size_t why, sign, log, tree;
	char head[128];
	int end;

	*w = (struct as_word){ 0 };
	if (!at || (size_t)(at - text) >= sizeof(head))
		return as_fail(err, AS_EIO, "the sandbox gave no answer");
	memcpy(head, text, (size_t)(at - text));
	head[at++ - text] = '\0';
	if (sscanf(head, HEAD " %d %zu %zu %zu %zu", &end, &why, &sign, &log, &tree) != 5 ||
	    end < 0 || end >= AS_WORD_UNASKED || why > TEXT_MAX || sign > TEXT_MAX ||
	    log > TEXT_MAX || tree > len || why + sign + log + tree != len - (size_t)(at - text))
		return as_fail(err, AS_EIO, "the sandbox gave an answer that makes no sense");
	w->end = (enum as_word_end)end;
	take(&w->why, &at, why);
	take(&w->sign, &at, sign);
	take(&w->log, &at, log);
	return tree ? as_tree_read(at, tree, &w->tree, err) : 0;
}
