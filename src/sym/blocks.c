/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocks: see blocks.h.
 *
 * Method. The checker stands under Valgrind where it first reads its disk, and is forked there for
 * each disk (sym/server.h): the whole disk is one range in which no byte is unknown. Each process
 * of a session has such a server of its own. What a run has reached is in its log.
 *
 * Invariant: a block is known by the name of its file and its address there, so that it is the same
 * in all runs and all processes, which share one table of bits. Two blocks that share a bit are
 * counted once: of 2^23 bits, checkers use some ten thousands.
 */
#include "sym/blocks.h"

#include "base/hash.h"
#include "os/spawn.h"
#include "sym/server.h"
#include "sym/vg/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLE_BITS ((uint64_t)1 << 23)
#define RUN_MS 20000u
#define OBJS_MAX 64u

struct block_table {
	uint64_t n;
	unsigned char bits[TABLE_BITS / 8];
};

struct sym_blocks {
	struct block_table *table; /* shared by all processes */
	/* Of this process: */
	pid_t pid;
	struct as_sym_server *server;
	struct as_disk *first; /* that the server stands on */
};

static int open_blocks(struct as_fsck_cover *cover, struct as_err *err)
{
	struct sym_blocks *b;
	int rc = as_sym_server_look(err);

	if (rc)
		return rc;
	b = cover->own = as_xcalloc(1, sizeof(*b));
	b->table = as_shared_alloc(sizeof(*b->table));
	return 0;
}

static void end_server(struct sym_blocks *b)
{
	as_sym_server_free(b->server);
	as_disk_free(b->first);
	b->server = NULL;
	b->first = NULL;
}

static void close_blocks(struct as_fsck_cover *cover)
{
	struct sym_blocks *b = cover->own;

	if (!b)
		return;
	if (b->pid == getpid())
		end_server(b);
	as_shared_free(b->table, sizeof(*b->table));
	free(b);
	cover->own = NULL;
}

/* ---- The log --------------------------------------------------------------------------------- */

struct block_code {
	uint64_t bias, text, size, name;
};

/* Whose blocks are not the checker's. */
static bool is_foreign(const char *name)
{
	static const char *const names[] = { "libc.",	  "libc-",	"ld-",	 "ld.",
					     "vgpreload", "libpthread", "libm.", "libm-" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static void add_code(const unsigned char *at, struct block_code *objs, unsigned *n)
{
	struct as_symlog_obj o;
	const char *name;

	memcpy(&o, at, sizeof(o));
	o.path[sizeof(o.path) - 1] = '\0';
	name = strrchr(o.path, '/') ? strrchr(o.path, '/') + 1 : o.path;
	if (*n < OBJS_MAX && !is_foreign(name))
		objs[(*n)++] = (struct block_code){ o.base, o.text, o.text_size,
						    as_mix64(as_hash64(name, strlen(name))) };
}

static void add_block(struct block_table *t, const unsigned char *at, const struct block_code *objs,
		      unsigned n)
{
	struct as_symlog_cover c;

	memcpy(&c, at, sizeof(c));
	for (unsigned i = 0; i < n; i++)
		if (c.addr - objs[i].text < objs[i].size) {
			uint64_t bit =
				as_mix64(objs[i].name + (c.addr - objs[i].bias)) % TABLE_BITS;
			unsigned char mask = (unsigned char)(1u << bit % 8);

			if (!(__atomic_fetch_or(&t->bits[bit / 8], mask, __ATOMIC_RELAXED) & mask))
				__atomic_add_fetch(&t->n, 1, __ATOMIC_RELAXED);
			return;
		}
}

/* What was written to the log before a run was killed is counted, too. */
static void read_log(struct block_table *t, const unsigned char *log, size_t len)
{
	struct as_symlog_head h;
	struct block_code objs[OBJS_MAX];
	unsigned n = 0;

	memcpy(&h, log, sizeof(h));
	if (h.magic != AS_SYMLOG_MAGIC || h.events_offset > len ||
	    h.events_bytes > len - h.events_offset)
		return;
	for (int pass = 0; pass < 2; pass++) {
		const unsigned char *at = log + h.events_offset;
		uint64_t left = h.events_bytes, bytes;

		for (; left; at += bytes, left -= bytes) {
			bytes = as_symlog_event_bytes(at, left);
			if (!bytes || bytes > left)
				break;
			if (!pass && *at == AS_SYMLOG_OBJ)
				add_code(at, objs, &n);
			else if (pass && *at == AS_SYMLOG_COVER)
				add_block(t, at, objs, n);
		}
	}
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static int run_blocks(const struct as_fsck_cover *cover, struct as_fsck_subject *subject,
		      struct as_disk *disk, struct as_err *err)
{
	struct sym_blocks *b = cover->own;
	const struct as_sym_range all = { .off = 0, .len = as_disk_size(disk) };
	struct as_damage damage = { 0 };
	struct as_sym_run run;
	int rc = 0;

	/* A server that another process started is not ours. */
	if (b->pid != getpid()) {
		b->pid = getpid();
		b->server = NULL;
		b->first = NULL;
	}
	if (b->server && as_disk_size(b->first) != all.len)
		end_server(b);
	if (!b->server) {
		rc = as_sym_server_start(subject, disk, &all, 1, &b->server, err);
		if (rc)
			return as_fail_in(err, "--coverage blocks");
		b->first = as_disk_snapshot(disk);
	}
	as_damage_diff(&damage, b->first, disk);
	if (as_sym_server_run(b->server, &damage, &all, 1, RUN_MS, &run, err))
		end_server(b); /* it has died with this disk: the next one gets another server */
	else
		read_log(b->table, run.log, run.log_bytes);
	as_damage_free(&damage);
	return rc;
}

static uint64_t count_blocks(const struct as_fsck_cover *cover)
{
	const struct sym_blocks *b = cover->own;

	return __atomic_load_n(&b->table->n, __ATOMIC_RELAXED);
}

const struct as_fsck_cover_row as_sym_blocks_row = {
	.name = "blocks",
	.open = open_blocks,
	.run = run_blocks,
	.count = count_blocks,
	.close = close_blocks,
};
