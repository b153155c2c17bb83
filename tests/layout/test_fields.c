/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of disks of every type that is described, made by the type's own mkfs and filled where
 * its tools can do that:
 *
 *	- all is found, and lies where it may;
 *	- what is set is read back, and nothing else changes;
 *	- checksums of a disk that nobody changed are those that are computed anew;
 *	- a harmless change with its checksum computed anew passes the checker, and without it
 *	  does not, where the checker looks at it;
 *	- a disk with any field damaged is walked to an end.
 */
#include "tests/lib/disk.h"

#include "disk/image.h"
#include "layout/alter.h"
#include "layout/field.h"
#include "tests/lib/fill_raw.h"
#include "tests/lib/skip.h"
#include "tests/lib/tmpdir.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB *(UINT64_C(1) << 20)
#define REREADS 150u /* of damaged disks of each type */
#define NOISY 40u /* disks with noise of each type */
#define VALUES 64u

struct row {
	const char *type;
	uint64_t size;
	const char *make; /* $D is the disk, $T a folder with files, $B where labfs-mkfs is */
	const char *check; /* ends with 0 on a clean disk; NULL: there is none */
	/* A field whose value matters to nobody but the checksum; NULL: it has no checksums. */
	const char *structure, *field;
	/* Whether the checker notices a wrong checksum of this field. */
	bool notices;
	/* At least so many structures and fields are found, as Table 6 of SWIFT counts them. */
	size_t structures, fields;
	int fill; /* by t_fill_minix() of this version, -1: t_fill_fat() */
};

#define XFS_ENV "TEST_DIR=/ TEST_DEV=/ QA_CHECK_FS=y "
/* e2fsck tells of such a checksum, and still ends with 0. */
#define GROUPS_CHECK "e2fsck -fn $D >$D.said && ! grep -q 'descriptor checksums are inv' $D.said"
static const struct row rows[] = {
	{ "ext2", 2 MIB, "mke2fs -q -F -t ext2 -b 1024 -d $T $D", "e2fsck -fn $D", NULL, NULL,
	  false, 7, 150, 0 },
	{ "ext3", 8 MIB, "mke2fs -q -F -t ext3 -b 1024 -d $T $D", "e2fsck -fn $D", NULL, NULL,
	  false, 8, 170, 0 },
	{ "ext4", 8 MIB, "mke2fs -q -F -t ext4 -b 1024 -d $T $D", "e2fsck -fn $D", "inode",
	  "i_crtime", true, 12, 233, 0 },
	/* Checksums of group descriptors alone (crc16): of 64 and of 32 bytes, with clusters. */
	{ "ext4", 8 MIB, "mke2fs -q -F -t ext4 -O ^metadata_csum,uninit_bg -b 1024 -d $T $D",
	  GROUPS_CHECK, "group", "bg_exclude_bitmap_lo", true, 10, 200, 0 },
	{ "ext4", 8 MIB,
	  "mke2fs -q -F -t ext4 -O ^metadata_csum,uninit_bg,^64bit,meta_bg,^resize_inode -b 1024 "
	  "-g 1024 -d $T $D",
	  GROUPS_CHECK, "group", "bg_exclude_bitmap_lo", true, 10, 200, 0 },
	{ "ext4", 8 MIB,
	  "mke2fs -q -F -t ext4 -O ^metadata_csum,uninit_bg,bigalloc -b 1024 -d $T $D",
	  GROUPS_CHECK, "group", "bg_exclude_bitmap_lo", true, 10, 200, 0 },
	{ "ext4", 8 MIB, "mke2fs -q -F -t ext4 -O bigalloc,meta_bg,^resize_inode -b 1024 -d $T $D",
	  "e2fsck -fn $D", "inode", "i_crtime", true, 10, 200, 0 },
	{ "xfs", 16 MIB, XFS_ENV "mkfs.xfs -q -f -p $T.proto $D",
	  "xfs_repair -n -f -o force_geometry $D", "inode", "di_crtime", true, 10, 150, 0 },
	{ "btrfs", 112 MIB, "mkfs.btrfs -q -f -m single --rootdir $T $D", "btrfs check $D",
	  "inode_item", "otime_nsec", true, 12, 150, 0 },
	{ "f2fs", 64 MIB, "mkfs.f2fs -q -f $D && sload.f2fs -f $T $D", "fsck.f2fs --dry-run $D",
	  "checkpoint", "elapsed_time", false, 8, 200, 0 },
	{ "jfs", 16 MIB, "mkfs.jfs -q $D", "jfs_fsck -n -f $D", NULL, NULL, false, 6, 150, 0 },
	{ "reiserfs", 40 MIB, "mkreiserfs -q -f -f $D", "reiserfsck --check -y -q $D", NULL, NULL,
	  false, 9, 63, 0 },
	{ "gfs2", 32 MIB, "mkfs.gfs2 -q -O -p lock_nolock -j 1 -J 8 $D", "fsck.gfs2 -n $D", "rgrp",
	  "rg_igeneration", false, 7, 100, 0 },
	{ "minix", 1 MIB, "mkfs.minix -1 $D", "fsck.minix -f $D", NULL, NULL, false, 4, 28, 1 },
	{ "minix2", 1 MIB, "mkfs.minix -2 $D", "fsck.minix -f $D", NULL, NULL, false, 4, 31, 2 },
	{ "minix3", 1 MIB, "mkfs.minix -3 $D", "fsck.minix -f $D", NULL, NULL, false, 4, 31, 3 },
	{ "vfat", 1 MIB, "mkfs.vfat $D", "fsck.vfat -n $D", NULL, NULL, false, 3, 30, -1 },
	{ "exfat", 8 MIB, "mkfs.exfat $D", "fsck.exfat -n $D", "boot", "VolumeSerialNumber", true,
	  6, 39, 0 },
	{ "lab", 1 MIB, "$B/labfs-mkfs $D", "$B/labfs-fsck --mode full -n $D", "inode", "ctime_ns",
	  true, 5, 50, 0 },
};

struct disk {
	const struct row *row;
	struct as_chunks *store;
	struct as_disk *disk;
	struct as_fields *fields;
	char path[512];
};

static char dir[256];
static struct as_err err;

static int shell(const char *command, const char *path)
{
	char line[2048];

	snprintf(line, sizeof(line),
		 "export PATH=$PATH:/sbin:/usr/sbin LC_ALL=C; D='%s'; T='%s/tree'; B='%s'; { %s; } "
		 ">%s/out 2>&1",
		 path, dir, getenv("ASSAY_BUILD") ? getenv("ASSAY_BUILD") : "build/gcc", command,
		 dir);
	return system(line);
}

static void make_tree(void)
{
	snprintf(dir, sizeof(dir), "%s", t_tmpdir());
	assert_int_equal(
		shell("mkdir -p $T/d/d2 && head -c 284672 /dev/zero | tr '\\0' x >$T/f && "
		      "ln $T/f $T/d/hlink && ln -s / $T/d/slink && "
		      "ln -s $(printf 'x%.0s' $(seq 90)) $T/longlink && mkfifo $T/fdev && "
		      "for i in $(seq 100); do : >$T/d/f$i; done && "
		      "for i in $(seq 60); do : >$T/d/d2/a-name-that-is-rather-long-$i; done && "
		      "{ echo x; echo 0 0; echo d--755 0 0; echo : f ---644 0 0 $T/f; "
		      "  echo ': d d--755 0 0'; "
		      "  for i in $(seq 100); do echo : f$i ---644 0 0 /dev/null; done; "
		      "  echo : slink l--777 0 0 /; echo '$'; echo : fdev p--644 0 0; "
		      "  echo '$'; } | sed 's/^: //' >$T.proto",
		      "none"),
		0);
}

/* Files for those whose tools put none in. */
static void fill(const struct row *row, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned char *map;

	assert_true(fd >= 0);
	map = mmap(NULL, row->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	if (row->fill > 0)
		t_fill_minix(map, (unsigned)row->fill);
	else
		t_fill_fat(map);
	munmap(map, row->size);
	close(fd);
}

/* False: its mkfs is not here. */
static bool disk_open(struct disk *d, const struct row *row)
{
	memset(d, 0, sizeof(*d));
	d->row = row;
	snprintf(d->path, sizeof(d->path), "%s/%s.img", dir, row->type);
	unlink(d->path);
	assert_int_equal(close(open(d->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_int_equal(truncate(d->path, (off_t)row->size), 0);
	if (shell(row->make, d->path)) {
		print_message("SKIP: %s: no disk can be made (%s)\n", row->type, row->make);
		return false;
	}
	if (row->fill)
		fill(row, d->path);
	d->store = as_chunks_new();
	assert_int_equal(as_image_import_raw(d->store, d->path, &d->disk, &err), 0);
	if (as_fields_read(row->type, d->disk, &d->fields, &err))
		fail_msg("%s: %s", row->type, err.msg);
	return true;
}

static void disk_close(struct disk *d)
{
	as_fields_free(d->fields);
	as_disk_free(d->disk);
	as_chunks_free(d->store);
	unlink(d->path);
}

typedef void (*each_fn)(struct disk *d);

static void each(each_fn fn)
{
	struct disk d;
	int n = 0;

	if (!dir[0])
		make_tree();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!disk_open(&d, &rows[i]))
			continue;
		fn(&d);
		n++;
		disk_close(&d);
	}
	if (!n)
		skip_because("no mkfs of any type is here");
}

/* ---- What is found ---- */

static bool is_bit(const struct as_field *f)
{
	return f->kind == AS_FIELD_BITMAP && f->bits == 1;
}

static bool met(const struct as_fields *fields, size_t end, const struct as_field *f, bool whole)
{
	for (size_t i = 0; i < end; i++) {
		const struct as_field *g = as_fields_at(fields, i);

		if (strcmp(g->structure, f->structure) == 0 &&
		    (!whole || (is_bit(f) && is_bit(g)) || strcmp(g->name, f->name) == 0))
			return true;
	}
	return false;
}

static void found(struct disk *d)
{
	size_t structures = 0, fields = 0, n = as_fields_n(d->fields);
	struct as_fields *guessed;

	assert_string_equal(as_fields_complaint(d->fields), "");
	for (size_t i = 0; i < n; i++) {
		const struct as_field *f = as_fields_at(d->fields, i);

		assert_true(f->bytes > 0 && f->off + f->bytes <= d->row->size);
		assert_true(f->seal <= as_fields_seals(d->fields));
		assert_true(f->bits == 0 || (f->bytes <= 8 && f->shift + f->bits <= f->bytes * 8u));
		assert_non_null(f->class);
		if (structures < d->row->structures || fields < d->row->fields) {
			structures += !met(d->fields, i, f, false);
			fields += !met(d->fields, i, f, true);
		}
	}
	if (structures < d->row->structures || fields < d->row->fields)
		fail_msg("%s: %zu structures, %zu fields", d->row->type, structures, fields);
	assert_int_equal(as_fields_read(NULL, d->disk, &guessed, &err), 0);
	assert_string_equal(as_fields_layout(guessed), as_fields_layout(d->fields));
	assert_int_equal(as_fields_n(guessed), n);
	as_fields_free(guessed);
}

static void test_found(void **state)
{
	(void)state;
	each(found);
}

/* ---- Setting ---- */

static void set_and_get(struct disk *d)
{
	struct as_disk *copy = as_disk_snapshot(d->disk);
	size_t n = as_fields_n(d->fields), step = n / 3000 + 1;
	uint64_t values[VALUES];

	for (size_t i = 0; i < n; i += step) {
		const struct as_field *f = as_fields_at(d->fields, i);
		uint64_t was = as_field_get(f, copy);
		size_t n_values = as_field_values(d->fields, i, copy, values, VALUES);

		assert_true(n_values >= 1);
		for (size_t k = 0; k < n_values && f->bytes <= 8; k++) {
			assert_true(values[k] != was && values[k] <= as_field_max(f));
			assert_int_equal(as_field_set(f, copy, values[k], &err), 0);
			assert_true(as_field_get(f, copy) == values[k]);
		}
		assert_int_equal(as_field_set(f, copy, was, &err), 0);
	}
	assert_true(as_disk_eq(copy, d->disk));
	as_disk_free(copy);
}

static void test_set(void **state)
{
	(void)state;
	each(set_and_get);
}

/* ---- Checksums ---- */

static void seals(struct disk *d)
{
	struct as_disk *copy = as_disk_snapshot(d->disk);

	assert_int_equal(as_fields_seal(d->fields, copy, 0, &err), 0);
	for (uint32_t i = 1; i <= as_fields_seals(d->fields); i++) {
		assert_int_equal(as_fields_seal(d->fields, copy, i, &err), 0);
		if (!as_disk_eq(copy, d->disk))
			fail_msg("%s: checksum %u of an unchanged disk differs", d->row->type, i);
	}
	if (d->row->structure)
		assert_true(as_fields_seals(d->fields) > 0);
	as_disk_free(copy);
}

static void test_seals(void **state)
{
	(void)state;
	each(seals);
}

/* The last instance, which is no superblock or root. */
static const struct as_field *find(struct disk *d)
{
	const struct as_field *last = NULL;

	for (size_t i = 0; i < as_fields_n(d->fields); i++) {
		const struct as_field *f = as_fields_at(d->fields, i);

		if (strcmp(f->structure, d->row->structure) == 0 &&
		    strcmp(f->name, d->row->field) == 0 && strcmp(f->class, "reserved") != 0 &&
		    strcmp(f->class, "backup") != 0)
			last = f;
	}
	return last;
}

static int check(struct disk *d, struct as_disk *disk)
{
	assert_int_equal(as_image_export_raw(disk, d->path, &err), 0);
	return shell(d->row->check, d->path);
}

static void checked(struct disk *d)
{
	const struct as_field *f;
	struct as_disk *copy;

	if (!d->row->structure)
		return;
	f = find(d);
	assert_non_null(f);
	assert_true(f->seal);
	copy = as_disk_snapshot(d->disk);
	if (check(d, copy)) {
		print_message("SKIP: %s: the checker is not here, or wants more: %s\n",
			      d->row->type, d->row->check);
		as_disk_free(copy);
		return;
	}
	assert_int_equal(as_field_set(f, copy, as_field_get(f, copy) + 1, &err), 0);
	if (d->row->notices && check(d, copy) == 0)
		fail_msg("%s: %s of %s was changed without its checksum, and nobody noticed",
			 d->row->type, f->name, f->instance);
	assert_int_equal(as_fields_seal(d->fields, copy, f->seal, &err), 0);
	/* exFAT's boot sector has a copy, which a checker may compare. */
	if (check(d, copy))
		fail_msg("%s: %s of %s was changed with its checksum, and the checker complains",
			 d->row->type, f->name, f->instance);
	as_disk_free(copy);
}

static void test_checked(void **state)
{
	(void)state;
	each(checked);
}

/* The generation of a directory of ext4 is in the checksums of its blocks, too. */
static void generation(struct disk *d)
{
	struct as_disk *copy = as_disk_snapshot(d->disk);
	struct as_buf words = { 0 };
	bool found = false;

	for (size_t i = 0; d->row->field && !strcmp(d->row->field, "i_crtime") && !check(d, copy) &&
			   !found && i < as_fields_n(d->fields);
	     i++) {
		const struct as_field *f = as_fields_at(d->fields, i);

		found = !strcmp(f->name, "i_generation") && !strcmp(f->class, "directory");
		if (found)
			assert_true(as_field_alter_to(d->fields, i, 77, true, copy, &words));
	}
	if (found && check(d, copy))
		fail_msg("%s: %s, and the checker complains", d->row->type, as_buf_str(&words));
	as_buf_free(&words);
	as_disk_free(copy);
}

static void test_generation(void **state)
{
	(void)state;
	each(generation);
}

/* ---- Damage ---- */

static void damaged(struct disk *d)
{
	size_t n = as_fields_n(d->fields), step = n / REREADS + 1;
	struct as_disk *copy = as_disk_snapshot(d->disk);
	uint64_t values[VALUES];

	for (size_t i = 0; i < n; i += step) {
		size_t n_values = as_field_values(d->fields, i, copy, values, VALUES);
		struct as_fields *again = NULL;

		if (!n_values)
			continue;
		assert_int_equal(as_field_set(as_fields_at(d->fields, i), copy,
					      values[i % n_values], &err),
				 0);
		/* Refused with words, or read as far as it goes. */
		if (as_fields_read(d->row->type, copy, &again, &err)) {
			assert_true(err.msg[0]);
			assert_int_equal(err.code, AS_EUSE);
		} else {
			assert_true(as_fields_n(again) > 0);
		}
		as_fields_free(again);
		/* Every third damage stays, so that they add up. */
		if (i % 3)
			as_disk_restore(copy, d->disk);
	}
	as_disk_free(copy);
}

static void test_damaged(void **state)
{
	(void)state;
	each(damaged);
}

/* Noise in the middle of structures, more and more of it. */
static void noisy(struct disk *d)
{
	size_t n = as_fields_n(d->fields);
	uint64_t x = 88172645463325252u;

	for (unsigned round = 0; round < NOISY; round++) {
		struct as_disk *copy = as_disk_snapshot(d->disk);
		struct as_fields *again = NULL;

		for (unsigned i = 0; i <= round; i++) {
			const struct as_field *f;

			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			f = as_fields_at(d->fields, x % n);
			assert_int_equal(as_field_set(f, copy, x >> 8, &err), 0);
		}
		if (!as_fields_read(d->row->type, copy, &again, &err))
			for (uint32_t i = 1; i <= as_fields_seals(again); i++)
				(void)!as_fields_seal(again, copy, i, &err);
		as_fields_free(again);
		as_disk_free(copy);
	}
}

static void test_noisy(void **state)
{
	(void)state;
	each(noisy);
}

static void test_other_disks(void **state)
{
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = t_disk_new(store, 1 MIB);
	struct as_fields *fields;

	(void)state;
	assert_int_equal(as_fields_read(NULL, disk, &fields, &err), AS_EUSE);
	assert_int_equal(as_fields_read("tmpfs", disk, &fields, &err), AS_EUSE);
	assert_true(as_fields_know("ext4") && !as_fields_know("tmpfs"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(as_fields_read(rows[i].type, disk, &fields, &err), AS_EUSE);
	as_disk_free(disk);
	t_store_done(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),	   cmocka_unit_test(test_set),
		cmocka_unit_test(test_seals),	   cmocka_unit_test(test_checked),
		cmocka_unit_test(test_generation), cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_noisy),	   cmocka_unit_test(test_other_disks),
	};

	return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
