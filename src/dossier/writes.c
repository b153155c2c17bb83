/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writes: see writes.h. */
#include "dossier/writes.h"

#include "base/show.h"
#include "disk/image.h"
#include "dossier/stored.h"

#include <string.h>
#include <zstd.h>

#define IMAGE_MAX_BYTES ((size_t)1 << 30)
#define SECTOR 512u

struct writes {
	struct as_buf text, bytes;
	uint64_t from, to; /* the run of sectors that is not written down yet; to 0: none */
	uint64_t n;
};

static void end_run(struct writes *w)
{
	if (w->to)
		as_buf_addf(&w->text, "%llu %llu\n", (unsigned long long)w->from,
			    (unsigned long long)(w->to - w->from));
	w->n += w->to != 0;
	w->to = 0;
}

static int on_chunk(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	struct writes *w = ctx;

	for (unsigned i = 0; i < AS_CHUNK_BYTES; i += SECTOR) {
		uint64_t at = index * AS_CHUNK_BYTES + i;

		if (!memcmp(a + i, b + i, SECTOR))
			continue;
		if (w->to != at)
			end_run(w);
		if (!w->to)
			w->from = at;
		w->to = at + SECTOR;
		as_buf_add(&w->bytes, b + i, SECTOR);
	}
	return 0;
}

static int load(const struct as_dir *folder, const char *name, struct as_chunks *store,
		struct as_disk **disk, struct as_err *err)
{
	struct as_buf image = { 0 };
	int rc = as_dir_read(folder, name, IMAGE_MAX_BYTES, &image, err);

	if (!rc)
		rc = as_image_decode(store, image.data, image.len, disk, err);
	as_buf_free(&image);
	return rc;
}

static int save(const struct as_dir *folder, struct writes *w, struct as_err *err)
{
	size_t room = ZSTD_compressBound(w->bytes.len), len;
	struct as_buf packed = { 0 }, text = { 0 };
	char *to = as_buf_reserve(&packed, room);
	int rc;

	len = ZSTD_compress(to, room, as_buf_str(&w->bytes), w->bytes.len, 3);
	if (ZSTD_isError(len))
		return as_fail(err, AS_EIO, "zstd: %s", ZSTD_getErrorName(len));
	packed.len = len;
	as_buf_addf(
		&text,
		"# What the power cut left: before.img with these bytes is disk.img. The bytes "
		"of writes.bin\n# come one after the other: zstd -d writes.bin.zst, and for each "
		"line\n#   dd if=writes.bin of=before.img bs=512 conv=notrunc "
		"skip=BYTES-BEFORE/512 "
		"seek=OFFSET/512 count=LENGTH/512\n# offset length (bytes; %llu range%s)\n%s",
		(unsigned long long)w->n, as_plural(w->n), as_buf_str(&w->text));
	rc = as_dir_write(folder, "writes.bin.zst", &packed, err);
	if (!rc)
		rc = as_dir_write(folder, "writes.txt", &text, err);
	as_buf_free(&packed);
	as_buf_free(&text);
	return rc;
}

int as_writes_save(const struct as_dir *folder, struct as_err *err)
{
	struct as_disk *before = NULL, *after = NULL;
	struct writes w = { 0 };
	struct as_chunks *store;
	int rc;

	if (!as_dir_has(folder, AS_BEFORE_NAME) || !as_dir_has(folder, AS_DISK_NAME))
		return 0;
	store = as_chunks_new();
	rc = load(folder, AS_BEFORE_NAME, store, &before, err);
	if (!rc)
		rc = load(folder, AS_DISK_NAME, store, &after, err);
	if (!rc && as_disk_size(before) == as_disk_size(after)) {
		(void)as_disk_diff(before, after, on_chunk, &w);
		end_run(&w);
		rc = save(folder, &w, err);
	}
	as_disk_free(before);
	as_disk_free(after);
	as_chunks_free(store);
	as_buf_free(&w.text);
	as_buf_free(&w.bytes);
	return rc;
}
