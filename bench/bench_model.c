/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_model: how fast the abstract file system moves on trees of about twenty nodes, in CPU time,
 * and what a retained state costs.
 */
#include "base/prng.h"
#include "bench/bench.h"
#include "model/model.h"
#include "work/op.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define POOL 4096u
#define NODES_MAX 24u

static const struct as_traits traits = { .name = "bench", AS_TRAITS_ANY };

struct pool {
	struct as_op op[POOL];
	char path[2 * POOL][24];
};

static const enum as_opcode drawn[] = {
	AS_OP_MKDIR, AS_OP_CREATE, AS_OP_CREATE, AS_OP_RENAME,	AS_OP_UNLINK,	AS_OP_RMDIR,
	AS_OP_OPEN,  AS_OP_PWRITE, AS_OP_PWRITE, AS_OP_PREAD,	AS_OP_CLOSE,	AS_OP_TRUNCATE,
	AS_OP_CHMOD, AS_OP_STAT,   AS_OP_FSYNC,	 AS_OP_SYMLINK, AS_OP_HARDLINK,
};

/* Paths of one to three components from a small alphabet, so that about half of them exist. */
static void draw_path(struct as_prng *prng, char path[24])
{
	unsigned depth = 1 + (unsigned)as_prng_below(prng, 3), at = 0;

	for (unsigned i = 0; i < depth; i++) {
		path[at++] = '/';
		path[at++] = (char)('a' + as_prng_below(prng, i + 1 == depth ? 6 : 2));
	}
	path[at] = '\0';
}

static struct pool *make_pool(uint64_t seed)
{
	struct pool *pool = as_xcalloc(1, sizeof(*pool));
	struct as_prng prng = as_prng_seed(seed);

	for (unsigned i = 0; i < POOL; i++) {
		size_t n = sizeof(drawn) / sizeof(drawn[0]);
		struct as_op *op = &pool->op[i];

		*op = as_op_make(drawn[as_prng_below(&prng, n)]);
		draw_path(&prng, pool->path[2 * i]);
		draw_path(&prng, pool->path[2 * i + 1]);
		op->path = pool->path[2 * i];
		op->path2 = pool->path[2 * i + 1];
		op->mode = 0755;
		op->fd = op->slot = (int32_t)as_prng_below(&prng, 3);
		if (op->code == AS_OP_OPEN)
			op->flags = AS_O_RDWR;
		else
			op->slot = AS_SLOT_NONE;
		op->len = 512 * (1 + as_prng_below(&prng, 16));
		op->off = (int64_t)(512 * as_prng_below(&prng, 64));
		op->fill = 1 + as_prng_below(&prng, 7);
	}
	return pool;
}

/* A tree of twenty nodes to start from. */
static struct as_model *make_tree(void)
{
	static const char *const dirs[] = { "/a", "/b", "/a/a", "/a/b", "/b/a", "/b/b" };
	static const char *const files[] = { "/c",     "/d",	 "/a/c",   "/a/d",   "/b/c",
					     "/b/d",   "/a/a/a", "/a/a/b", "/a/b/a", "/b/a/a",
					     "/b/b/a", "/b/b/b", "/e" };
	struct as_model *m = as_model_new(&traits);
	struct as_op op = as_op_make(AS_OP_MKDIR);

	op.mode = 0755;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		op.path = dirs[i];
		as_assert(as_model_apply(m, &op) == 0);
	}
	op.code = AS_OP_CREATE;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		op.path = files[i];
		as_assert(as_model_apply(m, &op) == 0);
	}
	return m;
}

/* A cycle of operations that all succeed and leave the tree as it was. */
static const struct {
	enum as_opcode code;
	const char *path, *path2;
} cycle[] = {
	{ AS_OP_CREATE, "/a/a/f", NULL },
	{ AS_OP_OPEN, "/a/a/f", NULL },
	{ AS_OP_PWRITE, NULL, NULL },
	{ AS_OP_PREAD, NULL, NULL },
	{ AS_OP_FTRUNCATE, NULL, NULL },
	{ AS_OP_FSTAT, NULL, NULL },
	{ AS_OP_FSYNC, NULL, NULL },
	{ AS_OP_CLOSE, NULL, NULL },
	{ AS_OP_CHMOD, "/a/a/f", NULL },
	{ AS_OP_HARDLINK, "/a/a/f", "/b/f" },
	{ AS_OP_STAT, "/b/f", NULL },
	{ AS_OP_MKDIR, "/b/b/g", NULL },
	{ AS_OP_RENAME, "/a/a/f", "/b/b/g/h" },
	{ AS_OP_SYMLINK, "/b/b", "/s" },
	{ AS_OP_UNLINK, "/s/g/h", NULL },
	{ AS_OP_UNLINK, "/s", NULL },
	{ AS_OP_RMDIR, "/b/b/g", NULL },
	{ AS_OP_UNLINK, "/b/f", NULL },
};
#define CYCLE (sizeof(cycle) / sizeof(cycle[0]))

static void bench_apply(void (*report)(const char *name, double value, const char *unit))
{
	const unsigned rounds = 100000;
	struct as_model *m = make_tree();
	struct as_op op[CYCLE];
	int64_t before;

	for (size_t i = 0; i < CYCLE; i++) {
		op[i] = as_op_make(cycle[i].code);
		op[i].path = cycle[i].path;
		op[i].path2 = cycle[i].path2;
		op[i].mode = 0755;
		op[i].fd = op[i].slot = 0;
		op[i].flags = op[i].code == AS_OP_OPEN ? AS_O_RDWR : 0;
		op[i].len = 4096;
		op[i].fill = 1;
	}
	before = bench_cpu_us();
	for (unsigned round = 0; round < rounds; round++)
		for (size_t i = 0; i < CYCLE; i++)
			as_assert(as_model_apply(m, &op[i]) == 0);
	report("model.apply", 1e6 * rounds * CYCLE / (double)(bench_cpu_us() - before), "op/s");
	as_model_free(m);
}

struct next {
	const struct as_model *parent;
	const struct as_op *op;
};

/* A parent and an operation that succeeds on it and leaves the tree small. */
static struct next find_next(const struct pool *pool, struct as_model **all, size_t n,
			     struct as_prng *prng)
{
	for (;;) {
		struct next next = { all[as_prng_below(prng, n)],
				     &pool->op[as_prng_below(prng, POOL)] };
		struct as_model *m = as_model_copy(next.parent);
		bool good = as_model_apply(m, next.op) == 0 && as_model_inodes(m) <= NODES_MAX;

		as_model_free(m);
		if (good)
			return next;
	}
}

/* Every state is a copy of an earlier one with one operation more that succeeds; all are kept. What
 * is measured is copy, apply and both digests, not the search for an operation. */
static void bench_state(const struct pool *pool,
			void (*report)(const char *name, double value, const char *unit))
{
	enum { STATES = 300000, BATCH = 1000 };
	struct as_model **all = as_xcalloc(STATES + BATCH, sizeof(*all));
	struct next *next = as_xcalloc(BATCH, sizeof(*next));
	struct as_prng prng = as_prng_seed(7);
	struct as_digest sum = AS_DIGEST_ZERO;
	size_t bytes = mallinfo2().uordblks, n = 1;
	int64_t spent = 0;

	all[0] = make_tree();
	while (n < STATES) {
		for (size_t i = 0; i < BATCH; i++)
			next[i] = find_next(pool, all, n, &prng);
		spent -= bench_cpu_us();
		for (size_t i = 0; i < BATCH; i++) {
			struct as_model *m = as_model_copy(next[i].parent);

			as_assert(as_model_apply(m, next[i].op) == 0);
			sum = as_digest_add(sum, as_model_digest(m));
			sum = as_digest_add(sum, as_model_digest_canonical(m));
			all[n++] = m;
		}
		spent += bench_cpu_us();
	}
	report("model.state", 1e6 * (double)n / (double)spent, "state/s");
	report("model.state_bytes", (double)(mallinfo2().uordblks - bytes) / (double)n, "byte");
	as_assert(sum.lo | sum.hi);
	for (size_t i = 0; i < n; i++)
		as_model_free(all[i]);
	free(next);
	free(all);
}

void bench_model(void (*report)(const char *name, double value, const char *unit));

void bench_model(void (*report)(const char *name, double value, const char *unit))
{
	struct pool *pool = make_pool(1);

	bench_apply(report);
	bench_state(pool, report);
	free(pool);
}
