/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_help: the manual, from the tables: for a terminal, or as a man page. */
#include "cli/cli.h"

#include <string.h>

static const char about[] =
	"assay puts file systems to the proof: it runs workloads on a file system, compares every "
	"answer and the whole tree with a model, and keeps what it finds so that it can be "
	"brought back.";

static const char *const exit_lines[] = {
	"0  nothing was found",
	"1  findings (replay: the finding was reproduced; fmt --check: a file is not canonical)",
	"2  wrong use, bad input, or an error of assay's own",
	"3  this machine lacks something; the message names the package that gives it",
	"128+N  signal N ended a run or a hunt before anything was found",
};

/* Text broken at blanks, each line indented. */
static void put_wrapped(FILE *out, const char *text, int indent)
{
	int column = 0;

	while (*text) {
		int len = (int)strcspn(text, " \n");

		if (column && column + 1 + len > 96) {
			fputc('\n', out);
			column = 0;
		}
		if (!column)
			column = fprintf(out, "%*s%.*s", indent, "", len, text);
		else
			column += fprintf(out, " %.*s", len, text);
		text += len;
		if (*text == '\n') {
			fputc('\n', out);
			column = 0;
		}
		text += *text != '\0';
	}
	fputc('\n', out);
}

static void put_option(FILE *out, const struct as_opt *o)
{
	char left[64];
	int len = 0;

	if (o->letter)
		len += snprintf(left + len, sizeof(left) - (size_t)len, "-%c, ", o->letter);
	len += snprintf(left + len, sizeof(left) - (size_t)len, "--%s", o->name);
	if (o->kind == AS_OPT_CHOICE)
		len += snprintf(left + len, sizeof(left) - (size_t)len, " %s", o->choices);
	else if (o->kind != AS_OPT_FLAG)
		len += snprintf(left + len, sizeof(left) - (size_t)len, " %s", o->arg);
	fprintf(out, "  %-26s %s", left, o->help);
	if (o->kind == AS_OPT_NUMBER && o->max)
		fprintf(out, " (%llu to %llu)", (unsigned long long)o->min,
			(unsigned long long)o->max);
	if (o->many)
		fputs(" (may be given again)", out);
	fputc('\n', out);
}

void as_cli_help(const struct as_command *c, FILE *out)
{
	bool options = c->opts && c->opts->name;

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
	for (const struct as_opt *o = c->opts; o->name; o++)
		put_option(out, o);
}

static void put_overview(FILE *out)
{
	fprintf(out, "usage: assay COMMAND [OPTION]... [OPERAND]...\n\n");
	put_wrapped(out, about, 0);
	fputc('\n', out);
	for (unsigned i = 0; as_cli_command(i); i++)
		fprintf(out, "  %-10s %s\n", as_cli_command(i)->name, as_cli_command(i)->summary);
	fprintf(out, "\n`assay help COMMAND` says more. Exit status:\n");
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

static void man_option(FILE *out, const struct as_opt *o)
{
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
	put_roff(out, o->help);
	if (o->kind == AS_OPT_NUMBER && o->max)
		fprintf(out, "(%llu to %llu)\n", (unsigned long long)o->min,
			(unsigned long long)o->max);
	if (o->many)
		fputs("(may be given again)\n", out);
}

void as_cli_man(FILE *out)
{
	fprintf(out, ".\\\" Made by `assay help --man`; change the tables in src/cli instead.\n");
	fprintf(out, ".TH ASSAY 1 \"\" \"assay " AS_VERSION "\" \"User Commands\"\n");
	fprintf(out, ".SH NAME\nassay \\- put file systems to the proof\n");
	fprintf(out, ".SH SYNOPSIS\n.B assay\n.I COMMAND\n[OPTION]... [OPERAND]...\n");
	fprintf(out, ".SH DESCRIPTION\n");
	put_roff(out, about);
	fprintf(out, ".SH COMMANDS\n");
	for (unsigned i = 0; as_cli_command(i); i++) {
		const struct as_command *c = as_cli_command(i);

		fprintf(out, ".SS assay %s %s\n", c->name, c->operands);
		put_roff(out, c->summary);
		if (c->text) {
			fputs(".PP\n", out);
			put_roff(out, c->text);
		}
		for (const struct as_opt *o = c->opts; o && o->name; o++)
			man_option(out, o);
	}
	fprintf(out, ".SH EXIT STATUS\n");
	for (size_t i = 0; i < sizeof(exit_lines) / sizeof(exit_lines[0]); i++) {
		size_t len = strcspn(exit_lines[i], " ");

		fprintf(out, ".TP\n.B %.*s\n%s\n", (int)len, exit_lines[i],
			exit_lines[i] + len + 2);
	}
}

static int run(const struct as_args *args, struct as_err *err)
{
	if (as_args_has(args, "man")) {
		as_cli_man(stdout);
		return AS_EXIT_CLEAN;
	}
	if (!args->n_operands) {
		put_overview(stdout);
		return AS_EXIT_CLEAN;
	}
	for (unsigned i = 0; as_cli_command(i); i++)
		if (!strcmp(as_cli_command(i)->name, args->operands[0])) {
			as_cli_help(as_cli_command(i), stdout);
			return AS_EXIT_CLEAN;
		}
	return as_fail(err, AS_EUSE, "unknown command '%s'; `assay help` lists them",
		       args->operands[0]);
}

static const struct as_opt opts[] = {
	{ .name = "man", .help = "print the whole manual as a man page" },
	{ 0 },
};

const struct as_command as_cmd_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "say what assay can do, or one command",
	.opts = opts,
	.max_operands = 1,
	.run = run,
};
