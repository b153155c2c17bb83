/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads by a symbolic index: small tables are read symbolically. The table is copied when the
 * segment is replayed, at its end; bytes that the segment has written meanwhile are not what the
 * load saw, and then the address is pinned instead. */
#include "code.h"
#include "pub_tool_aspacemgr.h"

#define TABLE_BYTES 4096
#define WRITABLE_BYTES 1024

/* The bytes that the load may read, if they are few, concrete and there. 0: they are not. */
Id as_vg_by_index(Id address, UInt bytes, Wide real)
{
	ULong min, max;
	const NSegment *seg;
	UInt number;

	if (as_vg_is_opaque(address))
		return as_vg_opaque(bytes * 8, address, as_vg_extra[address].support);
	if (bytes > 8 || !as_vg_range(address, 0, &min, &max) || max - min > TABLE_BYTES ||
	    max == min || max > DISK_BASE)
		return 0;
	seg = VG_(am_find_nsegment)(min);
	if (!seg || !seg->hasR || min < seg->start || max + bytes - 1 > seg->end ||
	    as_vg_mem_any(min, max - min + bytes))
		return 0;
	if (seg->hasW &&
	    (max - min > WRITABLE_BYTES || as_vg_replay_rewritten(min, max - min + bytes)))
		return 0;
	number = as_vg_log_table(min, (UInt)(max - min) + bytes);
	if (!number)
		return 0;
	address = as_vg_bin(AS_SYM_SUB, address, as_vg_const(64, min));
	return as_vg_table(bytes * 8, number, address, real);
}
