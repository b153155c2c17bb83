/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli: finds the command in its table and runs it; reports errors. */
#include "cli/cli.h"

#include "base/show.h"
#include "cli/live/screen.h"
#include "cli/start.h"
#include "cli/stopping.h"

#include <string.h>

static const struct as_command *const *commands; /* the table, once the program runs */

const struct as_command *as_cli_command(unsigned i)
{
	return commands[i] && !commands[i]->hidden ? commands[i] : NULL;
}

static int complain(int code, const struct as_err *err)
{
	struct as_buf line = { 0 };

	/* One line, whatever a file name or a library put into it. */
	as_show(&line, err->msg);
	fflush(stdout);
	fprintf(stderr, "assay: %s\n", as_buf_str(&line));
	as_buf_free(&line);
	return code == AS_ELACK ? AS_EXIT_LACK : AS_EXIT_WRONG;
}

static const struct as_command *find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

/* Output that did not arrive is an error: a full disk must not look like success. */
static int finish(int status, struct as_err *err)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	as_cli_die_unheard();
	return complain(AS_EIO, (as_fail(err, AS_EIO, "cannot write to standard output"), err));
}

static int main_inside(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct as_command *command;
	struct as_args args;
	struct as_err err = { 0 };
	int rc;

	as_cli_start();
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		printf("assay " AS_VERSION "\n");
		return finish(AS_EXIT_CLEAN, &err);
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	command = find(name);
	if (!command) {
		as_fail(&err, AS_EUSE,
			*name ? "unknown command '%s'; `assay help` lists them"
			      : "no command given%s; `assay help` lists them",
			name);
		return complain(AS_EUSE, &err);
	}
	if (asks_for_help(argc - 2, argv + 2)) {
		as_cli_help(command, stdout);
		return finish(AS_EXIT_CLEAN, &err);
	}
	rc = as_args_parse(command, argc - 2, argv + 2, &args, &err);
	if (!rc)
		rc = command->run(&args, &err);
	/* Who was stopped has not looked at all that it was to look at, or could not even begin. */
	if ((rc == AS_EXIT_CLEAN || rc == AS_ESTOP) && as_cli_stopped() && !command->watches)
		rc = AS_EXIT_SIGNAL + as_cli_stopped();
	return rc < 0 ? complain(rc, &err) : finish(rc, &err);
}

int as_cli_main(const struct as_command *const *table, int argc, char **argv)
{
	int status;

	commands = table;
	as_cli_screen();
	status = main_inside(argc, argv);
	as_cli_screen_end();
	return status;
}
