/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * target: a file system under test, named the way a person types it:
 *
 *	lab[:OPTIONS]              labfs, the laboratory file system that is linked in
 *	plugin:PATH.so[:OPTIONS]   a file system in a shared object (include/assay/target.h)
 *	dir:PATH                   a directory of a file system that is mounted already
 *	ext4[:MOUNT-OPTIONS]       a type of the kernel (target/fstype.def), mounted by us;
 *	                           one of the options may be mkfs=NAME[+NAME...] (variant.h)
 *
 * The first two are libraries: they have an operations table. They and the last one use a disk of
 * ours.
 */
#ifndef AS_TARGET_TARGET_H
#define AS_TARGET_TARGET_H

#include "base/buf.h"
#include "base/err.h"

#include <assay/target.h>
#include <stdbool.h>
#include <stdint.h>

struct as_target;
struct as_fstype;
struct as_variants;

/* One way to name targets: a row of the table in target.c. */
struct as_target_kind {
	const char *name;
	const char *usage; /* "plugin:PATH.so[:OPTIONS]" */
	const char *help;
	/* What a target of this kind makes us do outside of assay ("load and run the plugin",
	 * followed by the rest): a file that names one needs trust for it (target/trust.h). NULL:
	 * nothing. */
	const char *does;
	/* `rest` is the text after "NAME:", or "". */
	int (*open)(struct as_target *target, const char *rest, struct as_err *err);
	/* What this machine lacks for it, with the package that gives it; NULL: ready. */
	const char *(*lacks)(void);
};

AS_MUST_CHECK int as_target_open(const char *spec, struct as_target **target, struct as_err *err);
/* The same for a type of the kernel that need not have a row. The type must outlive the target. */
AS_MUST_CHECK int as_target_open_type(const struct as_fstype *type, const char *opts,
				      struct as_target **target, struct as_err *err);
void as_target_free(struct as_target *target); /* takes NULL */

const char *as_target_spec(const struct as_target *target); /* as typed */
const char *as_target_name(const struct as_target *target); /* short: "lab", "myfs" */
const char *as_target_opts(const struct as_target *target); /* "" for none */
/*
 * What a target is (a library, a type that we mount, a directory) is asked by the rows of
 * instance/instance.c and in this room only, with the functions that may answer NULL. All others
 * ask for what they want to know: target/facts.h, and the capabilities of instance/instance.h.
 */
/* Of "plugin:PATH.so[:OPTIONS]", where PATH.so begins, and its length; NULL: it is none, or its
 * path does not end with ".so". */
const char *as_target_object(const char *spec, size_t *len);
/* NULL: it is no library. The functions of a plugin's table are NULL in a process that has not
 * called as_target_load(). */
const struct as_target_ops *as_target_library(const struct as_target *target);
/* What its calls use, of a library (usage.h); NULL: it is none. */
struct as_usage *as_target_usage(const struct as_target *target);
/* How often blocks of its flash were erased, with flash.show=1 (flash_wear.h); else NULL. */
struct as_wear *as_target_wear(const struct as_target *target);
/* The trail of its calls (trail.h), which every instance of it uses. NULL: none. */
struct as_trail;
void as_target_set_trail(struct as_target *target, struct as_trail *trail);
struct as_trail *as_target_trail(const struct as_target *target);
/* Whether its functions are code that is not ours. Children that call them are started by
 * as_guard_fork() and call as_target_load() first, which does nothing for other targets. */
bool as_target_is_foreign(const struct as_target *target);
AS_MUST_CHECK int as_target_load(const struct as_target *target, struct as_err *err);
/* A digest of the file of a plugin, so that another build of it is told from this one; 0: it is no
 * plugin, or its file is gone. */
uint64_t as_target_build(const struct as_target *target);
/* NULL: it is no directory. */
const char *as_target_dir(const struct as_target *target);
/* What statfs(2) answered for a directory when the target was opened. */
struct as_target_place {
	int64_t magic; /* 0: unknown */
	uint32_t block_bytes;
};
struct as_target_place as_target_place(const struct as_target *target);
/* As its disk is made, variants included; NULL: it has none. */
const struct as_fstype *as_target_fstype(const struct as_target *target);
/* The same without the variants, and the variants. */
const struct as_fstype *as_target_row(const struct as_target *target);
struct as_variants as_target_variants(const struct as_target *target);
/* All zeros: nothing is known. */
struct as_limits as_target_limits(const struct as_target *target);
/* The block size of its file system, or 0 if it is unknown. */
uint32_t as_target_block_bytes(const struct as_target *target);
/* The size of the disk: the one asked for, or the target's own if that is 0. A size below the
 * target's minimum, or one that does not consist of whole sectors, is refused. */
AS_MUST_CHECK int as_target_disk_bytes(const struct as_target *target, uint64_t asked_bytes,
				       uint64_t *size_bytes, struct as_err *err);
/* A small disk, which has all that a large one has and is recovered faster; 0: it has no disk. */
uint64_t as_target_small_bytes(const struct as_target *target);
/* One that is soon full, where another disk costs next to nothing and a full one is judged; 0:
 * none, as of plugins and of file systems of the kernel. */
uint64_t as_target_full_bytes(const struct as_target *target);
/* What its disk writes as a whole by default. */
uint32_t as_target_sector_bytes(const struct as_target *target);

/* Row i of the table, or NULL after the last. */
const struct as_target_kind *as_target_kind(unsigned i);

/* Whether tables of this version of the interface are accepted: it only ever grew at its end. */
bool as_target_knows(uint32_t api);
/* Reports by name what an operations table lacks; it is used on everything that is loaded. */
AS_MUST_CHECK int as_target_vet(const struct as_target_ops *ops, const char *who,
				struct as_err *err);
/* "hardlink", "xattr", ...: bit 1 << i of enum as_cap, or NULL after the last. */
const char *as_target_cap_name(unsigned i);

/*
 * "T [size=N] [opts=TEXT]", the value of a workload's `@target`: the specification without the
 * extras (opts are joined to it), and the size, 0 where none is given. N takes K, M, G.
 */
AS_MUST_CHECK int as_target_parse_meta(const char *value, struct as_buf *spec, uint64_t *size_bytes,
				       struct as_err *err);
/* Adds options to a specification: the first ones after a bare name, or more after others. */
void as_target_join_opts(struct as_buf *spec, const char *opts);
/* Reads "16M" and the like. */
AS_MUST_CHECK int as_target_parse_size(const char *text, uint64_t *size_bytes, struct as_err *err);

#endif
