/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variants: the table holds together, each makes a disk, also with each other one that it goes
 * with, and changes what it should; and what is drawn is a target that can be opened. */
#include "tests/lib/skip.h"

#include "base/choice.h"
#include "disk/chunk.h"
#include "target/draw.h"
#include "target/facts.h"
#include "target/fresh.h"
#include "vfs/traits.h"

#include <stdio.h>
#include <string.h>

static struct as_target *open_target(const char *spec)
{
	struct as_target *target;
	struct as_err err = { 0 };

	if (as_target_open(spec, &target, &err))
		fail_msg("%s: %s", spec, err.msg);
	return target;
}

static void test_table(void **state)
{
	const struct as_variant *v;

	(void)state;
	for (unsigned i = 0; (v = as_variant_at(i)); i++) {
		if (!as_fstype_find(v->type) || strpbrk(v->name, "+,: ") || !v->help)
			fail_msg("%s %s", v->type, v->name);
		for (unsigned k = 0; k < i; k++)
			if (!strcmp(as_variant_at(k)->type, v->type) &&
			    !strcmp(as_variant_at(k)->name, v->name))
				fail_msg("%s %s comes twice", v->type, v->name);
		/* Words for the row's command only where it has a place for them. */
		assert_non_null(strstr(as_fstype_find(v->type)->mkfs, " {disk}"));
		if (v->drop)
			assert_non_null(strstr(as_fstype_find(v->type)->mkfs, v->drop));
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *spec, *says;
	} rows[] = {
		{ "ext4:mkfs=nonsense", "known are 2k, 4k" },
		{ "ext4:mkfs=", "not known" },
		{ "ext4:mkfs=4k+", "not known" },
		{ "ext4:mkfs=4k+4k", "does not go with" },
		{ "ext4:mkfs=2k+4k", "does not go with" },
		{ "ext4:mkfs=inline_data+inode128", "does not go with" },
		{ "ext4:mkfs=inode128+inline_data", "does not go with" },
		{ "ext4:mkfs=4k,mkfs=nocsum", "comes twice" },
		{ "ocfs2:mkfs=4k", "known is none" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_target *target;
		struct as_err err = { 0 };

		assert_int_equal(as_target_open(rows[i].spec, &target, &err), AS_EUSE);
		if (!strstr(err.msg, rows[i].says))
			fail_msg("%s: says %s", rows[i].spec, err.msg);
	}
}

static void test_command(void **state)
{
	struct as_target *ext4 = open_target("ext4:noatime,mkfs=4k+inline_data+nocsum,sync");
	struct as_target *btrfs = open_target("btrfs:mkfs=node8k+holes");

	(void)state;
	assert_string_equal(as_target_opts(ext4), "noatime,sync");
	assert_non_null(strstr(as_target_fstype(ext4)->mkfs,
			       " -b 4096 -O inline_data,^metadata_csum {disk}"));
	assert_string_equal(as_target_fstype(btrfs)->mkfs,
			    "mkfs.btrfs -q -f -n 8192 -O ^no-holes {disk}");
	as_target_free(ext4);
	as_target_free(btrfs);
}

static void test_promises(void **state)
{
	struct as_target *none = open_target("ext4:mkfs=nojournal"),
			 *fast = open_target("ext4:mkfs=fast_commit");
	struct as_recovery r = as_target_recovery(none);

	(void)state;
	assert_int_equal(as_target_promise(none).guarantee, AS_GUARANTEE_REPAIR);
	assert_false(as_target_promise(none).crash & (AS_CRASH_NAMES | AS_CRASH_REPLACES));
	assert_true(as_target_promise(none).crash & AS_CRASH_RESCUES);
	assert_false(r.by_mount);
	assert_false(r.ways_agree);
	assert_int_equal(r.by_checkers, 1 << AS_CHECK_DEFAULT | 1 << AS_CHECK_FULL);
	assert_int_equal(r.journal, AS_JOURNAL_OTHER);
	r = as_target_recovery(fast);
	assert_true(r.by_mount);
	assert_true(r.ways_agree);
	assert_int_equal(r.journal, AS_JOURNAL_OTHER);
	as_target_free(none);
	as_target_free(fast);
}

static struct as_traits traits_of(const char *spec)
{
	struct as_target *target = open_target(spec);
	struct as_traits traits;

	as_run_traits(target, &traits);
	as_target_free(target);
	return traits;
}

static void test_traits(void **state)
{
	(void)state;
	assert_int_equal(traits_of("ext4").symlink_max, 1023);
	assert_true(traits_of("xfs").features & AS_FEAT_CLONE);
	assert_false(traits_of("xfs:mkfs=noreflink").features & AS_FEAT_CLONE);
	assert_false(traits_of("xfs:mkfs=v4").features & AS_FEAT_CLONE);
	assert_true(traits_of("ext4:noatime,acl").features & AS_FEAT_ACL);
	assert_false(traits_of("ext4:noatime,noacl").features & AS_FEAT_ACL);
	assert_int_equal(traits_of("ext4:mkfs=4k").symlink_max, 4095);
	assert_int_equal(traits_of("ext4:mkfs=4k").block_bytes, 4096);
	assert_true(traits_of("ext4:mkfs=4k").size_max == UINT64_C(0xfffffffe) * 4096);
	assert_int_equal(traits_of("ext4:mkfs=bigalloc").block_bytes, 16384);
	assert_true(traits_of("ext4:mkfs=bigalloc").size_max == UINT64_C(0xfffffffe) * 4096);
	assert_int_equal(traits_of("ext4").time_granularity_ns, 1);
	assert_int_equal(traits_of("ext4:mkfs=inode128").time_granularity_ns, 1000000000);
	assert_int_equal(traits_of("ext4:mkfs=inode128").time_max_s, 0x7fffffff);
	assert_int_equal(traits_of("xfs").dio_align, 512);
	assert_int_equal(traits_of("xfs:mkfs=sector4k").dio_align, 4096);
	assert_int_equal(traits_of("btrfs:mkfs=apart").symlink_max, 4095);
}

/* ---- Disks ----------------------------------------------------------------------------------- */

static struct as_medium *make_disk_of(const struct as_target *target)
{
	struct as_medium *medium;
	struct as_err err = { 0 };
	bool made;

	assert_int_equal(as_medium_new(as_target_small_bytes(target), &medium, &err), 0);
	if (as_fresh_disk(as_target_fstype(target), NULL, medium, &made, &err))
		fail_msg("%s: %s", as_target_spec(target), err.msg);
	return medium;
}

static void make_disk(const char *spec)
{
	struct as_target *target = open_target(spec);

	as_medium_free(make_disk_of(target));
	as_target_free(target);
}

/* Each alone, and with each that it goes with. */
static void make_all(const char *type)
{
	const struct as_variant *a, *b;
	struct as_buf why = { 0 };

	if (as_fstype_lacks_tools(as_fstype_find(type), &why))
		skip_because("%s lacks %s", type, as_buf_str(&why));
	for (unsigned i = 0; (a = as_variant_at(i)); i++)
		for (unsigned k = i; (b = as_variant_at(k)); k++) {
			struct as_variants one = { { 0 } };
			char spec[128];

			one.bits[i / 64] = UINT64_C(1) << i % 64;
			if (strcmp(a->type, type) || (k > i && !as_variants_fit(&one, k)))
				continue;
			snprintf(spec, sizeof(spec), "%s:mkfs=%s%s%s", type, a->name,
				 k > i ? "+" : "", k > i ? b->name : "");
			make_disk(spec);
		}
}

static void test_ext4(void **state)
{
	(void)state;
	make_all("ext4");
}

static void test_xfs(void **state)
{
	(void)state;
	make_all("xfs");
}

static void test_btrfs(void **state)
{
	(void)state;
	make_all("btrfs");
}

static void test_f2fs(void **state)
{
	(void)state;
	make_all("f2fs");
}

static void test_vfat(void **state)
{
	(void)state;
	make_all("vfat");
}

static void test_nilfs2(void **state)
{
	(void)state;
	make_all("nilfs2");
}

/* Free space of a disk that was used before is not zeros, whatever mkfs it is. */
static void test_used(void **state)
{
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; as_variant_at(i); i++) {
		const struct as_variant *v = as_variant_at(i);
		struct as_buf why = { 0 };
		unsigned char got[AS_CHUNK_BYTES];
		struct as_target *target;
		struct as_medium *medium;
		uint64_t at;
		char spec[64];

		if (!v->used || as_fstype_lacks_tools(as_fstype_find(v->type), &why)) {
			as_buf_free(&why);
			continue;
		}
		snprintf(spec, sizeof(spec), "%s:mkfs=%s", v->type, v->name);
		target = open_target(spec);
		medium = make_disk_of(target);
		/* Few of them keep something there. */
		at = as_medium_bd(medium)->size_bytes / 16 * 13;
		at -= at % sizeof(got);
		assert_int_equal(as_bd_read(as_medium_bd(medium), at, got, sizeof(got)), 0);
		if (got[0] != AS_FRESH_OLD)
			fail_msg("%s: byte %llu is 0x%x", spec, (unsigned long long)at, got[0]);
		as_medium_free(medium);
		as_target_free(target);
		n++;
	}
	if (!n)
		skip_because("no mkfs is here");
}

/* ---- Drawing --------------------------------------------------------------------------------- */

static void test_draw(void **state)
{
	struct as_target *plain = open_target("ext4"), *typed = open_target("ext4:sync"),
			 *lab = open_target("lab");
	struct as_variants met = { { 0 } };
	unsigned with_options = 0, alone = 0;

	(void)state;
	assert_true(as_draw_can(plain));
	assert_false(as_draw_can(typed));
	assert_false(as_draw_can(lab));
	for (uint64_t seed = 1; seed <= 600; seed++) {
		struct as_chooser *chooser = as_chooser_seeded(seed);
		struct as_buf spec = { 0 }, again = { 0 };
		struct as_target *drawn;
		struct as_variants v;

		as_draw_spec(plain, as_chooser_choice(chooser), &spec);
		drawn = open_target(as_buf_str(&spec));
		v = as_target_variants(drawn);
		assert_true(as_variants_take(&v, as_target_opts(drawn)));
		assert_true(as_variants_any(&v) || *as_target_opts(drawn));
		for (size_t i = 0; i < sizeof(v.bits) / sizeof(v.bits[0]); i++)
			met.bits[i] |= v.bits[i];
		with_options += *as_target_opts(drawn) != '\0';
		alone += !as_variants_any(&v);
		as_chooser_free(chooser);
		chooser = as_chooser_seeded(seed);
		as_draw_spec(plain, as_chooser_choice(chooser), &again);
		assert_string_equal(as_buf_str(&spec), as_buf_str(&again));
		as_chooser_free(chooser);
		as_target_free(drawn);
		as_buf_free(&spec);
		as_buf_free(&again);
	}
	for (unsigned i = 0; as_variant_at(i); i++)
		if (as_variants_has(&met, i) !=
		    (!strcmp(as_variant_at(i)->type, "ext4") && !as_variant_at(i)->undrawn))
			fail_msg("%s of %s", as_variant_at(i)->name, as_variant_at(i)->type);
	assert_in_range(with_options, 200, 500);
	assert_in_range(alone, 50, 300);
	as_target_free(plain);
	as_target_free(typed);
	as_target_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	cmocka_unit_test(test_refused),
		cmocka_unit_test(test_command), cmocka_unit_test(test_promises),
		cmocka_unit_test(test_traits),	cmocka_unit_test(test_ext4),
		cmocka_unit_test(test_xfs),	cmocka_unit_test(test_btrfs),
		cmocka_unit_test(test_f2fs),	cmocka_unit_test(test_vfat),
		cmocka_unit_test(test_nilfs2),	cmocka_unit_test(test_used),
		cmocka_unit_test(test_draw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
