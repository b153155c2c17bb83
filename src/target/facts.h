/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * facts: what is known of a target, whatever it is: where its traits come from, what it promises of
 * a disk after a power cut and how such a disk is recovered, which layout its disk has.
 */
#ifndef AS_TARGET_FACTS_H
#define AS_TARGET_FACTS_H

#include "target/fstype.h"
#include "target/target.h"
#include "target/variant.h"

/* Where the model's traits come from (vfs/traits.c). */
enum as_traits_source {
	AS_TRAITS_CAPS, /* the capabilities that its table of operations claims */
	AS_TRAITS_ROW, /* a row of target/fstype.def */
	AS_TRAITS_SERVER, /* nothing is known: it is some FUSE server */
	AS_TRAITS_PLACE, /* what statfs(2) said of its directory */
	AS_TRAITS_SOURCES
};

struct as_target_traits {
	enum as_traits_source source;
	uint32_t caps; /* AS_TRAITS_CAPS: enum as_cap */
	uint32_t semantics; /* AS_TRAITS_CAPS: enum as_semantics */
	int busy_errno; /* AS_TRAITS_CAPS: what the removal of an open file is refused with */
	unsigned row; /* AS_TRAITS_ROW: its number */
	struct as_variants variants; /* AS_TRAITS_ROW: what changes it */
	struct as_target_place place; /* AS_TRAITS_PLACE */
};

struct as_target_traits as_target_traits(const struct as_target *target);

/* What it promises of a tree after a power cut, before the options that it is mounted with. */
struct as_promise {
	enum as_guarantee guarantee;
	unsigned crash; /* enum as_crash_trait */
	const char *mount; /* options of every mount, "" for none */
};

struct as_promise as_target_promise(const struct as_target *target);

/* What a library says of itself; of one that says nothing, what is assumed. */
struct as_contract as_target_contract(const struct as_target *target);
/* "at-close", ...: bit 1 << i of enum as_promises; "nlink-any", ...: of enum as_semantics. NULL
 * after the last. */
const char *as_target_promise_name(unsigned i);
const char *as_target_means_name(unsigned i);

/* The version of the interface that its table was built for. */
uint32_t as_target_api(const struct as_target *target);
/* The flash that it works on; NULL: it works on a block device. */
struct as_flash_setup;
const struct as_flash_setup *as_target_flash(const struct as_target *target);
/* Its fresh disk has old data where mkfs writes nothing (struct as_fstype, used). */
bool as_target_used(const struct as_target *target);

/* How a disk is recovered after a power cut. */
struct as_recovery {
	const char *impossible; /* why there is nothing to recover; NULL: there is */
	bool by_mount; /* a mount alone does it */
	uint32_t by_checkers; /* 1 << enum as_check_mode: with that checker, then a mount */
	enum as_check_mode strictest; /* must find nothing afterwards; AS_CHECK_MODES: none */
	bool ways_agree; /* all of them must lead to the same tree */
	/* A mount may follow a checker that was interrupted: it must refuse, or come to the tree
	 * that the checker would have left. */
	bool mounts_unchecked;
	bool rereads; /* after a mount has recovered it, one without replay must show the same */
	/* A read-only mount of a disk that nobody has recovered must refuse, or show what a
	 * writable one recovers, write nothing, and can be made writable. */
	bool looks;
	bool shows_commit; /* a mount without replay is a way of its own, to an older tree */
	enum as_journal journal;
	/* So many bytes at the end of a disk are a disk of the journal (apart.h). */
	uint64_t journal_bytes;
	const struct as_fstype *programs; /* whose checkers are programs; NULL: they are not */
};

struct as_recovery as_target_recovery(const struct as_target *target);

enum as_disk_layout as_target_layout(const struct as_target *target);
/* Mount options worth trying, separated by blanks; NULL: none are known. */
const char *as_target_draw(const struct as_target *target);

#endif
