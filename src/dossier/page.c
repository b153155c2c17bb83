/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page: see page.h. In CommonMark, a quotation ends at a run of as many backticks as it began
 * with. Ours begins with one backtick more than the longest run in the text. */
#include "dossier/page.h"

#include "base/show.h"

#include <string.h>

#define FENCE 3 /* backticks of a block, at least */

static size_t longest_run(const char *text)
{
	size_t longest = 0;

	while (*text) {
		size_t run = strspn(text, "`");

		longest = run > longest ? run : longest;
		text += run ? run : strcspn(text, "`");
	}
	return longest;
}

static void ticks(struct as_buf *out, size_t n)
{
	while (n--)
		as_buf_addc(out, '`');
}

void as_page_code(struct as_buf *out, const char *text)
{
	struct as_buf shown = { 0 };
	const char *pad;
	size_t n;

	as_show(&shown, text);
	n = longest_run(as_buf_str(&shown)) + 1;
	/* One blank on each side is not shown; it separates our backticks from those of the
	 * text. An empty text could not be quoted without it. */
	pad = n > 1 || !shown.len ? " " : "";
	ticks(out, n);
	as_buf_addf(out, "%s%s%s", pad, as_buf_str(&shown), pad);
	ticks(out, n);
	as_buf_free(&shown);
}

void as_page_block(struct as_buf *out, const char *text)
{
	struct as_buf shown = { 0 };
	size_t n;

	as_show_lines(&shown, text, strlen(text));
	n = longest_run(as_buf_str(&shown)) + 1;
	n = n > FENCE ? n : FENCE;
	ticks(out, n);
	as_buf_addf(out, "\n%s%s", as_buf_str(&shown),
		    shown.len && shown.data[shown.len - 1] != '\n' ? "\n" : "");
	ticks(out, n);
	as_buf_addc(out, '\n');
	as_buf_free(&shown);
}
