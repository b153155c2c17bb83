/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server: commands are split without a shell, and processes that are no servers are recognised. */
#include "tests/lib/skip.h"

#include "target/fstype.h"
#include "target/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *command;
	const char *words; /* joined by '|'; NULL: refused */
	const char *says; /* when refused */
} rows[] = {
	{ "a", "a", NULL },
	{ "  a  -f   b ", "a|-f|b", NULL },
	{ "a {disk} {mnt}", "a|/d/0|/m", NULL },
	{ "a -o x={src},y {mnt}", "a|-o|x=/s,y|/m", NULL },
	{ "a 'b c' \"d e\" f\\ g", "a|b c|d e|f g", NULL },
	{ "a '{mnt}'", "a|/m", NULL },
	{ "a \\{mnt}", "a|{mnt}", NULL },
	{ "a '' \"\"", "a||", NULL },
	{ "a 'b\\c' \"b\\\"c\"", "a|b\\c|b\"c", NULL },
	{ "a x'y'z", "a|xyz", NULL },
	{ "a $HOME; rm *", "a|$HOME;|rm|*", NULL },
	{ "a {nope}", NULL, "expected {disk}, {src} or {mnt}" },
	{ "a 'b", NULL, "a quote is not closed" },
	{ "a \"b", NULL, "a quote is not closed" },
	{ "", NULL, "there is no command" },
	{ "   ", NULL, "there is no command" },
};

static void words(void **state)
{
	static const struct as_server_places places = { "/d/0", "/m", "/s" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf got = { 0 };
		struct as_err err = { 0 };
		char **argv;
		int rc = as_server_argv(rows[i].command, &places, &argv, &err);

		if (!rows[i].words) {
			assert_int_equal(rc, AS_EUSE);
			assert_null(argv);
			assert_non_null(strstr(err.msg, rows[i].says));
			continue;
		}
		if (rc)
			fail_msg("%s: %s", rows[i].command, err.msg);
		for (char **word = argv; *word; word++)
			as_buf_addf(&got, "%s%s", word == argv ? "" : "|", *word);
		assert_string_equal(as_buf_str(&got), rows[i].words);
		as_buf_free(&got);
		as_fstype_free_words(argv);
	}
}

static void no_servers(void **state)
{
	static const struct {
		const char *argv[4];
		int rc;
		const char *says; /* its output has it */
	} progs[] = {
		{ { "true" }, -ECONNABORTED, "" },
		{ { "no-such-program-here" }, -ENOEXEC, "" },
		{ { "sh", "-c", "echo to nobody; echo and to all >&2; exit 3" },
		  -ECONNABORTED,
		  "to nobody\nand to all\n" },
		{ { "sh", "-c", "head -c 100000 /dev/zero; kill -9 $$" }, -ECONNABORTED, "???" },
		{ { "sleep", "1000" }, -ETIMEDOUT, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(progs) / sizeof(progs[0]); i++) {
		struct as_buf out = { 0 };
		struct as_server *server;
		int rc = as_server_start(NULL, (char *const *)progs[i].argv, "/",
					 progs[i].rc == -ETIMEDOUT ? 50 : 10000, &server);

		if (rc != progs[i].rc)
			fail_msg("%s: %d", progs[i].argv[0], rc);
		as_server_output(server, &out);
		assert_non_null(strstr(as_buf_str(&out), progs[i].says));
		assert_true(out.len <= 8192);
		as_buf_free(&out);
		as_server_free(server);
	}
	as_server_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(words), cmocka_unit_test(no_servers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
