/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_again: see fsck_again.h.
 *
 * Method. The folder of a finding has both disks, the damaged one and the one before the damage,
 * and the options that the checker was opened with. So the checker is judged as it was then: what
 * it writes to the healthy disk is learnt again, the damage is what differs between the two, and
 * the problem must come back with the same signature.
 */
#include "cmd/fsck/fsck_again.h"

#include "cli/trust.h"
#include "cmd/fsck/fsck_cross.h"
#include "cmd/fsck/fsck_word.h"
#include "damage/crash_work.h"
#include "damage/generic.h"
#include "disk/image.h"
#include "fsck/judge.h"
#include "symptom/still.h"
#include "target/fstype.h"
#include "work/parse.h"

#include <stdlib.h>
#include <string.h>

#define OPTION "fsck="
#define WORK_BYTES ((size_t)16 << 20)

struct again {
	const struct as_stored *stored;
	const char *options;
	enum as_fsck_problem problem;
	struct as_fsck_subject *subject;
	struct as_judge *judge;
	struct as_fsck_kernel *kernel;
	struct as_chunks *store;
	struct as_generic generic;
	struct as_fsck_base base;
	struct as_disk *disk; /* the damaged one */
	struct as_damage damage;
	struct as_seq *work; /* whose power failed; NULL: none's */
	const char **names;
};

bool as_fsck_is_stored(const struct as_stored *stored)
{
	return !strncmp(stored->finding.options, OPTION, strlen(OPTION));
}

static int find_problem(const struct as_stored *stored, enum as_fsck_problem *problem,
			struct as_err *err)
{
	const char *word = stored->finding.options + strlen(OPTION);
	size_t len = strcspn(word, " ");

	for (unsigned i = 0; i < AS_FSCK_PROBLEMS; i++) {
		const char *name = as_fsck_problem_name((enum as_fsck_problem)i);

		if (strlen(name) == len && !memcmp(name, word, len)) {
			*problem = (enum as_fsck_problem)i;
			return 0;
		}
	}
	return as_fail(err, AS_EUSE, "%s: no such problem: %.*s", stored->finding.id, (int)len,
		       word);
}

static int load_disk(struct again *a, const struct as_dir *folder, const char *name,
		     struct as_disk **disk, struct as_err *err)
{
	struct as_buf path = { 0 };
	int rc;

	as_buf_addf(&path, "%s/%s", folder->path, name);
	rc = as_image_load(a->store, as_buf_str(&path), disk, err);
	as_buf_free(&path);
	return rc;
}

/* ---- As it was then -------------------------------------------------------------------------- */

static int open_subject(struct again *a, const struct as_args *args, struct as_err *err)
{
	const char *id = a->stored->finding.id;
	struct as_subject_setup setup = { .spec = a->stored->finding.target, .patient = true };
	char **own = NULL;
	int rc = 0;

	as_subject_options_read(a->options, &setup, &own);
	if (!strncmp(setup.spec, "checker:", 8))
		rc = as_cli_trust_text(args, id, "run the command", setup.spec, err);
	else
		setup.type = setup.exits = setup.check = NULL;
	if (!rc && setup.check)
		rc = as_cli_trust_text(args, id, "run the command", setup.check, err);
	if (!rc)
		rc = as_subject_open(&setup, &a->subject, err);
	if (!rc)
		a->judge = as_judge_new(a->subject);
	as_fstype_free_words(own);
	return rc;
}

/* Only a finding about the kernel's word needs the kernel. */
static int open_kernel(struct again *a, const struct as_args *args, struct as_err *err)
{
	const char *type = as_subject_type(a->subject);
	struct as_fsck_kernel_setup setup = { .box.core = AS_CORE_HERE };
	int rc = 0;

	if (a->problem != AS_FSCK_KERNEL || !type)
		return 0;
	if (strncmp(type, "lab", 3))
		rc = as_fsck_word_box(args, type, &setup, err);
	else
		setup.target = "lab";
	if (!rc)
		rc = as_fsck_kernel_open(&setup, &a->kernel, err);
	as_judge_set_kernel(a->judge, a->kernel);
	return rc;
}

/* The paths that the workload changed after its last mount. */
static int read_work(struct again *a, const struct as_dir *folder, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_dir_read(folder, "crashed.txt", WORK_BYTES, &text, err);

	if (!rc)
		rc = as_parse_text("crashed.txt", as_buf_str(&text), text.len, &a->work, err);
	if (!rc) {
		a->names = as_crash_work_names(a->work, &a->damage.n_names);
		a->damage.names = a->names;
		a->damage.crashed = as_disk_snapshot(a->disk);
	}
	as_buf_free(&text);
	return rc;
}

/* A folder that was made before healthy disks were kept: if it was the generic one, it is made
 * again. */
static bool make_base(struct again *a)
{
	const char *type = as_subject_type(a->subject), *name = a->stored->finding.workload_name;
	enum as_generic_kind kind;
	struct as_err ignored;

	if (!type || !name || !as_generic_kind_find(name, &kind) ||
	    as_generic_make_kind(a->store, type, as_disk_size(a->disk), kind, &a->generic,
				 &ignored) ||
	    as_disk_size(a->generic.disk) != as_disk_size(a->disk))
		return false;
	a->base.disk = as_disk_snapshot(a->generic.disk);
	a->base.dirty = kind == AS_GENERIC_DIRTY;
	return true;
}

static int find_base(struct again *a, const struct as_dir *folder, struct as_err *err)
{
	bool sick = strstr(a->options, " disk=sick"), dirty = strstr(a->options, " disk=dirty");
	int rc;

	a->base.name = "healthy";
	if (as_dir_has(folder, "healthy.img.zst")) {
		rc = load_disk(a, folder, "healthy.img.zst", &a->base.disk, err);
		if (!rc && as_disk_size(a->base.disk) != as_disk_size(a->disk))
			rc = as_fail(err, AS_EUSE, "%s: its two disks differ in size",
				     a->stored->finding.id);
		if (rc)
			return rc;
	} else if (make_base(a)) {
		dirty = a->base.dirty;
	} else {
		a->base.disk = as_disk_snapshot(a->disk);
		a->base.sick = true;
		return 0;
	}
	if (as_dir_has(folder, "crashed.txt")) {
		rc = read_work(a, folder, err);
		if (rc)
			return rc;
	} else {
		as_damage_diff(&a->damage, a->base.disk, a->disk);
	}
	return as_judge_base(a->judge, &a->base,
			     sick    ? AS_FSCK_SICK
			     : dirty ? AS_FSCK_DIRTY
				     : AS_FSCK_MADE,
			     err);
}

/* ---- Judging --------------------------------------------------------------------------------- */

static int tell(const struct again *a, const struct as_fsck_verdict *v, struct as_sink *talk)
{
	const char *id = a->stored->finding.id, *wanted = a->stored->finding.signature;
	bool there = v->problems & 1u << a->problem;

	if (there)
		as_emit_note(talk, "%s", as_buf_str(&v->found[a->problem].summary));
	if (!there)
		as_emit_note(talk, "%s: did not reproduce", id);
	else if (wanted && !as_still_fails(AS_STILL_EXACTLY, wanted,
					   as_buf_str(&v->found[a->problem].signature)))
		as_emit_note(talk, "%s: something else was found than \"%s\"", id, wanted);
	else
		as_emit_note(talk, "%s: reproduced", id);
	return there ? AS_EXIT_FOUND : 0;
}

static int judge(struct again *a, struct as_sink *talk, struct as_err *err)
{
	const char *sign = a->stored->finding.signature;
	const char *field = sign ? strstr(sign, AS_SIGNATURE_FIELD) : NULL;
	struct as_damaged_byte any = { 0 };
	struct as_fsck_verdict v = { 0 };
	int rc;

	as_buf_adds(&a->damage.words, "as it was found");
	/* By its field, the finding was told apart from others. */
	if (field)
		as_buf_adds(&a->damage.field, field + strlen(AS_SIGNATURE_FIELD));
	a->damage.sealed = strstr(a->options, " sealed");
	/* That something is damaged is known, if not what. */
	if (a->base.sick && !a->damage.n && a->problem != AS_FSCK_HEALTHY) {
		a->damage.bytes = &any;
		a->damage.n = 1;
	}
	rc = as_judge_disk(a->judge, &a->base, &a->damage, a->disk, &v, err);
	if (!rc)
		rc = tell(a, &v, talk);
	if (a->damage.bytes == &any)
		a->damage.bytes = NULL;
	as_fsck_verdict_free(&v);
	return rc;
}

static void close_again(struct again *a)
{
	as_damage_free(&a->damage);
	free(a->names);
	as_seq_free(a->work);
	as_judge_free(a->judge);
	as_fsck_kernel_free(a->kernel);
	as_subject_free(a->subject);
	as_fsck_base_free(&a->base);
	as_generic_free(&a->generic);
	as_disk_free(a->disk);
	as_chunks_free(a->store);
}

int as_fsck_again(const struct as_args *args, const struct as_dir *folder,
		  const struct as_stored *stored, struct as_sink *talk, struct as_err *err)
{
	struct again a = { .stored = stored, .options = stored->finding.options };
	int rc = find_problem(stored, &a.problem, err);

	if (!rc && a.problem == AS_FSCK_ODD)
		return as_fsck_compare_again(args, stored, talk, err);
	a.store = as_chunks_new();
	if (!rc)
		rc = open_subject(&a, args, err);
	if (!rc)
		rc = load_disk(&a, folder, "disk.img.zst", &a.disk, err);
	if (!rc)
		rc = open_kernel(&a, args, err);
	if (!rc)
		rc = find_base(&a, folder, err);
	if (!rc)
		rc = judge(&a, talk, err);
	close_again(&a);
	return rc;
}
