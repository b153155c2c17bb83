/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz entry of the disk image reader. Each input is read twice: as it is, and with its checksums
 * made right, without which nothing a fuzzer can think of would get past the header. A disk that is
 * accepted must come out of another round trip as the same disk, and nothing may stay in the store.
 */
#include "disk/image.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

static void put64(unsigned char *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

static void put_digest(unsigned char *to, struct as_digest digest)
{
	put64(to, digest.lo);
	put64(to + 8, digest.hi);
}

/* A larger disk is not written again: its holes alone would take hundreds of MiB. */
#define WRITE_MAX_BYTES (UINT64_C(1) << 36)

/* Repairs the length of the frames and all checksums but that of the disk; the header is first. */
static void reseal(unsigned char *data, size_t len)
{
	size_t frame_bytes = len - AS_IMAGE_HEADER_BYTES;

	put64(data + AS_IMAGE_AT_FRAMES_BYTES, frame_bytes);
	put_digest(data + AS_IMAGE_AT_FRAMES_DIGEST,
		   as_hash(data + AS_IMAGE_HEADER_BYTES, frame_bytes));
	put_digest(data + AS_IMAGE_AT_HEADER_DIGEST, as_hash(data, AS_IMAGE_AT_HEADER_DIGEST));
}

static void read_one(const void *data, size_t len)
{
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk, *again;
	struct as_buf image = { 0 };
	struct as_err err = { 0 };

	if (as_image_decode(store, data, len, &disk, &err)) {
		as_assert(!disk && err.msg[0]);
	} else {
		if (as_disk_size(disk) <= WRITE_MAX_BYTES) {
			as_assert(!as_image_encode(disk, &image, &err));
			as_assert(!as_image_decode(store, image.data, image.len, &again, &err));
			as_assert(as_disk_eq(disk, again));
			as_disk_free(again);
			as_buf_free(&image);
		}
		as_disk_free(disk);
	}
	as_chunks_free(store); /* asserts that it is empty */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* Version 2 has a frame of zstd's around the header, version 1 does not. */
	size_t header_at = len && data[0] == 0x5a ? AS_IMAGE_ENVELOPE_BYTES : 0;
	unsigned char *copy;

	read_one(data, len);
	if (len < header_at + AS_IMAGE_HEADER_BYTES)
		return 0;
	copy = as_xmalloc(len);
	memcpy(copy, data, len);
	reseal(copy + header_at, len - header_at);
	read_one(copy, len);
	free(copy);
	return 0;
}
