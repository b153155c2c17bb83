/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recipe: how the file system of a finding is made, mounted and checked by hand. */
#ifndef AS_DOSSIER_RECIPE_H
#define AS_DOSSIER_RECIPE_H

#include "base/finding.h"
#include "target/fstype.h"

/* A type of the kernel as a target names it; `type` is NULL for all other targets, and for those
 * that cannot be read. */
struct as_recipe {
	const struct as_fstype *type;
	struct as_fstype own;
	struct as_buf commands;
	char *mount; /* options of the target, "" for none */
};

void as_recipe_open(const char *target, struct as_recipe *recipe);
void as_recipe_close(struct as_recipe *recipe);

/* Adds what its mkfs says of its version, one line; nothing if it does not say. */
void as_recipe_version(const struct as_recipe *recipe, struct as_buf *out);
/* Adds the commands that make a disk, an image, and mount it, a line each. */
void as_recipe_commands(const struct as_recipe *recipe, const struct as_finding *finding,
			struct as_buf *out);
/* Adds the commands that mount the disk of a finding as it was kept, and check it. */
void as_recipe_kept(const struct as_recipe *recipe, struct as_buf *out);
/* What a target is, by the first word of its name. */
enum as_recipe_means {
	AS_RECIPE_LAB,
	AS_RECIPE_PLUGIN,
	AS_RECIPE_FUSE,
	AS_RECIPE_DIR,
	AS_RECIPE_OTHER, /* a type of the kernel, or unknown */
};
bool as_recipe_is(const char *target, enum as_recipe_means means);
/* It is linked into a program. */
bool as_recipe_is_library(const char *target);
/* In words: "a library file system". */
const char *as_recipe_words(const char *target);

#endif
