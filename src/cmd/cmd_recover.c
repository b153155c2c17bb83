/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_recover: runs the checker of a file system on a disk. */
#include "base/buf.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/live/screen.h"
#include "disk/image.h"
#include "tool/checker.h"

#include <stdlib.h>
#include <string.h>

static bool is_saved_image(const char *path)
{
	size_t len = strlen(path);

	return len >= 4 && !strcmp(path + len - 4, ".zst");
}

static int load(struct as_chunks *store, const char *path, struct as_disk **disk,
		struct as_err *err)
{
	return is_saved_image(path) ? as_image_load(store, path, disk, err)
				    : as_image_import_raw(store, path, disk, err);
}

static int save(struct as_disk *disk, const char *path, struct as_err *err)
{
	return is_saved_image(path) ? as_image_save(disk, path, err)
				    : as_image_export_raw(disk, path, err);
}

/* "ext4" or "ext4:OPTIONS" */
static int find_type(const char *spec, const struct as_fstype **type, struct as_err *err)
{
	struct as_buf known = { 0 }, name = { 0 };
	int rc = 0;

	as_buf_add(&name, spec, strcspn(spec, ":"));
	*type = as_fstype_find(as_buf_str(&name));
	if (!*type) {
		for (unsigned i = 0; as_fstype_at(i); i++)
			if (as_fstype_check(as_fstype_at(i), AS_CHECK_DEFAULT)->command)
				as_buf_addf(&known, " %s", as_fstype_at(i)->name);
		rc = as_fail(err, AS_EUSE, "recover: no checker is known for '%s'; known are%s",
			     spec, as_buf_str(&known));
	}
	as_buf_free(&known);
	as_buf_free(&name);
	return rc;
}

static enum as_check_mode find_mode(const char *name)
{
	int mode = 0;

	while (strcmp(as_check_mode_name((enum as_check_mode)mode), name))
		mode++; /* the table of options lets no other name pass */
	return (enum as_check_mode)mode;
}

static void count(const struct as_reclog *log, uint64_t calls[AS_CALL_KINDS])
{
	memset(calls, 0, AS_CALL_KINDS * sizeof(*calls));
	for (size_t i = 0; i < as_reclog_len(log); i++)
		calls[as_reclog_at(log, i)->kind]++;
}

static void show_json(const struct as_args *args, const struct as_checked *checked)
{
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);
	uint64_t calls[AS_CALL_KINDS];

	count(checked->run.log, calls);
	as_json_object(&json);
	as_json_kstr(&json, "disk", args->operands[0]);
	as_json_kstr(&json, "answer", as_check_answer_name(checked->answer));
	as_json_kbool(&json, "exited", checked->run.ended.how == AS_END_EXIT);
	as_json_kuint(&json, "status", (unsigned)checked->run.ended.status);
	as_json_kbool(&json, "changed", checked->run.changed);
	for (int i = 0; i < AS_CALL_KINDS; i++)
		as_json_kuint(&json, as_call_name((enum as_call)i), calls[i]);
	as_json_kuint(&json, "refused", checked->run.refused);
	as_json_kstr(&json, "output", as_buf_str(&checked->run.output));
	as_json_end(&json);
	printf("%s\n", as_buf_str(&out));
	as_buf_free(&out);
}

static void show(const struct as_args *args, const struct as_checked *checked)
{
	struct as_buf how = { 0 };
	uint64_t calls[AS_CALL_KINDS];

	if (as_args_has(args, "json")) {
		show_json(args, checked);
		return;
	}
	count(checked->run.log, calls);
	as_checker_describe(checked, &how);
	fwrite(as_buf_str(&checked->run.output), 1, checked->run.output.len, stdout);
	if (checked->run.output.len &&
	    checked->run.output.data[checked->run.output.len - 1] != '\n')
		putchar('\n');
	as_cli_put(stdout, args->operands[0]);
	printf(": %s; %llu reads, %llu writes, %llu flushes%s\n", as_buf_str(&how),
	       (unsigned long long)calls[AS_CALL_READ],
	       (unsigned long long)(calls[AS_CALL_WRITE] + calls[AS_CALL_DISCARD] +
				    calls[AS_CALL_ZERO]),
	       (unsigned long long)calls[AS_CALL_FLUSH],
	       checked->run.incomplete ? " (the record is not complete)" : "");
	as_buf_free(&how);
}

static int run(const struct as_args *args, struct as_err *err)
{
	const char *out = as_args_text(args, "output", NULL);
	const struct as_fstype *type = NULL;
	struct as_tool_setup setup = {
		.deadline_ms = (unsigned)as_args_number(args, "deadline", 60) * 1000,
	};
	struct as_checkers *checkers = NULL;
	struct as_checked checked = { 0 };
	struct as_disk *disk = NULL;
	struct as_chunks *store;
	int rc;

	if (!as_args_has(args, "target"))
		return as_fail(err, AS_EUSE, "recover: --target is missing: which file system?");
	rc = find_type(as_args_text(args, "target", NULL), &type, err);
	if (rc)
		return rc;
	store = as_chunks_new();
	rc = load(store, args->operands[0], &disk, err);
	if (!rc) {
		checkers = as_checkers_new(&setup);
		rc = as_checker_run(checkers, type,
				    find_mode(as_args_text(args, "mode", "default")), disk,
				    AS_TOOL_READS, &checked, err);
	}
	if (!rc && out)
		rc = save(checked.run.disk, out, err);
	if (!rc) {
		show(args, &checked);
		rc = checked.answer == AS_CHECK_CLEAN ? AS_EXIT_CLEAN : AS_EXIT_FOUND;
	}
	as_checked_free(&checked);
	as_checkers_free(checkers);
	as_disk_free(disk);
	as_chunks_free(store);
	return rc;
}

static const struct as_opt opts[] = {
	{ .name = "target",
	  .letter = 't',
	  .kind = AS_OPT_TEXT,
	  .arg = "T",
	  .help = "which file system is on the disk: ext4, xfs, ...; `assay targets` lists them" },
	{ .name = "mode",
	  .letter = 'm',
	  .kind = AS_OPT_CHOICE,
	  .arg = "MODE",
	  .choices = "quick|default|full",
	  .help = "how thorough the checker is: quick as at boot, default as when it is called by "
		  "hand, full with every check it has; default: default" },
	{ .name = "output",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "OUT",
	  .help = "write the recovered disk to this file: a saved disk if its name ends in .zst, "
		  "else a raw image; default: do not write it" },
	{ .name = "deadline",
	  .kind = AS_OPT_NUMBER,
	  .arg = "SECONDS",
	  .min = 1,
	  .max = 86400,
	  .help = "kill the checker after this time; default 60" },
	{ .name = "json", .help = "print one JSON object" },
	{ 0 },
};

const struct as_command as_cmd_recover = {
	.name = "recover",
	.operands = "DISK",
	.summary = "run a file system's own checker on a disk and show the result",
	.text = "DISK is a raw image, or a saved disk if its name ends in .zst. It is not changed: "
		"the checker runs on a copy in memory and can write nowhere else. It is killed at "
		"the deadline. Its reads, writes and flushes are counted.\n"
		"Exit status: 0 the checker found nothing wrong, 1 it found something or failed.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
