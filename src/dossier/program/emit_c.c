/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * emit_c: a workload as a C program.
 *
 * Method: the helpers are real C, emitted/program.c, which the assembler puts into the library as
 * bytes (.incbin finds it through -I, as #include would). Its "@" lines cut it into sections;
 * those that the workload's operations need are copied in their order, and main() calls do_NAME for
 * each operation with its arguments in the order of op.def.
 */
#include "dossier/program/emit_c.h"

#include "base/embed.h"
#include "dossier/steps.h"
#include "work/arg.h"
#include "work/print.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SECTIONS_MAX 128
#define NEEDS_MAX 8
#define PART_OPS 1000 /* operations in one function: compilers are slow on very long ones */
#define ERRNO_END 134
#define LINE_COLUMNS 100
#define TAB_COLUMNS 8

AS_EMBED(as_emitted_program, "dossier/emitted/program.c");

struct emit_c_span {
	const char *s;
	size_t len;
};

struct emit_c_section {
	struct emit_c_span name, text;
	struct emit_c_span needs[NEEDS_MAX];
	unsigned n_needs;
	bool wanted;
};

struct emission {
	struct emit_c_section section[SECTIONS_MAX];
	unsigned n;
	const struct as_seq *seq;
	const struct as_emit_plan *plan;
	struct as_buf *out;
	bool away; /* the operation is between an unmount and a mount */
};

/* The next word before `end`; empty when there is none. */
static struct emit_c_span next_word(const char **p, const char *end)
{
	struct emit_c_span word;

	*p += strspn(*p, " ");
	word.s = *p;
	while (*p < end && **p != ' ' && **p != ':')
		++*p;
	word.len = (size_t)(*p - word.s);
	return word;
}

static void find_sections(struct emission *program)
{
	const char *mark = strstr(as_emitted_program_first, "\n/*@ ");

	while (mark) {
		struct emit_c_section *section = &program->section[program->n++];
		const char *p = mark + 5, *end = strstr(p, " */");
		struct emit_c_span need;

		as_assert(program->n <= SECTIONS_MAX && end);
		section->name = next_word(&p, end);
		as_assert(*p == ':');
		for (p++; need = next_word(&p, end), need.len;) {
			as_assert(section->n_needs < NEEDS_MAX);
			section->needs[section->n_needs++] = need;
		}
		section->text.s = end + 4;
		mark = strstr(section->text.s - 1, "\n/*@ ");
		section->text.len =
			mark ? (size_t)(mark + 1 - section->text.s) : strlen(section->text.s);
	}
}

/* NULL when the program has no such section. */
static struct emit_c_section *find_section(struct emission *program, const char *name, size_t len)
{
	for (unsigned i = 0; i < program->n; i++) {
		struct emit_c_span have = program->section[i].name;

		if (have.len == len && !memcmp(have.s, name, len))
			return &program->section[i];
	}
	return NULL;
}

static struct emit_c_section *section_of(struct emission *program, const char *name)
{
	return find_section(program, name, strlen(name));
}

static void want(struct emission *program, struct emit_c_section *section)
{
	as_assert(section && "emitted/program.c has no section of that name");
	if (section->wanted)
		return;
	section->wanted = true;
	for (unsigned i = 0; i < section->n_needs; i++)
		want(program, find_section(program, section->needs[i].s, section->needs[i].len));
}

static bool has_done(enum as_opcode code)
{
	return as_op_table[code].calls == AS_CALLS_MANY;
}

static bool is_unseen(const struct as_op *op)
{
	return as_step_how(op) == AS_STEP_WHOLE;
}

static const struct as_outcome *expected_of(const struct emission *program, size_t i)
{
	const struct as_emit_plan *plan = program->plan;

	if (is_unseen(&program->seq->ops[i]))
		return NULL;
	return plan->expected && (!plan->how || !plan->how[i]) ? &plan->expected[i] : NULL;
}

static bool is_assumed(const struct emission *program, size_t i)
{
	return program->plan->how && !is_unseen(&program->seq->ops[i]) &&
	       program->plan->how[i] >= AS_EMIT_SUCCESS &&
	       program->plan->how[i] <= AS_EMIT_MUST_FAIL;
}

static bool is_sought(const struct emission *program, size_t i)
{
	return program->plan->how && program->plan->how[i] == AS_EMIT_SOUGHT;
}

static const char *reporter(const struct emission *program, size_t i)
{
	enum as_opcode code = program->seq->ops[i].code;

	if (is_assumed(program, i))
		return program->plan->how[i] < AS_EMIT_MUST_SUCCEED ? "assume" : "must";
	if (is_sought(program, i))
		return "sought";
	if (!expected_of(program, i))
		return "end";
	return has_done(code) ? "check_done" : "check";
}

/* What it hands over is compared by this section; NULL: it is not. */
static const char *told_section(const struct emission *program, size_t i)
{
	const struct as_emit_plan *plan = program->plan;

	return plan->told && i == plan->told_at && as_step_section(&program->seq->ops[i])
		       ? as_emit_c_handed_section(&program->seq->ops[i], plan->told)
		       : NULL;
}

static void want_all(struct emission *program)
{
	bool away = false;

	want(program, section_of(program, "enter"));
	for (size_t i = 0; i < program->seq->n; i++) {
		const struct as_op *op = &program->seq->ops[i];
		const char *section = as_step_section(op);

		want(program, section_of(program, "begin"));
		want(program, section_of(program, section ? section : "needs_assay"));
		away &= op->code != AS_OP_MOUNT;
		if (away)
			want(program, section_of(program, "skip"));
		away |= op->code == AS_OP_UMOUNT;
		if (section)
			want(program, section_of(program, reporter(program, i)));
		if (told_section(program, i))
			want(program, section_of(program, told_section(program, i)));
	}
}

static bool wanted(struct emission *program, const char *name)
{
	return section_of(program, name)->wanted;
}

/* Octal escapes end after three digits, unlike hexadecimal ones. */
void as_emit_c_literal(const char *s, size_t len, struct as_buf *out)
{
	as_buf_addc(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\' || c == '?') /* "??" can be a trigraph */
			as_buf_addf(out, "\\%c", c);
		else if (c < ' ' || c >= 0x7f)
			as_buf_addf(out, "\\%03o", c);
		else
			as_buf_addc(out, s[i]);
	}
	as_buf_addc(out, '"');
}

static void put_literal(const char *s, struct as_buf *out)
{
	as_emit_c_literal(s, strlen(s), out);
}

static void put_int(int64_t value, struct as_buf *out)
{
	if (value == INT64_MIN)
		as_buf_adds(out, "INT64_MIN");
	else
		as_buf_addf(out, "%lld%s", (long long)value,
			    value > INT_MAX || value < INT_MIN ? "LL" : "");
}

/* How C spells the words that it does not spell as the workload does. */
static const struct {
	const char *word, *c;
} spellings[] = {
	{ "fifo", "S_IFIFO" }, { "chr", "S_IFCHR" },   { "blk", "S_IFBLK" },
	{ "reg", "S_IFREG" },  { "sock", "S_IFSOCK" },
};

static void put_word(enum as_flag_table table, const char *word, struct as_buf *out)
{
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		if (!strcmp(word, spellings[i].word))
			word = spellings[i].c;
	}
	if (table == AS_FLAGS_FALLOC_FLAGS && (*word < '0' || *word > '9'))
		as_buf_adds(out, "FALLOC_FL_");
	as_buf_adds(out, word);
}

static void put_flags(enum as_flag_table table, int64_t value, struct as_buf *out)
{
	struct as_buf words = { 0 };
	char *rest = NULL;

	as_flags_print(table, value, &words);
	for (char *word = strtok_r(words.data, "|", &rest); word;
	     word = strtok_r(NULL, "|", &rest)) {
		if (word != words.data)
			as_buf_adds(out, " | ");
		put_word(table, word, out);
	}
	as_buf_free(&words);
}

static void put_time(int64_t time_ns, struct as_buf *out)
{
	if (time_ns == AS_TIME_NOW)
		as_buf_adds(out, "TIME_NOW");
	else if (time_ns == AS_TIME_OMIT)
		as_buf_adds(out, "TIME_OMIT");
	else
		put_int(time_ns, out);
}

void as_emit_c_arg(const struct as_op *op, const struct as_arg_info *arg, struct as_buf *out)
{
	switch (arg->type) {
	case AS_TYPE_STR:
		put_literal(as_arg_str(op, arg), out);
		break;
	case AS_TYPE_SLOT:
		put_int(as_arg_slot(op, arg), out);
		break;
	case AS_TYPE_NUM:
		as_buf_addu(out, (uint64_t)as_arg_int(op, arg));
		as_buf_adds(out, (uint64_t)as_arg_int(op, arg) > INT_MAX ? "ULL" : "");
		break;
	case AS_TYPE_OCT:
	case AS_TYPE_OCT_OPT:
		as_buf_addf(out, "0%03o", as_arg_mode(op, arg));
		break;
	case AS_TYPE_ID:
		as_buf_addf(out, as_arg_int(op, arg) < 0 ? "%lld" : "%lldu",
			    (long long)as_arg_int(op, arg));
		break;
	case AS_TYPE_DEVNO:
		as_buf_addf(out, "makedev(%uu, %uu)", AS_DEV_MAJOR(as_arg_int(op, arg)),
			    AS_DEV_MINOR(as_arg_int(op, arg)));
		break;
	case AS_TYPE_TIME:
		put_time(as_arg_int(op, arg), out);
		break;
	default:
		if (arg->type >= AS_TYPE_FLAGS)
			put_flags((enum as_flag_table)(arg->type - AS_TYPE_FLAGS),
				  as_arg_int(op, arg), out);
		else
			put_int(as_arg_int(op, arg), out);
	}
}

static void put_args(const struct as_op *op, const char *comma, struct as_buf *out)
{
	for (const enum as_arg_kind *kind = as_op_table[op->code].args; *kind != AS_ARG_END;
	     kind++) {
		as_buf_adds(out, comma);
		as_emit_c_arg(op, &as_arg_table[*kind], out);
		comma = ", ";
	}
}

static void put_call(const struct as_op *op, struct as_buf *out)
{
	bool opens = op->code == AS_OP_OPEN;

	as_buf_addf(out, "do_%s(", as_step_section(op));
	if (opens)
		put_int(op->slot, out);
	put_args(op, opens ? ", " : "", out);
	as_buf_addc(out, ')');
}

static void put_errno(int err, struct as_buf *out)
{
	const char *name = as_errno_name(err);

	if (err <= 0 || err >= ERRNO_END || name[0] != 'E')
		as_buf_addf(out, "%d", err);
	else
		as_buf_adds(out, name);
}

static void put_op(struct emission *program, size_t i)
{
	const struct as_op *op = &program->seq->ops[i];
	const struct as_outcome *expected = expected_of(program, i);
	struct as_buf *out = program->out, line = { 0 };

	as_print_op(op, &line);
	as_buf_adds(out, "\tbegin(");
	put_literal(as_buf_str(&line), out);
	as_buf_adds(out, ");\n\t");
	as_buf_free(&line);
	if (!as_step_section(op)) {
		as_buf_adds(out, "needs_assay(");
		put_literal(as_step_needs_assay(op), out);
		as_buf_adds(out, ");\n");
		return;
	}
	program->away &= op->code != AS_OP_MOUNT;
	if (program->away)
		as_buf_adds(out, "if (unmounted)\n\t\tskip();\n\telse\n\t\t");
	program->away |= op->code == AS_OP_UMOUNT;
	as_buf_addf(out, "%s(", reporter(program, i));
	if (expected || is_assumed(program, i) || is_sought(program, i))
		as_buf_addf(out, "%zu, ", i + 1);
	put_call(op, out);
	if (is_sought(program, i))
		put_args(op, ", ", out);
	if (is_assumed(program, i))
		as_buf_addf(out, ", %d",
			    program->plan->how[i] == AS_EMIT_FAILURE ||
				    program->plan->how[i] == AS_EMIT_MUST_FAIL);
	if (expected) {
		as_buf_adds(out, ", ");
		put_int(expected->ret, out);
		as_buf_adds(out, ", ");
		put_errno(expected->err, out);
		if (has_done(op->code))
			as_buf_addf(out, ", %llu", (unsigned long long)expected->done);
	}
	as_buf_adds(out, ");\n");
	if (told_section(program, i) && !program->away)
		as_emit_c_handed(i + 1, program->plan->told, out);
}

static unsigned slots_used(const struct as_seq *seq)
{
	int32_t last = 0;

	for (size_t i = 0; i < seq->n; i++) {
		const struct as_op *op = &seq->ops[i];

		last = op->slot > last ? op->slot : last;
		last = op->fd > last ? op->fd : last;
		last = op->fd2 > last ? op->fd2 : last;
	}
	return (unsigned)last + 1;
}

static void put_errno_names(struct as_buf *out)
{
	size_t column = LINE_COLUMNS;

	as_buf_adds(out, "static const char *const errno_names[] = {");
	for (int err = 1; err < ERRNO_END; err++) {
		const char *name = as_errno_name(err);
		size_t width = 2 * strlen(name) + 9;

		if (name[0] != 'E')
			continue;
		column = column + width > LINE_COLUMNS ? 0 : column;
		as_buf_adds(out, column ? " " : "\n\t");
		as_buf_addf(out, "[%s] = \"%s\",", name, name);
		column = (column ? column : TAB_COLUMNS) + width;
	}
	as_buf_adds(out, "\n};\n\n");
}

static void put_helpers(struct emission *program)
{
	struct as_buf *out = program->out;

	as_buf_adds(
		out,
		"/* SPDX-License-Identifier: MIT */\n"
		"/* A workload as a program: performs it below the directory that is its argument, "
		"which it\n"
		" * makes its root, and prints what each operation answered. Compile with: cc FILE "
		"*/\n"
		"#define _GNU_SOURCE\n");
	for (unsigned i = 0; i < program->n; i++) {
		struct emit_c_section *section = &program->section[i];

		if (!section->wanted)
			continue;
		if (section == section_of(program, "end"))
			put_errno_names(out);
		if (section == section_of(program, "slots"))
			as_buf_addf(out, "#define SLOTS %u\n", slots_used(program->seq));
		as_buf_add(out, section->text.s, section->text.len);
	}
}

/* A call of a mounter that answers otherwise makes the program unsure, too. */
static bool mounts_again(struct emission *program)
{
	return wanted(program, "remount") || wanted(program, "remount_options") ||
	       wanted(program, "mount");
}

/* What main() returns: 1 if an answer differs, else 125 if a step was left out, else 3 if it is not
 * known what the right answers are. */
static void put_status(struct emission *program)
{
	bool differs = wanted(program, "differing"), lacks = wanted(program, "left_out");
	bool doubts = wanted(program, "assume") || (differs && mounts_again(program));
	struct as_buf *out = program->out;

	if (differs && (doubts || lacks))
		as_buf_adds(out, "differing ? 1 : ");
	else if (differs)
		as_buf_adds(out, "differing != 0");
	if (lacks)
		as_buf_adds(out, "left_out ? 125 : ");
	if (doubts)
		as_buf_adds(out, "unsure ? 3 : ");
	if (!differs || doubts || lacks)
		as_buf_addc(out, '0');
}

static void put_main(struct emission *program)
{
	struct as_buf *out = program->out;
	size_t n = program->seq->n;
	bool parts = n > PART_OPS;

	for (size_t i = 0; parts && i < n; i++) {
		if (i % PART_OPS == 0)
			as_buf_addf(out, "%sstatic void part_%zu(void)\n{\n", i ? "}\n\n" : "",
				    i / PART_OPS);
		put_op(program, i);
	}
	as_buf_adds(out, parts ? "}\n\n" : "");
	as_buf_adds(out, "int main(int argc, char **argv)\n{\n");
	if (wanted(program, "proc"))
		as_buf_adds(out, "\tproc_fds = open(\"/proc/self/fd\", O_RDONLY | O_DIRECTORY);\n");
	as_buf_adds(out, wanted(program, "mounter") ? "\tfind_mounter(&argc, argv);\n" : "");
	as_buf_adds(out, "\tenter(argc, argv);\n");
	if (wanted(program, "slots"))
		as_buf_adds(out, "\tempty_slots();\n");
	as_buf_addc(out, '\n');
	for (size_t i = 0; i < n; i++) {
		if (!parts)
			put_op(program, i);
		else if (i % PART_OPS == 0)
			as_buf_addf(out, "\tpart_%zu();\n", i / PART_OPS);
	}
	as_buf_adds(out, "\n\treturn ");
	put_status(program);
	as_buf_adds(out, ";\n}\n");
}

void as_emit_c(const struct as_seq *seq, const struct as_outcome *expected, struct as_buf *out)
{
	const struct as_emit_plan plan = { .expected = expected };

	as_emit_c_plan(seq, &plan, out);
}

void as_emit_c_plan(const struct as_seq *seq, const struct as_emit_plan *plan, struct as_buf *out)
{
	struct emission *program = as_xcalloc(1, sizeof(*program));

	program->seq = seq;
	program->plan = plan;
	program->out = out;
	find_sections(program);
	want_all(program);
	put_helpers(program);
	put_main(program);
	free(program);
}
