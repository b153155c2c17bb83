/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_disks: the disks of a session with a checker, and the model that damages them. */
#include "cli/hunts.h"
#include "cli/stopping.h"
#include "cmd/fsck/fsck_session.h"
#include "disk/image.h"
#include "layout/field.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOR_DEFAULT_US ((int64_t)60 * 1000000)

const char *as_fsck_model(const struct as_args *args, const char *type)
{
	bool described = as_args_has(args, "layout") || (type && as_fields_know(type));

	return as_args_has(args, "symbolic")
		       ? "symbolic"
		       : as_args_text(args, "model", described ? "fields" : "bits");
}

static bool is_saved(const char *path)
{
	size_t len = strlen(path);

	return len >= 4 && !strcmp(path + len - 4, ".zst");
}

/* A disk is in memory, and so are those that runs leave: it must be smaller by far. */
static int fits_memory(const char *what, uint64_t bytes, struct as_err *err)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return bytes <= memory / 4
		       ? 0
		       : as_fail(err, AS_EUSE,
				 "%s: a disk with %llu MiB does not fit into the memory "
				 "of this machine, %llu MiB, several times",
				 what, (unsigned long long)(bytes >> 20),
				 (unsigned long long)(memory >> 20));
}

int as_fsck_load_disk(struct as_fsck_session *s, const char *path, struct as_disk **disk,
		      struct as_err *err)
{
	struct stat st;
	int rc = 0;

	/* Holes take no memory. */
	if (!stat(path, &st))
		rc = fits_memory(path, (uint64_t)st.st_blocks * 512, err);
	if (rc)
		return rc;
	return is_saved(path) ? as_image_load(s->store, path, disk, err)
			      : as_image_import_raw(s->store, path, disk, err);
}

/* Every image of the suite is a disk; none of them is healthy. What the checker cannot be run on is
 * left out, unless that is all of them. */
static int open_suite(struct as_fsck_session *s, struct as_err *err)
{
	const char *path = as_args_text(s->args, "suite", NULL);
	int rc;

	if (!path)
		return as_fail(err, AS_EUSE, "--model suite needs --suite DIR");
	rc = as_suite_load(s->store, path, &s->suite, err);
	if (rc)
		return rc;
	s->bases = as_xcalloc(s->suite.n, sizeof(*s->bases));
	for (size_t i = 0; !rc && i < s->suite.n; i++) {
		struct as_fsck_base *base = &s->bases[s->n_bases++];

		base->name = s->suite.images[i].name;
		base->disk = as_disk_snapshot(s->suite.images[i].disk);
		rc = as_judge_base(s->judge, base, AS_FSCK_SICK, err);
		if (rc == AS_EUSE) {
			as_buf_addf(&s->suite.left_out, "%s: %s\n", base->name, err->msg);
			as_fsck_base_free(base);
			s->n_bases--;
			rc = 0;
		} else if (rc) {
			as_fail_in(err, "--suite: %s", base->name);
		}
	}
	if (!rc && !s->n_bases)
		rc = as_fail(err, AS_EUSE, "--suite: %.*s",
			     (int)strcspn(as_buf_str(&s->suite.left_out), "\n"),
			     as_buf_str(&s->suite.left_out));
	return rc;
}

/* The disks before the power fails. */
static int open_crashes(struct as_fsck_session *s, struct as_err *err)
{
	const char *type = as_subject_type(s->subject);
	int rc;

	if (!type)
		return as_fail(err, AS_EUSE, "%s: --model crash needs --type T", s->setup.spec);
	if (as_args_has(s->args, "disk"))
		return as_fail(err, AS_EUSE, "--model crash makes its disks: no --disk");
	rc = as_fsck_crashes_record(s->args, s->store, type, as_args_number(s->args, "seed", 1),
				    NULL, &s->crashes, err);
	if (rc)
		return as_fail_in(err, "--model crash");
	s->bases = as_xcalloc(s->crashes.n, sizeof(*s->bases));
	for (size_t i = 0; !rc && i < s->crashes.n; i++) {
		struct as_fsck_base *base = &s->bases[s->n_bases++];

		base->name = as_buf_str(&s->crashes.names[i]);
		base->work = as_buf_str(&s->crashes.texts[i]);
		base->disk = as_fsck_crashes_base(&s->crashes, i);
		rc = as_judge_base(s->judge, base, AS_FSCK_MADE, err);
	}
	return rc;
}

static const char *const symbolic[] = { "range",      "each",  "solved",
					"concretize", "sound", "questions" };

int as_fsck_open_disks(struct as_fsck_session *s, struct as_err *err)
{
	const uint64_t bytes = as_subject_checker(s->subject)->bytes;
	const char *path = as_args_text(s->args, "disk", NULL), *type = as_subject_type(s->subject);
	enum as_generic_kind kind = AS_GENERIC_PLAIN;
	uint64_t size;
	int rc;

	for (size_t i = 0; i < sizeof(symbolic) / sizeof(symbolic[0]); i++)
		if (as_args_has(s->args, symbolic[i]) && !as_args_has(s->args, "symbolic"))
			return as_fail(err, AS_EUSE, "--%s goes with --symbolic", symbolic[i]);
	if (as_args_has(s->args, "content") &&
	    (path || !strcmp(s->model, "suite") || !strcmp(s->model, "crash")))
		return as_fail(err, AS_EUSE,
			       "--content is for the disk that is made: no --disk, and not with "
			       "--model suite or crash");
	if (!strcmp(s->model, "suite") ||
	    (as_args_has(s->args, "symbolic") && as_args_has(s->args, "suite")))
		return open_suite(s, err);
	if (!strcmp(s->model, "crash"))
		return open_crashes(s, err);
	if (as_args_has(s->args, "symbolic") && as_args_has(s->args, "model")) {
		if (strcmp(as_args_text(s->args, "model", ""), "crash"))
			return as_fail(err, AS_EUSE,
				       "--symbolic takes --model crash only: its damages are "
				       "computed");
		rc = open_crashes(s, err);
		return rc ? rc : as_fsck_crashed_make(s, err);
	}
	if (as_args_has(s->args, "sound") && (!path || !as_args_has(s->args, "symbolic")))
		return as_fail(err, AS_EUSE, "--sound goes with --symbolic and --disk");
	s->bases = as_xcalloc(1, sizeof(*s->bases));
	s->n_bases = 1;
	if (path) {
		s->bases->name = path;
		rc = as_fsck_load_disk(s, path, &s->bases->disk, err);
	} else if (!type) {
		rc = as_fail(err, AS_EUSE, "%s: which disk? --disk FILE, or --type T",
			     s->setup.spec);
	} else {
		as_assert(as_generic_kind_find(as_args_text(s->args, "content", "generic"), &kind));
		s->bases->name = as_generic_kind_name(kind);
		size = as_args_number(s->args, "size", kind == AS_GENERIC_PLAIN ? bytes : 0);
		rc = fits_memory("--size", size, err);
		if (!rc)
			rc = as_generic_make_kind(s->store, type, size, kind, &s->generic, err);
		if (!rc)
			s->bases->disk = as_disk_snapshot(s->generic.disk);
	}
	if (!rc && as_args_has(s->args, "sound"))
		return as_fsck_crashed_given(s, as_args_text(s->args, "sound", NULL), err);
	return rc ? rc
		  : as_judge_base(s->judge, s->bases,
				  path			     ? AS_FSCK_GIVEN
				  : kind == AS_GENERIC_DIRTY ? AS_FSCK_DIRTY
							     : AS_FSCK_MADE,
				  err);
}

int as_fsck_open_model(struct as_fsck_session *s, struct as_err *err)
{
	const char *where = as_args_text(s->args, "where", "any");
	struct as_corrupt_setup setup = {
		.bases = s->bases,
		.n = s->n_bases,
		.type = as_subject_type(s->subject),
		.layout = as_args_text(s->args, "layout", NULL),
		.older = s->generic.fresh,
		.books = as_subject_test(s->subject)->books,
		.seed = s->state.seed,
		.where = !strcmp(where, "any")	  ? AS_CORRUPT_ANYWHERE
			 : !strcmp(where, "data") ? AS_CORRUPT_DATA
						  : AS_CORRUPT_METADATA,
		.seal = !as_args_has(s->args, "no-reseal"),
		.tapes = s->crashes.tapes,
		.seqs = s->crashes.seqs,
		.subject = s->subject,
	};

	int rc = as_symbolic_fields(s->args, &setup.at_once, err);

	if (!rc && as_args_has(s->args, "symbolic")) {
		struct as_buf name = { 0 };

		as_fsck_state_name(s, &name);
		rc = as_symbolic_open(s->args, s->subject, s->bases, s->n_bases, s->crashed.differs,
				      &s->below, as_buf_str(&name), &s->symbolic, err);
		as_buf_free(&name);
		return rc;
	}
	return rc ? rc : as_corrupt_open(s->model, &setup, &s->corrupt, err);
}

int as_fsck_time(const struct as_fsck_session *s, int64_t *for_us, struct as_err *err)
{
	const char *time = as_args_text(s->args, "for", NULL);
	bool ends = as_args_number(s->args, "lots", 0) ||
		    (s->corrupt && as_corrupt_lots(s->corrupt) != UINT64_MAX);
	int rc = time ? as_cli_read_duration("for", time, for_us, err) : 0;

	if (!time && !ends)
		*for_us = FOR_DEFAULT_US;
	if (!time || rc)
		return rc;
	*for_us = as_cli_time_left(*for_us);
	return 0;
}
