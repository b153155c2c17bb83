/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blocks: see blocks.h. Several processes set bits at once: each is counted by who sets it. */
#include "sym/blocks.h"

#include "base/hash.h"

#include <string.h>

uint64_t as_blocks_program(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	return as_hash64(name, strlen(name));
}

static bool set_bit(unsigned char *bits, uint64_t at)
{
	unsigned char mask = (unsigned char)(1u << at % 8);

	return !(__atomic_fetch_or(&bits[at / 8], mask, __ATOMIC_RELAXED) & mask);
}

bool as_blocks_add(struct as_blocks *b, const struct as_path_cover *piece, uint64_t program)
{
	bool fresh = set_bit(b->seen, as_mix64(piece->at) % AS_BLOCKS_BITS);
	uint64_t own = 0;

	if (!fresh)
		return false;
	__atomic_fetch_add(&b->n, 1, __ATOMIC_RELAXED);
	if (piece->file != program)
		return true;
	__atomic_store_n(&b->text_bytes, piece->text_bytes, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < piece->bytes; i++)
		if (piece->off + i < piece->text_bytes && piece->off + i < AS_BLOCKS_OWN_BITS)
			own += set_bit(b->own, piece->off + i);
	__atomic_fetch_add(&b->own_bytes, own, __ATOMIC_RELAXED);
	return true;
}

double as_blocks_share(const struct as_blocks *b)
{
	return b->text_bytes ? 100.0 * (double)b->own_bytes / (double)b->text_bytes : 0;
}
