/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of steps holds for all means: what it says that a program does, the program has a
 * section for; what it says that takes assay, no program does; each word that a program says to its
 * mounter, the script understands.
 */
#include "dossier/steps.h"
#include "tests/lib/skip.h"

#include <stdio.h>
#include <string.h>

static void read_text(const char *path, struct as_buf *out)
{
	struct as_err err = { 0 };

	if (as_buf_read_file(out, path, (size_t)1 << 24, &err))
		fail_msg("%s", err.msg);
}

static bool has(const struct as_buf *text, const char *form, const char *name)
{
	char line[128];

	snprintf(line, sizeof(line), form, name);
	return strstr(text->data, line) != NULL;
}

static void check_op(const struct as_buf *program, const struct as_op *op)
{
	const char *section = as_step_section(op), *why = as_step_needs_assay(op);
	const char *name = as_op_table[op->code].name;

	if (!section == !why || (why && !*why))
		fail_msg("%s: either a program does it, or there is a reason", name);
	if (section && (!has(program, "\n/*@ %s:", section) || !has(program, " do_%s(", section)))
		fail_msg("%s: no section %s", name, section);
	if (!section && has(program, " do_%s(", name))
		fail_msg("%s: it needs no assay: there is a section", name);
	if (!*as_step_manual(op->code))
		fail_msg("%s: no manual page", name);
}

static void test_program(void **state)
{
	struct as_buf program = { 0 };

	(void)state;
	read_text("src/dossier/emitted/program.c", &program);
	for (int code = 0; code < AS_OP_COUNT; code++) {
		struct as_op op = { .code = (enum as_opcode)code, .opts = "" };

		check_op(&program, &op);
		op.opts = "rw,ro";
		check_op(&program, &op);
		op.opts = "ro,noatime";
		check_op(&program, &op);
	}
	as_buf_free(&program);
}

/* A row of its own is used for options, and only where they say more than ro and rw. */
static void test_options(void **state)
{
	const struct as_op plain = { .code = AS_OP_REMOUNT, .opts = "ro,rw" },
			   more = { .code = AS_OP_REMOUNT, .opts = "ro,sync" };

	(void)state;
	assert_int_equal(as_step_how(&plain), AS_STEP_CALLS);
	assert_string_equal(as_step_section(&plain), "remount");
	assert_int_equal(as_step_how(&more), AS_STEP_MOUNTER);
	assert_string_equal(as_step_section(&more), "remount_options");
}

/* call_mounter("VERB" or execl(mounter, mounter, "VERB" in the program; VERB) in the script, of
 * which the last is what any other word does. */
static void test_mounter(void **state)
{
	static const char *const before[] = { "call_mounter(\"", "mounter, mounter, \"" };
	struct as_buf program = { 0 }, script = { 0 };
	unsigned n = 0;

	(void)state;
	read_text("src/dossier/emitted/program.c", &program);
	read_text("src/dossier/emitted/repro.sh", &script);
	for (size_t i = 0; i < 2; i++)
		for (const char *at = program.data; (at = strstr(at, before[i])); n++) {
			char verb[32] = "";

			at += strlen(before[i]);
			sscanf(at, "%31[a-z]", verb);
			if (strcmp(verb, "mount") != 0 && !has(&script, "\n\t%s)", verb))
				fail_msg("repro.sh does not know %s", verb);
		}
	assert_int_equal(n, 3);
	as_buf_free(&program);
	as_buf_free(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_mounter),
	};

	return cmocka_run_group_tests_name("dossier/steps", tests, NULL, NULL);
}
