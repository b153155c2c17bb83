/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * variant: disks of a type that are made in another way than its row says. A variant is a
 * named choice of mkfs, one row of variant.def. A target names those it wants:
 * "ext4:mkfs=4k+inline_data,data=journal". Names, and not options of mkfs, because each
 * changes what the model and the crash rules expect; and because a file of somebody else may
 * name a target, but not make mkfs write where it likes.
 */
#ifndef AS_TARGET_VARIANT_H
#define AS_TARGET_VARIANT_H

#include "base/buf.h"
#include "base/err.h"
#include "target/fstype.h"

#include <stdbool.h>
#include <stdint.h>

#define AS_VARIANT_KEY "mkfs="

struct as_variant {
	const char *type, *name;
	const char *help; /* a few words */
	/* Of one group only one can be chosen; NULL: it goes with all others. */
	const char *group;
	const char *without; /* names that it does not go with, separated by blanks */
	const char *words; /* for mkfs, before the disk */
	const char *features; /* for -O of mkfs; those of all variants make one list */
	const char *drop; /* a word of the row's command that is left out */
	uint32_t block_bytes; /* 0: as the row says; so are the sizes */
	uint64_t min_bytes, default_bytes;
	/* There is no journal: a mount brings nothing back, only the checker does. */
	bool no_journal;
	/* The journal has more in it than recover/jbd2.h can read. */
	bool other_journal;
	const char *mount; /* options that its disks are always mounted with */
	bool projects; /* inodes belong to projects */
	bool steady, used; /* see struct as_fstype */
	/* Its journal is on a disk of its own: see struct as_fstype. */
	uint64_t journal_bytes;
	const char *journal_mkfs, *journal_mount;
	const char *journal_check; /* words for the checkers, before the disk */
	const char *env; /* of mkfs and the checkers, for a type without one of its own */
	/* It has to be named: hunts do not draw it. */
	bool undrawn;
	/* How mount options begin that such a disk does not take, separated by blanks. */
	const char *refuses;
};

/* Row i of the table of all variants, or NULL after the last. */
const struct as_variant *as_variant_at(unsigned i);

/* Which variants a target has: bit i is row i. */
#define AS_VARIANTS_MAX 128
struct as_variants {
	uint64_t bits[AS_VARIANTS_MAX / 64];
};
bool as_variants_has(const struct as_variants *variants, unsigned i);
bool as_variants_any(const struct as_variants *variants);

/* Reads "4k+inline_data". Names that the type does not have, and two that exclude each other,
 * are refused. */
AS_MUST_CHECK int as_variants_parse(const struct as_fstype *type, const char *names,
				    struct as_variants *variants, struct as_err *err);
/* Whether row i can be added to them. */
bool as_variants_fit(const struct as_variants *variants, unsigned i);
/* Whether a disk of them takes the mount options. */
bool as_variants_take(const struct as_variants *variants, const char *opts);
/* The type as the variants make it. Its mkfs and its checkers are written to `commands` and point
 * there. */
struct as_fstype as_variants_apply(const struct as_variants *variants, const struct as_fstype *type,
				   struct as_buf *commands);

/* The same target, but small and always the same, as checks want it (the variant "small"), unless
 * it says itself how mkfs is to make it, or its type has no such variant. */
void as_variants_print_small(const char *spec, struct as_buf *out);

/* A part of the options of a target, "mkfs=4k,data=journal": the names after mkfs= (to be
 * freed; NULL: none) and the rest, which is for mount (to be freed). Each part comes once. */
AS_MUST_CHECK int as_variants_split(const char *text, char **names, char **mount,
				    struct as_err *err);

#endif
