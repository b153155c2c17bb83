/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hang: see lead_priv.h. */
#include "fsck/lead_priv.h"

#include "base/array.h"
#include "os/spawn.h"
#include "symptom/still.h"

#include <stdlib.h>
#include <string.h>

#define SHARE 6 /* of the time of the session, at most */

struct as_hangs {
	struct as_subject_setup setup;
	const struct as_fsck_base *bases;
	struct as_hang *items; /* the first one is being asked about */
	size_t n, cap;
	struct as_crew *crew; /* of one */
	int64_t start_us, asked_us, spent_us; /* when it began; when the last one was; for all */
	bool hurry, heard, failed; /* heard: that it shows the same; failed: nobody could ask */
};

void as_hang_free(struct as_hang *h)
{
	as_damage_free(&h->damage);
	free(h->signature);
	*h = (struct as_hang){ 0 };
}

struct as_hangs *as_hangs_new(const struct as_subject_setup *setup,
			      const struct as_fsck_base *bases)
{
	static const struct as_crew_plan plan = {
		.who = "the process that asks whether a disk hangs", .how = AS_BIRTH_DEAF
	};
	struct as_hangs *hs = as_xcalloc(1, sizeof(*hs));

	hs->setup = *setup;
	hs->setup.whole = hs->setup.patient = true;
	hs->setup.hint_ms = 0;
	hs->bases = bases;
	hs->start_us = as_now_us();
	hs->crew = as_crew_new(&plan, 1);
	return hs;
}

void as_hangs_free(struct as_hangs *hs)
{
	if (!hs)
		return;
	as_crew_free(hs->crew);
	for (size_t i = 0; i < hs->n; i++)
		as_hang_free(&hs->items[i]);
	free(hs->items);
	free(hs);
}

/* Says something if the disk shows the same again. */
static int ask(struct as_mate *mate, void *ctx, struct as_err *err)
{
	const struct as_hangs *hs = ctx;
	const struct as_hang *h = &hs->items[0];
	const struct as_fsck_base *base = &hs->bases[h->damage.base];
	struct as_fsck_subject *subject = NULL;
	struct as_fsck_verdict v = { 0 };
	struct as_judge *judge;
	struct as_disk *disk;
	int rc = as_subject_open(&hs->setup, &subject, err);

	if (rc)
		return rc;
	judge = as_judge_new(subject);
	disk = as_damage_apply(&h->damage, base->disk, NULL);
	rc = as_judge_disk(judge, base, &h->damage, disk, &v, err);
	if (!rc &&
	    as_still_fails(AS_STILL_EXACTLY, h->signature, as_fsck_verdict_shows(&v, h->problem)))
		rc = as_mate_say(mate, "", 0);
	as_judge_free(judge);
	as_subject_free(subject);
	return rc;
}

/* To ask takes a processor that the search could have. */
static bool is_due(const struct as_hangs *hs)
{
	return hs->hurry || hs->spent_us * SHARE <= as_now_us() - hs->start_us;
}

static void begin(struct as_hangs *hs)
{
	if (as_crew_sits(hs->crew, 0) || !hs->n || !is_due(hs))
		return;
	hs->asked_us = as_now_us();
	hs->failed = as_crew_start(hs->crew, 0, ask, hs, NULL);
	/* Its runs have deadlines of their own; all of them together take no longer than this. */
	if (!hs->failed)
		as_crew_within(hs->crew, 0, (AS_FSCK_RUNS + 2) * AS_SUBJECT_PATIENT_MS);
}

void as_hangs_hurry(struct as_hangs *hs)
{
	hs->hurry = true;
}

void as_hangs_add(struct as_hangs *hs, const struct as_hang *h)
{
	AS_ARRAY_ROOM(hs->items, hs->n, hs->cap);
	hs->items[hs->n++] = *h;
	begin(hs);
}

bool as_hangs_wait(const struct as_hangs *hs)
{
	return hs->n;
}

bool as_hangs_next(struct as_hangs *hs, struct as_hang *out)
{
	bool confirmed = false;
	size_t len;

	begin(hs);
	if (as_crew_sits(hs->crew, 0)) {
		as_crew_wait(hs->crew, 0);
		hs->heard = as_crew_next(hs->crew, 0, &len) || hs->heard;
		if (!as_crew_is_over(hs->crew, 0))
			return false;
		confirmed = !as_crew_ended(hs->crew, 0, NULL) && hs->heard;
	} else if (!hs->failed) {
		return false;
	}
	*out = hs->items[0];
	out->confirmed = confirmed;
	memmove(hs->items, hs->items + 1, --hs->n * sizeof(*hs->items));
	hs->heard = hs->failed = false;
	hs->spent_us += as_now_us() - hs->asked_us;
	begin(hs);
	return true;
}
