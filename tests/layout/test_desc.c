/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptions: what is accepted, what is refused and where, and those in the program. */
#include "tests/lib/disk.h"

#include "layout/desc_priv.h"
#include "tests/lib/skip.h"
#include "tests/lib/tmpdir.h"

#include <stdio.h>

#define HEAD "layout x\n"
#define ONE HEAD "structure s at=0 size=16\n"

static const struct {
	const char *name, *text, *want; /* want NULL: it is accepted */
} rows[] = {
	{ "plain", ONE " a 0 4 count\n b . 4 flags\n", NULL },
	{ "comment", "# c\n" ONE " a 0 4 count # d\n\n", NULL },
	{ "expressions", ONE " n 0 1 size\n t 1 n name\n u 1+n*2-(n>>1) 1 other if n==3 && !n\n",
	  NULL },
	{ "bit fields", ONE " a 0 4 count bits=0:24\n b 0 4 count bits=24:8\n", NULL },
	{ "two readings", ONE " k 8 1 other\n a 0 4 count if k\n b 0 2 count if !k\n", NULL },
	{ "steps between each other",
	  ONE " a 0 2 count times=2 step=4\n b 2 2 count times=2 step=4\n", NULL },
	{ "overlap", ONE " a 0 4 count\n b 3 2 count\n", "f:4:2: the field overlaps a of line 3" },
	{ "overlap with a condition", ONE " a 0 4 count\n b 3 2 count if 1\n",
	  "f:4:2: the field overlaps a of line 3" },
	{ "bit fields overlap", ONE " a 0 4 count bits=0:24\n b 0 4 count bits=23:8\n",
	  "f:4:2: the field overlaps a of line 3" },
	{ "outside", ONE " a 14 4 count\n", "f:3:4: the field lies outside of its structure" },
	{ "times outside", ONE " a 8 4 count times=3\n",
	  "f:3:4: the field lies outside of its structure" },
	{ "negative", ONE " a -4 4 count\n", "f:3:4: a negative number makes no sense here" },
	{ "negative size", ONE " a 0 -1 count\n", "f:3:6: a negative number makes no sense here" },
	{ "no bytes", ONE " a 0 0 count\n", "f:3:4: the field has no bytes" },
	{ "too many bytes", ONE " a 0 9 count\n", "f:3:4: a number has at most 8 bytes" },
	{ "huge", ONE " a 0 99999999 name\n", "f:3:4: the field is too large" },
	{ "bits outside", ONE " a 0 1 count bits=4:5\n",
	  "f:3:4: the bit field does not lie within its bytes" },
	{ "bits without colon", ONE " a 0 1 count bits=4\n", "f:3:19: expected bits=SHIFT:NUMBER" },
	{ "kind", ONE " a 0 1 apple\n",
	  "f:3:8: expected a kind: count, pointer, magic, checksum, flags, time, name, bitmap, "
	  "size, mode, id or other" },
	{ "option", ONE " a 0 1 count foo=1\n",
	  "f:3:14: expected role=, to=, times=, step=, bits=, is=, sum=, over=, init=, xor=, "
	  "big, little or if" },
	{ "name", ONE " 1a 0 1 count\n", "f:3:2: expected the name of a field" },
	{ "unknown name", ONE " a b 1 count\n",
	  "f:3:4: this name is neither a field before it nor a variable of the walker" },
	{ "its own name", ONE " a 0 a count\n",
	  "f:3:6: this name is neither a field before it nor a variable of the walker" },
	{ "half an expression", ONE " a 1+ 1 count\n", "f:3:6: a value is missing" },
	{ "parenthesis", ONE " a (1 1 count\n", "f:3:6: a ')' is missing" },
	{ "digit", ONE " a 1x 1 count\n", "f:3:5: this is no digit of a number" },
	{ "number", ONE " a 99999999999999999999 1 count\n",
	  "f:3:23: the number does not fit into 64 bits" },
	{ "keyword", HEAD "apple\n",
	  "f:2:1: expected layout, types, walker, order, magic, journal or structure; a field "
	  "begins with a blank" },
	{ "no layout", "structure s at=0\n", "f:1:1: expected 'layout NAME' first" },
	{ "no structure", HEAD, "f:2:1: no structure is described" },
	{ "empty", "", "f:1:1: no structure is described" },
	{ "field first", HEAD " a 0 4 count\n",
	  "f:2:2: expected 'structure' before the first field" },
	{ "walker", HEAD "walker apple\n", "f:2:7: there is no walker of this name" },
	{ "no place", HEAD "structure s\n",
	  "f:2:11: no walker finds this structure, none holds it, and at= does not say where it "
	  "is" },
	{ "twice", ONE "structure s at=4\n", "f:3:11: there is a structure of this name already" },
	{ "order", HEAD "order middle\n", "f:2:7: expected 'little' or 'big'" },
	{ "one too many", HEAD "order big big\n", "f:2:11: this word is one too many" },
	{ "bytes", HEAD "struc\001ture s\n",
	  "f:2:6: this character is neither printable nor a tab" },
	{ "times without step", HEAD "structure s at=0 times=2\n", "f:2:11: times= needs step=" },
	{ "magic", HEAD "magic 0 9 1\n", "f:2:9: the number is too large" },
	{ "magic without bytes", HEAD "magic 0 0 1\n", "f:2:9: a magic has 1 to 8 bytes" },
	{ "journal", HEAD "order big\njournal 4 0x12345678\nstructure s at=0\n a 0 4 count\n",
	  NULL },
	{ "journal without bytes", HEAD "journal 0 1\n", "f:2:9: a magic has 1 to 8 bytes" },
	{ "journal and more", HEAD "journal 4 1 2\n", "f:2:13: this word is one too many" },
	{ "variables",
	  HEAD "structure s at=0 times=disk_bytes/block_bytes step=block_bytes "
	       "align=unit_bytes\n a 0 4 count\n",
	  NULL },
	{ "held",
	  HEAD "structure s at=0 size=4+n\n n 0 4 size is=3\n holds t 4 n if n < 9\n"
	       "structure t\n c 0 4 checksum sum=crc32 over=0:8 init=1 xor=2\n",
	  NULL },
	{ "size of no field", HEAD "structure s at=0 size=4+x\n n 0 4 size\n",
	  "f:2:25: this name is neither a field before it nor a variable of the walker" },
	{ "size of no field, then another",
	  HEAD "structure s at=0 size=y\n n 0 4 size\n"
	       "structure t at=0\n m 0 4 size\n",
	  "f:2:23: this name is neither a field before it nor a variable of the walker" },
	{ "holds nothing", ONE " holds\n",
	  "f:3:7: expected the name of a structure after 'holds'" },
	{ "holds what is not there", ONE " n 0 4 size\n holds t 0 1\n",
	  "f:4:8: there is no structure of this name" },
	{ "sum of no checksum", ONE " n 0 4 size sum=crc32\n",
	  "f:3:13: this belongs to a checksum" },
	{ "unknown sum", ONE " n 0 4 checksum sum=md5\n",
	  "f:3:21: expected crc32, crc32c or crc16" },
	{ "sum over nothing", ONE " n 0 4 checksum sum=crc32\n",
	  "f:3:4: sum= and over= belong together" },
	{ "over what", ONE " n 0 4 checksum sum=crc32 over=4\n",
	  "f:3:32: expected over=FROM:LENGTH" },
	{ "init first", ONE " n 0 4 checksum init=4\n", "f:3:17: expected sum= before it" },
};

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct as_desc *desc = NULL;
		struct as_err err = { 0 };
		int rc = as_desc_parse("f", rows[i].text, strlen(rows[i].text), &desc, &err);

		if (!rows[i].want && rc)
			fail_msg("%s: %s", rows[i].name, err.msg);
		if (rows[i].want && (!rc || strcmp(err.msg, rows[i].want) != 0))
			fail_msg("%s: said '%s'", rows[i].name, err.msg);
		assert_true(!rc == !!desc);
		as_desc_free(desc);
	}
}

/* The bytes that blocks of a journal begin with, as a little-endian number. */
static void test_journal(void **state)
{
	static const struct {
		const char *type;
		uint32_t first;
	} want[] = {
		{ "lab", 0x6c6a726e }, { "ext4", 0x98393bc0 }, { "ext3", 0x98393bc0 },
		{ "xfs", 0xbebaedfe }, { "gfs2", 0x70191601 }, { "minix", 0 },
		{ "no such type", 0 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(want); i++)
		assert_int_equal(as_fields_journal(want[i].type), want[i].first);
}

/* 1000 parentheses are refused, not followed. */
static void test_deep(void **state)
{
	struct as_buf text = { 0 };
	struct as_desc *desc;
	struct as_err err = { 0 };

	(void)state;
	as_buf_adds(&text, ONE " a ");
	for (int i = 0; i < 1000; i++)
		as_buf_addc(&text, i % 2 ? '(' : '!');
	as_buf_adds(&text, "1 1 count\n");
	assert_int_equal(as_desc_parse("f", text.data, text.len, &desc, &err), AS_EUSE);
	assert_non_null(strstr(err.msg, "too many parentheses"));
	as_buf_free(&text);
}

/* SWIFT's Table 6, and that each is right. */
static void test_built_in(void **state)
{
	static const struct {
		const char *type;
		size_t structures, fields;
	} want[] = { { "ext4", 13, 233 }, { "reiserfs", 10, 63 }, { "minix", 4, 28 },
		     { "minix2", 4, 31 }, { "xfs", 6, 100 },	  { "btrfs", 5, 80 },
		     { "f2fs", 5, 80 },	  { "jfs", 3, 60 },	  { "gfs2", 4, 50 },
		     { "vfat", 4, 40 },	  { "exfat", 6, 40 },	  { "lab", 10, 60 } };
	const struct as_desc *desc;
	size_t n = 0;

	(void)state;
	while ((desc = as_desc_at(n))) {
		n++;
		assert_true(desc->n_types && desc->n_magics && desc->walker && desc->n_structs);
	}
	assert_int_equal(n, 11);
	for (size_t i = 0; i < N_ROWS(want); i++) {
		desc = as_desc_for(want[i].type);
		assert_non_null(desc);
		if (desc->n_structs < want[i].structures || desc->n_fields < want[i].fields)
			fail_msg("%s: %zu structures, %zu fields", want[i].type, desc->n_structs,
				 desc->n_fields);
	}
	assert_null(as_desc_for("tmpfs"));
}

/* ---- Descriptions of a user, on a disk ---- */

static int read_by(const char *text, struct as_disk *disk, struct as_fields **fields,
		   struct as_err *err)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/x.layout", t_tmpdir());
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	return as_fields_read_by(path, NULL, disk, fields, err);
}

static void test_on_disk(void **state)
{
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = t_disk_new(store, 4096);
	struct as_err err = { 0 };
	unsigned char bytes[512] = { 3, 'a', 'b', 'c', 0x12, 0x34 };
	struct as_fields *fields;

	(void)state;
	assert_int_equal(as_bd_write(as_disk_bd(disk), 0, bytes, 512), 0);
	assert_int_equal(read_by(ONE
				 " n 0 1 size\n s . n name\n v . 2 other big\n w 4 2 other if n "
				 "!= 3\n",
				 disk, &fields, &err),
			 0);
	assert_int_equal(as_fields_n(fields), 3);
	assert_string_equal(as_fields_at(fields, 1)->name, "s");
	assert_int_equal(as_fields_at(fields, 1)->bytes, 3);
	assert_int_equal(as_field_get(as_fields_at(fields, 2), disk), 0x1234);
	as_fields_free(fields);
	/* What can be told only on a disk. */
	assert_int_equal(read_by(HEAD "structure s at=4095 size=2\n a 0 1 count\n", disk, &fields,
				 &err),
			 AS_EUSE);
	assert_non_null(
		strstr(err.msg, "x.layout:2:11: s would be at byte 4095, which is outside"));
	assert_int_equal(read_by(ONE " n 0 1 size\n a n 2 other\n b 4 2 other\n", disk, &fields,
				 &err),
			 AS_EUSE);
	assert_non_null(strstr(err.msg, "x.layout:5:2: the field overlaps a in s"));
	/* A name longer than the structure is the disk's fault: it is left out. */
	bytes[0] = 200;
	assert_int_equal(as_bd_write(as_disk_bd(disk), 0, bytes, 512), 0);
	assert_int_equal(read_by(ONE " n 0 1 size\n s . n name\n", disk, &fields, &err), 0);
	assert_int_equal(as_fields_n(fields), 1);
	as_fields_free(fields);
	assert_int_equal(as_fields_read_by("/nonexistent/x.layout", NULL, disk, &fields, &err),
			 AS_EIO);
	as_disk_free(disk);
	t_store_done(store);
}

/* Records that hold others, with two checksums. */
static void test_held(void **state)
{
	static const char text[] = HEAD "structure box at=0 times=2 step=512 size=64\n"
					" magic 0 1 magic is=7\n n . 1 count\n"
					" crc 4 4 checksum sum=crc32c over=0:64\n"
					" holds rec 8 n\n"
					"structure rec size=4+len align=4\n"
					" len 0 1 size\n mark . 1 magic is=85\n"
					" sum 2 2 checksum sum=crc16 over=0:4+len\n"
					" text 4 len name\n";
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = t_disk_new(store, 4096);
	struct as_err err = { 0 };
	unsigned char bytes[512] = { 7, 3 };
	static const unsigned char recs[] = { 2, 85, 0, 0, 'a', 'b', 0, 0, 1, 85, 0, 0, 'c' };
	struct as_fields *fields;
	const struct as_field *f;

	(void)state;
	memcpy(bytes + 8, recs, sizeof(recs));
	assert_int_equal(as_bd_write(as_disk_bd(disk), 0, bytes, 512), 0);
	assert_int_equal(read_by(text, disk, &fields, &err), 0);
	/* The second box has no magic, and the third record no mark. */
	assert_int_equal(as_fields_n(fields), 3 + 4 + 4);
	f = as_fields_at(fields, 10);
	assert_string_equal(f->instance, "rec 1 of box 0");
	assert_string_equal(f->name, "text");
	assert_int_equal(f->off, 20);
	/* The record's own checksum, then that of the box. */
	assert_int_equal(as_fields_seal(fields, disk, f->seal, &err), 0);
	assert_int_not_equal(as_field_get(as_fields_at(fields, 9), disk), 0);
	assert_int_equal(as_field_get(as_fields_at(fields, 5), disk), 0);
	assert_int_not_equal(as_field_get(as_fields_at(fields, 2), disk), 0);
	as_fields_free(fields);
	as_disk_free(disk);
	t_store_done(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held),	cmocka_unit_test(test_parse),
		cmocka_unit_test(test_deep),	cmocka_unit_test(test_built_in),
		cmocka_unit_test(test_on_disk), cmocka_unit_test(test_journal),
	};

	return cmocka_run_group_tests_name("desc", tests, NULL, NULL);
}
