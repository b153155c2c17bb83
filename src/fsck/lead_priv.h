/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lead_priv: what lead*.c share: messages of a worker to the leader, and who asks about hangs. */
#ifndef AS_FSCK_LEAD_PRIV_H
#define AS_FSCK_LEAD_PRIV_H

#include "crew/crew.h"
#include "fsck/lead.h"

#define LEAD_SIGN_BYTES 2048

/*
 * Disks of a lot on which the checker takes long: most likely it hangs, which costs as much as to
 * judge hundreds of others. They are put aside until these are judged. After two of them, the rest
 * of their lot is put aside, too, since it would most likely hang as well.
 */
#define LEAD_HANGS_MAX 2
struct lead_aside {
	uint64_t n, damages[LEAD_HANGS_MAX]; /* none: nothing was put aside */
	uint64_t rest; /* and all disks of the lot from this one on */
};

/* What a worker is to do next: the lot, or what was put aside of it, to the end. */
struct lead_task {
	uint64_t lot;
	struct lead_aside aside;
};

/* lead_later.c: what was put aside, in the order in which it was. */
struct as_asides {
	struct lead_task *items;
	size_t at, n, cap; /* those before `at` were taken */
};

void as_asides_add(struct as_asides *asides, const struct lead_task *task);
bool as_asides_left(const struct as_asides *asides);
bool as_asides_next(struct as_asides *asides, struct lead_task *task);
/* The first lot that something is left of, or `next`, if that is before it. */
uint64_t as_asides_first(const struct as_asides *asides, uint64_t next);
void as_asides_clear(struct as_asides *asides);

enum { LEAD_FOUND, LEAD_DONE };

struct lead_message {
	uint32_t kind, problem;
	uint64_t lot, damage;
	struct as_judge_counts counts; /* of this lot */
	uint64_t damaged, lossy, lost_files;
	uint64_t tallies[AS_FSCK_TALLIES];
	struct lead_aside aside; /* of this lot */
	bool over; /* the source of this worker has nothing left */
	uint32_t bytes; /* a damage from a source follows the text (as_damage_put()) */
	char text[LEAD_SIGN_BYTES]; /* the signature */
};

/* What a worker gets. `told`: how many of its problems the leader is through with. */
struct lead_share {
	const struct as_fsck_args *args;
	const uint64_t *told;
};

/* What a worker does until the leader hushes. */
as_mate_work as_lead_work;

/*
 * lead_later.c: the same disks in a session without a source. To judge one again takes longer than
 * to judge hundreds of others, so these come first. What else could not be judged again before the
 * time was over is put there, too.
 */
struct as_laters {
	struct as_later {
		char *signature;
		enum as_fsck_problem problem;
		uint64_t lot; /* a session that is killed before it was confirmed begins there */
		struct as_damage damage;
	} * items;
	size_t n, cap;
};

/* Takes over the damage; one that has the same signature as another is dropped. */
void as_laters_add(struct as_laters *laters, const char *signature, enum as_fsck_problem problem,
		   uint64_t lot, struct as_damage *damage);
/* How long it takes to judge them again: as many as fit into half of the session's time. To begin
 * with one that cannot be decided in time would only cost what is searched. */
int64_t as_laters_us(const struct as_laters *laters, const struct as_fsck_args *args);
/* The first lot that one of them, from number `from` on, is of, or `next`, if that is before it. */
uint64_t as_laters_first(const struct as_laters *laters, size_t from, uint64_t next);
void as_laters_clear(struct as_laters *laters);

/*
 * hang.c: disks on which a checker seems not to end. Whether it does takes long to find out, so
 * that a process of its own waits for it, for one disk after the other.
 */
struct as_hangs;

/* What is asked, and what came out. */
struct as_hang {
	unsigned worker; /* who found it */
	enum as_fsck_problem problem;
	struct as_damage damage;
	char *signature;
	bool confirmed;
};

void as_hang_free(struct as_hang *hang);

/* The setup and the bases must outlive it. */
struct as_hangs *as_hangs_new(const struct as_subject_setup *setup,
			      const struct as_fsck_base *bases);
void as_hangs_free(struct as_hangs *hangs); /* takes NULL; ends the process */
/* Takes over what is in *hang. */
void as_hangs_add(struct as_hangs *hangs, const struct as_hang *hang);
/* From now on one is asked about after the other; before, they take a part of the time only. */
void as_hangs_hurry(struct as_hangs *hangs);
/* Whether anything is not decided yet. */
bool as_hangs_wait(const struct as_hangs *hangs);
/* Whether one is decided: the caller frees it. */
bool as_hangs_next(struct as_hangs *hangs, struct as_hang *out);

#endif
