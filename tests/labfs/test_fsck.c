/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fsck: one kind of damage after the other done to a sample image, and what the checker makes
 * of it. For each row: a read-only run finds the same and writes nothing; the first run finds these
 * problems, in this order; the tree is then sound, as tests/lib/lab_verify.h and not the checker
 * says, and differs from the undamaged one in these names; the second run finds nothing and writes
 * nothing.
 */
#include "tests/lib/lab_sample.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct damage {
	const char *name;
	/* Either a field: `len` bytes of inode `ino` at `off` become `value`... */
	uint32_t ino;
	size_t off, len;
	uint64_t value;
	bool seal; /* with a right checksum */
	/* ... or a function. */
	void (*fn)(struct img *img);
	const char *codes;
	const char *diff;
	int code; /* 0 = AS_FSCK_REPAIRED */
};

#define FIELD(i, field, v)                                  \
	.ino = i, .off = offsetof(struct lab_inode, field), \
	.len = sizeof(((struct lab_inode *)0)->field), .value = v

/* ---- Inodes and blocks ---- */

static void garbage_inode(struct img *img)
{
	memset(t_img_inode(img, I_F), 0xa5, LAB_INODE_BYTES);
}

static void garbage_root(struct img *img)
{
	memset(t_img_inode(img, I_ROOT), 0xa5, LAB_INODE_BYTES);
}

static void indirect_is_data(struct img *img)
{
	t_img_inode(img, I_BIG)->ptr[LAB_DIRECT] = t_img_inode(img, I_F)->ptr[0];
	t_img_seal_inode(img, I_BIG);
}

static void indirect_entry(struct img *img)
{
	*t_img_ptr(img, I_BIG, 20) = 0x7fffffff;
}

static void double_shares_single(struct img *img)
{
	t_img_inode(img, I_SPARSE)->ptr[LAB_DIRECT] = t_img_inode(img, I_BIG)->ptr[LAB_DIRECT];
	t_img_seal_inode(img, I_SPARSE);
}

static void shared_data(struct img *img)
{
	t_img_inode(img, I_F)->ptr[1] = t_img_inode(img, I_BIG)->ptr[0];
	t_img_seal_inode(img, I_F);
}

static void shared_with_dir(struct img *img)
{
	t_img_inode(img, I_F)->ptr[0] = t_img_inode(img, I_C)->ptr[0];
	t_img_seal_inode(img, I_F);
}

static void shared_with_itself(struct img *img)
{
	t_img_inode(img, I_BIG)->ptr[3] = t_img_inode(img, I_BIG)->ptr[LAB_DIRECT];
	t_img_seal_inode(img, I_BIG);
}

static void xattr_magic(struct img *img)
{
	*(uint32_t *)t_img_block(img, t_img_inode(img, I_ATTR)->xattr_block) = 1;
}

static void xattr_value(struct img *img)
{
	*((uint8_t *)t_img_block(img, t_img_inode(img, I_ATTR)->xattr_block) + 30) ^= 1;
}

static void xattr_shared(struct img *img)
{
	t_img_inode(img, I_HARD)->xattr_block = t_img_inode(img, I_ATTR)->xattr_block;
	t_img_inode(img, I_HARD)->blocks++;
	t_img_seal_inode(img, I_HARD);
}

static void long_link_nul(struct img *img)
{
	*((uint8_t *)t_img_block(img, t_img_inode(img, I_LONG)->ptr[0]) + 5) = 0;
}

static void dir_hole(struct img *img)
{
	t_img_inode(img, I_MANY)->ptr[3] = 0;
	t_img_seal_inode(img, I_MANY);
}

static void dir_no_indirect(struct img *img)
{
	t_img_inode(img, I_MANY)->ptr[LAB_DIRECT] = 0;
	t_img_seal_inode(img, I_MANY);
}

/* ---- Directories ---- */

static void root_dot(struct img *img)
{
	t_sample_rec(img, I_ROOT, ".")->ino = 9;
}

static void dot_ino(struct img *img)
{
	t_sample_rec(img, I_A, ".")->ino = 60;
}

static void dot_name(struct img *img)
{
	t_sample_rec(img, I_A, ".")->name[0] = 'x';
}

static void dotdot_ino(struct img *img)
{
	t_sample_rec(img, I_B, "..")->ino = I_C;
}

static void dotdot_gone(struct img *img)
{
	t_sample_rec(img, I_B, "..")->ino = 0;
}

static void rec_len_zero(struct img *img)
{
	t_sample_rec(img, I_ROOT, "big")->rec_len = 0;
}

static void rec_len_dot(struct img *img)
{
	t_sample_rec(img, I_ROOT, ".")->rec_len = 3;
}

static void rec_len_past_end(struct img *img)
{
	t_sample_rec(img, I_A, "b")->rec_len = 2000;
}

static void rec_and_name(struct img *img)
{
	struct lab_dirent *rec = t_sample_rec(img, I_ROOT, "sparse");

	rec->rec_len = 6;
	rec->name[1] = '/';
}

static void name_slash(struct img *img)
{
	t_sample_rec(img, I_A, "f")->name[0] = '/';
}

static void name_twice(struct img *img)
{
	memcpy(t_sample_rec(img, I_ROOT, "h2")->name, "h1", 2);
}

static void name_twice_other(struct img *img)
{
	memcpy(t_sample_rec(img, I_ROOT, "short")->name, "empty", 5);
}

static void entry_range(struct img *img)
{
	t_sample_rec(img, I_A, "f")->ino = SAMPLE_INODES + 1;
}

static void entry_free(struct img *img)
{
	t_sample_rec(img, I_A, "f")->ino = I_FREE;
}

static void entry_type(struct img *img)
{
	t_sample_rec(img, I_A, "f")->type = S_IFDIR >> 12;
}

static void entry_other(struct img *img)
{
	t_sample_rec(img, I_A, "f")->ino = I_BIG;
}

static void dir_second_name(struct img *img)
{
	t_sample_rec(img, I_ROOT, "fifo")->ino = I_C;
}

static void dir_names_root(struct img *img)
{
	t_sample_rec(img, I_C, "deep")->ino = I_ROOT;
}

static void loop(struct img *img)
{
	t_sample_rec(img, I_ROOT, "a")->ino = 0;
	t_sample_rec(img, I_C, "deep")->ino = I_A;
}

static void block_zeroed(struct img *img)
{
	memset(t_img_block(img, t_img_inode(img, I_C)->ptr[0]), 0, LAB_BLOCK);
}

static void lost_file(struct img *img)
{
	t_sample_rec(img, I_A, "f")->ino = 0;
}

static void lost_file_name_taken(struct img *img)
{
	char name[16];

	snprintf(name, sizeof(name), "#%d", I_F);
	t_img_entry(img, I_LOST, name, I_HARD);
	t_img_inode(img, I_HARD)->nlink++;
	t_img_seal_inode(img, I_HARD);
	lost_file(img);
}

static void lost_dir(struct img *img)
{
	t_sample_rec(img, I_A, "b")->ino = 0;
}

static void lost_lost(struct img *img)
{
	t_sample_rec(img, I_ROOT, "lost+found")->ino = 0;
}

static void lost_is_file(struct img *img)
{
	struct lab_dirent *rec = t_sample_rec(img, I_ROOT, "lost+found");

	lost_file(img);
	rec->ino = I_HARD;
	rec->type = S_IFREG >> 12;
}

/* ---- Bitmaps and superblock ---- */

static void block_bits(struct img *img)
{
	uint8_t *map = t_img_block(img, t_img_super(img)->block_bitmap_start);

	map[60 / 8] ^= 1u << 60 % 8;
	map[500 / 8] ^= 1u << 500 % 8;
	map[LAB_BLOCK - 1] = 0;
}

static void inode_bits(struct img *img)
{
	uint8_t *map = t_img_block(img, t_img_super(img)->inode_bitmap_start);

	map[0] = 0;
	map[LAB_BLOCK - 1] = 0;
}

static void free_counts(struct img *img)
{
	t_img_super(img)->free_blocks++;
	t_img_super(img)->free_inodes--;
	t_img_seal_super(img, 0);
}

static void super_zero(struct img *img)
{
	memset(img->data, 0, LAB_BLOCK);
}

static void super_csum(struct img *img)
{
	t_img_super(img)->data_start++;
}

static void super_geometry(struct img *img)
{
	t_img_super(img)->journal_start = 2;
	t_img_seal_super(img, 0);
}

static void super_too_big(struct img *img)
{
	t_img_super(img)->block_count = 1u << 31;
	t_img_seal_super(img, 0);
}

static void backup_zero(struct img *img)
{
	memset(t_img_block(img, SAMPLE_BLOCKS - 1), 0, LAB_BLOCK);
}

static void both_supers(struct img *img)
{
	super_zero(img);
	backup_zero(img);
}

static void set_state(struct img *img, uint32_t state)
{
	t_img_super(img)->state = state;
	t_img_seal_super(img, 0);
}

static void state_errors(struct img *img)
{
	set_state(img, LAB_CLEAN | LAB_ERRORS);
}

static void state_unclean(struct img *img)
{
	t_img_super(img)->free_blocks = 0;
	set_state(img, 0);
}

static void state_unknown(struct img *img)
{
	set_state(img, 0x81);
}

/* ---- Orphans ---- */

static void orphan(struct img *img, uint32_t ino, uint32_t next, uint32_t state)
{
	t_img_inode(img, ino)->next_orphan = next;
	t_img_seal_inode(img, ino);
	if (!state)
		t_img_super(img)->orphan_head = ino;
	set_state(img, 0);
}

static void orphan_removed(struct img *img)
{
	t_sample_rec(img, I_ROOT, "big")->ino = 0;
	t_img_inode(img, I_BIG)->nlink = 0;
	t_sample_rec(img, I_ROOT, "empty")->ino = 0;
	t_img_inode(img, I_EMPTY)->nlink = 0;
	t_img_inode(img, I_ROOT)->nlink--;
	t_img_seal_inode(img, I_ROOT);
	orphan(img, I_EMPTY, 0, 1);
	orphan(img, I_BIG, I_EMPTY, 0);
}

static void orphan_truncated(struct img *img)
{
	t_img_inode(img, I_BIG)->size = 5 * LAB_BLOCK + 1;
	orphan(img, I_BIG, 0, 0);
}

static void orphan_loop(struct img *img)
{
	orphan(img, I_F, I_F, 0);
}

static void orphan_free(struct img *img)
{
	t_img_super(img)->orphan_head = I_FREE;
	set_state(img, 0);
}

static void orphan_clean(struct img *img)
{
	orphan_removed(img);
	set_state(img, LAB_CLEAN);
}

static void unlisted_orphan(struct img *img)
{
	orphan_removed(img);
	orphan(img, I_BIG, 0, 1);
	t_img_super(img)->orphan_head = 0;
	set_state(img, LAB_CLEAN);
}

static const struct damage cases[] = {
#include "fsck_cases.def"
};

static void damage(struct img *img, const struct damage *row)
{
	if (row->fn) {
		row->fn(img);
		return;
	}
	memcpy((uint8_t *)t_img_inode(img, row->ino) + row->off, &row->value, row->len);
	if (row->seal)
		t_img_seal_inode(img, row->ino);
}

static bool compare(const struct damage *row, const char *what, const char *want, const char *is)
{
	if (!strcmp(want, is))
		return true;
	fprintf(stderr, "%s: %s\n  want %s\n  is   %s\n", row->name, what, want, is);
	return false;
}

static bool compare_code(const struct damage *row, const char *what, int want, int is)
{
	if (want != is)
		fprintf(stderr, "%s: %s: exit %d, want %d\n", row->name, what, is, want);
	return want == is;
}

static bool check_first(const struct damage *row, struct img *img, struct sample_run *first)
{
	int want = row->code ? row->code : AS_FSCK_REPAIRED;
	struct sample_run look;
	uint8_t *before = malloc(SAMPLE_BYTES);
	bool ok;

	memcpy(before, img->data, SAMPLE_BYTES);
	t_sample_check(img, AS_FSCK_FULL, "", true, &look);
	ok = compare_code(row, "read only", want == AS_FSCK_REPAIRED ? AS_FSCK_LEFT : want,
			  look.code);
	if (memcmp(before, img->data, SAMPLE_BYTES) || look.calls) {
		fprintf(stderr, "%s: read only, but written to\n", row->name);
		ok = false;
	}
	t_sample_check(img, AS_FSCK_FULL, "", false, first);
	ok &= compare_code(row, "first run", want, first->code);
	ok &= compare(row, "problems", row->codes, first->codes);
	ok &= compare(row, "problems of the read-only run", row->codes, look.codes);
	ok &= !first->leaked && !look.leaked;
	free(look.log);
	free(before);
	return ok;
}

static bool check_second(const struct damage *row, struct img *img)
{
	struct sample_run run;
	bool ok;

	t_sample_check(img, AS_FSCK_FULL, "", false, &run);
	ok = compare_code(row, "second run", 0, run.code) &&
	     compare(row, "second run", "", run.codes);
	if (run.calls) {
		fprintf(stderr, "%s: the second run wrote\n", row->name);
		ok = false;
	}
	free(run.log);
	return ok;
}

static bool check_row(const struct damage *row, uint8_t *data, const struct tree *sound,
		      struct tree *tree)
{
	struct img img = t_sample_build(data);
	struct sample_run first;
	char diff[32768];
	bool ok;

	damage(&img, row);
	ok = check_first(row, &img, &first);
	if (!row->code) {
		t_tree_walk(tree, &img);
		if (tree->wrong) {
			fprintf(stderr, "%s: not sound: %s (%u)\n", row->name, tree->wrong,
				tree->wrong_at);
			ok = false;
		}
		t_tree_diff(sound, tree, diff, sizeof(diff));
		ok &= compare(row, "tree", row->diff, diff);
		ok &= check_second(row, &img);
	}
	if (!ok)
		fprintf(stderr, "%s", first.log);
	free(first.log);
	return ok;
}

static void test_damage(void **state)
{
	uint8_t *data = malloc(SAMPLE_BYTES);
	struct tree *sound = malloc(sizeof(*sound)), *tree = malloc(sizeof(*tree));
	unsigned failed = 0;
	struct img img = t_sample_build(data);

	(void)state;
	t_tree_walk(sound, &img);
	assert_null(sound->wrong);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		failed += !check_row(&cases[i], data, sound, tree);
	free(tree);
	free(sound);
	free(data);
	assert_int_equal(failed, 0);
}

static void test_sound(void **state)
{
	const enum as_fsck_mode mode[] = { AS_FSCK_REPLAY, AS_FSCK_DEFAULT, AS_FSCK_FULL };
	uint8_t *data = malloc(SAMPLE_BYTES);
	struct img img = t_sample_build(data);
	struct sample_run run;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		t_sample_check(&img, mode[i], NULL, false, &run);
		assert_int_equal(run.code, 0);
		assert_int_equal(run.calls, 0);
		assert_string_equal(run.codes, "");
		assert_int_equal(run.leaked, 0);
		free(run.log);
	}
	t_sample_check(&img, AS_FSCK_FULL, "bug=3,nonsense", false, &run);
	assert_int_equal(run.code, -EINVAL);
	free(run.log);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
