/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cover: see cover.h. The checker stands before its first read of the disk and is forked there. */
#include "sym/cover.h"

#include "os/spawn.h"
#include "sym/blocks.h"
#include "sym/server.h"

#include <stdlib.h>

#define RUN_MS 20000u

struct cover_own {
	struct as_blocks *blocks; /* shared */
	/* Of this process. */
	struct as_sym_server *server;
	uint64_t size, program;
};

void *as_sym_cover_new(void)
{
	struct cover_own *o = as_xcalloc(1, sizeof(*o));

	o->blocks = as_shared_alloc(sizeof(*o->blocks));
	return o;
}

void as_sym_cover_free(void *own)
{
	struct cover_own *o = own;

	if (!o)
		return;
	as_sym_server_free(o->server);
	as_shared_free(o->blocks, sizeof(*o->blocks));
	free(o);
}

static int open_server(struct cover_own *o, struct as_fsck_subject *subject, struct as_disk *disk,
		       struct as_err *err)
{
	struct as_sym_range all = { .len = as_disk_size(disk) };

	if (o->server && o->size == all.len)
		return 0;
	as_sym_server_free(o->server);
	o->server = NULL;
	o->size = all.len;
	o->program = as_blocks_program(as_subject_program(subject));
	return as_sym_server_start(subject, disk, &all, 1, &o->server, err);
}

static int run_blocks(const struct as_fsck_cover *cover, struct as_fsck_subject *subject,
		      struct as_disk *disk, struct as_err *err)
{
	struct cover_own *o = cover->own;
	struct as_damage none = { 0 };
	struct as_path path = { 0 };
	struct as_sym_run run;
	int rc = open_server(o, subject, disk, err);

	if (rc)
		return rc;
	as_sym_server_put(o->server, disk);
	if (as_sym_server_run(o->server, &none, NULL, 0, RUN_MS, &run, err)) {
		as_sym_server_free(o->server);
		o->server = NULL;
		return 0;
	}
	/* A run that is killed counts nothing. */
	if (!as_path_read(run.log, run.log_bytes, &path, err))
		for (size_t i = 0; i < path.n_cover; i++)
			(void)as_blocks_add(o->blocks, &path.cover[i], o->program);
	as_path_free(&path);
	return 0;
}

static uint64_t count_blocks(const struct as_fsck_cover *cover)
{
	return ((struct cover_own *)cover->own)->blocks->n;
}

static double share_blocks(const struct as_fsck_cover *cover)
{
	return as_blocks_share(((struct cover_own *)cover->own)->blocks);
}

static void close_blocks(const struct as_fsck_cover *cover)
{
	struct cover_own *o = cover->own;

	as_sym_server_free(o->server);
	o->server = NULL;
}

const struct as_fsck_cover_row as_sym_cover_row = {
	.name = "blocks",
	.run = run_blocks,
	.count = count_blocks,
	.share = share_blocks,
	.close = close_blocks,
};
