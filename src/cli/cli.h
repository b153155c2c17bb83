/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli: the command line. A command is a row: its options are a table, from which come the parser,
 * `assay help CMD`, `--help`, and the man page (`assay help --man`): there is one manual.
 *
 * Exit status: 0 nothing found, 1 findings, 2 wrong use or an error of ours, 3 this machine lacks
 * something. Every error is one line on stderr, "assay: ...".
 */
#ifndef AS_CLI_CLI_H
#define AS_CLI_CLI_H

#include "base/err.h"
#include "base/version.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { AS_EXIT_CLEAN = 0, AS_EXIT_FOUND = 1, AS_EXIT_WRONG = 2, AS_EXIT_LACK = 3 };
#define AS_EXIT_SIGNAL 128 /* plus the signal that ended us before anything was found */

enum as_opt_kind { AS_OPT_FLAG, AS_OPT_TEXT, AS_OPT_NUMBER, AS_OPT_SIZE, AS_OPT_CHOICE };

/* What becomes of an option when a hunt that was begun with it is resumed. */
enum as_opt_resume {
	AS_OPT_KEPT, /* it has the value of then: with another one it would be another hunt */
	AS_OPT_FREE, /* the same, unless it is given anew */
	AS_OPT_ANEW, /* it was for that session: nothing remembers it */
};

struct as_opt {
	const char *name; /* without the dashes */
	char letter; /* 0: none */
	enum as_opt_kind kind;
	const char *arg; /* what help calls the value */
	const char *help;
	uint64_t min, max; /* bounds of a number */
	const char *choices; /* "op|end" */
	bool many; /* may be given more than once */
	enum as_opt_resume resume;
	/* In place of all that: the option of that row, with other words if `help` is set. A table
	 * ends with neither a name nor a row. */
	const struct as_opt *row;
};

/* Option i of a table; NULL after the last. `help` gets its words, and may be NULL. */
const struct as_opt *as_opt_at(const struct as_opt *table, size_t i, const char **help);

struct as_args;

struct as_command {
	const char *name, *operands, *summary;
	const char *text; /* paragraphs of the manual */
	const struct as_opt *opts;
	int min_operands, max_operands; /* max -1: any number */
	int (*run)(const struct as_args *args, struct as_err *err); /* exit status or negative */
	bool hidden; /* no help lists it */
	bool watches; /* a signal is how a person ends it */
};

/* ---- What was given ---- */

#define AS_GIVEN_MAX 64

struct as_args {
	const struct as_command *command;
	struct {
		const struct as_opt *opt;
		const char *value;
		uint64_t number;
	} given[AS_GIVEN_MAX];
	size_t n_given;
	char **operands;
	int n_operands;
};

AS_MUST_CHECK int as_args_parse(const struct as_command *command, int argc, char **argv,
				struct as_args *args, struct as_err *err);
bool as_args_has(const struct as_args *args, const char *name);
/* The value, or `otherwise`. */
const char *as_args_text(const struct as_args *args, const char *name, const char *otherwise);
uint64_t as_args_number(const struct as_args *args, const char *name, uint64_t otherwise);

/* ---- Commands ---- */

/* Row i of the table of commands that help lists, or NULL after the last. */
const struct as_command *as_cli_command(unsigned i);
void as_cli_help(const struct as_command *command, FILE *out);
/* The whole program. The table ends with NULL; hidden commands stand at its end. */
int as_cli_main(const struct as_command *const *commands, int argc, char **argv);

#endif
