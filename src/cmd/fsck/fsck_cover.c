/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_cover: see fsck_cover.h. */
#include "cmd/fsck/fsck_cover.h"

#include "sym/cover.h"
#include "sym/server.h"

#include <string.h>

int as_fsck_covering_open(const struct as_args *args, struct as_fsck_covering *c,
			  struct as_err *err)
{
	const char *name = as_args_text(args, "coverage", NULL);
	int rc;

	if (!name)
		return 0;
	if (!strcmp(name, as_sym_cover_row.name)) {
		rc = as_sym_server_look(err);
		if (rc)
			return rc;
		c->cover.row = &as_sym_cover_row;
		c->cover.own = as_sym_cover_new();
		return 0;
	}
	rc = as_temp_new(NULL, &c->folder, err);
	for (unsigned i = 0; !rc && as_fsck_cover_row(i); i++)
		if (!strcmp(as_fsck_cover_row(i)->name, name))
			c->cover.row = as_fsck_cover_row(i);
	if (!rc)
		c->cover.folder = as_temp_path(c->folder);
	return rc;
}

int as_fsck_covering_save(struct as_fsck_covering *c, const struct as_dir *dir, int64_t wall_us,
			  struct as_err *err)
{
	const struct as_fsck_cover_row *row = c->cover.row;

	if (!row)
		return 0;
	if (!c->text.len)
		as_buf_addf(&c->text, "seconds,blocks%s\n", row->share ? ",percent" : "");
	as_buf_addf(&c->text, "%.1f,%llu", (double)wall_us / 1e6,
		    (unsigned long long)row->count(&c->cover));
	if (row->share)
		as_buf_addf(&c->text, ",%.2f", row->share(&c->cover));
	as_buf_addc(&c->text, '\n');
	return dir->fd < 0 ? 0 : as_dir_write(dir, "coverage.csv", &c->text, err);
}

void as_fsck_covering_say(const struct as_fsck_covering *c, struct as_sink *sinks)
{
	unsigned long long n = c->cover.row ? c->cover.row->count(&c->cover) : 0;

	if (n && c->cover.row->share)
		as_emit_note(sinks,
			     "%llu blocks of code were reached, %.1f %% of the checker's own", n,
			     c->cover.row->share(&c->cover));
	else if (n)
		as_emit_note(sinks, "%llu blocks of the checker's code were reached", n);
	else if (c->cover.row)
		as_emit_note(sinks, "nothing of the checker's code was counted: for gcov, it must "
				    "be built with --coverage, and end by itself");
}

void as_fsck_covering_json(const struct as_fsck_covering *c, struct as_json *json)
{
	const struct as_fsck_cover *cover = &c->cover;

	if (!cover->row)
		return;
	as_json_kuint(json, "covered_blocks", cover->row->count(cover));
	if (cover->row->share) {
		as_json_key(json, "covered_percent");
		as_json_num(json, cover->row->share(cover));
	}
}

void as_fsck_covering_close(struct as_fsck_covering *c)
{
	if (c->cover.row == &as_sym_cover_row)
		as_sym_cover_free(c->cover.own);
	as_temp_free(c->folder);
	as_buf_free(&c->text);
}
