/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_targets: what can be tested, and the bugs that labfs can be given. */
#include "base/buf.h"
#include "base/json.h"
#include "cli/cli.h"
#include "labfs/bug.h"
#include "target/target.h"

#include <string.h>

static void list_targets(bool json_lines, struct as_buf *out)
{
	const struct as_target_kind *kind;

	for (unsigned i = 0; (kind = as_target_kind(i)); i++) {
		const char *lacks = kind->lacks ? kind->lacks() : NULL;
		struct as_json json = as_json_on(out);

		if (json_lines) {
			as_json_object(&json);
			as_json_kstr(&json, "name", kind->name);
			as_json_kstr(&json, "usage", kind->usage);
			as_json_kstr(&json, "help", kind->help);
			as_json_kbool(&json, "ready", !lacks);
			as_json_kstr(&json, "lacks", lacks);
			as_json_end(&json);
			as_buf_addc(out, '\n');
		} else {
			as_buf_addf(out, "  %-26s %-62s %s%s\n", kind->usage, kind->help,
				    lacks ? "lacks " : "ready", lacks ? lacks : "");
		}
	}
}

static void list_bugs(bool json_lines, struct as_buf *out)
{
	const struct lab_bug_row *bug;

	for (unsigned i = 0; (bug = lab_bug_row(i)); i++) {
		struct as_json json = as_json_on(out);

		if (json_lines) {
			as_json_object(&json);
			as_json_kuint(&json, "number", bug->number);
			as_json_kstr(&json, "id", bug->id);
			as_json_kstr(&json, "class", lab_bug_class_name(bug->class));
			as_json_kstr(&json, "what", bug->what);
			as_json_kstr(&json, "ancestor", bug->ancestor);
			as_json_kstr(&json, "command", bug->command);
			as_json_kuint(&json, "budget_s", bug->budget_s);
			as_json_end(&json);
			as_buf_addc(out, '\n');
		} else {
			as_buf_addf(out, "  lab:bug=%-3u %-10s %s\n", bug->number,
				    lab_bug_class_name(bug->class), bug->what);
		}
	}
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct as_buf out = { 0 };

	(void)err;
	if (as_args_has(args, "bugs"))
		list_bugs(as_args_has(args, "json"), &out);
	else
		list_targets(as_args_has(args, "json"), &out);
	fwrite(as_buf_str(&out), 1, out.len, stdout);
	as_buf_free(&out);
	return AS_EXIT_CLEAN;
}

static const struct as_opt opts[] = {
	{ .name = "bugs", .help = "list the bugs that the target lab can be given" },
	{ .name = "json", .help = "as JSON lines" },
	{ 0 },
};

const struct as_command as_cmd_targets = {
	.name = "targets",
	.operands = "",
	.summary = "list what can be tested, and whether this machine is ready for it",
	.opts = opts,
	.run = run,
};
