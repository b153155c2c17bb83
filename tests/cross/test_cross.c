/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What checkers are compared by: the generic disks of all types have the same tree, as far as the
 * type can represent it; each damage of the table changes the field that it names, and nothing else
 * but checksums; the answer of a sandbox is not believed.
 */
#include "cross/cross.h"
#include "cross/cross_member.h"
#include "damage/disk_host.h"
#include "snapshot/tree.h"
#include "tests/lib/skip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- The same tree ---- */

static bool view_of(const char *type, uint64_t size, struct as_cross_view *view)
{
	struct as_chunks *store = as_chunks_new();
	struct as_generic generic = { 0 };
	struct as_err err;
	struct as_tree *tree = NULL;
	int rc = as_generic_make(store, type, size, &generic, &err);
	/* A test program is no engine of a sandbox: then there is only what mkfs made. */
	bool full = !rc && !generic.note.len;

	if (full) {
		tree = as_cross_tree(type, generic.disk);
		assert_non_null(tree);
		as_cross_view_of(tree, view);
	}
	as_tree_put(tree);
	as_generic_free(&generic);
	as_chunks_free(store);
	return full;
}

static void assert_same(const char *type, const struct as_cross_view *a,
			const struct as_cross_view *b)
{
	unsigned n = 0;

	for (size_t i = 0; i < a->n; i++) {
		const struct as_cross_row *row = as_cross_view_find(b, a->rows[i].path);

		/* Names that a type makes itself. */
		if (!strncmp(a->rows[i].path, "/lost+found", 11))
			continue;
		if (!row)
			fail_msg("%s: %s is missing", type, a->rows[i].path);
		for (int f = 0; f < AS_CROSS_N; f++)
			if (row->v[f] != a->rows[i].v[f])
				fail_msg("%s: %s: another %s", type, row->path,
					 as_cross_facet_name((enum as_cross_facet)f));
		n++;
	}
	assert_int_equal(n, 112);
}

static void test_same_tree(void **state)
{
	static const struct {
		const char *type;
		uint64_t mib;
	} types[] = { { "ext2", 2 },   { "ext3", 4 },	{ "ext4", 2 }, { "minix", 1 },
		      { "minix2", 1 }, { "minix3", 1 }, { "xfs", 16 }, { "jfs", 16 } };
	struct as_cross_view lab = { 0 }, view = { 0 };
	unsigned compared = 0;

	(void)state;
	assert_true(view_of("lab", (uint64_t)1 << 20, &lab));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!view_of(types[i].type, types[i].mib << 20, &view))
			continue;
		assert_same(types[i].type, &lab, &view);
		as_cross_view_free(&view);
		compared++;
	}
	as_cross_view_free(&lab);
	if (!compared)
		skip_because("no other type can be made here");
}

/* ---- Deeds ---- */

static void test_deeds(void **state)
{
	struct as_chunks *store = as_chunks_new();
	struct as_generic generic = { 0 };
	struct as_fields *fields = NULL;
	struct as_damage damage = { 0 };
	struct as_cross_deed deed;
	struct as_buf name = { 0 };
	struct as_err err;
	unsigned n = 0, done = 0;

	(void)state;
	assert_int_equal(as_generic_make(store, "lab", 0, &generic, &err), 0);
	assert_int_equal(as_fields_read("lab", generic.disk, &fields, &err), 0);
	for (; as_cross_deed(n, &deed); n++) {
		struct as_disk *disk = as_cross_damage(&deed, fields, generic.disk, &damage);

		as_buf_clear(&name);
		as_cross_deed_print(&deed, &name);
		assert_int_equal(as_cross_deed_find(as_buf_str(&name)), n);
		if (!disk)
			continue;
		done++;
		/* A field, the checksum over it, and perhaps the checksum over that. */
		assert_true(damage.n >= 1 && damage.n <= 24);
		assert_string_equal(as_buf_str(&damage.field), deed.role);
		as_disk_free(disk);
	}
	assert_int_equal(as_cross_deed_find("file.mode:/f:nonsense"), -1);
	/* All but what labfs has not, or has already. */
	assert_true(n > 150 && done > n * 8 / 10);
	as_damage_free(&damage);
	as_buf_free(&name);
	as_fields_free(fields);
	as_generic_free(&generic);
	as_chunks_free(store);
}

/* ---- Words of a sandbox ---- */

static void test_words(void **state)
{
	static const char *const wrong[] = {
		"",
		"\n",
		"assay-word 1 0 0 0 0\n",
		"assay-word 1 9 0 0 0 0\n",
		"assay-word 1 -1 0 0 0 0\n",
		"assay-word 1 0 5 0 0 0\nfour",
		"assay-word 1 0 0 0 0 18446744073709551615\n",
		"assay-word 1 0 18446744073709551615 1 0 0\n",
		"assay-word 1 0 0 0 0 4\ntree",
		"assay-word 2 0 0 0 0 0\n",
	};
	struct as_word word = { .end = AS_WORD_REFUSED }, back = { 0 };
	struct as_buf text = { 0 };
	struct as_err err;

	(void)state;
	as_buf_adds(&word.why, "the mount answers EUCLEAN");
	as_buf_adds(&word.sign, "the mount EUCLEAN");
	as_word_print(&word, &text);
	assert_int_equal(as_word_parse(as_buf_str(&text), text.len, &back, &err), 0);
	assert_int_equal(back.end, AS_WORD_REFUSED);
	assert_string_equal(as_buf_str(&back.why), as_buf_str(&word.why));
	assert_string_equal(as_buf_str(&back.sign), as_buf_str(&word.sign));
	assert_null(back.tree);
	as_word_free(&back);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_true(as_word_parse(wrong[i], strlen(wrong[i]), &back, &err) < 0);
		as_word_free(&back);
	}
	as_word_free(&word);
	as_buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_tree),
		cmocka_unit_test(test_deeds),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
