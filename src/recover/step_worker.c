/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_worker: the driver of steps: an instance of the target (instance/instance.h) visits the disk
 * of each step. Checkers that are programs need no instance (step_check.c).
 *
 * Each step begins with an instance as new, so that clock, choices and memory begin the same way
 * every time: the result follows from the disk alone. A file system in our process takes the
 * process with it when it dies (recover.h, rule 4).
 *
 * A kernel's messages are read after every step. That it recovers is expected (klog/kmsg.def); a
 * complaint is an end of its own.
 *
 * There are two rows, chosen by whether the file system runs in this process. They differ in costs
 * and in the words of findings.
 */
#include "recover/step_worker_priv.h"

#include "base/event.h"
#include "disk/fault.h"
#include "host/host.h"
#include "instance/instance.h"
#include "klog/kwatch.h"
#include "recover/xfs_log.h"
#include "snapshot/tree.h"
#include "symptom/checker_words.h"
#include "trial/excuse.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* After TRIED disks, fewer hits than one in WORTH do not pay for the logs. */
#define TRIED 64u
#define WORTH 16u
#define NAME_MAX_DEFAULT 255u

/* One step under way. */
struct work {
	struct as_step_worker *worker;
	struct as_instance *instance;
	const struct as_step_driver *driver;
	enum as_step step;
	struct as_stepped *out;
	struct as_disk *from; /* as it was before the step */
};

static struct as_step_worker *of(struct as_recoverer *r)
{
	return (struct as_step_worker *)r;
}

/* The first reason is kept. */
static bool ended(struct work *w, enum as_recovery_end end, const char *doing, const char *how,
		  const char *why)
{
	if (w->out->end == AS_RECOVERED) {
		w->out->end = end;
		as_buf_addf(&w->out->why, "%s%s%s", doing, how, why);
	}
	return false;
}

static bool ended_errno(struct work *w, enum as_recovery_end end, const char *doing, int rc)
{
	return ended(w, end, doing, w->driver->answer_words, as_errno_name(-rc));
}

/* Whether the file system did nothing wrong besides its answers: it leaked memory, or worse. */
static bool sound(struct work *w, const char *doing)
{
	enum as_finding_kind kind;
	const char *why = as_instance_trouble(w->instance, &kind);

	return !why || ended(w, AS_COMPLAINED, doing, ": ", why);
}

/* What comes after this is no longer recovery. */
static void note_recovered(struct work *w)
{
	if (!w->out->log)
		return;
	(void)as_instance_hold_disk(w->instance);
	w->out->tree_at = as_reclog_len(w->out->log);
	as_instance_release_disk(w->instance);
}

/* ---- The checker ----------------------------------------------------------------------------- */

static uint64_t printed(const struct work *w)
{
	return w->worker->log ? w->worker->log->total_bytes : 0;
}

/* Adds the problem that the checker has named since then. */
static void add_problem(const struct work *w, uint64_t since)
{
	struct as_buf said = { 0 }, problem = { 0 };

	if (w->worker->log)
		as_host_log_since(w->worker->log, since, &said);
	if (as_checker_problem("", as_buf_str(&said), &problem))
		as_buf_addf(&w->out->why, ": %s", as_buf_str(&problem));
	as_buf_free(&said);
	as_buf_free(&problem);
}

static void go_check(struct work *w)
{
	uint64_t since = printed(w);
	int rc = as_instance_fsck(w->instance, (enum as_check_mode)w->step);
	const char *doing = as_step_name(w->step);

	if (rc < 0) {
		(void)ended_errno(w, AS_REFUSED, doing, rc);
	} else if (rc & ~AS_FSCK_REPAIRED) {
		(void)ended(w, AS_REFUSED, doing, ": ",
			    rc & AS_FSCK_OPERATIONAL ? "could not do its work"
						     : "left errors uncorrected");
	} else {
		w->out->repaired = rc & AS_FSCK_REPAIRED;
		if (w->out->repaired) {
			as_buf_adds(&w->out->why, "finds something to repair");
			add_problem(w, since);
		}
		note_recovered(w);
	}
}

/* The full checker must find nothing. */
static bool stays_sound(struct work *w)
{
	const char *doing = "the full check after recovery and unmount";
	uint64_t since = printed(w);
	int rc = 0;

	if (w->worker->base.strictest != AS_STEPS)
		rc = as_instance_fsck(w->instance, w->worker->rules.strictest);
	if (rc < 0)
		return ended_errno(w, AS_COMPLAINED, doing, rc);
	if (rc && w->out->end == AS_RECOVERED) {
		(void)ended(w, AS_COMPLAINED, doing, ": ", "finds something to repair");
		add_problem(w, since);
	}
	return !rc;
}

/* ---- The mount ------------------------------------------------------------------------------- */

/* After a mount that failed because something else did. */
static bool kept_memory(const struct work *w)
{
	return w->worker->base.failing && as_instance_can(w->instance, AS_INSTANCE_MEMORY) &&
	       as_instance_memory(w->instance).count;
}

static bool mount_disk(struct work *w)
{
	const char *doing = w->step == AS_STEP_PROBE ? "mount" : as_step_name(w->step);
	int rc = w->step == AS_STEP_PROBE    ? as_instance_mount_writable(w->instance)
		 : w->step == AS_STEP_LOOK   ? as_instance_mount_look(w->instance)
		 : w->step == AS_STEP_REREAD ? as_instance_mount_unreplayed(w->instance)
					     : as_instance_mount(w->instance);

	if (!rc || w->driver->logs_refusal)
		note_recovered(w);
	if (rc && kept_memory(w))
		return ended(w, AS_COMPLAINED, doing, ": ", "failed, and keeps memory");
	if (rc)
		return ended_errno(w, AS_REFUSED, doing, rc);
	return sound(w, doing);
}

static bool read_tree(struct work *w)
{
	struct as_instance_reader reader;
	struct as_buf why = { 0 };
	int rc = as_instance_enter(w->instance, &reader);

	if (rc)
		return ended_errno(w, AS_UNREADABLE, "entering the root", rc);
	rc = w->step == AS_STEP_PROBE
		     ? as_tree_capture_quotas(reader.ops, reader.ctx, &w->out->tree, &why)
		     : as_tree_capture(reader.ops, reader.ctx, &w->out->tree, &why);
	if (rc)
		(void)ended(w, AS_UNREADABLE, w->driver->read_words, ": ", as_buf_str(&why));
	as_buf_free(&why);
	return !rc;
}

static bool probe_all(struct work *w)
{
	struct as_buf path = { 0 };
	const char *doing;
	int rc = 0;

	for (uint32_t i = 0; i < as_tree_len(w->out->tree) && !rc; i++) {
		if (!S_ISDIR(as_tree_at(w->out->tree, i)->mode))
			continue;
		as_buf_clear(&path);
		as_tree_path(w->out->tree, i, &path);
		rc = as_instance_probe(w->instance, as_buf_str(&path), &doing);
	}
	if (rc) {
		(void)ended_errno(w, AS_COMPLAINED, doing, rc);
		if (w->driver->probe_names)
			as_buf_addf(&w->out->why, ": %s", as_buf_str(&path));
	}
	as_buf_free(&path);
	return !rc;
}

/* After a read-only mount: nothing was written, and it can be made writable. */
static bool turn(struct work *w)
{
	int rc;

	if (!as_disk_eq(w->out->disk, w->from))
		return ended(w, AS_COMPLAINED, as_step_name(w->step), ": ", "wrote to the disk");
	rc = as_instance_turn_writable(w->instance);
	return !rc || ended_errno(w, AS_COMPLAINED, "remount rw after a read-only mount", rc);
}

/* What else is done before the unmount. */
static bool go_on(struct work *w)
{
	return w->step == AS_STEP_PROBE ? probe_all(w) : w->step != AS_STEP_LOOK || turn(w);
}

/* Mounts, reads the tree, unmounts; in between, where it is a probe, tries to write. */
static void go_mount(struct work *w)
{
	int rc;

	if (!mount_disk(w) || !read_tree(w) || !go_on(w)) {
		as_instance_trail_tree(w->instance);
		/* Where that fails, as_instance_eject() says so. */
		(void)!as_instance_give_up(w->instance);
		return;
	}
	as_instance_trail_tree(w->instance);
	rc = as_instance_unmount(w->instance);
	if (rc)
		(void)ended_errno(w, w->worker->base.failing ? AS_REFUSED : AS_COMPLAINED,
				  "unmount", rc);
	else
		(void)sound(w, "unmount");
}

static bool counts_nobody(const struct as_tree *tree)
{
	uint32_t n;

	return !tree || !as_tree_quotas(tree, &n);
}

static void go_probe(struct work *w)
{
	bool checks = w->driver->probe_checks;

	if (checks && !stays_sound(w))
		return;
	go_mount(w);
	if (checks && w->out->end == AS_RECOVERED)
		(void)stays_sound(w);
	if (counts_nobody(w->out->tree)) {
		as_tree_put(w->out->tree);
		w->out->tree = NULL;
	}
}

/* ---- The kernel's log ------------------------------------------------------------------------ */

static void watch_device(struct as_step_worker *worker)
{
	const char *device = as_instance_device(worker->instance);

	if (!as_instance_can(worker->instance, AS_INSTANCE_KERNEL))
		return;
	if (!worker->watch)
		worker->watch = as_kwatch_new(device);
	as_kwatch_move(worker->watch, device);
}

static void listen(struct work *w)
{
	struct as_kwatch_news news;
	unsigned said = w->worker->base.failing ? AS_CLUE_PLAN | AS_CLUE_HIT : 0;

	if (!as_kwatch_look(w->worker->watch, as_excuses(AS_EXCUSED_LOG, said), &news))
		return;
	if (w->out->end == AS_RECOVERED)
		w->out->end = AS_COMPLAINED;
	as_buf_addf(&w->out->why, "%sthe kernel says: %s", w->out->why.len ? "; " : "", news.title);
}

/* ---- The driver ------------------------------------------------------------------------------ */

/* A replay reads its log ahead block by block. On a device that is served, each is a message to a
 * server and back; so the same is read before, in a few large pieces. A read that is to fail must
 * be one of the kernel's own. */
static void read_ahead(struct work *w)
{
	struct as_step_worker *worker = w->worker;

	if (worker->rules.journal != AS_JOURNAL_JBD2 || worker->rules.journal_bytes ||
	    worker->base.failing || as_step_is_checker(w->step) || w->step == AS_STEP_REREAD)
		return;
	(void)as_jbd2_look(&worker->jbd2, w->out->disk, 0);
	for (size_t i = 0; i < worker->jbd2.n_ahead; i++)
		as_instance_read_ahead(w->instance, worker->jbd2.ahead[i].off,
				       worker->jbd2.ahead[i].len);
}

static int visit(struct work *w, struct as_bd *above, struct as_err *err)
{
	struct as_step_worker *worker = w->worker;
	int rc = as_instance_insert(w->instance, w->out->disk, above, err);

	if (rc)
		return rc;
	watch_device(worker);
	if (above)
		read_ahead(w);
	as_instance_fail_allocation(w->instance,
				    as_step_fails(&worker->base, AS_RECOVER_FAIL_ALLOC));
	if (as_step_is_checker(w->step))
		go_check(w);
	else if (w->step != AS_STEP_PROBE)
		go_mount(w);
	else
		go_probe(w);
	listen(w);
	as_step_count(&worker->base, AS_RECOVER_FAIL_ALLOC, as_instance_allocations(w->instance));
	rc = as_instance_eject(w->instance, err);
	if (rc != -EBUSY)
		return rc;
	/* Its device is gone. What is on the disk is known only where every request was seen. */
	as_kwatch_free(worker->watch);
	worker->watch = NULL;
	if (!above) {
		as_disk_free(w->out->disk);
		w->out->disk = NULL;
	}
	return 0;
}

static int run(struct as_recoverer *r, enum as_step step, struct as_disk *disk, bool want_log,
	       struct as_stepped *out, struct as_err *err)
{
	struct as_step_worker *worker = of(r);
	struct work w = { worker, worker->instance, r->driver, step, out, disk };
	struct as_bd *above = NULL;
	struct as_faulty *faulty;
	int rc;

	if (as_step_is_checker(step) && worker->rules.programs)
		return as_step_worker_check(worker, (enum as_check_mode)step, disk, out, err);
	out->disk = as_disk_snapshot(disk);
	if (want_log) {
		out->log = as_reclog_new(as_disk_bd(out->disk), AS_RECLOG_READS, 0);
		above = as_reclog_bd(out->log);
	}
	faulty = as_step_faulty(r, above ? above : as_disk_bd(out->disk));
	if (faulty)
		above = as_faulty_bd(faulty);
	rc = visit(&w, above, err);
	as_step_faulty_end(r, faulty);
	if (!rc && out->disk && worker->rules.journal == AS_JOURNAL_XFS)
		as_xfs_log_settle(disk, out->disk, out->log, worker->rules.journal_bytes);
	return rc;
}

/* A mount is quicker where it is not logged, and then cannot be remembered: a log pays only where
 * many disks are alike in what the mount reads. xfs reads its log, which differs each time. */
static bool is_worth_log(const struct as_recoverer *r, enum as_step step)
{
	uint64_t asked = r->stats.asked[step], hits = r->stats.memoised[step];

	if (step == AS_STEP_MOUNT &&
	    ((const struct as_step_worker *)r)->rules.journal != AS_JOURNAL_JBD2)
		return false;
	return asked < TRIED || hits >= asked / WORTH;
}

/* The kernel reads the journal ahead; checkers read nothing ahead. */
static bool hint(struct as_recoverer *r, enum as_step step, struct as_disk *disk,
		 struct as_memo_hint *out)
{
	struct as_step_worker *w = of(r);

	if (as_step_is_checker(step) || w->rules.journal != AS_JOURNAL_JBD2 ||
	    !as_jbd2_look(&w->jbd2, disk, w->rules.journal_bytes))
		return false;
	*out = (struct as_memo_hint){ .why = w->jbd2.looked,
				      .n_why = w->jbd2.n_looked,
				      .unseen = w->jbd2.unseen,
				      .n_unseen = w->jbd2.n_unseen };
	return true;
}

static void worker_free(struct as_recoverer *r)
{
	struct as_step_worker *w = of(r);

	as_instance_close(w->instance);
	as_kwatch_free(w->watch);
	as_step_worker_check_end(w);
	as_jbd2_free(&w->jbd2);
	free(w);
}

/* The probe is the full checker, a mount that makes and deletes files, and the full checker once
 * more. They are one step because on a recovered disk all of it is mostly known from another
 * disk. */
static const struct as_step_driver in_process = {
	.name = "library",
	.run = run,
	.free = worker_free,
	.verify_every = 8,
	.probe_checks = true,
	.peace_words = "the full checker ",
	.probe_words = "",
	.answer_words = ": answered ",
	.read_words = "reading the tree",
};

static const struct as_step_driver outside = {
	.name = "kernel",
	.run = run,
	.is_worth_log = is_worth_log,
	.hint = hint,
	.free = worker_free,
	.verify_every = 16,
	.cached = true,
	.logs_refusal = true,
	.probe_names = true,
	.peace_words = "",
	.probe_words = "after recovery, ",
	.answer_words = " answers ",
	.read_words = "reading",
};

int as_recoverer_new(const struct as_target *target, uint64_t seed, struct as_host_log *log,
		     const struct as_recover_options *options, struct as_recoverer **out,
		     struct as_err *err)
{
	struct as_recovery rules = as_target_recovery(target);
	struct as_limits limits = as_target_limits(target);
	struct as_instance_args args = {
		.target = target,
		.log = log,
		.seed = seed,
		.name_max = limits.name_max ? limits.name_max : NAME_MAX_DEFAULT,
		.visits = true,
	};
	struct as_step_worker *w;
	int rc;

	*out = NULL;
	if (rules.impossible)
		return as_fail(err, AS_EUSE, "target %s: %s", as_target_spec(target),
			       rules.impossible);
	w = as_xcalloc(1, sizeof(*w));
	w->rules = rules;
	rc = as_instance_open(&args, &w->instance, err);
	if (rc) {
		free(w);
		return rc;
	}
	w->base.in_process = as_instance_can(w->instance, AS_INSTANCE_IN_PROCESS);
	as_recoverer_init(&w->base, w->base.in_process ? &in_process : &outside, options);
	w->log = log;
	w->link = (struct as_outside_link){ .outside = options->outside,
					    .in_fd = STDIN_FILENO,
					    .out_fd = STDOUT_FILENO };
	w->base.ways = (uint32_t)rules.by_mount << AS_WAY_MOUNT |
		       rules.by_checkers << AS_WAY_QUICK |
		       (uint32_t)rules.shows_commit << AS_WAY_COMMIT;
	w->base.uncached = as_target_promise(target).crash & AS_CRASH_NO_FLUSH;
	w->base.rereads = rules.rereads;
	w->base.looks = rules.looks;
	w->base.strictest =
		rules.strictest == AS_CHECK_MODES ? AS_STEPS : (enum as_step)rules.strictest;
	w->base.mounts_unchecked = rules.mounts_unchecked;
	w->base.ways_agree = rules.ways_agree;
	*out = &w->base;
	return 0;
}
