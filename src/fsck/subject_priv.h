/* SPDX-License-Identifier: GPL-2.0-or-later */
/* subject_priv: what subject*.c share. */
#ifndef AS_FSCK_SUBJECT_PRIV_H
#define AS_FSCK_SUBJECT_PRIV_H

#include "fsck/subject.h"

struct as_fsck_subject {
	struct as_checker checker; /* its row, or what the user said */
	struct as_checker_test test;
	char *spec, *name, *type;
	char *command[AS_SUBJECT_MODES]; /* with {disk}; NULL: there is none */
	char **argv[AS_SUBJECT_MODES];
	/* The texts of a row that the user made: command, statuses, command that looks, name. */
	char *own[4];
	struct as_tool *tool[AS_SUBJECT_MODES]; /* those of one command are one */
	/* What of each tool has stopped before it touched the disk, and is forked for each run. */
	struct ready {
		uint64_t size; /* of the disk; 0: none has */
		bool never; /* it cannot stop */
	} ready[AS_SUBJECT_MODES];
	bool dynamic; /* and not served */
	bool probed; /* `served` is known */
	unsigned served; /* modes, a bit each */
	char *program; /* of the first mode */
	unsigned deadline_ms, now_ms; /* of a run: as the setup says; as it is now */
	const struct as_halt *halt; /* NULL: runs may take until their deadline */
	unsigned told_ms; /* by the user; 0: nothing */
	/* Each may have stopped somewhere, and takes no other runs then. */
	struct as_tool *forks[AS_SUBJECT_FORKS][AS_SUBJECT_MODES];
};

struct as_tool_job as_subject_job(const struct as_fsck_subject *s, enum as_subject_mode mode);
/* What the exit status of a run means. */
void as_subject_give_meaning(const struct as_fsck_subject *s, enum as_subject_mode mode,
			     struct as_subject_run *run);

/* subject_options.c. A command of the user's, with the absolute paths of the files that it names;
 * to be freed. */
char *as_subject_absolute(const char *command);
/* Whether the program reads its disk only if that is a file (as_tool_setup.served). */
bool as_subject_is_served(const char *program, char *const *argv, const struct as_halt *halt);

#endif
