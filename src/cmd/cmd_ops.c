/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_ops: the operation table, for people and programs. */
#include "base/buf.h"
#include "base/json.h"
#include "cli/cli.h"
#include "work/op.h"

#include <string.h>

/* How each kind of argument is shown: bare ones in brackets, named ones with their key. */
static const struct {
	const char *kind, *key, *expects;
} args_table[] = {
#define ARG(kind, field, key, type, otherwise, expects) [AS_ARG_##kind] = { #kind, key, expects },
#include "work/arg.def"
#undef ARG
};

static void print_args(const struct as_op_info *op, struct as_buf *out)
{
	for (size_t i = 0; op->args[i] != AS_ARG_END; i++) {
		const char *key = args_table[op->args[i]].key, *kind = args_table[op->args[i]].kind;

		if (i)
			as_buf_addc(out, ' ');
		if (key)
			as_buf_addf(out, "%s=", key);
		as_buf_adds(out, kind);
	}
}

static void json_op(struct as_json *json, const struct as_op_info *op)
{
	as_json_object(json);
	as_json_kstr(json, "name", op->name);
	as_json_kstr(json, "layer", as_layer_name(op->layer));
	as_json_kstr(json, "persists", as_persists_name(op->persists));
	as_json_kstr(json, "syscalls", op->syscalls);
	as_json_kstr(json, "help", op->help);
	as_json_key(json, "args");
	as_json_array(json);
	for (size_t i = 0; op->args[i] != AS_ARG_END; i++) {
		as_json_object(json);
		as_json_kstr(json, "kind", args_table[op->args[i]].kind);
		as_json_kstr(json, "key", args_table[op->args[i]].key);
		as_json_kstr(json, "expects", args_table[op->args[i]].expects);
		as_json_end(json);
	}
	as_json_end(json);
	as_json_end(json);
}

static void print_table(struct as_buf *out)
{
	struct as_buf line = { 0 };

	as_buf_addf(out, "%-16s %-5s %-8s %-44s %s\n", "operation", "layer", "persists",
		    "arguments", "what it does");
	for (int i = 0; i < AS_OP_COUNT; i++) {
		const struct as_op_info *op = &as_op_table[i];

		as_buf_clear(&line);
		print_args(op, &line);
		as_buf_addf(out, "%-16s %-5s %-8s %-44s %s\n", op->name, as_layer_name(op->layer),
			    as_persists_name(op->persists), as_buf_str(&line), op->help);
	}
	as_buf_free(&line);
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);

	(void)err;
	if (as_args_has(args, "json")) {
		as_json_array(&json);
		for (int i = 0; i < AS_OP_COUNT; i++)
			json_op(&json, &as_op_table[i]);
		as_json_end(&json);
		as_buf_addc(&out, '\n');
	} else {
		print_table(&out);
	}
	fwrite(as_buf_str(&out), 1, out.len, stdout);
	as_buf_free(&out);
	return AS_EXIT_CLEAN;
}

static const struct as_opt opts[] = {
	{ .name = "json", .help = "print one JSON array" },
	{ 0 },
};

const struct as_command as_cmd_ops = {
	.name = "ops",
	.operands = "",
	.summary = "list the operations that a workload can have",
	.opts = opts,
	.run = run,
};
