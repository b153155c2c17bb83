/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kinds_priv: the private part of a target, and the functions that the rows of the table in
 * target.c name. */
#ifndef AS_TARGET_KINDS_PRIV_H
#define AS_TARGET_KINDS_PRIV_H

#include "disk/flash.h"
#include "target/fstype.h"
#include "target/target.h"
#include "target/variant.h"

struct as_plugin;
struct as_trail;
struct as_usage;
struct as_wear;

struct as_target {
	const struct as_target_kind *kind;
	char *spec, *name, *opts, *dir;
	const struct as_target_ops *ops;
	/* for a file system of the kernel or a FUSE server, which we mount */
	const struct as_fstype *fstype;
	struct as_fstype own; /* the type, if it has no row or variants change it */
	const struct as_fstype *row; /* what the variants change; NULL: fstype is it */
	struct as_variants variants;
	char *commands; /* the text that `own` points into */
	struct as_limits limits;
	struct as_contract contract; /* of a library */
	bool remounts; /* of a library: it has the function */
	struct as_flash_setup flash; /* of a library on raw flash; else all zeros */
	uint32_t block_bytes;
	struct as_plugin *plugin; /* NULL: it is no plugin */
	struct as_target_place place; /* for a directory */
	struct as_usage *usage; /* of a library; NULL: it is none (usage.h) */
	struct as_wear *wear; /* with flash.show=1 (flash_wear.h); else NULL */
	struct as_trail *trail; /* of its calls; NULL: none (trail.h) */
};

int as_target_open_lab(struct as_target *target, const char *rest, struct as_err *err);
int as_target_open_plugin(struct as_target *target, const char *rest, struct as_err *err);
int as_target_open_fuse(struct as_target *target, const char *rest, struct as_err *err);
int as_target_open_dir(struct as_target *target, const char *rest, struct as_err *err);
const char *as_target_fuse_lacks(void);

/* What a table says, or what is assumed of one that says nothing. */
struct as_contract as_target_contract_of(const struct as_target_ops *ops);
/* How long a table of this version is. */
size_t as_target_ops_bytes(uint32_t api);

/* How much of PATH.so[:OPTIONS] is the path. */
size_t as_plugin_path_len(const char *rest);
/* What is known of it: its own table where this process has loaded it. */
const struct as_target_ops *as_plugin_ops(const struct as_plugin *plugin);
void as_plugin_free(struct as_plugin *plugin); /* takes NULL */

#endif
