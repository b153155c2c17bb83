/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mark: see finish.h.
 *
 * Method. A journal knows its own blocks by the number that they begin with. If a block that is
 * journaled begins with it, too, it is changed on its way into the journal, and back by recovery.
 * Data drawn by chance never does that. So in every `mark`th workload half of what is written has
 * the number at the beginning of a block, and so do the texts of links, which are made too long for
 * an inode. Where data is not journaled, or blocks are not known by such a number, this is data
 * like any other.
 * Each word of a pattern can have any value in some pattern (work/op.h): the one is looked for that
 * has the number where the block begins.
 *
 * Invariant: no choice is made here, so other workloads are what they were.
 */
#include "gen/finish.h"

#include "base/buf.h"

#include <string.h>

#define MAGIC_BYTES 4u
#define BLOCK_TYPES 5u /* that come after the number in a journal */
#define TEXT_MIN 64u /* bytes of a link's text: more than inodes hold */
#define TEXT_SPAN 128u

static void put_magic(uint64_t magic, unsigned char *out)
{
	for (unsigned i = 0; i < MAGIC_BYTES; i++)
		out[i] = (unsigned char)(magic >> 8 * i);
}

/* Where the first whole block of what is written begins; false: it writes none that is known. */
static bool block_of(const struct as_op *op, uint64_t block, uint64_t *at)
{
	uint64_t off = op->off > 0 ? (uint64_t)op->off : 0;

	/* Only what writes a pattern has a number of one. */
	if (!op->fill)
		return false;
	*at = (off + block - 1) / block * block;
	return *at - off < op->len;
}

/* The pattern with the number, and a type of a block after it, at this place. */
static uint64_t pattern_with(uint64_t magic, uint64_t at, size_t turn)
{
	unsigned char word[8] = { 0 };

	put_magic(magic, word);
	word[turn & 1 ? MAGIC_BYTES : 7] = (unsigned char)(1 + turn / 2 % BLOCK_TYPES);
	return as_pattern_of_key(as_pattern_word_key(word, at / 8));
}

/* Not a name, and not the end of the text. */
static bool may_be_text(const unsigned char *magic)
{
	return !memchr(magic, '/', MAGIC_BYTES) && !memchr(magic, 0, MAGIC_BYTES);
}

/* A link with such a text; a node becomes one, since links are rare. */
static void mark_link(struct as_seq *seq, struct as_op *op, const struct as_traits *traits,
		      uint64_t magic, size_t turn)
{
	unsigned char first[MAGIC_BYTES];
	size_t len = TEXT_MIN + turn * 37 % TEXT_SPAN;
	struct as_buf text = { 0 };

	put_magic(magic, first);
	if (!may_be_text(first) || !as_traits_may(traits, AS_FEAT_SYMLINK) ||
	    len > traits->symlink_max || traits->quirks & AS_QUIRK_SYMLINK_OF_NAMES)
		return;
	if (op->code == AS_OP_MKNOD) {
		struct as_op link = as_op_make(AS_OP_SYMLINK);

		link.path2 = op->path;
		*op = link;
	}
	as_buf_add(&text, first, MAGIC_BYTES);
	while (text.len < len)
		as_buf_addc(&text, (char)('a' + turn % 26));
	op->path = as_arena_strndup(&seq->strings, as_buf_str(&text), text.len);
	as_buf_free(&text);
}

void as_mark_data(struct as_seq *seq, const struct as_profile *profile,
		  const struct as_traits *traits, uint64_t number)
{
	uint64_t block = traits->block_bytes ? traits->block_bytes : 4096, at;

	if (!profile->magic || !profile->mark || (number + 1) % profile->mark || block % 8)
		return;
	for (size_t i = 0; i < seq->n; i++) {
		struct as_op *op = &seq->ops[i];
		size_t turn = i + (size_t)(number / profile->mark);

		if (op->code == AS_OP_SYMLINK || op->code == AS_OP_MKNOD)
			mark_link(seq, op, traits, profile->magic, turn);
		else if (turn % 2 && block_of(op, block, &at))
			op->fill = pattern_with(profile->magic, at, turn);
	}
}
