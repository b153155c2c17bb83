/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crc: CRC-32C, which file systems of others protect their blocks with. */
#ifndef AS_BASE_CRC_H
#define AS_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Goes on from `crc`; nothing is inverted, neither before nor after. */
uint32_t as_crc32c(uint32_t crc, const void *data, size_t len_bytes);

#endif
