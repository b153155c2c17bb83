/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows: see rows.h. */
#include "cli/rows.h"

#include "cli/boxes.h"
#include "cli/code.h"
#include "host/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CORRUPT_TIMES 16u

/* ---- The table ------------------------------------------------------------------------------- */

/* The column `given` of run_option.def. */
#define OPT(what, word, value, least, most, then, words)                                         \
	OPT_##what(value).name = (word), .min = (least), .max = (most), .resume = AS_OPT_##then, \
	.help = (words)
#define OPT_FLAG(value) .kind = AS_OPT_FLAG,
#define OPT_NUMBER(value) .kind = AS_OPT_NUMBER, .arg = (value),
#define OPT_SECONDS(value) .kind = AS_OPT_NUMBER, .arg = (value),
#define OPT_SIZE(value) .kind = AS_OPT_SIZE, .arg = (value),
#define OPT_TEXT(value) .kind = AS_OPT_TEXT, .arg = (value),
#define OPT_CHOICE(value) .kind = AS_OPT_CHOICE, .choices = (value),
#define BY(example) .name = NULL
#define UNGIVEN(reason) .name = NULL

const struct as_opt as_cli_run_opts[AS_RUN_OPTIONS] = {
#define RUN_OPTION(field, form, said, sent, given, what) { given },
#define RUN_PART(whole, part, form, said, sent, given, what) { given },
#include "child/run_option.def"
};

/* ---- What a row sets ------------------------------------------------------------------------- */

static bool is_first(const char *choices, const char *value)
{
	size_t len = strlen(value);

	return !strncmp(choices, value, len) && (!choices[len] || choices[len] == '|');
}

/* What was given for row i; a number of seconds becomes one of milliseconds. */
static uint64_t number_given(size_t i, const char *value, uint64_t number)
{
	const struct as_opt *opt = &as_cli_run_opts[i];

	if (opt->kind == AS_OPT_FLAG)
		return 1;
	if (opt->kind == AS_OPT_CHOICE)
		return is_first(opt->choices, value);
	return opt->arg && !strcmp(opt->arg, "SECONDS") ? number * 1000 : number;
}

static int set_row(const struct as_args *args, size_t given, size_t i, struct as_run_options *o,
		   struct as_err *err)
{
	const struct as_run_row *row = &as_run_rows[i];
	const char *value = args->given[given].value;

	if (row->form == AS_RUN_WORD)
		return as_run_set_word(o, row, value, err);
	as_run_set_number(o, row, number_given(i, value, args->given[given].number));
	return 0;
}

static void set_standards(struct as_run_options *o)
{
	for (size_t i = 0; i < AS_RUN_OPTIONS; i++)
		if (as_run_rows[i].standard)
			as_run_set_number(o, &as_run_rows[i], as_run_rows[i].standard);
}

/* ---- Those with a function of their own ------------------------------------------------------ */

static int usage_options(const struct as_args *args, struct as_run_options *o, struct as_err *err)
{
	o->measure_heap = as_args_has(args, "max-heap");
	o->measure_stack = as_args_has(args, "max-stack");
	if (o->max_stack &&
	    (o->max_stack < AS_USAGE_STACK_MIN || o->max_stack > AS_USAGE_STACK_MAX))
		return as_fail(err, AS_EUSE, "--max-stack: expected 0, or %u to %u bytes",
			       AS_USAGE_STACK_MIN, AS_USAGE_STACK_MAX);
	return 0;
}

/* plugin:DIR/NAME.so has its description in DIR/NAME.layout. */
static void layout_beside(const char *spec, struct as_buf *out)
{
	size_t len;
	const char *path = as_target_object(spec, &len);

	if (path)
		as_buf_addf(out, "%.*s.layout", (int)(len - strlen(".so")), path);
}

/* A finding keeps the whole path, as it is replayed from anywhere. */
static int find_layout(const struct as_args *args, struct as_run_options *o, struct as_err *err)
{
	const char *spec = as_args_text(args, "target", ""),
		   *asked = as_args_text(args, "layout", NULL);
	struct as_buf path = { 0 };
	char *real = NULL;
	int rc = 0;

	if (asked)
		as_buf_adds(&path, asked);
	else
		layout_beside(spec, &path);
	if (path.len)
		real = realpath(as_buf_str(&path), NULL);
	if (!real && (asked || strncmp(spec, "lab", 3)))
		rc = as_fail(err, asked ? AS_EIO : AS_EUSE,
			     asked ? "--layout %s: %s"
				   : "target %s: --corrupt fields needs a description of its disk: "
				     "--layout FILE (docs/LAYOUT.md)",
			     asked ? asked : spec, strerror(errno));
	else if (real && strlen(real) >= sizeof(o->layout))
		rc = as_fail(err, AS_EUSE, "--layout %s: the path is too long", asked);
	else if (real)
		memcpy(o->layout, real, strlen(real) + 1);
	free(real);
	as_buf_free(&path);
	return rc;
}

static int corrupt_options(const struct as_args *args, struct as_run_options *o, struct as_err *err)
{
	const char *what = as_args_text(args, "corrupt", NULL);

	if (what && !strcmp(what, "fields")) {
		o->fields = CORRUPT_TIMES;
		return find_layout(args, o, err);
	}
	if (as_args_has(args, "layout"))
		return as_fail(err, AS_EUSE, "--layout belongs to --corrupt fields");
	if (what && strcmp(what, "bits"))
		return as_fail(err, AS_EUSE, "--corrupt %s: expected bits or fields", what);
	o->corrupt = what ? CORRUPT_TIMES : 0;
	return 0;
}

int as_cli_run_options(const struct as_args *args, struct as_run_options *o, struct as_err *err)
{
	int rc = 0;

	set_standards(o);
	for (size_t given = 0; given < args->n_given && !rc; given++)
		for (size_t i = 0; i < AS_RUN_OPTIONS && !rc; i++)
			if (args->given[given].opt == &as_cli_run_opts[i])
				rc = set_row(args, given, i, o, err);
	as_cli_where(args, o);
	if (!rc)
		rc = corrupt_options(args, o, err);
	return rc ? rc : usage_options(args, o, err);
}
