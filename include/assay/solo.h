/* SPDX-License-Identifier: MIT */
/*
 * solo.h: a host for one file system, without assay: a disk or a flash in memory, calls of it that
 * fail, power cuts. The repro.c of a finding includes it and is linked with the sources of the file
 * system. It has four parts, which are included at its end.
 *
 * A program makes calls by AS_SOLO(), which says if an answer is another one than assay saw, and
 * AS_SOLO_WRONG(), for the answer that is wrong. It ends with as_solo_end(): the finding is
 * reproduced if everything that was wrong is so again. Exit status: 0 it is, 1 it is not.
 */
#ifndef ASSAY_SOLO_H
#define ASSAY_SOLO_H

#include <assay/target.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What the file system asks its host for. A program of flash is a write. */
enum as_solo_ask {
	AS_SOLO_READ,
	AS_SOLO_WRITE,
	AS_SOLO_ERASE, /* or a discard, or zeroes */
	AS_SOLO_FLUSH,
	AS_SOLO_ALLOC,
	AS_SOLO_ASKS
};

#define AS_SOLO_FAULTS 16
#define AS_SOLO_RULES 16
#define AS_SOLO_HANG_S 10
#define AS_SOLO_DAMAGE (-2) /* in place of a signal: memory that was damaged */
#define AS_SOLO_POISON 0xa5 /* in the buffer of a read, before it */
#define AS_SOLO_GUARD UINT64_C(0xa55a5aa5c33c3cc3) /* after each allocation, and in its head */
#define AS_SOLO_EPOCH_NS (UINT64_C(1600000000) * 1000000000)

struct as_solo_block {
	struct as_solo_block *next, **back; /* of all that are allocated */
	size_t len;
	uint64_t guard;
};

struct as_solo_write {
	uint64_t off;
	size_t len;
	unsigned char *data; /* NULL: erased */
	int lost; /* the power cut has lost it, but for what as_solo_keep() says */
};

struct as_solo {
	struct as_mount_args args; /* for mkfs, mount and fsck */
	struct as_host host;
	struct as_checks checks;
	struct as_bd bd;
	struct as_flash flash;
	unsigned char *bytes, *began; /* the disk; as it was when the record began */
	uint64_t size_bytes;
	struct as_solo_write *writes; /* since then: the first is number 1 */
	size_t n_writes, cap_writes;
	int records;
	struct as_solo_block *live; /* memory that is allocated */
	uint64_t n_live, now_ns;
	uint64_t heap, max_heap; /* bytes that are allocated, and may be; 0: any number */
	struct {
		enum as_solo_ask ask;
		uint64_t in; /* calls until then; 0: none */
		int err; /* 0: it works, but with other bytes */
		uint64_t off;
		const char *bytes;
		size_t len;
	} fault[AS_SOLO_FAULTS];
	uint32_t *erases, wear, spread; /* of each block; limits, 0 for none */
	const char *answers; /* to what it asks: "0.1.0" */
	struct {
		const char *name;
		as_invariant_fn fn;
		void *ctx;
		int taken, until;
	} rule[AS_SOLO_RULES]; /* invariants and pairs */
	char trouble[200]; /* the first rule of the interface that it broke */
	const char *doing; /* the call */
	int telling, differing, dies; /* dies: the signal that is expected, -1: exit() */
	unsigned char buf[1 << 20]; /* for the calls of the program */
};

static struct as_solo *as_solo_current; /* for signals, which are told nothing else */

static inline void as_solo_note(struct as_solo *s, const char *what, uint64_t off, size_t len)
{
	if (!s->trouble[0] && len)
		snprintf(s->trouble, sizeof(s->trouble), "%s: %zu bytes at %" PRIu64, what, len,
			 off);
	else if (!s->trouble[0])
		snprintf(s->trouble, sizeof(s->trouble), "%s", what);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

/* The nth call of this kind from now on answers -err. */
static inline void as_solo_fail(struct as_solo *s, enum as_solo_ask ask, uint64_t nth, int err)
{
	int i = 0;

	while (i < AS_SOLO_FAULTS - 1 && s->fault[i].in)
		i++;
	s->fault[i].ask = ask;
	s->fault[i].in = nth;
	s->fault[i].err = err;
	s->fault[i].len = 0;
}

/* The nth call of this kind from now on answers -err (0: success), and puts these bytes there: a
 * write on the disk, a read in what it reads. */
static inline void as_solo_spoil(struct as_solo *s, enum as_solo_ask ask, uint64_t nth, int err,
				 uint64_t off, const char *bytes, size_t len)
{
	int i = 0;

	while (i < AS_SOLO_FAULTS - 1 && s->fault[i].in)
		i++;
	as_solo_fail(s, ask, nth, err);
	s->fault[i].off = off;
	s->fault[i].bytes = bytes;
	s->fault[i].len = len;
}

/* Counts a call; the number of the fault that hits it, or -1. */
static inline int as_solo_hit(struct as_solo *s, enum as_solo_ask ask)
{
	int hit = -1;

	for (int i = 0; i < AS_SOLO_FAULTS; i++)
		if (s->fault[i].in && s->fault[i].ask == ask && !--s->fault[i].in)
			hit = i;
	return hit;
}

/* ---- The disk -------------------------------------------------------------------------------- */

static inline void as_solo_put(struct as_solo *s, const struct as_solo_write *w)
{
	for (size_t i = 0; i < w->len; i++)
		s->bytes[w->off + i] = w->data ? w->data[i] : s->flash.geometry.erased;
}

static inline int as_solo_change(struct as_solo *s, enum as_solo_ask ask, uint64_t off,
				 const void *buf, size_t len)
{
	struct as_solo_write w = { off, len, NULL, 0 };
	int hit = as_solo_hit(s, ask);

	if (hit >= 0 && s->fault[hit].err && !s->fault[hit].len)
		return -s->fault[hit].err;
	if (len > s->size_bytes || off > s->size_bytes - len) {
		as_solo_note(s, "outside of the disk", off, len);
		return -EINVAL;
	}
	if (buf) {
		w.data = malloc(len + 1);
		memcpy(w.data, buf, len);
		/* Flash: bits only go away from the erased value. */
		for (size_t i = 0; s->args.flash && i < len; i++)
			w.data[i] = s->flash.geometry.erased ? w.data[i] & s->bytes[off + i]
							     : w.data[i] | s->bytes[off + i];
	}
	as_solo_put(s, &w);
	if (hit >= 0)
		memcpy(s->bytes + s->fault[hit].off, s->fault[hit].bytes, s->fault[hit].len);
	if (s->records && s->n_writes == s->cap_writes) {
		s->cap_writes = 2 * s->cap_writes + 64;
		s->writes = realloc(s->writes, s->cap_writes * sizeof(w));
	}
	if (s->records)
		s->writes[s->n_writes++] = w;
	else
		free(w.data);
	return hit >= 0 ? -s->fault[hit].err : 0;
}

static inline int as_solo_get(struct as_solo *s, uint64_t off, void *buf, size_t len)
{
	int hit = as_solo_hit(s, AS_SOLO_READ);

	if (len > s->size_bytes || off > s->size_bytes - len) {
		as_solo_note(s, "outside of the disk", off, len);
		return -EINVAL;
	}
	memcpy(buf, s->bytes + off, len);
	if (hit < 0)
		return 0;
	if (s->fault[hit].len)
		memcpy((char *)buf + (s->fault[hit].off - off), s->fault[hit].bytes,
		       s->fault[hit].len);
	return -s->fault[hit].err;
}

/* Numbers writes from now on, so that a power cut can lose some. */
static inline void as_solo_record(struct as_solo *s)
{
	s->began = realloc(s->began, s->size_bytes);
	memcpy(s->began, s->bytes, s->size_bytes);
	s->n_writes = 0;
	s->records = 1;
}

/* What a power cut has abandoned, and what was not given back: a sanitizer would complain of it and
 * take the exit status for itself. A list that was written over is left alone. */
static inline void as_solo_free_all(struct as_solo *s)
{
	while (s->live && s->live->guard == AS_SOLO_GUARD) {
		struct as_solo_block *b = s->live;

		s->live = b->next;
		free(b);
	}
	s->live = NULL;
	s->n_live = s->heap = 0;
}

/* The file system's memory is gone, and the clock begins again. */
static inline void as_solo_forget(struct as_solo *s)
{
	as_solo_free_all(s);
	memset(s->rule, 0, sizeof(s->rule));
	s->now_ns = AS_SOLO_EPOCH_NS;
}

/* Write number i, from 1, is lost. */
static inline void as_solo_lose(struct as_solo *s, size_t i)
{
	if (i && i <= s->n_writes)
		s->writes[i - 1].lost = 1;
}

/* The power fails after the first n writes: the disk has those of them that were not lost. */
static inline void as_solo_cut(struct as_solo *s, size_t n)
{
	if (n > s->n_writes)
		printf("note: there were %zu writes, not %zu\n", s->n_writes, n);
	memcpy(s->bytes, s->began, s->size_bytes);
	for (size_t i = 0; i < n && i < s->n_writes; i++)
		if (!s->writes[i].lost)
			as_solo_put(s, &s->writes[i]);
	s->records = 0;
}

/* Of a write that is lost in part: what the disk has there. */
static inline void as_solo_left(struct as_solo *s, uint64_t off, const char *bytes, size_t len)
{
	memcpy(s->bytes + off, bytes, len);
}

#include <assay/solo_end.h>
#include <assay/solo_host.h>
#include <assay/solo_look.h>

#endif
