/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writes: see writes.h. */
#include "dossier/writes.h"

#include "base/show.h"
#include "disk/cow.h"
#include "dossier/stored.h"

#include <string.h>
#include <zstd.h>

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

int as_writes_save(const struct as_letter *l, const struct as_dossier_news *news,
		   struct as_err *err)
{
	const struct as_disk *before = news->finding->healthy, *after = news->finding->disk;
	struct writes w = { 0 };
	int rc = 0;

	if (as_stored_is_power(news->finding) && before && after &&
	    as_disk_size(before) == as_disk_size(after)) {
		(void)as_disk_diff(before, after, on_chunk, &w);
		end_run(&w);
		rc = save(l->folder, &w, err);
	}
	as_buf_free(&w.text);
	as_buf_free(&w.bytes);
	return rc;
}
