/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profiles: see profiles.h. */
#include "cli/profiles.h"

#include "gen/gen.h"
#include "instance/instance.h"
#include "target/facts.h"

#include <string.h>

#define PROFILE_MAX_BYTES ((size_t)1 << 20)
#define SPARED 256 /* operations that fit a disk */
#define MOST_MIN 512u /* bytes */
#define WALK_LONG 100

int as_cli_read_profile(const char *name, struct as_profile *profile, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	if (!strpbrk(name, "/.") && strcmp(name, "-"))
		return as_profile_find(name, profile, err);
	rc = as_buf_read_file(&text, name, PROFILE_MAX_BYTES, err);
	if (!rc)
		rc = as_profile_parse(name, as_buf_str(&text), text.len, profile, err);
	as_buf_free(&text);
	return rc;
}

int as_cli_write_profile(const struct as_profile *profile, const struct as_dir *dir,
			 const char *name, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	as_profile_print(profile, &text);
	rc = as_dir_write(dir, name, &text, err);
	as_buf_free(&text);
	return rc;
}

int as_cli_read_feedback(const char *file, struct as_profile *profile, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_buf_read_file(&text, file, AS_CLI_FEEDBACK_MAX_BYTES, err);

	if (!rc)
		rc = as_gen_feedback(profile, file, as_buf_str(&text), text.len, err);
	as_buf_free(&text);
	return rc;
}

void as_cli_fit_profile(struct as_profile *profile, const struct as_target *target)
{
	const char *draw = as_target_draw(target);

	if (draw)
		as_profile_mount_options(profile, draw);
}

/* docs/SCORE.md, "Ways to generate workloads", has the numbers. */
static void steer(struct as_profile *profile, const struct as_target *target)
{
	if (!profile->walk_max || !(as_instance_caps(target) & AS_INSTANCE_KERNEL))
		return;
	profile->steer = 50;
	profile->compare = 2;
	profile->again = profile->far = 0; /* steered commands have places of their own */
}

/* Of a library whose handles have views of their own, mappings and what has two descriptors are not
 * judged, nor anything that comes after them (model/view.h). */
static void keep_views(struct as_profile *profile, const struct as_target *target)
{
	if (!(as_target_contract(target).semantics & AS_MEANS_OWN_VIEWS))
		return;
	for (int op = 0; op < AS_OP_COUNT; op++)
		if (as_gen_rows[op].second == AS_SECOND_DESCRIPTOR ||
		    as_gen_rows[op].features & AS_FEAT_MMAP)
			profile->weight[op] = 0;
}

/* Of a library that may drop what is not synced when it is full, nothing is judged afterwards.
 * Short walks do not fill a disk. */
static void keep_room(struct as_profile *profile, const struct as_target *target)
{
	uint64_t bytes;

	if (profile->walk_max >= WALK_LONG &&
	    as_target_contract(target).semantics & AS_MEANS_FULL_DROPS &&
	    !as_target_disk_bytes(target, 0, &bytes, NULL))
		profile->spare = bytes / SPARED > MOST_MIN ? bytes / SPARED : MOST_MIN;
}

void as_cli_fit_hunt(const struct as_args *args, size_t n_targets, const struct as_target *target,
		     struct as_profile *profile)
{
	/* There are no options that all of several targets know. */
	if (n_targets == 1)
		as_cli_fit_profile(profile, target);
	if (!as_args_has(args, "profile")) {
		steer(profile, target);
		keep_views(profile, target);
		keep_room(profile, target);
	}
}

unsigned as_cli_left_out(const struct as_profile *profile, const struct as_traits *traits,
			 struct as_buf *list)
{
	unsigned n = 0;

	for (int op = 0; op < AS_OP_COUNT; op++) {
		if (!profile->weight[op] || as_gen_may(traits, (enum as_opcode)op))
			continue;
		as_buf_addf(list, "%s%s", n++ ? ", " : "", as_op_table[op].name);
	}
	return n;
}
