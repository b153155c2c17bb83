/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child: see inside.h. One workload from mount to the last comparison.
 *
 * Method with faults. Once a fault has hit, an operation may answer EIO, ENOMEM or EROFS where the
 * model does not expect it; by the rules of the seam it then changed nothing, and the model stays
 * where it is. What cannot be followed that way (a composite operation that stopped half-way) makes
 * the rest blind: carried out, but not judged. Faults end with the unmount; the checker meets none.
 */
#include "run/child.h"

#include "base/choice.h"
#include "model/compare.h"
#include "os/limit.h"
#include "os/spawn.h"
#include "run/answers.h"
#include "run/kwatch.h"
#include "target/mount.h"
#include "vfs/bounds.h"
#include "vfs/lib_new.h"
#include "vfs/sys_new.h"
#include "vfs/tree_watch.h"
#include "work/print.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of writes to a mounted disk; beyond it the record ends, the run does not. */
#define RECORD_MAX_BYTES ((uint64_t)256 << 20)
#define RACE_LINES 60 /* of calls that a finding shows */
#define LOOK_EVERY 16
#define KEPT_BYTES (64 << 20) /* of freed memory, between the workloads of one child */

struct inside {
	const struct as_child_args *args;
	struct as_child_shared *sh;
	const struct as_target_ops *ops; /* of a library; NULL: something else */
	const struct as_fstype *type; /* of the kernel; NULL: something else */
	struct as_chooser *chooser;
	struct as_host_mem *host;
	struct as_medium *stand;
	struct as_kwatch *watch; /* of the kernel's log; may be NULL */
	struct as_mount *mount; /* NULL but for a type of the kernel */
	struct as_vfs *vfs;
	struct as_model *model;
	struct as_verdict verdict;
	struct as_buf text;
	struct as_bounds bounds; /* of a directory */
	bool blind; /* the model has lost the thread */
	bool quick; /* on a disk that nobody watches */
	struct as_race_delay *delay; /* of the disk */
};

const char *as_phase_name(enum as_phase phase)
{
	static const char *const names[PHASES] = {
		[PHASE_SETUP] = "setting up",
		[PHASE_MKFS] = "mkfs",
		[PHASE_FRESH_MOUNT] = "mount of a fresh disk",
		[PHASE_MOUNT] = "mount",
		[PHASE_OP] = "an operation",
		[PHASE_COMPARE] = "reading the tree",
		[PHASE_UNMOUNT] = "unmount",
		[PHASE_FSCK] = "fsck",
		[PHASE_MOUNT_AGAIN] = "mounting again",
		[PHASE_COMPARE_AGAIN] = "reading the tree after mounting again",
		[PHASE_UNMOUNT_AGAIN] = "the second unmount",
	};

	return (unsigned)phase < PHASES ? names[phase] : "?";
}

void as_shared_clear(struct as_child_shared *sh)
{
	/* Only what was used costs something. */
	memset((char *)sh + offsetof(struct as_child_shared, phase), 0,
	       offsetof(struct as_child_shared, fresh) - offsetof(struct as_child_shared, phase));
}

static void enter(struct inside *in, enum as_phase phase)
{
	in->sh->phase = phase;
	in->sh->alive++;
}

/* ---- Findings -------------------------------------------------------------------------------- */

/* A disk that is mounted is served by another thread. */
static struct as_medium *hold_disk(struct inside *in)
{
	return in->mount ? as_mount_medium(in->mount) : in->stand;
}

static void release_disk(struct inside *in)
{
	if (in->mount)
		as_mount_release(in->mount);
}

static void hand_over_disk(struct inside *in)
{
	struct as_medium *stand;

	if (in->quick && as_mount_mounted(in->mount))
		return;
	stand = hold_disk(in);
	if (stand && !as_medium_export(stand, in->args->disk_fd, NULL))
		in->sh->has_disk = true;
	release_disk(in);
}

/* The first is kept; `about` goes into the signature ("rename"), `why` says what is wrong. */
static void found(struct inside *in, enum as_finding_kind kind, int64_t op, const char *about,
		  const char *why)
{
	struct as_child_shared *sh = in->sh;
	struct as_buf signature = { 0 };
	const char *colon;

	if (sh->found)
		return;
	sh->kind = kind;
	sh->found_op = op;
	if (op >= 0) {
		as_buf_clear(&in->text);
		as_print_op(&in->args->seq->ops[op], &in->text);
		snprintf(sh->summary, sizeof(sh->summary), "op %lld: %.120s: %s", (long long)op + 1,
			 as_buf_str(&in->text), why);
	} else {
		snprintf(sh->summary, sizeof(sh->summary), "%s: %s", about, why);
	}
	/* A tree's difference begins with a path, which belongs to the workload. */
	colon = kind == AS_FIND_TREE ? strstr(why, ": ") : NULL;
	as_buf_addf(&signature, "%s: %s: ", as_finding_kind_name(kind), about);
	as_signature_add(&signature, colon ? colon + 2 : why);
	snprintf(sh->signature, sizeof(sh->signature), "%s", as_buf_str(&signature));
	as_buf_free(&signature);
	hand_over_disk(in);
	sh->found = true;
}

static void found_errno(struct inside *in, enum as_finding_kind kind, int rc)
{
	char why[96];

	snprintf(why, sizeof(why), "answered %s though nothing was wrong", as_errno_name(-rc));
	found(in, kind, -1, as_phase_name(in->sh->phase), why);
}

static bool fault_hit(struct inside *in);

/* What the kernel said of it. */
static bool kernel_spoke(struct inside *in, int64_t op, const char *about)
{
	bool excused = in->args->plan && fault_hit(in);
	struct as_kwatch_news news;

	if (!as_kwatch_look(in->watch, excused, &news) || in->sh->found)
		return false;
	as_host_log_add(&in->sh->log, news.text);
	found(in, AS_FIND_KERNEL, op, about, news.title);
	snprintf(in->sh->signature, sizeof(in->sh->signature), "%s", news.signature);
	return true;
}

/* A FUSE server that is gone. */
static bool server_failed(struct inside *in, int64_t op, const char *about)
{
	const char *why = in->mount ? as_mount_trouble(in->mount) : NULL;

	if (!why || in->sh->found)
		return false;
	as_host_log_add(&in->sh->log, as_mount_output(in->mount));
	found(in, as_mount_hung(in->mount) ? AS_FIND_HANG : AS_FIND_SIGNAL, op, about, why);
	return true;
}

/* Broken rules of the seam, or a kernel that complains; true when there is one. */
static bool troubled(struct inside *in, int64_t op)
{
	const char *about = op >= 0 ? as_op_table[in->args->seq->ops[op].code].name
				    : as_phase_name(in->sh->phase);
	enum as_finding_kind kind;
	const char *why;

	if (!in->ops)
		return server_failed(in, op, about) || kernel_spoke(in, op, about);
	why = as_vfs_lib_trouble(in->vfs, &kind);
	if (!why) {
		kind = AS_FIND_MISUSE;
		why = as_medium_misuse(in->stand);
	}
	if (why)
		found(in, kind, op, about, why);
	return why;
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static bool fault_hit(struct inside *in)
{
	struct as_medium *stand = hold_disk(in);

	if (stand && (as_medium_fired(stand) || as_host_failed(in->host)))
		in->sh->fired = true;
	release_disk(in);
	return in->sh->fired;
}

static bool excused(struct inside *in, int err)
{
	if (!fault_hit(in))
		return false;
	/* What a kernel answers for a broken disk is its own affair. */
	if (in->mount)
		return true;
	if (err == EIO || err == ENOMEM || err == EROFS)
		return true;
	/* A checksum that catches a flipped bit says so. */
	return (err == EUCLEAN || err == EBADMSG) && as_plan_is_silent(in->args->plan);
}

/* Whether bytes already acknowledged may be missing from the disk. */
static bool writes_were_hit(struct inside *in)
{
	return in->sh->fired && in->args->plan && as_plan_hits_writes(in->args->plan);
}

static void end_faults(struct inside *in)
{
	fault_hit(in);
	as_medium_plan(hold_disk(in), NULL);
	release_disk(in);
	as_host_fail_nth(in->host, 0);
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* A fault that hits while the tree is read says nothing about the tree: read it again. One that
 * stays makes it unreadable, and that is all that can be said. */
static bool compare_tree(struct inside *in, struct as_buf *why)
{
	bool differs = true;

	for (int i = 0; i < 2 && differs; i++) {
		struct as_tree_watch watch = { .vfs = in->vfs };

		as_buf_clear(why);
		differs = as_model_compare(in->model, &as_tree_watch_ops, &watch, why);
		if (!differs || !watch.failed || !excused(in, watch.failed))
			return differs;
	}
	return false;
}

/* Compares the tree; true when it is as the model says. */
static bool tree_agrees(struct inside *in, int64_t op)
{
	struct as_buf why = { 0 };
	bool differs;

	if (in->blind)
		return true;
	differs = compare_tree(in, &why);
	if (differs)
		found(in, AS_FIND_TREE, op,
		      op >= 0 ? as_op_table[in->args->seq->ops[op].code].name
			      : as_phase_name(in->sh->phase),
		      as_buf_str(&why));
	as_buf_free(&why);
	return !differs;
}

static bool is_composite(enum as_opcode code)
{
	return code == AS_OP_REMOVE || code == AS_OP_PRUNE || code == AS_OP_DEEPEN ||
	       code == AS_OP_ENLARGE;
}

/* The outcome is not one the model knows, but a fault explains it. False: the file system is gone
 * and the workload ends here. */
static bool follow_fault(struct inside *in, const struct as_op *op, const struct as_outcome *got)
{
	struct as_outcome closed = { 0 };

	switch (op->code) {
	case AS_OP_CLOSE:
		/* The slot is free whatever close answers. */
		if (!as_model_judge(in->model, op, &closed, &in->verdict))
			in->blind = true;
		return true;
	case AS_OP_MOUNT:
	case AS_OP_UMOUNT:
	case AS_OP_CRASH:
		in->blind = true;
		return false;
	case AS_OP_MMAP_WRITE:
		/* What failed may be the msync behind the writing. */
		in->blind = true;
		return true;
	default:
		if (is_composite(op->code) && got->done)
			in->blind = true;
		return true;
	}
}

/* False: the workload ends here. */
static bool judge(struct inside *in, int64_t i, const struct as_outcome *got)
{
	const struct as_op *op = &in->args->seq->ops[i];

	/* A file system of the kernel may turn itself off, or keep half of an operation. */
	if (in->mount && in->args->plan && fault_hit(in))
		in->blind = true;
	if (in->blind)
		return true;
	if (as_model_judge(in->model, op, got, &in->verdict)) {
		in->sh->skipped += got->ret < 0 &&
				   (got->err == AS_ERR_UNSUPPORTED || got->err == AS_ERR_LIMIT);
		return true;
	}
	if (got->ret < 0 && excused(in, got->err))
		return follow_fault(in, op, got);
	/* What the kernel has to say goes before what came of it. */
	if (!in->quick || !troubled(in, i))
		found(in, in->verdict.kind, i, as_op_table[op->code].name,
		      as_buf_str(&in->verdict.why));
	return false;
}

/* On a disk that nobody watches the kernel's log is not read behind every operation: whatever is
 * found is looked for again on one that is. */
static bool is_time_to_look(const struct inside *in, int64_t i)
{
	return !in->quick || i % LOOK_EVERY == LOOK_EVERY - 1;
}

static bool run_op(struct inside *in, int64_t i)
{
	const struct as_op *op = &in->args->seq->ops[i];
	struct as_child_shared *sh = in->sh;
	struct as_outcome got;
	bool going;

	sh->op = i;
	enter(in, PHASE_OP);
	if (in->mount)
		as_mount_set_op(in->mount, (uint32_t)i);
	as_vfs_exec(in->vfs, op, &got);
	sh->recent[i % RECENT] = (struct as_recent){ i, got.ret, got.err };
	sh->ops++;
	/* A mount without its server: which will be seen to have ended in a moment. */
	if (in->mount && got.ret < 0 && (got.err == ENOTCONN || got.err == ECONNABORTED))
		as_mount_await_trouble(in->mount);
	if (is_time_to_look(in, i) && troubled(in, i))
		return false;
	going = judge(in, i, &got);
	if (in->args->options->trace)
		as_answers_add(in->args->options->trace, &got, in->blind ? NULL : &in->verdict,
			       in->args->fresh_model);
	if (!going)
		return false;
	if (!in->args->options->check_every_op)
		return true;
	enter(in, PHASE_COMPARE);
	return tree_agrees(in, i);
}

/* ---- From mount to the end ------------------------------------------------------------------- */

static void set_up_disk(struct inside *in)
{
	in->chooser = as_chooser_seeded(in->args->options->seed);
	in->host = as_host_new(as_chooser_choice(in->chooser), &in->sh->log);
	in->stand = as_medium_copy(in->args->fresh_disk);
	if (in->args->witness && in->quick)
		as_medium_unwitnessed(in->args->witness);
	else if (in->args->witness)
		as_medium_witness(in->stand, in->args->witness, AS_RUN_WITNESS_BYTES);
}

static void set_up_library(struct inside *in)
{
	const struct as_child_args *args = in->args;
	struct as_limits limits = as_target_limits(args->target);

	set_up_disk(in);
	as_medium_plan(in->stand, args->plan);
	as_host_fail_nth(in->host, args->plan ? as_plan_alloc(args->plan) : 0);
	in->vfs = as_vfs_lib_new(&(struct as_lib_args){
		.ops = in->ops,
		.host = in->host,
		.bd = as_medium_bd(in->stand),
		.opts = as_target_opts(args->target),
		.name_max = args->traits->name_max,
		.size_max_bytes = limits.file_bytes,
	});
}

/* The disk of `path` is the machine's: it must not be filled. */
static void bind_folder(struct inside *in, const char *path)
{
	const struct as_run_options *o = in->args->options;

#define BOUND(field, standard, what) const uint64_t field = o->field ? o->field : (standard);
#include "vfs/bounds.def"
	(void)deadline_ms; /* the parent's */
	in->bounds = (struct as_bounds){ .bytes = max_bytes, .entries = max_entries };
	as_bounds_spare(&in->bounds, path);
	as_vfs_bind(in->vfs, &in->bounds);
}

/* Sooner than the parent loses patience with us: we know better what it is that hangs. */
static unsigned server_ms(const struct as_run_options *o)
{
	return (o->deadline_ms ? o->deadline_ms : AS_RUN_DEADLINE_MS) / 4 * 3;
}

static int set_up_mounted(struct inside *in, struct as_err *err)
{
	int rc;

	set_up_disk(in);
	if (in->quick) {
		rc = as_mount_new_quick(in->type, in->stand, &in->mount, err);
	} else {
		as_medium_record(in->stand, RECORD_MAX_BYTES);
		as_medium_plan(in->stand, in->args->plan);
		rc = as_mount_new(in->type, in->stand, &in->mount, err);
	}
	if (!rc)
		as_mount_set_deadline(in->mount, server_ms(in->args->options));
	if (!rc && !in->type->server) {
		snprintf(in->sh->device, sizeof(in->sh->device), "%s", as_mount_device(in->mount));
		in->watch = as_kwatch_new(in->sh->device);
	}
	if (!rc)
		rc = as_vfs_sys_mounted_new(in->mount, as_target_opts(in->args->target), &in->vfs,
					    err);
	/* What is passed on lands in the machine's memory. */
	if (!rc && as_mount_source(in->mount))
		bind_folder(in, as_mount_source(in->mount));
	return rc;
}

static int set_up_folder(struct inside *in, struct as_err *err)
{
	int rc = as_vfs_sys_new(in->args->folder, &in->vfs, err);

	if (!rc)
		bind_folder(in, "/");
	return rc;
}

/* False: not mounted. */
static bool mount_target(struct inside *in, enum as_phase phase)
{
	int rc;

	enter(in, phase);
	rc = in->ops ? as_vfs_lib_mount(in->vfs, "") : as_vfs_sys_mount(in->vfs, "");
	if (!rc)
		return !troubled(in, -1);
	if (excused(in, -rc))
		/* Refusing to mount a disk that does not answer is right; leaking is not. */
		troubled(in, -1);
	else
		found_errno(in, AS_FIND_MOUNT, rc);
	return false;
}

static bool unmount_target(struct inside *in, enum as_phase phase)
{
	int rc;

	enter(in, phase);
	rc = in->ops ? as_vfs_lib_unmount(in->vfs) : as_vfs_sys_unmount(in->vfs);
	if (troubled(in, -1))
		return false;
	if (!rc || excused(in, -rc))
		return true;
	found_errno(in, AS_FIND_MOUNT, rc);
	return false;
}

/* The checker has nothing to complain of on a disk that was unmounted in peace. */
static bool fsck_library(struct inside *in)
{
	struct as_mount_args args = { .host = as_host_seam(in->host),
				      .bd = as_medium_bd(in->stand),
				      .opts = as_target_opts(in->args->target) };
	char why[96];
	int rc;

	if (!(in->ops->caps & AS_CAP_FSCK) || writes_were_hit(in))
		return true;
	enter(in, PHASE_FSCK);
	in->sh->log.total_bytes = 0;
	rc = in->ops->fsck(&args, AS_FSCK_FULL);
	if (troubled(in, -1))
		return false;
	if (rc == AS_FSCK_CLEAN)
		return true;
	if (rc < 0)
		snprintf(why, sizeof(why), "failed with %s on an unmounted disk",
			 as_errno_name(-rc));
	else
		snprintf(why, sizeof(why), "found errors on an unmounted disk (status %d)", rc);
	found(in, AS_FIND_CHECKER, -1, "fsck", why);
	return false;
}

/* What a program printed, line by line, where the target's own words go. */
static void log_output(struct inside *in, struct as_buf *output)
{
	const struct as_host *host = as_host_seam(in->host);
	char *save = NULL;

	if (!output->len)
		return;
	for (char *line = strtok_r(output->data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		host->log(host->ctx, line);
}

static bool fsck_mounted(struct inside *in)
{
	struct as_child_shared *sh = in->sh;
	struct as_buf output = { 0 };
	enum as_check_mode mode = in->type->full_rebuilds ? AS_CHECK_QUICK : AS_CHECK_FULL;
	enum as_check_answer answer;
	char why[160];

	if (writes_were_hit(in))
		return true;
	enter(in, PHASE_FSCK);
	sh->log.total_bytes = 0;
	sh->tool_rc = as_mount_check(in->mount, mode, false, in->args->options->deadline_ms,
				     &answer, &output, &sh->tool_err);
	if (!sh->tool_rc && answer != AS_CHECK_CLEAN) {
		log_output(in, &output);
		snprintf(why, sizeof(why), "`%s` of an unmounted disk ended with: %s",
			 in->type->check[mode].command, as_check_answer_name(answer));
		found(in, AS_FIND_CHECKER, -1, "fsck", why);
	}
	as_buf_free(&output);
	return !sh->tool_rc && !sh->found;
}

/* A workload that ends unmounted leaves a model that is, too: it follows our own mount. */
static bool model_mounts(struct inside *in)
{
	struct as_op mount = as_op_make(AS_OP_MOUNT);
	struct as_outcome done = { 0 };

	if (!in->model || as_model_mounted(in->model))
		return in->model;
	return in->blind || as_model_judge(in->model, &mount, &done, &in->verdict);
}

static void end_target(struct inside *in)
{
	if (!unmount_target(in, PHASE_UNMOUNT))
		return;
	end_faults(in);
	if (!(in->ops ? fsck_library(in) : fsck_mounted(in)))
		return;
	/* Everything must be there after a clean unmount. */
	if (writes_were_hit(in) || !mount_target(in, PHASE_MOUNT_AGAIN))
		return;
	enter(in, PHASE_COMPARE_AGAIN);
	if (!model_mounts(in) || !tree_agrees(in, -1))
		return;
	unmount_target(in, PHASE_UNMOUNT_AGAIN);
}

/* ---- Several threads ------------------------------------------------------------------------- */

/* Called by all of them. What is in flight is whatever was begun last and has not ended. */
static void race_begins(void *ctx, unsigned thread, size_t op)
{
	struct as_child_shared *sh = ctx;

	sh->racing[thread] = (int64_t)op + 1;
	sh->op = (int64_t)op;
	__atomic_add_fetch(&sh->alive, 1, __ATOMIC_RELAXED);
}

static void race_ended(void *ctx, unsigned thread, size_t op)
{
	struct as_child_shared *sh = ctx;

	sh->racing[thread] = 0;
	for (unsigned t = 0; t < AS_RACE_THREADS_MAX && sh->op == (int64_t)op; t++)
		if (sh->racing[t])
			sh->op = sh->racing[t] - 1;
	__atomic_add_fetch(&sh->alive, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&sh->ops, 1, __ATOMIC_RELAXED);
}

static void race_beats(void *ctx)
{
	((struct as_child_shared *)ctx)->alive++;
}

static void found_race(struct inside *in, const struct as_race_history *history,
		       const struct as_race_verdict *verdict)
{
	struct as_child_shared *sh = in->sh;
	struct as_buf detail = { 0 };

	found(in, AS_FIND_RACE, -1, verdict->about, as_buf_str(&verdict->why));
	snprintf(sh->signature, sizeof(sh->signature), "%s", as_buf_str(&verdict->signature));
	as_race_describe(history, verdict->guilty, RACE_LINES, &detail);
	snprintf(sh->detail, sizeof(sh->detail), "%s", as_buf_str(&detail));
	as_buf_free(&detail);
}

static void judge_race(struct inside *in, const struct as_race_history *history,
		       const struct as_race_watch *watch)
{
	struct as_race_verdict verdict;

	enter(in, PHASE_COMPARE);
	for (size_t i = 0; i < history->n; i++) {
		const struct as_outcome *got = &history->calls[i].got;

		in->sh->skipped += got->ret < 0 &&
				   (got->err == AS_ERR_UNSUPPORTED || got->err == AS_ERR_LIMIT);
	}
	as_race_judge(history, in->model, in->vfs, watch, &verdict);
	if (verdict.last) {
		as_model_free(in->model);
		in->model = as_model_copy(verdict.last);
	} else if (verdict.gave_up) {
		in->sh->unjudged = in->blind = true;
	} else {
		found_race(in, history, &verdict);
	}
	as_race_verdict_free(&verdict);
}

static void run_race(struct inside *in)
{
	const struct as_child_args *args = in->args;
	struct as_race_watch watch = { race_begins, race_ended, race_beats, in->sh };
	struct as_race_run run = { .form = args->seq,
				   .options = &args->options->race,
				   .seed = args->race_seed,
				   .delays = as_race_delays(&args->options->race, args->race_seed,
							    args->race_first),
				   .vfs = in->vfs,
				   .remounts = in->ops || (in->type && !in->type->server),
				   .watch = &watch };
	struct as_race_history history;

	if (in->mount) {
		in->delay = as_race_delay_new(run.options, ~run.delays);
		as_mount_set_delay(in->mount, as_race_delay_pause, in->delay);
	}
	enter(in, PHASE_OP);
	in->sh->tool_rc = as_race_run(&run, &history, &in->sh->tool_err);
	if (in->mount)
		as_mount_set_delay(in->mount, NULL, NULL);
	if (!in->sh->tool_rc && !troubled(in, -1)) {
		if (history.beside[0])
			found(in, AS_FIND_RACE, -1, "beside the others", history.beside);
		else
			judge_race(in, &history, &watch);
	}
	as_race_history_free(&history);
}

static void run_all(struct inside *in)
{
	const struct as_seq *seq = in->args->seq;
	int64_t n = (int64_t)seq->n;
	bool going = true;

	if (in->stand && !mount_target(in, PHASE_MOUNT))
		return;
	as_vfs_watch(in->vfs, in->args->options->watch);
	in->model = as_model_copy(in->args->fresh_model);
	if (in->args->race_seed)
		run_race(in);
	for (int64_t i = 0; going && i < n && !in->args->race_seed; i++)
		going = run_op(in, i);
	if (in->sh->found || in->sh->tool_rc)
		return;
	if (going && as_model_mounted(in->model) && !in->args->race_seed) {
		enter(in, PHASE_COMPARE);
		if (!tree_agrees(in, -1))
			return;
	}
	if (in->stand)
		end_target(in);
}

/* ---- The process ----------------------------------------------------------------------------- */

/* A dying target leaves no core, what it prints does not mix with our output, and nobody (a
 * sanitizer, say) turns the signal it dies of into something else. */
void as_child_settle(void)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP };
	struct rlimit none = { 0, 0 };

	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		signal(deadly[i], SIG_DFL);
	setrlimit(RLIMIT_CORE, &none);
	as_limit_memory();
	dup2(STDERR_FILENO, STDOUT_FILENO);
}

static void tear_down(struct inside *in)
{
	if (in->mount)
		as_mount_abandon(in->mount);
	as_model_free(in->model);
	as_verdict_free(&in->verdict);
	as_vfs_free(in->vfs);
	as_mount_free(in->mount);
	as_kwatch_free(in->watch);
	as_race_delay_free(in->delay);
	as_host_free(in->host);
	as_medium_free(in->stand);
	as_chooser_free(in->chooser);
	as_buf_free(&in->text);
}

static struct inside begin(const struct as_child_args *args)
{
	return (struct inside){ .args = args,
				.sh = args->shared,
				.ops = as_target_library(args->target),
				.type = as_target_fstype(args->target) };
}

static void run_workload(const struct as_child_args *args)
{
	struct inside in = begin(args);
	struct as_child_shared *sh = in.sh;

	enter(&in, PHASE_SETUP);
	if (in.ops)
		set_up_library(&in);
	else if (in.type)
		sh->tool_rc = set_up_mounted(&in, &sh->tool_err);
	else
		sh->tool_rc = set_up_folder(&in, &sh->tool_err);
	if (!sh->tool_rc) {
		run_all(&in);
		fault_hit(&in);
	}
	tear_down(&in);
}

/* The code of a plugin comes into this process. */
static bool get_target(const struct as_child_args *args)
{
	struct as_child_shared *sh = args->shared;

	sh->phase = PHASE_SETUP;
	sh->tool_rc = as_target_load(args->target, &sh->tool_err);
	return !sh->tool_rc;
}

int as_child_run(void *ctx)
{
	const struct as_child_args *args = ctx;

	as_child_settle();
	/* Somebody else's file system may keep us for ever. */
	if (args->folder)
		as_spawn_be_silent();
	if (get_target(args))
		run_workload(args);
	args->shared->finished = true;
	return 0;
}

/* The workload is done, and the next one finds the memory as the first one did. */
static void count_done(const struct as_child_args *args, size_t i)
{
	struct as_child_shared *sh = args->shared;
	uint64_t ops = sh->done_ops + sh->ops, skipped = sh->done_skipped + sh->skipped;
	uint64_t unjudged = sh->done_unjudged + sh->unjudged;

	as_shared_clear(sh);
	sh->done_ops = ops;
	sh->done_skipped = skipped;
	sh->done_unjudged = unjudged;
	sh->done = i + 1;
	if (args->options->state)
		args->options->state->job++;
}

/* The loop device and the namespace stay; the disk is fresh again, and the kernel has forgotten
 * what it knew of it. */
static int renew_mounted(struct inside *in, struct as_err *err)
{
	int rc = as_mount_mounted(in->mount) ? as_mount_umount(in->mount) : 0;

	if (rc)
		return as_fail_errno(err, -rc, "cannot unmount between two workloads");
	as_vfs_free(in->vfs);
	in->vfs = NULL;
	as_model_free(in->model);
	in->model = NULL;
	in->blind = false;
	as_host_free(in->host);
	as_chooser_free(in->chooser);
	in->chooser = as_chooser_seeded(in->args->options->seed);
	in->host = as_host_new(as_chooser_choice(in->chooser), &in->sh->log);
	snprintf(in->sh->device, sizeof(in->sh->device), "%s", as_mount_device(in->mount));
	rc = as_mount_renew(in->mount, in->args->fresh_disk, err);
	return rc ? rc
		  : as_vfs_sys_mounted_new(in->mount, as_target_opts(in->args->target), &in->vfs,
					   err);
}

static void run_mounted_batch(struct as_child_args *args)
{
	struct inside in = begin(args);
	struct as_child_shared *sh = in.sh;

	in.quick = true;
	args->seq = args->batch->seqs[0];
	enter(&in, PHASE_SETUP);
	sh->tool_rc = set_up_mounted(&in, &sh->tool_err);
	for (size_t i = 0; i < args->batch->n && !sh->tool_rc; i++) {
		args->seq = args->batch->seqs[i];
		run_all(&in);
		if (sh->found || sh->tool_rc)
			break;
		count_done(args, i);
		if (i + 1 < args->batch->n)
			sh->tool_rc = renew_mounted(&in, &sh->tool_err);
	}
	tear_down(&in);
}

/* Also of races, which begin anew each time. */
static void run_separate_batch(struct as_child_args *args)
{
	struct as_child_shared *sh = args->shared;

	/* What one workload gives back the next one takes: the kernel need not know. */
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	mallopt(M_TOP_PAD, KEPT_BYTES / 16);
	for (size_t i = 0; i < args->batch->n; i++) {
		args->seq = args->batch->seqs[i];
		if (args->race_seed)
			args->race_seed = as_race_seed(&args->options->race, args->options->seed,
						       args->race_first + (unsigned)i);
		run_workload(args);
		if (sh->found || sh->tool_rc)
			break;
		count_done(args, i);
	}
}

int as_child_run_batch(void *ctx)
{
	struct as_child_args args = *(const struct as_child_args *)ctx;

	as_child_settle();
	if (as_target_fstype(args.target) && !args.race_seed)
		run_mounted_batch(&args);
	else if (get_target(&args))
		run_separate_batch(&args);
	args.shared->finished = true;
	return 0;
}

/* ---- The fresh file system ------------------------------------------------------------------- */

struct fresh_walk {
	struct inside *in;
	const char *dir;
	int rc;
};

static int list_fresh(struct inside *in, const char *path);

static int list_entry(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	struct fresh_walk *w = ctx;
	struct as_buf path = { 0 };

	(void)ino;
	(void)type;
	as_buf_addf(&path, "%s/%s", strcmp(w->dir, "/") ? w->dir : "", name);
	w->rc = list_fresh(w->in, as_buf_str(&path));
	as_buf_free(&path);
	return w->rc;
}

static int list_fresh(struct inside *in, const char *path)
{
	const struct as_tree_ops *tree = as_vfs_tree(in->vfs);
	struct as_child_shared *sh = in->sh;
	size_t len = strlen(path) + 1;
	struct fresh_walk w = { in, path, 0 };
	struct as_stat st;
	int rc = tree->stat(in->vfs, path, &st);

	if (rc)
		return as_fail(&sh->tool_err, AS_EUSE, "cannot stat %s on a fresh disk: %s", path,
			       as_outcome_err_name(-rc));
	if (sh->fresh_len + sizeof(st) + len > FRESH_BYTES || (!S_ISDIR(st.mode) && st.size))
		return as_fail(&sh->tool_err, AS_EUSE,
			       "a fresh disk holds more than empty files and directories: %s",
			       path);
	memcpy(sh->fresh + sh->fresh_len, &st, sizeof(st));
	memcpy(sh->fresh + sh->fresh_len + sizeof(st), path, len);
	sh->fresh_len += (uint32_t)(sizeof(st) + len);
	if (!S_ISDIR(st.mode))
		return 0;
	rc = tree->list(in->vfs, path, list_entry, &w);
	if (rc && !w.rc)
		return as_fail(&sh->tool_err, AS_EUSE, "cannot list %s on a fresh disk: %s", path,
			       as_outcome_err_name(-rc));
	return w.rc;
}

static int prepare_library(struct inside *in)
{
	const struct as_child_args *args = in->args;
	struct as_child_shared *sh = in->sh;
	struct as_mount_args mkfs;
	int rc;

	set_up_library(in);
	mkfs = (struct as_mount_args){ .host = as_host_seam(in->host),
				       .bd = as_medium_bd(in->stand),
				       .opts = as_target_opts(args->target) };
	enter(in, PHASE_MKFS);
	rc = in->ops->mkfs(&mkfs);
	if (rc)
		return as_fail(&sh->tool_err, AS_EUSE, "mkfs failed: %s", as_errno_name(-rc));
	as_host_drop(in->host);
	rc = as_medium_export(in->stand, args->disk_fd, &sh->tool_err);
	if (rc)
		return rc;
	enter(in, PHASE_FRESH_MOUNT);
	rc = as_vfs_lib_mount(in->vfs, "");
	if (rc)
		return as_fail(&sh->tool_err, AS_EUSE, "a fresh disk cannot be mounted: %s",
			       as_errno_name(-rc));
	rc = list_fresh(in, "/");
	as_vfs_lib_abandon(in->vfs);
	return rc;
}

/* A server that does not even serve a fresh disk. */
static int server_useless(struct inside *in, int rc)
{
	bool lacks = rc == -ENOEXEC || in->args->traits->features & AS_FEAT_UNPRIVILEGED;
	const char *output = as_mount_output(in->mount);

	if (rc == -ENOEXEC)
		return as_fail(&in->sh->tool_err, AS_ELACK,
			       "its program cannot be started: %s%s%s%s",
			       as_mount_refusal(in->mount), in->type->package ? " (package " : "",
			       in->type->package ? in->type->package : "",
			       in->type->package ? ")" : "");
	return as_fail(&in->sh->tool_err, lacks ? AS_ELACK : AS_EUSE,
		       "the server %s%s; it said: %.400s",
		       rc == -ETIMEDOUT ? "mounted nothing in time"
					: "ended before it served anything (it must stay in the "
					  "foreground)",
		       lacks ? ", without root's rights" : "", *output ? output : "nothing");
}

static int prepare_mounted(struct inside *in)
{
	struct as_child_shared *sh = in->sh;
	int rc = set_up_mounted(in, &sh->tool_err);

	if (rc)
		return rc;
	enter(in, PHASE_FRESH_MOUNT);
	rc = as_vfs_sys_mount(in->vfs, "");
	if (rc && in->type->server)
		return server_useless(in, rc);
	if (rc)
		return as_fail(&sh->tool_err, AS_EUSE, "a fresh disk cannot be mounted: %s",
			       as_errno_name(-rc));
	return list_fresh(in, "/");
}

static int prepare_folder(struct inside *in)
{
	struct as_child_shared *sh = in->sh;
	int rc = as_vfs_sys_new(in->args->folder, &in->vfs, &sh->tool_err);

	return rc ? rc : list_fresh(in, "/");
}

int as_child_prepare(void *ctx)
{
	const struct as_child_args *args = ctx;
	struct inside in;

	as_child_settle();
	if (args->folder)
		as_spawn_be_silent();
	if (get_target(args)) {
		in = begin(args);
		enter(&in, PHASE_SETUP);
		in.sh->tool_rc = in.ops	   ? prepare_library(&in)
				 : in.type ? prepare_mounted(&in)
					   : prepare_folder(&in);
		tear_down(&in);
	}
	args->shared->finished = true;
	return 0;
}
