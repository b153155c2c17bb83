/* SPDX-License-Identifier: GPL-2.0-or-later */
/* padded: see padded.h. */
#include "tests/lib/padded.h"

/* One random operation; most succeed, some do not. */
static void padded_line(struct as_choice *c, struct as_buf *out)
{
	unsigned d = as_choose(c, PADDED_FOLDERS), f = as_choose(c, PADDED_FILES);
	unsigned d2 = as_choose(c, PADDED_FOLDERS), f2 = as_choose(c, PADDED_FILES);
	unsigned slot = PADDED_SLOT + as_choose(c, PADDED_SLOTS);

	switch (as_choose(c, 16)) {
	case 0:
		as_buf_addf(out, "mkdir /pad%u 0755\n", d);
		break;
	case 1:
		as_buf_addf(out, "create /pad%u/file%u 0644\n", d, f);
		break;
	case 2:
		as_buf_addf(out, "rename /pad%u/file%u /pad%u/moved%u\n", d, f, d2, f2);
		break;
	case 3:
		as_buf_addf(out, "unlink /pad%u/file%u\n", d, f);
		break;
	case 4:
		as_buf_addf(out, "symlink /pad%u /pad%u/link%u\n", d2, d, f);
		break;
	case 5:
	case 6:
		as_buf_addf(out, "$%u = open /pad%u/file%u O_RDWR|O_CREAT 0644\n", slot, d, f);
		break;
	case 7:
	case 8:
		as_buf_addf(out, "pwrite $%u len=%u at=%u fill=%u\n", slot, 1 + as_choose(c, 6000),
			    as_choose(c, 9000), 1 + f);
		break;
	case 9:
		as_buf_addf(out, "pread $%u len=%u at=%u\n", slot, 1 + as_choose(c, 6000),
			    as_choose(c, 9000));
		break;
	case 10:
		as_buf_addf(out, "close $%u\n", slot);
		break;
	case 11:
		as_buf_addf(out, "stat /pad%u/file%u\n", d, f);
		break;
	case 12:
		as_buf_addf(out, "readdir /pad%u\n", d);
		break;
	case 13:
		as_buf_addf(out, "chmod /pad%u/file%u 0%o\n", d, f, 0600 + as_choose(c, 64));
		break;
	case 14:
		as_buf_addf(out, "stat /%c\n", 'a' + (int)as_choose(c, 6));
		break;
	default:
		as_buf_addf(out, "write_xattr /pad%u/file%u user.note%u len=%u fill=2\n", d, f, f2,
			    1 + as_choose(c, 60));
		break;
	}
}

struct as_seq *t_padded(struct as_choice *c, const struct as_seq *hidden, size_t n)
{
	struct as_buf text = { 0 };
	struct as_seq *pad = NULL, *all = as_seq_new();
	struct as_err err = { 0 };
	size_t used = 0;

	for (size_t i = 0; i + hidden->n < n; i++)
		padded_line(c, &text);
	as_assert(!as_parse_text("padding", as_buf_str(&text), text.len, &pad, &err));
	as_buf_free(&text);
	for (size_t i = 0; i <= pad->n; i++) {
		/* As many as are due by now, on average; all before the end. */
		while (used < hidden->n &&
		       (i == pad->n || as_choose(c, (unsigned)(pad->n - i) + 1) < hidden->n - used))
			as_seq_add(all, &hidden->ops[used++]);
		if (i < pad->n)
			as_seq_add(all, &pad->ops[i]);
	}
	as_seq_free(pad);
	return all;
}
