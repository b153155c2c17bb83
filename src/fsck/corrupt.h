/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * corrupt: corruption models: which damages are tried, as a list that depends on the disks and the
 * seed alone. Damages come in lots. Those of one lot belong to one disk and, where the model can
 * say so, to one range of it. Any lot can be made at any time, so that several processes divide
 * them, and a session that was stopped goes on where it was.
 */
#ifndef AS_FSCK_CORRUPT_H
#define AS_FSCK_CORRUPT_H

#include "base/err.h"
#include "damage/damage.h"
#include "fsck/judge.h"
#include "recording/tape.h"

#include <stddef.h>
#include <stdint.h>

/* Which bytes the model `bits` damages. */
enum as_corrupt_where { AS_CORRUPT_ANYWHERE, AS_CORRUPT_METADATA, AS_CORRUPT_DATA };

struct as_corrupt_setup {
	struct as_fsck_base *bases; /* the healthy disks; they outlive the model */
	size_t n;
	const char *type; /* of the disks; NULL: not known */
	const char *layout; /* a description of them in a file of the user's; NULL: of the type */
	struct as_disk *older; /* disk 0 as it was before, of the same size; NULL: unknown */
	const char *books; /* of the checker's row */
	uint64_t seed;
	enum as_corrupt_where where;
	unsigned at_once; /* fields: how many are damaged at once, 1 or 2 */
	bool seal; /* compute checksums anew */
	/* crash: what was recorded, and its workload, of each disk; they outlive the model */
	const struct as_tape *tapes;
	struct as_seq *const *seqs;
	struct as_fsck_subject *subject; /* of this process, for repairs that are cut off */
};

struct as_corrupt;

struct as_corrupt_lot {
	struct as_damage *damages;
	size_t n, cap;
};

struct as_corrupt_row {
	const char *name, *help;
	int (*open)(struct as_corrupt *c, struct as_err *err);
	/* How many lots there are; UINT64_MAX: any number. */
	uint64_t (*lots)(const struct as_corrupt *c);
	void (*lot)(struct as_corrupt *c, uint64_t i, struct as_corrupt_lot *lot);
	/* See as_corrupt_part(); NULL: damages have no parts. */
	void (*part)(struct as_corrupt *c, uint64_t i, size_t nth, unsigned which,
		     struct as_corrupt_lot *lot);
	void (*close)(struct as_corrupt *c);
};

AS_MUST_CHECK int as_corrupt_open(const char *model, const struct as_corrupt_setup *setup,
				  struct as_corrupt **out, struct as_err *err);
void as_corrupt_free(struct as_corrupt *corrupt); /* takes NULL */
/* In another process: a checker cannot be shared by two. */
void as_corrupt_use(struct as_corrupt *corrupt, struct as_fsck_subject *subject);
uint64_t as_corrupt_lots(const struct as_corrupt *corrupt);
void as_corrupt_lot(struct as_corrupt *corrupt, uint64_t i, struct as_corrupt_lot *lot);
/* A damage of a lot with one of its fields alone. The lot is empty if there is no such part. */
void as_corrupt_part(struct as_corrupt *corrupt, uint64_t i, size_t nth, unsigned which,
		     struct as_corrupt_lot *lot);
void as_corrupt_lot_free(struct as_corrupt_lot *lot);

#endif
