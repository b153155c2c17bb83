/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_crashed: `assay fsck --symbolic` on what power cuts leave: the disks are crash states, and
 * what differs from the sound disk before the crash is unknown.
 */
#include "cmd/fsck/fsck_session.h"

#include <stdlib.h>
#include <string.h>

#define DISKS_MAX 24u
#define OF_A_LOT 3u /* spread over its states */

void as_fsck_crashed_free(struct as_fsck_crashed *c)
{
	for (size_t i = 0; i < c->n; i++) {
		as_damage_free(&c->differs[i]);
		as_buf_free(&c->names[i]);
	}
	free(c->differs);
	free(c->names);
	*c = (struct as_fsck_crashed){ 0 };
}

/* Notes a crashed disk, unless it is equal to the sound one, or was there before. */
static bool note(struct as_fsck_session *s, struct as_fsck_base *base, struct as_disk *sound,
		 struct as_disk *crashed, const char *name)
{
	struct as_fsck_crashed *c = &s->crashed;

	for (size_t i = 0; i < c->n; i++)
		if (as_disk_eq(base[-(ptrdiff_t)i - 1].disk, crashed))
			return false;
	if (!as_damage_diff(&c->differs[c->n], sound, crashed))
		return false;
	as_buf_adds(&c->names[c->n], name);
	*base = (struct as_fsck_base){ .disk = as_disk_snapshot(crashed),
				       .name = as_buf_str(&c->names[c->n]) };
	c->n++;
	return true;
}

static int judge_all(struct as_fsck_session *s, struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < s->n_bases; i++) {
		rc = as_judge_base(s->judge, &s->bases[i], AS_FSCK_SICK, err);
		/* A log is left to be replayed. */
		s->bases[i].dirty = true;
	}
	return rc;
}

static void room_for(struct as_fsck_crashed *c, size_t n)
{
	c->differs = as_xcalloc(n, sizeof(*c->differs));
	c->names = as_xcalloc(n, sizeof(*c->names));
}

int as_fsck_crashed_make(struct as_fsck_session *s, struct as_err *err)
{
	struct as_corrupt_setup setup = { .bases = s->bases,
					  .n = s->n_bases,
					  .type = as_subject_type(s->subject),
					  .seed = as_args_number(s->args, "seed", 1),
					  .tapes = s->crashes.tapes,
					  .seqs = s->crashes.seqs,
					  .subject = s->subject };
	struct as_fsck_base *bases = as_xcalloc(DISKS_MAX, sizeof(*bases));
	struct as_corrupt *corrupt = NULL;
	size_t n = 0;
	int rc = as_corrupt_open("crash", &setup, &corrupt, err);

	room_for(&s->crashed, DISKS_MAX);
	for (uint64_t i = 0; !rc && i < as_corrupt_lots(corrupt) && n < DISKS_MAX; i++) {
		struct as_corrupt_lot lot = { 0 };
		size_t step;

		as_corrupt_lot(corrupt, i, &lot);
		step = lot.n / OF_A_LOT + 1;
		for (size_t k = step / 2; k < lot.n && n < DISKS_MAX; k += step)
			n += note(s, &bases[n], s->bases[lot.damages[k].base].disk,
				  lot.damages[k].crashed, as_buf_str(&lot.damages[k].words));
		as_corrupt_lot_free(&lot);
	}
	as_corrupt_free(corrupt);
	for (size_t i = 0; i < s->n_bases; i++)
		as_fsck_base_free(&s->bases[i]);
	free(s->bases);
	s->bases = bases;
	s->n_bases = n;
	if (!rc && !n)
		rc = as_fail(err, AS_EUSE, "--model crash: no power cut changes the disk");
	return rc ? rc : judge_all(s, err);
}

int as_fsck_crashed_given(struct as_fsck_session *s, const char *path, struct as_err *err)
{
	struct as_disk *sound = NULL, *crashed = s->bases->disk;
	int rc = as_fsck_load_disk(s, path, &sound, err);

	room_for(&s->crashed, 1);
	if (!rc && as_disk_size(sound) != as_disk_size(crashed))
		rc = as_fail(err, AS_EUSE, "--sound: %s is not of the size of %s", path,
			     s->bases->name);
	if (!rc && !note(s, s->bases, sound, crashed, s->bases->name))
		rc = as_fail(err, AS_EUSE, "--sound: %s is equal to %s", path, s->bases->name);
	if (!rc)
		as_disk_free(crashed);
	as_disk_free(sound);
	return rc ? rc : judge_all(s, err);
}
