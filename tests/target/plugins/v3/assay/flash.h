/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This is include/assay/flash.h of version 3 of the interface, kept as it was. */
/*
 * flash.h: raw flash memory under a file system, in place of a block device (bd.h). target.h
 * includes it.
 *
 * An erase sets all bytes of an erase block to the erased value. A program writes whole program
 * units, and can only change bits away from the erased value. There is no cache: what has returned
 * is there. A power cut may come in the middle of both, and leaves a unit or a block with some of
 * its bits changed.
 *
 * These are findings, whatever the call answers:
 *   - a program of a unit that is not erased (with AS_FLASH_OVERWRITE: one that would have to set a
 *     bit back to the erased value);
 *   - a call that is outside of the flash, or not of whole units or blocks.
 */
#ifndef ASSAY_FLASH_H
#define ASSAY_FLASH_H

#include <stddef.h>
#include <stdint.h>

struct as_flash;

enum as_flash_flags {
	AS_FLASH_OVERWRITE = 1, /* NOR: a unit may be programmed again, to change more bits */
};

struct as_flash_geometry {
	uint64_t size_bytes;
	uint32_t erase_bytes; /* of an erase block; a multiple of 512 */
	uint32_t program_bytes, read_bytes; /* units; from 1 on, divisors of erase_bytes */
	uint8_t erased; /* 0xff or 0 */
	uint32_t flags; /* enum as_flash_flags */
};

/*
 * Each function returns 0 or a negative errno. Offsets and lengths are in bytes.
 *   -EIO      the block has failed for good
 *   -EUCLEAN  of a read: the bytes are right, but they had to be corrected; the block should be
 *             written elsewhere and erased
 *   -EINVAL   the call was wrong
 */
struct as_flash_ops {
	uint32_t api;
	const char *name;
	int (*read)(struct as_flash *flash, uint64_t off, void *buf, size_t len);
	int (*program)(struct as_flash *flash, uint64_t off, const void *buf, size_t len);
	/* One block, which begins at `off`. */
	int (*erase)(struct as_flash *flash, uint64_t off);
};

/* Implementations embed this as their first member. */
struct as_flash {
	const struct as_flash_ops *ops;
	struct as_flash_geometry geometry;
};

static inline int as_flash_read(struct as_flash *flash, uint64_t off, void *buf, size_t len)
{
	return flash->ops->read(flash, off, buf, len);
}

static inline int as_flash_program(struct as_flash *flash, uint64_t off, const void *buf,
				   size_t len)
{
	return flash->ops->program(flash, off, buf, len);
}

static inline int as_flash_erase(struct as_flash *flash, uint64_t off)
{
	return flash->ops->erase(flash, off);
}

#endif
