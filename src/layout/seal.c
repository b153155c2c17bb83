/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal: computing checksums of structures anew. A seal says what is summed and where the sum
 * goes. */
#include "layout/walk/walk_priv.h"

#include "base/crc.h"

#include <string.h>

/* As they are mostly used; a description may say otherwise. */
int as_seal_named(const char *name, size_t len, uint32_t *init, uint32_t *final)
{
	static const struct {
		const char *name;
		enum as_seal_sum sum;
		uint32_t init, final;
	} rows[] = {
		{ "crc32", AS_SUM_CRC32, UINT32_MAX, UINT32_MAX },
		{ "crc32c", AS_SUM_CRC32C, UINT32_MAX, UINT32_MAX },
		{ "crc16", AS_SUM_CRC16, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i].name) == len && !memcmp(rows[i].name, name, len)) {
			*init = rows[i].init;
			*final = rows[i].final;
			return (int)rows[i].sum;
		}
	return DESC_NONE;
}

void as_seal_disk(struct as_seal *seal, uint64_t off, uint64_t len)
{
	as_assert(seal->n_pieces < WALK_PIECES_MAX);
	seal->piece[seal->n_pieces++] =
		(struct as_seal_piece){ .kind = AS_PIECE_DISK, .off = off, .len = len };
}

void as_seal_zeros(struct as_seal *seal, uint64_t len)
{
	as_assert(seal->n_pieces < WALK_PIECES_MAX);
	seal->piece[seal->n_pieces++] =
		(struct as_seal_piece){ .kind = AS_PIECE_ZEROS, .len = len };
}

void as_seal_literal(struct as_seal *seal, const void *data, size_t len)
{
	struct as_seal_piece *piece = &seal->piece[seal->n_pieces];

	as_assert(seal->n_pieces < WALK_PIECES_MAX && len <= sizeof(piece->literal));
	seal->n_pieces++;
	piece->kind = AS_PIECE_LITERAL;
	piece->len = len;
	memcpy(piece->literal, data, len);
}

void as_seal_le32(struct as_seal *seal, uint32_t value)
{
	unsigned char buf[4];

	as_number_put(buf, 4, false, value);
	as_seal_literal(seal, buf, 4);
}

void as_seal_store(struct as_seal *seal, uint64_t off, uint8_t bytes, uint8_t shift,
		   bool big_endian)
{
	as_assert(seal->n_stores < WALK_STORES_MAX);
	seal->store[seal->n_stores++] = (struct as_seal_store){
		.off = off, .bytes = bytes, .shift = shift, .big_endian = big_endian
	};
}

void as_seal_whole(struct as_seal *seal, uint64_t off, uint64_t len, uint64_t csum_off,
		   uint8_t bytes, bool big_endian)
{
	as_seal_disk(seal, off, csum_off - off);
	as_seal_zeros(seal, bytes);
	as_seal_disk(seal, csum_off + bytes, off + len - csum_off - bytes);
	as_seal_store(seal, csum_off, bytes, 0, big_endian);
}

/* ---- Sums ---- */

/* Bit by bit, lowest first: small and fast enough for a few kilobytes. */
static uint32_t crc_reflected(uint32_t crc, uint32_t poly, const unsigned char *data, size_t len)
{
	while (len--) {
		crc ^= *data++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? poly : 0);
	}
	return crc;
}

static uint32_t add(enum as_seal_sum kind, uint32_t sum, const unsigned char *data, size_t len)
{
	switch (kind) {
	case AS_SUM_CRC32C:
		return as_crc32c(sum, data, len);
	case AS_SUM_CRC32:
		return crc_reflected(sum, 0xedb88320u, data, len);
	case AS_SUM_CRC16:
		return crc_reflected(sum, 0xa001u, data, len);
	case AS_SUM_ROTATE:
		while (len--)
			sum = (sum << 31 | sum >> 1) + *data++;
		return sum;
	case AS_SUM_ROTATE16:
		while (len--)
			sum = ((sum << 15 | sum >> 1) + *data++) & 0xffff;
		return sum;
	case AS_SUM_FAT_NAME:
		while (len--)
			sum = ((sum << 7 | sum >> 1) + *data++) & 0xff;
		return sum;
	default:
		return len ? (uint32_t)as_number_at(data, len < 4 ? (unsigned)len : 4, false) : sum;
	}
}

static int sum_of(const struct as_seal *seal, struct as_disk *disk, uint32_t *sum,
		  struct as_err *err)
{
	unsigned char buf[4096];

	*sum = seal->init;
	for (unsigned i = 0; i < seal->n_pieces; i++) {
		const struct as_seal_piece *piece = &seal->piece[i];

		for (uint64_t at = 0; at < piece->len;) {
			size_t n = piece->len - at < sizeof(buf) ? (size_t)(piece->len - at)
								 : sizeof(buf);

			if (piece->kind == AS_PIECE_LITERAL)
				memcpy(buf, piece->literal, n);
			else if (piece->kind == AS_PIECE_ZEROS)
				memset(buf, 0, n);
			else if (!as_disk_peek(disk, piece->off + at, buf, n))
				return as_fail(err, AS_EUSE,
					       "a checksum covers bytes that are not on the disk");
			*sum = add(seal->sum, *sum, buf, n);
			at += n;
		}
	}
	*sum ^= seal->final;
	return 0;
}

int as_fields_seal(const struct as_fields *fields, struct as_disk *disk, uint32_t number,
		   struct as_err *err)
{
	/* Seals follow each other without a loop: each was made before the one it is next of. */
	while (number) {
		const struct as_seal *seal;
		unsigned char buf[8];
		uint32_t sum;
		int rc;

		as_assert(number <= fields->n_seals);
		seal = &fields->seals[number - 1];
		rc = sum_of(seal, disk, &sum, err);
		for (unsigned i = 0; !rc && i < seal->n_stores; i++) {
			const struct as_seal_store *to = &seal->store[i];

			as_number_put(buf, to->bytes, to->big_endian, sum >> to->shift);
			for (uint32_t k = 0; !rc && k < (to->repeat ? to->repeat : 1); k++)
				rc = as_disk_poke(disk, to->off + (uint64_t)k * to->step, buf,
						  to->bytes, err);
		}
		if (rc)
			return rc;
		number = seal->next;
	}
	return 0;
}

static bool sums(const struct as_seal *seal, uint64_t off, uint64_t len)
{
	for (unsigned i = 0; i < seal->n_pieces; i++) {
		const struct as_seal_piece *piece = &seal->piece[i];

		if (piece->kind == AS_PIECE_DISK && off < piece->off + piece->len &&
		    piece->off < off + len)
			return true;
	}
	return false;
}

int as_fields_seal_bytes(const struct as_fields *fields, struct as_disk *disk, uint64_t off,
			 uint64_t len, struct as_err *err)
{
	int rc = 0;

	for (uint32_t i = 1; !rc && i <= fields->n_seals; i++)
		if (sums(&fields->seals[i - 1], off, len))
			rc = as_fields_seal(fields, disk, i, err);
	return rc;
}
