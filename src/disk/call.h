/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * call: the five calls of struct as_bd_ops by number, for code that counts, records or fails them,
 * and the range check that every block device of ours begins with.
 */
#ifndef AS_DISK_CALL_H
#define AS_DISK_CALL_H

#include <assay/target.h>
#include <errno.h>
#include <stdint.h>

/* Raised when struct as_bd_ops changes. */
#define AS_BD_API AS_BD_PARTS

enum as_call { AS_CALL_READ, AS_CALL_WRITE, AS_CALL_FLUSH, AS_CALL_DISCARD, AS_CALL_ZERO };
#define AS_CALL_KINDS 5

/* "read", "write", ... */
static inline const char *as_call_name(enum as_call call)
{
	static const char *const names[AS_CALL_KINDS] = { "read", "write", "flush", "discard",
							  "zero" };

	return (unsigned)call < AS_CALL_KINDS ? names[call] : "?";
}

/* 0 when the range consists of whole sectors inside the device (it may be empty), else -EINVAL. */
static inline int as_call_check(const struct as_bd *bd, uint64_t off, uint64_t len)
{
	if ((off | len) % bd->sector_bytes)
		return -EINVAL;
	return off <= bd->size_bytes && len <= bd->size_bytes - off ? 0 : -EINVAL;
}

#endif
