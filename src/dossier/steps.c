/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps: see steps.h. */
#include "dossier/steps.h"

#include "dossier/program/emit_c.h"
#include "work/arg.h"

#include <string.h>

static const struct {
	enum as_step_how how;
	const char *calls, *manual, *why;
} rows[AS_OP_COUNT] = {
#define STEP(id, how, calls, manual, why) [AS_OP_##id] = { AS_STEP_##how, calls, manual, why },
#include "dossier/steps.def"
#undef STEP
};

/* What is done in another way where mount options say more than ro and rw. */
static const struct {
	enum as_opcode code;
	enum as_step_how how;
	const char *section;
} more_rows[] = {
#define STEP(...)
#define OPTIONS(id, how, section) { AS_OP_##id, AS_STEP_##how, section },
#include "dossier/steps.def"
#undef OPTIONS
#undef STEP
};

/* One row of steps.def for each operation: a missing one has no such constant. */
enum {
#define STEP(id, ...) STEP_##id,
#include "dossier/steps.def"
#undef STEP
	N_STEPS
};
_Static_assert((int)N_STEPS == (int)AS_OP_COUNT, "steps.def has a row for each operation");

static const char *const kind_names[AS_ARG_KINDS] = {
#define ARG(kind, ...) [AS_ARG_##kind] = #kind,
#include "work/arg.def"
#undef ARG
};

static const struct as_arg_info *find_arg(const char *name, size_t len)
{
	for (size_t i = AS_ARG_END + 1; i < AS_ARG_KINDS; i++)
		if (strlen(kind_names[i]) == len && !memcmp(kind_names[i], name, len))
			return &as_arg_table[i];
	return NULL;
}

static void put_time(int64_t ns, struct as_buf *out)
{
	if (ns == AS_TIME_NOW)
		as_buf_adds(out, "UTIME_NOW");
	else if (ns == AS_TIME_OMIT)
		as_buf_adds(out, "UTIME_OMIT");
	else
		as_buf_addf(out, "%lld ns", (long long)ns);
}

/* What stands between braces: KIND, KIND?A:B, SLOT or ", OPEN_MODE". */
static void put_field(const struct as_op *op, const char *field, size_t len, struct as_buf *out)
{
	const char *choice = memchr(field, '?', len);
	size_t name_len = choice ? (size_t)(choice - field) : len;
	const struct as_arg_info *arg = find_arg(field, name_len);
	const char *other;

	if (*field == ',') {
		if (as_op_takes_mode(op)) {
			as_buf_adds(out, ", ");
			put_field(op, field + 2, len - 2, out);
		}
		return;
	}
	if (!arg) {
		as_assert(!strncmp(field, "SLOT", name_len));
		as_buf_addf(out, "%d", op->slot);
		return;
	}
	if (!choice && arg->type == AS_TYPE_TIME) {
		put_time(as_arg_int(op, arg), out);
	} else if (!choice) {
		as_emit_c_arg(op, arg, out);
	} else {
		other = memchr(choice, ':', len - name_len);
		as_assert(other);
		if (as_arg_int(op, arg))
			as_buf_add(out, choice + 1, (size_t)(other - choice - 1));
		else
			as_buf_add(out, other + 1, (size_t)(field + len - other - 1));
	}
}

void as_step_print(const struct as_op *op, struct as_buf *out)
{
	const char *text = rows[op->code].calls;

	while (*text) {
		size_t plain = strcspn(text, "{"), field;

		as_buf_add(out, text, plain);
		text += plain;
		if (*text) {
			field = strcspn(text + 1, "}");
			put_field(op, text + 1, field, out);
			text += field + 2;
		}
	}
}

/* The row of its options; NULL: it has none, or they say no more. */
#define MORE_ROWS (sizeof(more_rows) / sizeof(more_rows[0]))
static size_t more_row(const struct as_op *op)
{
	size_t i = 0;

	while (i < MORE_ROWS && (more_rows[i].code != op->code || !as_opts_say_more(op->opts)))
		i++;
	return i;
}

enum as_step_how as_step_how(const struct as_op *op)
{
	size_t more = more_row(op);

	return more < MORE_ROWS ? more_rows[more].how : rows[op->code].how;
}

const char *as_step_section(const struct as_op *op)
{
	size_t more = more_row(op);

	return as_step_how(op) == AS_STEP_ASSAY ? NULL
	       : more < MORE_ROWS		? more_rows[more].section
						: as_op_table[op->code].name;
}

const char *as_step_needs_assay(const struct as_op *op)
{
	return as_step_how(op) == AS_STEP_ASSAY ? rows[op->code].why : NULL;
}

const char *as_step_manual(enum as_opcode code)
{
	return rows[code].manual;
}
