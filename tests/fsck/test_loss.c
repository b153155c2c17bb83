/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loss: a disk on which a name was changed is taken for a repaired one. If the damage was that
 * name, nothing is wrong; if the damage was elsewhere, the name was stolen. The types have their
 * names before the inode number (xfs), twice (btrfs), after it (ext4), or in the inode (vfat).
 */
#include "disk/image.h"
#include "fsck/loss.h"
#include "layout/field.h"
#include "os/temp.h"
#include "tests/lib/skip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAME "alpha"

static const struct made {
	const char *type, *command; /* %s is the folder: DIR/tree has the files */
} made[] = {
	{ "ext4", "mke2fs -q -F -t ext4 -d %s/tree %s/disk 4M" },
	{ "btrfs", "truncate -s 128M %s/disk && mkfs.btrfs -q --rootdir %s/tree %s/disk" },
	{ "xfs", "truncate -s 16M %s/disk && mkfs.xfs -q --unsupported -p %s/proto %s/disk" },
};

static bool run(const char *format, const char *dir)
{
	struct as_buf command = { 0 };
	bool ok;

	as_buf_adds(&command, "PATH=$PATH:/usr/sbin:/sbin; (");
	as_buf_addf(&command, format, dir, dir, dir);
	as_buf_adds(&command, ") >/dev/null 2>&1");
	ok = !system(as_buf_str(&command));
	as_buf_free(&command);
	return ok;
}

static bool make_tree(const char *dir)
{
	return run("mkdir %s/tree && cd %s/tree && echo one >" NAME " && echo two >beta && "
		   "mkdir sub && echo three >sub/gamma && echo four >%s/tree/delta",
		   dir) &&
	       run("cd %s && printf '%%s\\n' / '0 0' 'd--755 0 0' '" NAME
		   " ---644 0 0 %s/tree/" NAME "' 'beta ---644 0 0 %s/tree/beta' '$' >proto",
		   dir);
}

/* A disk with a tree, and what it has. */
struct rig {
	struct as_chunks *store;
	struct as_temp *temp;
	struct as_disk *disk;
	struct as_fields *fields;
};

static void rig_free(struct rig *r)
{
	as_fields_free(r->fields);
	as_disk_free(r->disk);
	as_temp_free(r->temp);
	as_chunks_free(r->store);
}

/* tree: a command for the folder that becomes the tree, NULL: the usual one. False: there is no
 * program that makes such a disk. */
static bool rig_new(struct rig *r, const char *type, const char *tree, const char *mkfs)
{
	struct as_buf path = { 0 };
	struct as_err err;
	const char *dir;

	*r = (struct rig){ .store = as_chunks_new() };
	assert_int_equal(as_temp_new("/tmp", &r->temp, &err), 0);
	dir = as_temp_path(r->temp);
	assert_true(tree ? run(tree, dir) : make_tree(dir));
	if (!run(mkfs, dir)) {
		rig_free(r);
		return false;
	}
	as_buf_addf(&path, "%s/disk", dir);
	assert_int_equal(as_image_import_raw(r->store, as_buf_str(&path), &r->disk, &err), 0);
	assert_int_equal(as_fields_read(type, r->disk, &r->fields, &err), 0);
	as_buf_free(&path);
	return true;
}

#define MKE2FS "mke2fs -q -F -t ext2 -b 1024 -d %s/tree %s/disk 1M"

/* Changes the first letter of the name wherever it is in an entry. */
static unsigned rename_entries(struct as_fields *fields, struct as_disk *disk)
{
	unsigned n = 0;

	for (size_t i = 0; i < as_fields_n(fields); i++) {
		const struct as_field *f = as_fields_at(fields, i);
		unsigned char text[64], sector[AS_DISK_SECTOR_BYTES];
		uint64_t at = f->off / sizeof(sector) * sizeof(sector);

		if (!f->role || strcmp(f->role, "dir.entry.name") ||
		    as_field_bytes(f, disk, text, sizeof(text)) != strlen(NAME) ||
		    memcmp(text, NAME, strlen(NAME)))
			continue;
		assert_int_equal(as_bd_read(as_disk_bd(disk), at, sector, sizeof(sector)), 0);
		sector[f->off - at] = 'z';
		assert_int_equal(as_bd_write(as_disk_bd(disk), at, sector, sizeof(sector)), 0);
		n++;
	}
	return n;
}

static void judge_names(const char *type, struct as_disk *healthy)
{
	struct as_disk *repaired = as_disk_snapshot(healthy);
	struct as_loss *loss = as_loss_new(type, healthy, AS_LOSS_DROPS_NOTHING);
	struct as_damage damage = { 0 }, elsewhere = { 0 };
	struct as_loss_found found;
	struct as_fields *fields;
	struct as_err err;

	assert_non_null(loss);
	assert_int_equal(as_fields_read(type, healthy, &fields, &err), 0);
	assert_true(rename_entries(fields, repaired) > 0);
	assert_true(as_damage_diff(&damage, healthy, repaired));
	/* One byte of the damage is enough where a name is there twice. */
	damage.n = 1;
	as_loss_look(loss, &damage, repaired, &found);
	if (found.unexcused || found.moved)
		fail_msg("%s: the name was damaged: %s", type, as_buf_str(&found.words));
	as_loss_found_free(&found);
	as_loss_mark(loss, &damage);
	assert_int_equal(as_loss_marked(loss, "/" NAME), AS_LOSS_TOUCHED);
	assert_int_equal(as_loss_marked(loss, "/none"), AS_LOSS_UNKNOWN);
	/* The mutant: byte 8 of the disk is no name. */
	elsewhere = (struct as_damage){ .bytes = &(struct as_damaged_byte){ 8, 0, 1 }, .n = 1 };
	as_loss_look(loss, &elsewhere, repaired, &found);
	if (!found.moved || !strstr(as_buf_str(&found.first), "/" NAME))
		fail_msg("%s: the name was stolen: %s", type, as_buf_str(&found.words));
	as_loss_found_free(&found);
	as_loss_mark(loss, &elsewhere);
	assert_int_equal(as_loss_marked(loss, "/" NAME), AS_LOSS_UNTOUCHED);
	/* Nothing is missing on the disk itself. */
	as_loss_look(loss, &elsewhere, healthy, &found);
	assert_int_equal(found.files, 0);
	as_loss_found_free(&found);
	as_fields_free(fields);
	as_damage_free(&damage);
	as_loss_free(loss);
	as_disk_free(repaired);
}

static void test_names(void **state)
{
	unsigned done = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		struct rig r;

		if (!rig_new(&r, made[i].type, NULL, made[i].command)) {
			print_message("%s: no disk can be made here\n", made[i].type);
			continue;
		}
		judge_names(made[i].type, r.disk);
		rig_free(&r);
		done++;
	}
	if (!done)
		skip_because("no mkfs is installed");
}

/* ---- Entries that are inodes ---- */

static void set_bytes(struct as_disk *disk, uint64_t off, const void *bytes, size_t len)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES];
	uint64_t at = off / sizeof(sector) * sizeof(sector);

	assert_int_equal(as_bd_read(as_disk_bd(disk), at, sector, sizeof(sector)), 0);
	memcpy(sector + (off - at), bytes, len);
	assert_int_equal(as_bd_write(as_disk_bd(disk), at, sector, sizeof(sector)), 0);
}

/* Two files, the first one with a long name; returns where the root begins. */
static uint64_t add_files(struct as_disk *disk)
{
	static const char names[2][11] = { "ALPHA      ", "BETA       " };
	unsigned char boot[AS_DISK_SECTOR_BYTES], entry[32] = { 0x41 }, sum = 0;
	uint64_t root;

	assert_int_equal(as_bd_read(as_disk_bd(disk), 0, boot, sizeof(boot)), 0);
	root = 512 * (boot[14] + (uint64_t)boot[16] * boot[22]);
	for (int i = 0; i < 11; i++)
		sum = (unsigned char)((sum >> 1 | sum << 7) + names[0][i]);
	memset(entry + 1, 0xff, sizeof(entry) - 1);
	entry[11] = 0x0f;
	entry[12] = entry[26] = entry[27] = 0;
	entry[13] = sum;
	for (int i = 0; i <= 5; i++) {
		int at = i < 5 ? 1 + 2 * i : 14;

		entry[at] = (unsigned char)"alpha"[i];
		entry[at + 1] = 0;
	}
	set_bytes(disk, root, entry, sizeof(entry));
	for (int i = 0; i < 2; i++) {
		memset(entry, 0, sizeof(entry));
		memcpy(entry, names[i], 11);
		entry[11] = 0x20;
		entry[26] = (unsigned char)(2 + i); /* its cluster */
		set_bytes(disk, root + 32 * (unsigned)(i + 1), entry, sizeof(entry));
	}
	return root;
}

/* A damage of byte `at`; what is left has byte `changed` of the root changed. */
static unsigned count_lost(struct as_disk *healthy, struct as_loss *loss, uint64_t at,
			   uint64_t changed, unsigned char to)
{
	struct as_damage damage = { .bytes = &(struct as_damaged_byte){ at, 0, 1 }, .n = 1 };
	struct as_disk *repaired = as_disk_snapshot(healthy);
	struct as_loss_found found;
	unsigned n;

	set_bytes(repaired, changed, &to, 1);
	as_loss_look(loss, &damage, repaired, &found);
	n = found.unexcused + found.moved;
	as_loss_found_free(&found);
	as_disk_free(repaired);
	return n;
}

static void test_vfat(void **state)
{
	struct as_chunks *store = as_chunks_new();
	struct as_temp *temp = NULL;
	struct as_disk *disk = NULL;
	struct as_buf path = { 0 };
	struct as_loss *loss;
	struct as_err err;
	uint64_t root;

	(void)state;
	assert_int_equal(as_temp_new("/tmp", &temp, &err), 0);
	as_buf_addf(&path, "%s/disk", as_temp_path(temp));
	if (!run("mkfs.fat -C %s/disk 1024", as_temp_path(temp))) {
		as_buf_free(&path);
		as_temp_free(temp);
		as_chunks_free(store);
		skip_because("there is no mkfs.fat");
		return;
	}
	assert_int_equal(as_image_import_raw(store, as_buf_str(&path), &disk, &err), 0);
	root = add_files(disk);
	loss = as_loss_new("vfat", disk, AS_LOSS_DROPS_NOTHING);
	assert_non_null(loss);
	/* A letter of the long name; the end of the directory in the first byte of an entry. */
	assert_int_equal(count_lost(disk, loss, root + 1, root + 1, 'z'), 0);
	assert_int_equal(count_lost(disk, loss, root, root, 0), 0);
	/* The table of clusters may have been that of any file. */
	assert_int_equal(count_lost(disk, loss, 512 * 1 + 3, root + 33, 'Z'), 0);
	/* The mutants: the damage was in the boot sector, or in another entry. */
	assert_true(count_lost(disk, loss, 8, root + 1, 'z'));
	assert_true(count_lost(disk, loss, 8, root + 65, 'Z'));
	assert_true(count_lost(disk, loss, root + 1, root + 65, 'Z'));
	as_loss_free(loss);
	as_disk_free(disk);
	as_buf_free(&path);
	as_temp_free(temp);
	as_chunks_free(store);
}

/* ---- Blocks of pointers ---- */

/* The last byte of the first block that leads to the data of the file; 0: there is none. */
static uint64_t unused_pointer(const struct as_fields *fields, const char *what)
{
	for (size_t i = 0; i < as_fields_areas(fields); i++) {
		const struct as_disk_area *a = as_fields_area(fields, i);

		if (!strcmp(a->what, what))
			return a->off + a->len - 1;
	}
	return 0;
}

static void test_pointers(void **state)
{
	uint64_t mode = 0, at;
	struct as_loss *loss;
	struct rig r;

	(void)state;
	if (!rig_new(&r, "ext2", "mkdir %s/tree && seq 4000 >%s/tree/long", MKE2FS)) {
		skip_because("there is no mke2fs that fills a disk");
		return;
	}
	for (size_t i = 0; i < as_fields_n(r.fields); i++) {
		const struct as_field *f = as_fields_at(r.fields, i);

		if (f->role && f->path && !strcmp(f->role, "file.mode") &&
		    !strcmp(f->path, "/long"))
			mode = f->off + 1;
	}
	at = unused_pointer(r.fields, "pointers of /long");
	assert_true(mode && at);
	loss = as_loss_new("ext2", r.disk, AS_LOSS_DROPS_NOTHING);
	assert_non_null(loss);
	/* A checker that cannot make sense of the pointers may clear the file. */
	assert_int_equal(count_lost(r.disk, loss, at, mode, 0), 0);
	/* The mutant: the damage was in the boot sector. */
	assert_true(count_lost(r.disk, loss, 8, mode, 0));
	as_loss_free(loss);
	rig_free(&r);
}

/* ---- Attributes, links, and files that change places ---- */

/* Where the field of this role of the path is, or of the entry of this name; 0: nowhere. */
static uint64_t place_of(const struct as_fields *fields, struct as_disk *disk, const char *role,
			 const char *path, const char *name)
{
	uint64_t number = 0;
	char text[64];

	for (size_t i = 0; i < as_fields_n(fields); i++) {
		const struct as_field *f = as_fields_at(fields, i);

		if (!f->role || !f->path || strcmp(f->path, path))
			continue;
		if (!name && !strcmp(f->role, role))
			return f->off;
		if (!strcmp(f->role, role))
			number = f->off;
		if (name && !strcmp(f->role, "dir.entry.name") &&
		    as_field_bytes(f, disk, text, sizeof(text)) == strlen(name) &&
		    !memcmp(text, name, strlen(name)))
			return number;
	}
	return 0;
}

/* An inode of two names is known by one of them. */
static uint64_t place_of_two(const struct as_fields *fields, struct as_disk *disk, const char *role)
{
	uint64_t off = place_of(fields, disk, role, "/two", NULL);

	return off ? off : place_of(fields, disk, role, "/twin", NULL);
}

struct change {
	uint64_t off;
	unsigned char to;
};

/* The damage is byte `at`; these bytes are others on the repaired disk. */
static unsigned count_changed(struct as_disk *healthy, struct as_loss *loss, uint64_t at,
			      const struct change *changes, unsigned n, const char *words)
{
	struct as_damage damage = { .bytes = &(struct as_damaged_byte){ at, 0, 1 }, .n = 1 };
	struct as_disk *repaired = as_disk_snapshot(healthy);
	struct as_loss_found found;
	unsigned lost;

	for (unsigned i = 0; i < n; i++)
		set_bytes(repaired, changes[i].off, &changes[i].to, 1);
	as_loss_look(loss, &damage, repaired, &found);
	lost = found.unexcused + found.moved;
	if (lost && !strstr(as_buf_str(&found.words), words))
		fail_msg("expected '%s': %s", words, as_buf_str(&found.words));
	as_loss_found_free(&found);
	as_disk_free(repaired);
	return lost;
}

static uint64_t dot_of_root(const struct as_fields *fields)
{
	for (size_t i = 0; i < as_fields_n(fields); i++) {
		const struct as_field *f = as_fields_at(fields, i);

		if (f->role && !strcmp(f->role, "dir.entry.inode") && f->path &&
		    !strcmp(f->path, "/") && !strcmp(f->class, "itself"))
			return f->off;
	}
	return 0;
}

static void judge_attributes(struct as_disk *disk, struct as_fields *fields, struct as_loss *loss)
{
	uint64_t mtime = place_of_two(fields, disk, "file.mtime");
	uint64_t links = place_of_two(fields, disk, "file.links");
	uint64_t one = place_of(fields, disk, "dir.entry.inode", "/", "one");
	uint64_t two = place_of(fields, disk, "dir.entry.inode", "/", "two");
	uint64_t twin = place_of(fields, disk, "dir.entry.inode", "/", "twin");
	unsigned char bytes[AS_DISK_SECTOR_BYTES];
	struct change time[] = { { mtime, 7 } }, more[] = { { links, 9 } };
	struct change swap[] = { { one, 0 }, { two, 0 } };
	struct change gone[] = { { twin, 0 }, { links, 1 } };
	uint64_t dot = dot_of_root(fields),
		 links_one = place_of(fields, disk, "file.links", "/one", NULL);
	uint64_t text = place_of(fields, disk, "dir.entry.name", "/", "six");
	struct change more_one[] = { { dot, 0 }, { links_one, 2 } };
	struct change same[] = { { text, 'o' }, { text + 1, 'n' }, { text + 2, 'e' } };

	assert_true(mtime && links && one && two && twin && dot && links_one && text);
	/* Numbers of inodes and of links are small here. */
	assert_int_equal(as_bd_read(as_disk_bd(disk), one / 512 * 512, bytes, sizeof(bytes)), 0);
	assert_int_equal(one / 512, two / 512);
	swap[0].to = bytes[two % 512];
	swap[1].to = bytes[one % 512];
	assert_int_not_equal(swap[0].to, swap[1].to);
	assert_true(count_changed(disk, loss, 8, time, 1, "/two has other contents"));
	assert_int_equal(count_changed(disk, loss, mtime, time, 1, ""), 0);
	assert_true(count_changed(disk, loss, 8, more, 1, "/two has a wrong number of links"));
	assert_int_equal(count_changed(disk, loss, links, more, 1, ""), 0);
	assert_true(count_changed(disk, loss, 8, swap, 2, "/one leads to another file"));
	/* Who sees two files of one name may take either. */
	assert_int_equal(count_changed(disk, loss, one, swap, 2, ""), 0);
	/* A name that was damaged is gone, and the number of links follows. */
	assert_int_equal(count_changed(disk, loss, twin, gone, 2, ""), 0);
	assert_true(count_changed(disk, loss, 8, gone, 2, "/twin has lost this name"));
	/* "." leads to it now: that is a link more. */
	more_one[0].to = bytes[one % 512];
	assert_int_equal(count_changed(disk, loss, dot, more_one, 2, ""), 0);
	more_one[1].to = 3;
	assert_true(count_changed(disk, loss, dot, more_one, 2, "/one has a wrong number"));
	/* Two files of one name: nobody is lost. */
	assert_int_equal(count_changed(disk, loss, text, same, 3, ""), 0);
}

static void test_attributes(void **state)
{
	struct as_loss *loss;
	struct rig r;

	(void)state;
	if (!rig_new(&r, "ext2",
		     "mkdir %s/tree && cd %s/tree && echo first >one && echo second >two && "
		     "echo third >six && ln two twin && touch -d @1000000000 one two",
		     MKE2FS)) {
		skip_because("there is no mke2fs that fills a disk");
		return;
	}
	loss = as_loss_new("ext2", r.disk, AS_LOSS_DROPS_NOTHING);
	assert_non_null(loss);
	judge_attributes(r.disk, r.fields, loss);
	as_loss_free(loss);
	rig_free(&r);
}

/* Of directories, the root with them; and extended attributes. */
static void test_directories(void **state)
{
	struct as_loss *loss;
	uint64_t uid, root, name, value;
	struct rig r;

	(void)state;
	if (!rig_new(&r, "ext2", "mkdir %s/tree && cd %s/tree && echo first >one && mkdir sub",
		     MKE2FS " && debugfs -w -R 'ea_set one user.abc xyz' %s/disk")) {
		skip_because("there is no mke2fs that fills a disk");
		return;
	}
	uid = place_of(r.fields, r.disk, "file.uid", "/sub", NULL);
	root = place_of(r.fields, r.disk, "file.uid", "/", NULL);
	name = place_of(r.fields, r.disk, "file.xattr.name", "/one", NULL);
	value = place_of(r.fields, r.disk, "file.xattr.value", "/one", NULL);
	assert_true(uid && root && name && value);
	loss = as_loss_new("ext2", r.disk, AS_LOSS_DROPS_NOTHING);
	assert_non_null(loss);
	for (unsigned i = 0; i < 4; i++) {
		static const char *const words[] = { "/sub has other attributes",
						     "/ has other attributes",
						     "/one has other contents or attributes",
						     "/one has other contents or attributes" };
		struct change change = { (const uint64_t[]){ uid, root, name, value }[i], 'q' };

		assert_true(count_changed(r.disk, loss, 8, &change, 1, words[i]));
		assert_int_equal(count_changed(r.disk, loss, change.off, &change, 1, ""), 0);
	}
	as_loss_free(loss);
	rig_free(&r);
}

/* The fields of that role of the entries of /, but for its "." and "..", in their order. */
static size_t entries_of_root(const struct as_fields *fields, const char *role,
			      const struct as_field *out[8])
{
	size_t n = 0;

	for (size_t i = 0; i < as_fields_n(fields) && n < 8; i++) {
		const struct as_field *f = as_fields_at(fields, i);

		if (f->role && !strcmp(f->role, role) && f->path && !strcmp(f->path, "/") &&
		    !strcmp(f->class, "entry"))
			out[n++] = f;
	}
	return n;
}

/* An entry without a name leads to a file that has a name further on: the file is told by that. */
static void test_nameless(void **state)
{
	const struct as_field *inodes[8], *lengths[8];
	struct as_damage damage = { 0 };
	struct as_loss_found found;
	struct as_disk *repaired;
	struct as_loss *loss;
	uint32_t number;
	struct rig r;
	size_t n;

	(void)state;
	if (!rig_new(&r, made[0].type, NULL, made[0].command)) {
		skip_because("there is no mke2fs that fills a disk");
		return;
	}
	n = entries_of_root(r.fields, "dir.entry.inode", inodes);
	assert_true(n >= 3);
	assert_int_equal(entries_of_root(r.fields, "dir.entry.name_length", lengths), n);
	for (size_t i = 1; i < n; i++) {
		loss = as_loss_new(made[0].type, r.disk, AS_LOSS_DROPS_NOTHING);
		repaired = as_disk_snapshot(r.disk);
		number = (uint32_t)as_field_get(inodes[i], r.disk);
		set_bytes(repaired, inodes[0]->off, &number, sizeof(number));
		set_bytes(repaired, lengths[0]->off, "", 1);
		assert_true(as_damage_diff(&damage, r.disk, repaired));
		as_loss_look(loss, &damage, repaired, &found);
		/* The first entry is lost+found. */
		if (found.unexcused || found.moved)
			fail_msg("lost: %s", as_buf_str(&found.words));
		as_loss_found_free(&found);
		as_damage_free(&damage);
		damage = (struct as_damage){ 0 };
		as_disk_free(repaired);
		as_loss_free(loss);
	}
	rig_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pointers), cmocka_unit_test(test_names),
		cmocka_unit_test(test_vfat),	 cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_nameless), cmocka_unit_test(test_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
