/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_legal: how fast trees are judged, in CPU time: those never seen before (each with other
 * data), and those that were; by the rules of an ordered log and by those of single objects.
 */
#include "bench/bench.h"

#include "legal/legal.h"
#include "work/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define TREES 12000u
#define AGAIN 50u

static const char workload[] = "mkdir /a 0755\n"
			       "mkdir /b 0755\n"
			       "$0 = open /a/f O_RDWR|O_CREAT 0644\n"
			       "pwrite $0 len=4096 at=0 fill=1\n"
			       "create /b/g 0600\n"
			       "symlink ../a/f /b/l\n"
			       "fsync $0\n"
			       "pwrite $0 len=4096 at=2048 fill=2\n"
			       "hardlink /a/f /b/h\n"
			       "rename /b/g /a/g\n"
			       "chmod /a 0700\n"
			       "write_xattr /a/f user.k len=20 fill=3\n"
			       "unlink /b/l\n";

static const struct as_traits traits = {
	.name = "bench",
	.features = ~(uint64_t)AS_FEAT_UNPRIVILEGED,
	.name_max = 255,
	.symlink_max = 4095,
	.xattr_value_max = 65536,
	.block_bytes = 1024,
	.size_max = INT64_MAX,
	.time_granularity_ns = 1,
};

static struct as_history *tell(enum as_guarantee guarantee)
{
	struct as_policy policy = {
		.guarantee = guarantee,
		.data = AS_DATA_ORDERED,
		.fsync_names = true,
		.block_bytes = 1024,
	};
	struct as_model *model = as_model_new(&traits);
	struct as_history *history = as_history_new(model, &policy);
	struct as_seq *seq = NULL;
	struct as_err err;

	if (as_parse_text("bench", workload, strlen(workload), &seq, &err))
		abort();
	for (size_t i = 0; i < seq->n; i++) {
		struct as_outcome out = { 0 };
		struct as_allowed allowed;

		as_model_allowed(model, &seq->ops[i], &allowed);
		out.ret = allowed.ret > 0 ? allowed.ret : 0;
		(void)as_model_apply(model, &seq->ops[i]);
		if (!as_history_add(history, &seq->ops[i], &out))
			abort();
	}
	as_seq_free(seq);
	as_model_free(model);
	return history;
}

/* State n of the history, with `cut` bytes of the file's end lost: each cut is another tree. */
static struct as_tree *variant(const struct as_history *history, size_t n, uint64_t cut)
{
	struct as_tree *tree = as_history_tree(history, n), *other;
	struct as_tree_maker *maker = as_tree_maker_new();
	unsigned char bytes[6144];

	for (uint32_t i = 0; i < as_tree_len(tree); i++) {
		struct as_tree_node node = *as_tree_at(tree, i);
		struct as_content *content = NULL;

		if (S_ISREG(node.mode) && node.size > 4096 + cut) {
			node.size -= cut;
			for (uint64_t at = 0; at < node.size; at++)
				as_piece_bytes(as_content_at(node.content, at), at, bytes + at, 1);
			content = as_content_of_bytes(bytes, node.size);
			node.content = content;
		}
		as_tree_maker_add(maker, node.parent, node.twin, &node);
		as_content_put(content);
	}
	other = as_tree_maker_done(maker);
	as_tree_put(tree);
	return other;
}

static void measure(as_bench_report report, enum as_guarantee guarantee, const char *name)
{
	struct as_history *history = tell(guarantee);
	size_t len = as_history_len(history), first = 8, legal = 0;
	struct as_tree **trees = as_xcalloc(TREES, sizeof(*trees));
	struct as_legal verdict = { 0 };
	char line[64];
	int64_t start;

	for (unsigned i = 0; i < TREES; i++)
		trees[i] = variant(history, first + i % (len - first + 1), i / (len - first + 1));
	start = bench_cpu_us();
	for (unsigned i = 0; i < TREES; i++)
		legal += as_legal_judge(history, (struct as_moment){ len, len, 0 }, trees[i],
					&verdict);
	snprintf(line, sizeof(line), "crash.legal.%s.new", name);
	report(line, TREES * 1e6 / (double)(bench_cpu_us() - start), "trees/s");
	if (legal != TREES) {
		fprintf(stderr, "bench: %zu of %u are legal: %s\n", legal, TREES,
			as_buf_str(&verdict.why));
		abort();
	}
	start = bench_cpu_us();
	for (unsigned again = 0; again < AGAIN; again++)
		for (unsigned i = 0; i < TREES; i++)
			legal += as_legal_judge(history, (struct as_moment){ len, len, 0 },
						trees[i], &verdict);
	snprintf(line, sizeof(line), "crash.legal.%s.again", name);
	report(line, AGAIN * TREES * 1e6 / (double)(bench_cpu_us() - start), "trees/s");
	for (unsigned i = 0; i < TREES; i++)
		as_tree_put(trees[i]);
	free(trees);
	as_legal_free(&verdict);
	as_history_free(history);
}

void bench_crash_legal(as_bench_report report)
{
	measure(report, AS_GUARANTEE_PREFIX, "prefix");
	measure(report, AS_GUARANTEE_OBJECT, "object");
}
