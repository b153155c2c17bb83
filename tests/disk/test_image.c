/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images: there and back, and everything that can be wrong with one. A small image is cut short at
 * every byte and flipped at every bit, and must be refused each time; headers and frames that lie,
 * with all checksums right, are refused for what they say.
 */
#include "os/out.h"
#include "tests/lib/disk.h"

#include "disk/image.h"
#include "tests/lib/tmpdir.h"

#include <endian.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* Where the parts of an image are. */
enum {
	HEADER = AS_IMAGE_ENVELOPE_BYTES,
	FRAMES = HEADER + AS_IMAGE_HEADER_BYTES,
};

struct rig {
	struct as_chunks *store;
	struct as_disk *disk;
	struct as_buf image;
	const char *dir;
};

static void rig_init(struct rig *rig, uint64_t size)
{
	*rig = (struct rig){ .store = as_chunks_new(), .dir = t_tmpdir() };
	rig->disk = t_disk_new(rig->store, size);
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
	t_store_done(rig->store);
	assert_int_equal(rmdir(rig->dir), 0); /* nothing is left, either */
}

static const char *in_dir(const struct rig *rig, const char *name)
{
	static char path[PATH_MAX];

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
			t_write_fill(bd, off, len, (unsigned)(off / 4096));
		else if (off / 4096 % 3 == 1)
			t_write_fill(bd, off, len, 1);
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

/* Holes take 4 bytes for 128 KiB, which is as little as zstd can do, and no time to speak of: the
 * disk has 1 TiB. */
static void test_encode_is_sparse(void **state)
{
	struct as_err err = { 0 };
	struct as_disk *back = NULL;
	struct rig rig;

	(void)state;
	rig_init(&rig, UINT64_C(1) << 40);
	t_write_fill(as_disk_bd(rig.disk), 512, 512, 1);
	t_write_fill(as_disk_bd(rig.disk), UINT64_C(3) << 38, 8192, 2);
	rig_encode(&rig);
	assert_true(rig.image.len < (32 << 20) + (16 << 10));
	if (as_image_decode(rig.store, rig.image.data, rig.image.len, &back, &err))
		fail_msg("%s", err.msg);
	assert_true(as_disk_eq(rig.disk, back));
	as_disk_free(back);
	rig_done(&rig);
}

/* What zstd alone makes of an image is the raw disk. */
static void test_zstd_gives_the_raw_disk(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * N_ROWS(sizes); i++) {
		uint64_t size = sizes[i / 2];
		unsigned char *raw = as_xmalloc(size);
		ZSTD_outBuffer out = { raw, size, 0 };
		ZSTD_DCtx *zstd = ZSTD_createDCtx();
		ZSTD_inBuffer in;
		struct rig rig;

		rig_init(&rig, size);
		if (i % 2)
			scribble(rig.disk);
		rig_encode(&rig);
		in = (ZSTD_inBuffer){ rig.image.data, rig.image.len, 0 };
		while (in.pos < in.size)
			assert_false(ZSTD_isError(ZSTD_decompressStream(zstd, &out, &in)));
		assert_int_equal(out.pos, size);
		t_assert_holds(as_disk_bd(rig.disk), raw);
		ZSTD_freeDCtx(zstd);
		free(raw);
		rig_done(&rig);
	}
}

/* A file that was written before version 2: the disk of a finding. */
static void test_version_1_is_read(void **state)
{
	struct as_err err = { 0 };
	struct as_disk *disk = NULL;
	char hex[AS_DIGEST_HEX_LEN + 1];
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	if (as_image_load(rig.store, "tests/disk/version1.img.zst", &disk, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(as_disk_size(disk), 16 << 20);
	assert_int_equal(as_image_disk_size("tests/disk/version1.img.zst"), 16 << 20);
	as_digest_hex(as_disk_digest(disk), hex);
	assert_string_equal(hex, "f6cf75ddae0ff1823ba3483e16548c80");
	as_disk_free(disk);
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
	t_write_fill(as_disk_bd(rig.disk), 4096, 512, 1);
	t_write_fill(as_disk_bd(rig.disk), 5 * 4096, 512, 2);
	rig_encode(&rig);
	for (size_t len = 0; len < rig.image.len; len++) {
		/* A copy of just that length, so that reading past its end is seen. */
		char *part = as_xmalloc(len);

		memcpy(part, rig.image.data, len);
		assert_refused(&rig, part, len,
			       !len	      ? "it is empty"
			       : len < FRAMES ? "cut off in the header, after"
					      : "cut off: ");
		free(part);
	}
	as_buf_addc(&rig.image, 0);
	assert_refused(&rig, rig.image.data, rig.image.len, "1 bytes too many after its end");
	rig_done(&rig);
}

static void test_every_bit_flip_is_refused(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 5 * 4096 + 512);
	t_write_fill(as_disk_bd(rig.disk), 4096, 512, 1);
	rig_encode(&rig);
	for (size_t bit = 0; bit < rig.image.len * 8; bit++) {
		rig.image.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_refused(&rig, rig.image.data, rig.image.len,
			       bit < (HEADER + 8) * 8 ? "not an assay disk image"
			       : bit < FRAMES * 8     ? "the header does not match"
						      : "the data do not match");
		rig.image.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	rig_done(&rig);
}

/* ---- Headers and frames that lie with the right checksums ------------------------------------ */

/* Makes the checksums right again. */
static void reseal(struct as_buf *image, size_t header_at)
{
	unsigned char *header = (unsigned char *)image->data + header_at;
	size_t frames_at = header_at + AS_IMAGE_HEADER_BYTES;
	struct as_digest digest;

	digest = as_hash(image->data + frames_at, image->len - frames_at);
	digest = (struct as_digest){ htole64(digest.lo), htole64(digest.hi) };
	memcpy(header + AS_IMAGE_AT_FRAMES_DIGEST, &digest, 16);
	digest = as_hash(header, AS_IMAGE_AT_HEADER_DIGEST);
	digest = (struct as_digest){ htole64(digest.lo), htole64(digest.hi) };
	memcpy(header + AS_IMAGE_AT_HEADER_DIGEST, &digest, 16);
}

static void put_field(struct as_buf *image, size_t at, uint64_t value, size_t len)
{
	value = htole64(value);
	memcpy(image->data + at, &value, len);
}

static void test_lies_are_refused(void **state)
{
	static const struct {
		unsigned at, len;
		uint64_t value;
		const char *want;
	} rows[] = {
		{ HEADER + AS_IMAGE_AT_VERSION, 4, 1, "disk image with version 1: expected 2" },
		{ HEADER + AS_IMAGE_AT_HEADER_BYTES, 4, 128, "header length 128: expected 96" },
		{ HEADER + AS_IMAGE_AT_SECTOR, 4, 4096, "sector size 4096: expected 512" },
		{ HEADER + AS_IMAGE_AT_CHUNK, 4, 0, "chunk size 0: expected 4096" },
		{ HEADER + AS_IMAGE_AT_SIZE, 8, UINT64_MAX,
		  "disk image: a disk of 18446744073709551615" },
		{ HEADER + AS_IMAGE_AT_SIZE, 8, 0, "chunks stored for a disk of 0" },
		{ HEADER + AS_IMAGE_AT_SIZE, 8, 513 * 31,
		  "disk image: a disk of 15903 bytes: expected" },
		{ HEADER + AS_IMAGE_AT_SIZE, 8, 4096, "chunks stored for a disk of 1" },
		{ HEADER + AS_IMAGE_AT_SIZE, 8, 3 * 4096, "a hole beyond the end of the disk" },
		{ HEADER + AS_IMAGE_AT_SIZE, 8, 99 * 4096 + 512, "data after the end of the disk" },
		{ HEADER + AS_IMAGE_AT_SIZE, 8, 200 * 4096, "data for 409600 bytes of 819200" },
		{ HEADER + AS_IMAGE_AT_STORED, 8, UINT64_MAX, "chunks stored for a disk of 100" },
		{ HEADER + AS_IMAGE_AT_STORED, 8, 2, "more than 2 chunks with data" },
		{ HEADER + AS_IMAGE_AT_STORED, 8, 4, "3 chunks with data instead of 4" },
		{ HEADER + AS_IMAGE_AT_DISK_DIGEST, 8, 1, "do not match the digest of the disk" },
		{ HEADER + AS_IMAGE_AT_FRAMES_BYTES, 8, UINT64_MAX, "cut off: " },
		{ HEADER + AS_IMAGE_AT_FRAMES_BYTES, 8, 3, "bytes too many after its end" },
		/* zstd's magic; then a window of 2 TiB, which only a fool would allocate, and one
		 * of 128 MiB, which zstd would allow. */
		{ FRAMES, 4, 0, "cannot be decompressed" },
		{ FRAMES + 4, 2, 0xf800, "Frame requires too much memory" },
		{ FRAMES + 4, 2, 0x8800, "Frame requires too much memory" },
	};
	struct rig rig;
	struct as_buf copy = { 0 };

	(void)state;
	rig_init(&rig, 100 * 4096);
	t_write_fill(as_disk_bd(rig.disk), 0, 4096, 1);
	t_write_fill(as_disk_bd(rig.disk), 4096, 512, 1);
	t_write_fill(as_disk_bd(rig.disk), 99 * 4096, 4096, 2);
	rig_encode(&rig);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		as_buf_clear(&copy);
		as_buf_add(&copy, rig.image.data, rig.image.len);
		put_field(&copy, rows[i].at, rows[i].value, rows[i].len);
		reseal(&copy, HEADER);
		assert_refused(&rig, copy.data, copy.len, rows[i].want);
	}
	/* The frames themselves cut short, and the header says so, too. */
	for (size_t cut = 1; cut < rig.image.len - FRAMES; cut++) {
		as_buf_clear(&copy);
		as_buf_add(&copy, rig.image.data, rig.image.len - cut);
		put_field(&copy, HEADER + AS_IMAGE_AT_FRAMES_BYTES, copy.len - FRAMES, 8);
		reseal(&copy, HEADER);
		assert_refused(&rig, copy.data, copy.len, "damaged disk image: ");
	}
	as_buf_free(&copy);
	rig_done(&rig);
}

/* Adds one frame with these bytes, made by zstd itself. */
static void add_frame(struct as_buf *image, const void *raw, size_t len)
{
	unsigned char frame[1024];
	size_t n = ZSTD_compress(frame, sizeof(frame), raw, len, 1);

	assert_false(ZSTD_isError(n));
	as_buf_add(image, frame, n);
}

/* Frames made by hand, of so many bytes each, for a disk of 16 chunks. */
static void test_frames_that_lie(void **state)
{
	static const struct {
		size_t bytes[3];
		unsigned stored;
		const char *want;
	} rows[] = {
		{ { 16 * 4096 }, 16, "do not match the digest of the disk" },
		{ { 8 * 4096, 8 * 4096 }, 16, "do not match the digest of the disk" },
		{ { 8 * 4096, 0, 8 * 4096 }, 16, "do not match the digest of the disk" },
		{ { 8 * 4096, 7 * 4096 }, 15, "data for 61440 bytes of 65536" },
		{ { 8 * 4096, 8 * 4096, 1 }, 16, "data after the end of the disk" },
		{ { 17 * 4096 }, 16, "data after the end of the disk" },
		{ { 4096, 100, 15 * 4096 - 100 }, 16, "a frame ends within chunk 1" },
		{ { 0 }, 0, "data for 0 bytes of 65536" },
		{ { 16 * 4096 }, 15, "more than 15 chunks with data" },
	};
	static unsigned char raw[17 * 4096];
	struct rig rig;

	(void)state;
	memset(raw, 7, sizeof(raw));
	rig_init(&rig, 16 * 4096);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		rig_encode(&rig);
		rig.image.len = FRAMES;
		for (size_t k = 0; k < N_ROWS(rows[i].bytes); k++)
			add_frame(&rig.image, raw, rows[i].bytes[k]);
		put_field(&rig.image, HEADER + AS_IMAGE_AT_STORED, rows[i].stored, 8);
		put_field(&rig.image, HEADER + AS_IMAGE_AT_FRAMES_BYTES, rig.image.len - FRAMES, 8);
		reseal(&rig.image, HEADER);
		assert_refused(&rig, rig.image.data, rig.image.len, rows[i].want);
	}
	rig_done(&rig);
}

/* Version 1 with records for chunks in this order, on a disk of 16 chunks. */
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
		{ { 3, 4 }, 2 * 4104 + 1, "data follow the last of 2 chunks" },
	};
	unsigned char raw[2 * 4104 + 1];
	struct as_buf old = { 0 };
	struct rig rig;

	(void)state;
	rig_init(&rig, 16 * 4096);
	rig_encode(&rig);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		memset(raw, 7, sizeof(raw));
		for (unsigned k = 0; k < 2; k++) {
			uint64_t chunk = htole64(rows[i].chunks[k]);

			memcpy(raw + 4104 * k, &chunk, 8);
		}
		as_buf_clear(&old);
		as_buf_add(&old, rig.image.data + HEADER, AS_IMAGE_HEADER_BYTES);
		add_frame(&old, raw, rows[i].bytes);
		put_field(&old, AS_IMAGE_AT_VERSION, 1, 4);
		put_field(&old, AS_IMAGE_AT_STORED, 2, 8);
		put_field(&old, AS_IMAGE_AT_FRAMES_BYTES, old.len - AS_IMAGE_HEADER_BYTES, 8);
		reseal(&old, 0);
		assert_refused(&rig, old.data, old.len, rows[i].want);
	}
	as_buf_free(&old);
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
		t_assert_holds(as_disk_bd(rig.disk), (unsigned char *)raw.data);
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
	t_write_fill(as_disk_bd(rig.disk), UINT64_C(3) << 30, 8192, 1);
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
		cmocka_unit_test(test_zstd_gives_the_raw_disk),
		cmocka_unit_test(test_version_1_is_read),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_every_bit_flip_is_refused),
		cmocka_unit_test(test_lies_are_refused),
		cmocka_unit_test(test_frames_that_lie),
		cmocka_unit_test(test_records_that_lie),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_raw_round_trip),
		cmocka_unit_test(test_raw_is_sparse),
	};

	return cmocka_run_group_tests_name("disk/image", tests, NULL, NULL);
}
