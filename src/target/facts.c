/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts: see facts.h. Of a type, its row in fstype.def says it all. */
#include "target/facts.h"

#include "target/kinds_priv.h"

#include <errno.h>
#include <string.h>

#define ALL_CHECKERS ((1u << AS_CHECK_MODES) - 1)

/* Where blocks go bad, free space is not what it was. */
static uint32_t inexact_of(const struct as_target *target)
{
	return target->flash.n_bad || target->flash.cycles ? AS_CAP_EXACT_SPACE : 0;
}

struct as_target_traits as_target_traits(const struct as_target *target)
{
	const struct as_target_ops *ops = as_target_library(target);
	const struct as_fstype *type = as_target_row(target);

	if (ops)
		return (struct as_target_traits){
			.source = AS_TRAITS_CAPS,
			.caps = ops->caps & ~inexact_of(target),
			.semantics = target->contract.semantics,
			.busy_errno =
				target->contract.busy_errno ? target->contract.busy_errno : EBUSY,
		};
	if (!type)
		return (struct as_target_traits){ .source = AS_TRAITS_PLACE,
						  .place = as_target_place(target) };
	return (struct as_target_traits){
		.source = as_fstype_at(as_fstype_index(type)) ? AS_TRAITS_ROW : AS_TRAITS_SERVER,
		.row = as_fstype_index(type),
		.variants = as_target_variants(target),
	};
}

/* ---- Promises -------------------------------------------------------------------------------- */

#define MEANS(flag, name, quirk)
#define PROMISE(flag, name, trait) { AS_PROMISE_##flag, trait, name },
static const struct {
	uint32_t flag;
	unsigned trait;
	const char *name;
} promises[] = {
#include "target/promise.def"
};
#undef PROMISE
#undef MEANS

#define PROMISE(flag, name, trait)
#define MEANS(flag, name, quirk) name,
static const char *const means[] = {
#include "target/promise.def"
};
#undef PROMISE
#undef MEANS

#define NPROMISES (sizeof(promises) / sizeof(promises[0]))

const char *as_target_promise_name(unsigned i)
{
	return i < NPROMISES ? promises[i].name : NULL;
}

const char *as_target_means_name(unsigned i)
{
	return i < sizeof(means) / sizeof(means[0]) ? means[i] : NULL;
}

struct as_contract as_target_contract(const struct as_target *target)
{
	return target->contract;
}

uint32_t as_target_api(const struct as_target *target)
{
	const struct as_target_ops *ops = as_target_library(target);

	return ops ? ops->api : 0;
}

const struct as_flash_setup *as_target_flash(const struct as_target *target)
{
	return target->flash.geometry.erase_bytes ? &target->flash : NULL;
}

bool as_target_used(const struct as_target *target)
{
	const struct as_fstype *type = as_target_fstype(target);

	return type && type->used;
}

/* What a library says, as a row of fstype.def would say it. */
static struct as_promise promise_of(const struct as_target *target)
{
	static const enum as_guarantee guarantees[] = {
		[AS_CUT_PREFIX] = AS_GUARANTEE_PREFIX,
		[AS_CUT_OBJECT] = AS_GUARANTEE_OBJECT,
		[AS_CUT_REPAIR] = AS_GUARANTEE_REPAIR,
	};
	const struct as_contract *said = &target->contract;
	struct as_promise promise = { guarantees[said->after_cut], 0, "" };

	for (size_t i = 0; i < NPROMISES; i++)
		if (said->promises & promises[i].flag)
			promise.crash |= promises[i].trait;
	if (said->promises & AS_PROMISE_ONLY_SYNC)
		promise.guarantee = AS_GUARANTEE_REPAIR;
	if (said->after_cut == AS_CUT_OBJECT)
		promise.crash |= AS_CRASH_APART;
	if (!target->remounts)
		promise.crash |= AS_CRASH_NO_REMOUNT;
	/* Raw flash has no cache. */
	if (target->flash.geometry.erase_bytes && !target->flash.cache)
		promise.crash |= AS_CRASH_NO_FLUSH;
	return promise;
}

struct as_promise as_target_promise(const struct as_target *target)
{
	const struct as_fstype *type = as_target_fstype(target);

	if (type)
		return (struct as_promise){ type->guarantee, type->crash, type->mount };
	return promise_of(target);
}

/* ---- Recovery -------------------------------------------------------------------------------- */

/* A mount where the kernel replays its journal, checkers where they replay it, or where nobody else
 * can. */
static void choose_ways(const struct as_fstype *type, struct as_recovery *recovery)
{
	uint32_t checkers = 0;

	for (int mode = 0; mode < AS_CHECK_MODES; mode++)
		if (as_fstype_check(type, mode)->command &&
		    !(mode == AS_CHECK_FULL && as_fstype_strictest(type) != AS_CHECK_FULL))
			checkers |= 1u << mode;
	if (type->replayed_by_checker) {
		recovery->by_checkers = checkers;
	} else if (type->guarantee == AS_GUARANTEE_REPAIR && checkers) {
		/* The checker that runs at boot may stop and ask for a person; nobody is here. */
		recovery->by_checkers = checkers & ~(1u << AS_CHECK_QUICK);
		if (!recovery->by_checkers)
			recovery->by_checkers = checkers;
	} else {
		recovery->by_mount = true;
		recovery->by_checkers = type->checker_replays ? checkers : 0;
	}
}

static struct as_recovery recovery_of_type(const struct as_fstype *type)
{
	enum as_check_mode strictest = as_fstype_strictest(type);
	struct as_recovery recovery = {
		.strictest = as_fstype_check(type, strictest)->command ? strictest : AS_CHECK_MODES,
		.ways_agree = type->guarantee != AS_GUARANTEE_REPAIR,
		.rereads = type->unreplayed,
		.shows_commit = type->unreplayed && type->shows_commit,
		.journal = type->journal,
		.journal_bytes = type->journal_bytes,
		.programs = type,
	};

	if (type->server)
		recovery.impossible = "the kernel tells a FUSE server nothing of sync, so there "
				      "is nothing to be promised";
	choose_ways(type, &recovery);
	return recovery;
}

struct as_recovery as_target_recovery(const struct as_target *target)
{
	const struct as_target_ops *ops = as_target_library(target);
	const struct as_fstype *type = as_target_fstype(target);
	bool checks = ops && ops->caps & AS_CAP_FSCK;
	/* As of a type: what promises a repair, and has a checker, is repaired before a mount. */
	bool first = checks && as_target_promise(target).guarantee == AS_GUARANTEE_REPAIR;

	if (type)
		return recovery_of_type(type);
	return (struct as_recovery){
		.impossible = ops ? NULL : "its disk is not ours, so its power cannot be cut",
		.by_mount = !first,
		.by_checkers = first	? ALL_CHECKERS & ~(1u << AS_CHECK_QUICK)
			       : checks ? ALL_CHECKERS
					: 0,
		.strictest = checks ? AS_CHECK_FULL : AS_CHECK_MODES,
		.ways_agree = !first,
		.mounts_unchecked = !first,
		.looks = !first && ops && ops->caps & AS_CAP_READONLY,
	};
}

/* ---- The disk -------------------------------------------------------------------------------- */

enum as_disk_layout as_target_layout(const struct as_target *target)
{
	const struct as_fstype *type = as_target_fstype(target);

	if (type)
		return type->layout;
	/* labfs may also come as a plugin. */
	return as_target_library(target) && !strcmp(as_target_name(target), "lab") ? AS_DISK_LAB
										   : AS_DISK_OTHER;
}

const char *as_target_draw(const struct as_target *target)
{
	const struct as_fstype *type = as_target_fstype(target);

	return type ? type->draw : NULL;
}
