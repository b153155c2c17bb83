/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inbox: archives of cells that other machines have sent. An archive is unpacked into a folder of its
 * own first, as data: what is no plain file or folder is not taken, and only cells of this campaign
 * are. A cell whose folder is here already keeps it, so that an archive that came twice counts once.
 */
#include "os/spawn.h"
#include "swarm/slurm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INBOX "inbox"
#define UNPACK_MS 600000u

struct taking {
	struct as_ledger *ledger;
	struct as_dir *inbox;
	int taken;
	struct as_err *err;
};

static int unpack(const struct as_dir *inbox, const char *name, const char *folder,
		  struct as_err *err)
{
	struct as_buf archive = { 0 }, into = { 0 }, output = { 0 };
	char *argv[] = {
		"tar", "-xzf", NULL, "-C", NULL, "--no-same-owner", "--no-same-permissions", NULL
	};
	struct as_spawn spawn = { .argv = argv, .deadline_ms = UNPACK_MS, .output = &output };
	struct as_ended ended;
	int rc;

	as_buf_addf(&archive, "%s/%s", inbox->path, name);
	as_buf_addf(&into, "%s/%s", inbox->path, folder);
	argv[2] = archive.data;
	argv[4] = into.data;
	rc = as_spawn_run(&spawn, &ended, err);
	if (!rc && (ended.how != AS_END_EXIT || ended.status))
		rc = as_fail(err, AS_EUSE, "%s: no archive of a cell: %.*s", as_buf_str(&archive),
			     (int)strcspn(as_buf_str(&output), "\n"), as_buf_str(&output));
	as_buf_free(&archive);
	as_buf_free(&into);
	as_buf_free(&output);
	return rc;
}

/* Moves the folder and the ledger of one cell, if it is ours and not there yet. */
static int take_cell(struct taking *t, const struct as_dir *unpacked, size_t i)
{
	const char *cell = t->ledger->campaign->cells[i].name;
	struct as_dir cells = AS_DIR_NONE, swarm = AS_DIR_NONE;
	struct as_buf lines = { 0 };
	char name[48];
	int rc;

	snprintf(name, sizeof(name), "%s.jsonl", cell);
	rc = as_dir_below(unpacked, AS_SWARM_CELLS, false, &cells, t->err);
	if (!rc)
		rc = as_dir_below(unpacked, AS_SWARM_FOLDER, false, &swarm, t->err);
	if (!rc && as_dir_has(&swarm, name) && !as_dir_has(&t->ledger->swarm, name)) {
		rc = as_dir_read(&swarm, name, (size_t)16 << 20, &lines, t->err);
		if (!rc && as_dir_has(&cells, cell) &&
		    renameat(cells.fd, cell, t->ledger->cells.fd, cell) && errno != EEXIST &&
		    errno != ENOTEMPTY)
			rc = as_fail_errno(t->err, errno, "%s/%s", t->ledger->cells.path, cell);
		if (!rc)
			rc = as_dir_write(&t->ledger->swarm, name, &lines, t->err);
		if (!rc)
			rc = as_ledger_refresh(t->ledger, i, t->err);
	}
	as_buf_free(&lines);
	as_dir_close(&cells);
	as_dir_close(&swarm);
	return rc;
}

static int take(void *ctx, const char *name)
{
	struct taking *t = ctx;
	struct as_dir unpacked = AS_DIR_NONE;
	struct as_buf folder = { 0 };
	size_t len = strlen(name);
	char cell[AS_CELL_NAME_BYTES];
	const struct as_cell *found;
	int rc;

	if (len < 8 || len - 7 >= sizeof(cell) || strcmp(name + len - 7, ".tar.gz"))
		return 0;
	snprintf(cell, sizeof(cell), "%.*s", (int)(len - 7), name);
	found = as_campaign_find(t->ledger->campaign, cell);
	if (!found)
		return 0;
	rc = as_dir_temp(t->inbox, AS_RUN_PART, &folder, &unpacked, t->err);
	if (!rc)
		rc = unpack(t->inbox, name, as_buf_str(&folder), t->err);
	if (!rc)
		rc = take_cell(t, &unpacked, (size_t)(found - t->ledger->campaign->cells));
	if (!rc) {
		t->taken++;
		as_dir_remove(t->inbox, name);
	}
	as_dir_close(&unpacked);
	if (folder.len)
		as_dir_remove(t->inbox, as_buf_str(&folder));
	as_buf_free(&folder);
	return rc;
}

int as_swarm_inbox(struct as_ledger *ledger, struct as_err *err)
{
	struct as_dir inbox = AS_DIR_NONE;
	struct taking t = { .ledger = ledger, .inbox = &inbox, .err = err };
	int rc = as_dir_below(&ledger->run.dir, INBOX, true, &inbox, err);

	if (!rc)
		rc = as_dir_each(&inbox, take, &t);
	as_dir_close(&inbox);
	return rc ? rc : t.taken;
}
