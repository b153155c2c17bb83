/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts: see facts.h. Of a type, its row in fstype.def says it all. */
#include "target/facts.h"

#include <string.h>

#define ALL_CHECKERS ((1u << AS_CHECK_MODES) - 1)

struct as_target_traits as_target_traits(const struct as_target *target)
{
	const struct as_target_ops *ops = as_target_library(target);
	const struct as_fstype *type = as_target_row(target);

	if (ops)
		return (struct as_target_traits){ .source = AS_TRAITS_CAPS, .caps = ops->caps };
	if (!type)
		return (struct as_target_traits){ .source = AS_TRAITS_PLACE,
						  .place = as_target_place(target) };
	return (struct as_target_traits){
		.source = as_fstype_at(as_fstype_index(type)) ? AS_TRAITS_ROW : AS_TRAITS_SERVER,
		.row = as_fstype_index(type),
		.variants = as_target_variants(target),
	};
}

struct as_promise as_target_promise(const struct as_target *target)
{
	const struct as_fstype *type = as_target_fstype(target);

	if (type)
		return (struct as_promise){ type->guarantee, type->crash, type->mount };
	/* labfs, and libraries of which nothing else is known: a journal written in order. */
	return (struct as_promise){ AS_GUARANTEE_PREFIX,
				    AS_CRASH_NAMES | AS_CRASH_TIMES | AS_CRASH_BLOCKS, "" };
}

/* ---- Recovery -------------------------------------------------------------------------------- */

/* A mount where the kernel replays its journal, checkers where they replay it, or where nobody else
 * can. */
static void choose_ways(const struct as_fstype *type, struct as_recovery *recovery)
{
	uint32_t checkers = 0;

	for (int mode = 0; mode < AS_CHECK_MODES; mode++)
		if (type->check[mode].command && !(mode == AS_CHECK_FULL && type->full_rebuilds))
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
	enum as_check_mode strictest = type->full_rebuilds ? AS_CHECK_QUICK : AS_CHECK_FULL;
	struct as_recovery recovery = {
		.strictest = type->check[strictest].command ? strictest : AS_CHECK_MODES,
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

	if (type)
		return recovery_of_type(type);
	return (struct as_recovery){
		.impossible = ops ? NULL : "its disk is not ours, so its power cannot be cut",
		.by_mount = true,
		.by_checkers = checks ? ALL_CHECKERS : 0,
		.strictest = checks ? AS_CHECK_FULL : AS_CHECK_MODES,
		.ways_agree = true,
		.mounts_unchecked = true,
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
