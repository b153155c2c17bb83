/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_help: the manual, from the tables: for a terminal, or as a man page. */
#include "cli/cli.h"
#include "cmd/help_complete.h"

#include <ctype.h>
#include <string.h>

static const char about[] =
	"assay tests file systems. It runs workloads on a file system, compares every answer and "
	"the whole tree with a model, and stores each finding so that it can be reproduced.";

static const char *const exit_lines[] = {
	"0  nothing was found",
	"1  there are findings (replay: it was reproduced; fmt --check: a file is not canonical)",
	"2  wrong use, bad input, or an error in assay itself",
	"3  something is missing on this machine; the message names the package that has it",
	"128+N  signal N ended the command before anything was found",
};

#define MADE_BY ".\\\" Made by `assay help --man`; change the tables in src/cmd instead.\n"
#define WIDTH 96
#define OPTION_COLUMN 29 /* where the help of options begins */
#define BOUND_MAX 65536 /* a larger bound tells a user nothing */

/* Text broken at blanks. The first line begins where the cursor is, in column `indent`; the others
 * are indented that far. */
static void put_wrapped(FILE *out, const char *text, int indent)
{
	int column = indent;
	bool start = true;

	while (*text) {
		int len = (int)strcspn(text, " \n");

		if (!start && column + 1 + len > WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
			start = true;
		}
		column += fprintf(out, "%s%.*s", start ? "" : " ", len, text);
		start = false;
		text += len;
		if (*text == '\n') {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
			start = true;
		}
		text += *text != '\0';
	}
	fputc('\n', out);
}

/* What an option's help says beyond its own words: "" or " (...)". */
static void put_limits(const struct as_opt *o, char *to, size_t len)
{
	int n = 0;

	*to = '\0';
	if (o->kind == AS_OPT_NUMBER && o->max && o->max <= BOUND_MAX)
		n = snprintf(to, len, " (%llu to %llu)", (unsigned long long)o->min,
			     (unsigned long long)o->max);
	if (o->many)
		snprintf(to + n, len - (size_t)n, " (may be given several times)");
}

static void put_option(FILE *out, const struct as_opt *o, const char *help)
{
	char left[64], limits[96], text[1024];
	int len = 0;

	if (o->letter)
		len += snprintf(left + len, sizeof(left) - (size_t)len, "-%c, ", o->letter);
	len += snprintf(left + len, sizeof(left) - (size_t)len, "--%s", o->name);
	if (o->kind == AS_OPT_CHOICE)
		len += snprintf(left + len, sizeof(left) - (size_t)len, " %s", o->choices);
	else if (o->kind != AS_OPT_FLAG)
		len += snprintf(left + len, sizeof(left) - (size_t)len, " %s", o->arg);
	len = fprintf(out, "  %-*s", OPTION_COLUMN - 3, left);
	fprintf(out, len < OPTION_COLUMN ? "%*s" : "\n%*s",
		len < OPTION_COLUMN ? OPTION_COLUMN - len : OPTION_COLUMN, "");
	put_limits(o, limits, sizeof(limits));
	snprintf(text, sizeof(text), "%s%s", help, limits);
	put_wrapped(out, text, OPTION_COLUMN);
}

void as_cli_help(const struct as_command *c, FILE *out)
{
	bool options = as_opt_at(c->opts, 0, NULL);
	const struct as_opt *o;
	const char *help;

	fprintf(out, "usage: assay %s%s%s%s\n\n", c->name, options ? " [OPTION]..." : "",
		*c->operands ? " " : "", c->operands);
	put_wrapped(out, c->summary, 0);
	if (c->text) {
		fputc('\n', out);
		put_wrapped(out, c->text, 0);
	}
	if (!options)
		return;
	fputc('\n', out);
	for (size_t i = 0; (o = as_opt_at(c->opts, i, &help)); i++)
		put_option(out, o, help);
}

static void put_overview(FILE *out)
{
	fprintf(out, "usage: assay COMMAND [OPTION]... [OPERAND]...\n\n");
	put_wrapped(out, about, 0);
	fputc('\n', out);
	for (unsigned i = 0; as_cli_command(i); i++)
		fprintf(out, "  %-10s %s\n", as_cli_command(i)->name, as_cli_command(i)->summary);
	fprintf(out, "\n`assay help COMMAND` explains one of them. Exit status:\n");
	for (size_t i = 0; i < sizeof(exit_lines) / sizeof(exit_lines[0]); i++)
		fprintf(out, "%s\n", exit_lines[i]);
}

/* ---- The man page ---------------------------------------------------------------------------- */

/* roff takes backslashes, and dots and quotes at the start of a line, for itself. */
static void put_roff(FILE *out, const char *text)
{
	bool start = true;

	for (; *text; text++) {
		if (start && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		start = *text == '\n';
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else if (*text == '\n')
			fputs("\n.br\n", out);
		else
			fputc(*text, out);
	}
	fputc('\n', out);
}

static void man_option(FILE *out, const struct as_opt *o, const char *help)
{
	char limits[96];

	fputs(".TP\n", out);
	if (o->letter)
		fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
	fputs("\\fB", out);
	fprintf(out, "\\-\\-");
	for (const char *s = o->name; *s; s++)
		fputs(*s == '-' ? "\\-" : (char[]){ *s, 0 }, out);
	fputs("\\fR", out);
	if (o->kind != AS_OPT_FLAG)
		fprintf(out, " \\fI%s\\fR", o->kind == AS_OPT_CHOICE ? o->choices : o->arg);
	fputc('\n', out);
	put_roff(out, help);
	put_limits(o, limits, sizeof(limits));
	if (*limits)
		fprintf(out, "%s\n", limits + 1);
}

static void man_exit(FILE *out)
{
	fprintf(out, ".SH EXIT STATUS\n");
	for (size_t i = 0; i < sizeof(exit_lines) / sizeof(exit_lines[0]); i++) {
		size_t len = strcspn(exit_lines[i], " ");

		fprintf(out, ".TP\n.B %.*s\n%s\n", (int)len, exit_lines[i],
			exit_lines[i] + len + 2);
	}
}

/* What the manual says of a command: its text and its options. */
static void man_command(FILE *out, const struct as_command *c, const char *heading)
{
	const struct as_opt *o;
	const char *help;

	if (c->text) {
		fputs(".PP\n", out);
		put_roff(out, c->text);
	}
	if (heading && as_opt_at(c->opts, 0, NULL))
		fprintf(out, ".SH %s\n", heading);
	for (size_t i = 0; (o = as_opt_at(c->opts, i, &help)); i++)
		man_option(out, o, help);
}

static void cli_man(FILE *out)
{
	fprintf(out, MADE_BY);
	fprintf(out, ".TH ASSAY 1 \"\" \"assay " AS_VERSION "\" \"User Commands\"\n");
	fprintf(out, ".SH NAME\nassay \\- test file systems\n");
	fprintf(out, ".SH SYNOPSIS\n.B assay\n.I COMMAND\n[OPTION]... [OPERAND]...\n");
	fprintf(out, ".SH DESCRIPTION\n");
	put_roff(out, about);
	fprintf(out, ".SH COMMANDS\n");
	for (unsigned i = 0; as_cli_command(i); i++) {
		const struct as_command *c = as_cli_command(i);

		fprintf(out, ".SS assay %s %s\n", c->name, c->operands);
		put_roff(out, c->summary);
		man_command(out, c, NULL);
	}
	man_exit(out);
}

/* A page of its own: assay-run(1). */
static void man_page(FILE *out, const struct as_command *c)
{
	fprintf(out, MADE_BY ".TH ASSAY\\-");
	for (const char *s = c->name; *s; s++)
		fputs(*s == '-' ? "\\-" : (char[]){ (char)toupper((unsigned char)*s), 0 }, out);
	fprintf(out, " 1 \"\" \"assay " AS_VERSION "\" \"User Commands\"\n");
	fprintf(out, ".SH NAME\nassay\\-%s \\- ", c->name);
	put_roff(out, c->summary);
	fprintf(out, ".SH SYNOPSIS\n.B assay %s\n%s", c->name,
		as_opt_at(c->opts, 0, NULL) ? "[OPTION]...\n" : "");
	if (*c->operands)
		put_roff(out, c->operands);
	fprintf(out, ".SH DESCRIPTION\n");
	put_roff(out, c->summary);
	man_command(out, c, "OPTIONS");
	man_exit(out);
	fprintf(out, ".SH SEE ALSO\n.BR assay (1)\n");
}

static const struct as_command *find(const char *name)
{
	for (unsigned i = 0; as_cli_command(i); i++)
		if (!strcmp(as_cli_command(i)->name, name))
			return as_cli_command(i);
	return NULL;
}

static int run(const struct as_args *args, struct as_err *err)
{
	const struct as_command *c = args->n_operands ? find(args->operands[0]) : NULL;

	if (args->n_operands && !c)
		return as_fail(err, AS_EUSE, "unknown command '%s'; `assay help` lists them",
			       args->operands[0]);
	if (as_args_has(args, "completion"))
		as_help_completion(stdout, as_args_text(args, "completion", ""));
	else if (as_args_has(args, "man") && c)
		man_page(stdout, c);
	else if (as_args_has(args, "man"))
		cli_man(stdout);
	else if (c)
		as_cli_help(c, stdout);
	else
		put_overview(stdout);
	return AS_EXIT_CLEAN;
}

static const struct as_opt opts[] = {
	{ .name = "man", .help = "print the whole manual, or that of the command, as a man page" },
	{ .name = "completion",
	  .kind = AS_OPT_CHOICE,
	  .choices = "bash|zsh",
	  .help = "print the completion of command lines for this shell" },
	{ 0 },
};

const struct as_command as_cmd_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "explain assay, or one of its commands",
	.opts = opts,
	.max_operands = 1,
	.run = run,
};
