/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * help_complete: see help_complete.h. What both shells share is a function of the shell,
 * _assay_words COMMAND WORD-BEFORE, which prints the words that may come; it is a table in shell,
 * made of our tables. Only targets are asked of the program, because plugins and packages change
 * them.
 */
#include "cmd/help_complete.h"

#include "cli/cli.h"

#include <string.h>

/* The words that the operands of a command begin with: "record -- CMD... | read TRACE...". */
static void put_parts(FILE *out, const char *operands)
{
	if (!strchr(operands, '|'))
		return;
	for (const char *s = operands; *s; s += strcspn(s, "|"), s += *s == '|') {
		size_t len;

		while (*s == ' ' || *s == '[')
			s += *s == '[' && strchr(s, ']') ? strcspn(s, "]") + 1 : 1;
		len = strspn(s, "abcdefghijklmnopqrstuvwxyz-");
		if (len && (s[len] == ' ' || !s[len] || s[len] == '|') && *s != '-')
			fprintf(out, " %.*s", (int)len, s);
	}
}

static void put_choices(FILE *out, const struct as_command *c, const struct as_opt *o)
{
	fprintf(out, "\t%s:--%s", c->name, o->name);
	if (o->letter)
		fprintf(out, " | %s:-%c", c->name, o->letter);
	fprintf(out, ") echo '");
	for (const char *s = o->choices; *s; s++)
		fputc(*s == '|' ? ' ' : *s, out);
	fprintf(out, "' ;;\n");
}

static void put_command(FILE *out, const struct as_command *c)
{
	const struct as_opt *o;

	for (size_t i = 0; (o = as_opt_at(c->opts, i, NULL)); i++) {
		if (o->kind == AS_OPT_CHOICE)
			put_choices(out, c, o);
		else if (!strcmp(o->name, "target"))
			fprintf(out,
				"\t%s:--target | %s:-t) \"$1\" targets 2>/dev/null |\n"
				"\t\tsed -nE 's/^ +([a-z][a-z0-9_-]*).*/\\1/p' ;;\n",
				c->name, c->name);
		else if (o->kind != AS_OPT_FLAG)
			fprintf(out, "\t%s:--%s) ;;\n", c->name, o->name);
	}
	fprintf(out, "\t%s:*) echo '", c->name);
	for (size_t i = 0; (o = as_opt_at(c->opts, i, NULL)); i++)
		fprintf(out, "%s--%s", i ? " " : "", o->name);
	put_parts(out, c->operands);
	if (!strcmp(c->name, "help"))
		for (unsigned i = 0; as_cli_command(i); i++)
			fprintf(out, " %s", as_cli_command(i)->name);
	fprintf(out, "' ;;\n");
}

static void put_words(FILE *out)
{
	fprintf(out,
		"# Made by `assay help --completion`; change the tables in src/cmd instead.\n\n"
		"# PROGRAM COMMAND WORD-BEFORE: the words that may come next.\n"
		"_assay_words() {\n\tcase $2:$3 in\n\t:*) echo '");
	for (unsigned i = 0; as_cli_command(i); i++)
		fprintf(out, "%s ", as_cli_command(i)->name);
	fprintf(out, "--version' ;;\n");
	for (unsigned i = 0; as_cli_command(i); i++)
		put_command(out, as_cli_command(i));
	fprintf(out, "\tesac\n}\n\n");
}

static const char bash[] =
	"_assay() {\n"
	"\tlocal word=${COMP_WORDS[COMP_CWORD]} command=\n"
	"\tCOMPREPLY=()\n"
	"\t[ \"$COMP_CWORD\" = 1 ] || command=${COMP_WORDS[1]}\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"$(_assay_words \"${COMP_WORDS[0]}\" \\\n"
	"\t\t\"$command\" \"${COMP_WORDS[COMP_CWORD - 1]}\")\" -- \"$word\")\n"
	"}\n\n"
	"complete -o default -F _assay assay\n";

static const char zsh[] =
	"_assay() {\n"
	"\tlocal command=\n"
	"\tlocal -a found\n"
	"\t(( CURRENT == 2 )) || command=${words[2]}\n"
	"\tfound=(${=\"$(_assay_words \"${words[1]}\" \"$command\" \"${words[CURRENT-1]}\")\"})\n"
	"\t(( $#found )) && compadd -a found\n"
	"\t_files\n"
	"}\n\n"
	"_assay \"$@\"\n";

void as_help_completion(FILE *out, const char *shell)
{
	bool is_zsh = !strcmp(shell, "zsh");

	fprintf(out, "%s# SPDX-License-Identifier: GPL-2.0-or-later\n",
		is_zsh ? "#compdef assay\n" : "");
	put_words(out);
	fputs(is_zsh ? zsh : bash, out);
}
