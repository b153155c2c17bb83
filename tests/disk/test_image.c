/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images: there and back, and everything that can be wrong with one. A small image is cut short at
 * every byte and flipped at every bit, and must be refused each time; headers and frames that lie,
 * with all checksums right, are refused for what they say.
 */
#include "disk_test.h"
#include "os/out.h"

#include "disk/image.h"

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

struct rig {
	struct as_chunks *store;
	struct as_disk *disk;
	struct as_buf image;
	char dir[64];
};

static void rig_init(struct rig *rig, uint64_t size)
{
	*rig = (struct rig){ .store = as_chunks_new(), .dir = "/tmp/assay-image-XXXXXX" };
	rig->disk = disk_new(rig->store, size);
	assert_non_null(mkdtemp(rig->dir));
}

static void rig_encode(struct rig *rig)
{
	struct as_err err = { 0 };

	as_buf_clear(&rig->image);
	if (as_image_encode(rig->disk, &rig->image, &err))
		fail_msg("%s", err.msg);
}

static void rig_done(struct rig *rig)
{
	as_buf_free(&rig->image);
	as_disk_free(rig->disk);
	store_done(rig->store);
	assert_int_equal(rmdir(rig->dir), 0); /* so no file was left over, either */
}

static const char *in_dir(const struct rig *rig, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
	return path;
}

/* A third of the chunks random, a third repeated, a third zero, and zeros written by hand. */
static void scribble(struct as_disk *disk)
{
	struct as_bd *bd = as_disk_bd(disk);
	static const unsigned char zeros[4096];

	for (uint64_t off = 0; off < bd->size_bytes; off += 4096) {
		size_t len = bd->size_bytes - off < 4096 ? bd->size_bytes - off : 4096;

		if (off / 4096 % 3 == 0)
			write_fill(bd, off, len, (unsigned)(off / 4096));
		else if (off / 4096 % 3 == 1)
			write_fill(bd, off, len, 1);
		else if (off / 4096 % 2)
			assert_int_equal(as_bd_write(bd, off, zeros, len), 0);
	}
}

static const uint64_t sizes[] = { 512, 4096, 4096 * 3 + 512, 100 * 4096, 1500 * 4096 + 1024 };

static void test_round_trip(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * N_ROWS(sizes); i++) {
		struct as_err err = { 0 };
		struct as_disk *back = NULL;
		struct rig rig;

		rig_init(&rig, sizes[i / 2]);
		if (i % 2)
			scribble(rig.disk);
		if (as_image_save(rig.disk, in_dir(&rig, "a.img.zst"), &err) ||
		    as_image_load(rig.store, in_dir(&rig, "a.img.zst"), &back, &err))
			fail_msg("%s", err.msg);
		assert_true(as_disk_eq(rig.disk, back));
		assert_int_equal(as_disk_diff(rig.disk, back, NULL, NULL), 0);
		unlink(in_dir(&rig, "a.img.zst"));
		as_disk_free(back);
		rig_done(&rig);
	}
}

/* An image in memory is appended, and an empty disk is a hundred bytes or so however large. */
static void test_encode_is_sparse(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, AS_DISK_MAX_BYTES);
	rig_encode(&rig);
	assert_true(rig.image.len < AS_IMAGE_HEADER_BYTES + 32);
	rig_done(&rig);
}

static void assert_refused(struct rig *rig, const void *data, size_t len, const char *want)
{
	struct as_err err = { 0 };
	struct as_disk *disk;

	assert_int_equal(as_image_decode(rig->store, data, len, &disk, &err), AS_EUSE);
	assert_null(disk);
	if (!strstr(err.msg, want))
		fail_msg("got \"%s\", want \"%s\"", err.msg, want);
}

static void test_every_truncation_is_refused(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 5 * 4096 + 512);
	write_fill(as_disk_bd(rig.disk), 4096, 512, 1);
	write_fill(as_disk_bd(rig.disk), 5 * 4096, 512, 2);
	rig_encode(&rig);
	for (size_t len = 0; len < rig.image.len; len++) {
		/* A copy of just that length, so that reading past its end is seen. */
		char *part = as_xmalloc(len);

		memcpy(part, rig.image.data, len);
		assert_refused(&rig, part, len,
			       !len			     ? "it is empty"
			       : len < AS_IMAGE_HEADER_BYTES ? "cut off in the header, after"
							     : "cut off after");
		free(part);
	}
	as_buf_addc(&rig.image, 0);
	assert_refused(&rig, rig.image.data, rig.image.len, "1 bytes follow behind its end");
	rig_done(&rig);
}

static void test_every_bit_flip_is_refused(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 5 * 4096 + 512);
	write_fill(as_disk_bd(rig.disk), 4096, 512, 1);
	rig_encode(&rig);
	for (size_t bit = 0; bit < rig.image.len * 8; bit++) {
		rig.image.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_refused(&rig, rig.image.data, rig.image.len,
			       bit < 64				 ? "not an assay disk image"
			       : bit < AS_IMAGE_HEADER_BYTES * 8 ? "the header does not match"
								 : "the data do not match");
		rig.image.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	rig_done(&rig);
}

/* ---- Headers and frames that lie with the right checksums ------------------------------------ */

static void reseal(struct as_buf *image)
{
	struct as_digest digest;
	unsigned char *data = (unsigned char *)image->data;

	digest = as_hash(data + AS_IMAGE_HEADER_BYTES, image->len - AS_IMAGE_HEADER_BYTES);
	digest = (struct as_digest){ htole64(digest.lo), htole64(digest.hi) };
	memcpy(data + AS_IMAGE_AT_FRAME_DIGEST, &digest, 16);
	digest = as_hash(data, AS_IMAGE_AT_HEADER_DIGEST);
	digest = (struct as_digest){ htole64(digest.lo), htole64(digest.hi) };
	memcpy(data + AS_IMAGE_AT_HEADER_DIGEST, &digest, 16);
}

static void test_lies_are_refused(void **state)
{
	static const struct {
		unsigned at, len;
		uint64_t value;
		const char *want;
	} rows[] = {
		{ AS_IMAGE_AT_VERSION, 4, 2, "disk image with version 2: expected 1" },
		{ AS_IMAGE_AT_HEADER_BYTES, 4, 128, "header length 128: expected 96" },
		{ AS_IMAGE_AT_SECTOR, 4, 4096, "sector size 4096: expected 512" },
		{ AS_IMAGE_AT_CHUNK, 4, 0, "chunk size 0: expected 4096" },
		{ AS_IMAGE_AT_SIZE, 8, UINT64_MAX, "disk image: a disk of 18446744073709551615" },
		{ AS_IMAGE_AT_SIZE, 8, 0, "chunks stored for a disk of 0" },
		{ AS_IMAGE_AT_SIZE, 8, 513 * 31, "disk image: a disk of 15903 bytes: expected" },
		{ AS_IMAGE_AT_SIZE, 8, 4096, "chunks stored for a disk of 1" },
		{ AS_IMAGE_AT_SIZE, 8, 3 * 4096,
		  "record 2 is for chunk 5: out of order or outside" },
		{ AS_IMAGE_AT_SIZE, 8, 5 * 4096 + 512, "data behind the end of the disk" },
		{ AS_IMAGE_AT_SIZE, 8, 100 * 4096, "do not match the digest of the disk" },
		{ AS_IMAGE_AT_STORED, 8, UINT64_MAX, "chunks stored for a disk of 6" },
		{ AS_IMAGE_AT_STORED, 8, 2, "data follow behind the last of 2 chunks" },
		{ AS_IMAGE_AT_STORED, 8, 4, "3 chunks instead of 4" },
		{ AS_IMAGE_AT_DISK_DIGEST, 8, 1, "do not match the digest of the disk" },
		{ AS_IMAGE_AT_FRAME_BYTES, 8, UINT64_MAX, "cut off after" },
		{ AS_IMAGE_AT_FRAME_BYTES, 8, 3, "bytes follow behind its end" },
		/* These are zstd's magic, then a window of 2 TiB, which must not be allocated, and
		 * one of 128 MiB, which zstd would allow. */
		{ AS_IMAGE_HEADER_BYTES, 4, 0, "cannot be decompressed" },
		{ AS_IMAGE_HEADER_BYTES + 4, 2, 0xf800, "Frame requires too much memory" },
		{ AS_IMAGE_HEADER_BYTES + 4, 2, 0x8800, "Frame requires too much memory" },
	};
	struct rig rig;
	struct as_buf copy = { 0 };

	(void)state;
	rig_init(&rig, 6 * 4096);
	write_fill(as_disk_bd(rig.disk), 0, 4096, 1);
	write_fill(as_disk_bd(rig.disk), 4096, 512, 1);
	write_fill(as_disk_bd(rig.disk), 5 * 4096, 4096, 2);
	rig_encode(&rig);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		uint64_t value = htole64(rows[i].value);

		as_buf_clear(&copy);
		as_buf_add(&copy, rig.image.data, rig.image.len);
		memcpy(copy.data + rows[i].at, &value, rows[i].len);
		reseal(&copy);
		assert_refused(&rig, copy.data, copy.len, rows[i].want);
	}
	/* The frame is cut short, and the header says so. */
	for (size_t cut = 1; cut < rig.image.len - AS_IMAGE_HEADER_BYTES; cut++) {
		uint64_t len = htole64(rig.image.len - AS_IMAGE_HEADER_BYTES - cut);

		as_buf_clear(&copy);
		as_buf_add(&copy, rig.image.data, rig.image.len - cut);
		memcpy(copy.data + AS_IMAGE_AT_FRAME_BYTES, &len, 8);
		reseal(&copy);
		assert_refused(&rig, copy.data, copy.len, "damaged disk image: ");
	}
	as_buf_free(&copy);
	rig_done(&rig);
}

/* Frames made by hand, with records for chunks in this order, on a disk of 16 chunks. */
static void test_records_that_lie(void **state)
{
	static const struct {
		uint64_t chunks[2];
		size_t bytes; /* of the two records */
		const char *want;
	} rows[] = {
		{ { 3, 4 }, 2 * 4104, "do not match the digest of the disk" },
		{ { 4, 3 }, 2 * 4104, "record 1 is for chunk 3: out of order" },
		{ { 3, 3 }, 2 * 4104, "record 1 is for chunk 3: out of order" },
		{ { 3, 16 }, 2 * 4104, "record 1 is for chunk 16: out of order or outside" },
		{ { UINT64_MAX, 0 }, 2 * 4104, "record 0 is for chunk 18446744073709551615" },
		{ { 3, 4 }, 2 * 4104 - 1, "1 chunks instead of 2" },
		{ { 3, 4 }, 2 * 4104 + 1, "data follow behind the last of 2 chunks" },
	};
	unsigned char raw[2 * 4104 + 1], frame[1024];
	struct rig rig;

	(void)state;
	rig_init(&rig, 16 * 4096);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		uint64_t two = htole64(2), len;

		memset(raw, 7, sizeof(raw));
		for (unsigned k = 0; k < 2; k++) {
			uint64_t chunk = htole64(rows[i].chunks[k]);

			memcpy(raw + 4104 * k, &chunk, 8);
		}
		rig_encode(&rig);
		rig.image.len = AS_IMAGE_HEADER_BYTES;
		len = ZSTD_compress(frame, sizeof(frame), raw, rows[i].bytes, 1);
		assert_false(ZSTD_isError(len));
		as_buf_add(&rig.image, frame, len);
		len = htole64(len);
		memcpy(rig.image.data + AS_IMAGE_AT_STORED, &two, 8);
		memcpy(rig.image.data + AS_IMAGE_AT_FRAME_BYTES, &len, 8);
		reseal(&rig.image);
		assert_refused(&rig, rig.image.data, rig.image.len, rows[i].want);
	}
	rig_done(&rig);
}

static void test_files(void **state)
{
	struct as_err err = { 0 };
	struct as_disk *disk;
	struct as_buf junk = { 0 };
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	assert_int_equal(as_image_load(rig.store, in_dir(&rig, "none"), &disk, &err), AS_EIO);
	assert_non_null(strstr(err.msg, "none: cannot open: No such file"));
	assert_int_equal(as_image_save(rig.disk, in_dir(&rig, "no/where"), &err), AS_EIO);
	assert_non_null(strstr(err.msg, "no/where"));
	assert_int_equal(as_image_export_raw(rig.disk, in_dir(&rig, "no/where"), &err), AS_EIO);
	assert_non_null(strstr(err.msg, "no/where: No such file"));
	as_buf_adds(&junk, "hello, this is a text file");
	assert_int_equal(as_out_save(in_dir(&rig, "junk"), &junk, &err), 0);
	assert_int_equal(as_image_load(rig.store, in_dir(&rig, "junk"), &disk, &err), AS_EUSE);
	assert_non_null(strstr(err.msg, "/junk: not an assay disk image"));
	assert_int_equal(as_image_import_raw(rig.store, in_dir(&rig, "junk"), &disk, &err),
			 AS_EUSE);
	assert_non_null(strstr(err.msg, "/junk: a disk of 26 bytes: expected a multiple of 512"));
	assert_int_equal(as_image_import_raw(rig.store, rig.dir, &disk, &err), AS_EUSE);
	assert_non_null(strstr(err.msg, "neither a regular file nor a block device"));
	/* A failed save leaves what was there. */
	assert_int_equal(mkdir(in_dir(&rig, "taken"), 0700), 0);
	assert_int_equal(as_image_export_raw(rig.disk, in_dir(&rig, "taken"), &err), AS_EIO);
	assert_int_equal(rmdir(in_dir(&rig, "taken")), 0);
	unlink(in_dir(&rig, "junk"));
	as_buf_free(&junk);
	rig_done(&rig);
}

static void test_raw_round_trip(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * N_ROWS(sizes); i++) {
		struct as_buf raw = { 0 };
		struct as_err err = { 0 };
		struct as_disk *back = NULL;
		struct rig rig;

		rig_init(&rig, sizes[i / 2]);
		if (i % 2)
			scribble(rig.disk);
		if (as_image_export_raw(rig.disk, in_dir(&rig, "raw"), &err) ||
		    as_image_import_raw(rig.store, in_dir(&rig, "raw"), &back, &err) ||
		    as_buf_read_file(&raw, in_dir(&rig, "raw"), 1 << 24, &err))
			fail_msg("%s", err.msg);
		assert_true(as_disk_eq(rig.disk, back));
		assert_int_equal(raw.len, sizes[i / 2]);
		assert_holds(as_disk_bd(rig.disk), (unsigned char *)raw.data);
		unlink(in_dir(&rig, "raw"));
		as_buf_free(&raw);
		as_disk_free(back);
		rig_done(&rig);
	}
}

/* A large disk with little on it becomes a file of that length with little in it, and back. */
static void test_raw_is_sparse(void **state)
{
	struct as_err err = { 0 };
	struct as_disk *back = NULL;
	struct stat st;
	struct rig rig;

	(void)state;
	rig_init(&rig, UINT64_C(1) << 32);
	write_fill(as_disk_bd(rig.disk), UINT64_C(3) << 30, 8192, 1);
	if (as_image_export_raw(rig.disk, in_dir(&rig, "raw"), &err))
		fail_msg("%s", err.msg);
	assert_int_equal(stat(in_dir(&rig, "raw"), &st), 0);
	assert_int_equal(st.st_size, UINT64_C(1) << 32);
	assert_true(st.st_blocks * 512 < 1 << 20);
	if (as_image_import_raw(rig.store, in_dir(&rig, "raw"), &back, &err))
		fail_msg("%s", err.msg);
	assert_true(as_disk_eq(rig.disk, back));
	unlink(in_dir(&rig, "raw"));
	as_disk_free(back);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_encode_is_sparse),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_every_bit_flip_is_refused),
		cmocka_unit_test(test_lies_are_refused),
		cmocka_unit_test(test_records_that_lie),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_raw_round_trip),
		cmocka_unit_test(test_raw_is_sparse),
	};

	return cmocka_run_group_tests_name("disk/image", tests, NULL, NULL);
}
