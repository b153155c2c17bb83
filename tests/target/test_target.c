/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Naming targets, vetting their tables, and the disk they use. */
#include "tests/lib/skip.h"

#include "host/medium.h"
#include "labfs/labfs.h"
#include "target/target.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void specs(void **state)
{
	static const struct {
		const char *spec, *name, *opts, *error;
	} rows[] = {
		{ "lab", "lab", "", NULL },
		{ "lab:", "lab", "", NULL },
		{ "lab:bug=3,bug=7", "lab", "bug=3,bug=7", NULL },
		{ "lab:bug=3,speed=1", NULL, NULL, "unknown option in 'bug=3,speed=1'" },
		{ "labs", NULL, NULL, "unknown target 'labs'; known are lab" },
		{ "", NULL, NULL, "unknown target ''" },
		{ "dir:/", "dir", "", NULL },
		{ "dir:", NULL, NULL, "expected dir:PATH" },
		{ "plugin:", NULL, NULL, "expected plugin:PATH.so" },
		{ "plugin:/nosuch.so:a=b", NULL, NULL, "plugin /nosuch.so: no such file" },
		{ "plugin:nosuch.so", NULL, NULL, "plugin ./nosuch.so: no such file" },
		{ "plugin:/", NULL, NULL, "not a regular file" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_target *t = NULL;
		struct as_err err = { 0 };
		int rc = as_target_open(rows[i].spec, &t, &err);

		if (rows[i].error) {
			assert_int_equal(rc, AS_EUSE);
			if (!strstr(err.msg, rows[i].error))
				fail_msg("%s: said '%s'", rows[i].spec, err.msg);
			assert_null(t);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_string_equal(as_target_spec(t), rows[i].spec);
		assert_string_equal(as_target_name(t), rows[i].name);
		assert_string_equal(as_target_opts(t), rows[i].opts);
		as_target_free(t);
	}
}

static void sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t want; /* 0: refused */
	} rows[] = {
		{ "1", 1 },
		{ "16M", 16 << 20 },
		{ "4k", 4096 },
		{ "1G", 1 << 30 },
		{ "2T", 2ull << 40 },
		{ "0", 0 },
		{ "", 0 },
		{ "M", 0 },
		{ "-1", 0 },
		{ "1MM", 0 },
		{ "1.5M", 0 },
		{ "99999999999999999999", 0 },
		{ "18446744073709551615K", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t got = 0;
		int rc = as_target_parse_size(rows[i].text, &got, NULL);

		if (!!rc != !rows[i].want || (!rc && got != rows[i].want))
			fail_msg("'%s': %d, %llu", rows[i].text, rc, (unsigned long long)got);
	}
}

static void metadata(void **state)
{
	static const struct {
		const char *value, *spec;
		uint64_t size;
	} rows[] = {
		{ "lab", "lab", 0 },
		{ "lab size=4M", "lab", 4 << 20 },
		{ "lab opts=bug=3", "lab:bug=3", 0 },
		{ "lab:bug=1 opts=bug=3 size=1M", "lab:bug=1,bug=3", 1 << 20 },
		{ "plugin:./a.so opts=bug=3", "plugin:./a.so:bug=3", 0 },
		{ "plugin:./a:b.so:x opts=y", "plugin:./a:b.so:x,y", 0 },
		{ "", NULL, 0 },
		{ "lab frob", NULL, 0 },
		{ "lab size=", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf spec = { 0 };
		uint64_t size = 0;
		int rc = as_target_parse_meta(rows[i].value, &spec, &size, NULL);

		assert_int_equal(!!rc, !rows[i].spec);
		if (!rc) {
			assert_string_equal(as_buf_str(&spec), rows[i].spec);
			assert_int_equal(size, rows[i].size);
		}
		as_buf_free(&spec);
	}
}

/* A folder may have ".so" in its name, and options, too. */
static void objects(void **state)
{
	static const struct {
		const char *spec, *path;
	} rows[] = {
		{ "plugin:/a/fs.so", "/a/fs.so" },
		{ "plugin:fs.so:file=b.so", "fs.so" },
		{ "plugin:/home/me/x.source/fs.so:a=b", "/home/me/x.source/fs.so" },
		{ "plugin:./a:b.so.d/fs.so", "./a:b.so.d/fs.so" },
		{ "plugin:/a/fs", NULL },
		{ "plugin:", NULL },
		{ "lab", NULL },
		{ "dir:/a/fs.so", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = 0;
		const char *path = as_target_object(rows[i].spec, &len);

		assert_int_equal(!!path, !!rows[i].path);
		if (path) {
			assert_int_equal(len, strlen(rows[i].path));
			assert_memory_equal(path, rows[i].path, len);
		}
	}
}

/* Each function that must be there is missed by its name. */
static void vetting(void **state)
{
	struct as_err err;
	struct as_target_ops ops = lab_target;

	(void)state;
	assert_int_equal(as_target_vet(&ops, "it", &err), 0);
	/* A plugin that was built for an older version is welcome. */
	ops.api = 1;
	assert_int_equal(as_target_vet(&ops, "it", &err), 0);
	ops.api = 0;
	assert_int_equal(as_target_vet(&ops, "it", &err), AS_EUSE);
	assert_non_null(strstr(err.msg, "version 0"));
	ops.api = AS_TARGET_API + 1;
	assert_int_equal(as_target_vet(&ops, "it", &err), AS_EUSE);
	assert_non_null(strstr(err.msg, "version 4"));
#define CAP(flag, name)
#define REQUIRED(fn)                                                \
	ops = lab_target;                                           \
	ops.fn = NULL;                                              \
	assert_int_equal(as_target_vet(&ops, "it", &err), AS_EUSE); \
	assert_non_null(strstr(err.msg, "'" #fn "'"));
#define NEEDS(flag, fn)                                             \
	ops = lab_target;                                           \
	ops.fn = NULL;                                              \
	ops.caps |= AS_CAP_##flag;                                  \
	assert_int_equal(as_target_vet(&ops, "it", &err), AS_EUSE); \
	assert_non_null(strstr(err.msg, "'" #fn "'"));              \
	ops.caps &= ~(uint32_t)AS_CAP_##flag;                       \
	if (as_target_vet(&ops, "it", &err))                        \
		assert_null(strstr(err.msg, #flag " but lacks the function '" #fn));
#include "target/seam.def"
#undef CAP
#undef REQUIRED
#undef NEEDS
	ops = lab_target;
	ops.caps |= 1u << 31;
	assert_int_equal(as_target_vet(&ops, "it", &err), AS_EUSE);
	ops = lab_target;
	ops.name = "";
	assert_int_equal(as_target_vet(&ops, "it", &err), AS_EUSE);
}

/* The table of names has one row for each bit, in order. */
static void capability_names(void **state)
{
	(void)state;
#define REQUIRED(fn)
#define NEEDS(flag, fn)
#define CAP(flag, name) \
	assert_string_equal(as_target_cap_name((unsigned)__builtin_ctz(AS_CAP_##flag)), name);
#include "target/seam.def"
#undef CAP
#undef REQUIRED
#undef NEEDS
}

static void plans(void **state)
{
	static const struct {
		const char *text, *canonical;
	} rows[] = {
		{ "", "" },
		{ "alloc:7", "alloc:7" },
		{ "alloc:7; read:3:eio", "read:3:eio alloc:7" },
		{ "alloc:0", NULL },
		{ "alloc:", NULL },
		{ "alloc:2 alloc:1", "alloc:1 alloc:2" },
		{ "alloc:1 alloc:1", "alloc:1" },
		{ "alloc:1 alloc:2 alloc:3 alloc:4 alloc:5", NULL },
		{ "alloc:1x", NULL },
		{ "reed:3:eio", NULL },
		{ "kalloc:3:5", "kalloc:3:5" },
		{ "kio:mount:2; read:1:eio", "read:1:eio kio:mount:2" },
		{ "kpage:1:0", NULL },
		{ "kalloc:0:1", NULL },
		{ "kalloc:1", NULL },
		{ "kalloc:1:2x", NULL },
		{ "kalloc:mounted:1", NULL },
		{ "kalloc:1:1 kpage:2:2", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_plan *plan;
		struct as_buf text = { 0 };
		struct as_err err;
		int rc = as_plan_parse(rows[i].text, &plan, &err);

		assert_int_equal(!!rc, !rows[i].canonical);
		if (!rc) {
			as_plan_print(plan, &text);
			assert_string_equal(as_buf_str(&text), rows[i].canonical);
		}
		as_plan_free(plan);
		as_buf_free(&text);
	}
}

static void medium_hits_and_doorman(void **state)
{
	struct as_medium *medium, *copy;
	struct as_plan *plan;
	char sector[512] = "data";
	struct as_bd *bd;

	(void)state;
	assert_int_equal(as_medium_new(1 << 20, &medium, NULL), 0);
	assert_int_equal(as_bd_write(as_medium_bd(medium), 512, sector, 512), 0);
	copy = as_medium_copy(medium);
	bd = as_medium_bd(copy);
	assert_int_equal(as_plan_parse("read:2:eio", &plan, NULL), 0);
	as_medium_plan(copy, plan);
	memset(sector, 0, sizeof(sector));
	assert_int_equal(as_bd_read(bd, 512, sector, 512), 0);
	assert_string_equal(sector, "data");
	assert_int_equal(as_medium_fired(copy), 0);
	assert_int_equal(as_bd_read(bd, 512, sector, 512), -EIO);
	assert_int_equal(as_medium_fired(copy), 1);
	assert_false(as_plan_hits_writes(plan));
	assert_null(as_medium_misuse(copy));
	assert_int_equal(as_bd_write(bd, (1 << 20) - 512, sector, 1024), -EINVAL);
	assert_non_null(strstr(as_medium_misuse(copy), "write of 1024 bytes at 1048064"));
	as_plan_free(plan);
	as_medium_free(copy);
	as_medium_free(medium);
}

static void medium_between_processes(void **state)
{
	struct as_medium *from, *to;
	unsigned char data[512 * 3];
	int fd = memfd_create("test", MFD_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7);
	/* An odd number of sectors: the last chunk is not whole. */
	assert_int_equal(as_medium_new(512 * 2001, &from, NULL), 0);
	assert_int_equal(as_medium_new(512 * 2001, &to, NULL), 0);
	assert_int_equal(as_bd_write(as_medium_bd(from), 512 * 100, data, sizeof(data)), 0);
	assert_int_equal(as_bd_write(as_medium_bd(from), 512 * 1998, data, sizeof(data)), 0);
	assert_int_equal(as_medium_export(from, fd, NULL), 0);
	assert_int_equal(as_medium_import(to, fd, NULL), 0);
	for (uint64_t off = 0; off < 512 * 2001; off += 512) {
		unsigned char a[512], b[512];

		assert_int_equal(as_bd_read(as_medium_bd(from), off, a, 512), 0);
		assert_int_equal(as_bd_read(as_medium_bd(to), off, b, 512), 0);
		assert_memory_equal(a, b, 512);
	}
	as_medium_free(from);
	as_medium_free(to);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(specs),
		cmocka_unit_test(sizes),
		cmocka_unit_test(metadata),
		cmocka_unit_test(objects),
		cmocka_unit_test(vetting),
		cmocka_unit_test(capability_names),
		cmocka_unit_test(plans),
		cmocka_unit_test(medium_hits_and_doorman),
		cmocka_unit_test(medium_between_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
