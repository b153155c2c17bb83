/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables, the data patterns, outcomes as text, and workloads in memory. */
#include "base/choice.h"
#include "base/hash.h"
#include "work/arg.h"
#include "work/outcome.h"
#include "work/print.h"
#include "work/seq.h"

#include "tests/lib/random_seq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static void test_find(void **state)
{
	struct as_op_index index;

	(void)state;
	as_op_index_init(&index);
	for (int code = 0; code < AS_OP_COUNT; code++) {
		const char *name = as_op_table[code].name;
		size_t len = strlen(name);

		assert_int_equal(as_op_find(name, len), code);
		assert_int_equal(as_op_index_find(&index, name, len), code);
		/* not its beginning, not with something after it */
		for (size_t cut = 0; cut < len; cut++)
			assert_int_not_equal(as_op_find(name, cut), code);
		assert_int_equal(as_op_find("mkdirs", 6), AS_OP_COUNT);
		assert_int_equal(as_op_index_find(&index, "mkdirs", 6), AS_OP_COUNT);
	}
	assert_int_equal(as_op_find("", 0), AS_OP_COUNT);
	assert_int_equal(as_op_index_find(&index, "", 0), AS_OP_COUNT);
}

/* What the parser and the printer take for granted of the rows. */
static void test_rows(void **state)
{
	size_t layers[3] = { 0 };

	(void)state;
	for (int code = 0; code < AS_OP_COUNT; code++) {
		const struct as_op_info *info = &as_op_table[code];
		bool keyed = false;

		layers[info->layer]++;
		assert_true(strlen(info->help) > 0);
		for (const enum as_arg_kind *kind = info->args; *kind != AS_ARG_END; kind++) {
			const struct as_arg_info *arg = &as_arg_table[*kind];

			assert_true(!keyed || arg->key); /* bare ones come first */
			keyed = arg->key != NULL;
			if (arg->key)
				assert_int_equal(arg->key_len, strlen(arg->key));
			for (const enum as_arg_kind *other = info->args; other < kind; other++)
				assert_int_not_equal(as_arg_table[*other].offset, arg->offset);
		}
	}
	assert_int_equal(layers[AS_LAYER_CORE], 10);
	assert_int_equal(layers[AS_LAYER_EXT], 11);
	assert_string_equal(as_layer_name(AS_LAYER_MORE), "more");
	assert_string_equal(as_persists_name(AS_PERSISTS_RANGE), "range");
}

/* Flag words stand for what the kernel's headers say. */
static void test_flag_values(void **state)
{
	static const struct {
		enum as_flag_table table;
		int64_t value;
		const char *want;
	} rows[] = {
		{ AS_FLAGS_OPEN_FLAGS, O_RDONLY, "O_RDONLY" },
		{ AS_FLAGS_OPEN_FLAGS, O_RDWR | O_CREAT | O_EXCL | O_TRUNC | O_APPEND,
		  "O_RDWR|O_CREAT|O_EXCL|O_TRUNC|O_APPEND" },
		{ AS_FLAGS_OPEN_FLAGS, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_DSYNC | O_DIRECT,
		  "O_WRONLY|O_NOCTTY|O_NONBLOCK|O_DSYNC|O_DIRECT" },
		{ AS_FLAGS_OPEN_FLAGS, O_SYNC | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC,
		  "O_RDONLY|O_SYNC|O_DIRECTORY|O_NOFOLLOW|O_NOATIME|O_CLOEXEC" },
		{ AS_FLAGS_OPEN_FLAGS, O_RDWR | O_TMPFILE, "O_RDWR|O_TMPFILE" },
		{ AS_FLAGS_OPEN_FLAGS, O_PATH | 0x3, "O_PATH|0x3" },
		{ AS_FLAGS_NODE_TYPES, S_IFSOCK, "sock" },
		{ AS_FLAGS_NODE_TYPES, S_IFBLK, "blk" },
		{ AS_FLAGS_NODE_TYPES, S_IFCHR, "chr" },
		{ AS_FLAGS_NODE_TYPES, S_IFIFO, "fifo" },
		{ AS_FLAGS_NODE_TYPES, S_IFREG, "reg" },
		{ AS_FLAGS_NODE_TYPES, S_IFDIR, "0x4000" },
		{ AS_FLAGS_NODE_TYPES, 0, "0" },
		{ AS_FLAGS_WHENCES, SEEK_HOLE, "SEEK_HOLE" },
		{ AS_FLAGS_WHENCES, 7, "0x7" },
		{ AS_FLAGS_FALLOC_FLAGS, 0, "0" },
		{ AS_FLAGS_FALLOC_FLAGS, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  "KEEP_SIZE|PUNCH_HOLE" },
		{ AS_FLAGS_FALLOC_FLAGS,
		  FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_ZERO_RANGE | FALLOC_FL_INSERT_RANGE |
			  FALLOC_FL_UNSHARE_RANGE,
		  "COLLAPSE_RANGE|ZERO_RANGE|INSERT_RANGE|UNSHARE_RANGE" },
		{ AS_FLAGS_RENAME_FLAGS, RENAME_NOREPLACE | RENAME_WHITEOUT,
		  "RENAME_NOREPLACE|RENAME_WHITEOUT" },
		{ AS_FLAGS_RENAME_FLAGS, RENAME_EXCHANGE | 64, "RENAME_EXCHANGE|0x40" },
		{ AS_FLAGS_XATTR_FLAGS, XATTR_CREATE | XATTR_REPLACE,
		  "XATTR_CREATE|XATTR_REPLACE" },
		{ AS_FLAGS_MSYNC_FLAGS, MS_SYNC | MS_INVALIDATE, "MS_INVALIDATE|MS_SYNC" },
		{ AS_FLAGS_SFR_FLAGS, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER,
		  "SYNC_FILE_RANGE_WAIT_BEFORE|SYNC_FILE_RANGE_WAIT_AFTER" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf text = { 0 };

		as_flags_print(rows[i].table, rows[i].value, &text);
		assert_string_equal(as_buf_str(&text), rows[i].want);
		as_buf_free(&text);
	}
	assert_int_equal(AS_MS_SYNC, MS_SYNC);
}

static void test_make(void **state)
{
	struct as_op op = as_op_make(AS_OP_UTIMENS);

	(void)state;
	assert_true(op.atime == AS_TIME_NOW && op.mtime == AS_TIME_NOW && op.nofollow == 0);
	assert_true(op.slot == AS_SLOT_NONE && op.fd == AS_SLOT_NONE && op.fd2 == AS_SLOT_NONE);
	assert_true(!op.path && !op.path2 && !op.name);
	assert_string_equal(op.opts, "");
	op = as_op_make(AS_OP_MMAP_WRITE);
	assert_true(op.flags == MS_SYNC && op.atime == 0 && op.len == 0 && op.off == 0);
}

/* Equality sees a change in any argument. */
static void test_equal(void **state)
{
	struct as_chooser *chooser = as_chooser_seeded(3);
	struct as_choice *c = as_chooser_choice(chooser);
	struct as_seq *seq = as_seq_new();

	(void)state;
	for (int i = 0; i < 5000; i++) {
		struct as_op a = *t_random_op(c, seq), b = a;

		assert_true(as_op_equal(&a, &b));
		for (const enum as_arg_kind *k = as_op_table[a.code].args; *k != AS_ARG_END; k++) {
			const struct as_arg_info *arg = &as_arg_table[*k];

			b = a;
			if (arg->type == AS_TYPE_STR)
				*(const char **)as_arg_field(&b, arg) = "not drawn by anyone";
			else
				*(uint32_t *)as_arg_field(&b, arg) ^= 1;
			assert_false(as_op_equal(&a, &b));
		}
		b = a;
		b.slot++;
		assert_int_equal(as_op_equal(&a, &b), a.code != AS_OP_OPEN);
	}
	as_seq_free(seq);
	as_chooser_free(chooser);
}

/* ---- Patterns ---- */

/* Fixed for ever: workloads and the disks made from them depend on it. docs/FORMAT.md has these. */
static void test_pattern_values(void **state)
{
	static const unsigned char seven[16] = {
		0xab, 0x45, 0x58, 0x2f, 0x90, 0x85, 0xaa, 0xbe,
		0x93, 0x33, 0xd6, 0xe2, 0x8f, 0x04, 0xe1, 0x1a,
	};
	unsigned char data[16];

	(void)state;
	as_pattern_fill(7, 0, data, sizeof(data));
	assert_memory_equal(data, seven, sizeof(data));
	as_pattern_fill(0, 5, data, sizeof(data));
	for (size_t i = 0; i < sizeof(data); i++)
		assert_int_equal(data[i], 0);
}

#define SPAN 100

/* Any range is a piece of the whole, and the check finds any byte that differs, at its place. */
static void test_pattern_ranges(void **state)
{
	unsigned char whole[SPAN], part[SPAN + 1];

	(void)state;
	for (uint64_t pattern = 0; pattern < 3; pattern++) {
		uint64_t far = pattern * 0x123456789abcdu;

		as_pattern_fill(pattern, far, whole, SPAN);
		for (size_t off = 0; off < 20; off++) {
			for (size_t len = 0; len + off <= SPAN; len++) {
				part[len] = 0xa5;
				as_pattern_fill(pattern, far + off, part, len);
				assert_memory_equal(part, whole + off, len);
				assert_int_equal(part[len], 0xa5);
				assert_int_equal(as_pattern_check(pattern, far + off, part, len),
						 len);
				for (size_t bad = 0; bad < len; bad += 3) {
					part[bad] ^= 0x10;
					assert_int_equal(as_pattern_check(pattern, far + off, part,
									  len),
							 bad);
					part[bad] ^= 0x10;
				}
			}
		}
	}
}

/* Bytes of different patterns, or of different places, have nothing to do with each other. */
static void test_pattern_differs(void **state)
{
	unsigned char a[4096], b[4096];
	size_t same_pattern = 0, same_place = 0;

	(void)state;
	for (uint64_t n = 1; n < 50; n++) {
		as_pattern_fill(n, 0, a, sizeof(a));
		as_pattern_fill(n + 1, 0, b, sizeof(b));
		for (size_t i = 0; i < sizeof(a); i++)
			same_pattern += a[i] == b[i];
		as_pattern_fill(n, 4096, b, sizeof(b));
		for (size_t i = 0; i < sizeof(a); i++)
			same_place += a[i] == b[i];
	}
	/* 49 * 4096 / 256 = 784 by chance */
	assert_in_range(same_pattern, 600, 1000);
	assert_in_range(same_place, 600, 1000);
}

/* ---- Outcomes, sequences ---- */

static void test_outcome_text(void **state)
{
	static const struct {
		struct as_outcome outcome;
		const char *want;
	} rows[] = {
		{ { .ret = 4096 }, "= 4096" },
		{ { .ret = 0, .done = 3 }, "= 0" },
		{ { .ret = -1, .err = ENOENT }, "= -1 ENOENT" },
		{ { .ret = -1, .err = ENOSPC, .done = 12 }, "= -1 ENOSPC done=12" },
		{ { .ret = -1, .err = AS_ERR_UNSUPPORTED }, "= -1 UNSUPPORTED" },
		{ { .ret = -1, .err = AS_ERR_LIMIT }, "= -1 LIMIT" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf text = { 0 };

		as_outcome_print(&rows[i].outcome, &text);
		assert_string_equal(as_buf_str(&text), rows[i].want);
		as_buf_free(&text);
	}
}

static void test_seq(void **state)
{
	struct as_chooser *chooser = as_chooser_seeded(4);
	struct as_seq *seq = t_random_seq(as_chooser_choice(chooser), 100), *copy, *half;
	bool keep[100];

	(void)state;
	copy = as_seq_copy(seq);
	assert_true(as_seq_equal(seq, copy));
	assert_true(as_digest_eq(as_seq_digest(seq), as_seq_digest(copy)));
	for (size_t i = 0; i < seq->n; i++) { /* nothing is shared */
		assert_true(!seq->ops[i].path || !*seq->ops[i].path ||
			    seq->ops[i].path != copy->ops[i].path);
		keep[i] = i % 2;
	}
	half = as_seq_subset(seq, keep);
	assert_int_equal(half->n, 50);
	assert_true(as_op_equal(&half->ops[49], &seq->ops[99]));
	assert_int_equal(half->n_meta, seq->n_meta);
	as_seq_set_meta(copy, "new", "1");
	assert_false(as_seq_equal(seq, copy));
	as_seq_set_meta(copy, "new", "2");
	assert_string_equal(as_seq_meta(copy, "new"), "2");
	assert_null(as_seq_meta(seq, "new"));
	assert_false(as_digest_eq(as_seq_digest(seq), as_seq_digest(copy)));
	as_seq_free(seq);
	as_seq_free(copy);
	as_seq_free(half);
	as_seq_free(NULL);
	as_chooser_free(chooser);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),	       cmocka_unit_test(test_rows),
		cmocka_unit_test(test_flag_values),    cmocka_unit_test(test_make),
		cmocka_unit_test(test_equal),	       cmocka_unit_test(test_pattern_values),
		cmocka_unit_test(test_pattern_ranges), cmocka_unit_test(test_pattern_differs),
		cmocka_unit_test(test_outcome_text),   cmocka_unit_test(test_seq),
	};

	return cmocka_run_group_tests_name("work op", tests, NULL, NULL);
}
