/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * print: operations to canonical text: single blanks, arguments in the order of op.def, defaults
 * left out, numbers in decimal, strings bare where they can be.
 */
#include "work/print.h"

#include "base/err.h"
#include "base/show.h"
#include "work/arg.h"

#include <string.h>

/* The length of the character at s when it can stand in a string without quotes, 0 when it cannot.
 * What a terminal would obey, and what is not UTF-8, cannot. */
static size_t bare_len(const char *s)
{
	unsigned char c = (unsigned char)*s;

	if (c < 0x80)
		return c > ' ' && c != 0x7f && c != '"' && c != '\\';
	return as_shown_len(s, strnlen(s, 4));
}

static void print_quoted(const char *s, struct as_buf *out)
{
	size_t step;

	as_buf_addc(out, '"');
	for (; *s; s += step) {
		unsigned char c = (unsigned char)*s;

		step = c == ' ' ? 1 : bare_len(s);
		if (step)
			as_buf_add(out, s, step);
		else if (c == '"' || c == '\\')
			as_buf_addf(out, "\\%c", c);
		else if (c == '\n')
			as_buf_adds(out, "\\n");
		else if (c == '\t')
			as_buf_adds(out, "\\t");
		else
			as_buf_addf(out, "\\x%02x", c);
		step = step ? step : 1;
	}
	as_buf_addc(out, '"');
}

void as_print_str(const char *s, struct as_buf *out)
{
	size_t len = 0, step;

	while ((step = bare_len(s + len)))
		len += step;
	if (len == 0 || s[len] || *s == '#')
		print_quoted(s, out);
	else
		as_buf_add(out, s, len);
}

static void print_int(int64_t value, struct as_buf *out)
{
	if (value < 0)
		as_buf_addc(out, '-');
	as_buf_addu(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static void print_mode(uint32_t mode, struct as_buf *out)
{
	char text[12] = "0";
	unsigned n = 1, digits = 3;

	while (mode >> (digits * 3) && digits < 10)
		digits++;
	while (digits--)
		text[n++] = (char)('0' + (mode >> (digits * 3) & 7));
	as_buf_add(out, text, n);
}

static void print_time(int64_t time_ns, struct as_buf *out)
{
	uint64_t abs = time_ns < 0 ? 0 - (uint64_t)time_ns : (uint64_t)time_ns;

	if (time_ns == AS_TIME_NOW) {
		as_buf_adds(out, "now");
	} else if (time_ns == AS_TIME_OMIT) {
		as_buf_adds(out, "omit");
	} else {
		if (time_ns < 0)
			as_buf_addc(out, '-');
		as_buf_addu(out, abs / 1000000000);
		if (abs % 1000000000)
			as_buf_addf(out, ".%09llu", (unsigned long long)(abs % 1000000000));
	}
}

static void print_value(const struct as_op *op, const struct as_arg_info *arg, struct as_buf *out)
{
	switch (arg->type) {
	case AS_TYPE_STR:
		as_assert(as_arg_str(op, arg));
		as_print_str(as_arg_str(op, arg), out);
		break;
	case AS_TYPE_SLOT:
		as_buf_addc(out, '$');
		as_buf_addu(out, (unsigned)as_arg_slot(op, arg));
		break;
	case AS_TYPE_NUM:
	case AS_TYPE_LEN:
	case AS_TYPE_COUNT:
	case AS_TYPE_MEM:
	case AS_TYPE_BOOL:
		as_buf_addu(out, (uint64_t)as_arg_int(op, arg));
		break;
	case AS_TYPE_SNUM:
	case AS_TYPE_ID:
		print_int(as_arg_int(op, arg), out);
		break;
	case AS_TYPE_OCT:
	case AS_TYPE_OCT_OPT:
		print_mode(as_arg_mode(op, arg), out);
		break;
	case AS_TYPE_DEVNO:
		as_buf_addu(out, AS_DEV_MAJOR(as_arg_int(op, arg)));
		as_buf_addc(out, ':');
		as_buf_addu(out, AS_DEV_MINOR(as_arg_int(op, arg)));
		break;
	case AS_TYPE_TIME:
		print_time(as_arg_int(op, arg), out);
		break;
	default:
		as_flags_print((enum as_flag_table)(arg->type - AS_TYPE_FLAGS), as_arg_int(op, arg),
			       out);
	}
}

static bool is_default(const struct as_op *op, const struct as_arg_info *arg)
{
	if (arg->def == AS_REQUIRED)
		return false;
	if (arg->type == AS_TYPE_OCT_OPT)
		return !as_op_takes_mode(op);
	if (arg->type == AS_TYPE_STR)
		return !as_arg_str(op, arg) || !*as_arg_str(op, arg);
	return as_arg_int(op, arg) == arg->def;
}

void as_print_op(const struct as_op *op, struct as_buf *out)
{
	const struct as_op_info *info = &as_op_table[op->code];

	if (op->code == AS_OP_OPEN) {
		as_buf_addc(out, '$');
		as_buf_addu(out, (unsigned)op->slot);
		as_buf_add(out, " = ", 3);
	}
	as_buf_adds(out, info->name);
	for (const enum as_arg_kind *kind = info->args; *kind != AS_ARG_END; kind++) {
		const struct as_arg_info *arg = &as_arg_table[*kind];

		if (is_default(op, arg))
			continue;
		as_buf_addc(out, ' ');
		if (arg->key) {
			as_buf_add(out, arg->key, arg->key_len);
			as_buf_addc(out, '=');
		}
		print_value(op, arg, out);
	}
}

/* A metadata value runs to the end of the line, so blanks inside do not need quotes; what would be
 * cut off or read as a comment does. */
static bool is_plain_value(const char *value)
{
	size_t len = strlen(value);

	if (value[0] == '"' || value[0] == '#' || value[0] == ' ' || (len && value[len - 1] == ' '))
		return false;
	for (size_t i = 0, step; i < len; i += step) {
		step = as_shown_len(value + i, len - i);
		if (!step || (value[i] == ' ' && value[i + 1] == '#'))
			return false;
	}
	return true;
}

void as_print_meta(const char *key, const char *value, struct as_buf *out)
{
	as_buf_addc(out, '@');
	as_buf_adds(out, key);
	if (!*value)
		return;
	as_buf_addc(out, ' ');
	if (is_plain_value(value))
		as_buf_adds(out, value);
	else
		print_quoted(value, out);
}

void as_print_seq(const struct as_seq *seq, struct as_buf *out)
{
	for (size_t i = 0; i < seq->n_meta; i++) {
		as_print_meta(seq->meta[i].key, seq->meta[i].value, out);
		as_buf_addc(out, '\n');
	}
	for (size_t i = 0; i < seq->n; i++) {
		as_print_op(&seq->ops[i], out);
		as_buf_addc(out, '\n');
	}
}
