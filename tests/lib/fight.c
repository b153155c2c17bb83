/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fight: see fight.h. */
#include "tests/lib/fight.h"

#include "tests/lib/alphabet.h"
#include "vfs/sys_priv.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static void say(struct fight *f, const char *why)
{
	struct tally *tally = f->bout->tally;
	struct as_buf text = { 0 };

	as_buf_addf(&text, "on %s, from start %u, sequence %llu:\n", f->bout->traits.name,
		    f->bout->start, (unsigned long long)tally->sequences);
	for (size_t i = 0; i < f->n_done; i++) {
		as_buf_adds(&text, "    ");
		as_print_op(f->done[i], &text);
		as_buf_addc(&text, '\n');
	}
	as_buf_adds(&text, why);
	tally->failed = true;
	snprintf(tally->what, sizeof(tally->what), "%s", as_buf_str(&text));
	as_buf_free(&text);
}

/* Carries one out and judges it. */
static bool play(struct fight *f, struct as_model *m, const struct as_op *op)
{
	struct as_outcome out;

	f->done[f->n_done++] = op;
	as_vfs_exec(f->vfs, op, &out);
	f->bout->tally->ops++;
	if (!as_model_judge(m, op, &out, &f->verdict)) {
		say(f, as_buf_str(&f->verdict.why));
		return false;
	}
	/* Allowed, but no reason for it here: the disk is not full. */
	if (out.ret < 0 && (out.err == ENOSPC || out.err == EDQUOT))
		f->bout->tally->maybes++;
	return true;
}

/* What has flags cannot be removed, and the root may have some. */
static void clear_flags(bool something_left)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t done = 0;

	as_assert(fd >= 0);
	as_sys_clear_flags(fd);
	if (something_left)
		as_assert(!as_sys_remove_below(NULL, fd, true, &done));
	else
		close(fd);
}

static void clean_up(struct fight *f)
{
	struct as_op op = as_op_make(AS_OP_CHCWD);
	struct as_outcome out;

	op.path = "/";
	as_vfs_exec(f->vfs, &op, &out);
	for (int32_t fd = 0; fd < SLOTS; fd++) {
		op = as_op_make(AS_OP_CLOSE);
		op.fd = fd;
		as_vfs_exec(f->vfs, &op, &out);
		op = as_op_make(AS_OP_MUNMAP);
		op.fd = fd;
		as_vfs_exec(f->vfs, &op, &out);
	}
	op = as_op_make(AS_OP_PRUNE);
	op.path = "/";
	as_vfs_exec(f->vfs, &op, &out);
	if (f->bout->folder[0])
		clear_flags(out.ret < 0);
	/* A descriptor of the root may have changed its mode. */
	op = as_op_make(AS_OP_CHMOD);
	op.path = "/";
	op.mode = 0755;
	as_vfs_exec(f->vfs, &op, &out);
}

/* Makes the mount read-only, or writable again. We have mounted a tmpfs ourselves: it is ours. */
static bool turn(struct fight *f, struct as_model *m, bool readonly)
{
	struct as_op op = as_op_make(AS_OP_REMOUNT);
	struct as_outcome out = { 0 };

	op.opts = readonly ? "ro" : "";
	if (!f->bout->folder[0])
		as_vfs_exec(f->vfs, &op, &out);
	else if (mount(NULL, "/", NULL, MS_REMOUNT | (readonly ? MS_RDONLY : 0), NULL))
		out = (struct as_outcome){ .ret = -1, .err = errno };
	if (as_model_judge(m, &op, &out, &f->verdict))
		return true;
	say(f, as_buf_str(&f->verdict.why));
	return false;
}

static bool one_sequence(struct fight *f, struct as_choice *choice)
{
	struct as_model *m = as_model_copy(f->fresh);
	struct as_buf why = { 0 };
	bool ok = true;

	f->n_done = 0;
	for (size_t i = 0; ok && i < f->start->n; i++)
		ok = play(f, m, &f->start->ops[i]);
	if (ok && f->bout->readonly)
		ok = turn(f, m, true);
	f->n_done = 0;
	for (unsigned i = 0; ok && i < f->bout->length; i++) {
		struct as_digest before = as_model_digest(m);

		ok = play(f, m, &f->alphabet->ops[as_choose(choice, (unsigned)f->alphabet->n)]);
		if (!f->bout->random && as_digest_eq(before, as_model_digest(m)))
			break;
	}
	if (ok && as_model_compare(m, as_vfs_tree(f->vfs), f->vfs, &why)) {
		say(f, as_buf_str(&why));
		ok = false;
	}
	as_buf_free(&why);
	if (f->bout->readonly)
		ok &= turn(f, m, false);
	as_model_free(m);
	clean_up(f);
	f->bout->tally->sequences++;
	f->bout->tally->alive++;
	return ok;
}

/* labfs on a disk of its own, without what mkfs put there. */
static int open_library(struct fight *f, struct as_err *err)
{
	const struct as_target_ops *ops = as_target_library(f->bout->target);
	struct as_op op = as_op_make(AS_OP_REMOVE);
	struct as_mount_args args = { .opts = "" };
	struct as_outcome out;

	f->chance = as_chooser_seeded(1);
	f->host = as_host_new(as_chooser_choice(f->chance), &f->log);
	if (as_medium_new(ops->default_bytes, &f->stand, err) != 0)
		return err->code;
	args.host = as_host_seam(f->host);
	args.bd = as_medium_bd(f->stand);
	if (ops->mkfs(&args) != 0)
		return as_fail(err, AS_EUSE, "mkfs failed");
	f->vfs =
		as_vfs_lib_new(&(struct as_lib_args){ .ops = ops,
						      .host = f->host,
						      .bd = args.bd,
						      .opts = "",
						      .name_max = f->bout->traits.name_max,
						      .size_max_bytes = f->bout->traits.size_max });
	if (as_vfs_lib_mount(f->vfs, "") != 0)
		return as_fail(err, AS_EUSE, "mount failed");
	op.path = "/lost+found";
	as_vfs_exec(f->vfs, &op, &out);
	return 0;
}

/* Unmounts, and the full checker has the last word. */
static void close_library(struct fight *f)
{
	const struct as_target_ops *ops = as_target_library(f->bout->target);
	struct as_mount_args args = { .opts = "", .bd = as_medium_bd(f->stand) };
	enum as_finding_kind kind;
	const char *trouble;

	args.host = as_host_seam(f->host);
	if (as_vfs_lib_unmount(f->vfs) != 0)
		say(f, "unmount failed");
	trouble = as_vfs_lib_trouble(f->vfs, &kind);
	if (trouble)
		say(f, trouble);
	if (ops->fsck(&args, AS_FSCK_FULL) != AS_FSCK_CLEAN)
		say(f, "the checker is not content");
	as_vfs_free(f->vfs);
	as_host_free(f->host);
	as_medium_free(f->stand);
	as_chooser_free(f->chance);
}

static int open_vfs(struct fight *f, struct as_err *err)
{
	if (f->bout->folder[0] && f->bout->readonly &&
	    (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	     mount("tmpfs", f->bout->folder, "tmpfs", 0, "mode=0755")))
		return as_fail(err, AS_ELACK, "cannot mount a tmpfs: %s", strerror(errno));
	if (f->bout->folder[0])
		return as_vfs_sys_new(f->bout->folder, &f->vfs, err);
	return open_library(f, err);
}

int t_fight_it_out(void *ctx)
{
	struct bout *bout = ctx;
	struct fight f = { .bout = bout };
	struct as_chooser *chooser = bout->random ? as_chooser_seeded(1) : as_chooser_exhaustive();
	struct as_buf letters = { 0 };
	struct as_err err = { 0 };
	struct as_stat root = { 0 };

	if (open_vfs(&f, &err) != 0) {
		snprintf(bout->tally->what, sizeof(bout->tally->what), "%s", err.msg);
		return err.code == AS_ELACK ? 3 : 2;
	}
	f.start = t_parse(starts[bout->start]);
	as_buf_addf(&letters, "%s%s%s", part_names, bout->parts > 1 ? part_data : "",
		    bout->parts > 2 ? part_rest : "");
	f.alphabet = t_parse(as_buf_str(&letters));
	as_buf_free(&letters);
	f.fresh = as_model_new(&bout->traits);
	if (as_vfs_tree(f.vfs)->stat(f.vfs, "/", &root) != 0)
		return 2;
	as_model_adopt(f.fresh, "/", &root);
	while (one_sequence(&f, as_chooser_choice(chooser)) && as_chooser_next(chooser) &&
	       (!bout->random || bout->tally->sequences < bout->random))
		;
	as_model_free(f.fresh);
	as_verdict_free(&f.verdict);
	if (!bout->folder[0] && !bout->tally->failed)
		close_library(&f);
	else
		as_vfs_free(f.vfs);
	as_seq_free(f.start);
	as_seq_free(f.alphabet);
	as_chooser_free(chooser);
	return 0;
}
