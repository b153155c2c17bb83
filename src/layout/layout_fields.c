/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout_fields: the blocks of every type whose structures are described, by the fields and areas
 * of its disk. A block is called after the areas in it; where there is none, after the structures.
 * labfs and ext have layouts of their own, which also follow copies in the journal.
 */
#include "layout/layout_priv.h"

#include "layout/field.h"

#include <string.h>

#define BLOCK_BYTES 4096u /* that a block is called, whatever the type's blocks are */

/* Data of a file in a block, if the block begins with it and is full of it. */
static void set_area(struct as_layout *layout, const struct as_disk_area *area)
{
	uint64_t first = area->off / layout->block_bytes;
	uint64_t end = (area->off + area->len + layout->block_bytes - 1) / layout->block_bytes;

	for (uint64_t block = first; block < end; block++) {
		uint64_t off = block * layout->block_bytes, at = area->at + (off - area->off);

		if (area->is_data && off >= area->off &&
		    off + layout->block_bytes <= area->off + area->len &&
		    at % layout->block_bytes == 0)
			as_layout_data(layout, block, area->what, at / layout->block_bytes);
		else
			as_layout_set(layout, block, area->what);
	}
}

/* Names of the structures of one block, in order, each once. */
static void set_block(struct as_layout *layout, uint64_t block, struct as_buf *names)
{
	if (names->len)
		as_layout_set(layout, block, as_buf_str(names));
	as_buf_clear(names);
}

static void set_fields(struct as_layout *layout, const struct as_fields *fields)
{
	const struct as_field *before = NULL;
	struct as_buf names = { 0 };
	uint64_t block = 0;
	unsigned n = 0;

	for (size_t i = 0; i < as_fields_n(fields); i++) {
		const struct as_field *f = as_fields_at(fields, i);
		uint64_t here = f->off / layout->block_bytes;

		if (here != block) {
			set_block(layout, block, &names);
			n = 0;
			before = NULL;
		}
		block = here;
		if (before && strcmp(before->instance, f->instance) == 0)
			continue;
		before = f;
		if (++n <= LAYOUT_NAMES)
			as_buf_addf(&names, "%s%s", names.len ? ", " : "", f->instance);
		else if (n == LAYOUT_NAMES + 1)
			as_buf_adds(&names, " and more");
	}
	set_block(layout, block, &names);
	as_buf_free(&names);
}

struct as_layout *as_layout_fields(const char *type, struct as_disk *disk)
{
	struct as_fields *fields = NULL;
	struct as_layout *layout = NULL;

	if (!as_fields_know(type) || as_fields_read(type, disk, &fields, NULL))
		return NULL;
	layout = as_layout_make(BLOCK_BYTES, as_disk_size(disk) / BLOCK_BYTES);
	if (layout) {
		/* Inodes and headers are told by name; then what is left by its area. */
		for (size_t i = 0; i < as_fields_areas(fields); i++)
			if (as_fields_area(fields, i)->is_data)
				set_area(layout, as_fields_area(fields, i));
		set_fields(layout, fields);
		for (size_t i = 0; i < as_fields_areas(fields); i++)
			if (!as_fields_area(fields, i)->is_data)
				set_area(layout, as_fields_area(fields, i));
	}
	as_fields_free(fields);
	return layout;
}
