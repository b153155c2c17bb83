/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subject: the checker that is tested: a test of target/checker.def, or a command of the user's.
 * One run of it costs a fork (tool/tool.h).
 */
#ifndef AS_FSCK_SUBJECT_H
#define AS_FSCK_SUBJECT_H

#include "base/err.h"
#include "disk/cow.h"
#include "target/checkers.h"
#include "tool/stop.h"
#include "tool/tool.h"

#include <stdbool.h>
#include <stdint.h>

enum as_subject_mode { AS_SUBJECT_REPAIR, AS_SUBJECT_AGAIN, AS_SUBJECT_CHECK, AS_SUBJECT_MODES };

/* A checker of the user's, and what the options say. */
struct as_subject_setup {
	/* "e2fsck", "e2fsck:ext2", "labfs-fsck:bug=50", "checker:COMMAND {disk}" */
	const char *spec;
	/* Of checker:COMMAND; NULL: those of fsck(8). */
	const char *exits;
	const char *check; /* its command that only looks; NULL: there is none */
	const char *type; /* what its disks are; NULL: nothing is known */
	unsigned deadline_ms; /* 0: AS_SUBJECT_DEADLINE_MS */
	/* Each run begins with main; else runs share what comes before the disk is touched. */
	bool whole;
	/* What is found is confirmed: without a deadline of the user's, AS_SUBJECT_PATIENT_MS. A
	 * run that is slow is no hang. */
	bool patient;
	/* Without a deadline of the user's, and if it is not patient; 0: AS_SUBJECT_DEADLINE_MS */
	unsigned hint_ms;
	/* What as_subject_served() said of the same command before; !probed: it is tried. */
	bool probed;
	unsigned served;
	/* A run that has not ended then is AS_ESTOP; NULL: it may take until its deadline. */
	const struct as_halt *halt;
};

#define AS_SUBJECT_DEADLINE_MS 5000u
#define AS_SUBJECT_PATIENT_MS 30000u /* repro.sh waits as long */

struct as_fsck_subject;

/* AS_EUSE: there is no such checker, or the words make no sense. AS_ELACK: it is not installed; the
 * message has the package. */
AS_MUST_CHECK int as_subject_open(const struct as_subject_setup *setup,
				  struct as_fsck_subject **out, struct as_err *err);
void as_subject_free(struct as_fsck_subject *subject); /* takes NULL */

/* From now on, a run that takes longer than that has not ended at its deadline; 0: than the setup
 * says. */
void as_subject_hurry(struct as_fsck_subject *subject, unsigned ms);
unsigned as_subject_deadline_ms(const struct as_fsck_subject *subject); /* as the setup says */
/* Whether its runs are ended because the time of the session is over. */
bool as_subject_is_halted(const struct as_fsck_subject *subject);

const char *as_subject_spec(const struct as_fsck_subject *subject); /* as typed */
const char *as_subject_name(const struct as_fsck_subject *subject); /* for ids: "e2fsck-ext4" */
const char *as_subject_type(const struct as_fsck_subject *subject); /* NULL: nothing is known */
const struct as_checker_test *as_subject_test(const struct as_fsck_subject *subject);
const struct as_checker *as_subject_checker(const struct as_fsck_subject *subject);
/* What it reads on standard input in that mode; NULL: nothing. */
const char *as_subject_input(const struct as_fsck_subject *subject, enum as_subject_mode mode);
/* The path of the program that repairs. */
const char *as_subject_program(const struct as_fsck_subject *subject);
bool as_subject_has(const struct as_fsck_subject *subject, enum as_subject_mode mode);
/* The modes, a bit each, whose program reads its disk only if that is a file of a mount: a shell
 * that lets others do the work. To find out costs a run or two. */
unsigned as_subject_served(const struct as_fsck_subject *subject);
/* The command with {disk} in it. */
const char *as_subject_command(const struct as_fsck_subject *subject, enum as_subject_mode mode);

/* Whether a byte is where the checker keeps its books: "1024-2047 8192-8195"; NULL: none. */
bool as_subject_is_book(const char *books, uint64_t off);

/*
 * What of the setup a finding has to tell, as words of its options: " type=ext4 deadline=9
 * exits='0=clean' check='./myfsck -n {disk}'". Reading them fills a setup; the texts are in *own,
 * which is to be freed with as_fstype_free_words().
 */
void as_subject_options(const struct as_fsck_subject *subject, struct as_buf *out);
void as_subject_options_read(const char *options, struct as_subject_setup *setup, char ***own);

/* What one run came to. */
struct as_subject_run {
	enum as_check_answer answer;
	bool documented; /* its exit status is one that its manual explains */
	struct as_tool_result run;
};

/* Runs it on a copy of the disk. To be freed also after an error. */
AS_MUST_CHECK int as_subject_run(struct as_fsck_subject *subject, enum as_subject_mode mode,
				 struct as_disk *disk, struct as_subject_run *run,
				 struct as_err *err);
#define AS_SUBJECT_FORKS 6u /* places of a command to fork from at the same time */
/*
 * Many runs on disks that differ from `disk` in the ranges, and elsewhere only in what the checker
 * reads later (tool/stop.h). Until as_subject_fork_end(), as_subject_run_forked() runs the checker
 * on such a disk, if it fits; other runs are possible, too. *forks false: it cannot be done for
 * this checker or these ranges, or nothing is won. `which` is the number of the place.
 */
AS_MUST_CHECK int as_subject_fork_begin(struct as_fsck_subject *subject, unsigned which,
					enum as_subject_mode mode, struct as_disk *disk,
					const struct as_tool_range *ranges, unsigned n, bool *forks,
					struct as_err *err);
/*
 * When it first touches each sector of the disk: how often it had read the disk by then, 0 for the
 * first time; UINT32_MAX: never. *reads: of the whole run; 0: that cannot be told (a static
 * program, a disk over 1 GiB). *order is to be freed, also after an error.
 */
AS_MUST_CHECK int as_subject_order(struct as_fsck_subject *subject, enum as_subject_mode mode,
				   struct as_disk *disk, uint32_t **order, uint64_t *reads,
				   struct as_err *err);
/* How often it had read a disk like this one there; 0: the disk does not fit. */
uint64_t as_subject_fork_fits(const struct as_fsck_subject *subject, unsigned which,
			      enum as_subject_mode mode, const struct as_disk *disk);
AS_MUST_CHECK int as_subject_run_forked(struct as_fsck_subject *subject, unsigned which,
					enum as_subject_mode mode, struct as_disk *disk,
					struct as_subject_run *run, struct as_err *err);
void as_subject_fork_end(struct as_fsck_subject *subject, unsigned which,
			 enum as_subject_mode mode);
void as_subject_run_free(struct as_subject_run *run);
/* How it ended, for people: "exit status 1 (repaired)", "died of SIGSEGV in f". */
void as_subject_describe(const struct as_subject_run *run, struct as_buf *out);

#endif
