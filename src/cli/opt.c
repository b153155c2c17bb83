/* SPDX-License-Identifier: GPL-2.0-or-later */
/* opt: the one parser of options. "--name VALUE", "--name=VALUE", "-n VALUE",
 * "-nVALUE"; "--" ends them. */
#include "cli/cli.h"
#include "target/target.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct as_opt *as_opt_at(const struct as_opt *table, size_t i, const char **help)
{
	const struct as_opt *o = table ? &table[i] : NULL;

	if (!o || (!o->name && !o->row))
		return NULL;
	if (help)
		*help = o->help ? o->help : o->row->help;
	return o->row ? o->row : o;
}

static const struct as_opt *find_opt(const struct as_command *command, const char *word, size_t len)
{
	bool dashes = word[0] == '-' && word[1] == '-';
	const struct as_opt *o;

	for (size_t i = 0; (o = as_opt_at(command->opts, i, NULL)); i++) {
		if (dashes && strlen(o->name) == len - 2 && !strncmp(o->name, word + 2, len - 2))
			return o;
		if (!dashes && len == 2 && o->letter && word[1] == o->letter)
			return o;
	}
	return NULL;
}

static bool is_choice(const char *choices, const char *value)
{
	size_t len = strlen(value);

	for (const char *s = choices; *s; s += strcspn(s, "|"), s += *s == '|')
		if (strcspn(s, "|") == len && !strncmp(s, value, len))
			return true;
	return false;
}

static int parse_value(const struct as_opt *o, const char *value, uint64_t *number,
		       struct as_err *err)
{
	char *end;

	switch (o->kind) {
	case AS_OPT_CHOICE:
		if (is_choice(o->choices, value))
			return 0;
		return as_fail(err, AS_EUSE, "--%s: '%s' is not one of %s", o->name, value,
			       o->choices);
	case AS_OPT_SIZE:
		if (!o->min && !strcmp(value, "0"))
			*number = 0;
		else if (as_target_parse_size(value, number, err))
			return as_fail_in(err, "--%s", o->name);
		break;
	case AS_OPT_NUMBER:
		errno = 0;
		*number = strtoull(value, &end, 10);
		if (!isdigit((unsigned char)value[0]) || *end || errno)
			return as_fail(err, AS_EUSE, "--%s: '%s' is not a number", o->name, value);
		break;
	default:
		return 0;
	}
	if (*number < o->min && (!o->max || o->max == INT64_MAX))
		return as_fail(err, AS_EUSE, "--%s: %s is out of range: expected at least %llu",
			       o->name, value, (unsigned long long)o->min);
	if (*number < o->min || (o->max && *number > o->max))
		return as_fail(err, AS_EUSE, "--%s: %s is out of range: expected %llu to %llu",
			       o->name, value, (unsigned long long)o->min,
			       (unsigned long long)o->max);
	return 0;
}

static int take_option(struct as_args *args, int argc, char **argv, int *i, struct as_err *err)
{
	char *word = argv[*i], *equals = word[1] == '-' ? strchr(word, '=') : NULL;
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	const struct as_opt *o = find_opt(args->command, word, len);
	const char *value = equals ? equals + 1 : NULL;
	uint64_t number = 0;
	int rc = 0;

	if (!o && word[1] != '-') {
		o = find_opt(args->command, word, 2);
		o = o && o->kind != AS_OPT_FLAG ? o : NULL;
		value = word + 2;
	}
	if (!o)
		return as_fail(err, AS_EUSE, "%s: unknown option %.*s; `assay help %s` lists them",
			       args->command->name, (int)len, word, args->command->name);
	if (!o->many && as_args_has(args, o->name))
		return as_fail(err, AS_EUSE, "--%s was given twice", o->name);
	if (args->n_given == AS_GIVEN_MAX)
		return as_fail(err, AS_EUSE, "more than %d options", AS_GIVEN_MAX);
	if (o->kind == AS_OPT_FLAG) {
		if (value)
			return as_fail(err, AS_EUSE, "--%s takes no value", o->name);
	} else {
		if (!value && *i + 1 >= argc)
			return as_fail(err, AS_EUSE, "--%s needs a value: %s", o->name, o->arg);
		if (!value)
			value = argv[++*i];
		rc = parse_value(o, value, &number, err);
	}
	args->given[args->n_given].opt = o;
	args->given[args->n_given].value = value;
	args->given[args->n_given++].number = number;
	return rc;
}

int as_args_parse(const struct as_command *command, int argc, char **argv, struct as_args *args,
		  struct as_err *err)
{
	bool options = true;
	int rc = 0;

	*args = (struct as_args){ .command = command };
	/* Operands are gathered in place: there are never more of them than words read. */
	args->operands = argv;
	for (int i = 0; i < argc && !rc; i++) {
		if (options && !strcmp(argv[i], "--"))
			options = false;
		else if (options && argv[i][0] == '-' && argv[i][1])
			rc = take_option(args, argc, argv, &i, err);
		else
			args->operands[args->n_operands++] = argv[i];
	}
	if (!rc && args->n_operands < command->min_operands)
		rc = as_fail(err, AS_EUSE, "%s: expected %s; see `assay help %s`", command->name,
			     command->operands, command->name);
	if (!rc && command->max_operands >= 0 && args->n_operands > command->max_operands)
		rc = as_fail(err, AS_EUSE, "%s: '%s' is one operand too many", command->name,
			     args->operands[command->max_operands]);
	return rc;
}

bool as_args_has(const struct as_args *args, const char *name)
{
	return as_args_number(args, name, UINT64_MAX) != UINT64_MAX;
}

const char *as_args_text(const struct as_args *args, const char *name, const char *otherwise)
{
	for (size_t i = 0; i < args->n_given; i++)
		if (!strcmp(args->given[i].opt->name, name))
			return args->given[i].value;
	return otherwise;
}

uint64_t as_args_number(const struct as_args *args, const char *name, uint64_t otherwise)
{
	for (size_t i = 0; i < args->n_given; i++)
		if (!strcmp(args->given[i].opt->name, name))
			return args->given[i].number;
	return otherwise;
}
