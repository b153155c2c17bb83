/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_explain: one finding as a story. */
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/stored.h"
#include "dossier/letter/mail.h"
#include "os/out.h"

static int run(const struct as_args *args, struct as_err *err)
{
	struct as_dir folder = AS_DIR_NONE;
	struct as_buf text = { 0 };
	int rc = as_cli_stored_find(args, &folder, err);

	if (!rc)
		rc = as_explain_print(&folder, &text, err);
	if (!rc)
		rc = as_out_save("-", &text, err);
	as_dir_close(&folder);
	as_buf_free(&text);
	return rc ? rc : AS_EXIT_CLEAN;
}

static const struct as_opt opts[] = {
	{ .name = "out",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "look for the finding in this folder; default " AS_OUT_DEFAULT },
	{ 0 },
};

const struct as_command as_cmd_explain = {
	.name = "explain",
	.operands = "ID",
	.summary = "tell the story of a finding in plain words",
	.text = "It says what was done, what was expected and why, what happened, how sure that "
		"is, and how to see it again. ID is the id of a finding, or its folder.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
