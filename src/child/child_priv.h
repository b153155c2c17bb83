/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child_priv: what the files of a child process share (child/child*.c). */
#ifndef AS_CHILD_CHILD_PRIV_H
#define AS_CHILD_CHILD_PRIV_H

#include "child/child.h"
#include "child/kcov.h"
#include "child/kfault.h"
#include "instance/instance.h"
#include "model/model.h"
#include "trial/space.h"
#include "trial/trial.h"

struct as_choice;
struct as_disk;

/* One workload. */
struct child {
	const struct as_child_args *args;
	struct as_child_shared *sh;
	struct as_medium *disk; /* NULL: there is none */
	struct as_instance *instance;
	struct as_kwatch *watch; /* of the kernel's log; may be NULL */
	struct as_trial trial; /* what is known of the workload, and its model */
	struct as_buf text;
	bool *failed; /* by operation: it answered with an error */
	struct as_space_seen space;
	struct as_race_delay *delay; /* of the disk in a race; NULL: none */
	struct as_kfault *kfault; /* inside the kernel; NULL: none */
	struct as_kfail_rules kfail; /* which ones, */
	unsigned kfail_met; /* and bits of those whose operation has begun */
	/* If each operation meets them all: with which this one began, and which it meets now. */
	uint64_t kfail_first, kfail_try;
	bool karmed; /* the call in flight may meet it */
	struct as_kcov *kcov; /* NULL: nobody asks what code is reached */
	bool quick; /* on a disk that nobody watches (as_instance_args.quick) */
};

/* ---- child.c ---- */

/* What is being done now, for the parent. */
void as_child_enter(struct child *c, enum as_phase phase);
/* A child that is all zero is closed, too. */
AS_MUST_CHECK int as_child_open(struct child *c, struct as_err *err);
void as_child_close(struct child *c);
/* Loads the code of a plugin into this process. False: it cannot be had. */
bool as_child_load_target(const struct as_child_args *args);

/* ---- child_found.c ---- */

/* What is found, for the notice. */
struct as_child_said {
	enum as_finding_kind kind;
	int64_t op; /* -1: none */
	const char *about; /* goes into the signature ("rename") */
	const char *why; /* what is wrong */
	const char *signature; /* NULL: made of these (symptom/symptom.h) */
	const char *detail; /* NULL: the parent makes it of the last operations */
};

/* The first one is kept. */
void as_child_say(struct child *c, const struct as_child_said *said);
void as_child_found(struct child *c, enum as_finding_kind kind, int64_t op, const char *about,
		    const char *why);
void as_child_found_errno(struct child *c, enum as_finding_kind kind, int rc);
/* A finding of a checker is known by the problem that it named. */
void as_child_found_by_checker(struct child *c, const struct as_instance_checked *checked);
/* Whether the target broke a rule of the seam, or its server died, or the kernel complains: then
 * that is found. op -1: not by an operation. */
bool as_child_troubled(struct child *c, int64_t op);

/* ---- child_judge.c ---- */

/* The instance is open: operations can be judged. */
void as_child_judge_open(struct child *c);
/* Whether a fault has hit, so far. */
bool as_child_fault_hit(struct child *c);
/* Whether the tree is as the model says; otherwise that is found. */
bool as_child_tree_agrees(struct child *c, int64_t op);
/* Carries out one operation and judges it. False: the workload ends here. */
bool as_child_run_op(struct child *c, int64_t i);

/* ---- child_kfail.c ---- */

/* Before an operation: after an unmount, nobody sees any more that it had turned itself off. */
void as_child_kfail_before(struct child *c, const struct as_op *op);
/* Around a call that may meet a failure inside the kernel; op 0 is the mount. */
void as_child_kfail_begin(struct child *c, uint64_t op);
void as_child_kfail_end(struct child *c);
/* Which one the operation meets first. */
uint64_t as_child_kfail_first(const struct child *c, const struct as_op *op);
/* After an operation that was judged: whether it is done once more, to meet the next one. */
bool as_child_kfail_again(const struct child *c, const struct as_op *op, unsigned fired_before);
/* While it is mounted: whether it has turned itself off. */
void as_child_kfail_look(struct child *c);
/* ---- child_space.c ---- */

void as_child_space_begin(struct child *c); /* on the fresh mount */
void as_child_space_end(struct child *c); /* after the workload, still mounted */
/* After the next mount; removes everything. False: space is missing, which is found. */
bool as_child_space_agrees(struct child *c);

/* After a mount, with nothing open. False: a quota is wrong, which is found. */
bool as_child_quota_agrees(struct child *c);

/* ---- child_growth.c ---- */

/* Of what is unmounted, and needed no more. */
void as_child_growth(struct child *c);

/* ---- child_corrupt.c ---- */

/* Mounts the unmounted disk with something wrong on it, and with something else. It is as before
 * afterwards. */
void as_child_corrupt(struct child *c);

/* ---- child_fields.c ---- */

#define CHILD_MASK_MAX 16u

/* What is wrong on a disk. */
struct as_child_altered {
	char words[320];
	unsigned char mask[CHILD_MASK_MAX]; /* the bits of these bytes that were changed */
	size_t n;
	bool guarded; /* a checksum tells */
	bool shown; /* the value is one that stat or readdir shows */
	bool is_size; /* it is the size of a file */
	uint64_t value; /* that the field has got */
	/* Which field, in which way, and whether checksums were to be computed anew. */
	size_t field, way;
	bool seal;
	/* To do the same once more (as_run_options.alter), and the field's name for a signature. */
	char again[AS_RUN_ALTER_MAX], name[128];
};

struct as_child_fields;

/* The fields of the unmounted disk. NULL: they cannot be had, which is an error of the tool. */
struct as_child_fields *as_child_fields_read(struct child *c);
void as_child_fields_free(struct as_child_fields *fields); /* takes NULL */
/* Alters one. False: there is no other value for it. */
bool as_child_fields_draw(const struct as_child_fields *fields, struct as_choice *choice,
			  struct as_disk *disk, struct as_child_altered *altered);
/* Alters what `again` of one that was drawn says; times > 0: another instance of that field, or in
 * another way. False: there is no such field. */
bool as_child_fields_again(const struct as_child_fields *fields, const char *again, unsigned times,
			   struct as_disk *disk, struct as_child_altered *altered);
/* The same field in the same way once more, on a disk that is sound. */
void as_child_fields_alter(const struct as_child_fields *fields, struct as_child_altered *altered,
			   struct as_disk *disk);
/* Alters nothing but the checksum that covers it. False: it has no place. */
bool as_child_fields_unseal(const struct as_child_fields *fields,
			    const struct as_child_altered *altered, struct as_disk *disk);

/* ---- child_race.c ---- */

/* The workload in several threads, and judged. */
void as_child_race(struct child *c);

#endif
