/* SPDX-License-Identifier: GPL-2.0-or-later */
/* damage_send: damages from one process to another: numbers, the bytes, two texts, a zero. */
#include "base/array.h"
#include "damage/damage.h"

#include <string.h>

struct sent {
	uint32_t base, n, words, field, sealed, pad;
};

uint32_t as_damage_put(const struct as_damage *d, struct as_buf *out)
{
	struct sent s = {
		d->base, (uint32_t)d->n, (uint32_t)d->words.len, (uint32_t)d->field.len, d->sealed,
		0
	};
	size_t all = sizeof(s) + d->n * sizeof(*d->bytes) + d->words.len + d->field.len + 1;

	if (all > AS_DAMAGE_SENT_MAX - 1)
		return 0;
	as_buf_add(out, &s, sizeof(s));
	as_buf_add(out, d->bytes, d->n * sizeof(*d->bytes));
	as_buf_add(out, as_buf_str(&d->words), d->words.len);
	as_buf_add(out, as_buf_str(&d->field), d->field.len);
	as_buf_addc(out, '\0');
	return (uint32_t)all;
}

bool as_damage_get(const void *data, size_t len, size_t bases, struct as_damage *d)
{
	const char *at = (const char *)data + sizeof(struct sent);
	struct sent s;

	*d = (struct as_damage){ 0 };
	if (len < sizeof(s))
		return false;
	memcpy(&s, data, sizeof(s));
	if (s.base >= bases || s.n > len / sizeof(*d->bytes) || s.words > len || s.field > len ||
	    sizeof(s) + s.n * sizeof(*d->bytes) + s.words + s.field + 1 != len)
		return false;
	d->base = s.base;
	d->sealed = s.sealed;
	AS_ARRAY_ROOM_FOR(d->bytes, d->n, s.n, d->cap);
	memcpy(d->bytes, at, s.n * sizeof(*d->bytes));
	d->n = s.n;
	at += s.n * sizeof(*d->bytes);
	as_buf_add(&d->words, at, s.words);
	as_buf_add(&d->field, at + s.words, s.field);
	return true;
}
