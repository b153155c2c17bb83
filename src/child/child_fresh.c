/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_fresh: a child that makes the fresh file system, mounts it and lists what it holds, so that
 * the model knows where every workload begins.
 */
#include "child/child_priv.h"

#include "os/spawn.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fresh_walk {
	struct child *c;
	const char *dir;
	int rc;
};

static int list_fresh(struct child *c, const char *path);

static int list_entry(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	struct fresh_walk *w = ctx;
	struct as_buf path = { 0 };

	(void)ino;
	(void)type;
	as_buf_addf(&path, "%s/%s", strcmp(w->dir, "/") ? w->dir : "", name);
	w->rc = list_fresh(w->c, as_buf_str(&path));
	as_buf_free(&path);
	return w->rc;
}

/* What a function of the file system answered about a path. */
static int refuse(struct child *c, const char *what, const char *path, int rc)
{
	struct as_child_shared *sh = c->sh;
	enum as_finding_kind kind;
	const char *why = as_instance_trouble(c->instance, &kind);

	sh->blamed = true;
	if (rc > 0)
		return as_fail(&sh->tool_err, AS_EUSE,
			       "cannot %s %s on a fresh disk: it returned %d, which is neither 0 "
			       "nor a negative errno",
			       what, path, rc);
	return as_fail(&sh->tool_err, AS_EUSE, "cannot %s %s on a fresh disk: %s", what, path,
		       why && kind == AS_FIND_MISUSE ? why : as_outcome_err_name(-rc));
}

static int list_fresh(struct child *c, const char *path)
{
	struct as_vfs *vfs = as_instance_vfs(c->instance);
	const struct as_tree_ops *tree = as_vfs_tree(vfs);
	struct as_child_shared *sh = c->sh;
	size_t len = strlen(path) + 1;
	struct fresh_walk w = { c, path, 0 };
	struct as_stat st;
	int rc = tree->stat(vfs, path, &st);

	if (rc)
		return refuse(c, "stat", path, rc);
	sh->blamed = !strcmp(path, "/") && !S_ISDIR(st.mode);
	if (sh->blamed)
		return as_fail(&sh->tool_err, AS_EUSE,
			       "the root of a fresh disk is no directory: its mode is 0%o",
			       st.mode);
	if (sh->fresh_len + sizeof(st) + len > FRESH_BYTES || (!S_ISDIR(st.mode) && st.size))
		return as_fail(&sh->tool_err, AS_EUSE,
			       "a fresh disk holds more than empty files and directories: %s",
			       path);
	memcpy(sh->fresh + sh->fresh_len, &st, sizeof(st));
	memcpy(sh->fresh + sh->fresh_len + sizeof(st), path, len);
	sh->fresh_len += (uint32_t)(sizeof(st) + len);
	if (!S_ISDIR(st.mode))
		return 0;
	rc = tree->list(vfs, path, list_entry, &w);
	if (rc && !w.rc)
		return refuse(c, "list", path, rc);
	return w.rc;
}

static int make(struct child *c, struct as_err *err)
{
	int rc;

	as_child_enter(c, PHASE_MKFS);
	rc = as_instance_make(c->instance);
	if (rc)
		return as_fail(err, AS_EUSE, "mkfs failed: %s", as_errno_name(-rc));
	rc = as_medium_export(as_instance_hold_disk(c->instance), c->args->disk_fd, err);
	as_instance_release_disk(c->instance);
	return rc;
}

static int mount_fresh(struct child *c, struct as_err *err)
{
	int rc;

	as_child_enter(c, PHASE_FRESH_MOUNT);
	rc = as_instance_mount(c->instance);
	c->sh->blamed = rc;
	return rc ? as_instance_useless(c->instance, rc, err) : 0;
}

/* Whether the target is read-only before any workload has said so: by its options, which a server
 * may keep to itself, or by its mount, whose root is ours now. access() tells that before it asks
 * anybody; statvfs() asks the server. */
static bool begins_read_only(const struct child *c)
{
	if (as_opts_read_only(as_target_opts(c->args->target)))
		return true;
	return !as_instance_can(c->instance, AS_INSTANCE_IN_PROCESS) && access("/", W_OK) &&
	       errno == EROFS;
}

static int prepare(struct child *c, struct as_err *err)
{
	int rc = as_child_open(c, err);

	if (!rc && as_instance_can(c->instance, AS_INSTANCE_MAKE))
		rc = make(c, err);
	if (!rc && c->disk)
		rc = mount_fresh(c, err);
	if (!rc && begins_read_only(c))
		rc = as_fail(err, AS_EUSE,
			     "it is read-only from the beginning, so that nothing can be made to "
			     "look at; `remount opts=ro` or `mount opts=ro` in a workload makes "
			     "it read-only");
	return rc ? rc : list_fresh(c, "/");
}

int as_child_prepare(void *ctx)
{
	const struct as_child_args *args = ctx;
	struct child c = { .args = args, .sh = args->shared };

	as_child_begin(&args->shared->stack);
	if (args->folder)
		as_spawn_be_silent();
	if (as_child_load_target(args)) {
		c.sh->tool_rc = prepare(&c, &c.sh->tool_err);
		as_child_close(&c);
	}
	args->shared->finished = true;
	return 0;
}
