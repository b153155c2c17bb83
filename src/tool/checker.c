/* SPDX-License-Identifier: GPL-2.0-or-later */
/* checker: see checker.h. */
#include "tool/checker.h"
#include "crew/ended.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct checker_entry {
	char *program;
	const struct as_fstype *type; /* the type whose environment it has */
	struct as_tool *tool;
};

struct as_checkers {
	struct as_tool_setup setup;
	char *disk_path, *journal_path;
	struct checker_entry *entries;
	size_t n, cap;
	uint64_t fail_read; /* for the next run */
};

struct as_checkers *as_checkers_new(const struct as_tool_setup *setup)
{
	struct as_checkers *c = as_xcalloc(1, sizeof(*c));

	if (setup)
		c->setup = *setup;
	c->disk_path = as_xstrdup(setup && setup->disk_path ? setup->disk_path : AS_TOOL_DISK);
	c->setup.disk_path = c->disk_path;
	as_assert(asprintf(&c->journal_path, "%s" AS_TOOL_JOURNAL, c->disk_path) > 0);
	return c;
}

void as_checkers_free(struct as_checkers *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		as_tool_free(c->entries[i].tool);
		free(c->entries[i].program);
	}
	free(c->entries);
	free(c->disk_path);
	free(c->journal_path);
	free(c);
}

/* Types that name the same program share it, unless one of them wants an environment of its own. */
static bool serves(const struct checker_entry *entry, const char *program,
		   const struct as_fstype *type)
{
	return !strcmp(entry->program, program) &&
	       (entry->type == type || (!entry->type->env && !type->env));
}

static int tool_for(struct as_checkers *c, const char *program, const struct as_fstype *type,
		    struct as_tool **tool, struct as_err *err)
{
	struct as_tool_setup setup = c->setup;
	char **envp;
	int rc;

	for (size_t i = 0; i < c->n; i++)
		if (serves(&c->entries[i], program, type)) {
			*tool = c->entries[i].tool;
			return 0;
		}
	envp = as_fstype_envp(type);
	setup.envp = envp;
	rc = as_tool_start(program, &setup, tool, err);
	as_fstype_free_words(envp);
	if (rc == AS_ELACK && type->package)
		return as_fail_in(err, "%s (package %s)", type->name, type->package);
	if (rc)
		return rc;
	AS_ARRAY_ROOM(c->entries, c->n, c->cap);
	c->entries[c->n++] = (struct checker_entry){ as_xstrdup(program), type, *tool };
	return 0;
}

static int run_command(struct as_checkers *c, const struct as_fstype *type, const char *command,
		       const struct as_tool_job *how, struct as_disk *disk,
		       struct as_tool_result *result, struct as_err *err)
{
	struct as_fstype_disks disks = { c->disk_path, c->journal_path,
					 as_disk_size(disk) - type->journal_bytes };
	char **argv = as_fstype_argv(command, &disks);
	struct as_tool_job job = *how;
	struct as_tool *tool = NULL;
	int rc;

	job.argv = argv;
	job.journal_bytes = type->journal_bytes;
	rc = tool_for(c, argv[0], type, &tool, err);
	if (!rc)
		rc = as_tool_run(tool, &job, disk, result, err);
	as_fstype_free_words(argv);
	return rc;
}

int as_checker_run(struct as_checkers *c, const struct as_fstype *type, enum as_check_mode mode,
		   struct as_disk *disk, unsigned flags, struct as_checked *checked,
		   struct as_err *err)
{
	const struct as_checker_way *way = as_fstype_check(type, mode);
	const struct as_tool_job job = { .input = way->input,
					 .flags = flags,
					 .fail_read = c->fail_read };
	int rc;

	c->fail_read = 0;
	memset(checked, 0, sizeof(*checked));
	checked->answer = AS_CHECK_FAILED;
	if (!way->command)
		return as_fail(err, AS_EUSE, "%s has no checker", type->name);
	rc = run_command(c, type, way->command, &job, disk, &checked->run, err);
	if (!rc && checked->run.ended.how == AS_END_EXIT)
		checked->answer = as_checker_answer(as_fstype_checker(type), way->looks,
						    checked->run.ended.status,
						    as_buf_str(&checked->run.output), NULL);
	return rc;
}

int as_checker_mkfs(struct as_checkers *c, const struct as_fstype *type, struct as_disk *disk,
		    struct as_tool_result *result, struct as_err *err)
{
	const struct as_tool_job job = { 0 };
	int rc;

	memset(result, 0, sizeof(*result));
	if (type->impossible)
		return as_fail(err, AS_EUSE, "%s: %s", type->name, type->impossible);
	rc = run_command(c, type, type->mkfs, &job, disk, result, err);
	if (!rc && (result->ended.how != AS_END_EXIT || result->ended.status))
		rc = as_fail(err, AS_EUSE, "%s: mkfs failed (%s %d): %s", type->name,
			     result->ended.how == AS_END_EXIT ? "exit status" : "signal",
			     result->ended.status, as_buf_str(&result->output));
	return rc;
}

void as_checkers_fail_read(struct as_checkers *c, uint64_t nth)
{
	c->fail_read = nth;
}

void as_checked_free(struct as_checked *checked)
{
	as_tool_result_free(&checked->run);
}

void as_checker_describe(const struct as_checked *checked, struct as_buf *out)
{
	const struct as_tool_result *run = &checked->run;

	if (run->ended.how == AS_END_SIGNAL)
		as_ended_words(&run->ended, &(struct as_ended_say){ .died = run->died }, out);
	else if (run->ended.how == AS_END_DEADLINE)
		as_buf_addf(out, "killed after %lld ms", (long long)(run->ended.wall_us / 1000));
	else
		as_buf_addf(out, "%s (exit status %d)", as_check_answer_name(checked->answer),
			    run->ended.status);
	if (run->refused)
		as_buf_addf(out, "; %u calls refused, first: %s", run->refused, run->first_refused);
}
