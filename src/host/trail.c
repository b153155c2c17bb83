/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trail: see trail.h. */
#include "host/trail.h"

#include "os/memory.h"

#include <string.h>

#define TRAIL_BYTES ((size_t)256 << 20)

struct as_trail {
	size_t used;
	bool full;
	_Alignas(struct as_trail_event) unsigned char data[];
};

static const char *const names[] = {
#define X(name) #name,
	AS_TRAIL_FNS(X)
#undef X
};

const char *as_trail_fn_name(enum as_trail_fn fn)
{
	return names[fn];
}

struct as_trail *as_trail_new(void)
{
	return as_memory_reserve(TRAIL_BYTES, -1);
}

void as_trail_free(struct as_trail *trail)
{
	as_memory_give_back(trail, TRAIL_BYTES);
}

bool as_trail_is_full(const struct as_trail *trail)
{
	return trail->full;
}

const struct as_trail_event *as_trail_next(const struct as_trail *trail,
					   const struct as_trail_event *event)
{
	size_t at = event ? (size_t)((const unsigned char *)event - trail->data) + event->bytes : 0;

	return at < trail->used ? (const struct as_trail_event *)(const void *)(trail->data + at)
				: NULL;
}

const char *as_trail_text(const struct as_trail_event *e, unsigned i)
{
	return (const char *)(e + 1) + (i ? e->text_len[0] + 1 : 0);
}

const unsigned char *as_trail_data(const struct as_trail_event *e)
{
	return (const unsigned char *)(e + 1) + e->text_len[0] + e->text_len[1] + 2;
}

struct as_trail_event *as_trail_add(struct as_trail *trail, const struct as_trail_event *event,
				    const char *text, const char *text2, const void *data,
				    size_t len)
{
	size_t n = text ? strlen(text) : 0, n2 = text2 ? strlen(text2) : 0, bytes;
	struct as_trail_event *e;
	char *at;

	if (!trail || trail->full)
		return NULL;
	bytes = sizeof(*e) + n + n2 + 2 + len;
	bytes = (bytes + _Alignof(struct as_trail_event) - 1) / _Alignof(struct as_trail_event) *
		_Alignof(struct as_trail_event);
	if (len > UINT32_MAX / 2 || bytes > TRAIL_BYTES - sizeof(*trail) - trail->used) {
		trail->full = true;
		return NULL;
	}
	e = (struct as_trail_event *)(void *)(trail->data + trail->used);
	*e = *event;
	e->bytes = (uint32_t)bytes;
	e->text_len[0] = (uint32_t)n;
	e->text_len[1] = (uint32_t)n2;
	e->data_len = (uint32_t)len;
	at = (char *)(e + 1);
	if (n)
		memcpy(at, text, n);
	at[n] = '\0';
	if (n2)
		memcpy(at + n + 1, text2, n2);
	at[n + 1 + n2] = '\0';
	if (len)
		memcpy(at + n + n2 + 2, data, len);
	trail->used += bytes;
	return e;
}

void as_trail_mark(struct as_trail *trail, enum as_trail_what what, uint64_t n, const void *data,
		   size_t len)
{
	struct as_trail_event e = { .what = (uint8_t)what, .handle = -1, .n = { n } };

	(void)as_trail_add(trail, &e, NULL, NULL, data, len);
}

size_t as_trail_len(const struct as_trail *trail)
{
	return trail->used;
}

void as_trail_rewind(struct as_trail *trail, size_t len)
{
	as_assert(len <= trail->used);
	trail->used = len;
}
