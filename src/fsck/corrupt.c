/* SPDX-License-Identifier: GPL-2.0-or-later */
/* corrupt: see corrupt.h. */
#include "fsck/corrupt_priv.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static const struct as_corrupt_row *const rows[] = {
	&as_corrupt_fields,
	&as_corrupt_suite,
	&as_corrupt_bits,
	&as_corrupt_crash,
};

/* Row i, or NULL after the last. */
static const struct as_corrupt_row *corrupt_row(unsigned i)
{
	return i < sizeof(rows) / sizeof(rows[0]) ? rows[i] : NULL;
}

int as_corrupt_open(const char *model, const struct as_corrupt_setup *setup,
		    struct as_corrupt **out, struct as_err *err)
{
	struct as_corrupt *c;
	unsigned i = 0;
	int rc;

	*out = NULL;
	while (corrupt_row(i) && strcmp(rows[i]->name, model))
		i++;
	if (!corrupt_row(i))
		return as_fail(err, AS_EUSE, "%s: no such model", model);
	c = as_xcalloc(1, sizeof(*c));
	c->row = rows[i];
	c->setup = *setup;
	c->subject = setup->subject;
	rc = c->row->open(c, err);
	if (!rc)
		*out = c;
	else
		as_corrupt_free(c);
	return rc;
}

void as_corrupt_free(struct as_corrupt *c)
{
	if (!c)
		return;
	c->row->close(c);
	free(c);
}

void as_corrupt_use(struct as_corrupt *c, struct as_fsck_subject *subject)
{
	c->subject = subject;
}

uint64_t as_corrupt_lots(const struct as_corrupt *c)
{
	return c->row->lots(c);
}

void as_corrupt_lot(struct as_corrupt *c, uint64_t i, struct as_corrupt_lot *lot)
{
	as_corrupt_lot_free(lot);
	c->row->lot(c, i, lot);
}

void as_corrupt_part(struct as_corrupt *c, uint64_t i, size_t nth, unsigned which,
		     struct as_corrupt_lot *lot)
{
	as_corrupt_lot_free(lot);
	if (c->row->part)
		c->row->part(c, i, nth, which, lot);
}

void as_corrupt_lot_free(struct as_corrupt_lot *lot)
{
	for (size_t i = 0; i < lot->n; i++)
		as_damage_free(&lot->damages[i]);
	free(lot->damages);
	*lot = (struct as_corrupt_lot){ 0 };
}

struct as_damage *as_corrupt_add(struct as_corrupt_lot *lot, uint32_t base)
{
	AS_ARRAY_ROOM(lot->damages, lot->n, lot->cap);
	lot->damages[lot->n] = (struct as_damage){ .base = base };
	return &lot->damages[lot->n++];
}

void as_corrupt_take(struct as_corrupt *c, struct as_corrupt_lot *lot, struct as_disk *disk)
{
	struct as_damage *d = &lot->damages[lot->n - 1];

	if (!as_damage_diff(d, c->setup.bases[d->base].disk, disk)) {
		as_damage_free(d);
		lot->n--;
	}
	as_disk_free(disk);
}

int as_corrupt_read_fields(const struct as_corrupt *c, struct as_disk *disk, struct as_fields **out,
			   struct as_err *err)
{
	return c->setup.layout ? as_fields_read_by(c->setup.layout, NULL, disk, out, err)
			       : as_fields_read(c->setup.type, disk, out, err);
}
