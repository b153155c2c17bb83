/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kept: the disks of findings, in the folder that is shared with the supervisor. A disk is complete
 * before its finding is told. All else that a person gets of a finding is made outside, from what
 * is told.
 */
#include "guest/service_priv.h"

#include "disk/image.h"

int as_service_kept_open(struct as_service *s, struct as_err *err)
{
	struct as_dir out = AS_DIR_NONE;
	bool made;
	int rc;

	s->kept = AS_DIR_NONE;
	if (!s->job.out)
		return 0;
	rc = as_dir_open(s->job.out, &made, &out, err);
	if (!rc)
		rc = as_dir_below(&out, AS_WIRE_FINDINGS, true, &s->kept, err);
	as_dir_close(&out);
	return rc;
}

void as_service_kept_close(struct as_service *s)
{
	as_dir_close(&s->kept);
}

static int save(const struct as_disk *disk, const struct as_dir *dir, const char *name,
		struct as_err *err)
{
	return disk ? as_image_save_in((struct as_disk *)disk, dir, name, err) : 0;
}

void as_service_keep(struct as_service *s, const struct as_finding *f)
{
	bool power = f->kind == AS_FIND_CRASH || f->kind == AS_FIND_RECOVERY;
	struct as_dir dir = AS_DIR_NONE;
	int rc;

	if (s->kept.fd < 0 || s->kept_rc || !f->disk)
		return;
	rc = as_dir_below(&s->kept, f->id, true, &dir, &s->kept_err);
	if (!rc)
		rc = save(f->disk, &dir, AS_WIRE_DISK, &s->kept_err);
	if (!rc && power)
		rc = save(f->healthy, &dir, AS_WIRE_BEFORE, &s->kept_err);
	as_dir_close(&dir);
	s->kept_rc = rc;
}

int as_service_kept_failed(const struct as_service *s, struct as_err *err)
{
	if (s->kept_rc && err)
		*err = s->kept_err;
	return s->kept_rc;
}
