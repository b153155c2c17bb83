/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crc.h: CRC-32C (Castagnoli), the checksum of everything labfs puts on disk.
 */
#ifndef LABFS_CRC_H
#define LABFS_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to start) over `len` bytes; lab_crc32c(0, "123456789", 9) == 0xe3069283. */
uint32_t lab_crc32c(uint32_t crc, const void *data, size_t len);

/* The checksum of a structure whose own 4-byte csum field, at csum_off, counts as zero. */
uint32_t lab_crc_without(const void *data, size_t len, size_t csum_off);

#endif
