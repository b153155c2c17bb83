/* SPDX-License-Identifier: GPL-2.0-or-later */
/* initramfs and what it is made of: archives, needs of programs, order of modules, the cache. */
#include "tests/lib/skip.h"

#include "base/hash.h"
#include "box/cpio.h"
#include "box/initramfs.h"
#include "box/kmodule.h"
#include "os/elf_needs.h"
#include "os/spawn.h"
#include "target/cache.h"
#include "tests/lib/tmpdir.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Archives -------------------------------------------------------------------------------- */

/* A reader of its own, after buffer-format.rst: finds an entry, and checks all of the rest. */
struct entry {
	unsigned mode, major, minor, nlink;
	size_t len;
	const char *data;
};

static unsigned hex(const char *s)
{
	char digits[9] = { 0 };

	memcpy(digits, s, 8);
	return (unsigned)strtoul(digits, NULL, 16);
}

static bool find_entry(const struct as_buf *archive, const char *want, struct entry *e)
{
	size_t at = 0;

	while (at + 110 <= archive->len) {
		const char *head = archive->data + at, *name = head + 110;
		size_t name_len, len;

		assert_memory_equal(head, "070701", 6);
		len = hex(head + 6 + 6 * 8);
		name_len = hex(head + 6 + 11 * 8);
		assert_int_equal(strlen(name) + 1, name_len);
		if (!strcmp(name, "TRAILER!!!"))
			return false;
		at = (at + 110 + name_len + 3) / 4 * 4;
		if (!strcmp(name, want)) {
			*e = (struct entry){ hex(head + 14),
					     hex(head + 6 + 9 * 8),
					     hex(head + 6 + 10 * 8),
					     hex(head + 6 + 4 * 8),
					     len,
					     archive->data + at };
			return true;
		}
		at = (at + len + 3) / 4 * 4;
		assert_true(at <= archive->len);
	}
	fail_msg("the archive has no end");
	return false;
}

static void test_cpio(void **state)
{
	struct as_cpio cpio = { 0 };
	struct entry e;

	(void)state;
	as_cpio_folder(&cpio, "dev", 0755);
	as_cpio_char_device(&cpio, "dev/console", 0600, 5, 1);
	as_cpio_file(&cpio, "a", 0644, "xyz", 3);
	as_cpio_file(&cpio, "empty", 0600, "", 0);
	as_cpio_link(&cpio, "link", "a");
	as_cpio_file(&cpio, "last", 0755, "12345", 5);
	as_cpio_finish(&cpio);
	assert_int_equal(cpio.out.len % 512, 0);
	assert_true(find_entry(&cpio.out, "dev", &e));
	assert_int_equal(e.mode, S_IFDIR | 0755);
	assert_int_equal(e.nlink, 2);
	assert_true(find_entry(&cpio.out, "dev/console", &e));
	assert_int_equal(e.mode, S_IFCHR | 0600);
	assert_int_equal(e.major, 5);
	assert_int_equal(e.minor, 1);
	assert_true(find_entry(&cpio.out, "empty", &e));
	assert_int_equal(e.len, 0);
	assert_true(find_entry(&cpio.out, "link", &e));
	assert_int_equal(e.mode, S_IFLNK | 0777);
	assert_memory_equal(e.data, "a", 1);
	assert_true(find_entry(&cpio.out, "last", &e));
	assert_memory_equal(e.data, "12345", 5);
	assert_false(find_entry(&cpio.out, "nothing", &e));
	as_buf_free(&cpio.out);
}

/* ---- Programs -------------------------------------------------------------------------------- */

static void test_elf(void **state)
{
	struct as_elf_needs needs;
	struct as_buf file = { 0 }, folders = { 0 }, path = { 0 };
	struct as_err err;
	bool libc = false;

	(void)state;
	assert_int_equal(as_buf_read_file(&file, "/proc/self/exe", 1 << 28, &err), 0);
	assert_int_equal(as_elf_needs(file.data, file.len, "me", &needs, &err), 0);
	assert_string_equal(needs.interp, "/lib64/ld-linux-x86-64.so.2");
	as_elf_lib_folders(&folders);
	for (size_t i = 0; i < needs.n_libs; i++) {
		libc = libc || !strcmp(needs.libs[i], "libc.so.6");
		assert_int_equal(as_elf_find_lib(needs.libs[i], needs.rpath, "/bin/x", &folders,
						 &path, &err),
				 0);
		assert_int_equal(access(as_buf_str(&path), R_OK), 0);
	}
	assert_true(libc);
	as_elf_needs_free(&needs);
	assert_int_equal(as_elf_find_lib("libnowhere.so.9", NULL, "/bin/x", &folders, &path, &err),
			 AS_ELACK);
	assert_non_null(strstr(err.msg, "libnowhere.so.9"));
	/* Cut anywhere, it is refused or read, never overrun (the sanitizer's business). */
	for (size_t len = 0; len < 8192 && len < file.len; len += 7) {
		char *cut = malloc(len + 1);

		memcpy(cut, file.data, len);
		if (!as_elf_needs(cut, len, "cut", &needs, &err))
			as_elf_needs_free(&needs);
		else
			assert_int_equal(err.code, AS_EUSE);
		free(cut);
	}
	as_buf_free(&file);
	as_buf_free(&folders);
	as_buf_free(&path);
}

static const struct {
	const char *name;
	size_t at;
	uint64_t value;
	size_t bytes;
	const char *want;
} bad_elves[] = {
	{ "no magic", 0, 0, 4, "not an ELF program" },
	{ "32 bits", EI_CLASS, ELFCLASS32, 1, "not a program for x86-64" },
	{ "another machine", offsetof(Elf64_Ehdr, e_machine), EM_ARM, 2,
	  "not a program for x86-64" },
	{ "headers far away", offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 8, 8, "outside" },
	{ "headers of a strange size", offsetof(Elf64_Ehdr, e_phentsize), 3, 2, "strange" },
};

static void test_bad_elf(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_elves) / sizeof(bad_elves[0]); i++) {
		struct as_elf_needs needs;
		struct as_buf file = { 0 };
		struct as_err err;

		assert_int_equal(as_buf_read_file(&file, "/proc/self/exe", 1 << 28, &err), 0);
		memcpy(file.data + bad_elves[i].at, &bad_elves[i].value, bad_elves[i].bytes);
		assert_int_equal(as_elf_needs(file.data, file.len, "x", &needs, &err), AS_EUSE);
		if (!strstr(err.msg, bad_elves[i].want))
			fail_msg("%s: %s", bad_elves[i].name, err.msg);
		as_buf_free(&file);
	}
}

/* ---- Modules --------------------------------------------------------------------------------- */

#define DEP                                                           \
	"kernel/a.ko:\n"                                              \
	"kernel/b-b.ko: kernel/a.ko\n"                                \
	"kernel/fs/c.ko.xz: kernel/b-b.ko kernel/a.ko\n"              \
	"kernel/fs/gfs2.ko: kernel/fs/dlm.ko kernel/fs/configfs.ko\n" \
	"kernel/fs/dlm.ko: kernel/fs/configfs.ko\n"
#define BUILTIN "kernel/fs/ext4/ext4.ko\nkernel/fs/xfs/xfs.ko\n"

static const struct {
	const char *names, *want; /* want NULL: refused */
} orders[] = {
	{ "a", "kernel/a.ko\n" },
	{ "b_b", "kernel/a.ko\nkernel/b-b.ko\n" },
	{ "c", "kernel/a.ko\nkernel/b-b.ko\nkernel/fs/c.ko.xz\n" },
	{ "c a", "kernel/a.ko\nkernel/b-b.ko\nkernel/fs/c.ko.xz\n" },
	{ "gfs2", "kernel/fs/configfs.ko\nkernel/fs/dlm.ko\nkernel/fs/gfs2.ko\n" },
	{ "ext4", "" },
	{ "ext4 a", "kernel/a.ko\n" },
	{ "b", NULL },
	{ "ext", NULL },
	{ "", NULL },
};

static void test_modules(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		char *names = strdup(orders[i].names), *save = NULL, *name = names;
		struct as_buf files = { 0 };
		struct as_err err = { 0 };
		int rc = 0;

		for (; name && !rc; name = save) {
			save = strchr(name, ' ');
			if (save)
				*save++ = '\0';
			rc = as_kmodule_order_text(DEP, BUILTIN, name, &files, &err);
		}
		assert_int_equal(rc, orders[i].want ? 0 : AS_ELACK);
		if (orders[i].want)
			assert_string_equal(as_buf_str(&files), orders[i].want);
		else
			assert_non_null(strstr(err.msg, "no module"));
		as_buf_free(&files);
		free(names);
	}
}

/* ---- The cache ------------------------------------------------------------------------------- */

static void age(const char *folder, const char *name, int seconds)
{
	struct timespec times[2];
	struct stat st;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(stat(path, &st), 0);
	times[0] = times[1] = st.st_mtim;
	times[1].tv_sec -= seconds;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_cache(void **state)
{
	const char *folder = t_tmpdir();
	char name[32];
	struct as_buf data = { 0 }, path = { 0 }, text = { 0 };
	struct as_err err;

	(void)state;
	as_buf_adds(&data, "bytes");
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		assert_int_equal(as_cache_put(folder, name, &data, 2, &path, &err), 0);
		/* All within the grace so far. */
		assert_int_equal(access(as_buf_str(&path), R_OK), 0);
	}
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		age(folder, name, 10000 - i);
	}
	/* Used again, it is the youngest; one more stays, the rest goes. */
	assert_int_equal(as_cache_put(folder, "f1", &data, 2, &path, &err), 0);
	for (int i = 0; i < 6; i++) {
		as_buf_clear(&path);
		as_buf_addf(&path, "%s/f%d", folder, i);
		assert_int_equal(access(as_buf_str(&path), F_OK), i == 1 || i == 5 ? 0 : -1);
	}
	/* Cut short by someone: written again. */
	as_buf_clear(&path);
	as_buf_addf(&path, "%s/f1", folder);
	assert_int_equal(truncate(as_buf_str(&path), 2), 0);
	assert_int_equal(as_cache_put(folder, "f1", &data, 2, &path, &err), 0);
	assert_int_equal(as_buf_read_file(&text, as_buf_str(&path), 100, &err), 0);
	assert_string_equal(as_buf_str(&text), "bytes");
	unlink(as_buf_str(&path));
	as_buf_clear(&path);
	as_buf_addf(&path, "%s/f5", folder);
	unlink(as_buf_str(&path));
	assert_int_equal(rmdir(folder), 0);
	as_buf_free(&data);
	as_buf_free(&path);
	as_buf_free(&text);
}

/* ---- All together ---------------------------------------------------------------------------- */

static void test_build(void **state)
{
	static const char *const programs[] = { "mke2fs", NULL };
	static const char *const optional[] = { "no-such-program", NULL };
	struct as_initramfs_file files[] = { { "var/tmp/assay-0/x", "one", 3 }, { 0 } };
	struct as_initramfs what = {
		.self = "/proc/self/exe", .programs = programs, .optional = optional, .files = files
	};
	struct as_buf first = { 0 }, second = { 0 }, self = { 0 };
	struct as_err err;
	struct entry e;
	char path[64];

	(void)state;
	if (!as_spawn_which("mke2fs", path, sizeof(path)))
		skip_because("no mke2fs: package e2fsprogs");
	assert_int_equal(as_initramfs_build(&what, &first, &err), 0);
	assert_int_equal(as_initramfs_build(&what, &second, &err), 0);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	assert_true(find_entry(&first, "init", &e));
	assert_int_equal(e.mode & S_IFMT, S_IFLNK);
	assert_int_equal(as_buf_read_file(&self, "/proc/self/exe", 1 << 28, &err), 0);
	assert_true(find_entry(&first, "bin/assay", &e));
	assert_int_equal(e.len, self.len);
	assert_memory_equal(e.data, self.data, e.len);
	assert_true(find_entry(&first, "bin/mke2fs", &e));
	assert_true(find_entry(&first, "lib/libc.so.6", &e));
	assert_true(find_entry(&first, "lib/libext2fs.so.2", &e));
	assert_true(find_entry(&first, "lib/ld-linux-x86-64.so.2", &e));
	assert_true(find_entry(&first, "var/tmp/assay-0", &e));
	assert_int_equal(e.mode, S_IFDIR | 0700);
	/* Another input, another archive. */
	files[0].data = "two";
	as_buf_free(&second); /* build() gives a new one */
	assert_int_equal(as_initramfs_build(&what, &second, &err), 0);
	assert_int_equal(first.len, second.len);
	assert_false(
		as_digest_eq(as_hash(first.data, first.len), as_hash(second.data, second.len)));
	what.programs = optional;
	as_buf_free(&second); /* build() gives a new one */
	assert_int_equal(as_initramfs_build(&what, &second, &err), AS_ELACK);
	assert_non_null(strstr(err.msg, "no-such-program"));
	as_buf_free(&first);
	as_buf_free(&second);
	as_buf_free(&self);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpio),	cmocka_unit_test(test_elf),
		cmocka_unit_test(test_bad_elf), cmocka_unit_test(test_modules),
		cmocka_unit_test(test_cache),	cmocka_unit_test(test_build),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
