/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of what is counted: complete, and without contradictions. */
#include "tests/lib/counted.h"

#include "cover/partition.h"

#include <stdlib.h>

static void test_paper(void **state)
{
	/* The 27 calls of the paper in its 11 families. */
	static const char *const families[][6] = {
		{ "open", "open", "openat", "creat", "openat2" },
		{ "read", "read", "pread64", "readv" },
		{ "write", "write", "pwrite64", "writev" },
		{ "lseek", "lseek" },
		{ "truncate", "truncate", "ftruncate" },
		{ "mkdir", "mkdir", "mkdirat" },
		{ "chmod", "chmod", "fchmod", "fchmodat" },
		{ "close", "close" },
		{ "chdir", "chdir", "fchdir" },
		{ "setxattr", "setxattr", "lsetxattr", "fsetxattr" },
		{ "getxattr", "getxattr", "lgetxattr", "fgetxattr" },
	};
	unsigned n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		for (int v = 1; v < 6 && families[i][v]; v++, n++) {
			const struct as_spec_call *call =
				as_spec_find(t_spec, families[i][v], strlen(families[i][v]));

			assert_non_null(call);
			assert_string_equal(t_spec->families[call->family].name, families[i][0]);
		}
	assert_int_equal(n, 27);
}

static void test_size(void **state)
{
	static const char others[] =
		"readv writev preadv pwritev preadv2 pwritev2 rename renameat renameat2 link "
		"linkat symlink symlinkat unlink unlinkat rmdir mknod mknodat fsync fdatasync "
		"sync syncfs sync_file_range fallocate copy_file_range sendfile splice stat "
		"lstat fstat newfstatat statx getdents64 readlink readlinkat chown lchown "
		"fchown fchownat utimensat access faccessat faccessat2 fcntl flock ioctl mmap "
		"msync listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr "
		"statfs fstatfs umount2 mount name_to_handle_at ";
	unsigned counted = 0;

	(void)state;
	for (unsigned i = 0; i < t_spec->n_calls; i++)
		counted += t_spec->calls[i].family >= 0;
	assert_true(counted >= 70);
	for (const char *s = others; *s; s += strcspn(s, " ") + 1) {
		size_t len = strcspn(s, " ");
		const struct as_spec_call *call = as_spec_find(t_spec, s, len);

		if (!call || call->family < 0)
			fail_msg("%.*s is not counted", (int)len, s);
	}
	assert_true(as_spec_hides(as_spec_find(t_spec, "io_uring_enter", 14)));
	assert_null(as_spec_find(t_spec, "brk", 3));
	assert_null(as_spec_find(t_spec, "opena", 5));
	assert_null(as_spec_find(t_spec, "", 0));
}

/* Every name is found, every number leads back, every listed error is an error. */
static void test_consistent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < t_spec->n_calls; i++) {
		const struct as_spec_call *call = &t_spec->calls[i];

		assert_ptr_equal(as_spec_find(t_spec, call->name, strlen(call->name)), call);
		if (call->nr >= 0)
			assert_ptr_equal(t_spec->by_nr[call->nr], call);
	}
	for (unsigned i = 0; i < t_spec->n_families; i++) {
		char *copy = strdup(t_spec->families[i].listed), *save = NULL;

		for (char *e = strtok_r(copy, " ", &save); e; e = strtok_r(NULL, " ", &save))
			if (!as_errno_value(e))
				fail_msg("%s: %s is no error", t_spec->families[i].name, e);
		free(copy);
	}
}

/* No two partitions of a space have one name, and every place that is in use has one. */
static void test_names(void **state)
{
	struct as_counts *counts = as_counts_new(t_spec);

	(void)state;
	for (unsigned i = 0; i < as_counts_spaces(counts); i++) {
		struct as_space space;

		as_counts_space(counts, i, &space);
		for (unsigned a = 0; a < space.n; a++) {
			assert_true(space.parts[a].expected);
			assert_null(strchr(space.parts[a].name, ' '));
			for (unsigned b = a + 1; b < space.n; b++)
				assert_string_not_equal(space.parts[a].name, space.parts[b].name);
		}
		as_space_free(&space);
	}
	as_counts_free(counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paper),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_consistent),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, t_spec_setup, t_spec_teardown);
}
