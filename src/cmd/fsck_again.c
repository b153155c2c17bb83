/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_again: see fsck_again.h. */
#include "cmd/fsck_again.h"

#include "cli/trust.h"
#include "cmd/fsck_cross.h"
#include "damage/generic.h"
#include "damage/kernel.h"
#include "disk/image.h"
#include "fsck/judge.h"

#include <string.h>

#define OPTION "fsck="

struct again {
	struct as_fsck_subject *subject;
	struct as_judge *judge;
	struct as_fsck_kernel *kernel;
	struct as_chunks *store;
	struct as_generic generic;
	struct as_fsck_base base;
	struct as_disk *disk; /* the damaged one */
	struct as_damage damage;
};

bool as_fsck_is_stored(const struct as_stored *stored)
{
	return !strncmp(stored->record.finding.options, OPTION, strlen(OPTION));
}

static int find_problem(const struct as_stored *stored, enum as_fsck_problem *problem,
			struct as_err *err)
{
	const char *word = stored->record.finding.options + strlen(OPTION);
	size_t len = strcspn(word, " ");

	for (unsigned i = 0; i < AS_FSCK_PROBLEMS; i++) {
		const char *name = as_fsck_problem_name((enum as_fsck_problem)i);

		if (strlen(name) == len && !memcmp(name, word, len)) {
			*problem = (enum as_fsck_problem)i;
			return 0;
		}
	}
	return as_fail(err, AS_EUSE, "%s: no such problem: %.*s", stored->record.id, (int)len,
		       word);
}

static int load_disk(struct again *a, const struct as_dir *folder, struct as_err *err)
{
	struct as_buf path = { 0 };
	int rc;

	as_buf_addf(&path, "%s/disk.img.zst", folder->path);
	rc = as_image_load(a->store, as_buf_str(&path), &a->disk, err);
	as_buf_free(&path);
	return rc;
}

/* Only a finding about the kernel's word needs the kernel. */
static int open_kernel(struct again *a, const struct as_stored *stored, struct as_err *err)
{
	const char *type = as_subject_type(a->subject);
	struct as_fsck_kernel_setup setup = { .box.core = AS_CORE_HERE };
	enum as_fsck_problem problem;
	int rc = find_problem(stored, &problem, err);

	if (rc || problem != AS_FSCK_KERNEL || !type)
		return rc;
	setup.target = strncmp(type, "lab", 3) ? type : "lab";
	rc = as_fsck_kernel_open(&setup, &a->kernel, err);
	as_judge_set_kernel(a->judge, a->kernel);
	return rc;
}

/* What was there before the damage is known if it was the generic disk. */
static int find_base(struct again *a, const struct as_stored *stored, struct as_err *err)
{
	const char *type = as_subject_type(a->subject),
		   *name = stored->record.finding.workload_name;
	enum as_generic_kind kind;
	struct as_err ignored;

	a->base.name = name ? name : "";
	if (type && name && as_generic_kind_find(name, &kind) &&
	    !as_generic_make_kind(a->store, type, as_disk_size(a->disk), kind, &a->generic,
				  &ignored) &&
	    as_disk_size(a->generic.disk) == as_disk_size(a->disk)) {
		a->base.disk = as_disk_snapshot(a->generic.disk);
		as_damage_diff(&a->damage, a->base.disk, a->disk);
		return as_judge_base(a->judge, &a->base,
				     kind == AS_GENERIC_DIRTY ? AS_FSCK_DIRTY : AS_FSCK_MADE, err);
	}
	a->base.disk = as_disk_snapshot(a->disk);
	a->base.sick = true;
	return 0;
}

static int judge(struct again *a, const struct as_stored *stored, struct as_sink *talk,
		 struct as_err *err)
{
	struct as_damaged_byte any = { 0 };
	struct as_fsck_verdict v = { 0 };
	enum as_fsck_problem problem = 0;
	int rc = find_problem(stored, &problem, err);

	as_buf_adds(&a->damage.words, "as it was found");
	/* That something is damaged is known, if not what. */
	if (!rc && a->base.sick && problem != AS_FSCK_HEALTHY) {
		a->damage.bytes = &any;
		a->damage.n = 1;
	}
	if (!rc)
		rc = as_judge_disk(a->judge, &a->base, &a->damage, a->disk, &v, err);
	if (!rc && v.problems & 1u << problem) {
		as_emit_note(talk, "%s", as_buf_str(&v.found[problem].summary));
		as_emit_note(talk, "%s: reproduced", stored->record.id);
		rc = AS_EXIT_FOUND;
	} else if (!rc) {
		as_emit_note(talk, "%s: did not reproduce", stored->record.id);
	}
	if (a->damage.bytes == &any)
		a->damage.bytes = NULL;
	as_fsck_verdict_free(&v);
	return rc;
}

int as_fsck_again(const struct as_args *args, const struct as_dir *folder,
		  const struct as_stored *stored, struct as_sink *talk, struct as_err *err)
{
	struct as_subject_setup setup = { .spec = stored->record.finding.target };
	struct again a = { .store = as_chunks_new() };
	enum as_fsck_problem problem;
	const char *type;
	int rc = find_problem(stored, &problem, err);

	if (!rc && problem == AS_FSCK_ODD) {
		as_chunks_free(a.store);
		return as_fsck_compare_again(args, stored, talk, err);
	}
	type = strstr(stored->record.finding.options, " type=");
	if (type && !strncmp(setup.spec, "checker:", 8))
		setup.type = type + strlen(" type=");
	if (!rc && !strncmp(setup.spec, "checker:", 8))
		rc = as_cli_trust_text(args, stored->record.id, "run the command", setup.spec, err);
	if (!rc)
		rc = as_subject_open(&setup, &a.subject, err);
	if (!rc) {
		a.judge = as_judge_new(a.subject);
		rc = load_disk(&a, folder, err);
	}
	if (!rc)
		rc = open_kernel(&a, stored, err);
	if (!rc)
		rc = find_base(&a, stored, err);
	if (!rc)
		rc = judge(&a, stored, talk, err);
	as_damage_free(&a.damage);
	as_judge_free(a.judge);
	as_fsck_kernel_free(a.kernel);
	as_subject_free(a.subject);
	as_fsck_base_free(&a.base);
	as_generic_free(&a.generic);
	as_disk_free(a.disk);
	as_chunks_free(a.store);
	return rc;
}
