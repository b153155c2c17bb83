/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of descriptions of on-disk structures: what is accepted can be applied to a disk; the
 * same bytes are the disk. */
#include "disk/cow.h"
#include "layout/desc_priv.h"
#include "layout/show.h"

#include <string.h>

static void apply(const uint8_t *data, size_t len, const char *layout)
{
	static const struct as_fields_filter all;
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = NULL;
	struct as_err err = { 0 };
	struct as_fields *fields = NULL;
	struct as_buf out = { 0 };
	unsigned char sector[512] = { 0 };

	as_assert(!as_disk_new(store, 4096, &disk, &err));
	memcpy(sector, data, len < sizeof(sector) ? len : sizeof(sector));
	as_assert(!as_bd_write(as_disk_bd(disk), 0, sector, sizeof(sector)));
	if (!as_fields_read_text("fuzz", layout, len, NULL, disk, &fields, &err)) {
		for (size_t i = 0; i < as_fields_n(fields); i++)
			as_assert(as_fields_at(fields, i)->off + as_fields_at(fields, i)->bytes <=
				  4096);
		as_fields_show(fields, disk, &all, false, &out);
	} else {
		as_assert(err.msg[0]);
	}
	as_buf_free(&out);
	as_fields_free(fields);
	as_disk_free(disk);
	as_chunks_free(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_desc *desc = NULL;
	struct as_err err = { 0 };

	if (as_desc_parse("fuzz", (const char *)data, len, &desc, &err)) {
		as_assert(strncmp(err.msg, "fuzz:", 5) == 0);
		as_assert(!desc);
		return 0;
	}
	as_desc_free(desc);
	apply(data, len, (const char *)data);
	return 0;
}
