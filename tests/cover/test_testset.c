/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of tests as paths, LTP's lists, and the order of tests: against the plainest way to find
 * it. */
#include "base/buf.h"
#include "cover/runtest.h"
#include "cover/split.h"
#include "cover/testset.h"
#include "tests/lib/tmpdir.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void paths(void **state)
{
	static const struct {
		const char *name, *path;
	} cases[] = {
		{ "generic/001", "generic/001" },
		{ "./tests//a.t", "tests/a.t" },
		{ "/etc/x/", "etc/x" },
		{ "../../x", "%2E./%2E./x" },
		{ "..", "%2E." },
		{ ".", "unnamed" },
		{ "", "unnamed" },
		{ "///", "unnamed" },
		{ ".hidden/.y", "%2Ehidden/%2Ey" },
		{ "_total", "%5Ftotal" },
		{ "a/_total", "a/_total" },
		{ "x.cov", "x.cov" },
		{ "x.cov/y", "x%2Ecov/y" },
		{ "a b+c", "a+b%2Bc" },
		{ "50%\n\x7f\xc3", "50%25%0A%7F%C3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct as_buf out = { 0 };

		as_split_path(cases[i].name, strlen(cases[i].name), &out);
		assert_string_equal(as_buf_str(&out), cases[i].path);
		as_buf_free(&out);
	}
}

/* Whatever the bytes are: no part is empty, hidden, or longer than a name can be. */
static void any_path(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		char name[4000];
		size_t len = round % 40 ? round % 60 : 4000;
		struct as_buf out = { 0 };

		for (size_t i = 0; i < len; i++) {
			seed = seed * 1103515245 + 12345;
			name[i] = (char)(seed >> 16);
			if (seed >> 28 < 3)
				name[i] = "./_"[seed >> 28];
		}
		as_split_path(name, len, &out);
		assert_true(out.len > 0 && out.data[0] != '_');
		for (const char *s = out.data; *s;) {
			size_t part = strcspn(s, "/");

			assert_true(part > 0 && part < 240 && *s != '.');
			assert_true(strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					      "0123456789._-=,@:%+") >= part);
			s += part + (s[part] == '/');
		}
		as_buf_free(&out);
	}
}

static void lists(void **state)
{
	static const char text[] = "# comment\n\nopen01 open01\ngf01\tgrowfiles  -W gf01 -b\n"
				   "df01 df01.sh -f ext4\nab01 ulimit -c 1024;abort01\r\n"
				   "again open01\nnone\n  in /opt/ltp/bin/in  a";
#define ARGS(s) s, sizeof(s) - 1
	const struct {
		const char *program, *args;
		size_t len;
		const char *tag;
	} cases[] = {
		{ "/opt/ltp/testcases/bin/open01", ARGS("open01"), "open01" },
		{ "./open01", ARGS("./open01\0"), "open01" },
		{ "/x/open01", ARGS("open01\0-v"), NULL },
		{ "/x/growfiles", ARGS("growfiles\0-W\0gf01\0-b\0"), "gf01" },
		{ "/x/growfiles", ARGS("growfiles\0-W\0gf02\0-b\0"), NULL },
		{ "/x/df01.sh", ARGS("/bin/sh\0/x/df01.sh\0-f\0ext4"), "df01" },
		{ "/bin/sh", ARGS("sh\0-c\0ulimit -c 1024;abort01"), "ab01" },
		{ "/bin/sh", ARGS("sh\0-c\0df01.sh  -f ext4\0"), "df01" },
		{ "/bin/in", ARGS("in\0a"), "in" },
		{ "/bin/sh", ARGS("sh\0-c"), NULL },
		{ "/bin/sh", ARGS(""), NULL },
		{ "", ARGS("\0\0\0"), NULL },
	};
	char path[PATH_MAX];
	struct as_runtest *runtest = NULL;
	struct as_err err;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/runtest", t_tmpdir());
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	assert_int_equal(as_runtest_load(path, &runtest, &err), 0);
	assert_int_equal(as_runtest_n(runtest), 5);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *tag =
			as_runtest_find(runtest, cases[i].program, cases[i].args, cases[i].len);

		assert_true(!tag == !cases[i].tag);
		if (tag)
			assert_string_equal(tag, cases[i].tag);
	}
	as_runtest_free(runtest);
}

/* Sets of chance; each step must take a test that adds the most, as counting all of them says. */
static void ranks(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		struct as_testset_part parts[60] = { 0 };
		struct as_testset_test tests[25] = { 0 };
		struct as_testset_met met[25][60];
		struct as_testset set = {
			.parts = parts, .n_parts = 60, .tests = tests, .n_tests = 25
		};
		unsigned order[26], news[26], useful, sum = 0, all = 0;
		bool have[60] = { false }, any[60] = { false };

		for (unsigned t = 0; t < 25; t++) {
			tests[t].met = met[t];
			for (unsigned p = 0; p < 60; p++) {
				seed = seed * 1103515245 + 12345;
				if ((seed >> 16) % (2 + t) > 1)
					continue;
				met[t][tests[t].n_met++] = (struct as_testset_met){ p, 1 };
				any[p] = true;
			}
			tests[t].calls = seed >> 24;
		}
		useful = as_testset_rank(&set, order, news);
		for (unsigned i = 0; i < 25; i++) {
			unsigned most = 0;

			for (unsigned t = 0; t < 25; t++) {
				unsigned n = 0;

				for (unsigned k = 0; k < tests[t].n_met; k++)
					n += !have[met[t][k].part];
				most = n > most ? n : most;
				if (t == order[i])
					assert_int_equal(n, news[i]);
			}
			assert_int_equal(most, news[i]);
			assert_int_equal(most > 0, i < useful);
			for (unsigned k = 0; k < tests[order[i]].n_met; k++)
				have[met[order[i]][k].part] = true;
			sum += news[i];
		}
		for (unsigned p = 0; p < 60; p++)
			all += any[p];
		assert_int_equal(sum, all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(any_path),
		cmocka_unit_test(lists),
		cmocka_unit_test(ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
