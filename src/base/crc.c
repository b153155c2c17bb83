/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crc: see crc.h. Four bits at a time: blocks are few, and so the table can be read by eye. */
#include "base/crc.h"

uint32_t as_crc32c(uint32_t crc, const void *data, size_t len)
{
	/* The polynomial 0x82f63b78, for each value of four bits. */
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const unsigned char *p = data;

	while (len--) {
		crc ^= *p++;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}
