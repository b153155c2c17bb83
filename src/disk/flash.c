/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flash: see flash.h.
 *
 * Method. The device beneath has every byte exclusive-or'ed with the erased value, so that erased
 * flash is zeros there: a fresh disk is erased flash, and an erase is as_bd_zero(). The recorder,
 * power cuts, faults and images know programs (writes) and erases (zeroes) without knowing flash.
 * The device has sectors; a program of less writes its sectors again.
 *
 * Power cuts. There is a cut between any two writes of a record. So what a power cut may leave of a
 * program or an erase is written on the way, when a record is made (as_emuflash_tears()):
 *   unit  a program goes unit by unit; a unit of more than a byte is half done first. An erase goes
 *         sector by sector from the start, as every write of a record may.
 *   bits  the same, and before each of them a state in which some of the bits have changed and
 *         others have not, all over the unit or the block
 *   unstable  the same as unit, and until a program or an erase is done as a whole, the bits that
 *         it changes read now so and now otherwise (flash_unstable.h); the last block of the
 *         device is not the flash's then
 *   off   a program or an erase is done or not
 * The bits are drawn from the place and the bytes: the same calls give the same states.
 *
 * Invariants
 *   1. What is wrong is judged by the bytes that are there, and by nothing that is remembered: so
 *      it holds for every disk, whoever made it.
 *   2. A call that breaks a rule changes what a real flash would change: bits away from the erased
 *      value.
 */
#include "disk/flash.h"

#include "base/hash.h"
#include "disk/flash_unstable.h"
#include "disk/flash_wear.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR 512u

struct as_emuflash {
	struct as_flash seam; /* first: it is a flash */
	struct as_flash_setup setup;
	struct as_bd *bd;
	struct as_bd *own; /* what a program and an erase ask, which are no reads of the user's */
	uint32_t n_blocks;
	uint32_t *erases; /* of each block */
	struct as_wear *wear; /* of all runs; NULL: nobody asks */
	uint32_t *reads; /* of each block, since it was erased */
	uint64_t hits;
	bool tears;
	struct as_unstable unstable; /* bd is NULL: the setup has none */
	char misuse[200];
};

/* ---- Rules ----------------------------------------------------------------------------------- */

static struct as_emuflash *of(struct as_flash *flash)
{
	return (struct as_emuflash *)flash;
}

static void note(struct as_emuflash *f, const char *fmt, ...) AS_PRINTF(2, 3);
static void note(struct as_emuflash *f, const char *fmt, ...)
{
	char text[sizeof(f->misuse)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (as_flash_misuse_rank(text) > as_flash_misuse_rank(f->misuse))
		memcpy(f->misuse, text, sizeof(text));
}

static int check(struct as_emuflash *f, const char *what, uint64_t off, uint64_t len, uint32_t unit)
{
	uint64_t size = f->seam.geometry.size_bytes;

	if (off > size || len > size - off)
		note(f, "%s of %llu bytes at %llu: outside of the flash of %llu bytes", what,
		     (unsigned long long)len, (unsigned long long)off, (unsigned long long)size);
	else if (unit > 1 && (off % unit || len % unit))
		note(f, "%s of %llu bytes at %llu: not whole units of %u bytes", what,
		     (unsigned long long)len, (unsigned long long)off, unit);
	else
		return 0;
	return -EINVAL;
}

static uint32_t block_of(const struct as_emuflash *f, uint64_t off)
{
	return (uint32_t)(off / f->seam.geometry.erase_bytes);
}

static bool is_bad(const struct as_emuflash *f, uint32_t block, uint32_t call)
{
	for (uint32_t i = 0; i < f->setup.n_bad; i++) {
		const struct as_flash_bad *bad = &f->setup.bad[i];

		if (bad->block == block && bad->calls & call && f->erases[block] >= bad->after)
			return true;
	}
	return call != AS_FLASH_READS && f->setup.cycles && f->erases[block] >= f->setup.cycles;
}

static bool is_unreadable(const struct as_emuflash *f, uint64_t off, uint64_t len)
{
	if (!f->setup.n_bad)
		return false;
	for (uint32_t block = block_of(f, off);; block++)
		if (is_bad(f, block, AS_FLASH_READS))
			return true;
		else if (block == block_of(f, off + len - 1))
			break;
	return false;
}

static bool is_weak(const struct as_emuflash *f, uint64_t off, uint64_t len)
{
	uint32_t first = block_of(f, off), last = block_of(f, off + len - 1);

	for (uint32_t i = 0; i < f->setup.n_weak; i++) {
		uint32_t block = f->setup.weak[i];

		if (block >= first && block <= last && !f->erases[block])
			return true;
	}
	for (uint32_t block = first; f->setup.disturb && block <= last; block++)
		if (f->reads[block] > f->setup.disturb)
			return true;
	return false;
}

/* Reads disturb the block that they read, until it is erased. */
static void note_read(struct as_emuflash *f, uint64_t off, uint64_t len)
{
	for (uint32_t block = block_of(f, off); block <= block_of(f, off + len - 1); block++)
		f->reads[block]++;
}

/* A program of `was` to `now`, both as beneath. What is there is made what it becomes. */
static void check_program(struct as_emuflash *f, uint64_t off, unsigned char *was,
			  const unsigned char *now, size_t len)
{
	bool over = f->seam.geometry.flags & AS_FLASH_OVERWRITE;
	unsigned char erased = f->seam.geometry.erased;

	for (size_t i = 0; i < len; i++) {
		uint64_t at = off + i;

		if (was[i] && !over)
			note(f,
			     "programs a unit twice without an erase between: byte %llu of block "
			     "%u has 0x%02x",
			     (unsigned long long)(at % f->seam.geometry.erase_bytes),
			     block_of(f, at), was[i] ^ erased);
		else if (was[i] & ~now[i])
			note(f,
			     "programs bits back to the erased value without an erase: byte %llu "
			     "of block %u has 0x%02x, and was to be 0x%02x",
			     (unsigned long long)(at % f->seam.geometry.erase_bytes),
			     block_of(f, at), was[i] ^ erased, now[i] ^ erased);
		was[i] |= now[i];
	}
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Many bytes at a time: a mount reads all of the flash, for each crash state. */
typedef uint64_t wide __attribute__((vector_size(16), aligned(1), may_alias));

static void turn(const struct as_emuflash *f, unsigned char *bytes, size_t len)
{
	size_t i = 0;

	if (!f->seam.geometry.erased)
		return;
	for (; i + 4 * sizeof(wide) <= len; i += 4 * sizeof(wide)) {
		wide *w = (wide *)(bytes + i);
		wide a = ~w[0], b = ~w[1], c = ~w[2], d = ~w[3];

		w[0] = a;
		w[1] = b;
		w[2] = c;
		w[3] = d;
	}
	for (; i + sizeof(wide) <= len; i += sizeof(wide)) {
		wide *w = (wide *)(bytes + i);

		*w = ~*w;
	}
	for (; i < len; i++)
		bytes[i] ^= 0xff;
}

/* Reads bytes as they are beneath. */
static int fetch(struct as_bd *bd, uint64_t off, unsigned char *buf, size_t len)
{
	unsigned char sector[SECTOR];
	size_t done = 0;

	while (done < len) {
		uint64_t at = off + done, in = at % SECTOR;
		size_t n = len - done;
		int rc;

		if (!in && n >= SECTOR) {
			n -= n % SECTOR;
			rc = as_bd_read(bd, at, buf + done, n);
		} else {
			n = n < SECTOR - in ? n : SECTOR - (size_t)in;
			rc = as_bd_read(bd, at - in, sector, SECTOR);
			memcpy(buf + done, sector + in, n);
		}
		if (rc)
			return rc;
		done += n;
	}
	return 0;
}

/* Writes bytes as they are beneath: whole sectors in one write. */
static int put(struct as_emuflash *f, uint64_t off, const unsigned char *buf, size_t len)
{
	uint64_t from = off - off % SECTOR, to = (off + len + SECTOR - 1) / SECTOR * SECTOR;
	unsigned char *sectors;
	int rc;

	if (from == off && to == off + len)
		return as_bd_write(f->bd, off, buf, len);
	sectors = as_xmalloc((size_t)(to - from));
	rc = as_bd_read(f->own, from, sectors, (size_t)(to - from));
	memcpy(sectors + (off - from), buf, len);
	if (!rc)
		rc = as_bd_write(f->bd, from, sectors, (size_t)(to - from));
	free(sectors);
	return rc;
}

static int emu_read(struct as_flash *flash, uint64_t off, void *buf, size_t len)
{
	struct as_emuflash *f = of(flash);
	int rc = check(f, "read", off, len, flash->geometry.read_bytes);

	if (rc || !len)
		return rc;
	if (is_unreadable(f, off, len)) {
		f->hits++;
		return -EIO;
	}
	rc = fetch(f->bd, off, buf, len);
	if (!rc && f->unstable.bd)
		rc = as_unstable_read(&f->unstable, off, buf, len);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < f->setup.n_rot; i++) {
		uint64_t at = f->setup.rot[i];
		unsigned char *byte = (unsigned char *)buf + (at - off);

		if (at >= off && at < off + len && *byte) {
			*byte ^= 1;
			f->hits++;
		}
	}
	turn(f, buf, len);
	/* Divisions, and for most flashes for nothing. */
	if (!f->setup.n_weak && !f->setup.disturb)
		return 0;
	note_read(f, off, len);
	return is_weak(f, off, len) ? -EUCLEAN : 0;
}

/* Some of the bits of `all` that are not in `some` yet: those that come first on the way. */
static void draw_bits(uint64_t off, const unsigned char *from, const unsigned char *to, size_t len,
		      unsigned char *out)
{
	uint64_t seed = as_mix64(as_hash64(to, len) + off);

	for (size_t i = 0; i < len; i++) {
		seed = as_mix64(seed + i + 1);
		out[i] = from[i] ^ ((from[i] ^ to[i]) & (unsigned char)seed);
	}
}

/* A power cut may come in each of them. Those whose first read loses bits are further from the end
 * of a program. */
static int all_phases(struct as_emuflash *f, uint64_t off, size_t len)
{
	static const unsigned phases[AS_UNSTABLE_PHASES] = { 1, 3, 0, 2 };
	int rc = 0;

	for (size_t i = 0; i < AS_UNSTABLE_PHASES && !rc; i++)
		rc = as_unstable_set(&f->unstable, off, len, phases[i]);
	return rc;
}

/* The bytes go from `was` to `now` with what a power cut may leave on the way. */
static int put_torn(struct as_emuflash *f, uint64_t off, unsigned char *was,
		    const unsigned char *now, size_t len)
{
	uint32_t unit = f->seam.geometry.program_bytes;
	unsigned char *way = as_xmalloc(len);
	int rc = 0;

	/* Bits that were programmed before stay as they are. */
	if (f->unstable.bd && !was[0] && !memcmp(was, was + 1, len - 1))
		rc = as_unstable_set(&f->unstable, off, len, 1);
	memcpy(way, was, len);
	for (size_t at = 0; at < len && !rc; at += unit) {
		if (f->setup.tear == AS_FLASH_TEAR_BITS) {
			draw_bits(off + at, was + at, now + at, unit, way + at);
			rc = put(f, off + at, way + at, unit);
		}
		if (!rc && unit > 1) {
			memcpy(way + at, now + at, unit / 2);
			memcpy(way + at + unit / 2, was + at + unit / 2, unit - unit / 2);
			rc = put(f, off + at, way + at, unit);
		}
		memcpy(way + at, now + at, unit);
		if (!rc)
			rc = put(f, off + at, way + at, unit);
	}
	if (!rc && f->unstable.bd && f->unstable.len)
		rc = all_phases(f, off, len);
	free(way);
	return rc;
}

static int program_part(struct as_emuflash *f, uint64_t off, const unsigned char *buf, size_t len)
{
	unsigned char *was = as_xmalloc(2 * len), *now = was + len, *is = as_xmalloc(len);
	int rc = fetch(f->own, off, was, len);

	if (!rc) {
		memcpy(is, was, len);
		memcpy(now, buf, len);
		turn(f, now, len);
		check_program(f, off, is, now, len);
		if (f->tears && f->setup.tear != AS_FLASH_TEAR_OFF)
			rc = put_torn(f, off, was, is, len);
		else
			rc = put(f, off, is, len);
		if (!rc && f->unstable.bd)
			rc = as_unstable_end(&f->unstable, off, len);
	}
	free(was);
	free(is);
	return rc;
}

static int emu_program(struct as_flash *flash, uint64_t off, const void *buf, size_t len)
{
	struct as_emuflash *f = of(flash);
	int rc = check(f, "program", off, len, flash->geometry.program_bytes);
	size_t done = 0;

	while (!rc && done < len) {
		uint64_t in = (off + done) % flash->geometry.erase_bytes;
		size_t n = len - done, room = flash->geometry.erase_bytes - (size_t)in;

		n = n < room ? n : room;
		if (is_bad(f, block_of(f, off + done), AS_FLASH_PROGRAMS))
			return -EIO;
		rc = program_part(f, off + done, (const unsigned char *)buf + done, n);
		done += n;
	}
	return rc;
}

static int erase_by_bits(struct as_emuflash *f, uint64_t off)
{
	uint32_t len = f->seam.geometry.erase_bytes;
	unsigned char *was = as_xcalloc(3, len), *zeros = was + len, *way = zeros + len;
	int rc = fetch(f->own, off, was, len);

	if (!rc) {
		draw_bits(off, was, zeros, len, way);
		rc = put(f, off, way, len);
	}
	free(was);
	return rc;
}

static void check_wear(struct as_emuflash *f, uint32_t block)
{
	uint32_t least = UINT32_MAX, n = f->erases[block];

	if (f->setup.wear && n > f->setup.wear)
		note(f, "wears a block out: block %u was erased %u times, and %u is the limit",
		     block, n, f->setup.wear);
	if (!f->setup.spread || n <= f->setup.spread)
		return;
	for (uint32_t i = 0; i < f->n_blocks; i++)
		if (!is_bad(f, i, AS_FLASH_ERASES) && f->erases[i] < least)
			least = f->erases[i];
	if (n - least > f->setup.spread)
		note(f,
		     "does not level wear: block %u was erased %u times, and another one %u times",
		     block, n, least);
}

static int emu_erase(struct as_flash *flash, uint64_t off)
{
	struct as_emuflash *f = of(flash);
	uint32_t len = flash->geometry.erase_bytes, block;
	int rc = check(f, "erase", off, len, len);

	if (rc)
		return rc;
	block = block_of(f, off);
	if (is_bad(f, block, AS_FLASH_ERASES))
		return -EIO;
	if (f->tears && f->setup.tear == AS_FLASH_TEAR_BITS)
		rc = erase_by_bits(f, off);
	if (f->tears && f->unstable.bd)
		rc = all_phases(f, off, len);
	if (!rc)
		rc = as_bd_zero(f->bd, off, len);
	if (!rc && f->unstable.bd)
		rc = as_unstable_end(&f->unstable, off, len);
	if (rc)
		return rc;
	f->erases[block]++;
	f->reads[block] = 0;
	check_wear(f, block);
	if (f->wear)
		as_wear_raise(f->wear, f->erases, f->n_blocks, block);
	return 0;
}

static const struct as_flash_ops emu_ops = {
	.api = 1,
	.name = "flash",
	.read = emu_read,
	.program = emu_program,
	.erase = emu_erase,
};

/* ---- Life ------------------------------------------------------------------------------------ */

struct as_emuflash *as_emuflash_new(const struct as_flash_setup *setup, struct as_bd *bd)
{
	struct as_emuflash *f = as_xcalloc(1, sizeof(*f));
	struct as_err err;
	int rc = as_flash_setup_vet(setup, bd->size_bytes, &err);

	as_assert(!rc && bd->sector_bytes == SECTOR);
	f->seam.ops = &emu_ops;
	f->seam.geometry = setup->geometry;
	f->seam.geometry.size_bytes = bd->size_bytes;
	f->setup = *setup;
	f->bd = f->own = bd;
	if (setup->tear == AS_FLASH_TEAR_UNSTABLE) {
		f->seam.geometry.size_bytes -= setup->geometry.erase_bytes;
		f->unstable.bd = bd;
		f->unstable.note_at = f->seam.geometry.size_bytes;
	}
	f->n_blocks = (uint32_t)(f->seam.geometry.size_bytes / setup->geometry.erase_bytes);
	f->erases = as_xcalloc(f->n_blocks + 1, sizeof(*f->erases));
	f->reads = as_xcalloc(f->n_blocks, sizeof(*f->reads));
	return f;
}

void as_emuflash_free(struct as_emuflash *f)
{
	if (!f)
		return;
	free(f->erases);
	free(f->reads);
	free(f);
}

struct as_flash *as_emuflash_seam(struct as_emuflash *f)
{
	return &f->seam;
}

void as_emuflash_asks(struct as_emuflash *f, struct as_bd *own)
{
	f->own = own;
}

void as_emuflash_tears(struct as_emuflash *f)
{
	f->tears = true;
}

void as_emuflash_replaced(struct as_emuflash *f)
{
	memset(f->erases, 0, f->n_blocks * sizeof(*f->erases));
	memset(f->reads, 0, f->n_blocks * sizeof(*f->reads));
	f->misuse[0] = '\0';
	as_unstable_forget(&f->unstable);
}

int as_flash_misuse_rank(const char *misuse)
{
	if (!*misuse)
		return 0;
	if (!strncmp(misuse, "read of ", strlen("read of ")))
		return 1;
	return strncmp(misuse, "programs ", strlen("programs ")) ? 3 : 2;
}

const char *as_emuflash_misuse(const struct as_emuflash *f)
{
	return f->misuse[0] ? f->misuse : NULL;
}

uint64_t as_emuflash_hits(const struct as_emuflash *f)
{
	return f->hits;
}

uint32_t as_emuflash_wear(const struct as_emuflash *f, uint32_t block)
{
	return f->erases[block];
}

void as_emuflash_print_wear(const struct as_emuflash *f, struct as_buf *out)
{
	struct as_wear_counts counts;

	as_wear_count(f->erases, f->n_blocks, &counts);
	as_wear_print_counts(&counts, "", out);
}

void as_emuflash_tells(struct as_emuflash *f, struct as_wear *wear)
{
	f->wear = wear;
}
