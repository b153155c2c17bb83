/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mount_check: the checker of a type, on a copy of the disk of a mount. */
#include "mount/mount_priv.h"

#include "crew/ended.h"
#include "disk/loop.h"
#include "os/spawn.h"
#include "target/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int copy_disk(struct as_mount *m, struct as_err *err)
{
	int fd = open(m->copy, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc = 0;

	if (fd < 0 || ftruncate(fd, (off_t)as_medium_bd(m->medium)->size_bytes))
		rc = as_fail_errno(err, errno, "%s", m->copy);
	if (!rc) {
		as_mount_lock(m);
		rc = as_medium_export(m->medium, fd, err);
		as_mount_unlock(m);
	}
	if (!rc && m->type->journal_bytes)
		rc = as_apart_split(fd, m->journal_copy, m->type->journal_bytes, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int take_copy(struct as_mount *m, struct as_err *err)
{
	int fd = open(m->copy, O_RDWR | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return as_fail_errno(err, errno, "%s", m->copy);
	if (m->type->journal_bytes)
		rc = as_apart_unite(fd, m->journal_copy, err);
	if (!rc) {
		as_mount_lock(m);
		rc = as_medium_import(m->medium, fd, err);
		as_mount_unlock(m);
	}
	close(fd);
	if (!rc && !m->serve)
		rc = as_mount_load(m, as_medium_disk(m->medium), err);
	return rc ? rc : as_mount_forget(m, err);
}

/* How the program ended, if it could not say so itself. */
static void say_cut(const struct as_ended *ended, unsigned deadline_ms, struct as_buf *output)
{
	const struct as_ended_say say = { .late = "did not end", .within_ms = deadline_ms };
	bool late = ended->how == AS_END_DEADLINE;

	if (!late && ended->how != AS_END_SIGNAL)
		return;
	as_buf_adds(output, "\nthe checker ");
	as_ended_words(ended, &say, output);
	as_buf_adds(output, late ? " and was killed\n" : "\n");
}

int as_mount_check(struct as_mount *m, enum as_check_mode mode, bool keep, unsigned deadline_ms,
		   enum as_check_answer *answer, struct as_buf *output, struct as_err *err)
{
	const struct as_checker_way *way = as_fstype_check(m->type, mode);
	struct as_fstype_disks disks = { .journal = m->journal_copy,
					 .size_bytes = as_medium_bd(m->medium)->size_bytes -
						       m->type->journal_bytes };
	struct as_buf own = { 0 };
	struct as_spawn spawn = { .deadline_ms = deadline_ms,
				  .output = output ? output : &own,
				  .input = way->input };
	struct as_ended ended;
	struct as_loop *loop = NULL;
	char **argv = NULL, **envp = NULL;
	int rc;

	as_assert(!m->mounted);
	*answer = AS_CHECK_CLEAN;
	if (!way->command)
		return 0;
	rc = copy_disk(m, err);
	if (!rc && as_fstype_checker(m->type)->direct)
		rc = as_loop_new(m->copy, 0, &loop, err);
	if (rc)
		goto out;
	disks.disk = loop ? as_loop_path(loop) : m->copy;
	argv = as_fstype_argv(way->command, &disks);
	spawn.argv = argv;
	spawn.envp = envp = m->type->journal_bytes ? as_fstype_envp(m->type) : NULL;
	rc = as_spawn_run(&spawn, &ended, err);
	as_loop_free(loop);
	if (!rc)
		say_cut(&ended, deadline_ms, spawn.output);
	if (!rc)
		*answer = ended.how == AS_END_EXIT ? as_fstype_judge(m->type, mode, ended.status,
								     as_buf_str(spawn.output))
						   : AS_CHECK_FAILED;
	if (!rc && keep)
		rc = take_copy(m, err);
out:
	as_fstype_free_words(argv);
	as_fstype_free_words(envp);
	as_buf_free(&own);
	unlink(m->copy);
	unlink(m->journal_copy);
	return rc;
}
