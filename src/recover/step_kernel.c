/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_kernel: the driver of kernels: which ways there are for a type, and who carries out a step:
 * the kernel (step_mount.c) or a checker (step_check.c). The row of the type says which ways there
 * are: a mount where the kernel replays its journal, checkers where they replay it, or where nobody
 * else can.
 */
#include "recover/kernel_priv.h"

#include <stdlib.h>

/* After TRIED disks, fewer hits than one in WORTH do not pay for the logs. */
#define TRIED 64u
#define WORTH 16u
#define VERIFY_EVERY 16u

uint32_t as_recover_kernel_ways(const struct as_fstype *type)
{
	uint32_t checkers = 0;

	for (int mode = 0; mode < AS_CHECK_MODES; mode++)
		if (type->check[mode].command && !(mode == AS_CHECK_FULL && type->full_rebuilds))
			checkers |= 1u << (AS_WAY_QUICK + mode);
	if (type->replayed_by_checker)
		return checkers;
	if (type->guarantee == AS_GUARANTEE_REPAIR && checkers)
		/* The checker that runs at boot may stop and ask for a person; nobody is here. */
		return checkers & ~(1u << AS_WAY_QUICK) ? checkers & ~(1u << AS_WAY_QUICK)
							: checkers;
	return 1u << AS_WAY_MOUNT | (type->checker_replays ? checkers : 0);
}

/* A mount is quicker where it is not logged, and then cannot be remembered: a log pays only where
 * many disks are alike in what the mount reads. xfs reads its log, which differs each time. */
static bool is_worth_log(const struct as_recoverer *r, enum as_step step)
{
	const struct as_kernel *k = (const struct as_kernel *)r;
	uint64_t asked = r->stats.asked[step], hits = r->stats.memoised[step];

	if (step == AS_STEP_MOUNT && k->type->journal != AS_JOURNAL_JBD2)
		return false;
	return asked < TRIED || hits >= asked / WORTH;
}

/* The kernel reads the journal ahead; checkers read nothing ahead. */
static bool hint(struct as_recoverer *r, enum as_step step, struct as_disk *disk,
		 struct as_memo_hint *out)
{
	struct as_kernel *k = (struct as_kernel *)r;

	if (as_step_is_checker(step) || k->type->journal != AS_JOURNAL_JBD2 ||
	    !as_jbd2_look(&k->jbd2, disk))
		return false;
	*out = (struct as_memo_hint){ .why = k->jbd2.looked,
				      .n_why = k->jbd2.n_looked,
				      .unseen = k->jbd2.unseen,
				      .n_unseen = k->jbd2.n_unseen };
	return true;
}

static int run(struct as_recoverer *r, enum as_step step, struct as_disk *disk, bool want_log,
	       struct as_stepped *stepped, struct as_err *err)
{
	struct as_kernel *k = (struct as_kernel *)r;

	if (as_step_is_checker(step))
		return as_kernel_check(k, (enum as_check_mode)step, disk, stepped, err);
	/* A read can be made to fail only where reads are seen. */
	return as_kernel_mount(k, step, disk, want_log || r->failing, stepped, err);
}

static void kernel_free(struct as_recoverer *r)
{
	struct as_kernel *k = (struct as_kernel *)r;

	as_kernel_mount_end(k);
	as_kernel_check_end(k);
	as_jbd2_free(&k->jbd2);
	free(k->mount_opts);
	free(k);
}

static const struct as_step_driver kernel_driver = {
	.name = "kernel",
	.run = run,
	.is_worth_log = is_worth_log,
	.hint = hint,
	.free = kernel_free,
	.verify_every = VERIFY_EVERY,
	.cached = true,
	.logs_refusal = true,
	.peace_words = "",
	.probe_words = "after recovery, ",
};

struct as_recoverer *as_recoverer_kernel(const struct as_fstype *type,
					 const struct as_recover_options *options)
{
	struct as_kernel *k = as_xcalloc(1, sizeof(*k));
	enum as_check_mode strictest = type->full_rebuilds ? AS_CHECK_QUICK : AS_CHECK_FULL;

	as_recoverer_init(&k->base, &kernel_driver, options);
	k->base.ways = as_recover_kernel_ways(type);
	k->base.strictest = type->check[strictest].command ? (enum as_step)strictest : AS_STEPS;
	k->base.ways_agree = type->guarantee != AS_GUARANTEE_REPAIR;
	k->type = type;
	k->mount_opts = as_xstrdup(options->mount_opts ? options->mount_opts : "");
	return &k->base;
}
