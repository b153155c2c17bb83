/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flash_unstable: see flash_unstable.h. */
#include "disk/flash_unstable.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

#define SECTOR 512u
#define MAGIC 0x656c626174736e75ull

struct note {
	uint64_t magic, off, len, phase;
};

static int write_note(struct as_unstable *u, uint64_t off, uint64_t len, unsigned phase)
{
	unsigned char sector[SECTOR] = { 0 };
	struct note note = { MAGIC, off, len, phase };
	int rc;

	if (len)
		memcpy(sector, &note, sizeof(note));
	rc = as_bd_write(u->bd, u->note_at, sector, SECTOR);
	u->known = !rc;
	u->off = off;
	u->len = len;
	u->phase = phase;
	u->reads = 0;
	return rc;
}

static int know(struct as_unstable *u)
{
	unsigned char sector[SECTOR];
	struct note note;
	int rc;

	if (u->known)
		return 0;
	rc = as_bd_read(u->bd, u->note_at, sector, SECTOR);
	if (rc)
		return rc;
	memcpy(&note, sector, sizeof(note));
	u->known = true;
	u->off = u->len = 0;
	/* The disk may have been damaged on purpose. */
	if (note.magic == MAGIC && note.off <= u->note_at && note.len <= u->note_at - note.off) {
		u->off = note.off;
		u->len = note.len;
		u->phase = (unsigned)note.phase % AS_UNSTABLE_PHASES;
	}
	return 0;
}

static bool meets(const struct as_unstable *u, uint64_t off, uint64_t len)
{
	return u->len && off < u->off + u->len && u->off < off + len;
}

int as_unstable_set(struct as_unstable *u, uint64_t off, uint64_t len, unsigned phase)
{
	return write_note(u, off, len, phase);
}

int as_unstable_end(struct as_unstable *u, uint64_t off, uint64_t len)
{
	int rc = know(u);

	return !rc && meets(u, off, len) ? write_note(u, 0, 0, 0) : rc;
}

/* Where the first byte of the range is that has a programmed bit; as_unstable_read() may see only a
 * part of the range, so the device is asked. */
static int first_set(struct as_unstable *u, uint64_t *at)
{
	unsigned char sector[SECTOR];

	*at = UINT64_MAX;
	for (uint64_t s = u->off - u->off % SECTOR; s < u->off + u->len; s += SECTOR) {
		int rc = as_bd_read(u->bd, s, sector, SECTOR);

		if (rc)
			return rc;
		for (uint64_t i = 0; i < SECTOR; i++)
			if (sector[i] && s + i >= u->off && s + i < u->off + u->len) {
				*at = s + i;
				return 0;
			}
	}
	return 0;
}

/* Every second read loses bits, or every third and fourth of four; or it is the others that do. */
static bool loses_now(struct as_unstable *u)
{
	uint32_t n = u->reads++;

	return ((u->phase & 2 ? n >> 1 : n) ^ u->phase) & 1;
}

int as_unstable_read(struct as_unstable *u, uint64_t off, unsigned char *buf, uint64_t len)
{
	uint64_t first;
	int rc = know(u);

	if (rc || !meets(u, off, len))
		return rc;
	rc = first_set(u, &first);
	if (rc || !loses_now(u))
		return rc;
	for (uint64_t i = 0; i < len; i++) {
		uint64_t at = off + i;
		unsigned char lost = (unsigned char)as_mix64(at * 2 + 1) & buf[i];

		if (at < u->off || at >= u->off + u->len)
			continue;
		if (at == first)
			lost &= (unsigned char)~(buf[i] & -buf[i]);
		buf[i] ^= lost;
	}
	return 0;
}

void as_unstable_forget(struct as_unstable *u)
{
	u->known = false;
	u->reads = 0;
}
