/* SPDX-License-Identifier: GPL-2.0-or-later */
/* solo_fold: calls that differ only in the number at the end of a path, as a loop. */
#include "dossier/solo/solo_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLD_MIN 4 /* calls: fewer stay as they are */
#define DIGITS_MAX 9

/* "/e12": the length of "/e", and 12. False: it has no such number at its end. */
static bool split(const char *path, size_t *head, unsigned long *number)
{
	size_t len = strlen(path), at = len;

	while (at && path[at - 1] >= '0' && path[at - 1] <= '9')
		at--;
	if (at == len || len - at > DIGITS_MAX || (path[at] == '0' && at + 1 < len))
		return false;
	*head = at;
	*number = strtoul(path + at, NULL, 10);
	return true;
}

static bool can_fold(const struct repro_event *event)
{
	const struct as_trail_event *e = event->e;

	return e->what == AS_TRAIL_CALL && event->role == REPRO_KEEP && e->done && e->handle < 0 &&
	       (e->fn == AS_TRAIL_mkdir || e->fn == AS_TRAIL_rmdir || e->fn == AS_TRAIL_unlink);
}

/* The next call that the program has; n: something else comes first. */
static size_t next_kept(const struct repro_writer *w, size_t i)
{
	while (++i < w->n) {
		enum as_trail_what what = w->events[i].e->what;

		if (what == AS_TRAIL_CALL && w->events[i].role >= REPRO_KEEP)
			return i;
		if (what != AS_TRAIL_CALL && what != AS_TRAIL_IO)
			break;
	}
	return w->n;
}

static bool follows(const struct as_trail_event *e, const struct as_trail_event *next)
{
	const char *path = as_trail_text(e, 0), *other = as_trail_text(next, 0);
	unsigned long number, then;
	size_t head, len;

	return next->fn == e->fn && next->ret == e->ret && next->before_ns == e->after_ns &&
	       !memcmp(next->n, e->n, sizeof(e->n)) && split(path, &head, &number) &&
	       split(other, &len, &then) && len == head && !memcmp(path, other, head) &&
	       then == number + 1;
}

size_t as_repro_fold(struct repro_writer *w, size_t i)
{
	const struct as_trail_event *first = w->events[i].e;
	size_t last = i, n = 1, next;
	unsigned long number;

	if (w->every || !can_fold(&w->events[i]) ||
	    !split(as_trail_text(first, 0), &w->fold_len, &number))
		return i;
	while ((next = next_kept(w, last)) < w->n && can_fold(&w->events[next]) &&
	       follows(w->events[last].e, w->events[next].e)) {
		last = next;
		n++;
	}
	if (n < FOLD_MIN || first->before_ns != w->clock_ns) {
		w->fold_len = 0;
		return i;
	}
	as_buf_addf(w->out, "\tfor (unsigned i = %lu; i < %zu; i++)\n\t", number,
		    (size_t)number + n);
	as_repro_call(w, i);
	w->clock_ns = w->events[last].e->after_ns;
	w->fold_len = 0;
	return last;
}
