/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is put into finished workloads (gen/finish.h): files whose blocks are used again, and data
 * that begins as a block of the journal does. Both come in every so many workloads, and leave the
 * others alone.
 */
#include "gen/finish.h"
#include "tests/lib/gen.h"
#include "work/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY 3
#define SEEDS 300
#define MAGIC 0x6c6a726eu

static const char workload[] = "mkdir /a 0755\n"
			       "create /a/f 0644\n"
			       "sync\n"
			       "crash\n"
			       "rename /a/f /g\n"
			       "stat /g\n"
			       "umount\n"
			       "mount\n"
			       "create /h 0644\n"
			       "sync\n"
			       "crash\n"
			       "stat /h\n";

static struct as_seq *parse(const char *text)
{
	struct as_err err = { 0 };
	struct as_seq *seq;

	if (as_parse_text("w", text, strlen(text), &seq, &err))
		fail_msg("%s", err.msg);
	return seq;
}

static struct as_profile *profile_of(const char *text)
{
	struct as_profile *profile = as_profile_new();

	assert_int_equal(as_profile_parse("p", text, strlen(text), profile, NULL), 0);
	return profile;
}

/* ---- Blocks that are used again ---- */

struct seen {
	unsigned combs, mounts, unlinks, cuts, punches, attributes, nexts, apart;
};

static bool is_added(const struct as_op *op)
{
	return op->slot >= 64 || op->fd >= 64 ||
	       (op->path && (!strcmp(op->path, "/p") || !strcmp(op->path, "/q")));
}

/* The operations of the workload in their order. Others that have no file of their own (sync,
 * umount, mount) are of the added ones. */
static void check_kept(const struct as_seq *seq, const struct as_seq *all)
{
	size_t k = 0;

	for (size_t i = 0; i < all->n && k < seq->n; i++) {
		const struct as_op *op = &all->ops[i], *want = &seq->ops[k];

		k += !is_added(op) && op->code == want->code &&
		     !strcmp(op->path ? op->path : "", want->path ? want->path : "");
	}
	assert_int_equal(k, seq->n);
}

/* Nothing comes between a sync and its crash, and no file is open where that would be refused. */
static void check_order(const struct as_seq *all)
{
	unsigned open = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct as_op *op = &all->ops[i];

		open += op->code == AS_OP_OPEN;
		if (op->code == AS_OP_CLOSE)
			assert_true(open-- > 0);
		if (op->fd >= 64)
			assert_true(open || op->code == AS_OP_CLOSE);
		if (op->code == AS_OP_CRASH)
			assert_int_equal(all->ops[i - 1].code, AS_OP_SYNC);
		if (op->code == AS_OP_MOUNT)
			assert_int_equal(all->ops[i - 1].code, AS_OP_UMOUNT);
		if (op->code == AS_OP_CRASH || op->code == AS_OP_UMOUNT)
			assert_int_equal(open, 0);
	}
	assert_int_equal(open, 0);
}

static void count(const struct as_seq *all, struct seen *seen)
{
	unsigned pieces = 0, mounts = 0;
	bool begun = false, left = false;

	for (size_t i = 0; i < all->n; i++) {
		const struct as_op *op = &all->ops[i];
		bool added = is_added(op) || op->code == AS_OP_SYNC;

		pieces += op->code == AS_OP_PWRITE && op->off >= 1 << 18;
		mounts += op->code == AS_OP_MOUNT;
		seen->unlinks += op->code == AS_OP_UNLINK;
		seen->cuts += op->code == AS_OP_FTRUNCATE;
		seen->punches += op->code == AS_OP_FALLOCATE;
		seen->attributes += op->code == AS_OP_WRITE_XATTR;
		seen->nexts += op->code == AS_OP_OPEN && !strcmp(op->path, "/q");
		seen->apart += added && left;
		begun |= is_added(op);
		left = begun && !added;
	}
	seen->combs += pieces > 10;
	seen->mounts += mounts > 1;
}

static void test_reuse(void **state)
{
	struct as_profile *profile = profile_of("reuse 3\n");
	struct seen seen = { 0 };

	(void)state;
	for (unsigned i = 0; i < SEEDS; i++) {
		char text[sizeof(workload) + 32];
		struct as_seq *seq, *all;
		uint64_t number = (uint64_t)(i + 1) * EVERY - 1;

		/* What is drawn follows from the workload. */
		snprintf(text, sizeof(text), "mkdir /d%u 0755\n%s", i, workload);
		all = parse(text);
		assert_ptr_equal(as_reuse_blocks(all, profile, &t_any_traits, number - 1), all);
		all = as_reuse_blocks(all, profile, &t_any_traits, number);
		seq = parse(text);
		assert_true(all->n > seq->n + 4);
		check_kept(seq, all);
		check_order(all);
		count(all, &seen);
		as_seq_free(seq);
		as_seq_free(all);
	}
	assert_true(seen.combs > 50 && seen.mounts > 30 && seen.unlinks > 30 && seen.cuts > 50);
	assert_true(seen.punches > 30 && seen.attributes > 30 && seen.nexts > 100);
	assert_true(seen.apart > 20);
	free(profile);
}

static void test_no_reuse(void **state)
{
	struct as_profile *profile = profile_of("reuse 0\n");
	struct as_seq *seq = parse(workload);

	(void)state;
	for (uint64_t number = 0; number < 10; number++)
		assert_ptr_equal(as_reuse_blocks(seq, profile, &t_any_traits, number), seq);
	as_seq_free(seq);
	free(profile);
}

/* ---- Data like a journal's ---- */

static const char writes[] = "$0 = open /f O_RDWR|O_CREAT 0644\n"
			     "pwrite $0 len=9000 at=0 fill=1\n"
			     "pwrite $0 len=9000 at=0 fill=1\n"
			     "pwrite $0 len=9000 at=5000 fill=2\n"
			     "pwrite $0 len=9000 at=5000 fill=2\n"
			     "pwrite $0 len=100 at=10 fill=3\n"
			     "pwrite $0 len=100 at=10 fill=3\n"
			     "symlink x /l\n"
			     "mknod /n fifo 0644\n";

/* Of the first block that is written whole from its beginning. */
static bool has_magic(const struct as_op *op, uint64_t block)
{
	uint64_t at = ((uint64_t)op->off + block - 1) / block * block;
	uint32_t first;

	as_pattern_fill(op->fill, at, &first, sizeof(first));
	return first == MAGIC;
}

static unsigned count_marks(const struct as_seq *seq, uint64_t block, unsigned *links)
{
	unsigned n = 0;

	for (size_t i = 0; i < seq->n; i++) {
		const struct as_op *op = &seq->ops[i];

		if (op->code == AS_OP_PWRITE)
			n += has_magic(op, block);
		else if (op->code == AS_OP_SYMLINK)
			*links += strlen(op->path) >= 64 && !memcmp(op->path, "nrjl", 4);
	}
	return n;
}

static void test_mark(void **state)
{
	static const struct {
		const char *profile;
		uint64_t number;
		unsigned marks, links;
	} rows[] = {
		{ "mark 2\nmagic 1818915438\n", 1, 2, 2 },
		{ "mark 2\nmagic 1818915438\n", 3, 2, 2 },
		{ "mark 2\nmagic 1818915438\n", 2, 0, 0 },
		{ "mark 2\n", 1, 0, 0 },
		{ "mark 0\nmagic 1818915438\n", 1, 0, 0 },
		/* A byte of it would end the text. */
		{ "mark 2\nmagic 28270\n", 1, 0, 0 },
	};
	struct as_traits traits = t_any_traits;

	(void)state;
	traits.block_bytes = 1024;
	traits.symlink_max = 1000;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_profile *profile = profile_of(rows[i].profile);
		struct as_seq *seq = parse(writes);
		unsigned links = 0;

		as_mark_data(seq, profile, &traits, rows[i].number);
		assert_int_equal(count_marks(seq, traits.block_bytes, &links), rows[i].marks);
		assert_int_equal(links, rows[i].links);
		as_seq_free(seq);
		free(profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_no_reuse),
		cmocka_unit_test(test_mark),
	};

	return cmocka_run_group_tests_name("gen/reuse", tests, NULL, NULL);
}
